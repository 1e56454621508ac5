"""Three-vectors, twists and wrenches as tuples of scalars: no arrays, no allocation, real or complex.

A twist ``(w, v)`` is the dual vector ``w + εv`` with ``ε² = 0``; a wrench is kept as the dual vector
``f + εm`` (force first). In this form the operators of SE(3) are those of SO(3) with dual entries:

* ``ad_x y`` and ``ad*_x F`` are both the dual cross product,
* ``Ad_g`` and ``Ad*_g`` are both the dual rotation ``(R, p̂R)``,
* ``T``, ``Ṫ``, ``∂(Ty)/∂Ω`` are dual 3×3 matrices ``(A, B)``, standing for ``[[A, 0], [B, A]]``.

Names: ``v…`` 3-vectors, ``m…`` 3×3 matrices (9-tuples, by rows), ``d…`` dual vectors, ``dm…`` dual matrices,
``s…`` dual scalars ``(value, derivative)``.
"""

from ..._jit import inline

# ---------------------------------------------------------------- 3-vectors


@inline
def vadd(a, b):
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inline
def vsub(a, b):
    """a − b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inline
def vscale(s, a):
    """s a."""
    return (s * a[0], s * a[1], s * a[2])


@inline
def vaxpy(s, a, b):
    """s a + b."""
    return (s * a[0] + b[0], s * a[1] + b[1], s * a[2] + b[2])


@inline
def vdot(a, b):
    """a · b (no conjugation)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def vcross(a, b):
    """a × b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


# ---------------------------------------------------------------- 3×3 matrices


@inline
def mv(A, x):
    """A x."""
    return (
        A[0] * x[0] + A[1] * x[1] + A[2] * x[2],
        A[3] * x[0] + A[4] * x[1] + A[5] * x[2],
        A[6] * x[0] + A[7] * x[1] + A[8] * x[2],
    )


@inline
def mtv(A, x):
    """Aᵀ x."""
    return (
        A[0] * x[0] + A[3] * x[1] + A[6] * x[2],
        A[1] * x[0] + A[4] * x[1] + A[7] * x[2],
        A[2] * x[0] + A[5] * x[1] + A[8] * x[2],
    )


@inline
def mm(A, B):
    """A B."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@inline
def mmt(A, B):
    """A Bᵀ."""
    return (
        A[0] * B[0] + A[1] * B[1] + A[2] * B[2],
        A[0] * B[3] + A[1] * B[4] + A[2] * B[5],
        A[0] * B[6] + A[1] * B[7] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[1] + A[5] * B[2],
        A[3] * B[3] + A[4] * B[4] + A[5] * B[5],
        A[3] * B[6] + A[4] * B[7] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[1] + A[8] * B[2],
        A[6] * B[3] + A[7] * B[4] + A[8] * B[5],
        A[6] * B[6] + A[7] * B[7] + A[8] * B[8],
    )


@inline
def mt(A):
    """Aᵀ."""
    return (A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8])


@inline
def madd(A, B):
    """A + B."""
    return (
        A[0] + B[0],
        A[1] + B[1],
        A[2] + B[2],
        A[3] + B[3],
        A[4] + B[4],
        A[5] + B[5],
        A[6] + B[6],
        A[7] + B[7],
        A[8] + B[8],
    )


@inline
def maxpy(s, A, B):
    """s A + B."""
    return (
        s * A[0] + B[0],
        s * A[1] + B[1],
        s * A[2] + B[2],
        s * A[3] + B[3],
        s * A[4] + B[4],
        s * A[5] + B[5],
        s * A[6] + B[6],
        s * A[7] + B[7],
        s * A[8] + B[8],
    )


@inline
def mscale(s, A):
    """s A."""
    return (s * A[0], s * A[1], s * A[2], s * A[3], s * A[4], s * A[5], s * A[6], s * A[7], s * A[8])


@inline
def mouter(a, b):
    """a bᵀ."""
    return (
        a[0] * b[0],
        a[0] * b[1],
        a[0] * b[2],
        a[1] * b[0],
        a[1] * b[1],
        a[1] * b[2],
        a[2] * b[0],
        a[2] * b[1],
        a[2] * b[2],
    )


