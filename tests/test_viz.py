"""The viewers: numbers of what is drawn, and what is in the files."""

import pickle
import re
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.viz.drawing import plot_shape
from pliant.viz.geometry import build_scene
from pliant.viz.html import decode_html, encode, field_range, grid_cell, quaternions
from pliant.viz.recording import FIELDS, record, record_result
from pliant.viz.rods import thin_radius

RUBBER = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
STRAINS = pl.Strains(torsion=1, bending=2, stretch=1)
SECTIONS = {
    "circle": pl.Circle(radius=(0.03, 0.01)),
    "annulus": pl.Annulus(outer=0.03, inner=(0.02, 0.01)),
    "ellipse": pl.Ellipse(semi_y=0.03, semi_z=(0.02, 0.01)),
    "rectangle": pl.Rectangle(height=0.04, width=(0.02, 0.01)),
    "custom": pl.CustomSection(area=1e-3, Iy=1e-7, Iz=1e-7),
}


def rod_robot(section, length=0.5):
    robot = pl.Robot("one rod")
    robot.add_rod("arm", length=length, section=section, material=RUBBER, strains=STRAINS)
    return robot


def everything():
    """A robot with some of everything."""
    robot = pl.Robot("robot with <everything> & more")
    hub = robot.add_body("hub", shape=pl.Box(0.1, 0.06, 0.04), mass=0.3, com=(0.02, 0, 0), joint=pl.Revolute("z"))
    arm = robot.add_rod(
        "arm",
        parent=hub.at((0.07, 0, 0)),
        length=0.4,
        section=pl.Circle((0.02, 0.01)),
        material=RUBBER,
        strains=STRAINS,
    )
    hand = robot.add_rod(
        "hand", parent=arm.at(0.75), offset=pl.rotate("z", 0.7), length=0.2, section=pl.Rectangle(0.02, 0.006),
        material=RUBBER, strains=STRAINS,
    )  # fmt: skip
    robot.add_rod(
        "wire", parent=arm.tip, length=0.1, strains=pl.Strains(bending=1),
        stiffness=[1e-3, 1e-3, 1e-3, 10, 10, 10], inertia=[1e-6, 1e-6, 1e-6, 0.01, 0.01, 0.01],
    )  # fmt: skip
    ball = robot.add_body("ball", parent=hand.tip, shape=pl.Sphere(0.015), mass=0.02)
    robot.add_body("mass", parent=arm.at(0.5, (0, 0.03, 0)), mass=0.01)
    robot.add_frame("eye", arm.at(0.3), offset=(0, 0, 0.02))
    robot.add_tendon("straight", arm, y=0.008)
    robot.add_tendon("wound", pl.Along(arm, **pl.helical_routing(0.008, turns=2)))
    robot.add_tendon("short", arm, z=0.006, start=0.13, end=0.61)
    path = [hub.at((0, 0.04, 0)), pl.Along(arm, y=0.012, end=0.7), pl.Along(hand, y=0.005, start=0.9, end=0.1), ball]
    robot.add_tendon("through", path)
    robot.add_tendon("spring", [pl.Frame("world"), arm.at(0.9)], control="elastic", stiffness=20.0)
    robot.add_push_rod("pusher", arm, y=-0.006)
    robot.add_chamber("chamber", arm, area=2e-5, z=-0.005)
    robot.add_wrench("follower", arm.tip, force=(0, 0, 2), moment=(0.1, 0, 0), axes="body")
    robot.add_wrench("tilted", arm.at(0.5), offset=pl.rotate("z", 0.5), force=(1, 0, 0), axes="body", constant=True)
    robot.add_wrench("dead", ball, force=(0, 1, 0), constant=True)
    robot.add_distributed_wrench("wind", hand, force=(0, 0, 1))
    robot.add_dipole("magnet", hand.tip, moment=(0.1, 0, 0))
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.1))
    robot.add_obstacle("pipe", pl.Cylinder(0.2, 1.0), inside=True)
    robot.add_obstacle("post", pl.Box(0.05, 0.05, 0.3), pose=(0.3, 0.3, 0))
    robot.add_contact("touch", arm, "floor", stiffness=1e3)
    robot.add_contact("bump", ball, "floor", stiffness=1e3)
    return robot.compile()


@pytest.fixture(scope="module")
def full():
    return everything()


@pytest.fixture(scope="module")
def run(full):
    u = {"straight": 2.0, "wound": 1.0, "follower": 0.2, "wind": 0.3, "field_z": 0.01, "chamber": 1e4}
    return pl.simulate(full, 0.5, u=u, output=0.02)


