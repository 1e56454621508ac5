"""Formulas of the time and the state of a robot: feedback and events in model files.

Like `Expression` they are parsed, never run as Python; besides t they have the functions of `STATE`, each of the name of a part.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model.validate import choice, flag, unknown_name
from ..solve.drive import State
from ..system import System
from .expressions import FormulaCompiler, Node, formula_tree

__all__ = ["STATE", "EventFormula", "StateFormula", "is_state_formula"]

Value = Callable[[State], float]

STATE = {
    "q": "a coordinate, q('elbow.angle')",
    "v": "the rate of a degree of freedom, v('elbow.angle')",
    **{axis: f"{axis} of the position of a frame [m], {axis}('arm.tip')" for axis in "xyz"},
    **{f"v{axis}": f"{axis} of its velocity in world axes [m/s], v{axis}('arm.tip')" for axis in "xyz"},
}
"""Functions of the state in formulas."""
_CALLS = re.compile(rf"\b(?:{'|'.join(STATE)})\s*\(\s*['\"]")


def is_state_formula(text: object) -> bool:
    """Whether a text is a formula of the state, not of t alone."""
    return isinstance(text, str) and _CALLS.search(text) is not None


class _Compiler(FormulaCompiler):
    """Functions of a list of values: t, then those of the state."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.wanted: list[tuple[str, str]] = []

    def name(self, name: str) -> tuple[Node, bool]:
        """A constant, or t."""
        if name == "t":
            return (lambda values: values[0]), True
        if name == "X":
            raise self.fail("'X' is unknown: there is t, and the state.")
        return super().name(name)

    def part(self, tree: ast.expr, depth: int) -> tuple[Node, bool]:
        """A function of the state, or anything else."""
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in STATE:
            given = [argument.value if isinstance(argument, ast.Constant) else None for argument in tree.args]
            if len(given) != 1 or not isinstance(given[0], str) or tree.keywords:
                raise self.fail(f"{tree.func.id}(…) takes a name in quotes: {STATE[tree.func.id]}.")
            key = (tree.func.id, given[0])
            if key not in self.wanted:
                self.wanted.append(key)
            place = 1 + self.wanted.index(key)
            return (lambda values: values[place]), True
        return super().part(tree, depth)


@dataclass(frozen=True)
class StateFormula:
    """A number that depends on the time and the state, given as text.

    Parameters
    ----------
    source : str
        For instance ``"max(0, 5 + 2*v('arm.bending_y[0]'))"``: what `Expression` allows with the variable t, and the functions of the state
        q('coordinate'), v('dof'), x, y, z('frame') and vx, vy, vz('frame').

    Examples
    --------
    >>> import pliant as pl
    >>> system = pl.parse_model(pl.io.starter_text()).compile()
    >>> height = pl.io.StateFormula("z('arm.tip') + 0.1*t").bound(system)
    >>> rest = pl.solve_statics(system)
    >>> run = pl.simulate(system, 0.1, start=rest)
    >>> print(height(run.last).round(3))
    -0.223
    """

    source: str

    def __post_init__(self) -> None:
        """Check the text."""
        self._compiled()

    def _compiled(self) -> tuple[Node, list[tuple[str, str]]]:
        if not isinstance(self.source, str):
            raise TypeError(f"StateFormula: {self.source!r} must be text.")
        compiler = _Compiler(self.source)
        with np.errstate(all="ignore"):
            node, _varies = compiler.visit(formula_tree(self.source), 0)
        return node, compiler.wanted

    def bound(self, system: System) -> Callable[[State], Any]:
        """The function of a state (t, q, v) of a system; error if it has no such part."""
        node, wanted = self._compiled()
        values = [_value(system, kind, name) for kind, name in wanted]

        def formula(state: State) -> Any:
            with np.errstate(all="ignore"):
                found = np.float64(node([np.float64(state.t), *(value(state) for value in values)]))
            if not np.isfinite(found):
                raise ValueError(
                    f"the formula {self.source!r} is {float(found)} at t = {state.t:g} s; it must be finite."
                )
            return found

        return formula


def _value(system: System, kind: str, name: str) -> Value:
    """What a function of the state is for a part of a robot."""
    if kind in ("q", "v"):
        names = system.coordinate_names if kind == "q" else system.dof_names
        if name not in names:
            raise unknown_name("coordinate" if kind == "q" else "degree of freedom", name, names)
        k = names.index(name)
        return (lambda state: state.q[k]) if kind == "q" else (lambda state: state.v[k])
    system.place(name)  # its error says which frames there are
    axis = "xyz".index(kind[-1])
    if len(kind) == 1:
        return lambda state: system.pose(name, state.q)[axis, 3]
    return lambda state: system.twist(name, state.q, state.v, reference="world")[3 + axis]


@dataclass(frozen=True)
class EventFormula:
    """An event of a model file: where a formula of the state is zero.

    Parameters
    ----------
    formula : str
        Its roots are found, such as ``"z('arm.tip') + 0.1"``; see `StateFormula`.
    terminal : bool
        Whether the run ends there.
    direction : int
        1 for rising roots only, −1 for falling ones, 0 for all.
    """

    formula: str
    terminal: bool = False
    direction: int = 0

    def __post_init__(self) -> None:
        """Check the values."""
        StateFormula(self.formula)
        object.__setattr__(self, "terminal", flag("terminal", self.terminal))
        choice("direction", self.direction, (-1, 0, 1))

    def bound(self, system: System, name: str) -> Callable[[State], Any]:
        """The function for `simulate`."""
        value = StateFormula(self.formula).bound(system)

        def event(state: State) -> Any:
            return value(state)

        event.__name__ = name
        event.terminal = self.terminal  # type: ignore[attr-defined]
        event.direction = self.direction  # type: ignore[attr-defined]
        return event
