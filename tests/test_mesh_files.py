"""Mesh files of strangers: read, or refused within seconds and a little memory, whatever they say of their sizes."""

from __future__ import annotations

import base64
import io
import json
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.model.shapes.mesh_checks import check_3mf, check_collada
from pliant.model.shapes.mesh_files import read_triangles

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "<f4").tobytes()
ORDER = np.array([0, 1, 2], "<u4").tobytes()
ACCESSORS = [
    {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
    {"bufferView": 1, "componentType": 5125, "count": 3, "type": "SCALAR"},
]
VIEWS = [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 12}]


def uri(data: bytes) -> str:
    return "data:application/octet-stream;base64," + base64.b64encode(data).decode()


def gltf(*, first: dict | None = None, data: bytes = POINTS + ORDER, **changes) -> bytes:
    """A triangle, with changes."""
    content = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [ACCESSORS[0] if first is None else first, ACCESSORS[1]],
        "bufferViews": VIEWS,
        "buffers": [{"byteLength": len(data), "uri": uri(data)}],
    }
    return json.dumps({**content, **changes}).encode()


def glb(document: bytes, binary: bytes) -> bytes:
    document += b" " * (-len(document) % 4)
    body = (
        struct.pack("<II", len(document), 0x4E4F534A) + document + struct.pack("<II", len(binary), 0x004E4942) + binary
    )
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


def beside(name: str) -> bytes:
    return gltf(buffers=[{"byteLength": 48, "uri": name}])


