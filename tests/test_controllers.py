"""Controllers with states, integrated with the robot: closed forms, orders of convergence, derivatives, continued runs."""

import numpy as np
import pytest
import scipy.linalg

import pliant as pl
from pliant.solve.control import bind_inputs

M, K, D = 2.0, 50.0, 1.0
KP, KI = 30.0, 200.0


def cart(**joint) -> pl.System:
    robot = pl.Robot("cart", gravity=(0, 0, 0))
    body = robot.add_body("cart", joint=pl.Prismatic("x", **joint), shape=pl.Sphere(0.1), mass=M)
    robot.add_motor("motor", body)
    return robot.compile()


def spring_cart() -> pl.System:
    return cart(stiffness=K, damping=D)


def manipulator() -> pl.System:
    """A hinge, a rod with a cable, and a payload."""
    robot = pl.Robot("manipulator")
    hinge = robot.add_body("hinge", joint=pl.Revolute("y"), shape=pl.Box(0.1, 0.05, 0.05), mass=0.4, com=(0.05, 0, 0))
    rod = robot.add_rod(
        "rod", parent=hinge, offset=(0.1, 0, 0), length=0.3, section=pl.Circle(0.012),
        material=pl.Material(young=2e6, poisson=0.5, density=1000, viscosity=5e3), strains=pl.Strains.kirchhoff(2), points=8,
    )  # fmt: skip
    robot.add_body("payload", parent=rod.tip, shape=pl.Sphere(0.02), mass=0.05)
    robot.add_motor("motor", hinge)
    robot.add_tendon("cable", rod, z=0.01)
    return robot.compile()


def laws() -> dict:
    angle = pl.PID(pl.Sensor.coordinate("hinge.angle"), pl.Expression("0.4*sin(3*t)"), kp=8.0, ki=20.0, kd=0.5)
    tip = pl.PID(pl.Sensor.angle("rod.tip", about="y"), 0.1, kp=-3.0, ki=-10.0, kd=-0.05, bias=8.0, limits=(0.0, 60.0))
    return {"motor": angle, "cable": pl.Lag(tip, 0.03)}


def exact_pi(t: np.ndarray) -> np.ndarray:
    """Displacement, velocity and ∫e dt of the cart on its spring that goes to 0.1 m."""
    A = np.array([[0, 1, 0], [-(K + KP) / M, -D / M, KI / M], [-1, 0, 0]])
    b = np.array([0.0, KP * 0.1 / M, 0.1])
    rest = np.linalg.solve(A, -b)
    return np.array([rest + scipy.linalg.expm(A * s) @ -rest for s in t])


@pytest.mark.parametrize(("method", "order"), [("esdirk3", 3), ("esdirk5", 5), ("midpoint", 2)])
def test_pi_control_of_a_spring_has_the_order_of_the_method(method, order):
    """Against the matrix exponential of the linear system: coordinates, velocities and the integral."""
    system = spring_cart()
    law = pl.PID(pl.Sensor.coordinate("cart.displacement"), 0.1, kp=KP, ki=KI)
    steps = np.array([0.04, 0.02, 0.01]) if order < 5 else np.array([0.16, 0.08, 0.04])
    errors = []
    for h in steps:
        run = pl.simulate(system, 1.6, u={"motor": law}, method=method, step=h)
        assert run.success
        exact = exact_pi(run.t)
        found = np.hstack([run.q, run.v, run.control])
        errors.append(np.abs((found - exact) / np.abs(exact).max(axis=0)).max())
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order - 0.3 < slope < order + 1.0, (slope, errors)


def test_error_control_sees_the_states_of_controllers():
    run = pl.simulate(
        spring_cart(), 2.0, u=pl.PID(pl.Sensor.coordinate("cart.displacement"), 0.1, kp=KP, ki=KI), rtol=1e-6, atol=1e-8,
        output=0.1,
    )  # fmt: skip
    exact = exact_pi(run.t)
    assert np.abs(run.q[:, 0] - exact[:, 0]).max() < 2e-6
    assert np.abs(run.control[:, 0] - exact[:, 2]).max() < 2e-7
    u = KP * (0.1 - exact[:, 0]) + KI * exact[:, 2]
    assert np.abs(run.u[:, 0] - u).max() < 1e-4  # of 5 N


