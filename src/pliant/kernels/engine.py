"""The one heavy entry point of the package, and how a robot is packed for it.

Everything that needs derivatives is a *job* of a single kernel: numba optimises the code of a kernel together with all
that it calls, so several entries that share the recursion would each compile it again. The robot travels as three
flat arrays instead of some forty, which saves most of the cost of a call from Python.
"""

from typing import NamedTuple

import numpy as np

from .._jit import kernel, routine
from .actuation import Lines
from .composite import mass_matrix
from .dynamics import newton_euler
from .internal import Internal
from .layout import Floats, Ints, Tables, Work
from .linear import cholesky, cholesky_solve
from .newton import CONVERGED, SINGULAR, alpha_step, statics
from .residual import residual, residual_tangent
from .tangent import tangent
from .wrenches import Wrenches

ID, DERIVATIVES, RESIDUAL, TANGENT, MASS, FORWARD, STATICS, ALPHA = (np.int64(k) for k in range(8))
PARAMETERS = 32  # length of the parameter array: inputs from 0, reports from 16, memory of the integrator from 24


class Packed(NamedTuple):
    """A robot and its workspace as three arrays."""

    ints: Ints  # header of (offset, shape) per array, then all integer arrays
    floats: Floats  # all constant real arrays
    buffer: Floats  # the workspace


_N_TABLES, _N_INTERNAL, _N_LINES, _N_WRENCHES, _N_WORK = (
    len(T._fields) for T in (Tables, Internal, Lines, Wrenches, Work)
)
_T0 = np.int64(0)
_C0 = np.int64(_N_TABLES)
_L0 = np.int64(_C0 + _N_INTERNAL)
_P0 = np.int64(_L0 + _N_LINES)
_W0 = np.int64(_P0 + _N_WRENCHES)
_HEADER = 4 * (int(_W0) + _N_WORK)


