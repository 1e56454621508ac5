"""Computed torque: exact linearisation of outputs that the inputs reach, with the whole nonlinear dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...gradients.costs.quantity import Quantity
from ...solve.equilibrium import Equilibrium
from ...system import System
from .allocation import allocate
from .gains import gain_matrix
from .law import Law, StateLike, accelerations, refuse, require_affine
from .outputs import ActuationCoordinates, Outputs
from .reference import follow

__all__ = ["ComputedTorque", "require_reach"]

Array = NDArray[np.float64]
_RANK = 1e-3  # of what inputs reach, relative to the best direction; below it they would be huge


class ComputedTorque(Law):
    """Makes outputs obey ``ÿ = ÿ* + kd (ẏ* − ẏ) + kp (y* − y)``, by the inputs that the whole nonlinear dynamics needs for it.

    Parameters
    ----------
    system : System
    reference : Equilibrium, array (m,), Signal or function of t
        y*; a function returns y, (y, ẏ) or (y, ẏ, ÿ).
    kp, kd : float, array (m,) or (m, m)
        Gains [1/s², 1/s]: ω² and 2 ζ ω for a frequency ω and a damping ratio ζ.
    outputs : Quantity, optional
        Functions y(q) of the coordinates, m ≤ nu of them; the actuation coordinates if left out: lengths of cable pulled in,
        angles of motors, volumes of chambers (`ActuationCoordinates`).
    rest : array (nu,) or dict, optional
        Inputs to be near to where several give the same, such as a pretension; zero if left out.
    bounds : pair, or dict of pairs, optional
        Of the inputs; those of the robot if left out. Where they do not suffice, the inputs that come nearest.

    Raises
    ------
    ValueError
        If inputs do not act linearly, or do not reach the outputs independently.

    Notes
    -----
    With ``a = a₀(q, v) + A(q) u`` of the forward dynamics, loops included, and ``ÿ = J a + J̇ v`` the inputs solve ``J A u = ÿ − J a₀ − J̇ v``
    (partial feedback linearisation; Spong 1994). In the actuation coordinates (collocated) ``J A = BᵀM⁻¹B`` is positive definite wherever
    inputs are independent. What the outputs do not see moves by itself (zero dynamics): for the actuation coordinates of a soft arm
    it is the arm with its cables locked, which elasticity and damping hold stable. For other outputs, such as the position of the tip, that is not so
    in general: try it.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(3)
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, {"cable": 8.0})
    >>> def pulled(t):  # 2 mm in and out
    ...     return y0 + 0.001 * (1 - np.cos(3 * t)), 0.003 * np.sin(3 * t), 0.009 * np.cos(3 * t)
    >>> y0 = -system.tendon_lengths(rest.q)[0]
    >>> law = pl.control.ComputedTorque(system, pulled, kp=400.0, kd=40.0)
    >>> run = pl.simulate(system, 1.0, start=rest, u=law)
    >>> y = -system.tendon_lengths(run.q[-1])[0]
    >>> bool(abs(y - pulled(run.t[-1])[0]).max() < 1e-5)
    True
    """

    def __init__(
        self,
        system: System,
        reference: Any,
        kp: Any,
        kd: Any,
        *,
        outputs: Quantity | None = None,
        rest: Any = None,
        bounds: Any = None,
    ) -> None:
        super().__init__(system, bounds)
        name = "ComputedTorque"
        refuse(system, name)
        require_affine(system, name)
        quantity = ActuationCoordinates(system) if outputs is None else outputs
        self.outputs = Outputs("outputs", system, quantity)
        m = self.outputs.size
        self.kp, self.kd = gain_matrix("kp", kp, m), gain_matrix("kd", kd, m)
        point = self.outputs.values(reference.q) if isinstance(reference, Equilibrium) else reference
        self.reference = follow("reference", point, m)
        self.rest = np.clip(system.inputs(rest), self.lower, self.upper)
        q = system.random(3, scale=0.3)
        slopes = accelerations(system, q, np.zeros(system.nv))[1]
        require_reach(system, name, repr(quantity), self.outputs.slopes(q)[1], slopes)

    def wanted(self, t: float, state: StateLike) -> Array:
        """See `Law.wanted`: within bounds already."""
        y, rate, J, drift = self.outputs.at(state.q, state.v)
        goal, goal_rate, goal_acceleration = self.reference(t)
        target = goal_acceleration + self.kd @ (goal_rate - rate) + self.kp @ (goal - y)
        a, A = accelerations(self.system, state.q, state.v)
        D = J @ A
        metric = A.T @ self.system.mass_matrix(state.q) @ A
        return allocate(D, target - J @ a - drift, metric, self.rest, self.lower, self.upper)


def require_reach(system: System, name: str, what: str, J: Array, A: Array) -> None:
    """Error unless the inputs reach all outputs, at a configuration without symmetry."""
    D = J @ A
    size = np.linalg.norm(D, axis=1)
    size[size == 0.0] = 1.0
    columns = np.linalg.norm(D / size[:, None], axis=0)
    columns[columns == 0.0] = 1.0
    values = np.linalg.svd(D / size[:, None] / columns, compute_uv=False)
    rank = int(np.sum(values > _RANK * values.max(initial=1e-300)))
    if rank < len(J):
        raise ValueError(
            f"{name} needs inputs that reach its outputs independently: {what} has {len(J)}, and the {system.nu} inputs of {system.name!r} "
            f"({', '.join(system.input_names) or 'none'}) reach {rank} directions of them. Choose fewer outputs, or add actuators."
        )
