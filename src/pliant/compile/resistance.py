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

__all__ = ["Resistance", "internal_tables", "resist", "revise_resistance", "write_resistance"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Resistance:
    """Forces K (q − rest) and D v of rods and scalar joints, by rows; springs of manifold joints are not linear."""

    start: Ints  # (nv + 1,) first entry of each row
    column: Ints  # (entries,)
    stiffness: Array  # (entries,) of K, constant part: rods and scalar joints
    damping: Array  # (entries,) of D
    rest: Array  # (nq,) coordinates of zero elastic force; neutral configuration of manifold joints

    def matrix(self, entries: Array) -> Array:
        """Entries of K or D as a matrix (nv, nv)."""
        n = len(self.start) - 1
        out = np.zeros((n, n))
        out[np.repeat(np.arange(n), np.diff(self.start)), self.column] = entries
        return out


def _blocks(info: LinkInfo) -> tuple[Array, Array]:
    """K and D of the coordinates of one link."""
    link, joint = info.link, info.link.joint
    K, D = np.zeros((2, link.nv, link.nv))
    own = slice(0, joint.nv)
    if joint.nv:
        D[own, own] = joint.damping_matrix
        if joint.group is None:
            K[own, own] = joint.stiffness_matrix
    if isinstance(link.content, Rod):
        assert info.steps is not None
        K[joint.nv :, joint.nv :], D[joint.nv :, joint.nv :] = rod_matrices(link.content, info.steps, info.integrals)
    return K, D


def _put_rest(info: LinkInfo, rest: Array) -> None:
    """Write where the joint of a link has no elastic force."""
    joint = info.link.joint
    if joint.nv:
        neutral = joint.rest_position if joint.group is None else joint.group.neutral()
        rest[info.q0 : info.q0 + joint.nq] = neutral


def resist(links: dict[str, LinkInfo], nq: int, nv: int) -> Resistance:
    """The resistance of all links, which do not couple and have their velocities one after another."""
    rest, counts = np.zeros(nq), np.zeros(nv, dtype=np.int64)
    column, stiffness, damping = [np.zeros(0, dtype=np.int64)], [np.zeros(0)], [np.zeros(0)]
    for info in links.values():
        if not info.link.nv:
            continue
        K, D = _blocks(info)
        at = np.nonzero((K != 0) | (D != 0))
        counts[info.v0 : info.v0 + len(K)] = np.bincount(at[0], minlength=len(K))
        column.append(info.v0 + at[1])
        stiffness.append(K[at])
        damping.append(D[at])
        _put_rest(info, rest)
    start = np.concatenate([[0], np.cumsum(counts)])
    return Resistance(start, np.concatenate(column), np.concatenate(stiffness), np.concatenate(damping), rest)


def revise_resistance(old: Resistance, links: dict[str, LinkInfo], changed: Iterable[str]) -> Resistance | None:
    """The same if only some links have changed, by name; None if other entries are zero than before."""
    stiffness, damping, rest = old.stiffness.copy(), old.damping.copy(), old.rest.copy()
    for name in changed:
        info = links[name]
        K, D = _blocks(info)
        at = np.nonzero((K != 0) | (D != 0))
        rows = old.start[info.v0 : info.v0 + len(K) + 1]
        own = slice(int(rows[0]), int(rows[-1]))
        counts = np.bincount(at[0], minlength=len(K))
        if not np.array_equal(counts, np.diff(rows)) or not np.array_equal(info.v0 + at[1], old.column[own]):
            return None
        stiffness[own], damping[own] = K[at], D[at]
        _put_rest(info, rest)
    return Resistance(old.start, old.column, stiffness, damping, rest)


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


def write_resistance(packed: Packed, assembly: Assembly) -> bool:
    """Write stiffness, damping and rest into tables of the same pattern; False if other manifold joints have springs now."""

    def table(name: str) -> NDArray[Any]:
        return array_of(packed, Internal, name, POSITION[Internal])

    springs = _springs(assembly)
    if [spring.row for spring in springs] != [tuple(row) for row in table("springs").tolist()]:
        return False
    resistance = assembly.resistance
    table("stiffness")[:] = resistance.stiffness
    table("damping")[:] = resistance.damping
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
    resistance = assembly.resistance
    return Internal(
        shift=np.column_stack([np.flatnonzero(plain_q), np.flatnonzero(plain_v)]).astype(np.int64),
        spatial=np.array([joint.row for joint in assembly.spatial], dtype=np.int64).reshape(-1, 3),
        rest=resistance.rest,
        start=resistance.start,
        column=resistance.column,
        stiffness=resistance.stiffness,
        damping=resistance.damping,
        springs=np.array([spring.row for spring in springs], dtype=np.int64).reshape(-1, 3),
        spring_stiffness=stiffness,
        spring_rest=rest,
        known=assembly.known.astype(np.int64),
        scale=_scales(assembly),
    )
