"""Stored batches: damage, strangers, kills, several writers. A store that opens holds the numbers that were written; any other is refused with a clear error."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import shutil
import signal
import sys
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant._locks import Lock, LockedError
from pliant._seals import seal
from pliant.many import zarr_store
from pliant.many.contents import Contents, array_name_trouble
from pliant.many.stored import FORMAT, KIND

h5py = pytest.importorskip("h5py")
NAMES = ["found.h5", "found.zarr"]
forked = pytest.mark.skipif(sys.platform != "linux", reason="processes that begin as copies of this one")


@pytest.fixture(scope="module")
def system() -> pl.System:
    robot = pl.Robot("pendulum")
    robot.add_body("bob", joint=pl.Revolute("y"), mass=1.0, com=(0, 0, -1.0))
    return robot.compile()


def poses(system: pl.System, path: Path | None, count: int = 50, first: float = 0.0, **options) -> pl.BatchResult:
    q = first + np.linspace(0, 1, count)[:, None]
    if count > 3:
        q[3] = np.nan
    return pl.batch(system, to=path, **options).poses("bob", q)


def numbers(found: pl.BatchResult) -> list[object]:
    """Everything that a result says."""
    arrays = {name: np.asarray(found[name]).tobytes() for name in found.fields}
    given = {name: (dims, values.tobytes()) for name, (dims, values) in found.given.items()}
    return [arrays, given, found.codes.tobytes(), found.messages, found.about, found.names, found.origin]


def files_of(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())


def copied(source: Path, target: Path) -> None:
    shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
    (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)


# ---------------------------------------------------------------- what is read


@pytest.mark.parametrize("name", NAMES)
def test_parts_are_indexed_as_arrays_are(system, tmp_path, name):
    path = tmp_path / name
    expected = poses(system, None)["pose"]
    stored = poses(system, path, threads=3)["pose"]
    assert stored._entry.blocks > 5
    rng = np.random.default_rng(0)
    mask = rng.random(50) < 0.3
    indices = [
        0, -1, np.int64(7), slice(None), slice(3, 40, 7), slice(40, 3, -7), slice(None, None, -1), slice(5, 5), [3, 3, 49], [-1, 0],
        mask, np.zeros(50, dtype=bool), [], Ellipsis, (), (slice(2, 9), 0), (4, slice(1, 3), 2), ([1, 20], [0, 1], 2), (Ellipsis, 1),
        (slice(None), slice(None), -1), None, np.array([[1, 2], [30, 4]]), slice(-3, None), (slice(5, 5), 1), ([], 0),
    ]  # fmt: skip
    for index in indices:
        got, want = stored[index], expected[index]
        assert np.shape(got) == np.shape(want), index
        np.testing.assert_array_equal(got, want, err_msg=str(index))
    for index in (50, -51, (0, 4), [50], "x", 1.0, np.zeros(49, dtype=bool)):
        with pytest.raises((IndexError, TypeError)):
            stored[index]
        with pytest.raises((IndexError, TypeError)):
            expected[index]


@pytest.mark.parametrize("name", NAMES)
def test_other_programs_read_stores(system, tmp_path, name):
    """h5py, and xarray with zarr, find the numbers by name, with dimensions and units."""
    path = tmp_path / name
    q, v = np.linspace(0, 1, 9)[:, None], np.ones((9, 1))
    expected = pl.batch(system).twists("bob", q, v)
    pl.batch(system, to=path).twists("bob", q, v)
    if name.endswith("h5"):
        with h5py.File(path) as file:
            np.testing.assert_array_equal(file["pose"][:], expected["pose"])
            assert file["twist"].attrs["units"] == "rad/s, m/s"
            assert json.loads(file["header"][()])["about"]["pliant"] == pl.__version__
        return
    pytest.importorskip("zarr")
    data = pytest.importorskip("xarray").open_zarr(path, consolidated=False)
    np.testing.assert_array_equal(data["pose"], expected["pose"])
    assert data["twist"].dims == ("item", "component")
    assert data["twist"].attrs["units"] == "rad/s, m/s"


@pytest.mark.parametrize("name", NAMES)
def test_arrays_without_numbers(system, tmp_path, name):
    found = pl.batch(system, to=tmp_path / name).rollouts(start=np.zeros((3, 1)), step=[0.1, 0.1], keep=("q", "u"))
    assert found["u"].shape == found["u"][:].shape == (3, 3, 0)
    again = pl.BatchResult.open(tmp_path / name)
    assert again["u"][1:].shape == (2, 3, 0)
    np.testing.assert_array_equal(again["q"][:], found["q"][:])
    assert again.origin == found.origin
    assert set(again.origin) == {"pliant", "robot"}


# ---------------------------------------------------------------- damage


@pytest.mark.parametrize("name", NAMES)
def test_damaged_bytes_are_noticed(system, tmp_path, name):
    """150 stores with three damaged bytes each: every one is refused with a clear error, or holds the same numbers."""
    path = tmp_path / name
    poses(system, path, count=200)
    expected = numbers(pl.BatchResult.open(path))
    rng, refused = np.random.default_rng(0), 0
    good = {file: file.read_bytes() for file in files_of(path)}
    files, sizes = list(good), np.array([len(content) for content in good.values()], dtype=float)
    for k in range(150):
        touched = set()
        for _ in range(3):  # by size, or every file as often as any
            target = files[rng.choice(len(files), p=sizes / sizes.sum() if k % 2 else None)]
            content = bytearray(target.read_bytes())
            content[int(rng.integers(len(content)))] ^= int(rng.integers(1, 256))
            target.write_bytes(content)
            touched.add(target)
        try:
            assert numbers(pl.BatchResult.open(path)) == expected
        except ValueError as error:
            assert name in str(error)  # noqa: PT017
            refused += 1
        for target in touched:
            target.write_bytes(good[target])
    assert numbers(pl.BatchResult.open(path)) == expected
    assert refused > 50


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_of_the_tables_counts(system, tmp_path, name):
    """Bytes between the arrays, and of metadata: one by one."""
    path = tmp_path / name
    poses(system, path, count=5)
    expected = numbers(pl.BatchResult.open(path))
    rng = np.random.default_rng(1)
    for target in files_of(path):
        content = target.read_bytes()
        for where in rng.choice(len(content), size=min(40, len(content)), replace=False).tolist():
            target.write_bytes(content[:where] + bytes([content[where] ^ 0x15]) + content[where + 1 :])
            try:
                assert numbers(pl.BatchResult.open(path)) == expected
                assert "/c/" in str(target), (target, where)  # the end of the last block, where no numbers are
            except ValueError as error:
                assert name in str(error)  # noqa: PT017
        for cut in {0, 1, len(content) // 2, len(content) - 1} - {len(content)}:
            target.write_bytes(content[:cut])
            with pytest.raises(ValueError, match=name):
                numbers(pl.BatchResult.open(path))
        target.unlink()
        with pytest.raises((ValueError, FileNotFoundError), match=name):
            numbers(pl.BatchResult.open(path))
        target.write_bytes(content)
    assert numbers(pl.BatchResult.open(path)) == expected


def test_blocks_of_another_place_or_store_are_refused(system, tmp_path):
    poses(system, tmp_path / "found.zarr", threads=3)
    poses(system, tmp_path / "other.zarr", threads=3, first=1.0)
    block = tmp_path / "found.zarr" / "pose" / "c" / "1" / "0" / "0"
    for source in (block.parents[2] / "2" / "0" / "0", tmp_path / "other.zarr" / "pose" / "c" / "1" / "0" / "0"):
        kept = block.read_bytes()
        block.write_bytes(source.read_bytes())
        found = pl.BatchResult.open(tmp_path / "found.zarr")
        assert found["pose"][0, 0, 0] == 1.0  # what is whole is read
        with pytest.raises(ValueError, match=r"found\.zarr.*damaged or were changed.*checksum"):
            found["pose"][:]
        block.write_bytes(kept)
    later = pl.BatchResult.open(tmp_path / "found.zarr")
    poses(system, tmp_path / "found.zarr", threads=3, first=2.0)
    with pytest.raises(ValueError, match="were changed after they were written"):
        later["pose"][:]  # of the store that was there


# ---------------------------------------------------------------- strangers


class Bomb:
    """Pickled, it leaves a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


