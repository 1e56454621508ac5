"""Coordinates from what is known of a configuration: poses of links that float, numbers of joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..compile.assembly import LinkInfo
from ..model.links import Link
from ..model.pose import Pose, as_pose, unit_quaternion
from ..model.validate import dimensions, finite, shown, unknown_name, vector
from .core import Array, Core
from .kinematics import pose

__all__ = ["configuration"]


def configuration(system: Core, placed: Mapping[str, Any] | None = None) -> Array:
    """See `System.configuration`."""
    q = system.neutral()
    if placed is None:
        return q
    if not isinstance(placed, Mapping):
        raise TypeError(
            f"placed = {shown(placed)} must be a dictionary such as {{'body': (0, 0, 1), 'elbow.angle': 0.3}}."
        )
    names = system.coordinate_names
    for name, value in placed.items():
        if name in system.links:
            continue
        if name not in names:
            raise unknown_name("link or coordinate", str(name), (*system.links, *names))
        _check_plain(system, name)
        q[names.index(name)] = finite(f"start of {name!r}", value)
    for name in system.links:  # parents come first, so that a pose is held against where its parent is
        if name in placed:
            _place(system, q, system._info(name), placed[name])
    return q


def _check_plain(system: Core, name: str) -> None:
    """Error if a coordinate is part of a quaternion or a position, which only make sense together."""
    k = system.coordinate_names.index(name)
    if any(joint.q.start <= k < joint.q.stop for joint in system.manifold_joints):
        link = name.partition(".")[0]
        raise ValueError(f"start of {name!r} is not allowed: give the pose of the link, {{{link!r}: pose}}.")


def _place(system: Core, q: Array, info: LinkInfo, value: Any) -> None:
    """Set the coordinates of a link's joint, or all of them, in q."""
    link, size = info.link, None if isinstance(value, Pose) else dimensions(value)
    joint, field = link.joint, f"start of {link.name!r}"
    own = slice(info.q0, info.q0 + joint.nq)
    if size == (link.nq,) or (size == () and link.nq == 1):  # joint first, then strains
        every = slice(own.start, own.start + link.nq)
        q[every] = vector(field, value, (link.nq,)) if size else finite(field, value)
        if joint.group is not None:
            q[own][:4] = unit_quaternion(field, q[own][:4])
    elif joint.group is not None:
        pose_of = Pose(rotation=value) if joint.group.size == 3 and size == (3, 3) else as_pose(value, name=field)
        q[own] = _moved(system, q, info, pose_of)[: joint.nq]
    elif joint.nq and size in ((), (joint.nq,)):
        q[own] = vector(field, value, (joint.nq,)) if size else finite(field, value)
    else:
        raise ValueError(f"{field} = {shown(value)} is not allowed: {_allowed(link)}.")


def _allowed(link: Link) -> str:
    """What a link that does not float takes."""
    joint = link.joint
    of_joint = f"{joint.nq} of its {type(joint).__name__} joint ({', '.join(joint.coordinate_names)})"
    of_all = f"all {link.nq} coordinates of the link"
    forms = [*([of_joint] if joint.nq else []), *([of_all] if link.nq > joint.nq else [])]
    if not forms:
        return f"it is fixed to {link.parent.link!r} and has no coordinates"
    return f"give numbers, {' or '.join(forms)}; poses are for links on free and spherical joints"


def _moved(system: Core, q: Array, info: LinkInfo, target: Pose) -> Array:
    """Coordinates (7,) of a joint that brings its link to a pose in the world; q has those of its parents."""
    link = info.link
    assert link.joint.group is not None
    at_zero = q.copy()
    at_zero[info.q0 : info.q0 + link.joint.nq] = link.joint.group.neutral()
    after = link.offset_after.inverse()
    first = as_pose(pose(system, link.base if link.is_rod else link, at_zero))
    moved = (first @ after).inverse() @ target @ after
    return np.concatenate([moved.quaternion, moved.translation])
