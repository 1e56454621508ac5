"""Laws that the user writes: any stress that depends on strain, its rate and internal variables."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from threading import get_ident
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from ...validate import flag, integer, positive, shown
from .base import Array, Law, Term, numbers

if TYPE_CHECKING:
    from ...links import Rod

__all__ = ["UserLaw", "compiled_law"]

SCALES = (1.0, 0.1)
_ROOT = float(np.cbrt(np.finfo(float).eps))  # balances truncation and rounding of a central difference
_MOST = 32  # internal variables


@dataclass(frozen=True, eq=False, repr=False)
class UserLaw(Law):
    """A law given by a function of the user, in place of the elasticity of the rod.

    Parameters
    ----------
    function : callable
        ``function(state, X, lag) -> result`` for n points at once: state (n, 12 + m) is the strain ξ − ξ* (six numbers), its rate (six) and the internal variables as they were
        before; X (n,) is the place along the rod, lag [s] the time since: 0 at an instant, 1e12 in statics. It returns (n, 6 + m), the stress [N m, N] and what the internal
        variables are now. Each point must be treated by itself. With `compiled`, a function for one point instead; see `compiled_law`.
    derivatives : callable, optional
        The same arguments; returns (n, 6 + m, 12 + m), the derivative of result by state. If left out, they are taken by central differences, accurate to about 1e-9 of the largest
        ones for a law that varies over `scales`.
    energy : callable, optional
        ``energy(strain, X)`` with strain (n, 6): energy per metre (n,) [J/m] whose derivative the stress at rest is. Statics then look for a minimum of the energy; without it, and
        with internal variables, they solve the balance of forces alone, and the law counts as one that stores nothing.
    memory : int
        m, internal variables at each point; they begin as zero.
    smooth : bool
        Whether internal variables have a rate, so that with the time lag they are those of an implicit step, ``z = z* + lag f(z)``. Otherwise z* is what they
        were at the last step, and z must follow from the strain alone, as in plasticity.
    elastic : bool
        Whether it replaces the linear elasticity of the rod (default), or acts beside it.
    compiled : bool
        Whether the functions are for one point and are to be compiled.
    scales : (float, float)
        Changes of curvature [rad/m] and of stretch [–], and of their rates per second, over which the law varies, for central differences.

    Examples
    --------
    A rod whose bending stiffness doubles at 3 rad/m:

    >>> import numpy as np
    >>> import pliant as pl
    >>> def stiffening(state, X, lag):
    ...     strain = state[:, :6]
    ...     bend = (strain[:, 1:3] ** 2).sum(axis=1, keepdims=True) / 9
    ...     return np.array([0.01, 0.02, 0.02, 50, 20, 20]) * strain * (1 + bend)
    >>> law = pl.UserLaw(stiffening)
    >>> robot = pl.Robot("arm", gravity=(0, 0, 0))
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> arm = robot.add_rod(
    ...     "arm", length=0.3, section=pl.Circle(0.01), material=silicone, strains=pl.Strains(bending_z=0), law=law,
    ... )
    >>> moment = robot.add_wrench("moment", arm.tip, moment=(0, 0, 1))
    >>> print(pl.solve_statics(robot.compile(), {"moment": 0.12}).q.round(4))  # 0.02 κ (1 + κ²/9)
    [3.]
    """

    function: Callable[..., Any]
    derivatives: Callable[..., Any] | None = None
    energy: Callable[..., Any] | None = None
    memory: int = field(default=0, kw_only=True)
    smooth: bool = field(default=True, kw_only=True)
    elastic: bool = field(default=True, kw_only=True)  # type: ignore[misc]
    compiled: bool = field(default=False, kw_only=True)
    scales: tuple[float, float] = field(default=SCALES, kw_only=True)

    diagonal: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the values."""
        for name, needed in (("function", True), ("derivatives", False), ("energy", False)):
            value = getattr(self, name)
            if not callable(value) and (needed or value is not None):
                raise TypeError(
                    f"UserLaw.{name} = {shown(value)} is not callable; give a function{'' if needed else ', or leave it out'}."
                )
        m = integer("UserLaw.memory", self.memory)
        if m > _MOST:
            raise ValueError(f"UserLaw.memory = {m} is not allowed: at most {_MOST} internal variables at each point.")
        for name in ("smooth", "elastic", "compiled"):
            self._set(name, flag(f"UserLaw.{name}", getattr(self, name)))
        scales = numbers("UserLaw.scales", self.scales, least=2)
        self._set("scales", tuple(positive(f"UserLaw.scales[{k}]", x) for k, x in enumerate(scales[:2])))
        self._set("_errors", {})  # by thread: several may call the function at once

    @property
    def passive(self) -> bool:  # type: ignore[override]
        """Whether its forces in statics have a potential that is known."""
        return self.energy is not None and self.memory == 0

    @property
    def acts_on(self) -> tuple[int, ...]:
        """Any strain."""
        return ()

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

    def terms(self, rod: Rod, stiffness: Array, X: Array) -> list[Term]:
        """One term: the address."""
        return [Term("user", np.zeros((len(X), 0)), memory=self.memory, smooth=self.smooth, address=self.address)]

    # ------------------------------------------------------------ the C function

    @cached_property
    def _callback(self) -> Any:
        """The C function, alive as long as the law."""
        from .... import _call_laws, _numba

        if not self.compiled:
            return _call_laws.python_callback(self._guarded(self._fill), self.memory)
        fill = _call_laws.per_point(self.function, self.derivatives, self.energy, self.memory, self.scales)
        if _numba.INTERPRETED:
            return _call_laws.python_callback(self._guarded(fill), self.memory)
        try:
            return _call_laws.compiled_callback(fill, self.memory)
        except Exception as error:
            if not _numba.cannot_compile(error):
                raise
            raise TypeError(
                f"law {self.name!r} cannot be compiled: its function takes (state, X, lag, result), its derivatives (state, X, lag, slopes) and its energy (strain, X), "
                f"with float64 arrays and numbers, and they may only use what numba supports. Numba says:\n{error}"
            ) from error

    @cached_property
    def address(self) -> int:
        """Address of the C function, valid while the law lives. A compiled law compiles here."""
        callback = self._callback
        if hasattr(callback, "address"):
            return int(callback.address)
        return int(ctypes.cast(callback, ctypes.c_void_p).value or 0)

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

    def _fill(
        self, n: int, want: int, state: Array, X: Array, lag: Array, result: Array, slopes: Array, energy: Array
    ) -> None:
        """The C function of a Python function: its arrays are the kernel's, so the user gets copies."""
        wide, tall = 12 + self.memory, 6 + self.memory
        if want == 2:
            energy[:] = 0.0
            if self.energy is not None:
                energy[:] = self._checked("energy", self.energy(state[:, :6].copy(), X.copy()), (n,))
            return
        result[:] = self._result(state.copy(), X.copy(), float(lag[0]))
        if want == 1 and self.derivatives is not None:
            found = self.derivatives(state.copy(), X.copy(), float(lag[0]))
            slopes[:] = self._checked("derivatives", found, (n, tall, wide))
        elif want == 1:
            for j in range(wide):
                scale = 1.0 if j >= 12 else self.scales[0] if j % 6 < 3 else self.scales[1]
                step = _ROOT * np.maximum(scale, np.abs(state[:, j]))
                ends = np.tile(state, (2, 1, 1))
                ends[0, :, j] += step
                ends[1, :, j] -= step
                both = [self._result(end.copy(), X.copy(), float(lag[0])) for end in ends]
                slopes[:, :, j] = (both[0] - both[1]) / (ends[0, :, j] - ends[1, :, j])[:, None]

    def _result(self, state: Array, X: Array, lag: float) -> Array:
        return self._checked("function", self.function(state, X, lag), (len(X), 6 + self.memory))

    def _checked(self, what: str, value: object, shape: tuple[int, ...]) -> Array:
        """A user's result as an array of the right shape."""
        array = np.asarray(value)
        if array.dtype.kind not in "fiu" or array.shape != shape:
            raise TypeError(
                f"law {self.name!r}: {what} returned an array of {array.dtype} of shape {array.shape}, but real numbers of shape {shape} are needed."
            )
        return array.astype(np.float64, copy=False)


