"""The compiled robot: an immutable `System` that answers questions about kinematics and dynamics."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..kernels.loads.tendons import V_REST
from ..kernels.recursion import kinematics as kernels
from ..model.links import Rod
from ..model.robot import Robot
from .arguments import needs_system, numbers
from .contacts import Contacts
from .core import FrameLike, Inputs, Reference
from .dynamics import Algorithm, Dynamics, ForwardDerivatives, InverseDerivatives, LinearSolver
from .energy import Energy, Momentum
from .forces import Forces
from .spatial import Companion, RodSteps, SpatialError, spatial_error, steps_of

__all__ = [
    "Algorithm",
    "Contacts",
    "ForwardDerivatives",
    "FrameLike",
    "Inputs",
    "InverseDerivatives",
    "LinearSolver",
    "Momentum",
    "Reference",
    "SpatialError",
    "System",
    "needs_system",
    "numbers",
]


class System(Forces, Dynamics, Energy):
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
    <System 'arm': nq=12, nv=12, 13 steps>
    >>> system.dof_names[4], system.input_names
    ('arm.bending_y[0]', ('cable',))
    """

    def __init__(self, robot: Robot, *, refine: int = 1) -> None:
        super().__init__(robot, refine=refine)
        self._set_rest()

    def spatial_error(self, q: ArrayLike, u: Inputs = None) -> SpatialError:
        """What the number of points along rods leaves of error in a configuration, by comparison with twice as many.

        Parameters
        ----------
        q : array (nq,)
            The more the rods are bent, the larger the error.
        u : dict, array (nu,) or None
            Inputs, for the equilibrium that they hold.

        Returns
        -------
        SpatialError
            Relative to the length of the rods, with what each rod errs and what to do. The first call compiles the finer system.

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.005), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3), points=4,
        ... )
        >>> system = robot.compile()
        >>> rest = pl.solve_statics(system)  # it hangs down
        >>> error = system.spatial_error(rest.q, rest.u)
        >>> print(f"{100 * error.value:.1f} % of the length. {error.advice(1e-3)}")
        0.6 % of the length. Use points=7 instead of 4 for rod 'arm'.
        """
        return spatial_error(self, self.check_q(q), u)

    @cached_property
    def companion(self) -> Companion:
        """The system with finer rods that `spatial_error` compares with."""
        return Companion(self)

    @cached_property
    def rod_steps(self) -> tuple[RodSteps | None, ...]:
        """What the error of each rod's steps depends on, for `spatial.rough_error`."""
        rods = [info for info in self._assembly.links.values() if info.link.is_rod]
        return tuple(steps_of(info, info.link.content) for info in rods if isinstance(info.link.content, Rod))

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
        kernels.motion(self.tables, self._work, self.neutral(), self._zero, self._zero, pose, twist, accel)
        own = pose[self.contact.point[:, 0]]
        R = own[:, :9].reshape(-1, 3, 3)
        centre = own[:, 9:] + np.einsum("kij,kj->ki", R, self.contact.ball[:, :3])
        reach = self.contact.ball[:, 3]
        s = np.linspace(-1, 1, 9)
        line = centre[:, None] + s[:, None] * (R[:, :, 0] * self.contact.ball[:, 4:5])[:, None]
        for i in range(len(line)):
            gap = np.linalg.norm(line[i][None, :, None] - line[:, None], axis=-1).min(axis=(1, 2))
            self.contact.skip[i, gap < reach[i] + reach] = 1
