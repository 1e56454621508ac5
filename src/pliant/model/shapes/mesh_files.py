"""Triangles from STL, OBJ and glTF files, and from others through trimesh."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..reading import read_file
from ..validate import LARGEST, shown
from .gltf_files import read_gltf
from .mesh_checks import check_3mf, check_collada

__all__ = ["read_triangles"]

Found = tuple[NDArray[np.float64], NDArray[np.int64]]
_OWN = (".stl", ".obj", ".glb", ".gltf")
_OTHERS = (".ply", ".dae", ".off", ".3mf")
_MOST = 200_000_000  # bytes of a file, and of what is packed in it
_HEADER = 84  # bytes before the triangles of a binary STL file
_RECORD = np.dtype([("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("colour", "<u2")])


def read_triangles(path: Path) -> Found:
    """Vertices (V, 3) and faces (F, 3) of a mesh file, in its unit: STL (text or binary), OBJ and glTF, others through trimesh."""
    kind = path.suffix.lower()
    if kind not in (*_OWN, *_OTHERS):
        raise ValueError(
            f"path = {shown(str(path))}: a mesh file must be .stl or .obj, .glb or .gltf, or with trimesh one of {', '.join(_OTHERS)}."
        )
    data = read_file(path, most=_MOST, what="mesh file")
    try:
        with np.errstate(all="ignore"):  # of numbers that are refused afterwards
            if kind in (".glb", ".gltf"):
                vertices, faces = read_gltf(path, data, _MOST)
            elif kind in _OTHERS:
                vertices, faces = _by_trimesh(data, kind)
            else:
                vertices, faces = _obj(data) if kind == ".obj" else _stl(data)
        _check(vertices, faces)
    except ImportError as error:
        raise ImportError(f"path = {shown(str(path))}: {error}") from None
    except (ValueError, OSError) as error:
        raise ValueError(f"path = {shown(str(path))} cannot be read as a mesh: {error}") from None
    return vertices, faces


def _check(vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> None:
    if not len(faces):
        raise ValueError("it has no triangles.")
    if not (np.abs(vertices) <= LARGEST).all():
        raise ValueError(f"it has a vertex that is not three finite numbers of at most {LARGEST:g}.")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise ValueError(
            f"its faces name vertices from number {faces.min()} to {faces.max()} (counted from 0), but there are {len(vertices)}."
        )


def _by_trimesh(data: bytes, kind: str) -> Found:
    """All meshes of a file as one, each where the file has it."""
    check = {".dae": check_collada, ".3mf": check_3mf}.get(kind)
    if check is not None:
        check(data, _MOST)
    try:
        import trimesh
    except ImportError:
        raise ImportError(f"a {kind} file needs trimesh: pip install 'pliant[mesh]'.") from None

    class NoFiles(trimesh.resolvers.Resolver):
        """Images and whatever else the file names are not opened."""

        def __init__(self) -> None:
            pass

        def get(self, _name: str) -> bytes:
            raise FileNotFoundError("files that a mesh names are not read.")

        def write(self, _name: str, _data: bytes) -> None:
            raise PermissionError("files that a mesh names are not written.")

        def namespaced(self, _namespace: str) -> Any:
            return self

        def keys(self) -> list[str]:
            return []

    logger = logging.getLogger("trimesh")
    loud = logger.level
    logger.setLevel(logging.CRITICAL + 1)  # it would print the traceback of an image that is not opened
    try:
        mesh = trimesh.load_scene(io.BytesIO(data), file_type=kind[1:], resolver=NoFiles()).to_mesh()
    except Exception as error:  # readers raise whatever their parts raise
        raise ValueError(f"{type(error).__name__}: {error}") from None
    finally:
        logger.setLevel(loud)
    return np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)


def _stl(data: bytes) -> Found:
    count = int.from_bytes(data[_HEADER - 4 : _HEADER], "little")
    if len(data) >= _HEADER and len(data) == _HEADER + count * _RECORD.itemsize:
        corners = np.frombuffer(data, _RECORD, count, _HEADER)["corner"].astype(np.float64).reshape(-1, 3)
    elif data.lstrip()[:5].lower() == b"solid":
        rows = [
            line.split()[1:4] for line in data.decode("utf-8", "replace").splitlines() if line.split()[:1] == ["vertex"]
        ]
        corners = _numbers(rows)
    else:
        raise ValueError("it is no STL file, or it is cut off.")
    if len(corners) % 3:
        raise ValueError(f"it has {len(corners)} vertices, which is no multiple of three: it is cut off.")
    return corners, np.arange(len(corners)).reshape(-1, 3)


def _obj(data: bytes) -> Found:
    rows, faces = [], []
    for line in data.decode("utf-8", "replace").splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            rows.append(rest[:3])
        elif word == "f":
            try:
                own = [int(entry.split("/")[0]) for entry in rest]
            except ValueError:
                raise ValueError(f"{shown(line)} is no face.") from None
            own = [k - 1 if k > 0 else len(rows) + k if k else -1 for k in own]
            faces += [[own[0], own[k], own[k + 1]] for k in range(1, len(own) - 1)]  # a fan, for polygons
    try:
        return _numbers(rows), np.array(faces, dtype=np.int64).reshape(-1, 3)
    except OverflowError:
        raise ValueError("a face has a number that no vertex can have.") from None


def _numbers(rows: list[list[str]]) -> NDArray[np.float64]:
    try:
        return np.array(rows, dtype=np.float64).reshape(-1, 3)
    except ValueError:
        raise ValueError("it has a vertex that is not three numbers.") from None
