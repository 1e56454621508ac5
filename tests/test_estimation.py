"""Filters, moving-horizon estimators and smoothers: against textbooks, differences, statistics and truths; refusals."""

import numpy as np
import pytest

import pliant as pl
from pliant import costs
from pliant.estimation.mapped import State
from pliant.estimation.model import Options, StochasticModel
from pliant.estimation.window import Datum, Window
from robots import SILICONE

# ---------------------------------------------------------------- robots


def cart():
    """A linear robot: two carts, springs and dampers, a motor."""
    robot = pl.Robot("carts", gravity=(0, 0, 0))
    spring = pl.Prismatic("x", stiffness=20.0, damping=0.5)
    one = robot.add_body("one", joint=spring, shape=pl.Sphere(0.1), mass=1.0)
    robot.add_body(
        "two", parent=one, joint=pl.Prismatic("x", stiffness=5.0, damping=0.1), shape=pl.Sphere(0.1), mass=0.5
    )
    robot.add_motor("motor", "one")
    return robot.compile()


def arm(order=2):
    """A light arm with a load at its tip and two cables."""
    robot = pl.Robot("arm")
    rod = robot.add_rod(
        "arm",
        length=0.4,
        section=pl.Circle((0.02, 0.012)),
        material=SILICONE,
        strains=pl.Strains(bending=order, torsion=1),
    )
    robot.add_tendon("left", rod, y=0.01)
    robot.add_tendon("top", rod, z=0.01)
    robot.add_wrench("load", rod.tip, force=(0, 0, -1))
    robot.add_wrench("side", rod.tip, force=(0, 1, 0))
    return robot.compile()


def floating():
    """A floating tree with offsets and branches: a body in space, a rod on a ball joint, a fin, a cable, a load."""
    robot = pl.Robot("tree", gravity=(1.0, -2.0, -9.0))
    hull = robot.add_body("hull", joint=pl.Free(), shape=pl.Box(0.3, 0.2, 0.1), mass=2.0, com=(0.02, 0.01, 0.0))
    tail = robot.add_rod(
        "tail", parent=hull, offset=pl.translate(0.1, 0, 0) @ pl.rotate("y", 0.4), length=0.6, section=pl.Circle(0.02),
        material=SILICONE, strains=pl.Strains(torsion=1, bending=2, stretch=1), joint=pl.Spherical(stiffness=0.3),
    )  # fmt: skip
    robot.add_body(
        "fin", parent=tail.at(0.4), joint=pl.Revolute("y", stiffness=0.5), shape=pl.Box(0.1, 0.1, 0.01), mass=0.2
    )
    robot.add_tendon("cord", "tail", z=0.015)
    robot.add_wrench("load", tail.tip, force=(0, 1, 0.5), axes="body")
    return robot.compile()


def looped():
    """Two rods that hold a pin together: closed by a hinge."""
    robot = pl.Robot("two arms")
    ends = []
    for k, y in enumerate((-0.1, 0.1)):
        rod = robot.add_rod(
            f"rod{k}", offset=pl.translate(0, y, 0), length=0.4, section=pl.Circle(0.012), material=SILICONE,
            strains=pl.Strains(bending=1, torsion=0, stretch=0), joint=pl.Revolute("z", stiffness=0.1),
        )  # fmt: skip
        ends.append(rod.tip)
    robot.add_loop("pin", *ends, joint=pl.Spherical())
    robot.add_motor("motor", "rod0")
    robot.add_wrench("load", ends[0], force=(0, 0, -1))
    return robot.compile()


def model(system, sensors, step=0.02, **options):
    return StochasticModel(system, sensors, Options(step, **options))


def readings(system, sensors, run, seed=0, noise=1.0):
    """What sensors read at the ends of the steps of a rollout, (N, m)."""
    rng = np.random.default_rng(seed)
    rows = [sensor.quantity.evaluate(run.states).value[1:] for sensor in sensors]
    noisy = [x + noise * rng.normal(size=x.shape) * sensor.deviations(system) for x, sensor in zip(rows, sensors)]
    return np.hstack(noisy)


# ---------------------------------------------------------------- against textbooks


