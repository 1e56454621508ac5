"""Buckling of a clamped-free column: the critical load, and how far the column bends beyond it.

The straight column loses its stability at Euler's load π²EI/4L²; the trace finds that point, switches to the buckled
branch and follows it to large deflections, where the elastica gives the exact tip in elliptic integrals.
"""

import numpy as np
from scipy.special import ellipe, ellipk

import pliant as pl
from pliant import gallery
from pliant.solve.branch import Branch
from pliant.solve.continuation import trace_equilibria
from pliant.viz.style import legend, panels

LENGTH, EI = 1.0, 1.0  # m, N m²
EULER = np.pi**2 * EI / (4 * LENGTH**2)  # N


def build() -> pl.System:
    robot = pl.Robot("column", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod",
        length=LENGTH,
        strains=pl.Strains.planar_bending(6),
        stiffness=(EI, EI, EI, 1e4, 1e4, 1e4),
        inertia=(1e-4, 1e-4, 1e-4, 0.1, 0.1, 0.1),
        points=40,
    )
    robot.add_wrench("push", rod.tip, force=(-1, 0, 0))
    return robot.compile()


def trace() -> tuple[Branch, Branch]:
    """The straight column and one half of the buckled branch."""
    straight = trace_equilibria(build(), input="push", stop=1.5 * EULER)
    return straight, straight.switch(stop=2.5 * EULER)


def elastica(angle: float) -> tuple[float, float, float]:
    """Load/Euler load and tip x/L, y/L for a tip angle."""
    m = np.sin(angle / 2) ** 2
    return ellipk(m) ** 2 / (np.pi / 2) ** 2, 2 * ellipe(m) / ellipk(m) - 1, 2 * np.sqrt(m) / ellipk(m)


def figures(branches: tuple[Branch, Branch]) -> dict[str, object]:
    straight, buckled = branches
    figure, (ax,) = panels()
    straight.plot("rod.tip", component="y", name="straight", ax=ax)
    buckled.plot("rod.tip", component="y", name="buckled", ax=ax)
    exact = np.array([elastica(angle) for angle in np.radians([20, 60, 90, 120])])
    side = np.sign(buckled.system.pose("rod.tip", buckled.q[-1])[1, 3])
    ax.plot(EULER * exact[:, 0], side * exact[:, 2], "ko", ms=3, label="elastica")
    ax.set(xlabel="load [N]", ylabel="deflection of the tip [m]")
    legend(ax)
    return {"shapes": buckled.plot_shapes(8, view="xy", label="load [N]"), "deflection": figure}


def main(figures_dir: str | None = None) -> None:
    straight, buckled = trace()
    print(straight)
    print(buckled)
    print("\nP/P_E (elastica)         tip x/L (elastica)      tip y/L (elastica)")
    for k in range(1, len(buckled), 4):
        g = buckled.system.pose("rod.tip", buckled.q[k])
        P, x, y = elastica(np.arctan2(g[1, 0], g[0, 0]))
        ours = buckled.parameter[k] / EULER, g[0, 3] / LENGTH, g[1, 3] / LENGTH
        print(f"{ours[0]:.7f} ({P:.7f})   {ours[1]:+.7f} ({x:+.7f})   {ours[2]:+.7f} ({y:+.7f})")
    gallery.save(figures_dir, figures, (straight, buckled))


def check() -> None:
    straight, buckled = trace()
    np.testing.assert_allclose(straight.points[0].parameter, EULER, rtol=1e-6)
    g = buckled.system.pose("rod.tip", buckled.q[-1])
    ours = buckled.parameter[-1] / EULER, g[0, 3] / LENGTH, abs(g[1, 3]) / LENGTH
    np.testing.assert_allclose(ours, elastica(np.arctan2(g[1, 0], g[0, 0])), atol=1e-5)


if __name__ == "__main__":
    main()
    check()
