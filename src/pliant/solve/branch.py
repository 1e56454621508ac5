"""What continuation finds: a branch of equilibria and its special points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels import engine
from ..model.validate import choice, finite, integer, positive
from ..system import Given, System
from .equilibrium import Equilibrium
from .path_problem import PathOptions, PathProblem
from .result import Statistics
from .stability import assess

__all__ = ["Branch", "SpecialPoint"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SpecialPoint:
    """A point of a branch where something happens.

    Attributes
    ----------
    kind : "limit", "bifurcation" or "end"
        The parameter turns back; another branch crosses; the branch was cut at `stop` or at a bound.
    parameter : float
        λ there.
    q : ndarray (nq,)
    null : ndarray (m, nv)
        Velocity directions along which the tangent stiffness vanishes (none for "end"), of unit length in scaled
        coordinates; they keep loops closed and prescribed joints at rest. m > 1 where several modes become critical at once.
    index : int
        It lies between the points `index` and `index` + 1 of the branch.
    force : float
        Generalised force of a held coordinate; zero otherwise.
    tangent : ndarray (nv + 1,)
        Scaled direction of the branch, the parameter last.
    multipliers : ndarray (rows,)
        Forces of loop joints, in the order of `System.loop_rows`.
    """

    kind: Literal["limit", "bifurcation", "end"]
    parameter: float
    q: Array
    null: Array
    index: int
    force: float
    tangent: Array
    multipliers: Array = field(default_factory=lambda: np.zeros(0))

    def __str__(self) -> str:
        """One line."""
        return f"{self.kind} at {self.parameter:.10g}"


@dataclass(frozen=True)
class Branch:
    """A one-parameter family of equilibria, in the order of tracing.

    Attributes
    ----------
    system : System
        As it was given; see `system_at` where a design parameter varies.
    parameter : ndarray (n,)
        λ.
    q : ndarray (n, nq)
    u : ndarray (n, nu)
        Inputs.
    tau : ndarray (n, nv)
        Further generalised forces, with that of a held coordinate.
    gravity : ndarray (n,)
        Factor of the system's gravity.
    multipliers : ndarray (n, rows)
        Forces of loop joints, in the order of `System.loop_rows`; see `loop_wrenches`.
    negative : ndarray (n,), int
        Negative eigenvalues of the symmetric part of the tangent stiffness, along the directions that loops, prescribed joints
        and a held coordinate leave free.
    stable : ndarray (n,), bool
        Whether the equilibrium is stable, by the criteria of `Equilibrium`: with a potential, whether there are none;
        without one, by the eigenvalues of motion, so that flutter is seen. Neutral points count as stable here.
    residual : ndarray (n,)
        Largest scaled residual relative to the largest scaled force.
    iterations : ndarray (n,), int
        Newton iterations of each point.
    points : tuple of SpecialPoint
        Limit points, bifurcations and the end.
    branches : tuple of Branch
        Branches that were followed from bifurcations because of ``switch=True``.
    success : bool
        Whether `stop` (or the other bound) was reached.
    message : str
        Why the trace ended, and what to try if it failed.
    statistics : Statistics
    """

    system: System
    parameter: Array
    q: Array
    u: Array
    tau: Array
    gravity: Array
    multipliers: Array
    negative: NDArray[np.int64]
    stable: NDArray[np.bool_]
    residual: Array
    iterations: NDArray[np.int64]
    points: tuple[SpecialPoint, ...]
    branches: tuple[Branch, ...]
    success: bool
    message: str
    statistics: Statistics
    _problem: PathProblem = field(repr=False)
    _options: PathOptions = field(repr=False)

    def __len__(self) -> int:
        """Number of equilibria."""
        return len(self.parameter)

    def __str__(self) -> str:
        """A few lines: range, special points, why it ended."""
        if len(self) == 0:
            return f"no equilibria: {self.message}"
        low, high = self.parameter.min(), self.parameter.max()
        head = f"{len(self)} equilibria ({int(self.stable.sum())} stable), parameter {low:.6g} to {high:.6g}"
        return "\n".join([head, *(f"  {p}" for p in self.points), f"  {self.message}; {self.statistics}"])

    def equilibrium(self, k: int) -> Equilibrium:
        """The k-th point as an `Equilibrium`, e.g. to linearise about or to start a simulation from."""
        n = len(self)
        if not -n <= integer("k", k, minimum=-n) < n:
            raise IndexError(f"k = {k} is not allowed: the branch has {n} points.")
        note = f"point of a branch at parameter {self.parameter[k]:.10g}"
        if self.gravity[k] != 1.0:
            note += f", with {self.gravity[k]:.10g} times the system's gravity"
        given = Given(self.multipliers[k], float(self.gravity[k]))
        rows = self._problem.rows(self.q[k])
        system = self.system_at(self.parameter[k])
        verdict = assess(system, self.q[k], self.u[k], self.tau[k], rows, given=given)
        return Equilibrium(
            q=self.q[k].copy(),
            u=self.u[k].copy(),
            tau=self.tau[k].copy(),
            success=True,
            stability=verdict.stability,
            residual=float(self.residual[k]),
            iterations=int(self.iterations[k]),
            load_steps=1,
            message=note,
            multipliers=self.multipliers[k].copy(),
            system=system,
        )

    def system_at(self, parameter: float) -> System:
        """The robot at a value of the parameter: `system`, but where a design parameter varies."""
        return self._problem.vary.design.at(finite("parameter", parameter))

    def loop_wrenches(self, loop: str, *, axes: Literal["joint", "world"] = "joint") -> Array:
        """Reactions [moment; force] of a loop joint along the branch, (n, 6) [N m, N]; see `System.loop_wrench`."""
        rows = [self.system.loop_wrench(loop, q, x, axes=axes) for q, x in zip(self.q, self.multipliers)]
        return np.array(rows).reshape(len(self), 6)

    def prescribed_forces(self) -> dict[str, Array]:
        """Generalised forces that hold prescribed joints, by the name of their motion, each (n, dof) [N m, N].

        Spherical and free joints: moment and force in the axes of the moved frame.
        """
        system = self.system
        forces = np.zeros((len(self), system.nv))
        for k, r in enumerate(forces):
            given = Given(self.multipliers[k], float(self.gravity[k]))
            self.system_at(self.parameter[k]).run_job(
                engine.RESIDUAL, self.q[k], u=self.u[k], tau=self.tau[k], force=r, given=given
            )
        return {name: forces[:, place_v] for name, (_q, place_v, _group) in system.prescribed.items()}

    def special(self, kind: Literal["limit", "bifurcation", "end"]) -> tuple[SpecialPoint, ...]:
        """The special points of one kind."""
        choice("kind", kind, ("limit", "bifurcation", "end"))
        return tuple(p for p in self.points if p.kind == kind)

    def switch(
        self,
        point: SpecialPoint | None = None,
        *,
        sign: float = 1.0,
        direction: ArrayLike | None = None,
        amplitude: float = 0.01,
        **options: Any,
    ) -> Branch:
        """Follow the branch that crosses this one at a bifurcation.

        Parameters
        ----------
        point : SpecialPoint, optional
            Which bifurcation; the first if left out.
        sign : 1 or −1
            Which half of the crossing branch: along the null vector or against it.
        direction : array (nv,), optional
            Velocity direction to leave along instead of ``point.null[0]``; useful if several modes are critical.
        amplitude : float
            First step along it, in scaled coordinates (rad).
        **options
            New values of `stop`, `bounds`, `steps`, `step`, `max_step`, `min_step`, `tolerance`, `iterations`.

        Returns
        -------
        Branch
            Its first point is the bifurcation itself.
        """
        from .tracer import Tracer  # here, since a tracer makes branches

        choice("sign", sign, (1, -1))
        positive("amplitude", amplitude)
        if point is None:
            found = self.special("bifurcation")
            if not found:
                raise ValueError("the branch has no bifurcation to switch at; look at `points`, or trace it further.")
            point = found[0]
        if not isinstance(point, SpecialPoint) or point.kind != "bifurcation":
            raise TypeError(f"point = {point} must be a bifurcation out of `points`.")
        wanted = None if direction is None else self.system.check_v("direction", direction)
        chosen = self._options.renewed(method="arclength", **options)
        tracer = Tracer(self._problem, chosen)
        tracer.leave(point, wanted, float(sign), float(amplitude))
        return tracer.branch()

    def plot(self, quantity: str | Callable[[Array], float], **options: Any) -> Any:
        """Plot a coordinate of a frame, or a function of q, against the parameter; see `pliant.viz.plots.plot_branch`."""
        from ..viz.plots import plot_branch

        return plot_branch(self, quantity, **options)

    def plot_shapes(self, count: int = 8, *, label: str = "parameter", **options: Any) -> Any:
        """Draw equilibria evenly spread over the branch; see `pliant.viz.drawing.plot_configurations`."""
        from ..viz.drawing import plot_configurations

        k = np.unique(np.linspace(0, len(self) - 1, integer("count", count, minimum=1)).round().astype(int))
        systems = [self.system_at(x) for x in self.parameter[k]]
        return plot_configurations(systems, self.q[k], values=self.parameter[k], label=label, **options)
