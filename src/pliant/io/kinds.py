"""The kinds of values in a model file: how each is read, written and described by JSON Schema.

A `Kind` reads a `Place`, noting what is wrong there, writes what it can read, and gives its JSON Schema.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .expressions import constant
from .source import FAILED, Place

__all__ = [
    "Choice",
    "Flag",
    "Kind",
    "ListOf",
    "MappingOf",
    "Name",
    "Number",
    "Numbers",
    "Reference",
    "Schema",
    "Text",
    "Whichever",
    "Whole",
    "WriteError",
    "any_of",
    "array_schema",
    "fits",
    "flat",
    "is_number",
    "nested",
    "number",
    "plain",
    "real",
    "shape_name",
    "shaped",
    "shown",
]

Schema = dict[str, Any]


class WriteError(TypeError):
    """A robot that cannot be written to a file."""


class Reference(str):
    """The name of another part of the file."""

    __slots__ = ()


class Kind(ABC):
    """A kind of value."""

    wanted: str
    neutral: Any = None
    """What leaving it out means, where that is not None."""

    @abstractmethod
    def read(self, place: Place) -> Any:
        """The value there, or `FAILED`."""

    @abstractmethod
    def write(self, value: Any, path: str) -> Any:
        """Numbers, text, lists and dictionaries that `read` reads as `value`; `path` is for messages."""

    @abstractmethod
    def schema(self, defs: Schema) -> Schema:
        """JSON Schema; what has a name goes to `defs`."""

    def inner(self) -> Iterable[Kind]:
        """The kinds that it is made of."""
        return [own for own in vars(self).values() if isinstance(own, Kind)]

    def wrong(self, place: Place) -> Any:
        """Note that the value is of another kind."""
        return place.fail(f"{shown(place.value)} is not allowed: {self.wanted} is needed.")


def shown(value: Any) -> str:
    """A value that fits into a message."""
    if isinstance(value, Mapping):
        text = "{" + ", ".join(f"{k}: …" for k in value) + "}"
    else:
        text = repr(str(value)) if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def number(value: Any) -> Any:
    """A number as it is written: whole ones without a decimal point."""
    value = float(value)
    return int(value) if value.is_integer() and abs(value) < 1e6 else value


def real(value: int | float) -> float:
    """A number as a float, infinite if it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def is_number(value: Any) -> bool:
    """Whether a value is a real number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Number(Kind):
    """A real number, or a formula without variables."""

    wanted = "a number (or a formula of numbers such as 'pi/2')"

    def read(self, place: Place) -> Any:
        if isinstance(place.value, str):
            try:
                return constant(place.value)
            except ValueError as error:
                return place.fail(f"{error} A number is needed here.")
        return real(place.value) if is_number(place.value) else self.wrong(place)

    def write(self, value: Any, path: str) -> Any:
        return number(value)

    def schema(self, defs: Schema) -> Schema:
        defs.setdefault(
            "number",
            {
                "description": "A number, or a formula of numbers such as 'pi/2'.",
                "anyOf": [{"type": "number"}, {"type": "string", "minLength": 1}],
            },
        )
        return {"$ref": "#/$defs/number"}


class Whole(Kind):
    """A whole number."""

    wanted = "a whole number"

    def read(self, place: Place) -> Any:
        return int(place.value) if is_number(place.value) and real(place.value).is_integer() else self.wrong(place)

    def write(self, value: Any, path: str) -> Any:
        return int(value)

    def schema(self, defs: Schema) -> Schema:
        return {"type": "integer"}


class Flag(Kind):
    """True or false."""

    wanted = "true or false"

    def read(self, place: Place) -> Any:
        return place.value if isinstance(place.value, bool) else self.wrong(place)

    def write(self, value: Any, path: str) -> Any:
        return bool(value)

    def schema(self, defs: Schema) -> Schema:
        return {"type": "boolean"}


class Text(Kind):
    """Text."""

    wanted = "text"

    def read(self, place: Place) -> Any:
        return str(place.value) if isinstance(place.value, str) else self.wrong(place)

    def write(self, value: Any, path: str) -> Any:
        return str(value)

    def schema(self, defs: Schema) -> Schema:
        return {"type": "string"}


class Name(Text):
    """The name of another part."""

    def __init__(self, what: str) -> None:
        self.wanted = f"the name of {what}"

    def read(self, place: Place) -> Any:
        value = super().read(place)
        return value if value is FAILED else Reference(value)


@dataclass(frozen=True)
class Choice(Kind):
    """One of a few words."""

    options: tuple[Any, ...]

    @property
    def wanted(self) -> str:  # type: ignore[override]
        """What is allowed."""
        return "one of " + ", ".join(map(str, self.options))

    def read(self, place: Place) -> Any:
        if place.value in self.options and not isinstance(place.value, bool):
            return self.options[self.options.index(place.value)]
        words = [option for option in self.options if isinstance(option, str)]
        if isinstance(place.value, str) and words:
            return place.fail(f"{shown(place.value)} is not allowed; {place.suggestion(place.value, words)}")
        return self.wrong(place)

    def write(self, value: Any, path: str) -> Any:
        if value not in self.options:
            raise WriteError(f"{path} = {value!r} cannot be written to a model file: {self.wanted} can.")
        return value

    def schema(self, defs: Schema) -> Schema:
        return {"enum": list(self.options)}


class Numbers(Kind):
    """A number, or nested lists of them (a tuple if `frozen`), of one of the given shapes (-1: any length)."""

    def __init__(self, *shapes: tuple[int, ...], frozen: bool = False) -> None:
        self.shapes, self.frozen = shapes, frozen
        self.wanted = " or ".join(shape_name(shape) for shape in shapes)

    def read(self, place: Place) -> Any:
        value = nested(place, lambda entry: Number().read(entry))
        if value is FAILED:
            return FAILED
        if not fits(np.shape(shaped(value)), self.shapes):
            return self.wrong(place)
        return tuple(value) if self.frozen and isinstance(value, list) else value

    def write(self, value: Any, path: str) -> Any:
        return plain(np.asarray(value, dtype=float).tolist())

    def schema(self, defs: Schema) -> Schema:
        return any_of([array_schema(shape, Number().schema(defs)) for shape in self.shapes])


class ListOf(Kind):
    """A list of values of one kind."""

    wanted = "a list"

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def read(self, place: Place) -> Any:
        if not place.is_list:
            return self.wrong(place)
        values = [self.kind.read(entry) for entry in place.entries()]
        return FAILED if any(value is FAILED for value in values) else values

    def write(self, value: Any, path: str) -> Any:
        return [self.kind.write(entry, f"{path}[{k}]") for k, entry in enumerate(value)]

    def schema(self, defs: Schema) -> Schema:
        return {"type": "array", "items": self.kind.schema(defs)}


class Whichever(Kind):
    """One of two kinds: the first where the value looks like it, the second otherwise.

    Parameters
    ----------
    first, second : Kind
    looks : callable
        Whether what stands at a place is to be read as the first.
    is_first : callable
        Whether a value is to be written as the first.
    wanted : str
    """

    def __init__(
        self,
        first: Kind,
        second: Kind,
        looks: Callable[[Place], bool],
        is_first: Callable[[Any], bool],
        wanted: str = "",
    ) -> None:
        self.first, self.second, self.looks, self.is_first = first, second, looks, is_first
        self.wanted = wanted or f"{first.wanted}, or {second.wanted}"

    def read(self, place: Place) -> Any:
        return (self.first if self.looks(place) else self.second).read(place)

    def write(self, value: Any, path: str) -> Any:
        return (self.first if self.is_first(value) else self.second).write(value, path)

    def schema(self, defs: Schema) -> Schema:
        return {"anyOf": [self.first.schema(defs), self.second.schema(defs)]}


class MappingOf(Kind):
    """A mapping from names to values of one kind; what is wrong is left out."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.wanted = "a mapping from names to descriptions"

    def read(self, place: Place) -> Any:
        if place.value is None:
            return {}
        if not place.is_mapping:
            return self.wrong(place)
        return {str(key): self.kind.read(child) for key, child in place.children()}

    def write(self, value: Any, path: str) -> Any:
        return {key: self.kind.write(entry, f"{path}.{key}") for key, entry in value.items()}

    def schema(self, defs: Schema) -> Schema:
        return {"type": ["object", "null"], "additionalProperties": self.kind.schema(defs)}


