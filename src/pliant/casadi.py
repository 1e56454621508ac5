"""Steps, positions and equilibria as functions of CasADi, with exact Jacobians: ``import pliant.casadi``; needs ``pip install 'pliant[casadi]'``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .analysis.linear import static_jacobian
from .gradients.arrays import Recent
from .gradients.coordinates import position_slopes
from .gradients.rollout import rollout
from .model.validate import integer, positive
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
    needs an approximation of the Hessian, as Ipopt has (``"ipopt.hessian_approximation": "limited-memory"``).
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
        return [self.value(*map(_column, arguments))]

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
        self.names = inames, onames
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
        return list(self.slopes(*map(_column, arguments[: len(self.sizes)])))


def step_map(system: System, *, step: float, steps: int = 1, name: str = "step", keep: int = 64, **options: Any) -> Map:
    """The state x₁ = F(x₀, u) after one step, or a few, with inputs held, for robots without spherical and free joints.

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
    nv, duration = system.nv, positive("step", step, unit="s") * integer("steps", steps, minimum=1)
    for option in ("duration", "inputs", "knots", "motion", "start", "velocity", "subdivide"):
        if option in options:
            raise TypeError(f"step_map has no option {option!r}: the state and held inputs are its arguments.")
    recent = Recent(integer("keep", keep, minimum=1))

    def run(x: Array, u: Array) -> Any:
        key = x.tobytes(), u.tobytes()
        found = recent.get(key)
        if found is None:
            found = rollout(system, u[None], step=step, duration=duration, start=x[:nv], velocity=x[nv:], **options)
            recent.put(key, found)
        return found

    def value(x: Array, u: Array) -> Array:
        found = run(x, u)
        return np.concatenate([found.q[-1], found.v[-1]])

    def slopes(x: Array, u: Array) -> tuple[Array, Array]:
        by_x, by_u = np.eye(2 * nv), np.zeros((2 * nv, system.nu))
        for A, B in zip(*run(x, u).maps()):
            by_x, by_u = A @ by_x, A @ by_u + B
        return by_x, by_u

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
    """Position of a frame in equilibrium [m], (3,), as a function of the inputs u (nu,); options as in `pliant.solve_statics`.

    Inputs for which no equilibrium is found are an error.
    """
    needs_system("static_map", system)
    system.place(frame)
    recent = Recent(integer("keep", keep, minimum=1))

    def rest(u: Array) -> Any:
        found = recent.get(u.tobytes())
        if found is None:
            found = solve_statics(system, u, **options)
            if not found.success:
                raise ArithmeticError(f"static_map: no equilibrium for u = {u.tolist()}: {found.message}")
            recent.put(u.tobytes(), found)
        return found

    def value(u: Array) -> Array:
        return system.pose(frame, rest(u).q)[:3, 3]

    def slopes(u: Array) -> tuple[Array]:
        return (static_jacobian(system, rest(u), frame)[3:],)

    return Map(name, _Side(("u",), (system.nu,)), ("position", 3), value, slopes)


def _plain(system: System, function: str) -> None:
    if system.manifold_joints:
        links = ", ".join(repr(link.name) for link in system.robot.links if link.joint.group is not None)
        raise ValueError(
            f"{function}: {system.name!r} has coordinates that are no plain numbers (nq = {system.nq}, nv = {system.nv}): spherical or free joints of "
            f"{links}. Use joints of one axis, such as a chain of Revolute and Prismatic, or pliant.torch or pliant.jax."
        )


def _column(x: Any) -> Array:
    """A vector of CasADi as an array of its own."""
    return np.array(x, dtype=np.float64).ravel()
