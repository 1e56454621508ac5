"""The dynamic tests of [004]: released beam, string on a moving base, beam that bends itself."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .. import gallery
from ..solve.simulate import simulate
from .declare import Experiment, Measured, Number, Outcome, Table
from .measure import cpu, short

__all__ = ["DYNAMICS"]


def _panels(*arguments: Any, **options: Any) -> Any:
    from ..viz.style import panels

    return panels(*arguments, **options)


def _legend(ax: Any) -> None:
    from ..viz.style import legend

    legend(ax)


# ---------------------------------------------------------------- test 4


def _figure_10(module: Any, runs: dict[int, Any]) -> Any:
    """Snapshots at 1 and 1.5 s with one to five functions."""
    figure, axes = _panels(1, 2, size=(8.4, 3.6))
    X = np.linspace(0, 1, 60)
    for ax, t in zip(axes, (1.0, 1.5)):
        for n, run in runs.items():
            shape = run.system.rod_poses("beam", run.resample([t]).q[0], X)[:, :2, 3]
            ax.plot(shape[:, 0], shape[:, 1], label=f"n = {n}")
        ax.set(xlabel="x [m]", ylabel="y [m]", title=f"t = {t} s", aspect="equal")
    _legend(axes[1])
    return figure


def released(quick: bool) -> Outcome:
    """Figures 8 to 10 and the convergence of eq. 61."""
    module = gallery.load("released_beam")
    moments = module.MOMENTS
    runs = {m: module.release(module.build(), m) for m in moments}
    rows, shares = [], {}
    for m in moments:
        errors = module.convergence(m, 6)
        shares[m] = errors / errors[0]
        rows.append((f"{m} N m", *(short(float(e), 2) for e in shares[m])))
    many = {n: module.release(module.build(n), 2.3, 1.5) for n in range(1, 6)}
    tight = module.release(module.build(), 5.4, rtol=1e-7, atol=1e-8)
    system = module.build()
    seconds, fast = cpu(lambda: module.release(system, 5.4), 3)
    explicit, slow = cpu(lambda: module.release(system, 5.4, method="rk45", rtol=1e-3, atol=1e-6), 1 if quick else 2)
    exact = tight.positions("beam.tip")
    off = [float(np.linalg.norm(r.positions("beam.tip") - exact, axis=1).max()) for r in (fast, slow)]
    last = [
        float(np.linalg.norm(a.positions("beam.tip")[-1] - b.positions("beam.tip")[-1]))
        for a, b in pairwise(list(many.values()))
    ]
    values = {
        "ε(6/5)/ε(2/1), largest of the three moments": Measured(100 * max(float(s[4]) for s in shares.values())),
        "tip at 1.5 s, 4 against 5 functions, 2.3 N m": Measured(last[-1]),
        "tip at 1.5 s, 1 against 2 functions, 2.3 N m": Measured(last[0]),
        "time of 1 s at 5.4 N m": Measured(seconds, off[0]),
        "the same with Dormand and Prince's method (ode45)": Measured(explicit, off[1]),
    }
    drawn = module.figures(runs)
    head = ("moment", *(f"ε({n + 1}/{n})/ε(2/1)" for n in range(1, 6)))
    figures = {"figure8": drawn["snapshots"], "figure9": drawn["tip"], "figure10": _figure_10(module, many)}
    return Outcome(values, [Table("Convergence by eq. 61", head, rows)], figures)


# ---------------------------------------------------------------- test 5


def string(quick: bool) -> Outcome:
    """Figures 11 to 13."""
    module = gallery.load("moving_base_pendulum")
    system = module.pendulum()
    seconds, run = cpu(lambda: simulate(system, 3.0, motion=module.MOTION, output=0.05), 3)
    explicit, other = cpu(
        lambda: simulate(system, 3.0, motion=module.MOTION, output=0.05, method="rk45", rtol=1e-3, atol=1e-6), 1
    )
    fine = module.run(module.pendulum(48), 1e-6)
    force = max(float(np.abs(f).max()) for f in fine.prescribed_forces().values())
    values = {
        "distance of the tip from an independent program": Measured(1e3 * module.error(fine)),
        "time of 3 s": Measured(seconds, 1e3 * module.error(run), "mm"),
        "the same with Dormand and Prince's method (ode45)": Measured(explicit, 1e3 * module.error(other), "mm"),
        "largest force that moves the base": Measured(force),
    }
    drawn = module.figures(fine)
    return Outcome(
        values, figures={"figure11": drawn["snapshots"], "figure12": drawn["plane"], "figure13": drawn["tip"]}
    )


# ---------------------------------------------------------------- test 6


def vacuum(quick: bool) -> Outcome:
    """Figures 14 and 15, and what is conserved."""
    module = gallery.load("swimming_in_vacuum")
    fine = module.swim(method="dop853", rtol=1e-7, atol=1e-7)
    seconds, run = cpu(module.swim, 3)
    _p, L, com = module.drift(run)
    values = {
        "angular momentum, default tolerance": Measured(L),
        "way of the centre of mass, default tolerance": Measured(com),
        "the same, tight tolerance": Measured(module.drift(fine)[2]),
        "ends, distance from an independent program": Measured(module.difference(fine)[0]),
        "time of 2 s": Measured(seconds, module.difference(run)[0]),
    }
    drawn = module.figures(fine)
    return Outcome(values, figures={"figure14": drawn["snapshots"], "figure15": drawn["curvatures"]})


DYNAMICS = (
    Experiment(
        key="004-test4",
        place="VIII.C.1, eqs 60–61, figs 8–10",
        title="Test 4: beam rolled up and released",
        verdict="reproduced",
        run=released,
        example="released_beam",
        reading="the beam of test 1, whose printed diameter is the radius.",
        numbers=(
            Number("ε(6/5)/ε(2/1), largest of the three moments", 1.0, "%", "at most", shown="below 1 %"),
            Number("tip at 1.5 s, 4 against 5 functions, 2.3 N m", None, "m"),
            Number("tip at 1.5 s, 1 against 2 functions, 2.3 N m", None, "m"),
            Number("time of 1 s at 5.4 N m", None, "s", "time"),
            Number("the same with Dormand and Prince's method (ode45)", None, "s", "time"),
        ),
        figure_captions={
            "figure8": "Figure 8: snapshots every 0.12 s for 0.8, 2.3 and 5.4 N m",
            "figure9": "Figure 9: the tip over time",
            "figure10": "Figure 10: the beam at 1 s and 1.5 s with one to five functions, 2.3 N m",
        },
    ),
    Experiment(
        key="004-test5",
        place="VIII.C.2, eq. 62, figs 11–13",
        title="Test 5: string with a weight on a moving base",
        verdict="reproduced",
        run=string,
        example="moving_base_pendulum",
        why="The paper prints no coordinates; the curves of its figures are those below, and an independent program in world coordinates agrees.",
        reading="the mass of the tip is a point mass (the minus sign of the printed M₁ is a misprint); the string hangs straight at the start and moves with the base.",
        numbers=(
            Number("distance of the tip from an independent program", None, "mm"),
            Number("time of 3 s", None, "s", "time"),
            Number("the same with Dormand and Prince's method (ode45)", None, "s", "time"),
            Number("largest force that moves the base", None, "N"),
        ),
        figure_captions={
            "figure11": "Figure 11: snapshots every 0.15 s",
            "figure12": "Figure 12: both ends in the y-z plane",
            "figure13": "Figure 13: the tip over time",
        },
    ),
    Experiment(
        key="004-test6",
        place="VIII.C.3, eqs 63–65, figs 14–15",
        title="Test 6: beam that bends itself in vacuum",
        verdict="reproduced",
        run=vacuum,
        example="swimming_in_vacuum",
        reading="the beam of test 4; it starts straight and at rest.",
        numbers=(
            Number("angular momentum, default tolerance", 1e-3, "kg m²/s", "at most"),
            Number("way of the centre of mass, default tolerance", 1e-3, "m", "at most"),
            Number("the same, tight tolerance", None, "m"),
            Number("ends, distance from an independent program", None, "m"),
            Number("time of 2 s", None, "s", "time"),
        ),
        figure_captions={
            "figure14": "Figure 14: snapshots every 0.3 s",
            "figure15": "Figure 15: both curvatures every 0.3 s",
        },
    ),
)
