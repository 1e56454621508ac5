"""Description of sliding springs: from a frame of the robot to a point that an input moves along a line in the world."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from extending.spring_kernel import DAMPING, STEP, Springs, apply_springs, sliding_springs
from pliant.compile.family import Family
from pliant.compile.places import Places, as_rows
from pliant.model.links import Frame
from pliant.model.loads import Load
from pliant.model.units import Input
from pliant.model.validate import non_negative, positive, vector


class SlidingSprings(Family):
    """From descriptions to tables, and what they mean for the rest."""

    name = "sliding springs"
    unit = sliding_springs
    apply = staticmethod(apply_springs)

    def tables(self, places: Places, inputs: Sequence[str]) -> Springs:
        """One row for each spring."""
        place, data = [], []
        for name, spring in self.loads(places.robot).items():
            anchor = places.anchor(spring.frame)
            place.append([anchor.step, inputs.index(name)])
            vectors = (anchor.offset.translation, spring.anchor, spring.direction)
            data.append([*np.concatenate(vectors), spring.stiffness, spring.damping])
        return Springs(as_rows(place, 2, np.int64), as_rows(data, 11))

    def steps(self, tables: Springs) -> Any:
        """The steps that carry springs."""
        return tables.place[:, STEP]

    def depends_on_velocity(self, tables: Springs) -> bool:
        """Whether any has a damper."""
        return bool(np.any(tables.data[:, DAMPING]))

    def keeps_potential(self, tables: Springs) -> bool:
        """At rest the dampers do nothing."""
        return True


@dataclass(frozen=True, eq=False)
class SlidingSpring(Load):
    """A spring of stiffness k [N/m] and damping c [N s/m] to the point `anchor` + u `direction` of the world [m]."""

    frame: Frame
    anchor: Annotated[ArrayLike, (3,)]
    direction: Annotated[ArrayLike, (3,)]
    stiffness: float
    damping: float = 0.0

    family = SlidingSprings()

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "anchor", vector("anchor", self.anchor, (3,), hint="(x, y, z) in m."))
        object.__setattr__(self, "direction", vector("direction", self.direction, (3,), hint="(x, y, z)."))
        positive("stiffness", self.stiffness, unit="N/m")
        non_negative("damping", self.damping, unit="N s/m")

    def inputs(self, name: str) -> Iterable[Input]:
        """How far the anchor has slid."""
        return [Input(name, "m", -0.5, 0.5)]

    def frames(self) -> Iterable[Frame]:
        """Where it is fixed to the robot."""
        return [self.frame]
