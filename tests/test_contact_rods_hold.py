"""Moving parts that hold each other by friction: what pairs remember, exact derivatives, lying still, slipping, impacts."""

import numpy as np
import pytest

import pliant as pl
from load_robots import check_tangents, complex_tangents, state
from pliant.kernels import engine
from pliant.kernels.layout import STATIC
from pliant.kernels.loads.bristles import PLACES, SLOT
from pliant.system import Given
from pliant.system.contacts import find_contacts
from pliant.system.dynamics import arguments, residual_tangent
from test_contact_physics import tangle

G = 9.81
LAW = {"damping": 0.3, "friction": 0.4, "slip_speed": 0.1, "stiction": 2e-3}


def kept(system: pl.System, q: np.ndarray, v: np.ndarray, given: Given) -> np.ndarray:
    """What loads remember after the time of `given`."""
    with system.borrow() as space:
        system.run_job(engine.RESIDUAL, q, v, given=given, space=space)
        return space.work.kept.copy()


@pytest.mark.parametrize("lag", [0.0, 0.02])
@pytest.mark.parametrize("kind", ["ab", "aa"])
def test_exact_derivatives_with_bent_bristles(kind, lag, monkeypatch):
    """On a floating robot, with memory and a time that has passed since, some sticking and some slipping."""
    robot = tangle("free", **LAW)
    for name in {"ab", "aa"} - {kind}:
        del robot.contacts[name]
    system = robot.compile()
    plain = type(system).make_work
    bent = np.zeros(system.nz)

    def make_work(self, dtype=np.float64):
        work = plain(self, dtype)
        work.memory[:], work.lag[0] = bent, lag
        return work

    monkeypatch.setattr(type(system), "make_work", make_work)
    met = slipped = 0
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
        found = find_contacts(system, q, v, 0.0, given)
        slipped += int((np.linalg.norm(found.friction, axis=1) > 0.999 * LAW["friction"] * found.normal_force).sum())
        exact = complex_tangents(system, q, v, a, np.zeros(0))
        inner = (system.elastic_tangent(q), system.damping_matrix())
        for k in range(2):
            weights = tuple(np.eye(3)[k])
            got = residual_tangent(system, arguments(system, q, v, a, None, None), weights, given) - inner[k]
            scale = max(np.abs(exact[k]).max(), 1e-6 * np.abs(inner[k]).max())
            assert np.abs(got - exact[k]).max() <= 3e-12 * scale
    assert met > 5
    assert 0 < slipped < met


def carried(**law: float) -> pl.System:
    """A floating hub with a soft arm, and a body on another arm that carries a ball and a box which the first touches."""
    robot = pl.Robot("carried", gravity=(1, -2, -9))
    hub = robot.add_body("hub", joint=pl.Free(), shape=pl.Sphere(0.05), mass=0.4)
    silicone = pl.Material(young=1e5, poisson=0.45, density=1100, viscosity=1e3)
    options = {"material": silicone, "section": pl.Circle((0.03, 0.02)), "points": 6}
    robot.add_rod(
        "arm",
        parent=hub,
        offset=(0.05, 0, 0),
        length=0.5,
        strains=pl.Strains(torsion=1, bending=2, stretch=0),
        **options,
    )
    other = robot.add_rod(
        "other",
        parent=hub,
        offset=pl.translate(0.05, 0.08, 0) @ pl.rotate("x", 0.3),
        length=0.3,
        strains=pl.Strains.kirchhoff(2),
        **options,
    )
    head = robot.add_body("head", parent=other.tip, joint=pl.Revolute((1, 1, 0)), shape=pl.Sphere(0.05), mass=0.2)
    robot.add_obstacle("ball", pl.Sphere(0.12), parent=head, pose=(0.02, -0.1, 0.01))
    robot.add_obstacle(
        "box", pl.Box(0.2, 0.15, 0.2), parent=head, pose=pl.translate(0.1, -0.12, 0) @ pl.rotate("z", 0.4)
    )
    for shape in ("ball", "box"):
        robot.add_contact(f"on {shape}", "arm", shape, stiffness=200.0, **law)
    return robot.compile()