@inline
def skew_diag(x, d):
    """x̂ + d 1."""
    return (d, -x[2], x[1], x[2], d, -x[0], -x[1], x[0], d)


@inline
def hat_m(x, A):
    """x̂ A."""
    return (
        x[1] * A[6] - x[2] * A[3],
        x[1] * A[7] - x[2] * A[4],
        x[1] * A[8] - x[2] * A[5],
        x[2] * A[0] - x[0] * A[6],
        x[2] * A[1] - x[0] * A[7],
        x[2] * A[2] - x[0] * A[8],
        x[0] * A[3] - x[1] * A[0],
        x[0] * A[4] - x[1] * A[1],
        x[0] * A[5] - x[1] * A[2],
    )


@inline
def m_hat(A, x):
    """A x̂."""
    return (
        A[1] * x[2] - A[2] * x[1],
        A[2] * x[0] - A[0] * x[2],
        A[0] * x[1] - A[1] * x[0],
        A[4] * x[2] - A[5] * x[1],
        A[5] * x[0] - A[3] * x[2],
        A[3] * x[1] - A[4] * x[0],
        A[7] * x[2] - A[8] * x[1],
        A[8] * x[0] - A[6] * x[2],
        A[6] * x[1] - A[7] * x[0],
    )


# ---------------------------------------------------------------- dual vectors (twists, wrenches)


@inline
def dadd(x, y):
    """x + y."""
    return (vadd(x[0], y[0]), vadd(x[1], y[1]))


@inline
def dsub(x, y):
    """x − y."""
    return (vsub(x[0], y[0]), vsub(x[1], y[1]))


@inline
def dscale(s, x):
    """s x, s an ordinary number."""
    return (vscale(s, x[0]), vscale(s, x[1]))


@inline
def daxpy(s, x, y):
    """s x + y, s an ordinary number."""
    return (vaxpy(s, x[0], y[0]), vaxpy(s, x[1], y[1]))


@inline
def dcross(x, y):
    """ad_x y of two twists; ad*_x y of a twist and a wrench in dual form."""
    return (vcross(x[0], y[0]), vadd(vcross(x[0], y[1]), vcross(x[1], y[0])))


@inline
def sdot(x, y):
    """x · y as a dual scalar."""
    return (vdot(x[0], y[0]), vdot(x[0], y[1]) + vdot(x[1], y[0]))


@inline
def sadd(s, t):
    """s + t of dual scalars."""
    return (s[0] + t[0], s[1] + t[1])


@inline
def sscale(f, s):
    """f s, f an ordinary number."""
    return (f * s[0], f * s[1])


@inline
def smul(s, t):
    """s t of dual scalars."""
    return (s[0] * t[0], s[0] * t[1] + s[1] * t[0])


@inline
def sdx(s, x):
    """s x, s a dual scalar."""
    return (vscale(s[0], x[0]), vaxpy(s[0], x[1], vscale(s[1], x[0])))


@inline
def sdxpy(s, x, y):
    """s x + y, s a dual scalar."""
    return (vaxpy(s[0], x[0], y[0]), vaxpy(s[0], x[1], vaxpy(s[1], x[0], y[1])))


# ---------------------------------------------------------------- dual matrices


@inline
def dmv(M, x):
    """M x."""
    return (mv(M[0], x[0]), vadd(mv(M[0], x[1]), mv(M[1], x[0])))


@inline
def dmadd(M, K):
    """M + K."""
    return (madd(M[0], K[0]), madd(M[1], K[1]))


@inline
def dmaxpy(s, M, K):
    """s M + K, s an ordinary number."""
    return (maxpy(s, M[0], K[0]), maxpy(s, M[1], K[1]))


@inline
def dmscale(s, M):
    """s M, s an ordinary number."""
    return (mscale(s, M[0]), mscale(s, M[1]))


@inline
def dskew_diag(x, d):
    """x̂ + d 1 with dual x and d."""
    return (skew_diag(x[0], d[0]), skew_diag(x[1], d[1]))


