"""What loads remember, linearised with the stages of a step.

With the matrices of the task MEMORY (`loads.units`) and the stages of `esdirk`, ``Z*ᵢ = z₀ + h Σⱼ₍ᵢ aᵢⱼ S Fⱼ``, ``Zᵢ = ζ(Qᵢ, Vᵢ, uᵢ, Z*ᵢ)``, ``Fᵢ = (Zᵢ − Z*ᵢ)/g``, where S leaves
out what is remembered from step to step. Variations obey ::

    δZ = ζ_q δQ + ζ_v δV + ζ_u δu + ζ_z δZ* + δζ,    and the forces of the stage gain − (∂r/∂z*) δZ*;

backwards, with F̄ of the rates and Z̄ of the end of the step: ``ζ̄ = Z̄ + F̄/g``, ``Q̄ += ζ_qᵀ ζ̄``, ``V̄ += ζ_vᵀ ζ̄``, ``ū += ζ_uᵀ ζ̄``, and with the adjoint y of the forces
``Z̄* = ζ_zᵀ ζ̄ − F̄/g − (∂r/∂z*)ᵀ y``, ``z̄₀ += Z̄*``, ``F̄ⱼ += h aᵢⱼ S Z̄*``. The derivative by anything that ζ depends on is ``ζ̄ᵀ ∂ζ``.
"""

import numpy as np

from ..._jit import routine
from ..groups import unpack_tendons
from ..loads.tendons import LAW_INPUT
from ..loads.together import memory_rows
from ..recursion.blocks import all_columns
from ..recursion.forward import forward
from ..slots import HOLD_ACTIVE
from .esdirk import recall
from .stages import stage_problem

ONE = np.int64(1)


@routine
def linearise_memory(problem, tape, lever, i, h):
    """What loads are given at stage i, into the workspace, and the matrices of the task MEMORY there, into lever.recall."""
    t, work, _c, loads, _fronts, u, _tau = stage_problem(problem, tape, i)
    recall(work, tape, i, h)
    forward(t, tape.q[i], tape.v[i], work.zero, work)
    all_columns(t, work, ONE, 1.0, 0.0, 0.0)
    memory_rows(loads, tape.q[i], tape.v[i], u, lever.recall)


@routine
def memory_back(tape, lever, k, i, g, Q, V):
    """ζ̄ of stage i into lever.trace, what it owes added to Q̄ and V̄, and Z̄* but for what the forces owe into the last row of lever.flow."""
    nz, nv, s = tape.memory.shape[1], Q.shape[0], tape.a.shape[0]
    own, star = lever.flow[s], lever.flow[s + 1]
    for r in range(nz):
        rate = lever.flow[i, r] / g if g > 0.0 else 0.0
        own[r] += rate
        star[r] = -rate
    for r in range(nz):
        f, row = own[r], lever.recall[r]
        lever.trace[k, i, r] = f
        own[r] = 0.0
        if f != 0.0:
            for j in range(nv):
                Q[j] += f * row[j]
                V[j] += f * row[nv + j]
            for j in range(nz):
                star[j] += f * row[3 * nv + j]


@routine
def held_back(work, loads, tape, lever, k, i, w):
    """What tensions that are unknown owe to what is remembered, into the right-hand side w of stage i."""
    law = unpack_tendons(loads[0], loads[1]).law
    nz, nv = tape.memory.shape[1], tape.a.shape[1]
    for m in range(work.hold.shape[0]):
        if work.hold[m, HOLD_ACTIVE] == 1.0:
            for r in range(nz):
                w[nv + m] += lever.trace[k, i, r] * lever.recall[r, 3 * nv + nz + law[m, LAW_INPUT]]


@routine
def spread_memory(work, loads, tape, lever, k, i, h, solved):
    """What stage i owes to its inputs, to what is remembered at the start and to the rates of stages before; `solved`: it has adjoints."""
    nz, nv, s = tape.memory.shape[1], tape.a.shape[1], tape.a.shape[0]
    star, nu = lever.flow[s + 1], lever.recall.shape[1] - 3 * nv - nz
    for r in range(nz):
        row = lever.recall[r]
        if solved:
            for j in range(nv):
                star[r] -= row[2 * nv + j] * lever.y[k, i, j]
        for j in range(nu):
            lever.input[k, i, j] += lever.trace[k, i, r] * row[3 * nv + nz + j]
        lever.memory[k, r] += star[r]
        for m in range(1, i):
            lever.flow[m, r] += h * tape.tableau[i, m] * tape.smooth[r] * star[r]
    law = unpack_tendons(loads[0], loads[1]).law
    for m in range(work.hold.shape[0]):
        if work.hold[m, HOLD_ACTIVE] == 1.0:
            lever.input[k, i, law[m, LAW_INPUT]] = 0.0  # an unknown


@routine
def memory_given(tape, lever, i, h, d, out):
    """out (nz,) = δZ* of direction d at stage i."""
    for r in range(out.shape[0]):
        out[r] = lever.dz[d, r]
        for m in range(1, i):
            out[r] += h * tape.tableau[i, m] * tape.smooth[r] * lever.df[m, d, r]


@routine
def memory_forces(lever, given, x):
    """x (nv, …) −= (∂r/∂z*) δZ*."""
    nz = given.shape[0]
    nv = (lever.recall.shape[1] - nz - lever.columns.shape[0]) // 3
    for r in range(nz):
        f = given[r]
        if f != 0.0:
            for j in range(nv):
                x[j] -= f * lever.recall[r, 2 * nv + j]


@routine
def memory_forward(work, loads, tape, lever, i, g, d, Q, V, given, x):
    """δZ of direction d at stage i, and its rate into lever.df; at the last stage into lever.dz. x (nv + m,) has the changes of unknown tensions."""
    nz, nv = given.shape[0], Q.shape[0]
    nu = lever.columns.shape[0]
    law = unpack_tendons(loads[0], loads[1]).law
    last = i == tape.a.shape[0] - 1
    for r in range(nz):
        row = lever.recall[r]
        f = lever.dkept[d, i, r]
        for j in range(nv):
            f += row[j] * Q[j] + row[nv + j] * V[j]
        for j in range(nz):
            f += row[3 * nv + j] * given[j]
        for j in range(nu):
            f += row[3 * nv + nz + j] * lever.du[d, i, j]
        for m in range(work.hold.shape[0]):
            if g > 0.0 and work.hold[m, HOLD_ACTIVE] == 1.0:
                f += row[3 * nv + nz + law[m, LAW_INPUT]] * x[nv + m]
        lever.df[i, d, r] = (f - given[r]) / g if g > 0.0 else 0.0
        if last:
            lever.dz[d, r] = f
