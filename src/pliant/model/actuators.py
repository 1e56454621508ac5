"""What drives a robot: tendons, pressure chambers, push rods, internal stress and motors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .cost import check_pieces
from .joints import Joint
from .links import Frame
from .routing import Along
from .validate import choice, finite, flag, integer, interval, non_negative, positive, vector

__all__ = ["ActiveStrain", "InternalStress", "Motor", "Negative", "PrescribedMotion", "Stop", "Stretch", "Tendon"]

Array = NDArray[np.float64]
Stretch = Along | Frame
Weight = float | Callable[[float], float]


@dataclass(frozen=True)
class Negative:
    """Minus a function of X: the factor of a chamber from its area."""

    function: Callable[[float], float]

    def __call__(self, X: float) -> float:
        """Its value at X."""
        return -positive(f"area(X={X:g})", self.function(X), unit="m²")


@dataclass(frozen=True)
class Tendon:
    """A cable, push rod or pressure chamber: a line through the robot under tension or compression.

    Parameters
    ----------
    path : tuple of Along and Frame
        Its way from the motor to the far end: stretches along rods and points (eyelets) on links or in the world.
        Neighbours are joined by straight stretches.
    control : "tension", "length" or "elastic"
        "tension": the input of its name is the tension [N]. "length": its length [m] is prescribed by the `motion` of
        `simulate` and `solve_statics`; the input is then unknown, and the tension that they find (zero while slack).
        "elastic": the input is the length of cable that the motor has pulled in [m]; the tension is ``k (ℓ + u − ℓ₀) + c ℓ̇`` while that is positive, and zero when the cable is slack.
    stiffness, damping : float
        k [N/m] and c [N s/m] of an elastic tendon.
    rest_length : float, optional
        ℓ₀ [m] of an elastic tendon; its length in the neutral configuration if left out.
    friction : float
        Coefficient μ of friction: the tension falls as exp(−μθ) with the angle θ that the tendon has turned since the motor,
        along rods and at the corners of its way (points that it passes through, ends of stretches along rods). The cable is taken to be pulled in, unless `slip_speed` is given.
    slip_speed : float, optional
        Speed [m/s] of the cable over which friction changes its direction: factor exp(−μθ tanh(−ℓ̇/slip_speed)).
    push : bool
        Whether the input may be negative.
    factor : float or function of X
        The force in the line per unit of input; negative where the input pushes (a push rod: −1, a chamber: minus its
        area).
    pressure : bool
        Whether the input is a pressure [Pa] and `factor` minus an area [m²]: a chamber.

    Notes
    -----
    The generalised force of a tension T is ``−T ∂ℓ/∂q`` with the length ``ℓ = ∫ |σ + κ×d + d′|`` along rods, plus
    straight stretches (MATH §4, [002] D60–D63).
    """

    path: tuple[Stretch, ...]
    control: Literal["tension", "length", "elastic"] = "tension"
    stiffness: float | None = None
    damping: float = 0.0
    rest_length: float | None = None
    friction: float = 0.0
    slip_speed: float | None = None
    push: bool = False
    factor: Weight = 1.0
    pressure: bool = False

    units: ClassVar[dict[str, str]] = {
        "stiffness": "N/m",
        "damping": "N s/m",
        "rest_length": "m",
        "friction": "–",
        "slip_speed": "m/s",
        "factor": "–",
    }

    def __post_init__(self) -> None:
        """Check the values."""
        check_pieces("path", len(self.path))
        if not self.path:
            raise ValueError("its path is empty: give a rod, or a list of rods, Along(...) and frames.")
        if len(self.path) == 1 and isinstance(self.path[0], Frame):
            raise ValueError("its path is a single point; give at least two, or a stretch along a rod.")
        choice("control", self.control, ("tension", "length", "elastic"))
        self._set("damping", non_negative("damping", self.damping, unit="N s/m"))
        self._set("friction", non_negative("friction", self.friction, hint="The coefficient of friction; 0 for none."))
        self._set("push", flag("push", self.push))
        if not callable(self.factor):
            self._set("factor", finite("factor", self.factor))
        if self.slip_speed is not None:
            self._set("slip_speed", positive("slip_speed", self.slip_speed, unit="m/s"))
            if self.friction == 0.0:
                raise ValueError("slip_speed is for a tendon with friction; give friction, or leave it out.")
        if self.push and self.control == "elastic":
            raise ValueError("push=True makes no sense for an elastic tendon, which goes slack.")
        if self.rest_length is not None:
            self._set("rest_length", positive("rest_length", self.rest_length, unit="m"))
        if self.control == "elastic":
            if self.stiffness is None:
                raise ValueError("an elastic tendon needs stiffness [N/m].")
            self._set("stiffness", positive("stiffness", self.stiffness, unit="N/m"))
        elif self.stiffness is not None or self.damping or self.rest_length is not None:
            raise ValueError("stiffness, damping and rest_length are for control='elastic'.")
        if self.control != "tension" and self.factor != 1.0:
            raise ValueError("a push rod or chamber is controlled by its force or pressure.")

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def kind(self) -> Literal["tendon", "push rod", "chamber"]:
        """What it is."""
        if self.pressure:
            return "chamber"
        return "tendon" if callable(self.factor) or self.factor > 0 else "push rod"

    @property
    def input_unit(self) -> str:
        """Unit of its input: of a tension or force, of a pressure, or of the length that was pulled in."""
        return "m" if self.control == "elastic" else "Pa" if self.pressure else "N"

    @property
    def along(self) -> tuple[Along, ...]:
        """The stretches along rods."""
        return tuple(piece for piece in self.path if isinstance(piece, Along))

    def weight(self, X: Array) -> Array:
        """`factor` at points X."""
        if callable(self.factor):
            return np.array([finite(f"factor(X={x:g})", self.factor(float(x))) for x in X])
        return np.full(len(X), float(self.factor))


@dataclass(frozen=True)
class PrescribedMotion:
    """A joint, or one of its degrees of freedom, that moves as told; the force that it takes is a result.

    Parameters
    ----------
    link : str
        The link whose joint it is, or the loop.
    dof : int, optional
        Which of the joint's degrees of freedom; all of them if left out.
    """

    link: str
    dof: int | None = None

    def mask(self, joint: Joint) -> NDArray[np.bool_]:
        """Which velocities of the joint are prescribed."""
        out = np.ones(joint.nv, dtype=bool)
        if self.dof is not None:
            out[:] = False
            out[self.dof] = True
        return out


@dataclass(frozen=True)
class Motor:
    """A motor on one coordinate of a joint.

    Parameters
    ----------
    link : str
        The link whose joint it drives, or the loop.
    dof : int
        Which of the joint's degrees of freedom.
    control : "torque", "position" or "velocity"
        What the input of its name is: the torque [N m] or force [N]; the target of a servo with
        ``force = kp (u − q) − kd q̇``; or that of one with ``force = kd (u − q̇)``.
    kp, kd : float
        Gains of the servo [N m/rad, N m s/rad or N/m, N s/m].
    limit : float
        Largest force or torque.
    """

    link: str
    dof: int = 0
    control: Literal["torque", "position", "velocity"] = "torque"
    kp: float = 0.0
    kd: float = 0.0
    limit: float = np.inf

    def __post_init__(self) -> None:
        """Check the values."""
        choice("control", self.control, ("torque", "position", "velocity"))
        object.__setattr__(self, "dof", integer("dof", self.dof))
        object.__setattr__(self, "kp", non_negative("kp", self.kp))
        object.__setattr__(self, "kd", non_negative("kd", self.kd))
        if not (isinstance(self.limit, (float, np.floating)) and self.limit == np.inf):
            object.__setattr__(self, "limit", positive("limit", self.limit, hint="Leave it out for none."))
        if self.control == "torque" and (self.kp or self.kd):
            raise ValueError("kp and kd are for control='position' or 'velocity'.")
        if self.control == "position" and self.kp == 0.0:
            raise ValueError("a position servo needs kp.")
        if self.control == "velocity" and (self.kd == 0.0 or self.kp):
            raise ValueError("a velocity servo needs kd, and no kp.")

    def input_unit(self, joint: Joint) -> str:
        """Unit of its input, on the joint that it drives: of a torque or force, of an angle or displacement, or of its rate."""
        unit = joint.dof_units[self.dof]
        if self.control == "torque":
            return {"rad": "N m", "m": "N"}[unit]
        return unit if self.control == "position" else f"{unit}/s"


@dataclass(frozen=True)
class Stop:
    """Ends of the range of a joint's coordinate: a one-sided spring beyond each of them.

    Parameters
    ----------
    link : str
        The link whose joint it is, or the loop.
    dof : int
        Which of the joint's degrees of freedom.
    lower, upper : float
        The range [rad or m] within which nothing acts; infinite for none.
    stiffness : float
        k [N m/rad or N/m] of ``f = k x (1 + c ẋ)`` for the overshoot x.
    dissipation : float
        c [s/rad or s/m]; the force never pulls back (Hunt and Crossley).
    restitution : float, optional
        Ratio of the rates after and before an impact, 0 to 1, instead of `dissipation`: c follows from the rate of each impact. Impacts slower than 1e-3 rad/s or m/s
        are damped as those of that rate.
    """

    link: str
    dof: int = 0
    lower: float = -np.inf
    upper: float = np.inf
    stiffness: float = 0.0
    dissipation: float = 0.0
    restitution: float | None = None

    units: ClassVar[dict[str, str]] = {"restitution": "–"}

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "dof", integer("dof", self.dof))
        if self.restitution is not None:
            value = interval("restitution", self.restitution, 0.0, 1.0, hint="1 is an elastic impact.")
            object.__setattr__(self, "restitution", value)
            if self.dissipation:
                raise ValueError(f"dissipation = {self.dissipation!r} and restitution = {value!r}: give one of them.")
        object.__setattr__(
            self, "stiffness", positive("stiffness", self.stiffness, hint="N m/rad or N/m beyond the ends.")
        )
        object.__setattr__(self, "dissipation", non_negative("dissipation", self.dissipation))
        for name in ("lower", "upper"):
            value = getattr(self, name)
            if not (isinstance(value, (float, np.floating)) and np.isinf(value)):
                object.__setattr__(self, name, finite(name, value))
        if not self.lower < self.upper or not (np.isfinite(self.lower) or np.isfinite(self.upper)):
            raise ValueError(
                f"lower = {self.lower!r} and upper = {self.upper!r} are not allowed: give at least one of them, lower < upper."
            )


@dataclass(frozen=True, eq=False)
class InternalStress:
    """An internal stress Λ(X) that acts in a rod like a muscle ([004] eq. 27, 63), scaled by the input of its name.

    Parameters
    ----------
    rod : str
    stress : array (6,) or function of X
        Moments about x, y, z [N m] and forces along x, y, z [N] in section axes, in the order of strains. Positive values
        increase the strain of the same name.
    """

    rod: str
    stress: ArrayLike | Callable[[float], ArrayLike]
    input_unit: ClassVar[str] = "–"  # a factor

    def __post_init__(self) -> None:
        """Check the values."""
        self.at(np.linspace(0.0, 1.0, 5))

    def at(self, X: Array) -> Array:
        """Λ at points X, (m, 6)."""
        hint = (
            "Give six finite numbers (moments about x, y, z, forces along x, y, z in section axes), or a function of X in "
            "[0, 1] that returns them."
        )
        if callable(self.stress):
            rows = [vector(f"stress(X={x:g})", self.stress(float(x)), (6,), hint=hint) for x in X]
            return np.array(rows).reshape(-1, 6)
        return np.tile(vector("stress", self.stress, (6,), hint=hint), (len(X), 1))


@dataclass(frozen=True, eq=False)
class ActiveStrain:
    """A strain that an active material takes by itself, scaled by the input of its name: stress is that of ``ξ − ξ* − u p(X)``.

    So act dielectric elastomers, shape memory, swelling, pneumatic muscles within a wall. With what the rod has of other laws see docs/laws.md.

    Parameters
    ----------
    rod : str
    strain : array (6,) or function of X
        p: torsion, bending about y and z [rad/m], stretch, shear along y and z [–] for an input of one; zero in strains that are not free.
    """

    rod: str
    strain: ArrayLike | Callable[[float], ArrayLike]
    input_unit: ClassVar[str] = "–"  # a factor

    def __post_init__(self) -> None:
        """Check the values."""
        self.at(np.linspace(0.0, 1.0, 5))

    def at(self, X: Array) -> Array:
        """The strain at points X, (m, 6)."""
        hint = "Give six finite numbers (torsion, bending y, z, stretch, shear y, z), or a function of X in [0, 1] that returns them."
        if callable(self.strain):
            rows = [vector(f"strain(X={x:g})", self.strain(float(x)), (6,), hint=hint) for x in X]
            return np.array(rows).reshape(-1, 6)
        return np.tile(vector("strain", self.strain, (6,), hint=hint), (len(X), 1))
