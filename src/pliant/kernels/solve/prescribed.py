"""Prescribed joints: coordinates whose motion is known, and which are eliminated from the unknowns of a step."""

from ..._jit import routine
from ..slots import KNOWN_A, KNOWN_MOVE, KNOWN_V
from .straight import displacement_to, read_rates


@routine
def read_known(c, work, start, end):
    """Displacements to the known coordinates at the end of a step, and their rates, into work.known."""
    known = work.known
    displacement_to(c, start.q, end.q, known[KNOWN_MOVE])
    read_rates(c, end)
    for k in range(c.known.shape[0]):
        known[KNOWN_V, k] = end.rate[k]
        known[KNOWN_A, k] = end.second[k]


@routine
def put_known(c, work, move, end):
    """Write the known motion into the unknowns of a step; the auxiliary acceleration is the true one."""
    for k in range(c.known.shape[0]):
        if c.known[k] == 1:
            move[k] = work.known[KNOWN_MOVE, k]
            end.rate[k] = work.known[KNOWN_V, k]
            end.second[k] = work.known[KNOWN_A, k]
            end.b[k] = work.known[KNOWN_A, k]


@routine
def clear_known(c, x):
    """Zero the entries of known coordinates."""
    for k in range(c.known.shape[0]):
        if c.known[k] == 1:
            x[k] = 0.0


@routine
def eliminate(c, A):
    """Unit rows and columns for known coordinates."""
    n = A.shape[0]
    for k in range(n):
        if c.known[k] == 1:
            for j in range(n):
                A[k, j] = 0.0
                A[j, k] = 0.0
            A[k, k] = 1.0
