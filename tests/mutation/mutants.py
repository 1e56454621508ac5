"""Mutants: a source file with one small mistake, such as one makes when writing it.

Mistakes are placed by the syntax tree, so that text, docstrings, messages, annotations and lists of names are never touched. A mutant that compiles to the same code
as the file is none.
"""

from __future__ import annotations

import ast
import io
import random
import tokenize
import types
from collections.abc import Iterator
from dataclasses import dataclass

ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "@": "*", "**": "*"}
COMPARISON = {"<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="), "==": ("!=",), "!=": ("==",), "and": ("or",), "or": ("and",)}  # fmt: skip
SYMBOLS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.MatMult: "@", ast.Pow: "**"}
ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}

TYPES = ("dict", "tuple", "list", "Mapping", "Callable", "Annotated", "Literal", "NDArray", "Sequence", "Iterator")

Place = tuple[int, int]  # line from 1, column in characters


@dataclass(frozen=True)
class Mutant:
    """A mistake: the text between two places of a file is another one."""

    kind: str
    begin: Place
    end: Place
    old: str
    new: str

    def apply(self, source: str) -> str:
        """The file with the mistake."""
        lines = source.splitlines(keepends=True)
        row, (first, last) = self.begin[0] - 1, (self.begin[1], self.end[1])
        assert self.begin[0] == self.end[0]
        assert lines[row][first:last] == self.old
        lines[row] = lines[row][:first] + self.new + lines[row][last:]
        return "".join(lines)

    def diff(self, source: str) -> str:
        """The line before and after."""
        row = self.begin[0] - 1
        return f"- {source.splitlines()[row].strip()}\n+ {self.apply(source).splitlines()[row].strip()}"


class _Finder(ast.NodeVisitor):
    """Collects the mutants of a file."""

    def __init__(self, source: str) -> None:
        self.lines = source.splitlines()
        self.tokens = [
            (token.string, token.start, token.end)
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type in (tokenize.OP, tokenize.NAME)
        ]
        self.found: list[Mutant] = []

    def place(self, line: int, column: int) -> Place:
        """Of a column in bytes, as the tree gives it."""
        return line, len(self.lines[line - 1].encode()[:column].decode())

    def begin(self, node: ast.AST) -> Place:
        return self.place(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> Place:
        return self.place(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def add(self, kind: str, begin: Place, end: Place, new: str) -> None:
        if begin[0] == end[0]:
            self.found.append(Mutant(kind, begin, end, self.lines[begin[0] - 1][begin[1] : end[1]], new))

    def between(self, left: ast.AST, right: ast.AST, symbol: str) -> tuple[Place, Place] | None:
        """Where an operator stands between its operands."""
        low, high = self.end(left), self.begin(right)
        return next(((a, b) for text, a, b in self.tokens if text == symbol and a >= low and b <= high), None)

    def operator(self, kind: str, left: ast.AST, right: ast.AST, symbol: str, others: tuple[str, ...]) -> None:
        where = self.between(left, right, symbol)
        for new in others if where else ():
            self.add(kind, *where, new)  # type: ignore[misc]

    # ------------------------------------------------------------ nodes

    def visit_BinOp(self, node: ast.BinOp) -> None:
        symbol = SYMBOLS.get(type(node.op))
        text = any(isinstance(x, (ast.JoinedStr, ast.List)) or (isinstance(x, ast.Constant) and isinstance(x.value, str)) for x in (node.left, node.right))  # fmt: skip
        if symbol and not text:
            self.operator("arithmetic", node.left, node.right, symbol, (ARITHMETIC[symbol],))
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        symbol = SYMBOLS.get(type(node.op))
        if symbol:
            self.operator("arithmetic", node.target, node.value, symbol + "=", (ARITHMETIC[symbol] + "=",))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators):
            symbol = ORDERS.get(type(op))
            if symbol:
                self.operator("comparison", left, right, symbol, COMPARISON[symbol])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        symbol = "and" if isinstance(node.op, ast.And) else "or"
        for left, right in zip(node.values, node.values[1:]):
            self.operator("comparison", left, right, symbol, COMPARISON[symbol])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub):
            first = self.begin(node)
            self.add("sign", first, (first[0], first[1] + 1), "+")
        elif isinstance(node.op, ast.Not):
            first = self.begin(node)
            self.add("comparison", first, (first[0], first[1] + 3), "True and")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Name) and node.value.id in TYPES:
            return
        if isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
            one, two = node.slice.elts
            if self.begin(one)[0] == self.end(two)[0] and not any(isinstance(x, ast.Slice) for x in (one, two)):
                row = self.lines[one.lineno - 1]
                first, second = (row[self.begin(x)[1] : self.end(x)[1]] for x in (one, two))
                self.add("index", self.begin(one), self.end(two), f"{second}, {first}")
        for part in ast.walk(node.slice):
            if isinstance(part, ast.Constant) and type(part.value) is int:
                for change in (1, -1):
                    if part.value + change >= 0:
                        self.add("index", self.begin(part), self.end(part), str(part.value + change))
        if isinstance(node.slice, ast.Name):
            for change in ("+ 1", "- 1"):
                self.add("index", self.begin(node.slice), self.end(node.slice), f"{node.slice.id} {change}")
        self.visit(node.value)
        for part in ast.iter_child_nodes(node.slice):  # its constants are done
            if not isinstance(part, ast.Constant):
                self.visit(part)

    def visit_Constant(self, node: ast.Constant) -> None:
        if type(node.value) is bool:
            self.add("constant", self.begin(node), self.end(node), str(not node.value))
        elif type(node.value) is int:
            self.add("constant", self.begin(node), self.end(node), str(node.value + 1))
        elif type(node.value) is float:
            new = "1.0" if node.value == 0.0 else f"{2 * node.value!r}"
            self.add("constant", self.begin(node), self.end(node), new)

    # ------------------------------------------------------------ what is left alone

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for part in (*node.args.defaults, *(x for x in node.args.kw_defaults if x is not None), *node.body):
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        pass

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(isinstance(x, ast.Name) and x.id.startswith("__") for x in node.targets):
            self.generic_visit(node)


