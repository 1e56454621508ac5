"""Time of inverse dynamics and its derivatives, as interleaved minima; JSON on request.

    python benchmarks/kernels.py [--json results.json] [--rounds 40]

"inside" is the time of a call from compiled code, "call" that of the Python method. Pinocchio (package `pin`), if
installed, is timed in the same rounds on the same rigid chains.
"""

from __future__ import annotations

import argparse
import json
import platform
import time

import numba
import numpy as np

import pliant as pl
from pliant.kernels import engine

SILICONE = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)


@numba.njit
def repeat(n, job, ints, floats, buffer, q, v, a, u, p, S, pivot, out):
    for _ in range(n):
        engine.run(job, ints, floats, buffer, q, v, a, u, v, p, S, pivot, q, out, out, pivot, v)


def manipulator(points):
    robot = pl.Robot("CDM")
    robot.add_rod(
        "arm",
        length=0.5,
        section=pl.Circle((0.03, 0.015)),
        material=SILICONE,
        strains=pl.Strains(torsion=4, bending=4, stretch=2, shear=2),
        points=points,
    )
    return robot.compile()


def rod_of(order, points):
    robot = pl.Robot("rod")
    strains = pl.Strains.reissner(order)
    robot.add_rod("rod", length=0.5, section=pl.Circle(0.02), material=SILICONE, strains=strains, points=points)
    return robot.compile()


def hybrid(arms):
    """Several arms on a free base; each a revolute joint, a rod and a payload."""
    robot = pl.Robot("hybrid")
    base = robot.add_body("base", joint=pl.Free(), shape=pl.Box(0.1, 0.1, 0.1), mass=1.0)
    for k in range(arms):
        rod = robot.add_rod(
            f"rod{k}",
            parent=base,
            offset=pl.rotate("z", 2 * np.pi * k / arms),
            joint=pl.Revolute("y"),
            length=0.5,
            section=pl.Circle(0.02),
            material=SILICONE,
            strains=pl.Strains.kirchhoff(3),
            points=5,
        )
        robot.add_body(f"load{k}", parent=rod, shape=pl.Sphere(0.02), mass=0.1)
    return robot.compile()


def chain(n):
    robot = pl.Robot("chain")
    parent = None
    for k in range(n):
        parent = robot.add_body(
            f"b{k}",
            parent=parent,
            joint=pl.Revolute("zyx"[k % 3]),
            offset=(0.2, 0.05, 0.0),
            mass=1.0,
            com=(0.1, 0, 0),
            inertia=(0.01, 0.02, 0.02),
        )
    return robot.compile()


def pinocchio_chain(n):
    try:
        import pinocchio as pin
    except ImportError:
        return None
    model = pin.Model()
    joint = 0
    kinds = [pin.JointModelRZ, pin.JointModelRY, pin.JointModelRX]
    inertia = pin.Inertia(1.0, np.array([0.1, 0, 0]), np.diag([0.01, 0.02, 0.02]))
    for k in range(n):
        placement = pin.SE3(np.eye(3), np.array([0.2, 0.05, 0.0]))
        joint = model.addJoint(joint, kinds[k % 3](), placement, f"j{k}")
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    return pin, model, model.createData()


def tasks_of(system):
    """Name → function(n) that repeats one computation n times."""
    rng = np.random.default_rng(0)
    q = system.random(rng, scale=0.5)
    v, a = rng.normal(size=system.nv), rng.normal(size=system.nv)
    out, u, pivot = np.zeros(system.nv), np.zeros(system.nu), np.zeros(system.nv, dtype=np.int64)
    three, one = np.zeros((3, system.nv, system.nv)), np.zeros((1, system.nv, system.nv))
    p = np.zeros(engine.PARAMETERS)
    p[:3] = 1.0, 0.5, 0.25

    space = system.workspace()
    space.prepare()

    def inside(job, S):
        return lambda n: repeat(n, job, *space.packed, q, v, a, u, p, S, pivot, out)

    def call_id(n):
        for _ in range(n):
            system.inverse_dynamics(q, v, a)

    def call_derivatives(n):
        for _ in range(n):
            system.inverse_dynamics_derivatives(q, v, a)

    return {
        "ID inside": inside(engine.ID, three),
        "derivatives inside": inside(engine.DERIVATIVES, three),
        "fused inside": inside(engine.DERIVATIVES, one),
        "mass matrix inside": inside(engine.MASS, one),
        "ID call": call_id,
        "derivatives call": call_derivatives,
    }


def pinocchio_tasks(n):
    made = pinocchio_chain(n)
    if made is None:
        return {}
    pin, model, data = made
    rng = np.random.default_rng(0)
    q, v, a = (rng.normal(size=n) for _ in range(3))

    def rnea(k):
        for _ in range(k):
            pin.rnea(model, data, q, v, a)

    def derivatives(k):
        for _ in range(k):
            pin.computeRNEADerivatives(model, data, q, v, a)

    return {"pinocchio rnea": rnea, "pinocchio derivatives": derivatives}


def measure(tasks, rounds):
    """Microseconds: minimum over rounds, all tasks in turn within each round."""
    repeats = {}
    for name, task in tasks.items():
        task(1)
        start = time.perf_counter()
        task(3)
        repeats[name] = max(1, int(2e-3 / max((time.perf_counter() - start) / 3, 1e-9)))
    best = dict.fromkeys(tasks, np.inf)
    for _ in range(rounds):
        for name, task in tasks.items():
            start = time.perf_counter()
            task(repeats[name])
            best[name] = min(best[name], (time.perf_counter() - start) / repeats[name])
    return {name: round(1e6 * value, 3) for name, value in best.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    cases = {"CDM, 7 points": manipulator(5), "CDM, 20 points": manipulator(18)}
    cases |= {f"rod order 4, {p + 2} points": rod_of(4, p) for p in (5, 10, 20, 40)}
    cases |= {f"rod order {o}, 22 points": rod_of(o, 20) for o in (1, 2, 4, 8)}
    cases |= {f"hybrid, {k} arms": hybrid(k) for k in (1, 2, 4, 8)}
    cases |= {f"chain of {n} revolute joints": chain(n) for n in (10, 50, 100, 200)}
    results = {"machine": platform.processor() or platform.machine(), "unit": "us", "cases": {}}
    print(
        f"{'':32}{'nv':>4}"
        + "".join(f"{h:>11}" for h in ("ID", "ID+d3", "fused", "M", "ID call", "d3 call", "pin ID", "pin d3"))
    )
    for name, system in cases.items():
        tasks = tasks_of(system)
        if name.startswith("chain"):
            tasks |= pinocchio_tasks(system.nv)
        row = measure(tasks, args.rounds)
        results["cases"][name] = {"nv": system.nv, **row}
        print(f"{name:32}{system.nv:4d}" + "".join(f"{value:11.2f}" for value in row.values()), flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
