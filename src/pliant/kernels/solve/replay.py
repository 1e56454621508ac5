"""Everything that a motion solved, evaluated again with its states as they are: residuals, rates of constraints, closures.

With the tables of a robot in which a parameter is different they are what the parameter does to the motion before it answers; times the adjoints
they are the parameter's derivative of a cost.
"""

import numpy as np

from ..._jit import routine
from .constraints import POSITIONS, RATES, clear, holds
from .esdirk import recall
from .impact import impact_again
from .linearised import restore_step, taut_as
from .projected import state_before
from .record import AFTER_G, BEFORE_D, BEFORE_G
from .residual import residual
from .rollout import put_step
from .settle import misfit, rows_at
from .stages import stage_problem


@routine
def replay_projection(problem, tape, rec, lever, k):
    """What the projection of state k closes, and what its multipliers move, with the state that is there."""
    work, c = problem.work, problem.c
    i = state_before(problem, tape, rec, k)
    here = stage_problem(problem, tape, i)
    G = lever.rows[BEFORE_G]
    rows_at(here, tape.q[i], tape.v[i], G)
    for level in range(2):
        out = lever.direct[k, level]
        clear(out)
        for r in range(G.shape[0]):
            for j in range(out.shape[0]):
                out[j] += c.scale[j] * c.scale[j] * G[r, j] * rec.push[k, level, r]
    rows_at(here, rec.q[k], rec.v[k], lever.rows[AFTER_G])
    for r in range(G.shape[0]):
        lever.close[k, 0, r] = misfit(work, r, POSITIONS)
        lever.close[k, 1, r] = misfit(work, r, RATES)
    if rec.impact[k] != 0.0:
        impact_again(here, tape, rec, k, i, lever.rows[AFTER_G], lever.direct[k, 1])


@routine
def replay(problem, tape, rec, lever):
    """Residuals, rates of constraints and what loads remember at all stages, closures of all states, into `lever`."""
    work, c = problem.work, problem.c
    n, s, _nv = rec.a.shape
    for k in range(n):
        h = put_step(tape, rec, k)
        restore_step(problem, tape, rec, lever, k, h)
        held = holds(work)
        for i in range(1, s):
            if tape.tableau[i, i] == 0.0 and work.memory.shape[0] == 0:
                continue
            here = stage_problem(problem, tape, i)
            recall(work, tape, i, h)
            t, _work, _c, loads, _fronts, u, tau = here
            for j in range(work.multiplier.shape[0]):
                work.multiplier[j] = rec.force[k, i, j]
            residual(t, work, c, loads, tape.q[i], tape.v[i], tape.a[i], u, tau, lever.r[k, i])
            for j in range(work.kept.shape[0]):
                lever.kept[k, i, j] = work.kept[j]
            if held:
                rows_at(here, tape.q[i], tape.v[i], lever.rows[BEFORE_D])
                for r in range(lever.size.shape[0]):
                    lever.e[k, i, r] = misfit(work, r, RATES)
        taut_as(work, rec, k + 1)
        if holds(work):
            replay_projection(problem, tape, rec, lever, k + 1)
    if n > 0:
        taut_as(work, rec, np.int64(0))
        if holds(work):
            replay_projection(problem, tape, rec, lever, np.int64(0))
