"""Contact that holds: friction that sticks in motion and at rest, where it slips, and impacts with restitution."""

from pathlib import Path

import numpy as np
import pytest

import pliant as pl

G = 9.81


def block(mu: float, slope: float, **law: float) -> pl.System:
    """A block of 1 kg on a slope, along which x points down."""
    robot = pl.Robot("block", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    robot.add_body("block", joint=pl.Free(), shape=pl.Box(0.1, 0.1, 0.1), mass=1.0)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.05))
    robot.add_contact("touch", "block", "floor", stiffness=1e6, damping=1.0, friction=mu, **law)
    return robot.compile()


def sunk(system: pl.System, slope: float) -> np.ndarray:
    """As deep as its four corners carry it."""
    q = system.neutral()
    q[6] = -((G * np.cos(slope) / 4 / 1e6) ** (2 / 3))
    return q


def test_a_block_on_a_slope_does_not_creep():
    """Less than a micrometre in five seconds, once it has settled on its corners; regularised friction creeps by millimetres."""
    system = block(0.5, 0.2)
    settled = pl.solve_statics(system, start=sunk(system, 0.2))
    assert settled.success
    run = pl.simulate(system, 5.0, start=settled)
    assert run.success
    x = run.positions("block")
    assert np.abs(x - x[0]).max() < 1e-6
    np.testing.assert_allclose(run.contacts(5.0).force_on("block"), [-G * np.sin(0.2), 0, G * np.cos(0.2)], atol=1e-3)
    smooth = block(0.5, 0.2, stiction=0.0)
    creeps = pl.simulate(smooth, 5.0, start=sunk(smooth, 0.2))
    assert creeps.positions("block")[-1, 0] > 1e-3


@pytest.mark.parametrize("height", [0.0, 0.005, -1e-3], ids=["laid down", "dropped", "pushed in"])
def test_it_comes_to_rest_however_it_starts(height):
    """With default settings: it falls, rocks and slides, and then stays where it is."""
    system = block(0.5, 0.2)
    start = system.neutral()
    start[6] = height
    run = pl.simulate(system, 8.0, start=start)
    assert run.success
    assert not run.warnings
    late = run.positions("block")[run.t >= 3.0]
    assert np.ptp(late, axis=0).max() < 1e-6


def test_what_a_run_leaves_is_an_equilibrium():
    """Where friction has come to rest statics finds nothing to do, with the same forces."""
    system = block(0.5, 0.2)
    run = pl.simulate(system, 3.0, start=sunk(system, 0.2))
    rest = pl.solve_statics(system, start=run)
    assert rest.success
    np.testing.assert_allclose(rest.q, run.q[-1], atol=1e-6)
    np.testing.assert_allclose(
        rest.contacts.force_on("block"), [-G * np.sin(0.2), 0, G * np.cos(0.2)], rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize(("part", "holds"), [(1 + 1e-6, True), (1 - 1e-6, False)])
def test_it_slips_where_coulomb_says(part, holds):
    """Statics: at tan θ = μ, to a millionth."""
    system = block(np.tan(0.2) * part, 0.2)
    assert pl.solve_statics(system, start=sunk(system, 0.2)).success is holds


def test_onset_of_slip_in_motion():
    """A force that grows slowly: from where the block is at the end follows when it began to slide, at μ m g to a millionth."""
    robot = block(0.5, 0.0).robot.copy()
    robot.add_wrench("pull", robot.link("block").at((0, 0, -0.05)), force=(1, 0, 0))
    system, limit = robot.compile(), 0.5 * G
    rest = pl.solve_statics(system, {"pull": 0.9 * limit}, start=pl.solve_statics(system, start=sunk(system, 0.0)))
    for tolerance, error in ((1e-4, 1e-3), (1e-7, 1e-6)):
        ramp = {"pull": lambda t: limit * (0.9 + 0.2 * t)}
        run = pl.simulate(system, 1.0, u=ramp, start=rest, rtol=tolerance, atol=0.1 * tolerance)
        assert run.success
        x = (
            np.ptp(run.positions("block")[[0, -1], 0]) - 0.1e-6
        )  # without the rest of the bristle's way; then x = 0.2 limit (t − t₀)³ / 6 m
        onset = 0.9 + 0.2 * (1 - np.cbrt(6 * x / (0.2 * limit)))
        assert abs(onset - 1) < error


def test_steps_do_not_shrink_to_nothing():
    """A robot whose stiff contact with friction once asked for steps of 3 ns: a second in some hundred of them."""
    file = Path(__file__).parent / "data" / "robots" / "robot_200.yaml"
    run = pl.simulate(pl.load_model(file).robot.compile(), 1.0)
    assert run.success
    assert run.statistics.steps < 1000
    assert any(len(run.contacts(t)) for t in run.t[:: len(run.t) // 20])
    assert np.diff(run.t[run.t > 0.01]).min() > 1e-6  # it begins with overlaps that throw it, in some 50 shorter steps


def test_it_slides_as_coulomb_says():
    """And stops where its energy is spent: v²/2μg on the level."""
    system = block(0.3, 0.0)
    v = np.zeros(6)
    v[3] = 0.5
    run = pl.simulate(system, 1.0, start=sunk(system, 0.0), velocity=v, rtol=1e-5)
    assert run.success
    np.testing.assert_allclose(run.positions("block")[-1, 0], 0.5**2 / (2 * 0.3 * G), rtol=5e-3)
    assert abs(run.v[-1, 3]) < 1e-3  # it still rocks a little on its corners


def test_a_ball_rolls_without_creep():
    """a = 5/7 g sin θ, and the point of contact rests."""
    robot = pl.Robot("ball", gravity=(G * np.sin(0.3), 0, -G * np.cos(0.3)))
    robot.add_body("ball", joint=pl.Free(), shape=pl.Sphere(0.1), mass=2.0)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.1))
    robot.add_contact("touch", "ball", "floor", stiffness=1e5, friction=0.8, damping=2.0)
    system = robot.compile()
    q = system.neutral()
    depth = (2 * G * np.cos(0.3) / 1e5) ** (2 / 3)
    q[6] = -depth
    run = pl.simulate(system, 1.0, start=q, rtol=1e-5)
    assert run.success
    twist = system.twist("ball", run.q[-1], run.v[-1], reference="world")
    np.testing.assert_allclose(run.positions("ball")[-1, 0], 0.5 * 5 / 7 * G * np.sin(0.3), rtol=2e-3)
    velocity = system.twist("ball", run.q[-1], run.v[-1], reference="body")[3:]
    speed = float(np.linalg.norm(velocity))
    np.testing.assert_allclose(speed, 0.1 * np.linalg.norm(twist[:3]), rtol=1e-4)


@pytest.mark.parametrize("e", [0.2, 0.7, 1.0])
def test_restitution(e):
    """A ball leaves with e times the speed of its impact, whatever its mass and stiffness."""
    robot = pl.Robot("ball", gravity=(0, 0, 0))
    robot.add_body("ball", joint=pl.Free(), shape=pl.Sphere(0.05), mass=0.3)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.06))
    robot.add_contact("touch", "ball", "floor", stiffness=1e6, restitution=e)
    v = np.zeros(6)
    v[5] = -2.0
    run = pl.simulate(robot.compile(), 0.05, velocity=v, rtol=1e-6, atol=1e-8)
    assert run.success
    np.testing.assert_allclose(run.v[-1, 5] / 2.0, e, rtol=2e-3)


