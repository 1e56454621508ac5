"""`rollout`: a motion in given steps, all of it kept, that can be differentiated exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.validate import choice, finite, flag, integer, positive, reals, unknown_name, vector
from ..solve.equilibrium import Equilibrium
from ..solve.methods.tableau import EULER, MIDPOINT, SDIRK2, SDIRK3, Tableau
from ..solve.remembered import initial_memory
from ..solve.result import Result, Statistics
from ..solve.simulate import initial_state
from ..system import FrameLike, System, needs_system
from .costs.cost import as_cost
from .costs.quantity import Quantity
from .costs.states import States, Variation
from .gradient import Gradient, Pulled, gradient, pull, states_of
from .memory import Memory
from .parameters import difference
from .plan import Part, Plan
from .schedule import Interpolation, Schedule
from .tangent import Direction, maps, push

__all__ = ["METHODS", "Rollout", "RolloutError", "rollout"]

Array = NDArray[np.float64]
Method = Literal["sdirk2", "sdirk3", "midpoint", "euler"]
METHODS: dict[str, Tableau] = {tableau.name: tableau for tableau in (SDIRK2, SDIRK3, MIDPOINT, EULER)}
"""Methods without memory: the end of a step follows from the state at its start and its inputs alone."""


class RolloutError(ArithmeticError):
    """A step could not be taken; `run` has what was computed before it."""

    def __init__(self, message: str, run: Rollout) -> None:
        super().__init__(message)
        self.run = run


@dataclass(frozen=True, eq=False)
class Rollout:
    """A motion in given steps.

    Attributes
    ----------
    system : System
    t : ndarray (n + 1,)
        Times of the states [s]; the first is the start.
    q, v : ndarray (n + 1, nq), (n + 1, nv)
        Coordinates and velocities.
    u, tau : ndarray (n + 1, nu), (n + 1, nv)
        Inputs and further generalised forces that act at the end of each step (row 0: at the start), with the tensions of tendons of prescribed
        length.
    U : ndarray (m, nu)
        The rows of inputs that were given.
    a, multipliers : ndarray (n + 1, nv), (n + 1, rows)
        Accelerations and forces of loops at the last stages of the steps.
    remembered : ndarray (n + 1, nz)
        Internal variables of loads.
    method : str
    warnings : tuple of str
        What was done other than asked for.
    statistics : Statistics
    """

    system: System
    t: Array
    q: Array
    v: Array
    u: Array
    tau: Array
    U: Array
    method: str
    schedule: Schedule
    warnings: tuple[str, ...]
    statistics: Statistics
    plan: Plan = field(repr=False)
    parts: tuple[Part, ...] = field(repr=False)
    a: Array = field(repr=False)
    multipliers: Array = field(repr=False)
    remembered: Array = field(repr=False)

    @property
    def memory(self) -> Memory:
        """The record of all stages; error if they were not kept."""
        if len(self.parts) != 1 or self.parts[0].memory is None:
            raise ValueError(
                "this needs the stages of all steps, which were not kept: roll out without `checkpoint`, or use gradient or pull."
            )
        return self.parts[0].memory

    def __len__(self) -> int:
        """Number of steps."""
        return len(self.t) - 1

    def __str__(self) -> str:
        """A few lines: what was run, how fast."""
        lines = [
            f"{self.system.name}: {self.t[-1] - self.t[0]:.6g} s in {len(self)} steps of {self.method}",
            f"  {self.statistics}",
            *(f"  warning: {text}" for text in self.warnings),
        ]
        return "\n".join(lines)

    def poses(self, frame: FrameLike) -> Array:
        """Pose of a frame at every time, (n + 1, 4, 4)."""
        return self.system.pose(frame, self.q)

    def positions(self, frame: FrameLike) -> Array:
        """Position of a frame at every time [m], (n + 1, 3)."""
        return self.poses(frame)[:, :3, 3]

    def result(self) -> Result:
        """The motion as a `Result`, to plot, view and save it; accelerations are those of the last stages."""
        return Result(
            self.system, self.t, self.q, self.v, self.a, self.u, self.tau, True, "completed", statistics=self.statistics, method=self.method,
            warnings=self.warnings, multipliers=self.multipliers, memory=self.remembered,
        )  # fmt: skip

    # ------------------------------------------------------------ derivatives

    @property
    def states(self) -> States:
        """The states as costs and quantities see them."""
        return states_of(self)

    def cost(self, cost: Any) -> float:
        """The value of a cost."""
        return as_cost(cost).evaluate(self.states).value

    def gradient(self, cost: Any, *, equilibrium: Equilibrium | None = None) -> Gradient:
        """The gradient of a cost by inputs, start and every parameter: exact for the motion as it was computed.

        Parameters
        ----------
        cost : Cost, or a list of them
            For instance ``pl.Reach("arm.tip", goal) + 1e-4 * pl.Effort()``; see `pliant.costs`.
        equilibrium : Equilibrium, optional
            The start, if derivatives by parameters are to include that it moves with them; otherwise it is held fixed.

        Notes
        -----
        The KeyboardInterrupt of Ctrl-C has `resume`, a function that goes on with the parts of the motion that remain (``rollout(checkpoint=…)``)
        and returns the gradient.

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
        >>> run = pl.rollout(system, np.full((20, 1), 5.0), step=0.01, start=pl.solve_statics(system))
        >>> g = run.gradient(pl.Reach("arm.tip", (0.38, 0.0, 0.1)) + 1e-4 * pl.Effort())
        >>> g.u.shape, g.start.shape, g.velocity.shape
        ((20, 1), (12,), (12,))
        >>> bool(g["arm.young"] == g.parameters["arm.young"])
        True
        """
        return gradient(self, cost, equilibrium)

    def pull(self, q: ArrayLike | None = None, v: ArrayLike | None = None, u: ArrayLike | None = None) -> Pulled:
        """Derivatives of anything by inputs, start and parameters, from those by the states: the transposed product (reverse mode).

        Parameters
        ----------
        q, v, u : array (n + 1, nv), (n + 1, nv), (n + 1, nu), optional
            Derivatives by coordinates (along the manifold), velocities and applied inputs of every state; zero if left out.
        """
        n, system = len(self.t), self.system
        sizes = {"q": (q, system.nv), "v": (v, system.nv), "u": (u, system.nu)}
        rows = [np.zeros((n, size)) if x is None else vector(name, x, (n, size)) for name, (x, size) in sizes.items()]
        return pull(self, Variation(*rows))

    def push(
        self,
        u: ArrayLike | None = None,
        start: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        parameters: Mapping[str, float] | None = None,
        remembered: ArrayLike | None = None,
    ) -> Variation:
        """The change of all states with a change of inputs, start and parameters (forward mode).

        Parameters
        ----------
        u : array (m, nu), optional
            Change of the rows of inputs.
        start, velocity : array (nv,), optional
            Change of the start, along the manifold, and of the initial velocity.
        parameters : dict, optional
            Changes of parameters by name.
        remembered : array (nz,), optional
            Change of what loads remember at the start.

        Returns
        -------
        Variation
            Changes q, v (n + 1, nv), along the manifold, and u (n + 1, nu) of the applied inputs.
        """
        return push(self, [self._direction(u, start, velocity, parameters, remembered)])[0]

    def _direction(self, u: Any, start: Any, velocity: Any, parameters: Any, remembered: Any = None) -> Direction:
        nv = self.system.nv
        for name in parameters or {}:
            if name not in self.system.parameters:
                raise unknown_name("parameter", str(name), self.system.parameters)
        return Direction(
            None if u is None else vector("u", u, self.U.shape),
            None if start is None else vector("start", start, (nv,)),
            None if velocity is None else vector("velocity", velocity, (nv,)),
            None if remembered is None else vector("remembered", remembered, (self.system.nz,)),
            parameters,
        )

    def sensitivities(self, names: Iterable[str]) -> dict[str, Variation]:
        """The changes of all states with a unit of some parameters, by name, in one pass forward."""
        found = {name: self._direction(None, None, None, {name: 1.0}) for name in names}
        return dict(zip(found, push(self, list(found.values()))))

    def jacobian(self, quantity: Quantity, names: Iterable[str]) -> Array:
        """Derivatives of a quantity (`pliant.costs`) at every state by some parameters, (n + 1, m, k), with the start held fixed.

        For least squares: ``run.jacobian(pl.costs.Position("arm.tip"), ["arm.young", "arm.viscosity"])``.
        """
        found, states = self.sensitivities(names), self.states
        here = quantity.evaluate(states)

        def value(other: System) -> Array:
            return quantity.evaluate(replace(states, system=other)).value

        columns = [
            here.push(change) + difference(self.system, self.system._parameters[name], value)
            for name, change in found.items()
        ]
        return np.stack(columns, axis=-1) if columns else np.zeros((*here.value.shape, 0))

    def maps(self) -> tuple[Array, Array]:
        """Derivatives of every step: of the state (δq, δv) at its end by that at its start, and by the inputs that are held in it.

        They are those between the states of the motion; that the start is projected onto its constraints is not part of the first. Where loads remember
        (friction that sticks), the state is (δq, δv, δz) with their nz internal variables: a map of q and v alone would not be one.

        Returns
        -------
        A : ndarray (n, 2 nv + nz, 2 nv + nz)
        B : ndarray (n, 2 nv + nz, nu)
        """
        return maps(self)

    def gauss_newton(self, cost: Any, u: ArrayLike) -> Array:
        """The product of the Gauss–Newton matrix of a cost (of a sum of squares JᵀJ) with a change of the rows of inputs, (m, nu)."""
        found = as_cost(cost).evaluate(self.states)
        curved = found.gauss_newton(self.push(u=u))
        return self.pull(*curved).u

    def halved(self) -> Rollout:
        """The same motion with every step halved: what differs is about the error of the steps (¾ of it for a method of second order)."""
        return carry_out(
            self.plan.halved(), None if self.parts[0].memory is not None else len(self.parts[0].plan.times)
        )

    def error(self, frame: FrameLike) -> float:
        """Estimated largest error of a frame's position [m], from a motion with every step halved."""
        fine = self.halved()
        order = METHODS[self.method].order
        off = np.linalg.norm(self.positions(frame) - fine.positions(frame)[::2], axis=1).max()
        return float(off * 2**order / (2**order - 1))


