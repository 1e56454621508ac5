"""Formulations of friction: a bristle, regularised friction, and MuJoCo's convex problem in each step, on a block on a slope and on robots.

    python benchmarks/contact.py            # the table of docs/environment.md; MuJoCo where it is installed

Creep is how far a block of 1 kg moves down a slope of 0.2 rad with μ = 0.5 in 5 s after it has come to rest; onset the relative error of
the force at which it begins to slide, when that grows by a fifth within a second. Times are processor seconds, the shortest of three.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pliant as pl

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples"))

G, SLOPE, MU = 9.81, 0.2, 0.5
LAWS = {
    "bristle": {},
    "regularised, 10 mm/s": {"stiction": 0.0},
    "regularised, 0.1 mm/s": {"stiction": 0.0, "slip_speed": 1e-4},
    "regularised, 1 µm/s": {"stiction": 0.0, "slip_speed": 1e-6},
}


def block(slope: float, **law: float) -> pl.System:
    """A block of 1 kg on a slope, along which x points down, that can be pulled at its foot."""
    robot = pl.Robot("block", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    body = robot.add_body("block", joint=pl.Free(), shape=pl.Box(0.1, 0.1, 0.1), mass=1.0)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.05))
    robot.add_contact("touch", body, "floor", stiffness=1e6, damping=1.0, friction=MU, **law)
    robot.add_wrench("pull", body.at((0, 0, -0.05)), force=(1, 0, 0))
    return robot.compile()


def sunk(system: pl.System, slope: float) -> np.ndarray:
    """As deep as its four corners carry it."""
    q = system.neutral()
    q[6] = -((G * np.cos(slope) / 4 / 1e6) ** (2 / 3))
    return q


def shortest(run: Callable[[], Any], rounds: int = 3) -> tuple[Any, float]:
    """What it gives, and the processor time [s] that it takes."""
    times, out = [], None
    for _ in range(rounds):
        begin = time.process_time()
        out = run()
        times.append(time.process_time() - begin)
    return out, min(times)


def creep(law: dict[str, float]) -> tuple[float, pl.Result, float]:
    """Creep in the last 5 of 7 s [m], the motion, and its time."""
    system = block(SLOPE, **law)
    run, seconds = shortest(lambda: pl.simulate(system, 7.0, start=sunk(system, SLOPE)))
    x = run.resample(np.array([2.0, 7.0])).positions("block")[:, 0]
    return float(abs(x[1] - x[0])), run, seconds


def onset(law: dict[str, float], **tolerances: float) -> float:
    """Relative error of the force at which it begins to slide, from where it is at the end."""
    system, limit = block(0.0, **law), MU * G
    rest = pl.solve_statics(system, start=sunk(system, 0.0))
    if law.get("stiction", 1.0):
        rest = pl.solve_statics(system, {"pull": 0.9 * limit}, start=rest)
    run = pl.simulate(system, 1.0, u={"pull": lambda t: limit * (0.9 + 0.2 * t)}, start=rest, **tolerances)
    x = np.ptp(run.positions("block")[[0, -1], 0]) - (0.1e-6 if law.get("stiction", 1.0) else 0.0)
    return float(abs(0.2 * (1 - np.cbrt(6 * x / (0.2 * limit))) - 0.1))


def robots(law: dict[str, float]) -> list[tuple[str, pl.Result, float]]:
    """The robot of tests/data/robots whose contact is hardest, and a soft quadruped that walks, with this friction."""
    import soft_quadruped

    hard = pl.load_model(HERE.parent / "tests" / "data" / "robots" / "robot_200.yaml").robot
    walker = soft_quadruped.build().robot.copy()
    out = []
    for name, robot, duration, inputs in (
        ("robot 200", hard, 1.0, None),
        ("quadruped", walker, 2.5, soft_quadruped.gait()),
    ):
        for key, contact in list(robot.contacts.items()):
            robot.contacts[key] = type(contact)(**{**vars(contact), **law})
        system = robot.compile()
        pl.simulate(system, 1e-5, u=inputs)
        run, seconds = shortest(lambda s=system, d=duration, u=inputs: pl.simulate(s, d, u=u, max_wall_time=120), 2)
        out.append((name, run, seconds))
    return out


MODEL = """<mujoco><option gravity="{gx} 0 {gz}" timestep="{step}" cone="elliptic" impratio="{ratio}" noslip_iterations="{noslip}"/>
<worldbody><geom type="plane" size="5 5 1" pos="0 0 -0.05" friction="{mu} 0.005 0.0001"/><body><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="1"
friction="{mu} 0.005 0.0001"/></body></worldbody></mujoco>"""


def mujoco(step: float, ratio: float, noslip: int) -> tuple[float, float]:
    """Creep of the same block in 5 s [m] and the time of 7 s, in MuJoCo."""
    import mujoco as mj

    gravity = {"gx": G * np.sin(SLOPE), "gz": -G * np.cos(SLOPE)}
    model = mj.MjModel.from_xml_string(MODEL.format(step=step, ratio=ratio, noslip=noslip, mu=MU, **gravity))

    def run() -> list[float]:
        data, x = mj.MjData(model), []
        for duration in (2.0, 5.0):
            for _ in range(round(duration / step)):
                mj.mj_step(model, data)
            x.append(float(data.qpos[0]))
        return x

    x, seconds = shortest(run)
    return abs(x[1] - x[0]), seconds


def main() -> None:
    print(
        "| friction | creep in 5 s | steps | time | onset, default | onset, rtol 1e-7 | robot 200: steps, time | quadruped: steps, time |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, law in LAWS.items():
        way, run, seconds = creep(law)
        errors = [onset(law), onset(law, rtol=1e-7, atol=1e-8)]
        hard = [f"{r.statistics.steps}, {t:.2f} s" if r.success else f"{r.message:.30}" for _n, r, t in robots(law)]
        print(
            f"| {name} | {1e6 * way:.2g} µm | {run.statistics.steps} | {1e3 * seconds:.1f} ms | {errors[0]:.0e} | {errors[1]:.0e} | {' | '.join(hard)} |",
            flush=True,
        )
    try:
        import mujoco as mj
    except ImportError:
        return
    for step, ratio, noslip in ((2e-3, 1.0, 0), (2e-3, 100.0, 0), (2e-3, 1.0, 10), (1e-4, 100.0, 0)):
        way, seconds = mujoco(step, ratio, noslip)
        tuned = f"step {1e3 * step:g} ms, impratio {ratio:g}, noslip {noslip}"
        print(
            f"| MuJoCo {mj.__version__}, {tuned} | {1e6 * way:.2g} µm | {round(7 / step)} | {1e3 * seconds:.1f} ms | | | | |"
        )


if __name__ == "__main__":
    main()
