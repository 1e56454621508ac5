"""Which parts of a robot can touch each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .links import Body, Link, Rod
from .shapes import Shape
from .validate import unknown_name

if TYPE_CHECKING:
    from .robot import Robot

__all__ = ["check_pair"]

_CORNERS = "a Sphere, Box or Cylinder, a Capsule, Hull or Mesh, or another shape with contact_points()"


def check_pair(robot: Robot, name: str, link: Link, other: str) -> None:
    """Error unless a link can touch an obstacle or link of that name.

    Parameters
    ----------
    robot : Robot
    name : str
        Of the contact, for messages.
    link : Link
    other : str
    """
    links = {entry.name: entry for entry in robot.links}
    if other not in robot.obstacles and other not in links:
        raise unknown_name("obstacle or link", other, [*robot.obstacles, *links])
    first = _shape(name, link)
    second = robot.obstacles[other].shape if other in robot.obstacles else _shape(name, links[other])
    if link.name == other and first is not None:
        raise ValueError(f"contact {name!r}: body {other!r} is rigid and cannot touch itself.")
    hollow = other in robot.obstacles and robot.obstacles[other].inside
    if _touches(first, second) or (not hollow and _touches(second, first)):
        return
    raise ValueError(
        f"contact {name!r}: body {link.name!r} has {first!r}; contact needs {_CORNERS} to touch {other!r}, which is {second!r}."
    )


def _touches(one: Shape | None, two: Shape | None) -> bool:
    """Whether corners of one, or points of a rod (None), can touch the surface of another; two rods can."""
    if one is None and two is None:
        return True
    return (one is None or len(one.corners().points) > 0) and two is not None and two.distance() is not None


def _shape(name: str, link: Link) -> Shape | None:
    """Of a body; None for a rod, which has a section."""
    content = link.content
    if isinstance(content, Rod):
        if content.section is None:
            raise ValueError(f"contact {name!r}: rod {link.name!r} has no section, so no radius; give it one.")
        return None
    assert isinstance(content, Body)
    if content.shape is None:
        raise ValueError(f"contact {name!r}: body {link.name!r} has no shape; contact needs {_CORNERS}.")
    return content.shape
