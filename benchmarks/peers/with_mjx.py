"""The gradient of a rollout of the chain of hinges with MuJoCo XLA (MJX): `jax.grad` through its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import shared as s
from mujoco import mjx
from with_mujoco import rod_model


def model_of(n: int, steps: int) -> Any:
    """The chain of with_mujoco.py, bending in the plane."""
    return rod_model(False, False, n, 1.0 / steps, "implicitfast")


def gradient(n: int, steps: int, with_gradient: bool = True) -> Callable[[], Any]:
    """A rollout of 1 s, the squared distance of its end from a point, and its gradient by the start."""
    model = model_of(n, steps)
    put = mjx.put_model(model)
    begin = mjx.make_data(model)
    target = jnp.array(s.TARGET)

    def cost(q: Any) -> Any:
        def step(data: Any, _: Any) -> tuple[Any, None]:
            return mjx.step(put, data), None

        data, _ = jax.lax.scan(jax.checkpoint(step), begin.replace(qpos=q), None, length=steps)
        data = mjx.kinematics(put, data)
        return jnp.sum((data.site_xpos[0] - target) ** 2)

    function = jax.jit(jax.value_and_grad(cost) if with_gradient else cost)
    q = jnp.zeros(model.nq)

    def run() -> dict[str, Any]:
        if not with_gradient:
            return {"cost": float(function(q))}
        value, slope = function(q)
        return {"cost": float(value), "q": np.asarray(slope).tolist()}

    return run


if __name__ == "__main__":
    s.serve({"gradient": gradient})
