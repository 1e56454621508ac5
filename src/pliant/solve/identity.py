"""Which robot a result belongs to: a digest of the compiled tables."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..system import System

__all__ = ["digest"]

_NOISE = 1e-14  # relative to the largest entry of a column: what another processor may find instead of zero
_BITS = 2.0**30


def digest(system: System) -> str:
    """A digest of everything that the motion of a robot depends on, as hexadecimal digits.

    It is taken over names and compiled tables, so it does not matter how the robot was described. Real numbers count to
    nine digits: another processor may differ in the last. Python functions of user loads and laws count by name only.
    """
    names = {
        "dof": system.dof_names,
        "inputs": system.input_names,
        "loops": list(system.loop_rows),
        "prescribed": sorted(system.prescribed),
        "lengths": sorted(system.held_tendons),
        "user": [[name, load.name, *load.inputs] for name, (load, _) in system.robot.user_loads.items()],
        "laws": [[name, law.name] for name, law in system._user_laws],
    }
    out = hashlib.sha256(json.dumps(names).encode())
    loads = [family.lasting(system.loads[family.name]) for family in system.families]
    for group in (system.tables, system.internal, *loads):
        for name, array in zip(group._fields, group):
            out.update(f"{type(group).__name__}.{name} {array.shape} ".encode())
            out.update(_bytes(array))
    return out.hexdigest()


def _bytes(array: NDArray[Any]) -> bytes:
    if not array.size or array.dtype.kind != "f":
        return array.astype("<i8").tobytes()
    rows = array.reshape(-1, array.shape[-1] if array.ndim > 1 else 1)
    largest = np.nanmax(np.abs(np.where(np.isfinite(rows), rows, 0.0)), axis=0, initial=0.0)
    mantissa, exponent = np.frexp(np.where(np.abs(rows) <= _NOISE * largest, 0.0, rows))
    rounded = np.ldexp(np.rint(mantissa * _BITS) / _BITS, exponent) + 0.0
    return np.where(np.isnan(rounded), np.nan, rounded).astype("<f8").tobytes()
