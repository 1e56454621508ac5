"""The kernels as plain Python (NUMBA_DISABLE_JIT=1) give what the compiled ones give."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.system.tables import table_gradient
from robots import SILICONE, random_inertia, random_pose


def small_robot() -> pl.Robot:
    """A spherical joint with a spring, a rod with two kinds of basis, a branch inside it, a hinge and a free body."""
    rng = np.random.default_rng(0)
    robot = pl.Robot("small", gravity=(1.0, -2.0, -9.0))
    ball = pl.Spherical(stiffness=(1.0, 2.0, 3.0), rest=(0.3, 0.1, -0.2), damping=0.1)
    base = robot.add_body("base", joint=ball, offset=random_pose(rng), inertia=random_inertia(rng))
    rod = robot.add_rod(
        "rod",
        parent=base,
        length=0.4,
        section=pl.Circle((0.03, 0.02)),
        material=SILICONE,
        strains=pl.Strains(torsion=pl.PiecewiseConstant(2), bending_y=1, stretch=0),
        reference_strain=lambda X: [0.3, 1 + X, -0.5, 1.0, 0.0, 0.0],
        offset=random_pose(rng),
        points=2,
    )
    robot.add_body(
        "hand", parent=rod, joint=pl.Revolute((1, 2, 3)), offset=random_pose(rng), inertia=random_inertia(rng)
    )
    robot.add_body("fin", parent=rod.at(0.4), offset=random_pose(rng), inertia=random_inertia(rng))
    robot.add_body("float", joint=pl.Free(stiffness=2.0), inertia=random_inertia(rng))
    robot.add_frame("eye", "fin", offset=random_pose(rng))
    return robot


def compute() -> dict[str, np.ndarray]:
    system = small_robot().compile()
    rng = np.random.default_rng(1)
    q = system.random(rng)
    v, a, tau = rng.normal(size=(3, system.nv))
    d = system.inverse_dynamics_derivatives(q, v, a)
    out = {
        "q": q,
        "inverse_dynamics": system.inverse_dynamics(q, v, a),
        "dq": d.dq,
        "dv": d.dv,
        "mass": d.mass,
        "tangent": system.tangent(q, v, a, 3.0, 7.0),
        "mass_matrix": system.mass_matrix(q),
        "forward_dynamics": system.forward_dynamics(q, v, tau),
        "many linear": pl.batch(system, threads=1).linearize([q, system.neutral()], v)["A"],
        "many static": pl.batch(system, threads=1).statics(start=[system.neutral()] * 2)["q"],
        "elastic": system.elastic_forces(q),
        "elastic_tangent": system.elastic_tangent(q),
        "energies": [system.kinetic_energy(q, v), system.gravitational_energy(q), system.elastic_energy(q)],
        "momentum": np.concatenate(system.momentum(q, v)),
        "rod_poses": system.rod_poses("rod", q, 5),
        "rod_twists": system.rod_twists("rod", q, v, 5),
        "integrate": system.integrate(q, v),
        "difference": system.difference(q, system.integrate(q, v)),
        "exp": pl.lie.exp(v[:6]),
        "log": pl.lie.log(system.pose("hand", q)),
        "tangent_rate": pl.lie.tangent_rate(v[:6], a[:6]),
    }
    for frame in ("hand", "rod.tip", "eye", "float"):
        out[f"pose {frame}"] = system.pose(frame, q)
        for reference in ("body", "world"):
            out[f"jacobian {frame} {reference}"] = system.jacobian(frame, q, reference=reference)
            out[f"rate {frame} {reference}"] = system.jacobian_rate(frame, q, v, reference=reference)
            out[f"acceleration {frame} {reference}"] = system.acceleration(frame, q, v, a, reference=reference)
    projected = pl.projected_matrices(system, q, v)
    out["projected"] = np.array([projected.mass, projected.coriolis, projected.c1, projected.c2])
    out["coriolis"] = pl.coriolis_matrix(system, q, v)
    add_loads(out)
    return {name: np.asarray(value, dtype=float) for name, value in out.items()}


def loaded_robot() -> pl.Robot:
    """The small robot under every family of loads."""
    robot = small_robot()
    hand, rod = robot.link("hand"), robot.link("rod")
    robot.add_tendon("cable", ["world", rod, hand.at((0.1, 0, 0))], friction=0.2, slip_speed=0.1)
    robot.add_tendon("spring", ["float", hand], control="elastic", stiffness=20.0, damping=1.0, rest_length=0.1)
    robot.set_fluid(density=1000.0, current=(0.1, 0.2, 0.3))
    robot.add_hydrodynamics(rod, pl.Hydrodynamics.circular(tail=True))
    robot.add_obstacle("ball", pl.Sphere(1.0), parent="float")
    robot.add_contact("touch", rod, "ball", stiffness=100.0, friction=0.3, damping=0.1)
    robot.add_contact("itself", rod, rod, stiffness=100.0, friction=0.3)
    robot.add_loop("pin", hand.at((0, 0.1, 0)), "float", joint=pl.Helical("x", pitch=0.1))
    robot.add_wrench("push", "eye", force=(1, 2, 3))
    robot.add_motor("motor", hand, control="position", kp=1.0)
    robot.add_active_strain("muscle", rod, (1, 2, 0, 0.1, 0, 0))
    return robot


def lawful_robot() -> pl.Robot:
    """The small robot with laws that remember."""
    robot = small_robot()
    laws = (
        pl.Yeoh(c2=1e4, c3=1e3),
        pl.Prony(0.3, 0.1),
        pl.BoucWen(bending=(0.1, 0.5)),
        pl.PrandtlIshlinskii(torsion=[(0.1, 0.1)]),
    )
    robot.links[1] = replace(robot.links[1], content=replace(robot.links[1].content, law=laws))
    robot.add_active_strain("muscle", "rod", (1, 2, 0, 0.1, 0, 0))
    return robot


def add_loads(out: dict[str, np.ndarray]) -> None:
    """A residual and a tangent under every family of loads: out of its bounds, an index is an error here."""
    system = loaded_robot().compile()
    rng = np.random.default_rng(2)
    q = system.random(rng)
    v, a = rng.normal(size=(2, system.nv))
    u = rng.uniform(size=system.nu)
    forces = rng.normal(size=len(system.loop_rows))
    out["loaded residual"] = system.residual(q, v, a, u, multipliers=forces)
    out["loaded tangent"] = system.residual_tangent(q, v, a, u, weights=(0.7, 1.3, 2.1), multipliers=forces)
    out["table gradient"] = table_gradient(system, q, v, a, u, v)
    out["inputs"] = system.actuation_matrix(q, v, u)
    composite = pl.composite_matrices(system, q, v)
    out["composite"] = np.array([composite.mass, composite.c1, composite.c2, composite.drag])
    out["weight"] = np.column_stack([composite.gravity, composite.flow])
    found = system.contacts(q, v, within=0.5)
    assert {"touch", "itself"} == set(found.name)
    out["contacts"] = np.column_stack([found.gap, found.point, found.normal, found.force])
    out["lengths"] = np.vstack([system.tendon_lengths(q)[1], system.closure(q, v)[1]])
    system = lawful_robot().compile()
    rng = np.random.default_rng(3)
    q = system.random(rng)
    v, a = rng.normal(size=(2, system.nv))
    out["laws residual"] = system.residual(q, v, a, [0.3])
    out["laws tangent"] = system.residual_tangent(q, v, a, [0.3], weights=(0.7, 1.3, 2.1))
    out["laws inputs"] = system.actuation_matrix(q, v, [0.3])
    out["laws energy"] = [system.elastic_energy(q, [0.3])]


def save(path: str) -> None:
    """Entry point of the other process."""
    from pliant.kernels.algebra import exponential

    assert not hasattr(exponential.lie_arrays, "signatures"), "compiled after all"
    np.savez(path, **compute())


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="this process is interpreted itself")
def test_interpreted_kernels_agree_with_compiled_ones(tmp_path):
    path = tmp_path / "interpreted.npz"
    tests = str(Path(__file__).parent)
    code = f"import sys; sys.path.insert(0, {tests!r}); import test_interpreted as t; t.save({str(path)!r})"
    source = str(Path(pl.__file__).parents[1])
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": source}
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", code],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    interpreted = dict(np.load(path))
    compiled = compute()
    assert interpreted.keys() == compiled.keys()
    np.testing.assert_array_equal(interpreted["q"], compiled["q"])
    for name, value in compiled.items():
        scale = 1.0 + np.abs(value).max()
        np.testing.assert_allclose(interpreted[name], value, rtol=0, atol=1e-12 * scale, err_msg=name)