@overload
def compiled_law(function: Callable[..., None], /) -> UserLaw: ...


@overload
def compiled_law(
    *,
    derivatives: Callable[..., None] | None = None,
    energy: Callable[..., float] | None = None,
    memory: int = 0,
    smooth: bool = True,
    elastic: bool = True,
    scales: tuple[float, float] = SCALES,
) -> Callable[[Callable[..., None]], UserLaw]: ...


def compiled_law(
    function: Callable[..., None] | None = None,
    /,
    *,
    derivatives: Callable[..., None] | None = None,
    energy: Callable[..., float] | None = None,
    memory: int = 0,
    smooth: bool = True,
    elastic: bool = True,
    scales: tuple[float, float] = SCALES,
) -> UserLaw | Callable[[Callable[..., None]], UserLaw]:
    """Decorate a law for one point, which is then compiled and called without the interpreter.

    The function is ``f(state, X, lag, result)`` with state (12 + m,) and result (6 + m,), which comes as zeros; see `UserLaw`. It may use what numba supports.

    Parameters
    ----------
    derivatives : callable, optional
        ``g(state, X, lag, slopes)`` that writes slopes (6 + m, 12 + m), which come as zeros; central differences if left out.
    energy : callable, optional
        ``w(strain, X)`` that returns the energy per metre of a strain (6,) [J/m].
    memory, smooth, elastic, scales
        See `UserLaw`.

    Returns
    -------
    UserLaw

    Examples
    --------
    >>> import pliant as pl
    >>> @pl.compiled_law
    ... def soft(state, X, lag, result):
    ...     for c in range(6):
    ...         result[c] = 2.0 * state[c] / (1.0 + abs(state[c]))
    >>> soft.compiled, soft.name
    (True, 'soft')
    """

    def decorate(function: Callable[..., None]) -> UserLaw:
        return UserLaw(
            function, derivatives, energy, memory=memory, smooth=smooth, elastic=elastic, compiled=True, scales=scales
        )

    return decorate if function is None else decorate(function)
