"""A beam with a force at its tip that turns along with it: [004] test 2, a follower load up to 130 kN.

A clamped beam of 100 m, radius 0.57 m (printed as the diameter), E = 401.5 MPa; the force stays normal to the tip. It has no
potential, and beyond 46 kN the symmetric part of the stiffness is indefinite, so the equilibria are followed by continuation
rather than by descent; yet they are stable, since all eigenvalues of the motion stay on the axis. Seen from the tip, force and moment are known, so that the exact elastica is an initial value problem.
The paper prints figures only; its five monomials are good for 0.9 m of the 100 m at 130 kN.
"""

import numpy as np
from scipy.integrate import solve_ivp

import pliant as pl
from pliant import gallery
from pliant.viz.plots import plot_convergence
from pliant.viz.style import legend, panels

LENGTH, RADIUS, YOUNG = 100.0, 0.57, 4.015e8
EI = YOUNG * np.pi * RADIUS**4 / 4
FORCES = (10e3, 50e3, 130e3)  # N


def build(modes: int = 10, basis: str = "legendre") -> pl.System:
    robot = pl.Robot("beam with a follower force", gravity=(0, 0, 0))
    beam = robot.add_rod(
        "beam",
        length=LENGTH,
        section=pl.Circle(RADIUS),
        material=pl.Material(young=YOUNG, poisson=0.3, density=1000),
        strains=pl.Strains.planar_bending(modes - 1, basis=basis),
        points=80,
    )
    robot.add_wrench("force", beam.tip, force=(0, 1, 0), axes="body")
    return robot.compile()


def trace(system: pl.System) -> pl.Branch:
    """Equilibria from no load to the largest."""
    return pl.trace_equilibria(system, input="force", stop=FORCES[-1], max_step=0.1)


def elastica(force: float) -> np.ndarray:
    """Exact tip x, y [m]: integrated from the tip to the clamp in the axes of the tip, where EI κ = −F x."""

    def slope(_s: float, y: np.ndarray) -> list[float]:
        return [-np.cos(y[2]), -np.sin(y[2]), force * y[0] / EI]

    x, y, angle = solve_ivp(slope, (0, LENGTH), [0, 0, 0], method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    c, s = np.cos(angle), np.sin(angle)
    return np.array([-c * x - s * y, s * x - c * y])


def tip_error(system: pl.System, force: float) -> float:
    """Distance of the tip from that of the elastica [m]."""
    rest = pl.solve_statics(system, {"force": force}, stable=False, load_steps=13)
    return float(np.linalg.norm(system.pose("beam.tip", rest.q)[:2, 3] - elastica(force)))


def figures(branch: pl.Branch) -> dict[str, object]:
    """Figures 4 and 5 of the paper: shapes, and where the tip goes; and how many modes that needs."""
    figure, (ax,) = panels()
    for component, k in (("x", 0), ("y", 1)):
        branch.plot("beam.tip", component=component, name=component, ax=ax)
        ax.plot(FORCES, [elastica(f)[k] for f in FORCES], "ks", ms=3, label="elastica" if k else "_")
    ax.set(xlabel="force [N]", ylabel="tip [m]")
    legend(ax)
    modes = np.arange(4, 13)
    errors = {f"{f / 1e3:.0f} kN": [tip_error(build(n), f) for n in modes] for f in FORCES}
    labels = {"size": "functions", "error": "error of the tip [m]"}
    return {
        "shapes": branch.plot_shapes(10, view="xy", label="force [N]"),
        "tip": figure,
        "convergence": plot_convergence(modes, errors, scale="semilogy", fit=False, **labels),
    }


def main(figures_dir: str | None = None) -> None:
    branch = trace(build())
    print(branch)
    print("\nforce [kN]   error of the tip [m] with 5 monomials, 10, 12 Legendre polynomials")
    systems = [build(5, "monomial"), build(10), build(12)]
    for force in FORCES:
        print(f"{force / 1e3:10.0f}   " + "".join(f"{tip_error(s, force):14.2e}" for s in systems))
    gallery.save(figures_dir, figures, branch)


def check() -> None:
    """The tip is where the elastica ends, which has known numbers; continuation and load stepping agree."""
    known = [(55.07475, 72.71117), (4.93579, 43.67475), (17.19073, -50.37737)]
    np.testing.assert_allclose([elastica(force) for force in FORCES], known, atol=1e-5)
    system = build()
    for force, limit in ((10e3, 1e-4), (50e3, 1e-4), (130e3, 0.011)):
        assert tip_error(system, force) < 1.5 * limit
    assert tip_error(build(12), 130e3) < 1e-3
    assert 0.01 < tip_error(build(5, "monomial"), 130e3) < 1.0
    branch = trace(system)
    assert branch.success, branch.message
    assert np.linalg.norm(system.pose("beam.tip", branch.q[-1])[:2, 3] - elastica(FORCES[-1])) < 0.02
    assert (branch.negative[0], branch.negative[-1]) == (0, 1)
    assert np.all(branch.stable)  # the motion decides where forces have no potential


if __name__ == "__main__":
    main()
    check()
