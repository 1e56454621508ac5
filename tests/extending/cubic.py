"""A family that acts on coordinates: hardening springs of joints, τ = −k q³. Description and kernel in one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant._jit import routine
from pliant.compile.family import Family
from pliant.compile.places import Places, as_rows
from pliant.kernels.layout import F2, I2, MESSAGE_CQ, MESSAGE_ENERGY, MESSAGE_SIZE
from pliant.kernels.loads.units import ENERGY, GENERALISED, TANGENT, unit
from pliant.model.loads import Load


class Cubic(NamedTuple):
    """Springs as arrays."""

    place: I2  # (springs, 2) coordinate, velocity
    data: F2  # (springs, 1) k


@routine
def apply_cubic(t, work, cubic, space, q, v, u, r):
    """Subtract the generalised forces from the residual r (nv,)."""
    for k in range(cubic.place.shape[0]):
        r[cubic.place[k, 1]] += cubic.data[k, 0] * q[cubic.place[k, 0]] ** 3


@unit(Cubic, tasks=(GENERALISED, TANGENT, ENERGY))
def cubic_springs(task, t, work, cubic, space, q, v, u, out):
    """Forces on coordinates, their derivatives and energy."""
    if task == GENERALISED:
        apply_cubic(t, work, cubic, space, q, v, u, out[0])
        return
    for k in range(cubic.place.shape[0]):
        stiffness, x, i = cubic.data[k, 0], q[cubic.place[k, 0]], cubic.place[k, 1]
        if task == TANGENT:
            out[i, i] += work.message[MESSAGE_CQ] * 3.0 * stiffness * x * x
        elif task == ENERGY:
            work.message[MESSAGE_ENERGY] += 0.25 * stiffness * x**4
            work.message[MESSAGE_SIZE] += 0.25 * stiffness * x**4


class CubicSprings(Family):
    """From descriptions to tables."""

    name = "cubic springs"
    unit = cubic_springs
    apply = staticmethod(apply_cubic)

    def tables(self, places: Places, inputs: Sequence[str]) -> Cubic:
        """One row for each spring."""
        springs = self.loads(places.robot).values()
        place = [[places.q0[spring.link], places.v0[spring.link]] for spring in springs]
        return Cubic(as_rows(place, 2, np.int64), as_rows([[spring.stiffness] for spring in springs], 1))

    def keeps_potential(self, tables: Cubic) -> bool:
        """ENERGY is their potential."""
        return True


@dataclass(frozen=True)
class CubicSpring(Load):
    """A hardening spring on the joint of a link, which has one degree of freedom: τ = −k q³."""

    link: str
    stiffness: float

    family = CubicSprings()
