"""Rods with laws of their own: stress at the quadrature points, projected on the functions that carry the strains; and active strains.

The strain of a point is ``e = Φ q − Σ_a u_a p_a`` with the shapes p_a of active strains and their inputs, its rate ``Φ v``. The generalised force is
``Σ_k w_k Φᵀ Λ``, its tangent ``Σ_k w_k Φᵀ (∂Λ/∂e) Φ``, block by block. Terms of laws are in `materials`; laws of the user are called with all points of a rod at once.

Linear rods keep their constant stiffness (`internal`). What active strains add there is linear: ``−u_a ∫ Φᵀ Σ p_a``.
"""

from typing import NamedTuple

import numpy as np

from ..._call import call_load
from ..._jit import kernel, routine
from ..groups import unpack_work
from ..layout import F1, F2, I1, I2, MESSAGE_CQ, MESSAGE_CV, MESSAGE_ENERGY, MESSAGE_SIZE
from ..packing import unpacker
from .materials import (
    BOUC_WEN,
    DERIVATIVES,
    ENERGIES,
    LINEAR,
    MAXWELL,
    PLASTIC,
    POLYNOMIAL,
    RUBBER,
    USER,
    VALUES,
    bouc_wen,
    linear,
    maxwell,
    plastic,
    polynomial,
    rubber,
)
from .units import ENERGY, GENERALISED, INPUTS, MEMORY, TANGENT, unit


class Laws(NamedTuple):
    """Rods with laws and active strains as arrays; constant after compile."""

    rod: I2  # (rods, ROD_WIDTH) see below
    weight: F1  # (points,) [m]
    phi: F1  # (Σ points × coordinates,) values of the functions
    term: I2  # (terms, TERM_WIDTH) see below
    value: F1  # numbers of the terms at each point
    active: I2  # (active strains of rods with laws, 2) input, first entry in `shape`
    shape: F1  # (Σ 6 points,) active strains at the points, per unit of input
    pull: I2  # (active strains of linear rods, 5) input, first coordinate, first velocity, how many, first entry in `gain`
    gain: F1  # ∫ Φᵀ Σ p
    both: I2  # (n, 2) inputs of two active strains of a linear rod
    store: F1  # (n,) half of ∫ pᵀ Σ p of the two
    place: F1  # (points,) X
    smooth: I1  # (internal variables,) 1 for those that have a rate
    passive: I1  # (laws,) 1 for those that have a potential in statics
    first: I1  # (1,) of the internal variables


class LawSpace(NamedTuple):
    """Workspace: what a point has."""

    point: F2  # (3, 6) strain, its rate, stress
    matrix: F2  # (12, 6) derivatives of the stress by both
    past: F1  # (most,) internal variables of a term at a point: as they were
    now: F1  # and are
    by_past: F2  # (6, most) derivative of the stress by what they were
    by_strain: F2  # (most, 12) of what they are by strain and rate
    by_self: F2  # (most, most) of what they are by what they were
    call: F1  # what laws of the user read and write, of one rod; always real


# columns of `rod`: first coordinate and velocity, how many; points; first entry in `phi`; terms; active strains; ends of the
# components; which of them are free
R_Q, R_V, R_N, R_FIRST, R_END, R_PHI, R_TERM, R_TERMS, R_ACTIVE, R_ACTIVES, R_RANGE = (np.int64(k) for k in range(11))
R_FREE = np.int64(10 + 7)
ROD_WIDTH = 10 + 7 + 6
# columns of `term`: kind; first entry in `value`, numbers at a point; first strain and how many; choice; first internal variable, how many at a point; address
T_KIND, T_VALUE, T_WIDTH, T_FIRST, T_COUNT, T_CHOICE, T_MEMORY, T_MEMORIES, T_ADDRESS = (np.int64(k) for k in range(9))
TERM_WIDTH = 9


@routine
def strain_at(laws, row, k, q, v, u, e, d):
    """Strain and its rate at point k of a rod."""
    at = row[R_PHI] + (k - row[R_FIRST]) * row[R_N]
    for c in range(6):
        x = 0.0 * q[0]
        y = 0.0 * q[0]
        for j in range(row[R_RANGE + c], row[R_RANGE + c + 1]):
            x += laws.phi[at + j] * q[row[R_Q] + j]
            y += laws.phi[at + j] * v[row[R_V] + j]
        e[c] = x
        d[c] = y
    for a in range(row[R_ACTIVE], row[R_ACTIVE] + row[R_ACTIVES]):
        o = laws.active[a, 1] + 6 * (k - row[R_FIRST])
        for c in range(6):
            e[c] -= u[laws.active[a, 0]] * laws.shape[o + c]


