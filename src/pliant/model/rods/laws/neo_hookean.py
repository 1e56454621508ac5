"""Rubber with a constant shear modulus."""

from __future__ import annotations

from dataclasses import dataclass

from .rubber import Rubber

__all__ = ["NeoHookean"]


@dataclass(frozen=True, repr=False)
class NeoHookean(Rubber):
    """Rubber: incompressible, ``w = μ/2 (I − 3)`` per volume with ``μ = E/3`` of the rod's material, whose section changes with the stretch λ.

    The force along the axis is ``μ A (λ − 1/λ²)``, bending stiffness ``EI (1 + 2/λ³)/(3λ)``, torsional stiffness ``GJ/λ``, all with the
    dimensions of the unloaded section.

    Notes
    -----
    Sections contract by λ^(−1/2) in both directions; the energy per length is exact in λ and of second order in curvature, torsion and shear. See docs/laws.md.

    Examples
    --------
    >>> import pliant as pl
    >>> rubber = pl.Material(young=3e5, poisson=0.5, density=1000)
    >>> robot = pl.Robot("strip", gravity=(0, 0, 0))
    >>> strip = robot.add_rod(
    ...     "strip", length=0.1, section=pl.Circle(0.01), material=rubber, strains=pl.Strains(stretch=0), law=pl.NeoHookean(),
    ... )
    >>> pull = robot.add_wrench("pull", strip.tip, force=(1, 0, 0))
    >>> rest = pl.solve_statics(robot.compile(), {"pull": 1e5 * 3.14159265e-4 * (2 - 1 / 4)})
    >>> print(rest.q.round(6))  # it is twice as long
    [1.]
    """
