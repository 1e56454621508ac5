"""Model files with functions: laws by import path, events and feedback by formula."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.cli import main
from pliant.io import EventFormula, StateFormula

pytest.importorskip("ruamel.yaml")
LAWS = """
import numpy as np

print("imported")

STIFFNESS = np.array([0.01, 0.02, 0.02, 50, 20, 20])

def stiffening(state, X, lag):
    strain = state[:, :6]
    return STIFFNESS * strain * (1 + (strain[:, 1:3] ** 2).sum(axis=1, keepdims=True) / 9)

NOTHING = 3
"""
ARM = """
name: arm
gravity: [0, 0, 0]
materials:
  silicone: {young: 1e6, poisson: 0.5, density: 1000, viscosity: 1e4}
links:
  arm:
    type: rod
    length: 0.3
    section: {type: Circle, radius: 0.01}
    material: silicone
    strains: {bending_z: 0}
    law: {type: UserLaw, function: "MODULE:stiffening"}
loads:
  moment: {type: wrench, parent: arm.tip, moment: [0, 0, 1]}
statics: {u: {moment: 0.12}}
"""


@pytest.fixture
def module(tmp_path: Path):
    """A file beside a module of its own; what it brings is forgotten afterwards."""
    name = f"laws_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(LAWS)
    (tmp_path / "arm.yaml").write_text(ARM.replace("MODULE", name))
    yield name
    sys.modules.pop(name, None)


def test_code_is_not_run_unless_it_is_allowed(module, tmp_path: Path, capsys) -> None:
    with pytest.raises(pl.ModelFileError, match=r"links\.arm\.law.*is Python code.*allow_code=True\), or --allow-code"):
        pl.load_model(tmp_path / "arm.yaml")
    assert main(["check", str(tmp_path / "arm.yaml")]) == 2
    assert module not in sys.modules
    assert "imported" not in capsys.readouterr().out


def test_a_law_by_its_import_path(module, tmp_path: Path, capsys) -> None:
    model = pl.load_model(tmp_path / "arm.yaml", allow_code=True)
    np.testing.assert_allclose(model.statics().q, [3.0], rtol=1e-8)  # 0.02 κ (1 + κ²/9) = 0.12
    assert str(tmp_path) not in sys.path
    assert main(["statics", str(tmp_path / "arm.yaml"), "--allow-code", "--json"]) == 0
    text = pl.io.dump_model(model)
    assert f"function: {module}:stiffening" in text
    (tmp_path / "again.yaml").write_text(text)
    again = pl.load_model(tmp_path / "again.yaml", allow_code=True)
    np.testing.assert_array_equal(again.statics().q, model.statics().q)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("os.system('ls')", "the import path of a Python function"),
        ("nowhere_at_all:law", "cannot be imported: ModuleNotFoundError"),
        ("MODULE:missing", "cannot be imported: AttributeError"),
        ("MODULE:NOTHING", "is not a function"),
        ("MODULE", "module:function"),
    ],
)
def test_wrong_paths(path, words, module, tmp_path: Path) -> None:
    text = ARM.replace("MODULE:stiffening", path.replace("MODULE", module))
    (tmp_path / "arm.yaml").write_text(text)
    with pytest.raises(pl.ModelFileError, match=words):
        pl.load_model(tmp_path / "arm.yaml", allow_code=True)


def test_a_local_function_is_not_written() -> None:
    robot = pl.parse_model(pl.io.starter_text()).robot
    silicone = pl.Material(young=1e6, poisson=0.5, density=1000)
    law = pl.UserLaw(lambda state, X, lag: state[:, :6])
    robot.add_rod(
        "tail", length=0.1, section=pl.Circle(0.01), material=silicone, strains=pl.Strains(bending=0), law=law
    )
    with pytest.raises(pl.io.WriteError, match="top of a module"):
        pl.io.dump_model(robot)


PENDULUM = """
name: pendulum
links:
  rod: {type: body, joint: {type: Revolute, axis: y}, mass: 0.3, com: [0.25, 0, 0], inertia: [0.001, 0.001, 0.001]}
frames:
  end: {parent: rod, offset: [0.5, 0, 0]}
actuators:
  motor: {type: motor, link: rod}
