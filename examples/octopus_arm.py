"""The octopus-inspired arm of [001] section V: a silicone cone in water, twelve cables anchored at three lengths.

Numbers of [001] Table I; the arm hangs down and starts at rest. Cables 1–4 end at L1, 5–8 at L2, 9–12 at L3, each group 90°
apart; the last quarter is passive. The paper measures the tensions and shows them in a figure only: those below are smooth,
made up, and up to 3 N, which turns the arm by about a quarter turn.

Three models: the four cylinders of constant strain of the paper (24 dof), the same strains on the true cone, and four rods with
quadratic strains (72 dof), which may jump at the anchors as the loads of the cables do. The paper needs 5.5 min for each second.
"""

from itertools import pairwise

import numpy as np

import pliant as pl
from pliant import gallery

ENDS = np.array([0.0, 0.098, 0.203, 0.311, 0.418])  # where the sections end [m]
LENGTH, BASE, TIP = ENDS[-1], 0.015, 0.004
OFFSETS = (0.009, 0.006, 0.003)  # of the cables of the three groups [m]
SILICONE = pl.Material(young=110e3, poisson=0.5, density=1080, viscosity=300)
WATER = pl.Hydrodynamics.circular(cx=0.01, cy=2.5, cz=2.5, by=1.5, bz=1.5)


def cone(s):
    """Radius at a distance s from the base [m]."""
    return BASE + (TIP - BASE) * s / LENGTH


