"""Triangles from STL and OBJ files, and from others through trimesh."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["read_triangles"]

Found = tuple[NDArray[np.float64], NDArray[np.int64]]
_OTHERS = (".glb", ".gltf", ".ply", ".dae", ".off", ".3mf")
_HEADER = 84  # bytes before the triangles of a binary STL file
_RECORD = np.dtype([("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("colour", "<u2")])


def read_triangles(path: Path) -> Found:
    """Vertices (V, 3) and faces (F, 3) of a mesh file, in its unit: STL (text or binary) and OBJ, others through trimesh."""
    kind = path.suffix.lower()
    if kind not in (".stl", ".obj", *_OTHERS):
        raise ValueError(
            f"path = {str(path)!r}: a mesh file must be .stl or .obj, or with trimesh one of {', '.join(_OTHERS)}."
        )
    if kind in _OTHERS:
        vertices, faces = _by_trimesh(path)
    else:
        data = path.read_bytes()
        vertices, faces = _obj(path, data) if kind == ".obj" else _stl(path, data)
    if not len(faces):
        raise ValueError(f"path = {str(path)!r} has no triangles.")
    return vertices, faces


def _by_trimesh(path: Path) -> Found:
    """All meshes of a file as one, each where the file has it."""
    try:
        import trimesh
    except ImportError:
        raise ImportError(
            f"path = {str(path)!r}: a {path.suffix} file needs trimesh: pip install 'pliant[mesh]'."
        ) from None
    if not path.is_file():
        raise FileNotFoundError(f"there is no mesh file {str(path)!r}.")
    try:
        mesh = trimesh.load_scene(path).to_mesh()
    except Exception as error:  # readers raise whatever their parts raise
        raise ValueError(f"path = {str(path)!r} cannot be read as a mesh: {error}") from None
    return np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)


def _stl(path: Path, data: bytes) -> Found:
    count = int.from_bytes(data[_HEADER - 4 : _HEADER], "little") if len(data) >= _HEADER else -1
    if len(data) == _HEADER + count * _RECORD.itemsize:
        corners = np.frombuffer(data, _RECORD, count, _HEADER)["corner"].astype(np.float64).reshape(-1, 3)
    elif data.lstrip()[:5].lower() == b"solid":
        rows = [
            line.split()[1:4] for line in data.decode("utf-8", "replace").splitlines() if line.split()[:1] == ["vertex"]
        ]
        corners = _numbers(path, rows)
    else:
        raise ValueError(f"path = {str(path)!r} is no STL file, or it is cut off.")
    if len(corners) % 3:
        raise ValueError(
            f"path = {str(path)!r} has {len(corners)} vertices, which is no multiple of three: it is cut off."
        )
    return corners, np.arange(len(corners)).reshape(-1, 3)


def _obj(path: Path, data: bytes) -> Found:
    rows, faces = [], []
    for line in data.decode("utf-8", "replace").splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            rows.append(rest[:3])
        elif word == "f":
            try:
                own = [int(entry.split("/")[0]) for entry in rest]
            except ValueError:
                raise ValueError(f"path = {str(path)!r}: {line!r} is no face.") from None
            own = [k - 1 if k > 0 else len(rows) + k for k in own]
            faces += [[own[0], own[k], own[k + 1]] for k in range(1, len(own) - 1)]  # a fan, for polygons
    return _numbers(path, rows), np.array(faces, dtype=np.int64).reshape(-1, 3)


def _numbers(path: Path, rows: list[list[str]]) -> NDArray[np.float64]:
    try:
        return np.array(rows, dtype=np.float64).reshape(-1, 3)
    except ValueError:
        raise ValueError(f"path = {str(path)!r} has a vertex that is not three numbers.") from None
