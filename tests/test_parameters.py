"""Parameters by name: what there is, what changing one does, and that it is what compiling anew gives."""

import copy
import dataclasses
import pickle
import threading

import numpy as np
import pytest

import load_robots
import pliant as pl
import robots

SILICONE = {"young": 1e6, "poisson": 0.5, "density": 1000.0, "viscosity": 1e4}


def arm(
    young=1e6, poisson=0.5, viscosity=1e4, length=0.4, tip=0.01, y=0.008, mass=0.1, side=0.02, density=500.0,
    gravity=-9.81, stiffness=0.5, damping=0.02, x=0.05, k=400.0, drag=1.1, contact=1e4, angle=0.1, tail=0.02,
) -> pl.Robot:  # fmt: skip
    """A robot with one of everything whose numbers are the arguments."""
    robot = pl.Robot("arm", gravity=(0, 0, gravity))
    silicone = pl.Material(young=young, poisson=poisson, density=1000.0, viscosity=viscosity)
    rod = robot.add_rod(
        "rod", length=length, section=pl.Circle((0.02, tip)), material=silicone, strains=pl.Strains.kirchhoff(2),
        joint=pl.Revolute("y", stiffness=stiffness, damping=damping, rest=angle), offset=(x, 0, 0),
    )  # fmt: skip
    box = robot.add_body("box", parent=rod.tip, shape=pl.Box(side, 0.02, 0.03), mass=mass)
    robot.add_body(
        "foot", parent=box, joint=pl.Spherical(), shape=pl.Sphere(0.01), density=density, offset=(0.05, 0, 0)
    )
    robot.add_rod(
        "tail", parent=rod.at(0.4), length=0.2, section=pl.Rectangle(tail, 0.01), material=silicone,
        strains=pl.Strains(bending=2, stretch=1),
    )  # fmt: skip
    robot.add_tendon("cable", rod, y=y)
    robot.add_tendon("wire", rod, z=0.01, control="elastic", stiffness=k)
    robot.add_wrench("weight", box, force=(0, 0, -1.0), constant=True)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.5))
    robot.add_contact("touch", "foot", "floor", stiffness=contact)
    robot.set_fluid(density=1000.0)
    robot.add_hydrodynamics(rod, pl.Hydrodynamics.circular(cy=drag))
    return robot


NAMES = {
    "young": ("rod.young", 2e6),
    "poisson": ("rod.poisson", 0.4),
    "viscosity": ("rod.viscosity", 2e4),
    "length": ("rod.length", 0.5),
    "tip": ("rod.radius.tip", 0.012),
    "y": ("cable.y", 0.009),
    "mass": ("box.mass", 0.2),
    "side": ("box.shape.x", 0.03),
    "density": ("foot.density", 700.0),
    "gravity": ("gravity.z", -1.62),
    "stiffness": ("rod.joint.stiffness", 0.7),
    "damping": ("rod.joint.damping", 0.03),
    "angle": ("rod.joint.rest.angle", 0.3),
    "x": ("rod.offset.x", 0.07),
    "k": ("wire.stiffness", 500.0),
    "contact": ("touch.stiffness", 2e4),
    "drag": ("rod.water.drag.cy", 1.3),
    "tail": ("tail.height", 0.03),
}


