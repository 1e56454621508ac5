"""The equation of motion and its derivatives."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from ..kernels import engine, slots
from ..kernels.groups import CABLES
from ..kernels.loads import internal
from ..kernels.loads.wrenches import DIPOLE, IN_WORLD, P_FORCE, P_MOMENT
from ..kernels.solve.newton import CONVERGED
from ..model.validate import choice
from .core import Array, Core, Inputs

__all__ = ["Algorithm", "Dynamics", "ForwardDerivatives", "InverseDerivatives", "LinearSolver"]

Algorithm = Literal["auto", "composite", "articulated"]
LinearSolver = Literal["auto", "dense", "tree"]


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


class Dynamics(Core):
    """Inverse and forward dynamics, the equation of motion, and all their derivatives."""

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

        Raises
        ------
        ValueError
            For a robot with loops, whose accelerations also depend on the forces of its loop joints: use `simulate`, whose
            `Result.a` obeys the loops, or `residual` and `closure` for equations of your own.

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
        choice("method", method, ("auto", "composite", "articulated"))
        self._refuse_loops("forward_dynamics")
        return self.tree_acceleration(q, v, tau, u=u, prescribed=prescribed, method=method)

    def tree_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        u: Inputs = None,
        prescribed: ArrayLike | None = None,
        method: Algorithm = "auto",
    ) -> Array:
        """`forward_dynamics` with the forces of loops that are in `multipliers`; for solvers, which find these."""
        given = None if prescribed is None else np.where(self.known, self.check_v("prescribed", prescribed), 0.0)
        q, v = self.check_q(q), self.check_v("v", v)
        forces = self._zero if tau is None else self.check_v("tau", tau)
        a, (S, tree) = np.empty(self.nv), self.mass_storage(method)
        p = np.zeros(engine.PARAMETERS)
        p[slots.OPTION_TREE] = tree
        if self.run_job(engine.FORWARD, q, v, given, self.inputs(u), forces, p=p, S=S, acceleration=a) != CONVERGED:
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
        """Acceleration with ∂a/∂q, ∂a/∂v and ∂a/∂tau = M⁻¹; zero for prescribed coordinates. Not for robots with loops."""
        self._refuse_loops("forward_dynamics_derivatives")
        return self.tree_derivatives(q, v, tau, u=u, prescribed=prescribed)

    def tree_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        u: Inputs = None,
        prescribed: ArrayLike | None = None,
    ) -> ForwardDerivatives:
        """`forward_dynamics_derivatives` for constant forces of loops; see `tree_acceleration`."""
        q, v = self.check_q(q), self.check_v("v", v)
        a = self.tree_acceleration(q, v, tau, u=u, prescribed=prescribed)
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

    def _refuse_loops(self, name: str) -> None:
        """Error for what would ignore that loops are closed."""
        if len(self.loops.row):
            loops = ", ".join(map(repr, self._robot.loops))
            raise ValueError(
                f"{name} is not possible for {self.name!r}: it would ignore its loops ({loops}). Accelerations that obey them are "
                "in Result.a of simulate; linearize and modes respect loops about an Equilibrium; residual and closure give "
                "the equations for a solver of your own."
            )

    def solve_mass(self, q: ArrayLike, b: ArrayLike) -> Array:
        """M(q)⁻¹ b for a vector (nv,) or a matrix (nv, k); M is that of the tree, without loops."""
        b = np.asarray(b, dtype=float)
        if b.shape[:1] != (self.nv,):
            raise ValueError(f"b has shape {b.shape}, but {self.nv} rows are needed (nv of {self.name!r}).")
        return scipy.linalg.cho_solve(self._mass_factor(self.check_q(q)), b, check_finite=False)

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
        block by block in O(N) without forming it, "auto" takes the faster one for this robot. Not for robots with loops,
        whose steps also have the forces of loops as unknowns.
        """
        x, (S, tree) = self.check_v("b", b).copy(), self.step_storage(solver)
        self._refuse_loops("solve_tangent")
        p = np.zeros(engine.PARAMETERS)
        p[slots.OPTION_CV], p[slots.OPTION_CA] = weights
        p[slots.OPTION_TREE] = tree
        state = self.check_q(q), self.check_v("v", v), self.check_v("a", a)
        forces = self._zero if tau is None else self.check_v("tau", tau)
        if self.run_job(engine.SOLVE, *state, self.inputs(u), forces, p=p, S=S, acceleration=x) != CONVERGED:
            raise np.linalg.LinAlgError(f"the tangent of {self.name!r} is singular, or not finite, at this state.")
        return x

    def mass_storage(self, method: Algorithm = "auto") -> tuple[Array, bool]:
        """Memory for the factors of the mass matrix: one square matrix, or the store of `kernels.solve.fronts` and True."""
        choice("method", method, ("auto", "composite", "articulated"))
        if method == "articulated" or (method == "auto" and self._elimination.for_mass):
            return self._store, True
        return np.zeros((1, self.nv, self.nv)), False

    def step_storage(self, solver: LinearSolver = "auto") -> tuple[Array, bool]:
        """Memory for the factors of an implicit step, likewise; error if the tree cannot be eliminated."""
        choice("solver", solver, ("auto", "dense", "tree"))
        reason = self.why_dense()
        if solver == "tree" and reason:
            raise ValueError(f"solver='tree' is not possible for {self.name!r}: {reason}. Use solver='auto'.")
        if solver == "tree" or (solver == "auto" and not reason and self._elimination.for_step):
            return np.zeros((1, *self.fronts.size)), True
        return np.zeros((1, self.nv, self.nv)), False

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
