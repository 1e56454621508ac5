"""All sensors of an estimator together: values as one vector, predictions with their derivatives."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..gradients.costs.coordinates import Coordinates, Inputs, Rates
from ..gradients.costs.frames import AngularVelocity, Orientation, Position, Velocity
from ..gradients.costs.inertial import FramePose
from ..gradients.costs.measured import Measured
from ..gradients.costs.quantity import Added, Entries, Length, Mapped, Quantity, Shifted, Stack
from ..gradients.costs.rods import Curvature, Strain, StrainGauge
from ..gradients.costs.states import States, slopes_of
from ..gradients.costs.tendons import TendonLength
from ..model.validate import reals, shown, unknown_name
from ..system import System

__all__ = ["Readings"]

Array = NDArray[np.float64]
_PLACES = (
    AngularVelocity, Coordinates, Curvature, FramePose, Inputs, Orientation, Position, Rates, Strain, StrainGauge, TendonLength, Velocity,
)  # fmt: skip


class Readings:
    """The sensors of an estimator, one after the other.

    Attributes
    ----------
    names : tuple of str
    places : tuple of slice
        Of each sensor in the vector of all values.
    noise : ndarray (m,)
        Standard deviations.
    of_places : bool
        Whether they tell of places, strains and velocities alone, so that stiffness, damping and masses of the robot do not count.
    """

    def __init__(self, system: System, sensors: Any) -> None:
        given = [sensors] if isinstance(sensors, Measured) else sensors
        hint = "Give a list of quantities with their noise, for example [pl.costs.Position('arm.tip').measured(0.001)]."
        if isinstance(given, Quantity) or (
            isinstance(given, Sequence) and any(isinstance(sensor, Quantity) for sensor in given)
        ):
            raise TypeError(f"sensors: {shown(sensors)} lacks its noise. {hint}")
        if not isinstance(given, Sequence) or not given or not all(isinstance(sensor, Measured) for sensor in given):
            raise TypeError(f"sensors = {shown(sensors)} is not allowed. {hint}")
        self.sensors = tuple(given)
        self.names = tuple(str(sensor.name) for sensor in given)
        twice = next((name for name in self.names if self.names.count(name) > 1), None)
        if twice:
            raise ValueError(f"sensors: {twice!r} stands twice. Give them names: quantity.measured(noise, 'name').")
        noise = [sensor.deviations(system) for sensor in given]
        ends = np.cumsum([0, *map(len, noise)]).tolist()
        self.places = tuple(slice(a, b) for a, b in itertools.pairwise(ends))
        self.noise = np.concatenate(noise)
        self.of_places = all(_of_places(sensor.quantity) for sensor in given)

    def __len__(self) -> int:
        """Number of values m."""
        return len(self.noise)

    def vector(self, values: Any) -> Array:
        """Values (m,), NaN for what is missing, from a vector, a dictionary by the names of sensors, or None."""
        plain = isinstance(values, np.ndarray) and values.dtype == np.float64 and values.shape == self.noise.shape
        if plain and np.isfinite(values).all():
            return np.array(values)
        out = np.full(len(self.noise), np.nan)
        if values is None:
            return out
        if isinstance(values, Mapping):
            for name, value in values.items():
                if name not in self.names:
                    raise unknown_name("sensor", str(name), self.names)
                place = self.places[self.names.index(name)]
                array = np.atleast_1d(reals(f"values[{name!r}]", value))
                if array.shape not in ((), (place.stop - place.start,)):
                    raise ValueError(
                        f"values[{name!r}] has shape {array.shape}, but ({place.stop - place.start},) is needed; NaN for what is missing."
                    )
                out[place] = array
        else:
            array = np.atleast_1d(reals("values", values, hint="A vector of all readings, or a dictionary by sensor."))
            if array.shape != out.shape:
                sizes = ", ".join(f"{name}: {p.stop - p.start}" for name, p in zip(self.names, self.places))
                raise ValueError(
                    f"values has shape {array.shape}, but {out.shape} is needed ({sizes}); NaN is missing."
                )
            out[:] = array
        if np.any(np.isinf(out)):
            raise ValueError(f"values = {shown(values)} has an infinite entry; use NaN for what is missing.")
        return out

    def named(self, row: Array) -> dict[str, Array]:
        """A vector (m,) by sensor."""
        return {name: row[place] for name, place in zip(self.names, self.places)}

    def value(self, system: System, t: float, q: Array, v: Array, u: Array) -> Array:
        """What they should read, (m,)."""
        states = _single(system, t, q, v, u)
        return np.concatenate([sensor.quantity.evaluate(states).value[0] for sensor in self.sensors])

    def predict(
        self, system: System, t: float, q: Array, v: Array, u: Array, slopes: tuple[Array, Array, Array]
    ) -> Array:
        """What they should read, (m,); the exact derivatives by q, v and u into arrays (m, nv), (m, nv), (m, nu) of zeros."""
        states, value = _single(system, t, q, v, u), np.empty(len(self.noise))
        for sensor, place in zip(self.sensors, self.places):
            found = sensor.quantity.evaluate(states)
            value[place] = found.value[0]
            for out, slope in zip(slopes, slopes_of(found)):
                if slope is not None:
                    out[place] = slope[0]
        return value


def _of_places(quantity: Any) -> bool:
    """Whether a quantity is one of those below, or made of them; of what users write themselves nobody knows."""
    if type(quantity) in (Mapped, Shifted, Entries, Length):
        return _of_places(quantity.inner)
    if type(quantity) is Added:
        return _of_places(quantity.first) and _of_places(quantity.second)
    if type(quantity) is Stack:
        return all(_of_places(part) for part in quantity.parts)
    return type(quantity) in _PLACES


def _single(system: System, t: float, q: Array, v: Array, u: Array) -> States:
    """One state, which needs no checks."""
    out = object.__new__(States)
    vars(out).update(system=system, t=np.array([t]), q=q[None], v=v[None], u=u[None])
    return out
