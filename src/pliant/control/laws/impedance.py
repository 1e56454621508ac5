"""Impedance at a frame: the tip as a mass on a spring and a damper, in position and orientation."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...gradients.costs.frames import rotation_vectors
from ...model.pose import Pose
from ...model.validate import choice, shown, vector
from ...system import FrameLike, System
from .allocation import allocate
from .computed_torque import require_reach
from .gains import gain_matrix, weight_matrix
from .law import Law, StateLike, accelerations, refuse, require_affine

__all__ = ["Impedance"]

Array = NDArray[np.float64]
_ROWS = {"pose": slice(0, 6), "orientation": slice(0, 3), "position": slice(3, 6)}


class Impedance(Law):
    """A frame that behaves like a mass on a spring and a damper: ``Λ (ẍ − ẍ*) + kd (ẋ − ẋ*) + kp (x − x*) = forces from outside``.

    Parameters
    ----------
    system : System
    frame : str, Frame or Link
    reference : Pose, array (4, 4) or (3,), or function of t
        Where the frame is to be; (3,) is a position. A function may also return (pose, twist) or (pose, twist, acceleration), with
        twist and acceleration (6,) as [angular; linear] in world axes, as `System.twist` has them.
    kp, kd : float, array (m,) or (m, m)
        Stiffness [N m/rad, N/m] and damping [N m s/rad, N s/m] in world axes, angular first (m = 6, or 3 of `rows`).
    rows : {"pose", "position", "orientation"}
        What of the frame is controlled.
    inertia : array (m,) or (m, m), optional
        The inertia Λ that the frame is to have [kg m², kg]; its own, ``(J M⁻¹ Jᵀ)⁻¹``, if left out: then no forces from outside
        need to be measured for the frame to behave so.
    rest : array (nu,) or dict, optional
        Inputs to be near to, where several give the same; zero if left out.
    bounds : pair, or dict of pairs, optional

    Raises
    ------
    ValueError
        If inputs do not act linearly, or do not reach all rows of the frame.

    Notes
    -----
    Operational space (Khatib 1987) with ``a = a₀ + A u``: ``J A u = ẍ* + Λ⁻¹ (kd ė + kp e) − J a₀ − J̇ v``. Weight, Coriolis and elastic forces are compensated
    as far as they move the frame. Of all inputs those are taken whose forces do least in the metric of M⁻¹, nearest to `rest`: with as many inputs as degrees
    of freedom they are a wrench at the frame, ``B u = JᵀF``, and the rest of the arm is left to its own elasticity and damping.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> soft = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod("arm", length=0.4, section=pl.Circle(0.015), material=soft, strains=pl.Strains.kirchhoff(2))
    >>> for name, y, z in (("up", 0, 1), ("left", 1, 0), ("down", 0, -1), ("right", -1, 0)):
    ...     tendon = robot.add_tendon(name, arm, y=0.012 * y, z=0.012 * z)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, np.full(4, 5.0))
    >>> try:  # cables along the whole arm bend it: they cannot turn and move its tip as they like
    ...     law = pl.control.Impedance(system, "arm.tip", pl.Pose(), kp=1.0, kd=0.1)
    ... except ValueError as error:
    ...     print(str(error)[:68])
    Impedance needs inputs that reach its outputs independently: the pos
    """

    def __init__(
        self,
        system: System,
        frame: FrameLike,
        reference: Any,
        kp: Any,
        kd: Any,
        *,
        rows: Literal["pose", "position", "orientation"] = "pose",
        inertia: Any = None,
        rest: Any = None,
        bounds: Any = None,
    ) -> None:
        super().__init__(system, bounds)
        name = "Impedance"
        refuse(system, name)
        require_affine(system, name)
        choice("rows", rows, _ROWS)
        system.place(frame)
        self.frame, self.rows = frame, _ROWS[rows]
        m = self.rows.stop - self.rows.start
        self.kp, self.kd = gain_matrix("kp", kp, m), gain_matrix("kd", kd, m)
        self.inertia = None if inertia is None else weight_matrix("inertia", inertia, m)
        fixed = None if callable(reference) else _pose("reference", reference)
        self._given = reference if callable(reference) else lambda t: fixed
        self.rest = np.clip(system.inputs(rest), self.lower, self.upper)
        self.goal(0.0)
        q = system.random(3, scale=0.3)
        J = system.jacobian(frame, q, reference="world")[self.rows]
        require_reach(
            system, name, f"the {rows} of {shown(frame)}", J, accelerations(system, q, np.zeros(system.nv))[1]
        )

    def goal(self, t: float) -> tuple[Array, Array, Array]:
        """Pose (4, 4), twist (6,) and acceleration (6,) that are wanted."""
        given = self._given(t)
        parts: list[Any] = list(given) if isinstance(given, tuple) and not isinstance(given, Pose) else [given]
        if not 1 <= len(parts) <= 3:
            raise TypeError(
                f"reference(t) returned {shown(given)}, but a pose, (pose, twist) or (pose, twist, acceleration) is needed."
            )
        rates = [vector("reference(t)", x, (6,), hint="Angular first, in world axes.") for x in parts[1:]]
        rates += [np.zeros(6)] * (2 - len(rates))
        return _pose("reference(t)", parts[0]), rates[0], rates[1]

    def error(self, t: float, state: StateLike) -> Array:
        """e (6,): the rotation vector and the displacement from the frame to where it is to be, in world axes [rad, m]."""
        return _away(self.system.pose(self.frame, state.q), self.goal(t)[0])

    def wanted(self, t: float, state: StateLike) -> Array:
        """See `Law.wanted`: within bounds already."""
        system, q, v, rows = self.system, state.q, state.v, self.rows
        pose, twist, acceleration = self.goal(t)
        J = system.jacobian(self.frame, q, reference="world")[rows]
        drift = system.acceleration(self.frame, q, v, np.zeros(system.nv), reference="world")[rows]
        a, A = accelerations(system, q, v)
        M = system.mass_matrix(q)
        force = self.kp @ _away(system.pose(self.frame, q), pose)[rows] + self.kd @ (twist[rows] - J @ v)
        own = J @ np.linalg.solve(M, J.T) if self.inertia is None else np.linalg.inv(self.inertia)
        target = acceleration[rows] + own @ force - J @ a - drift
        return allocate(J @ A, target, A.T @ M @ A, self.rest, self.lower, self.upper)


def _pose(field: str, value: Any) -> Array:
    """A pose (4, 4) from what a user gives."""
    if isinstance(value, Pose):
        return np.asarray(value.matrix)
    array = np.asarray(value, dtype=float)
    if array.shape == (3,):
        out = np.eye(4)
        out[:3, 3] = vector(field, array, (3,))
        return out
    return vector(field, array, (4, 4), hint="Give a Pose, a matrix (4, 4), or a position (3,).")


def _away(here: Array, there: Array) -> Array:
    """Rotation vector and displacement from one pose to another, in world axes."""
    turn = rotation_vectors((there[:3, :3] @ here[:3, :3].T)[None])[0]
    return np.concatenate([turn, there[:3, 3] - here[:3, 3]])