HUGE = 800_000_000
BARE = {"componentType": 5126, "count": HUGE, "type": "VEC3"}
SPARSE = {"count": 1, "indices": {"bufferView": 1, "componentType": 5125}, "values": {"bufferView": 0}}
OWN = glb(gltf(buffers=[{"byteLength": 48}]), POINTS + ORDER)
PLY = "ply\nformat {kind} 1.0\n{extra}element vertex {count}\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uint int vertex_indices\nend_header\n"
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
FILES: dict[str, tuple[bytes, str]] = {
    "count.stl": (b"\0" * 80 + struct.pack("<I", 2**32 - 1) + b"\0" * 50, "no STL file"),
    "short.stl": (b"\0" * 34, "no STL file"),
    "nan.stl": (b"\0" * 80 + struct.pack("<I12fH", 1, *[float("nan")] * 12, 0), "three finite numbers"),
    "text.stl": (b"solid a\nvertex 0 0\nvertex 1\n", "not three numbers"),
    "cut.stl": (b"solid a\nvertex 0 0 1\nvertex 1 0 0\n", "no multiple of three"),
    "huge.obj": ((TRIANGLE + f"f 1 2 {'9' * 30}\n").encode(), "no vertex can have"),
    "digits.obj": ((TRIANGLE + f"f 1 2 {'9' * 5000}\n").encode(), "no face"),
    "zero.obj": ((TRIANGLE + "f 0 1 2\n").encode(), "name vertices from number -1"),
    "far.obj": ((TRIANGLE + "v 1e300 0 0\nf 1 2 4\n").encode(), "at most 1e+60"),
    "before.obj": ((TRIANGLE + "f -9 1 2\n").encode(), "name vertices from number -6"),
    "count.ply": (PLY.format(kind="ascii", extra="", count=2 * HUGE).encode() + b"0 0 0\n", "no triangles"),
    "list.ply": (PLY.format(kind="binary_little_endian", extra="", count=3).encode() + POINTS + b"\xff\xff\xff\x7f", "cannot be read as a mesh"),
    "count.off": (f"OFF\n{2 * HUGE} 1 0\n0 0 0\n".encode(), "cannot be read as a mesh"),
    "bare.gltf": (gltf(first=BARE), "has no data"),
    "bare.glb": (glb(gltf(first=BARE, buffers=[{"byteLength": 48}]), POINTS + ORDER), "has no data"),
    "count.gltf": (gltf(first={**BARE, "bufferView": 0}), "not enough data"),
    "sparse.gltf": (gltf(first={**BARE, "sparse": SPARSE}), "not sparse"),
    "stride.gltf": (gltf(bufferViews=[{**VIEWS[0], "byteStride": 10**9}, VIEWS[1]]), "not enough data"),
    "negative.gltf": (gltf(bufferViews=[{**VIEWS[0], "byteOffset": -36}, VIEWS[1]]), "is no size"),
    "index.gltf": (gltf(data=POINTS + np.array([0, 1, 10**8], "<u4").tobytes()), "from number 0 to 100000000"),
    "cycle.gltf": (gltf(nodes=[{"mesh": 0, "children": [0]}]), "hangs on several others, or on itself"),
    "many.gltf": (gltf(nodes=[{"children": [k + 1] * 10} for k in range(12)] + [{"mesh": 0}]), "hangs on several others"),
    "nodes.gltf": (gltf(nodes=[{"mesh": 0}] * 60_000), "at most 50000"),
    "draco.gltf": (gltf(extensionsRequired=["KHR_draco_mesh_compression"]), "KHR_draco_mesh_compression"),
    "lines.gltf": (gltf(meshes=[{"primitives": [{"attributes": {"POSITION": 0}, "mode": 1}]}]), "no triangles"),
    "deep.gltf": (b'{"a":' * 100_000, "JSON cannot be read"),
    "list.gltf": (b"[]", "no object"),
    "odd.gltf": (gltf(nodes=[{"mesh": "x", "rotation": [0, 0, 0, 0]}]), "unit quaternion"),
    "mesh.gltf": (gltf(nodes=[{"mesh": [0]}]), "there is no meshes"),
    "type.gltf": (gltf(first={**ACCESSORS[0], "componentType": [1]}), "of a known type"),
    "nan.gltf": (gltf(nodes=[{"mesh": 0, "translation": [float("nan"), 0, 0]}]), "3 finite numbers"),
    "base64.gltf": (beside("data:;base64,%%%"), "buffers"),
    "up.gltf": (beside("../../../../etc/passwd"), "outside of the folder"),
    "absolute.gltf": (beside("/etc/passwd"), "outside of the folder"),
    "device.gltf": (beside("/dev/zero"), "outside of the folder"),
    "link.gltf": (beside("link.bin"), "leads by a link outside"),
    "pipe.gltf": (beside("pipe.bin"), "it is a pipe"),
    "address.gltf": (beside("http://127.0.0.1:1/a.bin"), "no addresses"),
    "length.glb": (OWN[:8] + b"\xff\xff\xff\xff" + OWN[12:], "4294967295 bytes"),
    "chunk.glb": (OWN[:12] + b"\xff\xff\xff\xff" + OWN[16:], "longer than the file"),
    "cut.glb": (OWN[:-20], "are needed"),
    "entities.dae": (b'<!DOCTYPE a [<!ENTITY b "c">]><COLLADA/>', "no document type"),
    "other.dae": (b"<robot/>", "its root is <robot>"),
    "text.3mf": (b"PK\3\4", "no archive"),
    "pipe.stl": (b"", "it is a pipe"),
    "pipe.obj": (b"", "it is a pipe"),
    "pipe.glb": (b"", "it is a pipe"),
    "device.stl": (b"", "it is a device"),
    "sparse.stl": (b"", "has 300000000000 bytes; at most 200000000 are read"),
    "folder.stl": (b"", "it is a folder"),
}  # fmt: skip
PROGRAM = """
import json, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from pathlib import Path
import pliant as pl
out = {}
for path in sorted(Path(sys.argv[1]).iterdir()):
    if path.suffix in (".bin", ".txt"):
        continue
    begin = time.perf_counter()
    try:
        pl.Visual(file=str(path))
        told = "loaded"
    except (OSError, ValueError, ImportError) as error:
        told = str(error)
    out[path.name] = (told, time.perf_counter() - begin)
print(json.dumps(out))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory, pipes and devices are those of Linux")
def test_hostile_files_are_refused(tmp_path: Path) -> None:
    """In a process with 3 GB and a minute for all of them."""
    folder = tmp_path / "meshes"
    folder.mkdir()
    (tmp_path / "secret.txt").write_bytes(POINTS + ORDER)
    for name, (content, _words) in FILES.items():
        if content:
            (folder / name).write_bytes(content)
    for name in ("pipe.stl", "pipe.obj", "pipe.glb", "pipe.bin"):
        os.mkfifo(folder / name)
    (folder / "device.stl").symlink_to("/dev/zero")
    (folder / "link.bin").symlink_to(tmp_path / "secret.txt")
    (folder / "folder.stl").mkdir()
    with (folder / "sparse.stl").open("wb") as file:
        file.truncate(300_000_000_000)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    found = json.loads(done.stdout)
    assert set(found) == set(FILES)
    wrong = {name: told for name, (told, _s) in found.items() if FILES[name][1] not in told}
    if not_there("trimesh"):
        wrong = {name: told for name, told in wrong.items() if "needs trimesh" not in told}
    assert not wrong
    assert max(seconds for _told, seconds in found.values()) < 5.0


def not_there(module: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(module) is None


def test_a_texture_is_not_opened(tmp_path: Path, capfd) -> None:
    pytest.importorskip("trimesh")
    header = PLY.format(kind="ascii", extra="comment TextureFile secret.png\n", count=3)
    (tmp_path / "a.ply").write_text(header + "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    os.mkfifo(tmp_path / "secret.png")
    assert len(pl.Mesh.from_file(tmp_path / "a.ply").faces) == 1
    assert capfd.readouterr() == ("", "")
    image = {"images": [{"uri": "secret.png"}], "textures": [{"source": 0}], "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]}  # fmt: skip
    (tmp_path / "a.gltf").write_bytes(gltf(**image))
    assert len(pl.Mesh.from_file(tmp_path / "a.gltf").faces) == 1


# ---------------------------------------------------------------- glTF


@pytest.mark.parametrize("end", ["glb", "gltf"])
def test_gltf_is_read_as_trimesh_reads_it(end: str, tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    rng = np.random.default_rng(4)
    scene, parent = trimesh.Scene(), None
    for k in range(4):
        mesh = trimesh.creation.icosphere(subdivisions=1) if k % 2 else trimesh.creation.box()
        place = trimesh.transformations.random_rotation_matrix(rng.random(3))
        place[:3, 3] = rng.normal(size=3)
        scene.add_geometry(mesh, node_name=f"n{k}", parent_node_name=parent, transform=place)
        parent = f"n{k}"
    files = {"model.glb": scene.export(file_type="glb")} if end == "glb" else scene.export(file_type="gltf")
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    vertices, faces = read_triangles(tmp_path / f"model.{end}")
    wanted = trimesh.load_scene(tmp_path / f"model.{end}").to_mesh()
    np.testing.assert_allclose(vertices[faces], np.asarray(wanted.vertices)[wanted.faces], atol=1e-6)


def test_places_and_strips_of_gltf(tmp_path: Path) -> None:
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], "<i2")
    data = points.tobytes()
    first = {"bufferView": 0, "componentType": 5122, "count": 4, "type": "VEC3"}
    half = float(np.sqrt(0.5))
    node = {"mesh": 0, "scale": [2, 3, 4], "rotation": [0, 0, half, half], "translation": [5, 0, 0]}

    def read(mode: int) -> tuple[np.ndarray, list]:
        meshes = [{"primitives": [{"attributes": {"POSITION": 0}, "mode": mode}]}]
        views = [{"buffer": 0, "byteLength": 24}]
        content = gltf(first=first, data=data, meshes=meshes, bufferViews=views, nodes=[{"children": [1]}, node])
        (tmp_path / "a.gltf").write_bytes(content)
        vertices, faces = read_triangles(tmp_path / "a.gltf")
        return vertices, faces.tolist()

    vertices, faces = read(5)
    np.testing.assert_allclose(
        vertices, np.array([[0, 0, 0], [0, 2, 0], [-3, 0, 0], [-3, 2, 0]]) + [5, 0, 0], atol=1e-12
    )
    assert faces == [[0, 1, 2], [2, 1, 3]]  # all seen from the same side
    assert read(6)[1] == [[0, 1, 2], [0, 2, 3]]
    assert read(4)[1] == [[0, 1, 2]]


# ---------------------------------------------------------------- what others read


def copies(levels: int, each: int) -> str:
    """Nodes of a Collada file, each of which uses the next one several times."""
    uses = [f'<instance_node url="#n{k + 1}"/>' * each for k in range(levels)] + ['<instance_geometry url="#g"/>']
    nodes = "".join(f'<node id="n{k}">{use}</node>' for k, use in enumerate(uses))
    return f'<COLLADA><library_geometries><geometry id="g"><p>{"0 " * 1000}</p></geometry></library_geometries><library_nodes>{nodes}</library_nodes></COLLADA>'


def packed(model: str, entries: dict[str, bytes] | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("3D/3dmodel.model", model)
        for name, content in (entries or {}).items():
            archive.writestr(name, content)
    return out.getvalue()


def objects(levels: int, each: int) -> str:
    """Objects of a 3MF file, likewise."""
    last = '<object id="last"><mesh><triangles>' + "<triangle/>" * 10 + "</triangles></mesh></object>"
    inner = [str(k + 1) for k in range(levels - 1)] + ["last"]
    rest = "".join(
        f"<object id='{k}'><components>" + f"<component objectid='{used}'/>" * each + "</components></object>"
        for k, used in enumerate(inner)
    )
    return f"<model><resources>{last}{rest}</resources><build><item objectid='0'/></build></model>"


def test_copies_of_copies_are_counted() -> None:
    check_collada(copies(3, 4).encode(), 10**6)
    check_3mf(packed(objects(3, 4)), 10**6)
    for levels, each in ((10, 10), (40, 2), (3, 30)):
        with pytest.raises(ValueError, match="too many copies"):
            check_collada(copies(levels, each).encode(), 10**8)
        with pytest.raises(ValueError, match="too many copies"):
            check_3mf(packed(objects(levels, each)), 10**8)
    with pytest.raises(ValueError, match="too many copies"):
        check_collada(copies(3, 10).encode(), 10**6)  # a thousand, of 2000 characters each
    with pytest.raises(ValueError, match="holds itself"):
        check_collada(b'<COLLADA><node id="a"><instance_node url="#a"/></node></COLLADA>', 10**6)
    with pytest.raises(ValueError, match="holds itself"):
        check_3mf(packed("<model><object id='1'><component objectid='2'/></object><object id='2'><component objectid='1'/></object></model>"), 10**6)  # fmt: skip


def test_archives_are_not_unpacked_beyond_a_size() -> None:
    with pytest.raises(ValueError, match=r"it unpacks to 10000\d* bytes; at most 1000000"):
        check_3mf(packed("<model/>", {"a.png": b"\0" * 10_000_000}), 1_000_000)
    with pytest.raises(ValueError, match="no document type"):
        check_3mf(packed('<!DOCTYPE a [<!ENTITY b "c">]><model/>'), 1_000_000)


def test_sizes_that_nothing_has() -> None:
    """Found by mutations: an OverflowError of the square of an extent, and a warning about numbers of vertices."""
    with pytest.raises(ValueError, match=r"Mesh.vertices has 1e\+300, but no more than 1e\+60"):
        pl.Mesh([[0, 0, 0], [1e300, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    with pytest.raises(ValueError, match=r"Mesh\.faces has numbers from 0 to"):
        pl.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 1e30]])
    assert len(pl.Mesh([[0, 0, 0], [1e59, 0, 0], [0, 1e59, 0]], [[0, 1, 2]]).surface.faces) == 1


def test_a_closed_surface_that_is_flat_encloses_nothing() -> None:
    """Found by mutations: its centre was not a number."""
    flat = pl.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 1]])
    assert flat.centroid.tolist() == [0, 0, 0]
    for ask in (lambda: flat.volume, lambda: pl.Inertia.of(flat, density=1000.0)):
        with pytest.raises(ValueError, match="is flat: it encloses no volume"):
            ask()


@pytest.mark.filterwarnings("error")
def test_all_vertices_at_one_place() -> None:
    with pytest.raises(ValueError, match="every triangle is only a line or a point"):
        pl.Mesh([[1e30, 1e30, 1e30]] * 3, [[0, 1, 2]])


@pytest.mark.filterwarnings("error")
def test_no_number_of_a_file_is_a_warning(tmp_path: Path) -> None:
    signalling = b"\x00\x00\xa0\x7f"  # a NaN at which conversions warn
    files = {
        "a.stl": b"\0" * 80 + struct.pack("<I", 1) + signalling * 12 + b"\0\0",
        "a.gltf": gltf(data=signalling * 9 + ORDER),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match="three finite numbers"):
            pl.Visual(file=str(tmp_path / name))
