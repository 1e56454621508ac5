"""Laws with a name: what each promises, against closed forms or the simulated robot, and that assumptions are checked."""

import numpy as np
import pytest
import scipy.linalg

import pliant as pl
from control_robots import arm, four_bar, pendulum, segments
from pliant.control.laws.allocation import allocate
from pliant.control.laws.outputs import Outputs
from pliant.control.laws.quadratic import solve_quadratic
from pliant.solve.drive import State

TIP = pl.costs.Position("arm.tip")
TIP_STATE = pl.costs.stack(TIP / 0.01, pl.costs.Velocity("arm.tip") / 0.1)


@pytest.fixture(scope="module")
def bent() -> tuple[pl.System, pl.Equilibrium]:
    system = arm()
    return system, pl.solve_statics(system, [12.0, 4.0, 4.0, 4.0])


def moving(system: pl.System, q: np.ndarray, seed: int = 0) -> State:
    rng = np.random.default_rng(seed)
    v = rng.normal(size=system.nv) * system.internal.scale
    return State(0.0, system.integrate(q, 0.1 * rng.normal(size=system.nv) * system.internal.scale), v)


# ---------------------------------------------------------------- what they are made of


def test_quadratic_programme_against_enumeration():
    """The optimum of random programmes is the best of all sets of active constraints that obey the others."""
    from itertools import combinations

    rng = np.random.default_rng(0)
    for _ in range(30):
        n, m = 3, 5
        root = rng.normal(size=(n, n))
        H, g = root @ root.T + 0.1 * np.eye(n), rng.normal(size=n)
        A = rng.normal(size=(m, n))
        b = A @ rng.normal(size=n) - rng.uniform(0, 0.5, size=m)
        found = solve_quadratic(H, g, A, b)
        best = np.inf
        for k in range(n + 1):
            for rows in combinations(range(m), k):
                own = A[list(rows)]
                kkt = np.block([[H, -own.T], [own, np.zeros((k, k))]])
                x = np.linalg.solve(kkt, np.concatenate([-g, b[list(rows)]]))[:n]
                if np.all(A @ x >= b - 1e-9):
                    best = min(best, 0.5 * x @ H @ x + g @ x)
        assert found.success
        assert np.all(A @ found.x >= b - 1e-9)
        assert 0.5 * found.x @ H @ found.x + g @ found.x == pytest.approx(best, abs=1e-9)
        assert np.abs(H @ found.x + g - A.T @ found.multipliers).max() < 1e-9
        assert np.all(found.multipliers >= -1e-12)


def test_quadratic_programme_says_that_there_is_no_answer_and_keeps_equalities():
    assert not solve_quadratic(np.eye(1), np.zeros(1), np.array([[1.0], [-1.0]]), np.array([1.0, 0.0])).success
    found = solve_quadratic(
        np.eye(2), np.array([-3.0, 0.0]), np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.25]), 1
    )
    assert found.x == pytest.approx([0.75, 0.25])


def test_inputs_are_shared_out_within_bounds():
    D, W = np.array([[1.0, -1.0]]), np.eye(2)
    low, high = np.zeros(2), np.full(2, 5.0)
    assert allocate(D, np.array([2.0]), W, np.ones(2), low, high) == pytest.approx([2.0, 0.0])
    assert allocate(D, np.array([4.0]), W, np.ones(2), low, high) == pytest.approx([4.0, 0.0])  # a cable does not push
    assert allocate(D, np.array([9.0]), W, np.ones(2), low, high) == pytest.approx([5.0, 0.0])  # as near as it can


