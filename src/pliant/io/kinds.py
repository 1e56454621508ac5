"""The kinds of values in a model file: how each is read, written and described by JSON Schema.

A `Kind` reads a `Place`, noting what is wrong there, writes what it can read, and gives its JSON Schema. Records take the
names of their keys, which of them are needed, and what they mean, from the signature and docstring of what they make.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model.routing import Table
from .expressions import Expression, constant
from .source import FAILED, Place, suggestion

__all__ = [
    "TABLE",
    "Choice",
    "Flag",
    "Function",
    "Item",
    "Kind",
    "ListOf",
    "MappingOf",
    "Name",
    "Number",
    "Numbers",
    "Record",
    "Reference",
    "Text",
    "Variants",
    "Whole",
    "WriteError",
    "function_error",
    "number",
    "parameter_docs",
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

    @abstractmethod
    def read(self, place: Place) -> Any:
        """The value there, or `FAILED`."""

    @abstractmethod
    def write(self, value: Any, path: str) -> Any:
        """Numbers, text, lists and dictionaries that `read` reads as `value`; `path` is for messages."""

    @abstractmethod
    def schema(self, defs: Schema) -> Schema:
        """JSON Schema; what has a name goes to `defs`."""

    def wrong(self, place: Place) -> Any:
        """Note that the value is of another kind."""
        return place.fail(f"{_shown(place.value)} is not allowed: {self.wanted} is needed.")


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        text = "{" + ", ".join(f"{k}: …" for k in value) + "}"
    else:
        text = repr(str(value)) if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def number(value: Any) -> Any:
    """A number as it is written: whole ones without a decimal point."""
    value = float(value)
    return int(value) if value.is_integer() and abs(value) < 1e6 else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def function_error(path: str, shape: bool = False) -> WriteError:
    """The error for a Python function in a robot that is to be written."""
    table = "" if shape else ", or a pl.Table of values"
    return WriteError(
        f"{path} is a Python function, which cannot be written to a model file. Give a formula instead, such as "
        f"pl.Expression({'[0, ' + chr(39) + '2*X' + chr(39) + ', 0]' if shape else chr(39) + '0.02*(1 - X/2)' + chr(39)})"
        f"{table}."
    )


class Number(Kind):
    """A real number, or a formula without variables."""

    wanted = "a number (or a formula of numbers such as 'pi/2')"

    def read(self, place: Place) -> Any:
        if isinstance(place.value, str):
            try:
                return constant(place.value)
            except ValueError as error:
                return place.fail(f"{_shown(place.value)} is not a number: {error}")
        return float(place.value) if _is_number(place.value) else self.wrong(place)

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
        return int(place.value) if _is_number(place.value) and float(place.value).is_integer() else self.wrong(place)

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
            return place.fail(f"{_shown(place.value)} is not allowed; {suggestion(place.value, words)}")
        return self.wrong(place)

    def write(self, value: Any, path: str) -> Any:
        return value

    def schema(self, defs: Schema) -> Schema:
        return {"enum": list(self.options)}


class Numbers(Kind):
    """A number, or nested lists of them, of one of the given shapes (-1: any length)."""

    def __init__(self, *shapes: tuple[int, ...]) -> None:
        self.shapes = shapes
        self.wanted = " or ".join(_shape_name(shape) for shape in shapes)

    def read(self, place: Place) -> Any:
        value = _nested(place, lambda entry: Number().read(entry))
        if value is FAILED:
            return FAILED
        if not _fits(np.shape(_ragged(value)), self.shapes):
            return self.wrong(place)
        return value

    def write(self, value: Any, path: str) -> Any:
        return _plain(np.asarray(value, dtype=float).tolist())

    def schema(self, defs: Schema) -> Schema:
        return _any_of([_array_schema(shape, Number().schema(defs)) for shape in self.shapes])


class Function(Kind):
    """A function of one variable: a number, a formula, for scalars a taper or table, for others lists of formulas."""

    def __init__(self, *shapes: tuple[int, ...], variable: str = "X") -> None:
        self.shapes = shapes or ((),)
        self.variable = variable
        self.tabled = () in self.shapes and variable == "X"
        forms = [f"a number, a formula of {variable}" if shape == () else _shape_name(shape) for shape in self.shapes]
        if self.tabled:
            forms[0] = "a number, a pair [at X=0, at X=1], a formula of X or a table {X: […], values: […]}"
        self.wanted = " or ".join(forms)

    def read(self, place: Place) -> Any:
        if place.is_mapping and self.tabled:
            return TABLE.read(place)
        value = _nested(place, self._entry)
        if value is FAILED:
            return FAILED
        shape = np.shape(_ragged(value))
        if self.tabled and shape == (2,) and all(isinstance(v, float) for v in value):
            return tuple(value)
        if not _fits(shape, self.shapes):
            return self.wrong(place)
        if any(isinstance(v, str) for v in _flat(value)):
            return Expression(value)
        return value

    def _entry(self, place: Place) -> Any:
        """A number, or the checked text of a formula."""
        if not isinstance(place.value, str):
            return float(place.value) if _is_number(place.value) else self.wrong(place)
        try:
            expression = Expression(str(place.value))
            if expression.variable is None:
                return float(expression(0.0))
        except ValueError as error:
            return place.fail(str(error))
        if expression.variable != self.variable:
            return place.fail(
                f"{_shown(place.value)} depends on {expression.variable}, but here the variable is {self.variable}."
            )
        return str(place.value)

    def write(self, value: Any, path: str) -> Any:
        if isinstance(value, Expression):
            if value.variable not in (None, self.variable):
                raise WriteError(
                    f"{path} = {value!r} depends on {value.variable}, but must be a function of {self.variable}."
                )
            return _plain(value.plain())
        if isinstance(value, Table):
            return TABLE.write(value, path)
        if callable(value):
            raise function_error(path, () not in self.shapes)
        return _plain(np.asarray(value, dtype=float).tolist())

    def schema(self, defs: Schema) -> Schema:
        entry = {"anyOf": [{"type": "number"}, {"type": "string", "minLength": 1}]}
        name = f"formula_of_{self.variable}"
        defs.setdefault(name, {"description": f"A number, or a formula of {self.variable}.", **entry})
        reference = {"$ref": f"#/$defs/{name}"}
        options = [_array_schema(shape, reference) for shape in self.shapes]
        if self.tabled:
            options += [_array_schema((2,), Number().schema(defs)), TABLE.schema(defs)]
        return _any_of(options)


class ListOf(Kind):
    """A list of values of one kind; a single one may stand for itself."""

    def __init__(self, kind: Kind, *, single: bool = False) -> None:
        self.kind, self.single = kind, single
        self.wanted = "a list"

    def read(self, place: Place) -> Any:
        if not place.is_list:
            return self.kind.read(place) if self.single else self.wrong(place)
        values = [self.kind.read(entry) for entry in place.entries()]
        return FAILED if any(value is FAILED for value in values) else values

    def write(self, value: Any, path: str) -> Any:
        if self.single and not isinstance(value, (list, tuple)):
            return self.kind.write(value, path)
        return [self.kind.write(entry, f"{path}[{k}]") for k, entry in enumerate(value)]

    def schema(self, defs: Schema) -> Schema:
        entry = self.kind.schema(defs)
        listed = {"type": "array", "items": entry}
        return _any_of([entry, listed]) if self.single else listed


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


@dataclass(frozen=True)
class Item:
    """A part that the builder will add: where it stands, its type, and its arguments."""

    place: Place
    type: str
    values: dict[str, Any]


class Record(Kind):
    """A mapping with fixed keys.

    Parameters
    ----------
    name : str
        In messages and in JSON Schema.
    make : callable or None
        Called with the keys as arguments. None: an `Item` for the builder.
    like : callable or sequence of callables
        From whose signatures (the first) and docstrings the needed keys and their meaning are taken; `make` if left out.
    fields : kinds of the keys
    """

    def __init__(self, name: str, make: Callable[..., Any] | None, like: Any = None, /, **fields: Kind) -> None:
        self.name, self.make, self.fields = name, make, fields
        sources = list(like) if isinstance(like, (list, tuple)) else [like if like is not None else make]
        parameters = inspect.signature(sources[0]).parameters if sources[0] is not None else {}
        self.required = {
            key for key in fields if key in parameters and parameters[key].default is inspect.Parameter.empty
        }
        self.defaults = {
            key: parameters[key].default for key in fields if key in parameters and key not in self.required
        }
        self.docs: dict[str, str] = {}
        for source in sources:
            self.docs.update(
                {
                    k: v
                    for k, v in parameter_docs(source).items()
                    if k not in self.docs or self.docs[k].startswith("See ")
                }
            )
        self.aliases: dict[str, str] = {}
        self.wanted = "a mapping with the keys " + ", ".join(fields)

    def read_keys(self, place: Place, tag: str | None = None) -> tuple[dict[str, Any], bool]:
        """What was read of each key, and whether nothing was wrong."""
        if not place.is_mapping:
            self.wrong(place)
            return {}, False
        values: dict[str, Any] = {}
        good = True
        for key, child in place.children():
            if key == tag:
                continue
            if key not in self.fields:
                child.fail(f"unknown key {str(key)!r}; {suggestion(str(key), self.fields, self.aliases)}", at_key=True)
                good = False
                continue
            if child.value is None and key not in self.required:
                continue
            values[str(key)] = self.fields[key].read(child)
            good &= values[str(key)] is not FAILED
        for key in self.fields:
            if key in self.required and key not in place.value:
                doc = f" ({self.docs[key].rstrip('.')})" if key in self.docs else ""
                place.fail(f"{key!r} is missing{doc}.", at_key=True)
                good = False
        return values, good

    def read(self, place: Place, tag: str | None = None) -> Any:
        values, good = self.read_keys(place, tag)
        if not good:
            return FAILED
        if self.make is None:
            return Item(place, self.name, values)
        try:
            return self.make(**values)
        except (TypeError, ValueError, KeyError) as error:
            place.blame(str(error.args[0]) if error.args else str(error))
            return FAILED

    def write(self, value: Any, path: str, tag: Mapping[str, Any] | None = None) -> Any:
        out = dict(tag or {})
        for key, kind in self.fields.items():
            entry = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
            if entry is None or (key in self.defaults and _same(entry, self.defaults[key])):
                continue
            out[key] = kind.write(entry, f"{path}.{key}")
        return out

    def schema(self, defs: Schema, tag: tuple[str, str, bool] | None = None) -> Schema:
        """As an object; `tag` is a further key, its only value, and whether it is needed."""
        if self.name not in defs:
            defs[self.name] = {}  # against endless recursion
            properties = {}
            for key, kind in self.fields.items():
                own = kind.schema(defs)
                properties[key] = {"description": self.docs[key], **own} if key in self.docs else own
            required = [key for key in self.fields if key in self.required]
            if tag is not None:
                properties = {tag[0]: {"const": tag[1]}, **properties}
                required = [tag[0], *required] if tag[2] else required
            defs[self.name] = {"type": "object", "properties": properties, "additionalProperties": False}
            if required:
                defs[self.name]["required"] = required
        return {"$ref": f"#/$defs/{self.name}"}


class Variants(Kind):
    """One of several records, told apart by the key ``type``.

    A record without needed keys may be given by its name alone. `default` is taken where the type is left out.
    """

    def __init__(
        self,
        what: str,
        records: Sequence[Record],
        *,
        default: str | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self.what, self.default = what, default
        short = names or {}
        self.records = {short.get(record.name, record.name): record for record in records}
        self.wanted = f"{what}: a mapping with type: {' | '.join(self.records)}"

    def read(self, place: Place) -> Any:
        names = list(self.records)
        if isinstance(place.value, str):
            record = self.records.get(place.value)
            if record is None:
                return place.fail(f"{_shown(place.value)} is no {self.what}; {suggestion(place.value, names)}")
            return record.read(Place({}, place.document, place.path, place.line, place.column, place.key_position))
        if not place.is_mapping:
            return self.wrong(place)
        kind = place.value.get("type", self.default)
        if kind is None:
            return place.fail(
                f"'type' is missing: say which {self.what} it is; allowed: {', '.join(names)}.", at_key=True
            )
        if not isinstance(kind, str) or kind not in self.records:
            return place.child("type").fail(f"{_shown(kind)} is no {self.what}; {suggestion(str(kind), names)}")
        return self.records[kind].read(place, "type")

    def write(self, value: Any, path: str) -> Any:
        kind = value.type if isinstance(value, Item) else type(value).__name__
        if kind not in self.records:
            raise WriteError(
                f"{path} = {value!r} cannot be written to a model file: it is none of {', '.join(self.records)}."
            )
        content = value.values if isinstance(value, Item) else value
        written = self.records[kind].write(content, path, None if kind == self.default else {"type": kind})
        return kind if list(written) == ["type"] and not isinstance(value, Item) else written

    def schema(self, defs: Schema) -> Schema:
        options = [record.schema(defs, ("type", name, name != self.default)) for name, record in self.records.items()]
        alone = [name for name, record in self.records.items() if not record.required]
        if alone:
            options.append({"enum": alone})
        return _any_of(options)


def parameter_docs(source: Any) -> dict[str, str]:
    """What a numpydoc docstring says about each parameter."""
    text = inspect.getdoc(source) or ""
    match = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", text, re.S | re.M)
    out: dict[str, str] = {}
    names: list[str] = []
    for line in match.group(1).splitlines() if match else ():
        if line and not line.startswith(" "):
            head, colon, kind = line.partition(" : ")
            names = [name.strip("* ") for name in head.split(",")]
            out.update(dict.fromkeys(names, f"{kind.strip()}." if colon else ""))
        elif line.strip():
            for name in names:
                out[name] = f"{out.get(name, '')} {line.strip()}".strip()
    return out


# ---------------------------------------------------------------- nested lists


def _nested(place: Place, read: Callable[[Place], Any]) -> Any:
    if not place.is_list:
        return read(place)
    values = [_nested(entry, read) for entry in place.entries()]
    return FAILED if any(value is FAILED for value in values) else values


def _flat(value: Any) -> list[Any]:
    return [leaf for entry in value for leaf in _flat(entry)] if isinstance(value, list) else [value]


def _ragged(value: Any) -> Any:
    """The value with numbers for formulas; an array of an impossible shape if rows differ in length."""
    try:
        return np.array([[0.0]] if value == [] else _zeros(value), dtype=float)
    except ValueError:
        return np.zeros((0, 0, 0))


def _zeros(value: Any) -> Any:
    return [_zeros(entry) for entry in value] if isinstance(value, list) else 0.0


def _fits(shape: tuple[int, ...], allowed: Sequence[tuple[int, ...]]) -> bool:
    return any(len(shape) == len(a) and all(n in (-1, m) for m, n in zip(shape, a)) for a in allowed)


def _shape_name(shape: tuple[int, ...]) -> str:
    if shape == ():
        return "a number"
    if len(shape) == 1:
        return "a list of numbers" if shape[0] < 0 else f"a list of {shape[0]} numbers"
    return f"{shape[0]} rows of {shape[1]} numbers" if shape[0] > 0 else "a square matrix"


def _array_schema(shape: tuple[int, ...], entry: Schema) -> Schema:
    for n in reversed(shape):
        entry = {"type": "array", "items": entry, **({} if n < 0 else {"minItems": n, "maxItems": n})}
    return entry


def _any_of(options: list[Schema]) -> Schema:
    return options[0] if len(options) == 1 else {"anyOf": options}


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value if isinstance(value, str) else number(value)


def _same(a: Any, b: Any) -> bool:
    """Whether a value is the default, whatever its type."""
    if a is b:
        return True
    if isinstance(a, str) or isinstance(b, str) or callable(a) or callable(b) or a is None or b is None:
        return bool(type(a) is type(b) and a == b)
    try:
        return bool(np.array_equal(np.asarray(a, dtype=float), np.asarray(b, dtype=float)))
    except (TypeError, ValueError):
        return False


TABLE = Record("Table", Table, X=Numbers((-1,)), values=Numbers((-1,)), kind=Choice(("cubic", "linear")))
