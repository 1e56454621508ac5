"""A rod as steps: its grid and basis values, which depend on its strains alone, and the numbers that its dimensions give."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import layout
from ..model.links import Link, Rod
from ..model.robot import Robot
from ..model.rods.quadrature import SAME_POINT, Grid, chebyshev_integrals, magnus_values, merge_points, rod_grid
from ..model.rods.sections import unit_densities
from .resolution import element_ends, off_axis, points_of_rod

__all__ = [
    "RodIntegrals",
    "RodSteps",
    "block_integrals",
    "rod_integrals",
    "rod_mass",
    "rod_matrices",
    "rod_steps",
    "step_rows",
    "step_values",
]

Array = NDArray[np.float64]


def step_values(rod: Rod, x0: Array, x1: Array) -> tuple[Array, Array]:
    """Basis values (2, steps, size) and reference strains (2, steps, 6) at the Magnus nodes of steps from x0 to x1."""
    degree = rod.strains.degree
    phi = magnus_values(rod.strains.evaluate, x0, x1, rod.magnus, degree, collocation=rod.collocation)
    xi = magnus_values(rod.reference, x0, x1, rod.magnus, max(degree, 6), collocation=rod.collocation)
    return np.stack(phi), np.stack(xi)


def _node_values(rod: Rod, grid: Grid) -> tuple[Array, Array]:
    """The same as `step_values` for spectral integration: values at the end of each step, zero if not a Chebyshev point."""
    at = grid.weights[1:] > 0
    phi = np.zeros((2, len(at), rod.strains.size))
    xi = np.zeros((2, len(at), 6))
    phi[:, at] = rod.strains.evaluate(grid.X[1:][at])
    xi[:, at] = rod.reference(grid.X[1:][at])
    return phi, xi


def block_integrals(rod: Rod, grid: Grid, start: int, end: int, X: Array) -> Array:
    """Integrals [m] from X[start] of the grid to points X, as weights of values at the nodes start + 1 … end of a block."""
    a, b = grid.X[start], grid.X[end]
    at = grid.weights[start + 1 : end + 1] > 0
    out = np.zeros((len(X), end - start))
    out[:, at] = chebyshev_integrals(int(at.sum()), (X - a) / (b - a)) * ((b - a) * rod.length)
    return out


@dataclass(frozen=True, eq=False)
class RodSteps:
    """What a rod's strains, reference strain and points fix, whatever its length, section and material.

    Attributes
    ----------
    grid : Grid
        Points X with weights.
    phi, xi : ndarray (2, steps, size), (2, steps, 6)
        Basis values and reference strains at the nodes of each step.
    ends : list of int
        Points at which blocks end.
    columns : list of ndarray
        Coordinates that act in each block.
    Phi : ndarray (m, 6, size)
        Basis matrix at the points that have a weight.
    notes : list of str
        What the points do not resolve.
    made_of : tuple
        What all of this follows from.
    """

    grid: Grid
    phi: Array
    xi: Array
    ends: list[int]
    columns: list[NDArray[np.int64]]
    Phi: Array
    notes: list[str]
    made_of: tuple[Any, ...]

    @property
    def weighted(self) -> NDArray[np.bool_]:
        """Which points have a weight, (points,)."""
        return self.grid.weights > 0

    def fit(self, made_of: tuple[Any, ...]) -> bool:
        """Whether they are what these would give: the same strains and reference strain, equal points."""
        return all(a is b or (not callable(a) and _equal(a, b)) for a, b in zip(self.made_of, made_of))


def _equal(a: Any, b: Any) -> bool:
    return isinstance(a, (int, float, str, tuple)) and type(a) is type(b) and a == b


def content(value: Any) -> Any:
    """What tells whether two parts of a description are equal: themselves where they can be compared, else which object they are."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def rod_steps(
    robot: Robot,
    link: Link,
    rod: Rod,
    attached: list[float],
    named: list[float],
    refine: int,
    known: RodSteps | None,
    shared: dict[tuple[Any, ...], RodSteps] | None = None,
) -> RodSteps:
    """The steps of a rod.

    Parameters
    ----------
    robot, link, rod
        The rod, with what acts on it.
    attached, named : list of float
        Points X where links hang, and where something else acts.
    refine : int
        Multiplies the number of points.
    known : RodSteps or None
        Steps of the same rod with other dimensions, which are returned if they fit.
    shared : dict, optional
        Steps of other rods of the robot by their content, to which these are added: equal rods have the same arrays.
    """
    spectral = rod.integration == "spectral"
    inside = [x for x in attached + named if SAME_POINT < x < 1 - SAME_POINT]
    breakpoints = element_ends(robot, link, rod)
    points, notes = points_of_rod(robot, link, rod, breakpoints)
    notes += off_axis(link, rod)
    points *= refine
    if spectral:
        breakpoints = merge_points([*breakpoints, *(x for x in attached if SAME_POINT < x < 1 - SAME_POINT)])
    made_of = (
        rod.strains,
        rod.reference_strain,
        breakpoints,
        points,
        tuple(attached),
        tuple(inside),
        rod.magnus,
        rod.collocation,
        rod.integration,
        tuple(notes),
    )
    if known is not None and known.fit(made_of):
        return known
    key = tuple(content(value) for value in made_of)
    if shared is not None and key in shared:
        return replace(shared[key], made_of=made_of)
    grid = rod_grid(breakpoints, points, extra=inside, rule=rod.rule)
    _check_points(link, rod, grid, points)
    X = grid.X
    phi, xi = _node_values(rod, grid) if spectral else step_values(rod, X[:-1], X[1:])
    local = not all(np.any(phi[:, i0:i1] != 0.0, axis=(0, 1)).all() for i0, i1 in grid.elements)
    cuts = {int(np.argmin(np.abs(X - x))) for x in attached} - {0, len(X) - 1}
    if local or spectral:
        cuts |= {i1 for _i0, i1 in grid.elements} - {len(X) - 1}
    ends = [*sorted(cuts), len(X) - 1]
    everywhere = np.arange(phi.shape[2])
    columns = [
        np.flatnonzero(np.any(phi[:, i0:i1] != 0.0, axis=(0, 1))) if local else everywhere
        for i0, i1 in zip([0, *ends], ends)
    ]
    steps = RodSteps(grid, phi, xi, ends, columns, rod.strains.matrix(X[grid.weights > 0]), notes, made_of)
    if shared is not None:
        shared[key] = steps
    return steps


