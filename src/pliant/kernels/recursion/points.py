"""Jacobians and their rates at every computational point: what the Jacobian (Kane) route of [003] starts from."""

import numpy as np

from ..._jit import kernel
from ..groups import unpack_tables, unpack_work
from ..layout import J_PLANE, R_PLANE, RE, Y_PLANE
from .blocks import all_columns
from .forward import forward
from .kinematics import frame_columns

ZERO, ONE, TWO, THREE = (np.int64(k) for k in range(4))


@kernel("i1 f1 f1 f1 f1 i1 f2 f3 f3")
def point_jacobians(ints, floats, buffer, q, v, points, motion, J, rate):
    """J and J̇ (m, 6, nv) at the ends of the steps `points` (m,), in world axes at `work.origin`, J̇ seen from the world.

    `motion` (m, 18): rotation by rows, position relative to `work.origin`, twist in world axes at it.
    """
    t = unpack_tables(ints, floats)
    work = unpack_work(ints, buffer)
    forward(t, q, v, work.zero, work)
    wide1, wide2, ends = work.wide1, work.wide2, work.ends
    all_columns(t, work, THREE, 1.0, 0.0, 0.0)
    for k in range(points.shape[0]):
        i = points[k]
        for c in range(18):
            motion[k, c] = work.state[i, RE + c]
        frame_columns(t, i, ends[R_PLANE], wide1, TWO, ZERO, J[k])  # R, to be subtracted from Y
        frame_columns(t, i, ends[Y_PLANE], wide2, THREE, ONE, rate[k])
        for r in range(6):
            for c in range(J.shape[2]):
                rate[k, r, c] -= J[k, r, c]
        frame_columns(t, i, ends[J_PLANE], wide1, TWO, ONE, J[k])
