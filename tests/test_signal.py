"""Signals and what drives a run: values, limits, where inputs jump, and that kernels can evaluate them."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import pliant as pl
import robots
from pliant.solve.drive import Drive
from pliant.solve.jumps import first_jump
from test_program import AT, LEFT, RIGHT, evaluated

S, E = pl.Signal, pl.Expression
NONE = np.zeros(0)


# ---------------------------------------------------------------- signals


def test_linear():
    signal = S([0, 1, 3, 4], [1, 3, 3, 0])
    times = np.linspace(-1, 5, 61)
    np.testing.assert_allclose(signal(times), np.interp(times, signal.t, signal.values), atol=1e-15)
    assert isinstance(signal(0.5), float)
    assert signal(2) == 3.0
    assert (signal.breakpoints, signal.jumps, signal.shape) == ((0.0, 1.0, 3.0, 4.0), (), ())
    assert S([0, 1, 2, 3], [0, 1, 2, 2]).breakpoints == (0.0, 2.0)  # straight on at 1, level at 3


def test_hold():
    signal = S([0, 1, 2, 3], [5, 8, 8, 0], "hold")
    assert signal([-1, 0, 0.99, 1, 2.5, 3, 9]).tolist() == [5, 5, 5, 8, 8, 0, 0]
    assert signal.jumps == signal.breakpoints == (1.0, 3.0)
    assert [signal.limit(1.0, side) for side in (-1, 0, 1)] == [5, 8, 8]
    assert signal.limit(0.5, -1) == signal.limit(0.5, 1) == 5
    assert S([2], [7], "hold")([0, 2, 5]).tolist() == [7, 7, 7]


def test_spline():
    rng = np.random.default_rng(0)
    t, values = np.cumsum(rng.uniform(0.1, 1, 8)), rng.normal(size=(8, 3))
    signal = S(t, values, kind="spline")
    inside = np.linspace(t[0], t[-1], 50)
    np.testing.assert_allclose(signal(inside), CubicSpline(t, values)(inside), atol=1e-13)
    np.testing.assert_allclose(signal(t), values, atol=1e-15)
    assert signal(t[0] - 1).tolist() == values[0].tolist()
    assert signal(t[-1] + 1).tolist() == values[-1].tolist()
    assert (signal.shape, signal.jumps, signal.breakpoints) == ((3,), (), (t[0], t[-1]))
    assert S([0, 1, 2, 3], [1, 1, 1, 1], "spline").breakpoints == ()
    assert signal(np.zeros((2, 4))).shape == (2, 4, 3)


@pytest.mark.parametrize("kind", ["linear", "hold", "spline"])
def test_numbers_and_arrays_agree(kind):
    rng = np.random.default_rng(1)
    for shape in ((20,), (20, 2)):
        signal = S(np.cumsum(rng.uniform(0.1, 1, 20)), rng.normal(size=shape), kind)
        times = [*signal.t, *rng.uniform(-1, 12, 50)]
        np.testing.assert_array_equal(signal(times), [signal(t) for t in times])
        np.testing.assert_array_equal(signal(times), [signal.limit(t, 1) for t in times])
        np.testing.assert_array_equal(signal(times), [signal.limit(t, 0) for t in times])
        beside = [t for t in times if t not in signal.t]
        np.testing.assert_array_equal(signal(beside), [signal.limit(t, -1) for t in beside])


def test_signals_are_values():
    a, b = S([0, 1], [2, 3]), S(np.array([0.0, 1.0]), (2, 3.0))
    assert a == b
    assert hash(a) == hash(b)
    assert a != S([0, 1], [2, 3], "hold")
    assert pickle.loads(pickle.dumps(a)) == copy.deepcopy(a) == a
    with pytest.raises(AttributeError):
        a.kind = "hold"
    assert repr(a) == "Signal(2 points in [0, 1] s, kind='linear')"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [1, 2, 3]), r"Signal.values has shape \(3,\), but shape \(2,\) is needed"),
        (([0, 1, 1], [1, 2, 3]), r"Signal.t\[2\] = 1.0 is not allowed: it must be larger than Signal.t\[1\] = 1.0"),
        (([0, 1], ["a", 2]), "Signal.values = .* is not an array of real numbers"),
        ((5, [1]), r"Signal.t has shape \(\)"),
        (([0, 1, 2], [1, 2, 3], "spline"), "needs at least 4 point"),
        (([0], [1]), "needs at least 2 point"),
        (([], []), "needs at least 2 point"),
        (([0, math.nan], [1, 2]), "Signal.t = .* every entry must be a finite number"),
        (([0, 1], [1, math.inf]), "Signal.values = .* every entry must be a finite number"),
        (([0, 1], [1, 2], "cubic"), "Signal.kind = 'cubic' is not allowed: choose one of 'linear', 'hold', 'spline'"),
        (([0, 1], [[1, 2], [3]]), "rows are empty or differ in length"),
        (([0, 1e-300], [0, 1e60]), "changes too much between times"),
    ],
)
def test_errors_name_field_and_value(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        S(*arguments)


# ---------------------------------------------------------------- drive


@pytest.fixture(scope="module")
def system() -> pl.System:
    robot = robots.cable_driven_manipulator()
    robot.add_tendon("a", "arm", z=0.01)
    robot.add_tendon("b", "arm", z=-0.01)
    return robot.compile()


HOLD = S([0, 0.1, 0.2], [1, 3, 2], "hold")
RAMP = S([0, 0.15, 0.3], [0, 5, 5])


def test_programs_give_what_the_drive_gives(system):
    nv = system.nv
    tau = np.linspace(0, 1, nv)
    rows = S([0, 0.1, 0.2], np.outer([0, 1, 3], tau))
    for u, force in [
        (None, None), ({"a": 2.0}, tau), ([1.0, 2.0], rows), ({"a": HOLD, "b": 3.0}, None), ({"b": RAMP, "a": E("5*t**2")}, tau),
        (E(["sin(t)**2", 1]), E(["t"] * nv)), (S([0, 1], [[1, 2], [3, 4]]), None), ({"a": E("2 if t < 0.1 else 3")}, rows),
    ]:  # fmt: skip
        drive = Drive(system, u, force)
        program = drive.program
        assert program is not None
        assert program is drive.program
        out = program.constant.copy()
        for t in (-0.1, 0.0, 0.05, 0.1, 0.15, 0.2, 0.27, 5.0):
            for side in (LEFT, AT, RIGHT):
                assert evaluated(program, t, side, out) == -1
                np.testing.assert_allclose(out, np.concatenate(drive(t, NONE, NONE, int(side))), rtol=1e-13, atol=1e-13)


def test_python_functions_have_no_program(system):
    for u, tau in [
        (lambda t: {"a": t}, None), ({"a": lambda t: t, "b": HOLD}, None), (lambda t, state: [1, 2], None),
        (None, lambda t: np.zeros(system.nv)), ({"a": E("abs(sin(t > 1))")}, None), ({"wrong": HOLD}, None), ({"a": HOLD, "b": "x"}, None),
        ({"a": HOLD, "b": -1.0}, None), (HOLD, None), (None, HOLD), ({"a": S([0, 1], [[1, 2], [1, 2]])}, None),
    ]:  # fmt: skip
        assert Drive(system, u, tau).program is None


def test_programs_know_the_bounds_of_inputs(system):
    program = Drive(system, {"a": E("t"), "b": S([0, 1], [0, -1])}).program
    out = program.constant.copy()
    assert evaluated(program, 0.0, AT, out) == -1
    assert evaluated(program, -1.0, AT, out) == 0
    assert evaluated(program, 0.5, AT, out) == 1
    with pytest.raises(ValueError, match=r"input 'b' = -0\.5 is not allowed"):
        Drive(system, {"b": S([0, 1], [0, -1])})(0.5, NONE, NONE)


def test_breaks(system):
    def plan(t):
        return 1.0 if t < 0.25 else 2.0

    plan.breakpoints = (0.25, 0.1)
    drive = Drive(system, {"a": HOLD, "b": plan}, S([0.05, 0.3], np.outer([0, 1], np.ones(system.nv))))
    assert drive.breaks(0, 1).tolist() == [0.05, 0.1, 0.2, 0.25, 0.3]
    assert drive.breaks(0.1, 0.25).tolist() == [0.2]
    assert drive.breaks(0.5, 1).tolist() == []
    assert drive(0.25, NONE, NONE, -1)[0].tolist() == [2, 1]
    assert drive(0.25, NONE, NONE)[0].tolist() == [2, 2]
    assert [drive(0.1, NONE, NONE, side)[0][0] for side in (-1, 0, 1)] == [1, 3, 3]

    def law(t, state):
        return [1, 2]

    law.breakpoints = (0.5,)
    assert Drive(system, law).breaks(0, 1).tolist() == []
    plan.breakpoints = ("soon",)
    with pytest.raises(TypeError, match=r"breakpoints = \('soon',\) of the function 'plan' in u\['b'\]"):
        Drive(system, {"b": plan})


def test_jumps_are_found(system):
    times = []

    def stepped(t):
        times.append(t)
        return 1.0 if t < 0.7 else 2.0

    drive = Drive(system, {"a": stepped, "b": HOLD})
    assert drive.find_jump(0, 0.5) is None
    assert drive.find_jump(0.7, 1) is None  # strictly inside
    assert drive.find_jump(0, 0.7) is None
    assert drive(0.7, NONE, NONE, -1)[0][0] == 2.0  # not known yet
    assert drive.find_jump(0, 1) == (0.7, "u['a']")
    assert [drive(0.7, NONE, NONE, side)[0][0] for side in (-1, 0, 1)] == [1, 2, 2]
    assert times[-3:] == [math.nextafter(0.7, 0), 0.7, math.nextafter(0.7, 1)]
    drive = Drive(system, {"a": E("1 if t <= 0.3 else 2"), "b": E("t")})
    assert drive.find_jump(0, 1) == (math.nextafter(0.3, 1), "u['a']")
    drive = Drive(system, lambda t: {"b": 5 + 0.1 * (t > 0.4)}, lambda t: np.full(system.nv, float(t > 0.2)))
    assert drive.find_jump(0, 1) == (math.nextafter(0.2, 1), "tau[0]")
    assert drive.find_jump(0.3, 1) == (math.nextafter(0.4, 1), "u['b']")
    assert Drive(system, lambda t, state: [float(t > 0.5), 0]).find_jump(0, 1) is None
    with pytest.raises(ValueError, match="is infinite") as error:
        Drive(system, {"a": E("1/(t - 0.5 if abs(t - 0.5) > 0.01 else 0)")}).find_jump(0, 1)
    assert "in u['a']" in error.value.__notes__[0]


@pytest.mark.parametrize(
    ("function", "at"),
    [
        (lambda t: float(t >= 0.5), 0.5),
        (lambda t: math.floor(32 * t), 1 / 32),
        (lambda t: int(10 * t) % 2, 0.1),
        (lambda t: t % 0.3, 0.3),
        (lambda t: 100 * math.sin(t) + 1e-2 * (t >= 0.777), 0.777),
        (lambda t: math.tanh(1e3 * (t - 0.2)) + 0.1 * (t >= 0.6), 0.6),
        (lambda t: math.tanh(1e6 * (t - 0.3)), None),
        (lambda t: math.tanh(1e12 * (t - 0.3)), None),
        (lambda t: abs(t - 0.3) ** 0.1, None),
        (lambda t: 1 / (abs(t - 0.3) + 1e-6), None),
        (lambda t: math.sin(1e4 * t), None),
        (lambda t: 1 + 1e-14 * math.sin(1e14 * t), None),
        (lambda t: 3.0, None),
    ],
    ids=range(13),
)
def test_jumps_are_told_from_steep_functions(function, at):
    found = first_jump(lambda t: np.array([function(t)], dtype=float), 0.001, 0.999)
    if at is None:
        assert found is None
    else:
        assert found[0] == pytest.approx(at, rel=1e-13)
        assert abs(function(found[0]) - function(math.nextafter(found[0], 0))) > 1e-3


def test_jumps_anywhere_in_time():
    for at in (0.0, 1e-300, 1234567.891, -3.3):
        found = first_jump(lambda t, at=at: np.array([2.0, float(t >= at)]), at - 1.1, at + 1)
        assert found == (at, 1)


# ---------------------------------------------------------------- simulations and files


def test_simulations(system):
    runs = [
        pl.simulate(system, 0.3, u=u, step=0.01, output=0.05, breaks=[*HOLD.breakpoints, *RAMP.breakpoints])
        for u in (
            {"a": HOLD, "b": RAMP},
            {"a": lambda t: HOLD(t), "b": lambda t: RAMP(t)},
            lambda t: [HOLD(t), RAMP(t)],
        )
    ]
    assert runs[0].success
    for run in runs[1:]:
        np.testing.assert_allclose(run.q, runs[0].q, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(runs[0].u, np.stack([HOLD(runs[0].t), RAMP(runs[0].t)], axis=1))


@pytest.mark.parametrize("format", ["yaml", "json"])
def test_files(system, format):
    pytest.importorskip("ruamel.yaml")
    rng = np.random.default_rng(0)
    noisy = S(np.cumsum(rng.uniform(size=9)), rng.normal(size=9), "spline")
    tau = S([0, 1 / 3], rng.normal(size=(2, system.nv)))
    settings = {"duration": 1.0, "u": {"a": HOLD, "b": noisy}, "tau": tau}
    text = pl.io.dump_model(system.robot, simulation=settings, format=format)
    model = pl.parse_model(text)
    assert model.simulation_settings == settings
    assert pl.io.dump_model(model, format=format) == text


def test_the_schema_knows_signals(system):
    jsonschema = pytest.importorskip("jsonschema")
    settings = {"duration": 1.0, "u": {"a": HOLD, "b": RAMP}, "tau": S([0, 1], np.zeros((2, system.nv)))}
    content = json.loads(pl.io.dump_model(system.robot, simulation=settings, format="json"))
    jsonschema.validate(content, pl.io.schema())
    content["simulation"]["u"]["a"]["kind"] = "steps"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, pl.io.schema())


def test_motions_in_files():
    pytest.importorskip("ruamel.yaml")
    robot = pl.Robot("joint")
    robot.add_body("link", joint=pl.Revolute("y"), mass=1, com=(1, 0, 0))
    robot.add_motion("turn", "link")
    t = np.linspace(0, 1, 30)
    curve, rate = S(t, np.sin(t), "spline"), S(t, np.cos(t), "spline")
    for motion in (curve, pl.Motion(curve, rate), pl.Motion(velocity=rate)):
        model = pl.parse_model(pl.io.dump_model(robot, simulation={"duration": 0.5, "motion": {"turn": motion}}))
        assert model.simulation_settings["motion"]["turn"] == motion
    run = pl.simulate(robot.compile(), 0.5, motion={"turn": pl.Motion(curve, rate)}, step=0.01)
    np.testing.assert_allclose(run.q[:, 0], np.sin(run.t), atol=1e-5)


@pytest.mark.parametrize(
    ("signal", "message"),
    [
        ("{t: [0, 1], values: [1]}", "Signal.values has shape"),
        ("{t: [0, 0], values: [1, 2]}", "must be larger than"),
        ("{t: [0, 1], values: [1, 2], kind: step}", "'step' is not allowed"),
        ("{t: [0, 1]}", "'values' is missing"),
        (
            "{t: [0, 1], values: [[1, 2], [3, 4]]}",
            "the signal has rows of 2 values, but at each time a number is needed",
        ),
        ("{X: [0, 1], values: [1, 2]}", "unknown key 'X'"),
    ],
)
def test_errors_of_files(system, signal, message):
    pytest.importorskip("ruamel.yaml")
    text = pl.io.dump_model(system.robot, simulation={"duration": 1.0, "u": {"a": E("t")}})
    assert text.count("a: t") == 1
    with pytest.raises(pl.ModelFileError, match=message):
        pl.parse_model(text.replace("a: t", f"a: {signal}"))
