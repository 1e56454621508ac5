"""Plots show the numbers of the result, with names and units; nothing is left open and no global setting changes."""

from __future__ import annotations

import builtins
import importlib.util
import shutil
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import pliant as pl
from pliant.viz import drawing, plots, polygons, style, video

mpl.use("Agg", force=True)
plt = pytest.importorskip("matplotlib.pyplot")
SILICONE = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)


@pytest.fixture(autouse=True)
def _close():
    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before, "a plot changed matplotlib's global settings"
    plt.close("all")


@pytest.fixture(scope="module")
def run() -> pl.Result:
    """A turntable, an arm with a tendon, a chamber and a ball at its tip, in a room with a floor."""
    robot = pl.Robot("arm")
    table = robot.add_body("table", joint=pl.Revolute("z"), shape=pl.Cylinder(0.05, 0.02, "z"), mass=0.5)
    slide = robot.add_body("slide", parent=table, joint=pl.Prismatic("x"), shape=pl.Box(0.03, 0.02, 0.01), mass=0.1)
    arm = robot.add_rod(
        "arm",
        parent=slide,
        length=0.4,
        section=pl.Circle((0.02, 0.01)),
        material=SILICONE,
        strains=pl.Strains.kirchhoff(2),
    )
    robot.add_body("ball", parent=arm.tip, shape=pl.Sphere(0.015), mass=0.02)
    robot.add_tendon("cable", arm, z=0.008)
    robot.add_chamber("air", arm, area=1e-5, y=0.005)
    robot.add_motor("turn", table)
    robot.add_wrench("push", arm.tip, force=(0, 1, 0))
    robot.add_motion("travel", slide)
    robot.add_frame("eye", arm.at(0.5))
    robot.add_obstacle("floor", pl.HalfSpace(), pose=pl.translate(0, 0, -0.5))
    u = {"cable": 2.0, "air": 1e4, "turn": 0.05, "push": 0.1}
    return pl.simulate(robot.compile(), 0.2, u=u, motion={"travel": lambda t: 0.1 * t**2}, output=0.02)


@pytest.fixture(scope="module")
def bow() -> pl.Result:
    """Two legs joined by a pin, moved by a motor."""
    robot = pl.Robot("bow", gravity=(0, 0, 0))
    for k, y in ((1, -0.2), (2, 0.2)):
        robot.add_rod(
            f"leg{k}", offset=(0, y, 0), joint=pl.Revolute("z"), length=0.5, section=pl.Circle(0.006), material=SILICONE,
            strains=pl.Strains(bending_z=3),
        )  # fmt: skip
    robot.add_loop("pin", "leg1.tip", "leg2.tip", joint=pl.Revolute("z"))
    robot.add_motor("left", "leg1")
    system = robot.compile()
    rest = pl.solve_statics(system)
    return pl.simulate(system, 0.2, start=rest, u=lambda t: {"left": 1e-4 * np.sin(20 * t)}, output=0.02)


def lines(ax) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {line.get_label(): line.get_data() for line in ax.lines}


def test_trajectory_over_time(run):
    ax = run.plot_trajectory("ball")
    p = run.positions("ball")
    for k, c in enumerate("xyz"):
        t, values = lines(ax)[f"{c} of ball"]
        np.testing.assert_array_equal(t, run.t)
        np.testing.assert_array_equal(values, p[:, k])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("t [s]", "position [m]")
    assert len(ax.get_legend().texts) == 3
    only = run.plot_tip(components="z")
    assert list(lines(only)) == ["z of arm.tip"]


@pytest.mark.parametrize(("view", "columns"), [("xy", [0, 1]), ("zx", [2, 0]), ("yz", [1, 2])])
def test_path_in_a_plane(run, view, columns):
    ax = run.plot_tip("arm", view=view)
    np.testing.assert_array_equal(np.array(lines(ax)["arm.tip"]).T, run.positions("arm.tip")[:, columns])
    assert (ax.get_xlabel(), ax.get_ylabel()) == (f"{view[0]} [m]", f"{view[1]} [m]")
    assert ax.get_aspect() == 1.0


