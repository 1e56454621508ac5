"""Kernels compiled ahead of time: what the wheel is, that it needs nothing else, that it computes the same, and every way around it."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import native_wheel
import pliant as pl

ROOT = Path(__file__).resolve().parents[1]
reason = native_wheel.why_not()
if os.environ.get("NUMBA_DISABLE_JIT"):
    reason = "nothing is compiled"
pytestmark = pytest.mark.skipif(bool(reason), reason=reason or "-")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The wheel's content, to be put on the path; nobody writes to it."""
    return native_wheel.unpacked(tmp_path_factory.mktemp("site"))


def run(site: Path, code: str, *arguments: str, fails: bool = False, **environment: str) -> str:
    """What code prints in a new process that imports the package from there."""
    env = native_wheel.environment(PYTHONPATH=str(site), OPENBLAS_NUM_THREADS="1", **environment)
    check = f"import pliant; assert pliant.__file__.startswith({str(site)!r}), pliant.__file__\n"
    done = subprocess.run(
        [sys.executable, "-c", check + code, *arguments],
        env=env,
        cwd=site,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.stdout


def readme_script() -> str:
    return re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]


# ---------------------------------------------------------------- the wheel


def test_the_wheel_is_for_any_python_of_this_platform(site):
    name = native_wheel.wheel().name
    assert re.fullmatch(r"pliant-[\d.]+-cp311-abi3-linux_\w+\.whl", name)
    module = site / "pliant" / "_machine_code.abi3.so"
    assert module.is_file()
    assert module.stat().st_size < 8e6
    assert native_wheel.wheel().stat().st_size < 5e6
    assert not list(site.rglob("*.nbc"))
    assert not (site / "native").exists()


def test_every_kernel_and_unit_is_in_it_and_made_of_these_sources(site):
    """Found, not listed: a unit in a new file is there without anybody's doing."""
    from pliant._jit import source_files
    from pliant._native import part_name
    from pliant._parts import all_parts, function_of

    table = json.loads(run(site, "from pliant import _machine_code as m; print(m.table())"))
    declared = [part for part in all_parts() if getattr(part, "types", "unit")]
    assert set(table["parts"]) == {part_name(function_of(part)) for part in declared}
    package = Path(pl.__file__).parent
    for part in declared:
        files = source_files(package, Path(function_of(part).__code__.co_filename))
        listed = table["parts"][part_name(function_of(part))]["files"]
        assert listed == [path.relative_to(package).as_posix() for path in files]
    assert set(table["files"]) == {file for part in table["parts"].values() for file in part["files"]}


def test_kernels_that_are_called_with_real_numbers_declare_their_types():
    """Without, they would be compiled by numba in every installation. One is for complex numbers only."""
    from pliant._native import part_name
    from pliant._parts import all_parts, function_of

    plain = [part_name(function_of(part)) for part in all_parts() if not getattr(part, "types", "unit")]
    assert plain == ["recursion.dynamics.inverse_dynamics"]


