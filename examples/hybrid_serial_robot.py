"""The hybrid serial robot of [002] section 5.1: a rigid arm of seven driven joints that carries a soft arm, 27 dof.

The joint angles are prescribed, so they are eliminated from the equations and the torques that it takes are results.
The soft arm is the paper's: 0.5 m, radius 15 mm to 10 mm, E = 1 MPa, without shear, all other strains of fourth order.
Where the paper is silent, this is assumed: rigid links of 0.15 m with radius 30 mm and 1000 kg/m³, stacked upwards, joints
about x and y in turn, and the joint angles below (a figure in the paper), which start from a pose in which the soft arm
sticks out sideways, for upright it buckles. Its authors report 2.49 s for ten seconds of motion (ode15s with analytical
derivatives) and 6.3 ms for a static solution.

The smaller robot of `small` has its numbers from SoRoSim, the program of the paper's authors, under GNU Octave.
"""

import time

import numpy as np

import pliant as pl
from pliant import gallery

SILICONE = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
LINK = 0.15  # m, of the rigid links
BEGIN = np.array([0.0, 0.5, 0.0, 0.5, 0.0, 0.5, 0.0])  # rad
SIZE = np.array([0.8, -0.5, 0.6, 0.7, -0.9, 0.4, 0.5])  # rad
PACE = np.array([0.9, 1.3, 1.7, 1.1, 1.9, 1.5, 2.1])  # rad/s


def build(points: int | None = None) -> pl.System:
    """Seven rigid links and the soft arm; `points` Gauss points (the default follows from the order)."""
    robot = pl.Robot("hybrid serial robot", gravity=(0, 0, -9.81))
    place, offset = None, pl.Pose.look_along("z")
    rigid = {"shape": pl.Cylinder(radius=0.03, length=LINK, axis="x"), "density": 1000, "com": (LINK / 2, 0, 0)}
    for k in range(7):
        body = robot.add_body(f"link{k + 1}", parent=place, offset=offset, joint=pl.Revolute("xy"[k % 2]), **rigid)
        robot.add_motion(f"joint{k + 1}", body)
        place, offset = body.at((LINK, 0, 0)), None
    soft = {"section": pl.Circle(radius=(0.015, 0.01)), "material": SILICONE, "points": points}
    robot.add_rod("arm", parent=place, length=0.5, strains=pl.Strains.kirchhoff_extensible(order=4), **soft)
    return robot.compile()


def small() -> pl.System:
    """Two rigid links and a soft one with all six strains, modelled as SoRoSim does (5 points, collocation)."""
    robot = pl.Robot("small hybrid robot", gravity=(0, 0, -9.81))
    turn = pl.rotate("y", -np.pi / 2)
    (Ix, Iy), (Jx, Jy) = (3.817035074111597e-4, 6.552576877224909e-3), (1.9886281497223383e-4, 4.39080563554433e-3)
    own = {"mass": 0.848230016469244, "com": (0.15, 0, 0), "inertia": (Ix, Iy, Iy)}
    first = robot.add_body("link1", offset=turn, joint=pl.Revolute("x"), **own)
    own = {"mass": 0.5969026041820605, "com": (0.1302631578947368, 0, 0), "inertia": (Jx, Jy, Jy)}
    place = first.at((0.3, 0, 0))
    second = robot.add_body("link2", parent=place, offset=turn.inverse(), joint=pl.Revolute("y"), **own)
    robot.add_rod(
        "arm",
        parent=second.at((0.3, 0, 0)),
        length=0.5,
        section=pl.Circle(radius=(0.02, 0.01)),
        material=SILICONE,
        strains=pl.Strains(torsion=3, bending=3, stretch=1, shear=1),
        points=5,
        collocation=True,
    )
    for name, link in (("joint1", first), ("joint2", second)):
        robot.add_motion(name, link)
    return robot.compile()


def swing(begin: float, size: float, pace: float) -> pl.Motion:
    """begin + size (1 − cos pace t)/2 with its derivative: it starts at rest."""
    return pl.Motion(lambda t: begin + size * (1 - np.cos(pace * t)) / 2, lambda t: size * pace * np.sin(pace * t) / 2)


MOTION = {f"joint{k + 1}": swing(*x) for k, x in enumerate(zip(BEGIN, SIZE, PACE))}


def run(system: pl.System, **options) -> pl.Result:
    """Ten seconds from the equilibrium at t = 0."""
    start = pl.solve_statics(system, motion=MOTION)
    return pl.simulate(system, 10.0, motion=MOTION, start=start, output=0.02, **options)