@inline
def dmouter(x, y):
    """x yᵀ of dual vectors."""
    return (mouter(x[0], y[0]), madd(mouter(x[0], y[1]), mouter(x[1], y[0])))


@inline
def ad_dm(x, M):
    """ad_x M."""
    return (hat_m(x[0], M[0]), madd(hat_m(x[0], M[1]), hat_m(x[1], M[0])))


@inline
def dm_ad(M, x):
    """M ad_x."""
    return (m_hat(M[0], x[0]), madd(m_hat(M[0], x[1]), m_hat(M[1], x[0])))


@inline
def rotate(R, p, x):
    """Ad_g x of a twist, Ad*_g x of a wrench in dual form, g = (R, p)."""
    w = mv(R, x[0])
    return (w, vadd(mv(R, x[1]), vcross(p, w)))


@inline
def rotate_back(R, p, x):
    """Ad_g⁻¹ x of a twist, (Ad*_g)⁻¹ x of a wrench in dual form, g = (R, p)."""
    return (mtv(R, x[0]), mtv(R, vsub(x[1], vcross(p, x[0]))))


@inline
def rotate_dm(R, p, M):
    """Ad_g M."""
    A = mm(R, M[0])
    return (A, madd(mm(R, M[1]), hat_m(p, A)))


@inline
def quaternion_matrix(q, o):
    """Rotation matrix of the quaternion (w, x, y, z) at q[o:o+4], which need not be of unit length."""
    w, x, y, z = q[o], q[o + 1], q[o + 2], q[o + 3]
    s = 2.0 / (w * w + x * x + y * y + z * z)
    return (
        1.0 - s * (y * y + z * z),
        s * (x * y - w * z),
        s * (x * z + w * y),
        s * (x * y + w * z),
        1.0 - s * (x * x + z * z),
        s * (y * z - w * x),
        s * (x * z - w * y),
        s * (y * z + w * x),
        1.0 - s * (x * x + y * y),
    )


# ---------------------------------------------------------------- loads and stores


@inline
def get3(row, o):
    """Three entries of a 1-D array from position o."""
    return (row[o], row[o + 1], row[o + 2])


@inline
def put3(row, o, x):
    """Store three entries."""
    row[o] = x[0]
    row[o + 1] = x[1]
    row[o + 2] = x[2]


@inline
def get6(row, o):
    """Six entries as a dual vector."""
    return ((row[o], row[o + 1], row[o + 2]), (row[o + 3], row[o + 4], row[o + 5]))


@inline
def dual_dot(twist, wrench):
    """Power of a wrench (dual form) on a twist."""
    a, b = twist
    f, m = wrench
    return a[0] * m[0] + a[1] * m[1] + a[2] * m[2] + b[0] * f[0] + b[1] * f[1] + b[2] * f[2]


@inline
def put6(row, o, x):
    """Store a dual vector in six entries."""
    put3(row, o, x[0])
    put3(row, o + 3, x[1])


@inline
def add6(row, o, x):
    """Add a dual vector to six entries."""
    for c in range(3):
        row[o + c] += x[0][c]
        row[o + 3 + c] += x[1][c]


@inline
def add3(row, o, x):
    """Add to three entries."""
    for c in range(3):
        row[o + c] += x[c]


@inline
def get9(row, o):
    """Nine entries as a 3×3 matrix."""
    return (
        row[o],
        row[o + 1],
        row[o + 2],
        row[o + 3],
        row[o + 4],
        row[o + 5],
        row[o + 6],
        row[o + 7],
        row[o + 8],
    )


@inline
def put9(row, o, A):
    """Store a 3×3 matrix in nine entries."""
    row[o] = A[0]
    row[o + 1] = A[1]
    row[o + 2] = A[2]
    row[o + 3] = A[3]
    row[o + 4] = A[4]
    row[o + 5] = A[5]
    row[o + 6] = A[6]
    row[o + 7] = A[7]
    row[o + 8] = A[8]


@inline
def swap(x):
    """A wrench between array order (m, f) and dual order (f, m)."""
    return (x[1], x[0])