def pack(
    tables: Tables, internal: Internal, lines: Lines, wrenches: Wrenches, work: Work
) -> tuple[Packed, tuple[Tables, Internal, Lines, Wrenches, Work]]:
    """Copy all arrays into three; returns these and the same tables as views of them."""
    header = np.zeros((_HEADER // 4, 4), dtype=np.int64)
    parts: dict[str, list[np.ndarray]] = {"ints": [], "floats": [], "buffer": []}
    sizes = {"ints": _HEADER, "floats": 0, "buffer": 0}
    for k, array in enumerate([*tables, *internal, *lines, *wrenches, *work]):
        kind = "buffer" if k >= _W0 else "ints" if array.dtype == np.int64 else "floats"
        header[k, 0] = sizes[kind]
        header[k, 1 : 1 + array.ndim] = array.shape
        parts[kind].append(array.ravel())
        sizes[kind] += array.size
    ints = np.concatenate([header.ravel(), *parts["ints"]])
    packed = Packed(ints, np.concatenate(parts["floats"]), np.concatenate(parts["buffer"]))
    views = []
    for k, array in enumerate([*tables, *internal, *lines, *wrenches, *work]):
        source = packed.buffer if k >= _W0 else packed.ints if array.dtype == np.int64 else packed.floats
        views.append(source[header[k, 0] : header[k, 0] + array.size].reshape(array.shape))
    t, c, n, p, w = (int(k) for k in (_T0, _C0, _L0, _P0, _W0))
    tuples = Tables(*views[t:c]), Internal(*views[c:n]), Lines(*views[n:p]), Wrenches(*views[p:w]), Work(*views[w:])
    return packed, tuples


@routine
def view1(ints, source, k):
    """The k-th array, one-dimensional."""
    o = ints[4 * k]
    return source[o : o + ints[4 * k + 1]]


@routine
def view2(ints, source, k):
    """The k-th array, two-dimensional."""
    o, a, b = ints[4 * k], ints[4 * k + 1], ints[4 * k + 2]
    return source[o : o + a * b].reshape((a, b))


@routine
def view3(ints, source, k):
    """The k-th array, three-dimensional."""
    o, a, b, c = ints[4 * k], ints[4 * k + 1], ints[4 * k + 2], ints[4 * k + 3]
    return source[o : o + a * b * c].reshape((a, b, c))


@routine
def unpack_tables(i, f):
    """`Tables` as views."""
    k = _T0
    return Tables(
        view2(i, i, k),
        view2(i, f, k + 1),
        view2(i, i, k + 2),
        view2(i, f, k + 3),
        view2(i, f, k + 4),
        view2(i, i, k + 5),
        view1(i, i, k + 6),
        view1(i, i, k + 7),
        view1(i, f, k + 8),
        view1(i, i, k + 9),
    )


@routine
def unpack_internal(i, f):
    """`Internal` as views."""
    k = _C0
    return Internal(
        view2(i, i, k),
        view2(i, i, k + 1),
        view1(i, f, k + 2),
        view1(i, i, k + 3),
        view1(i, i, k + 4),
        view1(i, f, k + 5),
        view1(i, f, k + 6),
        view2(i, i, k + 7),
        view3(i, f, k + 8),
        view2(i, f, k + 9),
        view1(i, f, k + 10),
    )


@routine
def unpack_lines(i, f):
    """`Lines` as views."""
    k = _L0
    return Lines(view2(i, i, k), view2(i, f, k + 1), view1(i, f, k + 2), view1(i, i, k + 3))


@routine
def unpack_wrenches(i, f):
    """`Wrenches` as views."""
    k = _P0
    return Wrenches(view2(i, i, k), view2(i, f, k + 1))


@routine
def unpack_work(i, w):
    """`Work` as views."""
    k = _W0
    return Work(
        view2(i, w, k),
        view2(i, w, k + 1),
        view3(i, w, k + 2),
        view3(i, w, k + 3),
        view3(i, w, k + 4),
        view2(i, w, k + 5),
        view2(i, w, k + 6),
        view2(i, w, k + 7),
        view3(i, w, k + 8),
        view3(i, w, k + 9),
        view2(i, w, k + 10),
        view2(i, w, k + 11),
        view2(i, w, k + 12),
        view3(i, w, k + 13),
        view1(i, w, k + 14),
        view1(i, w, k + 15),
        view2(i, w, k + 16),
        view2(i, w, k + 17),
        view2(i, w, k + 18),
        view2(i, w, k + 19),
        view1(i, w, k + 20),
        view1(i, w, k + 21),
    )


@routine
def forward_dynamics(t, work, c, lines, wrenches, q, v, u, tau, acceleration, S):
    """Acceleration from M a = −r(q, v, 0); S[0] gets the Cholesky factor of M. Returns a status."""
    residual(t, work, c, lines, wrenches, q, v, work.zero, u, tau, acceleration)
    mass_matrix(t, work, q, S)
    if not cholesky(S[0]):
        return SINGULAR
    for k in range(acceleration.shape[0]):
        acceleration[k] = -acceleration[k]
    cholesky_solve(S[0], acceleration)
    return CONVERGED


@kernel
def run(job, ints, floats, buffer, q, v, w, a, u, tau, p, S, pivot, q1, v1, w1, a1):
    """Do one job.

    q (nq,), v, w, a (nv,): coordinates, velocity, acceleration, auxiliary acceleration of the integrator; u (nu,):
    inputs; tau (nv,): further generalised forces; p (PARAMETERS,); S (1 to 3, nv, nv); results in q1 (nq,), v1, w1, a1
    (nv,), S. Returns a status.

    | job | p[0:…] | results |
    |---|---|---|
    | ID | | v1 = ID(q, v, w) |
    | DERIVATIVES | cq, cv, ca (if S is one matrix) | v1 = ID, S = derivatives |
    | RESIDUAL | | v1 = r(q, v, w, u, tau) |
    | TANGENT | cq, cv, ca | v1 = r, S[0] = cq ∂r/∂q + cv ∂r/∂v + ca ∂r/∂a |
    | MASS | | S[0] = M(q) |
    | FORWARD | | w1 = acceleration, S[0] = Cholesky factor of M |
    | STATICS | tolerance, iterations, radius, use energy | q1 = equilibrium, from q1; p[16:22] report; S (2, …) |
    | ALPHA | h; αm, αf, β, γ; rtol, atol, κ, iterations | q1, v1, w1, a1; p[16:21] report; p[24:27] memory |
    """
    t = unpack_tables(ints, floats)
    work = unpack_work(ints, buffer)
    if job == ID:
        newton_euler(t, work, q, v, w, v1)
        return CONVERGED
    if job == MASS:
        mass_matrix(t, work, q, S)
        return CONVERGED
    wrenches = unpack_wrenches(ints, floats)
    if job == DERIVATIVES:
        tangent(t, work, wrenches, job < 0, q, v, w, u, p[0], p[1], p[2], v1, S)
        return CONVERGED
    c = unpack_internal(ints, floats)
    lines = unpack_lines(ints, floats)
    if job == RESIDUAL:
        residual(t, work, c, lines, wrenches, q, v, w, u, tau, v1)
        return CONVERGED
    if job == TANGENT:
        residual_tangent(t, work, c, lines, wrenches, q, v, w, u, tau, p[0], p[1], p[2], v1, S)
        return CONVERGED
    if job == FORWARD:
        return forward_dynamics(t, work, c, lines, wrenches, q, v, u, tau, w1, S)
    if job == STATICS:
        options = (p[0], int(p[1]), p[2], p[3] != 0.0)
        return statics(t, work, c, lines, wrenches, q1, u, tau, options, S[:1], S[1], q, pivot, p[16:22])
    h, alpha, tol, report, memory = p[0], p[1:5], p[5:9], p[16:21], p[24:27]
    return alpha_step(
        t, work, c, lines, wrenches, q, v, w, a, u, tau, h, alpha, tol, S, pivot, memory, q1, v1, w1, a1, report
    )
