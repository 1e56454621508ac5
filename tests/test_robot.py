"""Building a robot: handles, parents, names, what is printed, what is frozen, and what is refused with which words."""

from itertools import pairwise

import numpy as np
import pytest

import pliant as pl
from robots import SILICONE

CIRCLE = pl.Circle(0.02)


def add_rod(robot: pl.Robot, name: str = "arm", **options) -> pl.Link:
    defaults = {"length": 0.5, "section": CIRCLE, "material": SILICONE, "strains": pl.Strains.kirchhoff(1)}
    return robot.add_rod(name, **{**defaults, **options})


def add_body(robot: pl.Robot, name: str = "hand", **options) -> pl.Link:
    return robot.add_body(name, **{"mass": 1.0, "inertia": (1.0, 1.0, 1.0), **options})


def example() -> pl.Robot:
    """A rod with a hand on a hinge, and a marked place: nq = nv = 7."""
    robot = pl.Robot("example")
    arm = add_rod(robot)
    add_body(robot, parent=arm, joint=pl.Revolute("z"))
    robot.add_frame("middle", arm.at(0.3))
    return robot


# ---------------------------------------------------------------- building


def test_handles():
    robot = pl.Robot("r")
    arm = add_rod(robot, length=0.4)
    hand = add_body(robot, parent=arm, joint=pl.Spherical())
    assert (arm.name, arm.is_rod, arm.nq, arm.nv) == ("arm", True, 6, 6)
    assert (hand.name, hand.is_rod, hand.nq, hand.nv) == ("hand", False, 4, 3)
    assert arm.tip == arm.at(1.0) == arm.frame == pl.Frame("arm", 1.0)
    assert arm.base == arm.at(0) == pl.Frame("arm", 0.0)
    assert arm.at(0.25, offset=(0, 0, 1)).offset == pl.translate(0, 0, 1)
    assert hand.frame == pl.Frame("hand")
    assert hand.at((1, 0, 0)).at((0, 1, 0)).offset == pl.translate(1, 1, 0)
    assert robot.link("arm") is arm
    assert robot.links == [arm, hand]
    assert (robot.nq, robot.nv) == (10, 9)


def test_parents_by_link_frame_and_name_are_the_same():
    poses = []
    for parent in ("link", "frame", "name", "name.tip", "name@1", "named frame"):
        robot = pl.Robot("r")
        arm = add_rod(robot)
        robot.add_frame("end", arm.tip)
        place = {
            "link": arm,
            "frame": arm.tip,
            "name": "arm",
            "name.tip": "arm.tip",
            "name@1": "arm@1",
            "named frame": "end",
        }[parent]
        add_body(robot, parent=place, joint=pl.Revolute("y"), offset=(0.1, 0, 0))
        system = robot.compile()
        poses.append(system.pose("hand", np.linspace(1, 2, system.nq)))
    for pose in poses[1:]:
        np.testing.assert_array_equal(pose, poses[0])


def test_parent_inside_a_rod_at_its_base_and_with_an_offset():
    robot = pl.Robot("r")
    arm = add_rod(robot, offset=(0, 0, 1))
    add_body(robot, "a", parent=arm.at(0.3))
    add_body(robot, "b", parent="arm.base", joint=pl.Prismatic("y"))
    frame = robot.add_frame("eye", "a", offset=(0, 0.2, 0))
    add_body(robot, "c", parent=frame, offset=(0, 0, 0.1), joint=pl.Revolute("x"), offset_after=(0.5, 0, 0))
    add_body(robot, "d", parent="world", joint=pl.Revolute("x"), offset=(3, 0, 0))
    system = robot.compile()
    q = system.neutral()
    q[system.q_slice("b")] = 0.4
    position = {name: system.pose(name, q)[:3, 3] for name in "abcd"}
    np.testing.assert_allclose(position["a"], [0.15, 0, 1], atol=1e-15)
    np.testing.assert_allclose(position["b"], [0, 0.4, 1], atol=1e-15)
    np.testing.assert_allclose(position["c"], [0.15 + 0.5, 0.2, 1.1], atol=1e-15)
    np.testing.assert_allclose(position["d"], [3, 0, 0], atol=1e-15)


