"""What every time integrator is given, and what it has to do: the base of the methods of `simulate`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...system import LinearSolver, System
from ..crawl import Clock
from ..drive import Drive
from ..interpolate import between
from ..limits import StepOptions
from ..motion import MotionSet
from ..result import Statistics

__all__ = ["Integrator", "Problem", "Steps", "frequencies", "refuse_control", "refuse_memory"]

Array = NDArray[np.float64]
_LARGE = 400  # degrees of freedom


def frequencies(system: System, q: Array, u: Array, tau: Array) -> Array:
    """√(K/M) of each coordinate by itself [1/s]; unbounded for robots too large to look at every entry.

    A velocity matters only beyond what vibrations of the tolerated size have at such a frequency (`kernels.solve.esdirk.set_weights`).
    """
    rest = np.zeros(system.nv)
    if system.nv > _LARGE:
        return np.full(system.nv, 1e30)
    K = np.diag(system.residual_tangent(q, rest, rest, u, tau, weights=(1.0, 0.0, 0.0)))
    M = np.diag(system.mass_matrix(q))
    return np.asarray(np.sqrt(np.maximum(K, 0.0) / np.where(M > 0.0, M, np.inf)))


def refuse_memory(system: System, method: str) -> None:
    """Error for a method that does not integrate internal variables."""
    if system.nz:
        raise ValueError(
            f"method {method!r} does not integrate internal variables, and {system.name!r} has {system.nz} (friction that sticks, materials with "
            "memory, ...): leave it out for the default, which does, or take them out of the robot (contact: stiction=0)."
        )


def refuse_control(drive: Drive, method: str) -> None:
    """Error for a method that does not integrate states of controllers."""
    if drive.control is not None:
        raise ValueError(
            f"method {method!r} knows no controllers (Controller, PID, Lag, Observer, Sampled): leave it out for the default, which integrates them "
            "with the robot, or give u as a function of (t, state)."
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """A motion to be computed: where it starts, what drives it, and how accurately.

    Attributes
    ----------
    system : System
    drive : Drive
        ``u, tau = drive(t, q, v)``.
    motion : MotionSet
        Prescribed joints and tendon lengths.
    t, end : float
        Initial and final time [s].
    q, v : ndarray (nq,), (nv,)
        Initial state, which obeys loops and prescribed motion.
    steps : StepOptions
        Constant, largest and first step, Newton's tolerance; None where the user left them out.
    rtol, atol : float
        Tolerances of the local error.
    solver : {"auto", "dense", "tree"}
    statistics : Statistics
        To be counted up.
    clock : Clock
        ``clock.check()`` ends the run when its wall time is over; call it now and then.
    a : ndarray (nv,) or None
        Initial acceleration of a run that goes on from another; None to compute it from the forces.
    memory : ndarray (nz,) or None
        Initial internal variables of loads; None if nothing has happened yet.
    control : ndarray or None
        States of the controller, of a run that goes on from another; None where it is switched on.
    breaks : tuple of float
        Times [s] where steps are to end, as the user declares them.
    subdivide : bool
        Whether a constant step that cannot be taken may be gone through in parts.
    rho, project, baumgarte
        Options of single methods.
    """

    system: System
    drive: Drive
    motion: MotionSet
    t: float
    end: float
    q: Array
    v: Array
    steps: StepOptions
    rtol: float
    atol: float
    solver: LinearSolver
    statistics: Statistics
    clock: Clock
    a: Array | None = None
    memory: Array | None = None
    control: Array | None = None
    breaks: tuple[float, ...] = ()
    subdivide: bool = False
    rho: float = 0.8
    project: bool = False
    baumgarte: float = 0.02


class Steps(NamedTuple):
    """Accepted steps, n of them: row 0 of each array is where the first begins, row k + 1 is the end of step k."""

    t: Array  # (n + 1,) s
    q: Array  # (n + 1, nq)
    v: Array  # (n + 1, nv)
    a: Array  # (n + 1, nv)
    u: Array  # (n + 1, nu)
    tau: Array  # (n + 1, nv)
    multipliers: Array  # (n + 1, loop rows)
    memory: Array  # (n + 1, nz) internal variables of loads
    control: Array  # (n + 1, states) states of controllers
    energy: Array  # (n + 1, 5) of `kernels.solve.balance`; not a number where they were not computed
    smooth: Array  # (n + 1,) 1 where the step that begins in this row may be interpolated with the accelerations of its ends


class Integrator:
    """A time integrator: it holds a state and advances it by accepted steps.

    A method is a class derived from this one, with an `advance`. `simulate` does the rest: outputs, events, the watch over
    energy, checkpoints, interruptions. ``simulate(system, 2.0, method=Mine)`` takes the class itself.

    Parameters
    ----------
    problem : Problem

    Attributes
    ----------
    name : str
        Shown as `Result.method`.
    t : float
        Time [s].
    q, v, a : ndarray (nq,), (nv,), (nv,)
        State and acceleration at t.
    tensions : dict
        Inputs that are unknowns, by their number.
    multipliers : ndarray (rows,)
        Forces of loop joints, one per constraint.
    memory : ndarray (nz,)
        Internal variables of loads.
    control : ndarray (states,)
        States of the controller.
    applied : (ndarray (nu,), ndarray (nv,))
        Inputs and forces at the end of the last step, as the step had them.
    batch : int
        How many steps may be tried before `advance` comes back, for a method that takes several at a time; at most `ROOM`.
    watch : int
        What is wanted of energies in `Steps`: nothing (0), energies now and then (1), energies and power of every step (2). A method may
        leave them out.
    """

    ROOM = 64  # steps in one batch
    name = ""
    batch = 8
    watch = 0
    t: float
    q: Array
    v: Array
    a: Array
    tensions: dict[int, float]
    multipliers: Array
    memory: Array = np.zeros(0)
    control: Array = np.zeros(0)
    applied: tuple[Array, Array]

    def __init__(self, problem: Problem) -> None:
        system = problem.system
        if system.loop_rows or problem.motion.active:
            raise ValueError(
                f"method {self.name or type(self).__name__!r} knows neither loops nor prescribed motion; leave it out for the default, which does."
            )
        refuse_memory(system, self.name or type(self).__name__)
        refuse_control(problem.drive, self.name or type(self).__name__)
        self.problem, self.system = problem, system
        self.t, self.q, self.v = problem.t, problem.q.copy(), problem.v.copy()
        self.tensions, self.multipliers = {}, np.zeros(0)
        self.applied = problem.drive(self.t, self.q, self.v)
        self.a = system.forward_dynamics(self.q, self.v, self.applied[1], u=self.applied[0])
        self._before = self.row()

    def row(self) -> Steps:
        """The present state as one row of `Steps`."""
        u, tau = self.applied
        u = u.copy()
        for index, tension in self.tensions.items():
            u[index] = tension
        parts = (self.q, self.v, self.a, self.multipliers, self.memory, self.control)
        q, v, a, forces, memory, control = (x.copy()[None] for x in parts)
        return Steps(
            np.array([self.t]),
            q,
            v,
            a,
            u[None],
            tau.copy()[None],
            forces,
            memory,
            control,
            np.full((1, 5), np.nan),
            np.zeros(1),
        )

    @property
    def taken(self) -> Steps:
        """The steps of the last `advance`; one, unless a method takes more at a time."""
        return Steps(*(np.concatenate(pair) for pair in zip(self._before, self.row())))

    def accept(self, t: float, q: Array, v: Array, a: Array) -> None:
        """Make a step's end the present state; the inputs there are asked for."""
        self._before = self.row()
        self.t, self.q, self.v, self.a = t, q, v, a
        self.applied = self.problem.drive(t, q, v)
        self.problem.statistics.steps += 1

    def advance(self, end: float) -> str | None:
        """One accepted step (or several), not beyond `end`. Returns None, or why it failed and what to try."""
        raise NotImplementedError

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """q, v and a at increasing times within the last steps, each with a row per time; by Hermite interpolation."""
        s = self.taken
        return between(self.system, s.t, s.q, s.v, s.a, s.smooth, times)

    def notes(self) -> list[str]:
        """What was done other than asked for, as sentences."""
        return []

    def tally(self) -> Counter[tuple[int, bool]] | None:
        """How often each coordinate limited a step since the last call: by its error (True), or since Newton's iteration failed.

        The first call starts counting. None where the integrator does not tell.
        """
        return None
