"""What a robot would have shown, with exact derivatives by all that is unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import lie
from ..gradients.costs.states import Evaluated, States, Variation
from ..gradients.parameters import Beside
from ..gradients.rollout import METHODS, Rollout, RolloutError, carry_out, plan_of
from ..gradients.statics import StaticTangent
from ..gradients.tangent import Direction, push
from ..solve.equilibrium import Equilibrium
from ..solve.simulate import initial_state
from ..solve.statics import solve_statics
from ..system import System
from .data import Data, MotionData, StaticData
from .unknowns import Setting, Target

__all__ = ["MotionPredictor", "NoPrediction", "Prediction", "Revised", "StaticPredictor", "predictor"]

Array = NDArray[np.float64]
Tangent = Callable[[list[list[Target]]], Array]  # (n, m, directions)


class NoPrediction(ArithmeticError):
    """There is no prediction: no equilibrium was found, or a step could not be taken."""


@dataclass(frozen=True)
class Prediction:
    """What data would be.

    Attributes
    ----------
    system : System
    value : ndarray (n, m)
    tangent : function
        Derivatives (n, m, d) along d directions, each a list of targets.
    """

    system: System
    value: Array
    tangent: Tangent


def predictor(system: System, data: Data) -> StaticPredictor | MotionPredictor:
    """What predicts data."""
    data.check(system)
    if isinstance(data, MotionData):
        return MotionPredictor(system, data)
    assert isinstance(data, StaticData)
    return StaticPredictor(system, data)


# ---------------------------------------------------------------- sensors


def _seen(setting: Setting, points: int, value: Array) -> tuple[Array, Array]:
    """What a sensor with a pose and offsets of its own shows (n, m), and its rotation."""
    R = np.eye(3)
    if points and np.any(setting.pose):
        R = np.asarray(lie.exp(np.concatenate([setting.pose[3:], np.zeros(3)])))[:3, :3]
        value = (value.reshape(len(value), points, 3) @ R.T + setting.pose[:3]).reshape(len(value), -1)
    return value + setting.offset, R


def _by_sensor(setting: Setting, points: int, value: Array, targets: list[Target]) -> Array | float:
    """Derivative of what is seen by pose and offsets of the sensor; `value` is what it would show at the origin."""
    total: Array | float = 0.0
    for t in targets:
        if t.kind == "offset":
            one = np.zeros(value.shape[1])
            one[t.key] = t.factor
            total = total + one
        elif t.kind == "pose" and t.key < 3:
            total = total + t.factor * np.tile(np.eye(3)[t.key], points)
        elif t.kind == "pose":
            twist = np.concatenate([setting.pose[3:], np.zeros(3)])
            turned = value.reshape(len(value), points, 3) @ np.asarray(lie.exp(twist))[:3, :3].T
            axis = np.asarray(lie.tangent(twist))[:3, t.key - 3]
            total = total + t.factor * np.cross(axis, turned).reshape(value.shape)
    return total


class Revised:
    """A system with the values of some parameters, and those in which one is a little different, found once for all data."""

    def __init__(self, system: System, parameters: dict[str, float]) -> None:
        self.parameters = parameters
        self.system = system.with_parameters(parameters)
        self._found: dict[str, Beside] = {}

    def near(self, name: str) -> Beside:
        """Those beside it in a parameter."""
        if name not in self._found:
            self._found[name] = Beside(self.system, name, smooth=not self.system.switches)
        return self._found[name]


def _direct(data: Data, states: States, revised: Revised, targets: list[Target]) -> Array | float:
    """Derivative of the quantity itself by parameters, with the states held fixed."""
    total: Array | float = 0.0

    def value(other: System) -> Array:
        return data.quantity.evaluate(replace(states, system=other)).value

    for t in targets:
        if t.kind == "parameter":
            total = total + t.factor * revised.near(t.key).slope(value)
    return total


def _applied(system: System, setting: Setting, rows: Array) -> Array:
    """Inputs (…, nu) with gains and biases, within what is allowed: a cable that would push is slack."""
    return np.clip(rows * setting.gain + setting.bias, *system.input_bounds)


def _limited(system: System, setting: Setting, rows: Array) -> list[str]:
    wanted = rows * setting.gain + setting.bias
    beyond = np.any(wanted != np.clip(wanted, *system.input_bounds), axis=0)
    return [name for name, is_beyond in zip(system.input_names, beyond) if is_beyond]


def _input_change(system: System, setting: Setting, rows: Array, targets: list[Target]) -> Array:
    """Change of rows of inputs (…, nu) with gains and biases; none where they are at the limit of what is allowed."""
    out = np.zeros_like(rows)
    for t in targets:
        if t.kind == "gain":
            out[..., t.key] += t.factor * rows[..., t.key]
        elif t.kind == "bias":
            out[..., t.key] += t.factor
    wanted = rows * setting.gain + setting.bias
    return np.where(wanted == _applied(system, setting, rows), out, 0.0)


def _as_measured(
    data: Data, setting: Setting, states: States, found: Evaluated, rows: Any, changes: Callable[[list[list[Target]]], list[Variation]],
    revised: Revised,
) -> Prediction:  # fmt: skip
    """The prediction of some rows of states, with its derivatives."""
    plain = found.value[rows]
    value, R = _seen(setting, data.points, plain)

    def tangent(directions: list[list[Target]]) -> Array:
        out = np.zeros((*plain.shape, len(directions)))
        moving = [k for k, d in enumerate(directions) if any(t.kind not in ("pose", "offset") for t in d)]
        for k, change in zip(moving, changes([directions[k] for k in moving])):
            slope = (found.push(change) + _direct(data, states, revised, directions[k]))[rows]
            out[:, :, k] = (
                (slope.reshape(len(slope), data.points, 3) @ R.T).reshape(slope.shape) if data.points else slope
            )
        for k, targets in enumerate(directions):
            out[:, :, k] += _by_sensor(setting, data.points, plain, targets)
        return out

    return Prediction(revised.system, value, tangent)


# ---------------------------------------------------------------- equilibria


class StaticPredictor:
    """Equilibria of some data, each found from that of the values before."""

    def __init__(self, system: System, data: StaticData) -> None:
        self.system, self.data = system, data
        self._rows = data.rows(system)
        self._last: list[Equilibrium | None] = [None] * len(data)

    def limited(self, setting: Setting) -> list[str]:
        """Inputs that gains and biases would bring beyond what is allowed."""
        return _limited(self.system, setting, self._rows)

    def forget(self) -> None:
        """Start from the neutral configuration again."""
        self._last = [None] * len(self.data)

    def predict(self, setting: Setting, revised: Revised) -> Prediction:
        """All equilibria; error if one is not found."""
        system, data = revised.system, self.data
        U = _applied(system, setting, self._rows)
        rests = []
        for k, u in enumerate(U):
            last = self._last[k]
            rest = solve_statics(
                system, u, motion=data.motion_of(k), start=None if last is None or system.nz else last.q
            )
            if not rest.success and last is not None:
                rest = solve_statics(system, u, motion=data.motion_of(k))
            if not rest.success:
                raise NoPrediction(f"no equilibrium of row {k} of data {data.name!r} was found: {rest.message}")
            rests.append(rest)
        self._last = list(rests)
        q, u = np.array([rest.q for rest in rests]), np.array([rest.u for rest in rests])
        states = States(system, np.arange(len(q), dtype=float), q, np.zeros((len(q), system.nv)), u)

        def changes(directions: list[list[Target]]) -> list[Variation]:
            if not directions:
                return []
            dq, dv, du = np.zeros((len(directions), *states.v.shape)), np.zeros_like(states.v), np.zeros((len(directions), *states.u.shape))  # fmt: skip
            by_u = [_input_change(system, setting, self._rows, targets) for targets in directions]
            for k, rest in enumerate(rests):
                tangent = StaticTangent(system, rest)
                for d, targets in enumerate(directions):
                    r, e = tangent.by_inputs(by_u[d][k])
                    for t in targets:
                        if t.kind == "parameter":
                            change = tangent.by_parameter(t.key, revised.near(t.key))
                            r, e = r + t.factor * change[0], e + t.factor * change[1]
                    dq[d, k], held = tangent.moved(r, e)
                    du[d, k] = by_u[d][k] + held
            return [Variation(a, dv, b) for a, b in zip(dq, du)]

        return _as_measured(data, setting, states, data.quantity.evaluate(states), slice(None), changes, revised)


# ---------------------------------------------------------------- motions


class MotionPredictor:
    """The motion of some data, in steps that stay as they are."""

    def __init__(self, system: System, data: MotionData) -> None:
        self.system, self.data = system, data
        self._U, self._knots, self._kind = data.schedule(system)
        widest = (float(data.t[-1]) - float(data.begin or 0.0)) / 20
        self.step = (
            min(float(np.median(np.diff(data.t))) if len(data) > 1 else widest, widest)
            if data.step is None
            else data.step
        )
        self._last: Equilibrium | None = None

    def limited(self, setting: Setting) -> list[str]:
        """Inputs that gains and biases would bring beyond what is allowed."""
        return _limited(self.system, setting, self._U)

    def forget(self) -> None:
        """Start from the neutral configuration again."""
        self._last = None

    def run(self, system: System, setting: Setting) -> tuple[Rollout, Equilibrium | None]:
        """The motion, and the equilibrium that it starts from."""
        data, rest = self.data, None
        U = _applied(system, setting, self._U)
        start = data.start
        if isinstance(start, str):
            rest = solve_statics(
                system, self._first(U), start=None if self._last is None or system.nz else self._last.q
            )
            if not rest.success:
                raise NoPrediction(f"no equilibrium at the start of data {data.name!r} was found: {rest.message}")
            start, self._last = rest, rest
        q, v, _t = initial_state(system, start, data.velocity, None)
        if np.any(setting.start) or np.any(setting.speed):
            start, v = system.integrate(q, setting.start), v + setting.speed
        times = data.times(self._knots, self.step)
        plan = plan_of(
            system, U, step=np.diff(times), inputs=self._kind, knots=self._knots, motion=data.motion, start=start, velocity=v, t0=float(times[0]), method=data.method, tolerance=1e-11,
        )  # fmt: skip
        try:
            return carry_out(plan), rest
        except RolloutError as error:
            raise NoPrediction(f"the motion of data {data.name!r} stops: {error}") from None

    def _first(self, U: Array) -> Array:
        """Inputs at the start."""
        k = int(np.searchsorted(self._knots, float(self.data.begin or 0.0) + 1e-12, side="right")) - 1
        if self._kind == "spline":
            from ..gradients.schedule import Schedule

            schedule = Schedule(self._knots, "spline")
            return np.asarray(schedule.weights(np.array([self.data.begin]), np.zeros(1)) @ schedule.coefficients(U))[0]
        return U[max(k, 0)]

    def _sampled(self, run: Rollout) -> NDArray[np.int64]:
        """Which states are those of the rows."""
        return np.argmin(np.abs(run.t[:, None] - self.data.t), axis=0)

    def predict(self, setting: Setting, revised: Revised) -> Prediction:
        """The motion; error if it cannot be computed."""
        system, data = revised.system, self.data
        run, rest = self.run(system, setting)

        def changes(directions: list[list[Target]]) -> list[Variation]:
            if not directions:
                return []
            tangent = None if rest is None else StaticTangent(system, rest)
            each = [self._direction(run, tangent, setting, targets, revised) for targets in directions]
            return push(run, each, revised.near)

        states = run.states
        return _as_measured(data, setting, states, data.quantity.evaluate(states), self._sampled(run), changes, revised)

    def _direction(
        self, run: Rollout, tangent: StaticTangent | None, setting: Setting, targets: list[Target], revised: Revised
    ) -> Direction:
        system = run.system
        U = _input_change(system, setting, self._U, targets)
        parameters: dict[str, float] = {}
        begin, speed = np.zeros(system.nv), np.zeros(system.nv)
        for t in targets:
            if t.kind == "parameter":
                parameters[t.key] = parameters.get(t.key, 0.0) + t.factor
            elif t.kind == "speed":
                speed[t.key] += t.factor
            elif t.kind == "start":
                begin += t.factor * self._along(system, setting, run, t.key)
        if tangent is not None:
            r, e = tangent.by_inputs(self._first(U))
            for name, factor in parameters.items():
                change = tangent.by_parameter(name, revised.near(name))
                r, e = r + factor * change[0], e + factor * change[1]
            begin += self._carried(system, setting, tangent.moved(r, e)[0])
        return Direction(U if np.any(U) else None, begin, speed, None, parameters or None)

    def _along(self, system: System, setting: Setting, run: Rollout, key: int) -> Array:
        """The change of the start with one of its coordinates: not the unit vector where the robot turns freely and is already turned."""
        one = np.zeros(system.nv)
        one[key] = 1.0
        if system.nq == system.nv or not np.any(setting.start):
            return one
        q, _v, _t = initial_state(
            system, run.system.neutral() if self.data.start is None else self._origin(), None, None
        )
        return self._difference(system, lambda h: system.integrate(q, setting.start + h * one))

    def _origin(self) -> Any:
        return self._last if isinstance(self.data.start, str) else self.data.start

    def _carried(self, system: System, setting: Setting, dq: Array) -> Array:
        """The change of the start with that of the equilibrium which it is set off from."""
        if system.nq == system.nv or not np.any(setting.start):
            return dq
        assert self._last is not None
        q = self._last.q
        return self._difference(system, lambda h: system.integrate(system.integrate(q, h * dq), setting.start))

    @staticmethod
    def _difference(system: System, moved: Callable[[float], Array]) -> Array:
        here, h = moved(0.0), 1e-3
        at = {k: system.difference(here, moved(k * h)) for k in (-2, -1, 1, 2)}
        return np.asarray((8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h))

    def step_error(self, setting: Setting) -> Array:
        """Estimated error of the prediction by the steps, (n, m), from a motion with every step halved."""
        system, data = self.system.with_parameters(setting.parameters), self.data
        run, _rest = self.run(system, setting)
        try:
            fine = run.halved()
        except RolloutError as error:
            raise NoPrediction(str(error)) from None
        rows, order = self._sampled(run), METHODS[data.method].order
        coarse, better = (
            data.quantity.evaluate(run.states).value[rows],
            data.quantity.evaluate(fine.states).value[::2][rows],
        )
        return np.asarray((better - coarse) * 2**order / (2**order - 1))
