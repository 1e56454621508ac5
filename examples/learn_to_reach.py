"""An arm learns to reach: a policy trained by exact gradients through the simulator, beside reinforcement learning.

A hanging silicone arm with three cables is to bring its tip to any point that it can reach, from rest within two seconds. The policy is a small network that makes the
tensions of these two seconds from the goal. Each iteration moves the arm towards eight random goals; the gradient of the squared distance over time goes back through
every step of the motion, and on through the network. The same task by reinforcement learning (PPO, on the environment ``pliant/Reach-v0``) is run beside it
where Stable-Baselines3 is installed: it needs no gradients, sees the arm while it moves, and takes about as long.
"""

import importlib.util
import time

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

QUICK = False
MOST, STEP, KNOTS, NEAR, RATE, BATCH = 8.0, 0.04, 6, 0.01, 0.1, 8  # N, s, –, m, of learning, motions each
MIDDLE, SPREAD = np.array([0, 0, -0.28]), np.array([0.06, 0.06, 0.02])  # of the goals [m]


def build() -> tuple[pl.System, pl.Equilibrium]:
    """The arm of the environment ``pliant/Reach-v0``, and how it hangs."""
    silicone = pl.Material(young=1e6, poisson=0.5, density=1070, viscosity=1e4)
    robot = pl.Robot("arm with three cables")
    arm = robot.add_rod(
        "arm", offset=pl.rotate("y", np.pi / 2), length=0.3, section=pl.Circle(0.012), material=silicone, strains=pl.Strains.kirchhoff(2),
    )  # fmt: skip
    for k, angle in enumerate(np.radians([90, 210, 330]), start=1):
        robot.add_tendon(f"cable{k}", arm, y=0.01 * np.cos(angle), z=0.01 * np.sin(angle))
    system = robot.compile()
    return system, pl.solve_statics(system)


def goals(system: pl.System, rest: pl.Equilibrium, count: int, seed: int) -> np.ndarray:
    """Where the tip is at rest under random tensions, (count, 3)."""
    rng = np.random.default_rng(seed)
    U = rng.uniform(0, MOST, (count, 3))
    U[np.arange(count), rng.integers(3, size=count)] = 0.0
    return np.array([system.pose("arm.tip", pl.solve_statics(system, u, start=rest).q)[:3, 3] for u in U])


