"""O(N) solution of the two linear systems of a tree: forward dynamics and the step of an implicit integrator.

The matrices themselves are never formed. The backward passes of `composite` and of `tangent` give the rows of a block
for *any* inertia that hangs on its end; here they are given the articulated one (see `fronts`).

* Mass matrix, ``M a = b``: the articulated-body algorithm of [001] §IV.B, for joints and rods of any basis; z is the
  spatial acceleration.
* Tangent of an implicit step, ``(∂r/∂q + cv ∂r/∂v + ca M) Δ = b``: z is what MATH §3 carries outwards, (W Δ, R Δ, J Δ).
* Stiffness of statics, ``∂r/∂q Δ = b`` at rest: z is J Δ (see `recursion.rest`).
"""

import numpy as np

from ..._jit import inline, routine
from ..algebra.manifold import VELOCITIES
from ..groups import HAS_EFFORTS, HAS_TENDONS, unpack_efforts, unpack_tendons
from ..layout import COL0, COLS, FW, J_PLANE, PSTEP, R_PLANE, RANGE, STEP0, STEPS, W_PLANE, YES
from ..loads.efforts import effort
from ..loads.internal import spring
from ..loads.tendons import N_BEGIN, N_PHI, N_STOP, N_V, line_stiffness, pulled
from ..recursion.composite import all_jacobians, mass_terms
from ..recursion.dynamics import scatter
from ..recursion.inertia import point_inertias
from ..recursion.products import clear
from ..recursion.rest import prepare_rest, rest_terms
from ..recursion.rows import block_rows
from ..recursion.tangent import prepare_tangent, tangent_terms
from .fronts import (
    NOT_DEFINITE,
    ROW,
    UNKNOWNS,
    add_answer,
    add_taken,
    assemble_front,
    clear_fronts,
    close_front,
    eliminate_definite,
    eliminate_front,
    put_carried,
    put_diagonal,
    symmetrise,
)
from .residual import add_other_forces

ONE, SIX, TWELVE, EIGHTEEN = (np.int64(k) for k in (1, 6, 12, 18))


@routine
def add_springs(t, work, c, fronts, q, S):
    """Tangents of the springs of manifold joints, into their fronts."""
    phi, force, matrix = work.spring[0], work.spring[1], work.spring[2:]
    for s in range(c.springs.shape[0]):
        group = c.springs[s, 2]
        spring(c.spring_stiffness[s], c.spring_rest[s], q, c.springs[s, 0], group, phi, force, matrix)
        b = fronts.spring[s]
        own, o = t.block[b, COL0], fronts.front[b, ROW]
        for i in range(VELOCITIES[group]):
            for j in range(VELOCITIES[group]):
                S[o + fronts.own[own + i], fronts.own[own + j]] += matrix[i, j]


@inline
def value_at(tendons, node, c, v):
    """Value at a node of the function of velocity v, which carries strain component c; zero if it does not act there."""
    k = v - node[N_V]
    if k < node[N_BEGIN + c] or k >= node[N_STOP + c]:
        return 0.0
    return tendons.phi[node[N_PHI + c] + k]


@routine
def add_tendon_stiffness(t, work, tendons, fronts, q, S):
    """Tangents of tensions along rods, into the fronts of the blocks they run along."""
    K = work.line6
    for m in range(tendons.node.shape[0]):
        if not pulled(tendons, work, m):
            continue
        line_stiffness(tendons, work, q, m, K)
        block = t.block[fronts.line[m]]
        col0, o = block[COL0], fronts.front[fronts.line[m], ROW]
        node = tendons.node[m]
        for c in range(6):
            for i in range(block[RANGE + c], block[RANGE + c + 1]):
                f = value_at(tendons, node, c, t.col_v[col0 + i])
                if f == 0.0:
                    continue
                row = S[o + fronts.own[col0 + i]]
                for b in range(6):
                    g = f * K[c, b]
                    for j in range(block[RANGE + b], block[RANGE + b + 1]):
                        row[fronts.own[col0 + j]] += g * value_at(tendons, node, b, t.col_v[col0 + j])


@routine
def add_local_terms(t, work, c, loads, fronts, q, v, u, cv, S):
    """Derivatives of the forces that act on coordinates, into the fronts: elasticity, damping, tendons, motors."""
    ints, floats, _buffer = loads
    for k in range(fronts.entry.shape[0]):
        S[fronts.entry[k, 0], fronts.entry[k, 1]] += c.stiffness[k] + cv * c.damping[k]
    if c.springs.shape[0] > 0:
        add_springs(t, work, c, fronts, q, S)
    if ints[HAS_TENDONS] > 0:
        add_tendon_stiffness(t, work, unpack_tendons(ints, floats), fronts, q, S)
    if ints[HAS_EFFORTS] > 0:
        efforts = unpack_efforts(ints, floats)
        for k in range(efforts.place.shape[0]):
            _f, fs, fr, _free = effort(efforts, k, q, v, u)
            S[fronts.effort[k, 0], fronts.effort[k, 1]] -= fs + cv * fr


