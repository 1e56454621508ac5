"""What was measured: equilibria and motions, with what was seen of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..gradients.costs.frames import Position
from ..gradients.costs.quantity import Quantity, stack
from ..gradients.rollout import METHODS, Method
from ..model.signal import Signal
from ..model.validate import choice, name, positive, reals, shown, unknown_name, vector
from ..system import System

__all__ = ["Data", "MotionData", "StaticData"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Data:
    """What `StaticData` and `MotionData` share."""

    values: Any
    quantity: Any
    sigma: Any = 1.0
    name: str = "data"

    def __post_init__(self) -> None:
        """Values in rows (n, m), and a quantity that has m entries."""
        name(self.name, field=f"{type(self).__name__}.name")
        parts = self.quantity if isinstance(self.quantity, Sequence) else (self.quantity,)
        if not parts or not all(isinstance(part, Quantity) for part in parts):
            raise TypeError(
                f"quantity = {shown(self.quantity)} of data {self.name!r} must be what was measured, such as pl.costs.Position('arm.tip'), or a list of such."
            )
        if any(part.per_step for part in parts):
            raise ValueError(
                f"quantity of data {self.name!r} has rates of inputs, which belong to steps, not to states."
            )
        self._set("parts", tuple(parts))
        self._set("quantity", parts[0] if len(parts) == 1 else stack(*parts))
        values = reals("values", self.values, hint="NaN where nothing was seen.")
        values = values.reshape(len(values), -1) if values.ndim else values.reshape(1, 1)
        if not np.any(np.isfinite(values)):
            raise ValueError(f"values of data {self.name!r} has no finite entry: nothing was seen.")
        if np.any(np.isinf(values)):
            raise ValueError(f"values of data {self.name!r} has infinite entries; NaN is for what was not seen.")
        self._set("values", values)
        sigma = reals("sigma", self.sigma)
        if sigma.ndim == 3:
            sigma = sigma.reshape(len(sigma), -1)
        try:
            sigma = np.broadcast_to(sigma, values.shape).astype(float)
        except ValueError:
            raise ValueError(
                f"sigma of data {self.name!r} has shape {sigma.shape}: give one number, one for each of the {values.shape[1]} entries, or {values.shape}."
            ) from None
        if not np.all(sigma[np.isfinite(values)] > 0.0) or not np.all(np.isfinite(sigma)):
            raise ValueError(
                f"sigma of data {self.name!r} must be greater than zero: it is the standard deviation of the noise."
            )
        self._set("sigma", sigma)

    def _set(self, field_name: str, value: object) -> None:
        object.__setattr__(self, field_name, value)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def points(self) -> int:
        """Number of positions if nothing else was measured, else 0."""
        return len(self.parts) if all(isinstance(part, Position) for part in self.parts) else 0  # type: ignore[attr-defined]

    def check(self, system: System) -> None:
        """Error unless the data fit the system."""
        m = self.quantity.size(system)
        if self.values.shape[1] != m:
            raise ValueError(
                f"values of data {self.name!r} have {self.values.shape[1]} entries in each row, but {self.quantity!r} has {m}. NaN is for what was not seen."
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class StaticData(Data):
    """Measurements of equilibria.

    Parameters
    ----------
    inputs : array (n, nu), dict of arrays (n,) by name, or None
        Inputs of each equilibrium, such as tensions [N]; zero if left out.
    values : array (n, m), or (n, k, 3) for k positions
        What was measured; NaN where nothing was seen.
    quantity : Quantity or list of them
        What it is of the robot: ``pl.costs.Position("arm.tip")``, markers one after the other.
    sigma : float, array (m,) or (n, m)
        Standard deviation of the noise, in the unit of the values.
    motion : dict of arrays (n,), optional
        Prescribed lengths of tendons and coordinates of joints, by name, as in `solve_statics`.
    name : str
        In tables and plots, and for unknowns of these data alone (see `Unknown`).

    Examples
    --------
    >>> import pliant as pl
    >>> seen = pl.StaticData(
    ...     inputs={"cable": [1.0, 2.0]}, values=[[0.3, 0.0, 0.1], [0.2, 0.0, 0.2]],
    ...     quantity=pl.costs.Position("arm.tip"), sigma=1e-3,
    ... )
    >>> seen
    <2 equilibria 'data': Position('arm.tip')>
    """

    inputs: Any = None
    motion: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        """How many, and of what."""
        return f"<{len(self)} equilibria {self.name!r}: {', '.join(map(repr, self.parts))}>"  # type: ignore[attr-defined]

    def rows(self, system: System) -> Array:
        """Inputs (n, nu)."""
        n = len(self)
        if self.inputs is None:
            return np.zeros((n, system.nu))
        if isinstance(self.inputs, Mapping):
            out = np.zeros((n, system.nu))
            for key, column in self.inputs.items():
                if key not in system.input_names:
                    raise unknown_name("input", str(key), system.input_names)
                values = reals(f"inputs[{key!r}]", column)
                if values.shape not in ((), (n,)):
                    raise ValueError(
                        f"inputs[{key!r}] of data {self.name!r} has shape {values.shape}, but ({n},) is needed."
                    )
                out[:, system.input_names.index(key)] = values
            return out
        return vector(f"inputs of data {self.name!r}", self.inputs, (n, system.nu), hint=f"One row for each equilibrium: {', '.join(system.input_names)}.")  # fmt: skip

    def motion_of(self, row: int) -> dict[str, Any] | None:
        """What is prescribed in one equilibrium."""
        return None if self.motion is None else {key: np.asarray(x, dtype=float)[row].tolist() for key, x in self.motion.items()}  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class MotionData(Data):
    """Measurements of a motion.

    Parameters
    ----------
    t : array (n,)
        Times of the rows [s], increasing, with gaps as they are.
    values, quantity, sigma, name
        As of `StaticData`.
    inputs : dict of Signal or number by name, optional
        What acted; zero if left out. Signals must be of one kind; their times are those of `t`.
    start : None, "rest", array (nq,) or Equilibrium
        Where the motion starts: neutral, in equilibrium with the inputs of that time (which moves with the unknowns), or a state that is held fixed.
    velocity : array (nv,), optional
        Initial velocity.
    begin : float, optional
        When the motion starts [s]; at the first row if left out.
    motion : dict, optional
        Prescribed joints, loops and tendon lengths, as in `simulate`.
    step : float, optional
        Largest step [s]. Left out: halved from the interval between rows until its estimated error is below a tenth of sigma and moves the
        values by less than a tenth of their standard errors, and checked again with the values found.
    method : {"sdirk3", "sdirk2", "midpoint", "euler"}
        As of `rollout`.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> pulse = pl.Signal([0, 0.1], [0.0, 5.0])
    >>> pl.MotionData(
    ...     t=[0.0, 0.1, 0.2], inputs={"cable": pulse}, values=np.zeros((3, 3)),
    ...     quantity=pl.costs.Position("arm.tip"), sigma=1e-3, start="rest",
    ... )
    <motion 'data' of 3 rows in 0.2 s: Position('arm.tip')>
    """

    t: Any
    inputs: Mapping[str, Any] | None = None
    start: Any = None
    velocity: Any = None
    begin: float | None = None
    motion: Mapping[str, Any] | None = None
    step: float | None = None
    method: Method = field(default="sdirk3")

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        t = vector("MotionData.t", self.t, (len(self),), hint="One time for each row of values.")
        if np.any(np.diff(t) <= 0.0):
            k = int(np.argmax(np.diff(t) <= 0.0))
            raise ValueError(
                f"MotionData.t[{k + 1}] = {t[k + 1]:g} is not allowed: times must increase, and t[{k}] = {t[k]:g}."
            )
        self._set("t", t)
        begin = float(t[0]) if self.begin is None else float(self.begin)
        if begin > t[0] + 1e-12:
            raise ValueError(f"begin = {begin:g} s is not allowed: the first row is earlier, at {t[0]:g} s.")
        if t[-1] <= begin:
            raise ValueError(
                f"data {self.name!r} end when the motion starts, at {begin:g} s: give later rows, or an earlier begin."
            )
        self._set("begin", begin)
        choice("method", self.method, METHODS)
        if self.step is not None:
            positive("step", self.step, unit="s")
        if isinstance(self.start, str):
            choice("start", self.start, ("rest",))
            if self.motion is not None:
                raise ValueError(
                    "start='rest' together with motion is not known: give the Equilibrium, which is then held fixed."
                )

    def __repr__(self) -> str:
        """How long, and of what."""
        return f"<motion {self.name!r} of {len(self)} rows in {self.t[-1] - self.begin:.6g} s: {', '.join(map(repr, self.parts))}>"  # type: ignore[attr-defined]

    def schedule(self, system: System) -> tuple[Array, Array, Literal["hold", "linear", "spline"]]:
        """Rows of inputs (m, nu), their knots (m,) [s], and how they act in between."""
        assert self.begin is not None
        given = dict(self.inputs or {})
        for key in given:
            if key not in system.input_names:
                raise unknown_name("input", str(key), system.input_names)
        signals = {key: x for key, x in given.items() if isinstance(x, Signal)}
        end = float(self.t[-1])
        kinds = {signal.kind for signal in signals.values()}
        if len(kinds) > 1:
            raise ValueError(
                f"inputs of data {self.name!r} are signals of several kinds ({', '.join(sorted(kinds))}): use one."
            )
        kind: Any = kinds.pop() if kinds else "hold"
        knots = _knots(list(signals.values()), kind, float(self.begin), end)
        rows = np.zeros((len(knots), system.nu))
        for key, x in given.items():
            if isinstance(x, Signal):
                if x.shape:
                    raise ValueError(
                        f"inputs[{key!r}] is a Signal of {x.shape[0]} values; give one Signal for each input."
                    )
                rows[:, system.input_names.index(key)] = x(knots)
            else:
                column = reals(f"inputs[{key!r}]", x, hint="Give a pl.Signal(t, values), or a number.")
                if column.shape != ():
                    raise TypeError(f"inputs[{key!r}] = {shown(x)} must be a pl.Signal(t, values), or a number.")
                rows[:, system.input_names.index(key)] = column
        return rows, knots, kind

    def times(self, knots: Array, step: float) -> Array:
        """Ends of the steps: all rows, all knots in between, and no step longer than `step`."""
        assert self.begin is not None
        inside = knots[(knots > self.begin) & (knots < self.t[-1])]
        marks = np.unique(np.concatenate([[self.begin], self.t, inside]))
        close = np.diff(marks) < 1e-9 * max(1.0, abs(marks[-1]))
        marks = np.delete(marks, np.flatnonzero(close) + 1)
        pieces = [np.linspace(a, b, int(np.ceil((b - a) / step * (1 - 1e-9))) + 1)[1:] for a, b in pairwise(marks)]
        return np.concatenate([marks[:1], *pieces])


def _knots(signals: list[Signal], kind: str, begin: float, end: float) -> Array:
    """Times at which rows of inputs are given, from before the start (and to the end, unless rows are held)."""
    if not signals:
        return np.array([begin])
    if kind == "spline":
        first = signals[0].t
        if any(signal.t != first for signal in signals) or first[0] > begin or first[-1] < end:
            raise ValueError(
                "inputs that are splines need the same times each, from the start of the motion to its end."
            )
        return np.array(first)
    times = np.unique(np.concatenate([np.array(signal.t) for signal in signals]))
    inside = times[(times > begin + 1e-12) & (times < end - 1e-12)]
    return np.concatenate([[begin], inside, [end] if kind == "linear" else []])
