"""The class `System`: what a compiled robot can be asked. Its methods are documented here and done in the modules beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..model.links import Link, Rod
from ..model.loops import closing_rows, force_units
from ..model.validate import choice, non_negative
from . import dynamics, energy, forces, gas, kinematics, magnetics, reactions
from .contacts import Contacts, find_contacts
from .core import Array, Core, FrameLike, Inputs, Reference
from .dynamics import Algorithm, ConstrainedMotion, ForwardDerivatives, InverseDerivatives, LinearSolver
from .energy import Momentum
from .gas import GasState
from .laws import stress_of_law
from .placing import configuration
from .reactions import Axes
from .spatial import Companion, RodSteps, SpatialError, spatial_error, steps_of

__all__ = ["System"]


class System(Core):
    """A robot ready for computation.

    Coordinates ``q`` (nq,) and velocities ``v`` (nv,) are stacked link by link in the order of adding: first those of
    the link's joint, then the strain coordinates of a rod, by strain and within it by basis function. Spherical and
    free joints hold a unit quaternion (w, x, y, z) [and a position] in q and their body twist [angular; linear] in v.
    Strain coordinates are physical strains: rad/m for torsion and bending, dimensionless for stretch and shear.

    Parameters
    ----------
    robot : Robot
        The description; later changes to it do not affect the system.
    refine : int
        Compile with this many times the points along rods and tendons, to see what they change.

    Notes
    -----
    The equation of motion is ``ID(q, v, a) + elastic(q) + D v = tau`` with ``ID = M a + Coriolis − gravity``.

    A system is constant: no call changes the answer of another, and several threads may use one system at once.

    Examples
    --------
    The examples of the methods go on with these two, an arm and a pendulum.

    >>> import numpy as np
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
    <System 'arm': nq=12, nv=12, 13 steps>
    >>> system.dof_names[4], system.input_names
    ('arm.bending_y[0]', ('cable',))
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body(
    ...     "rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
    ... )
    >>> pendulum = robot.compile()
    """

    def _repr_html_(self) -> str:
        """A picture, the main facts and the tree, for notebooks."""
        from ..viz.notebook import system_html

        return system_html(self)

    # ------------------------------------------------------------ where things are and how they move

    def configuration(self, placed: Mapping[str, Any] | None = None) -> Array:
        """Coordinates q (nq,) with some links where they are wanted and everything else neutral.

        Parameters
        ----------
        placed : dict, optional
            By the name of a link: its pose in the world if its joint is free (`Pose`, 4×4 matrix, or a position (3,) [m]; of a rod that of
            its base), its orientation if it is spherical (the rotation of a pose counts, or a 3×3 matrix), otherwise the coordinates of its joint
            [rad, m]; or of any link all its coordinates. By the name of a coordinate: its value. Solvers take the same dictionary as `start`.

        Examples
        --------
        >>> flying = pl.Robot("drone")
        >>> hull = flying.add_body("hull", joint=pl.Free(), shape=pl.Box(0.2, 0.2, 0.05), mass=1.2)
        >>> flap = flying.add_body("flap", parent=hull, joint=pl.Revolute("y"), shape=pl.Box(0.1, 0.1, 0.01), mass=0.1)
        >>> drone = flying.compile()
        >>> q = drone.configuration({"hull": pl.translate(0, 0, 1) @ pl.rotate("z", np.pi / 2), "flap": 0.3})
        >>> print(drone.pose("hull", q)[:3, 3], q[7])
        [0. 0. 1.] 0.3
        """
        return configuration(self, placed)

    def pose(self, frame: FrameLike, q: ArrayLike) -> Array:
        """Pose of a frame in the world, 4×4.

        Parameters
        ----------
        frame : str, Frame or Link
        q : array (nq,) or (m, nq)
            One configuration, or many at once: (m, 4, 4).

        Examples
        --------
        >>> q = system.neutral()
        >>> q[4] = -2.0  # constant bending about y [rad/m]: upwards
        >>> print(system.pose("arm.tip", q)[:3, 3].round(4))
        [0.3587 0.     0.1516]
        >>> system.pose("arm.tip", np.array([q, 2 * q])).shape
        (2, 4, 4)
        """
        return kinematics.pose(self, frame, q)

    def twist(self, frame: FrameLike, q: ArrayLike, v: ArrayLike, *, reference: Reference = "body") -> Array:
        """Twist of a frame, [angular; linear], shape (6,), or (m, 6) for states q (m, nq) and v (m, nv).

        `reference` "body": in the frame's own axes. "world": angular velocity and velocity of the frame's origin, in
        world axes.
        """
        return kinematics.twist(self, frame, q, v, reference)

    def acceleration(
        self, frame: FrameLike, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, reference: Reference = "body"
    ) -> Array:
        """Acceleration of a frame (without gravity), [angular; linear], shape (6,), or (m, 6) for m states.

        "body": the time derivative of the body twist. "world": angular acceleration and second derivative of the
        frame's position in world axes.
        """
        return kinematics.acceleration(self, frame, q, v, a, reference)

    def jacobian(self, frame: FrameLike, q: ArrayLike, *, reference: Reference = "body") -> Array:
        """Jacobian J (6, nv) of a frame: twist = J v, in the same `reference` as `twist`; (m, 6, nv) for q (m, nq).

        Examples
        --------
        >>> J = system.jacobian("arm.tip", system.neutral(), reference="world")
        >>> J.shape
        (6, 12)
        >>> print(J[5, 4].round(3))  # bending up by 1 rad/m lifts the tip by ½ L²
        -0.08
        """
        return kinematics.jacobian(self, frame, q, reference)

    def jacobian_rate(self, frame: FrameLike, q: ArrayLike, v: ArrayLike, *, reference: Reference = "body") -> Array:
        """Time derivative of `jacobian` along v, (6, nv)."""
        return kinematics.jacobian_rate(self, frame, q, v, reference)

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
        >>> system.rod_poses("arm", system.neutral(), 20).shape
        (20, 4, 4)
        >>> print(system.rod_poses("arm", system.neutral(), [0.0, 0.5, 1.0])[:, 0, 3])
        [0.  0.2 0.4]
        """
        return kinematics.rod_motion(self, rod, q, None, X)[0]

    def rod_twists(self, rod: str | Link, q: ArrayLike, v: ArrayLike, X: ArrayLike | int = 50) -> Array:
        """Body twists along a rod, shape (m, 6)."""
        return kinematics.rod_motion(self, rod, q, v, X)[1]

    def strain(self, rod: str | Link, q: ArrayLike, X: ArrayLike | int = 50) -> Array:
        """Strain ξ(X) = ξ*(X) + Φ(X) q along a rod, shape (m, 6).

        Examples
        --------
        >>> print(system.strain("arm", system.neutral(), [0.5]))
        [[0. 0. 0. 1. 0. 0.]]
        """
        info, _grid, content = self._rod(rod)
        points = kinematics.points(X)
        return content.reference(points) + content.strains.matrix(points) @ self.check_q(q)[info.rod_q]

    def stress(self, rod: str | Link, q: ArrayLike, X: ArrayLike | int = 50) -> Array:
        """Elastic internal wrench Σ(X)(ξ − ξ*) along a rod [N m, N], shape (m, 6); that of its law if it has one, with no active strain."""
        info, _grid, content = self._rod(rod)
        points = kinematics.points(X)
        deviation = content.strains.matrix(points) @ self.check_q(q)[info.rod_q]
        if content.law:
            return stress_of_law(content, info.link.name, deviation, points)
        return np.einsum("mij,mj->mi", content.stiffness_at(points), deviation)

    # ------------------------------------------------------------ the equation of motion

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """ID(q, v, a) = M a + Coriolis − gravity, shape (nv,); elastic and damping forces are not included.

        Examples
        --------
        >>> print(pendulum.inverse_dynamics([0.0], [0.0], [0.0]).round(4))  # holds it level
        [-0.7358]
        """
        return dynamics.inverse_dynamics(self, q, v, a)

    def inverse_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> InverseDerivatives:
        """ID together with ∂ID/∂q, ∂ID/∂v and ∂ID/∂a = M.

        On spherical and free joints ∂/∂q is along ``integrate(q, δ)``.

        Examples
        --------
        >>> d = pendulum.inverse_dynamics_derivatives([0.5], [0.0], [0.0])
        >>> print((d.dq[0, 0] / (0.3 * 9.81 * 0.25 * np.sin(0.5))).round(12))  # of −m g l cos q
        1.0
        """
        return dynamics.inverse_dynamics_derivatives(self, q, v, a)

    def tangent(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, alpha: float, beta: float) -> Array:
        """Fused tangent ∂ID/∂q + α ∂ID/∂v + β M, one matrix (nv, nv) at a third of the cost of three."""
        return dynamics.tangent(self, q, v, a, alpha, beta)

    def mass_matrix(self, q: ArrayLike | None = None) -> Array:
        """Mass matrix M(q) (nv, nv), by composite bodies; in the neutral configuration if q is left out.

        Examples
        --------
        >>> print(pendulum.mass_matrix([0.0]).round(6))  # m (l² + h²)/12 + m (l/2)²
        [[0.02501]]
        """
        return dynamics.mass_matrix(self, self.neutral() if q is None else q)

    def bias_forces(self, q: ArrayLike, v: ArrayLike) -> Array:
        """ID(q, v, 0): Coriolis and gravity terms, shape (nv,)."""
        return dynamics.inverse_dynamics(self, q, v, self._zero)

    def gravity_forces(self, q: ArrayLike) -> Array:
        """ID(q, 0, 0): what holds the robot against gravity, shape (nv,)."""
        return dynamics.inverse_dynamics(self, q, self._zero, self._zero)

    def coriolis_forces(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Coriolis and centrifugal terms ID(q, v, 0) − ID(q, 0, 0), shape (nv,)."""
        return self.bias_forces(q, v) - self.gravity_forces(q)

    def stiffness_matrix(self, q: ArrayLike | None = None) -> Array:
        """Elastic stiffness K(q) = ∂(elastic forces)/∂q (nv, nv) of rods and joints; in the neutral configuration if q is left out.

        Exact, and constant unless a spherical or free joint has a spring or a rod has a law. What loads and gravity add is in `residual_tangent`; the
        inputs and memory of laws are arguments of `elastic_tangent`.

        Examples
        --------
        >>> K, D = system.stiffness_matrix(), system.damping_matrix()
        >>> print((D[4, 4] / K[4, 4]).round(12))  # of bending: 3 viscosity / young, in s
        0.03
        """
        return dynamics.elastic(self, self.neutral() if q is None else q, None, None, tangent=True)[2]

    def damping_matrix(self, q: ArrayLike | None = None) -> Array:
        """Damping D(q) = ∂(damping forces)/∂v (nv, nv) of rods and joints, which is constant.

        It takes q so that it is asked like `mass_matrix` and `stiffness_matrix`. What laws of rods, water, friction and contact dissipate is in `residual_tangent`.
        """
        if q is not None:
            self.check_q(q)
        return self._assembly.resistance.matrix(self._assembly.resistance.damping)

    def elastic_forces(self, q: ArrayLike, u: Inputs = None, *, memory: ArrayLike | None = None) -> Array:
        """Elastic forces (nv,), K (q − rest) for rods and scalar joints; on the left-hand side, like ID.

        Rods with a law have its forces at rest: with active strains of the inputs u, and with internal variables `memory` (nz,), or if that is left out as on the straight way from
        the reference configuration, where nothing has relaxed.
        """
        return dynamics.elastic(self, q, u, memory)[0]

    def elastic_tangent(self, q: ArrayLike, u: Inputs = None, *, memory: ArrayLike | None = None) -> Array:
        """∂(elastic forces)/∂q (nv, nv); constant unless a spherical or free joint has a spring or a rod has a law."""
        return dynamics.elastic(self, q, u, memory, tangent=True)[2]

    def residual(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        u: Inputs = None,
        tau: ArrayLike | None = None,
        *,
        multipliers: ArrayLike | None = None,
    ) -> Array:
        """ID(q, v, a) + elastic(q) + D v − (forces of actuators and loads) − tau, (nv,): zero for a motion that obeys it.

        `multipliers` are the forces of loop joints, one for each of `loop_rows`; none if left out.
        """
        given = forces.with_multipliers(self, multipliers)
        return dynamics.residual(self, *dynamics.arguments(self, q, v, a, u, tau), given)

    def residual_tangent(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        u: Inputs = None,
        tau: ArrayLike | None = None,
        *,
        weights: tuple[float, float, float] = (1.0, 0.0, 0.0),
        multipliers: ArrayLike | None = None,
    ) -> Array:
        """cq ∂r/∂q + cv ∂r/∂v + ca ∂r/∂a of `residual` for weights (cq, cv, ca), shape (nv, nv).

        Examples
        --------
        >>> rest = pl.solve_statics(system, {"cable": 5.0})
        >>> zero = [0.0] * system.nv
        >>> K = system.residual_tangent(rest.q, zero, zero, rest.u)  # stiffness of the loaded arm
        >>> M = system.residual_tangent(rest.q, zero, zero, rest.u, weights=(0, 0, 1))
        >>> K.shape, bool(abs(M - system.mass_matrix(rest.q)).max() < 1e-12)
        ((12, 12), True)
        """
        given = forces.with_multipliers(self, multipliers)
        return dynamics.residual_tangent(self, dynamics.arguments(self, q, v, a, u, tau), weights, given)

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
        block by block in O(N) without forming it, "auto" takes the faster one for this robot. Not for robots with loops,
        whose steps also have the forces of loops as unknowns.
        """
        return dynamics.solve_tangent(self, dynamics.arguments(self, q, v, a, u, tau), b, weights, solver)

    # ------------------------------------------------------------ accelerations

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        u: Inputs = None,
        prescribed: ArrayLike | None = None,
        method: Algorithm = "auto",
        stabilisation: float = 0.0,
    ) -> Array:
        """Acceleration a (nv,) with ``M a = tau + B(q) u − Coriolis + gravity − elastic(q) − D v + Gᵀλ``, where λ keeps loops closed.

        Parameters
        ----------
        q, v, tau, u
            State, further generalised forces (nv,) and inputs.
        prescribed : array (nv,), optional
            Accelerations of prescribed coordinates (other entries do not matter); zero if left out.
        method : {"auto", "composite", "articulated"}
            "composite": form M by composite bodies and factor it, O(N³). "articulated": the articulated-body algorithm
            of [001], O(N). "auto" takes the faster one for this robot.
        stabilisation : float
            Time T [s] within which an open loop closes: ``ë + 2 ė/T + e/T² = 0`` (Baumgarte). With 0 it is ``ë = 0``.

        See Also
        --------
        constrained_dynamics : also the forces λ of loop joints.

        Examples
        --------
        >>> print(pendulum.forward_dynamics([np.pi / 2], [0.0]).round(12) + 0.0)  # it hangs
        [0.]
        """
        return self.constrained_dynamics(
            q, v, tau, u=u, prescribed=prescribed, method=method, stabilisation=stabilisation
        ).a

    def constrained_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        u: Inputs = None,
        prescribed: ArrayLike | None = None,
        method: Algorithm = "auto",
        stabilisation: float = 0.0,
    ) -> ConstrainedMotion:
        """Acceleration and the forces λ of loop joints (index 1, [002] eqs 48–51), see `forward_dynamics`.

        Of redundant rows, those that were described first carry the force. The state need not obey the loops. Rows that follow a
        prescribed motion are held where and as they are.

        Examples
        --------
        >>> bar = pl.Robot("bar")
        >>> one = bar.add_body("one", joint=pl.Free(), shape=pl.Box(0.4, 0.02, 0.02), mass=0.1)
        >>> nail = bar.add_loop("nail", one.at((-0.2, 0, 0)), bar.resolve("world").at((-0.2, 0, 0)), joint=pl.Spherical())
        >>> hung = bar.compile()
        >>> a, forces = hung.constrained_dynamics(hung.neutral(), np.zeros(6))
        >>> print(f"{a[5]:.2f} m/s2 with {-forces[2]:.3f} N in the nail")
        -7.35 m/s2 with 0.246 N in the nail
        """
        choice("method", method, ("auto", "composite", "articulated"))
        time = non_negative("stabilisation", stabilisation, unit="s")
        return dynamics.acceleration(self, q, v, tau, u, prescribed, method, time)

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        u: Inputs = None,
        prescribed: ArrayLike | None = None,
        stabilisation: float = 0.0,
    ) -> ForwardDerivatives:
        """Acceleration and forces of loops with their exact derivatives by q, v, tau and u ([002] D68–D82).

        ∂a/∂tau is M⁻¹ without loops; rows of prescribed coordinates are zero. On and off the manifold of closed loops.
        """
        time = non_negative("stabilisation", stabilisation, unit="s")
        return dynamics.acceleration_derivatives(self, q, v, tau, u, prescribed, time)

    def solve_mass(self, q: ArrayLike, b: ArrayLike) -> Array:
        """M(q)⁻¹ b for a vector (nv,) or a matrix (nv, k); M is that of the tree, without loops."""
        return dynamics.solve_mass(self, q, b)

    def why_dense(self) -> str:
        """What couples parts of the robot beyond the tree, so that implicit steps need dense factors; "" if nothing does."""
        return dynamics.why_dense(self)

    def has_potential(self, u: Array, tau: Array) -> bool:
        """Whether all loads derive from a potential.

        Not so: moments, follower wrenches, tau or motors on manifold joints, tendons with friction, drag in a current, loads
        that the user wrote.
        """
        return dynamics.has_potential(self, u, tau)

    # ------------------------------------------------------------ mass, energies and momentum

    @property
    def mass(self) -> float:
        """Total mass of everything that can move [kg]."""
        return energy.totals(self, self.neutral()).mass

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> float:
        """Kinetic energy [J]."""
        return energy.totals(self, q, v).kinetic

    def gravitational_energy(self, q: ArrayLike) -> float:
        """Potential energy of gravity and buoyancy [J], zero when the centres of mass and of buoyancy are at the origin."""
        return energy.totals(self, q).weight + self.buoyancy_energy(q)

    def buoyancy_energy(self, q: ArrayLike) -> float:
        """The part of `gravitational_energy` that comes from displaced fluid [J]."""
        return energy.buoyancy_energy(self, q)

    def elastic_energy(self, q: ArrayLike, u: Inputs = None, *, memory: ArrayLike | None = None) -> float:
        """Elastic energy of rods and joint springs [J].

        Rods with a law: what they store with internal variables `memory` (nz,), and what they dissipate on a straight way from there; see `elastic_forces`.
        """
        return dynamics.elastic(self, q, u, memory)[1]

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Centre of mass in world coordinates [m], shape (3,)."""
        total = energy.totals(self, q)
        return total.moment / total.mass

    def momentum(self, q: ArrayLike, v: ArrayLike, *, about: Literal["origin", "com"] = "origin") -> Momentum:
        """Angular and linear momentum in world axes, the former about the world's origin or the centre of mass.

        In the order of twists and wrenches, angular before linear: ``np.concatenate(momentum)`` pairs with a twist in world axes at the origin.
        """
        choice("about", about, ("origin", "com"))
        total = energy.totals(self, q, v)
        if about == "com":
            return Momentum(total.angular - np.cross(total.moment / total.mass, total.linear), total.linear)
        return Momentum(total.angular, total.linear)

    # ------------------------------------------------------------ tendons, inputs, loops, contacts

    def tendon_lengths(self, q: ArrayLike) -> tuple[Array, Array]:
        """Lengths of the tendons [m], shape (n,), and their derivatives in q, shape (n, nv), in the order of adding.

        For push rods it is minus the length, for chambers minus the volume [m³].

        Examples
        --------
        >>> lengths, slopes = system.tendon_lengths(system.neutral())
        >>> print(lengths, slopes.shape)
        [0.4] (1, 12)
        """
        return forces.tendon_lengths(self, q)

    def tendon_tensions(self, q: ArrayLike, v: ArrayLike | None = None, u: Inputs = None) -> Array:
        """Tensions at the motors [N], shape (n,), in the order of adding; of elastic tendons as they follow from length and rate.

        For push rods it is the force, for chambers the pressure [Pa]: the input.

        Examples
        --------
        >>> robot = system.robot
        >>> cord = robot.add_tendon("cord", "arm", z=-0.012, control="elastic", stiffness=500.0)
        >>> corded = robot.compile()
        >>> print(corded.tendon_tensions(corded.neutral(), u={"cord": 0.01}).round(9))  # 10 mm pulled in
        [0. 5.]
        """
        return forces.tendon_tensions(self, q, v, u)

    def gases(self, q: ArrayLike, u: Inputs = None, memory: ArrayLike | None = None) -> dict[str, GasState]:
        """Volume [m³], its derivative and gauge pressure [Pa] of each `Gas`, by name.

        The amount of gas is that of the first filling, or what `memory` (nz,) says (`Result.memory`, `Equilibrium.memory`).

        Examples
        --------
        >>> import pliant as pl
        >>> robot = system.robot
        >>> air = robot.add_load("air", pl.Gas(pl.Along("arm", z=0.005), area=2e-5, pressure=20e3))
        >>> inflated = robot.compile()
        >>> found = inflated.gases(inflated.neutral())["air"]
        >>> print(f"{1e6 * found.volume:.1f} ml, {found.pressure / 1e3:.1f} kPa")
        8.0 ml, 20.0 kPa
        """
        return gas.gases(self, q, u, memory)

    def actuation_matrix(self, q: ArrayLike, v: ArrayLike | None = None, u: Inputs = None) -> Array:
        """B (nv, nu): derivative of the generalised forces with respect to the inputs.

        It depends on q alone, unless tendons are elastic or have friction with a slip speed, servos are at their limit or
        user loads have inputs. For tensions, torques and wrenches the generalised force is B u.

        Examples
        --------
        >>> B = system.actuation_matrix(system.neutral())
        >>> print(B[4].round(6))  # work on bending_y: minus the offset times the length
        [-0.0048]
        """
        return forces.actuation_matrix(self, q, v, u)

    @cached_property
    def loop_rows(self) -> tuple[str, ...]:
        """Names of the scalar constraints of all loop joints (of a joint "pin" for instance ``"pin: position x"``)."""
        return tuple(f"{name}: {what}" for name, (_kind, _data, what), _motion in closing_rows(self._robot))

    @property
    def multiplier_units(self) -> tuple[str, ...]:
        """Units of the forces of loop joints, in the order of `loop_rows`."""
        return tuple(force_units(self._robot))

    def closure(self, q: ArrayLike, v: ArrayLike | None = None) -> tuple[Array, Array]:
        """How far loops are from closed: e (rows,) [m for positions, rad: what is left of a rotation, up to half a turn], and ∂e/∂q (rows, nv)."""
        return forces.closure(self, q, v)[:2]

    def closure_rates(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Rates ė = G v and velocity terms Ġ v of the constraints of loop joints, (rows, 2)."""
        return forces.closure(self, q, v)[2]

    def loop_wrench(self, loop: str, q: ArrayLike, multipliers: ArrayLike, *, axes: Axes = "joint") -> Array:
        """Reaction [moment; force] (6,) of a loop joint on its frame b (the opposite acts on a), about b's origin.

        "joint": in the axes of frame a. "world": in world axes.
        """
        return forces.loop_wrench(self, loop, q, multipliers, axes)

    def joint_wrench(
        self,
        link: str | Link,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        u: Inputs = None,
        *,
        multipliers: ArrayLike | None = None,
        axes: Axes = "joint",
    ) -> Array:
        """Wrench [moment; force] [N m, N] that a link gets through its joint, (6,), or (m, 6) for m states in rows.

        Parameters
        ----------
        link : str or Link
            The link that the joint carries; of a rod it is what comes through its root.
        q, v, a : array (nq,), (nv,), (nv,), or (m, …)
            Coordinates, velocities and accelerations; at rest without v and a.
        u : dict, array (nu,) or (m, nu), or None
            Inputs.
        multipliers : array (rows,) or (m, rows)
            Forces of loop joints; needed if there are any.
        axes : {"joint", "world"}
            "joint": those of the joint at zero, fixed to the parent. "world": world axes.

        Notes
        -----
        The moment is about the moved origin of the joint (before `offset_after`); the opposite acts on the parent. It is what all
        that the joint carries needs beyond its loads (MATH §3), and has all that the joint transmits: along its motion the force of
        spring, damper and motor, ``SᵀW = motor + tau − spring − damper``, across it that of the bearings. Tendons along a rod act
        within it, their motors at its root, and do not count; straight stretches of tendons are loads on what they pull.

        Examples
        --------
        >>> print(system.joint_wrench("arm", system.neutral()).round(3))  # 0.28 kg, clamped level
        [ 0.    -0.555  0.     0.     0.     2.774]
        >>> print(pendulum.joint_wrench("rod", [np.pi / 2], [2.0]).round(3) + 0.0)  # m (g + ω² l/2), as it hangs
        [0.    0.    0.    0.    0.    3.243]
        """
        return reactions.joint_wrench(self, link, q, v, a, u, multipliers, axes)

    def magnetic_field(self, points: ArrayLike, q: ArrayLike | None = None, u: Inputs = None) -> Array:
        """Magnetic field (n, 3) [T] at points (n, 3) [m]: of the uniform field, magnets and coils; dipoles make none.

        Parameters
        ----------
        points : array (n, 3)
            In world axes; the field of a source has no value at the source itself.
        q : array (nq,), optional
            Configuration, for sources on links; the neutral one if left out.
        u : inputs, optional
            Currents, strengths and the uniform field; zero if left out.
        """
        return magnetics.magnetic_field(self, points, q, u)

    def contacts(self, q: ArrayLike, v: ArrayLike | None = None, *, within: float = 0.0) -> Contacts:
        """Where the robot touches obstacles, other rods or itself, and the forces that act there.

        Parameters
        ----------
        q : array (nq,)
        v : array (nv,), optional
            Velocity, which damping and friction depend on; at rest if left out.
        within : float
            Also pairs of points that do not touch but are less than this apart [m]; their forces are zero.

        Examples
        --------
        >>> robot = pl.Robot("marble")
        >>> marble = robot.add_body("marble", joint=pl.Free(), shape=pl.Sphere(0.01), mass=0.02)
        >>> floor = robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.0099))
        >>> rolling = robot.add_contact("rolling", marble, "floor", stiffness=1e5, friction=0.3)
        >>> marble = robot.compile()
        >>> print(marble.contacts(marble.neutral(), [0, 0, 0, 1, 0, 0]))  # it slides along x
        1 contact
          rolling: marble on floor at (0, 0, -0.01) m, gap -0.0001 m, normal force 0.1 N, friction 0.03 N
        """
        velocity = self._zero if v is None else self.check_v("v", v)
        return find_contacts(self, self.check_q(q), velocity, non_negative("within", within, unit="m"))

    def stress_forces(self, rod: str | Link, stress: ArrayLike | Callable[[float], ArrayLike]) -> Array:
        """Generalised forces (nv,) of an internal stress Λ(X) in a rod: ∫ΦᵀΛ, for `tau` of solvers ([004] eq. 27)."""
        return forces.stress_forces(self, rod, stress)

    # ------------------------------------------------------------ how good the points along rods are

    def spatial_error(self, q: ArrayLike, u: Inputs = None, *, multipliers: ArrayLike | None = None) -> SpatialError:
        """What the number of points along rods leaves of error in a configuration, by comparison with twice as many.

        Parameters
        ----------
        q : array (nq,)
            The more the rods are bent, the larger the error.
        u : dict, array (nu,) or None
            Inputs, for the equilibrium that they hold.
        multipliers : array (rows,), optional
            Forces of loop joints in that equilibrium.

        Returns
        -------
        SpatialError
            Relative to the length of the rods, with what each rod errs and what to do. The first call compiles the finer system.

        Examples
        --------
        >>> robot = pl.Robot("whip")
        >>> whip = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.005), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3), points=4,
        ... )
        >>> whip = robot.compile()
        >>> rest = pl.solve_statics(whip)  # it hangs down
        >>> error = whip.spatial_error(rest.q, rest.u)
        >>> print(f"{100 * error.value:.1f} % of the length. {error.advice(1e-3)}")
        0.6 % of the length. Use points=7 instead of 4 for rod 'arm'.
        """
        return spatial_error(self, self.check_q(q), u, forces.with_multipliers(self, multipliers))

    @cached_property
    def cut(self) -> Core:
        """The system with a step for every joint that `joint_wrench` reads from."""
        return reactions.cut_system(self)

    @cached_property
    def companion(self) -> Companion:
        """The system with finer rods that `spatial_error` compares with."""
        return Companion(self)

    @cached_property
    def rod_steps(self) -> tuple[RodSteps | None, ...]:
        """What the error of each rod's steps depends on, for `spatial.rough_error`."""
        rods = [info for info in self._assembly.links.values() if info.link.is_rod]
        return tuple(steps_of(info, info.link.content) for info in rods if isinstance(info.link.content, Rod))
