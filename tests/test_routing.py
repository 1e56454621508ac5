"""Routings of tendons: values and slopes of numbers, tapers, functions, tables and helices, breakpoints, and errors."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import FrozenInstanceError, replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import pliant as pl
from pliant.model.routing import Along, Table, helical_routing
from robots import SILICONE

X = np.linspace(0, 1, 41)
NODES = np.array([0.0, 0.1, 0.25, 0.5, 0.6, 0.85, 1.0])


def wound(x: float) -> float:
    return 0.01 * np.sin(5 * x) + 0.004 * x


def wound_slope(x: float) -> float:
    return 0.05 * np.cos(5 * x) + 0.004


def bent(x: float) -> float:
    """Continuous, with a kink at 0.4 and curved on both sides."""
    return 0.01 * np.exp(x) if x < 0.4 else 0.01 * np.exp(0.4) - 0.03 * np.sin(x - 0.4)


def bent_slope(x: float) -> float:
    return 0.01 * np.exp(x) if x < 0.4 else -0.03 * np.cos(x - 0.4)


def robot() -> tuple[pl.Link, pl.Link]:
    model = pl.Robot("arm")
    arm = model.add_rod("arm", length=0.5, section=pl.Circle(0.02), material=SILICONE, strains=pl.Strains.kirchhoff(2))
    return arm, model.add_body("tool", parent=arm.tip, mass=0.1)


def says(*parts: str) -> str:
    """Pattern of a message that has these parts in this order."""
    return ".*".join(map(re.escape, parts))


# ------------------------------------------------------------------ tables


def test_a_linear_table_is_straight_between_its_points():
    values = np.array([0.0, 0.02, -0.01, 0.03])
    table = Table([0, 0.25, 0.5, 1], values, kind="linear")
    np.testing.assert_allclose(table(X), np.interp(X, table.X, values), rtol=0, atol=1e-16)
    np.testing.assert_allclose(table.slope([0.1, 0.3, 0.9]), [0.08, -0.12, 0.08], rtol=0, atol=1e-14)


def test_the_slope_at_a_kink_is_that_of_the_right_side_and_at_the_end_of_the_left():
    table = Table([0, 0.25, 1], [0, 0.25, 1.75], kind="linear")
    np.testing.assert_allclose(table.slope([0, 0.25, 1]), [1, 2, 2], atol=1e-14)


def test_a_table_goes_through_its_points():
    values = np.cos(7 * NODES)
    for kind in ("cubic", "linear"):
        table = Table(NODES, values, kind)
        np.testing.assert_allclose(table(NODES), values, rtol=0, atol=1e-15)


@pytest.mark.parametrize("nodes", [NODES[[0, 1, 3, 6]], NODES, np.linspace(0, 1, 30)])
def test_a_cubic_table_reproduces_cubics(nodes):
    p = np.polynomial.Polynomial([0.01, -0.02, 0.07, -0.05])
    table = Table(nodes, p(nodes))
    np.testing.assert_allclose(table(X), p(X), rtol=0, atol=1e-15)
    np.testing.assert_allclose(table.slope(X), p.deriv()(X), rtol=0, atol=1e-14)
    assert table.breakpoints == ()


def test_a_cubic_table_is_the_spline_of_scipy():
    table, spline = Table(NODES, np.sin(4 * NODES)), CubicSpline(NODES, np.sin(4 * NODES))
    assert table.kind == "cubic"
    np.testing.assert_array_equal(table(X), spline(X))
    np.testing.assert_allclose(table.slope(X), spline(X, 1), rtol=0, atol=1e-14)


def test_a_fine_cubic_table_converges_to_the_function():
    errors = []
    for n in (20, 40):
        nodes = np.linspace(0, 1, n + 1)
        errors.append(np.abs(Table(nodes, np.sin(5 * nodes)).slope(X) - 5 * np.cos(5 * X)).max())
    assert errors[1] < errors[0] / 7  # third order


def test_the_slope_of_a_table_is_the_derivative_of_its_value():
    table, x, h = Table(NODES, np.sin(4 * NODES)), 0.37, 1e-3
    five = (table(x - 2 * h) - 8 * table(x - h) + 8 * table(x + h) - table(x + 2 * h)) / (12 * h)
    assert table.slope(x) == pytest.approx(five, abs=1e-11)  # exact for cubics


def test_a_table_gives_a_number_for_a_number_and_the_shape_of_an_array():
    table = Table(NODES, NODES**2)
    assert type(table(0.3)) is float
    assert type(table.slope(0.3)) is float
    assert table(0.3) == pytest.approx(0.09, abs=1e-15)
    assert table.slope(0.3) == pytest.approx(0.6, abs=1e-13)
    assert table(np.full((2, 3), 0.3)).shape == (2, 3)
    assert table([]).shape == (0,)


def test_breakpoints_of_tables_are_where_a_derivative_jumps():
    values = np.sin(9 * NODES)
    assert Table(NODES, values, "linear").breakpoints == tuple(NODES[1:-1])
    assert Table(NODES, values, "cubic").breakpoints == tuple(NODES[2:-2])  # not-a-knot next to the ends
    assert Table(NODES[:4], values[:4], "cubic").breakpoints == ()
    assert Table([0, 1], [1, 2], "linear").breakpoints == ()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", ["cubic", "linear"])
def test_points_on_a_straight_line_are_no_breakpoints(kind, scale):
    nodes = np.linspace(0, 1, 50)
    assert Table(nodes, scale * (0.3 - 0.7 * nodes), kind).breakpoints == ()
    assert Table(nodes, np.full(50, 0.1 * scale), kind).breakpoints == ()
    assert Table(nodes, np.zeros(50), kind).breakpoints == ()
    assert Table(nodes, scale * np.abs(nodes - nodes[20]), "linear").breakpoints == (nodes[20],)


def test_between_breakpoints_a_table_is_one_polynomial():
    table = Table(np.linspace(0, 1, 9), np.sin(5 * np.linspace(0, 1, 9)))
    ends = (0.0, *table.breakpoints, 1.0)
    for a, b in pairwise(ends):
        x = np.linspace(a, b, 12)
        p = np.polynomial.Polynomial.fit(x, table(x), 3)
        np.testing.assert_allclose(p(x), table(x), rtol=0, atol=1e-14)


def test_a_table_is_a_value():
    table = Table(NODES, NODES**2)
    same = Table(list(NODES), tuple(NODES**2))
    assert table == same
    assert hash(table) == hash(same)
    assert table != Table(NODES, NODES**2, "linear")
    table(0.5), table.breakpoints
    for twin in (copy.deepcopy(table), pickle.loads(pickle.dumps(table)), replace(table)):
        assert twin == table
        assert twin(0.3) == table(0.3)
    with pytest.raises(FrozenInstanceError):
        table.kind = "linear"
    assert repr(table) == "Table(7 points in [0, 1], kind='cubic')"


def test_a_table_keeps_its_own_numbers():
    nodes, values = NODES.copy(), NODES**2
    table = Table(nodes, values)
    values[:] = 0
    nodes[:] = 0
    assert table(0.5) == pytest.approx(0.25, abs=1e-15)


def test_rounding_at_the_ends_of_a_table_is_forgiven():
    table = Table([-1e-16, 0.5, 1 + 3e-16], [0, 1, 2], "linear")
    assert table.X == (0.0, 0.5, 1.0)
    assert table(-1e-14) == 0.0
    assert table(1 + 1e-14) == 2.0


@pytest.mark.parametrize(
    ("arguments", "error", "parts"),
    [
        (([0, 1], [0, 1], "spline"), ValueError, ("Table.kind = 'spline'", "'cubic', 'linear'")),
        (([0, 0.5, 1], [0, 1, 2]), ValueError, ("Table.X", "cubic", "at least 4 points, not 3", 'kind="linear"')),
        (([0.5], [1], "linear"), ValueError, ("Table.X", "linear", "at least 2 points, not 1", "Give more")),
        (([], [], "linear"), ValueError, ("Table.X", "at least 2 points, not 0")),
        (([0, 0.6, 0.5, 1], [0, 1, 2, 3]), ValueError, ("Table.X[2] = 0.5", "larger than Table.X[1] = 0.6", "Sort")),
        (([0, 0.5, 0.5, 1], [0, 1, 2, 3]), ValueError, ("Table.X[2] = 0.5", "remove repeated")),
        (([1, 0], [0, 1], "linear"), ValueError, ("Table.X[1] = 0.0", "Sort")),
        (([0, 50, 100], [0, 1, 2], "linear"), ValueError, ("Table.X = 50.0", "[0, 1]", "divided by the length")),
        (([0, 0.5, 1.5], [0, 1, 2], "linear"), ValueError, ("Table.X = 1.5", "[0, 1]")),
        (([0, np.nan, 1], [0, 1, 2], "linear"), ValueError, ("Table.X", "finite")),
        (([0, 0.5, 1], [0, np.inf, 2], "linear"), ValueError, ("Table.values", "inf", "finite")),
        (([0, 0.5, 1], [0, 1], "linear"), ValueError, ("Table.values", "(2,)", "(3,)", "each point of X")),
        ((0.5, 1.0), ValueError, ("Table.X", "shape ()", "sequence of numbers")),
        (([[0, 1]] * 4, [0] * 4), ValueError, ("Table.X", "shape (4, 2)")),
        (("abcd", [0] * 4), TypeError, ("Table.X = 'abcd'", "not an array")),
        (([0, 1], None, "linear"), TypeError, ("Table.values", "each point of X")),
        (([0, 1], ["a", "b"], "linear"), TypeError, ("Table.values", "not an array")),
    ],
)
def test_errors_of_tables(arguments, error, parts):
    with pytest.raises(error, match=says(*parts)):
        Table(*arguments)


@pytest.mark.parametrize("x", [0.1, 0.9, np.nan, [0.5, 0.9]])
def test_a_table_does_not_extrapolate(x):
    table = Table([0.2, 0.8], [0, 1], "linear")
    for function in (table, table.slope):
        with pytest.raises(ValueError, match=says("X =", "add points") if x is not np.nan else "X = nan"):
            function(x)


# ------------------------------------------------------------------ stretches


def test_numbers_and_pairs_are_exact():
    d, slope = Along("arm", y=0.01, z=(0.02, -0.01)).offsets(X)
    np.testing.assert_array_equal(d[:, 0], 0)
    np.testing.assert_array_equal(d[:, 1], 0.01)
    np.testing.assert_allclose(d[:, 2], 0.02 - 0.03 * X, rtol=0, atol=1e-17)
    np.testing.assert_array_equal(slope, np.tile([0, 0, -0.03], (len(X), 1)))


def test_a_pair_spans_the_rod_whatever_the_stretch():
    whole, part = Along("arm", y=(0.01, 0.02)), Along("arm", y=(0.01, 0.02), start=0.25, end=0.5)
    np.testing.assert_array_equal(whole.offsets(X)[0], part.offsets(X)[0])
    assert part.offsets(0.25)[0][0, 1] == pytest.approx(0.0125, abs=1e-17)


def test_tables_are_exact():
    p = np.polynomial.Polynomial([0.01, -0.02, 0.07, -0.05])
    d, slope = Along("arm", y=Table(NODES, p(NODES)), z=Table([0, 1], [0.01, 0.03], "linear")).offsets(X)
    np.testing.assert_allclose(d, np.stack([0 * X, p(X), 0.01 + 0.02 * X], axis=1), rtol=0, atol=1e-15)
    np.testing.assert_allclose(slope, np.stack([0 * X, p.deriv()(X), 0.02 + 0 * X], axis=1), rtol=0, atol=1e-14)


def test_slopes_of_functions_are_numerical_unless_given():
    numerical = Along("arm", y=wound, z=np.exp).offsets(X)
    exact = Along("arm", y=wound, z=np.exp, dy=wound_slope, dz=np.exp).offsets(X)
    np.testing.assert_array_equal(numerical[0], exact[0])
    np.testing.assert_array_equal(exact[1], np.stack([0 * X, wound_slope(X), np.exp(X)], axis=1))
    np.testing.assert_allclose(numerical[1][:, 1], wound_slope(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(numerical[1][:, 2], np.exp(X), rtol=0, atol=1e-10)


def test_the_given_derivative_is_used():
    slope = Along("arm", y=wound, dy=lambda x: 7.0).offsets(X)[1]
    np.testing.assert_array_equal(slope[:, 1], 7.0)


def test_functions_are_only_asked_inside_the_rod():
    asked: list[float] = []

    def y(x: float) -> float:
        asked.append(x)
        assert type(x) is float
        return 0.01 * np.sqrt(x + 1e-3) * np.sqrt(1.001 - x)

    Along("arm", y=y).offsets(np.linspace(0, 1, 101))
    assert min(asked) == 0.0
    assert max(asked) == 1.0


def test_offsets_of_one_point():
    for shape in (0.3, [0.3], np.array(0.3)):
        d, slope = Along("arm", y=(0, 0.1)).offsets(shape)
        np.testing.assert_allclose(d, [[0, 0.03, 0]], atol=1e-17)
        np.testing.assert_allclose(slope, [[0, 0.1, 0]], atol=1e-17)


def test_numerical_slopes_do_not_reach_across_breaks():
    x = np.concatenate([X, 0.4 + np.array([-7e-3, -1e-3, -1e-6, 0, 1e-6, 1e-3, 7e-3])])
    exact = [bent_slope(t) for t in x]
    np.testing.assert_allclose(Along("arm", y=bent, breaks=(0.4,)).offsets(x)[1][:, 1], exact, rtol=0, atol=1e-11)
    assert np.abs(Along("arm", y=bent).offsets(x)[1][:, 1] - exact).max() > 1e-3  # why breaks exist


def test_breaks_may_be_close_to_each_other_and_to_the_ends():
    breaks = (0.001, 0.4, 0.405, 0.998)
    x = np.concatenate([X, np.linspace(0.399, 0.406, 50), [5e-4, 0.9985]])
    slope = Along("arm", y=bent, breaks=breaks).offsets(x)[1][:, 1]
    np.testing.assert_allclose(slope, [bent_slope(t) for t in x], rtol=0, atol=1e-10)


def test_tables_do_not_disturb_the_slope_of_a_function():
    table = Table(NODES, np.sin(9 * NODES), "linear")
    alone, beside = Along("arm", y=wound), Along("arm", y=wound, z=table)
    np.testing.assert_array_equal(alone.offsets(X)[1][:, 1], beside.offsets(X)[1][:, 1])


def test_a_stretch_may_run_backwards():
    table = Table([0.2, 0.5, 0.9], [0.0, 0.01, 0.0], "linear")
    there = Along("arm", y=wound, z=table, start=0.2, end=0.9, breaks=(0.3,))
    back = Along("arm", y=wound, z=table, start=0.9, end=0.2, breaks=(0.3,))
    assert (back.start, back.end) == (0.9, 0.2)
    assert back.span == there.span == (0.2, 0.9)
    assert back.breakpoints == there.breakpoints == (0.3, 0.5)
    x = np.linspace(0.2, 0.9, 7)
    for a, b in zip(there.offsets(x), back.offsets(x)):
        np.testing.assert_array_equal(a, b)


def test_breakpoints_lie_inside_the_stretch():
    y = Table([0, 0.3, 0.6, 1], [0, 1, 0, 1], "linear")
    z = Table([0, 0.1, 0.6 + 1e-14, 1], [0, 1, 0, 1], "linear")
    assert Along("arm").breakpoints == ()
    assert Along("arm", y=wound, z=(0, 1)).breakpoints == ()
    assert Along("arm", y=y).breakpoints == (0.3, 0.6)
    assert Along("arm", y=y, z=z).breakpoints == (0.1, 0.3, 0.6)
    assert Along("arm", y=y, z=bent, breaks=[0.4]).breakpoints == (0.3, 0.4, 0.6)
    assert Along("arm", y=y, z=z, start=0.1, end=0.6).breakpoints == (0.3,)
    assert Along("arm", y=bent, start=0.4, breaks=(0.1, 0.4, 0.7)).breakpoints == (0.7,)


def test_the_length_of_a_kinked_tendon_needs_its_breakpoints():
    table = Table([0, 0.35, 0.7, 1], [0, 0.2, -0.1, 0.3], "linear")
    along = Along("arm", y=table)
    nodes, weights = np.polynomial.legendre.leggauss(3)
    ends = np.array([0, *along.breakpoints, 1])
    length = 0.0
    for a, b in pairwise(ends):
        slope = along.offsets(0.5 * (a + b) + 0.5 * (b - a) * nodes)[1]
        length += 0.5 * (b - a) * weights @ np.linalg.norm(slope + [1, 0, 0], axis=1)
    assert length == pytest.approx(np.hypot(np.diff(table.X), np.diff(table.values)).sum(), abs=1e-15)


def test_a_table_needs_to_cover_the_stretch_only():
    table = Table([0.2, 0.8], [0.0, 0.01], "linear")
    assert Along("arm", y=table, start=0.2, end=0.8).offsets(0.5)[0][0, 1] == pytest.approx(0.005, abs=1e-17)
    assert Along("arm", y=table, start=0.8, end=0.2).y is table
    for start, end in ((0, 0.8), (0.2, 0.9), (1, 0.2)):
        with pytest.raises(ValueError, match=says("Along.z = Table(2 points in [0.2, 0.8]", "cover", "Add points")):
            Along("arm", z=table, start=start, end=end)


def test_the_rod_is_kept_by_name():
    arm, tool = robot()
    assert Along(arm).rod == Along("arm").rod == "arm"
    assert Along(arm, y=0.01) == Along("arm", 0.01)
    with pytest.raises(TypeError, match=says("Along.rod = 'tool'", "rigid body", "rods")):
        Along(tool)
    for wrong in (None, 3, "", arm.tip):
        with pytest.raises(TypeError, match=says("Along.rod = ", "add_rod", "name")):
            Along(wrong)


def test_a_stretch_is_a_value():
    along = Along("arm", y=[1, 2], z=np.array([0.1, 0.2]), start=0, breaks=np.array([0.5]))
    assert (along.y, along.z, along.start, along.breaks) == ((1.0, 2.0), (0.1, 0.2), 0.0, (0.5,))
    assert type(along.start) is float
    assert along == Along("arm", (1, 2), (0.1, 0.2), 0, 1, None, None, (0.5,))
    assert hash(along) == hash(replace(along))
    assert replace(along, end=0.7).end == 0.7
    with pytest.raises(FrozenInstanceError):
        along.end = 0.5


@pytest.mark.parametrize(
    ("options", "error", "parts"),
    [
        ({"y": "wide"}, TypeError, ("Along.y = 'wide'", "not a number (m)", "pair", "function", "Table")),
        ({"z": None}, TypeError, ("Along.z = None", "Table")),
        ({"y": np.nan}, ValueError, ("Along.y = nan", "finite number in m")),
        ({"y": (1, 2, 3)}, ValueError, ("Along.y", "(3,)", "(2,)", "pair")),
        ({"y": (0.1, np.inf)}, ValueError, ("Along.y", "inf", "finite")),
        ({"y": (0.1, "b")}, TypeError, ("Along.y", "'b'")),
        ({"start": -0.1}, ValueError, ("Along.start = -0.1", "[0, 1]", "fraction")),
        ({"end": 1.5}, ValueError, ("Along.end = 1.5", "[0, 1]", "fraction")),
        ({"end": "tip"}, TypeError, ("Along.end = 'tip'", "not a number")),
        ({"start": 0.5, "end": 0.5}, ValueError, ("Along.end = 0.5", "differ from start = 0.5", "larger, or smaller")),
        ({"start": 0.5, "end": 0.5 + 1e-14}, ValueError, ("Along.end", "differ from start")),
        ({"y": wound, "dy": 0.1}, TypeError, ("Along.dy = 0.1", "function of X")),
        ({"y": 0.1, "dy": wound}, ValueError, ("Along.dy", "y = 0.1 is not a function", "Leave dy out")),
        ({"z": (0, 1), "dz": wound}, ValueError, ("Along.dz", "(0, 1) is not a function", "Leave dz out")),
        ({"z": Table([0, 1], [0, 1], "linear"), "dz": wound}, ValueError, ("Along.dz", "Table(2", "Leave dz out")),
        ({"y": lambda x: np.inf if x > 0.7 else 0.0}, ValueError, ("Along.y(X=0.75) = inf", "finite")),
        ({"z": lambda x: [x, x]}, TypeError, ("Along.z(X=0) = [0.0, 0.0]", "not a number (m)")),
        ({"y": wound, "dy": lambda x: np.nan}, ValueError, ("Along.dy(X=0) = nan", "finite")),
        ({"breaks": 0.5}, TypeError, ("Along.breaks = 0.5", "sequence", "(0.5,)")),
        ({"breaks": (0.5, 0.2)}, ValueError, ("Along.breaks = (0.5, 0.2)", "increase", "Sort")),
        ({"breaks": (0.0, 0.2)}, ValueError, ("Along.breaks", "strictly between 0 and 1")),
        ({"breaks": (0.2, 1.2)}, ValueError, ("Along.breaks = 1.2", "[0, 1]")),
    ],
)
def test_errors_of_stretches(options, error, parts):
    with pytest.raises(error, match=says(*parts)):
        Along("arm", **options)


@pytest.mark.parametrize(("x", "part"), [(1.2, "X = 1.2"), ([0.5, np.nan], "X = nan"), ([[0.5]], "shape (1, 1)")])
def test_errors_of_offsets(x, part):
    with pytest.raises(ValueError, match=says(part)):
        Along("arm").offsets(x)


# ------------------------------------------------------------------ helices


@pytest.mark.parametrize(("turns", "phase"), [(2, 0.0), (-0.75, 0.4), (0, 1.0), (5.5, -2.0)])
def test_a_helix_keeps_its_distance_and_turns(turns, phase):
    d, slope = Along("arm", **helical_routing(0.01, turns, phase)).offsets(X)
    angle = 2 * np.pi * turns * X + phase
    rate = 2 * np.pi * turns
    np.testing.assert_allclose(d, 0.01 * np.stack([0 * X, np.cos(angle), np.sin(angle)], axis=1), atol=1e-16)
    expected = 0.01 * rate * np.stack([0 * X, -np.sin(angle), np.cos(angle)], axis=1)
    np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-14)


def test_a_helix_may_follow_a_taper():
    routing = helical_routing((0.02, 0.005), turns=3, phase=0.2)
    d, slope = Along("arm", **routing).offsets(X)
    np.testing.assert_allclose(np.linalg.norm(d, axis=1), 0.02 - 0.015 * X, rtol=0, atol=1e-16)
    numerical = Along("arm", y=routing["y"], z=routing["z"]).offsets(X)[1]
    np.testing.assert_allclose(slope, numerical, rtol=0, atol=1e-10)
    angle, rate = 6 * np.pi * X + 0.2, 6 * np.pi
    r = 0.02 - 0.015 * X
    np.testing.assert_allclose(slope[:, 1], -0.015 * np.cos(angle) - r * rate * np.sin(angle), rtol=0, atol=1e-14)
    np.testing.assert_allclose(slope[:, 2], -0.015 * np.sin(angle) + r * rate * np.cos(angle), rtol=0, atol=1e-14)


def test_positive_turns_are_right_handed():
    d = Along("arm", **helical_routing(0.01, turns=1)).offsets([0, 0.25])[0]
    np.testing.assert_allclose(d, [[0, 0.01, 0], [0, 0, 0.01]], atol=1e-17)  # from y to z while X grows


@pytest.mark.parametrize(
    ("arguments", "error", "parts"),
    [
        ((0.0, 1), ValueError, ("helical_routing radius = 0.0", "greater than zero (m)", "pair")),
        (((0.01, -0.01), 1), ValueError, ("helical_routing radius = -0.01", "greater than zero")),
        (((1, 2, 3), 1), ValueError, ("helical_routing radius", "(3,)", "radius at X=0, radius at X=1")),
        ((np.sin, 1), TypeError, ("helical_routing radius", "not a number (m)")),
        ((0.01, np.inf), ValueError, ("helical_routing turns = inf", "finite", "whole rod")),
        ((0.01, "two"), TypeError, ("helical_routing turns = 'two'", "not a number")),
        ((0.01, 1, np.nan), ValueError, ("helical_routing phase = nan", "finite number in rad")),
    ],
)
def test_errors_of_helices(arguments, error, parts):
    with pytest.raises(error, match=says(*parts)):
        helical_routing(*arguments)
