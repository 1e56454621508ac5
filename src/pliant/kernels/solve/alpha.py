"""One step of the Lie-group generalised-α method: what it adds to `newton`, a predictor, the end values and an estimate.

With the displacement d of a step, its rate v and second rate a (`straight`), and an auxiliary one b, from (v₀, a₀, b₀) to (v₁, a₁, b₁):

``(1 − αm) b₁ + αm b₀ = (1 − αf) a₁ + αf a₀``,
``d = h v₀ + h² ((½ − β) b₀ + β b₁)``,  ``v₁ = v₀ + h ((1 − γ) b₀ + γ b₁)``.

From step to step b − a is kept.
"""

import numpy as np

from ..._jit import inline, routine
from ..slots import (
    MEMORY_FACTORS,
    MEMORY_H,
    NEWTON_ERROR,
    NEWTON_MOVE,
    NEWTON_WEIGHT,
    OPTION_ALPHA_F,
    OPTION_ALPHA_M,
    OPTION_BETA,
    OPTION_GAMMA,
    OPTION_H,
    REPORT_ERROR,
)
from .constraints import holds
from .newton import ALWAYS, CONVERGED, EXHAUSTED, KEPT, ONCE, SINGULAR, newton, set_weights, weighted_norm
from .prescribed import put_known, read_known
from .straight import read_rates

# predictors: the last acceleration, the last velocity, or no acceleration goes on
ACCELERATION, VELOCITY, REST = (np.int64(k) for k in range(3))
ATTEMPTS = 4


@inline
def attempt_of(k):
    """Which factors the k-th attempt of a step uses, and which predictor."""
    factors = KEPT if k == 0 else ONCE if k == 1 else ALWAYS
    predictor = ACCELERATION if k < 2 else VELOCITY if k == 2 else REST
    return factors, predictor


@inline
def auxiliary(p, a0, b0, a1):
    """b₁ of a coordinate."""
    am, af = p[OPTION_ALPHA_M], p[OPTION_ALPHA_F]
    return ((1.0 - af) * a1 + af * a0 - am * b0) / (1.0 - am)


@routine
def predict(start, predictor, end, move, p):
    """Start of the iteration."""
    h, beta, gamma = p[OPTION_H], p[OPTION_BETA], p[OPTION_GAMMA]
    am, af = p[OPTION_ALPHA_M], p[OPTION_ALPHA_F]
    v0, a0, b0 = start.rate, start.second, start.b
    v1, a1, b1 = end.rate, end.second, end.b
    for k in range(v0.shape[0]):
        if predictor == VELOCITY:  # the displacement is h v₀
            b1[k] = -(0.5 - beta) / beta * b0[k]
            a1[k] = ((1.0 - am) * b1[k] + am * b0[k] - af * a0[k]) / (1.0 - af)
        else:
            a1[k] = a0[k] if predictor == ACCELERATION else 0.0
            b1[k] = auxiliary(p, a0[k], b0[k], a1[k])
        v1[k] = v0[k] + h * ((1.0 - gamma) * b0[k] + gamma * b1[k])
        move[k] = h * v0[k] + h * h * ((0.5 - beta) * b0[k] + beta * b1[k])


@routine
def finish(c, start, end, error, p):
    """b₁, and the error of the displacement: against that which is exact to third order for known accelerations."""
    h, beta = p[OPTION_H], p[OPTION_BETA]
    a0, b0, a1, b1 = start.second, start.b, end.second, end.b
    for k in range(error.shape[0]):
        b1[k] = auxiliary(p, a0[k], b0[k], a1[k])
        error[k] = h * h * ((0.5 - beta) * b0[k] + beta * b1[k] - a0[k] / 3.0 - a1[k] / 6.0)
        if c.known[k] == 1:
            b1[k] = a1[k]
            error[k] = 0.0


@routine
def alpha_step(problem, start, end, lag, factors, p):
    """One step between two `Motion`s. Options, report and memory are in p, see `slots`. Returns a status.

    `lag` (2 nv,) is b₀ − a₀; out: behind it b₁ − a₁. On entry q₁, v₁ and a₁ hold the motion of prescribed coordinates. Factors are kept while they converge well; otherwise
    the step is tried again with new ones, then with new ones in every iteration and other predictors.
    """
    c, work = problem.c, problem.work
    h, beta = p[OPTION_H], p[OPTION_BETA]
    cv = p[OPTION_GAMMA] / (h * beta)
    ca = (1.0 - p[OPTION_ALPHA_M]) / (h * h * beta * (1.0 - p[OPTION_ALPHA_F]))
    move, weight, error = work.newton[NEWTON_MOVE], work.newton[NEWTON_WEIGHT], work.newton[NEWTON_ERROR]
    n = weight.shape[0]
    read_rates(c, start)
    for k in range(n):
        start.b[k] = start.second[k] + lag[k]
    set_weights(c, start.q, start.rate, p, weight)
    read_known(c, work, start, end)
    held = holds(work)
    if abs(h - p[MEMORY_H]) > 1e-12 * h:
        p[MEMORY_FACTORS] = 0.0
    first = 0 if p[MEMORY_FACTORS] == 1.0 else 1
    for k in range(first, ATTEMPTS):
        attempt, predictor = attempt_of(k)
        if attempt != KEPT:
            p[MEMORY_FACTORS] = 0.0
        predict(start, predictor, end, move, p)
        put_known(c, work, move, end)
        status = newton(problem, start, end, factors, held, attempt, cv, ca, p)
        if status == SINGULAR:
            return SINGULAR
        if status == CONVERGED:
            finish(c, start, end, error, p)
            for i in range(n):
                lag[n + i] = end.b[i] - end.second[i]
            p[REPORT_ERROR] = weighted_norm(error, weight)
            return CONVERGED
    p[MEMORY_FACTORS] = 0.0
    return EXHAUSTED
