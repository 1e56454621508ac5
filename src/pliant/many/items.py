"""Items of a batch: what users give for each, as rows of arrays that agree in number; what is wrong with single ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.validate import reals, shown, unknown_name
from ..solve.equilibrium import Equilibrium
from ..system import System

__all__ = ["Count", "Refusals", "beyond", "input_rows", "not_finite", "parameter_rows", "rows", "said", "start_rows"]

Array = NDArray[np.float64]
Refusals = dict[int, str]


class Count:
    """How many items there are, from the arrays that have a row for each; those with one for all do not count."""

    def __init__(self) -> None:
        self._found: dict[str, int] = {}

    def add(self, name: str, rows: int) -> None:
        """An array has so many rows."""
        self._found[name] = rows

    def __int__(self) -> int:
        """The number of items; error if arrays differ. One, if nothing has rows."""
        if len(set(self._found.values())) > 1:
            said = ", ".join(f"{name} has {rows}" for name, rows in self._found.items())
            raise ValueError(
                f"the arrays do not have as many items: {said}. Give one row for each item, or one for all."
            )
        return next(iter(self._found.values()), 1)


def rows(name: str, value: Any, shape: tuple[int, ...], count: Count, default: Array | None = None) -> Array:
    """Rows (m, *shape) of items, or (1, *shape) if one is for all, as a contiguous array that can be written.

    Parameters
    ----------
    name : str
        For errors.
    value : array (*shape) or (m, *shape), or None
    shape : tuple
        Of one item.
    count : Count
        Is told the number of rows.
    default : array, optional
        If the value is None.
    """
    if value is None and default is not None:
        return np.array(default, dtype=np.float64).reshape(1, *shape)
    found = reals(name, value)
    if found.shape == shape:
        return np.ascontiguousarray(found[None])
    if found.shape[1:] == shape and found.ndim == len(shape) + 1:
        count.add(name, len(found))
        return np.ascontiguousarray(found)
    each, all_items = f"(m, {', '.join(map(str, shape))})", f"{shape} for all"
    if not shape:
        each, all_items = "(m,)", "one number for all"
    raise ValueError(f"{name} has shape {found.shape}, but {each} is needed, a row for each item, or {all_items}.")


def input_rows(system: System, u: Any, count: Count, name: str = "u") -> Array:
    """Inputs as rows (m, nu) or (1, nu), from an array or from arrays (m,) and numbers by name."""
    if not isinstance(u, Mapping):
        return rows(name, u, (system.nu,), count, np.zeros(system.nu))
    columns: dict[int, Array] = {}
    for key, value in u.items():
        if key not in system.input_names:
            raise unknown_name("input", str(key), system.input_names)
        columns[system.input_names.index(key)] = rows(f"{name}[{key!r}]", value, (), count)
    m = next((len(column) for column in columns.values() if len(column) != 1), 1)
    if any(len(column) not in (1, m) for column in columns.values()):
        int(count)  # its error tells who differs
    out = np.zeros((m, system.nu))
    for k, column in columns.items():
        out[:, k] = column
    return out


def start_rows(system: System, start: Any, count: Count) -> Array:
    """Coordinates to start from, (m, nq) or (1, nq)."""
    if isinstance(start, Equilibrium):
        start = start.q
    elif isinstance(start, Mapping):
        start = system.configuration(start)
    elif hasattr(start, "fields") and "q" in getattr(start, "fields", ()):  # what a batch of statics has found
        start = start["q"][:]
    return rows("start", start, (system.nq,), count, system.neutral())


def parameter_rows(system: System, values: Mapping[str, Any] | None, count: Count) -> tuple[tuple[str, ...], Array]:
    """Names of parameters and their values, (m, n) or (1, n)."""
    if values is None:
        return (), np.zeros((1, 0))
    if not isinstance(values, Mapping):
        raise TypeError(
            f"parameters = {shown(values)} must be a dictionary: an array of values, one for each item, by name."
        )
    known = system.parameters
    for name in values:
        if name not in known:
            raise unknown_name("parameter", str(name), known)
    columns = [rows(f"parameters[{name!r}]", value, (), count) for name, value in values.items()]
    m = int(count) if any(len(column) != 1 for column in columns) else 1
    return tuple(values), np.ascontiguousarray(
        np.stack([np.broadcast_to(c, m) for c in columns], axis=1)
    ) if columns else np.zeros((1, 0))


def not_finite(name: str, found: Array, m: int, names: tuple[str, ...] = ()) -> Refusals:
    """Items whose row of an array has an entry that is NaN or infinite, with what to say of each."""
    flat = found.reshape(len(found), math.prod(found.shape[1:]))
    bad = np.flatnonzero(~np.isfinite(flat).all(axis=1))
    out: Refusals = {}
    for k in bad.tolist():
        j = int(np.flatnonzero(~np.isfinite(flat[k]))[0])
        where = np.unravel_index(j, found.shape[1:])
        label = f" ({names[where[-1]]!r})" if names else ""
        at = ", ".join(map(str, map(int, where)))
        text = f"{name}[{at}] = {flat[k, j]}{label} must be a finite number."
        out |= dict.fromkeys(range(m), text) if len(found) == 1 else {k: text}
    return out


def beyond(system: System, u: Array, m: int) -> Refusals:
    """Items whose inputs are beyond their bounds; u (m or 1, …, nu)."""
    lower, upper = system.input_bounds
    flat = u.reshape(len(u), math.prod(u.shape[1:-1]), system.nu)
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(((flat < lower) | (flat > upper)).any(axis=(1, 2)))
    out: Refusals = {}
    for k in bad.tolist():
        row = next(r for r in flat[k] if np.any((r < lower) | (r > upper)))
        text = said(lambda row=row: system.inputs(row))  # type: ignore[misc]
        out |= dict.fromkeys(range(m), text) if len(u) == 1 else {k: text}
    return out


def said(function: Callable[[], Any]) -> str:
    """The message of the error that a call raises; empty if it raises none."""
    try:
        function()
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return str(error.args[0]) if error.args else type(error).__name__
    return ""
