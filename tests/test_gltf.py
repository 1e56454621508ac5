"""glTF files: what a reader makes of them is the robot, at every recorded time."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

import pliant as pl
from pliant.viz.gltf import encode_gltf
from pliant.viz.recording import Recording, record_result

TYPES = {5126: "<f4", 5123: "<u2", 5125: "<u4"}
WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}


@pytest.fixture(scope="module")
def run() -> pl.Result:
    robot = pl.Robot("swimmer", gravity=(0, -1.0, -1.0))
    base = robot.add_body("base", joint=pl.Free(), shape=pl.Box(0.2, 0.1, 0.1), mass=1.0)
    rubber = pl.Material(young=1e5, poisson=0.5, density=1000.0, viscosity=5e3)
    tail = robot.add_rod(
        "tail", parent=base, offset=pl.rotate("z", 0.3), length=0.4, section=pl.Circle((0.02, 0.01)), material=rubber,
        strains=pl.Strains(torsion=0, bending=1),
    )  # fmt: skip
    robot.add_tendon("cable", [base.at((-0.1, 0.05, 0)), pl.Along(tail, y=0.006, z=0.004)])
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -2.0))
    system = robot.compile()
    v = np.zeros(system.nv)
    v[:6] = 1.0, -2.0, 3.0, 0.1, 0.2, 0.3
    return pl.simulate(system, 1.0, velocity=v, u=lambda t: {"cable": 4 * t}, output=0.05)


class Reader:
    """A small reader of binary glTF, by its specification."""

    def __init__(self, data: bytes) -> None:
        magic, version, length = struct.unpack("<4sII", data[:12])
        assert (magic, version, length) == (b"glTF", 2, len(data))
        size, kind = struct.unpack("<I4s", data[12:20])
        assert kind == b"JSON"
        assert size % 4 == 0
        self.content = json.loads(data[20 : 20 + size])
        size_b, kind = struct.unpack("<I4s", data[20 + size : 28 + size])
        assert kind == b"BIN\0"
        self.data = data[28 + size :]
        assert len(self.data) == size_b == self.content["buffers"][0]["byteLength"]

    def array(self, number: int) -> np.ndarray:
        own = self.content["accessors"][number]
        view = self.content["bufferViews"][own["bufferView"]]
        kind, width = np.dtype(TYPES[own["componentType"]]), WIDTHS[own["type"]]
        raw = self.data[view["byteOffset"] : view["byteOffset"] + view["byteLength"]]
        assert view["byteOffset"] % 4 == 0
        assert len(raw) == own["count"] * width * kind.itemsize
        values = np.frombuffer(raw, kind).reshape(-1, width)
        if "min" in own:
            np.testing.assert_array_equal(values.min(axis=0), np.array(own["min"], dtype=kind))
            np.testing.assert_array_equal(values.max(axis=0), np.array(own["max"], dtype=kind))
        return values.astype(float)

    def globals(self, k: int) -> np.ndarray:
        """World matrices of all nodes at the k-th time."""
        nodes = [dict(node) for node in self.content["nodes"]]
        for animation in self.content.get("animations", []):
            for channel in animation["channels"]:
                sampler = animation["samplers"][channel["sampler"]]
                assert sampler["interpolation"] == "LINEAR"
                nodes[channel["target"]["node"]][channel["target"]["path"]] = self.array(sampler["output"])[k]
        out = np.tile(np.eye(4), (len(nodes), 1, 1))

        def visit(number: int, parent: np.ndarray) -> None:
            node = nodes[number]
            x, y, z, w = node.get("rotation", (0, 0, 0, 1))
            own = pl.Pose.from_quaternion((w, x, y, z), node.get("translation", (0, 0, 0))).matrix
            out[number] = parent @ own
            for child in node.get("children", []):
                visit(child, out[number])

        for root in self.content["scenes"][0]["nodes"]:
            visit(root, np.eye(4))
        return out

    def shape(self, name: str, k: int) -> np.ndarray:
        """Vertices of a mesh in the world at the k-th time."""
        matrices = self.globals(k)
        number, node = next(
            (i, n)
            for i, n in enumerate(self.content["nodes"])
            if "mesh" in n and self.content["meshes"][n["mesh"]]["name"] == name
        )
        attributes = self.content["meshes"][node["mesh"]]["primitives"][0]["attributes"]
        vertices = self.array(attributes["POSITION"])
        normals = self.array(attributes["NORMAL"])
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-6)
        if "skin" not in node:
            return vertices @ matrices[number][:3, :3].T + matrices[number][:3, 3]
        skin = self.content["skins"][node["skin"]]
        back = self.array(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
        joints, weights = self.array(attributes["JOINTS_0"]).astype(int), self.array(attributes["WEIGHTS_0"])
        moved = matrices[skin["joints"]] @ back
        blended = np.einsum("vk,vkij->vij", weights, moved[joints])
        return blended[:, :3, 3] + np.einsum("vij,vj->vi", blended[:, :3, :3], vertices)


@pytest.fixture(scope="module")
def recording(run: pl.Result) -> Recording:
    return record_result(run, fps=20)


def test_every_part_is_where_it_is(recording: Recording) -> None:
    reader = Reader(encode_gltf(recording))
    scene = recording.scene
    root = reader.globals(0)[0][:3, :3]
    np.testing.assert_allclose(root @ scene.up, [0, 1, 0], atol=1e-7)  # up is y
    assert np.linalg.det(root) == pytest.approx(1.0)
    for k in (0, 7, len(recording.t) - 1):
        poses = recording.poses[k]
        for tube in scene.tubes:
            np.testing.assert_allclose(reader.shape(tube.name, k), tube.mesh(poses).vertices @ root.T, atol=3e-7)
        for solid in scene.solids:
            expected = solid.mesh.moved(poses[solid.pose]).vertices @ root.T
            np.testing.assert_allclose(reader.shape(solid.name, k), expected, atol=1e-6)
        cable = scene.cables[0]
        rings = reader.shape("cable", k).reshape(len(cable.pose), -1, 3)
        np.testing.assert_allclose(rings.mean(axis=1), cable.points(poses) @ root.T, atol=3e-7)
        radii = np.linalg.norm(rings - rings.mean(axis=1, keepdims=True), axis=2)
        np.testing.assert_allclose(radii, cable.radius, rtol=1e-3)


def test_times_and_names(recording: Recording) -> None:
    content = (reader := Reader(encode_gltf(recording))).content
    samplers = content["animations"][0]["samplers"]
    np.testing.assert_allclose(reader.array(samplers[0]["input"])[:, 0], recording.t, atol=1e-6)
    names = [node["name"] for node in content["nodes"]]
    assert names[:3] == ["swimmer", "world", "base"]
    still = [channel for channel in content["animations"][0]["channels"] if channel["target"]["node"] == 1]
    assert not still  # the world does not move
    for sampler in samplers:
        values = reader.array(sampler["output"])
        if values.shape[1] == 4:
            np.testing.assert_allclose(np.linalg.norm(values, axis=1), 1.0, atol=1e-6)
            assert (np.einsum("ti,ti->t", values[1:], values[:-1]) > 0).all()  # the short way round


def test_files(run: pl.Result, tmp_path) -> None:
    path = run.save_gltf(tmp_path / "motion.glb", fps=10)
    assert path.read_bytes()[:4] == b"glTF"
    rest = pl.parse_model(pl.io.starter_text()).statics()
    shape = Reader(rest.save_gltf(tmp_path / "rest.glb").read_bytes())
    assert "animations" not in shape.content
    with pytest.raises(ValueError, match=r"must be \.glb"):
        run.save_gltf(tmp_path / "motion.obj")


def test_another_program_reads_it(run: pl.Result, tmp_path) -> None:
    trimesh = pytest.importorskip("trimesh")
    scene = trimesh.load_scene(run.save_gltf(tmp_path / "motion.glb"))
    assert {"tail", "cable", "base", "floor"} <= set(scene.geometry)
    assert scene.geometry["base"].volume == pytest.approx(0.2 * 0.1 * 0.1, rel=1e-5)
