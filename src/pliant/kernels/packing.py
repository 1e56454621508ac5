"""How a robot travels to the kernels: all its tables in three flat arrays, and views of them inside.

Some sixty arrays would cost several microseconds per call from Python. A header says where each one starts and what
shape it has; `unpacker` writes, for a NamedTuple of arrays, the function that makes the views.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from .._call import array_at, pointer_to
from .._jit import managed
from .layout import Floats, Ints


class Packed(NamedTuple):
    """A robot and its workspace as three arrays."""

    ints: Ints  # header of (offset, shape) per array, then all integer arrays
    floats: Floats  # all constant real arrays
    buffer: Floats  # the workspace


def pack(groups: Sequence[tuple[Any, bool]]) -> Packed:
    """Copy all arrays of the groups into three.

    Parameters
    ----------
    groups : sequence of (NamedTuple, bool)
        In the order of the header, and whether each belongs to the workspace.
    """
    arrays = [array for group, _written in groups for array in group]
    work = [written for group, written in groups for _ in group]
    header = np.zeros((len(arrays), 4), dtype=np.int64)
    parts: dict[str, list[np.ndarray]] = {"ints": [], "floats": [np.zeros(1)], "buffer": [np.zeros(1)]}
    sizes = {"ints": header.size, "floats": 1, "buffer": 1}

    def kind(k: int) -> str:
        return "buffer" if work[k] else "ints" if arrays[k].dtype == np.int64 else "floats"

    for k, array in enumerate(arrays):
        header[k, 0] = sizes[kind(k)]
        header[k, 1 : 1 + array.ndim] = array.shape
        parts[kind(k)].append(array.ravel())
        sizes[kind(k)] += array.size
    ints = np.concatenate([header.ravel(), *parts["ints"]])
    return Packed(ints, np.concatenate(parts["floats"]), np.concatenate(parts["buffer"]))


@cache
def _fields(group: Any) -> tuple[tuple[bool, int], ...]:
    """Of each array of a NamedTuple class: whether it holds integers, and how many dimensions it has."""
    hints = get_type_hints(group, include_extras=True).values()
    return tuple((hint.__origin__ == Ints, hint.__metadata__[0]) for hint in hints)


def views_of(packed: Packed, kinds: Sequence[tuple[Any, bool]]) -> tuple[Any, ...]:
    """The groups of these classes as parts of the packed arrays; `kinds` as the groups of `pack`."""
    header = packed.ints[: 4 * sum(len(kind._fields) for kind, _written in kinds)].reshape(-1, 4).tolist()
    rows = iter(header)

    def view(written: bool, integers: bool, dimensions: int) -> np.ndarray:
        first, *shape = next(rows)
        source = packed.buffer if written else packed.ints if integers else packed.floats
        shape = shape[:dimensions]
        return source[first : first + math.prod(shape)].reshape(shape)

    return tuple(kind(*(view(written, *field) for field in _fields(kind))) for kind, written in kinds)


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


@cache
def unpacker(group: Any, first: int | None = None) -> Any:
    """The compiled function (ints, floats) → `group` as views, if its arrays are numbered from `first`.

    Without `first` the function takes it as a third argument: (ints, floats, first) → `group`.
    """
    names: dict[str, Any] = {"Group": group, "view1": view1, "view2": view2, "view3": view3}
    views = []
    for k, (integers, dimensions) in enumerate(_fields(group)):
        # not a Python int: numba would compile a view per number
        names[f"k{k}"] = np.int64(k if first is None else first + k)
        source = "ints" if integers else "floats"
        views.append(f"view{dimensions}(ints, {source}, {f'k{k}' if first is not None else f'first + k{k}'})")
    # A name of its own: two functions of one name, one compiled and one from the cache, could be taken for each other.
    name = f"unpack_{group.__module__.replace('.', '_')}_{group.__name__.lower()}{'' if first is not None else '_at'}"
    arguments = "ints, floats" if first is not None else "ints, floats, first"
    exec(f"def {name}({arguments}):\n    return Group({', '.join(views)})\n", names)
    return managed(names[name])
