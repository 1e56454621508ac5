"""Checks of user input: one place for the wording of errors.

Every message names the field, the value, what is allowed and, where it helps, what to do.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "LARGEST",
    "bounded",
    "choice",
    "dimensions",
    "finite",
    "flag",
    "integer",
    "interval",
    "listed",
    "name",
    "near",
    "non_negative",
    "one_line",
    "positive",
    "printable",
    "reals",
    "shown",
    "text",
    "unknown_name",
    "vector",
]

LONGEST_NAME = 200  # characters
_FINITE = float(np.finfo(np.float64).max)
LARGEST = 1e60  # beyond any quantity; fourth powers of it, and products with them, are still finite


def shown(value: object) -> str:
    """A value that fits into a message."""
    try:
        text = repr(value)
    except Exception:  # of a user's class; the message matters more
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 120 else text[:117] + "..."


def one_line(text: str) -> str:
    """Text for a line of a terminal or a log: characters that would do something instead of being seen are written as escapes."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def printable(text: str) -> str:
    """The same for several lines."""
    return "\n".join(map(one_line, text.split("\n")))


def near(name: str, known: Iterable[str], *, count: int = 3, cutoff: float = 0.5) -> list[str]:
    """The names that are most like one; of the first thousand, since comparing takes time."""
    return difflib.get_close_matches(name[:LONGEST_NAME], list(islice(known, 1000)), n=count, cutoff=cutoff)


def listed(names: Collection[str], *, most: int = 40) -> str:
    """Names after each other, with how many more there are."""
    first = ", ".join(islice(names, most))
    return f"{first}, … and {len(names) - most} more" if len(names) > most else first or "none"


def _fail(field: str, value: object, allowed: str, hint: str = "") -> ValueError:
    return ValueError(f"{field} = {shown(value)} is not allowed: {allowed}." + (f" {hint}" if hint else ""))


def _real(value: object) -> float | None:
    """A real number as a float, infinite if it is too large for one; None for everything else, also text and True."""
    if type(value) is float:
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def finite(field: str, value: object, *, unit: str = "", hint: str = "") -> float:
    """Return `value` as a float; error unless it is one finite real number (no text, no True or False)."""
    number = _real(value)
    if number is None:
        if isinstance(value, (str, bytes)):
            hint = f"{hint} Leave out the quotes." if hint else "Leave out the quotes."
        raise TypeError(f"{field} = {shown(value)} is not a number{f' ({unit})' if unit else ''}. {hint}".rstrip())
    if not math.isfinite(number):
        raise _fail(field, value, f"must be a finite number{f' in {unit}' if unit else ''}", hint)
    if abs(number) > LARGEST:
        raise _fail(field, value, f"no more than {LARGEST:g} in size is possible{f' ({unit})' if unit else ''}", hint)
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
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{field} = {shown(value)} must be a whole number >= {minimum}. {hint}".rstrip())
    if value < minimum:
        raise _fail(field, value, f"must be a whole number >= {minimum}", hint)
    return int(value)


def bounded(field: str, value: int, most: int, cost: str) -> int:
    """Return `value`; error that names the cost if it exceeds `most`, before anything of that size is made."""
    if value > most:
        raise ValueError(f"{field} = {shown(value)} is not allowed: at most {most}. {cost}")
    return value


def flag(field: str, value: object) -> bool:
    """Return `value` as a bool; error unless it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{field} = {shown(value)} must be True or False.")
    return bool(value)


def reals(field: str, value: object, *, hint: str = "") -> NDArray[np.float64]:
    """Return `value` as a new float64 array of any shape; error unless all its entries are real numbers.

    Text, True and False, complex numbers and rows of different lengths are errors; NaN and infinity are not.
    """
    try:
        array = np.array(value)
    except Exception:  # rows of different lengths, or a class with ideas of its own
        array = np.array(None)
    if array.dtype.kind in "fiu" and not _has_flags(value):
        return array.astype(np.float64)
    entries = [_real(entry) for entry in array.flat] if array.dtype.kind == "O" else []
    if not entries or None in entries:
        raise TypeError(f"{field} = {shown(value)} is not an array of real numbers. {hint}".rstrip())
    return np.array(entries, dtype=np.float64).reshape(array.shape)


def _has_flags(value: Any) -> bool:
    """Whether lists hold True or False, which numpy takes for 1 and 0 beside numbers."""
    if isinstance(value, (list, tuple)):
        return any(_has_flags(entry) for entry in value)
    return isinstance(value, (bool, np.bool_))


def dimensions(value: Any) -> tuple[int, ...]:
    """The shape of a value as an array; one that nothing has, if its rows differ in length."""
    try:
        return np.shape(value)
    except ValueError:
        return (0, 0, 0)


def vector(
    field: str, value: ArrayLike, shape: tuple[int, ...], *, hint: str = "", largest: float = LARGEST
) -> NDArray[np.float64]:
    """Return `value` as a read-only float64 array of `shape`; error on wrong size, NaN, infinity, or above `largest`."""
    array = reals(field, value, hint=f"Shape {shape} is needed. {hint}".rstrip())
    if array.shape != shape:
        raise ValueError(f"{field} has shape {array.shape}, but shape {shape} is needed. {hint}".rstrip())
    if not (np.abs(array) <= min(largest, _FINITE)).all():
        if not np.all(np.isfinite(array)):
            raise _fail(field, array.tolist(), "every entry must be a finite number", hint)
        raise _fail(field, array.tolist(), f"no entry of more than {largest:g} in size is possible", hint)
    array.flags.writeable = False
    return array


def choice(field: str, value: object, allowed: Iterable[object], *, hint: str = "") -> object:
    """Return `value`; error unless it is one of `allowed`."""
    options = list(allowed)
    plain = isinstance(value, (str, Real)) and not isinstance(value, bool)  # no arrays, which compare by entries
    if not plain or value not in options:
        raise _fail(field, value, "choose one of " + ", ".join(map(repr, options)), hint)
    return value


def text(field: str, value: object) -> str:
    """Return `value` as plain text that can be shown on one line; error on control characters, on spaces around it, and if it is too long."""
    if not isinstance(value, str) or not value:
        raise TypeError(f"{field} = {shown(value)} must be a non-empty string.")
    if len(value) > LONGEST_NAME:
        raise ValueError(f"{field} = {shown(value)} has {len(value)} characters; at most {LONGEST_NAME} are allowed.")
    if not value.isprintable():
        bad = next(c for c in value if not c.isprintable())
        raise ValueError(
            f"{field} = {shown(value)} is not allowed: it contains the character {bad!r}, which cannot be shown. Line breaks, "
            "tabs and other control characters have no place in a name."
        )
    if value != value.strip():
        raise ValueError(f"{field} = {value!r} is not allowed: it must not begin or end with a space.")
    return str(value)


def name(value: object, *, field: str = "name") -> str:
    """Return `value` as the name of a part; error unless it is `text` without '.' and '@', and not "world"."""
    checked = text(field, value)
    if checked == "world" or "." in checked or "@" in checked:
        raise ValueError(f"{field} = {checked!r} is not allowed: 'world', '.' and '@' have a meaning of their own.")
    return checked


def unknown_name(kind: str, name: str, known: Iterable[str]) -> KeyError:
    """A KeyError for an unknown name, with the nearest known ones."""
    names = sorted(known)
    close = near(name, names)
    tail = f"did you mean {' or '.join(map(repr, close))}?" if close else f"known: {listed(list(map(repr, names)))}."
    return KeyError(f"there is no {kind} named {shown(name)}; {tail}")
