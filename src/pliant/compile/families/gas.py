"""Gases → points of their chambers along rods, and laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...kernels.loads.gas import CHOKED, FLOW, G_VOLUME, LINEAR, SEALED, SYRINGE, Gases, GasSpace, apply_gases, gases
from ...kernels.loads.tendons import L_NODE, L_TENDON, N_Q, N_V, Tendons, acting
from ...model.actuators import Tendon
from ...model.gas import NORMAL, Gas
from ..family import Family
from ..places import Places, as_rows
from .tendons import Lines

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["GASES", "gas_volumes"]

Array = NDArray[np.float64]
_KINDS = {"sealed": SEALED, "syringe": SYRINGE, "flow": FLOW}


def gas_volumes(tables: Gases, q: Array, nv: int) -> tuple[Array, Array]:
    """Volumes (gases,) [m³] without dead volumes and their derivatives (gases, nv)."""
    volume, slope = np.zeros(len(tables.law)), np.zeros((len(tables.law), nv))
    for (k, m), row in zip(tables.point[:, [L_TENDON, L_NODE]], tables.data):
        which, components, values = acting(tables, m)  # type: ignore[arg-type]  # it has the same fields
        xi = tables.strain[m].copy()
        np.add.at(xi, components, values * q[tables.node[m, N_Q] + which])
        t = xi[3:] + np.cross(xi[:3], row[1:4]) + row[4:7]
        size = float(np.linalg.norm(t))
        wrench = np.concatenate([np.cross(row[1:4], t / size), t / size])
        volume[k] += row[0] * size
        np.add.at(slope[k], tables.node[m, N_V] + which, row[0] * values * wrench[components])
    return volume, slope


class _Gases(Family):
    name = "gases"
    unit = gases
    apply = staticmethod(apply_gases)
    descriptions = (Gas,)

    def tables(self, places: Places, inputs: Sequence[str]) -> Gases:
        loads: dict[str, Gas] = dict(self.loads(places.robot))
        lines: dict[str, tuple[int, Tendon]] = {}
        for k, (name, gas) in enumerate(loads.items()):
            for c, piece in enumerate(gas.chambers):
                if not places.robot.link(piece.rod).is_rod:
                    raise TypeError(f"gas {name!r}: {piece.rod!r} is a rigid body; chambers run along rods.")
                lines[f"{name}: chamber {c}"] = k, Tendon((piece,), push=True, factor=gas.area)
        builder = Lines(places, inputs, {name: tendon for name, (_k, tendon) in lines.items()})
        for name, (k, tendon) in lines.items():
            builder.along(k, tendon, tendon.along[0], builder.pieces[name, 0], np.zeros(0), [])
        found: Tendons = builder.tables()
        law, value, remembered = [], [], 0
        for name, gas in loads.items():
            valve = LINEAR if gas.critical is None else CHOKED
            kind = _KINDS.get(gas.supply, valve)
            remembers = gas.supply in ("flow", "valve")
            law.append([kind, inputs.index(name) if gas.supply != "sealed" else -1, remembered if remembers else -1])
            remembered += remembers
            value.append(
                [gas.first, np.nan, gas.dead_volume, gas.exponent, gas.ambient, gas.conductance or 0.0, gas.critical or 0.0, NORMAL]
            )  # fmt: skip
        return Gases(
            law=as_rows(law, 3, np.int64),
            value=as_rows(value, 8),
            node=found.node,
            strain=found.strain,
            point=found.point,
            data=found.data,
            phi=found.phi,
            first=np.array([-1], dtype=np.int64),
        )

    def settle(self, model: Model) -> None:
        """Volumes of the first filling."""
        tables: Gases = model.loads[self.name]
        volume, _slope = gas_volumes(tables, model.neutral(), len(model.work.zero))
        tables.value[:, G_VOLUME] = volume + tables.value[:, 2]

    def couples(self, tables: Gases) -> str:
        return "gas in its chambers couples all that changes their volume" if self.present(tables) else ""

    def between(self, tables: Gases) -> NDArray[np.int64]:
        return np.zeros((0, 2), dtype=np.int64)

    def depends_on_velocity(self, tables: Gases) -> bool:
        return False

    def keeps_potential(self, tables: Gases) -> bool:
        return True

    def supplies(self, tables: Gases) -> bool:
        return self.memory(tables) > 0

    def space(self, tables: Gases, nv: int, dtype: type = np.float64) -> GasSpace:
        n = len(tables.law)
        return GasSpace(volume=np.zeros(n, dtype), slope=np.zeros((n, nv), dtype), found=np.zeros((n, 5), dtype))

    def memory(self, tables: Gases) -> int:
        return int(np.sum(tables.law[:, 2] >= 0))

    def sticks(self, tables: Gases, memory: Array) -> bool:
        return False

    def lasting(self, tables: Gases) -> Any:
        return tables


GASES = _Gases()
Gas.family = GASES
