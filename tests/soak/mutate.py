"""Mutations of model files: plain functions of a random generator, so that a seed and a number name a mutant for good.

    for seed in range(1000):
        what, text = mutant(original, seed)

A mutant of bytes may be invalid UTF-8. `outcome` says what loading it did: nothing else than ``"loaded"`` and
``"refused"`` is allowed.
"""

from __future__ import annotations

import base64
import json
import re
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["MUTATIONS", "mutant", "outcome"]

ODD = (
    "true", "false", "null", "~", "[]", "{}", "''", '""', "-1", "0", "1", "-0.0", "1e300", "-1e300", "1e-300", "1e999", ".nan", ".inf",
    "nan", "inf", "NaN", "0x1F", "0o17", "1_000", "12:30:45", "2001-01-01", "'1'", "'0.1'", "X", "t", "X/0", "1/0", "sin(X)", "pi",
    "__import__('os')", "9" * 400, "10000000", "1000000000", "world", "arm", "arm.tip", "arm@0.5", "arm@nan", "arm@2", "@", ".", "tip",
    "[1, 2]", "[[1]]", "[1, [2]]", "{a: 1}", "{type: Circle}", "{<<: 1}", "*a", "&a 1", "!!python/object:os.system x", "!!binary aGk=",
    "!!set {a}", "? a", "- 1", "|", ">", "'", '"', "%", "`", "\t", "\u2028", "\ufeff", "é", "😀", "a" * 5000, "-", "--- 1", "...", "<<",
)  # fmt: skip
"""Values that do not belong where they are put."""

Rng = np.random.Generator


def _position(text: bytes, rng: Rng) -> int:
    return int(rng.integers(0, max(len(text), 1)))


def truncate(text: bytes, rng: Rng) -> bytes:
    """Cut the end off."""
    return text[: _position(text, rng)]


def behead(text: bytes, rng: Rng) -> bytes:
    """Cut the beginning off."""
    return text[_position(text, rng) :]


def flip(text: bytes, rng: Rng) -> bytes:
    """Change a few bytes to any others."""
    out = bytearray(text)
    for _ in range(int(rng.integers(1, 4))):
        out[_position(text, rng)] = int(rng.integers(0, 256))
    return bytes(out)


def retype(text: bytes, rng: Rng) -> bytes:
    """Change a few bytes to characters that mean something."""
    out = bytearray(text)
    marks = b"{}[]:,-#&*!|>'\"%@`?.0123456789eE+/<= \n\t"
    for _ in range(int(rng.integers(1, 4))):
        out[_position(text, rng)] = marks[int(rng.integers(0, len(marks)))]
    return bytes(out)


def insert(text: bytes, rng: Rng) -> bytes:
    """Put a few random bytes somewhere."""
    k = _position(text, rng)
    return text[:k] + rng.integers(0, 256, int(rng.integers(1, 6)), dtype=np.uint8).tobytes() + text[k:]


def _lines(change: Callable[[list[bytes], Rng], None]) -> Callable[[bytes, Rng], bytes]:
    def apply(text: bytes, rng: Rng) -> bytes:
        lines = text.split(b"\n")
        change(lines, rng)
        return b"\n".join(lines)

    apply.__doc__ = change.__doc__
    return apply


def _delete_line(lines: list[bytes], rng: Rng) -> None:
    """Remove a line."""
    del lines[int(rng.integers(0, len(lines)))]


def _repeat_line(lines: list[bytes], rng: Rng) -> None:
    """Write a line twice."""
    k = int(rng.integers(0, len(lines)))
    lines.insert(k, lines[k])


def _swap_lines(lines: list[bytes], rng: Rng) -> None:
    """Exchange two lines."""
    i, k = rng.integers(0, len(lines), 2)
    lines[i], lines[k] = lines[k], lines[i]


def _indent_line(lines: list[bytes], rng: Rng) -> None:
    """Indent a line by more or less."""
    k = int(rng.integers(0, len(lines)))
    lines[k] = b" " * int(rng.integers(0, 9)) + lines[k].lstrip()


def _tokens(text: bytes) -> list[re.Match[bytes]]:
    return list(re.finditer(rb"[^\s:,\[\]{}<>\"'=#]+", text))


def swap_tokens(text: bytes, rng: Rng) -> bytes:
    """Exchange two words or numbers."""
    found = _tokens(text)
    if len(found) < 2:
        return text
    i, k = sorted(rng.choice(len(found), 2, replace=False).tolist())
    a, b = found[i], found[k]
    return text[: a.start()] + b.group() + text[a.end() : b.start()] + a.group() + text[b.end() :]


def odd_value(text: bytes, rng: Rng) -> bytes:
    """Replace a word or number by something odd."""
    found = _tokens(text)
    if not found:
        return text
    token = found[int(rng.integers(0, len(found)))]
    return text[: token.start()] + ODD[int(rng.integers(0, len(ODD)))].encode() + text[token.end() :]


def odd_number(text: bytes, rng: Rng) -> bytes:
    """Replace a number by another one."""
    found = list(re.finditer(rb"-?\d+(\.\d*)?(e-?\d+)?", text))
    if not found:
        return text
    token = found[int(rng.integers(0, len(found)))]
    numbers = (b"0", b"-1", b"1e300", b"1e-300", b"1000000000", b".nan", b".inf", b"'0.1'", b"true", b"0.5", b"3")
    return text[: token.start()] + numbers[int(rng.integers(0, len(numbers)))] + text[token.end() :]


