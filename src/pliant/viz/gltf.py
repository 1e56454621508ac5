"""A recording as a binary glTF 2.0 file, for Blender, browsers and game engines.

Every pose of the scene is a node that moves. What is rigid hangs on its node; rods and cables are skins whose vertices each follow one
node, which is what they do in a scene, so that nothing is approximated at the recorded times.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import check_target, write_file
from .colors import CABLES, Color
from .geometry import Cable, Scene
from .html import continuous, quaternions
from .recording import Recording

__all__ = ["encode_gltf", "write_gltf"]

Array = NDArray[np.float64]
_KINDS = {"<f4": 5126, "<u2": 5123, "<u4": 5125}
_SHAPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
_VERTICES, _INDICES = 34962, 34963
_AROUND = 6  # corners of the section of a cable
_STILL = 1e-9  # motions below this, relative to the size of the robot, are left out


class _Buffer:
    """The binary part, and where arrays are in it."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def add(self, values: NDArray[Any], kind: str, *, target: int = 0, bounds: bool = False) -> int:
        """Add an array (n,) or (n, k); its number."""
        data = np.ascontiguousarray(values, dtype=kind)
        raw = data.tobytes()
        view = {"buffer": 0, "byteOffset": self.size, "byteLength": len(raw)}
        self.views.append(view | ({"target": target} if target else {}))
        self.parts += [raw, bytes(-len(raw) % 4)]
        self.size += len(raw) + (-len(raw) % 4)
        width = 1 if data.ndim == 1 else data.shape[1]
        own: dict[str, Any] = {"bufferView": len(self.views) - 1, "componentType": _KINDS[kind]}
        own |= {"count": len(data), "type": _SHAPES[width]}
        if bounds:
            table = data.reshape(len(data), width)
            own |= {"min": table.min(axis=0).tolist(), "max": table.max(axis=0).tolist()}
        self.accessors.append(own)
        return len(self.accessors) - 1


