"""A page in the browser that plays a motion while Python runs."""

from __future__ import annotations

import contextlib
import html
import io
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..model.validate import choice, integer
from .framing import Framing
from .gate import check_host, guarded, warn_if_open
from .html import write_html
from .recording import FIELDS, Recording
from .scripted import warn_without_script, with_script
from .stage import Stage, require_viser

__all__ = ["Playback", "Viewer", "add_switches", "close_server", "open_server", "send_page"]

RATE = 30.0  # frames per second that are sent
SPEEDS = {"0.1×": 0.1, "0.25×": 0.25, "0.5×": 0.5, "1×": 1.0, "2×": 2.0, "5×": 5.0}


def open_server(name: str, host: str, port: int) -> tuple[Any, str]:
    """A viser server that says nothing and answers to its own page only, and its address."""
    integer("port", port, minimum=0, hint="A port of this machine, such as 8080; the next free one is taken.")
    if port > 65535:
        raise ValueError(f"port = {port} is not allowed: ports go up to 65535.")
    check_host(host)
    viser = require_viser()
    with (
        guarded(host, with_script) as check,
        contextlib.redirect_stdout(io.StringIO()),
    ):  # the address is printed by what is opened
        server = viser.ViserServer(host=host, port=port, label=name, verbose=False)
        try:
            check()
        except RuntimeError:
            server.stop()
            raise
    warn_if_open(host, server.get_port())
    warn_without_script(viser)
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(79, 143, 184))
    shown = "localhost" if host in ("0.0.0.0", "127.0.0.1", "::") else f"[{host}]" if ":" in host else host
    return server, f"http://{shown}:{server.get_port()}"


