"""Results of a batch in a Zarr store: a folder with a file for each chunk, which xarray opens."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import check_target
from .stores import Field, Stored, StoreError, Window, check_space, library, part_of

__all__ = ["ZarrStore"]


class ZarrStore:
    """A folder that takes its place when it is complete."""

    def __init__(
        self,
        path: Path,
        fields: tuple[Field, ...],
        count: int,
        chunk: int,
        header: Mapping[str, Any],
        given: Mapping[str, Any],
    ) -> None:
        self.path, self._fields, self._count = path, fields, count
        zarr = library("zarr")
        self._part = part_of(path)
        check_target(self._part, field="to", attempt=True)
        if path.exists() and not (path / "zarr.json").exists():
            raise FileExistsError(f"to = {str(path)!r} is there already and no Zarr store: choose another name.")
        check_space(path, count * sum(f.size for f in fields))
        try:
            self._file = zarr.open_group(str(self._part), mode="w")
            self._fill(chunk, header, given)
        except OSError as error:
            self.forget()
            raise StoreError(f"results could not be written to {self._part}: {error}") from error

    def _fill(self, chunk: int, header: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        self._file.attrs["pliant"] = json.dumps(header)
        status = Field("status", kind="i1", labels=tuple(header["status"]))
        for f in (*self._fields, status):
            array = self._file.create_array(
                f.name,
                shape=(self._count, *f.shape),
                dtype=f.kind,
                chunks=(max(1, min(chunk, self._count)), *(max(n, 1) for n in f.shape)),
                fill_value=f.nothing,
                dimension_names=("item", *f.dims),
            )
            array.attrs["units"], array.attrs["labels"] = f.unit, json.dumps(f.labels)
        for name, (dims, values) in given.items():
            if name not in self._file:
                self._file.create_array(name, data=np.ascontiguousarray(values), dimension_names=dims)

    def window(self, begin: int, end: int) -> Window:
        """New arrays."""
        return {f.name: np.empty((end - begin, *f.shape), dtype=f.kind) for f in self._fields}

    def put(self, begin: int, end: int, window: Window, status: NDArray[np.int8]) -> None:
        """Write them; the status comes last, so that what it calls done is there."""
        try:
            for name, array in window.items():
                self._file[name][begin:end] = array
            self._file["status"][begin:end] = status
        except OSError as error:
            raise StoreError(f"results could not be written to {self._part}: {error}") from error

    def finish(self, status: NDArray[np.int8], messages: Mapping[int, str]) -> Mapping[str, Any]:
        """Write messages and rename the folder."""
        with suppress(OSError):  # the disk may be full; the status tells what is there
            self._file.attrs["messages"] = json.dumps({str(k): message for k, message in messages.items()})
        try:
            if self.path.exists():
                shutil.rmtree(self.path)
            os.replace(self._part, self.path)
        except OSError as error:
            raise StoreError(f"results could not be written to {self.path}: {error}") from error
        return {f.name: Stored(self.path, f.name, (self._count, *f.shape), f.kind) for f in self._fields}

    def forget(self) -> None:
        """Remove what was written."""
        shutil.rmtree(self._part, ignore_errors=True)