def version2(folder: Path, content: bytes) -> None:
    """An array of objects as version 2 stores it, with the codec that unpickles."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".zarray").write_text(
        json.dumps(
            {
                "zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "compressor": None, "fill_value": None, "order": "C",
                "filters": [{"id": "pickle"}],
            }
        )
    )  # fmt: skip
    (folder / "0").write_bytes(content)


def test_a_stranger_runs_nothing(system, tmp_path):
    """Stores whose decoding would unpickle: version 2 by itself, in groups, with consolidated metadata, beside or instead of an array; packed."""
    mark = tmp_path / "mark"
    content = pickle.dumps(Bomb(mark))
    pickle.loads(content)
    assert mark.exists()  # it would
    mark.unlink()
    good = tmp_path / "good.zarr"
    poses(system, good, count=5)

    def fresh() -> Path:
        copied(good, tmp_path / "found.zarr")
        return tmp_path / "found.zarr"

    def refused(words: str, path: Path = tmp_path / "found.zarr") -> None:
        with pytest.raises(ValueError, match=words):
            numbers(pl.BatchResult.open(path))
        assert not mark.exists()

    attributes = json.loads((good / "zarr.json").read_text())["attributes"]
    path = fresh()
    shutil.rmtree(path)
    for name in ("q", "status", "deep/pose"):
        version2(path / name, content)
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    (path / ".zattrs").write_text(json.dumps(attributes))
    refused("Zarr version 2")
    (path / ".zmetadata").write_text(json.dumps({"zarr_consolidated_format": 1, "metadata": {}}))
    (path / ".zgroup").unlink()
    refused("Zarr version 2")
    (path / ".zmetadata").unlink()
    refused("zarr.json")

    path = fresh()
    shutil.rmtree(path / "pose")
    version2(path / "pose", content)
    refused("pose/zarr.json")

    for codecs in (
        [{"name": "numcodecs.pickle"}],
        [{"name": "vlen-utf8"}],
        [{"name": "sharding_indexed", "configuration": {"chunk_shape": [1], "codecs": [], "index_codecs": []}}],
        [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 0}}],
        [{"name": "bytes", "configuration": {"endian": "big"}}],
    ):
        path = fresh()
        metadata = json.loads((path / "pose" / "zarr.json").read_text())
        (path / "pose" / "zarr.json").write_text(json.dumps({**metadata, "codecs": codecs}))
        refused("pose/zarr.json is not what pliant writes: 'codecs' is .*only .*bytes.* is read")
    for key, value in {"data_type": "object", "fill_value": 1.0, "storage_transformers": [{"name": "x"}]}.items():
        path = fresh()
        metadata = json.loads((path / "pose" / "zarr.json").read_text())
        (path / "pose" / "zarr.json").write_text(json.dumps({**metadata, key: value}))
        refused(f"'{key}' is")

    path = fresh()
    root = json.loads((path / "zarr.json").read_text())
    consolidated = {"kind": "inline", "must_understand": False, "metadata": {}}
    (path / "zarr.json").write_text(json.dumps({**root, "consolidated_metadata": consolidated}, indent=2))
    refused("zarr.json is not what pliant writes")
    (path / "zarr.json").write_text("[" * 100_000)
    refused("RecursionError")

    with zipfile.ZipFile(tmp_path / "packed.zarr", "w") as file:
        for member in files_of(good):
            file.write(member, str(member.relative_to(good)))
    refused("packed stores are not read", tmp_path / "packed.zarr")


def resealed(path: Path, change) -> None:
    """A table of contents as a stranger writes it: changed, with checksums that fit."""
    text = pl_text(path)
    raw = json.loads(text)
    change(raw)
    new = json.dumps(raw, sort_keys=True).encode()
    if path.is_dir():
        attributes = {"pliant": (seal(KIND, FORMAT, new) + new).decode()}
        (path / "zarr.json").write_text(
            json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes}, indent=2)
        )
        return
    content = path.read_bytes()
    block = content.index(b"\x89HDF\r\n\x1a\n")
    new = new.ljust(block - len(seal(KIND, FORMAT, b"")), b"\n")
    path.write_bytes((seal(KIND, FORMAT, new) + new)[:block] + content[block:])


def pl_text(path: Path) -> str:
    if path.is_dir():
        return json.loads((path / "zarr.json").read_text())["attributes"]["pliant"].split("\n", 2)[2]
    content = path.read_bytes()
    return content[: content.index(b"\x89HDF\r\n\x1a\n")].decode().split("\n", 2)[2]


def _entry(raw: dict, name: str) -> dict:
    return next(one for one in raw["arrays"] if one["name"] == name)


TABLES = {
    "a path": (lambda raw: _entry(raw, "pose").update(name="../../secret"), "cannot have the name"),
    "a hidden name": (lambda raw: _entry(raw, "pose").update(name=".ssh"), "cannot have the name"),
    "objects": (lambda raw: _entry(raw, "pose").update(kind="O"), "has the type 'O'; pliant reads f8"),
    "a type of names": (lambda raw: _entry(raw, "pose").update(kind=["f8"]), "has the type"),
    "endless": (lambda raw: _entry(raw, "pose").update(shape=[5, 10**9, 10**9]), "pose|shape"),
    "huge status": (lambda raw: _entry(raw, "status").update(shape=[10**15], block=10**15), "."),
    "huge messages": (lambda raw: _entry(raw, "messages").update(shape=[10**13], block=10**13), "."),
    "negative": (lambda raw: _entry(raw, "pose").update(shape=[-5, 4, 4]), "shape"),
    "a float": (lambda raw: _entry(raw, "pose").update(shape=[5.0, 4, 4]), "list is expected"),
    "no blocks": (lambda raw: _entry(raw, "pose").update(block=0), "blocks of 0"),
    "outside": (lambda raw: _entry(raw, "pose").update(place=10**12), "not in the file|a place in a file"),
    "before": (lambda raw: _entry(raw, "pose").update(place=-8), "blocks of|table"),
    "twice": (lambda raw: raw["arrays"].append(_entry(raw, "pose")), "same name"),
    "no status": (lambda raw: raw["arrays"].remove(_entry(raw, "status")), "table of contents"),
    "fields that are none": (lambda raw: raw["header"].update(fields=["x"]), "table of contents"),
    "a list": (lambda raw: raw.update(header=[]), "table of contents"),
    "names": (lambda raw: raw["header"].update(names={"row": [[]]}), "table of contents"),
    "other checksums": (lambda raw: raw.update(sums="0" * 64), "checksums are damaged"),
    "another status": (lambda raw: raw["header"].update(status=["a", "b"]), "table of contents"),
    "one more key": (lambda raw: _entry(raw, "pose").update(filters=[]), "fields of an array"),
}


@pytest.mark.parametrize("trouble", TABLES)
@pytest.mark.parametrize("name", NAMES)
def test_tables_of_strangers(system, tmp_path, name, trouble):
    """Sealed as pliant seals them, so that only what they say can be refused; in bounded time and memory."""
    path = tmp_path / name
    poses(system, path, count=5)
    resealed(path, lambda raw: None)
    assert len(pl.BatchResult.open(path)) == 5  # it can be sealed so
    change, words = TABLES[trouble]
    resealed(path, change)
    start = time.perf_counter()
    with pytest.raises(ValueError, match=words) as caught:
        numbers(pl.BatchResult.open(path))
    assert name in str(caught.value)
    assert time.perf_counter() - start < 2.0


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
def test_links_and_pipes_of_strangers(system, tmp_path):
    path, secret = tmp_path / "found.zarr", tmp_path / "secret"
    poses(system, path, count=5)
    block = path / "pose" / "c" / "0" / "0" / "0"
    secret.write_bytes(block.read_bytes())
    for target in (block, path / "zarr.json", path / "pose" / "zarr.json"):
        kept = target.read_bytes()
        target.unlink()
        target.symlink_to(secret)
        with pytest.raises(ValueError, match="is a link"):
            numbers(pl.BatchResult.open(path))
        target.unlink()
        os.mkfifo(target)
        with pytest.raises(ValueError, match=r"it is a pipe|it is a device|regular file"):
            numbers(pl.BatchResult.open(path))
        target.unlink()
        target.write_bytes(kept)
    shutil.copytree(path / "pose", tmp_path / "elsewhere")
    shutil.rmtree(path / "pose")
    (path / "pose").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="lies behind one"):
        pl.BatchResult.open(path)
    for name in ("pipe.h5", "pipe.zarr"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(ValueError, match=r"no folder|it is a pipe|regular file"):
            pl.BatchResult.open(tmp_path / name)
    (tmp_path / "link.h5").symlink_to("/dev/zero")
    with pytest.raises(ValueError, match=r"it is a pipe|it is a device|regular file"):
        pl.BatchResult.open(tmp_path / "link.h5")
    # a link that the user names is followed
    poses(system, tmp_path / "real.h5", count=5)
    (tmp_path / "named.h5").symlink_to(tmp_path / "real.h5")
    assert len(pl.BatchResult.open(tmp_path / "named.h5")) == 5
    poses(system, tmp_path / "named.h5", count=6)
    assert (tmp_path / "named.h5").is_symlink()
    assert len(pl.BatchResult.open(tmp_path / "real.h5")) == 6


def test_hdf5_of_strangers(system, tmp_path):
    """What HDF5 could be told to do is not done: the library is not asked. Files without pliant's table are refused by name."""
    path = tmp_path / "found.h5"
    with h5py.File(tmp_path / "outside.h5", "w") as file:
        file["q"] = np.ones((3, 2))
    with h5py.File(path, "w") as file:
        file.attrs["pliant"] = json.dumps(
            {"system": "x", "dims": {"q": ["item", "coordinate"]}, "given": {}, "names": {}}
        )
        file["status"] = np.ones(3, dtype="i1")
        file["messages"] = np.zeros(4, dtype="u1")
        file["q"] = h5py.ExternalLink("outside.h5", "q")
    with pytest.raises(ValueError, match="older version wrote, without checksums, are opened by xarray or h5py"):
        pl.BatchResult.open(path)
    poses(system, path, count=5)
    with h5py.File(path, "r+") as file:
        del file["pose"]
        file["pose"] = h5py.ExternalLink("outside.h5", "q")
    with pytest.raises(ValueError, match="HDF5 part is damaged or was changed"):
        pl.BatchResult.open(path)
    pl.simulate(system, 0.1).save(tmp_path / "run.h5")
    with pytest.raises(ValueError, match=r"result of a motion: Result\.load"):
        pl.BatchResult.open(tmp_path / "run.h5")
    poses(system, path, count=5)
    with pytest.raises(ValueError, match=r"result of a batch.*BatchResult\.open"):
        pl.Result.load(path, system)


