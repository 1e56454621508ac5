"""Many robots as one Gymnasium environment: rows of arrays for Python, threads for the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from ..model.validate import choice, integer
from .env import spaces
from .flock import Flock
from .picture import Picture
from .task import Task

__all__ = ["ManyEnv"]

Truths = NDArray[np.bool_]
_MODES = {"next": AutoresetMode.NEXT_STEP, "same": AutoresetMode.SAME_STEP}


class ManyEnv(VectorEnv[NDArray[np.float32], NDArray[np.float32], NDArray[Any]]):
    """A task for many robots at once; made by ``gymnasium.make_vec("pliant/Reach-v0", num_envs=64)``.

    Robot k with seed s moves as one environment with seed s + k does, to the last bit.

    Parameters
    ----------
    task : Task
    num_envs : int
        How many robots.
    threads : int
        That compute steps; what is found does not depend on it.
    autoreset : {"next", "same"}
        Whether a robot whose episode is over begins the next one with the step after, as is usual in Gymnasium, or at once (`info` has the last
        observation then).
    render_mode : {None, "rgb_array"}
    randomize : dict, optional
        As of `Env`.

    Examples
    --------
    >>> import gymnasium
    >>> import pliant.gym
    >>> envs = gymnasium.make_vec("pliant/FollowBall-v0", num_envs=4)
    >>> seen, info = envs.reset(seed=1)
    >>> seen, reward, ended, cut, info = envs.step(envs.action_space.sample())
    >>> seen.shape, reward.shape
    ((4, 16), (4,))
    """

    def __init__(
        self,
        task: Task,
        num_envs: int = 1,
        *,
        threads: int = 1,
        autoreset: str = "next",
        render_mode: str | None = None,
        randomize: dict[str, tuple[float, float]] | None = None,
    ) -> None:
        if render_mode is not None:
            choice("render_mode", render_mode, ("rgb_array",))
        self.num_envs = integer("num_envs", num_envs, minimum=1)
        self.task, self.render_mode = task, render_mode
        self._mode = _MODES[str(choice("autoreset", autoreset, _MODES))]
        self.metadata = {
            "render_modes": ["rgb_array"],
            "render_fps": round(1 / task.step),
            "autoreset_mode": self._mode,
        }
        self.flock = Flock(task, self.num_envs, integer("threads", threads, minimum=1), randomize)
        self.single_observation_space, self.single_action_space = spaces(task)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._generators = [seeding.np_random(None)[0] for _ in range(self.num_envs)]
        self._over: Truths = np.ones(self.num_envs, dtype=bool)
        self._begun = False
        self._pictures: Picture | None = None

    def _seen(self) -> NDArray[np.float32]:
        return self.task.observe(self.flock).astype(np.float32)

    def _begin(self, which: Truths) -> None:
        for k in np.flatnonzero(which):
            self.flock.reset(int(k), self._generators[k])

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode with all robots, or with those of ``options["reset_mask"]`` (n,)."""
        n = self.num_envs
        seeds = [None] * n if seed is None else [seed + k for k in range(n)] if isinstance(seed, int) else list(seed)
        if len(seeds) != n:
            raise ValueError(f"seed has {len(seeds)} numbers for {n} environments.")
        which = np.asarray((options or {}).get("reset_mask", np.ones(n, dtype=bool)))
        for k, own in enumerate(seeds):
            if own is not None and which[k]:
                self._generators[k] = seeding.np_random(own)[0]
        self._begin(which if self._begun else np.ones(n, dtype=bool))
        self._over = self._over & ~which if self._begun else np.zeros(n, dtype=bool)
        self._begun = True
        return self._seen(), {}

    def step(
        self, actions: ArrayLike
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], Truths, Truths, dict[str, Any]]:
        """One action of each robot, (n, actions)."""
        if not self._begun:
            raise ResetNeeded("the robots have no start yet: call reset before step.")
        task, flock = self.task, self.flock
        rows = np.clip(np.asarray(actions, dtype=np.float64).reshape(self.num_envs, task.actions), -1.0, 1.0)
        on = ~self._over
        failed = flock.step(task.drive(flock, rows), on)
        task.move(flock)
        reward, ended, success = task.judge(flock)
        ended = (ended | failed) & on
        cut = (flock.age >= task.horizon) & on
        reward = np.where(on, reward, 0.0)
        info: dict[str, Any] = {"success": success & on, "failed": failed}
        if self._mode is AutoresetMode.NEXT_STEP:
            self._begin(~on)
            self._over = ended | cut
            return self._seen(), reward, ended, cut, info
        seen, over = self._seen(), ended | cut
        if over.any():
            info = {**info, "final_obs": seen, "_final_obs": over, "final_info": dict(info), "_final_info": over}
            self._begin(over)
            seen = self._seen()
        return seen, reward, ended, cut, info

    def render(self) -> Any:
        """Pictures of all robots, as a tuple of arrays (height, width, 3)."""
        if self.render_mode is None:
            return None
        if self._pictures is None:
            self._pictures = Picture(self.task, window=False)
        return tuple(self._pictures.draw(self.flock, k) for k in range(self.num_envs))

    def close_extras(self, **_kwargs: Any) -> None:
        """End the threads."""
        self.flock.close()
