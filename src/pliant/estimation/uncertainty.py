"""How uncertain things are before anything is measured: starts and disturbances in metres, for every degree of freedom."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.layout import D_MASS
from ..model.validate import reals, shown
from ..system import System
from ..system.forces import free_rows, independent

__all__ = ["displacements", "periods", "spread", "tangent_projector"]

Array = NDArray[np.float64]
_ENDLESS = 1e30  # s


def displacements(system: System, q: Array) -> Array:
    """By how much a unit of each coordinate moves what it carries [m per its unit], (nv,): ``√(M_ii / m)`` with the mass m that moves."""
    links, mass = system._assembly.links, system.tables.data[:, D_MASS]
    moved = dict.fromkeys(links, 0.0)
    seen: set[int] = set()
    for name, info in links.items():
        steps = {anchor.step for anchor in info.anchors if anchor.step >= 0} - seen
        seen |= steps
        own = float(mass[list(steps)].sum())
        at = name
        while at in links:  # it moves with all that comes before it
            moved[at] += own
            at = links[at].link.parent.link
    carried = np.full(system.nv, system.mass)
    for name, info in links.items():
        carried[info.v0 : info.v0 + info.link.nv] = moved[name] or system.mass
    size = np.sqrt(np.maximum(np.diag(system.mass_matrix(q)), 0.0) / np.maximum(carried, 1e-300))
    return np.where(size > 0.0, size, 1.0)


def periods(system: System, q: Array) -> Array:
    """How far a unit of velocity leads against the elastic forces along each coordinate [s], (nv,): ``√(M_ii / K_ii)``; without end where nothing resists."""
    M, K = np.diag(system.mass_matrix(q)), np.diag(system.elastic_tangent(q))
    return np.asarray(np.where(K > 0.0, np.sqrt(np.maximum(M, 0.0) / np.where(K > 0.0, K, 1.0)), _ENDLESS))


def spread(name: str, value: Any, lengths: Array, unit: str) -> Array:
    """Standard deviations (nv,) from a number in metres, or from themselves."""
    hint = f"One number [{unit}] for what the coordinates move, or an array ({len(lengths)},) in the units of the coordinates; not negative."
    array = reals(name, value, hint=hint)
    if array.shape not in ((), lengths.shape) or not np.all(np.isfinite(array)) or np.any(array < 0.0):
        raise ValueError(f"{name} = {shown(value)} is not allowed. {hint}")
    return np.asarray(float(array) / lengths if array.ndim == 0 else array, dtype=np.float64)


def tangent_projector(system: System, q: Array) -> Array | None:
    """The projection (nv, nv) onto motions that keep loops closed and prescribed lengths, in scaled coordinates; None without them."""
    if not (system.loop_rows or system.held_tendons):
        return None
    scale, held = system.internal.scale, list(system.held_tendons.values())
    rows = free_rows(system, np.vstack([system.tendon_lengths(q)[1][held], system.closure(q)[1]]))
    basis = np.linalg.qr(rows[independent(rows)].T)[0]
    return scale[:, None] * (np.eye(system.nv) - basis @ basis.T) / scale
