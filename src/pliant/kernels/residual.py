"""The equation of motion as one residual and its tangent: what every solver sees.

``r(q, v, a, u) = ID(q, v, a) + elastic(q) + D v + Σ u ∂ℓ/∂q − Σ Jᵀ F(u) − τ``
"""

from .._jit import routine
from .actuation import add_actuation, add_actuation_tangent
from .dynamics import loaded_newton_euler
from .internal import add_internal_tangent, damping, elastic
from .tangent import tangent


@routine
def add_other_forces(work, c, lines, q, v, u, tau, r):
    """Everything of the residual besides the inverse dynamics."""
    f = work.force_v[0]
    elastic(c, q, f, work.force_v[1])
    for k in range(r.shape[0]):
        r[k] += f[k] - tau[k]
    damping(c, v, f)
    for k in range(r.shape[0]):
        r[k] += f[k]
    if lines.point.shape[0] > 0:
        add_actuation(lines, q, u, r, work.line)


@routine
def residual(t, work, c, lines, wrenches, q, v, a, u, tau, r):
    """The residual r (nv,)."""
    loaded_newton_euler(t, work, wrenches, q, v, a, u, r)
    add_other_forces(work, c, lines, q, v, u, tau, r)


@routine
def residual_tangent(t, work, c, lines, wrenches, q, v, a, u, tau, cq, cv, ca, r, out):
    """The residual and out[0] = cq ∂r/∂q + cv ∂r/∂v + ca ∂r/∂a; out (1, nv, nv) is overwritten."""
    for i in range(out.shape[1]):
        row = out[0, i]
        for j in range(out.shape[2]):
            row[j] = 0.0
    tangent(t, work, wrenches, wrenches.place.shape[0] > 0, q, v, a, u, cq, cv, ca, r, out)
    add_other_forces(work, c, lines, q, v, u, tau, r)
    add_internal_tangent(c, q, cq, cv, out[0])
    if lines.point.shape[0] > 0:
        add_actuation_tangent(lines, q, u, cq, out[0], work.line, work.line6)
