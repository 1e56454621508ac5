"""What is to be optimised: a motion in given steps with held inputs, its cost, bounds and constraints; checked once, for every route that solves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...gradients.costs.constraint import Constraint
from ...gradients.costs.cost import Cost, Sum, Term, as_cost
from ...gradients.costs.states import States, slopes_of
from ...gradients.costs.times import Weights
from ...gradients.plan import Plan
from ...gradients.rollout import METHODS, Method, Rollout, carry_out, plan_of
from ...model.validate import choice, integer, positive, reals, shown, unknown_name, vector
from ...solve.remembered import initial_memory
from ...solve.simulate import initial_state
from ...system import System, needs_system
from ...system.processors import all_threads

__all__ = ["FREE", "Problem", "bounds_of", "held_inputs", "problem_of"]

Array = NDArray[np.float64]
FREE = ("start", "velocity")


@dataclass(frozen=True, eq=False)
class Problem:
    """An optimal control problem on the steps of a rollout.

    Minimise ``cost`` over the inputs ``u`` (knots, nu), each held for `steps` steps, within bounds and constraints.

    Attributes
    ----------
    system : System
    cost : Cost
    constraints : tuple of Constraint
    lower, upper : ndarray (knots, nu)
        Bounds of inputs, those of the system itself included; may be infinite.
    horizon : float
        Time [s].
    knots, steps : int
        Number of inputs, and of steps for each.
    q, v, z : ndarray (nq,), (nv,), (nz,)
        Where the motion starts; z is what loads remember there.
    t0 : float
        When it starts [s].
    tau : ndarray (nv,) or (knots × steps, nv), or None
        Further generalised forces.
    motion : dict or None
        Prescribed joints, loops and tendon lengths, as in `simulate`.
    integrator : str
        Method of the rollout.
    free : tuple of str
        What is optimised beside the inputs: "start", "velocity".
    threads : int
        That find derivatives of steps.
    """

    system: System
    cost: Cost
    constraints: tuple[Constraint, ...]
    lower: Array
    upper: Array
    horizon: float
    knots: int
    steps: int
    q: Array
    v: Array
    z: Array
    t0: float = 0.0
    tau: Array | None = None
    motion: Mapping[str, Any] | None = field(default=None, repr=False)
    integrator: Method = "sdirk2"
    free: tuple[str, ...] = ()
    threads: int = 1

    @property
    def step(self) -> float:
        """Step of the rollout [s]."""
        return self.horizon / (self.knots * self.steps)

    @property
    def times(self) -> Array:
        """Times at which inputs begin, and the end, (knots + 1,) [s]."""
        return np.asarray(self.t0 + self.horizon / self.knots * np.arange(self.knots + 1), dtype=np.float64)

    def plan(self, u: Array, tolerance: float = 1e-10) -> Plan:
        """What the rollout of some inputs is told."""
        plan = plan_of(
            self.system, u, step=self.step, duration=self.horizon, tau=self.tau, motion=self.motion, start=self.q, velocity=self.v,
            t0=self.t0, method=self.integrator, tolerance=tolerance,
        )  # fmt: skip
        return replace(plan, z=self.z)

    def rollout(self, u: Array, tolerance: float = 1e-10) -> Rollout:
        """The motion of some inputs (knots, nu)."""
        return carry_out(self.plan(u, tolerance))

    def clipped(self, u: Array) -> Array:
        """Inputs within the bounds."""
        return np.clip(u, self.lower, self.upper)


def problem_of(
    system: System,
    cost: Any,
    *,
    horizon: float,
    knots: int,
    bounds: Any = None,
    steps: int = 1,
    start: Any = None,
    velocity: Any = None,
    t0: float | None = None,
    constraints: Constraint | Iterable[Constraint] = (),
    tau: Any = None,
    motion: Mapping[str, Any] | None = None,
    integrator: Method = "sdirk2",
    free: str | Iterable[str] = (),
    threads: int | None = None,
) -> Problem:
    """A problem from what the user says, checked; arguments as of `optimize`."""
    needs_system("optimize", system)
    if not system.nu:
        raise ValueError(f"{system.name!r} has no inputs to optimise: add tendons, motors or others to the robot.")
    choice("integrator", integrator, METHODS)
    count, share = integer("knots", knots, minimum=1), integer("steps", steps, minimum=1)
    q, v, begin = initial_state(system, start, velocity, t0)
    lower, upper = bounds_of(system, bounds, count)
    problem = Problem(
        system, as_cost(cost), _constraints(constraints), lower, upper, positive("horizon", horizon, unit="s"), count, share, q, v,
        initial_memory(system, start), begin, None if tau is None else reals("tau", tau), motion, integrator, _free(system, free),
        all_threads() if threads is None else integer("threads", threads, minimum=1),
    )  # fmt: skip
    for constraint in problem.constraints:
        constraint.check(system)
    return problem


def _free(system: System, free: Any) -> tuple[str, ...]:
    given = (free,) if isinstance(free, str) else tuple(free)
    for name in given:
        choice("free", name, FREE)
    if given and system.loop_rows:
        raise ValueError(
            f"free = {list(given)} is not allowed: {system.name!r} has loops, which a start that moves would have to keep closed. Leave it out."
        )
    return given


def _constraints(value: Any) -> tuple[Constraint, ...]:
    given = (value,) if isinstance(value, Constraint) else tuple(value)
    for entry in given:
        if not isinstance(entry, Constraint):
            raise TypeError(
                f"constraints: {shown(entry)} must be a Constraint, for example costs.Position('arm.tip')[2] >= 0.05."
            )
    return given


def _pair(name: str, value: Any, size: int) -> tuple[Array, Array]:
    hint = "Give a pair (lower, upper) of numbers or of arrays with an entry for each input, or a dict of pairs by name; None is no bound."
    if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != 2:
        raise ValueError(f"{name} = {shown(value)} is not allowed. {hint}")
    ends = []
    for end, default in zip(value, (-np.inf, np.inf)):
        array = np.asarray(default if end is None else end, dtype=float)
        if array.shape not in ((), (size,)) or np.any(np.isnan(array)):
            raise ValueError(f"{name} = {shown(value)} is not allowed. {hint}")
        ends.append(np.broadcast_to(array, (size,)).copy())
    return ends[0], ends[1]


def bounds_of(system: System, bounds: Any, knots: int) -> tuple[Array, Array]:
    """Bounds (knots, nu), none beyond those of the system."""
    own = system.input_bounds
    low, high = (x.copy() for x in own)
    if isinstance(bounds, Mapping):
        for name, pair in bounds.items():
            if name not in system.input_names:
                raise unknown_name("input", str(name), system.input_names)
            k = system.input_names.index(name)
            a, b = _pair(f"bounds[{name!r}]", pair, 1)
            low[k], high[k] = max(low[k], a[0]), min(high[k], b[0])
    elif bounds is not None:
        a, b = _pair("bounds", bounds, system.nu)
        low, high = np.maximum(low, a), np.minimum(high, b)
    if np.any(low > high):
        k = int(np.argmax(low > high))
        raise ValueError(
            f"bounds of input {system.input_names[k]!r} leave nothing: {low[k]:g} is above {high[k]:g} (those of the system itself are {own[0][k]:g} and "
            f"{own[1][k]:g})."
        )
    return np.tile(low, (knots, 1)), np.tile(high, (knots, 1))


def held_inputs(problem: Problem, states: States) -> Cost:
    """The cost of a problem where integrals of inputs alone are sums over the steps in which they are held, instead of the trapezoidal rule."""
    n = problem.knots * problem.steps
    when = Weights(np.r_[0.0, np.full(n, problem.step)])
    parts = []
    for factor, part in problem.cost.parts:
        if isinstance(part, Term) and isinstance(part.at, str) and part.at == "all" and not part.quantity.per_step:
            by_q, by_v, _by_u = slopes_of(part.quantity.evaluate(states))
            if not any(J is not None and J.any() for J in (by_q, by_v)):
                part = copy(part)
                part.at = when
        parts.append((factor, part))
    return Sum(tuple(parts))


def initial_inputs(problem: Problem, guess: Any) -> Array:
    """Where the iteration starts: inputs (knots, nu) from an array, a vector (nu,), or None (what is within the bounds next to zero)."""
    if guess is None:
        return problem.clipped(np.zeros((problem.knots, problem.system.nu)))
    array = reals("guess", guess)
    shape = (problem.knots, problem.system.nu)
    if array.shape == shape[1:]:
        array = np.tile(array, (problem.knots, 1))
    return problem.clipped(vector("guess", array, shape, hint="Inputs (knots, nu), or (nu,) for all of them."))
