"""The rod with soromox: the same strains as pliant's, integrated by Diffrax; its gradient by `jax.grad`, many by `jax.vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import shared as s
from soromox.systems.components import JointSpec, LinkSpec
from soromox.systems.gvs import GVS, GVSSegment, StrainBasisSpec
from soromox.systems.system_state import SystemState

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
        type="legendre",
        strain_selector=[int(n in chosen) for n in names],
        basis_order=[chosen.get(n, 0) for n in names],
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


def motion_of(rod: Any, solver: str, rtol: float, times: Any, end: float) -> Callable[[Any], Any]:
    """States over time as a function of the state at the start."""
    control = diffrax.PIDController(rtol=rtol, atol=rtol / 10)

    def states(y: Any) -> Any:
        start = SystemState(t=jnp.array(0.0), y=y)
        how = {"solver": SOLVERS[solver](), "stepsize_controller": control, "max_steps": 1 << 17, "solver_dt": 1e-3}
        return rod.rollout_to(start, t1=end, save_ts=times, **how).y

    return states


def rod(
    space: bool, full: bool, order: int, linear: int = 0, points: int = 8, solver: str = "kvaerno3", rtol: float = 1e-2
) -> Callable[[], Any]:
    """The motion with error control (`atol` is a tenth of `rtol`)."""
    body = robot(space, full, order, linear, points)
    states = motion_of(body, solver, rtol, jnp.asarray(TIMES), s.DURATION)

    @jax.jit
    def tips(y: Any) -> Any:
        q = states(y)[:, : body.num_coordinates]
        return jax.vmap(lambda x: body.forward_kinematics(x, jnp.array(s.LENGTH)))(q)[:, :3, 3]

    y = jnp.zeros(body.state_size)
    return lambda: {"tip": np.asarray(tips(y)).tolist()}


def gradient(
    space: bool, order: int, points: int = 8, solver: str = "kvaerno3", rtol: float = 1e-3, with_gradient: bool = True
) -> Callable[[], Any]:
    """A rollout of 1 s in bending, the squared distance of its end from a point, and its gradient by the start."""
    body = robot(space, False, order, 0, points)
    states = motion_of(body, solver, rtol, jnp.array([1.0]), 1.0)
    target, zero = jnp.array(s.TARGET), jnp.zeros(body.state_size)

    def cost(q: Any) -> Any:
        end = states(zero.at[: body.num_coordinates].set(q))[-1, : body.num_coordinates]
        return jnp.sum((body.forward_kinematics(end, jnp.array(s.LENGTH))[:3, 3] - target) ** 2)

    function = jax.jit(jax.value_and_grad(cost) if with_gradient else cost)
    q = jnp.zeros(body.num_coordinates)

    def run() -> dict[str, Any]:
        if not with_gradient:
            return {"cost": float(function(q))}
        value, slope = function(q)
        return {"cost": float(value), "q": np.asarray(slope).tolist()}

    return run


def many(
    space: bool,
    full: bool,
    order: int,
    count: int,
    linear: int = 0,
    points: int = 8,
    solver: str = "kvaerno3",
    rtol: float = 1e-2,
    end: float = s.DURATION,
) -> Callable[[], Any]:
    """`count` rods at once by `jax.vmap`, each from its own start, for `end` seconds."""
    body = robot(space, full, order, linear, points)
    states = jax.jit(jax.vmap(motion_of(body, solver, rtol, jnp.array([end]), end)))
    y = np.zeros((count, body.state_size))
    y[:, : body.num_coordinates] = 1e-3 * np.random.default_rng(0).normal(size=(count, body.num_coordinates))

    def run() -> None:
        jax.block_until_ready(states(jnp.asarray(y)))

    return run


if __name__ == "__main__":
    s.serve({"rod": rod, "gradient": gradient, "many": many})
