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
        robot.add_body(
            name, parent="hub", joint=joint, offset=offset, shape=shape, mass=0.2, com=0.01 * rng.normal(size=3)
        )
    egg = pl.Ellipsoid(0.06, 0.04, 0.05)
    robot.add_body(
        "egg", parent=robot.link("arm").at(0.4), joint=pl.Revolute("z"), offset=(0, 0.05, 0), shape=egg, mass=0.1
    )
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
        edges |= {names[int(row[T_CONTACT])] for row in table if row[T_SECOND] >= 0 and row[T_WEIGHT] > 0.0}
        faded += sum(1e-3 < row[T_WEIGHT] < 1.0 for row in table if row[T_SECOND] >= 0)
    assert seen == set(system.robot.contacts)
    assert len(edges) >= 3
    assert faded


def block_points() -> np.ndarray:
    return np.array(list(np.ndindex(2, 2, 2))) * 0.1 - 0.05


def solids() -> dict[str, pl.model.shapes.Shape]:
    """A cube of 0.1 m, as a box, a hull, a mesh."""
    hull = pl.Hull(block_points())
    return {"box": pl.Box(0.1, 0.1, 0.1), "hull": hull, "mesh": pl.Mesh(hull.surface.vertices, hull.surface.faces)}


@pytest.mark.parametrize("other", ["hull", "mesh", "notched", "field", "egg", "block"])
def test_tangents_with_surfaces(other):
    """Corners, rods and edges against triangles, a field and an ellipsoid that move with another body of a floating robot."""
    rng = np.random.default_rng(3)
    robot = branched(1)
    notched = pl.Mesh(
        [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0.03, 0.03, 0.02], [0.03, 0.03, 0.12]],
        [[0, 3, 1], [1, 3, 2], [2, 3, 0], [0, 1, 4], [1, 2, 4], [2, 0, 4]],
    )  # a bell, whose bottom is hollow
    hull = pl.Hull(0.04 * rng.normal(size=(14, 3)))
    field = pl.HeightField.from_function(lambda x, y: 0.02 * np.cos(20 * x + 9 * y), size=(0.6, 0.6), nodes=(31, 31))
    shapes = {"hull": hull, "mesh": solids()["mesh"], "notched": notched, "egg": pl.Ellipsoid(0.05, 0.07, 0.06)}
    if other == "block":  # fixed to the world, with edges
        bare = robot.compile()
        robot.add_obstacle("thing", pl.Box(0.08, 0.1, 0.06), pose=bare.pose("hub", bare.neutral()))
    elif other == "field":
        robot.add_obstacle("thing", field, parent="hub", pose=pl.rotate("x", 0.3))
    else:
        robot.add_body(
            "thing",
            parent="hub",
            joint=pl.Spherical(),
            offset=(0.02, 0.01, 0),
            shape=shapes[other],
            mass=0.3,
            com=(0, 0, 0),
        )
    for k, (name, shape) in enumerate({**SHAPES, "stone": hull}.items()):
        offset = pl.translate(*(0.03 * rng.normal(size=3))) @ pl.rotate(rng.normal(size=3), 1.0)
        robot.add_body(
            name, parent="hub", joint=[pl.Free(), pl.Revolute("y")][k % 2], offset=offset, shape=shape, mass=0.2
        )
        robot.add_contact(f"{name} on thing", name, "thing", **LAW)
    robot.add_contact("arm on thing", "arm", "thing", per_length=True, **LAW)
    system = robot.compile()
    (q, v), a = near(system, 1), rng.normal(size=system.nv)
    assert len(set(system.contacts(q, v).name)) >= 3
    check_tangents(system, q, v, a, np.zeros(system.nu), tol=1e-11)


def test_forces_are_opposite_and_momentum_is_kept():
    """Two boxes that fly into each other, edge on edge and corner on face, with friction."""
    robot = pl.Robot("collision", gravity=(0, 0, 0))
    for k, name in enumerate("ab"):
        turn = pl.rotate((1, 2, 3), 0.9) if k else pl.rotate("z", 0.3)
        offset = pl.translate(0.16 * k, 0.01 * k, 0) @ turn
        robot.add_body(name, joint=pl.Free(), shape=pl.Box(0.1, 0.08, 0.12), mass=1.0 + k, offset=offset)
    robot.add_contact("hit", "a", "b", stiffness=1e6, friction=0.3, damping=0.1)
    system = robot.compile()
    v = np.zeros(12)
    v[3:6] = pl.rotate("z", 0.3).rotation.T @ [1.0, 0, 0]
    run = pl.simulate(system, 0.3, velocity=v, rtol=1e-8, atol=1e-10)
    assert run.success
    momentum = np.array([np.concatenate(system.momentum(q, w)) for q, w in zip(run.q, run.v)])
    assert np.abs(run.v[-1] - run.v[0]).max() > 0.3
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(momentum), 1)), atol=1e-6)


