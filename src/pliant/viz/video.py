"""Videos of a motion, written by matplotlib."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._files import replacing
from ..model.validate import choice, integer, positive
from .drawing import VIEWS, Canvas, draw_robot, draw_surroundings
from .polygons import Scene
from .style import COLORS, pyplot, style

__all__ = ["save_video"]

_FFMPEG = (".mp4", ".m4v", ".mov", ".mkv")
_FULL = "No space left on device"  # as ffmpeg says it


def save_video(
    result: Any,
    path: str | Path,
    *,
    fps: int = 25,
    speed: float = 1.0,
    view: str = "3d",
    tendons: bool = True,
    trace: str | None = None,
    size: tuple[float, float] = (6.4, 4.8),
    dpi: int = 100,
) -> Path:
    """Write the motion as a video: .gif (needs nothing further) or .mp4 (needs ffmpeg).

    Parameters
    ----------
    result : Result
    path : str or Path
        Its ending says which format: .gif, or .mp4, .m4v, .mov, .mkv.
    fps : int
        Pictures per second. A gif merges neighbouring pictures that are equal.
    speed : float
        Simulated seconds per second of the video.
    view, tendons
        As in `plot_shape`.
    trace : str, optional
        A frame whose path is drawn, e.g. "arm.tip".
    size, dpi
        Width and height [inch] and resolution [1/inch].

    Returns
    -------
    Path
        Where it was written.
    """
    choice("view", view, VIEWS)
    integer("fps", fps, minimum=1)
    positive("speed", speed)
    path = Path(path)
    plt = pyplot()
    settings, writer = _writer(path, fps)
    from matplotlib.figure import Figure

    start, stop = float(result.t[0]), float(result.t[-1])
    count = max(1, round((stop - start) / speed * fps)) + 1 if stop > start else 1
    motion = result.resample(np.linspace(start, stop, count))
    way = None if trace is None else motion.positions(trace)
    scene = Scene(result.system, tendons=tendons)
    with style(), plt.rc_context({"figure.constrained_layout.use": False, **settings}):
        figure = Figure(figsize=size, dpi=dpi)
        ax = figure.add_subplot(**({"projection": "3d"} if view == "3d" else {}))
        canvas = Canvas(ax, view, result.system.gravity)
        draw_surroundings(canvas, scene, motion.q[0])
        for q in motion.q[:: max(1, count // 40)]:  # the limits hold for the whole motion
            faces, axes_of_rods = scene.polygons(q)[0], scene.centrelines(q).values()
            canvas.include(np.concatenate([faces.reshape(-1, 3), *axes_of_rods, scene.bodies(q)]))
        canvas.finish()
        if view != "3d":
            ax.set_aspect("equal", adjustable="box")
        ax.autoscale(False)
        canvas.artists.clear()
        with replacing(path) as part, _failures(path), writer.saving(figure, str(part), dpi):
            for k, q in enumerate(motion.q):
                draw_robot(canvas, scene, q)
                if way is not None:
                    canvas.line(way[: k + 1], color=COLORS[6], lw=1.0)
                ax.set_title(f"t = {motion.t[k]:.2f} s")
                writer.grab_frame()
                canvas.clear()
    return path


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    """Errors that say what went wrong, in place of the command that failed: no room on the disk, or what ffmpeg says."""
    try:
        yield
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace") if isinstance(error.stderr, bytes) else str(error.stderr or "")
        number = None
        if _FULL in said or shutil.disk_usage(path.parent).free == 0:
            number = errno.ENOSPC
        elif error.returncode == -getattr(signal, "SIGXFSZ", 0):
            number = errno.EFBIG
        text = f"the video {str(path)!r} could not be written"
        if number is not None:
            raise OSError(number, f"{os.strerror(number)}: {text}; what was there is as it was") from None
        last = "; ".join(said.strip().splitlines()[-3:]) or "it says nothing"
        raise RuntimeError(f"{text}: ffmpeg ended with {error.returncode} ({last}).") from None


def _writer(path: Path, fps: int) -> tuple[dict[str, Any], Any]:
    """Settings and matplotlib's writer for a file, by its ending."""
    from matplotlib import animation

    if path.suffix.lower() == ".gif":
        return {}, animation.PillowWriter(fps=fps)
    if path.suffix.lower() not in _FFMPEG:
        raise ValueError(f"path = {str(path)!r} must end in .gif or one of {', '.join(_FFMPEG)}.")
    try:
        import imageio_ffmpeg

        program = imageio_ffmpeg.get_ffmpeg_exe()
    except ImportError:
        program = shutil.which("ffmpeg") or ""
    if not program:
        raise RuntimeError(
            f"a {path.suffix} video needs ffmpeg, which was not found: pip install 'pliant[video]' (imageio-ffmpeg), or install ffmpeg; "
            "a .gif needs neither."
        )
    quality = ["-pix_fmt", "yuv420p", "-crf", "20"]
    return {"animation.ffmpeg_path": program}, animation.FFMpegWriter(fps=fps, codec="libx264", extra_args=quality)
