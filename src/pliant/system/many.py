"""Many items of one robot, or of robots that differ in numbers only, in one call of the engine; see `kernels.solve.many`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine, slots
from ..kernels.packing import pack, view_of
from ..kernels.solve.many import MANY_DEFINITE, MANY_REPORTS, MANY_STATUS, Many
from ..kernels.solve.newton import CONVERGED
from .core import Array, Core

__all__ = ["linear_many", "one_shape", "run_many", "slopes_many"]


def one_shape(systems: Sequence[Core]) -> bool:
    """Whether the tables of some systems differ in numbers only, so that they can be items of one call."""
    first = systems[0]._model.packed
    return all(
        other is systems[0]
        or (
            len(other._model.packed.floats) == len(first.floats)
            and np.array_equal(other._model.packed.ints, first.ints)
        )
        for other in systems
    )


def run_many(
    job: np.int64,
    systems: Sequence[Core],
    q: Array,
    *,
    u: Array,
    v: Array | None = None,
    a: Array | None = None,
    tau: Array | None = None,
    energy: Array | None = None,
    options: Array | None = None,
    width: int = 0,
) -> Many:
    """Do a job on items.

    Parameters
    ----------
    job : MANY_… of `kernels.engine`
    systems : sequence of System
        One, or one for each item, of `one_shape`.
    q : array (m, nq)
    u, v, tau : array (1 or m, …), optional
        Rows of inputs, velocities and further generalised forces, one for all or one for each; zero if left out.
    a : array (m, nv), optional
        Accelerations of prescribed coordinates; zero if left out.
    energy : array (1 or m,), optional
    options : array (PARAMETERS,), optional
    width : int
        Columns of `Many.out`.

    Returns
    -------
    Many
        With what was found.
    """
    system, m = systems[0], len(q)
    nv, nu = system.nv, system.nu
    zero = np.zeros((1, nv))
    many = Many(
        options=np.zeros(engine.PARAMETERS) if options is None else options,
        tables=np.stack([other._pool.floats for other in systems]),
        given=np.stack([other._pool.blank for other in systems]),
        q=q,
        v=zero if v is None else v,
        a=np.zeros((m, nv)) if a is None else a,
        u=u,
        tau=zero if tau is None else tau,
        energy=np.zeros(1) if energy is None else energy,
        report=np.zeros((m, MANY_REPORTS)),
        out=np.zeros((m, nv, width)),
        matrices=np.zeros((3, nv, nv)),
        columns=np.zeros((nu, nv)),
        vectors=np.zeros((3, nv)),
        inputs=np.zeros(nu),
    )
    plan, floats, none = pack([(many, False)])
    tree = many.options[slots.OPTION_TREE] != 0.0
    with system.borrow() as space:
        S = space.store if tree else np.zeros((2, nv, nv))
        engine.run(
            job, *space.packed, space.spare[0], system._zero, system._zero, system._no_input, system._zero, space.p, S, space.pivot, *space.spare, plan,
            floats,
        )  # fmt: skip
    system.raise_user_errors()
    found: Many = view_of(engine.Packed(plan, floats, none), Many, False, 0)
    return found


def slopes_many(
    systems: Sequence[Core], q: Array, u: Array, tau: Array | None = None
) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """dq/du (m, nv, nu) of equilibria without loops; whether each was found, and whether its stiffness is positive definite beyond doubt, (m,)."""
    found = run_many(engine.MANY_SLOPES, systems, q, u=u, tau=tau, width=systems[0].nu)
    report = found.report
    return found.out, report[:, MANY_STATUS] == CONVERGED, report[:, MANY_DEFINITE] == 1.0


def linear_many(
    systems: Sequence[Core],
    q: Array,
    v: Array,
    u: Array,
    tau: Array | None = None,
    prescribed: Array | None = None,
    *,
    by_forces: bool = False,
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Accelerations (m, nv) of robots without loops, their derivatives (m, nv, …) by q, v, u and perhaps tau, side by side, and whether each was found, (m,)."""
    system, options = systems[0], np.zeros(engine.PARAMETERS)
    options[slots.OPTION_TREE] = system._elimination.for_mass
    width = 2 * system.nv + system.nu + (system.nv if by_forces else 0)
    found = run_many(engine.MANY_LINEAR, systems, q, v=v, u=u, tau=tau, a=prescribed, options=options, width=width)
    return found.a, found.out, found.report[:, MANY_STATUS] == CONVERGED
