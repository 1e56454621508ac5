"""A gripper whose two soft fingers are geared together, with one motor that closes both.

Two jaws turn about pins and mesh with each other (`add_coupling`), a motor drives one of them through a reduction. Each carries a
silicone finger. A peg that slides in a slot stands off centre between them: the finger that is nearer touches first and pushes it, until both
press. Couplings are exact rows, so that the jaws mirror each other to rounding, their multipliers are the torques in the gears, and the inertia
that the motor feels is that of the textbook, J = J_motor + (J_left + J_right) / N².
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

HALF, JAW, FINGER, THICK = 0.04, 0.05, 0.08, 0.006  # half distance of the pins, lengths, radius of the fingers [m]
PEG, AWAY, ASIDE = 0.025, 0.11, 0.004  # radius of the peg, where it stands [m]
REDUCTION, ROTOR, TORQUE = 4.0, 2e-6, 0.02  # –, kg m², N m
SIDES = {"left": -1.0, "right": 1.0}


def build(*, fingers: bool = True) -> pl.System:
    """The gripper, which grips in the plane; without fingers and peg it is a train of gears."""
    robot = pl.Robot("geared gripper", gravity=(0, 0, 0))
    motor = {"mass": 0.02, "inertia": (ROTOR, ROTOR, ROTOR), "shape": pl.Cylinder(0.008, 0.02, "z")}
    robot.add_body("rotor", offset=(0.065, 0, 0), joint=pl.Revolute("z"), **motor)
    for name, side in SIDES.items():
        jaw = robot.add_body(
            name, offset=pl.translate(side * HALF, 0, 0) @ pl.rotate("z", np.pi / 2), joint=pl.Revolute("z", damping=1e-3),
            shape=pl.Box(JAW, 0.012, 0.012), mass=0.03, com=(JAW / 2, 0, 0),
        )  # fmt: skip
        if fingers:
            robot.add_rod(
                f"{name} finger", parent=jaw.at((JAW, 0, 0)), length=FINGER, section=pl.Circle(THICK),
                material=pl.Material(young=1e6, poisson=0.45, density=1100, viscosity=5e3), strains=pl.Strains(bending_z=4),
                points=24,
            )  # fmt: skip
    robot.add_coupling("mesh", {"left": 1, "right": 1})
    robot.add_coupling("reduction", {"rotor": 1, "right": REDUCTION})
    robot.add_motor("motor", "rotor")
    if fingers:
        slot = pl.Prismatic("x", damping=0.5)
        peg = robot.add_body("peg", offset=(ASIDE, AWAY, 0), joint=slot, mass=0.05, shape=pl.Sphere(PEG))
        robot.add_obstacle("ball", pl.Sphere(PEG), parent=peg)
        for name in SIDES:
            robot.add_contact(f"{name} grip", f"{name} finger", "ball", stiffness=3e3, damping=1.0)
    return robot.compile()


def close(system: pl.System) -> pl.Result:
    """The motor's torque comes within 0.1 s and stays."""
    return pl.simulate(system, 1.5, u={"motor": pl.Expression(f"-{TORQUE}*min(t/0.1, 1)")}, output=0.005)


def rest(run: pl.Result) -> pl.Equilibrium:
    """Where it ends, at rest."""
    return pl.solve_statics(run.system, {"motor": -TORQUE}, start=run.last.q)


def grip(system: pl.System, held: pl.Equilibrium) -> dict[str, tuple[np.ndarray, float]]:
    """For each finger: the force of the peg on it [N], and its moment about the pin of the jaw [N m]."""
    contacts, out = system.contacts(held.q, np.zeros(system.nv)), {}
    for name, side in SIDES.items():
        mine = np.array([link == f"{name} finger" for link in contacts.link])
        lever = contacts.point[mine] - [side * HALF, 0, 0]
        out[name] = contacts.force[mine].sum(axis=0), np.cross(lever, contacts.force[mine])[:, 2].sum()
    return out


def inertia() -> float:
    """What the motor feels of rotor and jaws [kg m²]."""
    bar = 0.03 * ((JAW**2 + 0.012**2) / 12 + (JAW / 2) ** 2)
    return ROTOR + 2 * bar / REDUCTION**2


def figures(run: pl.Result) -> dict[str, object]:
    shapes, axes = panels(1, 2, size=(8, 4))
    for ax, times in zip(axes, ([0.0], [run.t[-1]])):
        run.plot_snapshots(np.array(times), view="xy", ax=ax)
    motion, axes = panels(2, 1, size=(6, 5))
    run.plot_coordinates(["left.angle", "right.angle"], ax=axes[0])
    axes[1].plot(run.t, 1e3 * run.positions("peg")[:, 0], label="peg")
    axes[1].set(xlabel="t [s]", ylabel="x [mm]")
    legend(axes[1])
    return {"shapes": shapes, "motion": motion, "forces": run.plot_contacts()}


def main(figures_dir: str | None = None) -> None:
    run = close(build())
    held = rest(run)
    print(f"{run}\nheld: {held}")
    x = 1e3 * run.positions("peg")[:, 0]
    print(f"the peg goes from {x[0]:.2f} mm over {x.min():.2f} mm to {x[-1]:.5f} mm")
    for name, (force, moment) in grip(run.system, held).items():
        print(f"{name}: {force[0]:+.5f} N sideways, {moment:+.6f} N m about its pin")
    mesh, reduction = held.multipliers
    print(f"torques in the gears: {mesh:+.6f} N m between the jaws, {reduction:+.6f} N m at the motor ({TORQUE} N m)")
    a = build(fingers=False).constrained_dynamics(np.zeros(3), np.zeros(3), u={"motor": 1.0}).a
    print(f"inertia at the motor, without fingers: {1e7 / a[0]:.6f} g cm², by hand {1e7 * inertia():.6f} g cm²")
    gallery.save(figures_dir, figures, run)


def check() -> None:
    # the inertia of rotor and jaws, seen through the gears
    train = build(fingers=False)
    a, _forces = train.constrained_dynamics(np.zeros(3), np.zeros(3), u={"motor": 1.0})
    np.testing.assert_allclose(a * inertia(), [1, 1 / REDUCTION, -1 / REDUCTION], rtol=1e-12)
    # the jaws mirror each other although the peg is touched by one of them first
    system = build()
    run = close(system)
    left, right, rotor = (run.q[:, system.coordinate_names.index(f"{n}.angle")] for n in ("left", "right", "rotor"))
    assert np.abs(left + right).max() < 1e-12
    assert np.abs(rotor + REDUCTION * right).max() < 1e-12
    assert np.abs(run.positions("peg")[-1, 0]) < 1e-5  # pushed to the middle
    # at rest: half of the motor's torque, times the reduction, in each finger, and equal forces on the peg
    held = rest(run)
    assert held.success, held.message
    (one, torque), (two, other) = grip(system, held).values()
    assert one[0] < 0 < two[0]
    assert abs(one[0] + two[0]) < 1e-9
    np.testing.assert_allclose([torque, -other], REDUCTION * TORQUE / 2, rtol=1e-7)
    np.testing.assert_allclose(held.multipliers, [-REDUCTION * TORQUE / 2, TORQUE], rtol=1e-7)


if __name__ == "__main__":
    main()
    check()
