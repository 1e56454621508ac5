"""Triangles of glTF files (.gltf, .glb): geometry alone, with every size compared with what the file has before anything is made of it."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from ..pose import Pose
from ..reading import Folder, read_file

__all__ = ["read_gltf"]

Array = NDArray[np.float64]
Found = tuple[Array, NDArray[np.int64]]
_TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_JSON, _BINARY = 0x4E4F534A, 0x004E4942
_HARMLESS = ("KHR_mesh_quantization", "KHR_materials_", "KHR_texture_", "KHR_lights_", "EXT_texture_", "MSFT_texture_")
_NODES = 50_000
_TRIANGLES = 10_000_000


def read_gltf(path: Path, data: bytes, most: int) -> Found:
    """Vertices (V, 3) and faces (F, 3) of all meshes of the scene, each where the file has it.

    Raises
    ------
    ValueError
        If a size is not that of the data, or the file needs an extension that changes geometry.
    """
    text, binary = _chunks(data) if data[:4] == b"glTF" else (data, b"")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its JSON cannot be read: {error}.") from None
    if not isinstance(document, dict):
        raise ValueError("its JSON is no object.")
    return _Reader(document, binary, path, most).run()


def _chunks(data: bytes) -> tuple[bytes, bytes]:
    """JSON and binary part of a .glb file."""
    version, length = (int.from_bytes(data[k : k + 4], "little") for k in (4, 8))
    if version != 2 or length != len(data):
        raise ValueError(f"it says that it has version {version} and {length} bytes, but 2 and {len(data)} are needed.")
    found: dict[int, bytes] = {}
    at = 12
    while at + 8 <= length:
        size, kind = (int.from_bytes(data[k : k + 4], "little") for k in (at, at + 4))
        if at + 8 + size > length:
            raise ValueError(f"a part of {size} bytes is longer than the file.")
        found.setdefault(kind, data[at + 8 : at + 8 + size])
        at += 8 + size
    return found.get(_JSON, b""), found.get(_BINARY, b"")


class _Reader:
    """Reads what the scene draws."""

    def __init__(self, document: dict[str, Any], binary: bytes, path: Path, most: int) -> None:
        self.document, self.binary, self.most = document, binary, most
        self.files = Folder(path.parent, hint="")
        self.buffers: dict[int, bytes] = {}
        self.meshes: dict[int, list[Found]] = {}

    def run(self) -> Found:
        """Everything."""
        needed = self.document.get("extensionsRequired", [])
        strange = [name for name in needed if not str(name).startswith(_HARMLESS)] if isinstance(needed, list) else []
        if strange:
            raise ValueError(f"it needs the extension {strange[0]!r}, which is not read.")
        vertices, faces, count, size = [np.zeros((0, 3))], [np.zeros((0, 3), dtype=np.int64)], 0, 0
        for mesh, pose in self.nodes():
            for own, triangles in self.mesh(mesh):
                size += len(triangles)
                if size > _TRIANGLES:
                    raise ValueError(f"it has more than {_TRIANGLES} triangles.")
                vertices.append(own @ pose[:3, :3].T + pose[:3, 3])
                faces.append(triangles + count)
                count += len(own)
        return np.concatenate(vertices), np.concatenate(faces)

    def entry(self, group: str, k: Any) -> dict[str, Any]:
        """An object by its number in one of the lists."""
        entries = self.document.get(group)
        there = isinstance(entries, list) and isinstance(k, int) and not isinstance(k, bool) and 0 <= k < len(entries)
        if not there or not isinstance(entries[k], dict):  # type: ignore[index]
            raise ValueError(f"there is no {group}[{k!r}].")
        return entries[k]  # type: ignore[index]

    def nodes(self) -> Iterator[tuple[int, Array]]:
        """Meshes and poses of the scene's nodes."""
        given = self.document.get("nodes", [])
        if not isinstance(given, list) or len(given) > _NODES:
            raise ValueError(f"nodes must be a list of at most {_NODES}.")
        if self.document.get("scenes"):
            first = self.entry("scenes", self.document.get("scene", 0)).get("nodes", [])
        else:
            inner = {
                k for node in given if isinstance(node, dict) for k in _whole(node.get("children", []), "children")
            }
            first = [k for k in range(len(given)) if k not in inner]
        stack = [(k, np.eye(4)) for k in reversed(_whole(first, "nodes"))]
        seen: set[int] = set()
        while stack:
            k, above = stack.pop()
            if k in seen:
                raise ValueError(f"nodes[{k}] hangs on several others, or on itself.")
            seen.add(k)
            node = self.entry("nodes", k)
            pose = above @ _pose(node)
            if "mesh" in node:
                yield node["mesh"], pose
            stack += [(child, pose) for child in reversed(_whole(node.get("children", []), "children"))]

    def mesh(self, k: int) -> list[Found]:
        """Triangles of the primitives of a mesh."""
        given = self.entry("meshes", k).get("primitives", [])
        if k not in self.meshes:
            whole = given if isinstance(given, list) else []
            self.meshes[k] = [self.primitive(own) for own in whole if isinstance(own, dict)]
        return self.meshes[k]

    def primitive(self, own: dict[str, Any]) -> Found:
        """Triangles, strips and fans; nothing of points and lines."""
        attributes, mode = own.get("attributes"), own.get("mode", 4)
        if mode not in (4, 5, 6) or not isinstance(attributes, dict) or "POSITION" not in attributes:
            return np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
        vertices = self.numbers(attributes["POSITION"], "VEC3").astype(np.float64)
        order = np.arange(len(vertices))
        if "indices" in own:
            order = self.numbers(own["indices"], "SCALAR")[:, 0].astype(np.int64)
        if mode == 4:
            return vertices, order[: len(order) // 3 * 3].reshape(-1, 3)
        if len(order) < 3:
            return vertices, np.zeros((0, 3), dtype=np.int64)
        if mode == 6:
            return vertices, np.stack([np.broadcast_to(order[0], len(order) - 2), order[1:-1], order[2:]], axis=1)
        strip = np.stack([order[:-2], order[1:-1], order[2:]], axis=1)
        strip[1::2, :2] = strip[1::2, 1::-1]  # every second one runs the other way round
        return vertices, strip

    def numbers(self, k: int, kind: str) -> NDArray[Any]:
        """The rows of an accessor."""
        own = self.entry("accessors", k)
        columns = {"SCALAR": 1, "VEC3": 3}[kind]
        if own.get("type") != kind or own.get("componentType") not in list(_TYPES) or "sparse" in own:
            raise ValueError(f"accessors[{k}] must be {kind} of a known type, and not sparse.")
        if "bufferView" not in own:
            raise ValueError(f"accessors[{k}] has no data.")
        view = self.entry("bufferViews", own["bufferView"])
        data = self.buffer(view.get("buffer"))
        kind_of = np.dtype(_TYPES[own["componentType"]])
        row = columns * kind_of.itemsize
        count, start, offset, length, stride = (
            _size(values, key, other)
            for values, key, other in (
                (own, "count", 0),
                (own, "byteOffset", 0),
                (view, "byteOffset", 0),
                (view, "byteLength", 0),
                (view, "byteStride", row),
            )
        )
        if stride < row or offset + length > len(data) or start + stride * (count - 1) + row > length:
            raise ValueError(f"accessors[{k}] has {count} rows, for which there is not enough data.")
        rows = np.ndarray((count, columns), kind_of, data, offset + start, (stride, kind_of.itemsize))
        return rows / np.iinfo(kind_of).max if own.get("normalized") is True and kind_of.kind in "iu" else rows

    def buffer(self, k: Any) -> bytes:
        """The bytes of a buffer: of the file itself, or of one beside it."""
        own = self.entry("buffers", k)
        if k not in self.buffers:
            uri = own.get("uri")
            if uri is None:
                self.buffers[k] = self.binary
            elif str(uri).startswith("data:"):
                try:
                    self.buffers[k] = base64.b64decode(str(uri).partition(",")[2], validate=True)
                except binascii.Error as error:
                    raise ValueError(f"buffers[{k}]: {error}.") from None
            else:
                self.buffers[k] = read_file(
                    self.files.find(unquote(str(uri))), most=self.most, what="buffer of a glTF file"
                )
        return self.buffers[k]


def _size(values: dict[str, Any], key: str, other: int) -> int:
    value = values.get(key, other)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**40:
        raise ValueError(f"{key} = {value!r} is no size.")
    return value


def _whole(values: Any, what: str) -> list[int]:
    if not isinstance(values, list) or any(not isinstance(k, int) or isinstance(k, bool) for k in values):
        raise ValueError(f"{what} must be a list of whole numbers.")
    return values


def _pose(node: dict[str, Any]) -> Array:
    """Where a node is in the one above."""
    out = np.eye(4)
    if "matrix" in node:
        return _floats(node["matrix"], 16, "matrix").reshape(4, 4).T
    scale = _floats(node.get("scale", [1, 1, 1]), 3, "scale")
    if "rotation" in node:
        x, y, z, w = _floats(node["rotation"], 4, "rotation")
        out[:3, :3] = Pose.from_quaternion((w, x, y, z)).rotation
    out[:3, :3] *= scale
    out[:3, 3] = _floats(node.get("translation", [0, 0, 0]), 3, "translation")
    return out


def _floats(values: Any, count: int, what: str) -> Array:
    plain = isinstance(values, list) and len(values) == count and all(isinstance(x, (int, float)) for x in values)
    found = np.array(values, dtype=np.float64) if plain and all(abs(x) < 1e30 for x in values) else np.zeros(0)
    if found.shape != (count,):
        raise ValueError(f"{what} must have {count} finite numbers.")
    return found