def test_a_fresh_environment_runs_the_readme_without_numba_and_without_a_compiler(tmp_path):
    """The wheel, numpy and scipy in an environment of their own; no numba at all, no compiler on the path, an empty home."""
    home = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, native_wheel.wheel()], check=True, env=native_wheel.environment())
    (packages,) = home.glob("lib/python*/site-packages")
    for name in ("numpy", "scipy"):
        origin = Path(__import__(name).__file__).parents[1]
        for path in (origin / name, origin / f"{name}.libs"):
            if path.exists():
                (packages / path.name).symlink_to(path)
    (tmp_path / "home").mkdir()
    script = readme_script() + "\nimport sys; assert 'numba' not in sys.modules; print(tip.shape, A.shape)"
    done = subprocess.run(
        [python, "-c", script],
        env={"PATH": "/nowhere", "HOME": str(tmp_path / "home")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # nothing is compiled, so nothing is said
    assert "(48, 48)" in done.stdout
    assert not list(tmp_path.rglob("*.nb?"))
    info = subprocess.run(
        [home / "bin" / "pliant", "info", "--json"], env={}, capture_output=True, text=True, check=True
    )
    assert "from machine code" in json.loads(info.stdout)["kernels"]
    assert json.loads(info.stdout)["numba"] == "missing (pip install 'numba')"
    needed = (
        "import numpy as np; from pliant.kernels.algebra.manifold import integrate_q as k; z = np.zeros((0, 2), int)"
    )
    done = subprocess.run(
        [python, "-c", needed + "; k(z, z, *np.zeros((3, 1), complex))"],
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ImportError: numba is not installed, and needed for what was not compiled ahead of time" in done.stderr


def test_numba_is_imported_when_it_is_needed_only(site):
    code = """
import sys, pliant
from pliant import lie
lie.log(lie.exp([0.1, 0.2, 0.3, 1, 2, 3]))
assert "numba" not in sys.modules and "llvmlite" not in sys.modules
slow = [name for name in ("scipy.linalg", "scipy.optimize", "scipy.interpolate", "matplotlib") if name in sys.modules]
assert not slow, slow
robot = pliant.Robot("r")
body = robot.add_body("b", joint=pliant.Revolute("y"), shape=pliant.Box(0.2, 0.1, 0.1), mass=1.0)
robot.add_load("python", body, lambda pose, twist, inputs: 0.0 * twist)
system = robot.compile()
pliant.simulate(system, 0.1)
assert "numba" not in sys.modules
"""
    assert run(site, code) == ""


# ---------------------------------------------------------------- the same numbers

COMPUTE = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
import numpy as np, native_robots
np.savez(sys.argv[1], **native_robots.compute())
from pliant import _native
assert "numba" not in sys.modules
print(_native.LEVEL)
"""


@pytest.fixture(scope="module")
def by_numba() -> dict[str, np.ndarray]:
    """What kernels compiled here give."""
    import native_robots

    return native_robots.compute()


def _compare(found: dict, expected: dict, tolerance: float) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if tolerance:
            scale = np.abs(value).max(initial=0.0)
            scale = scale if scale > 1e-14 else 1.0  # nothing but rounding: zero in all of them
            np.testing.assert_allclose(found[name], value, rtol=0, atol=tolerance * scale, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.parametrize("level", ["v2", "v3"])
def test_levels_and_numba_agree(site, level, by_numba, tmp_path):
    """v3 to the last bit, where numba compiles for the same width of vectors; v2 has no fused multiplication and addition."""
    usable = run(site, "from pliant import _machine_code as m; print(*m.usable())").split()
    if level not in usable:
        pytest.skip(f"no {level} here: {usable}")
    assert run(site, COMPUTE, str(tmp_path / "found.npz"), PLIANT_NATIVE=level).strip() == level
    wider = "avx512f" in Path("/proc/cpuinfo").read_text()
    exact = level == "v3" and not wider
    _compare(dict(np.load(tmp_path / "found.npz")), by_numba, 0.0 if exact else 1e-11)


def test_other_tests_pass_with_it(site):
    """Those of the golden robots, and of systems in threads and processes under several families of loads; `make test-native` runs all."""
    env = native_wheel.environment(PYTHONPATH=str(site), OPENBLAS_NUM_THREADS="1")
    files = [str(ROOT / "tests" / name) for name in ("test_golden.py", "test_threads.py")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout


def test_settings_of_numba_are_heeded_however_they_are_made(site, tmp_path):
    """By its variable (below), by its file, or by a program that imported it before."""
    kind = "print(type(pliant.lie.lie_arrays).__name__, 'pliant._numba' in sys.modules)"
    before = "import sys, numba; numba.config.DISABLE_JIT = int(sys.argv[1])\nimport pliant\n" + kind
    for value, expected in (("1", "function False"), ("0", "Kernel False")):
        env = native_wheel.environment(PYTHONPATH=str(site))
        done = subprocess.run(
            [sys.executable, "-c", before, value], env=env, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == expected
    (tmp_path / ".numba_config.yaml").write_text("disable_jit: 1\n")
    done = subprocess.run(
        [sys.executable, "-c", "import sys, pliant; " + kind],
        env=native_wheel.environment(PYTHONPATH=str(site)),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[0] == ("function" if find_spec("yaml") else "Kernel")  # numba reads it with PyYAML


# ---------------------------------------------------------------- ways around it

WHICH = """
import json
from pliant import _native
from pliant._parts import all_parts, function_of
print(json.dumps({_native.part_name(function_of(p)): _native.reason_against(function_of(p)) for p in all_parts()}))
"""
EXP = "from pliant import lie; import sys; print(lie.exp([0.3, -0.2, 0.5, 1.0, 2.0, 3.0]).tolist(), 'numba' in sys.modules)"


@pytest.fixture
def own(site, tmp_path) -> Path:
    """A copy that may be edited."""
    return shutil.copytree(site, tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__"))


def test_it_can_be_switched_off(site, tmp_path):
    ahead = run(site, EXP)
    off = run(site, EXP, PLIANT_NATIVE="off", NUMBA_CACHE_DIR=str(tmp_path))
    assert ahead.replace("False", "True") == off
    reasons = set(json.loads(run(site, WHICH, PLIANT_NATIVE="off")).values())
    assert reasons == {"PLIANT_NATIVE=off"}


def test_a_wrong_choice_is_refused(site):
    error = run(site, "", PLIANT_NATIVE="v9", fails=True)
    assert "PLIANT_NATIVE is 'v9'; it must be 'off' or one of the levels" in error


def test_interpreted_kernels_stay_interpreted(site):
    value = run(site, EXP + "; print(type(lie.lie_arrays).__name__)", NUMBA_DISABLE_JIT="1")
    assert value.split()[-1] == "function"
    np.testing.assert_allclose(eval(value.splitlines()[0].rpartition(" ")[0]), pl.lie.exp([0.3, -0.2, 0.5, 1, 2, 3]))


def test_an_edited_source_is_believed_and_nothing_else_is_compiled_for_it(own):
    """One unit edited: that unit is compiled by numba, the engine that calls it is not."""
    magnets = own / "pliant" / "kernels" / "loads" / "magnets.py"
    magnets.write_text(magnets.read_text() + "\n# edited\n")
    reasons = json.loads(run(own, WHICH))
    changed = {name: why for name, why in reasons.items() if "changed" in why}
    assert changed == {"loads.magnets.magnetic_fields": "changed since: kernels/loads/magnets.py"}
    assert reasons["engine.run"] == reasons["loads.contact_unit.contacts"] == ""

    manifold = own / "pliant" / "kernels" / "algebra" / "manifold.py"
    text = manifold.read_text()
    assert "put3(out, 0, w)" in text
    manifold.write_text(text.replace("put3(out, 0, w)", "put3(out, 0, vscale(2.0, w))"))
    code = "from pliant import lie; print(lie.log(lie.exp([0.3, 0, 0, 0, 0, 0])).tolist())"
    assert eval(run(own, code))[0] == pytest.approx(0.6)
    assert json.loads(run(own, WHICH))["algebra.exponential.lie_arrays"] == ""
    info = json.loads(run(own, "from pliant.cli import main; main(['info', '--json'])"))
    assert "changed since: kernels/algebra/manifold.py" in info["kernels"]


def test_without_the_module_numba_compiles(own):
    (own / "pliant" / "_machine_code.abi3.so").unlink()
    assert run(own, EXP).endswith("True\n")
    assert set(json.loads(run(own, WHICH)).values()) == {"this installation has no machine code"}


def test_a_module_of_another_system_is_done_without(own):
    """What the loader refuses; one that was cut short after its header it does not, nor that of any other package."""
    module = own / "pliant" / "_machine_code.abi3.so"
    module.write_bytes(b"MZ" + module.read_bytes())
    assert run(own, EXP).endswith("True\n")
    (why,) = set(json.loads(run(own, WHICH)).values())
    assert why.startswith("it cannot be loaded: ")


def test_complex_numbers_are_compiled_for_and_real_ones_are_not(site, tmp_path):
    code = """
import numpy as np
from pliant.kernels.algebra.manifold import integrate_q
shift, spatial = np.array([[0, 0]]), np.zeros((0, 3), dtype=np.int64)
out = np.zeros(1, dtype=complex)
integrate_q(shift, spatial, np.array([1.0 + 2.0j]), np.array([0.5 + 0j]), out)
real = np.zeros(1)
integrate_q(shift, spatial, np.array([1.0]), np.array([0.5]), real)
print([out[0], real[0], len(integrate_q.signatures)])
"""
    assert eval(run(site, code, NUMBA_CACHE_DIR=str(tmp_path))) == [1.5 + 2j, 1.5, 1]


MISFITS = """
import numpy as np
from pliant import lie
from pliant.kernels.algebra.manifold import pose_log
g, out = np.eye(4), np.zeros(6)
for arguments in [(g[:, :3], out), (g, out.astype(np.float32)), (g, np.zeros(12)[::2]), (g[0], out), ([1.0], out), (g, out, 1), (g,)]:
    try:
        pose_log(*arguments)
    except TypeError as error:
        print(error)
    else:
        raise AssertionError(arguments)
pose_log(g.astype("<f8"), out)
import sys
assert "numba" not in sys.modules
"""


def test_other_arguments_are_an_error_and_never_a_silent_compilation(site):
    lines = run(site, MISFITS).splitlines()
    assert lines[0] == "algebra.manifold.pose_log takes (f2, f1), not (float64[4, 3] not contiguous, float64[6])."
    assert len(lines) == 7


# ---------------------------------------------------------------- threads, processes, interpreters

ARM = readme_script().split("run = ")[0] if not reason else ""


def test_threads_compute_at_once(site):
    """Kernels do not hold the interpreter's lock, and share nothing."""
    code = """
from concurrent.futures import ThreadPoolExecutor
def motion(k):
    return pl.simulate(system, 0.5, u={"cable": 1.0 * k}, start=rest).q[-1].tobytes()
alone = [motion(k) for k in range(6)]
with ThreadPoolExecutor(6) as pool:
    assert list(pool.map(motion, list(range(6)) * 4)) == alone * 4
import threading, time
count, stop = [0], []
def spin():
    while not stop:
        count[0] += 1
thread = threading.Thread(target=spin)
thread.start()
from pliant.kernels.algebra.linear import mark_independent
rows = np.random.default_rng(0).normal(size=(700, 700))
before = count[0]
mark_independent(rows, np.ones(700))
during = count[0] - before
stop.append(1)
thread.join()
assert during > 1000, during
print("same")
"""
    assert run(site, ARM + code).strip().endswith("same")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(site, method, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, sys\n"
        + ARM
        + f"""
def ask(k):
    return pl.solve_statics(system, {{"cable": float(k)}}).q.tobytes(), "numba" in sys.modules
if __name__ == "__main__":
    alone = [ask(k) for k in range(4)]
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        assert pool.map(ask, range(4)) == alone
    assert not any(loaded for _, loaded in alone)
    print("same")
"""
    )
    env = native_wheel.environment(PYTHONPATH=str(site), OPENBLAS_NUM_THREADS="1")
    done = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "same\n"


def test_other_interpreters_of_a_process_get_right_numbers_or_a_refusal(site):
    """The module itself holds nothing that interpreters would share; without numpy, which may refuse, arrays are those of `array`."""
    inside = """
import importlib.util, json, array
spec = importlib.util.spec_from_file_location("pliant._machine_code", {path!r})
m = importlib.util.module_from_spec(spec)
spec.loader.exec_module(m)
part = json.loads(m.table())["parts"]["algebra.manifold.pose_log"]
class Other:
    def otherwise(self, *a):
        raise TypeError("does not fit")
k = m.Kernel(m.usable()[-1], part["number"], part["arguments"], part["result"], Other().otherwise)
pose = array.array("d", [0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 1])  # a quarter of a turn, and 3 along its axis
out = array.array("d", [0.0] * 6)
k(memoryview(pose).cast("B").cast("d", [4, 4]), out)
assert max(abs(x - y) for x, y in zip(out, [0, 0, 1.5707963267948966, 0, 0, 3])) < 1e-15, out
try:
    k(pose, out)
except TypeError as error:
    assert str(error) == "does not fit", error
else:
    raise AssertionError("one axis for two")
"""
    code = f"""
import sys
try:
    import _interpreters as subs
except ImportError:
    import _xxsubinterpreters as subs
inside = {inside.format(path=str(site / "pliant" / "_machine_code.abi3.so"))!r}
for _ in range(2):
    one = subs.create()
    try:
        failed = subs.run_string(one, inside)
        assert not failed or "does not support loading in subinterpreters" in str(failed), failed
    except Exception as error:
        assert "does not support loading in subinterpreters" in str(error), error
    subs.destroy(one)
exec(inside)
print("right")
"""
    assert run(site, code) == "right\n"
