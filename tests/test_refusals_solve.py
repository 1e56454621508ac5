"""Errors of the solvers that a newcomer meets first: each names what was given, what is allowed and what to do."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.model.validate import finite


def rod_robot() -> pl.Robot:
    robot = pl.Robot("arm")
    rubber = pl.Material(young=5e5, poisson=0.5, density=1000.0, viscosity=4e3)
    rod = robot.add_rod("rod", length=0.4, section=pl.Circle(0.02), material=rubber, strains=pl.Strains(bending=1))
    robot.add_tendon("left", rod, y=0.012)
    robot.add_tendon("right", rod, y=-0.012)
    return robot


@pytest.fixture(scope="module")
def arm() -> pl.System:
    return rod_robot().compile()


@pytest.fixture(scope="module")
def run(arm: pl.System) -> pl.Result:
    return pl.simulate(arm, 0.1, step=0.005)


def strict() -> bool:
    """Whether the checks of numbers refuse text; they are tested with the model."""
    try:
        finite("x", "1")
    except TypeError:
        return True
    return False


# ---------------------------------------------------------------- a Robot instead of a System


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("simulate", lambda robot: pl.simulate(robot, 1)),
        ("this analysis", lambda robot: pl.linearize(robot, np.zeros(4))),
        ("this analysis", lambda robot: pl.modes(robot, np.zeros(4))),
        ("this analysis", lambda robot: pl.static_jacobian(robot, np.zeros(4), "rod.tip")),
        ("trace_equilibria", lambda robot: pl.trace_equilibria(robot, "left", stop=1.0)),
        ("coriolis_matrix", lambda robot: pl.coriolis_matrix(robot, np.zeros(4), np.zeros(4))),
        ("equation_of_motion", lambda robot: pl.equation_of_motion(robot, np.zeros(4), np.zeros(4))),
        ("projected_matrices", lambda robot: pl.projected_matrices(robot, np.zeros(4), np.zeros(4))),
        ("composite_matrices", lambda robot: pl.composite_matrices(robot, np.zeros(4), np.zeros(4))),
        ("reconstruct", lambda robot: pl.reconstruct(robot, np.zeros(4), np.zeros(4))),
        ("redundant_constraints", lambda robot: pl.redundant_constraints(robot, np.zeros(4))),
        ("Result.load", lambda robot: pl.Result.load("run.h5", robot)),
    ],
)
def test_a_robot_must_be_compiled(name: str, call) -> None:
    with pytest.raises(
        TypeError, match=rf"{name} needs a System, and 'arm' is a Robot: compile it first, .*robot\.compile"
    ):
        call(rod_robot())
    with pytest.raises(TypeError, match=rf"{name} needs a System, which robot.compile\(\) makes; got 3"):
        call(3)


def test_a_model_must_be_compiled() -> None:
    model = pl.parse_model(
        {"links": {"bob": {"type": "body", "joint": {"type": "Revolute", "axis": "y"}, "mass": 1.0}}}
    )
    with pytest.raises(TypeError, match=r"is a Model: compile it first, system = model\.compile"):
        pl.simulate(model, 1)


# ---------------------------------------------------------------- arguments of simulate


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"u": "c"}, TypeError, r"u = 'c' must be a dictionary of inputs by name, a vector of 2 real numbers.*left, right"),
        ({"u": 3}, ValueError, r"u has shape \(1,\), but \(2,\) is needed: left, right"),
        ({"u": ["1", "2"]}, TypeError, "real numbers"),
        ({"u": [True, False]}, TypeError, "real numbers"),
        ({"u": [1.0, True]}, TypeError, "real numbers"),
        ({"u": [1.0, 2j]}, TypeError, "real numbers"),
        ({"u": [[1.0], [2.0, 3.0]]}, TypeError, "real numbers"),
        ({"u": [1.0, np.nan]}, ValueError, "NaN"),
        ({"u": lambda: {}}, TypeError, r"u must be a function of t, or of \(t, state\); '<lambda>' needs 0 arguments"),
        ({"u": lambda t, q, v: {}}, TypeError, r"'<lambda>' needs 3 arguments \(t, q, v\)"),
        ({"u": lambda t: None}, TypeError, "u returned None: does the function lack a `return`"),
        ({"u": lambda t: "c"}, TypeError, "u = 'c' must be a dictionary"),
        ({"u": lambda t: [1.0]}, ValueError, r"u has shape \(1,\), but \(2,\)"),
        ({"u": lambda t: {"lift": 1.0}}, KeyError, "lift"),
        ({"u": {"left": lambda t, state: 1.0}}, TypeError, r"u\['left'\] .*takes two arguments.*one function of \(t, state\)"),
        ({"u": {"left": lambda t: None}}, TypeError, "input 'left' = None is not a number"),
        ({"tau": "c"}, TypeError, "tau = 'c' must be a vector of 4 real numbers"),
        ({"tau": lambda t: None}, TypeError, "tau returned None"),
        ({"tau": lambda t, state: [1.0]}, ValueError, "tau has shape"),
        ({"tau": [False] * 4}, TypeError, "tau"),
        ({"output": []}, ValueError, r"output has shape \(0,\): give an interval"),
        ({"output": [np.nan]}, ValueError, r"output\[0\] is not finite"),
        ({"output": [0.1, np.nan, 0.2]}, ValueError, r"output\[1\] is not finite"),
        ({"output": [0.1, np.inf]}, ValueError, "not finite"),
        ({"output": [0.2, 0.1]}, ValueError, "must increase, but 0.2 s is followed by 0.1 s"),
        ({"output": [0.1, 0.1]}, ValueError, "must increase"),
        ({"output": [0.1, 2.0]}, ValueError, "within the run, 0 to 1 s, but 2 s"),
        ({"output": [-1.0, 0.5]}, ValueError, "within the run, 0 to 1 s, but -1 s"),
        ({"output": [[0.1, 0.2]]}, ValueError, "output has shape"),
        ({"output": ["0.1"]}, TypeError, "output"),
        ({"output": [True]}, TypeError, "output"),
        ({"output": "fast"}, TypeError, "output = 'fast'"),
        ({"output": lambda t: t}, TypeError, "output"),
        ({"events": 3}, TypeError, "events = 3 must be a function of the state, or several in a list"),
        ({"events": "hit"}, TypeError, "events = 'hit'"),
        ({"events": [3]}, TypeError, "events"),
        ({"events": lambda state: None}, TypeError, "it returned None, but a finite number"),
        ({"events": lambda state: state.q}, TypeError, "finite number"),
        ({"events": lambda state: state.t > 0.5}, TypeError, r"it returned False, .*return a - b"),
        ({"events": lambda state: np.nan}, TypeError, "it returned nan"),
        ({"events": lambda: 1.0}, TypeError, "argument"),
        ({"motion": 3}, TypeError, r"motion = 3 must be a dictionary by the name .*\(none in this robot\)"),
        ({"motion": "left"}, TypeError, "motion = 'left'"),
        ({"velocity": [1.0]}, ValueError, r"velocity has shape \(1,\), but \(4,\) is needed"),
        ({"velocity": "fast"}, TypeError, "velocity = 'fast' must be a vector of 4 real numbers"),
        ({"velocity": [True] * 4}, TypeError, "velocity"),
        ({"velocity": [np.nan] * 4}, ValueError, "NaN"),
        ({"start": "rest"}, TypeError, "start must be an Equilibrium, a Result, a State, coordinates .*'rest'"),
        ({"start": 3.0}, ValueError, "start must be an Equilibrium"),
        ({"start": [1.0]}, ValueError, r"start must be .*shape \(1,\)"),
        ({"start": ["1"] * 4}, TypeError, "start must be"),
        ({"start": {"q": 1}}, KeyError, "no link or coordinate named 'q'"),
        ({"t0": np.nan}, ValueError, "t0"),
        ({"t0": "now"}, TypeError, "t0"),
        ({"project_velocity": "no"}, TypeError, "project_velocity = 'no' must be True or False"),
        ({"progress": "yes"}, TypeError, "progress = 'yes'"),
        ({"method": None}, ValueError, "method"),
        ({"step": 0.01, "max_step": 0.001}, ValueError, "step = 0.01 is constant.*max_step cannot be less"),
        ({"step": 0.01, "first_step": 0.001}, ValueError, "is constant"),
        ({"method": "radau", "breaks": [0.1]}, ValueError, "breaks have no effect on 'radau'"),
        ({"method": "newmark", "step": 0.01, "breaks": [0.1]}, ValueError, "breaks have no effect on 'newmark'"),
        ({"subdivide": True}, ValueError, "subdivide = True has no effect"),
        ({"method": "radau", "newton_tolerance": 1e-6}, ValueError, "newton_tolerance = 1e-06 is for the implicit methods"),
        ({"output": [[0.1], [0.2, 0.3]]}, TypeError, "output"),
    ],
    ids=lambda value: re.sub(" at 0x[0-9a-f]+", "", str(value)) if isinstance(value, dict) else None,  # the same in every process
)  # fmt: skip
def test_refused(arm: pl.System, options: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        pl.simulate(arm, 1.0, **options)


NUMBERS = (
    "duration", "t0", "step", "rho", "rtol", "atol", "max_step", "first_step", "newton_tolerance", "baumgarte", "output",
    "checkpoint_interval", "max_wall_time",
)  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["abc", [0.1, 0.2, 0.3], None, {}, 1j], ids=repr)
def test_every_number_is_checked(arm: pl.System, name: str, value: object) -> None:
    if value is None and name not in ("duration", "rtol", "atol", "checkpoint_interval"):
        pytest.skip("means the default")
    if name == "output" and isinstance(value, list):
        pytest.skip("is allowed")
    with pytest.raises(TypeError, match=name):
        pl.simulate(arm, **{"duration": 1.0, name: value})


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["0.5", True, np.True_, "1e-3"], ids=repr)
@pytest.mark.skipif(not strict(), reason="numbers may be text")
def test_text_and_truth_are_no_numbers(arm: pl.System, name: str, value: object) -> None:
    with pytest.raises(TypeError, match=name):
        pl.simulate(arm, **{"duration": 1.0, name: value})


@pytest.mark.parametrize("value", ["5", True], ids=repr)
@pytest.mark.skipif(not strict(), reason="numbers may be text")
def test_inputs_by_name_are_numbers(arm: pl.System, value: object) -> None:
    for u in ({"left": value}, lambda t: {"left": value}, {"left": lambda t: value}):
        with pytest.raises(TypeError, match="input 'left'"):
            pl.simulate(arm, 1.0, u=u)


def test_which_function_failed(arm: pl.System) -> None:
    """Errors at the start carry a note with the function's name and the time."""

    def pull(t: float) -> None:
        return None

    with pytest.raises(TypeError) as caught:
        pl.simulate(arm, 1.0, u=pull)
    assert caught.value.__notes__ == ["in u, the function 'pull', at t = 0 s"]
    with pytest.raises(ZeroDivisionError) as divided:
        pl.simulate(arm, 1.0, u={"left": lambda t: 1 / t})
    assert "in u['left']" in divided.value.__notes__


