"""Energies and powers of a state: what a run is watched by."""

from ..._jit import routine
from ..loads.internal import elastic
from ..loads.together import load_potential
from ..recursion.dynamics import newton_euler
from ..recursion.kinematics import totals
from ..slots import (
    NEWTON_RESIDUAL,
    OPTION_POWER,
    REPORT_ELASTIC,
    REPORT_GRAVITATIONAL,
    REPORT_KINETIC,
    REPORT_LOADS,
    REPORT_POWER,
    SUM_GRAVITATIONAL,
    SUM_KINETIC,
)
from .prescribed import clear_known
from .residual import residual


@routine
def power_balance(problem, q, v, a, r, p):
    """Energies [J] of the state (q, v) and the power [W] that loads, damping, τ and prescribed motion put into it.

    They go into the report in p, see `slots`; inputs are held for the potential of loads. For a motion that obeys
    r = 0, d/dt (kinetic + gravitational + elastic) = power, because v·(ID + elastic) is their rate. The power, which
    takes most of the time, is left at zero unless it is wanted.
    """
    t, work, c, loads, _fronts, u, tau = problem
    want_power = p[OPTION_POWER] != 0.0
    f, inner = work.force_v[0], work.newton[NEWTON_RESIDUAL]
    p[REPORT_POWER] = 0.0
    if want_power:
        residual(t, work, c, loads, q, v, a, u, tau, r)
        clear_known(c, r)  # what drives a prescribed coordinate does work too
        newton_euler(t, work, q, v, a, inner)
    p[REPORT_ELASTIC] = elastic(c, q, f, work.force_v[1], work.spring)
    if want_power:
        for k in range(r.shape[0]):
            p[REPORT_POWER] += v[k] * (inner[k] + f[k] - r[k])
    totals(t, work, q, v, work.sums)
    p[REPORT_KINETIC] = work.sums[SUM_KINETIC]
    p[REPORT_GRAVITATIONAL] = work.sums[SUM_GRAVITATIONAL]
    p[REPORT_LOADS], _size = load_potential(work, loads, q, u)
    for k in range(c.shift.shape[0]):  # τ on ordinary coordinates has a potential too
        p[REPORT_LOADS] -= tau[c.shift[k, 1]] * q[c.shift[k, 0]]
