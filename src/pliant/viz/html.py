"""A recording as one HTML file that plays in any browser, without a network."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import write_file
from ..model.validate import choice
from .colors import AXES, CABLES, CONTACT, FRICTION, GRAVITY, LOADS, SCALE, SLACK, TRAIL
from .geometry import Scene
from .names import script_json
from .recording import FIELDS, Recording

__all__ = [
    "continuous",
    "decode_html",
    "encode",
    "field_range",
    "gravity_arrow",
    "grid_cell",
    "quaternions",
    "side_direction",
    "write_html",
]

Array = NDArray[np.float64]


class _Block:
    """Collects arrays in one block of bytes."""

    def __init__(self) -> None:
        self.table: dict[str, list[Any]] = {}
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, name: str, values: NDArray[Any], kind: str, *, rows: int = 0) -> None:
        """Add an array; with `rows` as second differences between them, column by column, low bytes first: it compresses well."""
        flat = np.ascontiguousarray(values, dtype="<" + kind).ravel()
        raw: NDArray[Any] = flat
        if rows:
            table = flat.view("<u" + kind[1]).reshape(rows, -1)
            for _ in range(2):
                table = np.concatenate([table[:1], table[1:] - table[:-1]])
            raw = table.T.reshape(-1, 1).copy().view(np.uint8).T.copy()
        data = raw.tobytes()
        self.table[name] = [kind, self.size, len(flat), rows]
        self.parts += [data, bytes(-len(data) % 8)]
        self.size += len(data) + (-len(data) % 8)

    def text(self) -> str:
        """All of it, compressed, as text."""
        return base64.b64encode(gzip.compress(b"".join(self.parts), 9, mtime=0)).decode("ascii")


def quaternions(R: Array) -> Array:
    """Quaternions (x, y, z, w) of rotation matrices (..., 3, 3)."""
    trace = np.trace(R, axis1=-2, axis2=-1)
    squares = np.stack([*(2 * R[..., k, k] - trace for k in range(3)), trace], axis=-1) + 1.0
    largest = np.argmax(squares, axis=-1)
    out = np.empty((*R.shape[:-2], 4))
    for k in range(4):
        own = largest == k
        r = R[own]
        big = squares[own, k]  # four times the square of the largest component
        if k == 3:
            rows = [r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0], r[:, 1, 0] - r[:, 0, 1], big]
        else:
            i, j = (k + 1) % 3, (k + 2) % 3
            rows = [np.empty(0)] * 4
            rows[k] = big
            rows[i] = r[:, i, k] + r[:, k, i]
            rows[j] = r[:, j, k] + r[:, k, j]
            rows[3] = r[:, j, i] - r[:, i, j]
        out[own] = np.stack(rows, axis=-1)
    return out / np.linalg.norm(out, axis=-1, keepdims=True)


def continuous(q: Array) -> Array:
    """Quaternions over time (T, N, 4) with signs chosen so that neighbours are near."""
    flips = np.sign(np.einsum("tni,tni->tn", q[1:], q[:-1]))
    signs = np.cumprod(np.where(flips < 0, -1.0, 1.0), axis=0)
    return np.concatenate([q[:1], q[1:] * signs[..., None]])


def side_direction(up: Array) -> Array:
    """A horizontal direction that a picture can have to its right: x, or y where up is along x."""
    axis = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    side = axis - (axis @ up) * up
    return side / np.linalg.norm(side)


def grid_cell(radius: float) -> float:
    """A round length for the cells of a ground grid [m]: 1, 2 or 5 times a power of ten."""
    return _round_step(radius / 4)


def gravity_arrow(recording: Recording) -> tuple[Array, Array] | None:
    """Where the arrow of gravity starts, and the arrow [m]; None without gravity."""
    if not np.any(recording.scene.system.gravity):
        return None
    low, high = recording.bounds
    up, side = recording.scene.up, side_direction(recording.scene.up)
    centre, half = (low + high) / 2, (high - low) / 2
    place = centre - side * (np.abs(side) @ half + 0.15 * recording.scene.size)
    return place + 0.1 * recording.scene.size * up, -0.2 * recording.scene.size * up


def field_range(values: Array) -> tuple[float, float]:
    """Ends of the colour scale: round numbers around nearly all values, symmetric about zero if there are both signs."""
    low, high = (float(x) for x in np.percentile(values, [0.5, 99.5]))
    if not high > low:
        return low, low + 1e-12
    step = _round_step((high - low) / 20)
    low, high = step * np.floor(low / step + 1e-9), step * np.ceil(high / step - 1e-9)
    if low < 0 < high and min(-low, high) > 0.2 * max(-low, high):
        low, high = -max(-low, high), max(-low, high)
    return float(low), float(high)


def _round_step(x: float) -> float:
    """The nearest of 1, 2, 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(power * min((1, 2, 5, 10), key=lambda k: abs(np.log(k * power / x))))


