"""Kelp sways in waves: a soft stipe goes with the water, and its holdfast feels less than that of a stiff one.

A stipe of 3 m and 10 mm radius stands on the ground in 4 m of water, held up by a float. A linear wave, 8 m long and 0.25 m high above the still surface, passes over it: velocity and
acceleration of the water vary along the stipe and in time, and act by drag, Froude–Krylov force and added mass. Time reaches the load as the phase of the wave, an input.

A stiff stipe of the same size feels Morison's force, which an integral over the depth gives. The soft one moves along and its holdfast carries a part of that.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

DEPTH, LENGTH, RADIUS, RHO, CD = 4.0, 3.0, 0.01, 1025.0, 1.1
WAVE = pl.Wave(amplitude=0.25, length=8.0, depth=DEPTH)
PERIODS = 6


def build(young: float) -> pl.System:
    """A stipe with a float; the ground is at z = −4 m, the surface at z = 0."""
    robot = pl.Robot("kelp")
    robot.set_fluid(density=RHO)
    stipe = robot.add_rod(
        "stipe",
        offset=pl.translate(0, 0, -DEPTH) @ pl.rotate("y", -np.pi / 2),
        length=LENGTH,
        section=pl.Circle(RADIUS),
        material=pl.Material(young=young, poisson=0.5, density=RHO, viscosity=1e-3 * young),
        strains=pl.Strains(bending_y=5),
        points=30,
    )
    bulb = robot.add_body("float", parent=stipe.tip, shape=pl.Sphere(0.06), mass=0.3)
    robot.add_hydrodynamics(stipe, pl.Hydrodynamics.circular(cx=0.0, cy=CD, cz=CD))
    robot.add_hydrodynamics(bulb, pl.Hydrodynamics.sphere(cd=0.5))
    robot.add_load("sea", WAVE)
    return robot.compile()


def sway(young: float) -> pl.Result:
    """Six waves from rest."""
    system = build(young)
    run = pl.simulate(system, PERIODS * WAVE.period, u={"sea": WAVE.phase}, output=WAVE.period / 60)
    if not run.success:
        raise RuntimeError(run.message)
    return run


def holdfast(run: pl.Result) -> np.ndarray:
    """Force of the ground on the stipe along the wave [N]."""
    return run.joint_wrench("stipe", axes="world")[:, 3]


def last(run: pl.Result) -> np.ndarray:
    """Which stored times are in the last wave."""
    return run.t >= (PERIODS - 1) * WAVE.period - 1e-9


def morison(phase: float) -> float:
    """Force of the wave along its direction on a stiff stipe with its float [N]."""
    k, w = WAVE.number, WAVE.frequency
    nodes, weights = np.polynomial.legendre.leggauss(40)

    def water(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        c, s = np.cosh(k * (z + DEPTH)) / np.sinh(k * DEPTH), np.sinh(k * (z + DEPTH)) / np.sinh(k * DEPTH)
        a = WAVE.amplitude * w
        u, v = a * c * np.cos(phase), -a * s * np.sin(phase)
        rate = -a * w * c * np.sin(phase) + u * a * k * c * np.sin(phase) + v * a * k * s * np.cos(phase)
        return u, v, rate

    u, v, rate = water(-DEPTH + LENGTH / 2 * (1 + nodes))
    along = 2 * RHO * np.pi * RADIUS**2 * rate + RHO * RADIUS * CD * np.hypot(u, v) * u
    u, v, rate = water(np.array([LENGTH - DEPTH]))
    volume, area = 4 / 3 * np.pi * 0.06**3, np.pi * 0.06**2
    ball = 1.5 * RHO * volume * rate + 0.5 * RHO * 0.5 * area * np.hypot(u, v) * u
    return float(LENGTH / 2 * np.sum(weights * along) + ball[0])


def figures(runs: tuple[pl.Result, pl.Result]) -> dict[str, object]:
    """Snapshots over the last wave, the way of the float, and the force of the ground."""
    soft, stiff = runs
    times = (PERIODS - 1 + np.linspace(0, 0.75, 4)) * WAVE.period
    shape = soft.plot_snapshots(times, view="xz")
    soft.plot_trajectory("float", view="xz", ax=shape)
    figure, axes = panels(2, 1, size=(6, 5))
    for name, run in (("soft", soft), ("stiff", stiff)):
        axes[0].plot(run.t, run.positions("float")[:, 0], label=name)
        axes[1].plot(run.t, holdfast(run), label=name)
    axes[0].set(xlabel="t [s]", ylabel="float along the wave [m]")
    axes[1].set(xlabel="t [s]", ylabel="force of the ground [N]")
    legend(axes[0])
    return {"snapshots": shape, "forces": figure}


def main(figures_dir: str | None = None) -> None:
    runs = sway(2e7), sway(2e13)
    print(f"wave of {WAVE.period:.2f} s, {WAVE.amplitude * WAVE.frequency:.2f} m/s at the surface")
    for name, run in zip(("soft", "stiff"), runs):
        x, force = run.positions("float")[last(run), 0], holdfast(run)[last(run)]
        print(f"{name:>6}: the float sways over {np.ptp(x):.3f} m, holdfast up to {np.abs(force).max():.2f} N")
    gallery.save(figures_dir, figures, runs)


def check() -> None:
    """The stiff stipe feels Morison's force; the soft one moves with the water, repeats with the wave, and pulls less."""
    stiff = sway(2e13)
    expected = np.array([morison(phase) for phase in WAVE.frequency * stiff.t[last(stiff)]])
    np.testing.assert_allclose(-holdfast(stiff)[last(stiff)], expected, atol=0.02 * np.abs(expected).max())
    soft = sway(2e7)
    x, force = soft.positions("float")[:, 0], holdfast(soft)
    assert 0.2 < np.ptp(x[last(soft)]) < 0.5
    assert np.abs(force[last(soft)]).max() < 0.5 * np.abs(expected).max()
    before = (soft.t >= (PERIODS - 2) * WAVE.period - 1e-9) & (soft.t <= (PERIODS - 1) * WAVE.period + 1e-9)
    assert np.abs(x[before] - x[last(soft)]).max() < 0.1 * np.ptp(x)


if __name__ == "__main__":
    main()
    check()