def subdivisions(plan: Plan, times: Array) -> tuple[str, ...]:
    """What to say of steps that were subdivided."""
    if len(times) < 2:
        return ()
    parts = np.bincount(replace(plan, times=times).outer_step())  # of each step that was asked for
    split = np.flatnonzero(parts > np.bincount(plan.outer_step())[: len(parts)])
    if not len(split):
        return ()
    first, worst = plan.outer[split[0]], plan.outer[np.argmax(parts)]
    return (
        f"{len(split)} of {len(parts)} steps were subdivided, the first at t = {first:.6g} s and the worst, at t = {worst:.6g} s, into {parts.max()} "
        "parts; states and derivatives are those of the parts.",
    )


def carry_out(plan: Plan, checkpoint: int | None = None) -> Rollout:
    """Compute the motion of a plan; error with what was computed if a step cannot be taken."""
    parts, ends, statistics, failure = plan.parts(checkpoint)
    nu = plan.system.nu
    run = Rollout(
        plan.system, ends.t, ends.q, ends.v, ends.u[:, :nu], ends.u[:, nu:], plan.U, plan.tableau.name, plan.schedule,
        (*filter(None, [parts[0].begin.said]), *subdivisions(plan, ends.t)), statistics, replace(plan, times=ends.t), tuple(parts), ends.a, ends.force, ends.memory,
    )  # fmt: skip
    if failure is not None and failure.interrupted:
        stop = KeyboardInterrupt(failure.message)
        stop.run = run  # type: ignore[attr-defined]
        raise stop
    if failure is not None:
        raise RolloutError(failure.message, run)
    return run


