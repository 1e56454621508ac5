"""The camera of a page: the whole robot in what the panel leaves free, however wide the window is."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .html import side_direction
from .recording import Recording

__all__ = ["Camera", "Framing", "framed", "free_part"]

Array = NDArray[np.float64]
PANEL, NARROW = 340, 576  # width of viser's panel with its margins; windows below this width have it at the bottom [px]
FREE_ABOVE = 0.4  # part of a narrow window above the panel
FOV = float(np.radians(35))
MARGIN = 0.92
PATIENCE = 3.0  # s


class Camera(NamedTuple):
    """Where to look from."""

    position: Array  # (3,)
    target: Array  # (3,)
    up: Array  # (3,)


def free_part(width: float, height: float) -> tuple[float, float, float, float]:
    """What the panel leaves of a window: its width and height, and its middle relative to that of the window, rightwards and upwards [px]."""
    if width < NARROW:
        return width, FREE_ABOVE * height, 0.0, 0.5 * (1 - FREE_ABOVE) * height
    return max(width - PANEL, 0.25 * width), height, -0.5 * min(PANEL, 0.75 * width), 0.0


def framed(recording: Recording, width: float, height: float) -> Camera:
    """A camera with the whole motion in the free part of a window of so many pixels."""
    low, high = recording.bounds
    radius, centre = max(float(np.linalg.norm(high - low)) / 2, 1e-6), (low + high) / 2
    up = recording.scene.up
    side = side_direction(up)
    view = 0.45 * side - np.cross(up, side) + 0.42 * up
    view /= np.linalg.norm(view)
    right = np.cross(up, view)
    right /= np.linalg.norm(right)
    over = np.cross(view, right)
    free = free_part(width, height)
    corners = np.stack(np.meshgrid(*zip(low, high)), axis=-1).reshape(-1, 3) - centre
    seen = corners @ np.column_stack([right, over, view])
    pixels = height / 2 / np.tan(FOV / 2)

    def fits(away: float) -> bool:
        """Whether all corners of the box are in the free part from this distance; the middle is shifted by as many pixels as the part is."""
        depth = away - seen[:, 2]
        across = (seen[:, 0] + free[2] * away / pixels) * pixels / depth - free[2]
        above = (seen[:, 1] + free[3] * away / pixels) * pixels / depth - free[3]
        return bool(np.all(np.abs(across) <= MARGIN * free[0] / 2) and np.all(np.abs(above) <= MARGIN * free[1] / 2))

    near, far = radius * 1.05, radius * 1.1
    while not fits(far):
        near, far = far, 1.5 * far
    for _ in range(30):
        middle = 0.5 * (near + far)
        near, far = (near, middle) if fits(middle) else (middle, far)
    target = centre - far / pixels * (free[2] * right + free[3] * over)
    return Camera(target + far * view, target, up)


class Framing:
    """Cameras of all windows: set when one is opened, when its shape changes and when its reader asks for it.

    Parameters
    ----------
    server : viser.ViserServer
    recording : Recording
        What is to be seen at first; `use` changes it.
    """

    def __init__(self, server: Any, recording: Recording) -> None:
        self._server, self._recording = server, recording
        self._shape: dict[int, tuple[int, int]] = {}
        self._told: dict[int, tuple[Camera, float]] = {}  # windows that may go back to another camera, and until when
        self._begin()
        server.on_client_connect(self._connected)

    def _begin(self) -> None:
        """The camera of windows that are opened, or whose scene is made anew."""
        first = framed(self._recording, 1280, 800)
        near, far = self._depth()
        camera = self._server.initial_camera
        camera.position, camera.look_at, camera.up = tuple(first.position), tuple(first.target), tuple(first.up)
        camera.fov, camera.near, camera.far = FOV, near, far

    def use(self, recording: Recording) -> None:
        """Let another motion be what is fitted; windows stay as they are until they are asked for."""
        self._recording = recording

    def insist(self) -> None:
        """Fit all windows, and once more those that go back to another camera within PATIENCE: a page whose scene is made anew does."""
        self._begin()
        for client_id, client in self._server.get_clients().items():
            camera = client.camera
            wanted = framed(self._recording, float(camera.image_width), float(camera.image_height))
            self._told[client_id] = wanted, time.monotonic() + PATIENCE
        self.fit()

    def add_button(self) -> None:
        """A button of the panel that fits the robot into the window it is pressed in."""
        button = self._server.gui.add_button("Fit", hint="the whole robot beside the panel")
        button.on_click(lambda event: self.fit(event.client))

    def fit(self, client: Any = None) -> None:
        """Move the camera of a window, or of all."""
        for one in [client] if client is not None else self._server.get_clients().values():
            camera = one.camera
            found = framed(self._recording, float(camera.image_width), float(camera.image_height))
            near, far = self._depth()
            with one.atomic():
                camera.up_direction = found.up
                camera.position, camera.look_at = found.position, found.target
                camera.fov, camera.near, camera.far = FOV, near, far

    def _depth(self) -> tuple[float, float]:
        low, high = self._recording.bounds
        radius = max(float(np.linalg.norm(high - low)) / 2, 1e-6)
        return 0.01 * radius, 100 * radius

    def _connected(self, client: Any) -> None:
        client.camera.on_update(lambda _camera: self._shaped(client))
        self.fit(
            client
        )  # its own camera tells that it has moved, and is fitted once more: the page may have been too early

    def _shaped(self, client: Any) -> None:
        """Fit again if the shape of the window is another one, or if it does not do what it was told by `insist`."""
        wanted, end = self._told.get(client.client_id, (None, 0.0))
        if wanted is not None and time.monotonic() > end:
            self._told.pop(client.client_id, None)
        elif wanted is not None and not np.allclose(client.camera.position, wanted.position, rtol=1e-3, atol=1e-6):
            self._told.pop(client.client_id, None)
            self.fit(client)
        shape = int(client.camera.image_width), int(client.camera.image_height)
        if min(shape) > 0 and self._shape.get(client.client_id) != shape:
            self._shape[client.client_id] = shape
            self.fit(client)
