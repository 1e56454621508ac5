"""Plots of reachable sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .names import plot_text
from .style import axes

if TYPE_CHECKING:
    from ..many.reach import ReachableSet

__all__ = ["plot_reach"]


def plot_reach(reach: ReachableSet, frame: str, *, ax: Any = None, colors: bool = True, size: float = 3.0) -> Any:
    """Draw where a frame can be.

    Parameters
    ----------
    reach : ReachableSet
    frame : str
    ax : matplotlib 3D Axes, optional
    colors : bool
        Show manipulability by colour, where it is known.
    size : float
        Of the points.

    Returns
    -------
    Axes
    """
    points = reach.points(frame)[reach.reached]
    with axes(ax, space=True, size=(5.6, 4.6)) as own:
        known = colors and frame in reach.slopes
        value = reach.manipulability(frame)[reach.reached] if known else None
        drawn = own.scatter(
            *points.T, s=size, c=value, cmap="viridis" if known else None, linewidths=0, depthshade=False
        )
        own.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", title=plot_text(frame))
        if len(points):
            own.set_box_aspect(np.maximum(np.ptp(points, axis=0), 1e-9))
        if known:
            own.get_figure().colorbar(drawn, ax=own, shrink=0.7, pad=0.12, label="manipulability")
    return own
