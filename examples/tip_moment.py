"""A beam wound into a circle by a moment at its tip: [004] test 1.

A clamped beam of 1 m, radius 10 mm (printed as the diameter), E = 0.1 GPa, five monomials for each of the two curvatures. The
moment grows to 5 N m in five steps about (0, 1, 1)/√2, a tilted plane. Euler's answer is a circle of curvature C/EI, and a
strain basis contains it exactly, whatever its size: one function would do.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.drawing import plot_configurations
from pliant.viz.style import legend, panels

LENGTH, RADIUS, YOUNG = 1.0, 0.01, 1e8
EI = YOUNG * np.pi * RADIUS**4 / 4
AXIS = np.array([0, 1, 1]) / np.sqrt(2)
MOMENTS = np.linspace(0, 5, 6)[1:]  # N m


def build(order: int = 4) -> pl.System:
    robot = pl.Robot("beam with a tip moment", gravity=(0, 0, 0))
    beam = robot.add_rod(
        "beam",
        length=LENGTH,
        section=pl.Circle(RADIUS),
        material=pl.Material(young=YOUNG, poisson=0.5, density=1000),
        strains=pl.Strains(bending=order, basis="monomial"),
    )
    robot.add_wrench("moment", beam.tip, moment=AXIS, axes="body")
    return robot.compile()


def load(system: pl.System, moments: np.ndarray) -> list[pl.Equilibrium]:
    """Equilibria, each started from the last. From 4 N m on the moment, which turns with the tip, would make the undamped beam flutter."""
    out: list[pl.Equilibrium] = []
    for moment in moments:
        out.append(pl.solve_statics(system, {"moment": moment}, start=out[-1] if out else None, stable=False))
    return out


def exact_tip(moment: float) -> np.ndarray:
    """End of an arc of curvature C/EI in the plane normal to AXIS [m]."""
    angle = moment * LENGTH / EI
    side = np.cross(AXIS, [1, 0, 0])
    return EI / moment * (np.sin(angle) * np.array([1, 0, 0]) + (1 - np.cos(angle)) * side)


def figures(states: list[pl.Equilibrium]) -> dict[str, object]:
    """Figures 1 and 3 of the paper: shapes, and where the tip goes."""
    system = build()
    shapes = plot_configurations(system, [s.q for s in states], values=MOMENTS, label="moment [N m]")
    moments = np.linspace(0.01, 5, 101)
    figure, (ax,) = panels()
    tips = np.array([system.pose("beam.tip", s.q)[:3, 3] for s in load(system, moments)])
    for k, name in enumerate("xyz"):
        ax.plot(moments, tips[:, k], label=f"{name} of the tip")
        ax.plot(MOMENTS, [exact_tip(m)[k] for m in MOMENTS], "ko", ms=3, label="Euler" if k == 2 else "_")
    ax.set(xlabel="moment [N m]", ylabel="position [m]")
    legend(ax)
    return {"shapes": shapes, "tip": figure}


def main(figures_dir: str | None = None) -> None:
    system = build()
    states = load(system, MOMENTS)
    print("moment [N m]   turns   tip x, y, z [m]                    distance from Euler's circle [m]")
    for moment, state in zip(MOMENTS, states):
        tip = system.pose("beam.tip", state.q)[:3, 3]
        error = np.linalg.norm(tip - exact_tip(moment))
        turns = moment * LENGTH / EI / (2 * np.pi)
        print(f"{moment:12.1f}{turns:8.3f}   {tip[0]:10.6f}{tip[1]:11.6f}{tip[2]:11.6f}{error:22.1e}")
    gallery.save(figures_dir, figures, states)


def check() -> None:
    """The curvature is C/EI and constant, for any number of functions; the tip is on the circle to 1e-9 of the length."""
    for order in (0, 1, 4, 7):
        system = build(order)
        for moment, state in zip(MOMENTS, load(system, MOMENTS)):
            assert state.success, state.message
            curvature = system.strain("beam", state.q)[:, :3]
            np.testing.assert_allclose(curvature, np.tile(moment / EI * AXIS, (len(curvature), 1)), atol=1e-7)
            assert np.linalg.norm(system.pose("beam.tip", state.q)[:3, 3] - exact_tip(moment)) < 1e-9 * LENGTH


if __name__ == "__main__":
    main()
    check()
