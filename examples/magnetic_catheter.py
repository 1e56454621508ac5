"""A catheter with a magnetised tip, steered by a magnet outside of the body and by a coil: how the tip turns and is pulled.

A silicone rod of 60 mm, magnetised along its last third, is clamped along x. A permanent magnet of 4 A m² stands beside it, its moment
across the catheter. In its field, which falls as 1/d³, each metre of the rod feels a moment ``m × B`` and a force ``∇(m·B)``. On
the straight rod the force lifts the tip by 8 % of what the moment does for a magnet at 140 mm, and by 32 % at 70 mm.

For small deflections both are loads on a straight cantilever, of which the deflection of the tip is the integral of
``F s²(3L − s)/6EI`` and ``M s(2L − s)/2EI``: that is checked with a weak magnet.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.drawing import plot_configurations
from pliant.viz.style import panels

LENGTH, RADIUS, YOUNG = 0.06, 0.001, 1.5e6
EI = YOUNG * np.pi * RADIUS**4 / 4
DIPOLE = 1e5 * np.pi * RADIUS**2  # [A m² per metre] where it is magnetised
START = 2 / 3  # from where on


def build(distance: float = 0.08, moment: float = 4.0) -> pl.System:
    """The catheter, a magnet `distance` beside its tip, and a coil around its base."""
    robot = pl.Robot("magnetic catheter", gravity=(0, 0, 0))
    material = pl.Material(young=YOUNG, poisson=0.5, density=1200)
    rod = robot.add_rod(
        "rod",
        length=START * LENGTH,
        section=pl.Circle(RADIUS),
        material=material,
        strains=pl.Strains(bending=3),
    )
    tip = robot.add_rod(
        "tip",
        parent=rod.tip,
        length=(1 - START) * LENGTH,
        section=pl.Circle(RADIUS),
        material=material,
        strains=pl.Strains(bending=3),
        points=10,
    )
    robot.add_dipole("film", tip, moment=(DIPOLE, 0, 0))
    robot.add_magnet("magnet", offset=(LENGTH, 0, distance), moment=(0, 0, moment))
    robot.add_coil("coil", radius=0.15, turns=200, axis="y", arrangement="helmholtz")
    return robot.compile()


def tip_of(rest: pl.Equilibrium) -> np.ndarray:
    """Position of the tip [m]."""
    return rest.system.pose("tip.tip", rest.q)[:3, 3]


def solve(distance: float, moment: float = 4.0, current: float = 0.0) -> pl.Equilibrium:
    """The equilibrium beside the magnet."""
    rest = pl.solve_statics(build(distance, moment), {"coil": current})
    if not rest.success:
        raise RuntimeError(rest.message)
    return rest


def small_deflection(distance: float, moment: float) -> float:
    """Height of the tip of a straight cantilever under the loads of the field where it is [m]."""
    x, w = np.polynomial.legendre.leggauss(30)
    s = LENGTH * (START + (1 - START) * 0.5 * (1 + x))
    w = 0.5 * w * (1 - START) * LENGTH
    system, h = build(distance, moment), 1e-5
    at = np.column_stack([s, 0 * s, 0 * s])
    B = system.magnetic_field(at)
    lift = DIPOLE * (system.magnetic_field(at + [0, 0, h]) - system.magnetic_field(at - [0, 0, h]))[:, 0] / (2 * h)
    turn = DIPOLE * B[:, 2]  # the moment (m × B) is −m Bz about y, which lifts
    return float(w @ (lift * s**2 * (3 * LENGTH - s) / 6 + turn * s * (2 * LENGTH - s) / 2) / EI)


def figures(rests: list[pl.Equilibrium]) -> dict[str, object]:
    """The catheter as the magnet comes near, and how high its tip is."""
    distances = 1e3 * DISTANCES
    label = "distance of the magnet [mm]"
    shapes = plot_configurations(rests[0].system, [r.q for r in rests], values=distances, label=label, view="xz")
    figure, (ax,) = panels()
    ax.plot(distances, [1e3 * tip_of(rest)[2] for rest in rests], "o-")
    ax.set(xlabel=label, ylabel="height of the tip [mm]")
    return {"shapes": shapes, "height": figure}


DISTANCES = np.array([0.14, 0.12, 0.10, 0.09, 0.08, 0.07])


def main(figures_dir: str | None = None) -> None:
    rests = [solve(distance) for distance in DISTANCES]
    print("a magnet of 4 A m² comes near: distance, field at the tip, tip x and z")
    for distance, rest in zip(DISTANCES, rests):
        x = tip_of(rest)
        B = np.linalg.norm(rest.system.magnetic_field([x], rest.q))
        print(f"{1e3 * distance:6.0f} mm {1e3 * B:8.2f} mT {1e3 * x[0]:8.2f} mm {1e3 * x[2]:8.2f} mm")
    print("\nwith the magnet at 100 mm a coil turns the tip sideways: current, tip y")
    for current in (0.0, 2.0, 5.0):
        print(f"{current:6.1f} A {1e3 * tip_of(solve(0.1, current=current))[1]:8.2f} mm")
    gallery.save(figures_dir, figures, rests)


def check() -> None:
    """A weak magnet deflects as a beam says, and a near one pulls the tip further than a far one."""
    for distance in (0.08, 0.12):
        height = tip_of(solve(distance, 1e-3))[2]
        np.testing.assert_allclose(height, small_deflection(distance, 1e-3), rtol=1e-3)
    heights = [abs(tip_of(solve(distance))[2]) for distance in DISTANCES]
    assert np.all(np.diff(heights) > 0)
    assert abs(tip_of(solve(0.1, current=5.0))[1]) > 1e-4


if __name__ == "__main__":
    main()
    check()
