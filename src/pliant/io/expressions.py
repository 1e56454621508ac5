"""Formulas of X or t given as text, such as ``"0.9*(0.03 - 0.015*X)"``: read safely, evaluated with numpy.

The text is parsed into a syntax tree, of which only arithmetic is accepted; nothing is ever run as Python code. All numbers
are 64-bit floats, so no formula can fill the memory or run for long.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.validate import near

__all__ = ["CONSTANTS", "FUNCTIONS", "Expression", "FormulaCompiler", "Node", "constant", "formula_tree"]

Array = NDArray[np.float64]
Source = str | float | tuple["Source", ...]
Node = Callable[[Any], Any]  # the value of a part of a formula, from that of its variable

_LONGEST = 1000  # characters
_DEEPEST = 100  # operations inside each other
_VARIABLES = ("X", "t")

_BINARY: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.true_divide,
    ast.Mod: np.mod,
    ast.FloorDiv: np.floor_divide,
    ast.Pow: np.power,
}
_UNARY: dict[type[ast.unaryop], Callable[..., Any]] = {
    ast.UAdd: np.positive,
    ast.USub: np.negative,
    ast.Not: np.logical_not,
}
_COMPARE: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
_BOOLEAN: dict[type[ast.boolop], Callable[..., Any]] = {ast.And: np.logical_and, ast.Or: np.logical_or}

CONSTANTS = {"pi": math.pi, "e": math.e}
"""Names of numbers in formulas."""

_MANY = 20
FUNCTIONS: dict[str, tuple[Callable[..., Any], int, int]] = {
    **{name: (getattr(np, name), 1, 1) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "sqrt")},
    **{name: (getattr(np, "arc" + name[1:]), 1, 1) for name in ("asin", "acos", "atan")},
    **{
        name: (getattr(np, name), 1, 1)
        for name in ("log", "log10", "abs", "sign", "floor", "ceil", "radians", "degrees")
    },
    "atan2": (np.arctan2, 2, 2),
    "hypot": (np.hypot, 2, 2),
    "min": (lambda *values: reduce(np.minimum, values), 2, _MANY),
    "max": (lambda *values: reduce(np.maximum, values), 2, _MANY),
    "where": (np.where, 3, 3),
}
"""Functions in formulas: what computes them, and how few and how many arguments they take."""


class Expression:
    """A function of X (along a rod, 0 to 1) or of t (time [s]) that is given as text.

    It can stand wherever a function of X or t can, and unlike a Python function it can be written to a model file.

    Parameters
    ----------
    source : str, number, or nested list of them
        A formula, for instance ``"0.02*(1 - X/2)"``, or a vector or matrix of formulas and numbers. Operators
        ``+ - * / // % **``, comparisons, ``and or not``, ``a if condition else b``; the functions of `FUNCTIONS`; the
        constants pi and e; one of the variables X and t.

    Attributes
    ----------
    source : str, float or nested tuple
        What was given.
    variable : "X", "t" or None
        The variable that it depends on.
    shape : tuple of int
        () for a single formula.

    Examples
    --------
    >>> radius = Expression("0.03 - 0.015*X")
    >>> radius(1.0), radius([0.0, 0.5])
    (0.015, array([0.03  , 0.0225]))
    >>> Expression([0, "2*X", 0]).shape
    (3,)
    """

    source: Source
    variable: str | None
    shape: tuple[int, ...]

    def __init__(self, source: str | float | Sequence[Any]) -> None:
        self.source = _frozen(source)
        self.shape = _shape(self.source)
        parts = [_compile(entry) for entry in _entries(self.source)]
        variables = {variable for _node, variable in parts if variable is not None}
        if len(variables) > 1:
            raise ValueError(f"{self} mixes X and t; a formula depends on one of them.")
        self._nodes = tuple(node for node, _variable in parts)
        self.variable = variables.pop() if variables else None

    def __call__(self, value: ArrayLike) -> Any:
        """The formula at X or t.

        Parameters
        ----------
        value : float or array_like, shape (...)
            The variable.

        Returns
        -------
        float or ndarray, shape (..., \\*shape)
            A float for a single formula at a single value.
        """
        if not self.shape and isinstance(value, float):  # the usual case in time: several times faster than arrays
            with np.errstate(all="ignore"):
                single = float(self._nodes[0](np.float64(value)))
            if math.isfinite(single):
                return single
        at = np.asarray(value, dtype=np.float64)
        with np.errstate(all="ignore"):
            if not self.shape:
                result = self._checked(self._nodes[0](at), at, str(self))
                return float(result) if at.ndim == 0 else np.array(np.broadcast_to(result, at.shape))
            columns = [
                np.broadcast_to(self._checked(node(at), at, str(entry)), at.shape)
                for node, entry in zip(self._nodes, _entries(self.source))
            ]
        return np.stack(columns, axis=-1).reshape(*at.shape, *self.shape)

    def _checked(self, result: Any, at: Array, text: str) -> Array:
        array = np.asarray(result, dtype=np.float64)
        if not np.all(np.isfinite(array)):
            bad = ~np.isfinite(np.broadcast_to(array, at.shape))
            where = f" at {self.variable} = {float(at[bad].flat[0]):g}" if self.variable else ""
            raise ValueError(f"the formula {text!r} is {_first_bad(array)}{where}; it must be a finite number.")
        return array

    def __str__(self) -> str:
        """The text of a single formula; a list of them otherwise."""
        return self.source if isinstance(self.source, str) else repr(_listed(self.source))

    def __repr__(self) -> str:
        """As one would write it."""
        return f"Expression({_listed(self.source)!r})"

    def __eq__(self, other: object) -> bool:
        """Whether the texts are equal."""
        return self.source == other.source if isinstance(other, Expression) else NotImplemented

    def __hash__(self) -> int:
        """Hash consistent with equality."""
        return hash(self.source)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled by its text."""
        return Expression, (_listed(self.source),)

    def instructions(self) -> list[list[tuple[int, float]]] | None:
        """Each formula, row by row, as instructions for kernels (see `pliant.kernels.program`).

        None if it is a function of X, or if numpy does not compute it with 64-bit floats: the sine of a comparison.
        """
        return self._instructions

    @cached_property
    def _instructions(self) -> list[list[tuple[int, float]]] | None:
        if self.variable == "X":
            return None
        from .instructions import Untranslatable, translate  # here, since it loads the kernels

        try:
            return [translate(*_parsed(entry)) for entry in _entries(self.source)]
        except Untranslatable:
            return None

    def plain(self) -> Any:
        """Text, number or nested lists of them, as they are written to a file."""
        return _listed(self.source)


