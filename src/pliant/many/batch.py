"""`batch`: many states, inputs, starts or parameter sets of one robot at once, over all cores."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..model.validate import integer, positive
from ..solve.equilibrium import Equilibrium
from ..solve.resolution import spatial_warning
from ..solve.statics import SPATIAL
from ..system import FrameLike, Reference, System, needs_system
from ..system.processors import all_threads
from . import equilibria, kinematics, linear, motions
from .found import BatchResult
from .task import Options, carry_out

__all__ = ["Batch", "batch"]

_LOOKED_AT = 100_000  # equilibria that are looked at for rods with too few points


def batch(
    system: System,
    *,
    parameters: Mapping[str, ArrayLike] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    memory: float | None = None,
    to: str | os.PathLike[str] | None = None,
) -> Batch:
    """Many states, inputs, starts or parameter sets of one robot at once, over all cores.

    Parameters
    ----------
    system : System
    parameters : dict, optional
        Values of parameters (`System.parameters`) by name, (m,), one for each item, or one number for all.
    threads : int, optional
        How many compute; all processors if left out. What is found does not depend on it.
    progress : bool, optional
        Show a line on stderr; by default only on a terminal.
    memory : float, optional
        Bytes that results in memory and chunks under way may take; half of what is free if left out.
    to : path, optional
        An HDF5 file (``.h5``) or a Zarr store (``.zarr``) to which results are written as they come, for what does not fit into memory. What is there is
        replaced when the new store is complete; a store that another thread or process writes is an error.

    Returns
    -------
    Batch
        Its methods compute.

    Notes
    -----
    Items are the rows of what is given; an array without rows is for all. Each gets exactly the bits that a call of its own gives. What is
    wrong with one (NaN, no convergence, a parameter that is refused) is told with it, `BatchResult.message`, and does not touch others. Ctrl-C ends a batch
    with what is done.

    Examples
    --------
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
    >>> tensions = np.linspace(0.0, 8.0, 5)
    >>> found = pl.batch(system).statics(u={"cable": tensions})
    >>> found["q"].shape, found.success.all()
    ((5, 12), np.True_)
    >>> tips = pl.batch(system).poses("arm.tip", q=found["q"])["pose"][:, 2, 3]
    >>> print((1000 * tips).round(1), "mm")
    [-290.6 -277.2 -261.7 -243.8 -223.5] mm
    >>> softer = pl.batch(system, parameters={"arm.young": [5e5, 1e6, -1.0]}).statics(u={"cable": 5.0})
    >>> softer.status.tolist(), softer.message(2)[:28]
    (['ok', 'ok', 'refused'], "parameter 'arm.young' = -1.0")
    """
    needs_system("batch", system)
    most = all_threads() if threads is None else integer("threads", threads, minimum=1)
    if progress is not None and not isinstance(progress, (bool, np.bool_)):
        raise TypeError(f"progress = {progress!r} must be True or False.")
    budget = None if memory is None else positive("memory", memory, unit="bytes")
    return Batch(system, Options(most, progress, budget, to), parameters)


@dataclass(frozen=True)
class Batch:
    """Computes many items of one robot; made by `batch`."""

    system: System
    options: Options
    parameters: Mapping[str, ArrayLike] | None = field(default=None, repr=False)

    # ------------------------------------------------------------ kinematics

    def poses(self, frame: FrameLike, q: ArrayLike) -> BatchResult:
        """Poses of a frame, ``pose`` (m, 4, 4), in configurations q (m, nq); see `System.pose`."""
        return carry_out(kinematics.poses(self.system, frame, q, self.parameters), self.options)

    def twists(self, frame: FrameLike, q: ArrayLike, v: ArrayLike, *, reference: Reference = "body") -> BatchResult:
        """Poses and twists of a frame, ``pose`` (m, 4, 4) and ``twist`` (m, 6), in states q (m, nq), v (m, nv); see `System.twist`."""
        return carry_out(kinematics.twists(self.system, frame, q, v, reference, self.parameters), self.options)

    def jacobians(self, frame: FrameLike, q: ArrayLike, *, reference: Reference = "body") -> BatchResult:
        """Jacobians of a frame, ``jacobian`` (m, 6, nv), in configurations q (m, nq); see `System.jacobian`."""
        return carry_out(kinematics.jacobians(self.system, frame, q, reference, self.parameters), self.options)

    # ------------------------------------------------------------ statics and linearisation

    def statics(
        self,
        u: Any = None,
        *,
        tau: ArrayLike | None = None,
        start: Any = None,
        motion: Mapping[str, Any] | None = None,
        tolerance: float = 1e-10,
        iterations: int = 60,
        radius: float = 3.0,
        stable: bool = True,
        load_steps: int | None = None,
    ) -> BatchResult:
        """Equilibria: ``q`` (m, nq), ``residual``, ``iterations`` and ``stability`` (m,); see `solve_statics`.

        Parameters
        ----------
        u : array (m, nu) or (nu,), dict of arrays (m,) or numbers by name, or None
            Inputs.
        tau : array (m, nv) or (nv,), optional
            Further generalised forces.
        start : array (m, nq) or (nq,), Equilibrium, or the result of such a batch, optional
            Where to start. Near the equilibrium a few iterations are enough, so that it pays to start from that of a neighbour.
        motion, tolerance, iterations, radius, stable, load_steps
            As of `solve_statics`, for all items.
        """
        wanted = equilibria.Wanted(tolerance, iterations, radius, stable, motion, load_steps)
        found = carry_out(equilibria.statics(self.system, u, tau, start, self.parameters, wanted), self.options)
        if self.parameters is not None:
            return found
        q = np.asarray(found["q"][:_LOOKED_AT])[found.success[:_LOOKED_AT]]
        rough = spatial_warning(self.system, q, SPATIAL)
        return found if rough is None else replace(found, warnings=(rough,))

    def static_jacobians(
        self,
        frame: FrameLike,
        q: ArrayLike,
        u: Any = None,
        *,
        tau: ArrayLike | None = None,
        reference: Reference = "world",
    ) -> BatchResult:
        """Motion of a frame per unit of each input in equilibrium, ``jacobian`` (m, 6, nu), at equilibria q (m, nq) of inputs u; see `static_jacobian`."""
        task = equilibria.static_jacobians(self.system, frame, q, u, tau, reference, self.parameters)
        return carry_out(task, self.options)

    def linearize(
        self, q: ArrayLike, v: ArrayLike | None = None, *, u: Any = None, tau: ArrayLike | None = None
    ) -> BatchResult:
        """Linearisations: ``A`` (m, 2 nv, 2 nv), ``B`` (m, 2 nv, nu) and accelerations ``a`` (m, nv) at states q, v; see `linearize`."""
        return carry_out(linear.linearisations(self.system, q, v, u, tau, self.parameters), self.options)

    # ------------------------------------------------------------ motions

    def rollouts(
        self,
        U: Any = None,
        *,
        step: float | ArrayLike,
        start: Any = None,
        velocity: ArrayLike | None = None,
        keep: Iterable[str] = ("q", "v"),
        frames: Iterable[FrameLike] = (),
        **options: Any,
    ) -> BatchResult:
        """Motions in given steps: states at all times, such as ``q`` (m, n + 1, nq); see `rollout`.

        Parameters
        ----------
        U : array (m, rows, nu) or (rows, nu), dict of arrays (m, rows) or (rows,) by name, or None
            Inputs, one row after the other.
        step : float or array (n,)
            Step, or all steps [s].
        start : array (m, nq) or (nq,), Equilibrium, or the result of a batch of statics, optional
        velocity : array (m, nv) or (nv,), optional
        keep : names out of "q", "v", "a", "u", "multipliers"
            What is kept of the states.
        frames : frame or frames
            Whose positions are kept, ``position`` (m, frames, n + 1, 3) [m].
        **options
            As of `rollout`, for all items: duration, inputs, knots, tau, motion, t0, method, subdivide, tolerance.
        """
        task = motions.rollouts(
            self.system, U, start, velocity, self.parameters, keep, frames, {"step": step, **options}
        )
        return carry_out(task, self.options)

    def gradients(
        self,
        cost: Any,
        U: Any = None,
        *,
        step: float | ArrayLike,
        start: Any = None,
        velocity: ArrayLike | None = None,
        by: Iterable[str] = (),
        equilibrium: Equilibrium | None = None,
        **options: Any,
    ) -> BatchResult:
        """Costs of motions and their gradients: ``value`` (m,), ``u`` (m, rows, nu), ``start`` and ``velocity`` (m, nv); see `Rollout.gradient`.

        Parameters
        ----------
        cost : Cost
        U, step, start, velocity, **options
            As of `rollouts`.
        by : names of parameters
            Derivatives by these are ``parameters`` (m, names).
        equilibrium : Equilibrium, optional
            The start of all, if derivatives by parameters are to include that it moves with them.
        """
        options = {"step": step, **options}
        task = motions.gradients(self.system, cost, U, start, velocity, self.parameters, by, equilibrium, options)
        return carry_out(task, self.options)
