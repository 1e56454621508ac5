"""Control, estimation, identification and learning: times, errors and published tasks, part by part.

    python benchmarks/control.py [part ...] [--quick] [--json results.json]

Each part is a file of benchmarks/controls with ``run(quick) -> list of dict``, and prints what it measures. Times are CPU times of one core.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib import import_module
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small: threads only wait for each other

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "examples")]
PARTS = sorted(path.stem for path in (HERE / "controls").glob("[a-z]*.py"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help=f"by default all: {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    found = {}
    for name in options.parts or PARTS:
        print(f"\n== {name}", flush=True)
        found[name] = import_module(f"controls.{name}").run(options.quick)
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
