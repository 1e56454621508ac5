"""Rods that touch all along: forces that do not depend on where, energy, what slips through."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from load_robots import branched, check_tangents, complex_tangents, state
from pliant.kernels.loads.bristles import SLOT
from pliant.system import Given
from pliant.system.dynamics import arguments, residual_tangent
from test_contact_physics import tangle
from test_contact_rods_hold import LAW, kept, laid
from test_gradients_memory import SMALL, errors, rails

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


@pytest.mark.parametrize("angle", [np.pi / 2, 0.7])
def test_a_rod_that_crosses_another_feels_no_joints(angle):
    robot, smooth, capsules = pl.Robot("rods", gravity=(0, 0, 0)), [], []
    straight = {"section": pl.Circle(RADIUS), "material": STEEL, "strains": pl.Strains(bending=1), "points": 9}
    robot.add_rod("below", joint=pl.Prismatic("x"), length=0.4, **straight)
    offset = pl.translate(0.0, 0, 2 * RADIUS - 1e-3) @ pl.rotate("z", angle) @ pl.translate(-0.17, 0, 0)
    robot.add_body("carrier", joint=pl.Prismatic("x"), mass=1.0)
    robot.add_rod("above", parent="carrier", offset=offset, length=0.4, **straight)
    robot.add_contact("across", "above", "below", stiffness=STIFF, exponent=1.0, per_length=True)
    system = robot.compile()
    robot.contacts.clear()
    robot.add_contact("across", "above", "below", stiffness=STIFF * 0.01, exponent=1.0)
    plain = robot.compile()
    q = system.neutral()
    for x in np.linspace(0.1, 0.3, 201):
        q[system.q_slice("carrier")] = x
        smooth.append(system.contacts(q).force_on("above"))
        capsules.append(plain.contacts(q).force_on("above")[2])
    smooth = np.array(smooth)
    # along the other rod nothing changes: the distance of a line from a straight rod
    reach = 2 * RADIUS
    s = np.linspace(-0.1, 0.1, 200001)
    far = np.hypot(s * np.sin(angle), reach - 1e-3)
    wanted = np.trapezoid(STIFF * np.maximum(reach - far, 0.0) * (reach - 1e-3) / far, s)
    np.testing.assert_allclose(smooth[:, 2], wanted, rtol=0.02)
    assert np.ptp(smooth[:, 2]) < 1e-9 * wanted  # the spheres are those of the rod that slides
    assert np.ptp(capsules) > 0.5 * np.mean(capsules)  # two capsules touch where they meet


def test_parallel_rods_touch_all_along():
    robot = pl.Robot("parallel", gravity=(0, 0, 0))
    straight = {"section": pl.Circle(RADIUS), "material": STEEL, "strains": pl.Strains(bending=1), "length": 0.4}
    robot.add_rod("below", joint=pl.Prismatic("x"), points=7, **straight)
    robot.add_rod("above", joint=pl.Prismatic("x"), offset=(0.05, 0, 2 * RADIUS + 1e-3), points=9, **straight)
    robot.add_contact("along", "above", "below", stiffness=STIFF, exponent=1.0, per_length=True)
    system = robot.compile()
    assert not len(system.contacts(system.neutral()))
    robot = pl.Robot("pressed", gravity=(0, 0, 0))
    robot.add_rod("below", joint=pl.Prismatic("x"), points=7, **straight)
    robot.add_rod("above", joint=pl.Prismatic("z"), offset=(0.05, 0, 2 * RADIUS + 1e-3), points=9, **straight)
    robot.add_contact("along", "above", "below", stiffness=STIFF, exponent=1.0, per_length=True)
    system = robot.compile()
    q = system.neutral()
    q[system.q_slice("above").start] = -2e-3
    found = system.contacts(q)
    np.testing.assert_allclose(found.force_on("above")[2], STIFF * 1e-3 * 0.35, rtol=0.03)  # and the round end
    np.testing.assert_allclose(found.force_on("below"), -found.force_on("above"), rtol=1e-12)


def test_tangents_of_rods_that_touch_all_along():
    robot = branched(4)
    rubber = pl.Material(young=5e5, poisson=0.4, density=700.0, viscosity=1e3)
    robot.add_rod(
        "vine", parent="hub", joint=pl.Spherical(), offset=(0.02, 0.09, 0.03), length=0.4, section=pl.Circle(0.02),
        material=rubber, strains=pl.Strains.kirchhoff_extensible(1), points=6,
    )  # fmt: skip
    robot.add_rod(
        "creeper", parent="hub", joint=pl.Revolute("z"), offset=(0.02, 0.0, 0.06), length=0.4, section=pl.Circle(0.02),
        material=rubber, strains=pl.Strains.kirchhoff(1), points=5,
    )  # fmt: skip
    robot.add_contact(
        "growing", "vine", "creeper", stiffness=500.0, per_length=True, spacing=0.02, damping=0.3, friction=0.2
    )
    system = robot.compile()
    rng = np.random.default_rng(0)
    found = 0
    for seed in range(8):
        q = system.random(np.random.default_rng(seed), scale=0.05)
        q[system.q_slice("creeper").start] = 0.27
        v, a = rng.normal(size=system.nv), rng.normal(size=system.nv)
        if len(system.contacts(q, v)):
            found += 1
            check_tangents(system, q, v, a, np.zeros(system.nu), tol=1e-11)
    assert found >= 2


@pytest.mark.parametrize("lag", [0.0, 0.02])
def test_exact_derivatives_with_bent_bristles(lag, monkeypatch):
    """Of a line that sticks in some places and slips in others, with a time that has passed since."""
    robot = tangle("free", **LAW)
    del robot.contacts["aa"]
    robot.contacts["ab"] = replace(robot.contacts["ab"], per_length=True, stiffness=1e3, spacing=0.02)
    system = robot.compile()
    plain = type(system).make_work
    bent = np.zeros(system.nz)

    def make_work(self, dtype=np.float64):
        work = plain(self, dtype)
        work.memory[:], work.lag[0] = bent, lag
        return work

    monkeypatch.setattr(type(system), "make_work", make_work)
    met = 0
    for seed in range(12):
        q, v, a = state(system, seed, scale=4.0)
        v = 0.3 * v
        bent[:] = kept(system, q, v, Given(lag=0.1))
        slots = bent[4 * len(system.loads["contact"].point) :].reshape(-1, SLOT)
        touching = slots[:, 4] > 0
        if not np.any(touching):
            continue
        met += int(touching.sum())
        slots[touching, :3] *= np.random.default_rng(seed).uniform(0.2, 1.0, size=(int(touching.sum()), 1))
        given = Given(memory=bent.copy(), lag=lag)
        exact = complex_tangents(system, q, v, a, np.zeros(0))
        inner = (system.elastic_tangent(q), system.damping_matrix())
        for k in range(2):
            got = (
                residual_tangent(system, arguments(system, q, v, a, None, None), tuple(np.eye(3)[k]), given) - inner[k]
            )
            scale = max(np.abs(exact[k]).max(), 1e-6 * np.abs(inner[k]).max())
            assert np.abs(got - exact[k]).max() <= 3e-12 * scale
    assert met > 5


def test_a_rod_lies_still_on_rods_all_along():
    system = laid(0.5, 0.2, per_length=True)
    run = pl.simulate(system, 3.0)
    assert run.success
    assert np.ptp(run.positions("along")[run.t > 2.0], axis=0).max() < 1e-8


def test_derivatives_of_a_motion_of_rods_that_hold_each_other_all_along():
    """A rod across two others, on one of which it sticks: what lines remember, differentiated."""
    robot = rails().robot
    for name in ("slides", "sticks"):
        robot.contacts[name] = replace(robot.contacts[name], per_length=True, stiffness=2e6)
    system = robot.compile()
    v, q = np.zeros(system.nv), system.neutral()
    v[system.v_slice("hub")][:6] = (0.1, 0.05, 0.3, 0.05, 0.2, -0.02)
    q[system.coordinate_names.index("hub.z")] = -2.6e-3
    U = np.linspace(0.5, 1.0, 6)[:, None]
    run = pl.rollout(system, U, step=1e-3, start=q, velocity=v)
    slots = run.remembered[-1][4 * len(system.loads["contact"].point) :].reshape(-1, SLOT)
    assert np.sum(slots[:, 4] > 0) >= 4
    cost = pl.Reach("hub", (2e-3, 1e-3, -1e-3), at="all")
    options = {"start": q, "velocity": v, "parameters": ("hub.mass", "sticks.friction"), "step": 1e-3}
    found = errors(system, U, cost, **options, steps={**SMALL, "start": 1e-7})
    assert max(found.values()) < 1e-6, found
