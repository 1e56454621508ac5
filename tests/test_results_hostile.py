"""Result files and MATLAB files that a stranger wrote, with checksums that fit: numbers of the file itself, or a refusal by name."""

from __future__ import annotations

import json
import os
import random
import struct
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant as pl
from pliant._seals import seal
from pliant.io.matlab import read_mat

h5py = pytest.importorskip("h5py")


@pytest.fixture(scope="module")
def system() -> pl.System:
    robot = pl.Robot("pendulum")
    robot.add_body("bob", joint=pl.Revolute("y"), mass=1.0, com=(0, 0, -1.0))
    return robot.compile()


@pytest.fixture
def path(system, tmp_path) -> Path:
    pl.simulate(system, 0.1, step=0.01).save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["q"] = np.full((11, 1), 7.0)
    np.full((11, 1), 7.0).tofile(tmp_path / "secret.bin")
    return tmp_path / "run.h5"


def resealed(path: Path, old: bool) -> None:
    """The checksum that belongs to what is there now; or a file of the first format, which has none."""
    content = path.read_bytes()
    if old:
        path.write_bytes(content[512:])
        with h5py.File(path, "r+") as file:
            file.attrs["pliant_format"] = 1
        return
    path.write_bytes(seal("result", 2, content[512:]).ljust(512, b"\n") + content[512:])


def virtual(file: Any, folder: Path) -> None:
    layout = h5py.VirtualLayout((11, 1), dtype=float)
    layout[:] = h5py.VirtualSource(folder / "secret.h5", "q", (11, 1), dtype=float)
    file.create_virtual_dataset("q", layout)


def plugin(file: Any, _folder: Path) -> None:
    options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    options.set_chunk((11, 1))
    options.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, (1,))
    space = h5py.h5s.create_simple((11, 1))
    h5py.h5d.create(file.id, b"q", h5py.h5t.NATIVE_DOUBLE, space, dcpl=options)


def huge(file: Any, _folder: Path) -> None:
    file.create_dataset("q", shape=(10**12, 1), dtype="f8", chunks=(10**6, 1), compression="gzip", fillvalue=1.0)


