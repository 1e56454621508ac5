"""Test a wheel with every Python that it is for: ``make pythons``.

    python tests/pythons.py dist/pliant-*.whl                     every version of VERSIONS that is found on PATH or below pyenv's directory
    PYTHONS="python3.12 /some/where/python3.14" python tests/pythons.py dist/pliant-*.whl     these
    python tests/pythons.py dist/pliant-*.whl tests/test_lie.py -x                            other tests than CORE, options of pytest

For each a fresh environment below ``build/pythons`` gets the wheel, what it needs and pytest, and the tests run against what is installed there. What was not
found is told, as is each that failed; the exit status is 1 then. A wheel with machine code runs on every version as it is; a pure one compiles first (minutes).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
EXTRAS = "io,plot,viz,cli,mesh"
TOOLS = ("pytest>=8", "hypothesis>=6.100", "mpmath>=1.3", "jsonschema>=4.20")
CORE = tuple(
    f"tests/test_{name}.py"
    for name in (
        "lie", "signal", "kinematics", "robot", "sections", "dynamics", "equilibria", "simulate", "gradients", "loops", "tendons", "contacts", "laws",
        "expressions", "model_files", "model_code", "result", "cli", "program", "viz", "plots", "gate", "typing", "threads", "native",
    )
)  # fmt: skip


class Tested(NamedTuple):
    """What became of one interpreter."""

    python: str
    good: bool
    said: str


def version(python: str) -> str | None:
    """The version "3.x.y" of an interpreter, if it runs."""
    try:
        run = subprocess.run(
            [python, "-c", "import platform; print(platform.python_version())"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return run.stdout.strip()


def find(wanted: str) -> str | None:
    """An interpreter of a version "3.x": on PATH, or one of pyenv's, whose names on PATH may lead nowhere."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    names = [shutil.which(f"python{wanted}"), *sorted(pyenv.glob(f"{wanted}.*/bin/python{wanted}"), reverse=True)]
    return next((str(name) for name in names if name and version(str(name))), None)


def chosen(asked: str) -> tuple[list[str], list[str]]:
    """Interpreters that are there, and what is not."""
    if asked:
        names = asked.split()
        there = {name: shutil.which(name) or name for name in names}
        good = [name for name in names if version(there[name])]
        return [there[name] for name in good], [name for name in names if name not in good]
    found = {wanted: find(wanted) for wanted in VERSIONS}
    return [path for path in found.values() if path], [f"python{wanted}" for wanted, path in found.items() if not path]


def try_one(python: str, wheel: Path, arguments: list[str]) -> Tested:
    """Install the wheel for one interpreter and run the tests."""
    place = ROOT / "build" / "pythons" / str(version(python))
    own = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    name = f"Python {version(python)}"
    print(f"\n== {name} ({python})", flush=True)
    shutil.rmtree(place, ignore_errors=True)
    try:
        subprocess.run(
            [python, "-m", "venv", "--without-pip", str(place)], check=True
        )  # some bring no pip: ours is used
        install = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(own),
            "install",
            "--quiet",
            f"{wheel}[{EXTRAS}]",
            *TOOLS,
        ]
        subprocess.run(install, check=True)
    except subprocess.CalledProcessError as error:
        return Tested(name, False, f"could not be set up: {error}")
    clean = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME", "NUMBA_CACHE_DIR")
    }
    clean |= {"PLIANT_TEST_WHEEL": str(wheel)} if "abi3" in wheel.name else {}
    start = time.perf_counter()
    run = subprocess.Popen(
        [str(own), "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env=clean,
        text=True,
        stdout=subprocess.PIPE,
    )
    last = ""
    assert run.stdout is not None
    for line in run.stdout:
        print(line, end="", flush=True)
        last = line.strip() or last
    return Tested(name, run.wait() == 0, f"{last} ({time.perf_counter() - start:.0f} s)")


def main(arguments: list[str]) -> int:
    """Test all, then tell."""
    if not arguments or not arguments[0].endswith(".whl") or not Path(arguments[0]).is_file():
        print(f"the first argument must be a wheel, such as dist/pliant-0.2.0-py3-none-any.whl, not {arguments[:1]}")
        return 2
    wheel, rest = Path(arguments[0]).resolve(), arguments[1:]
    pythons, missing = chosen(os.environ.get("PYTHONS", ""))
    tests = rest if any(not x.startswith("-") for x in rest) else [*CORE, *rest]
    rows = [try_one(python, wheel, tests) for python in pythons]
    print(f"\n{wheel.name}")
    for row in rows:
        print(f"  {row.python:15} {'passed' if row.good else 'FAILED'}: {row.said}")
    for name in missing:
        print(f'  {name:15} not found: name it in PYTHONS="..."')
    return 0 if rows and all(row.good for row in rows) and not (missing and os.environ.get("PYTHONS")) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
