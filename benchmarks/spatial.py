"""Accuracy and cost of integration along a rod: Chebyshev collocation, Magnus of order 2 and 4, and 6 as a prototype.

    python benchmarks/spatial.py [--json spatial.json] [--png spatial.png] [--points 6 10 …] [--scale 1] [--rounds 10]

A rod of 1 m with Legendre bending and torsion in a curved state, once of order 4 and once of order 8 with sharper strains.
Errors are relative to collocation with 64 points; "order ∞" is Gauss quadrature of the mass with exact poses
(Magnus 4 with 24 massless steps between neighbouring points): what no order of the expansion can improve.
"""

from __future__ import annotations

import argparse
import json
import platform
from itertools import pairwise

import numpy as np
from kernels import SILICONE, measure, tasks_of

import pliant as pl
from pliant.model.rods.quadrature import gauss, rod_grid

METHODS = {
    "spectral": {"integration": "spectral"},
    "Magnus 2": {"magnus": 2},
    "Magnus 4": {"magnus": 4},
}
STATES = {"order 4": (4, 4.0), "order 8, sharper": (8, 8.0)}
COLORS = {"spectral": "C0", "Magnus 2": "C1", "Magnus 4": "C2", "Magnus 6": "C3", "order ∞": "C7"}
FINEST = 64
BETWEEN = 24


def rod(order, points, between=0, **options):
    robot = pl.Robot("rod")
    link = robot.add_rod(
        "rod",
        length=1.0,
        section=pl.Circle((0.03, 0.015)),
        material=SILICONE,
        strains=pl.Strains.kirchhoff(order),
        points=points,
        **options,
    )
    if between:
        for k, (a, b) in enumerate(pairwise(rod_grid([], points).X)):
            for i, x in enumerate(np.linspace(a, b, between + 2)[1:-1]):
                robot.add_frame(f"between {k} {i}", link.at(float(x)))
    return robot.compile()


def state_of(order, size):
    """Strains of some rad/m in every mode, and rates and accelerations of strain."""
    n = 3 * (order + 1)
    rng = np.random.default_rng(order)
    q = size * rng.choice([-1.0, 1.0], size=n) * rng.uniform(0.5, 1.0, size=n)
    return q, 5 * rng.normal(size=n), 20 * rng.normal(size=n)


def values_of(system, q, v, a):
    d = system.inverse_dynamics_derivatives(q, v, a)
    return {
        "tip": system.pose("rod.tip", q)[:3, 3],
        "ID": system.inverse_dynamics(q, v, a),
        "tangent": d.dq,
        "tangent v": d.dv,
        "mass": d.mass,
    }


def errors_of(values, exact):
    return {name: float(np.abs(values[name] - exact[name]).max() / np.abs(exact[name]).max()) for name in exact}


def magnus6_tip(system, q, points):
    """Tip of the rod with one step of order 6 between neighbouring Gauss points; length 1.

    Blanes, Casas, Oteo, Ros, Physics Reports 470 (2009), eq. 257, for g′ = g ξ, that is with all brackets reversed.
    """
    X = rod_grid([], points).X
    g = np.eye(4)
    nodes = gauss(3)[0]

    def bracket(a, b):
        return pl.lie.ad(b) @ a

    for x0, x1 in pairwise(X):
        h = x1 - x0
        A1, A2, A3 = system.strain("rod", q, x0 + h * nodes)
        a1, a2, a3 = h * A2, np.sqrt(15) / 3 * h * (A3 - A1), 10 / 3 * h * (A3 - 2 * A2 + A1)
        C1 = bracket(a1, a2)
        C2 = -bracket(a1, 2 * a3 + C1) / 60
        g = g @ pl.lie.exp(a1 + a3 / 12 + bracket(-20 * a1 - a3 + C1, a2 + C2) / 240)
    return g[:3, 3]