def mechanism(
    stiffness=0.5, damping=0.1, rest=0.2, k=30.0, length=0.4, radius=0.1, pitch=0.02, ratio=-2.0, offset=0.1, lower=-0.4, upper=0.5,
    wall=1e3, dissipation=0.2, kp=3.0, X=0.3, place=0.05,
) -> pl.Robot:  # fmt: skip
    """Loops with springs, restraints, couplings and stops, whose numbers are the arguments."""
    robot = pl.Robot("mechanism")
    arm = robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.01), material=pl.Material(**SILICONE), strains=pl.Strains(bending=2)
    )
    for name in ("crank", "rocker"):
        robot.add_body(name, joint=pl.Revolute("z"), mass=1.0, com=(0.1, 0, 0))
    robot.add_body("puck", joint=pl.Free(), shape=pl.Sphere(0.1), mass=1.0)
    pin = pl.Cylindrical("z", stiffness=[stiffness, 2.0], damping=damping, rest=[rest, 0.0])
    robot.add_loop("pin", arm.at(X, (place, 0, 0)), "crank", joint=pin)
    robot.add_loop("guide", "rocker", "puck", joint=pl.Slot("x", stiffness=k))
    robot.add_loop("screw", "crank", "puck", joint=pl.Helical("x", pitch))
    robot.add_loop("strut", "rocker", arm.tip, joint=pl.Distance(length))
    robot.add_loop("floor", "world", "puck", joint=pl.Rolling(radius, axis="y"))
    robot.add_coupling("gear", {"crank": 1.0, "rocker": ratio}, offset=offset)
    robot.add_stop("end", "pin", lower=lower, upper=upper, stiffness=wall, dissipation=dissipation)
    robot.add_motor("servo", "guide", control="position", kp=kp)
    return robot


CLOSING = {
    "stiffness": ("pin.joint.stiffness.angle", 0.6, "N m/rad"),
    "damping": ("pin.joint.damping", 0.2, ""),
    "rest": ("pin.joint.rest.angle", 0.0, "rad"),
    "k": ("guide.joint.stiffness", 0.0, "N/m"),
    "length": ("strut.joint.length", 0.5, "m"),
    "radius": ("floor.joint.radius", 0.2, "m"),
    "pitch": ("screw.joint.pitch", -0.02, "m"),
    "ratio": ("gear.ratio.rocker", 3.0, ""),
    "offset": ("gear.offset", 0.0, ""),
    "lower": ("end.lower", -0.6, ""),
    "upper": ("end.upper", 0.7, ""),
    "wall": ("end.stiffness", 2e3, ""),
    "dissipation": ("end.dissipation", 0.0, ""),
    "kp": ("servo.kp", 4.0, ""),
    "X": ("pin.a.X", 0.55, "–"),
    "place": ("pin.a.offset.x", 0.07, "m"),
}
SHARED = ("young", "poisson", "viscosity")  # material of both rods


def everything(system: pl.System) -> dict[str, np.ndarray]:
    """All that kernels read."""
    out = {"ints": system._pool.ints, "floats": system._pool.floats, "blank": system._pool.blank}
    return out | {"known": system.known, "K": system.stiffness_matrix(), "D": system.damping_matrix()}


def same(one: pl.System, other: pl.System) -> None:
    """Equal tables, names and description."""
    left, right = everything(one), everything(other)
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)
    assert one._pool.size == other._pool.size
    assert (one.dof_names, one.input_names, one.nq) == (other.dof_names, other.input_names, other.nq)
    assert one._elimination.local == other._elimination.local
    assert dict(one.parameters) == dict(other.parameters)


@pytest.fixture(scope="module")
def system() -> pl.System:
    return arm().compile()


@pytest.mark.parametrize("what", NAMES)
def test_a_parameter_equals_another_argument(system, what):
    """What a user would have written instead."""
    name, value = NAMES[what]
    values = {name: value}
    if what in SHARED:
        values[name.replace("rod", "tail")] = value
    if what == "drag":  # the same law gives added mass, on which this coefficient has no effect
        values[name.replace("drag", "added_mass")] = value
    expected = arm(**{what: value}).compile()
    same(system.with_parameters(values), expected)
    same(arm().with_parameters(values).compile(), expected)
    assert system.with_parameters(values).parameters[name] == value
    assert system.parameters[name] != value


@pytest.mark.parametrize("what", CLOSING)
def test_a_parameter_of_what_closes_the_tree(what):
    name, value, unit = CLOSING[what]
    system, expected = mechanism().compile(), mechanism(**{what: value}).compile()
    same(system.with_parameters({name: value}), expected)
    same(mechanism().with_parameters({name: value}).compile(), expected)
    assert system.parameters.units[name] == unit
    assert system.parameters[name] != value


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("strut.joint.length", -1.0, "parameter 'strut.joint.length' = -1.0: Distance.length = -1.0 is not allowed"),
        ("gear.ratio.crank", 0.0, "parameter 'gear.ratio.crank' = 0.0: ratio of 'crank' = 0 is not allowed"),
        ("gear.offset", np.nan, "parameter 'gear.offset' = nan: offset = nan"),
        ("end.lower", 0.6, "parameter 'end.lower' = 0.6: lower = 0.6 and upper = 0.5 are not allowed"),
        ("pin.joint.damping", -1.0, "parameter 'pin.joint.damping' = -1.0"),
    ],
)
def test_refusals_of_what_closes_the_tree(name, value, message):
    with pytest.raises(ValueError, match=message):
        mechanism().with_parameters({name: value})


