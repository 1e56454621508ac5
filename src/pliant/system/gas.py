"""Volumes and pressures of gases in chambers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compile.families.gas import GASES, gas_volumes
from ..kernels.loads.gas import (
    G_AMBIENT,
    G_DEAD,
    G_EXPONENT,
    G_INPUT,
    G_KIND,
    G_MEMORY,
    G_PRESSURE,
    G_VOLUME,
    SYRINGE,
    Gases,
)
from ..model.validate import vector
from .core import Core, Inputs

__all__ = ["GasState", "gases"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GasState:
    """A gas at a configuration.

    Attributes
    ----------
    volume : float
        Of its chambers with the dead volume, without what a syringe has pushed in [m³].
    slope : ndarray (nv,)
        Derivative of the volume along the manifold of q.
    pressure : float
        Gauge pressure [Pa].
    """

    volume: float
    slope: Array
    pressure: float


def gases(system: Core, q: ArrayLike, u: Inputs, memory: ArrayLike | None) -> dict[str, GasState]:
    """See `System.gases`."""
    names = list(GASES.loads(system._robot))
    if not names:
        return {}
    tables: Gases = system._model.loads[GASES.name]
    amounts: Any = np.zeros(system.nz) if memory is None else vector("memory", memory, (system.nz,))
    inputs = system.inputs(u)
    volume, slope = gas_volumes(tables, system.check_q(q), system.nv)
    out = {}
    for k, name in enumerate(names):
        value, law = tables.value[k], tables.law[k]
        z = amounts[tables.first[0] + law[G_MEMORY]] if law[G_MEMORY] >= 0 else 0.0
        whole = volume[k] + value[G_DEAD]
        free = whole - (inputs[law[G_INPUT]] if law[G_KIND] == SYRINGE else 0.0)
        first = value[G_PRESSURE]
        p = first * ((first * value[G_VOLUME] + z) / (first * free)) ** value[G_EXPONENT]
        out[name] = GasState(float(whole), slope[k], float(p - value[G_AMBIENT]))
    return out
