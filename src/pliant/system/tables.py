"""The gradient of yᵀr with respect to every real number of the tables, and for which of them it is known.

A design parameter p changes the packed tables F(p); with the gradient of yᵀr by F, which one sweep gives for all numbers at
once, its derivative is ``gradient · dF/dp``, and dF/dp are differences of the assembly (`System.with_parameters`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compile.family import Family
from ..kernels import engine
from ..kernels.groups import POSITION
from ..kernels.layout import D_MASS, Tables
from ..kernels.loads.tendons import V_FRICTION
from ..kernels.packing import Packed, view_of
from .core import Array, Core, Inputs
from .workspace import AS_DESCRIBED, Given

__all__ = ["covered", "products_known", "table_gradient"]

_WEIGHTLESS = ("contact", "loops", "tendons")  # families with units whose forces do not depend on gravity


def table_gradient(
    system: Core,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    u: Inputs,
    y: ArrayLike,
    *,
    given: Given = AS_DESCRIBED,
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
    """
    gradient = np.zeros_like(system._pool.floats)
    state = system.check_q(q), system.check_v("v", v), system.check_v("a", a), system.inputs(u)
    system.run_job(engine.TABLES, *state, acceleration=system.check_v("y", y), tape=gradient, given=given)
    return gradient


def covered(system: Core) -> NDArray[np.bool_]:
    """For which of the packed real tables `table_gradient` is the derivative; also true of numbers that change nothing.

    Not covered are numbers of families that are units (contact, fluid, loops, user loads; tendons if one rubs), gravity if such a
    family may depend on it, and everything that moves steps if one of them couples steps, or has no exact tangent.
    """
    model, loading = system._model, system._assembly.loading
    known = np.ones(len(model.packed.floats), dtype=bool)
    packed: Any = Packed(model.packed.ints, known, model.packed.buffer)
    unknown = [family for family in loading.working if not _is_known(family, loading.tables[family.name])]
    for family in unknown:
        for array in view_of(packed, type(loading.tables[family.name]), False, model.positions[family.name]):
            if array.dtype == bool:
                array[...] = False
    t = view_of(packed, Tables, False, POSITION[Tables])
    t.gravity[:] = all(family.name in _WEIGHTLESS for family in unknown)
    if any(family.name == "user" or family.couples(loading.tables[family.name]) for family in unknown):
        t.place[:] = t.phi[:] = t.colloc[:] = False
        t.data[:, :D_MASS] = False
    return known


def products_known(system: Core) -> bool:
    """Whether the sweep's products (∂r/∂q)ᵀy and (∂r/∂v)ᵀy are complete: no load couples steps in a way that it does not know."""
    model = system._model
    mask: Any = covered(system)
    packed = Packed(model.packed.ints, mask, model.packed.buffer)
    return bool(np.all(view_of(packed, Tables, False, POSITION[Tables]).place))


def _is_known(family: Family, tables: Any) -> bool:
    """Whether the sweep knows a family that is a unit: tendons without friction."""
    return family.name == "tendons" and not np.any(tables.value[:, V_FRICTION])