@pytest.fixture(scope="module")
def linear():
    """A linear record, and the textbook's matrices: A, B, C, Q, R, P₀."""
    system = cart()
    rng = np.random.default_rng(3)
    U = rng.normal(size=(60, 1))
    run = pl.rollout(system, U, step=0.05, start=[0.3, -0.2], tolerance=1e-13)
    sensors = [costs.Coordinates("two").measured(0.02, "place"), costs.Rates("one").measured(0.1, "rate")]
    Y = readings(system, sensors, run)
    A, B = (x[0] for x in run.maps())
    C = np.zeros((2, 4))
    C[0, 1] = C[1, 2] = 1.0
    options = {"uncertainty": ((0.3, 0.2), (0.5, 0.4)), "disturbance": (0.3, 0.5), "tolerance": 1e-13}
    W = np.diag([0.0, 0.0, 0.3**2, 0.5**2]) * 0.05
    P = np.diag([0.3**2, 0.2**2, 0.5**2, 0.4**2])
    return system, sensors, U, Y, options, (A, B, C, A @ W @ A.T, np.diag([0.02**2, 0.1**2]), P)


def textbook(U, Y, matrices):
    A, B, C, Q, R, P = matrices
    x, out = np.zeros(4), []
    for u, y in zip(U, Y):
        before = A @ x + B @ u, A @ P @ A.T + Q
        there = np.isfinite(y)
        H, r = C[there], R[np.ix_(there, there)]
        K = before[1] @ H.T @ np.linalg.inv(H @ before[1] @ H.T + r)
        x, P = before[0] + K @ (y[there] - H @ before[0]), (np.eye(4) - K @ H) @ before[1]
        out.append((before, x, P))
    return out


def test_on_a_linear_robot_it_is_the_kalman_filter(linear):
    system, sensors, U, Y, options, matrices = linear
    Y = Y.copy()
    Y[::3, 1] = np.nan  # a slower sensor
    Y[10] = np.nan  # nothing at all
    kalman = pl.ExtendedKalman(system, sensors, step=0.05, **options)
    for u, y, (_before, x, P) in zip(U, Y, textbook(U, Y, matrices)):
        found = kalman.update(u, y)
        np.testing.assert_allclose(np.concatenate([found.q, found.v]), x, atol=1e-10)
        np.testing.assert_allclose(found.covariance, P, atol=1e-10)
        assert found.used == np.isfinite(y).sum()
    assert found.t == pytest.approx(60 * 0.05)
    assert found.deviation("d/dt " + system.dof_names[0]) == pytest.approx(np.sqrt(P[2, 2]), rel=1e-9)


def test_on_a_linear_robot_smoothing_is_that_of_rauch_tung_and_striebel(linear):
    system, sensors, U, Y, options, matrices = linear
    A = matrices[0]
    filtered = textbook(U, Y, matrices)
    x, P = filtered[-1][1:]
    backwards = [(x, P)]
    for (_b, xf, Pf), (before, _x, _P) in zip(filtered[-2::-1], filtered[:0:-1]):
        G = Pf @ A.T @ np.linalg.inv(before[1])
        x, P = xf + G @ (x - before[0]), Pf + G @ (P - before[1]) @ G.T
        backwards.append((x, P))
    found = pl.smooth(system, sensors, U, Y, step=0.05, convergence=1e-6, **options)
    assert found.success
    assert found.iterations <= 3
    for k, (x, P) in enumerate(backwards[::-1], start=1):
        np.testing.assert_allclose(np.concatenate([found.q[k], found.v[k]]), x, atol=1e-9)
        np.testing.assert_allclose(found.covariance(k), P, atol=1e-9)


def test_a_window_over_everything_ends_where_the_filter_does(linear):
    system, sensors, U, Y, options, matrices = linear
    horizon = pl.MovingHorizon(system, sensors, step=0.05, window=7, **options)
    for u, y, (_before, x, P) in zip(U[:20], Y, textbook(U, Y, matrices)):
        found = horizon.update(u, y)
        np.testing.assert_allclose(np.concatenate([found.q, found.v]), x, atol=1e-9)
        np.testing.assert_allclose(found.covariance, P, atol=1e-9)
    assert len(horizon.states) == 8


# ---------------------------------------------------------------- derivatives


SENSORS = {
    "floating": [
        costs.Position("fin").measured(0.01),
        costs.FramePose("hull", pl.rotate("x", 0.4)).measured(0.01),
        costs.IMU("tail.tip").measured(0.1),
        costs.TendonLength().measured(1e-3),
        costs.StrainGauge("tail", [0.2, 0.7], z=0.02).measured(1e-3),
    ],
    "looped": [
        costs.Position("rod0.tip").measured(0.01),
        costs.IMU("rod1.tip").measured(0.1),
        costs.Curvature("rod0", 0.5).measured(0.01),
    ],
    "arm": [costs.Velocity("arm.tip").measured(0.01), costs.TendonLength().measured(1e-3)],
}
UNKNOWN = {
    "floating": ["load", "tail.young", "fin.mass", "tail.length"],
    "looped": ["load", "rod0.young", "rod1.length"],
    "arm": ["load", "left", "arm.young", "arm.viscosity"],
}
ROBOTS = {"floating": floating, "looped": looped, "arm": arm}


