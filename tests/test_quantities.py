"""Every quantity of `pliant.costs`, every sensor: derivatives on robots with ball joints and free bases, off neutral and in motion.

A quantity that is public and stands in no list here fails `test_every_quantity_stands_here`.
"""

import inspect

import numpy as np
import pytest

import pliant as pl
from pliant import costs
from pliant.control.laws.outputs import Outputs
from pliant.estimation.readings import Readings
from robots import SILICONE
from test_costs import check, difference, direction, motion


def floating(elastic=True):
    """A free hull, two rods and a fin on ball joints, a wheel in a universal joint: cables of every kind from link to link, contact with what moves."""
    robot = pl.Robot("floating", gravity=(1.0, -2.0, -9.0))
    hull = robot.add_body("hull", joint=pl.Free(), shape=pl.Box(0.3, 0.2, 0.1), mass=2.0, com=(0.02, 0.01, 0.0))
    tail = robot.add_rod(
        "tail", parent=hull, offset=pl.translate(0.1, 0, 0) @ pl.rotate("y", 0.4), length=0.6, section=pl.Circle(0.02),
        offset_after=pl.translate(0.02, 0.01, 0.0) @ pl.rotate("z", 0.2), material=SILICONE,
        strains=pl.Strains(torsion=1, bending=2, stretch=1, shear=0), joint=pl.Spherical(stiffness=0.3), reference_strain=(0, 0.5, 0, 1, 0, 0),
    )  # fmt: skip
    arm = robot.add_rod(
        "arm", parent=tail.at(0.5), offset=pl.rotate("x", 0.7), length=0.4, section=pl.Circle((0.02, 0.01)), material=SILICONE,
        strains=pl.Strains.kirchhoff(1), joint=pl.Universal("y", "z"),
    )  # fmt: skip
    fin = robot.add_body("fin", parent=tail, joint=pl.Spherical(), shape=pl.Box(0.1, 0.1, 0.01), mass=0.2)
    robot.add_body(
        "wheel", parent=fin, joint=pl.Revolute("x", stiffness=0.5), offset=(0.1, 0, 0), shape=pl.Sphere(0.05), mass=0.1
    )
    law = {"control": "elastic", "stiffness": 300.0, "damping": 2.0} if elastic else {}
    ways = {
        "base to ball": [hull.at((0.1, 0.05, 0.03)), fin.at((0.02, 0.03, 0.01))],
        "across": [hull.at((-0.1, 0.02, 0.0)), pl.Along("tail", z=0.015), fin.at((0.05, 0.0, 0.02))],
        "to the world": [robot.add_frame("post", None, offset=(0.3, 1.0, 0.5)), arm.at(0.6)],
        "within": [pl.Along("arm", y=(0.01, 0.004))],
    }
    for name, way in ways.items():
        robot.add_tendon(name, way, **law)
    if elastic:
        robot.add_tendon("rough", "arm", z=0.005, control="elastic", stiffness=100.0, friction=0.2)
    robot.add_tendon("pulled", "tail", z=-0.015)
    robot.add_push_rod("pushed", "tail", y=0.01)
    robot.add_chamber("blown", "tail", y=-0.01, area=1e-4)
    robot.add_motor("motor", "wheel")
    return robot.compile()


def swimming():
    """Another one in water, with contact of all kinds: with the world, with what moves, between rods."""
    robot = pl.Robot("swimming")
    hull = robot.add_body("hull", joint=pl.Free(), shape=pl.Box(0.1, 0.08, 0.06), mass=0.4)
    lid = robot.add_body(
        "lid", parent=hull, joint=pl.Spherical(), offset=(0.05, 0, 0.03), shape=pl.Sphere(0.03), mass=0.1
    )
    options = {"section": pl.Circle(0.012), "material": SILICONE, "strains": pl.Strains.reissner(1), "points": 8}
    robot.add_rod(
        "a", parent=hull, offset=(0.05, -0.03, 0.0), length=0.35, joint=pl.Spherical(stiffness=1.0), **options
    )
    robot.add_rod("b", parent=lid, offset=pl.translate(0.02, 0.03, 0.0) @ pl.rotate("z", -0.4), length=0.3, **options)
    robot.set_fluid(density=1000.0)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.01))
    robot.add_obstacle("shield", pl.Sphere(0.06), parent="lid", pose=(0.04, 0, 0))
    law = {"stiffness": 800.0, "friction": 0.5, "slip_speed": 0.02}
    robot.add_contact("a on floor", "a", "floor", damping=0.4, **law)
    robot.add_contact("hull on floor", "hull", "floor", damping=0.4, **law)
    robot.add_contact("a on shield", "a", "shield", damping=0.4, **law)
    robot.add_contact("b with a", "b", "a", damping=0.4, **law)
    return robot.compile()


