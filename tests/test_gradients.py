"""Gradients of whole motions: against differences on every kind of robot, forward against reverse, and of equilibria."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import pliant as pl
from gradient_checks import difference, errors, value
from pliant import gallery
from pliant.gradients.costs.states import States
from robots import SILICONE, random_robot


def arm(**joint) -> tuple[pl.Robot, pl.Link]:
    robot = pl.Robot("arm")
    rod = robot.add_rod(
        "arm",
        length=0.4,
        section=pl.Circle((0.02, 0.012)),
        material=SILICONE,
        strains=pl.Strains.kirchhoff(3),
        **joint,
    )
    robot.add_body("load", parent=rod.tip, shape=pl.Sphere(0.02), mass=0.05)
    return robot, rod


TIP = pl.Reach("load", (0.3, 0.1, 0.1)) + 0.1 * pl.Still(at="all")


@pytest.fixture(scope="module")
def manipulator() -> pl.System:
    return gallery.load("cable_driven_manipulator").build()


# ---------------------------------------------------------------- against differences


@pytest.mark.parametrize("inputs", ["hold", "linear", "spline"])
@pytest.mark.parametrize("method", ["sdirk2", "sdirk3", "euler"])
def test_manipulator(manipulator, inputs, method):
    rng = np.random.default_rng(1)
    rest = pl.solve_statics(manipulator)
    cost = pl.Reach("arm.tip", (0.3, 0.1, 0.1)) + 1e-4 * pl.Effort() + pl.Reach("arm.tip", (0.4, 0.1, 0), at="all")
    found = errors(
        manipulator,
        rng.uniform(5, 20, size=(10 if inputs == "hold" else 6, 5)),
        cost,
        start=rest.q,
        velocity=0.1 * rng.normal(size=24),
        parameters=("arm.young", "arm.length", "arm.viscosity", "arm.density", "cable4.y.phase", "gravity.z")
        if inputs == "hold"
        else (),
        step=0.01,
        duration=0.2,
        inputs=inputs,
        method=method,
    )
    assert max(found.values()) < 1e-8, found


def test_midpoint(manipulator):
    rest = pl.solve_statics(manipulator)
    U = np.full((5, 5), 10.0) + np.linspace(0, 1, 5)[:, None] ** 3
    cost = pl.Reach("arm.tip", (0.3, 0.1, 0.1), at="all")
    found = errors(
        manipulator, U, cost, start=rest.q, step=0.002, duration=0.04, inputs="spline", method="midpoint",
        parameters=("arm.young",),
    )  # fmt: skip
    assert max(found.values()) < 1e-8, found


@pytest.mark.parametrize("seed", [3, 5, 8, 11])
def test_floating_trees_with_quaternions(seed):
    system = random_robot(seed).compile()
    rng = np.random.default_rng(seed)
    frame = [name for name in system.frames if name != "world"][-1]
    names = [name for name, x in system.parameters.items() if x != 0.0 and not name.endswith("parent.X")]
    found = errors(
        system,
        None,
        pl.Reach(frame, (0.3, 0.1, 0.1)) + 1e-3 * pl.costs.Energy("kinetic").mean(at="end"),
        start=system.random(rng, scale=0.3),
        velocity=0.5 * rng.normal(size=system.nv) * system.internal.scale,
        parameters=[names[k] for k in rng.choice(len(names), 5, replace=False)],
        step=0.005,
        duration=0.05,
    )
    assert max(found.values()) < 1e-8, found


def test_rigid_quaternions_that_turn_far_in_a_step():
    robot = pl.Robot("gyro", gravity=(0, 0, -9.81))
    body = robot.add_body("body", joint=pl.Free(), inertia=pl.Inertia(1.0, (0.1, 0, 0), np.diag([0.1, 0.2, 0.25])))
    ball = robot.add_body(
        "ball", parent=body, joint=pl.Spherical(), offset=(0.3, 0, 0), shape=pl.Box(0.2, 0.1, 0.05), mass=0.5
    )
    robot.add_wrench("push", ball, force=(0, 0, 1), offset=(0.1, 0, 0))
    system = robot.compile()
    rng = np.random.default_rng(0)
    for method in ("sdirk2", "midpoint"):
        found = errors(
            system,
            rng.uniform(0.5, 1.0, size=(10, 1)),
            pl.Reach("ball", (0.3, 0.1, 0.1)),
            start=system.random(rng),
            velocity=4 * rng.normal(size=system.nv),  # a quarter of a radian in a step
            parameters=("body.mass", "ball.offset.x", "body.inertia.zz", "push.force.z"),
            step=0.03,
            method=method,
        )
        assert max(found.values()) < 1e-8, found


def test_loops():
    example = gallery.load("hybrid_parallel_robot")
    system = example.build()
    rest = pl.solve_statics(system)
    U = np.array([system.inputs(example.wrench(0.5 + 0.01 * k)) for k in range(8)])
    found = errors(
        system,
        U,
        pl.Reach("corner3", (0.3, 0.1, 0.1)) + pl.Still(at="all"),
        start=rest.q,
        parameters=("pillar1.length", "pillar2.young", "platform.inertia.zz", "pillar2.parent.offset.y"),
        step=0.01,
        steps={"start": 1e-5},
    )
    assert max(found.values()) < 1e-8, found


def test_planar_loop_with_redundant_rows():
    robot = pl.Robot("four bar", gravity=(0, 0, -9.81))
    crank = robot.add_body("crank", joint=pl.Revolute("y"), shape=pl.Box(0.2, 0.02, 0.02), mass=0.1, com=(0.1, 0, 0))
    rod = robot.add_rod(
        "coupler", parent=crank, joint=pl.Revolute("y"), offset=(0.2, 0, 0), length=0.3, section=pl.Circle(0.01),
        material=SILICONE, strains=pl.Strains(bending_y=2),
    )  # fmt: skip
    follower = robot.add_body(
        "follower",
        offset=(0.4, 0, 0),
        joint=pl.Revolute("y"),
        shape=pl.Box(0.3, 0.02, 0.02),
        mass=0.1,
        com=(0.15, 0, 0),
    )
    robot.add_loop("pin", follower.at((0.3, 0, 0)), rod.tip, joint=pl.Revolute("y"))
    robot.add_motor("motor", crank)
    system = robot.compile()
    rest = pl.solve_statics(system, start=np.array([-1.0, 0.6, 0.0, 0.0, 0.0, -1.6]))
    assert rest.success
    found = errors(
        system, np.full((10, 1), 0.05), pl.Reach("coupler.tip", (0.2, 0, 0.1)) + 0.1 * pl.Still(at="all"), start=rest.q, step=0.01,
        parameters=("follower.mass", "coupler.length", "follower.offset.x", "coupler.young"), steps={"start": 1e-5, "parameter": 1e-5},
    )  # fmt: skip
    assert max(found.values()) < 1e-7, found  # rounding: the start and the parameters open the loop


@pytest.mark.parametrize("touching", [False, True], ids=["first touch", "touching"])
def test_contact(touching):
    example = gallery.load("manipulator_in_pipe")
    system = example.build()
    rest = pl.solve_statics(system)
    before = pl.simulate(system, 2.1 if touching else 1.75, u=example.tensions, start=rest, rtol=1e-6, atol=1e-7)
    t = before.last.t + 0.01 * np.arange(30)
    U = np.array([system.inputs(example.tensions(x)) for x in t])
    run = pl.rollout(system, U, step=0.01, start=before.last.q, velocity=before.last.v)
    touches = [len(system.contacts(q, v)) for q, v in zip(run.q, run.v)]
    assert touches[-1] > 0
    assert (touches[0] > 0) == touching
    found = errors(
        system,
        U,
        pl.Reach("arm.tip", (0.3, 0.1, 0.1), at="all"),
        start=before.last.q,
        velocity=before.last.v,
        parameters=("arm.young", "pipe.shape.radius", "touch.stiffness", "arm.length"),
        step=0.01,
        steps={"u": 1e-5, "start": 1e-6, "velocity": 1e-5, "parameter": 1e-6},
        tolerance=1e-14,
    )
    assert max(found.values()) < 1e-8, found


def test_water():
    example = gallery.load("underwater_vehicle")
    system = example.build()
    before = pl.simulate(system, 0.5, u=example.TORQUES)
    U = np.tile(list(example.TORQUES.values()), (8, 1))
    found = errors(
        system,
        U,
        pl.Reach("body", (0.3, 0.1, 0.1)) + 0.1 * pl.Still(at="all"),
        start=before.last.q,
        velocity=before.last.v,
        parameters=("fluid.density", "front_flagellum0.length", "front_flagellum1.water.added_mass.by", "body.density"),
        step=0.005,
        steps={"u": 1e-4, "start": 1e-5, "velocity": 1e-5, "parameter": 1e-5},
    )
    assert max(found.values()) < 1e-8, found


def test_tendons_of_prescribed_length():
    robot, rod = arm()
    robot.add_tendon("held", rod, z=0.01, control="length")
    robot.add_tendon("pulled", rod, y=0.008)
    system = robot.compile()
    rest = pl.solve_statics(system)
    L = system.tendon_lengths(rest.q)[0][0]
    # too long at the start: where it just touches, a shorter one would be slack, and the motion another
    motion = {"held": lambda t: L * (0.995 - 0.05 * np.sin(3 * t))}
    U = np.column_stack([np.zeros(10), np.linspace(1, 3, 10)])
    run = pl.rollout(system, U, step=0.01, start=rest, motion=motion)
    lengths = [system.tendon_lengths(q)[0][0] for q in run.q]
    np.testing.assert_allclose(lengths, [motion["held"](t) for t in run.t], atol=1e-14)
    assert run.u[:, 0].min() > 0  # its tension
    found = errors(
        system, U, TIP, start=rest.q, step=0.01, motion=motion,
        parameters=("arm.young", "arm.length", "held.z", "load.mass", "pulled.y"),
    )  # fmt: skip
    assert max(found.values()) < 1e-8, found
    assert not pl.rollout(system, U, step=0.01, start=rest, motion=motion).gradient(TIP)["held"].any()


def test_elastic_tendons_with_friction_on_a_free_robot():
    robot, rod = arm(joint=pl.Free())
    robot.add_tendon("elastic", rod, z=0.01, control="elastic", stiffness=2000.0, damping=5.0, friction=0.1)
    system = robot.compile()
    found = errors(
        system, 0.01 + 0.002 * np.linspace(0, 1, 10)[:, None], TIP, start=system.neutral(), step=0.01,
        parameters=("elastic.stiffness", "elastic.damping", "elastic.friction", "elastic.z", "arm.length"),
        steps={"u": 1e-4, "start": 1e-5, "velocity": 1e-4},
    )  # fmt: skip
    assert max(found.values()) < 1e-8, found


def test_prescribed_joint():
    robot, rod = arm(joint=pl.Revolute("z"))
    robot.add_motion("swing", rod)
    robot.add_tendon("cable", rod, y=0.008)
    system = robot.compile()
    rest = pl.solve_statics(system)
    motion = {"swing": pl.Motion(lambda t: 0.3 * np.sin(3 * t), lambda t: 0.9 * np.cos(3 * t))}
    found = errors(
        system, np.linspace(1, 3, 10)[:, None], TIP, start=rest.q, step=0.01, motion=motion, parameters=("arm.young", "arm.length")
    )  # fmt: skip
    assert max(found.values()) < 1e-8, found
    g = pl.rollout(system, np.ones((10, 1)), step=0.01, start=rest, motion=motion).gradient(TIP)
    assert g.start[0] == g.velocity[0] == 0.0


def test_a_subdivided_step_is_differentiated_as_it_was_taken(manipulator):
    rest = pl.solve_statics(manipulator)
    rng = np.random.default_rng(0)
    v = 5 * rng.normal(size=24)
    U = np.full((2, 5), 10.0)
    with pytest.raises(pl.RolloutError, match=r"step 1, from t = 0 s with 0\.2 s"):
        pl.rollout(manipulator, U, step=0.2, start=rest, velocity=v)
    run = pl.rollout(manipulator, U, step=0.2, start=rest, velocity=v, subdivide=True, tolerance=1e-13)
    assert len(run) > 2
    assert "subdivided" in run.warnings[0]
    cost = pl.Reach("arm.tip", (0.3, 0.1, 0.1))
    d = rng.normal(size=U.shape)

    def moved(s):
        other = pl.rollout(
            manipulator, U + s * d, step=np.diff(run.t), knots=(0.0, 0.2), start=rest, velocity=v, tolerance=1e-13
        )
        return value(cost, other)

    g = run.gradient(cost)
    assert np.sum(g.u * d) == pytest.approx(difference(moved, 1e-2), rel=1e-8)


def test_spectral_rods():
    """Their tangents are those of the collocation; the adjoint is exact all the same."""
    robot = pl.Robot("spectral")
    rod = robot.add_rod(
        "arm", length=0.4, section=pl.Circle((0.02, 0.012)), material=SILICONE, strains=pl.Strains.kirchhoff(3), integration="spectral"
    )  # fmt: skip
    robot.add_body("load", parent=rod.tip, shape=pl.Sphere(0.02), mass=0.05)
    robot.add_tendon("cable", rod, z=0.01)
    system = robot.compile()
    found = errors(
        system, np.full((6, 1), 5.0), TIP, start=pl.solve_statics(system).q, step=0.01, parameters=("arm.young", "arm.length", "cable.z")
    )  # fmt: skip
    assert max(found.values()) < 1e-8, found
    run = pl.rollout(system, np.full((6, 1), 5.0), step=0.01)
    with pytest.raises(ValueError, match="collocat"):
        run.maps()


def test_a_wheel_that_rolls():
    """Its rows are rates without values."""
    system = gallery.load("rolling_robot").build()
    start = system.neutral()
    start[system.coordinate_names.index("arm.angle")] = 0.3
    found = errors(
        system,
        np.full((10, 1), 0.01),
        pl.Reach("weight", (0.1, 0.0, 0.1), at="all"),
        start=start,
        parameters=("arm.young", "weight.mass", "arm.length", "wheel.mass"),
        step=0.01,
        steps={"start": 1e-5},
    )
    assert max(found.values()) < 1e-8, found


def test_loads_of_the_user():
    """A spring that grows with the cube of the distance, and drag; derivatives taken by the load itself."""

    def force(pose, twist, inputs):
        x, v = pose[:, :3, 3], twist[:, 3:]
        return np.hstack([np.zeros_like(x), -2e2 * x**3 - 0.1 * v + inputs[0] * np.array([0.0, 1.0, 0.0])])

    def derivatives(pose, twist, inputs):
        x = pose[:, :3, 3]
        by_pose, by_twist = np.zeros((2, len(x), 6, 6))
        for k in range(3):
            by_pose[:, 3 + k, 3 + k] = -6e2 * x[:, k] ** 2
            by_twist[:, 3 + k, 3 + k] = -0.1
        return by_pose, by_twist

    robot, _rod = arm()
    robot.add_load("spring", "load", pl.UserLoad(force, derivatives, inputs=["wind"]))
    system = robot.compile()
    found = errors(
        system, np.full((8, 1), 0.3), TIP, start=pl.solve_statics(system).q, step=0.01, parameters=("arm.young", "arm.length", "load.mass")
    )  # fmt: skip
    assert max(found.values()) < 1e-7, found  # of the inputs, by differences


def test_gradients_travel(manipulator):
    run = pl.rollout(manipulator, np.ones((3, 5)), step=0.01)
    g = run.gradient(pl.Reach("arm.tip", (0.3, 0.1, 0.1)))
    young = g["arm.young"]
    there = pickle.loads(pickle.dumps(g))
    np.testing.assert_array_equal(there.u, g.u)
    assert there["arm.young"] == young
    with pytest.raises(KeyError, match="ask for it first"):
        there["arm.length"]
    again = pickle.loads(pickle.dumps(run)).gradient(pl.Reach("arm.tip", (0.3, 0.1, 0.1)))
    np.testing.assert_array_equal(again.u, g.u)


# ---------------------------------------------------------------- forward, reverse, maps


def robots():
    manipulator = gallery.load("cable_driven_manipulator").build()
    yield (
        manipulator,
        np.random.default_rng(0).uniform(5, 10, size=(12, 5)),
        pl.solve_statics(manipulator),
        ["arm.length"],
    )
    example = gallery.load("hybrid_parallel_robot")
    parallel = example.build()
    U = np.array([parallel.inputs(example.wrench(0.5 + 0.01 * k)) for k in range(5)])
    yield parallel, U, pl.solve_statics(parallel), ["pillar1.length", "platform.mass"]
    free = random_robot(5).compile()
    yield free, np.zeros((6, free.nu)), free.random(0, scale=0.3), ["gravity.z", "link2.offset.y"]


@pytest.mark.parametrize("case", range(3), ids=["manipulator", "parallel", "floating"])
def test_forward_and_reverse_are_transposed(case):
    system, U, start, names = list(robots())[case]
    rng = np.random.default_rng(case)
    run = pl.rollout(system, U, step=0.005, start=start)
    rows = [rng.normal(size=(len(run) + 1, n)) for n in (system.nv, system.nv, system.nu)]
    back = run.pull(*rows)
    du = rng.normal(size=U.shape)
    dq, dv = rng.normal(size=(2, system.nv)) * system.internal.scale
    dp = {name: system.parameters[name] for name in names}
    ahead = run.push(u=du, start=dq, velocity=dv)
    forward = [np.vdot(w, d) for w, d in zip(rows, ahead)]
    reverse = [np.vdot(back.u, du), back.start @ dq, back.velocity @ dv]
    assert sum(forward) == pytest.approx(sum(reverse), abs=1e-10 * max(np.abs(forward).max(), np.abs(reverse).max()))
    # by differences of residuals there, of tables here: their rounding, relative to the sizes of what is multiplied, is up to 7e-12, and 2e-9 for the floating robot
    moved = run.push(parameters=dp)
    for _ in range(4):
        rows = [rng.normal(size=w.shape) for w in rows]
        back = run.pull(*rows)
        forward = sum(np.vdot(w, d) for w, d in zip(rows, moved))
        size = sum(np.linalg.norm(w) * np.linalg.norm(d) for w, d in zip(rows, moved))
        reverse = sum(back[n] * x for n, x in dp.items())
        assert forward == pytest.approx(reverse, abs=(5e-9 if case == 2 else 1e-10) * size)
    A, B = run.maps()
    x = np.concatenate([ahead.q[0], ahead.v[0]])
    for a, b, d in zip(A, B, du):
        x = a @ x + b @ d
    end = np.concatenate([ahead.q[-1], ahead.v[-1]])
    np.testing.assert_allclose(x, end, atol=1e-9 * np.abs(end).max())


def test_sensitivities_and_gauss_newton(manipulator):
    rng = np.random.default_rng(0)
    rest = pl.solve_statics(manipulator)
    U = rng.uniform(5, 10, size=(10, 5))
    run = pl.rollout(manipulator, U, step=0.01, start=rest)
    found = run.sensitivities(["arm.young", "arm.viscosity"])
    alone = run.push(parameters={"arm.young": 1.0})
    np.testing.assert_allclose(found["arm.young"].q, alone.q, rtol=1e-9, atol=1e-12 * np.abs(alone.q).max())
    cost = pl.Reach("arm.tip", (0.3, 0.1, 0.1), at="all")
    a, b = rng.normal(size=(2, *U.shape))
    Ha, Hb = run.gauss_newton(cost, a), run.gauss_newton(cost, b)
    assert np.vdot(Ha, b) == pytest.approx(np.vdot(a, Hb), rel=1e-9)
    assert np.vdot(Ha, a) > 0.0
    states = States(run.system, run.t, run.q, run.v, run.u)
    tip = pl.costs.Position("arm.tip").evaluate(states)
    weights = np.full(11, 0.01)
    weights[[0, -1]] /= 2
    ds = tip.push(run.push(u=a))
    assert np.vdot(Ha, a) == pytest.approx(np.sum(weights[:, None] * ds**2), rel=1e-9)


def test_maps_need_held_inputs(manipulator):
    run = pl.rollout(manipulator, np.ones((3, 5)), step=0.01, inputs="linear")
    with pytest.raises(ValueError, match="'linear'"):
        run.maps()


def test_names(manipulator):
    run = pl.rollout(manipulator, np.ones((3, 5)), step=0.01)
    g = run.gradient([pl.Reach("arm.tip", (0.3, 0.1, 0.1)), 1e-3 * pl.Effort()])
    np.testing.assert_array_equal(g["cable2"], g.u[:, 1])
    assert set(g.terms) == {"reach arm.tip", "effort"}
    assert g["arm.young"] == g.parameters["arm.young"]
    with pytest.raises(KeyError, match=r"arm\.young"):
        g["arm.yuong"]
    with pytest.raises(KeyError, match=r"arm\.young"):
        run.push(parameters={"arm.yung": 1.0})
    with pytest.raises(ValueError, match=r"shape \(2, 24\)"):
        run.pull(q=np.zeros((2, 24)))


def test_numbers_that_may_move_to_one_side_only(manipulator):
    """Cables on the surface cannot move outwards, the radius cannot shrink below them, Poisson's ratio stays below one half."""
    rest = pl.solve_statics(manipulator)
    U = np.full((5, 5), 10.0)
    cost = pl.Reach("arm.tip", (0.3, 0.1, 0.1))
    g = pl.rollout(manipulator, U, step=0.01, start=rest).gradient(cost)
    for name, side in (("arm.radius.tip", 1), ("cable1.z.base", -1), ("arm.poisson", -1)):
        x = manipulator.parameters[name]
        h = side * 1e-3 * abs(x)
        values = [
            value(
                cost,
                pl.rollout(manipulator.with_parameters({name: x + k * h}), U, step=0.01, start=rest, tolerance=1e-13),
            )
            for k in range(5)
        ]
        exact = np.dot([-25 / 12, 4, -3, 4 / 3, -1 / 4], values) / h
        assert g[name] == pytest.approx(exact, rel=1e-6, abs=1e-9)


