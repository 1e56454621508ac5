"""Pictures of a task, by matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .flock import Flock
from .task import Task

__all__ = ["Picture"]


class Picture:
    """A figure that is drawn anew for each picture.

    Parameters
    ----------
    task : Task
    window : bool
        Whether it is shown in a window; otherwise it is an array.
    """

    def __init__(self, task: Task, *, window: bool) -> None:
        from ..viz.style import pyplot

        self._task, self._window = task, window
        plt = pyplot()
        if window:
            self._figure = plt.figure(task.system.name, figsize=(4.8, 3.6), dpi=100)
        else:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure

            self._figure = Figure(figsize=(4.8, 3.6), dpi=100)
            FigureCanvasAgg(self._figure)
        space = task.view == "3d"
        self._axes = self._figure.add_axes((0.02, 0.02, 0.96, 0.96), projection="3d" if space else None)

    def draw(self, flock: Flock, k: int) -> NDArray[np.uint8] | None:
        """Robot k as an array (360, 480, 3) of bytes, or in the window."""
        from ..viz.drawing import plot_shape

        task, ax = self._task, self._axes
        ax.clear()
        plot_shape(flock.system(k), flock.q[k], view=task.view, ax=ax)
        axes = range(3) if task.view == "3d" else ["xyz".index(c) for c in task.view]
        for name in task.marks:
            place = flock.own[name][k]
            ax.plot(*([place[i]] for i in axes), "o", color="#c0392b", ms=8)
        for i, limits in zip(axes, (ax.set_xlim, ax.set_ylim, getattr(ax, "set_zlim", None))):
            limits(*task.box[i])
        if task.view == "3d":
            ax.set_box_aspect([high - low for low, high in task.box], zoom=1.4)
        else:
            ax.set_aspect("equal", adjustable="box")
        ax.set_axis_off()
        if self._window:
            from ..viz.style import pyplot

            pyplot().pause(0.001)
            return None
        canvas: Any = self._figure.canvas
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()

    def close(self) -> None:
        """Close the window."""
        if self._window:
            from ..viz.style import pyplot

            pyplot().close(self._figure)
