"""Rigid loops against Pinocchio's constrained dynamics: accelerations, their derivatives, and the forces of the loops."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from pliant.solve.closure import consistent_velocity, null_space
from pliant.system.forces import drift
from robots import random_pose

pin = pytest.importorskip("pinocchio")
twins_of = pytest.importorskip("test_pinocchio")

KINDS = ["revolute", "prismatic", "universal", "cylindrical"]


def closed(seed: int, joint: pl.Joint, kinds: list[str]) -> tuple:
    """A random tree whose last body meets an earlier one at a random state, in both programs."""
    twins = twins_of.random_tree(seed + 20, 9, kinds, branching=0.0)
    q, v, _a = twins.state(seed)
    here = random_pose(np.random.default_rng(seed), 0.1)
    first, last = 0, len(twins.links) - 1
    meeting = twins.system.pose(twins.links[last], q) @ here.matrix
    there = np.linalg.inv(twins.system.pose(twins.links[first], q)) @ meeting
    there = pl.Pose(rotation=there[:3, :3], translation=there[:3, 3])
    robot = twins.system.robot
    robot.add_loop("loop", robot.link(f"body{first}").at(there), robot.link(f"body{last}").at(here), joint=joint)
    system = robot.compile()
    kind = pin.ContactType.CONTACT_3D if isinstance(joint, pl.Spherical) else pin.ContactType.CONTACT_6D
    model = twins.model
    ends = []
    for k, pose in ((first, there), (last, here)):
        frame = model.frames[twins.frames[k]]
        ends += [frame.parentJoint, frame.placement * twins_of.se3(pose)]
    loop = pin.RigidConstraintModel(kind, model, *ends, pin.LOCAL)
    return twins, system, q, consistent_velocity(system, q, v), loop


@pytest.mark.parametrize("joint", [pl.Spherical(), pl.Fixed()], ids=["spherical", "fixed"])
@pytest.mark.parametrize("seed", range(6))
def test_accelerations_forces_and_derivatives(seed, joint):
    twins, system, q, v, loop = closed(seed, joint, KINDS if seed % 2 else [*KINDS, "spherical"])
    assert np.abs(system.closure(q)[0]).max() < 1e-12
    assert not pl.redundant_constraints(system, q)
    model, data = twins.model, twins.data
    tau = np.random.default_rng(seed).normal(size=system.nv)
    d = system.forward_dynamics_derivatives(q, v, tau)
    loops, loop_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    loops.append(loop)
    loop_data.append(loop.createData())
    pin.initConstraintDynamics(model, data, loops, loop_data)
    settings = pin.ProximalSettings(1e-14, 1e-14, 0.0, 1)
    state = twins.pin_q(q), twins.pin_v(v), twins.pin_v(tau)
    theirs = pin.constraintDynamics(model, data, *state, loops, loop_data, settings)
    scale = np.abs(theirs).max()
    np.testing.assert_allclose(twins.pin_v(d.a), theirs, atol=1e-9 * scale)
    # what the tree feels of the loop
    ours = twins.pin_v(system.closure(q)[1].T @ d.multipliers)
    free = pin.aba(model, model.createData(), *state)
    np.testing.assert_allclose(
        ours, twins.pin_matrix(system.mass_matrix(q)) @ (theirs - free), atol=1e-9 * np.abs(ours).max()
    )
    if isinstance(joint, pl.Fixed):
        pin.computeConstraintDynamicsDerivatives(model, data, loops, loop_data, settings)
        for exact, other in ((d.dq, data.ddq_dq), (d.dv, data.ddq_dv), (d.dtau, data.ddq_dtau)):
            np.testing.assert_allclose(twins.pin_matrix(exact), other, atol=1e-9 * np.abs(other).max())
    # A point's constraint is written in other axes, which shows off the loop only: changes (δq, δv) with δe = 0 and δė = 0, against
    # differences of Pinocchio's accelerations (its own ∂a/∂q for points is not their derivative).
    G, none = system.closure(q)[1], np.zeros(system.nv)
    of_rate = drift(system, q, v, none, (1.0, 0.0), (1.0, 0.0)) - drift(system, q, v, none, (1.0, 0.0), (0.0, 0.0))
    Z = null_space(G)
    x = Z @ np.random.default_rng(seed).normal(size=Z.shape[1])
    y = -np.linalg.pinv(G) @ of_rate @ x

    def moved(h: float) -> np.ndarray:
        there = pin.integrate(model, state[0], h * twins.pin_v(x)), state[1] + h * twins.pin_v(y)
        return pin.constraintDynamics(model, data, *there, state[2], loops, loop_data, settings).copy()

    h = 1e-3
    numeric = (8 * (moved(h) - moved(-h)) - moved(2 * h) + moved(-2 * h)) / (12 * h)
    np.testing.assert_allclose(twins.pin_v(d.dq @ x + d.dv @ y), numeric, atol=1e-7 * np.abs(numeric).max())
