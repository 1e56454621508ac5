"""What a fluid does to links, in a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.fluid import CircularFlow, EllipticFlow, FlatFlow, Flow, Hydrodynamics, SphereFlow
from .functions import Function
from .kinds import Choice, Flag, Kind, Name, Number, Numbers, Schema
from .records import Record, Variants
from .source import FAILED, Place

__all__ = ["HYDRODYNAMICS", "hydrodynamics_values"]

_NUMBER, _FLAG, _SCALAR, _AXIS_YZ = Number(), Flag(), Function(), Choice(("y", "z"))

_CROSS: dict[str, Kind] = {"cx": _NUMBER, "cy": _NUMBER, "cz": _NUMBER, "by": _NUMBER, "bz": _NUMBER}
_FLOWS: dict[str, tuple[type[Flow], dict[str, Kind]]] = {
    "circular": (CircularFlow, _CROSS),
    "elliptic": (EllipticFlow, {**_CROSS, "a": _SCALAR, "b": _SCALAR}),
    "flat": (FlatFlow, {"width_axis": _AXIS_YZ, "cn": _NUMBER, "bn": _NUMBER, "width": _SCALAR}),
    "sphere": (SphereFlow, {"cd": _NUMBER, "ca": _NUMBER}),
}
_FLOW = Variants(
    "flow",
    [Record(f"{name}_flow", cls, [cls, getattr(Hydrodynamics, name)], **own) for name, (cls, own) in _FLOWS.items()],
    names={f"{name}_flow": name for name in _FLOWS},
)
_MATRIX = Function((3,), (6,), (6, 6))


class _Coefficient(Kind):
    """A matrix, its entries, formulas of them, or a flow."""

    wanted = "3, 6 or 6×6 numbers or formulas of X, or a flow such as {type: circular}"

    def read(self, place: Place) -> Any:
        return _FLOW.read(place) if place.is_mapping or isinstance(place.value, str) else _MATRIX.read(place)

    def write(self, value: Any, path: str) -> Any:
        for name, (cls, _own) in _FLOWS.items():
            if type(value) is cls:
                return _FLOW.records[name].write(value, path, {"type": name})
        return _MATRIX.write(value, path)

    def schema(self, defs: Schema) -> Schema:
        return {"anyOf": [_MATRIX.schema(defs), _FLOW.schema(defs)]}


class _Links(Kind):
    """One link or several."""

    wanted = "the name of a link, or a list of names"

    def read(self, place: Place) -> Any:
        if not place.is_list:
            value = Name("a link").read(place)
            return value if value is FAILED else [value]
        names = [Name("a link").read(entry) for entry in place.entries()]
        return FAILED if FAILED in names else names

    def write(self, value: Any, path: str) -> Any:
        return value[0] if len(value) == 1 else list(value)

    def schema(self, defs: Schema) -> Schema:
        name = {"type": "string", "minLength": 1}
        return {"anyOf": [name, {"type": "array", "items": name, "minItems": 1}]}


_COEFFICIENT = _Coefficient()
_EFFECT: dict[str, Kind] = {
    "links": _Links(),
    "drag": _COEFFICIENT,
    "linear_drag": _MATRIX,
    "added_mass": _COEFFICIENT,
    "buoyancy": _FLAG,
    "tail": _FLAG,
    "volume": _SCALAR,
    "centre": Numbers((3,)),
}


def _hydrodynamics_record(name: str, own: Mapping[str, Kind], like: Any) -> Record:
    record = Record(name, None, [like, Hydrodynamics], **own, **_EFFECT)
    record.required.add("links")
    record.notes["links"] = "The link, or the links, on which the fluid acts so."
    return record


HYDRODYNAMICS = Variants(
    "effect of the fluid",
    [
        _hydrodynamics_record("Hydrodynamics", {}, Hydrodynamics),
        *(_hydrodynamics_record(name, own, getattr(Hydrodynamics, name)) for name, (_cls, own) in _FLOWS.items()),
    ],
    default="Hydrodynamics",
)


def hydrodynamics_values(effect: Hydrodynamics) -> tuple[str, dict[str, Any]]:
    """Type and keys of an effect of the fluid."""
    values = {key: getattr(effect, key) for key in _EFFECT if key != "links"}
    for name, (cls, own) in _FLOWS.items():
        if type(effect.drag) is cls and effect.drag == effect.added_mass:
            values |= {"drag": None, "added_mass": None}
            return name, {**{key: getattr(effect.drag, key) for key in own}, **values}
        if type(effect.added_mass) is cls and effect.drag is not None:
            values["added_mass"] = None
            return name, {**{key: getattr(effect.added_mass, key) for key in own}, **values}
    return "Hydrodynamics", values
