"""Which parts of a robot can touch each other, and all of them at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .links import Body, Link, Rod
from .loads import Contact
from .shapes import Shape
from .validate import shown, unknown_name

if TYPE_CHECKING:
    from .robot import Robot

__all__ = ["add_contacts", "check_pair"]

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


def add_contacts(
    self: Robot,
    name: str,
    links: Link | str | Iterable[Link | str] = "*",
    others: Link | str | Iterable[Link | str] | None = None,
    *,
    skip: Iterable[tuple[Link | str, Link | str]] = (),
    neighbours: bool = False,
    **law: Any,
) -> dict[str, Contact]:
    """Let all parts of a group touch each other, or all of a group all of another; see `add_contact`.

    Pairs that are joined (by a joint, rigidly, or by a loop joint), that cannot move relative to each other, or that have a contact already are left out. In each step only
    pairs whose surrounding spheres overlap are looked at closely.

    Parameters
    ----------
    name : str
        The contact of a and b is called "name: a on b".
    links : link, name, or several of them
        Links, and obstacles by name. "*" is all links that have a shape or a section.
    others : link, name, or several of them, optional
        Left out: the pairs are those among `links`. "*" is all links and all obstacles.
    skip : iterable of pairs
        Pairs that never touch.
    neighbours : bool
        Whether links that a joint connects touch, too; those that are fixed to each other never do.
    **law
        See `add_contact`. `per_length` is for rods; other pairs are without it.

    Returns
    -------
    dict of str to Contact
        By name.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("box of balls")
    >>> for k in range(4):
    ...     ball = robot.add_body(f"ball {k}", joint=pl.Free(), shape=pl.Sphere(0.02), mass=0.1, offset=(0, 0, 0.1 * k))
    >>> floor = robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.02))
    >>> touching = robot.add_contacts("touch", "*", "*", stiffness=1e4, damping=1.0)
    >>> len(touching), list(touching)[-1]
    (10, 'touch: ball 3 on floor')
    """
    first = _group(self, name, "links", links, obstacles=False)
    second = first if others is None else _group(self, name, "others", others, obstacles=True)
    never = {frozenset(_name(self, name, part) for part in pair) for pair in skip}
    joined, fixed = _joined(self)
    done = {frozenset((pair.link, pair.other)) for pair in self.contacts.values()}
    out = {}
    for i, a in enumerate(first):
        for b in second[:i] if others is None else second:
            one, two = (b, a) if a in self.obstacles else (a, b)
            pair = frozenset((one, two))
            rigid = fixed[one] == fixed[two]
            near = not neighbours and frozenset((fixed[one], fixed[two])) in joined
            if one == two or rigid or near or pair in never or pair in done:
                continue
            done.add(pair)
            label = f"{name}: {one} on {two}"
            rods = [part for part in (one, two) if part not in self.obstacles and self.link(part).is_rod]
            own = {**law, "per_length": bool(law.get("per_length")) and len(rods) > 0}
            if not own["per_length"]:
                own.pop("spacing", None)
            out[label] = self.add_contact(label, one, two, **own)
    if not out:
        raise ValueError(f"contacts {name!r}: there is no pair that could touch; check links, others and skip.")
    return out


def _name(robot: Robot, name: str, part: Any) -> str:
    """Of a link or an obstacle; error if there is none."""
    own = part.name if isinstance(part, Link) else part
    if not isinstance(own, str):
        raise TypeError(f"contacts {name!r}: {shown(part)} must be a link, or the name of a link or an obstacle.")
    if own not in robot.obstacles and all(link.name != own for link in robot.links):
        raise unknown_name("obstacle or link", own, [*robot.obstacles, *(link.name for link in robot.links)])
    return own


def _group(robot: Robot, name: str, field: str, given: Any, *, obstacles: bool) -> list[str]:
    """Names of the parts of a group, each once."""
    if isinstance(given, str) and given == "*":
        sized = [link.name for link in robot.links if _has_size(link)]
        return [*sized, *robot.obstacles] if obstacles else sized
    entries = [given] if isinstance(given, (Link, str)) or not isinstance(given, Iterable) else list(given)
    if not entries:
        raise ValueError(f"contacts {name!r}: {field} is empty; give links, names, or '*'.")
    return list(dict.fromkeys(_name(robot, name, entry) for entry in entries))


def _has_size(link: Link) -> bool:
    content = link.content
    return (content.section if isinstance(content, Rod) else content.shape) is not None


def _joined(robot: Robot) -> tuple[set[frozenset[str]], dict[str, str]]:
    """Pairs of what is joined, and for each link and obstacle the first of those that it is fixed to."""
    fixed = {"world": "world"}
    joined: set[frozenset[str]] = set()
    for link in robot.links:
        parent = fixed[link.parent.link]
        on_rod = link.parent.link != "world" and robot.link(link.parent.link).is_rod
        rigid = link.joint.nv == 0 and not link.is_rod and not on_rod
        fixed[link.name] = parent if rigid else link.name
        if parent != "world":  # what hangs on the world may still touch what is fixed to the world
            joined.add(frozenset((fixed[link.name], parent)))
    for name, obstacle in robot.obstacles.items():
        fixed[name] = fixed[obstacle.parent.link]
    for loop in robot.loops.values():
        joined.add(frozenset((fixed[loop.a.link], fixed[loop.b.link])))
    return joined, fixed
