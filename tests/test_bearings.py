"""Joints that stick, stop, snap and rattle: friction, restitution, springs of any characteristic, backlash; in the tree and in loops."""

import numpy as np
import pytest

import oracle
import pliant as pl
from gradient_checks import errors
from load_robots import branched, moved, state
from pliant._jit import kernel
from pliant.kernels import engine, slots
from pliant.kernels.loads import bearings
from pliant.system import Given
from robots import random_pose


def slider(mass: float = 2.0, stiffness: float = 0.0, **friction: float) -> pl.Robot:
    robot = pl.Robot("slider", gravity=(0, 0, 0))
    body = robot.add_body("body", joint=pl.Prismatic("x", stiffness=stiffness), mass=mass)
    if friction:
        robot.add_friction("guide", body, **friction)
    robot.add_motor("push", body)
    return robot


# ---------------------------------------------------------------- friction


def test_a_swing_loses_the_same_with_each_half_cycle():
    """Coulomb: 2F/k from one turning point to the next, until it sticks where |q| < F/k."""
    F, k = 1.0, 10.0
    system = slider(1.0, k, coulomb=F).compile()
    run = pl.simulate(system, 6.0, start=[1.05], rtol=1e-8, atol=1e-8, output=np.linspace(0, 6, 60001))
    q, v = run.q[:, 0], run.v[:, 0]
    turns = np.flatnonzero(v[1:-2] * v[2:-1] < 0)[:5]
    found = np.maximum(np.abs(q[turns + 1]), np.abs(q[turns + 2]))
    np.testing.assert_allclose(found, 1.05 - 2 * F / k * np.arange(1, 6), atol=1e-5)
    end = run.q[run.t > 5.5, 0]
    assert abs(abs(end[-1]) - 0.05) < 1e-5
    assert np.ptp(end) < 1e-9
    assert not run.warnings


def test_it_holds_without_creep():
    system = slider(coulomb=1.0).compile()
    held = pl.solve_statics(system, {"push": 0.999})
    assert held.success
    np.testing.assert_allclose(held.q, [0.999e-6], rtol=1e-9)  # the bristle
    run = pl.simulate(system, 10.0, u={"push": 0.999}, start=held)
    assert np.abs(run.q - held.q).max() < 1e-12
    shaken = pl.simulate(system, 10.0, u=lambda t: {"push": 0.9 * np.sin(6.0 * t)}, rtol=1e-6, atol=1e-8)
    assert np.abs(shaken.q).max() < 0.91e-6
    assert not shaken.warnings


@pytest.mark.parametrize(("push", "holds"), [(1 - 1e-6, True), (1 + 1e-6, False)])
def test_it_breaks_away_where_coulomb_says(push, holds):
    system = slider(coulomb=1.0).compile()
    assert pl.solve_statics(system, {"push": push}).success is holds
    held = pl.solve_statics(system, {"push": 1 - 1e-6})
    run = pl.simulate(system, 10.0, u={"push": push}, start=held, rtol=1e-8, atol=1e-10)
    moves = float(run.q[-1, 0] - held.q[0])
    assert abs(moves) < 1e-11 if holds else abs(moves / (0.5 * 1e-6 / 2 * 100) - 1) < 0.05


def test_it_slides_as_coulomb_says():
    """A ramp of force: x = (t − 1)³/6m after the break-away at t = 1 s."""
    system = slider(coulomb=1.0, viscous=0.0).compile()
    run = pl.simulate(system, 2.0, u=lambda t: {"push": t}, rtol=1e-9, atol=1e-10)
    assert abs(run.q[-1, 0] - 1 / 12) < 5e-6
    viscous = slider(coulomb=1.0, viscous=0.5).compile()
    run = pl.simulate(viscous, 60.0, u={"push": 2.0}, rtol=1e-6)
    assert abs(run.v[-1, 0] - 2.0) < 1e-3  # (2 − 1) / 0.5


