"""A soft quadruped that stands, walks and climbs a step.

A rigid trunk on four silicone legs, each bent by two moments along it (`add_stress`, as of a muscle or a chamber): one swings the foot to and fro,
one curls the leg outwards and lifts the foot. The gait is the crawl of slow animals: left hind, left front, right hind, right front, one
foot in the air while the other three push back. Nothing is fed back. All that carries the robot on is friction: where the feet stick they do not
creep, where they are lifted they swing. On a step of 10 mm it pulls itself up.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

LENGTH, THICK = 0.08, 0.01  # of the legs [m]
TRUNK, MASS = (0.16, 0.08, 0.02), 0.3  # m, kg
LEGS = {
    "left hind": (-1, 1),
    "left front": (1, 1),
    "right hind": (-1, -1),
    "right front": (1, -1),
}  # in the order of the gait
SWING, LIFT, PERIOD, AIR, BEGIN = 0.1, 0.35, 1.0, 0.2, 0.5  # N m, N m, s, part of the period in the air, s
STEP, AWAY = 0.01, 0.16  # height of the step and where it begins [m]
RUBBER = pl.Material(young=2e6, poisson=0.45, density=1100, viscosity=2e4)
TOUCH = {"stiffness": 1e5, "damping": 5.0, "friction": 0.8}


def build(step: float = 0.0) -> pl.System:
    """The robot on a floor, in front of a step if it has a height."""
    robot = pl.Robot("soft quadruped")
    trunk = robot.add_body(
        "trunk", offset=(0, 0, LENGTH + THICK - 2e-4), joint=pl.Free(), shape=pl.Box(*TRUNK), mass=MASS
    )
    robot.add_obstacle("floor", pl.HalfSpace())
    if step:
        robot.add_obstacle("step", pl.Box(0.6, 0.5, 0.1), pose=(AWAY + 0.3, 0, step - 0.05))
    for name, (x, y) in LEGS.items():
        hip = pl.translate(x * 0.07, y * 0.04, 0) @ pl.rotate("y", np.pi / 2)
        leg = robot.add_rod(
            name, parent=trunk, offset=hip, length=LENGTH, section=pl.Circle(THICK), material=RUBBER,
            strains=pl.Strains(bending=3), points=8,
        )  # fmt: skip
        robot.add_stress(f"{name} swing", leg, (0, -1, 0, 0, 0, 0))
        robot.add_stress(f"{name} lift", leg, (0, 0, y, 0, 0, 0))
        for ground in robot.obstacles:
            robot.add_contact(f"{name} on {ground}", leg, ground, **TOUCH)
    return robot.compile()


def smooth(x: float) -> float:
    """From 0 at x = 0 to 1 at x = 1."""
    x = min(max(x, 0.0), 1.0)
    return x * x * (3 - 2 * x)


def gait() -> dict[str, object]:
    """Moments in the legs as functions of time, a quarter of a period apart."""

    def swing(t: float, k: int) -> float:
        p = ((t - BEGIN) / PERIOD - k / 4) % 1.0
        way = 2 * smooth(p / AIR) - 1 if p < AIR else 1 - 2 * (p - AIR) / (1 - AIR)
        return SWING * smooth((t - BEGIN) / 0.3) * way

    def lift(t: float, k: int) -> float:
        p = ((t - BEGIN) / PERIOD - k / 4) % 1.0
        return LIFT * smooth((t - BEGIN) / 0.1) * (np.sin(np.pi * p / AIR) ** 2 if p < AIR else 0.0)

    moments = {"swing": swing, "lift": lift}
    return {
        f"{leg} {what}": lambda t, k=k, moment=moment: moment(t, k)
        for k, leg in enumerate(LEGS)
        for what, moment in moments.items()
    }


def stand(system: pl.System) -> pl.Equilibrium:
    """Put down, and at rest."""
    return pl.solve_statics(system, start=pl.simulate(system, 1.0))


def walk(system: pl.System, cycles: int, **options: float) -> pl.Result:
    """From standing, a number of cycles of the gait."""
    return pl.simulate(system, BEGIN + cycles * PERIOD, u=gait(), start=stand(system), output=0.02, **options)


def feet(run: pl.Result) -> dict[str, np.ndarray]:
    """Heights of the lowest points of the feet [m]."""
    return {leg: np.array([run.system.pose(f"{leg}.tip", q)[2, 3] for q in run.q]) - THICK for leg in LEGS}


def figures(run: pl.Result) -> dict[str, object]:
    shapes, axes = panels(3, 1, size=(7, 6))
    for ax, t in zip(axes, (0.0, 3.2, run.t[-1])):
        run.plot_snapshots(np.array([t]), view="xz", ax=ax)
        ax.fill_between([AWAY, 0.6], 0, STEP, color="0.8")
        ax.set(title=f"{t:.1f} s", xlim=(-0.15, 0.55), ylim=(0, 0.13), adjustable="box")
    motion, (ax, below) = panels(2, 1, size=(6, 5))
    x = run.positions("trunk")
    ax.plot(run.t, 1e3 * x[:, 0], label="x of the trunk")
    below.plot(run.t, 1e3 * (x[:, 2] - x[0, 2]), "k", label="trunk, from its start")
    for leg, z in feet(run).items():
        below.plot(run.t, 1e3 * z, lw=0.7, label=leg)
    ax.set(ylabel="x [mm]")
    below.set(xlabel="t [s]", ylabel="height [mm]")
    legend(below)
    return {"shapes": shapes, "motion": motion, "forces": run.plot_contacts()}


def main(figures_dir: str | None = None) -> None:
    system = build()
    rest = stand(system)
    still = pl.simulate(system, 5.0, start=rest).positions("trunk")
    print(f"{rest}\nin 5 s it creeps by {1e9 * np.ptp(still, axis=0).max():.2g} nm")
    run = walk(system, 4)
    x = run.positions("trunk")[-1]
    print(f"{run}\nin 4 cycles it walks {1e3 * x[0]:.1f} mm, and {1e3 * abs(x[1]):.1f} mm aside")
    climb = walk(build(STEP), 8)
    print(f"{climb}\nit climbs the step of {1e3 * STEP:.0f} mm, to x = {1e3 * climb.positions('trunk')[-1, 0]:.1f} mm")
    print("its feet end at", ", ".join(f"{1e3 * z[-1]:.1f} mm ({leg})" for leg, z in feet(climb).items()))
    gallery.save(figures_dir, figures, climb)


def check() -> None:
    system = build()
    rest = stand(system)
    assert rest.success
    assert rest.stability == "stable"
    # each foot carries a quarter, and it does not creep
    for leg in LEGS:
        np.testing.assert_allclose(rest.contacts.force_on(leg), [0, 0, system.mass * 9.81 / 4], atol=1e-8)
    still = pl.simulate(system, 5.0, start=rest).positions("trunk")
    assert np.ptp(still, axis=0).max() < 1e-9
    # it walks about 6 cm in each cycle, and what is computed by default is right to half a millimetre
    run, exact = walk(system, 2), walk(system, 2, rtol=1e-6, atol=1e-7)
    assert run.success
    assert abs(run.positions("trunk")[-1, 0] - 0.12) < 0.03
    assert np.abs(run.positions("trunk")[-1] - exact.positions("trunk")[-1]).max() < 5e-4
    # it climbs: all feet are on the step in the end
    climb = walk(build(STEP), 8)
    assert climb.success
    assert min(z[-1] for z in feet(climb).values()) > STEP - 3e-3
    assert climb.positions("trunk")[-1, 0] > AWAY + 0.1


if __name__ == "__main__":
    main()
    check()
