"""A five-bar linkage with two motors and a soft coupler, whose tip is led along a circle.

Two cranks, a rigid coupler and one of polyurethane, joined by pins in a vertical plane; the loop closes at the tip, which carries a load.
The cranks turn as the rigid linkage would have to (its inverse kinematics in closed form), so that the torques of the motors are results;
the soft coupler sags under its weight and bends as it is accelerated, and the tip misses the circle by millimetres. The torques that were
found then drive motors: forward dynamics gives the same motion. The stiffer the coupler, the closer it is to the rigid linkage.
"""

import numpy as np
from scipy.interpolate import make_interp_spline

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

HALF, CRANK, COUPLER, RADIUS = 0.1, 0.2, 0.3, 0.008  # half of the base, bars, radius of the coupler [m]
CENTRE, CIRCLE, TIME = np.array([0.0, 0.36]), 0.05, 1.0  # of the circle [m], and the time of a turn [s]
DENSITY, LOAD, BAR = 1100.0, 0.05, 0.1  # kg/m³, kg
SIDES = {"left": -1.0, "right": 1.0}


def goal(t: float) -> np.ndarray:
    """A turn around the circle from its top, starting and ending at rest."""
    s = np.clip(t / TIME, 0, 1)
    phase = 2 * np.pi * s**3 * (10 - 15 * s + 6 * s * s)
    return CENTRE + CIRCLE * np.array([np.sin(phase), np.cos(phase)])


def angles(t: float, side: float) -> tuple[float, float]:
    """Inverse kinematics of the rigid linkage: angle of a crank, elbow outwards, and of its coupler from it."""
    x, y = goal(t) - [side * HALF, 0.0]
    reach = np.hypot(x, y)
    crank = np.arctan2(y, x) - side * np.arccos((CRANK**2 + reach**2 - COUPLER**2) / (2 * CRANK * reach))
    return crank, np.arctan2(y - CRANK * np.sin(crank), x - CRANK * np.cos(crank)) - crank


def build(young: float | None = 1e7, *, motors: bool = False) -> pl.System:
    """The linkage where it starts; its soft coupler is rigid without Young's modulus. Torques of motors, or told angles."""
    robot = pl.Robot("five-bar linkage", gravity=(0, -9.81, 0))
    mass = DENSITY * np.pi * RADIUS**2 * COUPLER
    for name, side in SIDES.items():
        crank, bend = angles(0.0, side)
        bar = robot.add_body(
            name, offset=pl.translate(side * HALF, 0, 0) @ pl.rotate("z", crank), joint=pl.Revolute("z", damping=0.002),
            shape=pl.Box(CRANK, 0.015, 0.015), mass=BAR, com=(CRANK / 2, 0, 0),
        )  # fmt: skip
        robot.add_frame(f"{name} elbow", bar, offset=pl.translate(CRANK, 0, 0) @ pl.rotate("z", bend))
        (robot.add_motor if motors else robot.add_motion)(f"{name} motor", bar)
    rod = {"parent": "left elbow", "joint": pl.Revolute("z")}
    stiff = {"mass": mass, "com": (COUPLER / 2, 0, 0), "shape": pl.Cylinder(RADIUS, COUPLER, "x")}
    if young is None:
        end = robot.add_body("soft", **rod, **stiff).at((COUPLER, 0, 0))
    else:
        material = pl.Material(young=young, poisson=0.45, density=DENSITY, viscosity=0.002 * young)
        slender = {"section": pl.Circle(RADIUS), "material": material, "strains": pl.Strains(bending_z=4, stretch=1)}
        end = robot.add_rod("soft", **rod, length=COUPLER, **slender).tip
    rigid = robot.add_body("rigid", parent="right elbow", joint=pl.Revolute("z"), **stiff)
    robot.add_body("load", parent=rigid.at((COUPLER, 0, 0)), mass=LOAD, shape=pl.Sphere(0.012))
    robot.add_loop("tip", end, rigid.at((COUPLER, 0, 0)), joint=pl.Revolute("z"))
    return robot.compile()


def follow(system: pl.System) -> pl.Result:
    """Around the circle, and a quarter of a turn's time at rest."""
    motion, times = {}, np.linspace(-0.1, 1.5, 401) * TIME
    for name, side in SIDES.items():  # splines, since they are asked for often and have derivatives
        told = make_interp_spline(times, [angles(t, side)[0] - angles(0, side)[0] for t in times], k=5)
        motion[f"{name} motor"] = pl.Motion(*(told.derivative(k) for k in range(3)))
    return pl.simulate(system, 1.25 * TIME, motion=motion, start=pl.solve_statics(system), step=0.0025)


