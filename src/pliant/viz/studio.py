"""A page to play with a robot: sliders for its inputs and its design, statics solved as they move, and motion while they do."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..control.stepper import Stepper
from ..model.validate import positive, unknown_name
from ..solve.equilibrium import Equilibrium
from ..solve.simulate import simulate
from ..solve.statics import solve_statics
from ..system import System
from .framing import Framing
from .geometry import build_scene
from .live import Playback, add_switches, close_server, open_server, send_page
from .names import html_lines
from .ranges import checked_ranges, design_range, told_unit
from .recording import record, record_result
from .stage import Stage
from .swing import Swing, Trace
from .traces import Traces

__all__ = ["Studio"]

Array = NDArray[np.float64]
DIRECTIONS = {"-z": (0, 0, -1), "+z": (0, 0, 1), "-x": (-1, 0, 0), "+x": (1, 0, 0), "-y": (0, -1, 0), "+y": (0, 1, 0)}
WIND = 2.0  # largest current on its sliders [m/s], or twice the one that is described
KINDS = (".yaml", ".yml", ".json")  # of model files; static/live.js finds the button by them
PLOTTED = 6  # pictures of a live motion between two drawings of its curves


def _read(name: str, content: bytes) -> Any:
    """The robot of a model file that came from a browser: text, which names no other file of this machine and runs no code."""
    if not name.lower().endswith(KINDS):
        raise ValueError(f"the name of a model file ends with {', '.join(KINDS[:-1])} or {KINDS[-1]}.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not text in UTF-8.") from None
    return import_module("pliant.io").parse_model(text, name=name)  # reads YAML, which needs a library of its own


class Studio:
    """A page with a slider for each input of a robot.

    Statics is solved in the background whenever a slider moves, from the last equilibrium. If that fails, the page says why
    and keeps the last shape. *Live* lets the robot move in real time while inputs, gravity and wind change. What is changed on the page
    is not changed in `system`.

    Parameters
    ----------
    system : System
    ranges : dict, optional
        Ends (low, high) of sliders by the name of the input, in its own unit, or of the prescribed joint or tendon
        [rad, m]; see `pliant.viz.ranges.default_ranges` for the others.
    gravity : float
        Largest gravity on its slider [m/s²].
    host, port, blocking
        See `pliant.viz.live.Viewer`.

    Attributes
    ----------
    system : System
        With what was changed on the page.
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
        self._strongest = positive("gravity", gravity, unit="m/s²")
        self._lock, self._changed, self._stop = threading.RLock(), threading.Event(), threading.Event()
        self.solved = threading.Event()
        self.swing: Swing | None = None
        self._taped: Trace | None = None
        self._released = False
        self._told_first = True
        first = self._described(system, ranges)
        self.server, self.address = open_server(self.system.name, host, port)
        self.framing = Framing(self.server, first)
        self._build(first)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        print(f"{self.system.name}: play at {self.address}" + (" (Ctrl-C ends)" if blocking else ""), flush=True)
        if blocking:
            self.wait()

    # ------------------------------------------------------------ the robot

    def _described(self, system: System, ranges: Mapping[str, Any] | None) -> Any:
        """Take a robot: its first equilibrium, as a recording."""
        self.original = self.system = system
        self.scene = build_scene(system)
        self.ranges = checked_ranges(system, self.scene.size, ranges)
        self.design: dict[str, float] = {}
        self.rest = self._solve({}, None)
        if not self.rest.success:  # something to look at
            self.rest = replace(self.rest, q=system.neutral())
        self.remembered = self.rest
        return record(self.scene, self.rest.q)

    def _build(self, first: Any) -> None:
        """All of the page, for the robot at hand."""
        self.stage = Stage(self.server, first)
        self._controls()
        self.playback = Playback(self.server, self.stage, self._lock, visible=False)
        self.traces = Traces(self.server, self.scene)
        self._design_folder()
        add_switches(self.server, self.stage, self._lock)
        self._show(self.rest)

    def open(self, system: System) -> None:
        """Show another robot on the same page."""
        self.live(False)
        with self._lock:
            first = self._described(system, None)  # errors leave the page as it is
            self.playback.close()
            self.server.gui.reset()
            self.server.scene.reset()
            self.server.gui.set_panel_label(system.name)
            self.framing.use(first)
            self._build(first)
        self.framing.insist()

    def _upload(self, event: Any) -> None:
        """A file of the button, or one that was dropped onto the page (``static/live.js`` hands it to the button)."""
        file = event.target.value
        try:
            self.open(_read(file.name, file.content).compile())
        except Exception as error:  # a page has nobody else to tell
            told = f"{file.name} cannot be opened: {error}"
            self._say(told)
            if event.client is not None:  # where the panel is closed
                event.client.add_notification("Model file", told, color="red", auto_close_seconds=15.0)

    # ------------------------------------------------------------ the page

    def _controls(self) -> None:
        gui, system = self.server.gui, self.system
        self.sliders: dict[str, Any] = {}
        with gui.add_folder("Inputs", visible=system.nu > len(system.held_tendons)):
            for name, unit in zip(system.input_names, system.input_units):
                if name not in system.held_tendons:
                    self.sliders[name] = self._slider(name, unit)
        self.moved: dict[str, Any] = {}
        told = [name for name in system.told if name in self.ranges]
        with gui.add_folder("Prescribed", visible=bool(told)):
            for name in told:
                held = name in system.held_tendons
                self.moved[name] = self._slider(name, "m, length" if held else told_unit(system, name))
        self._surroundings()
        with gui.add_folder("Equilibrium"):
            self.report = gui.add_html("")
        with gui.add_folder("Motion in real time"):
            self.live_button = gui.add_button("Live", hint="let it move while you move the sliders")
            self.live_button.on_click(lambda _e: self.live(self.swing is None))
            self.record_button = gui.add_button("Record and save", visible=False, hint="a page that plays what you do")
            self.record_button.on_click(lambda _e: self.record())
        with gui.add_folder("Let go"):
            self.duration = gui.add_slider("duration [s]", 0.1, 20.0, 0.1, 3.0)
            gui.add_button("Release", hint="all inputs to zero").on_click(lambda _e: self.release())
            gui.add_button("Remember shape", hint="start of the next run").on_click(lambda _e: self.remember())
            gui.add_button("Run from remembered", hint="with the inputs of the sliders").on_click(
                lambda _e: self.release(self.inputs(), start=self.remembered)
            )
        self.framing.add_button()
        gui.add_button("Reset").on_click(lambda _e: self.reset())
        gui.add_button("Save as HTML").on_click(lambda _e: send_page(self.server, self.stage.recording))
        gui.add_upload_button(
            "Open a model file", mime_type=",".join(KINDS), hint="or drop it onto the page"
        ).on_upload(self._upload)
        for handle in (*self.sliders.values(), *self.moved.values(), self.weight, self.direction, *self.wind.values()):
            handle.on_update(self._touched)

    def _surroundings(self) -> None:
        """Sliders of gravity, and of the current of a fluid."""
        gui, size = self.server.gui, float(np.linalg.norm(self.original.gravity))
        with gui.add_folder("Gravity", expand_by_default=False):
            self.weight = gui.add_slider("size [m/s²]", 0.0, max(self._strongest, size), 0.01, size)
            self.direction = gui.add_dropdown("direction", ("as described", *DIRECTIONS))
        self.wind: dict[str, Any] = {}
        flow = {axis: f"fluid.current.{axis}" for axis in "xyz"}
        there = {axis: name for axis, name in flow.items() if name in self.original.parameters}
        with gui.add_folder("Wind or current", expand_by_default=False, visible=bool(there)):
            for axis, name in there.items():
                first = float(self.original.parameters[name])
                most = max(WIND, 2 * abs(first))
                self.wind[name] = gui.add_slider(f"{axis} [m/s]", -most, most, most / 200, first)

    def _design_folder(self) -> None:
        """Change a radius, a modulus, a routing, and see it at once."""
        gui, units = self.server.gui, self.original.parameters.units
        names = [name for name in self.original.parameters if not name.startswith(("gravity.", "fluid.current."))]
        with gui.add_folder("Design", expand_by_default=False, visible=bool(names)):
            self.parameter = gui.add_dropdown("parameter", tuple(names) or ("none",))
            self.value = gui.add_slider("value", 0.0, 1.0, 0.001, 0.5)
            gui.add_button("As described", hint="all parameters").on_click(lambda _e: self.change())

        def chosen() -> None:
            name = self.parameter.value
            first = float(self.original.parameters[name])
            low, high = design_range(first, units[name])
            self.value.min, self.value.max, self.value.step = low, high, (high - low) / 300
            self.value.label = f"value [{units[name]}]" if units[name] not in ("", "–") else "value"
            self.value.value = self.design.get(name, first)

        if names:
            chosen()
            self.parameter.on_update(lambda _e: chosen())
            self.value.on_update(self._designed)

    def _designed(self, event: Any) -> None:
        if event.client is not None:  # by hand
            self.change({self.parameter.value: float(self.value.value)})

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

    def change(self, parameters: Mapping[str, float] | None = None) -> None:
        """Change parameters of the robot by name and show it; without, all are as described again."""
        self.design = {**self.design, **parameters} if parameters else {}
        self._told_first = True  # what is drawn has another shape
        self._request()

    def _touched(self, event: Any) -> None:
        if event.client is not None or not self._released:  # after a release the studio itself moves the sliders
            self._request()

    # ------------------------------------------------------------ statics

    def _request(self) -> None:
        self._released = False
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
            try:
                with self._lock:
                    self._renew()
                    if self.swing is None:
                        self.playback.play(False)
                        self._show(self._solve(self.inputs(), self.rest, self._motion()))
            except Exception as error:  # a page has nobody else to tell
                self._say(f"cannot be solved: {error}")
            if not self._changed.is_set():
                self.solved.set()

    def _renew(self) -> None:
        """The robot with gravity, wind and design of the page."""
        chosen = DIRECTIONS.get(self.direction.value)
        axis = np.array(chosen, dtype=float) if chosen else np.asarray(self.original.gravity, dtype=float)
        size = float(np.linalg.norm(axis))
        gravity = self.weight.value * (axis / size if size else np.array([0.0, 0.0, -1.0]))
        changes = {f"gravity.{x}": float(value) for x, value in zip("xyz", gravity)}
        changes |= {name: float(slider.value) for name, slider in self.wind.items()} | self.design
        now = self.system.parameters
        if any(now[name] != value for name, value in changes.items()) or self._told_first:
            base = self.original.parameters
            self.system = self.original.with_parameters(
                {name: value for name, value in changes.items() if base[name] != value}
            )
            if self._told_first:
                self._told_first = False
                self.scene = build_scene(self.system)
                self.stage.rebuild(record(self.scene, self.rest.q))

    def _show(self, found: Equilibrium) -> None:
        """Show an equilibrium, or say why there is none."""
        if not found.success:
            self._say(f"not found ({found.message}); the last shape is shown")
            return
        with self._lock:
            self.rest = found
            self.playback.use(record(self.scene, found.q, u=found.u))
        lines = [f"{found.kind}, residual {found.residual:.1e}, {found.iterations} iterations", *found.warnings]
        self._say(*lines, *self._places(self.stage.recording.poses[0]), *self._tensions(found.u))

    def _places(self, poses: Array) -> list[str]:
        """Where free ends are."""
        names = {triad.pose: triad.name for triad in self.scene.triads}
        ends = [(names.get(tip, "tip"), poses[tip, :3, 3]) for tip in self.scene.tips[:6]]
        return [f"{name}: ({x:.4f}, {y:.4f}, {z:.4f}) m" for name, (x, y, z) in ends]

    def _tensions(self, u: Array) -> list[str]:
        """What tendons of prescribed length pull with."""
        found = {name: u[self.system.input_names.index(name)] for name in self.system.held_tendons}
        return [f"tension of {name}: {value:.4g} N" for name, value in found.items()]

    # ------------------------------------------------------------ dynamics

    def live(self, on: bool) -> None:
        """Let the robot move in real time under the sliders, from the shape that is shown; or stop and go back to statics."""
        if on == (self.swing is not None):
            return
        if on:
            self.playback.play(False)
            self.playback.folder.visible = False
            self.traces.clear()
            self._pictures, self._taped = 0, None
            try:
                self.swing = Swing(
                    self.rest, system=lambda: self.system, inputs=self.inputs, motion=self._motion(), show=self._picture,
                    fail=self._fallen,
                )  # fmt: skip
            except Exception as error:  # a page has nobody else to tell
                self._say(f"cannot be moved: {error}")
                return
        else:
            assert self.swing is not None
            swing, self.swing = self.swing, None
            swing.close()
        self._live_labels()
        if not on:
            self._request()

    def _live_labels(self) -> None:
        on = self.swing is not None
        self.live_button.label = "Stop" if on else "Live"
        self.record_button.visible, self.record_button.label = on, "Record and save"
        for slider in self.moved.values():
            slider.disabled = on  # a jump of what is prescribed is no motion

    def _fallen(self, message: str) -> None:
        self.swing = None
        self._live_labels()
        self._say(message)

    def _picture(self, sim: Stepper) -> None:
        """Draw a live motion."""
        now = record(self.scene, sim.q, u=sim.u, v=sim.v)
        with self._lock:
            self.stage.use(now)
        if self._taped is not None:
            self._taped.add(sim)
        self._pictures += 1
        draw = self._pictures % PLOTTED == 0
        self.traces.add(sim.t, sim.q, now.poses[0], draw=draw)
        if draw:
            speed = self.swing.speed if self.swing is not None else 1.0
            slow = "" if speed > 0.9 else f", {speed:.2g} times as fast as the clock"
            taped = "" if self._taped is None else f", {len(self._taped)} pictures recorded"
            self._say(f"t = {sim.t:.1f} s{slow}{taped}", *self._places(now.poses[0]), *sim.warnings)

    def record(self) -> None:
        """Begin to record a live motion, or end it and send it to the browser as a page to save."""
        if self.swing is None:
            return
        if self._taped is None:
            self._taped = Trace()
            self.record_button.label = "Stop and save"
            return
        taped, self._taped = self._taped, None
        self.record_button.label = "Record and save"
        if len(taped) > 1:
            t = np.array(taped.t)
            kept = record(self.scene, np.array(taped.q), t=t - t[0], u=np.array(taped.u), v=np.array(taped.v))
            send_page(self.server, kept)

    def remember(self) -> None:
        """Take the shape that is shown as the start of the next run."""
        self.remembered = self.rest
        self._say("remembered: move the sliders, then run from there")

    def release(self, u: Mapping[str, float] | None = None, *, start: Equilibrium | None = None) -> None:
        """Let go: simulate from an equilibrium with other inputs, and play what happens. Sliders then show these inputs.

        Parameters
        ----------
        u : dict, optional
            Inputs after the release; zero if left out.
        start : Equilibrium, optional
            Where it starts; the shape that is shown if left out.
        """
        self.live(False)
        self._say("simulating…")
        clock = time.perf_counter()
        inputs = {name: 0.0 for name in self.sliders} | dict(u or {})
        try:
            with self._lock:
                run = simulate(
                    self.system,
                    float(self.duration.value),
                    u=inputs,
                    start=self.rest if start is None else start,
                    motion=self._motion(),
                    progress=False,
                )
                taken = record_result(run)
                self.playback.use(taken)
        except Exception as error:  # a page has nobody else to tell
            self._say(f"cannot be simulated: {error}")
            return
        self._released = True
        for name, value in inputs.items():
            self.sliders[name].value = float(np.clip(value, *self.ranges[name]))
        took = time.perf_counter() - clock
        state = "" if run.success else f"stopped early: {run.message}; "
        self._say(f"{state}{run.t[-1] - run.t[0]:.3g} s of motion, computed in {took:.2g} s", *run.warnings)
        self.traces.use(taken.t, taken.q, taken.poses)
        self.playback.play(True)

    def reset(self) -> None:
        """All inputs to zero, all parameters as described, from the undeformed shape."""
        self.live(False)
        self.rest = replace(self.rest, q=self.system.neutral())
        for name, slider in (*self.sliders.items(), *self.moved.items()):
            slider.value = self._first(name)
        self.change()

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
        if self.swing is not None:
            self.swing.close()
        self.playback.close()
        self._thread.join(timeout=2.0)
        close_server(self.server)

    def __enter__(self) -> Studio:
        """The studio itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self.close()