def constant(text: str) -> float:
    """The value of a formula without variables, such as ``"pi/2"``."""
    expression = Expression(text)
    if expression.variable is not None:
        raise ValueError(f"{text!r} depends on {expression.variable}, but a number is needed here.")
    return float(expression(0.0))


# ---------------------------------------------------------------- sources


def _frozen(source: Any) -> Source:
    """Text, a float, or nested tuples of them."""
    if isinstance(source, str):
        return source
    if isinstance(source, (bool, np.bool_)):
        raise TypeError(f"Expression: {source!r} is not a formula; give text, a number or a list of them.")
    if isinstance(source, (int, float, np.integer, np.floating)):
        if not -1e308 < source < 1e308:
            raise ValueError("Expression: a number in it is not finite, or too large.")
        return float(source)
    if isinstance(source, (list, tuple, np.ndarray)) and len(source):
        return tuple(_frozen(entry) for entry in source)
    raise TypeError(f"Expression: {source!r} is not a formula; give text, a number or a list of them.")


def _listed(source: Source) -> Any:
    return [_listed(entry) for entry in source] if isinstance(source, tuple) else source


def _entries(source: Source) -> Iterator[str | float]:
    """All formulas of a nested tuple, row by row."""
    if isinstance(source, tuple):
        for entry in source:
            yield from _entries(entry)
    else:
        yield source


