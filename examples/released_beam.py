"""A beam rolled up by a moment at its tip and released: [004] test 4.

The beam of test 1 (1 m, radius 10 mm, printed as the diameter, E = 0.1 GPa, 1000 kg/m³, no gravity), bent by 0.8, 2.3 or
5.4 N m, is let go at t = 0. Chebyshev polynomials for the curvature, five of them; internal damping of 1 ms times the
stiffness. The paper shows snapshots every 0.12 s, the tip over time, and how the curvature converges with the number of
functions by ε(n+1/n), the mean square difference over time and length; for its three moments ε falls below 1 % of ε(2/1).
"""

from itertools import pairwise

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.plots import plot_convergence
from pliant.viz.style import panels

LENGTH, RADIUS, YOUNG, DENSITY, DAMPING = 1.0, 0.01, 1e8, 1000.0, 1e-3
EI, AREA = YOUNG * np.pi * RADIUS**4 / 4, np.pi * RADIUS**2
MOMENTS = (0.8, 2.3, 5.4)  # N m


def build(functions: int = 5, damping: float = DAMPING) -> pl.System:
    robot = pl.Robot("released beam", gravity=(0, 0, 0))
    beam = robot.add_rod(
        "beam",
        length=LENGTH,
        section=pl.Circle(RADIUS),
        material=pl.Material(young=YOUNG, poisson=0.5, density=DENSITY),
        damping=damping * EI * np.ones(6),
        strains=pl.Strains.planar_bending(pl.Chebyshev(functions - 1)),
        points=30,
    )
    robot.add_wrench("moment", beam.tip, moment=(0, 0, 1))
    return robot.compile()


def release(system: pl.System, moment: float, duration: float = 1.0, **options: object) -> pl.Result:
    """Bend it, let it go."""
    start = pl.solve_statics(system, {"moment": moment})
    options = {"rtol": 1e-5, "atol": 1e-6, "output": 0.01} | options
    return pl.simulate(system, duration, start=start, **options)


def difference(a: pl.Result, b: pl.Result) -> float:
    """ε of two runs, eq. 61: mean square of the difference of the curvatures [rad²/m²]."""
    X, w = np.polynomial.legendre.leggauss(20)
    curvature = [np.array([r.system.strain("beam", q, (X + 1) / 2)[:, 2] for q in r.q]) for r in (a, b)]
    return float(np.mean((curvature[0] - curvature[1]) ** 2 @ (w / 2)))


def convergence(moment: float, largest: int = 7) -> np.ndarray:
    """ε(n+1/n) for n = 1, 2, …"""
    runs = [release(build(n), moment) for n in range(1, largest + 1)]
    return np.array([difference(a, b) for a, b in pairwise(runs)])


def figures(runs: dict[float, pl.Result]) -> dict[str, object]:
    """Figures 8 and 9 of the paper, and the convergence."""
    shapes, axes = panels(1, 3, size=(10.5, 3.6))
    tips, (upper, lower) = panels(2, 1, size=(6, 4.6))
    for ax, (moment, run) in zip(axes, runs.items()):
        run.plot_snapshots(np.arange(0, 1, 0.12), view="xy", bar=ax is axes[-1], ax=ax)
        ax.set_title(f"{moment} N m")
        run.plot_tip(components="x", label=f"the tip, {moment} N m", ax=upper)
        run.plot_tip(components="y", label=f"the tip, {moment} N m", ax=lower)
    errors = {f"{moment} N m": convergence(moment) for moment in MOMENTS}
    labels = {"size": "functions n", "error": "ε(n+1/n) [rad²/m²]"}
    rate = plot_convergence(np.arange(1, 7), errors, scale="semilogy", **labels)
    return {"snapshots": shapes, "tip": tips, "convergence": rate}


def main(figures_dir: str | None = None) -> None:
    runs = {moment: release(build(), moment) for moment in MOMENTS}
    for moment, run in runs.items():
        x, y, _z = run.positions("beam.tip")[-1]
        print(f"{moment} N m: tip at 1 s ({x:.4f}, {y:.4f}) m, {run.statistics}")
        errors = convergence(moment)
        print("  ε(n+1/n)/ε(2/1), n = 1, 2, …:" + "".join(f"{e:10.1e}" for e in errors / errors[0]))
    gallery.save(figures_dir, figures, runs)


def check() -> None:
    """It starts as an arc, the energy balances, methods agree, functions converge, small motion has the known period."""
    for moment in MOMENTS:
        run = release(build(), moment)
        angle = moment * LENGTH / EI
        exact = LENGTH / angle * np.array([np.sin(angle), 1 - np.cos(angle), 0])
        np.testing.assert_allclose(run.positions("beam.tip")[0], exact, atol=1e-9)
        other = release(build(), moment, method="bdf", rtol=1e-7, atol=1e-8)
        assert np.abs(run.positions("beam.tip") - other.positions("beam.tip")).max() < 5e-3
        balance = release(build(), moment, output=None).power_balance()  # at all steps
        assert np.abs(balance["imbalance"]).max() < 2e-3 * np.ptp(balance["energy"])
    errors = convergence(MOMENTS[-1], 6)
    assert errors[4] < 0.01 * errors[0], errors / errors[0]
    # the first bending mode of a cantilever, βL = 1.8751, without damping
    omega = 1.87510407**2 * np.sqrt(EI / (DENSITY * AREA * LENGTH**4))
    run = release(build(damping=0.0), 1e-3, 6 * np.pi / omega, method="newmark", step=1e-3, output=None)
    shape = run.q @ (run.system.mass_matrix(run.q[0]) @ pl.modes(run.system, run.system.neutral(), 1).shapes[:, 0])
    up = np.flatnonzero((shape[:-1] < 0) != (shape[1:] < 0))
    zeros = run.t[up] - shape[up] * (run.t[up + 1] - run.t[up]) / (shape[up + 1] - shape[up])
    np.testing.assert_allclose(np.pi / np.diff(zeros), omega, rtol=2e-3)


if __name__ == "__main__":
    main()
    check()