def test_children_may_be_added_before_and_after_siblings_and_in_any_tree_order():
    """Coordinates follow the order of adding, not the order of the tree."""
    robot = pl.Robot("r")
    a = add_body(robot, "a", joint=pl.Revolute("z"))
    b = add_rod(robot, "b", joint=pl.Spherical())
    add_body(robot, "c", parent=a, joint=pl.Universal("x", "y"))
    add_body(robot, "d", parent=b.at(0.4), joint=pl.Free())
    add_body(robot, "e", parent="c", joint=pl.Prismatic("x"))
    system = robot.compile()
    assert system.links == ("a", "b", "c", "d", "e")
    q0 = [system.q_slice(name) for name in system.links]
    v0 = [system.v_slice(name) for name in system.links]
    assert [s.stop - s.start for s in q0] == [1, 10, 2, 7, 1]
    assert [s.stop - s.start for s in v0] == [1, 9, 2, 6, 1]
    for slices, size in ((q0, system.nq), (v0, system.nv)):
        assert slices[0].start == 0
        assert slices[-1].stop == size
        assert all(first.stop == second.start for first, second in pairwise(slices))
    # each coordinate moves its own subtree and nothing else
    moved = {"a": "ace", "b": "bd", "c": "ce", "d": "d", "e": "e"}
    q = system.random(0)
    for name, expected in moved.items():
        for frame in "abcde":
            columns = system.jacobian(frame, q)[:, system.v_slice(name)]
            assert columns.any() == (frame in expected), (name, frame)


def test_several_roots_do_not_feel_each_other():
    robot = pl.Robot("two")
    for k in range(2):
        base = add_body(robot, f"base{k}", joint=pl.Free(), offset=(0, k, 0))
        add_rod(robot, f"rod{k}", parent=base)
    system = robot.compile()
    q = system.random(1)
    M = system.mass_matrix(q)
    first = slice(0, system.v_slice("rod0").stop)
    second = slice(system.v_slice("base1").start, system.nv)
    assert not M[first, second].any()
    assert not system.jacobian("rod1", q)[:, first].any()
    alone = pl.Robot("one")
    add_rod(alone, "rod1", parent=add_body(alone, "base1", joint=pl.Free(), offset=(0, 1, 0)))
    sub = alone.compile()
    np.testing.assert_allclose(M[second, second], sub.mass_matrix(q[system.q_slice("base1").start :]), atol=1e-14)


def test_dof_names_say_what_each_velocity_is():
    robot = pl.Robot("r")
    add_rod(robot, joint=pl.Cylindrical("z"), strains=pl.Strains(torsion=0, bending_z=1, stretch=pl.LinearElements(1)))
    add_body(robot, parent="arm", joint=pl.Free())
    system = robot.compile()
    assert system.dof_names == (
        "arm.angle",
        "arm.displacement",
        "arm.torsion[0]",
        "arm.bending_z[0]",
        "arm.bending_z[1]",
        "arm.stretch[0]",
        "arm.stretch[1]",
        "hand.wx",
        "hand.wy",
        "hand.wz",
        "hand.vx",
        "hand.vy",
        "hand.vz",
    )
    assert len(system.dof_names) == system.nv
    assert system.dof_names[system.v_slice("hand")] == tuple(f"hand.{x}" for x in ("wx", "wy", "wz", "vx", "vy", "vz"))


def test_gravity():
    assert pl.Robot().gravity.tolist() == [0, 0, -9.81]
    robot = pl.Robot("r", gravity=[0, 1, 2])
    add_body(robot, joint=pl.Prismatic("z"), mass=3.0)
    system = robot.compile()
    assert system.gravity.tolist() == [0, 1, 2]
    np.testing.assert_allclose(system.gravity_forces([0.0]), [-6.0])
    np.testing.assert_allclose(system.forward_dynamics([0.0], [0.0]), [2.0])
    system.gravity[:] = 100.0  # a copy
    np.testing.assert_allclose(system.gravity_forces([0.0]), [-6.0])
    with pytest.raises(ValueError, match="read-only"):
        robot.gravity[0] = 5.0


