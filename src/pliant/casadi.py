"""Steps, positions and equilibria as functions of CasADi, with exact Jacobians: ``import pliant.casadi``; needs ``pip install 'pliant[casadi]'``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .analysis.linear import static_jacobian
from .gradients.arrays import Recent, check_options
from .gradients.coordinates import position_slopes
from .gradients.rollout import Rollout, rollout
from .gradients.tangent import Direction, push
from .model.validate import integer, positive
from .solve.equilibrium import Equilibrium
from .solve.statics import solve_statics
from .system import FrameLike, System, needs_system

try:
    import casadi
except ImportError:
    raise ImportError("pliant.casadi needs CasADi: pip install 'pliant[casadi]'.") from None

__all__ = ["Map", "position_map", "static_map", "step_map"]

Array = NDArray[np.float64]


class _Side(NamedTuple):
    """The names and sizes of arguments, or of results."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]


class Map(casadi.Callback):
    """A function of vectors with its exact Jacobian, as a function of CasADi; call it with numbers or symbols.

    CasADi does not keep it alive: hold on to it as long as anything that was made of it is in use. It has no second derivatives, so that an optimiser
    needs an approximation of the Hessian, as Ipopt has (``"ipopt.hessian_approximation": "limited-memory"``). Where nothing can be computed (a step that
    Newton's iteration does not get through, no equilibrium) the value is NaN, for which optimisers shorten their step.
    """

    def __init__(
        self,
        name: str,
        given: _Side,
        result: tuple[str, int],
        value: Callable[..., Any],
        slopes: Callable[..., tuple[Array, ...]],
    ) -> None:
        casadi.Callback.__init__(self)
        self.given, self.result, self.value, self.slopes = given, result, value, slopes
        self.jacobians: list[_Jacobian] = []
        self.construct(name, {})

    def get_n_in(self) -> int:
        """How many arguments there are."""
        return len(self.given.sizes)

    def get_n_out(self) -> int:
        """One result."""
        return 1

    def get_name_in(self, i: int) -> str:
        """Names of arguments."""
        return self.given.names[i]

    def get_name_out(self, i: int) -> str:
        """Name of the result."""
        return self.result[0]

    def get_sparsity_in(self, i: int) -> Any:
        """Arguments are columns."""
        return casadi.Sparsity.dense(self.given.sizes[i], 1)

    def get_sparsity_out(self, i: int) -> Any:
        """So is the result."""
        return casadi.Sparsity.dense(self.result[1], 1)

    def eval(self, arguments: list[Any]) -> list[Any]:
        """The value."""
        try:
            return [self.value(*map(_column, arguments))]
        except ArithmeticError:
            return [np.full(self.result[1], np.nan)]

    def has_jacobian(self) -> bool:
        """There is one."""
        return True

    def get_jacobian(self, name: str, inames: list[str], onames: list[str], options: dict[str, Any]) -> Any:
        """The Jacobian as a function of arguments and result; kept here."""
        self.jacobians.append(_Jacobian(name, self, tuple(inames), tuple(onames), options))
        return self.jacobians[-1]


class _Jacobian(casadi.Callback):
    """The blocks of the Jacobian of a `Map`, one for each argument."""

    def __init__(
        self, name: str, of: Map, inames: tuple[str, ...], onames: tuple[str, ...], options: dict[str, Any]
    ) -> None:
        casadi.Callback.__init__(self)
        self.sizes, self.rows, self.slopes = of.given.sizes, of.result[1], of.slopes
        self.names, self.recent = (inames, onames), Recent(1)  # blocks are often asked for one after the other
        self.construct(name, options)

    def get_n_in(self) -> int:
        """Arguments and the result."""
        return len(self.sizes) + 1

    def get_n_out(self) -> int:
        """One block for each argument."""
        return len(self.sizes)

    def get_name_in(self, i: int) -> str:
        """As CasADi asked."""
        return self.names[0][i]

    def get_name_out(self, i: int) -> str:
        """As CasADi asked."""
        return self.names[1][i]

    def get_sparsity_in(self, i: int) -> Any:
        """Columns; the result is not needed."""
        return casadi.Sparsity.dense(self.sizes[i], 1) if i < len(self.sizes) else casadi.Sparsity(self.rows, 1)

    def get_sparsity_out(self, i: int) -> Any:
        """Full blocks."""
        return casadi.Sparsity.dense(self.rows, self.sizes[i])

    def eval(self, arguments: list[Any]) -> list[Any]:
        """The blocks."""
        given = [_column(x) for x in arguments[: len(self.sizes)]]
        try:
            return list(self.recent.of(tuple(x.tobytes() for x in given), lambda: self.slopes(*given)))
        except ArithmeticError:
            return [np.full((self.rows, size), np.nan) for size in self.sizes]


