"""Exact derivatives of the inverse dynamics in one backward pass (MATH §3, see `rows`).

With three matrices the columns are ``[∂q | ∂v | M]`` side by side. With one (`fused`) they are
``cq ∂q + cv ∂v + ca M``, obtained by mixing r, w, y and s before the pass.
"""

import numpy as np

from ..._jit import inline, routine
from ..layout import GENERAL_INERTIA, NO, R_PLANE, STEP_LOADS, VELOCITY_LOADS, W_PLANE, YES
from ..loads.together import apply_loads, load_tangents
from .blocks import all_columns
from .dynamics import point_forces, scatter
from .forward import forward
from .inertia import point_inertias
from .rows import Place, Terms, sweep

LEFT_HALF, BOTH_HALVES = np.int64(1), np.int64(2)
# R and W, alone or before what stands beside them: in `wide1`, `wide2`, and in the planes of `ends`
R_PLACE = Place(np.int64(2), np.int64(0), R_PLANE)
W_PLACE = Place(np.int64(3), np.int64(0), W_PLANE)


@routine
def prepare_tangent(t, work, loads, apply, q, v, a, u, nm, cq, cv, ca):
    """Everything before the backward pass: wrenches and matrices of every step, columns of every block.

    Returns whether any step has a full matrix N, and whether any has a matrix K.
    """
    forward(t, q, v, a, work)
    point_forces(t, work)
    general = t.flags[GENERAL_INERTIA] != 0
    loaded = general
    point_inertias(t.step, t.data, work.gravity, work.state, work.inertia, work.bias, work.load)
    if apply:
        general = general or t.flags[VELOCITY_LOADS] != 0
        loaded = loaded or t.flags[STEP_LOADS] != 0
        apply_loads(work, loads, q, v, u)
        load_tangents(work, loads, q, v, u)
    all_columns(t, work, nm, cq, cv, ca)
    return general, loaded


@inline
def tangent_terms(matrices, cq, general, loaded):
    """What the pass sums, after `prepare_tangent`."""
    return Terms(matrices, cq, BOTH_HALVES if general else LEFT_HALF, YES, loaded, NO, R_PLACE, W_PLACE)


@routine
def tangent(t, work, loads, apply, q, v, a, u, cq, cv, ca, tau, out):
    """ID and its derivatives; with `apply`, minus the generalised forces of the loads that act on steps.

    If `out` is (3, nv, nv) it gets ∂ID/∂q, ∂ID/∂v and ∂ID/∂a = M. If it is (1, nv, nv) it gets the fused tangent
    cq ∂ID/∂q + cv ∂ID/∂v + ca M. On manifold joints ∂/∂q is along the right perturbation g·exp(δ).
    `out` must be zero where no block couples to another (a fresh or formerly used array).
    """
    nm = out.shape[0]
    if nm == 3:
        cq = 1.0
    general, loaded = prepare_tangent(t, work, loads, apply, q, v, a, u, nm, cq, cv, ca)
    sweep(t, work, tangent_terms(nm, cq, general, loaded), work.wide1, work.wide2, out)
    scatter(t, work.tau, tau)
