"""A soft arm that does not know what it carries: shape, tip load and stiffness from curvatures and cable lengths.

An arm with three cables moves along; after a second a weight is hung on its tip. Its modulus is a fifth lower than the model says. An optical fibre
measures curvatures at five points, encoders the lengths of the cables, both with noise, 100 times a second. An extended Kalman filter, and a moving-horizon
estimator, find the state, two components of the load and the modulus; nobody tells them of the weight.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

STEP, STEPS, HUNG = 0.01, 200, 100  # s, number, when the weight is hung
YOUNG, WEIGHT = 0.8e6, 0.25  # Pa, N
SENSORS = [
    pl.costs.Curvature("arm", [0.05, 0.25, 0.5, 0.75, 0.95]).measured(0.05, "fibre"),  # rad/m
    pl.costs.TendonLength().measured(1e-4, "encoders"),  # m
]
UNKNOWN = [
    pl.Prior("down", 0.3, drift=0.3),  # N, N/√s
    pl.Prior("side", 0.3, drift=0.3),
    pl.Prior("arm.young", 2e5),  # Pa
]


def build() -> pl.System:
    """The arm as its model says: 1 MPa, 18 degrees of freedom, an unknown load at the tip in two directions."""
    robot = pl.Robot("arm")
    silicone = pl.Material(young=1e6, poisson=0.5, density=1070, viscosity=5e3)
    strains = pl.Strains(torsion=1, bending=4)
    arm = robot.add_rod("arm", length=0.4, section=pl.Circle(radius=(0.018, 0.01)), material=silicone, strains=strains)
    for k, angle in enumerate(2 * np.pi * np.arange(3) / 3):
        y, z = np.sin(angle), np.cos(angle)
        robot.add_tendon(f"cable{k}", arm, y=(0.016 * y, 0.008 * y), z=(0.016 * z, 0.008 * z))
    robot.add_wrench("down", arm.tip, force=(0, 0, -1))
    robot.add_wrench("side", arm.tip, force=(0, 1, 0))
    return robot.compile()


def tensions() -> np.ndarray:
    """Of the cables (steps, 3) [N]."""
    t = STEP * np.arange(STEPS)
    return np.column_stack([8 + 4 * np.sin(3 * t), 3 + 3 * np.sin(2 * t) ** 2, 3 + 2 * (1 - np.cos(4 * t))])


def reality(system: pl.System, seed: int = 0) -> tuple[pl.Rollout, np.ndarray]:
    """The motion of the real arm, and what its sensors read (steps, 13)."""
    real = system.with_parameters({"arm.young": YOUNG})
    weight = np.where(np.arange(STEPS) < HUNG, 0.0, WEIGHT)
    U = np.column_stack([tensions(), weight, np.zeros(STEPS)])
    run = pl.rollout(real, U, step=STEP, start=pl.solve_statics(real, U[0]))
    rng = np.random.default_rng(seed)
    exact = [(s.quantity.evaluate(run.states).value[1:], s.deviations(real)) for s in SENSORS]
    return run, np.hstack([value + noise * rng.standard_normal(value.shape) for value, noise in exact])


def estimate(estimator, readings: np.ndarray) -> list[pl.Estimate]:
    """What an estimator finds, step by step."""
    return [estimator.update(u, y) for u, y in zip(tensions(), readings)]


def experiment(steps: int = STEPS) -> dict:
    """Reality and both estimators."""
    system = build()
    run, readings = reality(system)
    start = pl.solve_statics(system, [*tensions()[0], 0.0, 0.0])
    options = {"step": STEP, "start": start, "unknown": UNKNOWN}
    found = {
        "filter": estimate(pl.ExtendedKalman(system, SENSORS, **options), readings[:steps]),
        "horizon": estimate(pl.MovingHorizon(system, SENSORS, window=5, **options), readings[:steps]),
    }
    return {"run": run, "found": found}


def errors(run: pl.Rollout, found: list[pl.Estimate]) -> np.ndarray:
    """Distances between the estimated tip and the real one [m]."""
    tips = run.positions("arm.tip")[1 : len(found) + 1]
    return np.linalg.norm([e.pose("arm.tip")[:3, 3] - tip for e, tip in zip(found, tips)], axis=1)


def figures(run: dict) -> dict:
    """Load, modulus and the error of the tip over time."""
    t = STEP * np.arange(1, STEPS + 1)
    fig, axes = panels(1, 3, size=(11, 3.2))
    axes[0].plot(t, np.where(t <= HUNG * STEP, 0.0, WEIGHT), "k--", label="true")
    axes[1].axhline(YOUNG / 1e6, color="k", ls="--", label="true")
    for name, found in run["found"].items():
        n = len(found)
        for ax, key, scale in ((axes[0], "down", 1.0), (axes[1], "arm.young", 1e-6)):
            value = scale * np.array([e.unknown[key] for e in found])
            sigma = scale * np.array([e.deviation(key) for e in found])
            (line,) = ax.plot(t[:n], value, label=name)
            ax.fill_between(t[:n], value - 2 * sigma, value + 2 * sigma, color=line.get_color(), alpha=0.15)
        axes[2].semilogy(t[:n], 1e3 * errors(run["run"], found), label=name)
    for ax, label in zip(axes, ("load at the tip [N]", "modulus [MPa]", "error of the tip [mm]")):
        ax.set(xlabel="t [s]", ylabel=label)
        legend(ax)
    return {"estimate": fig}


def main(figures_dir=None):
    """Print what was found."""
    run = experiment()
    for name, found in run["found"].items():
        last, off = found[-1], 1e3 * errors(run["run"], found)
        print(
            f"{name}: load {last.unknown['down']:.3f} ± {last.deviation('down'):.3f} N of {WEIGHT} N, to the side",
            end=" ",
        )
        print(f"{last.unknown['side']:.3f} ± {last.deviation('side'):.3f} N of 0 N;", end=" ")
        print(
            f"modulus {last.unknown['arm.young'] / 1e6:.4f} ± {last.deviation('arm.young') / 1e6:.4f} MPa of {YOUNG / 1e6} MPa"
        )
        print(f"  tip: {off[50:].mean():.2f} mm off on average, {off[50:].max():.2f} mm at most after half a second")
    gallery.save(figures_dir, figures, run)


def check() -> None:
    """Load and modulus within their standard deviations, the tip within millimetres, innovations as large as they should be."""
    system = build()
    run, readings = reality(system, seed=1)
    start = pl.solve_statics(system, [*tensions()[0], 0.0, 0.0])
    found = estimate(pl.ExtendedKalman(system, SENSORS, step=STEP, start=start, unknown=UNKNOWN), readings)
    last = found[-1]
    for name, true in (("down", WEIGHT), ("side", 0.0), ("arm.young", YOUNG)):
        assert abs(last.unknown[name] - true) < 3.5 * last.deviation(name), name
    assert last.deviation("arm.young") < 0.01 * YOUNG
    assert errors(run, found)[50:].mean() < 1.5e-3
    calm = [e.nis / e.used for e in found[20:HUNG]]  # not where the load jumps, which no filter foresees
    assert 0.8 < np.mean(calm) < 1.2, np.mean(calm)


if __name__ == "__main__":
    main()
    check()
