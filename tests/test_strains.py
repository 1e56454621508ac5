"""Free strains of a rod.

`data/bases.json` holds numbers computed with SoRoSim (main @ 24d573a) under GNU Octave 7.3 (numbers only,
no code): the dense matrix Phi for torsion, bending_y and stretch at six values of X. Its strain components
and the order of its coordinates are those of pliant.
"""

import json
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

from pliant.model.rods.basis import (
    Chebyshev,
    Gaussian,
    HermiteElements,
    Legendre,
    LinearElements,
    Monomial,
    PiecewiseConstant,
    QuadraticElements,
)
from pliant.model.rods.strains import STRAIN_NAMES, Strains

GOLDEN = {row["basis"]: row for row in json.loads((Path(__file__).parent / "data" / "bases.json").read_text())}


@pytest.mark.parametrize(
    ("name", "kind", "shift"),
    [
        ("Monomial", "monomial", 0),
        ("Legendre", "legendre", 0),
        ("Chebychev", "chebyshev", 0),
        ("Fourier", "fourier", 0),
        ("Gaussian", "gaussian", 1),
        ("IMQ", "inverse_multiquadric", 1),
        ("FEMLike Linear", "linear", 0),
        ("FEMLike Quadratic", "quadratic", 0),
        ("HermiteSpline", "hermite", 0),
    ],
)
def test_matrix_matches_reference(name, kind, shift):
    row = GOLDEN[name]
    orders = {
        strain: order + shift for strain, free, order in zip(STRAIN_NAMES, row["Phi_dof"], row["Phi_odr"]) if free
    }
    assert list(orders) == ["torsion", "bending_y", "stretch"]
    np.testing.assert_allclose(Strains(**orders, basis=kind).matrix(row["X"]), row["Phi"], rtol=2e-14, atol=2e-15)


def test_order_of_coordinates_and_components():
    strains = Strains(shear_z=0, stretch=1, bending=2, torsion=PiecewiseConstant(2))
    assert strains.bases == (PiecewiseConstant(2), Legendre(2), Legendre(2), Legendre(1), None, Legendre(0))
    assert strains.size == 2 + 3 + 3 + 2 + 1
    assert strains.components.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 5]
    assert strains.degree == 2
    assert strains.breakpoints == (0.5,)


def test_matrix_places_the_values_on_the_components():
    strains = Strains(torsion=1, bending_z=Monomial(2), shear_y=LinearElements(2))
    X = np.array([0.0, 0.3, 1.0])
    values, Phi = strains.evaluate(X), strains.matrix(X)
    assert values.shape == (3, 8)
    assert Phi.shape == (3, 6, 8)
    np.testing.assert_array_equal(Phi.sum(axis=1), values)
    q = np.arange(1.0, 9.0)
    np.testing.assert_allclose(
        (Phi @ q)[1], [1 + 2 * (2 * 0.3 - 1), 0, 3 + 4 * 0.3 + 5 * 0.09, 0, 6 * 0.4 + 7 * 0.6, 0], rtol=1e-14
    )


def test_breakpoints_are_merged():
    strains = Strains(
        torsion=PiecewiseConstant((0.25, 1 / 3 + 5e-13)),
        stretch=LinearElements(3),
        shear_y=QuadraticElements(6),
    )
    assert strains.breakpoints == (1 / 6, 0.25, 1 / 3, 0.5, 2 / 3, 5 / 6)
    np.testing.assert_array_equal(strains.evaluate(1 / 3)[0, :3], [0, 0, 1])


def test_no_free_strain():
    strains = Strains()
    assert strains.size == 0
    assert strains.degree == 0
    assert strains.breakpoints == ()
    assert strains.components.shape == (0,)
    assert strains.matrix([0.0, 1.0]).shape == (2, 6, 0)
    assert repr(strains) == "Strains()"


def free(strains):
    return {name: basis for name, basis in zip(STRAIN_NAMES, strains.bases) if basis is not None}


