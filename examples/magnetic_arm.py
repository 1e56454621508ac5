"""A magnetised rod in a uniform field that turns around it: how far it bends, against the elastica.

A silicone rod of 80 mm with magnetic particles, magnetised along its axis, is clamped along x. A field B at the angle
α to the rod exerts the torque ``m × B`` on each metre of it; without gravity the angle θ of its sections obeys

    EI θ'' + m B sin(α − θ) = 0,  θ(0) = 0,  θ'(L) = 0,

which scipy solves as a boundary value problem. In a field that turns all the way round the rod follows, until it
snaps back; for a field against the rod it buckles where m B = EI (π / 2L)².
"""

import numpy as np
from scipy.integrate import solve_bvp

import pliant as pl
from pliant import gallery
from pliant.viz.drawing import plot_configurations
from pliant.viz.style import panels

LENGTH, RADIUS, YOUNG = 0.08, 0.002, 1.0e6
EI = YOUNG * np.pi * RADIUS**4 / 4
MAGNETISATION = 6e4  # [A/m]
DIPOLE = MAGNETISATION * np.pi * RADIUS**2  # [A m² per metre]
BUCKLING = EI * (np.pi / (2 * LENGTH)) ** 2 / DIPOLE  # [T]


def build() -> pl.System:
    """Bending only, in all directions."""
    robot = pl.Robot("magnetic arm", gravity=(0, 0, 0))
    arm = robot.add_rod(
        "arm",
        length=LENGTH,
        section=pl.Circle(radius=RADIUS),
        material=pl.Material(young=YOUNG, poisson=0.5, density=1500),
        strains=pl.Strains(bending=6),
        points=20,
    )
    robot.add_dipole("magnet", arm, moment=(DIPOLE, 0, 0))
    return robot.compile()


def field(strength: float, angle: float) -> dict[str, float]:
    """A field in the plane of x and y."""
    return {"field_x": strength * np.cos(angle), "field_y": strength * np.sin(angle)}


def elastica(strength: float, angle: float, bend: float) -> np.ndarray:
    """Position x, y [m] and angle [rad] of the tip, near an arc with that tip angle."""
    s = np.linspace(0, LENGTH, 50)
    torque = DIPOLE * strength / EI

    def slope(s: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.array([np.cos(y[2]), np.sin(y[2]), y[3], -torque * np.sin(angle - y[2])])

    def ends(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.array([a[0], a[1], a[2], b[3]])

    guess = np.array([s, 0 * s, bend * s / LENGTH, np.full_like(s, bend / LENGTH)])
    return solve_bvp(slope, ends, s, guess, tol=1e-10, max_nodes=50000).y[:3, -1]


def tip(system: pl.System, q: np.ndarray) -> np.ndarray:
    """Position x, y and angle of the tip, counting turns."""
    x, w = np.polynomial.legendre.leggauss(8)
    angle = 0.5 * LENGTH * w @ system.strain("arm", q, 0.5 * (1 + x))[:, 2]
    return np.array([*system.pose("arm.tip", q)[:2, 3], angle])


def turn(system: pl.System, strength: float, angles: np.ndarray) -> list[pl.Equilibrium]:
    """Equilibria as the field turns, each started from the last."""
    rests: list[pl.Equilibrium] = []
    for angle in angles:
        rests.append(pl.solve_statics(system, field(strength, angle), start=rests[-1] if rests else None))
        if not (
            rests[-1].success and rests[-1].stability in ("stable", "neutral")
        ):  # neutral: in any plane, opposite field
            raise RuntimeError(rests[-1].message)
    return rests


def figures(rests: list[pl.Equilibrium]) -> dict[str, object]:
    """The arm in a field of 10 mT that turns, and the angle of its tip."""
    system, angles = build(), np.arange(0, 361, 15)
    label = "angle of the field [°]"
    shapes = plot_configurations(system, [r.q for r in rests], values=angles, label=label, view="xy")
    figure, (ax,) = panels()
    ax.plot(angles, np.degrees([tip(system, rest.q)[2] for rest in rests]), "o-")
    ax.set(xlabel=label, ylabel="angle of the tip [°]")
    return {"shapes": shapes, "angle": figure}


def main(figures_dir: str | None = None) -> None:
    system = build()
    print(f"EI = {EI:.3e} N m², dipole {DIPOLE:.3f} A m²/m, buckles in an opposite field of {1e3 * BUCKLING:.2f} mT")
    print("\nfield across the rod: tip [mm] and its angle [°], and the distance from the elastica [mm]")
    for strength in (1e-3, 3e-3, 10e-3, 30e-3):
        rest = pl.solve_statics(system, field(strength, np.pi / 2))
        x = tip(system, rest.q)
        error = np.linalg.norm((x - elastica(strength, np.pi / 2, x[2]))[:2])
        print(
            f"{1e3 * strength:6.1f} mT {1e3 * x[0]:9.3f} {1e3 * x[1]:9.3f} {np.degrees(x[2]):9.2f} {1e3 * error:11.1e}"
        )
    angles = np.radians(np.arange(0, 361, 15))
    rests = turn(system, 10e-3, angles)
    bends = np.degrees([tip(system, rest.q)[2] for rest in rests])
    print("\na field of 10 mT turns: angle of the field, angle of the tip [°]")
    print("  ".join(f"{a:.0f}:{b:.1f}" for a, b in zip(np.degrees(angles), bends) if a % 45 < 1))
    gallery.save(figures_dir, figures, rests)


def check() -> None:
    """The tip is where the elastica says, small angles are m B L²/2EI, and buckling comes at the known field."""
    system = build()
    for strength, angle in ((1e-3, np.pi / 2), (10e-3, np.pi / 2), (30e-3, np.pi / 2), (5e-3, 2.5)):
        x = tip(system, pl.solve_statics(system, field(strength, angle)).q)
        np.testing.assert_allclose(x[:2], elastica(strength, angle, x[2])[:2], atol=1e-5 * LENGTH)
    small = tip(system, pl.solve_statics(system, field(1e-6, np.pi / 2)).q)
    np.testing.assert_allclose(small[2], DIPOLE * 1e-6 * LENGTH**2 / (2 * EI), rtol=1e-6)
    for factor, straight in ((0.99, True), (1.01, False)):
        rest = pl.solve_statics(system, field(factor * BUCKLING, np.pi))
        assert rest.stability == ("stable" if straight else "neutral")  # a round arm may buckle in any plane
        assert (np.abs(rest.q).max() < 1e-6) == straight


if __name__ == "__main__":
    main()
    check()
