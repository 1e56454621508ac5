"""A page to play with a robot: sliders for its inputs, statics solved as they move, and what happens when it is let go."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.loops import joint_of
from ..model.validate import finite, positive, unknown_name
from ..solve.closure import null_space
from ..solve.equilibrium import Equilibrium
from ..solve.simulate import simulate
from ..solve.statics import solve_statics
from ..system import System
from .geometry import build_scene
from .live import Playback, add_switches, close_server, open_server, send_page
from .names import html_lines
from .recording import record, record_result
from .stage import Stage

__all__ = ["Studio", "default_ranges"]

Array = NDArray[np.float64]
DIRECTIONS = {"-z": (0, 0, -1), "+z": (0, 0, 1), "-x": (-1, 0, 0), "+x": (1, 0, 0), "-y": (0, -1, 0), "+y": (0, 1, 0)}


def default_ranges(system: System) -> dict[str, tuple[float, float]]:
    """Ranges of the inputs that bend the unloaded robot by about two radians at most, from its stiffness.

    Returns
    -------
    dict
        Lowest and highest value by the name of the input, in its own unit; tendons only pull.
    """
    q = system.neutral()
    scale = np.where(system.known, 0.0, system.internal.scale)
    K = scale[:, None] * system.elastic_tangent(q) * scale
    taut = {name: 1.0 for name, tendon in system.robot.tendons.items() if tendon.control == "elastic"}
    B = scale[:, None] * system.actuation_matrix(q, u=taut)
    N = null_space(system.closure(q)[1] * scale) if system.loop_rows else np.eye(system.nv)
    motion = np.abs(N @ np.linalg.lstsq(N.T @ K @ N, N.T @ B, rcond=1e-9)[0]).max(axis=0, initial=0.0)
    out = {}
    for name, gain in zip(system.input_names, motion):
        largest = _round(2.0 / gain) if np.isfinite(gain) and gain > 0 else 1.0
        tendon = system.robot.tendons.get(name)
        pulls = tendon is not None and not tendon.push
        out[name] = (0.0 if pulls else -largest, largest)
    return out


def _round(x: float) -> float:
    """The nearest of 1, 2, 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(power * min((1, 2, 5, 10), key=lambda k: abs(np.log(k * power / x))))


