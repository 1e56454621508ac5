"""The closed loop in steps, and the exact gradient of a cost by the parameters of the law."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...gradients.costs.cost import as_cost
from ...gradients.gradient import by_rows
from ...gradients.plan import Ends, Part, Plan
from ...gradients.rollout import Method, Rollout, RolloutError, plan_of
from ...kernels import engine, slots
from ...kernels.solve.tape import ARRIVED, FULL
from ...model.validate import reals, shown, unknown_name, vector
from ...solve.drive import State
from ...solve.result import Statistics
from ...system import System
from .law import input_limits
from .linear_feedback import LinearFeedback

__all__ = ["ClosedLoop", "ClosedLoopGradient"]

Array = NDArray[np.float64]
Parameters = Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class ClosedLoopGradient:
    """The gradient of a cost of a closed loop.

    Attributes
    ----------
    value : float
        The cost.
    terms : dict
        Values of its terms by name.
    parameters : dict of ndarray
        Derivatives by the parameters of the law, with their shapes.
    start, velocity : ndarray (nv,)
        By the state at the start, the law included.
    run : Rollout
        The motion.
    warnings : tuple of str
    """

    value: float
    terms: dict[str, float]
    parameters: dict[str, Array]
    start: Array
    velocity: Array
    run: Rollout
    warnings: tuple[str, ...]

    @property
    def flat(self) -> Array:
        """All derivatives by parameters, one after the other."""
        return np.concatenate([np.zeros(0), *(x.ravel() for x in self.parameters.values())])


class ClosedLoop:
    """A robot under a sampled law, ``u_k = π(t_k, x_k; θ)`` held in each step, with exact gradients by θ.

    Parameters
    ----------
    system : System
    law : LinearFeedback, or function of (t, state, parameters)
        A function returns the inputs (nu,); `parameters` is a dictionary of arrays.
    step, duration : float
        Step, which is the period of the law, and simulated time [s].
    parameters : dict of arrays, optional
        Those of a function, to begin with.
    derivatives : function, optional
        ``derivatives(t, state, parameters)`` returns ∂u/∂q (nu, nv) (along the manifold), ∂u/∂v (nu, nv) and ∂u/∂θ (nu, k), θ one after the other. Without it a
        function is differentiated by differences of fourth order, which the warnings say.
    start, velocity, t0, method, tolerance
        As of `rollout`.
    bounds : pair, or dict of pairs, optional
        Of the inputs; those of the robot if left out. Where they cut off what the law wants, it has no derivative.

    Notes
    -----
    With the maps A_k, B_k of the steps (`Rollout.maps`) and the derivatives Π of the law, the adjoint goes back by
    ``λ_k = ∂c/∂x_k + A_kᵀλ_{k+1} + Π_xᵀ g_k``, ``g_k = ∂c/∂u_k + B_kᵀλ_{k+1}``, and the gradient is Σ Π_θᵀ g_k: that of the motion as it was computed.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("cart", gravity=(0, 0, 0))
    >>> cart = robot.add_body("cart", joint=pl.Prismatic("x"), shape=pl.Sphere(0.1), mass=1.0)
    >>> motor = robot.add_motor("motor", cart)
    >>> system = robot.compile()
    >>> state = pl.costs.stack(pl.costs.Coordinates(), pl.costs.Rates())
    >>> law = pl.control.LinearFeedback(system, state, gains=[[4.0, 1.0]], goal=[0.5, 0.0])
    >>> loop = pl.control.ClosedLoop(system, law, step=0.02, duration=2.0)
    >>> cost = pl.costs.Coordinates().near(0.5) + 1e-3 * pl.Effort()
    >>> gradient = loop.gradient(cost)
    >>> bool(gradient.parameters["gains"][0, 1] < 0)  # more damping is better
    True
    >>> better = loop.gradient(cost, {"gains": [[4.0, 2.0]]})
    >>> bool(better.value < gradient.value)
    True
    """

    def __init__(
        self,
        system: System,
        law: LinearFeedback | Callable[..., Any],
        *,
        step: float,
        duration: float,
        parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Callable[..., tuple[Array, Array, Array]] | None = None,
        start: Any = None,
        velocity: ArrayLike | None = None,
        t0: float | None = None,
        method: Method = "sdirk2",
        tolerance: float = 1e-11,
        bounds: Any = None,
    ) -> None:
        if isinstance(law, LinearFeedback):
            self._law, self._derivatives = law.of, law.derivatives
            self.parameters = law.parameters
            bounds = (law.lower, law.upper) if bounds is None else bounds
        elif callable(law):
            self._law = law
            self._derivatives = derivatives  # type: ignore[assignment]
            self.parameters = {
                name: np.array(reals(f"parameters[{name!r}]", x)) for name, x in (parameters or {}).items()
            }
        else:
            raise TypeError(f"law = {shown(law)} must be a LinearFeedback or a function of (t, state, parameters).")
        self.system = system
        self.lower, self.upper = input_limits(system, bounds)
        none = np.clip(np.zeros(system.nu), self.lower, self.upper)
        plan = plan_of(
            system, none, step=step, duration=duration, start=start, velocity=velocity, t0=t0, method=method, tolerance=tolerance
        )  # fmt: skip
        U = np.tile(none, (len(plan.times) - 1, 1))
        self._plan: Plan = plan_of(
            system, U, step=step, start=start, velocity=velocity, t0=t0, method=method, tolerance=tolerance
        )

    def _given(self, parameters: Mapping[str, ArrayLike] | None) -> dict[str, Array]:
        out = dict(self.parameters)
        for name, value in (parameters or {}).items():
            if name not in out:
                raise unknown_name("parameter of the law", str(name), out)
            out[name] = np.array(vector(f"parameters[{name!r}]", value, out[name].shape))
        return out

    def _inputs(self, t: float, state: State, theta: Parameters) -> Array:
        """What the law wants (nu,), before bounds."""
        try:
            return vector("the inputs of the law", self._law(t, state, theta), (self.system.nu,))
        except Exception as error:
            error.add_note(f"in the law of the closed loop, at t = {t:.6g} s")
            raise

    def run(self, parameters: Mapping[str, ArrayLike] | None = None) -> Rollout:
        """The motion with the law, as a `Rollout`; its `U` are what the law gave.

        Raises `RolloutError` if a step cannot be taken.
        """
        theta, plan, nu = self._given(parameters), self._plan, self.system.nu
        statistics = Statistics()
        memory = plan._memory()
        motion = plan.fill(memory)
        begin = plan._begin(memory, motion)
        p, record = memory.p, memory.record
        n, U = len(plan.times) - 1, plan.U.copy()
        memory.tape.a[0] = begin.a
        p[slots.MARCH_FRESH], p[slots.MARCH_PAST] = float(begin.fresh), 0.0
        p[slots.MARCH_STEPS] = p[slots.MARCH_BUDGET] = 0.0
        status = memory.run(engine.ROLLOUT, begin.given)  # no step: the start, with constraints met
        p[slots.MARCH_BUDGET] = 1.0
        for k in range(n):
            if status != FULL:
                break
            state = State(float(plan.times[k]), record.q[k].copy(), record.v[k].copy())
            U[k] = np.clip(self._inputs(state.t, state, theta), self.lower, self.upper)
            record.inputs[k, :, :nu] = U[k]
            status = memory.run(engine.ROLLOUT)
        done = int(p[slots.MARCH_STEPS])
        statistics.steps, statistics.iterations = done, int(p[slots.MARCH_ITERATIONS])
        plan = replace(plan, U=U, times=plan.times[: done + 1])
        ends = Ends.of(memory, done)
        run = Rollout(
            self.system, ends.t, ends.q, ends.v, ends.u[:, :nu], ends.u[:, nu:], U, plan.tableau.name, plan.schedule, (), statistics, plan,
            (Part(plan, begin, memory),), ends.a, ends.force, ends.memory,
        )  # fmt: skip
        if status != ARRIVED:
            failure = self._plan._why(status, done, memory)
            raise RolloutError(f"step {done + 1}, {failure.message}" if failure.of_step else failure.message, run)
        return run

    def gradient(self, cost: Any, parameters: Mapping[str, ArrayLike] | None = None) -> ClosedLoopGradient:
        """The cost of the closed loop and its exact gradient.

        Parameters
        ----------
        cost : Cost, or a list of them
            See `pliant.costs`.
        parameters : dict of arrays, optional
            Parameters of the law other than those it was made with, by name.
        """
        theta, run, nv = self._given(parameters), self.run(parameters), self.system.nv
        if self.system.nz:
            raise ValueError(
                f"the gradient of a closed loop is not known for {self.system.name!r}: its loads remember (friction that sticks), which the law does not see."
            )
        found = as_cost(cost).evaluate(run.states)
        by_state = np.hstack([found.gradient.q, found.gradient.v])
        by_inputs = by_rows(run, found.gradient.u)
        A, B = run.maps()
        total = np.zeros(sum(x.size for x in theta.values()))
        adjoint = by_state[-1].copy()
        bound = 0
        for k in range(len(run) - 1, -1, -1):
            pull = by_inputs[k] + B[k].T @ adjoint
            state = State(float(run.t[k]), run.q[k], run.v[k])
            wanted = self._inputs(state.t, state, theta)
            free = (wanted >= self.lower) & (wanted <= self.upper)
            bound += not np.all(free)
            pull = np.where(free, pull, 0.0)
            dq, dv, dp = self._slopes(state, theta)
            total += dp.T @ pull
            adjoint = by_state[k] + A[k].T @ adjoint + np.concatenate([dq.T @ pull, dv.T @ pull])
        warnings = (
            [] if self._derivatives is not None else ["the law was differentiated by differences of fourth order."]
        )
        if bound:
            warnings.append(
                f"inputs were at their bounds in {bound} of {len(run)} steps, where they do not depend on the law."
            )
        parts, first = {}, 0
        for name, x in theta.items():
            parts[name] = total[first : first + x.size].reshape(x.shape)
            first += x.size
        return ClosedLoopGradient(found.value, found.terms, parts, adjoint[:nv], adjoint[nv:], run, tuple(warnings))

    def _slopes(self, state: State, theta: Parameters) -> tuple[Array, Array, Array]:
        system, nu, nv = self.system, self.system.nu, self.system.nv
        count = sum(x.size for x in theta.values())
        if self._derivatives is not None:
            shapes = ((nu, nv), (nu, nv), (nu, count))
            found = self._derivatives(state.t, state, theta)
            return tuple(vector("derivatives of the law", x, shape) for x, shape in zip(found, shapes))  # type: ignore[return-value]
        scale = system.internal.scale

        def along(move: Callable[[float], tuple[State, Parameters]], h: float) -> Array:
            values = [self._inputs(state.t, *move(k * h)) for k in (-2.0, -1.0, 1.0, 2.0)]
            return np.asarray((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h))

        one = np.eye(nv)
        dq = [
            along(lambda h, k=k: (state._replace(q=system.integrate(state.q, h * one[k])), theta), 1e-3 * scale[k])
            for k in range(nv)
        ]
        dv = [along(lambda h, k=k: (state._replace(v=state.v + h * one[k]), theta), 1e-3 * scale[k]) for k in range(nv)]
        dp = [np.zeros((nu, 0))]
        for name, x in theta.items():
            for k in range(x.size):

                def move(h: float, name: str = name, x: Array = x, k: int = k) -> tuple[State, Parameters]:
                    moved = x.copy()
                    moved.ravel()[k] += h
                    return state, {**theta, name: moved}

                dp.append(along(move, 1e-3 * max(abs(float(x.ravel()[k])), 1e-3))[:, None])
        return np.array(dq).T, np.array(dv).T, np.hstack(dp)