@pytest.fixture(scope="module", params=ROBOTS)
def moving(request):
    """A model with unknown inputs and parameters, in the midst of a motion."""
    system = ROBOTS[request.param]()
    rng = np.random.default_rng(5)
    closed = request.param == "looped"
    start = pl.solve_statics(system).q if closed else system.random(rng, scale=0.3)
    unknown = [
        pl.Prior(name, 0.3 * abs(system.parameters.get(name, 1.0)), start=None) for name in UNKNOWN[request.param]
    ]
    made = model(
        system,
        SENSORS[request.param],
        start=start,
        velocity=(0.02 if closed else 0.3) * rng.normal(size=system.nv),
        unknown=unknown,
        tolerance=1e-13,
    )
    w = made.steps.start.w.copy()
    w[: len(made.unknowns.inputs)] = 0.3, *([2.0] if request.param == "arm" else [])
    first = State(0.0, made.steps.start.q, made.steps.start.v, made.steps.start.z, w)
    u = made.inputs(
        {name: x for name, x in (("cord", 1.5), ("top", 1.5), ("motor", 0.03)) if name in system.input_names}
    )
    return made, made.steps.advance(first, u, False)[0], u


def differences(function, size, steps):
    """Columns of a derivative to fourth order, the best of several steps for each."""
    columns = []
    for k in range(size):
        d = np.eye(size)[k]
        columns.append(
            [
                (8 * (function(h * d) - function(-h * d)) - function(2 * h * d) + function(-2 * h * d)) / (12 * h)
                for h in steps
            ]
        )
    return columns


@pytest.fixture(scope="module")
def map_of(moving):
    made, state, u = moving
    return made.advance(state, u)


def test_the_derivative_of_a_step(moving, map_of):
    made, state, u = moving
    end, F = map_of

    def moved(d):
        there = made.steps.moved(state, d * made.size)
        return made.steps.difference(end, made.steps.advance(there, u, False)[0]) / made.size

    scale = np.maximum(np.abs(F).max(axis=0), 1e-3 * np.abs(F).max())
    for k, tries in enumerate(differences(moved, made.n, (3e-2, 1e-3, 3e-4))):
        assert min(np.abs(column - F[:, k]).max() for column in tries) <= 2e-8 * scale[k], (k, made.n)


def test_the_derivative_of_what_is_measured(moving):
    made, state, u = moving
    value, H = made.predict(state, u)

    def read(d):
        there = made.steps.moved(state, d * made.size)
        inputs = made.steps.inputs(u, there.w)
        return made.readings.value(made.steps.system(there.w), there.t, there.q, there.v, inputs)

    np.testing.assert_allclose(read(np.zeros(made.n)), value, rtol=1e-14, atol=1e-14)
    scale = np.maximum(np.abs(H).max(axis=1), 1e-9)
    for k, tries in enumerate(differences(read, made.n, (3e-3, 1e-3, 3e-4))):
        assert min((np.abs(column - H[:, k]) / scale).max() for column in tries) <= 2e-8, k


def test_the_step_is_that_of_a_rollout(moving):
    made, state, u = moving
    end = made.steps.advance(state, u)[0]
    run = pl.rollout(
        made.steps.system(state.w),
        made.steps.inputs(u, state.w)[None],
        step=made.step,
        start=state.q,
        velocity=state.v,
        tolerance=1e-13,
    )
    np.testing.assert_allclose(end.q, run.q[-1], atol=1e-10)
    np.testing.assert_allclose(end.v, run.v[-1], atol=1e-8)


