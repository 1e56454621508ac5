"""Prescribed joints, bases and tendon lengths: known coordinates are followed exactly, their forces are results."""

import numpy as np
import pytest

import pliant as pl
from robots import SILICONE

W = 3.0


def crane(joint: pl.Joint | None = None, **motion: object) -> pl.System:
    """A trolley with a hanging rod and a weight."""
    robot = pl.Robot("crane")
    trolley = robot.add_body("trolley", joint=joint or pl.Prismatic("x"), shape=pl.Box(0.1, 0.1, 0.1), mass=1.0)
    rod = robot.add_rod(
        "rod", parent=trolley, offset=pl.rotate("y", np.pi / 2), length=0.6, section=pl.Circle(0.015), material=SILICONE,
        strains=pl.Strains(bending=2, stretch=0),
    )  # fmt: skip
    robot.add_body("weight", parent=rod.tip, shape=pl.Sphere(0.03), mass=0.2)
    robot.add_motion("drive", trolley, **motion)
    return robot.compile()


def sway(t: float) -> float:
    return 0.2 * np.sin(W * t)


EXACT = pl.Motion(sway, lambda t: 0.2 * W * np.cos(W * t), lambda t: -0.2 * W * W * np.sin(W * t))


@pytest.mark.parametrize("method", ["generalized-alpha", "bdf", "dop853"])
def test_a_prescribed_joint_goes_where_it_is_told(method):
    system = crane()
    result = pl.simulate(system, 1.0, motion={"drive": sway}, method=method, rtol=1e-6, atol=1e-7, output=0.05)
    assert result.success, result.message
    np.testing.assert_allclose(result.q[:, 0], sway(result.t), atol=1e-14)
    np.testing.assert_allclose(result.v[:, 0], 0.2 * W * np.cos(W * result.t), atol=1e-9)
    exact = pl.simulate(system, 1.0, motion={"drive": EXACT}, method="radau", rtol=1e-9, atol=1e-10, output=0.05)
    assert np.abs(result.positions("weight") - exact.positions("weight")).max() < 2e-4


def test_its_force_is_what_newton_says():
    """The trolley's force is the rate of the whole robot's momentum, and feeding it back gives the same motion."""
    system = crane()
    result = pl.simulate(system, 1.0, motion={"drive": EXACT}, method="radau", rtol=1e-9, atol=1e-10, output=0.01)
    force = result.prescribed_forces()["drive"][:, 0]
    p = result.momenta().linear[:, 0]
    np.testing.assert_allclose(
        np.gradient(p, result.t, edge_order=2)[2:-2], force[2:-2], atol=0.02 * np.abs(force).max()
    )
    free = pl.Robot("free")
    for link in system.robot.links:
        free.links.append(link)
    other = free.compile()
    tau = np.zeros((len(result), other.nv))
    tau[:, 0] = force

    def drive(t):
        return np.array([np.interp(t, result.t, column) for column in tau.T])

    again = pl.simulate(
        other, 1.0, tau=drive, start=result.q[0], velocity=result.v[0], method="dop853", rtol=1e-8, output=0.01
    )
    assert np.abs(again.q[:, 0] - result.q[:, 0]).max() < 1e-4


@pytest.mark.parametrize(
    ("method", "order", "steps"),
    [
        ("newmark", 2, (0.01, 0.005, 0.0025)),
        ("esdirk3", 3, (0.02, 0.01, 0.005, 0.0025)),
        ("esdirk5", 5, (0.02, 0.01, 0.005)),
    ],
)
def test_order_of_the_step_with_a_prescribed_joint(method, order, steps):
    system = crane()
    fine = pl.simulate(system, 0.5, motion={"drive": EXACT}, method="esdirk5", rtol=1e-11, atol=1e-12)
    errors = []
    for h in steps:
        end = pl.simulate(system, 0.5, motion={"drive": EXACT}, step=h, method=method).q[-1]
        errors.append(np.abs(system.difference(fine.q[-1], end)).max())
    measured = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order - 0.45 < measured < order + 0.3, (measured, errors)  # the rod is stiff


