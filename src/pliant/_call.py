"""Calls through C function pointers: how kernels reach loads that a user wrote, and families of loads of their own.

A load is a C function ::

    void f(int64 n, int64 want, double *pose, double *twist, double *inputs,
           double *wrench, double *dpose, double *dtwist)

for n points, with C-contiguous arrays

* ``pose`` (n, 12): rotation by rows, then position, in the world;
* ``twist`` (n, 6): angular velocity, then velocity of the point, world axes;
* ``inputs`` (k,): the load's own inputs; k is known to the load;
* ``wrench`` (n, 6), out: moment about the point, then force, world axes;
* ``dpose`` (n, 6, 6), out if want ≠ 0: ∂wrench/∂(δθ, δx) with R → exp(δθ^) R and x → x + δx, the twist held;
* ``dtwist`` (n, 6, 6), out if want ≠ 0: ∂wrench/∂(ω, ẋ).

With want = 0 the last two are never touched and may be of any size.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._jit import INTERPRETED, Part, compiler, inline, managed, resolve, stamp

__all__ = [
    "PROTOTYPE",
    "array_at",
    "call_load",
    "call_unit",
    "compiled_callback",
    "group_maker",
    "per_point",
    "pointer_to",
    "python_callback",
    "unit",
]

Array = NDArray[np.float64]
Fill = Callable[[int, int, Array, Array, Array, Array, Array, Array], None]

PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, *[ctypes.c_void_p] * 6)

_ROOT = float(np.cbrt(np.finfo(float).eps))  # balances truncation and rounding of a central difference
_NAMES = ("pose", "twist", "inputs", "wrench", "dpose", "dtwist")


# ---------------------------------------------------------------- from a kernel to the load


def _call_load_interpreted(address: int, n: int, want: int, *arrays: Array) -> None:
    """The same call from Python."""
    for name, array in zip(_NAMES, arrays, strict=True):
        if array.dtype != np.float64 or not array.flags.c_contiguous:
            raise TypeError(f"call_load: {name} must be a C-contiguous array of float64")
    PROTOTYPE(int(address))(int(n), int(want), *[array.ctypes.data for array in arrays])


# call_load(address, n, want, pose, twist, inputs, wrench, dpose, dtwist), for use inside compiled functions. The address
# is a value at run time, no constant of the code: a kernel in the disk cache works with any load of any process.
call_load: Any = _call_load_interpreted if INTERPRETED else Part(lambda: compiler().unsized_call)


# ---------------------------------------------------------------- from a kernel to a unit


_UNITS: list[Any] = []


def _call_unit_interpreted(address: int, task: int, own: int, spare: int, *arrays: Array) -> None:
    """The same call from Python: the address is a number in a list."""
    parts = (part for array in arrays for part in (array, array.size))
    _UNITS[address - 1](task, own, spare, *parts, arrays[-1].shape[-1])


# call_unit(address, task, own, spare, ints, floats, buffer, q, v, u, out), for use inside compiled functions; see `Unit`
call_unit: Any = _call_unit_interpreted if INTERPRETED else Part(lambda: compiler().sized_call)


def _pointer_to_interpreted(array: Array, offset: int) -> Array:
    """The same from Python: the rest of the array."""
    return array[offset:]


# pointer_to(array, offset): where an entry of a flat array is, for `array_at`
pointer_to: Any = _pointer_to_interpreted if INTERPRETED else Part(lambda: compiler().pointer_to)


def _as_array(array: Array, shape: tuple[int, ...]) -> Array:
    return array.reshape(-1)[: math.prod(shape)].reshape(shape)


# array_at(pointer, shape): the array behind an argument of a unit, or behind `pointer_to`. It has no owner: no reference is
# counted, and no slice is checked against the length of what it is part of.
array_at: Any = _as_array if INTERPRETED else Part(lambda: compiler().array_at)


def group_maker(name: str, arrays: Mapping[str, tuple[bool, int]], as_tuple: Callable[[], Any]) -> Any:
    """The function (ints, floats, first) that unpacks a group of arrays, see `kernels.packing`; `as_tuple` makes it where groups are tuples."""
    if INTERPRETED:
        return as_tuple()
    return Part(lambda: compiler().group_maker(name, arrays) if compiler().DIRECT else as_tuple().made)


class Unit:
    """A part of the engine that is compiled (and cached) by itself when its address is first asked for.

    Parameters
    ----------
    function : callable
        ``f(task, own, spare, ints, n, floats, n, buffer, n, q, n, v, n, u, n, out, n, width)`` with pointers and sizes;
        `own` and `spare` are positions in the header of the tables, `width` is the length of a row of `out`.
    source : callable, optional
        The function whose file the compiled code depends on, and is kept beside, if that is another one.
    """

    arguments = "nnn" + "in" + 6 * "fn" + "n"  # as `_numba.c_function` names them

    def __init__(self, function: Any, source: Any = None) -> None:
        self._function = function
        self._source = function if source is None else source
        self.__doc__ = self._source.__doc__

    @cached_property
    def address(self) -> int:
        """Where kernels find it, in this process."""
        if INTERPRETED:
            _UNITS.append(self._function)
            return len(_UNITS)
        ahead = _native.unit(self._source)
        if ahead:
            return ahead
        resolve(self._function)
        self._compiled = compiler().c_function(self._function, self.arguments, stamp(self._source), self._source)
        return int(self._compiled.address or 0)

    @property
    def loaded(self) -> bool:
        """Whether numba had compiled it before, in another process."""
        return "_compiled" in vars(self) and bool(self._compiled.cache_hits)

    @property
    def function(self) -> Any:
        """What is compiled."""
        return self._function

    @property
    def source(self) -> Any:
        """The function that it was written as."""
        return self._source


def unit(function: Any) -> Unit:
    """Decorate a unit; see `Unit` for its arguments."""
    return Unit(function)


# ---------------------------------------------------------------- loads in Python


def _view(address: int, shape: tuple[int, ...]) -> Array:
    """An array in memory that belongs to the caller."""
    size = math.prod(shape)
    if size == 0:  # the address may be anything, NULL too
        return np.empty(shape)
    return np.frombuffer(memoryview((ctypes.c_double * size).from_address(address)), np.float64).reshape(shape)


def python_callback(fill: Fill, k: int) -> Any:
    """The C function of a Python function on arrays.

    Parameters
    ----------
    fill : callable
        ``fill(n, want, pose, twist, inputs, wrench, dpose, dtwist)`` with views of the caller's memory, valid during
        the call only. It must not raise: the caller is compiled code, which would not hear of it. Without want the last
        two have n = 0.
    k : int
        Number of inputs.

    Returns
    -------
    ctypes function
        To be kept alive as long as its address is in use. It takes the interpreter's lock when called, so the kernel
        may have released it.
    """

    def callback(n: int, want: int, *pointers: int) -> None:
        m = n if want else 0
        shapes = ((n, 12), (n, 6), (k,), (n, 6), (m, 6, 6), (m, 6, 6))
        fill(n, want, *[_view(address, shape) for address, shape in zip(pointers, shapes)])

    return PROTOTYPE(callback)


# ---------------------------------------------------------------- compiled loads


def _own(function: Any) -> Any:
    """Compile a user's function, unless the user did already."""
    return function if hasattr(function, "py_func") else managed(function)


