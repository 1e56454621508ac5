"""Continuation: families of static equilibria as a load or a coordinate varies, past limit and bifurcation points."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack
from scipy.optimize import brentq

from ..model.validate import choice, finite, integer, positive, unknown_name, vector
from ..system import Inputs, System
from .result import Statistics
from .statics import Equilibrium, solve_statics

__all__ = ["Branch", "SpecialPoint", "trace_equilibria"]

Array = NDArray[np.float64]
Load = Callable[[float], Mapping[str, Any]] | Mapping[str, Any]
_KEYS = ("u", "tau", "gravity")
_TURN = 0.6  # rad by which the tangent may turn in one step; more is taken for a jump to another branch
_AIM = 0.2  # rad per step aimed at
_EXACT = 1e-14  # residual asked for where a special point is located
_SINGULAR = 1e-11  # reciprocal condition below which a direction counts as free (a rotation that costs no energy)
_JUMP = 1e-6  # a test function that is not continuous to this share has jumped to another branch
_SYMMETRIC = 1e-9  # relative asymmetry below which the loads count as conservative


@dataclass(frozen=True)
class SpecialPoint:
    """A point of a branch where something happens.

    Attributes
    ----------
    kind : "limit", "bifurcation" or "end"
        The parameter turns back; another branch crosses; the branch was cut at `stop` or at a bound.
    parameter : float
        λ there.
    q : ndarray (nq,)
    null : ndarray (m, nv)
        Velocity directions along which the tangent stiffness vanishes (none for "end"), of unit length in scaled
        coordinates. m > 1 where several modes become critical at once.
    index : int
        It lies between the points `index` and `index` + 1 of the branch.
    force : float
        Generalised force of a held coordinate; zero otherwise.
    tangent : ndarray (nv + 1,)
        Scaled direction of the branch, the parameter last.
    """

    kind: Literal["limit", "bifurcation", "end"]
    parameter: float
    q: Array
    null: Array
    index: int
    force: float
    tangent: Array

    def __str__(self) -> str:
        """One line."""
        return f"{self.kind} at {self.parameter:.10g}"


@dataclass(frozen=True)
class Branch:
    """A one-parameter family of equilibria, in the order of tracing.

    Attributes
    ----------
    system : System
    parameter : ndarray (n,)
        λ.
    q : ndarray (n, nq)
    u, tau : ndarray (n, nu), (n, nv)
        Inputs and further generalised forces, with that of a held coordinate.
    gravity : ndarray (n,)
        Factor of the system's gravity.
    negative : ndarray (n,), int
        Negative eigenvalues of the symmetric part of the tangent stiffness, without a held coordinate.
    stable : ndarray (n,), bool
        Whether there are none. Under loads without potential (followers) this does not exclude flutter.
    residual : ndarray (n,)
        Largest scaled residual relative to the largest scaled force.
    iterations : ndarray (n,), int
        Newton iterations of each point.
    points : tuple of SpecialPoint
        Limit points, bifurcations and the end.
    branches : tuple of Branch
        Branches that were followed from bifurcations because of ``switch=True``.
    success : bool
        Whether `stop` (or the other bound) was reached.
    message : str
        Why the trace ended, and what to try if it failed.
    statistics : Statistics
    """

    system: System
    parameter: Array
    q: Array
    u: Array
    tau: Array
    gravity: Array
    negative: NDArray[np.int64]
    stable: NDArray[np.bool_]
    residual: Array
    iterations: NDArray[np.int64]
    points: tuple[SpecialPoint, ...]
    branches: tuple[Branch, ...]
    success: bool
    message: str
    statistics: Statistics
    _problem: _Problem = field(repr=False)
    _options: _Options = field(repr=False)

    def __len__(self) -> int:
        """Number of equilibria."""
        return len(self.parameter)

    def __str__(self) -> str:
        """A few lines: range, special points, why it ended."""
        if len(self) == 0:
            return f"no equilibria: {self.message}"
        low, high = self.parameter.min(), self.parameter.max()
        head = f"{len(self)} equilibria ({int(self.stable.sum())} stable), parameter {low:.6g} to {high:.6g}"
        return "\n".join([head, *(f"  {p}" for p in self.points), f"  {self.message}; {self.statistics}"])

    def equilibrium(self, k: int) -> Equilibrium:
        """The k-th point as an `Equilibrium`, e.g. to linearise about or to start a simulation from."""
        n = len(self)
        if not -n <= integer("k", k, minimum=-n) < n:
            raise IndexError(f"k = {k} is not allowed: the branch has {n} points.")
        note = f"point of a branch at parameter {self.parameter[k]:.10g}"
        if self.gravity[k] != 1.0:
            note += f", with {self.gravity[k]:.10g} times the system's gravity"
        return Equilibrium(
            q=self.q[k].copy(),
            u=self.u[k].copy(),
            tau=self.tau[k].copy(),
            success=True,
            stable=bool(self.stable[k]),
            residual=float(self.residual[k]),
            iterations=int(self.iterations[k]),
            load_steps=1,
            message=note,
        )

    def special(self, kind: Literal["limit", "bifurcation", "end"]) -> tuple[SpecialPoint, ...]:
        """The special points of one kind."""
        choice("kind", kind, ("limit", "bifurcation", "end"))
        return tuple(p for p in self.points if p.kind == kind)

    def switch(
        self,
        point: SpecialPoint | None = None,
        *,
        sign: float = 1.0,
        direction: ArrayLike | None = None,
        amplitude: float = 0.01,
        **options: Any,
    ) -> Branch:
        """Follow the branch that crosses this one at a bifurcation.

        Parameters
        ----------
        point : SpecialPoint, optional
            Which bifurcation; the first if left out.
        sign : 1 or −1
            Which half of the crossing branch: along the null vector or against it.
        direction : array (nv,), optional
            Velocity direction to leave along instead of ``point.null[0]``; useful if several modes are critical.
        amplitude : float
            First step along it, in scaled coordinates (rad).
        **options
            New values of `stop`, `bounds`, `steps`, `step`, `max_step`, `min_step`, `tolerance`, `iterations`.

        Returns
        -------
        Branch
            Its first point is the bifurcation itself.
        """
        choice("sign", sign, (1, -1))
        positive("amplitude", amplitude)
        if point is None:
            found = self.special("bifurcation")
            if not found:
                raise ValueError("the branch has no bifurcation to switch at; look at `points`, or trace it further.")
            point = found[0]
        if not isinstance(point, SpecialPoint) or point.kind != "bifurcation":
            raise TypeError(f"point = {point} must be a bifurcation out of `points`.")
        wanted = None if direction is None else self.system.check_v("direction", direction)
        chosen = self._options.renewed(method="arclength", **options)
        tracer = _Tracer(self._problem, chosen)
        tracer.leave(point, wanted, float(sign), float(amplitude))
        return tracer.branch()


def trace_equilibria(
    system: System,
    load: Load | None = None,
    *,
    input: str | None = None,
    gravity: bool = False,
    coordinate: str | int | None = None,
    u: Inputs = None,
    tau: ArrayLike | None = None,
    start: ArrayLike | Equilibrium | None = None,
    begin: float | None = None,
    stop: float = 1.0,
    bounds: tuple[float, float] | None = None,
    method: Literal["arclength", "natural"] = "arclength",
    step: float = 0.02,
    max_step: float = 0.2,
    min_step: float = 1e-7,
    steps: int = 400,
    tolerance: float = 1e-10,
    iterations: int = 10,
    detect: bool = True,
    switch: bool = False,
) -> Branch:
    """Follow a static equilibrium while a parameter λ varies: F(q, λ) = 0.

    What varies is given by exactly one of `load`, `input`, `gravity`, `coordinate`.

    Parameters
    ----------
    system : System
    load : callable or mapping
        λ -> dict with any of ``u`` (as in `solve_statics`), ``tau`` (nv,) and ``gravity`` (factor of the system's
        gravity); what is left out stays at `u`, `tau` and 1. A mapping with these keys stands for loads proportional
        to λ: ``u + λ load["u"]`` and so on, and gravity ``λ load["gravity"]``.
    input : str
        Name of an input whose value is λ.
    gravity : bool
        λ is the factor of gravity.
    coordinate : str or int
        Name (see ``system.dof_names``) or velocity index of a coordinate that is held at λ; the generalised force
        that holds it becomes unknown and is found in ``Branch.tau``. Not for spherical and free joints.
    u, tau
        Loads that do not vary.
    start : array (nq,) or Equilibrium, optional
        Near which equilibrium to begin; `solve_statics` finds one if left out.
    begin, stop : float
        Range of λ. `begin` is 0 if left out, or the value of the coordinate in the start.
    bounds : (low, high), optional
        λ at which to end; `stop` and, beyond `begin`, as far in the other direction if left out.
    method : "arclength" or "natural"
        "arclength" passes limit points; "natural" steps in λ and ends there.
    step, max_step, min_step : float
        First, largest and smallest step: arclength in scaled coordinates (rad of bending over a rod's length, rad of
        a joint) with ``stop − begin`` counted as 1.
    steps : int
        Largest number of points.
    tolerance : float
        Largest scaled residual relative to the largest scaled force.
    iterations : int
        Newton iterations per point.
    detect : bool
        Find and locate limit points and bifurcations.
    switch : bool
        Also follow both halves of every branch that crosses; see ``Branch.branches`` and `Branch.switch`.

    Returns
    -------
    Branch
        Never raises for lack of convergence; look at `success` and `message`.

    Notes
    -----
    Pseudo-arclength [Keller 1977]: with the unit tangent t of the branch at the last point, the next one solves
    ``F(q, λ) = 0`` and ``t · (x, λ) = s`` by Newton with the exact bordered tangent, x being the displacement
    ``q ⊖ q₀`` in scaled coordinates. A limit point is where dλ/ds changes sign, a bifurcation where the inertia of the
    tangent stiffness changes without one (without a potential: where its determinant does). Both are located by
    Brent's method on s. Two eigenvalues that cross zero in opposite directions within one step go unnoticed; lower
    `max_step` if that is a concern.
    """
    if not isinstance(system, System):
        raise TypeError(f"system = {system!r} must be a System; call robot.compile().")
    choice("method", method, ("arclength", "natural"))
    given = [load is not None, input is not None, bool(gravity), coordinate is not None]
    if sum(given) != 1:
        raise ValueError(f"give exactly one of load, input, gravity and coordinate ({sum(given)} were given).")
    held = None if coordinate is None else _held(system, coordinate)
    vary = _Vary(system, load, input, gravity, system.inputs(u), _forces(system, tau))
    configuration, chosen = _start(system, vary, held, start, begin)
    first = finite("begin", chosen)
    limits = _limits(first, finite("stop", stop), bounds)
    options = _Options(
        first, float(stop), limits, method, step, max_step, min_step, steps, tolerance, iterations, bool(detect)
    )
    problem = _Problem(system, vary, held, abs(options.stop - options.begin))
    tracer = _Tracer(problem, options)
    tracer.begin(configuration)
    branch = tracer.branch()
    if switch:
        found = branch.special("bifurcation")
        branch = replace(branch, branches=tuple(branch.switch(p, sign=s) for p in found for s in (1, -1)))
    return branch


# ------------------------------------------------------------ options and loads


@dataclass(frozen=True)
class _Options:
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
        for name in ("step", "max_step", "min_step", "tolerance"):
            positive(name, getattr(self, name))
        if not self.min_step <= self.step <= self.max_step:
            raise ValueError(
                f"step = {self.step!r} is not allowed: it must lie between min_step = {self.min_step:g} and "
                f"max_step = {self.max_step:g}."
            )
        integer("steps", self.steps, minimum=1)
        integer("iterations", self.iterations, minimum=1)

    def renewed(self, **changes: Any) -> _Options:
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
            changes["bounds"] = _limits(self.begin, stop, changes["bounds"])
        return replace(self, **changes)


class _Vary:
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
            self.dtau = _forces(system, load.get("tau"))
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
        tau = _forces(self.system, values["tau"]) if "tau" in values else self.tau
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


def _forces(system: System, tau: ArrayLike | None) -> Array:
    return np.zeros(system.nv) if tau is None else system.check_v("tau", tau).copy()


def _held(system: System, coordinate: str | int) -> tuple[int, int]:
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


def _limits(begin: float, stop: float, bounds: tuple[float, float] | None) -> tuple[float, float]:
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


def _start(
    system: System, vary: _Vary, held: tuple[int, int] | None, start: ArrayLike | Equilibrium | None, begin: object
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
        with system.scaled_gravity(factor):
            q = solve_statics(system, u, tau=tau).q
    return q, q[held[0]] if held is not None and begin is None else first


# ------------------------------------------------------------ the equations


class _State(NamedTuple):
    q: Array
    force: float
    parameter: float


@dataclass(frozen=True)
class _Point:
    """An equilibrium with its loads and the scaled equations linearised there."""

    state: _State
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


class _Problem:
    """F(q, λ) = 0 in scaled coordinates: unknowns x (nv,) and λ/width; a held coordinate's slot in x is its force."""

    def __init__(self, system: System, vary: _Vary, held: tuple[int, int] | None, width: float) -> None:
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

    def move(self, state: _State, z: Array, parameter: float | None = None) -> _State:
        """The state displaced by scaled unknowns z (nv + 1,); `parameter` overrides the last."""
        value = state.parameter + self.width * z[-1] if parameter is None else parameter
        dv = z[:-1] * self.scale
        if self.held is None:
            return _State(self.system.integrate(state.q, dv), 0.0, value)
        i, k = self.held
        dv[k] = 0.0
        q = self.system.integrate(state.q, dv)
        q[i] = value
        return _State(q, state.force + self.unit * float(z[k]), value)

    def offset(self, origin: _State, state: _State) -> Array:
        """The z (nv + 1,) for which move(origin, z) is the state."""
        z = np.empty(self.system.nv + 1)
        z[:-1] = self.system.difference(origin.q, state.q) / self.scale
        z[-1] = (state.parameter - origin.parameter) / self.width
        if self.held is not None:
            z[self.held[1]] = (state.force - origin.force) / self.unit
        return z

    def evaluate(self, state: _State) -> _Point:
        """Residual and its exact derivatives."""
        system, s = self.system, self.scale
        self.evaluations += 1
        u, tau, factor = self.vary(state.parameter)
        if self.held is not None:
            tau = tau.copy()
            tau[self.held[1]] += state.force
        zero = np.zeros(system.nv)
        with system.scaled_gravity(factor):
            r = system.residual(state.q, zero, zero, u, tau)
            A = system.residual_tangent(state.q, zero, zero, u, tau) * np.outer(s, s)
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
        return _Point(state, u, tau, factor, s * r, A, b, stiffness, relative)

    def _force_size(self, q: Array, r: Array, tau: Array, K: Array) -> float:
        """Largest scaled single force; at least what moves the softest coordinate by a thousandth."""
        elastic = self.system.elastic_forces(q)
        parts = np.abs(np.array([elastic, r - elastic + tau, tau])) * self.scale
        diagonal = np.abs(np.diag(K))
        softest = np.min(diagonal[diagonal > 0], initial=np.inf)
        floor = 1e-3 * softest if np.isfinite(softest) else 1e-300
        return max(float(np.max(parts, initial=0.0)), float(floor), 1e-300)

    def border(self, point: _Point, row: Array) -> Array:
        """The bordered matrix [[A, b], [row]]."""
        n = len(point.r)
        M = np.empty((n + 1, n + 1))
        M[:n, :n], M[:n, n], M[n] = point.A, point.b, row
        return M

    def tangent(self, point: _Point, previous: Array) -> Array:
        """Unit tangent of the branch, along `previous`."""
        M = self.border(point, previous)
        t = _solve(M, np.eye(len(M))[-1])
        return t / np.linalg.norm(t)

    def correct(
        self,
        origin: _State,
        guess: _State,
        normal: Array,
        distance: float,
        tolerance: float,
        iterations: int,
        keep: float = np.inf,
    ) -> _Point | None:
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
            z = _solve(self.border(point, normal), -np.append(point.r, gap))
            size = float(np.max(np.abs(z)))
            if not size <= reach:
                return None
            state = self.move(state, z)
        return replace(point, iterations=it) if point.residual <= keep < np.inf else None


