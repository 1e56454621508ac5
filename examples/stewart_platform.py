"""A Stewart platform on six elastic legs: forward and inverse statics, a motion, and how stiff it is over its workspace.

A continuum parallel robot, of the class of [000] section X.C in space: six thin rods of Nitinol, clamped into slides that drives push up and down
and clamped to the platform, so that all joints are the bending of the legs. The drives are servos of some stiffness; their targets are the
inputs. Six loops of six rows close it. Inverse statics (which targets take the platform to a pose) is Newton's method with the exact
`static_jacobian`. Unit wrenches on the platform are inputs too: the same Jacobian is its compliance, whose inverse the Cartesian stiffness.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import pyplot, style

BASE, TOP, HEIGHT = 0.12, 0.08, 0.30  # radii of the circles of feet and of clamps, height of the platform [m]
FEET, CLAMPS = np.radians([15, 105, 135, 225, 255, 345]), np.radians([45, 75, 165, 195, 285, 315])
RADIUS, YOUNG, POISSON, DRIVE, MASS = 0.0012, 60e9, 0.3, 5e4, 0.2  # legs [m, Pa], drives [N/m], platform [kg]
SERVOS = tuple(f"drive{k}" for k in range(6))
WRENCH = ("mx", "my", "mz", "fx", "fy", "fz")
LENGTH = np.hypot(HEIGHT, np.hypot(BASE - TOP * np.cos(np.pi / 6), TOP * np.sin(np.pi / 6)))
HOME = pl.translate(0, 0, HEIGHT)
GOAL = pl.translate(0.03, 0.01, 0.31) @ pl.rotate("y", 0.3) @ pl.rotate("z", 0.2)


def lead(k: int) -> pl.Pose:
    """Where leg k starts, with x along the straight leg."""
    foot = BASE * np.array([np.cos(FEET[k]), np.sin(FEET[k]), 0.0])
    x, y, z = np.array([TOP * np.cos(CLAMPS[k]), TOP * np.sin(CLAMPS[k]), HEIGHT]) - foot
    return pl.translate(*foot) @ pl.rotate("z", np.arctan2(y, x)) @ pl.rotate("y", -np.arctan2(z, np.hypot(x, y)))


def build(gravity: float = 9.81) -> pl.System:
    robot = pl.Robot("Stewart platform", gravity=(0, 0, -gravity))
    nitinol = pl.Material(young=YOUNG, poisson=POISSON, density=6450, viscosity=3e7)
    disc = pl.Cylinder(TOP + 0.01, 0.01, "z")
    platform = robot.add_body("platform", offset=HOME, joint=pl.Free(), mass=MASS, shape=disc)
    for k in range(6):
        leg = robot.add_rod(
            f"leg{k}", offset=lead(k), joint=pl.Prismatic("x", damping=50.0), length=LENGTH,
            section=pl.Circle(RADIUS), material=nitinol, strains=pl.Strains.kirchhoff(3),
        )  # fmt: skip
        robot.add_loop(f"clamp{k}", leg.tip, platform.at(HOME.inverse() @ lead(k) @ pl.translate(LENGTH, 0, 0)))
        robot.add_motor(SERVOS[k], leg, control="position", kp=DRIVE)
    for k, axis in enumerate(np.eye(3)):
        robot.add_wrench(WRENCH[k], platform, moment=axis)
        robot.add_wrench(WRENCH[3 + k], platform, force=axis)
    return robot.compile()


def sensitivity(system: pl.System, rest: pl.Equilibrium, names: tuple[str, ...], **options: str) -> np.ndarray:
    """Motion of the platform (rotation, position) for each of these inputs, (6, 6)."""
    picked = [system.input_names.index(name) for name in names]
    return pl.static_jacobian(system, rest, "platform", **options)[:, picked]


def inverse(system: pl.System, goal: pl.Pose, start: pl.Equilibrium) -> pl.Equilibrium:
    """Targets of the drives that take the platform to a pose, and the robot there: Newton's method on the pose."""
    rest, miss = start, np.ones(6)
    while np.abs(miss).max() > 1e-12 and rest.success:
        miss = pl.lie.log(np.linalg.solve(system.pose("platform", rest.q), goal.matrix))
        way = miss * min(1.0, 0.1 / np.abs(miss / [1, 1, 1, 0.1, 0.1, 0.1]).max())  # 10 mm at once
        targets = rest.u[:6] + np.linalg.solve(sensitivity(system, rest, SERVOS, reference="body"), way)
        rest = pl.solve_statics(system, dict(zip(SERVOS, targets)), start=rest)
    return rest


def straight() -> np.ndarray:
    """Stiffness (6, 6) of the platform on straight unloaded legs, each a beam (torsion, two bendings) on the spring of its drive."""
    area = np.pi * RADIUS**4 / 4
    twist, bend, slope = (x * area * YOUNG / LENGTH for x in (1 / (1 + POISSON), 4, 6 / LENGTH))
    K = np.diag([twist, bend, bend, DRIVE, 2 * slope / LENGTH, 2 * slope / LENGTH])
    K[1, 5] = K[5, 1] = slope
    K[2, 4] = K[4, 2] = -slope
    frames = [pl.lie.Ad((pl.translate(-LENGTH, 0, 0) @ lead(k).inverse() @ HOME).matrix) for k in range(6)]
    return sum(T.T @ K @ T for T in frames)


