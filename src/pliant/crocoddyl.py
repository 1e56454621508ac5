"""Optimal control problems for the solvers of Crocoddyl: ``import pliant.crocoddyl``; needs ``pip install 'pliant[crocoddyl]'``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import lie
from .control.optimal.intervals import Interval, interval_costs, needs_plain_time
from .control.optimal.problem import Problem, problem_of
from .gradients.costs.cost import Cost
from .system import System, needs_system

try:
    import crocoddyl
except ImportError:
    raise ImportError("pliant.crocoddyl needs Crocoddyl: pip install 'pliant[crocoddyl]'.") from None

__all__ = ["ActionModel", "State", "shooting_problem"]

Array = NDArray[np.float64]


class State(crocoddyl.StateAbstract):
    """The states (q, v) of a system as a manifold of Crocoddyl: quaternions of spherical and free joints are moved along the group.

    Examples
    --------
    >>> import pliant as pl
    >>> import pliant.crocoddyl
    >>> robot = pl.Robot("ball")
    >>> ball = robot.add_body("ball", joint=pl.Free(), shape=pl.Sphere(0.1), mass=1.0)
    >>> state = pl.crocoddyl.State(robot.compile())
    >>> state.nx, state.ndx
    (13, 12)
    """

    def __init__(self, system: System) -> None:
        needs_system("State", system)
        crocoddyl.StateAbstract.__init__(self, system.nq + system.nv, 2 * system.nv)
        self.system = system

    def zero(self) -> Array:
        """The neutral configuration at rest."""
        return np.concatenate([self.system.neutral(), np.zeros(self.system.nv)])

    def rand(self) -> Array:
        """A random state near it."""
        return self.integrate(self.zero(), np.random.default_rng().uniform(-1.0, 1.0, (self.ndx,)))

    def diff(self, x0: Array, x1: Array) -> Array:
        """x₁ ⊖ x₀."""
        nq = self.system.nq
        return np.concatenate([self.system.difference(x0[:nq], x1[:nq]), x1[nq:] - x0[nq:]])

    def integrate(self, x: Array, dx: Array) -> Array:
        """x ⊕ dx."""
        nq, nv = self.system.nq, self.system.nv
        return np.concatenate([self.system.integrate(x[:nq], dx[:nv]), x[nq:] + dx[nv:]])

    def Jdiff(self, x0: Array, x1: Array, firstsecond: Any = crocoddyl.Jcomponent.both) -> Any:
        """Derivatives of x₁ ⊖ x₀ by x₀ and x₁."""
        d = self.diff(x0, x1)
        first, second = -np.eye(self.ndx), np.eye(self.ndx)
        for own, turn, body in self._groups(d):
            second[own, own] = np.linalg.inv(body)
            first[own, own] = -second[own, own] @ turn
        return _chosen(first, second, firstsecond)

    def Jintegrate(self, x: Array, dx: Array, firstsecond: Any = crocoddyl.Jcomponent.both) -> Any:
        """Derivatives of x ⊕ dx by x and dx."""
        first, second = np.eye(self.ndx), np.eye(self.ndx)
        for own, turn, body in self._groups(dx):
            first[own, own], second[own, own] = turn, body
        return _chosen(first, second, firstsecond)

    def JintegrateTransport(self, x: Array, dx: Array, Jin: Array, firstsecond: Any) -> Array:
        """Rows of a matrix from the tangent space at x ⊕ dx to that at x."""
        return np.asarray(self.Jintegrate(x, dx, firstsecond)[0]) @ Jin

    def _groups(self, dx: Array) -> list[tuple[slice, Array, Array]]:
        """Of every spherical and free joint: its velocities, Ad(exp(−d)), and how exp(d) turns with d, seen from the body."""
        found = []
        for joint in self.system.manifold_joints:
            size = joint.v.stop - joint.v.start
            twist = np.zeros(6)
            twist[:size] = dx[joint.v]
            found.append((joint.v, lie.Ad(lie.exp(-twist))[:size, :size], lie.tangent(-twist)[:size, :size]))
        return found


def _chosen(first: Array, second: Array, which: Any) -> list[Array]:
    """What Crocoddyl asks for."""
    if which == crocoddyl.Jcomponent.first:
        return [first]
    return [second] if which == crocoddyl.Jcomponent.second else [first, second]


class ActionModel(crocoddyl.ActionModelAbstract):
    """One knot of an optimal control problem: its steps from any state, and the cost of the states at their ends.

    Parameters
    ----------
    problem : Problem
        Of a plan (``plan.problem``); see `shooting_problem`, which makes all models.
    knot : int, optional
        Which; without one it is the end, which costs nothing more, since costs belong to the ends of steps.
    state : State, optional
    interval : Interval, optional
        Shared by the models of a problem.

    Notes
    -----
    Derivatives of steps are exact, those of the cost of second order are Gauss–Newton's, as in `optimize`. A step that cannot be taken is NaN, for which
    solvers shorten their step. One process may hold many models, but they are not for threads.
    """

    def __init__(
        self,
        problem: Problem,
        knot: int | None = None,
        *,
        state: State | None = None,
        interval: Interval | None = None,
        cost: Cost | None = None,
    ) -> None:
        needs_plain_time(problem, "ActionModel")
        own = State(problem.system) if state is None else state
        crocoddyl.ActionModelAbstract.__init__(self, own, 0 if knot is None else problem.system.nu, 0)
        self.problem, self.knot, self.manifold = problem, knot, own
        if knot is None:
            return
        self.interval = Interval(problem) if interval is None else interval
        self.own_cost = interval_costs(problem, "ActionModel")[knot] if cost is None and interval is None else cost
        if np.all(np.isfinite(problem.lower[knot])) or np.all(np.isfinite(problem.upper[knot])):
            self.u_lb, self.u_ub = problem.lower[knot], problem.upper[knot]

    def _go(self, x: Array, u: Array) -> bool:
        assert self.knot is not None
        return self.interval.go(self.knot * self.problem.steps, np.array(x), np.array(u))

    def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
        """Where it ends, and what it costs."""
        if u is None or self.knot is None:
            data.xnext, data.cost = x, 0.0
            return
        if not self._go(x, u):
            data.xnext, data.cost = np.full(len(x), np.nan), np.nan
            return
        data.xnext = self.interval.end
        data.cost = 0.0 if self.own_cost is None else self.own_cost.evaluate(self.interval.states).value

    def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:
        """Derivatives."""
        if u is None or self.knot is None or not self._go(x, u):
            data.Lx, data.Lxx = np.zeros(self.manifold.ndx), np.zeros((self.manifold.ndx,) * 2)
            return
        by_x, by_u = self.interval.slopes()
        data.Fx, data.Fu = by_x[-1], by_u[-1]
        if self.own_cost is not None:
            found = self.interval.quadratic(self.own_cost, by_x, by_u)
            data.Lx, data.Lu, data.Lxx, data.Lxu, data.Luu = found.x, found.u, found.xx, found.ux.T, found.uu


def shooting_problem(system: System | Problem, cost: Any = None, **options: Any) -> Any:
    """A `crocoddyl.ShootingProblem` of what `pliant.optimize` takes: for ``crocoddyl.SolverBoxDDP``, ``SolverFDDP`` and others.

    Parameters
    ----------
    system : System or Problem
        Or the problem of a plan, ``plan.problem``, without further arguments.
    cost, **options
        As of `pliant.optimize`: ``horizon``, ``knots``, ``bounds``, ``steps``, ``start``, ``velocity``, ``t0``, ``tau``, ``integrator``.

    Returns
    -------
    crocoddyl.ShootingProblem
        With the start as ``x0``, an `ActionModel` for each knot and one for the end.

    Examples
    --------
    >>> import crocoddyl
    >>> import numpy as np
    >>> import pliant as pl
    >>> import pliant.crocoddyl
    >>> robot = pl.Robot("pendulum")
    >>> arm = robot.add_body("arm", joint=pl.Revolute("y"), shape=pl.Box(0.2, 0.02, 0.02), mass=0.1, com=(0.1, 0, 0))
    >>> motor = robot.add_motor("motor", arm)
    >>> cost = [pl.costs.Coordinates("arm").near(-0.5, at="end", weight=10.0), pl.Effort(0.1)]
    >>> problem = pl.crocoddyl.shooting_problem(robot.compile(), cost, horizon=0.5, knots=25, bounds=(-0.5, 0.5))
    >>> solver = crocoddyl.SolverBoxDDP(problem)
    >>> solver.solve([problem.x0] * 26, [np.zeros(1)] * 25, 50, False)
    True
    """
    problem = system if isinstance(system, Problem) else problem_of(system, cost, **options)
    needs_plain_time(problem, "shooting_problem")
    if problem.constraints or problem.free:
        raise ValueError(
            "shooting_problem has no constraints and no free start: use pl.optimize, or penalties in the cost."
        )
    state, interval = State(problem.system), Interval(problem)
    costs = interval_costs(problem, "shooting_problem")
    models = [ActionModel(problem, k, state=state, interval=interval, cost=one) for k, one in enumerate(costs)]
    first = np.concatenate([problem.q, problem.v])
    return crocoddyl.ShootingProblem(first, models, ActionModel(problem, state=state))
