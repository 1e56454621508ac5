"""Designs: where to look. Grids, Sobol sequences, Latin hypercubes, tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..model.validate import choice, integer, reals, shown

__all__ = ["Design", "DesignName", "grid_of", "made", "spread"]

Array = NDArray[np.float64]
DesignName = Literal["grid", "latin", "sobol", "random", "table"]
MOST = 10**9  # items of a grid


@dataclass(frozen=True, eq=False)
class Design:
    """Items in a space of named numbers.

    Attributes
    ----------
    names : tuple of str
    values : ndarray (m, n)
    axes : tuple of ndarray, or None
        Values along each dimension of a grid; the items are all combinations, the last name varies fastest.
    """

    names: tuple[str, ...]
    values: Array
    axes: tuple[Array, ...] | None = None

    def __len__(self) -> int:
        """Number of items."""
        return len(self.values)


def interval_of(name: str, value: Any) -> tuple[float, float]:
    """Two numbers, the lower first; error if they are not."""
    found = reals(name, value)
    if found.shape != (2,) or not np.all(np.isfinite(found)) or not found[0] < found[1]:
        raise ValueError(f"{name} = {shown(value)} is not allowed: give (lowest, highest), two finite numbers.")
    return float(found[0]), float(found[1])


def spread(ranges: Mapping[str, Any], samples: int, method: DesignName, seed: int, field: str = "inputs") -> Design:
    """Items within ranges (lowest, highest) by name.

    Parameters
    ----------
    ranges : dict
    samples : int
        How many; of a grid along each dimension.
    method : {"sobol", "latin", "random", "grid"}
    seed : int
        The same seed gives the same items; a longer Sobol sequence begins with a shorter one.
    field : str
        What the ranges are called in errors.
    """
    from scipy.stats import qmc

    choice("sampling", method, ("sobol", "latin", "random", "grid"))
    count = integer("samples", samples, minimum=1)
    bounds = np.array([interval_of(f"{field}[{name!r}]", value) for name, value in ranges.items()]).reshape(-1, 2)
    if not len(bounds):
        raise ValueError(f"{field} = {{}} is not allowed: name what varies, with its lowest and highest value.")
    low, high = bounds[:, 0], bounds[:, 1]
    if method == "grid":
        return grid_of(
            {name: np.linspace(lowest, highest, count) for name, (lowest, highest) in zip(ranges, bounds.tolist())}
        )
    generator = np.random.default_rng(seed)
    if method == "sobol":
        sampler: Any = qmc.Sobol(len(bounds), rng=generator)
        unit = sampler.random(2 ** max(0, math.ceil(math.log2(count))))[:count]  # a power of two, as it asks for
    elif method == "latin":
        unit = qmc.LatinHypercube(len(bounds), rng=generator).random(count)
    else:
        unit = generator.random((count, len(bounds)))
    return Design(tuple(ranges), low + (high - low) * unit)


def grid_of(axes: Mapping[str, Any]) -> Design:
    """All combinations of values by name."""
    found = [np.atleast_1d(reals(f"axes[{name!r}]", value)) for name, value in axes.items()]
    for name, values in zip(axes, found):
        if values.ndim != 1:
            raise ValueError(f"axes[{name!r}] has shape {values.shape}, but a list of values is needed.")
    if math.prod(map(len, found)) > MOST:
        raise ValueError(
            f"the grid has {math.prod(map(len, found)):.3g} items; at most {MOST:g} are possible. Use design='latin'."
        )
    mesh = np.meshgrid(*found, indexing="ij") if found else []
    values = np.stack([x.ravel() for x in mesh], axis=1) if mesh else np.zeros((1, 0))
    return Design(tuple(axes), values, tuple(found))


def made(axes: Mapping[str, Any], design: str, samples: int | None, seed: int) -> Design:
    """The design of a sweep."""
    choice("design", design, ("grid", "latin", "sobol", "random", "table"))
    if not isinstance(axes, Mapping):
        raise TypeError(f"axes = {shown(axes)} must be a dictionary: values, or (lowest, highest), by name.")
    if design in ("grid", "table") and samples is not None:
        raise ValueError(
            f"samples = {samples!r} has no effect with design={design!r}: its values say how many there are. Leave it out."
        )
    if design == "grid":
        return grid_of(axes)
    if design == "table":
        columns = {name: np.atleast_1d(reals(f"axes[{name!r}]", value)) for name, value in axes.items()}
        if len({c.shape for c in columns.values()}) > 1 or any(c.ndim != 1 for c in columns.values()):
            said = ", ".join(f"{name!r} has {c.shape}" for name, c in columns.items())
            raise ValueError(f"the columns of the table differ: {said}. Give a value for each item.")
        return Design(tuple(axes), np.stack(list(columns.values()), axis=1) if columns else np.zeros((0, 0)))
    if samples is None:
        raise ValueError(f"samples is needed with design={design!r}: how many items.")
    return spread(axes, samples, design, seed, "axes")  # type: ignore[arg-type]