# ---------------------------------------------------------------- surfaces


@pytest.mark.parametrize("kind", SECTIONS)
def test_a_rod_is_drawn_with_its_section_where_its_poses_are(kind):
    system = rod_robot(SECTIONS[kind]).compile()
    scene = build_scene(system, stations=30)
    (tube,) = scene.tubes
    q = system.random(1, scale=0.5)
    poses = scene.poses(q)
    mesh = tube.mesh(poses)
    assert mesh.is_closed
    for X, k in ((0.0, 0), (1.0, len(tube.X) - 1)):
        g = system.pose(f"arm@{X}", q)
        local = (mesh.vertices[tube.skin.station == k] - g[:3, 3]) @ g[:3, :3]
        np.testing.assert_allclose(local[:, 0], 0.0, atol=1e-12)  # in the plane of the section
        outline = SECTIONS[kind].outline([X], 4 if kind == "rectangle" else 20)[0]
        assert np.linalg.norm(outline[:, None] - local[:, 1:], axis=-1).min(axis=1).max() < 1e-12
        reach = np.linalg.norm(local[:, 1:], axis=1).max()
        np.testing.assert_allclose(reach, SECTIONS[kind].extent([X])[0], rtol=1e-12)


@pytest.mark.parametrize("kind", SECTIONS)
def test_the_volume_of_a_straight_rod_is_that_of_its_sections(kind):
    system = rod_robot(SECTIONS[kind]).compile()
    scene = build_scene(system, stations=60, outline=60)
    mesh = scene.tubes[0].mesh(scene.poses(system.neutral()))
    X = (np.arange(2000) + 0.5) / 2000
    volume = 0.5 * SECTIONS[kind].properties(X).area.mean()
    np.testing.assert_allclose(mesh.volume, volume, rtol=3e-3)


def test_a_section_that_jumps_is_drawn_with_a_step():
    def radius(X):
        return np.where(X < 1 / 3, 0.03, 0.01)

    system = rod_robot(pl.Circle(radius)).compile()
    scene = build_scene(system, stations=20, outline=80)
    (tube,) = scene.tubes
    near = np.sort(np.abs(tube.X - 1 / 3))[:2]
    assert near.max() < 1e-6
    mesh = tube.mesh(scene.poses(system.neutral()))
    assert mesh.is_closed
    np.testing.assert_allclose(mesh.volume, np.pi * 0.5 * (0.03**2 / 3 + 0.01**2 * 2 / 3), rtol=2e-3)


def test_a_steep_taper_is_no_jump():
    system = rod_robot(pl.Circle(lambda X: 0.02 + 0.01 * np.tanh((X - 0.5) / 0.02))).compile()
    assert np.diff(build_scene(system, stations=20).tubes[0].X).min() > 1e-3


def test_a_rod_without_section_is_a_thin_tube(full):
    wire = full.robot.link("wire").content
    assert 0.1 / 150 <= thin_radius(wire) <= 0.1 / 15
    tube = next(t for t in build_scene(full).tubes if t.name == "wire")
    np.testing.assert_allclose(np.linalg.norm(tube.skin.offset, axis=1).max(), thin_radius(wire))