@routine
def clear_point(space):
    """Zero what terms add to."""
    for c in range(6):
        space.point[2, c] = 0.0
    for i in range(12):
        for j in range(6):
            space.matrix[i, j] = 0.0


@routine
def clear_memory(space, m):
    """Zero what a term with m internal variables adds to."""
    for i in range(m):
        for j in range(12):
            space.by_strain[i, j] = 0.0
        for j in range(m):
            space.by_self[i, j] = 0.0
        for c in range(6):
            space.by_past[c, i] = 0.0


@routine
def plain_term(kind, p, o, count, choice, e, s, C, want):
    """A term that remembers nothing."""
    if kind == LINEAR:
        return linear(p, e, s, C, want)
    if kind == POLYNOMIAL:
        return polynomial(p, o, count, choice, e, s, C, want)
    return rubber(p, e, s, C, want)


@routine
def one_term(laws, space, work, row, i, k, want):
    """Add one term of a law at point k to stress and derivatives; its internal variables into space.now. Returns its energy."""
    term = laws.term[i]
    kind, m = term[T_KIND], term[T_MEMORIES]
    at = term[T_VALUE] + (k - row[R_FIRST]) * term[T_WIDTH]
    p = laws.value[at : at + term[T_WIDTH]]
    e, s, C = space.point[0], space.point[2], space.matrix
    o, count, choice = term[T_FIRST], term[T_COUNT], term[T_CHOICE]
    z, now, zs, ze, zz = space.past, space.now, space.by_past, space.by_strain, space.by_self
    if m > 0:
        first = laws.first[0] + term[T_MEMORY] + (k - row[R_FIRST]) * m
        for j in range(m):
            z[j] = work.memory[first + j]
        if want == DERIVATIVES:
            clear_memory(space, m)
    if kind in (LINEAR, POLYNOMIAL, RUBBER):
        return plain_term(kind, p, o, count, choice, e, s, C, want)
    if kind == MAXWELL:
        return maxwell(p, choice, row[R_FREE:], work.lag[0].real, e, s, C, z, now, zs, ze, zz, want)
    if kind == PLASTIC:
        return plastic(p, o, count, e, s, C, z, now, zs, ze, zz, want)
    if kind == BOUC_WEN:
        return bouc_wen(p, o, choice, e, s, C, z, now, zs, ze, zz, want)
    return user_term(space, row, term, k, want)


# ---------------------------------------------------------------- laws of the user


@routine
def user_parts(m):
    """Widths of what a law of the user with m internal variables reads and writes at a point: state, result, derivatives."""
    return 12 + m, 6 + m, (6 + m) * (12 + m)


@routine
def ask_user(laws, space, row, term, want):
    """Call a law of the user with the states that are in space.call."""
    n, call = row[R_END] - row[R_FIRST], space.call
    wide, tall, square = user_parts(term[T_MEMORIES])
    lag = wide * n
    result = lag + 1
    slopes = result + tall * n
    energy = slopes + square * n
    X = laws.place[row[R_FIRST] : row[R_END]]
    call_load(
        term[T_ADDRESS], n, want, call[:lag], X, call[lag:result], call[result:slopes], call[slopes:energy], call[energy : energy + n]
    )  # fmt: skip


@routine
def call_user(laws, space, work, row, q, v, u, want):
    """Call the law of the user that a rod has, if it has one, for all its points; its answers stay in space.call."""
    for i in range(row[R_TERM], row[R_TERM] + row[R_TERMS]):
        term = laws.term[i]
        if term[T_KIND] != USER:
            continue
        n, m = row[R_END] - row[R_FIRST], term[T_MEMORIES]
        wide = 12 + m
        e, d, call = space.point[0], space.point[1], space.call
        for k in range(n):
            strain_at(laws, row, row[R_FIRST] + k, q, v, u, e, d)
            for c in range(6):
                call[wide * k + c] = e[c].real
                call[wide * k + 6 + c] = d[c].real
            for j in range(m):
                call[wide * k + 12 + j] = work.memory[laws.first[0] + term[T_MEMORY] + k * m + j].real
        call[wide * n] = work.lag[0].real
        ask_user(laws, space, row, term, want)


