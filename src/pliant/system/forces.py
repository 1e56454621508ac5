"""Tendons, inputs, loop joints and contacts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..kernels import engine
from ..kernels.loads.loops import ANGLE, HELIX
from ..kernels.loads.tendons import T_FORCE, T_LENGTH
from ..model.actuators import InternalStress
from ..model.joints.constraints import UNITS as ROW_UNITS
from ..model.links import Link
from ..model.units import FORCES
from ..model.validate import choice, non_negative, unknown_name
from .contacts import Contacts, find_contacts
from .core import Array, Inputs
from .kinematics import Kinematics

__all__ = ["Forces"]


class Forces(Kinematics):
    """What tendons, inputs, loop joints and contacts do."""

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

    def tendon_tensions(self, q: ArrayLike, v: ArrayLike | None = None, u: Inputs = None) -> Array:
        """Tensions at the motors [N], shape (n,), in the order of adding; of elastic tendons as they follow from length and rate.

        For push rods it is the force, for chambers the pressure [Pa]: the input.

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> cable = robot.add_tendon("cable", arm, z=0.012, control="elastic", stiffness=500.0)
        >>> system = robot.compile()
        >>> print(system.tendon_tensions(system.neutral(), u={"cable": 0.01}).round(9))  # 10 mm pulled in
        [5.]
        """
        velocity = self._zero if v is None else self.check_v("v", v)
        self.run_job(engine.RESIDUAL, self.check_q(q), velocity, u=self.inputs(u))
        return self._work.tension[:, T_FORCE].copy()

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

    @cached_property
    def loop_rows(self) -> tuple[str, ...]:
        """Names of the scalar constraints of all loop joints (of a joint "pin" for instance ``"pin: position x"``)."""
        return tuple(f"{name}: {what}" for name, loop in self._robot.loops.items() for _k, _d, what in loop.rows())

    @property
    def multiplier_units(self) -> tuple[str, ...]:
        """Units of the forces of loop joints, in the order of `loop_rows`."""
        kinds = (kind for loop in self._robot.loops.values() for kind, _data, _what in loop.rows())
        return tuple(FORCES[ROW_UNITS[kind]] for kind in kinds)

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
        >>> import pliant as pl
        >>> robot = pl.Robot("marble")
        >>> marble = robot.add_body("marble", joint=pl.Free(), shape=pl.Sphere(0.01), mass=0.02)
        >>> floor = robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.0099))
        >>> rolling = robot.add_contact("rolling", marble, "floor", stiffness=1e5, friction=0.3)
        >>> system = robot.compile()
        >>> print(system.contacts(system.neutral(), [0, 0, 0, 1, 0, 0]))  # it slides along x
        1 contact
          rolling: marble on floor at (0, 0, -0.01) m, gap -0.0001 m, normal force 0.1 N, friction 0.03 N
        """
        velocity = self._zero if v is None else self.check_v("v", v)
        return find_contacts(self, self.check_q(q), velocity, non_negative("within", within, unit="m"))

    def stress_forces(self, rod: str | Link, stress: ArrayLike | Callable[[float], ArrayLike]) -> Array:
        """Generalised forces (nv,) of an internal stress Λ(X) in a rod: ∫ΦᵀΛ, for `tau` of solvers ([004] eq. 27)."""
        info, grid, content = self._rod(rod)
        at = grid.weights > 0
        values = InternalStress(info.link.name, stress).at(grid.X[at])
        out = np.zeros(self.nv)
        Phi = content.strains.matrix(grid.X[at])
        out[info.rod_v] = np.einsum("m,mai,ma->i", grid.weights[at] * content.length, Phi, values)
        return out
