"""How far the points along rods are from enough: comparison with twice as many, and an estimate that costs microseconds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..compile.assembly import LinkInfo
from ..compile.rods import step_values
from ..kernels.algebra.linear import mark_independent
from ..model.links import Rod
from .core import Array, Inputs
from .dynamics import residual, residual_tangent
from .workspace import AS_DESCRIBED, Given

if TYPE_CHECKING:
    from . import System

__all__ = [
    "Companion",
    "RodSteps",
    "SpatialError",
    "points_advice",
    "rough_error",
    "shape_error",
    "spatial_error",
    "steps_of",
]

REFINE = 2
"""How many times more points the finer system has."""
_ALONG = np.array([0.0, 0.25, 0.5, 0.75, 1.0])


@dataclass(frozen=True)
class SpatialError:
    """What the points along rods leave of error in one configuration; `float` of it is `value`.

    Found by comparison with twice as many points. Distances are relative to the length of rod from the root to the end of a link.

    Attributes
    ----------
    value : float
        The larger of `shape` and `shift`.
    shape : float
        Largest error of the position of a link, or of a point of a rod, for the same coordinates.
    shift : float
        How far the links would move if the rods found their equilibrium under the same inputs with more points: one step of Newton's
        method, joints held. Contact is left out, since a rod touches at its points. NaN where the stiffness is singular, or the change
        too large for one step.
    force : float
        Difference of the generalised static forces, relative to the largest.
    rods : dict
        For each rod the error of its own shape, relative to its own length.
    points : dict
        For each rod the number of points per element (`points` of `add_rod`) that it has now.
    notes : tuple of str
        What is not resolved whatever the configuration: functions with kinks, loads that vary too fast.
    order : dict
        For each rod the power with which its error falls with the points; 0 where it falls exponentially.
    """

    value: float
    shape: float
    shift: float
    force: float
    rods: dict[str, float]
    points: dict[str, int]
    notes: tuple[str, ...] = ()
    order: dict[str, int] = field(default_factory=dict, repr=False)

    def __float__(self) -> float:
        """The value."""
        return self.value

    def advice(self, tolerance: float = 1e-3) -> str:
        """What to do for an error of at most `tolerance`; empty if there is nothing to do.

        Examples
        --------
        >>> import pliant as pl
        >>> SpatialError = pl.SpatialError
        >>> error = SpatialError(4e-3, 4e-3, 0.0, 0.0, {"arm": 4e-3}, {"arm": 6}, order={"arm": 4})
        >>> error.advice(1e-3)
        "Use points=9 instead of 6 for rod 'arm'."
        """
        said = list(self.notes)
        if self.value > tolerance and self.rods:
            said.insert(0, _advice(self.rods, self.points, self.order, self.value, tolerance))
        return " ".join(said)

    def __str__(self) -> str:
        """One line, and what to do."""
        shift = "" if np.isnan(self.shift) else f", {self.shift:.1e} in the equilibrium"
        text = f"spatial error {self.value:.1e} of the length ({self.shape:.1e} in the shape{shift})"
        rods = ", ".join(f"{name} {value:.1e}" for name, value in self.rods.items())
        return "\n".join(filter(None, [text, f"rods: {rods}" if rods else "", self.advice()]))


def _advice(
    rods: dict[str, float], points: dict[str, int], order: dict[str, int], value: float, tolerance: float
) -> str:
    """Points for a smaller error, from those of the rods and the one that counts."""
    worst = max(rods, key=lambda name: rods[name])
    share = value / rods[worst] if rods[worst] > 0 else 1.0  # what reaches the links of what a rod errs itself
    parts = []
    for name, error in rods.items():
        ratio = error * share / tolerance
        if ratio > 1.0 or name == worst:
            now, power = points[name], order.get(name, 4)
            ratio = max(ratio, 1.1)
            wanted = np.ceil(now * ratio ** (1 / power)) if power else now + np.ceil(3 * np.log10(ratio))
            parts.append(f"points={max(int(wanted), now + 1)} instead of {now} for rod {name!r}")
    return f"Use {', '.join(parts)}."


def points_advice(system: System, rods: dict[str, float], value: float, tolerance: float) -> str:
    """Points for an error of at most `tolerance` where it is `value` and that of each rod's shape as given."""
    infos = system._assembly.links
    points = {name: _points_now(infos[name]) for name in rods}
    return _advice(rods, points, {name: _order_of(system._rod(name)[2]) for name in rods}, value, tolerance)