def rollout(
    system: System,
    U: ArrayLike | Mapping[str, Any] | None = None,
    *,
    step: float | ArrayLike,
    duration: float | None = None,
    inputs: Interpolation = "hold",
    knots: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    motion: Mapping[str, Any] | None = None,
    start: Any = None,
    velocity: ArrayLike | None = None,
    t0: float | None = None,
    method: Method = "sdirk2",
    subdivide: bool = False,
    tolerance: float = 1e-10,
    checkpoint: int | None = None,
) -> Rollout:
    """A motion in given steps, all of it kept, that can be differentiated exactly.

    Parameters
    ----------
    system : System
    U : array (m, nu), dict of arrays (m,) by name, or None
        Inputs, one row after the other; zero if left out. A vector (nu,) acts all the time.
    step : float or array (n,)
        Step, or all steps [s]. They stay as they are: a step that Newton's iteration does not get through is an error with its number.
    duration : float, optional
        Simulated time [s]; by default as many steps as U has rows (hold) or intervals between them.
    inputs : {"hold", "linear", "spline"}
        How the rows act: each for an equal share of the time (by default one step), or as values at equally spaced knots with straight lines or a
        cubic spline in between.
    knots : array (m,), optional
        Times [s] from which rows act (hold), or at which they are reached, instead of equal shares.
    tau : array (nv,) or (n, nv), optional
        Further generalised forces, constant or in each step.
    motion : dict, optional
        Prescribed joints, loops and tendon lengths, as in `simulate`.
    start, velocity, t0
        As in `simulate`. Loops are closed, and lengths of tendons reached, by a projection of the start.
    method : {"sdirk2", "sdirk3", "midpoint", "euler"}
        One-step methods without memory, of second order (L-stable, the default), third order (L-stable), second order without damping, first order.
    subdivide : bool
        Go through a step that cannot be taken in four parts (and these again). The parts are steps like the others, in the result and in its
        derivatives, and the warnings say which they are.
    tolerance : float
        Where Newton's iteration stops, in natural sizes of the coordinates. Derivatives are exact for the converged motion: with the default they were
        within 2e-9 of the largest, with 1e-11 within 2e-10 on the robots of benchmarks/gradients.py.
    checkpoint : int, optional
        Keep only the states, and compute the stages of so many steps at a time again when a gradient is asked for. For 4000 steps of the manipulator
        of [002] in parts of 50 a gradient needs a sixth of the memory (7.5 MB) and 1.6 times the time. `push` and `maps` need all stages.

    Returns
    -------
    Rollout

    Raises
    ------
    RolloutError
        If a step cannot be taken; its attribute `run` has the steps before, as has that of the KeyboardInterrupt of Ctrl-C.
    TypeError, ValueError, KeyError
        If what is asked for is wrong or impossible.

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
    >>> rest = pl.solve_statics(system)
    >>> run = pl.rollout(system, np.full((50, 1), 5.0), step=0.01, start=rest)
    >>> run.q.shape, run.positions("arm.tip").shape
    ((51, 12), (51, 3))
    """
    plan = plan_of(
        system, U, step=step, duration=duration, inputs=inputs, knots=knots, tau=tau, motion=motion, start=start, velocity=velocity, t0=t0, method=method,
        subdivide=subdivide, tolerance=tolerance,
    )  # fmt: skip
    return carry_out(plan, None if checkpoint is None else integer("checkpoint", checkpoint, minimum=1))


