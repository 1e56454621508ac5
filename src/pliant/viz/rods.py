"""Where along a rod to draw its sections, and the surface through them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compile.families import families_of
from ..model.links import Frame, Rod
from ..model.robot import Robot
from ..model.rods.sections import Circle, Section
from .skins import Skin, skin

__all__ = ["places", "rod_skin", "rod_stations", "thin_radius"]

Array = NDArray[np.float64]
SAME = 1e-7  # stations that are nearer are the two sides of a jump


def rod_stations(robot: Robot, name: str, count: int, *, grow: bool = True) -> Array:
    """Where a rod is drawn: equidistant points, what is fixed to it, ends of tendons, and both sides of each jump.

    Parameters
    ----------
    robot : Robot
    name : str
        Of the rod.
    count : int
        Number of equidistant points.
    grow : bool
        Whether to take more for tendons that wind around the axis.

    Returns
    -------
    ndarray (n,)
        Increasing X in [0, 1].
    """
    rod = robot.link(name).content
    assert isinstance(rod, Rod)
    pieces = [piece for tendon in robot.tendons.values() for piece in tendon.along if piece.rod == name]
    if grow:
        count = max(
            [count, *(min(int(24 * _turns(piece.offsets(np.linspace(*piece.span, 65))[0])), 120) for piece in pieces)]
        )
    marked = [x for piece in pieces for x in (*piece.span, *piece.breakpoints)]
    marked += [frame.X for frame in places(robot) if frame.link == name and frame.X is not None]
    jumps = _jumps(rod.section) if rod.section is not None else []
    X = np.linspace(0.0, 1.0, count)
    fixed = np.array([*marked, *(x for pair in jumps for x in pair)])
    if len(fixed):
        step = 1.0 / (count - 1)
        clear = np.abs(X[:, None] - fixed).min(axis=1) > 0.25 * step
        X = np.concatenate([X[clear | (X == 0.0) | (X == 1.0)], fixed])
    X = np.unique(X)
    return X[np.concatenate([[True], np.diff(X) > 1e-10])]


def places(robot: Robot) -> list[Frame]:
    """Every frame that something is fixed to."""
    out = [link.parent for link in robot.links] + list(robot.frames.values())
    return out + [frame for family in families_of(robot) for frame in family.frames(robot)]


def _turns(d: Array) -> float:
    """How often a tendon with offsets (m, 3) winds around the axis."""
    if np.linalg.norm(d, axis=1).min() == 0.0:
        return 0.0
    angle = np.unwrap(np.arctan2(d[:, 2], d[:, 1]))
    return float(np.abs(np.diff(angle)).sum() / (2 * np.pi))


def _jumps(section: Section) -> list[tuple[float, float]]:
    """Both sides of each place where the outline jumps."""
    X = np.linspace(0.0, 1.0, 401)
    rings = section.outline(X, 4)
    largest = float(np.abs(rings).max())
    change = np.abs(np.diff(rings, axis=0)).max(axis=(1, 2))
    out = []
    for k in np.flatnonzero(change > 0.02 * largest):
        low, high = float(X[k]), float(X[k + 1])
        while high - low > 0.5 * SAME:
            middle = 0.5 * (low + high)
            left, centre, right = section.outline([low, middle, high], 4)
            if np.abs(centre - left).max() > np.abs(right - centre).max():
                high = middle
            else:
                low = middle
        left, right = section.outline([low, high], 4)
        if np.abs(right - left).max() > 0.5 * change[k]:  # otherwise it is only steep
            out.append((low, high))
    return out


def thin_radius(rod: Rod) -> float:
    """A radius for a rod that has no section [m]: that of the circle with its rotary inertia, within reason."""
    M = rod.inertia_at(np.array([0.5]))[0]
    radius = 2.0 * np.sqrt(M[1, 1] / M[3, 3]) if M[3, 3] > 0 else 0.0
    return float(np.clip(radius, rod.length / 150, rod.length / 15))


def rod_skin(rod: Rod, X: Array, outline: int = 20) -> Skin:
    """Surface of a rod through its sections at the stations X (n,), round ones with `outline` points."""
    section = rod.section if rod.section is not None else Circle(thin_radius(rod))
    corners = section.corners
    count = corners * -(-4 // corners) if corners else outline  # an outline has at least four points
    outer, inner = section.outline(X, count), section.hole(X, count)
    jumps = np.flatnonzero(np.diff(X) < SAME)
    return skin(outer, inner, jumps=jumps.tolist(), sharp=corners > 0)
