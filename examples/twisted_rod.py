"""A rod between two clamps, twisted by one turn and then pushed together: [004] test 3.

One clamp slides and turns, its two joints are prescribed, and a fixed loop joint holds the tip of the rod in it. As the
clamps approach each other the twist turns into bending: the rod buckles into a helix, forms a loop and, when the clamps meet,
is a plane circle without any twist. The paper's G and density are unphysical, so this is a steel rod of its length and
diameter without gravity, and results are normalised: lengths by L, forces by EI/L², moments and energies by EI/L. Its steps are
the paper's. A round rod may buckle in any direction, so every bent state is a neutral one; therefore stable=False.
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import pliant as pl
from pliant import gallery
from pliant.viz.drawing import plot_configurations
from pliant.viz.style import legend, panels

LENGTH, RADIUS, YOUNG, POISSON = 20.0, 0.0088, 2.1e11, 0.3
EI, TURN = YOUNG * np.pi * RADIUS**4 / 4, 2 * np.pi
GJ, EA = 1 / (1 + POISSON), 4 * (LENGTH / RADIUS) ** 2  # over EI, over EI/L²


def build(order: int = 6) -> pl.System:
    """The rod with torsion and bending of this order and linear stretch; the paper has 3, 5 and 5, and 2 functions."""
    robot = pl.Robot("twisted rod", gravity=(0, 0, 0))
    steel = {"section": pl.Circle(RADIUS), "material": pl.Material(young=YOUNG, poisson=POISSON, density=7800)}
    strains = pl.Strains(torsion=order, bending=order, stretch=1, basis="chebyshev")
    rod = robot.add_rod("rod", length=LENGTH, strains=strains, points=3 * order + 10, **steel)
    slide = robot.add_body("slide", offset=(LENGTH, 0, 0), joint=pl.Prismatic("x"))
    clamp = robot.add_body("clamp", parent=slide, joint=pl.Revolute("x"))
    robot.add_motion("push", slide)
    robot.add_motion("twist", clamp)
    robot.add_loop("grip", clamp, rod.tip)
    return robot.compile()


def hold(system: pl.System, start: np.ndarray | None, angle: float, distance: float) -> pl.Equilibrium:
    """Equilibrium with the clamps turned by an angle [rad] and at a distance (over L)."""
    return pl.solve_statics(system, motion={"twist": angle, "push": (distance - 1) * LENGTH}, start=start, stable=False)


def twist(system: pl.System, steps: int = 18) -> list[pl.Equilibrium]:
    """The first phase: straight all the time."""
    out = [hold(system, None, 0.0, 1.0)]
    for angle in np.linspace(0, TURN, steps + 1)[1:]:
        out.append(hold(system, out[-1].q, angle, 1.0))
    return out


def push(system: pl.System, straight: pl.Equilibrium, steps: int = 15) -> list[pl.Equilibrium]:
    """The second phase, from the distance L to −L/2; the first step starts slightly bent."""
    q, first = straight.q.copy(), system.dof_names.index("rod.bending_y[0]")
    q[[first, first + 2]] = 0.2 / LENGTH, -2.0 / LENGTH
    out = [hold(system, q, TURN, 1 - 1.5 / steps)]
    for k in range(2, steps + 1):
        out.append(hold(system, out[-1].q, TURN, 1 - 1.5 * k / steps))
    return out


def reaction(system: pl.System, state: pl.Equilibrium) -> np.ndarray:
    """Moment and force of the clamp on the rod in world axes, normalised."""
    wrench = system.loop_wrench("grip", state.q, state.multipliers, axes="world")
    return wrench / EI * np.repeat([LENGTH, LENGTH**2], 3)


def energies(system: pl.System, q: np.ndarray) -> tuple[float, float]:
    """Energy of torsion and of bending, normalised."""
    X, w = np.polynomial.legendre.leggauss(40)
    kappa = LENGTH * system.strain("rod", q, (X + 1) / 2)[:, :3]
    return GJ / 4 * w @ kappa[:, 0] ** 2, 1 / 4 * w @ (kappa[:, 1] ** 2 + kappa[:, 2] ** 2)


def critical_force(moment: float) -> float:
    """Thrust that buckles a straight clamped rod under a twisting moment: z'''' − i M z''' + P z'' = 0, z = z' = 0 at the ends."""

    def determinant(P: float) -> float:
        k = moment / 2 + np.array([1, -1]) * np.sqrt(moment**2 / 4 + P)
        rows = [[[1, s, *np.exp(1j * k * s)], [0, 1, *(1j * k * np.exp(1j * k * s))]] for s in (-0.5, 0.5)]
        return float(np.linalg.det(np.concatenate(rows)).imag) / P

    P = np.linspace(1e-4, 60, 600)
    first = np.flatnonzero(np.diff(np.sign([determinant(p) for p in P])))[0]
    return brentq(determinant, P[first], P[first + 1], xtol=1e-12)


