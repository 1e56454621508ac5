"""The cable-driven manipulator of [002] section 4.5: a tapered silicone rod, 24 degrees of freedom.

Prints its kinematics and dynamics at a bent configuration.
"""

import numpy as np

import pliant as pl


def build(points: int | None = None) -> pl.System:
    """The manipulator; `points` Gauss points (the paper uses 5, the default follows from the order)."""
    silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    robot = pl.Robot("cable-driven manipulator", gravity=(0, 0, -9.81))
    robot.add_rod(
        "arm",
        length=0.5,
        section=pl.Circle(radius=(0.03, 0.015)),
        material=silicone,
        strains=pl.Strains(torsion=4, bending=4, stretch=2, shear=2),
        points=points,
    )
    return robot.compile()


def bent(system: pl.System) -> np.ndarray:
    """A configuration that bends through a quarter circle in the vertical plane."""
    q = system.neutral()
    q[system.dof_names.index("arm.bending_y[0]")] = np.pi  # rad/m, over half a metre: 90 degrees
    return q


def main() -> None:
    system = build()
    print(system)
    q = bent(system)
    v = 0.1 * np.ones(system.nv)
    a = np.zeros(system.nv)

    with np.printoptions(precision=4, suppress=True):
        print("\ntip pose\n", system.pose("arm.tip", q))
        print("tip twist (body) [rad/s, m/s]", system.twist("arm.tip", q, v))
        print("centre of mass [m]           ", system.center_of_mass(q))
    print(f"mass                 {system.mass:10.4f} kg")
    print(f"elastic energy       {system.elastic_energy(q):10.4f} J")
    print(f"gravitational energy {system.gravitational_energy(q):10.4f} J")
    print(f"kinetic energy       {system.kinetic_energy(q, v):10.4f} J")

    d = system.inverse_dynamics_derivatives(q, v, a)
    print(f"\ninverse dynamics     |ID| = {np.linalg.norm(d.tau):.6g}")
    print(f"exact derivatives    |dID/dq| = {np.linalg.norm(d.dq):.6g}, |dID/dv| = {np.linalg.norm(d.dv):.6g}")
    print(f"mass matrix          condition {np.linalg.cond(d.mass):.3g}")
    f = system.forward_dynamics_derivatives(q, v)
    print(f"forward dynamics     |a| = {np.linalg.norm(f.a):.6g}, |da/dq| = {np.linalg.norm(f.dq):.6g}")


def check() -> None:
    """A constant curvature of π rad/m over 0.5 m is a quarter circle of radius 1/π."""
    system = build()
    tip = system.pose("arm.tip", bent(system))
    np.testing.assert_allclose(tip[:3, 3], [1 / np.pi, 0, -1 / np.pi], atol=1e-14)
    # volume of a cone frustum times density
    mass = 1000 * np.pi * 0.5 / 3 * (0.03**2 + 0.03 * 0.015 + 0.015**2)
    np.testing.assert_allclose(system.mass, mass, rtol=1e-14)


if __name__ == "__main__":
    main()
    check()