def test_a_controlled_manipulator_converges_with_the_third_order():
    system = manipulator()
    ends, steps = [], np.array([0.02, 0.01, 0.005])
    kwargs = {"u": laws(), "method": "esdirk3"}
    fine = pl.simulate(system, 0.4, u=laws(), method="esdirk5", rtol=1e-10, atol=1e-12)
    for h in steps:
        run = pl.simulate(system, 0.4, step=h, **kwargs)
        assert run.success, run.message
        free = pl.simulate(system, 0.4, step=h, method="esdirk3")
        assert run.statistics.iterations < 1.3 * free.statistics.iterations
        ends.append(np.concatenate([run.q[-1], run.control[-1]]))
    last = np.concatenate([fine.q[-1], fine.control[-1]])
    errors = [np.abs(end - last).max() for end in ends]
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope > 2.5, (slope, errors)


def test_derivatives_by_hand_and_by_differences_agree():
    """Of PID with limits, lags, observers and a controller of one's own, at a state away from rest."""
    system = manipulator()
    rng = np.random.default_rng(3)
    q, v = 0.3 * rng.standard_normal(system.nv), rng.standard_normal(system.nv)
    n, p = 3, 2
    observer = pl.Observer(
        A=rng.standard_normal((n, n)), B=rng.standard_normal((n, 2)), C=rng.standard_normal((p, n)), gain=rng.standard_normal((n, p)),
        feedback=0.1 * rng.standard_normal((2, n)), sensors=[pl.Sensor.length("cable"), pl.Sensor.position("rod.tip", (1, 2, 3))],
        inputs={"cable": 20.0}, values=[0.3, 0.0],
    )  # fmt: skip
    own = pl.Controller(
        lambda t, x, s: [s.q[0] * s.v[1] - 2 * x[0], np.sin(x[0]) + s.v[0] * s.v[3]],
        lambda t, x, s: [50 + x[0] * s.v[2] + s.q[1], 50 + 3 * x[1] * s.q[0]],
        [0.2, -0.1],
    )
    for given in (laws(), observer, pl.Lag(observer, [0.1, 0.2]), own):
        control = bind_inputs(system, given)
        x = control.begin(0.0, q, v) + 0.1 * rng.standard_normal(control.count)
        exact = control.slopes(0.2, 0, x, q, v, 0.01)
        steps = 1e-6 * system.internal.scale

        def both(x, q, v, control=control):
            return np.concatenate([control.rate(0.2, 0, x, q, v), control.output(0.2, 0, x, q, v)])

        by_x = np.array([(both(x + d, q, v) - both(x - d, q, v)) / 2e-6 for d in 1e-6 * np.eye(control.count)]).T
        by_q = np.array(
            [
                (both(x, system.integrate(q, d), v + d / 0.01) - both(x, system.integrate(q, -d), v - d / 0.01))
                / (2 * s)
                for d, s in zip(np.diag(steps), steps)
            ]
        ).T
        scale = max(1.0, np.abs(by_q).max())
        np.testing.assert_allclose(np.vstack([exact.fx, exact.gx]), by_x, atol=1e-7 * scale)
        np.testing.assert_allclose(np.vstack([exact.fs, exact.gs]), by_q, atol=1e-6 * scale)


def test_newton_converges_as_without_a_controller():
    """The law is so steep that fixed-point iteration on it diverges; with its derivative a step takes a few iterations."""
    system = spring_cart()
    law = pl.PID(pl.Sensor.coordinate("cart.displacement"), 0.1, kp=1e6, ki=1e6, kd=1e4)
    run = pl.simulate(system, 1.0, u=law, method="esdirk3", step=0.05)
    free = pl.simulate(system, 1.0, method="esdirk3", step=0.05)
    assert run.success
    assert run.statistics.iterations <= 2 * free.statistics.iterations
    A = np.array([[0, 1, 0], [-(K + 1e6) / M, -(D + 1e4) / M, 1e6 / M], [-1, 0, 0]])
    rest = np.linalg.solve(A, -np.array([0.0, 1e5 / M, 0.1]))
    assert abs(run.q[-1, 0] - (rest - scipy.linalg.expm(A) @ rest)[0]) < 5e-4  # 0.05 s do not resolve poles at −100/s