@routine
def factor_tangent_tree(t, work, c, loads, fronts, q, v, a, u, tau, cv, ca, r, S, pivot):
    """The residual r (nv,) and the factors of ∂r/∂q + cv ∂r/∂v + ca ∂r/∂a in the store S. Returns False if singular."""
    general, loaded = prepare_tangent(t, work, loads, YES, q, v, a, u, ONE, 1.0, cv, ca)
    clear_fronts(t, fronts, S)
    add_local_terms(t, work, c, loads, fronts, q, v, u, cv, S)
    terms = tangent_terms(ONE, 1.0, general, loaded)
    nz = EIGHTEEN if loaded else TWELVE
    regular = True
    for b in range(t.block.shape[0] - 1, -1, -1):
        block = t.block[b]
        n, col0, parent = block[COLS], block[COL0], block[PSTEP]
        block_rows(t, work, block, terms, work.wide1, work.wide2)
        for k in range(n):
            work.tau[col0 + k] = work.h[k, n + 12]
        for i in range(6):
            work.state[parent, FW + i] += work.x[i, n + 12]
        put_carried(block, fronts.front[b], work.ends, W_PLANE, R_PLANE, J_PLANE, S)
        places = (n + 6, n, n + 13)  # of [N | I | f | K] behind the block's own columns
        if not close_front(
            t, fronts, b, c.known, c.scale, work.x, work.h, places, nz, S, pivot, work.inertia, work.bias, work.load
        ):
            regular = False
    scatter(t, work.tau, r)
    add_other_forces(work, c, loads, q, v, u, tau, r)
    return regular


@routine
def factor_stiffness_tree(t, work, c, loads, fronts, q, u, tau, definite, symmetric, shift, whole, r, S, pivot):
    """The residual r (nv,) at rest and the factors of ∂r/∂q in the store S.

    `definite`: without row exchanges, and with `shift` (scaled units) on the diagonal; else with exchanges. `symmetric`: of the symmetric
    part, of forces with a potential. Without `whole` nothing more is done, nor is r complete, after a pivot that is not positive.

    Returns the smallest pivot relative to what cancels in it, `NOT_DEFINITE` if one is not positive (with exchanges: if
    it is singular), and the largest diagonal entry of ∂r/∂q in scaled units.
    """
    prepare_rest(t, work, loads, q, u)
    taken = work.load  # free after `prepare_rest`
    for i in range(taken.shape[0]):
        clear(taken[i], SIX, SIX)
    clear_fronts(t, fronts, S)
    add_local_terms(t, work, c, loads, fronts, q, work.zero, u, 0.0, S)
    terms = rest_terms()
    least, top = np.inf, 0.0
    for b in range(t.block.shape[0] - 1, -1, -1):
        block, front = t.block[b], fronts.front[b]
        n, col0, parent = block[COLS], block[COL0], block[PSTEP]
        end = block[STEP0] + block[STEPS] - 1
        block_rows(t, work, block, terms, work.wide1, work.wide1)
        for k in range(n):
            work.tau[col0 + k] = work.h[k, n + 6]
        for i in range(6):
            work.state[parent, FW + i] += work.x[i, n + 6]
        put_carried(block, front, work.ends, J_PLANE, J_PLANE, J_PLANE, S)
        assemble_front(t, fronts, b, work.x, work.h, (n, n, n), SIX, S)
        top = max(top, put_diagonal(block, front, fronts.own, fronts.velocity, c.known, c.scale, taken[end], S))
        small = 1.0
        if symmetric:
            symmetrise(front, S)
        if definite:
            small = eliminate_definite(front, fronts.velocity, c.known, c.scale, shift, SIX, S, pivot)
        else:
            for i in range(
                front[ROW], front[ROW] + front[UNKNOWNS]
            ):  # neutral directions are no obstacle: any pivot will do
                S[i, S.shape[1] - 1] = 0.0
            if not eliminate_front(front, fronts.velocity, c.known, c.scale, SIX, S, pivot):
                small = NOT_DEFINITE
        least = min(least, small)
        if small > 0.0:
            add_answer(front, parent, SIX, S, work.inertia, work.bias, work.load)
        elif not whole:
            return least, top
        add_taken(block, front, small > 0.0, work.x, taken[end], taken[parent], S)
    scatter(t, work.tau, r)
    add_other_forces(work, c, loads, q, work.zero, u, tau, r)
    return least, top


@routine
def factor_mass_tree(t, work, c, fronts, S, pivot):
    """The factors of M in the store S; needs `forward`. Returns False if M is singular."""
    point_inertias(t.step, t.data, work.gravity, work.state, work.inertia, work.bias, work.load)
    for i in range(work.load.shape[0]):  # here the sizes of inertias before elimination
        for r in range(6):
            work.load[i, r, 0] = 0.0
    all_jacobians(t, work)
    clear_fronts(t, fronts, S)
    for b in range(t.block.shape[0] - 1, -1, -1):
        block = t.block[b]
        n = block[COLS]
        block_rows(t, work, block, mass_terms(), work.wide1, work.wide1)
        put_carried(block, fronts.front[b], work.ends, J_PLANE, J_PLANE, J_PLANE, S)
        if not close_front(
            t, fronts, b, c.known, c.scale, work.x, work.h, (n, n, n), SIX, S, pivot, work.inertia, work.bias, work.load
        ):
            return False
    return True
