"""Formulas as text: they compute what Python computes, and nothing else can be said with them."""

from __future__ import annotations

import copy
import math
import pickle
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pliant as pl
import robots
from pliant.io.expressions import FUNCTIONS, constant

E = pl.Expression
MATH = {
    **{name: getattr(math, name, None) for name in FUNCTIONS},
    "abs": abs, "min": min, "max": max, "pi": math.pi, "e": math.e,
    "where": lambda c, a, b: a if c else b, "sign": lambda x: math.copysign(1.0, x) if x else 0.0,
}  # fmt: skip

numbers = st.integers(0, 9).map(str) | st.floats(0.01, 100).map(repr) | st.sampled_from(["pi", "e", "1e-3", "2.5E2"])
leaves = numbers | st.just("X") | st.just("X")


def grow(inner):
    binary = st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "%", "//"]), inner).map(
        lambda p: f"({p[0]} {p[1]} {p[2]})"
    )
    power = st.tuples(inner, st.sampled_from(["2", "3", "0.5", "-1"])).map(lambda p: f"({p[0]})**{p[1]}")
    call = st.tuples(st.sampled_from(["sin", "cos", "tanh", "exp", "sqrt", "log", "abs", "atan", "floor"]), inner).map(
        lambda p: f"{p[0]}({p[1]})"
    )
    two = st.tuples(st.sampled_from(["min", "max", "atan2", "hypot"]), inner, inner).map(
        lambda p: f"{p[0]}({p[1]}, {p[2]})"
    )
    choice = st.tuples(inner, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), inner, inner, inner).map(
        lambda p: f"({p[3]} if {p[0]} {p[1]} {p[2]} else {p[4]})"
    )
    minus = inner.map(lambda x: f"-{x}")
    return binary | power | call | two | choice | minus


formulas = st.recursive(leaves, grow, max_leaves=12)


@given(formulas, st.floats(0, 1))
def test_equals_python(text, x):
    """Whatever Python can compute with real numbers comes out the same; whatever it cannot is refused."""
    try:
        expected = eval(text, {"__builtins__": {}}, {**MATH, "X": x})  # the test makes the text itself
    except (ZeroDivisionError, ValueError, OverflowError, TypeError):  # TypeError: a function of a complex number
        expected = math.nan
    if isinstance(expected, complex) or not math.isfinite(expected):
        return
    try:
        found = E(text)(x)
    except ValueError as error:
        # a part that is not chosen, or is infinite on the way to a finite result, may be refused at once
        if "infinite" not in str(error) and "not a number" not in str(error):
            raise
        return
    # floor and % jump: there the last bit of an argument may decide
    if not any(word in text for word in ("//", "%", "floor", " if ")):
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert isinstance(found, float)


@given(formulas, st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_arrays_are_as_good_as_numbers(text, points):
    try:
        formula = E(text)
        each = [formula(x) for x in points]
    except ValueError:
        return
    np.testing.assert_allclose(formula(points), each, rtol=1e-12, atol=1e-14)
    assert formula(np.array([points, points])).shape == (2, len(points))


@given(formulas)
def test_text_is_kept(text):
    try:
        formula = E(text)
    except ValueError:
        return
    assert str(formula) == text
    assert eval(repr(formula), {"Expression": E}) == formula
    assert pickle.loads(pickle.dumps(formula)) == copy.deepcopy(formula) == formula
    assert hash(E(text)) == hash(formula)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')", "__import__", "X.__class__", "X.real", "().__class__.__bases__", "lambda: 1",
        "(lambda x: x)(1)", "[X for X in (1, 2)]", "{X for X in 1}", "(x for x in X)", "[1, 2]", "(1, 2)", "{1: 2}", "X[0]", "'a'*9",
        "'text'", "b'x'", "True", "None", "...", "1j", "f'{X}'", "(y := 3)", "open('x')", "eval('1')", "exec('1')", "sin", "sin(X=1)",
        "max(*X)", "X @ X", "X << 3", "~3", "X & 1", "X is 1", "X in X", "await X", "yield X", "X; 1", "import os", "X = 1",
        "\\x00", "", "  ", "sin(", "2X", "X t", "global X", "1 if X", "print(X)", "abs", "where(X)", "min(1)", "_", "X__", "del X",
    ],
)  # fmt: skip
def test_anything_but_arithmetic_is_refused(text):
    with pytest.raises(ValueError, match="formula"):
        E(text)


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9",
        "9**9**9**9**9",
        "10**400",
        "1e999",
        "9" * 900,
        "2**(2**(2**(2**20)))",
        "1/0",
        "0/0",
        "log(0)",
        "sqrt(-1)",
        "exp(1e4)",
    ],
)
def test_what_is_not_finite_is_refused_at_once(text):
    clock = time.perf_counter()
    with pytest.raises(ValueError, match=r"infinite|not a number|too large"):
        E(text)
    assert time.perf_counter() - clock < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "(" * 300 + "X" + ")" * 300,
        "-" * 500 + "X",
        "sin(" * 150 + "X" + ")" * 150,
        "X" + "+X" * 2000,
        "X**" * 120 + "X",
        "not " * 200 + "X",
    ],
    ids=range(6),
)
def test_deep_and_long_formulas_are_refused(text):
    with pytest.raises(ValueError, match="formula"):
        E(text)


