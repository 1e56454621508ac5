"""Units: stated once by the parts of a robot, and the same in plots, pages, files and datasets."""

import csv
import json
import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import pliant as pl
from pliant.model.joints import slide
from pliant.model.units import FORCES, RATES
from test_bearings import small as small_of_bearings
from test_table_gradient import loaded as everything_loaded

RUBBER = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
JOINTS = {
    "revolute": (pl.Revolute("z"), ["rad"]),
    "prismatic": (pl.Prismatic("x"), ["m"]),
    "helical": (pl.Helical("z", 0.01), ["rad"]),
    "universal": (pl.Universal("y", "z"), ["rad", "rad"]),
    "cylindrical": (pl.Cylindrical("z"), ["rad", "m"]),
    "planar": (pl.Planar("z"), ["m", "m", "rad"]),
    "spherical": (pl.Spherical(), ["rad"] * 3),
    "free": (pl.Free(), ["rad"] * 3 + ["m"] * 3),
}
CONTROLS = {"torque": {}, "position": {"kp": 1.0}, "velocity": {"kd": 1.0}}
INPUT = {("rad", "torque"): "N m", ("m", "torque"): "N", ("rad", "position"): "rad", ("m", "position"): "m"}
INPUT |= {("rad", "velocity"): "rad/s", ("m", "velocity"): "m/s"}


def body(joint):
    robot = pl.Robot("robot")
    robot.add_body("body", joint=joint, mass=1.0, inertia=(1, 1, 1))
    return robot


def rod():
    robot = pl.Robot("robot")
    robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.02), material=RUBBER, strains=pl.Strains.reissner(1), joint=pl.Free()
    )
    return robot


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("kind", JOINTS)
def test_every_motor_on_every_joint(kind, control):
    joint, units = JOINTS[kind]
    if control == "position" and kind in ("spherical", "free"):
        with pytest.raises(ValueError, match="no single angle"):
            body(joint).add_motor("motor", "body", control=control, kp=1.0)
        return
    robot = body(joint)
    for k in range(joint.nv):
        robot.add_motor(f"motor{k}", "body", dof=k, control=control, **CONTROLS[control])
    system = robot.compile()
    assert list(system.dof_units) == units
    assert list(system.input_units) == [INPUT[unit, control] for unit in units]
    assert list(system.force_units) == [INPUT[unit, "torque"] for unit in units]
    assert list(system.velocity_units) == [f"{unit}/s" for unit in units]


def test_a_motor_along_z_of_a_free_joint_takes_newtons():
    robot = body(pl.Free())
    robot.add_motor("thrust", "body", dof="vz")  # once labelled N m in the studio
    assert robot.compile().input_units == ("N",)


def test_the_units_of_joints_are_those_of_their_screws():
    for joint, units in JOINTS.values():
        if joint.kind == "screws":
            assert units == ["rad" if np.any(screw[:3]) else "m" for screw in joint.screws]
        assert len(joint.coordinate_names) == len(joint.coordinate_units) == joint.nq
        assert len(joint.dof_names) == len(joint.dof_units) == joint.nv
    assert pl.Fixed().dof_units == pl.Fixed().coordinate_names == ()


def test_coordinates_of_quaternions_and_strains():
    system = rod().compile()
    assert len(system.coordinate_names) == len(system.coordinate_units) == system.nq
    assert len(system.dof_units) == len(system.velocity_units) == len(system.force_units) == system.nv
    assert system.coordinate_names[:7] == tuple(f"arm.{c}" for c in ("qw", "qx", "qy", "qz", "x", "y", "z"))
    assert system.coordinate_units[:7] == ("–",) * 4 + ("m",) * 3
    assert system.coordinate_names[7:] == system.dof_names[6:]
    assert system.coordinate_units[7:] == system.dof_units[6:] == ("rad/m",) * 6 + ("–",) * 6
    assert set(system.velocity_units[6:]) == {"rad/(m s)", "1/s"}
    assert set(system.force_units[6:]) == {"N m²", "N m"}
    assert set(RATES) == set(FORCES)