@routine
def user_term(space, row, term, k, want):
    """What the law of the user said of point k."""
    n, m, k = row[R_END] - row[R_FIRST], term[T_MEMORIES], k - row[R_FIRST]
    wide, tall, square = user_parts(m)
    call, e, d = space.call, space.point[0], space.point[1]
    result = wide * n + 1 + tall * k
    slopes = wide * n + 1 + tall * n + square * k
    if want == ENERGIES:
        return call[wide * n + 1 + (tall + square) * n + k] + 0.0 * e[0]
    for i in range(tall):
        x = call[result + i] + 0.0 * e[0]
        if want == DERIVATIVES:
            for j in range(6):  # nothing for real numbers
                x += call[slopes + wide * i + j] * (e[j] - e[j].real)
                x += call[slopes + wide * i + 6 + j] * (d[j] - d[j].real)
            for j in range(wide):
                y = call[slopes + wide * i + j]
                if i < 6 and j < 12:
                    space.matrix[i + (0 if j < 6 else 6), j % 6] += y
                elif i < 6:
                    space.by_past[i, j - 12] += y
                elif j < 12:
                    space.by_strain[i - 6, j] += y
                else:
                    space.by_self[i - 6, j - 12] += y
        if i < 6:
            space.point[2, i] += x
        else:
            space.now[i - 6] = x
    return 0.0 * e[0]


# ---------------------------------------------------------------- rods


@routine
def point_law(laws, space, work, row, k, q, v, u, want, keep):
    """Stress of all terms at point k, into space.point[2], and with `want` DERIVATIVES its derivatives; with `keep` what it remembers. Returns the energy."""
    strain_at(laws, row, k, q, v, u, space.point[0], space.point[1])
    clear_point(space)
    energy = 0.0 * q[0]
    for i in range(row[R_TERM], row[R_TERM] + row[R_TERMS]):
        energy += one_term(laws, space, work, row, i, k, want)
        m = laws.term[i, T_MEMORIES]
        first = laws.first[0] + laws.term[i, T_MEMORY] + (k - row[R_FIRST]) * m
        if keep:
            for j in range(m):
                work.kept[first + j] = space.now[j]
    return energy


@routine
def project(laws, row, k, s, factor, r):
    """r (nv,) += factor w Φᵀ s at point k."""
    at = row[R_PHI] + (k - row[R_FIRST]) * row[R_N]
    for c in range(6):
        f = factor * laws.weight[k] * s[c]
        for j in range(row[R_RANGE + c], row[R_RANGE + c + 1]):
            r[row[R_V] + j] += laws.phi[at + j] * f


@routine
def add_forces(laws, space, work, q, v, u, r, user, keep):
    """The residual r (nv,) of all rods with laws; `user` is what laws of the user are asked for."""
    for i in range(laws.rod.shape[0]):
        row = laws.rod[i]
        call_user(laws, space, work, row, q, v, u, user)
        for k in range(row[R_FIRST], row[R_END]):
            point_law(laws, space, work, row, k, q, v, u, user, keep)
            project(laws, row, k, space.point[2], 1.0, r)
    for i in range(laws.pull.shape[0]):
        pull = laws.pull[i]
        for j in range(pull[3]):
            r[pull[2] + j] -= u[pull[0]] * laws.gain[pull[4] + j]


@routine
def apply_laws(t, work, laws, space, q, v, u, r):
    """The same for any number type."""
    add_forces(laws, space, work, q, v, u, r, DERIVATIVES, True)