@pytest.mark.parametrize("quantity", ["position", "length", "strain"])
def test_acceleration_of_outputs(quantity, bent):
    """ÿ = J a + J̇ v against the acceleration of the frame, and against differences along a motion."""
    system, rest = bent
    outputs = Outputs(
        "y",
        system,
        {
            "position": TIP,
            "length": pl.control.ActuationCoordinates(system),
            "strain": pl.costs.Curvature("arm", [0.2, 0.7]),
        }[quantity],
    )
    state = moving(system, rest.q)
    found = outputs.at(state.q, state.v)
    if quantity == "position":
        exact = system.acceleration("arm.tip", state.q, state.v, np.zeros(system.nv), reference="world")[3:]
    else:
        h = 1e-4
        y = [outputs.values(system.integrate(state.q, k * h * state.v)) for k in (-2, -1, 0, 1, 2)]
        exact = (-y[0] + 16 * y[1] - 30 * y[2] + 16 * y[3] - y[4]) / (12 * h * h)
    limit = 1e-8 if quantity == "position" else 2e-5  # of second differences of y
    assert np.abs(found.drift - exact).max() <= limit * max(np.abs(found.J).max() * np.abs(state.v).max(), 1.0)


def test_inputs_without_a_coordinate_are_refused():
    robot = pl.Robot("arm")
    rod = robot.add_rod(
        "arm",
        length=0.4,
        section=pl.Circle(0.015),
        material=pl.Material(young=1e6, poisson=0.5, density=1000),
        strains=pl.Strains.kirchhoff(2),
    )
    robot.add_tendon("rough", rod, z=0.012, friction=0.3)
    with pytest.raises(ValueError, match=r"'rough'.*has no coordinate that it does its work on"):
        pl.control.ActuationCoordinates(robot.compile())


# ---------------------------------------------------------------- laws


def test_compensated_pd_goes_to_its_goal_and_more_damping_settles_it(bent):
    system, goal = bent
    law = pl.control.CompensatedPD(system, goal, kp=800.0, kd=150.0)
    run = pl.simulate(system, 3.0, start=pl.solve_statics(system, np.full(4, 4.0)), u=law)
    away = np.linalg.norm(run.positions("arm.tip") - system.pose("arm.tip", goal.q)[:3, 3], axis=1)
    assert away[0] > 0.1
    assert away[-1] < 1e-3
    assert law(0.0, State(0.0, goal.q, np.zeros(system.nv))) == pytest.approx(goal.u)


def test_compensation_of_potential_forces_leaves_inertia_and_gains():
    """With full actuation: M a = kp e − kd v − damping, without Coriolis at rest."""
    system = segments(gravity=(0, 0, -9.81))
    goal = 0.2 * system.random(0)
    law = pl.control.CompensatedPD(system, goal, kp=1e-3, kd=1e-4, compensate="state")
    q = 0.2 * system.random(1)
    state = State(0.0, q, np.zeros(system.nv))
    a = system.forward_dynamics(q, state.v, u=law(0.0, state))
    assert system.mass_matrix(q) @ a == pytest.approx(1e-3 * (goal - q), abs=1e-14)


def test_feedforward_follows_exactly_from_a_right_start():
    system = segments()
    amplitude = np.array([0, 2.0, 1.0, 0.02, 0, 0])

    def plan(t):
        return amplitude * np.sin(3 * t), 3 * amplitude * np.cos(3 * t), -9 * amplitude * np.sin(3 * t)

    law = pl.control.CompensatedPD(system, plan, kp=1e-4, kd=1e-5, compensate="trajectory")
    run = pl.simulate(system, 1.0, velocity=plan(0.0)[1], u=law, rtol=1e-7, atol=1e-9, output=0.1)
    assert np.abs(run.q - np.array([plan(t)[0] for t in run.t])).max() < 1e-5


def test_full_compensation_needs_full_actuation(bent):
    with pytest.raises(ValueError, match="needs a robot whose inputs give every generalised force"):
        pl.control.CompensatedPD(bent[0], bent[1], kp=1.0, kd=1.0, compensate="state")


def test_a_goal_that_inputs_cannot_hold_is_refused(bent):
    system, goal = bent
    with pytest.raises(ValueError, match="no inputs hold the goal"):
        pl.control.CompensatedPD(system, goal.q + 1.0, kp=1.0, kd=1.0)


