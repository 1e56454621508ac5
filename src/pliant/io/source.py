"""Text of a model file → values that know where they stand, so that errors can say file, line, column and path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any

from ..model.reading import NOWHERE, Folder, read_file
from ..model.validate import listed, near, one_line, shown

__all__ = [
    "FAILED",
    "Document",
    "ModelFileError",
    "Place",
    "Problem",
    "check_tree",
    "decoded",
    "is_json",
    "load_text",
    "parse",
    "suggestion",
]

FAILED: Any = object()
"""What reading gives where the file is wrong; the error has been noted."""

_LARGEST = 200_000  # values in a file, with everything that aliases repeat
_LONGEST = 10_000_000  # characters
_DEEPEST = 40  # levels; a description has less than ten
_TOLD = 50  # problems of a file
_BRACKETS = 200  # open ones, also in comments and text; the parser takes a time that grows with their square


@dataclass(frozen=True)
class Problem:
    """One error in a model file.

    Attributes
    ----------
    path : str
        Where in the description, for instance ``"links.arm.strains.bending"``.
    message : str
    line, column : int or None
        Where in the text, counted from 1.
    """

    path: str
    message: str
    line: int | None = None
    column: int | None = None

    def show(self, name: str) -> str:
        """One line, beginning as compilers do."""
        where = f"{name}:{self.line}:{self.column}: " if self.line is not None else f"{name}: "
        return one_line(f"{where}{self.path}: {self.message}" if self.path else f"{where}{self.message}")


class ModelFileError(ValueError):
    """What is wrong with a model file: everything, or the first fifty.

    Attributes
    ----------
    name : str
        Name of the file.
    problems : tuple of Problem
    more : int
        How many more problems were found; there may be others that these hide.
    """

    def __init__(self, name: str, problems: Iterable[Problem], more: int = 0) -> None:
        self.name, self.more = name, more
        self.problems = tuple(sorted(problems, key=lambda p: (p.line or 0, p.column or 0)))
        count = len(self.problems)
        rest = f", and {more} more" if more else "; what comes after them was not looked at"
        which = f"{count} problems in {name}" if count < _TOLD else f"the first {count} problems in {name}{rest}"
        head = "" if count == 1 else f"{one_line(which)}:\n"
        super().__init__(head + "\n".join(problem.show(name) for problem in self.problems))

    def __reduce__(self) -> tuple[Any, ...]:
        """For copies, also in other processes."""
        return type(self), (self.name, self.problems, self.more)


@dataclass
class Document:
    """A model file that is being read: its name, the problems found so far, its materials, which parts of sections may name, and the files that it may name."""

    name: str
    problems: list[Problem] = field(default_factory=list)
    more: int = 0  # problems that were found when there were enough
    materials: Place | None = None
    allow_code: bool = False  # whether import paths of Python functions are followed
    files: Folder = NOWHERE

    @property
    def full(self) -> bool:
        """Whether there are as many problems as are told."""
        return len(self.problems) >= _TOLD

    def note(self, problem: Problem) -> None:
        """Keep a problem, or count it."""
        if self.full:
            self.more += 1
        else:
            self.problems.append(problem)

    def check(self) -> None:
        """Raise everything that was found."""
        if self.problems:
            raise ModelFileError(self.name, self.problems, self.more)


@dataclass(frozen=True)
class Place:
    """A value in a file, with its path and position."""

    value: Any
    document: Document
    path: tuple[str, ...] = ()
    line: int | None = None
    column: int | None = None
    key_position: tuple[int | None, int | None] = (None, None)

    def fail(self, message: str, *, at_key: bool = False) -> Any:
        """Note a problem here (or at the key of this value) and return `FAILED`."""
        line, column = self.key_position if at_key and self.key_position[0] is not None else (self.line, self.column)
        self.document.note(Problem(".".join(self.path), message, line, column))
        return FAILED

    def suggestion(self, name: str, known: Iterable[str], aliases: Mapping[str, str] | None = None) -> str:
        """ "did you mean …?" or a list of what is known; nothing if there are problems enough, since it takes its time."""
        return "" if self.document.full else suggestion(name, known, aliases)

    @property
    def is_mapping(self) -> bool:
        """Whether the value is a mapping."""
        return isinstance(self.value, Mapping)

    @property
    def is_list(self) -> bool:
        """Whether the value is a list."""
        return isinstance(self.value, (list, tuple))

    def child(self, key: Any) -> Place:
        """The value of a key."""
        marks = getattr(self.value, "lc", None)
        line, column, at = self.line, self.column, (self.line, self.column)
        try:
            assert marks is not None
            line, column = (n + 1 for n in marks.value(key))
            at = tuple(n + 1 for n in marks.key(key))
        except (AssertionError, KeyError, TypeError, AttributeError):
            pass  # no positions: made by a program, or taken over from another mapping
        return Place(_plain(self.value[key]), self.document, (*self.path, str(key)), line, column, at)

    def children(self) -> Iterator[tuple[Any, Place]]:
        """Keys and values of a mapping."""
        for key in self.value:
            yield key, self.child(key)

    def entries(self) -> list[Place]:
        """The values of a list."""
        marks = getattr(self.value, "lc", None)
        out = []
        for k, entry in enumerate(self.value):
            line, column = self.line, self.column
            try:
                assert marks is not None
                line, column = (n + 1 for n in marks.item(k))
            except (AssertionError, KeyError, TypeError, AttributeError):
                pass
            path = (*self.path[:-1], f"{self.path[-1]}[{k}]") if self.path else (f"[{k}]",)
            out.append(Place(_plain(entry), self.document, path, line, column, (line, column)))
        return out

    def blame(self, message: str) -> None:
        """Note a problem at the key that a message of the builder speaks of; here if it speaks of none."""
        best: tuple[int, Place] | None = None
        for key, child in self.children() if self.is_mapping else ():
            pattern = rf"\b{re.escape(str(key))}(?:\[[^\]]*\]|\([^)]*\))?(?: = | has | must | is | needs |:)"
            found = re.search(pattern, message)
            if found and (best is None or found.start() < best[0]):
                best = found.start(), child
        (self if best is None else best[1]).fail(message)


def _plain(value: Any) -> Any:
    """The value; of an anchored true or false, which the parser gives as a whole number, a bool."""
    return bool(value) if type(value).__name__ == "ScalarBoolean" else value


def suggestion(name: str, known: Iterable[str], aliases: Mapping[str, str] | None = None) -> str:
    """ "did you mean …?" or a list of what is known."""
    options = list(known)
    if aliases and aliases.get(name) in options:
        return f"did you mean {aliases[name]!r}?"
    folded = [k for k in options if k.lower() == name.lower()]
    close = folded[:2] or near(name, options, count=2, cutoff=0.6)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else f"allowed: {listed(options)}."


def parse(text: str, name: str, *, is_json: bool = False) -> Place:
    """Read YAML or JSON.

    Parameters
    ----------
    text : str
    name : str
        Of the file, for messages.
    is_json : bool
        Whether it must be JSON.

    Returns
    -------
    Place
        The whole file.

    Raises
    ------
    ModelFileError
        If the text is neither.
    """
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError
    except ImportError:
        raise ImportError("model files need ruamel.yaml: pip install 'pliant[io]'.") from None
    _check_length(text, name)
    if is_json:
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            raise ModelFileError(
                name, [Problem("", f"not valid JSON: {error.msg}.", error.lineno, error.colno)]
            ) from None
        except (RecursionError, ValueError) as error:  # nested too deeply; a number of thousands of digits
            raise ModelFileError(name, [Problem("", f"not valid JSON: {error}.")]) from None
        text = text.replace("\t", " ")  # JSON is YAML but for tabs
    try:
        data = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        hint = " Check how far this line and the ones around it are indented." if "block" in what else ""
        at = (None, None) if mark is None else (mark.line + 1, mark.column + 1)
        raise ModelFileError(name, [Problem("", f"not valid YAML: {what}.{hint}", *at)]) from None
    except RecursionError:
        raise ModelFileError(name, [Problem("", "not valid YAML: it is nested too deeply.")]) from None
    except Exception as error:  # the parser raises whatever its parts raise
        what = "does an anchor (&) refer to itself, or is a tag (!) or number malformed"
        what = str(error) if isinstance(error, YAMLError) else f"{what}? ({type(error).__name__}: {error})"
        raise ModelFileError(name, [Problem("", f"not valid YAML: {what.strip()}.")]) from None
    if data is None:
        raise ModelFileError(name, [Problem("", "it is empty: a model needs at least the section links.")])
    place = Place(data, Document(name), (), 1, 1)
    check_tree(place)
    return place


def load_text(path: str | PathLike[str]) -> tuple[str, str, bool]:
    """Text of a file, its name and whether it is JSON, by its ending."""
    if not isinstance(path, (str, PathLike)):
        raise TypeError(
            f"path = {shown(path)} must be the path of a model file. What is not in a file is read by parse_model: text, or a dictionary."
        )
    name = fspath(path)
    try:
        content = read_file(name, most=_LONGEST, what="model file")
    except (OSError, ValueError) as error:
        hint = "A text is read by parse_model." if "\n" in name else "Give the path of a .yaml or .json file."
        raise type(error)(f"{error} {hint}") from None
    return decoded(content, name), name, name.lower().endswith(".json")


def decoded(content: bytes, name: str) -> str:
    """The text of a file in UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = f"byte {error.start} is {content[error.start]:#04x}"
        raise ModelFileError(name, [Problem("", f"not a text file (UTF-8 is needed; {at}).")]) from None