class Studio:
    """A page with a slider for each input of a robot.

    Statics is solved in the background whenever a slider moves, from the last equilibrium. If that fails, the page says why
    and keeps the last shape. Gravity is changed on the page and not in `system`.

    Parameters
    ----------
    system : System
    ranges : dict, optional
        Ends (low, high) of sliders by the name of the input, in its own unit, or of the prescribed joint or tendon
        [rad, m]; see `default_ranges` for the others.
    gravity : float
        Largest gravity on its slider [m/s²].
    host, port, blocking
        See `pliant.viz.live.Viewer`.

    Attributes
    ----------
    rest : Equilibrium
        The last equilibrium that was found.
    address : str
        Of the page.
    """

    def __init__(
        self,
        system: System,
        *,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        gravity: float = 20.0,
        host: str = "127.0.0.1",
        port: int = 8080,
        blocking: bool = False,
    ) -> None:
        positive("gravity", gravity, unit="m/s²")
        self.system = system
        self.scene = build_scene(self.system)
        self.ranges = _checked(self.system, self.scene.size, ranges)
        self.described = self.system.gravity
        self._lock, self._changed, self._stop = threading.RLock(), threading.Event(), threading.Event()
        self.solved = threading.Event()
        self.rest = self._solve({}, None)
        if not self.rest.success:  # something to look at
            self.rest = replace(self.rest, q=self.system.neutral())
        self.remembered = self.rest
        self.server, self.address = open_server(self.system.name, host, port)
        self.stage = Stage(self.server, record(self.scene, self.rest.q))
        self._controls(gravity)
        self.playback = Playback(self.server, self.stage, self._lock, visible=False)
        add_switches(self.server, self.stage, self._lock)
        self._show(self.rest)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        print(f"{self.system.name}: play at {self.address}" + (" (Ctrl-C ends)" if blocking else ""), flush=True)
        if blocking:
            self.wait()

    # ------------------------------------------------------------ the page

    def _controls(self, gravity: float) -> None:
        gui = self.server.gui
        self.sliders: dict[str, Any] = {}
        with gui.add_folder("Inputs", visible=self.system.nu > len(self.system.held_tendons)):
            for name, unit in zip(self.system.input_names, self.system.input_units):
                if name not in self.system.held_tendons:
                    self.sliders[name] = self._slider(name, unit)
        self.moved: dict[str, Any] = {}
        told = [name for name in self.system.told if name in self.ranges]
        with gui.add_folder("Prescribed", visible=bool(told)):
            for name in told:
                held = name in self.system.held_tendons
                self.moved[name] = self._slider(name, "m, length" if held else _told_unit(self.system, name))
        size = float(np.linalg.norm(self.described))
        with gui.add_folder("Gravity", expand_by_default=False):
            self.weight = gui.add_slider("size [m/s²]", 0.0, max(gravity, size), 0.01, size)
            self.direction = gui.add_dropdown("direction", ("as described", *DIRECTIONS))
        with gui.add_folder("Equilibrium"):
            self.report = gui.add_html("")
        with gui.add_folder("Let go"):
            self.duration = gui.add_slider("duration [s]", 0.1, 20.0, 0.1, 3.0)
            gui.add_button("Release", hint="all inputs to zero").on_click(lambda _e: self.release())
            gui.add_button("Remember shape", hint="start of the next run").on_click(lambda _e: self.remember())
            gui.add_button("Run from remembered", hint="with the inputs of the sliders").on_click(
                lambda _e: self.release(self.inputs(), start=self.remembered)
            )
        gui.add_button("Reset").on_click(lambda _e: self.reset())
        gui.add_button("Save as HTML").on_click(lambda _e: send_page(self.server, self.stage.recording))
        for handle in (
            *self.sliders.values(),
            *self.moved.values(),
            self.weight,
            self.direction,
        ):
            handle.on_update(lambda _e: self._request())

    def _say(self, *lines: str) -> None:
        """Text on the page."""
        self.report.content = html_lines(*lines)

    def _slider(self, name: str, unit: str) -> Any:
        low, high = self.ranges[name]
        first = self._first(name)
        label = name if unit in ("", "–") else f"{name} [{unit}]"
        return self.server.gui.add_slider(label, low, high, (high - low) / 400, first)

    def _first(self, name: str) -> float:
        """Where a slider starts: zero, or the length of a tendon in the undeformed robot, if that is in its range."""
        low, high = self.ranges[name]
        held = self.system.held_tendons
        rest = self.system.tendon_lengths(self.system.neutral())[0][held[name]] if name in held else 0.0
        return float(min(max(rest, low), high))

    def inputs(self) -> dict[str, float]:
        """The inputs that the sliders show."""
        return {name: float(slider.value) for name, slider in self.sliders.items()}

    def _motion(self) -> dict[str, float]:
        return {name: float(slider.value) for name, slider in self.moved.items()}

    def set(self, **inputs: float) -> None:
        """Move sliders, as a hand would."""
        for name, value in inputs.items():
            if name not in self.sliders:
                raise unknown_name("slider", name, self.sliders)
            self.sliders[name].value = float(value)
        self._request()

    # ------------------------------------------------------------ statics

    def _request(self) -> None:
        self.solved.clear()
        self._changed.set()

    def _solve(self, u: Mapping[str, float], start: Equilibrium | None, motion: Any = None) -> Equilibrium:
        return solve_statics(self.system, dict(u), start=start, motion=motion)

    def _run(self) -> None:
        """Solve whenever something changed; changes in the meantime count once."""
        while not self._stop.is_set():
            if not self._changed.wait(0.2):
                continue
            self._changed.clear()
            self.playback.play(False)
            try:
                with self._lock:
                    self._set_gravity()
                    found = self._solve(self.inputs(), self.rest, self._motion())
            except Exception as error:  # a page has nobody else to tell
                self._say(f"cannot be solved: {error}")
            else:
                self._show(found)
            if not self._changed.is_set():
                self.solved.set()

    def _set_gravity(self) -> None:
        chosen = DIRECTIONS.get(self.direction.value)
        axis = np.array(chosen, dtype=float) if chosen else self.described
        size = float(np.linalg.norm(axis))
        gravity = self.weight.value * (axis / size if size else np.array([0.0, 0.0, -1.0]))
        if not np.array_equal(gravity, self.system.gravity):
            robot = self.system.robot
            robot.gravity = gravity
            self.system = robot.compile()

    def _show(self, found: Equilibrium) -> None:
        """Show an equilibrium, or say why there is none."""
        if not found.success:
            self._say(f"not found ({found.message}); the last shape is shown")
            return
        with self._lock:
            self.rest = found
            self.playback.use(record(self.scene, found.q, u=found.u))
        lines = [f"{found.stability}, residual {found.residual:.1e}, {found.iterations} iterations", *found.warnings]
        names = {triad.pose: triad.name for triad in self.scene.triads}
        for tip in self.scene.tips[:6]:
            x, y, z = self.stage.recording.poses[0, tip, :3, 3]
            lines.append(f"{names.get(tip, 'tip')}: ({x:.4f}, {y:.4f}, {z:.4f}) m")
        for name in self.system.held_tendons:
            lines.append(f"tension of {name}: {found.u[self.system.input_names.index(name)]:.4g} N")
        self._say(*lines)

    # ------------------------------------------------------------ dynamics

    def remember(self) -> None:
        """Take the shape that is shown as the start of the next run."""
        self.remembered = self.rest
        self._say("remembered: move the sliders, then run from there")

    def release(self, u: Mapping[str, float] | None = None, *, start: Equilibrium | None = None) -> None:
        """Let go: simulate from an equilibrium with other inputs, and play what happens.

        Parameters
        ----------
        u : dict, optional
            Inputs after the release; zero if left out.
        start : Equilibrium, optional
            Where it starts; the shape that is shown if left out.
        """
        self._say("simulating…")
        clock = time.perf_counter()
        try:
            with self._lock:
                run = simulate(
                    self.system,
                    float(self.duration.value),
                    u=dict(u or {}),
                    start=self.rest if start is None else start,
                    motion=self._motion(),
                    progress=False,
                )
                self.playback.use(record_result(run))
        except Exception as error:  # a page has nobody else to tell
            self._say(f"cannot be simulated: {error}")
            return
        took = time.perf_counter() - clock
        state = "" if run.success else f"stopped early: {run.message}; "
        self._say(f"{state}{run.t[-1] - run.t[0]:.3g} s of motion, computed in {took:.2g} s")
        self.playback.play(True)

    def reset(self) -> None:
        """All inputs to zero, from the undeformed shape."""
        self.rest = replace(self.rest, q=self.system.neutral())
        for name, slider in (*self.sliders.items(), *self.moved.items()):
            slider.value = self._first(name)
        self._request()

    # ------------------------------------------------------------ the end

    def wait(self) -> None:
        """Wait until Ctrl-C, then close."""
        try:
            while True:
                time.sleep(3600.0)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Close the page and free its port."""
        self._stop.set()
        self.playback.close()
        self._thread.join(timeout=2.0)
        close_server(self.server)

    def __enter__(self) -> Studio:
        """The studio itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self.close()


