"""Work and precision: error of the tip against time, of everything that was tried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import scans
from measure import RODS
from tables import NAMES


def work_precision(results: dict[str, Any], path: Path) -> None:
    """A panel for each problem; small marks are all settings, lines join those that nothing of the same program beats."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 7), sharex=True, sharey=True, layout="constrained")
    for ax, problem in zip(axes.flat, scans.PROBLEMS, strict=True):
        for k, peer in enumerate(RODS):
            rows = [r for r in results["rod"]["rows"] if (r["peer"], r["problem"]) == (peer, problem)]
            points = sorted((1e3 * r["seconds"], r["error"]) for r in rows if "seconds" in r and r["error"] < 1)
            if not points:
                continue
            best, front = float("inf"), []
            for time, error in points:
                if error < best:
                    best = error
                    front.append((time, error))
            ax.loglog(*zip(*points, strict=True), ".", color=f"C{k}", alpha=0.25, markersize=3)
            ax.loglog(*zip(*front, strict=True), "o-", color=f"C{k}", markersize=4, label=NAMES[peer])
        for level in scans.LEVELS:
            ax.axhline(level, color="0.8", linewidth=0.8, zorder=0)
        ax.set_title(problem, fontsize=10)
        ax.legend(fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("ms per simulated second")
    for ax in axes[:, 0]:
        ax.set_ylabel("error of the tip / length")
    figure.savefig(path, dpi=110)
    plt.close(figure)
