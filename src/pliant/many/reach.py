"""`workspace`: where the frames of a robot can be, in equilibrium, within the ranges of its inputs, and how well they can be moved there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.validate import flag, positive, unknown_name
from ..solve.equilibrium import Equilibrium
from ..solve.statics import solve_statics
from ..system import FrameLike, System, needs_system
from .batch import batch
from .designs import DesignName, spread
from .found import BatchResult
from .rounds import equilibria_in_rounds

__all__ = ["ReachableSet", "Voxels", "workspace"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Voxels:
    """Cubes that a set of points touches.

    Attributes
    ----------
    size : float
        Edge of a cube [m].
    origin : ndarray (3,)
        Lowest corner of the first cube [m].
    count : ndarray (nx, ny, nz) of int
        Points in each cube.
    """

    size: float
    origin: Array
    count: NDArray[np.int64]

    @property
    def occupied(self) -> NDArray[np.bool_]:
        """Cubes with points, (nx, ny, nz)."""
        return self.count > 0

    @property
    def volume(self) -> float:
        """Volume of the cubes with points [m³]."""
        return float(np.count_nonzero(self.count) * self.size**3)


@dataclass(frozen=True, eq=False)
class ReachableSet:
    """Stable equilibria within ranges of inputs, and where frames are in them; made by `workspace`.

    Attributes
    ----------
    system : System
    frames : tuple of str
    names : tuple of str
        Inputs that were varied.
    u : ndarray (m, nu)
        All inputs.
    q : ndarray (m, nq)
        Equilibria; NaN where none was found.
    reached : ndarray (m,) of bool
        Where a stable equilibrium was found; the others have no part in sets and volumes.
    statics : BatchResult
        What became of each item.
    """

    system: System
    frames: tuple[str, ...]
    names: tuple[str, ...]
    u: Array = field(repr=False)
    q: Array = field(repr=False)
    reached: NDArray[np.bool_] = field(repr=False)
    statics: BatchResult = field(repr=False)
    places: Mapping[str, Array] = field(repr=False)
    slopes: Mapping[str, Array] = field(repr=False)

    def __len__(self) -> int:
        """Number of items."""
        return len(self.u)

    def _frame(self, frame: str | None) -> str:
        name = self.frames[0] if frame is None else frame
        if name not in self.places:
            raise unknown_name("frame of this set", str(name), self.frames)
        return name

    def points(self, frame: str | None = None) -> Array:
        """Positions of a frame [m], (m, 3); NaN where nothing was reached. Without a name, the first frame."""
        return self.places[self._frame(frame)]

    def jacobians(self, frame: str | None = None) -> Array:
        """Exact derivatives of the position by the inputs that vary, in equilibrium, (m, 3, inputs) [m per unit of the input]."""
        name = self._frame(frame)
        if name not in self.slopes:
            raise ValueError("derivatives were not asked for: use workspace(..., manipulability=True).")
        return self.slopes[name]

    def singular_values(self, frame: str | None = None) -> Array:
        """Semi-axes of the ellipsoid in which the frame moves for inputs of unit norm, largest first, (m, min(3, inputs))."""
        J = self.jacobians(frame)
        out = np.full((len(J), min(J.shape[1:])), np.nan)
        out[self.reached] = np.linalg.svd(J[self.reached], compute_uv=False)
        return out

    def manipulability(self, frame: str | None = None) -> Array:
        """Yoshikawa's measure, the product of the singular values, (m,): zero where some direction is lost."""
        return np.asarray(self.singular_values(frame).prod(axis=1))

    def hull_volume(self, frame: str | None = None) -> float:
        """Volume of the convex hull of the points [m³]; zero if they lie in a plane."""
        from scipy.spatial import ConvexHull, QhullError

        points = self.points(frame)[self.reached]
        if len(points) < 4:
            return 0.0
        spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
        if spread[2] <= 1e-9 * spread[0]:
            return 0.0
        try:
            return float(ConvexHull(points).volume)
        except QhullError:
            return 0.0

    def voxels(self, size: float, frame: str | None = None) -> Voxels:
        """Cubes of an edge [m] that the points touch; unlike the hull they know of holes, but need points in every cube."""
        edge = positive("size", size, unit="m")
        points = self.points(frame)[self.reached]
        if not len(points):
            return Voxels(edge, np.zeros(3), np.zeros((0, 0, 0), dtype=np.int64))
        cells = np.floor(points / edge).astype(np.int64)
        low = cells.min(axis=0)
        shape = cells.max(axis=0) - low + 1
        if shape.prod() > 1e9:
            raise ValueError(
                f"size = {size!r} m is not allowed: it makes {shape.prod():.3g} cubes; at most 1e9 are possible."
            )
        count = np.zeros(shape, dtype=np.int64)
        np.add.at(count, tuple((cells - low).T), 1)
        return Voxels(edge, low * edge, count)

    def plot(self, frame: str | None = None, **options: Any) -> Any:
        """Draw the points, coloured by manipulability if it is known; see `pliant.viz.reach.plot_reach`."""
        from ..viz.reach import plot_reach

        return plot_reach(self, self._frame(frame), **options)

    def __str__(self) -> str:
        """A few lines: how many were reached, extents."""
        lines = [
            f"{self.system.name}: {np.count_nonzero(self.reached)} of {len(self)} points reached, by {', '.join(self.names)}"
        ]
        for frame in self.frames:
            points = self.points(frame)[self.reached]
            if len(points):
                low, high = points.min(axis=0), points.max(axis=0)
                extent = " × ".join(f"{b - a:.3g}" for a, b in zip(low, high))
                lines.append(f"  {frame}: {extent} m, hull {self.hull_volume(frame):.3g} m³")
        return "\n".join(lines)


