"""A robot whose names are markup, formulas, paths and commands goes through every output that pliant has: names stay text.

The same robot with plain names goes along: whatever is made of the two has the same structure. Outputs are found by introspection, so that a
new one is missed here until it is tried, or stands below with a reason.
"""

from __future__ import annotations

import csv
import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant as pl
from pliant.cli import main

pytest.importorskip("matplotlib").use("agg")
pytest.importorskip("ruamel.yaml")

# what callers give themselves as `label=` and the like may be a formula of matplotlib; names of parts may not
NASTY = (
    "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", r"$\frac$", '"', "'", "=1+1", "a/b", "+cmd|' /C calc'!A0", "-2+3", "&lt;b&gt;",
    "a|b *c* _d_ [e](f) `g`", "x,y;z\\", "%s%n{0}{{player}}", "--><!--", "]]>", "_hidden", "${HOME}$(id)`id`", "é😀 العربية",
    "x" * 200, "~", "null", "C:\\con", "#1", "<svg/onload=alert(2)>", "$x$ and $", "{b: 1}", "- a", "?", "!tag", "*b", "&c", "0", "1e3",
)  # fmt: skip
TITLE = r"../../x</title><script>alert(3)</script> $\frac$ {{data}} =1"


def tame(k: int) -> str:
    return f"n{k}"


def build(name: Callable[[int], str], title: str) -> pl.Robot:
    """A part of every common kind; 33 names."""
    n = [name(k) for k in range(len(NASTY))]
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    robot = pl.Robot(title)
    robot.add_rod(n[0], length=0.3, section=pl.Circle(0.015), material=rubber, strains=pl.Strains(bending=1))
    robot.add_body(n[1], parent=f"{n[0]}.tip", mass=0.05, shape=pl.Box(0.02, 0.02, 0.02))
    inertia = {"mass": 0.1, "inertia": (1e-4, 1e-4, 1e-4)}
    robot.add_body(
        n[2], joint=pl.Revolute("y", stiffness=1.0, damping=0.01), offset=(1, 0, 0), com=(0.1, 0, 0), **inertia
    )
    robot.add_body(
        n[3],
        parent=n[2],
        joint=pl.Revolute("y", stiffness=1.0, damping=0.01),
        offset=(0.2, 0, 0),
        com=(0.1, 0, 0),
        **inertia,
    )
    robot.add_body(n[4], joint=pl.Prismatic("x", stiffness=10.0, damping=1.0), offset=(1.4, 0, 0), **inertia)
    robot.add_body(n[5], joint=pl.Revolute("z", damping=0.1), offset=(0, 1, 0), **inertia)
    robot.add_body(n[6], joint=pl.Revolute("z", stiffness=1.0, damping=0.1), offset=(0, 2, 0), **inertia)
    robot.add_frame(n[7], n[1], offset=(0, 0, 0.01))
    robot.add_tendon(n[8], n[0], z=0.01)
    robot.add_tendon(n[9], n[0], y=0.01, control="length")
    robot.add_tendon(n[10], n[0], y=-0.01, control="elastic", stiffness=100.0)
    robot.add_motor(n[11], n[6])
    robot.add_motion(n[12], n[5])
    robot.add_wrench(n[13], n[7], force=(0, 0, 1))
    robot.add_obstacle(n[14], pl.HalfSpace(), pose=(0, 0, -0.4))
    robot.add_contact(n[15], n[0], n[14], stiffness=1e3, friction=0.3)
    robot.add_obstacle(n[16], pl.Sphere(0.02), pose=(0.3, 0, 0.4))
    robot.add_loop(n[17], robot.link(n[3]).at((0.2, 0, 0)), n[4], joint=pl.Revolute("y"))
    robot.add_stop(n[18], n[6], lower=-1.0, upper=1.0, stiffness=10.0)
    robot.add_friction(n[19], n[6], coulomb=0.01)
    robot.add_active_strain(n[20], n[0], (0, 1, 0, 0, 0, 0))
    robot.add_dipole(n[21], n[0], moment=(0.1, 0, 0))
    return robot


