"""What drives a robot: tendons along rods (more kinds follow)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .validate import finite, interval

__all__ = ["Routing", "Tendon"]

Array = NDArray[np.float64]
Routing = float | Callable[[float], float]


@dataclass(frozen=True)
class Tendon:
    """A cable that runs along a rod at the offset (0, y(X), z(X)) from its axis and pulls with a tension.

    Parameters
    ----------
    rod : str
        Name of the rod.
    y, z : float or function of X
        Offset from the axis in the section's axes [m]; X runs from 0 to 1.
    start, end : float
        Where the tendon enters the rod and where it is anchored, in X.
    dy, dz : function of X, optional
        Derivatives of y and z with respect to X [m]; numerically, to about 1e-12, if left out.

    Notes
    -----
    The input is the tension [N], positive when it pulls. Its generalised force is ``−u ∂ℓ/∂q`` with the length
    ``ℓ = ∫ |σ + κ×d + d′|`` (MATH §4, [002] D60–D63).
    """

    rod: str
    y: Routing = 0.0
    z: Routing = 0.0
    start: float = 0.0
    end: float = 1.0
    dy: Callable[[float], float] | None = None
    dz: Callable[[float], float] | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("y", "z"):
            value = getattr(self, name)
            if not callable(value):
                finite(f"Tendon.{name}", value, unit="m", hint="A number, or a function of X in [0, 1].")
        interval("Tendon.start", self.start, 0.0, 1.0, hint="A fraction of the rod's length.")
        interval("Tendon.end", self.end, 0.0, 1.0, hint="A fraction of the rod's length.")
        if self.end <= self.start:
            raise ValueError(f"Tendon.end = {self.end!r} must be larger than start = {self.start!r}.")
        self.offsets(np.linspace(self.start, self.end, 5))

    def offsets(self, X: ArrayLike) -> tuple[Array, Array]:
        """Offset d = (0, y, z) and its derivative with respect to X, each (m, 3) [m]."""
        X = np.asarray(X, dtype=float)
        d, slope = np.zeros((len(X), 3)), np.zeros((len(X), 3))
        for c, (value, derivative) in enumerate(((self.y, self.dy), (self.z, self.dz)), start=1):
            if not callable(value):
                d[:, c] = value
                continue
            d[:, c] = [float(value(float(x))) for x in X]
            if derivative is not None:
                slope[:, c] = [float(derivative(float(x))) for x in X]
            else:
                slope[:, c] = [_slope(value, float(x)) for x in X]
        if not (np.all(np.isfinite(d)) and np.all(np.isfinite(slope))):
            raise ValueError("a tendon's y(X) and z(X) must be finite for every X between start and end.")
        return d, slope


def _slope(f: Callable[[float], float], x: float, h: float = 2e-3) -> float:
    """Derivative by a polynomial of degree 8 through nine points around x, all within [0, 1]."""
    centre = min(max(x, 4 * h), 1 - 4 * h)
    nodes = np.arange(-4, 5)
    values = np.array([float(f(centre + k * h)) for k in nodes])
    coefficients = np.linalg.solve(np.vander(nodes.astype(float), 9, increasing=True), values)
    s = (x - centre) / h
    return float(sum(k * c * s ** (k - 1) for k, c in enumerate(coefficients) if k > 0) / h)
