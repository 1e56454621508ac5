"""What a wrench between two steps owes them, for the sweep over the tables (see `reverse.tables`).

For φ = ⟨T, f⟩ with the wrench f that step i gets from step j and a twist T, the law of `law`, ``δf = ad̄*_f δⱼ + G (δᵢ − δⱼ) + B (rᵢ − rⱼ)`` with
``r = δV − δ×V``, is transposed: T may be a virtual twist, or the relative velocity in the rate of a constraint.
"""

from ..._jit import inline, routine
from ..algebra.dual import (
    add3,
    add6,
    dadd,
    dcross,
    dscale,
    get6,
    get9,
    mm,
    mtv,
    skew_diag,
    vadd,
    vcross,
    vsub,
)
from ..layout import G_POSE, G_V, RE, VE
from .law import pair_stiffness


@inline
def at_origin(x, m, f):
    """A wrench (m about x, f) in dual form at the origin."""
    return (f, vadd(m, vcross(x, f)))


@routine
def transposed_product(P, y, x):
    """Pᵀ y of a matrix of wrenches at x by motions at x, as a wrench in dual form at the origin; y are six numbers."""
    k0, k1, k2, k3, k4, k5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for r in range(6):
        e = y[r]
        k0 += P[r, 0] * e
        k1 += P[r, 1] * e
        k2 += P[r, 2] * e
        k3 += P[r, 3] * e
        k4 += P[r, 4] * e
        k5 += P[r, 5] * e
    return at_origin(x, (k0, k1, k2), (k3, k4, k5))


@routine
def pair_owes(work, i, j, x, M, F, A, B, T):
    """What φ = ⟨T, f⟩ owes the poses of steps i and j (−1: the world); adds what it owes their twists. A and B change.

    The wrench is (M about x, F), A and B its derivatives (see `law`).
    """
    pair_stiffness(work, i, j, x, F, A, B)
    w, v = T[0], vadd(T[1], vcross(T[0], x))
    y = (w[0], w[1], w[2], v[0], v[1], v[2])
    k, n = transposed_product(A, y, x), transposed_product(B, y, x)
    if i >= 0:
        add6(work.reverse[i], G_V, n)
    if j >= 0:
        add6(work.reverse[j], G_V, dscale(-1.0, n))
    of_i = dadd(k, dcross(n, get6(work.state[i], VE)))
    of_j = dadd(dcross(at_origin(x, M, F), T), dscale(-1.0, dadd(k, dcross(n, get6(work.state[j], VE)))))
    return of_i, of_j


@routine
def owe_pose(work, i, owed):
    """What is owed to the pose of a step; nothing to the world's."""
    if i >= 0:
        add6(work.reverse[i], G_POSE, owed)


@routine
def owe_frame(R, x, owed, place, rotation, translation, slope):
    """What is owed to the place, in a frame of rotation R, of a frame at x that is owed a wrench at the origin.

    A rotation gets the matrix G = ½ τ̂R, for which Σ G dR = τ·δ if dR = δ̂R. The entries of both begin at `rotation` and `translation`.
    """
    f, m = owed
    add3(slope, translation, mtv(R, f))
    torque = mtv(R, vsub(m, vcross(x, f)))
    G = mm(skew_diag(torque, 0.0), get9(place, rotation))
    for k in range(9):
        slope[rotation + k] += 0.5 * G[k]


@routine
def owe_offset(work, i, x, owed, place, rotation, translation, slope):
    """The same for a frame in step i."""
    owe_frame(get9(work.state[i], RE), x, owed, place, rotation, translation, slope)
