"""Smooth hysteresis that does not depend on the rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from ...validate import choice, interval, positive, shown
from .base import GROUPS, Array, Law, Term, numbers

if TYPE_CHECKING:
    from ...links import Rod

__all__ = ["BoucWen"]

Pair = tuple[float, float]


@dataclass(frozen=True, repr=False)
class BoucWen(Law):
    """Bouc–Wen hysteresis beside the elasticity of the rod: ``Λ = s z``, ``dz/dx = 1 − |z|ⁿ (γ + β sgn(z dx))``, ``x = (ξ − ξ*)/x₀``, ``β + γ = 1``.

    Parameters
    ----------
    torsion, bending, stretch, shear : (float, float), optional
        s, the stress that it tends to [N m or N], and x₀, the strain over which it does [rad/m or –]; in bending and shear for each of both components.
    exponent : 1 or 2
        n: how sharply it turns over.
    beta : float
        β between ½ and 1, which makes the loops: with less it could give energy. At ½ unloading is straight.

    Notes
    -----
    The path from one step to the next is taken as straight, and then integrated in closed form: exact, whatever the step, while the strain goes one way. Statics take the path from the start.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.BoucWen(bending=(0.02, 1.5))  # up to 0.02 N m, over 1.5 rad/m
    BoucWen(bending=(0.02, 1.5))
    """

    torsion: Pair | None = None
    bending: Pair | None = None
    stretch: Pair | None = None
    shear: Pair | None = None
    exponent: Literal[1, 2] = 1
    beta: float = 0.5

    units: ClassVar[dict[str, str]] = {"exponent": "–", "beta": "–"}

    def __post_init__(self) -> None:
        """Check the values."""
        for name in GROUPS:
            value = getattr(self, name)
            if value is not None:
                pair = numbers(f"BoucWen.{name}", value)
                if len(pair) != 2:
                    raise ValueError(f"BoucWen.{name} = {shown(value)} is not allowed: give a stress and a strain.")
                self._set(name, tuple(positive(f"BoucWen.{name}[{k}]", entry) for k, entry in enumerate(pair)))
        if not self.acts_on:
            raise ValueError(
                "BoucWen acts on nothing: give torsion, bending, stretch or shear, each a stress and a strain."
            )
        choice("BoucWen.exponent", self.exponent, (1, 2))
        hint = "With less than 0.5 it could give energy."
        self._set("beta", interval("BoucWen.beta", self.beta, 0.5, 1.0, hint=hint))

    def terms(self, rod: Rod, stiffness: Array, X: Array) -> list[Term]:
        """One term for each strain."""
        out = []
        for name, own in GROUPS.items():
            pair = getattr(self, name)
            for c in own if pair is not None else ():
                row = np.tile([*pair, 2.0 * self.beta - 1.0], (len(X), 1))
                out.append(Term("bouc_wen", row, c, 1, choice=self.exponent, memory=2))
        return out
