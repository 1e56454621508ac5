"""Laws of rods and active strains → terms at the points of the rods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels.loads import materials
from ...kernels.loads.laws import (
    R_FIRST,
    ROD_WIDTH,
    T_ADDRESS,
    T_KIND,
    T_MEMORIES,
    TERM_WIDTH,
    Laws,
    LawSpace,
    apply_laws,
    rod_laws,
)
from ...model.actuators import ActiveStrain
from ...model.links import Link, Rod
from ...model.robot import Robot
from ...model.rods.laws import Linear, Term
from ...model.units import Input
from ..family import Density, Family
from ..places import Places, as_rows

__all__ = ["LAWS", "law_tables"]

Array = NDArray[np.float64]

KINDS = {
    name: int(getattr(materials, name.upper()))
    for name in ("linear", "polynomial", "rubber", "maxwell", "plastic", "bouc_wen", "user")
}
_USER = KINDS["user"]


def _terms(rod: Rod, stiffness: Array, X: Array) -> list[Term]:
    """All terms of a rod's laws; linear elasticity where none of them is elastic."""
    laws = rod.law if any(law.elastic for law in rod.law) else (Linear(), *rod.law)
    return [term for law in laws for term in law.terms(rod, stiffness, X)]


class _Builder:
    """Collects rods, points, terms and active strains."""

    def __init__(self) -> None:
        self.rods: list[list[int]] = []
        self.weight: list[Array] = [np.zeros(0)]
        self.place: list[Array] = [np.zeros(0)]
        self.phi: list[Array] = [np.zeros(0)]
        self.terms: list[list[int]] = []
        self.value: list[Array] = [np.zeros(0)]
        self.active: list[list[int]] = []
        self.shape: list[Array] = [np.zeros(0)]
        self.pull: list[list[int]] = []
        self.gain: list[Array] = [np.zeros(0)]
        self.both: list[list[int]] = []
        self.store: list[float] = []
        self.smooth: list[bool] = []

    @staticmethod
    def _count(parts: list[Array]) -> int:
        return sum(part.size for part in parts)

    def add_rod(
        self, rod: Rod, q0: int, v0: int, X: Array, weights: Array, active: Sequence[tuple[int, Array]]
    ) -> None:
        """A rod with laws at points X, with inputs and shapes (m, 6) of its active strains."""
        strains, n = rod.strains, len(X)
        ends = [int(np.searchsorted(strains.components, c)) for c in range(7)]
        terms = _terms(rod, rod.stiffness_at(X), X)
        points = self._count(self.weight)
        self.rods.append(
            [q0, v0, strains.size, points, points + n, self._count(self.phi), len(self.terms), len(terms), len(self.active), len(active), *ends,
             *(int(b > a) for a, b in pairwise(ends))]
        )  # fmt: skip
        for term in terms:
            first, width = self._count(self.value), term.values.shape[1]
            self.terms.append(
                [KINDS[term.kind], first, width, term.component, term.strains, term.choice, len(self.smooth), term.memory, term.address]
            )  # fmt: skip
            self.value.append(term.values.ravel())
            self.smooth += [term.smooth] * (term.memory * n)
        for index, shape in active:
            self.active.append([index, self._count(self.shape)])
            self.shape.append(shape.ravel())
        # each coordinate acts on one strain, so that one number for each is enough
        Phi = strains.matrix(X)
        self.phi.append(Phi[:, strains.components, np.arange(strains.size)].ravel())
        self.weight.append(weights)
        self.place.append(X)

    def add_pull(
        self, rod: Rod, q0: int, v0: int, X: Array, weights: Array, active: Sequence[tuple[int, Array]]
    ) -> None:
        """Active strains of a linear rod."""
        Phi, stiffness = rod.strains.matrix(X), rod.stiffness_at(X)
        stress = [np.einsum("m,mij,mj->mi", weights, stiffness, shape) for _index, shape in active]
        for k, ((index, shape), own) in enumerate(zip(active, stress)):
            self.pull.append([index, q0, v0, rod.strains.size, self._count(self.gain)])
            self.gain.append(np.einsum("mci,mc->i", Phi, own))
            for other, (second, _shape) in enumerate(active[: k + 1]):
                self.both.append([index, second])
                self.store.append((0.5 if other == k else 1.0) * float(np.sum(shape * stress[other])))

    def tables(self) -> Laws:
        """The finished tables."""
        return Laws(
            rod=as_rows(self.rods, ROD_WIDTH, np.int64),
            weight=np.concatenate(self.weight),
            phi=np.concatenate(self.phi),
            term=as_rows(self.terms, TERM_WIDTH, np.int64),
            value=np.concatenate(self.value),
            active=as_rows(self.active, 2, np.int64),
            shape=np.concatenate(self.shape),
            pull=as_rows(self.pull, 5, np.int64),
            gain=np.concatenate(self.gain),
            both=as_rows(self.both, 2, np.int64),
            store=np.array(self.store, dtype=np.float64),
            place=np.concatenate(self.place),
            smooth=np.array(self.smooth, dtype=np.int64),
            passive=np.zeros(0, dtype=np.int64),
            first=np.array([-1], dtype=np.int64),
        )


