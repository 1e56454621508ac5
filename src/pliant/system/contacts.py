"""Contacts of a robot as data: where it touches, how deep, and with which forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels import engine, slots
from ..kernels.loads.contact import (
    C_FIRST,
    C_TURNED,
    T_CONTACT,
    T_FIRST,
    T_FORCE,
    T_GAP,
    T_NORMAL,
    T_POINT,
    T_SECOND,
    T_WEIGHT,
    TABLE_WIDTH,
    Contact,
)
from .core import Array
from .workspace import AS_DESCRIBED, Given

if TYPE_CHECKING:
    from .core import Core

__all__ = ["UNITS", "Contacts", "columns", "find_contacts"]

ROWS = 64  # of the table at first; it grows where there are more contacts
UNITS = {"point": "m", "gap": "m", "normal": "–", "normal_force": "N", "friction": "N", "force": "N"}
"""Columns of `Contacts` that are numbers, with their units."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """Contacts in one state of a robot, one row for each pair of points that touch.

    The forces are those that act in the equation of motion: they are read from the code that applies them.

    Attributes
    ----------
    name : tuple of str
        Name of the contact, as given to `Robot.add_contact`.
    link : tuple of str
        The link that touches.
    other : tuple of str
        What it touches: an obstacle, a body, or a rod (the same one for contact with itself).
    point : ndarray (n, 3)
        Where the force acts, on the surface of the link, in world coordinates [m].
    gap : ndarray (n,)
        Distance of the surfaces [m]; negative where they overlap.
    normal : ndarray (n, 3)
        Unit vector from `other` to `link`.
    normal_force : ndarray (n,)
        Size of the force along the normal [N].
    friction : ndarray (n, 3)
        Friction on the link, in world axes [N].
    force : ndarray (n, 3)
        The whole force on the link, in world axes [N]; the opposite acts on `other`, at the same point.
    """

    name: tuple[str, ...]
    link: tuple[str, ...]
    other: tuple[str, ...]
    point: Array
    gap: Array
    normal: Array
    normal_force: Array
    friction: Array
    force: Array

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.name)

    def of(self, name: str) -> Contacts:
        """The rows of a contact, or of one of its two parts.

        Examples
        --------
        >>> import pliant as pl
        >>> robot = pl.Robot("marble")
        >>> marble = robot.add_body("marble", joint=pl.Free(), shape=pl.Sphere(0.01), mass=0.02)
        >>> floor = robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.0099))
        >>> rolling = robot.add_contact("rolling", marble, "floor", stiffness=1e5)
        >>> system = robot.compile()
        >>> touching = system.contacts(system.neutral())
        >>> len(touching.of("rolling")), len(touching.of("floor")), len(touching.of("somewhere else"))
        (1, 1, 0)
        """
        own = [k for k, names in enumerate(zip(self.name, self.link, self.other)) if name in names]
        return Contacts(
            name=tuple(self.name[k] for k in own),
            link=tuple(self.link[k] for k in own),
            other=tuple(self.other[k] for k in own),
            **{column: getattr(self, column)[own] for column in UNITS},
        )

    def force_on(self, part: str) -> Array:
        """Sum of the contact forces on a link, rod or obstacle, in world axes [N], shape (3,).

        Examples
        --------
        >>> import pliant as pl
        >>> robot = pl.Robot("marble")
        >>> marble = robot.add_body("marble", joint=pl.Free(), shape=pl.Sphere(0.01), mass=0.02)
        >>> floor = robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.0099))
        >>> rolling = robot.add_contact("rolling", marble, "floor", stiffness=1e5)
        >>> system = robot.compile()
        >>> touching = system.contacts(system.neutral())
        >>> print(touching.force_on("marble").round(6), touching.force_on("floor").round(6))
        [0.  0.  0.1] [ 0.   0.  -0.1]
        """
        sign = np.array([float(a == part) - float(b == part) for a, b in zip(self.link, self.other)])
        return np.einsum("k,ki->i", sign, self.force) if len(sign) else np.zeros(3)

    def __str__(self) -> str:
        """One line for each row."""
        lines = [f"{len(self)} contact{'' if len(self) == 1 else 's'}"]
        for k in range(len(self)):
            x, y, z = self.point[k]
            lines.append(
                f"  {self.name[k]}: {self.link[k]} on {self.other[k]} at ({x:.4g}, {y:.4g}, {z:.4g}) m, gap "
                f"{self.gap[k]:.3g} m, normal force {self.normal_force[k]:.4g} N, friction "
                f"{float(np.linalg.norm(self.friction[k])):.4g} N"
            )
        return "\n".join(lines)


def find_contacts(system: Core, q: Array, v: Array, within: float, given: Given = AS_DESCRIBED) -> Contacts:
    """The contacts in a state; see `System.contacts`."""
    pairs = system._robot.contacts
    table, origin = contact_table(system, q, v, within, given) if pairs else (np.zeros((0, TABLE_WIDTH)), np.zeros(3))
    order = np.lexsort((table[:, T_SECOND], table[:, T_FIRST], table[:, T_CONTACT]))
    table = table[order]
    faded = (table[:, T_SECOND] >= 0) & (table[:, T_GAP] < 0.0) & (table[:, T_WEIGHT] < 1e-9)
    table = table[~faded]  # edges that meet at their ends are corners
    names = list(pairs)
    own = [names[int(k)] for k in table[:, T_CONTACT]]
    turned = _turned(system.contact, table)
    sign = np.where(turned, -1.0, 1.0)[:, None]
    normal, force = sign * table[:, T_NORMAL : T_NORMAL + 3], sign * table[:, T_FORCE : T_FORCE + 3]
    size = np.einsum("ki,ki->k", normal, force)
    return Contacts(
        name=tuple(own),
        link=tuple(pairs[name].link for name in own),
        other=tuple(pairs[name].other for name in own),
        point=table[:, T_POINT : T_POINT + 3] + origin,
        gap=table[:, T_GAP].copy(),
        normal=normal,
        normal_force=size,
        friction=force - size[:, None] * normal,
        force=force,
    )


def _turned(contact: Contact, table: Array) -> Array:
    """Which rows (n,) have the second part of the description first."""
    number, first = table[:, T_CONTACT].astype(int), table[:, T_FIRST].astype(int)
    out = np.zeros(len(table), dtype=bool)
    # two rods, or edges, in the order of their points: turn round where that is not the order of the description
    for a, b, _c, _d, law in contact.rods:
        own = (number == law) & (table[:, T_SECOND] >= 0)
        out[own] = (first[own] < a) | (first[own] >= b)
    alone = np.flatnonzero(table[:, T_SECOND] < 0)
    if len(alone):
        rows = np.searchsorted(contact.touch[:, C_FIRST], first[alone], side="right") - 1
        out[alone] = contact.touch[rows, C_TURNED] != 0
    return out


def contact_table(system: Core, q: Array, v: Array, within: float, given: Given = AS_DESCRIBED) -> tuple[Array, Array]:
    """The engine's table of contacts, (n, TABLE_WIDTH), and the moving origin (3,) that its points are relative to.

    See `kernels.loads.contact`.
    """
    rows = ROWS
    while True:
        table, p = np.zeros((1, rows, TABLE_WIDTH)), np.zeros(engine.PARAMETERS)
        p[slots.OPTION_GAP] = within
        with system.borrow() as space:
            system.run_job(engine.CONTACTS, q, v, S=table, p=p, space=space, given=given)
            origin = space.work.origin.copy()
        found = int(p[slots.REPORT_FOUND])
        if found <= rows:
            return table[0, :found], origin
        rows = found


def columns(states: Sequence[Contacts]) -> dict[str, Any]:
    """Contacts of many states as flat columns: number of the state, names, and the numbers of `UNITS`."""
    out: dict[str, Any] = {
        "state": np.repeat(np.arange(len(states)), np.array([len(state) for state in states], dtype=int))
    }
    for name in ("name", "link", "other"):
        out[name] = [entry for state in states for entry in getattr(state, name)]
    for name in UNITS:
        shape = (-1,) if name in ("gap", "normal_force") else (-1, 3)
        out[name] = np.concatenate([np.zeros(0), *(getattr(state, name).ravel() for state in states)]).reshape(shape)
    return out
