"""Distance to any shape of the tables of contact, and what is too far away to be measured."""

import numpy as np

from ..._jit import routine
from ..algebra.dual import get3, get9, mm, mmt, mtv, mv, vadd, vsub
from ..layout import PE, RE
from .ellipsoids import ellipsoid_distance
from .fields import field_distance
from .meshes import mesh_distance
from .shapes import FIELD, MESH, ROUNDING, distance

N0 = np.int64(0)
SHAPE_KIND, SHAPE_STEP, SHAPE_INSIDE = (np.int64(k) for k in range(3))
PLACE_SIZE = np.int64(12)
DATA_FIRST, DATA_X, DATA_Y = (
    np.int64(k) for k in range(3)
)  # first box of a mesh and whether it is closed; first node of a field, nodes along x and y
SPHERE_RADIUS = np.int64(3)


@routine
def distance_to(contact, s, R, p, x):
    """Distance of x from shape s with the frame (R, p), its gradient n and its second derivative, in world axes."""
    kind = contact.shape[s, SHAPE_KIND]
    size = contact.place[s, PLACE_SIZE:]
    if kind < MESH:
        return distance(kind, contact.shape[s, SHAPE_INSIDE] != 0, size, R, p, x)
    c = mtv(R, vsub(x, p))
    data = contact.data[s]
    if kind == MESH:
        d, n, H = mesh_distance(contact.node, contact.tree, contact.triangle, data[DATA_FIRST], data[DATA_X] != 0, c)
    elif kind == FIELD:
        d, n, H = field_distance(contact.field, data[DATA_FIRST], data[DATA_X], data[DATA_Y], size[0], size[1], c)
    else:
        d, n, H = ellipsoid_distance(c, (size[0], size[1], size[2]))
    return d - size[ROUNDING], mv(R, n), mmt(mm(R, H), R)


@routine
def sphere_at(row, sphere):
    """World centre of a sphere that is fixed to a step; real."""
    c = vadd(get3(row, PE), mv(get9(row, RE), get3(sphere, N0)))
    return (c[0].real, c[1].real, c[2].real)


@routine
def apart(a, b, one, two, margin):
    """Whether two spheres (centre in the frame of its step, radius; negative if endless), on the steps with states a and b, are further apart than `margin`."""
    if one[SPHERE_RADIUS] < 0.0 or two[SPHERE_RADIUS] < 0.0:
        return False
    d = vsub(sphere_at(a, one), sphere_at(b, two))
    far = one[SPHERE_RADIUS] + two[SPHERE_RADIUS] + margin
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2] > far * far
