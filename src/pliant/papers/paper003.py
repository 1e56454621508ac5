"""[003]: duality of the Jacobian and the Newton–Euler approach."""

from __future__ import annotations

from .declare import Method, Paper
from .duality003 import DUALITY

__all__ = ["PAPER"]

METHODS = (
    Method("eq. 1", "geometric model", ("System.rod_poses",)),
    Method("eqs 2–4", "velocities, accelerations, variations in differential form", ("System.twist", "System.acceleration")),
    Method("eq. 5", "Magnus expansion", ("Robot.add_rod(magnus=…)",)),
    Method("eqs 7–8", "kinematics in integral form", ("System.jacobian",)),
    Method("eq. 9", "Ritz reduction of the strains", ("Strains", "Basis")),
    Method("eqs 10–12", "Jacobian and its rate", ("System.jacobian", "System.jacobian_rate"), "differs", "eq. 12 lacks −ad_η J, which vanishes on q̇ only ([in print](../matrices.md#in-print)); pliant's rate is the derivative of eq. 11"),
    Method("eqs 13–14", "dual forces in another space", ("System.actuation_matrix", "System.stress_forces")),
    Method("eqs 15–19", "virtual works, change of coordinates", ("equation_of_motion",), "differs", "only tendon lengths and poses are offered as other coordinates; J⁻ᵀ M J⁻¹ is one line"),
    Method("eqs 20–23", "strong form of the rod", ("Robot.add_rod", "System.stress")),
    Method("eq. 24", "actuation as stress: tendons", ("Robot.add_tendon", "Robot.add_stress")),
    Method("eq. 25", "actuation as external wrench: magnets", ("Robot.add_dipole", "Magnet", "Coil")),
    Method("eq. 26", "actuation at the base: concentric tubes, parallel robots", ("ConcentricTubes", "Robot.add_motor", "Robot.add_loop")),
    Method("eqs 33–38", "Jacobian-based approach (Kane)", ("projected_matrices",)),
    Method("eqs 39–43", "Newton–Euler approach (IDM)", ("System.inverse_dynamics",)),
    Method("eqs 44–55", "proof of the duality", ("projected_matrices", "System.inverse_dynamics"), "reproduced", "equal to 1e-12 on every robot of the tests"),
    Method("eq. 56", "mass matrix from unit accelerations", ("reconstruct",)),
    Method("V.B", "state-space form ẋ = f(x, u)", ("System.forward_dynamics", "linearize")),
    Method("V.C", "explicit and implicit time integration, TIDM", ("simulate(method='rk45')", "simulate", "System.inverse_dynamics_derivatives")),
    Method("V.C", "space: Zanna's quadrature, quaternions, spectral method", ("Robot.add_rod(collocation=…)", "Robot.add_rod(integration='spectral')")),
    Method("V.C", "Runge–Kutta along the rod", (), "differs", "not there; spectral and Magnus integration converge faster"),
    Method("I", "Newtonian approach: boundary value problem by shooting", (), "differs", "no part of pliant; its tests and examples shoot to check it (`elastica` of examples/continuum_parallel_robot.py)"),
    Method("I", "piecewise constant curvature, pseudo-rigid bodies", ("PiecewiseConstant", "Robot.add_body(joint=…)")),
    Method("VI.A", "hybridisation: analytical tangent with Magnus expansion", ("System.inverse_dynamics_derivatives",), "reproduced", "what pliant is"),
    Method("VI.B", "controllers with explicit matrices, implemented by recursions", ("equation_of_motion", "coriolis_matrix", "System.inverse_dynamics")),
    Method("VI.B", "collocated form of the control (reference [25])", ("System.tendon_lengths",), "differs", "lengths and their Jacobian are there; the test for collocation is not"),
)  # fmt: skip

PAPER = Paper(
    "003",
    "Duality of the existing geometric variable strain models for the dynamic modeling of continuum robots",
    "A. Ouyoucef, Q. Peyron, V. Lebastard, F. Renda, G. Zheng, F. Boyer, *IEEE Robotics and Automation Letters* 10(2), 2025 "
    "([hal-04893096](https://hal.science/hal-04893096v1)).",
    "A paper of proofs without numbers: what it proves is checked in numbers here, on the robot of one example.",
    DUALITY,
    METHODS,
)