def test_computed_torque_linearises_collocated_outputs_exactly():
    """An underactuated arm with three cables: ÿ is what was asked for, with the whole nonlinear dynamics; checked by the forward dynamics."""
    system = arm(1, cables=3, stretches=True)
    rest = pl.solve_statics(system, [20.0, 18.0, 18.0])
    law = pl.control.ComputedTorque(system, rest, kp=100.0, kd=20.0, rest=rest.u)
    state = moving(system, rest.q)
    u = law(0.0, state)
    assert np.all(u > 0.0)
    outputs = law.outputs.at(state.q, state.v)
    a = system.forward_dynamics(state.q, state.v, u=u)
    wanted = 100.0 * (law.outputs.values(rest.q) - outputs.y) - 20.0 * outputs.rate
    assert outputs.J @ a + outputs.drift == pytest.approx(wanted, rel=1e-7)


def test_computed_torque_decays_as_the_gains_say():
    """Lengths of three cables return as exp(−ω t)(1 + ω t), by the simulated robot."""
    system = arm(1, cables=3, stretches=True)
    rest = pl.solve_statics(system, [20.0, 18.0, 18.0])
    near = pl.solve_statics(system, [22.0, 17.0, 19.0])
    omega = 8.0
    law = pl.control.ComputedTorque(system, rest, kp=omega**2, kd=2 * omega, rest=rest.u)
    run = pl.simulate(system, 0.5, start=near, u=law, output=0.05, rtol=1e-4, atol=1e-6)
    y = np.array([law.outputs.values(q) for q in run.q]) - law.outputs.values(rest.q)
    expected = y[0] * (np.exp(-omega * run.t) * (1 + omega * run.t))[:, None]
    assert np.abs(y - expected).max() < 1e-4 * np.abs(y[0]).max()


def test_computed_torque_keeps_loops():
    system = four_bar()
    rest = pl.solve_statics(system, start=[1.5, 1.5, -1.5])
    angle = pl.costs.Coordinates("left")
    law = pl.control.ComputedTorque(system, [1.0], kp=100.0, kd=20.0, outputs=angle)
    run = pl.simulate(system, 1.0, start=rest, u=law, output=0.1, rtol=1e-6, atol=1e-8)
    expected = 1.0 + (rest.q[0] - 1.0) * np.exp(-10 * run.t) * (1 + 10 * run.t)
    assert np.abs(run.q[:, 0] - expected).max() < 1e-4


def test_outputs_that_inputs_do_not_reach_are_refused(bent):
    with pytest.raises(ValueError, match=r"has 4, and the 4 inputs .* reach [23] directions"):
        pl.control.ComputedTorque(
            bent[0], bent[1], kp=1.0, kd=1.0
        )  # of four parallel cables one follows from the others
    with pytest.raises(ValueError, match="depends on velocities"):
        pl.control.ComputedTorque(bent[0], bent[1], kp=1.0, kd=1.0, outputs=pl.costs.Velocity("arm.tip"))


def test_elastic_tendons_are_refused():
    robot = pl.Robot("arm")
    rod = robot.add_rod(
        "arm",
        length=0.4,
        section=pl.Circle(0.015),
        material=pl.Material(young=1e6, poisson=0.5, density=1000),
        strains=pl.Strains.kirchhoff(1),
    )
    robot.add_tendon("cord", rod, z=0.012, control="elastic", stiffness=500.0)
    system = robot.compile()
    with pytest.raises(ValueError, match="inputs that act linearly"):
        pl.control.ComputedTorque(system, [0.0], kp=1.0, kd=1.0)


