"""Compiled code on disk that cannot be written, is damaged, or belongs to somebody else: never fatal, never believed."""

import os
import random
import resource
import shutil
import tempfile
import time
import warnings
from pathlib import Path

import pytest

import pliant
import tiny_package as tiny
from pliant import _cache
from pliant._cache import Store

compiled_only = pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for another user")
needs_setpriv = pytest.mark.skipif(not tiny.can_lose_rights(), reason="root cannot give up its rights here")
MEMORY, DAMAGED = "cannot be kept on disk", "cannot be used and is compiled again"
COLD, WARM = (7.0, 0, 1), (7.0, 1, 0)


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch):
    """Each test is a process that has not warned yet."""
    monkeypatch.setattr(_cache, "_said", set())
    for name in ("PLIANT_QUIET", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def store(tmp_path, monkeypatch) -> Store:
    """A store with two places, the package's and the user's."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    source = tmp_path / "package" / "source.py"
    source.parent.mkdir()
    source.write_text("")
    return Store(source, "source.f")


@pytest.fixture
def shared():
    """A directory that every user may look into (those of pytest are private)."""
    path = Path(tempfile.mkdtemp(prefix="pliant-test-"))
    path.chmod(0o755)
    yield path
    for directory, _, _ in os.walk(path):
        os.chmod(directory, 0o755)
    shutil.rmtree(path)


def same(content: bytes) -> bytes:
    return content


def only_file(place: Path) -> Path:
    (path,) = place.iterdir()
    return path


# ---------------------------------------------------------------- files


def test_saved_content_comes_back_under_its_key_only(store):
    store.save(b"key", b"code")
    store.save(b"other", b"other code")
    assert store.load(b"key", same) == b"code"
    assert store.load(b"other", same) == b"other code"
    assert store.load(b"third", same) is None
    assert len(list(store.places[0].iterdir())) == 2
    assert not store.places[1].exists()


def test_no_damaged_file_is_believed(store, capsys):
    """200 times: cut, flipped bits, noise, empty, longer, a directory; what is loaded is right or nothing."""
    content = random.Random(0).randbytes(3000)
    for seed in range(200):
        rng = random.Random(seed)
        store.save(b"key", content)
        kind = tiny.damage(only_file(store.places[0]), rng)
        seen = []
        assert store.load(b"key", seen.append) is None, (seed, kind)
        assert seen == [], f"seed {seed}: {kind} was given to be unpickled"
        store.save(b"key", content)
        assert store.load(b"key", same) == content, (seed, kind)
    err = capsys.readouterr().err
    assert err.count(DAMAGED) == 1
    assert err.count("\n") == 1


def test_code_of_another_kernel_is_not_taken_for_this_one(store):
    store.save(b"one", b"code of one")
    one = only_file(store.places[0])
    store.save(b"two", b"code of two")
    (two,) = set(store.places[0].iterdir()) - {one}
    shutil.copy(one, two)
    assert store.load(b"two", same) is None
    assert store.load(b"one", same) == b"code of one"


def test_content_that_cannot_be_rebuilt_is_replaced(store, capsys):
    """Whole, but numba cannot do with it."""
    store.save(b"key", b"code")

    def rebuild(content):
        raise AttributeError("no such thing in this numba")

    assert store.load(b"key", rebuild) is None
    assert "no such thing in this numba" in capsys.readouterr().err


def test_a_pipe_in_place_of_a_file_does_not_hang(store):
    store.save(b"key", b"code")
    path = only_file(store.places[0])
    path.unlink()
    os.mkfifo(path)
    assert store.load(b"key", same) is None
    store.save(b"key", b"code")
    assert store.load(b"key", same) == b"code"


def test_quiet_is_quiet_about_damage(store, capsys, monkeypatch):
    monkeypatch.setenv("PLIANT_QUIET", "1")
    store.save(b"key", b"code")
    only_file(store.places[0]).write_bytes(b"")
    assert store.load(b"key", same) is None
    assert capsys.readouterr().err == ""


# ---------------------------------------------------------------- places


def test_the_users_cache_serves_where_the_package_cannot_be_written(store):
    store.places[0].write_text("a file where the directory should be")
    store.save(b"key", b"code")
    assert store.load(b"key", same) == b"code"
    assert only_file(store.places[1]).read_bytes().endswith(b"code")


def test_damage_that_cannot_be_mended_is_passed_over_in_silence(store, capsys):
    """A damaged file of the package, whose owner alone could replace it, and a good one of the user."""
    store.save(b"key", b"code")
    path = only_file(store.places[0])
    store.places[1].mkdir(parents=True)
    shutil.copy(path, store.places[1])
    path.write_bytes(b"damaged")
    assert store.load(b"key", same) == b"code"
    assert capsys.readouterr().err == ""


def test_one_warning_where_nothing_can_be_written(store, monkeypatch):
    store.places[0].write_text("in the way")
    store.places[1] = Path("/dev/null/nowhere")
    with warnings.catch_warnings(record=True) as caught:
        for key in (b"key", b"other"):
            store.save(key, b"code")
    assert len(caught) == 1
    message = str(caught[0].message)
    for expected in (str(store.places[0]), "/dev/null/nowhere", "a minute", "NUMBA_CACHE_DIR"):
        assert expected in message
    assert store.load(b"key", same) is None


def test_a_directory_that_is_named_is_the_only_place(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    store = Store(tmp_path / "package" / "source.py", "f", str(tmp_path / "named"))
    assert len(store.places) == 1
    assert store.places[0].parent == tmp_path / "named"
    twin = Store(tmp_path / "twin" / "package" / "source.py", "f", str(tmp_path / "named"))
    assert twin.places != store.places


def test_a_user_without_home_has_the_package_only(tmp_path, monkeypatch):
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as for a number that no account has
    assert len(Store(tmp_path / "source.py", "f").places) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/not/allowed")
    assert len(Store(tmp_path / "source.py", "f").places) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert (tmp_path / "xdg") in Store(tmp_path / "source.py", "f").places[1].parents


def test_a_full_disk_is_one_warning_and_leaves_what_was_there(store):
    store.places.pop()
    store.save(b"key", b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        with warnings.catch_warnings(record=True) as caught:
            for _ in range(2):
                store.save(b"key", bytes(10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [MEMORY in str(warning.message) for warning in caught] == [True]
    assert store.load(b"key", same) == b"old"
    only_file(store.places[0])  # nothing half written beside it


def test_what_killed_processes_left_is_removed_when_it_is_old(store):
    store.save(b"key", b"code")
    path = only_file(store.places[0])
    left, young, foreign = (path.with_name(name) for name in (f"{path.name}.1.tmp", f"{path.name}.2.tmp", "else.tmp"))
    for file in (left, young, foreign):
        file.write_bytes(b"")
    for file in (left, foreign):
        os.utime(file, (time.time() - 7200,) * 2)
    store.save(b"key", b"code")
    assert {p.name for p in path.parent.iterdir()} == {path.name, young.name, foreign.name}


WRITER = """
import sys
from pliant._cache import Store
store = Store("tiny.py", "f")
print("ready", flush=True)
k = 0
while True:
    k += 1
    store.save(b"key", bytes([k % 251]) * 1_000_000)
"""


def test_a_kill_during_the_write_leaves_a_whole_file(tmp_path):
    place = tiny.make(tmp_path)
    store = Store(tmp_path / "tiny.py", "f")
    store.places.pop()
    rng = random.Random(15)
    halves = 0
    for _ in range(12):
        process = tiny.start(tmp_path, WRITER)
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.001, 0.02))
        process.kill()
        process.communicate()
        for half in place.glob("*.tmp"):
            halves += 1
            half.unlink()
        for path in tiny.files(place):
            content = store.load(b"key", same)
            assert content is not None, f"{path} is damaged"
            assert len(content) == 1_000_000
            assert len(set(content)) == 1
    assert halves, "no process was killed while it wrote: this test proves nothing"
    assert tiny.files(place)


# ---------------------------------------------------------------- other users


@needs_root
def test_files_of_strangers_are_neither_read_nor_replaced(store):
    """Unpickling runs code. Their owner would not believe ours either, so nobody would ever load anything."""
    store.places.pop()
    store.save(b"key", b"code")
    path = only_file(store.places[0])
    os.chown(path, tiny.NOBODY, tiny.NOBODY)
    assert store.load(b"key", same) is None
    with pytest.warns(UserWarning, match="belongs to another user"):
        store.save(b"key", b"mine")
    assert path.stat().st_uid == tiny.NOBODY
    os.chown(store._source, tiny.NOBODY, tiny.NOBODY)  # unless they wrote the sources, which run here anyway
    assert store.load(b"key", same) == b"code"


@pytest.fixture
def nobody():
    """For the time of a test this process has the rights of a user who owns nothing."""
    os.seteuid(tiny.NOBODY)
    yield
    os.seteuid(0)


@pytest.fixture
def of_root(shared, monkeypatch) -> Store:
    """A package that root installed and used."""
    monkeypatch.setenv("HOME", str(shared / "home"))
    source = shared / "package" / "source.py"
    source.parent.mkdir()
    source.write_text("")
    store = Store(source, "source.f")
    store.save(b"key", b"code of root")
    (shared / "home").mkdir()
    os.chown(shared / "home", tiny.NOBODY, tiny.NOBODY)
    return store


@needs_root
def test_another_user_reads_what_root_compiled(of_root, nobody):
    assert of_root.load(b"key", same) == b"code of root"
    of_root.save(b"new", b"code of nobody")
    assert only_file(of_root.places[1]).stat().st_uid == tiny.NOBODY
    assert of_root.load(b"new", same) == b"code of nobody"


@needs_root
@pytest.mark.parametrize("what", ["file", "directory"])
def test_another_user_does_without_what_cannot_be_read(of_root, what, capsys):
    place = of_root.places[0]
    (only_file(place) if what == "file" else place).chmod(0o700)
    os.seteuid(tiny.NOBODY)
    try:
        assert of_root.load(b"key", same) is None
        of_root.save(b"key", b"code of nobody")
        assert of_root.load(b"key", same) == b"code of nobody"
    finally:
        os.seteuid(0)
    assert capsys.readouterr().err == ""
    assert of_root.load(b"key", same) == b"code of root"


@needs_root
def test_a_home_that_cannot_be_written_is_one_warning(of_root):
    (of_root.places[1].parents[2]).chmod(0o555)
    os.seteuid(tiny.NOBODY)
    try:
        with pytest.warns(UserWarning, match="Permission denied.*Permission denied") as caught:
            of_root.save(b"new", b"code")
        of_root.save(b"newer", b"code")
    finally:
        os.seteuid(0)
    assert len(caught) == 1


@compiled_only
@needs_setpriv
def test_pliant_works_where_nothing_can_be_written(shared):
    """The whole package and the home read-only, not as root: imports in silence, computes with one warning."""
    ignored = shutil.ignore_patterns("__pycache__")
    package = shutil.copytree(Path(pliant.__file__).parent, shared / "pliant", ignore=ignored)
    shutil.copy(tiny.make(shared / "tiny").parent / "tiny.py", shared / "tiny.py")
    for directory, _, _ in os.walk(shared):
        os.chmod(directory, 0o555)
    assert package.stat().st_mode & 0o222 == 0
    imported = "import pliant, tiny; print(pliant.Robot('r').add_body('b', mass=1.0, inertia=(1, 1, 1)).name == 'b')"
    assert tiny.ask(shared, imported, user=True) == (True, "")
    value, err = tiny.ask(shared, "import pliant, tiny; tiny.g.address; print(tiny.ask())", user=True)
    assert value == COLD
    assert err.count(MEMORY) == 1
    assert "NUMBA_CACHE_DIR" in err
    assert not list(shared.rglob("__pycache__"))


@compiled_only
@needs_setpriv
def test_what_the_warning_advises_helps(shared):
    place = tiny.make(shared)
    named = shared / "named"
    named.mkdir()
    if os.geteuid() == 0:
        os.chown(named, tiny.NOBODY, tiny.NOBODY)
    shared.chmod(0o555)
    for expected in (COLD, WARM):
        assert tiny.ask(shared, user=True, NUMBA_CACHE_DIR=str(named)) == (expected, "")
    assert not place.exists()


# ---------------------------------------------------------------- kernels

BOTH = """
import ctypes, tiny
print((tiny.ask(), tiny.g.address != 0, tiny.g._compiled.cache_hits))
"""


@compiled_only
def test_kernels_and_units_work_without_any_place(tmp_path):
    place = tiny.make(tmp_path)
    place.write_text("a file where the directory should be")
    value, err = tiny.ask(tmp_path, BOTH)
    assert value == (COLD, True, 0)
    assert err.count(MEMORY) == 1


@compiled_only
def test_damaged_kernels_and_units_are_compiled_again_and_replaced(tmp_path):
    place = tiny.make(tmp_path)
    assert tiny.ask(tmp_path, BOTH) == ((COLD, True, 0), "")
    assert tiny.ask(tmp_path, BOTH) == ((WARM, True, 1), "")
    good = {path: path.read_bytes() for path in tiny.files(place)}
    assert len(good) == 2
    for path, data in good.items():  # a flip in the midst is machine code: it might crash, or count wrongly
        path.write_bytes(data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :])
    value, err = tiny.ask(tmp_path, BOTH)
    assert value == (COLD, True, 0)
    assert err.count(DAMAGED) == 1
    assert err.count("\n") == 1
    assert tiny.ask(tmp_path, BOTH) == ((WARM, True, 1), "")


@compiled_only
def test_cold_processes_at_once(tmp_path):
    """All of them right, all signatures kept: none loses what another wrote."""
    place = tiny.make(tmp_path)
    argument = ["3.0", "3", "3.0"]
    processes = [tiny.start(tmp_path, f"import tiny; print(tiny.ask({x}))") for x in argument]
    results = [tiny.finish(process) for process in processes]
    assert [value[0] for value, _ in results] == [7.0] * 3
    assert [err for _, err in results] == [""] * 3
    assert len(tiny.files(place)) == 2
    assert not list(place.glob("*.tmp"))
    assert tiny.ask(tmp_path, "import tiny; tiny.ask(3); print(tiny.ask())") == ((7.0, 2, 0), "")


CHILDREN = """
import multiprocessing, sys, tiny
if __name__ == "__main__":
    if sys.argv[1] == "warm":
        tiny.ask()
    with multiprocessing.get_context(sys.argv[2]).Pool(2) as pool:
        print(pool.map(tiny.ask, [3.0] * 2, chunksize=1))
"""


@compiled_only
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("temperature", ["cold", "warm"])
def test_children(tmp_path, method, temperature):
    place = tiny.make(tmp_path)
    (tmp_path / "children.py").write_text(CHILDREN)
    code = f"import runpy, sys; sys.argv[1:] = {[temperature, method]!r}; runpy.run_path('children.py', run_name='__main__')"
    if method == "spawn":
        code = f"import subprocess, sys; subprocess.run([sys.executable, 'children.py', {temperature!r}, 'spawn'], check=True)"
    value, err = tiny.ask(tmp_path, code)
    assert [v[0] for v in value] == [7.0, 7.0]
    assert err == ""
    if temperature == "warm" and method == "spawn":
        assert all(v[1] >= 1 for v in value)
    assert len(tiny.files(place)) == 1


@compiled_only
def test_an_edited_constant_is_noticed(tmp_path):
    """Of any function, not only of pliant's; its bytecode is the same."""
    tiny.make(tmp_path)
    assert tiny.ask(tmp_path)[0] == COLD
    source = tmp_path / "tiny.py"
    source.write_text(source.read_text().replace("+ 1.0", "+ 4.0"))
    assert tiny.ask(tmp_path)[0] == (10.0, 0, 1)


def test_interpreted_needs_no_cache(tmp_path):
    place = tiny.make(tmp_path)
    value, err = tiny.ask(tmp_path, "import tiny; print(tiny.f(3.0))", NUMBA_DISABLE_JIT="1")
    assert (value, err) == (7.0, "")
    assert not place.exists()
