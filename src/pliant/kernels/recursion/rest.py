"""The tangent of a robot at rest: ∂r/∂q alone, from the columns J alone (MATH §3).

Without velocities R vanishes, and the acceleration is −g everywhere, so that ``W = ad_A J`` with one A for all steps. What a step adds,
``I W + K J``, is then one matrix times J: ``(I ad_A + K) J``, where of the inertia I only the weight is left. Nothing but J
travels outwards, which makes this tangent about half as expensive as that of a motion.
"""

import numpy as np

from ..._jit import inline, routine
from ..algebra.dual import get3, get9, hat_m, mv, skew_diag, vadd, vscale
from ..layout import D_COM, D_MASS, J_PLANE, MASSLESS, NO, PE, RE, S_INERTIA, STEP_LOADS, YES
from ..loads.together import apply_loads, load_tangents
from .composite import put_jacobians
from .dynamics import point_forces, scatter
from .forward import forward
from .inertia import put_block
from .products import ZERO
from .rows import Place, Terms, sweep

ONE, TWO = np.int64(1), np.int64(2)
BESIDE_R = Place(TWO, ONE, J_PLANE)  # in `wide1` [R | J], where the pass looks for J; R is not written


@routine
def weight_matrices(t, work):
    """I ad_A of every step, A = −g, in `work.inertia`, whatever kind of inertia it has; clears the matrices of loads."""
    steps = t.step.shape[0]
    g = get3(work.gravity, ZERO)
    for i in range(steps + 1):
        M, N, K = work.inertia[i], work.bias[i], work.load[i]
        for r in range(6):
            for c in range(6):
                M[r, c] = 0.0
                N[r, c] = 0.0
                K[r, c] = 0.0
        if i < steps and t.step[i, S_INERTIA] != MASSLESS:
            row, data = work.state[i], t.data[i]
            c = vadd(get3(row, PE), mv(get9(row, RE), get3(data, D_COM)))
            F = skew_diag(vscale(-data[D_MASS], g), 0.0)
            put_block(M, 0, 0, hat_m(c, F))
            put_block(M, 3, 0, F)


@routine
def prepare_rest(t, work, loads, q, u):
    """Everything before the backward pass: wrenches of every step, I ad_A + K in `work.inertia`, the columns J of every block."""
    forward(t, q, work.zero, work.zero, work)
    point_forces(t, work)
    weight_matrices(t, work)
    apply_loads(work, loads, q, work.zero, u)
    load_tangents(work, loads, q, work.zero, u)
    if t.flags[STEP_LOADS] != 0:
        for i in range(work.load.shape[0]):
            for r in range(6):
                for c in range(6):
                    work.inertia[i, r, c] += work.load[i, r, c]
    put_jacobians(t, work, BESIDE_R)


@inline
def rest_terms():
    """What the pass sums, after `prepare_rest`."""
    return Terms(ONE, 1.0, ZERO, YES, NO, NO, BESIDE_R, BESIDE_R)


@routine
def rest_tangent(t, work, loads, q, u, tau, out):
    """ID(q, 0, 0) less the generalised forces of the loads on steps in tau (nv,), its derivative by q in out[0] of (1, nv, nv).

    `out` must be zero where no block couples to another.
    """
    prepare_rest(t, work, loads, q, u)
    sweep(t, work, rest_terms(), work.wide1, work.wide1, out)
    scatter(t, work.tau, tau)
