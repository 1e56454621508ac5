"""Point wrenches on random robots: virtual work, exact tangents, dead and follower loads."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from robots import random_pose, random_robot

SEEDS = range(12)


def loaded_robot(seed: int) -> pl.System:
    """A random tree with wrenches on bodies and inside rods, with offsets, dead and follower, constant and as inputs."""
    robot = random_robot(seed)
    rng = np.random.default_rng(1000 + seed)
    count = 0
    for link in list(robot.links):
        places = [link.at(X) for X in (0.0, 0.23, 0.5, 1.0)] if link.is_rod else [link.frame]
        for place in places:
            if rng.random() < 0.5 and count:
                continue
            robot.add_wrench(
                f"w{count}",
                place,
                force=rng.normal(size=3) * 5,
                moment=rng.normal(size=3) * (rng.random() < 0.7),
                axes="world" if rng.random() < 0.5 else "body",
                offset=random_pose(rng) if rng.random() < 0.8 else None,
                constant=bool(rng.random() < 0.3),
            )
            count += 1
    return robot.compile()


def random_state(system: pl.System, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return (
        system.random(rng),
        rng.normal(size=system.nv),
        rng.normal(size=system.nv),
        rng.normal(size=system.nu) * 2,
    )


def wrench_forces(system: pl.System, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Σ Jᵀ F over all wrenches, constant ones too."""
    out = np.zeros(system.nv)
    for name, w in system._robot.wrenches.items():
        factor = 1.0 if w.constant else u[system.input_names.index(name)]
        J = system.jacobian(w.frame, q, reference=w.axes)
        out += factor * J.T @ np.concatenate([w.moment, w.force])
    return out


def differences(f, system: pl.System, q: np.ndarray, h: float = 1e-3) -> np.ndarray:
    """Derivative of f along integrate by central differences of order 6."""
    columns = []
    for k, size in enumerate(system.internal.scale):
        d = np.eye(system.nv)[k] * h * size
        column = sum(
            w * (f(system.integrate(q, m * d)) - f(system.integrate(q, -m * d)))
            for m, w in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
        )
        columns.append(column / (h * size))
    return np.array(columns).T