def test_a_base_that_moves_in_space():
    """A free base, prescribed as a pose, equals an accelerated frame: a lift feels more gravity."""
    system = crane(pl.Free())
    a = 2.0

    def lift(t):
        return pl.translate(0, 0, 0.5 * a * t * t)

    result = pl.simulate(system, 0.5, motion={"drive": lift}, start=None, step=0.005)
    assert result.success
    np.testing.assert_allclose(result.positions("trolley")[:, 2], 0.5 * a * result.t**2, atol=1e-12)
    force = result.prescribed_forces()["drive"]
    mean = force[20:, 5].mean()
    assert mean == pytest.approx(system.mass * (9.81 + a), rel=0.05)

    def spin(t):
        return pl.rotate((1, 2, 3), 2.0 * t) @ pl.translate(0.1, 0, 0)

    turned = pl.simulate(system, 0.3, motion={"drive": spin}, step=0.005)
    R = np.array([spin(t).matrix for t in turned.t])
    np.testing.assert_allclose(turned.poses("trolley"), R, atol=1e-9)
    omega = 2.0 * np.array([1, 2, 3]) / np.sqrt(14)
    np.testing.assert_allclose(turned.v[5, :3], omega, atol=1e-8)


def test_without_a_motion_it_stays():
    system = crane()
    q = system.neutral()
    q[0] = 0.3
    result = pl.simulate(system, 0.3, start=q)
    np.testing.assert_array_equal(result.q[:, 0], 0.3)
    eq = pl.solve_statics(system, start=q)
    assert eq.success
    assert eq.q[0] == 0.3
    moved = pl.solve_statics(system, motion={"drive": -0.1})
    assert moved.success
    assert moved.q[0] == -0.1
    np.testing.assert_allclose(moved.q[1:], eq.q[1:], atol=1e-9)


def test_one_dof_of_several():
    system = crane(pl.Planar("z"), dof=1)
    assert system.known.sum() == 1
    result = pl.simulate(system, 0.3, motion={"drive": lambda t: 0.1 * t})
    np.testing.assert_allclose(result.q[:, 1], 0.1 * result.t, atol=1e-12)


def test_modes_leave_prescribed_coordinates_out():
    system = crane()
    eq = pl.solve_statics(system)
    found = pl.modes(system, eq)
    assert found.shapes.shape == (system.nv, system.nv - 1)
    assert np.all(found.shapes[0] == 0)
    assert np.all(np.isfinite(found.frequencies))


# ---------------------------------------------------------------- tendons of prescribed length


def arm(push: bool = False, **options: object) -> pl.System:
    robot = pl.Robot("arm", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "arm", length=0.5, section=pl.Circle((0.03, 0.015)), material=SILICONE, strains=pl.Strains(bending=3, stretch=1)
    )
    robot.add_tendon("a", rod, y=0.01, control="length", push=push)
    robot.add_tendon("b", rod, y=-0.01, **options)
    return robot.compile()


def test_statics_with_a_prescribed_length():
    system = arm()
    eq = pl.solve_statics(system, motion={"a": 0.47})
    assert eq.success, eq.message
    np.testing.assert_allclose(system.tendon_lengths(eq.q)[0][0], 0.47, atol=1e-11)
    assert eq.u[0] > 0.5
    assert eq.u[1] == 0
    again = pl.solve_statics(arm_with_tension(), {"a": eq.u[0]})
    np.testing.assert_allclose(again.q, eq.q, atol=1e-7)


def arm_with_tension() -> pl.System:
    robot = arm().robot
    robot.tendons["a"] = pl.Tendon(robot.tendons["a"].path)
    return robot.compile()


def test_two_lengths():
    system = arm(control="length")
    eq = pl.solve_statics(system, motion={"a": 0.48, "b": 0.495})
    assert eq.success, eq.message
    np.testing.assert_allclose(system.tendon_lengths(eq.q)[0], [0.48, 0.495], atol=1e-10)
    assert np.all(eq.u > 0)


