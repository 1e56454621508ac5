"""Two ways through numba: the direct one for tested versions, and one with documented names alone for all others."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
import tiny_package as tiny
from pliant import _numba

ROOT = Path(pl.__file__).parents[2]
COLD, WARM = (7.0, 0, 1), (7.0, 1, 0)
NOT_TESTED = "pliant was tested with numba"

# A version that nobody knows, which hides all that is private: numba may import it, pliant may not.
UNKNOWN = """
import builtins, numba
numba.__version__ = "99.1.0"
original = builtins.__import__
def guarded(name, globals=None, locals=None, fromlist=(), level=0):
    ours = ((globals or {}).get("__name__") or "").startswith("pliant")
    assert not (ours and name.startswith("numba.core")), f"{globals['__name__']} imports {name}"
    return original(name, globals, locals, fromlist, level)
builtins.__import__ = guarded
"""
ASK = "import tiny; print((tiny.ask(), tiny.g.address != 0, tiny.g._compiled.cache_hits))"


@pytest.mark.parametrize("name", ["0.60.0", "0.60.1", "0.61", "0.68.1", "0.68.99"])
def test_tested_versions(name):
    assert _numba.is_tested(name)


@pytest.mark.parametrize(
    "name", ["0.59.1", "0.69.0", "0.69", "1.0.0", "1.60.0", "0.6", "0.68.0rc1", "0.67.0dev0+12.g3ab", "0+unknown", ""]
)
def test_other_versions(name):
    assert not _numba.is_tested(name)


def test_this_process_goes_directly():
    """The version that the tests run with is a tested one, so the tests test the direct way."""
    assert version("numba") == _numba.VERSION
    assert _numba.is_tested(_numba.VERSION)
    assert _numba.DIRECT != _numba.INTERPRETED


@pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="not a source tree")
def test_the_package_asks_for_the_tested_versions():
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (wanted,) = (text for text in dependencies if text.startswith("numba"))
    bounds = [int(x) for x in re.fullmatch(r"numba>=(\d+)\.(\d+),<(\d+)\.(\d+)", wanted).groups()]
    first, (major, minor) = _numba.TESTED
    assert bounds == [*first, major, minor + 1]


def test_an_unknown_version_is_used_by_its_documented_names_and_said_once(tmp_path):
    place = tiny.make(tmp_path)
    for expected, hits in ((COLD, 0), (WARM, 1)):
        value, err = tiny.ask(tmp_path, UNKNOWN + ASK)
        assert value == (expected, True, hits)
        assert err.count(NOT_TESTED) == 1
        assert "99.1.0" in err
    assert not tiny.files(place)  # numba's own cache, in a directory of these sources
    assert len(list(place.glob("numba-*/*/*.nbi"))) == 2


def test_the_public_way_can_be_chosen_and_is_silent_then(tmp_path):
    tiny.make(tmp_path)
    assert tiny.ask(tmp_path, ASK, PLIANT_NUMBA="public") == ((COLD, True, 0), "")
    with pytest.raises(AssertionError, match="PLIANT_NUMBA is 'fast'; it must be 'public'"):
        tiny.ask(tmp_path, PLIANT_NUMBA="fast")


def test_the_public_way_notices_an_edited_callee(tmp_path):
    """Numba's own cache would not: the callee is in another file."""
    tiny.make(tmp_path)
    kernels = tmp_path / "pliant" / "kernels"
    kernels.mkdir()
    (kernels / "__init__.py").write_text("")
    (kernels / "callee.py").write_text("from pliant._jit import routine\n@routine\ndef g(x):\n    return x + 1.0\n")
    caller = (
        "from pliant._jit import kernel\nfrom pliant.kernels.callee import g\n@kernel\ndef f(x):\n    return g(x)\n"
    )
    (tmp_path / "caller.py").write_text(caller)
    ask = "from caller import f; print((f(1.0), sum(f.stats.cache_hits.values())))"
    assert tiny.ask(tmp_path, ask, PLIANT_NUMBA="public")[0] == (2.0, 0)
    assert tiny.ask(tmp_path, ask, PLIANT_NUMBA="public")[0] == (2.0, 1)
    (kernels / "callee.py").write_text((kernels / "callee.py").read_text().replace("1.0", "5.0"))
    assert tiny.ask(tmp_path, ask, PLIANT_NUMBA="public")[0] == (6.0, 0)


def test_the_public_way_works_without_any_place(tmp_path):
    place = tiny.make(tmp_path)
    place.write_text("a file where the directory should be")
    value, err = tiny.ask(tmp_path, ASK, PLIANT_NUMBA="public")
    assert value == (COLD, True, 0)
    assert err.count("cannot be kept on disk") == 1


def test_interpreted_an_unknown_version_is_no_news(tmp_path):
    tiny.make(tmp_path)
    assert tiny.ask(tmp_path, UNKNOWN + "import tiny; print(tiny.f(3.0))", NUMBA_DISABLE_JIT="1") == (7.0, "")


POSE = [[0.0, -1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 0.0, 1.0]]
REAL = f"""
import pliant
pose = {POSE}
from pliant import _numba
assert not _numba.DIRECT
print(pliant.lie.log(pose).tolist())
"""


def test_a_real_kernel_by_the_public_way(tmp_path):
    value, err = tiny.ask(
        tmp_path, UNKNOWN + REAL, PYTHONPATH=str(Path(pl.__file__).parents[1]), NUMBA_CACHE_DIR=str(tmp_path)
    )
    np.testing.assert_allclose(value, pl.lie.log(POSE), rtol=0, atol=1e-15)
    assert err.count(NOT_TESTED) == 1