@routine
def add_tangent(laws, space, work, q, v, u, cq, cv, out):
    """out (nv, nv) += Σ w Φᵀ (cq ∂Λ/∂e + cv ∂Λ/∂ė) Φ."""
    for i in range(laws.rod.shape[0]):
        row = laws.rod[i]
        call_user(laws, space, work, row, q, v, u, DERIVATIVES)
        for k in range(row[R_FIRST], row[R_END]):
            point_law(laws, space, work, row, k, q, v, u, DERIVATIVES, False)
            at, o = row[R_PHI] + (k - row[R_FIRST]) * row[R_N], row[R_V]
            for b in range(6):
                for c in range(6):
                    f = laws.weight[k] * (cq * space.matrix[b, c] + cv * space.matrix[6 + b, c])
                    if f == 0.0:
                        continue
                    for m in range(row[R_RANGE + b], row[R_RANGE + b + 1]):
                        g = f * laws.phi[at + m]
                        line = out[o + m]
                        for j in range(row[R_RANGE + c], row[R_RANGE + c + 1]):
                            line[o + j] += g * laws.phi[at + j]


@routine
def stored(laws, space, work, q, u):
    """Potential energy, and the size of its parts."""
    energy = 0.0
    size = 0.0
    for i in range(laws.rod.shape[0]):
        row = laws.rod[i]
        call_user(laws, space, work, row, q, work.zero, u, ENERGIES)
        for k in range(row[R_FIRST], row[R_END]):
            energy += laws.weight[k] * point_law(laws, space, work, row, k, q, work.zero, u, ENERGIES, False)
    size += abs(energy)
    for i in range(laws.pull.shape[0]):
        pull = laws.pull[i]
        part = 0.0
        for j in range(pull[3]):
            part -= u[pull[0]] * laws.gain[pull[4] + j] * q[pull[1] + j]
        energy += part
        size += abs(part)
    for i in range(laws.both.shape[0]):
        part = laws.store[i] * u[laws.both[i, 0]] * u[laws.both[i, 1]]
        energy += part
        size += abs(part)
    return energy, size


@routine
def add_columns(laws, space, work, q, v, u, out):
    """out (nu, nv) += derivatives of the generalised forces by the inputs of active strains."""
    for i in range(laws.rod.shape[0]):
        row = laws.rod[i]
        if row[R_ACTIVES] == 0:
            continue
        call_user(laws, space, work, row, q, v, u, DERIVATIVES)
        for k in range(row[R_FIRST], row[R_END]):
            point_law(laws, space, work, row, k, q, v, u, DERIVATIVES, False)
            s = space.point[2]
            for a in range(row[R_ACTIVE], row[R_ACTIVE] + row[R_ACTIVES]):
                o = laws.active[a, 1] + 6 * (k - row[R_FIRST])
                for b in range(6):
                    s[b] = 0.0
                    for c in range(6):
                        s[b] += space.matrix[b, c] * laws.shape[o + c]
                project(laws, row, k, s, 1.0, out[laws.active[a, 0]])
    for i in range(laws.pull.shape[0]):
        pull = laws.pull[i]
        for j in range(pull[3]):
            out[pull[0], pull[2] + j] += laws.gain[pull[4] + j]


@routine
def memory_rows(laws, space, work, q, v, u, out):
    """The rows of the task MEMORY."""
    nv, nz = v.shape[0], work.memory.shape[0]
    for i in range(laws.rod.shape[0]):
        row = laws.rod[i]
        call_user(laws, space, work, row, q, v, u, DERIVATIVES)
        for k in range(row[R_FIRST], row[R_END]):
            strain_at(laws, row, k, q, v, u, space.point[0], space.point[1])
            for i in range(row[R_TERM], row[R_TERM] + row[R_TERMS]):
                m = laws.term[i, T_MEMORIES]
                if m > 0:
                    clear_point(space)
                    one_term(laws, space, work, row, i, k, DERIVATIVES)
                    first = laws.first[0] + laws.term[i, T_MEMORY] + (k - row[R_FIRST]) * m
                    for j in range(m):
                        memory_row(laws, space, row, k, j, m, first, nv, nz, out[first + j])


@routine
def memory_row(laws, space, row, k, j, m, first, nv, nz, line):
    """One of them, for internal variable j of a term at point k whose m variables begin at `first`."""
    for c in range(line.shape[0]):
        line[c] = 0.0
    at = row[R_PHI] + (k - row[R_FIRST]) * row[R_N]
    for c in range(6):
        for i in range(row[R_RANGE + c], row[R_RANGE + c + 1]):
            value = laws.phi[at + i]
            line[row[R_V] + i] = value * space.by_strain[j, c]
            line[nv + row[R_V] + i] = value * space.by_strain[j, 6 + c]
            line[2 * nv + row[R_V] + i] = laws.weight[k] * value * space.by_past[c, j]
    for i in range(m):
        line[3 * nv + first + i] = space.by_self[j, i]
    for a in range(row[R_ACTIVE], row[R_ACTIVE] + row[R_ACTIVES]):
        o = laws.active[a, 1] + 6 * (k - row[R_FIRST])
        for c in range(6):
            line[3 * nv + nz + laws.active[a, 0]] -= space.by_strain[j, c] * laws.shape[o + c]