def workspace(
    system: System,
    frames: FrameLike | Iterable[FrameLike],
    inputs: Mapping[str, ArrayLike],
    *,
    samples: int = 4096,
    sampling: DesignName = "sobol",
    seed: int = 0,
    fixed: Mapping[str, float] | None = None,
    start: ArrayLike | Equilibrium | None = None,
    manipulability: bool = False,
    threads: int | None = None,
    progress: bool | None = None,
) -> ReachableSet:
    """Where frames can be, in stable equilibrium, within ranges of the inputs.

    Parameters
    ----------
    system : System
    frames : frame or frames
        Names, such as "arm.tip".
    inputs : dict
        (lowest, highest) by name.
    samples : int
        How many equilibria; of a grid along each input.
    sampling : {"sobol", "latin", "random", "grid"}
        How they are spread. Sobol sequences cover evenly, and a longer one begins with a shorter one; a grid has points at the limits of the
        inputs, where the hull of what can be reached is decided.
    seed : int
    fixed : dict, optional
        Other inputs by name; zero if left out.
    start : array (nq,) or Equilibrium, optional
        Near which equilibria are looked for; that of the lowest inputs if left out.
    manipulability : bool
        Also find exact derivatives of positions by the inputs.
    threads, progress
        As of `batch`.

    Returns
    -------
    ReachableSet

    Notes
    -----
    The first 64 equilibria are found from the start, and eight times as many in every further round, each from its nearest neighbour and along its
    derivatives. Where a robot has several stable equilibria for the same inputs, that is the branch that inputs which grow from the start lead to, as long as
    it does not snap.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> left, right = robot.add_tendon("left", arm, y=0.012), robot.add_tendon("right", arm, y=-0.012)
    >>> system = robot.compile()
    >>> reach = pl.workspace(system, "arm.tip", {"left": (0, 6), "right": (0, 6)}, samples=64)
    >>> bool(reach.reached.all()), reach.points().shape
    (True, (64, 3))
    """
    needs_system("workspace", system)
    seen = [frames] if not isinstance(frames, Iterable) or isinstance(frames, str) else list(frames)
    if not seen:
        raise ValueError("frames = [] is not allowed: name at least one.")
    labels = tuple(frame if isinstance(frame, str) else str(getattr(frame, "name", frame)) for frame in seen)
    for frame in seen:
        system.place(frame)
    for name in inputs:
        if name not in system.input_names:
            raise unknown_name("input", str(name), system.input_names)
    wanted = flag("manipulability", manipulability)
    design = spread(inputs, samples, sampling, seed)
    U = np.tile(system.inputs(fixed), (len(design), 1))
    columns = [system.input_names.index(name) for name in design.names]
    U[:, columns] = design.values
    for corner in (U.min(axis=0), U.max(axis=0)):
        system.inputs(corner)  # within their bounds
    jobs = batch(system, threads=threads, progress=progress)
    if start is None:
        start = solve_statics(system, U.min(axis=0))
    # a grid is not even before it is complete
    order = np.random.default_rng(seed).permutation(len(U)) if sampling == "grid" else np.arange(len(U))
    found = equilibria_in_rounds(jobs, U, columns, start, order)
    reached = found.success & (found["stability"] == "stable")
    q = np.where(reached[:, None], found["q"], np.nan)
    places: dict[str, Array] = {}
    slopes: dict[str, Array] = {}
    for label, frame in zip(labels, seen):
        places[label] = jobs.poses(frame, q)["pose"][:, :3, 3].copy()
        if wanted:
            slopes[label] = jobs.static_jacobians(frame, q, U)["jacobian"][:, 3:, columns]
    return ReachableSet(system, labels, design.names, U, q, reached, found, places, slopes)