# ---------------------------------------------------------------- equilibria


def static_errors(system, u, cost, parameters, motion=None, start=None, step=1e-3):
    options = {"motion": motion} if motion else {}
    rest = pl.solve_statics(system, u, start=start, **options)
    d = pl.static_gradient(system, rest, cost)

    def at(system=system, u=u, motion=motion):
        options = {"motion": motion} if motion else {}
        found = pl.solve_statics(system, u, start=rest, **options)
        assert found.success
        return cost.evaluate(States.at_rest(system, found.q, found.u)).value

    pairs = {}
    for name, x in u.items():
        pairs[name] = d[name] * x, difference(lambda s, name=name, x=x: at(u={**u, name: x * (1 + s)}), 1e-3)
    for name in parameters:
        x = system.parameters[name]
        pairs[name] = (
            d[name] * x,
            difference(lambda s, name=name, x=x: at(system=system.with_parameters({name: x * (1 + s)})), step),
        )
    for name, x in (motion or {}).items():
        shifted = difference(lambda s, name=name, x=x: at(motion={**motion, name: x + s}), 1e-4)
        pairs[name] = float(np.squeeze(d[name])), shifted
    largest = max(abs(b) for _a, b in pairs.values())
    return {name: abs(a - b) / largest for name, (a, b) in pairs.items()}


