"""Work and precision of time integrators on the motions of motions.py.

    python benchmarks/integrators.py [--quick] [--methods NAME,...] [--problems NAME,...] [--rtol 1e-3,1e-4] [--repeats 3]
                                     [--json FILE] [--figure FILE]

Prints a table in Markdown for each problem. A method is a name that `pliant.simulate` knows, "default" for none, or a name
and a number of constant steps, such as ``midpoint/400``. The absolute tolerance is a tenth of the relative one.

=========  ==========================================================================================================
e_pos      largest error of position at the steps, of the frames looked at, over the length
e_vel      largest ‖Δv/s‖ at the steps over the largest ‖v/s‖, with s the natural size of each coordinate
between    the same two at 400 even times, which lie between the steps
work       residuals + 7.4 factorisations + 0.15 iterations + 3 steps: about the cost in residuals (implicit methods)
ms         shortest time of a run with output at its steps, over repeats in which all methods take turns
growth     for passive robots: largest growth of the energy over its swing (range and largest kinetic energy)
=========  ==========================================================================================================

References are computed once (some minutes for all) and kept in build/references. Problem "root" is another table: the moment
at the root of a stiff damped rod at the first four of constant steps.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import motions
import numpy as np
from motions import PROBLEMS, QUICK, Problem, Reference

import pliant as pl
from pliant.solve.methods import METHODS as KNOWN

METHODS = [name for name in ("esdirk3", "esdirk5", "generalized-alpha", "radau") if name in KNOWN]
TOLERANCES = (1e-3, 1e-4, 1e-5)
STEPS = (0.2, 0.05, 0.01, 0.001)  # s, of the table of the root's moment
BETWEEN = 400


@dataclass
class Row:
    """What one method did with one problem."""

    problem: str
    method: str
    setting: str
    ok: bool = False
    position: float = np.nan
    velocity: float = np.nan
    position_between: float = np.nan
    velocity_between: float = np.nan
    steps: int = 0
    rejected: int = 0
    iterations: int = 0
    factorisations: int = 0
    residuals: int = 0
    milliseconds: float = np.inf
    growth: float = np.nan
    message: str = ""

    @property
    def work(self) -> float:
        """Cost in residuals; unknown for methods that count otherwise."""
        if not self.iterations:
            return np.nan
        return self.residuals + 7.4 * self.factorisations + 0.15 * self.iterations + 3 * self.steps


def settings(method: str, problem: Problem, tolerances: list[float]) -> dict[str, dict[str, Any]]:
    """Arguments of `simulate` for each setting of a method, by its name."""
    name, _, count = method.partition("/")
    chosen = {} if name == "default" else {"method": name}
    if count:
        return {f"{count} steps": {**chosen, "step": problem.duration / int(count)}}
    return {f"{x:.0e}": {**chosen, "rtol": x, "atol": 0.1 * x} for x in tolerances}


def short(text: str, size: int = 70) -> str:
    """The beginning of a message, fit for a table."""
    text = " ".join(text.split()).replace("|", "/")
    return text if len(text) <= size else text[: size - 1] + "…"


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """Numbers that are not finite as None, which files can hold."""
    return {k: None if isinstance(x, float) and not np.isfinite(x) else x for k, x in row.items()}


def look(row: Row, problem: Problem, exact: Reference, options: dict[str, Any]) -> float:
    """Run once and note errors and counts; returns the seconds that it took."""
    times = np.linspace(0, problem.duration, BETWEEN + 1)
    try:
        begin = time.perf_counter()
        run = motions.simulate(problem, **options)
        seconds = time.perf_counter() - begin
        if run.success:
            between = motions.simulate(problem, times, **options)
    except (ValueError, TypeError, KeyError) as error:  # the method is not there, or not for this problem
        row.message = str(error)
        return np.inf
    work = run.statistics
    for name in ("steps", "rejected", "iterations", "factorisations", "residuals"):
        setattr(row, name, getattr(work, name))
    row.ok = run.success
    notes = [] if run.success else [run.message]
    row.message = "; ".join([*notes, *(text for text in run.warnings if "points=" not in text)])
    if run.success:
        row.position, row.velocity = motions.errors(problem, run, exact.run)
        row.position_between, row.velocity_between = motions.errors(problem, between, exact.run)
    if problem.passive:
        growth, swing = motions.energy_growth(run)
        row.growth = growth / swing if swing > 0 else 0.0
    return seconds


def compare(
    name: str,
    problem: Problem,
    exact: Reference,
    methods: list[str],
    tolerances: list[float],
    repeats: int,
    wall: float,
) -> list[Row]:
    """All methods on one problem, taking turns."""
    tasks = [
        (Row(name, method, setting), {**options, "max_wall_time": wall})
        for method in methods
        for setting, options in settings(method, problem, tolerances).items()
    ]
    for turn in range(repeats):
        for row, options in tasks:
            if turn == 0:
                seconds = look(row, problem, exact, options)
            elif not row.ok or row.milliseconds > 2000:  # not worth another
                continue
            else:
                begin = time.perf_counter()
                motions.simulate(problem, **options)
                seconds = time.perf_counter() - begin
            row.milliseconds = min(row.milliseconds, 1e3 * seconds)
    return [row for row, _options in tasks]


COLUMNS = (
    "method | rtol | e_pos | e_vel | between | | steps | rejected | iterations | LU | residuals | work | ms | growth | "
)


def table(problem: Problem, exact: Reference, rows: list[Row]) -> str:
    """The rows of a problem in Markdown."""
    head = (
        f"### {problem.title} ({problem.system.nv} dof; reference {problem.exact[0]} {problem.exact[1]:.0e}, "
        f"good to {exact.position:.0e} / {exact.velocity:.0e})"
    )
    lines = [head, "", f"| {COLUMNS}|", "|---|---" + "|---:" * 12 + "|---|"]
    for r in rows:
        numbers = [f"{x:.1e}" for x in (r.position, r.velocity, r.position_between, r.velocity_between)]
        counts = [str(x) for x in (r.steps, r.rejected, r.iterations, r.factorisations, r.residuals)]
        rest = ["" if np.isnan(r.work) else f"{r.work:.0f}", f"{r.milliseconds:.2f}"]
        rest += ["" if np.isnan(r.growth) else f"{r.growth:.1e}", short(r.message)]
        lines.append("| " + " | ".join([r.method, r.setting, *numbers, *counts, *rest]) + " |")
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------- the moment at the root


def root_moments(methods: list[str]) -> list[dict[str, Any]]:
    """The moment at the root of the stiff rod at the first four of constant steps [N m]."""
    problem = motions.stiff_rod()
    out = []
    for h in STEPS:
        times = h * np.arange(1, 5)
        exact = pl.simulate(problem.system, 4 * h, method="radau", rtol=1e-9, atol=1e-9, output=times)
        out.append(
            {"step": h, "method": "exact", "moments": motions.root_moment(exact).tolist(), "steps": 4, "note": ""}
        )
        for name in dict.fromkeys(method.partition("/")[0] for method in methods):
            chosen = {} if name == "default" else {"method": name}
            try:
                run = pl.simulate(problem.system, 4 * h, step=h, output=times, **chosen)
            except (ValueError, TypeError) as error:
                if h == STEPS[0]:
                    out.append({"step": h, "method": name, "moments": [], "steps": 0, "note": str(error)})
                continue
            moments = motions.root_moment(run).tolist() if run.success else []
            note = "" if run.success else run.message
            out.append({"step": h, "method": name, "moments": moments, "steps": run.statistics.steps, "note": note})
    return out


def root_table(rows: list[dict[str, Any]]) -> str:
    """The moments in Markdown."""
    lines = ["### stiff damped rod, constant steps from rest: moment at the root [N m] (3.25 at rest)", ""]
    lines += [
        "| step [s] | method | first | second | third | fourth | steps taken | |",
        "|---:|---|" + "---:|" * 5 + "---|",
    ]
    for row in rows:
        moments = [f"{x:.3f}" for x in row["moments"]] or [""] * 4
        cells = [f"{row['step']:g}", row["method"], *moments, str(row["steps"]), short(row["note"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------- figure


def draw(rows: list[Row], titles: dict[str, str], path: Path) -> None:
    """Error against time, a panel per problem: position with full lines, velocity with broken ones."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
    from PIL import Image

    names = list(titles)
    across = min(4, len(names))
    down = -(-len(names) // across)
    figure, axes = plt.subplots(
        down, across, figsize=(3.3 * across, 2.6 * down + 0.5), layout="constrained", squeeze=False
    )
    methods = list(dict.fromkeys(row.method.partition("/")[0] for row in rows))
    marks = "osDv^P*X"
    for ax, name in zip(axes.flat, names):
        for k, method in enumerate(methods):
            own = [r for r in rows if r.problem == name and r.method.partition("/")[0] == method and r.ok]
            ms = [r.milliseconds for r in own]
            look = {"color": f"C{k}", "marker": marks[k % len(marks)], "ms": 4, "lw": 1.2}
            ax.loglog(ms, [r.position_between for r in own], "-", **look)
            ax.loglog(ms, [r.velocity_between for r in own], "--", alpha=0.45, mfc="none", **look)
        ax.set_title(titles[name], fontsize=9)
        ax.grid(alpha=0.25, lw=0.5)
        ax.tick_params(labelsize=7)
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=20))
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
    for ax in list(axes.flat)[len(names) :]:
        ax.set_axis_off()
    for ax in axes[:, 0]:
        ax.set_ylabel("largest error", fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("time of a run [ms]", fontsize=8)
    handles = [
        Line2D([], [], color=f"C{k}", marker=marks[k % len(marks)], ms=4, label=m) for k, m in enumerate(methods)
    ]
    handles += [
        Line2D([], [], color="0.3", label="position / length"),
        Line2D([], [], color="0.3", ls="--", alpha=0.6, label="velocity / largest velocity"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(6, len(handles)), fontsize=8, frameon=False)
    figure.savefig(path, dpi=90)
    plt.close(figure)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(160)
    small.save(path, optimize=True)


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer problems, tolerances and repeats: about a minute")
    parser.add_argument("--methods", default=",".join(METHODS), help="names, separated by commas")
    parser.add_argument("--problems", help=f"of {', '.join(PROBLEMS)}, root; all if left out")
    parser.add_argument("--rtol", help="relative tolerances, separated by commas")
    parser.add_argument("--repeats", type=int, help="runs of which the shortest time counts (3; quick: 2)")
    parser.add_argument("--wall", type=float, default=20.0, help="limit of a run [s]")
    parser.add_argument("--fresh", action="store_true", help="compute references again")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--figure", type=Path, help="draw error against time into this file")
    given = parser.parse_args()
    methods = given.methods.split(",")
    names = given.problems.split(",") if given.problems else [*(QUICK if given.quick else PROBLEMS), "root"]
    unknown = [name for name in names if name not in PROBLEMS and name != "root"]
    if unknown:
        sys.exit(f"no problem {', '.join(unknown)}; there are {', '.join(PROBLEMS)}, root")
    tolerances = (
        [float(x) for x in given.rtol.split(",")] if given.rtol else list(TOLERANCES[: 2 if given.quick else 3])
    )
    repeats = given.repeats or (2 if given.quick else 3)
    os.environ.setdefault("PLIANT_QUIET", "1")
    rows: list[Row] = []
    titles: dict[str, str] = {}
    for name in names:
        if name == "root":
            continue
        problem = PROBLEMS[name]()
        exact = motions.reference(name, problem, fresh=given.fresh)
        found = compare(name, problem, exact, methods, tolerances, repeats, given.wall)
        rows += found
        titles[name] = problem.title
        print(table(problem, exact, found), flush=True)
    moments = root_moments(methods) if "root" in names else []
    if moments:
        print(root_table(moments))
    if given.json:
        where = {"python": platform.python_version(), "processor": platform.machine(), "pliant": pl.__version__}
        content = {"where": where, "rows": [plain({**asdict(row), "work": row.work}) for row in rows], "root": moments}
        given.json.write_text(json.dumps(content, indent=1) + "\n")
    if given.figure and rows:
        draw(rows, titles, given.figure)


if __name__ == "__main__":
    main()