def workspace(system: pl.System, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Stiffness [N/m] of the level platform over a slice in its softest direction and along z, (z, x, 2)."""
    out, rest = np.zeros((len(z), len(x), 2)), pl.solve_statics(system)
    for i, height in enumerate(z):
        for j in range(len(x))[:: 1 - 2 * (i % 2)]:  # to and fro
            rest = inverse(system, pl.translate(x[j], 0, height), rest)
            compliance = sensitivity(system, rest, WRENCH)[3:, 3:]
            out[i, j] = 1 / np.linalg.eigvalsh(compliance)[-1], 1 / compliance[2, 2]
    return out


def move(system: pl.System) -> pl.Result:
    """From rest to the goal in 0.3 s, then at rest: the drives follow their targets, the platform swings."""
    home = pl.solve_statics(system)
    u, ramp = inverse(system, GOAL, home).u, pl.Expression("min(t / 0.3, 1)**2 * (3 - 2*min(t / 0.3, 1))")
    return pl.simulate(system, 1.0, u=lambda t: ramp(t) * u, start=home, breaks=[0.3], output=0.005)


def figures(run: pl.Result) -> dict[str, object]:
    x, z = np.linspace(-0.06, 0.06, 13), np.linspace(0.24, 0.34, 6)
    soft, vertical = workspace(run.system, x, z).T.swapaxes(1, 2) / 1e3
    with style():
        figure = pyplot().figure(figsize=(9, 3.8))
        run.plot_shape(run.t[-1], ax=figure.add_subplot(1, 2, 1, projection="3d"))
        ax = figure.add_subplot(1, 2, 2, xlabel="x [m]", ylabel="z [m]", title="stiffness of the platform [N/mm]")
        figure.colorbar(ax.contourf(x, z, vertical, 12), label="along z (white: softest direction)")
        ax.clabel(ax.contour(x, z, soft, 8, colors="white", linewidths=0.8), fmt="%.1f", fontsize=7)
    return {"shape": figure, "drives": run.plot_coordinates([f"leg{k}.displacement" for k in range(6)])}


def main(figures_dir: str | None = None) -> None:
    system = build()
    home = pl.solve_statics(system)
    print(f"{system.nv} dof, {len(system.loop_rows)} rows of loops\nhome: {home}")
    there = inverse(system, GOAL, home)
    print(f"targets for the goal [mm]: {(1e3 * there.u[:6]).round(3)}")
    for name, rest in (("home", home), ("there", there)):
        K = np.diag(np.linalg.inv(sensitivity(system, rest, WRENCH)))
        print(f"stiffness {name}: {K[3:].round()} N/m along x, y, z and {K[:3].round(1)} N m/rad")
    run = move(system)
    print(f"{run}\n  loops closed to {max(np.abs(system.closure(q)[0]).max() for q in run.q):.1e}")
    gallery.save(figures_dir, figures, run)


def check() -> None:
    # straight legs without load: the stiffness of beams
    bare, K = build(gravity=0.0), straight()
    found = np.linalg.inv(sensitivity(bare, pl.solve_statics(bare), WRENCH))
    np.testing.assert_allclose(found, K, atol=1e-9 * K.max())
    # the pose that was asked for is that of the targets, also in one step from home
    system = build()
    home = pl.solve_statics(system)
    there = inverse(system, GOAL, home)
    forward = pl.solve_statics(system, dict(zip(SERVOS, there.u)), start=home)
    np.testing.assert_allclose(system.pose("platform", forward.q), GOAL.matrix, atol=1e-8)
    # compliance: symmetric, and that of differences of equilibria
    C = sensitivity(system, there, WRENCH)
    assert np.abs(C - C.T).max() < 1e-10 * np.abs(C).max()
    for k, name in enumerate(WRENCH):
        u, size = dict(zip(SERVOS, there.u)), 2e-3 if k < 3 else 5e-2
        up, down = (pl.solve_statics(system, u | {name: s * size}, start=there).q for s in (1, -1))
        change = pl.lie.log(np.linalg.solve(system.pose("platform", down), system.pose("platform", up))) / (2 * size)
        change = np.kron(np.eye(2), GOAL.matrix[:3, :3]) @ change  # in world axes
        np.testing.assert_allclose(change, C[:, k], atol=1e-5 * np.abs(C[:, k]).max())
    # the motion ends where statics says, with closed loops
    run = move(system)
    assert max(np.abs(system.closure(q)[0]).max() for q in run.q) < 1e-12
    np.testing.assert_allclose(run.poses("platform")[-1], GOAL.matrix, atol=1e-4)


if __name__ == "__main__":
    main()
    check()
