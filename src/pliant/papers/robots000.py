"""The robots of [000]: drones with a payload, continuum parallel robot, tendon-driven swimmer; its remarks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import gallery
from ..analysis.linear import modes
from ..solve.simulate import simulate
from ..solve.statics import solve_statics
from .declare import Experiment, Measured, Number, Outcome, Table
from .measure import cpu, distance, short

__all__ = ["ROBOTS"]


# ---------------------------------------------------------------- example 1


def drones(quick: bool) -> Outcome:
    """Figures 8 and 9, iterations per step."""
    module = gallery.load("drones_and_payload")
    system = module.build()

    seconds, run = cpu(lambda: module.fly(system, 10.0, 0.01), 2)
    fine = module.fly(system, 10.0, 0.0025)
    times = np.linspace(0, 10, 101)
    error = float(distance(run, fine, module.BODIES, times).max())
    moves = module.displacements(run)
    side = max(float(np.abs(m[:, 1]).max()) for m in moves.values())
    payload = moves["payload"]
    values = {
        "Newton iterations per step": Measured(run.statistics.iterations / run.statistics.steps),
        "time of 10 s in steps of 0.01 s": Measured(seconds, error),
        "motion out of the plane": Measured(side),
        "payload, range of x": Measured(float(np.ptp(payload[:, 0]))),
        "payload, range of z": Measured(float(np.ptp(payload[:, 2]))),
    }
    drawn = module.figures(run)
    return Outcome(values, figures={"figure8": drawn["snapshots"], "figure9": drawn["displacements"]})


# ---------------------------------------------------------------- example 2

READINGS = (  # I, A, hold, swing
    ("the example", 1.5708e-12, 3.1416e-5, 1.0, 0.2),
    ("heavier", 1.5708e-12, 5e-5, 1.0, 0.2),
    ("A as printed", 1.5708e-12, 3.1416e-6, 0.5, 0.2),
    ("A as printed, hold as printed", 1.5708e-12, 3.1416e-6, 1.0, 0.2),
    ("hold 0.5 N m", 1.5708e-12, 3.1416e-5, 0.5, 0.2),
    ("7 N m as printed, A as printed", 2.5e-11, 3.1416e-6, 1.0, 7.0),
    ("7 N m as printed, stiffer", 3.5e-11, 3.1416e-6, 1.0, 7.0),
    ("7 N m as printed, A × 100", 3.5e-11, 3.1416e-4, 1.0, 7.0),
    ("I = 1.5708e-10, 7 N m", 1.5708e-10, 3.1416e-6, 1.0, 7.0),
)


def _reading(module: Any, inertia: float, area: float, hold: float, swing: float) -> Any:
    """Motion of the robot with these numbers."""
    module.I, module.EI, module.A, module.HOLD, module.SWING, module.RAMP = (
        inertia,
        module.E * inertia,
        area,
        hold,
        swing,
        hold / 2,
    )
    system = module.build()
    return simulate(system, 10.0, u=module.torques, start=solve_statics(system), max_wall_time=20.0, progress=False)


def parallel(quick: bool) -> Outcome:
    """Figures 11 to 13, and what the readings of the defective numbers give."""
    module = gallery.load("continuum_parallel_robot")
    system = module.build()
    seconds, coarse = cpu(lambda: module.run(system, method="newmark", step=0.01), 3)
    fine = module.run(system, rtol=1e-6, atol=1e-7)
    times = np.linspace(0, 10, 201)
    error = float(distance(coarse, fine, ("leg1.tip",), times).max())
    hold = {"motor1": module.HOLD, "motor2": -module.HOLD}
    rest = solve_statics(system, hold)
    reach = float(system.pose("leg1.tip", rest.q)[0, 3])
    shooting = module.elastica(module.HOLD)[1]
    figures = module.figures(fine)
    closure = max(float(np.abs(system.closure(q)[0]).max()) for q in coarse.q)
    rows, other = [], gallery.load("continuum_parallel_robot")
    for label, *numbers in READINGS[: 3 if quick else None]:
        run = _reading(other, *numbers)
        inertia, area, torque, swing = numbers
        if not run.success:
            cells = (f"stopped at {run.t[-1]:.1f} s", "")
        else:
            peaks = other.movements(run)
            y = run.resample(np.linspace(4, 8, 401)).positions("leg1.tip")[:, 1]
            cells = (
                f"{len(peaks)}: {', '.join(f'{t:.2f}' for t in peaks[:4])}{' …' if len(peaks) > 4 else ''}",
                f"{y.min():.3f} to {y.max():.3f}",
            )
        rows.append((label, f"{inertia:g}", f"{area:g}", f"{torque:g}", f"{swing:g}", *cells))
    values = {
        "up-and-down movements while the torque makes three cycles": Measured(float(len(module.movements(fine)))),
        "hold torque": Measured(module.HOLD),
        "time of 10 s, Newmark, step 0.01 s": Measured(seconds, error),
        "tip at rest under the held torques, against shooting": Measured(abs(reach - shooting)),
        "gap of the loop": Measured(closure),
        "first frequency under the held torques": Measured(float(modes(system, rest, 2).frequencies[0])),
    }
    head = (
        "reading",
        "I [m⁴]",
        "A [m²]",
        "hold [N m]",
        "oscillation [N m]",
        "movements, upper turning points [s]",
        "y of the tip [m]",
    )
    table = Table("Readings of the defective numbers: movements of the tip from 4 to 8 s", head, rows)
    return Outcome(values, [table], {"figures11_12": figures["motion"], "figure13": figures["snapshots"]})


# ---------------------------------------------------------------- example 3


def swimmer(quick: bool) -> Outcome:
    """Figures 15 and 16, without and with internal damping."""
    module = gallery.load("undulatory_swimmer")
    system = module.build()
    seconds, run = cpu(lambda: module.swim(system, step=0.01), 3)
    fine = module.swim(system, 10.0, step=0.0025)
    newmark = module.swim(system, method="newmark", step=0.01)
    times = np.linspace(0, 10, 201)
    torque = module.root_torque(run)
    values = {
        "speed": Measured(module.swimming(run)[1]),
        "speed, step 0.0025 s": Measured(module.swimming(fine)[1]),
        "speed, Newmark, step 0.01 s": Measured(module.swimming(newmark)[1]),
        "speed with a damping of 10 ms": Measured(module.swimming(module.swim(module.build(0.01), step=0.01))[1]),
        "elastic torque at the root of the third body, first 3 s": Measured(float(np.abs(torque[:301]).max())),
        "control torque D (T₊ − T₋), amplitude": Measured(float(np.ptp(module.ARM * (run.u[:, 0] - run.u[:, 1])) / 2)),
        "time of 10 s": Measured(seconds, float(distance(run, fine, ("head",), times).max())),
    }
    drawn = module.figures(run)
    return Outcome(values, figures={"figure15": drawn["snapshots"], "figure16": drawn["torques"]})


# ---------------------------------------------------------------- remarks


def remark1(quick: bool) -> Outcome:
    """One robot, cut in two ways."""
    module = gallery.load("hybrid_parallel_robot")
    systems = module.build("feet"), module.build("corners")
    runs = [module.motion(system, rtol=1e-6, atol=1e-7) for system in systems]
    values = {
        "dof, cut at the feet": Measured(systems[0].nv),
        "dof, cut at the corners": Measured(systems[1].nv),
        "corners of the platform, largest distance over 10 s": Measured(float(module.corner_error(*runs))),
    }
    return Outcome(values)


def remark2(quick: bool) -> Outcome:
    """A wheel that rolls without slip: constraints on velocities that cannot be integrated."""
    module = gallery.load("rolling_robot")
    module.check()
    return Outcome({"checks of the rolling robot passed": Measured(1.0)})


def remark8(quick: bool) -> Outcome:
    """The motor torque is the projection of the wrench in the joint on its axis."""
    module = gallery.load("hybrid_serial_robot")
    system = module.build()
    rng = np.random.default_rng(0)
    q, v, a = system.random(rng, scale=0.4), rng.normal(size=system.nv), rng.normal(size=system.nv)
    torque = system.residual(q, v, a)
    off = []
    for k in range(7):
        wrench = system.joint_wrench(f"link{k + 1}", q, v, a)
        off.append(abs(float(wrench[k % 2]) - float(torque[k])) / max(1.0, abs(float(torque[k]))))
    return Outcome({"axis component of the wrench against the generalised force": Measured(max(off))})


def newton(quick: bool) -> Outcome:
    """Iterations of Newmark's method with the exact tangent."""
    rows, worst = [], 0.0
    for name, build in (("continuum_parallel_robot", lambda m: m.build()), ("undulatory_swimmer", lambda m: m.build())):
        module = gallery.load(name)
        system = build(module)
        options: dict[str, Any] = {"method": "newmark", "step": 0.01, "newton_tolerance": 1e-6}
        run = module.run(system, **options) if hasattr(module, "run") else module.swim(system, **options)
        count = run.statistics.iterations / run.statistics.steps
        rows.append(
            (name.replace("_", " "), short(count), f"{run.statistics.factorisations / run.statistics.steps:.2f}")
        )
        worst = max(worst, count)
    values = {"largest mean number of iterations per step": Measured(worst)}
    return Outcome(
        values,
        [Table("Newmark's method, step 0.01 s", ("robot", "iterations per step", "factorisations per step"), rows)],
    )


