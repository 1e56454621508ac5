"""A package of a few lines with the compilation and the cache of pliant, for faults that would cost a minute with the real one."""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pliant

SOURCES = Path(pliant.__file__).parent
NOBODY = 65534

TINY = '''
from pliant._call import array_at, unit
from pliant._jit import kernel, routine

@routine
def twice(x):
    return 2.0 * x

@kernel
def f(x):
    return twice(x) + 1.0

@unit
def g(task, own, spare, ints, ni, floats, nf, buffer, nb, q, nq, v, nv, u, nu, out, no, width):
    array_at(out, (no,))[0] = 7.0 + task

def ask(x=3.0):
    """Value, number of loads from the cache, of compilations."""
    value = f(x)
    return value, sum(f.stats.cache_hits.values()), sum(f.stats.cache_misses.values())
'''

DIRTY = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "PLIANT_QUIET", "PYTHONPATH", "XDG_CACHE_HOME")


def make(directory: Path) -> Path:
    """Write the package and the module `tiny` into a directory; where its cache files go."""
    (directory / "pliant").mkdir(parents=True)
    (directory / "pliant" / "__init__.py").write_text("")
    for path in SOURCES.glob("_[a-z]*.py"):
        shutil.copy(path, directory / "pliant")
    (directory / "tiny.py").write_text(TINY)
    return directory / "__pycache__"


def can_lose_rights() -> bool:
    """Whether a process can be started that cannot write to what is read-only."""
    return os.geteuid() != 0 or (shutil.which("setpriv") is not None and sys.platform == "linux")


def _unprivileged() -> list[str]:
    """Run as nobody, who may still read everything: the interpreter can be in root's home."""
    if os.geteuid() != 0:
        return []
    caps = [f"--{which}-caps=-all,+dac_read_search" for which in ("inh", "ambient")]
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *caps]


def start(directory: Path, code: str = "", *, user: bool = False, **environment: str) -> subprocess.Popen[str]:
    """A new process that runs the code there, with a home that cannot be written to; `user`: never as root."""
    env = {key: value for key, value in os.environ.items() if key not in DIRTY}
    env |= {"PYTHONPATH": str(directory), "HOME": "/dev/null", "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.Popen(
        [*(_unprivileged() if user else []), sys.executable, "-c", code or "import tiny; print(tiny.ask())"],
        env=env,
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[object, str]:
    """What it printed last, as a value, and its complaints."""
    out, err = process.communicate(timeout=300)
    if process.returncode:
        raise AssertionError(f"exit {process.returncode}: {err}")
    return ast.literal_eval(out.strip().splitlines()[-1]), err


def ask(directory: Path, code: str = "", **options) -> tuple[object, str]:
    return finish(start(directory, code, **options))


def files(place: Path) -> list[Path]:
    """What the cache consists of."""
    return sorted(place.glob("*.nb?"))


DAMAGES = ("cut", "flip", "flips", "digit", "block", "swap", "noise", "empty", "longer", "directory", "removed")


def damage(path: Path, rng: random.Random, kinds: tuple[str, ...] = DAMAGES) -> str:
    """Do something bad to a file; what it was."""
    data = path.read_bytes()
    kind = rng.choice(kinds)
    if kind == "cut":
        path.write_bytes(data[: rng.randrange(len(data))])
    elif kind in ("flip", "flips"):
        changed = bytearray(data)
        for place in rng.sample(range(len(data)), 1 if kind == "flip" else 50):
            changed[place] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
    elif kind == "digit":  # text with another number is still text
        k = rng.choice([k for k, byte in enumerate(data) if chr(byte).isdecimal()])
        path.write_bytes(data[:k] + rng.choice(b"0123456789".replace(data[k : k + 1], b"")).to_bytes(1) + data[k + 1 :])
    elif kind == "swap":
        a, b, c = sorted(rng.sample(range(len(data) + 1), 3))
        path.write_bytes(data[:a] + data[b:c] + data[a:b] + data[c:])
    elif kind == "block":
        a, b = sorted(rng.sample(range(len(data) + 1), 2))
        path.write_bytes(data[:a] + bytes([0x5A]) * (b - a) + data[b:])
    elif kind == "noise":
        path.write_bytes(rng.randbytes(len(data)))
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "longer":
        path.write_bytes(data + b"\0")
    else:
        path.unlink()
        if kind == "directory":
            path.mkdir()
    unchanged = path.is_file() and path.read_bytes() == data  # two equal blocks were swapped
    return damage(path, rng, kinds) if unchanged else kind
