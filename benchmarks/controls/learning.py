"""Environments and learning: steps per second, the published task of following a ball, and reaching by PPO and by gradients.

Published for the ball (1e6 steps of PPO): 18.7, 6.1 and 4.0 thousand seconds with 64, 256 and 512 environments on a GPU, 25.5 thousand with PyElastica; rewards 98 to 118,
whose formula is not known. Here the reward of a step is 1 within 10 mm less the distance over 0.1 m, so that 105 is the most that an episode of 105 steps can have.
"""

from __future__ import annotations

import importlib.util
import time

import learn_to_reach as reach
import numpy as np
from scipy.optimize import minimize

import pliant as pl
import pliant.gym as rooms
from pliant.system.kinematics import step_ends

PUBLISHED = {"GPU, 64": 18.7e3, "GPU, 256": 6.1e3, "GPU, 512": 4.0e3, "PyElastica": 25.5e3}  # s for 1e6 steps


def speed(name: str, count: int, steps: int, threads: int = 1) -> dict:
    """Steps of environments per second, of CPU time and by the clock, with smooth actions."""
    many = rooms.make_many(name, count, threads=threads)
    many.reset(seed=0)
    rng, a = np.random.default_rng(0), np.zeros((count, many.task.actions))
    best, wall = np.inf, np.inf
    for _ in range(4):
        clock, watch = time.process_time(), time.perf_counter()
        for _ in range(steps):
            a = np.clip(0.9 * a + 0.3 * rng.uniform(-1, 1, a.shape), -1, 1)
            many.step(a)
        best, wall = min(best, time.process_time() - clock), min(wall, time.perf_counter() - watch)
    many.close()
    row = {
        "what": f"{name}, {count} robots, {threads} threads",
        "per_core": count * steps / best,
        "per_second": count * steps / wall,
    }
    print(f"  {row['what']:36}{row['per_core']:8.0f} steps per second and core, {row['per_second']:8.0f} by the clock")
    return row


def accuracy(name: str) -> dict:
    """Largest error of the ends of rods and bodies in one second of smooth and of random actions [m], against steps of a sixteenth."""
    task, row = rooms.TASKS[name](), {"what": f"{name}, error"}
    for kind in ("smooth", "random"):
        flock, rng, a, U = rooms.Flock(task, 1), np.random.default_rng(3), np.zeros((1, task.actions)), []
        flock.reset(0, rng)
        for _ in range(round(1.0 / task.step)):
            jump = rng.uniform(-1, 1, a.shape)
            a = np.clip(0.9 * a + 0.3 * jump, -1, 1) if kind == "smooth" else jump
            flock.u[:] = task.drive(flock, a)
            U.append(flock.u[0].copy())
        ends = []
        for parts, tolerance in ((task.substeps, task.tolerance), (16 * task.substeps, 1e-10)):
            options = {"substeps": parts, "method": task.method, "tolerance": tolerance, "subdivide": True, "watch": 0}
            sim, places = pl.Stepper(task.system, flock.q[0], step=task.step, **options), []
            for u in U:
                sim.step(u)
                places.append(step_ends(task.system, sim.q))
            ends.append(np.array(places))
        row[f"{kind}_mm"] = 1e3 * float(np.linalg.norm(ends[0] - ends[1], axis=2).max())
    print(f"  {row['what']:36}{row['smooth_mm']:8.3f} mm with smooth, {row['random_mm']:.3f} mm with random actions")
    return row


