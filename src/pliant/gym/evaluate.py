"""How good a policy is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..model.validate import integer
from .task import Task
from .vector import ManyEnv

__all__ = ["Evaluation", "evaluate"]


class Evaluation(NamedTuple):
    """Of some episodes of a policy."""

    reward: float  # mean sum of an episode
    success: float  # share of the steps after which the robot is where it should be
    final: float  # share of the episodes that end so


def evaluate(policy: Callable[[Any], Any], task: Task, *, episodes: int = 64, seed: int = 0) -> Evaluation:
    """One episode of each of some robots at once.

    Parameters
    ----------
    policy : function
        Actions (n, actions) from observations (n, observations).
    task : Task
    episodes : int
    seed : int
        Of the first; the others have the numbers after it.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant.gym
    >>> task = pliant.gym.Reach()
    >>> found = pliant.gym.evaluate(lambda seen: np.zeros((len(seen), 3)), task, episodes=4)
    >>> found.final
    0.0
    """
    many = ManyEnv(task, integer("episodes", episodes, minimum=1), autoreset="same")
    seen, _info = many.reset(seed=seed)
    total, good = np.zeros(episodes), np.zeros(episodes)
    on, last = np.ones(episodes, dtype=bool), np.zeros(episodes, dtype=bool)
    steps = 0
    while on.any():
        seen, reward, ended, cut, info = many.step(policy(seen))
        total += np.where(on, reward, 0.0)
        good += info["success"] & on
        steps += int(on.sum())
        last = np.where(on, info["success"], last)
        on &= ~(ended | cut)
    return Evaluation(float(total.mean()), float(good.sum() / steps), float(last.mean()))
