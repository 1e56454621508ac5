"""Loads that the user wrote as functions → points and the addresses of the functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...kernels.loads.user import LOAD_ADDRESS, LOAD_INPUTS, USER_WIDTH, User, UserSpace, user_loads
from ...model.links import Frame
from ...model.robot import Robot
from ...model.units import Input
from ...model.user import UserLoad
from ..family import Family, against_world
from ..places import Anchor, Places, as_rows

__all__ = ["USER"]


class _User(Family):
    name = "user"
    unit = user_loads
    descriptions = (UserLoad,)

    def inputs(self, robot: Robot) -> Iterable[Input]:
        for load, _places in robot.user_loads.values():
            yield from (Input(*own) for own in zip(load.inputs, load.input_units))

    def frames(self, robot: Robot) -> Iterable[Frame]:
        return [place for _load, places in robot.user_loads.values() for place in places if isinstance(place, Frame)]

    def tables(self, places: Places, inputs: Sequence[str]) -> User:
        load_rows, place = [], []
        point: list[list[int]] = []
        for load, where in places.robot.user_loads.values():
            first = len(point)
            for entry in where:
                spots: Iterable[tuple[Anchor, float]]
                if isinstance(entry, Frame):
                    spots = [(places.anchor(entry), 1.0)]
                else:
                    _X, weights, anchors = places.spread(entry)
                    spots = zip(anchors, weights.tolist())
                for anchor, weight in spots:
                    if anchor.step >= 0:
                        point.append([anchor.step])
                        offset = anchor.offset
                        place.append([*offset.rotation.ravel(), *offset.translation, weight])
            start = inputs.index(load.inputs[0]) if load.inputs else 0
            load_rows.append([first, len(point), load.address, start, len(load.inputs)])
        return User(load=as_rows(load_rows, 5, np.int64), point=as_rows(point, 1, np.int64), place=as_rows(place, 13))

    def present(self, tables: User) -> bool:
        return len(tables.point) > 0

    def steps(self, tables: User) -> NDArray[np.int64]:
        return tables.point[:, 0]

    def depends_on_velocity(self, tables: User) -> bool:
        return self.present(tables)

    def between(self, tables: User) -> NDArray[np.int64]:
        return against_world(self.steps(tables))

    def space(self, tables: User, nv: int, dtype: type = np.float64) -> UserSpace:
        return UserSpace(np.zeros(USER_WIDTH * len(tables.point) + int(tables.load[:, LOAD_INPUTS].max(initial=0))))

    def lasting(self, tables: User) -> User:
        return tables._replace(load=np.delete(tables.load, LOAD_ADDRESS, axis=1))


USER = _User()