SOLIDS = [
    pl.Capsule(0.1, 0.3, "z"),
    pl.Hull([[0, 0, 0], [0.2, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]),
    pl.Mesh([[0, 0, 0], [0.2, 0, 0], [0, 0.1, 0], [0, 0, 0.1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
]


def test_terrain_and_solids_are_drawn():
    """As obstacles and as bodies, in a scene and in plots."""
    robot = pl.Robot("things")
    hills = pl.HeightField.from_function(lambda x, y: 0.1 * np.cos(5 * x) - 0.05 * y, size=(2, 1), nodes=(21, 11))
    robot.add_obstacle("hills", hills)
    for k, shape in enumerate(SOLIDS):
        robot.add_obstacle(f"fixed {k}", shape, pose=(0.3 * k, 0, 1))
        robot.add_body(f"body {k}", joint=pl.Free(), shape=shape, density=500, offset=(0.3 * k, 0.5, 0.5))
    system = robot.compile()
    solids = {solid.name: solid for solid in build_scene(system).solids}
    ground = solids["hills"].mesh
    np.testing.assert_allclose(np.ptp(ground.vertices, axis=0)[:2], [2, 1], rtol=1e-12)
    a, b, c = (ground.vertices[ground.faces[:, k]] for k in range(3))
    assert np.all(np.cross(b - a, c - a)[:, 2] > 0)  # seen from above
    np.testing.assert_allclose(solids["body 1"].mesh.vertices.min(axis=0), 0.0, atol=1e-12)  # where its points say
    ax = plot_shape(system, system.neutral())
    assert len(ax.collections) > 0
    assert plot_shape(system, system.neutral(), view="xz") is not None


@pytest.mark.parametrize(
    "shape",
    [pl.Box(0.1, 0.2, 0.3), pl.Cylinder(0.1, 0.4, "y"), pl.Sphere(0.2), pl.Ellipsoid(0.1, 0.2, 0.3), *SOLIDS],
    ids=repr,
)
def test_meshes_of_bodies_are_closed_and_as_large_as_they_are(shape):
    mesh = shape.mesh()
    assert mesh.is_closed
    np.testing.assert_allclose(mesh.volume, shape.volume, rtol=0.02)
    second = np.abs(mesh.vertices).max(axis=0)
    if isinstance(shape, pl.Cylinder):
        np.testing.assert_allclose(second, [0.1, 0.2, 0.1], rtol=1e-2)


def test_a_mesh_with_a_hole_is_not_closed():
    mesh = pl.Box(1, 1, 1).mesh()
    assert not type(mesh)(mesh.vertices, mesh.faces[1:]).is_closed
    assert not pl.Cylinder(0.1, 1.0).mesh(inside=True).is_closed


def test_a_body_is_drawn_around_its_centre_of_mass(full):
    scene = build_scene(full)
    hub = next(s for s in scene.solids if s.name == "hub")
    np.testing.assert_allclose(
        (hub.mesh.vertices.min(axis=0) + hub.mesh.vertices.max(axis=0)) / 2, [0.02, 0, 0], atol=1e-12
    )


# ---------------------------------------------------------------- lines and poses


def test_poses_are_those_of_the_system(full):
    scene = build_scene(full)
    q = full.random(3, scale=0.3)
    poses = scene.poses(q)
    np.testing.assert_array_equal(poses[0], np.eye(4))
    for triad in scene.triads:
        if triad.name != "world":
            np.testing.assert_allclose(poses[triad.pose] @ triad.offset, full.pose(triad.name, q), atol=1e-12)
    for tube in scene.tubes:
        np.testing.assert_allclose(poses[tube.span], full.rod_poses(tube.name, q, tube.X), atol=1e-12)


def test_cables_are_as_long_as_the_system_says(full):
    scene = build_scene(full, stations=160)
    q = full.random(4, scale=0.4)
    poses = scene.poses(q)
    lengths = full.tendon_lengths(q)[0]
    weight = {"pusher": -1.0, "chamber": -2e-5}
    for cable, length in zip(scene.cables, lengths):
        drawn = np.linalg.norm(np.diff(cable.points(poses), axis=0), axis=1).sum()
        np.testing.assert_allclose(weight.get(cable.name, 1.0) * drawn, length, rtol=5e-4, err_msg=cable.name)
    assert [c.kind for c in scene.cables][-2:] == ["push rod", "chamber"]


def test_wound_tendons_get_more_stations(full):
    tubes = {tube.name: len(tube.X) for tube in build_scene(full, stations=None).tubes}
    straight = rod_robot(pl.Circle(0.01))
    straight.add_tendon("wound", "arm", **pl.helical_routing(0.008, turns=4))
    assert len(build_scene(straight.compile()).tubes[0].X) >= 96
    assert tubes["hand"] <= 60


def test_arrows_turn_with_what_they_follow(full):
    scene = build_scene(full)
    q = full.random(5, scale=0.5)
    poses = scene.poses(q)
    u = full.inputs({"follower": 2.0, "field_y": 0.3})
    arrows = {(a.name, a.kind): a.value(poses, u) for a in scene.arrows}
    R = full.pose("arm.tip", q)[:3, :3]
    np.testing.assert_allclose(arrows["follower", "force"], R @ [0, 0, 4], atol=1e-12)
    np.testing.assert_allclose(arrows["follower", "moment"], R @ [0.2, 0, 0], atol=1e-12)
    tilted = full.pose("arm@0.5", q)[:3, :3] @ [np.cos(0.5), np.sin(0.5), 0]
    np.testing.assert_allclose(arrows["tilted", "force"], tilted, atol=1e-12)
    np.testing.assert_allclose(arrows["dead", "force"], [0, 1, 0])
    np.testing.assert_allclose(arrows["magnetic field", "field"], [0, 0.3, 0])
    assert sum(a.name == "wind" for a in scene.arrows) == 9


def test_up_is_against_gravity():
    for gravity, up in (((9.81, 0, 0), [-1, 0, 0]), ((0, 0, 0), [0, 0, 1])):
        robot = rod_robot(pl.Circle(0.01))
        robot.gravity = np.array(gravity)
        assert build_scene(robot.compile()).up.tolist() == up


def test_a_wall_is_no_floor(full):
    assert build_scene(full).has_floor
    robot = rod_robot(pl.Circle(0.01))
    robot.add_obstacle("wall", pl.HalfSpace(), pose=pl.rotate("y", np.pi / 2))
    assert not build_scene(robot.compile()).has_floor


def test_wrong_input_is_named(full, tmp_path):
    with pytest.raises(TypeError, match="compile"):
        build_scene(full.robot)
    with pytest.raises(ValueError, match=rf"q has shape \(3,\), but \({full.nq},\)"):
        record(full, [0, 0, 0])
    with pytest.raises(ValueError, match="NaN"):
        record(full, np.full(full.nq, np.nan))
    with pytest.raises(ValueError, match="curvature"):
        pl.save_html(full, tmp_path / "x.html", color="bend")
    with pytest.raises(TypeError, match=r"result\.view"):
        pl.show(3)


# ---------------------------------------------------------------- colours, contact


def test_fields_are_strains_and_their_energy(full):
    q = full.random(6, scale=0.5)
    recording = record(full, q)
    fields = recording.fields
    first = 0
    energy = 0.0
    for tube in recording.scene.tubes:
        own = slice(first, first + len(tube.X))
        xi = full.strain(tube.name, q, tube.X)
        np.testing.assert_allclose(fields["curvature"][0, own], np.hypot(xi[:, 1], xi[:, 2]), atol=1e-12)
        np.testing.assert_allclose(fields["torsion"][0, own], xi[:, 0], atol=1e-12)
        np.testing.assert_allclose(fields["stretch"][0, own], xi[:, 3], atol=1e-12)
        energy += np.trapezoid(fields["energy"][0, own], tube.X) * full.rod_length(tube.name)
        first += len(tube.X)
    np.testing.assert_allclose(energy, full.elastic_energy(q), rtol=2e-3)


def test_dipoles_and_currents_are_drawn():
    robot = rod_robot(pl.Circle(0.01), length=0.3)
    robot.set_fluid(density=1000, current=(0, 0.5, 0))
    robot.add_hydrodynamics("arm", pl.Hydrodynamics.circular(cx=0.01, cy=1.1, cz=1.1))
    robot.add_magnet("magnet", "arm.tip", moment=(0, 0, 2.0))
    system = robot.compile()
    scene = build_scene(system)
    kinds = {arrow.name: arrow for arrow in scene.arrows}
    assert kinds["current"].kind == "current"
    np.testing.assert_allclose(kinds["current"].value(scene.poses(system.neutral()), np.zeros(system.nu)), [0, 0.5, 0])
    q = 0.5 + system.neutral()
    poses = scene.poses(q)
    tip = system.pose("arm.tip", q)
    np.testing.assert_allclose(kinds["magnet"].value(poses, np.zeros(system.nu)), 2.0 * tip[:3, 2], atol=1e-12)


def test_color_scale():
    assert field_range(np.array([-1.0, 1.0, 0.5] * 100)) == (-1.0, 1.0)
    low, high = field_range(np.zeros(5))
    assert low < high
    assert field_range(np.linspace(0.0131, 7.83, 500)) == (0.0, 8.0)  # round numbers in the legend
    assert field_range(np.linspace(-0.93, 1.17, 500)) == pytest.approx((-1.2, 1.2))
    assert grid_cell(0.4) == pytest.approx(0.1)
    assert grid_cell(1000) == pytest.approx(200)


def test_contact_points_lie_on_the_floor(full):
    robot = full.robot
    rest = record(full, full.neutral())
    assert len(rest.contacts[0]) == 0  # above the floor
    lower = pl.Robot("lying", gravity=(0, 0, -9.81))
    lower.add_rod("arm", length=0.5, section=pl.Circle(0.02), material=RUBBER, strains=STRAINS)
    lower.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.015))
    lower.add_contact("touch", "arm", "floor", stiffness=1e3, exponent=1.0)
    system = lower.compile()
    found = record(system, system.neutral()).contacts[0]
    place, force = found.point, found.force
    assert len(place) >= 3
    np.testing.assert_allclose(place[:, 2], -0.02)
    np.testing.assert_allclose(force, np.tile([0, 0, 1e3 * 0.005], (len(force), 1)), atol=1e-9)
    assert robot.contacts


# ---------------------------------------------------------------- recordings and files


def test_a_recording_covers_the_run(run):
    recording = record_result(run, fps=20, frames=1000)
    assert len(recording.t) == 11
    np.testing.assert_allclose(recording.t[[0, -1]], [0.0, 0.5])
    assert len(record_result(run, frames=7).t) == 7
    np.testing.assert_allclose(recording.poses[-1], recording.scene.poses(run.q[-1]), atol=1e-12)
    low, high = recording.bounds
    every = recording.poses[:, 1:, :3, 3]
    assert np.all(every.min(axis=(0, 1)) >= low)
    assert np.all(every.max(axis=(0, 1)) <= high)


def test_quaternions():
    rng = np.random.default_rng(0)
    R = np.array(
        [pl.lie.exp(np.concatenate([rng.normal(size=3) * s, np.zeros(3)]))[:3, :3] for s in (0, 1e-9, 0.5, 2, 3, 30)]
    )
    half_turns = [np.diag(d) for d in ([1, -1, -1], [-1, 1, -1], [-1, -1, 1])]
    for g in (*R, *half_turns):
        x, y, z, w = quaternions(np.asarray(g, dtype=float))
        back = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
        np.testing.assert_allclose(back, g, atol=1e-12)


def test_a_page_holds_everything_and_needs_nothing(run, tmp_path):
    path = run.save_html(tmp_path / "run.html")
    text = path.read_text(encoding="utf-8")
    assert path.stat().st_size < 2.5e6
    page = re.sub(r'<script type="module">.*?</script>', "", text, flags=re.S)
    assert not re.search(r"https?://", page)
    assert not re.search(r"\b(src|href)\s*=|@import|url\(|\bfetch\(", page)
    assert "robot with &lt;everything&gt; &amp; more" in page
    assert "MIT License" in page
    assert text.count("{{") == text.count("{{" + "x")  # every mark was filled in, in what is not the player
    for name in (
        "play",
        "scrub",
        "speed",
        "time",
        "show-tendons",
        "show-frames",
        "show-forces",
        "show-trails",
        "field",
    ):
        assert f'id="{name}"' in page
    header, _arrays = decode_html(path)
    assert header["name"] == run.system.name
    assert [t["name"] for t in header["tubes"]] == ["arm", "hand", "wire"]
    assert len(header["cables"]) == 7
    assert {f["name"] for f in header["fields"]} <= set(FIELDS)


def test_what_a_page_says_is_what_was_computed(run, tmp_path):
    recording = record_result(run)
    header, arrays = decode_html(run.save_html(tmp_path / "run.html"))
    T, N = recording.poses.shape[:2]
    position = np.array(header["low"]) + np.array(header["step"]) * arrays["position"].reshape(T, N, 3)
    np.testing.assert_allclose(position, recording.poses[:, :, :3, 3], atol=2e-5)
    turn = arrays["turn"].reshape(T, N, 4) / 32767
    exact = quaternions(recording.poses[:, :, :3, :3])
    np.testing.assert_allclose(np.abs(np.einsum("tni,tni->tn", turn, exact)), 1.0, atol=2e-4)
    assert np.all(np.einsum("tni,tni->tn", turn[1:], turn[:-1]) > 0)  # so that frames can be blended
    np.testing.assert_allclose(arrays["t"], recording.t, rtol=1e-6)
    np.testing.assert_array_equal(arrays["tube0.faces"].reshape(-1, 3), recording.scene.tubes[0].skin.faces)
    np.testing.assert_allclose(arrays["cable0.offset"].reshape(-1, 3), recording.scene.cables[0].offset, atol=1e-7)
    share = arrays["tension"].reshape(T, -1) / 255 * np.abs(recording.tension).max()
    np.testing.assert_allclose(share, np.abs(recording.tension), atol=np.abs(recording.tension).max() / 500)
    names = [f["name"] for f in header["fields"]]
    curvature = arrays[f"field{names.index('curvature')}"].reshape(T, -1) / 255
    low, high = field_range(recording.fields["curvature"])
    expected = np.clip(recording.fields["curvature"], low, high)
    np.testing.assert_allclose(low + curvature * (high - low), expected, atol=(high - low) / 250)
    count = np.diff(arrays["contact.start"])
    assert count.tolist() == [len(state) for state in recording.contacts]


def test_turning_around_is_smooth_in_a_page(tmp_path):
    robot = pl.Robot("wheel")
    robot.add_body("wheel", joint=pl.Revolute("z"), shape=pl.Cylinder(0.1, 0.02), mass=1.0)
    angles = np.linspace(0.0, 6 * np.pi, 200)
    _header, arrays = decode_html(pl.save_html(robot, tmp_path / "wheel.html", angles[:, None]))
    turn = arrays["turn"].reshape(200, 2, 4)[:, 1] / 32767
    assert np.all(np.einsum("ti,ti->t", turn[1:], turn[:-1]) > 0.9)
    np.testing.assert_allclose(np.abs(turn[:, 3]), np.abs(np.cos(angles / 2)), atol=1e-4)


def test_pages_of_a_shape(full, tmp_path):
    rest = pl.solve_statics(rod_robot(pl.Circle(0.02)).compile())
    header, arrays = decode_html(rest.save_html(tmp_path / "rest.html", color="curvature"))
    assert len(arrays["t"]) == 1
    assert header["field"] == "curvature"
    header, _ = decode_html(pl.save_html(full.robot, tmp_path / "robot.html"))
    assert header["name"] == full.name


def test_the_hand_of_the_documentation_closes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parent.parent / "docs" / "viewing.md").read_text(encoding="utf-8")
    names: dict = {}
    exec(compile(text.split("```python")[1].split("```")[0], "viewing.md", "exec"), names)
    assert names["run"].success
    distance = [np.linalg.norm(names["run"].positions(f"finger{k}.tip")[:, :2], axis=1) for k in range(5)]
    assert all(d.min() < 0.8 * d[0] for d in distance)
    assert (tmp_path / "hand.html").stat().st_size < 1.5e6


def test_the_same_run_gives_the_same_page(run):
    assert encode(record_result(run)) == encode(record_result(run))


def test_an_equilibrium_can_be_sent_elsewhere_without_its_system():
    robot = rod_robot(pl.Circle(lambda X: 0.02 + 0 * X))  # a function that cannot be pickled
    rest = pl.solve_statics(robot.compile())
    copy = pickle.loads(pickle.dumps(rest))
    np.testing.assert_array_equal(copy.q, rest.q)
    with pytest.raises(ValueError, match=r"pliant\.show"):
        copy.save_html("x.html")


def test_without_viser_the_error_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(ImportError, match=r"pip install 'pliant\[viz\]'.*save_html"):
        run.view()


def test_importing_pliant_loads_no_viewer():
    import subprocess

    code = "import sys, pliant; print(any(m in sys.modules for m in ('viser', 'pliant.viz.live', 'pliant.viz.html')))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "False"
    )


