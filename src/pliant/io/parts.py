"""What the parts of a robot look like in a model file, where that is more than the keys of their class.

Joints, shapes, sections, bases and flows are found through their base classes; their keys follow from their annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Annotated, Any

from ..model.bearings import Characteristic
from ..model.fluid import Flow, Hydrodynamics
from ..model.joints import Fixed, Joint, Restraint
from ..model.pose import Pose
from ..model.rods.basis import Basis, Custom, Legendre
from ..model.rods.laws import Law, Rubber
from ..model.rods.sections import Composite, Material, Part, Section
from ..model.rods.strains import STRAIN_NAMES, Strains
from ..model.routing import Along, HelixOffset, helical_routing
from ..model.shapes import HalfSpace, HeightField, Mesh, Shape, Visual
from .expressions import Expression
from .functions import Function
from .kinds import Kind, ListOf, Name, Number, Numbers, Reference, Schema, Text, Whichever, Whole
from .places import FRAME
from .records import Parts, Record, Variants
from .source import FAILED, Document, Place

__all__ = [
    "BASIS",
    "BODY_SHAPE",
    "CHARACTERISTIC",
    "COEFFICIENT",
    "FLOW",
    "HYDRODYNAMICS",
    "JOINT",
    "LAW",
    "LOOP_JOINT",
    "MATERIAL",
    "MATERIAL_OR_NAME",
    "MATRIX",
    "OBSTACLE_SHAPE",
    "PART_MATERIAL",
    "PART_SECTION",
    "PATH",
    "SECTION_PARTS",
    "STRAINS",
    "TERMS",
    "VISUALS",
    "MaterialName",
    "hydrodynamics_values",
    "routed",
    "routing_values",
]


def _is_text(place: Place) -> bool:
    return isinstance(place.value, str)


def _is_named(place: Place) -> bool:
    """Whether a place says which class it is."""
    return place.is_mapping or isinstance(place.value, str)


# ---------------------------------------------------------------- materials, shapes, joints


class MaterialName(Reference):
    """The name of a material of the file."""

    __slots__ = ()


class _MaterialName(Text):
    def read(self, place: Place) -> Any:
        return MaterialName(place.value)

    def schema(self, defs: Schema) -> Schema:
        return {"type": "string", "minLength": 1}


MATERIAL = Record("Material", Material, aliases={"E": "young", "nu": "poisson", "rho": "density", "G": "shear_modulus"})
MATERIAL_OR_NAME = Whichever(
    _MaterialName(),
    MATERIAL,
    _is_text,
    lambda value: isinstance(value, str),
    "the name of a material, or a mapping with young, poisson, density",
)

_ANY = Material(1e6, poisson=0.5, density=1e3)  # in place of a wrong one, which is reported where it stands


class _NamedMaterial(Text):
    """A material of the file by its name, where it is needed at once."""

    def read(self, place: Place) -> Any:
        known = place.document.materials
        if known is None or place.value not in known.value:
            names = [] if known is None else list(known.value)
            return place.fail(
                f"there is no material named {str(place.value)!r}; {place.suggestion(str(place.value), names)}"
            )
        aside = replace(known.child(place.value), document=Document(place.document.name))
        found = MATERIAL.read(aside)
        return _ANY if found is FAILED else found

    def schema(self, defs: Schema) -> Schema:
        return {"type": "string", "minLength": 1}


_PART = Record("Part", Part)
PART_SECTION = Parts(Section, only=lambda cls: cls is not Composite)
PART_MATERIAL = Whichever(_NamedMaterial(), MATERIAL, _is_text, lambda value: False, MATERIAL_OR_NAME.wanted)
SECTION_PARTS = ListOf(_PART)


class _Shapes(Parts):
    """Shapes; a mesh may be in a file of its own, ``{type: Mesh, file: hand.stl, scale: 1e-3}``."""

    def read(self, place: Place) -> Any:
        if not (place.is_mapping and place.value.get("type") == "Mesh" and "file" in place.value):
            return super().read(place)
        found = _MESH_FILE.read(
            Place({k: v for k, v in place.value.items() if k != "type"}, place.document, place.path)
        )
        return FAILED if found is FAILED else _opened(place, lambda: found(place.document.files.find))


def _mesh_file(file: str, *, scale: float = 1.0, rounding: float = 0.0) -> Any:
    """A mesh in a file.

    Parameters
    ----------
    file : text
        Its path, from the folder of the model file, in which it must lie.
    scale : float
        Metres per unit of the file.
    rounding : float
        By which the surface lies outside of the triangles [m].
    """
    return lambda where: Mesh.from_file(where(file), scale=scale, rounding=rounding)


def _opened(place: Place, make: Callable[[], Any]) -> Any:
    """What a file of a mesh gives; a problem of the model file if it cannot be read."""
    try:
        return make()
    except (OSError, ValueError, TypeError, ImportError) as error:
        return (
            place.child("file").fail(str(error))
            if place.is_mapping and "file" in place.value
            else place.fail(str(error))
        )


_MESH_FILE = Record("MeshFile", _mesh_file)
BODY_SHAPE = _Shapes(Shape, only=lambda cls: cls not in (HalfSpace, HeightField))  # which have no end
OBSTACLE_SHAPE = _Shapes(Shape, what="shape of an obstacle", only=lambda cls: cls.distance is not Shape.distance)  # type: ignore[attr-defined]


def _visual(
    file: str | None = None,
    shape: Annotated[Any, BODY_SHAPE] = None,
    pose: Pose | None = None,
    scale: float = 1.0,
    color: Annotated[Any, Numbers((3,))] = None,
) -> Any:
    """See `Visual`."""
    return {"file": file, "shape": shape, "pose": Pose() if pose is None else pose, "scale": scale, "color": color}


class _VisualKind(Kind):
    """Something to be drawn: a file, or a mapping."""

    wanted = (
        "a mesh file, or a mapping such as {file: hand.stl, scale: 1e-3, pose: [0, 0, 0.1], color: [0.8, 0.3, 0.2]}"
    )
    record = Record("Visual", [_visual, Visual])

    def inner(self) -> Iterable[Kind]:
        return [self.record]

    def read(self, place: Place) -> Any:
        if isinstance(place.value, str):
            return _opened(place, lambda: Visual(file=str(place.document.files.find(place.value))))
        found = self.record.read(place) if place.is_mapping else self.wrong(place)
        if found is FAILED:
            return FAILED
        return _opened(place, lambda: Visual(**self._named(found, place)))

    def _named(self, values: dict[str, Any], place: Place) -> dict[str, Any]:
        """With the path of its file."""
        return values if values["file"] is None else {**values, "file": str(place.document.files.find(values["file"]))}

    def write(self, value: Visual, path: str) -> Any:
        return self.record.write(value, path)

    def schema(self, defs: Schema) -> Schema:
        return {"anyOf": [{"type": "string", "minLength": 1}, self.record.schema(defs)]}


class _Visuals(Kind):
    """One or several of them."""

    wanted = f"{_VisualKind.wanted}, or a list of them"
    _one = _VisualKind()
    _list = ListOf(_one)

    def inner(self) -> Iterable[Kind]:
        return [self._one]

    def read(self, place: Place) -> Any:
        return self._list.read(place) if place.is_list else self._one.read(place)

    def write(self, value: Any, path: str) -> Any:
        return self._one.write(value[0], path) if len(value) == 1 else self._list.write(value, path)

    def schema(self, defs: Schema) -> Schema:
        return {"anyOf": [self._one.schema(defs), self._list.schema(defs)]}


VISUALS = _Visuals()

JOINT = Parts(Joint, only=lambda cls: not cls.closes_only, neutral=Fixed())  # type: ignore[attr-defined]
LOOP_JOINT = Parts(
    Joint,
    what="joint of a loop",
    only=lambda cls: cls.nv < 6 and cls is not Restraint,  # type: ignore[attr-defined]  # what moves freely closes nothing
    neutral=Fixed(),
)


class _Terms(Kind):
    """Ratios by coordinate."""

    wanted = "a mapping from coordinates (a link, or link.dof) to their ratios"

    def read(self, place: Place) -> Any:
        if not place.is_mapping:
            return self.wrong(place)
        ratios = {Reference(key): _RATIO.read(child) for key, child in place.children()}
        return FAILED if FAILED in ratios.values() else ratios

    def write(self, value: Any, path: str) -> Any:
        return {str(key): _RATIO.write(ratio, f"{path}.{key}") for key, ratio in value.items()}

    def schema(self, defs: Schema) -> Schema:
        return {"type": "object", "additionalProperties": _RATIO.schema(defs), "minProperties": 1}


_RATIO = Number()
TERMS = _Terms()  # the coordinates that a coupling ties together

# ---------------------------------------------------------------- laws of rods

_LAW = Parts(Law, what="law", only=lambda cls: cls is not Rubber)  # a base
LAW = Whichever(
    ListOf(_LAW),
    _LAW,
    lambda place: place.is_list,
    lambda value: isinstance(value, (tuple, list)) and len(value) != 1,
    "a law such as {type: NeoHookean}, or a list of laws",
)

# ---------------------------------------------------------------- springs of joints

CHARACTERISTIC = Whichever(
    Record("Characteristic", Characteristic),
    Numbers((-1,)),
    lambda place: place.is_mapping,
    lambda value: isinstance(value, Characteristic),
    "a table {x: […], values: […]}, or coefficients of a polynomial in rising powers",
)

# ---------------------------------------------------------------- strains and their bases


def _custom(
    function: Annotated[Any, Function((-1,))], degree: int, breakpoints: Annotated[Any, Numbers((-1,))] = ()
) -> Custom:
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
    return Custom(formulas, formulas.shape[0], degree, breakpoints)


def _custom_values(basis: Custom) -> dict[str, Any]:
    return {"function": basis._function, "degree": basis.degree, "breakpoints": basis.breakpoints}


class _Order(Whole):
    """The order of a basis."""

    wanted = "a whole number (the order), or a basis such as {type: PiecewiseConstant, sections: 3}"

    def read(self, place: Place) -> Any:
        value = place.value
        return int(value) if isinstance(value, int) and not isinstance(value, bool) else self.wrong(place)

    def write(self, value: Any, path: str) -> Any:
        return value.order

    def schema(self, defs: Schema) -> Schema:
        return {"type": "integer", "minimum": 0}


_BASES = Parts(Basis, form=lambda cls: {"sources": _custom, "values": _custom_values} if cls is Custom else {})
BASIS = Whichever(_BASES, _Order(), _is_named, lambda value: type(value) is not Legendre, _Order.wanted)


def _given_strains(strains: Strains) -> dict[str, Any]:
    """The strains by name, pairs that are equal as one."""
    given: dict[str, Any] = dict(zip(STRAIN_NAMES, strains.bases))
    for pair in ("bending", "shear"):
        y, z = f"{pair}_y", f"{pair}_z"
        if given[y] is not None and given[y] == given[z]:
            given[pair] = given.pop(y)
            del given[z]
    return given


_NO_PRESETS = ("only", "_planar")  # what they make can be said by naming the strains
_PRESETS = [name for name, own in vars(Strains).items() if isinstance(own, classmethod) and name not in _NO_PRESETS]
STRAINS = Variants(
    "choice of strains",
    [
        Record("Strains", Strains, values=_given_strains),
        *(Record(name, getattr(Strains, name)) for name in _PRESETS),
    ],
    default="Strains",
)

# ---------------------------------------------------------------- tendons

_HELIX = Record("helical_routing", helical_routing)


def routed(helical_routing: Annotated[Any, _HELIX] = None, **more: Any) -> dict[str, Any]:
    """Where a line runs along a rod.

    Parameters
    ----------
    helical_routing : mapping
        Instead of y and z: a helix around the axis, with radius [m], turns and phase [rad].
    """
    both = sorted({"y", "z", "dy", "dz"} & set(more))
    if helical_routing is not None and both:
        raise ValueError(f"helical_routing = … says where it runs already; leave out {', '.join(both)}.")
    return {**more, **(helical_routing or {})}


def routing_values(piece: Along) -> dict[str, Any]:
    """The keys of a stretch along a rod; a helix as such."""
    parts = [piece.y, piece.z, piece.dy, piece.dz]
    if isinstance(piece.y, HelixOffset):
        r, turns, phase = piece.y.radius, piece.y.turns, piece.y.phase
        if parts == [HelixOffset(name, r, turns, phase) for name in ("y", "z", "dy", "dz")]:
            helix = {"radius": r[0] if r[0] == r[1] else r, "turns": turns, "phase": phase}
            return {
                "rod": piece.rod,
                "start": piece.start,
                "end": piece.end,
                "breaks": piece.breaks,
                "helical_routing": helix,
            }
    return vars(piece)


_ALONG = Record("Along", [routed, Along], make=lambda **keys: Along(**routed(**keys)), values=routing_values)


class _Path(Kind):
    """A rod, a stretch along one, or a list of stretches and frames."""

    wanted = "a rod, {rod: arm, y: …}, or a list of rods, stretches and frames"

    def inner(self) -> Iterable[Kind]:
        return [_ALONG, FRAME]

    def read(self, place: Place) -> Any:
        if not place.is_list:
            return self._piece(place)
        pieces = [self._piece(entry) for entry in place.entries()]
        return FAILED if FAILED in pieces else pieces

    @staticmethod
    def _piece(place: Place) -> Any:
        return _ALONG.read(place) if place.is_mapping and "rod" in place.value else FRAME.read(place)

    def write(self, value: Any, path: str) -> Any:
        if isinstance(value, list):
            return [self.write(piece, f"{path}[{k}]") for k, piece in enumerate(value)]
        return _ALONG.write(value, path) if isinstance(value, Along) else FRAME.write(value, path)

    def schema(self, defs: Schema) -> Schema:
        piece = {"anyOf": [FRAME.schema(defs), _ALONG.schema(defs)]}
        return {"anyOf": [piece, {"type": "array", "items": piece, "minItems": 1}]}


PATH = _Path()

# ---------------------------------------------------------------- fluid


def _flow_name(cls: type) -> str:
    return cls.__name__.removesuffix("Flow").lower()


FLOW = Parts(Flow, named=_flow_name, form=lambda cls: {"sources": [cls, getattr(Hydrodynamics, _flow_name(cls), cls)]})
MATRIX = Function((3,), (6,), (6, 6))
COEFFICIENT = Whichever(
    FLOW,
    MATRIX,
    _is_named,
    lambda value: isinstance(value, Flow),
    "3, 6 or 6×6 numbers or formulas of X, or a flow such as {type: circular}",
)


_LINK = Name("a link")


class _Links(Kind):
    """One link or several."""

    wanted = "the name of a link, or a list of names"

    def read(self, place: Place) -> Any:
        names = [_LINK.read(entry) for entry in (place.entries() if place.is_list else [place])]
        return FAILED if FAILED in names else names

    def write(self, value: Any, path: str) -> Any:
        return value[0] if len(value) == 1 else list(value)

    def schema(self, defs: Schema) -> Schema:
        name = {"type": "string", "minLength": 1}
        return {"anyOf": [name, {"type": "array", "items": name, "minItems": 1}]}


def _effect(links: Annotated[Any, _Links()], **more: Any) -> None:
    """What the fluid does to links.

    Parameters
    ----------
    links : str or list
        The link, or the links, on which the fluid acts so.
    """


_FLOWS = [name for name in FLOW.records if hasattr(Hydrodynamics, name)]
HYDRODYNAMICS = Variants(
    "effect of the fluid",
    [
        Record("Hydrodynamics", [_effect, Hydrodynamics], make=None),
        *(Record(name, [_effect, getattr(Hydrodynamics, name), Hydrodynamics], make=None) for name in _FLOWS),
    ],
    default="Hydrodynamics",
)


def hydrodynamics_values(effect: Hydrodynamics) -> tuple[str, dict[str, Any]]:
    """Type and keys of an effect of the fluid; one flow for drag and added mass is a type of its own."""
    values = {key: getattr(effect, key) for key in HYDRODYNAMICS.records["Hydrodynamics"].fields if key != "links"}
    flow, drag = effect.added_mass, effect.drag
    name = next((name for name in _FLOWS if FLOW.records[name].part is type(flow)), None)
    if name is None or drag is None:
        return "Hydrodynamics", values
    own = {key: getattr(flow, key) for key in FLOW.records[name].fields}
    both = type(drag) is type(flow) and drag == flow
    return name, {**own, **values, "added_mass": None, "drag": None if both else drag}