def test_prescribed_motions():
    """A cart that is moved and a cable of prescribed length: steps and derivatives are those of rollouts."""
    robot = pl.Robot("moved")
    cart = robot.add_body("cart", joint=pl.Prismatic("x"), shape=pl.Sphere(0.05), mass=0.2)
    robot.add_motion("drive", cart)
    rod = robot.add_rod(
        "arm", parent=cart, length=0.4, section=pl.Circle(0.015), material=SILICONE, strains=pl.Strains(bending=2)
    )
    robot.add_tendon("cable", rod, z=0.01, control="length")
    robot.add_wrench("load", rod.tip, force=(0, 0, -1))
    system = robot.compile()
    told = {"drive": lambda t: 0.05 * np.sin(8 * t), "cable": lambda t: 0.398 - 0.01 * t}
    rest = pl.solve_statics(system, motion={"drive": 0.0, "cable": 0.398})
    sensors = [costs.Position("arm.tip").measured(1e-3, "tip")]
    made = model(
        system,
        sensors,
        start=rest,
        motion=told,
        unknown=[pl.Prior("load", 0.2), pl.Prior("arm.young", 1e5)],
        tolerance=1e-13,
    )
    run = pl.rollout(system, np.zeros((6, system.nu)), step=0.02, start=rest, motion=told, tolerance=1e-13)
    state, u = made.steps.start, made.inputs(None)
    for q in run.q[1:]:
        before, (state, F) = state, made.advance(state, u)
        np.testing.assert_allclose(state.q, q, atol=1e-9)

    def moved(d):
        there = made.steps.moved(before, d * made.size)
        return made.steps.difference(state, made.steps.advance(there, u, False)[0]) / made.size

    free = np.flatnonzero(np.concatenate([~system.known, ~system.known, [True, True]]))
    tries = differences(moved, made.n, (3e-2, 3e-3))
    assert not np.any(np.delete(F, free, axis=1))
    for k in free:
        assert min(np.abs(column - F[:, k]).max() for column in tries[k]) <= 1e-7 * np.abs(F).max(), k
    kalman = pl.ExtendedKalman(system, sensors, step=0.02, start=rest, motion=told, unknown=[pl.Prior("load", 0.2)])
    for y in readings(system, sensors, run):
        found = kalman.update(values=y)
    assert abs(found.unknown["load"]) < 3.5 * found.deviation("load")
    assert found.q[0] == pytest.approx(0.05 * np.sin(8 * 0.12))


def test_a_step_in_parts_has_the_product_of_their_derivatives():
    made = model(arm(), SENSORS["arm"], step=0.02)
    u = made.inputs({"top": 3.0})
    whole, F = made.steps._in_parts(made.steps.start, u, 0.02, True, 4)
    fine = model(arm(), SENSORS["arm"], step=0.005)
    state, G = fine.steps.start, np.eye(made.n)
    for _ in range(4):
        state, part = fine.steps.advance(state, u)
        G = part @ G
    np.testing.assert_allclose(whole.q, state.q, atol=1e-9)
    np.testing.assert_allclose(F, G, atol=1e-6 * np.abs(G).max())


@pytest.mark.parametrize("name", ["floating", "arm"])
def test_the_most_likely_motion_is_one(name):
    """The gradient of the likelihood by start and kicks vanishes, on quaternions too; differences of whole motions tell."""
    system = ROBOTS[name]()
    rng = np.random.default_rng(1)
    start = system.random(rng, scale=0.2)
    made = model(
        system, SENSORS[name][:2], start=start, unknown=[pl.Prior("load", 0.5)], tolerance=1e-13, uncertainty=(0.1, 0.5)
    )
    truth, data = made.steps.moved(made.steps.start, 0.5 * made.size * rng.normal(size=made.n)), []
    for _ in range(4):
        truth = made.steps.advance(truth, made.inputs(None), False)[0]
        value = made.readings.value(system, truth.t, truth.q, truth.v, made.steps.inputs(made.inputs(None), truth.w))
        data.append(Datum(made.inputs(None), value + made.readings.noise * rng.normal(size=len(value))))
    window = Window(made, made.steps.start, made.covariance, data, huber=2.0)
    fit, _found, done, change = window.solve(np.zeros(made.n), np.zeros((4, made.n)), 60, 1e-8)
    assert change < 1e-8, (done, change)
    P = np.linalg.inv(made.covariance)

    def cost(X, kicks):
        other = window.motion(X, kicks)._replace(rho=P @ X)
        return window.cost(other)

    curvature, h = [], 1e-4
    for seed in range(6):
        d = np.random.default_rng(seed).normal(size=made.n) * np.sqrt(np.diag(_found.P[0])) / np.sqrt(made.n)
        k = np.random.default_rng(seed + 9).normal(size=fit.kicks.shape) * made.noise * 0.1
        up, down = (cost(fit.X + s * h * d, fit.kicks + s * h * k) for s in (1.0, -1.0))
        curvature.append(abs(up - 2 * cost(fit.X, fit.kicks) + down) / h**2)
        assert abs(up - down) / (2 * h) <= 2e-6 * max(1.0, np.sqrt(curvature[-1])), seed
    assert max(curvature) > 1e-3  # the check can fail: the cost does bend along these directions