def test_a_controller_of_ones_own_with_and_without_derivatives():
    system = spring_cart()

    def rate(t, x, state):
        return [0.1 - state.q[0]]

    def output(t, x, state):
        return [KP * (0.1 - state.q[0]) + KI * x[0]]

    def derivatives(t, x, state):
        one = np.ones((1, 1))
        return 0 * one, -one, 0 * one, KI * one, -KP * one, 0 * one

    same = pl.simulate(system, 1.0, u=pl.PID(pl.Sensor.coordinate("cart.displacement"), 0.1, kp=KP, ki=KI), step=0.01)
    for given in (None, derivatives):
        law = pl.Controller(rate, output, {"integral": 0.0}, derivatives=given)
        run = pl.simulate(system, 1.0, u=law, step=0.01)
        np.testing.assert_allclose(run.q, same.q, atol=1e-11)
        np.testing.assert_allclose(run.control, same.control, atol=1e-12)


def test_a_stiff_lag_does_not_shorten_steps():
    """A valve of 10 µs before an input that is smooth: as many steps as without it, within a few; and the same motion."""
    system = spring_cart()
    wave = pl.Expression("5*sin(2*t)")
    plain = pl.simulate(system, 4.0, u={"motor": wave})
    for method in ("esdirk3", "esdirk5"):
        free = pl.simulate(system, 4.0, u={"motor": wave}, method=method)
        lagged = pl.simulate(system, 4.0, u={"motor": pl.Lag(wave, 1e-5)}, method=method)
        late = [int(np.sum(run.t > 0.2)) for run in (lagged, free)]  # the valve begins with a transient
        assert late[0] <= 1.2 * late[1] + 2
        times = np.linspace(0, 4, 41)
        np.testing.assert_allclose(lagged.resample(times).q, plain.resample(times).q, atol=5e-4)
    constant = pl.simulate(system, 4.0, u={"motor": pl.Lag(wave, 1e-5)}, step=0.02)
    assert constant.success
    np.testing.assert_allclose(constant.u[:, 0], 5 * np.sin(2 * constant.t), atol=1e-3)


def test_lags_in_series_are_their_closed_form():
    """Two lags after a jump: 1 − (1 + t/T) exp(−t/T)."""
    T = 0.1
    jump = pl.Signal([0.0, 0.25], [0.0, 1.0], kind="hold")
    run = pl.simulate(
        cart(), 1.0, u={"motor": pl.Lag(pl.Lag(jump, T), T)}, rtol=1e-7, atol=1e-9, output=np.linspace(0.25, 1, 16)
    )
    s = (run.t - 0.25) / T
    np.testing.assert_allclose(run.u[:, 0], 1 - (1 + s) * np.exp(-s), atol=5e-6)


def test_limits_do_not_wind_up():
    """A motor that is too weak at first: with anti-windup the cart does not overshoot as it does without limits on the integral."""
    system = cart(damping=1.0)
    law = {"sensor": pl.Sensor.coordinate("cart.displacement"), "target": 1.0, "kp": 10.0, "ki": 4.0, "kd": 8.0}
    limited = pl.simulate(system, 10.0, u=pl.PID(**law, limits=(-1.0, 1.0)), output=0.01)
    assert limited.u.max() <= 1.0
    assert limited.u.max() > 0.99
    wound = pl.simulate(
        system, 10.0, output=0.01,
        u=pl.Controller(
            lambda t, x, s: [1.0 - s.q[0]],
            lambda t, x, s: [np.clip(10 * (1 - s.q[0]) + 4 * x[0] - 8 * s.v[0], -1.0, 1.0)],
            [0.0],
        ),
    )  # fmt: skip
    assert limited.q.max() < 1 + 0.5 * (wound.q.max() - 1)


