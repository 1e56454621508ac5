"""The problem behind continuation: equilibria F(q, λ) = 0 in scaled coordinates on the manifold, and their bordered Newton."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels import engine
from ..model.validate import finite, integer, positive, unknown_name, vector
from ..system import Given, System
from .balance import static_tangent
from .equilibrium import Equilibrium
from .motion import MotionSet
from .mounting import MountOptions, mount
from .path_loading import Loading, NoSuchRobotError
from .path_split import Split, carrying_rows, split
from .stability import assess
from .static_problem import Problem
from .statics import solve_problem

Array = NDArray[np.float64]
_SINGULAR = 1e-11  # reciprocal condition below which a direction counts as free (a rotation that costs no energy)
_SYMMETRIC = 1e-9  # relative asymmetry below which the loads count as conservative
_CLOSED = 1e-12  # m or rad by which a closed loop may be open
_SHUT = 1e-10  # and where Newton's method cannot do better
_SETTLED = 1e-6  # residual that will do there

__all__ = [
    "Arc",
    "PathOptions",
    "PathPoint",
    "PathProblem",
    "PathState",
    "angle_between",
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
) -> tuple[Array, object, str]:
    """Where to start, the first λ, and why there is no equilibrium if that is known."""
    if isinstance(start, Equilibrium):
        start = start.q
    q = vary.driving.start(system.neutral() if start is None else system.check_q(start).copy())
    driven = vary.driving.driven
    own = vary.design.value  # of the design parameter that varies
    first: object = finite("begin", begin if begin is not None else 0.0 if own is None else own)
    if begin is None and driven is not None:
        first = q[driven.q]
    note = ""
    if start is None and (held is None or begin is None or system.loop_rows):
        q, note = _equilibrium_near(system, vary, q, float(first))  # type: ignore[arg-type]
    return q, q[held[0]] if held is not None and begin is None else first, note


def _equilibrium_near(system: System, vary: Loading, q: Array, parameter: float) -> tuple[Array, str]:
    """An equilibrium at λ, stable if possible, and why it is none."""
    u, tau, factor = vary(parameter)
    q, system = vary.driving.place(q, parameter), vary.design.at(parameter)
    if not system.loop_rows:
        problem = Problem(system, system.inputs(u), tau, gravity=factor, memory=np.zeros(system.nz), since=q)
        return solve_problem(problem, q)[0].q, ""
    options = MountOptions(tolerance=1e-10, iterations=60, stable=True, gravity=factor)
    found = mount(system, q, system.inputs(u), tau, options, MotionSet(system, None, q))
    return found.q, "" if found.success else found.message


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
    stiffness: (
        Array  # scaled tangent stiffness along split.Z: of what is neither held nor prescribed and keeps loops closed
    )
    residual: float
    imbalance: float  # largest scaled force in r
    multipliers: Array
    split: Split
    iterations: int = 0

    @cached_property
    def spectrum(self) -> Array:
        """Eigenvalues of the symmetric part of the stiffness, increasing."""
        return np.asarray(np.linalg.eigvalsh(0.5 * (self.stiffness + self.stiffness.T)), dtype=np.float64)

    @property
    def noise(self) -> float:
        """Size below which an eigenvalue counts as zero, e.g. of a rotation that costs no energy."""
        return 1e-13 * float(np.max(np.abs(self.spectrum), initial=0.0)) + 1e3 * self.imbalance

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
    """F(q, λ) = 0 in scaled coordinates: unknowns x (nv,) and λ/width.

    The slot of a held coordinate in x is its force, that of a prescribed one is not used. Equations (nv,): balance of forces
    along the directions that keep loops closed, then the loops, in the places of free coordinates; balance of the held one
    in its own. Forces of loops are eliminated: they are those that balance the rest best, which makes the derivative
    exact with the stiffness that they bring along.
    """

    def __init__(self, system: System, vary: Loading, held: tuple[int, int] | None, width: float) -> None:
        self.system, self.vary, self.held, self.width = system, vary, held, width
        self.scale = system.internal.scale.copy()
        self.unit = 1.0  # force of a held coordinate that counts as one
        self.free = np.flatnonzero(~system.known)
        self.evaluations = 0
        if held is not None:
            k = held[1]
            self.free = self.free[self.free != k]
            q, zero = system.neutral(), np.zeros(system.nv)
            K = system.residual_tangent(q, zero, zero) * np.outer(self.scale, self.scale)
            energy = abs(K[k, k]) or float(np.max(np.abs(K), initial=0.0)) or 1.0
            self.unit = energy / self.scale[k]

    def at(self, state: PathState) -> System:
        """The robot in a state."""
        return self.vary.design.at(state.parameter)

    def move(self, state: PathState, z: Array, parameter: float | None = None) -> PathState:
        """The state displaced by scaled unknowns z (nv + 1,); `parameter` overrides the last."""
        value = state.parameter + self.width * z[-1] if parameter is None else parameter
        dv = z[:-1] * self.scale
        dv[self.system.known] = 0.0
        if self.held is None:
            return PathState(self.vary.driving.place(self.system.integrate(state.q, dv), value), 0.0, value)
        i, k = self.held
        dv[k] = 0.0
        q = self.vary.driving.place(self.system.integrate(state.q, dv), value)
        q[i] = value
        return PathState(q, state.force + self.unit * float(z[k]), value)

    def offset(self, origin: PathState, state: PathState) -> Array:
        """The z (nv + 1,) for which move(origin, z) is the state."""
        z = np.empty(self.system.nv + 1)
        z[:-1] = self.system.difference(origin.q, state.q) / self.scale
        z[:-1][self.system.known] = 0.0
        z[-1] = (state.parameter - origin.parameter) / self.width
        if self.held is not None:
            z[self.held[1]] = (state.force - origin.force) / self.unit
        return z

    def poised(self, state: PathState) -> PathState:
        """The state with the force that holds its coordinate."""
        if self.held is None:
            return state
        k = self.held[1]
        return state._replace(force=state.force + float(self.evaluate(state).r[k] / self.scale[k]))

    def evaluate(self, state: PathState, kept: NDArray[np.bool_] | None = None) -> PathPoint:
        """Residual and its exact derivatives; `kept` are the constraints of loops that carry forces, found anew if left out."""
        system, s, q = self.at(state), self.scale, state.q
        self.evaluations += 1
        u, tau, factor = self.vary(state.parameter)
        if self.held is not None:
            tau = tau.copy()
            tau[self.held[1]] += state.force
        inputs, part = system.inputs(u), split(system, q, self.free, kept)
        multipliers = np.zeros(len(part.values))
        if len(multipliers):
            r = np.empty(system.nv)
            system.run_job(engine.RESIDUAL, q, u=inputs, tau=tau, force=r, given=Given(gravity=factor))
            multipliers = part.multipliers(s * r)
        r, K = static_tangent(system, q, inputs, tau, given=Given(multipliers, factor))
        K = K * np.outer(s, s)
        du, dtau, dfactor = self.vary.rate(state.parameter, 1e-4 * self.width)
        b = -dtau
        if np.any(du):
            b = b - system.actuation_matrix(q) @ du
        if dfactor != 0.0:
            b = b + dfactor * system.gravity_forces(q)

        def balance(robot: System) -> Array:
            return static_tangent(robot, q, inputs, tau, given=Given(multipliers, factor))[0]

        b = b + self.vary.design.rate(balance, state.parameter, 1e-4 * self.width)
        motion = self._motion(state)
        b = self.width * s * b + K @ motion
        size = self._force_size(system, part, q, r, tau, K, multipliers)
        r = s * r
        stiffness = part.Z.T @ K[np.ix_(self.free, self.free)] @ part.Z
        r, A, b, imbalance = self._arrange(part, r, K, b, motion)
        point = PathPoint(state, u, tau, factor, r, A, b, stiffness, imbalance / size, imbalance, multipliers, part)
        return point

    def _motion(self, state: PathState) -> Array:
        """Scaled motion (nv,) of prescribed and held coordinates per unit of the scaled parameter."""
        motion = self.vary.driving.rate(state.q, state.parameter, 1e-4 * self.width)
        if self.held is not None:
            motion[self.held[1]] = 1.0
        return np.asarray(self.width * motion / self.scale, dtype=np.float64)

    def _arrange(self, part: Split, r: Array, K: Array, b: Array, motion: Array) -> tuple[Array, Array, Array, float]:
        """The equations, their derivatives, and the largest force in them, from the scaled balance of all coordinates."""
        n, free, weight = len(r), self.free, float(np.max(np.abs(np.diag(K)), initial=0.0)) or 1.0
        along, across = np.split(free, [part.Z.shape[1]])
        R, A, B = np.zeros(n), np.zeros((n, n)), np.zeros(n)
        R[along], B[along] = part.Z.T @ r[free], part.Z.T @ b[free]
        A[np.ix_(along, free)] = part.Z.T @ K[np.ix_(free, free)]
        R[across], B[across] = weight * part.opening, weight * part.opened(motion)
        A[np.ix_(across, free)] = weight * part.across.T
        A[self.system.known, self.system.known] = weight
        forces = R[along]
        if self.held is not None:
            k = self.held[1]
            R[k], B[k], A[k, free] = r[k], part.beyond(b, k), part.beyond(K, k)[free]
            A[k, k] = -self.unit * self.scale[k]
            forces = np.append(forces, R[k])
        return R, A, B, float(np.max(np.abs(forces), initial=0.0))

    def _force_size(
        self, system: System, part: Split, q: Array, r: Array, tau: Array, K: Array, multipliers: Array
    ) -> float:
        """Largest scaled single force; at least what moves the softest coordinate by a thousandth."""
        free = ~system.known
        elastic = system.elastic_forces(q)
        loops = part.G * multipliers[part.kept][:, None]
        parts = np.abs(np.array([elastic, r - elastic + tau, tau])) * self.scale
        diagonal = np.abs(np.diag(K))[free]
        softest = np.min(diagonal[diagonal > 0], initial=np.inf)
        floor = 1e-3 * softest if np.isfinite(softest) else 1e-300
        largest = max(float(np.max(X[:, free], initial=0.0)) for X in (parts, np.abs(loops)))
        return max(largest, float(floor), 1e-300)

    def rows(self, q: Array) -> Array | None:
        """Derivatives (m, nv) of loops and of what is held; None if there is nothing of the kind."""
        G = self.system.closure(q)[1]
        if self.held is not None:
            G = np.vstack([G, np.eye(self.system.nv)[[self.held[1]]]])
        return G if len(G) else None

    def stable(self, point: PathPoint) -> bool:
        """Whether disturbances of a point do not grow: by its stiffness with a potential, by its motion without."""
        system = self.at(point.state)
        if point.conservative or system.has_potential(point.u, point.tau):
            return point.negative == 0
        given = Given(point.multipliers, point.gravity)
        q = point.state.q
        return assess(system, q, point.u, point.tau, self.rows(q), given=given).held

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
        kept = carrying_rows(
            self.system, origin.q, self.free
        )  # where loops are closed: open ones hide what is redundant
        for it in range(iterations + 1):
            try:
                point = self.evaluate(state, kept)
            except NoSuchRobotError:
                return None
            short = float(normal @ self.offset(origin, state)) - distance
            gap = point.split.gap
            if not (np.isfinite(point.residual) and np.isfinite(gap)):
                return None
            met = point.residual <= tolerance and abs(short) <= 1e-11 and gap <= _CLOSED
            if met or (size <= 1e-13 and gap <= _SHUT and point.residual <= _SETTLED):
                return self._settled(point, it)
            if it == iterations:
                break
            z = solve_bordered(self.border(point, normal), -np.append(point.r, short))
            size = float(np.max(np.abs(z)))
            if not size <= reach:
                return None
            state = self.move(state, z)
        return self._settled(point, it) if point.residual <= keep < np.inf and gap <= _SHUT else None

    def _settled(self, point: PathPoint, iterations: int) -> PathPoint:
        """A point that was found, with the forces in the constraints that carry them there."""
        kept = carrying_rows(self.system, point.state.q, self.free)
        if not np.array_equal(kept, point.split.kept):
            point = self.evaluate(point.state, kept)
        return replace(point, iterations=iterations)


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
    from scipy.linalg import lapack  # here, since it takes a while to import

    factors, pivot, info = lapack.dgetrf(M)
    norm = float(np.max(np.sum(np.abs(M), axis=0)))
    if info == 0 and lapack.dgecon(factors, norm)[0] > _SINGULAR:
        return np.asarray(lapack.dgetrs(factors, pivot, b)[0], dtype=np.float64)
    if not np.all(np.isfinite(M)):
        return np.full(len(b), np.nan)
    # rods that hardly stretch make M look singular: judge it with rows and columns of one size
    rows = np.max(np.abs(M), axis=1, keepdims=True)
    N = M / np.where(rows > 0.0, rows, 1.0)
    columns = np.max(np.abs(N), axis=0)
    columns = np.where(columns > 0.0, columns, 1.0)
    U, size, V = np.linalg.svd(N / columns)
    sound = size > _SINGULAR * size[0]
    right = (U.T @ (b / np.where(rows[:, 0] > 0.0, rows[:, 0], 1.0)))[sound] / size[sound]
    x = V[sound].T @ right / columns
    loose = np.linalg.qr((V[~sound] / columns).T)[0]
    return np.asarray(x - loose @ (loose.T @ x), dtype=np.float64)


def angle_between(a: Array, b: Array) -> float:
    """Angle between two directions."""
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.arccos(np.clip(a @ b / size, -1.0, 1.0))) if size > 0 else 0.0
