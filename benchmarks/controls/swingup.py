"""Swing-up and stabilisation of the rigid–soft underactuated plants: plans, closed loops, predictive control, and how much they bear.

Plants and laws are those of examples/soft_cart_pole.py, soft_pendubot.py and soft_furuta.py. Closed loops of the tables move in four steps for a sample.
"""

from __future__ import annotations

import time
from collections import deque
from importlib import import_module

import numpy as np

import pliant as pl

PLANTS = {  # coordinates that are to be upright, the passive joint, how long a swing-up is watched [s]
    "soft_cart_pole": ((1,), "hinge", 4.0),
    "soft_pendubot": ((0, 10), "elbow", 4.5),
    "soft_furuta": ((10,), "hinge", 4.0),
}
WHOLE = (
    "nominal",
    "stiffness × 0.8",
    "density × 1.2",
    "delay of 1 samples",
)  # cases of predictive control with the horizon of the plan, which takes long
CAUGHT = 0.1  # rad: how far the joints may be off in the last half second


def closed_loop(system, law, period, duration, start, *, delay=0, noise=(0.0, 0.0), push=None, seed=0):
    """Angles (n + 1, nq) of a sampled loop, in steps of a quarter of the period; None if a step fails, as of a robot that is thrown about."""
    sim = pl.Stepper(system, start, step=period, substeps=4)
    rng, scale = np.random.default_rng(seed), system.internal.scale
    sent, rows = deque([np.zeros(system.nu)] * delay), [sim.q.copy()]
    for _ in range(round(duration / period)):
        seen = type("State", (), {})()
        seen.t, seen.q = sim.t, system.integrate(sim.q, noise[0] * scale * rng.standard_normal(system.nv))
        seen.v = sim.v + noise[1] * scale * rng.standard_normal(system.nv)
        sent.append(np.atleast_1d(law(sim.t, seen)))
        tau = None if push is None else push(sim.t)
        try:
            sim.step(sent.popleft(), tau=tau)
        except pl.StepError:
            return None
        rows.append(sim.q.copy())
    return np.array(rows)


def off(rows, goal, joints, period) -> float:
    """How far the joints are from the goal in the last half second [rad]."""
    return np.inf if rows is None else float(np.abs(rows[-round(0.5 / period) :, joints] - goal[list(joints)]).max())


def cases(example, joint, quick):
    """Name, plant, and what is done to the loop."""
    nominal = example.plant()
    k = nominal.dof_names.index(f"{joint}.angle")

    def push(t: float):
        tau = np.zeros(nominal.nv)
        tau[k] = 0.02 if 1.0 <= t < 1.1 else 0.0
        return tau

    out = [("nominal", nominal, {})]
    for share in (0.8, 0.9, 1.1, 1.2):
        out.append((f"stiffness × {share}", example.plant(young=share * example.YOUNG), {}))
    for share in (0.8, 0.9, 1.1, 1.2):
        out.append((f"density × {share}", example.plant(density=share * 1000.0), {}))
    out += [(f"delay of {n} samples", nominal, {"delay": n}) for n in (1, 2)]
    out += [(f"noise {x:g} and {10 * x:g} /s", nominal, {"noise": (x, 10 * x)}) for x in (1e-3, 3e-3)]
    out.append(("push of 0.02 N m for 0.1 s", nominal, {"push": push}))
    return out[:3] if quick else out


def basin(system, rest, law, period, joint) -> float:
    """The largest of some offsets of the passive joint [rad] from which the regulator brings it back."""
    k, best = system.dof_names.index(f"{joint}.angle"), 0.0
    for offset in (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8):
        start = rest.q.copy()
        start[k] += offset
        rows = closed_loop(system, law, period, 3.0, start)
        if off(rows, rest.q, (k,), period) > CAUGHT:
            break
        best = offset
    return best


