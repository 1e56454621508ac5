"""Lengths and tensions of tendons."""

from __future__ import annotations

import numpy as np

from ...kernels import engine
from ...kernels.loads.tendons import LAW_ELASTIC, LAW_INPUT, T_DAMP, T_FORCE, T_LENGTH, T_STIFF, V_REST, V_STIFF
from ...model.validate import unknown_name
from ...system import System
from ...system.dynamics import residual_tangent
from .coordinates import NamedQuantity
from .quantity import LocalQuantity
from .states import Array, Evaluated, Slopes, States, by_slopes

__all__ = ["TendonLength", "TendonTension"]


class _OfTendons(NamedQuantity, LocalQuantity):
    """A number of each tendon."""

    def _which(self, system: System) -> list[int]:
        known = list(system._robot.tendons)
        for name in self.names or ():
            if name not in known:
                raise unknown_name("tendon", name, known)
        return list(range(len(known))) if self.names is None else [known.index(name) for name in self.names]

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return len(self._which(system))


class TendonLength(_OfTendons):
    """Lengths of tendons [m] by name, None for all; minus the length of push rods, minus the volume of chambers [m³].

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(3)
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> pl.costs.TendonLength("cable").evaluate(pl.costs.States.at_rest(system, system.neutral())).value
    array([[0.4]])
    """

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        own = self._which(states.system)
        found = [states.system.tendon_lengths(q) for q in states.q]
        value = np.array([lengths[own] for lengths, _slopes in found])
        return by_slopes(states, value, lambda: (np.array([slopes[own] for _lengths, slopes in found]), None, None))


class TendonTension(_OfTendons):
    """Tensions at the motors [N] by name, None for all: of elastic tendons as they follow from length and rate, of others the input.

    Tendons of prescribed length (``control="length"``) have none: their tension is a force of a constraint, no function of the state.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(3)
    ... )
    >>> cord = robot.add_tendon("cord", arm, z=0.012, control="elastic", stiffness=500.0)
    >>> system = robot.compile()
    >>> pulled = pl.costs.States.at_rest(system, system.neutral(), {"cord": 0.01})  # 10 mm pulled in
    >>> print(pl.costs.TendonTension("cord").evaluate(pulled).value.round(9))
    [[5.]]
    """

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        tendons = list(system._robot.tendons.items())
        for k in self._which(system):
            name, tendon = tendons[k]
            if name in system.held_tendons:
                raise ValueError(
                    f"TendonTension: the length of {name!r} is prescribed, so that its tension is no function of the state. Use "
                    "control='elastic' with the stiffness of the cable, or measure its length."
                )
            if tendon.friction and tendon.damping:
                raise ValueError(
                    f"TendonTension: {name!r} has damping and friction, for which the derivative of its tension is not known. Leave one of them out."
                )
        return len(self._which(system))

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        system, own = states.system, self._which(states.system)
        found = [self._tensions(system, *row)[own] for row in zip(states.q, states.v, states.u)]
        tensions = np.array(found).reshape(len(states), len(own), -1)

        def derive() -> Slopes:
            by_q, by_v = np.zeros((2, len(states), len(own), system.nv))
            by_u = np.zeros((len(states), len(own), system.nu))
            for T, q in enumerate(states.q):
                lengths = system.tendon_lengths(q)[1]
                for i, k in enumerate(own):
                    stiff, damp = tensions[T, i, T_STIFF], tensions[T, i, T_DAMP]
                    elastic = system.tendons.law[k, LAW_ELASTIC] == 1
                    by_u[T, i, system.tendons.law[k, LAW_INPUT]] = stiff if elastic else 1.0
                    by_q[T, i], by_v[T, i] = stiff * lengths[k], damp * lengths[k]
                    if damp:
                        by_q[T, i] += damp * (states.v[T] @ _curvature(system, k, q, tensions[T, i, T_LENGTH]))
            return by_q, by_v, by_u

        return by_slopes(states, np.ascontiguousarray(tensions[:, :, T_FORCE]), derive)

    @staticmethod
    def _tensions(system: System, q: Array, v: Array, u: Array) -> Array:
        """Rows of `Work.tension` (tendons, 6)."""
        with system.borrow() as space:
            system.run_job(engine.RESIDUAL, q, v, u=u, space=space)
            return space.work.tension.copy()


def _curvature(system: System, k: int, q: Array, length: float) -> Array:
    """The change (nv, nv) of the derivatives of an elastic tendon's length, in rows, with the coordinates, in columns: what its tension, in which the tangent is
    linear, adds to the stiffness. It is not symmetric over ball and free joints, where a change is along the manifold.
    """
    zero, u = np.zeros(system.nv), np.zeros(system.nu)
    stiff, rest = system.tendons.value[k, V_STIFF], system.tendons.value[k, V_REST]
    found, tension, more = [], 1.0, 1.0
    for _ in range(2):
        u[system.tendons.law[k, LAW_INPUT]] = rest - length + tension / stiff
        found.append(residual_tangent(system, (q, zero, zero, u, None), (1.0, 0.0, 0.0)))
        more = max(1.0, float(np.abs(found[0]).max()))  # of the size of the stiffness, so that no digits are lost
        tension += more
    return np.asarray((found[1] - found[0]) / more)
