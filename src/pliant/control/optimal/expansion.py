"""Costs of rows to second order (Gauss–Newton), for the sweep backwards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...gradients.costs.cost import Cost, Term
from ...gradients.costs.penalties import Penalised
from ...gradients.costs.states import Evaluated, Rows, States, Variation, slopes_of
from ...gradients.costs.times import row_weights

__all__ = ["Expansion", "couples", "expand"]

Array = NDArray[np.float64]


class Expansion(NamedTuple):
    """Derivatives of a cost in changes (x, u) of each row; see `kernels.riccati.sweep`."""

    curve: Array  # (n + 1, nx + nu, nx + nu)
    slope: Array  # (n + 1, nx + nu)
    before: Array  # (knots, nu, nu), or (0, …) if no term couples knots
    pull: Array  # (knots, nu + 1, nu)


def terms_of(cost: Cost) -> list[tuple[float, Term]]:
    """Terms of a cost with their factors; error if it is of another kind."""
    found = []
    for factor, part in cost.parts:
        if not isinstance(part, Term):
            raise TypeError(
                f"the cost {part.name!r} is a {type(part).__name__}, of which only values and slopes are known: optimize needs terms, "
                "each a quantity with a penalty (costs.Term), for their curvature."
            )
        if factor > 0.0:
            found.append((factor, part))
    return found


def couples(cost: Cost) -> bool:
    """Whether a term depends on rates of inputs, which couple knots."""
    return any(term.quantity.per_step for _factor, term in terms_of(cost))


def empty(states: States, knots: int, nz: int, coupled: bool) -> Expansion:
    """An expansion with room for all rows."""
    T, nu = len(states), states.system.nu
    width, m = 2 * states.system.nv + nz + nu, knots if coupled else 0
    return Expansion(
        np.zeros((T, width, width)), np.zeros((T, width)), np.zeros((m, nu, nu)), np.zeros((m, nu + 1, nu))
    )


def expand(cost: Cost, states: States, knot: Rows, out: Expansion) -> float:
    """The value of a cost; its derivatives into `out`. `knot` (n,) says which row of inputs acts in each step."""
    for part in out:
        part[:] = 0.0
    total = 0.0
    for factor, term in terms_of(cost):
        w = row_weights(term.at, states.t, term.quantity.per_step, None)
        rows = np.flatnonzero(w)
        if not len(rows):
            continue
        found, result = judged(term, states, w, rows)
        total += factor * result.value
        if term.quantity.per_step:
            _couple(factor, found, result, states, rows, knot, out)
        else:
            _add_rows(factor, term, found, result, states, rows, out)
    return total


def judged(term: Term, states: States, w: Array, rows: Rows) -> tuple[Evaluated, Penalised]:
    """A term's quantity on the rows that count, and what its penalty makes of it."""
    m = term.quantity.size(states.system)
    if term.average:
        w = w / w.sum()
    found = term.quantity.evaluate(states, None if len(rows) == len(w) else rows)
    share = (w[rows, None] if term.penalty.by_row else np.ones((len(rows), 1))) * term.weight
    width = m if term.penalty.by_entry else 1
    return found, term.penalty.evaluate(found.value, np.broadcast_to(share, (len(rows), width)))


def _curvature(term: Term, result: Penalised, shape: tuple[int, int]) -> Array:
    """Second derivatives of a penalty by the entries of each row, (n, m, m)."""
    n, m = shape
    out = np.zeros((n, m, m))
    if term.penalty.by_row:
        for j in range(m):
            unit = np.zeros(shape)
            unit[:, j] = 1.0
            out[:, :, j] = result.curvature(unit)
        return out
    for i in range(n):  # rows are coupled: the blocks of its diagonal
        for j in range(m):
            unit = np.zeros(shape)
            unit[i, j] = 1.0
            out[i, :, j] = result.curvature(unit)[i]
    return out


def _add_rows(
    factor: float, term: Term, found: Evaluated, result: Penalised, states: States, rows: Rows, out: Expansion
) -> None:
    """A term whose rows depend on their own states."""
    nv, width = states.system.nv, out.slope.shape[1]
    whole = len(rows) == len(states)
    parts = (slice(0, nv), slice(nv, 2 * nv), slice(width - states.system.nu, width))
    known = [
        (part, J) for part, J in zip(parts, slopes_of(found, None if whole else rows)) if J is not None and J.any()
    ]
    C = factor * _curvature(term, result, found.value.shape)
    curved = bool(C.any())
    at = slice(None) if whole else rows
    for part, J in known:
        out.slope[at, part] += factor * (result.slope[:, None] @ J)[:, 0]
        if curved:
            CJ = C @ J
            for other, I in known:
                out.curve[at, other, part] += I.transpose(0, 2, 1) @ CJ


def _couple(
    factor: float, found: Evaluated, result: Penalised, states: States, rows: Rows, knot: Rows, out: Expansion
) -> None:
    """A term of rates of inputs: of the differences from the rows before, which are those of the knots before where a knot begins."""
    T, nu = len(states), states.system.nu
    nv, width = states.system.nv, out.slope.shape[1]
    J = np.zeros((len(rows), found.value.shape[1], nu))
    for j in range(nu):  # all inputs rise by one from row to row: all differences are 1
        ramp = np.zeros((T, nu))
        ramp[:, j] = np.arange(T)
        J[:, :, j] = found.push(Variation(np.zeros((T, nv)), np.zeros((T, nv)), ramp))
    CJ = np.stack([result.curvature(J[:, :, j]) for j in range(nu)], axis=-1)
    H, g = factor * J.transpose(0, 2, 1) @ CJ, factor * (result.slope[:, None] @ J)[:, 0]
    own = slice(width - nu, width)
    for i, row in enumerate(rows.tolist()):
        if row < 2 or knot[row - 1] == knot[row - 2]:
            continue
        k = knot[row - 1]
        out.curve[row, own, own] += H[i]
        out.slope[row, own] += g[i]
        out.before[k] -= H[i]
        out.pull[k, :nu] += H[i]
        out.pull[k, nu] -= g[i]