@pytest.mark.parametrize("lag", [0.0, 0.02])
@pytest.mark.parametrize("law", [LAW, {**LAW, "damping": 0.0, "restitution": 0.5}], ids=["damping", "restitution"])
def test_exact_derivatives_with_moving_obstacles(law, lag, monkeypatch):
    system = carried(**law)
    plain = type(system).make_work
    bent = np.zeros(system.nz)

    def make_work(self, dtype=np.float64):
        work = plain(self, dtype)
        work.memory[:], work.lag[0] = bent, lag
        return work

    monkeypatch.setattr(type(system), "make_work", make_work)
    met = slipped = 0
    for seed in range(8):
        q, v, a = state(system, seed, scale=0.6)
        v = 0.3 * v
        bent[:] = kept(system, q, v, Given(lag=0.1))
        own = bent.reshape(-1, 4)
        own[:, :3] *= np.random.default_rng(seed).uniform(0.2, 1.0, size=(len(own), 1))
        given = Given(memory=bent.copy(), lag=lag)
        found = find_contacts(system, q, v, 0.0, given)
        met += len(found)
        slipped += int((np.linalg.norm(found.friction, axis=1) > 0.999 * law["friction"] * found.normal_force).sum())
        exact = complex_tangents(system, q, v, a, np.zeros(0))
        inner = (system.elastic_tangent(q), system.damping_matrix())
        for k in range(2):
            weights = tuple(np.eye(3)[k])
            got = residual_tangent(system, arguments(system, q, v, a, None, None), weights, given) - inner[k]
            scale = max(np.abs(exact[k]).max(), 1e-6 * np.abs(inner[k]).max())
            assert np.abs(got - exact[k]).max() <= 3e-12 * scale
    assert met > 5
    assert 0 < slipped < met


def test_a_pair_keeps_its_slot():
    """The bristle of a pair stays with it; what does not touch any more is forgotten."""
    system = tangle("free", **LAW).compile()
    n = 4 * len(system.loads["contact"].point)
    seen = 0
    for seed in range(12):
        q, v, _ = state(system, seed, scale=4.0)
        first = kept(system, q, v, Given(lag=0.01))
        slots = first[n:].reshape(-1, SLOT)
        seen += int((slots[:, 4] > 0).sum())
        # a little later everything is where it was, and bent further
        second = kept(system, q, v, Given(memory=first, lag=0.01))[n:].reshape(-1, SLOT)
        np.testing.assert_array_equal(second[:, 4], slots[:, 4])
        # far away nothing is left
        away = kept(system, system.neutral(), v, Given(memory=first, lag=0.01))[n:]
        assert not np.any(away)
        # names are those of capsules that touch, each at most once in the slots of another
        for own in slots[:, 4].reshape(-1, PLACES):
            names = own[own > 0]
            assert len(set(names)) == len(names)
    assert seen > 10


def laid(mu: float, slope: float, **law: float) -> pl.System:
    """A rod that lies across two soft rails and may slide down along its own axis, y."""
    robot = pl.Robot("rods", gravity=(0, G * np.sin(slope), -G * np.cos(slope)))
    for k, y in enumerate((-0.05, 0.05)):
        robot.add_rod(
            f"rail {k}", offset=pl.translate(-0.1, y, 0), length=0.2, section=pl.Circle(0.01), points=10,
            material=pl.Material(young=1e8, poisson=0.4, density=1100, viscosity=1e5), strains=pl.Strains(bending=2, torsion=1),
        )  # fmt: skip
    down = robot.add_body("down", joint=pl.Prismatic("z"), mass=0.01, shape=pl.Sphere(0.01))
    along = robot.add_body("along", parent=down, joint=pl.Prismatic("y"), mass=0.01, shape=pl.Sphere(0.01))
    robot.add_rod(
        "top", parent=along, offset=pl.translate(0, -0.1, 0.0199) @ pl.rotate("z", np.pi / 2), length=0.2, section=pl.Circle(0.01),
        material=pl.Material(young=1e7, poisson=0.4, density=1100, viscosity=1e4), strains=pl.Strains(bending=2, torsion=1), points=10,
    )  # fmt: skip
    for k in range(2):
        robot.add_contact(f"touch {k}", "top", f"rail {k}", stiffness=1e6, damping=2.0, friction=mu, **law)
    return robot.compile()


def test_rods_lie_still_on_rods():
    """Less than a nanometre in a second where regularised friction creeps by millimetres; statics find it at rest, with the forces of its weight."""
    system = laid(0.5, 0.2)
    run = pl.simulate(system, 3.0)
    assert run.success
    x = run.positions("along")
    late = run.t > 2.0
    assert np.ptp(x[late], axis=0).max() < 1e-9
    rest = pl.solve_statics(system, start=run)
    assert rest.success
    np.testing.assert_allclose(system.pose("along", rest.q)[:3, 3], x[-1], atol=1e-8)
    mass = (
        system.mass - 2 * 1100 * np.pi * 0.01**2 * 0.2 - 0.01
    )  # without the rails and the slide, which only goes down
    np.testing.assert_allclose(rest.contacts.force_on("top")[1], -mass * G * np.sin(0.2), rtol=1e-6)
    smooth = pl.simulate(laid(0.5, 0.2, stiction=0.0), 3.0)
    assert np.ptp(smooth.positions("along")[smooth.t > 2.0], axis=0).max() > 1e-3


