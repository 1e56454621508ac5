"""The Jacobian (Kane) route to the dynamics of [003]: project every step's wrench and inertia with its Jacobian.

Slower than the recursion, independent of its backward pass; here for comparison and tests.
"""

from pliant._jit import kernel
from pliant.kernels.layout import FW, MASSLESS, S_INERTIA
from pliant.kernels.recursion.composite import all_jacobians
from pliant.kernels.recursion.dynamics import point_forces
from pliant.kernels.recursion.forward import forward
from pliant.kernels.recursion.inertia import point_inertias
from pliant.kernels.recursion.kinematics import frame_columns


@kernel
def projected_dynamics(t, work, q, v, a, J, tau, mass):
    """tau = Σ Jᵀf and M = Σ Jᵀ I J over all steps; J (6, nv) is scratch."""
    forward(t, q, v, a, work)
    point_forces(t, work)
    point_inertias(t.step, t.data, work.gravity, work.state, work.inertia, work.bias, work.load)
    all_jacobians(t, work)
    nv = tau.shape[0]
    for k in range(nv):
        tau[k] = 0.0
        for j in range(nv):
            mass[k, j] = 0.0
    for i in range(t.step.shape[0]):
        if t.step[i, S_INERTIA] == MASSLESS:
            continue
        frame_columns(t, i, work.ends[0], work.wide1, 1, 0, J)
        for k in range(nv):
            for r in range(6):
                tau[k] += J[r, k] * work.state[i, FW + r]
        for k in range(nv):
            for r in range(6):
                mr = 0.0
                for c in range(6):
                    mr += work.inertia[i, r, c] * J[c, k]
                for j in range(nv):
                    mass[j, k] += J[r, j] * mr