def test_an_observer_and_regulator_have_the_poles_of_the_separation_principle():
    """The error of the estimate decays as A − L C says, whatever the regulator does."""
    system = spring_cart()
    A, B, C = np.array([[0, 1], [-K / M, -D / M]]), np.array([[0], [1 / M]]), np.array([[1.0, 0.0]])
    L, G = np.array([[6.0], [5.0]]), np.array([[40.0, 12.0]])
    law = pl.Observer(A, B, C, L, G, [pl.Sensor.coordinate("cart.displacement")], [0.0], [0.0], start=[0.0, 0.0])
    run = pl.simulate(system, 1.0, start=[0.1], u=law, rtol=1e-8, atol=1e-10, output=0.1)
    error = np.hstack([run.q, run.v]) - run.control
    exact = np.array([scipy.linalg.expm((A - L @ C) * t) @ [0.1, 0.0] for t in run.t])
    np.testing.assert_allclose(error, exact, atol=1e-6)


# ---------------------------------------------------------------- sampling


def test_sampled_instants_are_exact_and_equal_a_loop_of_runs():
    system = manipulator()
    period, seen = 0.013, []

    def law(t, state):
        seen.append(t)
        return {"motor": -2.0 * state.q[0] - 0.1 * state.v[0], "cable": max(0.0, 5.0 + state.v[3])}

    options = {"rtol": 1e-9, "atol": 1e-11}
    run = pl.simulate(system, 0.1, u=pl.Sampled(law, period), **options)
    assert seen == [k * period for k in range(8)]
    assert all(t in run.t for t in seen)
    piece, t = None, 0.0
    for k in range(8):
        end = min((k + 1) * period, 0.1)
        q, v = (system.neutral(), np.zeros(system.nv)) if piece is None else (piece.q[-1], piece.v[-1])
        u = law(t, pl.solve.drive.State(t, q, v))
        piece = pl.simulate(system, end - t, start=q, velocity=v, t0=t, u=u, **options)
        t = end
    np.testing.assert_allclose(run.q[-1], piece.q[-1], rtol=0, atol=1e-7 * np.abs(piece.q[-1]).max())
    constant = pl.simulate(system, 0.104, u=pl.Sampled(law, period), step=period / 4)
    piece = None
    for k in range(8):
        q, v = (system.neutral(), np.zeros(system.nv)) if piece is None else (piece.q[-1], piece.v[-1])
        u = law(k * period, pl.solve.drive.State(0.0, q, v))
        piece = pl.simulate(system, period, start=q, velocity=v, u=u, step=period / 4)
    np.testing.assert_allclose(constant.q[-1], piece.q[-1], rtol=0, atol=1e-11 * np.abs(piece.q[-1]).max())


@pytest.mark.parametrize("delay", [0, 1])
def test_a_delayed_pi_law_destabilises_as_theory_says(delay):
    """The speed of a cart under a sampled PI law, with a delay of a period or without: the exact discrete map, and its spectral radius."""
    system = cart(damping=D)
    T, kp, ki = 0.5, 5.0, 1.0

    def law(t, state, x):
        integral, waiting = x
        e = 1.0 - state.v[0]
        new = kp * e + ki * integral
        return [waiting if delay else new], [integral + T * e, new]

    run = pl.simulate(
        system, 20 * T, u=pl.Sampled(law, T, states={"integral": 0, "waiting": 0}), rtol=1e-10, atol=1e-12, output=T
    )
    a = np.exp(-D / M * T)
    b = (1 - a) / D
    # states: speed, integral, waiting
    now = np.array([-kp, ki, 0.0])
    used = np.array([0.0, 0.0, 1.0]) if delay else now
    F = np.array([[a, 0, 0] + b * used, [-T, 1, 0], now])
    c = np.array([0.0 if delay else b * kp, T, kp])
    x, exact = np.zeros(3), []
    for _ in range(21):
        exact.append(x[0])
        x = F @ x + c
    np.testing.assert_allclose(run.v[:, 0], exact, rtol=1e-7, atol=1e-7)
    radius = np.abs(np.linalg.eigvals(F)).max()
    assert (radius > 1.0) == bool(delay)
    assert (np.abs(run.v[-1, 0] - 1.0) > 1.0) == bool(delay)


