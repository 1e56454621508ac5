"""Loop joints: exact derivatives, and what closes."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from load_robots import branched, check_tangents, state
from robots import random_pose

JOINTS = {
    "fixed": pl.Fixed(),
    "revolute": pl.Revolute((1, 2, 3)),
    "prismatic": pl.Prismatic((1, -2, 1)),
    "helical": pl.Helical((0, 1, 2), pitch=0.2),
    "universal": pl.Universal("x", (0, 1, 0.3)),
    "cylindrical": pl.Cylindrical((2, 1, 0)),
    "planar": pl.Planar((1, 1, 1)),
    "spherical": pl.Spherical(),
}
ROWS = {
    "fixed": 6,
    "revolute": 5,
    "prismatic": 5,
    "helical": 5,
    "universal": 4,
    "cylindrical": 4,
    "planar": 3,
    "spherical": 3,
}


def looped(joint: str, base: str = "free") -> pl.System:
    """The branched robot with a loop between two branches, one inside a rod, and one to the world."""
    robot = branched(1, base=base)
    rng = np.random.default_rng(3)
    inside = robot.link("arm").at(0.77, random_pose(rng, 0.1))  # not a computational point by itself
    robot.add_loop("loop", "tool", inside, joint=JOINTS[joint])
    robot.add_loop("ground", robot.link("twig").at(0.6, random_pose(rng, 0.1)), joint=JOINTS[joint])
    return robot.compile()


@pytest.mark.parametrize("base", ["free", "revolute"])
@pytest.mark.parametrize("joint", JOINTS)
def test_derivatives_are_exact(joint, base):
    system = looped(joint, base)
    assert len(system.loop_rows) == 2 * ROWS[joint]
    for seed in range(2):
        q, v, a = state(system, seed)
        forces = np.random.default_rng(seed).normal(size=len(system.loop_rows))
        check_tangents(system, q, v, a, np.zeros(0), multipliers=forces)


@pytest.mark.parametrize("joint", JOINTS)
def test_values_rates_and_accelerations(joint):
    """∂e/∂q, ė and ë against differences of e along a motion with known acceleration; multipliers act with −Gᵀ."""
    system = looped(joint)
    q, v, _a = state(system, 0)
    e, G = system.closure(q, v)
    rates = system.closure_rates(q, v)
    h = 1e-5

    def along(s: float) -> np.ndarray:
        return system.closure(system.integrate(q, s * v))[0]

    scale = max(1.0, np.abs(e).max())
    np.testing.assert_allclose((along(h) - along(-h)) / (2 * h), G @ v, atol=1e-8 * scale)
    np.testing.assert_allclose(rates[:, 0], G @ v, atol=1e-12 * scale)
    step = 1e-5
    plus, minus = (system.closure(system.integrate(q, s * step * v), v) for s in (1, -1))
    np.testing.assert_allclose(
        (plus[1] - minus[1]) @ v / (2 * step), rates[:, 1], atol=2e-6 * max(1, np.abs(rates).max())
    )
    zero = np.zeros(system.nv)
    r0 = system.residual(q, zero, zero)
    for k, unit in enumerate(np.eye(len(e))):
        change = system.residual(q, zero, zero, multipliers=unit) - r0
        np.testing.assert_allclose(change, -G[k], atol=1e-11 * max(1, np.abs(r0).max()))


# ---------------------------------------------------------------- a soft loop


def bow(**options: object) -> pl.Robot:
    """Two soft legs on the ground whose tips are pinned together, and a cable along one of them."""
    robot = pl.Robot("bow", gravity=(0, 0, 0))
    material = pl.Material(young=1e7, poisson=0.4, density=1200.0, viscosity=1e4)
    legs = []
    for k, y in enumerate((-0.2, 0.2)):
        legs.append(
            robot.add_rod(
                f"leg{k}", offset=(0, y, 0), joint=pl.Revolute("z", stiffness=0.05), length=0.5, section=pl.Circle(0.006),
                material=material, strains=pl.Strains(bending_z=3),
            )
        )  # fmt: skip
    robot.add_loop("pin", legs[0].tip, legs[1].tip, joint=pl.Revolute("z"))
    robot.add_tendon("cable", legs[0], y=0.004, **options)
    return robot


def test_mounting_from_an_open_configuration():
    system = bow().compile()
    assert np.abs(system.closure(system.neutral())[0]).max() == pytest.approx(0.4)
    eq = pl.solve_statics(system)
    assert eq.success, eq.message
    assert eq.stable
    assert np.abs(system.closure(eq.q)[0]).max() < 1e-12
    # symmetric about the middle, and nothing but the pin's force at the tips
    a, b = system.pose("leg0.tip", eq.q)[:3, 3], system.pose("leg1.tip", eq.q)[:3, 3]
    np.testing.assert_allclose(a, b, atol=1e-12)
    assert abs(a[1]) < 1e-9
    wrench = system.loop_wrench("pin", eq.q, eq.multipliers, axes="world")
    assert abs(wrench[3]) < 1e-8 * np.abs(wrench).max()  # no pull along the axis of symmetry
    G = system.closure(eq.q)[1]
    zero = np.zeros(system.nv)
    np.testing.assert_allclose(system.residual(eq.q, zero, zero), G.T @ eq.multipliers, atol=1e-9)


def test_a_cable_of_prescribed_length_in_a_loop():
    system = bow(control="length").compile()
    rest = pl.solve_statics(bow().compile())
    length = bow().compile().tendon_lengths(rest.q)[0][0]
    eq = pl.solve_statics(system, motion={"cable": length - 0.002}, start=rest)
    assert eq.success, eq.message
    np.testing.assert_allclose(system.tendon_lengths(eq.q)[0][0], length - 0.002, atol=1e-12)
    assert eq.u[0] > 0
    again = pl.solve_statics(bow().compile(), {"cable": eq.u[0]}, start=rest)
    np.testing.assert_allclose(again.q, eq.q, atol=1e-7)
    too_long = pl.solve_statics(system, motion={"cable": length + 0.002}, start=rest)
    assert too_long.success, too_long.message
    assert "slack: 'cable'" in too_long.message
    assert too_long.u[0] == 0.0
    np.testing.assert_allclose(too_long.q, rest.q, atol=1e-7)


def test_modes_and_linearisation_of_a_loop():
    """The frequency of the loop's first mode is that of its small free motion."""
    system = bow().compile()
    eq = pl.solve_statics(system)
    found = pl.modes(system, eq)
    assert found.shapes.shape[1] == system.nv - 2  # planar: two of the five rows count
    np.testing.assert_allclose(system.closure(eq.q)[1] @ found.shapes, 0, atol=1e-9 * np.abs(found.shapes).max())
    assert np.all(found.frequencies > 0)
    shape = found.shapes[:, 0] / np.abs(found.shapes[:, 0]).max()
    frequency = found.frequencies[0]
    robot = bow()
    robot.links = [
        link if not link.is_rod else replace(link, content=replace(link.content, damping=np.zeros(6)))
        for link in robot.links
    ]
    undamped = robot.compile()
    q = undamped.integrate(eq.q, 1e-4 * shape)
    result = pl.simulate(undamped, 2.0 / frequency, start=q, step=0.002 / frequency, rho=1.0)
    k = int(np.argmax(np.abs(shape)))
    x = result.q[:, k] - eq.q[k]
    crossings = result.t[1:][np.diff(np.sign(x)) != 0]
    assert np.diff(crossings).mean() == pytest.approx(0.5 / frequency, rel=5e-3)
    linear = pl.linearize(system, eq)
    assert np.linalg.eigvals(linear.A).real.max() < 1e-4  # zero for motions that would open the loop
    assert found.eigenvalues.real.max() < 0