def _seen(recording: Recording) -> list[tuple[int, float]]:
    """Poses that a picture should show, with how far things reach from them [m]."""
    scene = recording.scene
    out = []
    for tube in scene.tubes:
        reach = float(np.abs(tube.skin.offset).max())
        own = np.unique(np.linspace(0, len(tube.X) - 1, 9).round().astype(int))
        out += [(tube.first + int(k), reach) for k in own]
    for solid in scene.solids:
        if solid.kind == "body":
            out.append((solid.pose, float(np.linalg.norm(solid.mesh.vertices, axis=1).max())))
    return out


def _add_shapes(block: _Block, scene: Scene) -> None:
    """What does not change: skins of rods, meshes of solids, routes of cables."""
    for k, tube in enumerate(scene.tubes):
        block.add(f"tube{k}.station", tube.skin.station, "u2")
        block.add(f"tube{k}.offset", tube.skin.offset, "f4")
        block.add(f"tube{k}.faces", tube.skin.faces, "u4")
    for k, solid in enumerate(scene.solids):
        block.add(f"solid{k}.vertices", solid.mesh.vertices, "f4")
        block.add(f"solid{k}.faces", solid.mesh.faces, "u4")
    for k, cable in enumerate(scene.cables):
        block.add(f"cable{k}.pose", cable.pose, "u2")
        block.add(f"cable{k}.offset", cable.offset, "f4")


def _add_fields(block: _Block, recording: Recording) -> list[dict[str, str]]:
    """Fields that colour rods, as bytes between their ends; returns their names and ends."""
    out: list[dict[str, str]] = []
    for name, values in recording.fields.items():
        bottom, top = field_range(values)
        shade = np.clip(np.round(255 * (values - bottom) / (top - bottom)), 0, 255)
        block.add(f"field{len(out)}", shade, "u1", rows=len(recording.t))
        unit = f" {FIELDS[name]}".rstrip()
        ends = {"low_text": f"{bottom:.3g}{unit}", "high_text": f"{top:.3g}{unit}"}
        out.append({"name": name, "label": name.replace("_", " "), **ends})
    return out