def test_names_of_arrays():
    for name in ("q", "arm.tip", "energy_2", "größe", "a b", "x-1"):
        assert not array_name_trouble(name)
    for name in (
        "",
        ".",
        "..",
        "a/b",
        "a\\b",
        "a\0",
        "c" * 101,
        "status",
        "values",
        "zarr.json",
        "__x",
        "a.",
        "a ",
        "\n",
        "-x",
    ):
        assert array_name_trouble(name), name
    with pytest.raises(ValueError, match="too deep"):
        Contents.read("[" * 10**6)


# ---------------------------------------------------------------- kills, and several writers


@forked
@pytest.mark.parametrize("name", NAMES)
def test_kills_while_a_store_is_replaced(system, tmp_path, name):
    """Killed at random times, and between any two steps of taking the place of the old one: there is the old or the new store, whole."""
    path = tmp_path / name
    poses(system, path)
    allowed = [numbers(poses(system, None, first=float(k))) for k in range(2)]

    def write_for_ever() -> None:
        for k in range(10**6):
            poses(system, path, first=float(k % 2), threads=1)

    def die_at(step: int) -> None:
        good, calls = os.replace, []

        def replace(source: object, target: object) -> None:
            if len(calls) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            calls.append(1)
            good(source, target)
            if len(calls) == step:
                os.kill(os.getpid(), signal.SIGKILL)

        os.replace = replace
        poses(system, path, first=1.0, threads=1)
        os.kill(os.getpid(), signal.SIGKILL)

    rng, context = np.random.default_rng(2), multiprocessing.get_context("fork")
    for k in range(30):
        process = context.Process(
            target=write_for_ever if k < 24 else die_at, args=() if k < 24 else (k - 24,), daemon=True
        )
        process.start()
        if k < 24:
            time.sleep(rng.uniform(0.0, 0.1))
            process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert numbers(pl.BatchResult.open(path)) in allowed, k
    poses(system, path)
    assert [p.name for p in tmp_path.iterdir()] == [name]  # nothing piles up


