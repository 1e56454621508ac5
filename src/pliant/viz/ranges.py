"""How far the sliders of the studio go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..model.actuators import Motor
from ..model.loops import joint_of
from ..model.validate import finite, unknown_name
from ..solve.closure import null_space
from ..system import System

__all__ = ["checked_ranges", "default_ranges", "design_range", "prescribed_ranges", "told_unit"]


def default_ranges(system: System) -> dict[str, tuple[float, float]]:
    """Ranges of the inputs that bend the unloaded robot by about two radians at most, from its stiffness.

    Returns
    -------
    dict
        Lowest and highest value by the name of the input, in its own unit; tendons only pull.
    """
    q = system.neutral()
    scale = np.where(system.known, 0.0, system.internal.scale)
    K = scale[:, None] * system.elastic_tangent(q) * scale
    taut = {name: 1.0 for name, tendon in system.robot.tendons.items() if tendon.control == "elastic"}
    B = scale[:, None] * system.actuation_matrix(q, u=taut)
    N = null_space(system.closure(q)[1] * scale) if system.loop_rows else np.eye(system.nv)
    motion = np.abs(N @ np.linalg.lstsq(N.T @ K @ N, N.T @ B, rcond=1e-9)[0]).max(axis=0, initial=0.0)
    out = {}
    for name, gain in zip(system.input_names, motion):
        largest = _round(2.0 / gain) if np.isfinite(gain) and gain > 0 else 1.0
        tendon = system.robot.tendons.get(name)
        pulls = tendon is not None and not tendon.push
        motor = system.robot.motors.get(name)
        if motor is not None:
            low, high = _allowed(system, motor)
            out[name] = max(-largest, low), min(largest, high)
        else:
            out[name] = (0.0 if pulls else -largest, largest)
    return out


def _allowed(system: System, motor: Motor) -> tuple[float, float]:
    """Inputs of a motor that its limit, or for a servo the stops of its joint, leave."""
    if motor.control == "torque":
        return -motor.limit, motor.limit
    return _between_stops(system, motor.link, motor.dof) if motor.control == "position" else (-np.inf, np.inf)


def _between_stops(system: System, link: str, dof: int) -> tuple[float, float]:
    """Range of a coordinate that stops leave."""
    own = [stop for stop in system.robot.stops.values() if (stop.link, stop.dof) == (link, dof)]
    return max((stop.lower for stop in own), default=-np.inf), min((stop.upper for stop in own), default=np.inf)


def _round(x: float) -> float:
    """The nearest of 1, 2, 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(power * min((1, 2, 5, 10), key=lambda k: abs(np.log(k * power / x))))


def prescribed_ranges(system: System, size: float) -> dict[str, tuple[float, float]]:
    """Ranges of prescribed joints of one coordinate, and of tendons of prescribed length."""
    out = {}
    for name, motion in system.robot.motions.items():
        if motion.dof is not None or joint_of(system.robot, motion.link).nv == 1:
            largest = np.pi if told_unit(system, name) == "rad" else 0.5 * size
            low, high = _between_stops(system, motion.link, motion.dof or 0)
            out[name] = max(-largest, low), min(largest, high)
    for name, k in system.held_tendons.items():
        length = float(system.tendon_lengths(system.neutral())[0][k])
        out[name] = (0.5 * length, 1.2 * length)
    return out


def told_unit(system: System, motion: str) -> str:
    """Unit of a prescribed coordinate."""
    told = system.robot.motions[motion]
    return joint_of(system.robot, told.link).dof_units[told.dof or 0]


def checked_ranges(system: System, size: float, ranges: Mapping[str, Any] | None) -> dict[str, tuple[float, float]]:
    """The ranges of all sliders, with those that were given; error for what cannot be one."""
    out = {**default_ranges(system), **prescribed_ranges(system, size)}
    for name, ends in (ranges or {}).items():
        if name not in out:
            raise unknown_name("input or prescribed motion", str(name), out)
        try:
            low, high = (finite(f"ranges[{name!r}]", x) for x in ends)
        except (TypeError, ValueError):
            raise ValueError(f"ranges[{name!r}] = {ends!r} is not allowed: give two numbers (low, high).") from None
        if not low < high:
            raise ValueError(f"ranges[{name!r}] = {ends!r} is not allowed: the first must be the smaller one.")
        out[name] = (low, high)
    return out


def design_range(value: float, unit: str) -> tuple[float, float]:
    """Where the slider of a parameter goes: from half to twice its value, or about zero for what may have either sign."""
    if value != 0.0:
        return (0.5 * value, 2.0 * value) if value > 0 else (2.0 * value, 0.5 * value)
    return (-0.01, 0.01) if unit == "m" else (-1.0, 1.0)