@pytest.mark.parametrize("method", ["generalized-alpha", "bdf", "radau", "lsoda", "rk45", "dop853"])
def test_first_step_of_every_method(arm: pl.System, method: str) -> None:
    """It was ignored by all but the first."""
    assert pl.simulate(arm, 0.01, method=method, first_step=1e-6).t[1] <= 1e-6 * (1 + 1e-9)


def test_a_step_that_fails_names_its_coordinate(arm: pl.System) -> None:
    result = pl.simulate(arm, 0.1, tau=lambda t: [0.0, 0.0, 0.0, 1e300 if t > 0.05 else 0.0])
    assert not result.success
    assert f"because of {arm.dof_names[3]!r}" in result.message


def test_event_that_becomes_nan(arm: pl.System) -> None:
    """In the middle of a run: the result so far, and whose fault it is."""

    def hit(state) -> float:
        return np.nan if state.t > 0.05 else 1.0

    result = pl.simulate(arm, 0.1, step=0.005, events=hit)
    assert not result.success
    assert "it returned nan" in result.message
    assert "event function 'hit'" in result.message
    assert result.t[-1] == pytest.approx(0.05)


def test_motion_is_checked() -> None:
    robot = pl.Robot("driven")
    robot.add_body("bob", joint=pl.Revolute("y"), mass=1.0, com=(0, 0, -1.0))
    robot.add_motion("shake", "bob")
    system = robot.compile()
    for value in ("fast", "1.0", True, [1.0, 2.0], np.nan, lambda t: "1.0", lambda t: True, lambda t: None):
        with pytest.raises(ValueError, match=r"motion 'shake': its position at t = 0 must be 1 finite number"):
            pl.simulate(system, 1.0, motion={"shake": value})
    with pytest.raises(TypeError, match=r"motion = 0.3 must be a dictionary .*'shake'"):
        pl.simulate(system, 1.0, motion=0.3)
    calls = []

    def once(t: float) -> str:
        calls.append(t)
        return "x"

    with pytest.raises(ValueError, match="shake"):
        pl.simulate(system, 1.0, motion={"shake": once})
    assert len(calls) == 1  # not called again for the message