def test_static_jacobian_of_a_loop():
    system = bow().compile()
    eq = pl.solve_statics(system, {"cable": 1.0})
    J = pl.static_jacobian(system, eq, "leg0.tip")
    h = 1e-3
    plus, minus = (pl.solve_statics(system, {"cable": 1.0 + s * h}, start=eq) for s in (1, -1))
    tip = [system.pose("leg0.tip", e.q)[:3, 3] for e in (plus, minus)]
    np.testing.assert_allclose(J[3:, 0], (tip[0] - tip[1]) / (2 * h), atol=1e-7)


def test_a_loop_that_cannot_close():
    robot = pl.Robot("short", gravity=(0, 0, 0))
    a = robot.add_body(
        "a", joint=pl.Revolute("z", stiffness=0.1), mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01)
    )
    robot.add_loop("pin", a.at((0.2, 0, 0)), "world", joint=pl.Spherical())
    system = robot.compile()
    eq = pl.solve_statics(system)
    assert not eq.success
    assert "'pin: position x' is 0.2" in eq.message
    with pytest.raises(ValueError, match=r"cannot be closed from this start: 'pin: position x' stays 0\.2 apart"):
        pl.simulate(system, 1.0)


def test_redundant_constraints_have_names():
    system = bow().compile()
    eq = pl.solve_statics(system)
    found = pl.redundant_constraints(system, eq.q)
    assert found == ["pin: position z", "pin: tilt 1", "pin: tilt 2"]
    assert "redundant constraints: pin: position z" in eq.message


