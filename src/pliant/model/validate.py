"""Checks of user input: one place for the wording of errors.

Every message names the field, the value, what is allowed and, where it helps, what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["choice", "finite", "integer", "interval", "non_negative", "positive", "unknown_name", "vector"]


def _fail(field: str, value: object, allowed: str, hint: str = "") -> ValueError:
    return ValueError(f"{field} = {value!r} is not allowed: {allowed}." + (f" {hint}" if hint else ""))


def finite(field: str, value: object, *, unit: str = "", hint: str = "") -> float:
    """Return `value` as a float; error unless it is one finite real number."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{field} = {value!r} is not a number{f' ({unit})' if unit else ''}. {hint}".rstrip()) from None
    if not np.isfinite(number):
        raise _fail(field, value, f"must be a finite number{f' in {unit}' if unit else ''}", hint)
    return number


def positive(field: str, value: object, *, unit: str = "", hint: str = "") -> float:
    """Return `value` as a float; error unless it is finite and > 0."""
    number = finite(field, value, unit=unit, hint=hint)
    if number <= 0:
        raise _fail(field, value, f"must be greater than zero{f' ({unit})' if unit else ''}", hint)
    return number


def non_negative(field: str, value: object, *, unit: str = "", hint: str = "") -> float:
    """Return `value` as a float; error unless it is finite and >= 0."""
    number = finite(field, value, unit=unit, hint=hint)
    if number < 0:
        raise _fail(field, value, f"must not be negative{f' ({unit})' if unit else ''}", hint)
    return number


def interval(field: str, value: object, low: float, high: float, *, hint: str = "") -> float:
    """Return `value` as a float; error unless low <= value <= high."""
    number = finite(field, value, hint=hint)
    if not low <= number <= high:
        raise _fail(field, value, f"must lie in [{low:g}, {high:g}]", hint)
    return number


def integer(field: str, value: object, *, minimum: int = 0, hint: str = "") -> int:
    """Return `value` as an int; error unless it is a whole number >= minimum."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{field} = {value!r} must be a whole number >= {minimum}. {hint}".rstrip())
    if value < minimum:
        raise _fail(field, value, f"must be a whole number >= {minimum}", hint)
    return int(value)


def vector(field: str, value: ArrayLike, shape: tuple[int, ...], *, hint: str = "") -> NDArray[np.float64]:
    """Return `value` as a read-only float64 array of `shape`; error on wrong size, NaN or infinity."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{field} = {value!r} is not an array of real numbers of shape {shape}. {hint}".rstrip()
        ) from None
    if array.shape != shape:
        raise ValueError(f"{field} has shape {array.shape}, but shape {shape} is needed. {hint}".rstrip())
    if not np.all(np.isfinite(array)):
        raise _fail(field, array.tolist(), "every entry must be a finite number", hint)
    array.flags.writeable = False
    return array


def choice(field: str, value: object, allowed: Iterable[object], *, hint: str = "") -> object:
    """Return `value`; error unless it is one of `allowed`."""
    options = list(allowed)
    if value not in options:
        raise _fail(field, value, "choose one of " + ", ".join(map(repr, options)), hint)
    return value


def unknown_name(kind: str, name: str, known: Iterable[str]) -> KeyError:
    """A KeyError for an unknown name, with the nearest known ones."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    tail = (
        f"did you mean {' or '.join(map(repr, close))}?"
        if close
        else f"known: {', '.join(map(repr, names)) or 'none'}."
    )
    return KeyError(f"there is no {kind} named {name!r}; {tail}")