@pytest.mark.parametrize("inertia", [None, [1e-3, 1e-3, 1e-3, 0.1, 0.1, 0.1]])
def test_impedance_of_the_tip(inertia):
    """Λ (ẍ − ẍ*) + kd ė + kp e = force at the tip, by the forward dynamics with a wrench there."""
    system = segments(2)
    q = 0.3 * system.random(2)
    v = 0.5 * np.random.default_rng(3).normal(size=system.nv) * system.internal.scale
    kp, kd = np.array([0.01, 0.01, 0.01, 1.0, 1.0, 1.0]), np.array([1e-3, 1e-3, 1e-3, 0.1, 0.1, 0.1])
    goal = pl.Pose(system.pose("s1.tip", q)[:3, 3] + [0.01, 0.0, -0.005], system.pose("s1.tip", q)[:3, :3]) @ pl.rotate(
        "y", 0.1
    )
    law = pl.control.Impedance(system, "s1.tip", goal, kp, kd, inertia=inertia)
    state = State(0.0, q, v)
    J = system.jacobian("s1.tip", q, reference="world")
    force = np.array([1e-4, 0, 0, 0.0, 2e-3, 1e-3]) if inertia is None else np.zeros(6)
    a = system.forward_dynamics(q, v, J.T @ force, u=law(0.0, state))
    acceleration = system.acceleration("s1.tip", q, v, a, reference="world")
    own = np.linalg.inv(J @ np.linalg.solve(system.mass_matrix(q), J.T)) if inertia is None else np.diag(inertia)
    left = own @ acceleration + kd * (J @ v) - kp * law.error(0.0, state)
    assert left == pytest.approx(force, abs=1e-9)


def test_impedance_does_wrenches_at_the_frame_alone():
    """With full actuation the inputs are JᵀF: what does not move the frame is left to the arm itself."""
    system = segments(2)
    q = 0.3 * system.random(2)
    law = pl.control.Impedance(system, "s1.tip", pl.translate(0.18, 0.02, 0.0), 0.05, 0.01)
    B = system.actuation_matrix(q)
    J = system.jacobian("s1.tip", q, reference="world")
    f = B @ law(0.0, State(0.0, q, np.zeros(system.nv)))
    rest = f - J.T @ np.linalg.lstsq(J.T, f, rcond=None)[0]
    assert np.abs(rest * system.internal.scale).max() < 1e-6 * np.abs(f * system.internal.scale).max()


def test_energy_shaping_holds_what_is_unstable_and_its_energy_falls_also_at_bounds():
    system = pendulum()
    rest = pl.solve_statics(system, start=[-np.pi / 2 + 1e-3, np.pi], stable=False)  # the first up, the second hangs
    assert rest.stability == "divergence"
    law = pl.control.EnergyShaping(system, rest, kp=3.0, kd=0.4, bounds=(-1.2, 1.2))
    run = pl.simulate(system, 12.0, start=rest.q + [0.7, 0.3], u=law, rtol=1e-6, atol=1e-8)
    energy = np.array([law.energy(q, v) for q, v in zip(run.q, run.v)])
    assert np.abs(run.u).max() == 1.2
    assert np.all(np.diff(energy) < 1e-6 * energy[0])
    assert np.abs(run.q[-1] - rest.q).max() < 0.02
    with pytest.raises(ValueError, match="no minimum of the energy"):
        pl.control.EnergyShaping(system, rest, kp=0.5, kd=0.4)
    upright = pl.solve_statics(system, start=[-np.pi / 2, 0.0], stable=False)
    with pytest.raises(ValueError, match=r"along .*second"):  # which the motor does not reach
        pl.control.EnergyShaping(system, upright, kp=50.0, kd=0.4)


def test_energy_shaping_says_what_else_acts():
    robot = pl.Robot("arm")
    rod = robot.add_rod(
        "arm",
        length=0.4,
        section=pl.Circle(0.015),
        material=pl.Material(young=1e6, poisson=0.5, density=1000),
        strains=pl.Strains.kirchhoff(1),
    )
    robot.add_tendon("cable", rod, z=0.012)
    robot.add_load("push", rod.tip, lambda pose, twist, inputs: np.tile([0, 0, 0, 0, 0, 0.1], (len(pose), 1)))
    system = robot.compile()
    with pytest.raises(ValueError, match="other forces do"):
        pl.control.EnergyShaping(system, pl.solve_statics(system), kp=1.0, kd=1.0)