def test_projected_velocities():
    system = bow().compile()
    eq = pl.solve_statics(system)
    for project in (False, True):
        result = pl.simulate(
            system, 0.5, u={"cable": 2.0}, start=eq, step=0.01, method="newmark", project_velocity=project
        )
        assert result.success
        assert result.multipliers.shape == (len(result.t), 5)
        rates = [np.abs(system.closure(q)[1] @ v).max() for q, v in zip(result.q, result.v)]
        assert (max(rates) < 1e-12) == project
        assert max(np.abs(system.closure(q)[0]).max() for q in result.q) < 1e-12


def test_index_one_with_baumgarte():
    """The ODE methods agree with the α-method, and stay closed."""
    system = bow().compile()
    eq = pl.solve_statics(system)
    fine = pl.simulate(system, 0.3, u={"cable": 2.0}, start=eq, step=2.5e-4, output=0.05)
    result = pl.simulate(system, 0.3, u={"cable": 2.0}, start=eq, method="radau", rtol=1e-6, atol=1e-8, output=0.05)
    assert result.success, result.message
    assert max(np.abs(system.closure(q)[0]).max() for q in result.q) < 1e-6
    scale = system.internal.scale
    assert (np.abs(result.q - fine.q) / scale).max() < 1e-4
    np.testing.assert_allclose(result.multipliers[-1][:2], fine.multipliers[-1][:2], rtol=2e-2, atol=1e-3)


def test_the_pose_of_a_frame_can_be_prescribed():
    """A massless body on a prescribed free joint leads the tip of a rod; its wrench is a result."""
    robot = pl.Robot("led", gravity=(0, 0, -9.81))
    material = pl.Material(young=1e6, poisson=0.4, density=1000.0, viscosity=1e4)
    rod = robot.add_rod(
        "rod", length=0.5, section=pl.Circle(0.01), material=material, strains=pl.Strains.reissner(order=2)
    )
    hand = robot.add_body("hand", joint=pl.Free(), offset=(0.5, 0, 0))
    robot.add_motion("lead", hand)
    robot.add_loop("grip", rod.tip, hand)
    system = robot.compile()

    def lead(t):
        return pl.translate(-0.1 * t, 0.1 * np.sin(t), 0.05 * t) @ pl.rotate("z", 0.5 * t)

    eq = pl.solve_statics(system, motion={"lead": lead(1.0)})
    assert eq.success, eq.message
    expected = pl.translate(0.5, 0, 0).matrix @ lead(1.0).matrix
    np.testing.assert_allclose(system.pose("rod.tip", eq.q), expected, atol=1e-11)
    result = pl.simulate(system, 1.0, motion={"lead": lead}, step=0.01)
    assert result.success, result.message
    np.testing.assert_allclose(result.poses("rod.tip")[-1], expected, atol=1e-11)
    # the force that leads the hand is the reaction of the grip, in the hand's axes
    force = result.prescribed_forces()["lead"][-1]
    wrench = system.loop_wrench("grip", result.q[-1], result.multipliers[-1], axes="world")
    R = system.pose("hand", result.q[-1])[:3, :3]
    np.testing.assert_allclose(
        force, -np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]]), atol=1e-6 * np.abs(force).max()
    )


def test_over_constrained_prescriptions_are_named():
    robot = bow()
    robot.add_motion("left foot", "leg0")
    robot.add_motion("right foot", "leg1")
    rigid = pl.Robot("rigid", gravity=(0, 0, 0))
    for k, y in enumerate((-0.2, 0.2)):
        leg = rigid.add_body(
            f"leg{k}", offset=(0, y, 0), joint=pl.Revolute("z"), mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.01, 0.01)
        )
        rigid.add_motion(f"foot {k}", leg)
    rigid.add_loop(
        "pin", rigid.link("leg0").at((0.5, 0, 0)), rigid.link("leg1").at((0.5, 0, 0)), joint=pl.Revolute("z")
    )
    system = rigid.compile()
    with pytest.raises(ValueError, match=r"'pin: position y' stays 0\.4 apart.*'foot 0', 'foot 1'.*over-constrain"):
        pl.simulate(system, 1.0)
    eq = pl.solve_statics(system)
    assert not eq.success
    assert "'foot 0', 'foot 1'" in eq.message
    assert pl.solve_statics(
        robot.compile(), motion={"left foot": 0.3, "right foot": -0.3}
    ).success  # soft legs give way
