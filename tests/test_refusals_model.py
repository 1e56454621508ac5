"""What the description of a robot refuses: odd values in every parameter, absurd sizes, hostile names, dropped options."""

from __future__ import annotations

import inspect
import traceback
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.model import cost, validate

RUBBER = pl.Material(1e6, poisson=0.5, density=1000.0)
ROD = {"length": 0.5, "section": pl.Circle(0.02), "material": RUBBER, "strains": pl.Strains.kirchhoff(1)}


def robot() -> pl.Robot:
    out = pl.Robot("r")
    out.add_rod("arm", **ROD)
    out.add_body("hub", joint=pl.Revolute("z"), shape=pl.Sphere(0.1), mass=1.0)
    out.add_body("wheel", joint=pl.Revolute("z"), mass=1.0)
    out.add_loop("guide", "arm", "wheel", joint=pl.Slot("x"))
    out.add_obstacle("floor", pl.HalfSpace())
    out.set_fluid()
    return out


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    "value",
    ["0.1", b"1", True, False, np.True_, np.str_("1"), 1j, np.complex128(1), None, [1.0], np.ones(1), {}, object()],
)
def test_what_is_no_number(value):
    with pytest.raises(TypeError, match=r"friction = .* is not a number"):
        validate.finite("friction", value)


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int8(1), np.array(1.0), np.array(1), Fraction(1, 1)])
def test_what_is_a_number(value):
    assert validate.finite("x", value) == 1.0
    assert type(validate.finite("x", value)) is float


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 10**400, 1e300, -1e61])
def test_numbers_that_are_too_large(value):
    with pytest.raises(ValueError, match="x = "):
        validate.finite("x", value)


@pytest.mark.parametrize(
    "value",
    [
        ["1", "2", "3"],
        [True, 1.0, 2.0],
        [1j, 0, 0],
        [None, 1, 2],
        [[1], [1, 2], 3],
        "abc",
        {1, 2, 3},
        [[True], [2.0], [3.0]],
    ],
)
def test_what_is_no_vector(value):
    with pytest.raises(TypeError, match=r"force = .*is not an array of real numbers"):
        validate.vector("force", value, (3,))


def test_vectors():
    np.testing.assert_array_equal(validate.vector("x", [Fraction(1, 2), 1, np.float32(2)], (3,)), [0.5, 1, 2])
    with pytest.raises(ValueError, match="no entry of more than 1e"):
        validate.vector("x", [1e300, 0, 0], (3,))


def test_text_as_friction_names_the_remedy():
    """Finding 18."""
    with pytest.raises(TypeError, match=r"tendon 'c': friction = '0.1' is not a number.*Leave out the quotes"):
        robot().add_tendon("c", "arm", friction="0.1")
    with pytest.raises(TypeError, match=r"contact 'c': friction = '0.1' is not a number"):
        robot().add_contact("c", "arm", "floor", stiffness=1e4, friction="0.1")


