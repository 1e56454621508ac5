"""Displacements of a step on SO(3) × R³: free joints turn by an exponential, and their positions go straight.

This is how [000] moves a free base (eqs 11–13): of a free joint with pose (R, r) in its parent and body twist (Ω, V) the displacement is (Θ, d) with
``R₁ = R₀ exp Θ``, ``r₁ = r₀ + d``, its rate (Ω, ṙ) with ``ṙ = R V`` and its second rate (Ω̇, r̈) with ``r̈ = R (V̇ + Ω × V)``. Free fall has a constant r̈ then,
however the body spins. On all other joints they are the increment, velocity and acceleration.
"""

from ..._jit import routine
from ..algebra.dual import get3, mtv, mv, put3, quaternion_matrix, vadd, vaxpy, vcross, vscale, vsub
from ..algebra.manifold import POSE, integrate, relative_log


@routine
def read_rates(c, motion):
    """Rates of the displacement, from the velocity and acceleration that the robot has."""
    q, v, a = motion.q, motion.v, motion.a
    for k in range(v.shape[0]):
        motion.rate[k] = v[k]
        motion.second[k] = a[k]
    for k in range(c.spatial.shape[0]):
        o, i = c.spatial[k, 0], c.spatial[k, 1]
        if c.spatial[k, 2] == POSE:
            R, V = quaternion_matrix(q, o), get3(v, i + 3)
            put3(motion.rate, i + 3, mv(R, V))
            put3(motion.second, i + 3, mv(R, vadd(get3(a, i + 3), vcross(get3(v, i), V))))


@routine
def displace(c, start, move, end):
    """The end of a step: q₀ displaced by `move`, and from the rates there the velocity and acceleration that the robot has."""
    integrate(c.shift, c.spatial, start.q, move, end.q)
    for k in range(move.shape[0]):
        end.v[k] = end.rate[k]
        end.a[k] = end.second[k]
    for k in range(c.spatial.shape[0]):
        o, i = c.spatial[k, 0], c.spatial[k, 1]
        if c.spatial[k, 2] == POSE:
            put3(end.q, o + 4, vadd(get3(start.q, o + 4), get3(move, i + 3)))
            R = quaternion_matrix(end.q, o)
            V = mtv(R, get3(end.rate, i + 3))
            put3(end.v, i + 3, V)
            put3(end.a, i + 3, vsub(mtv(R, get3(end.second, i + 3)), vcross(get3(end.rate, i), V)))


@routine
def displacement_to(c, q0, q1, move):
    """The displacement from q₀ to q₁, of prescribed coordinates; zero on the others."""
    for k in range(move.shape[0]):
        move[k] = 0.0
    for k in range(c.shift.shape[0]):
        move[c.shift[k, 1]] = q1[c.shift[k, 0]] - q0[c.shift[k, 0]]
    for k in range(c.spatial.shape[0]):
        o, i, group = c.spatial[k, 0], c.spatial[k, 1], c.spatial[k, 2]
        if c.known[i] == 1:
            relative_log(q0, q1, o, o, group, move, i)
            if group == POSE:
                put3(move, i + 3, vsub(get3(q1, o + 4), get3(q0, o + 4)))


@routine
def straighten(c, end, cv, ca, step):
    """Newton's correction, from that of the pose at the end of the step in body axes (θ, x) to that of the displacement.

    The tangent takes ``δV = cv x`` and ``δV̇ = ca x``, but here ``δ(V̇ + Ω × V) = Rᵀ δr̈ = ca x + (Rᵀ r̈) × θ``. What differs is an acceleration of all that the joint
    carries, and so a shift, for which x makes up; what it changes in loads that depend on the place is left to the next iteration.
    """
    for k in range(c.spatial.shape[0]):
        o, i = c.spatial[k, 0], c.spatial[k, 1]
        if c.spatial[k, 2] == POSE:
            R, turn, x = quaternion_matrix(end.q, o), get3(step, i), get3(step, i + 3)
            more = vscale(cv, vsub(vcross(get3(end.v, i), x), vcross(get3(end.v, i + 3), turn)))
            more = vsub(more, vcross(mtv(R, get3(end.second, i + 3)), turn))
            put3(step, i + 3, mv(R, vaxpy(1.0 / ca, more, x)))
