"""Contact points, obstacles and who may touch whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...kernels.loads.bristles import PLACES, SLOT
from ...kernels.loads.contact import (
    BALL_HALF,
    BALL_RADIUS,
    C_END,
    C_FIRST,
    C_LAW,
    C_SHAPE,
    LAW_DAMPING,
    LAW_FRICTION,
    LAW_RESTITUTION,
    LAW_SPEED,
    REMEMBERED,
    SHAPE_STEP,
    ContactSpace,
    apply_contact,
)
from ...kernels.loads.contact import Contact as Tables
from ...kernels.loads.contact_unit import contacts
from ...kernels.recursion.kinematics import step_poses
from ...model.links import Frame
from ...model.loads import Contact, Obstacle
from ...model.robot import Robot
from ..family import Family
from ..places import Places
from ..touching import Touching, remember

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["CONTACT"]

Array = NDArray[np.float64]


def impact_damping(e: float) -> float:
    """The c for which a sphere leaves with e times the speed of the impact; see `kernels.loads.contact`."""
    from scipy.optimize import brentq  # here, since it takes a while to import

    if e >= 1.0:
        return 0.0

    def gap(c: float) -> float:
        return c - np.log1p(c) + c * e + np.log1p(-c * e)

    # for small c it is c²(1 − e²)/2 > 0; towards c = 1/e it falls without bound
    high = (1.0 - 1e-15) / e if e > 0.0 else np.inf
    if not np.isfinite(high) or gap(high) > 0.0:
        return float(min(high, 1e3))
    low = 0.5 * (1.0 - e)
    while gap(low) < 0.0:
        low *= 0.5
    return float(brentq(gap, low, high, xtol=1e-15, rtol=1e-14))


class _Contact(Family):
    name = "contact"
    unit = contacts
    apply = staticmethod(apply_contact)
    descriptions = (Contact, Obstacle)

    def frames(self, robot: Robot) -> Iterable[Frame]:
        return [obstacle.parent for obstacle in robot.obstacles.values()]

    def tables(self, places: Places, inputs: Sequence[str]) -> Tables:
        return Touching(places).tables(impact_damping)

    def settle(self, model: Model) -> None:
        """Capsules of rods that overlap in the neutral configuration never touch: they are joined there."""
        contact = model.loads[self.name]
        if not len(contact.skip):
            return
        pose = np.empty((len(model.work.state), 12))
        step_poses(*model.packed, model.neutral(), pose)
        own = pose[contact.point[: len(contact.skip), 0]]
        R = own[:, :9].reshape(-1, 3, 3)
        ball = contact.ball[: len(contact.skip)]
        centre = own[:, 9:] + np.einsum("kij,kj->ki", R, ball[:, :BALL_RADIUS])
        reach = ball[:, BALL_RADIUS]
        s = np.linspace(-1, 1, 9)
        line = centre[:, None] + s[:, None] * (R[:, :, 0] * ball[:, BALL_HALF : BALL_HALF + 1])[:, None]
        for i in range(len(line)):
            gap = np.linalg.norm(line[i][None, :, None] - line[:, None], axis=-1).min(axis=(1, 2))
            contact.skip[i, gap < reach[i] + reach] = 1

    def present(self, tables: Tables) -> bool:
        return len(tables.touch) + len(tables.rods) + len(tables.lines) > 0

    def steps(self, tables: Tables) -> NDArray[np.int64]:
        return np.concatenate([tables.point[:, 0], tables.shape[:, SHAPE_STEP]])

    def depends_on_velocity(self, tables: Tables) -> bool:
        return bool(np.any(tables.law[:, LAW_DAMPING:LAW_SPEED]) or np.any(tables.law[:, LAW_RESTITUTION] >= 0))

    def couples(self, tables: Tables) -> str:
        return "contact between its parts may connect them" if np.any(self.between(tables)[:, 1] >= 0) else ""

    def between(self, tables: Tables) -> NDArray[np.int64]:
        pairs = {(-1, -1)}
        step = tables.point[:, 0]
        for row in tables.touch:
            pairs |= {(int(i), int(tables.shape[row[C_SHAPE], SHAPE_STEP])) for i in step[row[C_FIRST] : row[C_END]]}
        for a, b, c, d, _law in (*tables.rods, *tables.lines):
            own, other = set(step[a:b].tolist()), set(step[c:d].tolist())
            pairs |= {(i, j) for i in own for j in other}
        moving = [(max(pair), min(pair)) for pair in pairs if pair != (-1, -1)]
        return np.array(moving, dtype=np.int64).reshape(-1, 2)

    def keeps_potential(self, tables: Tables) -> bool:
        return True  # damping vanishes at rest, and friction unless something touched before (`solve.statics` asks for that)

    def memory(self, tables: Tables) -> int:
        laws = tables.law[tables.touch[:, C_LAW]]
        slots = PLACES * SLOT * int(np.sum(tables.slot >= 0))
        return REMEMBERED * len(tables.point) + slots if slots or np.any(remember(laws)) else 0

    def sticks(self, tables: Tables, memory: Array) -> bool:
        own, pairs = self._split(tables, memory)
        return bool((np.any(own[:, 3] > 0) or np.any(pairs[:, 3] > 0)) and np.any(tables.law[:, LAW_FRICTION] > 0))

    def smooth(self, tables: Tables) -> NDArray[np.bool_]:
        own, pairs = self._split(tables, np.ones(self.memory(tables)))
        own[:, 3] = pairs[:, 3:] = 0.0
        return np.concatenate([own.ravel(), pairs.ravel()]) > 0

    def steady(self, tables: Tables) -> NDArray[np.bool_]:
        return ~self.smooth(tables)

    def _split(self, tables: Tables, memory: Array) -> tuple[Array, Array]:
        """Internal variables of points (n, 4) and of slots of capsules (m, 5)."""
        n = REMEMBERED * len(tables.point) if len(memory) else 0
        return memory[:n].reshape(-1, REMEMBERED).copy(), memory[n:].reshape(-1, SLOT).copy()

    def space(self, tables: Tables, nv: int, dtype: type = np.float64) -> ContactSpace:
        n = len(tables.point)
        return ContactSpace(sweep=np.zeros((n, 4)), centre=np.zeros((n, 3)))


CONTACT = _Contact()