def test_path_in_space(run):
    ax = run.plot_tip("arm", view="3d")
    np.testing.assert_array_equal(np.array(ax.lines[0].get_data_3d()).T, run.positions("arm.tip"))
    spans = [np.ptp(getattr(ax, f"get_{c}lim")()) for c in "xyz"]
    box = ax.get_box_aspect() if hasattr(ax, "get_box_aspect") and ax.get_box_aspect() is not None else ax._box_aspect
    np.testing.assert_allclose(np.array(spans) / max(spans), np.array(box) / max(box), rtol=1e-9)


def test_coordinates_have_names_and_units(run):
    ax = run.plot_coordinates()
    q = run.q
    shown = lines(ax)
    assert set(shown) == {"table.angle [rad]", "slide.displacement [m]"}
    np.testing.assert_array_equal(shown["table.angle [rad]"][1], q[:, 0])
    np.testing.assert_array_equal(shown["slide.displacement [m]"][1], q[:, 1])
    assert run.plot_coordinates("table").get_ylabel() == "angle [rad]"
    bending = run.plot_coordinates("arm.bending_y")
    assert bending.get_ylabel() == "strain [rad/m]"
    first = run.system.dof_names.index("arm.bending_y[0]")
    np.testing.assert_array_equal(lines(bending)["arm.bending_y[0]"][1], q[:, first])


def test_coordinates_of_a_free_body():
    robot = pl.Robot("free")
    robot.add_body("ball", joint=pl.Free(), mass=1.0, inertia=(1, 1, 1))
    result = pl.simulate(robot.compile(), 0.1, output=0.05)
    ax = result.plot_coordinates()
    np.testing.assert_array_equal(lines(ax)["ball.z"][1], result.positions("ball")[:, 2])
    assert ax.get_ylabel() == "displacement [m]"


def test_inputs_have_units(run):
    expected = {"cable": "N", "air": "Pa", "turn": "N m", "push": "N"}
    assert dict(zip(run.system.input_names, run.system.input_units)) == expected
    shown = lines(run.plot_inputs())
    for k, name in enumerate(run.system.input_names):
        np.testing.assert_array_equal(shown[f"{name} [{expected[name]}]"][1], run.u[:, k])
    assert run.plot_inputs("cable").get_ylabel() == "tension [N]"
    assert run.plot_inputs("turn").get_ylabel() == "torque [N m]"


def test_energies(run):
    shown = lines(run.plot_energies())
    e = run.energies()
    for name in ("kinetic", "gravitational", "elastic", "total"):
        np.testing.assert_array_equal(shown[name][1], getattr(e, name))


def test_prescribed_forces(run):
    ax = run.plot_prescribed_forces()
    np.testing.assert_array_equal(lines(ax)["travel"][1], run.prescribed_forces()["travel"][:, 0])
    assert ax.get_ylabel() == "force [N]"


def test_multipliers(bow):
    ax = bow.plot_multipliers()
    rows = bow.system.loop_rows
    assert 1 <= len(ax.lines) < len(rows), "rows that carry no force are left out"
    for label, (t, values) in lines(ax).items():
        name = label.split(" [")[0]
        np.testing.assert_array_equal(values, bow.multipliers[:, rows.index(name)])
        np.testing.assert_array_equal(t, bow.t)
    world = bow.plot_multipliers("pin", components="world")
    F = np.array([bow.system.loop_wrench("pin", q, m, axes="world")[3:] for q, m in zip(bow.q, bow.multipliers)])
    np.testing.assert_array_equal(lines(world)["pin: Fx"][1], F[:, 0])
    assert world.get_ylabel() == "force [N]"


def test_strains_as_lines_and_as_image(run):
    ax = run.plot_strains("bending_y", times=[0.0, 0.1], points=11)
    X, values = lines(ax)["t = 0.1 s"]
    q = run.q[np.argmin(np.abs(run.t - 0.1))]
    np.testing.assert_allclose(values, run.system.strain("arm", q, X)[:, 1], atol=1e-12)
    assert ax.get_ylabel() == "bending y [rad/m]"
    image = run.plot_strains("torsion", points=11)
    shown = np.asarray(image.collections[0].get_array()).reshape(11, len(run.t))
    np.testing.assert_allclose(shown.T, [run.system.strain("arm", q, X)[:, 0] for q in run.q], atol=1e-12)


