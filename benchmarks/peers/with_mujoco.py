"""The rod as a chain of rigid pieces, and the rigid chains, with MuJoCo; many at once with its `rollout`.

The rod is cut into n cells; in the middle of each is a joint that carries the strain of its cell: a hinge (in space a ball) of
stiffness EI/l, and for all strains also slides of stiffness EA/l and GA/l. Dampings are the same times the relaxation time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import shared as s
from mujoco import rollout as batch

EI, EA, GA = s.YOUNG * s.SECOND, s.YOUNG * s.AREA, s.SHEAR_MODULUS * s.AREA
TAU = s.RELAXATION


def joints(space: bool, full: bool, cell: float) -> str:
    """The joints of one cell."""

    def joint(kind: str, stiffness: float, axis: str = "0 0 1") -> str:
        return f'<joint type="{kind}" axis="{axis}" stiffness="{stiffness / cell!r}" damping="{TAU * stiffness / cell!r}"/>'

    found = ""
    if full:
        found += joint("slide", EA, "1 0 0") + joint("slide", GA, "0 0 1")
        found += joint("slide", GA, "0 1 0") if space else ""
    return found + (joint("ball", EI) if space else joint("hinge", EI, "0 1 0"))


def rod_model(space: bool, full: bool, n: int, step: float, integrator: str) -> Any:
    """The chain; pieces are as long as a cell, the first (clamped) and the last half as long."""
    cell = s.LENGTH / n
    body, close = "", ""
    for k in range(n):
        length = cell if k < n - 1 else cell / 2
        mass = s.DENSITY * s.AREA * length
        across = mass * (s.RADIUS**2 / 4 + length**2 / 12)
        body += f'<body pos="{cell / 2 if k == 0 else cell!r} 0 0">' + joints(space, full, cell)
        body += f'<inertial pos="{length / 2!r} 0 0" mass="{mass!r}" diaginertia="{mass * s.RADIUS**2 / 2!r} {across!r} {across!r}"/>'
        close += "</body>"
    body += f'<site name="tip" pos="{cell / 2!r} 0 0"/>'
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step!r}" gravity="0 0 {-s.GRAVITY}" integrator="{integrator}"><flag contact="disable" '
        f'constraint="disable"/></option><worldbody>{body}{close}</worldbody></mujoco>'
    )


def rod(space: bool, full: bool, n: int, steps: int, integrator: str = "implicitfast") -> Callable[[], Any]:
    """n cells, `steps` constant steps."""
    model = rod_model(space, full, n, s.DURATION / steps, integrator)
    data = mujoco.MjData(model)
    every = steps // (s.SAMPLES - 1)
    if every * (s.SAMPLES - 1) != steps:
        raise ValueError("steps must be a multiple of the samples")

    def run() -> dict[str, Any]:
        mujoco.mj_resetData(model, data)
        mujoco.mj_kinematics(model, data)
        tip = [data.site_xpos[0].tolist()]
        for _ in range(s.SAMPLES - 1):
            mujoco.mj_step(model, data, every)
            mujoco.mj_kinematics(model, data)
            tip.append(data.site_xpos[0].tolist())
        if not np.isfinite(tip).all() or np.abs(tip).max() > 2 * s.LENGTH:
            raise RuntimeError("unstable")
        return {"tip": tip}

    return run


def many(
    space: bool, full: bool, n: int, steps: int, count: int, integrator: str = "implicitfast"
) -> Callable[[], Any]:
    """`count` rods at once, each from its own start, over the whole motion; all cores."""
    model = rod_model(space, full, n, s.DURATION / steps, integrator)
    threads = os.cpu_count() or 1
    data = [mujoco.MjData(model) for _ in range(threads)]
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start = np.zeros((count, size))
    mujoco.mj_getState(model, data[0], first := np.zeros(size), mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start[:] = first
    start[:, -model.nv :] += 1e-3 * np.random.default_rng(0).normal(size=(count, model.nv))
    pool = batch.Rollout(nthread=threads)

    def run() -> None:
        pool.rollout([model] * count, data, start, nstep=steps)

    return run


def chain_model(n: int) -> Any:
    """The rigid chain."""
    body = ""
    for k in range(n):
        axis = ("0 0 1", "0 1 0", "1 0 0")[k % 3]
        body += f'<body pos="{s.CHAIN_OFFSET[0]} {s.CHAIN_OFFSET[1]} {s.CHAIN_OFFSET[2]}"><joint type="hinge" axis="{axis}"/>'
        body += f'<inertial pos="{s.CHAIN_COM[0]} 0 0" mass="{s.CHAIN_MASS}" diaginertia="{" ".join(map(str, s.CHAIN_INERTIA))}"/>'
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="0 0 {-s.GRAVITY}"><flag contact="disable" constraint="disable"/></option>'
        f"<worldbody>{body}{'</body>' * n}</worldbody></mujoco>"
    )


def chain(n: int, what: str) -> Callable[[], Any]:
    """Inverse ("ID") or forward ("FD") dynamics of the chain, a call from Python."""
    model = chain_model(n)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:] = s.chain_state(n)
    if what == "ID":

        def inverse() -> dict[str, Any]:
            mujoco.mj_inverse(model, data)
            return {"value": data.qfrc_inverse.tolist()} if n <= 10 else {}

        return inverse

    def forward() -> dict[str, Any]:
        mujoco.mj_forward(model, data)
        return {"value": data.qacc.tolist()} if n <= 10 else {}

    return forward


if __name__ == "__main__":
    s.serve({"rod": rod, "many": many, "chain": chain})
