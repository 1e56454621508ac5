"""Constitutive laws at a point of a rod: stress Λ (6,), its derivative, energy, and what the point remembers.

Each function adds the stress of one term of a law to `s` (6,), and with `want` DERIVATIVES its derivative by the strain e = ξ − ξ* to `C` (6, 6). The numbers of the term at the
point are `p`. What it remembers was `z` (m,) and is written to `now` (m,), with DERIVATIVES also the derivatives `zs` (6, m) of the stress by z,
`ze` (m, 6) of now by e and `zz` (m, m) of now by z. Functions return the potential: what is stored, and what was dissipated since z; their
stress is its derivative. All are for real and complex numbers.
"""

import numpy as np

from ..._jit import routine
from ..layout import STATIC

VALUES, DERIVATIVES, ENERGIES = (np.int64(k) for k in range(3))
LINEAR, POLYNOMIAL, RUBBER, MAXWELL, PLASTIC, BOUC_WEN, USER = (np.int64(k) for k in range(7))


@routine
def linear(p, e, s, C, want):
    """Λ = Σ e with Σ (36,) by rows."""
    energy = 0.0 * e[0]
    for i in range(6):
        f = 0.0 * e[0]
        for j in range(6):
            f += p[6 * i + j] * e[j]
        s[i] += f
        energy += 0.5 * e[i] * f
        if want == DERIVATIVES:
            for j in range(6):
                C[i, j] += p[6 * i + j]
    return energy


@routine
def polynomial(p, o, count, signed, e, s, C, want):
    """What stiffening adds to a linear law: W = Q h(ρ²) of a group of strains, or S Σ c_k e^(k+2)/(k+2) of one that has a sign."""
    if signed != 0:
        x, S = e[o], p[0]
        energy = 0.0 * x
        f = 0.0 * x
        d = 0.0 * x
        for k in range(3):
            energy += S * p[2 + k] * x ** (k + 3) / (k + 3.0)
            f += S * p[2 + k] * x ** (k + 2)
            d += S * p[2 + k] * (k + 2.0) * x ** (k + 1)
        s[o] += f
        if want == DERIVATIVES:
            C[o, o] += d
        return energy
    Q = 0.0 * e[0]
    y = 0.0 * e[0]
    for i in range(count):
        Q += p[i] * e[o + i] * e[o + i]
        y += e[o + i] * e[o + i]
    h = y * (p[2] / 4.0 + y * (p[3] / 6.0 + y * p[4] / 8.0))
    h1 = p[2] / 4.0 + y * (p[3] / 3.0 + y * p[4] * 3.0 / 8.0)
    h2 = p[3] / 3.0 + y * p[4] * 6.0 / 8.0
    for i in range(count):
        s[o + i] += 2.0 * (p[i] * h + Q * h1) * e[o + i]
        if want == DERIVATIVES:
            C[o + i, o + i] += 2.0 * (p[i] * h + Q * h1)
            for j in range(count):
                C[o + i, o + j] += 4.0 * e[o + i] * e[o + j] * (h1 * (p[i] + p[j]) + Q * h2)
    return Q * h


@routine
def rubber(p, e, s, C, want):
    """Incompressible rubber, see docs/laws.md: W = EA/6 f(J) + ½ b Q_bending + ½ t Q_torsion + ½ g Q_shear, functions of the stretch λ."""
    x = 1.0 + e[3]
    if x.real <= 0.0:
        x = x * np.nan
    i1 = 1.0 / x
    i2 = i1 * i1
    i3 = i2 * i1
    J = x * x + 2.0 * i1 - 3.0
    J1, J2, J3, J4 = 2.0 * (x - i2), 2.0 + 4.0 * i3, -12.0 * i2 * i2, 48.0 * i3 * i2
    r2, r3 = p[6], p[7]
    F, F1, F2 = 1.0 + J * (2.0 * r2 + 3.0 * r3 * J), 2.0 * r2 + 6.0 * r3 * J, 6.0 * r3
    # derivatives of f(J(λ)) by λ, from the second one on; of f'(J(λ)) those from the first one on
    n0 = F1 * J1 * J1 + F * J2
    n1 = F2 * J1 * J1 * J1 + 3.0 * F1 * J1 * J2 + F * J3
    n2 = 6.0 * F2 * J1 * J1 * J2 + 3.0 * F1 * J2 * J2 + 4.0 * F1 * J1 * J3 + F * J4
    g1, g2 = F1 * J1, F2 * J1 * J1 + F1 * J2
    b, b1, b2 = n0 * i1 / 6.0, (n1 * i1 - n0 * i2) / 6.0, (n2 * i1 - 2.0 * n1 * i2 + 2.0 * n0 * i3) / 6.0
    t, t1, t2 = F * i1, g1 * i1 - F * i2, g2 * i1 - 2.0 * g1 * i2 + 2.0 * F * i3
    factor = (t, b, b, 0.0 * x, F, F)
    slope = (t1, b1, b1, 0.0 * x, g1, g1)
    curve = (t2, b2, b2, 0.0 * x, g2, g2)
    energy = p[3] / 6.0 * J * (1.0 + J * (r2 + r3 * J))
    force = p[3] / 6.0 * F * J1
    stiff = p[3] / 6.0 * n0
    for c in range(6):
        if c != 3:
            half = 0.5 * p[c] * e[c] * e[c]
            energy += factor[c] * half
            force += slope[c] * half
            stiff += curve[c] * half
            s[c] += factor[c] * p[c] * e[c]
            if want == DERIVATIVES:
                C[c, c] += factor[c] * p[c]
                C[c, 3] += slope[c] * p[c] * e[c]
                C[3, c] += slope[c] * p[c] * e[c]
    s[3] += force
    if want == DERIVATIVES:
        C[3, 3] += stiff
    return energy


