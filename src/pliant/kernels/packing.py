"""How a robot travels to the kernels: all its tables in three flat arrays, and views of them inside.

Some sixty arrays would cost several microseconds per call from Python. A header says where each one starts and what
shape it has; `unpacker` writes, for a NamedTuple of arrays, the function that makes the views.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from .._call import array_at, group_maker, pointer_to
from .._jit import managed
from .layout import Floats, Ints


class Packed(NamedTuple):
    """A robot and its workspace as three arrays."""

    ints: Ints  # header of (offset, shape) per array, then all integer arrays
    floats: Floats  # all constant real arrays
    buffer: Floats  # the workspace


@cache
def _fields(group: Any) -> tuple[tuple[bool, int], ...]:
    """Of each array of a NamedTuple class: whether it holds integers, and how many dimensions it has."""
    hints = get_type_hints(group, include_extras=True).values()
    return tuple((hint.__origin__ == Ints, hint.__metadata__[0]) for hint in hints)


def pack(groups: Sequence[tuple[Any, bool]]) -> Packed:
    """Copy all arrays of the groups into three.

    Parameters
    ----------
    groups : sequence of (NamedTuple, bool)
        In the order of the header, and whether each belongs to the workspace.
    """
    rows = sum(len(group) for group, _written in groups)
    header: list[tuple[int, ...]] = []
    parts: list[list[np.ndarray]] = [[], [np.zeros(1)], [np.zeros(1)]]  # what belongs to each of the three
    sizes = [4 * rows, 1, 1]
    for group, written in groups:
        cls: Any = type(group)
        for array, (integers, dimensions) in zip(group, _fields(cls)):
            kind = 2 if written else 0 if integers else 1
            header.append((sizes[kind], *array.shape, *(0,) * (3 - dimensions)))
            parts[kind].append(array.ravel())
            sizes[kind] += array.size
    parts[0].insert(0, np.array(header, dtype=np.int64).ravel())
    buffer = np.zeros(sizes[2])  # memory that is not written costs nothing before it is used
    start = 0
    for part in parts[2]:
        if part.any():
            buffer[start : start + part.size] = part
        start += part.size
    return Packed(np.concatenate(parts[0]), np.concatenate(parts[1]), buffer)


def view_of(packed: Packed, kind: Any, written: bool, first: int) -> Any:
    """The group of a class as parts of the packed arrays; `first` is its first row in the header."""
    header = packed.ints[4 * first : 4 * (first + len(kind._fields))].reshape(-1, 4).tolist()
    views = []
    for (start, *shape), (integers, dimensions) in zip(header, _fields(kind)):
        source = packed.buffer if written else packed.ints if integers else packed.floats
        views.append(source[start : start + math.prod(shape[:dimensions])].reshape(shape[:dimensions]))
    return kind(*views)


def array_of(packed: Packed, kind: Any, name: str, first: int) -> np.ndarray:
    """One array of a constant group, as part of the packed arrays; `first` is the first row of the group in the header."""
    k = kind._fields.index(name)
    start, *shape = packed.ints[4 * (first + k) : 4 * (first + k + 1)].tolist()
    integers, dimensions = _fields(kind)[k]
    source = packed.ints if integers else packed.floats
    return source[start : start + math.prod(shape[:dimensions])].reshape(shape[:dimensions])


# Views are made of a pointer and a shape: slicing and reshaping would count references and check lengths, some 40 ns each.


@managed
def view1(ints, source, k):
    """The k-th array, one-dimensional."""
    return array_at(pointer_to(source, ints[4 * k]), (ints[4 * k + 1],))


@managed
def view2(ints, source, k):
    """The k-th array, two-dimensional."""
    return array_at(pointer_to(source, ints[4 * k]), (ints[4 * k + 1], ints[4 * k + 2]))


@managed
def view3(ints, source, k):
    """The k-th array, three-dimensional."""
    return array_at(pointer_to(source, ints[4 * k]), (ints[4 * k + 1], ints[4 * k + 2], ints[4 * k + 3]))


def _tuple_maker(group: Any) -> Any:
    """The function (ints, floats, first) → `group` as a tuple of views: interpreted, and where numba is used by documented names alone."""
    names: dict[str, Any] = {"Group": group, "view1": view1, "view2": view2, "view3": view3}
    views = []
    for k, (integers, dimensions) in enumerate(_fields(group)):
        names[f"k{k}"] = np.int64(k)  # not a Python int: numba would compile a view per number
        views.append(f"view{dimensions}(ints, {'ints' if integers else 'floats'}, first + k{k})")
    name = _name(group, "tuple")
    exec(f"def {name}(ints, floats, first):\n    return Group({', '.join(views)})\n", names)
    return managed(names[name])


def _name(group: Any, role: str) -> str:
    """A name of its own: two functions of one name, one compiled and one from the cache, could be taken for each other."""
    return f"{role}_{group.__module__.replace('.', '_')}_{group.__name__.lower()}"


@cache
def unpacker(group: Any, first: int | None = None) -> Any:
    """The compiled function (ints, floats) → `group` as views, if its arrays are numbered from `first`.

    Without `first` the function takes it as a third argument: (ints, floats, first) → `group`. The group has its arrays
    as attributes, nothing else of a tuple.
    """
    arrays = dict(zip(group._fields, _fields(group)))
    make = group_maker(_name(group, "group"), arrays, lambda: _tuple_maker(group))
    if first is None:
        return make
    start = np.int64(first)

    def unpack(ints, floats):
        return make(ints, floats, start)

    unpack.__name__ = unpack.__qualname__ = f"{_name(group, 'unpack')}_{first}"
    return managed(unpack)
