"""One robot as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ..model.validate import choice
from .flock import Flock
from .picture import Picture
from .task import Task

__all__ = ["Env", "spaces"]


def spaces(task: Task) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """Spaces of observations and actions of one robot."""
    seen = gymnasium.spaces.Box(-np.inf, np.inf, (task.observations,), np.float32)
    return seen, gymnasium.spaces.Box(-1.0, 1.0, (task.actions,), np.float32)


class Env(gymnasium.Env[Any, Any]):
    """A task for one robot; made by ``gymnasium.make("pliant/Reach-v0")`` or from a task of your own.

    Parameters
    ----------
    task : Task
    render_mode : {None, "rgb_array", "human"}
        Pictures as arrays, or in a window of matplotlib.
    randomize : dict, optional
        Bounds (low, high) of parameters of the robot by name (`System.parameters`), from which each episode draws anew.

    Examples
    --------
    >>> import gymnasium
    >>> import pliant.gym
    >>> env = gymnasium.make("pliant/FollowBall-v0", randomize={"arm.young": (2e5, 3e5)})
    >>> seen, info = env.reset(seed=1)
    >>> seen, reward, ended, cut, info = env.step(env.action_space.sample())
    >>> seen.shape, sorted(info)
    ((16,), ['failed', 'success'])
    """

    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 25}  # noqa: RUF012

    def __init__(
        self,
        task: Task,
        *,
        render_mode: str | None = None,
        randomize: dict[str, tuple[float, float]] | None = None,
    ) -> None:
        if render_mode is not None:
            choice("render_mode", render_mode, self.metadata["render_modes"])
        self.task, self.render_mode = task, render_mode
        self.metadata = {**type(self).metadata, "render_fps": round(1 / task.step)}
        self.flock = Flock(task, 1, randomize=randomize)
        self.observation_space, self.action_space = spaces(task)
        self._picture: Picture | None = None
        self._all = np.ones(1, dtype=bool)

    def _seen(self) -> NDArray[np.float32]:
        return self.task.observe(self.flock)[0].astype(np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self.flock.reset(0, self.np_random)
        if self.render_mode == "human":
            self.render()
        return self._seen(), {}

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """One action; it is cut to its bounds. An episode in which the robot cannot move on ends, and `info` says so."""
        task, flock = self.task, self.flock
        actions = np.clip(np.asarray(action, dtype=np.float64), -1.0, 1.0)[None]
        failed = bool(flock.step(task.drive(flock, actions), self._all)[0])
        task.move(flock)
        reward, ended, success = task.judge(flock)
        if self.render_mode == "human":
            self.render()
        info = {"success": bool(success[0]), "failed": failed}
        return self._seen(), float(reward[0]), bool(ended[0]) or failed, bool(flock.age[0] >= task.horizon), info

    def render(self) -> Any:
        """A picture (height, width, 3) of bytes, or the window brought up to date."""
        if self.render_mode is None:
            return None
        if self._picture is None:
            self._picture = Picture(self.task, window=self.render_mode == "human")
        return self._picture.draw(self.flock, 0)

    def close(self) -> None:
        """Close the window, if there is one."""
        self.flock.close()
        if self._picture is not None:
            self._picture.close()
            self._picture = None
