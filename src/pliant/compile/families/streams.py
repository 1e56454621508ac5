"""Waves, profiles and gusts → fields of velocity, and the points on which they act."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...kernels.loads.streams import GUST, SHEAR, WAVE, Streams, apply_streams, streams
from ...kernels.loads.water import F_ADDED, F_DRAG, F_STEP, W_MASS, WATER_WIDTH
from ...model.fluid import Gust, Profile, Wave
from ..family import Family, against_world
from ..places import Places, as_rows
from .water import WATER

__all__ = ["STREAMS"]

_KINDS = {Wave: WAVE, Profile: SHEAR, Gust: GUST}


class _Streams(Family):
    name = "streams"
    unit = streams
    apply = staticmethod(apply_streams)
    descriptions = (Wave, Profile, Gust)

    def tables(self, places: Places, inputs: Sequence[str]) -> Streams:
        loads: dict[str, Wave | Profile | Gust] = dict(self.loads(places.robot))
        fluid = places.robot.fluid
        if loads and fluid is None:
            raise ValueError(
                f"load {next(iter(loads))!r}: there is no fluid that could move; call set_fluid(density=...) and add_hydrodynamics."
            )
        field = [
            [_KINDS[type(load)], inputs.index(name) if list(load.inputs(name)) else -1] for name, load in loads.items()
        ]
        place, data = np.zeros((0, 3), dtype=np.int64), np.zeros((0, WATER_WIDTH))
        if loads:
            found = WATER.whole(places)
            moved = np.any(found.place[:, F_DRAG:] != 0, axis=1) | (found.data[:, W_MASS] != 0.0)
            place, data = found.place[moved], found.data[moved]
        return Streams(
            field=as_rows(field, 2, np.int64),
            shape=as_rows([load.shape() for load in loads.values()], 12),
            current=np.zeros(3) if fluid is None else np.array(fluid.current, dtype=float),
            place=place,
            data=data,
        )

    def steps(self, tables: Streams) -> NDArray[np.int64]:
        return tables.place[:, F_STEP]

    def depends_on_velocity(self, tables: Streams) -> bool:
        return bool(np.any(tables.place[:, [F_DRAG, F_ADDED]]))

    def between(self, tables: Streams) -> NDArray[np.int64]:
        return against_world(self.steps(tables))


STREAMS = _Streams()
for _stream in _KINDS:
    _stream.family = STREAMS  # type: ignore[attr-defined]