def test_many_at_once_and_one_after_the_other(system):
    values = dict(NAMES.values())
    at_once = system.with_parameters(values)
    one_by_one = system
    for name, value in values.items():
        one_by_one = one_by_one.with_parameters({name: value})
    same(at_once, one_by_one)
    same(at_once, arm().with_parameters(values).compile())


def collected() -> dict[str, pl.Robot]:
    found = {}
    for module in (robots, load_robots):
        for name, function in vars(module).items():
            if callable(function) and getattr(function, "__module__", "") == module.__name__:
                try:
                    made = function()
                except TypeError:
                    continue
                made = made.robot if isinstance(made, pl.System) else made
                if isinstance(made, pl.Robot):
                    found[name] = made
    return found


ROBOTS = {**collected(), "mechanism": mechanism()}


def attempt(make):
    """What a function makes, or nothing and why it refuses."""
    try:
        return make(), ""
    except ValueError as error:
        return None, str(error)


@pytest.mark.parametrize("name", ROBOTS)
def test_every_parameter_of_every_robot(name):
    """The result of changing any number equals a fresh compile bit by bit; what is refused is refused by both."""
    robot = ROBOTS[name]
    system = robot.compile()
    assert len(system.parameters) > 5
    for parameter, value in system.parameters.items():
        other = value * 1.01 if value else 1e-3
        expected, refusal = attempt(lambda: robot.with_parameters({parameter: other}).compile())  # noqa: B023
        changed, same_refusal = attempt(lambda: system.with_parameters({parameter: other}))  # noqa: B023
        assert refusal == same_refusal
        if not refusal:
            same(changed, expected)


def test_the_old_system_stays(system):
    q = system.random(0, scale=0.2)
    before = system.residual(q, np.zeros(system.nv), np.zeros(system.nv))
    other = system.with_parameters({"rod.young": 3e6, "rod.length": 0.6})
    assert np.abs(other.residual(q, np.zeros(system.nv), np.zeros(system.nv)) - before).max() > 1e-3
    np.testing.assert_array_equal(system.residual(q, np.zeros(system.nv), np.zeros(system.nv)), before)
    assert system.robot.parameters["rod.length"] == 0.4


def test_answers_follow():
    """The frequency of a cantilever grows with the root of its modulus, its statics with its length to the fourth."""
    robot = pl.Robot("beam")
    robot.add_rod(
        "beam", length=0.3, section=pl.Circle(0.01), material=pl.Material(1e9, poisson=0.3, density=1000),
        strains=pl.Strains(bending=6),
    )  # fmt: skip
    system = robot.compile()

    def first(system):
        return pl.modes(system, pl.solve_statics(system)).frequencies[0]

    stiff = system.with_parameters({"beam.young": 4e9})
    assert first(stiff) / first(system) == pytest.approx(2.0, rel=1e-3)
    sag = [
        pl.solve_statics(s).q @ s.jacobian("beam.tip", s.neutral())[5]
        for s in (stiff, stiff.with_parameters({"beam.length": 0.15}))
    ]
    assert sag[0] / sag[1] == pytest.approx(16.0, rel=1e-3)


def test_companions_and_results_are_of_the_new_system(system):
    changed = system.with_parameters({"rod.young": 5e5})
    assert changed.companion is not system.companion
    rest = pl.solve_statics(changed)
    assert rest.success
    fresh = arm().with_parameters({"rod.young": 5e5}).compile()
    np.testing.assert_array_equal(rest.q, pl.solve_statics(fresh).q)


