"""Loads that the user writes: any wrench that depends on pose, twist and inputs of points of the robot."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from threading import get_ident
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .validate import flag, positive

__all__ = ["UserLoad", "compiled_load"]

Array = NDArray[np.float64]
Scales = tuple[float, float, float, float]

SCALES: Scales = (1.0, 0.1, 1.0, 0.1)
_SCALE_NAMES = ("angle", "length", "angular velocity", "velocity")
_SCALE_UNITS = ("rad", "m", "rad/s", "m/s")
_ROOT = float(np.cbrt(np.finfo(float).eps))  # balances truncation and rounding of a central difference


@dataclass(frozen=True, eq=False)
class UserLoad:
    """A load given by a function of the user.

    Parameters
    ----------
    function : callable
        ``function(pose, twist, inputs) -> wrench`` for n points at once: poses (n, 4, 4) in the world, twists (n, 6) as
        angular velocity [rad/s] and velocity of the point [m/s] in world axes, inputs (k,); returns (n, 6), the moment
        about the point [N m] and the force [N] in world axes (per metre for a load along a rod). Each point must be
        treated by itself: n is the number of points in one call and 24 times that in the next. With `compiled`, a
        function for one point instead; see `compiled_load`.
    derivatives : callable, optional
        ``derivatives(pose, twist, inputs) -> (dpose, dtwist)``, both (n, 6, 6): the derivative of the wrench by
        (δθ, δx), where R becomes exp(δθ^) R and x becomes x + δx while the twist stays, and by (ω, ẋ). If left out, they
        are taken by central differences, about 1e-9 accurate relative to the largest entries for a load that varies
        over `scales`, from a tenth of them to ten times.
    inputs : sequence of str
        Names of the load's own inputs, in the order in which the function gets them.
    input_units : sequence of str
        Their units, for labels; not stated ("") if left out.
    compiled : bool
        Whether `function` (and `derivatives`) are for one point and are to be compiled.
    scales : (angle, length, angular velocity, velocity)
        Over which changes of each the load varies, in rad, m, rad/s, m/s; only for central differences, whose steps are
        6e-6 times these (for velocities times the velocity itself where that is larger).

    Notes
    -----
    Kernels call the load by its `address`. An exception in a Python function cannot pass through them: it is kept in
    `error`, the outputs become NaN, and whoever called the kernel calls `raise_error`.

    Examples
    --------
    Linear drag with its coefficient as an input:

    >>> import numpy as np
    >>> def drag(pose, twist, inputs):
    ...     return np.hstack([np.zeros((len(twist), 3)), -inputs[0] * twist[:, 3:]])
    >>> load = UserLoad(drag, inputs=["coefficient"])
    """

    function: Callable[..., Any]
    derivatives: Callable[..., Any] | None = None
    inputs: Sequence[str] = ()
    compiled: bool = False
    scales: Scales = field(default=SCALES, kw_only=True)
    input_units: Sequence[str] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        """Check the values."""
        if not callable(self.function):
            raise TypeError(f"function = {self.function!r} is not callable; give a function of (pose, twist, inputs).")
        if self.derivatives is not None and not callable(self.derivatives):
            raise TypeError(f"derivatives = {self.derivatives!r} is not callable; give a function, or leave it out.")
        object.__setattr__(self, "inputs", _names(self.inputs))
        object.__setattr__(self, "input_units", _units(self.input_units, self.inputs))
        object.__setattr__(self, "compiled", flag("compiled", self.compiled))
        object.__setattr__(self, "scales", _scales(self.scales))
        object.__setattr__(self, "_errors", {})  # by thread: several may call the function at once

    def __getstate__(self) -> dict[str, Any]:
        """What was given; the C function and its address belong to this process."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As given."""
        vars(self).update(state, _errors={})

    @property
    def name(self) -> str:
        """Name of the function, for messages."""
        return str(getattr(self.function, "__name__", None) or type(self.function).__name__)

    @cached_property
    def _callback(self) -> Any:
        """The C function, alive as long as the load."""
        from .. import _call

        k = len(self.inputs)
        if not self.compiled:
            return _call.python_callback(self._guarded(self._fill), k)
        fill = _call.per_point(self.function, self.derivatives, self.scales)
        if _call.INTERPRETED:
            return _call.python_callback(self._guarded(fill), k)
        try:
            return _call.compiled_callback(fill, k)
        except Exception as error:
            if not _call.compiler().cannot_compile(error):
                raise
            raise TypeError(
                f"load {self.name!r} cannot be compiled: its function takes (R, x, omega, velocity, inputs, moment, "
                f"force) and its derivatives (R, x, omega, velocity, inputs, dpose, dtwist), all float64 arrays, and "
                f"both may only use what numba supports. Numba says:\n{error}"
            ) from error

    @cached_property
    def address(self) -> int:
        """Address of the C function (see `pliant._call`), valid while the load lives. A compiled load compiles here."""
        callback = self._callback
        if hasattr(callback, "address"):
            return int(callback.address)
        return int(ctypes.cast(callback, ctypes.c_void_p).value or 0)

    # ------------------------------------------------------------ errors

    @property
    def error(self) -> BaseException | None:
        """The first exception in this thread since the last `raise_error`, if any."""
        return self._errors.get(get_ident())  # type: ignore[attr-defined]

    def raise_error(self) -> None:
        """Raise and forget the exception that the function raised while a kernel called it, if any."""
        error = self._errors.pop(get_ident(), None)  # type: ignore[attr-defined]
        if error is not None:
            raise error

    def _guarded(self, fill: Callable[..., None]) -> Callable[..., None]:
        """`fill` that keeps its exception and answers with NaN."""

        def guarded(n: int, want: int, *arrays: Array) -> None:
            try:
                fill(n, want, *arrays)
            except BaseException as error:  # an interrupt from the keyboard, too, would be lost in the kernel
                self._errors.setdefault(get_ident(), error)  # type: ignore[attr-defined]
                for array in arrays[3:]:
                    array[...] = np.nan

        return guarded

    # ------------------------------------------------------------ the function in Python

    def _fill(
        self, n: int, want: int, rows: Array, twist: Array, inputs: Array, wrench: Array, dpose: Array, dtwist: Array
    ) -> None:
        """The C function of a Python function: its arrays are the kernel's, so the user gets copies."""
        if n == 0:
            return
        pose = np.zeros((n, 4, 4))
        pose[:, :3, :3] = rows[:, :9].reshape(n, 3, 3)
        pose[:, :3, 3] = rows[:, 9:]
        pose[:, 3, 3] = 1.0
        wrench[:] = self._wrench(pose.copy(), twist.copy(), inputs.copy())
        if not want:
            return
        if self.derivatives is None:
            dpose[:], dtwist[:] = self._differences(pose, twist, inputs)
            return
        result = self.derivatives(pose, twist.copy(), inputs.copy())
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(
                f"load {self.name!r}: derivatives returned {_kind(result)}, "
                f"but a pair (dpose, dtwist) of arrays of shape {(n, 6, 6)} is needed."
            )
        dpose[:] = self._checked("dpose of derivatives", result[0], (n, 6, 6))
        dtwist[:] = self._checked("dtwist of derivatives", result[1], (n, 6, 6))

    def _wrench(self, pose: Array, twist: Array, inputs: Array) -> Array:
        return self._checked("the wrench of function", self.function(pose, twist, inputs), (len(pose), 6))

    def _checked(self, what: str, value: object, shape: tuple[int, ...]) -> Array:
        """A user's result as an array of the right shape."""
        try:
            array = np.asarray(value)
        except ValueError:
            array = np.empty((), dtype=object)
        if array.dtype.kind not in "fiub":
            raise TypeError(
                f"load {self.name!r}: {what} is {_kind(value)}, but real numbers of shape {shape} are needed."
            )
        if array.shape != shape:
            raise ValueError(
                f"load {self.name!r}: {what} has shape {array.shape}, but shape {shape} is needed for the "
                f"{shape[0]} point(s) of this call. Their number changes from call to call."
            )
        return array.astype(np.float64, copy=False)

    def _differences(self, pose: Array, twist: Array, inputs: Array) -> tuple[Array, Array]:
        """Derivatives by central differences, with one call for all perturbed points."""
        n = len(pose)
        angle, length, rate, speed = self.scales
        T = np.tile(pose, (2, 12, 1, 1, 1))  # side, column, point
        V = np.tile(twist, (2, 12, 1, 1))
        span = np.empty((12, n))
        omega = np.maximum(rate, np.linalg.norm(twist[:, :3], axis=1))
        velocity = np.maximum(speed, np.linalg.norm(twist[:, 3:], axis=1))
        for k in range(3):
            a, b = (k + 1) % 3, (k + 2) % 3
            for side, sign in enumerate((1.0, -1.0)):
                c, s = np.cos(_ROOT * angle), sign * np.sin(_ROOT * angle)
                T[side, k, :, a, :3] = c * pose[:, a, :3] - s * pose[:, b, :3]
                T[side, k, :, b, :3] = s * pose[:, a, :3] + c * pose[:, b, :3]
                T[side, 3 + k, :, k, 3] += sign * _ROOT * length
                V[side, 6 + k, :, k] += sign * _ROOT * omega
                V[side, 9 + k, :, 3 + k] += sign * _ROOT * velocity
            span[k] = 2.0 * _ROOT * angle
            # what was really taken, after rounding
            span[3 + k] = T[0, 3 + k, :, k, 3] - T[1, 3 + k, :, k, 3]
            span[6 + k] = V[0, 6 + k, :, k] - V[1, 6 + k, :, k]
            span[9 + k] = V[0, 9 + k, :, 3 + k] - V[1, 9 + k, :, 3 + k]
        W = self._wrench(T.reshape(-1, 4, 4), V.reshape(-1, 6), inputs.copy()).reshape(2, 12, n, 6)
        with np.errstate(
            divide="ignore", invalid="ignore"
        ):  # far beyond any robot no step is left: NaN, and the solver turns back
            D = ((W[0] - W[1]) / span[:, :, None]).transpose(1, 2, 0)
        return D[:, :, :6], D[:, :, 6:]


