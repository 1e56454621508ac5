"""Kinds of a model file that are mappings with fixed keys.

A record is made from a class or function: its keys are the parameters, with their defaults, their meaning is what the
docstring says, and their kinds follow from the annotations (see `derive`). Nothing is repeated here by hand.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from ..model.validate import near
from .kinds import Kind, Schema, WriteError, any_of, shown
from .source import FAILED, Place

__all__ = ["Item", "Parts", "Record", "Variants", "is_own"]

_OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_FIRST = (
    "at",
    "a",
    "b",
    "parent",
    "path",
    "rod",
    "joint",
    "terms",
    "offset",
    "offset_after",
)  # where a part is; written first


@dataclass(frozen=True)
class Item:
    """A part that the builder will add: where it stands, its record, and its arguments."""

    place: Place
    record: Record
    values: dict[str, Any]

    @property
    def type(self) -> str:
        """Name of its record."""
        return self.record.name


class Record(Kind):
    """A mapping with fixed keys.

    Parameters
    ----------
    name : str
        In messages and in JSON Schema.
    sources : callable or sequence of callables
        The parameters of the first are the keys; those of the others too, if the first takes ``**more``. The docstrings of all
        say what the keys mean.
    make : callable or None
        Called with the keys as arguments; the first source if left out. None: an `Item` for the builder.
    without : mapping
        Parameters that are no keys, each with the reason, which is shown to who writes them nevertheless; further ones are in
        the table of kinds.
    aliases : mapping
        What people write → the key that they mean, for messages.
    values : callable, optional
        What makes a mapping of the keys from an object that is to be written; its attributes if left out.
    part : type, optional
        Class of the objects that it is for; the first source if that is a class.

    Raises
    ------
    TypeError
        When it is first used, if the kind of a parameter does not follow from its annotation.
    """

    def __init__(
        self,
        name: str,
        sources: Any,
        /,
        *,
        make: Callable[..., Any] | str | None = "first",
        without: Mapping[str, str] | None = None,
        aliases: Mapping[str, str] | None = None,
        values: Callable[[Any], Mapping[str, Any]] | None = None,
        part: type | None = None,
    ) -> None:
        self.name = name
        self.sources = list(sources) if isinstance(sources, (list, tuple)) else [sources]
        self.make = self.sources[0] if make == "first" else make
        self.part = part or (self.sources[0] if inspect.isclass(self.sources[0]) else None)
        self.aliases = dict(aliases or {})
        self.values = values
        self._without = dict(without or {})

    @cached_property
    def _parameters(self) -> dict[str, tuple[Any, inspect.Parameter]]:
        """Parameters with the sources whose they are."""
        found: dict[str, tuple[Any, inspect.Parameter]] = {}
        for source in self.sources:
            own = inspect.signature(source).parameters
            for name, parameter in own.items():
                if parameter.kind not in _OPEN and name != "self" and not (name == "name" and self.make is None):
                    found.setdefault(name, (source, parameter))
            if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in own.values()):
                break
        return found

    @cached_property
    def _kinds(self) -> dict[str, Kind | str]:
        """Of each parameter its kind, or the reason why it is no key."""
        from .derive import kind_of  # the table of kinds holds records itself

        order = sorted(self._parameters, key=lambda key: _FIRST.index(key) if key in _FIRST else len(_FIRST))
        return {key: self._without.get(key) or kind_of(self._parameters[key][0], key) for key in order}

    @cached_property
    def fields(self) -> dict[str, Kind]:
        """Kinds of the keys."""
        return {key: kind for key, kind in self._kinds.items() if isinstance(kind, Kind)}

    @cached_property
    def reason(self) -> str | None:
        """Why there can be no such record; None if there can."""
        try:
            self._kinds  # noqa: B018
        except TypeError as error:
            return str(error)
        return None

    @cached_property
    def without(self) -> dict[str, str]:
        """Parameters that are no keys, with the reason."""
        return {key: reason for key, reason in self._kinds.items() if isinstance(reason, str)}

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Of the keys that need not be given."""
        found = {key: self._parameters[key][1].default for key in self.fields}
        return {key: default for key, default in found.items() if default is not inspect.Parameter.empty}

    @property
    def required(self) -> set[str]:
        """The keys that must be given."""
        return set(self.fields) - set(self.defaults)

    @cached_property
    def docs(self) -> dict[str, str]:
        """What each key means."""
        out: dict[str, str] = {}
        bases = [source.__mro__ if inspect.isclass(source) else [source] for source in self.sources]
        for source in chain.from_iterable(bases):
            for key, text in _parameter_docs(source).items():
                if key not in out or out[key].startswith("See "):
                    out[key] = text
        return out

    @property
    def wanted(self) -> str:  # type: ignore[override]
        """What is allowed."""
        return "a mapping with the keys " + ", ".join(self.fields)

    def inner(self) -> Iterable[Kind]:
        return self.fields.values()

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
                if key in self.without:
                    child.fail(f"{str(key)!r} is not allowed here: {self.without[key]}", at_key=True)
                else:
                    known = place.suggestion(str(key), self.fields, self.aliases)
                    child.fail(f"unknown key {str(key)!r}; {known}", at_key=True)
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
        if not callable(self.make):
            return Item(place, self, values)
        try:
            return self.make(**values)
        except (TypeError, ValueError, KeyError) as error:
            place.blame(str(error.args[0]) if error.args else str(error))
            return FAILED

    def write(self, value: Any, path: str, tag: Mapping[str, Any] | None = None) -> Any:
        out = dict(tag or {})
        value = value if self.values is None or isinstance(value, Mapping) else self.values(value)
        for key, kind in self.fields.items():
            entry = value.get(key) if isinstance(value, Mapping) else getattr(value, key)
            if entry is None or (key in self.defaults and _same(entry, self.defaults[key], kind)):
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
                if key not in self.required:
                    own = any_of([*own.get("anyOf", [own]), {"type": "null"}])  # as if it were left out
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

    A record without needed keys may be given by its name alone. `default` is taken where the type is left out. The records of
    `more` are allowed too.
    """

    def __init__(
        self, what: str, records: Sequence[Record] = (), *, default: str | None = None, more: Variants | None = None
    ) -> None:
        self.what, self.default, self.more = what, default, more
        self._records = {record.name: record for record in records}

    @property
    def records(self) -> dict[str, Record]:
        """The records by their type."""
        return self._records if self.more is None else {**self.more.records, **self._records}

    def inner(self) -> Iterable[Kind]:
        return self.records.values()

    @property
    def wanted(self) -> str:  # type: ignore[override]
        """What is allowed."""
        return f"{self.what}: a mapping with type: {' | '.join(self.records)}"

    def read(self, place: Place) -> Any:
        records = self.records
        if isinstance(place.value, str):
            record = records.get(place.value)
            if record is None:
                return place.fail(f"{shown(place.value)} is no {self.what}; {place.suggestion(place.value, records)}")
            return record.read(Place({}, place.document, place.path, place.line, place.column, place.key_position))
        if not place.is_mapping:
            return self.wrong(place)
        kind = place.value.get("type", self.default)
        if kind is None:
            for key in near("type", [k for k in place.value if isinstance(k, str)], count=1, cutoff=0.6):
                return place.child(key).fail(f"unknown key {key!r}; did you mean 'type'?", at_key=True)
            message = f"'type' is missing: say which {self.what} it is; allowed: {', '.join(records)}."
            return place.fail(message, at_key=True)
        if not isinstance(kind, str) or kind not in records:
            return place.child("type").fail(f"{shown(kind)} is no {self.what}; {place.suggestion(str(kind), records)}")
        return records[kind].read(place, "type")

    def write(self, value: Any, path: str) -> Any:
        kind = next((kind for kind, record in self.records.items() if record.part is type(value)), None)
        if kind is None:
            raise WriteError(
                f"{path} = {value!r} cannot be written to a model file: it is none of {', '.join(self.records)}."
            )
        written = self.write_as(kind, value, path)
        return kind if list(written) == ["type"] else written

    def write_as(self, kind: str, value: Any, path: str) -> dict[str, Any]:
        """Write an object, or a mapping of keys, as a record of this type."""
        return self.records[kind].write(value, path, None if kind == self.default else {"type": kind})

    def schema(self, defs: Schema) -> Schema:
        records = self.records.items()
        options = [record.schema(defs, ("type", name, name != self.default)) for name, record in records]
        alone = [name for name, record in records if not record.required]
        if alone:
            options.append({"enum": alone})
        return any_of(options)


class Parts(Variants):
    """One of the parts of a family: any class that is derived from a base and has a public name, also those of users.

    Parameters
    ----------
    base : type
    what : str, optional
        What it is called; the name of the base if left out.
    only : callable, optional
        Whether a class is allowed here.
    named : callable
        The type in the file of a class; its name if left out.
    form : callable
        Arguments of the `Record` of a class, where it is not made from the class alone.
    neutral : optional
        The part that is meant where it may be left out.
    """

    def __init__(
        self,
        base: type,
        *,
        what: str | None = None,
        only: Callable[[type], bool] = lambda cls: True,
        named: Callable[[type], str] = lambda cls: cls.__name__,
        form: Callable[[type], dict[str, Any]] = lambda cls: {},
        neutral: Any = None,
    ) -> None:
        super().__init__(what or base.__name__.lower())
        self.base, self.only, self.named, self.form = base, only, named, form
        self.neutral = neutral
        self._made: dict[type, Record] = {}

    @property
    def records(self) -> dict[str, Record]:
        """The records by their type; where names are the same, pliant's own class is meant."""
        classes = [cls for cls in _below(self.base) if self.only(cls)]
        meant = {self.named(cls): cls for cls in sorted(classes, key=is_own)}
        records = {self.named(cls): self._record(cls) for cls in classes if meant[self.named(cls)] is cls}
        return {name: record for name, record in records.items() if record is not None}

    def _record(self, cls: type) -> Record | None:
        """The record of a class; None for one of a user with something that cannot be in a file."""
        if cls not in self._made:
            name = cls.__name__ if is_own(cls) else f"{self.base.__name__}_{cls.__name__}"
            form = {"sources": cls, "part": cls, **self.form(cls)}
            self._made[cls] = Record(name, form.pop("sources"), **form)
        record = self._made[cls]
        return record if is_own(cls) or record.reason is None else None

    def write(self, value: Any, path: str) -> Any:
        if isinstance(value, self.base) and (reason := self.why_not(type(value))):
            raise WriteError(f"{path} = {value!r} cannot be written to a model file: {reason}")
        return super().write(value, path)

    def why_not(self, cls: type) -> str | None:
        """Why a class that is derived from the base cannot be in a file; None if it can."""
        return None if self._record(cls) is not None else self._made[cls].reason


