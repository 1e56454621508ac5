"""Many robots for Stable-Baselines3, which has an interface of its own for many environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise ImportError("pliant.gym.stable needs stable-baselines3: pip install 'pliant[learn]'") from None

from .task import Task
from .vector import ManyEnv

__all__ = ["StableEnv", "ppo"]


class StableEnv(VecEnv):
    """A `ManyEnv` (made with ``autoreset="same"``) as Stable-Baselines3 wants it.

    Parameters
    ----------
    many : ManyEnv
    """

    def __init__(self, many: ManyEnv) -> None:
        if many.metadata["autoreset_mode"].value != "SameStep":
            raise ValueError('the environment must begin episodes at once: make it with autoreset="same".')
        self.many = many
        self._actions: NDArray[Any] = np.zeros(0)
        self._returns, self._ages = np.zeros(many.num_envs), np.zeros(many.num_envs, dtype=int)
        super().__init__(many.num_envs, many.single_observation_space, many.single_action_space)

    def reset(self) -> NDArray[np.float32]:
        """Begin an episode with all robots."""
        seed = self._seeds[0]
        self._reset_seeds()
        self._returns[:], self._ages[:] = 0.0, 0
        return self.many.reset(seed=seed)[0]

    def step_async(self, actions: NDArray[Any]) -> None:
        """What is to be done,"""
        self._actions = actions

    def step_wait(self) -> Any:
        """and what became of it."""
        seen, reward, ended, cut, info = self.many.step(self._actions)
        over = ended | cut
        self._returns += reward
        self._ages += 1
        infos: list[dict[str, Any]] = [{"success": bool(x)} for x in info["success"]]
        for k in np.flatnonzero(over):
            infos[k]["terminal_observation"] = info["final_obs"][k]
            infos[k]["TimeLimit.truncated"] = bool(cut[k] and not ended[k])
            infos[k]["is_success"] = infos[k]["success"]
            infos[k]["episode"] = {"r": float(self._returns[k]), "l": int(self._ages[k])}
        self._returns[over], self._ages[over] = 0.0, 0
        return seen, reward.astype(np.float32), over, infos

    def close(self) -> None:
        """End the threads."""
        self.many.close()

    def _all(self, indices: Any) -> Sequence[int]:
        return list(self._get_indices(indices))

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute, the same of all."""
        return [getattr(self.many, attr_name) for _ in self._all(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of all."""
        setattr(self.many, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method, once for all."""
        return [getattr(self.many, method_name)(*args, **kwargs)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """None is."""
        return [False for _ in self._all(indices)]


def ppo(task: Task, *, num_envs: int = 32, threads: int = 1, seed: int = 0, **options: Any) -> Any:
    """A learner of Stable-Baselines3 by proximal policy optimisation, with settings that suit short episodes of smooth tasks.

    Parameters
    ----------
    task : Task
    num_envs, threads : int
        As of `ManyEnv`.
    seed : int
    **options
        Of ``stable_baselines3.PPO``, instead of those here.

    Returns
    -------
    stable_baselines3.PPO
        ``learner.learn(60_000)`` trains it, ``learner.predict(seen, deterministic=True)[0]`` is what it does.

    Examples
    --------
    >>> import pliant.gym
    >>> from pliant.gym.stable import ppo
    >>> task = pliant.gym.FollowBall()
    >>> learner = ppo(task, num_envs=4, n_steps=8, batch_size=32).learn(32)
    >>> found = pliant.gym.evaluate(lambda seen: learner.predict(seen, deterministic=True)[0], task, episodes=4)
    """
    env = StableEnv(ManyEnv(task, num_envs, threads=threads, autoreset="same"))
    env.seed(seed)
    given: dict[str, Any] = {
        "n_steps": 64, "batch_size": 512, "n_epochs": 10, "learning_rate": 1e-3, "gamma": 0.95, "gae_lambda": 0.9, "device": "cpu",
        "policy_kwargs": {"net_arch": [64, 64], "log_std_init": -0.5},
    }  # fmt: skip
    return PPO("MlpPolicy", env, seed=seed, **(given | options))