def test_inertia_of_bodies():
    def mass_matrix(**options) -> np.ndarray:
        robot = pl.Robot("r")
        robot.add_body("b", joint=pl.Free(), **options)
        system = robot.compile()
        return system.mass_matrix(system.neutral())

    ball = pl.Sphere(0.1)
    by_mass = mass_matrix(shape=ball, mass=2.0)
    np.testing.assert_allclose(by_mass, np.diag([0.008] * 3 + [2.0] * 3), atol=1e-16)
    np.testing.assert_allclose(mass_matrix(shape=ball, density=2.0 / ball.volume), by_mass, rtol=1e-14)
    np.testing.assert_allclose(mass_matrix(mass=2.0, inertia=(0.008,) * 3), by_mass, rtol=1e-14)
    np.testing.assert_allclose(mass_matrix(mass=2.0, inertia=np.eye(3) * 0.008), by_mass, rtol=1e-14)
    np.testing.assert_allclose(mass_matrix(inertia=pl.Inertia(2.0, (0, 0, 0), (0.008,) * 3)), by_mass, rtol=1e-14)
    moved = pl.Inertia(2.0, (0, 0, 0.5), (0.008,) * 3).matrix
    np.testing.assert_allclose(mass_matrix(shape=ball, mass=2.0, com=(0, 0, 0.5)), moved, rtol=1e-14)
    # offset_after moves the body frame, not the mass in it
    np.testing.assert_allclose(
        mass_matrix(shape=ball, mass=2.0, offset_after=(0, 0, 0.5)), moved, rtol=1e-14, atol=1e-16
    )


def test_welded_bodies_add_up():
    robot = pl.Robot("r")
    base = add_body(robot, "base", joint=pl.Free(), mass=1.0)
    add_body(robot, "pack", parent=base, offset=(0.3, 0, 0), mass=3.0)
    add_body(robot, "wall", mass=100.0)  # fixed to the world: no part of the motion
    system = robot.compile()
    assert system.mass == pytest.approx(4.0)
    np.testing.assert_allclose(system.center_of_mass(system.neutral()), [0.225, 0, 0])
    np.testing.assert_allclose(system.pose("wall", system.neutral()), np.eye(4))


# ---------------------------------------------------------------- printing


def test_printing_a_robot_shows_the_tree():
    robot = pl.Robot("octopus")
    head = add_body(robot, "head", joint=pl.Free(), mass=2.5)
    arm = add_rod(robot, "arm", parent=head, length=0.75, strains=pl.Strains(bending=2, stretch=0))
    add_body(robot, "finger", parent=arm.at(0.5), joint=pl.Revolute("z"))
    robot.add_body("marker", parent=head)
    add_rod(robot, "tail", parent=head)
    add_body(robot, "stone", mass=4.0)
    text = str(robot)
    lines = text.splitlines()
    assert lines[0] == "octopus: 6 links, 20 dof (21 coordinates)"
    assert lines[1] == "world"
    assert [line.strip("│├└─ ").split(" ")[0] for line in lines[2:]] == [
        "head",
        "arm",
        "finger",
        "marker",
        "tail",
        "stone",
    ]
    assert "├─ head · Free() (6) · body 2.5 kg" in lines
    assert "│  ├─ arm · rod 0.75 m: bending_y Legendre(2), bending_z Legendre(2), stretch Legendre(0) (7)" in lines
    assert lines[4].startswith("│  │  └─ finger at X=0.5 · Revolute(")
    assert "marker · body, massless" in text
    assert lines[-1] == "└─ stone · body 4 kg"
    assert repr(robot) == "<Robot 'octopus': 6 links, 20 dof>"
    system = robot.compile()
    assert str(system) == text
    assert repr(system).startswith("<System 'octopus': nq=21, nv=20, ")


def test_printing_without_quaternions_and_without_links():
    assert str(example()).splitlines()[0] == "example: 2 links, 7 dof"
    assert str(pl.Robot("bare")).splitlines() == ["bare: 0 links, 0 dof", "world"]


