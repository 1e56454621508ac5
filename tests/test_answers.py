"""What equilibria and motions answer: positions, tables, notebooks."""

from __future__ import annotations

import csv
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import pliant as pl


@pytest.fixture(scope="module")
def system() -> pl.System:
    robot = pl.Robot("arm & <hand>")
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000.0, viscosity=5e3)
    arm = robot.add_rod("arm", length=0.4, section=pl.Circle(0.02), material=rubber, strains=pl.Strains(bending=1))
    hand = robot.add_body("hand", parent=arm, joint=pl.Revolute("y", stiffness=0.5), shape=pl.Sphere(0.03), mass=0.05)
    robot.add_tendon("cable", arm, z=0.01)
    robot.add_tendon("cord", [arm.at(0.5, (0, 0, 0.02)), hand.at((0, 0, 0.03))], control="elastic", stiffness=20.0)
    robot.add_frame("finger", hand, offset=(0.03, 0, 0))
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.1))
    robot.add_contact("touch", hand, "floor", stiffness=1e4, damping=5.0)
    return robot.compile()


@pytest.fixture(scope="module")
def run(system: pl.System) -> pl.Result:
    return pl.simulate(system, 0.3, u={"cable": 1.0}, output=0.01)


@pytest.fixture(scope="module")
def rest(system: pl.System) -> pl.Equilibrium:
    return pl.solve_statics(system, {"cable": 1.0})


def test_an_equilibrium_answers(system: pl.System, rest: pl.Equilibrium) -> None:
    np.testing.assert_array_equal(rest.pose("finger"), system.pose("finger", rest.q))
    np.testing.assert_array_equal(rest.position("arm@0.5"), system.pose("arm@0.5", rest.q)[:3, 3])
    assert set(rest.positions) == {"finger", "arm.base", "arm.tip", "hand"}
    np.testing.assert_array_equal(rest.positions["arm.tip"], rest.position("arm"))
    np.testing.assert_array_equal(rest.strain("arm", 5), system.strain("arm", rest.q, 5))
    np.testing.assert_array_equal(rest.stress("arm", 5), system.stress("arm", rest.q, 5))
    assert rest.energy == system.gravitational_energy(rest.q) + system.elastic_energy(rest.q, rest.u)
    with pytest.raises(KeyError, match="did you mean 'finger'"):
        rest.pose("fingr")


def test_plot_of_strains_of_an_equilibrium(system: pl.System, rest: pl.Equilibrium) -> None:
    pytest.importorskip("matplotlib").use("agg")
    ax = rest.plot_strains("bending_y", points=7)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), system.strain("arm", rest.q, 7)[:, 1])
    assert "rad/m" in ax.get_ylabel()


def test_table(system: pl.System, run: pl.Result) -> None:
    pytest.importorskip("pandas")
    table = run.to_dataframe(["finger", "arm@0.5", system.robot.link("arm").tip], velocities=True, forces=True)
    np.testing.assert_array_equal(table.index, run.t)
    np.testing.assert_array_equal(table["hand.angle"], run.q[:, system.coordinate_names.index("hand.angle")])
    np.testing.assert_array_equal(table["hand.angle: velocity"], run.v[:, system.dof_names.index("hand.angle")])
    np.testing.assert_array_equal(table["cable"], run.u[:, 0])
    for name, frame in (("finger", "finger"), ("arm@0.5", "arm@0.5"), ("arm.tip", "arm.tip")):
        for k, axis in enumerate("xyz"):
            np.testing.assert_array_equal(table[f"{name}: position {axis}"], run.positions(frame)[:, k])
    np.testing.assert_array_equal(table["hand: force z"], run.joint_wrench("hand")[:, 5])
    tensions = [system.tendon_tensions(*state)[1] for state in zip(run.q, run.v, run.u)]
    np.testing.assert_array_equal(table["cord: tension"], tensions)
    touching = run.contacts()
    assert max(len(state) for state in touching) > 0  # it falls onto the floor
    np.testing.assert_allclose(table["touch: force z"], [state.force_on("hand")[2] for state in touching], atol=1e-14)
    units = table.attrs["units"]
    assert set(units) == {"t", *table.columns}
    assert (units["t"], units["finger: position x"], units["hand: moment y"], units["hand.angle: velocity"]) == (
        "s",
        "m",
        "N m",
        "rad/s",
    )


def test_columns_by_default(run: pl.Result) -> None:
    pytest.importorskip("pandas")
    columns = list(run.to_dataframe().columns)
    assert "arm.tip: position x" in columns
    assert "arm: position x" not in columns  # it would be the tip again
    assert not any("force" in name or "velocity" in name for name in columns)
    assert not any("position" in name for name in run.to_dataframe([]).columns)
    assert sum("position" in name for name in run.to_dataframe("hand").columns) == 3
    with pytest.raises(KeyError, match="finger"):
        run.to_dataframe(["fingr"])