# Loops instead of slices throughout: they compile several times faster.


@inline
def _copy(source: Array, start: int, target: Array) -> None:
    """Three numbers of a flat array."""
    for i in range(3):
        target[i] = source[start + i]


@inline
def _set(array: Array, value: float) -> None:
    """Every entry of an array with two axes."""
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            array[i, j] = value


@inline
def _take(pose: Array, twist: Array, R: Array, x: Array, omega: Array, velocity: Array) -> None:
    """Copy one point, pose (12,) and twist (6,), into arrays that a user's function may do with as it likes."""
    for i in range(3):
        _copy(pose, 3 * i, R[i])
    _copy(pose, 9, x)
    _copy(twist, 0, omega)
    _copy(twist, 3, velocity)


@inline
def _turn(R: Array, k: int, angle: float) -> None:
    """R ← exp(angle e_k^) R."""
    c, s = math.cos(angle), math.sin(angle)
    a, b = (k + 1) % 3, (k + 2) % 3
    for j in range(3):
        Ra, Rb = R[a, j], R[b, j]
        R[a, j] = c * Ra - s * Rb
        R[b, j] = s * Ra + c * Rb


@inline
def _shift(x: Array, k: int, step: float) -> float:
    """x_k ← x_k + step; returns the step that was really taken, after rounding."""
    before = x[k]
    x[k] = before + step
    return x[k] - before


@inline
def _norm(x: Array) -> float:
    return math.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2)


