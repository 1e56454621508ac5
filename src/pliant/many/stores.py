"""Where the results of a batch go: memory, an HDF5 file or a Zarr store, chunk by chunk."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Field", "Store", "StoreError", "Stored", "byte_text", "open_store", "read_store"]

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
        return np.nan if self.kind[0] == "f" else 0 if self.labels else -1

    @property
    def size(self) -> int:
        """Bytes of an item."""
        return math.prod(self.shape) * np.dtype(self.kind).itemsize


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


class Stored:
    """An array in a file, read when it is indexed: ``found["q"][:100]``."""

    def __init__(self, path: Path, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        self.path, self.name, self.shape, self.dtype = path, name, shape, np.dtype(dtype)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        """Number of items."""
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """Read a part."""
        with _opened(self.path) as file:
            return file[self.name][index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Read all."""
        return np.asarray(self[:], dtype=dtype)

    def __repr__(self) -> str:
        """Where it is."""
        return f"<{self.name} {self.shape} in {self.path}>"


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if path.suffix == ".zarr":
        yield library("zarr").open_group(str(path), mode="r")
        return
    with library("h5py").File(path, "r") as file:
        yield file


def library(name: str) -> Any:
    """The library that a kind of file needs."""
    try:
        return import_module(name)
    except ImportError:
        extra = {"h5py": "io", "zarr": "cluster"}[name]
        raise ImportError(f"to=… needs {name}: pip install 'pliant[{extra}]'") from None


def read_store(path: Path) -> dict[str, Any]:
    """What a `BatchResult` is made of, from a file that a batch has written; error if it is none."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}.")
    try:
        with _opened(path) as file:
            header = json.loads(file.attrs["pliant"])
            codes = np.asarray(file["status"][:], dtype=np.int8)
            text = file.attrs["messages"] if path.suffix == ".zarr" else file["messages"][:].tobytes().rstrip(b"\0")
            about = {
                name: Field(name, tuple(dims[1:]), tuple(file[name].shape[1:]), *file_kind(file[name]))
                for name, dims in header["dims"].items()
            }
            given = {name: (tuple(dims), np.asarray(file[name][:])) for name, dims in header["given"].items()}
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(f"{path} is not the result of a batch, or it is damaged: {error}") from error
    return {
        "system_name": header["system"],
        "arrays": {name: Stored(path, name, (len(codes), *f.shape), f.kind) for name, f in about.items()},
        "about": about,
        "names": {dim: tuple(names) for dim, names in header["names"].items()},
        "given": given,
        "codes": codes,
        "messages": {int(k): message for k, message in json.loads(text or "{}").items()},
        "seconds": 0.0,
        "interrupted": bool(np.any(codes == 0)),
        "path": path,
    }


def file_kind(array: Any) -> tuple[str, str, tuple[str, ...]]:
    """Unit, type and labels of an array in a file."""
    return str(array.attrs["units"]), np.dtype(array.dtype).str[1:], tuple(json.loads(array.attrs["labels"]))


def check_space(path: Path, need: int) -> None:
    """Error unless a file of so many bytes fits on its disk."""
    free = shutil.disk_usage(path.resolve().parent).free
    if need > free:
        raise StoreError(
            f"to = {str(path)!r}: the results take {byte_text(need)}, and the disk has {byte_text(free)} left. Use another disk, or ask for less."
        )


def part_of(path: Path) -> Path:
    """What is written before it takes the place of `path`."""
    return path.with_name(f"{path.stem}.{os.getpid()}.part{path.suffix}")


def byte_text(size: float) -> str:
    """A number of bytes as text."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.4g} TB"


def free_memory() -> float:
    """Bytes that a program may take without pushing out others."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return 1024.0 * next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return 4e9


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
    path = Path(to)
    if path.suffix not in _ENDINGS:
        raise ValueError(f"to = {str(to)!r} is not allowed: the name must end in {', '.join(_ENDINGS)}.")
    if path.suffix == ".zarr":
        from .zarr_store import ZarrStore

        return ZarrStore(path, fields, count, chunk, header, given)
    from .hdf5_store import HDF5Store

    return HDF5Store(path, fields, count, header, given)
