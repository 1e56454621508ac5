"""The rod with soromox: the same strains as pliant's, integrated by Diffrax; its gradient by `jax.grad`, many by `jax.vmap`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax

jax.config.update("jax_enable_x64", True)

import diffrax
import jax.numpy as jnp
import numpy as np
import shared as s
from soromox import systems
from soromox.systems.components import JointSpec, LinkSpec
from soromox.systems.gvs import GVS, GVSSegment, StrainBasisSpec

SOLVERS = {"tsit5": diffrax.Tsit5, "kvaerno3": diffrax.Kvaerno3, "kvaerno5": diffrax.Kvaerno5}
TIMES = np.linspace(0, s.DURATION, s.SAMPLES)


def robot(space: bool, full: bool, order: int, linear: int, points: int) -> Any:
    """The rod: bending of one order, stretch and shear of another, Legendre functions."""
    chosen = {"kappa_y": order}
    if full:
        chosen |= {"sigma_x": linear, "sigma_z": linear}
    if space:
        chosen |= {"kappa_x": order, "kappa_z": order} | ({"sigma_y": linear} if full else {})
    names = ("kappa_x", "kappa_y", "kappa_z", "sigma_x", "sigma_y", "sigma_z")
    basis = StrainBasisSpec(
        type="legendre", strain_selector=[int(n in chosen) for n in names], basis_order=[chosen.get(n, 0) for n in names]
    )
    link = LinkSpec.circular(
        length=s.LENGTH,
        density=s.DENSITY,
        radius=s.RADIUS,
        young_modulus=s.YOUNG,
        shear_modulus=s.SHEAR_MODULUS,
        material_damping_coefficient=s.VISCOSITY,
        reference_strain=[0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    )
    segment = GVSSegment(link=link, joint=JointSpec(type="fixed"), basis=basis, num_gauss_points=points)
    return GVS.from_segments(
        [segment], gravity=jnp.array([0.0, 0.0, -s.GRAVITY]), base_pose=jnp.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    )


if __name__ == "__main__":
    s.serve({})
