"""A pneumatic arm is held at an angle by a PI law through slow valves, continuous and sampled at 100 Hz.

A silicone arm with two chambers, above and below its axis, hangs from the ceiling. A PI law with damping measures the angle of the tip
and asks for a pressure difference; each valve follows its command with a time constant of 50 ms. The same law is then a digital one:
sampled at 100 Hz and held, steps end at the instants. Law, integral and valves are integrated with the arm.

Sampled at 100 Hz the arm follows the continuous loop closely; at 20 Hz the same gains let it swing up until it never settles.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

VALVE = 0.05  # s
BIAS = 15e3  # Pa in both chambers
KP, KI, KD = 5e3, 80e3, 8e3  # Pa/rad, Pa/(rad s), Pa s/rad
TARGET = pl.Signal([0.0, 0.5, 2.5], [0.0, 0.6, -0.3], kind="hold")  # rad
DURATION = 5.0


def build() -> pl.System:
    """One rod with two chambers and a gripper."""
    robot = pl.Robot("pressure-regulated arm")
    arm = robot.add_rod(
        "arm",
        offset=pl.rotate("y", np.pi / 2),  # downwards
        length=0.25,
        section=pl.Circle(0.02),
        material=pl.Material(young=0.15e6, poisson=0.49, density=1070, viscosity=2000),
        strains=pl.Strains(bending_y=3),  # in one plane
    )
    robot.add_chamber("front", arm, area=1.5e-4, z=0.012)
    robot.add_chamber("back", arm, area=1.5e-4, z=-0.012)
    robot.add_body("gripper", parent=arm.tip, shape=pl.Sphere(0.015), mass=0.03)
    return robot.compile()


def tip_angle() -> pl.Sensor:
    """How far the tip has swung [rad], about −y from straight down."""
    return pl.Sensor.angle("arm.tip", about="-y", arrow="x", zero="-z")


def continuous() -> dict[str, pl.Lag]:
    """A PI law for each chamber with opposite gains, and the valves."""
    gains = {"kp": KP, "ki": KI, "kd": KD}
    front = pl.PID(tip_angle(), TARGET, **{name: -gain for name, gain in gains.items()}, bias=BIAS)
    back = pl.PID(tip_angle(), TARGET, **gains, bias=BIAS)
    return {"front": pl.Lag(front, VALVE), "back": pl.Lag(back, VALVE)}


def sampled(system: pl.System, period: float) -> pl.Lag:
    """The same law as a program that is called every `period` seconds, and the valves."""
    sensor = tip_angle()

    def law(t: float, state: object, x: np.ndarray) -> tuple[dict[str, float], list[float]]:
        angle, slope = sensor.function(system, state.q)
        error = TARGET(t) - angle
        push = KP * error + KI * x[0] - KD * slope @ state.v
        return {"front": BIAS - push, "back": BIAS + push}, [x[0] + period * error]

    return pl.Lag(pl.Sampled(law, period, states={"integral": 0.0}), VALVE)


def angles(system: pl.System, run: pl.Result) -> np.ndarray:
    """Angle of the tip at all times [rad]."""
    return np.array([tip_angle().function(system, q)[0] for q in run.q])


def runs() -> tuple[pl.System, dict[str, pl.Result]]:
    """The continuous loop, and sampled ones."""
    system = build()
    start = pl.solve_statics(system, {"front": BIAS, "back": BIAS})
    laws = {
        "continuous": continuous(),
        "100 Hz": sampled(system, 0.01),
        "20 Hz": sampled(system, 0.05),
    }
    found = {name: pl.simulate(system, DURATION, start=start, u=u, output=0.01) for name, u in laws.items()}
    for name, run in found.items():
        if not run.success:
            raise RuntimeError(f"{name}: {run.message}")
    return system, found


def overshoot(angle: np.ndarray, t: np.ndarray) -> float:
    """Of the first step [rad]."""
    return float(angle[t < 2.5].max() - 0.6)


def figures(run: tuple[pl.System, dict[str, pl.Result]]) -> dict[str, object]:
    """The angle and the pressures over time, and the arm."""
    system, found = run
    figure, axes = panels(2, 1, size=(6, 5))
    for name, result in found.items():
        axes[0].plot(result.t, np.degrees(angles(system, result)), label=name, lw=1)
    axes[0].step(TARGET.t + (DURATION,), np.degrees([*TARGET.values, TARGET.values[-1]]), "k:", where="post", lw=1)
    axes[0].set(xlabel="t [s]", ylabel="angle of the tip [°]", ylim=(-60, 80))
    legend(axes[0])
    for name in ("continuous", "100 Hz"):
        result = found[name]
        axes[1].plot(result.t, result.u[:, system.input_names.index("back")] / 1e3, label=f"back, {name}", lw=1)
    axes[1].set(xlabel="t [s]", ylabel="pressure [kPa]")
    legend(axes[1])
    shape = found["continuous"].plot_snapshots([0.4, 0.6, 0.75, 2.4, 4.9], view="xz")
    return {"angles": figure, "snapshots": shape}


def main(figures_dir: str | None = None) -> None:
    system, found = runs()
    for name, run in found.items():
        angle = angles(system, run)
        late = np.degrees(np.abs(angle[run.t > 4.5] + 0.3).max())
        print(
            f"{name:>10}: overshoot {np.degrees(overshoot(angle, run.t)):5.1f}°, {late:7.3f}° off at the end, {run.statistics.steps} steps"
        )
    gallery.save(figures_dir, figures, (system, found))


def check() -> None:
    """The angle is reached, valves obey their equation, and slow sampling destabilises."""
    system, found = runs()
    angle = {name: angles(system, run) for name, run in found.items()}
    smooth = found["continuous"]
    assert abs(angle["continuous"][-1] + 0.3) < np.radians(1.0)
    assert np.abs(angle["100 Hz"] - angle["continuous"]).max() < np.radians(3)
    assert (
        overshoot(angle["continuous"], smooth.t)
        < overshoot(angle["100 Hz"], smooth.t)
        < overshoot(angle["20 Hz"], smooth.t)
    )
    assert np.abs(angle["20 Hz"][smooth.t > 4.5] + 0.3).max() > np.radians(20)
    # the valve: u(t) from its command by quadrature of the integral form of its equation
    back = smooth.u[:, system.input_names.index("back")]
    names = list(smooth.control_names)
    integral = smooth.control[:, names.index("u['back']: integral")]
    rate = np.array([tip_angle().function(system, q)[1] @ v for q, v in zip(smooth.q, smooth.v)])
    target = np.array([TARGET(t) for t in smooth.t])
    command = BIAS + KP * (target - angle["continuous"]) + KI * integral - KD * rate
    part = (smooth.t >= 0.5) & (smooth.t < 2.495)
    h = np.diff(smooth.t[part])
    filled = np.sum(0.5 * h * ((command - back)[part][1:] + (command - back)[part][:-1])) / VALVE
    assert abs(filled - (back[part][-1] - back[part][0])) < 100  # of 13 kPa


if __name__ == "__main__":
    main()
    check()
