"""Gradients just beside every switch of the laws: by every parameter, in motion and in equilibrium, on both sides.

What presses on something stiff is pressed in by less than any step of a difference: with states held fixed, a little more of a parameter would leave
the flank, the floor, the cable. So a robot rests on each of them, and hovers before each of them; the truth is differences of whole motions and
equilibria, which stay on their branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest

import pliant as pl
from gradient_checks import difference, errors, value
from pliant.costs import States

STIFF = 1e6
ON = 0.2  # where the flank is on which the ball rests
FREE = -0.981  # where the ball hangs on the spring of its guide
AWAY = 1e-7  # how far from the flank it hovers


def slider(stiffness: float = 10.0) -> pl.Robot:
    """A ball of 1 kg on a guide along z, beside the origin."""
    robot = pl.Robot("slider")
    joint = pl.Prismatic("z", stiffness=stiffness, damping=0.5)
    robot.add_body("ball", joint=joint, offset=(0.1, 0.2, 0.3), shape=pl.Sphere(0.05), mass=1.0, com=(0.0, 0.01, 0.0))
    return robot


def stop(flank: float) -> pl.Robot:
    robot = slider()
    robot.add_stop("law", "ball", lower=flank, stiffness=STIFF, dissipation=0.3)
    return robot


def bouncing_stop(flank: float) -> pl.Robot:
    robot = slider()
    robot.add_stop("law", "ball", lower=flank, stiffness=STIFF, restitution=0.3)
    return robot


def backlash(flank: float) -> pl.Robot:
    robot = slider()
    robot.add_body("rack", joint=pl.Prismatic("x", stiffness=50.0, damping=2.0, rest=0.3), mass=0.5, inertia=(1, 1, 1))
    ratio = {"ball": 1.5, "rack": 0.5}
    robot.add_backlash("law", ratio, gap=0.3, stiffness=STIFF, dissipation=0.3, offset=0.3 + 1.5 * flank)
    return robot


def spring(flank: float) -> pl.Robot:
    robot = slider()
    robot.add_spring("law", "ball", torque=(0.0, STIFF, 0.0, 1e6), rest=flank + 0.3, gap=0.6)
    return robot


def servo(flank: float) -> pl.Robot:
    """Nearly at its limit."""
    robot = slider(stiffness=0.0)
    robot.add_motor("law", "ball", control="position", kp=50.0, kd=1.0, limit=9.81 * (1.0 + 1e-5))
    return robot


def contact(flank: float, **law: float) -> pl.Robot:
    robot = slider()
    place = pl.translate(0.1, 0.21, 0.3 + flank - 0.05 / math.cos(0.01)) @ pl.rotate("x", 0.01)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=place)
    robot.add_contact("law", "ball", "floor", stiffness=STIFF, **law)
    return robot


def cable(flank: float) -> pl.Robot:
    """The ball hangs on a stiff elastic cable."""
    robot = slider()
    way = [robot.add_frame("post", None, offset=(0.12, 0.2, 1.5)), robot.link("ball").at((0, 0, 0.02))]
    law = {"control": "elastic", "stiffness": STIFF, "damping": 10.0, "rest_length": math.hypot(0.02, 1.18 - flank)}
    robot.add_tendon("law", way, **law)
    return robot


KINDS: dict[str, Callable[[float], pl.Robot]] = {
    "stop": stop,
    "bouncing stop": bouncing_stop,
    "backlash": backlash,
    "spring": spring,
    "servo": servo,
    "contact": lambda flank: contact(flank, exponent=1.0, damping=0.3),
    "contact of Hertz": lambda flank: contact(flank, damping=0.3),
    "contact with restitution": lambda flank: contact(flank, exponent=1.0, restitution=0.3),
    "contact that sticks": lambda flank: contact(flank, exponent=1.0, friction=0.5, damping=0.3, stiction=1e-2),
    "cable": cable,
}


def with_friction(robot: pl.Robot) -> pl.Robot:
    """A joint that sticks beside it: then the sweep over the tables is not known, and all derivatives are differences of residuals."""
    robot.add_body("other", joint=pl.Revolute("y", stiffness=1.0), shape=pl.Sphere(0.02), mass=0.1, com=(0.1, 0, 0))
    robot.add_friction("friction", "other", coulomb=0.05, stiction=1e-3)
    return robot


@pytest.fixture(params=[False, True], ids=["alone", "with friction"])
def whole(request) -> Callable[[pl.Robot], pl.Robot]:
    return with_friction if request.param else lambda robot: robot


GOAL = (0.3, 0.1, 0.6, 0.0, 0.0, 0.3)
STEPS = ((1e-5, 1e-6, 3e-7), (1e-6, 3e-7))  # of differences; the servo is nearer to its limit
COST = pl.costs.stack(pl.costs.Position("ball"), pl.costs.Velocity("ball")).near(GOAL, at="end")
PLACE = pl.costs.Position("ball").near(GOAL[:3])


def pressed(system: pl.System, name: str) -> np.ndarray:
    """Near where it rests: pressed in a little."""
    start = system.neutral()
    start[0] = -0.1962 if name == "servo" else ON - 1e-4
    return start


def compare(
    system: pl.System, g: Mapping[str, float], at: Callable[[pl.System], float], steps: tuple[float, ...]
) -> None:
    """Derivatives by all parameters against differences, relative to the largest."""
    exact, found = {}, {}
    for key, x in system.parameters.items():
        size = abs(x) if x else 0.05

        def moved(s: float, key: str = key, x: float = x, size: float = size) -> float:
            return at(system.with_parameters({key: x + s * size}))

        try:
            tried = [difference(moved, h) for h in steps]
            found[key] = g[key] * size
        except ValueError:  # it can move to one side only, or to none
            continue
        exact[key] = min(tried, key=lambda x, key=key: abs(x - found[key]))
    largest = max(map(abs, exact.values()))
    wrong = {key: (found[key], exact[key]) for key in exact if abs(found[key] - exact[key]) > 3e-7 * largest}
    assert not wrong, f"(found, exact) {wrong}"


@pytest.mark.parametrize("name", KINDS)
def test_motion_on_a_flank(name, whole):
    """From rest where it is pressed in: the motion stays on the flank, whatever the parameter; backwards and forwards."""
    system = whole(KINDS[name](ON)).compile()
    rest = pl.solve_statics(system, start=pressed(system, name))
    assert rest.success, rest.message
    options = {"step": 2e-3, "duration": 8e-3, "start": rest, "tolerance": 1e-13}
    run = pl.rollout(system, None, **options)
    g = run.gradient(COST)
    compare(system, g, lambda other: value(COST, pl.rollout(other, None, **options)), STEPS[name == "servo"])
    names = [key for key, x in system.parameters.items() if x and key != "law.factor"]
    forward = run.jacobian(pl.costs.Position("ball"), names)[-1, 2]
    found = run.gradient(pl.costs.Position("ball")[2].mean(at="end"))
    pairs = np.array(
        [[a * system.parameters[key], found[key] * system.parameters[key]] for key, a in zip(names, forward)]
    )
    assert np.abs(pairs[:, 0] - pairs[:, 1]).max() < 1e-8 * np.abs(pairs).max(), dict(zip(names, pairs))


@pytest.mark.parametrize("name", KINDS)
def test_equilibrium_on_a_flank(name, whole):
    system = whole(KINDS[name](ON)).compile()
    start = pressed(system, name)
    rest = pl.solve_statics(system, start=start, tolerance=2e-11)
    assert rest.success, rest.message

    def at(other: pl.System) -> float:
        found = pl.solve_statics(other, start=start, tolerance=2e-11)
        assert found.success, found.message
        return PLACE.evaluate(States.at_rest(other, found.q, found.u)).value

    compare(system, pl.static_gradient(system, rest, PLACE), at, STEPS[name == "servo"])


@pytest.mark.parametrize("name", [name for name in KINDS if name != "servo"])
def test_beside_a_flank(name, whole):
    """It hovers before the flank, nearer than any step of a difference: nothing of the flank has an influence, in motion and in equilibrium."""
    system, free = whole(KINDS[name](FREE - AWAY)).compile(), whole(slider()).compile()
    start = system.neutral()
    start[0] = FREE
    rest = pl.solve_statics(system, start=start)
    assert rest.success, rest.message
    assert abs(rest.q[0] - FREE) < 0.1 * AWAY
    options = {"step": 2e-3, "duration": 8e-3, "tolerance": 1e-13}
    g = pl.rollout(system, None, start=rest, **options).gradient(COST)
    alone = pl.solve_statics(free, start=np.delete(start, 1) if name == "backlash" else start)
    bare = pl.rollout(free, None, start=alone, **options).gradient(COST)
    still, still_bare = (pl.static_gradient(s, r, PLACE) for s, r in ((system, rest), (free, alone)))
    for found, expected in ((g, bare), (still, still_bare)):
        largest = max(abs(expected[key] * free.parameters[key]) for key in free.parameters)
        for key, x in system.parameters.items():
            if (x == 0.0 and key.startswith("law.")) or key == "law.factor":
                continue  # what cannot be beside what is given: a damping beside a restitution
            other = expected[key] if key in free.parameters else 0.0
            assert abs(found[key] - other) * max(abs(x), 0.05) < 1e-7 * largest, (key, found[key], other)


# ---------------------------------------------------------------- what is remembered


@pytest.mark.parametrize("slip", [0.01, 0.3])
@pytest.mark.parametrize(("speed", "height"), [(-0.1, 5e-4), (-0.5, 5e-4), (-0.1, -1e-4), (-0.5, -1e-4), (0.05, -1e-4)])
def test_impacts_faster_and_slower_than_the_slowest(speed, height, slip):
    """By the slip speed, which is also the slowest speed of an impact, and from where it touches already: half of it was left out, or nothing was known of it."""
    robot = pl.Robot("marble")
    robot.add_body("marble", joint=pl.Free(), shape=pl.Sphere(0.01), mass=0.02)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.0099))
    robot.add_contact("law", "marble", "floor", stiffness=1e4, restitution=0.5, friction=0.3, slip_speed=slip)
    system = robot.compile()
    start, velocity = system.neutral(), np.array([0, 0, 0, 0.2, 0, speed])
    start[6] = height
    cost = (pl.costs.Position("marble")[2] + pl.costs.Position("marble")[0]).mean(at="end")
    names = ("law.slip_speed", "law.stiction", "law.restitution", "law.friction", "marble.mass", "gravity.z")
    steps = {"start": 1e-7, "velocity": 1e-6, "parameter": 1e-6}
    found = errors(
        system, None, cost, start=start, velocity=velocity, parameters=names, step=2e-4, duration=6e-3, tolerance=1e-13, steps=steps
    )  # fmt: skip
    assert max(found.values()) < 1e-8, found
    g = pl.rollout(system, None, step=2e-4, duration=6e-3, start=start, velocity=velocity, tolerance=1e-13).gradient(
        cost
    )

    def at(s: float) -> float:
        other = system.with_parameters({"law.slip_speed": slip * (1.0 + s)})
        run = pl.rollout(other, None, step=2e-4, duration=6e-3, start=start, velocity=velocity, tolerance=1e-13)
        return value(cost, run)

    # by its own size, too
    assert g["law.slip_speed"] == pytest.approx(difference(at, 1e-5) / slip, rel=1e-5, abs=1e-9)


def test_friction_that_has_slipped_at_the_start():
    """A stiction far below the size of the robot; where the start has slipped it is held as it is bent, so that the derivative is that to a larger stiction."""
    robot = pl.Robot("leaning")
    rod = robot.add_rod(
        "arm", length=0.4, section=pl.Circle((0.02, 0.012)), material=pl.Material(young=1e6, poisson=0.5, density=1000.0),
        strains=pl.Strains.kirchhoff(3),
    )  # fmt: skip
    robot.add_tendon("cable", rod, y=0.01)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.12))
    robot.add_contact("law", rod, "floor", stiffness=2e3, friction=0.1)
    system = robot.compile()
    cost = pl.Reach("arm.tip", (0.3, 0.1, 0.1))
    before = pl.solve_statics(system, {"cable": 0.5}, start=pl.solve_statics(system))
    strain = np.linalg.norm(before.memory.reshape(-1, 4)[:, :3], axis=1).max()
    assert strain == pytest.approx(1e-6)  # it has slipped

    for pull in (0.6, 0.45):

        def at(stiction: float = 1e-6, pull: float = pull) -> float:
            other = system.with_parameters({"law.stiction": stiction})
            found = pl.solve_statics(other, {"cable": pull}, start=before, tolerance=3e-12)
            assert found.success, found.message
            return cost.evaluate(States.at_rest(other, found.q, found.u)).value

        rest = pl.solve_statics(system, {"cable": pull}, start=before, tolerance=3e-12)
        found = pl.static_gradient(system, rest, cost)["law.stiction"]
        up = (4.0 * at(1.02e-6) - at(1.04e-6) - 3.0 * at()) / 4e-8
        assert found == pytest.approx(up, rel=2e-3)