def _prescribed_ranges(system: System, size: float) -> dict[str, tuple[float, float]]:
    """Ranges of prescribed joints of one coordinate, and of tendons of prescribed length."""
    out = {}
    for name, motion in system.robot.motions.items():
        if motion.dof is not None or joint_of(system.robot, motion.link).nv == 1:
            largest = np.pi if _told_unit(system, name) == "rad" else 0.5 * size
            out[name] = (-largest, largest)
    for name, k in system.held_tendons.items():
        length = float(system.tendon_lengths(system.neutral())[0][k])
        out[name] = (0.5 * length, 1.2 * length)
    return out


def _told_unit(system: System, motion: str) -> str:
    """Unit of a prescribed coordinate."""
    told = system.robot.motions[motion]
    return joint_of(system.robot, told.link).dof_units[told.dof or 0]


def _checked(system: System, size: float, ranges: Mapping[str, Any] | None) -> dict[str, tuple[float, float]]:
    out = {**default_ranges(system), **_prescribed_ranges(system, size)}
    for name, ends in (ranges or {}).items():
        if name not in out:
            raise unknown_name("input or prescribed motion", str(name), out)
        try:
            low, high = (finite(f"ranges[{name!r}]", x) for x in ends)
        except (TypeError, ValueError):
            raise ValueError(f"ranges[{name!r}] = {ends!r} is not allowed: give two numbers (low, high).") from None
        if not low < high:
            raise ValueError(f"ranges[{name!r}] = {ends!r} is not allowed: the first must be the smaller one.")
        out[name] = (low, high)
    return out