@dataclass
class Case:
    """A robot and what was computed with it."""

    name: Callable[[int], str]
    title: str
    robot: pl.Robot = field(init=False)

    def __post_init__(self) -> None:
        n = self.name
        self.robot = build(n, self.title)
        self.system = self.robot.compile()
        self.length = float(self.system.tendon_lengths(self.system.neutral())[0][self.system.held_tendons[n(9)]])
        told = {n(9): self.length, n(12): 0.1}
        self.rest = pl.solve_statics(self.system, {n(8): 0.1}, motion=told)

        def event(state: Any) -> float:
            return float(state.t - 0.015)

        event.__name__ = n(22)
        self.run = pl.simulate(
            self.system, 0.02, u={n(8): 0.1}, motion=told, start=self.rest, output=0.01, events=event
        )
        held = pl.Robot(self.title)
        held.add_rod(
            n(0), length=0.3, section=pl.Circle(0.015), material=pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4), strains=pl.Strains(bending=1)
        )  # fmt: skip
        held.add_tendon(n(8), n(0), z=0.01)
        self.simple = held.compile()

    def model(self) -> pl.Model:
        return pl.Model(self.robot, {"duration": 0.02, "u": {self.name(8): 0.1}}, {"u": {self.name(8): 0.1}})


@pytest.fixture(scope="module")
def cases() -> tuple[Case, Case]:
    return Case(lambda k: NASTY[k], TITLE), Case(tame, "robot")


# ---------------------------------------------------------------- what outputs there are

PATTERN = re.compile(
    r"save|save_\w+|to_(?!pliant)\w+|plot|plot_\w+|view|show|_repr_html_|__str__|write_(gltf|html|usd|csv)|encode_\w+|dump_\w+"
)
APART = ("kernels", "papers", "gym", "__main__", "casadi", "crocoddyl", "jax", "torch", "control.optimal.casadi")


def outputs() -> set[str]:
    found = set()
    for info in pkgutil.walk_packages(pl.__path__, "pliant."):
        if info.name.split(".")[1] in APART or any(info.name.endswith(own) for own in APART):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) != info.name or name.startswith("_"):
                continue
            if inspect.isfunction(value) and PATTERN.fullmatch(name):
                found.add(name)
            if inspect.isclass(value):
                found |= {
                    f"{name}.{own}"
                    for own, f in vars(value).items()
                    if PATTERN.fullmatch(own) and inspect.isfunction(f)
                }
    return found


def curve(case: Case) -> Any:
    return pl.trace_equilibria(case.simple, input=case.name(8), stop=1.0, steps=5, step=0.2)


def fit(case: Case) -> Any:
    n = case.name
    seen = pl.StaticData(
        values=[[0.1, 0.0, -0.17]] * 3, quantity=pl.costs.Position(f"{n(0)}.tip"), sigma=1e-3, name=n(22), inputs={n(8): [0.1, 0.2, 0.3]}
    )  # fmt: skip
    return pl.identify(case.simple, seen, [f"{n(0)}.young", pl.Unknown(n(23), f"{n(0)}.radius")])


def many(case: Case) -> Any:
    return pl.batch(case.simple).statics(u={case.name(8): [0.1, 0.2]})


def written(save: Callable[[Path], Any], path: Path) -> Path:
    save(path)
    return path


