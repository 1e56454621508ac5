"""Import of URDF, against Pinocchio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pliant as pl

pin = pytest.importorskip("pinocchio")

ARM = Path(__file__).parent / "data" / "arm7.urdf"
RTOL = 1e-12
FLIP = [3, 4, 5, 0, 1, 2]


def write(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "robot.urdf"
    path.write_text(f'<?xml version="1.0"?><robot name="small">{body}</robot>')
    return path


INERTIAL = '<inertial><mass value="1"/><origin xyz="0 0 0.1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def link(name: str, inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(kind: str, parent: str, child: str, inside: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{child}_joint" type="{kind}">{ends}<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>{inside}</joint>'


class Twins:
    """The same file in pliant and in Pinocchio, whose continuous joints have a cosine and a sine in q."""

    def __init__(self, base: str) -> None:
        self.system = pl.load_urdf(ARM, base=base, gravity=(0.3, -0.4, -9.81)).compile()
        root = [pin.JointModelFreeFlyer()] if base == "free" else []
        self.model = pin.buildModelFromUrdf(str(ARM), *root)
        self.model.gravity.linear = np.array([0.3, -0.4, -9.81])
        self.data = self.model.createData()
        self.free = base == "free"

    def order(self) -> list[int]:
        """v_pin = v[order]."""
        imported = pl.io.read_urdf(ARM)
        out = FLIP.copy() if self.free else []
        for name in list(self.model.names)[2 if self.free else 1 :]:
            out.append(self.system.v_slice(imported.joints[name].link).start)
        return out

    def q(self, q: np.ndarray) -> np.ndarray:
        imported = pl.io.read_urdf(ARM)
        out = pin.neutral(self.model)
        if self.free:
            out[:7] = q[[4, 5, 6, 1, 2, 3, 0]]
        for name in list(self.model.names)[2 if self.free else 1 :]:
            j = self.model.joints[self.model.getJointId(name)]
            x = q[self.system.q_slice(imported.joints[name].link).start]
            out[j.idx_q : j.idx_q + j.nq] = x if j.nq == 1 else (np.cos(x), np.sin(x))
        return out


@pytest.fixture(params=["fixed", "free"])
def twins(request) -> Twins:
    return Twins(request.param)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=RTOL * max(1.0, np.abs(expected).max()))


def test_dynamics_are_those_of_pinocchio(twins):
    system, order = twins.system, twins.order()
    assert system.nv == twins.model.nv == (15 if twins.free else 9)
    assert sorted(order) == list(range(system.nv))
    for seed in range(5):
        rng = np.random.default_rng(seed)
        q, v, a = system.random(rng), rng.normal(size=system.nv), rng.normal(size=system.nv)
        qp, vp, ap = twins.q(q), v[order], a[order]
        close(system.inverse_dynamics(q, v, a)[order], pin.rnea(twins.model, twins.data, qp, vp, ap))
        close(system.gravity_forces(q)[order], pin.computeGeneralizedGravity(twins.model, twins.data, qp))
        M = np.triu(pin.crba(twins.model, twins.data, qp))
        close(system.mass_matrix(q)[np.ix_(order, order)], M + np.triu(M, 1).T)


def test_frames_are_those_of_pinocchio(twins):
    """All links keep their names and frames, also those without mass."""
    system = twins.system
    q = system.random(np.random.default_rng(1))
    pin.framesForwardKinematics(twins.model, twins.data, twins.q(q))
    names = [f.name for f in twins.model.frames if f.type == pin.FrameType.BODY and f.name != "universe"]
    assert set(names) == set(system.links)
    for name in names:
        close(system.pose(name, q), twins.data.oMf[twins.model.getFrameId(name)].homogeneous)


def test_limits_damping_and_notes():
    imported = pl.io.read_urdf(ARM)
    assert list(imported.joints) == [*(f"joint{k}" for k in range(1, 8)), "left_slide", "right_slide"]
    first = imported.joints["joint1"]
    assert (first.link, first.kind, first.lower, first.upper) == ("link1", "revolute", -2.8, 2.7)
    assert (first.velocity, first.effort) == (2.1, 80)
    assert imported.joints["joint3"].lower is None
    (note,) = imported.notes
    assert note.startswith("link 'link3': the visual mesh")
    assert "was left out: it was not found in" in note
    damping = np.diag(imported.robot.compile().damping_matrix())
    np.testing.assert_array_equal(damping, [0.5, 0, 0, 0.5, 0, 0, 0, 0, 0])


def test_shapes_where_they_are_simple():
    shapes = {body.name: body.content.shape for body in pl.load_urdf(ARM).links}
    assert shapes["link1"] == pl.Cylinder(0.06, 0.2, "z")
    assert shapes["link2"] == pl.Box(0.1, 0.25, 0.12)  # turned by a quarter about x
    assert shapes["link4"] == pl.Sphere(0.07)
    assert shapes["link3"] is None
    assert shapes["link6"] is None  # turned by an angle that a shape cannot have
    assert shapes["base_link"] == pl.Cylinder(0.1, 0.1, "z")


def test_rods_can_be_attached_and_the_whole_be_saved(tmp_path):
    robot = pl.load_urdf(ARM)
    silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    options = {"length": 0.2, "section": pl.Circle(0.01), "material": silicone, "strains": pl.Strains.kirchhoff(2)}
    robot.add_rod("finger", parent="tool0", **options)
    system = robot.compile()
    assert system.nv == 18
    rest = system.pose("tool0", system.neutral())
    np.testing.assert_allclose(system.pose("finger.base", system.neutral()), rest, atol=1e-15)
    robot.save(tmp_path / "arm.yaml")
    again = pl.load_model(tmp_path / "arm.yaml").compile()
    np.testing.assert_array_equal(again.tables.data, system.tables.data)
    np.testing.assert_array_equal(again.tables.place, system.tables.place)


def test_welded_links_are_one_body(tmp_path):
    """A chain of fixed joints carries the same inertia as one link; without mass it changes nothing."""
    parts = (
        link("base")
        + link("arm")
        + joint("revolute", "base", "arm", '<axis xyz="0 1 0"/><limit effort="1" velocity="1"/>')
    )
    extra = link("tip", "") + joint("fixed", "arm", "tip") + link("end") + joint("fixed", "tip", "end")
    plain = pl.load_urdf(write(tmp_path, parts)).compile()
    welded = pl.load_urdf(write(tmp_path, parts + extra)).compile()
    assert welded.nv == plain.nv == 1
    pose = welded.pose("end", [0.0])
    axis = np.array(pl.load_urdf(tmp_path / "robot.urdf").link("arm").offset.rotation)[:, 1]
    arm = welded.pose("arm", [0.0])
    com, lever = pose[:3] @ [0, 0, 0.1, 1], arm[:3, 3]
    far = np.cross(axis, com - lever)
    expected = plain.mass_matrix([0.0])[0, 0] + 1.0 + far @ far  # its own inertia is 1 about every axis
    np.testing.assert_allclose(welded.mass_matrix([0.0])[0, 0], expected, rtol=1e-12)
    assert abs(welded.mass - 2.0) < 1e-12


def test_other_joints(tmp_path):
    parts = link("base") + "".join(link(name) for name in ("slab", "drone", "wheel"))
    parts += joint("planar", "base", "slab", '<axis xyz="0 0 1"/>') + joint("floating", "base", "drone")
    parts += joint("continuous", "slab", "wheel", "")
    robot = pl.load_urdf(write(tmp_path, parts))
    kinds = {body.name: type(body.joint).__name__ for body in robot.links}
    assert kinds == {"base": "Fixed", "slab": "Planar", "wheel": "Revolute", "drone": "Free"}
    assert robot.link("wheel").joint == pl.Revolute("x")  # the default axis
    system = robot.compile()
    q = system.neutral()
    q[system.q_slice("slab")] = [0.3, 0.4, 0.5]
    expected = robot.link("slab").offset @ pl.translate(0.3, 0.4, 0) @ pl.rotate("z", 0.5)
    np.testing.assert_allclose(system.pose("slab", q), expected.matrix, atol=1e-15)


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_a_root_named_world_is_the_world(tmp_path, base):
    robot = pl.load_urdf(write(tmp_path, link("world", "") + link("base") + joint("fixed", "world", "base")), base=base)
    (body,) = robot.links
    assert (body.name, body.parent.link) == ("base", "world")
    assert type(body.joint) is (pl.Free if base == "free" else pl.Fixed)
    np.testing.assert_array_equal(body.offset.translation, [1, 2, 3])


def test_what_is_not_supported_is_said(tmp_path):
    limit = '<limit effort="1" velocity="1"/>'
    parts = link("base") + link("a") + link("b")
    parts += joint("revolute", "base", "a", f'{limit}<dynamics damping="1" friction="0.1"/>')
    parts += joint("planar", "a", "b", '<axis xyz="0 0 1"/><dynamics friction="0.2"/><mimic joint="a_joint"/>')
    with pytest.warns(UserWarning, match="URDF: joint") as caught:
        robot = pl.load_urdf(write(tmp_path, parts))
    assert ["dry friction" in str(w.message) or "mimics 'a_joint'" in str(w.message) for w in caught] == [True, True]
    assert not robot.couplings
    assert robot.bearings == {
        "a_joint_friction": pl.JointFriction("a", coulomb=0.1)
    }  # of the joint with one coordinate


def fingers(tmp_path, mimic: str) -> pl.Robot:
    """Two fingers on a base, the second of which mimics the first, with this further attributes."""
    limit = '<axis xyz="0 1 0"/><limit effort="1" velocity="1"/>'
    parts = link("base") + link("left.tip") + link("right") + joint("revolute", "base", "left.tip", limit)
    return pl.load_urdf(write(tmp_path, parts + joint("prismatic", "base", "right", f"{limit}<mimic {mimic}/>")))


def test_mimic_joints_are_coupled(tmp_path):
    robot = fingers(tmp_path, 'joint="left.tip_joint" multiplier="-0.5" offset="0.2"')
    assert robot.couplings == {"right_joint_mimic": pl.Coupling((("right", 0, 1.0), ("left_tip", 0, 0.5)), 0.2)}
    system = robot.compile()
    q, T = np.array([0.3, 0.05]), np.array([1.0, -0.5])  # all motions are T s
    assert system.closure(q)[0] == pytest.approx([0.0], abs=1e-15)
    tree = robot.copy()
    tree.couplings = {}
    tree = tree.compile()
    expected = T * (-T @ tree.residual(q, T, np.zeros(2)) / (T @ tree.mass_matrix(q) @ T))
    np.testing.assert_allclose(system.forward_dynamics(q, T), expected, rtol=1e-12)


def test_mimic_joints_with_defaults_and_errors(tmp_path):
    same = fingers(tmp_path, 'joint="left.tip_joint"').couplings["right_joint_mimic"]
    assert same == pl.Coupling((("right", 0, 1.0), ("left_tip", 0, -1.0)))
    held = fingers(tmp_path, 'joint="left.tip_joint" multiplier="0" offset="0.1"').couplings["right_joint_mimic"]
    assert held == pl.Coupling((("right", 0, 1.0),), 0.1)
    with pytest.raises(pl.ModelFileError, match=r"joint 'right_joint' mimics 'nobody', but there is no such joint"):
        fingers(tmp_path, 'joint="nobody"')
    with pytest.raises(pl.ModelFileError, match=r"multiplier='nan' is not allowed: a number is needed"):
        fingers(tmp_path, 'joint="left.tip_joint" multiplier="nan"')
    with pytest.warns(UserWarning, match="both must be different joints of one coordinate"):
        fingers(tmp_path, 'joint="right_joint"')


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        (link("a") + link("b"), "exactly one root"),
        (link("a") + joint("fixed", "a", "b"), "there is no link 'b'"),
        (link("a") + link("b") + link("c") + joint("fixed", "a", "c") + joint("fixed", "b", "c"), "carried by several"),
        (
            link(
                "a", '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/></inertial>'
            ),
            "triangle",
        ),
    ],
    ids=range(4),
)
def test_broken_files(tmp_path, parts, what):
    with pytest.raises(ValueError, match=what):
        pl.load_urdf(write(tmp_path, parts))


def test_other_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="no URDF file"):
        pl.load_urdf(tmp_path / "nowhere.urdf")
    (tmp_path / "x.urdf").write_text("<robot><link></robot>")
    with pytest.raises(pl.ModelFileError, match=r"x.urdf:1:16: not complete XML: mismatched tag"):
        pl.load_urdf(tmp_path / "x.urdf")
    with pytest.raises(ValueError, match="'fixed', 'free'"):
        pl.load_urdf(ARM, base="floating")


def test_names_with_dots(tmp_path):
    imported = pl.io.read_urdf(write(tmp_path, link("base") + link("a.b") + joint("continuous", "base", "a.b")))
    assert [body.name for body in imported.robot.links] == ["base", "a_b"]
    assert "'a.b' is named 'a_b'" in imported.notes[0]


LIMIT = '<axis xyz="0 1 0"/><limit lower="-0.5" upper="0.3" velocity="1" effort="20"/>'


def test_limits_are_kept_by_stops(tmp_path):
    path = write(
        tmp_path, link("base") + link("arm") + joint("revolute", "base", "arm", LIMIT + '<dynamics damping="0.5"/>')
    )
    robot = pl.load_urdf(path)
    stop = robot.stops["arm_joint_stop"]
    assert (stop.lower, stop.upper, stop.stiffness) == (-0.5, 0.3, 2000.0)
    assert not pl.load_urdf(path, limits=False).stops
    system = robot.compile()
    run = pl.simulate(system, 2.0, tau=[15.0], output=0.05)
    assert run.success
    assert 0.3 < run.q[-1, 0] < 0.312  # less than the largest effort at the end


def test_ranges_that_say_nothing_are_none(tmp_path):
    limit = '<axis xyz="0 1 0"/><limit lower="0" upper="0" velocity="1" effort="0"/>'
    assert not pl.load_urdf(
        write(tmp_path, link("base") + link("arm") + joint("prismatic", "base", "arm", limit))
    ).stops


CUBE = "\n".join(
    [f"v {x} {y} {z}" for x in (0, 100) for y in (0, 100) for z in (0, 100)]
    + ["f 1 2 4", "f 1 4 3", "f 5 7 8", "f 5 8 6"]
)


@pytest.mark.parametrize("name", ["meshes/cube.obj", "package://arm_description/meshes/cube.obj"])
def test_visual_meshes_are_drawn(name, tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "cube.obj").write_text(CUBE)
    drawn = f'<visual><origin xyz="0 0 1"/><geometry><mesh filename="{name}" scale="0.001 0.001 0.001"/></geometry></visual>'
    path = write(tmp_path, link("base") + link("arm", INERTIAL + drawn) + joint("continuous", "base", "arm"))
    imported = pl.io.read_urdf(path)
    (visual,) = imported.robot.link("arm").content.visual
    np.testing.assert_allclose(np.ptp(visual.triangles.vertices, axis=0), 0.1)
    np.testing.assert_allclose(visual.triangles.vertices.min(axis=0), [0, 0, 1])
    assert not imported.notes
    assert not pl.load_urdf(path, meshes=False).link("arm").content.visual
    uneven = path.read_text().replace("0.001 0.001 0.001", "0.001 0.002 0.001")
    path.write_text(uneven)
    assert "different scales" in pl.io.read_urdf(path).notes[0]


def test_a_soft_rod_on_a_urdf_robot_in_a_model_file(tmp_path):
    pytest.importorskip("ruamel.yaml")
    write(tmp_path, link("base") + link("arm") + joint("revolute", "base", "arm", LIMIT))
    text = """
