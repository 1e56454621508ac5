"""Figures 6 and 7 of [001]: accuracy and cost of 1 to 10 sections of constant strain; JSON and a figure on request.

    python benchmarks/constant_strain.py [--json results.json] [--figure figure.png] [--rounds 7] [--duration 10]

The cantilever of examples/constant_strain_cantilever.py. Explicit: Dormand and Prince's method at the tolerances rtol 1e-3
(that of MATLAB's ode45) and atol 1e-4, loose enough that stability limits the step and not accuracy, as in the paper; the steps
that stability alone asks for, 3.307/|λ| with the fastest eigenvalue λ, are reported next to those taken. A full run gives steps
and accuracy; the cost per step is the smallest of several short runs, taken in turn, and the time per simulated second
is steps times cost. With the implicit default whole runs are timed. Full runs take some minutes.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from simulate import best_of, example

import pliant as pl

SOLVERS = {"composite": "dense", "articulated": "tree"}
METHODS = {"default": {}, "step 0.01 s": {"step": 0.01}}
PAPER = {"steps with 10 sections": 24150, "steps of the continuous model": 242087}


def costs(beam, systems, rounds):
    """Seconds per explicit step, per forward dynamics, per implicit run; the smallest of interleaved rounds."""
    best = {}

    def keep(name, n, value):
        best.setdefault(name, {})[n] = min(value, best.get(name, {}).get(n, np.inf))

    for _ in range(rounds):
        for n, system in systems.items():
            rng = np.random.default_rng(0)
            q, v, u = system.random(rng, scale=0.1), 0.1 * rng.normal(size=system.nv), system.inputs({"load": 1.0})
            for algorithm, solver in SOLVERS.items():
                keep(f"{algorithm}, step", n, beam.explicit(system, solver, 1.0 if n == 1 else 0.05)[1])
                start = time.perf_counter()
                for _k in range(100):
                    system.forward_dynamics(q, v, u=u, method=algorithm)
                keep(f"{algorithm}, forward dynamics", n, (time.perf_counter() - start) / 100)
            tasks = {k: (lambda s=system, o=o: pl.simulate(s, 10.0, u=beam.ramp, **o)) for k, o in METHODS.items()}
            for name, seconds in best_of(1, tasks)[0].items():
                keep(f"implicit {name}, run", n, seconds)
    return best


def measure(beam, rounds, duration):
    systems = {n: beam.sections(n) for n in beam.SECTIONS}
    exact = beam.move(beam.continuous(), duration, step=0.0025).positions("rod.tip")
    lower = beam.move(beam.continuous(7), duration, step=0.0025)
    f = beam.first_frequency(lower.system)
    best = costs(beam, systems, rounds)
    results = {
        "duration": duration,
        "error of the reference, order 7 against 9": beam.tip_error(lower, exact),
        "first frequency of the continuous rod": f,
        "paper": PAPER,
        "sections": {},
    }
    for n, system in systems.items():
        row = {"dof": system.nv, "frequency ratio": beam.first_frequency(system) / f}
        row["steps by stability"] = beam.stable_steps(system) * duration / beam.DURATION
        for algorithm, solver in SOLVERS.items():
            run = beam.move(system, duration, method="rk45", solver=solver)
            step = best[f"{algorithm}, step"][n]
            row[algorithm] = {
                "error": beam.tip_error(run, exact),
                "steps": run.statistics.steps,
                "seconds per step": step,
                "seconds per simulated second": step * run.statistics.steps / duration,
                "seconds per forward dynamics": best[f"{algorithm}, forward dynamics"][n],
            }
        for name, options in METHODS.items():
            run = beam.move(system, duration, **(options or {"rtol": 1e-3}))
            row[f"implicit, {name}"] = {
                "error": beam.tip_error(run, exact),
                "steps": run.statistics.steps,
                "seconds per simulated second": best[f"implicit {name}, run"][n] / 10.0,
            }
        results["sections"][n] = row
        a, b, c = row["composite"], row["articulated"], row["implicit, default"]
        print(
            f"{n:3d} sections  error {a['error']:7.3%}  steps {a['steps']:6d} {b['steps']:6d} (stability {row['steps by stability']:.0f})"
            f"  µs/step {1e6 * a['seconds per step']:5.0f} {1e6 * b['seconds per step']:5.0f}"
            f"  forward dynamics {1e6 * a['seconds per forward dynamics']:5.1f} {1e6 * b['seconds per forward dynamics']:5.1f} µs"
            f"  s/s {a['seconds per simulated second']:.3f} {b['seconds per simulated second']:.3f}"
            f"  implicit {c['seconds per simulated second']:.4f} ({c['error']:.2%})",
            flush=True,
        )
    return results


def plot(results, path):
    import matplotlib.pyplot as plt
    from PIL import Image

    rows = results["sections"]
    n = np.array([int(k) for k in rows])

    def column(*keys):
        out = []
        for row in rows.values():
            for key in keys:
                row = row[key]
            out.append(row)
        return np.array(out)

    figure, ((accuracy, speed), (steps, cost)) = plt.subplots(2, 2, figsize=(8.5, 6), layout="constrained")
    for algorithm, style in (("composite", "o--C0"), ("articulated", "s-C1")):
        accuracy.plot(n, 100 * column(algorithm, "error"), style, label=f"{algorithm} body, explicit", mfc="none")
        speed.plot(n, column(algorithm, "seconds per simulated second"), style, mfc="none")
        steps.plot(n, column(algorithm, "steps"), style, mfc="none")
        cost.plot(n, 1e6 * column(algorithm, "seconds per step"), style, mfc="none")
        inside = 6e6 * column(algorithm, "seconds per forward dynamics")
        cost.plot(n, inside, style[1:], marker=".", alpha=0.5)
    accuracy.plot(n, 100 * column("implicit, step 0.01 s", "error"), "x-C2", label="implicit, step 0.01 s")
    accuracy.plot(n, 100 * column("implicit, default", "error"), "+:C3", label="implicit, default tolerances")
    accuracy.plot(n, 20 / n**2, "k:", lw=0.8, label="20 %/n²")
    accuracy.axhline(5, color="0.6", lw=0.8, label="5 %, [001]")
    speed.plot(n, column("implicit, step 0.01 s", "seconds per simulated second"), "x-C2")
    speed.plot(n, column("implicit, default", "seconds per simulated second"), "+:C3")
    steps.plot(n, column("steps by stability"), "k:", lw=0.8, label="limit of stability")
    steps.plot(10, PAPER["steps with 10 sections"], "*k", label="[001]")
    steps.plot(n, column("implicit, step 0.01 s", "steps"), "x-C2")
    steps.plot(n, column("implicit, default", "steps"), "+:C3")
    accuracy.set(ylabel="mean tip error [% of length]", yscale="log")
    speed.set(ylabel="time per simulated second [s]", yscale="log")
    steps.set(ylabel=f"steps in {results['duration']:g} s", yscale="log")
    cost.set(ylabel="time per explicit step [µs]", ylim=(0, None))
    cost.annotate("of it, six forward dynamics", (5, inside[4]), (4.2, 0.35 * inside[-1]), fontsize=8)
    for axes in (accuracy, speed, steps, cost):
        axes.set(xlabel="sections", xticks=n)
        axes.grid(alpha=0.3)
    accuracy.legend(fontsize=7)
    steps.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1, 0.2))
    figure.savefig(path, dpi=90)
    Image.open(path).quantize(64).save(path, optimize=True)  # few colours: a third of the size


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--figure", help="draw the figures of the paper into this file")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--duration", type=float, default=10.0, help="of the full runs [s]")
    args = parser.parse_args()
    results = measure(example("constant_strain_cantilever"), args.rounds, args.duration)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file, indent=1)
    if args.figure:
        plot(results, args.figure)


if __name__ == "__main__":
    main()