CASES: dict[str, Callable[[Case, Path], Any]] = {
    "Robot.__str__": lambda c, _p: str(c.robot),
    "Robot._repr_html_": lambda c, _p: c.robot._repr_html_(),
    "Robot.save": lambda c, p: written(c.robot.save, p / "r.yaml"),
    "Core.__str__": lambda c, _p: str(c.system),
    "System._repr_html_": lambda c, _p: c.system._repr_html_(),
    "Model.__str__": lambda c, _p: str(c.model()),
    "Model.save": lambda c, p: written(c.model().save, p / "m.json"),
    "dump_model": lambda c, p: written(lambda path: path.write_text(pl.io.dump_model(c.model())), p / "d.yaml"),
    "save_model": lambda c, p: written(lambda path: pl.save_model(c.model(), path), p / "m.yaml"),
    "Contacts.__str__": lambda c, _p: str(c.run.contacts()[0]),
    "SpatialError.__str__": lambda c, _p: str(c.system.spatial_error(c.rest.q)),
    "Equilibrium.__str__": lambda c, _p: str(c.rest),
    "Equilibrium._repr_html_": lambda c, _p: c.rest._repr_html_(),
    "Equilibrium.save_html": lambda c, p: c.rest.save_html(p / "e.html"),
    "Equilibrium.save_gltf": lambda c, p: c.rest.save_gltf(p / "e.glb"),
    "Equilibrium.plot_shape": lambda c, _p: c.rest.plot_shape(legend=True),
    "Equilibrium.plot_strains": lambda c, _p: c.rest.plot_strains("bending_z", c.name(0)),
    "Result.__str__": lambda c, _p: str(c.run),
    "Statistics.__str__": lambda c, _p: str(c.run.statistics),
    "Result._repr_html_": lambda c, _p: c.run._repr_html_(),
    "Result.save": lambda c, p: written(c.run.save, p / "r.h5"),
    "Result.save_html": lambda c, p: c.run.save_html(p / "r.html"),
    "Result.save_csv": lambda c, p: c.run.save_csv(p / "r.csv", forces=True),
    "Result.save_gltf": lambda c, p: c.run.save_gltf(p / "r.glb"),
    "Result.save_usd": lambda c, p: c.run.save_usd(p / "r.usda"),
    "Result.save_video": lambda c, p: c.run.save_video(p / "r.gif", fps=50, trace=c.name(7)),
    "Result.to_xarray": lambda c, _p: c.run.to_xarray(),
    "Result.to_dataframe": lambda c, _p: c.run.to_dataframe(forces=True),
    "Result.plot_shape": lambda c, _p: c.run.plot_shape(legend=True),
    "Result.plot_snapshots": lambda c, _p: c.run.plot_snapshots(),
    "Result.plot_trajectory": lambda c, _p: c.run.plot_trajectory(c.name(7)),
    "Result.plot_tip": lambda c, _p: c.run.plot_tip(c.name(0)),
    "Result.plot_strains": lambda c, _p: c.run.plot_strains("bending_z", c.name(0)),
    "Result.plot_coordinates": lambda c, _p: c.run.plot_coordinates(),
    "Result.plot_inputs": lambda c, _p: c.run.plot_inputs(),
    "Result.plot_energies": lambda c, _p: c.run.plot_energies(),
    "Result.plot_contacts": lambda c, _p: c.run.plot_contacts(),
    "Result.plot_multipliers": lambda c, _p: c.run.plot_multipliers(c.name(17)),
    "Result.plot_reactions": lambda c, _p: c.run.plot_reactions(),
    "Result.plot_prescribed_forces": lambda c, _p: c.run.plot_prescribed_forces(),
    "plot_convergence": lambda c, _p: importlib.import_module("pliant.viz.plots").plot_convergence([1, 2, 4], {"n": [1.0, 0.5, 0.2]}),
    "save_html": lambda c, p: pl.save_html(c.system, p / "s.html"),
    "Branch.__str__": lambda c, _p: str(curve(c)),
    "Branch.plot": lambda c, _p: curve(c).plot(f"{c.name(0)}.tip"),
    "Branch.plot_shapes": lambda c, _p: curve(c).plot_shapes(3),
    "Identification.__str__": lambda c, _p: str(fit(c)),
    "Identification.plot": lambda c, _p: fit(c).plot(),
    "BatchResult.__str__": lambda c, _p: str(many(c)),
    "BatchResult.to_xarray": lambda c, _p: many(c).to_xarray(),
}  # fmt: skip
TRIED = {  # by what calls them
    **dict.fromkeys(("plot_shape", "plot_configurations", "plot_snapshots", "plot_trajectory", "plot_tip", "plot_strains", "plot_strain", "plot_coordinates", "plot_inputs",
                     "plot_energies", "plot_contacts", "plot_multipliers", "plot_reactions", "plot_prescribed_forces", "plot_branch"), "methods of Result and Branch"),
    "plot_identification": "Identification.plot",
    "save_video": "Result.save_video",
    **dict.fromkeys(("write_html", "save_result"), "Result.save_html, Result.save"),
    **dict.fromkeys(("write_gltf", "encode_gltf", "write_usd", "encode_usd", "write_csv"), "Result.save_…"),
}  # fmt: skip
ELSEWHERE = {
    **dict.fromkeys(("show", "Viewer._repr_html_", "Result.view", "Equilibrium.view", "view", "Painted.show"), "live pages: tests/browser/test_safety_browser.py"),
    "plot_text": "what escapes: test_gate.py",
    **dict.fromkeys(("plot_reach", "ReachableSet.plot", "ReachableSet.__str__"), "test_reachable_sets"),
    "SweepResult.to_xarray": "as BatchResult.to_xarray",
    **dict.fromkeys(("Expression.__str__", "Example.__str__", "Problem.show", "Line.show", "Progress.show"), "no names, or test_files_hostile.py"),
    **dict.fromkeys(("Store.save", "Checkpoint.save", "Stepper.save"), "no text"),
    "save": "of the gallery",
    # plain text, of names that were checked where they came in (test_names_are_printable)
    **dict.fromkeys(("Actuation.__str__", "Endless.__str__", "InverseStatics.__str__", "MPCResult.__str__", "OptimalPlan.__str__", "Estimate.__str__", "ShapeEstimate.__str__", "Smoothed.__str__",
                     "Rollout.__str__", "CrossValidation.__str__", "SpecialPoint.__str__", "Crush.__str__"), "plain text"),
}  # fmt: skip


