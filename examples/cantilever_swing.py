"""The cantilevers of [000] Table I: bent by a tip force, released, swinging in gravity without damping.

The soft rod is 10 m long and 10 mm thick (steel-like, E = 1e11 Pa), the stiff one 0.4 m and 2 mm. Three bending modes.
Without damping the energy must stay, which shows the error of the integration: of second order in the step, and
without drift for rho = 1 (Newmark's method), while rho < 1 takes energy from fast oscillations.

The paper needs 9.1 s (soft) and 7.1 s (stiff) of computing per simulated second.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import panels

RODS = {  # length, density, Young's modulus, radius, tip force, duration
    "soft": (10.0, 7800.0, 1e11, 0.005, 50.0, 10.0),
    "stiff": (0.4, 8000.0, 2e9, 0.001, 10.0, 1.0),
}


def build(kind: str) -> pl.System:
    """It hangs along gravity, which is +x; the force pulls along y."""
    length, density, young, radius, force, _duration = RODS[kind]
    robot = pl.Robot(f"{kind} cantilever", gravity=(9.81, 0, 0))
    rod = robot.add_rod(
        "rod",
        length=length,
        section=pl.Circle(radius=radius),
        material=pl.Material(young=young, poisson=0.3, density=density),
        strains=pl.Strains.planar_bending(2, basis="chebyshev"),
        points=20,
    )
    robot.add_wrench("pull", rod.tip, force=(0, force, 0))
    return robot.compile()


def swing(system: pl.System, duration: float, **options: object) -> pl.Result:
    """Bend it, let it go."""
    start = pl.solve_statics(system, {"pull": 1.0})
    if not (start.success and start.stable):
        raise RuntimeError(start.message)
    return pl.simulate(system, duration, start=start, **options)


def energy_error(result: pl.Result) -> float:
    """Largest change of energy, relative to the energy above that of the rod at rest."""
    energy = result.energies().total
    span = energy[0] - result.system.gravitational_energy(result.system.neutral())
    return float(np.abs(energy - energy[0]).max() / span)


def figures(runs: dict[str, pl.Result]) -> dict[str, object]:
    """Figure 5 of the paper, and how well the energy is kept."""
    shapes, axes = panels(1, 2, size=(8.4, 4.2))
    energies, parts = panels(2, 1, size=(6, 4.6))
    for ax, part, (kind, run) in zip(axes, parts, runs.items()):
        run.plot_snapshots(21 if kind == "soft" else 15, view="yx", ax=ax)
        ax.set_title(f"{kind} cantilever")
        run.plot_energies(ax=part)
    return {"snapshots": shapes, "energies": energies}


METHODS = {
    "constant step, rho = 1": {"rho": 1.0, "newton_tolerance": 1e-9},
    "constant step, rho = 0.8": {"rho": 0.8, "newton_tolerance": 1e-9},
    "error control": {},
    "error control, 1e-5": {"rtol": 1e-5, "atol": 1e-6},
    "dop853, 1e-8": {"method": "dop853", "rtol": 1e-8, "atol": 1e-8},
}


def main(figures_dir: str | None = None) -> None:
    drawn = {}
    for kind, (*_, duration) in RODS.items():
        system = build(kind)
        h = 0.01 if kind == "soft" else 0.001
        runs = {
            name: swing(
                system, duration, **({"step": h} if "constant" in name else {}), **options, output=duration / 100
            )
            for name, options in METHODS.items()
        }
        drawn[kind] = list(runs.values())[-1]
        exact = drawn[kind].positions("rod.tip")
        print(f"\n{kind} cantilever, {duration:g} s (constant step {h} s); steps and time are per simulated second")
        print(f"{'':24}  energy error  tip error [m]   steps    time [s]")
        for name, result in runs.items():
            s = result.statistics
            tip = np.linalg.norm(result.positions("rod.tip") - exact, axis=1).max()
            print(
                f"{name:24} {energy_error(result):13.1e} {tip:14.2e} {s.steps / duration:7.0f} {s.wall_time / duration:11.5f}"
            )
    gallery.save(figures_dir, figures, drawn)


def check() -> None:
    """The energy error is of second order in the step and 1.2e-4 at 0.01 s."""
    system = build("soft")
    options = {"rho": 1.0, "newton_tolerance": 1e-9}
    errors = [energy_error(swing(system, 10.0, step=h, **options)) for h in (0.02, 0.01)]
    assert errors[1] < 1.5e-4
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.2


if __name__ == "__main__":
    main()
    check()
