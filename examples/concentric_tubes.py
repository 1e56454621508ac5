"""Three concentric tubes, the second of which is turned once around: two folds, between which the robot snaps.

The tubes are those of the tests of a public program (github.com/fcpedrosa/Concentric-Tube-Robot). Turned up from zero, the second tube
snaps at 211.68°, turned back at 148.32°; between these angles there are three equilibria, the middle one unstable.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

SIZES = [  # outer and inner diameter [mm], straight and curved length [m], radius of the arc [m]
    (0.92, 0.80, 0.19, 0.06, 0.04),
    (1.10, 0.97, 0.12, 0.08, 0.10),
    (1.40, 1.20, 0.09, 0.04, 0.14),
]


def build(insertion: tuple[float, float, float] = (-0.12, -0.10, -0.08)) -> tuple[pl.System, pl.ConcentricTubes]:
    robot = pl.Robot("three tubes", gravity=(0, 0, 0))
    tubes = [
        pl.Tube(straight, curved, (1 / radius, 0.0), outer / 2e3, inner / 2e3, young=65e9, poisson=0.32)
        for outer, inner, straight, curved, radius in SIZES
    ]
    added = robot.add_tubes("ctr", tubes, insertion=insertion)
    return robot.compile(), added


def turn(system: pl.System) -> pl.Branch:
    """Equilibria while the second tube is turned once around."""
    return pl.trace_equilibria(system, input="ctr_rotation2", stop=2 * np.pi, bounds=(0.0, 2 * np.pi))


def folds(branch: pl.Branch) -> list[float]:
    """Angles at which it snaps [°]."""
    return [float(np.degrees(point.parameter)) for point in branch.points if point.kind == "limit"]


def figures(run: tuple[pl.System, pl.ConcentricTubes, pl.Branch]) -> dict[str, object]:
    """Shapes over the rotation, and where the tip goes."""
    system, tubes, branch = run
    figure, (left, right) = panels(1, 2)
    for k in range(0, len(branch.q), 4):
        x, y, _z = 1e3 * tubes.shape(system, branch.q[k]).T
        left.plot(x, y, "-" if branch.stable[k] else ":", color="C0" if branch.stable[k] else "C3", lw=0.9)
    left.set(xlabel="x [mm]", ylabel="y [mm]", aspect="equal")
    tips = 1e3 * np.array([system.pose(tubes.tip, q)[1, 3] for q in branch.q])
    angle, stable = np.degrees(branch.parameter), np.asarray(branch.stable, dtype=bool)
    right.plot(angle, np.where(stable, tips, np.nan), color="C0", label="stable")
    right.plot(angle, np.where(stable, np.nan, tips), ":", color="C3", label="unstable")
    right.set(xlabel="rotation of the second tube [°]", ylabel="tip y [mm]")
    legend(right)
    return {"concentric_tubes": figure}


def main(figures_dir: str | None = None) -> None:
    system, tubes = build()
    branch = turn(system)
    up, back = folds(branch)
    print(f"snaps at {up:.2f}°, turned back at {back:.2f}°")
    gallery.save(figures_dir, figures, (system, tubes, branch))


def check() -> None:
    """The folds are mirror images; the published tip at 60° is met, and the one at 170° is an unstable equilibrium."""
    system, tubes = build()
    branch = turn(system)
    up, back = folds(branch)
    assert abs(up + back - 360.0) < 1e-4
    assert abs(up - 211.679) < 2e-3
    rest = pl.solve_statics(system, {"ctr_rotation2": np.pi / 3})
    published = (0.1044315715356617, 0.021791335438073118, -0.049426924904809072)
    np.testing.assert_allclose(system.pose(tubes.tip, rest.q)[:3, 3], published, atol=1e-8)
    inside = np.radians(back + 1) < branch.parameter
    inside &= branch.parameter < np.radians(up - 1)
    assert not np.all(np.asarray(branch.stable)[inside])


if __name__ == "__main__":
    main()
    check()