@pytest.mark.parametrize(
    ("strains", "names"),
    [
        (Strains.kirchhoff(2), "torsion bending_y bending_z"),
        (Strains.kirchhoff_extensible(2), "torsion bending_y bending_z stretch"),
        (Strains.reissner(2), "torsion bending_y bending_z stretch shear_y shear_z"),
        (Strains.planar_bending(2), "bending_z"),
        (Strains.planar_bending(2, axis="y"), "bending_y"),
        (Strains.planar_extensible(2), "bending_z stretch"),
        (Strains.planar_extensible(2, axis="y"), "bending_y stretch"),
        (Strains.planar_reissner(2), "bending_z stretch shear_y"),
        (Strains.planar_reissner(2, axis="y"), "bending_y stretch shear_z"),
        (Strains.only("shear_z", 2), "shear_z"),
        (Strains.only(["stretch", "bending"], 2), "bending_y bending_z stretch"),
    ],
)
def test_presets(strains, names):
    assert free(strains) == dict.fromkeys(names.split(), Legendre(2))


def test_presets_take_other_bases_and_orders():
    assert Strains.constant() == Strains(torsion=0, bending=0, stretch=0, shear=0)
    mixed = Strains.reissner(4, linear_order=2, basis="chebyshev")
    assert mixed.bases == (*[Chebyshev(4)] * 3, *[Chebyshev(2)] * 3)
    assert Strains.kirchhoff(2, basis="hermite").bases[1] == HermiteElements(2)
    assert Strains.planar_bending(Gaussian(3)).bases[2] == Gaussian(3)
    assert Strains.only("torsion", 3, basis="linear").bases[0] == LinearElements(3)


def test_planar_presets_stay_in_their_plane():
    """Rotations about z and displacements along x, y are motions of the x-y plane, and so on."""
    assert set(Strains.planar_reissner(0).components) == {2, 3, 4}
    assert set(Strains.planar_reissner(0, axis="y").components) == {1, 3, 5}


@pytest.mark.parametrize(
    ("strains", "text"),
    [
        (
            Strains(torsion=4, bending=4, stretch=2),
            "Strains(torsion=Legendre(4), bending=Legendre(4), stretch=Legendre(2))",
        ),
        (Strains(bending_y=1, bending_z=2), "Strains(bending_y=Legendre(1), bending_z=Legendre(2))"),
        (
            Strains(bending_z=2, shear=Gaussian(3, 0.5)),
            "Strains(bending_z=Legendre(2), shear=Gaussian(3, width=0.5))",
        ),
    ],
)
def test_repr_reads_as_it_is_written(strains, text):
    assert repr(strains) == text
    assert eval(text) == strains


def test_strains_are_values():
    a, b = Strains(bending=2), Strains(bending_y=Legendre(2), bending_z=2)
    assert a == b
    assert hash(a) == hash(b)
    assert a != Strains(bending=3)
    with pytest.raises(FrozenInstanceError):
        a.bases = ()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Strains(bending=1, bending_y=1), ValueError, "bending sets bending_y and bending_z"),
        (lambda: Strains(shear=1, shear_z=1), ValueError, "shear sets shear_y and shear_z"),
        (lambda: Strains(bendng_z=1), TypeError, "no strain named 'bendng_z'; did you mean 'bending_z'"),
        (lambda: Strains(3), TypeError, "positional"),
        (lambda: Strains(torsion=-1), ValueError, "torsion: basis order = -1"),
        (lambda: Strains(stretch=True), TypeError, "stretch: basis order = True"),
        (lambda: Strains(shear=float("nan")), TypeError, "shear_y: basis order = nan"),
        (lambda: Strains(bending=0, basis="linear"), ValueError, "bending_y: LinearElements elements = 0"),
        (lambda: Strains(basis="legendr"), ValueError, "basis = 'legendr' .* 'legendre'"),
        (lambda: Strains.kirchhoff(None), TypeError, "basis order = None"),
        (lambda: Strains.planar_bending(1, axis="x"), ValueError, "axis = 'x' .* 'y', 'z'"),
        (lambda: Strains.only("strech", 1), KeyError, "did you mean 'stretch'"),
        (lambda: Strains.only(["torsion", 3], 1), KeyError, "no strain named '3'"),
        (lambda: Strains.only(["bending", "bending_y"], 1), ValueError, "more than once"),
        (lambda: Strains(bending=1).matrix([1.5]), ValueError, r"must lie in \[0, 1\]"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
