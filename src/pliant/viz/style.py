"""One look for all plots: colours, fonts and axes, without touching matplotlib's global settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

__all__ = ["COLORS", "axes", "legend", "panels", "pyplot", "ramp", "style"]

COLORS = ("#3969b1", "#d1632c", "#3e9651", "#8c5fa8", "#c79a1c", "#2f9bb5", "#c2485c", "#6b6b6b", "#7a9a2c", "#a0694b")
"""Colours of lines, in the order of drawing."""

_SETTINGS: dict[str, Any] = {
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "axes.edgecolor": "0.35",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "xtick.color": "0.35",
    "ytick.color": "0.35",
    "xtick.labelcolor": "0.1",
    "ytick.labelcolor": "0.1",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "savefig.dpi": 150,
}


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'pliant[plot]'") from None
    return plt


@contextmanager
def style() -> Iterator[None]:
    """The look of pliant's plots, within a ``with`` block; outside nothing changes."""
    plt = pyplot()
    with plt.rc_context(_SETTINGS | {"axes.prop_cycle": plt.cycler(color=COLORS)}):
        yield


@contextmanager
def axes(ax: Any = None, *, space: bool = False, size: tuple[float, float] = (6.0, 3.4)) -> Iterator[Any]:
    """The axes to draw on, in pliant's style: those given, or new ones in a figure of their own.

    Parameters
    ----------
    ax : matplotlib Axes, optional
    space : bool
        Whether 3D axes are needed.
    size : (float, float)
        Width and height of a new figure [inch].
    """
    plt = pyplot()
    with style():
        if ax is None:
            kind = {"projection": "3d"} if space else {}
            ax = plt.figure(figsize=size).add_subplot(**kind)
        elif not hasattr(ax, "get_figure") or not hasattr(ax, "plot"):
            raise TypeError(f"ax = {ax!r} must be matplotlib axes, such as plt.subplot() returns.")
        elif (getattr(ax, "name", "") == "3d") != space:
            wanted = "3D axes: plt.subplot(projection='3d')" if space else "plane axes: plt.subplot(), or view='3d'"
            raise ValueError(f"ax = {ax!r} does not fit what is drawn, which needs {wanted}.")
        yield ax


def panels(rows: int = 1, columns: int = 1, *, space: bool = False, size: tuple[float, float] | None = None) -> Any:
    """A figure with several axes in pliant's style: (figure, array of axes (rows × columns,))."""
    plt = pyplot()
    kind = {"projection": "3d"} if space else {}
    with style():
        width, height = size or (min(3.6 * columns, 10.5) if columns > 1 else 6.0, 2.9 * rows)
        figure, grid = plt.subplots(rows, columns, figsize=(width, height), squeeze=False, subplot_kw=kind)
    return figure, grid.ravel()


def legend(ax: Any, **options: Any) -> None:
    """A legend in pliant's style, beside the axes if there are several curves, which it would cover; options as for matplotlib's."""
    count = len(ax.get_legend_handles_labels()[1])
    place: dict[str, Any] = {}
    if count > 2 or sum(len(line.get_xdata()) for line in ax.lines) > 5000:  # to look for the best place takes long
        place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "ncols": 1 + count // 16}
    with style():
        if count:
            ax.legend(**(place | options))


def ramp(values: Any, *, low: float = 0.0, high: float = 0.9) -> tuple[Any, Any]:
    """Colours (n, 4) for numbers, dark to bright, and the matplotlib mappable for a colour bar."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    plt = pyplot()
    colormap = ListedColormap(plt.get_cmap("viridis")(np.linspace(low, high, 256)))
    values = np.asarray(values, dtype=float)
    span = (values.min(), values.max()) if len(values) and np.ptp(values) > 0 else (0.0, 1.0)
    mappable = ScalarMappable(Normalize(*span), colormap)
    return mappable.to_rgba(values), mappable