def test_travels(system):
    changed = system.with_parameters({"rod.young": 5e5, "cable.y": 0.01})
    for other in (copy.copy(changed), copy.deepcopy(changed), pickle.loads(pickle.dumps(changed))):
        same(other, changed)


def test_from_threads(system):
    out: dict[int, pl.System] = {}

    def work(k: int) -> None:
        for _ in range(20):
            out[k] = system.with_parameters({"rod.young": 1e6 + k, "rod.length": 0.4 + 0.01 * k})

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, changed in out.items():
        same(changed, arm().with_parameters({"rod.young": 1e6 + k, "rod.length": 0.4 + 0.01 * k}).compile())


def test_list_and_units(system):
    parameters = system.parameters
    assert parameters.units["rod.young"] == "Pa"
    assert parameters.units["rod.joint.stiffness"] == "N m/rad"
    assert parameters.units["gravity.z"] == "m/s²"
    assert "rod.radius.tip" in repr(parameters)
    assert len(parameters) == len(list(parameters)) == len(parameters.units)
    assert repr(pl.Robot("empty", gravity=(0, 0, 0)).parameters).startswith("gravity.x")


def test_units_are_known():
    """A number without a unit in the list has one that depends on something else, and these are few."""
    without = {
        name.split(".")[-1]
        for robot in [*ROBOTS.values(), arm()]
        for name, unit in robot.parameters.units.items()
        if not unit
    }
    known = {"kp", "kd", "limit", "stiffness", "damping", *"xyz", *pl.model.rods.strains.STRAIN_NAMES}
    known |= {"lower", "upper", "dissipation", "offset", "crank", "rocker"}  # of stops and couplings
    assert without <= known, without


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"rod.yong": 1e6}, KeyError, "did you mean 'rod.young'"),
        ({"rod.young": -1.0}, ValueError, "parameter 'rod.young' = -1.0: Material.young"),
        ({"rod.young": "soft"}, TypeError, "parameter 'rod.young' = 'soft' must be one number"),
        ({"rod.young": True}, TypeError, "must be one number"),
        ({"rod.young": [1e6, 2e6]}, TypeError, "must be one number"),
        ({"rod.young": float("nan")}, ValueError, "finite"),
        ({"rod.length": 0.0}, ValueError, "parameter 'rod.length' = 0.0: length"),
        ({"box.mass": -1.0}, ValueError, "parameter 'box.mass'"),
        ({"rod.radius.tip": -0.01}, ValueError, "parameter 'rod.radius.tip'"),
        ({"cable.y": 0.011}, ValueError, "tendon 'cable': its offset 0.011 m"),
        ({"rod.radius.tip": 0.0075}, ValueError, "tendon 'cable': its offset 0.008 m"),
        ({3: 1.0}, KeyError, "no parameter named '3'"),
    ],
)
def test_refusals(system, values, error, message):
    with pytest.raises(error, match=message.replace("(", r"\(")):
        system.with_parameters(values)
    with pytest.raises(error, match=message.replace("(", r"\(")):
        system.robot.with_parameters(values)


def test_nothing_changed_is_equal(system):
    same(system.with_parameters({}), system)
    same(system.with_parameters(dict(list(system.parameters.items())[:8])), system)


def test_functions_of_X_stay_and_their_rods_are_compiled_anew():
    def build(young=1e6):
        robot = pl.Robot("wavy")
        robot.add_rod(
            "rod", length=0.4, section=pl.Circle(_wave), material=pl.Material(young, poisson=0.4, density=900),
            strains=pl.Strains.kirchhoff(2),
        )  # fmt: skip
        return robot.compile()

    same(build().with_parameters({"rod.young": 3e6}), build(3e6))


def _wave(X):
    return 0.01 + 0.002 * np.sin(7 * X)


def test_descriptions_are_untouched():
    robot = arm()
    before = {f.name: getattr(robot.links[0].content, f.name) for f in dataclasses.fields(robot.links[0].content)}
    robot.with_parameters(dict(NAMES.values()))
    for name, value in before.items():
        assert getattr(robot.links[0].content, name) is value