def _shape(source: Source) -> tuple[int, ...]:
    if not isinstance(source, tuple):
        return ()
    shapes = {_shape(entry) for entry in source}
    if len(shapes) > 1:
        raise ValueError(f"Expression: the rows of {_listed(source)!r} have different lengths.")
    return (len(source), *shapes.pop())


def _short(text: str) -> str:
    """Text that fits into a message."""
    return text if len(text) <= 60 else text[:57] + "..."


def _first_bad(array: Array) -> str:
    value = float(array[~np.isfinite(array)].flat[0])
    return "not a number" if math.isnan(value) else "infinite"


# ---------------------------------------------------------------- compiling


def _compile(source: str | float) -> tuple[Node, str | None]:
    """A function that evaluates a formula, and its variable."""
    if not isinstance(source, str):
        number = np.float64(source)
        return (lambda _x: number), None
    tree = formula_tree(source)
    compiler = FormulaCompiler(source)
    with np.errstate(all="ignore"):
        node, varies = compiler.visit(tree, 0)
    if len(compiler.variables) > 1:
        raise ValueError(f"the formula {_short(source)!r} mixes X and t; it may depend on one of them.")
    return node, next(iter(compiler.variables)) if varies or compiler.variables else None


def _parsed(source: str | float) -> tuple[ast.expr, dict[ast.expr, Any]]:
    """The syntax tree of a formula that was compiled before, and the values of its parts without variables."""
    tree = ast.Constant(source) if not isinstance(source, str) else formula_tree(source)
    compiler = FormulaCompiler(str(source))
    with np.errstate(all="ignore"):
        compiler.visit(tree, 0)
    return tree, compiler.values


def formula_tree(source: str) -> ast.expr:
    """The syntax tree of a formula."""
    if len(source) > _LONGEST:
        raise ValueError(
            f"the formula {_short(source)!r} has {len(source)} characters; at most {_LONGEST} are allowed."
        )
    text = source.strip()
    if not text:
        raise ValueError("the formula is empty.")
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        where = f" at character {error.offset}" if error.offset else ""
        hint = " Write products with '*', as in 2*X." if re.search(r"[\d)]\s*[A-Za-z(]", text) else ""
        raise ValueError(f"the formula {_short(source)!r} cannot be read{where}: {error.msg}.{hint}") from None
    except (RecursionError, MemoryError, ValueError):
        raise ValueError(
            f"the formula {_short(text)!r} is nested too deeply or has characters that are not allowed."
        ) from None


