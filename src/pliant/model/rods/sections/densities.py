"""Stiffness, damping and inertia per metre, from a section and its material."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from ..quadrature import points_along
from .base import Array, Section
from .composite import Composite
from .material import Material

__all__ = ["damping_density", "inertia_density", "stiffness_density", "unit_densities"]


def _diagonal(values: Array) -> Array:
    return values[:, :, None] * np.eye(6)


def unit_densities(section: Section, X: ArrayLike) -> tuple[Array, Array, Array]:
    """What Young's modulus, the shear modulus and the viscosity multiply in the densities below, as diagonals (m, 6).

    ``diag(0, Iy, Iz, A, 0, 0)``, ``diag(J, 0, 0, 0, k_y A, k_z A)`` and ``diag(Iy+Iz, 3 Iy, 3 Iz, 3 A, A, A)``.
    """
    p = section.properties(X)
    factor = section.shear_factor
    ky, kz = factor if isinstance(factor, tuple) else (factor, factor)
    young, shear, viscous = np.zeros((3, len(p.area), 6))
    young[:, 1], young[:, 2], young[:, 3] = p.Iy, p.Iz, p.area
    shear[:, 0], shear[:, 4], shear[:, 5] = p.torsion, ky * p.area, kz * p.area
    viscous[:, 0], viscous[:, 1:4], viscous[:, 4:] = p.polar, 3.0 * young[:, 1:4], p.area[:, None]
    return young, shear, viscous


def _pieces(
    section: Section, material: Material | None
) -> Iterator[tuple[float, Section, Material, tuple[float, float]]]:
    """Sign, section, material and place of what makes up a section."""
    if isinstance(section, Composite):
        for part in section.parts:
            yield 1.0, part.section, part.material, part.at
            if part.inside is not None:  # instead of what would be there
                yield -1.0, part.section, section.part(part.inside).material, part.at
    else:
        assert material is not None  # checked when the rod was made
        yield 1.0, section, material, (0.0, 0.0)


def _moved(density: Array, at: tuple[float, float]) -> Array:
    """A density (m, 6) about the centre of a part, about the axis of the rod, (m, 6, 6): ``Tᵀ D T`` with strain T ξ = (κ, ε + κ × d) at d = (0, y, z)."""
    y, z = at
    T = np.eye(6)
    T[3, 1], T[3, 2], T[4, 0], T[5, 0] = z, -y, -z, y
    return _diagonal(density) if y == z == 0.0 else np.einsum("ki,mk,kj->mij", T, density, T)


def stiffness_density(section: Section, material: Material | None, X: ArrayLike) -> Array:
    """Stiffness per unit length, ``Σ = diag(G J, E Iy, E Iz, E A, k_y G A, k_z G A)``; of a `Composite` the sum over its parts.

    Parameters
    ----------
    section : Section
    material : Material or None
        None for a `Composite`, whose parts have materials.
    X : float or array_like, shape (m,)
        Normalised arc length in [0, 1].

    Returns
    -------
    ndarray, shape (m, 6, 6)
        [N m²] for the first three entries, [N] for the others.

    Notes
    -----
    [002] D64, with the options `Section.torsion_factor` and `Section.shear_factor`. Parts beside the axis are strained by ``ε + κ × d``, which couples stretch
    with bending and shear with torsion.
    """
    points = points_along(X)
    total = np.zeros((len(points), 6, 6))
    for sign, own, made_of, at in _pieces(section, material):
        total += sign * _moved(_stiffness(own, made_of, points), at)
    return total


def _stiffness(section: Section, material: Material, X: Array) -> Array:
    """Diagonals (m, 6)."""
    young, shear, _viscous = unit_densities(section, X)
    m = material.at(X)
    return np.asarray(m.young[:, None] * young + m.shear[:, None] * shear)


def damping_density(section: Section, material: Material | None, X: ArrayLike) -> Array:
    """Damping per unit length, ``viscosity · diag(Iy+Iz, 3 Iy, 3 Iz, 3 A, A, A) + damping_time · Σ``.

    Parameters
    ----------
    section : Section
    material : Material or None
        None for a `Composite`, whose parts have materials.
    X : float or array_like, shape (m,)
        Normalised arc length in [0, 1].

    Returns
    -------
    ndarray, shape (m, 6, 6)
        [N m² s] for the first three entries, [N s] for the others.

    Notes
    -----
    First term [002] D65, second term [000].
    """
    points = points_along(X)
    total = np.zeros((len(points), 6, 6))
    for sign, own, made_of, at in _pieces(section, material):
        _young, _shear, viscous = unit_densities(own, points)
        m = made_of.at(points)
        density = m.viscosity[:, None] * viscous + m.damping_time[:, None] * _stiffness(own, made_of, points)
        total += sign * _moved(density, at)
    return total


def inertia_density(section: Section, material: Material | None, X: ArrayLike) -> Array:
    """Inertia per unit length, ``ρ diag(Iy+Iz, Iy, Iz, A, A, A)``.

    Parameters
    ----------
    section : Section
    material : Material or None
        None for a `Composite`, whose parts have materials.
    X : float or array_like, shape (m,)
        Normalised arc length in [0, 1].

    Returns
    -------
    ndarray, shape (m, 6, 6)
        [kg m] for the first three entries, [kg/m] for the others.
    """
    points = points_along(X)
    total = np.zeros((len(points), 6, 6))
    for sign, own, made_of, at in _pieces(section, material):
        p = own.properties(points)
        density = made_of.at(points).density[:, None]
        diagonal = np.stack([p.polar, p.Iy, p.Iz, p.area, p.area, p.area], axis=1)
        total += sign * _moved(density * diagonal, at)
    return total
