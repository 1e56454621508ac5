"""Gas in chambers along rods: its pressure follows from how much of it there is and from the volume that the robot leaves it.

With the volume ``V = ∫ A |σ + κ×d + d′| + dead volume`` of all chambers of one gas and the amount z of gas beyond the first filling, as pressure × volume at the
first density [J]: ``p = p₀ (s/p₀)ⁿ`` with ``s = (p₀V₀ + z)/V``, which is p V = const for n = 1. The generalised force is ``(p − ambient) ∂V/∂q``. What flows in,
``ż = p_N Q``, is an internal variable (`units`): with a valve Q follows from the pressures on both of its sides, implicitly.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import routine
from ..algebra.dual import vcross
from ..layout import F1, F2, I1, I2, MESSAGE_CQ, MESSAGE_ENERGY, MESSAGE_SIZE, STATIC
from .tendons import L_NODE, L_TENDON, N_BEGIN, N_PHI, N_STOP, N_V, P_WEIGHT, direction, project, strain_at, turned
from .units import ENERGY, GENERALISED, INPUTS, MEMORY, TANGENT, unit


class Gases(NamedTuple):
    """Points of chambers and laws of gases, as arrays."""

    law: I2  # (gases, 3) what supplies it, input (−1: none), its internal variable after `first` (−1: none)
    value: F2  # (gases, 8) see below
    node: I2  # (nodes, …) points of rods, as of `tendons.Tendons`
    strain: F2  # (nodes, 6)
    point: I2  # (points, 2) gas and node
    data: F2  # (points, 7) area times weight [m³], d (3), d′ (3)
    phi: F1
    first: I1  # (1,) place of the first internal variable


class GasSpace(NamedTuple):
    """Workspace."""

    volume: F1  # (gases,) m³
    slope: F2  # (gases, nv) ∂V/∂q
    found: F2  # (gases, 5) see below


# what supplies a gas: nothing, a syringe, a flow, a valve that is linear or that chokes
SEALED, SYRINGE, FLOW, LINEAR, CHOKED = (np.int64(k) for k in range(5))
G_KIND, G_INPUT, G_MEMORY = (np.int64(k) for k in range(3))
# absolute pressure of the first filling, volume then, dead volume, exponent, ambient pressure, conductance, critical ratio, p_N
G_PRESSURE, G_VOLUME, G_DEAD, G_EXPONENT, G_AMBIENT, G_CONDUCTANCE, G_CRITICAL, G_NORMAL = (
    np.int64(k) for k in range(8)
)
# absolute pressure; ∂p/∂V and ∂p/∂u with all that follows; amount z; 1 / (1 − Δt ∂ż/∂z)
S_PRESSURE, S_STIFF, S_INPUT, S_AMOUNT, S_SHARE = (np.int64(k) for k in range(5))
LAMINAR = 0.999  # ratio of pressures above which the flow through a valve that chokes is linear in their difference


@routine
def measure_volumes(gases, space, q, slopes):
    """Volumes of all gases, and with `slopes` their derivatives."""
    for k in range(gases.law.shape[0]):
        space.volume[k] = gases.value[k, G_DEAD]
        if slopes:
            for i in range(space.slope.shape[1]):
                space.slope[k, i] = 0.0
    for p in range(gases.point.shape[0]):
        k, m = gases.point[p, L_TENDON], gases.point[p, L_NODE]
        d, n, size = direction(strain_at(gases, m, q), gases.data[p])
        weight = gases.data[p, P_WEIGHT]
        space.volume[k] += weight * size
        if slopes:
            project(gases.node[m], weight, gases.phi, (vcross(d, n), n), space.slope[k])


@routine
def chokes(r, b):
    """Share ψ of the choked flow at a ratio r of the pressures after and before a valve, and ∂ψ/∂r (ISO 6358)."""
    if r.real <= b:
        return 1.0 + 0.0 * r, 0.0 * r
    at = LAMINAR if r.real > LAMINAR else r
    x = (at - b) / (1.0 - b)
    psi = np.sqrt(1.0 - x * x)
    if r.real > LAMINAR:
        return psi * (1.0 - r) / (1.0 - LAMINAR), -psi / (1.0 - LAMINAR) + 0.0 * r
    return psi, -x / ((1.0 - b) * psi)


@routine
def through_valve(kind, conductance, b, supply, p):
    """Flow Q into a chamber at absolute pressure p from a supply, ∂Q/∂p and ∂Q/∂supply."""
    if kind == LINEAR:
        return conductance * (supply - p), -conductance + 0.0 * p, conductance + 0.0 * p
    if supply.real >= p.real:
        psi, slope = chokes(p / supply, b)
        return conductance * supply * psi, conductance * slope, conductance * (psi - slope * p / supply)
    psi, slope = chokes(supply / p, b)
    return -conductance * p * psi, -conductance * (psi - slope * supply / p), -conductance * slope


@routine
def pressure_of(value, total, volume):
    """Absolute pressure of an amount `total` [J] in a volume."""
    return value[G_PRESSURE] * (total / (value[G_PRESSURE] * volume)) ** value[G_EXPONENT]


@routine
def filled(kind, value, before, lag, supply, volume):
    """Amount z that is there after a time `lag` behind a valve, from z* before: Newton's iteration between z* and where pressures are equal."""
    first, n = value[G_PRESSURE] * value[G_VOLUME], value[G_EXPONENT]
    even = volume * value[G_PRESSURE] * (supply / value[G_PRESSURE]) ** (1.0 / n) - first
    gain = lag * value[G_NORMAL]
    low, high = min(before.real, even.real), max(before.real, even.real)
    z = even + 0.0 * before if lag * value[G_NORMAL] * value[G_CONDUCTANCE] > volume.real else before + 0.0 * even
    size = abs(before.real) + abs(even.real) + first
    for it in range(100):
        p = pressure_of(value, first + z, volume)
        flow, by_p, _by_supply = through_valve(kind, value[G_CONDUCTANCE], value[G_CRITICAL], supply, p)
        gap = z - before - gain * flow
        move = -gap / (1.0 - gain * by_p * n * p / (first + z))
        if gap.real > 0.0:
            high = min(high, z.real)
        else:
            low = max(low, z.real)
        new = z + move
        if new.real < low or new.real > high:
            new = 0.5 * (low + high) + 0.0 * z
            move = new - z
        z = new
        if it > 2 and abs(move.real) <= 1e-15 * size:
            break
    # once more from where it has converged, for derivatives by complex numbers
    p = pressure_of(value, first + z, volume)
    flow, by_p, _by_supply = through_valve(kind, value[G_CONDUCTANCE], value[G_CRITICAL], supply, p)
    return z - (z - before - gain * flow) / (1.0 - gain * by_p * n * p / (first + z))