# ---------------------------------------------------------------- statistics


def test_consistency():
    """Errors and innovations are as large as the filter says: NEES and NIS of seeded runs, within the bounds of chi-square."""
    from scipy.stats import chi2

    system = arm(order=1)
    sensors = [
        costs.Curvature("arm", [0.2, 0.6, 0.9]).measured(0.05, "fibre"),
        costs.Position("arm.tip").measured(2e-3, "camera"),
    ]
    options = {"unknown": [pl.Prior("load", 0.1, drift=0.1)], "disturbance": 0.05, "start": pl.solve_statics(system)}
    nees, nis, count, values = 0.0, 0.0, 0, 0
    steps = model(system, sensors, 0.02, **options)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        kalman = pl.ExtendedKalman(system, sensors, step=0.02, **options)
        made = kalman.model
        truth = steps.steps.moved(
            steps.steps.start, steps.size * np.sqrt(np.diag(steps.covariance)) * rng.normal(size=steps.n)
        )
        for k in range(25):
            u = made.inputs({"left": 1.0 + np.sin(0.3 * k), "top": 1.0})
            kicked = steps.steps.moved(truth, steps.size * steps.noise * rng.normal(size=steps.n))
            truth = steps.steps.advance(kicked, u, False)[0]
            y = made.readings.value(system, truth.t, truth.q, truth.v, made.steps.inputs(u, truth.w))
            found = kalman.update(u, y + made.readings.noise * rng.normal(size=len(y)))
            nis, values = nis + found.nis, values + found.used
            if k in (8, 24):  # far enough apart to be nearly independent
                d = made.steps.difference(kalman.state, truth) / made.size
                nees, count = nees + float(d @ np.linalg.solve(found.scaled, d)), count + made.n
    assert chi2.ppf(5e-4, values) < nis < chi2.ppf(1 - 5e-4, values), (nis, values)
    assert chi2.ppf(5e-4, count) < nees < chi2.ppf(1 - 5e-4, count), (nees, count)


# ---------------------------------------------------------------- truths


@pytest.fixture(scope="module")
def loaded():
    """An arm that is moved by its cables and carries a load nobody knows, softer than it was said to be."""
    system = arm()
    true = system.with_parameters({"arm.young": 0.8e6})
    t = 0.02 * np.arange(60)
    U = np.column_stack(
        [2 + 2 * np.sin(4 * t), 3 + 2 * np.cos(3 * t), np.where(t < 0.6, 0.1, 0.25), np.full_like(t, -0.05)]
    )
    sensors = [
        costs.Curvature("arm", [0.1, 0.4, 0.7]).measured(0.02, "fibre"),
        costs.StrainGauge("arm", [0.05, 0.05], [0.02, 0.0], [0.0, 0.02]).measured(2e-4, "gauges"),
        costs.TendonLength().measured(1e-4, "cables"),
    ]
    run = pl.rollout(true, U, step=0.02, start=pl.solve_statics(true, U[0]))
    unknown = [pl.Prior("load", 0.3, drift=0.3), pl.Prior("side", 0.3), pl.Prior("arm.young", 2e5)]
    return system, sensors, U, run, unknown, pl.solve_statics(system, U[0] * [1, 1, 0, 0])


def test_load_and_stiffness(loaded):
    system, sensors, U, run, unknown, start = loaded
    Y = readings(system, sensors, run)
    kalman = pl.ExtendedKalman(system, sensors, step=0.02, start=start, unknown=unknown)
    for u, y in zip(U[:, :2], Y):  # unknown inputs are left out
        found = kalman.update(u, y)
        assert not found.warnings
    for name, true in (("load", 0.25), ("side", -0.05), ("arm.young", 0.8e6)):
        sigma = found.deviation(name)
        assert abs(found.unknown[name] - true) < 3.5 * sigma, (name, found.unknown[name], sigma)
    assert found.deviation("arm.young") < 1.5e4
    assert found.deviation("load") < 0.06
    place, P = found.of(costs.Position("arm.tip"))
    np.testing.assert_allclose(place, found.pose("arm.tip")[:3, 3], atol=1e-12)
    assert np.all(np.linalg.eigvalsh(P) >= 0)
    assert np.linalg.norm(place - run.positions("arm.tip")[-1]) < 3.5 * np.sqrt(np.trace(P)) < 5e-3
    assert "arm.young" in str(found)
    assert found.system.parameters["arm.young"] == found.unknown["arm.young"]


