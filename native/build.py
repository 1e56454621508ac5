"""Machine code of all kernels and units, for the extension module of a wheel: `setup.py` calls this with ``PLIANT_BUILD_NATIVE=1``.

Two stages, each in processes of their own: `front.py` makes bitcode of kernels (numba types and lowers them; once), `back.py` object files of it
for each level of processors. What was made is kept in a directory named by a digest of all that it depends on, below ``build/native`` or where
``PLIANT_NATIVE_CACHE`` says: kernels that did not change are not compiled again.

    python native/build.py      make it, and say where it is
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent / "src"

# levels by kind of processor, the best last, as LLVM calls them; `machine_code.c` asks the processor which of them it has
LEVELS = {
    "x86_64": {"v2": "x86-64-v2", "v3": "x86-64-v3"},
    "amd64": {"v2": "x86-64-v2", "v3": "x86-64-v3"},
    "arm64": {"base": "apple-m1" if sys.platform == "darwin" else "generic"},
    "aarch64": {"base": "generic"},
}


class Made(NamedTuple):
    """What the extension is linked from."""

    include: Path  # directory with entries.h
    objects: list[Path]  # one for each level and entry


def digest(levels: dict[str, str]) -> str:
    """Of all that machine code depends on: sources, versions, the kind of machine."""
    package = SOURCES / "pliant"
    own = [package / name for name in ("_cache.py", "_call.py", "_jit.py", "_numba.py", "_parts.py")]
    files = [*own, *(package / "kernels").rglob("*.py"), HERE / "front.py", HERE / "back.py"]
    kind = f"{version('numba')} {version('llvmlite')} {sys.platform} {levels}"
    found = hashlib.sha256(kind.encode())
    for path in sorted(files):
        found.update(path.relative_to(HERE.parent).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def build() -> Made:
    """Make what is not there yet."""
    levels = LEVELS.get(platform.machine().lower())
    if levels is None:
        raise SystemExit(f"native/build.py knows no processors of the kind {platform.machine()!r}; add them to LEVELS")
    cache = Path(os.environ.get("PLIANT_NATIVE_CACHE") or HERE.parent / "build" / "native").resolve()
    place = cache / digest(levels)
    if not place.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as beside:
            _make(Path(beside), levels)
            try:
                shutil.copytree(beside, cache / f"{Path(beside).name}.whole")
                os.rename(cache / f"{Path(beside).name}.whole", place)
            except OSError:
                if not place.is_dir():  # another process was faster
                    raise
    return Made(place, sorted(place.glob("*.o")))


def _make(place: Path, levels: dict[str, str]) -> None:
    """Both stages, in a directory."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PLIANT_"))}
    env |= {"PYTHONPATH": os.pathsep.join([str(SOURCES), env.get("PYTHONPATH", "")]).rstrip(os.pathsep)}
    env |= {"PLIANT_NATIVE": "off", "PLIANT_QUIET": "1", "OPENBLAS_NUM_THREADS": "1"}
    env |= {"NUMBA_CPU_NAME": list(levels.values())[-1], "NUMBA_CPU_FEATURES": ""}  # not the host's
    bitcode = place / "kernels.bc"
    print("pliant: kernels to bitcode (one to three minutes) ...", flush=True)
    subprocess.run([sys.executable, HERE / "front.py", bitcode], env=env, check=True)
    print(f"pliant: bitcode to machine code for {', '.join(levels)} (most of a minute each) ...", flush=True)
    running = [
        subprocess.Popen([sys.executable, HERE / "back.py", bitcode, place, level, name], env=env)
        for level, name in levels.items()
    ]
    if any([process.wait() for process in running]):
        raise SystemExit("machine code could not be made")
    _write_header(place, list(levels))


def _write_header(place: Path, levels: list[str]) -> None:
    """What `machine_code.c` includes."""
    text = (place / "kernels.json").read_bytes()
    count = len(json.loads(text)["parts"])
    names = [[f"pliant_{level}_{k}" for k in range(count)] for level in levels]
    lines = [f"#define LEVELS {len(levels)}", f"#define ENTRIES {count}"]
    lines += [f"extern void {name}(void);" for row in names for name in row]
    rows = ["{" + ", ".join(row) + "}" for row in names]
    lines += [f"static void (*const entries[LEVELS][ENTRIES])(void) = {{{', '.join(rows)}}};"]
    lines += [f"static const char *const level_names[LEVELS] = {{{', '.join(chr(34) + x + chr(34) for x in levels)}}};"]
    lines += [f"static const unsigned char table_text[] = {{{','.join(map(str, text))},0}};"]
    (place / "entries.h").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    print(build().include)