def cables():
    """Name, group and place in the section of the twelve cables."""
    for j in range(12):
        angle, d = np.pi / 2 * (j % 4), OFFSETS[j // 4]
        yield f"cable{j + 1}", j // 4, {"y": d * np.cos(angle), "z": d * np.sin(angle)}


def sections(order=0, cylinders=False, density=1020) -> pl.System:
    """Four rods in a row, each with strains of this order."""
    robot = pl.Robot(f"octopus arm, order {order}", gravity=(9.81, 0, 0))
    robot.set_fluid(density=density)
    rods = []
    for k, (start, end) in enumerate(pairwise(ENDS)):
        radius = cone(0.5 * (start + end)) if cylinders else (cone(start), cone(end))
        soft = {"section": pl.Circle(radius), "material": SILICONE, "strains": pl.Strains.reissner(order), "points": 5}
        rods.append(robot.add_rod(f"section{k + 1}", parent=rods[-1] if rods else None, length=end - start, **soft))
    robot.add_hydrodynamics(rods, WATER)
    for name, group, place in cables():
        robot.add_tendon(name, [pl.Along(rod, **place) for rod in rods[: group + 1]])
    robot.add_frame("tip", rods[-1])
    return robot.compile()


def one_rod() -> pl.System:
    """One conical rod whose strains are constant between the anchors."""
    robot = pl.Robot("octopus arm, one rod", gravity=(9.81, 0, 0))
    robot.set_fluid(density=1020)
    strains = pl.Strains.reissner(pl.PiecewiseConstant(ENDS[1:-1] / LENGTH))
    soft = {"section": pl.Circle((BASE, TIP)), "material": SILICONE, "strains": strains, "points": 5}
    arm = robot.add_rod("arm", length=LENGTH, **soft)
    robot.add_hydrodynamics(arm, WATER)
    for name, group, place in cables():
        robot.add_tendon(name, arm, end=ENDS[group + 1] / LENGTH, **place)
    robot.add_frame("tip", arm)
    return robot.compile()


def pulse(t, start, end, rise=1.0):
    """From 0 to 1 and back, smoothly."""
    s = np.clip([(t - start) / rise, (end - t) / rise], 0, 1)
    return float(np.prod(s**2 * (3 - 2 * s)))


PULLS = {  # cable: largest tension [N], start and end of the pull [s]
    "single bending": {"cable11": (1.5, 0, 3)},
    "multibending": {"cable9": (1, 0, 2.5), "cable11": (1, 1.5, 4), "cable1": (3, 0.5, 3), "cable3": (3, 2, 4)},
    "out of plane": {"cable11": (1, 0, 3.5), "cable5": (1.5, 0.5, 4), "cable2": (3, 1, 3)},
}
MOTIONS = {
    name: lambda t, pulls=pulls: {cable: size * pulse(t, a, b) for cable, (size, a, b) in pulls.items()}
    for name, pulls in PULLS.items()
}


def move(system, motion, **options):
    return pl.simulate(system, 4.0, u=MOTIONS[motion], start=pl.solve_statics(system), output=0.05, **options)


def tip_torsion(run):
    """Torsion summed along the arm of four rods [rad], (nt,)."""
    pieces = [(f"section{k + 1}", length) for k, length in enumerate(np.diff(ENDS))]
    return np.array([sum(L * run.system.strain(name, q)[:, 0].mean() for name, L in pieces) for q in run.q])


def figures(runs):
    """Shapes of the three motions; for the last also tip and tensions."""
    single, multi, last = runs.values()
    shapes = {"out_of_plane": last.plot_snapshots(7), "single": single.plot_snapshots(7, view="yx")}
    shapes["multibending"] = multi.plot_snapshots(7, view="yx")
    return shapes | {"tip": last.plot_trajectory("tip"), "tensions": last.plot_inputs()}


def main(figures_dir=None):
    models = {
        "four cylinders, constant strain": sections(0, cylinders=True),
        "cone, constant strain": one_rod(),
        "cone, quadratic strain": sections(2),
    }
    drawn = {}
    for motion in MOTIONS:
        runs = {name: move(system, motion) for name, system in models.items()}
        tips = {name: run.positions("tip") for name, run in runs.items()}
        best, drawn[motion] = tips["cone, quadratic strain"], runs["cone, quadratic strain"]
        print(f"\n{motion}: tip at t = 2 s {best[40].round(4)} m; difference to the last model, over the length")
        print(f"{'tip':33}{'dof':>4}{'mean':>8}{'largest':>9}{'|y| <':>8}{'|z| < [m]':>12}{'steps':>7}{'time [s]':>10}")
        for name, run in runs.items():
            error = np.linalg.norm(tips[name] - best, axis=1) / LENGTH
            y, z = np.abs(tips[name][:, 1:]).max(axis=0)
            cost = f"{run.statistics.steps:7d}{run.statistics.wall_time:10.3f}"
            print(f"{name:33}{run.system.nv:4d}{error.mean():8.2%}{error.max():9.2%}{y:8.3f}{z:12.1e}{cost}")
    torsion = np.degrees(np.abs(tip_torsion(run)).max())
    print(f"  largest torsion of the last motion: {torsion:.1f}° (the paper, with its own tensions: about 20°)")
    gallery.save(figures_dir, figures, drawn)


def check():
    # without weight a parallel cable bends each section with T d / EI: cable 11 at 1 N
    paper = sections(0, cylinders=True, density=1080)
    q = pl.solve_statics(paper, {"cable11": 1.0}).q
    curvature = [paper.strain(f"section{k}", q, [0.5])[0, 2] for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(curvature, [-0.982703, -2.338004, -7.543897, 0], atol=1e-6)
    # one rod with a piecewise basis and four rods in a row are the same arm
    short = {"u": MOTIONS["out of plane"], "output": 0.05, "step": 0.01}
    tips = [pl.simulate(system, 2.0, **short).positions("tip") for system in (one_rod(), sections(0))]
    np.testing.assert_allclose(tips[0], tips[1], atol=1e-8)
    # constant strain is a few per cent of the length off; in the plane there is neither torsion nor motion out of it
    rough, fine, finest = sections(0, cylinders=True), sections(2), sections(3)
    for motion, off in (("single bending", 0.029), ("multibending", 0.024), ("out of plane", 0.017)):
        runs = [move(system, motion, step=0.01) for system in (rough, fine, finest)]
        assert all(run.success for run in runs)
        a, b, c = (run.positions("tip") for run in runs)
        assert abs(np.linalg.norm(a - b, axis=1).mean() / LENGTH - off) < 0.004
        assert np.linalg.norm(b - c, axis=1).max() < 2e-4
        aside = max(np.abs(b[:, 2]).max(), np.abs(tip_torsion(runs[1])).max())
        assert (aside < 1e-8) == (motion != "out of plane")
    assert 15 < np.degrees(np.abs(tip_torsion(runs[1])).max()) < 22


if __name__ == "__main__":
    main()
    check()