def _points_now(info: LinkInfo) -> int:
    assert info.grid is not None
    return int(np.count_nonzero(info.grid.weights)) // len(info.grid.elements)


def _order_of(rod: Rod) -> int:
    return 0 if rod.integration == "spectral" else rod.magnus


class Companion:
    """A system with finer rods, and what comparing needs; made once for a system."""

    def __init__(self, system: System) -> None:
        robot = system._robot.copy()
        touching = bool(robot.contacts)
        robot.contacts.clear()  # a rod touches at its points: with more of them its contact would be stiffer, not more exact
        self.fine = type(system)(robot, refine=REFINE)
        self.coarse = type(system)(robot) if touching else system
        self.infos = system._assembly.links
        self.rods = [name for name, info in self.infos.items() if info.link.is_rod]
        self.reach: dict[str, float] = {"world": 0.0}  # length of rod from the root to the end of a link
        self.before: dict[str, float] = {}  # and to its start
        for name, info in self.infos.items():
            parent, X = info.link.parent.link, info.link.parent.X
            start = self.reach[parent]
            if parent in self.before and X is not None:
                start = self.before[parent] + X * (self.reach[parent] - self.before[parent])
            rod = info.link.content
            self.before[name] = start
            self.reach[name] = start + (rod.length if isinstance(rod, Rod) else 0.0)

    def places(self, system: System, q: Array) -> dict[str, Array]:
        """Poses (m, 4, 4) along each rod, or of each body."""
        return {
            name: system.rod_poses(name, q, _ALONG) if info.link.is_rod else system.pose(name, q)[None]
            for name, info in self.infos.items()
        }

    def distance(self, a: dict[str, Array], b: dict[str, Array]) -> float:
        """Largest distance between the same places, relative to the length of rod up to the end of their link."""
        gaps = {name: float(np.linalg.norm(a[name][:, :3, 3] - b[name][:, :3, 3], axis=1).max()) for name in self.infos}
        return max((gap / self.reach[name] for name, gap in gaps.items() if self.reach[name] > 0), default=0.0)

    def shapes(self, a: dict[str, Array], b: dict[str, Array]) -> dict[str, float]:
        """For each rod the largest distance of its points as seen from its start, relative to its length."""
        out = {}
        for name in self.rods:
            p, r = (np.einsum("ji,mj->mi", g[name][0, :3, :3], g[name][:, :3, 3] - g[name][0, :3, 3]) for g in (a, b))
            length = self.reach[name] - self.before[name]
            out[name] = float(np.linalg.norm(p - r, axis=1).max() / length)
        return out


def shape_error(system: System, q: Array) -> tuple[float, dict[str, float]]:
    """Error of positions for given coordinates, in all and of each rod by itself."""
    companion = system.companion
    a, b = companion.places(system, q), companion.places(companion.fine, q)
    return companion.distance(a, b), companion.shapes(a, b)


def _shift(system: System, q: Array, u: Array, given: Given, change: Array) -> Array:
    """Strain coordinates' answer (nv,) to a change of the static residual, joints held and loops closed; NaN if singular."""
    out = np.zeros(system.nv)
    free = np.zeros(system.nv, dtype=bool)
    for name in system.companion.rods:
        free[system._assembly.links[name].rod_v] = True
    free &= ~system.known
    if not free.any():
        return out
    scale = system.internal.scale[free]
    zero = np.zeros(system.nv)
    K = residual_tangent(system, (q, zero, zero, u, None), (1.0, 0.0, 0.0), given)
    K = scale[:, None] * K[np.ix_(free, free)] * scale
    G = system.closure(q)[1][:, free] * scale
    choice = np.ones(len(G))
    mark_independent(np.array(G, order="C"), choice)  # redundant constraints carry no force
    G = G[choice > 0.0] / max(float(np.abs(G).max(initial=0.0)), 1e-300)
    size = float(np.abs(np.diag(K)).max())
    if not 0.0 < size < np.inf:
        return np.full(system.nv, np.nan)
    matrix = np.block([[K / size, G.T], [G, np.zeros((len(G), len(G)))]])
    right = np.concatenate([-scale * change[free] / size, np.zeros(len(G))])
    answer, _rest, rank, _values = np.linalg.lstsq(matrix, right, rcond=1e-12)
    if rank < len(matrix) and not len(G):
        return np.full(system.nv, np.nan)
    out[free] = scale * answer[: len(scale)]
    return out