def test_a_run_that_goes_on_remembers(tmp_path):
    """Continued from a result, also from a file, friction holds as if it had not been cut."""
    system = block(0.5, 0.2)
    first = pl.simulate(system, 1.0, start=sunk(system, 0.2))
    first.save(tmp_path / "run.h5")
    loaded = pl.Result.load(tmp_path / "run.h5", system)
    np.testing.assert_array_equal(loaded.memory, first.memory)
    for start in (first, loaded):
        more = pl.simulate(system, 1.0, start=start)
        assert np.abs(more.q[-1, 4:] - first.q[-1, 4:]).max() < 5e-6


def test_refusals():
    """What does not know internal variables says so."""
    system = block(0.5, 0.2)
    with pytest.raises(ValueError, match="does not integrate internal variables"):
        pl.simulate(system, 0.1, method="radau")
    robot = pl.Robot("ball")
    ball = robot.add_body("ball", joint=pl.Free(), shape=pl.Sphere(0.05), mass=0.3)
    robot.add_obstacle("floor", pl.HalfSpace())
    with pytest.raises(ValueError, match="give one of them"):
        robot.add_contact("touch", ball, "floor", stiffness=1e6, restitution=0.5, damping=1.0)
    with pytest.raises(ValueError, match="restitution"):
        robot.add_contact("touch", ball, "floor", stiffness=1e6, restitution=1.5)


@pytest.mark.parametrize(("part", "holds"), [(0.98, True), (1.02, False)])
def test_a_block_on_a_turntable(part, holds):
    """It turns along with the table until μ g = ω² r, seen from the table without creep."""
    robot = pl.Robot("turntable")
    disc = robot.add_body("disc", joint=pl.Revolute("z"), shape=pl.Cylinder(0.5, 0.02, "z"), mass=1.0)
    robot.add_motion("turn", disc)
    robot.add_obstacle("top", pl.HalfSpace(), parent=disc, pose=(0, 0, 0.01))
    robot.add_body("block", joint=pl.Free(), offset=(0.2, 0, 0.02), shape=pl.Box(0.02, 0.02, 0.02), mass=0.1)
    robot.add_contact("touch", "block", "top", stiffness=1e6, damping=5.0, friction=0.5)
    system = robot.compile()
    rate = np.sqrt(part * 0.5 * G / 0.2)
    turn = {"turn": lambda t: rate * (t**2 / 8 if t < 4 else t - 2)}
    rest = pl.simulate(system, 0.5, motion={"turn": 0.0})
    run = pl.simulate(system, 6.0, motion=turn, breaks=[4.0], start=rest, t0=0.0)
    assert run.success
    seen = np.array([system.pose("disc", q)[:3, :3].T @ x for q, x in zip(run.q, run.positions("block"))])
    way = np.linalg.norm(seen - seen[0], axis=1)[-1]
    if holds:
        assert way < 2e-5  # it leans outwards on its corners
    else:
        assert way > 0.1


def test_impacts_keep_the_balance_of_energy():
    """What a bouncing ball loses is (1 − e²) of its energy at each impact, and nobody complains. (Its weight does little during an impact this hard.)"""
    robot = pl.Robot("ball")
    robot.add_body("ball", joint=pl.Free(), shape=pl.Sphere(0.05), mass=0.3)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.05))
    robot.add_contact("touch", "ball", "floor", stiffness=1e9, restitution=0.8)
    system = robot.compile()
    start = system.neutral()
    start[6] = 0.2
    run = pl.simulate(system, 1.5, start=start, rtol=1e-6, atol=1e-8)
    assert run.success
    assert not run.warnings
    z, v = run.positions("ball")[:, 2], run.v[:, 5]
    last = [k for k in range(1, len(z) - 1) if v[k] > 0 >= v[k + 1] and z[k] > 0.01]  # steps before the tops
    tops = np.array([0.2, *(z + v**2 / (2 * G))[last]])
    np.testing.assert_allclose(tops[1:4] / tops[:3], 0.8**2, rtol=5e-3)
