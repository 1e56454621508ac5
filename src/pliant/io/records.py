"""Kinds of a model file that are mappings with fixed keys.

Records take the names of their keys, which of them are needed, and what they mean, from the signature and docstring of
what they make.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .kinds import Kind, Schema, WriteError, any_of, shown
from .source import FAILED, Place, suggestion

__all__ = ["Item", "Record", "Variants", "parameter_docs"]


_OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


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
    without : mapping
        Parameters of `like` that are no keys, each with the reason, which is shown to who writes them nevertheless.
    fields : kinds of the keys

    Raises
    ------
    TypeError
        If a parameter of `like` is neither a key nor in `without`: it could be given in Python but not in a file.
    """

    def __init__(
        self,
        name: str,
        make: Callable[..., Any] | None,
        like: Any = None,
        without: Mapping[str, str] | None = None,
        /,
        **fields: Kind,
    ) -> None:
        self.name, self.make, self.fields, self.without = name, make, fields, dict(without or {})
        sources = list(like) if isinstance(like, (list, tuple)) else [like if like is not None else make]
        parameters = inspect.signature(sources[0]).parameters if sources[0] is not None else {}
        self.required = {
            key for key in fields if key in parameters and parameters[key].default is inspect.Parameter.empty
        }
        self.defaults = {
            key: parameters[key].default for key in fields if key in parameters and key not in self.required
        }
        forgotten = [
            key
            for key, parameter in parameters.items()
            if parameter.kind not in _OPEN and key not in ("self", *fields, *self.without) and (key != "name" or make)
        ]
        if forgotten:
            raise TypeError(
                f"model files: {name!r} has no key for {', '.join(forgotten)} of {getattr(sources[0], '__qualname__', sources[0])}. "
                "Say of which kind it is, or why it cannot be in a file."
            )
        self._sources = sources
        self.notes: dict[str, str] = {}  # meaning of keys that no docstring explains
        self.aliases: dict[str, str] = {}
        self.wanted = "a mapping with the keys " + ", ".join(fields)

    @cached_property
    def docs(self) -> dict[str, str]:
        """What each key means."""
        out = dict(self.notes)
        for source in self._sources:
            for key, text in parameter_docs(source).items():
                if key not in out or out[key].startswith("See "):
                    out[key] = text
        return out

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
                    known = suggestion(str(key), self.fields, self.aliases)
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
            entry = value.get(key) if isinstance(value, Mapping) else getattr(value, key)
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
                return place.fail(f"{shown(place.value)} is no {self.what}; {suggestion(place.value, names)}")
            return record.read(Place({}, place.document, place.path, place.line, place.column, place.key_position))
        if not place.is_mapping:
            return self.wrong(place)
        kind = place.value.get("type", self.default)
        if kind is None:
            for key in difflib.get_close_matches("type", [k for k in place.value if isinstance(k, str)], n=1):
                return place.child(key).fail(f"unknown key {key!r}; did you mean 'type'?", at_key=True)
            message = f"'type' is missing: say which {self.what} it is; allowed: {', '.join(names)}."
            return place.fail(message, at_key=True)
        if not isinstance(kind, str) or kind not in self.records:
            return place.child("type").fail(f"{shown(kind)} is no {self.what}; {suggestion(str(kind), names)}")
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
        return any_of(options)


def parameter_docs(source: Any) -> dict[str, str]:
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
