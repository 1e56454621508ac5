"""Import of MJCF, against MuJoCo where it is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.io import read_mjcf

ARM = """
<mujoco model="arm">
  <compiler angle="degree" eulerseq="zyx"/>
  <option gravity="0.3 -0.2 -9.81"/>
  <default>
    <joint damping="0.1"/>
    <geom density="800"/>
    <default class="finger">
      <joint type="slide" axis="0 1 0" range="0 0.04"/>
      <geom type="box" size="0.01 0.02 0.03" rgba="0.8 0.2 0.2 1"/>
    </default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 0.1"/>
    <body name="base" pos="0 0 0.2" euler="30 0 10">
      <joint name="turn" axis="0 0 1" pos="0.05 0 0" range="-90 120"/>
      <geom type="cylinder" size="0.06 0.1" pos="0 0 0.1"/>
      <geom type="sphere" size="0.05" mass="0.7" pos="0 0 0.2"/>
      <body name="upper" pos="0 0 0.2" quat="0.8 0 0.6 0">
        <joint name="a" axis="1 0 0"/>
        <joint name="b" axis="0 1 0" pos="0 0 0.02" stiffness="3" springref="20" frictionloss="0.2"/>
        <geom type="capsule" fromto="0 0 0 0.3 0.1 0" size="0.03"/>
        <geom type="ellipsoid" size="0.04 0.05 0.06" pos="0.3 0.1 0" axisangle="1 1 0 40"/>
        <frame pos="0.3 0.1 0" xyaxes="0 1 0 -1 0 0">
          <body name="hand" childclass="finger">
            <inertial pos="0.01 0 0.02" quat="0.9 0.1 0.2 0.3" mass="0.4" diaginertia="0.002 0.003 0.004"/>
            <joint name="wrist" type="ball"/>
            <geom type="box" size="0.03 0.02 0.04" mass="0"/>
            <site name="grip" pos="0 0 0.1"/>
            <body name="left" pos="0 0.03 0.05"><joint name="jl"/><geom/></body>
            <body name="right" pos="0 -0.03 0.05"><joint name="jr" axis="0 -1 0"/><geom/></body>
          </body>
        </frame>
      </body>
    </body>
    <body name="ball" pos="1 0 0.5"><freejoint name="fly"/><geom type="sphere" size="0.1" density="300"/></body>
  </worldbody>
  <equality><joint name="pair" joint1="jl" joint2="jr" polycoef="0 1 0 0 0"/></equality>
  <actuator>
    <motor name="push" joint="turn" gear="5" ctrlrange="-2 2"/>
    <position name="servo" joint="b" kp="20" kv="1"/>
    <general name="odd" joint="a"/>
  </actuator>
</mujoco>
"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("mjcf") / "arm.xml"
    path.write_text(ARM)
    return path


def test_the_tree(arm: Path) -> None:
    found = read_mjcf(arm)
    robot = found.robot
    assert [link.name for link in robot.links] == ["base", "upper_1", "upper", "hand", "left", "right", "ball"]
    kinds = [type(link.joint).__name__ for link in robot.links]
    assert kinds == ["Revolute", "Revolute", "Revolute", "Spherical", "Prismatic", "Prismatic", "Free"]
    np.testing.assert_array_equal(robot.gravity, [0.3, -0.2, -9.81])
    turn = robot.stops["turn_stop"]
    assert (turn.lower, turn.upper) == pytest.approx((-np.pi / 2, 2 * np.pi / 3))
    assert robot.stops["jl_stop"].upper == 0.04
    spring = robot.link("upper").joint
    assert (spring.stiffness, spring.damping, spring.rest[0]) == (3.0, 0.1, pytest.approx(np.deg2rad(20)))
    assert robot.bearings["b_friction"].coulomb == 0.2
    assert robot.motors["push"].limit == 10.0
    assert (robot.motors["servo"].control, robot.motors["servo"].kp, robot.motors["servo"].kd) == (
        "position",
        20.0,
        1.0,
    )
    assert list(robot.couplings) == ["pair"]
    assert "grip" in robot.frames
    assert robot.link("hand").content.visual[0].rgb == (204, 51, 51)
    assert any("'odd'" in note for note in found.notes)
    assert any("5 · ctrl" in note for note in found.notes)