class FormulaCompiler:
    """Turns the syntax tree of a formula into functions; parts without variables become numbers at once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.variables: set[str] = set()
        self.values: dict[ast.expr, Any] = {}  # of the parts without variables

    def fail(self, why: str) -> ValueError:
        """The error of this formula."""
        return ValueError(f"the formula {_short(self.text)!r} is not allowed: {why}")

    def visit(self, tree: ast.expr, depth: int) -> tuple[Node, bool]:
        """The function of a part, and whether it depends on a variable."""
        node, varies = self.part(tree, depth)
        if not varies:
            self.values[tree] = node(np.float64(0.0))
        return node, varies

    def part(self, tree: ast.expr, depth: int) -> tuple[Node, bool]:
        """The same, without a note of the value."""
        if depth > _DEEPEST:
            raise self.fail(f"more than {_DEEPEST} operations are nested in each other.")
        if isinstance(tree, ast.Constant):
            return self.number(tree)
        if isinstance(tree, ast.Name):
            return self.name(tree.id)
        function, arguments = self.parts(tree)
        visited = [self.visit(argument, depth + 1) for argument in arguments]
        nodes = [node for node, _varies in visited]
        if any(varies for _node, varies in visited):
            return _applied(function, nodes), True
        result = np.asarray(function(*(node(np.float64(0.0)) for node in nodes)))
        if not np.all(np.isfinite(result)):
            part = ast.get_source_segment(self.text.strip(), tree) or "a part of it"
            raise self.fail(f"{_short(part)!r} is {_first_bad(result.astype(float))}.")
        value = result[()]
        return (lambda _x: value), False

    def number(self, tree: ast.Constant) -> tuple[Node, bool]:
        """A number."""
        value = tree.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.fail(f"{value!r} is not a real number.")
        try:
            number = np.float64(value)
        except OverflowError:
            number = np.float64(np.inf)
        if not np.isfinite(number):
            raise self.fail("it contains a number that is too large.")
        return (lambda _x: number), False

    def name(self, name: str) -> tuple[Node, bool]:
        """A constant or a variable."""
        if name in CONSTANTS:
            value = np.float64(CONSTANTS[name])
            return (lambda _x: value), False
        if name in _VARIABLES:
            self.variables.add(name)
            return (lambda x: x), True
        known = [*_VARIABLES, *CONSTANTS, *FUNCTIONS]
        raise self.fail(
            f"{name!r} is unknown; {_suggest(name, known, 'known: X or t, pi, e and functions such as sin(…).')}"
        )

    def parts(self, tree: ast.expr) -> tuple[Callable[..., Any], list[ast.expr]]:
        """The numpy function of an operation, and its arguments."""
        if isinstance(tree, ast.BinOp):
            if isinstance(tree.op, ast.BitXor):
                raise self.fail("'^' is not a power; write '**'.")
            if type(tree.op) in _BINARY:
                return _BINARY[type(tree.op)], [tree.left, tree.right]
        if isinstance(tree, ast.UnaryOp) and type(tree.op) in _UNARY:
            return _UNARY[type(tree.op)], [tree.operand]
        if isinstance(tree, ast.BoolOp):
            combine = _BOOLEAN[type(tree.op)]
            return (lambda *values: reduce(combine, values)), tree.values
        if isinstance(tree, ast.IfExp):
            return np.where, [tree.test, tree.body, tree.orelse]
        if isinstance(tree, ast.Compare) and all(type(op) in _COMPARE for op in tree.ops):
            return _chain([_COMPARE[type(op)] for op in tree.ops]), [tree.left, *tree.comparators]
        if isinstance(tree, ast.Call):
            return self.call(tree)
        what = {"Attribute": "'.'", "Subscript": "'[…]'", "Lambda": "'lambda'"}.get(type(tree).__name__)
        raise self.fail(
            f"{what or 'this kind of syntax'} has no place in a formula; use arithmetic and functions only."
        )

    def call(self, tree: ast.Call) -> tuple[Callable[..., Any], list[ast.expr]]:
        """A function and its arguments."""
        if not isinstance(tree.func, ast.Name):
            raise self.fail("only functions such as sin(…) can be called.")
        name = tree.func.id
        if name not in FUNCTIONS:
            listed = ", ".join(FUNCTIONS)
            raise self.fail(f"there is no function {name!r}; {_suggest(name, FUNCTIONS, f'known: {listed}.')}")
        function, fewest, most = FUNCTIONS[name]
        if tree.keywords or any(isinstance(argument, ast.Starred) for argument in tree.args):
            raise self.fail(f"{name} takes plain arguments only.")
        if not fewest <= len(tree.args) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
            raise self.fail(f"{name} takes {wanted} argument(s), not {len(tree.args)}.")
        return function, tree.args


def _applied(function: Callable[..., Any], nodes: list[Node]) -> Node:
    """The function of the values of nodes, without a loop for the usual one or two."""
    if len(nodes) == 1:
        (only,) = nodes
        return lambda x: function(only(x))
    if len(nodes) == 2:
        first, second = nodes
        return lambda x: function(first(x), second(x))
    return lambda x: function(*[node(x) for node in nodes])


def _chain(operators: list[Callable[..., Any]]) -> Callable[..., Any]:
    """``a < b < c`` as a function of a, b, c."""

    def compare(*values: Any) -> Any:
        tests = [op(a, b) for op, a, b in zip(operators, values, values[1:])]
        return reduce(np.logical_and, tests)

    return compare


def _suggest(name: str, known: Any, otherwise: str) -> str:
    close = near(name, known, count=2, cutoff=0.7)
    folded = [k for k in known if k.lower() == name.lower()]
    close = folded or close
    return f"did you mean {' or '.join(map(repr, close))}?" if close else otherwise