@pytest.mark.parametrize("value", ["no", 1, 0, None, np.array([True])])
@pytest.mark.parametrize(
    ("method", "arguments", "field"),
    [
        ("add_rod", ROD, "collocation"),
        ("add_tendon", {"path": "arm"}, "push"),
        ("add_wrench", {"parent": "arm", "force": (1, 0, 0)}, "constant"),
        ("add_distributed_wrench", {"rod": "arm", "force": (1, 0, 0)}, "constant"),
        ("add_obstacle", {"shape": pl.Sphere(1.0)}, "inside"),
        ("add_contact", {"link": "arm", "other": "floor", "stiffness": 1.0}, "per_length"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)  # fmt: skip
def test_flags_are_true_or_false(method, arguments, field, value):
    with pytest.raises(TypeError, match=f"{field} = .* must be True or False"):
        getattr(robot(), method)("x", **arguments, **{field: value})


# ---------------------------------------------------------------- odd values in every parameter

ODD = {
    "text": "1", "true": True, "none": None, "nan": np.nan, "inf": np.inf, "minus": -1, "zero": 0, "huge": 1e300, "tiny": 1e-300, "list": [],
    "dict": {}, "object": object(), "complex": 1j, "texts": ["1", "2", "3"], "flags": [True, 1.0, 1.0], "bytes": b"x", "nans": [np.nan] * 3,
    "endless": 10**400, "function": lambda *_: None, "array": np.array([1.0]), "set": {1}, "many": 10**8, "ragged": [[1], [1, 2]],
}  # fmt: skip
CALLS = {
    "Robot": (pl.Robot, {"name": "r"}),
    "add_rod": ("add_rod", {"name": "x", **ROD}),
    "add_rod bare": ("add_rod", {"name": "x", "length": 0.5, "stiffness": [1.0] * 6, "inertia": [1.0] * 6, "strains": pl.Strains.kirchhoff(1)}),
    "add_body": ("add_body", {"name": "x", "shape": pl.Sphere(0.1), "mass": 1.0}),
    "add_body inertia": ("add_body", {"name": "x", "mass": 1.0, "com": (0, 0, 0), "inertia": (1.0, 1.0, 1.0)}),
    "add_frame": ("add_frame", {"name": "x", "parent": "arm"}),
    "add_tendon": ("add_tendon", {"name": "x", "path": "arm", "friction": 0.1, "slip_speed": 0.1}),
    "add_tendon elastic": ("add_tendon", {"name": "x", "path": "arm", "control": "elastic", "stiffness": 1.0, "damping": 1.0, "rest_length": 1.0}),
    "add_push_rod": ("add_push_rod", {"name": "x", "path": "arm"}),
    "add_chamber": ("add_chamber", {"name": "x", "rod": "arm", "area": 1e-4}),
    "add_stress": ("add_stress", {"name": "x", "rod": "arm", "stress": [0, 0, 1.0, 0, 0, 0]}),
    "add_motor": ("add_motor", {"name": "x", "link": "hub", "control": "position", "kp": 1.0, "kd": 1.0}),
    "add_motion": ("add_motion", {"name": "x", "link": "hub"}),
    "add_wrench": ("add_wrench", {"name": "x", "parent": "arm", "force": (1.0, 0, 0), "moment": (1.0, 0, 0)}),
    "add_distributed_wrench": ("add_distributed_wrench", {"name": "x", "rod": "arm", "force": (1.0, 0, 0), "moment": (1.0, 0, 0)}),
    "add_dipole": ("add_dipole", {"name": "x", "place": "arm", "moment": (1.0, 0, 0)}),
    "add_magnet": ("add_magnet", {"name": "x", "parent": "arm", "moment": (1.0, 0, 0)}),
    "add_coil": ("add_coil", {"name": "x", "radius": 0.1, "turns": 2.0}),
    "set_fluid": ("set_fluid", {}),
    "add_hydrodynamics": ("add_hydrodynamics", {"links": "arm"}),
    "add_obstacle": ("add_obstacle", {"name": "x", "shape": pl.Sphere(0.1)}),
    "add_contact": ("add_contact", {"name": "x", "link": "arm", "other": "floor", "stiffness": 1.0}),
    "add_loop": ("add_loop", {"name": "x", "a": "arm", "b": "hub"}),
    "add_coupling": ("add_coupling", {"name": "x", "terms": {"hub": 1.0, "wheel": 2.0}}),
    "add_stop": ("add_stop", {"name": "x", "link": "hub", "lower": -1.0, "upper": 2.0, "stiffness": 10.0}),
    "add_friction": ("add_friction", {"name": "x", "link": "hub", "coulomb": 1.0, "breakaway": 2.0, "stribeck": 0.1}),
    "add_spring": ("add_spring", {"name": "x", "link": "hub", "torque": (0.0, 1.0)}),
    "add_backlash": ("add_backlash", {"name": "x", "terms": {"hub.angle1": 1.0, "wheel": 2.0}, "gap": 0.1, "stiffness": 1.0}),
    "Characteristic": (pl.Characteristic, {"x": (0.0, 1.0, 2.0, 3.0), "values": (0.0, 1.0, 2.0, 3.0)}),
    "add_stop on a loop": ("add_stop", {"name": "x", "link": "guide", "upper": 2.0, "stiffness": 10.0}),
    "add_motor on a loop": ("add_motor", {"name": "x", "link": "guide"}),
    "add_motion on a loop": ("add_motion", {"name": "x", "link": "guide"}),
    "add_load": ("add_load", {"name": "x", "places": "arm.tip", "load": lambda pose, twist, inputs: np.zeros((len(pose), 6))}),
    "Material": (pl.Material, {"young": 1e6, "poisson": 0.5, "density": 1e3}),
    "Circle": (pl.Circle, {"radius": 0.1}),
    "Annulus": (pl.Annulus, {"outer": 0.2, "inner": 0.1}),
    "CustomSection": (pl.CustomSection, {"area": 1e-2, "Iy": 1e-4, "Iz": 1e-4, "J": 1e-4}),
    "Material along X": (pl.Material, {"young": (1e6, 2e6), "shear_modulus": 1e5, "density": (1e3, 2e3), "viscosity": 1.0}),
    "Part": (pl.Part, {"section": pl.Circle(0.1), "material": pl.Material(1e6, poisson=0.5, density=1e3), "at": (0.1, 0.2)}),
    "Composite": (pl.Composite, {"parts": [(pl.Circle(0.1), pl.Material(1e6, poisson=0.5, density=1e3))]}),
    "Stepped": (pl.Stepped, {"values": [1.0, 2.0], "at": [0.5]}),
    "Cylinder": (pl.Cylinder, {"radius": 1.0, "length": 1.0}),
    "Inertia": (pl.Inertia, {"mass": 1.0, "com": (0, 0, 0), "inertia": (1.0, 1.0, 1.0)}),
    "Helical": (pl.Helical, {"axis": "z", "pitch": 0.1}),
    "Universal": (pl.Universal, {"axis1": "y", "axis2": "z"}),
    "Spherical": (pl.Spherical, {}),
    "Free": (pl.Free, {}),
    "Fixed": (pl.Fixed, {}),
    "Rows": (pl.Rows, {"position": "x"}),
    "Slot": (pl.Slot, {"axis": "x", "stiffness": 1.0}),
    "Distance": (pl.Distance, {"length": 0.1}),
    "Rolling": (pl.Rolling, {"radius": 0.1, "axis": "y"}),
    "Skate": (pl.Skate, {"axis": "y"}),
    "PiecewiseConstant": (pl.PiecewiseConstant, {"sections": 2}),
    "HermiteElements": (pl.HermiteElements, {"elements": 2}),
    "Gaussian": (pl.Gaussian, {"functions": 2, "width": 0.5}),
    "Custom": (pl.Custom, {"function": lambda X: np.ones((len(X), 1)), "size": 1, "degree": 1}),
    "Strains": (pl.Strains, {"torsion": 1}),
    "Strains.reissner": (pl.Strains.reissner, {"order": 1, "linear_order": 1}),
    "Strains.only": (pl.Strains.only, {"names": "torsion", "order": 1}),
    "Along": (pl.Along, {"rod": "arm"}),
    "Table": (pl.Table, {"X": [0, 0.5, 1.0], "values": [0, 0.1, 0.2], "kind": "linear"}),
    "helical_routing": (pl.helical_routing, {"radius": 0.01, "turns": 1.0}),
    "Pose": (pl.Pose, {}),
    "rotate": (pl.rotate, {"axis": "z", "angle": 1.0}),
    "look_along": (pl.Pose.look_along, {"direction": "z", "roll": 0.1}),
    "from_quaternion": (pl.Pose.from_quaternion, {"quaternion": (1, 0, 0, 0)}),
    "constant_strain": (pl.constant_strain, {}),
    "helix": (pl.helix, {"radius": 0.1, "pitch": 0.1}),
    "Hydrodynamics": (pl.Hydrodynamics, {}),
    "elliptic": (pl.Hydrodynamics.elliptic, {}),
    "flat": (pl.Hydrodynamics.flat, {"width_axis": "y"}),
    "Expression": (pl.Expression, {"source": "X"}),
}  # fmt: skip


NEVER = ("text", "complex", "texts", "flags", "nan", "nans", "huge", "endless", "object", "set", "bytes", "ragged")
TAKEN = {("text", field) for field in ("name", "rod", "inputs", "source", "inside")}
TAKEN |= {("texts", "inputs"), ("texts", "source"), ("huge", "source")}
RAW = (
    "not iterable",
    "unhashable",
    "not subscriptable",
    "has no attribute",
    "inhomogeneous",
    "ambiguous",
    "unexpected keyword",
)


def refusal(make, **arguments) -> Exception | None:
    try:
        make(**arguments)
    except (TypeError, ValueError, KeyError) as error:
        return error
    return None


def raised_by_pliant(error: Exception) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return Path(pl.__file__).parent in Path(frames[-1].filename).parents


@pytest.mark.parametrize("name", CALLS)
def test_odd_values_are_taken_or_refused_in_words_of_our_own(name):
    """No exception of NumPy or Python's own reaches the user, no overflow, and nothing large is made."""
    function, arguments = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        parameters = inspect.signature(
            getattr(pl.Robot, function) if isinstance(function, str) else function
        ).parameters
        for field, parameter in parameters.items():
            if field == "self" or parameter.kind is inspect.Parameter.VAR_KEYWORD:
                continue
            for odd, value in ODD.items():
                make = getattr(robot(), function) if isinstance(function, str) else function
                error = refusal(make, **{**arguments, field: value})
                if error is None:
                    assert odd not in NEVER or (odd, field) in TAKEN, (field, odd)
                    continue
                message = str(error.args[0])
                assert raised_by_pliant(error), f"{field} = {odd}: {type(error).__name__}: {error}"
                assert len(message) > 20, (field, odd, message)
                assert not any(words in message for words in RAW), (field, odd, message)


# ---------------------------------------------------------------- what would be dropped or does nothing


def test_loads_on_the_world_move_nothing():
    """Finding 12."""
    for place in ("world", None):
        with pytest.raises(ValueError, match="wrench 'w': a wrench at 'world' moves nothing"):
            robot().add_wrench("w", place, force=(1, 0, 0))
    with pytest.raises(ValueError, match="dipole 'w': a dipole at 'world' moves nothing"):
        robot().add_dipole("w", "world", moment=(1, 0, 0))
    with pytest.raises(ValueError, match="load 'w': at 'world' it moves nothing"):
        robot().add_load("w", ["arm.tip", "world"], lambda pose, twist, inputs: np.zeros((len(pose), 6)))


def test_two_kinds_of_damping_are_said():
    with pytest.warns(UserWarning, match=r"viscosity = 10 Pa s and damping_time = 0.01 s: both act"):
        pl.Material(1e6, poisson=0.5, density=1e3, viscosity=10, damping_time=0.01)


@pytest.mark.parametrize("stretch", [-1.0, 0.0, -2.0])
def test_a_rod_of_no_length_is_refused(stretch):
    with pytest.raises(
        ValueError, match=rf"reference_strain has the stretch {stretch:g} at X = 0.*no length there, or run backwards"
    ):
        robot().add_rod("x", **ROD, reference_strain=(0, 0, 0, stretch, 0, 0))
    with pytest.raises(ValueError, match="constant_strain stretch"):
        pl.constant_strain(stretch=stretch)
    with pytest.raises(ValueError, match=r"reference_strain has the stretch -0.1 at X = 1"):
        robot().add_rod("x", **ROD, reference_strain=lambda X: [0, 0, 0, 1 - 1.1 * X, 0, 0])


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pl.Strains.kirchhoff(10**7), r"Legendre order: the number of functions = 10000001 is not allowed: at most 1000.*TB"),
        (lambda: pl.Legendre(10**400), r"more than a million TB"),
        (lambda: pl.LinearElements(10**9), r"LinearElements elements: the number of functions = 1000000001"),
        (lambda: pl.HermiteElements(10**9), r"HermiteElements elements"),
        (lambda: pl.PiecewiseConstant(10**9), r"PiecewiseConstant sections: the number of functions = 1000000000"),
        (lambda: pl.PiecewiseConstant(np.linspace(0.1, 0.9, 5000)), r"the number of entries = 5000 is not allowed: at most 1000"),
        (lambda: pl.Fourier(10**8), r"Fourier order"),
        (lambda: pl.Gaussian(10**8), r"Gaussian functions"),
        (lambda: pl.Custom(np.ones, 10**8, 1), r"Custom size = 100000000"),
        (lambda: pl.Custom(lambda X: np.ones((len(X), 1)), 1, 10**8), r"Custom degree = 100000000"),
        (lambda: robot().add_rod("x", **ROD, points=10**8), r"rod 'x': points = 100000000 is not allowed: at most 20000 along a rod, or it would take 200 GB"),
        (lambda: robot().add_rod("x", **{**ROD, "strains": pl.Strains(bending_z=pl.LinearElements(900))}, points=1000), r"points = 1000 in each of 900 elements"),
        (lambda: robot().add_rod("x", **{**ROD, "strains": pl.Strains.kirchhoff(900)}), r"2703 coordinates of degree 900 .*would take 35\S* GB to compile; at most 2 GB"),
        (lambda: pl.Stepped([0.01] * 10**6), r"Stepped.values: the number of entries = 1000000"),
        (lambda: pl.Table(np.linspace(0, 1, 10**6), np.zeros(10**6)), r"Table.X: the number of entries = 1000000 is not allowed: at most 10000"),
        (lambda: robot().add_tendon("x", ["arm.tip", "hub"] * 10**4), r"tendon 'x': path: the number of entries = 20000"),
        (lambda: pl.Along("arm", breaks=np.linspace(0.1, 0.9, 10**5)), r"Along.breaks: the number of entries = 100000"),
        (lambda: pl.helical_routing(0.01, turns=1e9), r"turns = 1000000000.0 is not allowed: must lie in \[-1000, 1000\]"),
    ],
)  # fmt: skip
def test_absurd_sizes_are_refused_with_their_cost(make, words):
    """Finding 17: nothing of that size is made; each of these takes milliseconds."""
    with pytest.raises(ValueError, match=words):
        make()


