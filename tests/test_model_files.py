"""Model files: round trips of robots, errors that say where, JSON Schema, starters, examples."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import load_robots
import pliant as pl
import robots

pytest.importorskip("ruamel.yaml")

ROOT = Path(__file__).parent.parent
MODELS = sorted((ROOT / "examples" / "models").glob("*.yaml"))
GROUPS = ("tables", "internal", "tendons", "efforts", "wrenches", "water", "contact", "loops")
ARM = {
    "type": "rod",
    "length": 1,
    "section": {"type": "Circle", "radius": 0.02},
    "material": "rubber",
    "strains": {"bending": 2},
}
RUBBER = {"young": 1e6, "poisson": 0.5, "density": 1000}


def example(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_same(a: pl.System, b: pl.System, *, exact: bool = True) -> None:
    """The same tables, inputs, names and residual."""
    assert (a.name, a.nq, a.nv, a.input_names, a.dof_names) == (b.name, b.nq, b.nv, b.input_names, b.dof_names)
    assert a.frames == b.frames
    assert list(a.prescribed) == list(b.prescribed)
    for group in GROUPS:
        for field, x in getattr(a, group)._asdict().items():
            y = getattr(getattr(b, group), field)
            if exact:
                np.testing.assert_array_equal(x, y, err_msg=f"{group}.{field}")
            else:
                scale = np.abs(x[np.isfinite(x)]).max(initial=0.0) if np.size(x) else 0.0
                np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * scale, err_msg=f"{group}.{field}")
    rng = np.random.default_rng(0)
    q, v, acc = a.random(rng, scale=0.1), rng.normal(size=a.nv), rng.normal(size=a.nv)
    u = np.abs(rng.normal(size=a.nu))
    r, s = a.residual(q, v, acc, u), b.residual(q, v, acc, u)
    np.testing.assert_allclose(r, s, rtol=0, atol=(0 if exact else 1e-11) * np.abs(r).max())


def with_formulas(robot: pl.Robot) -> pl.Robot:
    """The same robot with the curved rest shape of `robots.add_random_link` as a formula."""
    curved = pl.Expression([0.3, "1 + X", -0.5, 1, 0, 0])
    robot = robot.copy()
    for k, link in enumerate(robot.links):
        if link.is_rod and callable(link.content.reference_strain):
            robot.links[k] = replace(link, content=replace(link.content, reference_strain=curved))
    return robot


def everything() -> pl.Robot:
    """All actuators, loads, loops and bases on one robot."""
    robot = load_robots.branched(3)
    X, E = pl.Along, pl.Expression
    robot.add_frame("sensor", "arm@0.37", offset=robots.random_pose(np.random.default_rng(1), 0.01))
    robot.add_frame("eye", "hub", offset=(0.01, 0.02, 0.03))
    base = pl.Custom(E(["1", "X", "X**3"]), 3, 3)
    robot.add_rod(
        "own", parent="sensor", length=0.2, section=pl.Annulus(outer=(0.01, 0.008), inner=E("0.004*(1 - X/2)")),
        material=robots.SILICONE, strains=pl.Strains(bending_y=base, bending_z=pl.PiecewiseConstant((0.3, 0.5)), torsion=0),
        reference_strain=pl.helix(0.05, 0.02),
    )  # fmt: skip
    robot.add_rod(
        "bare", parent="own@0.25", length=0.2, stiffness=E([1, "1+X", 1, 100, 100, 100]), inertia=np.diag([1e-5] * 3 + [0.1] * 3),
        damping=[0.1] * 6, strains=pl.Strains.kirchhoff_extensible(1), joint=pl.Spherical(stiffness=0.1, rest=(0.1, 0, 0)),
    )  # fmt: skip
    steps = pl.Stepped([0.02, (0.015, 0.01), 0.005], at=(0.4, 0.7))
    robot.add_rod(
        "shaft", length=0.3, section=pl.Circle(steps), material=robots.SILICONE, strains=pl.Strains.planar_bending(1)
    )
    robot.add_tendon("plain", "arm", y=0.01, z=(0.005, -0.005), friction=0.1, slip_speed=0.01)
    robot.add_tendon("formula", "arm", y=E("0.01*cos(3*X)"), dy=E("-0.03*sin(3*X)"), start=0.1, end=0.8)
    robot.add_tendon("helical", "arm", **pl.helical_routing((0.02, 0.01), turns=2, phase=0.3))
    robot.add_tendon("table", "arm", z=pl.Table([0, 0.3, 0.6, 1], [0.01, 0, 0.01, 0.005]), push=True)
    way = [
        robot.link("hub").at((0, 0.02, 0)),
        X("arm", y=0.01, end=0.5, breaks=(0.25,)),
        "hand.base",
        X("hand", y=0.005),
    ]
    robot.add_tendon("way", way, control="elastic", stiffness=100, damping=1, rest_length=1.0)
    robot.add_tendon("kink", X("arm", y=E("0.01*abs(X-0.5)"), breaks=(0.5,)), control="length")
    robot.add_push_rod("pusher", "arm", y=0.01, z=E("0.005*X"))
    robot.add_chamber("chamber", "arm", area=1e-4, y=0.01)
    robot.add_chamber("wedge", "arm", area=E("1e-4*(1 + X)"), z=0.01)
    robot.add_motor("servo", "hand", control="position", kp=2, kd=0.1, limit=3)
    robot.add_motor("torque", "tool")
    robot.add_motion("held", "tool", dof=0)
    robot.add_stress("muscle", "arm", E([0, "sin(pi*X)", 0, 0, 0, 0]))
    robot.add_stress("constant", "hand", (0, 1, 0, 0, 0, 0))
    robot.add_wrench("tip", "hand.tip", force=(1, 2, 3), offset=(0.01, 0, 0), axes="body")
    robot.add_wrench("weight", "arm@0.7", moment=(0, 0, 1), constant=True)
    robot.add_distributed_wrench("wind", "arm", force=E([0, "1 - X", 0]), axes="world")
    robot.add_dipole("magnet", "arm", moment=E(["X", 0, 0]))
    robot.add_dipole("needle", "tool", moment=(0, 1, 0))
    robot.set_fluid(density=900, current=(0.1, 0, 0))
    robot.add_hydrodynamics(["arm", "twig"], pl.Hydrodynamics.circular(cx=0.02, tail=True))
    robot.add_hydrodynamics("hand", pl.Hydrodynamics.elliptic(a=E("0.02*(1 - X/2)"), linear_drag=[1, 2, 3]))
    lift = E([[0.0] * 6] * 4 + [[0, 0, 0, 0, "2 - X", 0.1], [0, 0, 0, 0, -0.1, "2 - X"]])
    robot.add_hydrodynamics("own", pl.Hydrodynamics.circular(drag=lift, volume=1e-4))
    robot.add_hydrodynamics("hub", pl.Hydrodynamics(drag=np.eye(6), added_mass=[1, 2, 3], centre=(0.01, 0, 0)))
    robot.add_obstacle("floor", pl.HalfSpace(), pose=pl.translate(0, 0, -3) @ pl.rotate((1, 2, 0), 0.1))
    robot.add_obstacle("pipe", pl.Cylinder(3.0, 4.0), parent="hub", inside=True)
    robot.add_contact("ground", "arm", "floor", stiffness=1e4, friction=0.3, per_length=True)
    robot.add_contact("bump", "hub", "floor", stiffness=1e4, damping=0.2, exponent=1.2)
    robot.add_contact("rods", "arm", "hand", stiffness=1e3)
    robot.add_loop(
        "spring", "twig.tip", robot.link("hand").at(0.5, pl.rotate("y", 0.4)), joint=pl.Spherical(stiffness=2)
    )
    robot.add_loop("anchor", "own.tip", joint=pl.Universal("x", "z", damping=[0.1, 0.2]))
    robot.add_loop("guide", "shaft.tip", "hub", joint=pl.Slot("y", stiffness=3, rest=0.1))
    robot.add_loop("wheel", "world", "hub", joint=pl.Rolling(0.3, axis="y"))
    for name, joint in (("rows", pl.Rows("x", "yz")), ("strut", pl.Distance(0.4)), ("blade", pl.Skate((0, 1, 1)))):
        robot.add_loop(name, "bare.tip", "hub", joint=joint)
    robot.add_motor("drive", "guide", control="position", kp=3.0)
    robot.add_motion("told", "anchor", dof="angle2")
    robot.add_stop("end", "guide", upper=0.2, stiffness=1e3, dissipation=0.1)
    robot.add_stop("range", "hand", lower=-1, upper=1, stiffness=100)
    robot.add_coupling("gear", {"hand": 1, "tool": -2}, offset=0.1)
    return robot


ROBOTS = {
    "manipulator": robots.cable_driven_manipulator,
    **{f"random {seed}": lambda seed=seed: with_formulas(robots.random_robot(seed, 6)) for seed in range(8)},
    **{
        f"branched {base}": lambda base=base: load_robots.branched(1, base=base)
        for base in ("free", "fixed", "revolute")
    },
    "everything": everything,
    **{f"joint {name}": lambda name=name: one_joint(name) for name in robots.JOINTS},
    **{f"basis {name}": lambda name=name: one_basis(name) for name in robots.BASES},
}
EXAMPLES = {  # calls that make their robots
    "buckling": ["build()"],
    "cable_driven_manipulator": ["build()"],
    "cantilever_swing": ["build('soft')", "build('stiff')"],
    "continuum_parallel_robot": ["build()"],
    "drones_and_payload": ["build()"],
    "pneumatic_arm": ["build('choked')", "build('sealed')"],
    "pressure_regulated_arm": ["build()"],
    "tracking_controllers": ["build()"],
    "duality": ["hybrid()"],
    "fin_ray_finger": ["build()"],
    "flying_rods": ["soft()", "stiff()"],
    "hybrid_parallel_robot": ["build()", "build('corners')"],
    "hybrid_serial_robot": ["build()", "small()"],
    "impedance_eight": ["build()"],
    "kelp_in_waves": ["build(2e7)"],
    "magnetic_arm": ["build()"],
    "magnetic_catheter": ["build()"],
    "manipulator_in_pipe": ["build()"],
    "moving_base_pendulum": ["pendulum()"],
    "octopus_arm": ["one_rod()", "sections(2)"],
    "tendon_routings": ["build('spiral', pl.Legendre(4))", "build('truncated', pl.PiecewiseConstant(4))"],
    "twisted_rod": ["build()"],
    "constant_strain_cantilever": ["sections(4)", "continuous()"],
    "follower_force": ["build()"],
    "large_deflections": ["bend(4)"],
    "released_beam": ["build()"],
    "tip_moment": ["build()"],
    "vibration_modes": ["build(3)"],
    "undulatory_swimmer": ["build()"],
}
WITH_FUNCTIONS = {
    "swimming_in_vacuum": "actuators.sin_y.stress",
    "underwater_vehicle": "hydrodynamics.front_flagellum0.drag",
}


def one_joint(name: str) -> pl.Robot:
    rng = np.random.default_rng(5)
    joint = robots.JOINTS[name](rng)
    if joint.nv:
        joint = replace(joint, stiffness=0.3, damping=np.arange(1.0, joint.nv + 1).tolist())
    robot = pl.Robot(name)
    robot.add_body("hub", joint=joint, inertia=robots.random_inertia(rng))
    robot.add_body("arm", parent="hub", joint=pl.Revolute("-y", rest=0.2), mass=1, com=(0.1, 0, 0))
    return robot


def one_basis(name: str) -> pl.Robot:
    robot = pl.Robot(name)
    options = {"section": pl.Rectangle((0.05, 0.03), 0.02, torsion_factor=0.8), "material": robots.SILICONE}
    robot.add_rod("rod", length=0.5, strains=pl.Strains.planar_extensible(robots.BASES[name]), magnus=2, **options)
    return robot


# ---------------------------------------------------------------- round trips


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_round_trip(name, ending, tmp_path):
    robot = ROBOTS[name]()
    path = tmp_path / f"robot.{ending}"
    robot.save(path)
    model = pl.load_model(path)
    assert_same(robot.compile(), model.compile())
    assert pl.io.dump_model(model) == pl.io.dump_model(robot)


@pytest.mark.parametrize(("name", "call"), [(name, call) for name, calls in EXAMPLES.items() for call in calls])
def test_examples_round_trip(name, call, tmp_path):
    system = eval(call, vars(example(name)))
    pl.save_model(system, tmp_path / "robot.yaml")
    assert_same(system, pl.load_model(tmp_path / "robot.yaml").compile())


@pytest.mark.parametrize("name", WITH_FUNCTIONS)
def test_examples_with_functions_say_where(name):
    with pytest.raises(pl.io.WriteError, match=WITH_FUNCTIONS[name].replace(".", r"\.")):
        pl.io.dump_model(example(name).build())


def test_settings_round_trip(tmp_path):
    robot = everything()
    E = pl.Expression
    simulation = {
        "duration": 2.0, "method": "bdf", "rtol": 1e-6, "output": [0.0, 1.0], "start": {"hub": [1, 0, 0, 0, 0.1, 0, 0]},
        "u": {"plain": E("2*t"), "servo": 0.5},
        "motion": {"held": pl.Motion(E("0.1*sin(t)"), E("0.1*cos(t)")), "kink": E("0.5 + 0.01*t")},
    }  # fmt: skip
    pl.save_model(robot, tmp_path / "a.yaml", simulation=simulation, statics={"u": {"plain": 3}, "load_steps": 4})
    model = pl.load_model(tmp_path / "a.yaml")
    assert model.simulation_settings == {**simulation, "motion": model.simulation_settings["motion"]}
    motion = model.simulation_settings["motion"]["held"]
    assert (motion.position, motion.velocity) == (E("0.1*sin(t)"), E("0.1*cos(t)"))
    assert model.statics_settings == {"u": {"plain": 3.0}, "load_steps": 4}
    model.save(tmp_path / "b.yaml")
    assert (tmp_path / "a.yaml").read_text() == (tmp_path / "b.yaml").read_text()


FUNCTIONS = {
    "links.own.section.radius": lambda r: r.add_rod("own", length=1, section=pl.Circle(lambda X: 0.1 + 0 * X), **ROD),
    "links.own.reference_strain": lambda r: r.add_rod(
        "own", length=1, section=pl.Circle(0.1), reference_strain=lambda X: [0, X, 0, 1, 0, 0], **ROD
    ),
    "links.own.strains.torsion.function": lambda r: r.add_rod(
        "own",
        length=1,
        section=pl.Circle(0.1),
        material=robots.SILICONE,
        strains=pl.Strains(torsion=pl.Custom(lambda X: np.ones((len(X), 1)), 1, 0)),
    ),
    "actuators.own.y": lambda r: r.add_tendon("own", "arm", y=lambda X: 0.01),
    "actuators.own.area": lambda r: r.add_chamber("own", "arm", area=lambda X: 0.01),
    "actuators.own.path[1].z": lambda r: r.add_tendon("own", ["hub", pl.Along("arm", z=lambda X: 0.01)]),
    "actuators.own.stress": lambda r: r.add_stress("own", "arm", lambda X: [0, X, 0, 0, 0, 0]),
    "loads.own.force": lambda r: r.add_distributed_wrench("own", "arm", force=lambda X: [0, X, 0]),
    "loads.own.moment": lambda r: r.add_dipole("own", "arm", moment=lambda X: [0, X, 0]),
    "load 'own'": lambda r: r.add_load("own", "arm", lambda g, v, u: np.zeros((len(g), 6))),
}
ROD = {"material": robots.SILICONE, "strains": pl.Strains.kirchhoff(0)}


@pytest.mark.parametrize("path", FUNCTIONS)
def test_functions_cannot_be_written(path):
    robot = load_robots.branched()
    FUNCTIONS[path](robot)
    with pytest.raises(pl.io.WriteError) as error:
        pl.io.dump_model(robot)
    assert path in str(error.value)
    assert "Python function" in str(error.value)
    assert "pl.Expression(" in str(error.value) or "add_load" in str(error.value)


def test_formulas_of_the_wrong_variable_cannot_be_written():
    robot = load_robots.branched()
    robot.add_tendon("own", "arm", y=pl.Expression("0.01*t"))
    with pytest.raises(pl.io.WriteError, match=r"actuators\.own\.y.*depends on t"):
        pl.io.dump_model(robot)


# ---------------------------------------------------------------- reading


def minimal(**changes):
    return {"materials": {"rubber": RUBBER}, "links": {"arm": ARM}, **changes}


def test_poses_and_places():
    link = {"type": "body", "mass": 1, "joint": "Free"}
    forms = {
        "a": [1, "1/2", 0],
        "b": {"translation": [1, 0, 0], "rotate": ["z", "pi/2"]},
        "c": [{"rotate": [[1, 1, 0], 1]}, {"translation": [1, 0, 0]}, {"look_along": "-z", "roll": 0.5}],
        "d": {"quaternion": [0.5, 0.5, 0.5, 0.5]},
        "e": [[0, -1, 0, 3], [1, 0, 0, 2], [0, 0, 1, 1], [0, 0, 0, 1]],
    }
    robot = pl.parse_model({"links": {name: {**link, "offset": pose} for name, pose in forms.items()}}).robot
    poses = {link.name: link.offset for link in robot.links}
    assert poses["a"] == pl.translate(1, 0.5, 0)
    assert poses["b"] == pl.translate(1, 0, 0) @ pl.rotate("z", np.pi / 2)
    assert poses["c"] == pl.rotate((1, 1, 0), 1) @ pl.translate(1, 0, 0) @ pl.Pose.look_along("-z", roll=0.5)
    assert poses["d"] == pl.Pose.from_quaternion([0.5] * 4)
    np.testing.assert_array_equal(poses["e"].matrix, forms["e"])


def test_links_may_hang_on_frames_of_the_file():
    """Also on a frame of a frame, declared in any order; the order of the frames is that of the file."""
    hand = {"type": "body", "mass": 1, "joint": "Spherical", "parent": "grip"}
    frames = {"z": {"parent": "hand"}, "grip": {"parent": "wrist", "offset": [0, 0, 1]}, "wrist": {"parent": "arm@0.5"}}
    links = {"arm": ARM, "hand": hand}
    robot = pl.parse_model(minimal(links=links, frames=frames)).robot
    assert list(robot.frames) == ["z", "grip", "wrist"]
    assert robot.link("hand").parent == pl.Frame("arm", 0.5, pl.translate(0, 0, 1))


def test_yaml_extras():
    """Anchors and merge keys, exponents, formulas for numbers."""
    text = """
