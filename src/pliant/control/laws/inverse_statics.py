"""Quasi-static inverse kinematics: the inputs whose equilibrium reaches targets, within limits, and the best of many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...analysis.least_norm import least_norm
from ...analysis.linear import input_slopes
from ...gradients.costs.frames import Orientation, Position
from ...gradients.costs.quantity import Quantity, stack
from ...gradients.costs.states import States
from ...model.links import Frame, Link
from ...model.pose import Pose
from ...model.validate import integer, positive, reals, shown, vector
from ...solve.equilibrium import Equilibrium
from ...solve.statics import solve_statics
from ...system import System, needs_system
from .gains import weight_matrix
from .law import input_limits
from .quadratic import solve_quadratic

__all__ = ["InverseStatics", "inverse_statics"]

Array = NDArray[np.float64]
Status = Literal["reached", "nearest", "failed", "interrupted"]
_STALE = 1e-5  # relative gain of a step below which Gauss–Newton hands over to descent, or to the second goal
_SMALL = 1e-9  # a step below this, relative to the range of the inputs, is none


@dataclass(frozen=True)
class InverseStatics:
    """Result of `inverse_statics`.

    Attributes
    ----------
    u : ndarray (nu,)
        Inputs.
    equilibrium : Equilibrium
        The robot under them.
    status : {"reached", "nearest", "failed", "interrupted"}
        Whether the targets are reached, or u is the best within bounds nearby, or it stopped before, or Ctrl-C ended it.
    error : float
        Distance from the targets [m; 1 rad counts as `lever`], of all of them together.
    residual : ndarray (m,)
        What is missing in each entry of the targets, in their order and units.
    effort : float
        ½ (u − u₀)ᵀR (u − u₀), or the distance from the posture, which is least among inputs that reach the targets.
    active : tuple of str
        Inputs at a bound.
    jacobian : ndarray (m, nu)
        Change of the targets' entries with the inputs, exact.
    iterations, evaluations : int
        Steps, and equilibria that were solved.
    message : str
    warnings : tuple of str
    """

    u: Array
    equilibrium: Equilibrium
    status: Status
    error: float
    residual: Array
    effort: float
    active: tuple[str, ...]
    jacobian: Array = field(repr=False)
    iterations: int
    evaluations: int
    message: str
    warnings: tuple[str, ...] = ()

    @property
    def success(self) -> bool:
        """Whether the targets are reached."""
        return self.status == "reached"

    def __str__(self) -> str:
        """One line, and warnings."""
        return "\n".join([f"{self.status}: {self.message}", *(f"  warning: {text}" for text in self.warnings)])


def inverse_statics(
    system: System,
    targets: Any,
    bounds: Any = None,
    *,
    start: Equilibrium | ArrayLike | None = None,
    effort: Any = 1.0,
    prefer: Any = None,
    posture: ArrayLike | Equilibrium | None = None,
    lever: float = 0.1,
    tolerance: float = 1e-6,
    iterations: int = 60,
) -> Any:
    """The inputs whose equilibrium brings frames to targets, within bounds, with the least effort of all that do.

    Parameters
    ----------
    system : System
        Also with loops and contact.
    targets : dict, (Quantity, goal), or a list of them
        By frame: a position (3,) or a `Pose`; or a quantity of `pliant.costs` and its value (m,), also as a key of the dictionary. A list is a path: each
        point starts where the one before ended, and a list is returned.
    bounds : pair, or dict of pairs, optional
        Of the inputs; those of the robot if left out (cables only pull).
    start : Equilibrium or coordinates (nq,), optional
        Where to start; the equilibrium of the inputs `prefer` if left out.
    effort : float, array (nu,) or (nu, nu)
        R of ½ (u − u₀)ᵀR (u − u₀), which is made least among inputs that reach the targets.
    prefer : array (nu,) or dict, optional
        u₀, such as a pretension; zero if left out.
    posture : coordinates (nq,) or Equilibrium, optional
        To be near to this shape instead (in natural sizes of the coordinates), where targets leave a choice.
    lever : float
        What an error of 1 rad counts as [m].
    tolerance : float
        Error up to which targets are reached [m, or the unit of a quantity].
    iterations : int

    Returns
    -------
    InverseStatics, or a list of them for a path
        Targets that cannot be reached are not an error: `status` is "nearest", and u is where no change within bounds comes nearer. Ctrl-C ends it with the
        best so far ("interrupted"), and a path with the points until then.

    Notes
    -----
    Gauss–Newton with the exact static Jacobian, steps within a trust region, and bounds by an active set; among inputs that do the same for the targets the
    step takes those of least effort. Where targets stay out of reach, projected quasi-Newton descent (L-BFGS-B) on the exact gradient finishes. The answer is a local one: from
    another start there may be a better.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(3)
    ... )
    >>> for name, y, z in (("up", 0, 1), ("left", 1, 0), ("down", 0, -1), ("right", -1, 0)):
    ...     tendon = robot.add_tendon(name, arm, y=0.012 * y, z=0.012 * z)
    >>> system = robot.compile()
    >>> tip = pl.costs.Position("arm.tip")[1:]  # an inextensible arm has little say in x
    >>> found = pl.inverse_statics(system, (tip, [0.05, -0.1]), bounds=(0, 40))
    >>> print(found.status, found.active)  # least effort: the antagonists rest
    reached ('down', 'right')
    >>> far = pl.inverse_statics(system, {"arm.tip": (0.5, 0.0, 0.0)}, bounds=(0, 40))
    >>> print(far.status, f"{1000 * far.error:.0f} mm away")
    nearest 125 mm away
    """
    needs_system("inverse_statics", system)
    if system.held_tendons:
        raise ValueError(
            f"inverse_statics is not possible for {system.name!r}: tendons of prescribed length ({', '.join(system.held_tendons)}) have no input. Use control='tension' "
            "and take the lengths from the result."
        )
    positive("tolerance", tolerance)
    lower, upper = input_limits(system, bounds)
    free = np.zeros(system.nu) if prefer is None else prefer
    preferred = np.clip(
        system.inputs(prefer) if isinstance(prefer, Mapping) else vector("prefer", free, (system.nu,)), lower, upper
    )
    shape = posture.q if isinstance(posture, Equilibrium) else posture
    options = _Options(
        system, lower, upper, preferred, weight_matrix("effort", effort, system.nu), None if shape is None else system.check_q(shape), positive("lever", lever),
        float(tolerance), integer("iterations", iterations, minimum=1),
    )  # fmt: skip
    if isinstance(start, Equilibrium):
        begin, u = start, np.clip(start.u, lower, upper)
    else:
        begin = solve_statics(system, preferred, start=start)
        u = preferred
    path = targets if isinstance(targets, list) else [targets]
    found: list[InverseStatics] = []
    for point in path:
        found.append(_Search(options, *_stacked(system, point, options.lever), begin).solve(u))
        if found[-1].status == "interrupted":
            break
        if found[-1].equilibrium.success:
            begin, u = found[-1].equilibrium, found[-1].u
    return found if isinstance(targets, list) else found[0]


@dataclass(frozen=True)
class _Options:
    system: System
    lower: Array
    upper: Array
    prefer: Array
    effort: Array
    posture: Array | None
    lever: float
    tolerance: float
    iterations: int


def _stacked(system: System, targets: Any, lever: float) -> tuple[Quantity, Array, Array]:
    """All targets as one quantity, its goal (m,), and the weights of its entries."""
    hint = "Give a dictionary of positions (3,) or Poses by frame, or (quantity, goal)."
    pairs = list(targets.items()) if isinstance(targets, Mapping) else [targets]
    parts: list[Quantity] = []
    goals, weights = [np.zeros(0)], [np.zeros(0)]
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"targets = {shown(targets)} is not understood. {hint}")
        what, goal = pair
        if isinstance(what, Quantity):
            m = what.size(system)
            parts.append(what)
            goals.append(vector("the goal", np.atleast_1d(reals("the goal", goal)), (m,)))
            weights.append(np.ones(m))
        elif isinstance(what, (str, Frame, Link)):
            turned = isinstance(goal, Pose) or np.shape(goal) == (4, 4)
            pose = goal.matrix if isinstance(goal, Pose) else np.asarray(reals(f"targets[{shown(what)}]", goal))
            place = pose[:3, 3] if turned else vector(f"targets[{shown(what)}]", pose, (3,), hint=hint)
            parts.append(Position(what))
            goals.append(place)
            weights.append(np.ones(3))
            if turned:
                parts.append(Orientation(what, pose[:3, :3]))
                goals.append(np.zeros(3))
                weights.append(np.full(3, lever))
        else:
            raise TypeError(f"targets = {shown(targets)} is not understood. {hint}")
    if not parts:
        raise ValueError(f"targets is empty. {hint}")
    whole = parts[0] if len(parts) == 1 else stack(*parts)
    whole.size(system)
    return whole, np.concatenate(goals), np.concatenate(weights)


class _Point:
    """An equilibrium, how far it is from the targets, and how that changes with the inputs."""

    def __init__(self, search: _Search, rest: Equilibrium) -> None:
        self.rest, self.u, self._search = rest, rest.u, search
        o, system = search.options, search.options.system
        self._found = search.quantity.evaluate(States.at_rest(system, rest.q, rest.u))
        self.residual = search.goal - self._found.value[0]
        self.error = search.weight * self.residual
        self.miss = float(np.linalg.norm(self.error))
        if o.posture is None:
            away = rest.u - o.prefer
            self.effort = 0.5 * float(away @ o.effort @ away)
        else:
            self.away = system.difference(o.posture, rest.q) / system.internal.scale
            self.effort = 0.5 * float(self.away @ self.away)

    def slopes(self) -> tuple[Array, Array]:
        """Derivatives of the targets' entries (m, nu) and of the coordinates (nv, nu) by the inputs."""
        S = input_slopes(self._search.options.system, self.rest)
        pulled = [self._found.pull(row[None]) for row in np.eye(len(self.residual))]
        return np.array([d.q[0] @ S + d.u[0] for d in pulled]), S


