"""Calls through C function pointers: how kernels reach loads that a user wrote, and families of loads of their own.

After `_jit.py` this is the second and last file that imports numba: it needs numba's typing and code generation, which
no kernel should see.

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
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import errors, types
from numba.core.ccallback import CFunc
from numba.extending import intrinsic
from numpy.typing import NDArray

from ._jit import enable_cache, inline, managed

__all__ = [
    "INTERPRETED",
    "PROTOTYPE",
    "array_at",
    "call_load",
    "call_unit",
    "cannot_compile",
    "compiled_callback",
    "per_point",
    "pointer_to",
    "python_callback",
    "unit",
]

Array = NDArray[np.float64]
Fill = Callable[[int, int, Array, Array, Array, Array, Array, Array], None]

INTERPRETED = bool(vars(numba.config)["DISABLE_JIT"])
PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, *[ctypes.c_void_p] * 6)

_ROOT = float(np.cbrt(np.finfo(float).eps))  # balances truncation and rounding of a central difference
_NAMES = ("pose", "twist", "inputs", "wrench", "dpose", "dtwist")
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}  # as in _jit.py


# ---------------------------------------------------------------- from a kernel to the load


def _call_load(
    typing: Any,
    address: Any,
    n: Any,
    want: Any,
    pose: Any,
    twist: Any,
    inputs: Any,
    wrench: Any,
    dpose: Any,
    dtwist: Any,
) -> Any:
    """Type and build the call; numba hands over types here and calls `build` to emit code."""
    for name, kind in (("address", address), ("n", n), ("want", want)):
        if not isinstance(kind, (types.Integer, types.Boolean)):
            raise errors.TypingError(f"call_load: {name} must be an integer, not {kind}")
    arrays = (pose, twist, inputs, wrench, dpose, dtwist)
    for name, kind in zip(_NAMES, arrays):
        if not (isinstance(kind, types.Array) and kind.layout == "C" and kind.dtype == types.float64):
            raise errors.TypingError(f"call_load: {name} must be a C-contiguous array of float64, not {kind}")
    # int64 whatever was given: numba converts the arguments, so narrower or literal integers are fine
    signature = types.void(types.int64, types.int64, types.int64, *arrays)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer, pointer = ir.IntType(64), ir.DoubleType().as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [integer, integer] + [pointer] * 6)
        data = [
            builder.bitcast(context.make_array(array)(context, builder, value).data, pointer)
            for array, value in zip(signature.args[3:], arguments[3:])
        ]
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [arguments[1], arguments[2], *data])
        return context.get_dummy_value()

    return signature, build


def _call_load_interpreted(address: int, n: int, want: int, *arrays: Array) -> None:
    """The same call from Python."""
    for name, array in zip(_NAMES, arrays, strict=True):
        if array.dtype != np.float64 or not array.flags.c_contiguous:
            raise TypeError(f"call_load: {name} must be a C-contiguous array of float64")
    PROTOTYPE(address)(n, want, *[array.ctypes.data for array in arrays])


# call_load(address, n, want, pose, twist, inputs, wrench, dpose, dtwist), for use inside compiled functions. The address
# is a value at run time, no constant of the code: a kernel in the disk cache works with any load of any process.
call_load: Any = _call_load_interpreted if INTERPRETED else intrinsic(_call_load)


# ---------------------------------------------------------------- from a kernel to a unit


def _call_unit(
    typing: Any, address: Any, task: Any, ints: Any, floats: Any, buffer: Any, q: Any, v: Any, u: Any, out: Any
) -> Any:
    """Type and build the call of a unit: each array as its data pointer and its number of entries."""
    arrays = (ints, floats, buffer, q, v, u, out)
    for kind in arrays:
        if not (isinstance(kind, types.Array) and kind.layout == "C"):
            raise errors.TypingError(f"call_unit: arrays must be C-contiguous, not {kind}")
    signature = types.void(types.int64, types.int64, *arrays)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer, real = ir.IntType(64), ir.DoubleType()
        kinds = [integer.as_pointer(), *[real.as_pointer()] * 6]
        call: list[Any] = [arguments[1]]
        for array, value, kind in zip(signature.args[2:], arguments[2:], kinds):
            data = context.make_array(array)(context, builder, value)
            call += [builder.bitcast(data.data, kind), data.nitems]
        types_of = [integer, *(part for kind in kinds for part in (kind, integer))]
        function = ir.FunctionType(ir.VoidType(), types_of)
        builder.call(builder.inttoptr(arguments[0], function.as_pointer()), call)
        return context.get_dummy_value()

    return signature, build


_UNITS: list[Any] = []


def _call_unit_interpreted(address: int, task: int, *arrays: Array) -> None:
    """The same call from Python: the address is a number in a list."""
    _UNITS[address - 1](task, *(part for array in arrays for part in (array, array.size)))


# call_unit(address, task, ints, floats, buffer, q, v, u, out), for use inside compiled functions; see `Unit`
call_unit: Any = _call_unit_interpreted if INTERPRETED else intrinsic(_call_unit)


def _pointer_to(typing: Any, array: Any, offset: Any) -> Any:
    """Type and build the address of an entry of a flat array."""
    if not (isinstance(array, types.Array) and array.layout == "C" and array.ndim == 1):
        raise errors.TypingError(f"pointer_to: a flat C-contiguous array is needed, not {array}")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.gep(data.data, [arguments[1]])

    return types.CPointer(array.dtype)(array, types.int64), build


def _pointer_to_interpreted(array: Array, offset: int) -> Array:
    """The same from Python: the rest of the array."""
    return array[offset:]


# pointer_to(array, offset): where an entry of a flat array is, for `array_at`
pointer_to: Any = _pointer_to_interpreted if INTERPRETED else intrinsic(_pointer_to)


def _as_array(array: Array, shape: tuple[int, ...]) -> Array:
    return array.reshape(-1)[: math.prod(shape)].reshape(shape)


# array_at(pointer, shape): the array behind an argument of a unit, or behind `pointer_to`. It has no owner: no reference is
# counted, and no slice is checked against the length of what it is part of.
array_at: Any = _as_array if INTERPRETED else numba.carray


class Unit:
    """A part of the engine that is compiled (and cached) by itself when its address is first asked for."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    @cached_property
    def address(self) -> int:
        """Where kernels find it, in this process."""
        if INTERPRETED:
            _UNITS.append(self._function)
            return len(_UNITS)
        ints, reals = types.CPointer(types.int64), types.CPointer(types.float64)
        pointers = [part for kind in (ints, *[reals] * 6) for part in (kind, types.int64)]
        self._compiled = CFunc(self._function, ((types.int64, *pointers), types.void), {}, dict(_OPTIONS))
        enable_cache(self._compiled, self._function)
        self._compiled.compile()
        return int(self._compiled.address or 0)


def unit(function: Any) -> Unit:
    """Decorate a unit: ``f(task, ints, n, floats, n, buffer, n, q, n, v, n, u, n, out, n)`` with pointers and sizes."""
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
    pointer = types.CPointer(types.float64)

    @numba.cfunc(types.void(types.int64, types.int64, *[pointer] * 6), **_OPTIONS)
    def callback(
        n: Any, want: Any, pose: Any, twist: Any, inputs: Any, wrench: Any, dpose: Any, dtwist: Any
    ) -> None:  # pragma: no cover
        fill(
            n,
            want,
            numba.carray(pose, (n, 12)),
            numba.carray(twist, (n, 6)),
            numba.carray(inputs, (k,)),
            numba.carray(wrench, (n, 6)),
            numba.carray(dpose, (n, 6, 6)),
            numba.carray(dtwist, (n, 6, 6)),
        )

    return callback


def cannot_compile(error: BaseException) -> bool:
    """Whether an exception is numba's complaint about code that it cannot compile."""
    return isinstance(error, errors.NumbaError)
