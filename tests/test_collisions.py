"""All pairs at once: who touches whom, who never does, and the broad phase."""

import numpy as np
import pytest

import pliant as pl
from pliant.compile.touching import Touching

RUBBER = pl.Material(young=2e5, poisson=0.45, density=1000, viscosity=1e3)


def creature() -> pl.Robot:
    """A body with two legs of two links each, a lid that is fixed to it, a rod, and two obstacles."""
    robot = pl.Robot("creature")
    robot.add_body("trunk", joint=pl.Free(), shape=pl.Box(0.2, 0.1, 0.05), mass=1.0)
    robot.add_body("lid", parent="trunk", offset=(0, 0, 0.03), shape=pl.Box(0.1, 0.1, 0.01), mass=0.1)
    robot.add_body("soul", parent="trunk", joint=pl.Revolute("x"), mass=0.1, inertia=[1e-3] * 3)
    for side, y in (("left", 0.08), ("right", -0.08)):
        hip = robot.add_body(
            f"{side} thigh",
            parent="trunk",
            joint=pl.Revolute("y"),
            offset=(0, y, 0),
            shape=pl.Capsule(0.01, 0.05, "z"),
            mass=0.1,
        )
        robot.add_body(
            f"{side} foot", parent=hip, joint=pl.Revolute("y"), offset=(0, 0, -0.05), shape=pl.Sphere(0.015), mass=0.1
        )
    robot.add_rod(
        "tail",
        parent="trunk",
        offset=(-0.1, 0, 0),
        length=0.2,
        section=pl.Circle(0.01),
        material=RUBBER,
        strains=pl.Strains.kirchhoff(1),
    )
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.2))
    robot.add_obstacle("bumper", pl.Sphere(0.03), parent="trunk", pose=(0.12, 0, 0))
    return robot


LAW = {"stiffness": 1e4, "damping": 1.0}


def test_pairs_but_for_neighbours():
    robot = creature()
    added = robot.add_contacts("touch", **LAW)
    pairs = {frozenset((pair.link, pair.other)) for pair in added.values()}
    names = [link.name for link in robot.links if link.name != "soul"]  # which has no shape
    everyone = {frozenset((a, b)) for a in names for b in names if a != b}
    never = {("trunk", "lid"), ("trunk", "tail"), ("lid", "tail")}
    never |= {(f"{side} thigh", part) for side in ("left", "right") for part in ("trunk", "lid", f"{side} foot")}
    assert pairs == everyone - {frozenset(pair) for pair in never}
    assert list(robot.contacts) == list(added)
    robot.compile()


def test_groups_and_exceptions():
    robot = creature()
    feet = ["left foot", robot.link("right foot")]
    added = robot.add_contacts("stand", feet, "floor", **LAW)
    assert set(added) == {"stand: left foot on floor", "stand: right foot on floor"}
    more = robot.add_contacts("rest", "*", "*", skip=[("tail", "floor")], **LAW)
    assert "rest: tail on floor" not in more
    assert not any("foot on floor" in name for name in more)  # they have one
    assert any("on bumper" in name for name in more)
    assert not any({pair.link, pair.other} == {"trunk", "bumper"} for pair in more.values())
    assert len({frozenset((pair.link, pair.other)) for pair in robot.contacts.values()}) == len(robot.contacts)
    near = creature().add_contacts("all", neighbours=True, **LAW)
    assert any({pair.link, pair.other} == {"trunk", "left thigh"} for pair in near.values())
    assert not any({pair.link, pair.other} == {"trunk", "lid"} for pair in near.values())


def test_per_length_is_for_rods_with_others():
    robot = creature()
    added = robot.add_contacts("touch", "*", "*", per_length=True, spacing=2e-3, **LAW)
    assert {name for name, pair in added.items() if pair.per_length} == {name for name in added if "tail" in name}
    robot.compile()


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([], "floor"), {}, ValueError, "contacts 'touch': links is empty"),
        (("tale", "floor"), {}, KeyError, "obstacle or link.*'tale'.*'tail'"),
        ((3, "floor"), {}, TypeError, "contacts 'touch': 3 must be a link"),
        (("trunk", "bumper"), {}, ValueError, "there is no pair that could touch"),
        (("tail",), {"skip": [("tail", "flor")]}, KeyError, "'flor'"),
    ],
)
def test_refusals(arguments, options, error, message):
    robot = creature()
    with pytest.raises(error, match=message):
        robot.add_contacts("touch", *arguments, **options, **LAW)
    assert not robot.contacts


def balls(n: int, seed: int) -> pl.System:
    rng = np.random.default_rng(seed)
    robot = pl.Robot("balls")
    shapes = [
        pl.Sphere(0.03),
        pl.Box(0.05, 0.04, 0.06),
        pl.Capsule(0.02, 0.04),
        pl.Hull(0.03 * rng.normal(size=(8, 3))),
    ]
    for k in range(n):
        offset = pl.translate(*rng.uniform(-0.1, 0.1, size=3)) @ pl.rotate(rng.normal(size=3), 1.0)
        robot.add_body(
            f"{k}", joint=pl.Free(), shape=shapes[k % 4], mass=0.1, offset=offset, com=0.01 * rng.normal(size=3)
        )
    robot.add_contacts("touch", friction=0.3, **LAW)
    return robot.compile()


@pytest.mark.parametrize("seed", range(3))
def test_the_broad_phase_leaves_out_nothing_that_touches(seed, monkeypatch):
    """The same forces, and the same list, as without it."""
    system = balls(12, seed)
    v = np.random.default_rng(seed).normal(size=system.nv)
    q = system.neutral()
    near, forces = system.contacts(q, v, within=0.01), system.residual(q, v, v)
    assert 10 < len(near) < len(system.contact.point)
    assert np.all(system.contact.bound[:, 3] > 0)
    assert np.all(system.contact.around[:, [3, 7]] > 0)
    monkeypatch.setattr(Touching, "sphere_around", lambda self, points: [0.0, 0.0, 0.0, -1.0])
    plain = balls(12, seed)
    assert np.all(plain.contact.reach[:, 3] < 0)
    all_of_them = plain.contacts(q, v, within=0.01)
    assert all_of_them.name == near.name
    np.testing.assert_array_equal(all_of_them.force, near.force)
    np.testing.assert_array_equal(plain.residual(q, v, v), forces)
    weights = {"weights": (1.0, 0.3, 0.2)}
    np.testing.assert_array_equal(
        plain.residual_tangent(q, v, v, **weights), system.residual_tangent(q, v, v, **weights)
    )


def test_a_pile_comes_to_rest():
    """Balls in a bowl: at last it carries their weight, and they lie against each other."""
    robot = pl.Robot("pile")
    for k in range(5):
        angle = 2 * np.pi * k / 5
        place = (0.04 * np.cos(angle), 0.04 * np.sin(angle), 0.002 * k)
        robot.add_body(f"ball {k}", joint=pl.Free(), shape=pl.Sphere(0.02), mass=0.1, offset=place)
    robot.add_obstacle("bowl", pl.Sphere(0.1), pose=(0, 0, 0.08), inside=True)
    robot.add_contacts("touch", "*", "*", stiffness=1e4, exponent=1.0, damping=20.0)
    run = pl.simulate(robot.compile(), 3.0)
    assert run.success
    found = run.contacts(3.0)
    np.testing.assert_allclose(found.force_on("bowl")[2], -0.5 * 9.81, rtol=0.02)
    assert sum("ball" in other for other in found.other) >= 4
