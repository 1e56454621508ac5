"""Gradients of whole motions: the discrete adjoint of a rollout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine, slots
from ..kernels.solve.newton import CONVERGED
from ..kernels.solve.record import Lever
from ..model.validate import unknown_name
from ..solve.equilibrium import Equilibrium
from ..system import Given, System
from ..system.tables import covered, steps_known
from .costs.cost import CostValue, as_cost
from .costs.states import States, Variation
from .memory import Memory, Sizes
from .parameters import Beside, ParameterGradient, derivative
from .remembered import known_memory
from .starting import Starting
from .statics import StaticAdjoint

if TYPE_CHECKING:
    from .plan import Part
    from .rollout import Rollout

__all__ = ["Adjoint", "Gradient", "Pulled", "gradient", "pull", "states_of"]

Array = NDArray[np.float64]
R = TypeVar("R")


class Pulled:
    """Derivatives of something by all that a motion depends on.

    Attributes
    ----------
    u : ndarray (m, nu)
        By the rows of inputs that were given.
    tau : ndarray (nv,) or (n, nv)
        By the further generalised forces, as they were given.
    start, velocity : ndarray (nv,)
        By the start: along the manifold where it has quaternions (``start`` moves to ``system.integrate(start, d)``), and by the initial velocity.
        Zero for what is prescribed.
    remembered : ndarray (nz,)
        By what loads remember at the start (internal variables, as in `Rollout.remembered`).
    parameters : mapping
        By the parameters of the description (`System.parameters`), by name, with start, inputs and prescribed motion held fixed.
    """

    def __init__(self, adjoint: Adjoint, by_u: Array, derive: Callable[[str], float]) -> None:
        self.u = adjoint.u + by_rows(adjoint.run, by_u)
        self.tau, self.start, self.velocity = adjoint.tau, adjoint.start, adjoint.velocity
        self.remembered = adjoint.remembered
        self.parameters = ParameterGradient(adjoint.run.system, derive)
        self._names = adjoint.run.system.input_names

    def __getitem__(self, name: str) -> Any:
        """The derivative by a parameter, or by the rows (m,) of an input, by name."""
        if name in self._names:
            return self.u[:, self._names.index(name)]
        if name not in self.parameters:
            raise unknown_name("parameter or input", name, [*self._names, *self.parameters])
        return self.parameters[name]

    def __repr__(self) -> str:
        """The sizes of the derivatives."""
        sizes = {"u": self.u, "start": self.start, "velocity": self.velocity}
        return f"<derivatives; largest by {', '.join(f'{name} {np.abs(x).max(initial=0.0):.3g}' for name, x in sizes.items())}>"


class Gradient(Pulled):
    """The gradient of a cost by all that a motion depends on; beside what `Pulled` has:

    Attributes
    ----------
    value : float
        The cost.
    terms : dict
        Values of its terms by name.
    rest : StaticAdjoint or None
        If the start is an equilibrium that moves: the derivatives by its inputs `u`, forces `tau` and prescribed `motion`.
    """

    def __init__(
        self, found: CostValue, adjoint: Adjoint, derive: Callable[[str], float], rest: StaticAdjoint | None
    ) -> None:
        super().__init__(adjoint, found.gradient.u, derive)
        self.value, self.terms, self.rest = found.value, found.terms, rest

    def __repr__(self) -> str:
        """The value, and the sizes of the derivatives."""
        return f"<gradient of {self.value:.6g}{super().__repr__().removeprefix('<derivatives')}"


class Reached(NamedTuple):
    """How far a pass backwards has come, and the derivatives that it has summed."""

    done: int  # parts of the motion, from its end
    end: int  # number of states before these, and the last of them
    state: Array  # (2, nv) derivatives by that state
    remembered: Array  # (nz,) and what is remembered there
    u: Array
    tau: Array
    tables: Array
    owed: Array  # derivatives by what constraints follow that stay as they start
    held: bool


class Adjoint:
    """The pass backwards for derivatives of something by the states of a rollout.

    Parameters
    ----------
    run : Rollout
    q, v : ndarray (n + 1, nv)
        Derivatives by the states.
    """

    def __init__(self, run: Rollout, q: Array, v: Array) -> None:
        known_memory(run.system)
        self._products = steps_known(run.system)
        if len(run.system.tables.colloc) and (not self._products or run.system.loop_rows):
            raise ValueError(
                f"{run.system.name!r} has spectral rods together with loops, friction of tendons, contact between parts or loads of your own: its "
                "derivatives would be inexact, since tangents of spectral rods are those of their collocation. Use integration='magnus'."
            )
        self.run, self._slopes = run, (q, v)
        self._starting = Starting(run.plan)
        self._owed = np.zeros(len(self._starting.rows))  # derivatives by what these constraints follow
        self._kept: Memory | None = None
        self._reached = self._begin._replace(u=np.zeros_like(run.U), tau=np.zeros_like(run.plan.tau), owed=self._owed)

    @property
    def _begin(self) -> Reached:
        nothing, system = np.zeros(0), self.run.system
        return Reached(
            0,
            len(self.run.t),
            np.zeros((2, system.nv)),
            np.zeros(system.nz),
            nothing,
            nothing,
            nothing,
            nothing,
            held=False,
        )

    def complete(self) -> Adjoint:
        """Go through the parts of the motion that are left, from the last to the first. Ctrl-C costs the part that it meets."""
        run = self.run
        while self._reached.done < len(run.parts):
            self._reached = self._added(self._reached)
        reached = self._reached
        self.u, self.tau = run.plan.schedule.pull(reached.u), reached.tau
        self.tables, self.held, self.remembered = reached.tables, reached.held, reached.remembered
        start, self.velocity = (np.where(run.system.known, 0.0, x) for x in reached.state)
        self._owed = reached.owed
        self.start = start + self._owed @ self._starting.slopes
        return self

    def _added(self, reached: Reached) -> Reached:
        """With one part more."""
        run, nu = self.run, self.run.system.nu
        part, memory, after = self._part(reached)
        lever, tau = memory.lever, reached.tau.copy()
        n, s = lever.input.shape[:2]
        by_step = lever.input[:, :, nu:].sum(axis=1)
        if tau.ndim == 2:
            np.add.at(tau, part.plan.outer_step(), by_step)
        else:
            tau += by_step.sum(axis=0)
        if len(run.parts) == 1:
            self._kept = memory
        return after._replace(
            u=reached.u + part.plan.stage_weights().T @ lever.input[:, :, :nu].reshape(n * s, nu), tau=tau,
            tables=lever.tables + (reached.tables if reached.tables.size else 0.0), owed=reached.owed + lever.value.sum(axis=0)[self._starting.rows],
            held=reached.held or bool(memory.record.taut.any()),
        )  # fmt: skip

    def _part(self, reached: Reached) -> tuple[Part, Memory, Reached]:
        """The part before those that are done, its adjoint, and where that leads."""
        run, (q, v), end = self.run, self._slopes, reached.end
        part = run.parts[-1 - reached.done]
        n = len(part.plan.times) - 1
        first = end - n - 1
        if self._kept is not None:
            memory = self._kept
        else:
            memory = Memory(run.system, run.plan.tableau, n, Sizes(adjoint=True))
            memory.take(part.recall().record, n)
            lever = memory.lever
            lever.q[:], lever.v[:] = q[first:end], v[first:end]
            lever.q[-1] += reached.state[0]
            lever.v[-1] += reached.state[1]
            lever.memory[-1] = reached.remembered
            if first > 0:  # that state is the end of the part before
                lever.q[0] = lever.v[0] = 0.0
            memory.p[slots.MARCH_PRODUCTS] = self._products
            if memory.run(engine.ADJOINT, Given()) != CONVERGED:
                k = first + int(memory.p[slots.MARCH_STEPS])
                raise ArithmeticError(
                    f"step {k + 1} of the motion, at t = {run.t[k]:.6g} s, has a singular tangent: there is no derivative."
                )
        state, remembered = memory.lever.start.copy(), memory.lever.memory[0].copy()
        return part, memory, reached._replace(done=reached.done + 1, end=first + 1, state=state, remembered=remembered)

    def _backwards(self) -> Iterator[tuple[Part, Memory]]:
        """The parts of the motion from the last to the first, each with its adjoint, again."""
        reached = self._begin
        while reached.done < len(self.run.parts):
            part, memory, reached = self._part(reached)
            yield part, memory

    def by_parameter(self, name: str, direct: Callable[[Beside], float] | None = None) -> float:
        """The derivative by a parameter, beside which `direct` may depend on the system itself."""
        whole = self._followed(direct) if self._starting.rows else direct
        return derivative(self.run.system, name, self.tables, self._known, self.replayed, whole)

    def _followed(self, direct: Callable[[Beside], float] | None) -> Callable[[Beside], float]:
        """With what constraints follow that stay as they start."""
        return lambda beside: (
            float(self._owed @ beside.slope(self._starting.values)) + (0.0 if direct is None else direct(beside))
        )

    @cached_property
    def _known(self) -> NDArray[np.bool_]:
        """For which tables the derivatives are known; none if constraints depend on them in steps whose derivatives are matrices, or loads remember."""
        system = self.run.system
        closed = self.held or bool(system.loop_rows)
        return np.zeros(0, dtype=bool) if system.nz or (closed and not self._products) else covered(system)

    def replayed(self, beside: Beside) -> float:
        """The derivative through what the motion solved, with the states as they are, times the adjoints."""
        total = 0.0
        for part, memory in self._backwards():
            lever, n = memory.lever, len(part.plan.times) - 1
            again = Memory(self.run.system, self.run.plan.tableau, n, Sizes(replay=True))
            again.take(memory.record, n)
            total += float(beside.slope(lambda system: _owed(lever, again, system)).sum())  # noqa: B023
        return total


def _owed(lever: Lever, again: Memory, system: System) -> Array:
    """Residuals, constraints and what is remembered with the tables of another system, each times its adjoint."""
    again.run(engine.REPLAY, system=system)
    other = again.lever
    terms = [lever.trace * other.kept, -lever.y * other.r]
    if lever.z.size:
        terms += [
            -lever.z * other.e,
            -lever.value * other.close[:, 0],
            -lever.rate * other.close[:, 1],
            lever.along * other.direct,
        ]
    return np.concatenate([term.ravel() for term in terms])


def states_of(run: Rollout) -> States:
    """The states that costs see."""
    return States(run.system, run.t, run.q, run.v, run.u)


def by_rows(run: Rollout, u: Array) -> Array:
    """Derivatives by the given rows of inputs, (m, nu), from those by the inputs at the states (n + 1, nu)."""
    plan = run.plan
    return plan.schedule.pull(plan.row_weights().T @ u)


def gradient(run: Rollout, cost: Any, equilibrium: Equilibrium | None = None) -> Gradient:
    """See `Rollout.gradient`."""
    judged, states = as_cost(cost), states_of(run)
    if equilibrium is not None:
        if np.abs(run.system.difference(equilibrium.q, run.plan.q) / run.system.internal.scale).max(initial=0.0) > 1e-9:
            raise ValueError("equilibrium is not where the motion starts: give the one that was its start.")
        if np.any(equilibrium.memory):
            raise ValueError(
                f"the start of this motion remembers ({run.system.name!r} sticks to something there), and how that moves with an equilibrium is not known: "
                "leave equilibrium out, which holds the start and what it remembers fixed."
            )
    found = judged.evaluate(states)
    adjoint = Adjoint(run, found.gradient.q, found.gradient.v)

    def value(other: System) -> float:
        return judged.evaluate(replace(states, system=other)).value

    def completed() -> Gradient:
        adjoint.complete()
        rest = None if equilibrium is None else StaticAdjoint(run.system, equilibrium, adjoint.start)

        def direct(beside: Beside) -> float:
            return beside.slope(value) + (0.0 if rest is None else rest.replayed(beside))

        return Gradient(found, adjoint, lambda name: adjoint.by_parameter(name, direct), rest)

    return _resumable(completed)


def _resumable(complete: Callable[[], R]) -> R:
    """What is computed; Ctrl-C leaves with `resume`, which goes on from there."""
    try:
        return complete()
    except KeyboardInterrupt as stop:
        stop.resume = lambda: _resumable(complete)  # type: ignore[attr-defined]
        raise


def pull(run: Rollout, slopes: Variation) -> Pulled:
    """See `Rollout.pull`."""
    adjoint = Adjoint(run, slopes.q, slopes.v)
    return _resumable(lambda: Pulled(adjoint.complete(), slopes.u, adjoint.by_parameter))
