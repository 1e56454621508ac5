"""Strain bases: values, smoothness, independence, errors.

`data/bases.json` holds numbers computed with SoRoSim (main @ 24d573a) under GNU Octave 7.3 (numbers only,
no code): the dense matrix Phi, 6 x size, at six values of X for torsion, bending_y and stretch. The order
and scale of the functions agree with pliant's for all kinds compared here. Its sizes are counted
differently: for the bumps "order n" means n + 1 functions. Its cubic Lagrange elements have no counterpart
in pliant and are not compared.
"""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.model.rods.basis import (
    BASIS_KINDS,
    Basis,
    Chebyshev,
    Custom,
    Fourier,
    Gaussian,
    HermiteElements,
    InverseMultiquadric,
    Legendre,
    LinearElements,
    Monomial,
    PiecewiseConstant,
    QuadraticElements,
    as_basis,
    check_independent,
)
from pliant.model.rods.quadrature import default_points, gauss, rod_grid

GOLDEN = {row["basis"]: row for row in json.loads((Path(__file__).parent / "data" / "bases.json").read_text())}
REFERENCE = {
    "Monomial": Monomial,
    "Legendre": Legendre,
    "Chebychev": Chebyshev,
    "Fourier": Fourier,
    "Gaussian": lambda order: Gaussian(order + 1),
    "IMQ": lambda order: InverseMultiquadric(order + 1),
    "FEMLike Linear": LinearElements,
    "FEMLike Quadratic": QuadraticElements,
    "HermiteSpline": HermiteElements,
}
ELEMENTS = [
    LinearElements(1),
    LinearElements(3),
    QuadraticElements(4),
    HermiteElements(1),
    HermiteElements(5),
]


def powers(X):
    return np.column_stack((np.ones_like(X), X, X**2))


ALL = [
    Legendre(0),
    Legendre(4),
    Chebyshev(5),
    Monomial(3),
    PiecewiseConstant(3),
    PiecewiseConstant((0.1, 0.7)),
    *ELEMENTS,
    Fourier(0),
    Fourier(3),
    Gaussian(1),
    Gaussian(5),
    Gaussian(4, 0.2),
    InverseMultiquadric(1),
    InverseMultiquadric(4),
    Custom(powers, 3, 2, (0.5,)),
]


@pytest.mark.parametrize("name", REFERENCE)
def test_values_match_reference(name):
    row = GOLDEN[name]
    Phi = np.array(row["Phi"])
    start = 0
    for component, (free, order) in enumerate(zip(row["Phi_dof"], row["Phi_odr"])):
        if not free:
            assert not np.any(Phi[:, component])
            continue
        basis = REFERENCE[name](order)
        stop = start + basis.size
        np.testing.assert_allclose(basis(row["X"]), Phi[:, component, start:stop], rtol=2e-14, atol=2e-15)
        start = stop
    assert start == Phi.shape[2]


@pytest.mark.parametrize("basis", ALL, ids=repr)
def test_shape_type_and_equality(basis):
    X = np.linspace(0, 1, 11)
    values = basis(X)
    assert values.shape == (11, basis.size)
    assert values.dtype == np.float64
    assert basis(0.5).shape == (1, basis.size)
    assert basis([]).shape == (0, basis.size)
    np.testing.assert_array_equal(values[3:5], basis(X[3:5]))
    assert all(0 < x < 1 for x in basis.breakpoints)
    assert [other for other in ALL if other == basis] == [basis]
    assert {basis: 1}[basis] == 1
    with pytest.raises(AttributeError):
        basis.order = 7


@pytest.mark.parametrize("basis", ALL, ids=repr)
def test_default_points_integrate_products_to_six_digits(basis):
    def gram(points):
        grid = rod_grid(basis.breakpoints, points)
        return (grid.weights[:, None] * basis(grid.X)).T @ basis(grid.X)

    fine = gram(120)
    coarse = gram(default_points(basis.degree, len(basis.breakpoints) + 1))
    np.testing.assert_allclose(coarse, fine, rtol=0, atol=1e-6 * np.max(fine))
    polynomial = not isinstance(basis, (Fourier, Gaussian, InverseMultiquadric))
    if polynomial:
        np.testing.assert_allclose(coarse, fine, rtol=0, atol=1e-14)


