"""Nothing that was computed or saved is lost: files under kills, full disks, interrupts and damage; runs that end early."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant._files import replacing, write_file

pytest.importorskip("h5py")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


def rod_robot(young: float = 5e5) -> pl.Robot:
    robot = pl.Robot("arm")
    rubber = pl.Material(young=young, poisson=0.5, density=1000.0, viscosity=4e3)
    rod = robot.add_rod("rod", length=0.4, section=pl.Circle(0.02), material=rubber, strains=pl.Strains(bending=1))
    robot.add_tendon("left", rod, y=0.012)
    return robot


@pytest.fixture(scope="module")
def arm() -> pl.System:
    return rod_robot().compile()


@pytest.fixture(scope="module")
def pendulum() -> pl.System:
    robot = pl.Robot("pendulum")
    robot.add_body("bob", joint=pl.Revolute("y"), mass=1.0, com=(0, 0, -1.0))
    return robot.compile()


@pytest.fixture(scope="module")
def run(arm: pl.System) -> pl.Result:
    return pl.simulate(arm, 0.2, u={"left": 2.0}, step=0.005, events=lambda state: state.t - 0.11)


def same(a: pl.Result, b: pl.Result) -> bool:
    names = ("t", "q", "v", "a", "u", "tau", "multipliers")
    return all(np.array_equal(getattr(a, n), getattr(b, n), equal_nan=True) for n in names) and (
        (a.success, a.message, a.method, a.warnings) == (b.success, b.message, b.method, b.warnings)
    )


def parts(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if ".part" in path.name]


# ---------------------------------------------------------------- files

SAVING = """
import sys
import numpy as np
import pliant as pl
robot = pl.Robot("pendulum")
robot.add_body("bob", joint=pl.Revolute("y"), mass=1.0, com=(0, 0, -1.0))
system = robot.compile()
n = int(sys.argv[2])
rng = np.random.default_rng(0)
big = pl.Result(system, np.arange(float(n)), *(rng.normal(size=(n, k)) for k in (1, 1, 1, 0, 1)), True, "completed")
"""


def program(code: str, *arguments: object) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", SAVING + code, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="processes that begin as copies of this one")
def test_kill_during_save(pendulum: pl.System, tmp_path: Path) -> None:
    """Killed twenty times while it saves without pause: the file is there and good each time, and nothing piles up."""
    path = tmp_path / "run.h5"
    n = 20_000
    rng = np.random.default_rng(1)
    arrays = (rng.normal(size=(n, k)) for k in (1, 1, 1, 0, 1))
    big = pl.Result(pendulum, np.arange(float(n)), *arrays, True, "completed")
    big.save(path)

    def save_for_ever() -> None:
        while True:
            big.save(path)

    def die_before_it_is_in_place() -> None:
        os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
        big.save(path)

    for _ in range(20):
        process = multiprocessing.get_context("fork").Process(target=save_for_ever, daemon=True)
        process.start()
        time.sleep(rng.uniform(0.02, 0.1))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert same(pl.Result.load(path, pendulum), big)
        assert len(parts(tmp_path)) <= 1
    for _ in range(3):
        process = multiprocessing.get_context("fork").Process(target=die_before_it_is_in_place)
        process.start()
        process.join()
        assert same(pl.Result.load(path, pendulum), big)
        assert len(parts(tmp_path)) == 1  # what the one before left was swept
    pl.simulate(pendulum, 0.1).save(path)
    assert not parts(tmp_path)


@posix
def test_full_disk_during_save(pendulum: pl.System, tmp_path: Path) -> None:
    """No file may grow beyond 20 kB: the old one stays, the error says why, the process goes on and ends well."""
    path = tmp_path / "run.h5"
    pl.simulate(pendulum, 0.1).save(path)
    before = path.read_bytes()
    code = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    big.save(sys.argv[1])
except OSError as error:
    print("refused:", error)
"""
    process = program(code, path, 100_000)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert out.startswith("refused: [Errno 27]")
    assert path.read_bytes() == before
    assert not parts(tmp_path)


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_disk_without_space_is_an_error(run: pl.Result) -> None:
    with pytest.raises(OSError, match="No space"):
        run.save("/dev/full")