CAMERA = pl.translate(0, 0, -5.0) @ pl.rotate("x", 0.1)
SEEING = pl.Frame("hull", offset=pl.translate(0, 0, -5.0))
ROBOTS = {"floating": floating, "swimming": swimming, "pulled": lambda: floating(elastic=False)}
QUANTITIES = {
    "Position": ("floating", costs.Position("wheel")),
    "Orientation": ("floating", costs.Orientation("wheel", pl.rotate((1, 2, 3), 0.7))),
    "Velocity": ("floating", costs.Velocity("arm.tip")),
    "AngularVelocity": ("floating", costs.AngularVelocity("wheel")),
    "FramePose": ("floating", costs.FramePose("arm.tip", pl.rotate((1, 2, 3), 0.7))),
    "IMU": ("floating", costs.IMU("wheel")),
    "Image": ("floating", costs.Image(CAMERA, ["wheel", "arm.tip", (0.1, 0.2, 0.3)], focal=3.0)),
    "Image from the robot": ("floating", costs.Image(SEEING, ["wheel", (0.5, 0.2, 0.1)])),
    "Coordinates": ("floating", costs.Coordinates(["wheel", "tail.bending_y[1]", "arm"])),
    "Rates": ("floating", costs.Rates()),
    "Inputs": ("floating", costs.Inputs()),
    "InputRates": ("floating", costs.InputRates()),
    "Deviation": ("floating", None),  # from a state of that robot
    "Strain": ("floating", costs.Strain("tail", [0.2, 0.9])),
    "Curvature": ("floating", costs.Curvature("arm", [0.1, 0.8])),
    "StrainGauge": ("floating", costs.StrainGauge("tail", [0.1, 0.5], [0.01, 0.0], [0.0, 0.02])),
    "TendonLength": ("floating", costs.TendonLength()),
    "TendonTension": ("floating", costs.TendonTension()),
    "Energy": ("floating", costs.Energy()),
    "Energy, kinetic": ("swimming", costs.Energy("kinetic")),
    "Energy, gravitational": ("swimming", costs.Energy("gravitational")),
    "Energy, elastic": ("floating", costs.Energy("elastic")),
    "CenterOfMass": ("floating", costs.CenterOfMass()),
    "Clearance": ("swimming", costs.Clearance()),
    "ContactForce": ("swimming", costs.ContactForce()),
    "Function": (
        "floating",
        costs.Function(lambda s: (np.sum(s.v**2, axis=1, keepdims=True), None, 2.0 * s.v[:, None, :], None)),
    ),
    "ActuationCoordinates": ("pulled", None),
}
SENSORS = [
    ("position", pl.Sensor.position("wheel", (1.0, 2.0, -1.0))),
    ("angle", pl.Sensor.angle("arm.tip", about=(0.2, 1.0, 0.3))),
    ("length", pl.Sensor.length("across")),
    ("coordinate", pl.Sensor.coordinate("wheel.angle")),
]
ARITHMETIC = {"LocalQuantity", "Quantity"}  # what all of them share; `test_costs` has what arithmetic makes of them


@pytest.fixture(scope="module")
def systems():
    return {name: make() for name, make in ROBOTS.items()}


def state_of(system):
    """States in motion, far from neutral; those of the robot that touches so that everything touches."""
    if system.name == "floating":
        return motion(system, rows=3, seed=3, scale=0.4)
    rng = np.random.default_rng(5)
    q = np.array(
        [
            system.integrate(system.neutral(), 0.02 * system.internal.scale * rng.normal(size=system.nv))
            for _ in range(3)
        ]
    )
    return costs.States(system, np.arange(3.0), q, 0.3 * rng.normal(size=(3, system.nv)), np.zeros((3, system.nu)))


def quantity_of(name, system):
    if name == "Deviation":
        rng = np.random.default_rng(9)
        return costs.Deviation(system.random(rng, scale=0.4), rng.normal(size=system.nv))
    if name == "ActuationCoordinates":
        return pl.control.ActuationCoordinates(system)
    return QUANTITIES[name][1]


def test_every_quantity_stands_here():
    for module in (costs, pl.control):
        public = {
            name
            for name in module.__all__
            if inspect.isclass(getattr(module, name)) and issubclass(getattr(module, name), costs.Quantity)
        }
        assert public - ARITHMETIC <= set(QUANTITIES)
    sensors = {name for name, x in vars(pl.Sensor).items() if isinstance(x, classmethod)}
    assert sensors == {name for name, _sensor in SENSORS}


@pytest.mark.parametrize("name", QUANTITIES)
def test_a_quantity_over_ball_joints_and_free_bases(systems, name):
    system = systems[QUANTITIES[name][0]]
    states = state_of(system)
    touches = QUANTITIES[name][0] == "swimming" and name.startswith("C")
    options = {"steps": (1e-6, 3e-6, 1e-5, 3e-5), "tolerance": 1e-8} if touches else {"steps": (3e-4, 1e-3, 2e-3, 4e-3)}
    quantity = quantity_of(name, system)
    check(quantity, states, **options)
    found = quantity.evaluate(states)
    assert np.any(found.value[1:])