def test_pulled_by_a_spring_it_moves_in_jerks():
    """Without a higher break-away force it just stops once in each period: x = V t − V/ω sin ω t."""
    robot = slider(coulomb=1.0)
    robot.add_motor("pull", "body", control="position", kp=50.0)
    system = robot.compile()
    V, w = 0.1, 5.0
    run = pl.simulate(system, 3.0, u=lambda t: {"pull": V * t}, rtol=1e-8, atol=1e-9, output=[0.0, 0.15, 0.7, 1.4])
    t = run.t - 1.0 / (50 * V)
    np.testing.assert_allclose(run.q[1:, 0], np.where(t > 0, V * t - V / w * np.sin(w * t), 0.0)[1:], atol=2e-5)


def test_stick_slip():
    """With a higher break-away force it slips for (2π − 2 atan(Δ ω / k V))/ω and sticks for 2Δ/(k V)."""
    robot = slider(coulomb=1.0, breakaway=1.5, stribeck=1e-4)
    robot.add_motor("pull", "body", control="position", kp=50.0)
    system = robot.compile()
    V, w, k, D = 0.1, 5.0, 50.0, 0.5
    run = pl.simulate(system, 5.2, u=lambda t: {"pull": V * t}, rtol=1e-7, atol=1e-8)
    v = run.v[:, 0]
    slips = np.flatnonzero((v[1:] > 0.02) & (v[:-1] <= 0.02))
    starts = run.t[slips] + (0.02 - v[slips]) / (v[slips + 1] - v[slips]) * np.diff(run.t)[slips]
    period = (2 * np.pi - 2 * np.arctan(D * w / (k * V))) / w + 2 * D / (k * V)
    np.testing.assert_allclose(np.diff(starts), period, rtol=0.01)
    assert len(starts) == 4
    t = starts[0] - 1.5 / (k * V)
    assert abs(V + D * w / k * np.sin(w * t) - V * np.cos(w * t) - 0.02) < 5e-3


def pendulum(loop: bool) -> pl.Robot:
    """A pendulum whose bearing is a joint of the tree, or closes a loop."""
    robot = pl.Robot("pendulum")
    where = robot.add_body("rod", joint=pl.Free() if loop else pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))  # fmt: skip
    if loop:
        robot.add_loop("hinge", "world", where, joint=pl.Revolute("y"))
    return robot


def test_the_same_in_a_loop():
    """Friction, a hardening spring with play and a stop that bounces: on a joint of the tree and on one that closes a loop."""
    runs = []
    for loop in (False, True):
        robot = pendulum(loop)
        where = "hinge" if loop else "rod"
        robot.add_friction("friction", where, coulomb=0.05, viscous=0.01, breakaway=0.06, stribeck=0.05)
        robot.add_spring("spring", where, torque=(0, 0.1, 0, 0.3), rest=0.2, gap=0.3)
        robot.add_stop("stop", where, upper=1.9, stiffness=2e3, restitution=0.6)
        system = robot.compile()
        runs.append(pl.simulate(system, 3.0, rtol=1e-7, atol=1e-8, output=np.linspace(0, 3, 31)))
    tips = [run.positions(run.system.robot.link("rod").at((0.5, 0, 0))) for run in runs]
    assert np.abs(tips[0] - tips[1]).max() < 2e-5
    assert np.ptp(tips[0][:, 2]) > 0.3
    assert not any(run.warnings for run in runs)


def test_statics_remember_from_where_they_came():
    """A pendulum that sinks from above or swings up from below stays where friction balances the weight."""
    robot = pendulum(loop=False)
    robot.add_friction("friction", "rod", coulomb=0.3)
    system = robot.compile()
    weight = 0.3 * 9.81 * 0.25
    edge = np.arccos(0.3 / weight)  # below the horizon
    for start, end in ((0.0, edge), (np.pi, np.pi - edge), (edge + 0.1, edge + 0.1)):
        rest = pl.solve_statics(system, start=[start])
        assert rest.success
        assert abs(rest.q[0] - end) < 2e-6
        run = pl.simulate(system, 2.0, start=rest, rtol=1e-8, atol=1e-10)
        assert np.abs(run.q - rest.q).max() < 1e-6


