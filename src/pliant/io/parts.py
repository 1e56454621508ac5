"""What the parts of a robot look like in a model file: materials, sections, shapes, joints, strains, tendons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.joints import Cylindrical, Fixed, Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from ..model.loops import NO_SPRING
from ..model.rods import basis as bases
from ..model.rods.basis import BASIS_KINDS, Basis
from ..model.rods.sections import Annulus, Circle, CustomSection, Ellipse, Material, Rectangle, Section
from ..model.rods.strains import STRAIN_NAMES, Strains
from ..model.routing import Along, helical_routing
from ..model.shapes import Box, Cylinder, Ellipsoid, HalfSpace, Sphere
from .expressions import Expression
from .functions import Function, function_error
from .kinds import Choice, Flag, Kind, Name, Number, Numbers, Reference, Schema, Whole
from .places import AXIS, FRAME
from .records import Record, Variants
from .source import FAILED, Place

__all__ = [
    "ALONG",
    "BASIS",
    "HELIX",
    "JOINT",
    "LOOP_JOINT",
    "MATERIAL",
    "MATERIAL_OR_NAME",
    "OBSTACLE_SHAPE",
    "PATH",
    "ROUTING",
    "SECTION",
    "SHAPE",
    "STRAINS",
    "MaterialName",
]

_NUMBER, _WHOLE, _FLAG, _SCALAR = Number(), Whole(), Flag(), Function()

# ---------------------------------------------------------------- materials, sections, shapes

_MATERIAL_RECORD = Record(
    "Material",
    Material,
    young=_NUMBER,
    poisson=_NUMBER,
    shear_modulus=_NUMBER,
    density=_NUMBER,
    viscosity=_NUMBER,
    damping_time=_NUMBER,
)
_MATERIAL_RECORD.aliases = {"E": "young", "nu": "poisson", "rho": "density", "G": "shear_modulus"}


class MaterialName(Reference):
    """The name of a material of the file."""

    __slots__ = ()


class _MaterialKind(Kind):
    """A material, or the name of one."""

    wanted = "the name of a material, or a mapping with young, poisson, density"

    def read(self, place: Place) -> Any:
        return MaterialName(place.value) if isinstance(place.value, str) else _MATERIAL_RECORD.read(place)

    def write(self, value: Any, path: str) -> Any:
        return str(value) if isinstance(value, str) else _MATERIAL_RECORD.write(value, path)

    def schema(self, defs: Schema) -> Schema:
        return {"anyOf": [{"type": "string", "minLength": 1}, _MATERIAL_RECORD.schema(defs)]}


MATERIAL = _MATERIAL_RECORD
MATERIAL_OR_NAME = _MaterialKind()

_FACTORS: dict[str, Kind] = {"shear_factor": Numbers((), (2,)), "torsion_factor": _NUMBER}
SECTION = Variants(
    "section",
    [
        Record("Circle", Circle, [Circle, Section], radius=_SCALAR, **_FACTORS),
        Record("Annulus", Annulus, [Annulus, Section], outer=_SCALAR, inner=_SCALAR, **_FACTORS),
        Record("Rectangle", Rectangle, [Rectangle, Section], height=_SCALAR, width=_SCALAR, **_FACTORS),
        Record("Ellipse", Ellipse, [Ellipse, Section], semi_y=_SCALAR, semi_z=_SCALAR, **_FACTORS),
        Record(
            "CustomSection",
            CustomSection,
            [CustomSection, Section],
            area=_SCALAR,
            Iy=_SCALAR,
            Iz=_SCALAR,
            J=_SCALAR,
            **_FACTORS,
        ),
    ],
)

_BOX = Record("Box", Box, x=_NUMBER, y=_NUMBER, z=_NUMBER)
_CYLINDER = Record("Cylinder", Cylinder, radius=_NUMBER, length=_NUMBER, axis=Choice(("x", "y", "z")))
_SPHERE = Record("Sphere", Sphere, radius=_NUMBER)
SHAPE = Variants("shape", [_BOX, _CYLINDER, _SPHERE, Record("Ellipsoid", Ellipsoid, x=_NUMBER, y=_NUMBER, z=_NUMBER)])
OBSTACLE_SHAPE = Variants("shape of an obstacle", [Record("HalfSpace", HalfSpace), _SPHERE, _CYLINDER, _BOX])

# ---------------------------------------------------------------- joints

_SPRING: dict[str, Kind] = {
    "stiffness": Numbers((), (-1,), (-1, -1)),
    "damping": Numbers((), (-1,), (-1, -1)),
    "rest": Numbers((), (-1,)),
}
_RIGID = dict.fromkeys(
    _SPRING, "a fixed joint does not move; use Free with stiffness and damping for an elastic mount."
)
_JOINTS: dict[type[Joint], dict[str, Kind]] = {
    Revolute: {"axis": AXIS},
    Prismatic: {"axis": AXIS},
    Helical: {"axis": AXIS, "pitch": _NUMBER},
    Universal: {"axis1": AXIS, "axis2": AXIS},
    Cylindrical: {"axis": AXIS},
    Planar: {"normal": AXIS},
    Spherical: {},
}
_FIXED = Record("Fixed", Fixed, None, _RIGID)
JOINT = Variants(
    "joint",
    [
        _FIXED,
        *(Record(joint.__name__, joint, **own, **_SPRING) for joint, own in _JOINTS.items()),
        Record("Free", Free, **_SPRING),
    ],
)
_LOOP = dict.fromkeys(_SPRING, NO_SPRING)
LOOP_JOINT = Variants(
    "joint of a loop",
    [_FIXED, *(Record(f"Loop{joint.__name__}", joint, None, _LOOP, **own) for joint, own in _JOINTS.items())],
    names={f"Loop{joint.__name__}": joint.__name__ for joint in _JOINTS},
)

# ---------------------------------------------------------------- strains and their bases


def _custom(function: Expression | list[float], degree: int, breakpoints: Any = ()) -> bases.Custom:
    """Functions of your own.

    Parameters
    ----------
    function : list
        One formula of X for each function.
    degree : int
        Polynomial degree in each element, or for other functions a number that makes 2·degree + 2 Gauss points enough.
    breakpoints : list
        Increasing points inside (0, 1) where a function or a derivative jumps.
    """
    formulas = function if isinstance(function, Expression) else Expression(function)
    return bases.Custom(formulas, formulas.shape[0], degree, breakpoints)


class _Sections(Kind):
    """A number of sections, or the points between them."""

    wanted = "a whole number, or a list of points inside (0, 1)"

    def read(self, place: Place) -> Any:
        return Numbers((-1,)).read(place) if place.is_list else _WHOLE.read(place)

    def write(self, value: Any, path: str) -> Any:
        return int(value) if isinstance(value, int) else Numbers((-1,)).write(value, path)

    def schema(self, defs: Schema) -> Schema:
        return {"anyOf": [_WHOLE.schema(defs), Numbers((-1,)).schema(defs)]}


_BASES = Variants(
    "basis",
    [
        Record("Legendre", bases.Legendre, order=_WHOLE),
        Record("Chebyshev", bases.Chebyshev, order=_WHOLE),
        Record("Monomial", bases.Monomial, order=_WHOLE),
        Record("Fourier", bases.Fourier, order=_WHOLE),
        Record("PiecewiseConstant", bases.PiecewiseConstant, sections=_Sections()),
        Record("LinearElements", bases.LinearElements, elements=_WHOLE),
        Record("QuadraticElements", bases.QuadraticElements, elements=_WHOLE),
        Record("HermiteElements", bases.HermiteElements, elements=_WHOLE),
        Record("Gaussian", bases.Gaussian, functions=_WHOLE, width=_NUMBER),
        Record("InverseMultiquadric", bases.InverseMultiquadric, functions=_WHOLE, width=_NUMBER),
        Record("Custom", _custom, function=Function((-1,)), degree=_WHOLE, breakpoints=Numbers((-1,))),
    ],
)


class _BasisKind(Kind):
    """A whole number, or a basis."""

    wanted = "a whole number (the order), or a basis such as {type: PiecewiseConstant, sections: 3}"

    def read(self, place: Place) -> Any:
        if place.is_mapping or isinstance(place.value, str):
            return _BASES.read(place)
        value = place.value
        return int(value) if isinstance(value, int) and not isinstance(value, bool) else self.wrong(place)

    def write(self, value: Any, path: str) -> Any:
        if isinstance(value, bases.Legendre):
            return value.order
        if isinstance(value, bases.Custom):
            if not isinstance(value._function, Expression):
                raise function_error(f"{path}.function", scalar=False)
            own = {"function": value._function, "degree": value.degree, "breakpoints": value.breakpoints or None}
            return _BASES.records["Custom"].write(own, path, {"type": "Custom"})
        return _BASES.write(value, path)

    def schema(self, defs: Schema) -> Schema:
        return {"anyOf": [{"type": "integer", "minimum": 0}, _BASES.schema(defs)]}


BASIS = _BasisKind()
_KIND = Choice(tuple(BASIS_KINDS))
_AXIS_YZ = Choice(("y", "z"))
_PRESETS = {"order": BASIS, "basis": _KIND}
_STRAINS = Variants(
    "choice of strains",
    [
        Record(
            "Strains",
            Strains,
            torsion=BASIS,
            bending=BASIS,
            bending_y=BASIS,
            bending_z=BASIS,
            stretch=BASIS,
            shear=BASIS,
            shear_y=BASIS,
            shear_z=BASIS,
            basis=_KIND,
        ),
        Record("kirchhoff", Strains.kirchhoff, **_PRESETS),
        Record("kirchhoff_extensible", Strains.kirchhoff_extensible, **_PRESETS),
        Record("reissner", Strains.reissner, linear_order=BASIS, **_PRESETS),
        Record("planar_bending", Strains.planar_bending, axis=_AXIS_YZ, **_PRESETS),
        Record("planar_extensible", Strains.planar_extensible, axis=_AXIS_YZ, **_PRESETS),
        Record("planar_reissner", Strains.planar_reissner, axis=_AXIS_YZ, **_PRESETS),
        Record("constant", Strains.constant),
    ],
    default="Strains",
)


class _StrainsKind(Kind):
    """The free strains of a rod."""

    wanted = _STRAINS.wanted

    def read(self, place: Place) -> Any:
        return _STRAINS.read(place)

    def write(self, value: Strains, path: str) -> Any:
        given: dict[str, Basis | None] = dict(zip(STRAIN_NAMES, value.bases))
        for pair in ("bending", "shear"):
            y, z = f"{pair}_y", f"{pair}_z"
            if given[y] is not None and given[y] == given[z]:
                given[pair] = given.pop(y)
                del given[z]
        return _STRAINS.records["Strains"].write(given, path)

    def schema(self, defs: Schema) -> Schema:
        return _STRAINS.schema(defs)


STRAINS = _StrainsKind()

# ---------------------------------------------------------------- tendons

HELIX = Record("helical_routing", helical_routing, radius=Numbers((), (2,)), turns=_NUMBER, phase=_NUMBER)
ROUTING: dict[str, Kind] = {
    "y": _SCALAR,
    "z": _SCALAR,
    "start": _NUMBER,
    "end": _NUMBER,
    "dy": _SCALAR,
    "dz": _SCALAR,
    "helical_routing": HELIX,
}


def _along(rod: str, helical_routing: Mapping[str, Any] | None = None, **options: Any) -> Along:
    """A stretch along a rod.

    Parameters
    ----------
    rod : str
        Name of the rod.
    helical_routing : mapping
        Instead of y and z: a helix around the axis, with radius [m], turns and phase [rad].
    """
    if helical_routing is not None and {"y", "z", "dy", "dz"} & set(options):
        raise ValueError("helical_routing = … says where it runs already; leave out y, z, dy and dz.")
    return Along(rod, **{**(helical_routing or {}), **options})


ALONG = Record("Along", _along, [_along, Along], rod=Name("a rod"), **ROUTING, breaks=Numbers((-1,)))


class _Path(Kind):
    """A rod, a stretch along one, or a list of stretches and frames."""

    wanted = "a rod, {rod: arm, y: …}, or a list of rods, stretches and frames"

    def read(self, place: Place) -> Any:
        if not place.is_list:
            return self._piece(place)
        pieces = [self._piece(entry) for entry in place.entries()]
        return FAILED if FAILED in pieces else pieces

    @staticmethod
    def _piece(place: Place) -> Any:
        return ALONG.read(place) if place.is_mapping and "rod" in place.value else FRAME.read(place)

    def write(self, value: Any, path: str) -> Any:
        return value

    def schema(self, defs: Schema) -> Schema:
        piece = {"anyOf": [FRAME.schema(defs), ALONG.schema(defs)]}
        return {"anyOf": [piece, {"type": "array", "items": piece, "minItems": 1}]}


PATH = _Path()
