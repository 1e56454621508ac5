"""Prescribed joints: coordinates whose motion is known, and which are eliminated from the unknowns of a step."""

from ..._jit import routine
from ..algebra.manifold import relative_log
from ..slots import KNOWN_A, KNOWN_MOVE, KNOWN_V


@routine
def read_known(c, work, q0, q1, v1, a1):
    """Displacements from q₀ to the known coordinates in q₁, and their velocities and accelerations, into work.known."""
    known = work.known
    for k in range(c.known.shape[0]):
        known[KNOWN_MOVE, k] = 0.0
        known[KNOWN_V, k] = v1[k]
        known[KNOWN_A, k] = a1[k]
    for k in range(c.shift.shape[0]):
        known[KNOWN_MOVE, c.shift[k, 1]] = q1[c.shift[k, 0]] - q0[c.shift[k, 0]]
    for k in range(c.spatial.shape[0]):
        o, i = c.spatial[k, 0], c.spatial[k, 1]
        if c.known[i] == 1:
            relative_log(q0, q1, o, o, c.spatial[k, 2], known[KNOWN_MOVE], i)


@routine
def put_known(c, work, move, v1, a1, b1):
    """Write the known motion into the unknowns of a step; the auxiliary acceleration b₁ is the true one."""
    for k in range(c.known.shape[0]):
        if c.known[k] == 1:
            move[k] = work.known[KNOWN_MOVE, k]
            v1[k] = work.known[KNOWN_V, k]
            a1[k] = work.known[KNOWN_A, k]
            b1[k] = work.known[KNOWN_A, k]


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
