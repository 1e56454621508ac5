"""A string with a weight, its upper end moved along a circle: [004] test 5.

The base is a body with two prismatic joints whose coordinates are prescribed; known coordinates are eliminated, and the
forces that move them are results. The string has neither stiffness nor (almost) mass, three Chebyshev modes for each
curvature. The paper prints no numbers; REFERENCE is from an independent world-frame program (DOP853, 24 Gauss points).
"""

import numpy as np

import pliant as pl
from pliant import gallery

A, OMEGA, PHASE = 0.15, 2 * np.pi, np.pi / 2
LENGTH, MASS_PER_METRE, TIP_MASS = 1.0, 7.85e-5, 0.03

# t: tip position with the gravity along x
REFERENCE = {
    0.3: (0.973771, 0.274689, 0.129863),
    0.6: (0.868006, 0.385987, -0.050402),
    0.9: (0.891716, 0.119021, -0.263668),
    1.5: (0.852049, -0.342985, 0.220964),
    2.1: (0.997468, 0.141834, 0.078214),
    3.0: (0.909267, -0.113761, -0.235813),
}


def circle(phase: float) -> pl.Motion:
    """a sin(ωt + φ) with its derivatives."""
    return pl.Motion(
        lambda t: A * np.sin(OMEGA * t + phase),
        lambda t: A * OMEGA * np.cos(OMEGA * t + phase),
        lambda t: -A * OMEGA**2 * np.sin(OMEGA * t + phase),
    )


MOTION = {"across": circle(0.0), "along": circle(PHASE)}


def pendulum(points: int = 24) -> pl.System:
    """The string hangs along x, which is the direction of gravity."""
    robot = pl.Robot("moving base pendulum", gravity=(9.81, 0, 0))
    slide = robot.add_body("slide", joint=pl.Prismatic("y"))
    base = robot.add_body("base", parent=slide, joint=pl.Prismatic("z"))
    string = robot.add_rod(
        "string",
        parent=base,
        length=LENGTH,
        stiffness=np.zeros(6),
        inertia=MASS_PER_METRE * np.array([0, 0, 0, 1, 1, 1]),
        strains=pl.Strains(bending=pl.Chebyshev(2)),
        points=points,
    )
    robot.add_body("weight", parent=string.tip, mass=TIP_MASS, inertia=np.zeros(3))
    robot.add_motion("across", slide)
    robot.add_motion("along", base)
    return robot.compile()


def run(system: pl.System, rtol: float, method: str = "generalized-alpha") -> pl.Result:
    """Three seconds from the straight string, which moves with the base."""
    return pl.simulate(system, 3.0, motion=MOTION, method=method, rtol=rtol, atol=0.1 * rtol, output=0.05)


def error(result: pl.Result) -> float:
    """Largest distance of the tip from the reference [m]."""
    tip = result.positions("weight")
    return max(float(np.linalg.norm(tip[round(t / 0.05)] - x)) for t, x in REFERENCE.items())


def figures(result: pl.Result) -> dict[str, object]:
    """Figures 11 to 13 of the paper: snapshots, both ends in the plane, the tip over time; and the driving forces."""
    smooth = result.resample(np.linspace(0, 3, 301))
    plane = smooth.plot_trajectory("base", view="yz", label="base")
    smooth.plot_trajectory("weight", view="yz", label="weight", ax=plane)
    return {
        "snapshots": result.plot_snapshots(np.arange(0, 3.01, 0.15)),
        "plane": plane,
        "tip": result.plot_trajectory("weight"),
        "forces": result.plot_prescribed_forces(),
    }


def main(figures_dir: str | None = None) -> None:
    """Print where the tip goes and what it takes to move the base."""
    for points, rtol in ((12, 1e-4), (24, 1e-4), (24, 1e-6), (48, 1e-6)):
        result = run(pendulum(points), rtol)
        print(
            f"{points} points, rtol {rtol:g}: tip within {1e3 * error(result):.4f} mm of the reference, {result.statistics}"
        )
    for name, force in result.prescribed_forces().items():
        print(f"largest force {name}: {np.abs(force).max():.4f} N")
    gallery.save(figures_dir, figures, result)


def check() -> None:
    """The tip follows the independent program; the base is exactly where it should be; energy balances."""
    system = pendulum(48)
    result = run(system, 1e-6)
    assert result.success, result.message
    assert error(result) < 1.5e-5
    y, z = result.positions("base")[:, 1:].T
    assert np.abs(y - A * np.sin(OMEGA * result.t)).max() < 1e-14
    assert np.abs(z - A * np.sin(OMEGA * result.t + PHASE)).max() < 1e-14
    # the work of the driving forces is the change of the energy
    fine = pl.simulate(system, 1.0, motion=MOTION, rtol=1e-7, atol=1e-8)
    forces = fine.prescribed_forces()
    power = forces["across"][:, 0] * fine.v[:, 0] + forces["along"][:, 0] * fine.v[:, 1]
    work = np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(fine.t))
    total = fine.energies().total
    assert abs(total[-1] - total[0] - work) < 1e-4 * np.ptp(total)


if __name__ == "__main__":
    main()
    check()
