"""The cable-driven manipulator inside a pipe: contact, as in [002] section 6.2.

The tapered silicone arm of [002] section 4.5 (24 degrees of freedom, five cables) hangs on the axis of a pipe of radius
0.15 m. Spheres of the arm's radius at its twelve computational points (10 Gauss points and the two ends; the clamped
one never moves) are pushed back by k δ^1.5 with k = 1e5 N/m^1.5, without friction or damping. The paper shows the
tensions and the layout in figures only: those below are made up so that the arm rests on the wall, slides along it and
leaves it again. Its authors report 7.8 s for ten seconds of motion.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend

BASE, TIP = 0.03, 0.015  # radii of the arm [m]
PIPE, STIFFNESS, EXPONENT = 0.15, 1e5, 1.5  # m, N/m^1.5
DURATION = 10.0  # s
QUICK = False  # half a minute


def build(contact: bool = True) -> pl.System:
    robot = pl.Robot("manipulator in a pipe", gravity=(0, 0, -9.81))
    arm = robot.add_rod(
        "arm",
        offset=pl.rotate("y", np.pi / 2),  # hangs along −z; its local z is the world's x
        length=0.5,
        section=pl.Circle(radius=(BASE, TIP)),
        material=pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4),
        strains=pl.Strains(torsion=4, bending=4, stretch=2, shear=2),
        points=10,
    )
    for k, angle in enumerate(np.radians([90, 210, 330]), start=1):
        y, z = np.cos(angle), np.sin(angle)
        robot.add_tendon(f"cable{k}", arm, y=(y * BASE, y * TIP), z=(z * BASE, z * TIP))
    robot.add_tendon("cable4", arm, **pl.helical_routing(TIP, turns=-2, phase=np.pi / 2))
    robot.add_tendon("cable5", arm, **pl.helical_routing(TIP, turns=2, phase=-np.pi / 2))
    if contact:
        robot.add_obstacle("pipe", pl.Cylinder(radius=PIPE, length=3.0, axis="z"), inside=True)
        robot.add_contact("touch", arm, "pipe", stiffness=STIFFNESS, exponent=EXPONENT)
    return robot.compile()


def tensions(t: float) -> dict[str, float]:
    """Smooth tensions of up to 40 N (made up)."""
    return {
        "cable1": 20 * (1 - np.cos(1.3 * t)),
        "cable2": 15 * np.sin(0.9 * t) ** 2,
        "cable3": 10 * (1 - np.cos(2.1 * t)),
        "cable4": 12 * np.sin(0.7 * t) ** 2,
        "cable5": 8 * (1 - np.cos(0.5 * t)),
    }


def run(system: pl.System, **options: object) -> pl.Result:
    return pl.simulate(system, DURATION, u=tensions, start=pl.solve_statics(system), output=0.02, **options)


def penetration(result: pl.Result) -> np.ndarray:
    """δ of the computational points over time (nt, points) [m]; positive where they touch."""
    X = result.system.rod_points("arm")
    radius = BASE + (TIP - BASE) * X
    distance = [np.linalg.norm(result.system.rod_poses("arm", q, X)[:, :2, 3], axis=1) for q in result.q]
    return np.array(distance) + radius - PIPE


def tip_error(a: pl.Result, b: pl.Result) -> float:
    """Largest distance between the tips of two runs [m]."""
    return float(np.linalg.norm(a.positions("arm.tip") - b.positions("arm.tip"), axis=1).max())


def figures(result: pl.Result) -> dict[str, object]:
    """Shapes in the pipe, the path of the tip across it, and how deep the wall is pressed in."""
    path = result.plot_tip(view="xy")
    angle = np.linspace(0, 2 * np.pi, 200)
    path.plot((PIPE - TIP) * np.cos(angle), (PIPE - TIP) * np.sin(angle), "k:", label="touches the wall")
    legend(path)
    return {
        "snapshots": result.plot_snapshots(7),
        "path": path,
        "tip": result.plot_tip(),
        "tensions": result.plot_inputs(),
    }


METHODS = {
    "rtol 1e-3": {"rtol": 1e-3, "atol": 1e-4},
    "default tolerance": {},
    "rtol 1e-5": {"rtol": 1e-5, "atol": 1e-6},
    "rtol 1e-7": {"rtol": 1e-7, "atol": 1e-8},
    "newmark, step 0.002 s": {"method": "newmark", "step": 0.002},
    "bdf, rtol 1e-8": {"method": "bdf", "rtol": 1e-8, "atol": 1e-9},  # the reference
}


def main(figures_dir: str | None = None) -> None:
    systems = {"pipe": build(), "free": build(contact=False)}
    runs: dict[tuple[str, str], pl.Result] = {}
    times: dict[tuple[str, str], float] = {}
    for turn in range(3):  # in turn, so that a busy machine slows both
        for name, options in METHODS.items():
            if turn and "bdf" in name:
                continue
            for where, system in systems.items():
                result = runs[where, name] = run(system, **options)
                times[where, name] = min(times.get((where, name), np.inf), result.statistics.wall_time)
    print(f"{DURATION:g} s of motion         tip error [mm]   steps   time [s]   without the pipe [s]")
    for name in METHODS:
        result = runs["pipe", name]
        error = 1e3 * tip_error(result, runs["pipe", "bdf, rtol 1e-8"])
        print(
            f"  {name:22}{error:14.5f}{result.statistics.steps:8}{times['pipe', name]:11.4f}{times['free', name]:15.4f}"
        )
    free = penetration(runs["free", "bdf, rtol 1e-8"])
    history = runs["pipe", "bdf, rtol 1e-8"].contacts()
    counts = np.array([len(contacts) for contacts in history])
    depth = -min(contacts.gap.min(initial=0.0) for contacts in history)
    force = max(contacts.normal_force.max(initial=0.0) for contacts in history)
    print(f"\ntouches the wall {100 * (counts > 0).mean():.0f} % of the time, {counts.max()} points at once")
    print(f"deepest {1e3 * depth:.3f} mm, largest force {force:.2f} N")
    gallery.save(figures_dir, figures, runs["pipe", "bdf, rtol 1e-8"])
    print(f"without the pipe the arm would reach {1e3 * free.max():.1f} mm beyond the wall")


def check() -> None:
    """Two kinds of integrators agree, and the wall holds."""
    system = build()
    assert len(system.rod_points("arm")) == 12
    exact, other = (run(system, method=m, rtol=r, atol=0.1 * r) for m, r in (("bdf", 1e-7), ("radau", 1e-6)))
    assert tip_error(exact, other) < 1e-6
    for options, limit in (({}, 3e-4), ({"rtol": 1e-5, "atol": 1e-6}, 3e-4), ({"rtol": 1e-7, "atol": 1e-8}, 2e-5)):
        assert tip_error(run(system, **options), exact) < limit
    depth = penetration(exact)
    assert 1e-4 < depth.max() < 2.2e-3  # what 0.1 N and 10 N do
    assert np.linalg.norm(exact.positions("arm.tip")[:, :2], axis=1).max() < PIPE - TIP + 2.2e-3
    assert penetration(run(build(contact=False))).max() > 0.05
    # at rest against the wall: the contact force balances the others, in a stable equilibrium
    rest = pl.solve_statics(system, {"cable1": 40.0})
    assert rest.success
    assert rest.stable
    x, y, _z = system.pose("arm.tip", rest.q)[:3, 3]
    assert 0 < x + TIP - PIPE < 2.2e-3
    assert abs(y) < 1e-10
    assert abs(rest.contacts.gap.min() + x + TIP - PIPE) < 1e-12


if __name__ == "__main__":
    main()
    check()