def test_a_robot_of_too_many_coordinates_is_not_compiled():
    rest = pl.Robot("r")
    body = pl.Free()
    for k in range(4):
        rest.add_body(f"b{k}", mass=1.0, joint=body)
    rest.links *= 1000
    with pytest.raises(
        ValueError,
        match=r"24000 degrees of freedom, which is not allowed: at most 20000. One matrix of them takes 4.61 GB",
    ):
        rest.compile()


def test_memory_in_words():
    assert [cost.memory(n) for n in (10, 2000, 3 * 10**6, 4.5e9, 7 * 10**15, 10**30)] == [
        "0.01 kB", "2 kB", "3 MB", "4.5 GB", "7e+03 TB", "more than a million TB",
    ]  # fmt: skip


def test_many_elements_need_no_cubic_memory():
    """300 linear elements took 300³ numbers to check."""
    from pliant.model.rods.basis.independence import _weighted_samples

    samples = _weighted_samples(pl.LinearElements(300))
    assert samples.size < 300 * 301 * 10


# ---------------------------------------------------------------- tendons on the surface


def test_a_tendon_on_the_surface_may_be_rounded():
    """Finding 18: 0.2 µm outside was refused with "0.02111 m reaches 0.02111 m"."""
    rest = pl.Robot("r")
    rest.add_rod("arm", **{**ROD, "section": pl.Circle(0.02111)})
    rest.add_tendon("on", "arm", y=0.02111 + 2e-7)
    with pytest.raises(
        ValueError, match=r"its offset 0.021111 m at X = 1e-09 lies 1e-06 m outside .* reaches 0.02111 m there"
    ):
        rest.add_tendon("off", "arm", y=0.02111 + 1e-6)