def test_convergence_gives_the_slope():
    h = np.array([0.1, 0.05, 0.025])
    ax = plots.plot_convergence(h, {"second": 3 * h**2, "none": [np.nan] * 3})
    assert "second: order 2.00" in lines(ax)
    np.testing.assert_allclose(lines(ax)["second: order 2.00"][1], 3 * h**2)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    n = np.array([2, 3, 4])
    assert "÷10 each" in lines(plots.plot_convergence(n, 10.0**-n, scale="semilogy"))
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        plots.plot_convergence(h, [1, 2])


def test_branch_shows_what_is_stable():
    robot = pl.Robot("column", gravity=(0, 0, 0))
    rod = robot.add_rod("rod", length=1, strains=pl.Strains.planar_bending(3), stiffness=np.ones(6), inertia=np.ones(6))
    robot.add_wrench("push", rod.tip, force=(-1, 0, 0))
    branch = pl.trace_equilibria(robot.compile(), input="push", stop=4.0)
    ax = branch.plot("rod.tip", component="y", name="straight")
    x, y = lines(ax)["straight"]
    euler = np.pi**2 / 4
    np.testing.assert_allclose(x[np.isfinite(y)].max(), euler, rtol=1e-4)  # solid up to the bifurcation
    assert x[~np.isfinite(y)].min() > euler
    shapes = branch.plot_shapes(3, view="xy")
    np.testing.assert_allclose(np.array(shapes.lines[0].get_data()).T[-1], [1, 0], atol=1e-9)


def test_thin_rods_are_lines_through_their_poses(bow):
    """Radius 6 mm on 0.5 m is drawn with its thickness; a rod without section, or a very thin one, as a line."""
    robot = pl.Robot("wire", gravity=(0, 0, 0))
    robot.add_rod("wire", length=1, strains=pl.Strains(bending=2), stiffness=np.ones(6), inertia=np.ones(6))
    system = robot.compile()
    q = system.random(0)
    ax = drawing.plot_shape(system, q)
    points = np.array(ax.lines[0].get_data_3d()).T
    np.testing.assert_allclose(points, system.rod_poses("wire", q, len(points))[:, :3, 3], atol=1e-15)
    flat = drawing.plot_shape(system, q, view="yz")
    np.testing.assert_allclose(np.array(flat.lines[0].get_data()).T, points[:, 1:], atol=1e-15)
    assert not bow.plot_shape(view="xy").lines


def test_shape_has_the_thickness_of_the_rod(run):
    system, q = run.system, run.system.neutral()
    ax = drawing.plot_shape(system, q, view="xz", tendons=False)
    corners = np.concatenate([path.vertices for c in ax.collections for path in c.get_paths()])
    at_base = corners[np.abs(corners[:, 0]) < 1e-9]
    assert np.isclose(at_base[:, 1].max(), 0.02, atol=1e-3)  # radius of the arm where it starts
    faces, kinds = polygons.Scene(system).polygons(q)
    assert np.isclose(np.concatenate(faces)[:, 0].max(), 0.415, atol=1e-6)  # the ball at the tip
    assert set(kinds) == {"rod", "body"}
    assert "cable" in lines(drawing.plot_shape(system, q, legend=True))


def test_snapshots_are_at_their_times(run):
    robot = pl.Robot("pendulum", gravity=(9.81, 0, 0))
    robot.add_rod("wire", length=1, strains=pl.Strains(bending=1), stiffness=np.ones(6), inertia=0.1 * np.ones(6))
    system = robot.compile()
    result = pl.simulate(system, 0.4, tau=0.1 * np.ones(system.nv), output=0.1)
    ax = result.plot_snapshots([0.0, 0.2, 0.4], view="yx")
    assert len(ax.lines) == 3
    for line, k in zip(ax.lines, (0, 2, 4)):
        x, y = line.get_data()
        poses = system.rod_poses("wire", result.q[k], len(x))
        np.testing.assert_allclose(np.array([x, y]), poses[:, [1, 0], 3].T, atol=1e-12)
    assert ax.yaxis_inverted(), "gravity points down"
    bars = [a for a in ax.figure.axes if a is not ax]
    assert [b.get_ylabel() for b in bars] == ["t [s]"]
    assert len(run.plot_snapshots(4, bar=False).figure.axes) == 1


