"""Clearance from obstacles and other rods, and normal forces of contacts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...kernels.loads.contact import (
    BALL_RADIUS,
    C_END,
    C_FIRST,
    C_LAW,
    C_SHAPE,
    LAW_DAMPING,
    LAW_EXPONENT,
    LAW_RESTITUTION,
    LAW_STIFFNESS,
    SHAPE_STEP,
    T_CONTACT,
    T_FADE,
    T_FIRST,
    T_GAP,
    T_NORMAL,
    T_POINT,
    T_SECOND,
    T_SPEED,
    T_TURN,
    T_WEIGHT,
    TABLE_WIDTH,
)
from ...model.validate import unknown_name
from ...system import System
from ...system.contacts import contact_table
from .coordinates import NamedQuantity
from .frames import at_point, hats, step_columns
from .quantity import LocalQuantity
from .states import Array, Evaluated, Slopes, States, by_slopes

__all__ = ["Clearance", "ContactForce"]

_HERE = np.array([1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0])  # the end of a step itself


class _OfContacts(NamedQuantity, LocalQuantity):
    """What belongs to contacts: those of a name, of a link or of an obstacle."""

    def _contacts(self, system: System) -> list[int]:
        """Numbers of the contacts."""
        pairs = system._robot.contacts
        if self.names is None:
            return list(range(len(pairs)))
        known = {name for key, pair in pairs.items() for name in (key, pair.link, pair.other)}
        for name in self.names:
            if name not in known:
                raise unknown_name("contact, or link or obstacle of one,", name, known)
        return [
            k for k, (key, pair) in enumerate(pairs.items()) if {key, pair.link, pair.other}.intersection(self.names)
        ]


class Clearance(_OfContacts):
    """Distances of surfaces [m] that contacts of the robot watch, negative where they overlap.

    Parameters
    ----------
    names : str, list of str, or None
        Names of contacts, or of links, rods or obstacles that have some; None is all.

    Notes
    -----
    There is an entry for each contact point of a link against an obstacle, and for each pair of segments of two rods that may touch. The
    smallest of them, rounded off, is in ``(-Clearance()).soft_max(sharpness)``. Beyond the ends of a tube around the robot, where it has no
    wall, the distance is 1e300.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("marble")
    >>> marble = robot.add_body("marble", joint=pl.Prismatic("z"), shape=pl.Sphere(0.01), mass=0.02)
    >>> floor = robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.05))
    >>> rolling = robot.add_contact("rolling", marble, "floor", stiffness=1e5)
    >>> system = robot.compile()
    >>> print(pl.costs.Clearance("floor").evaluate(pl.costs.States.at_rest(system, [0.0])).value.round(12))
    [[0.04]]
    """

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        own, contact = set(self._contacts(system)), system.contact
        points = sum(int(row[C_END] - row[C_FIRST]) for row in contact.touch if row[C_LAW] in own)
        for a, b, c, d, law in contact.rods:
            if law in own:
                n = len(contact.skip)
                free = contact.skip[a:b, c:d] == 0 if max(b, d) <= n else np.ones((b - a, d - c), dtype=bool)
                points += int(np.triu(free, 1).sum() if a == c else free.sum())
        for a, b, c, d, law in contact.lines:
            if law in own:
                points += sum(bool(np.any(contact.skip[contact.point[k, 1], c:d] == 0)) for k in range(a, b))
        return points

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        system, own = states.system, self._contacts(states.system)
        zero = np.zeros(system.nv)
        tables = [_rows(system, q, zero, np.inf, own) for q in states.q]
        value = np.array([table[:, T_GAP] for table in tables]).reshape(len(states), -1)

        def derive() -> Slopes:
            out = np.zeros((*value.shape, system.nv))
            for k, (q, table) in enumerate(zip(states.q, tables)):
                columns = _columns_of(system, q, zero)
                for row, slope in zip(table, out[k]):
                    slope[:] = row[T_NORMAL : T_NORMAL + 3] @ _relative(system, row, columns)[0][3:]
            return out, None, None

        return by_slopes(states, value, derive)


class ContactForce(_OfContacts):
    """Normal force of each contact of the robot, summed over its points [N]; see `Clearance` for the names.

    The derivatives are exact on each side of touching. Contacts with restitution have this force at rest only: in motion it depends on the speed of the
    impact, which is remembered and no part of the state.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("marble")
    >>> marble = robot.add_body("marble", joint=pl.Prismatic("z"), shape=pl.Sphere(0.01), mass=0.02)
    >>> floor = robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.0099))
    >>> rolling = robot.add_contact("rolling", marble, "floor", stiffness=1e5)
    >>> system = robot.compile()
    >>> print(pl.costs.ContactForce("rolling").evaluate(pl.costs.States.at_rest(system, [0.0])).value.round(9))
    [[0.1]]
    """

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return len(self._contacts(system))

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        system, own = states.system, self._contacts(states.system)
        entry = {number: k for k, number in enumerate(own)}
        bounces = [k for k in own if system.contact.law[k, LAW_RESTITUTION] >= 0.0]
        if bounces and np.any(states.v):
            raise ValueError(
                f"ContactForce: contact {list(system._robot.contacts)[bounces[0]]!r} has restitution, so that in motion its force depends on the speed of the "
                "impact, which is remembered and no part of the state. Give it damping instead, or take the forces of `Result.contacts`, which know it."
            )
        tables = [_rows(system, q, v, 0.0, own) for q, v in zip(states.q, states.v)]
        value = np.zeros((len(states), len(own)))
        for k, table in enumerate(tables):
            for row in table:
                value[k, entry[int(row[T_CONTACT])]] += _law(system, row)[0]

        def derive() -> Slopes:
            dq, dv = np.zeros((*value.shape, system.nv)), np.zeros((*value.shape, system.nv))
            for k, (q, v, table) in enumerate(zip(states.q, states.v, tables)):
                columns = _columns_of(system, q, v)
                for row in table:
                    force, slope, damp = _law(system, row)
                    n, j = row[T_NORMAL : T_NORMAL + 3], entry[int(row[T_CONTACT])]
                    moved, changed = _relative(system, row, columns)
                    rate = row[T_TURN : T_TURN + 6] @ moved + n @ changed
                    dq[k, j] -= slope * (n @ moved[3:]) + damp * rate - force * (row[T_FADE : T_FADE + 6] @ moved)
                    dv[k, j] -= damp * (n @ moved[3:])
            return dq, dv, None

        return by_slopes(states, value, derive)


Columns = Callable[[int], tuple[Array, Array, Array]]


def _rows(system: System, q: Array, v: Array, within: float, own: list[int]) -> Array:
    """Rows of the table of contacts that belong to some contacts, in an order that does not depend on the state."""
    if not own:
        return np.zeros((0, TABLE_WIDTH))
    table, _origin = contact_table(system, q, v, within)
    table = table[np.isin(table[:, T_CONTACT], own)]
    return table[np.lexsort((table[:, T_SECOND], table[:, T_FIRST], table[:, T_CONTACT]))]


def _law(system: System, row: Array) -> tuple[float, float, float]:
    """Normal force of a row that touches, its derivative by the depth, and minus that by the rate of the gap; see `kernels.loads.contact`."""
    law = system.contact.law[int(row[T_CONTACT])]
    k, p, d = row[T_WEIGHT] * law[LAW_STIFFNESS], law[LAW_EXPONENT], law[LAW_DAMPING]
    rate = 1.0 - d * float(row[T_NORMAL : T_NORMAL + 3] @ row[T_SPEED : T_SPEED + 3])
    if rate <= 0.0:
        return 0.0, 0.0, 0.0
    power = k * (-row[T_GAP]) ** (p - 1.0)
    return float(-power * row[T_GAP] * rate), float(p * power * rate), float(-power * row[T_GAP] * d)


def _columns_of(system: System, q: Array, v: Array) -> Columns:
    """Columns J and R of steps and their twists in a state, each found once."""
    known: dict[int, tuple[Array, Array, Array]] = {}

    def columns(step: int) -> tuple[Array, Array, Array]:
        if step not in known:
            J, R, motion = step_columns(system, q[None], v[None], step, _HERE)
            known[step] = J[0], R[0], motion[0, 12:]
        return known[step]

    return columns


def _steps(system: System, row: Array) -> tuple[int, int]:
    """Steps of the two parts of a row; −1 is the world."""
    contact = system.contact
    first = int(contact.point[int(row[T_FIRST]), 0])
    if row[T_SECOND] >= 0:
        return first, int(contact.point[int(row[T_SECOND]), 0])
    own = (contact.touch[:, C_FIRST] <= row[T_FIRST]) & (row[T_FIRST] < contact.touch[:, C_END])
    touch = contact.touch[own][0]
    return first, int(contact.shape[touch[C_SHAPE], SHAPE_STEP])


def _relative(system: System, row: Array, columns: Columns) -> tuple[Array, Array]:
    """Rotation and displacement (6, nv) of the first part relative to the second, and the change (3, nv) of its velocity seen from there.

    All of them at the centre of the contact, as in MATH §4: what turns with the second part does not change.
    """
    i, j = _steps(system, row)
    n = row[T_NORMAL : T_NORMAL + 3]
    c = row[T_POINT : T_POINT + 3] + system.contact.ball[int(row[T_FIRST]), BALL_RADIUS] * n
    J, R, V = columns(i)
    moved, changed = at_point(J, R, V, c)
    if j < 0:
        return moved, changed[3:]
    J, R, V = columns(j)
    other, slower = at_point(J, R, V, c)
    moved = moved - other
    v = row[T_SPEED : T_SPEED + 3]
    return moved, changed[3:] - slower[3:] - hats(V[:3]) @ moved[3:] + hats(v) @ other[:3]
