"""Distance to triangles, exact, by a hierarchy of boxes.

The boxes are in the order of a walk through the tree, depth first: the first child follows its parent, and each box names the one that comes after all that is in
it. So the walk needs no stack. Of the triangles that are not further than the nearest so far, the nearest feature (face, edge or corner) is kept; outside
is where its pseudo-normal points to: of a face its normal, of an edge the sum of the normals of its two faces, of a corner the sum of those around it
weighted by their angles (Bærentzen and Aanæs 2005), for which the sign is exact.
"""

import numpy as np

from ..._jit import inline, routine
from ..algebra.dual import get3, madd, mouter, mscale, vaxpy, vdot, vscale, vsub
from .shapes import diagonal

# a triangle: its corners, its normal, the pseudo-normals of the edges 01, 12, 20 and of the corners 0, 1, 2
T_CORNER, T_FACE, T_EDGE, T_VERTEX = (np.int64(k) for k in (0, 9, 12, 21))
TRIANGLE = 30
TREE_NEXT, TREE_FIRST, TREE_COUNT = (np.int64(k) for k in range(3))
FACE = 0  # features: 1, 2, 3 the edges, 4, 5, 6 the corners
BEYOND = 1e300


@inline
def box_gap(box, c):
    """Square of the distance of a point from a box."""
    x = max(box[0] - c[0], c[0] - box[3], 0.0)
    y = max(box[1] - c[1], c[1] - box[4], 0.0)
    z = max(box[2] - c[2], c[2] - box[5], 0.0)
    return x * x + y * y + z * z


@inline
def square(a):
    """aᵀa."""
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2]


@routine
def triangle_gap(triangle, c):
    """Square of the distance of a point from a triangle, and the nearest feature (Ericson, Real-Time Collision Detection, §5.1.5)."""
    a, b, d = get3(triangle, T_CORNER), get3(triangle, T_CORNER + 3), get3(triangle, T_CORNER + 6)
    ab, ad, ap = vsub(b, a), vsub(d, a), vsub(c, a)
    d1, d2 = vdot(ab, ap), vdot(ad, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return square(ap), 4
    bp = vsub(c, b)
    d3, d4 = vdot(ab, bp), vdot(ad, bp)
    if d3 >= 0.0 and d4 <= d3:
        return square(bp), 5
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return square(vaxpy(-d1 / (d1 - d3), ab, ap)), 1
    dp = vsub(c, d)
    d5, d6 = vdot(ab, dp), vdot(ad, dp)
    if d6 >= 0.0 and d5 <= d6:
        return square(dp), 6
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return square(vaxpy(-d2 / (d2 - d6), ad, ap)), 3
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return square(vaxpy(-w, vsub(d, b), bp)), 2
    off = vdot(get3(triangle, T_FACE), ap)
    return off * off, FACE


@routine
def leaf_gap(tree, triangle, i, c, best, found, feature):
    """The nearest triangle so far, after those of box i."""
    for k in range(tree[i, TREE_FIRST], tree[i, TREE_FIRST] + tree[i, TREE_COUNT]):
        gap, kind = triangle_gap(triangle[k], c)
        if gap < best:
            best, found, feature = gap, k, kind
    return best, found, feature


@routine
def nearest(node, tree, triangle, root, c):
    """The nearest triangle to a point and the nearest feature of it."""
    best, found, feature = BEYOND, np.int64(-1), FACE
    i = root
    while tree[i, TREE_COUNT] == 0:  # down to a box nearby, for a good first guess
        left, right = i + 1, tree[i + 1, TREE_NEXT]
        i = left if box_gap(node[left], c) <= box_gap(node[right], c) else right
    best, found, feature = leaf_gap(tree, triangle, i, c, best, found, feature)
    i, end = root, tree[root, TREE_NEXT]
    while i != end:
        if box_gap(node[i], c) >= best:
            i = tree[i, TREE_NEXT]
        else:
            best, found, feature = leaf_gap(tree, triangle, i, c, best, found, feature)
            i += 1
    return found, feature


@routine
def mesh_distance(node, tree, triangle, root, closed, c):
    """Signed distance of c from a closed mesh (of an open one without sign), its gradient and its second derivative."""
    real = (c[0].real, c[1].real, c[2].real)
    k, feature = nearest(node, tree, triangle, root, real)
    zero = 0.0 * (c[0] + c[1] + c[2])
    none = diagonal(zero, zero, zero)
    row = triangle[k]
    if feature == FACE:
        n = get3(row, T_FACE)
        d = vdot(n, vsub(c, get3(row, T_CORNER)))
        n = (n[0] + zero, n[1] + zero, n[2] + zero)
        if d.real < 0.0 and not closed:
            return -d, vscale(-1.0, n), none
        return d, n, none
    start = (feature - 1) % 3
    w = vsub(c, get3(row, T_CORNER + 3 * start))
    free = diagonal(1.0 + zero, 1.0 + zero, 1.0 + zero)
    if feature < 4:
        e = vsub(get3(row, T_CORNER + 3 * ((start + 1) % 3)), get3(row, T_CORNER + 3 * start))
        e = vscale(1.0 / np.sqrt(square(e)), e)
        w = vaxpy(-vdot(w, e), e, w)
        free = madd(free, mscale(-1.0 + zero, mouter(e, e)))
        out = get3(row, T_EDGE + 3 * start)
    else:
        out = get3(row, T_VERTEX + 3 * start)
    size = np.sqrt(square(w))
    if size.real < 1e-15:  # on the edge itself
        return zero, vscale(1.0 + zero, out), none
    sign = -1.0 if closed and vdot(out, w).real < 0.0 else 1.0
    d = sign * size
    n = vscale(1.0 / d, w)
    return d, n, mscale(1.0 / d, madd(free, mscale(-1.0 + zero, mouter(n, n))))
