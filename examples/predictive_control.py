"""Model predictive control of the five-cable manipulator at 100 Hz: one sweep of `pl.optimize` per sample, on a robot that the model does not know exactly.

The tip of the arm of [002] follows a circle, seen from the front. The plant is 3 % softer than the model, its states are measured with noise, inputs act 10 ms late, and after a second something
pulls at the tip. The controller plans half a second ahead, in 25 steps of 20 ms, and predicts the state over the delay. Beside it the same plan without feedback.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

CENTRE, RADIUS, PERIOD = np.array([0.45, 0.0, -0.05]), 0.06, 2.0  # of its lowest point, m, m, s
WEIGHT = (0.0, 1e3, 1e3)  # seen along x
RATE, DELAY, NOISE, SEED = 100.0, 0.01, (1e-3, 1e-2), 0  # 1/s, s, natural sizes of the coordinates (and per second)
PULL = np.array([0.0, 0.3, 0.0])  # N at the tip, after a second


def circle(t: float) -> tuple[float, float, float]:
    """Where the tip should be [m]."""
    angle = 2 * np.pi * t / PERIOD
    return CENTRE[0], CENTRE[1] + RADIUS * np.sin(angle), CENTRE[2] + RADIUS * (1 - np.cos(angle))


def build() -> pl.System:
    """The manipulator of [002]."""
    return gallery.load("cable_driven_manipulator").build()


def first_plan(system: pl.System) -> pl.OptimalPlan:
    """The first half second, from where the tip can be held at the start of the circle."""
    still = pl.optimize(
        system,
        [pl.Reach("arm.tip", circle(0.0), WEIGHT, at="all"), pl.Still("arm.tip", 1.0, at="all"), pl.Effort(1e-5)],
        bounds=(0, 40),
        horizon=1.0,
        knots=25,
        steps=2,
        start=pl.solve_statics(system),
        tolerance=1e-4,
    )
    return pl.optimize(
        system,
        [pl.Track("arm.tip", circle, WEIGHT), pl.Still("arm.tip", 0.5, at="all"), pl.Effort(1e-5), pl.Smooth(1e-7)],
        bounds=(0, 40),
        horizon=0.5,
        knots=25,
        start=still.rollout.q[-1],
        velocity=still.rollout.v[-1],
        t0=0.0,
        guess=still.u[-1],
        tolerance=1e-4,
    )


def closed_loop(plan: pl.OptimalPlan, duration: float) -> pl.MPCResult:
    """What the plant does."""
    system = plan.system
    pull = system.jacobian("arm.tip", plan.rollout.q[0], reference="world")[3:].T @ PULL
    return pl.MPC(plan, rate=RATE, delay=DELAY).run(
        duration,
        plant=system.with_parameters({"arm.young": 0.97e6}),
        disturbance=lambda t: pull * (t >= 1.0),
        noise=NOISE,
        seed=SEED,
    )


def off(loop: pl.MPCResult) -> np.ndarray:
    """Distance of the tip from the circle at each sample [m]."""
    return np.linalg.norm((loop.positions("arm.tip") - [circle(t) for t in loop.t])[:, 1:], axis=1)


def figures(loop: pl.MPCResult) -> dict[str, object]:
    motion, axes = panels(1, 3, size=(10, 3.2))
    path, wanted = loop.positions("arm.tip"), np.array([circle(t) for t in loop.t])
    axes[0].plot(wanted[:, 1], wanted[:, 2], "0.6", label="wanted")
    axes[0].plot(path[:, 1], path[:, 2], label="tip")
    axes[0].set(xlabel="y [m]", ylabel="z [m]", aspect="equal")
    axes[1].plot(loop.t, 1e3 * off(loop))
    axes[1].set(xlabel="t [s]", ylabel="off [mm]")
    for k, name in enumerate(loop.system.input_names):
        axes[2].plot(loop.t[:-1], loop.u[:, k], label=name)
    axes[2].set(xlabel="t [s]", ylabel="tension [N]")
    legend(axes[0])
    legend(axes[2])
    return {"shapes": motion}


def main(figures_dir: str | None = None) -> None:
    plan = first_plan(build())
    loop = closed_loop(plan, 2.0)
    print(loop)
    found = 1e3 * off(loop)
    print(
        f"tip off the circle: {found[20:100].mean():.1f} mm (mean) before the pull, {found[120:].mean():.1f} mm with it"
    )
    gallery.save(figures_dir, figures, loop)


def check() -> None:
    plan = first_plan(build())
    loop = closed_loop(plan, 1.3)
    found = off(loop)
    assert loop.failures == 0
    assert found[20:100].max() < 0.01
    assert found[115:].max() < 0.02
    assert loop.u.min() >= 0.0
    assert np.median(loop.cpu) < 0.05


if __name__ == "__main__":
    main()
    check()
