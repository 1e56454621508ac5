"""[002]: analytical derivatives of the geometric variable-strain model."""

from __future__ import annotations

from .declare import Experiment, Method, Paper
from .motions002 import DERIVATIVES, MOTIONS, TABLE3
from .statics002 import STATICS

__all__ = ["PAPER"]

METHODS = (
    Method("eq. 1", "strain basis and reference strain", ("Strains", "Robot.add_rod")),
    Method("eq. 2, appendix A", "recursion of poses, Jacobians and their rates", ("System.pose", "System.jacobian", "System.jacobian_rate")),
    Method("eq. 3", "quadrature along the rod", ("System.rod_points", "Robot.add_rod(points=…)"), "reproduced", "Gauss points; the trapezoidal rule is not there"),
    Method("eq. 4, fig. 1", "forward dynamics", ("System.forward_dynamics",)),
    Method("eqs 5, 13", "statics with the analytical Jacobian", ("solve_statics",)),
    Method("eq. 6, 3.1", "ode15s on the first-order form", ("simulate(method='bdf')", "simulate(method='cvode')"), "differs", "SciPy's BDF or SUNDIALS' CVODE; ode15s itself is MATLAB's"),
    Method("eqs 7, 9", "derivatives of the forward dynamics", ("System.forward_dynamics_derivatives",), "reproduced", "∂/∂q of rods and joints, on the manifold for quaternions"),
    Method("eq. 8", "inverse dynamics", ("System.inverse_dynamics",)),
    Method("eqs 10–12", "Newmark's method with the analytical Jacobian", ("simulate(method='newmark')",)),
    Method("eqs 14–16, fig. 2", "recursive Newton–Euler algorithm", ("System.inverse_dynamics",), "reproduced", "in world axes"),
    Method("eqs 17–23", "derivative by q", ("System.inverse_dynamics_derivatives",)),
    Method("eqs 24–29", "derivative by q̇", ("System.inverse_dynamics_derivatives",)),
    Method("eqs 30–34", "derivative by q̈, the mass matrix", ("System.mass_matrix", "System.inverse_dynamics_derivatives")),
    Method("eqs 35–36, D60", "internal forces: cables, stiffness, damping, and their derivatives", ("System.actuation_matrix", "System.stiffness_matrix", "System.damping_matrix", "System.residual_tangent"), "reproduced", "the sign of D60 is that of cables that push; u ≥ 0 pulls here"),
    Method("eq. 37", "mismatch of states", ("papers.measure.mismatch",)),
    Method("eq. 38", "numerical derivatives by forward differences", (), "differs", "no part of pliant: its tests compare with complex steps, exact to rounding; `derivatives` of pliant.papers.motions002 has the differences"),
    Method("eqs 39–42", "hybrid and branched robots", ("Robot.add_body", "Robot.add_rod(parent=…)")),
    Method("eqs 43–45", "prescribed joint coordinates", ("Robot.add_motion", "Result.prescribed_forces"), "reproduced", "known coordinates are eliminated"),
    Method("eqs 46–51", "closed chains with Baumgarte's stabilisation", ("Robot.add_loop", "simulate(method='bdf', baumgarte=…)", "System.constrained_dynamics")),
    Method("eq. 52", "closed chains as index 3", ("simulate", "solve_statics"), "reproduced", "the default: closed to rounding at every step"),
    Method("eqs 53–56", "point wrenches in body or world axes", ("Robot.add_wrench",)),
    Method("eqs 57–61", "contact, Hertz", ("Robot.add_contact(exponent=…)", "Robot.add_obstacle")),
    Method("eqs 62–66", "drag, lift, added mass, buoyancy", ("Robot.add_hydrodynamics", "Hydrodynamics", "Robot.set_fluid")),
    Method("appendices A, B", "SE(3) formulas and identities", ("lie.exp", "lie.tangent", "lie.tangent_rate", "lie.ad_bar", "lie.Ad_star")),
    Method("appendix C", "Magnus expansion by Zanna's collocation, its derivatives", ("Robot.add_rod(magnus=…)", "Robot.add_rod(collocation=…)")),
    Method("1", "automatic differentiation (named, not measured)", (), "impossible", "pliant has no automatic differentiation; `pliant.jax`, `pliant.torch` and `pliant.casadi` pass its exact derivatives on"),
)  # fmt: skip

EXTRA = (
    Experiment(
        key="002-inputs",
        place="figs 3 b, 7 b, 10 b, 12 b",
        title="Inputs over time",
        verdict="impossible",
        run=None,
        why="tensions, joint angles, slider and wrench are curves in figures, of which the text has no numbers. With them go the exact trajectories of figures 4 a, 8 a, 11 a, 13 a, 15 a and 17 a.",
    ),
    Experiment(
        key="002-matlab",
        place="Table 3",
        title="MATLAB's ode15s, ode113 and fsolve",
        verdict="impossible",
        run=None,
        why="they are not available here; SciPy's BDF, Dormand and Prince's method and hybr take their places, with the same tolerances.",
    ),
)

PAPER = Paper(
    "002",
    "Analytical derivatives for efficient mechanical simulations of hybrid soft rigid robots",
    "A. T. Mathew, F. Boyer, V. Lebastard, F. Renda.",
    "Six robots, each in motion by three methods, three of them at rest. Inputs over time are shown in figures only, so the motions are those of pliant's examples.",
    (TABLE3, *MOTIONS, *DERIVATIVES, *STATICS, *EXTRA),
    METHODS,
)