def _same(one: types.CodeType, other: types.CodeType) -> bool:
    """Whether two pieces of code do the same for sure."""
    if one.co_code != other.co_code or one.co_names != other.co_names or len(one.co_consts) != len(other.co_consts):
        return False
    return all(
        _same(a, b) if isinstance(a, types.CodeType) and isinstance(b, types.CodeType) else repr(a) == repr(b)
        for a, b in zip(one.co_consts, other.co_consts)
    )


def equivalent(source: str, changed: str) -> bool:
    """Whether both compile to the same code."""
    return _same(*(compile(text, "mutant", "exec", dont_inherit=True, optimize=2) for text in (source, changed)))


def mutants(source: str) -> list[Mutant]:
    """All mutants of a file, in the order of their places."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    return sorted(set(finder.found), key=lambda m: (m.begin, m.end, m.new))


def draw(rooms: dict[str, dict[str, str]], count: int, seed: int) -> Iterator[tuple[str, str, Mutant]]:
    """Random mutants as room, path and mistake: the rooms in turn, in each first a kind, then a place, every one as likely as another."""
    rng = random.Random(seed)
    found: dict[str, dict[str, list[tuple[str, Mutant]]]] = {room: {} for room in rooms}
    for room, sources in rooms.items():
        for path in sorted(sources):
            for mutant in mutants(sources[path]):
                found[room].setdefault(mutant.kind, []).append((path, mutant))
    taken: set[tuple[str, Mutant]] = set()
    order: list[str] = []
    while len(taken) < count:
        if not order:
            order = sorted(rooms)
            rng.shuffle(order)
        room = order.pop()
        kinds = found[room]
        while True:
            path, mutant = rng.choice(kinds[rng.choice(sorted(kinds))])
            source = rooms[room][path]
            if (path, mutant) not in taken and not equivalent(source, mutant.apply(source)):
                break
        taken.add((path, mutant))
        yield room, path, mutant