def test_huge_powers_of_the_variable_are_harmless():
    assert E("X**999999999")(0.5) == 0.0
    with pytest.raises(ValueError, match=r"infinite at X = 1\.1"):
        E("X**999999999")(1.1)


def test_sums_of_many_terms():
    assert E(" + ".join(["X"] * 90))(0.5) == 45.0


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("x**2", "did you mean 'X'"),
        ("X^2", "write '**'"),
        ("2X", "as in 2*X"),
        ("sine(X)", "did you mean 'sin'"),
        ("X + t", "mixes X and t"),
        ("min(X)", "min takes 2 to 20"),
        ("a*X", "'a' is unknown"),
    ],
)
def test_errors_help(text, hint):
    with pytest.raises(ValueError, match="formula") as error:
        E(text)
    assert hint in str(error.value)


def test_vectors_and_matrices():
    vector = E([0, "2*X", "pi"])
    assert vector.shape == (3,)
    np.testing.assert_array_equal(vector(0.5), [0, 1, np.pi])
    np.testing.assert_array_equal(vector([0, 1]), [[0, 0, np.pi], [0, 2, np.pi]])
    matrix = E([[1, "X"], ["-X", 1]])
    np.testing.assert_array_equal(matrix([0.5, 1.0])[1], [[1, 1], [-1, 1]])
    assert (matrix.variable, E("1 + 1").variable, E(["t", 1]).variable) == ("X", None, "t")
    for wrong in ([[1, 2], [3]], [1, [2]], [], {"a": 1}, None, True):
        with pytest.raises((TypeError, ValueError)):
            E(wrong)
    with pytest.raises(ValueError, match="mixes X and t"):
        E(["X", "t"])


def test_not_finite_values_say_where():
    with pytest.raises(ValueError, match=r"the formula '1/X' is infinite at X = 0"):
        E("1/X")([0.5, 0.0])
    with pytest.raises(ValueError, match=r"'log\(t\)' is not a number at t = -1"):
        E([1, "log(t)"])(-1.0)


def test_constants():
    assert constant("pi/2") == np.pi / 2
    with pytest.raises(ValueError, match="depends on X"):
        constant("X")


def test_usable_where_functions_are():
    """The same robot with formulas and with Python functions."""
    formulas = {
        "radius": E("0.03 - 0.015*X"),
        "bend": E([0, "sin(pi*X)", 0, 1, 0, 0]),
        "z": E("0.01*sin(pi*X)"),
        "area": E("1e-5*(1 + X)"),
    }
    functions = {
        "radius": lambda X: 0.03 - 0.015 * X,
        "bend": lambda X: [0, np.sin(np.pi * X), 0, 1, 0, 0],
        "z": lambda X: 0.01 * np.sin(np.pi * X),
        "area": lambda X: 1e-5 * (1 + X),
    }
    systems = []
    for f in (formulas, functions):
        robot = pl.Robot("arm")
        robot.add_rod(
            "arm", length=0.5, section=pl.Circle(f["radius"]), material=robots.SILICONE, strains=pl.Strains.reissner(2),
            reference_strain=f["bend"],
        )  # fmt: skip
        robot.add_tendon("cable", "arm", z=f["z"])
        robot.add_chamber("chamber", "arm", area=f["area"], z=0.01)
        systems.append(robot.compile())
    rng = np.random.default_rng(0)
    a, b = systems
    q, v, u = a.random(rng, scale=0.1), rng.normal(size=a.nv), [1.0, 100.0]
    np.testing.assert_allclose(a.residual(q, v, v, u), b.residual(q, v, v, u), rtol=1e-12, atol=1e-12)


def test_inputs_by_name_may_be_functions_of_time():
    robot = robots.cable_driven_manipulator()
    robot.add_tendon("a", "arm", z=0.01)
    robot.add_tendon("b", "arm", z=-0.01)
    system = robot.compile()
    options = {"step": 0.01, "output": 0.1}
    runs = [
        pl.simulate(system, 0.2, u=u, **options)
        for u in (
            {"a": E("5*t"), "b": 1.0},
            {"a": lambda t: 5 * t, "b": E("1")},
            E(["5*t", 1]),
            lambda t: {"a": 5 * t, "b": 1},
        )
    ]
    for run in runs[1:]:
        np.testing.assert_allclose(run.q, runs[0].q, rtol=1e-12, atol=1e-14)
    assert runs[0].u[-1].tolist() == [1.0, 1.0]
    joint = pl.Robot("joint")
    joint.add_body("link", joint=pl.Revolute("y"), mass=1, com=(1, 0, 0))
    joint.add_motion("turn", "link")
    run = pl.simulate(joint.compile(), 0.2, motion={"turn": E("sin(t)")}, step=0.01)
    np.testing.assert_allclose(run.q[:, 0], np.sin(run.t), atol=1e-12)