@pytest.mark.parametrize("below", ["box", "hull", "mesh"])
@pytest.mark.parametrize("above", ["box", "hull", "mesh"])
@pytest.mark.parametrize(("shift", "turn"), [(0.0, 0.0), (0.02, 0.4)])
def test_a_cube_rests_on_a_cube(below, above, shift, turn):
    robot = pl.Robot("stack")
    robot.add_body("below", joint=pl.Free(), shape=solids()[below], mass=1.0, offset=(0, 0, 0.05))
    offset = pl.translate(shift, 0, 0.15) @ pl.rotate("z", turn)
    robot.add_body("above", joint=pl.Free(), shape=solids()[above], mass=0.5, offset=offset)
    robot.add_obstacle("floor", pl.HalfSpace())
    law = {"stiffness": 1e5, "exponent": 1.0, "damping": 100.0, "friction": 0.5}
    robot.add_contact("standing", "below", "floor", **law)
    robot.add_contact("stacked", "above", "below", **law)
    run = pl.simulate(robot.compile(), 1.0)
    assert run.success
    rest = pl.solve_statics(run.system, start=run)
    assert rest.success
    assert rest.stable
    found = rest.contacts
    np.testing.assert_allclose(found.force_on("above"), [0, 0, 0.5 * 9.81], atol=1e-6)
    np.testing.assert_allclose(found.force_on("floor"), [0, 0, -1.5 * 9.81], atol=1e-6)
    assert set(found.of("stacked").link) == {"above"}
    np.testing.assert_allclose(found.of("stacked").normal[:, 2], 1.0, atol=1e-6)
    sinking = np.array([0.0, 0.0, -9.81 * (1.5 / 4 + 0.5 / len(found.of("stacked"))) / 1e5])
    if shift == 0.0:
        np.testing.assert_allclose(run.positions("above")[-1] - [shift, 0, 0.15], sinking, atol=1e-7)


def test_crossed_beams_rest_on_their_edges():
    """No corner of one is on the other."""
    robot = pl.Robot("beams")
    robot.add_obstacle("ground", pl.Box(0.3, 0.03, 0.03))
    robot.add_body("beam", joint=pl.Prismatic("z"), shape=pl.Box(0.03, 0.3, 0.03), mass=0.4, offset=(0, 0, 0.03))
    robot.add_contact("across", "beam", "ground", stiffness=1e5, exponent=1.0, damping=100.0)
    start = robot.compile()
    rest = pl.solve_statics(start, start=[-1e-5])
    assert rest.success
    assert len(rest.contacts) == 4
    np.testing.assert_allclose(rest.contacts.force_on("beam"), [0, 0, 0.4 * 9.81], atol=1e-9)
    np.testing.assert_allclose(np.abs(rest.contacts.point[:, :2]), 0.0135, atol=1e-12)
    np.testing.assert_allclose(start.pose("beam", rest.q)[2, 3], 0.03 - 0.4 * 9.81 / 4e5, rtol=1e-9)


@pytest.mark.parametrize(
    ("shape", "target", "height"),
    [
        (pl.Sphere(0.05), pl.Sphere(0.1), 0.15),
        (pl.Sphere(0.05), pl.Hull(block_points()), 0.1),
        (pl.Sphere(0.05), pl.HeightField(np.zeros((4, 4)), (1, 1)), 0.05),
        (pl.Capsule(0.05, 0.1), pl.Capsule(0.1, 0.1, "y"), 0.15),
        (pl.Box(0.1, 0.1, 0.1), pl.Box(0.3, 0.3, 0.1), 0.1),
        (pl.Sphere(0.05), pl.Ellipsoid(0.1, 0.2, 0.05), 0.1),
    ],
    ids=repr,
)
def test_an_elastic_bounce_keeps_the_energy(shape, target, height):
    robot = pl.Robot("bounce")
    robot.add_body("thing", joint=pl.Free(), shape=shape, mass=1.0, offset=(0, 0, height + 0.01))
    robot.add_obstacle("target", target)
    robot.add_contact("hit", "thing", "target", stiffness=1e6)
    system = robot.compile()
    run = pl.simulate(system, 0.2, rtol=1e-8, atol=1e-10)
    assert run.success
    pressed = np.array([(0.4 * found.normal_force * -found.gap).sum() for found in run.contacts()])  # ∫ k δ^1.5 dδ
    energy = run.energies().total + pressed
    z = run.positions("thing")[:, 2]
    assert z.min() < height < z[-1] + 0.02
    np.testing.assert_allclose(energy, energy[0], atol=2e-5 * 9.81 * 0.01)


def test_costs_of_contacts_between_bodies():
    """Derivatives of clearances and forces, of corners and of edges that fade, against differences."""
    faded = 0
    for seed in range(4):
        system = crowd(seed, damping=0.2, friction=0.0)
        q = near(system, seed)[0]
        table = contact_table(system, q, np.zeros(system.nv), 0.0)[0]
        faded += np.sum((table[:, T_SECOND] >= 0) & (table[:, T_WEIGHT] > 1e-3) & (table[:, T_WEIGHT] < 1.0))
        clear, force = pl.costs.Clearance(), pl.costs.ContactForce()
        states = pl.costs.States.at_rest(system, q)
        found = system.contacts(q)
        sums = [found.of(own).normal_force.sum() for own in system.robot.contacts]
        np.testing.assert_allclose(force.evaluate(states).value[0], sums, rtol=1e-12)
        assert clear.evaluate(states).value.shape[1] == clear.size(system)
        d, h, none = np.random.default_rng(seed).normal(size=system.nv), 1e-6, np.zeros((1, system.nv))
        for quantity in (clear, force):
            moved = [pl.costs.States.at_rest(system, system.integrate(q, s * h * d)) for s in (1, -1)]
            plus, minus = (quantity.evaluate(state).value[0] for state in moved)
            slope = (plus - minus) / (2 * h)
            exact = quantity.evaluate(states).push(pl.costs.Variation(d[None], none, np.zeros((1, system.nu))))[0]
            wrong = np.abs(exact - slope) > 1e-6 * np.abs(slope).max()
            assert wrong.sum() <= 0.01 * len(slope)  # closest points of capsules may jump
    assert faded