# ---------------------------------------------------------------- what is frozen


def test_a_system_does_not_follow_later_changes_of_its_robot():
    robot = example()
    system = robot.compile()
    q = np.linspace(0, 1, system.nq)
    before = system.mass_matrix(q), system.gravity_forces(q), str(system), system.frames, system.links
    add_body(robot, "more", parent="hand", joint=pl.Free(), mass=50.0)
    robot.add_frame("later", "arm@0.9")
    robot.gravity = np.array([5.0, 5.0, 5.0])
    robot.name = "other"
    assert system.nv == 7
    assert system.gravity.tolist() == [0, 0, -9.81]
    np.testing.assert_array_equal(system.mass_matrix(q), before[0])
    np.testing.assert_array_equal(system.gravity_forces(q), before[1])
    assert (str(system), system.frames, system.links) == before[2:]
    with pytest.raises(KeyError, match="later"):
        system.pose("later", q)
    assert robot.compile().nv == 13


def test_a_system_does_not_follow_later_changes_of_arrays_it_was_given():
    strain, stiffness = np.array([0.0, 0, 0, 1, 0, 0]), np.ones(6)
    robot = pl.Robot("r")
    add_rod(robot, reference_strain=strain, stiffness=stiffness, inertia=np.ones(6))
    system = robot.compile()
    q = np.linspace(0.5, 1, system.nq)
    before = (
        system.strain("arm", q, 5),
        system.stress("arm", q, 5),
        system.rod_poses("arm", q, 5),
        system.pose("arm", q),
    )
    strain[2] = 5.0
    stiffness *= 3.0
    fresh = 7  # other points than before, so that nothing remembered can help
    np.testing.assert_array_equal(system.strain("arm", q, 5), before[0])
    np.testing.assert_array_equal(system.stress("arm", q, 5), before[1])
    np.testing.assert_array_equal(system.rod_poses("arm", q, 5), before[2])
    np.testing.assert_allclose(system.rod_poses("arm", q, fresh)[-1], before[3], atol=1e-14)


def test_results_are_the_callers_own():
    system = example().compile()
    q = np.linspace(0, 1, system.nq)
    for result in (system.pose("arm", q), system.mass_matrix(q), system.neutral(), system.rod_points("arm")):
        kept = result.copy()
        result[:] = np.nan
        assert np.all(np.isfinite(kept))
    assert np.all(np.isfinite(system.pose("arm", q)))
    assert np.all(np.isfinite(system.mass_matrix(q)))
    assert np.all(np.isfinite(system.rod_points("arm")))
    assert np.all(np.isfinite(system.neutral()))


def test_a_copy_is_independent():
    robot = example()
    other = robot.copy()
    add_body(other, "more", parent="hand")
    other.add_frame("eye", "hand")
    assert [link.name for link in robot.links] == ["arm", "hand"]
    assert set(robot.frames) == {"middle"}
    assert other.name == "example"


def test_arguments_may_be_lists_and_are_not_changed():
    system = example().compile()
    q = np.linspace(0, 1, 7)
    np.testing.assert_array_equal(system.mass_matrix(q.tolist()), system.mass_matrix(q))
    np.testing.assert_array_equal(system.mass_matrix(q[::-1]), system.mass_matrix(q[::-1].copy()))
    ints = system.mass_matrix(np.zeros(7, dtype=int))
    np.testing.assert_array_equal(ints, system.mass_matrix(np.zeros(7)))
    np.testing.assert_array_equal(q, np.linspace(0, 1, 7))


def test_a_failed_addition_leaves_the_robot_as_it_was():
    robot = example()
    text = str(robot)
    with pytest.raises(ValueError, match="length"):
        add_rod(robot, "bad", length=-1)
    with pytest.raises(KeyError, match="nowhere"):
        add_body(robot, "bad", parent="nowhere")
    with pytest.raises(TypeError, match="joint"):
        add_body(robot, "bad", joint="hinge")
    assert str(robot) == text
    add_body(robot, "bad")  # the name is free still


# ---------------------------------------------------------------- bad input

NAN = float("nan")