def test_a_store_that_is_aside_is_put_back(system, tmp_path):
    path = tmp_path / "found.zarr"
    poses(system, path)
    expected = numbers(pl.BatchResult.open(path))
    aside = zarr_store._aside(path)
    path.rename(aside)  # as a kill between two renames leaves it
    assert numbers(pl.BatchResult.open(path)) == expected
    assert not aside.exists()
    path.rename(aside)
    poses(system, path, first=1.0)
    assert [p.name for p in tmp_path.iterdir()] == ["found.zarr"]


@pytest.mark.parametrize("name", NAMES)
def test_two_threads_on_one_store(system, tmp_path, name):
    """One writes and the other is told, or both come one after the other; never a mixture."""
    path = tmp_path / name
    whole = [numbers(poses(system, None, first=float(k))) for k in range(4)]
    told: list[str] = []

    def write(k: int) -> None:
        try:
            poses(system, path, first=float(k), threads=1)
        except LockedError as error:
            told.append(str(error))

    for _ in range(6):
        threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert numbers(pl.BatchResult.open(path)) in whole
    assert [p.name for p in tmp_path.iterdir()] == [name]
    with Lock(path, field="to"):
        write(0)
    assert "another thread of this program" in told[-1]
    assert "choose another name" in told[-1]