@pytest.mark.parametrize(
    "options", [{}, {"step": 1e-3}, {"method": "esdirk5"}, {"method": "esdirk3", "rtol": 1e-9}], ids=str
)
def test_states_of_controllers_begin_where_they_are_told(options):
    """Two states of one controller that decay from their start push a cart."""
    law = pl.Controller(
        lambda t, x, s: [-x[0] / 0.05, -x[1] / 0.1], lambda t, x, s: np.array([x[0] + x[1]]), {"one": 2.0, "two": -0.5}
    )
    run = pl.simulate(cart(), 0.3, u=law, output=0.05, **{"rtol": 1e-8, "atol": 1e-10, **options})
    one, two = 2.0 * np.exp(-run.t / 0.05), -0.5 * np.exp(-run.t / 0.1)
    np.testing.assert_allclose(run.control, np.column_stack([one, two]), atol=2e-4 if "step" in options else 1e-6)
    v = (2.0 * 0.05 - 0.05 * one + -0.5 * 0.1 - 0.1 * two) / M
    np.testing.assert_allclose(run.v[:, 0], v, atol=2e-4 if "step" in options else 1e-6)


def test_sampled_and_lagged_together():
    """A digital law before a valve: between instants the input relaxes exponentially to what is held."""
    T, period = 0.05, 0.1
    law = pl.Sampled(lambda t, state: [1.0 if round(t / period) % 2 == 0 else -1.0], period)
    run = pl.simulate(cart(), 1.0, u=pl.Lag(law, T, start=[0.0]), rtol=1e-8, atol=1e-10, output=0.02)
    u, exact = 0.0, []
    for t in run.t:
        k = np.floor(t / period * (1 - 1e-12) if t else 0.0)
        u = 0.0
        for j in range(int(k)):
            goal = 1.0 if j % 2 == 0 else -1.0
            u = goal + (u - goal) * np.exp(-period / T)
        goal = 1.0 if k % 2 == 0 else -1.0
        exact.append(goal + (u - goal) * np.exp(-(t - k * period) / T))
    np.testing.assert_allclose(run.u[:, 0], exact, atol=1e-6)


# ---------------------------------------------------------------- continued runs, files, refusals


def test_runs_go_on_with_the_states_of_controllers(tmp_path):
    system = manipulator()

    def law(t, state, x):
        return max(0.0, 5.0 + x[0]), [x[0] + 0.1 * state.v[0]]

    u = {"motor": laws()["motor"], "cable": pl.Lag(pl.Sampled(law, 0.02, states=[0.0]), 0.05)}
    whole = pl.simulate(system, 0.3, u=u, step=0.005)
    half = pl.simulate(system, 0.15, u=u, step=0.005)
    half.save(tmp_path / "half.h5")
    read = pl.Result.load(tmp_path / "half.h5", system)
    assert read.control_names == half.control_names == whole.control_names
    np.testing.assert_array_equal(read.control, half.control)
    for start in (half, read):
        rest = pl.simulate(system, 0.15, u=u, start=start, step=0.005)
        np.testing.assert_allclose(rest.control[-1], whole.control[-1], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(rest.q[-1], whole.q[-1], rtol=1e-6, atol=1e-9)
    fresh = pl.simulate(system, 0.01, u={"motor": laws()["motor"]}, start=half, step=0.005)
    assert fresh.control[0, 0] == 0.0  # another controller begins anew
    sparse = pl.simulate(system, 0.15, u=u, output=[0.05])
    assert sparse.final is not None
    assert sparse.last.control.shape == (4,)


def test_events_and_checkpoints_keep_the_states(tmp_path):
    system = manipulator()

    def turned(state):
        return state.q[0] - 0.1

    turned.terminal = True
    run = pl.simulate(system, 2.0, u=laws(), events=turned)
    assert "stopped by event" in run.message
    rest = pl.simulate(system, 0.1, u=laws(), start=run, output=0.05)
    np.testing.assert_array_equal(rest.control[0], run.last.control)
    whole = pl.simulate(system, 0.3, u=laws(), checkpoint=tmp_path / "run.h5", checkpoint_interval=1e-3)
    read = pl.Result.load(tmp_path / "run.h5", system)
    n = len(read.t)
    np.testing.assert_array_equal(read.control, whole.control[:n])
    assert 1 < n <= len(whole.t)


def test_along_the_tree_where_nothing_is_fed_back():
    """A long chain behind a lag: the tree and dense factors agree; a controller with feedback needs dense ones."""
    robot = pl.Robot("chain", gravity=(0, 0, -9.81))
    parent = None
    for k in range(30):
        parent = robot.add_body(
            f"link{k}", parent=parent, joint=pl.Revolute("y", damping=0.01), offset=(0.0 if k == 0 else 0.1, 0, 0),
            shape=pl.Box(0.1, 0.01, 0.01), mass=0.05, com=(0.05, 0, 0),
        )  # fmt: skip
        if k == 0:
            robot.add_motor("motor", parent)
    system = robot.compile()
    jump = pl.Signal([0.0, 0.01], [0.0, 1.0], kind="hold")
    runs = [
        pl.simulate(system, 0.05, u={"motor": pl.Lag(jump, 0.01)}, solver=s, rtol=1e-7, atol=1e-9)
        for s in ("tree", "dense")
    ]
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-6)
    with pytest.raises(ValueError, match="couples all coordinates"):
        pl.simulate(system, 0.1, u={"motor": pl.PID(pl.Sensor.coordinate("link0.angle"), 0.0, kp=1.0)}, solver="tree")


