"""[004]: strain parametrisation of Cosserat rods."""

from __future__ import annotations

from .declare import Method, Paper
from .dynamics004 import DYNAMICS
from .statics004 import STATICS

__all__ = ["PAPER"]

METHODS = (
    Method("eqs 1–7", "Reissner's rod: poses, strains, balance", ("Robot.add_rod", "System.pose", "System.strain", "System.stress")),
    Method("eqs 8–11, remark 1", "allowed and forbidden strains B, sub-models", ("Strains", "Strains.kirchhoff", "Strains.reissner", "Strains.planar_bending")),
    Method("eq. 12", "active law: actuation, damping, stiffness", ("Robot.add_stress", "Material(viscosity=…)", "Robot.add_rod(damping=…)")),
    Method("eqs 13–15", "length of a cable and its variation", ("System.tendon_lengths",)),
    Method("eqs 16, 28", "wrench of cables, actuation matrix L(q)", ("Robot.add_tendon", "System.actuation_matrix")),
    Method("eqs 17–22", "pose from strains, shape space", ("System.rod_poses", "System.integrate")),
    Method("eqs 20–21", "quaternions along the rod", ("Robot.add_rod(integration='spectral')",), "reproduced", "the default is a Magnus expansion on SE(3)"),
    Method("eqs 23, 29–30, remark 4", "bases: monomials, Chebyshev polynomials", ("Monomial", "Chebyshev", "Strains(basis='monomial')"), "reproduced", "and ten others; pliant's Chebyshev polynomials are not normalised, so K is not the identity"),
    Method("remark 2", "curved reference", ("Robot.add_rod(reference_strain=…)", "helix", "constant_strain")),
    Method("eqs 25–27", "Lagrangian form of a free rod", ("equation_of_motion", "System.stiffness_matrix", "System.damping_matrix", "System.stress_forces")),
    Method("eqs 31–36", "matrices from unit inputs of the inverse dynamics", ("reconstruct",)),
    Method("eq. 37", "forward dynamics by Cholesky factors", ("System.forward_dynamics(method='composite')",)),
    Method("eq. 38", "clamped robots", ("System.inverse_dynamics",)),
    Method("eqs 39–43, appendix 2", "inverse dynamics of Newton and Euler, projected on the basis", ("System.inverse_dynamics",), "reproduced", "as one recursion over points in world axes, not by ode45 along X"),
    Method("remark 8", "rods and rigid bodies in trees", ("Robot.add_body", "Robot.add_rod(parent=…)")),
    Method("eq. 44", "statics by Newton's method", ("solve_statics",)),
    Method("eqs 45, 59", "statics as the end of a damped flow", ("papers.flows.damped_flow",), "reproduced", "for comparison only: `solve_statics` is faster and decides on stability"),
    Method("eqs 46, 53", "Jacobian of the tip and its transpose", ("System.jacobian",)),
    Method("eqs 50–56", "prescribed pose of the tip, multipliers", ("Robot.add_loop", "Robot.add_motion", "System.loop_wrench")),
    Method("eqs 57–58", "projective method", ("papers.flows.projected_flow",), "reproduced", "for comparison only; singular where J₁ loses rank, as for a straight rod"),
    Method("remark 10", "Newton's method with the second derivative of the constraint", ("solve_statics",), "reproduced", "its tangent has that term"),
    Method("eq. 61", "difference of motions with n and n + 1 functions", ("System.strain",), "reproduced", "`difference` of examples/released_beam.py"),
    Method("eq. 62", "prescribed motion of the base", ("Robot.add_motion", "Motion", "Result.prescribed_forces")),
    Method("eqs 63–65", "waves of internal stress", ("Robot.add_stress",)),
    Method("VIII.C", "ode45", ("simulate(method='rk45')",)),
    Method("IX", "implicit integration with the tangent of the inverse dynamics (outlook)", ("simulate", "System.inverse_dynamics_derivatives")),
    Method("appendix 1", "hat, ad, Ad", ("lie.hat", "lie.ad", "lie.Ad")),
)  # fmt: skip

PAPER = Paper(
    "004",
    "Dynamics of continuum and soft robots: a strain parametrization based approach",
    "F. Boyer, V. Lebastard, F. Candelier, F. Renda, *IEEE Transactions on Robotics*, 2020, [doi:10.1109/TRO.2020.3036618](https://doi.org/10.1109/TRO.2020.3036618) "
    "([hal-02318617](https://hal.science/hal-02318617v1)).",
    "The paper prints figures and hardly any numbers. Three of its tests print a radius as a diameter.",
    (*STATICS, *DYNAMICS),
    METHODS,
)
