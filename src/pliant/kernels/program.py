"""Inputs as functions of time without Python: tables and formulas that kernels evaluate.

A `Program` holds the functions of t of some entries of a vector; the other entries are constant. A function is either

* a piecewise polynomial: breaks and cubic polynomials between them, the first and the last constant; or
* a formula: instructions of a small stack machine, one for each operator and function of a formula.

Formulas compute what numpy computes, in the same order: arithmetic to the last bit, functions such as sin as well as the
mathematical library does. Truth values are 1 and 0.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._call import INTERPRETED
from .._jit import inline, kernel, routine
from .layout import F1, F2, I2, Floats
from .packing import unpacker


def _codes(*values: int) -> tuple[Any, ...]:
    return tuple(np.int64(value) for value in values)


# columns of `Program.entry`: place in the vector, kind, first break or instruction and how many, first row of coefficients
OUT, KIND, FIRST, COUNT, ROW = _codes(*range(5))
ENTRY_WIDTH = 5
# kinds of function
PIECES, FORMULA = _codes(0, 1)
# columns of `Program.code`: operation, and the number that NUMBER puts on the stack
OPERATION, OPERAND = _codes(0, 1)

# operations: of none, one, two and three arguments, and two that rearrange the stack
NUMBER, TIME = _codes(0, 1)
(
    MINUS, NOT, SIN, COS, TAN, SINH, COSH, TANH, EXP, SQRT, ASIN, ACOS, ATAN, LOG, LOG10, ABS, SIGN, FLOOR, CEIL, RADIANS,
    DEGREES,
) = _codes(*range(2, 23))  # fmt: skip
(
    ADD, SUBTRACT, MULTIPLY, DIVIDE, MODULO, FLOOR_DIVIDE, POWER, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL, AND, OR,
    ATAN2, HYPOT, MINIMUM, MAXIMUM,
) = _codes(*range(23, 42))  # fmt: skip
WHERE, TUCK, SWAP = _codes(42, 43, 44)  # a, b → b, a, b and a, b → b, a: for a < b < c

GOOD = np.int64(-1)  # what `evaluate` returns if nothing is wrong

# Compiled, functions of `math` give what numpy's do (NaN, infinity); interpreted they would raise exceptions.
_SIN, _COS, _TAN, _SINH, _COSH, _TANH, _EXP, _SQRT, _LOG, _LOG10 = (
    getattr(np if INTERPRETED else math, name)
    for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "sqrt", "log", "log10")
)
_ASIN, _ACOS, _ATAN, _ATAN2 = (
    (np.arcsin, np.arccos, np.arctan, np.arctan2) if INTERPRETED else (math.asin, math.acos, math.atan, math.atan2)
)
_HYPOT, _POW = (np.hypot, np.power) if INTERPRETED else (math.hypot, math.pow)
_FINITE = float(np.finfo(np.float64).max)
_PER_DEGREE, _PER_RADIAN = math.pi / 180.0, 180.0 / math.pi


class Program(NamedTuple):
    """Functions of t. All is constant but `stack`, which `evaluate` writes: one program for each thread."""

    constant: F1  # (n,) the entries that do not vary; 0 for the others
    low: F1  # (n,) the smallest value that is allowed
    high: F1  # (n,) the largest
    entry: I2  # (varying entries, ENTRY_WIDTH)
    breaks: F1  # (breaks,) s, of one function after the other, increasing
    pieces: F2  # (Σ(breaks + 1), 4) coefficients of s³, s², s, 1 with s = t − the break before
    code: I2  # (instructions, 2)
    numbers: F1  # (numbers,) constants of formulas
    stack: F1  # (deepest,) scratch


_unpack = unpacker(Program, 0)


class Pieces(NamedTuple):
    """A piecewise polynomial, before it is part of a program."""

    breaks: Floats  # (m,), m >= 1
    coefficients: Floats  # (m + 1, 4)


Code = Sequence[tuple[int, float]]
"""A formula: operations, each with the number that NUMBER puts on the stack."""


def assemble(
    constant: Floats, low: Floats, high: Floats, functions: Mapping[int, Pieces | Code], *, scratch: int = 1
) -> Program:
    """A program of n entries.

    Parameters
    ----------
    constant : ndarray, shape (n,)
        Values of the entries that do not vary.
    low, high : ndarray, shape (n,)
        Bounds.
    functions : mapping
        The function of each entry that varies.
    scratch : int
        Least size of the stack.
    """
    constant = np.array(constant, dtype=np.float64)
    entry: list[tuple[int, ...]] = []
    code: list[tuple[int, int]] = []
    numbers: list[float] = []
    breaks, pieces = [np.zeros(0)], [np.zeros((0, 4))]
    at, row, deepest = 0, 0, scratch
    for k, function in sorted(functions.items()):
        constant[k] = 0.0
        if isinstance(function, Pieces):
            count = len(function.breaks)
            entry.append((k, PIECES, at, count, row))
            breaks.append(function.breaks)
            pieces.append(function.coefficients)
            at, row = at + count, row + count + 1
        else:
            entry.append((k, FORMULA, len(code), len(function), 0))
            for operation, number in function:
                code.append((operation, len(numbers)))
                if operation == NUMBER:
                    numbers.append(number)
            deepest = max(deepest, depth(function))
    return Program(
        constant=constant,
        low=np.maximum(low, -_FINITE),
        high=np.minimum(high, _FINITE),
        entry=np.array(entry, dtype=np.int64).reshape(-1, ENTRY_WIDTH),
        breaks=np.concatenate(breaks),
        pieces=np.concatenate(pieces),
        code=np.array(code, dtype=np.int64).reshape(-1, 2),
        numbers=np.array(numbers, dtype=np.float64),
        stack=np.zeros(deepest),
    )


def growth(operation: int) -> int:
    """By how much an operation lengthens the stack."""
    if operation < MINUS or operation == TUCK:
        return 1
    if operation < ADD or operation == SWAP:
        return 0
    return -2 if operation == WHERE else -1


def depth(code: Code) -> int:
    """How long the stack becomes."""
    lengths = np.cumsum([growth(operation) for operation, _number in code])
    return int(lengths.max(initial=0))


# ---------------------------------------------------------------- kernels


@routine
def evaluate(program, t, side, out):
    """Write the entries that vary with time into out (n,); the constant ones must be there.

    With ``side = -1`` the limit from the left, with ``+1`` that from the right; they differ where a function jumps. With 0 the
    value at t, which for tables is the limit from the right. Limits of formulas are taken at the next number before or after t.

    Returns −1, or the number of the first entry that is not finite or beyond its bounds.
    """
    wrong = GOOD
    for e in range(program.entry.shape[0]):
        k = program.entry[e, OUT]
        first, count = program.entry[e, FIRST], program.entry[e, COUNT]
        if program.entry[e, KIND] == PIECES:
            value = _polynomial(program, first, count, program.entry[e, ROW], t, side)
        else:
            value = _limit(program, first, count, t, side)
        out[k] = value
        if wrong < 0 and not (program.low[k] <= value <= program.high[k]):
            wrong = k
    return wrong


@inline
def _polynomial(program, first, count, row, t, side):
    """A piecewise polynomial at t."""
    low, high = first, first + count  # breaks before `low` are passed at t, those from `high` on are not
    while low < high:
        middle = (low + high) // 2
        x = program.breaks[middle]
        if x < t or (x == t and side >= 0):
            low = middle + 1
        else:
            high = middle
    s = t - program.breaks[max(low - 1, first)]
    c = row + low - first
    pieces = program.pieces
    return ((pieces[c, 0] * s + pieces[c, 1]) * s + pieces[c, 2]) * s + pieces[c, 3]


@inline
def _limit(program, first, count, t, side):
    """A formula at t, or next to it where that is a number."""
    value = _formula(program, first, count, t if side == 0 else _beside(t, side))
    if side != 0 and not math.isfinite(value):
        value = _formula(program, first, count, t)
    return value


@inline
def _beside(t, side):
    """The next number after t (side > 0) or before it."""
    return np.nextafter(t, np.inf if side > 0 else -np.inf)


@routine
def _formula(program, first, count, t):
    """Run the instructions of a formula."""
    stack = program.stack
    n = -1  # the last place in use
    for i in range(first, first + count):
        operation = program.code[i, OPERATION]
        if operation <= TIME:
            n += 1
            stack[n] = t if operation == TIME else program.numbers[program.code[i, OPERAND]]
        elif operation < ADD:
            stack[n] = _one(operation, stack[n])
        elif operation < WHERE:
            n -= 1
            stack[n] = _two(operation, stack[n], stack[n + 1])
        elif operation == WHERE:
            n -= 2
            stack[n] = stack[n + 1] if stack[n] != 0.0 else stack[n + 2]
        elif operation == TUCK:
            n += 1
            stack[n] = stack[n - 1]
            stack[n - 1] = stack[n - 2]
            stack[n - 2] = stack[n]
        else:
            stack[n - 1], stack[n] = stack[n], stack[n - 1]
    return stack[0]


@inline
def _one(operation, x):
    """An operation of one argument."""
    if operation == MINUS:
        return -x
    if operation == NOT:
        return 1.0 if x == 0.0 else 0.0
    if operation == SIN:
        return _SIN(x)
    if operation == COS:
        return _COS(x)
    if operation == TAN:
        return _TAN(x)
    if operation == SINH:
        return _SINH(x)
    if operation == COSH:
        return _COSH(x)
    if operation == TANH:
        return _TANH(x)
    if operation == EXP:
        return _EXP(x)
    if operation == SQRT:
        return _SQRT(x)
    if operation == ASIN:
        return _ASIN(x)
    if operation == ACOS:
        return _ACOS(x)
    if operation == ATAN:
        return _ATAN(x)
    if operation == LOG:
        return _LOG(x)
    if operation == LOG10:
        return _LOG10(x)
    if operation == ABS:
        return abs(x)
    if operation == SIGN:
        return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else (0.0 if x == 0.0 else x))
    if operation == FLOOR:
        return np.floor(x)
    if operation == CEIL:
        return np.ceil(x)
    if operation == RADIANS:
        return x * _PER_DEGREE
    return x * _PER_RADIAN


@inline
def _two(operation, a, b):
    """An operation of two arguments."""
    if operation == ADD:
        return a + b
    if operation == SUBTRACT:
        return a - b
    if operation == MULTIPLY:
        return a * b
    if operation == DIVIDE:
        return a / b
    if operation == MODULO:
        return _remainder(a, b)
    if operation == FLOOR_DIVIDE:
        return _quotient(a, b)
    if operation == POWER:
        return _POW(a, b)
    if operation == LESS:
        return 1.0 if a < b else 0.0
    if operation == LESS_EQUAL:
        return 1.0 if a <= b else 0.0
    if operation == GREATER:
        return 1.0 if a > b else 0.0
    if operation == GREATER_EQUAL:
        return 1.0 if a >= b else 0.0
    if operation == EQUAL:
        return 1.0 if a == b else 0.0
    if operation == NOT_EQUAL:
        return 1.0 if a != b else 0.0
    if operation == AND:
        return 1.0 if a != 0.0 and b != 0.0 else 0.0
    if operation == OR:
        return 1.0 if a != 0.0 or b != 0.0 else 0.0
    if operation == ATAN2:
        return _ATAN2(a, b)
    if operation == HYPOT:
        return _HYPOT(a, b)
    if operation == MINIMUM:
        return a if a <= b or math.isnan(a) else b
    return a if a >= b or math.isnan(a) else b


@inline
def _remainder(a, b):
    """a % b with the sign of b."""
    rest = np.fmod(a, b)
    if b == 0.0:
        return rest
    if rest == 0.0:
        return math.copysign(0.0, b)
    return rest + b if (b < 0.0) != (rest < 0.0) else rest


@inline
def _quotient(a, b):
    """a // b, a whole number."""
    if b == 0.0:
        return a / b
    rest = np.fmod(a, b)
    whole = (a - rest) / b
    if rest != 0.0 and (b < 0.0) != (rest < 0.0):
        whole -= 1.0
    if whole == 0.0:
        return math.copysign(0.0, a / b)
    floor = np.floor(whole)
    return floor + 1.0 if whole - floor > 0.5 else floor


if INTERPRETED:  # numpy would warn of what is meant
    evaluate = np.errstate(all="ignore")(evaluate)


@kernel("i1 f1 f1 f2")
def evaluate_rows(ints, floats, times, out):
    """`evaluate` at many times: out (m, n) holds the constants before. Returns the first row with an entry that is wrong, or GOOD."""
    program = _unpack(ints, floats)
    for k in range(times.shape[0]):
        if evaluate(program, times[k], np.int64(0), out[k]) != GOOD:
            return np.int64(k)
    return GOOD