def test_csv_comes_back(run: pl.Result, tmp_path) -> None:
    path = run.save_csv(tmp_path / "run.csv", ["finger"], forces=True)
    with open(path, newline="") as file:
        names, *rows = csv.reader(file)
    table = run.to_dataframe(["finger"], forces=True)
    assert names == ["t", *table.columns]
    np.testing.assert_array_equal(np.array(rows, dtype=float)[:, 1:], table.to_numpy())  # to the last digit
    np.testing.assert_array_equal(np.array(rows, dtype=float)[:, 0], run.t)


def test_a_result_without_rows_makes_a_table(run: pl.Result, tmp_path) -> None:
    from dataclasses import replace

    empty = replace(
        run,
        t=run.t[:0],
        q=run.q[:0],
        v=run.v[:0],
        a=run.a[:0],
        u=run.u[:0],
        tau=run.tau[:0],
        multipliers=np.zeros((0, 0)),
    )
    path = empty.save_csv(tmp_path / "none.csv", forces=True)
    assert len(path.read_text().splitlines()) == 1


def test_momenta_have_the_order_of_twists(system: pl.System) -> None:
    """h·V is twice the kinetic energy of a rigid body, with both in world axes at the origin."""
    robot = pl.Robot("stone")
    robot.add_body("stone", joint=pl.Free(), mass=2.0, com=(0.1, 0.2, 0), inertia=(0.1, 0.2, 0.25))
    stone = robot.compile()
    q, v = stone.random(1), np.arange(1.0, 7.0)
    h = np.concatenate(stone.momentum(q, v))
    twist = stone.twist("stone", q, v, reference="world")
    at_origin = np.concatenate([twist[:3], twist[3:] - np.cross(twist[:3], stone.pose("stone", q)[:3, 3])])
    assert h @ at_origin == pytest.approx(2 * stone.kinetic_energy(q, v), rel=1e-13)
    run = pl.simulate(stone, 0.1, start=q, velocity=v, output=0.05)
    np.testing.assert_array_equal(run.momenta().angular[0], stone.momentum(q, v).angular)
    assert run.momenta()._fields == ("angular", "linear")


class _Checker(HTMLParser):
    """Collects text, and complains about tags that are not closed."""

    void = ("br", "path", "polyline", "img")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.paths = 0

    def handle_starttag(self, tag, attributes) -> None:
        self.paths += tag == "path"
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes) -> None:
        self.paths += tag == "path"

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text += data


def read(thing) -> _Checker:
    found = _Checker()
    found.feed(thing._repr_html_())
    assert not found.open
    return found


def test_notebooks_show_a_picture_and_facts(system: pl.System, run: pl.Result, rest: pl.Equilibrium) -> None:
    facts = {
        "robot": (system.robot, ["arm & <hand>", "world", "└─ hand", "cable, cord", "touch"]),
        "system": (system, ["degrees of freedom", "cable [N]", "kg"]),
        "equilibrium": (rest, ["arm & <hand>: stable equilibrium", "cable = 1", "arm.tip"]),
        "result": (run, ["completed", "0 to 0.3 s, 31 stored", run.method]),
    }
    for name, (thing, words) in facts.items():
        page = read(thing)
        assert page.paths > 50, name
        for word in words:
            assert word in page.text, (name, word)
        assert len(thing._repr_html_()) < 4e5


def test_notebooks_show_what_has_no_picture(run: pl.Result) -> None:
    from dataclasses import replace

    assert "0 links" in read(pl.Robot("empty")).text
    lonely = replace(pl.solve_statics(run.system), system=None, warnings=("look & see",))
    assert "look & see" in read(lonely).text
    empty = replace(run, t=run.t[:0], success=False, message="nothing")
    assert "failed" in read(empty).text


def test_the_picture_shows_the_shape() -> None:
    """A straight vertical rod is upright and thin; bent level it is wide."""
    robot = pl.Robot("mast")
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000.0)
    robot.add_rod(
        "mast",
        length=1.0,
        section=pl.Circle(0.02),
        material=rubber,
        strains=pl.Strains(bending=0),
        offset=pl.Pose.look_along("z"),
    )
    system = robot.compile()

    def extent(q) -> tuple[float, float]:
        from pliant.viz.picture import picture

        numbers = [
            tuple(map(float, pair.split(",")))
            for path in re.findall(r'd="M([^"]*)z"', picture(system, q, width=200, height=200))
            for pair in path.split()
        ]
        x, y = np.array(numbers).T
        assert 0 <= x.min() < x.max() <= 200
        assert 0 <= y.min() < y.max() <= 200
        return float(np.ptp(x)), float(np.ptp(y))

    wide, high = extent(system.neutral())
    assert high > 150 > 15 > wide
    bent = system.neutral()
    bent[0] = np.pi
    wide, high = extent(bent)
    assert wide > 30
