"""Weld."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .base import Joint
from .constraints import Constraint, positions, rotations

__all__ = ["Fixed"]


@dataclass(frozen=True, repr=False)
class Fixed(Joint):
    """Weld: no motion."""

    def __post_init__(self) -> None:
        """Check that no spring was given."""
        for name, default in (("stiffness", 0.0), ("damping", 0.0), ("rest", None)):
            if np.any(np.asarray(getattr(self, name) != default)):
                raise ValueError(
                    f"Fixed.{name} = {getattr(self, name)!r} is not allowed: a fixed joint does not "
                    "move. Use Free(stiffness=..., damping=...) for an elastic mount."
                )
            object.__setattr__(self, name, default)

    def constraints(self) -> list[Constraint]:
        """Everything."""
        return [*positions(), *rotations()]

    def coordinates(self) -> list[Constraint]:
        """None."""
        return []
