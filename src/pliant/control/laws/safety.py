"""A safety filter: the inputs nearest to those of a law that keep barriers, and bring outputs to a goal if that is safe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...gradients.costs.quantity import Quantity
from ...model.validate import positive, shown
from ...system import System
from .allocation import definite
from .gains import weight_matrix
from .law import Law, StateLike, accelerations, refuse, require_affine
from .outputs import Outputs
from .quadratic import solve_quadratic
from .reference import follow

__all__ = ["Barrier", "Lyapunov", "SafetyFilter"]

Array = NDArray[np.float64]
_FAR = 1e100  # a barrier above this has no wall there


@dataclass(frozen=True)
class Barrier:
    """A quantity of the coordinates each entry h of which is to stay above zero: ``ḧ + 2 rate ḣ + rate² h ≥ 0``.

    Parameters
    ----------
    quantity : Quantity
        h (m,), such as ``pl.costs.Clearance() - 0.005``, or ``5.0 - pl.costs.ContactForce("wall")`` for a force of at most 5 N.
    rate : float
        How fast h may come near to zero [1/s].

    Examples
    --------
    >>> import pliant as pl
    >>> pl.control.Barrier(pl.costs.Position("arm.tip")[2] - 0.1, rate=10.0).rate
    10.0
    """

    quantity: Quantity
    rate: float = 10.0

    def __post_init__(self) -> None:
        """Check."""
        if not isinstance(self.quantity, Quantity):
            raise TypeError(f"Barrier.quantity = {shown(self.quantity)} must be a quantity of pliant.costs.")
        object.__setattr__(self, "rate", positive("Barrier.rate", self.rate, unit="1/s"))


@dataclass(frozen=True)
class Lyapunov:
    """Outputs that are to go to a goal: a function V of their errors and rates is to fall, ``V̇ ≤ −0.366 frequency V``, as far as it is safe.

    Parameters
    ----------
    quantity : Quantity
        Outputs y (m,), functions of the coordinates.
    goal : array (m,), Signal or function of t
    frequency : float
        ω [rad/s], how fast.
    slack : float
        What it costs that V does not fall so; large is strict.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.control.Lyapunov(pl.costs.Position("arm.tip"), (0.3, 0.1, 0.0), frequency=4.0).frequency
    4.0
    """

    quantity: Quantity
    goal: Any
    frequency: float = 5.0
    slack: float = 1e3

    def __post_init__(self) -> None:
        """Check."""
        if not isinstance(self.quantity, Quantity):
            raise TypeError(f"Lyapunov.quantity = {shown(self.quantity)} must be a quantity of pliant.costs.")
        for name in ("frequency", "slack"):
            object.__setattr__(self, name, positive(f"Lyapunov.{name}", getattr(self, name)))


class SafetyFilter(Law):
    """The inputs nearest to those of a law that keep barriers: control barrier functions, with a control Lyapunov function if there is a goal, as a small quadratic programme.

    Parameters
    ----------
    system : System
    law : function of (t, state), array (nu,) or dict, optional
        What is to be done where it is safe; zero inputs if left out.
    barriers : Barrier, or a list of them
    lyapunov : Lyapunov, optional
        A goal for outputs, instead of what the law does or beside it.
    weight : float, array (nu,) or (nu, nu), optional
        Metric of the change of inputs; that of their forces in M⁻¹ if left out, which does not depend on units.
    bounds : pair, or dict of pairs, optional
        Of the inputs; those of the robot if left out.

    Attributes
    ----------
    broken : int
        How often no inputs within bounds kept the barriers; then they are broken by as little as possible.

    Raises
    ------
    ValueError
        If inputs do not act linearly, or barriers depend on velocities.

    Notes
    -----
    Barriers and outputs are functions of the coordinates, so inputs act on their second derivatives: barriers are of second order (Nguyen and Sreenath 2016; Xiao and Belta
    2019). They hold for a law that acts continuously; with `Sampled` keep a margin of the order of period · speed. V = ηᵀP η of η = (e, ė) with the P of a regulator
    of frequency ω (Ames et al. 2014).

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("cart", gravity=(0, 0, 0))
    >>> cart = robot.add_body("cart", joint=pl.Prismatic("x"), shape=pl.Sphere(0.1), mass=1.0)
    >>> motor = robot.add_motor("motor", cart)
    >>> system = robot.compile()
    >>> x = pl.costs.Coordinates()
    >>> wall = pl.control.Barrier(0.5 - x, rate=5.0)
    >>> law = pl.control.SafetyFilter(system, {"motor": 1.0}, wall)  # it wants to push on
    >>> run = pl.simulate(system, 5.0, u=law)
    >>> print(run.q[:, 0].max().round(3), law.broken)
    0.5 0
    """

    def __init__(
        self,
        system: System,
        law: Callable[[float, Any], Any] | Any = None,
        barriers: Barrier | Sequence[Barrier] = (),
        *,
        lyapunov: Lyapunov | None = None,
        weight: Any = None,
        bounds: Any = None,
    ) -> None:
        super().__init__(system, bounds)
        refuse(system, "SafetyFilter")
        require_affine(system, "SafetyFilter")
        if callable(law):
            self._law = lambda t, state: np.asarray(system.inputs(law(t, state)))
        else:
            fixed = np.clip(system.inputs(law), self.lower, self.upper)
            self._law = lambda t, state: fixed
        given = [barriers] if isinstance(barriers, Barrier) else list(barriers)
        if not all(isinstance(own, Barrier) for own in given):
            raise TypeError(f"barriers = {shown(barriers)} must be Barriers.")
        self._barriers = [(Outputs("Barrier.quantity", system, own.quantity), own.rate) for own in given]
        self._goal = None
        if lyapunov is not None:
            outputs = Outputs("Lyapunov.quantity", system, lyapunov.quantity)
            self._goal = outputs, follow("Lyapunov.goal", lyapunov.goal, outputs.size), lyapunov
        self._weight = None if weight is None else weight_matrix("weight", weight, system.nu)
        self.broken = 0

    def barriers(self, state: StateLike) -> Array:
        """The least h of each barrier at a state."""
        return np.array([outputs.values(state.q).min(initial=np.inf) for outputs, _rate in self._barriers])

    def _rows(self, state: StateLike, a: Array, A: Array) -> tuple[Array, Array]:
        """Barriers as C u ≥ d."""
        C, d = [np.zeros((0, self.system.nu))], [np.zeros(0)]
        for outputs, rate in self._barriers:
            h, speed, J, drift = outputs.at(state.q, state.v)
            near = h < _FAR
            rows, right = J @ A, -(J @ a + drift + 2 * rate * speed + rate**2 * h)
            reached = near & (np.abs(rows).max(axis=1, initial=0.0) > 0.0)
            C.append(rows[reached])
            d.append(right[reached])
        return np.vstack(C), np.concatenate(d)

    def _descent(self, t: float, state: StateLike, a: Array, A: Array) -> tuple[Array, float] | None:
        """The Lyapunov condition as c u ≤ b."""
        if self._goal is None:
            return None
        outputs, goal, given = self._goal
        y, rate, J, drift = outputs.at(state.q, state.v)
        wanted, wanted_rate, wanted_acceleration = goal(t)
        e, de, w = y - wanted, rate - wanted_rate, given.frequency
        root = np.sqrt(3.0)
        value = root * w**3 * (e @ e) + 2 * w**2 * (e @ de) + root * w * (de @ de)
        along = 2 * w**2 * e + 2 * root * w * de  # ∂V/∂ė
        falls = (2 * root * w**3 * e + 2 * w**2 * de) @ de  # ∂V/∂e ė
        free = J @ a + drift - wanted_acceleration
        return along @ J @ A, float(-w / (root + 1) * value - falls - along @ free)

    def wanted(self, t: float, state: StateLike) -> Array:
        """See `Law.wanted`: within bounds already."""
        nu = self.system.nu
        nominal = np.clip(self._law(t, state), self.lower, self.upper)
        a, A = accelerations(self.system, state.q, state.v)
        W = A.T @ self.system.mass_matrix(state.q) @ A if self._weight is None else self._weight
        W = definite(W)
        C, d = self._rows(state, a, A)
        descent = self._descent(t, state, a, A)
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        one = np.eye(nu)
        rows = np.vstack([C, one[low], -one[high]])
        right = np.concatenate([d, self.lower[low], -self.upper[high]])
        if descent is None:
            found = solve_quadratic(W, -W @ nominal, rows, right)
            if found.success:
                return np.clip(found.x, self.lower, self.upper)
            return self._relaxed(W, nominal, rows, right, len(C))
        c, b = descent
        assert self._goal is not None
        size = max(
            float(np.linalg.norm(np.linalg.solve(W, c)) * np.linalg.norm(c)), 1e-300
        )  # of what inputs do to V, so that slack has no unit
        H = np.zeros((nu + 1, nu + 1))
        H[:nu, :nu], H[nu, nu] = W, self._goal[2].slack / size
        g = np.concatenate([-W @ nominal, [0.0]])
        wide = np.vstack([np.hstack([rows, np.zeros((len(rows), 1))]), np.concatenate([-c, [1.0]])])
        found = solve_quadratic(H, g, wide, np.concatenate([right, [-b]]))
        if found.success:
            return np.clip(found.x[:nu], self.lower, self.upper)
        return self._relaxed(W, nominal, rows, right, len(C))

    def _relaxed(self, W: Array, nominal: Array, rows: Array, right: Array, m: int) -> Array:
        """Inputs that break barriers by as little as possible: one slack for all of them, in units of their rows."""
        self.broken += 1
        nu = len(nominal)
        size = np.linalg.norm(rows[:m], axis=1)
        H = np.zeros((nu + 1, nu + 1))
        H[:nu, :nu], H[nu, nu] = W, 1e6 * np.trace(W) / nu
        wide = np.hstack([rows, np.concatenate([size, np.zeros(len(rows) - m)])[:, None]])
        found = solve_quadratic(H, np.concatenate([-W @ nominal, [0.0]]), wide, right)
        return np.clip(found.x[:nu] if found.success else nominal, self.lower, self.upper)
