"""Joints that stick and gears with play: a soft arm behind a loose gear, and a carriage that moves in jerks.

A servo turns a soft arm to and fro through a pair of gears with 3° of play (`add_backlash`); the bearing of the arm has dry friction (`add_friction`). On the way
back the teeth must cross the gap before the arm follows: over one period its angle runs through a loop whose width is the lost motion, the gap and what the teeth
give way under friction. Then a carriage that is pulled by a spring at constant speed: since it takes more to break it away than to keep it sliding, it sticks and
slips, with the period of the textbook.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

RATIO, GAP, TEETH = 4.0, np.radians(3.0), 200.0  # reduction; play [rad] and stiffness [N m/rad] at the rotor
BRAKE, SWING, PERIOD = 0.3, 2.0, 8.0  # friction of the arm [N m]; amplitude [rad] and period [s] of the rotor
MASS, SPRING, SPEED, SLIDING, STICKING = 2.0, 50.0, 0.1, 1.0, 1.5  # kg, N/m, m/s, N, N


def arm() -> pl.System:
    """Rotor, loose gear, arm with friction, soft rod; in a horizontal plane."""
    robot = pl.Robot("loose gear", gravity=(0, 0, 0))
    disc = pl.Cylinder(0.02, 0.02, "z")
    robot.add_body("rotor", offset=(-0.06, 0, 0), joint=pl.Revolute("z"), shape=disc, mass=0.1)
    hub = robot.add_body("hub", joint=pl.Revolute("z"), shape=pl.Cylinder(0.04, 0.02, "z"), mass=0.2)
    robot.add_rod(
        "finger", parent=hub, offset=(0.04, 0, 0), length=0.3, section=pl.Circle((0.012, 0.006)),
        material=pl.Material(young=1e6, poisson=0.45, density=1100, viscosity=5e3), strains=pl.Strains(bending_z=3),
    )  # fmt: skip
    robot.add_motor("servo", "rotor", control="position", kp=20.0, kd=0.5)
    robot.add_backlash("teeth", {"rotor": 1.0, "hub": RATIO}, gap=GAP, stiffness=TEETH, dissipation=5.0)
    robot.add_friction("bearing", hub, coulomb=BRAKE)
    return robot.compile()


def swing(system: pl.System) -> pl.Result:
    target = pl.Expression(f"{SWING}*sin(2*pi*t/{PERIOD})")
    return pl.simulate(system, 1.5 * PERIOD, u={"servo": target}, output=0.01)


def lost_motion(run: pl.Result) -> float:
    """Width of the loop where the rotor is at zero, at the rotor [rad]."""
    rotor, hub = run.q[:, 0], run.q[:, 1]
    ways = []
    for first, last in ((0.25, 0.75), (0.75, 1.25)):  # from one end of the swing to the other
        part = (run.t > first * PERIOD) & (run.t < last * PERIOD)
        order = np.argsort(rotor[part])
        ways.append(float(np.interp(0.0, rotor[part][order], hub[part][order])))
    return RATIO * abs(ways[0] - ways[1])


def carriage() -> pl.System:
    robot = pl.Robot("carriage", gravity=(0, 0, 0))
    body = robot.add_body("carriage", joint=pl.Prismatic("x"), shape=pl.Box(0.1, 0.08, 0.05), mass=MASS)
    robot.add_motor("pull", body, control="position", kp=SPRING)  # a spring whose other end is moved
    robot.add_friction("guide", body, coulomb=SLIDING, breakaway=STICKING, stribeck=1e-4)
    return robot.compile()


def pull(system: pl.System) -> pl.Result:
    return pl.simulate(system, 6.5, u={"pull": pl.Expression(f"{SPEED}*t")}, rtol=1e-7, atol=1e-8)


def jerks(run: pl.Result) -> np.ndarray:
    """When it breaks away: where it passes a fifth of the speed of the pull [s]."""
    v, limit = run.v[:, 0], 0.2 * SPEED
    k = np.flatnonzero((v[1:] > limit) & (v[:-1] <= limit))
    return run.t[k] + (limit - v[k]) / (v[k + 1] - v[k]) * np.diff(run.t)[k]


def period() -> float:
    """It slips for (2π − 2 atan(Δ ω / k V)) / ω and sticks for 2Δ / k V."""
    drop, w = STICKING - SLIDING, np.sqrt(SPRING / MASS)
    slips = (2 * np.pi - 2 * np.arctan(drop * w / (SPRING * SPEED))) / w
    return float(slips + 2 * drop / (SPRING * SPEED))


def figures(run: pl.Result) -> dict[str, object]:
    loop, axes = panels(1, 2, size=(8, 3.6))
    late = run.t > 0.25 * PERIOD
    rotor, hub = np.degrees(run.q[late, :2]).T
    axes[0].plot(rotor, -RATIO * hub, label="arm, geared up")
    axes[0].plot(rotor, rotor, ":", label="without play")
    axes[0].set(xlabel="rotor [°]", ylabel="arm × ratio [°]", xlim=(-20, 20), ylim=(-20, 20))
    legend(axes[0])
    jerky = pull(carriage())
    axes[1].plot(jerky.t, 1e3 * jerky.q[:, 0], label="carriage")
    axes[1].plot(jerky.t, 1e3 * SPEED * jerky.t, ":", label="end of the spring")
    axes[1].set(xlabel="t [s]", ylabel="x [mm]")
    legend(axes[1])
    return {"shapes": loop}


def main(figures_dir: str | None = None) -> None:
    run = swing(arm())
    exact = GAP + 2 * BRAKE / (RATIO * TEETH)
    print(f"{run}\nlost motion {np.degrees(lost_motion(run)):.4f}°, play and teeth {np.degrees(exact):.4f}°")
    starts = jerks(pull(carriage()))
    print(f"jerks every {np.diff(starts).round(4)} s, by hand {period():.4f} s")
    gallery.save(figures_dir, figures, run)


def check() -> None:
    system = arm()
    run = swing(system)
    assert run.success
    assert not run.warnings
    assert abs(lost_motion(run) / (GAP + 2 * BRAKE / (RATIO * TEETH)) - 1) < 5e-3
    # at the ends of the swing the arm stands still while the teeth cross the gap, and does not creep
    turning = (run.t > 0.265 * PERIOD) & (run.t < 0.28 * PERIOD)
    assert np.ptp(run.q[turning, 1]) < 1e-6
    # friction holds what the servo lets go: an equilibrium in which the finger and the teeth are at rest
    held = pl.solve_statics(system, {"servo": 0.0}, start=run)
    assert held.success
    # the carriage: one jerk like the other
    starts = jerks(pull(carriage()))
    assert len(starts) == 5
    np.testing.assert_allclose(np.diff(starts), period(), rtol=0.01)


if __name__ == "__main__":
    main()
    check()