def test_options(arm: Path) -> None:
    robot = pl.load_mjcf(arm, gravity=(0, 0, -1), limits=False, meshes=False)
    assert not robot.stops
    assert not any(link.content.visual for link in robot.links)
    assert robot.gravity[2] == -1.0


class Twins:
    """The same robot there and here. Velocities of ball and free joints are those of the body in both, MuJoCo's free joint has linear ones in world axes first."""

    def __init__(self, path: Path) -> None:
        self.mujoco = pytest.importorskip("mujoco")
        self.model = self.mujoco.MjModel.from_xml_path(str(path))
        self.data = self.mujoco.MjData(self.model)
        self.found = read_mjcf(path)
        self.system = self.found.robot.compile()

    def pair(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates and velocities here, and the matrix from velocities here to those there."""
        system = self.system
        rng = np.random.default_rng(seed)
        q, v = system.random(rng, scale=0.5), rng.normal(size=system.nv)
        there = np.zeros((self.model.nv, system.nv))
        qpos = np.zeros(self.model.nq)
        for name, own in self.found.joints.items():
            joint = self.model.joint(name)
            at, to = int(joint.qposadr[0]), int(joint.dofadr[0])
            here, dof = system.q_slice(own.link).start, system.v_slice(own.link).start
            if own.kind in ("hinge", "slide"):
                qpos[at], there[to, dof] = q[here], 1.0
            elif own.kind == "ball":
                qpos[at : at + 4] = q[here : here + 4]
                there[to : to + 3, dof : dof + 3] = np.eye(3)
            else:
                g = system.pose(own.link, q)
                qpos[at : at + 3], qpos[at + 3 : at + 7] = g[:3, 3], pl.Pose(g[:3, 3], g[:3, :3]).quaternion
                there[to : to + 3, dof + 3 : dof + 6], there[to + 3 : to + 6, dof : dof + 3] = g[:3, :3], np.eye(3)
        self.data.qpos[:], self.data.qvel[:] = qpos, there @ v
        self.mujoco.mj_forward(self.model, self.data)
        return q, v, there


def test_dynamics_are_those_of_mujoco(arm: Path) -> None:
    twins = Twins(arm)
    system = twins.system
    assert system.nv == twins.model.nv
    for seed in range(4):
        q, _v, there = twins.pair(seed)
        M = np.zeros((system.nv, system.nv))
        for row, unit in zip(M, np.eye(system.nv)):
            twins.mujoco.mj_mulM(twins.model, twins.data, row, unit)
        mine = system.mass_matrix(q)
        np.testing.assert_allclose(mine, there.T @ M @ there, atol=1e-10 * np.abs(mine).max())
        twins.data.qvel[:] = 0
        twins.mujoco.mj_forward(twins.model, twins.data)
        hold = system.gravity_forces(q)
        np.testing.assert_allclose(hold, there.T @ twins.data.qfrc_bias, atol=1e-10 * np.abs(hold).max())
        for name in ("base", "upper", "hand", "left", "ball"):
            place = twins.data.body(name)
            np.testing.assert_allclose(system.pose(name, q)[:3, 3], place.xpos, atol=1e-12)
            np.testing.assert_allclose(system.pose(name, q)[:3, :3].ravel(), place.xmat, atol=1e-12)
        np.testing.assert_allclose(system.pose("grip", q)[:3, 3], twins.data.site("grip").xpos, atol=1e-12)


def test_bias_of_a_motion_is_that_of_mujoco(arm: Path) -> None:
    """Of the arm alone: rates of free joints are measured in other axes."""
    twins = Twins(arm)
    q, v, there = twins.pair(7)
    own = slice(0, twins.system.v_slice("ball").start)
    bias = twins.system.bias_forces(q, v)
    np.testing.assert_allclose(bias[own], (there.T @ twins.data.qfrc_bias)[own], atol=1e-10 * np.abs(bias).max())


def test_loops_are_closed_as_the_file_has_them(tmp_path: Path) -> None:
    text = """<mujoco><compiler angle="radian"/><worldbody>
      <body name="one" pos="0 0 1"><joint name="j1" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size="0.02"/>
        <body name="two" pos="1 0 0"><joint name="j2" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -1" size="0.02"/></body>
      </body></worldbody>
      <equality><connect name="foot" body1="two" anchor="0 0 -1"/></equality></mujoco>"""
    path = tmp_path / "loop.xml"
    path.write_text(text)
    system = pl.load_mjcf(path).compile()
    assert np.abs(system.closure(system.neutral())[0]).max() < 1e-14
    np.testing.assert_allclose(
        system.pose(system.robot.loops["foot"].b, system.neutral())[:3, 3], [1, 0, 0], atol=1e-14
    )
    assert pl.simulate(system, 0.1).success


TOLD = '<inertial mass="2.5" pos="0.1 0 0" diaginertia="0.1 0.2 0.25"/>'
BOX = '<geom type="box" size="0.1 0.2 0.3" mass="3" pos="0 0.1 0"/>'
INERTIAS = {
    "true, without geoms": ('inertiafromgeom="true"', TOLD),
    "true, with geoms": ('inertiafromgeom="true"', TOLD + BOX),
    "true, geoms without mass": ('inertiafromgeom="true"', TOLD + '<geom size="0.1" mass="0"/><geom size="0.1" density="0"/>'),
    "true, geoms of other groups": ('inertiafromgeom="true" inertiagrouprange="1 2"', TOLD + BOX),
    "some groups": ('inertiagrouprange="1 2"', BOX + '<geom group="1" size="0.1"/>'),
    "auto": ("", TOLD + BOX),
    "false": ('inertiafromgeom="false"', TOLD + BOX),
    "geoms in frames": ("", f'<frame pos="1 0 0" euler="10 20 30">{BOX}<frame pos="0 1 0"><geom size=".1"/></frame></frame>'),
    "full": ("", '<inertial mass="2" pos="0 0 1" fullinertia="1 1.2 1.3 .1 .2 .05"/>'),
}  # fmt: skip


@pytest.mark.parametrize("kind", INERTIAS)
def test_inertias_are_those_of_mujoco(kind: str, tmp_path: Path) -> None:
    """A body with an <inertial> and no geoms lost its mass where geoms are to count."""
    mujoco = pytest.importorskip("mujoco")
    compiler, inside = INERTIAS[kind]
    path = tmp_path / "one.xml"
    path.write_text(
        f'<mujoco><compiler {compiler}/><worldbody><body name="b"><freejoint/>{inside}</body></worldbody></mujoco>'
    )
    model = mujoco.MjModel.from_xml_path(str(path))
    axes = np.zeros(9)
    mujoco.mju_quat2Mat(axes, model.body_iquat[1])
    axes = axes.reshape(3, 3)
    found = pl.load_mjcf(path).link("b").content.inertia
    assert found.mass == pytest.approx(model.body_mass[1], rel=1e-12)
    np.testing.assert_allclose(found.com, model.body_ipos[1], atol=1e-12)
    np.testing.assert_allclose(found.inertia, axes @ np.diag(model.body_inertia[1]) @ axes.T, atol=1e-12)


def test_what_changes_forces_is_read_or_told(tmp_path: Path) -> None:
    path = tmp_path / "one.xml"
    inside = '<joint name="j" springdamper="1 1"/><geom size="1"/>'
    path.write_text(
        '<mujoco><option density="1000" wind="1 0 0"><flag gravity="disable"/></option><worldbody>'
        f'<body name="b" gravcomp="1">{inside}</body></worldbody></mujoco>'
    )
    read = pl.io.read_mjcf(path)
    assert not np.any(read.robot.gravity)
    for words in ("density", "wind", "gravcomp", "springdamper"):
        assert any(words in note for note in read.notes), words


def test_ranges_without_end(tmp_path: Path) -> None:
    path = tmp_path / "one.xml"
    path.write_text(
        '<mujoco><compiler angle="radian"/><worldbody><body name="b"><joint name="j" range="-inf 1"/><geom size="1"/></body></worldbody>'
        '<actuator><motor name="m" joint="j" ctrlrange="-inf inf"/></actuator></mujoco>'
    )
    robot = pl.load_mjcf(path)
    assert (robot.stops["j_stop"].lower, robot.stops["j_stop"].upper, robot.motors["m"].limit) == (-np.inf, 1.0, np.inf)
    for text in ("nan", "1e300"):
        path.write_text(
            f"<mujoco><worldbody><body><joint damping='{text}'/><geom size='1'/></body></worldbody></mujoco>"
        )
        with pytest.raises(pl.ModelFileError, match="finite numbers of at most"):
            pl.load_mjcf(path)


@pytest.mark.parametrize("depth", [490, 501, 100_000])
@pytest.mark.parametrize("tag", ["body", "frame", "default", "nonsense"])
def test_deep_nesting(depth: int, tag: str, tmp_path: Path) -> None:
    """As deep as MuJoCo reads; deeper was a RecursionError, through include, too."""
    path = tmp_path / "deep.xml"
    inside = {"body": '<joint/><geom size="0.1"/>'}.get(tag, "")
    end = "" if tag == "body" else '<body><geom size="0.1"/></body>'
    nested = f"<{tag}>{inside}" * depth + f"</{tag}>" * depth
    path.write_text(
        f"<mujoco>{nested if tag == 'default' else ''}<worldbody>{'' if tag == 'default' else nested}{end}</worldbody></mujoco>"
    )
    (tmp_path / "model.yaml").write_text("links: {}\ninclude: {file: deep.xml}\n")
    if depth == 490:
        assert len(pl.load_mjcf(path).links) == (depth if tag == "body" else 1)
        return
    for load in (lambda: pl.load_mjcf(path), lambda: pl.load_model(tmp_path / "model.yaml")):
        with pytest.raises(pl.ModelFileError, match="nested deeper than 500 levels"):
            load()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<mujoco><compiler settotalmass='3'/></mujoco>", "settotalmass is not read"),
        (
            "<mujoco><worldbody><body><geom size='1' shellinertia='true'/></body></worldbody></mujoco>",
            "shellinertia is not read",
        ),
        ("<mujoco><worldbody><body quat='0 0 0 0'><geom size='1'/></body></worldbody></mujoco>", "has no direction"),
        ("<mujoco><worldbody><body><inertial pos='0 0 0'/></body></worldbody></mujoco>", "'mass' is missing"),
        ("<mujoco><worldbody><body><geom type='mesh'/></body></worldbody></mujoco>", "'mesh' is missing"),
        ("<mujoco><worldbody><body><frame><joint/></frame></body></worldbody></mujoco>", "a joint in a <frame>"),
        (
            "<mujoco><worldbody><body name='a'/></worldbody><equality><weld body1='b'/></equality></mujoco>",
            "there is no body 'b'",
        ),
        (
            "<mujoco><worldbody><body name='a'/></worldbody><equality><joint joint1='b'/></equality></mujoco>",
            "there is no joint 'b'",
        ),
        ("<mujoco><worldbody><x:body name='a'/></worldbody></mujoco>", "unbound prefix"),
        ("<?xml version='1.0' encoding='utf-7'?><mujoco/>", "not XML that can be read"),
        ("<mujoco>" + "<a/>" * 20_001 + "</mujoco>", "more than 20000 elements"),
        ("<robot/>", "its root is <robot>, but <mujoco> is needed"),
        ("<mujoco><worldbody>", "not complete XML"),
        ("<!DOCTYPE a><mujoco/>", "no document type"),
        ("<mujoco><worldbody/></mujoco>", "no bodies"),
        ("<mujoco><include file='a.xml'/></mujoco>", "include"),
        ("<mujoco><worldbody><body><geom class='x' size='1'/></body></worldbody></mujoco>", "no default class 'x'"),
        ("<mujoco><worldbody><body><geom size='1 2 3 4'/></body></worldbody></mujoco>", "at most 3"),
        (
            "<mujoco><worldbody><body><geom size='a'/></body></worldbody></mujoco>",
            "'a' is not allowed: numbers are needed",
        ),
    ],
)
def test_what_is_wrong_is_told(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.xml"
    path.write_text(text)
    with pytest.raises(pl.ModelFileError, match=words):
        pl.load_mjcf(path)
