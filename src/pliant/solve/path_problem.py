"""The problem behind continuation: equilibria F(q, λ) = 0 in scaled coordinates on the manifold, and their bordered Newton."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack

from ..model.validate import finite, integer, positive, unknown_name, vector
from ..system import Given, System
from .balance import static_tangent
from .equilibrium import Equilibrium
from .stability import assess
from .statics import Problem, solve_problem

Array = NDArray[np.float64]
Load = Callable[[float], Mapping[str, Any]] | Mapping[str, Any]
_KEYS = ("u", "tau", "gravity")
_TURN = 0.6  # rad by which the tangent may turn in one step; more is taken for a jump to another branch
_AIM = 0.2  # rad per step aimed at
_EXACT = 1e-14  # residual asked for where a special point is located
_SINGULAR = 1e-11  # reciprocal condition below which a direction counts as free (a rotation that costs no energy)
_JUMP = 1e-6  # a test function that is not continuous to this share has jumped to another branch
_SYMMETRIC = 1e-9  # relative asymmetry below which the loads count as conservative

__all__ = [
    "Arc",
    "Loading",
    "PathOptions",
    "PathPoint",
    "PathProblem",
    "PathState",
    "angle_between",
    "force_vector",
    "held_coordinate",
    "path_limits",
    "solve_bordered",
    "start_configuration",
]


@dataclass(frozen=True)
class PathOptions:
    """Checked options of `trace_equilibria`."""

    begin: float
    stop: float
    bounds: tuple[float, float]
    method: str
    step: float
    max_step: float
    min_step: float
    steps: int
    tolerance: float
    iterations: int
    detect: bool

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("step", "max_step", "min_step", "tolerance"):
            positive(name, getattr(self, name))
        if not self.min_step <= self.step <= self.max_step:
            raise ValueError(
                f"step = {self.step!r} is not allowed: it must lie between min_step = {self.min_step:g} and "
                f"max_step = {self.max_step:g}."
            )
        integer("steps", self.steps, minimum=1)
        integer("iterations", self.iterations, minimum=1)

    def renewed(self, **changes: Any) -> PathOptions:
        """The same with some values replaced; a new `stop` moves that bound unless bounds are given too."""
        known = ("method", "stop", "bounds", "step", "max_step", "min_step", "steps", "tolerance", "iterations")
        for name in changes:
            if name not in known:
                raise TypeError(unknown_name("option", name, known[1:]).args[0])
        if "stop" in changes:
            stop = finite("stop", changes["stop"])
            low, high = self.bounds
            moved = (min(low, stop), stop) if stop > self.begin else (stop, max(high, stop))
            changes["bounds"] = changes.get("bounds", moved)
        if "bounds" in changes:
            stop = changes.get("stop", self.stop)
            changes["bounds"] = path_limits(self.begin, stop, changes["bounds"])
        return replace(self, **changes)


class Loading:
    """The loads as functions of the parameter."""

    def __init__(
        self, system: System, load: Load | None, name: str | None, gravity: bool, u: Array, tau: Array
    ) -> None:
        self.system, self.u, self.tau = system, u, tau
        self.function: Callable[[float], Mapping[str, Any]] | None = None
        self.du, self.dtau, self.gravity, self.dgravity = np.zeros(system.nu), np.zeros(system.nv), 1.0, 0.0
        if name is not None:
            if name not in system.input_names:
                raise unknown_name("input", str(name), system.input_names)
            k = system.input_names.index(name)
            self.u, self.du[k] = u.copy(), 1.0
            self.u[k] = 0.0
        elif gravity:
            self.gravity, self.dgravity = 0.0, 1.0
        elif callable(load):
            self.function = load
        elif isinstance(load, Mapping):
            _check_keys(load)
            self.du = system.inputs(load.get("u"))
            self.dtau = force_vector(system, load.get("tau"))
            if "gravity" in load:
                self.gravity, self.dgravity = 0.0, finite("load['gravity']", load["gravity"])
        elif load is not None:
            raise TypeError(f"load = {load!r} must be a function of λ that returns a dict, or such a dict (times λ).")

    def __call__(self, parameter: float) -> tuple[Array, Array, float]:
        """u (nu,), tau (nv,) and the factor of gravity."""
        if self.function is None:
            u, tau = self.u + parameter * self.du, self.tau + parameter * self.dtau
            return u, tau, self.gravity + parameter * self.dgravity
        values = self.function(parameter)
        if not isinstance(values, Mapping):
            raise TypeError(f"load({parameter:g}) returned {values!r}, but a dict with u, tau or gravity is needed.")
        _check_keys(values)
        u = self.system.inputs(values["u"]) if "u" in values else self.u
        tau = force_vector(self.system, values["tau"]) if "tau" in values else self.tau
        return u, tau, finite("load gravity", values.get("gravity", 1.0))

    def rate(self, parameter: float, width: float) -> tuple[Array, Array, float]:
        """Derivatives in λ: exact for proportional loads, else by central differences over `width`."""
        if self.function is None:
            return self.du, self.dtau, self.dgravity
        (u1, tau1, g1), (u0, tau0, g0) = self(parameter + width), self(parameter - width)
        return (u1 - u0) / (2 * width), (tau1 - tau0) / (2 * width), (g1 - g0) / (2 * width)


def _check_keys(load: Mapping[str, Any]) -> None:
    for key in load:
        if key not in _KEYS:
            raise unknown_name("load", str(key), _KEYS)


def force_vector(system: System, tau: ArrayLike | None) -> Array:
    """Generalised forces (nv,), zero if None."""
    return np.zeros(system.nv) if tau is None else system.check_v("tau", tau).copy()


def held_coordinate(system: System, coordinate: str | int) -> tuple[int, int]:
    """Indices of a held coordinate in q and v."""
    if isinstance(coordinate, str):
        if coordinate not in system.dof_names:
            raise unknown_name("coordinate", coordinate, system.dof_names)
        k = system.dof_names.index(coordinate)
    else:
        k = integer("coordinate", coordinate)
        if k >= system.nv:
            raise ValueError(f"coordinate = {k} is not allowed: {system.name!r} has velocities 0 to {system.nv - 1}.")
    for i, j in system.internal.shift:
        if j == k:
            return int(i), k
    raise ValueError(f"coordinate = {coordinate!r} belongs to a spherical or free joint, which cannot be held.")


def path_limits(begin: float, stop: float, bounds: tuple[float, float] | None) -> tuple[float, float]:
    """Where to end in λ."""
    if begin == stop:
        raise ValueError(f"stop = {stop!r} is not allowed: it must differ from begin = {begin:g}.")
    if bounds is None:
        other = 2 * begin - stop
        return min(stop, other), max(stop, other)
    low, high = vector("bounds", bounds, (2,), hint="Give (low, high).")
    if not low <= begin <= high or not low <= stop <= high or low == high:
        raise ValueError(
            f"bounds = {bounds!r} is not allowed: they must enclose begin = {begin:g} and stop = {stop:g}."
        )
    return float(low), float(high)


def start_configuration(
    system: System, vary: Loading, held: tuple[int, int] | None, start: ArrayLike | Equilibrium | None, begin: object
) -> tuple[Array, object]:
    """Where to start and the first λ."""
    if isinstance(start, Equilibrium):
        start = start.q
    q = None if start is None else system.check_q(start).copy()
    first = finite("begin", 0.0 if begin is None else begin)
    if q is None and held is not None and begin is not None:
        q = system.neutral()
    if q is None:
        u, tau, factor = vary(first)
        q = solve_problem(Problem(system, system.inputs(u), tau, gravity=factor), system.neutral())[0].q
    return q, q[held[0]] if held is not None and begin is None else first


# ------------------------------------------------------------ the equations


class PathState(NamedTuple):
    """A point in the space of configurations, held force and parameter."""

    q: Array
    force: float
    parameter: float


@dataclass(frozen=True)
class PathPoint:
    """An equilibrium with its loads and the scaled equations linearised there."""

    state: PathState
    u: Array
    tau: Array
    gravity: float
    r: Array
    A: Array  # derivative of r in the unknowns
    b: Array  # derivative of r in the scaled parameter
    stiffness: Array  # scaled tangent stiffness of what is not held
    residual: float
    iterations: int = 0

    @cached_property
    def spectrum(self) -> Array:
        """Eigenvalues of the symmetric part of the stiffness, increasing."""
        return np.asarray(np.linalg.eigvalsh(0.5 * (self.stiffness + self.stiffness.T)), dtype=np.float64)

    @property
    def noise(self) -> float:
        """Size below which an eigenvalue counts as zero, e.g. of a rotation that costs no energy."""
        return 1e-13 * float(np.max(np.abs(self.spectrum), initial=0.0)) + 1e3 * float(
            np.max(np.abs(self.r), initial=0)
        )

    @property
    def negative(self) -> int:
        """How many of them are negative."""
        return int(np.sum(self.spectrum < -self.noise))

    @property
    def conservative(self) -> bool:
        """Whether the stiffness is symmetric."""
        K = self.stiffness
        return bool(np.max(np.abs(K - K.T), initial=0.0) <= _SYMMETRIC * np.max(np.abs(K), initial=0.0))

    @property
    def signed_distance(self) -> float:
        """Smallest singular value of the stiffness, with the sign of its determinant."""
        sign = float(np.linalg.slogdet(self.stiffness)[0])
        return sign * float(np.linalg.svd(self.stiffness, compute_uv=False)[-1])


class PathProblem:
    """F(q, λ) = 0 in scaled coordinates: unknowns x (nv,) and λ/width; a held coordinate's slot in x is its force."""

    def __init__(self, system: System, vary: Loading, held: tuple[int, int] | None, width: float) -> None:
        self.system, self.vary, self.held, self.width = system, vary, held, width
        self.scale = system.internal.scale.copy()
        self.unit = 1.0  # force of a held coordinate that counts as one
        self.free = np.arange(system.nv)
        self.evaluations = 0
        if held is not None:
            k = held[1]
            self.free = np.delete(self.free, k)
            q, zero = system.neutral(), np.zeros(system.nv)
            K = system.residual_tangent(q, zero, zero) * np.outer(self.scale, self.scale)
            energy = abs(K[k, k]) or float(np.max(np.abs(K), initial=0.0)) or 1.0
            self.unit = energy / self.scale[k]

    def move(self, state: PathState, z: Array, parameter: float | None = None) -> PathState:
        """The state displaced by scaled unknowns z (nv + 1,); `parameter` overrides the last."""
        value = state.parameter + self.width * z[-1] if parameter is None else parameter
        dv = z[:-1] * self.scale
        if self.held is None:
            return PathState(self.system.integrate(state.q, dv), 0.0, value)
        i, k = self.held
        dv[k] = 0.0
        q = self.system.integrate(state.q, dv)
        q[i] = value
        return PathState(q, state.force + self.unit * float(z[k]), value)

    def offset(self, origin: PathState, state: PathState) -> Array:
        """The z (nv + 1,) for which move(origin, z) is the state."""
        z = np.empty(self.system.nv + 1)
        z[:-1] = self.system.difference(origin.q, state.q) / self.scale
        z[-1] = (state.parameter - origin.parameter) / self.width
        if self.held is not None:
            z[self.held[1]] = (state.force - origin.force) / self.unit
        return z

    def evaluate(self, state: PathState) -> PathPoint:
        """Residual and its exact derivatives."""
        system, s = self.system, self.scale
        self.evaluations += 1
        u, tau, factor = self.vary(state.parameter)
        if self.held is not None:
            tau = tau.copy()
            tau[self.held[1]] += state.force
        r, K = static_tangent(system, state.q, system.inputs(u), tau, given=Given(gravity=factor))
        A = K * np.outer(s, s)
        du, dtau, dfactor = self.vary.rate(state.parameter, 1e-4 * self.width)
        b = -dtau
        if np.any(du):
            b = b - system.actuation_matrix(state.q) @ du
        if dfactor != 0.0:
            b = b + dfactor * system.gravity_forces(state.q)
        b = self.width * s * b
        stiffness = A[np.ix_(self.free, self.free)]
        size = self._force_size(state.q, r, tau, A)
        if self.held is not None:
            k = self.held[1]
            b = b + self.width / s[k] * A[:, k]
            A = A.copy()
            A[:, k] = 0.0
            A[k, k] = -self.unit * s[k]
        relative = float(np.max(np.abs(s * r), initial=0.0)) / size
        return PathPoint(state, u, tau, factor, s * r, A, b, stiffness, relative)

    def _force_size(self, q: Array, r: Array, tau: Array, K: Array) -> float:
        """Largest scaled single force; at least what moves the softest coordinate by a thousandth."""
        elastic = self.system.elastic_forces(q)
        parts = np.abs(np.array([elastic, r - elastic + tau, tau])) * self.scale
        diagonal = np.abs(np.diag(K))
        softest = np.min(diagonal[diagonal > 0], initial=np.inf)
        floor = 1e-3 * softest if np.isfinite(softest) else 1e-300
        return max(float(np.max(parts, initial=0.0)), float(floor), 1e-300)

    @property
    def held_row(self) -> Array | None:
        """Derivative (1, nv) of what is held; None if nothing is."""
        return None if self.held is None else np.eye(self.system.nv)[[self.held[1]]]

    def stable(self, point: PathPoint) -> bool:
        """Whether disturbances of a point do not grow: by its stiffness with a potential, by its motion without."""
        if point.conservative or self.system.has_potential(point.u, point.tau):
            return point.negative == 0
        given = Given(gravity=point.gravity)
        return assess(self.system, point.state.q, point.u, point.tau, self.held_row, given=given).held

    def border(self, point: PathPoint, row: Array) -> Array:
        """The bordered matrix [[A, b], [row]]."""
        n = len(point.r)
        M = np.empty((n + 1, n + 1))
        M[:n, :n], M[:n, n], M[n] = point.A, point.b, row
        return M

    def tangent(self, point: PathPoint, previous: Array) -> Array:
        """Unit tangent of the branch, along `previous`."""
        M = self.border(point, previous)
        t = solve_bordered(M, np.eye(len(M))[-1])
        return t / np.linalg.norm(t)

    def correct(
        self,
        origin: PathState,
        guess: PathState,
        normal: Array,
        distance: float,
        tolerance: float,
        iterations: int,
        keep: float = np.inf,
    ) -> PathPoint | None:
        """Newton on F = 0 and normal · (z from origin) = distance; None if it fails. `keep`: residual that will do."""
        state, size, reach = guess, np.inf, 2.0
        for it in range(iterations + 1):
            point = self.evaluate(state)
            gap = float(normal @ self.offset(origin, state)) - distance
            if not np.isfinite(point.residual):
                return None
            if (point.residual <= tolerance and abs(gap) <= 1e-11) or size <= 1e-13:
                return replace(point, iterations=it)
            if it == iterations:
                break
            z = solve_bordered(self.border(point, normal), -np.append(point.r, gap))
            size = float(np.max(np.abs(z)))
            if not size <= reach:
                return None
            state = self.move(state, z)
        return replace(point, iterations=it) if point.residual <= keep < np.inf else None


# ------------------------------------------------------------ following the branch


@dataclass(frozen=True)
class Arc:
    """A step along a branch: points on it are found by their distance along `normal`."""

    origin: PathPoint
    normal: Array
    direction: Array
    length: float
    bend: Array  # the end's offset from the straight line

    def guess(self, problem: PathProblem, distance: float) -> PathState:
        """A parabola through the two ends."""
        share = distance / self.length
        return problem.move(self.origin.state, distance * self.direction + share * share * self.bend)


def solve_bordered(M: Array, b: Array) -> Array:
    """M⁻¹ b, or the shortest solution if M is singular: nothing moves along directions that cost no energy."""
    factors, pivot, info = lapack.dgetrf(M)
    norm = float(np.max(np.sum(np.abs(M), axis=0)))
    if info == 0 and lapack.dgecon(factors, norm)[0] > _SINGULAR:
        return np.asarray(lapack.dgetrs(factors, pivot, b)[0], dtype=np.float64)
    return np.asarray(np.linalg.lstsq(M, b, rcond=_SINGULAR)[0], dtype=np.float64)


def angle_between(a: Array, b: Array) -> float:
    """Angle between two directions."""
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.arccos(np.clip(a @ b / size, -1.0, 1.0))) if size > 0 else 0.0