def test_a_horizon_finds_them_sooner_and_within_bounds(loaded):
    system, sensors, U, run, unknown, start = loaded
    Y = readings(system, sensors, run)
    horizon = pl.MovingHorizon(system, sensors, step=0.02, window=6, start=start, unknown=unknown)
    for u, y in zip(U[:24], Y):
        found = horizon.update(u, y)
    assert abs(found.unknown["arm.young"] - 0.8e6) < 3.5 * found.deviation("arm.young")
    assert abs(found.unknown["load"] - 0.1) < 3.5 * found.deviation("load")
    assert horizon.change < 0.1
    tight = [*unknown[:2], pl.Prior("arm.young", 2e5, bounds=(0.95e6, 2e6))]
    horizon = pl.MovingHorizon(system, sensors, step=0.02, window=4, start=start, unknown=tight)
    for u, y in zip(U[:12], Y):
        found = horizon.update(u, y)
        assert all(0.95e6 * (1 - 1e-9) <= state.w[2] <= 2e6 for state in horizon.states)
    assert found.unknown["arm.young"] == pytest.approx(0.95e6)
    assert any("bound" in text for text in found.warnings)
    kalman = pl.ExtendedKalman(system, sensors, step=0.02, start=start, unknown=tight)
    said = [kalman.update(u, y).warnings for u, y in zip(U[:12], Y)]
    assert any("'arm.young' is held at its bound." in texts for texts in said)


def test_smoothing_beats_filtering(loaded):
    """What comes later helps: the tip over the whole record is nearer with the smoother than with the filter."""
    system, sensors, U, run, unknown, start = loaded
    Y = readings(system, sensors, run)[:30]
    options = {"step": 0.02, "start": start, "unknown": unknown, "uncertainty": (0.05, 0.2)}
    kalman, tips = pl.ExtendedKalman(system, sensors, **options), run.positions("arm.tip")[1:31]
    filtered = [kalman.update(u, y).q for u, y in zip(U[:30, :2], Y)]
    smoothed = pl.smooth(system, sensors, U[:30, :2], Y, **options)
    off = [
        np.linalg.norm(system.pose("arm.tip", np.array(q))[:, :3, 3] - tips, axis=1) for q in (filtered, smoothed.q[1:])
    ]
    assert np.sqrt((off[1] ** 2).mean()) < 0.8 * np.sqrt((off[0] ** 2).mean())
    assert abs(smoothed.unknown["load"][0] - 0.1) < 3 * smoothed.deviation("load")[0] + 0.02


def test_records_by_name_and_deviations(loaded):
    system, sensors, U, run, unknown, start = loaded
    Y = readings(system, sensors, run)[:30]
    found = pl.smooth(system, sensors, U[:30], Y, step=0.02, start=start, unknown=unknown[1:], uncertainty=(0.05, 0.2))
    by_name = {
        name: Y[:, place] for name, place in (("fibre", slice(0, 6)), ("gauges", slice(6, 8)), ("cables", slice(8, 10)))
    }
    again = pl.smooth(
        system, sensors, U[:30], by_name, step=0.02, start=start, unknown=unknown[1:], uncertainty=(0.05, 0.2)
    )
    np.testing.assert_allclose(again.q, found.q, atol=1e-12)
    sigma = found.deviation("arm.young")
    assert np.all(np.diff(sigma) <= 1e-6 * sigma[0])
    assert (
        abs(found.unknown["arm.young"][-1] - 0.8e6) < 5 * sigma[-1] + 5e4
    )  # the load, which it does not know of, steps
    assert "arm.young" in str(found)


def test_outliers(loaded):
    """Nonsense now and then ruins a filter that believes all, not one with a gate, nor a horizon with Huber's loss."""
    system, sensors, U, run, unknown, start = loaded
    rng = np.random.default_rng(7)
    Y = readings(system, sensors, run)
    wild = rng.uniform(size=Y.shape) < 0.03
    Y[wild] += (
        rng.choice([-1.0, 1.0], size=wild.sum()) * 60 * np.tile(np.repeat([0.02, 2e-4, 1e-4], [6, 2, 2]), (60, 1))[wild]
    )
    options = {"step": 0.02, "start": start, "unknown": unknown[:2]}
    system = system.with_parameters({"arm.young": 0.8e6})
    tips = run.positions("arm.tip")[1:]
    estimators = {
        "plain": pl.ExtendedKalman(system, sensors, **options),
        "gate": pl.ExtendedKalman(system, sensors, gate=5.0, **options),
        "huber": pl.MovingHorizon(system, sensors, window=5, huber=3.0, **options),
    }
    off, rejected = {}, 0
    for name, estimator in estimators.items():
        errors = []
        for u, y, tip in zip(U, Y, tips):
            found = estimator.update(u, y)
            errors.append(np.linalg.norm(found.pose("arm.tip")[:3, 3] - tip))
            rejected += len(found.rejected)
        off[name] = np.sqrt(np.mean(np.square(errors[10:])))
    assert rejected >= 0.5 * wild.sum()
    assert off["gate"] < 0.4 * off["plain"], off
    assert off["huber"] < 0.5 * off["plain"], off


