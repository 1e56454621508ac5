"""A wheel that rolls because a soft arm swings on its axle.

A wheel stands on the ground, which it touches without slipping (`Rolling`), and carries a pendulum on its axle: a silicone arm with a weight at
its end. A motor between the two swings the arm, and the wheel rolls to and fro; without the motor the arm swings freely and the wheel answers. A
stiff arm is the textbook's pendulum on a wheel, ω² = m g l / (m l² + I − (m l)² / (M + J/r² + m)).
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

RADIUS, WHEEL = 0.15, 0.4  # m, kg
LENGTH, THICK, DENSITY, WEIGHT, BALL = 0.12, 0.008, 1100.0, 0.4, 0.03  # of the arm [m, m, kg/m³], kg, m
TORQUE = 0.1  # N m


def build(young: float = 1e6, *, damped: bool = True) -> pl.System:
    robot = pl.Robot("rolling robot")
    wheel = robot.add_body(
        "wheel", offset=(0, 0, RADIUS), joint=pl.Planar("y"), shape=pl.Cylinder(RADIUS, 0.02, "y"), mass=WHEEL
    )
    arm = robot.add_rod(
        "arm", parent=wheel, joint=pl.Revolute("y", damping=1e-3 * damped), offset_after=pl.rotate("y", np.pi / 2),
        length=LENGTH, section=pl.Circle(THICK), strains=pl.Strains(bending_y=3),
        material=pl.Material(young=young, poisson=0.45, density=DENSITY, viscosity=1e-3 * young * damped),
    )  # fmt: skip
    robot.add_body("weight", parent=arm.tip, mass=WEIGHT, shape=pl.Sphere(BALL))
    robot.add_loop("ground", "world", wheel, joint=pl.Rolling(RADIUS, axis="y"))
    robot.add_motor("motor", arm)
    return robot.compile()


def pendulum() -> float:
    """Frequency [Hz] of small swings of a rigid arm on the wheel, which rolls along."""
    mass = DENSITY * np.pi * THICK**2 * LENGTH
    moment = mass * LENGTH / 2 + WEIGHT * LENGTH
    inertia = mass * (LENGTH**2 / 3 + THICK**2 / 4) + WEIGHT * (LENGTH**2 + 0.4 * BALL**2)
    return np.sqrt(moment * 9.81 / (inertia - moment**2 / (1.5 * WHEEL + mass + WEIGHT))) / (2 * np.pi)


def frequencies(young: float) -> np.ndarray:
    """Of the undamped robot [Hz]; the first, rolling away, is zero."""
    system = build(young, damped=False)
    return pl.modes(system, system.neutral()).frequencies[1:]


def swing(system: pl.System, duration: float = 4.0, **options: float) -> pl.Result:
    """The motor swings the arm from rest, near the frequency of its pendulum, first more and then less."""
    rate = 2 * np.pi * pendulum()
    torque = {"motor": lambda t: TORQUE * np.sin(rate * t) * np.sin(np.pi * t / duration) ** 2}
    return pl.simulate(system, duration, u=torque, output=0.002, **options)


def release(system: pl.System) -> pl.Result:
    """The arm is let go from the side."""
    start = system.neutral()
    start[system.coordinate_names.index("arm.angle")] = -np.pi / 2
    return pl.simulate(system, 2.0, start=start, rtol=1e-6, atol=1e-7, output=0.005)


def slip(run: pl.Result) -> float:
    """How far the wheel is from where its angle says [m]."""
    angle = run.q[:, run.system.coordinate_names.index("wheel.angle")]
    return float(np.abs(run.positions("wheel")[:, 0] - RADIUS * angle).max())


def figures(run: pl.Result) -> dict[str, object]:
    free, turn = release(build(damped=False)), np.linspace(0, 2 * np.pi, 100)
    shapes, (ax, below) = panels(2, 1, size=(6.4, 6.4))
    times = np.array([0.0, 0.12, 0.2, 0.4])
    for k, q in enumerate(free.resample(times).q):
        hub = free.system.pose("wheel", q)
        for x, z in (RADIUS * np.array([np.cos(turn), np.sin(turn)]), np.array([[0, 0], [0, RADIUS]])):  # rim and mark
            rim = hub[:3, :3] @ [x, 0 * x, z]
            ax.plot(hub[0, 3] + rim[0], hub[2, 3] + rim[2], color=f"C{k}", lw=0.8)
        arm = free.system.rod_poses("arm", q, np.linspace(0, 1, 30))[:, :3, 3]
        ax.plot(arm[:, 0], arm[:, 2], color=f"C{k}", lw=3, label=f"{times[k]:.2f} s")
        ax.plot(*arm[-1, [0, 2]], "o", color=f"C{k}", ms=12)
    ax.axhline(0.0, color="0.3", lw=1)
    ax.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title="let go from the side")
    below.plot(run.t, run.positions("wheel")[:, 0], label="wheel")
    below.plot(run.t, run.positions("weight")[:, 0], label="weight")
    below.set(xlabel="t [s]", ylabel="x [m]", title="swung by its motor")
    legend(ax, loc="center left", bbox_to_anchor=(1, 0.5))
    legend(below, loc="upper left")
    return {"shapes": shapes, "energies": free.plot_energies(), "ground": run.plot_multipliers("ground")}


def main(figures_dir: str | None = None) -> None:
    print(f"pendulum on a wheel: {pendulum():.6f} Hz")
    for young in (1e6, 1e9, 1e11):
        print(f"E = {young:.0e} Pa: {frequencies(young)[0]:.6f} Hz, then {frequencies(young)[1]:.1f} Hz")
    run = swing(build())
    x = run.positions("wheel")[:, 0]
    print(f"{run}\nthe wheel rolls over {np.ptp(x):.3f} m, and is {slip(run):.1e} m from radius × angle")
    free = release(build(damped=False))
    total = free.energies().total
    print(
        f"let go without damping: it rolls over {np.ptp(free.positions('wheel')[:, 0]):.3f} m and gains {np.ptp(total):.1e} J"
    )
    gallery.save(figures_dir, figures, run)


def check() -> None:
    # the textbook's frequency, from which a soft arm is a little lower
    assert abs(frequencies(1e11)[0] / pendulum() - 1) < 1e-7
    assert 0.99 < frequencies(1e6)[0] / pendulum() < 1
    # it rolls: distance = radius × angle, though only velocities are constrained
    run, free = swing(build(), rtol=1e-6, atol=1e-7), release(build(damped=False))
    assert slip(run) < 1e-9
    assert slip(free) < 1e-9
    assert np.ptp(run.positions("wheel")[:, 0]) > 0.05
    # the motor's work is kept or dissipated; without damping and motor nothing is lost
    balance = run.power_balance()
    assert np.abs(balance["imbalance"]).max() < 1e-3 * np.ptp(balance["input"])
    assert np.ptp(free.energies().total) < 1e-5 * np.ptp(free.energies().kinetic)
    # what the ground gives is what the momentum becomes, and it carries the weight
    system, momentum = run.system, run.momenta().linear
    force = np.array([system.loop_wrench("ground", q, f, axes="world")[3:] for q, f in zip(run.q, run.multipliers)])
    force -= [0, 0, 9.81 * system.mass]
    impulse = np.sum(0.5 * np.diff(run.t)[:, None] * (force[1:] + force[:-1]), axis=0)
    np.testing.assert_allclose(impulse, momentum[-1] - momentum[0], atol=3e-5 * 9.81 * system.mass * run.t[-1])


if __name__ == "__main__":
    main()
    check()
