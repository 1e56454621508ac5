"""The report of an identification as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..identification.data import MotionData
from ..model.validate import unknown_name
from .names import plot_text
from .style import COLORS, legend, panels, style

if TYPE_CHECKING:
    from ..identification.result import Identification

__all__ = ["plot_identification"]


def plot_identification(result: Identification, *, pair: tuple[str, str] | None = None) -> Any:
    """Measured beside predicted, residuals, a confidence ellipse and correlations in one figure, which is returned.

    Parameters
    ----------
    result : Identification
    pair : (str, str), optional
        Unknowns of the ellipse; the two that are correlated most if left out.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> from pliant.viz.fits import plot_identification
    >>> robot = pl.Robot("lever")
    >>> bar = robot.add_body("bar", joint=pl.Revolute("y", stiffness=2.0), mass=0.5, com=(0.2, 0, 0))
    >>> seen = pl.StaticData(values=[[0.1, 0.0, -0.17]] * 3, quantity=pl.costs.Position(bar.at((0.2, 0, 0))), sigma=1e-3)
    >>> found = pl.identify(robot.compile(), seen, ["bar.joint.stiffness"])
    >>> len(plot_identification(found).axes) >= 4
    True
    """
    figure, (compare, left, ellipse, table) = panels(2, 2, size=(9.5, 7.0))
    with style():
        _compare(compare, result)
        _residuals(left, result)
        _ellipse(ellipse, result, pair)
        _correlations(figure, table, result)
    return figure


def _compare(ax: Any, result: Identification) -> None:
    """Measured against predicted; motions over time if there is nothing else."""
    moving = all(isinstance(d, MotionData) for d in result.data)
    for k, d in enumerate(result.data):
        seen, found, color = d.values, result.predicted(k), COLORS[k % len(COLORS)]
        if moving and isinstance(d, MotionData):
            ax.plot(d.t, seen, ".", color=color, ms=2.5)
            ax.plot(d.t, found, "-", color=color, label=[plot_text(d.name), *[None] * (seen.shape[1] - 1)])
        else:
            ax.plot(seen.ravel(), found.ravel(), ".", color=color, ms=3, label=plot_text(d.name))
    if moving:
        ax.set(xlabel="t [s]", ylabel="measured (dots), predicted", title="Motion")
    else:
        ends = ax.get_xlim()
        ax.plot(ends, ends, "-", color="0.6", lw=0.8, zorder=0)
        ax.set(xlabel="measured", ylabel="predicted", title="Measured and predicted")
    legend(ax)


def _residuals(ax: Any, result: Identification) -> None:
    """Residuals in units of sigma, one number after the other, with a histogram at the side."""
    first, everything = 0, []
    for k, d in enumerate(result.data):
        off = (result.residuals(k) / d.sigma).ravel()
        ax.plot(first + np.arange(off.size), off, ".", ms=2.5, color=COLORS[k % len(COLORS)])
        first += off.size
        everything.append(off[np.isfinite(off)])
    for level in (-2, 2):
        ax.axhline(level * result.noise, color="0.6", lw=0.8, ls="--")
    side = ax.inset_axes([1.01, 0, 0.16, 1], sharey=ax)
    side.hist(np.concatenate(everything), bins=25, orientation="horizontal", color="0.7")
    side.axis("off")
    ax.set(xlabel="number", ylabel="predicted − measured [sigma]", title=f"Residuals; scatter {result.noise:.2g} sigma")


def _ellipse(ax: Any, result: Identification, pair: tuple[str, str] | None) -> None:
    """The joint confidence region of two unknowns, and their intervals."""
    from scipy.stats import f as fisher

    n = len(result.names)
    if n < 2:
        low, high = result.intervals[result.names[0]]
        ax.errorbar([result[result.names[0]]], [0], xerr=[[result[result.names[0]] - low], [high - result[result.names[0]]]], fmt="o", capsize=4)  # fmt: skip
        ax.set(xlabel=plot_text(result.names[0]), yticks=[], title=f"Interval, {100 * result.confidence:g} %")
        return
    if pair is None:
        size = np.abs(np.where(np.isfinite(result.correlation), result.correlation, 0.0) - np.eye(n))
        i, j = sorted(divmod(int(np.argmax(size)), n))
    else:
        for name in pair:
            if name not in result.names:
                raise unknown_name("unknown", name, result.names)
        i, j = (result.names.index(name) for name in pair)
    C = result.covariance[np.ix_([i, j], [i, j])]
    unknowns = result._problem.unknowns
    if np.all(np.isfinite(C)) and result.degrees > 0:
        radius = np.sqrt(2 * fisher.ppf(result.confidence, 2, result.degrees))
        values, vectors = np.linalg.eigh(C)
        turn = np.linspace(0, 2 * np.pi, 121)
        circle = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * np.array([np.cos(turn), np.sin(turn)]))
        y = np.tile(result._y, (len(turn), 1))
        y[:, [i, j]] += radius * circle.T
        x = np.array([unknowns.values(row) for row in y])
        ax.plot(x[:, i], x[:, j], "-", color=COLORS[0])
    ax.plot(result[result.names[i]], result[result.names[j]], "o", color=COLORS[1])
    for which, name, line in ((i, result.names[i], ax.axvspan), (j, result.names[j], ax.axhspan)):
        if np.isfinite(result.covariance[which, which]):
            line(*result.intervals[name], color="0.92", zorder=0)
    ax.set(
        xlabel=plot_text(result.names[i]),
        ylabel=plot_text(result.names[j]),
        title=f"Confidence region, {100 * result.confidence:g} %",
    )


def _correlations(figure: Any, ax: Any, result: Identification) -> None:
    n = len(result.names)
    picture = ax.imshow(result.correlation, cmap="RdBu_r", vmin=-1, vmax=1)
    names = [plot_text(name) for name in result.names]
    ax.set_xticks(range(n), names if n <= 12 else [""] * n, rotation=60, ha="right")
    ax.set_yticks(range(n), names, fontsize=8 if n <= 20 else 6)
    ax.grid(visible=False)
    ax.set_title("Correlations of the estimates")
    figure.colorbar(picture, ax=ax, shrink=0.8)
