"""The hybrid parallel robot of [002] section 6.1: a rigid platform on three soft pillars, 63 degrees of freedom.

The first pillar stands on the ground; the platform sits on it and carries the other two, all by spherical joints. Two loops
close where these pillars meet the ground, by revolute joints. Statics under random wrenches on the platform, as the paper
does (1000 of them), then ten seconds of motion. The paper reports 9.0 ms for a static solution and 2.46 s for the motion
(17.6 s with Newmark and a step of 0.01 s).

Assumed where the paper is silent: the revolute joints are at the feet, with axes tangential to the circle of the pillars,
and the wide sides of the pillars are tangential too (so that the platform does not sink under its weight); the pillars
stand under the corners; the platform has the density of silicone; the wrench over time, which is in a figure only.
"""

import time

import numpy as np

import pliant as pl
from pliant import gallery

SIDE, THICK, HEIGHT = 0.20, 0.01, 0.15  # platform: side and thickness, pillars: length [m]
RADIUS = SIDE / np.sqrt(3)  # of the circle of the corners
COMPONENTS = ("fx", "fy", "fz", "mx", "my", "mz")


def build(cut: str = "feet", points: int | None = None) -> pl.System:
    """Loops cut at the feet (63 dof), or at the corners (59 dof), which is the same robot; the paper has 5 Gauss points."""
    robot = pl.Robot("hybrid parallel robot", gravity=(0, 0, -9.81))
    pillar = {
        "length": HEIGHT,
        "section": pl.Rectangle(height=0.015, width=0.03),
        "material": pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4),
        "strains": pl.Strains(torsion=3, bending=3, stretch=1, shear=1),
        "points": points,
    }
    corners = [pl.rotate("z", angle) @ pl.translate(RADIUS, 0, 0) for angle in np.radians([0, 120, 240])]
    up = pl.Pose(rotation=np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    down = pl.Pose(rotation=np.array([[0.0, -1, 0], [0, 0, 1], [-1, 0, 0]]))
    first = robot.add_rod("pillar1", offset=corners[0] @ up, **pillar)
    mass = 1000 * np.sqrt(3) / 4 * SIDE**2 * THICK
    across = mass * (SIDE**2 / 24 + THICK**2 / 12)
    platform = robot.add_body(  # its frame is the middle of the lower face, with the world's axes
        "platform",
        parent=first.tip,
        joint=pl.Spherical(),
        offset=(corners[0] @ up).inverse() @ corners[0],
        offset_after=corners[0].inverse(),
        mass=mass,
        com=(0, 0, THICK / 2),
        inertia=(across, across, mass * SIDE**2 / 12),
    )
    for k, corner in enumerate(corners, start=1):
        robot.add_frame(f"corner{k}", platform, offset=corner)
        robot.add_frame(f"ground{k}", "world", offset=corner)
    for k in (2, 3):
        if cut == "feet":
            leg = robot.add_rod(f"pillar{k}", parent=f"corner{k}", joint=pl.Spherical(), offset_after=down, **pillar)
            robot.add_loop(f"loop{k}", f"ground{k}", leg.tip.at(down.inverse()), joint=pl.Revolute("y"))
        else:
            leg = robot.add_rod(f"pillar{k}", parent=f"ground{k}", joint=pl.Revolute("y"), offset_after=up, **pillar)
            robot.add_loop(f"loop{k}", f"corner{k}", leg.tip, joint=pl.Spherical())
    for k, axis in enumerate(np.eye(3)):
        robot.add_wrench(COMPONENTS[k], platform, force=axis, offset=(0, 0, THICK / 2))
        robot.add_wrench(COMPONENTS[3 + k], platform, moment=axis, offset=(0, 0, THICK / 2))
    return robot.compile()


def random_statics(system: pl.System, count: int, seed: int = 0) -> tuple[list[pl.Equilibrium], float]:
    """Equilibria under random wrenches, started from rest under gravity, and the mean time [s]."""
    rest = pl.solve_statics(system)
    rng = np.random.default_rng(seed)
    wrenches = np.hstack([rng.uniform(-0.5, 0.5, size=(count, 3)), rng.uniform(-0.05, 0.05, size=(count, 3))])
    clock = time.perf_counter()
    found = [pl.solve_statics(system, dict(zip(COMPONENTS, w)), start=rest) for w in wrenches]
    return found, (time.perf_counter() - clock) / count


def wrench(t: float) -> dict[str, float]:
    """Smooth forces and moments on the platform within the ranges of the statics (made up)."""
    force = {"fx": 0.4 * np.sin(1.3 * t), "fy": 0.3 * np.sin(0.8 * t) ** 2, "fz": 0.5 * np.sin(2.1 * t)}
    return {**force, "mx": 0.02 * np.sin(1.7 * t), "my": 0.03 * (1 - np.cos(1.1 * t)), "mz": 0.05 * np.sin(0.6 * t)}


def motion(system: pl.System, **options) -> pl.Result:
    return pl.simulate(system, 10.0, u=wrench, start=pl.solve_statics(system), **options)


def closure(system: pl.System, states: list[np.ndarray]) -> float:
    """Largest gap of the loops [m, rad]."""
    return max(float(np.abs(system.closure(q)[0]).max()) for q in states)


def corner_error(run: pl.Result, exact: pl.Result) -> float:
    """Largest distance between the corners of two runs [m]."""
    times = np.linspace(0, 10, 201)
    a, b = run.resample(times), exact.resample(times)
    return max(np.linalg.norm(a.positions(f"corner{k}") - b.positions(f"corner{k}"), axis=1).max() for k in (1, 2, 3))


def figures(run: pl.Result) -> dict[str, object]:
    ax = run.plot_shape(2.5, frames=["corner1", "corner2", "corner3", "platform"])
    for k in (1, 2, 3):
        run.plot_trajectory(f"corner{k}", view="3d", ax=ax)
    feet = {"feet": run.plot_multipliers(["loop2", "loop3"], components="world")}
    return {"shape": ax, "corner": run.plot_trajectory("corner1"), "wrench": run.plot_inputs(), **feet}


def main(figures_dir: str | None = None) -> None:
    system = build()
    print(system, "\n")
    rest = pl.solve_statics(system)
    feet = [system.loop_wrench(name, rest.q, rest.multipliers, axes="world")[5] for name in ("loop2", "loop3")]
    print(f"own weight: {rest}\n  the feet of pillars 2 and 3 carry {feet[0]:.4f} N and {feet[1]:.4f} N")
    found, mean = random_statics(system, 500)
    share, count = np.mean([(f.success and f.stable, f.iterations) for f in found], axis=0)
    print(f"500 random wrenches: {100 * share:.1f} % solved, {1e3 * mean:.2f} ms and {count:.1f} iterations each")
    exact = motion(system, rtol=1e-6, atol=1e-7)
    print(f"\n{'10 s of motion':30}error [mm]   closure   steps   time [s]")
    choices = {"rtol 1e-3": {"rtol": 1e-3, "atol": 1e-4}, "default": {}, "step 0.01 s": {"step": 0.01}}
    for name, options in choices.items():
        run = motion(system, **options)
        error, s = 1e3 * corner_error(run, exact), run.statistics
        print(f"  {name:28}{error:10.4f}{closure(system, run.q):10.1e}{s.steps:8}{s.wall_time:11.3f}")
    gallery.save(figures_dir, figures, exact)


def check() -> None:
    system, other = build(), build("corners")
    assert system.nv == 63
    # by symmetry each foot carries a third of the weight
    rest = pl.solve_statics(system)
    weight = 9.81 * (1000 * np.sqrt(3) / 4 * SIDE**2 * THICK + 3 * 1000 * 0.015 * 0.03 * HEIGHT)
    for name in ("loop2", "loop3"):
        force = system.loop_wrench(name, rest.q, rest.multipliers, axes="world")[3:]
        np.testing.assert_allclose(force, [0, 0, weight / 3], atol=1e-9)
    # every wrench has an equilibrium, with closed loops, and the robot cut elsewhere has the same
    (found, _t), (same, _t) = (random_statics(s, 100) for s in (system, other))
    assert all(f.success and f.stable for f in found + same)
    assert closure(system, [f.q for f in found]) < 1e-10
    for f, g in zip(found, same):
        np.testing.assert_allclose(system.pose("platform", f.q), other.pose("platform", g.q), atol=1e-7)
    # so it is in motion, where every step leaves the loops closed
    run, exact, again = motion(system), motion(system, rtol=1e-6, atol=1e-7), motion(other, rtol=1e-6, atol=1e-7)
    assert closure(system, run.q) < 1e-10
    assert corner_error(run, exact) < 5e-4
    assert corner_error(again, exact) < 5e-6


if __name__ == "__main__":
    main()
    check()
