"""Contacts as data: what is reported is what acts, in states, equilibria, runs, files, plots and viewers."""

import json

import numpy as np
import pytest

import pliant as pl
from pliant.kernels.loads.contact import T_CONTACT, T_FIRST, T_POINT, T_SECOND
from pliant.kernels.recursion.points import point_jacobians
from pliant.system.contacts import columns, contact_table
from pliant.viz.html import decode_html, write_html
from pliant.viz.recording import record, record_result

RUBBER = pl.Material(young=2e5, poisson=0.45, density=1000, viscosity=1e3)
FLOOR = -0.01
LAW = {"stiffness": 800.0, "damping": 0.4, "friction": 0.5, "slip_speed": 0.02}


def everything(*, contacts=True):
    """A floating body with an obstacle on it, a hinged one, and two rods: every kind of contact at once."""
    robot = pl.Robot("everything")
    robot.add_body("hull", joint=pl.Free(), shape=pl.Box(0.1, 0.08, 0.06), mass=0.4)
    robot.add_body(
        "lid", parent="hull", joint=pl.Revolute("y"), offset=(0.05, 0, 0.03), shape=pl.Sphere(0.03), mass=0.1
    )
    options = {"section": pl.Circle(0.012), "material": RUBBER, "strains": pl.Strains.reissner(1), "points": 12}
    robot.add_rod("b", parent="hull", offset=(0.05, 0.03, 0.0), length=0.3, **options)
    robot.add_rod("a", parent="hull", offset=(0.05, -0.03, 0.0), length=0.35, **options)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, FLOOR))
    robot.add_obstacle("ball", pl.Sphere(0.05), pose=(0.11, 0.0, 0.04))
    robot.add_obstacle("box", pl.Box(0.1, 0.1, 0.1), pose=(0.3, -0.03, -0.055))
    robot.add_obstacle("post", pl.Cylinder(0.02, 0.4, "y"), pose=(0.15, 0.0, -0.025))
    robot.add_obstacle("tube", pl.Cylinder(0.045, 1.0, "x"), pose=(0.2, 0.0, 0.0), inside=True)
    robot.add_obstacle("lid side", pl.Sphere(0.06), parent="lid", pose=(0.04, 0, 0))
    if contacts:
        for obstacle in ("floor", "ball", "box", "post"):
            robot.add_contact(f"a on {obstacle}", "a", obstacle, per_length=obstacle == "post", **LAW)
        robot.add_contact("hull on floor", "hull", "floor", **LAW)
        robot.add_contact("lid on ball", "lid", "ball", **LAW)
        robot.add_contact("b in tube", "b", "tube", **LAW)
        robot.add_contact("b on lid", "b", "lid side", **LAW)  # the obstacle moves too
        robot.add_contact("a with itself", "a", "a", **LAW)
        robot.add_contact("b with a", "b", "a", **LAW)  # the points of "a" come first in the tables
    return robot.compile()


@pytest.fixture(scope="module")
def system():
    return everything()


@pytest.fixture(scope="module")
def bare():
    return everything(contacts=False)


def state(system, seed):
    """A state with many contacts: rods nearly straight among the obstacles, or (odd seeds) wound up and crossing."""
    rng = np.random.default_rng(seed)
    q = system.neutral()
    q[4:7] = 0.002 * rng.normal(size=3)
    own = system.q_slice("a")
    q[own] = 0.02 * rng.normal(size=own.stop - own.start)
    if seed % 2:
        q[system.q_slice("lid")] = 0.5
        q[own.start] = 2.0
        q[own.start + 4] = 26.0 + rng.normal()  # more than a full turn
        q[system.q_slice("b").start + 4] = -4.0
    return q, 0.3 * rng.normal(size=system.nv)


