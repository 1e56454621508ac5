"""Gaussian bumps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .bumps import Bumps

__all__ = ["Gaussian"]


@dataclass(frozen=True, repr=False)
class Gaussian(Bumps):
    """Gaussian bumps 2^(-4 r^2 / width^2), r the distance from the centre.

    Parameters
    ----------
    functions : int
        Number of bumps, at least 1; the centres are evenly spread from X = 0 to X = 1 (a single one sits at
        1/2).
    width : float, optional
        Full width at half height as a fraction of the rod length, 0.001 to 1000. By default the distance
        between neighbouring centres (1 for a single bump).
    """

    name: ClassVar[str] = "gaussian"
    degree_per_width: ClassVar[float] = 2.5

    @staticmethod
    def profile(squared: NDArray[np.float64]) -> NDArray[np.float64]:
        """Height of a bump."""
        return np.exp2(-4.0 * squared)
