"""The wheel with machine code of the sources at hand: built once for all processes and kept while nothing changes."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "native"
PARTS = ("src", "native", "examples", "setup.py", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")
CLEAN = ("PLIANT_NATIVE", "PLIANT_NUMBA", "PLIANT_QUIET", "NUMBA_DISABLE_JIT", "NUMBA_CACHE_DIR", "PYTHONPATH")


def why_not() -> str:
    """Why there cannot be a wheel here; empty if there can."""
    if not (ROOT / "native" / "build.py").is_file():
        return "not a source tree"
    if sys.platform != "linux":
        return "tested on Linux only"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"no C compiler ({compiler})"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "no Python.h"
    return "" if find_spec("setuptools") else "no setuptools"


def environment(**more: str) -> dict[str, str]:
    """That of this process, without what changes how kernels run."""
    return {**{name: value for name, value in os.environ.items() if name not in CLEAN}, **more}


def _files() -> list[Path]:
    named = [ROOT / name for name in PARTS]
    found = [path for part in named for path in ([part] if part.is_file() else part.rglob("*"))]
    ignored = ("__pycache__", ".egg-info")
    return sorted(path for path in found if path.is_file() and not any(x in str(path) for x in ignored))


def wheel() -> Path:
    """Build it if it is not there; kernels are compiled only if they changed (`native/build.py`).

    ``PLIANT_TEST_WHEEL`` names another one, to be tested in its place.
    """
    if os.environ.get("PLIANT_TEST_WHEEL"):
        return Path(os.environ["PLIANT_TEST_WHEEL"]).resolve()
    digest = hashlib.sha256(sys.version.encode())
    for path in _files():
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    place = KEPT / f"wheel-{digest.hexdigest()[:16]}"
    KEPT.mkdir(parents=True, exist_ok=True)
    with open(KEPT / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.is_dir():
            with tempfile.TemporaryDirectory(dir=KEPT) as beside:
                _build(Path(beside))
                os.rename(Path(beside, "dist"), place)
    (found,) = place.glob("*.whl")
    return found


def _build(beside: Path) -> None:
    for path in _files():
        target = beside / "tree" / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    env = environment(PLIANT_BUILD_NATIVE="1", PLIANT_NATIVE_CACHE=str(KEPT))
    command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run(
        [sys.executable, *command, "--wheel-dir", beside / "dist", beside / "tree"],
        env=env,
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def unpacked(directory: Path) -> Path:
    """The content of the wheel in a directory, to be put on the path."""
    with zipfile.ZipFile(wheel()) as file:
        file.extractall(directory)
    return directory


if __name__ == "__main__":
    print(why_not() or wheel())