materials: {rubber: {young: 1e6, poisson: 1/2, density: 1000}}
links:
  a: &rod {type: rod, length: 0.5, section: {type: Circle, radius: 0.01}, material: rubber, strains: {bending: 1}}
  b: {<<: *rod, parent: a, length: 0.25}
"""
    robot = pl.parse_model(text).robot
    assert [link.content.length for link in robot.links] == [0.5, 0.25]
    assert robot.links[0].content.material == pl.Material(1e6, poisson=0.5, density=1000)


def test_start_by_link_and_motions():
    hub = {"type": "body", "mass": 1, "joint": "Free"}
    arm = {"type": "body", "mass": 1, "com": [1, 0, 0], "parent": "hub", "joint": {"type": "Revolute", "axis": "y"}}
    content = {
        "links": {"hub": hub, "arm": arm},
        "actuators": {"base": {"type": "motion", "link": "hub"}},
        "simulation": {
            "duration": 0.5,
            "output": 0.5,
            "step": 0.01,
            "start": {"arm": [0.3]},
            "velocity": {"arm": [0.2]},
            "motion": {"base": {"position": {"translation": ["0.1*t**2", 0, 0], "rotate": ["z", "2*t"]}}},
        },
    }
    model = pl.parse_model(content)
    run = model.simulate()
    assert run.success, run.message
    np.testing.assert_allclose(run.q[0, 7], 0.3)
    np.testing.assert_allclose(run.v[0, 6], 0.2)
    expected = (pl.translate(0.1 * 0.25, 0, 0) @ pl.rotate("z", 1.0)).matrix
    np.testing.assert_allclose(run.system.pose("hub", run.q[-1]), expected, atol=1e-12)
    again = pl.parse_model(pl.io.dump_model(model))
    np.testing.assert_array_equal(again.simulate().q, run.q)
    content["simulation"]["start"] = {"arm": [0.3, 1]}
    with pytest.raises(ValueError, match=r"start of 'arm' .* 1 of its Revolute joint"):
        pl.parse_model(content).simulate()


def test_statics_takes_the_inputs_of_the_simulation_where_it_has_none():
    settings = {"duration": 0.1, "start": "statics", "t0": 1.0, "u": {"cable": "10*t"}}
    actuators = {"cable": {"type": "tendon", "path": "arm", "z": 0.01}}
    model = pl.parse_model(minimal(actuators=actuators, simulation=settings))
    system = model.compile()
    run = model.simulate(system)
    np.testing.assert_array_equal(run.q[0], pl.solve_statics(system, {"cable": 10}).q)
    other = pl.parse_model(minimal(actuators=actuators, simulation=settings, statics={"u": {"cable": 2}}))
    np.testing.assert_array_equal(other.simulate().q[0], pl.solve_statics(system, {"cable": 2}).q)
    np.testing.assert_array_equal(other.statics().q, pl.solve_statics(system, {"cable": 2}).q)


def test_model_without_simulation_says_so():
    with pytest.raises(ValueError, match="no section 'simulation'"):
        pl.parse_model(minimal()).simulate()


# ---------------------------------------------------------------- errors

BROKEN = """\
name: broken
gravity: [0, 0]
materials:
  rubber: {young: -1, poisson: 0.5, density: 1000}
  steel: {young: 2e11, poisson: 0.3, density: 7800}