# ---------------------------------------------------------------- regulators


def test_lqr_is_the_textbook_one_and_optimal(bent):
    """Gains as of the Riccati equation in plain coordinates; a run costs what P says."""
    system, rest = bent
    R = 1 / 5.0**2
    law = pl.control.LQR(system, rest, TIP_STATE, R)
    linear = pl.linearize(system, rest)
    J = system.jacobian("arm.tip", rest.q, reference="world")[3:]
    Q = scipy.linalg.block_diag(J.T @ J / 0.01**2, J.T @ J / 0.1**2)
    P = scipy.linalg.solve_continuous_are(linear.A, linear.B, Q, R * np.eye(4))
    K = linear.B.T @ P / R
    assert np.abs(law.K - K).max() < 1e-5 * np.abs(K).max()
    assert law.poles.real.max() < 0.0


@pytest.mark.parametrize("period", [None, 0.02])
def test_cost_of_a_regulated_motion(bent, period):
    """What a small deviation costs on the nonlinear robot, continuous and sampled, against xᵀP x, also as a cost."""
    system, rest = bent
    law = pl.control.LQR(system, rest, TIP_STATE, 0.04, period=period)
    away = 1e-3 * pl.modes(system, rest, 1).shapes[:, 0]
    away /= np.abs(away / system.internal.scale).max() / 1e-3
    u = law if period is None else pl.Sampled(law, period)
    run = pl.simulate(
        system, 3.0, start=rest.q + away, u=u, output=0.005 if period is None else period, rtol=1e-7, atol=1e-10
    )
    states = pl.costs.States(system, run.t, run.q, run.v, run.u)
    s = TIP_STATE.evaluate(states).value - TIP_STATE.evaluate(pl.costs.States.at_rest(system, rest.q)).value
    du = np.array([law(t, State(t, q, v)) for t, q, v in zip(run.t, run.q, run.v)]) - rest.u
    each = np.sum(s**2, axis=1) + 0.04 * np.sum(du**2, axis=1)
    cost = np.trapezoid(each, run.t) if period is None else period * each.sum()
    x = np.concatenate([away, np.zeros(system.nv)])
    assert cost == pytest.approx(x @ law.P @ x, rel=0.01)
    start = pl.costs.States.at_rest(system, rest.q + away)
    assert 2.0 * law.value().evaluate(start).value == pytest.approx(x @ law.P @ x, rel=1e-6)


def test_lqr_holds_a_loop_and_what_cannot_be_held_is_named():
    system = four_bar()
    up = pl.solve_statics(system, start=[-1.5, -1.5, 1.5], stable=False)
    law = pl.control.LQR(system, up, 1.0, 1.0)
    assert law.model.A.shape == (2, 2)
    run = pl.simulate(system, 4.0, start=system.integrate(up.q, law.model.basis[:3, 0] * 0.1), u=law)
    assert np.abs(run.q[-1] - up.q).max() < 1e-2
    robot = pl.Robot("two")
    for name in ("driven", "free"):
        robot.add_body(name, joint=pl.Revolute("y"), shape=pl.Box(0.3, 0.02, 0.02), mass=0.2, com=(0.15, 0, 0))
    robot.add_motor("motor", "driven")
    two = robot.compile()
    both = pl.solve_statics(two, start=[-np.pi / 2, -np.pi / 2], stable=False)
    with pytest.raises(ValueError, match=r"along 'free.angle' does not decay"):
        pl.control.LQR(two, both, 1.0, 1.0)


def test_lqr_stands_a_double_pendulum_up():
    system = pendulum()
    up = pl.solve_statics(system, start=[-np.pi / 2, 0.0], stable=False)
    law = pl.control.LQR(system, up, 1.0, 1.0, period=0.01)
    assert np.abs(law.poles).max() < 1.0
    run = pl.simulate(system, 4.0, start=up.q + [0.02, -0.02], u=pl.Sampled(law, 0.01))
    assert np.abs(run.q[-1] - up.q).max() < 1e-3


