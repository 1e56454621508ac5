"""The octopus-inspired arm of [001] section V: a silicone cone in water, twelve cables anchored at three lengths.

Numbers of [001] Table I; the arm hangs down and starts at rest. Cables 1–4 end at L1, 5–8 at L2, 9–12 at L3, each group 90°
apart; the last quarter is passive. The paper measures the tensions and shows them in a figure only: those below are smooth,
made up, and of a size that turns the arm by a quarter to half a turn.

Three models are compared: the four cylinders of constant strain of the paper (24 dof), the same strains on the true cone,
and four rods with quadratic strains on the cone (72 dof), which may jump at the anchors as the loads of the cables do.
The paper needs 5.5 min for each motion.
"""

import numpy as np

import pliant as pl

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
    for k, (start, end) in enumerate(zip(ENDS[:-1], ENDS[1:])):
        radius = cone(0.5 * (start + end)) if cylinders else (cone(start), cone(end))
        rods.append(
            robot.add_rod(
                f"section{k + 1}",
                parent=rods[-1] if rods else None,
                length=end - start,
                section=pl.Circle(radius=radius),
                material=SILICONE,
                strains=pl.Strains.reissner(order),
            )
        )
    robot.add_hydrodynamics(rods, WATER)
    for name, group, place in cables():
        robot.add_tendon(name, [pl.Along(rod, **place) for rod in rods[: group + 1]])
    robot.add_frame("tip", rods[-1])
    return robot.compile()


def one_rod(basis) -> pl.System:
    """One conical rod with this basis for all six strains."""
    robot = pl.Robot("octopus arm, one rod", gravity=(9.81, 0, 0))
    robot.set_fluid(density=1020)
    arm = robot.add_rod(
        "arm",
        length=LENGTH,
        section=pl.Circle(radius=(BASE, TIP)),
        material=SILICONE,
        strains=pl.Strains.reissner(basis),
    )
    robot.add_hydrodynamics(arm, WATER)
    for name, group, place in cables():
        robot.add_tendon(name, arm, end=ENDS[group + 1] / LENGTH, **place)
    robot.add_frame("tip", arm)
    return robot.compile()


def pulse(t, start, end, rise=1.0):
    """From 0 to 1 and back, smoothly."""
    s = np.clip([(t - start) / rise, (end - t) / rise], 0, 1)
    return float(np.prod(s**2 * (3 - 2 * s)))


MOTIONS = {
    "single bending": lambda t: {"cable11": 1.5 * pulse(t, 0, 3)},
    "in-plane multibending": lambda t: {
        "cable9": pulse(t, 0, 2.5),
        "cable11": pulse(t, 1.5, 4),
        "cable1": 3 * pulse(t, 0.5, 3),
        "cable3": 3 * pulse(t, 2, 4),
    },
    "out of plane": lambda t: {
        "cable11": pulse(t, 0, 3.5),
        "cable5": 1.5 * pulse(t, 0.5, 4),
        "cable2": 3 * pulse(t, 1, 3),
    },
}


def move(system, motion, **options):
    return pl.simulate(system, 4.0, u=MOTIONS[motion], start=pl.solve_statics(system), output=0.05, **options)


def main():
    models = {
        "four cylinders, constant strain": sections(0, cylinders=True),
        "cone, constant strain": one_rod(pl.PiecewiseConstant(tuple(ENDS[1:-1] / LENGTH))),
        "cone, quadratic strain": sections(2),
    }
    for motion in MOTIONS:
        runs = {name: move(system, motion) for name, system in models.items()}
        tips = {name: run.positions("tip") for name, run in runs.items()}
        best = tips["cone, quadratic strain"]
        print(f"\n{motion}: tip at t = 2 s {best[40].round(4)} m; difference to the last, over the length")
        print(f"{'':34}{'dof':>4}{'mean':>9}{'largest':>9}{'out of plane [m]':>18}{'steps':>7}{'time [s]':>10}")
        for name, run in runs.items():
            error = np.linalg.norm(tips[name] - best, axis=1) / LENGTH
            off = np.abs(tips[name][:, 2]).max()
            s = run.statistics
            print(
                f"{name:34}{run.system.nv:4d}{error.mean():9.2%}{error.max():9.2%}{off:18.1e}{s.steps:7d}{s.wall_time:10.3f}"
            )


def check():
    pass


if __name__ == "__main__":
    main()
    check()
