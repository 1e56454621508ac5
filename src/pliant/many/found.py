"""The result of a batch: arrays by name, and what became of each item."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.validate import unknown_name
from .pool import FAILED, OK, PENDING, REFUSED, STATUS
from .stored import read_store
from .stores import Field

__all__ = ["BatchResult"]


@dataclass(frozen=True, eq=False)
class BatchResult:
    """What a batch has found: ``found["q"]`` is an array with a row for each item.

    Attributes
    ----------
    status : ndarray (m,) of str
        "ok"; "failed": computed without success (no convergence), the numbers are the best that was found, or NaN; "refused": what was given is
        not allowed (NaN, a tension below zero, a parameter that has no such value), all NaN; "pending": not computed, since the batch was interrupted.
    success : ndarray (m,) of bool
        Whether the status is "ok".
    done : ndarray (m,) of bool
        Whether the status is not "pending".
    interrupted : bool
        Whether Ctrl-C ended the batch early.
    messages : dict
        Why items are not "ok", by their number; of the first 10 000.
    warnings : tuple of str
        What to know before trusting the result, each a sentence.
    fields : tuple of str
        Names of the arrays.
    seconds : float
        Wall time.
    path : Path or None
        The file with the arrays, if they were written to one; ``found["q"][:100]`` then reads a part.
    origin : dict
        Which version of pliant computed it, and a digest of the robot.
    """

    system_name: str
    arrays: Mapping[str, Any] = field(repr=False)
    about: Mapping[str, Field] = field(repr=False)
    names: Mapping[str, tuple[str, ...]] = field(repr=False)
    given: Mapping[str, tuple[tuple[str, ...], NDArray[np.float64]]] = field(repr=False)
    codes: NDArray[np.int8] = field(repr=False)
    messages: dict[int, str] = field(repr=False)
    seconds: float
    interrupted: bool = False
    warnings: tuple[str, ...] = ()
    path: Path | None = None
    origin: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> BatchResult:
        """The result in a file that a batch was told to write `to`; its arrays are read when they are indexed.

        Examples
        --------
        >>> import os, tempfile
        >>> import pliant as pl
        >>> robot = pl.Robot("ball")
        >>> ball = robot.add_body("ball", joint=pl.Revolute("y"), shape=pl.Sphere(0.1), mass=1.0)
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "poses.h5")
        >>> found = pl.batch(robot.compile(), to=path).poses("ball", [[0.0], [0.1]])
        >>> pl.BatchResult.open(path)["pose"].shape
        (2, 4, 4)
        >>> folder.cleanup()
        """
        return cls(**read_store(Path(path)))

    def __len__(self) -> int:
        """Number of items."""
        return len(self.codes)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the arrays."""
        return tuple(self.arrays)

    def __contains__(self, name: object) -> bool:
        """Whether there is an array of that name."""
        return name in self.arrays

    def __getitem__(self, name: str) -> Any:
        """An array (m, …) by name; codes are text."""
        if name not in self.arrays:
            raise unknown_name("array of this batch", str(name), self.arrays)
        labels = self.about[name].labels
        if not labels:
            return self.arrays[name]
        codes = np.asarray(self.arrays[name][:])
        if codes.size and not 0 <= codes.min() <= codes.max() < len(labels):
            raise ValueError(f"{name} has codes from {codes.min()} to {codes.max()}, and {len(labels)} are known.")
        return np.array(labels)[codes]

    @property
    def status(self) -> NDArray[np.str_]:
        """What became of each item, (m,)."""
        return np.array(STATUS)[self.codes]

    @property
    def success(self) -> NDArray[np.bool_]:
        """Which items are well, (m,)."""
        return np.asarray(self.codes == OK)

    @property
    def done(self) -> NDArray[np.bool_]:
        """Which items were looked at, (m,)."""
        return np.asarray(self.codes != PENDING)

    def message(self, k: int) -> str:
        """Why item k is not "ok"; "ok" if it is."""
        if not -len(self) <= k < len(self):
            raise IndexError(f"item {k} is not allowed: there are {len(self)}, from 0.")
        return self.messages.get(k % len(self), STATUS[self.codes[k]])

    def __str__(self) -> str:
        """A few lines: how many are well, the first troubles."""
        counts = {name: int(np.count_nonzero(self.codes == code)) for code, name in enumerate(STATUS)}
        rate = np.count_nonzero(self.done) / max(self.seconds, 1e-9)
        said = ", ".join(f"{n} {name}" for name, n in counts.items() if n) or "no items"
        lines = [f"{self.system_name}: {len(self)} items, {said}; {self.seconds:.3g} s, {rate:.3g}/s"]
        lines += [f"  item {k}: {text}" for k, text in sorted(self.messages.items())[:3]]
        more = counts[STATUS[FAILED]] + counts[STATUS[REFUSED]] - min(3, len(self.messages))
        lines += [f"  … and {more} more"] if more > 0 else []
        lines += ["  interrupted: `done` tells what was computed"] if self.interrupted else []
        return "\n".join([*lines, *(f"  warning: {text}" for text in self.warnings)])

    def to_xarray(self) -> Any:
        """As an xarray Dataset with named dimensions, units, the status of items, and what they were given (needs xarray)."""
        try:
            import xarray as xr
        except ImportError:
            raise ImportError("to_xarray needs xarray: pip install 'pliant[io]'") from None
        data: dict[str, Any] = {}
        for name in self.arrays:
            about = self.about[name]
            data[name] = (("item", *about.dims), np.asarray(self[name][:]), {"units": about.unit} if about.unit else {})
        data |= {name: (dims, values) for name, (dims, values) in self.given.items() if name not in data}
        used = {dim for dims, *_ in data.values() for dim in dims}
        coords: dict[str, Any] = {dim: list(names) for dim, names in self.names.items() if dim in used}
        return xr.Dataset(
            {**data, "status": (("item",), self.status)}, coords=coords, attrs={"system": self.system_name}
        )