STRANGE = {
    "external link": (lambda file, _: file.__setitem__("q", h5py.ExternalLink("secret.h5", "q")), "link to another file"),
    "soft link": (lambda file, _: file.__setitem__("q", h5py.SoftLink("/v")), "link to another place"),
    "external storage": (
        lambda file, folder: file.create_dataset("q", (11, 1), "f8", external=str(folder / "secret.bin")), "numbers in another file",
    ),
    "virtual": (virtual, "put together from other arrays"),
    "plugin": (plugin, "packed by filter 32015"),
    "lzf": (lambda file, _: file.create_dataset("q", data=np.ones((11, 1)), compression="lzf"), "packed by filter 32000"),
    "references": (lambda file, _: file.create_dataset("q", (11, 1), dtype=h5py.ref_dtype), "only numbers"),
    "regions": (lambda file, _: file.create_dataset("q", (11, 1), dtype=h5py.regionref_dtype), "only numbers"),
    "lists": (lambda file, _: file.create_dataset("q", (11, 1), dtype=h5py.vlen_dtype(float)), "only numbers"),
    "text": (lambda file, _: file.create_dataset("q", data=["x"] * 11), "only numbers"),
    "opaque": (lambda file, _: file.create_dataset("q", data=np.zeros((11, 1), dtype="V8")), "only numbers"),
    "records": (lambda file, _: file.create_dataset("q", data=np.zeros((11, 1), dtype=[("a", "f8")])), "only numbers"),
    "codes": (lambda file, _: file.create_dataset("q", (11, 1), dtype=h5py.enum_dtype({"a": 1})), "only numbers"),
    "huge": (huge, "for which the file has no numbers"),
    "group": (lambda file, _: file.create_group("q"), "is no array"),
    "header of numbers": (lambda file, _: (file.__delitem__("header"), file.create_dataset("header", data=1.0)), "is no text"),
    "headers": (lambda file, _: (file.__delitem__("header"), file.create_dataset("header", data=["{}"] * 3)), "is no text"),
    "header that is a link": (
        lambda file, _: (file.__delitem__("header"), file.__setitem__("header", h5py.ExternalLink("secret.h5", "q"))), "link to another file",
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*older version")
@pytest.mark.parametrize("old", [False, True], ids=["sealed", "first format"])
@pytest.mark.parametrize("what", STRANGE)
def test_what_hdf5_could_be_told_to_do(system, path, what, old):
    change, words = STRANGE[what]
    with h5py.File(path, "r+") as file:
        if not what.startswith("header"):
            del file["q"]
        change(file, path.parent)
    resealed(path, old)
    start = time.perf_counter()
    with pytest.raises(ValueError, match=rf"run\.h5 cannot be read.*{words}"):
        pl.Result.load(path, system)
    assert time.perf_counter() - start < 5.0


def mutated(value: Any, rng: random.Random) -> Any:
    """Somewhere in a structure, another value."""
    if isinstance(value, (dict, list)) and value and rng.random() < 0.85:
        out = value.copy()
        key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        if rng.random() < 0.2:
            del out[key]
        else:
            out[key] = mutated(out[key], rng)
        return out
    return rng.choice([None, 0, -1, 1e400, "x", [], {}, [[]], True, "9" * 5000, {"a": {}}, [None], 10**30])


def test_headers_of_strangers(system, path):
    """300 headers with one thing changed, sealed again: loaded, or refused with a clear error."""
    content, rng, refused = path.read_bytes(), random.Random(0), 0
    with h5py.File(path) as file:
        header = json.loads(file["header"][()])
    for text in [json.dumps(mutated(header, rng)) for _ in range(300)] + [
        "",
        "[" * 10**5,
        "{",
        "null",
        "1" * 10**5,
        "\ud800",
    ]:
        path.write_bytes(content)
        with h5py.File(path, "r+") as file:
            del file["header"]
            file.create_dataset("header", data=text.encode("utf-8", "surrogatepass"))
        resealed(path, old=False)
        try:
            str(pl.Result.load(path, system))
        except ValueError as error:
            assert "run.h5" in str(error)  # noqa: PT017
            refused += 1
    assert refused > 100


@pytest.mark.skipif(os.name != "posix", reason="pipes")
def test_what_is_no_file(system, tmp_path):
    os.mkfifo(tmp_path / "pipe.h5")
    os.mkfifo(tmp_path / "pipe.mat")
    (tmp_path / "zero.h5").symlink_to("/dev/zero")
    for name, kind in (("pipe.h5", "a pipe"), ("zero.h5", "a device")):
        with pytest.raises(OSError, match=f"cannot be read as a file: it is {kind}"):
            pl.Result.load(tmp_path / name, system)
    with pytest.raises(OSError, match="cannot be read as a MATLAB file: it is a pipe"):
        read_mat(tmp_path / "pipe.mat")


# ---------------------------------------------------------------- MATLAB


def test_matlab_files_of_strangers(tmp_path):
    path = tmp_path / "seven.mat"
    np.full((3, 1), 7.0).tofile(tmp_path / "secret.bin")
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["q"] = np.full((11, 1), 7.0)

    def refused(words: str, change) -> None:
        with h5py.File(path, "w") as file:
            change(file)
        with pytest.raises(ValueError, match=rf"seven\.mat.* cannot be read as a MATLAB file: .*{words}"):
            read_mat(path)

    def ring(file) -> None:
        cell = file.create_dataset("x", (1, 1), dtype=h5py.ref_dtype)
        cell[0, 0] = cell.ref
        cell.attrs["MATLAB_class"] = np.bytes_("cell")

    for what in ("external link", "soft link", "external storage", "virtual", "plugin", "lists", "records", "huge"):
        change, words = STRANGE[what]
        words = "more than 200000000 bytes" if what == "huge" else words
        refused(words, lambda file, change=change: change(file, tmp_path))
    refused("nested deeper", ring)
    refused("", lambda file: file.create_dataset("x", data=1.0).attrs.__setitem__("MATLAB_class", 5))


def test_a_small_matlab_file_that_unpacks_to_much(tmp_path):
    pack = zlib.compressobj(9)
    packed = pack.compress(struct.pack("<II", 14, 3 * 10**8))
    for _ in range(300):
        packed += pack.compress(bytes(10**6))
    packed += pack.flush()
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    (tmp_path / "bomb.mat").write_bytes(head + struct.pack("<II", 15, len(packed)) + packed)
    assert (tmp_path / "bomb.mat").stat().st_size < 10**6
    with pytest.raises(ValueError, match="unpacks to more than 200000000 bytes"):
        read_mat(tmp_path / "bomb.mat")