# ---------------------------------------------------------------- live pages, without a browser


def test_the_live_page_opens_plays_and_closes(run, capsys):
    pytest.importorskip("viser")
    with run.view(port=8341, color="curvature") as viewer:
        assert viewer.address in capsys.readouterr().out
        assert viewer.playback.playing  # as a saved page does
        viewer.playback.play(False)
        before = viewer.stage.painted[0].node.vertices.copy()
        viewer.playback.seek(0.5)
        assert np.abs(viewer.stage.painted[0].node.vertices - before).max() > 1e-4
        assert "rad/m" in viewer.stage.legend.content
        viewer.stage.switches.color = None
        viewer.stage.switches.trails = viewer.stage.switches.frames = True
        viewer.stage.apply()
        tube = viewer.stage.scene.tubes[0]
        vertices = tube.mesh(viewer.stage.recording.poses[-1]).vertices
        np.testing.assert_allclose(viewer.stage.tubes[0].vertices, vertices, atol=1e-6)
        assert not viewer.stage.painted[0].node.visible
        assert viewer.playback.slider.value == pytest.approx(0.5)
        assert "iframe" in viewer._repr_html_()
    assert not viewer.playback._thread.is_alive()


def studio_robot():
    robot = rod_robot(pl.Circle(0.01), length=0.3)
    robot.add_tendon("cable", "arm", z=0.008)
    robot.add_wrench("push", "arm.tip", force=(0, 0, 1))
    return robot.compile()


