"""Rods with a colour at each vertex on a live page.

viser's meshes have one colour each, and a glTF that is sent anew for each picture disappears while the browser reads it. So colours travel inside the mesh, as
further vertices that no triangle uses, and the script of the page (``static/live.js``) makes colours of them: shape and colours arrive together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .geometry import Tube
from .names import node_name

__all__ = ["Painted", "packed"]

Array = NDArray[np.float64]
SMALL = 0.1  # size of the cube of colours, in sizes of the mesh: inside of it, so that the browser sees no larger mesh


def packed(vertices: Array, colors: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Vertices (V, 3), then their colours (V, 3) as points of a small cube in the middle, then the cube's first and last corner."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    size = SMALL * max(float((high - low).max()), 1e-9)
    origin = 0.5 * (low + high) - 0.5 * size
    return np.vstack([vertices, origin + size * (colors / 255.0), origin, origin + size]).astype(np.float32)


class Painted:
    """A rod on a page of viser that is coloured vertex by vertex."""

    def __init__(self, server: Any, tube: Tube) -> None:
        self.tube = tube
        count = len(tube.skin.station)
        start = packed(np.zeros((count, 3)), np.zeros((count, 3), dtype=np.uint8))
        self.node = server.scene.add_mesh_simple(
            f"/colored/{node_name(tube.name)}",
            start,
            tube.skin.faces,
            color=(255, 255, 255),
            side="double",
            visible=False,
        )

    def show(self, on: bool, opacity: float | None) -> None:
        """Show or hide it, see-through or not."""
        self.node.visible, self.node.opacity = on, opacity

    def update(self, poses: Array, colors: NDArray[np.uint8]) -> None:
        """Move it to the poses (N, 4, 4) of the scene, with colours (V, 3) of its vertices."""
        self.node.vertices = packed(self.tube.skin.vertices(poses[self.tube.span]), colors)

    def remove(self) -> None:
        """Take it from the page."""
        self.node.remove()