def test_tracking_lqr_returns_to_an_unstable_motion():
    """Along a motion of the inverted pendulum: open loop it falls, with gains of each step it stays; P is the cost of a deviation."""
    system = pendulum()
    up = pl.solve_statics(system, start=[-np.pi / 2, 0.0], stable=False)
    nominal = pl.control.ClosedLoop(
        system, _held_up(system, up), step=0.02, duration=2.0, start=up.q, parameters={}
    ).run()
    law = pl.control.TrackingLQR(nominal, 1.0, 1.0)
    start = nominal.q[0] + [1e-4, 0.0]
    run = pl.rollout(system, nominal.U, step=0.02, start=start)
    assert np.abs(run.q[-1] - nominal.q[-1]).max() > 0.1
    loop = pl.control.ClosedLoop(
        system, lambda t, state, p: law.wanted(t, state), step=0.02, duration=2.0, start=start
    ).run()
    assert np.abs(loop.q[-1] - nominal.q[-1]).max() < 1e-4
    x = np.hstack([loop.q - nominal.q, loop.v - nominal.v])
    du = loop.U - nominal.U
    cost = 0.02 * (np.sum(x[:-1] ** 2) + np.sum(du**2)) + np.sum(x[-1] ** 2)
    assert cost == pytest.approx(x[0] @ law.P[0] @ x[0], rel=1e-3)


def _held_up(system, up):
    regulator = pl.control.LQR(system, up, 1.0, 1.0, period=0.02)

    def law(t, state, parameters):
        return regulator.wanted(t, state) + 0.05 * np.sin(5 * t)

    return law


def test_lqg_estimates_what_it_does_not_measure(bent):
    """With the lengths of cables and 0.1 mm of noise: the estimate has the covariance that the filter says, and the tip settles."""
    system, rest = bent
    lengths = pl.costs.TendonLength()
    law = pl.control.LQG(system, rest, TIP_STATE, 0.04, sensors=lengths, noise=1e-4, process=0.3, period=0.02)
    near = pl.solve_statics(system, rest.u + [0.5, 0.2, 0.0, 0.0])
    run = pl.simulate(system, 5.0, start=near, u=law.sampled(), output=0.02)
    tip = run.positions("arm.tip") - system.pose("arm.tip", rest.q)[:3, 3]
    assert np.linalg.norm(tip[-1]) < 0.02 * np.linalg.norm(tip[0])
    rng = np.random.default_rng(0)
    z = np.zeros((len(law.A), 2))  # the model with the noise that the filter was made for: truth and estimate
    errors = []
    for _ in range(4000):
        y = law.C @ z[:, 0] + 1e-4 * rng.normal(size=4)
        here = z[:, 1] + law.L @ (y - law.C @ z[:, 1])
        errors.append(law.C @ (z[:, 0] - here))
        u = -law.Kz @ here
        z = np.stack([law.A @ z[:, 0] + law.B @ (u + 0.3 * rng.normal(size=4)), law.A @ here + law.B @ u], axis=1)
    found = np.var(errors[500:], axis=0)
    assert found == pytest.approx(np.diag(law.C @ law.S @ law.C.T), rel=0.25)


def test_noise_of_sensors_is_the_same_again(bent):
    system, rest = bent
    law = pl.control.LQG(system, rest, TIP / 0.01, 0.04, sensors=TIP, noise=1e-3, process=0.3, period=0.05)
    first, second = (pl.simulate(system, 0.3, start=rest, u=law.sampled(seed=4)) for _ in range(2))
    assert np.array_equal(first.u, second.u)
    assert np.abs(first.u - rest.u).max() > 0.01


# ---------------------------------------------------------------- servos