def tip_of(wrench: np.ndarray, distance: float) -> np.ndarray:
    """Position and rotation vector (6,) of the tip by Kirchhoff's equations in the world frame, with these reactions there."""
    n = wrench[3:]

    def ode(_s: float, y: np.ndarray) -> np.ndarray:
        R = Rotation.from_quat(y[3:7]).as_matrix()
        along = R[:, 0] * (1 + R[:, 0] @ n / EA)
        w = R @ ((R.T @ y[7:]) / [GJ, 1, 1])  # curvature
        turn = 0.5 * np.append(y[6] * w + np.cross(w, y[3:6]), -w @ y[3:6])
        return np.concatenate([along, turn, -np.cross(along, n)])

    start = np.concatenate([np.zeros(6), [1.0], wrench[:3] + np.cross([distance, 0, 0], n)])
    y = solve_ivp(ode, (0, 1), start, method="DOP853", rtol=1e-9, atol=1e-10).y[:, -1]
    return np.concatenate([y[:3], Rotation.from_quat(y[3:7]).as_rotvec()])


def figures(pushed: list[pl.Equilibrium]) -> dict[str, object]:
    """Figure 6 of the paper, and how twist becomes bending."""
    system, (figure, (ax,)) = build(), panels()
    distance = 1 + np.array([state.q[-2] for state in pushed]) / LENGTH
    shapes = plot_configurations(system, [s.q for s in pushed[::2]], values=distance[::2], label="distance / L [–]")
    ax.plot(distance, [energies(system, s.q) for s in pushed], "o-", label=("torsion", "bending"))
    ax.set(xlabel="distance of the clamps / L [–]", ylabel="energy / (EI/L) [–]")
    legend(ax)
    return {"shapes": shapes, "energies": figure}


def main(figures_dir: str | None = None) -> None:
    twisted = twist(system := build())
    pushed = push(system, twisted[-1])
    print("    turn/2π   distance     thrust side force   moment x    torsion    bending energy")
    for state in [*twisted[::6], *pushed]:
        w, (slide, turn) = reaction(system, state), state.q[-2:]
        row = turn / TURN, 1 + slide / LENGTH, -w[3], np.hypot(w[4], w[5]), w[0], *energies(system, state.q)
        print("".join(f"{x:11.4f}" for x in row))
    print(f"thrust at which the twisted rod buckles: {critical_force(GJ * TURN):.5f} (without twist 4π²)")
    gallery.save(figures_dir, figures, pushed)


def check() -> None:
    twisted = twist(system := build(10))
    straight, pushed = twisted[-1], push(system, twisted[-1])
    assert all(state.success for state in twisted + pushed)
    assert max(np.abs(system.closure(state.q)[0]).max() for state in twisted + pushed) < 1e-10
    np.testing.assert_allclose(reaction(system, straight)[0], GJ * TURN, rtol=1e-9)
    # the straight rod is stable up to the critical thrust; the classical values for thrust and for torque alone
    np.testing.assert_allclose((critical_force(1e-9), critical_force(8.986)), (4 * np.pi**2, 0), atol=0.01)
    thrust = critical_force(GJ * TURN)
    assert hold(system, straight.q, TURN, 1 - 0.9999 * thrust / EA).stable
    assert not hold(system, straight.q, TURN, 1 - 1.0001 * thrust / EA).stable
    # an independent integration with the reactions found ends in the clamp
    for k, x in ((0, 0.9), (2, 0.7), (4, 0.5)):
        np.testing.assert_allclose(tip_of(reaction(system, pushed[k]), x), [x, 0, 0, 0, 0, 0], atol=2e-4)
    # the clamps meet: a plane circle, free of force and twist
    circle = pushed[9]
    np.testing.assert_allclose(energies(system, circle.q), (0, 2 * np.pi**2), atol=1e-9)
    np.testing.assert_allclose(reaction(system, circle)[[0, 3, 4, 5]], 0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(reaction(system, circle)[1:3]), TURN, rtol=1e-9)


if __name__ == "__main__":
    main()
    check()
