"""Where the results of a batch go: memory, an HDF5 file or a Zarr store, chunk by chunk."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._files import check_target, part_of
from .._locks import Lock
from .._memory import byte_text

__all__ = ["Field", "Store", "StoreError", "file_store", "nothing_of", "open_store", "store_path"]

MOST_MESSAGES = 10_000  # that are kept
_ENDINGS = (".h5", ".hdf5", ".zarr")


@dataclass(frozen=True)
class Field:
    """One array of a result: what it holds for an item.

    Attributes
    ----------
    name : str
    dims : tuple of str
        Names of its dimensions beside that of the items.
    shape : tuple of int
    unit : str
    kind : str
        Type of its numbers, as of NumPy.
    labels : tuple of str
        What the numbers stand for, if they are codes from 0; the first is that of an item without result.
    """

    name: str
    dims: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    unit: str = ""
    kind: str = "f8"
    labels: tuple[str, ...] = ()

    @property
    def nothing(self) -> float:
        """The entries of an item without result."""
        return nothing_of(self.kind, bool(self.labels))

    @property
    def size(self) -> int:
        """Bytes of an item."""
        return math.prod(self.shape) * np.dtype(self.kind).itemsize


def nothing_of(kind: str, codes: bool = False) -> float:
    """The entries of an item without result: NaN, −1, or 0 of codes and numbers without sign."""
    return np.nan if kind[0] == "f" else 0 if codes or kind[0] == "u" else -1


Window = dict[str, NDArray[Any]]


class StoreError(OSError):
    """Results could not be written; `found` has what was stored before, None if that is lost."""

    found: Any = None


class Store(Protocol):
    """What a batch writes its results to."""

    @property
    def path(self) -> Path | None:
        """The file, if it is one."""

    def window(self, begin: int, end: int) -> Window:
        """Arrays (end − begin, …) to write results of some items into; may be called in any thread."""

    def put(self, begin: int, end: int, window: Window, status: NDArray[np.int8]) -> None:
        """Keep them."""

    def finish(self, status: NDArray[np.int8], messages: Mapping[int, str]) -> Mapping[str, Any]:
        """No more comes: the arrays by name."""

    def forget(self) -> None:
        """Give up, without result."""


class Memory:
    """Arrays of this process."""

    path = None

    def __init__(self, fields: tuple[Field, ...], count: int) -> None:
        self._fields = fields
        self._arrays: Window = {f.name: np.empty((count, *f.shape), dtype=f.kind) for f in fields}

    def window(self, begin: int, end: int) -> Window:
        """Parts of the arrays themselves."""
        return {name: array[begin:end] for name, array in self._arrays.items()}

    def put(self, begin: int, end: int, window: Window, status: NDArray[np.int8]) -> None:
        """They are where they belong."""

    def finish(self, status: NDArray[np.int8], messages: Mapping[int, str]) -> Mapping[str, Any]:
        """The arrays; what was not done is filled with nothing."""
        rest = np.flatnonzero(status == 0)
        for f in self._fields if len(rest) else ():
            self._arrays[f.name][rest] = f.nothing
        return self._arrays

    def forget(self) -> None:
        """Nothing is left behind."""


def library(name: str) -> Any:
    """The library that a kind of file needs."""
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"to=… needs {name}: pip install 'pliant[io]'") from None


def check_space(path: Path, need: int) -> None:
    """Error unless a file of so many bytes fits on its disk."""
    free = shutil.disk_usage(path.resolve().parent).free
    if need > free:
        raise StoreError(
            f"to = {str(path)!r}: the results take {byte_text(need)}, and the disk has {byte_text(free)} left. Use another disk, or ask for less."
        )


def open_store(
    to: str | os.PathLike[str] | None,
    fields: tuple[Field, ...],
    count: int,
    chunk: int,
    memory: float,
    header: Mapping[str, Any],
    given: Mapping[str, Any],
) -> Store:
    """A store for so many items; error if they do not fit into the memory that is granted."""
    if to is None:
        need = count * sum(f.size for f in fields)
        if need > memory:
            raise ValueError(
                f"the results of {count} items take {byte_text(need)}, more than memory = {byte_text(memory)}. Let them be written as they come, "
                f'to="file.h5" or to="store.zarr", ask for less, or grant more memory.'
            )
        return Memory(fields, count)
    path = store_path(to)
    lock = Lock(path, field="to")
    try:
        return file_store(path, lock, fields, count, chunk, header, given)
    except BaseException:
        lock.release()
        raise


def store_path(to: str | os.PathLike[str]) -> Path:
    """Where a file or store can be written to; error if its name or place is not allowed."""
    if not isinstance(to, (str, os.PathLike)):
        raise TypeError(f"to = {to!r} must be the path of a file or store.")
    path = Path(to)
    if path.suffix not in _ENDINGS:
        raise ValueError(f"to = {str(to)!r} is not allowed: the name must end in {', '.join(_ENDINGS)}.")
    if path.suffix != ".zarr":
        library("h5py")
        check_target(path, field="to", attempt=True)
        return path
    check_target(part_of(Path(os.path.realpath(path))), field="to", attempt=True)
    if path.exists() and not (path / "zarr.json").is_file():
        raise FileExistsError(f"to = {str(path)!r} is there already and no Zarr store: choose another name.")
    return path


def file_store(
    path: Path,
    lock: Lock | None,
    fields: tuple[Field, ...],
    count: int,
    chunk: int,
    header: Mapping[str, Any],
    given: Mapping[str, Any],
) -> Store:
    """A store in the file system, at a path that is locked; a lock that is given is released when the store is finished or given up."""
    from .hdf5_store import HDF5Store
    from .zarr_store import ZarrStore

    kind = ZarrStore if path.suffix == ".zarr" else HDF5Store
    return kind(path, lock, fields, count, chunk, header, given)