# ------------------------------------------------------------ following the branch


@dataclass(frozen=True)
class _Arc:
    """A step along a branch: points on it are found by their distance along `normal`."""

    origin: _Point
    normal: Array
    direction: Array
    length: float
    bend: Array  # the end's offset from the straight line

    def guess(self, problem: _Problem, distance: float) -> _State:
        """A parabola through the two ends."""
        share = distance / self.length
        return problem.move(self.origin.state, distance * self.direction + share * share * self.bend)


class _Tracer:
    def __init__(self, problem: _Problem, options: _Options) -> None:
        self.problem, self.options = problem, options
        self.points: list[_Point] = []
        self.tangents: list[Array] = []
        self.specials: list[SpecialPoint] = []
        self.statistics = Statistics()
        self.message = ""
        self.success = False
        self.clock = time.perf_counter()
        self.count = problem.evaluations

    def begin(self, q: Array) -> None:
        """Trace from an equilibrium near q at the first λ."""
        o, problem = self.options, self.problem
        n = problem.system.nv
        along = np.zeros(n + 1)
        along[-1] = 1.0
        state = problem.move(_State(q, 0.0, o.begin), np.zeros(n + 1), o.begin)
        point = problem.correct(state, state, along, 0.0, o.tolerance, 5 * o.iterations)
        if point is None:
            self.message = (
                f"no equilibrium was found at the first parameter {o.begin:g}; give `start` near one (see "
                "solve_statics), or a `begin` with smaller loads"
            )
            return
        self.statistics.iterations += point.iterations
        along[-1] = np.sign(o.stop - o.begin)
        self.points.append(point)
        self.tangents.append(problem.tangent(point, along))
        self._run(o.step)

    def leave(self, special: SpecialPoint, wanted: Array | None, sign: float, amplitude: float) -> None:
        """Trace from a bifurcation, across the branch on which it was found."""
        problem, t = self.problem, special.tangent
        point = problem.evaluate(_State(special.q, special.force, special.parameter))
        rows = special.null if wanted is None else wanted[None]
        d = np.append(rows[0] / problem.scale, 0.0)
        d /= np.linalg.norm(d) or 1.0
        d -= (d @ t) * t
        if np.linalg.norm(d) < 0.1:  # this branch itself leaves along the null vector: take the rest of the null space
            V = np.linalg.svd(problem.border(point, t)[:-1])[2][-1 - len(special.null) :]
            V = V - np.outer(V @ t, t)
            d = V[int(np.argmax(np.linalg.norm(V, axis=1)))]
        d *= sign / np.linalg.norm(d)
        self.points.append(point)
        self.tangents.append(d)
        self._run(min(amplitude, self.options.max_step), across=t)

    def _run(self, step: float, across: Array | None = None) -> None:
        """Step until a bound is reached; `across` is the direction of the branch that the first step leaves."""
        o = self.options
        while len(self.points) <= o.steps:
            leaving = across if len(self.points) == 1 else None
            found = self._attempt(step, leaving)
            if found is None:
                self.statistics.rejected += 1
                step *= 0.4
                if step < o.min_step:
                    self.message = self._stuck(leaving is not None)
                    return
                continue
            point, tangent, bound, specials = found
            self.specials += specials
            angle = _angle(self.tangents[-1], tangent)
            self.points.append(point)
            self.tangents.append(tangent)
            self.statistics.steps += 1
            self.statistics.iterations += point.iterations
            if bound is not None:
                self._finish(bound)
                return
            growth = min(1.6, _AIM / max(angle, 1e-3)) if leaving is None else 1.6
            step = min(o.max_step, step * max(0.4, growth if point.iterations <= 6 else min(growth, 0.7)))
        self.message = f"{o.steps} points were not enough to reach a bound; raise `steps` or `max_step`"

    def _attempt(
        self, step: float, leaving: Array | None
    ) -> tuple[_Point, Array, float | None, list[SpecialPoint]] | None:
        """A step, cut at the bound that it reaches, with the special points on it; None if it must be shortened."""
        found = self._advance(step, leaving)
        if found is None:
            return None
        arc, point, tangent = found
        bound = self._bound(arc, point)
        if bound is not None:
            cut = self._cut(arc, point, bound)
            if cut is None:
                return None
            arc, point, tangent = cut
        specials: list[SpecialPoint] = []
        if self.options.detect and leaving is None:
            smooth = self._detect(arc, point, tangent, specials)
            if not smooth and step > 100 * self.options.min_step:
                return None
        return point, tangent, bound, specials

    def _advance(self, step: float, leaving: Array | None) -> tuple[_Arc, _Point, Array] | None:
        """One step; None if Newton failed or came out on another branch."""
        o, problem = self.options, self.problem
        origin, t = self.points[-1], self.tangents[-1]
        normal = direction = t
        parameter = None
        if o.method == "natural":
            normal = np.zeros_like(t)
            normal[-1] = np.sign(o.stop - o.begin)
            if abs(t[-1]) < 1e-12:
                return None
            direction = t / abs(t[-1])
            left = abs(o.stop - origin.state.parameter) / problem.width
            if step >= left * (1 - 1e-12):
                step, parameter = left, o.stop
        guess = problem.move(origin.state, step * direction, parameter)
        point = problem.correct(origin.state, guess, normal, step, o.tolerance, o.iterations)
        if point is None:
            return None
        z = problem.offset(origin.state, point.state)
        tangent = problem.tangent(point, t)
        if leaving is None:
            limit = _TURN if step > 100 * o.min_step else 2 * _TURN
            if max(_angle(t, tangent), _angle(t, z)) > limit:
                return None
        elif abs(leaving @ z) > 5 * step:
            return None
        return _Arc(origin, normal, direction, step, z - step * direction), point, tangent

    def _bound(self, arc: _Arc, point: _Point) -> float | None:
        """The bound that the step has reached or passed."""
        low, high = self.options.bounds
        before, after = arc.origin.state.parameter, point.state.parameter
        if after >= high and (before < high or after > before):
            return high
        if after <= low and (before > low or after < before):
            return low
        return None

    def _cut(self, arc: _Arc, point: _Point, bound: float) -> tuple[_Arc, _Point, Array] | None:
        """Shorten a step so that it ends at a bound."""
        problem, o = self.problem, self.options
        width = problem.width
        end: _Point | None = point
        if point.state.parameter != bound:
            located = self._locate(arc, point, lambda p: (p.state.parameter - bound) / width)
            if located is None:
                return None
            along = np.zeros_like(arc.normal)
            along[-1] = 1.0
            z = problem.offset(arc.origin.state, located[1].state)
            guess = problem.move(arc.origin.state, z, bound)
            exact = problem.correct(guess, guess, along, 0.0, o.tolerance, o.iterations)
            close = exact is not None and np.max(np.abs(problem.offset(guess, exact.state))) < 1e-3 * arc.length
            end = exact if close else located[1]
        assert end is not None
        z = problem.offset(arc.origin.state, end.state)
        length = float(arc.normal @ z)
        if not length > 0:
            return None
        cut = replace(arc, length=length, bend=z - length * arc.direction)
        return cut, end, problem.tangent(end, self.tangents[-1])

    def _finish(self, bound: float) -> None:
        """The end at a bound."""
        state, t = self.points[-1].state, self.tangents[-1]
        none = np.zeros((0, self.problem.system.nv))
        last = len(self.points) - 2
        self.specials.append(SpecialPoint("end", state.parameter, state.q, none, last, state.force, t))
        self.success = True
        whole = bound == self.options.stop
        self.message = f"reached {'stop' if whole else 'the other bound'} at {bound:.10g}"

    def _stuck(self, leaving: bool) -> str:
        """What to say when the step became too small."""
        where = self.points[-1].state.parameter
        if leaving:
            return "no crossing branch was found; try another amplitude, sign or direction"
        if self.options.method == "natural":
            return f'no equilibrium was found beyond {where:.10g}: a limit point is near; use method="arclength"'
        return (
            f"the step became too small at {where:.10g}; lower min_step or max_step, raise iterations, or look for a "
            "coordinate without stiffness"
        )

    # ------------------------------------------------------------ special points

    def _locate(self, arc: _Arc, end: _Point, test: Callable[[_Point], float]) -> tuple[float, _Point, bool] | None:
        """The root of a test function along a step, the point there, and whether the function is continuous."""
        seen: list[tuple[float, float, _Point]] = []
        o = self.options

        def value(distance: float) -> float:
            point = arc.origin if distance == 0.0 else end if distance == arc.length else None
            if point is None:
                guess = arc.guess(self.problem, distance)
                point = self.problem.correct(
                    arc.origin.state, guess, arc.normal, distance, _EXACT, 2 + o.iterations, 1e-2 * o.tolerance
                )
            if point is None:
                raise ArithmeticError
            result = test(point)
            seen.append((abs(result), distance, point))
            return result

        try:
            brentq(value, 0.0, arc.length, xtol=1e-13 * arc.length + 1e-15, rtol=1e-14, maxiter=80)
        except (ArithmeticError, RuntimeError, ValueError):
            if len(seen) < 2:
                return None
        inside = [s for s in seen if 0.0 < s[1] < arc.length] or seen
        size, distance, point = min(inside, key=lambda s: s[0])
        return distance, point, size <= _JUMP * max(seen[0][0], seen[1][0])

    def _detect(self, arc: _Arc, end: _Point, tangent: Array, out: list[SpecialPoint]) -> bool:
        """Find the special points within a step; False if the step has jumped to another branch."""
        t = self.tangents[-1]
        crossings = self._crossings(arc, end)
        smooth = all(c[2] for c in crossings)
        near = 1e-4 * arc.length + 1e-9
        found: list[tuple[float, str, _Point, int]] = []
        if t[-1] * tangent[-1] < 0:
            turn = self._locate(arc, end, lambda p: float(self.problem.tangent(p, t)[-1]))
            if turn is not None:
                hits = [c for c in crossings if abs(c[0] - turn[0]) <= near]
                crossings = [c for c in crossings if abs(c[0] - turn[0]) > near]
                found.append((turn[0], "limit" if len(hits) % 2 else "bifurcation", turn[1], max(1, len(hits))))
        while crossings:
            distance, point, _smooth = crossings[0]
            same = [c for c in crossings if abs(c[0] - distance) <= near]
            crossings = [c for c in crossings if abs(c[0] - distance) > near]
            found.append((distance, "bifurcation", point, len(same)))
        for distance, kind, point, count in sorted(found, key=lambda f: f[0]):
            share = distance / arc.length
            direction = (1 - share) * t + share * tangent
            out.append(self._special(kind, point, count, direction / np.linalg.norm(direction)))
        return smooth

    def _crossings(self, arc: _Arc, end: _Point) -> list[tuple[float, _Point, bool]]:
        """Where the stiffness becomes singular within a step."""
        if not (arc.origin.conservative and end.conservative):
            if arc.origin.signed_distance * end.signed_distance >= 0:
                return []
            located = self._locate(arc, end, lambda p: p.signed_distance)
            return [] if located is None else [located]
        n0, n1 = arc.origin.negative, end.negative
        noise = max(arc.origin.noise, end.noise)
        roots = []
        for j in range(min(n0, n1), max(n0, n1)):
            # an eigenvalue that starts or ends at zero (another mode is neutral) is seen when it leaves the noise
            neutral = min(abs(arc.origin.spectrum[j]), abs(end.spectrum[j])) <= noise
            shift = 2 * noise if neutral else 0.0
            located = self._locate(arc, end, lambda p, j=j, c=shift: float(p.spectrum[j] + c))  # type: ignore[misc]
            if located is not None:
                roots.append(located)
        return roots

    def _special(self, kind: str, point: _Point, count: int, tangent: Array) -> SpecialPoint:
        problem, state = self.problem, point.state
        modes = np.linalg.svd(point.stiffness)[2][::-1][:count]
        largest = np.argmax(np.abs(modes), axis=1)
        modes = modes * np.sign(modes[np.arange(count), largest])[:, None]
        null = np.zeros((count, problem.system.nv))
        null[:, problem.free] = modes * problem.scale[problem.free]
        index = len(self.points) - 1
        return SpecialPoint(kind, state.parameter, state.q, null, index, state.force, tangent)  # type: ignore[arg-type]

    def branch(self) -> Branch:
        """What was computed."""
        p, system = self.points, self.problem.system
        self.statistics.wall_time = time.perf_counter() - self.clock
        self.statistics.residuals = self.statistics.factorisations = self.problem.evaluations - self.count
        negative = np.array([x.negative for x in p], dtype=np.int64)
        return Branch(
            system=system,
            parameter=np.array([x.state.parameter for x in p], dtype=np.float64),
            q=np.array([x.state.q for x in p]).reshape(-1, system.nq),
            u=np.array([x.u for x in p]).reshape(-1, system.nu),
            tau=np.array([x.tau for x in p]).reshape(-1, system.nv),
            gravity=np.array([x.gravity for x in p], dtype=np.float64),
            negative=negative,
            stable=negative == 0,
            residual=np.array([x.residual for x in p], dtype=np.float64),
            iterations=np.array([x.iterations for x in p], dtype=np.int64),
            points=tuple(self.specials),
            branches=(),
            success=self.success,
            message=self.message,
            statistics=self.statistics,
            _problem=self.problem,
            _options=self.options,
        )


def _solve(M: Array, b: Array) -> Array:
    """M⁻¹ b, or the shortest solution if M is singular: nothing moves along directions that cost no energy."""
    factors, pivot, info = lapack.dgetrf(M)
    norm = float(np.max(np.sum(np.abs(M), axis=0)))
    if info == 0 and lapack.dgecon(factors, norm)[0] > _SINGULAR:
        return np.asarray(lapack.dgetrs(factors, pivot, b)[0], dtype=np.float64)
    return np.asarray(np.linalg.lstsq(M, b, rcond=_SINGULAR)[0], dtype=np.float64)


def _angle(a: Array, b: Array) -> float:
    """Angle between two directions."""
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.arccos(np.clip(a @ b / size, -1.0, 1.0))) if size > 0 else 0.0