@routine
def maxwell(p, branches, free, lag, e, s, C, z, now, zs, ze, zz, want):
    """Branches Λ = g Σ (e − z), ż = (e − z)/τ, of which z* is given before the time `lag`: z = (z* + x e)/(1 + x), x = lag/τ.

    z holds the strains that are free (those with free[c] > 0), branch after branch.
    """
    energy = 0.0 * e[0]
    n = 0
    for c in range(6):
        n += free[c]
    for k in range(branches):
        g, x = p[36 + k], lag / p[36 + branches + k]
        if lag >= STATIC:
            x = 1e300 if p[36 + 2 * branches] != 0.0 else 0.0
        keep = 1.0 / (1.0 + x)  # the part of z* that is left
        at = k * n
        i = at
        for c in range(6):
            if free[c] == 0:
                continue
            left = e[c] - z[i]
            now[i] = e[c] - keep * left
            j = at
            for d in range(6):
                if free[d] == 0:
                    continue
                stiffness = g * p[6 * c + d] * keep
                s[c] += stiffness * (e[d] - z[j])
                energy += 0.5 * stiffness * keep * left * (e[d] - z[j])
                if want == DERIVATIVES:
                    C[c, d] += stiffness
                    zs[c, j] -= stiffness
                j += 1
            if want == DERIVATIVES:
                ze[i, c] += 1.0 - keep
                zz[i, i] += keep
            i += 1
    return energy


@routine
def flow(p, o, count, e, z, bound, hard):
    """How far plastic flow goes: t with |m(t)| (1 − H t) = bound for m = S (e − z)/(1 + t S), by Newton's iteration, which comes from one side."""
    t = 0.0 * bound
    for k in range(60):
        size = 0.0 * bound
        slope = 0.0 * bound
        for i in range(count):
            m = p[i] * (e[o + i] - z[i]) / (1.0 + t * p[i])
            size += m * m
            slope -= m * m * p[i] / (1.0 + t * p[i])
        size = np.sqrt(size)
        slope = slope / size
        gap = size * (1.0 - hard * t) - bound
        step = -gap / (slope * (1.0 - hard * t) - size * hard)
        t = t + step
        if abs(step.real) <= 1e-15 * abs(t.real) and k > 0:
            break
    return t


