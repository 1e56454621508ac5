"""Two ways to one equation of motion, [003]: Jacobians of every point, or a recursion along the tree.

The robot is hybrid: a turntable with a rigid joint carries a soft rod with two tendons and a weight at its tip. The Jacobian (Kane)
route adds up ``Jᵀ 𝓜 J`` over all points that have mass and gives matrices; the Newton–Euler route passes forces back along the robot
and gives the force for an acceleration. They are the same to rounding, because the transpose of what carries velocities
outwards carries forces inwards. From unit accelerations the recursion gives the matrices too ([003] eq. 56, [004] eqs. 33–36).

Last a use of the matrices: Ṁ − 2C is skew, so the energy of the error of a tracking controller can only fall.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.drawing import plot_shape
from pliant.viz.style import panels


def hybrid() -> pl.System:
    """A turntable, a soft rod with two tendons, a weight."""
    robot = pl.Robot("hybrid", gravity=(0, 0, -9.81))
    table = robot.add_body("table", joint=pl.Revolute("z"), shape=pl.Cylinder(0.1, 0.05, "z"), mass=1.0)
    silicone = pl.Material(young=1e6, poisson=0.5, density=1100, viscosity=2e3)
    soft = {"material": silicone, "strains": pl.Strains(torsion=1, bending=3, stretch=1)}
    rod = robot.add_rod(
        "rod", parent=table, offset=(0.05, 0, 0.03), length=0.4, section=pl.Circle((0.015, 0.01)), **soft
    )
    robot.add_body("weight", parent=rod.tip, shape=pl.Sphere(0.02), mass=0.05)
    robot.add_motor("turn", table)
    robot.add_tendon("up", rod, z=0.008)
    robot.add_tendon("side", rod, y=0.006, z=-0.004)
    return robot.compile()


INPUTS = {"turn": 0.3, "up": 4.0, "side": 1.5}


def state(system: pl.System) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A bent, moving robot: coordinates, velocity, acceleration."""
    rng = np.random.default_rng(0)
    return system.random(rng, scale=0.4), rng.normal(size=system.nv), rng.normal(size=system.nv)


def off(x, y) -> float:
    """Largest difference over the largest entry."""
    return float(np.abs(np.asarray(x) - y).max() / np.abs(y).max())


def differences(system: pl.System) -> dict[str, float]:
    """How far the routes are apart."""
    q, v, a = state(system)
    kane, units = pl.projected_matrices(system, q, v), pl.reconstruct(system, q, v, INPUTS)
    e = pl.equation_of_motion(system, q, v, INPUTS)
    force = kane.mass @ a + (kane.c1 + kane.c2) @ v + kane.gravity
    return {
        "M a + (C₁ + C₂) v + G of the Jacobians, inverse dynamics": off(force, system.inverse_dynamics(q, v, a)),
        "M: Jacobians, composite bodies": off(kane.mass, e.mass),
        "M: unit accelerations, composite bodies": off(units.mass, e.mass),
        "C: Jacobians, composite bodies": off(kane.coriolis, e.coriolis),
        "C: unit velocities, composite bodies": off(units.coriolis, e.coriolis),
        "G: Jacobians, recursion": off(kane.gravity, e.gravity),
        "B: unit inputs, tendons": off(units.actuation, e.actuation),
        "M a + C v + G + elastic + D v − B u, residual": off(e.residual(a), system.residual(q, v, a, INPUTS)),
    }


def skewness(system: pl.System) -> float:
    """Symmetric part of Ṁ − 2C over Ṁ; Ṁ = C + Cᵀ against central differences of M along v."""
    q, v, _a = state(system)
    h = 1e-4
    M = {s: system.mass_matrix(system.integrate(q, s * h * v)) for s in (-2, -1, 1, 2)}
    rate = (8 * (M[1] - M[-1]) - (M[2] - M[-2])) / (12 * h)
    C = pl.coriolis_matrix(system, q, v)
    return off(C + C.T, rate)