def _normals(vertices: Array, faces: NDArray[np.int64]) -> Array:
    """Averaged unit normals (V, 3); vertices are repeated along sharp edges."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    out = np.zeros_like(vertices)
    across = np.cross(b - a, c - a)
    for k in range(3):
        np.add.at(out, faces[:, k], across)
    size = np.linalg.norm(out, axis=1, keepdims=True)
    return np.where(size > 0, out / np.where(size > 0, size, 1.0), [0.0, 0.0, 1.0])


def _upright(up: Array) -> Array:
    """The rotation (4, 4) that brings a direction to y, which is up in glTF."""
    side = np.array([0.0, 0.0, 1.0]) if abs(up[2]) < 0.9 else np.array([0.0, -1.0, 0.0])
    third = side - (side @ up) * up
    third /= np.linalg.norm(third)
    out = np.eye(4)
    out[:3, :3] = np.stack([np.cross(up, third), up, third])
    return out


class _File:
    """Collects nodes, meshes and animations."""

    def __init__(self, recording: Recording) -> None:
        scene = recording.scene
        self.recording, self.scene = recording, scene
        self.buffer = _Buffer()
        self.upright = _upright(scene.up)
        self.nodes: list[dict[str, Any]] = []
        self.meshes: list[dict[str, Any]] = []
        self.skins: list[dict[str, Any]] = []
        self.materials: list[dict[str, Any]] = []
        self.samplers: list[dict[str, Any]] = []
        self.channels: list[dict[str, Any]] = []
        self.roots = [0]
        self.first = recording.poses[0]
        turn = quaternions(self.upright[None, :3, :3])[0]
        self.nodes.append({"name": scene.name, "rotation": turn.tolist(), "children": []})
        self._add_poses()

    def _add_poses(self) -> None:
        """A node for each pose, with its motion."""
        poses = self.recording.poses
        turns, places = continuous(quaternions(poses[..., :3, :3])), poses[..., :3, 3]
        names = ["world", *self.scene.bodies]
        names += [f"{tube.name}@{X:.4g}" for tube in self.scene.tubes for X in tube.X]
        times = self.buffer.add(self.recording.t - self.recording.t[0], "<f4", bounds=True) if len(poses) > 1 else None
        for k, name in enumerate(names):
            turn, place = turns[:, k], places[:, k]
            node: dict[str, Any] = {"name": name, "rotation": turn[0].tolist(), "translation": place[0].tolist()}
            self.nodes[0]["children"].append(len(self.nodes))
            for path, values, size in (("rotation", turn, 1.0), ("translation", place, self.scene.size)):
                if times is not None and np.ptp(values, axis=0).max() > _STILL * size:
                    output = self.buffer.add(values, "<f4")
                    self.channels.append(
                        {"sampler": len(self.samplers), "target": {"node": len(self.nodes), "path": path}}
                    )
                    self.samplers.append({"input": times, "output": output, "interpolation": "LINEAR"})
            self.nodes.append(node)

    def _material(self, color: Color, opacity: float = 1.0) -> int:
        """The number of a material."""
        c = np.array(color) / 255.0
        linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
        surface = {"metallicFactor": 0.0, "roughnessFactor": 0.6}
        own: dict[str, Any] = {"pbrMetallicRoughness": {"baseColorFactor": [*linear.tolist(), opacity], **surface}}
        own["doubleSided"] = True
        if opacity < 1.0:
            own["alphaMode"] = "BLEND"
        if own not in self.materials:
            self.materials.append(own)
        return self.materials.index(own)

    def _mesh(self, name: str, vertices: Array, faces: NDArray[np.int64], material: int, **more: int) -> int:
        """The number of a mesh."""
        attributes = {
            "POSITION": self.buffer.add(vertices, "<f4", target=_VERTICES, bounds=True),
            "NORMAL": self.buffer.add(_normals(vertices, faces), "<f4", target=_VERTICES),
            **more,
        }
        indices = self.buffer.add(faces.ravel(), "<u4", target=_INDICES)
        self.meshes.append(
            {"name": name, "primitives": [{"attributes": attributes, "indices": indices, "material": material}]}
        )
        return len(self.meshes) - 1

    def add_rigid(self, name: str, pose: int, vertices: Array, faces: NDArray[np.int64], material: int) -> None:
        """What hangs on one pose."""
        self.nodes[1 + pose].setdefault("children", []).append(len(self.nodes))
        self.nodes.append({"name": f"{name} (shape)", "mesh": self._mesh(name, vertices, faces, material)})

    def add_skin(
        self, name: str, pose: NDArray[np.int64], vertices: Array, faces: NDArray[np.int64], material: int
    ) -> None:
        """Vertices (V, 3), as they are in the first picture, that follow poses (V,)."""
        used, number = np.unique(pose, return_inverse=True)
        joints = np.zeros((len(pose), 4))
        joints[:, 0] = number
        weights = np.zeros((len(pose), 4))
        weights[:, 0] = 1.0
        more = {
            "JOINTS_0": self.buffer.add(joints, "<u2", target=_VERTICES),
            "WEIGHTS_0": self.buffer.add(weights, "<f4", target=_VERTICES),
        }
        turned = vertices @ self.upright[:3, :3].T
        mesh = self._mesh(name, turned, faces, material, **more)
        back = np.linalg.inv(self.upright @ self.first[used]).transpose(0, 2, 1).reshape(-1, 16)  # by columns
        back[:, [3, 7, 11]], back[:, 15] = 0.0, 1.0  # exactly
        matrices = self.buffer.add(back, "<f4")
        self.skins.append({"joints": (1 + used).tolist(), "inverseBindMatrices": matrices, "skeleton": 0})
        self.roots.append(len(self.nodes))
        self.nodes.append({"name": f"{name} (skin)", "mesh": mesh, "skin": len(self.skins) - 1})

    def content(self) -> dict[str, Any]:
        """The JSON part."""
        out: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "pliant"},
            "scene": 0,
            "scenes": [{"name": self.scene.name, "nodes": self.roots}],
            "nodes": [{key: value for key, value in node.items() if value != []} for node in self.nodes],
        }
        for name in ("meshes", "skins", "materials"):
            if getattr(self, name):
                out[name] = getattr(self, name)
        if self.channels:
            out["animations"] = [{"name": "motion", "channels": self.channels, "samplers": self.samplers}]
        if self.buffer.size:
            out["accessors"], out["bufferViews"] = self.buffer.accessors, self.buffer.views
            out["buffers"] = [{"byteLength": self.buffer.size}]
        return out


def _cable_skin(cable: Cable, poses: Array) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
    """A thin tube around a polyline: the pose of each vertex, vertices and faces."""
    points = cable.points(poses)
    along = np.gradient(points, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    least = np.eye(3)[np.argmin(np.abs(along), axis=1)]
    first = np.cross(along, least)
    first /= np.maximum(np.linalg.norm(first, axis=1, keepdims=True), 1e-300)
    for k in range(1, len(first)):  # turned as little as possible from point to point
        own = first[k - 1] - (first[k - 1] @ along[k]) * along[k]
        size = np.linalg.norm(own)
        first[k] = own / size if size > 1e-6 else first[k]
    second = np.cross(along, first)
    angle = 2 * np.pi * np.arange(_AROUND) / _AROUND
    rings = points[:, None] + cable.radius * (
        np.cos(angle)[:, None] * first[:, None] + np.sin(angle)[:, None] * second[:, None]
    )
    number = np.arange(rings.shape[0] * _AROUND).reshape(-1, _AROUND)
    right = np.roll(number, -1, axis=1)
    a, b, c, d = number[:-1].ravel(), right[:-1].ravel(), right[1:].ravel(), number[1:].ravel()
    faces = np.concatenate([np.stack([a, b, d], axis=-1), np.stack([b, c, d], axis=-1)])
    return np.repeat(cable.pose, _AROUND), rings.reshape(-1, 3), faces


def encode_gltf(recording: Recording) -> bytes:
    """The bytes of a .glb file that plays a recording."""
    scene: Scene = recording.scene
    file = _File(recording)
    for tube in scene.tubes:
        mesh = tube.mesh(file.first)
        opacity = 0.45 if scene.see_through else 1.0
        file.add_skin(
            tube.name, tube.first + tube.skin.station, mesh.vertices, mesh.faces, file._material(tube.color, opacity)
        )
    for cable in scene.cables:
        if len(cable.pose) > 1:
            file.add_skin(cable.name, *_cable_skin(cable, file.first), file._material(CABLES[cable.kind]))
    for solid in scene.solids:
        if solid.kind != "load":
            material = file._material(solid.color, solid.opacity)
            file.add_rigid(solid.name, solid.pose, solid.mesh.vertices, solid.mesh.faces, material)
    text = json.dumps(file.content(), separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    data = b"".join(file.buffer.parts)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    if data:
        chunks += struct.pack("<II", len(data), 0x004E4942) + data
    return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks


def write_gltf(recording: Recording, path: str | Path) -> Path:
    """Write a recording to a .glb file."""
    if Path(path).suffix.lower() != ".glb":
        raise ValueError(f"path = {str(path)!r} is not allowed: its ending must be .glb (binary glTF).")
    check_target(path)
    return write_file(path, encode_gltf(recording))