def plan_of(
    system: System,
    U: Any,
    *,
    step: Any,
    duration: float | None = None,
    inputs: Interpolation = "hold",
    knots: Any = None,
    tau: Any = None,
    motion: Mapping[str, Any] | None = None,
    start: Any = None,
    velocity: Any = None,
    t0: float | None = None,
    method: Method = "sdirk2",
    subdivide: bool = False,
    tolerance: float = 1e-10,
) -> Plan:
    """What a rollout is told, checked; arguments as of `rollout`."""
    needs_system("rollout", system)
    choice("method", method, METHODS)
    choice("inputs", inputs, ("hold", "linear", "spline"))
    q, v, begin = initial_state(system, start, velocity, t0)
    rows = _rows(system, U)
    times = _times(begin, step, duration, len(rows), inputs, given=U is not None and np.ndim(rows) == 2)
    schedule = Schedule(_knots(knots, times, len(rows), inputs), inputs)
    return Plan(
        system, METHODS[method], times, times, schedule, rows, _tau(system, tau, len(times) - 1), q, v, initial_memory(system, start), motion,
        positive("tolerance", tolerance), flag("subdivide", subdivide),
    )  # fmt: skip


def _rows(system: System, U: Any) -> Array:
    """Inputs as (m, nu); a constant is one row."""
    if U is None:
        return np.zeros((1, system.nu))
    if isinstance(U, Mapping):
        columns = {name: np.atleast_1d(reals(f"U[{name!r}]", value)) for name, value in U.items()}
        unknown = [name for name in columns if name not in system.input_names]
        if unknown:
            system.inputs({unknown[0]: 0.0})  # its error names what there is
        m = max((len(column) for column in columns.values()), default=1)
        out = np.zeros((m, system.nu))
        for name, column in columns.items():
            if column.ndim != 1 or len(column) not in (1, m):
                raise ValueError(
                    f"U[{name!r}] has shape {column.shape}, but ({m},) is needed, as other inputs have, or one number."
                )
            out[:, system.input_names.index(name)] = column
    else:
        out = np.array(reals("U", U), dtype=float)  # a copy: writeable and contiguous, whatever it was
        out = out[None] if out.ndim == 1 else out
        if out.ndim != 2 or out.shape[1] != system.nu or not len(out):
            names = ", ".join(system.input_names) or "no inputs"
            raise ValueError(f"U has shape {np.shape(U)}, but (rows, {system.nu}) is needed: {names}.")
    if not np.all(np.isfinite(out)):
        row, k = np.argwhere(~np.isfinite(out))[0]
        raise ValueError(f"U[{row}, {k}] = {out[row, k]} ({system.input_names[k]!r}) must be finite.")
    for row in (out.min(axis=0), out.max(axis=0)):
        system.inputs(row)  # within their bounds
    return out


