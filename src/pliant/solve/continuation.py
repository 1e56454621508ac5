"""Continuation: families of static equilibria as a load or a coordinate varies, past limit and bifurcation points."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.validate import choice, finite, integer, positive
from ..system import Given, Inputs, System, needs_system
from .equilibrium import Equilibrium
from .path_problem import (
    Arc,
    Loading,
    PathOptions,
    PathPoint,
    PathProblem,
    PathState,
    angle_between,
    force_vector,
    held_coordinate,
    path_limits,
    start_configuration,
)
from .result import Statistics
from .stability import assess

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
    u : ndarray (n, nu)
        Inputs.
    tau : ndarray (n, nv)
        Further generalised forces, with that of a held coordinate.
    gravity : ndarray (n,)
        Factor of the system's gravity.
    negative : ndarray (n,), int
        Negative eigenvalues of the symmetric part of the tangent stiffness, without a held coordinate.
    stable : ndarray (n,), bool
        Whether the equilibrium is stable, by the criteria of `Equilibrium`: with a potential, whether there are none;
        without one, by the eigenvalues of motion, so that flutter is seen. Neutral points count as stable here.
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
    _problem: PathProblem = field(repr=False)
    _options: PathOptions = field(repr=False)

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
        given = Given(gravity=float(self.gravity[k]))
        verdict = assess(self.system, self.q[k], self.u[k], self.tau[k], self._problem.held_row, given=given)
        return Equilibrium(
            q=self.q[k].copy(),
            u=self.u[k].copy(),
            tau=self.tau[k].copy(),
            success=True,
            stability=verdict.stability,
            residual=float(self.residual[k]),
            iterations=int(self.iterations[k]),
            load_steps=1,
            message=note,
            system=self.system,
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

    def plot(self, quantity: str | Callable[[Array], float], **options: Any) -> Any:
        """Plot a coordinate of a frame, or a function of q, against the parameter; see `pliant.viz.plots.plot_branch`."""
        from ..viz.plots import plot_branch

        return plot_branch(self, quantity, **options)

    def plot_shapes(self, count: int = 8, *, label: str = "parameter", **options: Any) -> Any:
        """Draw equilibria evenly spread over the branch; see `pliant.viz.drawing.plot_configurations`."""
        from ..viz.drawing import plot_configurations

        k = np.unique(np.linspace(0, len(self) - 1, integer("count", count, minimum=1)).round().astype(int))
        return plot_configurations(self.system, self.q[k], values=self.parameter[k], label=label, **options)


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

    Examples
    --------
    The load at which a clamped column buckles, π² EI / 4 L²:

    >>> import pliant as pl
    >>> robot = pl.Robot("column", gravity=(0, 0, 0))
    >>> rod = robot.add_rod(
    ...     "rod", length=1.0, stiffness=[1] * 6, inertia=[1] * 6, strains=pl.Strains.planar_bending(5)
    ... )
    >>> push = robot.add_wrench("push", rod.tip, force=(-1, 0, 0))
    >>> branch = pl.trace_equilibria(robot.compile(), input="push", stop=4.0)
    >>> print(f"{branch.points[0].kind} at {branch.points[0].parameter:.4f} N")
    bifurcation at 2.4674 N
    """
    needs_system("trace_equilibria", system)
    if np.any(system.known) or system.held_tendons or system.loop_rows:
        raise ValueError(
            "trace_equilibria does not know prescribed motion and loops yet: leave out add_motion and control='length', or follow "
            "the equilibria with solve_statics(motion=...) step by step."
        )
    if not isinstance(system, System):
        raise TypeError(f"system = {system!r} must be a System; call robot.compile().")
    choice("method", method, ("arclength", "natural"))
    given = [load is not None, input is not None, bool(gravity), coordinate is not None]
    if sum(given) != 1:
        raise ValueError(f"give exactly one of load, input, gravity and coordinate ({sum(given)} were given).")
    held = None if coordinate is None else held_coordinate(system, coordinate)
    vary = Loading(system, load, input, gravity, system.inputs(u), force_vector(system, tau))
    configuration, chosen = start_configuration(system, vary, held, start, begin)
    first = finite("begin", chosen)
    limits = path_limits(first, finite("stop", stop), bounds)
    options = PathOptions(
        first, float(stop), limits, method, step, max_step, min_step, steps, tolerance, iterations, bool(detect)
    )
    problem = PathProblem(system, vary, held, abs(options.stop - options.begin))
    tracer = _Tracer(problem, options)
    tracer.begin(configuration)
    branch = tracer.branch()
    if switch:
        found = branch.special("bifurcation")
        branch = replace(branch, branches=tuple(branch.switch(p, sign=s) for p in found for s in (1, -1)))
    return branch