def test_equal_arguments_make_equal_bases():
    assert Legendre(3) == Legendre(np.int64(3))
    assert hash(Legendre(3)) == hash(Legendre(np.int64(3)))
    assert Legendre(3) != Chebyshev(3)
    assert PiecewiseConstant([0.2, 0.5]) == PiecewiseConstant((0.2, 0.5))
    assert Custom(powers, 3, 2) == Custom(powers, 3, 2)
    assert Custom(powers, 3, 2) != Custom(powers, 3, 4)


@pytest.mark.parametrize(
    ("basis", "text"),
    [
        (Legendre(4), "Legendre(4)"),
        (PiecewiseConstant([0.5]), "PiecewiseConstant((0.5,))"),
        (HermiteElements(2), "HermiteElements(2)"),
        (Gaussian(4), "Gaussian(4)"),
        (Gaussian(4, 0.2), "Gaussian(4, width=0.2)"),
        (Custom(powers, 3, 2), "Custom(powers, size=3, degree=2)"),
        (Custom(powers, 3, 2, [0.5]), "Custom(powers, size=3, degree=2, breakpoints=(0.5,))"),
    ],
)
def test_repr(basis, text):
    assert repr(basis) == text


@pytest.mark.parametrize(
    ("basis", "size", "degree"),
    [
        (Legendre(4), 5, 4),
        (Fourier(2), 5, 7),
        (Fourier(0), 1, 0),
        (PiecewiseConstant(4), 4, 0),
        (LinearElements(4), 5, 1),
        (QuadraticElements(4), 9, 2),
        (HermiteElements(4), 10, 3),
        (Gaussian(4), 4, 9),
        (Custom(powers, 3, 2), 3, 2),
    ],
)
def test_size_and_degree(basis, size, degree):
    assert (basis.size, basis.degree) == (size, degree)


def test_legendre_is_orthogonal_with_known_norms():
    x, w = gauss(8)
    P = Legendre(7)(x)
    np.testing.assert_allclose((w[:, None] * P).T @ P, np.diag(1 / (2 * np.arange(8) + 1)), atol=1e-15)


def test_chebyshev_is_a_cosine():
    angle = np.linspace(0, np.pi, 9)
    X = (1 + np.cos(angle)) / 2
    np.testing.assert_allclose(Chebyshev(6)(X), np.cos(np.outer(angle, np.arange(7))), atol=1e-14)


def test_polynomials_span_the_same_functions():
    X = np.linspace(0, 1, 30)
    for basis in (Legendre(5), Chebyshev(5)):
        conversion = np.linalg.lstsq(basis(X), Monomial(5)(X), rcond=None)[0]
        np.testing.assert_allclose(basis(X) @ conversion, Monomial(5)(X), atol=1e-13)


@given(x=st.floats(0, 1), n=st.integers(1, 12))
def test_elements_are_a_partition_of_unity(x, n):
    assert LinearElements(n)(x).sum() == pytest.approx(1.0, abs=1e-14)
    assert QuadraticElements(n)(x).sum() == pytest.approx(1.0, abs=1e-14)
    assert HermiteElements(n)(x)[0, 0::2].sum() == pytest.approx(1.0, abs=1e-14)
    assert PiecewiseConstant(n)(x).sum() == 1.0
    assert np.all(LinearElements(n)(x) >= -1e-11)


