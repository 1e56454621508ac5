"""The rod with PyElastica: position Verlet with constant steps.

It has no damping of deformation, so one is added here as forces and couples: its own stiffness times the relaxation time times the rates of
the strains, applied as its internal stresses are. Its sections shrink when they are stretched, which those of the other programs do not;
that is the difference which remains when it is refined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import elastica as ea
import numba
import numpy as np
import shared as s

TAU = s.RELAXATION


class Rod(ea.BaseSystemCollection, ea.Constraints, ea.Forcing, ea.CallBacks):
    """A collection with one rod."""


@numba.njit(cache=True, fastmath=True)  # type: ignore[misc]
def damp(x, v, Q, w, kappa, S, B, lengths, voronoi, force, torque):  # type: ignore[no-untyped-def]
    """Add the forces and couples of the strain rates (σ̇ = QΔv/l − ω × QΔx/l, κ̇ = ∂ω/∂s + κ × ω), all in directors' frames."""
    stretch, rate, n = np.empty(3), np.empty(3), np.empty(3)
    for k in range(Q.shape[2]):
        for i in range(3):
            stretch[i] = rate[i] = 0.0
            for j in range(3):
                stretch[i] += Q[i, j, k] * (x[j, k + 1] - x[j, k]) / lengths[k]
                rate[i] += Q[i, j, k] * (v[j, k + 1] - v[j, k]) / lengths[k]
        size = np.sqrt(stretch[0] ** 2 + stretch[1] ** 2 + stretch[2] ** 2)
        for i in range(3):
            a, b = (i + 1) % 3, (i + 2) % 3
            n[i] = TAU * S[i, i, k] * (rate[i] - w[a, k] * stretch[b] + w[b, k] * stretch[a])
        for i in range(3):
            a, b = (i + 1) % 3, (i + 2) % 3
            torque[i, k] += (stretch[a] * n[b] - stretch[b] * n[a]) * lengths[k] / size
            world = (Q[0, i, k] * n[0] + Q[1, i, k] * n[1] + Q[2, i, k] * n[2]) / size
            force[i, k] += world
            force[i, k + 1] -= world
    for k in range(kappa.shape[1]):
        for i in range(3):
            a, b = (i + 1) % 3, (i + 2) % 3
            mean_a, mean_b = 0.5 * (w[a, k] + w[a, k + 1]), 0.5 * (w[b, k] + w[b, k + 1])
            n[i] = (
                TAU * B[i, i, k] * ((w[i, k + 1] - w[i, k]) / voronoi[k] + kappa[a, k] * mean_b - kappa[b, k] * mean_a)
            )
        for i in range(3):
            a, b = (i + 1) % 3, (i + 2) % 3
            turn = 0.5 * voronoi[k] * (kappa[a, k] * n[b] - kappa[b, k] * n[a])
            torque[i, k] += n[i] + turn
            torque[i, k + 1] += turn - n[i]


class Viscosity(ea.NoForces):  # type: ignore[misc]
    """Kelvin–Voigt damping of all strains."""

    def __init__(self, **_: Any) -> None:
        super().__init__()

    def apply_forces(self, system: Any, time: Any = 0.0) -> None:
        damp(
            system.position_collection,
            system.velocity_collection,
            system.director_collection,
            system.omega_collection,
            system.kappa,
            system.shear_matrix,
            system.bend_matrix,
            system.rest_lengths,
            system.rest_voronoi_lengths,
            system.external_forces,
            system.external_torques,
        )


def rod(space: bool, full: bool, n: int, steps: int) -> Callable[[], Any]:
    """n elements, `steps` steps; always spatial and with all strains.

    A fixed director holds the whole first element, so that one begins half an element before the clamp; without this the error is of
    first order in the length of an element (15 % of the length of the rod with 20 of them).
    """
    cell = s.LENGTH / (n - 0.5)
    step = s.DURATION / steps
    every = steps // (s.SAMPLES - 1)

    def run() -> dict[str, Any]:
        simulator = Rod()
        start, along, normal = np.array([-cell / 2, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
        elastic = {"youngs_modulus": s.YOUNG, "shear_modulus": s.SHEAR_MODULUS}
        body = ea.CosseratRod.straight_rod(n, start, along, normal, s.LENGTH + cell / 2, s.RADIUS, s.DENSITY, **elastic)
        body.shear_matrix[0, 0] = body.shear_matrix[1, 1] = s.SHEAR_MODULUS * s.AREA  # without its factor 4/3
        simulator.append(body)
        simulator.constrain(body).using(ea.OneEndFixedBC, constrained_position_idx=(0,), constrained_director_idx=(0,))
        simulator.add_forcing_to(body).using(ea.GravityForces, acc_gravity=np.array([0.0, 0.0, -s.GRAVITY]))
        simulator.add_forcing_to(body).using(Viscosity)
        simulator.finalize()
        stepper, time = ea.PositionVerlet(), 0.0
        tip = [body.position_collection[:, -1].tolist()]
        for _ in range(s.SAMPLES - 1):
            for _ in range(every):
                time = stepper.step(simulator, time, step)
            tip.append(body.position_collection[:, -1].tolist())
            if not np.isfinite(tip[-1]).all():
                raise RuntimeError("unstable")
        return {"tip": tip}

    return run


if __name__ == "__main__":
    s.serve({"rod": rod})
