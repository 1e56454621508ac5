"""Results of a batch in a Zarr store (version 3): a folder with a file for each block of an array, which xarray opens.

It is written and read here, without a library: a folder with the metadata of a group, one for each array with its metadata, and blocks as
their numbers stand in memory (codec ``bytes``, little endian). Metadata that name anything else, such as codecs that may run code, links and
other versions, are refused, since what is there is compared with what pliant would write.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from .._files import sync_disk, sync_folder
from .._seals import read_seal, seal
from ..model.reading import open_regular
from .contents import Contents, Entry
from .file_store import FileStore
from .stored import FORMAT, KIND, MOST_TEXT, check_seal
from .stores import nothing_of

__all__ = ["ZarrReader", "ZarrStore", "recover", "was_set_aside"]

_TYPES = {"f8": "float64", "i1": "int8", "i4": "int32", "u1": "uint8", "u8": "uint64"}


class ZarrStore(FileStore):
    """A folder that takes its place when it is complete."""

    def _create(self, need: int) -> None:
        recover(self._target)
        self._part.mkdir()
        for entry in (*self._contents.entries, self._contents.checksums):
            folder = self._part / entry.name
            folder.mkdir()
            (folder / "zarr.json").write_bytes(_array_text(entry))

    def _write(self, entry: Entry, j: int, content: memoryview) -> None:
        path = self._part / _block_name(entry, j)
        path.parent.mkdir(parents=True, exist_ok=True)
        missing = entry.block * entry.row_bytes - len(content)  # all blocks of an array have one size
        with path.open("r+b" if path.exists() else "wb", buffering=0) as file:  # in its place: the disk may be full
            for piece in (content, memoryview(bytes(missing))):
                while len(piece):
                    piece = piece[file.write(piece) :]

    def _write_contents(self) -> None:
        self._contents = self._contents.sealed(self._sums)
        sums = self._contents.checksums
        for path, content in (
            (self._part / _block_name(sums, 0), self._sums.tobytes()) if sums.nbytes else (None, b""),
            (self._part / "zarr.json", _group_text(self._contents)),
        ):
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("r+b" if path.exists() else "wb") as file:
                    file.write(content)

    def _replace(self) -> None:
        sync_disk(self._part)
        if self._target.exists():
            os.replace(self._target, _aside(self._target))
        os.replace(self._part, self._target)
        sync_folder(self._target.parent)
        shutil.rmtree(_aside(self._target), ignore_errors=True)

    def _discard(self) -> None:
        shutil.rmtree(self._part, ignore_errors=True)


def _aside(target: Path) -> Path:
    """Where the old store is while the new one takes its place."""
    return target.with_name(f".{target.name}.old")


def recover(target: Path) -> None:
    """What a kill between two renames left: the old store back in its place, or removed if the new one is there. The caller holds the lock."""
    old = _aside(target)
    if not old.is_dir() or old.is_symlink():
        return
    if target.exists():
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.replace(old, target)


def was_set_aside(target: Path) -> bool:
    """Whether the name is free only since somebody was killed, or is at it, between two renames."""
    return not target.exists() and _aside(target).is_dir()


def _block_name(entry: Entry, j: int) -> str:
    return "/".join([entry.name, "c", str(j), *("0" for _ in entry.shape[1:])])


def _array_text(entry: Entry) -> bytes:
    """The metadata of an array: all that pliant writes, and reads."""
    nothing = nothing_of(entry.kind, bool(entry.labels))
    return json.dumps(
        {
            "zarr_format": 3,
            "node_type": "array",
            "shape": entry.shape,
            "data_type": _TYPES[entry.kind],
            "chunk_grid": {
                "name": "regular",
                "configuration": {"chunk_shape": [entry.block, *(max(n, 1) for n in entry.shape[1:])]},
            },
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": "NaN" if nothing != nothing else nothing,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "attributes": {"units": entry.unit, "labels": json.dumps(entry.labels)},
            "dimension_names": entry.dims,
            "storage_transformers": [],
        },
        indent=2,
    ).encode()


def _group_text(contents: Contents) -> bytes:
    """The metadata of the store, with the sealed table of contents."""
    text = contents.text()
    attributes = {"pliant": (seal(KIND, FORMAT, text) + text).decode()}
    return json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes}, indent=2).encode()


class ZarrReader:
    """Reads blocks from a folder."""

    def __init__(self, path: Path) -> None:
        self._root = os.path.realpath(path)
        if not os.path.isdir(self._root):
            raise ValueError("it is no folder; packed stores are not read")

    def _open(self, name: str) -> Any:
        """A file of the store; error for links, which may lead out of it."""
        path = os.path.join(self._root, *name.split("/"))
        if os.path.realpath(path) != path:
            raise ValueError(f"{name} is a link, or lies behind one, which is not followed")
        return open_regular(path, follow=False)

    def _text(self, name: str) -> bytes:
        with self._open(name) as file:
            if os.fstat(file.fileno()).st_size > MOST_TEXT:
                raise ValueError(f"{name} has more than {MOST_TEXT} bytes")
            return bytes(file.read())

    def contents(self) -> Contents:
        """The table of contents, after all metadata were compared with it."""
        for name in (".zgroup", ".zarray", ".zmetadata"):
            if os.path.lexists(os.path.join(self._root, name)):
                raise ValueError(f"it has the file {name} of Zarr version 2; only version 3 is read")
        whole = self._text("zarr.json")
        try:
            stated = json.loads(whole)["attributes"]["pliant"]
            found = read_seal(stated[:512].encode(), KIND)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"its zarr.json does not say so ({type(error).__name__})") from None
        if found is None:
            raise ValueError(
                "its zarr.json does not say so. Stores that an older version wrote, without checksums, are opened by xarray or zarr"
            )
        text = stated[found.length :].encode()
        check_seal(found, text)
        contents = Contents.read(text)
        if whole != _group_text(contents):
            raise ValueError("its zarr.json is not what pliant writes: it was changed, or is damaged")
        for entry in (*contents.entries, contents.checksums):
            if entry.place:
                raise ValueError(f"array {entry.name!r} has a place in a file, but is a folder")
            said = self._text(f"{entry.name}/zarr.json")
            if said != _array_text(entry):
                raise ValueError(f"{entry.name}/zarr.json is not what pliant writes: {_difference(said, entry)}")
        return contents

    def read(self, entry: Entry, j: int, out: memoryview) -> None:
        """Read a block."""
        name = _block_name(entry, j)
        try:
            file = self._open(name)
        except FileNotFoundError:
            raise ValueError(f"the file {name} is missing") from None
        with file:
            size = os.fstat(file.fileno()).st_size
            if size != entry.block * entry.row_bytes:
                raise ValueError(f"the file {name} has {size} bytes instead of {entry.block * entry.row_bytes}")
            done = 0
            while done < len(out):
                step = file.readinto(out[done:])
                if not step:
                    raise ValueError(f"the file {name} ends too early")
                done += step

    def close(self) -> None:
        """Nothing stays open."""


def _difference(text: bytes, entry: Entry) -> str:
    """What of the metadata of an array differs."""
    try:
        found, own = json.loads(text), json.loads(_array_text(entry))
    except (ValueError, RecursionError):
        return "it is damaged"
    if not isinstance(found, dict):
        return "it is damaged"
    for key in [*own, *found]:
        if found.get(key) != own.get(key):
            return f"{key!r} is {json.dumps(found.get(key))[:200]}, only {json.dumps(own.get(key))[:200]} is read"
    return "it is written otherwise"
