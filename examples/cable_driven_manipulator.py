"""The cable-driven manipulator of [002] section 4.5: a tapered silicone arm with five cables, 24 degrees of freedom.

Statics under random tensions, as the paper does (1000 sets of 0 to 100 N), then ten seconds of motion under varying
tensions, with the error of the tip; prints tables. The paper shows the tensions of its motion in a
figure only, so those below are made up. It uses 5 Gauss points, too few for accuracy; the default here is 10. Its
authors report 3.3 ms for a static solution and 1.25 s for ten seconds of motion.
"""

import time

import numpy as np

import pliant as pl
from pliant import gallery

BASE, TIP = 0.03, 0.015  # radii [m]


def build(points=None):
    """The manipulator; `points` Gauss points (the paper uses 5; the default follows from the order)."""
    silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    robot = pl.Robot("cable-driven manipulator", gravity=(0, 0, -9.81))
    robot.add_rod(
        "arm",
        length=0.5,
        section=pl.Circle(radius=(BASE, TIP)),
        material=silicone,
        strains=pl.Strains(torsion=4, bending=4, stretch=2, shear=2),
        points=points,
    )
    # [002] Table 2: three straight cables on the surface, two helical ones of two turns
    for k, angle in enumerate(np.radians([90, 210, 330]), start=1):
        y, z = np.cos(angle), np.sin(angle)
        robot.add_tendon(f"cable{k}", "arm", y=(y * BASE, y * TIP), z=(z * BASE, z * TIP))
    robot.add_tendon("cable4", "arm", **pl.helical_routing(TIP, turns=-2, phase=np.pi / 2))
    robot.add_tendon("cable5", "arm", **pl.helical_routing(TIP, turns=2, phase=-np.pi / 2))
    return robot.compile()


def tensions(t):
    """Smooth tensions of up to 40 N (made up; the paper shows its own in a figure only)."""
    return {
        "cable1": 20 * (1 - np.cos(1.3 * t)),
        "cable2": 15 * np.sin(0.9 * t) ** 2,
        "cable3": 10 * (1 - np.cos(2.1 * t)),
        "cable4": 12 * np.sin(0.7 * t) ** 2,
        "cable5": 8 * (1 - np.cos(0.5 * t)),
    }


def random_statics(system, count, largest=100.0, seed=0):
    """Solve for random tensions, starting from rest under gravity: share that succeeded, mean time [s], iterations."""
    rest = pl.solve_statics(system)
    sets = np.random.default_rng(seed).uniform(0, largest, size=(count, system.nu))
    clock = time.perf_counter()
    found = [pl.solve_statics(system, u, start=rest) for u in sets]
    duration = time.perf_counter() - clock
    return np.mean([f.success and f.stable for f in found]), duration / count, np.mean([f.iterations for f in found])


METHODS = {
    "rtol 1e-3": {"rtol": 1e-3, "atol": 1e-4},
    "default tolerance": {},
    "rtol 1e-5": {"rtol": 1e-5, "atol": 1e-6},
    "newmark, step 0.002 s": {"method": "newmark", "step": 0.002},
    "bdf, rtol 1e-8": {"method": "bdf", "rtol": 1e-8, "atol": 1e-9},  # the reference
}


def motion(system, duration, **options):
    return pl.simulate(system, duration, u=tensions, start=pl.solve_statics(system), output=0.02, **options)


def tip_error(run, exact):
    """Largest distance between the tips of two runs [m]."""
    return np.linalg.norm(run.positions("arm.tip") - exact.positions("arm.tip"), axis=1).max()


def figures(run):
    """Shapes, the path of the tip, tensions, and the bending along the arm."""
    return {
        "snapshots": run.plot_snapshots(9),
        "tip": run.plot_tip(),
        "tensions": run.plot_inputs(),
        "bending": run.plot_strains("bending_y"),
    }


def main(figures_dir=None):
    system = build()
    print(system, "\n")
    print(f"{'statics':34}{'tip x':>9}{'y':>9}{'z [m]':>9}")
    for u in ({}, {"cable1": 30}, {"cable2": 60, "cable4": 40}):
        rest = pl.solve_statics(system, u)
        x, y, z = system.pose("arm.tip", rest.q)[:3, 3]
        label = ", ".join(f"{k} {v} N" for k, v in u.items()) or "own weight"
        print(f"  {label:32}{x:9.4f}{y:9.4f}{z:9.4f}   {rest}")
    # with 10 points the strongest tensions crush a point of the inner side to nothing, where there is no tangent
    for points, count, largest in ((5, 1000, 100), (10, 1000, 50), (10, 300, 100)):
        share, mean, iterations = random_statics(build(points), count, largest)
        print(
            f"  {count} random sets up to {largest} N, {points} points: {100 * share:.1f} % solved, "
            f"{1e3 * mean:.2f} ms and {iterations:.1f} iterations each"
        )

    runs = {name: motion(system, 10, **options) for name, options in METHODS.items()}
    exact = list(runs.values())[-1]
    print(f"\n{'10 s of motion':26}tip error [mm]   steps   time [s]")
    for name, run in runs.items():
        s = run.statistics
        print(f"  {name:24}{1e3 * tip_error(run, exact):14.5f}{s.steps:8}{s.wall_time:11.4f}")
    gallery.save(figures_dir, figures, exact)


def check():
    system = build()
    # constant curvature of pi rad/m over 0.5 m is a quarter circle of radius 1/pi
    q = system.neutral()
    q[system.dof_names.index("arm.bending_y[0]")] = np.pi
    np.testing.assert_allclose(system.pose("arm.tip", q)[:3, 3], [1 / np.pi, 0, -1 / np.pi], atol=1e-14)
    # the paper's statics: every set is solved with its 5 points; with 10, every one up to 50 N
    assert random_statics(build(5), 200)[0] == 1.0
    assert random_statics(build(10), 200, 50.0)[0] == 1.0
    # two integrators of different kind agree; the default tolerance is good for 0.02 mm
    exact, other = (motion(system, 10, method=m, rtol=1e-7, atol=1e-8) for m in ("bdf", "radau"))
    assert tip_error(exact, other) < 1e-6
    assert tip_error(motion(system, 10), exact) < 2e-5
    assert tip_error(motion(system, 10, rtol=1e-5, atol=1e-6), exact) < 3e-6


if __name__ == "__main__":
    main()
    check()
