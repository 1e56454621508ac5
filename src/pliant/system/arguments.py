"""Checks of what is given to a system and to the solvers: vectors of real numbers, and the system itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["checked", "checked_rows", "needs_system", "numbers"]

Array = NDArray[np.float64]


def needs_system(function: str, value: object) -> None:
    """Error unless `value` is a compiled robot; `function` is what was called."""
    if hasattr(value, "dof_names"):
        return
    if hasattr(value, "compile"):  # a Robot or a Model
        raise TypeError(
            f"{function} needs a System, and {getattr(value, 'name', '')!r} is a {type(value).__name__}: compile it first, "
            f"system = {type(value).__name__.lower()}.compile(), and give the system."
        )
    raise TypeError(f"{function} needs a System, which robot.compile() makes; got {_shown(value)}.")


def numbers(name: str, value: object) -> Array:
    """An array of real numbers of any shape; error for text, truth values, complex numbers and what is no array."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return value
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype == object and isinstance(value, (list, tuple)):  # Python's long integers and fractions, perhaps
        try:
            if not any(isinstance(x, (str, bool, complex)) for x in value):
                return np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            pass
    if array.dtype.kind not in "iuf" or _has_truth(value):
        raise TypeError(f"{name} = {_shown(value)} must be real numbers.")
    return array.astype(np.float64)


def checked(name: str, value: ArrayLike, size: int, system: str) -> Array:
    """A vector of a given size; error that names it if it is not one."""
    try:
        array = np.ascontiguousarray(numbers(name, value))
    except TypeError:
        raise TypeError(f"{name} = {_shown(value)} must be a vector of {size} real numbers.") from None
    if array.shape != (size,):
        raise ValueError(
            f"{name} has shape {array.shape}, but ({size},) is needed for {system!r} "
            f"({'coordinates, nq' if name.startswith('q') else 'velocities, nv'})."
        )
    return array if array.flags.writeable else array.copy()  # kernels are compiled for writeable arrays


def checked_rows(name: str, value: ArrayLike, size: int, system: str, rows: int | None = None) -> Array:
    """One state (size,) or many (m, size) as rows (m, size); `rows` is how many there must be. Error if they are none of that."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        found = checked(name, value, size, system)[None]
    else:
        try:
            found = np.ascontiguousarray(numbers(name, value))
        except TypeError:
            raise TypeError(
                f"{name} = {_shown(value)} must be a vector of {size} real numbers, or rows of such."
            ) from None
        if found.ndim == 1:
            found = checked(name, found, size, system)[None]
        elif found.ndim != 2 or found.shape[1] != size:
            raise ValueError(f"{name} has shape {found.shape}, but ({size},) or (m, {size}) is needed for {system!r}.")
    if rows is not None and len(found) != rows:
        raise ValueError(f"{name} has {len(found)} rows, but q has {rows}: give one row of each for each state.")
    return found if found.flags.writeable else found.copy()


def _has_truth(value: Any) -> bool:
    """Whether a list has True or False among its numbers, which NumPy takes for 1 and 0."""
    if isinstance(value, (bool, np.bool_)):
        return True
    return isinstance(value, (list, tuple)) and any(_has_truth(x) for x in value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