@forked
@pytest.mark.parametrize("name", NAMES)
def test_two_processes_on_one_store(system, tmp_path, name):
    path = tmp_path / name
    poses(system, path)
    context = multiprocessing.get_context("fork")
    held, go_on = context.Event(), context.Event()

    def hold() -> None:
        with Lock(path, field="to"):
            held.set()
            go_on.wait(30)
            os.kill(os.getpid(), signal.SIGKILL)

    process = context.Process(target=hold)
    process.start()
    assert held.wait(30)
    with pytest.raises(OSError, match=rf"is being written by process {process.pid} on .*choose another name"):
        poses(system, path, first=1.0)
    assert numbers(pl.BatchResult.open(path)) == numbers(poses(system, None))  # it is read meanwhile
    go_on.set()
    process.join()
    poses(system, path, first=1.0)  # the lock ended with its process
    assert numbers(pl.BatchResult.open(path)) == numbers(poses(system, None, first=1.0))
    assert [p.name for p in tmp_path.iterdir()] == [name]


@forked
def test_a_lock_is_not_inherited(tmp_path):
    """A worker that outlives its killed parent does not keep the lock of the parent."""
    path = tmp_path / "found.h5"
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)

    def parent() -> None:
        Lock(path, field="to")
        child = os.fork()
        if child == 0:
            time.sleep(30)
            os._exit(0)
        send.send(child)
        time.sleep(30)

    process = context.Process(target=parent)
    process.start()
    child = receive.recv()
    with pytest.raises(LockedError):
        Lock(path, field="to")
    process.kill()
    process.join()
    Lock(path, field="to").release()
    os.kill(child, signal.SIGKILL)