def close_server(server: Any) -> None:
    """Stop a server without a word."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def add_switches(server: Any, stage: Stage, lock: Any) -> None:
    """Boxes that show and hide things."""
    scene, on = stage.scene, stage.switches
    available = {
        "tendons": len(scene.cables) > 0,
        "forces": bool(scene.arrows) or stage.gravity is not None,
        "contact": stage.touch is not None,
        "frames": bool(scene.triads),
        "trails": bool(scene.tips),
        "see_through": bool(scene.tubes),
    }
    with server.gui.add_folder("Show"):
        for name, there in available.items():
            if there:
                box = server.gui.add_checkbox(name.replace("_", " "), getattr(on, name))
                box.on_update(_setter(stage, lock, name))
        if scene.tubes:
            options = ("plain", *FIELDS)
            menu = server.gui.add_dropdown("colour", options, initial_value=on.color or "plain")
            stage.legend = server.gui.add_html("")

            @menu.on_update
            def _(event: Any) -> None:
                with lock:
                    on.color = None if event.target.value == "plain" else str(event.target.value)
                    stage.apply()


def _setter(stage: Stage, lock: Any, name: str) -> Callable[[Any], None]:
    def change(event: Any) -> None:
        with lock:
            setattr(stage.switches, name, bool(event.target.value))
            stage.apply()

    return change


class Playback:
    """Buttons that play a recording on a stage, and the thread that does it."""

    def __init__(self, server: Any, stage: Stage, lock: Any, *, visible: bool = True) -> None:
        self.stage, self.lock = stage, lock
        self.playing = False
        self.time = 0.0
        self._stop = threading.Event()
        with server.gui.add_folder("Motion", visible=visible) as self.folder:
            self.button = server.gui.add_button("Play")
            self.slider = server.gui.add_slider("time [s]", 0.0, self.duration or 1.0, 0.001, 0.0)
            self.speed = server.gui.add_dropdown("speed", tuple(SPEEDS), initial_value="1×")
            self.loop = server.gui.add_checkbox("loop", True)
        self.button.on_click(lambda _event: self.play(not self.playing))
        self.slider.on_update(self._scrub)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def duration(self) -> float:
        """Length of the recording [s]."""
        t = self.stage.recording.t
        return float(t[-1] - t[0])

    def use(self, recording: Recording) -> None:
        """Play another recording of the same scene, from its start."""
        self.play(False)
        with self.lock:
            self.stage.use(recording)
            self.time = 0.0
        self.slider.max = self.duration or 1.0
        self.folder.visible = len(recording.t) > 1

    def play(self, on: bool) -> None:
        """Play or pause."""
        if on and self.time >= self.duration:
            self.time = 0.0
        self.playing = on and self.duration > 0
        self.button.label = "Pause" if self.playing else "Play"

    def seek(self, t: float) -> None:
        """Go to a time since the start of the recording [s]."""
        self.time = float(np.clip(t, 0.0, self.duration))
        with self.lock:
            n = len(self.stage.recording.t)
            share = self.time / self.duration if self.duration else 0.0
            self.stage.draw(round(share * (n - 1)))
        if abs(self.slider.value - self.time) > 1e-9:
            self.slider.value = self.time

    def _scrub(self, event: Any) -> None:
        if event.client is not None:  # moved by hand, not by `_run`
            self.play(False)
            self.seek(float(event.target.value))

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._stop.wait(max(0.0, 1.0 / RATE - (time.perf_counter() - last))):
            now = time.perf_counter()
            passed, last = now - last, now
            if not self.playing:
                continue
            t = self.time + passed * SPEEDS[self.speed.value]
            duration = self.duration  # another recording may be put in meanwhile
            if t >= duration:
                if self.loop.value and duration > 0:
                    t %= duration
                else:
                    t = duration
                    self.play(False)
            self.seek(t)

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join(timeout=2.0)


class Viewer:
    """A page that shows a recording.

    Parameters
    ----------
    recording : Recording
    host : str
        Where the page can be reached from: "127.0.0.1" is this machine only, "0.0.0.0" the whole network.
    port : int
        Port; the next free one if it is taken.
    color : str, optional
        What rods are coloured by at first, one of `FIELDS`.
    blocking : bool
        Wait until Ctrl-C, as a script needs that would end otherwise.

    Attributes
    ----------
    address : str
        Of the page.
    """

    def __init__(
        self,
        recording: Recording,
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        color: str | None = None,
        blocking: bool = False,
    ) -> None:
        if color is not None:
            choice("color", color, FIELDS)
        self.server, self.address = open_server(recording.scene.name, host, port)
        self._lock = threading.RLock()
        self.stage = Stage(self.server, recording)
        self.stage.switches.color = color
        self.framing = Framing(self.server, recording)
        self.playback = Playback(self.server, self.stage, self._lock, visible=len(recording.t) > 1)
        add_switches(self.server, self.stage, self._lock)
        self.stage.apply()
        self.framing.add_button()
        self.server.gui.add_button("Save as HTML").on_click(self._download)
        self.playback.play(True)  # as a saved page does
        print(f"{recording.scene.name}: look at {self.address}" + (" (Ctrl-C ends)" if blocking else ""), flush=True)
        if blocking:
            self.wait()

    def _download(self, _event: Any) -> None:
        send_page(self.server, self.stage.recording)

    def wait(self) -> None:
        """Wait until Ctrl-C, then close."""
        try:
            while True:
                time.sleep(3600.0)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Close the page and free its port."""
        self.playback.close()
        close_server(self.server)

    def __enter__(self) -> Viewer:
        """The viewer itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self.close()

    def _repr_html_(self) -> str:
        """The page inside a notebook."""
        return f'<iframe src="{html.escape(self.address)}" width="100%" height="500" style="border:0"></iframe>'


def send_page(server: Any, recording: Recording) -> None:
    """Send a recording to the browsers as a file to save."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_html(recording, Path(folder) / "robot.html")
        name = "".join(c if c.isalnum() else "_" for c in recording.scene.name)
        server.send_file_download(f"{name}.html", path.read_bytes())
