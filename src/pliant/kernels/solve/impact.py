"""The plastic impact of a projection (`settle.strike`), linearised: ``M (v₁ − v) = Gᵀ ν``, ``ė(q₁, v₁) = 0`` at the projected coordinates q₁.

With w = v₁ − v variations obey ``[M Gᵀ; G 0] (δv₁, −δν) = (M δv − B δq₁, −H δq₁ − δė)``, ``B = ∂(M w − Gᵀν)/∂q``, whose matrix is its own transpose.
"""

from ..._jit import routine
from ..algebra.linear import lu_factor, lu_solve
from ..layout import K_ROW, NO
from ..recursion.forward import forward
from ..reverse.tables import add_table_gradient
from ..slots import NEWTON_MOVE, NEWTON_RESIDUAL
from .constraints import RATES
from .linearised import put_forces, stiffness_of
from .prescribed import clear_known
from .record import AFTER_G, AFTER_H
from .residual import residual, residual_tangent
from .settle import counts
from .stages import put_mass

BEND, MASS = 0, 1  # planes of `Lever.matrices`


@routine
def kick(tape, rec, k, i, w):
    """w (nv,) = v₁ − v of the impact in state k, whose state before is stage i of the tape."""
    for j in range(w.shape[0]):
        w[j] = rec.v[k, j] - tape.v[i, j]


@routine
def factor_impact(here, rec, lever, k):
    """M and factors of the equations of the impact in state k, into `lever`; needs G behind it. Returns False if they are singular."""
    t, work, c, _loads, _fronts, _u, _tau = here
    A, M, G, scale = lever.kkt, lever.matrices[MASS], lever.rows[AFTER_G], c.scale
    nv = scale.shape[0]
    forward(t, rec.q[k], rec.v[k], work.zero, work)
    put_mass(t, work, c, lever.matrices[MASS : MASS + 1])
    top = 0.0
    for i in range(nv):
        for j in range(nv):
            A[i, j] = scale[i] * M[i, j] * scale[j]
        if c.known[i] == 0:
            top = max(top, A[i, i])
    for i in range(nv):
        if c.known[i] == 1:
            A[i, i] = top
    for r in range(G.shape[0]):
        size = 0.0
        if work.schur[G.shape[0], r] > 0.0 and counts(work, r, RATES):
            for j in range(nv):
                size += (scale[j] * G[r, j]) ** 2
        lever.size[r] = top / size**0.5 if size > 0.0 else 0.0
        for j in range(nv):
            A[nv + r, j] = A[j, nv + r] = lever.size[r] * scale[j] * G[r, j]
        for j in range(G.shape[0]):
            A[nv + r, nv + j] = top if j == r and lever.size[r] == 0.0 else 0.0
    return lu_factor(A, lever.pivot)


@routine
def solve_impact(c, lever, x):
    """x (nv + m,) = (momenta, rates) becomes (velocities, −impulses), or derivatives by velocities become the adjoints of both."""
    nv = c.scale.shape[0]
    for j in range(nv):
        x[j] = 0.0 if c.known[j] == 1 else c.scale[j] * x[j]
    for r in range(lever.size.shape[0]):
        x[nv + r] *= lever.size[r]
    lu_solve(lever.kkt, lever.pivot, x)
    for j in range(nv):
        x[j] *= c.scale[j]
    for r in range(lever.size.shape[0]):
        x[nv + r] *= lever.size[r]


@routine
def linearise_impact(here, tape, rec, lever, k, i):
    """B, M and the factors of the impact in state k, into `lever`; with G and H behind it. Returns False if they are singular."""
    t, work, c, loads, _fronts, u, tau = here
    B, plane = lever.matrices[BEND : BEND + 1], lever.matrices[MASS : MASS + 1]
    w = lever.vectors[10][: tape.v.shape[1]]
    kick(tape, rec, k, i, w)
    stiffness_of(here, rec.q[k], rec.push[k, 1], 1.0, plane)
    put_forces(here, rec.push[k, 1], 0.0)
    work.rubs[0] = 0.0
    residual_tangent(t, work, c, loads, rec.q[k], work.zero, w, u, tau, 1.0, 0.0, 0.0, work.newton[NEWTON_RESIDUAL], B)
    work.rubs[0] = 1.0
    for a in range(B.shape[1]):
        for b in range(B.shape[2]):
            B[0, a, b] -= plane[0, a, b]
    return factor_impact(here, rec, lever, k)


