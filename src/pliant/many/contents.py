"""The table of contents of a stored batch: its arrays, where they are, and the checksum of each of their blocks.

An array is stored in blocks of rows, each as its numbers stand in memory (little endian, no compression). The checksum of a block is the first
eight bytes of its SHA-256; those of all blocks stand one after the other in an array of their own, ``checksums``, whose SHA-256 is in the table, which
is itself sealed. So a block is read only with what vouches for it, and the rest of a large store need not be looked at. What a stranger wrote is
checked here before it is used: names, kinds and sizes are those that pliant writes, or the store is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .pool import STATUS
from .stores import Field, nothing_of

__all__ = ["BLOCK_BYTES", "KINDS", "OWN_NAMES", "Contents", "Entry", "array_name_trouble", "checksum"]

KINDS = ("f8", "i1", "i4", "u1", "u8")  # of numbers that are stored, all little endian
OWN_NAMES = ("status", "messages", "checksums", "header", "values")  # of arrays that a store has by itself
BLOCK_BYTES = 1_000_000  # of an array that does not come in the chunks of a batch
MOST_ARRAYS, MOST_DIMENSIONS = 10_000, 16
_NAME = re.compile(r"\w[\w .+-]{0,99}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ABSENT = "0" * 64

Sums = NDArray[np.uint64]


def checksum(content: Any) -> int:
    """Of the bytes of a block; never 0, which stands for one that was not written."""
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "little") or 1


def array_name_trouble(name: str) -> str:
    """Why an array of that name cannot be stored; empty if it can."""
    if name in OWN_NAMES:
        return f"the name {name!r} is one of the store's own ({', '.join(OWN_NAMES)})"
    if not _NAME.fullmatch(name) or name.endswith((" ", ".", ".json")) or name.startswith("__"):
        return (
            f"{name!r} cannot be the name of an array in a store: at most 100 letters, digits and _ + - . are possible"
        )
    return ""


@dataclass(frozen=True)
class Entry:
    """One array.

    Attributes
    ----------
    name, kind, unit : str
    shape : tuple of int
        The number of rows first.
    dims : tuple of str
        Names of the dimensions.
    labels : tuple of str
        As of `Field`.
    block : int
        Rows of a block.
    place : int
        Where it begins in an HDF5 file [bytes].
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    block: int
    unit: str = ""
    labels: tuple[str, ...] = ()
    place: int = 0

    @classmethod
    def of_field(cls, f: Field, count: int, chunk: int) -> Entry:
        """The array of a field of a batch."""
        return cls(f.name, f.kind, (count, *f.shape), ("item", *f.dims), max(1, chunk), f.unit, f.labels)

    @classmethod
    def of_array(cls, name: str, dims: tuple[str, ...], array: NDArray[Any]) -> Entry:
        """A whole array."""
        row = array.nbytes // max(len(array), 1)
        block = max(1, min(len(array), BLOCK_BYTES // max(row, 1)))
        return cls(name, array.dtype.str[1:], array.shape, dims, block)

    @property
    def field(self) -> Field:
        """What it holds for an item."""
        return Field(self.name, self.dims[1:], self.shape[1:], self.unit, self.kind, self.labels)

    @property
    def row_bytes(self) -> int:
        """Of one row."""
        return math.prod(self.shape[1:]) * np.dtype(self.kind).itemsize

    @property
    def nbytes(self) -> int:
        """Of all."""
        return self.shape[0] * self.row_bytes

    @property
    def blocks(self) -> int:
        """Their number; none if there are no numbers."""
        return -(-self.shape[0] // self.block) if self.nbytes else 0

    def span(self, j: int) -> tuple[int, int]:
        """Rows of block j."""
        return j * self.block, min((j + 1) * self.block, self.shape[0])

    def empty(self, rows: int) -> NDArray[Any]:
        """An array for some rows."""
        return np.empty((rows, *self.shape[1:]), dtype="<" + self.kind)

    def nothing(self, rows: int) -> NDArray[Any]:
        """Rows without result."""
        return np.full((rows, *self.shape[1:]), nothing_of(self.kind, bool(self.labels)), dtype="<" + self.kind)


@dataclass(frozen=True)
class Contents:
    """The table: what the store is about, its arrays, and their checksums.

    Attributes
    ----------
    header : dict
        What the result is of: system, fields, names, and so on.
    entries : tuple of Entry
    sums : str
        SHA-256 of the checksums of all blocks.
    structure : str
        SHA-256 of what an HDF5 file has besides arrays.
    """

    header: Mapping[str, Any]
    entries: tuple[Entry, ...]
    sums: str = _ABSENT
    structure: str = _ABSENT

    @cached_property
    def first(self) -> dict[str, int]:
        """The number of the first block of each array, by its name."""
        out, total = {}, 0
        for entry in self.entries:
            out[entry.name] = total
            total += entry.blocks
        return out

    @property
    def blocks(self) -> int:
        """Of all arrays."""
        return sum(entry.blocks for entry in self.entries)

    @cached_property
    def by_name(self) -> dict[str, Entry]:
        """The arrays by name."""
        return {entry.name: entry for entry in self.entries}

    @property
    def checksums(self) -> Entry:
        """The array of checksums; it has no place of its own in the table, but follows from it."""
        return Entry("checksums", "u8", (self.blocks,), ("block",), max(1, self.blocks), place=self.header["place"])

    def placed(self, places: Mapping[str, int]) -> Contents:
        """With the places of arrays in an HDF5 file."""
        entries = tuple(replace(entry, place=places[entry.name]) for entry in self.entries)
        return replace(self, entries=entries, header={**self.header, "place": places["checksums"]})

    def sealed(self, sums: Sums, structure: str = _ABSENT) -> Contents:
        """With what vouches for the blocks."""
        return replace(self, sums=hashlib.sha256(sums.tobytes()).hexdigest(), structure=structure)

    def text(self) -> bytes:
        """As JSON; its length does not depend on digests."""
        arrays = [asdict(entry) for entry in self.entries]
        out = {"header": self.header, "arrays": arrays, "sums": self.sums, "structure": self.structure}
        return json.dumps(out, sort_keys=True).encode()

    @classmethod
    def read(cls, text: bytes | str) -> Contents:
        """From JSON of whatever origin; `ValueError` if it is not what pliant writes."""
        try:
            found = json.loads(text)
            header = _header(found["header"])
            entries = tuple(map(_entry, _list(found["arrays"], dict, MOST_ARRAYS)))
            if not all(isinstance(found[key], str) and _DIGEST.fullmatch(found[key]) for key in ("sums", "structure")):
                raise ValueError("a digest is missing")
            out = cls(header, entries, found["sums"], found["structure"])
            out._check()
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise ValueError(f"its table of contents is not what pliant writes ({_short(error)})") from None
        return out

    def _check(self) -> None:
        """Error unless arrays and header agree."""
        if len(self.by_name) != len(self.entries):
            raise ValueError("two arrays have the same name")
        count = self.by_name["status"].shape
        if len(count) != 1 or self.by_name["status"].kind != "i1":
            raise ValueError("the status of items")
        if self.by_name["messages"].kind != "u1" or len(self.by_name["messages"].shape) != 1:
            raise ValueError("the messages")
        for name in self.header["fields"]:
            if self.by_name[name].shape[0] != count[0]:
                raise ValueError(f"array {name!r} has another number of items")
        for name, dims in self.header["given"].items():
            if tuple(dims) != self.by_name[name].dims:
                raise ValueError(f"array {name!r} has other dimensions")


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:200] if not isinstance(error, RecursionError) else "it is too deep"


def _list(value: Any, kind: type, most: int = 10**7) -> list[Any]:
    if not isinstance(value, list) or len(value) > most or not all(type(x) is kind for x in value):
        raise ValueError("a list is expected")
    return value


def _header(raw: Any) -> dict[str, Any]:
    """What the store is about, its parts of the types that they should have."""
    if not isinstance(raw["system"], str) or type(raw["place"]) is not int or not 0 <= raw["place"] < 2**62:
        raise ValueError("the header")
    if raw["status"] != list(STATUS):
        raise ValueError("names of the status of items")
    _list(raw["fields"], str)
    for dims in (raw["names"], raw["given"]):
        for names in dims.values():
            _list(names, str)
    if not isinstance(raw["about"], dict):
        raise ValueError("the header")
    return dict(raw)


def _entry(raw: dict[str, Any]) -> Entry:
    """One array; a name is also that of a folder, and sizes are those of memory to come."""
    if set(raw) != set(Entry.__dataclass_fields__):
        raise ValueError("fields of an array")
    shape, name = _list(raw["shape"], int, MOST_DIMENSIONS), raw["name"]
    if not isinstance(name, str) or (name not in OWN_NAMES and array_name_trouble(name)) or name == "checksums":
        raise ValueError(f"an array cannot have the name {str(name)[:100]!r}")
    if raw["kind"] not in KINDS:
        raise ValueError(f"array {name!r} has the type {str(raw['kind'])[:40]!r}; pliant reads {', '.join(KINDS)}")
    if type(raw["block"]) is not int or type(raw["place"]) is not int or not isinstance(raw["unit"], str):
        raise ValueError(f"array {name!r}")
    out = Entry(
        name, raw["kind"], tuple(shape), tuple(_list(raw["dims"], str, MOST_DIMENSIONS)), raw["block"], raw["unit"],
        tuple(_list(raw["labels"], str)), raw["place"],
    )  # fmt: skip
    if not shape or min(shape) < 0 or out.nbytes >= 2**62 or max(shape) >= 2**62 or len(out.dims) != len(shape):
        raise ValueError(f"array {name!r} has the shape {shape}")
    if not 1 <= out.block < 2**62 or not 0 <= out.place < 2**62:
        raise ValueError(f"array {name!r} has blocks of {out.block} rows")
    return out