@overload
def compiled_load(function: Callable[..., None], /) -> UserLoad: ...


@overload
def compiled_load(
    *,
    derivatives: Callable[..., None] | None = None,
    inputs: Sequence[str] = (),
    scales: Scales = SCALES,
    input_units: Sequence[str] = (),
) -> Callable[[Callable[..., None]], UserLoad]: ...


def compiled_load(
    function: Callable[..., None] | None = None,
    /,
    *,
    derivatives: Callable[..., None] | None = None,
    inputs: Sequence[str] = (),
    scales: Scales = SCALES,
    input_units: Sequence[str] = (),
) -> UserLoad | Callable[[Callable[..., None]], UserLoad]:
    """Decorate a function for one point, which is then compiled and called without the interpreter.

    The function is ``f(R, x, omega, velocity, inputs, moment, force)`` with the rotation (3, 3), position, angular
    velocity and velocity (3,) of the point in world axes and the inputs (k,); it writes moment about the point [N m]
    and force [N], which come as zeros. It may use what numba supports. It is compiled when its address is first asked
    for, once per process.

    Parameters
    ----------
    derivatives : callable, optional
        ``g(R, x, omega, velocity, inputs, dpose, dtwist)`` that writes the derivatives, two arrays (6, 6) that come as
        zeros; see `UserLoad`. If left out, central differences are taken in compiled code.
    inputs, scales, input_units
        See `UserLoad`.

    Returns
    -------
    UserLoad

    Notes
    -----
    An exception in compiled code is printed by numba and leaves NaN; with ``NUMBA_DISABLE_JIT=1`` it is kept like that
    of a Python function. Values of variables outside the function are those at its compilation.

    Examples
    --------
    >>> @compiled_load(inputs=["coefficient"])
    ... def drag(R, x, omega, velocity, inputs, moment, force):
    ...     for i in range(3):
    ...         force[i] = -inputs[0] * velocity[i]
    >>> drag.inputs
    ('coefficient',)
    """

    def decorate(function: Callable[..., None]) -> UserLoad:
        return UserLoad(function, derivatives, inputs, True, scales=scales, input_units=input_units)

    return decorate if function is None else decorate(function)