def test_time_that_stands_still(arm: pl.System) -> None:
    """`t0=1e18` was "completed" with one row."""
    with pytest.raises(
        ValueError, match=r"t0 = 1e\+18 s is too large: .*two times closer than 1\.3e\+02 s are the same number"
    ):
        pl.simulate(arm, 1.0, t0=1e18)


# ---------------------------------------------------------------- vectors of a system


@pytest.mark.parametrize(
    "value", [["1", "2", "3", "4"], [True] * 4, [1.0, 2.0, 3.0, True], [1j] * 4, "abcd", None], ids=repr
)
def test_coordinates_are_numbers(arm: pl.System, value: object) -> None:
    for call in (
        lambda: arm.gravity_forces(value),
        lambda: arm.inverse_dynamics(np.zeros(4), value, np.zeros(4)),
        lambda: arm.integrate(value, np.zeros(4)),
        lambda: arm.difference(np.zeros(4), value),
        lambda: arm.pose("rod.tip", value),
    ):
        with pytest.raises(TypeError, match="must be a vector of 4 real numbers"):
            call()


def test_numbers_in_every_form(arm: pl.System) -> None:
    expected = arm.mass_matrix([1.0, 2.0, 3.0, 4.0])
    for q in (
        (1, 2, 3, 4),
        np.array([1, 2, 3, 4]),
        np.array([1, 2, 3, 4], dtype=np.float32),
        np.arange(1.0, 9.0)[::2] / 2 + 0.5,
        [np.float64(1), 2, np.int8(3), 4.0],
    ):
        np.testing.assert_array_equal(arm.mass_matrix(q), expected)


