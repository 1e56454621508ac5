"""The gradient of yᵀr with respect to every real number of the tables, and for which of them it is known.

A design parameter p changes the packed tables F(p); with the gradient of yᵀr by F, which one sweep gives for all numbers at
once, its derivative is ``gradient · dF/dp``, and dF/dp are differences of the assembly (`System.with_parameters`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels import engine, slots
from ..kernels.groups import POSITION
from ..kernels.layout import D_MASS, Tables
from ..kernels.packing import Packed, view_of
from .core import Array, Core, Inputs
from .workspace import AS_DESCRIBED, Given

__all__ = ["covered", "steps_known", "table_gradient"]

_WEIGHED = (
    "bearings",
    "contact",
    "loops",
    "magnets",
    "tendons",
    "water",
)  # families with units whose forces do not depend on gravity, or that say how


def table_gradient(
    system: Core,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    u: Inputs,
    y: ArrayLike,
    *,
    given: Given = AS_DESCRIBED,
    values: Array | None = None,
) -> Array:
    """∂(yᵀr)/∂F for all packed real tables F, in their order; entries that are not `covered` mean nothing.

    Parameters
    ----------
    system : System
    q, v, a : arrays (nq,), (nv,), (nv,)
        Coordinates, velocity, acceleration.
    u : inputs or None
    y : array (nv,)
        Weights of the residual.
    given : Given
        What acts beside the inputs; the derivative by gravity is that by gravity times its factor.
    values : array (tendons + loop rows,), optional
        Weights of lengths of tendons and of values of loops: the derivatives of their sum are added.
    """
    gradient = np.zeros_like(system._pool.floats)
    state = system.check_q(q), system.check_v("v", v), system.check_v("a", a), system.inputs(u)
    space, p = system.workspace(), np.zeros(engine.PARAMETERS)
    if values is not None:
        p[slots.OPTION_ROWS] = 1.0
        space.work.owed[:, 0], space.work.owed[:, 1] = values, 0.0
    system.run_job(
        engine.TABLES, *state, acceleration=system.check_v("y", y), tape=gradient, p=p, space=space, given=given
    )  # fmt: skip
    return gradient


def covered(system: Core) -> NDArray[np.bool_]:
    """For which of the packed real tables `table_gradient` is the derivative; also true of numbers that change nothing.

    Not covered are numbers of families that are units, but for those that they say (`Family.swept`), gravity if such a family may depend on
    it, and everything that moves steps if one of them couples steps in a way that is not known, or has no exact tangent.
    """
    model, loading = system._model, system._assembly.loading
    known = np.ones(len(model.packed.floats), dtype=bool)
    packed: Any = Packed(model.packed.ints, known, model.packed.buffer)
    for family in loading.working:
        tables = loading.tables[family.name]
        view = view_of(packed, type(tables), False, model.positions[family.name])
        for array in view:
            if array.dtype == bool:
                array[...] = False
        for name, index in family.swept(tables).items():
            getattr(view, name)[index] = True
    t = view_of(packed, Tables, False, POSITION[Tables])
    t.gravity[:] = all(family.name in _WEIGHED for family in loading.working)
    if not steps_known(system):
        t.place[:] = t.phi[:] = t.colloc[:] = False
        t.data[:, :D_MASS] = False
    return known


def steps_known(system: Core) -> bool:
    """Whether the sweep knows what all loads owe to the motion of steps, and so the products (∂r/∂q)ᵀy and (∂r/∂v)ᵀy."""
    loading = system._assembly.loading
    return not any(
        family.name == "user"
        or (family.couples(loading.tables[family.name]) and not family.swept(loading.tables[family.name]))
        for family in loading.working
    )