@pytest.mark.parametrize("seed", range(4))
def test_reported_forces_are_the_contact_part_of_the_residual(system, bare, seed):
    q, v = state(system, seed)
    a = np.random.default_rng(seed).normal(size=system.nv)
    part = bare.residual(q, v, a) - system.residual(q, v, a)  # the generalised forces of all contacts
    found = system.contacts(q, v)
    table, origin = contact_table(system, q, v, 0.0)
    table = table[np.lexsort((table[:, T_SECOND], table[:, T_FIRST], table[:, T_CONTACT]))]
    first = system.contact.point[table[:, T_FIRST].astype(int), 0]
    second = np.array(
        [
            system.contact.point[int(m), 0]
            if m >= 0
            else system.contact.shape[list(system.robot.obstacles).index(o), 1]
            for m, o in zip(table[:, T_SECOND], found.other)
        ]
    )
    # the order in which rods were described is not that of their points: force and normal are turned with it
    sign = np.where([name == "b with a" for name in found.name], -1.0, 1.0)
    total = np.zeros(system.nv)
    for steps, side in ((first, 1.0), (second, -1.0)):
        J, rate = np.zeros((len(found), 6, system.nv)), np.zeros((len(found), 6, system.nv))
        motion = np.zeros((len(found), 18))
        moving = steps >= 0
        point_jacobians(*system.workspace().packed, q, v, np.where(moving, steps, 0), motion, J, rate)
        x = found.point - origin
        wrench = np.hstack([np.cross(x, found.force), found.force]) * (side * sign * moving)[:, None]
        total += np.einsum("kij,ki->j", J, wrench)
    assert np.abs(part).max() > 0.1
    np.testing.assert_allclose(total, part, rtol=0, atol=1e-12 * np.abs(part).max())
    assert np.array_equal(table[:, T_POINT : T_POINT + 3] + origin, found.point)


def test_every_kind_of_contact_was_there(system):
    seen = {name for seed in range(4) for name in system.contacts(*state(system, seed)).name}
    assert seen == set(system.robot.contacts)


def test_a_row_says_the_law(system):
    q, v = state(system, 0)
    found = system.contacts(q, v)
    assert len(found) == len(found.gap) == len(found.force) > 20
    assert np.all(found.gap < 0)
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(found.normal_force[:, None] * found.normal + found.friction, found.force, atol=1e-15)
    np.testing.assert_allclose(np.einsum("ki,ki->k", found.normal, found.friction), 0.0, atol=1e-13)
    assert np.all(np.linalg.norm(found.friction, axis=1) <= LAW["friction"] * found.normal_force * (1 + 1e-12))
    assert np.any(np.linalg.norm(found.friction, axis=1) > 0.1 * LAW["friction"] * found.normal_force)
    still = system.contacts(q)
    assert np.all(np.abs(still.friction) < 1e-14 * still.normal_force.max())
    plain = [k for k, name in enumerate(still.name) if not system.robot.contacts[name].per_length]
    np.testing.assert_allclose(still.normal_force[plain], 800.0 * (-still.gap[plain]) ** 1.5, rtol=1e-12)


def test_normals_point_from_the_other_to_the_link(system):
    q, v = state(system, 1)
    found = system.contacts(q, v)
    floor = found.of("floor")
    np.testing.assert_allclose(floor.normal, np.tile([0.0, 0.0, 1.0], (len(floor), 1)), atol=1e-15)
    np.testing.assert_allclose(floor.point[:, 2], FLOOR + floor.gap, atol=1e-15)
    crossing = found.of("b with a")
    assert set(crossing.link) == {"b"}
    assert set(crossing.other) == {"a"}
    axis = {rod: system.rod_poses(rod, q, np.linspace(0, 1, 2001))[:, :3, 3] for rod in "ab"}
    for point, normal in zip(crossing.point, crossing.normal):
        a, b = (axis[rod][np.argmin(np.linalg.norm(axis[rod] - point, axis=1))] for rod in "ab")
        assert normal @ (b - a) > 0


def test_more_contacts_than_the_first_table_holds():
    robot = pl.Robot("pressed")
    robot.add_rod(
        "rod", length=1.0, section=pl.Circle(0.02), material=RUBBER, strains=pl.Strains.kirchhoff(1), points=150
    )
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.015))
    robot.add_contact("lying", "rod", "floor", stiffness=1e3)
    system = robot.compile()
    assert len(system.contacts(system.neutral())) > 140


def test_pairs_that_are_only_near():
    robot = pl.Robot("above")
    for name, height in (("low", 0.0), ("high", 0.05)):
        robot.add_rod(
            name, length=0.3, section=pl.Circle(0.01), material=RUBBER, strains=pl.Strains.kirchhoff(1),
            parent="world", offset=(0, 0, height),
        )  # fmt: skip
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.02))
    robot.add_contact("on floor", "low", "floor", stiffness=1e3)
    robot.add_contact("crossing", "low", "high", stiffness=1e3)
    system = robot.compile()
    q = system.neutral()
    assert len(system.contacts(q)) == 0
    assert system.contacts(q).force.shape == (0, 3)
    near = system.contacts(q, within=0.011)
    assert set(near.name) == {"on floor"}
    np.testing.assert_allclose(near.gap, 0.01, atol=1e-15)
    assert not np.any(near.force)
    both = system.contacts(q, within=0.0301)
    assert set(both.name) == {"on floor", "crossing"}
    np.testing.assert_allclose(both.of("crossing").gap.min(), 0.03, atol=1e-15)
    np.testing.assert_allclose(
        both.of("crossing").normal, np.tile([0, 0, -1.0], (len(both.of("crossing")), 1)), atol=1e-14
    )
    with pytest.raises(ValueError, match="within"):
        system.contacts(q, within=-1.0)
    with pytest.raises(ValueError, match="v has shape"):
        system.contacts(q, [0.0])