# ---------------------------------------------------------------- names

HOSTILE = {
    "empty": ("", TypeError, "must be a non-empty string"),
    "number": (3, TypeError, "must be a non-empty string"),
    "line break": ("a\nb", ValueError, "contains the character"),
    "tab": ("a\tb", ValueError, "control characters"),
    "zero": ("a\0b", ValueError, "contains the character"),
    "escape": ("\x1b[31mred", ValueError, "contains the character"),
    "surrogate": ("\ud800", ValueError, "contains the character"),
    "direction": ("arm\u202egpj", ValueError, "contains the character"),
    "separator": ("a\u2028b", ValueError, "contains the character"),
    "long": ("x" * 10_000, ValueError, "has 10000 characters; at most 200"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_are_refused(kind):
    name, error, words = HOSTILE[kind]
    with pytest.raises(error, match=words):
        pl.Robot(name)
    for add in (
        lambda r: r.add_body(name),
        lambda r: r.add_frame(name, "arm"),
        lambda r: r.add_wrench(name, "arm", force=(1, 0, 0)),
        lambda r: r.add_load("x", "arm.tip", lambda pose, twist, inputs: None, inputs=[name]),
    ):
        with pytest.raises(error, match=words) as caught:
            add(robot())
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", ["world", "a.b", "a@b", " a", "a "])
def test_names_with_a_meaning_are_refused(name):
    with pytest.raises(ValueError, match="is not allowed"):
        robot().add_body(name)


@pytest.mark.parametrize("name", ["<b>x</b>", "a/b", "a\\b", "'", '"', "日本", "a b", "x" * 200, "😀"])
def test_what_can_be_shown_is_a_name(name):
    rest = robot()
    rest.add_body(name, mass=1.0)
    assert name in str(rest)


def test_an_unknown_name_of_any_length_is_answered_briefly():
    with pytest.raises(KeyError) as caught:
        robot().resolve("z" * 100_000)
    assert len(str(caught.value)) < 400
