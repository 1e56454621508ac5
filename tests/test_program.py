"""Programs of inputs: kernels compute what numpy computes, from tables and from formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import pliant as pl
from pliant._jit import kernel
from pliant.io.expressions import FUNCTIONS
from pliant.kernels import program as p
from pliant.kernels.packing import pack, unpacker, view_of
from test_expressions import formulas

E = pl.Expression
LEFT, AT, RIGHT = (np.int64(side) for side in (-1, 0, 1))
FREE = np.full(1, np.inf)
NAN, INF = math.nan, math.inf

unpack = unpacker(p.Program, 0)


@kernel
def evaluated(program, t, side, out):
    """`evaluate` as an entry from Python."""
    return p.evaluate(program, t, side, out)


@kernel
def packed_evaluated(ints, floats, t, side, out):
    """The same with a program that travels with other tables."""
    return p.evaluate(unpack(ints, floats), t, side, out)


def program_of(*functions) -> p.Program:
    n = len(functions)
    return p.assemble(np.zeros(n), np.full(n, -INF), np.full(n, INF), dict(enumerate(functions)))


def run(function, t, side=AT) -> float:
    program = program_of(function)
    out = program.constant.copy()
    evaluated(program, float(t), side, out)
    return out[0]


def code(text: str):
    (found,) = E(text).instructions()
    return found


def by_numpy(text: str, t: float) -> float:
    """What the formula is before it is checked to be finite."""
    with np.errstate(all="ignore"):
        return float(E(text)._nodes[0](np.float64(t)))


def ulps(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    return abs(a - b) / math.ulp(b) if math.isfinite(a) and math.isfinite(b) else INF


# ---------------------------------------------------------------- formulas

ODD = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 3.7, -3.7, 1e-8, 1e5, -1e300, 1e300, 5e-324, 710.0, INF, -INF, NAN]
ONE = [name for name, (_f, fewest, _most) in FUNCTIONS.items() if fewest == 1]
TWO = [*(f"a {op} b" for op in ("+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", "and", "or")),
       *(f"{name}(a, b)" for name in ("atan2", "hypot", "min", "max"))]  # fmt: skip


@pytest.mark.parametrize("name", [*ONE, "-", "not ", "+"])
def test_functions_of_one_argument(name):
    text = f"{name}(t)"
    rng = np.random.default_rng(0)
    for t in [*ODD, *rng.normal(size=50), *rng.uniform(-1, 1, 50), *rng.lognormal(0, 20, 50)]:
        assert ulps(run(code(text), t), by_numpy(text, t)) <= 2, t


@pytest.mark.parametrize("form", TWO)
def test_functions_of_two_arguments(form):
    """Both as numbers on the stack; arithmetic to the last bit."""
    rng = np.random.default_rng(1)
    exact = not any(word in form for word in ("**", "atan2", "hypot"))
    text = form.replace("a ", "t ").replace(" b", " t") if form.startswith("a ") else form.replace("(a, b)", "(t, t)")
    (*_, operation) = code(text)
    pairs = [(a, b) for a in ODD for b in ODD] + [tuple(x) for x in rng.normal(0, 3, size=(100, 2))]
    for a, b in pairs:
        if form == "a ** b" and (a, b) == (-INF, 0.5):
            continue  # numpy takes the square root in some versions
        found = run([(p.NUMBER, a), (p.NUMBER, b), operation], 0.0)
        expected = numpy_of(form)(a, b)
        assert ulps(found, expected) <= (0 if exact else 2), (a, b)
        if exact and found == 0.0:
            assert "min" in form or "max" in form or math.copysign(1, found) == math.copysign(1, expected), (a, b)


def numpy_of(form):
    names = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide, "%": np.mod,
             "**": np.power, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
             "!=": np.not_equal, "and": np.logical_and, "or": np.logical_or, "atan2": np.arctan2, "hypot": np.hypot,
             "min": np.minimum, "max": np.maximum}  # fmt: skip
    function = names[form[2:-2] if form.startswith("a ") else form[: form.index("(")]]

    def value(a, b):
        with np.errstate(all="ignore"):
            return float(function(np.float64(a), np.float64(b)))

    return value


@given(formulas, st.floats(0, 1))
@example("max(3, X, 7*X, sin(X))", 0.9)
@example("(1 if 0.2 < X <= 0.5 < 9 != 2*X else 2)", 0.3)
@example("where(X < 0.5 and not X > 2, X, -X) + (X > 0.1)*(X < 0.2)*4", 0.15)
def test_random_formulas(text, t):
    """Exactly where all is arithmetic; to rounding with functions, unless these decide about a jump."""
    text = text.replace("X", "t").replace("mat", "max").replace("etp", "exp")
    try:
        instructions = E(text).instructions()
    except ValueError:
        return
    if instructions is None:
        return
    found, expected = run(instructions[0], t), by_numpy(text, t)
    inexact = any(word in text for word in ("sin", "cos", "tan", "exp", "log", "**", "hypot"))
    if not inexact:
        assert ulps(found, expected) == 0
    elif not any(word in text for word in ("//", "%", "floor", " if ")) and math.isfinite(expected):
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_all_functions_of_formulas_are_known():
    for name, (_function, fewest, most) in FUNCTIONS.items():
        for n in {fewest, most}:
            text = f"{name}({', '.join(['t', '0.3*t', '1.7'][k % 3] for k in range(n))})"
            assert ulps(run(code(text), 0.6), by_numpy(text, 0.6)) <= 2


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("(t > 1) + (t < 0.5)", True),
        ("(t > 1)*(t < 2)*3", True),
        ("max(t > 1, t < 0.5)", True),
        ("(t > 1)/(t > 0.5)", True),
        ("2 + (t > 1)", True),
        ("abs(t > 1)", True),
        ("sin(t > 1)", False),
        ("-(t > 1)", False),
        ("(t > 1) - (t > 2)", False),
        ("(t > 1) % (t > 2)", False),
        ("(t > 1)**(t > 2)", False),
        ("X", False),
    ],
)
def test_truth_values_are_numpys(text, translated):
    instructions = E(text).instructions()
    assert (instructions is not None) == translated
    for t in (0.2, 0.7, 1.5) if translated else ():
        assert ulps(run(instructions[0], t), by_numpy(text, t)) == 0


def test_limits_of_formulas():
    step = code("1 if t < 0.5 else 2")
    assert [run(step, 0.5, side) for side in (LEFT, AT, RIGHT)] == [1, 2, 2]
    step = code("1 if t <= 0.5 else 2")
    assert [run(step, 0.5, side) for side in (LEFT, AT, RIGHT)] == [1, 1, 2]
    assert run(code("sqrt(t)"), 0.0, LEFT) == 0.0  # not a number before
    assert run(code("log(1 - t)"), 1 - 2**-53, RIGHT) == by_numpy("log(1 - t)", 1 - 2**-53)


# ---------------------------------------------------------------- tables


def pieces(signal: pl.Signal) -> p.Pieces:
    (rows,) = signal.pieces
    return p.Pieces(np.array(signal.t), rows)


@pytest.mark.parametrize("kind", ["hold", "linear", "spline"])
@pytest.mark.parametrize("n", [4, 5, 100])
def test_tables(kind, n):
    rng = np.random.default_rng(n)
    signal = pl.Signal(np.cumsum(rng.uniform(0.01, 1, n)), rng.normal(size=n), kind)
    times = [*signal.t, *rng.uniform(signal.t[0] - 1, signal.t[-1] + 1, 100)]
    for t in times:
        assert run(pieces(signal), t) == pytest.approx(signal(t), rel=1e-13, abs=1e-13)
        for side in (LEFT, RIGHT):
            assert run(pieces(signal), t, side) == pytest.approx(signal.limit(t, side), rel=1e-13, abs=1e-13)
    assert run(pieces(signal), signal.t[0] - 5) == signal.values[0]
    assert run(pieces(signal), signal.t[-1] + 5) == signal.values[-1]


def test_a_table_of_one_point():
    signal = pl.Signal([2.0], [3.0], "hold")
    assert [run(pieces(signal), t, side) for t in (1, 2, 3) for side in (LEFT, AT)] == [3.0] * 6


# ---------------------------------------------------------------- programs


def test_constants_stay_and_wrong_values_are_told():
    hold = pieces(pl.Signal([0, 1], [2, -2], "hold"))
    low, high = np.array([-INF, 0.0, -INF, -INF]), np.full(4, INF)
    program = p.assemble(np.array([5.0, 0.0, 7.0, 0.0]), low, high, {1: hold, 3: code("1/(t - 3)")})
    out = program.constant.copy()
    assert evaluated(program, 0.5, AT, out) == p.GOOD
    assert out.tolist() == [5.0, 2.0, 7.0, -0.4]
    assert evaluated(program, 1.0, AT, out) == 1  # below its bound
    assert evaluated(program, 1.0, LEFT, out) == p.GOOD
    program = p.assemble(np.zeros(4), np.full(4, -INF), high, {1: hold, 3: code("1/(t - 3)")})
    assert evaluated(program, 3.0, AT, out) == 3  # infinite
    assert evaluated(program_of(), 3.0, AT, np.zeros(0)) == p.GOOD


def test_a_program_travels_with_other_tables():
    program = program_of(code("3*t + max(t, 2, t**2)"), pieces(pl.Signal([0, 1, 2], [0, 1, 5])))
    packed = pack([(program, False)])
    for own, other in zip(program, view_of(packed, p.Program, False, 0)):
        np.testing.assert_array_equal(own, other)
    out, expected = np.zeros(2), np.zeros(2)
    for t in (-1.0, 0.3, 1.5, 4.0):
        assert packed_evaluated(packed.ints, packed.floats, t, AT, out) == p.GOOD
        evaluated(program, t, AT, expected)
        np.testing.assert_array_equal(out, expected)
    assert expected.tolist() == [28.0, 5.0]


def test_the_stack_is_as_long_as_it_must_be():
    assert p.depth(code("t")) == 1
    assert p.depth(code("t + t*(t + t*(t + 1))")) == 6
    assert p.depth(code("t < 2*t < 3*t")) == 4
    text = "t + (" * 60 + "t" + ")" * 60
    assert run(code(text), 0.5) == 30.5