def test_generalised_forces_have_their_units():
    """Twice as long a rod with the same strains takes the work per strain coordinate that the units say."""
    energies = []
    for scale in (1.0, 2.0):  # metres, half metres
        robot = pl.Robot("robot")
        robot.add_rod(
            "arm", length=0.4 * scale, section=pl.Circle(0.02 * scale),
            material=pl.Material(young=1e6 / scale**2, poisson=0.5, density=1000), strains=pl.Strains.reissner(0),
        )  # fmt: skip
        system = robot.compile()
        powers = {"rad/m": -1, "–": 0}
        q = 0.1 * np.array([scale ** powers[unit] for unit in system.dof_units])
        tau = system.elastic_forces(q)
        powers = {"N m²": 2, "N m": 1}
        energies.append(tau / np.array([scale ** powers[unit] for unit in system.force_units]))
    np.testing.assert_allclose(energies[1], energies[0], rtol=1e-12)


def test_every_input():
    robot = rod()
    robot.add_body("sled", joint=pl.Prismatic("x"), mass=1.0)
    expected = {}

    def add(unit, method, name, *arguments, **options):
        getattr(robot, method)(name, *arguments, **options)
        expected[name] = unit

    add("N", "add_tendon", "tendon", "arm", y=0.01)
    add("m", "add_tendon", "elastic", "arm", y=-0.01, control="elastic", stiffness=100.0)
    add("N", "add_tendon", "held", "arm", z=0.015, control="length")
    add("N", "add_push_rod", "push rod", "arm", z=0.01)
    add("Pa", "add_chamber", "chamber", "arm", area=1e-5)
    add("Pa", "add_chamber", "square metre", "arm", area=1.0)  # a factor of −1, as a push rod has
    add("Pa", "add_chamber", "tapered", "arm", area=lambda X: 1e-5 * (2 - X))
    add("N", "add_motor", "drive", "sled")
    add("–", "add_stress", "muscle", "arm", (0, 0, 1, 0, 0, 0))
    add("N", "add_wrench", "unit force", "sled", force=(0, 0.6, 0.8))
    add("N m", "add_wrench", "unit moment", "sled", moment=(0, 1, 0))
    add("–", "add_wrench", "two newtons", "sled", force=(0, 2, 0))
    add("–", "add_wrench", "both", "sled", force=(0, 1, 0), moment=(1, 0, 0))
    add("N/m", "add_distributed_wrench", "wind", "arm", force=(0, 0, 1))
    add("N m/m", "add_distributed_wrench", "twist", "arm", moment=(1, 0, 0))
    add("–", "add_distributed_wrench", "gusts", "arm", force=lambda X: (0, 0, X))
    robot.add_wrench("weight", "sled", force=(0, 0, -1), constant=True)  # no input
    robot.add_dipole("magnet", "arm", moment=(0.1, 0, 0))
    expected |= dict.fromkeys(("field_x", "field_y", "field_z"), "T")

    def spring(pose, twist, inputs):
        return np.zeros((len(pose), 6))

    robot.add_load("spring", "sled", spring, inputs=["field_strength"])  # once labelled T for its name
    expected["field_strength"] = ""
    stated = pl.UserLoad(spring, inputs=["stiffness", "angle"], input_units=["N/m", "rad"])
    robot.add_load("stated", "sled", stated)
    expected |= {"stiffness": "N/m", "angle": "rad"}
    system = robot.compile()
    assert dict(zip(system.input_names, system.input_units, strict=True)) == expected
    assert robot.tendons["square metre"].kind == "chamber"
    assert robot.tendons["push rod"].kind == "push rod"