def by_ppo(task: rooms.Task, steps: int, count: int) -> dict:
    """Train a policy; CPU time [s], what it does before and after."""
    import torch

    from pliant.gym.stable import ppo

    torch.set_num_threads(1)
    learner = ppo(task, num_envs=count)

    def judge() -> rooms.Evaluation:
        return rooms.evaluate(lambda seen: learner.predict(seen, deterministic=True)[0], task, seed=10_000)

    before, clock, watch = judge(), time.process_time(), time.perf_counter()
    learner.learn(steps)
    spent, wall = time.process_time() - clock, time.perf_counter() - watch
    after = judge()
    row = {
        "what": f"{type(task).__name__} by PPO", "steps": steps, "cpu_s": spent, "wall_s": wall, "reward_before": before.reward,
        "reward": after.reward, "success_before": before.success, "success": after.success, "final_before": before.final, "final": after.final,
    }  # fmt: skip
    print(
        f"  {row['what']}: {steps} steps, {spent:.0f} s of CPU time ({wall:.0f} s by the clock); reward {before.reward:.1f} → {after.reward:.1f}, "
        f"near the goal {100 * before.success:.1f} → {100 * after.success:.1f} % of the time, at the end {100 * before.final:.0f} → {100 * after.final:.0f} %"
    )
    return row


def by_gradients(iterations: int) -> list[dict]:
    """A policy by gradients through the simulator, and inputs for each goal alone by L-BFGS."""
    system, rest = reach.build()
    test = reach.goals(system, rest, 64, seed=3)
    clock = time.process_time()
    policy, _costs = reach.train(system, rest, iterations)
    spent = time.process_time() - clock
    final = float((reach.distances(system, rest, policy, test)[:, -1] < reach.NEAR).mean())
    motions = iterations * reach.BATCH
    rows = [{"what": "Reach, policy by gradients", "steps": 50 * motions, "cpu_s": spent, "final": final}]
    print(
        f"  policy by gradients: {motions} motions of 50 steps, {spent:.0f} s of CPU time, {100 * final:.0f} % of goals"
    )
    clock, counted, near, few = time.process_time(), 0, [], test[:8]
    for goal in few:

        def value(x: np.ndarray, goal: np.ndarray = goal) -> tuple[float, np.ndarray]:
            found = reach.move(system, rest, x.reshape(-1, 3)).gradient(reach.cost_of(goal))
            return found.value, found.u.ravel()

        best = minimize(
            value, np.full(33, 2.0), jac=True, method="L-BFGS-B", bounds=[(0, reach.MOST)] * 33, options={"maxiter": 30}
        )
        counted += best.nfev
        tip = reach.move(system, rest, best.x.reshape(-1, 3)).positions("arm.tip")
        near.append(np.linalg.norm(tip - goal, axis=1) < reach.NEAR)
    spent = (time.process_time() - clock) / len(few)
    rows.append({
        "what": "Reach, each goal alone by L-BFGS", "steps": 50 * counted / len(few), "cpu_s": spent, "final": float(np.mean([x[-1] for x in near])),
        "success": float(np.mean(near)),
    })  # fmt: skip
    print(
        f"  each goal alone by L-BFGS: {counted / len(few):.0f} motions, {spent:.2f} s of CPU time, {100 * rows[-1]['final']:.0f} % of goals, "
        f"near {100 * rows[-1]['success']:.0f} % of the time"
    )
    return rows


def run(quick: bool = False) -> list[dict]:
    rows = [speed(name, 64, 5 if quick else 25) for name in rooms.TASKS]
    rows += [speed("FollowBall", 256, 5 if quick else 25, threads=2)]
    rows += [accuracy(name) for name in rooms.TASKS]
    rows += by_gradients(10 if quick else 200)
    if not importlib.util.find_spec("stable_baselines3"):
        print("  PPO needs stable-baselines3: pip install 'pliant[learn]'")
        return rows
    rows.append(by_ppo(rooms.Reach(), 8_192 if quick else 60_000, 32))
    ball = by_ppo(rooms.FollowBall(), 16_384 if quick else 1_000_000, 64)
    ball["cpu_s_of_1e6"] = ball["cpu_s"] / ball["steps"] * 1e6
    print(
        f"  1e6 steps: {ball['cpu_s_of_1e6']:.0f} s on one core; published: {', '.join(f'{k} {v / 1e3:g} ks' for k, v in PUBLISHED.items())}"
    )
    return [*rows, ball]


if __name__ == "__main__":
    run()
