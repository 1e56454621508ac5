"""Distance to a height field z(x, y): bicubic between its nodes, with continuous curvature inside, level beyond its border."""

import numpy as np

from ..._jit import inline, routine
from ..algebra.dual import vdot, vscale, vsub

F_HEIGHT, F_X, F_Y, F_XY = (np.int64(k) for k in range(4))  # of a node: height, and its derivatives by node numbers
ITERATIONS = 50


@inline
def hermite(t):
    """Cubic Hermite functions (values 0 and 1, slopes 0 and 1) at t."""
    s = 1.0 - t
    return (s * s * (1.0 + 2.0 * t), t * t * (3.0 - 2.0 * t), t * s * s, -t * t * s)


@inline
def hermite_slope(t):
    """Their derivatives."""
    s = 1.0 - t
    return (-6.0 * t * s, 6.0 * t * s, s * (1.0 - 3.0 * t), -t * (2.0 - 3.0 * t))


@inline
def hermite_bend(t):
    """Their second derivatives."""
    return (12.0 * t - 6.0, 6.0 - 12.0 * t, 6.0 * t - 4.0, 6.0 * t - 2.0)


@routine
def blend(field, a, b, f, g):
    """Σ f g over the four nodes of a cell: f along x, g along y; a and b are the numbers of the nodes at its corner and the next in x."""
    low, high = field[a], field[a + 1]
    left = f[0] * low[F_HEIGHT] + f[1] * field[b][F_HEIGHT] + f[2] * low[F_X] + f[3] * field[b][F_X]
    right = f[0] * high[F_HEIGHT] + f[1] * field[b + 1][F_HEIGHT] + f[2] * high[F_X] + f[3] * field[b + 1][F_X]
    left_y = f[0] * low[F_Y] + f[1] * field[b][F_Y] + f[2] * low[F_XY] + f[3] * field[b][F_XY]
    right_y = f[0] * high[F_Y] + f[1] * field[b + 1][F_Y] + f[2] * high[F_XY] + f[3] * field[b + 1][F_XY]
    return g[0] * left + g[1] * right + g[2] * left_y + g[3] * right_y


@routine
def place_in(x, half, nodes):
    """Cell and place in it of a coordinate, the derivative of that place; zero beyond the border, where the field is level."""
    per = (nodes - 1) / (2.0 * half)
    s = (x + half) * per
    if s.real <= 0.0:
        return np.int64(0), 0.0 * s, 0.0
    if s.real >= nodes - 1:
        return nodes - 2, 0.0 * s + 1.0, 0.0
    cell = min(np.int64(s.real), nodes - 2)
    return cell, s - cell, per


@routine
def height(field, first, nx, ny, hx, hy, x, y):
    """z and its derivatives zx, zy, zxx, zxy, zyy."""
    i, s, px = place_in(x, hx, nx)
    j, t, py = place_in(y, hy, ny)
    a = first + i * ny + j
    b = a + ny
    f, fx, fxx = hermite(s), hermite_slope(s), hermite_bend(s)
    g, gy, gyy = hermite(t), hermite_slope(t), hermite_bend(t)
    return (
        blend(field, a, b, f, g),
        px * blend(field, a, b, fx, g),
        py * blend(field, a, b, f, gy),
        px * px * blend(field, a, b, fxx, g),
        px * py * blend(field, a, b, fx, gy),
        py * py * blend(field, a, b, f, gyy),
    )


@routine
def newton_step(h, c, x, y):
    """Newton's step towards the foot of c, or Gauss and Newton's where that would not go down."""
    z, zx, zy, zxx, zxy, zyy = h
    up = z - c[2]
    gx, gy = x - c[0] + up * zx, y - c[1] + up * zy
    a, b, d = 1.0 + zx * zx + up * zxx, zx * zy + up * zxy, 1.0 + zy * zy + up * zyy
    if a.real <= 0.0 or (a * d - b * b).real <= 1e-9:
        a, b, d = 1.0 + zx * zx, zx * zy, 1.0 + zy * zy
    det = a * d - b * b
    return (b * gy - d * gx) / det, (b * gx - a * gy) / det


@routine
def foot(field, first, nx, ny, hx, hy, c):
    """The nearest point of the field to a real point c, searched from the point below it."""
    x, y = c[0], c[1]
    scale = hx + hy
    h = height(field, first, nx, ny, hx, hy, x, y)
    best = (h[0] - c[2]) * (h[0] - c[2])
    for _ in range(ITERATIONS):
        dx, dy = newton_step(h, c, x, y)
        for _halving in range(30):
            new = height(field, first, nx, ny, hx, hy, x + dx, y + dy)
            far = (x + dx - c[0]) ** 2 + (y + dy - c[1]) ** 2 + (new[0] - c[2]) ** 2
            if far <= best * (1.0 + 1e-14) + 1e-300:
                break
            dx, dy = 0.5 * dx, 0.5 * dy
        x, y, h, best = x + dx, y + dy, new, far
        if abs(dx) + abs(dy) <= 1e-14 * scale:
            break
    return x, y


@routine
def field_distance(field, first, nx, ny, hx, hy, c):
    """Distance of c from the field, positive above, its gradient and its second derivative."""
    x, y = foot(field, first, nx, ny, hx, hy, (c[0].real, c[1].real, c[2].real))
    zero = 0.0 * (c[0] + c[1] + c[2])
    xc, yc = x + zero, y + zero
    dx, dy = newton_step(height(field, first, nx, ny, hx, hy, xc, yc), c, xc, yc)  # what is left, and imaginary parts
    xc, yc = xc + dx, yc + dy
    z, zx, zy, zxx, zxy, zyy = height(field, first, nx, ny, hx, hy, xc, yc)
    size = np.sqrt(1.0 + zx * zx + zy * zy)
    n = (-zx / size, -zy / size, 1.0 / size)
    d = vdot(n, vsub(c, (xc, yc, z)))
    # with the tangents X = (X₁ X₂), the metric I = XᵀX and the second form Q: ∂n/∂c = −X I⁻¹ Q (I − d Q)⁻¹ Xᵀ
    i11, i12, i22 = 1.0 + zx * zx, zx * zy, 1.0 + zy * zy
    q11, q12, q22 = zxx / size, zxy / size, zyy / size
    a, b, e = i11 - d * q11, i12 - d * q12, i22 - d * q22
    det, metric = a * e - b * b, i11 * i22 - i12 * i12
    m11, m12 = (q11 * e - q12 * b) / det, (q12 * a - q11 * b) / det
    m21, m22 = (q12 * e - q22 * b) / det, (q22 * a - q12 * b) / det
    s11, s12 = -(i22 * m11 - i12 * m21) / metric, -(i22 * m12 - i12 * m22) / metric
    s21, s22 = -(i11 * m21 - i12 * m11) / metric, -(i11 * m22 - i12 * m12) / metric
    r1, r2 = s11 * zx + s12 * zy, s21 * zx + s22 * zy
    H = (s11, s12, r1, s21, s22, r2, zx * s11 + zy * s21, zx * s12 + zy * s22, zx * r1 + zy * r2)
    return d, vscale(1.0, n), H
