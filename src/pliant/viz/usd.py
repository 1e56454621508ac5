"""A recording as a USD file in text (`.usda`), for Blender, Omniverse, Houdini: meshes and curves whose points move."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .._files import check_target, write_file
from .colors import CABLES, Color
from .geometry import Scene
from .recording import Recording

__all__ = ["encode_usd", "write_usd"]

Array = NDArray[np.float64]


class _Names:
    """Names that USD allows, each once."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def of(self, text: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", text) or "part"
        base = plain if not plain[0].isdigit() else f"_{plain}"
        name, k = base, 2
        while name in self._used:
            name, k = f"{base}_{k}", k + 1
        self._used.add(name)
        return name


def _vectors(values: Array) -> str:
    return "[" + ", ".join(f"({x:.7g}, {y:.7g}, {z:.7g})" for x, y, z in values.tolist()) + "]"


def _samples(name: str, kind: str, rows: list[str]) -> list[str]:
    """An attribute over time, or a constant one if there is one time only."""
    if len(rows) == 1:
        return [f"    {kind} {name} = {rows[0]}"]
    return [f"    {kind} {name}.timeSamples = {{", *(f"        {k}: {row}," for k, row in enumerate(rows)), "    }"]


def _color(color: Color) -> str:
    return f"    color3f[] primvars:displayColor = [({', '.join(f'{c / 255:.4g}' for c in color)})]"


def _faces(faces: NDArray[np.int64]) -> list[str]:
    counts = ", ".join("3" for _ in faces)
    return [
        f"    int[] faceVertexCounts = [{counts}]",
        f"    int[] faceVertexIndices = {faces.ravel().tolist()}",
        '    uniform token subdivisionScheme = "none"',
    ]


def _matrix(pose: Array) -> str:
    """A pose (4, 4) as USD has it: rows of the transposed matrix."""
    return "( " + ", ".join(f"({', '.join(f'{x:.9g}' for x in row)})" for row in pose.T.tolist()) + " )"


def _prims(recording: Recording, scene: Scene) -> list[list[str]]:
    """Rods, solids and cables, each as lines of a prim."""
    names, poses, out = _Names(), recording.poses, []
    for tube in scene.tubes:
        rows = [_vectors(tube.skin.vertices(g[tube.span])) for g in poses]
        body = [*_faces(tube.skin.faces), *_samples("points", "point3f[]", rows), _color(tube.color)]
        out.append([f'def Mesh "{names.of(tube.name)}"', "{", *body, "}"])
    for solid in scene.solids:
        rows = [_matrix(g[solid.pose]) for g in (poses if solid.pose else poses[:1])]
        body = [
            *_faces(solid.mesh.faces), f"    point3f[] points = {_vectors(solid.mesh.vertices)}", _color(solid.color),
            f"    float[] primvars:displayOpacity = [{solid.opacity:g}]", *_samples("xformOp:transform", "matrix4d", rows),
            '    uniform token[] xformOpOrder = ["xformOp:transform"]',
        ]  # fmt: skip
        out.append([f'def Mesh "{names.of(solid.name)}"', "{", *body, "}"])
    for cable in scene.cables:
        rows = [_vectors(cable.points(g)) for g in poses]
        body = [
            '    uniform token type = "linear"', f"    int[] curveVertexCounts = [{len(cable.pose)}]", *_samples("points", "point3f[]", rows),
            f'    float[] widths = [{2 * cable.radius:.6g}] (interpolation = "constant")', _color(CABLES[cable.kind]),
        ]  # fmt: skip
        out.append([f'def BasisCurves "{names.of(cable.name)}"', "{", *body, "}"])
    return out


def encode_usd(recording: Recording) -> str:
    """The text of the file."""
    scene, t = recording.scene, recording.t
    rate = (len(t) - 1) / (t[-1] - t[0]) if len(t) > 1 and t[-1] > t[0] else 24.0
    up = scene.up
    turn = np.eye(4)
    if not np.allclose(up, (0, 0, 1)):
        side = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
        first = side - (side @ up) * up
        first /= np.linalg.norm(first)
        turn[:3, :3] = np.stack([first, np.cross(up, first), up])
    head = [
        "#usda 1.0", "(", '    defaultPrim = "robot"', "    metersPerUnit = 1", '    upAxis = "Z"', "    startTimeCode = 0",
        f"    endTimeCode = {len(t) - 1}", f"    timeCodesPerSecond = {rate:.9g}", f"    framesPerSecond = {rate:.9g}", ")", "",
        'def Xform "robot"', "{", f"    matrix4d xformOp:transform = {_matrix(turn)}",
        '    uniform token[] xformOpOrder = ["xformOp:transform"]',
    ]  # fmt: skip
    parts = ["\n".join(f"    {line}" for line in prim) for prim in _prims(recording, scene)]
    return "\n".join([*head, *parts, "}", ""])


def write_usd(recording: Recording, path: str | Path) -> Path:
    """Write a recording to a `.usda` file; error for another ending.

    Parameters
    ----------
    recording : Recording
    path : str or Path

    Returns
    -------
    Path
        Where it was written.
    """
    target = Path(path)
    if target.suffix.lower() not in (".usda", ".usd"):
        raise ValueError(f"path = {str(path)!r} is not allowed: a USD file in text ends with .usda.")
    check_target(target, field="path")
    return write_file(target, encode_usd(recording))