@pytest.mark.parametrize("n", [1, 3, 7])
def test_element_coordinates_are_nodal_values(n):
    ends, halves = np.arange(n + 1) / n, np.arange(2 * n + 1) / (2 * n)
    np.testing.assert_allclose(LinearElements(n)(ends), np.eye(n + 1), atol=1e-14)
    np.testing.assert_allclose(QuadraticElements(n)(halves), np.eye(2 * n + 1), atol=1e-14)
    np.testing.assert_allclose(HermiteElements(n)(ends)[:, 0::2], np.eye(n + 1), atol=1e-14)
    np.testing.assert_allclose(HermiteElements(n)(ends)[:, 1::2], 0.0, atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_hermite_elements_reproduce_cubics_with_slopes_per_element(n):
    ends, X = np.arange(n + 1) / n, np.linspace(0, 1, 37)
    cubic = np.polynomial.Polynomial([0.3, -1.0, 2.0, 4.0])
    q = np.empty(2 * (n + 1))
    q[0::2], q[1::2] = cubic(ends), cubic.deriv()(ends) / n
    np.testing.assert_allclose(HermiteElements(n)(X) @ q, cubic(X), rtol=1e-13)


@pytest.mark.parametrize("basis", [b for b in ELEMENTS if b.breakpoints], ids=repr)
def test_elements_are_continuous(basis):
    for x in basis.breakpoints:
        np.testing.assert_allclose(basis(x - 1e-9), basis(x), atol=1e-7)
    slope = [(basis(x + s * 1e-6) - basis(x)) / (s * 1e-6) for x in basis.breakpoints for s in (-1, 1)]
    jump = np.max(np.abs(np.array(slope[0::2]) - slope[1::2]))
    if isinstance(basis, HermiteElements):
        assert jump < 1e-3
    else:
        assert jump > 1.0


def test_piecewise_constant_is_right_continuous():
    basis = PiecewiseConstant((0.25, 0.5))
    X = [0.0, 0.2499, 0.25, 0.4999, 0.5, 1.0]
    np.testing.assert_array_equal(basis(X), np.eye(3)[[0, 0, 1, 1, 2, 2]])
    np.testing.assert_array_equal(basis(0.25 - 1e-13), np.eye(3)[[1]])
    np.testing.assert_array_equal(PiecewiseConstant(1)([0.0, 1.0]), np.ones((2, 1)))


def test_equal_breakpoints_of_different_bases_are_the_same_floats():
    assert set(LinearElements(3).breakpoints) <= set(PiecewiseConstant(6).breakpoints)
    assert PiecewiseConstant(7).breakpoints == tuple(float(Fraction(k, 7)) for k in range(1, 7))


def test_bumps_have_the_stated_width_and_centres():
    for kind in (Gaussian, InverseMultiquadric):
        np.testing.assert_allclose(np.diag(kind(5)(np.linspace(0, 1, 5))), 1.0, atol=1e-15)
        assert kind(1)(0.5)[0, 0] == 1.0
        np.testing.assert_allclose(kind(3, 0.4)([0.3, 0.7])[:, 1], 0.5, rtol=1e-14)
        np.testing.assert_allclose(kind(3)([0.25, 0.75])[:, 1], 0.5, rtol=1e-14)


@pytest.mark.parametrize(
    "basis",
    [
        *ALL,
        Monomial(10),
        Monomial(15),
        Legendre(40),
        Gaussian(30),
        Gaussian(8, 1.0),
        Gaussian(3, 0.002),
        InverseMultiquadric(30),
        Fourier(20),
        HermiteElements(40),
        Custom(lambda X: 1e-30 * powers(X), 3, 2),
    ],
    ids=repr,
)
def test_independent_functions_pass(basis):
    check_independent(basis)


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (Custom(lambda X: np.column_stack((X, 2 * X, X**2)), 3, 2), r"functions 0, 1 vanishes.*Remove"),
        (Custom(lambda X: np.column_stack((X, 0 * X)), 2, 1), "function 1 is zero .* Remove"),
        (
            Custom(lambda X: np.column_stack((np.sin(X) ** 2, np.cos(X) ** 2, np.cos(2 * X))), 3, 8),
            "functions 0, 1, 2 vanishes",
        ),
        (
            Custom(lambda X: np.column_stack((X < 0.5, X >= 0.5, np.ones_like(X))), 3, 0, (0.5,)),
            "functions 0, 1, 2 vanishes",
        ),
        (Monomial(30), r"Monomial\(30\) are linearly dependent.* use Legendre"),
        (Gaussian(12, 3.0), r"Gaussian\(12, width=3.0\) .* fewer functions or a smaller width"),
    ],
    ids=["multiple", "zero", "identity", "sections", "monomial", "gaussian"],
)
def test_dependent_functions_are_refused(basis, message):
    with pytest.raises(ValueError, match=message):
        check_independent(basis)