def test_missing_values_and_names(loaded):
    system, sensors, U, run, unknown, start = loaded
    Y = readings(system, sensors, run)
    one, two = (pl.ExtendedKalman(system, sensors, step=0.02, start=start, unknown=unknown) for _ in range(2))
    for k, (u, y) in enumerate(zip(U[:6], Y)):
        row = y.copy()
        row[6:8] = np.nan
        named = {"fibre": y[:6], "cables": y[8:]}
        a = one.update(u, row if k != 3 else None)
        b = two.update(dict(zip(system.input_names, u)), named) if k != 3 else two.predict(u)
        np.testing.assert_array_equal(a.q, b.q)
        np.testing.assert_array_equal(a.covariance, b.covariance)
        assert a.used == (8 if k != 3 else 0)
    before = one.estimate
    after = one.correct({"gauges": Y[5, 6:8]})  # it came late
    assert after.t == before.t
    assert np.trace(after.scaled) < np.trace(before.scaled)


def test_loops_stay_closed():
    system = looped()
    rest = pl.solve_statics(system)
    run = pl.rollout(system, np.full((20, 2), [0.05, 0.1]), step=0.02, start=rest)
    sensors = SENSORS["looped"][:1]
    kalman = pl.ExtendedKalman(system, sensors, step=0.02, start=rest, unknown=[pl.Prior("load", 0.3, drift=0.1)])
    G = system.closure(rest.q)[1]
    assert np.abs(G @ kalman.estimate.covariance[: system.nv, : system.nv]).max() < 1e-12
    for y in readings(system, sensors, run):
        found = kalman.update({"motor": 0.05}, y)
        assert np.abs(system.closure(found.q)[0]).max() < 1e-10
    assert abs(found.unknown["load"] - 0.1) < 4 * found.deviation("load")
    assert found.deviation("load") < 0.15  # half of what was known of it


# ---------------------------------------------------------------- at rest


def test_shape_at_rest():
    """Loads and stiffness of a resting arm, with standard deviations that are those of the scatter."""
    system = arm()
    true = system.with_parameters({"arm.young": 0.8e6})
    rest = pl.solve_statics(true, {"left": 2.0, "top": 3.0, "load": 0.2, "side": -0.1})
    sensors = [
        costs.StrainGauge("arm", [0.05, 0.05, 0.5, 0.5], [0.02, 0, 0.01, 0], [0, 0.02, 0, 0.01]).measured(
            1e-4, "gauges"
        )
    ]
    sensors += [costs.TendonLength().measured(1e-4, "cables"), costs.Position("arm.tip").measured(1e-3, "camera")]
    unknown = [pl.Prior("load", 1.0), pl.Prior("side", 1.0), pl.Prior("arm.young", 5e5)]
    states = costs.States.at_rest(true, rest.q, rest.u)
    exact = np.concatenate([s.quantity.evaluate(states).value[0] for s in sensors])
    noise = np.concatenate([s.deviations(system) for s in sensors])
    found = pl.estimate_shape(system, sensors, exact, {"left": 2.0, "top": 3.0}, unknown=unknown)
    assert found.success
    assert found.unknown["arm.young"] == pytest.approx(0.8e6, rel=5e-3)
    assert found.unknown["load"] == pytest.approx(0.2, abs=5e-3)
    off = []
    for seed in range(8):
        y = exact + noise * np.random.default_rng(seed).normal(size=len(noise))
        y[1] = np.nan
        found = pl.estimate_shape(system, sensors, y, {"left": 2.0, "top": 3.0}, unknown=unknown)
        off += [
            (found.unknown[k] - x) / found.deviation(k)
            for k, x in (("load", 0.2), ("side", -0.1), ("arm.young", 0.8e6))
        ]
        assert np.linalg.norm(found.pose("arm.tip")[:3, 3] - true.pose("arm.tip", rest.q)[:3, 3]) < 3e-3
    assert np.abs(off).max() < 4.0
    assert 0.5 < np.sqrt(np.mean(np.square(off))) < 1.6
    with pytest.raises(ValueError, match="unknown is empty"):
        pl.estimate_shape(system, sensors, exact, unknown=[])