def is_own(source: Any) -> bool:
    """Whether a class or function is pliant's, not a user's."""
    return source.__module__.partition(".")[0] == __name__.partition(".")[0]


def _below(base: type) -> Iterator[type]:
    """All classes derived from a base that can be made, in the order of their definition."""
    below: list[type] = base.__subclasses__()
    for cls in below:
        if not cls.__name__.startswith("_") and not inspect.isabstract(cls):
            yield cls
        yield from _below(cls)


def _parameter_docs(source: Any) -> dict[str, str]:
    """What a numpydoc docstring says about each parameter."""
    text = inspect.getdoc(source) or ""
    match = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", text, re.S | re.M)
    out: dict[str, str] = {}
    names: list[str] = []
    for line in match.group(1).splitlines() if match else ():
        if line and not line.startswith(" "):
            names = [name.strip("* ") for name in line.partition(" : ")[0].split(",")]
        elif line.strip():
            for name in names:
                out[name] = f"{out.get(name, '')} {line.strip()}".strip()
    return out


def _same(a: Any, b: Any, kind: Kind) -> bool:
    """Whether a value is the default, whatever its type."""
    if a is b or (b is None and kind.neutral is not None and a == kind.neutral):
        return True
    if isinstance(a, str) or isinstance(b, str) or callable(a) or callable(b) or a is None or b is None:
        return bool(type(a) is type(b) and a == b)
    try:
        return bool(np.array_equal(np.asarray(a, dtype=float), np.asarray(b, dtype=float)))
    except (TypeError, ValueError):
        return False
