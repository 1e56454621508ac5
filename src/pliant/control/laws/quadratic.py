"""A small dense quadratic programme, by the dual active-set method of Goldfarb and Idnani (Math. Programming 27, 1983)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["QuadraticSolution", "solve_quadratic"]

Array = NDArray[np.float64]
_EPS = 1e-12  # relative: a constraint that is broken by less is met, a direction below is none


class QuadraticSolution(NamedTuple):
    """Result of `solve_quadratic`.

    Attributes
    ----------
    x : ndarray (n,)
    multipliers : ndarray (m,)
        Of the constraints; positive for inequalities that hold x.
    success : bool
        Whether x is the optimum; otherwise no x meets all constraints, or rounding stopped the iteration.
    iterations : int
    """

    x: Array
    multipliers: Array
    success: bool
    iterations: int

    @property
    def active(self) -> list[int]:
        """Numbers of the constraints that hold x."""
        return [int(k) for k in np.flatnonzero(self.multipliers)]


def solve_quadratic(H: Array, g: Array, A: Array, b: Array, equalities: int = 0) -> QuadraticSolution:
    """The x that makes ``½ xᵀH x + gᵀx`` least with ``A x ≥ b``, the first rows of which are equalities.

    Parameters
    ----------
    H : array (n, n)
        Symmetric and positive definite.
    g : array (n,)
    A, b : arrays (m, n), (m,)
    equalities : int

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.control.laws.quadratic import solve_quadratic
    >>> found = solve_quadratic(np.eye(2), np.array([-2.0, -1.0]), np.array([[-1.0, -1.0]]), np.array([-2.0]))
    >>> print(found.x, found.multipliers)  # the point of x + y = 2 that is nearest to (2, 1)
    [1.5 0.5] [0.5]
    """
    L = np.linalg.cholesky(H)
    size = np.linalg.norm(A, axis=1)
    size[size == 0.0] = 1.0
    N, c = A / size[:, None], b / size  # rows of unit length
    x = -np.linalg.solve(L.T, np.linalg.solve(L, g))
    sign: Array = np.ones(len(b))
    held: list[int] = []
    force = np.zeros(len(b))
    for count in range(10 * (len(b) + len(x)) + 10):
        gap = N @ x - c
        lack = np.where(np.arange(len(b)) < equalities, -np.abs(gap), gap)
        lack[held] = 0.0
        p = int(np.argmin(lack)) if len(b) else -1
        waiting = [k for k in range(equalities) if k not in held and abs(gap[k]) > _EPS * (1.0 + abs(c[k]))]
        p = waiting[0] if waiting else p
        if p < 0 or lack[p] >= -_EPS * (1.0 + np.abs(c[p]) + np.abs(N[p]) @ np.abs(x)):
            return QuadraticSolution(x, sign * force / size, True, count)
        sign[p] = -1.0 if p < equalities and gap[p] > 0.0 else 1.0
        new = 0.0
        while True:
            normal = np.linalg.solve(L, sign[p] * N[p])
            active = np.linalg.solve(L, (N[held].T * sign[held])) if held else np.zeros((len(x), 0))
            Q, R = np.linalg.qr(active)
            r = np.linalg.solve(R, Q.T @ normal) if held else np.zeros(0)
            rest = normal - Q @ (Q.T @ normal) if held else normal
            rest = rest - Q @ (Q.T @ rest) if held else rest  # once more, against rounding
            z = np.linalg.solve(L.T, rest)
            room = rest @ rest
            drop = [(force[k] / s, k) for k, s in zip(held, r) if s > 0.0 and k >= equalities]
            first = min(drop, default=(np.inf, -1))
            full = np.inf if room <= _EPS**1.5 * (normal @ normal) else -(sign[p] * (N[p] @ x - c[p])) / room
            step = min(first[0], full)
            if not np.isfinite(step):
                return QuadraticSolution(x, sign * force / size, False, count)
            force[held] -= step * r
            new += step
            if np.isfinite(full):
                x = x + step * z
            if full <= first[0]:
                force[p] = new
                held.append(p)
                break
            force[first[1]] = 0.0
            held.remove(first[1])
    return QuadraticSolution(x, sign * force / size, False, count)
