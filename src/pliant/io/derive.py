"""The table of kinds: what each parameter of a part is in a model file.

The kind follows from the annotation: ``float`` is a number, ``Literal`` a choice, ``Callable`` a function of X, ``Joint`` one of
the joints, ``Annotated[ArrayLike, (3,)]`` three numbers. What an annotation does not say is one line of `EXCEPTIONS`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from ..model.fluid import Flow
from ..model.joints import Joint
from ..model.links import Frame, Link
from ..model.pose import DIRECTION, Pose
from ..model.robot import Robot
from ..model.rods.basis import BASIS_KINDS, Basis
from ..model.rods.sections import Material
from ..model.rods.strains import Strains
from ..model.routing import Along, Table
from ..solve.methods import METHODS
from .code import CODE
from .functions import Function
from .kinds import Choice, Flag, Kind, ListOf, Name, Number, Numbers, Text, Whichever, Whole
from .parts import (
    BASIS,
    BODY_SHAPE,
    CHARACTERISTIC,
    COEFFICIENT,
    JOINT,
    LAW,
    LOOP_JOINT,
    MATERIAL_OR_NAME,
    MATRIX,
    OBSTACLE_SHAPE,
    PART_MATERIAL,
    PART_SECTION,
    PATH,
    SECTION_PARTS,
    STRAINS,
    TERMS,
    VISUALS,
)
from .places import AXIS, FRAME, POSE
from .records import Parts, Record, is_own
from .settings import ANY_OF_TIME, FEEDBACK, MOTIONS, VALUE, Events, Inputs, State

__all__ = ["hints_of", "kind_of", "kind_of_annotation"]

# ---------------------------------------------------------------- the table

_SIMPLE: dict[type, Kind] = {float: Number(), int: Whole(), bool: Flag(), str: Text()}

_CLASSES: dict[type, Kind] = {  # what may be one of several types is of the first kind whose class is among them
    Along: PATH,
    Frame: FRAME,
    Link: Name("a link"),
    Pose: POSE,
    Basis: BASIS,
    Flow: COEFFICIENT,
    Joint: JOINT,
    Material: MATERIAL_OR_NAME,
    Strains: STRAINS,
}

_ROD = Name("a rod")
_LINK_OR_LOOP = Name("a link or loop")
_VECTOR, _FORCE = Numbers((3,)), Function((3,))
_DENSITY = Function((6,), (6, 6))
_LIST = Numbers((-1,))
_FIXED = "a fixed joint does not move; use Free with stiffness and damping for an elastic mount."
_OF_PARTS = "a Composite has none of its own; give it to the sections of its parts."
_NO_COORDINATE = "it has no coordinate that a spring could act on."
_THIS_ROBOT = "it is the robot of the file."
_OF_THE_RUN = "files of a run belong to the run; give it to Model.simulate."

# class or function: its parameters, of a kind, or no keys for a reason
EXCEPTIONS: dict[str, dict[str, Kind | str]] = {
    "Joint": {"rest": Numbers((), (-1,))},
    "Fixed": dict.fromkeys(("stiffness", "damping", "rest"), _FIXED),
    **{
        name: dict.fromkeys(("stiffness", "damping", "rest"), _NO_COORDINATE)
        for name in ("Rows", "Distance", "Rolling", "Skate")
    },
    "Along": {"rod": _ROD},
    "Table": {"X": _LIST, "values": _LIST},
    "Signal": {"t": _LIST, "values": ListOf(Numbers((), (-1,)))},
    "Part": {"section": PART_SECTION, "material": PART_MATERIAL},
    "Composite": {"parts": SECTION_PARTS, **dict.fromkeys(("shear_factor", "torsion_factor"), _OF_PARTS)},
    "Stepped": {"values": ListOf(Numbers((), (2,)))},
    "Strains": {"basis": Choice(tuple(BASIS_KINDS))},
    "Hydrodynamics": {"linear_drag": MATRIX, "centre": _VECTOR},
    "Motion": {"position": VALUE, "velocity": ANY_OF_TIME, "acceleration": ANY_OF_TIME},
    "add_active_strain": {"rod": _ROD, "strain": Function((6,))},
    "add_rod": {
        "law": LAW,
        "reference_strain": Function((6,)),
        "stiffness": _DENSITY,
        "inertia": _DENSITY,
        "damping": _DENSITY,
    },
    "add_body": {"shape": BODY_SHAPE, "com": _VECTOR, "inertia": Numbers((3,), (3, 3)), "visual": VISUALS},
    "Visual": {"shape": BODY_SHAPE},
    "UserLaw": {"function": CODE, "derivatives": CODE, "energy": CODE, "scales": Numbers((2,), frozen=True)},
    "add_loop": {"joint": LOOP_JOINT},
    "add_coupling": {"terms": TERMS},
    "add_motor": {"link": _LINK_OR_LOOP},
    "add_stop": {"link": _LINK_OR_LOOP},
    "add_motion": {"link": _LINK_OR_LOOP},
    "add_friction": {"link": _LINK_OR_LOOP},
    "add_spring": {"link": _LINK_OR_LOOP, "torque": CHARACTERISTIC},
    "add_backlash": {"terms": TERMS},
    "Characteristic": {"x": _LIST, "values": _LIST},
    "add_stress": {"rod": _ROD, "stress": Function((6,))},
    "add_wrench": {"force": _VECTOR, "moment": _VECTOR},
    "add_distributed_wrench": {"rod": _ROD, "force": _FORCE, "moment": _FORCE},
    "add_dipole": {"moment": _FORCE},
    "add_magnet": {"moment": _VECTOR},
    "add_obstacle": {"shape": OBSTACLE_SHAPE},
    "set_fluid": {"current": _VECTOR},
    "simulate": {
        "system": _THIS_ROBOT,
        "events": Events(),
        "progress": "it is for a terminal, not for a model; give it to Model.simulate.",
        "checkpoint": _OF_THE_RUN,
        "checkpoint_interval": _OF_THE_RUN,
        "method": Choice(tuple(METHODS)),  # of the package; one's own is a Python function
        "u": Inputs(FEEDBACK),
        "tau": Function((-1,), variable="t"),
        "motion": MOTIONS,
        "start": State("neutral", "statics"),
        "velocity": State(),
        "output": Numbers((), (-1,)),
    },
    "solve_statics": {
        "system": _THIS_ROBOT,
        "u": Inputs(Number()),
        "tau": _LIST,
        "motion": MOTIONS,
        "start": State("neutral"),
    },
}

# ---------------------------------------------------------------- the rules


def _options(annotation: Any) -> tuple[Any, ...]:
    """What an annotation allows: the members of a union, also those of an alias in it (numpy's are, from 2.5 on)."""
    annotation = getattr(annotation, "__value__", annotation)
    if get_origin(annotation) not in (Union, UnionType):
        return (annotation,)
    return tuple(dict.fromkeys(entry for option in get_args(annotation) for entry in _options(option)))


_ARRAY = frozenset(_options(ArrayLike))
_ANY_SHAPE = ((), (-1,), (-1, -1))


def kind_of(source: Any, parameter: str) -> Kind | str:
    """The kind of a parameter of a class or function; text if it is no key of a file, for that reason.

    Raises
    ------
    TypeError
        If neither the annotation nor the table says.
    """
    for name in _owners(source):
        if parameter in EXCEPTIONS.get(name, {}):
            return EXCEPTIONS[name][parameter]
    hint = hints_of(source).get(parameter)
    kind = None if hint is None else kind_of_annotation(hint)
    if kind is None:
        raise TypeError(
            f"model files: the annotation of {parameter!r} of {source.__qualname__} does not say of which kind it is. "
            "Annotate it with its types, or add a line to pliant.io.derive.EXCEPTIONS."
        )
    return kind


def _owners(source: Any) -> list[str]:
    """Names under which exceptions of a class or function stand: of pliant's among its bases, of the class whose method it is."""
    if inspect.isclass(source):
        return [cls.__name__ for cls in source.__mro__ if is_own(cls)]
    return source.__qualname__.split(".")[::-1] if is_own(source) else []


@cache
def hints_of(source: Any) -> dict[str, Any]:
    """Annotations as objects; of a class those of its fields, or of an `__init__` that it has written itself."""
    if inspect.isclass(source):
        home = next(cls for cls in source.__mro__ if "__init__" in vars(cls))
        generated = getattr(vars(home).get("__dataclass_params__"), "init", False)
        source = source if generated else vars(home)["__init__"]
    try:
        return get_type_hints(source, None, {"Link": Link, "Robot": Robot}, include_extras=True)
    except NameError as error:
        raise TypeError(f"model files: an annotation of {source.__qualname__} is not known: {error}.") from None


def kind_of_annotation(annotation: Any) -> Kind | None:
    """The kind of value that an annotation allows besides None; None if it does not say."""
    if get_origin(annotation) is Annotated:
        base, *notes = get_args(annotation)
        return _noted(base, notes)
    if get_origin(annotation) is Literal:
        return Choice(get_args(annotation))
    types = [option for option in _options(annotation) if option is not NoneType]
    if len(types) == 1 and types[0] is not annotation:
        return kind_of_annotation(types[0])
    for cls, kind in _CLASSES.items():
        if cls in types:
            return kind
    is_array = set(types) >= _ARRAY or any(get_origin(option) is np.ndarray for option in types)
    others = [option for option in types if get_origin(option) is not Callable]
    constants = all(option in (float, int, Table) or get_origin(option) is tuple for option in others)
    if len(others) < len(types) and (is_array or constants):
        return Function(*_ANY_SHAPE) if is_array else Function()
    if is_array:
        return Numbers(*_ANY_SHAPE)
    if len(types) == 1:
        return _single(types[0])
    return _either(types)


def _noted(base: Any, notes: Sequence[Any]) -> Kind | None:
    """The kind of ``Annotated``: a kind itself, a direction, or the shapes of an array."""
    for note in notes:
        if isinstance(note, Kind):
            return note
        if isinstance(note, str) and note == DIRECTION:
            return AXIS
    shapes = [note for note in notes if isinstance(note, tuple)]
    kind = kind_of_annotation(base)
    if shapes and isinstance(kind, (Numbers, Function)):
        return type(kind)(*shapes)
    return kind


def _single(option: Any) -> Kind | None:
    """The kind of a single type."""
    if option in _SIMPLE:
        return _SIMPLE[option]
    origin, arguments = get_origin(option), get_args(option)
    if origin is tuple and Ellipsis not in arguments and set(arguments) == {float}:
        return Numbers((len(arguments),), frozen=True)
    if origin in (tuple, list, Sequence, Iterable):
        entry = kind_of_annotation(arguments[0])
        frozen = origin is tuple
        return None if entry is None else Numbers((-1,), frozen=frozen) if isinstance(entry, Number) else ListOf(entry)
    if not inspect.isclass(option) or option.__module__ == "builtins":
        return None
    return _parts(option)  # type: ignore[arg-type]  # classes are hashable


@cache
def _parts(cls: type) -> Kind | None:
    """Objects of a class: one of those derived from it, or itself."""
    if cls.__subclasses__():
        return Parts(cls)
    return Record(cls.__name__, cls) if is_dataclass(cls) else None


def _either(types: Sequence[Any]) -> Kind | None:
    """The kind of one of two types that are told apart by their form in a file."""
    kinds: dict[type, Any] = {type(kind): kind for kind in map(kind_of_annotation, types)}
    if set(kinds) == {Number, Numbers}:
        return Numbers((), *kinds[Numbers].shapes, frozen=kinds[Numbers].frozen)
    if set(kinds) == {Whole, Number}:
        return kinds[Number]
    if set(kinds) == {Whole, Numbers}:
        return Whichever(kinds[Whole], kinds[Numbers], lambda p: not p.is_list, lambda v: isinstance(v, int))
    if set(kinds) == {Whole, Text}:
        return Whichever(kinds[Text], kinds[Whole], lambda p: isinstance(p.value, str), lambda v: isinstance(v, str))
    return None
