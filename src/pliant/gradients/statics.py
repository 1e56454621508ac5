"""`static_gradient`: gradients of equilibria, by inputs, prescribed motions and every parameter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..analysis.linear import at_rest, strained
from ..kernels.loads.tendons import V_FRICTION
from ..model.validate import unknown_name
from ..solve.equilibrium import Equilibrium
from ..solve.stability import free_directions, name_directions, neutral_directions
from ..system import System, needs_system
from ..system.dynamics import residual, residual_tangent
from ..system.forces import free_rows, independent, static_actuation
from ..system.laws import refuse_memory
from ..system.tables import covered, table_gradient
from .costs.cost import CostValue, as_cost
from .costs.states import States
from .parameters import Beside, ParameterGradient, derivative

__all__ = ["StaticAdjoint", "StaticGradient", "StaticTangent", "static_gradient"]

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
    With ``r(q, ρ) = 0`` and ``e(q) = 0``, where ρ are the forces of loops and held tendons, G = ∂e/∂q and P = (∂r/∂ρ)ᵀ, which is G without friction of tendons: ``Kᵀ y + Gᵀ z = ∂J/∂q``, ``P y = 0``, and the
    derivative by anything is ``−yᵀ ∂r − zᵀ ∂e`` beside that of the cost itself. Where friction sticks, the state from which it is strained (the start of
    `solve_statics`) is held fixed, with bristles bent as they are there: of those that have slipped, the derivative by their stiction is that to a larger one.

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
        def value(other: System) -> float:
            return judged.evaluate(replace(states, system=other)).value

        return adjoint.by_parameter(name, lambda beside: beside.slope(value))

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
        self.system, self._rest = system, _Rest(system, state)
        rest = self._rest
        self._held = held = rest.held
        kkt = _Kkt(system, rest.K, rest.G, rest.pulls)
        self.tau, self._z = y, z = kkt.adjoint(slope)
        self.u = static_actuation(system, rest.q, rest.u, rest.given).T @ y
        self.u[[system.input_names.index(name) for name in held]] = 0.0
        owed = slope - rest.K.T @ y - rest.G.T @ z  # what prescribed coordinates are held against
        self.motion: dict[str, Any] = {name: float(z[k]) for k, name in enumerate(held)}
        self.motion |= {name: owed[place] for name, (_q, place, _group) in system.prescribed.items()}
        self.motion |= {name: z[len(held) + np.array(rows)] for name, rows in system.told_rows.items()}

    def replayed(self, beside: Beside) -> float:
        """The derivative through residual and constraints, at this state, times the adjoints."""
        return float(beside.slope(self._replayed).sum())

    def _replayed(self, system: System) -> Array:
        r, e = self._rest.replayed(system)
        return -np.concatenate([self.tau * r, self._z * e])

    @cached_property
    def _tables(self) -> tuple[Array, NDArray[np.bool_]]:
        """Derivatives by all tables through residual and constraints, and which of them are known."""
        system, n = self.system, len(self._held)
        if system.nz:  # velocities are displacements there, which the sweep does not know
            return np.zeros(0), np.zeros(0, dtype=bool)
        zero, values = np.zeros(system.nv), np.zeros(len(system.tendons.law) + len(system.loop_rows))
        values[list(self._held.values())] = self._z[:n]
        values[len(system.tendons.law) :] = self._z[n:]
        rest = self._rest
        found = table_gradient(system, rest.q, zero, zero, rest.u, self.tau, given=rest.given, values=values)
        return -found, covered(system)

    def by_parameter(self, name: str, direct: Callable[[Beside], float] | None = None) -> float:
        """The derivative by a parameter, beside which `direct` may depend on the system itself."""
        self._rest.require_begun(name)
        return derivative(self.system, name, *self._tables, self.replayed, direct)


class StaticTangent:
    """How an equilibrium moves with inputs and parameters: many quantities of it by a few of them.

    Parameters
    ----------
    system : System
    state : Equilibrium

    Notes
    -----
    ``K dq + Gᵀ dρ = −∂r``, ``G dq = −∂e``, in the notation of `static_gradient`.
    """

    def __init__(self, system: System, state: Equilibrium) -> None:
        self.system, self._rest = system, _Rest(system, state)
        self._kkt = _Kkt(system, self._rest.K, self._rest.G, self._rest.pulls)

    def by_parameter(self, name: str, beside: Beside) -> tuple[Array, Array]:
        """Change of the residual (nv,) and of the constraints (rows,) with a parameter."""
        self._rest.require_begun(name)
        found = beside.slope(lambda other: np.concatenate(self._rest.replayed(other)))
        return found[: self.system.nv], found[self.system.nv :]

    def by_inputs(self, u: Array) -> tuple[Array, Array]:
        """Likewise with a change of the inputs (nu,); that of tensions which a prescribed length decides has no effect."""
        rest = self._rest
        change = np.array(u, dtype=float)
        change[[self.system.input_names.index(name) for name in rest.held]] = 0.0
        return -static_actuation(self.system, rest.q, rest.u, rest.given) @ change, np.zeros(len(rest.G))

    def moved(self, r: Array, e: Array) -> tuple[Array, Array]:
        """Changes of coordinates (nv,), along the manifold, and of tensions that prescribed lengths decide (nu,), for changes of residual and constraints."""
        dq, force = self._kkt.tangent(r, e)
        du = np.zeros(self.system.nu)
        du[[self.system.input_names.index(name) for name in self._rest.held]] = force[: len(self._rest.held)]
        return dq, du


class _Rest:
    """An equilibrium with all that it is held by."""

    def __init__(self, system: System, state: Equilibrium) -> None:
        if not state.success:
            raise ValueError(f"the state is no equilibrium ({state.message}); its derivative has no meaning.")
        if len(state.before) != system.nz:
            refuse_memory(system, "static_gradient of an equilibrium from a file or made by hand")
        self.system = system
        q, u, tau, given = at_rest(system, state, None, None)
        given = strained(system, state, q, u, given)
        self.q, self.u, self.tau, self.given = q, u, tau, given
        self._begun = len(state.before) == system.nz  # whether it is known from where what sticks is strained
        zero = np.zeros(system.nv)
        self.K = residual_tangent(system, (q, zero, zero, u, tau), (1.0, 0.0, 0.0), given)
        self.held = held = _held(system, u)
        lengths = system.tendon_lengths(q)[1][list(held.values())] if held else np.zeros((0, system.nv))
        self.G = np.vstack([lengths, system.closure(q)[1]]) if system.loop_rows else lengths
        self.pulls = self.G.copy()  # generalised forces of unit tensions: G, but for tendons with friction
        for row, (name, k) in enumerate(held.items()):
            if system.tendons.value[k, V_FRICTION] > 0.0:
                column = static_actuation(system, q, u, given)[:, system.input_names.index(name)]
                self.pulls[row] = np.where(system.known, 0.0, -column)

    def replayed(self, system: System) -> tuple[Array, Array]:
        """Residual (nv,) and constraints (rows,) with the tables of another system, at this state."""
        zero = np.zeros(system.nv)
        r = residual(system, self.q, zero, zero, self.u, self.tau, self.given)
        lengths = system.tendon_lengths(self.q)[0][list(self.held.values())] if self.held else np.zeros(0)
        return r, np.concatenate([lengths, system.closure(self.q)[0]]) if system.loop_rows else lengths

    def require_begun(self, name: str) -> None:
        """Error if derivatives by a parameter are not known, since loads remember."""
        if self.given.memory is not None and not self._begun and self.system.sticks(self.given.memory):
            raise ValueError(
                f"the derivative of an equilibrium by {name!r} is not known where friction sticks, or loads remember otherwise: what they remember depends on it "
                "too. Derivatives by inputs, forces and prescribed motion are; contact with stiction=0 remembers nothing."
            )


def _held(system: System, u: Array) -> dict[str, int]:
    """Numbers of the tendons whose prescribed length is reached; the others are slack."""
    tendons = system._robot.tendons
    return {
        name: k
        for name, k in system.held_tendons.items()
        if tendons[name].push or u[system.input_names.index(name)] > 0.0
    }


class _Kkt:
    """Stiffness and constraints of an equilibrium, in scaled coordinates without what is prescribed and without redundant rows."""

    def __init__(self, system: System, K: Array, G: Array, pulls: Array) -> None:
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
        self._size = np.abs(S).max(initial=1e-300) / np.maximum(np.linalg.norm(C, axis=1), 1e-300)
        C = self._size[:, None] * C
        P = self._size[:, None] * (pulls * scale)[np.ix_(rows, free)]
        m = len(rows)
        self._matrix = np.block([[S, P.T], [C, np.zeros((m, m))]])
        self._free, self._scale, self._rows, self._shape = free, scale, rows, (system.nv, len(G))

    def adjoint(self, slope: Array) -> tuple[Array, Array]:
        """y (nv,) and z (rows,) of `static_gradient`; zero for what is prescribed and for redundant rows."""
        right = np.concatenate([(self._scale * slope)[self._free], np.zeros(len(self._rows))])
        return self._whole(np.linalg.solve(self._matrix.T, right))

    def tangent(self, r: Array, e: Array) -> tuple[Array, Array]:
        """Changes (nv,) of the coordinates and (rows,) of the forces of constraints, for changes of residual and constraints."""
        right = np.concatenate([-(self._scale * r)[self._free], -self._size * e[self._rows]])
        return self._whole(np.linalg.solve(self._matrix, right))

    def _whole(self, x: Array) -> tuple[Array, Array]:
        n = len(x) - len(self._rows)
        y, z = np.zeros(self._shape[0]), np.zeros(self._shape[1])
        y[self._free] = self._scale[self._free] * x[:n]
        z[self._rows] = self._size * x[n:]
        return y, z