def test_default_ranges_bend_a_robot_visibly():
    from pliant.viz.ranges import default_ranges

    system = studio_robot()
    ranges = default_ranges(system)
    assert ranges["cable"][0] == 0.0
    assert ranges["push"][0] == -ranges["push"][1]
    rest = pl.solve_statics(system)
    bent = pl.solve_statics(system, {"cable": ranges["cable"][1]}, start=rest)
    assert bent.success
    tips = [system.pose("arm.tip", r.q)[:3, :3] for r in (rest, bent)]
    turn = np.arccos(np.clip((np.trace(tips[0].T @ tips[1]) - 1) / 2, -1, 1))
    assert 0.5 < turn < 3.1


def test_the_studio_solves_statics_and_releases():
    pytest.importorskip("viser")
    from pliant.viz.studio import Studio

    system = studio_robot()
    with pytest.raises(KeyError, match="did you mean 'cable'"):
        Studio(system, ranges={"cabel": (0, 1)})
    with pytest.raises(ValueError, match="smaller"):
        Studio(system, ranges={"cable": (1, 0)})
    with Studio(system, ranges={"cable": (0, 3)}, port=8342) as studio:
        start = studio.rest.q.copy()
        studio.set(cable=2.0)
        assert studio.solved.wait(20)
        exact = pl.solve_statics(system, {"cable": 2.0})
        np.testing.assert_allclose(studio.rest.q, exact.q, atol=1e-6)
        assert "stable" in studio.report.content
        studio.duration.value = 0.2
        studio.release()
        assert len(studio.stage.recording.t) > 5
        np.testing.assert_allclose(studio.stage.recording.q[0], exact.q, atol=1e-6)
        assert np.abs(studio.stage.recording.q[-1] - exact.q).max() > 1e-2
        studio.weight.value = 0.0
        studio.reset()
        assert studio.solved.wait(20)
        np.testing.assert_allclose(studio.rest.q, system.neutral(), atol=1e-9)
        assert np.abs(start).max() > 1e-3
    np.testing.assert_allclose(system.gravity, [0, 0, -9.81])  # the page has a copy of its own


