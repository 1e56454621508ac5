"""Inputs over time: constants, functions of time, feedback, and the same for generalised forces."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.packing import pack
from ..kernels.program import GOOD, Code, Pieces, Program, assemble, evaluate_rows
from ..model.signal import Signal
from ..model.validate import finite
from ..system import System
from .control import Bound, bind_inputs, has_controller
from .jumps import first_jump

__all__ = ["Drive", "Jump", "State", "function_name"]

Array = NDArray[np.float64]


class State(NamedTuple):
    """What a feedback law sees."""

    t: float
    q: Array
    v: Array
    memory: Array | None = None  # (nz,) internal variables of loads, of states that a run goes on from
    control: Array | None = None  # (n,) states of controllers, likewise


class Jump(NamedTuple):
    """Where an input jumps.

    Attributes
    ----------
    t : float
        The first number after the jump [s].
    name : str
        What jumps, such as ``u['cable']`` or ``tau[2]``.
    """

    t: float
    name: str


class _Function(NamedTuple):
    """A function of t among the inputs."""

    names: list[str]  # of its components
    function: Callable[[float], Any]
    values: Callable[[float], Array]  # of all components


class Drive:
    """Evaluates u and tau, each None, constant, a function of t, or of (t, state); u also a dictionary of functions of t, or a controller.

    Attributes
    ----------
    control : Bound or None
        The controller that gives u, whose states are an argument then.
    """

    def __init__(self, system: System, u: Any = None, tau: Any = None) -> None:
        self.system = system
        self._given = {"u": u, "tau": tau}
        self._functions: list[_Function] = []  # of t alone
        self.control: Bound | None = None
        if has_controller(tau):
            raise TypeError(
                f"tau = {tau!r}: controllers give inputs, u={tau!r}; for generalised forces add motors or loads with inputs."
            )
        if has_controller(u):
            self.control = bind_inputs(system, u)
            u = None
        self._u, self.u_feedback = self._reader(u, "u")
        self._tau, self.tau_feedback = self._reader(tau, "tau")
        self.u_feedback = self.u_feedback or self.control is not None
        known = [] if self.control is None else self.control.breaks()
        self._breaks = np.unique([*known, *(t for own in self._functions for t in _breakpoints(own))])
        self._known = set(self._breaks.tolist())  # where Python functions are evaluated beside

    @property
    def feedback(self) -> bool:
        """Whether anything depends on the state."""
        return self.u_feedback or self.tau_feedback

    @property
    def varies(self) -> bool:
        """Whether anything depends on time or state."""
        return self.feedback or bool(self._functions)

    def _reader(self, value: Any, name: str) -> tuple[Callable[[float, Array, Array, int], Array], bool]:
        read: Callable[[Any], Array]
        if name == "u":
            read = self.system.inputs
        else:

            def read(x: Any) -> Array:
                return np.zeros(self.system.nv) if x is None else self.system.check_v(name, x)

        each = _is_mixed(value, name)
        limit: Callable[[float, int], Any]
        if each:
            value = limit = self._each(value)
        if not callable(value):
            constant = read(value)
            return (lambda t, q, v, side: constant), False
        feedback = _takes_state(value, name)

        def evaluate(t: float, q: Array, v: Array, side: int) -> Array:
            try:
                if side and not feedback:
                    given = limit(t, side)
                else:
                    given = value(t, State(t, q, v)) if feedback else value(t)
                if given is None:
                    raise TypeError(f"{name} returned None: does the function lack a `return`?")
                return read(given)
            except Exception as error:
                error.add_note(f"in {name}, the function {function_name(value)!r}, at t = {t:.6g} s")
                raise

        if not each:

            def limit(t: float, side: int) -> Any:
                return self._limit(value, t, side)

            if not feedback:
                none = np.zeros(0)
                components = [f"u[{own!r}]" for own in self.system.input_names]
                names = components if name == "u" else [f"tau[{k}]" for k in range(self.system.nv)]
                self._functions.append(_Function(names, value, lambda t: evaluate(t, none, none, 0)))
        return evaluate, feedback

    def _each(self, values: Mapping[str, Any]) -> Callable[..., dict[str, Any]]:
        """One function of t from a dictionary of numbers and functions of t; with a side it gives limits."""
        for name, value in values.items():
            if callable(value) and _takes_state(value, f"u[{name!r}]"):
                raise TypeError(
                    f"u[{name!r}] = {function_name(value)!r} takes two arguments, but functions in the dictionary are functions of t. "
                    "For feedback make u one function of (t, state) that returns the dictionary."
                )

        def inputs(t: float, side: int = 0) -> dict[str, Any]:
            out = {}
            for name, value in values.items():
                try:
                    if not callable(value):
                        out[name] = value
                    else:
                        out[name] = self._limit(value, t, side) if side else value(t)
                except Exception as error:
                    error.add_note(f"in u[{name!r}]")
                    raise
            return out

        def of(name: str, function: Callable[[float], Any]) -> Callable[[float], Array]:
            def value(t: float) -> Array:
                try:
                    return np.array([finite(f"input {name!r}", function(t))])
                except Exception as error:
                    error.add_note(f"in u[{name!r}], at t = {t:.6g} s")
                    raise

            return value

        functions = {name: value for name, value in values.items() if callable(value)}
        self._functions += [_Function([f"u[{name!r}]"], own, of(name, own)) for name, own in functions.items()]
        return inputs

    def __call__(
        self, t: float, q: Array, v: Array, side: int = 0, control: Array | None = None
    ) -> tuple[Array, Array]:
        """(u, tau) at a time and state.

        Parameters
        ----------
        t : float
            Time [s].
        q, v : ndarray
            State, for feedback.
        side : int
            −1 for the limit from the left and +1 for that from the right, which differ where an input jumps: exactly for
            a `Signal`; at the next number for a formula, and for a Python function at a break that it declares (`breaks`) or
            that was found (`find_jump`). Feedback has no limits.
        control : ndarray, optional
            States of the controller, if there is one; as at its start if left out.

        Returns
        -------
        u : ndarray, shape (nu,)
        tau : ndarray, shape (nv,)
        """
        tau = self._tau(t, q, v, side)
        if self.control is None:
            return self._u(t, q, v, side), tau
        x = self.control.begin(t, q, v) if control is None else control
        return self.control.output(t, side, x, q, v), tau

    def rows(self, times: Array, q: Array, v: Array, control: Array) -> tuple[Array, Array]:
        """u (m, nu) and tau (m, nv) at m times, states and states of controllers, in compiled code unless there is a Python function."""
        m, nu = len(times), self.system.nu
        program = self.program
        if program is not None:
            out = np.tile(program.constant, (m, 1))
            if not len(program.entry) or evaluate_rows(*self._packed, times, out) == GOOD:
                return out[:, :nu], out[:, nu:]
        rows = [self(t, a, b, 0, x) for t, a, b, x in zip(times.tolist(), q, v, control)]
        u, tau = (np.array(part).reshape(m, -1) for part in zip(*rows))
        return u, tau

    @property
    def _packed(self) -> tuple[NDArray[np.int64], Array]:
        """The program for a kernel, with a stack of its own."""
        packed = pack([(self.program, False)])
        return packed.ints, packed.floats

    def _limit(self, function: Callable[[float], Any], t: float, side: int) -> Any:
        """The limit of a function of t; side is −1 or 1."""
        if isinstance(function, Signal):
            return function.limit(t, side)
        beside = math.nextafter(t, math.copysign(math.inf, side))
        if _is_formula(function):
            try:
                return function(beside)
            except ValueError:  # not finite there
                return function(t)
        return function(beside if t in self._known else t)

    def breaks(self, begin: float, end: float) -> Array:
        """Increasing times strictly inside (begin, end) where an input is known to jump or to have a kink [s].

        Those of each `Signal`, and of each function of t with an attribute `breakpoints`.
        """
        first, last = (
            np.searchsorted(self._breaks, begin, side="right"),
            np.searchsorted(self._breaks, end, side="left"),
        )
        return self._breaks[first:last]

    def expect(self, times: Iterable[float]) -> None:
        """Declare jumps: limits at these times are those before and after."""
        self._known.update(times)

    def find_jump(self, begin: float, end: float) -> Jump | None:
        """The first jump strictly inside (begin, end) of a formula or Python function of t, found by sampling.

        Jumps of a `Signal` are known (`breaks`), feedback is left out. None if all are continuous, however steep. Afterwards
        limits at that time are those before and after the jump.
        """
        found = None
        for own in self._functions:
            if isinstance(own.function, Signal):
                continue
            jump = first_jump(own.values, begin, end)
            if jump is not None:
                found, end = Jump(jump[0], own.names[jump[1]]), jump[0]
        if found is not None:
            self._known.add(found.t)
        return found

    def forces_on(self, velocities: slice) -> bool:
        """Whether tau acts, or may act, on these velocities."""
        none = np.zeros(0)
        return callable(self._given["tau"]) or bool(np.any(self._tau(0.0, none, none, 0)[velocities]))

    @cached_property
    def program(self) -> Program | None:
        """u and tau, one after the other (nu + nv,), as a program for kernels; None if there is a Python function.

        A program has constants, `Signal` and formulas of t.
        """
        system = self.system
        if self.control is not None:
            return None
        low, high = system.input_bounds
        constant = np.zeros(system.nu + system.nv)
        functions: dict[int, Pieces | Code] = {}
        u, tau = self._given["u"], self._given["tau"]
        if _is_mixed(u, "u"):
            for name, value in u.items():
                parts = _parts(value, ()) if callable(value) else []
                if parts is None or name not in system.input_names:
                    return None
                k = system.input_names.index(name)
                if parts:
                    functions[k] = parts[0]
                else:
                    try:
                        constant[k] = finite(f"input {name!r}", value)
                    except (TypeError, ValueError):  # it will be told when the inputs are evaluated
                        return None
            if np.any(constant[: system.nu] < low) or np.any(constant[: system.nu] > high):
                return None
            u = None
        none = np.zeros(0)
        for value, read, first, size in ((u, self._u, 0, system.nu), (tau, self._tau, system.nu, system.nv)):
            if callable(value):
                parts = _parts(value, (size,))
                if parts is None:
                    return None
                functions |= dict(enumerate(parts, first))
            elif value is not None:
                constant[first : first + size] = read(0.0, none, none, 0)
        free = np.full(system.nv, np.inf)
        return assemble(constant, np.concatenate([low, -free]), np.concatenate([high, free]), functions)


def _is_mixed(value: Any, name: str) -> bool:
    """Whether it is a dictionary with functions of t."""
    return name == "u" and isinstance(value, Mapping) and any(callable(entry) for entry in value.values())


def _is_formula(function: Any) -> bool:
    from ..io.expressions import Expression  # formulas belong to files, which are made of solvers too

    return isinstance(function, Expression)


def _parts(function: Any, shape: tuple[int, ...]) -> Sequence[Pieces | Code] | None:
    """The components of a function of t for a program, if it has the shape and is no Python function."""
    if isinstance(function, Signal) and function.shape == shape:
        return [Pieces(np.array(function.t), rows) for rows in function.pieces]
    if _is_formula(function) and function.shape == shape:
        return function.instructions()
    return None


def _breakpoints(own: _Function) -> list[float]:
    """Times where a function says that it jumps or has a kink."""
    given = getattr(own.function, "breakpoints", None)
    if given is None:
        return []
    try:
        return [finite("breakpoints", t) for t in given]
    except (TypeError, ValueError):
        raise TypeError(
            f"the attribute breakpoints = {given!r} of the function {function_name(own.function)!r} in {', '.join(own.names[:1])} must be "
            "finite times [s] where it jumps or has a kink."
        ) from None


def function_name(function: Callable[..., Any]) -> str:
    """What to call a user's function in messages."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _takes_state(function: Callable[..., Any], name: str) -> bool:
    if isinstance(function, Signal) or _is_formula(function):
        return False
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
