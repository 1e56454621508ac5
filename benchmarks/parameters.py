"""Changing a number of a compiled robot against compiling it again.

    python benchmarks/parameters.py [--rounds 200]

Times are the minimum of many rounds, in each of which every change is made ten times, as a sweep does; compiling once.
"""

from __future__ import annotations

import argparse
import time

from kernels import hybrid, manipulator

import pliant as pl


def robots() -> dict[str, tuple[pl.Robot, str]]:
    """Robots of the kernel benchmarks, with the rod whose numbers are changed."""
    found = {
        "manipulator, 7 points": manipulator(7),
        "manipulator, 20 points": manipulator(20),
        "hybrid, 4 arms": hybrid(4),
    }
    out = {}
    for name, made in found.items():
        robot = made.robot if isinstance(made, pl.System) else made
        out[name] = robot, next(link.name for link in robot.links if link.is_rod)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    print(f"{'robot':<24}{'compile':>12}{'modulus':>12}{'length':>12}{'gravity':>12}")
    for name, (robot, rod) in robots().items():
        system = robot.compile()
        young, length = system.parameters[f"{rod}.young"], system.parameters[f"{rod}.length"]
        jobs = {
            "compile": robot.compile,
            "modulus": lambda: system.with_parameters({f"{rod}.young": 1.1 * young}),
            "length": lambda: system.with_parameters({f"{rod}.length": 1.1 * length}),
            "gravity": lambda: system.with_parameters({"gravity.z": -1.0}),
        }
        best = dict.fromkeys(jobs, float("inf"))
        for _ in range(rounds):
            for job, function in jobs.items():
                count = 1 if job == "compile" else 10
                start = time.perf_counter()
                for _ in range(count):
                    function()
                best[job] = min(best[job], (time.perf_counter() - start) / count)
        print(f"{name:<24}" + "".join(f"{1e6 * best[job]:9.0f} µs" for job in jobs))


if __name__ == "__main__":
    main()
