"""Inverse dynamics with all loads as one entry for any number type: complex arguments give complex-step derivatives.

The independent route against which the analytical derivatives are tested; it calls the same forces as the engine.
"""

from pliant._jit import kernel
from pliant.kernels.groups import (
    unpack_contact,
    unpack_efforts,
    unpack_loops,
    unpack_tendons,
    unpack_water,
    unpack_wrenches,
)
from pliant.kernels.loads.cables import apply_segments, set_tensions
from pliant.kernels.loads.contact import apply_contact
from pliant.kernels.loads.efforts import add_efforts
from pliant.kernels.loads.loops import apply_loops
from pliant.kernels.loads.tendons import add_lines
from pliant.kernels.loads.water import apply_water
from pliant.kernels.loads.wrenches import apply_wrenches
from pliant.kernels.recursion.dynamics import backward, point_forces, scatter
from pliant.kernels.recursion.forward import forward


@kernel
def loaded_inverse_dynamics(t, work, ints, floats, q, v, a, u, out):
    """ID minus the forces of all loads besides those that the user wrote, shape (nv,)."""
    forward(t, q, v, a, work)
    point_forces(t, work)
    tendons = unpack_tendons(ints, floats)
    set_tensions(tendons, work, q, v, u)
    apply_segments(tendons, work)
    apply_wrenches(unpack_wrenches(ints, floats), work.state, u, work.share[0])
    apply_water(unpack_water(ints, floats), work.gravity, work.state)
    apply_contact(t, work, unpack_contact(ints, floats))
    apply_loops(unpack_loops(ints, floats), work.state, work.multiplier)
    backward(t, work, work.tau)
    scatter(t, work.tau, out)
    add_lines(tendons, work, q, out)
    add_efforts(unpack_efforts(ints, floats), q, v, u, out)
