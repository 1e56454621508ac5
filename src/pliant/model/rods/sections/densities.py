"""Stiffness, damping and inertia per metre, from a section and its material."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Section
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


def stiffness_density(section: Section, material: Material, X: ArrayLike) -> Array:
    """Stiffness per unit length, ``Σ = diag(G J, E Iy, E Iz, E A, k_y G A, k_z G A)``.

    Parameters
    ----------
    section : Section
    material : Material
    X : float or array_like, shape (m,)
        Normalised arc length in [0, 1].

    Returns
    -------
    ndarray, shape (m, 6, 6)
        [N m²] for the first three entries, [N] for the others.

    Notes
    -----
    [002] D64, with the options `Section.torsion_factor` and `Section.shear_factor`.
    """
    young, shear, _viscous = unit_densities(section, X)
    return _diagonal(material.young * young + material.shear * shear)


def damping_density(section: Section, material: Material, X: ArrayLike) -> Array:
    """Damping per unit length, ``viscosity · diag(Iy+Iz, 3 Iy, 3 Iz, 3 A, A, A) + damping_time · Σ``.

    Parameters
    ----------
    section : Section
    material : Material
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
    young, shear, viscous = unit_densities(section, X)
    stiffness = material.young * young + material.shear * shear
    return _diagonal(material.viscosity * viscous + material.damping_time * stiffness)


def inertia_density(section: Section, material: Material, X: ArrayLike) -> Array:
    """Inertia per unit length, ``ρ diag(Iy+Iz, Iy, Iz, A, A, A)``.

    Parameters
    ----------
    section : Section
    material : Material
    X : float or array_like, shape (m,)
        Normalised arc length in [0, 1].

    Returns
    -------
    ndarray, shape (m, 6, 6)
        [kg m] for the first three entries, [kg/m] for the others.
    """
    p = section.properties(X)
    return material.density * _diagonal(np.stack([p.polar, p.Iy, p.Iz, p.area, p.area, p.area], axis=1))
