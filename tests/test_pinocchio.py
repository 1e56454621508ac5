"""Rigid trees against Pinocchio: kinematics, dynamics, derivatives, energy and momentum.

Pinocchio orders twists [linear; angular] and a free joint's coordinates (position, quaternion x y z w); pliant orders
them [angular; linear] and (quaternion w x y z, position). The trees are given to pliant in the order of creation and to
Pinocchio depth first, so the coordinates are permuted as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import pliant as pl
from robots import random_inertia, random_pose

pin = pytest.importorskip("pinocchio")

RTOL = 1e-10
FLIP = [3, 4, 5, 0, 1, 2]
JOINTS = {
    "fixed": lambda rng: pl.Fixed(),
    "revolute": lambda rng: pl.Revolute(rng.normal(size=3)),
    "prismatic": lambda rng: pl.Prismatic(rng.normal(size=3)),
    "helical": lambda rng: pl.Helical(rng.normal(size=3), pitch=0.4),
    "universal": lambda rng: pl.Universal("x", rng.normal(size=3)),
    "cylindrical": lambda rng: pl.Cylindrical(rng.normal(size=3)),
    "planar": lambda rng: pl.Planar(rng.normal(size=3)),
    "spherical": lambda rng: pl.Spherical(),
    "free": lambda rng: pl.Free(),
}


@dataclass(frozen=True)
class Part:
    """One rigid link of a tree; `parent` is the number of an earlier one, `attach` a pose on it."""

    parent: int | None
    joint: pl.Joint
    inertia: pl.Inertia
    attach: pl.Pose
    offset: pl.Pose
    offset_after: pl.Pose


def se3(pose: pl.Pose):
    return pin.SE3(np.array(pose.rotation), np.array(pose.translation))


def screw_joint(screw: np.ndarray):
    axis, linear = screw[:3], screw[3:]
    if not linear.any():
        return pin.JointModelRevoluteUnaligned(axis)
    if not axis.any():
        return pin.JointModelPrismaticUnaligned(linear)
    return pin.JointModelHelicalUnaligned(axis, float(linear @ axis))


class Twins:
    """The same tree in pliant and in Pinocchio."""

    def __init__(self, parts: list[Part], gravity: np.ndarray) -> None:
        robot = pl.Robot("tree", gravity=gravity)
        self.links: list[pl.Link] = []
        for k, part in enumerate(parts):
            self.links.append(
                robot.add_body(
                    f"body{k}",
                    parent=None if part.parent is None else self.links[part.parent].at(part.attach),
                    joint=part.joint,
                    offset=part.offset,
                    offset_after=part.offset_after,
                    inertia=part.inertia,
                )
            )
        self.system = robot.compile()
        self.model = pin.Model()
        self.model.gravity.linear = gravity
        self.order_q: list[int] = []  # q_pin = q[order_q]
        self.order_v: list[int] = []
        self.frames: dict[int, int] = {}
        self.parts = parts
        for k, part in enumerate(parts):
            if part.parent is None:
                self._emit(k, 0, pl.Pose())
        self.data = self.model.createData()
        assert (self.model.nq, self.model.nv) == (self.system.nq, self.system.nv)
        assert sorted(self.order_q) == list(range(self.system.nq))
        assert sorted(self.order_v) == list(range(self.system.nv))

    def _emit(self, k: int, joint: int, placement: pl.Pose) -> None:
        """Add part k, `placement` from Pinocchio's joint, and what it carries."""
        part = self.parts[k]
        placement = placement @ part.offset
        q0, v0 = self.system.q_slice(f"body{k}").start, self.system.v_slice(f"body{k}").start
        if part.joint.kind == "screws":
            for i, screw in enumerate(part.joint.screws):
                joint = self.model.addJoint(joint, screw_joint(screw), se3(placement), f"joint{k}.{i}")
                self.order_q.append(q0 + i)
                self.order_v.append(v0 + i)
                placement = pl.Pose()
        elif part.joint.kind != "fixed":
            free = part.joint.kind == "free"
            kind = pin.JointModelFreeFlyer() if free else pin.JointModelSpherical()
            joint = self.model.addJoint(joint, kind, se3(placement), f"joint{k}")
            self.order_q += [q0 + i for i in ([4, 5, 6, 1, 2, 3, 0] if free else [1, 2, 3, 0])]
            self.order_v += [v0 + i for i in (FLIP if free else range(3))]
            placement = pl.Pose()
        placement = placement @ part.offset_after
        inertia = pin.Inertia(part.inertia.mass, np.array(part.inertia.com), np.array(part.inertia.inertia))
        if joint:
            self.model.appendBodyToJoint(joint, inertia, se3(placement))
        self.frames[k] = self.model.addFrame(pin.Frame(f"body{k}", joint, 0, se3(placement), pin.FrameType.OP_FRAME))
        for i, child in enumerate(self.parts):
            if child.parent == k:
                self._emit(i, joint, placement @ child.attach)

    def state(self, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rng = np.random.default_rng([seed, 1])
        return self.system.random(rng), rng.normal(size=self.system.nv), rng.normal(size=self.system.nv)

    def pin_q(self, q: np.ndarray) -> np.ndarray:
        return q[self.order_q]

    def pin_v(self, v: np.ndarray) -> np.ndarray:
        """A vector of velocities or of forces."""
        return v[self.order_v]

    def pin_matrix(self, A: np.ndarray) -> np.ndarray:
        return A[np.ix_(self.order_v, self.order_v)]

    def pin_columns(self, J: np.ndarray) -> np.ndarray:
        return J[np.ix_(FLIP, self.order_v)]


def random_tree(seed: int, size: int, kinds: list[str], branching: float = 0.5) -> Twins:
    rng = np.random.default_rng(seed)
    parts: list[Part] = []
    for k in range(size):
        parent = None
        if k and rng.random() < 0.95:
            parent = int(rng.integers(k)) if rng.random() < branching else k - 1
        kind = kinds[int(rng.integers(len(kinds)))] if k else next(x for x in kinds if x != "fixed")
        poses = [random_pose(rng) for _ in range(3)]
        parts.append(Part(parent, JOINTS[kind](rng), random_inertia(rng), *poses))
    return Twins(parts, rng.normal(size=3) * 5)


def chain(size: int) -> Twins:
    """Revolute joints in a row, total length about 4 m."""
    rng = np.random.default_rng(size)
    parts = []
    for k in range(size):
        inertia = random_inertia(rng)
        parts.append(
            Part(
                k - 1 if k else None,
                pl.Revolute(rng.normal(size=3)),
                inertia,
                pl.translate(4.0 / size, 0, 0),
                pl.rotate(rng.normal(size=3), 0.1),
                random_pose(rng, 0.1 / size),
            )
        )
    return Twins(parts, np.array([0.3, -0.4, -9.81]))


CASES = {
    **{kind: lambda kind=kind: random_tree(7, 4, [kind]) for kind in JOINTS if kind != "fixed"},
    "two revolute": lambda: random_tree(3, 2, ["revolute"]),
    "floating base": lambda: random_tree(11, 9, ["free", "revolute", "prismatic", "fixed"], branching=1.0),
    **{f"tree {seed}": lambda seed=seed: random_tree(seed, 12, list(JOINTS)) for seed in range(8)},
    "chain 10": lambda: chain(10),
    "chain 50": lambda: chain(50),
    "chain 200": lambda: chain(200),
}


@cache
def load(name: str) -> Twins:
    return CASES[name]()


@pytest.fixture(params=list(CASES))
def twins(request) -> Twins:
    return load(request.param)


def assert_close(actual, expected, rtol=RTOL, *, scale=0.0):
    """Equal relative to the largest entry, or to `scale` if that is larger."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=0, atol=rtol * max(np.abs(expected).max(), scale))


def test_placements(twins):
    q, _, _ = twins.state()
    pin.framesForwardKinematics(twins.model, twins.data, twins.pin_q(q))
    for k, link in enumerate(twins.links):
        assert_close(twins.system.pose(link, q), twins.data.oMf[twins.frames[k]].homogeneous)


def test_velocities_and_accelerations(twins):
    q, v, a = twins.state()
    model, data = twins.model, twins.data
    pin.forwardKinematics(model, data, twins.pin_q(q), twins.pin_v(v), twins.pin_v(a))
    pin.updateFramePlacements(model, data)
    for k, link in enumerate(twins.links):
        if not model.frames[twins.frames[k]].parentJoint:
            continue  # welded to the world
        for reference, theirs in (("body", pin.LOCAL), ("world", pin.LOCAL_WORLD_ALIGNED)):
            V = pin.getFrameVelocity(model, data, twins.frames[k], theirs).vector
            assert_close(twins.system.twist(link, q, v, reference=reference)[FLIP], V)
        A = pin.getFrameAcceleration(model, data, twins.frames[k], pin.LOCAL).vector
        assert_close(twins.system.acceleration(link, q, v, a)[FLIP], A)
        A = pin.getFrameClassicalAcceleration(model, data, twins.frames[k], pin.LOCAL_WORLD_ALIGNED).vector
        assert_close(twins.system.acceleration(link, q, v, a, reference="world")[FLIP], A)


def test_jacobians(twins):
    q, v, _ = twins.state()
    model, data = twins.model, twins.data
    pin.computeJointJacobians(model, data, twins.pin_q(q))
    pin.computeJointJacobiansTimeVariation(model, data, twins.pin_q(q), twins.pin_v(v))
    pin.updateFramePlacements(model, data)
    count = len(twins.links)
    for k in range(0, count, max(1, count // 12)):
        frame = twins.frames[k]
        if not model.frames[frame].parentJoint:
            continue
        for reference, theirs in (("body", pin.LOCAL), ("world", pin.LOCAL_WORLD_ALIGNED)):
            J = twins.system.jacobian(twins.links[k], q, reference=reference)
            assert_close(twins.pin_columns(J), pin.getFrameJacobian(model, data, frame, theirs))
            rate = twins.system.jacobian_rate(twins.links[k], q, v, reference=reference)
            expected = pin.getFrameJacobianTimeVariation(model, data, frame, theirs)
            # the rate is zero if nothing but one joint moves the frame
            assert_close(twins.pin_columns(rate), expected, scale=np.abs(J).max() * np.abs(v).max())


def test_inverse_dynamics(twins):
    q, v, a = twins.state()
    tau = pin.rnea(twins.model, twins.data, twins.pin_q(q), twins.pin_v(v), twins.pin_v(a))
    assert_close(twins.pin_v(twins.system.inverse_dynamics(q, v, a)), tau)
    bias = pin.nonLinearEffects(twins.model, twins.data, twins.pin_q(q), twins.pin_v(v))
    assert_close(twins.pin_v(twins.system.bias_forces(q, v)), bias)
    gravity = pin.computeGeneralizedGravity(twins.model, twins.data, twins.pin_q(q))
    assert_close(twins.pin_v(twins.system.gravity_forces(q)), gravity)


def test_joint_wrenches(twins):
    """What comes through a joint, about the world's origin."""
    q, v, a = twins.state()
    model, data, system = twins.model, twins.data, twins.system
    pin.forwardKinematics(model, data, twins.pin_q(q))
    pin.rnea(model, data, twins.pin_q(q), twins.pin_v(v), twins.pin_v(a))
    found, expected = [], []
    every = range(0, len(twins.links), max(1, len(twins.links) // 12))
    for k in every:
        first = next((n for n in (f"joint{k}", f"joint{k}.0") if model.existJointName(n)), None)
        if first is None:
            continue  # fixed
        joint = model.getJointId(first)
        expected.append(data.oMi[joint].act(data.f[joint]).vector[FLIP])
        W = system.joint_wrench(twins.links[k], q, v, a, axes="world")
        p = system.pose(twins.links[k].at(twins.parts[k].offset_after.inverse()), q)[:3, 3]
        found.append(np.concatenate([W[:3] + np.cross(p, W[3:]), W[3:]]))
    assert_close(found, expected)


def upper(A: np.ndarray) -> np.ndarray:
    """A symmetric matrix of which Pinocchio fills the upper triangle."""
    return np.triu(A) + np.triu(A, 1).T


def test_mass_matrix(twins):
    q, _, _ = twins.state()
    M = upper(pin.crba(twins.model, twins.data, twins.pin_q(q)))
    assert_close(twins.pin_matrix(twins.system.mass_matrix(q)), M)


def test_inverse_dynamics_derivatives(twins):
    q, v, a = twins.state()
    data = twins.data
    pin.computeRNEADerivatives(twins.model, data, twins.pin_q(q), twins.pin_v(v), twins.pin_v(a))
    d = twins.system.inverse_dynamics_derivatives(q, v, a)
    assert_close(twins.pin_v(d.tau), data.tau)
    assert_close(twins.pin_matrix(d.dq), data.dtau_dq)
    assert_close(twins.pin_matrix(d.dv), data.dtau_dv)
    assert_close(twins.pin_matrix(d.mass), upper(data.M))


def test_forward_dynamics(twins):
    q, v, _ = twins.state()
    tau = np.random.default_rng(5).normal(size=twins.system.nv)
    a = pin.aba(twins.model, twins.data, twins.pin_q(q), twins.pin_v(v), twins.pin_v(tau))
    assert_close(twins.pin_v(twins.system.forward_dynamics(q, v, tau)), a)


def test_forward_dynamics_derivatives(twins):
    q, v, _ = twins.state()
    tau = np.random.default_rng(6).normal(size=twins.system.nv)
    data = twins.data
    pin.computeABADerivatives(twins.model, data, twins.pin_q(q), twins.pin_v(v), twins.pin_v(tau))
    d = twins.system.forward_dynamics_derivatives(q, v, tau)
    assert_close(twins.pin_v(d.a), data.ddq)
    assert_close(twins.pin_matrix(d.dtau), upper(data.Minv))
    assert_close(twins.pin_matrix(d.dq), data.ddq_dq)
    assert_close(twins.pin_matrix(d.dv), data.ddq_dv)


def test_energy(twins):
    q, v, _ = twins.state()
    kinetic = pin.computeKineticEnergy(twins.model, twins.data, twins.pin_q(q), twins.pin_v(v))
    assert_close(twins.system.kinetic_energy(q, v), kinetic)
    potential = pin.computePotentialEnergy(twins.model, twins.data, twins.pin_q(q))
    assert_close(twins.system.gravitational_energy(q), potential)


def test_mass_centre_and_momentum(twins):
    q, v, _ = twins.state()
    model, data = twins.model, twins.data
    com = pin.centerOfMass(model, data, twins.pin_q(q))
    assert_close(twins.system.center_of_mass(q), com)
    assert_close(twins.system.mass, pin.computeTotalMass(model))
    h = pin.computeCentroidalMomentum(model, data, twins.pin_q(q), twins.pin_v(v))
    central = twins.system.momentum(q, v, about="com")
    assert_close(central.linear, h.linear)
    assert_close(central.angular, h.angular)
    total = twins.system.momentum(q, v)
    assert_close(total.linear, h.linear)
    assert_close(total.angular, h.angular + np.cross(com, h.linear))


def test_integrate_and_difference(twins):
    """Steps on the manifold are Pinocchio's, up to the sign of quaternions."""
    q, v, _ = twins.state()
    step = twins.system.integrate(q, 0.3 * v)
    theirs = pin.integrate(twins.model, twins.pin_q(q), 0.3 * twins.pin_v(v))
    assert_close(pin.difference(twins.model, twins.pin_q(step), theirs) + 1, np.ones(twins.system.nv), 1e-12)
    assert_close(
        twins.pin_v(twins.system.difference(q, step)), pin.difference(twins.model, twins.pin_q(q), theirs), 1e-12
    )