def law_tables(rod: Rod, X: Array) -> Laws:
    """The tables of a rod alone at any points X, each with the weight one."""
    builder = _Builder()
    builder.add_rod(rod, 0, 0, X, np.ones(len(X)), ())
    return builder.tables()


class _Laws(Family):
    name = "laws"
    unit = rod_laws
    apply = staticmethod(apply_laws)
    descriptions = (ActiveStrain,)

    def inputs(self, robot: Robot) -> Iterable[Input]:
        return [Input(name, strain.input_unit) for name, strain in robot.active_strains.items()]

    def densities(self, robot: Robot, link: Link, rod: Rod) -> Iterator[Density]:
        for name, strain in robot.active_strains.items():
            if strain.rod == link.name:
                yield Density(f"active strain {name!r}", (strain.strain,), strain.at, rod.strains.degree)

    def tables(self, places: Places, inputs: Sequence[str]) -> Laws:
        builder = _Builder()
        passive = []
        for link in places.robot.links:
            rod = link.content
            if not isinstance(rod, Rod):
                continue
            own = {name: strain for name, strain in places.robot.active_strains.items() if strain.rod == link.name}
            if not rod.law and not own:
                continue
            X, weights, _anchors = places.spread(link.name)
            add = builder.add_rod if rod.law else builder.add_pull
            active = [(inputs.index(name), strain.at(X)) for name, strain in own.items()]
            add(rod, places.strain_q(link), places.strain_v(link), X, weights, active)
            passive += [int(law.passive) for law in rod.law]
        return builder.tables()._replace(passive=np.array(passive, dtype=np.int64))

    def present(self, tables: Laws) -> bool:
        return len(tables.rod) + len(tables.pull) > 0

    def couples(self, tables: Laws) -> str:
        return "its rods have laws whose stiffness is not constant" if len(tables.rod) else ""

    def between(self, tables: Laws) -> NDArray[np.int64]:
        return np.zeros((0, 2), dtype=np.int64)

    def keeps_potential(self, tables: Laws) -> bool:
        return bool(np.all(tables.passive))

    def memory(self, tables: Laws) -> int:
        return len(tables.smooth)

    def sticks(self, tables: Laws, memory: Array) -> bool:
        return False  # what has slipped since has a potential, too

    def smooth(self, tables: Laws) -> NDArray[np.bool_]:
        return tables.smooth.astype(bool)

    def space(self, tables: Laws, nv: int, dtype: type = np.float64) -> LawSpace:
        most = int(tables.term[:, T_MEMORIES].max(initial=0))
        points = int(np.diff(tables.rod[:, R_FIRST : R_FIRST + 2], axis=1).max(initial=0))
        m = int(tables.term[tables.term[:, T_KIND] == _USER, T_MEMORIES].max(initial=0))
        call = (
            points * ((12 + m) + (6 + m) + (6 + m) * (12 + m) + 1) + 1 if np.any(tables.term[:, T_KIND] == _USER) else 0
        )
        return LawSpace(
            point=np.zeros((3, 6), dtype),
            matrix=np.zeros((12, 6), dtype),
            past=np.zeros(most, dtype),
            now=np.zeros(most, dtype),
            by_past=np.zeros((6, most), dtype),
            by_strain=np.zeros((most, 12), dtype),
            by_self=np.zeros((most, most), dtype),
            call=np.zeros(call),
        )

    def lasting(self, tables: Laws) -> Any:
        return tables._replace(term=np.delete(tables.term, T_ADDRESS, axis=1))


LAWS = _Laws()
