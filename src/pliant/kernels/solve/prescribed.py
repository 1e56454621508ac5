"""Prescribed joints: coordinates whose motion is known, and which are eliminated from the unknowns of a step."""

from ..._jit import routine
from ..algebra.manifold import relative_log


@routine
def read_known(c, work, q0, q1, v1, w1):
    """Displacements from q₀ to the known coordinates in q₁, and their velocities and accelerations, into work.known."""
    known = work.known
    for k in range(c.known.shape[0]):
        known[0, k] = 0.0
        known[1, k] = v1[k]
        known[2, k] = w1[k]
    for k in range(c.shift.shape[0]):
        known[0, c.shift[k, 1]] = q1[c.shift[k, 0]] - q0[c.shift[k, 0]]
    for k in range(c.spatial.shape[0]):
        o, i = c.spatial[k, 0], c.spatial[k, 1]
        if c.known[i] == 1:
            relative_log(q0, q1, o, o, c.spatial[k, 2], known[0], i)


@routine
def put_known(c, work, move, v1, w1, a1):
    """Write the known motion into the unknowns of a step."""
    for k in range(c.known.shape[0]):
        if c.known[k] == 1:
            move[k] = work.known[0, k]
            v1[k] = work.known[1, k]
            w1[k] = work.known[2, k]
            a1[k] = work.known[2, k]


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
