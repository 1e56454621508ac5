"""A scene on a page of viser: made once, then moved frame by frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .colors import CABLES, CONTACT, FRICTION, GRAVITY, LOADS, SCALE, SLACK, TRAIL, scale_colors
from .geometry import Scene
from .html import field_range, gravity_arrow, grid_cell, quaternions, side_direction
from .names import node_name
from .painted import Painted
from .recording import FIELDS, Recording

__all__ = ["Stage", "Switches", "require_viser"]

Array = NDArray[np.float64]


def require_viser() -> Any:
    """The viser module; an error that says how to get it otherwise."""
    try:
        import viser
    except ImportError:
        raise ImportError(
            "live viewing needs viser: pip install 'pliant[viz]'. Without it, save_html writes a page that plays in any browser."
        ) from None
    return viser


@dataclass
class Switches:
    """What is shown."""

    tendons: bool = True
    forces: bool = True
    contact: bool = True
    frames: bool = False
    trails: bool = False
    see_through: bool = False
    color: str | None = None


def wxyz(R: Array) -> Array:
    """Quaternions (w, x, y, z) of rotation matrices (..., 3, 3)."""
    return np.roll(quaternions(R), 1, axis=-1)


def _upright(up: Array) -> Array:
    """A rotation (3, 3) that turns z to `up`."""
    side = side_direction(up)
    return np.column_stack([side, np.cross(up, side), up])


class Stage:
    """The nodes of a scene on a page, and how they move.

    Parameters
    ----------
    server : viser.ViserServer
    recording : Recording
        What is shown at first; its bounds place the camera and the ground.
    switches : Switches, optional
    """

    def __init__(self, server: Any, recording: Recording, switches: Switches | None = None) -> None:
        self.server = server
        self.recording = recording
        self.scene: Scene = recording.scene
        self.switches = switches or Switches(see_through=self.scene.see_through)
        self.painted: list[Painted] = []
        self.legend: Any = None  # where the colour scale is shown, if anywhere
        self.frame = 0
        self._surroundings()
        self._robot()
        self.apply()

    def _surroundings(self) -> None:
        scene, server, recording = self.scene, self.server, self.recording
        low, high = recording.bounds
        radius = max(float(np.linalg.norm(high - low)) / 2, 1e-6)
        up, centre = scene.up, (low + high) / 2
        server.scene.set_up_direction(tuple(up))
        if not scene.has_floor:
            cell = grid_cell(radius)
            server.scene.add_grid(
                "/ground",
                width=40 * cell,
                height=40 * cell,
                cell_size=cell,
                section_size=10 * cell,
                cell_color=(215, 219, 225),
                section_color=(180, 186, 195),
                fade_distance=14 * radius,
                shadow_opacity=0.2,
                wxyz=wxyz(_upright(up)),
                position=centre + (recording.floor - centre @ up) * up,
            )
        gravity = gravity_arrow(recording)
        self.gravity = None
        if gravity is not None:
            points = np.array([[gravity[0], gravity[0] + gravity[1]]])
            self.gravity = self._arrows("/gravity", points, GRAVITY, 0.005)

    def _arrows(self, name: str, points: Array, color: Any, width: float) -> Any:
        w = width * self.scene.size
        return self.server.scene.add_arrows(name, points, color, shaft_radius=w, head_radius=2.6 * w, head_length=6 * w)

    def _robot(self) -> None:
        scene, add = self.scene, self.server.scene
        poses = self.recording.poses[0]
        self.tubes = []
        for tube in scene.tubes:
            mesh = tube.mesh(poses)
            self.tubes.append(
                add.add_mesh_simple(f"/rods/{node_name(tube.name)}", mesh.vertices, mesh.faces, color=tube.color)
            )
        self.solids = []
        for solid in scene.solids:
            clear = solid.opacity < 1
            self.solids.append(
                add.add_mesh_simple(
                    f"/{solid.kind}/{node_name(solid.name)}",
                    solid.mesh.vertices,
                    solid.mesh.faces,
                    color=solid.color,
                    opacity=solid.opacity if clear else None,
                    side="double" if clear else "front",
                    cast_shadow=not clear,
                )
            )
        self.kinds: dict[tuple[str, float], list[int]] = {}
        for k, cable in enumerate(scene.cables):
            self.kinds.setdefault((cable.kind, cable.radius), []).append(k)
        self.lines = []
        for number, ((_kind, radius), own) in enumerate(self.kinds.items()):
            points = self._segments(own, poses)
            colors = np.zeros_like(points, dtype=np.uint8)
            self.lines.append(add.add_line_segments(f"/cables/{number}", points, colors, thickness=2 * radius))
        self.axes = None
        if scene.triads:
            n, size = len(scene.triads), 0.1 * scene.size
            unit = np.tile([1.0, 0, 0, 0], (n, 1))
            self.axes = add.add_batched_axes(
                "/frames", unit, np.zeros((n, 3)), axes_length=size, axes_radius=0.035 * size
            )
        self.loads = {}
        for kind, color in LOADS.items():
            if any(arrow.kind == kind for arrow in scene.arrows):
                self.loads[kind] = self._arrows(f"/loads/{kind}", np.zeros((1, 2, 3)), color, 0.006)
        self.touch = None
        if scene.system.robot.contacts:
            self.touch = (
                self._arrows("/contact/force", np.zeros((1, 2, 3)), CONTACT, 0.004),
                self._arrows("/contact/friction", np.zeros((1, 2, 3)), FRICTION, 0.004),
                add.add_point_cloud(
                    "/contact/point",
                    np.zeros((1, 3)),
                    CONTACT,
                    point_size=0.012 * scene.size,
                    point_shape="circle",
                    precision="float32",
                ),
            )
        self.trails = [
            add.add_line_segments(f"/trails/{k}", np.zeros((1, 2, 3)), TRAIL, thickness=0.004 * scene.size)
            for k in range(len(scene.tips))
        ]

    def _segments(self, cables: list[int], poses: Array) -> Array:
        lines = [self.scene.cables[k].points(poses) for k in cables]
        return np.concatenate([np.stack([x[:-1], x[1:]], axis=1) for x in lines])

    def use(self, recording: Recording) -> None:
        """Show another recording of the same scene."""
        self.recording = recording
        self.frame = 0
        self.apply()

    def rebuild(self, recording: Recording) -> None:
        """Show a scene of other sizes: the same robot with other parameters."""
        self.recording, self.scene, self.frame = recording, recording.scene, 0
        with self.server.atomic():
            for rod in self.painted:
                rod.remove()
            self.painted = []
            self._robot()  # nodes of the same names take the places of the old ones
        self.apply()

    def apply(self) -> None:
        """Show and hide what the switches say, then draw."""
        on = self.switches
        with self.server.atomic():
            colored = on.color in self.recording.fields
            if colored and not self.painted:
                self.painted = [Painted(self.server, tube) for tube in self.scene.tubes]
            for rod in self.painted:
                rod.show(colored, 0.55 if on.see_through else None)
            for node in self.tubes:
                node.visible, node.opacity = not colored, 0.55 if on.see_through else None
            for node in self.lines:
                node.visible = on.tendons
            for node in self.trails:
                node.visible = on.trails and len(self.recording.t) > 1
            if self.axes is not None:
                self.axes.visible = on.frames
            if self.gravity is not None:
                self.gravity.visible = on.forces
            if self.legend is not None:
                self.legend.content = self._scale()
        self.draw(self.frame)

    def _scale(self) -> str:
        """The colour scale as HTML, or nothing."""
        name, fields = self.switches.color, self.recording.fields
        if name is None:
            return ""
        if name not in fields:
            return f'<div style="padding: 0 1em">no {name.replace("_", " ")}, or the same everywhere</div>'
        bar = ", ".join(f"rgb{color}" for color in SCALE)
        ends = "".join(f"<span>{end:.3g} {FIELDS[name]}</span>" for end in field_range(fields[name]))
        return (
            f'<div style="padding: 0 1em"><div style="height: 8px; background: linear-gradient(to right, {bar})"></div>'
            f'<div style="display: flex; justify-content: space-between; font-size: 0.8em">{ends}</div></div>'
        )

    def draw(self, frame: int) -> None:
        """Draw one frame of the recording."""
        self.frame = frame
        recording, scene, on = self.recording, self.scene, self.switches
        poses = recording.poses[frame]
        with self.server.atomic():
            if on.color in recording.fields:
                assert on.color is not None
                values = recording.fields[on.color]
                colors = scale_colors(values[frame], *field_range(values))
                for rod in self.painted:
                    first = rod.tube.first - 1 - len(scene.bodies)
                    rod.update(poses, colors[first + rod.tube.skin.station])
            else:
                for tube, node in zip(scene.tubes, self.tubes):
                    node.vertices = tube.skin.vertices(poses[tube.span])
            turns = wxyz(poses[:, :3, :3])
            for solid, node in zip(scene.solids, self.solids):
                node.position, node.wxyz = poses[solid.pose, :3, 3], turns[solid.pose]
            if on.tendons:
                self._draw_cables(poses, recording.tension, frame)
            if on.frames and self.axes is not None:
                g = np.array([poses[triad.pose] @ triad.offset for triad in scene.triads])
                self.axes.batched_wxyzs, self.axes.batched_positions = wxyz(g[:, :3, :3]), g[:, :3, 3]
            self._draw_loads(poses, frame)
            if on.trails and len(recording.t) > 1:
                for tip, node in zip(scene.tips, self.trails):
                    path = recording.poses[: max(frame, 1) + 1, tip, :3, 3]
                    node.points = np.stack([path[:-1], path[1:]], axis=1)

    def _draw_cables(self, poses: Array, tension: Array, frame: int) -> None:
        largest = max(float(np.abs(tension).max(initial=0.0)), 1e-300)
        share = np.abs(tension[frame]) / largest
        for ((kind, _radius), own), node in zip(self.kinds.items(), self.lines):
            node.points = self._segments(own, poses)
            rows = []
            for k in own:
                color = np.array(SLACK) + share[k] * (np.array(CABLES[kind]) - SLACK)
                rows.append(np.broadcast_to(color, (len(self.scene.cables[k].pose) - 1, 2, 3)))
            node.colors = np.concatenate(rows).astype(np.uint8)

    def _draw_loads(self, poses: Array, frame: int) -> None:
        vectors = self.recording.arrows[frame]
        for kind, node in self.loads.items():
            rows = []
            for arrow, vector in zip(self.scene.arrows, vectors):
                if arrow.kind == kind and np.linalg.norm(vector) > 0.01 * self.scene.size:
                    start = poses[arrow.pose, :3, :3] @ arrow.offset + poses[arrow.pose, :3, 3]
                    rows.append([start, start + vector])
            self._put(node, rows, self.switches.forces)
        if self.touch is not None:
            presses, rubs, points = self.touch
            now = self.recording.contacts[frame]
            place = now.point
            for node, force in ((presses, now.force - now.friction), (rubs, now.friction)):
                drawn = self.recording.contact_scale * force
                far = np.linalg.norm(drawn, axis=1) > 0.01 * self.scene.size
                self._put(node, np.stack([place, place + drawn], axis=1)[far], self.switches.contact)
            points.visible = self.switches.contact and len(place) > 0
            if len(place):
                points.points = place

    @staticmethod
    def _put(node: Any, rows: Any, on: bool) -> None:
        node.visible = on and len(rows) > 0
        if len(rows):
            node.points = np.array(rows)
