"""Inverse dynamics with all loads for any number type: complex arguments give complex-step derivatives.

The independent route against which the analytical derivatives are tested. Every family names the function of its forces for any
number type, `Family.apply`; loads that the user wrote have none.
"""

from functools import cache
from typing import Any

import numpy as np

import pliant as pl
from pliant._jit import kernel
from pliant.kernels.recursion.dynamics import backward, point_forces, scatter
from pliant.kernels.recursion.forward import forward


@kernel
def start(t, work, q, v, a):
    """Inertial wrenches of all steps."""
    forward(t, q, v, a, work)
    point_forces(t, work)


@kernel
def finish(t, work, out):
    """Generalised forces (nv,) of the wrenches."""
    backward(t, work, work.tau)
    scatter(t, work.tau, out)


@cache
def entry(apply: Any) -> Any:
    """The forces of a family as an entry from Python; its code is kept beside the family's kernel file."""

    def forces(t, work, tables, space, q, v, u, r):
        apply(t, work, tables, space, q, v, u, r)

    own = getattr(apply, "py_func", apply)
    forces.__name__ = forces.__qualname__ = f"oracle_{own.__name__}"  # cached code is linked by name
    return kernel(forces, own)


def loaded_inverse_dynamics(
    system: pl.System, q: np.ndarray, v: np.ndarray, a: np.ndarray, u: np.ndarray, multipliers: np.ndarray | None = None
) -> np.ndarray:
    """ID minus the forces of all loads, (nv,), complex; with forces of loop joints."""
    q, v, a, u = (np.ascontiguousarray(x, dtype=complex) for x in (q, v, a, u))
    out, r = np.zeros((2, system.nv), complex)
    t, work = system._model.tables, system.make_work(complex)
    work.multiplier[:] = 0.0 if multipliers is None else multipliers
    start(t, work, q, v, a)
    for family in system.families:
        tables = system._model.loads[family.name]
        if family.apply is not None and family.present(tables):
            entry(family.apply)(t, work, tables, family.space(tables, system.nv, complex), q, v, u, r)
    finish(t, work, out)
    return out + r
