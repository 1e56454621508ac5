"""The one way in which pliant opens files that strangers may have written: regular files of bounded size, and where a file names another one, in its folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO, NamedTuple

from .validate import shown

__all__ = ["NOWHERE", "Folder", "XmlError", "check_xml", "open_regular", "package_of", "read_file"]

_ATTRIBUTES = 200_000
_DEEPEST = 500  # levels, as in MuJoCo

_FLAGS = (
    "O_BINARY",
    "O_CLOEXEC",
    "O_NOCTTY",
    "O_NONBLOCK",
)  # without waiting for a writer, should a pipe take its place
_KINDS = {
    stat.S_IFDIR: (IsADirectoryError, "a folder"),
    stat.S_IFIFO: (OSError, "a pipe"),
    stat.S_IFSOCK: (OSError, "a socket"),
    stat.S_IFCHR: (OSError, "a device"),
    stat.S_IFBLK: (OSError, "a device"),
}


def open_regular(path: str | os.PathLike[str], *, what: str = "file", follow: bool = True) -> BinaryIO:
    """A regular file for reading, without buffer: never a folder, a pipe or a device, which may not end.

    Parameters
    ----------
    path : path
    what : str
        What it should be, for messages: "mesh file".
    follow : bool
        Whether links are followed.

    Raises
    ------
    OSError
        If there is no such file, if it is of another kind, or if it cannot be read.
    """
    name = shown(str(path))
    try:
        _check_kind(os.stat(path).st_mode, name, what)  # before it is opened, which some devices notice
        flags = sum(getattr(os, flag, 0) for flag in (*_FLAGS, *(() if follow else ("O_NOFOLLOW",))))
        handle = os.open(path, os.O_RDONLY | flags)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no {what} {name}.") from None
    except OSError as error:
        if error.strerror is None:
            raise
        raise type(error)(f"{name} cannot be read as a {what}: {error.strerror}.") from None
    try:
        _check_kind(os.fstat(handle).st_mode, name, what)
        return open(handle, "rb", buffering=0)
    except BaseException:
        os.close(handle)
        raise


def read_file(path: str | os.PathLike[str], *, most: int, what: str) -> bytes:
    """The content of a regular file; links are followed.

    Parameters
    ----------
    path : path
    most : int
        Bytes that it may have; a larger one is not read.
    what : str
        What it should be, for messages: "mesh file".

    Raises
    ------
    OSError
        As of `open_regular`.
    ValueError
        If it is too large, or the path is none.
    """
    name = shown(str(path))
    with open_regular(path, what=what) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise ValueError(f"{name} has {size} bytes; at most {most} are read of a {what}.")
        pieces, left = [], most + 1
        while left > 0 and (piece := file.read(left)):
            pieces.append(piece)
            left -= len(piece)
    if left == 0:  # of a file that does not know its size, such as those of /proc
        raise ValueError(f"{name} has more than {most} bytes, which are at most read of a {what}.")
    return b"".join(pieces)


def _check_kind(mode: int, name: str, what: str) -> None:
    if not stat.S_ISREG(mode):
        error, kind = _KINDS.get(stat.S_IFMT(mode), (OSError, "no regular file"))
        raise error(f"{name} cannot be read as a {what}: it is {kind}.")


class XmlError(ValueError):
    """What is wrong with an XML file, and where: line and column from 1, or nothing."""

    def __init__(self, message: str, *at: int) -> None:
        super().__init__(message)
        self.at = at


def check_xml(data: bytes, root: str, *, elements: int) -> None:
    """Error unless it is complete XML with this root, neither entities nor a document type, and not too large or deep; parsers repair what is
    cut off, and open entities."""
    from xml.parsers import expat

    depth, count, values, first = 0, 0, 0, ""

    def refuse(*_declaration: object) -> None:
        raise XmlError(
            "it may have no document type and no entities; remove <!DOCTYPE …>.", parser.CurrentLineNumber, 1
        )

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count, values, first
        depth, first = depth + 1, first or tag
        count, values = count + 1, values + len(attributes)
        if depth > _DEEPEST:
            raise XmlError(f"it is nested deeper than {_DEEPEST} levels.", parser.CurrentLineNumber, 1)
        if count > elements or values > _ATTRIBUTES:
            most = f"{elements} elements" if count > elements else f"{_ATTRIBUTES} attributes"
            raise XmlError(f"it has more than {most}, which are at most read.")

    def end(_tag: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise XmlError(f"not complete XML: {what}. Was the file cut off?", error.lineno, error.offset + 1) from None
    except XmlError:
        raise
    except (LookupError, ValueError) as error:  # an encoding that Python does not know
        raise XmlError(f"not XML that can be read: {error}.") from None
    if first.rpartition("}")[2] != root:
        raise XmlError(f"its root is <{shown(first)[1:-1]}>, but <{root}> is needed.")


class Folder(NamedTuple):
    """The files that a file may name.

    Attributes
    ----------
    home : Path or None
        The folder from which relative names count; None if it may name no file.
    top : Path or None
        The folder in and below which they must lie; `home` if None.
    hint : str
        What to do about others.
    """

    home: Path | None
    top: Path | None = None
    hint: str = (
        " If you trust the file that names it, give the highest folder that it may read from: folder=..., or --folder."
    )

    def find(self, name: str) -> Path:
        """The path of a named file.

        Raises
        ------
        ValueError
            If it is outside of the folder, also by a link, or no path of this machine.
        """
        if self.home is None:
            raise ValueError(
                f"the file {shown(name)} is not read: a text has no folder. Give the folder from which it may read files: "
                "parse_model(..., folder=...); or load it from a file."
            )
        if "://" in name or "\0" in name or name.startswith(("\\\\", "//")):
            raise ValueError(f"the file {shown(name)} is not read: only paths in the own folder are, no addresses.")
        home = Path(os.path.realpath(self.home))
        top = home if self.top is None else Path(os.path.realpath(self.top))
        given = Path(os.path.abspath(self.home if self.top is None else self.top))
        path = Path(os.path.normpath(home / name))
        if path.is_relative_to(given):  # an absolute name, as the user writes the folder
            path = top / path.relative_to(given)
        if not path.is_relative_to(top):  # looked at before the disk is, or a network that a name leads to
            raise ValueError(self._outside(name, top, "lies"))
        if not Path(os.path.realpath(path)).is_relative_to(top):
            raise ValueError(self._outside(name, top, "leads by a link"))
        return path

    def _outside(self, name: str, top: Path, how: str) -> str:
        return f"the file {shown(name)} is not read: it {how} outside of the folder {shown(str(top))}.{self.hint}"


NOWHERE = Folder(None)
"""Of a text: it may name no file."""


def package_of(path: Path) -> Path:
    """The folder that a file of a ROS package may read from: the nearest one above it with a ``package.xml``, or its own."""
    home = Path(os.path.abspath(path)).parent
    return next((above for above in (home, *home.parents) if (above / "package.xml").is_file()), home)