def odd_json(text: bytes, rng: Rng) -> bytes:
    """Of JSON: replace a value anywhere in the tree by something odd, so that it stays JSON; others as `odd_value`."""
    try:
        tree = json.loads(text)
    except ValueError:
        return odd_value(text, rng)
    places: list[tuple[object, object]] = []

    def walk(value: object) -> None:
        entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, entry in entries:
            places.append((value, key))
            walk(entry)

    walk(tree)
    if not places:
        return text
    holder, key = places[int(rng.integers(0, len(places)))]
    odd = (
        None,
        True,
        False,
        -1,
        0,
        1,
        1e300,
        10**9,
        "",
        "1",
        "X",
        [],
        {},
        [1, 2],
        [[1], 2],
        {"a": 1},
        {"type": "Circle"},
        "world",
    )
    holder[key] = odd[int(rng.integers(0, len(odd)))]  # type: ignore[index]
    return json.dumps(tree).encode()


MUTATIONS: dict[str, Callable[[bytes, Rng], bytes]] = {
    "truncate": truncate,
    "behead": behead,
    "flip": flip,
    "retype": retype,
    "insert": insert,
    "delete line": _lines(_delete_line),
    "repeat line": _lines(_repeat_line),
    "swap lines": _lines(_swap_lines),
    "indent line": _lines(_indent_line),
    "swap tokens": swap_tokens,
    "odd value": odd_value,
    "odd number": odd_number,
    "odd json": odd_json,
}
"""All mutations by name."""


def mutant(text: bytes, seed: int) -> tuple[str, bytes]:
    """One to three mutations of a file, and their names; the same for the same seed."""
    rng = np.random.default_rng(seed)
    names = [list(MUTATIONS)[int(rng.integers(0, len(MUTATIONS)))] for _ in range(int(rng.choice([1, 1, 1, 2, 3])))]
    for name in names:
        if text:
            text = MUTATIONS[name](text, rng)
    return " + ".join(names), text


_BOX = [(x, y, z) for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)]
_FACES = [
    (0, 1, 3),
    (0, 3, 2),
    (4, 7, 5),
    (4, 6, 7),
    (0, 5, 1),
    (0, 4, 5),
    (2, 3, 7),
    (2, 7, 6),
    (0, 2, 6),
    (0, 6, 4),
    (1, 5, 7),
    (1, 7, 3),
]


def _meshes() -> dict[str, bytes]:
    """A box in files of several kinds."""
    points, faces = np.array(_BOX, "<f4"), np.array(_FACES, "<u4")
    corners = np.concatenate([np.zeros((12, 1, 3), "<f4"), points[faces]], axis=1).reshape(12, 12)
    records = np.zeros(12, [("numbers", "<f4", 12), ("colour", "<u2")])
    records["numbers"] = corners
    data = points.tobytes() + faces.tobytes()
    document = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [
            {"children": [1], "scale": [1, 1, 1]},
            {"mesh": 0, "rotation": [0, 0, 0, 1], "translation": [1, 0, 0]},
        ],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5125, "count": 36, "type": "SCALAR"},
        ],
        "bufferViews": [{"buffer": 0, "byteLength": 96}, {"buffer": 0, "byteOffset": 96, "byteLength": 144}],
        "buffers": [{"byteLength": 240, "uri": "data:;base64," + base64.b64encode(data).decode()}],
    }
    lines = [f"v {x} {y} {z}" for x, y, z in _BOX] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in _FACES]
    return {
        ".obj": "\n".join(lines).encode(),
        ".stl": bytes(80) + (12).to_bytes(4, "little") + records.tobytes(),
        ".gltf": json.dumps(document, indent=1).encode(),
    }


MESHES = _meshes()
"""Mesh files by their ending."""


_LOADERS: dict[str, Callable[[Path], Any]] = {
    ".urdf": lambda path: import_module("pliant").load_urdf(path),
    ".xml": lambda path: import_module("pliant").load_mjcf(path),
    ".yaml": lambda path: import_module("pliant").load_model(path).robot,
    ".json": lambda path: import_module("pliant").load_model(path).robot,
}


def _mesh_outcome(path: Path) -> str:
    """Of a mesh, that is drawn and that has a shape; refused by an error that names the file."""
    import pliant as pl

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            pl.Visual(file=str(path))
            pl.Mesh.from_file(path)
        except (OSError, ValueError) as error:
            told = str(error)
            return "refused" if told.isprintable() and len(told) > 20 else f"vague: {told!r}"
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return f"{type(error).__name__}: {str(error)[:300]}"
    return "loaded"


def outcome(text: bytes, directory: Path, suffix: str = ".yaml") -> str:
    """Write a mutant to a file and load it: "loaded", "refused", or what went wrong.

    Refusals are a `ModelFileError` with at least one problem, each a full message. Anything else that is raised, and a
    NumPy warning of overflow or invalid numbers, is wrong. A robot that is loaded must be written and read again.
    """
    import pliant as pl

    path = directory / f"mutant{suffix}"
    path.write_bytes(text)
    if suffix in MESHES:
        return _mesh_outcome(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            robot = _LOADERS[suffix](path)
            again = pl.parse_model(pl.io.dump_model(robot)).robot
        except pl.ModelFileError as error:
            vague = [problem.message for problem in error.problems if len(problem.message) < 10]
            return "refused" if error.problems and not vague else f"vague: {error}"
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return f"{type(error).__name__}: {str(error)[:300]}"
    return "loaded" if again.nv == robot.nv else f"written and read, it has {again.nv} instead of {robot.nv} dof"
