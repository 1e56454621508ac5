"""Compilation: caches follow the sources, each part is announced, and no robot compiles anything anew."""

import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant import _native, kernels
from pliant._jit import Part, source_digest
from robots import BASES, JOINTS, SILICONE, add_random_link, random_inertia

PACKAGE = Path(pl.__file__).parent
NOTICE = "pliant: compiling "

compiled_only = pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled")


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The package's sources in a directory of their own, without any cache or machine code."""
    return shutil.copytree(PACKAGE, tmp_path / "pliant", ignore=shutil.ignore_patterns("__pycache__", "*.nb?", "*.so"))


def run(package: Path, code: str, **environment: str) -> subprocess.CompletedProcess:
    """Run code in a new process that imports the copy."""
    dropped = ("NUMBA_CACHE_DIR", "PLIANT_QUIET", "PYTHONPATH", "NUMBA_DISABLE_JIT")
    env = {key: value for key, value in os.environ.items() if key not in dropped}
    env |= {"PYTHONPATH": str(package.parent), **environment}
    check = f"import pliant; assert pliant.__file__ == {str(package / '__init__.py')!r}, pliant.__file__\n"
    done = subprocess.run(
        [sys.executable, "-c", check + code], env=env, cwd=package.parent, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done


EXP = "from pliant import lie\nprint(repr(lie.exp([0.3, -0.2, 0.5, 1.0, 2.0, 3.0]).tolist()))\n"


# ---------------------------------------------------------------- digest and cache


def test_digest_follows_every_kernel_source(copied):
    seen = {source_digest(copied)}
    assert source_digest(copied) in seen  # the same sources, the same digest
    assert source_digest(copied) == source_digest()
    own = [copied / name for name in ("_cache.py", "_call.py", "_jit.py", "_numba.py")]
    files = [*own, *sorted((copied / "kernels").rglob("*.py"))]
    assert len(files) > 10
    for path in files:
        path.write_text(path.read_text() + "\n# edited\n")
        seen.add(source_digest(copied))
    assert len(seen) == len(files) + 1
    (copied / "kernels" / "added.py").write_text("")
    seen.add(source_digest(copied))
    (copied / "kernels" / "added.py").rename(copied / "kernels" / "renamed.py")
    seen.add(source_digest(copied))
    assert len(seen) == len(files) + 3


def test_digest_ignores_what_is_never_compiled(copied):
    before = source_digest(copied)
    for name in ("system/core.py", "lie.py", "model/robot.py"):
        (copied / name).write_text((copied / name).read_text() + "\n# edited\n")
    assert source_digest(copied) == before


def test_a_kernel_depends_on_what_it_imports(copied):
    """An edit of one load changes that load; one of the algebra everything."""
    files = [copied / "kernels" / name for name in ("engine.py", "loads/magnets.py", "loads/contact.py")]

    def digests() -> list[str]:
        code = "import sys\nfrom pathlib import Path\nfrom pliant._jit import source_digest\n"
        return run(
            copied, f"{code}for f in {[str(f) for f in files]!r}: print(source_digest(None, Path(f)))"
        ).stdout.split()

    def changed(name: str) -> list[bool]:
        before, path = digests(), copied / "kernels" / name
        path.write_text(path.read_text() + "\n# edited\n")
        return [x != y for x, y in zip(before, digests())]

    assert changed("loads/magnets.py") == [False, True, False]
    assert changed("loads/shapes.py") == [False, False, True]
    assert changed("solve/residual.py") == [True, False, False]
    assert changed("algebra/dual.py") == [True, True, True]
    assert changed("layout.py") == [True, True, True]


@compiled_only
def test_notice_and_cache_and_an_edited_callee(copied):
    """The life of a cache: cold, warm, warm again, and cold after a callee in another file was edited."""
    cold = run(copied, EXP + "lie.log(lie.exp([0, 0, 0, 1, 2, 3]))")  # two kernels, a notice for each, with a time
    names = [re.fullmatch(rf"{NOTICE}([\w.]+), about \d+ s, .*", line)[1] for line in cold.stderr.splitlines()]
    assert names == ["algebra.exponential.lie_arrays", "algebra.manifold.pose_log"]
    assert list((copied / "kernels" / "algebra" / "__pycache__").glob("exponential.lie_arrays*.nbc"))
    value = np.array(eval(cold.stdout))
    np.testing.assert_allclose(value, pl.lie.exp([0.3, -0.2, 0.5, 1.0, 2.0, 3.0]), atol=1e-15)

    warm = run(copied, EXP)
    assert warm.stderr == ""
    assert warm.stdout == cold.stdout

    # `mv` in algebra.py turns the linear part of a twist into the translation of `lie_arrays` in exponential.py
    algebra = copied / "kernels" / "algebra" / "dual.py"
    text = algebra.read_text()
    head, marker, tail = text.partition('    """A x."""\n    return (')
    assert marker
    algebra.write_text(head + '    """A x."""\n    x = (2.0 * x[0], 2.0 * x[1], 2.0 * x[2])\n    return (' + tail)
    edited = run(copied, EXP, PLIANT_QUIET="1")
    assert edited.stderr == ""  # compiled, but in silence
    expected = value.copy()
    expected[:3, 3] *= 2.0
    np.testing.assert_allclose(np.array(eval(edited.stdout)), expected, atol=1e-14)

    # and back: the cache of the first run must not come to life with the second's code or the other way round
    algebra.write_text(text)
    back = run(copied, EXP)
    np.testing.assert_array_equal(np.array(eval(back.stdout)), value)


def test_importing_the_package_does_not_import_numba_nor_much_of_scipy(copied):
    """They take half a second or more."""
    done = run(copied, "import sys; print([name for name in sys.modules if name in ('numba', 'llvmlite', 'scipy')])")
    assert done.stdout == "[]\n"


@compiled_only
def test_parts_become_what_numba_knows_where_they_are_used():
    """Also in closures, and through modules; what is not used stays as it is."""
    from pliant import _jit
    from pliant.kernels.algebra import dual

    @_jit.routine
    def double(x):
        return 2.0 * x

    @_jit.routine
    def unused(x):
        return x

    @_jit.kernel
    def calls(x):
        return double(x) + dual.vscale(3.0, (x, x, x))[0]

    assert calls(1.5) == 7.5
    cells = dict(zip(calls.py_func.__code__.co_freevars, calls.py_func.__closure__))
    assert not isinstance(cells["double"].cell_contents, Part)
    assert unused._made is None
    assert calls.__name__ == "calls"


def test_expected_times_count_what_is_new(monkeypatch):
    """The engine takes longest; what shares its functions less after it than alone."""
    from pliant import _progress
    from pliant.kernels import engine
    from pliant.kernels.loads import contact_unit
    from pliant.kernels.recursion import kinematics

    def seconds(*functions) -> list[float]:
        monkeypatch.setattr(_progress, "_SEEN", set())
        return [_progress.expected_seconds(function) for function in functions]

    plain = [getattr(f, "py_func", f) for f in (engine.run, kinematics.compute_totals)] + [contact_unit.contacts.source]
    alone = [seconds(function)[0] for function in plain]
    together = seconds(*plain)
    assert alone[0] == together[0] > 20.0
    assert together[1] < alone[1] < alone[0]
    assert together[2] < alone[2] < alone[0]


def test_quiet_is_only_silence(copied):
    """Imports print nothing, with and without the variable."""
    for environment in ({}, {"PLIANT_QUIET": "1"}):
        done = run(copied, "", **environment)
        assert (done.stdout, done.stderr) == ("", "")


# ---------------------------------------------------------------- one compilation for all robots


def dispatchers() -> dict[str, object]:
    """Every compiled function of the package that can be called from Python."""
    found = {}
    for info in pkgutil.walk_packages(kernels.__path__, "pliant.kernels."):
        module = import_module(info.name)
        for name, value in vars(module).items():
            if hasattr(value, "signatures") and value.__module__ == module.__name__:
                found[f"{info.name.removeprefix('pliant.kernels.')}.{name}"] = value
    return found


INNER = {
    "run_job",
    "check_q",
    "check_v",
    "make_work",
    "raise_user_errors",
    "workspace",
    "borrow",
    "place",
    "header_position",
    "loop_wrench",
    "solve_tangent",  # singular for a floating robot unless its weights are given, as below
}  # for solvers: what the other methods are made of


def ask_everything(system: pl.System, seed: int) -> set[str]:
    """Call every public method of a system, with arguments found by their names. Returns the methods called."""
    rng = np.random.default_rng(seed)
    rods = [name for name in system.links if _is_rod(system, name)]
    values = {
        "q": system.random(rng),
        "q0": system.random(rng),
        "q1": system.random(rng),
        "link": system.links[0],
        "frame": system.links[-1],
        "rod": rods[0] if rods else None,
        "alpha": 2.0,
        "beta": 3.0,
        "rng": seed,
    }
    values |= {name: rng.normal(size=system.nv) for name in ("v", "a", "dv", "tau", "b")}
    values["u"] = rng.uniform(size=system.nu)
    values["stress"] = np.ones(6)
    values["points"] = rng.normal(size=(4, 3))
    values["memory"] = np.zeros(system.nz)
    values["values"] = {"gravity.z": -1.0}  # of parameters
    called = {"solve_tangent"}
    system.solve_tangent(*(values[name] for name in ("q", "v", "a", "b", "u")), weights=(1.0, 100.0))
    for name, method in inspect.getmembers(system, callable):
        if name.startswith("_") or name in INNER:
            continue
        arguments = {}
        for parameter in inspect.signature(method).parameters.values():
            if parameter.name in values:
                arguments[parameter.name] = values[parameter.name]
            else:
                assert parameter.default is not parameter.empty, f"teach this test an argument {parameter.name!r}"
        if "rod" not in arguments or rods:
            method(**arguments)
            called.add(name)
    for function in (pl.equation_of_motion, pl.projected_matrices, pl.composite_matrices, pl.reconstruct):
        function(system, values["q"], values["v"])
    return called


def _is_rod(system: pl.System, name: str) -> bool:
    try:
        system.rod_points(name)
    except TypeError:
        return False
    return True


def tree(seed: int, kinds: list[str], joints: list[str]) -> pl.System:
    """A tree with given links and joints, one after another."""
    rng = np.random.default_rng(seed)
    robot = pl.Robot("tree")
    parent = None
    for k, (kind, joint) in enumerate(zip(kinds, joints, strict=True)):
        parent = add_random_link(robot, rng, f"link{k}", parent, kind, joint)
    robot.add_body("load", parent=parent, inertia=random_inertia(rng))
    return robot.compile()


@compiled_only
def test_no_robot_compiles_anything_anew():
    first = tree(0, ["body", "legendre"], ["free", "revolute"])
    called = ask_everything(first, 0)
    pl.lie.log(pl.lie.exp(np.ones(6)))
    assert {"pose", "jacobian_rate", "rod_twists", "tangent", "mass_matrix", "elastic_tangent", "momentum"} <= called
    before = {name: len(kernel.signatures) for name, kernel in dispatchers().items()}
    if not _native.LEVEL:  # with machine code, numba compiles nothing but what other tests ask for with complex numbers
        assert sum(count > 0 for count in before.values()) > 8
        assert before["recursion.kinematics.frame_motions"] == before["algebra.exponential.lie_arrays"] == 1

    others = [
        tree(1, list(BASES), (list(JOINTS) * 2)[: len(BASES)]),
        tree(2, ["body"] * len(JOINTS), list(JOINTS)),
        tree(3, ["piecewise"], ["fixed"]),
        tree(4, ["body"], ["revolute"]),
    ]
    sprung = pl.Robot("sprung", gravity=(0, 0, 0))
    base = sprung.add_body("a", joint=pl.Spherical(stiffness=2.0, rest=(0.1, 0.2, 0.3)), mass=1.0, inertia=(1, 1, 1))
    full = np.diag([1.0, 1.0, 1.0, 1.0, 2.0, 3.0])  # not the inertia of a rigid section: the general path
    sprung.add_rod(
        "b",
        parent=base,
        joint=pl.Free(stiffness=1.0),
        length=0.3,
        stiffness=full,
        inertia=full,
        strains=pl.Strains(shear=1),
    )
    sprung.add_rod(
        "c", parent="b@0.4", length=1.0, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains(torsion=0)
    )
    sprung.add_tendon("t", "c", y=0.005)
    others.append(sprung.compile())
    assert others[-1].nu == 1
    for seed, system in enumerate(others):
        ask_everything(system, seed)
    after = {name: len(kernel.signatures) for name, kernel in dispatchers().items()}
    assert after == before
    for name, kernel in dispatchers().items():  # and none for arrays of two layouts
        if name.startswith("recursion.kinematics."):
            assert len(kernel.signatures) <= 1, name


def test_generated_functions_have_names_of_their_own():
    """Two functions of one name, one compiled here and one from the cache, are the same symbol to the linker."""
    from pliant.compile.families import FAMILIES
    from pliant.kernels.groups import GROUPS
    from pliant.kernels.packing import unpacker

    units = [family.unit for family in FAMILIES if family.unit is not None]
    outer = [group for unit in units for group in (unit.tables, unit.space) if group is not None]
    found = [unpacker(group, 0) for group in GROUPS] + [unpacker(group) for group in outer]
    known = [getattr(f, "made", f) for f in found]
    names = [getattr(f, "py_func", f).__qualname__ for f in known] + [unit._function.__qualname__ for unit in units]
    assert len(set(names)) == len(names) > 15
