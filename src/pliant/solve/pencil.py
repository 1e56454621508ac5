"""Eigenvalues of small motions, λ² M + λ D + K: those that grow, told from those that rounding moves across the imaginary axis.

Stretch and shear of a thin rod are 10⁸ times faster than its bending, and damped likewise. Rounding of the largest entries is larger than the rates of
the slow motions then, unless these are found by themselves: with ``λ = σ + 1/μ`` they are the largest eigenvalues of a companion matrix of the inverse.
What is near the imaginary axis, on either side, is found anew from its own eigenvectors, in which the large entries hardly take part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.solve.statics import CLEAR

__all__ = ["Growth", "Pencil", "creep", "definite", "growth", "outdamped"]

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
_DAMPED = 1e-15  # damping that counts as none, relative to stiffness and mass


class Growth(NamedTuple):
    """What grows fastest."""

    rate: complex  # eigenvalue λ [1/s]
    motion: Complex  # (n,)
    oscillates: bool


class Eigenvalue(NamedTuple):
    """An eigenvalue, the motion (n,) that belongs to it, and how far rounding may move it."""

    value: complex
    motion: Complex
    noise: float


def growth(K: Array, D: Array, M: Array) -> tuple[Growth | None, bool]:
    """What of ``M ẍ + D ẋ + K x = 0`` grows fastest, None if nothing does; and whether all eigenvalues could be told from rounding.

    K, D, M (n, n); M is symmetric and positive definite. Nothing grows without damping while all λ are on the imaginary axis.
    """
    if np.abs(D).max() > _DAMPED * np.sqrt(np.abs(K).max() * np.abs(M).max()):
        if outdamped(K, D, M):
            return None, True
        return _fastest(Pencil([K, D, M]), squared=False)
    return _fastest(Pencil([K, M]), squared=True)  # of λ²


def creep(K: Array) -> tuple[Growth | None, bool]:
    """The same for ``ẋ = −K x``."""
    return _fastest(Pencil([K, np.eye(len(K))]), squared=False)


def _fastest(pencil: Pencil, *, squared: bool) -> tuple[Growth | None, bool]:
    """What grows fastest by the eigenvalues λ of a pencil, or λ²: these are all negative where nothing grows."""
    values = pencil.values()
    if not np.all(np.isfinite(values)):
        return None, False
    near = values[(values.imag != 0.0) | (values.real > 0.0)] if squared else pencil.near_axis(values)
    fastest, certain = None, True
    for value in near[near.imag >= 0.0]:
        each = pencil.refined(complex(value))
        if each is None:
            certain = certain and abs(value) <= pencil.ZERO * pencil.shift()
            continue
        beyond = Pencil.CLEAR * each.noise
        turns = abs(each.value.imag) > beyond
        if not (each.value.real > beyond or (squared and turns)):
            certain = certain and not pencil.doubtful(each)
            continue
        rate = complex(np.sqrt(each.value)) if squared else each.value
        if fastest is None or rate.real > fastest.rate.real:
            fastest = Growth(rate, each.motion, turns)
    return fastest, fastest is not None or certain


def outdamped(K: Array, D: Array, M: Array) -> bool:
    """Whether damping outdoes what circulates, so that nothing grows; False says nothing.

    With K = S + N, N skew, a motion x of λ = α + iω has ``m λ² + d λ + s + i n = 0`` with m, d, s > 0. For α ≥ 0 its imaginary part needs ``d |ω| ≤ |n|`` and
    its real part ``m ω² ≥ s``: there is none where S − Ω² M is positive definite, with Ω no less than any |n| / d.
    """
    S, N = (K + K.T) / 2, (K - K.T) / 2
    if not (definite(S) and definite(D) and np.abs(D - D.T).max() <= 1e-12 * np.abs(D).max()):
        return False
    L = np.linalg.cholesky((D + D.T) / 2)
    size = float(np.linalg.norm(np.linalg.solve(L, np.linalg.solve(L, N).T)))
    return definite(S - 1.01 * size**2 * M)


def definite(A: Array) -> bool:
    """Whether the symmetric part of a matrix is positive definite beyond doubt."""
    S = (A + A.T) / 2
    try:
        return bool((np.linalg.cholesky(S).diagonal() ** 2 > CLEAR * S.diagonal()).all())
    except np.linalg.LinAlgError:
        return False


class Pencil:
    """A matrix polynomial ``P(λ) = Σ Cₖ λᵏ`` of degree one or two, with an invertible last coefficient.

    Parameters
    ----------
    coefficients : arrays (n, n)
        C₀, C₁ and perhaps C₂.
    """

    NOISE = 1e-13  # relative error of the entries of the coefficients
    CLEAR = 10.0  # times what rounding may do, beyond which a growth is one
    NEAR, FAR = 1e-6, 1e-12  # what is looked at again: parts of |λ| and of |λ|²/σ from the axis
    ZERO = 1e-4  # part of σ up to which an eigenvalue may be zero
    ROUNDS = 6  # of refinement
    APART = 1e-3  # part of |λ| by which it may move

    def __init__(self, coefficients: Sequence[Array]) -> None:
        self.coefficients = list(coefficients)
        self._sizes = [np.abs(C) for C in self.coefficients]
        self.degree = len(self.coefficients) - 1

    def shift(self) -> float:
        """A positive number of the size of the slowest eigenvalues."""
        first, last = (np.abs(np.diag(self.coefficients[k])) for k in (0, -1))
        ratio = first / np.where(last > 0.0, last, np.inf)
        ratio = ratio[ratio > 1e-12 * ratio.max(initial=0.0)]
        return float(0.1 * ratio.min()) ** (1.0 / self.degree) if len(ratio) else 1.0

    def values(self) -> Complex:
        """All eigenvalues, each to rounding of what is as slow as itself; those that are infinite are left out."""
        sigma = self.shift()
        n = len(self.coefficients[0])
        for _ in range(3):  # unless σ itself is one
            try:
                inverse = np.linalg.solve(self(sigma), np.hstack([*self._about(sigma)]))
                break
            except np.linalg.LinAlgError:
                sigma *= 1.37
        else:
            return np.full(n, np.nan + 0j)
        if self.degree == 1:
            C = -sigma * inverse
        else:
            C = np.block([[np.zeros((n, n)), np.eye(n)], [-(sigma**2) * inverse[:, n:], -sigma * inverse[:, :n]]])
        if not np.all(np.isfinite(C)):
            return np.full(n, np.nan + 0j)
        mu = np.linalg.eigvals(C).astype(complex)
        return np.asarray(sigma + sigma / mu[mu != 0.0])

    def __call__(self, x: complex) -> NDArray[Any]:
        """P(x), real for a real x."""
        C = self.coefficients
        return C[0] + x * C[1] + (x * x * C[2] if self.degree == 2 else 0.0)

    def _slope(self, x: complex) -> NDArray[Any]:
        """P′(x)."""
        C = self.coefficients
        return C[1] + 2.0 * x * C[2] if self.degree == 2 else C[1]

    def _about(self, sigma: float) -> list[Array]:
        """The coefficients of (λ − σ) and, of degree two, (λ − σ)²."""
        if self.degree == 1:
            return self.coefficients[1:]
        return [self.coefficients[1] + 2.0 * sigma * self.coefficients[2], self.coefficients[2]]

    def near_axis(self, values: Complex) -> Complex:
        """Those that are right of the imaginary axis, or so near to it that they may be."""
        size = np.abs(values)
        return values[values.real > -(self.NEAR * size + self.FAR * size**2 / self.shift())]

    def doubtful(self, found: Eigenvalue) -> bool:
        """Whether rounding may move an eigenvalue across the axis by more than what counts, unless it is zero and belongs to what nothing holds."""
        size, beyond = abs(found.value), self.CLEAR * found.noise
        return found.value.real > -beyond and beyond > self.NEAR * size and size > self.ZERO * self.shift()

    def refined(self, value: complex) -> Eigenvalue | None:
        """An eigenvalue from an approximation, by its right and left vectors; None if that leads to another one."""
        n = len(self.coefficients[0])
        if value.imag == 0.0:
            value = value.real  # in real arithmetic
        x: NDArray[Any] = np.random.default_rng(0).standard_normal(n)
        y: NDArray[Any] = x
        here, before, noise = value, np.inf, np.inf
        for _ in range(self.ROUNDS):
            P, slope = self(here), self._slope(here)
            try:
                with np.errstate(all="ignore"):
                    for _ in range(2):
                        x, y = np.linalg.solve(P, slope @ x), np.linalg.solve(P.conj().T, slope.conj().T @ y)
                        x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
            except np.linalg.LinAlgError:
                x = np.full(n, np.nan)
            if not (
                np.all(np.isfinite(x)) and np.all(np.isfinite(y))
            ):  # it is an eigenvalue to all digits: from beside it
                x = y = np.random.default_rng(0).standard_normal(n)
                here = here * (1 + 1e-13) + 1e-10 * self.shift()
                continue
            roots = np.roots([y.conj() @ C @ x for C in reversed(self.coefficients)])
            if not len(roots):
                return None
            new = complex(roots[np.argmin(np.abs(roots - here))])
            new = new.real if value.imag == 0.0 and np.isreal(new) else new
            step, here = abs(new - here), new
            noise = self._noise(here, x, y)
            if step <= noise or step >= 0.5 * before or step <= 1e-14 * abs(here):
                break
            before = step
        if not abs(here - value) <= self.APART * (abs(value) + self.APART * self.shift()) + self.CLEAR * noise:
            return None
        return Eigenvalue(complex(here), x.astype(complex), noise)

    def _noise(self, value: complex, x: NDArray[Any], y: NDArray[Any]) -> float:
        """How far relative errors of all entries may move an eigenvalue with these right and left vectors."""
        size = sum((abs(value) ** k * C for k, C in enumerate(self._sizes)), np.zeros_like(self._sizes[0]))
        slope = float(np.abs(y.conj() @ self._slope(value) @ x))
        return self.NOISE * float(np.abs(y) @ size @ np.abs(x)) / max(slope, 1e-300)
