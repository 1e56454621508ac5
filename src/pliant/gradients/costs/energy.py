"""Energies of a robot and its centre of mass."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...kernels.layout import D_COM, D_MASS, MASSLESS, S_INERTIA
from ...kernels.loads.water import W_CENTRE, W_MASS, W_POS, W_ROT
from ...kernels.recursion.points import point_jacobians
from ...model.validate import choice
from ...system import System
from ...system.energy import totals
from ...system.laws import refuse_memory
from .quantity import LocalQuantity
from .states import Array, Evaluated, Slopes, States, by_slopes

__all__ = ["CenterOfMass", "Energy"]

_KINDS = ("kinetic", "elastic", "gravitational", "total")


class CenterOfMass(LocalQuantity):
    """Centre of mass in the world [m], (3,).

    Examples
    --------
    >>> import pliant as pl
    >>> pl.costs.CenterOfMass()[:2].near((0.0, 0.0), at="end")
    <cost near: CenterOfMass()[:2]>
    """

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return 3

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        system = states.system
        value = np.array([system.center_of_mass(q) for q in states.q])

        def derive() -> Slopes:
            steps, places, masses = _masses(system)
            whole = masses.sum()
            return np.array([_moments(system, q, steps, places, masses) / whole for q in states.q]), None, None

        return by_slopes(states, value, derive)

    def __repr__(self) -> str:
        """As it was written."""
        return "CenterOfMass()"


class Energy(LocalQuantity):
    """An energy of the robot [J], one entry.

    Parameters
    ----------
    kind : {"kinetic", "elastic", "gravitational", "total"}
        As `System.kinetic_energy`, `elastic_energy` (rods and springs of joints), `gravitational_energy` (with buoyancy), and their sum.

    Notes
    -----
    With ``T = ½ vᵀM v``: ∂T/∂v = M v and ∂T/∂q = ½ vᵀ ∂(M a)/∂q at a = v, of the derivative of the inverse dynamics.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> system = robot.compile()
    >>> found = pl.costs.Energy("gravitational").evaluate(pl.costs.States.at_rest(system, [0.0]))
    >>> print(found.pull(np.ones((1, 1))).q.round(4))  # the torque that holds it level
    [[-0.7358]]
    """

    def __init__(self, kind: Literal["kinetic", "elastic", "gravitational", "total"] = "total") -> None:
        choice("kind", kind, _KINDS)
        self.kind = kind

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return 1

    def _has(self, kind: str) -> bool:
        return self.kind in (kind, "total")

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        system = states.system
        if self._has("elastic"):
            refuse_memory(system, f"the cost Energy({self.kind!r})")
            if system.robot.active_strains:
                raise ValueError(
                    f"the cost Energy({self.kind!r}) does not know active strains ({', '.join(map(repr, system.robot.active_strains))}): their "
                    "inputs change what is stored. Use Energy('kinetic') or Energy('gravitational')."
                )
        value = np.zeros((len(states), 1))
        for k, (q, v) in enumerate(zip(states.q, states.v)):
            if self.kind != "elastic":
                sums = totals(system, q, v)
                value[k] += (sums.kinetic if self._has("kinetic") else 0.0) + (
                    sums.weight + system.buoyancy_energy(q) if self._has("gravitational") else 0.0
                )
            if self._has("elastic"):
                value[k] += system.elastic_energy(q)
        return by_slopes(states, value, lambda: self._slopes(states))

    def _slopes(self, states: States) -> Slopes:
        system, zero = states.system, np.zeros(states.system.nv)
        dq, dv = np.zeros((len(states), 1, system.nv)), np.zeros((len(states), 1, system.nv))
        pulls = _forces(system) if self._has("gravitational") else []
        for k, (q, v) in enumerate(zip(states.q, states.v)):
            if self._has("kinetic"):
                dv[k, 0] = system.mass_matrix(q) @ v
                if np.any(v):
                    change = system.tangent(q, zero, v, 0.0, 0.0) - system.tangent(q, zero, zero, 0.0, 0.0)
                    dq[k, 0] += 0.5 * v @ change
            for steps, places, masses in pulls:
                dq[k, 0] -= system.gravity @ _moments(system, q, steps, places, masses)
            if self._has("elastic"):
                dq[k, 0] += system.elastic_forces(q)
        return dq, dv, None

    def __repr__(self) -> str:
        """As it was written."""
        return f"Energy({self.kind!r})"


Points = tuple[np.ndarray, Array, Array]  # steps, places in their frames, masses


def _masses(system: System) -> Points:
    """Where mass is: its steps, centres in their frames (n, 3), and masses (n,)."""
    own = np.flatnonzero(system.tables.step[:, S_INERTIA] != MASSLESS)
    data = system.tables.data[own]
    return own.astype(np.int64), data[:, D_COM : D_COM + 3], data[:, D_MASS]


def _forces(system: System) -> list[Points]:
    """Masses that gravity pulls, and displaced fluid as negative ones."""
    out = [_masses(system)]
    water = system.water
    if len(water.place):
        rotation = water.data[:, W_ROT : W_ROT + 9].reshape(-1, 3, 3)
        centre = water.data[:, W_CENTRE : W_CENTRE + 3, None]
        places = water.data[:, W_POS : W_POS + 3] + (rotation @ centre)[:, :, 0]
        out.append((water.place[:, 0].astype(np.int64), places, -water.data[:, W_MASS]))
    return out


def _moments(system: System, q: Array, steps: np.ndarray, places: Array, masses: Array) -> Array:
    """Derivative (3, nv) of Σ m x."""
    n = len(steps)
    J, rate, motion = np.empty((n, 6, system.nv)), np.empty((n, 6, system.nv)), np.empty((n, 18))
    with system.borrow() as space:
        point_jacobians(*space.packed, q, system._zero, steps, motion, J, rate)
    x = motion[:, 9:12] + (motion[:, :9].reshape(n, 3, 3) @ places[:, :, None])[:, :, 0]
    # Σ m (J_v + J_ω × x): of the angular part only the products with x are left
    turn = np.einsum("k,kin,kj->ijn", masses, J[:, :3], x)
    cross = np.stack([turn[1, 2] - turn[2, 1], turn[2, 0] - turn[0, 2], turn[0, 1] - turn[1, 0]])
    return np.einsum("k,kin->in", masses, J[:, 3:]) + cross