# ---------------------------------------------------------------- checks


def _names(inputs: Any) -> tuple[str, ...]:
    try:
        names = (inputs,) if isinstance(inputs, str) else tuple(inputs)
    except TypeError:
        raise TypeError(f"inputs = {inputs!r} must be a sequence of names.") from None
    for name in names:
        if not isinstance(name, str) or not name:
            raise TypeError(f"inputs: {name!r} must be a non-empty string, the name of an input.")
        if names.count(name) > 1:
            raise ValueError(f"inputs: the name {name!r} is given twice; give each input its own.")
    return names


def _units(units: Any, inputs: Sequence[str]) -> tuple[str, ...]:
    given = (units,) if isinstance(units, str) else tuple(units)
    if not given:
        return ("",) * len(inputs)
    if len(given) != len(inputs) or not all(isinstance(unit, str) for unit in given):
        raise ValueError(f"input_units = {units!r} must be one text for each input: {', '.join(inputs) or 'none'}.")
    return given


def _scales(scales: Any) -> Scales:
    try:
        given = tuple(scales)
    except TypeError:
        given = ()
    if len(given) != 4:
        raise ValueError(f"scales = {scales!r} must be four numbers: {', '.join(_SCALE_NAMES)}.")
    checked = [
        positive(f"scales: {name}", value, unit=unit) for name, value, unit in zip(_SCALE_NAMES, given, _SCALE_UNITS)
    ]
    return checked[0], checked[1], checked[2], checked[3]


def _kind(value: object) -> str:
    """What a wrong result is, in a few words."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return f"of type {type(value).__name__}"