def test_equilibria_of_the_manipulator(manipulator):
    cost = pl.Reach("arm.tip", (0.3, 0.1, 0.1)) + 1e-4 * pl.Effort()
    names = ("arm.young", "arm.length", "arm.density", "cable4.y.phase", "gravity.z")
    found = static_errors(manipulator, {"cable1": 20.0, "cable4": 10.0}, cost, names)
    assert max(found.values()) < 1e-8, found


def test_equilibria_with_loops():
    system = gallery.load("hybrid_parallel_robot").build()
    names = ("pillar1.length", "platform.mass", "pillar2.young")
    found = static_errors(system, {"fx": 0.3, "mz": 0.02}, pl.Reach("corner3", (0.3, 0.1, 0.1)), names)
    assert max(found.values()) < 1e-7, found  # of differences: loops are closed to 1e-9


def test_equilibria_with_prescribed_joints_and_lengths():
    robot, rod = arm(joint=pl.Revolute("y"))
    robot.add_motion("swing", rod)
    robot.add_tendon("held", rod, z=0.01, control="length")
    robot.add_tendon("pulled", rod, y=0.008)
    system = robot.compile()
    length = system.tendon_lengths(system.neutral())[0][0]
    motion = {"swing": 0.3, "held": 0.97 * length}
    cost = pl.Reach("load", (0.3, 0.1, 0.1))
    found = static_errors(system, {"pulled": 2.0}, cost, ("arm.young", "arm.length", "held.z"), motion)
    assert max(found.values()) < 1e-7, found


