"""Which strains of a rod are free, and the functions that carry each of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.model.rods.basis import BASIS_KINDS, Basis, as_basis
from pliant.model.rods.quadrature import merge_points
from pliant.model.validate import choice, shown, unknown_name

__all__ = ["STRAIN_NAMES", "STRAIN_UNITS", "Strains"]

STRAIN_NAMES = ("torsion", "bending_y", "bending_z", "stretch", "shear_y", "shear_z")
"""The six strains in the order of the components 0..5 of a strain vector."""
STRAIN_UNITS = ("rad/m", "rad/m", "rad/m", "–", "–", "–")
"""Their units, and those of the coordinates that carry them: bases are functions without unit."""

_PAIRS = {"bending": ("bending_y", "bending_z"), "shear": ("shear_y", "shear_z")}


@dataclass(frozen=True, init=False, repr=False)
class Strains:
    """The free strains of a rod and the basis of each.

    Each strain is ``None`` (not free: it keeps its reference value), a whole number (made a basis by
    `pliant.model.rods.basis.as_basis` with the kind named by `basis`) or a basis.

    Parameters
    ----------
    torsion : int or Basis, optional
        Rotation rate about the rod axis, the local x axis (component 0, rad/m).
    bending : int or Basis, optional
        Sets `bending_y` and `bending_z`.
    bending_y, bending_z : int or Basis, optional
        Rotation rate about the local y or z axis (components 1 and 2, rad/m). Bending *about* z bends the rod
        *in* the x-y plane, bending about y in the x-z plane.
    stretch : int or Basis, optional
        Change of length along the axis (component 3, no unit).
    shear : int or Basis, optional
        Sets `shear_y` and `shear_z`.
    shear_y, shear_z : int or Basis, optional
        Sliding of the sections along the local y or z axis (components 4 and 5, no unit).
    basis : str, optional
        Kind of basis made from whole numbers: "legendre", "chebyshev", "monomial", "fourier",
        "piecewise_constant", "linear", "quadratic", "hermite", "gaussian" or "inverse_multiquadric".

    Notes
    -----
    The strain vector at X is ``xi(X) = xi_reference(X) + Phi(X) q`` with ``Phi = matrix(X)``. The coordinates
    q are ordered by strain, then by function of its basis, and have the unit of their strain. With no free
    strain the rod has no coordinates (size 0).

    Examples
    --------
    >>> Strains(torsion=1, bending=3).size
    10
    """

    bases: tuple[Basis | None, ...]

    def __init__(
        self,
        *,
        torsion: int | Basis | None = None,
        bending: int | Basis | None = None,
        bending_y: int | Basis | None = None,
        bending_z: int | Basis | None = None,
        stretch: int | Basis | None = None,
        shear: int | Basis | None = None,
        shear_y: int | Basis | None = None,
        shear_z: int | Basis | None = None,
        basis: str = "legendre",
        **unknown: Never,
    ) -> None:
        for name in unknown:
            raise TypeError(unknown_name("strain", name, (*STRAIN_NAMES, *_PAIRS, "basis")).args[0])
        choice("basis", basis, BASIS_KINDS)
        bending_y, bending_z = _pair("bending", bending, bending_y, bending_z)
        shear_y, shear_z = _pair("shear", shear, shear_y, shear_z)
        values = (torsion, bending_y, bending_z, stretch, shear_y, shear_z)
        bases = tuple(
            None if value is None else _named(name, value, basis) for name, value in zip(STRAIN_NAMES, values)
        )
        object.__setattr__(self, "bases", bases)

    @cached_property
    def size(self) -> int:
        """Number of coordinates."""
        return sum(basis.size for basis in self.bases if basis is not None)

    @property
    def components(self) -> NDArray[np.int64]:
        """Strain component (0..5) that each coordinate acts on, shape (size,)."""
        sizes = [0 if basis is None else basis.size for basis in self.bases]
        return np.repeat(np.arange(6, dtype=np.int64), sizes)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Increasing points inside (0, 1) where some basis loses smoothness."""
        return merge_points(x for basis in self.bases if basis is not None for x in basis.breakpoints)

    @property
    def degree(self) -> int:
        """Largest degree of the bases; 0 without free strains."""
        return max((basis.degree for basis in self.bases if basis is not None), default=0)

    def evaluate(self, X: ArrayLike) -> NDArray[np.float64]:
        """Value of the function of each coordinate.

        Parameters
        ----------
        X : array_like, shape (n,)
            Normalised arc length in [0, 1].

        Returns
        -------
        ndarray, shape (n, size)
            Column k belongs to coordinate k, which acts on the strain component ``components[k]``.
        """
        points = np.atleast_1d(np.asarray(X, dtype=np.float64))
        columns = [basis(points) for basis in self.bases if basis is not None]
        return np.concatenate([np.zeros((len(points), 0)), *columns], axis=1)

    def matrix(self, X: ArrayLike) -> NDArray[np.float64]:
        """Dense matrix Phi from coordinates to strains.

        Parameters
        ----------
        X : array_like, shape (n,)
            Normalised arc length in [0, 1].

        Returns
        -------
        ndarray, shape (n, 6, size)
            ``Phi(X) q`` is what the coordinates add to the reference strain.
        """
        values = self.evaluate(X)
        Phi = np.zeros((len(values), 6, self.size))
        Phi[:, self.components, np.arange(self.size)] = values
        return Phi

    def __repr__(self) -> str:
        """The free strains with their bases, as one would write them."""
        given: dict[str, Basis | None] = dict(zip(STRAIN_NAMES, self.bases))
        for pair, (y, z) in _PAIRS.items():
            if given[y] is not None and given[y] == given[z]:
                given = {(pair if name == y else name): value for name, value in given.items() if name != z}
        shown = (f"{name}={value!r}" for name, value in given.items() if value is not None)
        return f"Strains({', '.join(shown)})"

    @classmethod
    def kirchhoff(cls, order: int | Basis, *, basis: str = "legendre") -> Strains:
        """Torsion and both bendings; the rod neither stretches nor shears."""
        f = as_basis(order, basis)
        return cls(torsion=f, bending=f)

    @classmethod
    def kirchhoff_extensible(cls, order: int | Basis, *, basis: str = "legendre") -> Strains:
        """Torsion, both bendings and stretch; the rod does not shear."""
        f = as_basis(order, basis)
        return cls(torsion=f, bending=f, stretch=f)

    @classmethod
    def reissner(
        cls, order: int | Basis, *, linear_order: int | Basis | None = None, basis: str = "legendre"
    ) -> Strains:
        """All six strains; `linear_order`, if given, is the order of stretch and shear."""
        f = as_basis(order, basis)
        g = f if linear_order is None else _named("linear_order", linear_order, basis)
        return cls(torsion=f, bending=f, stretch=g, shear=g)

    @classmethod
    def planar_bending(cls, order: int | Basis, *, axis: Literal["y", "z"] = "z", basis: str = "legendre") -> Strains:
        """Bending about one axis: "z" for motion in the x-y plane, "y" for the x-z plane."""
        return cls._planar(axis, as_basis(order, basis))

    @classmethod
    def planar_extensible(
        cls, order: int | Basis, *, axis: Literal["y", "z"] = "z", basis: str = "legendre"
    ) -> Strains:
        """Bending about one axis and stretch; planes as in `planar_bending`."""
        f = as_basis(order, basis)
        return cls._planar(axis, f, stretch=f)

    @classmethod
    def planar_reissner(cls, order: int | Basis, *, axis: Literal["y", "z"] = "z", basis: str = "legendre") -> Strains:
        """Bending about one axis, stretch and the shear in that plane (along y if the axis is "z")."""
        f = as_basis(order, basis)
        return cls._planar(axis, f, stretch=f, shear=f)

    @classmethod
    def _planar(cls, axis: str, bending: Basis, *, stretch: Basis | None = None, shear: Basis | None = None) -> Strains:
        """Bending about an axis with the stretch and the shear of the same plane."""
        if choice("axis", axis, ("y", "z")) == "z":
            return cls(bending_z=bending, stretch=stretch, shear_y=shear)
        return cls(bending_y=bending, stretch=stretch, shear_z=shear)

    @classmethod
    def constant(cls) -> Strains:
        """All six strains, each constant along the rod."""
        return cls.reissner(0)

    @classmethod
    def only(cls, names: str | Iterable[str], order: int | Basis, *, basis: str = "legendre") -> Strains:
        """Free the named strains, all with the same basis.

        Parameters
        ----------
        names : str or iterable of str
            Names from `STRAIN_NAMES`, or "bending" and "shear" for both of a pair.
        order : int or Basis
            Order, or the basis itself.
        basis : str, optional
            Kind of basis made from the order.
        """
        if not isinstance(names, Iterable):
            raise TypeError(f"names = {shown(names)} must be the name of a strain, or several of them.")
        f = as_basis(order, basis)
        chosen: list[str] = []
        for name in [names] if isinstance(names, str) else names:
            if not isinstance(name, str) or (name not in STRAIN_NAMES and name not in _PAIRS):
                raise unknown_name("strain", str(name), (*STRAIN_NAMES, *_PAIRS))
            chosen.extend(_PAIRS.get(name, (name,)))
        if len(set(chosen)) < len(chosen):
            raise ValueError(f"names = {names!r} names a strain more than once; give each strain once.")
        return cls(**dict.fromkeys(chosen, f))  # type: ignore[arg-type]


def _pair(
    name: str, both: int | Basis | None, y: int | Basis | None, z: int | Basis | None
) -> tuple[int | Basis | None, int | Basis | None]:
    """Values of the two strains of a pair; error if given both together and singly."""
    if both is None:
        return y, z
    if y is not None or z is not None:
        raise ValueError(
            f"{name} sets {name}_y and {name}_z, so it cannot be given together with them. "
            f"Give either {name} or the single ones."
        )
    return both, both


def _named(name: str, value: int | Basis, kind: str) -> Basis:
    """A basis from the value of a strain; errors say which strain."""
    try:
        return as_basis(value, kind)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None
