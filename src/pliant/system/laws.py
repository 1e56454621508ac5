"""What rods with laws of their own have by themselves: forces, stiffness, energy, stress."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..compile.families.laws import LAWS, law_tables
from ..kernels.groups import U_SPACE, U_TABLES
from ..kernels.loads.laws import law_forces, point_stress
from ..kernels.packing import pack
from ..model.links import Rod
from ..model.rods.laws import UserLaw
from .core import Array, Core, Inputs
from .workspace import Given

__all__ = ["LawForces", "LawPoints", "forces_of_laws", "has_laws", "refuse_memory", "stress_of_law"]

_NONE = np.zeros((0, 0, 0))


class LawForces(NamedTuple):
    """Of rods with laws, and of active strains."""

    force: Array  # (nv,) on the left-hand side, like elastic forces
    energy: float  # J
    dq: Array  # (nv, nv) its derivatives by q and v, or (0, 0)
    dv: Array


def has_laws(system: Core) -> bool:
    """Whether a robot has rods with laws or active strains."""
    tables = system._model.loads["laws"]
    return len(tables.rod) + len(tables.pull) > 0


def forces_of_laws(
    system: Core,
    q: Array,
    v: Array | None = None,
    u: Inputs = None,
    memory: ArrayLike | None = None,
    *,
    tangents: bool = False,
) -> LawForces:
    """Forces, energy and if asked for derivatives, at an instant at which internal variables are `memory` (nz,)."""
    n = system.nv
    force, D = np.zeros(n), np.zeros((2, n, n)) if tangents else _NONE
    own = system._model.positions["laws"]
    rows = system._assembly.loading.units.row
    spare = int(rows[rows[:, U_TABLES] == own][0, U_SPACE])
    with system.borrow() as space:
        space.prepare(Given(memory=None if memory is None else np.asarray(memory, dtype=float)))
        velocity = system._zero if v is None else v
        energy = law_forces(*space.packed, own, spare, q, velocity, system.inputs(u), force, D)
    system.raise_user_errors()
    none = np.zeros((0, 0))
    return LawForces(force, float(energy), D[0] if tangents else none, D[1] if tangents else none)


def refuse_memory(system: Core, what: str) -> None:
    """Error if laws of rods remember, for what does not know of that."""
    rods = [link.name for link in system._robot.links if isinstance(link.content, Rod) and link.content.law]
    if len(system._model.loads["laws"].smooth):
        raise ValueError(
            f"{what} does not know internal variables, and the laws of {', '.join(map(repr, rods))} have {len(system.loads['laws'].smooth)}: their answer depends on what "
            "happened before. Use simulate and solve_statics, or leave these laws out of the robot: after a long time branches of Prony and Springpot carry nothing anyway."
        )


def stress_of_law(rod: Rod, name: str, strain: Array, X: Array) -> Array:
    """Stress (m, 6) at rest at points X where the strain ξ − ξ* is (m, 6)."""
    points = LawPoints(rod, X)
    if points.remembers:
        raise ValueError(
            f"the stress in rod {name!r} depends on what happened before, which is known at its own points alone: its law remembers. "
            "Leave such laws out of the robot, or look at forces instead."
        )
    return points.stress(strain)[0]


class LawPoints:
    """The law of a rod at any points X (m,); of laws that remember what they add is left out."""

    def __init__(self, rod: Rod, X: Array) -> None:
        tables = law_tables(rod, np.asarray(X, dtype=float))
        self.remembers = bool(len(tables.smooth))
        self._packed, self._spare, self._rod = pack([(tables, False), (LAWS.space(tables, 0), True)]), len(tables), rod

    def stress(self, strain: Array) -> tuple[Array, Array]:
        """Stress (m, 6) [N m, N] and energy per metre (m,) [J/m] at rest where the strain ξ − ξ* is (m, 6)."""
        out = np.zeros((len(strain), 7))
        point_stress(*self._packed, self._spare, np.ascontiguousarray(strain), out)
        for law in self._rod.law:
            if isinstance(law, UserLaw):
                law.raise_error()
        return out[:, :6], out[:, 6]
