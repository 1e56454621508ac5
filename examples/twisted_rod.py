"""A rod between two clamps, twisted by one turn and then pushed together: [004] test 3.

One clamp slides and turns, its joints are prescribed, and a loop joint holds the tip of the rod in it. As the clamps approach
each other the twist turns into bending: the rod forms a helix, a loop and, when they meet, a plane circle without twist.
Functions (3 of torsion, 5 and 5 of bending, 2 of stretch), steps and weight (9.81 N/m) are the paper's; its G and density are
unphysical, so this is steel. Results are over L, EI/L², EI/L. Checks are without weight: a bent rod is neutral, in one of many planes.
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


def build(order: int | None = None, weight: float = 9.81, clamp: bool = True) -> pl.System:
    """The rod with the paper's functions, or torsion and bending of an order; its weight [N/m]; held by the clamp, or free."""
    robot = pl.Robot("twisted rod", gravity=(0, 0, weight))
    torsion, bending = (2, 4) if order is None else (order, order)
    steel = pl.Material(young=YOUNG, poisson=POISSON, density=1 / (np.pi * RADIUS**2))  # 1 kg/m
    own = {"length": LENGTH, "section": pl.Circle(RADIUS), "material": steel, "points": 3 * bending + 10}
    rod = robot.add_rod(
        "rod", strains=pl.Strains(torsion=torsion, bending=bending, stretch=1, basis="chebyshev"), **own
    )
    if clamp:
        slide = robot.add_body("slide", offset=(LENGTH, 0, 0), joint=pl.Prismatic("x"))
        jaw = robot.add_body("clamp", parent=slide, joint=pl.Revolute("x"))
        robot.add_motion("push", slide)
        robot.add_motion("twist", jaw)
        robot.add_loop("grip", jaw, rod.tip)
    return robot.compile()


def hold(system: pl.System, start: object, angle: float, distance: float, stable: bool = True) -> pl.Equilibrium:
    """Equilibrium with the clamps turned by an angle [rad] and at a distance (over L)."""
    return pl.solve_statics(system, motion=dict(twist=angle, push=(distance - 1) * LENGTH), start=start, stable=stable)


def twist(system: pl.System, steps: int = 18) -> list[pl.Equilibrium]:
    """The first phase: straight all the time."""
    out = [hold(system, None, 0.0, 1.0)]
    for angle in np.linspace(0, TURN, steps + 1)[1:]:
        out.append(hold(system, out[-1].q, angle, 1.0))
    return out


def push(system: pl.System, straight: pl.Equilibrium, steps: int = 15) -> list[pl.Equilibrium]:
    """The second phase, from L to −L/2; the first step starts slightly bent."""
    q, k = straight.q.copy(), system.dof_names.index("rod.bending_y[0]")
    q[[k, k + 2]] = 0.2 / LENGTH, -2.0 / LENGTH
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
    pushed = push(system := build(), (twisted := twist(system))[-1])
    print("    turn/2π   distance     thrust side force   moment x    torsion    bending energy")
    for state in [*twisted[::6], *pushed]:
        w, (slide, turn) = reaction(system, state), state.q[-2:]
        row = turn / TURN, 1 + slide / LENGTH, -w[3], np.hypot(w[4], w[5]), w[0], *energies(system, state.q)
        print("".join(f"{x:11.4f}" for x in row))
    print(f"thrust at which the twisted rod buckles: {critical_force(GJ * TURN):.5f} (without twist 4π²)")
    gallery.save(figures_dir, figures, pushed)


def check() -> None:
    twisted = twist(system := build(10, weight=0.0))
    straight, pushed = twisted[-1], push(system, twisted[-1])
    assert all(s.success and np.abs(system.closure(s.q)[0]).max() < 1e-10 for s in twisted + pushed)
    heavy = build(), build(12)  # with weight and more functions the bend that the push starts with is unstable
    assert all(state.stable for robot in heavy for state in push(robot, twist(robot)[-1]))
    np.testing.assert_allclose(reaction(system, straight)[0], GJ * TURN, rtol=1e-9)
    # the straight rod is stable up to the critical thrust; the classical values for thrust and for torque alone
    np.testing.assert_allclose((critical_force(1e-9), critical_force(8.986)), (4 * np.pi**2, 0), atol=0.01)
    most = critical_force(GJ * TURN) / EA
    assert [hold(system, straight.q, TURN, 1 - x * most, False).stable for x in (0.9999, 1.0001)] == [True, False]
    for k, x in ((0, 0.9), (2, 0.7), (4, 0.5)):  # an independent integration with these reactions ends in the clamp
        np.testing.assert_allclose(tip_of(reaction(system, pushed[k]), x), [x, 0, 0, 0, 0, 0], atol=2e-4)
    circle = pushed[9]  # the clamps meet: a plane circle, free of force and twist
    np.testing.assert_allclose(energies(system, circle.q), (0, 2 * np.pi**2), atol=1e-9)
    np.testing.assert_allclose(reaction(system, circle)[[0, 3, 4, 5]], 0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(reaction(system, circle)[1:3]), TURN, rtol=1e-9)


if __name__ == "__main__":
    main()
    check()
