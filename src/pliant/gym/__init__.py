"""Environments for reinforcement learning, for Gymnasium: importing this room registers them.

``gymnasium.make("pliant/Reach-v0")`` and ``gymnasium.make_vec("pliant/Reach-v0", num_envs=64)`` make those of `TASKS`.
"""

from typing import Any

try:
    import gymnasium
except ImportError:
    raise ImportError("pliant.gym needs gymnasium: pip install 'pliant[gym]'") from None

from .arms import FollowBall, Push, Reach, Track
from .env import Env
from .evaluate import Evaluation, evaluate
from .flock import Flock
from .gaits import Crawl, Swim
from .task import Judged, Task
from .vector import ManyEnv

__all__ = [
    "TASKS",
    "Crawl",
    "Env",
    "Evaluation",
    "Flock",
    "FollowBall",
    "Judged",
    "ManyEnv",
    "Push",
    "Reach",
    "Swim",
    "Task",
    "Track",
    "evaluate",
    "make",
    "make_many",
]

TASKS: dict[str, type[Task]] = {task.__name__: task for task in (Reach, Track, FollowBall, Push, Swim, Crawl)}
"""Tasks by the names of their environments, ``"pliant/<name>-v0"``."""


def make(task: str, **options: Any) -> Env:
    """One of the tasks for one robot; options as of `Env`.

    Examples
    --------
    >>> import pliant.gym
    >>> env = pliant.gym.make("Reach", render_mode="rgb_array")
    >>> env.reset(seed=0)[0].shape
    (12,)
    """
    return Env(TASKS[task](), **options)


def make_many(task: str, num_envs: int = 1, **options: Any) -> ManyEnv:
    """One of the tasks for many robots; options as of `ManyEnv`.

    Examples
    --------
    >>> import pliant.gym
    >>> envs = pliant.gym.make_many("Reach", 8, threads=2)
    >>> envs.reset(seed=0)[0].shape
    (8, 12)
    """
    return ManyEnv(TASKS[task](), num_envs, **options)


for _name in TASKS:
    gymnasium.register(
        f"pliant/{_name}-v0",
        entry_point="pliant.gym:make",
        vector_entry_point="pliant.gym:make_many",
        kwargs={"task": _name},
    )