@posix
def test_interrupt_during_save(pendulum: pl.System, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    pl.simulate(pendulum, 0.1).save(path)
    before = path.read_bytes()
    code = """
import os, signal
os.fsync = lambda handle: signal.raise_signal(signal.SIGINT)  # Ctrl-C when all is written and not yet in place
try:
    big.save(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted")
"""
    process = program(code, path, 1000)
    out, err = process.communicate(timeout=120)
    assert out == "interrupted\n", err
    assert path.read_bytes() == before
    assert not parts(tmp_path)


def test_600_corruptions(arm: pl.System, run: pl.Result, tmp_path: Path) -> None:
    """Every flipped byte is refused with a clear error, or changes nothing."""
    path = tmp_path / "run.h5"
    run.save(path)
    content = path.read_bytes()
    rng = np.random.default_rng(2)
    refused = 0
    for k in range(600):
        damaged = bytearray(content)
        where = int(rng.integers(len(content))) if k % 3 else int(rng.integers(512))
        damaged[where] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        if 88 <= where < 512:  # the padding of the first block
            assert same(pl.Result.load(path, arm), run)
            continue
        refused += 1
        with pytest.raises(ValueError, match=r"run\.h5"):
            pl.Result.load(path, arm)
    assert refused > 400


@pytest.mark.parametrize("keep", [0, 10, 600, -1])
def test_truncated_file(arm: pl.System, run: pl.Result, tmp_path: Path, keep: int) -> None:
    path = tmp_path / "run.h5"
    run.save(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"damaged|not a result"):
        pl.Result.load(path, arm)


def test_what_is_saved_comes_back(arm: pl.System, run: pl.Result, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    full = pl.Result(
        **{**vars(run), "warnings": ("First.", "Second."), "final": type(run.last)(0.3, run.q[1], run.v[1])}
    )
    full.save(path)
    again = pl.Result.load(path, arm)
    assert same(again, full)
    assert again.warnings == ("First.", "Second.")
    assert again.last.t == 0.3
    np.testing.assert_array_equal(again.last.q, run.q[1])
    assert "warning: Second." in str(again)


def test_many_events(pendulum: pl.System, tmp_path: Path) -> None:
    """2000 events are more than an attribute of HDF5 holds."""
    events = tuple(pl.Event("touch", 1e-3 * k, np.array([1 / 3]), np.array([0.1])) for k in range(2000))
    busy = pl.Result(**{**vars(pl.simulate(pendulum, 0.1)), "events": events})
    busy.save(tmp_path / "run.h5")
    assert len(pl.Result.load(tmp_path / "run.h5", pendulum).events) == 2000


def test_result_of_another_robot(arm: pl.System, run: pl.Result, tmp_path: Path) -> None:
    """The same names of coordinates, another modulus."""
    path = tmp_path / "run.h5"
    run.save(path)
    assert same(pl.Result.load(path, rod_robot().compile()), run)  # described again
    other = rod_robot(young=6e5).compile()
    with pytest.raises(ValueError, match=r"differs in its properties.*check=False"):
        pl.Result.load(path, other)
    forced = pl.Result.load(path, other, check=False)
    np.testing.assert_array_equal(forced.q, run.q)
    with pytest.raises(ValueError, match=r"another robot.*start=run\.last\.q"):
        pl.simulate(other, 0.1, start=run)
    assert pl.simulate(other, 0.01, start=pl.solve_statics(arm), step=0.005).success  # a shape is only a shape
    assert pl.simulate(other, 0.01, start=forced, step=0.005).t[0] == run.t[-1]
    last = run.last
    assert pl.simulate(other, 0.01, start=last.q, velocity=last.v, t0=last.t, step=0.005).success


def test_digest_sees_what_matters(arm: pl.System) -> None:
    from pliant.solve.identity import digest

    def changed(change) -> str:
        robot = rod_robot()
        change(robot)
        return digest(robot.compile())

    def heavy(pose, twist, inputs):
        return np.zeros((len(twist), 6))

    variants = [
        lambda robot: None,
        lambda robot: robot.add_wrench("weight", "rod.tip", force=(0, 0, -1.0), constant=True),
        lambda robot: robot.add_wrench("weight", "rod.tip", force=(0, 0, -1.001), constant=True),
        lambda robot: robot.add_load("load", "rod.tip", heavy),
        lambda robot: setattr(robot, "gravity", (0, 0, -9.8)),
    ]
    digests = [changed(change) for change in variants]
    assert len(set(digests)) == len(digests)
    assert digests[0] == digest(arm)
    assert digests == [changed(change) for change in variants]  # addresses do not count


def test_file_of_the_first_format(arm: pl.System, run: pl.Result, tmp_path: Path) -> None:
    """Files of version 0.1 are read, with a warning."""
    import json

    import h5py

    path = tmp_path / "old.h5"
    header = {
        "system": "arm", "dof_names": list(arm.dof_names), "input_names": list(arm.input_names), "success": True,
        "message": run.message, "method": run.method, "statistics": {"steps": 40}, "events": [],
    }  # fmt: skip
    with h5py.File(path, "w") as file:
        file.attrs["pliant_format"] = 1
        file.attrs["header"] = json.dumps(header)
        for name in ("t", "q", "v", "a", "u", "tau", "multipliers"):
            file.create_dataset(name, data=getattr(run, name), compression="gzip", shuffle=True)
    with pytest.warns(UserWarning, match="older version"):
        old = pl.Result.load(path, arm)
    assert same(old, run)
    old.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(pl.Result.load(path, arm), run)


def test_other_products_are_replaced_too(
    arm: pl.System, run: pl.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models, pages and videos: when the disk fails at the end, what was there stays."""
    pytest.importorskip("matplotlib")

    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    for name, write in {
        "arm.json": lambda path: pl.save_model(arm, path),
        "arm.html": lambda path: run.save_html(path, frames=2),
        "arm.gif": lambda path: run.save_video(path, fps=5, dpi=20),
    }.items():
        path = tmp_path / name
        path.write_text("precious")
        with pytest.raises(OSError, match="No space"):
            write(path)
        assert path.read_text() == "precious", name
    assert not parts(tmp_path)


def test_writing_keeps_links_and_permissions(tmp_path: Path) -> None:
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    write_file(target, "first")
    usual = tmp_path / "usual.txt"
    usual.write_text("")
    assert target.stat().st_mode == usual.stat().st_mode
    target.chmod(0o640)
    link.symlink_to(target)
    assert write_file(link, "second ü") == link
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "second ü"
    assert target.stat().st_mode & 0o777 == 0o640
    with pytest.raises(ZeroDivisionError), replacing(target) as part:
        part.write_text(str(1 / 0))
    assert target.read_text(encoding="utf-8") == "second ü"
    assert not parts(tmp_path)


# ---------------------------------------------------------------- checkpoints


@pytest.mark.parametrize(
    ("path", "words"), [("", "folder"), ("nowhere/run.h5", "no folder"), (3, "path of a file"), (".", "folder")]
)
def test_checkpoint_path_is_checked_first(
    pendulum: pl.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: object, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    called = []
    with pytest.raises((OSError, TypeError), match=f"checkpoint.*{words}"):
        pl.simulate(pendulum, 1.0, checkpoint=path, tau=lambda t: called.append(t) or [0.0])
    assert not called


def test_checkpoint_to_a_folder_that_is_read_only(
    pendulum: pl.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touch(self: Path, *_args: object, **_options: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "touch", touch)  # permissions mean nothing to root
    with pytest.raises(OSError, match=r"checkpoint = .*Read-only file system"):
        pl.simulate(pendulum, 1.0, checkpoint=tmp_path / "run.h5")


def test_checkpoint_without_h5py(pendulum: pl.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match="checkpoint needs h5py"):
        pl.simulate(pendulum, 1.0, checkpoint=tmp_path / "run.h5")


def test_a_disk_that_fails_does_not_end_the_run(
    pendulum: pl.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    path = tmp_path / "run.h5"
    good, calls = os.replace, []

    def replace(source: object, target: object) -> None:
        calls.append(target)
        if 3 <= len(calls) <= 6:
            raise OSError(28, "No space left on device")
        good(source, target)

    monkeypatch.setattr(os, "replace", replace)
    result = pl.simulate(pendulum, 0.1, start=[1.0], step=0.01, checkpoint=path, checkpoint_interval=0.0)
    assert result.success
    assert len(result) == 11
    assert len(calls) == 10  # tried again each time
    assert len(result.warnings) == 1
    assert "4 time(s)" in result.warnings[0]
    assert "No space" in result.warnings[0]
    assert result.warnings[0] in str(result)
    assert capfd.readouterr().err.count("could not be written") == 1
    assert pl.Result.load(path, pendulum).last.t == pytest.approx(0.1)
    assert not parts(tmp_path)


def test_checkpoint_holds_the_state_between_outputs(pendulum: pl.System, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"

    def tau(t: float) -> list[float]:
        if t > 0.35:
            raise KeyboardInterrupt
        return [0.0]

    pl.simulate(
        pendulum, 1.0, start=[1.0], tau=tau, step=0.01, output=0.2, checkpoint=path, checkpoint_interval=0.0
    )  # fmt: skip
    saved = pl.Result.load(path, pendulum)
    np.testing.assert_allclose(saved.t, [0.0, 0.2])
    assert saved.last.t == pytest.approx(0.35, abs=0.011)
    assert pl.simulate(pendulum, 0.1, start=saved, step=0.01).t[0] == saved.last.t


# ---------------------------------------------------------------- exceptions of the user's functions

METHODS = [{"step": 0.01}, {}, {"method": "radau"}, {"method": "lsoda"}, {"method": "rk45"}]


class Broken(Exception):
    """No subclass of ValueError."""


def after(t: float, limit: float = 0.3) -> None:
    if t > limit:
        raise Broken("the sensor is gone")


def failing_functions() -> dict[str, dict]:
    def tau(t: float) -> list[float]:
        after(t)
        return [0.0]

    def feedback(t: float, state) -> list[float]:
        after(t)
        return [0.0]

    def event(state) -> float:
        after(state.t)
        return 1.0

    return {"tau": {"tau": tau}, "feedback": {"tau": feedback}, "event": {"events": event}}


def check_kept(result: pl.Result, tmp_path: Path, name: str) -> None:
    """What there is can be printed, saved, loaded and continued."""
    assert not result.success
    assert isinstance(result.error, Broken)
    for words in ("Broken", "the sensor is gone", name, "t = "):
        assert words in result.message, result.message
    assert 0.0 < result.last.t < 0.35
    assert np.all(np.isfinite(result.q))
    assert result.message in str(result)
    path = tmp_path / "run.h5"
    result.save(path)
    again = pl.Result.load(path, result.system)
    assert same(again, result)
    assert again.last.t == result.last.t
    on = pl.simulate(result.system, 0.02, start=again)
    assert on.success
    assert on.t[0] == result.last.t


@pytest.mark.parametrize("options", METHODS, ids=str)
@pytest.mark.parametrize("kind", ["tau", "feedback", "event"])
def test_exceptions_of_functions(pendulum: pl.System, tmp_path: Path, options: dict, kind: str) -> None:
    result = pl.simulate(pendulum, 1.0, start=[1.0], **failing_functions()[kind], **options)
    assert len(result) >= 3
    assert result.final is None
    check_kept(result, tmp_path, "tau" if kind != "event" else "event")


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_exceptions_before_the_first_output(pendulum: pl.System, tmp_path: Path, options: dict) -> None:
    """`output=[0.9]`, failure at 0.3 s: the last state is there."""
    for functions in failing_functions().values():
        result = pl.simulate(pendulum, 1.0, start=[1.0], output=[0.9], **functions, **options)
        assert len(result) == 1
        assert 0.05 < result.t[0] < 0.35
        check_kept(result, tmp_path, "at t =")


def test_failure_before_the_first_output(arm: pl.System, tmp_path: Path) -> None:
    """`output=[0.1]`, failure at 0.02 s, of the issue."""
    result = pl.simulate(arm, 0.2, u=lambda t: [np.nan if t > 0.02 else 1.0], output=[0.1], step=0.001)
    assert not result.success
    assert result.last.t == pytest.approx(0.02)
    assert "0.02 s by" in str(result) or "0 s by" in str(result)
    result.save(tmp_path / "run.h5")
    assert pl.simulate(arm, 0.01, start=pl.Result.load(tmp_path / "run.h5", arm), step=0.001).success


def test_exception_of_a_motion(tmp_path: Path) -> None:
    robot = pl.Robot("driven")
    robot.add_body("bob", joint=pl.Revolute("y"), mass=1.0, com=(0, 0, -1.0))
    robot.add_body("tip", parent="bob", joint=pl.Revolute("y"), mass=1.0, com=(0, 0, -1.0), offset=(0, 0, -1.0))
    robot.add_motion("shake", "bob")
    system = robot.compile()

    def shake(t: float) -> float:
        after(t)
        return 0.1 * np.sin(t)

    for options in METHODS:
        result = pl.simulate(system, 1.0, motion={"shake": shake}, **options)
        check_kept(result, tmp_path, "motion 'shake'")


def test_exception_of_a_user_load(tmp_path: Path) -> None:
    clock = [0]

    def load(pose, twist, inputs):
        clock[0] += 1
        if clock[0] > 400:
            clock[0] = -(10**9)
            raise Broken("the sensor is gone")
        return np.zeros((len(twist), 6))

    robot = rod_robot()
    robot.add_load("wind", "rod.tip", load)
    check_kept(pl.simulate(robot.compile(), 0.3, step=0.001), tmp_path, "user load 'wind'")


def test_exceptions_at_the_start_are_raised(pendulum: pl.System) -> None:
    """There is nothing to keep."""
    with pytest.raises(Broken):
        pl.simulate(pendulum, 1.0, tau=lambda t: after(1.0))
    with pytest.raises(Broken):
        pl.simulate(pendulum, 1.0, events=lambda state: after(1.0))


def test_the_end_of_the_program_carries_the_result(pendulum: pl.System) -> None:
    def tau(t: float) -> list[float]:
        if t > 0.3:
            sys.exit(3)
        return [0.0]

    with pytest.raises(SystemExit) as caught:
        pl.simulate(pendulum, 1.0, start=[1.0], tau=tau, step=0.01)
    assert caught.value.code == 3
    assert caught.value.result.last.t == pytest.approx(0.3)


def test_a_run_goes_on_from_its_end_not_from_its_last_output(pendulum: pl.System) -> None:
    result = pl.simulate(pendulum, 0.5, start=[1.0], output=[0.1, 0.2], step=0.01)
    assert result.success
    np.testing.assert_allclose(result.t, [0.1, 0.2])
    assert result.last.t == 0.5
    whole = pl.simulate(pendulum, 0.5, start=[1.0], step=0.01)
    np.testing.assert_array_equal(result.last.q, whole.q[-1])
    assert pl.simulate(pendulum, 0.1, start=result).t[0] == 0.5
    assert pl.simulate(pendulum, 0.1, start=result.resample([0.15])).t[0] == 0.15


def test_cvode_keeps_what_there_is(pendulum: pl.System, tmp_path: Path) -> None:
    pytest.importorskip("sksundae")
    for kind, functions in failing_functions().items():
        result = pl.simulate(pendulum, 1.0, start=[1.0], method="cvode", **functions)
        check_kept(result, tmp_path, "event" if kind == "event" else "tau")
