"""[001]: piecewise constant strain, composite-body and articulated-body algorithms."""

from __future__ import annotations

from .declare import Method, Paper
from .sections001 import SECTIONS

__all__ = ["PAPER"]

METHODS = (
    Method("eqs 1–3", "kinematics of the continuous rod", ("System.rod_poses", "System.rod_twists", "System.acceleration")),
    Method("eq. 4", "balance of the continuous rod", ("Robot.add_rod",)),
    Method("eq. 5", "cables", ("Robot.add_tendon(end=…)",)),
    Method("eq. 6", "Kelvin–Voigt material", ("Material(viscosity=…)",), "reproduced", "with the printed factors 3 and 1 of bending and shear"),
    Method("eq. 7", "weight in water, drag, added mass, point loads", ("Hydrodynamics.circular", "Robot.set_fluid", "Robot.add_wrench")),
    Method("eqs 8–10", "pose of a section by one exponential", ("PiecewiseConstant", "lie.exp")),
    Method("eqs 11–14", "velocity of a section, tangent operator", ("System.twist", "lie.tangent")),
    Method("eqs 15–17", "acceleration of a section", ("System.acceleration",), "differs", "the paper leaves out the rate of a section's own Ad⁻¹T; pliant has it ([what is exact](../constant_strain.md))"),
    Method("eqs 18–22", "Jacobian and its rate", ("System.jacobian", "System.jacobian_rate"), "differs", "the same term of the rate"),
    Method("III.A.2", "constant curvature as a special case", ("PiecewiseConstant", "Strains")),
    Method("eqs 23–26", "generalised dynamics M q̈ + (C₁ + C₂) q̇", ("composite_matrices",)),
    Method("eqs 27–29", "elastic and cable loads of a section", ("System.elastic_forces", "System.actuation_matrix")),
    Method("eq. 30", "concentrated load", ("Robot.add_wrench",)),
    Method("eqs 31–35", "matrices M, C₁, C₂, D, N", ("composite_matrices",), "differs", "eq. 33 lacks the same term ([in print](../matrices.md#in-print))"),
    Method("IV.A, fig. 4", "composite-body algorithm", ("System.forward_dynamics(method='composite')", "System.mass_matrix")),
    Method("IV.B, eqs 36–40, appendix", "articulated-body algorithm", ("System.forward_dynamics(method='articulated')", "simulate(solver='tree')")),
    Method("IV.C", "Dormand and Prince's method (ode45)", ("simulate(method='rk45')",)),
    Method("eq. 41", "error of the tips of the sections", ("Result.positions",)),
    Method("VI", "sub-models by a selection B", ("Strains",)),
    Method("V.B", "friction of cables (outlook)", ("Robot.add_tendon(friction=…)",)),
)  # fmt: skip

PAPER = Paper(
    "001",
    "Discrete Cosserat approach for multisection soft manipulator dynamics",
    "F. Renda, F. Boyer, J. Dias, L. Seneviratne, *IEEE Transactions on Robotics*, 2018, [doi:10.1109/TRO.2018.2868815](https://doi.org/10.1109/TRO.2018.2868815).",
    "A cantilever in 1 to 10 sections and an arm with measured tensions. More on sections of constant strain: [constant strain](../constant_strain.md).",
    SECTIONS,
    METHODS,
)