def test_a_robot_without_contacts_has_none(bare):
    assert len(bare.contacts(bare.neutral(), within=1.0)) == 0
    assert str(bare.contacts(bare.neutral())) == "0 contacts"


@pytest.fixture(scope="module")
def resting():
    robot = pl.Robot("crate <b>")
    crate = robot.add_body("crate", joint=pl.Free(), shape=pl.Box(0.2, 0.1, 0.1), mass=1.5)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.05))
    robot.add_contact("standing", crate, "floor", stiffness=2e4, exponent=1.0, damping=0.5, friction=0.4)
    return robot.compile()


@pytest.fixture(scope="module")
def run(resting):
    velocity = [0, 0, 0, 0.5, 0, 0]
    depth = 1.5 * 9.81 / 4 / 2e4
    q = resting.neutral()
    q[6] = -depth
    return pl.simulate(resting, 0.3, start=q, velocity=velocity, output=0.01)


def test_weight_on_a_plane():
    robot = pl.Robot("scales")
    robot.add_body("crate", joint=pl.Prismatic("z"), shape=pl.Box(0.2, 0.1, 0.1), mass=1.5)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.0501))
    robot.add_contact("standing", "crate", "floor", stiffness=2e4)
    rest = pl.solve_statics(robot.compile(), start=[-0.002])
    assert rest.success
    np.testing.assert_allclose(rest.contacts.force_on("crate"), [0, 0, 1.5 * 9.81], rtol=1e-9)
    np.testing.assert_allclose(rest.contacts.force_on("floor"), [0, 0, -1.5 * 9.81], rtol=1e-9)
    np.testing.assert_allclose(rest.contacts.normal_force, np.full(4, 1.5 * 9.81 / 4), rtol=1e-9)
    np.testing.assert_allclose(rest.contacts.gap, -((1.5 * 9.81 / 4 / 2e4) ** (1 / 1.5)), rtol=1e-9)
    assert not np.any(rest.contacts.friction)


def test_contacts_of_a_run(run):
    sliding = run.contacts(0.1)
    assert len(sliding) == 4
    weight = 1.5 * 9.81
    np.testing.assert_allclose(sliding.normal_force.sum(), weight, rtol=0.05)
    np.testing.assert_allclose(sliding.friction[:, 0].sum(), -0.4 * sliding.normal_force.sum(), rtol=0.02)
    history = run.contacts()
    assert len(history) == len(run.t)
    k = int(np.argmin(np.abs(run.t - 0.1)))
    np.testing.assert_allclose(history[k].force, sliding.force, rtol=1e-9)
    some = run.contacts([0.05, 0.1])
    assert [len(state) for state in some] == [4, 4]
    # momentum: what slows it down is what is reported
    whole = pl.simulate(
        run.system, 0.3, start=run.q[0], velocity=run.v[0]
    )  # at its own steps: friction ends suddenly, where the crate stops
    F = np.array([state.force_on("crate")[0] for state in whole.contacts()])
    lost = np.trapezoid(F, whole.t)
    np.testing.assert_allclose(1.5 * (whole.v[-1, 3] - whole.v[0, 3]), lost, rtol=0.01)
    with pytest.raises(ValueError, match="within the run"):
        run.contacts(7.0)


def test_contacts_in_files(run, tmp_path):
    h5py = pytest.importorskip("h5py")
    run.save(tmp_path / "run.h5")
    history = run.contacts()
    with h5py.File(tmp_path / "run.h5") as file:
        group = file["contacts"]
        assert group["force"].attrs["unit"] == "N"
        np.testing.assert_array_equal(group["force"][:], np.concatenate([state.force for state in history]))
        np.testing.assert_array_equal(group["state"][:], np.repeat(np.arange(len(history)), 4))
        assert set(group["name"].asstr()[:]) == {"standing"}
    again = pl.Result.load(tmp_path / "run.h5", run.system)
    np.testing.assert_array_equal(again.contacts(0.1).force, run.contacts(0.1).force)


