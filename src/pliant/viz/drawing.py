"""Drawing a robot with matplotlib: its shape at one instant, or several instants overlaid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.validate import choice, integer
from ..system import System
from .names import plot_text
from .polygons import Scene
from .style import COLORS, axes, ramp
from .style import legend as legend_of

__all__ = [
    "VIEWS",
    "Canvas",
    "draw_robot",
    "draw_surroundings",
    "plot_configurations",
    "plot_shape",
    "plot_snapshots",
]

Array = NDArray[np.float64]
_ROD, _BODY, _OBSTACLE = COLORS[0], "#9a9fa6", "#d9d4c7"
_AZIMUTH, _ELEVATION = -58.0, 22.0  # of the viewer in space [degrees]
VIEWS = ("3d", "xy", "xz", "yz", "yx", "zx", "zy")


class Canvas:
    """Axes in space or in a plane, on which polygons, lines and points are drawn alike."""

    def __init__(self, ax: Any, view: str, gravity: Array) -> None:
        self.ax, self.view = ax, view
        self.artists: list[Any] = []
        strongest = int(np.argmax(np.abs(gravity))) if np.any(gravity) else 2
        self.up = "xyz"[strongest] if np.any(gravity) else "z"
        self.down = bool(gravity[strongest] > 0)  # gravity pulls along the positive axis
        if view != "3d":
            self.axes = ["xyz".index(c) for c in view]
            h, v = np.eye(3)[self.axes]
            v = -v if self._turned() else v
            self.towards = np.cross(h, v)
            light = self.towards + v - 0.5 * h
        else:
            k = "xyz".index(self.up)
            unit = np.roll(np.eye(3), -k - 1, axis=0)  # two horizontal axes, then the vertical one
            azimuth = np.radians(_AZIMUTH)
            light = np.cos(azimuth) * unit[0] + np.sin(azimuth) * unit[1] + (-1.4 if self.down else 1.4) * unit[2]
        self.light = light / np.linalg.norm(light)
        self.fresh = not (ax.lines or ax.collections or ax.patches)

    def _turned(self) -> bool:
        return self.down and self.view[1] == self.up

    def polygons(self, faces: Array, colors: Array, *, alpha: float = 1.0, edge: str | None = None) -> None:
        """Filled polygons (n, 4, 3), hidden by those in front."""
        if not len(faces):
            return
        from matplotlib.collections import PolyCollection
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        options: dict[str, Any] = {
            "linewidths": 0.5 if edge else 0.25,
            "alpha": alpha,
            "clip_on": self.view != "3d",
            "zorder": 1 if edge else 2,
        }
        shaded = colors if edge else _shade(faces, colors, self.light)
        if self.view == "3d":
            collection = Poly3DCollection(
                faces, facecolors=shaded, edgecolors=shaded if edge is None else edge, **options
            )
            collection.set_in_layout(False)
            self.ax.add_collection3d(collection, autolim=False)
        else:
            order = np.argsort((faces @ self.towards).mean(axis=1))
            flat, shaded = faces[order][:, :, self.axes], shaded[order]
            collection = PolyCollection(
                list(flat), facecolors=shaded, edgecolors=shaded if edge is None else edge, **options
            )
            self.ax.add_collection(collection)
        self.include(faces.reshape(-1, 3))
        self.artists.append(collection)

    def line(self, points: Array, **options: Any) -> None:
        """A line through points (m, 3)."""
        data = points.T if self.view == "3d" else points[:, self.axes].T
        lines = self.ax.plot(*data, **{"zorder": 3, "clip_on": self.view != "3d", **options})
        lines[0].set_in_layout(self.view != "3d")
        self.artists += lines
        self.include(points)

    def include(self, points: Array) -> None:
        """Make room for points (m, 3)."""
        points = points[np.all(np.isfinite(points), axis=1)]
        if self.view == "3d":
            self.ax.auto_scale_xyz(*points.T, had_data=not self.fresh)
            self.fresh = False
        else:
            self.ax.update_datalim(points[:, self.axes])

    def finish(self, own: bool = False) -> None:
        """Equal scales, labels with units, gravity downwards; a figure of our own gets the proportions of the picture."""
        if self.view == "3d":
            self._finish_space()
            return
        ax = self.ax
        ax.autoscale_view()
        ax.set_aspect("equal", adjustable="datalim")
        if own:
            figure, (width, height) = ax.get_figure(), np.maximum(ax.dataLim.size, 1e-12)
            scale = min(5.0 / width, 5.0 / height)
            figure.set_size_inches(max(scale * width, 2.0) + 1.4, max(scale * height, 1.2) + 0.7)
        ax.set(xlabel=f"{self.view[0]} [m]", ylabel=f"{self.view[1]} [m]")
        if self._turned() and not ax.yaxis_inverted():
            ax.invert_yaxis()

    def _finish_space(self) -> None:
        from matplotlib.ticker import FixedLocator, MaxNLocator

        ax = self.ax
        if not getattr(ax, "_pliant_view", False):
            turned = {"elev": -_ELEVATION, "roll": 180} if self.down else {"elev": _ELEVATION, "roll": 0}
            ax.view_init(azim=_AZIMUTH, vertical_axis=self.up, **turned)
            ax._pliant_view = True  # what the user turns afterwards stays
            ax.computed_zorder = False
        limits = np.array([ax.xy_dataLim.intervalx, ax.xy_dataLim.intervaly, ax.zz_dataLim.intervalx])
        centre, span = limits.mean(axis=1), np.ptp(limits, axis=1)
        span = 1.05 * np.maximum(span, 0.25 * span.max() + 1e-12)
        for axis, c, s, letter in zip((ax.xaxis, ax.yaxis, ax.zaxis), centre, span, "xyz"):
            getattr(ax, f"set_{letter}lim")(c - s / 2, c + s / 2)
            share = s / span.max()
            places: Any = MaxNLocator(6 if share > 0.7 else 4, steps=[1, 2, 5, 10])
            if share < 0.4:  # numbers near the corners would run into those of the next axis
                inner = [x for x in places.tick_values(c - s / 2, c + s / 2) if abs(x - c) < 0.32 * s]
                places = FixedLocator(inner[:: max(1, len(inner) // 2)])
            axis.set_major_locator(places)
            axis.set_label_text(f"{letter} [m]")
            axis.labelpad = 1 + 5 * share + (10 if letter == self.up else 0)
            axis.set_pane_color((1, 1, 1, 0))
            if letter == self.up:  # upright, also where the picture is turned over
                axis.set_rotate_label(False)
                axis.label.set_rotation(90)
            axis.set_tick_params(pad=0)
        tall = span["xyz".index(self.up)] / span.max()
        ax.set_box_aspect(
            span / span.max(), zoom=(0.78 if np.sort(span)[1] < 0.4 * span.max() else 0.86) if tall > 0.7 else 0.98
        )

    def clear(self) -> None:
        """Take away what was drawn."""
        for artist in self.artists:
            artist.remove()
        self.artists.clear()


def _shade(faces: Array, colors: Array, light: Array) -> Array:
    """Colours of faces under a light from a direction, so that shapes look solid."""
    normals = np.cross(faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1])
    length = np.linalg.norm(normals, axis=1)
    facing = np.where(length > 0, normals @ light / np.where(length > 0, length, 1), 0.0)
    out = colors.copy()
    out[:, :3] *= (0.76 + 0.3 * facing)[:, None]
    return np.clip(out, 0, 1)


def draw_robot(
    canvas: Canvas, scene: Scene, q: Array, color: Any = None, *, tendons: bool = True, label: str = ""
) -> None:
    """One configuration; in its own colours, or all in one."""
    from matplotlib.colors import to_rgba

    rod, body = (_ROD, _BODY) if color is None else (color, color)
    faces, kinds = scene.polygons(q)
    rgba = {"rod": np.array(to_rgba(rod)), "body": np.array(to_rgba(body))}
    if color is not None:
        rgba["body"][:3] = 0.55 * rgba["body"][:3] + 0.3  # greyer than the rods
    canvas.polygons(faces, np.array([rgba[k] for k in kinds]))
    for name, points in scene.centrelines(q).items():
        if scene.is_thin(name):
            canvas.line(points, color=rod, lw=1.8, label=label or f"_{name}", solid_capstyle="round")
    for name, points in scene.skeletons(q).items():
        canvas.line(points, color=rgba["body"], marker="o", ms=3, lw=2.5, label=f"_{name}")
    for k, (name, points) in enumerate(scene.lines(q).items() if tendons else ()):
        shade = COLORS[1 + k % (len(COLORS) - 1)] if color is None else color
        canvas.line(points, color=shade, lw=1.0, label=plot_text(name) if color is None else f"_{name}", zorder=4)
    for name in scene.frames:
        g = scene.system.pose(name, q)
        for k, c in enumerate(("#c0392b", "#27ae60", "#2c5fb3")):
            canvas.line(
                g[:3, 3] + np.outer([0, 0.08 * scene.size], g[:3, k]), color=c, lw=1.5, zorder=5, label=f"_{name}"
            )


def draw_surroundings(canvas: Canvas, scene: Scene, q: Array) -> None:
    """Obstacles, behind the robot."""
    from matplotlib.colors import to_rgba

    if not scene.robot.obstacles:
        return
    body = np.concatenate([*scene.centrelines(q).values(), scene.bodies(q), np.zeros((1, 3))])
    faces = scene.obstacles(q, body.mean(axis=0), 0.75 * scene.size)
    canvas.polygons(faces, np.tile(to_rgba(_OBSTACLE), (len(faces), 1)), alpha=0.18, edge="0.7")


def plot_shape(
    system: System,
    q: ArrayLike,
    *,
    view: str = "3d",
    color: Any = None,
    tendons: bool = True,
    frames: bool | Sequence[str] = False,
    legend: bool = False,
    ax: Any = None,
) -> Any:
    """Draw a robot in one configuration: rods with their thickness, bodies, tendons, obstacles.

    Parameters
    ----------
    system : System
    q : array (nq,)
    view : "3d", "xy", "xz", "yz", "yx", "zx" or "zy"
        In space, or projected: "xz" has x to the right and z up. Gravity points down.
    color : colour, optional
        One for everything; by default rods are blue, bodies grey, and tendons have one each.
    tendons : bool
        Whether tendons are drawn (over the rods, so that they can be seen).
    frames : bool or list of str
        Axes (red x, green y, blue z) of all named frames, or of these.
    legend : bool
        Names of the tendons.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    choice("view", view, VIEWS)
    scene = Scene(system, tendons=tendons, frames=frames)
    configuration = system.check_q(q)
    own = ax is None
    with axes(ax, space=view == "3d", size=(6.0, 4.8)) as ax:
        canvas = Canvas(ax, view, system.gravity)
        draw_surroundings(canvas, scene, configuration)
        draw_robot(canvas, scene, configuration, color)
        canvas.finish(own)
        if legend and scene.lines(configuration):
            legend_of(ax)
    return ax


