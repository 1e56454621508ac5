"""Tangents of a motion: how variations of state and inputs at the start of a step come out at its end; maps of single steps.

Stage by stage with the equations of `linearised`, for several directions at once.
"""

import numpy as np

from ..._jit import routine
from ..layout import NO
from ..loads.together import input_columns
from ..recursion.blocks import all_columns
from ..recursion.forward import forward
from ..slots import MARCH_FIRST, MARCH_STEPS
from .chart import CARRY, CURVE, INVERSE, TURN, UNTURN, apply_chart, set_chart
from .constraints import holds
from .esdirk import recall
from .linearised import linearise, restore_step, solve_forward, taut_as
from .newton import CONVERGED, SINGULAR
from .prescribed import clear_known
from .projected import linearise_projection, project_forward, state_before
from .recollection import linearise_memory, memory_forces, memory_forward, memory_given
from .record import STAGE_G, STAGE_H
from .rollout import put_step
from .stages import stage_problem

ONE = np.int64(1)


@routine
def before_stage(c, tape, lever, i, h, d):
    """δv̄, Tᵣ δx̄ and P δq₀ of direction d at stage i, into lever.vectors[0], [1] and [2]."""
    nv = c.scale.shape[0]
    bv, move, bx = lever.vectors[0][:nv], lever.vectors[1][:nv], lever.vectors[3][:nv]
    for j in range(nv):
        bv[j] = lever.dv[d, j]
        bx[j] = 0.0
    for m in range(1, i):
        f = h * tape.tableau[i, m]
        if f != 0.0:
            for j in range(nv):
                bv[j] += f * lever.da[m, d, j]
                bx[j] += f * lever.dk[m, d, j]
    apply_chart(c, lever.chart, TURN, 1.0, bx, move)
    apply_chart(c, lever.chart, CARRY, 1.0, lever.dq[d], lever.vectors[2][:nv])
    clear_known(c, bv)


@routine
def moved(c, lever, g, V, X, Q):
    """δX = L⁻¹ (Tᵣ δx̄ + g δV) and δQ = P δq₀ + Tᵣ δX for a variation V of the velocity; after `before_stage`."""
    nv = V.shape[0]
    w = lever.vectors[6][:nv]
    for j in range(nv):
        w[j] = lever.vectors[1, j] + g * V[j]
    apply_chart(c, lever.chart, INVERSE, 1.0, w, X)
    apply_chart(c, lever.chart, TURN, 1.0, X, w)
    for j in range(nv):
        Q[j] = lever.vectors[2, j] + w[j]
    clear_known(c, Q)


@routine
def stage_forces(lever, held, inputs, gaps, Q, V, out):
    """Right-hand sides of a stage: forces B δu + δτ − (∂r/∂q) Q − (∂r/∂v) V, and rates −δė − H Q − G V."""
    nv = Q.shape[0]
    nu = lever.columns.shape[0]
    for i in range(nv):
        K, D = lever.matrices[0, i], lever.matrices[1, i]
        s = inputs[nu + i]
        for j in range(nu):
            s += lever.columns[j, i] * inputs[j]
        for j in range(nv):
            s -= K[j] * Q[j] + D[j] * V[j]
        out[i] = s
    for r in range(lever.size.shape[0]):
        out[nv + r] = -gaps[r]
        if held:
            for j in range(nv):
                out[nv + r] -= lever.rows[STAGE_H, r, j] * Q[j] + lever.rows[STAGE_G, r, j] * V[j]


@routine
def stage_forward(problem, tape, rec, lever, factors, k, i, h, held):
    """All directions through stage i. Returns False if it is singular."""
    work, c = problem.work, problem.c
    nv = tape.a.shape[1]
    g = tape.tableau[i, i] * h
    here = stage_problem(problem, tape, i)
    if g > 0.0:
        recall(work, tape, i, h)
        if not linearise(problem, tape, rec, lever, factors, k, i, g, held, NO):
            return False
        forward(here.t, tape.q[i], tape.v[i], work.zero, work)
        all_columns(here.t, work, ONE, 1.0, 0.0, 0.0)
        input_columns(here.t, work, here.loads, tape.q[i], tape.v[i], here.u, lever.columns)
    elif c.spatial.shape[0] > 0:
        set_chart(c, lever.moves[i], tape.rate[i], 0.0, lever.chart)
    last, remembers = i == tape.a.shape[0] - 1, tape.memory.shape[1] > 0
    if remembers:
        linearise_memory(problem, tape, lever, i, h)
    given = lever.flow[tape.a.shape[0]]
    V, X, Q, x = lever.vectors[0][:nv], lever.vectors[4][:nv], lever.vectors[5][:nv], lever.vectors[7]
    for d in range(lever.dq.shape[0]):
        before_stage(c, tape, lever, i, h, d)
        if g > 0.0:
            moved(c, lever, g, V, X, Q)
            stage_forces(lever, held, lever.du[d, i], lever.de[d, i], Q, V, x)
            if remembers:
                memory_given(tape, lever, i, h, d, given)
                memory_forces(lever, given, x)
            solve_forward(c, lever, g, x)
            for j in range(nv):
                lever.da[i, d, j] = x[j]
                V[j] += g * x[j]
        clear_known(c, V)
        moved(c, lever, g, V, X, Q)
        rate_of(c, lever, V, X, lever.dk[i, d])
        if remembers:
            memory_given(tape, lever, i, h, d, given)
            memory_forward(work, problem.loads, tape, lever, i, g, d, Q, V, given, x)
        if last:
            for j in range(nv):
                lever.dq[d, j] = Q[j]
                lever.dv[d, j] = V[j]
    return True


@routine
def rate_of(c, lever, V, X, K):
    """K = δK = Tᵣ⁻¹ (C δX + δV)."""
    nv = V.shape[0]
    w = lever.vectors[6][:nv]
    apply_chart(c, lever.chart, CURVE, 0.0, X, w)
    for j in range(nv):
        w[j] += V[j]
    apply_chart(c, lever.chart, UNTURN, 1.0, w, K)
    clear_known(c, K)


@routine
def push_projection(problem, tape, rec, lever, k):
    """Directions through the projection of state k, if there is one. Returns a status."""
    taut_as(problem.work, rec, k)
    if not holds(problem.work):
        return CONVERGED
    i = state_before(problem, tape, rec, k)
    if not linearise_projection(problem, tape, rec, lever, k, i):
        return SINGULAR
    for d in range(lever.dq.shape[0]):
        project_forward(
            problem, lever, rec.impact[k] != 0.0, lever.dclose[d], lever.dmove[d], lever.dq[d], lever.dv[d],
        )  # fmt: skip
    return CONVERGED


@routine
def push_step(problem, tape, rec, lever, factors, p):
    """Directions (lever.dq, lever.dv, lever.du) through step p[MARCH_FIRST], or (−1) through the projection of the start. Returns a status."""
    work = problem.work
    k = int(p[MARCH_FIRST])
    p[MARCH_STEPS] = k
    s = tape.a.shape[0]
    if k < 0:
        return push_projection(problem, tape, rec, lever, np.int64(0))
    h = put_step(tape, rec, k)
    restore_step(problem, tape, rec, lever, k, h)
    held = holds(work)
    for i in range(1, s):
        if not stage_forward(problem, tape, rec, lever, factors, k, i, h, held):
            return SINGULAR
    return push_projection(problem, tape, rec, lever, k + 1)
