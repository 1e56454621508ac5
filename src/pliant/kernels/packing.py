"""How a robot travels to the kernels: all its tables in three flat arrays, and views of them inside.

Some sixty arrays would cost several microseconds per call from Python. A header says where each one starts and what
shape it has; `unpacker` writes, for a NamedTuple of arrays, the function that makes the views.
"""

from collections.abc import Iterable
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


def pack(groups: Iterable[Any]) -> tuple[Packed, tuple[Any, ...]]:
    """Copy all arrays of the groups (the last of which is the workspace) into three; also the groups as views of them."""
    groups = list(groups)
    arrays = [array for group in groups for array in group]
    work = len(arrays) - len(groups[-1])
    header = np.zeros((len(arrays), 4), dtype=np.int64)
    parts: dict[str, list[np.ndarray]] = {"ints": [], "floats": [np.zeros(1)], "buffer": [np.zeros(1)]}
    sizes = {"ints": header.size, "floats": 1, "buffer": 1}

    def kind(k: int) -> str:
        return "buffer" if k >= work else "ints" if arrays[k].dtype == np.int64 else "floats"

    for k, array in enumerate(arrays):
        header[k, 0] = sizes[kind(k)]
        header[k, 1 : 1 + array.ndim] = array.shape
        parts[kind(k)].append(array.ravel())
        sizes[kind(k)] += array.size
    ints = np.concatenate([header.ravel(), *parts["ints"]])
    packed = Packed(ints, np.concatenate(parts["floats"]), np.concatenate(parts["buffer"]))
    views = iter(
        getattr(packed, kind(k))[header[k, 0] : header[k, 0] + array.size].reshape(array.shape)
        for k, array in enumerate(arrays)
    )
    return packed, tuple(type(group)(*(next(views) for _ in group)) for group in groups)


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


def unpacker(group: Any, first: int) -> Any:
    """The compiled function (ints, floats) → `group` as views, if its arrays are numbered from `first`."""
    names: dict[str, Any] = {"Group": group, "view1": view1, "view2": view2, "view3": view3}
    views = []
    for k, hint in enumerate(get_type_hints(group, include_extras=True).values()):
        names[f"k{k}"] = np.int64(first + k)  # not a Python int: numba would compile the views once per number
        source = "ints" if hint.__origin__ == Ints else "floats"
        views.append(f"view{hint.__metadata__[0]}(ints, {source}, k{k})")
    # A name of its own: two functions of one name, one compiled and one from the cache, could be taken for each other.
    name = f"unpack_{group.__name__.lower()}"
    exec(f"def {name}(ints, floats):\n    return Group({', '.join(views)})\n", names)
    return managed(names[name])