def test_labels_after_a_release_are_true():
    pytest.importorskip("viser")
    with pl.studio(studio_robot(), ranges={"cable": (0, 3)}, port=8344) as studio:
        studio.set(cable=2.0)
        assert studio.solved.wait(20)
        studio.duration.value = 0.2
        studio.release()
        assert studio.inputs() == {"cable": 0.0, "push": 0.0}
        time.sleep(0.3)
        assert len(studio.stage.recording.t) > 5  # what was let go is still shown
        assert studio.traces._bend.data[1].max() > 0


def test_the_studio_moves_in_real_time():
    """Inputs, gravity and a modulus change while it swings; what is recorded becomes a page."""
    pytest.importorskip("viser")
    with pl.studio(studio_robot(), ranges={"cable": (0, 3)}, port=8345) as studio:
        sent = []
        studio.server.send_file_download = lambda name, content: sent.append((name, len(content)))
        start = studio.rest.q.copy()
        studio.live(True)
        assert studio.live_button.label == "Stop"
        assert studio.record_button.visible
        studio.record()
        studio.sliders["cable"].value = 2.0
        deadline = time.monotonic() + 20
        while studio.swing.sim.t < 0.3 and time.monotonic() < deadline:
            time.sleep(0.02)
        moving = studio.swing.sim
        assert np.abs(moving.q - start).max() > 1e-3
        assert moving.u[0] == 2.0
        studio.weight.value = 0.0
        studio.change({"arm.young": 5e6})
        assert studio.solved.wait(20)
        before = studio.swing.sim.t
        while studio.swing.sim.system is moving.system and time.monotonic() < deadline:
            time.sleep(0.02)
        assert studio.swing.sim.system.parameters["arm.young"] == 5e6
        assert not studio.swing.sim.system.gravity.any()
        assert studio.swing.sim.t >= before  # it goes on
        studio.record()
        assert sent[0][0].endswith(".html")
        assert sent[0][1] > 1000
        studio.live(False)
        assert studio.solved.wait(20)
        exact = pl.solve_statics(studio.system, {"cable": 2.0})
        np.testing.assert_allclose(studio.rest.q, exact.q, atol=1e-6)


