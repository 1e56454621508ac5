"""Calls from kernels into laws of rods that the user wrote (see `model.rods.laws.user`), by the prototype of `_call`.

The C function is ``f(n, want, state, X, lag, result, slopes, energy)`` for n points: state (n, 12 + m) is strain, its rate and the m internal variables as they
were a time lag (1,) before, result (n, 6 + m) is stress and internal variables now, slopes (n, 6 + m, 12 + m) its derivatives, energy (n,). With want
0 the result is asked for, with 1 the slopes too, with 2 the energy alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _numba
from ._call import PROTOTYPE, _own, _view
from ._jit import managed

__all__ = ["compiled_callback", "law_shapes", "per_point", "python_callback"]

Array = NDArray[np.float64]
_ROOT = float(np.cbrt(np.finfo(float).eps))


def law_shapes(n: int, want: int, m: int) -> tuple[tuple[int, ...], ...]:
    """Shapes of the arrays of a call; empty where nothing is asked for."""
    answer, slopes, energy = n * (want < 2), n * (want == 1), n * (want == 2)
    return (n, 12 + m), (n,), (1,), (answer, 6 + m), (slopes, 6 + m, 12 + m), (energy,)


def python_callback(fill: Callable[..., None], m: int) -> Any:
    """The C function of a Python function on arrays, ``fill(n, want, state, X, lag, result, slopes, energy)``, which must not raise."""

    def callback(n: int, want: int, *pointers: int) -> None:
        fill(n, want, *[_view(address, shape) for address, shape in zip(pointers, law_shapes(n, want, m))])

    return PROTOTYPE(callback)


def _differences(function: Any, m: int, scales: tuple[float, float]) -> Any:
    """Derivatives of a compiled law by central differences."""
    angular, linear = scales

    @managed
    def differences(state: Array, X: float, lag: float, slopes: Array) -> None:
        x, out = np.empty(12 + m), np.empty((2, 6 + m))
        for j in range(12 + m):
            scale = 1.0 if j >= 12 else angular if j % 6 < 3 else linear
            step = _ROOT * max(scale, abs(state[j]))
            for side in range(2):
                for i in range(12 + m):
                    x[i] = state[i]
                x[j] = state[j] + step * (1.0 - 2.0 * side)
                for i in range(6 + m):
                    out[side, i] = 0.0
                function(x, X, lag, out[side])
            taken = (state[j] + step) - (state[j] - step)
            for i in range(6 + m):
                slopes[i, j] = (out[0, i] - out[1, i]) / taken

    return differences


def per_point(function: Any, derivatives: Any | None, energy: Any | None, m: int, scales: tuple[float, float]) -> Any:
    """Make a law on arrays out of a user's functions for one point; what they did not reach is NaN."""
    function = _own(function)
    derivatives = _differences(function, m, scales) if derivatives is None else _own(derivatives)
    stored = None if energy is None else _own(energy)

    @managed
    def ask_energy(strain: Array, X: float) -> float:
        if stored is None:
            return 0.0
        return stored(strain, X)

    @managed
    def fill(
        n: int, want: int, state: Array, X: Array, lag: Array, result: Array, slopes: Array, energies: Array
    ) -> None:
        x, out, by = np.empty(12 + m), np.empty(6 + m), np.empty((6 + m, 12 + m))
        strain = np.empty(6)
        for p in range(n):
            if want == 2:
                energies[p] = np.nan
                for i in range(6):
                    strain[i] = state[p, i]
                energies[p] = ask_energy(strain, X[p])
                continue
            for i in range(6 + m):
                result[p, i] = np.nan
                out[i] = 0.0
            for i in range(12 + m):
                x[i] = state[p, i]
            function(x, X[p], lag[0], out)
            for i in range(6 + m):
                result[p, i] = out[i]
            if want == 1:
                for i in range(6 + m):
                    for j in range(12 + m):
                        slopes[p, i, j] = np.nan
                        by[i, j] = 0.0
                for i in range(12 + m):
                    x[i] = state[p, i]
                derivatives(x, X[p], lag[0], by)
                for i in range(6 + m):
                    for j in range(12 + m):
                        slopes[p, i, j] = by[i, j]

    return fill


def compiled_callback(fill: Any, m: int) -> Any:
    """The C function of a compiled function on arrays: an object with `address`, to be kept alive."""

    def callback(
        n: Any, want: Any, state: Any, X: Any, lag: Any, result: Any, slopes: Any, energy: Any
    ) -> None:  # pragma: no cover
        fill(
            n,
            want,
            _numba.array_at(state, (n, 12 + m)),
            _numba.array_at(X, (n,)),
            _numba.array_at(lag, (1,)),
            _numba.array_at(result, (n, 6 + m)),
            _numba.array_at(slopes, (n, 6 + m, 12 + m)),
            _numba.array_at(energy, (n,)),
        )

    return _numba.c_function(callback, "nn" + 6 * "f")
