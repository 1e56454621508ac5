"""[000]: implicit Newton–Euler simulation of robots with rigid bodies and Cosserat rods."""

from __future__ import annotations

from .declare import Method, Paper
from .robots000 import ROBOTS
from .rods000 import RODS

__all__ = ["PAPER"]

METHODS = (
    Method("II.A–B, eq. 1", "trees of rigid bodies and rods, fixed or floating", ("Robot.add_body", "Robot.add_rod", "Free")),
    Method("eq. 2", "Lagrangian model with closure constraints", ("equation_of_motion", "System.constrained_dynamics")),
    Method("eqs 3–5", "kinematic constraints, Jacobians of loops", ("System.closure", "System.closure_rates")),
    Method("remark 1", "choice of the cut", ("Robot.add_loop",)),
    Method("remark 2, eq. 7", "nonholonomic and time-dependent constraints", ("Rolling", "Skate", "Robot.add_motion")),
    Method("eqs 8–9", "residual of the dynamics", ("System.residual",)),
    Method("eqs 10–15, appendix 1", "Newmark's method on SO(3) × R³", ("simulate(method='newmark')",), "reproduced", "free joints within a tree and the other α-methods likewise"),
    Method("eqs 16–19, fig. 2", "predictor and corrector by Newton's method", ("simulate(method='newmark')", "simulate(newton_tolerance=…)"), "differs", "factors of the tangent are kept over several steps"),
    Method("eqs 20–23", "residual by inverse dynamics", ("System.inverse_dynamics", "System.residual")),
    Method("eqs 24–26, TIDM", "tangent of the inverse dynamics, column by column", ("System.residual_tangent", "System.tangent"), "reproduced", "all columns in one recursion"),
    Method("eqs 27–30", "Newton–Euler balance of bodies and sections", ("System.inverse_dynamics", "System.stress")),
    Method("remark 8, eq. 28", "joint torque as projection of the wrench", ("System.joint_wrench",)),
    Method("eq. 31", "active constitutive law", ("Robot.add_stress", "Robot.add_tendon")),
    Method("remark 9, eq. 32", "tendons of any routing", ("Robot.add_tendon",)),
    Method("remark 10, eq. 33", "viscous damping", ("Material(viscosity=…)", "Robot.add_rod(damping=…)", "Material(damping_time=…)")),
    Method("eqs 34–38", "joints and loop closures", ("Revolute", "Robot.add_loop")),
    Method("remark 7", "fictitious bodies between joint and rod", ("Robot.add_rod(joint=…)",), "reproduced", "not needed: a rod may have a joint at its base"),
    Method("eqs 39–46", "recursive inverse dynamics, forward and backward", ("System.inverse_dynamics",), "reproduced", "in world axes"),
    Method("eqs 47–63", "recursive tangent inverse dynamics", ("System.inverse_dynamics_derivatives",)),
    Method("eqs 64–66", "projection of stresses on the basis", ("System.stress_forces", "System.elastic_forces")),
    Method("IX, eq. 67", "Chebyshev collocation with quaternions", ("Robot.add_rod(integration='spectral')",)),
    Method("footnote 5", "Magnus expansion instead", ("Robot.add_rod(magnus=…)",), "reproduced", "the default"),
    Method("X.C", "static mounting of a closed loop", ("solve_statics",), "reproduced", "from any open configuration"),
    Method("eqs 68–69", "velocity control of drones, inside the step", ("Controller", "simulate(u=…)")),
    Method("X.D", "Lighthill's theory of elongated bodies", ("Hydrodynamics(tail=…)",)),
    Method("XI.A", "HHT and α methods against parasitic modes (outlook)", ("simulate(method='hht')", "simulate(method='generalized-alpha')")),
    Method("XI.B.1", "penalties in the augmented Lagrangian (outlook)", (), "impossible", "not there, and not needed: redundant constraints are found, steps are scaled"),
    Method("XI.B.2", "compiled code, Magnus expansion (outlook)", ("Robot.add_rod(magnus=…)",)),
    Method("XI.B.3", "parallel computation of the tangent (outlook)", ("batch",), "differs", "one robot is computed on one core; many robots on all"),
    Method("appendix 2", "the algorithm for one cantilever", ("simulate(method='newmark')",)),
)  # fmt: skip

PAPER = Paper(
    "000",
    "Implicit time integration simulation of robots with rigid bodies and Cosserat rods based on a Newton–Euler recursive algorithm",
    "F. Boyer, A. Gotelli, P. Tempel, V. Lebastard, F. Renda, S. Briot, *IEEE Transactions on Robotics*, 2023, [doi:10.1109/TRO.2023.3334647](https://doi.org/10.1109/TRO.2023.3334647) (hal-04291835).",
    "Four rods with a table of times, three robots in figures. Several printed parameters do not fit together.",
    (*RODS, *ROBOTS),
    METHODS,
)