def spatial_error(system: System, q: Array, u: Inputs = None, given: Given = AS_DESCRIBED) -> SpatialError:
    """See `System.spatial_error`."""
    companion = system.companion
    inputs = system.inputs(u)
    fine, coarse = companion.fine, companion.coarse
    zero = np.zeros(system.nv)
    here = companion.places(system, q)
    there = companion.places(fine, q)
    shape, rods = companion.distance(here, there), companion.shapes(here, there)
    static = residual(coarse, q, zero, zero, inputs, None, given)
    change = residual(fine, q, zero, zero, inputs, None, given) - static
    scale = system.internal.scale
    elastic = coarse.elastic_forces(q)
    size = max(float(np.abs(scale * f).max()) for f in (elastic, static - elastic))
    step = _shift(system, q, inputs, given, change)
    shift = np.nan
    if np.all(np.isfinite(step)) and float(np.abs(step / scale).max()) < 1.0:
        shift = companion.distance(here, companion.places(fine, system.integrate(q, step)))
    infos = system._assembly.links
    return SpatialError(
        value=shape if np.isnan(shift) else max(shape, shift),
        shape=shape,
        shift=shift,
        force=float(np.abs(scale * change).max()) / size if size > 0 else 0.0,
        rods=rods,
        points={name: _points_now(infos[name]) for name in rods},
        notes=system._assembly.notes,
        order={name: _order_of(system._rod(name)[2]) for name in rods},
    )


# ---------------------------------------------------------------- without a finer system


@dataclass(frozen=True)
class RodSteps:
    """Maps from a rod's coordinates to what the error of its Magnus steps depends on."""

    where: slice  # coordinates
    matrix: Array  # (12 steps, size): ω, ω′, ω″, v′ at the middle of each step
    rest: Array  # (12 steps,)
    weights: Array  # (steps,) powers of h over the length
    order: int


def steps_of(info: LinkInfo, rod: Rod) -> RodSteps | None:
    """None for a rod whose error has another form (collocation, spectral)."""
    if rod.collocation or rod.integration == "spectral":
        return None
    assert info.grid is not None
    X = info.grid.X
    h = np.diff(X) * rod.length
    middle = 0.5 * (X[1:] + X[:-1]) * rod.length
    two = replace(rod, magnus=4)  # nodes that differ, which show the slope: those of order 2 do not
    phi, xi = step_values(two, X[:-1], X[1:])
    components = rod.strains.components
    full = np.zeros((2, len(h), 6, rod.strains.size + 1))  # the last column is the reference strain
    full[:, :, components, np.arange(rod.strains.size)] = phi
    full[:, :, :, -1] = xi
    mean = 0.5 * (full[0] + full[1])
    slope = np.sqrt(3.0) * (full[1] - full[0]) / h[:, None, None]
    second = np.zeros_like(slope)
    for first, last in info.grid.elements:
        if last - first > 1:
            second[first:last] = np.gradient(slope[first:last], middle[first:last], axis=0)
    rows = np.stack([mean[:, :3], slope[:, :3], second[:, :3], slope[:, 3:]])
    flat = rows.reshape(12 * len(h), -1)
    power = 5 if rod.magnus == 4 else 3
    return RodSteps(
        info.rod_q, np.ascontiguousarray(flat[:, :-1]), flat[:, -1].copy(), h**power / rod.length, rod.magnus
    )


def rough_error(system: System, q: Array) -> float:
    """Estimate of the error of a rod's shape relative to its length, the largest of all rods; infinite if there is none.

    The leading term of the Magnus expansion that a step leaves out, with norms in place of brackets: of order 4
    ``h⁵ (κ² |ω′| + κ³ |v′| + κ |ω″|) / 720 + h⁵ |ω′|² / 240``, of order 2 ``h³ (|ω′| + κ |v′|) / 12``, summed over steps.
    """
    worst = 0.0
    for rod in system.rod_steps:
        if rod is None:
            return np.inf
        values = (rod.matrix @ q[rod.where] + rod.rest).reshape(4, -1, 3)
        k, k1, k2, v1 = np.sqrt(np.einsum("ksc,ksc->ks", values, values))
        first = k1 + k * v1
        local = (k * (k * first + k2) / 720.0 + k1 * k1 / 240.0) if rod.order == 4 else first / 12.0
        worst = max(worst, float(rod.weights @ local))
    return worst
