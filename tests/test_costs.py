"""Costs: every quantity with its derivatives against differences, every penalty, times, sums, and refusals."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant import costs
from pliant.gradients.costs.frames import inverse_tangents, rotation_vectors
from pliant.gradients.costs.states import total
from robots import SILICONE, random_robot
from test_contacts import everything
from test_contacts import state as touching_state

STEPS = (1e-3, 2e-3, 4e-3, 8e-3)


def manipulator():
    """A rod with cables on a hinge, and a second rod on its tip."""
    robot = pl.Robot("manipulator")
    robot.add_rod(
        "arm", length=0.5, section=pl.Circle((0.03, 0.015)), material=SILICONE, joint=pl.Revolute("z"),
        strains=pl.Strains(torsion=2, bending=3, stretch=1, shear=1), reference_strain=(0, 0.5, 0, 1, 0, 0),
    )  # fmt: skip
    robot.add_rod(
        "hand", parent="arm", length=0.2, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.kirchhoff(1)
    )
    for name, y, z in (("left", 0.01, 0.0), ("right", -0.01, 0.0), ("top", 0.0, 0.012)):
        robot.add_tendon(name, "arm", y=y, z=z)
    robot.add_motor("hinge", "arm")
    return robot.compile()


def tree():
    """A floating tree: a body in space, rods and spherical joints on it, springs at some of them."""
    robot = pl.Robot("tree", gravity=(1.0, -2.0, -9.0))
    hull = robot.add_body("hull", joint=pl.Free(), shape=pl.Box(0.3, 0.2, 0.1), mass=2.0, com=(0.02, 0.01, 0.0))
    robot.add_rod(
        "tail", parent=hull, offset=pl.translate(0.1, 0, 0) @ pl.rotate("y", 0.4), length=0.6, section=pl.Circle(0.02),
        material=SILICONE, strains=pl.Strains(torsion=1, bending=2, stretch=1), joint=pl.Spherical(stiffness=0.3),
    )  # fmt: skip
    robot.add_body("fin", parent="tail", joint=pl.Revolute("y", stiffness=0.5), shape=pl.Box(0.1, 0.1, 0.01), mass=0.2)
    robot.add_tendon("cord", "tail", z=0.015)
    return robot.compile()


def swimmer():
    """The same in water: added mass and buoyancy."""
    robot = pl.Robot("swimmer")
    robot.add_body("hull", joint=pl.Free(), shape=pl.Box(0.3, 0.2, 0.1), mass=2.0, com=(0.02, 0.01, 0.0))
    robot.add_rod(
        "tail", parent="hull", length=0.6, section=pl.Circle(0.02), material=SILICONE, strains=pl.Strains.kirchhoff(1)
    )
    robot.set_fluid(density=1000.0)
    return robot.compile()


def motion(system, rows=4, seed=0, scale=0.5):
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.uniform(0.05, 0.15, size=rows))
    q = np.array([system.random(rng, scale=scale) for _ in range(rows)])
    return costs.States(system, t, q, rng.normal(size=(rows, system.nv)), rng.uniform(1.0, 3.0, size=(rows, system.nu)))


def direction(states, seed=1):
    rng = np.random.default_rng(seed)
    T, system = len(states), states.system
    return costs.Variation(*(rng.normal(size=(T, n)) for n in (system.nv, system.nv, system.nu)))


def moved(states, d, h):
    q = np.array([states.system.integrate(a, h * b) for a, b in zip(states.q, d.q)])
    return replace(states, q=q, v=states.v + h * d.v, u=states.u + h * d.u)


def difference(function, states, d, h):
    f = [function(moved(states, d, k * h)) for k in (-2, -1, 1, 2)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)


def check(quantity, states, tolerance=1e-8, steps=STEPS):
    """Value, push and pull: adjoint to each other, equal to differences, and the same on some rows as on all."""
    found = quantity.evaluate(states)
    m = quantity.size(states.system)
    assert found.value.shape == (len(states), m)
    d = direction(states)
    pushed = found.push(d)
    w = np.random.default_rng(2).normal(size=found.value.shape)
    pulled = found.pull(w)
    forward = np.sum(w * pushed)
    back = sum(np.sum(a * b) for a, b in zip(pulled, d))
    assert abs(forward - back) <= 1e-12 * max(1e-12, np.sum(np.abs(w * pushed)))
    errors = [np.abs(difference(lambda s: quantity.evaluate(s).value, states, d, h) - pushed).max() for h in steps]
    assert min(errors) <= tolerance * np.abs(pushed).max(), errors
    some = np.array([1, 3])[: max(1, len(states) // 2)] % len(states)
    part = quantity.evaluate(states, some)
    np.testing.assert_allclose(part.value, found.value[some], rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(part.push(d), pushed[some], rtol=1e-12, atol=1e-13 * np.abs(pushed).max())
    masked = np.zeros_like(w)
    masked[some] = w[some]
    for a, b in zip(part.pull(w[some]), found.pull(masked)):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13 * max(1e-300, np.abs(b).max(initial=0.0)))


@pytest.fixture(scope="module")
def arm():
    return manipulator()


@pytest.fixture(scope="module")
def floating():
    return tree()


MANIPULATOR = {
    "position": costs.Position("hand.tip"),
    "orientation": costs.Orientation("hand.tip", pl.rotate((1, 2, 3), 0.7)),
    "velocity": costs.Velocity("hand.tip"),
    "angular velocity": costs.AngularVelocity("hand.tip"),
    "coordinates": costs.Coordinates(),
    "coordinates of a link": costs.Coordinates(["hand", "arm.bending_y[1]"]),
    "rates": costs.Rates(["arm", "arm.bending_y[1]"]),
    "tendons": costs.TendonLength(),
    "a tendon": costs.TendonLength(["top", "left"]),
    "strain": costs.Strain("arm", [0.2, 0.9], ["stretch", "torsion"]),
    "curvature": costs.Curvature("hand", 0.3),
    "gauges": costs.StrainGauge("arm", [0.1, 0.5, 0.5], [0.01, 0.0, -0.02], [0.0, 0.02, 0.01]),
    "tensions": costs.TendonTension(["top", "left"]),
    "pose": costs.FramePose("hand.tip", pl.rotate((1, 2, 3), 0.7)),
    "inertial unit": costs.IMU("hand.tip"),
    "kinetic": costs.Energy("kinetic"),
    "elastic": costs.Energy("elastic"),
    "gravitational": costs.Energy("gravitational"),
    "total": costs.Energy(),
    "centre of mass": costs.CenterOfMass(),
    "inputs": costs.Inputs(["top", "hinge"]),
    "input rates": costs.InputRates(["top", "hinge"]),
    "shifted": costs.Position("hand.tip") - (lambda t: (t, 2 * t, 0.1)),
    "signal": costs.Position("hand.tip") - pl.Signal([0, 1], [(0, 0, 0), (1, 2, 3)]),
    "scaled": 3.0 * costs.Position("hand.tip") / np.array([1.0, 2.0, 3.0]),
    "mapped": np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]) @ costs.Velocity("hand.tip"),
    "difference": costs.Position("hand.tip") - 2.0 * costs.Position("arm.tip"),
    "entries": (1.0 - costs.Position("hand.tip"))[[2, 0]],
    "slice": costs.Coordinates("hand")[1:],
    "stack": costs.stack(costs.Position("hand.tip"), costs.Inputs(), costs.Rates("hand")),
    "norm": costs.Position("hand.tip").norm(),
}
FLOATING = {
    "position": costs.Position("fin"),
    "orientation": costs.Orientation("fin", pl.rotate((1, 2, 3), 0.7).rotation),
    "velocity": costs.Velocity("tail.tip"),
    "angular velocity": costs.AngularVelocity("fin"),
    "velocity of the base": costs.Velocity("hull"),
    "coordinates": costs.Coordinates("fin"),
    "rates": costs.Rates(),
    "tendon": costs.TendonLength("cord"),
    "curvature": costs.Curvature("tail", [0.0, 1.0]),
    "pose": costs.FramePose("fin", pl.rotate((1, 2, 3), 0.7)),
    "inertial unit": costs.IMU("fin"),
    "inertial unit on the base": costs.IMU("hull"),
    "inertial unit on the rod": costs.IMU("tail.tip"),
    "kinetic": costs.Energy("kinetic"),
    "elastic": costs.Energy("elastic"),
    "gravitational": costs.Energy("gravitational"),
    "centre of mass": costs.CenterOfMass(),
    "relative": costs.Position("fin") - costs.Position("hull"),
}


@pytest.mark.parametrize("name", MANIPULATOR)
def test_a_quantity_of_a_manipulator(arm, name):
    check(MANIPULATOR[name], motion(arm))


@pytest.mark.parametrize("name", MANIPULATOR)
def test_a_quantity_of_one_state(arm, name):
    states = motion(arm, rows=1)
    if MANIPULATOR[name].per_step:
        assert not np.any(MANIPULATOR[name].evaluate(states).value)
    else:
        check(MANIPULATOR[name], states)


@pytest.mark.parametrize("name", FLOATING)
def test_a_quantity_of_a_floating_tree(floating, name):
    check(FLOATING[name], motion(floating))


@pytest.mark.parametrize("seed", [1, 5, 12])
def test_quantities_of_random_robots(seed):
    system = random_robot(seed).compile()
    states = motion(system, scale=0.3)
    for frame in (system.links[0], system.links[-1]):
        if np.any(system.jacobian(frame, states.q[0])):
            check(costs.Position(frame), states, 3e-8)
            check(costs.Velocity(frame), states, 3e-8)
            check(costs.AngularVelocity(frame) + costs.Orientation(frame), states, 3e-8)
    check(costs.Energy("kinetic"), states, 3e-8)
    check(costs.Energy("gravitational"), states, 3e-8)
    check(costs.CenterOfMass(), states, 3e-8)


def test_energies_in_water():
    states = motion(swimmer())
    check(costs.Energy("kinetic"), states)
    check(costs.Energy("gravitational"), states)


@pytest.fixture(scope="module")
def touching():
    return everything()


@pytest.mark.parametrize("seed", range(4))
def test_contacts(touching, seed):
    """Every kind of contact, damped: obstacles in the world and on links, rods with themselves and with each other."""
    q, v = touching_state(touching, seed)
    states = costs.States(touching, [0.0], [q], [v], [[]])
    found = touching.contacts(q, v)
    forces = costs.ContactForce()
    for k, name in enumerate(touching.robot.contacts):
        total_force = found.of(name).normal_force.sum()
        assert forces.evaluate(states).value[0, k] == pytest.approx(total_force, rel=1e-12, abs=1e-15)
    check(forces, states, steps=(1e-6, 3e-6, 1e-5), tolerance=1e-9)
    for name in touching.robot.contacts:
        gap = costs.Clearance(name)
        value = gap.evaluate(states).value[0]
        assert np.sum(value < 0) == len(found.of(name))
        np.testing.assert_allclose(np.sort(value[value < 0]), np.sort(found.of(name).gap), rtol=1e-14)
        check(gap, states, steps=(1e-6, 3e-6, 1e-5, 1e-4), tolerance=3e-9)


def test_names_of_contacts(touching):
    q, v = touching_state(touching, 0)
    states = costs.States(touching, [0.0], [q], [v], [[]])
    assert costs.ContactForce("floor").size(touching) == 2
    assert costs.ContactForce(["a on floor", "lid"]).size(touching) == 2
    assert costs.Clearance("floor").evaluate(states).value.shape == (1, costs.Clearance("floor").size(touching))
    with pytest.raises(KeyError, match="did you mean 'floor'"):
        costs.Clearance("flor").evaluate(states)


def cords():
    """Elastic cables with damping, along rods and straight between them, and one that is pulled."""
    robot = pl.Robot("cords")
    arm = robot.add_rod(
        "arm", length=0.5, section=pl.Circle((0.03, 0.015)), material=SILICONE, joint=pl.Revolute("z"),
        strains=pl.Strains(torsion=2, bending=3, stretch=1, shear=1), reference_strain=(0, 0.5, 0, 1, 0, 0),
    )  # fmt: skip
    robot.add_rod(
        "hand", parent="arm", length=0.2, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.kirchhoff(1)
    )
    robot.add_tendon("left", "arm", y=0.01, control="elastic", stiffness=300.0, damping=2.0)
    way = [arm.at(0.1), pl.Along("hand", z=0.01)]
    robot.add_tendon("far", way, control="elastic", stiffness=300.0, damping=2.0)
    robot.add_tendon("top", "arm", z=0.01)
    return robot.compile()


def test_tensions_of_elastic_tendons():
    system = cords()
    states = motion(system)
    tension = costs.TendonTension()
    for k, (q, v, u) in enumerate(zip(states.q, states.v, states.u)):
        np.testing.assert_allclose(tension.evaluate(states).value[k], system.tendon_tensions(q, v, u), rtol=1e-14)
    assert tension.evaluate(states).value[:, :2].min() > 10.0
    check(tension, states)
    slack = replace(states, u=states.u - [10.0, 10.0, 0.0])  # let out by ten metres
    found = tension.evaluate(slack)
    assert np.all(found.value[:, :2] == 0.0)
    assert not np.any(found.push(replace_u(direction(slack)))[:, :2])


def replace_u(d):
    return costs.Variation(d.q, d.v, 0.0 * d.u)


def test_tensions_that_are_no_function_of_the_state():
    robot = pl.Robot("held")
    robot.add_rod("arm", length=0.5, section=pl.Circle(0.02), material=SILICONE, strains=pl.Strains.kirchhoff(1))
    robot.add_tendon("held", "arm", z=0.01, control="length")
    robot.add_tendon("rough", "arm", y=0.01, control="elastic", stiffness=100.0, damping=1.0, friction=0.1)
    system = robot.compile()
    with pytest.raises(ValueError, match="'held' is prescribed"):
        costs.TendonTension("held").size(system)
    with pytest.raises(ValueError, match="damping and friction"):
        costs.TendonTension("rough").size(system)
    with pytest.raises(ValueError, match="do not follow from its state"):
        costs.IMU("arm.tip").size(system)
    with pytest.raises(ValueError, match="2 points"):
        costs.StrainGauge("arm", [0.1, 0.2], y=[0.0, 0.1, 0.2])


def test_what_sensors_read(arm):
    """Gauges against the lengths of cables that run where they are, inertial units against positions in time, poses against readings."""
    robot = arm.robot
    robot.add_tendon("line", "hand", y=0.004, z=0.006)
    system = robot.compile()
    states = motion(system)
    X = np.polynomial.legendre.leggauss(12)[0] / 2 + 0.5
    w = np.polynomial.legendre.leggauss(12)[1] / 2
    stretch = costs.StrainGauge("hand", X, 0.004, 0.006).evaluate(states).value @ w
    length = costs.TendonLength("line").evaluate(states).value[:, 0]
    np.testing.assert_allclose(stretch, length / 0.2 - 1.0, atol=1e-12)
    state = costs.States(arm, [0.0], arm.random(1, scale=0.2)[None], 0.1 * np.ones((1, arm.nv)), np.zeros((1, arm.nu)))
    q, v = state.q[0], state.v[0]
    a = arm.forward_dynamics(q, v)
    h = 1e-5

    def place(t):
        return arm.pose("hand.tip", arm.integrate(q, t * v + 0.5 * t * t * a))[:3, 3]

    second = (place(h) - 2 * place(0.0) + place(-h)) / h**2
    R = arm.pose("hand.tip", q)[:3, :3]
    read = costs.IMU("hand.tip").evaluate(state).value[0]
    np.testing.assert_allclose(read[3:], R.T @ (second - arm.gravity), atol=1e-4 * np.abs(second).max())
    np.testing.assert_allclose(read[:3], arm.twist("hand.tip", q, v)[:3], rtol=1e-14)
    seen = costs.FramePose("hand.tip", pl.rotate("y", 0.3))
    np.testing.assert_allclose(
        seen.reading(arm.pose("hand.tip", states.q)), seen.evaluate(motion(arm)).value, atol=1e-13
    )
    np.testing.assert_allclose(seen.reading(pl.Pose()), [0, 0, 0, 0, -0.3, 0], atol=1e-15)
    with pytest.raises(ValueError, match="pose has shape"):
        seen.reading(np.zeros(3))


def test_a_robot_without_contacts_is_clear(arm):
    assert costs.Clearance().mean().evaluate(motion(arm)).value == 0.0
    assert costs.ContactForce().near().evaluate(motion(arm)).value == 0.0


def test_values_are_those_of_the_system(arm):
    states = motion(arm)
    for k, (q, v) in enumerate(zip(states.q, states.v)):
        values = {name: quantity.evaluate(states).value[k] for name, quantity in MANIPULATOR.items()}
        np.testing.assert_allclose(values["position"], arm.pose("hand.tip", q)[:3, 3], rtol=1e-15)
        np.testing.assert_allclose(values["velocity"], arm.twist("hand.tip", q, v, reference="world")[3:], rtol=1e-14)
        np.testing.assert_allclose(values["kinetic"], arm.kinetic_energy(q, v), rtol=1e-15)
        np.testing.assert_allclose(values["elastic"], arm.elastic_energy(q), rtol=1e-15)
        np.testing.assert_allclose(values["gravitational"], arm.gravitational_energy(q), rtol=1e-15)
        np.testing.assert_allclose(values["curvature"], arm.strain("hand", q, [0.3])[0, 1:3], rtol=1e-14)
        np.testing.assert_allclose(values["tendons"], arm.tendon_lengths(q)[0], rtol=1e-15)
        R = pl.lie.exp([*values["orientation"], 0, 0, 0])[:3, :3] @ pl.rotate((1, 2, 3), 0.7).rotation
        np.testing.assert_allclose(R, arm.pose("hand.tip", q)[:3, :3], atol=1e-14)


def test_rotation_vectors_at_all_angles():
    rng = np.random.default_rng(0)
    axis = rng.normal(size=(200, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    angle = np.concatenate([10.0 ** rng.uniform(-20, 0, size=99), rng.uniform(0, np.pi, size=99), [0.0, np.pi - 1e-9]])
    phi = angle[:, None] * axis
    R = np.array([pl.lie.exp([*p, 0, 0, 0])[:3, :3] for p in phi])
    np.testing.assert_allclose(rotation_vectors(R), phi, rtol=1e-8, atol=1e-15)
    for p, inverse in zip(phi, inverse_tangents(phi)):
        np.testing.assert_allclose(inverse @ pl.lie.tangent([*p, 0, 0, 0])[:3, :3], np.eye(3), atol=2e-14)


def test_a_function_of_the_user(arm):
    def power(s):
        value = np.sum(s.u[:, :1] * s.v[:, :1], axis=1, keepdims=True) + np.sin(s.q[:, :1])
        dq, dv, du = np.zeros((len(s), 1, arm.nv)), np.zeros((len(s), 1, arm.nv)), np.zeros((len(s), 1, arm.nu))
        dq[:, 0, 0], dv[:, 0, 0], du[:, 0, 0] = np.cos(s.q[:, 0]), s.u[:, 0], s.v[:, 0]
        return value, dq, dv, du

    check(costs.Function(power), motion(arm))
    states = motion(arm)
    with pytest.raises(TypeError, match="never approximated"):
        costs.Function(lambda s: s.q).evaluate(states)
    with pytest.raises(ValueError, match="dq of Function"):
        costs.Function(lambda s: (s.q[:, :1], s.q, None, None)).evaluate(states)
    with pytest.raises(ValueError, match="NaN"):
        costs.Function(lambda s: (np.nan * s.q[:, :1], None, None, None)).evaluate(states)
    with pytest.raises(TypeError, match="must be a function"):
        costs.Function(3.0)
    with pytest.raises(ValueError, match="size"):
        costs.Function(power, 0)


# ---------------------------------------------------------------- costs

TIP = costs.Position("hand.tip")
GOAL = (0.3, 0.2, -0.1)
COSTS = {
    "reach": pl.Reach("hand.tip", GOAL, weight=(1.0, 2.0, 0.5)),
    "track": pl.Track("hand.tip", lambda t: (t, 0.1, -t), 3.0),
    "align": pl.Align("hand.tip", pl.rotate("y", 0.3)),
    "still": pl.Still("hand.tip") + pl.Still(weight=0.1, at="all"),
    "effort": pl.Effort(0.3) + pl.Effort(2.0, "top"),
    "smooth": pl.Smooth(0.3, ["top", "left"]),
    "norm": TIP.near(GOAL, penalty=costs.Norm(0.05)),
    "huber": TIP.near(GOAL, penalty=costs.Huber(0.2)),
    "below": TIP.below(0.1) + costs.Inputs().below(2.03),
    "above": TIP[1].above(lambda t: 0.2 * t, weight=5.0),
    "soft max": costs.Curvature("arm", np.linspace(0, 1, 7)).norm(1e-3).soft_max(3.0, weight=2.0),
    "mean": costs.Energy().mean() + costs.Energy("kinetic").integral(weight=0.2, at="end"),
    "sum": 2.0 * (pl.Reach("hand.tip", GOAL) + np.float64(0.5) * pl.Effort()) + pl.Still(),
    "weights": TIP.near(GOAL, at=costs.Weights([0.0, 1.0, 0.0, 2.0])),
}


@pytest.mark.parametrize("name", COSTS)
def test_the_gradient_of_a_cost(arm, name):
    cost, states = COSTS[name], motion(arm)
    found = cost.evaluate(states)
    d = direction(states)
    slope = sum(np.sum(a * b) for a, b in zip(found.gradient, d))
    errors = [abs(difference(lambda s: cost.evaluate(s).value, states, d, h) - slope) for h in STEPS]
    size = sum(np.sum(np.abs(a * b)) for a, b in zip(found.gradient, d))
    assert min(errors) <= 1e-8 * size
    assert found.value == pytest.approx(sum(found.terms.values()), rel=1e-14)
    # the Gauss–Newton matrix is symmetric and has no negative direction
    e = direction(states, 7)
    Hd, He = found.gauss_newton(d), cost.gauss_newton(states, e)
    a, b = (sum(np.sum(x * y) for x, y in zip(*pair)) for pair in ((Hd, e), (He, d)))
    own = sum(np.sum(x * y) for x, y in zip(Hd, d))
    assert abs(a - b) <= 1e-11 * max(1e-12, abs(own))
    assert own >= -1e-12 * size


def test_gauss_newton_of_squares_is_pull_of_push(arm):
    states, d = motion(arm), direction(motion(arm))
    found = (TIP - GOAL).evaluate(states)
    expected = found.pull(np.array([2.0, 3.0, 4.0]) * found.push(d))
    cost = TIP.near(GOAL, weight=(2.0, 3.0, 4.0), at=costs.Weights(np.ones(4)))
    for a, b in zip(cost.gauss_newton(states, d), expected):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


def test_penalties_are_what_they_say():
    s, one = np.array([[-2.0, 0.5], [1.0, 3.0]]), np.ones((2, 2))
    assert costs.Squares().evaluate(s, one).value == pytest.approx(0.5 * np.sum(s * s))
    assert costs.Linear().evaluate(s, 2 * one).value == pytest.approx(5.0)
    assert costs.Excess().evaluate(s, one).value == pytest.approx(0.5 * (0.25 + 1 + 9))
    assert costs.Huber(1.0).evaluate(s, one).value == pytest.approx(1.5 + 0.125 + 0.5 + 2.5)
    assert costs.Norm(1e-9).evaluate(s, one[:, :1]).value == pytest.approx(np.linalg.norm(s, axis=1).sum())
    assert 3.0 <= costs.SoftMax(50.0).evaluate(s, one[:, :1]).value <= 3.0 + np.log(4) / 50
    assert costs.SoftMax(5.0).evaluate(1e5 + s, one[:, :1]).value == pytest.approx(1e5 + 3.0, abs=1e-3)
    zero = costs.Norm(0.1).evaluate(np.zeros((2, 2)), one[:, :1])
    assert zero.value == 0.0
    assert not np.any(zero.slope)


def test_when_a_term_counts(arm):
    states = motion(arm)
    t = states.t
    values = 0.5 * np.sum((TIP - GOAL).evaluate(states).value ** 2, axis=1)
    trapezoid = np.sum(0.5 * (values[1:] + values[:-1]) * np.diff(t))
    for at, expected in (
        ("end", values[-1]),
        ("start", values[0]),
        ("all", trapezoid),
        (float(t[2]), values[2]),
        ([t[1], t[3]], values[1] + values[3]),
        (costs.Weights([0, 2, 0, 1]), 2 * values[1] + values[3]),
    ):
        assert TIP.near(GOAL, at=at).evaluate(states).value == pytest.approx(expected, rel=1e-13)
    own = np.array([0.1, 0.2, 0.3, 0.4])
    assert TIP.near(GOAL).evaluate(states, own).value == pytest.approx(own @ values, rel=1e-13)
    assert TIP.near(GOAL, at="end").evaluate(states, own).value == pytest.approx(values[-1], rel=1e-13)
    rates = np.diff(states.u, axis=0) / np.diff(t)[:, None]
    assert pl.Smooth().evaluate(states).value == pytest.approx(0.5 * np.sum(np.diff(t)[:, None] * rates**2), rel=1e-13)
    mean = costs.Inputs("top").mean().evaluate(states).value
    u = states.u[:, arm.input_names.index("top")]
    assert mean == pytest.approx(np.sum(0.5 * (u[1:] + u[:-1]) * np.diff(t)) / (t[-1] - t[0]), rel=1e-13)
    single = motion(arm, rows=1)
    for at in ("end", "start", "all", float(single.t[0])):
        expected = 0.5 * np.sum((TIP - GOAL).evaluate(single).value ** 2)
        assert TIP.near(GOAL, at=at).evaluate(single).value == pytest.approx(expected, rel=1e-14)


def test_only_rows_that_count_are_evaluated(arm):
    asked = []

    def spy(s):
        asked.append(len(s))
        return s.q[:, :1], None, None, None

    costs.Function(spy).near(at="end").evaluate(motion(arm))
    assert asked == [1]


def test_sums_and_names(arm):
    states = motion(arm)
    one, two = pl.Reach("hand.tip", GOAL), pl.Effort()
    for cost in (one + 2 * two, sum([one, 2 * two]), costs.as_cost([one, two, two]), costs.as_cost((one, two + two))):
        found = cost.evaluate(states)
        assert found.value == pytest.approx(one.evaluate(states).value + 2 * two.evaluate(states).value, rel=1e-14)
        expected = total(states, [one.evaluate(states).gradient, *[two.evaluate(states).gradient] * 2])
        for a, b in zip(found.gradient, expected):
            np.testing.assert_allclose(a, b, rtol=1e-14)
    assert list((two + two).evaluate(states).terms) == ["effort", "effort (2)"]
    assert costs.as_cost(one) is one
    assert repr(0.5 * one + two) == "<cost 0.5 × reach hand.tip + effort>"
    assert "effort" in repr(two.evaluate(states))
    assert (0.0 * one).evaluate(states).value == 0.0


def test_a_cost_of_the_user(arm):
    class Constant(costs.Cost):
        name = "constant"

        def evaluate(self, states, weights=None):
            nothing = total(states, [])
            return costs.CostValue(3.0, {"constant": 3.0}, lambda: nothing, lambda d: nothing)

    states = motion(arm)
    assert (2 * Constant() + pl.Effort()).evaluate(states).terms["constant"] == 6.0


def test_another_system_with_the_same_rows(arm):
    states = motion(arm)
    longer = arm.with_parameters({"hand.length": 0.25})
    cost = pl.Reach("hand.tip", GOAL)
    other = cost.evaluate(replace(states, system=longer))
    x = longer.pose("hand.tip", states.q[-1])[:3, 3]
    assert other.value == pytest.approx(0.5 * np.sum((x - GOAL) ** 2), rel=1e-14)
    assert other.value != cost.evaluate(states).value


def test_an_equilibrium(arm):
    rest = pl.solve_statics(arm, {"top": 3.0})
    state = costs.States.at_rest(arm, rest.q, rest.u)
    found = (pl.Reach("hand.tip", GOAL) + 0.5 * pl.Effort()).evaluate(state)
    x = arm.pose("hand.tip", rest.q)[:3, 3]
    assert found.value == pytest.approx(0.5 * np.sum((x - GOAL) ** 2) + 0.25 * 9.0, rel=1e-12)
    J = arm.jacobian("hand.tip", rest.q, reference="world")[3:]
    np.testing.assert_allclose(found.gradient.q[0], (x - GOAL) @ J, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.gradient.u[0], 0.5 * rest.u, rtol=1e-14)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: costs.Position(3), TypeError, "frame = 3"),
        (lambda: pl.Reach("hand.tip", (1, 2)), ValueError, r"goal has shape \(2,\)"),
        (lambda: pl.Reach("hand.tip", GOAL, weight=-1), ValueError, "weight = -1"),
        (lambda: pl.Reach("hand.tip", GOAL, weight="1"), TypeError, "weight"),
        (lambda: pl.Reach("hand.tip", GOAL, at="ende"), ValueError, "'end', 'all', 'start'"),
        (lambda: pl.Reach("hand.tip", GOAL, at=[]), ValueError, "at = "),
        (lambda: pl.Reach("hand.tip", GOAL, at=None), TypeError, "at = None"),
        (lambda: pl.Track("hand.tip", GOAL), ValueError, "pl.Reach"),
        (lambda: costs.Orientation("hand.tip", np.ones((3, 3))), ValueError, "rotation"),
        (lambda: costs.Orientation("hand.tip", (1, 2, 3)), ValueError, r"shape \(3,\)"),
        (lambda: costs.Energy("potential"), ValueError, "'kinetic'"),
        (lambda: costs.Strain("arm", 2.0), ValueError, r"\[0, 1\]"),
        (lambda: costs.Strain("arm", 0.5, "bend"), KeyError, "no strain named 'bend'"),
        (lambda: costs.Strain(3, 0.5), TypeError, "rod = 3"),
        (lambda: costs.Inputs(3), TypeError, "names = 3"),
        (lambda: -1.0 * pl.Effort(), ValueError, "factor = -1"),
        (lambda: pl.Effort() + 3.0, TypeError, "unsupported"),
        (lambda: costs.Huber(0.0), ValueError, "Huber.width"),
        (lambda: costs.Norm(-1.0), ValueError, "Norm.rounding"),
        (lambda: costs.SoftMax(0.0), ValueError, "SoftMax.sharpness"),
        (lambda: costs.Weights([1.0, -1.0]), ValueError, "negative"),
        (lambda: costs.Weights([0.0]), ValueError, "positive"),
        (lambda: costs.Term(3), TypeError, "quantity = 3"),
        (lambda: costs.Term(TIP, "squares"), TypeError, "penalty = 'squares'"),
        (lambda: costs.Term(TIP, costs.Norm(0.1), weight=(1, 2, 3)), ValueError, "one number"),
        (lambda: costs.as_cost(TIP), TypeError, "quantity.near"),
        (lambda: costs.as_cost([pl.Effort(), 3]), TypeError, "cost = "),
        (lambda: costs.as_cost("effort"), TypeError, "cost = 'effort'"),
        (lambda: costs.stack(3), TypeError, "stack"),
        (lambda: TIP - "goal", TypeError, "target = 'goal'"),
        (lambda: TIP - np.zeros((1, 1, 3)), ValueError, "target has shape"),
        (lambda: TIP * np.eye(3), ValueError, "use \\*"),
        (lambda: np.ones(3) @ TIP, ValueError, "@ for matrices"),
        (lambda: TIP["x"], TypeError, "entries = 'x'"),
        (lambda: list(TIP), TypeError, "not iterable"),
        (lambda: costs.InputRates() + costs.Inputs(), ValueError, "separate costs"),
    ],
)  # fmt: skip
def test_what_is_refused_when_it_is_written(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    ("quantity", "error", "words"),
    [
        (costs.Position("hnad.tip"), KeyError, "hand"),
        (costs.Inputs("topp"), KeyError, "did you mean 'top'"),
        (costs.InputRates("topp"), KeyError, "did you mean 'top'"),
        (costs.TendonLength("topp"), KeyError, "did you mean 'top'"),
        (costs.Coordinates("armm"), KeyError, "did you mean 'arm'"),
        (costs.Rates("armm"), KeyError, "did you mean 'arm'"),
        (costs.Strain("rod", 0.5), KeyError, "no link named 'rod'"),
        (TIP - (1.0, 2.0), ValueError, r"target has shape \(2,\)"),
        (TIP - np.zeros((7, 3)), ValueError, "7 rows"),
        (TIP - (lambda t: (t, t)), ValueError, r"target\(t\) has shape \(2,\)"),
        (TIP - pl.Signal([0, 1], [0, 1]), ValueError, "target"),
        (TIP * np.ones(2), ValueError, "factor of shape"),
        (np.ones((1, 2)) @ TIP, ValueError, "factor of shape"),
        (TIP + costs.Inputs(), ValueError, "same number"),
        (TIP[5], IndexError, "3 entries"),
    ],
)
def test_what_does_not_fit_the_robot(arm, quantity, error, words):
    states = motion(arm)
    with pytest.raises(error, match=words):
        quantity.near().evaluate(states)
    with pytest.raises(error, match=words):
        quantity.evaluate(states)


def test_what_does_not_fit_the_states(arm, floating):
    states = motion(arm)
    with pytest.raises(ValueError, match="not the time of a row"):
        TIP.near(GOAL, at=0.0123).evaluate(states)
    with pytest.raises(ValueError, match="3 entries, but the motion has 4"):
        TIP.near(GOAL, at=costs.Weights([1, 2, 3])).evaluate(states)
    with pytest.raises(ValueError, match="weight has 2 entries"):
        TIP.near(GOAL, weight=(1, 2)).evaluate(states)
    with pytest.raises(ValueError, match="weights has shape"):
        TIP.near(GOAL).evaluate(states, np.ones(3))
    with pytest.raises(TypeError, match=r"States\.at_rest"):
        TIP.near(GOAL).evaluate(arm)
    with pytest.raises(ValueError, match=r"Variation\.v has shape"):
        pl.Effort().gauss_newton(states, costs.Variation(np.zeros((4, arm.nv)), np.zeros(3), np.zeros((4, arm.nu))))
    with pytest.raises(TypeError, match="Variation"):
        pl.Effort().gauss_newton(states, np.zeros(3))
    with pytest.raises(ValueError, match="spherical or free joint"):
        costs.Coordinates().evaluate(motion(floating))
    with pytest.raises(ValueError, match=r"States\.t\[1\]"):
        costs.States(arm, np.zeros(4), states.q, states.v, states.u)
    with pytest.raises(ValueError, match=r"States\.t has shape"):
        costs.States(arm, np.zeros(3), states.q, states.v, states.u)
    with pytest.raises(ValueError, match=r"States\.u"):
        costs.States(arm, states.t, states.q, states.v, states.u[:, :1])
    with pytest.raises(TypeError, match="compile it first"):
        costs.States.at_rest(arm.robot, states.q[0])
