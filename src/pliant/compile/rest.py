"""What follows from the neutral configuration: lengths of elastic tendons at rest, and which capsules are joined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine
from ..kernels.layout import Work
from ..kernels.loads.contact import Contact
from ..kernels.loads.tendons import T_LENGTH, V_REST, Tendons
from ..kernels.recursion.kinematics import step_poses

__all__ = ["set_rest"]

Array = NDArray[np.float64]


def set_rest(
    packed: engine.Packed, work: Work, tendons: Tendons, contact: Contact, names: Sequence[str], q: Array, nu: int
) -> None:
    """Complete the packed tables, of which `work`, `tendons` and `contact` are views; `q` is the neutral configuration.

    Elastic tendons without a rest length get the one that they have there. Capsules of rods that overlap there never touch:
    they are joined.
    """
    missing = np.isnan(tendons.value[:, V_REST])
    elastic = tendons.law[:, 1] == 1
    if np.any(missing & elastic) or len(tendons.segment):
        lengths, slopes = _tendon_lengths(packed, work, q, nu)
        tendons.value[missing, V_REST] = lengths[missing]
        good = np.all(np.isfinite(slopes), axis=1)
        if not np.all(good):
            raise ValueError(
                f"tendon {names[int(np.argmin(good))]!r}: two of its points on different links are at "
                "the same place in the neutral configuration, so the stretch between them has no direction. End the "
                "first stretch a little earlier, or leave a gap."
            )
    tendons.value[np.isnan(tendons.value[:, V_REST]), V_REST] = 0.0
    if len(contact.rods):
        _skip_joined(packed, work, contact, q)


def _tendon_lengths(packed: engine.Packed, work: Work, q: Array, nu: int) -> tuple[Array, Array]:
    """Lengths (n,) and their derivatives (n, nv)."""
    nv = len(work.zero)
    J = np.zeros((1, len(work.tension), nv))
    v, p, pivot = np.zeros(nv), np.zeros(engine.PARAMETERS), np.zeros(nv, dtype=np.int64)
    engine.run(engine.LENGTHS, *packed, q, v, v, v, np.zeros(nu), v, p, J, pivot, q, v, v, v)
    return work.tension[:, T_LENGTH].copy(), J[0]


def _skip_joined(packed: engine.Packed, work: Work, contact: Contact, q: Array) -> None:
    pose = np.empty((len(work.state), 12))
    step_poses(*packed, q, pose)
    own = pose[contact.point[:, 0]]
    R = own[:, :9].reshape(-1, 3, 3)
    centre = own[:, 9:] + np.einsum("kij,kj->ki", R, contact.ball[:, :3])
    reach = contact.ball[:, 3]
    s = np.linspace(-1, 1, 9)
    line = centre[:, None] + s[:, None] * (R[:, :, 0] * contact.ball[:, 4:5])[:, None]
    for i in range(len(line)):
        gap = np.linalg.norm(line[i][None, :, None] - line[:, None], axis=-1).min(axis=(1, 2))
        contact.skip[i, gap < reach[i] + reach] = 1
