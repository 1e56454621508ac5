"""Young's modulus and viscosity of a silicone arm, identified from the noisy motion of its tip.

The arm is held straight, let go, and swings under its weight. Its tip is seen by a camera, 100 times a second, with noise of 1 mm in each
direction; here the measurement is a simulation by another method with small tolerances. Both numbers are found by least squares
(Levenberg–Marquardt, SciPy) from guesses that are off by factors of two and four: `rollout` moves the arm, and `sensitivities` is the exact
Jacobian. Standard errors are those of least squares; twelve measurements with other noise scatter as they say.
"""

import numpy as np
from scipy.optimize import least_squares

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

NAMES = ["arm.young", "arm.viscosity"]
TRUE, GUESS = np.array([8e5, 4e3]), np.array([4e5, 1.6e4])  # Pa, Pa s
DURATION, STEP, EVERY, NOISE = 1.5, 0.005, 2, 1e-3  # s, s, steps between two pictures, m


def build() -> pl.System:
    """The arm, with the guesses as its material; it is held along x and swings in the plane of x and z."""
    robot = pl.Robot("arm")
    material = pl.Material(young=GUESS[0], poisson=0.5, density=1070, viscosity=GUESS[1])
    strains = pl.Strains(bending_y=4)
    robot.add_rod("arm", length=0.3, section=pl.Circle(radius=(0.012, 0.008)), material=material, strains=strains)
    return robot.compile()


def measure(system: pl.System, seed: int = 0) -> np.ndarray:
    """Positions x, z of the tip in the pictures (n, 2) [m], with noise."""
    real = system.with_parameters(dict(zip(NAMES, TRUE)))
    times = np.arange(1, round(DURATION / STEP / EVERY) + 1) * STEP * EVERY
    run = pl.simulate(real, DURATION, rtol=1e-8, atol=1e-9, output=np.concatenate([[0.0], times]))
    exact = run.positions("arm.tip")[1:, [0, 2]]
    return exact + NOISE * np.random.default_rng(seed).standard_normal(exact.shape)


def move(system: pl.System, x: np.ndarray) -> pl.Rollout:
    """The motion with the parameters exp(x)."""
    arm = system.with_parameters(dict(zip(NAMES, np.exp(x))))
    return pl.rollout(arm, None, step=STEP, duration=DURATION, method="sdirk3")


def misfit(x: np.ndarray, system: pl.System, seen: np.ndarray) -> np.ndarray:
    """Deviations of the tip in units of the noise (2 n,)."""
    tip = move(system, x).positions("arm.tip")[EVERY::EVERY, [0, 2]]
    return ((tip - seen) / NOISE).ravel()


def slope(x: np.ndarray, system: pl.System, seen: np.ndarray) -> np.ndarray:
    """Their exact derivatives by x (2 n, 2)."""
    run = move(system, x)
    J = run.system.jacobian("arm.tip", run.q[EVERY::EVERY], reference="world")[:, [3, 5]]  # (n, 2, nv)
    found = run.sensitivities(NAMES)
    columns = [np.exp(x[k]) * np.einsum("nij,nj->ni", J, found[name].q[EVERY::EVERY]) for k, name in enumerate(NAMES)]
    return np.stack([(column / NOISE).ravel() for column in columns], axis=1)


def identify(system: pl.System, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray, object]:
    """Modulus and viscosity, their standard errors, and SciPy's result."""
    found = least_squares(misfit, np.log(GUESS), slope, method="lm", args=(system, seen))
    scatter = 2 * found.cost / (found.fun.size - len(NAMES))  # of the residuals, in units of the noise squared
    value = np.exp(found.x)
    return value, value * np.sqrt(scatter * np.diag(np.linalg.inv(found.jac.T @ found.jac))), found


def figures(run: tuple[pl.System, np.ndarray, np.ndarray]) -> dict[str, object]:
    system, seen, value = run
    times = np.arange(1, len(seen) + 1) * STEP * EVERY
    motion, (ax,) = panels(1, 1, size=(6, 3.4))
    ax.plot(times, 1e3 * seen[:, 1], "k.", ms=3, label="seen")
    for x, name, line in ((GUESS, "guess", "C1:"), (value, "identified", "C0-")):
        each = move(system, np.log(x))
        ax.plot(each.t, 1e3 * each.positions("arm.tip")[:, 2], line, label=name)
    ax.set(xlabel="t [s]", ylabel="height of the tip [mm]")
    legend(ax)
    rest, (ax,) = panels(1, 1, size=(6, 3.0))
    ax.plot(times, NOISE * 1e3 * misfit(np.log(value), system, seen).reshape(-1, 2), ".", ms=3, label=["x", "z"])
    ax.set(xlabel="t [s]", ylabel="what is left [mm]")
    legend(ax)
    return {"motion": motion, "residuals": rest}


def main(figures_dir: str | None = None) -> None:
    system = build()
    seen = measure(system)
    value, error, found = identify(system, seen)
    for name, x, e, guess, true, unit in zip(NAMES, value, error, GUESS, TRUE, ("Pa", "Pa s")):
        print(
            f"{name:14} {x:9.0f} ± {e:5.0f} {unit:4}  guess {guess:.0f}, true {true:.0f}: off by {abs(x - true) / e:.1f} standard errors"
        )
    left = NOISE * np.sqrt(2 * found.cost / (found.fun.size - 2))
    print(
        f"{found.nfev} motions, {found.njev} Jacobians; what is left scatters by {1e3 * left:.2f} mm, noise {1e3 * NOISE:.2f} mm"
    )
    print(f"error of the steps at most {1e6 * move(system, found.x).error('arm.tip'):.0f} µm")
    gallery.save(figures_dir, figures, (system, seen, value))


def check() -> None:
    system = build()
    seen = measure(system)
    # the Jacobian against differences of fourth order
    x, h = np.log(GUESS), 1e-3
    exact = slope(x, system, seen)
    for k, e in enumerate(np.eye(2)):
        near, far = (
            (misfit(x + s * h * e, system, seen) - misfit(x - s * h * e, system, seen)) / (2 * s * h) for s in (1, 2)
        )
        assert np.abs((4 * near - far) / 3 - exact[:, k]).max() < 1e-7 * np.abs(exact[:, k]).max()
    # the true numbers are found, and twelve measurements scatter as the standard errors say
    fits = [identify(system, measure(system, seed))[:2] for seed in range(12)]
    off = np.array([(value - TRUE) / error for value, error in fits])
    assert np.abs(off).max() < 4
    assert np.all(np.abs(off.std(axis=0) - 1.05) < 0.45)
    assert np.all(np.array([error / value for value, error in fits]) < (0.005, 0.02))


if __name__ == "__main__":
    main()
    check()