def test_forces_of_loops():
    robot = pl.Robot("robot")
    robot.add_body("a", joint=pl.Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    robot.add_body("b", joint=pl.Free(), mass=1.0, inertia=(1, 1, 1))
    robot.add_loop("hinge: first", "a", "b", joint=pl.Revolute("z"))
    robot.add_loop("hinge", "b", "world", joint=pl.Helical("z", pitch=0.1))
    system = robot.compile()
    expected = ["N m" if "tilt" in name else "N" for name in system.loop_rows]
    assert list(system.multiplier_units) == expected
    assert expected.count("N m") == 4


def test_a_chamber_of_one_square_metre_stays_one(tmp_path):
    robot = rod()
    robot.add_chamber("chamber", "arm", area=1.0)
    pl.save_model(robot, tmp_path / "robot.yaml")
    again = pl.load_model(tmp_path / "robot.yaml").robot
    assert again.tendons["chamber"].kind == "chamber"
    assert again.compile().input_units == ("Pa",)


def test_units_of_user_inputs_are_checked():
    with pytest.raises(ValueError, match="input_units"):
        pl.UserLoad(lambda pose, twist, inputs: None, inputs=["a", "b"], input_units=["N"])


def test_inputs_of_the_field_are_not_taken_twice():
    robot = rod()
    robot.add_dipole("magnet", "arm", moment=(0.1, 0, 0))
    with pytest.raises(ValueError, match="field_x"):
        robot.add_tendon("field_x", "arm", y=0.01)
    other = rod()
    other.add_tendon("field_y", "arm", y=0.01)
    with pytest.raises(ValueError, match="field_y"):
        other.add_dipole("magnet", "arm", moment=(0.1, 0, 0))


@pytest.fixture(scope="module")
def run():
    robot = body(pl.Free())
    robot.add_motor("thrust", "body", dof="vz")
    robot.add_motor("spin", "body", dof="wz")
    system = robot.compile()
    return pl.simulate(system, 0.1, u={"thrust": 10.0, "spin": 1.0}, output=0.02)


def test_units_in_plots(run):
    pytest.importorskip("matplotlib")
    labels = [line.get_label() for line in run.plot_inputs().lines]
    assert labels == ["thrust [N]", "spin [N m]"]
    assert run.plot_coordinates().get_ylabel() == "displacement [m]"
    assert run.plot_coordinates("body.qw").get_ylabel() == "coordinate [–]"


def test_units_in_files(run, tmp_path):
    h5py = pytest.importorskip("h5py")
    run.save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        units = json.loads(file["header"][()])["units"]
    assert units["u"] == ["N", "N m"]
    assert units["q"] == list(run.system.coordinate_units)
    assert units["v"] == list(run.system.velocity_units)
    assert units["tau"] == list(run.system.force_units)


def test_units_in_datasets(run):
    pytest.importorskip("xarray")
    data = run.to_xarray()
    assert data["input_unit"].sel(input="thrust").item() == "N"
    assert data["velocity_unit"].sel(dof="body.vz").item() == "m/s"
    assert data["coordinate_unit"].sel(coordinate="body.z").item() == "m"
    assert data["t"].attrs["units"] == "s"
    assert float(data["q"].sel(coordinate="body.z")[-1]) == run.q[-1, 6]


def test_columns_of_a_table(tmp_path):
    """Quaternions have names, and a comma in a name makes no column."""
    robot = pl.Robot("robot")
    robot.add_body("a, b", joint=pl.Free(), mass=1.0, inertia=(1, 1, 1))
    result = pl.simulate(robot.compile(), 0.02, output=0.01)
    result.save_csv(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    places = [f"a, b: position {c}" for c in "xyz"]
    assert rows[0] == ["t", *(f"a, b.{c}" for c in ("qw", "qx", "qy", "qz", "x", "y", "z")), *places]
    np.testing.assert_allclose(np.array(rows[1:], dtype=float)[:, 1:8], result.q, rtol=1e-15)
    np.testing.assert_allclose(np.array(rows[1:], dtype=float)[:, 8:], result.positions("a, b"), rtol=1e-15)


def test_units_of_sliders(run):
    pytest.importorskip("viser")
    robot = run.system.robot
    robot.add_body("table", joint=pl.Prismatic("z"), mass=1.0)
    robot.add_motion("lift", "table")
    with pl.studio(robot, port=8371) as studio:
        assert studio.sliders["thrust"].label == "thrust [N]"
        assert studio.sliders["spin"].label == "spin [N m]"
        assert studio.moved["lift"].label == "lift [m]"


@pytest.mark.parametrize("name", ["cost $x_1$", "a $\\frac{1}$ b", "_hidden", "$"])
def test_names_are_no_formulas(name, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    robot = pl.Robot(name)
    robot.add_rod(name, length=0.4, section=pl.Circle(0.02), material=RUBBER, strains=pl.Strains.planar_bending(0))
    robot.add_tendon(f"{name} 2", name, y=0.01)
    robot.add_tendon(f"{name} 3", name, y=-0.01)
    result = pl.simulate(robot.compile(), 0.02, u={f"{name} 2": 1.0, f"{name} 3": 1.5}, output=0.01)
    for k, ax in enumerate([result.plot_tip(), result.plot_inputs(), result.plot_coordinates(), result.plot_shape()]):
        ax.get_figure().savefig(tmp_path / f"{k}.svg")
    shown = [text.get_text() for text in result.plot_inputs().get_legend().get_texts()]
    assert [text.replace("\\$", "$").lstrip("\u200b") for text in shown] == [f"{name} 2", f"{name} 3"]
    plt.close("all")


# ---------------------------------------------------------------- parameters


@dataclass(frozen=True, repr=False)
class Lift(pl.Joint):
    """A slide whose step is `height` times a metre."""

    height: float = 2.0

    dof_names = ("way",)
    dof_units = ("m",)

    @property
    def screws(self):
        return [slide((0.0, 0.0, self.height))]


class Measured(Lift):
    units: ClassVar[dict[str, str]] = {"height": "–"}


@dataclass(frozen=True)
class Block(pl.Box):
    """A box with numbers of its own."""

    density_ratio: float = 3.0


def test_units_are_stated_by_the_part_and_not_guessed_from_names():
    for joint, unit in ((Lift(), ""), (Measured(), "–")):
        robot = body(joint)
        assert robot.parameters.units["body.joint.height"] == unit  # once "m", as the height of a section
        assert robot.parameters.units["body.joint.stiffness"] == "N/m"
    with pytest.raises(TypeError, match="'hight' is none of its fields"):
        body(type("Wrong", (Lift,), {"units": {"hight": "m"}})()).parameters  # noqa: B018
    with pytest.raises(TypeError, match="2 is no text"):
        body(type("Wrong", (Lift,), {"units": {"height": 2}})()).parameters  # noqa: B018
    robot = pl.Robot("box")
    robot.add_body("box", shape=Block(0.1, 0.2, 0.3), mass=1.0, joint=pl.Free())
    assert {robot.parameters.units[f"box.shape.{key}"] for key in "xyz"} == {"m"}
    assert robot.parameters.units["box.shape.density_ratio"] == ""


@pytest.mark.parametrize(
    ("law", "unit"),
    [
        ({}, "N/m^1.5"),
        ({"exponent": 1.0}, "N/m"),
        ({"exponent": 2.0}, "N/m²"),
        ({"per_length": True}, "N/m^2.5"),
        ({"exponent": 1.0, "per_length": True}, "N/m²"),
    ],
)
def test_the_unit_of_the_stiffness_of_a_contact(law, unit):
    """In the table of parameters, in its text and in messages; and it is that of the force."""
    robot = rod()
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.0199))
    robot.add_contact("touch", "arm", "floor", stiffness=1e4, **law)
    assert robot.parameters.units["touch.stiffness"] == unit
    row = next(line for line in repr(robot.parameters).splitlines() if line.startswith("touch.stiffness"))
    assert row.endswith(f" {unit}")
    with pytest.raises(ValueError, match=re.escape(f"({unit})")):
        robot.add_contact("other", "arm", "floor", stiffness=-1.0, **law)
    with pytest.raises(TypeError, match=re.escape(f"[{unit}]")):
        robot.with_parameters({"touch.stiffness": "soft"})
    system = robot.compile()
    found = system.contacts(system.neutral())
    depth = 1e-4
    share = 0.4 if law.get("per_length") else len(found)
    assert found.normal_force.sum() == pytest.approx(1e4 * share * depth ** law.get("exponent", 1.5), rel=1e-9)


def test_every_number_of_our_own_parts_has_a_unit():
    """Or is one of those whose unit depends on the joint, on other numbers of its law, or on the matrix that it is in."""
    depends = re.compile(
        r"coulomb|viscous|breakaway|stribeck|stiction|slip_speed|torque|rest|gap|lower|upper|stiffness|dissipation|offset|ratio|kp|kd|limit|"
        r"stress|drag|added_mass|inertia|damping|moment|bending|torsion|stretch|shear|law|joint|volume"
    )
    for make in (rod, small_of_bearings, everything_loaded):
        for name, unit in make().parameters.units.items():
            assert unit or depends.search(name), name
