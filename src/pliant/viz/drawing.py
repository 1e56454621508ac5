"""Drawing a robot with matplotlib: its shape at one instant, or several instants overlaid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.links import Body, Rod
from ..model.loads import HalfSpace
from ..model.routing import Along
from ..model.shapes import Box, Cylinder, Ellipsoid, Shape, Sphere
from ..model.validate import choice, integer
from ..system import System
from .style import COLORS, axes, ramp
from .style import legend as legend_of

__all__ = [
    "VIEWS",
    "Canvas",
    "Scene",
    "draw_robot",
    "draw_surroundings",
    "plot_configurations",
    "plot_shape",
    "plot_snapshots",
]

Array = NDArray[np.float64]
_ROD, _BODY, _TENDON, _OBSTACLE = COLORS[0], "#9a9fa6", COLORS[1], "#d9d4c7"
_AZIMUTH, _ELEVATION = -58.0, 22.0  # of the viewer in space [degrees]
_THIN = 0.004  # of the size of the picture: a rod that is thinner is drawn as a line too
VIEWS = ("3d", "xy", "xz", "yz", "yx", "zx", "zy")


class Scene:
    """Polygons and lines of a robot, for any configuration."""

    def __init__(self, system: System, *, tendons: bool = True, frames: bool | Sequence[str] = False) -> None:
        self.system = system
        self.robot = system.robot
        rods = [link for link in self.robot.links if link.is_rod]
        self.X = np.linspace(0.0, 1.0, int(np.clip(160 / max(len(rods), 1), 8, 48)))
        self.around = 16 if len(rods) < 6 else 8
        self.tendons = tendons
        self.frames = list(self.robot.frames) if frames is True else list(frames or ())
        self.size = self._size()

    def _size(self) -> float:
        points = [self.system.pose(link.name, self.system.neutral())[:3, 3] for link in self.robot.links]
        span = float(np.ptp(points, axis=0).max()) if points else 0.0
        lengths = [link.content.length for link in self.robot.links if isinstance(link.content, Rod)]
        return max(span, *lengths, 1e-9) if lengths else max(span, 1e-9)

    def polygons(self, q: Array) -> tuple[list[Array], list[str]]:
        """Faces of rods and bodies, each (corners, 3), and whether each belongs to a "rod" or a "body"."""
        faces: list[Array] = []
        kinds: list[str] = []
        for link in self.robot.links:
            content = link.content
            if isinstance(content, Rod):
                new = self._tube(link.name, content, q)
            elif isinstance(content, Body) and content.shape is not None:
                g = self.system.pose(link.name, q)
                centre = content.inertia.com if content.inertia is not None else np.zeros(3)
                new = [g[:3, 3] + (face + centre) @ g[:3, :3].T for face in _solid(content.shape)]
            else:
                new = []
            faces += new
            kinds += ["rod" if link.is_rod else "body"] * len(new)
        return faces, kinds

    def _tube(self, name: str, rod: Rod, q: Array) -> list[Array]:
        if rod.section is None:
            return []
        g = self.system.rod_poses(name, q, self.X)
        outline = rod.section.outline(self.X, self.around)
        points = g[:, None, :3, 3] + np.einsum("mij,mnj->mni", g[:, :3, 1:3], outline)
        return _closed(points)

    def centrelines(self, q: Array) -> dict[str, Array]:
        """Points of the axes of the rods, each (m, 3)."""
        names = [link.name for link in self.robot.links if link.is_rod]
        return {name: self.system.rod_poses(name, q, self.X)[:, :3, 3] for name in names}

    def is_thin(self, name: str) -> bool:
        """Whether a rod needs a line to be seen."""
        rod = self.robot.link(name).content
        assert isinstance(rod, Rod)
        return rod.section is None or float(rod.section.extent(self.X).max()) < _THIN * self.size

    def lines(self, q: Array) -> dict[str, Array]:
        """Points of the tendons, each (m, 3)."""
        out = {}
        for name, tendon in self.robot.tendons.items() if self.tendons else ():
            points = []
            for piece in tendon.path:
                if isinstance(piece, Along):
                    X = np.linspace(piece.start, piece.end, len(self.X))
                    order = np.argsort(X)
                    g = np.empty((len(X), 4, 4))
                    g[order] = self.system.rod_poses(piece.rod, q, X[order])
                    points.append(g[:, :3, 3] + np.einsum("mij,mj->mi", g[:, :3, :3], piece.offsets(X)[0]))
                else:
                    points.append(self.system.pose(piece, q)[None, :3, 3])
            out[name] = np.concatenate(points)
        return out

    def skeletons(self, q: Array) -> dict[str, Array]:
        """Bodies without a shape: lines (m, 3) between their origin and what is attached to them, or only the origin."""
        frames = [*self.robot.frames.values(), *(link.parent for link in self.robot.links)]
        frames += [frame for loop in self.robot.loops.values() for frame in (loop.a, loop.b)]
        out = {}
        for link in self.robot.links:
            if isinstance(link.content, Body) and link.content.shape is None:
                g = self.system.pose(link.name, q)
                ends = [g[:3, 3] + g[:3, :3] @ f.offset.translation for f in frames if f.link == link.name]
                out[link.name] = np.array([p for end in ends for p in (g[:3, 3], end)] or [g[:3, 3]])
        return out

    def bodies(self, q: Array) -> Array:
        """Origins of the rigid links, (n, 3)."""
        rigid = [link.name for link in self.robot.links if not link.is_rod]
        return np.array([self.system.pose(name, q)[:3, 3] for name in rigid]).reshape(-1, 3)

    def obstacles(self, q: Array, centre: Array, reach: float) -> list[Array]:
        """Faces of what the robot can touch; a half-space is shown as a square of this reach about the centre."""
        faces = []
        for obstacle in self.robot.obstacles.values():
            g = self.system.pose(obstacle.parent, q) @ obstacle.pose.matrix
            if isinstance(obstacle.shape, HalfSpace):
                foot = (centre - g[:3, 3]) @ g[:3, :3]
                square = reach * np.array([[1, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, -1, 0]]) + [foot[0], foot[1], 0]
                faces.append(g[:3, 3] + square @ g[:3, :3].T)
            else:
                shape, shift = obstacle.shape, np.zeros(3)
                if isinstance(shape, Cylinder):  # of a long one only what is near
                    k = "xyz".index(shape.axis)
                    along = float(((centre - g[:3, 3]) @ g[:3, :3])[k])
                    low, high = max(-shape.length / 2, along - reach), min(shape.length / 2, along + reach)
                    if high > low:
                        shape, shift[k] = replace(shape, length=high - low), (low + high) / 2
                solid = [face + shift for face in _solid(shape, ends=not obstacle.inside)]  # inside: an open tube
                faces += [g[:3, 3] + face @ g[:3, :3].T for face in solid]
        return faces


def _strip(points: Array) -> list[Array]:
    """Quadrilaterals between neighbouring rings of points (m, n, 3)."""
    after = np.roll(points, -1, axis=1)
    quads = np.stack([points[:-1], after[:-1], after[1:], points[1:]], axis=2)
    return list(quads.reshape(-1, 4, 3))


def _closed(rings: Array) -> list[Array]:
    """A tube through rings of points (m, n, 3), n even, with its two ends: quadrilaterals only."""
    ends = [
        [ring[[0, k, k + 1, k + 2]] for k in range(1, ring.shape[0] - 2, 2)] for ring in (rings[0, ::-1], rings[-1])
    ]
    return [*_strip(rings), *ends[0], *ends[1]]


def _solid(shape: Shape, *, ends: bool = True, around: int = 20) -> list[Array]:
    """Quadrilaterals of a solid about its own centre; a cylinder with or without its ends."""
    angle = 2 * np.pi * np.arange(around) / around
    if isinstance(shape, Box):
        corners = 0.5 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * [shape.y, shape.z]
        rings = np.array([np.column_stack([np.full(4, s * shape.x / 2), corners]) for s in (-1, 1)])
        return _closed(rings)
    if isinstance(shape, Cylinder):
        ring = shape.radius * np.column_stack([np.zeros(around), np.cos(angle), np.sin(angle)])
        rings = np.array([ring + [s * shape.length / 2, 0, 0] for s in np.linspace(-1, 1, 7)])
        rings = np.roll(rings, "xyz".index(shape.axis), axis=2)
        return _closed(rings) if ends else _strip(rings)
    if isinstance(shape, (Sphere, Ellipsoid)):
        half = [shape.radius] * 3 if isinstance(shape, Sphere) else [shape.x, shape.y, shape.z]
        polar = np.linspace(0, np.pi, 11)[:, None]
        rings = np.stack([np.cos(polar) + 0 * angle, np.sin(polar) * np.cos(angle), np.sin(polar) * np.sin(angle)], -1)
        return _strip(rings * half)
    return []


def _shade(faces: list[Array], colors: Array, light: Array) -> Array:
    """Colours of faces under a light from a direction, so that shapes look solid."""
    normals = np.array([np.cross(f[len(f) // 2] - f[0], f[-1] - f[1 % len(f)]) for f in faces])
    length = np.linalg.norm(normals, axis=1)
    facing = np.where(length > 0, normals @ light / np.where(length > 0, length, 1), 0.0)
    out = colors.copy()
    out[:, :3] *= (0.76 + 0.3 * facing)[:, None]
    return np.clip(out, 0, 1)


# ------------------------------------------------------------ one picture


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

    def polygons(self, faces: list[Array], colors: Array, *, alpha: float = 1.0, edge: str | None = None) -> None:
        """Filled polygons, hidden by those in front."""
        if not faces:
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
        points = np.concatenate(faces)
        if self.view == "3d":
            collection = Poly3DCollection(faces, facecolors=shaded, edgecolors=edge or shaded, **options)
            collection.set_in_layout(False)
            self.ax.add_collection3d(collection, autolim=False)
        else:
            order = np.argsort([(face @ self.towards).mean() for face in faces])
            flat = [faces[k][:, self.axes] for k in order]
            edges = edge or shaded[order]
            collection = PolyCollection(flat, facecolors=shaded[order], edgecolors=edges, **options)
            self.ax.add_collection(collection)
        self.include(points)
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
        from matplotlib.ticker import MaxNLocator

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
            axis.set_major_locator(MaxNLocator(6 if share > 0.7 else 4 if share > 0.4 else 2, steps=[1, 2, 5, 10]))
            axis.set_label_text(f"{letter} [m]")
            axis.labelpad = 1 + 5 * share
            axis.set_pane_color((1, 1, 1, 0))
            axis.set_tick_params(pad=0)
        ax.set_box_aspect(span / span.max(), zoom=0.86 if span["xyz".index(self.up)] > 0.7 * span.max() else 1.03)

    def clear(self) -> None:
        """Take away what was drawn."""
        for artist in self.artists:
            artist.remove()
        self.artists.clear()


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
        canvas.line(points, color=shade, lw=1.0, label=name if color is None else f"_{name}", zorder=4)
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
    system: System,
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
    system : System
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
    scene = Scene(system, tendons=tendons)
    own = ax is None
    with axes(ax, space=view == "3d", size=(6.0, 4.8)) as ax:
        canvas = Canvas(ax, view, system.gravity)
        colors, mappable = ramp(numbers)
        draw_surroundings(canvas, scene, system.check_q(rows[0]))
        for q, color in zip(rows, colors):
            draw_robot(canvas, scene, system.check_q(q), color, tendons=tendons)
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