def power(system: pl.System) -> tuple[float, float]:
    """Rate of change of the kinetic energy, and the power of all forces but Coriolis's [W]."""
    q, v, _a = state(system)
    e = pl.equation_of_motion(system, q, v, INPUTS)
    a = system.forward_dynamics(q, v, u=INPUTS)
    forces = e.actuation @ e.u + e.load - e.gravity - e.elastic - e.damping @ v
    return float(v @ e.mass @ a + v @ e.coriolis @ v), float(v @ forces)


def tracking(system: pl.System, duration=0.5, gain=20.0) -> np.ndarray:
    """Energy of the error ½ s·M s while the robot, fully actuated, follows a motion with Slotine and Li's law.

    ``tau = M ȧ_r + C v_r + G + elastic + D v_r − k M₀ s`` with v_r = v_d − λ (q − q_d) and s = v − v_r; then
    d/dt ½ s·M s = −s·(k M₀ + D) s exactly, because Ṁ − 2C is skew. C v_r needs the matrix; the force C v is not enough.
    """
    rng, omega = np.random.default_rng(1), 6.0
    goal, M0 = system.random(rng, scale=0.3), system.mass_matrix(system.neutral())

    def law(t, q, v):
        want, rate = goal * np.sin(omega * t), goal * omega * np.cos(omega * t)
        reference, change = rate - 10.0 * (q - want), -(omega**2) * want - 10.0 * (v - rate)
        e, s = pl.equation_of_motion(system, q, v), v - reference
        tau = e.mass @ change + e.coriolis @ reference + e.gravity + e.elastic + e.damping @ reference - gain * M0 @ s
        return tau, 0.5 * s @ e.mass @ s

    def slope(t, x):
        q, v = x
        return np.array([v, system.forward_dynamics(q, v, law(t, q, v)[0])])

    x, h, energies = np.array([0.1 * system.internal.scale * rng.normal(size=system.nv), np.zeros(system.nv)]), 1e-3, []
    for step in range(round(duration / h)):
        t = step * h
        energies.append(law(t, *x)[1])
        k1 = slope(t, x)
        k3 = slope(t + h / 2, x + h / 2 * (k2 := slope(t + h / 2, x + h / 2 * k1)))
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(t + h, x + h * k3))
    return np.array(energies)


def figures(energies: np.ndarray) -> dict[str, object]:
    system, (figure, (ax,)) = hybrid(), panels()
    ax.semilogy(1e-3 * np.arange(len(energies)), energies)
    ax.set(xlabel="t [s]", ylabel="energy of the tracking error [J]")
    return {"tracking": figure, "robot": plot_shape(system, pl.solve_statics(system, {"up": 4.0}).q, legend=True)}


def main(figures_dir: str | None = None) -> None:
    system = hybrid()
    points = len(pl.projected_matrices(system, *state(system)[:2]).jacobians)
    print(f"{system.name}: {system.nv} coordinates, {points} points with mass, inputs {', '.join(system.input_names)}")
    for name, value in differences(system).items():
        print(f"  {name:58}{value:9.1e}")
    print(f"Ṁ (differences) and C + Cᵀ: {skewness(system):.1e}")
    change, forces = power(system)
    print(f"kinetic energy changes by {change:.6f} W, the forces without Coriolis's do {forces:.6f} W")
    energies = tracking(system)
    print(f"energy of the tracking error: {energies[0]:.2e} J, after 0.5 s {energies[-1]:.2e} J")
    gallery.save(figures_dir, figures, energies)


def check() -> None:
    system = hybrid()
    assert max(differences(system).values()) < 1e-12
    assert skewness(system) < 1e-9
    change, forces = power(system)
    assert abs(change - forces) < 1e-9 * abs(forces)
    energies = tracking(system, 0.2)
    assert np.all(np.diff(energies) < 0)
    assert energies[-1] < 1e-2 * energies[0]


if __name__ == "__main__":
    main()
    check()
