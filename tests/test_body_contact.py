"""Contact between bodies: corners, edges, every shape against every other; what rests, bounces, and is exact."""

import numpy as np
import pytest

import pliant as pl
from load_robots import branched, check_tangents
from pliant.kernels.loads.contact import T_CONTACT, T_SECOND, T_WEIGHT
from pliant.system.contacts import contact_table

LAW = {"stiffness": 900.0, "damping": 0.4, "friction": 0.3, "slip_speed": 0.05, "stiction": 0.0}
SHAPES = {
    "ball": pl.Sphere(0.05),
    "box": pl.Box(0.1, 0.08, 0.06),
    "capsule": pl.Capsule(0.03, 0.08, "y"),
    "cylinder": pl.Cylinder(0.04, 0.09, "z"),
}


def crowd(seed: int, **law: float) -> pl.System:
    """Bodies of all shapes at the end of a branched, floating robot with rods, in each other's way."""
    rng = np.random.default_rng(seed)
    robot = branched(seed)
    for k, (name, shape) in enumerate(SHAPES.items()):
        offset = pl.translate(*(0.025 * rng.normal(size=3))) @ pl.rotate(rng.normal(size=3), 1.0)
        joint = [pl.Spherical(), pl.Revolute("y"), pl.Free(), pl.Prismatic("x")][k]
        robot.add_body(name, parent="hub", joint=joint, offset=offset, shape=shape, mass=0.2, com=0.01 * rng.normal(size=3))
    egg = pl.Ellipsoid(0.06, 0.04, 0.05)
    robot.add_body("egg", parent=robot.link("arm").at(0.4), joint=pl.Revolute("z"), offset=(0, 0.05, 0), shape=egg, mass=0.1)
    names = list(SHAPES)
    for i, a in enumerate(names):
        for b in names[:i]:
            robot.add_contact(f"{a} on {b}", a, b, **{**LAW, **law})
    robot.add_contact("hub on box", "hub", "box", **{**LAW, **law})
    robot.add_contact("arm on egg", "arm", "egg", **{**LAW, **law})
    robot.add_contact("egg along arm", "egg", "arm", per_length=True, **{**LAW, **law})
    return robot.compile()


@pytest.mark.parametrize("seed", range(4))
def test_tangents_by_complex_step(seed):
    system = crowd(seed)
    (q, v), a = near(system, seed), np.random.default_rng(seed).normal(size=system.nv)
    assert len(set(system.contacts(q, v).name)) >= 3
    check_tangents(system, q, v, a, np.zeros(system.nu), tol=2e-12)


def near(system: pl.System, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A state in which they touch."""
    rng = np.random.default_rng(seed)
    return system.integrate(system.neutral(), 0.02 * rng.normal(size=system.nv)), rng.normal(size=system.nv)


def test_every_pair_touched_with_corners_and_edges():
    seen, edges, faded = set(), set(), 0
    for seed in range(4):
        system = crowd(seed)
        q, v = near(system, seed)
        found = system.contacts(q, v)
        table = contact_table(system, q, v, 0.0)[0]
        names = list(system.robot.contacts)
        seen |= set(found.name)
        edges |= {names[int(row[T_CONTACT])] for row in table if row[T_SECOND] >= 0 and 0.0 < row[T_WEIGHT]}
        faded += sum(1e-3 < row[T_WEIGHT] < 1.0 for row in table if row[T_SECOND] >= 0)
    assert seen == set(system.robot.contacts)
    assert len(edges) >= 3
    assert faded
