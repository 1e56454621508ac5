"""Scalar functions of the normalised arc length X in [0, 1] that carry a strain along a rod, one file per basis.

A strain is a sum of coordinates times the functions of a basis. Each basis is an immutable value: it can be
compared, used as a dictionary key, and called with points to give the functions there.
"""

from __future__ import annotations

from ...validate import choice, integer
from .base import Basis
from .chebyshev import Chebyshev
from .custom import Custom
from .fourier import Fourier
from .gaussian import Gaussian
from .hermite import HermiteElements
from .independence import check_independent
from .inverse_multiquadric import InverseMultiquadric
from .legendre import Legendre
from .linear import LinearElements
from .monomial import Monomial
from .piecewise_constant import PiecewiseConstant
from .quadratic import QuadraticElements

__all__ = [
    "BASES",
    "BASIS_KINDS",
    "Basis",
    "Chebyshev",
    "Custom",
    "Fourier",
    "Gaussian",
    "HermiteElements",
    "InverseMultiquadric",
    "Legendre",
    "LinearElements",
    "Monomial",
    "PiecewiseConstant",
    "QuadraticElements",
    "as_basis",
    "check_independent",
]

BASES: tuple[type[Basis], ...] = (
    Legendre,
    Chebyshev,
    Monomial,
    Fourier,
    PiecewiseConstant,
    LinearElements,
    QuadraticElements,
    HermiteElements,
    Gaussian,
    InverseMultiquadric,
    Custom,
)
"""All bases that the package brings."""
_NAMED = {basis.name: basis for basis in BASES if basis.name is not None}
BASIS_KINDS = tuple(_NAMED)
"""The names that `as_basis` knows."""


def as_basis(value: int | Basis, kind: str = "legendre") -> Basis:
    """Make a basis from a number and the name of its kind.

    Parameters
    ----------
    value : int or Basis
        A basis is returned as it is. A number is the order for "legendre", "chebyshev", "monomial" and
        "fourier", the number of sections for "piecewise_constant", of elements for "linear", "quadratic" and
        "hermite", and of functions for "gaussian" and "inverse_multiquadric".
    kind : str, optional
        One of the names above.

    Returns
    -------
    Basis
        The basis.
    """
    choice("basis", kind, BASIS_KINDS)
    if isinstance(value, Basis):
        return value
    whole = integer("basis order", value, hint="Give a whole number or a basis such as Legendre(3).")
    return _NAMED[kind](whole)  # type: ignore[call-arg]
