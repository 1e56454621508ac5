"""`static_gradient`: gradients of equilibria, by inputs, prescribed motions and every parameter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..analysis.linear import at_rest, strained
from ..model.validate import unknown_name
from ..solve.equilibrium import Equilibrium
from ..solve.stability import free_directions, name_directions, neutral_directions
from ..system import System, needs_system
from ..system.dynamics import residual, residual_tangent
from ..system.forces import free_rows, independent
from ..system.tables import covered, table_gradient
from .costs.cost import CostValue, as_cost
from .costs.states import States
from .parameters import ParameterGradient, derivative

__all__ = ["StaticAdjoint", "StaticGradient", "static_gradient"]

Array = NDArray[np.float64]


class StaticGradient:
    """The gradient of a cost by all that an equilibrium depends on.

    Attributes
    ----------
    value : float
        The cost.
    terms : dict
        Values of its terms by name.
    u : ndarray (nu,)
        By the inputs; zero for tensions that a prescribed length decides.
    tau : ndarray (nv,)
        By the further generalised forces.
    motion : dict
        By what is prescribed, by name: lengths of tendons [1/m], coordinates of joints (n,) (along the manifold), of loops (n,).
    parameters : mapping
        By the parameters of the description (`System.parameters`), by name.
    """

    def __init__(
        self, system: System, found: CostValue, adjoint: StaticAdjoint, derive: Callable[[str], float]
    ) -> None:
        self.value, self.terms = found.value, found.terms
        self.u, self.tau, self.motion = adjoint.u + found.gradient.u[0], adjoint.tau, adjoint.motion
        self.parameters = ParameterGradient(system, derive)
        self._names = system.input_names

    def __getitem__(self, name: str) -> Any:
        """The derivative by an input, something prescribed, or a parameter, by name."""
        if name in self.motion:
            return self.motion[name]
        if name in self._names:
            return float(self.u[self._names.index(name)])
        if name not in self.parameters:
            raise unknown_name("parameter or input", name, [*self._names, *self.motion, *self.parameters])
        return self.parameters[name]

    def __repr__(self) -> str:
        """The value, and the derivatives by inputs."""
        shown = ", ".join(f"{name} {x:.3g}" for name, x in zip(self._names, self.u))
        return f"<gradient of {self.value:.6g}{'; ' if shown else ''}{shown}>"


def static_gradient(system: System, state: Equilibrium, cost: Any) -> StaticGradient:
    """The gradient of a cost of an equilibrium by inputs, prescribed motions and every parameter, with the robot in equilibrium throughout.

    Parameters
    ----------
    system : System
    state : Equilibrium
        Of this system, with loops, prescribed joints and lengths, contact as they are.
    cost : Cost, or a list of them
        For instance ``pl.Reach("arm.tip", goal)``; see `pliant.costs`.

    Returns
    -------
    StaticGradient

    Raises
    ------
    ValueError
        If the state is no equilibrium, or nothing resists in some direction, so that the equilibrium is not determined.

    Notes
    -----
    With ``r(q, ρ) = 0`` and ``e(q) = 0``, where ρ are the forces of loops and held tendons and G = ∂e/∂q: ``Kᵀ y + Gᵀ z = ∂J/∂q``, ``G y = 0``, and the
    derivative by anything is ``−yᵀ ∂r − zᵀ ∂e`` beside that of the cost itself. Where friction sticks, the state from which it is strained (the start of
    `solve_statics`) is held fixed.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, {"cable": 5.0})
    >>> height = pl.costs.Position("arm.tip")[2].mean(at="end")
    >>> d = pl.static_gradient(system, rest, height)
    >>> print(f"{1000 * d['cable']:.1f} mm upwards per newton, {1000 * d['arm.length']:.0f} mm per metre of arm")
    8.9 mm upwards per newton, -1581 mm per metre of arm
    """
    needs_system("static_gradient", system)
    if not isinstance(state, Equilibrium):
        raise TypeError(
            f"static_gradient needs the Equilibrium that solve_statics returns, not {type(state).__name__}."
        )
    judged, states = as_cost(cost), States.at_rest(system, state.q, state.u)
    found = judged.evaluate(states)
    adjoint = StaticAdjoint(system, state, found.gradient.q[0])

    def derive(name: str) -> float:
        return adjoint.by_parameter(name, lambda other: judged.evaluate(replace(states, system=other)).value)

    return StaticGradient(system, found, adjoint, derive)


class StaticAdjoint:
    """Derivatives of something by all that an equilibrium depends on, from those by its coordinates.

    Parameters
    ----------
    system : System
    state : Equilibrium
    slope : ndarray (nv,)
        Derivatives by the coordinates, along the manifold.

    Attributes
    ----------
    u, tau, motion
        As those of `StaticGradient`.
    """

    def __init__(self, system: System, state: Equilibrium, slope: Array) -> None:
        if not state.success:
            raise ValueError(f"the state is no equilibrium ({state.message}); its derivative has no meaning.")
        self.system = system
        q, u, tau, given = at_rest(system, state, None, None)
        given = strained(system, state, q, u, given)
        self.q, self._u, self._tau, self._given = q, u, tau, given
        self._begun = len(state.before) == system.nz  # whether it is known from where what sticks is strained
        zero = np.zeros(system.nv)
        K = residual_tangent(system, (q, zero, zero, u, tau), (1.0, 0.0, 0.0), given)
        self._held = held = _held(system, u)
        lengths = system.tendon_lengths(q)[1][list(held.values())] if held else np.zeros((0, system.nv))
        G = np.vstack([lengths, system.closure(q)[1]]) if system.loop_rows else lengths
        self.tau, self._z = y, z = _adjoint(system, K, G, slope)
        self.u = system.actuation_matrix(q, zero, u).T @ y
        self.u[[system.input_names.index(name) for name in held]] = 0.0
        rest = slope - K.T @ y - G.T @ z  # what prescribed coordinates are held against
        self.motion: dict[str, Any] = {name: float(z[k]) for k, name in enumerate(held)}
        self.motion |= {name: rest[place] for name, (_q, place, _group) in system.prescribed.items()}
        self.motion |= {name: z[len(held) + np.array(rows)] for name, rows in system.told_rows.items()}

    def replayed(self, systems: list[System]) -> Array:
        """Residual and constraints with the tables of other systems, at this state, times the adjoints."""
        return np.array([self._replayed(system) for system in systems])

    def _replayed(self, system: System) -> float:
        zero = np.zeros(system.nv)
        r = residual(system, self.q, zero, zero, self._u, self._tau, self._given)
        total, n = -self.tau @ r, len(self._held)
        if n:
            total -= self._z[:n] @ system.tendon_lengths(self.q)[0][list(self._held.values())]
        if system.loop_rows:
            total -= self._z[n:] @ system.closure(self.q)[0]
        return float(total)

    @cached_property
    def _tables(self) -> tuple[Array, NDArray[np.bool_]]:
        """Derivatives by all tables through residual and constraints, and which of them are known."""
        system, n = self.system, len(self._held)
        if system.nz:  # velocities are displacements there, which the sweep does not know
            return np.zeros(0), np.zeros(0, dtype=bool)
        zero, values = np.zeros(system.nv), np.zeros(len(system.tendons.law) + len(system.loop_rows))
        values[list(self._held.values())] = self._z[:n]
        values[len(system.tendons.law) :] = self._z[n:]
        found = table_gradient(system, self.q, zero, zero, self._u, self.tau, given=self._given, values=values)
        return -found, covered(system)

    def by_parameter(self, name: str, direct: Callable[[System], float] | None = None) -> float:
        """The derivative by a parameter, beside which `direct` may depend on the system itself."""
        if self._given.memory is not None and not self._begun and self.system.sticks(self._given.memory):
            raise ValueError(
                f"the derivative of an equilibrium by {name!r} is not known where friction sticks, or loads remember otherwise: what they remember depends on it "
                "too. Derivatives by inputs, forces and prescribed motion are; contact with stiction=0 remembers nothing."
            )
        return derivative(self.system, name, *self._tables, self.replayed, direct)


def _held(system: System, u: Array) -> dict[str, int]:
    """Numbers of the tendons whose prescribed length is reached; the others are slack."""
    tendons = system._robot.tendons
    return {
        name: k
        for name, k in system.held_tendons.items()
        if tendons[name].push or u[system.input_names.index(name)] > 0.0
    }


def _adjoint(system: System, K: Array, G: Array, slope: Array) -> tuple[Array, Array]:
    """y (nv,) and z (rows,) of `static_gradient`; zero for what is prescribed and for redundant rows."""
    free, scale = ~system.known, system.internal.scale
    Z = free_directions(system, G)
    loose = Z @ neutral_directions(Z.T @ K @ Z)
    if loose.shape[1]:
        raise ValueError(
            f"static_gradient is not defined for {system.name!r} at this state: nothing resists along {name_directions(system, loose)}, so that "
            "its equilibrium is not determined. Add stiffness, or fix it."
        )
    rows = np.flatnonzero(independent(free_rows(system, G))) if len(G) else np.zeros(0, dtype=int)
    S = (scale[:, None] * K * scale)[np.ix_(free, free)]
    C = (G * scale)[np.ix_(rows, free)]
    size = np.abs(S).max(initial=1e-300) / np.maximum(np.linalg.norm(C, axis=1), 1e-300)
    C = size[:, None] * C
    m = len(rows)
    kkt = np.block([[S.T, C.T], [C, np.zeros((m, m))]])
    x = np.linalg.solve(kkt, np.concatenate([(scale * slope)[free], np.zeros(m)]))
    y, z = np.zeros(system.nv), np.zeros(len(G))
    y[free] = scale[free] * x[: len(x) - m]
    z[rows] = size * x[len(x) - m :]
    return y, z
