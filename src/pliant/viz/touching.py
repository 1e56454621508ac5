"""Where a robot touches obstacles, other rods or itself, for drawing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.links import Body, Rod
from ..model.loads import Contact, HalfSpace, Obstacle
from ..model.shapes import Box, Cylinder, Sphere
from ..system import System
from .meshes import shape_mesh

__all__ = ["Touching", "distance"]

Array = NDArray[np.float64]


def distance(obstacle: Obstacle, x: Array) -> tuple[Array, Array]:
    """Distance (n,) of points x (n, 3), in the axes of an obstacle, from its surface, and the direction (n, 3) away from it.

    It is positive where a robot may be: outside a solid, or inside a cavity.
    """
    shape = obstacle.shape
    if isinstance(shape, HalfSpace):
        d, n = x[:, 2], np.tile([0.0, 0.0, 1.0], (len(x), 1))
    elif isinstance(shape, Sphere):
        r = np.linalg.norm(x, axis=1)
        d, n = r - shape.radius, x / np.maximum(r, 1e-300)[:, None]
    elif isinstance(shape, Cylinder):
        k = "xyz".index(shape.axis)
        across = x.copy()
        across[:, k] = 0.0
        r = np.linalg.norm(across, axis=1)
        radial = across / np.maximum(r, 1e-300)[:, None]
        side, cap = r - shape.radius, np.abs(x[:, k]) - shape.length / 2
        end = np.zeros_like(x)
        end[:, k] = np.sign(x[:, k])
        if obstacle.inside:  # an open tube
            d, n = np.where(cap <= 0, side, -np.inf), radial
        else:
            d, n = _corner(np.stack([side, cap]), np.stack([radial, end]))
    else:
        assert isinstance(shape, Box)
        beyond = np.abs(x) - 0.5 * np.array([shape.x, shape.y, shape.z])
        axes = np.sign(x)[:, :, None] * np.eye(3)
        d, n = _corner(beyond.T, axes.transpose(1, 0, 2))
    return (-d, -n) if obstacle.inside else (d, n)


def _corner(beyond: Array, axes: Array) -> tuple[Array, Array]:
    """Distance from the meeting of surfaces: `beyond` (k, n) along `axes` (k, n, 3)."""
    out = np.maximum(beyond, 0.0)
    length = np.linalg.norm(out, axis=0)
    nearest = np.argmax(beyond, axis=0)
    each = np.arange(beyond.shape[1])
    edge = np.einsum("kn,kni->ni", out, axes) / np.maximum(length, 1e-300)[:, None]
    outside = length > 0
    return np.where(outside, length, beyond[nearest, each]), np.where(outside[:, None], edge, axes[nearest, each])


@dataclass(frozen=True, eq=False)
class Touching:
    """Finds the places where a system touches something."""

    system: System

    def points(self, q: Array) -> tuple[Array, Array]:
        """Places (k, 3) [m] and normal forces (k, 3) [N, without damping] of all contacts in a configuration."""
        robot = self.system.robot
        found: list[tuple[Array, Array]] = []
        for contact in robot.contacts.values():
            centre, radius, weight = self._spheres(contact, contact.link, q)
            if contact.other in robot.obstacles:
                obstacle = robot.obstacles[contact.other]
                g = self.system.pose(obstacle.parent, q) @ obstacle.pose.matrix
                gap, own = distance(obstacle, (centre - g[:3, 3]) @ g[:3, :3])
                normal = own @ g[:3, :3].T
                depth = radius - gap
                spots = centre - normal * radius[:, None]
            else:
                depth, normal, spots, weight = self._between(contact, q, centre, radius, weight)
            hit = (depth > 0) & np.isfinite(depth)
            force = contact.stiffness * weight[hit] * depth[hit] ** contact.exponent
            found.append((spots[hit], force[:, None] * normal[hit]))
        if not found:
            return np.zeros((0, 3)), np.zeros((0, 3))
        return np.vstack([f[0] for f in found]), np.vstack([f[1] for f in found])

    def _spheres(self, contact: Contact, name: str, q: Array) -> tuple[Array, Array, Array]:
        """Centres (n, 3), radii and weights (n,) of the contact points of a link."""
        content = self.system.robot.link(name).content
        if isinstance(content, Rod):
            assert content.section is not None
            X = self.system.rod_points(name)
            centre = self.system.rod_poses(name, q, X)[:, :3, 3]
            weight = np.gradient(X) * content.length if contact.per_length else np.ones(len(X))
            return centre, content.section.extent(X), weight
        assert isinstance(content, Body)
        assert content.shape is not None
        com = np.zeros(3) if content.inertia is None else content.inertia.com
        g = self.system.pose(name, q)
        if isinstance(content.shape, Sphere):
            local, radius = com[None], np.array([content.shape.radius])
        else:
            local = np.unique(shape_mesh(content.shape).vertices, axis=0) + com
            radius = np.zeros(len(local))
        return local @ g[:3, :3].T + g[:3, 3], radius, np.ones(len(local))

    def _between(
        self, contact: Contact, q: Array, centre: Array, radius: Array, weight: Array
    ) -> tuple[Array, Array, Array, Array]:
        """The same for contact of a rod with another one or itself."""
        other, reach, _ = self._spheres(contact, contact.other, q)
        apart = centre[:, None] - other
        gap = np.linalg.norm(apart, axis=-1)
        depth = radius[:, None] + reach - gap
        if contact.other == contact.link:
            s = self.system.rod_points(contact.link) * self.system.rod_length(contact.link)
            depth[np.abs(s[:, None] - s) < 2 * (radius[:, None] + reach)] = -1.0
        neutral = self.system.neutral()
        a, b = (self._spheres(contact, name, neutral)[0] for name in (contact.link, contact.other))
        depth[np.linalg.norm(a[:, None] - b, axis=-1) < radius[:, None] + reach] = -1.0  # joined at rest
        best = np.argmax(depth, axis=1)
        each = np.arange(len(centre))
        normal = apart[each, best] / np.maximum(gap[each, best], 1e-300)[:, None]
        return depth[each, best], normal, centre - normal * radius[:, None], weight
