"""Robots with laws of all kinds, and derivatives of their forces and internal variables by complex step."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

import pliant as pl
from load_robots import branched, moved
from oracle import entry, finish, start
from pliant._jit import kernel
from pliant.compile.families.laws import LAWS
from pliant.kernels.groups import U_SPACE, U_TABLES, unpack_work
from pliant.kernels.loads.laws import memory_rows, unpack_law_space, unpack_laws


def with_laws(robot: pl.Robot, **laws: object) -> pl.Robot:
    """The robot with laws of its rods by name."""
    for k, link in enumerate(robot.links):
        if link.name in laws:
            robot.links[k] = replace(link, content=replace(link.content, law=laws[link.name]))
    return robot


def lawful(seed: int = 1, base: str = "free") -> pl.Robot:
    """The branched robot with a different law in each rod, and active strains."""
    robot = with_laws(
        branched(seed, base=base),
        arm=(pl.Yeoh(c2=3e4, c3=2e3), pl.Prony(g=(0.4, 0.2), tau=(0.02, 0.3)), pl.BoucWen(bending=(0.3, 1.0), torsion=(0.1, 2.0), exponent=2, beta=0.7)),
        twig=(pl.Plastic(bending=1e-2, torsion=5e-3, hardening=0.1), pl.Springpot(exponent=0.3, time=0.01, band=(0.1, 10.0), branches=3)),
        hand=(pl.Polynomial(torsion=0.1, bending=(0.2, 0.1, 0.05)), pl.PrandtlIshlinskii(bending=[(0.2, 0.3), (0.1, 1.0)]), pl.BoucWen(torsion=(0.01, 0.5))),
    )  # fmt: skip
    robot.add_active_strain("curl", "arm", lambda X: (0.3, 1.0 - X, 0.2, 0.05 * X, 0.01, 0.0))
    robot.add_active_strain("twist", "hand", (0.7, 0.1, 0, 0, 0, 0))
    return robot


def memory_of(system: pl.System, seed: int = 0, size: float = 0.2) -> np.ndarray:
    """Random internal variables that are not negative where they say how far something went."""
    return np.abs(np.random.default_rng(seed).normal(size=system.nz)) * size


class Complex(NamedTuple):
    force: np.ndarray  # (nv,) residual without constant stiffness and damping
    now: np.ndarray  # (nz,)


def complex_laws(system: pl.System, q, v, a, u, memory, lag) -> Complex:
    """Inverse dynamics with the forces of all loads, and internal variables, for complex arguments."""
    q, v, a, u, memory = (np.ascontiguousarray(x, dtype=complex) for x in (q, v, a, u, memory))
    out, r = np.zeros((2, system.nv), complex)
    t, work = system._model.tables, system.make_work(complex)
    work.memory[:], work.lag[0] = memory, lag
    start(t, work, q, v, a)
    for family in system.families:
        tables = system._model.loads[family.name]
        if family.apply is not None and family.present(tables):
            entry(family.apply)(t, work, tables, family.space(tables, system.nv, complex), q, v, u, r)
    finish(t, work, out)
    return Complex(out + r, work.kept.copy())


def complex_columns(system: pl.System, q, v, a, u, memory, lag) -> dict[str, Complex]:
    """Derivatives of `complex_laws` by q, v, u and memory: columns."""
    h = 1e-40
    changes = {
        "q": (system.nv, lambda d: (moved(system, q, d), v, a, u, memory)),
        "v": (system.nv, lambda d: (q, v + d, a, u, memory)),
        "a": (system.nv, lambda d: (q, v, a + d, u, memory)),
        "u": (system.nu, lambda d: (q, v, a, u + d, memory)),
        "z": (system.nz, lambda d: (q, v, a, u, memory + d)),
    }
    out = {}
    for name, (n, change) in changes.items():
        found = []
        for k in range(n):
            d = np.zeros(n, complex)
            d[k] = 1j * h
            found.append(complex_laws(system, *change(d), lag))
        force = np.array([x.force.imag / h for x in found]).reshape(n, system.nv).T
        now = np.array([x.now.imag / h for x in found]).reshape(n, system.nz).T
        out[name] = Complex(force, now)
    return out


@kernel
def ask_memory(ints, floats, buffer, own, spare, q, v, u, out):
    """The task MEMORY of laws."""
    laws, space = unpack_laws(ints, floats, own), unpack_law_space(ints, buffer, spare)
    memory_rows(laws, space, unpack_work(ints, buffer), q, v, u, out)


def task_memory(system: pl.System, q, v, u, memory, lag) -> np.ndarray:
    """Rows (nz, 3 nv + nz + nu) of the task MEMORY."""
    own = system._model.positions[LAWS.name]
    rows = system._assembly.loading.units.row
    spare = int(rows[rows[:, U_TABLES] == own][0, U_SPACE])
    out = np.full((system.nz, 3 * system.nv + system.nz + system.nu), np.nan)
    with system.borrow() as space:
        space.work.memory[:], space.work.lag[0] = memory, lag
        ask_memory(*space.packed, own, spare, q, v, u, out)
    return out
