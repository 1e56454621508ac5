"""The fluid itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..validate import positive, vector

__all__ = ["Fluid"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fluid:
    """A fluid without end, at rest or in uniform steady flow.

    Parameters
    ----------
    density : float
        Mass per volume ρ [kg/m³], > 0. Water is the default; air is about 1.2.
    current : array_like, shape (3,)
        Velocity of the fluid in world axes [m/s].
    """

    density: float = 1000.0
    current: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]  # an array once it has been checked

    units: ClassVar[dict[str, str]] = {"density": "kg/m³", "current": "m/s"}

    def __post_init__(self) -> None:
        """Check the values."""
        hint = "For a robot without a fluid leave the fluid out."
        object.__setattr__(self, "density", positive("Fluid.density", self.density, unit="kg/m³", hint=hint))
        hint = "The current is the velocity (x, y, z) of the fluid in world axes, in m/s."
        object.__setattr__(self, "current", vector("Fluid.current", self.current, (3,), hint=hint))
