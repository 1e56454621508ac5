"""The magnetic field of a robot's sources at points: what `System.magnetic_field` answers with."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..model.loads import FIELD
from ..model.magnetics import Coil, circle_field, dipole_field
from ..model.validate import reals
from . import kinematics
from .core import Array, Core, Inputs

__all__ = ["magnetic_field"]


def magnetic_field(system: Core, points: ArrayLike, q: ArrayLike | None, u: Inputs) -> Array:
    """See `System.magnetic_field`."""
    x = reals("points", points, hint="Give points (n, 3) in m.")
    if x.ndim != 2 or x.shape[1] != 3:
        raise ValueError(f"points has shape {x.shape}, but shape (n, 3) is needed: points in world axes, in m.")
    state = system.neutral() if q is None else system.check_q(q)
    value = dict(zip(system.input_names, system.inputs(u).tolist()))
    B = np.zeros_like(x) + np.array([value.get(axis, 0.0) for axis in FIELD])
    for name, source in system.robot.sources.items():
        place = kinematics.pose(system, source.frame, state)
        if isinstance(source, Coil):
            for ring, turns in source.circles():
                own = place @ ring.matrix
                at = (x - own[:3, 3]) @ own[:3, :3]
                B += value[name] * turns * circle_field(source.radius, at) @ own[:3, :3].T
        else:
            strength = 1.0 if source.constant else value[name]
            B += dipole_field(strength * place[:3, :3] @ source.moment, x - place[:3, 3])
    return B