@routine
def impact_forward(here, lever, close, more, dq, dv):
    """Variations of the velocity before an impact become those behind it; dq is behind the projection. After `linearise_impact`."""
    c, nv = here.c, dq.shape[0]
    H, B, M, x = lever.rows[AFTER_H], lever.matrices[BEND], lever.matrices[MASS], lever.vectors[11]
    for i in range(nv):
        x[i] = more[i]
        for j in range(nv):
            x[i] += M[i, j] * dv[j] - B[i, j] * dq[j]
    for r in range(H.shape[0]):
        x[nv + r] = -close[r]
        for j in range(nv):
            x[nv + r] -= H[r, j] * dq[j]
    solve_impact(c, lever, x)
    for j in range(nv):
        dv[j] = x[j]


@routine
def impact_back(here, tape, rec, lever, k, i, lq, lv, y, z):
    """Derivatives (lq, lv) by the state behind the impact of state k become those by coordinates behind it and velocities before it; adjoints into y (nv,) and z (m,).

    What Gᵀν and the rates owe is left to be swept. Returns False if the equations are singular.
    """
    work, c = here.work, here.c
    nv, x, w = lv.shape[0], lever.vectors[11], lever.vectors[10][: lv.shape[0]]
    if not factor_impact(here, rec, lever, k):
        return False
    for j in range(nv):
        x[j] = lv[j]
    for r in range(z.shape[0]):
        x[nv + r] = 0.0
    solve_impact(c, lever, x)
    for j in range(nv):
        y[j] = x[j]
    for r in range(z.shape[0]):
        z[r] = x[nv + r]
    M = lever.matrices[MASS]
    for j in range(nv):
        lv[j] = 0.0
        for m in range(nv):
            lv[j] += M[j, m] * y[m]
    clear_known(c, lv)
    kick(tape, rec, k, i, w)
    put_forces(here, rec.push[k, 1], 0.0)
    add_inertia(here, rec.q[k], w, y, -1.0, lever.tables, lq)
    add_inertia(here, rec.q[k], work.zero, y, 1.0, lever.tables, lq)
    for j in range(here.u.shape[0] if k > 0 else 0):
        here.u[j] = rec.inputs[k - 1, i, j]  # tensions were taken away
    return True


@routine
def add_inertia(here, q, w, y, scale, gradient, lq):
    """gradient += scale ∂(yᵀr)/∂tables of the residual at rest with the acceleration w, and lq its derivative by q."""
    t, work, c, loads, _fronts, u, _tau = here
    add_table_gradient(t, work, c, loads, q, work.zero, w, u, y, scale, NO, NO, gradient)
    for j in range(lq.shape[0]):
        if c.known[j] == 0:
            lq[j] += work.products[K_ROW, j]


@routine
def impact_again(here, tape, rec, k, i, G, out):
    """out (nv,) = Gᵀν − M w of the impact in state k with the tables that are there, G behind it."""
    t, work, c, loads, _fronts, u, tau = here
    w, spare = work.newton[NEWTON_MOVE], work.newton[NEWTON_RESIDUAL]
    put_forces(here, rec.push[k, 1], 0.0)
    kick(tape, rec, k, i, w)
    residual(t, work, c, loads, rec.q[k], work.zero, w, u, tau, spare)
    for j in range(out.shape[0]):
        out[j] = -spare[j]
    residual(t, work, c, loads, rec.q[k], work.zero, work.zero, u, tau, spare)
    for j in range(out.shape[0]):
        out[j] += spare[j]
        for r in range(G.shape[0]):
            out[j] += G[r, j] * rec.push[k, 1, r]
    clear_known(c, out)