def test_every_output_is_tried() -> None:
    known = {*CASES, *TRIED, *ELSEWHERE}
    there = outputs()
    assert there - known == set(), "try it in CASES, or say why not"
    assert known - there == set(), "there is no such output any more"


# ---------------------------------------------------------------- what they look like


class Outline(HTMLParser):
    """Tags and their attributes, in order; what is in scripts is none."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(key for key, _value in attrs)))

    def handle_comment(self, data: str) -> None:
        self.tags.append(("comment", ()))


def outline(output: Any) -> Any:
    """What must not depend on names."""
    from matplotlib.artist import Artist
    from matplotlib.cbook import is_math_text
    from matplotlib.text import Text

    if isinstance(output, np.ndarray):
        output = output.ravel()[0]
    if isinstance(output, (list, tuple)):
        output = output[0]
    if isinstance(output, Artist):
        figure = output.get_figure() or output
        figure.canvas.draw()  # a formula that is none raises
        texts = [text.get_text() for text in figure.findobj(Text)]
        formulas = [
            text
            for text in texts
            if is_math_text(text) and not re.fullmatch(r"\$\\mathdefault\{(\\times|[-−^{}0-9.])*\}\$", text)
        ]
        assert formulas == []
        return [len(ax.get_legend().get_texts()) for ax in figure.axes if ax.get_legend() is not None]
    if isinstance(output, Path):
        return file_outline(output)
    if isinstance(output, str):
        assert all(line.isprintable() for line in output.split("\n"))
        return Outline(output).tags if "<div" in output[:20] else output.count("\n")
    if hasattr(output, "columns"):  # a table, whose names are those of the robot
        return output.shape
    return sorted(output.sizes.items()), len(output.variables)


def file_outline(path: Path) -> Any:
    if path.suffix == ".html":
        return Outline(path.read_text(encoding="utf-8")).tags
    if path.suffix == ".csv":
        rows = list(csv.reader(path.open(newline="", encoding="utf-8")))
        formulas = [cell for cell in rows[0] if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]
        assert not formulas, "a spreadsheet would run it"
        return len(rows), {len(row) for row in rows}
    if path.suffix == ".glb":
        content = path.read_bytes()
        return len(json.loads(content[20 : 20 + int.from_bytes(content[12:16], "little")])["nodes"])
    if path.suffix == ".usda":
        text = path.read_text(encoding="utf-8")
        names = re.findall(r'^ *def \w+ "(.*)"$', text, flags=re.M)
        assert all(re.fullmatch(r"[A-Za-z_]\w*", name, flags=re.ASCII) for name in names)
        assert len(set(names)) == len(names)
        return text.count("\n"), len(names)
    if path.suffix in (".yaml", ".json"):
        robot = pl.load_model(path).robot
        return [len(robot.links), len(robot.tendons), len(robot.contacts), robot.nv]
    assert path.stat().st_size > 0
    return path.suffix


@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")
@pytest.mark.parametrize("output", CASES)
def test_names_stay_text(output: str, cases: tuple[Case, Case], tmp_path: Path) -> None:
    plt = importlib.import_module("matplotlib.pyplot")
    hostile, plain = cases
    try:
        assert outline(CASES[output](hostile, tmp_path)) == outline(CASES[output](plain, tmp_path))
    finally:
        plt.close("all")
    assert {path.parent for path in tmp_path.rglob("*")} <= {tmp_path}


def test_files_come_back(cases: tuple[Case, Case], tmp_path: Path) -> None:
    """With the names as they were."""
    hostile = cases[0]
    hostile.run.save(tmp_path / "r.h5")
    again = pl.Result.load(tmp_path / "r.h5", hostile.system)
    np.testing.assert_array_equal(again.q, hostile.run.q)
    assert [event.name for event in again.events] == [event.name for event in hostile.run.events] == [NASTY[22]]
    for end in ("yaml", "json"):
        hostile.robot.save(tmp_path / f"r.{end}")
        robot = pl.load_model(tmp_path / f"r.{end}").robot
        assert (robot.name, [link.name for link in robot.links]) == (TITLE, [link.name for link in hostile.robot.links])
    data = hostile.run.to_xarray()
    data.to_netcdf(tmp_path / "r.nc", engine="h5netcdf") if importlib.util.find_spec("h5netcdf") else None
    assert list(data.link.values) == list(hostile.system.links)
    table = hostile.run.to_dataframe()
    assert set(hostile.system.input_names) <= set(table.columns)


@pytest.mark.parametrize("command", [("check",), ("statics",), ("run", "-o", "out.csv"), ("modes",)])
def test_the_command_line(
    command: tuple[str, ...], cases: tuple[Case, Case], tmp_path: Path, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hostile = cases[0]
    robot = pl.Robot(TITLE)
    robot.add_body(NASTY[0], joint=pl.Revolute("y", stiffness=1.0, damping=0.01), mass=0.1, com=(0.1, 0, 0))
    robot.add_motor(NASTY[5], NASTY[0])
    pl.save_model(robot, "\x1b[2J.yaml", simulation={"duration": 0.01})
    for options in ((), ("--json",)):
        main([command[0], "\x1b[2J.yaml", *command[1:], *options])
        out, err = capsys.readouterr()
        assert all(line.isprintable() for line in (out + err).split("\n")), out
        if options:
            json.loads(out)
    assert main([command[0], "none.yaml"]) == 2  # lists what there is
    out, err = capsys.readouterr()
    assert r"\x1b[2J.yaml" in err
    assert all(line.isprintable() for line in (out + err).split("\n"))
    assert hostile.system.name == TITLE


def test_reachable_sets(cases: tuple[Case, Case]) -> None:
    for case in cases:
        reach = pl.workspace(case.simple, f"{case.name(0)}.tip", {case.name(8): (0.0, 1.0)}, samples=20)
        assert all(line.isprintable() for line in str(reach).split("\n"))
        outline(reach.plot())


# ---------------------------------------------------------------- what is allowed as a name

NO_NAMES = (
    "a\nb",
    "a\tb",
    "\x1b[31mred",
    "\u202egnp",
    "a\u200bb",
    "\x00",
    "a\r",
    "\u2028",
    "\ud800",
    "",
    " a",
    "a ",
    "x" * 201,
    3,
    None,
    b"a",
    "\u00a0",
)
PARTS: dict[str, Callable[[pl.Robot, Any], Any]] = {
    "body": lambda r, n: r.add_body(n, mass=1.0),
    "frame": lambda r, n: r.add_frame(n, "b"),
    "motor": lambda r, n: r.add_motor(n, "b"),
    "obstacle": lambda r, n: r.add_obstacle(n, pl.HalfSpace()),
    "wrench": lambda r, n: r.add_wrench(n, "b"),
    "input": lambda r, n: r.add_load("own", "b", lambda pose, twist, u: np.zeros((len(pose), 6)), inputs=[n]),
    "robot": lambda _r, n: pl.Robot(n),
    "renamed": lambda r, n: setattr(r, "name", n),
    "data": lambda _r, n: pl.StaticData(values=[[0.0] * 3], quantity=pl.costs.Position("b"), sigma=1.0, name=n),
    "unknown": lambda _r, n: pl.Unknown(n, "b.mass"),
    "event": lambda _r, n: pl.parse_model({"links": {}, "simulation": {"duration": 1, "events": {n: "t - 1"}}}),
    "material": lambda _r, n: pl.parse_model({"links": {}, "materials": {n: {"young": 1, "poisson": 0, "density": 1}}}),
}  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", NO_NAMES, ids=ascii)
def test_names_are_printable(part: str, name: Any) -> None:
    robot = pl.Robot("r")
    robot.add_body("b", joint=pl.Revolute("y"), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises((ValueError, TypeError)) as caught:
        PARTS[part](robot, name)
    told = str(caught.value)
    assert all(line.isprintable() for line in told.split("\n"))
    assert "name" in told.lower() or "key" in told or "event" in told or "output" in told, told


def test_names_that_are_asked_for_are_shown_as_text(cases: tuple[Case, Case]) -> None:
    """What nobody checked, since there is no part of that name."""
    system = cases[1].system
    bad = "\x1b[2J\n\u202e" + "x" * 1000
    asks = (
        lambda: system.pose(bad, system.neutral()),
        lambda: system.robot.link(bad),
        lambda: pl.solve_statics(system, {bad: 1.0}),
        lambda: pl.simulate(system, 0.01, u={bad: 1.0}),
        lambda: pl.simulate(system, 0.01, motion={bad: 1.0}),
        lambda: pl.simulate(system, 0.01, method=bad),
        lambda: system.with_parameters({bad: 1.0}),
        lambda: cases[1].run.plot_coordinates([bad]),
        lambda: cases[1].run.plot_trajectory(bad),
        lambda: cases[1].run.save_csv("x.csv", [bad]),
        lambda: pl.Expression(bad),
        lambda: pl.Result.load(bad, system),
        lambda: pl.load_model(bad),
        lambda: pl.load_urdf(bad),
        lambda: pl.Mesh.from_file(bad),
        lambda: pl.Mesh.from_file(f"{bad}.stl"),
    )
    for k, ask in enumerate(asks):
        with pytest.raises((ValueError, TypeError, KeyError, OSError)) as caught:
            ask()
        told = str(caught.value.args[0] if isinstance(caught.value, KeyError) else caught.value)
        assert all(line.isprintable() for line in told.split("\n")), k
        assert len(told) < 2000, k


@pytest.mark.parametrize("name", ["-y %d concat:a.gif", "-i.mp4", "$(id) file:x%03d.mp4"])
def test_names_of_videos_are_no_options(name: str, cases: tuple[Case, Case], tmp_path: Path, monkeypatch) -> None:
    """Of the program that writes them."""
    if name.endswith("mp4"):
        pytest.importorskip("imageio_ffmpeg")
    monkeypatch.chdir(tmp_path)
    cases[0].run.save_video(name, fps=50)
    assert [path.name for path in tmp_path.iterdir()] == [name]
