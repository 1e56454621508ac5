"""Elastic and viscous resistance of rods and joints: the tables of `kernels.loads.internal`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.groups import POSITION
from ..kernels.loads.internal import Internal
from ..kernels.packing import Packed, array_of
from ..model.links import Rod
from .rods import rod_matrices

if TYPE_CHECKING:
    from .assembly import Assembly, LinkInfo, ManifoldJoint

__all__ = ["Resistance", "internal_tables", "resist", "revise_resistance", "sparse", "write_resistance"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Resistance:
    """Forces K (q − rest) and D v of rods and scalar joints; springs of manifold joints are not linear."""

    stiffness: Array  # (nv, nv) constant part: rods and scalar joints
    damping: Array  # (nv, nv)
    rest: Array  # (nq,) coordinates of zero elastic force; neutral configuration of manifold joints
    entries: NDArray[np.int64]  # of these matrices, row after row, that are not both zero


def _add(info: LinkInfo, K: Array, D: Array, rest: Array) -> None:
    """Write the blocks of one link."""
    joint, v0, q0 = info.link.joint, info.v0, info.q0
    own = slice(v0, v0 + joint.nv)
    if joint.nv:
        D[own, own] = joint.damping_matrix
        if joint.group is None:
            K[own, own] = joint.stiffness_matrix
            rest[q0 : q0 + joint.nq] = joint.rest_position
        else:
            rest[q0 : q0 + joint.nq] = joint.group.neutral()
    if isinstance(info.link.content, Rod):
        assert info.steps is not None
        rod = rod_matrices(info.link.content, info.steps, info.integrals)
        K[info.rod_v, info.rod_v], D[info.rod_v, info.rod_v] = rod


def resist(links: dict[str, LinkInfo], nq: int, nv: int) -> Resistance:
    """The resistance of all links."""
    K, D, rest = np.zeros((nv, nv)), np.zeros((nv, nv)), np.zeros(nq)
    for info in links.values():
        _add(info, K, D, rest)
    return Resistance(K, D, rest, np.flatnonzero((K != 0) | (D != 0)))


def revise_resistance(old: Resistance, links: dict[str, LinkInfo], changed: Iterable[str]) -> Resistance | None:
    """The same if only some links have changed, by name; None if other entries are zero than before."""
    K, D, rest = old.stiffness.copy(), old.damping.copy(), old.rest.copy()
    for name in changed:
        info = links[name]
        own = slice(info.v0, info.v0 + info.link.nv)
        _add(info, K, D, rest)
        before = (old.stiffness[own, own] != 0) | (old.damping[own, own] != 0)
        if not np.array_equal(before, (K[own, own] != 0) | (D[own, own] != 0)):
            return None
    return Resistance(K, D, rest, old.entries)


def _scales(assembly: Assembly) -> Array:
    """Size of each velocity coordinate that counts as one: 1/length for bending and torsion, metres for sliding."""
    lengths = [i.link.content.length for i in assembly.links.values() if isinstance(i.link.content, Rod)]
    places = [float(np.linalg.norm(i.link.offset.translation)) for i in assembly.links.values()]
    size = max([*lengths, *places, 0.0]) or 1.0
    scale = np.ones(assembly.nv)
    for info in assembly.links.values():
        for k, unit in enumerate(info.link.joint.dof_units):
            scale[info.v0 + k] = size if unit == "m" else 1.0
        rod = info.link.content
        if isinstance(rod, Rod):
            scale[info.rod_v] = np.where(rod.strains.components < 3, 1.0 / rod.length, 1.0)
    return scale


def sparse(resistance: Resistance) -> tuple[NDArray[np.int64], NDArray[np.int64], Array, Array]:
    """Stiffness and damping by rows: where each row starts (nv + 1,), columns, and the entries of both."""
    K, D, entries = resistance.stiffness, resistance.damping, resistance.entries
    rows, columns = np.divmod(entries, len(K))
    start = np.zeros(len(K) + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=len(K)), out=start[1:])
    return start, columns, K.take(entries), D.take(entries)


def write_resistance(packed: Packed, assembly: Assembly) -> bool:
    """Write stiffness, damping and rest into tables of the same pattern; False if other manifold joints have springs now."""

    def table(name: str) -> NDArray[Any]:
        return array_of(packed, Internal, name, POSITION[Internal])

    springs = _springs(assembly)
    if [spring.row for spring in springs] != [tuple(row) for row in table("springs").tolist()]:
        return False
    resistance = assembly.resistance
    table("stiffness")[:] = resistance.stiffness.take(resistance.entries)
    table("damping")[:] = resistance.damping.take(resistance.entries)
    table("rest")[:] = resistance.rest
    if springs:
        table("spring_stiffness")[:], table("spring_rest")[:] = _spring_tables(springs)
    return True


def _springs(assembly: Assembly) -> list[ManifoldJoint]:
    return [joint for joint in assembly.spatial if np.any(joint.joint.stiffness)]


def _spring_tables(springs: list[ManifoldJoint]) -> tuple[Array, Array]:
    """Stiffness (n, 6, 6) and rest (n, 7) of springs of manifold joints."""
    stiffness, rest = np.zeros((len(springs), 6, 6)), np.zeros((len(springs), 7))
    for k, s in enumerate(springs):
        stiffness[k, : s.joint.nv, : s.joint.nv] = s.joint.stiffness_matrix
        rest[k, : s.joint.nq] = s.joint.rest_position
    return stiffness, rest


def internal_tables(assembly: Assembly) -> Internal:
    """Stiffness and damping as sparse rows, and the maps between coordinates and velocities."""
    plain_q, plain_v = np.ones(assembly.nq, dtype=bool), np.ones(assembly.nv, dtype=bool)
    for joint in assembly.spatial:
        plain_q[joint.q] = plain_v[joint.v] = False
    springs = _springs(assembly)
    stiffness, rest = _spring_tables(springs)
    start, column, elastic, viscous = sparse(assembly.resistance)
    return Internal(
        shift=np.column_stack([np.flatnonzero(plain_q), np.flatnonzero(plain_v)]).astype(np.int64),
        spatial=np.array([joint.row for joint in assembly.spatial], dtype=np.int64).reshape(-1, 3),
        rest=assembly.resistance.rest,
        start=start,
        column=column,
        stiffness=elastic,
        damping=viscous,
        springs=np.array([spring.row for spring in springs], dtype=np.int64).reshape(-1, 3),
        spring_stiffness=stiffness,
        spring_rest=rest,
        known=assembly.known.astype(np.int64),
        scale=_scales(assembly),
    )
