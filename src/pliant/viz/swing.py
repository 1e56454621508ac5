"""A robot that moves in real time under inputs that somebody changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from ..control.stepper import Stepper
from ..model.validate import positive
from ..solve.equilibrium import Equilibrium
from ..system import System

__all__ = ["Swing", "Trace"]

Array = NDArray[np.float64]
STEP = 1.0 / 120.0  # of the integration [s]; what is faster is damped
RATE = 30.0  # pictures per second
BEHIND = 0.1  # how much motion is made up for in one go, if computing is slow [s]


class Trace:
    """States of a motion, picture by picture."""

    def __init__(self) -> None:
        self.t: list[float] = []
        self.q: list[Array] = []
        self.v: list[Array] = []
        self.u: list[Array] = []

    def add(self, sim: Stepper) -> None:
        """Keep the state of a stepper."""
        self.t.append(sim.t)
        self.q.append(sim.q.copy())
        self.v.append(sim.v.copy())
        self.u.append(sim.u.copy())

    def __len__(self) -> int:
        """Number of pictures."""
        return len(self.t)


class Swing:
    """A thread in which a robot moves, as fast as the clock.

    Parameters
    ----------
    start : Equilibrium
        Where it starts, at rest.
    system : callable
        Returns the robot, which may be another one at each picture (gravity, wind, a modulus): the motion goes on from where it is.
    inputs : callable
        Returns the inputs by name.
    motion : dict
        Prescribed joints and lengths, which are held.
    show : callable
        Called with the stepper at each picture.
    fail : callable
        Called with a message when a step cannot be taken; the motion ends there.
    rate : float
        Pictures per second.
    """

    def __init__(
        self,
        start: Equilibrium,
        *,
        system: Callable[[], System],
        inputs: Callable[[], dict[str, float]],
        motion: Mapping[str, float],
        show: Callable[[Stepper], None],
        fail: Callable[[str], None],
        rate: float = RATE,
    ) -> None:
        self._system, self._inputs, self._motion = system, inputs, dict(motion)
        self._show, self._fail = show, fail
        self._period = 1.0 / positive("rate", rate, unit="1/s")
        self._stop = threading.Event()
        self.speed = 1.0
        """Simulated seconds for each second of the clock, lately."""
        self.sim = self._stepper(system(), start, None, 0.0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _stepper(self, system: System, start: object, velocity: Array | None, t: float) -> Stepper:
        return Stepper(
            system, start, step=STEP, velocity=velocity, t0=t, motion=self._motion, subdivide=True, tolerance=1e-7, watch=0
        )  # fmt: skip

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._stop.wait(max(0.0, self._period - (time.perf_counter() - last))):
            now = time.perf_counter()
            try:
                self._advance(min(now - last, BEHIND))
            except Exception as error:  # a page has nobody else to tell
                self._fail(f"the motion ends at t = {self.sim.t:.3g} s: {error}")
                return
            self.speed += 0.1 * (min(1.0, BEHIND / max(now - last, 1e-9)) - self.speed)
            last = now
            self._show(self.sim)

    def _advance(self, duration: float) -> None:
        system = self._system()
        if system is not self.sim.system:
            self.sim = self._stepper(system, self.sim.q.copy(), self.sim.v.copy(), self.sim.t)
        u = self._inputs()
        for _ in range(max(1, round(duration / STEP))):
            self.sim.step(u)

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=2.0)