def step_map(system: System, *, step: float, steps: int = 1, name: str = "step", keep: int = 64, **options: Any) -> Map:
    """The state x₁ = F(x₀, u) after one step, or a few, with inputs held, for robots without spherical and free joints and
    prescribed motion. Loops of x₀ are closed first.

    Parameters
    ----------
    system : System
    step : float
        Step [s].
    steps : int
        How many of them.
    name : str
        In CasADi.
    keep : int
        How many motions are kept for their derivatives.
    **options
        Others of `pliant.rollout`: ``method``, ``tau``, ``tolerance``, ``t0``.

    Returns
    -------
    Map
        Of the state x (2 nv,), q and v, and inputs u (nu,), to the state.

    Examples
    --------
    >>> import casadi
    >>> import pliant as pl
    >>> import pliant.casadi
    >>> robot = pl.Robot("pendulum")
    >>> arm = robot.add_body(
    ...     "arm", joint=pl.Revolute("y"), shape=pl.Box(0.2, 0.02, 0.02), mass=0.1, com=(0.1, 0, 0),
    ... )
    >>> motor = robot.add_motor("motor", arm)
    >>> system = robot.compile()
    >>> F = pl.casadi.step_map(system, step=0.01)
    >>> x, u = casadi.MX.sym("x", 2), casadi.MX.sym("u", 1)
    >>> slope = casadi.Function("slope", [x, u], [casadi.jacobian(F(x, u), u)])
    >>> slope([0.1, 0.0], 0.2).shape
    (2, 1)
    """
    needs_system("step_map", system)
    _plain(system, "step_map")
    if system.nz:
        raise ValueError(
            f"step_map: {system.name!r} has loads that remember ({system.nz} internal variables), so that its state is more than q and v: take them out (contact: "
            "stiction=0), or differentiate whole motions with pliant.rollout."
        )
    nv, duration = system.nv, positive("step", step, unit="s") * integer("steps", steps, minimum=1)
    check_options(options, ("method", "tau", "t0", "tolerance"))
    recent = Recent(integer("keep", keep, minimum=1))

    def run(x: Array, u: Array) -> Rollout:
        def compute() -> Rollout:
            return rollout(system, u[None], step=step, duration=duration, start=x[:nv], velocity=x[nv:], **options)

        return recent.of((x.tobytes(), u.tobytes()), compute)

    def value(x: Array, u: Array) -> Array:
        found = run(x, u)
        return np.concatenate([found.q[-1], found.v[-1]])

    def slopes(x: Array, u: Array) -> tuple[Array, Array]:
        return _chained(run(x, u)) if not system.loop_rows else _pushed(run(x, u))

    return Map(name, _Side(("x", "u"), (2 * nv, system.nu)), ("end", 2 * nv), value, slopes)


def position_map(system: System, frame: FrameLike, *, name: str = "position") -> Map:
    """Position of a frame in the world [m], (3,), as a function of the coordinates q (nq,)."""
    needs_system("position_map", system)
    system.place(frame)

    def value(q: Array) -> Array:
        return system.pose(frame, q)[:3, 3]

    def slopes(q: Array) -> tuple[Array]:
        return (position_slopes(system, frame, q[None])[0],)

    return Map(name, _Side(("q",), (system.nq,)), ("position", 3), value, slopes)


def static_map(system: System, frame: FrameLike, *, name: str = "static", keep: int = 64, **options: Any) -> Map:
    """Position of a frame in equilibrium [m], (3,), as a function of the inputs u (nu,); options as in `pliant.solve_statics`."""
    needs_system("static_map", system)
    system.place(frame)
    recent = Recent(integer("keep", keep, minimum=1))

    def rest(u: Array) -> Equilibrium:
        found = recent.of(u.tobytes(), lambda: solve_statics(system, u, **options))
        if not found.success:
            raise ArithmeticError(f"static_map: no equilibrium for u = {u.tolist()}: {found.message}")
        return found

    def value(u: Array) -> Array:
        return system.pose(frame, rest(u).q)[:3, 3]

    def slopes(u: Array) -> tuple[Array]:
        return (static_jacobian(system, rest(u), frame)[3:],)

    return Map(name, _Side(("u",), (system.nu,)), ("position", 3), value, slopes)


def _chained(run: Rollout) -> tuple[Array, Array]:
    """Derivatives of the last state by the first, and by inputs that are held."""
    by_x, by_u = np.eye(2 * run.system.nv), np.zeros((2 * run.system.nv, run.system.nu))
    for A, B in zip(*run.maps()):
        by_x, by_u = A @ by_x, A @ by_u + B
    return by_x, by_u


def _pushed(run: Rollout) -> tuple[Array, Array]:
    """The same for robots with loops, which are closed before the first step."""
    nv, nu = run.system.nv, run.system.nu
    directions = [Direction(start=e) for e in np.eye(nv)] + [Direction(velocity=e) for e in np.eye(nv)]
    found = push(run, directions + [Direction(u=e[None]) for e in np.eye(nu)])
    J = np.array([np.concatenate([change.q[-1], change.v[-1]]) for change in found]).T
    return J[:, : 2 * nv], J[:, 2 * nv :]


def _plain(system: System, function: str) -> None:
    if system.manifold_joints:
        links = ", ".join(repr(link.name) for link in system.robot.links if link.joint.group is not None)
        raise ValueError(
            f"{function}: {system.name!r} has coordinates that are no plain numbers (nq = {system.nq}, nv = {system.nv}): spherical or free joints of "
            f"{links}. Use joints of one axis, such as a chain of Revolute and Prismatic, or pliant.torch or pliant.jax."
        )
    if system.told:
        raise ValueError(
            f"{function}: {system.name!r} has prescribed motion ({', '.join(map(repr, system.told))}), which is no function of a state. "
            "Drive it by motors and tensions, or use pliant.torch or pliant.jax with motion=."
        )


def _column(x: Any) -> Array:
    """A vector of CasADi as an array of its own."""
    return np.array(x, dtype=np.float64).ravel()
