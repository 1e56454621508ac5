"""What is estimated beside the state: inputs that nobody knows, such as loads, and parameters of the robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.validate import finite, non_negative, positive, shown, text, unknown_name
from ..system import System

__all__ = ["Prior", "Unknowns"]

Array = NDArray[np.float64]
_WIDE = 100.0  # how far positive parameters may move by default, as a factor


@dataclass(frozen=True)
class Prior:
    """What is known at the start of an input or a parameter that is estimated together with the state.

    Parameters
    ----------
    name : str
        Of an input (`System.input_names`), such as that of a wrench at the tip, or of a parameter (`System.parameters`), such as "arm.young".
    deviation : float
        Standard deviation of what is known of it at the start, in its unit.
    drift : float
        How fast it changes, as a random walk [unit/√s]: after t seconds it has moved by about ``drift · √t``. By default it is constant.
    start : float, optional
        The estimate at the start: by default 0 for inputs and the value of the description for parameters.
    bounds : (float, float), optional
        Within which it is kept. By default inputs are free, and parameters larger than zero stay within a hundredth and a hundred times their value.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Prior("arm.young", 2e5, bounds=(5e5, 2e6))
    Prior(name='arm.young', deviation=200000.0, drift=0.0, start=None, bounds=(500000.0, 2000000.0))
    >>> pl.Prior("load", 0.5, drift=1.0)  # newtons, and newtons per root second
    Prior(name='load', deviation=0.5, drift=1.0, start=None, bounds=None)
    """

    name: str
    deviation: float
    drift: float = 0.0
    start: float | None = None
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        put = object.__setattr__
        text("Prior.name", self.name)
        hint = "The standard deviation of what is known of it at the start, in its unit."
        put(self, "deviation", positive("Prior.deviation", self.deviation, hint=hint))
        put(self, "drift", non_negative("Prior.drift", self.drift, hint="Its unit per root second; 0 if constant."))
        if self.start is not None:
            put(self, "start", finite("Prior.start", self.start))
        if self.bounds is not None:
            if not isinstance(self.bounds, (tuple, list)) or len(self.bounds) != 2:
                raise TypeError(f"Prior.bounds = {shown(self.bounds)} must be a pair (lowest, highest).")
            low, high = (float(x) for x in self.bounds)
            if not low < high:
                raise ValueError(f"Prior.bounds = {shown(self.bounds)}: the first must be smaller than the second.")
            put(self, "bounds", (low, high))


class Unknowns:
    """All unknowns of an estimator: inputs first, then parameters.

    Attributes
    ----------
    names : tuple of str
    inputs : ndarray (nw,)
        Numbers of the unknown inputs.
    parameters : tuple of str
    start, deviation, drift, low, high : ndarray (k,)
    """

    def __init__(self, system: System, unknown: Any) -> None:
        given = [unknown] if isinstance(unknown, Prior) else unknown
        if not isinstance(given, Sequence) or not all(isinstance(x, Prior) for x in given):
            raise TypeError(
                f"unknown = {shown(unknown)} must be a list of pl.Prior(name, deviation), of inputs or parameters of the robot."
            )
        names = [x.name for x in given]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise ValueError(f"unknown: {twice!r} stands twice. Name each once.")
        for name in names:
            if name not in system.input_names and name not in system.parameters:
                raise unknown_name("input or parameter", name, [*system.input_names, *system.parameters])
            if name in system.held_tendons:
                raise ValueError(f"unknown: the tension of {name!r} follows from its prescribed length.")
        ordered = [x for x in given if x.name in system.input_names]
        self.inputs = np.array([system.input_names.index(x.name) for x in ordered], dtype=np.int64)
        self.parameters = tuple(x.name for x in given if x.name not in system.input_names)
        ordered += [x for x in given if x.name not in system.input_names]
        self.names = tuple(x.name for x in ordered)
        own = [0.0 if x.name in system.input_names else system.parameters[x.name] for x in ordered]
        self.start = np.array([value if x.start is None else x.start for x, value in zip(ordered, own)], dtype=float)
        self.deviation = np.array([x.deviation for x in ordered], dtype=float)
        self.drift = np.array([x.drift for x in ordered], dtype=float)
        bounds = [self._bounds(system, x, value) for x, value in zip(ordered, own)]
        self.low, self.high = np.array(bounds, dtype=float).reshape(-1, 2).T
        for name, value, low, high in zip(self.names, self.start, self.low, self.high):
            if not low <= value <= high:
                raise ValueError(f"Prior {name!r}: the start {value:g} lies outside its bounds [{low:g}, {high:g}].")

    @staticmethod
    def _bounds(system: System, x: Prior, value: float) -> tuple[float, float]:
        if x.bounds is not None:
            return x.bounds
        if x.name in system.input_names:
            k = system.input_names.index(x.name)
            return float(system.input_bounds[0][k]), float(system.input_bounds[1][k])
        return (value / _WIDE, value * _WIDE) if value > 0.0 else (-np.inf, np.inf)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.names)

    def values(self, x: Array) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.names, x.tolist()))