def _check_points(link: Link, rod: Rod, grid: Grid, points: int) -> None:
    """Error if the quadrature points cannot tell the basis functions apart."""
    X = grid.X[grid.weights > 0]
    for basis in rod.strains.bases:
        if basis is None:
            continue
        values = basis(X)
        scale = np.linalg.norm(values, axis=0)
        rank = 0 if np.any(scale == 0) else int(np.linalg.matrix_rank(values / scale, tol=1e-10))
        if rank < basis.size:
            raise ValueError(
                f"rod {link.name!r}: points = {points} per element are too few for {basis!r} with "
                f"{basis.size} functions: some of its modes would have neither stiffness nor mass. Leave points "
                f"out for the default, or use at least {basis.degree + 1}."
            )


def step_rows(rod: Rod, steps: RodSteps) -> Array:
    """The rows of `Tables.data` of a rod's steps without inertia, (steps, DATA_WIDTH)."""
    rows = np.zeros((steps.phi.shape[1], layout.DATA_WIDTH))
    if rod.integration != "spectral":
        h = np.diff(steps.grid.X) * rod.length
        rows[:, layout.D_H] = h
        rows[:, layout.D_C] = np.sqrt(3.0) / 12.0 * h**2 if rod.magnus == 4 else 0.0
    rows[:, layout.D_XI1 : layout.D_XI1 + 6] = steps.xi[0]
    rows[:, layout.D_XI2 : layout.D_XI2 + 6] = steps.xi[1]
    return rows


def rod_mass(rod: Rod, grid: Grid) -> Array:
    """Inertia of each step of a rod, at its end, (steps, 6, 6)."""
    return rod.inertia_at(grid.X)[1:] * (grid.weights[1:] * rod.length)[:, None, None]


@dataclass(frozen=True, eq=False)
class RodIntegrals:
    """Stiffness and damping of a rod's coordinates per unit of its moduli: what its length and section give."""

    young: Array  # (size, size) ∂K/∂E
    shear: Array  # ∂K/∂G
    viscous: Array  # ∂D/∂(viscosity)


def _integral(steps: RodSteps, weights: Array, density: Array) -> Array:
    """∫ Φᵀ Σ Φ (size, size) for a density (m, 6, 6), or its diagonals (m, 6)."""
    rows = steps.Phi.reshape(-1, steps.Phi.shape[2])  # points and strains
    if density.ndim == 2:
        half: Array = (weights[:, None] * density)[:, :, None] * steps.Phi
    else:
        half = (weights[:, None, None] * density) @ steps.Phi
    K: Array = rows.T @ half.reshape(rows.shape)
    return 0.5 * (K + K.T)


def rod_integrals(rod: Rod, steps: RodSteps) -> RodIntegrals | None:
    """What moduli multiply; None if the rod gives a stiffness or damping of its own, or has no one modulus."""
    if rod.section is None or rod.material is None or rod.stiffness is not None or rod.damping is not None:
        return None
    if not rod.material.is_constant:
        return None
    at = steps.weighted
    weights = steps.grid.weights[at] * rod.length
    moduli = unit_densities(rod.section, steps.grid.X[at])
    return RodIntegrals(*(_integral(steps, weights, density) for density in moduli))


def rod_matrices(rod: Rod, steps: RodSteps, integrals: RodIntegrals | None) -> tuple[Array, Array]:
    """Stiffness and damping of a rod's coordinates, ``∫ Φᵀ Σ Φ`` and ``∫ Φᵀ Υ Φ``, each (size, size); no stiffness if it has a law."""
    if integrals is not None:
        assert rod.material is not None
        m = rod.material.at(0.0)  # the same all along
        K = m.young * integrals.young + m.shear * integrals.shear
        D = m.viscosity * integrals.viscous + m.damping_time * K
    else:
        at = steps.weighted
        X, weights = steps.grid.X[at], steps.grid.weights[at] * rod.length
        K, D = _integral(steps, weights, rod.stiffness_at(X)), _integral(steps, weights, rod.damping_at(X))
    return np.zeros_like(K) if rod.law else K, D
