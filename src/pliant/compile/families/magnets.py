"""Dipoles, magnets and coils → who acts on whom through fields that vary over space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...kernels.loads.magnets import COIL, D_STEP, POINT, S_STEP, UNIFORM, Magnets, apply_magnets, magnetic_fields
from ...model.links import Frame
from ...model.loads import FIELD, Dipole
from ...model.magnetics import MU0, Coil, Magnet
from ...model.robot import Robot
from ...model.units import Input
from ..family import Family
from ..places import Anchor, Places, as_rows

__all__ = ["MAGNETS"]

Array = NDArray[np.float64]


class _Builder:
    """Collects dipoles, sources and pairs of them."""

    def __init__(self, places: Places, inputs: Sequence[str]) -> None:
        self.places, self.inputs = places, inputs
        self.dipole: list[list[int]] = []
        self.moment: list[Array] = []
        self.source: list[list[int]] = []
        self.shape: list[Array] = []
        self.pair: list[list[int]] = []

    def add_dipole(self, anchor: Anchor, moment: Array, index: int = -1) -> int:
        self.dipole.append([anchor.step, index])
        self.moment.append(np.concatenate([anchor.offset.translation, anchor.offset.rotation @ moment]))
        return len(self.dipole) - 1

    def add_source(
        self, kind: int, anchor: Anchor, index: int, first: Array, second: Array, radius: float, f: float
    ) -> int:
        turn = anchor.offset.rotation
        self.source.append([kind, anchor.step, index])
        self.shape.append(np.concatenate([anchor.offset.translation, turn @ first, turn @ second, [radius, f]]))
        return len(self.source) - 1

    def add_pairs(self, dipoles: Iterable[int], sources: Iterable[int]) -> None:
        """All of two groups that can move against each other."""
        sources = list(sources)
        for d in dipoles:
            self.pair += [[d, s] for s in sources if self.dipole[d][0] != self.source[s][1]]

    def spread(self, dipole: Dipole) -> list[int]:
        """The points of a dipole."""
        if isinstance(dipole.place, Frame):
            return [self.add_dipole(self.places.anchor(dipole.place), dipole.at(np.array([0.0]))[0])]
        X, w, anchors = self.places.spread(dipole.place)
        return [self.add_dipole(anchor, m) for anchor, m in zip(anchors, w[:, None] * dipole.at(X))]

    def circles(self, name: str, coil: Coil) -> list[int]:
        """The sources that a coil is."""
        anchor, index = self.places.anchor(coil.frame), self.inputs.index(name)
        found = []
        for pose, turns in coil.circles():
            own = anchor.then(pose)
            factor = turns * MU0 / (4 * np.pi)
            found.append(self.add_source(int(COIL), own, index, np.eye(3)[1], np.eye(3)[2], coil.radius, factor))
        return found

    def tables(self) -> Magnets:
        """Dipoles feel all sources; of two magnets the first feels the second."""
        robot, none = self.places.robot, np.zeros(3)
        spread = [d for dipole in robot.dipoles.values() for d in self.spread(dipole)] if robot.sources else []
        magnets: list[tuple[int, int]] = []
        coils: list[int] = []
        for name, source in robot.sources.items():
            if isinstance(source, Coil):
                coils += self.circles(name, source)
                continue
            anchor, index = self.places.anchor(source.frame), -1 if source.constant else self.inputs.index(name)
            own = self.add_source(int(POINT), anchor, index, source.moment, none, 0.0, MU0 / (4 * np.pi))
            magnets.append((self.add_dipole(anchor, source.moment, index), own))
        self.add_pairs(spread, [*(s for _d, s in magnets), *coils])
        for k, (d, _s) in enumerate(magnets):
            self.add_pairs([d], [*(s for _d, s in magnets[k + 1 :]), *coils])
        if any(self.dipole[d][0] >= 0 for d, _s in magnets):
            world = Anchor(-1, Frame("world").offset)
            field = self.add_source(int(UNIFORM), world, self.inputs.index(FIELD[0]), none, none, 0.0, 1.0)
            self.add_pairs((d for d, _s in magnets), [field])
        return Magnets(
            pair=as_rows(self.pair, 2, np.int64),
            dipole=as_rows(self.dipole, 2, np.int64),
            moment=as_rows(self.moment, 6),
            source=as_rows(self.source, 3, np.int64),
            shape=as_rows(self.shape, 11),
        )


class _Magnets(Family):
    name = "magnets"
    unit = magnetic_fields
    apply = staticmethod(apply_magnets)
    descriptions = (Magnet, Coil)

    def inputs(self, robot: Robot) -> Iterable[Input]:
        for name, source in robot.sources.items():
            if isinstance(source, Coil) or not source.constant:
                yield Input(name, source.input_unit)

    def frames(self, robot: Robot) -> Iterable[Frame]:
        return [source.frame for source in robot.sources.values()]

    def tables(self, places: Places, inputs: Sequence[str]) -> Magnets:
        return _Builder(places, inputs).tables()

    def steps(self, tables: Magnets) -> NDArray[np.int64]:
        return self.between(tables).ravel()

    def depends_on_velocity(self, tables: Magnets) -> bool:
        return False

    def couples(self, tables: Magnets) -> str:
        pairs = np.all(self.between(tables) >= 0, axis=1)
        return "magnets and coils on its parts act on others of its parts" if np.any(pairs) else ""

    def switches(self, tables: Magnets) -> bool:
        return False

    def keeps_potential(self, tables: Magnets) -> bool:
        return True

    def between(self, tables: Magnets) -> NDArray[np.int64]:
        of_dipole, of_source = tables.pair.T
        return np.column_stack([tables.dipole[of_dipole, D_STEP], tables.source[of_source, S_STEP]])


MAGNETS = _Magnets()
