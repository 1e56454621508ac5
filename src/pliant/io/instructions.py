"""Formulas as instructions for the stack machine of `kernels.program`, so that kernels can evaluate them.

Numpy computes with truth values in its own way: the sum of two is again one, their sine has half precision. What is not computed
with 64-bit floats in the end is left to numpy: such a formula has no instructions.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..kernels import program as p

__all__ = ["Untranslatable", "translate"]

_MOST = 5000  # instructions; a formula of a thousand characters has fewer

_BINARY = {
    ast.Add: p.ADD, ast.Sub: p.SUBTRACT, ast.Mult: p.MULTIPLY, ast.Div: p.DIVIDE, ast.Mod: p.MODULO,
    ast.FloorDiv: p.FLOOR_DIVIDE, ast.Pow: p.POWER,
}  # fmt: skip
_COMPARE = {
    ast.Lt: p.LESS, ast.LtE: p.LESS_EQUAL, ast.Gt: p.GREATER, ast.GtE: p.GREATER_EQUAL, ast.Eq: p.EQUAL,
    ast.NotEq: p.NOT_EQUAL,
}  # fmt: skip
_CALLS = {
    "sin": p.SIN, "cos": p.COS, "tan": p.TAN, "sinh": p.SINH, "cosh": p.COSH, "tanh": p.TANH, "exp": p.EXP, "sqrt": p.SQRT,
    "asin": p.ASIN, "acos": p.ACOS, "atan": p.ATAN, "log": p.LOG, "log10": p.LOG10, "abs": p.ABS, "sign": p.SIGN,
    "floor": p.FLOOR, "ceil": p.CEIL, "radians": p.RADIANS, "degrees": p.DEGREES, "atan2": p.ATAN2, "hypot": p.HYPOT,
    "min": p.MINIMUM, "max": p.MAXIMUM, "where": p.WHERE,
}  # fmt: skip
_OF_TRUTHS = {p.ADD: p.OR, p.MULTIPLY: p.AND, p.MINIMUM: p.AND, p.MAXIMUM: p.OR}  # what numpy takes for them


class Untranslatable(Exception):
    """A formula that numpy does not compute with 64-bit floats."""


def translate(tree: ast.expr, values: dict[ast.expr, Any]) -> list[tuple[int, float]]:
    """The instructions of a syntax tree that was checked.

    Parameters
    ----------
    tree : ast.expr
        Of a formula of t.
    values : dict
        The values of all parts without variables, as numpy computes them.

    Raises
    ------
    Untranslatable
        If there is no such program.
    """
    translator = _Translator(values)
    translator.visit(tree)
    return translator.code


class _Translator:
    """Writes instructions; each visit says whether the part is a truth value."""

    def __init__(self, values: dict[ast.expr, Any]) -> None:
        self.values = values
        self.code: list[tuple[int, float]] = []

    def put(self, operation: int, number: float = 0.0) -> None:
        if len(self.code) >= _MOST:
            raise Untranslatable
        self.code.append((int(operation), number))

    def visit(self, tree: ast.expr) -> bool:
        if tree in self.values:
            return self.number(self.values[tree])
        if isinstance(tree, ast.Name):
            self.put(p.TIME)
            return False
        if isinstance(tree, ast.UnaryOp):
            return self.unary(tree)
        if isinstance(tree, ast.BinOp):
            return self.fold(_BINARY[type(tree.op)], [tree.left, tree.right])
        if isinstance(tree, ast.BoolOp):
            self.fold(p.AND if isinstance(tree.op, ast.And) else p.OR, tree.values)
            return True
        if isinstance(tree, ast.Compare):
            return self.compare(tree)
        if isinstance(tree, ast.IfExp):
            return self.where([tree.test, tree.body, tree.orelse])
        assert isinstance(tree, ast.Call)
        assert isinstance(tree.func, ast.Name)
        operation = _CALLS[tree.func.id]
        if operation == p.WHERE:
            return self.where(tree.args)
        if len(tree.args) == 1:
            return self.function(operation, tree.args[0])
        return self.fold(operation, tree.args)

    def number(self, value: Any) -> bool:
        if value.dtype not in (np.float64, np.bool_):
            raise Untranslatable
        self.put(p.NUMBER, float(value))
        return bool(value.dtype == np.bool_)

    def unary(self, tree: ast.UnaryOp) -> bool:
        truth = self.visit(tree.operand)
        if isinstance(tree.op, ast.Not):
            self.put(p.NOT)
            return True
        if truth:  # numpy refuses
            raise Untranslatable
        if isinstance(tree.op, ast.USub):
            self.put(p.MINUS)
        return False

    def function(self, operation: int, argument: ast.expr) -> bool:
        truth = self.visit(argument)
        if truth and operation != p.ABS:
            raise Untranslatable
        self.put(operation)
        return truth

    def fold(self, operation: int, parts: Sequence[ast.expr]) -> bool:
        """An operation on the first two, on that and the third, and so on."""
        truth = self.visit(parts[0])
        for part in parts[1:]:
            truth = self.pair(operation, truth, self.visit(part))
        return truth

    def pair(self, operation: int, a: bool, b: bool) -> bool:
        """An operation on what is on the stack; `a` and `b` say which are truth values."""
        if a and b and operation in _OF_TRUTHS:
            self.put(_OF_TRUTHS[operation])
            return True
        if a and b and operation not in (p.AND, p.OR, p.DIVIDE):
            raise Untranslatable
        self.put(operation)
        return operation in (p.AND, p.OR)

    def where(self, parts: Sequence[ast.expr]) -> bool:
        _test, a, b = (self.visit(part) for part in parts)
        self.put(p.WHERE)
        return a and b

    def compare(self, tree: ast.Compare) -> bool:
        self.visit(tree.left)
        last = len(tree.ops) - 1
        for k, (operator, part) in enumerate(zip(tree.ops, tree.comparators)):
            self.visit(part)
            if k < last:
                self.put(p.TUCK)
            self.put(_COMPARE[type(operator)])
            if k < last:
                self.put(p.SWAP)
        for _ in range(last):
            self.put(p.AND)
        return True
