"""Every family of loads: exact derivatives by complex step on a branched, floating robot, and known values."""

import numpy as np
import pytest

import pliant as pl
from load_robots import branched, check_tangents, state

BASES = ["free", "revolute", "fixed"]
COULOMB = {"damping": 0.3, "friction": 0.4, "slip_speed": 0.1}


def add_wrenches(robot: pl.Robot) -> None:
    robot.add_wrench("dead", "arm@0.7", force=(1, 2, -3), moment=(0.2, 0.1, -0.3), offset=(0.01, 0.02, 0.03))
    robot.add_wrench(
        "follower", "tool", force=(1, -1, 2), moment=(0.1, 0, 0.2), axes="body", offset=pl.rotate("x", 1.0)
    )
    robot.add_wrench("always", "twig.tip", force=(0, 0, 1), constant=True)
    robot.add_distributed_wrench("wind", "arm", force=lambda X: (X, 1 - X, 0.3), moment=(0.1, 0, 0))
    robot.add_distributed_wrench("jet", "hand", force=(0, 1, 0), axes="body")
    robot.add_dipole("magnet", "tool", moment=(0.3, 0.1, 0.2))
    robot.add_dipole("film", "twig", moment=lambda X: (1 + X, 0.5, 0))


def add_motors(robot: pl.Robot) -> None:
    robot.add_motor("torque", "hand")
    robot.add_motor("servo", "tool", control="position", kp=20.0, kd=3.0)
    robot.add_motor("spin", "twig", dof=1, control="velocity", kd=0.4)
    robot.add_stress("muscle", "arm", lambda X: (0.1, np.sin(3 * X), np.cos(2 * X), 0.4, 0.1, 0))


def add_tendons(robot: pl.Robot, **options: object) -> None:
    robot.add_tendon("short", "arm", y=0.01, z=(0.005, 0.01), start=0.2, end=0.8)
    path = [
        "world",
        "hub",
        pl.Along("arm", **pl.helical_routing(0.01, 1.3)),
        pl.Along("hand", y=(0.01, -0.005), end=0.6),
        "tool",
    ]
    robot.add_tendon("long", path, **options)
    robot.add_tendon("cross", [pl.Along("twig", y=0.005, start=1.0, end=0.0), "tool"], **options)
    robot.add_push_rod("push", "hand", z=0.008)
    robot.add_chamber("bellows", "arm", area=lambda X: 1e-4 * (2 - X), y=-0.01)


def add_water(robot: pl.Robot, current: tuple = (0.0, 0.0, 0.0)) -> None:
    robot.set_fluid(density=1010.0, current=current)
    matrix = np.diag([0.01, 0.02, 0.015, 1.0, 2.0, 3.0])
    matrix[1, 5] = matrix[5, 1] = 0.05
    matrix[3, 4] = 0.4  # lift
    robot.add_hydrodynamics("arm", pl.Hydrodynamics.circular(by=1.0, bz=1.2))
    robot.add_hydrodynamics("hand", pl.Hydrodynamics.elliptic(tail=True, linear_drag=(0.1, 0.2, 0.3)))
    robot.add_hydrodynamics(
        "hub", pl.Hydrodynamics(drag=matrix, added_mass=0.3 * (matrix + matrix.T), linear_drag=matrix)
    )


def add_obstacles(robot: pl.Robot, parent: str | None = None, **law: float) -> None:
    """Obstacles large enough that some points always touch."""
    pose = pl.translate(0.1, -0.2, 0.1) @ pl.rotate((1, 2, 3), 0.7)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=pl.rotate((1, 1, 0), 0.4), parent=parent)
    robot.add_obstacle("ball", pl.Sphere(0.4), pose=pose, parent=parent)
    robot.add_obstacle("bubble", pl.Sphere(0.2), pose=pose, inside=True, parent=parent)
    robot.add_obstacle("post", pl.Cylinder(0.3, 0.5, "y"), pose=pose, parent=parent)
    robot.add_obstacle("pipe", pl.Cylinder(0.1, 3.0, "x"), pose=pose, inside=True, parent=parent)
    robot.add_obstacle("crate", pl.Box(0.4, 0.5, 0.6), pose=pose, parent=parent)
    robot.add_obstacle("room", pl.Box(0.3, 0.2, 0.25), pose=pose, inside=True, parent=parent)
    for link in ("arm", "hand", "twig"):
        for name in list(robot.obstacles):
            robot.add_contact(f"{link} {name}", link, name, stiffness=300.0, **law)
    if parent is None:
        robot.add_contact("hub floor", "hub", "floor", stiffness=200.0, exponent=2.0, **law)


CASES = {
    "wrenches": add_wrenches,
    "motors": add_motors,
    "tendons": add_tendons,
    "elastic": lambda robot: add_tendons(robot, control="elastic", stiffness=50.0, damping=4.0, rest_length=0.2),
    "friction": lambda robot: add_tendons(robot, friction=0.3),
    "slip": lambda robot: add_tendons(robot, friction=0.3, slip_speed=0.4),
    "water": add_water,
    "current": lambda robot: add_water(robot, (0.4, -0.3, 0.6)),
    "obstacles": add_obstacles,
    "rough": lambda robot: add_obstacles(robot, **COULOMB),
    "moving": lambda robot: add_obstacles(robot, "tool", **COULOMB),
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("case", CASES)
def test_derivatives_are_exact(case, base):
    robot = branched(1, base=base)
    CASES[case](robot)
    system = robot.compile()
    for seed in range(2):
        q, v, a = state(system, seed)
        u = np.abs(np.random.default_rng(seed).normal(size=system.nu)) + 0.1
        check_tangents(system, q, v, a, u)
