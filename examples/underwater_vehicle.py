"""The underwater vehicle of [002] section 6.3: two counter-rotating shafts with three soft flagella each, 80 dof.

From the paper: a free body, two shafts with constant torques of ±0.25 N m, six hooks, front flagella of 0.35 m and rear
ones of 0.5 m, inextensible Kirchhoff rods of cubic strain of the silicone of the other examples, 6 Gauss points each (from
its count of points), everything neutrally buoyant, 10 s from rest. The base radius of 12.5 cm is taken as 12.5 mm: the
paper's value would be a third of the length, and the torque would move nothing.

Made up, because the paper prints none of it: sizes of body, shafts and hooks, hooks swept back by 45°, the taper (linear),
and all coefficients of drag, lift and added mass (of the size used for such robots).

The paper needs 1.17 s (ode15s with analytical derivatives, its best) or about 8 min (explicit) for these 10 s.
"""

import numpy as np

import pliant as pl

WATER = 1000.0
BODY, SHAFT, HOOK = pl.Cylinder(0.06, 0.40), pl.Cylinder(0.01, 0.05), pl.Cylinder(0.0125, 0.04)  # along x
ROOT = 0.0125  # radius of a flagellum at its base [m]; its tip is nearly a point


def bluff(shape, cx=0.01, cn=1.25, mass=1.0):
    """Drag and added mass of a cylinder along x, for motion and rotation."""
    R, L = shape.radius, shape.length
    side, m = cn * WATER * R * L, mass * WATER * shape.volume
    drag = [0, side * L**3 / 32, side * L**3 / 32, cx * WATER * np.pi * R * L, side, side]  # turning: ∫ c |x|³ dx
    return pl.Hydrodynamics(drag=drag, added_mass=[0, m * L**2 / 12, m * L**2 / 12, 0.1 * m, m, m])


def drag_and_lift(X):
    """[002] eq. 62: per metre ρ R (drag 1.1 across, lift −0.1 about the axis, none along it)."""
    D = np.zeros((6, 6))
    D[3:, 3:] = WATER * ROOT * (1 - X) * np.array([[0, 0, 0], [0, 1.1, 0.1], [0, -0.1, 1.1]])
    return D


def build(water=True) -> pl.System:
    silicone = pl.Material(young=1e6, poisson=0.5, density=WATER, viscosity=1e4)
    robot = pl.Robot("underwater vehicle", gravity=(0, 0, -9.81))
    robot.set_fluid(density=WATER)
    body = robot.add_body("body", joint=pl.Free(), shape=BODY, density=WATER)
    robot.add_hydrodynamics(body, bluff(BODY, cx=0.1) if water else None)
    flow = pl.Hydrodynamics.circular(by=0.6, bz=0.6, drag=drag_and_lift) if water else None
    for place, side, length in (("front", 1, 0.35), ("rear", -1, 0.50)):
        shaft = robot.add_body(
            f"{place}_shaft",
            parent=body,
            joint=pl.Revolute("x"),
            offset=(side * 0.225, 0, 0),
            shape=SHAFT,
            density=WATER,
        )
        robot.add_hydrodynamics(shaft, bluff(SHAFT) if water else None)
        robot.add_motor(f"{place}_motor", shaft)
        for k in range(3):
            hook = robot.add_body(
                f"{place}_hook{k}",
                parent=shaft,
                offset=pl.rotate("x", 2 * np.pi / 3 * k) @ pl.rotate("z", np.radians(135)),
                offset_after=(0.02, 0, 0),
                shape=HOOK,
                density=WATER,
            )
            flagellum = robot.add_rod(
                f"{place}_flagellum{k}",
                parent=hook,
                offset=(0.02, 0, 0),
                length=length,
                section=pl.Circle(radius=(ROOT, 1e-4)),
                material=silicone,
                strains=pl.Strains.kirchhoff(3),
                points=6,
            )
            robot.add_hydrodynamics(hook, bluff(HOOK, mass=0.6) if water else None)
            robot.add_hydrodynamics(flagellum, flow)
    return robot.compile()


TORQUES = {"front_motor": 0.25, "rear_motor": -0.25}


def roll(run) -> np.ndarray:
    """Angle by which the body has turned about its axis [rad], (nt,)."""
    R = run.poses("body")[:, :3, :3]
    return np.unwrap(np.arctan2(R[:, 2, 1], R[:, 1, 1]))


def shaft_speeds(run) -> list[float]:
    """Mean speeds of the shafts over the last two seconds [rad/s]."""
    late = run.t >= run.t[-1] - 2
    indices = [run.system.v_slice(f"{place}_shaft").start for place in ("front", "rear")]
    return [float(run.v[late, i].mean()) for i in indices]


def main():
    system = build()
    print(repr(system))
    runs = {
        "generalized-alpha, error control": {},
        "generalized-alpha, step 0.01 s": {"step": 0.01},
        "bdf, rtol 1e-6": {"method": "bdf", "rtol": 1e-6, "atol": 1e-7},
    }
    print(f"{'10 s of motion':34}{'steps':>7}{'time [s]':>10}{'x [m]':>9}{'off axis [m]':>14}{'roll [rad]':>12}")
    for name, options in runs.items():
        run = pl.simulate(system, 10, u=TORQUES, output=0.05, **options)
        x = run.positions("body")
        off = np.linalg.norm(x[:, 1:], axis=1).max()
        print(
            f"{name:34}{run.statistics.steps:7d}{run.statistics.wall_time:10.3f}{x[-1, 0]:9.4f}{off:14.1e}{roll(run)[-1]:12.4f}"
        )
    speeds = shaft_speeds(run)
    print(f"  shafts turn with {speeds[0]:.2f} and {speeds[1]:.2f} rad/s; the paper: 1.17 s of computing, or 8 min")


def check():
    pass


if __name__ == "__main__":
    main()
    check()
