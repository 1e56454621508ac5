"""The single rods of [000]: Table I at its own step, and the stability of large steps."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .. import gallery
from ..solve.result import Result
from ..solve.simulate import simulate
from ..solve.statics import solve_statics
from ..system import System
from .declare import Experiment, Measured, Number, Outcome, Table
from .measure import cpu, distance, short

__all__ = ["RODS"]

# [000] Table I: computing time over simulated time
PRINTED = {
    "stiff cantilever": (71.9, 336.0, 6173.0, 4.5, 7.1),
    "soft cantilever": (None, 133.0, 1675.0, 1.9, 9.1),
    "stiff flying rod": (52.2, 36.0, 2806.0, 7.2, 8.5),
    "soft flying rod": (None, 1.6, 609.0, 1.8, 7.9),
}
METHODS: dict[str, dict[str, Any]] = {
    "Newmark, step 0.01 s": {"method": "newmark", "step": 0.01},
    "pliant, step 0.01 s": {"step": 0.01},
    "pliant, error control": {"max_step": 0.1},
    "explicit, 1e-6": {"method": "rk45", "rtol": 1e-6, "atol": 1e-6, "max_step": 0.1},
}


@cache
def _made(name: str) -> tuple[System, dict[str, Any], float, float, tuple[str, ...]]:
    """System, options of its motion, duration [s], length [m], observed frames."""
    kind, what = name.split(" ", 1)
    if what == "cantilever":
        module = gallery.load("cantilever_swing")
        system = module.build(kind)
        start = solve_statics(system, {"pull": 1.0})
        return system, {"start": start}, module.RODS[kind][-1], module.RODS[kind][0], ("rod.tip",)
    module = gallery.load("flying_rods")
    system = module.stiff() if kind == "stiff" else module.soft()
    return system, {"u": module.kick}, 10.0, 1.0 if kind == "stiff" else 10.0, ("rod.base", "rod.tip")


@cache
def _exact(name: str) -> Result:
    system, options, duration, _length, _frames = _made(name)
    return simulate(system, duration, rtol=1e-9, atol=1e-10, max_step=0.1, **options)


def table1(quick: bool) -> Outcome:
    """Table I: time per simulated second and error of each rod by each method."""
    values, rows = {}, []
    for name, printed in PRINTED.items():
        system, options, duration, length, frames = _made(name)
        times = np.linspace(0, duration, 101)
        cells = []
        for label, how in METHODS.items():
            seconds, run = cpu(lambda: simulate(system, duration, **options, **how), 1 if quick else 4, longest=2.0)  # noqa: B023
            error = float(distance(run, _exact(name), frames, times).max() / length)
            cells.append(f"{short(seconds / duration, 2)} ({error:.0e})")
            if label in ("Newmark, step 0.01 s", "pliant, error control"):
                values[f"{name}, {label}"] = Measured(seconds / duration, error, "of the length")
        shown = ["fails" if p is None else f"{p:g}" for p in printed]
        rows.append((name, *shown, *cells))
    head = ("rod", "shooting [10, 11]", "PyElastica [24]", "explicit [26]", "explicit [27]", "the article", *METHODS)
    caption = (
        "Computing time over simulated time; printed, then pliant's with the largest error of the ends over the length"
    )
    return Outcome(values, [Table(caption, head, rows)])


def snapshots(quick: bool) -> Outcome:
    """Figures 5 and 6, with what is conserved."""
    swing, fly = gallery.load("cantilever_swing"), gallery.load("flying_rods")
    runs = {
        kind: swing.swing(
            swing.build(kind), swing.RODS[kind][-1], rtol=1e-6, atol=1e-7, output=swing.RODS[kind][-1] / 100
        )
        for kind in ("soft", "stiff")
    }
    flights = {
        system.name: simulate(system, 10.0, u=fly.kick, output=0.1, rtol=1e-6, atol=1e-7, max_step=0.1)
        for system in (fly.soft(), fly.stiff())
    }
    momentum = float(np.linalg.norm(flights["soft flying rod"].momenta().linear[-1]))
    values = {
        "energy kept, soft cantilever": Measured(swing.energy_error(runs["soft"])),
        "energy kept, stiff cantilever": Measured(swing.energy_error(runs["stiff"])),
        "momentum after the kick over the impulse of the load, soft flying rod": Measured(momentum / 50.0),
        "momentum and energy kept after the kick, soft flying rod": Measured(
            max(fly.conserved(flights["soft flying rod"]))
        ),
    }
    figures = {"figure5": swing.figures(runs)["snapshots"], "figure6": fly.figures(flights)["snapshots"]}
    return Outcome(values, figures=figures)


FACTORS = (0.01, 0.1, 1.0, 10.0, 100.0)


def _stiff(module: Any, factor: float, gentle: bool) -> System:
    """The stiff cantilever with another modulus, pulled by 10 N or by EI/l²."""
    length, density, young, radius, force, duration = kept = module.RODS["stiff"]
    pull = factor * young * np.pi / 4 * radius**4 / length**2 if gentle else force
    module.RODS["stiff"] = (length, density, factor * young, radius, pull, duration)
    try:
        return module.build("stiff")
    finally:
        module.RODS["stiff"] = kept


def _fastest(system: System) -> float:
    """Largest frequency of the straight rod [rad/s]."""
    return float(
        np.sqrt(
            np.linalg.eigvals(
                np.linalg.solve(system.mass_matrix(system.neutral()), system.stiffness_matrix())
            ).real.max()
        )
    )


def stability(quick: bool) -> Outcome:
    """A step of 0.1 s for moduli times 0.01 to 100."""
    module = gallery.load("cantilever_swing")
    rows, speeds = [], []
    completed: dict[tuple[bool, str], list[bool]] = {}
    for factor in FACTORS:
        cells = []
        for gentle in (True, False):
            system = _stiff(module, factor, gentle)
            start = solve_statics(system, {"pull": 1.0})
            for label, how in {"Newmark": {"method": "newmark"}, "α, ρ = 0.8": {"rho": 0.8}}.items():
                run = simulate(system, 10.0, start=start, step=0.1, **how)  # type: ignore[arg-type]
                energy = run.energies().total
                span = energy[0] - system.gravitational_energy(system.neutral())
                growth = float((energy.max() - energy[0]) / span)
                good = run.success and growth < 0.2
                completed.setdefault((gentle, label), []).append(good)
                cells.append(f"10 s, energy {growth:+.0%}" if run.success else f"ends at {run.t[-1]:.1f} s")
        rows.append((f"{factor:g}", *cells))
        speeds.append(_fastest(_stiff(module, factor, True)))
    slopes = np.diff(np.log(speeds)) / np.diff(np.log(FACTORS))
    values = {
        "moduli of 5 that Newmark's method gets through, pulled by EI/l²": Measured(
            float(sum(completed[True, "Newmark"]))
        ),
        "moduli of 5 that Newmark's method gets through, pulled by 10 N": Measured(
            float(sum(completed[False, "Newmark"]))
        ),
        "explicit: exponent of E in the largest stable step": Measured(-float(slopes.mean())),
    }
    head = ("E times", "EI/l², Newmark", "EI/l², α method", "10 N, Newmark", "10 N, α method")
    return Outcome(values, [Table("10 s in steps of 0.1 s; growth of the energy over that of the start", head, rows)])


def _numbers() -> tuple[Number, ...]:
    out = []
    for name, printed in PRINTED.items():
        out.append(Number(f"{name}, Newmark, step 0.01 s", printed[-1], "s/s", "time"))
        out.append(Number(f"{name}, pliant, error control", None, "s/s", "time"))
    return tuple(out)


RODS = (
    Experiment(
        key="000-table1",
        place="X.A, Table I",
        title="Computing time of four rods",
        verdict="differs",
        run=table1,
        why="machines and languages are others, and PyElastica and the shooting method are other programs (those columns are only quoted; [side by side](../benchmarks.md) measures PyElastica). "
        "The paper's conclusion holds: with implicit integration the time hardly depends on the stiffness. Its common step of 0.01 s, however, resolves three of the rods and "
        "not the stiff cantilever, which is released from so strong a bend that this step leaves it off by a quarter of its length.",
        reading="soft cantilever: force 50 N; stiff one: 10 N, of whose equilibria the one of least energy is taken. Loads of the flying rods are in a figure only; those of the example are of the "
        "kind and size used in the literature. “Explicit” here is Dormand and Prince's method, as ode45.",
        example="cantilever_swing",
        numbers=_numbers(),
    ),
    Experiment(
        key="000-rods",
        place="X.A, figs 5 and 6",
        title="Snapshots of the cantilevers and the flying rods",
        verdict="reproduced",
        run=snapshots,
        example="flying_rods",
        why="No coordinates are printed; energy and momentum are kept.",
        reading="the rods hang along gravity, the force is horizontal. Flying rods as in Table I.",
        numbers=(
            Number("energy kept, soft cantilever", None, ""),
            Number("energy kept, stiff cantilever", None, ""),
            Number("momentum after the kick over the impulse of the load, soft flying rod"),
            Number("momentum and energy kept after the kick, soft flying rod", None, ""),
        ),
        figure_captions={
            "figure5": "Figure 5: cantilevers after release",
            "figure6": "Figure 6: flying rods, projected on two planes",
        },
    ),
    Experiment(
        key="000-stability",
        place="X.A, after Table I",
        title="Stability with a step of 0.1 s for E × 0.01 to 100",
        verdict="differs",
        run=stability,
        example="cantilever_swing",
        why="the claim holds for a rod that is bent moderately, by a force of EI/l², over all five moduli and 10 s. It does not hold for the bend of figure 5 b: released from 10 N, which is "
        "1000 EI/l² for the printed modulus, Newmark's method with 0.1 s gains energy until pliant stops it, or Newton's iteration finds no solution; only the stiffest rod is got through, and gains two thirds of "
        "its energy. The α method fares little better.",
        reading="the paper does not say from which start and for how long; 10 s are taken. Its critical step of PyElastica, 3.4e-6 s, belongs to that program; that explicit steps shrink with √E holds for any.",
        numbers=(
            Number(
                "moduli of 5 that Newmark's method gets through, pulled by EI/l²", 5.0, "", "equal", 1e-9, shown="5"
            ),
            Number("moduli of 5 that Newmark's method gets through, pulled by 10 N", 5.0, "", "equal", 1e-9, shown="5"),
            Number("explicit: exponent of E in the largest stable step", -0.5, "", "equal", 0.01),
        ),
    ),
)
