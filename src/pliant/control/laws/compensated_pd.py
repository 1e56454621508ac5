"""PD control with compensation of weight and elasticity."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...analysis.inputs import solve_inputs
from ...model.validate import choice
from ...solve.equilibrium import Equilibrium
from ...system import System
from ...system.forces import actuation_matrix
from .allocation import allocate
from .gains import gain_matrix
from .law import Law, StateLike, refuse, require_affine
from .outputs import ActuationCoordinates, Outputs
from .reference import Followed, follow

__all__ = ["CompensatedPD", "fully_actuated", "goal_inputs"]

Array = NDArray[np.float64]
_RANK = 1e-9


class CompensatedPD(Law):
    """PD control that also carries the weight of the robot and its elastic forces.

    ========== ==================================== =======================================================
    compensate needs                                law
    ========== ==================================== =======================================================
    goal       any inputs with coordinates y that   u = u* + kp (y* − y) − kd ẏ
               they work on
    state      as many independent inputs as        B u = g(q) + k(q) + kp (q* − q) + kd (q̇* − v)
               degrees of freedom
    trajectory the same                             B u = r(q*, q̇*, q̈*) + kp (q* − q) + kd (q̇* − v)
    ========== ==================================== =======================================================

    u* are the inputs that hold the goal, g and k weight and elastic forces, r all forces of the motion that is wanted
    (feedforward), B the actuation matrix.

    Parameters
    ----------
    system : System
    goal : Equilibrium, coordinates (nq,), or (not for "goal") Signal or function of t
        Where to go. A function returns q, (q, q̇) or (q, q̇, q̈).
    kp, kd : float, array (n,) or (n, n)
        Gains: of the actuation coordinates (n = nu) with "goal", of generalised forces (n = nv) otherwise.
    compensate : {"goal", "state", "trajectory"}
    bounds : pair, or dict of pairs, optional
        Of the inputs; those of the robot if left out.

    Raises
    ------
    ValueError
        If the robot does not meet what the law needs, or the inputs cannot hold the goal.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(3)
    ... )
    >>> for name, z in (("up", 0.012), ("down", -0.012)):
    ...     tendon = robot.add_tendon(name, arm, z=z)
    >>> system = robot.compile()
    >>> goal = pl.solve_statics(system, {"up": 15.0, "down": 2.0})
    >>> law = pl.control.CompensatedPD(system, goal, kp=500.0, kd=100.0)
    >>> run = pl.simulate(system, 3.0, start=pl.solve_statics(system), u=law)
    >>> away = [system.pose("arm.tip", q)[:3, 3] - system.pose("arm.tip", goal.q)[:3, 3] for q in (run.q[0], run.q[-1])]
    >>> print(f"{1000 * abs(away[0]).max():.0f} mm at the start, {1000 * abs(away[1]).max():.1f} mm after 3 s")
    129 mm at the start, 0.3 mm after 3 s
    """

    def __init__(
        self,
        system: System,
        goal: Any,
        kp: Any,
        kd: Any,
        *,
        compensate: Literal["goal", "state", "trajectory"] = "goal",
        bounds: Any = None,
    ) -> None:
        super().__init__(system, bounds)
        choice("compensate", compensate, ("goal", "state", "trajectory"))
        name = "CompensatedPD"
        refuse(system, name)
        require_affine(system, name)
        self.compensate = compensate
        n = system.nu if compensate == "goal" else system.nv
        self.kp, self.kd = gain_matrix("kp", kp, n), gain_matrix("kd", kd, n)
        if compensate == "goal":
            self.outputs = Outputs("outputs", system, ActuationCoordinates(system))
            q, self.rest = goal_inputs(system, name, goal)
            self.y = self.outputs.values(q)
        else:
            fully_actuated(system, f"CompensatedPD with compensate={compensate!r}")
            point = goal.q if isinstance(goal, Equilibrium) else goal
            if system.nq != system.nv and callable(point):
                raise ValueError(
                    f"goal is a function, and {system.name!r} has ball or free joints; give coordinates (nq,)."
                )
            self.goal: Followed = follow("goal", point, system.nq)

    def wanted(self, t: float, state: StateLike) -> Array:
        """See `Law.wanted`."""
        system, q, v = self.system, state.q, state.v
        if self.compensate == "goal":
            y, J = self.outputs.slopes(q)
            return np.asarray(self.rest + self.kp @ (self.y - y) - self.kd @ (J @ v))
        wanted, rate, acceleration = self.goal(t)
        rates = rate if len(rate) == system.nv else np.zeros(system.nv)
        zero, none = np.zeros(system.nv), np.clip(np.zeros(system.nu), *system.input_bounds)
        if self.compensate == "state":
            force, place = system.residual(q, zero, zero, none), q
        else:
            force, place = system.residual(wanted, rates, acceleration, none), wanted
        B = actuation_matrix(system, place, None, none)
        force = force + B @ none + self.kp @ system.difference(q, wanted) + self.kd @ (rates - v)
        scale = system.internal.scale
        return allocate(scale[:, None] * B, scale * force, np.eye(system.nu), none, self.lower, self.upper)


def goal_inputs(system: System, name: str, goal: Any) -> tuple[Array, Array]:
    """Coordinates of a goal and the inputs that hold it; error if there are none."""
    if isinstance(goal, Equilibrium):
        if not goal.success:
            raise ValueError(f"{name}: the goal is no equilibrium ({goal.message}).")
        return system.check_q(goal.q), goal.u.copy()
    q = system.check_q(goal)
    found = solve_inputs(system, q)
    if not found.success:
        raise ValueError(
            f"{name}: no inputs hold the goal: {found.message}. Give an Equilibrium, from solve_statics or inverse_statics."
        )
    return q, found.u


def fully_actuated(system: System, name: str) -> None:
    """Error unless inputs can give every generalised force, at a configuration without symmetry."""
    B = actuation_matrix(system, system.random(3, scale=0.3), None, np.clip(np.zeros(system.nu), *system.input_bounds))
    values = np.linalg.svd(system.internal.scale[:, None] * B, compute_uv=False)
    rank = int(np.sum(values > _RANK * values.max(initial=1e-300)))
    if rank < system.nv or system.loop_rows:
        raise ValueError(
            f"{name} needs a robot whose inputs give every generalised force, and {system.name!r} has {system.nv} degrees of freedom, {rank} independent "
            f"inputs and {len(system.loop_rows)} rows of loops. Use compensate='goal', or ComputedTorque in outputs that the inputs reach."
        )