@unit(Laws, tasks=(GENERALISED, TANGENT, ENERGY, INPUTS, MEMORY), space=LawSpace)
def rod_laws(task, t, work, laws, space, q, v, u, out):
    """Rods with laws of their own, and active strains."""
    if task == GENERALISED:
        add_forces(laws, space, work, q, v, u, out[0], VALUES, True)
    elif task == TANGENT:
        add_tangent(laws, space, work, q, v, u, work.message[MESSAGE_CQ], work.message[MESSAGE_CV], out)
    elif task == ENERGY:
        energy, size = stored(laws, space, work, q, u)
        work.message[MESSAGE_ENERGY] += energy
        work.message[MESSAGE_SIZE] += size
    elif task == INPUTS:
        add_columns(laws, space, work, q, v, u, out)
    elif task == MEMORY:
        memory_rows(laws, space, work, q, v, u, out)


unpack_laws, unpack_law_space = unpacker(Laws), unpacker(LawSpace)


@kernel("i1 f1 f1 n n f1 f1 f1 f1 f3")
def law_forces(ints, floats, buffer, own, spare, q, v, u, force, tangents):
    """What rods with laws have by themselves: generalised forces (nv,), added, and if it is not empty their derivatives by q and v (2, nv, nv), added.

    Returns the energy. The workspace says what they remember.
    """
    work = unpack_work(ints, buffer)
    laws, space = unpack_laws(ints, floats, own), unpack_law_space(ints, buffer, spare)
    add_forces(laws, space, work, q, v, u, force, VALUES, True)
    if tangents.shape[0] > 0:
        add_tangent(laws, space, work, q, v, u, 1.0, 0.0, tangents[0])
        add_tangent(laws, space, work, q, v, u, 0.0, 1.0, tangents[1])
    energy, _size = stored(laws, space, work, q, u)
    return energy


@kernel("i1 f1 f1 n f2 f2")
def point_stress(ints, floats, buffer, spare, strain, out):
    """Stress (m, 6) at rest of a rod alone, whose tables come first, at its points with the strain ξ − ξ* (m, 6), and the energy there, out (m, 7).

    What laws that remember add is left out.
    """
    laws, space = unpack_laws(ints, floats, 0), unpack_law_space(ints, buffer, spare)
    row = laws.rod[0]
    n = row[R_END] - row[R_FIRST]
    for k in range(n):
        for c in range(7):
            out[k, c] = 0.0
    for i in range(row[R_TERM], row[R_TERM] + row[R_TERMS]):
        term = laws.term[i]
        if term[T_MEMORIES] > 0:
            continue
        if term[T_KIND] == USER:
            for k in range(n):
                for c in range(6):
                    space.call[12 * k + c] = strain[k, c]
                    space.call[12 * k + 6 + c] = 0.0
            space.call[12 * n] = 0.0
        for want in (VALUES, ENERGIES):
            if term[T_KIND] == USER:
                ask_user(laws, space, row, term, want)
            for k in range(n):
                clear_point(space)
                for c in range(6):
                    space.point[0, c] = strain[k, c]
                    space.point[1, c] = 0.0
                if term[T_KIND] == USER:
                    energy = user_term(space, row, term, k + row[R_FIRST], want)
                else:
                    at = term[T_VALUE] + k * term[T_WIDTH]
                    p, e, s = laws.value[at : at + term[T_WIDTH]], space.point[0], space.point[2]
                    energy = plain_term(
                        term[T_KIND], p, term[T_FIRST], term[T_COUNT], term[T_CHOICE], e, s, space.matrix, want
                    )
                if want == VALUES:
                    for c in range(6):
                        out[k, c] += space.point[2, c]
                else:
                    out[k, 6] += energy
