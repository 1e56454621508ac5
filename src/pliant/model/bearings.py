"""What resists in a joint beyond linear springs and dampers: friction that sticks, springs of any characteristic, backlash.

The functions are methods of `Robot`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .driven import joint_dof
from .links import Link
from .loops import Coupling, coordinates_of
from .validate import bounded, choice, finite, integer, interval, non_negative, positive, reals, shown, vector

if TYPE_CHECKING:
    from .robot import Robot

__all__ = ["Backlash", "Characteristic", "JointFriction", "JointSpring", "add_backlash", "add_friction", "add_spring"]

Array = NDArray[np.float64]
_LEAST = {"cubic": 4, "monotone": 2, "linear": 2}
_MOST = 4096
"""Points of a table at most."""


@dataclass(frozen=True)
class Characteristic:
    """A function that is given at points: the torque of a spring over its angle.

    Parameters
    ----------
    x : array (n,)
        Angles [rad] or displacements [m], increasing.
    values : array (n,)
        Torque [N m] or force [N] that holds the spring there.
    kind : "cubic", "monotone" or "linear"
        A cubic spline (not-a-knot, at least 4 points); one without overshoot that rises where the values rise (at least 2); or straight lines, whose
        stiffness jumps at the points. Beyond its ends it goes on with the slope that it has there.

    Attributes
    ----------
    error : float or None
        Of `of`: how far it is from the function at most, as measured between the points.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> measured = pl.Characteristic([-1, 0, 0.5, 1], [-3, 0, 0.4, 3], kind="monotone")
    >>> print(measured(1.0), measured([0.0, 2.0]).shape)
    3.0 (2,)
    >>> rubber = pl.Characteristic.of(np.sinh, -2, 2)
    >>> print(len(rubber.x), rubber.error < 1e-6 * np.sinh(2))
    65 True
    """

    x: tuple[float, ...]
    values: tuple[float, ...]
    kind: Literal["cubic", "monotone", "linear"] = "cubic"

    def __post_init__(self) -> None:
        """Check the values."""
        choice("Characteristic.kind", self.kind, _LEAST)
        count = reals("Characteristic.x", self.x, hint="Give a sequence of numbers.").size
        bounded("Characteristic.x: the number of points", count, _MOST, "Give fewer points.")
        x = vector("Characteristic.x", self.x, (count,), hint="Give a sequence of numbers.")
        if count < _LEAST[self.kind]:
            remedy = ' Give more points, or kind="monotone".' if self.kind == "cubic" else ""
            raise ValueError(
                f"Characteristic.x = {shown(self.x)} is not allowed: {_LEAST[self.kind]} points are needed.{remedy}"
            )
        if np.any(np.diff(x) <= 1e-12 * np.ptp(x)):
            k = int(np.argmin(np.diff(x)))
            raise ValueError(f"Characteristic.x[{k + 1}] = {x[k + 1]:g} is not allowed: it must be larger than x[{k}].")
        values = vector("Characteristic.values", self.values, (count,), hint="Give one for each x.")
        object.__setattr__(self, "x", tuple(x.tolist()))
        object.__setattr__(self, "values", tuple(values.tolist()))

    error = None

    @classmethod
    def of(
        cls, function: Callable[[Array], ArrayLike], lower: float, upper: float, tolerance: float = 1e-6
    ) -> Characteristic:
        """A cubic spline through a function.

        Parameters
        ----------
        function : callable
            Takes an array of angles or displacements and returns as many numbers.
        lower, upper : float
            Where it is needed; beyond, the spline goes on with its slope.
        tolerance : float
            How far the spline may be off, relative to the largest value. The points are doubled until it is not.

        Raises
        ------
        ValueError
            If 4096 points are not enough, as for functions that jump.
        """
        low, high = finite("lower", lower), finite("upper", upper)
        positive("tolerance", tolerance)
        if not low < high:
            raise ValueError(f"lower = {lower!r} and upper = {upper!r} are not allowed: lower < upper is needed.")
        if not callable(function):
            raise TypeError(f"function = {shown(function)} must be a function of an array.")
        between = (np.arange(4096) + 0.5) / 4096
        test = low + (high - low) * between
        exact = _sampled(function, test)
        count, size = 8, max(float(np.abs(exact).max()), 1e-300)
        while count < _MOST:
            x = np.linspace(low, high, count + 1)
            found = cls(tuple(x.tolist()), tuple(_sampled(function, x).tolist()))
            error = float(np.abs(found(test) - exact).max())
            if error <= tolerance * size:
                object.__setattr__(found, "error", error)
                return found
            count *= 2
        raise ValueError(
            f"function = {shown(function)} is not followed by {count // 2 + 1} points to {tolerance:g} of its size (they are off by {error:.3g}). Does it "
            'jump or have a kink? Give a table, Characteristic(x, values, kind="linear"), or a larger tolerance.'
        )

    def pieces(self) -> tuple[Array, Array, Array]:
        """From where on each piece holds (n + 1,), its centre (n + 1,), and its coefficients (n + 1, 4) in rising powers; lines at both ends."""
        from scipy.interpolate import CubicSpline, PchipInterpolator  # here, since it takes a while to import

        x, values = np.array(self.x), np.array(self.values)
        rows = np.zeros((len(x) - 1, 4))
        if self.kind == "linear":
            rows[:, 0], rows[:, 1] = values[:-1], np.diff(values) / np.diff(x)
        else:
            curve = (
                CubicSpline(x, values, bc_type="not-a-knot") if self.kind == "cubic" else PchipInterpolator(x, values)
            )
            rows[:, : len(curve.c)] = curve.c[::-1].T
        h = x[-1] - x[-2]
        last = np.array([values[-1], rows[-1, 1] + h * (2 * rows[-1, 2] + 3 * h * rows[-1, 3]), 0.0, 0.0])
        first = np.array([rows[0, 0], rows[0, 1], 0.0, 0.0])
        return np.concatenate([[-np.inf], x]), np.concatenate([x[:1], x]), np.vstack([first, rows, last])

    def __call__(self, x: ArrayLike) -> Array:
        """Values at x."""
        start, centre, rows = self.pieces()
        points = np.asarray(x, dtype=float)
        k = np.searchsorted(start, points, side="right") - 1
        d = points - centre[k]
        return np.asarray(rows[k, 0] + d * (rows[k, 1] + d * (rows[k, 2] + d * rows[k, 3])))[()]


def _sampled(function: Callable[[Array], ArrayLike], x: Array) -> Array:
    values = reals("function", function(x.copy()))
    if values.shape != x.shape or not np.all(np.isfinite(values)):
        raise ValueError(
            f"function: for an array of shape {x.shape} it returned shape {values.shape}, or numbers that are not finite; as many numbers are needed."
        )
    return values


@dataclass(frozen=True)
class JointFriction:
    """Friction in a joint: Coulomb's, which sticks, and viscous.

    Parameters
    ----------
    link : str
        The link whose joint it is, or the loop.
    dof : int
        Which of the joint's degrees of freedom.
    coulomb : float
        Torque or force F [N m or N] with which it slides, >= 0.
    viscous : float
        c [N m s/rad or N s/m] of the part that is proportional to the rate, >= 0.
    breakaway : float, optional
        Largest torque or force that it holds, >= coulomb; the same if left out.
    stribeck : float, optional
        Rate [rad/s or m/s] at which sliding friction has fallen from `breakaway` to `coulomb`; needed if they differ.
    stiction : float
        How far [rad or m] the joint gives way, as a spring, before it slips.
    slip_speed : float
        v₀ [rad/s or m/s]: the spring is damped with the time stiction/v₀, so that what comes to rest does not ring.

    Notes
    -----
    The force is ``−F y − c q̇`` with the strain y of a bristle that bends by `stiction` and slips at ``|y| = g``, with
    ``g = 1 + (breakaway/coulomb − 1) exp(−(q̇/stribeck)²)``. It does not depend on the load of the joint: friction ``μ`` times a reaction is not covered.
    """

    link: str
    dof: int = 0
    coulomb: float = 0.0
    viscous: float = 0.0
    breakaway: float | None = None
    stribeck: float | None = None
    stiction: float = 1e-6
    slip_speed: float = 1e-3

    def __post_init__(self) -> None:
        """Check the values."""
        checked: dict[str, float] = {
            "dof": integer("dof", self.dof),
            "coulomb": non_negative("coulomb", self.coulomb, hint="N m or N."),
            "viscous": non_negative("viscous", self.viscous, hint="N m s/rad or N s/m."),
            "stiction": positive("stiction", self.stiction, hint="rad or m that it gives way before it slips."),
            "slip_speed": positive("slip_speed", self.slip_speed, hint="rad/s or m/s."),
        }
        if checked["coulomb"] == checked["viscous"] == 0.0:
            raise ValueError("coulomb = 0 and viscous = 0: there would be no friction; give one of them.")
        if self.breakaway is not None:
            checked["breakaway"] = positive("breakaway", self.breakaway, hint="N m or N.")
            if checked["breakaway"] < checked["coulomb"] or checked["coulomb"] == 0.0:
                raise ValueError(
                    f"breakaway = {self.breakaway!r} is not allowed: it must be at least coulomb = {self.coulomb!r}, which must not be zero."
                )
        if self.stribeck is not None:
            checked["stribeck"] = positive("stribeck", self.stribeck, hint="rad/s or m/s.")
        elif checked.get("breakaway", 0.0) > checked["coulomb"]:
            raise ValueError(
                f"breakaway = {self.breakaway!r} is larger than coulomb = {self.coulomb!r}: give stribeck, the rate at which friction has fallen."
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class JointSpring:
    """A spring in a joint whose torque is any function of its angle, perhaps with play.

    Parameters
    ----------
    link : str
        The link whose joint it is, or the loop.
    dof : int
        Which of the joint's degrees of freedom.
    torque : Characteristic or sequence of float
        Torque [N m] or force [N] that holds the spring at x: a `Characteristic`, or coefficients of a polynomial in rising powers: (0, k) is a linear spring.
        The spring acts with the opposite on the joint.
    rest : float
        Coordinate [rad or m] from which x counts.
    gap : float
        Play [rad or m], >= 0: within half of it on both sides of `rest` nothing acts, and x counts from its ends.
    """

    link: str
    dof: int = 0
    torque: Characteristic | tuple[float, ...] = (0.0,)
    rest: float = 0.0
    gap: float = 0.0

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "dof", integer("dof", self.dof))
        object.__setattr__(self, "rest", finite("rest", self.rest))
        object.__setattr__(self, "gap", non_negative("gap", self.gap))
        if isinstance(self.torque, Characteristic):
            return
        hint = "Give a Characteristic, Characteristic.of(function, lower, upper), or coefficients such as (0, 2.0, 0, 30.0)."
        if callable(self.torque):
            raise TypeError(f"torque = {shown(self.torque)} is a function. {hint}")
        count = reals("torque", self.torque, hint=hint).size
        bounded("torque: the number of coefficients", count, 32, "Use a Characteristic.")
        numbers = vector("torque", self.torque, (count,), hint=hint).tolist()
        if not any(numbers):
            raise ValueError(f"torque = {shown(self.torque)} is not allowed: it is zero everywhere. {hint}")
        object.__setattr__(self, "torque", tuple(numbers))

    def pieces(self) -> tuple[Array, Array, Array]:
        """From where on each piece holds (n,), its centre (n,), and its coefficients (n, k) in rising powers."""
        if isinstance(self.torque, Characteristic):
            return self.torque.pieces()
        return np.array([-np.inf]), np.zeros(1), np.array([self.torque])


@dataclass(frozen=True)
class Backlash(Coupling):
    """A coupling with play: gears whose teeth touch on one side, the other, or not at all.

    Parameters
    ----------
    terms : tuple of (link, dof, ratio)
        Coordinates by the name of their link and their number in its joint, and their factors.
    offset : float
        Middle of the play: ``s = Σ ratio q − offset``.
    gap : float
        Nothing acts where ``|s| < gap/2`` [rad or m], > 0.
    stiffness : float
        k [N m/rad or N/m] of the teeth: the force on s is ``k x (1 + c ẋ)`` for the overshoot x.
    dissipation : float
        c [s/rad or s/m]; the force never pulls.
    restitution : float, optional
        Ratio of the speeds after and before an impact, 0 to 1, instead of `dissipation`.
    """

    gap: float = 0.0
    stiffness: float = 0.0
    dissipation: float = 0.0
    restitution: float | None = None

    units: ClassVar[dict[str, str]] = {"restitution": "–"}

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        object.__setattr__(self, "gap", positive("gap", self.gap, hint="rad or m of play."))
        object.__setattr__(self, "stiffness", positive("stiffness", self.stiffness, hint="N m/rad or N/m."))
        object.__setattr__(self, "dissipation", non_negative("dissipation", self.dissipation))
        if self.restitution is not None:
            value = interval("restitution", self.restitution, 0.0, 1.0, hint="1 is an elastic impact.")
            object.__setattr__(self, "restitution", value)
            if self.dissipation:
                raise ValueError(f"dissipation = {self.dissipation!r} and restitution = {value!r}: give one of them.")


# ---------------------------------------------------------------- methods of Robot


def _place(self: Robot, kind: str, name: str, link: Link | str, dof: int | str) -> tuple[str, int]:
    """Link or loop and number of a coordinate; error if it is none."""
    self._check_name(name)
    target, joint, index = joint_dof(self, kind, name, link, dof)
    if joint.group is not None:
        raise ValueError(
            f"{kind} {name!r}: a {joint.group.name} joint has no single coordinate on which it could act. Use a Universal and a Revolute joint."
        )
    return target, index


def add_friction(
    self: Robot,
    name: str,
    link: Link | str,
    *,
    dof: int | str = 0,
    coulomb: float = 0.0,
    viscous: float = 0.0,
    breakaway: float | None = None,
    stribeck: float | None = None,
    stiction: float = 1e-6,
    slip_speed: float = 1e-3,
) -> JointFriction:
    """Add friction to the joint of a link, or of a loop. Below its limit it holds without creeping, in motion and in statics.

    Parameters
    ----------
    name : str
    link : Link or str
        The link whose joint it is, or the name of a loop.
    dof : int or str
        Number or name of the joint's degree of freedom.
    coulomb, viscous, breakaway, stribeck, stiction, slip_speed
        See `JointFriction`.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body(
    ...     "rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
    ... )
    >>> hinge = robot.add_friction("hinge", rod, coulomb=1.0)  # the weight's moment is at most 0.74 N m
    >>> rest = pl.solve_statics(robot.compile())
    >>> print(f"{rest.q[0]:.1e} rad")  # it holds
    7.4e-07 rad
    """
    target, index = _place(self, "friction", name, link, dof)
    try:
        friction = JointFriction(target, index, coulomb, viscous, breakaway, stribeck, stiction, slip_speed)
    except (TypeError, ValueError) as error:
        raise type(error)(f"friction {name!r}: {error}") from None
    self.bearings[name] = friction
    return friction


def add_spring(
    self: Robot,
    name: str,
    link: Link | str,
    *,
    dof: int | str = 0,
    torque: Characteristic | Sequence[float],
    rest: float = 0.0,
    gap: float = 0.0,
) -> JointSpring:
    """Add a spring of any characteristic to the joint of a link, or of a loop.

    Parameters
    ----------
    name : str
    link : Link or str
        The link whose joint it is, or the name of a loop.
    dof : int or str
        Number or name of the joint's degree of freedom.
    torque, rest, gap
        See `JointSpring`.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("door", gravity=(0, 0, 0))
    >>> door = robot.add_body("door", joint=pl.Revolute("z"), shape=pl.Box(0.8, 0.04, 2.0), mass=20.0, com=(0.4, 0, 0))
    >>> spring = robot.add_spring("closer", door, torque=(0, 10, 0, 40))  # 10 x + 40 x³
    >>> push = robot.add_motor("push", door)
    >>> rest = pl.solve_statics(robot.compile(), {"push": 50.0})
    >>> print(f"{rest.q[0]:.6f} rad")
    1.000000 rad
    """
    target, index = _place(self, "spring", name, link, dof)
    try:
        spring = JointSpring(target, index, torque, rest, gap)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise type(error)(f"spring {name!r}: {error}") from None
    self.bearings[name] = spring
    return spring


def add_backlash(
    self: Robot,
    name: str,
    terms: Mapping[str, float],
    *,
    gap: float,
    stiffness: float,
    offset: float = 0.0,
    dissipation: float = 0.0,
    restitution: float | None = None,
) -> Backlash:
    """Add a transmission with play between coordinates of links: a pair of gears, a loose belt.

    Parameters
    ----------
    name : str
    terms : dict
        Ratios by coordinate, ``{"small": 20, "large": 40}``: a link whose joint has one degree of freedom, or "link.dof".
    gap, stiffness, offset, dissipation, restitution
        See `Backlash`.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("gears", gravity=(0, 0, 0))
    >>> for x, wheel in enumerate(["small", "large"]):
    ...     body = robot.add_body(
    ...         wheel, offset=(x, 0, 0), joint=pl.Revolute("z", stiffness=1.0), shape=pl.Cylinder(0.1, 0.02), mass=1.0
    ...     )
    >>> motor = robot.add_motor("motor", "small")
    >>> teeth = robot.add_backlash("teeth", {"small": 1.0, "large": 2.0}, gap=0.02, stiffness=1e5)
    >>> rest = pl.solve_statics(robot.compile(), {"motor": 1.0})
    >>> print(f"{rest.q[0] + 2 * rest.q[1]:.4f} rad")  # one flank touches
    0.0100 rad
    """
    self._check_name(name)
    try:
        backlash = Backlash(
            coordinates_of(self, "backlash", name, terms), offset, gap, stiffness, dissipation, restitution
        )
    except (TypeError, ValueError) as error:
        text = str(error)
        raise type(error)(text if text.startswith("backlash") else f"backlash {name!r}: {text}") from None
    self.bearings[name] = backlash
    return backlash