class _Search:
    def __init__(self, options: _Options, quantity: Quantity, goal: Array, weight: Array, begin: Equilibrium) -> None:
        self.options, self.quantity, self.goal, self.weight, self.begin = options, quantity, goal, weight, begin
        self.evaluations, self.count = 0, 0
        self.best: _Point | None = None  # so far
        self.span = np.ones(options.system.nu)

    def _scale(self, S: Array) -> None:
        """Natural sizes of the inputs: what moves the robot by a natural size of its coordinates, and no more than their range."""
        o = self.options
        moved = np.abs(S / o.system.internal.scale[:, None]).max(axis=0, initial=0.0)
        size = np.divide(1.0, moved, out=np.full(len(moved), np.inf), where=moved > 0.0)
        size = np.minimum(size, np.where(o.upper > o.lower, o.upper - o.lower, np.inf))
        self.span = np.where(np.isfinite(size), size, 1.0)

    def at(self, u: Array, near: Equilibrium) -> _Point | None:
        """The equilibrium of some inputs; None if there is none, or the targets are not defined there."""
        self.evaluations += 1
        system = self.options.system
        rest = solve_statics(
            system, u, start=self.begin if system.nz else near
        )  # what sticks is strained from the begin
        return _Point(self, rest) if rest.success else None

    def solve(self, u: Array) -> InverseStatics:
        """The best inputs from u on; of what was found until then, if Ctrl-C ends it."""
        try:
            return self._solve(u)
        except KeyboardInterrupt:
            best = self.best
            if best is None:
                raise
            text = f"Ctrl-C ended it after {self.evaluations} equilibria; u is the best of them"
            return self._result(best, best.slopes()[0], self.count, "interrupted", text)

    def _solve(self, u: Array) -> InverseStatics:
        here = self.at(u, self.begin)
        if here is None:
            rest = solve_statics(self.options.system, u, start=self.begin)
            return self._result(
                _Point(self, rest), None, 0, "failed", f"there is no equilibrium to start from: {rest.message}"
            )
        o, radius = self.options, 0.5
        self.best = here
        J, S = here.slopes()
        self._scale(S)
        for count in range(1, o.iterations + 1):
            self.count = count
            move, gain, saved = self._step(here, J, S, radius)
            small = float(np.abs(move / self.span).max(initial=0.0)) <= _SMALL
            done = here.miss <= o.tolerance
            if small or (done and saved <= 1e-10 * here.effort) or (not done and gain <= _STALE * 0.5 * here.miss**2):
                break
            new = self.at(np.clip(here.u + move, o.lower, o.upper), here.rest)
            better = new is not None and (
                (new.miss <= o.tolerance and new.effort < here.effort) if done
                else 0.5 * (here.miss**2 - new.miss**2) > 1e-4 * gain
            )  # fmt: skip
            if not better or new is None:
                radius = 0.25 * min(radius, float(np.abs(move / self.span).max()))
                if radius < _SMALL:
                    break
                continue
            full = new.miss <= o.tolerance or 0.5 * (here.miss**2 - new.miss**2) > 0.5 * gain
            radius = min(2.0 * radius, 2.0) if full else radius
            here = self.best = new
            J, S = here.slopes()
        else:
            if here.miss > o.tolerance:
                return self._result(here, J, count, "failed", f"{count} iterations were not enough; raise `iterations`")
        if here.miss <= o.tolerance:
            return self._result(here, J, count, "reached", f"{count} iterations")
        return self._descend(here, count)

    def _step(self, here: _Point, J: Array, S: Array, radius: float) -> tuple[Array, float, float]:
        """A change of inputs within bounds and trust, what it gains for the targets, and what it then saves of effort, as predicted."""
        o, span, u = self.options, self.span, here.u
        A = (self.weight[:, None] * J) * span
        low, high = np.maximum((o.lower - u) / span, -radius), np.minimum((o.upper - u) / span, radius)
        best = least_norm(A, here.error, low, high)
        if o.posture is None:
            H, g = o.effort, o.effort @ (u - o.prefer)
        else:
            B = S / o.system.internal.scale[:, None]
            H, g = B.T @ B, B.T @ here.away
        H, g = span[:, None] * H * span, span * g
        H = H + 1e-10 * max(float(np.trace(H)), 1e-300) * np.eye(len(g))
        _U, s, Vt = np.linalg.svd(A, full_matrices=False)
        rows = Vt[s > 1e-9 * s.max(initial=1e-300)]
        one = np.eye(len(u))
        found = solve_quadratic(
            H, g, np.vstack([rows, one, -one]), np.concatenate([rows @ best, low, -high]), len(rows)
        )
        x = np.clip(found.x, low, high) if found.success else best
        if np.linalg.norm(here.error - A @ x) > np.linalg.norm(here.error - A @ best) * (1 + 1e-9) + 1e-3 * o.tolerance:
            x = best
        gain = 0.5 * (here.miss**2 - float(np.sum((here.error - A @ x) ** 2)))
        return span * x, gain, float(-(g @ x + 0.5 * x @ H @ x))

    def _descend(self, here: _Point, count: int) -> InverseStatics:
        """The nearest point within bounds, by descent on the exact gradient."""
        from scipy.optimize import minimize  # here, since it takes a while to import

        o, span, last = self.options, self.span, [here]

        def value(x: Array) -> tuple[float, Array]:
            new = self.at(np.clip(x * span, o.lower, o.upper), last[0].rest)
            if new is None:
                return 1e3 * here.miss**2, np.zeros(len(x))
            if new.miss < last[0].miss:
                last[0] = self.best = new
            slope = -(new.slopes()[0] * span).T @ (self.weight * new.error)
            return 0.5 * new.miss**2 / here.miss**2, slope / here.miss**2

        limits = list(zip(o.lower / span, o.upper / span))
        options: Any = {"maxiter": 10 * o.iterations, "ftol": 1e-15, "gtol": 1e-10}
        found = minimize(value, here.u / span, jac=True, method="L-BFGS-B", bounds=limits, options=options)
        best = last[0]
        J = best.slopes()[0]
        slope = -(J * span).T @ (self.weight * best.error)
        stuck = np.clip(best.u / span - slope, o.lower / span, o.upper / span) - best.u / span
        flat = float(np.abs(stuck).max(initial=0.0)) <= 1e-4 * best.miss
        count += int(found.nit)
        if best.miss <= o.tolerance:
            return self._result(best, J, count, "reached", f"{count} iterations")
        if not flat:
            return self._result(best, J, count, "failed", f"descent stopped before it was done ({found.message})")
        return self._result(best, J, count, "nearest", f"the targets are out of reach, by {best.miss:.3g}")

    def _result(self, point: _Point, J: Array | None, count: int, status: Status, message: str) -> InverseStatics:
        o, names = self.options, self.options.system.input_names
        slack = 1e-9 * self.span
        held = (point.u <= o.lower + slack) | (point.u >= o.upper - slack)
        active = tuple(name for name, at in zip(names, held) if at)
        told = f"; at their bounds: {', '.join(active)}" if active and status != "reached" else ""
        warnings = list(point.rest.warnings)
        if status in ("failed", "interrupted"):
            warnings.append("u is no answer: the search ended before it was done.")
        jacobian = np.zeros((len(point.residual), len(names))) if J is None else J
        return InverseStatics(
            point.u, point.rest, status, point.miss, point.residual, point.effort, active, jacobian, count, self.evaluations, message + told,
            tuple(warnings),
        )  # fmt: skip