class Policy:
    """A network with one layer of 32 units: tensions (KNOTS, 3) from a goal; `pull` is its transposed derivative."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.p = [rng.normal(0, 1, (32, 3)), np.zeros(32), rng.normal(0, 0.1, (3 * KNOTS, 32)), np.zeros(3 * KNOTS)]

    def __call__(self, goal: np.ndarray) -> np.ndarray:
        W, b, V, c = self.p
        self._x = (goal - MIDDLE) / SPREAD
        self._h = np.tanh(W @ self._x + b)
        self._y = 1 / (1 + np.exp(-(V @ self._h + c)))
        return MOST * self._y.reshape(KNOTS, 3)

    def pull(self, g: np.ndarray) -> list[np.ndarray]:
        y = MOST * g.ravel() * self._y * (1 - self._y)
        h = (self.p[2].T @ y) * (1 - self._h**2)
        return [np.outer(h, self._x), h, np.outer(y, self._h), y]


def cost_of(goal: np.ndarray) -> object:
    return pl.Track("arm.tip", lambda t: goal, weight=1e2) + pl.Reach("arm.tip", goal, weight=3e2)


def move(system: pl.System, rest: pl.Equilibrium, U: np.ndarray, tolerance: float = 1e-8) -> pl.Rollout:
    return pl.rollout(system, U, step=STEP, duration=2.0, inputs="linear", start=rest, method="sdirk3", tolerance=tolerance)  # fmt: skip


def train(system: pl.System, rest: pl.Equilibrium, iterations: int = 200) -> tuple[Policy, list[float]]:
    """The policy, by Adam, and the mean cost of each iteration."""
    policy, seen, costs, rng = Policy(), goals(system, rest, 256, seed=1), [], np.random.default_rng(2)
    mean, square = ([0 * p for p in policy.p] for _ in range(2))
    for k in range(1, iterations + 1):
        found = []
        for goal in seen[rng.integers(len(seen), size=BATCH)]:
            own = move(system, rest, policy(goal)).gradient(cost_of(goal))
            found.append([*policy.pull(own.u), own.value])
        *gradient, value = (sum(parts) / BATCH for parts in zip(*found))
        for p, g, m, s in zip(policy.p, gradient, mean, square):
            m += 0.1 * (g - m)
            s += 0.01 * (g * g - s)
            p -= RATE * (1 - k / iterations) * (m / (1 - 0.9**k)) / (np.sqrt(s / (1 - 0.99**k)) + 1e-9)
        costs.append(value)
    return policy, costs


def distances(system: pl.System, rest: pl.Equilibrium, policy: Policy, where: np.ndarray) -> np.ndarray:
    """Between tip and goal over time [m], (goals, times)."""
    return np.array([np.linalg.norm(move(system, rest, policy(g)).positions("arm.tip") - g, axis=1) for g in where])


def reinforce() -> str:
    import pliant.gym
    import pliant.gym.stable

    task, clock = pliant.gym.Reach(), time.process_time()
    learner, spent = pliant.gym.stable.ppo(task).learn(60_000), time.process_time() - clock
    found = pliant.gym.evaluate(lambda seen: learner.predict(seen, deterministic=True)[0], task, seed=10_000)
    return f"{100 * found.final:.1f} % of goals reached, 60000 steps, {spent:.1f} s of CPU time"


def figures(run: tuple[list[float], np.ndarray, np.ndarray]) -> dict[str, object]:
    costs, before, after = run
    picture, (left, right) = panels(1, 2, size=(9, 3.4))
    left.semilogy(costs)
    left.set(xlabel="iteration", ylabel="mean cost")
    for rows, color, name in ((before, "C1", "before"), (after, "C0", "after")):
        right.plot(STEP * np.arange(51), 1e3 * rows[:12].T, color=color, lw=0.7, label=[name] + ["_"] * 11)
    right.set(xlabel="t [s]", ylabel="distance from the goal [mm]")
    legend(right)
    return {"learning": picture}


def main(figures_dir: str | None = None) -> None:
    system, rest = build()
    test, clock = goals(system, rest, 64, seed=3), time.process_time()
    (policy, costs), spent = train(system, rest), time.process_time() - clock
    before, after = (distances(system, rest, each, test) for each in (Policy(), policy))
    for name, rows in (("before", before), ("after", after)):
        print(f"{name:8}{(rows[:, -1] < NEAR).mean():7.1%} of goals reached, {1e3 * rows[:, -1].mean():.1f} mm off")
    print(f"by gradients: {BATCH * len(costs)} motions of 50 steps, {spent:.1f} s of CPU time")
    if importlib.util.find_spec("stable_baselines3") and importlib.util.find_spec("gymnasium"):
        print("by reinforcement:", reinforce())
    gallery.save(figures_dir, figures, (costs, before, after))


def check() -> None:
    system, rest = build()
    # the gradient goes through simulator and network: against differences of fourth order
    policy, goal = Policy(), np.array([0.1, 0.05, -0.25])
    exact = policy.pull(move(system, rest, policy(goal), 1e-12).gradient(cost_of(goal)).u)
    for k, at in ((0, (3, 1)), (2, (4, 7)), (3, (8,))):
        slope = 0.0
        for h, weight in ((4e-3, -1), (2e-3, 8), (-2e-3, -8), (-4e-3, 1)):
            policy.p[k][at] += h
            slope += weight * move(system, rest, policy(goal), 1e-12).cost(cost_of(goal)) / 24e-3
            policy.p[k][at] -= h
        assert abs(slope - exact[k][at]) < 1e-8 * np.abs(exact[k]).max()
    policy, _costs = train(system, rest, iterations=25)  # it learns: goals that it has never seen
    test, policies = goals(system, rest, 16, seed=3), (Policy(), policy)
    before, after = (distances(system, rest, each, test)[:, -1].mean() for each in policies)
    assert before > 0.06 > 0.02 > after


if __name__ == "__main__":
    main()
    check()
