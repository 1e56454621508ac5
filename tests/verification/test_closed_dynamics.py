"""Forward dynamics of closed robots: exact derivatives, known motions with loops and without slipping, minimal coordinates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import solve_continuous_are

import pliant as pl
from load_robots import branched
from pliant import gallery
from pliant.solve.closure import close, consistent_velocity
from robots import random_inertia, random_pose


def example(name: str) -> pl.System:
    return gallery.load(name).build()


def spatial() -> pl.System:
    """A spatial loop whose second joint repeats rows of the first, with a prescribed joint and a soft arm in it."""
    rng = np.random.default_rng(2)
    robot = pl.Robot("spatial", gravity=(1, -2, -9))
    one = robot.add_body("one", offset=random_pose(rng, 0.1), joint=pl.Universal("x", "y"), inertia=random_inertia(rng))
    arm = robot.add_rod(
        "arm", parent=one, offset=random_pose(rng, 0.1), length=0.5, section=pl.Circle(0.02),
        material=pl.Material(young=1e6, poisson=0.4, density=1100.0, viscosity=1e3), strains=pl.Strains.kirchhoff(2),
    )  # fmt: skip
    bare = robot.compile()
    tip = bare.pose("arm.tip", bare.neutral())
    near = pl.Pose(rotation=tip[:3, :3], translation=tip[:3, 3]) @ random_pose(rng, 0.05)
    two = robot.add_body("two", offset=near, joint=pl.Cylindrical((1, 2, 3)), inertia=random_inertia(rng))
    robot.add_loop("weld", arm.tip, two, joint=pl.Universal("y", "z", stiffness=0.3, damping=0.1))
    robot.add_loop("again", arm.tip, two, joint=pl.Spherical())
    robot.add_motion("table", one, dof=1)
    robot.add_motor("motor", "weld")
    return robot.compile()


def floating() -> pl.System:
    robot = branched(4)
    rng = np.random.default_rng(1)
    robot.add_loop(
        "loop", "tool", robot.link("arm").at(0.7, random_pose(rng, 0.1)), joint=pl.Revolute((1, 2, 3), stiffness=1.0)
    )
    robot.add_tendon("cable", "arm", y=0.01)
    return robot.compile()


ROBOTS: dict[str, Callable[[], pl.System]] = {
    "parallel": lambda: example("hybrid_parallel_robot"),
    "fin-ray": lambda: example("fin_ray_finger"),
    "spatial": spatial,
    "floating": floating,
}


@pytest.mark.parametrize("stabilisation", [0.0, 0.05])
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("name", ROBOTS)
def test_derivatives_of_accelerations_and_forces(name, closed, stabilisation):
    """∂(a, λ)/∂(q, v, tau, u) against fourth-order differences, on and off the manifold of closed loops."""
    system = ROBOTS[name]()
    rng = np.random.default_rng(0)
    q = system.random(rng, scale=0.003 if name == "fin-ray" else 0.05)
    v = 0.3 * rng.normal(size=system.nv) * system.internal.scale
    if closed:
        q, gap = close(system, pl.solve_statics(system).q if name == "spatial" else q)
        assert gap < 1e-10
        v = consistent_velocity(system, q, np.where(system.known, 0.0, v))
    v = np.where(system.known, 0.0, v)
    u, tau = 1.0 + rng.uniform(size=system.nu), 0.01 * rng.normal(size=system.nv)
    known = rng.normal(size=system.nv)

    def motion(q: np.ndarray, v: np.ndarray, tau: np.ndarray, u: np.ndarray) -> np.ndarray:
        found = system.constrained_dynamics(q, v, tau, u=u, prescribed=known, stabilisation=stabilisation)
        return np.concatenate(found)

    d = system.forward_dynamics_derivatives(q, v, tau, u=u, prescribed=known, stabilisation=stabilisation)
    np.testing.assert_array_equal(np.concatenate([d.a, d.multipliers]), motion(q, v, tau, u))
    # rows obey ë + 2 ė/T + e/T² = 0, and the equation of motion holds with the forces
    values, G = system.closure(q)
    rates = system.closure_rates(q, v)
    rhs = (2 * rates[:, 0] / stabilisation + values / stabilisation**2) if stabilisation else 0.0
    assert np.abs(G @ d.a + rates[:, 1] + rhs).max() < 1e-8 * max(1.0, np.abs(d.a).max())
    r = system.residual(q, v, d.a, u, tau, multipliers=d.multipliers)
    assert np.abs(np.where(system.known, 0.0, r)).max() < 1e-9 * max(1.0, np.abs(G.T @ d.multipliers).max())
    scale, mass = system.internal.scale, system.mass_matrix(q)
    cases = (
        (d.dq, d.multipliers_dq, lambda x: (system.integrate(q, x), v, tau, u), scale, np.where(system.known, 0, 1)),
        (d.dv, d.multipliers_dv, lambda x: (q, v + x, tau, u), scale, np.where(system.known, 0, 1)),
        (d.dtau, d.multipliers_dtau, lambda x: (q, v, tau + x, u), np.ones(system.nv), np.ones(system.nv)),
        (d.du, d.multipliers_du, lambda x: (q, v, tau, u + x), np.ones(system.nu), np.ones(system.nu)),
    )
    for k, (of_a, of_force, move, size, free) in enumerate(cases):
        exact = np.vstack([of_a, of_force])
        for _ in range(2):
            x = rng.normal(size=len(size)) * size * free
            h = (1e-5, 1e-2, 0.1, 0.1)[k]  # quadratic in velocities, linear in forces and inputs
            change = [motion(*move(s * h * x)) - motion(*move(-s * h * x)) for s in (1, 2)]
            numeric = (8 * change[0] - change[1]) / (12 * h)
            wrong, n = exact @ x - numeric, system.nv
            # accelerations as forces: a mass matrix of large condition magnifies the rounding of differences
            assert np.abs(mass @ wrong[:n]).max() <= 1e-7 * (np.abs(mass) @ np.abs(numeric[:n])).max(), k
            assert np.abs(G.T @ wrong[n:]).max() <= 1e-7 * (np.abs(G.T) @ np.abs(numeric[n:])).max(), k


# ---------------------------------------------------------------- rolling and gliding


def test_a_ball_and_a_wheel_roll_down_a_slope():
    """a = g sin α / (1 + I/(m r²)): 5/7 of a ball, 2/3 of a disc; the forces of the ground are those of the textbook."""
    alpha, m, r = 0.3, 2.0, 0.1
    gravity = 9.81 * np.array([np.sin(alpha), 0, -np.cos(alpha)])
    for axis, share in ((None, 0.4), ("y", 0.5)):
        robot = pl.Robot("rolls", gravity=gravity)
        inertia = np.full(3, share * m * r * r) if axis is None else m * r * r * np.array([0.25, 0.5, 0.25])
        body = robot.add_body("body", offset=(0, 0, r), joint=pl.Free(), mass=m, inertia=inertia)
        robot.add_loop("ground", "world", body, joint=pl.Rolling(r, axis=axis))
        system = robot.compile()
        a = 9.81 * np.sin(alpha) / (1 + share)
        run = pl.simulate(system, 1.0, rtol=1e-6, atol=1e-7)
        assert run.success, run.message
        x = run.positions("body")[-1]
        np.testing.assert_allclose(x, [0.5 * a, 0, r], atol=1e-5)
        exact = [m * (a - gravity[0]), 0, -m * gravity[2]]
        _a, forces = system.constrained_dynamics(run.q[-1], run.v[-1])
        for multipliers, tolerance in ((forces, 1e-8), (run.multipliers[-1], 2e-3)):
            wrench = system.loop_wrench("ground", run.q[-1], multipliers, axes="world")
            np.testing.assert_allclose(wrench[3:], exact, atol=tolerance * m * 9.81)


def test_a_rolling_coin_keeps_its_energy_and_does_not_slip():
    """A leaning coin on its way around: nothing slips, nothing is lost."""
    m, r = 0.5, 0.2
    robot = pl.Robot("coin")
    coin = robot.add_body(
        "coin", offset=pl.translate(0, 0, r * np.cos(0.3)) @ pl.rotate("x", 0.3), joint=pl.Free(), mass=m,
        inertia=m * r * r * np.array([0.25, 0.5, 0.25]),
    )  # fmt: skip
    robot.add_loop("ground", "world", coin, joint=pl.Rolling(r, axis="y"))
    system = robot.compile()
    start = np.array([0, 6.0, 1.0, 0, 0, 0])
    run = pl.simulate(system, 3.0, velocity=start, rtol=1e-7, atol=1e-8)
    assert run.success, run.message
    energy = [system.kinetic_energy(q, v) + system.gravitational_energy(q) for q, v in zip(run.q, run.v)]
    assert np.ptp(energy) < 2e-5 * energy[0]
    slip = [np.abs(system.closure_rates(q, v)[:, 0]).max() for q, v in zip(run.q, run.v)]
    gap = [np.abs(system.closure(q)[0]).max() for q in run.q]
    assert max(slip) < 1e-10
    assert max(gap) < 1e-12
    assert np.linalg.norm(run.positions("coin")[-1, :2] - run.positions("coin")[0, :2]) > 0.1


@pytest.mark.parametrize("method", ["auto", "generalized-alpha", "radau"])
def test_chaplygin_sleigh(method):
    """The blade of a sleigh behind its centre of mass: ``v̇ = a ω²``, ``(I + m a²) ω̇ = −m a v ω``."""
    m, inertia, ahead = 2.0, 0.05, 0.15
    robot = pl.Robot("sleigh", gravity=(0, 0, 0))
    body = robot.add_body("body", joint=pl.Planar("z"), mass=m, com=(ahead, 0, 0), inertia=(0.1, 0.1, inertia))
    robot.add_loop("blade", "world", body, joint=pl.Skate("y"))
    system = robot.compile()

    def rhs(_t: float, y: np.ndarray) -> np.ndarray:
        v, w, angle, _x, _y = y
        return np.array(
            [ahead * w * w, -m * ahead * v * w / (inertia + m * ahead**2), w, v * np.cos(angle), v * np.sin(angle)]
        )

    exact = solve_ivp(rhs, (0, 2), [0.3, 2.0, 0, 0, 0], rtol=1e-10, atol=1e-12).y[:, -1]
    options = {"step": 1e-3} if method == "generalized-alpha" else {"rtol": 1e-6}
    if method == "radau":
        options["baumgarte"] = 0.1
    run = pl.simulate(system, 2.0, velocity=[0.3, 0.0, 2.0], method=method, **options)
    assert run.success, run.message
    tolerance = 2e-5
    np.testing.assert_allclose(run.q[-1], [exact[3], exact[4], exact[2]], atol=tolerance)
    assert run.v[-1, 2] == pytest.approx(exact[1], abs=tolerance)
    assert abs(system.closure_rates(run.q[-1], run.v[-1])[0, 0]) < 1e-5


def strut() -> pl.System:
    """A ball that hangs on a massless strut, let go from the side."""
    robot = pl.Robot("pendulum")
    ball = robot.add_body("ball", offset=(0.5, 0, 0), joint=pl.Free(), mass=1.5, inertia=(0.01, 0.01, 0.01))
    robot.add_loop("strut", "world", ball, joint=pl.Distance(0.5))
    return robot.compile()


def test_a_massless_strut_swings_as_a_pendulum():
    """A point on a `Distance`: the motion and the force of a pendulum."""
    run = pl.simulate(strut(), 2.0, rtol=1e-7, atol=1e-8, output=np.linspace(0, 2, 201))
    x = run.positions("ball")
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 0.5, atol=1e-12)
    exact = solve_ivp(
        lambda t, y: [y[1], 9.81 / 0.5 * np.cos(y[0])], (0, 2), [0, 0], rtol=1e-12, atol=1e-13, t_eval=run.t
    ).y
    np.testing.assert_allclose(np.arctan2(-x[:, 2], x[:, 0]), exact[0], atol=1e-4)  # 430 steps of 1e-7
    np.testing.assert_allclose(-run.multipliers[:, 0], 1.5 * (0.5 * exact[1] ** 2 + 9.81 * np.sin(exact[0])), atol=5e-3)


def test_no_step_is_accepted_before_it_has_converged():
    """Every constant step keeps the energy to its order: a stage was once accepted with the rate of convergence of another kind of iteration."""
    system = strut()
    for step in (0.01, 0.005):
        run = pl.simulate(system, 1.2, step=step, rtol=1e-10, atol=1e-11)
        energy = [system.kinetic_energy(q, v) + system.gravitational_energy(q) for q, v in zip(run.q, run.v)]
        assert np.abs(np.diff(energy)).max() < 3.0 * step**3  # 8e-7 and 5e-8 J; it was 8e-5 J at the longer one


# ---------------------------------------------------------------- linearisation


def test_linearisation_predicts_the_constrained_motion():
    """A and B of a moving closed robot against differences of its accelerations."""
    system = spatial()
    rng = np.random.default_rng(0)
    q = pl.solve_statics(system).q
    v = consistent_velocity(system, q, np.where(system.known, 0.0, 0.3 * rng.normal(size=system.nv)))
    linear = pl.linearize(system, q, v, u={"motor": 0.1})
    d = system.forward_dynamics_derivatives(q, v, u={"motor": 0.1})
    n = system.nv
    np.testing.assert_array_equal(linear.A[n:, n:], d.dv)
    np.testing.assert_array_equal(linear.B[n:], d.du)
    with pytest.raises(ValueError, match="at rest"):
        linear.minimal()


def test_minimal_coordinates_have_the_modes_and_serve_an_lqr():
    """Eigenvalues of the minimal form are those of `modes`; an LQR from it holds a robot with loops upright."""
    robot = pl.Robot("parallelogram", gravity=(0, 0, -9.81))
    bar = {"shape": pl.Box(0.3, 0.02, 0.02), "mass": 0.2, "com": (0.15, 0, 0)}
    up = pl.rotate("y", -np.pi / 2)
    left = robot.add_body("left", offset=up, joint=pl.Revolute("y", damping=0.01), **bar)
    right = robot.add_body("right", offset=pl.translate(0.2, 0, 0) @ up, joint=pl.Revolute("y"), **bar)
    top = robot.add_body(
        "top",
        parent=left.at((0.3, 0, 0)),
        joint=pl.Revolute("y"),
        shape=pl.Box(0.2, 0.02, 0.02),
        mass=0.5,
        com=(0, 0, -0.1),
    )
    robot.add_loop("pin", top.at((0, 0, -0.2)), right.at((0.3, 0, 0)), joint=pl.Revolute("y"))
    robot.add_motor("motor", right)
    system = robot.compile()
    rest = pl.solve_statics(system, stable=False)
    assert rest.success, rest.message
    linear = pl.linearize(system, rest).minimal()
    assert linear.A.shape == (2, 2)
    values = np.sort_complex(np.linalg.eigvals(linear.A))
    np.testing.assert_allclose(values, np.sort_complex(pl.modes(system, rest).eigenvalues), rtol=1e-8)
    assert values.real.max() > 1.0  # it falls
    deviation = np.concatenate([linear.basis[: system.nv] @ [1e-3, 0], linear.basis[system.nv :] @ [0, 2e-3]])
    np.testing.assert_allclose(linear.coordinates(deviation), [1e-3, 2e-3], atol=1e-15)
    P = solve_continuous_are(linear.A, linear.B, np.eye(2), np.eye(1))
    K = linear.B.T @ P

    def feedback(t: float, state) -> np.ndarray:
        return rest.u - K @ linear.coordinates(np.concatenate([system.difference(rest.q, state.q), state.v]))

    start, _gap = close(system, system.integrate(rest.q, linear.basis[: system.nv] @ [0.1, 0.0]))
    run = pl.simulate(system, 5.0, u=feedback, start=start)
    assert run.success, run.message
    assert np.abs(system.difference(rest.q, run.q[-1])).max() < 1e-3
    assert np.abs(system.difference(rest.q, run.q[0])).max() > 0.05