def tip_error(result: pl.Result, exact: pl.Result) -> float:
    """Largest distance between the tips of two runs [m]."""
    return float(np.linalg.norm(result.positions("arm.tip") - exact.positions("arm.tip"), axis=1).max())


def random_statics(system: pl.System, count: int) -> tuple[float, float]:
    """Joint angles at random within ±45°, as in the paper: share solved, mean time [s]."""
    angles = np.random.default_rng(0).uniform(-np.pi / 4, np.pi / 4, (count, 7))
    clock = time.perf_counter()
    found = [pl.solve_statics(system, motion=dict(zip(MOTION, x))) for x in angles]
    return float(np.mean([f.success and f.stable for f in found])), (time.perf_counter() - clock) / count


def figures(result: pl.Result) -> dict[str, object]:
    ax = result.plot_snapshots(6)
    result.plot_tip(view="3d", ax=ax)
    angles = result.plot_coordinates([f"link{k}.angle" for k in range(1, 8)])
    return {"snapshots": ax, "tip": result.plot_tip(), "angles": angles, "torques": result.plot_prescribed_forces()}


def main(figures_dir: str | None = None) -> None:
    system = build()
    print(system)
    exact = run(system, method="bdf", rtol=1e-8, atol=1e-9)
    for options in ({"rtol": 1e-3, "atol": 1e-4}, {}, {"rtol": 1e-5, "atol": 1e-6}, {"step": 0.01}):
        result = run(system, **options)
        print(f"{options}: tip within {1e3 * tip_error(result, exact):.4f} mm, {result.statistics}")
    print(f"bdf: {exact.statistics}")
    for name, torque in exact.prescribed_forces().items():
        print(f"{name}: torque {torque.min():8.4f} to {torque.max():7.4f} N m")
    share, mean = random_statics(system, 1000)
    print(f"1000 random static solutions: {100 * share:.1f} % solved, {1e3 * mean:.3f} ms each")
    gallery.save(figures_dir, figures, exact)


def check() -> None:
    """SoRoSim's numbers; the joints are where they should be; tolerances and methods agree; the torques do the work."""
    system = small()
    k = np.arange(1, 21)
    size = np.where((k > 2) & (k < 15), 2.0, 1.0)  # SoRoSim's curvatures are multiplied by the length
    q, v, a = size * 0.2 * np.sin(k), size * 0.3 * np.sin(2 * k + 1), size * 0.4 * np.sin(3 * k + 2)
    zero, known = np.zeros(20), np.concatenate([[0.5, -0.25], np.zeros(18)])
    torques = system.inverse_dynamics(q, v, a)[:2]
    np.testing.assert_allclose(torques, [-0.04159122163089755, -2.5701917594534947], rtol=1e-6)
    a = system.forward_dynamics(q, v, prescribed=known)
    np.testing.assert_allclose(system.residual(q, v, a)[:2], [18.00186605165482, -39.62102102944352], rtol=1e-6)
    rest = pl.solve_statics(system, motion={"joint1": np.pi / 4, "joint2": -np.pi / 6})
    np.testing.assert_allclose(system.residual(rest.q, zero, zero)[:2], [0, -2.2487012151283463], rtol=1e-7, atol=1e-12)
    tip = system.pose("arm.tip", rest.q)[:3, 3]
    np.testing.assert_allclose(tip, [0.4870158636335547, 0.48701586363355465, 0.27638691342909877], rtol=1e-7)

    system = build()
    assert system.nv == 27
    exact, other = (run(system, method=m, rtol=1e-7, atol=1e-8) for m in ("bdf", "radau"))
    assert tip_error(exact, other) < 2e-6
    for bound, options in ((5e-4, {}), (1e-4, {"rtol": 1e-5, "atol": 1e-6}), (1e-4, {"step": 0.01})):
        result = run(system, **options)
        assert result.success, result.message
        assert tip_error(result, exact) < bound
        angles = np.array([motion.position(result.t) for motion in MOTION.values()]).T
        assert np.abs(result.q[:, :7] - angles).max() < 1e-14
    balance = exact.power_balance()
    assert np.abs(balance["imbalance"]).max() < 2e-3 * np.ptp(balance["energy"])
    # [002] solves 1000 random statics; all are found here too
    assert random_statics(system, 200)[0] == 1.0


if __name__ == "__main__":
    main()
    check()