def is_json(text: str) -> bool:
    """Whether a text is JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


# ---------------------------------------------------------------- what any file must obey


def _check_length(text: str, name: str) -> None:
    """Refuse what is too long before it is parsed, which takes a tenth of a millisecond for each value."""
    values = sum(map(text.count, (",", "\n", ": ")))
    if len(text) > _LONGEST or values > _LARGEST:
        size = f"{len(text)} characters" if len(text) > _LONGEST else f"about {values} values"
        raise ModelFileError(
            name, [Problem("", f"it has {size}; at most {_LONGEST} characters and {_LARGEST} values are allowed.")]
        )
    depth = 0
    for bracket in re.finditer(r"[\[\]{}]", text):
        depth += 1 if bracket.group() in "[{" else -1
        if depth > _BRACKETS:
            line = text.count("\n", 0, bracket.start()) + 1
            raise ModelFileError(
                name, [Problem("", f"more than {_BRACKETS} brackets are open; it is nested too deeply.", line, 1)]
            )


def check_tree(place: Place) -> None:
    """Refuse what aliases blow up, what is nested deeper than any description, and keys that are not text.

    Raises
    ------
    ModelFileError
        With the first that is found.
    """
    count, stack = 0, [(place.value, place.path)]
    while stack:
        value, path = stack.pop()
        count += 1
        why = ""
        if count > _LARGEST:
            why = f"it has more than {_LARGEST} values (with everything that aliases repeat)."
        elif len(path) > _DEEPEST:
            why = f"it is nested deeper than {_DEEPEST} levels."
        if why:
            raise ModelFileError(place.document.name, [Problem(".".join(path[:6]), why)])
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str):
                    _refuse_key(place.document.name, value, path, key)
            stack.extend((entry, (*path, str(key))) for key, entry in value.items())
        elif isinstance(value, (list, tuple)):
            stack.extend((entry, (*path, f"[{k}]")) for k, entry in enumerate(value))


def _refuse_key(name: str, mapping: Any, path: tuple[str, ...], key: Any) -> None:
    line: int | None = None
    column: int | None = None
    with suppress(AttributeError, KeyError, TypeError):
        line, column = (n + 1 for n in mapping.lc.key(key))
    word = {"True": "true", "False": "false", "None": "null"}.get(str(key), shown(key))
    message = f"the key {word} is not text; if it is a name, write it in quotes."
    raise ModelFileError(name, [Problem(".".join(path), message, line, column)])