@pytest.mark.parametrize(("part", "holds"), [(0.85, False), (1.2, True)])
def test_it_slips_where_coulomb_says(part, holds):
    """Where friction is less than what is needed to hold it, which statics with more of it tell."""
    rough = laid(0.5, 0.2)
    touching = pl.solve_statics(rough, start=pl.simulate(rough, 3.0)).contacts
    needed = np.linalg.norm(touching.friction.sum(axis=0)) / touching.normal_force.sum()
    run = pl.simulate(laid(part * needed, 0.2), 3.0)
    assert run.success
    y = run.positions("along")[run.t > 2.0, 1]
    if holds:
        assert np.ptp(y) < 1e-7
    else:
        assert np.ptp(y) > 1e-3


def test_restitution_of_rods():
    """A rod that falls flat onto a fixed one leaves with e times the speed of its impact."""
    robot = pl.Robot("rods", gravity=(0, 0, 0))
    stiff = pl.Material(young=1e11, poisson=0.3, density=1100, viscosity=1e8)
    shape = {
        "length": 0.1,
        "section": pl.Circle(0.01),
        "material": stiff,
        "strains": pl.Strains(bending_y=0),
        "points": 5,
    }
    robot.add_rod("fixed", offset=(-0.05, 0, 0), **shape)
    robot.add_rod(
        "thrown", offset=pl.translate(0, -0.05, 0.021) @ pl.rotate("z", np.pi / 2), joint=pl.Prismatic("z"), **shape
    )
    robot.add_contact("touch", "thrown", "fixed", stiffness=1e5, restitution=0.6)
    system = robot.compile()
    v = np.zeros(system.nv)
    v[system.v_slice("thrown")][0] = -0.5
    run = pl.simulate(system, 0.02, velocity=v, rtol=1e-6, atol=1e-8, max_step=1e-4)
    assert run.success
    assert abs(run.v[-1, system.v_slice("thrown")][0] / 0.5 - 0.6) < 0.02


def test_statics_see_the_displacement():
    """In statics a pair that touched holds with the displacement since the start: derivatives by differences."""
    system = laid(0.5, 0.2)
    run = pl.simulate(system, 1.0)
    q, memory = run.q[-1], run.memory[-1]
    given = Given(memory=memory, lag=STATIC, since=q)
    K = residual_tangent(
        system, arguments(system, q, np.zeros(system.nv), np.zeros(system.nv), None, None), (1.0, 0.0, 0.0), given
    )
    rng = np.random.default_rng(1)
    for _ in range(3):
        d = rng.normal(size=system.nv) * system.internal.scale
        d *= 1e-9 / np.abs(d).max()
        sides = []
        for sign in (1.0, -1.0):
            force = np.empty(system.nv)
            system.run_job(engine.RESIDUAL, system.integrate(q, sign * d), force=force, given=given)
            sides.append(force)
        change = 0.5 * (sides[0] - sides[1])
        np.testing.assert_allclose(K @ d, change, atol=1e-5 * np.abs(change).max())


def test_derivatives_without_memory():
    """As before anything has happened."""
    system = tangle("free", **LAW).compile()
    for seed in range(4):
        q, v, a = state(system, seed, scale=4.0)
        check_tangents(system, q, v, a, np.zeros(0), tol=3e-12)


def test_names_of_slots_are_not_interpolated():
    """Between steps too, what is stored names capsules, and contacts there have friction."""
    system = laid(0.5, 0.2)
    run = pl.simulate(system, 1.0, output=np.linspace(0, 1, 400))
    steps = pl.simulate(system, 1.0).resample(np.linspace(0, 1, 400))
    n = 4 * len(system.loads["contact"].point)
    for found in (run, steps):
        names = found.memory[:, n:].reshape(len(found.t), -1, SLOT)[:, :, 4]
        np.testing.assert_array_equal(names, np.round(names))
        assert np.any(names > 0)
    assert run.contacts(0.9876).force_on("top")[1] < -0.05