def test_actuation_coordinates_do_the_work_of_the_inputs(systems):
    system = systems["pulled"]
    states = state_of(system)
    slopes = pl.control.ActuationCoordinates(system).evaluate(states).slopes()[0]
    for q, u, slope in zip(states.q, states.u, slopes):
        power = system.residual(q, np.zeros(system.nv), np.zeros(system.nv), 0 * u) - system.residual(
            q, np.zeros(system.nv), np.zeros(system.nv), u
        )
        np.testing.assert_allclose(u @ slope, power, atol=1e-9 * np.abs(power).max())


@pytest.mark.parametrize(("name", "sensor"), SENSORS)
def test_a_sensor_over_ball_joints_and_free_bases(systems, name, sensor):
    system = systems["floating"]
    states = state_of(system)
    d = direction(states)
    for k, q in enumerate(states.q):
        slope = sensor.function(system, q)[1] @ d.q[k]
        h = 1e-3
        f = [sensor.function(system, system.integrate(q, c * h * d.q[k]))[0] for c in (-2, -1, 1, 2)]
        assert (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h) == pytest.approx(slope, rel=1e-8, abs=1e-9)
        bent = sensor.slope_of_rate(system, q, states.v[k]) @ d.q[k]
        f = [sensor.function(system, system.integrate(q, c * h * d.q[k]))[1] @ states.v[k] for c in (-2, -1, 1, 2)]
        assert (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h) == pytest.approx(
            bent, rel=1e-5, abs=1e-6
        )  # a difference, as it says


def test_outputs_over_ball_joints_and_free_bases(systems):
    system = systems["floating"]
    states = state_of(system)
    outputs = Outputs(
        "y", system, costs.stack(costs.Position("wheel"), costs.Orientation("arm.tip"), costs.TendonLength())
    )
    for q, v in zip(states.q, states.v):
        found = outputs.at(q, v)
        h = 1e-3 / np.abs(v).max()
        f = [outputs.slopes(system.integrate(q, c * h * v))[1] @ v for c in (-2, -1, 1, 2)]
        drift = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)
        np.testing.assert_allclose(found.drift, drift, atol=3e-8 * np.abs(drift).max())
        np.testing.assert_allclose(found.rate, found.J @ v, rtol=1e-14)


def test_readings_over_ball_joints_and_free_bases(systems):
    """What estimators linearise: the slopes of all quantities together are those of differences, by q, v and u."""
    system = systems["floating"]
    states = state_of(system)
    d = direction(states)
    chosen = [
        quantity_of(name, system).measured(0.01, name)
        for name, (robot, _quantity) in QUANTITIES.items()
        if robot == "floating" and name != "InputRates"
    ]
    readings = Readings(system, chosen)
    for k in range(len(states)):
        at = float(states.t[k])
        q, v, u = states.q[k], states.v[k], states.u[k]
        slopes = tuple(np.zeros((len(readings), n)) for n in (system.nv, system.nv, system.nu))
        value = readings.predict(system, at, q, v, u, slopes)
        np.testing.assert_allclose(value, readings.value(system, at, q, v, u), rtol=1e-13, atol=1e-13)
        along = sum(slope @ x[k] for slope, x in zip(slopes, d))
        row = states.rows(np.array([k]))
        part = costs.Variation(*(x[k : k + 1] for x in d))
        size = 1e-3 * np.abs(along).max() + np.abs(along)

        def value_at(s, at=at):
            return readings.value(system, at, s.q[0], s.v[0], s.u[0])

        errors = [np.abs(difference(value_at, row, part, h) - along) / size for h in (3e-4, 1e-3, 2e-3, 4e-3)]
        assert np.min(errors, axis=0).max() < 1e-6


def test_the_force_of_a_contact_with_restitution_is_no_function_of_the_state():
    """It was 3.6 N where 8.9 N act: the damping of restitution was left out."""
    robot = pl.Robot("marble")
    marble = robot.add_body("marble", joint=pl.Prismatic("z"), shape=pl.Sphere(0.01), mass=0.02)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.0099))
    robot.add_contact("bouncing", marble, "floor", stiffness=1e5, restitution=0.5)
    system = robot.compile()
    still = costs.States.at_rest(system, [-0.001])
    assert costs.ContactForce().evaluate(still).value[0, 0] == system.contacts(still.q[0]).normal_force.sum()
    with pytest.raises(ValueError, match="'bouncing' has restitution"):
        costs.ContactForce().evaluate(costs.States(system, [0.0], [[-0.001]], [[-0.5]], [[]]))


@pytest.mark.parametrize("name", ["TendonLength", "TendonTension"])
def test_quantities_of_push_rods_and_chambers(systems, name):
    """Signs and weights: the length of a push rod counts as negative, of a chamber its volume."""
    system = systems["floating"]
    states = state_of(system)
    check(getattr(costs, name)(["pushed", "blown", "pulled"]), states, steps=(3e-4, 1e-3, 2e-3, 4e-3))
