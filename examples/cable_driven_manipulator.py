"""The cable-driven manipulator of [002] section 4.5: a tapered silicone arm with five cables, 24 degrees of freedom.

Solves its statics, then ten seconds of motion under varying tensions; prints a table and saves a plot.
"""

from pathlib import Path

import numpy as np

import pliant as pl

BASE, TIP = 0.03, 0.015  # radii [m]


def radius(X):
    return BASE + (TIP - BASE) * X


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
        robot.add_tendon(
            f"cable{k}",
            "arm",
            y=lambda X, angle=angle: np.cos(angle) * radius(X),
            z=lambda X, angle=angle: np.sin(angle) * radius(X),
        )
    for k, sign in ((4, 1), (5, -1)):
        robot.add_tendon(
            f"cable{k}",
            "arm",
            y=lambda X: TIP * np.sin(4 * np.pi * X),
            z=lambda X, s=sign: s * TIP * np.cos(4 * np.pi * X),
        )
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


def main():
    system = build()
    print(system, "\n")
    print(f"{'statics':34}{'tip x':>9}{'y':>9}{'z [m]':>9}")
    for u in ({}, {"cable1": 30}, {"cable2": 60, "cable4": 40}):
        rest = pl.solve_statics(system, u)
        x, y, z = system.pose("arm.tip", rest.q)[:3, 3]
        label = ", ".join(f"{k} {v} N" for k, v in u.items()) or "own weight"
        print(f"  {label:32}{x:9.4f}{y:9.4f}{z:9.4f}   {rest}")

    run = pl.simulate(system, 10, u=tensions, start=pl.solve_statics(system), output=0.02)
    print(f"\n{run}")
    A = pl.linearize(system, pl.solve_statics(system)).A
    print(f"  slowest modes about rest: {np.sort(np.abs(np.linalg.eigvals(A)))[:3].round(3)} 1/s")
    print(f"  plot: {plot(run)}")


def plot(run, path="cable_driven_manipulator.png"):
    """Snapshots and tip trajectory; returns where they were saved."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return "needs matplotlib (pip install 'pliant[plot]')"
    figure = plt.figure(figsize=(9, 4))
    shapes = figure.add_subplot(1, 2, 1, projection="3d")
    for q in run.q[::25]:
        x, y, z = run.system.rod_poses("arm", q, 40)[:, :3, 3].T
        shapes.plot(x, y, z, lw=1.5)
    shapes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", title="snapshots")
    tip = figure.add_subplot(1, 2, 2)
    tip.plot(run.t, run.positions("arm.tip"))
    tip.set(xlabel="t [s]", ylabel="tip position [m]")
    tip.legend(["x", "y", "z"])
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return Path(path).resolve()


def check():
    system = build()
    # constant curvature of pi rad/m over 0.5 m is a quarter circle of radius 1/pi
    q = system.neutral()
    q[system.dof_names.index("arm.bending_y[0]")] = np.pi
    np.testing.assert_allclose(system.pose("arm.tip", q)[:3, 3], [1 / np.pi, 0, -1 / np.pi], atol=1e-14)
    # two integrators of different kind agree on the tip within a millimetre
    rest = pl.solve_statics(system)
    assert rest.success
    assert rest.stable
    runs = [
        pl.simulate(system, 2, u=tensions, start=rest, output=0.1, method=m) for m in ("generalized-alpha", "radau")
    ]
    tips = [run.positions("arm.tip") for run in runs]
    assert np.abs(tips[0] - tips[1]).max() < 1e-3


if __name__ == "__main__":
    main()
    check()