# ------------------------------------------------------------ options and loads


class _Tracer:
    def __init__(self, problem: PathProblem, options: PathOptions) -> None:
        self.problem, self.options = problem, options
        self.points: list[PathPoint] = []
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
        state = problem.move(PathState(q, 0.0, o.begin), np.zeros(n + 1), o.begin)
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
        point = problem.evaluate(PathState(special.q, special.force, special.parameter))
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
            angle = angle_between(self.tangents[-1], tangent)
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
    ) -> tuple[PathPoint, Array, float | None, list[SpecialPoint]] | None:
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

    def _advance(self, step: float, leaving: Array | None) -> tuple[Arc, PathPoint, Array] | None:
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
            if max(angle_between(t, tangent), angle_between(t, z)) > limit:
                return None
        elif abs(leaving @ z) > 5 * step:
            return None
        return Arc(origin, normal, direction, step, z - step * direction), point, tangent

    def _bound(self, arc: Arc, point: PathPoint) -> float | None:
        """The bound that the step has reached or passed."""
        low, high = self.options.bounds
        before, after = arc.origin.state.parameter, point.state.parameter
        if after >= high and (before < high or after > before):
            return high
        if after <= low and (before > low or after < before):
            return low
        return None

    def _cut(self, arc: Arc, point: PathPoint, bound: float) -> tuple[Arc, PathPoint, Array] | None:
        """Shorten a step so that it ends at a bound."""
        problem, o = self.problem, self.options
        width = problem.width
        end: PathPoint | None = point
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

    def _locate(
        self, arc: Arc, end: PathPoint, test: Callable[[PathPoint], float]
    ) -> tuple[float, PathPoint, bool] | None:
        """The root of a test function along a step, the point there, and whether the function is continuous."""
        seen: list[tuple[float, float, PathPoint]] = []
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

        from scipy.optimize import brentq  # here, since it takes a while to import

        try:
            brentq(value, 0.0, arc.length, xtol=1e-13 * arc.length + 1e-15, rtol=1e-14, maxiter=80)
        except (ArithmeticError, RuntimeError, ValueError):
            if len(seen) < 2:
                return None
        inside = [s for s in seen if 0.0 < s[1] < arc.length] or seen
        size, distance, point = min(inside, key=lambda s: s[0])
        return distance, point, size <= _JUMP * max(seen[0][0], seen[1][0])

    def _detect(self, arc: Arc, end: PathPoint, tangent: Array, out: list[SpecialPoint]) -> bool:
        """Find the special points within a step; False if the step has jumped to another branch."""
        t = self.tangents[-1]
        crossings = self._crossings(arc, end)
        smooth = all(c[2] for c in crossings)
        near = 1e-4 * arc.length + 1e-9
        found: list[tuple[float, str, PathPoint, int]] = []
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

    def _crossings(self, arc: Arc, end: PathPoint) -> list[tuple[float, PathPoint, bool]]:
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

    def _special(self, kind: str, point: PathPoint, count: int, tangent: Array) -> SpecialPoint:
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
            stable=np.array([self.problem.stable(x) for x in p], dtype=np.bool_),
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
