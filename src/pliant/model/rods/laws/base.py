"""What a law of a rod says of itself: the stress that strain calls up, as a sum of terms that the kernel knows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...validate import finite, shown
from ..strains import STRAIN_NAMES

if TYPE_CHECKING:
    from ...links import Rod

__all__ = ["GROUPS", "Law", "Term", "as_laws", "numbers"]

Array: TypeAlias = NDArray[np.float64]

GROUPS: dict[str, tuple[int, ...]] = {"torsion": (0,), "bending": (1, 2), "stretch": (3,), "shear": (4, 5)}
"""Strains that belong together: the components of each name."""


class Term(NamedTuple):
    """A part of a law at m points of a rod, as `kernels.loads.laws` computes it."""

    kind: str  # see `compile.families.laws`
    values: Array  # (m, width) its numbers at each point
    component: int = 0  # first strain on which it acts
    strains: int = 6  # on so many
    choice: int = 0  # a whole number whose meaning depends on the kind
    memory: int = 0  # internal variables at each point
    smooth: bool = (
        False  # whether they have a rate; otherwise they follow from those at the last step, however it was gone
    )
    address: int = 0  # of a function of the user


@dataclass(frozen=True, repr=False)
class Law:
    """Base of the laws of rods: stress Λ (6,) at a point from strain ξ − ξ*, strain rate and what the point remembers.

    Laws take their stiffness at small strains from the rod: Σ(X) of its material and section, or its `stiffness`. Laws of one rod add
    up, ``law=(NeoHookean(), Prony(...))`` or ``NeoHookean() + Prony(...)``. The damping of the rod's material acts beside them.

    Attributes
    ----------
    elastic : bool
        Whether it replaces the linear elasticity of the rod; otherwise it acts beside that of another law, or of `Linear`.
    diagonal : bool
        Whether it needs a diagonal Σ.
    """

    elastic: ClassVar[bool] = False
    diagonal: ClassVar[bool] = True
    passive: ClassVar[bool] = True  # whether its forces have a potential in statics, see `compile.families.laws`

    def terms(self, rod: Rod, stiffness: Array, X: Array) -> list[Term]:
        """The terms at points X (m,) with the stiffness (m, 6, 6) there."""
        raise NotImplementedError

    @property
    def acts_on(self) -> tuple[int, ...]:
        """Strains by number that it is given for; they must be free."""
        names = [f.name for f in fields(self) if f.name in GROUPS and getattr(self, f.name)]
        return tuple(c for name in names for c in GROUPS[name])

    def check(self, rod: Rod) -> None:
        """Error if the law does not fit the rod."""
        free = set(rod.strains.components.tolist())
        for f in fields(self):
            if f.name in GROUPS and getattr(self, f.name) and not free & set(GROUPS[f.name]):
                raise ValueError(
                    f"law {type(self).__name__}: {f.name} = {shown(getattr(self, f.name))} is not allowed: the rod has no free {f.name}. Free it in "
                    f"strains ({', '.join(STRAIN_NAMES)}), or leave it out."
                )
        if self.diagonal and rod.stiffness is not None:
            for K in rod.stiffness_at(np.linspace(0, 1, 5)):
                if np.abs(K - np.diag(np.diag(K))).max() > 1e-12 * np.abs(K).max():
                    raise ValueError(
                        f"law {type(self).__name__} needs a diagonal stiffness, and that of the rod couples strains. Linear(), Prony and Springpot take any."
                    )

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def __add__(self, other: Any) -> Any:
        """Laws that act beside each other, as a tuple."""
        return (self, other) if isinstance(other, Law) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        """The same, of a tuple and a law."""
        return (*other, self) if isinstance(other, tuple) else NotImplemented

    def __repr__(self) -> str:
        """The values that are not those of the default."""
        given = (f for f in fields(self) if getattr(self, f.name) != f.default)
        return f"{type(self).__name__}({', '.join(f'{f.name}={shown(getattr(self, f.name))}' for f in given)})"


def numbers(field: str, value: object, *, unit: str = "", least: int = 0) -> tuple[float, ...]:
    """One number or several as a tuple."""
    if isinstance(value, (list, tuple, np.ndarray)):
        out = tuple(finite(f"{field}[{k}]", entry, unit=unit) for k, entry in enumerate(value))
    else:
        out = (finite(field, value, unit=unit),)
    if len(out) < least:
        raise ValueError(
            f"{field} = {shown(value)} is not allowed: at least {least} number{'s' * (least > 1)} are needed."
        )
    return out


def as_laws(value: Any) -> tuple[Law, ...]:
    """The laws that were given, as a tuple; empty for a linear rod."""
    laws = () if value is None else (value,) if isinstance(value, Law) else value
    if not isinstance(laws, (tuple, list)) or not all(isinstance(law, Law) for law in laws):
        raise TypeError(f"law = {shown(value)} must be a law such as NeoHookean(), or a tuple of laws that add up.")
    own = [type(law).__name__ for law in laws if law.elastic]
    if len(own) > 1:
        raise ValueError(
            f"law = {shown(value)} is not allowed: {' and '.join(own)} both are the elasticity of the rod; keep one of them."
        )
    return tuple(laws)