def test_image_of_a_camera_and_its_derivative(bent):
    system, rest = bent
    seen = pl.costs.Image(
        pl.Pose((0.3, -1.0, 0.0), pl.rotate("x", -np.pi / 2).rotation),
        ["arm.tip", (0.3, 0.1, 0.0)],
        focal=500.0,
        centre=(320, 240),
    )
    eye = pl.costs.Image("arm.tip", [(1.5, 0.1, 0.0), "arm.base"][:1])
    for quantity in (seen, eye):
        state = pl.costs.States.at_rest(system, rest.q)
        if quantity is eye:  # the tip looks along its own z axis
            camera = system.pose("arm.tip", rest.q)
            quantity = pl.costs.Image("arm.tip", camera[:3, 3] + camera[:3, :3] @ [0.1, 0.05, 0.8])
            assert quantity.evaluate(state).value[0] == pytest.approx([0.125, 0.0625])
        found = quantity.evaluate(state)
        rng = np.random.default_rng(0)
        d = rng.normal(size=system.nv) * system.internal.scale
        h = 1e-3
        values = [
            quantity.evaluate(pl.costs.States.at_rest(system, rest.q + k * h * d)).value[0] for k in (-2, -1, 1, 2)
        ]
        slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
        pushed = found.push(pl.costs.Variation(d[None], np.zeros((1, system.nv)), np.zeros((1, 4))))[0]
        assert pushed == pytest.approx(slope, rel=1e-8, abs=1e-8)
    with pytest.raises(ValueError, match="not in front of the camera"):
        pl.costs.Image(pl.Pose((2.0, 0, 0), pl.rotate("y", np.pi / 2).rotation), "arm.tip").evaluate(state)


def test_visual_servo_finds_its_goal_with_a_wrong_model(bent):
    """The robot is 20 % softer than the model; errors in the image decay at the rate of the servo all the same."""
    system, rest = bent
    real = system.with_parameters({"arm.young": 0.8e6})
    camera = pl.Pose((0.3, -1.0, -0.1), pl.rotate("x", -np.pi / 2).rotation)
    seen = pl.costs.Image(camera, "arm.tip", focal=500.0)
    goal_at = pl.solve_statics(real, [14.0, 6.0, 2.0, 4.0])
    goal = seen.evaluate(pl.costs.States.at_rest(real, goal_at.q)).value[0]
    start = pl.solve_statics(real, rest.u)
    law = pl.control.Servo(system, seen, goal, pl.solve_statics(system, rest.u), rate=0.5, period=0.1)
    assert not law.warnings
    run = pl.simulate(real, 8.0, start=start, u=law.sampled(), output=0.1)
    error = seen.evaluate(pl.costs.States(real, run.t, run.q, run.v, run.u)).value - goal
    size = np.linalg.norm(error, axis=1)
    assert size[0] > 10.0  # pixels
    assert size[-1] < 0.03 * size[0]  # exp(−4) with the right model


def test_servo_obeys_bounds_and_slew_and_goes_to_rest(bent):
    system, rest = bent
    gauge = pl.costs.Curvature("arm", 0.5)
    goal = gauge.evaluate(pl.costs.States.at_rest(system, rest.q)).value[0]
    law = pl.control.Servo(
        system, gauge, goal, rest, rate=2.0, period=0.1, slew=1.0, rest=np.full(4, 2.0), bounds=(1.0, 30.0)
    )
    assert "a vibration of the robot may grow" in law.warnings[0]
    u = rest.u
    for k in range(60):
        new = law.step(0.1 * k, goal, u)
        assert np.abs(new - u).max() <= 0.1 + 1e-12
        u = new
    assert u.min() >= 1.0
    held = pl.solve_statics(system, u)
    assert gauge.evaluate(pl.costs.States.at_rest(system, held.q)).value[0] == pytest.approx(goal, rel=1e-2)
    assert u[0] - u[2] == pytest.approx(rest.u[0] - rest.u[2], rel=1e-2)  # what bends the arm stays
    assert np.sum((u - 2) ** 2) < 0.9 * np.sum((rest.u - 2) ** 2)  # what does not comes to rest
