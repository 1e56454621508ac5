"""Stiffness, damping and inertia per metre, from a section and its material."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Section, SectionProperties
from .material import Material

__all__ = ["damping_density", "inertia_density", "stiffness_density"]


def _diagonal(*entries: Array) -> Array:
    values = np.stack(entries, axis=-1)
    return values[:, :, None] * np.eye(6)


def _stiffness(p: SectionProperties, section: Section, material: Material) -> Array:
    E, G = material.young, material.shear
    factor = section.shear_factor
    ky, kz = factor if isinstance(factor, tuple) else (factor, factor)
    return _diagonal(G * p.torsion, E * p.Iy, E * p.Iz, E * p.area, ky * G * p.area, kz * G * p.area)


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
    return _stiffness(section.properties(X), section, material)


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
    p = section.properties(X)
    viscous = _diagonal(p.polar, 3.0 * p.Iy, 3.0 * p.Iz, 3.0 * p.area, p.area, p.area)
    return material.viscosity * viscous + material.damping_time * _stiffness(p, section, material)


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
    return material.density * _diagonal(p.polar, p.Iy, p.Iz, p.area, p.area, p.area)
