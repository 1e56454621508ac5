"""Energies and powers of a state: what a run is watched by."""

from ..._jit import routine
from ..loads.internal import elastic
from ..loads.together import load_potential
from ..recursion.dynamics import newton_euler
from ..recursion.kinematics import totals
from .prescribed import clear_known
from .residual import residual


@routine
def power_balance(t, work, c, loads, q, v, a, u, tau, want_power, r, out):
    """Energies [J] of the state (q, v) and the power [W] that loads, damping, τ and prescribed motion put into it.

    out (5,): kinetic | gravitational | elastic | potential of the loads that have one, inputs held | power. For a motion
    that obeys r = 0, d/dt (kinetic + gravitational + elastic) = power, because v·(ID + elastic) is their rate. The power, which
    takes most of the time, is left at zero unless it is wanted.
    """
    f, inner = work.force_v[0], work.newton[0]
    out[4] = 0.0
    if want_power:
        residual(t, work, c, loads, q, v, a, u, tau, r)
        clear_known(c, r)  # what drives a prescribed coordinate does work too
        newton_euler(t, work, q, v, a, inner)
    out[2] = elastic(c, q, f, work.force_v[1], work.spring)
    if want_power:
        for k in range(r.shape[0]):
            out[4] += v[k] * (inner[k] + f[k] - r[k])
    totals(t, work, q, v, work.sums)
    out[0] = work.sums[10]
    out[1] = work.sums[11]
    out[3], _size = load_potential(work, loads, q, u)
    for k in range(c.shift.shape[0]):  # τ on ordinary coordinates has a potential too
        out[3] -= tau[c.shift[k, 1]] * q[c.shift[k, 0]]
