"""Concentric tubes → what their pre-curvature does to bending and twist, and the rotations of their bases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels.loads.tubes import Tubes, apply_tubes, concentric_tubes
from ...model.links import Rod
from ...model.tubes import ConcentricTubes
from ..family import Family
from ..places import Places, as_rows

__all__ = ["TUBES"]

Array = NDArray[np.float64]
_FITS = 1e-3  # how well lengths and stiffnesses of rods must agree with the tubes; differences are taken within it


def _integrals(rod: Rod, X: Array) -> Array:
    """Twist (m, size) up to points X of each torsion coordinate per unit of it [rad m/rad]: its function, integrated."""
    basis = rod.strains.bases[0]
    assert basis is not None
    x, w = np.polynomial.legendre.leggauss(basis.degree // 2 + 1)
    out = np.zeros((len(X), basis.size))
    for node, weight in zip(x, w):
        out += 0.5 * weight * X[:, None] * basis(0.5 * X * (node + 1.0))
    return out * rod.length


class _Angle:
    """The rotation of a tube along the centreline as a sum of coordinates: where they are, and their gains."""

    def __init__(self, places: Places, load: ConcentricTubes, tube: int) -> None:
        self.places, self.load, self.tube = places, load, tube
        first = load.rod(tube, 0)
        self.before: list[tuple[int, int, float]] = [(places.q0[first], places.v0[first], 1.0)]
        self.stretch = 0

    def at(self, stretch: int, X: Array) -> tuple[list[tuple[int, int]], Array]:
        """Coordinates and velocities, and their gains (m, n) at points X of a stretch; stretches are asked for in order."""
        while self.stretch < stretch:
            places, gains = self._own(self.stretch, np.ones(1))
            self.before += [(q, v, float(gain)) for (q, v), gain in zip(places, gains[0])]
            self.stretch += 1
        places, gains = self._own(stretch, X)
        constant = np.tile([gain for _q, _v, gain in self.before], (len(X), 1))
        return [(q, v) for q, v, _gain in self.before] + places, np.column_stack([constant, gains])

    def _own(self, stretch: int, X: Array) -> tuple[list[tuple[int, int]], Array]:
        link, rod, _grid = self.places.rod(self.load.rod(self.tube, stretch))
        gains = _integrals(rod, X)
        q, v = self.places.strain_q(link), self.places.strain_v(link)
        return [(q + i, v + i) for i in range(gains.shape[1])], gains


class _Rows:
    """The tables as lists."""

    def __init__(self) -> None:
        self.base: list[list[int]] = []
        self.hold: list[float] = []
        self.place: list[list[int]] = []
        self.data: list[list[float]] = []
        self.phi: list[float] = []
        self.part: list[tuple[int, int]] = []
        self.gain: list[float] = []

    def add_stretch(self, places: Places, load: ConcentricTubes, k: int, angles: list[_Angle]) -> None:
        """The entries of one stretch of the centreline: a point for each tube that is curved there."""
        name = load.rod(0, k)
        link, rod, _grid = places.rod(name)
        X, weights, _anchors = places.spread(name)
        bending = rod.strains.bases[1]
        assert bending is not None
        values = bending(X)
        torsion = rod.strains.bases[0]
        assert torsion is not None
        y = torsion.size, torsion.size + bending.size
        q, v = places.strain_q(link), places.strain_v(link)
        first = [len(self.phi) + m * bending.size for m in range(len(X))]
        self.phi += values.ravel().tolist()
        own, own_gains = angles[0].at(k, X)
        for i in load.stretches[k].curved:
            at, gains = angles[i].at(k, X) if i else ([], np.zeros((len(X), 0)))
            where = [*at, *own] if i else []
            turns = np.column_stack([gains, -own_gains]) if i else gains
            tube = load.tubes[i]
            for m in range(len(X)):
                starts = [q + y[0], v + y[0], q + y[1], v + y[1]]
                self.place.append([*starts, bending.size, first[m], len(self.part), len(where)])
                self.data.append([weights[m] * tube.bending, *tube.curvatures])
                self.part += where
                self.gain += turns[m].tolist()


def _check(places: Places, name: str, load: ConcentricTubes) -> None:
    """Error if rods are not those of the tubes."""
    for k, part in enumerate(load.stretches):
        for i in range(part.present):
            rod = places.robot.link(load.rod(i, k)).content
            assert isinstance(rod, Rod)
            wanted = part.end - part.start
            stiffness = np.diag(rod.stiffness_at(np.array([0.5]))[0])
            twist = load.tubes[i].torsion
            bend = sum(tube.bending for tube in load.tubes[: part.present]) if i == 0 else 0.0
            if (
                abs(rod.length - wanted) > _FITS * load.length
                or abs(stiffness[0] - twist) > _FITS * twist
                or abs(stiffness[1] - bend) > _FITS * bend
            ):
                raise ValueError(
                    f"tubes {name!r}: the rod {load.rod(i, k)!r} with a length of {rod.length:.6g} m, bending stiffness {stiffness[1]:.4g} and torsional "
                    f"stiffness {stiffness[0]:.4g} N m² is not that of its tubes: {wanted:.6g} m, {bend:.4g} and {twist:.4g} N m². Change insertions "
                    "with ConcentricTubes.inserted, and lengths, radii and moduli by making the robot anew."
                )


class _Tubes(Family):
    name = "tubes"
    unit = concentric_tubes
    apply = staticmethod(apply_tubes)
    descriptions = (ConcentricTubes,)

    def tables(self, places: Places, inputs: Sequence[str]) -> Tubes:
        rows = _Rows()
        for name, load in self.loads(places.robot).items():
            _check(places, name, load)
            angles = [_Angle(places, load, k) for k in range(len(load.tubes))]
            for k, own in enumerate(load.inputs(name)):
                first = load.rod(k, 0)
                rows.base.append([places.q0[first], places.v0[first], inputs.index(own.name)])
                rows.hold.append(load.hold(k))
            for k in range(len(load.stretches)):
                rows.add_stretch(places, load, k, angles)
        return Tubes(
            base=as_rows(rows.base, 3, np.int64),
            hold=np.array(rows.hold, dtype=np.float64),
            place=as_rows(rows.place, 8, np.int64),
            data=as_rows(rows.data, 3),
            phi=np.array(rows.phi, dtype=np.float64),
            part=as_rows(rows.part, 2, np.int64),
            gain=np.array(rows.gain, dtype=np.float64),
        )

    def couples(self, tables: Tubes) -> str:
        return "tubes share their centreline" if self.present(tables) else ""

    def between(self, tables: Tubes) -> NDArray[np.int64]:
        return np.zeros((0, 2), dtype=np.int64)

    def keeps_potential(self, tables: Any) -> bool:
        return True


TUBES = _Tubes()
ConcentricTubes.family = TUBES