ROBOTS = (
    Experiment(
        key="000-drones",
        place="X.B, eqs 68–69, figs 7–9",
        title="Example 1: two drones and a payload",
        verdict="differs",
        run=drones,
        example="drones_and_payload",
        why="masses of drones and payload are not printed, so that curves can only be compared in kind: the payload goes around an almost closed path. As in the paper the law is part of the implicit "
        "step, with its integrals as states, and the error is of second order in the step.",
        reading="drones of 6 kg, payload of 1 kg; the midpoint rule, which has the states of controllers, in place of Newmark's method.",
        numbers=(
            Number("Newton iterations per step", 3.0, "", "equal", 0.5, shown="3 on average"),
            Number("time of 10 s in steps of 0.01 s", None, "s", "time"),
            Number("motion out of the plane", None, "m"),
            Number("payload, range of x", None, "m"),
            Number("payload, range of z", None, "m"),
        ),
        figure_captions={
            "figure8": "Figure 8: snapshots and paths",
            "figure9": "Figure 9: displacements of the three bodies",
        },
    ),
    Experiment(
        key="000-cpr",
        place="X.C, Table II, figs 10–13",
        title="Example 2: continuum parallel robot",
        verdict="differs",
        run=parallel,
        example="continuum_parallel_robot",
        why="the printed numbers cannot all be right: with I = 1.5708e-8 m⁴ (EI = 3300 N m²) torques of some N m move nothing. What the paper describes, two up-and-down movements for three cycles of the "
        "torque, because of inertia, needs a first frequency near that of the torque, 1 Hz. That is so for I = 1.5708e-12 m⁴, ten to fifteen times the printed A, the held torque as printed (1 N m) and an "
        "oscillation of 0.2 N m. 7 N m as printed can be used with I of 2.5 to 3.5e-11 m⁴, but then the robot follows the torque three times. Without knowing the authors' numbers, no more can be said.",
        reading="feet at y = ±0.4 m (not given); torques k t from 0 to 2 s, which fits k, the zero start and τ_hold “when t = 2 s”, where Table II has t from 1 s on; no gravity in the plane; 5 Chebyshev polynomials, μ = 1e-4 as printed.",
        numbers=(
            Number("up-and-down movements while the torque makes three cycles", 2.0, "", "equal", 1e-9),
            Number("hold torque", 1.0, "N m", "equal", 1e-9, shown="k t at 2 s: 1 N m"),
            Number("time of 10 s, Newmark, step 0.01 s", None, "s", "time"),
            Number("tip at rest under the held torques, against shooting", None, "m"),
            Number("gap of the loop", None, "m"),
            Number("first frequency under the held torques", None, "Hz"),
        ),
        figure_captions={
            "figures11_12": "Figures 11 and 12: torques, angles of the feet, force in the tip joint, the tip",
            "figure13": "Figure 13: snapshots over [1, 2] s and [4, 7] s",
        },
    ),
    Experiment(
        key="000-swimmer",
        place="X.D, eq. 70, figs 14–16",
        title="Example 3: tendon-driven swimmer",
        verdict="differs",
        run=swimmer,
        example="undulatory_swimmer",
        why="the body's shape is that of another paper and is made up, so that curves compare in kind only. It swims head first and straight on without internal damping, as printed.",
        reading="head 0.2 m, two rods of 0.4 m; friction and drag coefficients assumed. Snapshots every 1.65 s as printed.",
        numbers=(
            Number("speed", None, "m/s"),
            Number("speed, step 0.0025 s", None, "m/s"),
            Number("speed, Newmark, step 0.01 s", None, "m/s"),
            Number("speed with a damping of 10 ms", None, "m/s"),
            Number("elastic torque at the root of the third body, first 3 s", None, "N m"),
            Number("control torque D (T₊ − T₋), amplitude", 2.0, "N m", "equal", 1e-6, shown="2 D T₁ = 2 N m"),
            Number("time of 10 s", None, "s", "time"),
        ),
        figure_captions={
            "figure15": "Figure 15: snapshots every 1.65 s",
            "figure16": "Figure 16: torque of the tendons and elastic torque at the root of the third body",
        },
    ),
    Experiment(
        key="000-remark1",
        place="remark 1",
        title="One closed robot, cut in two ways",
        verdict="reproduced",
        run=remark1,
        example="hybrid_parallel_robot",
        numbers=(
            Number("dof, cut at the feet"),
            Number("dof, cut at the corners"),
            Number("corners of the platform, largest distance over 10 s", 1e-5, "m", "at most", shown="the same robot"),
        ),
    ),
    Experiment(
        key="000-remark2",
        place="remark 2, eq. 7",
        title="Nonholonomic constraints",
        verdict="reproduced",
        run=remark2,
        example="rolling_robot",
        why="Rolling without slip, blades, and constraints that depend on time: `Rolling`, `Skate`, prescribed loop joints.",
        numbers=(Number("checks of the rolling robot passed", 1.0, "", "equal", 1e-9),),
    ),
    Experiment(
        key="000-remark8",
        place="remark 8, eq. 28",
        title="Motor torque as projection of the joint's wrench",
        verdict="reproduced",
        run=remark8,
        example="hybrid_serial_robot",
        numbers=(
            Number("axis component of the wrench against the generalised force", 1e-9, "", "at most", shown="equal"),
        ),
    ),
    Experiment(
        key="000-newton",
        place="X.B, IV, XI.B.1",
        title="Newton iterations per step",
        verdict="differs",
        run=newton,
        why="with Newmark's method pliant keeps factors of the tangent over many steps and takes more, cheaper iterations; the paper takes a new tangent each time and needs 3.",
        numbers=(
            Number("largest mean number of iterations per step", 3.0, "", "here", shown="3 on average (example 1)"),
        ),
    ),
    Experiment(
        key="000-profile",
        place="XI.B.2",
        title="Share of spatial integration: more than 90 % of the time",
        verdict="impossible",
        run=None,
        why="it is a profile of the authors' MATLAB code; in pliant poses, velocities and forces are one compiled recursion.",
    ),
)