def test_statics_of_loops_stick_where_they_are_closed():
    """A pendulum that hangs on a loop joint: held by its friction, and where that is too weak as low as in the tree."""
    for coulomb in (1.0, 0.3):
        found = []
        for loop in (False, True):
            robot = pendulum(loop)
            robot.add_friction("friction", "hinge" if loop else "rod", coulomb=coulomb)
            system = robot.compile()
            rest = pl.solve_statics(system)
            assert rest.success
            assert not any("left out" in text for text in rest.warnings)
            found.append(system.pose("rod", rest.q)[:3, 0])
            run = pl.simulate(system, 1.0, start=rest, rtol=1e-7, atol=1e-9)
            assert np.abs(run.q - rest.q).max() < 2e-6
        np.testing.assert_allclose(found[0], found[1], atol=1e-9)
    opened = system.neutral()
    opened[5] += 0.1
    rest = pl.solve_statics(system, start=opened)
    assert any("since the loops were open at the start" in text for text in rest.warnings)


def test_derivatives_of_equilibria_that_stick():
    """A motor bends the bristle and the spring: dq/du = 1/(F/s₀ + k), in the tree and in a loop; by all numbers against differences."""
    for loop in (False, True):
        robot = pendulum(loop)
        where = "hinge" if loop else "rod"
        robot.gravity = np.zeros(3)
        robot.add_motor("motor", where)
        robot.add_friction("friction", where, coulomb=2.0, stiction=0.1)
        robot.add_spring("spring", where, torque=(0, 5.0))
        system = robot.compile()
        tip = robot.link("rod").at((0.5, 0, 0))
        rest = pl.solve_statics(system, {"motor": 0.7})
        assert rest.success
        J = pl.static_jacobian(system, rest, tip, reference="body")
        np.testing.assert_allclose(J[5, 0], -0.5 / (2.0 / 0.1 + 5.0), rtol=1e-9)
        cost = pl.Reach(tip, (0.5, 0.0, 0.1))
        found = pl.static_gradient(system, rest, cost)
        for name, exact in _slopes(system, cost).items():
            np.testing.assert_allclose(found[name], exact, rtol=1e-6, err_msg=name)
        if not loop:
            with pytest.raises(ValueError, match="joints that stick"):
                pl.static_jacobian(system, rest.q, tip, u={"motor": 0.7})


def _slopes(system: pl.System, cost: pl.Reach) -> dict[str, float]:
    """Differences of equilibria."""

    def value(u: float = 0.7, **other: float) -> float:
        s = system.with_parameters({name.replace("_", "."): x for name, x in other.items()}) if other else system
        return pl.static_gradient(s, pl.solve_statics(s, {"motor": u}), cost).value

    h = 1e-5
    out = {"motor": (value(u=0.7 + h) - value(u=0.7 - h)) / (2 * h)}
    for name in ("friction.coulomb", "friction.stiction"):
        x, key = system.parameters[name], name.replace(".", "_")
        out[name] = (value(**{key: x + h * x}) - value(**{key: x - h * x})) / (2 * h * x)
    return out


# ---------------------------------------------------------------- stops and backlash