def test_the_studio_changes_the_design_and_opens_another_robot():
    pytest.importorskip("viser")
    with pl.studio(studio_robot(), ranges={"cable": (0, 3)}, port=8346) as studio:
        wide = np.ptp(studio.stage.tubes[0].vertices[:, 1])
        studio.change({"arm.radius": 0.02})
        assert studio.solved.wait(20)
        assert np.ptp(studio.stage.tubes[0].vertices[:, 1]) == pytest.approx(2 * wide, rel=1e-3)
        studio.change()
        assert studio.solved.wait(20)
        assert np.ptp(studio.stage.tubes[0].vertices[:, 1]) == pytest.approx(wide, rel=1e-3)
        upload = SimpleNamespace(
            target=SimpleNamespace(value=SimpleNamespace(name="x.yaml", content=b"name: [")), client=None
        )
        studio._upload(upload)
        assert "x.yaml cannot be opened" in studio.report.content
        for name, content, told in (
            ("x.png", b"-", ".yaml, .yml or .json"),
            ("x.YML", b"\x89PNG\xff", "not text in UTF-8"),
        ):
            upload.target.value = SimpleNamespace(name=name, content=content)
            studio._upload(upload)
            assert f"{name} cannot be opened" in studio.report.content
            assert told in studio.report.content
        upload.target.value.name = "x.yaml"
        upload.target.value.content = pl.io.starter_text().encode()
        studio._upload(upload)
        assert studio.system.name == pl.parse_model(pl.io.starter_text()).robot.name
        assert set(studio.sliders) == set(studio.system.input_names)


