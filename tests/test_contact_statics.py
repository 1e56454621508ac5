"""Equilibria that hold by friction: loops, tendons of prescribed length, sensitivities, modes; and what is refused."""

import numpy as np
import pytest

import pliant as pl
from test_contact_holds import G, block, sunk

MU, STICTION, SPEED = 0.5, 1e-6, 1e-2


def sled(**law: float) -> pl.System:
    """A sphere of 1 kg on a floor, pulled along x; it does not turn."""
    robot = pl.Robot("sled")
    down = robot.add_body("down", joint=pl.Prismatic("z"))
    ball = robot.add_body("ball", parent=down, joint=pl.Prismatic("x"), shape=pl.Sphere(0.05), mass=1.0)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.0499))
    robot.add_contact("touch", ball, "floor", stiffness=1e6, damping=1.0, friction=MU, slip_speed=SPEED, **law)
    robot.add_wrench("pull", ball, force=(1, 0, 0))
    return robot.compile()


def test_modes_of_what_sticks():
    """A mass on its bristle: ω² = μ g / s₀, damped by τ = s₀/v₀; in linearize too."""
    system = sled()
    rest = pl.solve_statics(system)
    assert rest.success
    assert rest.stability == "stable"
    omega = np.sqrt(MU * G / STICTION)
    found = pl.modes(system, rest)
    k = int(np.argmin(np.abs(found.frequencies - omega / (2 * np.pi))))
    np.testing.assert_allclose(found.frequencies[k], omega / (2 * np.pi), rtol=1e-6)
    np.testing.assert_allclose(found.damping_ratios[k], 0.5 * omega * STICTION / SPEED, rtol=1e-6)
    A = pl.linearize(system, rest).A
    np.testing.assert_allclose(A[3, 1], -(omega**2), rtol=1e-6)
    np.testing.assert_allclose(A[3, 3], -(omega**2) * STICTION / SPEED, rtol=1e-6)
    with pytest.raises(ValueError, match="from rest only"):
        pl.linearize(system, rest, np.ones(system.nv))


def test_sensitivity_of_what_sticks():
    """The bristle's stiffness, μ m g / s₀, by formula, and gradients and differences of equilibria."""
    system = sled()
    rest = pl.solve_statics(system, {"pull": 1.0}, start=pl.solve_statics(system))
    slope = pl.static_jacobian(system, rest, "ball", reference="world")
    np.testing.assert_allclose(slope[3, 0], STICTION / (MU * G), rtol=1e-6)
    more, less = (pl.solve_statics(system, {"pull": 1.0 + d}, start=rest) for d in (1e-3, -1e-3))
    x = [system.pose("ball", e.q)[0, 3] for e in (more, less)]
    np.testing.assert_allclose(slope[3, 0], (x[0] - x[1]) / 2e-3, rtol=1e-6)
    found = pl.static_gradient(system, rest, pl.Reach("ball", (0.1, 0, 0)))
    cost = [
        pl.Reach("ball", (0.1, 0, 0)).evaluate(pl.costs.States.at_rest(system, e.q, e.u)).value for e in (more, less)
    ]
    np.testing.assert_allclose(found.u, np.sum(cost[0] - cost[1]) / 2e-3, rtol=1e-5)


@pytest.mark.parametrize("part", [1 - 1e-6, 1 + 1e-6])
def test_loops_hold_by_friction(part):
    """A block that a loop keeps in a plane sticks, and slips, as one that is free."""
    plain = block(np.tan(0.2) / part, 0.2)
    robot = plain.robot.copy()
    robot.add_loop("plane", "world", "block", joint=pl.Planar("y"))
    system = robot.compile()
    start = sunk(plain, 0.2)
    free, held = (pl.solve_statics(one, start=start) for one in (plain, system))
    assert free.success is held.success is (part < 1)
    if part < 1:
        assert held.stability == "stable"
        assert not any("left out" in text for text in held.warnings)
        np.testing.assert_allclose(held.q, free.q, atol=1e-9)
        np.testing.assert_allclose(held.memory, free.memory, atol=1e-9)
        np.testing.assert_allclose(held.contacts.force_on("block"), [-G * np.sin(0.2), 0, G * np.cos(0.2)], atol=1e-6)
        run = pl.simulate(system, 1.0, start=held)
        assert np.abs(run.positions("block") - run.positions("block")[0]).max() < 1e-8


def finger(control: str) -> pl.System:
    """A soft finger above a floor, with a tendon that presses it down."""
    robot = pl.Robot("finger")
    silicone = pl.Material(young=1e6, poisson=0.45, density=1100, viscosity=1e4)
    rod = robot.add_rod(
        "finger", length=0.1, section=pl.Circle(0.008), material=silicone, strains=pl.Strains(bending=3), points=10
    )
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.02))
    robot.add_contact("press", rod, "floor", stiffness=1e4, damping=2.0, friction=0.6)
    robot.add_tendon("tendon", rod, z=-0.006, control=control)
    return robot.compile()


def test_tendons_of_prescribed_length_hold_by_friction():
    """From the same start with the same contacts: the tension that a length needs has that length."""
    pulled, held = finger("tension"), finger("length")
    run = pl.simulate(pulled, 1.0, u={"tendon": 6.0})
    rest = pl.solve_statics(pulled, {"tendon": 6.0}, start=run)
    assert rest.success
    assert len(rest.contacts) > 0
    more = pl.solve_statics(pulled, {"tendon": 6.5}, start=rest)
    length = pulled.tendon_lengths(more.q)[0][0]
    start = pl.Equilibrium(**{**vars(rest), "system": held, "u": np.zeros(1)})
    found = pl.solve_statics(held, motion={"tendon": length}, start=start)
    assert found.success
    np.testing.assert_allclose(found.u, 6.5, rtol=1e-6)
    np.testing.assert_allclose(found.q, more.q, atol=1e-7)
    np.testing.assert_allclose(found.memory, more.memory, atol=1e-8)
    assert found.stability == "stable"


def test_a_batch_of_equilibria_holds_as_one_does():
    system = sled()
    pulls = np.array([[0.0], [2.0], [0.999 * MU * G], [1.001 * MU * G]])
    many = pl.batch(system).statics(pulls)
    ones = [pl.solve_statics(system, u) for u in pulls]
    np.testing.assert_array_equal(many.success, [one.success for one in ones])
    assert many.success.tolist() == [True, True, True, False]
    np.testing.assert_allclose(many["q"][:3], [one.q for one in ones[:3]], atol=1e-12)


def test_what_is_not_known_says_so():
    system = sled()
    rest = pl.solve_statics(system)
    with pytest.raises(ValueError, match="holds by friction"):
        pl.trace_equilibria(system, input="pull", stop=1.0, start=rest)
    steep = block(0.5, 0.2)
    lost = pl.solve_statics(steep)  # it only just does not touch
    assert not lost.success
    assert "friction holds only what touches at the start" in lost.message