def test_a_run_that_never_touches(resting, tmp_path):
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("xarray")
    q = resting.neutral()
    q[6] = 1.0
    free = pl.simulate(resting, 0.02, start=q, output=0.01)
    free.save(tmp_path / "free.h5")
    with h5py.File(tmp_path / "free.h5") as file:
        assert file["contacts/force"].shape == (0, 3)
        assert file["contacts/name"].shape == (0,)
    assert free.to_xarray()["contact_force"].shape == (0, 3)
    assert not np.any(free.plot_contacts().lines[0].get_ydata())
    assert columns([])["force"].shape == (0, 3)
    header, _arrays = decode_html(free.save_html(tmp_path / "free.html"))
    assert header["contacts"] == 0


def test_contacts_as_a_dataset(run):
    pytest.importorskip("xarray")
    data = run.to_xarray()
    history = run.contacts()
    assert data["contact_force"].dims == ("contact", "axis")
    assert data["contact_force"].attrs["units"] == "N"
    np.testing.assert_array_equal(data["contact_force"], np.concatenate([state.force for state in history]))
    np.testing.assert_array_equal(data["contact_time"], np.repeat(run.t, 4))
    total = data["contact_normal_force"].groupby(data["contact_time"]).sum()
    np.testing.assert_allclose(total, [state.normal_force.sum() for state in history], rtol=1e-12)


def test_contact_forces_over_time(run):
    pytest.importorskip("matplotlib")
    history = run.contacts()
    ax = run.plot_contacts()
    assert ax.get_ylabel() == "normal force [N]"
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [state.normal_force.sum() for state in history])
    ax = run.plot_contacts("standing", quantity="friction")
    size = [np.linalg.norm(state.friction.sum(axis=0)) for state in history]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), size)
    with pytest.raises(KeyError, match="stanting"):
        run.plot_contacts("stanting")


def lying(*, contact=True):
    """A free rod in a floor."""
    robot = pl.Robot("lying")
    robot.add_rod(
        "arm", joint=pl.Free(), length=0.5, section=pl.Circle(0.02), material=RUBBER, strains=pl.Strains.kirchhoff(2), points=6,
    )  # fmt: skip
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.015))
    if contact:
        robot.add_contact("touch", "arm", "floor", stiffness=2e4, per_length=True, friction=0.5, damping=1.0)
    return robot.compile()


def test_a_viewer_draws_what_acts():
    """The viewer had a contact law of its own: here 3.65 N at 8 points, where 5.14 N act at 6."""
    system = lying()
    q, v = system.neutral(), np.zeros(system.nv)
    v[3], v[5] = 0.3, -0.3
    drawn = record(system, q, v=v).contacts[0]
    part = lying(contact=False).residual(q, v, 0 * v) - system.residual(q, v, 0 * v)
    np.testing.assert_allclose(drawn.force.sum(axis=0), part[3:6], rtol=1e-12, atol=1e-12)
    assert len(drawn) == 6
    np.testing.assert_allclose(np.linalg.norm(drawn.force, axis=1).sum(), 5.138, rtol=1e-3)


def test_arrows_of_pages(run, tmp_path):
    recording = record_result(run)
    header, arrays = decode_html(write_html(recording, tmp_path / "run.html"))
    start, data = arrays["contact.start"], arrays["contact.data"].reshape(-1, 9)
    k = len(recording.t) // 4  # it still slides
    exact = run.contacts(float(recording.t[k]))
    drawn = data[start[k] : start[k + 1]]
    np.testing.assert_allclose(drawn[:, :3], exact.point, atol=1e-6)
    normal = recording.contact_scale * (exact.force - exact.friction)
    np.testing.assert_allclose(drawn[:, 3:6], normal, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(drawn[:, 6:], recording.contact_scale * exact.friction, rtol=1e-5, atol=1e-7)
    assert np.any(np.abs(drawn[:, 6]) > 1e-3)
    assert header["contacts"] == 4
    json.dumps(header)


def test_far_from_the_origin(resting):
    """Points are kept relative to a moving origin; they are reported in the world."""
    q = resting.neutral()
    q[4:7] = [1e5, -1e5, -1e-4]
    found = resting.contacts(q)
    np.testing.assert_allclose(found.point.mean(axis=0), [1e5, -1e5, -0.0501], atol=1e-9)
    np.testing.assert_allclose(found.gap, -1e-4, rtol=1e-9)
