"""Rods that touch all along: forces that do not depend on where, energy, what slips through."""

import numpy as np
import pytest

import pliant as pl
from load_robots import branched, check_tangents

RADIUS, BALL, STIFF = 0.015, 0.01, 1e6
STEEL = pl.Material(young=2e11, poisson=0.3, density=1000)


def slider(shape: pl.model.shapes.Shape, top: float, depth: float, turn: float = 0.0, **options: object) -> pl.System:
    """A shape that slides along a straight rod, pressed into it."""
    robot = pl.Robot("slider", gravity=(0, 0, 0))
    robot.add_rod(
        "rod", length=0.4, section=pl.Circle(RADIUS), material=STEEL, strains=pl.Strains(bending=1), points=16
    )
    robot.add_body(
        "slider", joint=pl.Prismatic("x"), shape=shape, mass=1.0, offset=(0, 0, RADIUS + top - depth), offset_after=pl.rotate("y", turn)
    )  # fmt: skip
    robot.add_contact("sliding", "rod", "slider", stiffness=STIFF, exponent=1.0, **options)
    return robot.compile()


def forces(system: pl.System) -> np.ndarray:
    """The force on the slider at places along the rod."""
    q = system.neutral()
    out = []
    for x in np.linspace(0.1, 0.3, 301):
        q[system.q_slice("slider")] = x
        out.append(system.contacts(q).force_on("slider")[2])
    return np.array(out)


def expected(reach: float, depth: float) -> float:
    """∫ k δ cos dx for the distance of a straight line from a point."""
    x = np.linspace(-0.05, 0.05, 200001)
    far = np.hypot(x, reach - depth)
    return float(np.trapezoid(STIFF * np.maximum(reach - far, 0.0) * (reach - depth) / far, x))


@pytest.mark.parametrize(("depth", "ripple"), [(1e-3, 0.02), (3e-4, 0.07), (1e-4, 0.1)])
def test_a_ball_feels_the_same_force_all_along(depth, ripple):
    f = forces(slider(pl.Sphere(BALL), BALL, depth, per_length=True))
    np.testing.assert_allclose(f.mean(), expected(RADIUS + BALL, depth), rtol=1e-3)
    assert np.ptp(f) < ripple * f.mean()


def test_finer_spheres_have_less_ripple():
    shapes = pl.Sphere(BALL), BALL, 3e-4
    ripples = [
        np.ptp(f) / f.mean() for f in (forces(slider(*shapes, per_length=True, spacing=h)) for h in (4e-3, 2e-3, 1e-3))
    ]
    assert ripples[1] < 0.4 * ripples[0]
    assert ripples[2] < 0.4 * ripples[1]


def test_an_edge_feels_no_gaps():
    side = 0.05
    f = forces(slider(pl.Box(side, 0.2, side), side * np.sqrt(0.5), 1e-3, np.pi / 4, per_length=True))
    np.testing.assert_allclose(f.mean(), expected(RADIUS, 1e-3), rtol=1e-3)
    assert np.ptp(f) < 0.05 * f.mean()


def test_without_it_a_ball_slips_through_and_that_is_said():
    robot = pl.Robot("gaps")
    robot.add_rod("rod", length=2.0, section=pl.Circle(RADIUS), material=STEEL, strains=pl.Strains(bending=1), points=6)
    robot.add_obstacle("ball", pl.Sphere(BALL), pose=(0.1, 0, -0.5))
    robot.add_contact("touch", "rod", "ball", stiffness=1e3)
    notes = pl.solve_statics(robot.compile()).warnings
    assert any("'ball' can slip through" in note and "per_length=True" in note for note in notes)
    robot.contacts.clear()
    robot.add_contact("touch", "rod", "ball", stiffness=1e3, per_length=True)
    assert not any("slip through" in note for note in pl.solve_statics(robot.compile()).warnings)


def test_the_share_of_the_length_is_whole():
    system = slider(pl.Sphere(BALL), BALL, 1e-3, per_length=True)
    weight, step = system.contact.ball[:, 5], system.contact.point[:, 0]
    X = system.rod_points("rod")
    base = 0.5 * X[1] * 0.4 if X[0] == 0.0 else 0.0  # what belongs to the base does not move
    np.testing.assert_allclose(weight.sum(), 0.4 - base, rtol=1e-12)
    assert len(np.unique(step)) == 16 or len(np.unique(step)) == len(X) - 1


def test_tangents_of_lines():
    robot = branched(2)
    robot.add_body(
        "peg",
        parent=robot.link("arm").at(0.4),
        joint=pl.Spherical(),
        offset=(0, 0.03, 0),
        shape=pl.Box(0.3, 0.02, 0.02),
        mass=0.1,
    )
    robot.add_contact(
        "arm on peg",
        "arm",
        "peg",
        stiffness=500.0,
        per_length=True,
        spacing=0.01,
        damping=0.3,
        friction=0.2,
        stiction=0.0,
    )
    robot.add_contact("peg on twig", "peg", "twig", stiffness=500.0, per_length=True, damping=0.3)
    robot.add_contact("hand on peg", "hand", "peg", stiffness=500.0, per_length=True)
    system = robot.compile()
    rng = np.random.default_rng(0)
    found = 0
    for seed in range(6):
        q = system.random(np.random.default_rng(seed), scale=0.4)
        v, a = rng.normal(size=system.nv), rng.normal(size=system.nv)
        if len(system.contacts(q, v)):
            found += 1
            check_tangents(system, q, v, a, np.zeros(system.nu), tol=1e-11)
    assert found >= 2


def test_a_rod_that_falls_on_a_post_keeps_its_energy():
    robot = pl.Robot("falling")
    rubber = pl.Material(young=1e6, poisson=0.45, density=1000)
    robot.add_rod(
        "rod", joint=pl.Free(), offset=(-0.15, 0, 0.03), length=0.3, section=pl.Circle(0.01), material=rubber, strains=pl.Strains(bending=2), points=12
    )  # fmt: skip
    robot.add_obstacle("post", pl.Box(0.02, 0.2, 0.02))
    robot.add_contact("touch", "rod", "post", stiffness=1e6, exponent=1.0, per_length=True)
    system = robot.compile()
    run = pl.simulate(system, 0.15, rtol=1e-8, atol=1e-10)
    pressed = np.array([(0.5 * found.normal_force * -found.gap).sum() for found in run.contacts()])
    assert pressed.max() > 1e-3
    energy = run.energies().total + pressed
    np.testing.assert_allclose(energy, energy[0], atol=2e-4 * run.energies().kinetic.max())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"spacing": 0.01}, "spacing = 0.01 is for per_length=True"),
        ({"spacing": 0.0, "per_length": True}, "spacing = 0"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        slider(pl.Sphere(BALL), BALL, 1e-3, **options)
