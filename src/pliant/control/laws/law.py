"""What all named laws share: they are functions of (t, state) for one system, and their inputs stay within bounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...model.validate import reals, shown, unknown_name
from ...system import System, needs_system
from ...system.forces import actuation_matrix

__all__ = ["Law", "StateLike", "accelerations", "input_limits", "refuse", "require_affine"]

Array = NDArray[np.float64]
_LINEAR = 1e-9  # how far forces may be from linear in the inputs, relative to their size


class StateLike(Protocol):
    """What a law sees: coordinates and velocities; what `simulate`, `Sampled` and steppers hand over has them."""

    @property
    def q(self) -> Array:
        """Coordinates (nq,)."""

    @property
    def v(self) -> Array:
        """Velocities (nv,)."""


class Law(ABC):
    """A feedback law of (t, state) for one system: ``u=law`` of `simulate`, ``pl.Sampled(law, period)``, or called by hand.

    Attributes
    ----------
    system : System
    lower, upper : ndarray (nu,)
        Bounds of the inputs; what the law wants beyond them is cut off.
    """

    def __init__(self, system: System, bounds: Any = None) -> None:
        needs_system(type(self).__name__, system)
        self.system = system
        self.lower, self.upper = input_limits(system, bounds)

    @abstractmethod
    def wanted(self, t: float, state: StateLike) -> Array:
        """The inputs (nu,) that the law asks for, also beyond bounds that it does not know of."""

    def __call__(self, t: float, state: StateLike) -> Array:
        """The inputs (nu,) within bounds."""
        return np.clip(self.wanted(t, state), self.lower, self.upper)


def input_limits(system: System, bounds: Any = None) -> tuple[Array, Array]:
    """Bounds of inputs, each (nu,): a pair of numbers or arrays, or pairs by name; never beyond `System.input_bounds`."""
    lower, upper = system.input_bounds
    if bounds is None:
        return lower, upper
    hint = "Give a pair (low, high) of numbers or arrays (nu,), or a dictionary of pairs by name."
    if isinstance(bounds, Mapping):
        for name, pair in bounds.items():
            if name not in system.input_names:
                raise unknown_name("input", str(name), system.input_names)
            k = system.input_names.index(name)
            low, high = _pair(f"bounds[{name!r}]", pair, hint)
            lower[k], upper[k] = max(lower[k], float(low)), min(upper[k], float(high))
    else:
        low, high = _pair("bounds", bounds, hint)
        for side in (low, high):
            if side.shape not in ((), (system.nu,)):
                raise ValueError(f"bounds has shape {side.shape}, but a number or ({system.nu},) is needed. {hint}")
        lower, upper = np.maximum(lower, low), np.minimum(upper, high)
    if np.any(lower > upper) or np.any(np.isnan(lower) | np.isnan(upper)):
        k = int(np.argmax(~(lower <= upper)))
        raise ValueError(
            f"bounds of {system.input_names[k]!r}, {lower[k]:g} and {upper[k]:g} with those of the input itself, leave nothing. {hint}"
        )
    return lower, upper


def _pair(field: str, value: Any, hint: str) -> tuple[Array, Array]:
    if not isinstance(value, (list, tuple, np.ndarray)) or len(value) != 2:
        raise TypeError(f"{field} = {shown(value)} is no pair. {hint}")
    return reals(field, value[0], hint=hint), reals(field, value[1], hint=hint)


def refuse(system: System, name: str, *, loops: bool = False) -> None:
    """Error for robots whose next motion does not follow from q, v and u alone, and, if asked for, for loops."""
    if system.nz:
        raise ValueError(
            f"{name} is not possible for {system.name!r}: it has loads or laws that remember (friction that sticks, viscoelastic laws), which "
            "coordinates and velocities do not tell. Leave these out of the model of the law."
        )
    if np.any(system.known) or system.told:
        names = ", ".join(map(repr, [*system.prescribed, *system.told]))
        raise ValueError(
            f"{name} is not possible for {system.name!r}: it has prescribed motions ({names}). Use motors instead."
        )
    if loops and system.loop_rows:
        raise ValueError(f"{name} is not possible for {system.name!r}: it has loops.")


def require_affine(system: System, name: str) -> None:
    """Error unless forces are linear in the inputs: tensions, torques, pressures; tried at random states."""
    rng = np.random.default_rng(0)
    lower, upper = system.input_bounds
    v = rng.normal(size=system.nv) * system.internal.scale
    zero = np.zeros(system.nv)
    base = np.clip(np.zeros(system.nu), lower, upper)
    for scale in (0.1, 0.5):
        q = system.random(rng, scale=scale)
        B, rest = actuation_matrix(system, q, v, base), system.residual(q, v, zero, base)
        for k in range(system.nu):
            u = base.copy()
            u[k] = 1.0 if lower[k] <= 1.0 <= upper[k] else 0.5 * (max(lower[k], -1.0) + min(upper[k], 1.0))
            told, real = B[:, k] * (u[k] - base[k]), rest - system.residual(q, v, zero, u)
            size = max(np.abs(system.internal.scale * told).max(), np.abs(system.internal.scale * real).max())
            noise = 1e-13 * np.abs(system.internal.scale * rest).max()
            if np.abs(system.internal.scale * (real - told)).max() > _LINEAR * size + noise:
                raise ValueError(
                    f"{name} needs inputs that act linearly (tensions, torques, pressures), and {system.input_names[k]!r} of {system.name!r} does "
                    "not (an elastic tendon, a servo at its limit, a load of your own)."
                )


def accelerations(system: System, q: Array, v: Array) -> tuple[Array, Array]:
    """Accelerations (nv,) without inputs, and their derivative (nv, nu) by the inputs, which they are linear in; loops are kept."""
    base = np.clip(np.zeros(system.nu), *system.input_bounds)
    found = system.forward_dynamics_derivatives(q, v, u=base)
    return found.a - found.du @ base, found.du
