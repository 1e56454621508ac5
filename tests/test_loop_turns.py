"""Loop joints turned far: they close at the joint and nowhere else, along what is left of the rotation, over many turns."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant as pl
from gradient_checks import difference, errors
from load_robots import branched, check_tangents, state
from pliant.system.forces import closure, drift
from robots import SILICONE, random_inertia, random_pose

JOINTS = {
    "fixed": pl.Fixed(),
    "revolute": pl.Revolute("z"),
    "prismatic": pl.Prismatic("x"),
    "helical": pl.Helical("z", pitch=0.2),
    "universal": pl.Universal("x", "y"),
    "cylindrical": pl.Cylindrical("z"),
    "planar": pl.Planar("z"),
    "spherical": pl.Spherical(),
    "slot": pl.Slot("x"),
    "rows xyz": pl.Rows("xyz", "xyz"),
    "rows xy": pl.Rows("xyz", "xy"),
    "rows z": pl.Rows("xyz", "z"),
}
# about which axes the joint lets half a turn happen; a screw moves on by half its pitch
HALF_TURNS = {
    "revolute": "z", "helical": "z", "universal": "xyz", "cylindrical": "z", "planar": "z", "spherical": "xyz", "slot": "xyz",
    "rows xy": "z", "rows z": "xy",
}  # fmt: skip


def held(joint: pl.Joint, **options: object) -> pl.System:
    """A free body on a loop joint to the world."""
    robot = pl.Robot("held", gravity=(0, 0, 0))
    body = robot.add_body("body", joint=pl.Free(), shape=pl.Box(0.1, 0.2, 0.3), mass=1.0, **options)
    robot.add_loop("loop", "world", body, joint=joint)
    return robot.compile()


def turned(vector: object, position: object = (0, 0, 0)) -> np.ndarray:
    """Coordinates of a free joint after a rotation vector."""
    x, y, z, w = Rotation.from_rotvec(vector).as_quat()
    return np.array([w, x, y, z, *position])


def left(system: pl.System, q: np.ndarray, a: str = "world", b: str = "body") -> np.ndarray:
    """Rotation vector from one frame to another."""
    A, B = (system.pose(frame, q)[:3, :3] for frame in (a, b))
    return Rotation.from_matrix(A.T @ B).as_rotvec()


def test_rows_against_the_complex_step():
    """Values, wrenches, their derivatives and jets of every row of every joint, from none to beyond half a turn (`loop_rows`)."""
    tests = Path(__file__).parent
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(pl.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", str(tests / "loop_rows.py")],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", JOINTS)
def test_half_a_turn_is_closed_only_where_the_joint_turns(kind):
    system = held(JOINTS[kind])
    assert np.abs(system.closure(system.neutral())[0]).max() < 1e-15
    for axis, unit in zip("xyz", np.eye(3)):
        free = axis in HALF_TURNS.get(kind, "")
        position = 0.1 * unit if kind == "helical" and free else np.zeros(3)
        values = system.closure(turned(np.pi * unit, position))[0]
        if free:
            assert np.abs(values).max() < 1e-14, (axis, values)
        else:
            assert np.linalg.norm(values) == pytest.approx(np.pi, abs=2e-10), (axis, values)


def test_values_are_what_is_left_of_the_rotation():
    """The rotation vector, the swing of an axis, the way to the nearest groove: linear along the way back."""
    rng = np.random.default_rng(0)
    weld, hinge, screw = held(pl.Fixed()), held(pl.Revolute("z")), held(pl.Helical("z", 0.2))
    for angle in (1e-9, 1e-4, 1.0, 3.1, np.pi - 1e-9):
        axis = rng.normal(size=3)
        vector = angle * axis / np.linalg.norm(axis)
        q = turned(vector)
        for s in (1.0, 0.5, 1e-3):
            values = dict(zip(weld.loop_rows, weld.closure(turned(s * vector))[0]))
            np.testing.assert_allclose(
                [values[f"loop: rotation {x}"] for x in "xyz"], -s * vector, rtol=1e-12, atol=1e-15
            )
        up = Rotation.from_rotvec(vector).as_matrix()[:, 2]
        tilt = hinge.closure(q)[0][-2:]
        assert np.linalg.norm(tilt) == pytest.approx(
            np.arctan2(np.hypot(*up[:2]), up[2]), rel=1e-7 if angle < 1e-3 else 1e-12
        )
    for turns in (0.3, -4.2, 17.0):
        q = turned((0, 0, 2 * np.pi * turns), (0, 0, 0.2 * turns + 0.03))
        assert screw.closure(q)[0][screw.loop_rows.index("loop: lead")] == pytest.approx(0.03, abs=1e-13)


FAR = (0.0, 1e-9, 1e-4, 1.0, 3.1, np.pi - 1e-9, np.pi + 1e-9)


@pytest.mark.parametrize("kind", ["fixed", "revolute", "helical", "planar", "rows z"])
def test_derivatives_wherever_the_joint_is(kind):
    """Forces and their tangents by the complex step, rates by derivatives, drift by those of the row: a robot with branches, rods and a ball joint, in motion."""
    for k, angle in enumerate(FAR):
        robot = branched(1, base="free" if k % 2 else "revolute")
        inside = robot.add_frame("inside", robot.link("arm").at(0.77))
        plain = robot.compile()
        q, v, a = state(plain, k)
        rng = np.random.default_rng(k)
        axis = rng.normal(size=3)
        A, B = plain.pose("tool", q)[:3, :3], plain.pose("inside", q)[:3, :3]
        wanted = B.T @ A @ Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
        place = pl.Pose(rotation=wanted, translation=rng.normal(size=3) * 0.1)
        robot.add_loop("loop", "tool", inside.at(place), joint=JOINTS[kind])
        system = robot.compile()
        e, G, rates = closure(system, q, v)
        size = np.abs(G).max()
        np.testing.assert_allclose(rates[:, 0], G @ v, atol=1e-13 * size)
        forces = rng.normal(size=len(e))
        check_tangents(system, q, v, a, np.zeros(0), multipliers=forces)
        # the drift by v is G by q, and twice the Coriolis term along v
        moved = drift(system, q, v, a, (0.0, 1.0), (0.0, 0.0))
        np.testing.assert_allclose(moved @ v, 2 * rates[:, 1], atol=1e-12 * max(1.0, np.abs(moved).max()))
        np.testing.assert_allclose(drift(system, q, v, a, (1.0, 0.0), (0.0, 1.0)) - drift(system, q, v, a, (1.0, 0.0), (0.0, 0.0)), G, atol=1e-12 * max(1.0, np.abs(moved).max()))  # fmt: skip


# ---------------------------------------------------------------- closing from afar

AXES = [(1, 0, 0), (1, 2, 3), (0, -1, 0.2)]


@pytest.mark.parametrize("angle", [0.5, 1.6, 2.0, 2.8, 3.1])
def test_a_welded_body_closes_towards_its_weld(angle):
    system = held(pl.Fixed())
    for axis in AXES:
        n = np.array(axis) / np.linalg.norm(axis)
        q = turned(angle * n, (0.1, 0.2, 0.3))
        rest = pl.solve_statics(system, start=q)
        assert rest.success, rest.message
        assert np.linalg.norm(left(system, rest.q)) < 1e-9
        for method in ("auto", "generalized-alpha", "radau"):
            run = pl.simulate(system, 0.01, start=q, method=method)
            assert max(np.linalg.norm(left(system, row)) for row in run.q) < 1e-9
            assert "The start leaves loops open" in run.warnings[0]
        try:
            start = pl.rollout(system, np.zeros((2, 0)), start=q, step=0.01).q[0]
        except pl.RolloutError as error:
            assert "mount the robot with solve_statics" in str(error)  # noqa: PT017 (either is right)
        else:
            assert np.linalg.norm(left(system, start)) < 1e-9


@pytest.mark.parametrize("angle", [0.5, 1.6, 2.8])
def test_a_hinge_closes_without_turning(angle):
    """The axis swings back; the turning about it stays as it was."""
    system = held(pl.Revolute("z"))
    swing, twist = Rotation.from_rotvec(angle * np.array([0.6, 0.8, 0.0])), Rotation.from_rotvec([0, 0, 0.7])
    run = pl.simulate(system, 0.01, start=turned((swing * twist).as_rotvec()), method="generalized-alpha")
    np.testing.assert_allclose(left(system, run.q[0]), [0, 0, 0.7], atol=1e-9)


def arch(angle: float) -> pl.System:
    """Two rods on the ground, joined head to head, whose heads are turned by an angle against each other at first."""
    robot = pl.Robot("arch", gravity=(0, 0, 0))
    material = pl.Material(young=1e6, poisson=0.4, density=1000.0, viscosity=1e3)
    options = {"length": 0.5, "section": pl.Circle(0.01), "material": material, "strains": pl.Strains.kirchhoff(3)}
    lean = pl.rotate("y", -angle / 2)
    one = robot.add_rod("one", offset=lean, **options)
    two = robot.add_rod("two", offset=pl.translate(0.6, 0, 0) @ pl.rotate("z", np.pi) @ lean, **options)
    robot.add_loop("heads", one.tip, two.at(1.0, pl.rotate("z", np.pi)), joint=pl.Fixed())
    return robot.compile()


@pytest.mark.parametrize("degrees", [69, 111, 146, 179, 180])
def test_an_arch_is_joined_head_to_head(degrees):
    system = arch(np.radians(degrees))
    loop = system.robot.loops["heads"]
    assert np.linalg.norm(left(system, system.neutral(), loop.a, loop.b)) == pytest.approx(np.radians(degrees))
    rest = pl.solve_statics(system)
    assert rest.success, rest.message
    assert rest.stable
    assert np.linalg.norm(left(system, rest.q, loop.a, loop.b)) < 1e-9
    x, y, z = system.pose("one.tip", rest.q)[:3, 3]
    np.testing.assert_allclose([x, y], [0.3, 0.0], atol=1e-8)
    assert 0.3 < z < 0.4  # not through the ground, nor coiled up
    told = "closed by turning about (0, -1, 0) of its first frame, not the other way" in rest.message
    assert told == (degrees == 180)


def test_what_was_chosen_midway_is_said():
    """A reversed hinge, a nut between two grooves, a crank that is told to be half a turn away: in statics and motion."""
    cases = [
        (pl.Revolute("z"), turned((np.pi, 0, 0)), "was open by half a turn"),
        (pl.Helical("z", 0.2), turned((0, 0, 0), (0, 0, 0.1)), "started midway between two grooves"),
        (pl.Fixed(), turned(np.pi * np.array([0.6, 0, 0.8])), "was open by half a turn"),
        (pl.Distance(0.3), turned((0, 0, 0)), "started at one place"),
    ]
    for joint, q, text in cases:
        system = held(joint)
        rest = pl.solve_statics(system, start=q, stable=False)
        assert rest.success, rest.message
        assert text in rest.message
        assert np.abs(system.closure(rest.q)[0]).max() < 1e-12
        run = pl.simulate(system, 0.001, start=q, method="generalized-alpha")
        assert any(text in line for line in run.warnings)
        near = system.integrate(q, 1e-3 * np.array([0.3, 0.2, -0.1, 0.2, 0.1, -0.3]))
        assert text not in pl.solve_statics(system, start=near, stable=False).message


AXIS = {
    "revolute": (0, 0, 1),
    "helical": (0, 0, 1),
    "cylindrical": (0, 0, 1),
    "planar": (0, 0, 1),
    "rows xy": (0, 0, 1),
}


@pytest.mark.parametrize("kind", [kind for kind in JOINTS if kind != "slot"])
def test_random_robots_are_mounted_from_afar(kind):
    """Soft arms with offsets and a ball joint whose loop is open by up to half a turn about any axis, in statics and in motion."""
    for angle in (1.5, 2.9, np.pi):
        rng = np.random.default_rng([list(JOINTS).index(kind), int(10 * angle)])
        robot = pl.Robot("random", gravity=rng.normal(size=3) * 3)
        options = {"section": pl.Circle(0.015), "material": SILICONE, "points": 4}
        one = robot.add_rod("one", offset=random_pose(rng, 0.2), length=0.4, strains=pl.Strains.kirchhoff(2), **options)
        ball = pl.Spherical(stiffness=0.3, damping=0.02)
        hub = robot.add_body(
            "hub", parent=one.tip, joint=ball, offset=random_pose(rng, 0.05), inertia=random_inertia(rng)
        )
        hinge = pl.Revolute(rng.normal(size=3), stiffness=0.5)
        two = robot.add_rod(
            "two", offset=random_pose(rng, 0.2), joint=hinge, length=0.35, strains=pl.Strains.reissner(1), **options
        )
        first = robot.add_frame("first", hub, offset=random_pose(rng, 0.05))
        plain = robot.compile()
        A, B = (plain.pose(name, plain.neutral())[:3, :3] for name in ("first", "two.tip"))
        axis = rng.normal(size=3)
        wanted = B.T @ A @ Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
        second = robot.add_frame("second", two.at(1.0, pl.Pose(rotation=wanted, translation=rng.normal(size=3) * 0.03)))
        robot.add_loop("loop", first, second, joint=JOINTS[kind])
        system = robot.compile()
        rest = pl.solve_statics(system)
        assert rest.success, rest.message
        motion = pl.simulate(system, 0.02)
        assert motion.success, motion.message
        for q in (rest.q, *motion.q):
            assert np.abs(system.closure(q)[0]).max() < 1e-9
            R = Rotation.from_rotvec(left(system, q, "first", "second"))
            if kind in ("fixed", "prismatic", "rows xyz"):
                assert R.magnitude() < 1e-8
            if kind in AXIS:
                np.testing.assert_allclose(R.apply(AXIS[kind]), AXIS[kind], atol=1e-8)


def test_a_prescribed_joint_turns_the_loop_as_far_as_it_is_told():
    """A rod whose tip is welded into a clamp that is turned by more than half a turn, and by two turns, at once; and a crank that cannot get there."""
    robot = pl.Robot("clamped", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod",
        length=1.0,
        section=pl.Circle(0.02),
        material=SILICONE,
        strains=pl.Strains(torsion=1, bending=2, stretch=1),
    )
    slide = robot.add_body("slide", offset=(1, 0, 0), joint=pl.Prismatic("x"))
    clamp = robot.add_body("clamp", parent=slide, joint=pl.Revolute("x"))
    robot.add_motion("twist", clamp)
    robot.add_loop("grip", clamp, rod.tip)
    system = robot.compile()
    for angle in (0.9, 3.0, 3.5, -4.7, 4 * np.pi + 0.1):
        rest = pl.solve_statics(system, motion={"twist": angle}, stable=False)
        assert rest.success, rest.message
        assert rest.strain("rod")[:, 0].mean() == pytest.approx(angle, rel=1e-6)
    robot = pl.Robot("crank", gravity=(0, 0, 0))
    crank = robot.add_body("crank", joint=pl.Revolute("z"), shape=pl.Box(0.3, 0.01, 0.01), mass=0.1)
    slider = robot.add_body("slider", offset=(0.5, 0, 0), joint=pl.Prismatic("x", stiffness=1.0), mass=0.1)
    robot.add_motion("turn", crank)
    robot.add_loop("strut", crank.at((0.3, 0, 0)), slider, joint=pl.Distance(0.25))
    system = robot.compile()
    rest = pl.solve_statics(system, motion={"turn": 3.0})
    assert rest.success, rest.message
    assert "could not be followed over 3 rad; loops were closed at its end" in rest.message
    assert "followed" not in pl.solve_statics(system, motion={"turn": 0.7}).message


# ---------------------------------------------------------------- many turns


def nut(where: str, pitch: float, *, motion: bool = False, free: bool = False) -> pl.System:
    """A screw with a spring, a damper and a stop in the tree; or the same as a loop on what else moves."""
    robot = pl.Robot("nut", gravity=(0, 0, -1.0))
    joint = pl.Helical("z", pitch, stiffness=0.02, damping=0.003, rest=2.0)
    inside = joint if where == "tree" else pl.Free() if free else pl.Cylindrical("z")
    body = robot.add_body("nut", joint=inside, shape=pl.Cylinder(0.1, 0.05), mass=1.0, inertia=(0.02, 0.02, 0.03))
    if where == "loop":
        robot.add_loop("screw", "world", body, joint=joint)
    target = body if where == "tree" else "screw"
    robot.add_stop("end", target, upper=20.0, stiffness=5.0)
    if motion:
        robot.add_motion("turn", target)
    return robot.compile()


@pytest.mark.parametrize("free", [False, True], ids=["cylindrical", "free"])
@pytest.mark.parametrize("rate", [30.0, -30.0])
def test_a_screw_in_a_loop_is_the_screw_of_the_tree(rate, free):
    """Five turns both ways: its spring, damper and stop count them all."""
    tree, loop = nut("tree", 0.03), nut("loop", 0.03, free=free)
    output = np.linspace(0, 1.5, 31)
    options = {"output": output, "rtol": 1e-8, "atol": 1e-9, "method": "esdirk3"}
    lead = 0.03 / (2 * np.pi)
    one = pl.simulate(tree, 1.5, velocity=[rate], **options)
    velocity = [0, 0, rate, 0, 0, lead * rate] if free else [rate, lead * rate]
    two = pl.simulate(loop, 1.5, velocity=velocity, **options)
    assert one.success, one.message
    assert two.success, two.message
    assert np.abs(one.q).max() > 4 * np.pi
    np.testing.assert_allclose(two.poses("nut")[:, 2, 3], lead * one.q[:, 0], atol=2e-6)
    if not free:
        np.testing.assert_allclose(two.q[:, 0], one.q[:, 0], atol=3e-4)
    assert max(np.abs(loop.closure(q)[0]).max() for q in two.q) < 1e-9


@pytest.mark.parametrize("method", ["auto", "generalized-alpha", "radau"])
def test_a_screw_turns_as_told_over_many_turns(method):
    """Five turns up, ten turns down: the torque is that of the tree joint which does the same."""
    told = pl.Motion(
        lambda t: 10 * np.pi * np.sin(3 * t),
        lambda t: 30 * np.pi * np.cos(3 * t),
        lambda t: -90 * np.pi * np.sin(3 * t),
    )
    options = {"output": np.linspace(0, 2.0, 41), "rtol": 1e-7} if method == "radau" else {"step": 0.005}
    options |= {"motion": {"turn": told}, "method": method}
    tree, loop = nut("tree", 0.03, motion=True), nut("loop", 0.03, motion=True)
    one = pl.simulate(tree, 2.0, **options)
    two = pl.simulate(loop, 2.0, velocity=[30 * np.pi, 0.9 / 2], **options)
    assert two.success, two.message
    np.testing.assert_allclose(two.q[:, 0], one.q[:, 0], atol=1e-5)
    np.testing.assert_allclose(two.q[:, 1], 0.03 / (2 * np.pi) * one.q[:, 0], atol=1e-7)
    torques = [run.prescribed_forces()["turn"].ravel() for run in (one, two)]
    if method != "radau":  # outputs between steps interpolate forces
        np.testing.assert_allclose(*torques, rtol=0, atol=(2e-2 if method == "generalized-alpha" else 1e-4) * np.abs(torques[0]).max())  # fmt: skip


def test_a_screw_is_told_which_turn():
    """Statics: five turns of a screw are five pitches, both ways."""
    system = nut("loop", 0.03, motion=True)
    for turns in (5.0, -5.0, 0.25):
        rest = pl.solve_statics(system, motion={"turn": 2 * np.pi * turns}, stable=False)
        assert rest.success, rest.message
        np.testing.assert_allclose(rest.q, [2 * np.pi * turns, 0.03 * turns], atol=1e-9)


def test_a_hinge_told_step_by_step_starts_in_the_turn_it_is_told():
    """A stepper at 3.5 rad, which the loop sees as 3.5 − 2π, is told 3.6 rad: a tenth, not a whole turn."""
    robot = pl.Robot("crank", gravity=(0, 0, 0))
    bar = robot.add_body("bar", joint=pl.Planar("z"), shape=pl.Box(0.2, 0.02, 0.02), mass=1.0)
    robot.add_loop("pin", "world", bar, joint=pl.Revolute("z"))
    robot.add_motion("turn", "pin")
    system = robot.compile()
    sim = pl.Stepper(system, np.array([0.0, 0.0, 3.5]), step=0.1)
    sim.step()
    for k in range(1, 40):
        sim.step(motion={"turn": 3.5 + 0.1 * k})
        assert sim.q[2] == pytest.approx(3.5 + 0.1 * k, abs=1e-9)
        assert abs(sim.v[2]) < 2.0


# ---------------------------------------------------------------- gradients


def bridge(turn: float = 0.0) -> pl.System:
    """A rod with a ball joint and a motor whose tip is welded to another rod's, turned by an angle at first."""
    rng = np.random.default_rng(4)
    robot = pl.Robot("bridge", gravity=(0.3, 0.2, -3.0))
    options = {"section": pl.Circle(0.02), "material": SILICONE, "strains": pl.Strains.reissner(1), "points": 4}
    one = robot.add_rod("one", length=0.4, **options)
    ball = pl.Spherical(stiffness=0.2, damping=0.02)
    hub = robot.add_body("hub", offset=(0.4, 0.1, 0.0), joint=ball, inertia=random_inertia(rng))
    two = robot.add_rod("two", parent=hub, offset=random_pose(rng, 0.05), length=0.3, **options)
    tip = pl.translate(0.01, 0.02, -0.03) @ pl.rotate((1, 2, 0.5), turn)
    robot.add_loop("weld", one.at(0.9, pl.translate(0.02, 0.01, 0.03)), two.at(1.0, tip), joint=pl.Fixed())
    robot.add_wrench("push", hub, force=(0, 0, 1))
    return robot.compile()


