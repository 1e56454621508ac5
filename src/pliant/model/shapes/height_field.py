"""Terrain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import validate
from .base import Array, Shape
from .distance import Distance
from .surface import Sheet, Triangles, View, mesh_of

__all__ = ["HeightField"]


@dataclass(frozen=True, eq=False, repr=False)
class HeightField(Shape):
    """Everything below a height z(x, y): terrain.

    Parameters
    ----------
    heights : array_like, shape (nx, ny)
        Heights [m] at equal distances along x (rows) and y (columns), at least 3 × 3.
    size : array_like, shape (2,)
        Sides along x and y [m]; the origin is in the middle.

    Notes
    -----
    Between the heights it is a cubic spline in x and in y, so that normals and curvatures are continuous; it is level at the border and continues
    with the height of the border beyond it. The distance is that from the nearest point, found by Newton's iteration from the point below, so what touches must be less
    curved, downwards, than the ground is upwards: a ball that fits into a hollow, not one that rests on two slopes.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> hills = pl.HeightField.from_function(lambda x, y: 0.05 * np.cos(6 * x), size=(2, 2), nodes=(41, 5))
    >>> hills
    HeightField(41 × 5 heights, 2 × 2 m)
    """

    heights: Annotated[ArrayLike, (-1, -1)]
    size: Annotated[ArrayLike, (2,)]

    def __post_init__(self) -> None:
        """Check the values."""
        hint = "Give at least 3 × 3 heights in m, rows along x."
        heights = validate.reals("HeightField.heights", self.heights, hint=hint)
        if heights.ndim != 2 or min(heights.shape) < 3:
            raise ValueError(
                f"HeightField.heights has shape {heights.shape}, but must have (nx, ny) with at least 3 each. {hint}"
            )
        if not np.all(np.isfinite(heights)):
            raise ValueError(f"HeightField.heights has {heights[~np.isfinite(heights)][0]}, but must be finite. {hint}")
        size = validate.vector("HeightField.size", self.size, (2,), hint="Sides along x and y in m.")
        for k, name in enumerate("xy"):
            validate.positive(f"HeightField.size along {name}", float(size[k]), unit="m")
        for name, value in (("heights", heights), ("size", size)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def from_function(
        cls, function: Callable[[Array, Array], ArrayLike], *, size: Sequence[float], nodes: tuple[int, int] = (41, 41)
    ) -> HeightField:
        """Sample a function of x and y.

        Parameters
        ----------
        function : callable
            Takes arrays x and y [m] of one shape and returns the heights [m].
        size : sequence of two floats
            Sides along x and y [m].
        nodes : tuple of two ints
            Numbers of heights along x and y.
        """
        x, y = np.meshgrid(*(np.linspace(-s / 2, s / 2, n) for s, n in zip(size, nodes)), indexing="ij")
        return cls(np.asarray(function(x, y), dtype=np.float64) + 0.0 * x, size)

    def __repr__(self) -> str:
        """Its number of heights and its sides."""
        nx, ny = np.shape(self.heights)
        lx, ly = np.asarray(self.size)
        return f"HeightField({nx} × {ny} heights, {lx:g} × {ly:g} m)"

    def __eq__(self, other: Any) -> bool:
        """Whether heights and size are the same."""
        if type(other) is not HeightField:
            return False
        return np.array_equal(self.heights, other.heights) and np.array_equal(self.size, other.size)

    def __hash__(self) -> int:
        """Of the heights."""
        return hash(np.asarray(self.heights).tobytes())

    @property
    def volume(self) -> float:
        """Infinite."""
        return np.inf

    @cached_property
    def _spline(self) -> Any:
        from scipy.interpolate import CubicSpline  # here, since it takes a while to import

        def along(values: Array, points: Array) -> Array:
            return np.asarray(CubicSpline(np.linspace(-1, 1, len(values)), values, bc_type="clamped")(points))

        return along

    def height(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Height [m] of a grid of places, shape (len(x), len(y)); as high as at the border beyond it.

        Parameters
        ----------
        x, y : array_like
            Along the two axes [m].
        """
        hx, hy = 0.5 * np.asarray(self.size)
        px, py = (np.clip(np.atleast_1d(p).astype(float) / h, -1, 1) for p, h in ((x, hx), (y, hy)))
        return np.asarray(self._spline(self._spline(np.asarray(self.heights), px).T, py).T)

    def sheets(self, view: View) -> list[Sheet]:
        """The surface, where it is near."""
        sides = []
        for k, n in enumerate(np.shape(self.heights)):
            half, middle = 0.5 * np.asarray(self.size)[k], float(view.centre[k])
            low, high = max(-half, middle - view.reach), min(half, middle + view.reach)
            low, high = (low, high) if high > low else (-half, half)
            sides.append(np.linspace(low, high, min(4 * (n - 1), 3 * view.around) + 1))
        x, y = np.meshgrid(*sides)
        return [Sheet(np.stack([x, y, self.height(*sides).T], axis=-1))]

    def mesh(self, *, size: float = 1.0, inside: bool = False, around: int = 32) -> Triangles:
        """Triangles of the surface."""
        return mesh_of(self.sheets(View(around=around)))

    def distance(self) -> Distance:
        """A field."""
        lx, ly = np.asarray(self.size)
        return Distance("field", (0.5 * float(lx), 0.5 * float(ly)), heights=np.asarray(self.heights))
