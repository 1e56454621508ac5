"""The compiled robot: an immutable `System` that answers questions about kinematics and dynamics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from . import lie
from .assembly import LinkInfo, anchor_of, assemble, block_integrals, internal_tables, step_values
from .elimination import plan_elimination
from .kernels import engine, internal, kinematics, layout, manifold
from .kernels.groups import CABLES
from .kernels.loops import ANGLE, HELIX
from .kernels.newton import CONVERGED
from .kernels.tendons import T_LENGTH, V_REST
from .kernels.water import W_CENTRE, W_MASS, W_POS, W_ROT
from .kernels.wrenches import DIPOLE, IN_WORLD, P_FORCE, P_INPUT, P_MOMENT
from .loading import Anchor
from .model.actuators import InternalStress
from .model.links import Frame, Link, Rod
from .model.robot import Robot
from .model.validate import choice, finite, integer, unknown_name
from .quadrature import Grid

__all__ = ["ForwardDerivatives", "InverseDerivatives", "Momentum", "System"]

Array = NDArray[np.float64]
FrameLike = str | Frame | Link
Reference = Literal["body", "world"]
Inputs = Mapping[str, float] | ArrayLike | None
Algorithm = Literal["auto", "composite", "articulated"]
LinearSolver = Literal["auto", "dense", "tree"]
_Probe = tuple[NDArray[np.int64], Array, Array]


class InverseDerivatives(NamedTuple):
    """Inverse dynamics and its exact derivatives, each matrix (nv, nv)."""

    tau: Array
    dq: Array
    dv: Array
    mass: Array


class ForwardDerivatives(NamedTuple):
    """Forward dynamics and its exact derivatives, each matrix (nv, nv)."""

    a: Array
    dq: Array
    dv: Array
    dtau: Array


class Momentum(NamedTuple):
    """Linear [kg m/s] and angular [kg m²/s] momentum in world axes."""

    linear: Array
    angular: Array


class System:
    """A robot ready for computation.

    Coordinates ``q`` (nq,) and velocities ``v`` (nv,) are stacked link by link in the order of adding: first those of
    the link's joint, then the strain coordinates of a rod, by strain and within it by basis function. Spherical and
    free joints hold a unit quaternion (w, x, y, z) [and a position] in q and their body twist [angular; linear] in v.
    Strain coordinates are physical strains: rad/m for torsion and bending, dimensionless for stretch and shear.

    Parameters
    ----------
    robot : Robot
        The description; later changes to it do not affect the system.

    Notes
    -----
    The equation of motion is ``ID(q, v, a) + elastic(q) + D v = tau`` with ``ID = M a + Coriolis − gravity``.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> system
    <System 'arm': nq=12, nv=12, 9 steps>
    >>> system.dof_names[4], system.input_names
    ('arm.bending_y[0]', ('cable',))
    """

    def __init__(self, robot: Robot) -> None:
        robot = robot.copy()
        assembly = assemble(robot)
        self._robot = robot
        self._assembly = assembly
        self.name = robot.name
        self.nq = assembly.nq
        self.nv = assembly.nv
        self.dof_names = assembly.dof_names
        self.input_names = assembly.input_names
        self.nu = len(assembly.input_names)
        inner = internal_tables(assembly)
        loading = assembly.loading
        self._elimination = plan_elimination(assembly.tables, inner, loading.tendons, loading.efforts)
        self.packed, views = engine.pack(
            [assembly.tables, inner, *loading.groups, self._elimination.fronts, self.make_work()]
        )
        self.tables, self.internal, *loads, self.fronts, self._work = views
        _units, self.tendons, self.efforts, self.wrenches, self.water, self.contact, self.user, self.loops = loads
        self._lower = assembly.loading.lower
        self.known = assembly.known
        self._zero = np.zeros(self.nv)
        self._no_input = np.zeros(self.nu)
        self.pivot = np.zeros(self.nv, dtype=np.int64)
        self._none = np.zeros((0, self.nv, self.nv))
        self._spare_q = np.zeros(self.nq)
        self._parameters = np.zeros(engine.PARAMETERS)
        self._probes: dict[tuple[str, bytes], _Probe] = {}
        self._set_rest()

    def make_work(self, dtype: type = np.float64) -> layout.Work:
        """A workspace of the kernels for this robot."""
        load = self._assembly.loading
        return layout.make_work(
            self._assembly.tables,
            dtype,
            tendons=len(load.tendons.law),
            tendon_points=len(load.tendons.point),
            wraps=len(load.tendons.wrap) + len(load.tendons.segment),
            contacts=len(load.contact.point),
            user=len(load.user.point),
            inputs=self.nu,
            loop_rows=len(load.loops.row),
        )

    def _set_rest(self) -> None:
        """What follows from the neutral configuration: lengths of elastic tendons, rods that touch because they are joined."""
        names = list(self._robot.tendons)
        missing = np.isnan(self.tendons.value[:, V_REST])
        elastic = self.tendons.law[:, 1] == 1
        if np.any(missing & elastic) or len(self.tendons.segment):
            lengths, slopes = self.tendon_lengths(self.neutral())
            self.tendons.value[missing, V_REST] = lengths[missing]
            good = np.all(np.isfinite(slopes), axis=1)
            if not np.all(good):
                raise ValueError(
                    f"tendon {names[int(np.argmin(good))]!r}: two of its points on different links are at "
                    "the same place in the neutral configuration, so the stretch between them has no direction. End the "
                    "first stretch a little earlier, or leave a gap."
                )
        self.tendons.value[np.isnan(self.tendons.value[:, V_REST]), V_REST] = 0.0
        if len(self.contact.rods):
            self._skip_joined()

    def _skip_joined(self) -> None:
        """Never let two capsules touch that overlap in the neutral configuration: they are joined there."""
        n = len(self.tables.step) + 1
        pose, twist, accel = np.empty((n, 12)), np.empty((n, 6)), np.empty((n, 6))
        kinematics.motion(self.tables, self._work, self.neutral(), self._zero, self._zero, pose, twist, accel)
        own = pose[self.contact.point[:, 0]]
        R = own[:, :9].reshape(-1, 3, 3)
        centre = own[:, 9:] + np.einsum("kij,kj->ki", R, self.contact.ball[:, :3])
        reach = self.contact.ball[:, 3]
        s = np.linspace(-1, 1, 9)
        line = centre[:, None] + s[:, None] * (R[:, :, 0] * self.contact.ball[:, 4:5])[:, None]
        for i in range(len(line)):
            gap = np.linalg.norm(line[i][None, :, None] - line[:, None], axis=-1).min(axis=(1, 2))
            self.contact.skip[i, gap < reach[i] + reach] = 1

    # ------------------------------------------------------------ description

    @property
    def robot(self) -> Robot:
        """A copy of the description that this system was compiled from."""
        return self._robot.copy()

    @property
    def links(self) -> tuple[str, ...]:
        """Names of the links, in the order of their coordinates."""
        return tuple(self._assembly.links)

    @property
    def frames(self) -> tuple[str, ...]:
        """Names that can be asked for poses and Jacobians."""
        return tuple(self._robot.frame_names())

    @property
    def gravity(self) -> Array:
        """Gravity in world axes [m/s²], shape (3,)."""
        return self.tables.gravity.copy()

    @property
    def mass(self) -> float:
        """Total mass of everything that can move [kg]."""
        return float(self._totals(self.neutral(), self._zero)[0])

    def q_slice(self, link: str | Link) -> slice:
        """Where a link's coordinates are in q (joint first, then strains).

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> cable = robot.add_tendon("cable", arm, z=0.012)
        >>> system = robot.compile()
        >>> system.q_slice("arm")
        slice(0, 12, None)
        """
        info = self._info(link)
        return slice(info.q0, info.q0 + info.link.nq)

    def v_slice(self, link: str | Link) -> slice:
        """Where a link's velocities are in v (joint first, then strains)."""
        info = self._info(link)
        return slice(info.v0, info.v0 + info.link.nv)

    def rod_length(self, rod: str | Link) -> float:
        """Length of a rod in the reference configuration [m]."""
        return self._rod(rod)[2].length

    def rod_points(self, rod: str | Link) -> Array:
        """Computational points X of a rod, in [0, 1]."""
        return self._rod(rod)[1].X.copy()

    def __str__(self) -> str:
        """The tree of links with their degrees of freedom."""
        return str(self._robot)

    def __repr__(self) -> str:
        """A one-line summary."""
        return f"<System {self.name!r}: nq={self.nq}, nv={self.nv}, {len(self.tables.step)} steps>"

    @property
    def prescribed(self) -> dict[str, tuple[Any, Any, str]]:
        """Where coordinates and velocities of prescribed joints are, and their kind, by the name of their motion.

        The kind is "numbers" for ordinary coordinates, "spherical" or "free".
        """
        out: dict[str, tuple[Any, Any, str]] = {}
        for name, motion in self._robot.motions.items():
            info = self._assembly.links[motion.link]
            joint = info.link.joint
            first, last = (0, joint.nv) if motion.dof is None else (motion.dof, motion.dof + 1)
            if joint.kind == "screws":
                out[name] = slice(info.q0 + first, info.q0 + last), slice(info.v0 + first, info.v0 + last), "numbers"
            else:
                out[name] = slice(info.q0, info.q0 + joint.nq), slice(info.v0, info.v0 + joint.nv), joint.kind
        return out

    @property
    def held_tendons(self) -> dict[str, int]:
        """Numbers of the tendons of prescribed length, by name."""
        return {name: k for k, (name, t) in enumerate(self._robot.tendons.items()) if t.control == "length"}

    @property
    def hold(self) -> Array:
        """Which tendons have a prescribed length in the next step, and that length, (tendons, 2); written by solvers."""
        return self._work.hold

    # ------------------------------------------------------------ configuration space

    def neutral(self) -> Array:
        """The reference configuration: rods undeformed, joints at zero or identity, shape (nq,)."""
        q = np.zeros(self.nq)
        for q0, _v0, _kind in self._assembly.spatial:
            q[q0] = 1.0
        return q

    def random(self, rng: np.random.Generator | int | None = None, *, scale: float = 1.0) -> Array:
        """A random configuration.

        Parameters
        ----------
        rng : numpy Generator or int, optional
            Generator or seed.
        scale : float
            Standard deviation of joint coordinates [rad, m]. Strain coordinates get `scale`/length for bending and
            torsion and 0.1 `scale` for stretch and shear; spherical joints are uniform on SO(3).
        """
        rng = np.random.default_rng(rng)
        q = rng.normal(size=self.nq) * scale
        for info in self._assembly.links.values():
            rod = info.link.content
            if isinstance(rod, Rod):
                angular = rod.strains.components < 3
                q[info.rod_q] *= np.where(angular, 1.0 / rod.length, 0.1)
        for q0, _v0, _kind in self._assembly.spatial:
            quaternion = rng.normal(size=4)
            q[q0 : q0 + 4] = quaternion / np.linalg.norm(quaternion)
        return q

    def integrate(self, q: ArrayLike, dv: ArrayLike) -> Array:
        """Move from q along a velocity times time dv (nv,): addition, or g·exp(dv) on spherical and free joints.

        Examples
        --------
        >>> import numpy as np
        >>> import pliant as pl
        >>> robot = pl.Robot("ball")
        >>> ball = robot.add_body("ball", joint=pl.Spherical(), shape=pl.Sphere(0.1), mass=1.0)
        >>> system = robot.compile()
        >>> print(system.integrate(system.neutral(), [0, 0, np.pi]).round(12) + 0.0)  # half a turn
        [0. 0. 0. 1.]
        """
        out = np.empty(self.nq)
        c = self.internal
        manifold.integrate_q(c.shift, c.spatial, self.check_q(q), self.check_v("dv", dv), out)
        return out

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """The dv (nv,) for which integrate(q0, dv) is q1."""
        out = np.empty(self.nv)
        c = self.internal
        start, end = _checked("q0", q0, self.nq, self.name), _checked("q1", q1, self.nq, self.name)
        manifold.difference(c.shift, c.spatial, start, end, out)
        return out

    # ------------------------------------------------------------ kinematics

    def pose(self, frame: FrameLike, q: ArrayLike) -> Array:
        """Pose of a frame in the world, 4×4.

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> cable = robot.add_tendon("cable", arm, z=0.012)
        >>> system = robot.compile()
        >>> q = system.neutral()
        >>> q[4] = -2.0  # constant bending about y [rad/m]: upwards
        >>> print(system.pose("arm.tip", q)[:3, 3].round(4))
        [0.3587 0.     0.1516]
        """
        return self._motion(self._anchor(frame), q, self._zero, self._zero)[0]

    def twist(self, frame: FrameLike, q: ArrayLike, v: ArrayLike, *, reference: Reference = "body") -> Array:
        """Twist of a frame, [angular; linear], shape (6,).

        `reference` "body": in the frame's own axes. "world": angular velocity and velocity of the frame's origin, in
        world axes.
        """
        choice("reference", reference, ("body", "world"))
        g, V, _A = self._motion(self._anchor(frame), q, self.check_v("v", v), self._zero)
        return _express(g, V, reference)

    def acceleration(
        self, frame: FrameLike, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, reference: Reference = "body"
    ) -> Array:
        """Acceleration of a frame (without gravity), [angular; linear], shape (6,).

        "body": the time derivative of the body twist. "world": angular acceleration and second derivative of the
        frame's position in world axes.
        """
        choice("reference", reference, ("body", "world"))
        g, V, A = self._motion(self._anchor(frame), q, self.check_v("v", v), self.check_v("a", a))
        if reference == "body":
            return _express(g, A, "body")
        out = _express(g, A, "world")
        out[3:] += np.cross(V[:3], _express(g, V, "world")[3:])
        return out

    def jacobian(self, frame: FrameLike, q: ArrayLike, *, reference: Reference = "body") -> Array:
        """Jacobian J (6, nv) of a frame: twist = J v, in the same `reference` as `twist`.

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> cable = robot.add_tendon("cable", arm, z=0.012)
        >>> system = robot.compile()
        >>> J = system.jacobian("arm.tip", system.neutral(), reference="world")
        >>> J.shape
        (6, 12)
        >>> print(J[5, 4].round(3))  # bending up by 1 rad/m lifts the tip by ½ L²
        -0.08
        """
        choice("reference", reference, ("body", "world"))
        anchor = self._anchor(frame)
        J = np.empty((6, self.nv))
        kinematics.jacobian(self.tables, self._work, self.check_q(q), anchor.step, J)
        return _express(self._relative_pose(anchor), J, reference)

    def jacobian_rate(self, frame: FrameLike, q: ArrayLike, v: ArrayLike, *, reference: Reference = "body") -> Array:
        """Time derivative of `jacobian` along v, (6, nv)."""
        choice("reference", reference, ("body", "world"))
        anchor = self._anchor(frame)
        J, R, _W, Y = self._frame_columns(anchor, q, v, self._zero)
        g = self._relative_pose(anchor)
        V = self._work.state[anchor.step, layout.VE : layout.VE + 6].copy()
        rate = Y - R
        if reference == "body":
            return _express(g, rate - lie.ad(V) @ J, "body")
        out = _express(g, rate, "world")
        out[3:] -= lie.skew(_express(g, V, "world")[3:]) @ J[:3]
        return out

    def rod_poses(self, rod: str | Link, q: ArrayLike, X: ArrayLike | int = 50) -> Array:
        """Poses along a rod, shape (m, 4, 4).

        Parameters
        ----------
        rod : str
            Name of the rod.
        q : array (nq,)
        X : int or array (m,)
            Number of equidistant points, or the points themselves in [0, 1].

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> cable = robot.add_tendon("cable", arm, z=0.012)
        >>> system = robot.compile()
        >>> system.rod_poses("arm", system.neutral(), 20).shape
        (20, 4, 4)
        >>> print(system.rod_poses("arm", system.neutral(), [0.0, 0.5, 1.0])[:, 0, 3])
        [0.  0.2 0.4]
        """
        return self._rod_motion(rod, X, q, self._zero, self._zero)[0]

    def rod_twists(self, rod: str | Link, q: ArrayLike, v: ArrayLike, X: ArrayLike | int = 50) -> Array:
        """Body twists along a rod, shape (m, 6)."""
        g, V, _A = self._rod_motion(rod, X, q, self.check_v("v", v), self._zero)
        return np.array([_express(gk, Vk, "body") for gk, Vk in zip(g - self._shift(), V)]).reshape(-1, 6)

    def strain(self, rod: str | Link, q: ArrayLike, X: ArrayLike | int = 50) -> Array:
        """Strain ξ(X) = ξ*(X) + Φ(X) q along a rod, shape (m, 6).

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> cable = robot.add_tendon("cable", arm, z=0.012)
        >>> system = robot.compile()
        >>> print(system.strain("arm", system.neutral(), [0.5]))
        [[0. 0. 0. 1. 0. 0.]]
        """
        info, _grid, content = self._rod(rod)
        points = _points(X)
        return content.reference(points) + content.strains.matrix(points) @ self.check_q(q)[info.rod_q]

    def stress(self, rod: str | Link, q: ArrayLike, X: ArrayLike | int = 50) -> Array:
        """Elastic internal wrench Σ(X)(ξ − ξ*) along a rod [N m, N], shape (m, 6)."""
        info, _grid, content = self._rod(rod)
        points = _points(X)
        deviation = content.strains.matrix(points) @ self.check_q(q)[info.rod_q]
        return np.einsum("mij,mj->mi", content.stiffness_at(points), deviation)

    # ------------------------------------------------------------ dynamics

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """ID(q, v, a) = M a + Coriolis − gravity, shape (nv,); elastic and damping forces are not included.

        Examples
        --------
        >>> import numpy as np
        >>> import pliant as pl
        >>> robot = pl.Robot("pendulum")
        >>> rod = robot.add_body(
        ...     "rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
        ... )
        >>> system = robot.compile()
        >>> print(system.inverse_dynamics([0.0], [0.0], [0.0]).round(4))  # holds it level
        [-0.7358]
        """
        out = np.empty(self.nv)
        self.run_job(engine.ID, self.check_q(q), self.check_v("v", v), self.check_v("a", a), force=out)
        return out

    def inverse_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> InverseDerivatives:
        """ID together with ∂ID/∂q, ∂ID/∂v and ∂ID/∂a = M.

        On spherical and free joints ∂/∂q is along ``integrate(q, δ)``.

        Examples
        --------
        >>> import numpy as np
        >>> import pliant as pl
        >>> robot = pl.Robot("pendulum")
        >>> rod = robot.add_body(
        ...     "rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
        ... )
        >>> system = robot.compile()
        >>> d = system.inverse_dynamics_derivatives([0.5], [0.0], [0.0])
        >>> print((d.dq[0, 0] / (0.3 * 9.81 * 0.25 * np.sin(0.5))).round(12))  # of −m g l cos q
        1.0
        """
        tau = np.empty(self.nv)
        out = np.zeros((3, self.nv, self.nv))
        self.run_job(engine.DERIVATIVES, self.check_q(q), self.check_v("v", v), self.check_v("a", a), force=tau, S=out)
        return InverseDerivatives(tau, out[0], out[1], out[2])

    def tangent(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, alpha: float, beta: float) -> Array:
        """Fused tangent ∂ID/∂q + α ∂ID/∂v + β M, one matrix (nv, nv) at a third of the cost of three."""
        out = np.zeros((1, self.nv, self.nv))
        p = np.zeros(engine.PARAMETERS)
        p[:3] = 1.0, alpha, beta
        self.run_job(engine.DERIVATIVES, self.check_q(q), self.check_v("v", v), self.check_v("a", a), p=p, S=out)
        return out[0]

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Mass matrix M(q) (nv, nv), by composite bodies.

        Examples
        --------
        >>> import numpy as np
        >>> import pliant as pl
        >>> robot = pl.Robot("pendulum")
        >>> rod = robot.add_body(
        ...     "rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
        ... )
        >>> system = robot.compile()
        >>> print(system.mass_matrix([0.0]).round(6))  # m (l² + h²)/12 + m (l/2)²
        [[0.02501]]
        """
        out = np.zeros((1, self.nv, self.nv))
        self.run_job(engine.MASS, self.check_q(q), S=out)
        return out[0]

    def bias_forces(self, q: ArrayLike, v: ArrayLike) -> Array:
        """ID(q, v, 0): Coriolis and gravity terms, shape (nv,)."""
        return self.inverse_dynamics(q, v, self._zero)

    def gravity_forces(self, q: ArrayLike) -> Array:
        """ID(q, 0, 0): what holds the robot against gravity, shape (nv,)."""
        return self.inverse_dynamics(q, self._zero, self._zero)

    def coriolis_forces(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Coriolis and centrifugal terms ID(q, v, 0) − ID(q, 0, 0), shape (nv,)."""
        return self.bias_forces(q, v) - self.gravity_forces(q)

    @property
    def stiffness_matrix(self) -> Array:
        """Constant stiffness K (nv, nv) of rods and scalar joints; other springs are in `elastic_tangent`."""
        return self._assembly.stiffness.copy()

    @property
    def damping_matrix(self) -> Array:
        """Constant damping D (nv, nv)."""
        return self._assembly.damping.copy()

    def elastic_forces(self, q: ArrayLike) -> Array:
        """Elastic forces (nv,), K (q − rest) for rods and scalar joints; on the left-hand side, like ID."""
        out = np.empty(self.nv)
        internal.elastic_forces(
            self.internal, self.check_q(q), out, np.empty(self.nv), self._work.spring, self._none[:, 0]
        )
        return out

    def elastic_tangent(self, q: ArrayLike) -> Array:
        """∂(elastic forces)/∂q (nv, nv); constant unless a spherical or free joint has a spring."""
        out = np.zeros((self.nv, self.nv))
        internal.elastic_forces(
            self.internal, self.check_q(q), np.empty(self.nv), np.empty(self.nv), self._work.spring, out
        )
        return out

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        u: Inputs = None,
        prescribed: ArrayLike | None = None,
        method: Algorithm = "auto",
    ) -> Array:
        """Acceleration a (nv,) with ``M a = tau + B(q) u − Coriolis + gravity − elastic(q) − D v``.

        Parameters
        ----------
        q, v, tau, u
            State, further generalised forces (nv,) and inputs.
        prescribed : array (nv,), optional
            Accelerations of prescribed coordinates (other entries do not matter); zero if left out.
        method : {"auto", "composite", "articulated"}
            "composite": form M by composite bodies and factor it, O(N³). "articulated": the articulated-body algorithm
            of [001], O(N). "auto" takes the faster one for this robot (see `linear_solver`).

        Examples
        --------
        >>> import numpy as np
        >>> import pliant as pl
        >>> robot = pl.Robot("pendulum")
        >>> rod = robot.add_body(
        ...     "rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
        ... )
        >>> system = robot.compile()
        >>> print(system.forward_dynamics([np.pi / 2], [0.0]).round(12) + 0.0)  # it hangs
        [0.]
        """
        given = None if prescribed is None else np.where(self.known, self.check_v("prescribed", prescribed), 0.0)
        q, v = self.check_q(q), self.check_v("v", v)
        forces = self._zero if tau is None else self.check_v("tau", tau)
        a, S = np.empty(self.nv), self.mass_storage(method)
        if self.run_job(engine.FORWARD, q, v, given, self.inputs(u), forces, S=S, acceleration=a) != CONVERGED:
            raise self._mass_error(self.mass_matrix(q))
        return a

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        u: Inputs = None,
        prescribed: ArrayLike | None = None,
    ) -> ForwardDerivatives:
        """Acceleration with ∂a/∂q, ∂a/∂v and ∂a/∂tau = M⁻¹; zero for prescribed coordinates."""
        q, v = self.check_q(q), self.check_v("v", v)
        a = self.forward_dynamics(q, v, tau, u=u, prescribed=prescribed)
        mass = self.mass_matrix(q)
        mass[self.known] = mass[:, self.known] = 0.0
        mass[self.known, self.known] = 1.0
        factor = self._factor(mass)
        stiffness = self.residual_tangent(q, v, a, u, tau)
        damping = self.residual_tangent(q, v, a, u, tau, weights=(0.0, 1.0, 0.0))
        unit = np.eye(self.nv)
        for matrix in (stiffness, damping, unit):
            matrix[self.known] = 0.0
        return ForwardDerivatives(
            a,
            -scipy.linalg.cho_solve(factor, stiffness, check_finite=False),
            -scipy.linalg.cho_solve(factor, damping, check_finite=False),
            scipy.linalg.cho_solve(factor, unit, check_finite=False),
        )

    def solve_mass(self, q: ArrayLike, b: ArrayLike) -> Array:
        """M(q)⁻¹ b for a vector (nv,) or a matrix (nv, k)."""
        b = np.asarray(b, dtype=float)
        if b.shape[:1] != (self.nv,):
            raise ValueError(f"b has shape {b.shape}, but {self.nv} rows are needed (nv of {self.name!r}).")
        return scipy.linalg.cho_solve(self._mass_factor(self.check_q(q)), b, check_finite=False)

    # ------------------------------------------------------------ inputs and the equation of motion

    def inputs(self, u: Inputs = None) -> Array:
        """Inputs as a vector (nu,) from a vector, a dictionary by name (the others are zero), or None.

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> cable = robot.add_tendon("cable", arm, z=0.012)
        >>> system = robot.compile()
        >>> system.inputs({"cable": 5})
        array([5.])
        >>> system.inputs({"cabel": 5})
        Traceback (most recent call last):
            ...
        KeyError: "there is no input named 'cabel'; did you mean 'cable'?"
        """
        if u is None:
            return np.zeros(self.nu)
        if isinstance(u, Mapping):
            out = np.zeros(self.nu)
            for name, value in u.items():
                if name not in self.input_names:
                    raise unknown_name("input", str(name), self.input_names)
                out[self.input_names.index(name)] = finite(f"input {name!r}", value)
            self._check_pull(out)
            return out
        array = np.ascontiguousarray(u, dtype=np.float64)
        if not np.all(np.isfinite(array)):
            raise ValueError(f"u = {array.tolist()} has an entry that is NaN or infinite.")
        if array.shape != (self.nu,):
            raise ValueError(
                f"u has shape {array.shape}, but ({self.nu},) is needed: {', '.join(self.input_names) or 'no inputs'}."
            )
        self._check_pull(array)
        return array if array.flags.writeable else array.copy()

    def _check_pull(self, u: Array) -> None:
        """Error if a tendon is asked to push."""
        if np.any(u < self._lower):
            name = self.input_names[int(np.argmax(u < self._lower))]
            raise ValueError(
                f"input {name!r} = {u[self.input_names.index(name)]:g} is not allowed: a tendon only pulls, so it must be at "
                "least 0. Use add_tendon(..., push=True) to allow compression."
            )

    def tendon_lengths(self, q: ArrayLike) -> tuple[Array, Array]:
        """Lengths of the tendons [m], shape (n,), and their derivatives in q, shape (n, nv), in the order of adding.

        For push rods it is minus the length, for chambers minus the volume [m³].

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> cable = robot.add_tendon("cable", arm, z=0.012)
        >>> system = robot.compile()
        >>> lengths, slopes = system.tendon_lengths(system.neutral())
        >>> print(lengths, slopes.shape)
        [0.4] (1, 12)
        """
        jacobian = np.zeros((1, len(self.tendons.law), self.nv))
        self.run_job(engine.LENGTHS, self.check_q(q), S=jacobian)
        return self._work.tension[:, T_LENGTH].copy(), jacobian[0]

    def actuation_matrix(self, q: ArrayLike, v: ArrayLike | None = None, u: Inputs = None) -> Array:
        """B (nv, nu): derivative of the generalised forces with respect to the inputs.

        It depends on q alone, unless tendons are elastic or have friction with a slip speed, servos are at their limit or
        user loads have inputs. For tensions, torques and wrenches the generalised force is B u.

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> cable = robot.add_tendon("cable", arm, z=0.012)
        >>> system = robot.compile()
        >>> B = system.actuation_matrix(system.neutral())
        >>> print(B[4].round(6))  # work on bending_y: minus the offset times the length
        [-0.0048]
        """
        B = np.zeros((1, self.nu, self.nv))
        velocity = self._zero if v is None else self.check_v("v", v)
        self.run_job(engine.INPUTS, self.check_q(q), velocity, u=self.inputs(u), S=B)
        return B[0].T.copy()

    # ------------------------------------------------------------ loops

    @cached_property
    def loop_rows(self) -> tuple[str, ...]:
        """Names of the scalar constraints of all loop joints (of a joint "pin" for instance ``"pin: position x"``)."""
        return tuple(f"{name}: {what}" for name, loop in self._robot.loops.items() for _k, _d, what in loop.rows())

    @property
    def multipliers(self) -> Array:
        """Multipliers (rows,) of the constraints that the next residual uses, the forces of loop joints; solvers write here."""
        return self._work.multiplier

    @property
    def closure_rates(self) -> Array:
        """Rates ė and velocity terms Ġ v of the constraints at the last call of `closure`, (rows, 2)."""
        return self._work.closure[:, 1:].copy()

    def closure(self, q: ArrayLike, v: ArrayLike | None = None) -> tuple[Array, Array]:
        """How far loops are from closed: e (rows,) [m for positions, rad for small tilts], and ∂e/∂q (rows, nv)."""
        G = np.zeros((1, len(self.loops.row), self.nv))
        if len(self.loops.row):
            velocity = self._zero if v is None else self.check_v("v", v)
            self.run_job(engine.CLOSURE, self.check_q(q), velocity, S=G)
        return self._work.closure[:, 0].copy(), G[0]

    def loop_wrench(
        self, loop: str, q: ArrayLike, multipliers: ArrayLike, *, axes: Literal["joint", "world"] = "joint"
    ) -> Array:
        """Reaction [moment; force] (6,) of a loop joint on its frame b (the opposite acts on a), about b's origin.

        "joint": in the axes of frame a. "world": in world axes.
        """
        choice("axes", axes, ("joint", "world"))
        names = list(self._robot.loops)
        if loop not in names:
            raise unknown_name("loop", loop, names)
        joint = self._robot.loops[loop]
        ga, gb = self.pose(joint.a, q), self.pose(joint.b, q)
        first, last = self.loops.joint[names.index(loop), 2:]
        values = np.asarray(multipliers, dtype=float)
        if values.shape != (len(self.loops.row),):
            raise ValueError(f"multipliers has shape {values.shape}, but ({len(self.loops.row)},) is needed.")
        A, B = ga[:3, :3], gb[:3, :3]
        out = np.zeros(6)
        for r in range(first, last):
            data, kind = self.loops.data[r], int(self.loops.row[r, 0])
            if kind == ANGLE:
                out[:3] += values[r] * np.cross(B @ data[3:6], A @ data[:3])
                continue
            out[3:] += values[r] * (A @ data[:3])
            if kind == HELIX:
                beta, b1, b2 = B @ data[3:6], A @ data[3:6], A @ data[6:9]
                k, s = b1 @ beta, b2 @ beta
                out[:3] += values[r] * data[9] * np.cross((k * b2 - s * b1) / (k * k + s * s), beta)
        if axes == "joint":
            out = np.concatenate([A.T @ out[:3], A.T @ out[3:]])
        return out

    def stress_forces(self, rod: str | Link, stress: ArrayLike | Callable[[float], ArrayLike]) -> Array:
        """Generalised forces (nv,) of an internal stress Λ(X) in a rod: ∫ΦᵀΛ, for `tau` of solvers ([004] eq. 27)."""
        info, grid, content = self._rod(rod)
        at = grid.weights > 0
        values = InternalStress(info.link.name, stress).at(grid.X[at])
        out = np.zeros(self.nv)
        Phi = content.strains.matrix(grid.X[at])
        out[info.rod_v] = np.einsum("m,mai,ma->i", grid.weights[at] * content.length, Phi, values)
        return out

    def residual(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        u: Inputs = None,
        tau: ArrayLike | None = None,
    ) -> Array:
        """ID(q, v, a) + elastic(q) + D v − (forces of actuators and loads) − tau, (nv,): zero for a motion that obeys it."""
        out = np.empty(self.nv)
        forces = self._zero if tau is None else self.check_v("tau", tau)
        self.run_job(
            engine.RESIDUAL,
            self.check_q(q),
            self.check_v("v", v),
            self.check_v("a", a),
            self.inputs(u),
            forces,
            force=out,
        )
        return out

    def residual_tangent(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        u: Inputs = None,
        tau: ArrayLike | None = None,
        *,
        weights: tuple[float, float, float] = (1.0, 0.0, 0.0),
    ) -> Array:
        """cq ∂r/∂q + cv ∂r/∂v + ca ∂r/∂a of `residual` for weights (cq, cv, ca), shape (nv, nv).

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> cable = robot.add_tendon("cable", arm, z=0.012)
        >>> system = robot.compile()
        >>> rest = pl.solve_statics(system, {"cable": 5.0})
        >>> zero = [0.0] * system.nv
        >>> K = system.residual_tangent(rest.q, zero, zero, rest.u)  # stiffness of the loaded arm
        >>> M = system.residual_tangent(rest.q, zero, zero, rest.u, weights=(0, 0, 1))
        >>> K.shape, bool(abs(M - system.mass_matrix(rest.q)).max() < 1e-12)
        ((12, 12), True)
        """
        out = np.empty((1, self.nv, self.nv))
        p = np.zeros(engine.PARAMETERS)
        p[:3] = weights
        forces = self._zero if tau is None else self.check_v("tau", tau)
        self.run_job(
            engine.TANGENT,
            self.check_q(q),
            self.check_v("v", v),
            self.check_v("a", a),
            self.inputs(u),
            forces,
            p=p,
            S=out,
        )
        return out[0]

    def solve_tangent(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        b: ArrayLike,
        u: Inputs = None,
        tau: ArrayLike | None = None,
        *,
        weights: tuple[float, float] = (0.0, 0.0),
        solver: LinearSolver = "auto",
    ) -> Array:
        """x (nv,) with ``(∂r/∂q + cv ∂r/∂v + ca ∂r/∂a) x = b`` for weights (cv, ca): the linear system of an implicit step.

        Prescribed coordinates keep x = 0. `solver` "dense" factors the matrix of `residual_tangent`, "tree" eliminates
        block by block in O(N) without forming it, "auto" takes the faster one for this robot.
        """
        x, S = self.check_v("b", b).copy(), self.step_storage(solver)
        p = np.zeros(engine.PARAMETERS)
        p[:2] = weights
        state = self.check_q(q), self.check_v("v", v), self.check_v("a", a)
        forces = self._zero if tau is None else self.check_v("tau", tau)
        if self.run_job(engine.SOLVE, *state, self.inputs(u), forces, p=p, S=S, acceleration=x) != CONVERGED:
            raise np.linalg.LinAlgError(f"the tangent of {self.name!r} is singular, or not finite, at this state.")
        return x

    # ------------------------------------------------------------ energy and momentum

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> float:
        """Kinetic energy [J]."""
        return float(self._totals(q, v)[10])

    def gravitational_energy(self, q: ArrayLike) -> float:
        """Potential energy of gravity and buoyancy [J], zero when the centres of mass and of buoyancy are at the origin."""
        return float(self._totals(q, self._zero)[11]) + self.buoyancy_energy(q)

    def buoyancy_energy(self, q: ArrayLike) -> float:
        """The part of `gravitational_energy` that comes from displaced fluid [J]."""
        if not len(self.water.place):
            return 0.0
        self._totals(q, self._zero)  # sets the poses
        rows = self._work.state[self.water.place[:, 0]]
        R = rows[:, layout.RE : layout.RE + 9].reshape(-1, 3, 3)
        data = self.water.data
        own = data[:, W_POS : W_POS + 3] + np.einsum(
            "kij,kj->ki", data[:, W_ROT : W_ROT + 9].reshape(-1, 3, 3), data[:, W_CENTRE : W_CENTRE + 3]
        )
        x = rows[:, layout.PE : layout.PE + 3] + np.einsum("kij,kj->ki", R, own) + self._work.origin
        return float(data[:, W_MASS] @ (x @ self.tables.gravity))

    def elastic_energy(self, q: ArrayLike) -> float:
        """Elastic energy of rods and joint springs [J]."""
        x = np.empty((2, self.nv))
        return float(
            internal.elastic_forces(self.internal, self.check_q(q), x[0], x[1], self._work.spring, self._none[:, 0])
        )

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Centre of mass in world coordinates [m], shape (3,)."""
        t = self._totals(q, self._zero)
        return t[1:4] / t[0]

    def momentum(self, q: ArrayLike, v: ArrayLike, *, about: Literal["origin", "com"] = "origin") -> Momentum:
        """Linear and angular momentum in world axes, the latter about the world's origin or the centre of mass."""
        choice("about", about, ("origin", "com"))
        t = self._totals(q, v)
        linear, angular = t[4:7].copy(), t[7:10].copy()
        if about == "com":
            angular -= np.cross(t[1:4] / t[0], linear)
        return Momentum(linear, angular)

    # ------------------------------------------------------------ inside

    def check_q(self, q: ArrayLike) -> Array:
        """q as a contiguous vector (nq,); error if its size is wrong."""
        return _checked("q", q, self.nq, self.name)

    def check_v(self, name: str, v: ArrayLike) -> Array:
        """A velocity-like vector (nv,); error if its size is wrong."""
        return _checked(name, v, self.nv, self.name)

    def _info(self, link: str | Link) -> LinkInfo:
        if isinstance(link, Link):
            link = link.name
        try:
            return self._assembly.links[link]
        except (KeyError, TypeError):
            raise unknown_name("link", str(link), self._assembly.links) from None

    def _rod(self, rod: str | Link) -> tuple[LinkInfo, Grid, Rod]:
        info = self._info(rod)
        if not isinstance(info.link.content, Rod):
            rods = [name for name, i in self._assembly.links.items() if i.link.is_rod]
            raise TypeError(f"{rod!r} is a rigid body; rods of this robot: {', '.join(rods) or 'none'}.")
        assert info.grid is not None
        return info, info.grid, info.link.content

    def _anchor(self, frame: FrameLike) -> Anchor:
        return anchor_of(self._assembly, self._robot.resolve(frame, field="frame"))

    def _shift(self) -> Array:
        """The moving origin as a 4×4 that is subtracted from poses."""
        out = np.zeros((4, 4))
        out[:3, 3] = self._work.origin
        return out

    def _relative_pose(self, anchor: Anchor) -> Array:
        """Pose of an anchor relative to the moving origin, after a kernel ran."""
        row = self._work.state[anchor.step]
        g = np.eye(4)
        g[:3, :3] = row[layout.RE : layout.RE + 9].reshape(3, 3)
        g[:3, 3] = row[layout.PE : layout.PE + 3]
        return g @ anchor.offset.matrix

    def _motion(self, anchor: Anchor, q: ArrayLike, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """Pose, and twist and acceleration (without gravity) at the world's origin in world axes."""
        n = len(self.tables.step) + 1
        pose, twist, accel = np.empty((n, 12)), np.empty((n, 6)), np.empty((n, 6))
        kinematics.motion(self.tables, self._work, self.check_q(q), v, a, pose, twist, accel)
        g = self._relative_pose(anchor)
        g[:3, 3] += self._work.origin
        shift = self._work.origin
        V, A = twist[anchor.step], accel[anchor.step]
        A[3:] += self.tables.gravity
        V[3:] -= np.cross(V[:3], shift)
        A[3:] -= np.cross(A[:3], shift)
        return g, V, A

    def _frame_columns(self, anchor: Anchor, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        out = np.empty((4, 6, self.nv))
        kinematics.frame_derivatives(
            self.tables, self._work, self.check_q(q), self.check_v("v", v), self.check_v("a", a), anchor.step, out
        )
        return out

    def _rod_motion(
        self, rod: str | Link, X: ArrayLike | int, q: ArrayLike, v: Array, a: Array
    ) -> tuple[Array, Array, Array]:
        """Poses in the world; twists and accelerations at the moving origin."""
        points = _points(X)
        key = (rod.name if isinstance(rod, Link) else rod, points.tobytes())
        if key not in self._probes:
            if len(self._probes) > 64:
                self._probes.clear()
            self._probes[key] = self._probe(rod, points)
        steps, data, phi = self._probes[key]
        n, m = len(self.tables.step) + 1, len(points)
        buffers = np.empty((n, 12)), np.empty((n, 6)), np.empty((n, 6))
        kinematics.motion(self.tables, self._work, self.check_q(q), v, a, *buffers)
        pose, twist, accel = np.empty((m, 12)), np.empty((m, 6)), np.empty((m, 6))
        kinematics.probe(self.tables, self._work, steps, data, phi, pose, twist, accel)
        g = np.zeros((m, 4, 4))
        g[:, :3, :3] = pose[:, :9].reshape(m, 3, 3)
        g[:, :3, 3] = pose[:, 9:]
        g[:, 3, 3] = 1.0
        return g, twist, accel

    def _probe(self, rod: str | Link, X: Array) -> _Probe:
        """Partial steps that lead from computational points to the points X of a rod."""
        info, grid, content = self._rod(rod)
        if content.integration == "spectral":
            return self._spectral_probe(info, grid, content, X)
        k = np.clip(np.searchsorted(grid.X, X, side="left") - 1, 0, len(grid.X) - 2)
        x0 = grid.X[k]
        values, xi = step_values(content, x0, X)
        h = (X - x0) * content.length
        data = np.zeros((len(X), layout.DATA_WIDTH))
        data[:, layout.D_H] = h
        data[:, layout.D_C] = np.sqrt(3.0) / 12.0 * h * h if content.magnus == 4 else 0.0
        data[:, layout.D_XI1 : layout.D_XI1 + 6] = xi[0]
        data[:, layout.D_XI2 : layout.D_XI2 + 6] = xi[1]
        values = values.transpose(1, 0, 2)
        steps = np.array([info.anchors[i + 1].step for i in k], dtype=np.int64)
        phi = np.zeros_like(values)
        for p, step in enumerate(steps):
            block = self.tables.block[self.tables.step[step, layout.S_BLOCK]]
            columns = self.tables.col_v[block[layout.COL0] : block[layout.COL0] + block[layout.COLS]]
            phi[p, :, : len(columns)] = values[p][:, columns - info.rod_v.start]
        return steps, data, phi

    @staticmethod
    def _spectral_probe(info: LinkInfo, grid: Grid, content: Rod, X: Array) -> _Probe:
        """First steps of the blocks that hold the points X of a spectral rod, and integrals up to the points."""
        starts = np.array([first for first, _last in grid.elements])
        k = np.clip(np.searchsorted(grid.X[starts], X, side="left") - 1, 0, len(starts) - 1)
        rows = []
        for e, x in zip(k, X[:, None]):
            first, last = grid.elements[e]
            rows.append(block_integrals(content, grid, first, last, x))
        phi = np.zeros((len(X), 2, max((row.shape[1] for row in rows), default=0)))
        for p, row in enumerate(rows):
            phi[p, :, : row.shape[1]] = row
        steps = np.array([info.anchors[starts[e] + 1].step for e in k], dtype=np.int64)
        return steps, np.zeros((len(X), layout.DATA_WIDTH)), phi

    def _totals(self, q: ArrayLike, v: ArrayLike) -> Array:
        out = np.empty(12)
        kinematics.compute_totals(self.tables, self._work, self.check_q(q), self.check_v("v", v), out)
        return out

    def run_job(
        self,
        job: np.int64,
        q: Array,
        v: Array | None = None,
        a: Array | None = None,
        u: Array | None = None,
        tau: Array | None = None,
        *,
        b: Array | None = None,
        force: Array | None = None,
        acceleration: Array | None = None,
        p: Array | None = None,
        S: Array | None = None,
        q1: Array | None = None,
    ) -> int:
        """Run a job of the engine; see `kernels.engine.run`."""
        zero = self._zero
        spare = self._work.newton
        status = engine.run(
            job,
            *self.packed,
            q,
            zero if v is None else v,
            zero if a is None else a,
            zero if b is None else b,
            self._no_input if u is None else u,
            zero if tau is None else tau,
            self._parameters if p is None else p,
            self._none if S is None else S,
            self.pivot,
            self._spare_q if q1 is None else q1,
            spare[2] if force is None else force,
            spare[3] if acceleration is None else acceleration,
            spare[4],
        )
        self.raise_user_errors()
        return int(status)

    def mass_storage(self, method: Algorithm = "auto") -> Array:
        """Memory for the factors of the mass matrix: one square matrix, or the store of `kernels.fronts`."""
        choice("method", method, ("auto", "composite", "articulated"))
        if method == "articulated" or (method == "auto" and self._elimination.for_mass):
            return self._store
        return np.zeros((1, self.nv, self.nv))

    def step_storage(self, solver: LinearSolver = "auto") -> Array:
        """Memory for the factors of an implicit step, likewise; error if the tree cannot be eliminated."""
        choice("solver", solver, ("auto", "dense", "tree"))
        reason = self.why_dense()
        if solver == "tree" and reason:
            raise ValueError(f"solver='tree' is not possible for {self.name!r}: {reason}. Use solver='auto'.")
        if solver == "tree" or (solver == "auto" and not reason and self._elimination.for_step):
            return np.zeros((1, *self.fronts.size))
        return np.zeros((1, self.nv, self.nv))

    def why_dense(self) -> str:
        """What couples parts of the robot beyond the tree, so that implicit steps need dense factors; "" if nothing does."""
        if len(self.loops.row):
            return "loop joints connect its branches"
        if self._assembly.loading.pair_loads or self._assembly.loading.units.address[CABLES] != 0:
            return "contact between its parts, cables between its links, or tendons with elasticity or friction connect them"
        if not self._elimination.local:
            return "a tendon acts on several parts at once"
        return ""

    @cached_property
    def _store(self) -> Array:
        return np.zeros((1, *self.fronts.size))

    def raise_user_errors(self) -> None:
        """Raise what a user's load raised while a kernel called it."""
        for load, _places in self._robot.user_loads.values():
            load.raise_error()

    @contextmanager
    def scaled_gravity(self, factor: float, *, wrenches: bool = False) -> Iterator[None]:
        """Within the block gravity, and if asked for also constant wrenches, are multiplied by `factor`."""
        gravity, data = self.tables.gravity.copy(), self.wrenches.data.copy()
        self.tables.gravity[:] = factor * gravity
        if wrenches:
            self.wrenches.data[self.wrenches.place[:, P_INPUT] < 0, P_MOMENT:] *= factor
        try:
            yield
        finally:
            self.tables.gravity[:] = gravity
            self.wrenches.data[:] = data

    def has_potential(self, u: Array, tau: Array) -> bool:
        """Whether all loads derive from a potential.

        Not so: moments, follower wrenches, tau or motors on manifold joints, tendons with friction, drag in a current, loads
        that the user wrote.
        """
        if not self._assembly.loading.conservative:
            return False
        for (_step, kind, index), row in zip(self.wrenches.place, self.wrenches.data):
            acts = kind != DIPOLE and (index < 0 or u[index] != 0.0)
            if acts and (kind != IN_WORLD or np.any(row[P_MOMENT:P_FORCE])):
                return False
        spatial = self.internal.spatial
        driven = tau.copy()
        driven[self.efforts.place[:, 1]] += u[self.efforts.place[:, 0]]
        return not any(np.any(driven[v0 : v0 + (6 if free else 3)]) for _q0, v0, free in spatial)

    def _mass_factor(self, q: Array) -> tuple[Array, bool]:
        return self._factor(self.mass_matrix(q))

    def _factor(self, mass: Array) -> tuple[Array, bool]:
        try:
            factor = scipy.linalg.cho_factor(mass, lower=True, check_finite=False)
            if np.all(np.diag(factor[0]) ** 2 > 1e-14 * np.diag(mass)):
                return factor
        except scipy.linalg.LinAlgError:
            pass
        raise self._mass_error(mass)

    def _mass_error(self, mass: Array) -> ValueError:
        """The error for a mass matrix that is not positive definite."""
        if not np.all(np.isfinite(mass)):
            return ValueError("the mass matrix is not finite: q contains NaN, infinity or overflowing strains.")
        values, vectors = np.linalg.eigh(mass)
        worst = self.dof_names[int(np.argmax(np.abs(vectors[:, 0])))]
        return ValueError(
            f"the mass matrix is singular (smallest eigenvalue {values[0]:.3g}): nothing with mass moves along "
            f"{worst!r}. Give mass to what this joint carries, or more points to the rod."
        )


def _express(g: Array, X: Array, reference: Reference) -> Array:
    """A twist (or columns of twists) at the origin and in world axes, seen from the frame g."""
    out = X.copy()
    out[3:] += np.cross(X[:3], g[:3, 3], axis=0) if X.ndim == 1 else -lie.skew(g[:3, 3]) @ X[:3]
    if reference == "body":
        out[:3] = g[:3, :3].T @ out[:3]
        out[3:] = g[:3, :3].T @ out[3:]
    return out


def _points(X: ArrayLike | int) -> Array:
    if isinstance(X, (int, np.integer)) and not isinstance(X, bool):
        return np.linspace(0.0, 1.0, integer("X", X, minimum=2, hint="A number of points, or an array of X in [0, 1]."))
    try:
        points = np.atleast_1d(np.asarray(X, dtype=float))
    except (TypeError, ValueError):
        raise TypeError(f"X = {X!r} must be a number of points, or an array of points in [0, 1].") from None
    if points.ndim != 1 or not np.all((points >= 0) & (points <= 1)):
        raise ValueError(f"X = {X!r} is not allowed: points along a rod lie in [0, 1] (fraction of its length).")
    return points


def _checked(name: str, value: ArrayLike, size: int, system: str) -> Array:
    try:
        if np.iscomplexobj(value):
            raise TypeError
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} = {value!r} must be a vector of {size} real numbers.") from None
    if value is None or array.shape != (size,):
        raise ValueError(
            f"{name} has shape {array.shape}, but ({size},) is needed for {system!r} "
            f"({'coordinates, nq' if name.startswith('q') else 'velocities, nv'})."
        )
    return array if array.flags.writeable else array.copy()  # kernels are compiled for writeable arrays
