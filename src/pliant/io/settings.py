"""The sections ``simulation`` and ``statics`` of a model file: the arguments of `simulate` and `solve_statics`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.pose import Pose, rotate
from ..model.signal import Signal
from ..model.validate import text
from ..solve.motion import Motion
from ..solve.simulate import simulate
from ..solve.statics import solve_statics
from .expressions import Expression
from .functions import Function
from .kinds import Kind, MappingOf, Numbers, Schema, Whichever, WriteError
from .places import AXIS, POSE
from .records import Record
from .source import FAILED, Place
from .state_formulas import EventFormula, StateFormula, is_state_formula

__all__ = [
    "ANY_OF_TIME",
    "FEEDBACK",
    "MOTIONS",
    "SIMULATION",
    "STATICS",
    "VALUE",
    "Events",
    "Inputs",
    "PoseFormula",
    "State",
]

_OF_TIME = Function(variable="t")
ANY_OF_TIME = Function((), (-1,), (-1, -1), variable="t")
_ZERO = Expression(0.0)


@dataclass(frozen=True)
class PoseFormula:
    """A pose that moves: a translation and a turn about an axis, both formulas of t.

    Parameters
    ----------
    translation : Expression or Signal
        Three formulas [m].
    axis : str or tuple
        Axis of the turn.
    angle : Expression or Signal
        [rad].
    """

    translation: Expression | Signal
    axis: Any = "z"
    angle: Expression | Signal = _ZERO

    def __call__(self, t: float) -> NDArray[np.float64]:
        """The pose at t as a 4×4 matrix."""
        return Pose(self.translation(t), rotate(self.axis, self.angle(t)).rotation).matrix


class _PoseFormulaKind(Kind):
    """A translation and a turn, as formulas of t."""

    wanted = "a mapping such as {translation: ['0.1*sin(t)', 0, 0], rotate: [z, '0.5*t']}"
    _vector = Function((3,), variable="t")

    def read(self, place: Place) -> Any:
        if not place.is_mapping or not set(place.value) <= {"translation", "rotate"}:
            return self.wrong(place)
        moved = self._vector.read(place.child("translation")) if "translation" in place.value else [0.0, 0.0, 0.0]
        axis, angle = "z", 0.0
        if "rotate" in place.value:
            turn = place.child("rotate")
            if not turn.is_list or len(turn.value) != 2:
                return turn.fail("an axis and an angle are needed, such as [z, '0.5*t'].")
            axis, angle = AXIS.read(turn.entries()[0]), _OF_TIME.read(turn.entries()[1])
        if any(value is FAILED for value in (moved, axis, angle)):
            return FAILED
        return PoseFormula(_formula(moved), axis, _formula(angle))

    def write(self, value: PoseFormula, path: str) -> Any:
        turn = [AXIS.write(value.axis, path), _OF_TIME.write(value.angle, path)]
        return {"translation": self._vector.write(value.translation, path), "rotate": turn}

    def schema(self, defs: Schema) -> Schema:
        turn = {
            "type": "array",
            "prefixItems": [AXIS.schema(defs), _OF_TIME.schema(defs)],
            "minItems": 2,
            "maxItems": 2,
        }
        properties = {"translation": self._vector.schema(defs), "rotate": turn}
        defs["PoseFormula"] = {"type": "object", "properties": properties, "additionalProperties": False}
        return {"$ref": "#/$defs/PoseFormula"}


def _formula(value: Any) -> Expression | Signal:
    return value if isinstance(value, (Expression, Signal)) else Expression(value)


_POSE_FORMULA = _PoseFormulaKind()


def _is_signal(place: Place) -> bool:
    """Whether a mapping looks like a signal."""
    return place.is_mapping and bool({"t", "values"} & set(place.value))


VALUE = Whichever(
    _POSE_FORMULA,
    ANY_OF_TIME,
    lambda place: place.is_mapping and not _is_signal(place),
    lambda value: isinstance(value, PoseFormula),
    f"numbers, formulas of t, or a moving pose {_POSE_FORMULA.wanted}",
)


def _motion(**formulas: Any) -> Motion:
    return Motion(**{key: value if callable(value) else Expression(value) for key, value in formulas.items()})


def _motion_values(motion: Any) -> dict[str, Any]:
    return {"position": motion} if isinstance(motion, PoseFormula) else vars(motion)


_MOTION = Whichever(
    Record("Motion", Motion, make=_motion, values=_motion_values),
    ANY_OF_TIME,
    lambda place: place.is_mapping and not _is_signal(place),
    lambda value: isinstance(value, (Motion, PoseFormula)),
    "a number, a formula of t, a list of them, a signal {t: […], values: […]}, or a mapping with position, velocity and acceleration",
)


def _is_pose(place: Place) -> bool:
    """Whether a value is a pose that is more than a position."""
    return place.is_mapping or (place.is_list and any(not isinstance(x, (int, float, str)) for x in place.value))


class State(Kind):
    """Coordinates: words, a list, or by link: numbers, and poses where there are words."""

    def __init__(self, *words: str) -> None:
        self.words = words
        named = "".join(f"{word}, " for word in words)
        numbers = Numbers((), (-1,))
        poses = Whichever(POSE, numbers, _is_pose, lambda value: isinstance(value, Pose))
        theirs = "their coordinates or poses" if words else "theirs"
        self.wanted = f"{named}a list of all coordinates, or a mapping from links to {theirs}"
        self._by_link = MappingOf(poses if words else numbers)

    def read(self, place: Place) -> Any:
        if isinstance(place.value, str):
            return str(place.value) if place.value in self.words else self.wrong(place)
        if place.is_mapping:
            given = self._by_link.read(place)
            return FAILED if any(value is FAILED for value in given.values()) else given
        return Numbers((-1,)).read(place) if place.is_list else self.wrong(place)

    def write(self, value: Any, path: str) -> Any:
        if isinstance(value, str):
            return value
        return self._by_link.write(value, path) if isinstance(value, dict) else Numbers((-1,)).write(value, path)

    def schema(self, defs: Schema) -> Schema:
        words = [{"enum": list(self.words)}] if self.words else []
        return {"anyOf": [*words, Numbers((-1,)).schema(defs), self._by_link.schema(defs)]}


class _StateFormulaKind(Kind):
    """A formula of the state."""

    wanted = "a formula of t and the state, such as 5 - 2*v('elbow.angle')"

    def read(self, place: Place) -> Any:
        try:
            return StateFormula(str(place.value))
        except ValueError as error:
            return place.fail(str(error))

    def write(self, value: StateFormula, path: str) -> Any:
        return value.source

    def schema(self, defs: Schema) -> Schema:
        return {"type": "string", "minLength": 1}


_OF_STATE = _StateFormulaKind()
FEEDBACK = Whichever(
    _OF_STATE,
    _OF_TIME,
    lambda place: is_state_formula(place.value),
    lambda value: isinstance(value, StateFormula),
    f"{_OF_TIME.wanted}, or {_OF_STATE.wanted}",
)


class _Event(Kind):
    """A formula whose roots are events, alone or with what happens there."""

    wanted = "a formula of the state such as z('arm.tip') + 0.1, or {formula: …, terminal: true, direction: -1}"
    record = Record("Event", EventFormula)

    def inner(self) -> Iterable[Kind]:
        return [self.record]

    def read(self, place: Place) -> Any:
        if place.is_mapping:
            return self.record.read(place)
        if not isinstance(place.value, str):
            return self.wrong(place)
        try:
            return EventFormula(str(place.value))
        except ValueError as error:
            return place.fail(str(error))

    def write(self, value: Any, path: str) -> Any:
        if not isinstance(value, EventFormula):
            raise WriteError(
                f"{path} is a Python function, which cannot be written to a model file. Give a pl.io.EventFormula."
            )
        return self.record.write(value, path)

    def schema(self, defs: Schema) -> Schema:
        return {"anyOf": [{"type": "string", "minLength": 1}, self.record.schema(defs)]}


class Events(MappingOf):
    """Events by name."""

    def __init__(self) -> None:
        super().__init__(_Event())
        self.wanted = "a mapping from names to formulas of the state"

    def read(self, place: Place) -> Any:
        for name, child in place.children() if place.is_mapping else ():
            try:
                text("the name of an event", name)
            except (TypeError, ValueError) as error:
                child.fail(str(error), at_key=True)
        return super().read(place)

    def write(self, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise WriteError(
                f"{path} are Python functions, which cannot be written to a model file. Give pl.io.EventFormula by name."
            )
        return super().write(value, path)


class Inputs(MappingOf):
    """Inputs by name."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self.wanted = "a mapping from inputs to their values"

    def write(self, value: Any, path: str) -> Any:
        if callable(value):
            raise WriteError(
                f"{path} is a Python function, which cannot be written to a model file. Give a formula for each name, such as "
                "{'cable': pl.Expression('5*t')}."
            )
        if not isinstance(value, dict):
            raise WriteError(f"{path} = {value!r} must be a dictionary by name to be written to a model file.")
        return super().write(value, path)


MOTIONS = Inputs(_MOTION)
_ALIASES = {"inputs": "u", "input": "u", "motions": "motion"}
SIMULATION = Record(
    "simulation",
    simulate,
    make=dict,
    aliases={**_ALIASES, "time": "duration", "dt": "step", "tolerance": "rtol"},
)
STATICS = Record("statics", solve_statics, make=dict, aliases=_ALIASES)