# ---------------------------------------------------------------- results


def test_resample_is_checked(run: pl.Result) -> None:
    for t, error, words in (
        ([np.nan], ValueError, "finite times"),
        (np.nan, ValueError, "finite times"),
        ([0.05, np.inf], ValueError, "finite times"),
        ([], ValueError, "one or several"),
        ([[0.05]], ValueError, "one or several"),
        ("0.05", TypeError, "t = '0.05' must be real numbers"),
        (True, TypeError, "real numbers"),
        ([0.2], ValueError, "within the run"),
    ):
        with pytest.raises(error, match=words):
            run.resample(t)


def test_other_files_are_not_results(arm: pl.System, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    text, model, other, empty = (tmp_path / name for name in ("notes.txt", "arm.json", "other.h5", "empty.h5"))
    text.write_text("hello")
    pl.save_model(arm, model)
    with h5py.File(other, "w") as file:
        file["x"] = [1.0, 2.0]
    empty.write_bytes(b"")
    for path, words in (
        (text, "is not a result of pliant. Results are HDF5 files"),
        (model, "Models are read by pl.load_model"),
        (other, "is an HDF5 file, but not a result of pliant"),
        (empty, "It is empty"),
    ):
        with pytest.raises(ValueError, match=re.escape(str(path)) + ".*" + words):
            pl.Result.load(path, arm)
    with pytest.raises(FileNotFoundError):
        pl.Result.load(tmp_path / "nothing.h5", arm)
    with pytest.raises(IsADirectoryError):
        pl.Result.load(tmp_path, arm)


def test_saving_to_impossible_places(run: pl.Result, tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    with pytest.raises(FileNotFoundError, match=r"path = .*there is no folder .*make it first"):
        run.save(tmp_path / "nowhere" / "run.h5")
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        run.save(tmp_path)
    with pytest.raises(TypeError, match="path = 3 must be the path of a file"):
        run.save(3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "newmark", "rho": 0.5}, "rho = 0.5 is for method='generalized-alpha'"),
        ({"baumgarte": 0.1}, "baumgarte = 0.1 has no effect: the robot has no loops"),
        ({"project_velocity": True}, "project_velocity = True has no effect: the robot has no loops"),
    ],
    ids=["rho", "baumgarte", "project_velocity"],
)
def test_options_without_effect_are_refused(arm: pl.System, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pl.simulate(arm, 0.1, **options)