def test_given_axes_are_used_and_returned(run):
    figure, ax = plt.subplots()
    for draw in (run.plot_tip, run.plot_energies, run.plot_inputs, run.plot_coordinates, run.plot_prescribed_forces):
        assert draw(ax=ax) is ax
    assert run.plot_shape(view="xy", ax=ax) is ax
    assert plt.get_fignums() == [figure.number], "no other figure was opened"
    with pytest.raises(ValueError, match="projection='3d'"):
        run.plot_shape(ax=ax)
    with pytest.raises(TypeError, match="matplotlib axes"):
        run.plot_tip(ax="here")


def test_equilibrium_draws_itself(bow):
    rest = pl.solve_statics(bow.system)
    ax = rest.plot_shape(frames=["leg1.tip"])
    np.testing.assert_allclose(ax.lines[0].get_data_3d()[0][0], bow.system.pose("leg1.tip", rest.q)[0, 3])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.plot_tip("arn"), "did you mean 'arm'"),
        (lambda r: r.plot_inputs("cabel"), "did you mean 'cable'"),
        (lambda r: r.plot_coordinates("tabel"), "did you mean"),
        (lambda r: r.plot_strains("bending"), "bending_y"),
        (lambda r: r.plot_shape(view="xx"), "3d"),
        (lambda r: r.plot_multipliers(), "no loops"),
        (lambda r: r.plot_trajectory("ball", components="w"), "x, y, z"),
    ],
)
def test_slips_are_explained(run, call, words):
    with pytest.raises((KeyError, ValueError), match=words):
        call(run)


def test_which_rod_must_be_said(bow):
    with pytest.raises(ValueError, match="leg1, leg2"):
        bow.plot_tip()


def test_gif_has_all_frames_and_leaves_nothing_open(run, tmp_path):
    from PIL import Image

    path = run.save_video(tmp_path / "arm.gif", fps=20, speed=0.5, trace="arm.tip", size=(3, 2), dpi=60)
    with Image.open(path) as film:
        assert film.n_frames == 9  # 0.2 s at half speed and 20 pictures per second, both ends
        assert film.size == (180, 120)
    assert plt.get_fignums() == []


def test_video_formats(run, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"must end in \.gif"):
        run.save_video(tmp_path / "arm.avi")
    if importlib.util.find_spec("imageio_ffmpeg") is None:
        monkeypatch.setattr(video.shutil, "which", lambda name: None)
        with pytest.raises(RuntimeError, match="imageio-ffmpeg"):
            run.save_video(tmp_path / "arm.mp4")
    monkeypatch.undo()
    if shutil.which("ffmpeg") or importlib.util.find_spec("imageio_ffmpeg"):
        assert run.save_video(tmp_path / "arm.mp4", fps=10, size=(3, 2)).stat().st_size > 0


def test_missing_matplotlib_says_what_to_install(run, monkeypatch):
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pliant\[plot\]"):
        run.plot_tip()


def test_style_is_for_the_block_only():
    before = mpl.rcParams["font.size"]
    with style.style():
        assert mpl.rcParams["font.size"] != before
    assert mpl.rcParams["font.size"] == before


def test_the_guide_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parent.parent / "docs" / "plots.md").read_text(encoding="utf-8")
    code = "\n".join(block.split("```")[0] for block in text.split("```python")[1:])
    names: dict = {}
    exec(compile(code, "plots.md", "exec"), names)
    assert {path.name for path in tmp_path.iterdir()} == {"arm.png", "arm.gif"}
    assert np.polyfit(np.log(names["steps"]), np.log(names["errors"]), 1)[0] > 1.5