def test_slopes_of_equilibria():
    from pliant.estimation.readings import Readings
    from pliant.estimation.shape import _Statics
    from pliant.estimation.unknowns import Unknowns

    system = looped()
    sensors = [*SENSORS["looped"][::2], costs.StrainGauge("rod1", 0.3, z=0.01).measured(1e-3)]
    unknowns = Unknowns(system, [pl.Prior("load", 0.1), pl.Prior("rod0.young", 1e5), pl.Prior("rod1.length", 0.01)])
    statics = _Statics(system, Readings(system, sensors), unknowns, system.inputs(None).copy())
    w = unknowns.start + [0.05, 0, 0]
    robot, state = statics.at(w, None)
    J = statics.slopes(robot, state) * unknowns.deviation
    tries = differences(lambda d: statics.read(*statics.at(w + d * unknowns.deviation, state)), 3, (1e-1, 3e-2, 1e-2))
    for k, columns in enumerate(tries):
        assert min(np.abs(column - J[:, k]).max() for column in columns) <= 1e-7 * np.abs(J[:, k]).max(), k


# ---------------------------------------------------------------- refusals


def test_refusals():
    system = arm()
    tip = costs.Position("arm.tip")
    good = [tip.measured(0.001, "tip")]

    def filter_of(sensors=good, **options):
        return pl.ExtendedKalman(system, sensors, **{"step": 0.01, **options})

    with pytest.raises(TypeError, match="lacks its noise"):
        filter_of([tip])
    with pytest.raises(TypeError, match="sensors"):
        filter_of([])
    with pytest.raises(ValueError, match="stands twice"):
        filter_of([tip.measured(0.1), tip.measured(0.2)])
    with pytest.raises(ValueError, match="must be positive"):
        tip.measured(0.0)
    with pytest.raises(ValueError, match="noise of"):
        filter_of([tip.measured([0.1, 0.2])])
    with pytest.raises(ValueError, match="belongs to steps"):
        costs.InputRates().measured(0.1)
    with pytest.raises(KeyError, match="did you mean"):
        filter_of([costs.Position("arm.tp").measured(0.1)])
    with pytest.raises(ValueError, match="step"):
        filter_of(step=-0.01)
    with pytest.raises(KeyError, match=r"did you mean 'arm\.young'"):
        filter_of(unknown=[pl.Prior("arm.yung", 1e5)])
    with pytest.raises(TypeError, match=r"list of pl\.Prior"):
        filter_of(unknown=["arm.young"])
    with pytest.raises(ValueError, match="stands twice"):
        filter_of(unknown=[pl.Prior("load", 1.0), pl.Prior("load", 1.0)])
    with pytest.raises(ValueError, match="outside its bounds"):
        filter_of(unknown=[pl.Prior("load", 1.0, bounds=(1.0, 2.0))])
    with pytest.raises(ValueError, match="deviation"):
        pl.Prior("load", 0.0)
    with pytest.raises(ValueError, match="smaller"):
        pl.Prior("load", 1.0, bounds=(2.0, 1.0))
    with pytest.raises(TypeError, match="pair"):
        filter_of(uncertainty=0.1)
    with pytest.raises(ValueError, match="disturbance"):
        filter_of(disturbance=-1.0)
    with pytest.raises(ValueError, match="gate"):
        filter_of(gate=0.0)
    kalman = filter_of()
    with pytest.raises(ValueError, match="values has shape"):
        kalman.update(values=[1.0])
    with pytest.raises(KeyError, match="did you mean 'tip'"):
        kalman.update(values={"top": [0, 0, 0]})
    with pytest.raises(ValueError, match="infinite"):
        kalman.update(values=[np.inf, 0, 0])
    with pytest.raises(ValueError, match=r"values\['tip'\] has shape"):
        kalman.update(values={"tip": [0.0, 1.0]})
    with pytest.raises(KeyError, match="entry of the estimate"):
        kalman.estimate.deviation("nothing")
    with pytest.raises(ValueError, match="window"):
        pl.MovingHorizon(system, good, step=0.01, window=0)
    with pytest.raises(ValueError, match="rows"):
        pl.smooth(system, good, np.zeros((3, 4)), np.zeros((2, 3)), step=0.01)
    with pytest.raises(ValueError, match=r"\(N, 3\) is needed"):
        pl.smooth(system, good, np.zeros((3, 4)), np.zeros((3, 2)), step=0.01)