def _differences(function: Any, scales: tuple[float, float, float, float]) -> Any:
    """Derivatives of a compiled function by central differences, called like exact ones."""
    angle, length, rate, speed = scales

    @managed
    def differences(
        R: Array, x: Array, omega: Array, velocity: Array, inputs: Array, dpose: Array, dtwist: Array
    ) -> None:
        pose, twist = np.empty(12), np.empty(6)
        for i in range(3):
            for j in range(3):
                pose[3 * i + j] = R[i, j]
            pose[9 + i] = x[i]
            twist[i] = omega[i]
            twist[3 + i] = velocity[i]
        steps = (_ROOT * angle, _ROOT * length, _ROOT * max(rate, _norm(omega)), _ROOT * max(speed, _norm(velocity)))
        moments, forces, taken = np.empty((2, 3)), np.empty((2, 3)), np.empty(2)
        for column in range(12):
            kind, k = column // 3, column % 3
            _set(moments, 0.0)
            _set(forces, 0.0)
            for side in range(2):
                _take(pose, twist, R, x, omega, velocity)
                step = steps[kind] * (1.0 - 2.0 * side)
                if kind == 0:
                    _turn(R, k, step)
                    taken[side] = step
                elif kind == 1:
                    taken[side] = _shift(x, k, step)
                elif kind == 2:
                    taken[side] = _shift(omega, k, step)
                else:
                    taken[side] = _shift(velocity, k, step)
                function(R, x, omega, velocity, inputs, moments[side], forces[side])
            by, c = (dpose, column) if kind < 2 else (dtwist, column - 6)
            for i in range(3):
                by[i, c] = (moments[0, i] - moments[1, i]) / (taken[0] - taken[1])
                by[3 + i, c] = (forces[0, i] - forces[1, i]) / (taken[0] - taken[1])

    return differences


def per_point(function: Any, derivatives: Any | None, scales: tuple[float, float, float, float]) -> Any:
    """Make a load on arrays of points out of a user's functions for one point (compiled with its caller).

    The user's functions get copies to read and zeros to write. What they did not reach, because one of them raised, is
    NaN in the result.
    """
    function = _own(function)
    derivatives = _differences(function, scales) if derivatives is None else _own(derivatives)

    @managed
    def fill(
        n: int, want: int, pose: Array, twist: Array, inputs: Array, wrench: Array, dpose: Array, dtwist: Array
    ) -> None:
        _set(wrench, np.nan)
        if want != 0:
            for p in range(n):
                _set(dpose[p], np.nan)
                _set(dtwist[p], np.nan)
        R, x, omega, velocity = np.empty((3, 3)), np.empty(3), np.empty(3), np.empty(3)
        own_inputs, out = np.empty(inputs.size), np.empty((2, 3))
        by_pose, by_twist = np.empty((6, 6)), np.empty((6, 6))
        for p in range(n):
            for i in range(inputs.size):
                own_inputs[i] = inputs[i]
            _take(pose[p], twist[p], R, x, omega, velocity)
            _set(out, 0.0)
            function(R, x, omega, velocity, own_inputs, out[0], out[1])
            for i in range(3):
                wrench[p, i] = out[0, i]
                wrench[p, 3 + i] = out[1, i]
            if want != 0:
                for i in range(inputs.size):
                    own_inputs[i] = inputs[i]
                _take(pose[p], twist[p], R, x, omega, velocity)
                _set(by_pose, 0.0)
                _set(by_twist, 0.0)
                derivatives(R, x, omega, velocity, own_inputs, by_pose, by_twist)
                for i in range(6):
                    for j in range(6):
                        dpose[p, i, j] = by_pose[i, j]
                        dtwist[p, i, j] = by_twist[i, j]

    return fill


def compiled_callback(fill: Any, k: int) -> Any:
    """The C function of a compiled function on arrays, see `per_point`: an object with `address`, to be kept alive.

    An exception in it cannot reach Python: numba prints it to stderr, and what is not written yet stays NaN.
    """

    def callback(
        n: Any, want: Any, pose: Any, twist: Any, inputs: Any, wrench: Any, dpose: Any, dtwist: Any
    ) -> None:  # pragma: no cover
        fill(
            n,
            want,
            array_at(pose, (n, 12)),
            array_at(twist, (n, 6)),
            array_at(inputs, (k,)),
            array_at(wrench, (n, 6)),
            array_at(dpose, (n, 6, 6)),
            array_at(dtwist, (n, 6, 6)),
        )

    resolve(callback)
    return compiler().c_function(callback, "nn" + 6 * "f")
