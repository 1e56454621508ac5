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
from pliant import gallery

WATER = 1000.0
BODY, SHAFT, HOOK = pl.Cylinder(0.06, 0.40), pl.Cylinder(0.01, 0.10), pl.Cylinder(0.0125, 0.04)  # along x
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


def build() -> pl.System:
    silicone = pl.Material(young=1e6, poisson=0.5, density=WATER, viscosity=1e4)
    robot = pl.Robot("underwater vehicle", gravity=(0, 0, -9.81))
    robot.set_fluid(density=WATER)
    body = robot.add_body("body", joint=pl.Free(), shape=BODY, density=WATER)
    robot.add_hydrodynamics(body, bluff(BODY, cx=0.1))
    flow = pl.Hydrodynamics.circular(by=0.6, bz=0.6, drag=drag_and_lift)
    for place, side, length in (("front", 1, 0.35), ("rear", -1, 0.50)):
        rigid = {"offset": (side * 0.25, 0, 0), "shape": SHAFT, "density": WATER}
        shaft = robot.add_body(f"{place}_shaft", parent=body, joint=pl.Revolute("x"), **rigid)
        robot.add_hydrodynamics(shaft, bluff(SHAFT))
        robot.add_motor(f"{place}_motor", shaft)
        for k in range(3):
            offset = (
                pl.translate(side * 0.05, 0, 0) @ pl.rotate("x", 2 * np.pi / 3 * k) @ pl.rotate("z", np.radians(135))
            )
            rigid = {"offset": offset, "offset_after": (0.02, 0, 0), "shape": HOOK, "density": WATER}
            hook = robot.add_body(f"{place}_hook{k}", parent=shaft, **rigid)
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
            robot.add_hydrodynamics(hook, bluff(HOOK, mass=0.6))
            robot.add_hydrodynamics(flagellum, flow)
    return robot.compile()


TORQUES = {"front_motor": 0.25, "rear_motor": -0.25}


def flagella(run) -> np.ndarray:
    """Positions of the six tips [m], (6, nt, 3)."""
    return np.array([run.positions(f"{place}_flagellum{k}.tip") for place in ("front", "rear") for k in range(3)])


def roll(run) -> np.ndarray:
    """Angle by which the body has turned about its axis [rad], (nt,)."""
    R = run.poses("body")[:, :3, :3]
    return np.unwrap(np.arctan2(R[:, 2, 1], R[:, 1, 1]))


def shaft_speeds(run) -> list[float]:
    """Speeds of the shafts at the end [rad/s]."""
    return [float(run.v[-1, run.system.v_slice(f"{place}_shaft").start]) for place in ("front", "rear")]


def figures(run):
    """The vehicle at rest and turning, its way, and the speeds of the shafts."""
    shafts = run.plot_coordinates(["front_shaft", "rear_shaft"])
    return {
        "shape": run.plot_shape(10.0),
        "start": run.plot_shape(0.0),
        "way": run.plot_trajectory("body"),
        "shafts": shafts,
    }


def main(figures_dir=None):
    system = build()
    runs = {
        "error control, rtol 1e-3": {"rtol": 1e-3, "atol": 1e-4},
        "error control, rtol 1e-4 (default)": {},
        "step 0.01 s, as in the paper": {"step": 0.01},
        "error control, rtol 1e-6": {"rtol": 1e-6, "atol": 1e-7},
    }
    pl.simulate(system, 0.1, u=TORQUES)  # loads the compiled kernels
    done = {name: pl.simulate(system, 10, u=TORQUES, output=0.05, **options) for name, options in runs.items()}
    best = flagella(run := done["error control, rtol 1e-6"])
    print(
        f"{'10 s of motion':30}{'steps':>7}{'time [s]':>10}{'x [m]':>9}{'off axis [m]':>14}{'roll':>9}{'tips differ [m]':>17}"
    )
    for name, other in done.items():
        x = other.positions("body")
        off = np.linalg.norm(x[:, 1:], axis=1).max()
        gap = np.linalg.norm(flagella(other) - best, axis=2).max()
        cost = f"{other.statistics.steps:7d}{other.statistics.wall_time:10.3f}"
        print(f"{name:30}{cost}{x[-1, 0]:9.4f}{off:14.1e}{np.abs(roll(other)).max():9.0e}{gap:17.1e}")
    x, (front, rear) = run.positions("body")[:, 0], shaft_speeds(run)
    print(f"  at the end {x[-1] - x[-21]:.3f} m/s; shafts turn with {front:.2f} and {rear:.2f} rad/s")
    gallery.save(figures_dir, figures, run)
    print("  the paper: 1.17 s at best, some 8 min with an explicit method")


def check():
    system = build()
    assert system.nv == 80
    # neutrally buoyant: at rest nothing acts, in any shape
    q, zero = system.random(0, scale=0.3), np.zeros(system.nv)
    np.testing.assert_allclose(system.residual(q, zero, zero), system.elastic_forces(q), atol=1e-12)
    # the reactions of the motors cancel, and three flagella make no side force: the body only advances
    run = pl.simulate(system, 10, u=TORQUES, output=0.05)
    assert run.success
    x = run.positions("body")
    assert abs(x[-1, 0] - 3.569) < 2e-3
    assert np.abs(x[:, 1:]).max() < 1e-3
    assert np.abs(roll(run)).max() < 1e-6
    np.testing.assert_allclose(shaft_speeds(run), [8.322, -7.570], atol=0.01)
    # another method with a tighter tolerance agrees
    other = pl.simulate(system, 1, u=TORQUES, output=0.05, method="bdf", rtol=1e-5, atol=1e-6)
    assert np.linalg.norm(flagella(run)[:, : len(other)] - flagella(other), axis=2).max() < 1e-3
    assert np.abs(x[: len(other), 0] - other.positions("body")[:, 0]).max() < 5e-4


if __name__ == "__main__":
    main()
    check()
