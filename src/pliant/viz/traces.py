"""Curves on a page: where a tip is and how far rods bend, over the last seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .geometry import Scene
from .recording import Strain

__all__ = ["Traces"]

Array = NDArray[np.float64]
WINDOW = 10.0  # seconds of a live motion that are shown
MOST = 600  # points of a curve
COLORS = ("#c0392b", "#27884b", "#2c6fbb")


class Traces:
    """Plots of the first free end and of the largest curvature, below each other in the panel of a page.

    Parameters
    ----------
    server : viser.ViserServer
    scene : Scene
    """

    def __init__(self, server: Any, scene: Scene) -> None:
        self.scene, self._strain = scene, Strain(scene)
        self._rows: list[Array] = []
        names = {triad.pose: triad.name for triad in scene.triads}
        self.tip = scene.tips[0] if scene.tips else len(scene.bodies)
        empty = (np.zeros(2), *(np.zeros(2) for _ in range(3)))
        with server.gui.add_folder("Plots", expand_by_default=False):
            self._place = server.gui.add_uplot(
                empty,
                ({"label": "t"}, *({"label": axis, "stroke": color} for axis, color in zip("xyz", COLORS))),
                title=f"{names.get(self.tip, 'tip')} [m]",
                scales={"x": {"time": False}},
                aspect=1.6,
            )
            self._bend = server.gui.add_uplot(
                empty[:2],
                ({"label": "t"}, {"label": "curvature", "stroke": COLORS[2]}),
                title="largest curvature [rad/m]",
                scales={"x": {"time": False}},
                aspect=1.6,
                visible=bool(scene.tubes),
            )

    def use(self, t: Array, q: Array, poses: Array) -> None:
        """Draw a whole motion: times (T,), coordinates (T, nq), poses (T, N, 4, 4)."""
        pick = np.unique(np.linspace(0, len(t) - 1, min(len(t), MOST)).round().astype(int))
        self._draw(np.column_stack([t[pick], poses[pick, self.tip, :3, 3], self._curvature(q[pick])]))

    def clear(self) -> None:
        """Forget the curves that were added point by point."""
        self._rows = []

    def add(self, t: float, q: Array, poses: Array, *, draw: bool) -> None:
        """Add a point of a live motion; draw the last seconds."""
        self._rows.append(np.array([t, *poses[self.tip, :3, 3], *self._curvature(q[None])]))
        while self._rows[-1][0] - self._rows[0][0] > WINDOW:
            self._rows.pop(0)
        if draw and len(self._rows) > 1:
            self._draw(np.array(self._rows))

    def _curvature(self, q: Array) -> Array:
        every = self._strain.fields(q)["curvature"]
        return every.max(axis=1) if every.size else np.zeros(len(q))

    def _draw(self, rows: Array) -> None:
        if len(rows) > 1:
            columns = [np.ascontiguousarray(column) for column in rows.T]
            self._place.data = tuple(columns[:4])
            self._bend.data = (columns[0], columns[4])