def test_gradients_of_rollouts_from_an_open_loop():
    """The start is projected: by the start, the velocity, parameters and the place of the loop's frames."""
    system = bridge(0.6)
    rest = pl.solve_statics(system)
    assert rest.success, rest.message
    rng = np.random.default_rng(0)
    start = system.integrate(rest.q, 0.02 * system.internal.scale * rng.normal(size=system.nv))
    assert np.abs(system.closure(start)[0]).max() > 1e-3
    names = [f"weld.{frame}.offset.{x}" for frame in "ab" for x in "xyz"]
    assert set(names) <= set(system.parameters)
    found = errors(
        system, np.linspace(0.2, 1.0, 6)[:, None] * np.ones((6, system.nu)), pl.Reach("hub", (0.3, 0.1, 0.1)) + pl.Still(at="all"),
        start=start, velocity=rng.normal(size=system.nv) * 0.1, parameters=(*names, "weld.a.X", "one.length", "two.young"), step=0.01,
        steps={"start": 1e-4},
    )  # fmt: skip
    assert max(found.values()) < 1e-7, found


@pytest.mark.parametrize("turn", [0.6, 2.4])
def test_gradients_of_equilibria_that_were_mounted_from_afar(turn):
    system = bridge(turn)
    rest = pl.solve_statics(system)
    assert rest.success, rest.message
    cost = pl.Reach("hub", (0.3, 0.1, 0.1))
    names = ("one.length", "two.young", "weld.a.offset.x", "weld.b.offset.y", "weld.a.X")
    found = pl.static_gradient(system, rest, cost)
    for name in names:
        x = system.parameters[name]
        size = abs(x) if x else 0.1

        def at(s: float, name: str = name, x: float = x, size: float = size) -> float:
            other = system.with_parameters({name: x + s * size})
            moved = pl.solve_statics(other, start=rest.q, tolerance=1e-13)
            return float(np.sum((other.pose("hub", moved.q)[:3, 3] - [0.3, 0.1, 0.1]) ** 2))

        assert found[name] * size == pytest.approx(difference(at, 1e-3), rel=1e-5, abs=1e-9), name
