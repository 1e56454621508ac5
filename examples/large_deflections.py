"""Beams bent far by dead loads, against the elastica and a classical benchmark: tip force, own weight, and the 45° bend.

Inextensible cantilevers under a transverse tip force F L²/EI = 1, 5, 10 or their own weight w L³/EI = 10 are the elastica, solved
here as a boundary value problem. The arc of 45° of Bathe and Bolourchi (radius 100, unit square section, E = 1e7, ν = 0, torsion
constant 1/6, a force up to 600 normal to its plane) bends, twists, shears and stretches; `BEND` are its converged tips.
"""

import numpy as np
from scipy.integrate import solve_bvp

import pliant as pl
from pliant import gallery
from pliant.viz.drawing import plot_configurations
from pliant.viz.plots import plot_convergence

FORCES, WEIGHT = (1.0, 5.0, 10.0), 10.0  # F L²/EI, w L³/EI
BEND = {300: (58.77912, 22.24478, 40.19189), 450: (52.23856, 18.50818, 48.50293), 600: (47.15044, 15.68480, 53.47486)}


def cantilever(modes: int, points: int, weight: float = 0.0) -> pl.System:
    """L = 1 m, EI = 1 N m², along x; the tip force and the weight act along −y."""
    robot = pl.Robot("cantilever", gravity=(0, -10, 0))
    rod = robot.add_rod(
        "rod",
        length=1.0,
        stiffness=np.ones(6),
        inertia=weight / 10 * np.array([0, 0, 0, 1, 1, 1]),
        strains=pl.Strains.planar_bending(modes - 1),
        points=points,
    )
    robot.add_wrench("force", rod.tip, force=(0, -1, 0))
    return robot.compile()


def bend(order: int) -> pl.System:
    robot = pl.Robot("45° bend", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod",
        length=100 * np.pi / 4,
        section=pl.Rectangle(1.0, 1.0, torsion_factor=1.0),
        material=pl.Material(young=1e7, poisson=0.0, density=1.0),
        strains=pl.Strains.reissner(order),
        reference_strain=pl.constant_strain(bending_z=1 / 100),
        points=30,
    )
    robot.add_wrench("force", rod.tip, force=(0, 0, 1))
    return robot.compile()


def elastica(force: float, weight: float) -> np.ndarray:
    """Tip x, y over L: θ″ = (F + w (1 − s)) cos θ, θ(0) = 0, θ′(1) = 0, bending downwards."""

    def slope(s: np.ndarray, y: np.ndarray) -> np.ndarray:
        load = force + weight * (1 - s)
        return np.array([np.cos(y[2]), -np.sin(y[2]), y[3], -load * np.cos(y[2])])

    s = np.linspace(0, 1, 60)
    guess = np.array([s, -0.5 * s, s, 1 - s])
    ends = solve_bvp(slope, lambda a, b: np.array([a[0], a[1], a[2], b[3]]), s, guess, tol=1e-11, max_nodes=100000)
    return ends.y[:2, -1]


def tip_error(system: pl.System, force: float, exact: np.ndarray) -> float:
    rest = pl.solve_statics(system, {"force": force})
    return float(np.abs(system.pose("rod.tip", rest.q)[: len(exact), 3] - exact).max())


def convergence(modes: range) -> dict[str, list[float]]:
    """Errors of the tip [m] for each load."""
    out = {}
    for name, force, weight in [*((f"F = {f:g}", f, 0.0) for f in FORCES), ("weight", 0.0, WEIGHT)]:
        exact = elastica(force, weight)
        out[name] = [tip_error(cantilever(n, 160, weight), force, exact) for n in modes]
    return out


def figures(_run: object) -> dict[str, object]:
    rod, arc = cantilever(8, 60), bend(5)
    forces, pulls = np.linspace(0, 10, 9), np.linspace(0, 600, 7)
    shapes = [pl.solve_statics(rod, {"force": f}).q for f in forces]
    arcs = [pl.solve_statics(arc, {"force": f}).q for f in pulls]
    labels = {"size": "functions", "error": "error of the tip / L [–]"}
    return {
        "bend": plot_configurations(arc, arcs, values=pulls, label="force [N]"),
        "tip_force": plot_configurations(rod, shapes, values=forces, label="F L²/EI [–]", view="xy"),
        "convergence": plot_convergence(range(2, 11), convergence(range(2, 11)), scale="semilogy", fit=False, **labels),
    }


def main(figures_dir: str | None = None) -> None:
    print("error of the tip over L with      4 functions          6         10")
    for name, errors in convergence(range(4, 11)).items():
        print(f"  {name:28}" + "".join(f"{errors[n - 4]:15.1e}" for n in (4, 6, 10)))
    print("\n45° bend: error of the tip with 2, 4 and 6 functions per strain")
    for force, exact in BEND.items():
        print(f"  {force} N" + "".join(f"{tip_error(bend(n - 1), force, np.array(exact)):13.1e}" for n in (2, 4, 6)))
    gallery.save(figures_dir, figures, None)


def check() -> None:
    """The elastica has its published numbers; four functions are good for 2e-5, ten for 1e-9; the bend for 1e-5."""
    published = {1: (0.9435667637, -0.3017207738), 5: (0.6123716393, -0.7137915236), 10: (0.4450044022, -0.8106090249)}
    for force, exact in published.items():
        np.testing.assert_allclose(elastica(force, 0), exact, atol=1e-8)
        assert tip_error(cantilever(4, 20), force, np.array(exact)) < 2e-5
        assert tip_error(cantilever(10, 160), force, np.array(exact)) < 1e-9
    exact = np.array([0.6563537612, -0.7001997155])
    np.testing.assert_allclose(elastica(0, WEIGHT), exact, atol=1e-8)
    assert tip_error(cantilever(6, 40, WEIGHT), 0, exact) < 1e-6
    for force, tip in BEND.items():
        assert tip_error(bend(5), force, np.array(tip)) < 1e-5


if __name__ == "__main__":
    main()
    check()