def test_colours_travel_as_points_inside_of_the_mesh():
    """What static/live.js reads: vertices, colours in a cube, two corners of the cube."""
    from pliant.viz.painted import packed

    rng = np.random.default_rng(3)
    vertices = 40.0 + rng.normal(size=(50, 3)) * (0.2, 0.01, 0.02)  # far from the origin
    colors = rng.integers(0, 256, (50, 3)).astype(np.uint8)
    points = packed(vertices, colors)
    assert points.dtype == np.float32
    assert points.shape == (102, 3)
    np.testing.assert_array_equal(points[:50], vertices.astype(np.float32))
    origin, corner = points[-2:]
    assert np.ptp(corner - origin) < 0.01 * (corner - origin)[0]  # a cube, by which the script knows such a mesh
    np.testing.assert_allclose(255 * (points[50:100] - origin) / (corner - origin)[0], colors, atol=0.1)
    middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    assert np.linalg.norm(points[50:] - middle, axis=1).max() < np.linalg.norm(vertices - middle, axis=1).max()


def test_limits_of_motors_and_stops_limit_sliders():
    from pliant.viz.ranges import checked_ranges

    robot = pl.Robot("limits")
    for name in ("torque", "servo"):
        robot.add_body(name, joint=pl.Revolute("z", stiffness=1.0), mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    robot.add_motor("pull", "torque", limit=0.3)
    robot.add_motor("turn", "servo", control="position", kp=1.0)
    robot.add_stop("end", "servo", lower=-0.2, upper=0.5, stiffness=100.0)
    ranges = checked_ranges(robot.compile(), 1.0, None)
    assert ranges["pull"] == (-0.3, 0.3)
    assert ranges["turn"] == (-0.2, 0.5)


def test_the_robot_is_framed_beside_the_panel(run):
    """Every corner of the box around the motion is seen, in the free part, whatever the shape of the window."""
    from pliant.viz.framing import FOV, framed, free_part
    from pliant.viz.recording import record_result

    recording = record_result(run, frames=20)
    low, high = recording.bounds
    corners = np.stack(np.meshgrid(*zip(low, high)), axis=-1).reshape(-1, 3)
    for width, height in ((1280, 800), (820, 700), (700, 700), (420, 750), (2000, 500)):
        camera = framed(recording, width, height)
        ahead = camera.target - camera.position
        ahead /= np.linalg.norm(ahead)
        right = np.cross(ahead, camera.up)
        right /= np.linalg.norm(right)
        over = np.cross(right, ahead)
        x = corners - camera.position
        depth = x @ ahead
        pixel = height / 2 / np.tan(FOV / 2)
        across, above = pixel * (x @ right) / depth, pixel * (x @ over) / depth
        wide, tall, dx, dy = free_part(width, height)
        assert depth.min() > 0
        assert np.abs(across - dx).max() <= wide / 2
        assert np.abs(above - dy).max() <= tall / 2
        assert max(np.ptp(across) / wide, np.ptp(above) / tall) > 0.4  # and it is not far away


def test_the_studio_moves_what_is_prescribed():
    pytest.importorskip("viser")
    robot = rod_robot(pl.Circle(0.01), length=0.3)
    robot.add_tendon("cable", "arm", z=0.008, control="length")
    robot.add_body("cart", joint=pl.Prismatic("y"), mass=0.1)
    robot.add_motion("ride", "cart")
    system = robot.compile()
    with pl.studio(system, ranges={"cable": (0.28, 0.32)}, port=8343) as studio:
        assert not studio.sliders
        studio.moved["cable"].value = 0.29
        studio.moved["ride"].value = 0.1
        assert studio.solved.wait(20)
        np.testing.assert_allclose(system.tendon_lengths(studio.rest.q)[0], 0.29, atol=1e-8)
        np.testing.assert_allclose(system.pose("cart", studio.rest.q)[1, 3], 0.1, atol=1e-12)
        assert "tension of cable" in studio.report.content
