"""Gradients of whole motions: the discrete adjoint of a rollout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine, slots
from ..kernels.solve.newton import CONVERGED
from ..model.validate import unknown_name
from ..system import Given, System
from ..system.tables import covered
from .costs.cost import CostValue, as_cost
from .costs.states import States, Variation
from .memory import Memory, Sizes
from .parameters import ParameterGradient, neighbours, table_change

if TYPE_CHECKING:
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
    parameters : mapping
        By the parameters of the description (`System.parameters`), by name, with start, inputs and prescribed motion held fixed.
    """

    def __init__(self, adjoint: Adjoint, by_u: Array, derive: Callable[[str], float]) -> None:
        self.u = adjoint.u + by_rows(adjoint.run, by_u)
        self.tau, self.start, self.velocity = adjoint.tau, adjoint.start, adjoint.velocity
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
    """

    def __init__(self, found: CostValue, adjoint: Adjoint, derive: Callable[[str], float]) -> None:
        super().__init__(adjoint, found.gradient.u, derive)
        self.value, self.terms = found.value, found.terms

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
        self.run = run
        n, nu = len(run), run.system.nu
        memory = self.memory = Memory(run.system, run.plan.tableau, n, Sizes(adjoint=True))
        memory.take(run.memory.record, n)
        lever = memory.lever
        lever.q[:], lever.v[:] = q, v
        status = memory.run(engine.ADJOINT, Given())
        if status != CONVERGED:
            k = int(memory.p[slots.MARCH_STEPS])
            raise ArithmeticError(f"step {k + 1} of the motion, at t = {run.t[k]:.6g} s, has a singular tangent: there is no derivative.")
        plan = run.plan
        self.u = plan.schedule.pull(plan.stage_weights().T @ lever.input[:, :, :nu].reshape(n * lever.input.shape[1], nu))
        by_step = lever.input[:, :, nu:].sum(axis=1)
        self.tau = by_step.sum(axis=0)
        if plan.tau.ndim == 2:
            self.tau = np.zeros_like(plan.tau)
            np.add.at(self.tau, plan.outer_step(), by_step)
        self.start, self.velocity = (np.where(run.system.known, 0.0, x) for x in lever.start)

    def by_parameter(self, name: str, direct: Callable[[System], float] | None = None) -> float:
        """The derivative by a parameter, beside which `direct` may depend on the system itself.

        By the derivatives by all tables where they are known, else by what the parameter does to every residual.
        """
        system = self.run.system
        others, weights = neighbours(system, system._parameters[name])
        change = table_change(system, others, weights, self._known) if self._known.size else None
        if change is None:
            total = sum(w * self.replayed(other) for w, other in zip(weights, others))
        else:
            total = float(self.memory.lever.tables[change[0]] @ change[1])
        if direct is not None:
            total += sum(w * direct(other) for w, other in zip(weights, others))
        return float(total)

    @cached_property
    def _known(self) -> NDArray[np.bool_]:
        """For which tables the derivatives are known; none if tendons of prescribed length depend on them, too."""
        return np.zeros(0, dtype=bool) if self.memory.record.hold.any() else covered(self.run.system)

    def replayed(self, system: System) -> float:
        """What the motion solved, with the tables of another system and the states as they are, times the adjoints."""
        n, lever = len(self.run), self.memory.lever
        again = self._replay()
        again.run(engine.REPLAY, system=system)
        other = again.lever
        total = -np.vdot(lever.y, other.r)
        if lever.z.size:
            total -= np.vdot(lever.z, other.e) + np.vdot(lever.value, other.close[: n + 1, 0]) + np.vdot(lever.rate, other.close[: n + 1, 1])
            total += np.vdot(lever.along, other.direct[: n + 1])
        return float(total)

    def _replay(self) -> Memory:
        if not hasattr(self, "_again"):
            self._again = Memory(self.run.system, self.run.plan.tableau, len(self.run), Sizes(replay=True))
            self._again.take(self.run.memory.record, len(self.run))
        return self._again


def states_of(run: Rollout) -> States:
    """The states that costs see."""
    return States(run.system, run.t, run.q, run.v, run.u)


def by_rows(run: Rollout, u: Array) -> Array:
    """Derivatives by the given rows of inputs, (m, nu), from those by the inputs at the states (n + 1, nu)."""
    plan = run.plan
    return plan.schedule.pull(plan.row_weights().T @ u)


def gradient(run: Rollout, cost: Any) -> Gradient:
    """See `Rollout.gradient`."""
    judged, states = as_cost(cost), states_of(run)
    found = judged.evaluate(states)
    adjoint = Adjoint(run, found.gradient.q, found.gradient.v)

    def derive(name: str) -> float:
        return adjoint.by_parameter(name, lambda other: judged.evaluate(replace(states, system=other)).value)

    return Gradient(found, adjoint, derive)


def pull(run: Rollout, slopes: Variation) -> Pulled:
    """See `Rollout.pull`."""
    adjoint = Adjoint(run, slopes.q, slopes.v)
    return Pulled(adjoint, slopes.u, adjoint.by_parameter)