# ---------------------------------------------------------------- nested lists


def nested(place: Place, read: Callable[[Place], Any]) -> Any:
    """Nested lists, with each entry read by a function."""
    if not place.is_list:
        return read(place)
    values = [nested(entry, read) for entry in place.entries()]
    return FAILED if any(value is FAILED for value in values) else values


def flat(value: Any) -> list[Any]:
    """All entries of nested lists."""
    return [leaf for entry in value for leaf in flat(entry)] if isinstance(value, list) else [value]


def shaped(value: Any) -> Any:
    """The value with numbers for formulas; an array of an impossible shape if rows differ in length."""
    try:
        return np.array([[0.0]] if value == [] else _zeros(value), dtype=float)
    except ValueError:
        return np.zeros((0, 0, 0))


def _zeros(value: Any) -> Any:
    return [_zeros(entry) for entry in value] if isinstance(value, list) else 0.0


def fits(shape: tuple[int, ...], allowed: Sequence[tuple[int, ...]]) -> bool:
    """Whether a shape is one of those allowed (-1: any length)."""
    return any(len(shape) == len(a) and all(n in (-1, m) for m, n in zip(shape, a)) for a in allowed)


def shape_name(shape: tuple[int, ...]) -> str:
    """A shape in words."""
    if shape == ():
        return "a number"
    if len(shape) == 1:
        return "a list of numbers" if shape[0] < 0 else f"a list of {shape[0]} numbers"
    return f"{shape[0]} rows of {shape[1]} numbers" if shape[0] > 0 else "a square matrix"


def array_schema(shape: tuple[int, ...], entry: Schema) -> Schema:
    """JSON Schema of nested lists."""
    for n in reversed(shape):
        entry = {"type": "array", "items": entry, **({} if n < 0 else {"minItems": n, "maxItems": n})}
    return entry


def any_of(options: list[Schema]) -> Schema:
    """JSON Schema of one of several."""
    return options[0] if len(options) == 1 else {"anyOf": options}


def plain(value: Any) -> Any:
    """Nested lists of numbers and formulas as they are written."""
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return value if isinstance(value, str) else number(value)