links:
  arm:
    type: rod
    length: 0.5
    section: {type: Circel, radius: 0.01}
    material: steel
    strains: {bendin: 4}
  twig:
    type: rod
    parent: arm
    length: -1
    section: {type: Circle, radius: 0.01}
    material: stel
    strains: {bending: 4}
  leaf:
    type: rod
    length: 0.1
    points: 1
    magnus: 3
    section: {type: Circle, radius: 0.1*t}
    material: steel
    strains: {bending: 4, bending_y: 2}
  box:
    type: body
    shape: {type: Box, x: 1, y: 0, z: 1}
    density: 1000
  ball:
    type: body
    parent: world
    shape: {type: Sphere, radius: 0.1}
  lone: {type: body, mass: 1, parent: nowhere}
  good: {type: body, mass: 1, joint: Free}
actuators:
  cable: {type: tendon, path: arm, y: 0.005}
  motor: {type: motor, link: good, dof: wq}
  servo: {type: motor, link: goood}
loads:
  push: {type: wrench, parent: good, force: [0, 0, 0]}
  shape: {type: wrench, parent: good, force: [1, 0]}
simulation:
  duration: fast
  u: {cable: 1, motr: 2}
  inputs: {}
"""

EXPECTED = [
    (2, 10, "gravity", "a list of 3 numbers is needed"),
    (4, 19, "materials.rubber.young", "Material.young = -1.0 is not allowed"),
    (10, 21, "links.arm.section.type", "did you mean 'Circle'?"),
    (12, 15, "links.arm.strains.bendin", "did you mean 'bending'"),
    (16, 13, "links.twig.length", "must be greater than zero"),
    (18, 15, "links.twig.material", "did you mean 'steel'?"),
    (24, 13, "links.leaf.magnus", "one of 2, 4"),
    (25, 37, "links.leaf.section.radius", "depends on t, but here the variable is X"),
    (27, 14, "links.leaf.strains", "bending sets bending_y and bending_z"),
    (30, 33, "links.box.shape.y", "must be greater than zero"),
    (35, 12, "links.ball.shape", "a shape needs mass"),
    (36, 39, "links.lone.parent", "there is no link or frame named 'nowhere'"),
    (40, 41, "actuators.motor.dof", "there is no degree of freedom"),
    (41, 30, "actuators.servo.link", "did you mean 'good'"),
    (43, 9, "loads.push", "both zero"),
    (44, 46, "loads.shape.force", "a list of 3 numbers is needed"),
    (46, 13, "simulation.duration", "A number is needed here"),
    (48, 3, "simulation.inputs", "did you mean 'u'?"),
]


def test_all_errors_of_a_file_come_together_with_their_places(tmp_path):
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN)
    with pytest.raises(pl.ModelFileError) as caught:
        pl.load_model(path)
    error = caught.value
    found = {(p.line, p.path): p for p in error.problems}
    for line, column, where, what in EXPECTED:
        assert (line, where) in found, f"{where}:\n{error}"
        problem = found.pop((line, where))
        assert what in problem.message, str(error)
        assert problem.column == column, str(error)
    assert not found, str(error)  # the cable runs along the broken arm: not reported again
    assert f"{path}:12:15: links.arm.strains.bendin: " in str(error)
    assert str(error).startswith(f"{len(EXPECTED)} problems in {path}")


def test_names_in_settings_are_checked():
    with pytest.raises(pl.ModelFileError, match="there is no input named 'cabel'; did you mean 'cable'"):
        pl.parse_model(
            minimal(
                actuators={"cable": {"type": "tendon", "path": "arm"}}, simulation={"duration": 1, "u": {"cabel": 1}}
            )
        )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: [1, 2", "not valid YAML"),
        ("links: {}\nlinks: {}\n", "not valid YAML"),
        ("- 1\n- 2\n", "a mapping with the keys"),
        ("links: 3\n", "a mapping from names"),
        ("name: x\n", "'links' is missing"),
        ("links: {a.b: {type: body, mass: 1, joint: Free}}\n", "'.' and '@' have a meaning"),
        ("links: {a: {type: body, joint: {type: Revolut, axis: z}}}\n", "did you mean 'Revolute'"),
        ("links: {a: {type: body, joint: Revolute}}\n", "'axis' is missing"),
        ("links: {a: {mass: 1}}\n", "'type' is missing: say which link it is; allowed: rod, body"),
        ("links: {a: {typ: body}}\n", "a.typ: unknown key 'typ'; did you mean 'type'?"),
        ("links:\n  a: {type: body}\n   b: {type: body}\n", "Check how far this line"),
        ("tendons: {}\nlinks: {}\n", "did you mean 'actuators'?"),
        ("links: {a: {type: body, mass: !!python/object:os.system 1}}\n", "is needed"),
    ],
)
def test_other_errors(text, what):
    with pytest.raises(pl.ModelFileError) as caught:
        pl.parse_model(text)
    assert what in str(caught.value)


def test_json_errors_have_positions(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{\n\t"links": {},\n}')
    with pytest.raises(pl.ModelFileError, match="not valid JSON"):
        pl.load_model(path)
    path.write_text('{\n\t"links": {\n\t\t"a": {"type": "bodi"}\n\t}\n}')
    with pytest.raises(pl.ModelFileError) as caught:
        pl.load_model(path)
    assert (caught.value.problems[0].line, caught.value.problems[0].path) == (3, "links.a.type")


def test_aliases_cannot_fill_the_memory():
    text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
    text += "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 12))
    with pytest.raises(pl.ModelFileError, match="more than 200000 values"):
        pl.parse_model(text)


def test_missing_files_and_wrong_endings(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no model file 'nowhere\.yaml'"):
        pl.load_model("nowhere.yaml")
    with pytest.raises(ValueError, match=r"\.yaml, \.yml or \.json"):
        robots.cable_driven_manipulator().save(tmp_path / "a.txt")


# ---------------------------------------------------------------- schema, starters, examples


@cache
def validator():
    jsonschema = pytest.importorskip("jsonschema")
    schema = pl.io.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def content_of(text: str):
    from ruamel.yaml import YAML

    return json.loads(json.dumps(YAML(typ="safe", pure=True).load(text)))


@pytest.mark.parametrize("name", ROBOTS)
def test_schema_accepts_what_is_written(name):
    validator().validate(json.loads(pl.io.dump_model(ROBOTS[name](), format="json")))


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_schema_accepts_the_examples(path):
    validator().validate(content_of(path.read_text()))


@pytest.mark.parametrize(
    "changes",
    [
        {"links": {"arm": {**ARM, "lenght": 1}}},
        {"links": {"arm": {k: v for k, v in ARM.items() if k != "length"}}},
        {"links": {"arm": {**ARM, "type": "rope"}}},
        {"links": {"arm": {**ARM, "section": {"type": "Circle"}}}},
        {"links": {"arm": {**ARM, "magnus": 3}}},
        {"gravity": [0, 0]},
        {"simulation": {"method": "euler", "duration": 1}},
        {"simulation": {}},
        {"loads": {"push": {"type": "wrench", "force": [1, 0, 0]}}},
        {"tendons": {}},
    ],
    ids=str,
)
def test_schema_and_loader_refuse_the_same(changes):
    assert validator().is_valid(minimal())
    pl.parse_model(minimal())
    assert not validator().is_valid(minimal(**changes))
    with pytest.raises(pl.ModelFileError):
        pl.parse_model(minimal(**changes))


def test_schema_explains_the_keys():
    rod = pl.io.schema()["$defs"]["rod"]["properties"]
    assert "Length in the reference configuration [m]" in rod["length"]["description"]
    assert all("description" in rod[key] for key in rod if key != "type")


@pytest.mark.parametrize("name", pl.io.STARTERS)
def test_starters(name):
    text = pl.io.starter_text(name)
    assert len(text.splitlines()) < 60
    assert max(map(len, text.splitlines())) <= 120
    validator().validate(content_of(text))
    model = pl.parse_model(text)
    system = model.compile()
    rest = model.statics(system)
    assert rest.success
    assert rest.stable
    run = model.simulate(system)
    assert run.success, run.message
    assert run.t[-1] == model.simulation_settings["duration"]
    assert np.ptp(run.positions("arm.tip" if name == "arm" else "pin"), axis=0).max() > 0.05


def test_starter_is_the_readme_arm():
    """The same statics as the same robot in Python."""
    robot = pl.Robot("arm")
    strains = pl.Strains(torsion=4, bending=4, stretch=2, shear=2)
    arm = robot.add_rod("arm", length=0.5, section=pl.Circle((0.03, 0.015)), material=robots.SILICONE, strains=strains)
    robot.add_tendon("cable", arm, z=pl.Expression("0.9*(0.03 - 0.015*X)"))
    robot.add_body("payload", parent=arm.tip, shape=pl.Sphere(0.02), mass=0.05)
    assert_same(robot.compile(), pl.parse_model(pl.io.starter_text()).compile())


def test_unknown_starter():
    with pytest.raises(ValueError, match="'arm', 'hybrid'"):
        pl.io.starter_text("leg")


MODEL_OF = {"cable_driven_manipulator": "build", "hybrid_parallel_robot": "build", "underwater_vehicle": "build"}


@pytest.mark.parametrize("name", MODEL_OF)
def test_example_models_equal_their_python_examples(name):
    model = pl.load_model(ROOT / "examples" / "models" / f"{name}.yaml")
    module = example(name)
    assert_same(getattr(module, MODEL_OF[name])(), model.compile(), exact=False)
    inputs = {
        "cable_driven_manipulator": "tensions",
        "hybrid_parallel_robot": "wrench",
        "underwater_vehicle": "TORQUES",
    }
    given = getattr(module, inputs[name])
    for t in (0.0, 0.7, 3.1):
        expected = given(t) if callable(given) else given
        found = {k: f(t) if callable(f) else f for k, f in model.simulation_settings["u"].items()}
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_example_models_run(path):
    model = pl.load_model(path)
    run = model.simulate(duration=0.5)
    assert run.success, run.message


# ---------------------------------------------------------------- robustness, documentation


JUNK = [
    None,
    True,
    -1,
    float("nan"),
    10**400,
    "junk",
    "X",
    "1/t",
    [],
    [1, "a"],
    [[1, 2], [3]],
    {},
    {"type": "Circle"},
    "arm@2",
]


def paths(content, path=()):
    for key in content if isinstance(content, dict) else range(len(content)):
        yield (*path, key)
        if isinstance(content[key], (dict, list)):
            yield from paths(content[key], (*path, key))


def outcome(content) -> str:
    """What loading gives; anything but a model or a ModelFileError is an error of the loader."""
    try:
        pl.parse_model(content)
    except pl.ModelFileError as error:
        return str(error)
    return ""


def test_junk_anywhere_is_refused_politely():
    content = content_of(pl.io.starter_text("hybrid"))
    refused = 0
    for path in list(paths(content)):
        place = content
        for key in path[:-1]:
            place = place[key]
        before = place[path[-1]]
        for junk in JUNK:
            place[path[-1]] = junk
            refused += bool(outcome(content))
        place[path[-1]] = before
    assert refused > 500
    assert outcome(content) == ""


def test_the_documentation_loads():
    text = (ROOT / "docs" / "model_files.md").read_text(encoding="utf-8").split("```yaml")[1].split("```")[0]
    model = pl.parse_model(text)
    validator().validate(content_of(text))
    assert model.compile().nv == 6 + 1 + 2 + 4 + 4 + 2 + 1
    functions = (ROOT / "docs" / "model_files.md").read_text(encoding="utf-8").split("## Formulas")[1]
    from pliant.io.expressions import FUNCTIONS as known

    assert all(f"{name}," in functions or f"{name}." in functions for name in known)


def test_missing_libraries_are_named(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "ruamel.yaml", None)
    with pytest.raises(ImportError, match=r"pip install 'pliant\[io\]'"):
        pl.parse_model(pl.io.starter_text())
    monkeypatch.setitem(sys.modules, "trimesh", None)
    (tmp_path / "hand.off").write_text("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    with pytest.raises(ImportError, match=r"pip install 'pliant\[mesh\]'"):
        pl.Mesh.from_file(tmp_path / "hand.off")


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"u": lambda t: {"a": t}}, r"simulation\.u is a Python function.*'cable': pl\.Expression"),
        ({"u": {"a": lambda t: t}}, r"simulation\.u\.a is a Python function.*\(1 - t/2\)"),
        ({"motion": {"a": pl.Motion(lambda t: t)}}, r"simulation\.motion\.a\.position is a Python function"),
        ({"events": [lambda state: state.t - 1]}, r"simulation\.events are Python functions"),
    ],
    ids=range(4),
)
def test_settings_with_functions_cannot_be_written(settings, what):
    with pytest.raises(pl.io.WriteError, match=what):
        pl.io.dump_model(robots.cable_driven_manipulator(), simulation={"duration": 1, **settings})