name: hybrid
gravity: [0, 0, -1.62]
include: {file: robot.urdf}
materials:
  silicone: {young: 1e6, poisson: 0.5, density: 1000, viscosity: 1e4}
links:
  finger:
    type: rod
    parent: arm
    offset: [0, 0, 0.2]
    length: 0.2
    section: {type: Circle, radius: 0.01}
    material: silicone
    strains: {bending: 2}
actuators:
  elbow: {type: motor, link: arm, control: position, kp: 50, kd: 1}
simulation: {duration: 0.1, start: {arm: 0.1}, u: {elbow: 0.2}}
"""
    path = tmp_path / "hybrid.yaml"
    path.write_text(text)
    model = pl.load_model(path)
    assert (model.robot.name, model.robot.gravity[2]) == ("hybrid", -1.62)
    assert [entry.name for entry in model.robot.links] == ["base", "arm", "finger"]
    assert model.simulate().success
    again = pl.parse_model(pl.io.dump_model(model))  # everything is in the one file then
    assert again.compile().dof_names == model.compile().dof_names
    assert again.robot.stops == model.robot.stops
    path.write_text(text.replace("robot.urdf", "robbot.urdf"))
    with pytest.raises(pl.ModelFileError, match=r"include\.file: there is no URDF file"):
        pl.load_model(path)