@pytest.mark.parametrize("e", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("speed", [0.05, 2.0])
def test_restitution_of_a_stop(e, speed):
    robot = slider()
    robot.add_stop("wall", "body", lower=-0.2, upper=0.1, stiffness=1e5, restitution=e)
    system = robot.compile()
    run = pl.simulate(system, 0.15 / speed, velocity=[speed], rtol=1e-8, atol=1e-10)
    assert abs(run.v[-1, 0] + e * speed) < (1e-3 if e else 2e-3) * speed
    assert not run.warnings


def test_a_ball_between_two_stops():
    """One after the other, at both ends, each with its own speed of impact."""
    robot = slider()
    robot.add_stop("walls", "body", lower=-0.1, upper=0.1, stiffness=1e6, restitution=0.5)
    run = pl.simulate(robot.compile(), 2.0, velocity=[1.0], rtol=1e-8, atol=1e-10)
    speeds = np.abs(run.v[np.abs(run.q[:, 0]) < 0.09, 0])
    for n in range(4):
        assert np.abs(speeds / 0.5**n - 1).min() < 1e-3
    assert run.success


def test_backlash_lags_behind():
    """A wheel with friction that is driven back and forth through play: both flanks, and nothing between them."""
    robot = pl.Robot("gears", gravity=(0, 0, 0))
    for x, wheel in enumerate(["small", "large"]):
        robot.add_body(wheel, offset=(x, 0, 0), joint=pl.Revolute("z"), shape=pl.Cylinder(0.1, 0.02), mass=1.0)
    robot.add_motion("drive", "small")
    robot.add_backlash("teeth", {"small": 1.0, "large": -2.0}, gap=0.02, stiffness=1e5, dissipation=1.0)
    robot.add_friction("brake", "large", coulomb=0.5, viscous=0.05)
    system = robot.compile()
    run = pl.simulate(
        system, 4 * np.pi, motion={"drive": lambda t: 0.3 * np.sin(t)}, output=np.linspace(0, 4 * np.pi, 401)
    )
    small, large = run.q.T
    play = small - 2 * large
    assert np.abs(play).max() < 0.01 + 5e-5
    down = (run.t > 2) & (run.t < 4)
    crossing = np.interp(0.0, small[down][::-1], large[down][::-1])
    assert abs(crossing - 0.005) < 2e-5  # coming down, the upper flank has let go of it: half the gap, geared by two
    still = np.abs(run.v[:, 1]) < 1e-6
    assert 0.1 < still.mean() < 0.5
    assert not run.warnings


def test_a_linear_spring_with_play_is_a_stop():
    robot, other = slider(), slider()
    robot.add_spring("spring", "body", torque=(0, 50.0), rest=0.1, gap=0.06)
    other.add_stop("stop", "body", lower=0.07, upper=0.13, stiffness=50.0)
    for push in (-2.0, 0.5, 3.0):
        a, b = (pl.solve_statics(r.compile(), {"push": push}, start=[0.12]).q for r in (robot, other))
        np.testing.assert_allclose(a, b, atol=1e-12)
        np.testing.assert_allclose(a, [0.1 + np.sign(push) * 0.03 + push / 50], atol=1e-12)


# ---------------------------------------------------------------- springs


@pytest.mark.parametrize(
    ("torque", "exact"),
    [
        ((0.0, 2.0, 0.0, 30.0), lambda x: 2 * x + 30 * x**3),
        (pl.Characteristic.of(np.sinh, -2, 2), np.sinh),
        (pl.Characteristic([-1, 0, 1], [-3, 0, 1], kind="linear"), lambda x: np.where(x < 0, 3 * x, x)),
        (pl.Characteristic([-2, -1, 0, 0.5, 1.5], [-4, -1, 0, 0.1, 3], kind="monotone"), None),
    ],
    ids=["polynomial", "function", "lines", "monotone"],
)
def test_springs_of_any_characteristic(torque, exact):
    """Forces at rest, and the energy whose derivative they are."""
    robot = slider()
    robot.add_spring("spring", "body", torque=torque, rest=0.3)
    system = robot.compile()
    curve = torque if exact is None else exact
    for x in (-2.5, -0.7, -0.2, 0.1, 0.49, 1.2, 3.0):
        if exact is np.sinh and abs(x) > 2:
            continue
        r = system.residual([0.3 + x], [0.0], [0.0])
        np.testing.assert_allclose(r, curve(x), atol=1e-6 * np.abs(curve(x)) + 1e-12, rtol=1e-5)
        h = 1e-4
        e = [_energy(system, 0.3 + x + s * h) for s in (-2, -1, 1, 2)]
        np.testing.assert_allclose((e[0] - 8 * e[1] + 8 * e[2] - e[3]) / (12 * h), r, rtol=1e-8, atol=1e-9)
    assert abs(_energy(system, 0.3)) < 1e-14


def _energy(system: pl.System, q: float) -> float:
    p = np.zeros(engine.PARAMETERS)
    system.run_job(engine.BALANCE, np.array([q]), np.zeros(1), np.zeros(1), np.zeros(system.nu), p=p)
    return float(p[slots.REPORT_LOADS])


def test_a_characteristic_is_what_it_is_made_of():
    x = np.array([-1.0, 0.0, 0.7, 2.0, 2.5])
    for kind in ("cubic", "monotone", "linear"):
        curve = pl.Characteristic(x, x**2, kind=kind)
        np.testing.assert_allclose(curve(x), x**2, atol=1e-12)
        slope = (curve(3.0) - curve(2.5)) / 0.5
        np.testing.assert_allclose(curve(4.5), curve(2.5) + 2 * slope)  # straight beyond its ends
        np.testing.assert_allclose(slope, (curve(2.5) - curve(2.5 - 1e-6)) / 1e-6, rtol=1e-4)
    assert np.all(np.diff(pl.Characteristic([0, 1, 2, 3], [0, 0, 1, 1], kind="monotone")(np.linspace(0, 3, 50))) >= 0)
    rough = pl.Characteristic.of(np.tanh, -3, 3, tolerance=1e-3)
    assert len(rough.x) < len(pl.Characteristic.of(np.tanh, -3, 3).x)
    assert np.abs(rough(np.linspace(-3, 3, 999)) - np.tanh(np.linspace(-3, 3, 999))).max() <= 1.01 * rough.error


# ---------------------------------------------------------------- derivatives


def with_everything() -> pl.System:
    """A branched floating robot with laws of every kind on joints of the tree and of two loops."""
    robot = branched(1)
    rng = np.random.default_rng(3)
    robot.add_body("wheel", parent="hub", joint=pl.Universal("x", (0, 1, 0.3)), mass=0.2, inertia=(1e-3, 2e-3, 2e-3))
    robot.add_loop("loop", "tool", robot.link("arm").at(0.77, random_pose(rng, 0.1)), joint=pl.Cylindrical((2, 1, 0)))
    robot.add_loop(
        "ground", "world", robot.link("twig").at(0.6, random_pose(rng, 0.1)), joint=pl.Universal("x", (0, 1, 0.3))
    )
    curve = pl.Characteristic.of(np.sin, -4, 4, tolerance=1e-4)
    for k, (where, dof) in enumerate([("hand", 0), ("wheel", 1), ("loop", 1), ("ground", 0)]):
        robot.add_friction(
            f"f{k}",
            where,
            dof=dof,
            coulomb=1.0 + k,
            viscous=0.2,
            breakaway=2.0 + 2 * k,
            stribeck=1.5,
            stiction=0.5,
            slip_speed=2.0,
        )
        robot.add_spring(f"s{k}", where, dof=dof, torque=curve if k % 2 else (0.1, 2.0, 0.5), rest=0.3, gap=0.05)
        robot.add_stop(f"b{k}", where, dof=dof, lower=-0.01, upper=0.01, stiffness=7.0, restitution=0.4)
    robot.add_backlash(
        "gear", {"hand": 1.5, "wheel.angle1": -2.0}, gap=0.02, stiffness=20.0, restitution=0.5, offset=0.1
    )
    robot.add_backlash("belt", {"tool": 2.0, "wheel.angle2": 1.0}, gap=0.01, stiffness=20.0, dissipation=0.3)
    return robot.compile()


def forces(system, given, q, v, a, u):
    """The residual without elasticity, for complex arguments, with internal variables (see `oracle`)."""
    q, v, a, u = (np.ascontiguousarray(x, dtype=complex) for x in (q, v, a, u))
    out, r = np.zeros((2, system.nv), complex)
    t, work = system._model.tables, system.make_work(complex)
    work.multiplier[:], work.memory[:], work.lag[0] = given.multipliers, given.memory, given.lag
    oracle.start(t, work, q, v, a)
    for family in system.families:
        tables = system._model.loads[family.name]
        if family.apply is not None and family.present(tables):
            oracle.entry(family.apply)(t, work, tables, family.space(tables, system.nv, complex), q, v, u, r)
    oracle.finish(t, work, out)
    return out + r, work.kept.copy()


@pytest.mark.parametrize("lag", [0.0, 0.1, 3.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_derivatives_are_exact(seed, lag):
    system = with_everything()
    q, v, a = state(system, seed)
    rng = np.random.default_rng(seed)
    size = len(system.loop_rows)
    given = Given(rng.normal(size=size), memory=rng.normal(size=system.nz) * 0.4, lag=lag)
    u, h, nv = np.zeros(system.nu), 1e-40, system.nv
    plain = (q, v, a, u)
    r, z = forces(system, given, *plain)
    with system.borrow() as space:
        got = np.zeros(nv)
        system.run_job(engine.RESIDUAL, *plain, force=got, given=given, space=space)
        kept = space.work.kept.copy()
    np.testing.assert_allclose(
        got, (r + system.elastic_forces(q) + system.damping_matrix() @ v).real, rtol=1e-11, atol=1e-11
    )
    np.testing.assert_allclose(kept, z.real, atol=1e-13)
    exact = np.zeros((2, nv, nv))
    remembered = np.zeros((2, system.nz, nv))
    for k in range(nv):
        d = 1j * h * np.eye(nv)[k]
        for m, changed in enumerate(((moved(system, q, d), v, a, u), (q, v + d, a, u))):
            f, z = forces(system, given, *changed)
            exact[m, :, k], remembered[m, :, k] = f.imag / h, z.imag / h
    exact += [system.elastic_tangent(q), system.damping_matrix()]
    for m, weights in enumerate(([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])):
        S, p = np.empty((1, nv, nv)), np.zeros(engine.PARAMETERS)
        p[slots.OPTION_CQ], p[slots.OPTION_CV], p[slots.OPTION_CA] = weights
        system.run_job(engine.TANGENT, *plain, p=p, S=S, given=given)
        assert np.abs(S[0] - exact[m]).max() < 1e-12 * np.abs(exact[m]).max(), "qv"[m]
    rows = memory_rows(system, given, q, v)
    scale = max(np.abs(remembered).max(), 1.0)
    assert np.abs(rows[:, :nv] - remembered[0]).max() < 1e-12 * scale
    assert np.abs(rows[:, nv : 2 * nv] - remembered[1]).max() < 1e-12 * scale
    for k in range(system.nz):
        change = given._replace(memory=given.memory + 1j * h * np.eye(system.nz)[k])
        f, z = forces(system, change, *plain)
        assert np.abs(rows[k, 2 * nv : 3 * nv] - f.imag / h).max() < 1e-12 * max(np.abs(f.imag / h).max(), 1.0)
        np.testing.assert_allclose(rows[:, 3 * nv + k], z.imag / h, atol=1e-13)


@kernel
def told(t, tables, work, q, v, out):
    bearings.memory_rows(t, tables, work, q, v, out)


def memory_rows(system: pl.System, given: Given, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """What the task MEMORY answers, with columns of the tangent by q and v."""
    nv, nz, u = system.nv, system.nz, np.zeros(system.nu)
    out = np.zeros((nz, 3 * nv + nz + system.nu))
    with system.borrow() as space:
        S, p = np.empty((1, nv, nv)), np.zeros(engine.PARAMETERS)
        p[slots.OPTION_CQ] = 1.0
        system.run_job(engine.TANGENT, q, v, np.zeros(nv), u, p=p, S=S, given=given, space=space)
        tables = system._model.loads["bearings"]
        told(system._model.tables, tables, space.work, q, v, out)
    return out


# ---------------------------------------------------------------- parameters, files, refusals


def small() -> pl.Robot:
    robot = pendulum(loop=False)
    robot.add_body("wheel", offset=(0, 1, 0), joint=pl.Revolute("y"), mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
    robot.add_friction(
        "friction", "rod", coulomb=0.05, viscous=0.01, breakaway=0.06, stribeck=0.05, stiction=1e-4, slip_speed=0.1
    )
    robot.add_spring("spring", "rod", dof="angle", torque=(0, 0.1, 0, 0.3), rest=0.2, gap=0.3)
    robot.add_spring("rubber", "wheel", torque=pl.Characteristic([-1, 0, 1], [-2, 0, 3], kind="monotone"))
    robot.add_backlash("teeth", {"rod": 1.0, "wheel": -2.0}, gap=0.02, stiffness=100.0, offset=0.3, restitution=0.4)
    robot.add_stop("stop", "rod", upper=1.9, stiffness=2e3, restitution=0.6)
    return robot


def test_files_hold_them():
    robot = small()
    text = pl.io.dump_model(robot)
    again = pl.parse_model(text).robot
    assert again.bearings == robot.bearings
    assert again.stops == robot.stops
    assert pl.io.dump_model(again) == text


def test_parameters():
    system = small().compile()
    values = {
        "friction.coulomb": 0.055, "friction.stiction": 2e-4, "spring.torque.3": 0.5, "spring.gap": 0.2, "rubber.torque.2": 4.0,
        "teeth.ratio.wheel": -3.0, "teeth.gap": 0.03, "teeth.restitution": 0.7, "stop.restitution": 0.2,
    }  # fmt: skip
    assert set(values) <= set(system.parameters)
    other = system.with_parameters(values)
    for name, value in values.items():
        assert other.parameters[name] == value
    fresh = other.robot.compile()
    q, v, a = [1.95, 0.3], [0.1, 0.2], [0.3, 0.4]
    np.testing.assert_array_equal(other.residual(q, v, a), fresh.residual(q, v, a))
    assert np.abs(other.residual(q, v, a) - system.residual(q, v, a)).min() > 1e-3


@pytest.mark.parametrize(
    "name", ["spring.torque.3", "spring.rest", "rubber.torque.2", "teeth.gap", "teeth.ratio.wheel", "rod.mass"]
)
def test_gradients_of_equilibria(name):
    robot = small()
    del robot.bearings["friction"], robot.stops["stop"]
    robot.bearings["teeth"] = pl.Backlash(robot.bearings["teeth"].terms, 0.3, 0.02, 100.0)
    system = robot.compile()
    cost = pl.Reach(robot.link("rod").at((0.5, 0, 0)), (0.2, 0.0, 0.1))

    def value(s: pl.System) -> pl.gradients.statics.StaticGradient:
        rest = pl.solve_statics(s, start=[0.5, 0.1])
        assert rest.success
        return pl.static_gradient(s, rest, cost)

    x = system.parameters[name]
    h = 1e-5 * abs(x)
    up, down = (value(system.with_parameters({name: x + s * h})).value for s in (1, -1))
    slope = (up - down) / (2 * h)
    assert abs(slope) > 1e-6
    assert abs(value(system).parameters[name] - slope) < 1e-5 * abs(slope)


@pytest.mark.parametrize(
    ("add", "error", "message"),
    [
        (lambda r: r.add_friction("x", "body"), ValueError, "coulomb = 0 and viscous = 0"),
        (lambda r: r.add_friction("x", "body", coulomb=-1.0), ValueError, "friction 'x': coulomb = -1.0"),
        (lambda r: r.add_friction("x", "body", coulomb=1.0, breakaway=0.5), ValueError, "breakaway = 0.5"),
        (lambda r: r.add_friction("x", "body", coulomb=1.0, breakaway=1.5), ValueError, "give stribeck"),
        (lambda r: r.add_friction("x", "body", coulomb=1.0, stiction=0.0), ValueError, "stiction = 0"),
        (lambda r: r.add_friction("x", "ball", coulomb=1.0), ValueError, "spherical joint has no single coordinate"),
        (lambda r: r.add_friction("x", "bod", coulomb=1.0), KeyError, "did you mean 'body'"),
        (lambda r: r.add_friction("x", "body", dof=1, coulomb=1.0), ValueError, "dof = 1"),
        (lambda r: r.add_spring("x", "body", torque=np.sinh), TypeError, r"Characteristic\.of\(function"),
        (lambda r: r.add_spring("x", "body", torque=(0, 0)), ValueError, "zero everywhere"),
        (lambda r: r.add_spring("x", "body", torque=(0, 1), gap=-1.0), ValueError, "gap = -1.0"),
        (lambda r: r.add_backlash("x", {"body": 1.0}, gap=0.0, stiffness=1.0), ValueError, "backlash 'x': gap = 0.0"),
        (lambda r: r.add_backlash("x", {"bodi": 1.0}, gap=0.1, stiffness=1.0), KeyError, "coordinate of backlash 'x'"),
        (lambda r: r.add_backlash("x", {"body": 1.0}, gap=0.1, stiffness=1.0, restitution=2.0), ValueError, "restitution = 2.0"),
        (lambda r: r.add_stop("x", "body", upper=1.0, stiffness=1.0, dissipation=1.0, restitution=0.5), ValueError, "give one of them"),
        (lambda r: pl.Characteristic([0, 1, 2], [0, 1, 2]), ValueError, "4 points are needed.*monotone"),
        (lambda r: pl.Characteristic([0, 1, 1], [0, 1, 2], kind="linear"), ValueError, r"x\[2\] = 1"),
        (lambda r: pl.Characteristic([0, 1], [0, 1, 2], kind="linear"), ValueError, "values has shape"),
        (lambda r: pl.Characteristic.of(np.sign, -1, 1), ValueError, "jump or have a kink"),
        (lambda r: pl.Characteristic.of(lambda x: 1.0, -1, 1), ValueError, "returned shape"),
    ],
)  # fmt: skip
def test_refusals(add, error, message):
    robot = slider()
    robot.add_body("ball", joint=pl.Spherical(), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(error, match=message):
        add(robot)


def test_methods_without_memory_refuse():
    system = slider(coulomb=1.0).compile()
    with pytest.raises(ValueError, match="internal variables"):
        pl.simulate(system, 0.1, method="radau")


# ---------------------------------------------------------------- gradients of motions


@pytest.mark.parametrize("loop", [False, True], ids=["tree", "loop"])
@pytest.mark.parametrize("sticks", [True, False], ids=["sticking", "sliding"])
def test_gradients_of_motions(sticks, loop):
    """Through bristles that are bent, or slip, and an impact with restitution, against differences."""
    robot = pendulum(loop)
    where = "hinge" if loop else "rod"
    robot.add_motor("motor", where)
    more = {} if sticks else {"breakaway": 0.2, "stribeck": 0.5}
    robot.add_friction(
        "friction", where, coulomb=1.0 if sticks else 0.1, viscous=0.01, stiction=1e-3, slip_speed=0.1, **more
    )
    robot.add_spring("spring", where, torque=(0, 0.5, 0, 2.0), rest=-0.3)
    robot.add_stop("stop", where, upper=0.01, stiffness=200.0, restitution=0.6)
    system = robot.compile()
    v = np.zeros(system.nv)
    v[1 if loop else 0] = 0.0 if sticks else 1.0
    U = np.linspace(0.1, 0.3, 12)[:, None]
    run = pl.rollout(system, U, step=2e-3, velocity=v)
    bent = np.abs(run.remembered[2:, 1 if system.nz > 1 else 0])
    assert bent.max() < 0.99e-3 if sticks else bent.max() >= 0.99e-3
    names = (
        "rod.mass",
        "friction.coulomb",
        "friction.stiction",
        "spring.torque.1",
        "stop.stiffness",
        "stop.restitution",
    )
    cost = pl.Reach(robot.link("rod").at((0.5, 0, 0)), (0.5, 0.0, -1e-3), at="all")
    options = {
        "parameters": names,
        "velocity": v,
        "step": 2e-3,
        "steps": {"start": 1e-7, "velocity": 1e-5, "parameter": 1e-5, "u": 1e-4},
    }
    found = errors(system, U, cost, start=system.neutral(), **options)
    assert max(found.values()) < 1e-6, found
