"""Young's modulus and viscosity of a silicone arm, identified from the noisy motion of its tip.

The arm is held straight, let go, and swings under its weight. Its tip is seen by a camera, 100 times a second, with noise of 1 mm in each
direction; here the measurement is a simulation by another method with small tolerances. Both numbers are found by `identify` from guesses that
are off by factors of two and four: least squares with the exact sensitivities of the motion, in steps that it chooses. Intervals are those of
least squares; twelve measurements with other noise scatter as they say.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

NAMES = ["arm.young", "arm.viscosity"]
TRUE, GUESS = np.array([8e5, 4e3]), np.array([4e5, 1.6e4])  # Pa, Pa s
DURATION, PICTURES, NOISE = 1.5, 150, 1e-3  # s, pictures, m
TIP = pl.costs.Position("arm.tip")[[0, 2]]


def build() -> pl.System:
    """The arm, with the guesses as its material; it is held along x and swings in the plane of x and z."""
    robot = pl.Robot("arm")
    material = pl.Material(young=GUESS[0], poisson=0.5, density=1070, viscosity=GUESS[1])
    strains = pl.Strains(bending_y=4)
    robot.add_rod("arm", length=0.3, section=pl.Circle(radius=(0.012, 0.008)), material=material, strains=strains)
    return robot.compile()


def measure(system: pl.System, seed: int = 0) -> pl.MotionData:
    """Positions x, z of the tip in the pictures, with noise."""
    real = system.with_parameters(dict(zip(NAMES, TRUE)))
    times = np.linspace(0, DURATION, PICTURES + 1)
    run = pl.simulate(real, DURATION, rtol=1e-8, atol=1e-9, output=times)
    exact = run.positions("arm.tip")[1:, [0, 2]]
    seen = exact + NOISE * np.random.default_rng(seed).standard_normal(exact.shape)
    return pl.MotionData(t=times[1:], begin=0.0, values=seen, quantity=TIP, sigma=NOISE, name="swing")


def figures(run: tuple[pl.System, pl.Identification]) -> dict[str, object]:
    system, found = run
    seen = found.data[0]
    motion, (ax,) = panels(1, 1, size=(6, 3.4))
    ax.plot(seen.t, 1e3 * seen.values[:, 1], "k.", ms=3, label="seen")
    for arm, name, line in ((system, "guess", "C1:"), (found.system, "identified", "C0-")):
        each = pl.rollout(arm, None, step=0.005, duration=DURATION, method="sdirk3")
        ax.plot(each.t, 1e3 * each.positions("arm.tip")[:, 2], line, label=name)
    ax.set(xlabel="t [s]", ylabel="height of the tip [mm]")
    legend(ax)
    return {"motion": motion, "report": found.plot()}


def main(figures_dir: str | None = None) -> None:
    system = build()
    found = pl.identify(system, measure(system), NAMES)
    print(found)
    for name, true in zip(NAMES, TRUE):
        print(f"{name} is off by {abs(found[name] - true) / found.standard_errors[name]:.1f} standard errors")
    print(f"steps of {1e3 * found.statistics['steps']['swing']:.2g} ms were chosen")
    gallery.save(figures_dir, figures, (system, found))


def check() -> None:
    system = build()
    fits = [pl.identify(system, measure(system, seed), NAMES) for seed in range(12)]
    assert all(fit.success and not fit.warnings for fit in fits)
    # the true numbers are found, and twelve measurements scatter as the standard errors say
    error = np.array([[fit.standard_errors[name] for name in NAMES] for fit in fits])
    off = (np.array([[fit[name] for name in NAMES] for fit in fits]) - TRUE) / error
    assert np.abs(off).max() < 4
    assert np.all(np.abs(off.std(axis=0) - 1.05) < 0.45)
    assert np.all(error / TRUE < (0.005, 0.02))
    # and a standard error is what the curvature of the misfit says, by differences
    fit, h = fits[0], 1e-3
    around = [fit.system.with_parameters({NAMES[0]: fit[NAMES[0]] * (1 + k * h)}) for k in (-1, 0, 1)]
    step, seen = fit.statistics["steps"]["swing"], fit.data[0]
    every = round(DURATION / PICTURES / step)
    tips = [pl.rollout(arm, None, step=step, duration=DURATION, method="sdirk3").positions("arm.tip")[every::every, [0, 2]] for arm in around]  # fmt: skip
    slope = ((tips[2] - tips[0]) / (2 * h) / NOISE).ravel()
    alone = fit.noise / np.linalg.norm(slope) * np.sqrt(1 / (1 - fit.correlation[0, 1] ** 2))
    assert abs(alone * fit[NAMES[0]] / fit.standard_errors[NAMES[0]] - 1) < 1e-4
    assert abs(np.sqrt(np.mean(((tips[1] - seen.values) / NOISE) ** 2) * 300 / 298) / fit.noise - 1) < 1e-6


if __name__ == "__main__":
    main()
    check()