def predictive(mpc, rest, joints, duration, plant, options) -> tuple[float, dict]:
    """How far predictive control from the hanging robot is off at the end, and latencies. The controller knows of nothing that is done to the loop."""
    period = 1.0 / mpc.rate
    told = {
        "noise": options.get("noise", 0.0),
        "disturbance": options.get("push"),
        "delay": period * options.get("delay", 0),
    }
    try:
        loop = mpc.run(duration, plant=plant, start=(pl.solve_statics(plant).q, np.zeros(plant.nv)), **told)
    except (ArithmeticError, ValueError) as error:
        print(f"  {error}")
        return np.inf, {}
    median, most, nearly, largest = np.percentile(loop.cpu, [50, 95, 99, 100]).tolist()
    latency = {
        "median": median, "95": most, "99": nearly, "largest": largest, "missed": int(np.sum(loop.cpu > period)), "samples": len(loop.cpu),
        "failures": loop.failures,
    }  # fmt: skip
    return off(loop.q, rest.q, joints, period), latency


def run(quick: bool) -> list[dict]:
    found = []
    for name, (joints, joint, duration) in PLANTS.items():
        example = import_module(name)
        system = example.plant()
        rest, period = example.upright(system), example.PERIOD
        clock = time.process_time()
        plan = example.swing_up(system, rest)
        cpu = time.process_time() - clock
        row = {
            "plant": name, "dof": system.nv, "horizon": plan.problem.horizon, "knots": plan.problem.knots, "iterations": plan.iterations, "rollouts": plan.rollouts,
            "cpu": cpu, "per_iteration": cpu / plan.iterations, "cost": plan.cost, "largest": float(np.abs(plan.u).max()), "status": plan.status, "slope": float(plan.slopes[-1]),
        }  # fmt: skip
        print(
            f"{name}: {plan.iterations} iterations, {plan.rollouts} rollouts, {cpu:.2f} s of CPU, {1e3 * cpu / plan.iterations:.0f} ms each, cost {plan.cost:.4g}, {plan.status}, largest input {row['largest']:.3g}, "
            f"projected gradient {row['slope']:.1e}"
        )
        catch = example.regulator(system, rest)
        row["basin"] = basin(system, rest, catch, period, joint)
        print(f"  regulator: offsets of {joint} up to {row['basin']:g} rad")
        kinds = ("swing-up", "regulator", "tracking", "whole")
        row |= {kind: {} for kind in kinds} | {"latency": {}}
        tracking, whole = example.predictive(plan, catch), pl.MPC(plan, rate=1.0 / period)
        for case, plant, options in cases(example, joint, quick):
            law = example.feedback(plan, catch).law
            row["swing-up"][case] = off(
                closed_loop(plant, law, period, duration, pl.solve_statics(plant), **options), rest.q, joints, period
            )
            start = example.upright(plant).q.copy()
            start[plant.dof_names.index(f"{joint}.angle")] += 0.05
            row["regulator"][case] = off(
                closed_loop(plant, catch, period, 3.0, start, **options), rest.q, joints, period
            )
            for kind, mpc in (("tracking", tracking), ("whole", whole)):
                if kind == "tracking" or case in WHOLE:
                    row[kind][case], row["latency"][f"{kind}, {case}"] = predictive(
                        mpc, rest, joints, duration, plant, options
                    )
            print(
                f"  {case}: " + ", ".join(f"{kind} {row[kind][case]:.2g}" for kind in kinds if case in row[kind]),
                flush=True,
            )
        for kind in ("tracking", "whole"):
            took = {case: one for case, one in row["latency"].items() if case.startswith(kind) and one}
            said = [f"{key} {1e3 * took[f'{kind}, nominal'][key]:.1f}" for key in ("median", "95", "99", "largest")]
            missed, samples, failed = (
                sum(one[key] for one in took.values()) for key in ("missed", "samples", "failures")
            )
            print(
                f"  {kind}: {', '.join(said)} ms; in all cases {missed} of {samples} samples longer than {1e3 * period:g} ms, {failed} failed",
                flush=True,
            )
        found.append(row)
    return found
