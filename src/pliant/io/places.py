"""Kinds of a model file that say where something is: directions, poses and frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ..model.links import WORLD, Frame
from ..model.pose import Pose, as_pose, rotate, unit_axis
from .kinds import Kind, Number, Numbers, Reference, Schema, number
from .records import Record
from .source import FAILED, Place

__all__ = ["AXIS", "FRAME", "POSE", "At", "write_frame"]

_NAMES = ("x", "y", "z", "-x", "-y", "-z")
_UNITS = {name: tuple(unit_axis("axis", name).tolist()) for name in _NAMES}


class _Axis(Kind):
    """A direction."""

    wanted = "a direction: x, y, z, -x, -y, -z or a list of 3 numbers"

    def read(self, place: Place) -> Any:
        if isinstance(place.value, str):
            return str(place.value) if place.value in _NAMES else self.wrong(place)
        return Numbers((3,)).read(place)

    def write(self, value: Any, path: str) -> Any:
        given = value if isinstance(value, str) else tuple(float(x) for x in value)
        for name, unit in _UNITS.items():
            if given in (name, unit):
                return name
        return [number(x) for x in given]

    def schema(self, defs: Schema) -> Schema:
        return {"anyOf": [{"enum": list(_NAMES)}, Numbers((3,)).schema(defs)]}


AXIS = _Axis()


class _Turn(Kind):
    """An axis and an angle."""

    wanted = "an axis and an angle [rad], such as [z, pi/2]"

    def read(self, place: Place) -> Any:
        if not place.is_list or len(place.value) != 2:
            return self.wrong(place)
        axis, angle = place.entries()
        values = AXIS.read(axis), Number().read(angle)
        return FAILED if FAILED in values else values

    def write(self, value: Any, path: str) -> Any:
        return [AXIS.write(value[0], path), number(value[1])]

    def schema(self, defs: Schema) -> Schema:
        items = [AXIS.schema(defs), Number().schema(defs)]
        return {"type": "array", "prefixItems": items, "minItems": 2, "maxItems": 2}


def _make_pose(
    translation: Annotated[Any, Numbers((3,))] = (0.0, 0.0, 0.0),
    rotation: Annotated[Any, Numbers((3, 3))] = None,
    quaternion: Annotated[Any, Numbers((4,))] = None,
    rotate: Annotated[Any, _Turn()] = None,
    look_along: Annotated[Any, AXIS] = None,
    roll: float = 0.0,
) -> Pose:
    """A placement.

    Parameters
    ----------
    translation : array (3,)
        Where the placed frame is [m].
    rotation : array (3, 3)
        Rotation matrix.
    quaternion : array (4,)
        Unit quaternion (w, x, y, z).
    rotate : axis and angle
        For instance ``[z, pi/2]`` [rad].
    look_along : axis
        Where the local x axis (that of a rod) points.
    roll : float
        Turn about the local x axis after `look_along` [rad].
    """
    given = {"rotation": rotation, "quaternion": quaternion, "rotate": rotate, "look_along": look_along}
    named = [key for key, value in given.items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"{' and '.join(named)} both say how it is turned; give one of them.")
    if roll and look_along is None:
        raise ValueError("roll = … is for look_along; use rotate: [x, angle].")
    if quaternion is not None:
        return Pose.from_quaternion(quaternion, translation)
    if look_along is not None:
        return Pose.look_along(look_along, translation, roll=roll)
    if rotate is not None:
        return Pose(translation, _turn(*rotate))
    return Pose(translation, rotation)


def _turn(axis: Any, angle: float) -> Any:
    return rotate(axis, angle).rotation


_POSE_ALIASES = {"xyz": "translation", "translate": "translation", "position": "translation"}
_POSE_RECORD = Record("Pose", _make_pose, aliases=_POSE_ALIASES)


class _PoseKind(Kind):
    """A placement: a translation, a mapping, a 4×4 matrix, or a list of mappings one after the other."""

    wanted = (
        "a translation [x, y, z], a mapping such as {translation: [x, y, z], rotate: [z, pi/2]}, a list of such mappings or "
        "a 4×4 matrix"
    )
    neutral = Pose()

    def inner(self) -> Iterable[Kind]:
        return [_POSE_RECORD]

    def read(self, place: Place) -> Any:
        if place.is_mapping:
            return _POSE_RECORD.read(place)
        if place.is_list and len(place.value) and all(isinstance(entry, Mapping) for entry in place.value):
            steps = [_POSE_RECORD.read(entry) for entry in place.entries()]
            if FAILED in steps:
                return FAILED
            pose = steps[0]
            for step in steps[1:]:
                pose = pose @ step
            return pose
        if not place.is_list:
            return self.wrong(place)
        value = Numbers((3,), (4, 4)).read(place)
        if value is FAILED:
            return FAILED
        try:
            return as_pose(value, name=place.path[-1])
        except (TypeError, ValueError) as error:
            return place.fail(str(error))

    def write(self, value: Any, path: str) -> Any:
        pose = as_pose(value)
        place = [number(x) for x in pose.translation]
        if np.array_equal(pose.rotation, np.eye(3)):
            return place
        out: dict[str, Any] = {"translation": place} if any(place) else {}
        for name in _NAMES[1:]:
            if np.array_equal(Pose.look_along(name).rotation, pose.rotation):
                return {**out, "look_along": name}
        q = pose.quaternion
        for k, name in enumerate("xyz"):  # a turn about an axis, if its matrix comes out exactly as it is
            angle = float(2 * np.arctan2(q[1 + k], q[0]))
            if np.array_equal(_turn(name, angle), pose.rotation):
                return {**out, "rotate": [name, number(angle)]}
        return {**out, "rotation": [[number(x) for x in row] for row in pose.rotation]}

    def schema(self, defs: Schema) -> Schema:
        record = _POSE_RECORD.schema(defs)
        lists = [Numbers((3,)).schema(defs), Numbers((4, 4)).schema(defs)]
        return {"anyOf": [*lists, record, {"type": "array", "items": record, "minItems": 1}]}


POSE = _PoseKind()


@dataclass(frozen=True)
class At:
    """A named frame and an offset from it."""

    name: Reference
    offset: Pose


class _FrameKind(Kind):
    """A place on the robot."""

    wanted = "a link or frame such as arm, arm.tip, arm@0.3 or world, or {at: arm.tip, offset: [x, y, z]}"
    neutral = WORLD

    def inner(self) -> Iterable[Kind]:
        return [_AT_RECORD]

    def read(self, place: Place) -> Any:
        if isinstance(place.value, str):
            return Reference(place.value)
        if place.is_mapping:
            return _AT_RECORD.read(place)
        return self.wrong(place)

    def write(self, value: Any, path: str) -> Any:
        return value if isinstance(value, (str, dict)) else write_frame(value, path)

    def schema(self, defs: Schema) -> Schema:
        return {"anyOf": [{"type": "string", "minLength": 1}, _AT_RECORD.schema(defs)]}


class _AtName(Kind):
    wanted = "the name of a link or frame such as arm, arm.tip, arm@0.3 or world"

    def read(self, place: Place) -> Any:
        return Reference(place.value) if isinstance(place.value, str) else self.wrong(place)

    def write(self, value: Any, path: str) -> Any:
        return str(value)

    def schema(self, defs: Schema) -> Schema:
        return {"type": "string", "minLength": 1}


def _make_at(at: Annotated[Reference, _AtName()], offset: Pose | None = None) -> Any:
    """A frame with an offset.

    Parameters
    ----------
    at : link or frame
        A name such as arm, arm.tip, arm@0.3, hub or world.
    offset : pose
        Fixed offset from there.
    """
    return at if offset is None else At(at, offset)


_AT_RECORD = Record("At", _make_at)
FRAME = _FrameKind()


def write_frame(frame: Frame, path: str) -> Any:
    """A frame as text, or as a mapping if it has an offset."""
    name = frame.link
    if frame.X is not None:
        name += {0.0: ".base", 1.0: ".tip"}.get(frame.X, f"@{frame.X!r}")
    if frame.offset == Pose():
        return name
    return {"at": name, "offset": POSE.write(frame.offset, f"{path}.offset")}
