"""Elastic and viscous resistance of rods and joints: the tables of `kernels.loads.internal`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..kernels.loads.internal import Internal
from ..model.joints import Joint
from ..model.links import Rod
from .rods import rod_matrices

if TYPE_CHECKING:
    from .assembly import Assembly, LinkInfo

__all__ = ["JointSpring", "Resistance", "internal_tables", "resist", "revise_resistance", "sparse"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class JointSpring:
    """Elastic and viscous resistance of a spherical or free joint."""

    q0: int
    v0: int
    joint: Joint


@dataclass(frozen=True, eq=False)
class Resistance:
    """Forces K (q − rest) and D v of rods and joints, and springs of manifold joints, which are not linear."""

    stiffness: Array  # (nv, nv) constant part: rods and scalar joints
    damping: Array  # (nv, nv)
    rest: Array  # (nq,) coordinates of zero elastic force; neutral configuration of manifold joints
    springs: tuple[JointSpring, ...]


def _add(info: LinkInfo, K: Array, D: Array, rest: Array) -> None:
    """Write the blocks of one link."""
    joint, v0, q0 = info.link.joint, info.v0, info.q0
    own = slice(v0, v0 + joint.nv)
    if joint.nv:
        D[own, own] = joint.damping_matrix
    if joint.kind == "screws":
        K[own, own] = joint.stiffness_matrix
        rest[q0 : q0 + joint.nq] = joint.rest_position
    elif joint.nv:
        rest[q0] = 1.0  # the identity quaternion
    if isinstance(info.link.content, Rod):
        assert info.steps is not None
        K[info.rod_v, info.rod_v], D[info.rod_v, info.rod_v] = rod_matrices(info.link.content, info.steps)


def _springs(links: Iterable[LinkInfo]) -> tuple[JointSpring, ...]:
    manifold = (info for info in links if info.link.joint.nv and info.link.joint.kind != "screws")
    return tuple(
        JointSpring(info.q0, info.v0, info.link.joint) for info in manifold if np.any(info.link.joint.stiffness_matrix)
    )


def resist(links: dict[str, LinkInfo], nq: int, nv: int) -> Resistance:
    """The resistance of all links."""
    K, D, rest = np.zeros((nv, nv)), np.zeros((nv, nv)), np.zeros(nq)
    for info in links.values():
        _add(info, K, D, rest)
    return Resistance(K, D, rest, _springs(links.values()))


def revise_resistance(old: Resistance, links: dict[str, LinkInfo], changed: Iterable[str]) -> Resistance:
    """The same if only some links have changed, by name."""
    K, D, rest = old.stiffness.copy(), old.damping.copy(), old.rest.copy()
    for name in changed:
        _add(links[name], K, D, rest)
    return Resistance(K, D, rest, _springs(links.values()))


def _scales(assembly: Assembly) -> Array:
    """Size of each velocity coordinate that counts as one: 1/length for bending and torsion, metres for sliding."""
    lengths = [i.link.content.length for i in assembly.links.values() if isinstance(i.link.content, Rod)]
    places = [float(np.linalg.norm(i.link.offset.translation)) for i in assembly.links.values()]
    size = max([*lengths, *places, 0.0]) or 1.0
    scale = np.ones(assembly.nv)
    for info in assembly.links.values():
        for k, name in enumerate(info.link.joint.dof_names):
            scale[info.v0 + k] = size if name.startswith(("displacement", "v")) else 1.0
        rod = info.link.content
        if isinstance(rod, Rod):
            scale[info.rod_v] = np.where(rod.strains.components < 3, 1.0 / rod.length, 1.0)
    return scale


def sparse(resistance: Resistance) -> tuple[NDArray[np.int64], NDArray[np.int64], Array, Array]:
    """Stiffness and damping by rows: where each row starts (nv + 1,), columns, and the entries of both."""
    K, D = resistance.stiffness, resistance.damping
    rows, columns = np.nonzero((K != 0) | (D != 0))
    start = np.zeros(len(K) + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=len(K)), out=start[1:])
    return start, columns.astype(np.int64), K[rows, columns], D[rows, columns]


def internal_tables(assembly: Assembly) -> Internal:
    """Stiffness and damping as sparse rows, and the maps between coordinates and velocities."""
    spatial = [(q0, v0, int(kind == "free")) for q0, v0, kind in assembly.spatial]
    q_taken = {q0 + k for q0, _v0, free in spatial for k in range(7 if free else 4)}
    v_taken = {v0 + k for _q0, v0, free in spatial for k in range(6 if free else 3)}
    shift = list(
        zip(
            (i for i in range(assembly.nq) if i not in q_taken),
            (i for i in range(assembly.nv) if i not in v_taken),
        )
    )
    springs = assembly.resistance.springs
    stiffness, rest = np.zeros((len(springs), 6, 6)), np.zeros((len(springs), 7))
    for k, s in enumerate(springs):
        stiffness[k, : s.joint.nv, : s.joint.nv] = s.joint.stiffness_matrix
        rest[k, : s.joint.nq] = s.joint.rest_position
    start, column, elastic, viscous = sparse(assembly.resistance)
    return Internal(
        shift=np.array(shift, dtype=np.int64).reshape(-1, 2),
        spatial=np.array(spatial, dtype=np.int64).reshape(-1, 3),
        rest=assembly.resistance.rest,
        start=start,
        column=column,
        stiffness=elastic,
        damping=viscous,
        springs=np.array([(s.q0, s.v0, int(s.joint.kind == "free")) for s in springs], dtype=np.int64).reshape(-1, 3),
        spring_stiffness=stiffness,
        spring_rest=rest,
        known=assembly.known.astype(np.int64),
        scale=_scales(assembly),
    )
