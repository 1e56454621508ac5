"""Control tasks of soft arms that others published (SoRoMoX, robots of constant strain), each beside their numbers.

Robots, references and limits are those of the publication; gains are not published: ours are stated here and not tuned to their numbers.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from impedance_eight import build as two_segments
from impedance_eight import eight, errors, law_of
from tracking_controllers import POINTS, PUBLISHED, laws, rmse, track
from tracking_controllers import build as one_segment

import pliant as pl

PERIOD = 0.005  # of sampled laws [s]; those of the configuration space act continuously


# ---------------------------------------------------------------- configuration space


def configuration(quick: bool) -> list[dict[str, Any]]:
    """Strains of one segment follow set points and then sines; the error is that of κy along the sines, one second after they began (with a jump of the rate)."""
    system = one_segment()
    first, end = (0.0, 4.0) if quick else (15.0, 25.0)
    rows = []
    for name, law in laws(system, first).items():
        clock = time.process_time()
        run = track(system, law, end, first)
        rows.append(_row("configuration space", name, "κy RMSE [rad/m]", rmse(run, first), PUBLISHED[name], clock))
        if not quick:
            off = max(abs(run.q[np.searchsorted(run.t, 3.0 * k + 2.95), 1] - POINTS[1][k]) for k in range(5))
            rows.append(_row("configuration space", name, "κy off set points after 3 s, largest", off, None, clock))
    return rows


# ---------------------------------------------------------------- operational space


def impedance(quick: bool) -> list[dict[str, Any]]:
    """The tip of two segments goes along the eight, with 40 N/m and 0.04 N m/rad; errors are root mean squares."""
    system = two_segments()
    start = pl.inverse_statics(system, {"s1.tip": eight(0.0)}).equilibrium
    law = law_of(system, start)
    clock = time.process_time()
    end = 4.0 if quick else 8.0
    run = pl.simulate(system, end, start=start, u=pl.Sampled(law, PERIOD), output=0.02)
    place, turn = errors(law, run)
    return [
        _row("impedance", "operational space", "position RMSE [mm]", 1000 * place, 2.84, clock),
        _row("impedance", "operational space", "orientation RMSE [rad]", turn, 0.040, clock),
    ]


# ---------------------------------------------------------------- gains through the rollout


def tendon_segment() -> pl.System:
    """One segment with three tendons at 0.8 r, 120 degrees apart, that also push.

    Ten times as stiff and damped as those above: with E = 2 kPa the first tensions, 1.85 N together, compress the segment to nothing in a
    model of finite strain (EA = 2.5 N), and there is no equilibrium to go to.
    """
    robot = pl.Robot("tendons", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "s0", length=0.1, section=pl.Circle(0.02), strains=pl.Strains.constant(),
        material=pl.Material(young=2e4, poisson=0.0, density=1070), damping=3e-3 * np.array([1, 1, 1, 1e3, 1e3, 1e3]),
    )  # fmt: skip
    for k in range(3):
        angle = 2 * np.pi * k / 3
        robot.add_tendon(f"t{k}", rod, y=0.016 * np.cos(angle), z=0.016 * np.sin(angle), push=True)
    return robot.compile()


def gains(quick: bool) -> list[dict[str, Any]]:
    """A PD law with feedforward in the lengths of the tendons goes from rest to two targets; its gains are made better by the exact gradient."""
    from scipy.optimize import minimize

    system = tendon_segment()
    targets = [pl.solve_statics(system, u) for u in ((1.2, 0.6, 0.05), (0.5, 0.2, 0.1))]
    state = pl.costs.stack(
        pl.costs.Coordinates() * (1.0 / system.internal.scale), pl.costs.Rates() * (1.0 / system.internal.scale)
    )
    step, duration = (0.01, 1.0) if quick else (0.01, 5.0)
    loops, costs = [], []
    for rest in targets:
        goal = np.concatenate([rest.q / system.internal.scale, np.zeros(6)])
        law = pl.control.LinearFeedback(system, state, np.zeros((3, 12)), goal, bias=rest.u)
        loops.append(pl.control.ClosedLoop(system, law, step=step, duration=duration))
        away = (pl.costs.Coordinates() - rest.q) * (1.0 / system.internal.scale)
        costs.append(away.near(0.0) + 1e-2 * (pl.costs.Inputs() - rest.u).near(0.0))
    clock = time.process_time()

    def value(x: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            found = [loop.gradient(cost, {"gains": x.reshape(3, 12)}) for loop, cost in zip(loops, costs)]
        except pl.RolloutError:  # gains of the line search that make the arm go wild
            return 1e3, np.zeros(36)
        return sum(own.value for own in found), sum(own.parameters["gains"].ravel() for own in found)

    before = value(np.zeros(36))[0]
    answer = minimize(value, np.zeros(36), jac=True, method="L-BFGS-B", options={"maxiter": 5 if quick else 60})
    exact = value(answer.x)[1]
    h, d = 1e-2, exact / np.linalg.norm(exact)
    values = [value(answer.x + k * h * d)[0] for k in (-2, -1, 1, 2)]
    slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
    off = abs(slope - exact @ d) / abs(slope)
    last = [
        np.linalg.norm((loop.run({"gains": answer.x.reshape(3, 12)}).q[-1] - rest.q) / system.internal.scale)
        for loop, rest in zip(loops, targets)
    ]
    return [
        _row("gain optimisation", "feedforward alone", "cost", before, None, clock),
        _row("gain optimisation", f"{answer.nit} iterations, {answer.nfev} gradients", "cost", answer.fun, None, clock),
        _row("gain optimisation", "", "largest distance from a target at the end, scaled", max(last), None, clock),
        _row("gain optimisation", "", "gradient against differences of fourth order, relative", off, None, clock),
    ]


# ---------------------------------------------------------------- safety

GOAL = np.array([0.10, 0.05, 0.32])
BALLS = ((0.10, 0.08, 0.24), (0.12, 0.06, 0.32), (0.04, 0.055, 0.20))


def cluttered(balls: bool = True) -> pl.System:
    """Two segments of 0.15 m that hang along z, six cables that also push, and three balls in the way."""
    robot = pl.Robot("cluttered", gravity=(0, 0, 9.81))
    section, density, area = pl.Circle(0.036), 1070.0, np.pi * 0.036**2
    second = 0.25 * area * 0.036**2
    stiffness = 2e4 * np.array([2 * second, second, second, area, area, area])  # E = G
    parent, rods, offset = None, [], pl.rotate("y", -np.pi / 2)
    for k in range(2):
        rod = robot.add_rod(
            f"s{k}", parent=parent, offset=offset, length=0.15, section=section, material=pl.Material(young=2e4, poisson=0.0, density=density),
            strains=pl.Strains.constant(), stiffness=stiffness, damping=0.05 * stiffness,
        )  # fmt: skip
        rods.append(rod)
        parent, offset = rod.tip, None
    for k in range(3):
        angle = 2 * np.pi * k / 3
        place = {"y": 0.031 * np.cos(angle), "z": 0.031 * np.sin(angle)}
        robot.add_tendon(f"short{k}", rods[0], push=True, **place)
        robot.add_tendon(f"long{k}", [pl.Along("s0", **place), pl.Along("s1", **place)], push=True)
    for k, centre in enumerate(BALLS if balls else ()):
        robot.add_obstacle(f"ball{k}", pl.Sphere(0.02), pose=centre)
        for rod in rods:
            robot.add_contact(f"{rod.name} ball{k}", rod, f"ball{k}", stiffness=1000.0, exponent=1.0)
    return robot.compile()


def safety(quick: bool) -> list[dict[str, Any]]:
    """The cables go to the lengths that bring the free arm to a goal beside a ball, without and with a barrier against deep contact.

    What differs from the publication: there the tip is driven to the goal through the ball, with 33.6 N. Cables that hold their lengths press with less: the arm bends
    by 0.3 m per newton at its tip (3 EI/L³ = 3 N/m). Ours is the Lyapunov function of the lengths, ω = 5 rad/s; the barrier allows each point of the surface a
    depth of 4 mm (4 N), 1 mm less than the limit for the period of 5 ms and for two points in the same ball; rate 30 /s, inputs within ±40 N.
    """
    system = cluttered()
    rest = pl.solve_statics(system)
    free = pl.inverse_statics(cluttered(balls=False), {"s1.tip": GOAL})
    lengths = pl.control.ActuationCoordinates(system)
    goal = lengths.evaluate(pl.costs.States.at_rest(system, free.equilibrium.q)).value[0]
    rows = []
    for name, limited, published in (("without barrier", False, (33.6, 0.04)), ("with barrier", True, (4.99, 30.0))):
        clock = time.process_time()
        aim = pl.control.Lyapunov(lengths, goal, frequency=5.0, slack=1e6)
        wall = [pl.control.Barrier(pl.costs.Clearance() + 0.004, rate=30.0)] if limited else []
        law = pl.control.SafetyFilter(system, free.u, wall, lyapunov=aim, bounds=(-40, 40))
        run = pl.simulate(system, 1.0 if quick else 8.0, start=rest, u=pl.Sampled(law, PERIOD), output=0.01)
        states = pl.costs.States(system, run.t, run.q, run.v, run.u)
        force = float(pl.costs.ContactForce().evaluate(states).value.max())
        off = float(np.linalg.norm(run.positions("s1.tip")[-1] - GOAL))
        rows.append(_row("safety", name, "largest contact force [N]", force, published[0], clock))
        rows.append(_row("safety", name, "distance from the goal at the end [mm]", 1000 * off, published[1], clock))
        if law.broken:
            rows.append(_row("safety", name, "instants at which no inputs kept the barrier", law.broken, None, clock))
    return rows


def _row(task: str, law: str, what: str, value: float, published: float | None, clock: float) -> dict[str, Any]:
    row = {
        "task": task,
        "law": law,
        "what": what,
        "pliant": float(value),
        "published": published,
        "seconds": time.process_time() - clock,
    }
    told = "" if published is None else f"   published {published:g}"
    print(f"{task:22s} {law:32s} {what}: {value:.4g}{told}   ({row['seconds']:.1f} s)", flush=True)
    return row


def run(quick: bool = False) -> list[dict[str, Any]]:
    """All tasks."""
    return [*configuration(quick), *impedance(quick), *gains(quick), *safety(quick)]
