"""Inputs over time: constants, functions of time, feedback, and the same for generalised forces."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..system import System

__all__ = ["Drive", "State", "function_name"]

Array = NDArray[np.float64]


class State(NamedTuple):
    """What a feedback law sees."""

    t: float
    q: Array
    v: Array


class Drive:
    """Evaluates u and tau, each None, constant, a function of t, or of (t, state); u also a dictionary of functions of t."""

    def __init__(self, system: System, u: Any = None, tau: Any = None) -> None:
        self.system = system
        self._u, self.u_feedback = self._reader(u, "u")
        self._tau, self.tau_feedback = self._reader(tau, "tau")

    @property
    def feedback(self) -> bool:
        """Whether anything depends on the state."""
        return self.u_feedback or self.tau_feedback

    def _reader(self, value: Any, name: str) -> tuple[Callable[[float, Array, Array], Array], bool]:
        read: Callable[[Any], Array]
        if name == "u":
            read = self.system.inputs
        else:

            def read(x: Any) -> Array:
                return np.zeros(self.system.nv) if x is None else self.system.check_v(name, x)

        if name == "u" and isinstance(value, Mapping) and any(callable(entry) for entry in value.values()):
            value = _each(value)
        if not callable(value):
            constant = read(value)
            return (lambda t, q, v: constant), False
        feedback = _takes_state(value, name)

        def evaluate(t: float, q: Array, v: Array) -> Array:
            try:
                given = value(t, State(t, q, v)) if feedback else value(t)
                if given is None:
                    raise TypeError(f"{name} returned None: does the function lack a `return`?")
                return read(given)
            except Exception as error:
                error.add_note(f"in {name}, the function {function_name(value)!r}, at t = {t:.6g} s")
                raise

        return evaluate, feedback

    def __call__(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """(u, tau) at a time and state."""
        return self._u(t, q, v), self._tau(t, q, v)


def function_name(function: Callable[..., Any]) -> str:
    """What to call a user's function in messages."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _each(values: Mapping[str, Any]) -> Callable[[float], dict[str, Any]]:
    """One function of t from a dictionary of numbers and functions of t."""
    for name, value in values.items():
        if callable(value) and _takes_state(value, f"u[{name!r}]"):
            raise TypeError(
                f"u[{name!r}] = {function_name(value)!r} takes two arguments, but functions in the dictionary are functions of t. "
                "For feedback make u one function of (t, state) that returns the dictionary."
            )

    def inputs(t: float) -> dict[str, Any]:
        out = {}
        for name, value in values.items():
            try:
                out[name] = value(t) if callable(value) else value
            except Exception as error:
                error.add_note(f"in u[{name!r}]")
                raise
        return out

    return inputs


def _takes_state(function: Callable[..., Any], name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [
        p
        for p in parameters
        if p.default is inspect.Parameter.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) not in (1, 2):
        raise TypeError(
            f"{name} must be a function of t, or of (t, state); {function_name(function)!r} needs {len(needed)} arguments"
            f"{' (' + ', '.join(p.name for p in needed) + ')' if needed else ''}."
        )
    return len(needed) == 2