@routine
def plastic(p, o, count, e, s, C, z, now, zs, ze, zz, want):
    """Λ = S (e − z) within a bound M + H p on its size, where z is the plastic strain and p, its last entry, how far it went.

    Return mapping: with t = γ/Y, m = S x/(1 + t S) of the trial x = e − z*, |m| = Y, Y = (M + H p*)/(1 − H t).
    """
    M, H, far = p[2], p[3], z[count]
    bound = M + H * far
    size = 0.0 * e[0]
    for i in range(count):
        m = p[i] * (e[o + i] - z[i])
        size += m * m
        now[i] = z[i]
    now[count] = far
    if not size.real > (bound * bound).real:
        energy = 0.5 * H * far * far
        for i in range(count):
            s[o + i] += p[i] * (e[o + i] - z[i])
            energy += 0.5 * p[i] * (e[o + i] - z[i]) ** 2
            if want == DERIVATIVES:
                C[o + i, o + i] += p[i]
                zs[o + i, i] -= p[i]
                zz[i, i] += 1.0
        if want == DERIVATIVES:
            zz[count, count] += 1.0
        return energy
    t = flow(p, o, count, e, z, bound, H)
    Y = bound / (1.0 - H * t)
    now[count] = far + t * Y
    energy = 0.5 * H * now[count] * now[count] + M * (now[count] - far)
    slope = H * Y / (1.0 - H * t)  # of Y by t, at a constant bound; minus that of |m|
    for i in range(count):
        m = p[i] * (e[o + i] - z[i]) / (1.0 + t * p[i])
        s[o + i] += m
        now[i] = z[i] + t * m
        energy += 0.5 * m * m / p[i]
        slope += m * m * p[i] / (1.0 + t * p[i]) / Y
    if want != DERIVATIVES:
        return energy
    by_far = -H / (1.0 - H * t) / slope  # of t
    for i in range(count):
        a = p[i] / (1.0 + t * p[i])
        mi = a * (e[o + i] - z[i])
        for j in range(count):
            b = p[j] / (1.0 + t * p[j])
            dt = b * b * (e[o + j] - z[j]) / Y / slope  # of t by x_j
            d = (a if i == j else 0.0 * a) - a * mi * dt  # of m_i by x_j
            C[o + i, o + j] += d
            zs[o + i, j] -= d
            dz = dt * mi + t * d
            ze[i, o + j] += dz
            zz[i, j] += (1.0 if i == j else 0.0) - dz
        zs[o + i, count] -= a * mi * by_far
        zz[i, count] += by_far * mi - t * a * mi * by_far
        grow = Y / (1.0 - H * t) * (a * mi / Y / slope)
        ze[count, o + i] += grow
        zz[count, i] -= grow
    zz[count, count] += 1.0 + Y / (1.0 - H * t) * by_far + t * H / (1.0 - H * t)
    return energy


@routine
def rise(n, y, x):
    """Flow of dz/dx = 1 − zⁿ from y ≥ 0 over x ≥ 0: end, its derivative by y, ∫ z dx."""
    if n == 1:
        f = np.exp(-x)
        return 1.0 - (1.0 - y) * f, f, x - (1.0 - y) * (1.0 - f)
    f = np.exp(-2.0 * x)
    T = (1.0 - f) / (1.0 + f)
    low = 1.0 + y * T
    # ∫ tanh(x + a) dx = ln (cosh x + y sinh x)
    area = x + np.log(0.5 * ((1.0 + y) + (1.0 - y) * f))
    return (y + T) / low, (1.0 - T * T) / (low * low), area


@routine
def fall(n, c, y, x):
    """Flow of dy/dx = −(1 + c yⁿ) from y ≥ 0 over x: end, its derivative by y, ∫ y dx; c ≥ 0."""
    if c == 0.0:
        return y - x, 1.0 + 0.0 * x, x * (y - 0.5 * x)
    if n == 1:
        f = np.exp(-c * x)
        return ((1.0 + c * y) * f - 1.0) / c, f, ((1.0 + c * y) * (1.0 - f) / c - x) / c
    r = np.sqrt(c)
    T = np.tan(r * x)
    low = 1.0 + r * y * T
    area = np.log(np.cos(r * x) * low) / c
    return (r * y - T) / (r * low), (1.0 + T * T) / (low * low), area


@routine
def crossing(n, c, y):
    """The x over which `fall` goes from y to zero, and its derivative by y."""
    if c == 0.0:
        return y, 1.0 + 0.0 * y
    if n == 1:
        return np.log(1.0 + c * y) / c, 1.0 / (1.0 + c * y)
    r = np.sqrt(c)
    return np.arctan(r * y) / r, 1.0 / (1.0 + c * y * y)


@routine
def bouc_wen(p, o, n, e, s, C, z, now, zs, ze, zz, want):
    """Λ = s z with Bouc and Wen's z, which goes from z[0] while the strain goes straight from z[1] to e."""
    size, width, c = p[0], p[1], p[2]
    x = (e[o] - z[1]) / width
    sign = 1.0 if x.real >= 0.0 else -1.0
    x = sign * x
    y = sign * z[0]
    if y.real >= 0.0:
        end, by, area = rise(n, y, x)
        speed = 1.0 - end**n
    else:
        cross, dcross = crossing(n, c, -y)
        if x.real <= cross.real:
            end, by, area = fall(n, c, -y, x)
            end, area = -end, -area
            speed = 1.0 + c * (-end) ** n
        else:
            _end, _by, before = fall(n, c, -y, cross)
            end, _by, area = rise(n, 0.0 * y, x - cross)
            area = area - before
            speed = 1.0 - end**n
            by = speed * dcross
    value = sign * end
    now[0] = value
    now[1] = e[o]
    s[o] += size * value
    if want == DERIVATIVES:
        C[o, o] += size * speed / width
        ze[0, o] += speed / width
        ze[1, o] += 1.0
        zz[0, 0] += by
        zz[0, 1] -= speed / width
        zs[o, 0] += size * by
        zs[o, 1] -= size * speed / width
    return size * width * (0.5 * z[0] * z[0] + area)