def encode(recording: Recording) -> tuple[dict[str, Any], str]:
    """Header and data of the page: what is constant, and the motion."""
    scene, block = recording.scene, _Block()
    low, high = recording.bounds
    positions = recording.poses[:, :, :3, 3]
    base = positions.min(axis=(0, 1))
    step = np.maximum(positions.max(axis=(0, 1)) - base, 1e-12) / 65535.0
    rows = len(recording.t)
    block.add("t", recording.t, "f4")
    block.add("position", np.round((positions - base) / step), "u2", rows=rows)
    turns = continuous(quaternions(recording.poses[:, :, :3, :3]))
    block.add("turn", np.round(32767 * turns), "i2", rows=rows)
    _add_shapes(block, scene)
    tension = np.abs(recording.tension)
    block.add("tension", np.round(255 * tension / max(float(tension.max(initial=0.0)), 1e-300)), "u1", rows=rows)
    block.add("arrows", recording.arrows, "f4")
    most = 0
    if recording.contacts:
        counts = [len(state) for state in recording.contacts]
        most = max(counts)
        block.add("contact.start", np.concatenate([[0], np.cumsum(counts)]), "u4")
        scale = recording.contact_scale
        arrows = [
            np.hstack([state.point, scale * (state.force - state.friction), scale * state.friction])
            for state in recording.contacts
        ]
        block.add("contact.data", np.vstack(arrows), "f4")
    fields = _add_fields(block, recording)
    gravity = gravity_arrow(recording)
    radius = max(float(np.linalg.norm(high - low)) / 2, 1e-6)
    header = {
        "name": scene.name,
        "poses": scene.count,
        "stations": scene.stations,
        "first_station": 1 + len(scene.bodies),
        "low": base.tolist(),
        "step": step.tolist(),
        "up": scene.up.tolist(),
        "side": side_direction(scene.up).tolist(),
        "center": ((low + high) / 2).tolist(),
        "seen": _seen(recording),
        "radius": radius,
        "size": scene.size,
        "floor": recording.floor,
        "grid": grid_cell(radius),
        "has_floor": scene.has_floor,
        "see_through": scene.see_through,
        "tubes": [{"name": tube.name, "first": tube.first, "color": tube.color} for tube in scene.tubes],
        "solids": [
            {"name": s.name, "kind": s.kind, "pose": s.pose, "color": s.color, "opacity": s.opacity}
            for s in scene.solids
        ],
        "cables": [{"name": c.name, "radius": c.radius, "color": CABLES[c.kind]} for c in scene.cables],
        "triads": [{"name": t.name, "pose": t.pose, "offset": t.offset.ravel().tolist()} for t in scene.triads],
        "arrows": [
            {"name": a.name, "pose": a.pose, "offset": a.offset.tolist(), "color": LOADS[a.kind]} for a in scene.arrows
        ],
        "gravity": gravity and {"place": gravity[0].tolist(), "vector": gravity[1].tolist(), "color": GRAVITY},
        "contacts": most,
        "contact_color": CONTACT,
        "friction_color": FRICTION,
        "tips": list(scene.tips),
        "fields": fields,
        "scale": SCALE,
        "axes": AXES,
        "slack": SLACK,
        "trail": TRAIL,
        "arrays": block.table,
    }
    return header, block.text()


def write_html(recording: Recording, path: str | Path, *, autoplay: bool = True, color: str | None = None) -> Path:
    """Write a page that shows a recording.

    Parameters
    ----------
    recording : Recording
    path : str or Path
        The file; ``.html`` is usual.
    autoplay : bool
        Whether it plays at once.
    color : str, optional
        What rods are coloured by at first, one of `FIELDS`; plain if left out.

    Returns
    -------
    Path
        Where it was written.
    """
    header, data = encode(recording)
    if color is not None:
        choice("color", color, FIELDS)
    header["autoplay"] = bool(autoplay)
    header["field"] = color or ""
    static = files(__package__) / "static"
    page = (static / "page.html").read_text(encoding="utf-8")
    licence = (static / "three.LICENSE").read_text(encoding="utf-8").replace("--", "- -")
    values = {
        "title": html.escape(recording.scene.name),
        "licence": licence,
        "header": script_json(header),
        "data": data,
        "player": (static / "player.js").read_text(encoding="utf-8"),
    }
    return write_file(path, re.sub(r"\{\{(\w+)\}\}", lambda m: values[m[1]], page))


def decode_html(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read header and arrays back from a page, for checks: differences undone, quantised as they are."""
    page = Path(path).read_text(encoding="utf-8")

    def between(name: str) -> str:
        return page.split(f'id="{name}">', 1)[1].split("</script>", 1)[0]

    header = json.loads(between("pliant-header"))
    block = gzip.decompress(base64.b64decode(between("pliant-data")))
    arrays: dict[str, NDArray[Any]] = {}
    for name, (kind, offset, length, rows) in header["arrays"].items():
        width = int(kind[1])
        raw = np.frombuffer(block, np.uint8, length * width, offset)
        if rows:
            table = np.ascontiguousarray(raw.reshape(width, -1).T).view(f"<u{width}").reshape(-1, rows).T
            for _ in range(2):
                table = np.cumsum(table, axis=0, dtype=table.dtype)
            raw = np.ascontiguousarray(table).view(np.uint8).ravel()
        arrays[name] = raw.view("<" + kind)
    return header, arrays
