"""A rollout as a function of plain arrays, with the products of its derivative: what the adapters to other programs have in common."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.validate import unknown_name
from ..solve.simulate import initial_state
from ..system import System, needs_system
from .coordinates import change_along, change_of_entries, slopes_along, slopes_by_entries, unit
from .rollout import Rollout, rollout

__all__ = ["OPTIONS", "MotionFunction", "Point", "Recent", "check_options", "copied"]

Array = NDArray[np.float64]


class Point(NamedTuple):
    """All that a motion is a function of, or changes of it, or derivatives by it."""

    U: Array  # (m, nu)
    start: Array  # (nq,)
    velocity: Array  # (nv,)
    values: Array  # (k,) of parameters

    def key(self) -> tuple[Any, ...]:
        """What tells it from others."""
        return tuple((x.shape, x.tobytes()) for x in self)


OPTIONS = tuple(
    name
    for name, x in signature(rollout).parameters.items()
    if x.kind is x.KEYWORD_ONLY and name not in ("start", "velocity")
)
"""Those of `rollout` that are no arguments of the function that it is."""


def check_options(options: Iterable[str], allowed: Iterable[str]) -> None:
    """Error unless `rollout` is given options that it has."""
    for name in options:
        if name not in allowed:
            raise TypeError(f"option {name!r} is unknown here; there are {', '.join(allowed)}.")


def copied(x: Any) -> Array:
    """A copy as a writeable array of C order, for which kernels are compiled."""
    return np.array(x, dtype=np.float64, order="C")


class Recent:
    """The last few results of a function, by key; for any thread."""

    def __init__(self, keep: int) -> None:
        self.keep, self.lock = keep, threading.Lock()
        self.found: OrderedDict[Any, Any] = OrderedDict()

    def of(self, key: Any, compute: Callable[[], Any]) -> Any:
        """The result that belongs to a key, computed if it is not kept; the oldest is forgotten."""
        with self.lock:
            if key in self.found:
                self.found.move_to_end(key)
                return self.found[key]
        value = compute()
        with self.lock:
            self.found[key] = value
            while len(self.found) > self.keep:
                self.found.popitem(last=False)
        return value


class MotionFunction:
    """q (n + 1, nq) and v (n + 1, nv) as a function of inputs (m, nu), start (nq,), velocity (nv,) and parameters.

    Quaternions of the start count as rotations, whatever their length.

    Parameters
    ----------
    system : System
    start, velocity
        Used where none is given; as in `rollout`.
    options : mapping
        Others of `rollout`.
    """

    def __init__(self, system: System, start: Any, velocity: Any, options: Mapping[str, Any]) -> None:
        needs_system("rollout", system)
        check_options(options, OPTIONS)
        self.system, self.options = system, dict(options)
        self.start, self.velocity, self.options["t0"] = initial_state(system, start, velocity, self.options.get("t0"))

    def check(self, names: tuple[str, ...]) -> None:
        """Error unless there are such parameters."""
        known = self.system.parameters
        for name in names:
            if name not in known:
                raise unknown_name("parameter", str(name), known)

    def run(self, names: tuple[str, ...], at: Point) -> Rollout:
        """The motion."""
        system = self.system.with_parameters(dict(zip(names, at.values.tolist()))) if names else self.system
        return rollout(system, at.U, start=unit(system, system.check_q(at.start)), velocity=at.velocity, **self.options)

    @staticmethod
    def pull(run: Rollout, names: tuple[str, ...], start: Array, q: Array | None, v: Array | None) -> Point:
        """Derivatives by everything from those by the entries of q and by v."""
        system = run.system
        found = run.pull(q=None if q is None else slopes_along(system, run.q, q), v=v)
        values = np.array([found.parameters[name] for name in names])
        return Point(found.u, slopes_by_entries(system, start, found.start), found.velocity, values)

    @staticmethod
    def push(run: Rollout, names: tuple[str, ...], start: Array, change: Point) -> tuple[Array, Array]:
        """Changes of q, by entries, and v with a change of everything."""
        changes = {name: x for name, x in zip(names, change.values.tolist()) if x}
        found = run.push(change.U, change_along(run.system, start, change.start), change.velocity, changes)
        return change_of_entries(run.system, run.q, found.q), found.v