@routine
def set_pressures(gases, work, space, q, u):
    """Pressures of all gases with their derivatives, into space.found; amounts of gas now, into work.kept. After `measure_volumes`."""
    for k in range(gases.law.shape[0]):
        value, row = gases.value[k], space.found[k]
        kind, j, at = gases.law[k, G_KIND], gases.law[k, G_INPUT], gases.law[k, G_MEMORY]
        given = (u[j] if j >= 0 else 0.0 * q[0]) + 0.0 * q[0]
        volume = space.volume[k] - (given if kind == SYRINGE else 0.0 * q[0])
        first, n, lag = value[G_PRESSURE] * value[G_VOLUME], value[G_EXPONENT], work.lag[0].real
        before = 0.0 * q[0]
        if at >= 0:
            before = work.memory[gases.first[0] + at] + 0.0 * q[0]
        z, share, by_input = before, 1.0 + 0.0 * q[0], 0.0 * q[0]
        if kind == FLOW and lag < STATIC:
            z = before + lag * value[G_NORMAL] * given
            by_input = lag * value[G_NORMAL] + 0.0 * q[0]
        if kind >= LINEAR and lag > 0.0:
            z = filled(kind, value, before, lag, value[G_AMBIENT] + given, volume)
        p = pressure_of(value, first + z, volume)
        by_amount = n * p / (first + z)
        if kind >= LINEAR and lag > 0.0:
            supply = value[G_AMBIENT] + given
            _flow, by_p, by_supply = through_valve(kind, value[G_CONDUCTANCE], value[G_CRITICAL], supply, p)
            gain = lag * value[G_NORMAL]
            share = 1.0 / (1.0 - gain * by_p * by_amount)
            by_input = gain * by_supply * share
        row[S_PRESSURE] = p
        row[S_STIFF] = -n * p / volume * share
        row[S_INPUT] = n * p / volume if kind == SYRINGE else by_amount * by_input
        row[S_AMOUNT] = z
        row[S_SHARE] = share
        if at >= 0:
            work.kept[gases.first[0] + at] = z


@routine
def apply_gases(t, work, gases, space, q, v, u, r):
    """Subtract the generalised forces from the residual r (nv,), for any number type."""
    measure_volumes(gases, space, q, True)
    set_pressures(gases, work, space, q, u)
    for k in range(gases.law.shape[0]):
        gauge = space.found[k, S_PRESSURE] - gases.value[k, G_AMBIENT]
        for i in range(r.shape[0]):
            r[i] -= gauge * space.slope[k, i]


@routine
def unit_vector(c, one):
    """e_c as a tuple."""
    zero = 0.0 * one
    return (one if c == 0 else zero, one if c == 1 else zero, one if c == 2 else zero)


