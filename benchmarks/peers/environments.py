"""A virtual environment for each peer, with pinned versions, below build/peers; made once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src"  # pliant is the one beside this file, whatever is installed
PLACE = HERE.parents[1] / "build" / "peers"
PINS = {
    "exudyn": ("exudyn==1.13.6", "numpy==2.4.6"),
    "mujoco": ("mujoco==4.0.0", "numpy==2.4.6"),
    "mjx": ("mujoco-mjx==3.17.0", "mujoco==4.0.0", "jax==0.10.2", "jaxlib==0.10.2", "numpy==2.4.6"),
    "pinocchio": ("pin==4.1.0", "numpy==2.4.6"),
    "soromox": ("soromox==0.5.0", "diffrax==0.7.2", "jax==0.10.2", "jaxlib==0.10.2", "numpy==2.4.6"),
    "pyelastica": ("pyelastica==1.0.0", "numba==0.68.1", "numpy==2.4.6"),
}


VARIABLES = {
    "OPENBLAS_NUM_THREADS": "1",  # matrices are small: threads only wait for each other
    "JAX_ENABLE_X64": "1",
    "JAX_PLATFORMS": "cpu",
    "EXUDYN_MODULE": "fast",  # without range checks, as its authors advise for speed
}


LONGEST = 300.0  # s, of one request; after that the peer's process is ended


class Missing(RuntimeError):
    """A peer that cannot be had."""


def interpreter(peer: str) -> Path:
    """Python of the peer's environment, which is made if need be; `Missing` says why it cannot be."""
    if peer == "pliant":
        return Path(sys.executable)
    home = PLACE / peer
    python, mark = home / "bin" / "python", home / "pins.json"
    if mark.exists() and json.loads(mark.read_text()) == list(PINS[peer]):
        return python
    commands: list[list[Any]] = [
        [sys.executable, "-m", "venv", home],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PINS[peer]],
    ]
    for command in commands:
        done = subprocess.run([str(x) for x in command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing((done.stderr.strip().splitlines() or ["cannot be installed"])[-1][:200])
    mark.write_text(json.dumps(list(PINS[peer])))
    return python


class Worker:
    """A peer's script, running; asked one thing at a time."""

    def __init__(self, peer: str, log: Callable[[str], None] = print) -> None:
        self.peer = peer
        python = interpreter(peer)
        PLACE.mkdir(parents=True, exist_ok=True)
        self._errors = open(PLACE / f"{peer}.err", "w")  # noqa: SIM115
        self.process = subprocess.Popen(
            [str(python), str(HERE / f"with_{peer}.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=os.environ | VARIABLES | ({"PYTHONPATH": str(SOURCES)} if peer == "pliant" else {}),
            cwd=PLACE,  # some libraries leave logs where they run
        )
        log(f"{peer}: started")

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answer; a dictionary with "error" if there is none."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        patience = threading.Timer(LONGEST, self.process.kill)
        patience.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = next(
                (x for x in self.process.stdout if x.startswith("{")), ""
            )  # libraries print when they are imported
        except OSError:
            line = ""
        finally:
            patience.cancel()
        if not line:
            return {"error": f"the process ended (build/peers/{self.peer}.err)"}
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
            self.process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
        self._errors.close()


def start(peers: list[str], log: Callable[[str], None] = print) -> tuple[dict[str, Worker], dict[str, str]]:
    """The workers, and why others are missing."""
    workers, missing = {}, {}
    for peer in peers:
        try:
            workers[peer] = Worker(peer, log)
        except (Missing, OSError) as reason:
            missing[peer] = str(reason)
            log(f"{peer}: missing, {reason}")
    return workers, missing