def _times(begin: float, step: Any, duration: float | None, rows: int, inputs: str, *, given: bool) -> Array:
    steps = np.array(reals("step", step), dtype=float)
    if steps.ndim > 1 or not np.all(np.isfinite(steps)) or not np.all(steps > 0) or not steps.size:
        raise ValueError(f"step = {step!r} must be a positive number [s], or an array of them, one for each step.")
    if steps.ndim == 1:
        if duration is not None and abs(steps.sum() - finite("duration", duration, unit="s")) > 1e-9 * steps.sum():
            raise ValueError(f"duration = {duration:g} s, but the steps sum up to {steps.sum():g} s. Leave it out.")
        return begin + np.concatenate([[0.0], np.cumsum(steps)])
    if duration is None:
        if not given or (rows == 1 and inputs != "hold"):
            raise ValueError("duration is needed: U does not tell how many steps there are.")
        n = rows if inputs == "hold" else rows - 1
    else:
        whole = positive("duration", duration, unit="s") / float(steps)
        n = round(whole)
        if n < 1 or abs(whole - n) > 1e-6 * whole:
            raise ValueError(
                f"duration = {duration:g} s is no whole number of steps of {float(steps):g} s; use step = {duration / max(1, round(whole)):.9g} s."
            )
    return np.asarray(begin + float(steps) * np.arange(n + 1), dtype=np.float64)


def _knots(knots: Any, times: Array, rows: int, inputs: str) -> Array:
    n, begin, end = len(times) - 1, float(times[0]), float(times[-1])
    if knots is None:
        if inputs != "hold":
            return np.linspace(begin, end, rows)
        if rows == n:
            return times[:-1].copy()
        found = begin + (end - begin) * np.arange(rows) / rows
    else:
        found = np.array(reals("knots", knots), dtype=float)
        if found.shape != (rows,) or not np.all(np.diff(found) > 0):
            raise ValueError(
                f"knots must be {rows} increasing times [s], one for each row of U; got shape {found.shape}."
            )
        slack = 1e-9 * max(1.0, abs(end))
        if found[0] > begin + slack or (inputs != "hold" and found[-1] < end - slack):
            raise ValueError(
                f"knots from {found[0]:g} to {found[-1]:g} s do not cover the motion from {begin:g} to {end:g} s."
            )
    if inputs == "hold":
        inside = found[(found > begin) & (found < end)]
        off = np.abs(inside[:, None] - times).min(axis=1, initial=np.inf) if len(inside) else np.zeros(0)
        if np.any(off > 1e-9 * max(1.0, abs(end))):
            raise ValueError(
                f"inputs jump at t = {inside[np.argmax(off)]:.9g} s, within a step: {rows} rows of U share {n} steps. Choose numbers that divide, or knots at "
                "the ends of steps."
            )
    return found


def _tau(system: System, tau: Any, n: int) -> Array:
    if tau is None:
        return np.zeros(system.nv)
    out = np.array(reals("tau", tau), dtype=float)
    if out.shape not in ((system.nv,), (n, system.nv)) or not np.all(np.isfinite(out)):
        raise ValueError(
            f"tau has shape {out.shape}, but ({system.nv},) or ({n}, {system.nv}) finite numbers are needed."
        )
    return out