@routine
def add_curvatures(gases, space, q, scale, out):
    """out (nv, nv) −= scale × gauge pressure × ∂²V/∂q²."""
    one = 1.0 + 0.0 * q[0]
    for p in range(gases.point.shape[0]):
        k, m = gases.point[p, L_TENDON], gases.point[p, L_NODE]
        node = gases.node[m]
        d, n, size = direction(strain_at(gases, m, q), gases.data[p])
        gauge = space.found[k, S_PRESSURE] - gases.value[k, G_AMBIENT]
        f = -scale * gauge * gases.data[p, P_WEIGHT]
        for b in range(6):
            e = unit_vector(b % 3, one)
            y = turned(n, size, vcross(e, d) if b < 3 else e)
            moment = vcross(d, y)
            for a in range(6):
                h = f * (moment[a] if a < 3 else y[a - 3])
                if h == 0.0:
                    continue
                for j in range(node[N_BEGIN + b], node[N_STOP + b]):
                    g = h * gases.phi[node[N_PHI + b] + j]
                    for i in range(node[N_BEGIN + a], node[N_STOP + a]):
                        out[node[N_V] + i, node[N_V] + j] += g * gases.phi[node[N_PHI + a] + i]


@routine
def gas_energy(gases, work, space, k):
    """Work that the gas can do against the ambient pressure, from its volume at the first filling; after `set_pressures`."""
    value, row = gases.value[k], space.found[k]
    p, n, v0 = row[S_PRESSURE], value[G_EXPONENT], value[G_VOLUME]
    total = value[G_PRESSURE] * v0 + row[S_AMOUNT]
    volume = (total / value[G_PRESSURE]) / (p / value[G_PRESSURE]) ** (1.0 / n)
    around = value[G_AMBIENT] * (volume - v0)
    if gases.law[k, G_KIND] >= LINEAR and work.lag[0] >= STATIC:
        return (value[G_AMBIENT] - p) * (volume - v0)  # the supply keeps the pressure
    if n == 1.0:
        return around - total * np.log(volume / v0)
    return around + (p * volume - pressure_of(value, total, v0) * v0) / (n - 1.0)


@routine
def memory_rows(gases, work, space, u, out):
    """Derivatives of the amounts of gas, and of the residual by them; see `units`."""
    nv, nz = space.slope.shape[1], work.memory.shape[0]
    for k in range(gases.law.shape[0]):
        at, j = gases.law[k, G_MEMORY], gases.law[k, G_INPUT]
        if at < 0:
            continue
        row, value, found = out[gases.first[0] + at], gases.value[k], space.found[k]
        for i in range(row.shape[0]):
            row[i] = 0.0
        total = value[G_PRESSURE] * value[G_VOLUME] + found[S_AMOUNT]
        by_amount = value[G_EXPONENT] * found[S_PRESSURE] / total
        # with the valve ∂z/∂V = (∂p/∂V − ∂p/∂V at constant z) / (∂p/∂z)
        by_volume = (found[S_STIFF] - found[S_STIFF] / found[S_SHARE]) / by_amount
        for i in range(nv):
            row[i] = by_volume * space.slope[k, i]
            row[2 * nv + i] = -by_amount * found[S_SHARE] * space.slope[k, i]
        row[3 * nv + gases.first[0] + at] = found[S_SHARE]
        row[3 * nv + nz + j] = found[S_INPUT] / by_amount


@unit(Gases, tasks=(GENERALISED, TANGENT, ENERGY, INPUTS, MEMORY), space=GasSpace)
def gases(task, t, work, tables, space, q, v, u, out):
    """Forces on coordinates, their derivatives, energy, columns of the inputs, and amounts of gas."""
    if task == GENERALISED:
        apply_gases(t, work, tables, space, q, v, u, out[0])
        return
    measure_volumes(tables, space, q, True)
    set_pressures(tables, work, space, q, u)
    if task == TANGENT:
        cq = work.message[MESSAGE_CQ]
        if cq == 0.0:
            return
        add_curvatures(tables, space, q, cq, out)
        for k in range(tables.law.shape[0]):
            slope = space.slope[k]
            for i in range(slope.shape[0]):
                f = -cq * space.found[k, S_STIFF] * slope[i]
                if f != 0.0:
                    for j in range(slope.shape[0]):
                        out[i, j] += f * slope[j]
    elif task == ENERGY:
        for k in range(tables.law.shape[0]):
            energy = gas_energy(tables, work, space, k)
            work.message[MESSAGE_ENERGY] += energy
            work.message[MESSAGE_SIZE] += abs(energy)
    elif task == INPUTS:
        for k in range(tables.law.shape[0]):
            j = tables.law[k, G_INPUT]
            if j >= 0:
                for i in range(out.shape[1]):
                    out[j, i] += space.found[k, S_INPUT] * space.slope[k, i]
    elif task == MEMORY:
        memory_rows(tables, work, space, u, out)