def study(order, size, counts, rounds):
    q, v, a = state_of(order, size)
    finest = rod(order, FINEST, integration="spectral")
    exact = values_of(finest, q, v, a)
    check = errors_of(values_of(rod(order, 1500), q, v, a), exact)
    out = {"order": order, "size": size, "check by Magnus 4 with 1500 points": check, "methods": {}}
    tasks = {}
    for name, options in METHODS.items():
        rows = out["methods"][name] = []
        for n in counts:
            if n <= order:
                continue
            system = rod(order, n, **options)
            rows.append({"points": n, **errors_of(values_of(system, q, v, a), exact)})
            made = tasks_of(system)
            for task in ("ID inside", "derivatives inside"):
                tasks[name, n, task] = made[task]
    times = measure(tasks, rounds)
    for name, rows in out["methods"].items():
        for row in rows:
            row["ID us"] = times[name, row["points"], "ID inside"]
            row["derivatives us"] = times[name, row["points"], "derivatives inside"]
    counts = [n for n in counts if n > order]
    tips = [(n, magnus6_tip(finest, q, n)) for n in counts]
    size_of_tip = np.abs(exact["tip"]).max()
    out["methods"]["Magnus 6"] = [
        {"points": n, "tip": float(np.abs(tip - exact["tip"]).max() / size_of_tip)} for n, tip in tips
    ]
    out["methods"]["order ∞"] = [
        {"points": n, **errors_of(values_of(rod(order, n, between=BETWEEN), q, v, a), exact)} for n in counts if n <= 24
    ]
    return out


def table(name, result):
    print(f"{name}: check {result['check by Magnus 4 with 1500 points']}")
    print(f"  {'':10}{'points':>7}" + "".join(f"{h:>11}" for h in ("tip", "ID", "dID/dq", "ID us", "d3 us")))
    for method, rows in result["methods"].items():
        for row in rows:
            numbers = "".join(f"{row[k]:11.1e}" if k in row else f"{'':11}" for k in ("tip", "ID", "tangent"))
            times = "".join(f"{row[k]:11.2f}" for k in ("ID us", "derivatives us") if k in row)
            print(f"  {method:10}{row['points']:7d}{numbers}{times}")


def draw(results, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = [
        ("points", "tip", "points", "error of the tip position"),
        ("points", "ID", "points", "error of the inverse dynamics"),
        ("points", "tangent", "points", "error of ∂ID/∂q"),
        ("ID us", "ID", "time of ID [µs]", "error of the inverse dynamics"),
        ("derivatives us", "tangent", "time of ID and derivatives [µs]", "error of ∂ID/∂q"),
    ]
    figure, axes = plt.subplots(len(results), len(panels), figsize=(22, 4.4 * len(results)), squeeze=False)
    for line, (name, result) in zip(axes, results.items()):
        for axis, (x, y, xlabel, ylabel) in zip(line, panels):
            for method, rows in result["methods"].items():
                rows = [row for row in rows if x in row and y in row]
                if rows:
                    dashed = "--" if method in ("Magnus 6", "order ∞") else "-"
                    axis.semilogy(
                        [r[x] for r in rows],
                        [max(r[y], 1e-16) for r in rows],
                        "o" + dashed,
                        ms=3,
                        color=COLORS[method],
                        label=method,
                    )
            axis.set(xlabel=xlabel, ylabel=ylabel, title=f"strains of {name}", ylim=(1e-16, 10))
            axis.grid(alpha=0.3)
            axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=60)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--png", help="draw them into this file (needs matplotlib)")
    parser.add_argument("--points", type=int, nargs="+", default=[5, 6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40])
    parser.add_argument("--scale", type=float, default=1.0, help="multiply the strains by this")
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    results = {}
    for name, (order, size) in STATES.items():
        results[name] = study(order, args.scale * size, args.points, args.rounds)
        table(name, results[name])
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"machine": platform.processor() or platform.machine(), "cases": results}, file, indent=1)
    if args.png:
        draw(results, args.png)


if __name__ == "__main__":
    main()