def test_equilibria_with_contact():
    robot, _rod = arm()
    robot.add_obstacle("floor", pl.HalfSpace(), pose=pl.translate(0, 0, -0.12))
    robot.add_contact("touch", "arm", "floor", stiffness=2e3)
    system = robot.compile()
    rest = pl.solve_statics(system)
    assert len(system.contacts(rest.q))
    cost = pl.Reach("load", (0.3, 0.1, 0.1))
    found = static_errors(system, {}, cost, ("arm.young", "arm.length", "touch.stiffness", "load.mass"), step=1e-5)
    assert max(found.values()) < 1e-8, found


def test_what_has_no_static_gradient(manipulator):
    robot = pl.Robot("free", gravity=(0, 0, 0))
    robot.add_body("body", joint=pl.Free(), shape=pl.Sphere(0.1), mass=1.0)
    system = robot.compile()
    rest = pl.solve_statics(system)
    with pytest.raises(ValueError, match="nothing resists"):
        pl.static_gradient(system, rest, pl.Reach("body", (0, 0, 1)))
    with pytest.raises(TypeError, match="Equilibrium"):
        pl.static_gradient(manipulator, manipulator.neutral(), pl.Reach("arm.tip", (0, 0, 1)))


def test_a_start_that_moves_with_its_parameters(manipulator):
    u = np.array([10.0, 0, 0, 5, 0])
    cost = pl.Reach("arm.tip", (0.3, 0.1, 0.1))
    U = np.full((8, 5), 12.0)

    def whole(system):
        rest = pl.solve_statics(system, u)
        return pl.rollout(system, U, step=0.01, start=rest, tolerance=1e-13), rest

    run, rest = whole(manipulator)
    g, fixed = run.gradient(cost, equilibrium=rest), run.gradient(cost)
    assert run.cost(cost) == g.value
    for name in ("arm.young", "arm.length", "gravity.z"):
        x = manipulator.parameters[name]
        slope = difference(
            lambda s, name=name, x=x: whole(manipulator.with_parameters({name: x * (1 + s)}))[0].cost(cost), 1e-3
        )
        assert g[name] * x == pytest.approx(slope, rel=1e-7)
        assert abs(fixed[name] - g[name]) > 1e-3 * abs(g[name])
    with pytest.raises(ValueError, match="where the motion starts"):
        run.gradient(cost, equilibrium=pl.solve_statics(manipulator))


def test_jacobian_of_a_quantity_by_parameters(manipulator):
    rest = pl.solve_statics(manipulator)
    U = np.full((8, 5), 12.0)
    tip = pl.costs.Position("arm.tip")
    names = ["arm.young", "arm.length"]
    J = pl.rollout(manipulator, U, step=0.01, start=rest).jacobian(tip, names)
    assert J.shape == (9, 3, 2)
    for k, name in enumerate(names):
        x = manipulator.parameters[name]

        def at(s, name=name, x=x):
            return pl.rollout(
                manipulator.with_parameters({name: x * (1 + s)}), U, step=0.01, start=rest, tolerance=1e-13
            ).positions("arm.tip")

        np.testing.assert_allclose(J[..., k] * x, difference(at, 1e-3), atol=1e-8 * np.abs(J[..., k] * x).max())
