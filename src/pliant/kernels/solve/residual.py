"""The equation of motion as one residual and its tangent: what every solver sees.

``r(q, v, a, u) = ID(q, v, a) + elastic(q) + D v − (forces of all loads and actuators) − τ``

Internal variables of loads (`loads.units`) are eliminated where the forces are computed: what they were is given, what they are follows from the state.
Statics of a robot that has some are the end of a long time (`layout.STATIC`) in which it moved from ``work.since`` to q, at velocities
that are nothing beside its forces, but whose integrals are what friction sees.
"""

from ..._jit import routine
from ..algebra.manifold import VELOCITIES, relative_log
from ..groups import unpack_units
from ..layout import STATIC, YES
from ..loads.internal import add_internal_tangent, damping, elastic
from ..loads.together import add_generalised_loads, add_generalised_tangents, some_unit_knows
from ..loads.units import TANGENT
from ..recursion.dynamics import loaded_newton_euler
from ..recursion.products import clear
from ..recursion.rest import rest_tangent
from ..recursion.tangent import tangent


@routine
def add_other_forces(work, c, loads, q, v, u, tau, r):
    """Everything of the residual besides what the recursion gives."""
    f = work.force_v[0]
    elastic(c, q, f, work.force_v[1], work.spring)
    for k in range(r.shape[0]):
        r[k] += f[k] - tau[k]
    damping(c, v, f)
    for k in range(r.shape[0]):
        r[k] += f[k]
    add_generalised_loads(work, loads, q, v, u, r)


@routine
def patient(work):
    """Whether the robot remembers and statics are asked for."""
    return work.memory.shape[0] > 0 and work.lag[0] >= STATIC


@routine
def set_slow(work, c, q):
    """Velocities of statics with internal variables: the displacement divided by the time it took, into work.slow."""
    slow, g = work.slow, 1.0 / work.lag[0]
    for k in range(c.shift.shape[0]):
        slow[c.shift[k, 1]] = g * (q[c.shift[k, 0]] - work.since[c.shift[k, 0]])
    for k in range(c.spatial.shape[0]):
        o, i = c.spatial[k, 0], c.spatial[k, 1]
        relative_log(work.since, q, o, o, c.spatial[k, 2], slow, i)
        for j in range(VELOCITIES[c.spatial[k, 2]]):
            slow[i + j] *= g


@routine
def residual(t, work, c, loads, q, v, a, u, tau, r):
    """The residual r (nv,)."""
    if patient(work):
        set_slow(work, c, q)
        sum_forces(t, work, c, loads, q, work.slow, a, u, tau, r)
    else:
        sum_forces(t, work, c, loads, q, v, a, u, tau, r)


@routine
def sum_forces(t, work, c, loads, q, v, a, u, tau, r):
    """The residual at the velocity v."""
    loaded_newton_euler(t, work, loads, q, v, a, u, r)
    add_other_forces(work, c, loads, q, v, u, tau, r)


@routine
def residual_tangent(t, work, c, loads, q, v, a, u, tau, cq, cv, ca, r, out):
    """The residual and out[0] = cq ∂r/∂q + cv ∂r/∂v + ca ∂r/∂a; out (1, nv, nv) is overwritten."""
    if patient(work):
        set_slow(work, c, q)
        sum_tangents(t, work, c, loads, q, work.slow, a, u, tau, cq, cq / work.lag[0], ca, r, out)
    else:
        sum_tangents(t, work, c, loads, q, v, a, u, tau, cq, cv, ca, r, out)


@routine
def sum_tangents(t, work, c, loads, q, v, a, u, tau, cq, cv, ca, r, out):
    """`residual_tangent` at the velocity v."""
    clear(out[0], out.shape[1], out.shape[2])
    tangent(t, work, loads, YES, q, v, a, u, cq, cv, ca, r, out)
    add_other_forces(work, c, loads, q, v, u, tau, r)
    add_internal_tangent(c, q, cq, cv, work.spring, out[0])
    add_generalised_tangents(work, loads, q, v, u, cq, cv, out[0])


@routine
def residual_stiffness(t, work, c, loads, q, u, tau, r, out):
    """The residual r (nv,) at rest and out[0] = ∂r/∂q; out (1, nv, nv) is overwritten."""
    if patient(work) or some_unit_knows(loads, TANGENT):  # such units read all columns of a motion
        residual_tangent(t, work, c, loads, q, work.zero, work.zero, u, tau, 1.0, 0.0, 0.0, r, out)
        return
    clear(out[0], out.shape[1], out.shape[2])
    rest_tangent(t, work, loads, q, u, r, out)
    add_other_forces(work, c, loads, q, work.zero, u, tau, r)
    add_internal_tangent(c, q, 1.0, 0.0, work.spring, out[0])
    add_generalised_tangents(work, loads, q, work.zero, u, 1.0, 0.0, out[0])


@routine
def residual_derivatives(t, work, c, loads, q, v, a, u, tau, r, out):
    """The residual and all its derivatives: out (3, nv, nv) = ∂r/∂q, ∂r/∂v, ∂r/∂a."""
    all_derivatives(t, work, c, loads, q, v, a, u, tau, r, out)
    ints, floats, _buffer = loads
    if unpack_units(ints, floats).row.shape[0] == 0:
        add_other_forces(work, c, loads, q, v, u, tau, r)


@routine
def all_derivatives(t, work, c, loads, q, v, a, u, tau, r, out):
    """The derivatives alone; r is scratch, of which the forces of coordinates are left out where no unit asks for them."""
    ints, floats, _buffer = loads
    if unpack_units(ints, floats).row.shape[0] > 0:  # they read columns that are mixed
        residual_tangent(t, work, c, loads, q, v, a, u, tau, 0.0, 0.0, 1.0, r, out[2:])
        residual_tangent(t, work, c, loads, q, v, a, u, tau, 0.0, 1.0, 0.0, r, out[1:2])
        residual_tangent(t, work, c, loads, q, v, a, u, tau, 1.0, 0.0, 0.0, r, out[:1])
        return
    for m in range(3):
        for i in range(out.shape[1]):
            row = out[m, i]
            for j in range(out.shape[2]):
                row[j] = 0.0
    tangent(t, work, loads, YES, q, v, a, u, 1.0, 1.0, 1.0, r, out)
    for m in range(2):
        cq, cv = 1.0 - m, float(m)
        add_internal_tangent(c, q, cq, cv, work.spring, out[m])
        add_generalised_tangents(work, loads, q, v, u, cq, cv, out[m])