def test_a_long_cable_is_slack():
    system = arm()
    eq = pl.solve_statics(system, motion={"a": 0.52})
    assert eq.success, eq.message
    np.testing.assert_allclose(eq.q, system.neutral(), atol=1e-12)
    assert eq.u[0] == 0
    pushed = pl.solve_statics(arm(push=True), motion={"a": 0.52})
    assert pushed.success
    assert pushed.u[0] < 0


def test_dynamics_with_a_prescribed_length():
    """The length is met at each step; slow pulling follows the equilibria; the tension is that of statics."""
    system = arm()
    T = 4.0

    def length(t):
        return 0.5 - 0.03 * (t / T - np.sin(2 * np.pi * t / T) / (2 * np.pi))

    result = pl.simulate(system, T, motion={"a": length}, step=0.01)
    assert result.success, result.message
    measured = np.array([system.tendon_lengths(q)[0][0] for q in result.q])
    np.testing.assert_allclose(measured, length(result.t), atol=1e-9)
    eq = pl.solve_statics(system, motion={"a": length(T)})
    assert np.abs(system.difference(eq.q, result.q[-1])).max() < 2e-2
    assert result.u[-1, 0] == pytest.approx(eq.u[0], rel=5e-3)
    rate = pl.simulate(
        system, T, motion={"a": pl.Motion(velocity=lambda t: -0.03 / T * (1 - np.cos(2 * np.pi * t / T)))}, step=0.01
    )
    np.testing.assert_allclose(rate.q[-1], result.q[-1], atol=1e-6)


def test_a_cable_goes_slack_and_tight_again():
    system = arm()
    eq = pl.solve_statics(system, motion={"a": 0.47})
    result = pl.simulate(system, 1.5, start=eq, motion={"a": lambda t: 0.47 + 0.03 * np.sin(25 * t) ** 2}, step=0.002)
    assert result.success, result.message
    assert np.all(result.u[:, 0] >= 0)
    measured = np.array([system.tendon_lengths(q)[0][0] for q in result.q])
    prescribed = 0.47 + 0.03 * np.sin(25 * result.t) ** 2
    slack = result.u[:, 0] == 0
    assert slack.any()
    assert np.all(measured[slack] <= prescribed[slack] + 1e-9)
    np.testing.assert_allclose(measured[~slack][1:], prescribed[~slack][1:], atol=1e-8)


# ---------------------------------------------------------------- errors


def test_errors():
    system = crane()
    with pytest.raises(KeyError, match="there is no prescribed motion named 'drve'; did you mean 'drive'"):
        pl.simulate(system, 1.0, motion={"drve": 0.0})
    with pytest.raises(ValueError, match="motion 'drive': its position at t = 0 must be 1 finite number"):
        pl.simulate(system, 1.0, motion={"drive": lambda t: (1, 2)})
    with pytest.raises(ValueError, match="needs a position or a velocity"):
        pl.Motion()
    with pytest.raises(ValueError, match="prescribed by 'drive' already"):
        system.robot.add_motion("again", "trolley")
    with pytest.raises(ValueError, match="fixed"):
        system.robot.add_motion("again", "rod")
    with pytest.raises(ValueError, match="control='length' need an implicit method"):
        pl.simulate(arm(), 1.0, motion={"a": 0.5}, method="bdf")
    with pytest.raises(ValueError, match="does not know tendons of prescribed length"):
        pl.trace_equilibria(arm(), gravity=True)


def test_power_balance_with_buoyancy_and_a_driven_joint():
    robot = crane().robot
    robot.set_fluid(density=900.0)
    robot.add_hydrodynamics(["rod", "weight"])
    system = robot.compile()
    result = pl.simulate(system, 1.0, motion={"drive": EXACT}, rtol=1e-6, atol=1e-7)
    balance = result.power_balance()
    assert np.abs(balance["imbalance"]).max() < 1e-3 * np.ptp(balance["energy"])