def torques(run: pl.Result) -> np.ndarray:
    """Of both motors (nt, 2) [N m]."""
    return np.hstack([run.prescribed_forces()[f"{name} motor"] for name in SIDES])


def repeat(run: pl.Result) -> pl.Result:
    """The same motion from the torques: forward dynamics."""
    system = build(motors=True)
    u = pl.Signal(run.t, torques(run), kind="spline")
    return pl.simulate(system, run.t[-1], u=u, start=run.q[0], rtol=1e-6, atol=1e-7, output=run.t)


def miss(run: pl.Result) -> np.ndarray:
    """Distance of the tip from where it should be [m]."""
    return np.linalg.norm(run.positions("load")[:, :2] - [goal(t) for t in run.t], axis=1)


def figures(run: pl.Result) -> dict[str, object]:
    shapes, (ax,) = panels(1, 1, size=(5.2, 4.6))
    run.plot_snapshots(np.array([0.0, 0.4, 0.5, 0.6]) * TIME, view="xy", ax=ax)
    ax.plot(*np.array([goal(t) for t in np.linspace(0, TIME, 200)]).T, "k:", label="wanted")
    ax.plot(*run.positions("load")[:, :2].T, color="tab:red", lw=1, label="tip")
    legend(ax, loc="lower left")
    other, (ax,) = panels(1, 1, size=(6, 3.4))
    for kind, each, line in (("soft", run, "-"), ("rigid", follow(build(None)), ":")):
        for k, name in enumerate(SIDES):
            ax.plot(each.t, torques(each)[:, k], line, color=f"C{k}", label=f"{name}, {kind}")
    ax.set(xlabel="t [s]", ylabel="torque [N m]")
    legend(ax)
    return {"snapshots": shapes, "torques": other}


def main(figures_dir: str | None = None) -> None:
    run, rigid = follow(build()), follow(build(None))
    print(f"{run}\ntip at most {1e3 * miss(run).max():.2f} mm off the circle; rigid {1e3 * miss(rigid).max():.1e} mm")
    for name, each in (("soft", run), ("rigid", rigid)):
        print(f"largest torques, {name}: {np.abs(torques(each)).max(axis=0).round(4)} N m")
    away = np.linalg.norm(repeat(run).positions("load") - run.positions("load"), axis=1)
    print(
        f"moved by these torques, the tip is {1e6 * away[200]:.1f} µm away halfway, {1e6 * away[400]:.0f} µm in the end"
    )
    for young in (1e7, 1e8, 1e9, 1e10):
        stiff = follow(build(young))
        change = np.abs(torques(stiff) - torques(rigid)).max()
        print(f"E = {young:.0e} Pa: tip {1e3 * miss(stiff).max():.4f} mm off, torques change by {change:.1e} N m")
    gallery.save(figures_dir, figures, run)


def check() -> None:
    system = build()
    run, rigid = follow(system), follow(build(None))
    assert max(np.abs(system.closure(q)[0]).max() for q in run.q) < 1e-12
    # the work of the motors is the change of energy and what is dissipated
    balance = run.power_balance()
    assert np.abs(balance["imbalance"]).max() < 1e-4 * np.ptp(balance["input"])
    power = np.sum(torques(run) * run.v[:, [system.dof_names.index(f"{name}.angle") for name in SIDES]], axis=1)
    work = np.sum(0.5 * np.diff(run.t) * (power[1:] + power[:-1]))
    assert abs(work - balance["input"][-1]) < 1e-9
    # forward dynamics with these torques: the accelerations and forces of one moment, and the whole motion
    motors, k = build(motors=True), 160
    a, forces = motors.constrained_dynamics(run.q[k], run.v[k], u=torques(run)[k])
    np.testing.assert_allclose(motors.mass_matrix(run.q[k]) @ (a - run.a[k]), 0.0, atol=1e-3)
    np.testing.assert_allclose(forces, run.multipliers[k], atol=1e-2 * np.abs(forces).max())
    away = np.linalg.norm(repeat(run).positions("load") - run.positions("load"), axis=1)
    assert away[200] < 1e-5
    assert away[400] < 2e-4  # standing above its motors it falls, so that errors grow
    # a stiff coupler is a rigid one: the rest falls with the compliance
    assert miss(rigid).max() < 1e-8
    far, near = (miss(follow(build(young))).max() for young in (1e9, 1e10))
    assert near < 1e-6
    assert 8 < far / near < 12
    assert np.abs(torques(follow(build(1e9))) - torques(rigid)).max() < 3e-4


if __name__ == "__main__":
    main()
    check()
