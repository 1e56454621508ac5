"""Derivatives of the chart in which a step moves manifold joints.

With Tᵣ = T(−X), ``Q = q₀ ⊕ X`` and ``K = Tᵣ⁻¹ V``: ``δQ = P δq₀ + Tᵣ δX``, ``δK = Tᵣ⁻¹ (C δX + δV)`` with ``P = Ad(exp(−X))`` and C the
derivative of T(W) K by W at −X; a stage with ``X = x̄ + g K`` has ``δX = L⁻¹ (Tᵣ δx̄ + g δV)``, ``L = Tᵣ − g C``. On ordinary coordinates all are the
identity, but for C = 0.
"""

import numpy as np

from ..._jit import routine
from ..algebra.dual import dscale, get3, get6, rotate_back, vscale
from ..algebra.exponential import dual_to_matrix, exp_se3, tangent_coefficients, tangent_derivative, tangent_matrix
from ..algebra.manifold import POSE, VELOCITIES
from ..layout import NO
from ..recursion.columns import unit_twist

TURN, CURVE, CARRY, INVERSE, UNTURN = (np.int64(k) for k in range(5))  # Tᵣ, C, P, L⁻¹, Tᵣ⁻¹: planes of a chart


@routine
def twist_of(x, o, group):
    """The twist at a manifold joint; of a rotation without a linear part."""
    if group == POSE:
        return get6(x, o)
    w = get3(x, o)
    return (w, vscale(0.0, w))


@routine
def invert(A, n):
    """A becomes its inverse in the leading n × n part, without row exchanges.

    The symmetric parts of Tᵣ and L are positive definite for steps of less than half a turn, so that no pivot vanishes.
    """
    for k in range(n):
        f = 1.0 / A[k, k]
        A[k, k] = 1.0
        for j in range(n):
            A[k, j] *= f
        for i in range(n):
            if i != k:
                f = A[i, k]
                A[i, k] = 0.0
                for j in range(n):
                    A[i, j] -= f * A[k, j]


@routine
def set_chart(c, X, K, g, chart):
    """All matrices of the manifold joints for the displacement X (nv,), chart rates K (nv,) and g; see the top."""
    joints = c.spatial.shape[0]
    for k in range(joints):
        o, group = c.spatial[k, 1], c.spatial[k, 2]
        n = VELOCITIES[group]
        x = twist_of(X, o, group)
        omega = dscale(-1.0, x)
        ca, cb, a1, b1, _a2, _b2 = tangent_coefficients(omega)
        turn, curve, carry = chart[TURN * joints + k], chart[CURVE * joints + k], chart[CARRY * joints + k]
        dual_to_matrix(tangent_matrix(omega, ca, cb), NO, turn)
        dual_to_matrix(tangent_derivative(omega, twist_of(K, o, group), ca, cb, a1, b1), NO, curve)
        ca, cb, a1, b1, _a2, _b2 = tangent_coefficients(x)
        R, p = exp_se3(x, ca, cb)
        for j in range(6):
            y = rotate_back(R, p, unit_twist(j))
            for i in range(3):
                carry[i, j] = y[0][i]
                carry[3 + i, j] = y[1][i]
        inverse, unturn = chart[INVERSE * joints + k], chart[UNTURN * joints + k]
        for i in range(n):
            for j in range(n):
                inverse[i, j] = turn[i, j] - g * curve[i, j]
                unturn[i, j] = turn[i, j]
        invert(inverse, n)
        invert(unturn, n)


@routine
def apply_chart(c, chart, plane, flat, x, out):
    """out = the plane of the chart times x (nv,); on ordinary coordinates flat × x. Not in place."""
    for i in range(x.shape[0]):
        out[i] = flat * x[i]
    joints = c.spatial.shape[0]
    for k in range(joints):
        o, n = c.spatial[k, 1], VELOCITIES[c.spatial[k, 2]]
        A = chart[plane * joints + k]
        for i in range(n):
            s = 0.0
            for j in range(n):
                s += A[i, j] * x[o + j]
            out[o + i] = s


@routine
def apply_transposed(c, chart, plane, flat, x, out):
    """The same with the transposed matrices."""
    for i in range(x.shape[0]):
        out[i] = flat * x[i]
    joints = c.spatial.shape[0]
    for k in range(joints):
        o, n = c.spatial[k, 1], VELOCITIES[c.spatial[k, 2]]
        A = chart[plane * joints + k]
        for j in range(n):
            s = 0.0
            for i in range(n):
                s += A[i, j] * x[o + i]
            out[o + j] = s


@routine
def solve_inverse(c, chart, x):
    """x becomes L⁻ᵀ x on manifold joints."""
    joints = c.spatial.shape[0]
    for k in range(joints):
        o, n = c.spatial[k, 1], VELOCITIES[c.spatial[k, 2]]
        L = chart[INVERSE * joints + k]
        a = (
            x[o],
            x[o + 1],
            x[o + 2],
            x[o + 3] if n == 6 else 0.0,
            x[o + 4] if n == 6 else 0.0,
            x[o + 5] if n == 6 else 0.0,
        )
        for j in range(n):
            s = 0.0
            for i in range(n):
                s += L[i, j] * a[i]
            x[o + j] = s