def rod(**options):
    return lambda: add_rod(pl.Robot(), **options)


def body(**options):
    return lambda: pl.Robot().add_body("b", **options)


def compiled(**options):
    def run():
        robot = pl.Robot()
        add_rod(robot, **options)
        return robot.compile()

    return run


def ask(method: str, *arguments, **options):
    """Call a method of the example's system; "q" and "v" stand for good vectors, "short" for one too short."""
    vectors = {"q": np.zeros(7), "v": np.zeros(7), "short": np.zeros(6), "flat": np.zeros((1, 7))}

    def run():
        given = [vectors[x] if isinstance(x, str) and x in vectors else x for x in arguments]
        return getattr(example().compile(), method)(*given, **options)

    return run


def not_symmetric() -> np.ndarray:
    M = np.eye(6)
    M[0, 1] = 0.5
    return M


def massless_joint():
    robot = pl.Robot()
    add_body(robot, "wheel", joint=pl.Revolute("z"))
    robot.add_body("pointer", parent="wheel", joint=pl.Revolute("x"))
    system = robot.compile()
    system.forward_dynamics(system.neutral(), np.zeros(2))


def nothing_moves():
    robot = pl.Robot("stone")
    add_body(robot)
    robot.compile()


def twice_a_function(X):
    return np.stack([X, 2 * X], axis=-1)


