"""Energy shaping: a new potential whose minimum is the goal, and damping."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...gradients.costs.energy import Energy
from ...gradients.costs.states import States
from ...model.validate import reals, vector
from ...solve.equilibrium import Equilibrium
from ...solve.stability import free_directions, name_directions
from ...system import System
from .compensated_pd import goal_inputs
from .law import Law, StateLike, refuse, require_affine
from .outputs import ActuationCoordinates, Outputs

__all__ = ["EnergyShaping"]

Array = NDArray[np.float64]


class EnergyShaping(Law):
    """Gives the robot a potential whose minimum is the goal, ``H = T + U(q) + Φ(y)``, and takes energy out: ``u = −Φ′(y) − kd ẏ``.

    Φ is ½ kp (y − y*)² − u* (y − y*) in the actuation coordinates y, and goes on as a straight line where its force would leave
    the bounds. So the law holds any equilibrium that springs at the inputs can hold, also one that is unstable by itself.

    Parameters
    ----------
    system : System
        Its only forces beside inputs and damping are elasticity and weight.
    goal : Equilibrium or coordinates (nq,)
        Stable or not.
    kp, kd : float or array (nu,)
        Stiffness [N/m, N m/rad] and damping [N s/m, N m s/rad] at each input; kd > 0.
    bounds : pair, or dict of pairs, optional

    Attributes
    ----------
    stiffness : float
        The smallest eigenvalue of the stiffness with control at the goal, in scaled coordinates; positive.

    Raises
    ------
    ValueError
        If other forces act, inputs have no coordinates that they work on, or the goal is no minimum with these gains.

    Notes
    -----
    ``Ḣ = −vᵀD v − ẏᵀ kd ẏ ≤ 0``. Bounds do not change the sign: at fixed y each input is a decreasing function of ẏ, so what is cut off cannot
    feed energy in. With a damped robot the goal is asymptotically stable wherever H has no other equilibrium. Energy is shaped through the
    coordinates that the inputs reach alone; the mass matrix stays as it is.

    Examples
    --------
    A pendulum is held upright:

    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> motor = robot.add_motor("motor", rod)
    >>> system = robot.compile()
    >>> law = pl.control.EnergyShaping(system, [-np.pi / 2], kp=2.0, kd=0.3)
    >>> run = pl.simulate(system, 5.0, start=[0.3], u=law)
    >>> energy = [law.energy(q, v) for q, v in zip(run.q, run.v)]
    >>> print(run.q[-1].round(3), bool(np.all(np.diff(energy) < 1e-9)))
    [-1.571] True
    """

    def __init__(self, system: System, goal: Any, kp: Any, kd: Any, *, bounds: Any = None) -> None:
        super().__init__(system, bounds)
        name = "EnergyShaping"
        refuse(system, name)
        require_affine(system, name)
        self.outputs = Outputs("outputs", system, ActuationCoordinates(system))
        self.kp, self.kd = (_gains(field, value, system.nu) for field, value in (("kp", kp), ("kd", kd)))
        _require_potential(system)
        self.q, self.rest = goal_inputs(system, name, goal)
        if np.any((self.rest < self.lower) | (self.rest > self.upper)):
            raise ValueError(f"{name}: the inputs that hold the goal, {self.rest.tolist()}, are beyond bounds.")
        self.y = self.outputs.values(self.q)
        self._tau = goal.tau if isinstance(goal, Equilibrium) else np.zeros(system.nv)
        if np.any(self._tau):
            raise ValueError(f"{name}: forces tau hold the goal, which the law does not have.")
        self.stiffness = self._require_minimum(name)

    def _require_minimum(self, name: str) -> float:
        system, zero = self.system, np.zeros(self.system.nv)
        K = system.residual_tangent(self.q, zero, zero, self.rest)
        J = self.outputs.slopes(self.q)[1]
        Z = free_directions(system, system.closure(self.q)[1] if system.loop_rows else None)
        S = Z.T @ (K + J.T @ (self.kp[:, None] * J)) @ Z
        values, shapes = np.linalg.eigh(0.5 * (S + S.T))
        if values[0] <= 0.0:
            where = name_directions(system, Z @ shapes[:, :1])
            raise ValueError(
                f"{name}: the goal is no minimum of the energy with kp = {self.kp.tolist()}: the stiffness along {where} is {values[0]:.3g}. Raise kp, or, if "
                "the inputs do not reach that direction, choose another goal."
            )
        return float(values[0])

    def _spring(self, y: Array) -> Array:
        """−Φ′(y) (nu,)."""
        return np.clip(self.rest - self.kp * (y - self.y), self.lower, self.upper)

    def wanted(self, t: float, state: StateLike) -> Array:
        """See `Law.wanted`."""
        y, J = self.outputs.slopes(state.q)
        return np.asarray(self._spring(y) - self.kd * (J @ state.v))

    def energy(self, q: ArrayLike, v: ArrayLike) -> float:
        """H of a state [J], relative to the goal: it never grows, but for the error of steps."""
        system, q, v = self.system, self.system.check_q(q), self.system.check_v("v", v)
        own = system.kinetic_energy(q, v) + sum(
            f(q) - f(self.q) for f in (system.elastic_energy, system.gravitational_energy)
        )
        away = self.outputs.values(q) - self.y
        force = self._spring(self.y + away)
        with np.errstate(divide="ignore", invalid="ignore"):  # Φ is quadratic up to where the force stays at a bound
            bent = np.where(self.kp > 0.0, (self.rest - force) / self.kp, away)
        work = 0.5 * (self.rest + force) * bent + force * (away - bent)
        return float(own - work.sum())


def _gains(field: str, value: Any, n: int) -> Array:
    hint = "Give a number, or one for each input."
    array = reals(field, value, hint=hint)
    out = vector(field, np.broadcast_to(array, (n,)) if array.ndim == 0 else array, (n,), hint=hint)
    if np.any(out < 0.0):
        raise ValueError(f"{field} = {out.tolist()} is not allowed: gains must not be negative.")
    return out


def _require_potential(system: System) -> None:
    """Error unless elasticity and weight are the only forces of a robot at rest without inputs."""
    zero, none = np.zeros(system.nv), np.clip(np.zeros(system.nu), *system.input_bounds)
    for seed, scale in ((4, 0.1), (5, 0.5)):
        q = system.random(seed, scale=scale)
        states = States.at_rest(system, q, none)
        slope = sum(Energy(kind).evaluate(states).pull(np.ones((1, 1))).q[0] for kind in ("elastic", "gravitational"))
        force = system.residual(q, zero, zero, none) + system.actuation_matrix(q, None, none) @ none
        size = np.abs(system.internal.scale * force).max(initial=0.0) + np.abs(system.internal.scale * slope).max(
            initial=0.0
        )
        if np.abs(system.internal.scale * (force - slope)).max(initial=0.0) > 1e-8 * size:
            raise ValueError(
                f"EnergyShaping needs a robot on which only elasticity and weight act beside its inputs, and on {system.name!r} other forces do "
                "(contact, fluid, wrenches, magnets). Use CompensatedPD or LQR."
            )
