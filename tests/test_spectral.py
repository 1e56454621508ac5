"""Spectral integration of rods (Chebyshev collocation with quaternions) against closed forms, Magnus and the complex step."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from load_robots import branched, check_tangents, state
from pliant.kernels import engine, layout
from pliant.model.rods.quadrature import chebyshev_integrals, default_points, fejer, rod_grid
from pliant.system.kinematics import frame_columns
from robots import SILICONE, complex_step, random_inertia, random_pose
from test_loads import CASES


def relative(got: np.ndarray, exact: np.ndarray) -> float:
    return float(np.abs(np.asarray(got) - exact).max() / np.abs(exact).max())


def integrated(robot: pl.Robot, **points: int) -> pl.Robot:
    """The robot with spectral integration of the named rods, with so many points per element."""
    for k, link in enumerate(robot.links):
        if link.name in points:
            rod = replace(link.content, integration="spectral", points=points[link.name], magnus=4)
            robot.links[k] = replace(link, content=rod)
    return robot


def refined(robot: pl.Robot, points: int, *names: str) -> pl.Robot:
    """The robot with so many points of the Magnus integration in the named rods."""
    for k, link in enumerate(robot.links):
        if link.name in names:
            robot.links[k] = replace(link, content=replace(link.content, points=points, magnus=4))
    return robot


def arm(points: int | None = None, integration: str = "spectral", **options: object) -> pl.Robot:
    options = {
        "length": 0.5,
        "section": pl.Circle(0.01),
        "material": SILICONE,
        "strains": pl.Strains.kirchhoff(order=3),
        **options,
    }
    robot = pl.Robot("arm", gravity=options.pop("gravity", (0, 0, -9.81)))
    robot.add_rod("rod", points=points, integration=integration, **options)
    return robot


# ---------------------------------------------------------------- points and integrals


@pytest.mark.parametrize("n", [1, 2, 3, 6, 13, 40, 101])
def test_fejer_is_exact_to_its_degree_and_positive(n):
    x, w = fejer(n)
    assert np.all(w > 0)
    assert np.all(np.diff(x) > 0)
    np.testing.assert_allclose(x, 1 - x[::-1], atol=1e-16)
    degree = n if n % 2 else n - 1
    for k in range(degree + 1):
        assert abs(w @ x**k - 1 / (k + 1)) < 1e-15
    if n < 10:
        assert abs(w @ x ** (degree + 1) - 1 / (degree + 2)) > 1e-8


@pytest.mark.parametrize("n", [1, 2, 5, 12, 30])
def test_integrals_of_lagrange_polynomials(n):
    x, w = fejer(n)
    upper = np.array([0.0, 1e-9, 0.3, 0.77, 1.0])
    W = chebyshev_integrals(n, upper)
    for k in range(n):
        np.testing.assert_allclose(W @ x**k, upper ** (k + 1) / (k + 1), atol=1e-15)
    np.testing.assert_allclose(W[-1], w, atol=1e-15)
    np.testing.assert_allclose(chebyshev_integrals(n, [0.5])[0] + chebyshev_integrals(n, [0.5])[0, ::-1], w, atol=1e-15)


def test_grid_and_default_points():
    grid = rod_grid([0.3], 5, extra=[0.1, 0.3], rule="chebyshev")
    assert grid.X.size == 2 * 5 + 3 + 1
    np.testing.assert_allclose(grid.X[grid.weights > 0][:5], 0.3 * fejer(5)[0])
    assert abs(grid.weights.sum() - 1) < 1e-15
    assert default_points(4, 1, rule="chebyshev") == 14
    assert default_points(0, 1, rule="chebyshev") == 10
    assert default_points(0, 4, rule="chebyshev") == 6
    assert default_points(4, 1) == 12
    with pytest.raises(ValueError, match="rule = 'simpson'"):
        rod_grid([], 5, rule="simpson")


def test_default_points_integrate_stiffness_and_mass_of_a_tapered_rod_exactly():
    options = {"section": pl.Circle((0.03, 0.015)), "strains": pl.Strains.reissner(4)}
    spectral, gauss = arm(**options).compile(), arm(40, "magnus", **options).compile()
    assert relative(spectral.stiffness_matrix(), gauss.stiffness_matrix()) < 1e-14
    few = arm(6, **options).compile()
    assert relative(few.stiffness_matrix(), gauss.stiffness_matrix()) > 1e-4
    assert abs(spectral.mass / gauss.mass - 1) < 1e-14


# ---------------------------------------------------------------- kinematics


@pytest.mark.parametrize("strain", [(0, 0, 9.0, 1, 0, 0), (4.0, -3.0, 5.0, 1.1, 0.1, -0.2), (0, 0, 0, 1, 0, 0)])
@pytest.mark.parametrize("cut", [False, True])
def test_circle_and_helix_in_closed_form(strain, cut):
    robot = arm(18, strains=pl.Strains.reissner(0))
    if cut:
        robot.add_body("fin", parent=robot.link("rod").at(0.37), mass=0.1)
    robot.add_frame("eye", robot.link("rod").at(0.61))
    system = robot.compile()
    q = np.array(strain, dtype=float) - np.array([0, 0, 0, 1, 0, 0])
    v = np.random.default_rng(0).normal(size=6)
    X = np.array([0.0, 1e-7, 0.2, 0.37, 0.5, 0.61, 0.9, 1.0])
    poses, twists = system.rod_poses("rod", q, X), system.rod_twists("rod", q, v, X)
    for x, g, twist in zip(X, poses, twists):
        omega = 0.5 * x * np.array(strain, dtype=float)
        np.testing.assert_allclose(g, pl.lie.exp(omega), atol=1e-13)
        body = pl.lie.tangent(-omega) @ (0.5 * x * v)  # the right tangent of the exponential
        np.testing.assert_allclose(twist, body, atol=1e-12)
    np.testing.assert_allclose(system.pose("eye", q), poses[5], atol=1e-15)
    np.testing.assert_allclose(system.pose("rod.tip", q), poses[-1], atol=1e-15)


def test_quaternions_solve_the_real_equations():
    """4N real equations, assembled here, against the elimination with quaternions."""
    robot = arm(9)
    robot.add_frame("eye", robot.link("rod").at(0.4))
    system = robot.compile()
    q = 30 * np.random.default_rng(1).normal(size=system.nq)
    space = system.workspace()
    system.run_job(engine.ID, q, q, q, space=space)
    (block,) = system.tables.block
    n = int(block[layout.STEPS])
    W = system.tables.colloc[block[layout.COLLOC] :][: n * n].reshape(n, n)
    rows = space.work.state[:n]
    kappa = rows[:, layout.XI1 : layout.XI1 + 3]
    A = np.eye(4 * n)
    for j, (x, y, z) in enumerate(kappa):
        right = np.array([[0, -x, -y, -z], [x, 0, z, -y], [y, -z, 0, x], [z, y, -x, 0]])  # Q ↦ Q ⊗ κ
        for k in range(n):
            A[4 * k : 4 * k + 4, 4 * j : 4 * j + 4] -= 0.5 * W[k, j] * right
    exact = np.linalg.solve(A, np.tile([1.0, 0, 0, 0], n)).reshape(n, 4)
    assert np.abs(kappa).max() > 10
    np.testing.assert_allclose(rows[:, layout.OM : layout.OM + 4], exact, rtol=0, atol=1e-12 * np.abs(exact).max())


def test_blocks_end_at_elements_and_attachments_only():
    robot = arm(7, strains=pl.Strains(bending=pl.LinearElements(2), torsion=1))
    rod = robot.link("rod")
    robot.add_body("fin", parent=rod.at(0.3), mass=0.1)
    robot.add_body("tip", parent=rod, mass=0.1)
    robot.add_frame("eye", rod.at(0.2))
    system = robot.compile()
    assert list(system.tables.block[:, layout.STEPS]) == [7 + 2, 7 + 1, 7 + 1]
    # a hat function lives on its elements alone, torsion everywhere
    assert list(system.tables.block[:, layout.COLS]) == [2 + 4, 2 + 4, 2 + 4]


def pair_of_robots(points: int, fine: int = 400) -> tuple[pl.System, pl.System]:
    rods = {"arm": points, "twig": points}
    spectral = integrated(branched(3), **rods)
    for robot in (spectral, magnus := refined(branched(3), fine, *rods)):
        robot.add_frame("eye", robot.link("arm").at(0.77), offset=(0.1, 0.2, 0.3))
    return spectral.compile(), magnus.compile()


def test_agreement_with_magnus():
    spectral, magnus = pair_of_robots(18)
    q, v, a = state(spectral, 1)
    assert relative(spectral.inverse_dynamics(q, v, a), magnus.inverse_dynamics(q, v, a)) < 1e-10
    assert relative(spectral.mass_matrix(q), magnus.mass_matrix(q)) < 1e-10
    one, two = (s.inverse_dynamics_derivatives(q, v, a) for s in (spectral, magnus))
    for name in ("dq", "dv", "mass"):
        assert relative(getattr(one, name), getattr(two, name)) < 1e-10, name
    assert relative(one.mass, spectral.mass_matrix(q)) < 1e-14
    assert relative(spectral.tangent(q, v, a, 3.0, 7.0), magnus.tangent(q, v, a, 3.0, 7.0)) < 1e-10
    assert relative(spectral.forward_dynamics(q, v, a), magnus.forward_dynamics(q, v, a)) < 1e-9
    assert relative(spectral.momentum(q, v).angular, magnus.momentum(q, v).angular) < 1e-10
    for frame in ("eye", "twig.tip", "tool"):
        for reference in ("body", "world"):
            for name, arguments in (("jacobian", (q,)), ("jacobian_rate", (q, v)), ("acceleration", (q, v, a))):
                got, exact = (getattr(s, name)(frame, *arguments, reference=reference) for s in (spectral, magnus))
                assert relative(got, exact) < 1e-10, (frame, name)
    # J, R, W, Y themselves
    for k, (got, exact) in enumerate(zip(*(frame_columns(s, "eye", q, v, a)[0] for s in (spectral, magnus)))):
        assert relative(got, exact) < 1e-10, "JRWY"[k]
    X = np.linspace(0, 1, 23)
    for rod in ("arm", "twig"):
        assert relative(spectral.rod_poses(rod, q, X), magnus.rod_poses(rod, q, X)) < 1e-10
        assert relative(spectral.rod_twists(rod, q, v, X), magnus.rod_twists(rod, q, v, X)) < 1e-10


@pytest.mark.parametrize("basis", [pl.PiecewiseConstant(3), pl.HermiteElements(2), pl.Gaussian(3), pl.Fourier(1)])
def test_other_bases(basis):
    options = {"strains": pl.Strains(torsion=basis, bending_y=basis, stretch=1), "section": pl.Circle((0.02, 0.01))}
    systems = []
    for robot in (arm(24, **options), arm(900, "magnus", **options)):
        robot.add_body("fin", parent=robot.link("rod").at(0.5), mass=0.1, com=(0.01, 0.02, 0.03), inertia=(1e-4,) * 3)
        systems.append(robot.compile())
    q, v, a = state(systems[0], 0, scale=1.0)
    got, exact = (s.inverse_dynamics_derivatives(q, v, a) for s in systems)
    for name in ("dq", "dv", "mass"):
        assert relative(getattr(got, name), getattr(exact, name)) < 1e-10, name
    assert relative(systems[0].inverse_dynamics(q, v, a), systems[1].inverse_dynamics(q, v, a)) < 1e-10


# ---------------------------------------------------------------- derivatives


def derivative_errors(points: int) -> tuple[float, float, float]:
    system = integrated(branched(0), arm=points, twig=points).compile()
    q, v, a = state(system, 0, scale=1.0)
    d = system.inverse_dynamics_derivatives(q, v, a)
    exact = complex_step(system, q, v, a)
    return tuple(relative(got, e) for got, e in zip((d.dq, d.dv, d.mass), exact))


def test_derivatives_of_a_floating_branched_robot_converge_spectrally():
    """Floating base, offsets, branches, two spectral rods (one with elements) and a Magnus rod between joints."""
    counts = np.arange(4, 15, 2)
    errors = np.array([derivative_errors(int(n)) for n in counts])
    assert np.all(errors[-1] < 1e-11)
    assert np.all(errors[:, 2] < 1e-14)  # M is the exact derivative
    assert np.all(errors[0, :2] > 1e-6)  # the others are not, with few points
    for column in errors[:, :2].T:
        slope = np.polyfit(counts[column > 1e-13], np.log10(column[column > 1e-13]), 1)[0]
        assert slope < -0.6  # more than a digit for two points
        assert np.all(column[1:] < 0.3 * column[:-1] + 1e-13)


@pytest.mark.parametrize("case", CASES)
def test_derivatives_under_every_load(case):
    robot = branched(1)
    CASES[case](robot)
    system = integrated(robot, arm=16, twig=12).compile()
    q, v, a = state(system, 0)
    u = np.abs(np.random.default_rng(0).normal(size=system.nu)) + 0.1
    check_tangents(system, q, v, a, u, tol=1e-11)


def test_derivatives_with_loop_joints():
    robot = branched(0)
    robot.add_loop("loop", "tool", robot.link("arm").at(0.7, random_pose(np.random.default_rng(0), 0.1)))
    robot.add_loop("ground", robot.link("twig").at(0.6), joint=pl.Revolute("z"))
    system = integrated(robot, arm=16, twig=12).compile()
    q, v, a = state(system, 0)
    forces = np.random.default_rng(0).normal(size=len(system.loop_rows))
    check_tangents(system, q, v, a, np.zeros(0), tol=1e-11, multipliers=forces)


def test_a_loop_of_two_rods_is_mounted():
    """Two arms joined at their tips: the equilibrium is that of Magnus rods."""
    found = []
    for options in ({"integration": "spectral", "points": 16}, {"points": 100}):
        robot = pl.Robot("arch")
        rods = [
            robot.add_rod(
                f"leg{k}", offset=pl.translate(0.3 * k, 0, 0) @ pl.rotate("y", angle), length=0.5, section=pl.Circle(0.03),
                material=SILICONE, strains=pl.Strains.kirchhoff(3), **options,
            )
            for k, angle in enumerate((-1.3, 1.3 - np.pi))
        ]  # fmt: skip
        robot.add_loop("pin", rods[0].tip, rods[1].tip, joint=pl.Spherical())
        rest = pl.solve_statics(system := robot.compile())
        assert rest.success
        tips = [system.pose(rod.tip, rest.q)[:3, 3] for rod in rods]
        np.testing.assert_allclose(tips[0], tips[1], atol=1e-9)
        found.append(rest.q)
    assert relative(*found) < 1e-6


def test_the_mass_matrix_is_symmetric_and_a_constant_of_the_derivative():
    system = integrated(branched(2), arm=5, twig=4).compile()
    q, v, a = state(system, 0)
    M = system.mass_matrix(q)
    np.testing.assert_allclose(M, M.T, atol=1e-15 * np.abs(M).max())
    force = system.inverse_dynamics(q, v, a) - system.inverse_dynamics(q, v, 0 * a)
    np.testing.assert_allclose(M @ a, force, atol=1e-12 * np.abs(force).max())
    assert abs(system.kinetic_energy(q, v) - 0.5 * v @ M @ v) < 1e-12 * system.kinetic_energy(q, v)


# ---------------------------------------------------------------- equilibria and motion


def test_cantilever_with_a_tip_force():
    """P L²/EI = 10: K. Mattiasson, Int. J. Numer. Meth. Engng 17 (1981) 145, table I."""
    radius, length = 0.01, 0.5
    EI = SILICONE.young * np.pi * radius**4 / 4
    robot = arm(strains=pl.Strains.planar_bending(8), gravity=(0, 0, 0))
    robot.add_wrench("load", "rod.tip", force=(0, 1, 0))
    rest = pl.solve_statics(system := robot.compile(), {"load": 10 * EI / length**2})
    assert rest.success
    assert rest.stable
    tip = system.pose("rod.tip", rest.q)[:3, 3] / length
    np.testing.assert_allclose([1 - tip[0], tip[1]], [0.55500, 0.81061], atol=1e-5)


def test_a_moment_inside_a_rod_bends_its_first_part():
    """The wrench acts at an inserted point; up to there the rod is an arc."""
    EI = SILICONE.young * np.pi * 0.01**4 / 4
    robot = arm(strains=pl.Strains(bending_z=pl.PiecewiseConstant(2)), gravity=(0, 0, 0))
    robot.add_wrench("load", robot.link("rod").at(0.5), moment=(0, 0, 1))
    rest = pl.solve_statics(robot.compile(), {"load": 3.0 * EI})
    assert rest.success
    np.testing.assert_allclose(rest.q, [3.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("points", [6, 8, 10, 12, 16, 24])
def test_statics_needs_few_iterations_with_any_number_of_points(points):
    """Forces derive from the energy only up to the error of collocation; that must not stall the descent."""
    rest = pl.solve_statics(arm(points).compile())
    assert rest.success
    assert rest.stable
    assert rest.load_steps == 1
    assert rest.iterations <= 10


def test_statics_converge_to_magnus():
    exact = pl.solve_statics(arm(800, "magnus").compile()).q
    errors = [np.abs(pl.solve_statics(arm(n).compile()).q - exact).max() for n in (8, 16, 32)]
    assert np.abs(exact).max() > 5
    assert errors[0] > 30 * errors[1] > 900 * errors[2]
    assert errors[2] < 1e-8


def test_energy_is_conserved():
    material = replace(SILICONE, viscosity=0.0)
    robot = arm(14, section=pl.Circle(0.02), material=material, strains=pl.Strains.kirchhoff(2))
    robot.add_body("fin", parent=robot.link("rod").at(0.5), mass=0.05, com=(0, 0.05, 0), inertia=(1e-5,) * 3)
    robot.add_rod(
        "tail", parent="rod", joint=pl.Revolute("y"), length=0.2, section=pl.Circle(0.01), material=material,
        strains=pl.Strains.planar_bending(2),
    )  # fmt: skip
    system = robot.compile()
    drift = []
    for step in (2e-3, 1e-3):
        run = pl.simulate(system, 0.3, step=step, rho=1.0)
        e = run.energies()
        total = e.kinetic + e.gravitational + e.elastic
        assert e.kinetic.max() > 1e-2
        drift.append(np.abs(total - total[0]).max() / e.kinetic.max())
    assert drift[1] < 1e-3
    assert drift[1] < 0.35 * drift[0]  # second order in time: nothing is left that the points would explain


def test_the_motion_agrees_with_magnus():
    runs = []
    for integration, points in (("spectral", 14), ("magnus", 60)):
        system = arm(points, integration, section=pl.Circle(0.02)).compile()
        runs.append(pl.simulate(system, 0.2, step=2e-3, newton_tolerance=1e-10).q[-1])
    assert relative(runs[0], runs[1]) < 1e-6


# ---------------------------------------------------------------- interpreted, bad input


def tiny() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    robot = pl.Robot("tiny")
    base = robot.add_body("base", joint=pl.Free(), inertia=random_inertia(rng))
    options = {"length": 0.4, "section": pl.Circle(0.02), "material": SILICONE, "integration": "spectral", "points": 4}
    rod = robot.add_rod(
        "rod", parent=base, offset=random_pose(rng), strains=pl.Strains(bending=1, torsion=0), **options
    )
    robot.add_body("fin", parent=rod.at(0.4), joint=pl.Revolute("x"), offset=(0, 0.1, 0), inertia=random_inertia(rng))
    robot.add_wrench("push", rod.at(0.8), force=(1, 2, 3))
    system = robot.compile()
    q, v, a = state(system, 1)
    u = np.ones(1)
    d = system.inverse_dynamics_derivatives(q, v, a)
    return {
        "residual": system.residual(q, v, a, u),
        "tangent": system.residual_tangent(q, v, a, u, weights=(0.7, 1.3, 2.1)),
        "dq": d.dq,
        "dv": d.dv,
        "mass": system.mass_matrix(q),
        "jacobian": system.jacobian("fin", q),
        "poses": system.rod_poses("rod", q, 7),
        "twists": system.rod_twists("rod", q, v, 7),
        "rate": system.jacobian_rate("rod.tip", q, v),
        "complex": complex_step(system, q, v, a)[0],
        "statics": pl.solve_statics(arm(8, strains=pl.Strains.planar_bending(1)).compile()).q,
    }


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="this process is interpreted itself")
def test_interpreted_kernels_agree_with_compiled_ones(tmp_path):
    path = tmp_path / "interpreted.npz"
    tests, source = str(Path(__file__).parent), str(Path(pl.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {tests!r}); import numpy, test_spectral as t; numpy.savez({str(path)!r}, **t.tiny())"
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": source}
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    interpreted, compiled = dict(np.load(path)), tiny()
    assert interpreted.keys() == compiled.keys()
    for name, value in compiled.items():
        np.testing.assert_allclose(
            interpreted[name], value, rtol=0, atol=1e-11 * (1 + np.abs(value).max()), err_msg=name
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"integration": "chebyshev"}, r"rod 'rod': integration = 'chebyshev' is not allowed: choose one of 'magnus'"),
        ({"magnus": 2}, r"rod 'rod': magnus = 2 does not apply to integration = 'spectral'"),
        ({"collocation": True}, r"rod 'rod': collocation = True does not apply to integration = 'spectral'"),
        ({"points": 0}, r"rod 'rod': points = 0 is not allowed"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        arm(**{"integration": "spectral", **options})


def test_too_few_points_are_refused():
    with pytest.raises(ValueError, match="points = 3 per element are too few"):
        arm(3).compile()
