"""What is read of an HDF5 file, whoever wrote it: arrays that lie in the file itself, of plain numbers or text, packed in ways that HDF5 brings along.

Links to other files and places, arrays whose numbers lie in other files or are put together from such, filters that would be loaded as plugins,
references, types that somebody defined, and sizes that the file cannot hold are refused by name, before a number is read.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["check_array", "member"]

_FILTERS = {1: "deflate", 2: "shuffle", 3: "fletcher32"}
_EXPANSION = 1100  # how much deflate packs zeros, at most
_LITTLE = 1 << 16


def member(group: Any, name: str) -> Any:
    """What a group has under a name; `ValueError` for a link that leads elsewhere."""
    h5py = import_module("h5py")
    link = group.get(name, getlink=True)
    if not isinstance(link, h5py.HardLink):
        kind = {"SoftLink": "another place", "ExternalLink": "another file"}.get(type(link).__name__, "something else")
        raise ValueError(f"{name!r} is a link to {kind}, which is not followed")
    return group[name]


def check_array(item: Any, *, text: bool = False, references: bool = False) -> Any:
    """The array itself if it is one that is read; `ValueError` that says why not.

    Parameters
    ----------
    item : object of h5py
    text : bool
        Whether a single text is read, instead of numbers.
    references : bool
        Whether references to objects of the same file are read, too, and numbers with a real and an imaginary part.
    """
    h5py = import_module("h5py")
    name = item.name
    if not isinstance(item, h5py.Dataset):
        raise ValueError(f"{name!r} is no array")
    options = item.id.get_create_plist()
    if options.get_external_count():
        raise ValueError(f"{name!r} has its numbers in another file, which is not read")
    if options.get_layout() == h5py.h5d.VIRTUAL:
        raise ValueError(f"{name!r} is put together from other arrays, which is not read")
    for k in range(options.get_nfilters()):
        code, _flags, _values, said = options.get_filter(k)
        if code not in _FILTERS:
            shown = said.decode("ascii", "replace") if isinstance(said, bytes) else said
            raise ValueError(
                f"{name!r} is packed by filter {code} ({shown!r}); {', '.join(_FILTERS.values())} are read"
            )
    kind = item.id.get_type()
    if text:
        if item.shape != () or h5py.check_string_dtype(item.dtype) is None:
            raise ValueError(f"{name!r} is no text")
        return item
    plain = item.dtype.kind in "fiub" and h5py.check_enum_dtype(item.dtype) is None
    linked = references and (h5py.check_ref_dtype(item.dtype) is h5py.Reference or item.dtype.kind == "c")
    if not plain and not linked:
        raise ValueError(f"{name!r} has the type {item.dtype} ({type(kind).__name__}); only numbers are read")
    if item.dtype.itemsize > 16 or item.ndim > 32 or item.nbytes > _EXPANSION * item.id.get_storage_size() + _LITTLE:
        raise ValueError(f"{name!r} has the shape {item.shape}, for which the file has no numbers")
    return item