@pytest.mark.parametrize(
    ("kind", "basis"),
    [
        ("legendre", Legendre(3)),
        ("chebyshev", Chebyshev(3)),
        ("monomial", Monomial(3)),
        ("fourier", Fourier(3)),
        ("piecewise_constant", PiecewiseConstant(3)),
        ("linear", LinearElements(3)),
        ("quadratic", QuadraticElements(3)),
        ("hermite", HermiteElements(3)),
        ("gaussian", Gaussian(3)),
        ("inverse_multiquadric", InverseMultiquadric(3)),
    ],
)
def test_as_basis_by_name(kind, basis):
    assert as_basis(3, kind) == basis
    assert as_basis(basis, "legendre") is basis
    assert kind in BASIS_KINDS


def test_as_basis_default_and_known_names():
    assert as_basis(2) == Legendre(2)
    assert len(BASIS_KINDS) == 10


def test_basis_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Basis()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: as_basis(3, "spline"),
            ValueError,
            "basis = 'spline' .* 'legendre', .*'inverse_multiquadric'",
        ),
        (lambda: as_basis(-1), ValueError, "basis order = -1"),
        (lambda: as_basis(float("nan")), TypeError, "basis order = nan must be a whole number"),
        (lambda: as_basis(True), TypeError, "basis order = True"),
        (lambda: as_basis(None), TypeError, "basis order = None .* Legendre"),
        (lambda: as_basis(2.0), TypeError, "basis order = 2.0"),
        (lambda: as_basis(0, "linear"), ValueError, "LinearElements elements = 0"),
        (lambda: Legendre(-1), ValueError, "Legendre order = -1"),
        (lambda: Fourier(1.5), TypeError, "Fourier order = 1.5"),
        (lambda: HermiteElements(0), ValueError, "HermiteElements elements = 0"),
        (lambda: PiecewiseConstant(0), ValueError, "PiecewiseConstant sections = 0"),
        (lambda: PiecewiseConstant("ab"), TypeError, "sections = 'ab'"),
        (lambda: PiecewiseConstant((0.5, 0.4)), ValueError, "must increase"),
        (lambda: PiecewiseConstant((0.5, 1.0)), ValueError, "strictly between 0 and 1"),
        (lambda: Gaussian(0), ValueError, "Gaussian functions = 0"),
        (lambda: Gaussian(3, 0.0), ValueError, "Gaussian width = 0.0 .* fraction of the rod length"),
        (lambda: InverseMultiquadric(3, np.inf), ValueError, "InverseMultiquadric width = inf"),
        (lambda: Legendre(2)(1.1), ValueError, r"X = .*1.1.* must lie in \[0, 1\]"),
        (lambda: Legendre(2)([0.1, np.nan]), ValueError, "X = .*nan"),
        (lambda: Legendre(2)([[0.1]]), ValueError, r"shape \(1, 1\)"),
        (lambda: Custom(3, 1, 1), TypeError, "must be callable"),
        (lambda: Custom(powers, 2, 2), ValueError, r"returned shape \(2, 3\) for 2 points, but \(2, 2\)"),
        (lambda: Custom(powers, 0, 2), ValueError, "Custom size = 0"),
        (lambda: Custom(powers, 3, -1), ValueError, "Custom degree = -1"),
        (lambda: Custom(powers, 3, 2, (0.5, 0.5)), ValueError, "Custom breakpoints = .* must increase"),
        (
            lambda: Custom(lambda X: np.where(X > 0.9, np.nan, X)[:, None], 1, 1),
            ValueError,
            "returned nan for function 0 at X = 1",
        ),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_custom_checks_every_call():
    basis = Custom(lambda X: np.where(X == 0.5, np.inf, X)[:, None], 1, 1)
    assert basis(0.25) == 0.25
    with pytest.raises(ValueError, match=r"returned inf for function 0 at X = 0\.5"):
        basis([0.25, 0.5])


def test_custom_function_cannot_change_the_points():
    def greedy(X):
        X *= 2
        return X[:, None]

    X = np.array([0.1, 0.2])
    np.testing.assert_allclose(Custom(greedy, 1, 1)(X), [[0.2], [0.4]])
    np.testing.assert_array_equal(X, [0.1, 0.2])