simulation:
  duration: 2
  rtol: 1.0e-6
  u: {motor: "-0.5*(q('rod.angle') - 0.2) - 0.1*v('rod.angle') + 0*t"}
  events:
    low: z('end') + 0.3
    slow: {formula: "v('rod.angle')", terminal: true, direction: -1}
"""


def test_feedback_and_events_by_formula() -> None:
    model = pl.parse_model(PENDULUM)
    run = model.simulate()
    system = run.system

    def feedback(t, state):
        return {"motor": -0.5 * (state.q[0] - 0.2) - 0.1 * state.v[0]}

    def low(state):
        return system.pose("end", state.q)[2, 3] + 0.3

    def slow(state):
        return state.v[0]

    slow.terminal, slow.direction = True, -1
    same = pl.simulate(system, 2, u=feedback, events=[low, slow], rtol=1e-6)
    assert [event.name for event in run.events] == [event.name for event in same.events] == ["low", "slow"]
    for one, other in zip(run.events, same.events):
        assert one.t == pytest.approx(other.t, abs=1e-12)
    assert run.t[-1] == same.t[-1] < 2.0
    again = pl.parse_model(pl.io.dump_model(model))
    assert again.simulation_settings == model.simulation_settings
    np.testing.assert_array_equal(again.simulate().q, run.q)


def test_every_function_of_the_state() -> None:
    system = pl.parse_model(PENDULUM).compile()
    run = pl.simulate(system, 0.2, output=0.1)
    state, q, v = run.last, run.q[-1], run.v[-1]
    g, twist = system.pose("end", q), system.twist("end", q, v, reference="world")
    expected = {f"{c}('end')": g[k, 3] for k, c in enumerate("xyz")}
    expected |= {f"v{c}('end')": twist[3 + k] for k, c in enumerate("xyz")}
    expected |= {"q('rod.angle')": q[0], "v('rod.angle')": v[0], "t": 0.2, "max(t, q('rod.angle'))": max(0.2, q[0])}
    for text, value in expected.items():
        assert StateFormula(text).bound(system)(state) == pytest.approx(value, abs=1e-14), text


def test_signals_beside_feedback_keep_their_jumps() -> None:
    text = PENDULUM.replace(
        "  motor: {type: motor, link: rod}", "  motor: {type: motor, link: rod}\n  other: {type: motor, link: rod}"
    )
    text = text.replace('+ 0*t"}', '+ 0*t", other: {t: [0, 0.317, 2], values: [0, 1, 0], kind: hold}}')
    run = pl.parse_model(text).simulate(events={})
    assert 0.317 in run.t
    assert run.success


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q(3)", "takes a name in quotes"),
        ("q('a', 'b')", "takes a name in quotes"),
        ("z('end').real", "no place in a formula"),
        ("__import__('os')", "there is no function"),
        ("X + q('rod.angle')", "'X' is unknown"),
        ("", "empty"),
    ],
)
def test_what_is_no_formula(text, words) -> None:
    with pytest.raises(ValueError, match=words):
        StateFormula(text)


def test_names_that_are_not_there() -> None:
    system = pl.parse_model(PENDULUM).compile()
    with pytest.raises(KeyError, match=r"did you mean 'rod\.angle'"):
        StateFormula("q('rod.angel')").bound(system)
    with pytest.raises(KeyError, match="end"):
        StateFormula("z('ende')").bound(system)
    with pytest.raises(ValueError, match="must be finite"):
        StateFormula("1/(q('rod.angle') - q('rod.angle'))").bound(system)(pl.simulate(system, 0.1).last)
    with pytest.raises(ValueError, match="direction"):
        EventFormula("t - 1", direction=2)
    with pytest.raises(ValueError, match=r"'motor' is feedback"):
        pl.parse_model(PENDULUM).simulate(start="statics")
    with pytest.raises(pl.ModelFileError, match=r"events\.low"):
        pl.parse_model(PENDULUM.replace("z('end') + 0.3", "zz('end') + 0.3"))


def test_saved_events_must_be_formulas() -> None:
    model = pl.parse_model(PENDULUM)
    with pytest.raises(pl.io.WriteError, match="EventFormula"):
        pl.io.dump_model(model, simulation={"duration": 1.0, "events": [lambda state: state.t - 1]})
    assert textwrap.dedent(pl.io.dump_model(model)).count("terminal") == 1
