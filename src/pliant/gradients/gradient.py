"""Gradients of whole motions: the discrete adjoint of a rollout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine, slots
from ..kernels.solve.newton import CONVERGED
from ..model.validate import unknown_name
from ..solve.equilibrium import Equilibrium
from ..system import Given, System
from ..system.tables import covered, steps_known
from .costs.cost import CostValue, as_cost
from .costs.states import States, Variation
from .memory import Memory, Sizes
from .parameters import ParameterGradient, derivative
from .remembered import known_memory
from .starting import Starting
from .statics import StaticAdjoint

if TYPE_CHECKING:
    from .plan import Part
    from .rollout import Rollout

__all__ = ["Adjoint", "Gradient", "Pulled", "gradient", "pull", "states_of"]

Array = NDArray[np.float64]


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
        system, plan, nu = run.system, run.plan, run.system.nu
        self.u, self.tau = np.zeros_like(run.U), np.zeros_like(plan.tau)
        self.tables: Array = np.zeros(0)
        self.held = False
        self._starting = Starting(plan)
        self._owed = np.zeros(len(self._starting.rows))  # derivatives by what these constraints follow
        self._kept: Memory | None = None
        for part, memory in self._backwards():
            lever = memory.lever
            n, s = lever.input.shape[:2]
            self.u += part.plan.stage_weights().T @ lever.input[:, :, :nu].reshape(n * s, nu)
            by_step = lever.input[:, :, nu:].sum(axis=1)
            if plan.tau.ndim == 2:
                np.add.at(self.tau, part.plan.outer_step(), by_step)
            else:
                self.tau += by_step.sum(axis=0)
            self.tables = lever.tables + (self.tables if self.tables.size else 0.0)
            self.held = self.held or bool(memory.record.taut.any())
            self._owed += lever.value.sum(axis=0)[self._starting.rows]
            self.start, self.velocity = (np.where(system.known, 0.0, x) for x in lever.start)
            self.remembered = lever.memory[0].copy()
            self._kept = memory if len(run.parts) == 1 else None
        self.start = self.start + self._owed @ self._starting.slopes
        self.u = plan.schedule.pull(self.u)

    def _backwards(self) -> Iterator[tuple[Part, Memory]]:
        """The parts of the motion from the last to the first, each with its adjoint."""
        run, (q, v) = self.run, self._slopes
        if self._kept is not None:
            yield run.parts[0], self._kept
            return
        end = len(q)
        state, remembered = np.zeros((2, run.system.nv)), np.zeros(run.system.nz)
        for part in reversed(run.parts):
            n = len(part.plan.times) - 1
            memory = Memory(run.system, run.plan.tableau, n, Sizes(adjoint=True))
            memory.take(part.recall().record, n)
            lever, first = memory.lever, end - n - 1
            lever.q[:], lever.v[:] = q[first:end], v[first:end]
            lever.q[-1] += state[0]
            lever.v[-1] += state[1]
            lever.memory[-1] = remembered
            if first > 0:  # that state is the end of the part before
                lever.q[0] = lever.v[0] = 0.0
            memory.p[slots.MARCH_PRODUCTS] = self._products
            if memory.run(engine.ADJOINT, Given()) != CONVERGED:
                k = first + int(memory.p[slots.MARCH_STEPS])
                raise ArithmeticError(
                    f"step {k + 1} of the motion, at t = {run.t[k]:.6g} s, has a singular tangent: there is no derivative."
                )
            state, remembered = lever.start.copy(), lever.memory[0].copy()
            yield part, memory
            end = first + 1

    def by_parameter(self, name: str, direct: Callable[[System], float] | None = None) -> float:
        """The derivative by a parameter, beside which `direct` may depend on the system itself."""
        beside = self._beside(direct) if self._starting.rows else direct
        return derivative(self.run.system, name, self.tables, self._known, self.replayed, beside)

    def _beside(self, direct: Callable[[System], float] | None) -> Callable[[System], float]:
        """With what constraints follow that stay as they start."""
        return lambda other: (
            float(self._owed @ self._starting.values(other)) + (0.0 if direct is None else direct(other))
        )

    @cached_property
    def _known(self) -> NDArray[np.bool_]:
        """For which tables the derivatives are known; none if constraints depend on them in steps whose derivatives are matrices, or loads remember."""
        system = self.run.system
        closed = self.held or bool(system.loop_rows)
        return np.zeros(0, dtype=bool) if system.nz or (closed and not self._products) else covered(system)

    def replayed(self, systems: list[System]) -> Array:
        """What the motion solved, with the tables of other systems and the states as they are, times the adjoints."""
        total = np.zeros(len(systems))
        for part, memory in self._backwards():
            lever, n = memory.lever, len(part.plan.times) - 1
            again = Memory(self.run.system, self.run.plan.tableau, n, Sizes(replay=True))
            again.take(memory.record, n)
            other = again.lever
            for k, system in enumerate(systems):
                again.run(engine.REPLAY, system=system)
                total[k] += np.vdot(lever.trace, other.kept) - np.vdot(lever.y, other.r)
                if lever.z.size:
                    total[k] -= (
                        np.vdot(lever.z, other.e)
                        + np.vdot(lever.value, other.close[:, 0])
                        + np.vdot(lever.rate, other.close[:, 1])
                    )
                    total[k] += np.vdot(lever.along, other.direct)
        return total


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
    found = judged.evaluate(states)
    adjoint = Adjoint(run, found.gradient.q, found.gradient.v)

    rest = None
    if equilibrium is not None:
        if np.abs(run.system.difference(equilibrium.q, run.plan.q) / run.system.internal.scale).max(initial=0.0) > 1e-9:
            raise ValueError("equilibrium is not where the motion starts: give the one that was its start.")
        if np.any(equilibrium.memory):
            raise ValueError(
                f"the start of this motion remembers ({run.system.name!r} sticks to something there), and how that moves with an equilibrium is not known: "
                "leave equilibrium out, which holds the start and what it remembers fixed."
            )
        rest = StaticAdjoint(run.system, equilibrium, adjoint.start)

    def direct(other: System) -> float:
        return judged.evaluate(replace(states, system=other)).value + (
            0.0 if rest is None else float(rest.replayed([other])[0])
        )

    return Gradient(found, adjoint, lambda name: adjoint.by_parameter(name, direct), rest)


def pull(run: Rollout, slopes: Variation) -> Pulled:
    """See `Rollout.pull`."""
    adjoint = Adjoint(run, slopes.q, slopes.v)
    return Pulled(adjoint, slopes.u, adjoint.by_parameter)
