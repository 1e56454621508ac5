"""[003]: the routes to the equation of motion side by side, and the maps between the spaces of a tendon-driven robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import gallery, lie
from ..analysis.matrices import equation_of_motion, projected_matrices, reconstruct
from ..solve.statics import solve_statics
from .declare import Experiment, Measured, Number, Outcome, Table
from .measure import cpu

__all__ = ["DUALITY"]


def _made() -> tuple[Any, Any, Any, Any, Any]:
    module = gallery.load("duality")
    system = module.hybrid()
    return module, system, *module.state(system)


def routes(quick: bool) -> Outcome:
    """M, C, G and the inverse dynamics by Jacobians, by the recursion, by composite bodies and from unit inputs: differences and times."""
    module, system, q, v, a = _made()
    u = module.INPUTS
    rounds = 3 if quick else 10
    tasks = {
        "Newton–Euler recursion: inverse dynamics": lambda: system.inverse_dynamics(q, v, a),
        "composite bodies: M, C, G, B and all forces": lambda: equation_of_motion(system, q, v, u),
        "Jacobians: Σ Jᵀ(…)J, M, C, G": lambda: projected_matrices(system, q, v),
        "unit inputs of the inverse dynamics: M, C, B": lambda: reconstruct(system, q, v, u),
    }
    e = equation_of_motion(system, q, v, u)
    kane, units = projected_matrices(system, q, v), reconstruct(system, q, v, u)
    direct = system.inverse_dynamics(q, v, a)
    off = module.off
    errors = {
        "Newton–Euler recursion: inverse dynamics": off(direct, e.mass @ a + e.coriolis @ v + e.gravity),
        "composite bodies: M, C, G, B and all forces": off(e.residual(a), system.residual(q, v, a, u)),
        "Jacobians: Σ Jᵀ(…)J, M, C, G": off(kane.mass @ a + (kane.c1 + kane.c2) @ v + kane.gravity, direct),
        "unit inputs of the inverse dynamics: M, C, B": max(
            off(units.mass, e.mass), off(units.coriolis, e.coriolis), off(units.actuation, e.actuation)
        ),
    }
    values = {}
    for name, task in tasks.items():
        seconds, _out = cpu(lambda: [task() for _ in range(20)], rounds)  # noqa: B023
        values[name] = Measured(1e6 * seconds / 20, errors[name], "relative")
    rows = [(name, f"{value:.1e}") for name, value in module.differences(system).items()]
    values["largest difference between any two routes"] = Measured(max(module.differences(system).values()))
    values["skewness of Ṁ − 2C"] = Measured(module.skewness(system))
    return Outcome(values, [Table("Differences between routes, over the largest entry", ("what", "difference"), rows)])


def duality(quick: bool) -> Outcome:
    """Eqs 44, 45, 55: wrenches along a rod by transposed Jacobians and as a stress projected on the basis."""
    _module, system, q, _v, _a = _made()
    # a wrench at the tip: −J(l)ᵀ F₊ against −∫ Φᵀ Λ dX with Λ = Ad_g^T Ad_{g(l)}^{-T} F₊ (eq. 49)
    rng = np.random.default_rng(2)
    F = rng.normal(size=6)
    X, w = np.polynomial.legendre.leggauss(40)
    X, w = 0.5 * (X + 1), 0.5 * w
    length = system.rod_length("rod")
    poses, tip = system.rod_poses("rod", q, X), system.pose("rod.tip", q)
    rows = system.v_slice("rod")
    Phi = np.array([_basis(system, x, rows) for x in X])  # (points, 6, n)
    stress = np.array([lie.Ad(g).T @ np.linalg.solve(lie.Ad(tip).T, F) for g in poses])
    projected = length * np.einsum("p,pij,pi->j", w, Phi, stress)
    direct = (system.jacobian("rod.tip", q).T @ F)[rows]
    # the Jacobian by its integral, eq. 11
    J = lie.Ad(lie.inverse(tip)) @ (length * np.einsum("p,pij,pjk->ik", w, np.array([lie.Ad(g) for g in poses]), Phi))
    values = {
        "generalised force: Jᵀ F against the projected stress": Measured(
            float(np.abs(projected - direct).max() / np.abs(direct).max())
        ),
        "Jacobian: recursion against the integral of eq. 11": Measured(
            float(np.abs(J - system.jacobian("rod.tip", q)[:, rows]).max())
        ),
    }
    return Outcome(values)


def _basis(system: Any, x: float, rows: slice) -> Any:
    """Φ at a point of the rod (6, n): strains per coordinate."""
    zero = system.neutral()
    base = system.strain("rod", zero, [x])[0]
    out = np.zeros((6, rows.stop - rows.start))
    for k in range(rows.start, rows.stop):
        q = zero.copy()
        q[k] = 1.0
        out[:, k - rows.start] = system.strain("rod", q, [x])[0] - base
    return out


def spaces(quick: bool) -> Outcome:
    """Fig. 1: maps from strains to lengths of tendons and to poses, their Jacobians, and the dual maps of forces; back from lengths to strains."""
    _module, system, q, v, _a = _made()
    _lengths, slope = system.tendon_lengths(q)
    h = 1e-6
    rate = (
        system.tendon_lengths(system.integrate(q, h * v))[0] - system.tendon_lengths(system.integrate(q, -h * v))[0]
    ) / (2 * h)
    B = system.actuation_matrix(q)
    columns = [system.input_names.index(name) for name in ("up", "side")]
    # forces transform backwards: Q = −(∂l/∂q)ᵀ T; power is the same in both spaces
    T = np.array([4.0, 1.5])
    power = float(T @ (slope @ v)), float(-v @ (B[:, columns] @ T))
    # from lengths to strains: equilibrium with tendons of these lengths finds the shape and the tensions again
    rest = solve_statics(system, {"up": 4.0, "side": 1.5})
    wanted = system.tendon_lengths(rest.q)[0]
    held = _held()
    back = solve_statics(held, motion=dict(zip(("up", "side"), wanted)))
    tension = [back.u[held.input_names.index(name)] for name in ("up", "side")]
    tip = np.linalg.norm(system.pose("weight", rest.q)[:3, 3] - held.pose("weight", back.q)[:3, 3])
    values = {
        "rate of the tendon lengths: Jacobian against differences": Measured(
            float(np.abs(slope @ v - rate).max() / np.abs(rate).max())
        ),
        "actuation matrix against −(∂l/∂q)ᵀ": Measured(
            float(np.abs(B[:, columns] + slope.T).max() / np.abs(slope).max())
        ),
        "power T·l̇ against −q̇·Q": Measured(abs(power[0] - power[1]) / abs(power[0])),
        "strains → lengths → strains: tip": Measured(float(tip)),
        "strains → lengths → strains: tensions 4 and 1.5 N": Measured(float(np.abs(np.array(tension) - T).max())),
    }
    rows = [
        (
            "motor joints q_m → tendon lengths l",
            "`Robot.add_tendon(control='length')` with `motion=…`; a winch is l = r q_m",
            "tensions T ← torques τ_m",
        ),
        (
            "strains q → tendon lengths l",
            "`System.tendon_lengths`: l and ∂l/∂q",
            "Q = −(∂l/∂q)ᵀ T: `System.actuation_matrix`",
        ),
        (
            "tendon lengths l → strains q",
            "`solve_statics(motion=…)` with tendons of prescribed length",
            "tensions are results: `Equilibrium.u`",
        ),
        ("coordinates q → strain field ε", "`System.strain`", "Q = −∫ Φᵀ Λ dX: `System.stress_forces`"),
        ("strains q → poses g", "`System.pose`, `System.rod_poses`", "Q = Jᵀ F: `System.jacobian`"),
        ("velocities q̇ → twists η", "`System.twist`, `System.rod_twists`", "as above"),
        ("accelerations", "`System.acceleration`, `System.jacobian_rate`", ""),
        ("another space of coordinates q*, eqs 17–19", "J⁻ᵀ M J⁻¹ by hand, from `equation_of_motion`", ""),
    ]
    return Outcome(
        values,
        [Table("The spaces of fig. 1 and their maps in pliant", ("map", "in pliant", "dual map, of forces"), rows)],
    )


def _held() -> Any:
    """The same robot with tendons whose lengths are prescribed."""
    from ..model.joints import Revolute
    from ..model.robot import Robot
    from ..model.rods.sections import Circle, Material
    from ..model.rods.strains import Strains
    from ..model.shapes import Cylinder, Sphere

    robot = Robot("hybrid", gravity=(0, 0, -9.81))
    table = robot.add_body("table", joint=Revolute("z"), shape=Cylinder(0.1, 0.05, "z"), mass=1.0)
    silicone = Material(young=1e6, poisson=0.5, density=1100, viscosity=2e3)
    rod = robot.add_rod(
        "rod",
        parent=table,
        offset=(0.05, 0, 0.03),
        length=0.4,
        section=Circle((0.015, 0.01)),
        material=silicone,
        strains=Strains(torsion=1, bending=3, stretch=1),
    )
    robot.add_body("weight", parent=rod.tip, shape=Sphere(0.02), mass=0.05)
    robot.add_motion("turn", table)
    robot.add_tendon("up", rod, z=0.008, control="length")
    robot.add_tendon("side", rod, y=0.006, z=-0.004, control="length")
    return robot.compile()


def controller(quick: bool) -> Outcome:
    """VI.B: a controller that needs the explicit matrices."""
    module, system, *_ = _made()
    energies = module.tracking(system, 0.1 if quick else 0.3)
    values = {
        "energy of the tracking error falls at every step": Measured(float(np.all(np.diff(energies) < 0))),
        "energy at the end over that at the start": Measured(float(energies[-1] / energies[0])),
    }
    return Outcome(values, figures={"tracking": module.figures(energies)["tracking"]})


DUALITY = (
    Experiment(
        key="003-routes",
        place="IV–V, eqs 33–43 and 56, fig. 2",
        title="All routes to the equation of motion, side by side",
        verdict="reproduced",
        run=routes,
        example="duality",
        why="On a robot of 17 coordinates with a turntable, a soft rod with two tendons and a weight. The paper finds the reconstruction from unit inputs (eq. 56) “too slow”; here it is one compiled call after the other.",
        numbers=(
            Number("Newton–Euler recursion: inverse dynamics", None, "µs", "time"),
            Number("composite bodies: M, C, G, B and all forces", None, "µs", "time"),
            Number("Jacobians: Σ Jᵀ(…)J, M, C, G", None, "µs", "time"),
            Number("unit inputs of the inverse dynamics: M, C, B", None, "µs", "time"),
            Number("largest difference between any two routes", 1e-12, "", "at most", shown="identical"),
            Number("skewness of Ṁ − 2C", 1e-8, "", "at most", shown="0"),
        ),
    ),
    Experiment(
        key="003-duality",
        place="V.A, eqs 44–55",
        title="The proof in numbers: Jᵀ F is the projected stress",
        verdict="reproduced",
        run=duality,
        example="duality",
        numbers=(
            Number("generalised force: Jᵀ F against the projected stress", 1e-5, "", "at most", shown="equal"),
            Number("Jacobian: recursion against the integral of eq. 11", 1e-5, "", "at most", shown="equal"),
        ),
        why="The integrals by 40 Gauss points, the Jacobian by pliant's recursion with its Magnus expansion, which is where the difference comes from.",
    ),
    Experiment(
        key="003-spaces",
        place="II.A–B, eqs 13–19, fig. 1",
        title="Kinematic spaces: strains, tendon lengths, poses, and the dual forces",
        verdict="reproduced",
        run=spaces,
        example="duality",
        numbers=(
            Number("rate of the tendon lengths: Jacobian against differences", 1e-7, "", "at most", shown="equal"),
            Number("actuation matrix against −(∂l/∂q)ᵀ", 1e-12, "", "at most", shown="equal"),
            Number("power T·l̇ against −q̇·Q", 1e-12, "", "at most", shown="equal"),
            Number("strains → lengths → strains: tip", 1e-8, "m", "at most", shown="equal"),
            Number("strains → lengths → strains: tensions 4 and 1.5 N", 1e-6, "N", "at most", shown="equal"),
        ),
    ),
    Experiment(
        key="003-control",
        place="VI.B",
        title="Explicit matrices for control",
        verdict="reproduced",
        run=controller,
        example="duality",
        why="The paper names computed-torque control; here Slotine and Li's law, which needs the matrix C and not only the force C q̇.",
        numbers=(
            Number("energy of the tracking error falls at every step", 1.0, "", "equal", 1e-9, shown="yes"),
            Number("energy at the end over that at the start"),
        ),
        figure_captions={"tracking": "Energy of the tracking error"},
    ),
    Experiment(
        key="003-symbolic",
        place="VI.A",
        title="Symbolic implementation of IDM and TIDM",
        verdict="impossible",
        run=None,
        why="it is an outlook of the paper, without an experiment; pliant's recursions are compiled numerical code, with exact derivatives.",
    ),
)