def plot_configurations(
    system: System | Sequence[System],
    configurations: ArrayLike,
    *,
    values: ArrayLike | None = None,
    label: str = "",
    view: str = "3d",
    tendons: bool = False,
    bar: bool = True,
    ax: Any = None,
) -> Any:
    """Draw several configurations into one picture, coloured by a number such as a load or a time.

    Parameters
    ----------
    system : System, or one for each configuration
    configurations : array (n, nq)
    values : array (n,), optional
        The numbers; 0, 1, … if left out (then without a colour bar).
    label : str
        What the numbers are, with unit, e.g. "tension [N]".
    view, tendons, ax
        As in `plot_shape`.
    bar : bool
        Whether there is a colour bar.
    """
    choice("view", view, VIEWS)
    rows = np.atleast_2d(np.asarray(configurations, dtype=float))
    numbers = np.arange(len(rows), dtype=float) if values is None else np.asarray(values, dtype=float)
    if numbers.shape != (len(rows),):
        raise ValueError(
            f"values has shape {numbers.shape}, but one number per configuration is needed: ({len(rows)},)."
        )
    systems = [system] * len(rows) if isinstance(system, System) else list(system)
    scenes = {id(one): Scene(one, tendons=tendons) for one in systems}
    own = ax is None
    with axes(ax, space=view == "3d", size=(6.0, 4.8)) as ax:
        canvas = Canvas(ax, view, systems[0].gravity)
        colors, mappable = ramp(numbers)
        draw_surroundings(canvas, scenes[id(systems[0])], systems[0].check_q(rows[0]))
        for one, q, color in zip(systems, rows, colors):
            draw_robot(canvas, scenes[id(one)], one.check_q(q), color, tendons=tendons)
        canvas.finish(own)
        if bar and values is not None and len(rows) > 1:
            options = {"shrink": 0.6, "pad": 0.13} if view == "3d" else {"pad": 0.02}
            strip = ax.get_figure().colorbar(mappable, ax=ax, label=label, **options)
            strip.outline.set_visible(False)
    return ax


def plot_snapshots(
    result: Any,
    times: int | ArrayLike = 8,
    *,
    view: str = "3d",
    tendons: bool = False,
    bar: bool = True,
    ax: Any = None,
) -> Any:
    """Draw a robot at several times into one picture, coloured by time.

    Parameters
    ----------
    result : Result
    times : int or array
        How many times, evenly spaced over the run, or the times themselves [s].
    view, tendons, bar, ax
        As in `plot_configurations`.
    """
    if isinstance(times, (int, np.integer)):
        when = np.linspace(result.t[0], result.t[-1], integer("times", int(times), minimum=1))
    else:
        when = np.atleast_1d(np.asarray(times, dtype=float))
    rows = result.resample(when).q
    return plot_configurations(
        result.system, rows, values=when, label="t [s]", view=view, tendons=tendons, bar=bar, ax=ax
    )