V, T, K = ValueError, TypeError, KeyError
# each: (call, error, what the message must contain: field, value, remedy)
BAD = {
    # rods
    "negative length": (rod(length=-0.5), V, r"rod 'arm': length = -0\.5 .*greater than zero \(m\)"),
    "zero length": (rod(length=0), V, r"rod 'arm': length = 0 .*greater than zero"),
    "NaN length": (rod(length=NAN), V, r"rod 'arm': length = nan .*finite number in m"),
    "length no number": (rod(length="long"), T, r"rod 'arm': length = 'long' is not a number \(m\)"),
    "no free strain": (rod(strains=pl.Strains()), V, r"no free strain.*torsion, bending_y.*add_body"),
    "strains a number": (rod(strains=3), T, r"strains = 3 must be a pliant\.Strains, e\.g\. Strains\.kirchhoff"),
    "strains a dict": (rod(strains={"bending": 3}), T, r"strains = \{'bending': 3\} must be a pliant\.Strains"),
    "no section": (rod(section=None), V, r"needs section and material, or stiffness and inertia.*given: material"),
    "no material": (rod(material=None), V, r"needs section and material, or stiffness and inertia.*given: section"),
    "stiffness alone": (rod(section=None, material=None, stiffness=np.ones(6)), V, r"given: stiffness"),
    "section a number": (rod(section=0.02), T, r"section = 0\.02.*Circle"),
    "material a name": (rod(material="silicone"), T, r"material = 'silicone'.*Material"),
    "stiffness not positive": (
        rod(stiffness=(1, 1, 1, 1, 1, -1)),
        V,
        r"stiffness at X = 0 .*negative eigenvalue.*semidef",
    ),
    "stiffness shape": (rod(stiffness=np.eye(3)), V, r"stiffness has shape \(3, 3\).*6×6.*torsion, bending y"),
    "stiffness NaN": (
        rod(stiffness=(1, 1, 1, 1, 1, NAN)),
        V,
        r"stiffness has an entry that is NaN or infinite at X = 0",
    ),
    "stiffness at one place": (
        rod(stiffness=lambda X: np.full(6, 0.5 - X)),
        V,
        r"stiffness at X = 0\.75 has the negative eigenvalue",
    ),
    "inertia not symmetric": (rod(inertia=not_symmetric()), V, r"inertia at X = 0 is not symmetric"),
    "inertia not positive": (rod(inertia=(1, 1, 1, 1, 1, -1)), V, r"inertia at X = 0 has the negative eigenvalue"),
    "damping a number": (rod(damping=0.1), V, r"damping has shape \(\).*6×6"),
    "reference strain": (
        rod(reference_strain=(0, 0, 1)),
        V,
        r"reference_strain must give six.*got shape \(3,\).*straight",
    ),
    "magnus": (rod(magnus=3), V, r"magnus = 3 .*choose one of 2, 4"),
    "points zero": (rod(points=0), V, r"points = 0 .*whole number >= 1"),
    "points no integer": (rod(points=2.5), T, r"points = 2\.5 must be a whole number >= 1"),
    "too few points": (
        compiled(strains=pl.Strains(bending=4), points=3),
        V,
        r"rod 'arm': points = 3 per element are too few for Legendre\(4\).*Leave points out.*at least 5",
    ),
    "too few points in elements": (
        compiled(strains=pl.Strains(bending=pl.QuadraticElements(4)), points=1),
        V,
        r"points = 1 per element are too few for QuadraticElements\(4\) with 9 functions.*at least 3",
    ),
    "dependent functions": (
        rod(strains=pl.Strains(bending=pl.Custom(twice_a_function, size=2, degree=1))),
        V,
        r"Custom\(twice_a_function.*linearly dependent.*functions 0, 1 vanishes\. Remove or change",
    ),
    "radius negative inside": (
        rod(section=pl.Circle(lambda X: 0.02 - 0.05 * X)),
        V,
        r"Circle\.radius\(X=0\.5\) = -0\.005\d* .*greater than zero",
    ),
    # robot
    "gravity NaN": (lambda: pl.Robot(gravity=(0, 0, NAN)), V, r"gravity = \[0\.0, 0\.0, nan\].*finite.*\(gx, gy, gz\)"),
    "gravity a number": (lambda: pl.Robot(gravity=-9.81), V, r"gravity has shape \(\).*Give \(gx, gy, gz\) in m/s²"),
    "no dof": (nothing_moves, V, r"robot 'stone' has no degree of freedom: add a rod.*Revolute\('z'\)"),
    "no links": (lambda: pl.Robot("void").compile(), V, r"robot 'void' has no degree of freedom: add a rod"),
    "duplicate link": (lambda: add_rod(example(), "hand"), V, r"'hand' is taken already; give each.*its own"),
    "link like a frame": (lambda: add_rod(example(), "middle"), V, r"'middle' is taken already"),
    "frame like a link": (lambda: example().add_frame("arm", "hand"), V, r"'arm' is taken already"),
    "name with a dot": (lambda: add_rod(pl.Robot(), "a.b"), V, r"name = 'a\.b' .*'\.' and '@' have a meaning"),
    "name with an at": (lambda: example().add_frame("a@b", "arm"), V, r"name = 'a@b' is not allowed"),
    "name world": (lambda: add_body(pl.Robot(), "world"), V, r"name = 'world' is not allowed"),
    "name empty": (lambda: add_body(pl.Robot(), ""), T, r"name = '' must be a non-empty string"),
    "name a number": (lambda: add_body(pl.Robot(), 3), T, r"name = 3 must be a non-empty string"),
    # parents and frames
    "parent mistyped": (lambda: add_rod(example(), "x", parent="arn"), K, r"named 'arn'; did you mean 'arm'"),
    "parent end mistyped": (
        lambda: add_rod(example(), "x", parent="arm.top"),
        K,
        r"'arm\.top'; did you mean 'arm\.tip'",
    ),
    "parent unknown": (
        lambda: add_rod(example(), "x", parent="leg7"),
        K,
        r"named 'leg7'; known: 'arm', 'arm\.base', 'arm\.tip', 'hand', 'middle'",
    ),
    "parent in an empty robot": (lambda: add_rod(pl.Robot(), parent="base"), K, r"named 'base'; known: none"),
    "parent a number": (
        lambda: add_rod(example(), "x", parent=3),
        T,
        r"parent = 3 must be a link, a frame, or the name",
    ),
    "parent of another robot": (
        lambda: add_rod(pl.Robot(), "x", parent=add_body(pl.Robot(), "other")),
        K,
        r"no link named 'other'",
    ),
    "tip of a body": (lambda: add_rod(example(), "x", parent="hand.tip"), K, r"no frame named 'hand\.tip'.*'hand'"),
    "tip of a body by handle": (lambda: example().link("hand").tip, (V, T), r"hand.*(rigid|not a rod|body)"),
    "X on a body": (lambda: add_rod(example(), "x", parent="hand@0.3"), (V, T), r"'hand@0\.3'.*(rigid|not a rod|body)"),
    "X beyond the rod": (
        lambda: add_rod(example(), "x", parent="arm@1.3"),
        V,
        r"'arm@1\.3'.*1\.3 .*\[0, 1\].*fraction",
    ),
    "X no number": (lambda: add_rod(example(), "x", parent="arm@tip"), V, r"'arm@tip'.*'tip'"),
    "at beyond the rod": (lambda: example().link("arm").at(-0.1), V, r"arm\.at\(X\) = -0\.1 .*\[0, 1\].*fraction"),
    "at NaN": (lambda: example().link("arm").at(NAN), V, r"arm\.at\(X\) = nan"),
    "at a name": (lambda: example().link("arm").at("tip"), T, r"arm\.at\('tip'\).*number X in \[0, 1\]"),
    "offset a pair": (rod(offset=(1, 2)), V, r"link 'arm': offset has shape \(2,\).*Give a Pose, a 4×4"),
    "offset_after a word": (rod(offset_after="up"), T, r"link 'arm': offset_after = 'up' is not a pose\. Give a Pose"),
    "joint a word": (
        rod(joint="revolute"),
        T,
        r"link 'arm': joint = 'revolute' must be a joint such as Revolute\('z'\)",
    ),
    "joint a class": (rod(joint=pl.Free), T, r"joint = <class .*Free.* must be a joint such as"),
    # bodies
    "unphysical inertia": (
        body(mass=1.0, inertia=(1, 1, 3)),
        V,
        r"body 'b': .*inertia has principal moments \[1\.0, 1\.0, 3\.0\].*triangle.*about the centre of mass",
    ),
    "negative inertia": (body(mass=1.0, inertia=(1, 1, -3)), V, r"body 'b': .*moments \[-3\.0, .*none may be negative"),
    "inertia not symmetric in a body": (
        body(mass=1.0, inertia=[[1, 0.2, 0], [0, 1, 0], [0, 0, 1]]),
        V,
        r"body 'b': .*must be symmetric.*Fill in both halves",
    ),
    "shape without mass": (body(shape=pl.Sphere(0.1)), V, r"body 'b': a shape needs mass \[kg\] or density"),
    "negative mass": (body(mass=-1.0), V, r"body 'b': .*mass = -1\.0 .*greater than zero \(kg\)"),
    "zero mass": (body(mass=0.0), V, r"body 'b': .*mass = 0\.0 .*greater than zero \(kg\)"),
    "NaN mass": (body(mass=NAN), V, r"body 'b': .*mass = nan .*finite"),
    "mass and density": (body(mass=1.0, density=1.0, shape=pl.Sphere(0.1)), V, r"body 'b': .*exactly one of the two"),
    "density without shape": (body(density=1000.0), V, r"body 'b': density needs a shape.*give mass"),
    "inertia without mass": (body(inertia=(1, 1, 1)), V, r"body 'b': mass is missing: inertia and com need one"),
    "Inertia and mass": (
        body(inertia=pl.Inertia(1.0), mass=1.0),
        V,
        r"body 'b': an Inertia holds mass.*leave out mass",
    ),
    "shape a word": (body(shape="sphere", mass=1.0), T, r"body 'b': shape = 'sphere' must be a Box, Capsule, Cylinder"),
    "com a pair": (body(mass=1.0, com=(1, 2)), V, r"body 'b': com has shape \(2,\).*body frame, in metres"),
    # questions to a system
    "q short": (
        ask("pose", "arm", "short"),
        V,
        r"q has shape \(6,\), but \(7,\) is needed for 'example' \(coordinates, nq",
    ),
    "q with two axes": (ask("mass_matrix", "flat"), V, r"q has shape \(1, 7\), but \(7,\) is needed"),
    "v short": (ask("twist", "arm", "q", "short"), V, r"v has shape \(6,\), but \(7,\) is needed.*velocities, nv"),
    "a short": (ask("inverse_dynamics", "q", "v", "short"), V, r"a has shape \(6,\), but \(7,\) is needed"),
    "dv short": (ask("integrate", "q", "short"), V, r"dv has shape \(6,\), but \(7,\) is needed"),
    "tau short": (ask("forward_dynamics", "q", "v", "short"), V, r"tau has shape \(6,\), but \(7,\) is needed"),
    "b short": (ask("solve_mass", "q", "short"), V, r"b has shape \(6,\), but 7 rows are needed"),
    "q in derivatives": (ask("inverse_dynamics_derivatives", "short", "v", "v"), V, r"q has shape \(6,\)"),
    "q in energy": (ask("elastic_energy", "short"), V, r"q has shape \(6,\), but \(7,\)"),
    "q in totals": (ask("center_of_mass", "short"), V, r"q has shape \(6,\), but \(7,\)"),
    "frame mistyped": (ask("pose", "hnad", "q"), K, r"no link or frame named 'hnad'; did you mean 'hand'"),
    "frame a number": (ask("pose", 3, "q"), T, r"frame = 3 must be a link, a frame, or the name of one"),
    "X not declared": (
        ask("jacobian", "arm@0.31", "q"),
        V,
        r"X = 0\.31 on rod 'arm' is not a point.*add_frame.*rod_poses works at any X",
    ),
    "reference": (ask("jacobian", "arm", "q", reference="local"), V, r"reference = 'local' .*'body', 'world'"),
    "reference of twist": (ask("twist", "arm", "q", "v", reference="inertial"), V, r"reference = 'inertial'"),
    "about": (ask("momentum", "q", "v", about="tip"), V, r"about = 'tip' .*'origin', 'com'"),
    "X outside": (ask("rod_poses", "arm", "q", [0.5, 1.2]), V, r"X = \[0\.5, 1\.2\] .*\[0, 1\] \(fraction"),
    "X NaN": (ask("rod_twists", "arm", "q", "v", [NAN]), V, r"X = \[nan\] .*\[0, 1\]"),
    "X negative": (ask("strain", "arm", "q", -0.1), V, r"X = -0\.1 .*\[0, 1\]"),
    "X too few": (ask("stress", "arm", "q", 1), V, r"X = 1 .*>= 2.*number of points, or an array of X"),
    "rod_poses of a body": (ask("rod_poses", "hand", "q"), T, r"'hand' is a rigid body; rods of this robot: arm"),
    "rod_poses mistyped": (ask("rod_poses", "arn", "q"), K, r"no link named 'arn'; did you mean 'arm'"),
    "rod_points of a body": (ask("rod_points", "hand"), T, r"'hand' is a rigid body"),
    "slice mistyped": (ask("q_slice", "arn"), K, r"no link named 'arn'; did you mean 'arm'"),
    "slice of a frame": (ask("v_slice", "middle"), K, r"no link named 'middle'; known: 'arm', 'hand'"),
    "massless joint": (massless_joint, V, r"mass matrix is singular.*'pointer\.angle'.*Give mass to what this joint"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_with_reason_and_remedy(name):
    call, error, words = BAD[name]
    with pytest.raises(error, match=words):
        call()


def test_forward_dynamics_refuses_a_state_that_is_not_finite():
    system = example().compile()
    q = np.zeros(7)
    q[2] = np.nan
    with pytest.raises(ValueError, match=r"not finite.*q"):
        system.forward_dynamics(q, np.zeros(7))


def test_coaxial_joints_are_reported_as_singular():
    """Rounding leaves a pivot of about 1e-17 of either sign; a positive one must not pass as a mass."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        axis = rng.normal(size=3)
        robot = pl.Robot()
        robot.add_body("a", joint=pl.Revolute(axis))
        inertia = pl.Inertia(1.0, rng.normal(size=3), (0.1, 0.2, 0.25))
        robot.add_body("b", parent="a", joint=pl.Revolute(axis), inertia=inertia)
        system = robot.compile()
        with pytest.raises(ValueError, match=r"mass matrix is singular.*'[ab]\.angle'"):
            system.forward_dynamics(rng.normal(size=2), rng.normal(size=2))