@pytest.mark.parametrize("seed", SEEDS)
def test_virtual_work(seed):
    """r(u = 0) − r(u) = B u, and all wrenches together do the work of Jᵀ F."""
    system = loaded_robot(seed)
    q, v, a, u = random_state(system, seed)
    r0, r = system.residual(q, v, a), system.residual(q, v, a, u)
    size = max(np.abs(r0).max(), np.abs(r).max())
    np.testing.assert_allclose(r0 - r, system.actuation_matrix(q) @ u, rtol=0, atol=1e-12 * size)
    bare = system.inverse_dynamics(q, v, a) + system.elastic_forces(q) + system.damping_matrix() @ v
    np.testing.assert_allclose(bare - r, wrench_forces(system, q, u), rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("seed", SEEDS)
def test_actuation_matrix_against_the_residual(seed):
    """The residual is linear in u, so a unit of each input gives a column of B."""
    system = loaded_robot(seed)
    q, v, a, _ = random_state(system, seed)
    B = system.actuation_matrix(q)
    assert B.shape == (system.nv, system.nu)
    r0 = system.residual(q, v, a)
    columns = [r0 - system.residual(q, v, a, e) for e in np.eye(system.nu)]
    np.testing.assert_allclose(np.array(columns).reshape(B.T.shape).T, B, rtol=0, atol=1e-12 * np.abs(r0).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_residual_tangent(seed):
    """∂r/∂q with everything at once: motion, offsets, dead and follower wrenches."""
    system = loaded_robot(seed)
    q, v, a, u = random_state(system, seed)
    s = system.internal.scale
    K = s[:, None] * system.residual_tangent(q, v, a, u) * s
    expected = s[:, None] * differences(lambda x: system.residual(x, v, a, u), system, q) * s
    np.testing.assert_allclose(K, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_tangent_of_the_wrenches_alone(seed):
    """The difference of tangents with and without u is ∂(−B u)/∂q, in static states where nothing hides it."""
    system = loaded_robot(seed)
    if system.nu == 0:
        pytest.skip("no input")
    q, _, _, u = random_state(system, seed)
    zero = np.zeros(system.nv)
    s = system.internal.scale
    part = s[:, None] * (system.residual_tangent(q, zero, zero, u) - system.residual_tangent(q, zero, zero)) * s
    expected = -s[:, None] * differences(lambda x: system.actuation_matrix(x) @ u, system, q) * s
    reference = np.abs(s[:, None] * system.residual_tangent(q, zero, zero) * s).max()
    np.testing.assert_allclose(part, expected, rtol=0, atol=1e-9 * np.abs(expected).max() + 1e-13 * reference)


@pytest.mark.parametrize("seed", SEEDS)
def test_other_derivatives_do_not_see_wrenches(seed):
    system = loaded_robot(seed)
    q, v, a, u = random_state(system, seed)
    for weights in ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
        with_u = system.residual_tangent(q, v, a, u, weights=weights)
        without = system.residual_tangent(q, v, a, weights=weights)
        np.testing.assert_allclose(with_u, without, rtol=0, atol=1e-13 * np.abs(without).max())
    np.testing.assert_allclose(
        system.residual_tangent(q, v, a, weights=(0.0, 0.0, 1.0)),
        system.mass_matrix(q),
        rtol=0,
        atol=1e-12 * np.abs(system.mass_matrix(q)).max(),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_dynamics_with_wrenches(seed):
    system = loaded_robot(seed)
    q, v, _, u = random_state(system, seed)
    a = system.forward_dynamics(q, v, u=u)
    r = system.residual(q, v, a, u)
    forces = np.abs(system.mass_matrix(q)) @ np.abs(a)
    assert np.abs(r).max() < 1e-9 * forces.max()


def test_dead_force_has_a_potential():
    """A force in world axes does the work f·Δp; its tangent is symmetric at ordinary coordinates."""
    system = pl.Robot("rod", gravity=(0, 0, 0))
    rod = system.add_rod("rod", length=0.8, strains=pl.Strains.reissner(2), stiffness=np.ones(6), inertia=np.ones(6))
    force = np.array([1.0, -2.0, 0.5])
    system.add_wrench("dead", rod.at(0.6), force=force, offset=(0.02, 0.1, -0.05))
    system.add_frame("point", rod.at(0.6), offset=(0.02, 0.1, -0.05))
    system = system.compile()
    q = system.random(0)
    work = differences(lambda x: np.array([force @ system.pose("point", x)[:3, 3]]), system, q)[0]
    np.testing.assert_allclose(system.actuation_matrix(q)[:, 0], work, rtol=0, atol=1e-10 * np.abs(work).max())
    zero = np.zeros(system.nv)
    part = system.residual_tangent(q, zero, zero, [1.0]) - system.residual_tangent(q, zero, zero)
    np.testing.assert_allclose(part, part.T, rtol=0, atol=1e-12 * np.abs(part).max())
    assert np.abs(part).max() > 0.1


def test_follower_turns_with_the_body():
    """On a free body, a follower force accelerates along the body's axis, a dead one along the world's."""
    robot = pl.Robot("body", gravity=(0, 0, 0))
    body = robot.add_body("body", joint=pl.Free(), mass=2, inertia=(1, 1, 1))
    robot.add_wrench("dead", body, force=(1, 0, 0))
    robot.add_wrench("follower", body, force=(1, 0, 0), axes="body")
    robot.add_wrench("twisting", body, moment=(0, 0, 3), axes="world")
    system = robot.compile()
    q = system.integrate(system.neutral(), [0, 0, np.pi / 2, 0.3, 0.4, 0.5])  # x of the body along y of the world
    zero = np.zeros(6)
    for name, expected in (
        ("dead", [0, 0, 0, 0.5, 0, 0]),
        ("follower", [0, 0, 0, 0, 0.5, 0]),
        ("twisting", [0, 0, 3, 0, 0, 0]),
    ):
        a = system.forward_dynamics(q, zero, u={name: 1.0})
        world = system.acceleration("body", q, zero, a, reference="world")
        np.testing.assert_allclose(world, expected, atol=1e-14)


def test_offset_makes_a_moment():
    """A force beside a hinge: the moment is the lever times the force, whatever the orientation of the offset."""
    robot = pl.Robot("door", gravity=(0, 0, 0))
    door = robot.add_body("door", joint=pl.Revolute("z"), mass=1, inertia=(1, 1, 1))
    robot.add_wrench("dead", door, force=(0, 1, 0), offset=pl.translate(0.7, 0, 0) @ pl.rotate("x", 1.0))
    robot.add_wrench("follower", door, force=(0, 1, 0), offset=(0.7, 0, 0), axes="body")
    robot.add_wrench("turned", door, force=(0, 1, 0), offset=pl.translate(0.7, 0, 0) @ pl.rotate("z", 0.3), axes="body")
    system = robot.compile()
    angle = 0.5
    expected = [0.7 * np.cos(angle), 0.7, 0.7 * np.cos(0.3)]
    np.testing.assert_allclose(system.actuation_matrix([angle])[0], expected, rtol=1e-14)


def test_constant_wrenches_act_without_inputs():
    robot = pl.Robot("cart", gravity=(0, 0, 0))
    cart = robot.add_body("cart", joint=pl.Prismatic("x", stiffness=10), mass=1)
    robot.add_wrench("always", cart, force=(3, 0, 0), constant=True)
    robot.add_wrench("input", cart, force=(1, 0, 0))
    system = robot.compile()
    assert system.input_names == ("input",)
    np.testing.assert_allclose(system.residual([0.0], [0.0], [0.0]), [-3.0])
    np.testing.assert_allclose(system.residual([0.0], [0.0], [0.0], [2.0]), [-5.0])
    np.testing.assert_allclose(pl.solve_statics(system, [2.0]).q, [0.5], rtol=1e-12)
    np.testing.assert_allclose(pl.solve_statics(system, [2.0], load_steps=4).q, [0.5], rtol=1e-12)
    # inverse dynamics itself knows no loads
    np.testing.assert_allclose(system.inverse_dynamics([0.0], [0.0], [0.0]), [0.0])


def test_wrench_far_from_the_origin():
    """A robot far away loses no digits: the same forces as near the origin."""
    systems = []
    for far in (0.0, 1e6):
        robot = pl.Robot("body", gravity=(0, 0, 0))
        body = robot.add_body("body", joint=pl.Free(), mass=2, com=(0.1, 0.2, 0.3), inertia=(1, 2, 3))
        rod = robot.add_rod(
            "rod", parent=body, length=0.5, strains=pl.Strains.kirchhoff(1), stiffness=np.ones(6), inertia=np.ones(6)
        )
        robot.add_wrench("dead", rod.at(0.5), force=(1, 2, 3), moment=(3, 2, 1), offset=(0.1, 0, 0))
        robot.add_wrench("follower", rod, force=(1, 2, 3), axes="body", offset=(0.1, 0, 0))
        system = robot.compile()
        q = system.integrate(system.neutral(), np.array([0.4, 0.5, 0.6] + [0.0] * 3 + [0.7] * 6))
        q[4:7] += far
        systems.append((system, q))
    zero = np.zeros(12)
    for f in (
        lambda s, q: s.residual(q, zero, zero, [2.0, 3.0]),
        lambda s, q: s.residual_tangent(q, zero, zero, [2.0, 3.0]),
        lambda s, q: s.actuation_matrix(q),
    ):
        near, far = (f(s, q) for s, q in systems)
        np.testing.assert_allclose(far, near, rtol=0, atol=1e-12 * np.abs(near).max())


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({}, "both zero"),
        ({"force": (1, 2)}, "force"),
        ({"force": (1, 2, np.nan)}, "force"),
        ({"moment": (1, 2, 3, 4)}, "moment"),
        ({"force": (1, 0, 0), "axes": "local"}, "axes"),
    ],
)
def test_bad_wrenches(options, match):
    robot = pl.Robot("body")
    body = robot.add_body("body", joint=pl.Free(), mass=1)
    with pytest.raises(ValueError, match=match) as error:
        robot.add_wrench("bad", body, **options)
    assert "wrench 'bad'" in str(error.value)
    assert robot.wrenches == {}


def test_unknown_places_and_taken_names():
    robot = pl.Robot("body")
    body = robot.add_body("body", joint=pl.Free(), mass=1)
    with pytest.raises(KeyError, match="boddy"):
        robot.add_wrench("push", "boddy", force=(1, 0, 0))
    robot.add_wrench("push", body, force=(1, 0, 0))
    with pytest.raises(ValueError, match="taken"):
        robot.add_wrench("push", body, force=(1, 0, 0))
    with pytest.raises(ValueError, match="taken"):
        robot.add_wrench("body", body, force=(1, 0, 0))
