"""Tendons that compress a rod to nothing, where their force has no direction and no equilibrium exists.

At a point of a rod a tendon has the length density |t|, with t an affine function of the strain, so the energy T |t| has an
edge at t = 0. It may be least right there: then a part of the tension suffices to hold t = 0, no smooth equilibrium is near,
and Newton's method stalls. `find_crush` finds such a state and proves it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.loads.tendons import (
    L_NODE,
    L_TENDON,
    LAW_ELASTIC,
    LAW_INPUT,
    N_V,
    P_PLACE,
    P_SLOPE,
    P_WEIGHT,
    V_FRICTION,
    acting,
)
from ..system import AS_DESCRIBED, Given, System
from .balance import static_tangent
from .closure import null_space

__all__ = ["Crush", "find_crush"]

Array = NDArray[np.float64]

_NEAR = 0.1  # a tendon shortened to less than this share may be on its way to nothing
_TOUCH = 1e-3  # below this share it is held at nothing
_LEFT = 1e-7  # what is left of it, to keep its direction


class Crush(NamedTuple):
    """A state of least energy at which tendons have compressed their rods to nothing."""

    q: Array
    tendon: str
    rod: str
    X: float
    tension: float  # N
    enough: float  # N, what suffices

    def __str__(self) -> str:
        """The reason why there is no equilibrium."""
        return (
            f"tendon {self.tendon!r} compresses rod {self.rod!r} to nothing at X = {self.X:.3g}: there {self.enough:.3g} N of "
            f"its {self.tension:.4g} N suffice, the rest has nothing to balance it, and there is no equilibrium. Lower the "
            "tensions, or give the rod more stiffness there"
        )


class _Paths:
    """t = t₀ + J q (points, 3) at all points of tendons under plain tension."""

    def __init__(self, system: System, u: Array) -> None:
        tendons = system.tendons
        count = len(tendons.point)
        self.tendon = tendons.point[:, L_TENDON]
        self.weight = tendons.data[:, P_WEIGHT]
        self.J, self.start = np.zeros((count, 3, system.nv)), np.zeros((count, 3))
        for p, m in enumerate(tendons.point[:, L_NODE]):
            node, data = tendons.node[m], tendons.data[p]
            which, components, phi = acting(tendons, m)
            x, y, z = data[P_PLACE:P_SLOPE]
            E = np.array([[0, z, -y, 1, 0, 0], [-z, 0, x, 0, 1, 0], [y, -x, 0, 0, 0, 1.0]])
            self.J[p][:, node[N_V] + which] = E[:, components] * phi
            self.start[p] = E @ tendons.strain[m] + data[P_SLOPE:]
        plain = (tendons.law[:, LAW_ELASTIC] == 0) & (tendons.value[:, V_FRICTION] == 0.0)
        tension = np.where(plain, u[tendons.law[:, LAW_INPUT]], 0.0)
        self.tension = np.where(self.weight > 0.0, tension[self.tendon], 0.0)

    def at(self, x: Array) -> tuple[Array, Array]:
        """t and |t| where the rods have moved by x (nv,) from rest; slack ones are infinitely far from nothing."""
        t = self.start + self.J @ x
        return t, np.where(self.tension > 0.0, np.linalg.norm(t, axis=1), np.inf)


def find_crush(system: System, q: Array, u: Array, tau: Array, given: Given = AS_DESCRIBED) -> Crush | None:
    """A crushed state of least energy near q, proven by its forces; None if there is none."""
    if not len(system.tendons.point) or not np.all(np.isfinite(q)):
        return None
    paths = _Paths(system, u)
    rest, scale = system.neutral(), np.where(system.known, 0.0, system.internal.scale)
    nearest = paths.at(system.difference(rest, q))[1]
    if nearest.min() > _NEAR:
        return None
    held: list[int] = [int(np.argmin(nearest))]
    for _ in range(40):
        t, size = paths.at(system.difference(rest, q))
        new = [int(p) for p in np.flatnonzero(size < _TOUCH) if p not in held]
        held += new
        unit = np.where(size[held, None] > 0.0, t[held] / np.maximum(size[held, None], 1e-300), np.eye(3)[0])
        rows = (paths.J[held] * scale).reshape(-1, system.nv)
        q = system.integrate(q, -scale * np.linalg.lstsq(rows, (t[held] - _LEFT * unit).ravel(), rcond=1e-10)[0])
        r, K = static_tangent(system, q, u, tau, given=given)
        r, K = scale * r, scale[:, None] * K * scale
        if not (np.all(np.isfinite(r)) and np.all(np.isfinite(K))):
            return None
        K[system.known, system.known] = 1.0
        Z = null_space(rows)
        down, curve = Z.T @ r, Z.T @ K @ Z
        if not new and np.abs(down).max(initial=0.0) <= 1e-8 * np.abs(r).max():
            return _proven(system, paths, held, unit, rows, r, curve, q)
        q = _slide(system, q, u, tau, given, scale, Z, down, curve)
    return None


def _slide(
    system: System, q: Array, u: Array, tau: Array, given: Given, scale: Array, Z: Array, down: Array, curve: Array
) -> Array:
    """A Newton step along Z, halved until the force there falls."""
    try:
        step = np.linalg.solve(curve, -down)
    except np.linalg.LinAlgError:
        return q
    step *= min(1.0, 1.0 / max(float(np.abs(step).max(initial=0.0)), 1e-300))
    for _ in range(12):
        trial = system.integrate(q, scale * (Z @ step))
        if np.linalg.norm(Z.T @ (scale * static_tangent(system, trial, u, tau, given=given)[0])) < np.linalg.norm(down):
            return trial
        step = 0.5 * step
    return trial


def _proven(
    system: System, paths: _Paths, held: list[int], unit: Array, rows: Array, r: Array, curve: Array, q: Array
) -> Crush | None:
    """The state, if all held points need no more than the tension there is, and nothing else falls."""
    if len(curve) and np.linalg.eigvalsh((curve + curve.T) / 2)[0] <= 0.0:
        return None
    most = np.repeat(paths.weight[held] * paths.tension[held], 3)
    # forces f of the held points in place of their tensions: rowsᵀ f = rowsᵀ (w T t̂) − r; of many, those with equal shares
    wanted, root = rows.T @ (most * unit.ravel()) - r, np.sqrt(most)
    force = root * np.linalg.lstsq((rows * root[:, None]).T, wanted, rcond=1e-10)[0]
    share = np.linalg.norm((force / most).reshape(-1, 3), axis=1)
    if np.any(share > 1.0):
        return None
    worst = int(np.argmin(share))
    number = int(paths.tendon[held[worst]])
    name = list(system.robot.tendons)[number]
    tension = float(paths.tension[held[worst]])
    rod, X = _place(system, name, q)
    return Crush(q, name, rod, X, tension, float(share[worst]) * tension)


def _place(system: System, name: str, q: Array) -> tuple[str, float]:
    """The rod, and the X on it, where a tendon is shortest for its length."""
    best, rod, where = np.inf, "", 0.0
    for piece in system.robot.tendons[name].along:
        X = np.union1d(system.rod_points(piece.rod), np.linspace(*piece.span, 65))
        X = X[(piece.span[0] <= X) & (piece.span[1] >= X)]
        d, slope = piece.offsets(X)
        xi = system.strain(piece.rod, q, X)
        density = np.linalg.norm(xi[:, 3:] + np.cross(xi[:, :3], d) + slope / system.rod_length(piece.rod), axis=1)
        if density.min() < best:
            k = int(np.argmin(density))
            best, rod, where = float(density[k]), str(piece.rod), float(X[k])
    return rod, where