def test_what_cannot_be_is_refused():
    system, sensor = manipulator(), pl.Sensor.coordinate("hinge.angle")
    law = pl.PID(sensor, 0.0, kp=1.0, ki=1.0)
    for method in ("generalized-alpha", "bdf"):
        with pytest.raises(ValueError, match="knows no controllers"):
            pl.simulate(system, 0.1, u={"motor": law}, method=method)
    with pytest.raises(ValueError, match="gives one input"):
        pl.simulate(system, 0.1, u=law)
    with pytest.raises(KeyError, match="moter"):
        pl.simulate(system, 0.1, u={"moter": law})
    with pytest.raises(KeyError, match=r"hinge\.angel"):
        pl.simulate(system, 0.1, u={"motor": pl.PID(pl.Sensor.coordinate("hinge.angel"), 0.0, kp=1.0)})
    with pytest.raises(TypeError, match="controllers give inputs"):
        pl.simulate(system, 0.1, tau=law)
    with pytest.raises(ValueError, match="does not meet the instants"):
        pl.simulate(system, 0.1, u=pl.Sampled(lambda t, s: [0.0, 0.0], 0.01), step=0.003)
    with pytest.raises(ValueError, match=r"Lag\.time"):
        pl.Lag(1.0, 0.0)
    with pytest.raises(TypeError, match=r"Sampled\.law"):
        pl.Sampled(law, 0.1)
    with pytest.raises(TypeError, match="with `states`"):
        pl.Sampled(lambda t, state: 0.0, 0.1, states=[0.0])
    with pytest.raises(ValueError, match=r"PID\.reset"):
        pl.PID(sensor, 0.0, ki=1.0, limits=(0, 1))
    with pytest.raises(ValueError, match=r"PID\.limits"):
        pl.PID(sensor, 0.0, kp=1.0, limits=(1, 0))
    with pytest.raises(TypeError, match=r"PID\.sensor"):
        pl.PID("hinge.angle", 0.0, kp=1.0)
    with pytest.raises(ValueError, match=r"Observer\.gain"):
        pl.Observer(np.eye(2), np.ones((2, 1)), np.ones((1, 2)), np.ones((1, 2)), np.ones((1, 2)), [sensor], [0], [0])
    with pytest.raises((TypeError, ValueError)):
        pl.rollout(system, {"motor": law}, step=0.01, duration=0.1)
    with pytest.raises(ValueError, match="rate has shape"):
        pl.simulate(system, 0.1, u=pl.Controller(lambda t, x, s: [1.0, 2.0], lambda t, x, s: [0, 0], [0.0]))

    def fails_late(t, x, state):
        if t > 0.05:
            raise ArithmeticError("enough")
        return [0.0]

    run = pl.simulate(system, 0.1, u=pl.Controller(fails_late, lambda t, x, s: [0, 0], [0.0]))
    assert not run.success
    assert "enough" in run.message
    assert run.t[-1] <= 0.05
