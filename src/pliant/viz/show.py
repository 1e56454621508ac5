"""The ways to look at a robot: `show`, `studio`, and the methods `view` and `save_html` of results."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ..model.robot import Robot
from ..system import Inputs, System

if TYPE_CHECKING:
    from ..solve.result import Result
    from .live import Viewer
    from .studio import Studio

__all__ = ["save_html", "save_result", "show", "studio", "view_result"]


def _system(system: System | Robot) -> System:
    if isinstance(system, Robot):
        return system.compile()
    if not isinstance(system, System):
        raise TypeError(
            f"system = {system!r} must be a Robot or a System. Results have a method of their own: result.view()."
        )
    return system


def show(system: System | Robot, q: ArrayLike | None = None, *, u: Inputs = None, **options: Any) -> Viewer:
    """Show a robot in one configuration, on a page in the browser (needs viser).

    Parameters
    ----------
    system : System or Robot
    q : array (nq,) or (T, nq), optional
        The configuration, or several to play one per second; neutral if left out.
    u : inputs, optional
        For the colours of tendons and the arrows of loads.
    host, port, color, blocking
        See `Result.view`.

    Returns
    -------
    Viewer
        With its `address` and `close()`.

    Examples
    --------
    >>> import pliant as pl
    >>> model = pl.parse_model(pl.io.starter_text())
    >>> viewer = pl.show(model.robot)  # doctest: +SKIP
    """
    from .live import Viewer
    from .recording import record

    s = _system(system)
    return Viewer(record(s, s.neutral() if q is None else q, u=u), **options)


def save_html(
    system: System | Robot, path: str | Path, q: ArrayLike | None = None, *, u: Inputs = None, color: str | None = None
) -> Path:
    """Write a robot in one configuration to an HTML file that any browser shows, without a network.

    Parameters
    ----------
    system : System or Robot
    path : str or Path
    q : array (nq,) or (T, nq), optional
        The configuration, or several to play one per second; neutral if left out.
    u : inputs, optional
        For the colours of tendons and the arrows of loads.
    color : str, optional
        What rods are coloured by at first; see `Result.save_html`.

    Examples
    --------
    >>> import pliant as pl
    >>> model = pl.parse_model(pl.io.starter_text())
    >>> pl.save_html(model.robot, "arm.html")  # doctest: +SKIP
    """
    from .html import write_html
    from .recording import record

    s = _system(system)
    return write_html(record(s, s.neutral() if q is None else q, u=u), path, color=color)


def view_result(result: Result, *, fps: float, frames: int, **options: Any) -> Viewer:
    """A page that plays a simulation; see `Result.view`."""
    from .live import Viewer
    from .recording import record_result

    return Viewer(record_result(result, fps=fps, frames=frames), **options)


def save_result(
    result: Result,
    path: str | Path,
    *,
    fps: float,
    frames: int,
    stations: int | None,
    autoplay: bool,
    color: str | None,
) -> Path:
    """A file that plays a simulation; see `Result.save_html`."""
    from .html import write_html
    from .recording import record_result

    recording = record_result(result, fps=fps, frames=frames, stations=stations)
    return write_html(recording, path, autoplay=autoplay, color=color)


def studio(system: System | Robot | str | Path, **options: Any) -> Studio:
    """A page with a slider for each input, where statics is solved as they move (needs viser).

    Parameters
    ----------
    system : System, Robot, or path of a model file
    ranges, gravity, host, port, blocking
        See `pliant.viz.studio.Studio`.

    Examples
    --------
    >>> import pliant as pl
    >>> model = pl.parse_model(pl.io.starter_text())
    >>> studio = pl.studio(model.robot)  # doctest: +SKIP
    """
    from .studio import Studio

    if isinstance(system, (str, Path)):
        load_model = import_module("pliant.io").load_model  # reads YAML, which needs a library of its own
        return Studio(_system(load_model(system)), **options)
    return Studio(_system(system), **options)
