"""What is to be found: parameters of the robot, and what is not known of the experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..gradients.parameters import step_of
from ..model.validate import finite, flag, positive, shown, text, unknown_name
from ..system import System
from .data import Data, MotionData

__all__ = ["Setting", "Target", "Unknown", "Unknowns"]

Array = NDArray[np.float64]
AXES = ("x", "y", "z", "rx", "ry", "rz")
KINDS = ("gain", "bias", "pose", "offset", "start", "speed")


@dataclass(frozen=True)
class Unknown:
    """A number that is to be found, with what is known of it before.

    Parameters
    ----------
    name : str
        Of a parameter of the robot (``"arm.young"``), or of something about the experiment:

        ================================  ==========================================================================
        ``"gain:cable"``                  factor on an input (1)
        ``"bias:cable"``                  what is added to an input after that (0), such as pretension
        ``"pose:x"`` … ``"pose:rz"``      pose of the robot's world in the sensor's frame (0): position [m] and rotation vector [rad]; what is seen is R p + d
        ``"offset:0"``                    what is added to an entry of what is measured (0)
        ``"start:arm.bending_y.0"``       what is added to a coordinate of the start of a motion (0), by the name of the degree of freedom
        ``"speed:arm.bending_y.0"``       likewise to a velocity of the start (0)
        ================================  ==========================================================================

        ``"name@data"`` is that of the data of this name alone; without it, of all data. A kind alone (``"pose"``, ``"gain"``, …) is all of its kind.
        Any other name is a label, with `targets`.
    targets : str, list of str, or dict of factors by name, optional
        What takes this value (times a factor), if more than one, or under another name: ``Unknown("young", ["a.young", "b.young"])``.
    start : float, optional
        Where the search starts; what the system has (or 0, 1) if left out.
    bounds : (float, float), optional
        Smallest and largest value. Left out: none, but what cannot be negative stays positive.
    log : bool, optional
        Search for the logarithm; left out: if the number cannot be negative and starts above zero.
    prior : (float, float), optional
        Expected value and its standard deviation, which count as one more measurement.
    shift : bool
        The value is added to that of the targets (times factors), instead of replacing it.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Unknown("arm.young", bounds=(1e5, 1e7))
    Unknown('arm.young', bounds=(100000.0, 10000000.0))
    >>> pl.Unknown("tilt", {"gravity.x": 9.81}, prior=(0.0, 0.02))
    Unknown('tilt', targets={'gravity.x': 9.81}, prior=(0.0, 0.02))
    """

    name: str
    targets: str | Sequence[str] | Mapping[str, float] | None = None
    start: float | None = field(default=None, kw_only=True)
    bounds: tuple[float, float] | None = field(default=None, kw_only=True)
    log: bool | None = field(default=None, kw_only=True)
    prior: tuple[float, float] | None = field(default=None, kw_only=True)
    shift: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Check the values."""
        text("Unknown.name", self.name)
        flag("shift", self.shift)
        if self.log is not None:
            flag("log", self.log)
        if self.start is not None:
            finite("start", self.start)
        if self.bounds is not None:
            low, high = _pair("bounds", self.bounds)
            if not low < high:
                raise ValueError(
                    f"bounds = {self.bounds!r} of {self.name!r} are not allowed: the first must be smaller."
                )
            if self.start is not None and not low <= self.start <= high:
                raise ValueError(
                    f"start = {self.start:g} of {self.name!r} is outside of its bounds, {low:g} to {high:g}."
                )
            if self.log and low < 0:
                raise ValueError(
                    f"bounds = {self.bounds!r} of {self.name!r} are not allowed: a logarithm needs positive ones."
                )
        if self.prior is not None:
            mean, deviation = _pair("prior", self.prior)
            finite("prior", mean)
            positive("prior: the standard deviation", deviation)

    def __repr__(self) -> str:
        """As it was written."""
        options = ("targets", "start", "bounds", "log", "prior")
        given = [f"{key}={getattr(self, key)!r}" for key in options if getattr(self, key) is not None]
        return f"Unknown({', '.join([repr(self.name), *given, *(['shift=True'] if self.shift else [])])})"

    @property
    def factors(self) -> dict[str, float]:
        """Factors by target."""
        if self.targets is None:
            return {self.name: 1.0}
        if isinstance(self.targets, str):
            return {self.targets: 1.0}
        if isinstance(self.targets, Mapping):
            return {str(key): finite(f"targets[{key!r}]", x) for key, x in self.targets.items()}
        return dict.fromkeys(self.targets, 1.0)


def _pair(field_name: str, value: Any) -> tuple[float, float]:
    try:
        low, high = (float(x) for x in value)
    except (TypeError, ValueError):
        raise TypeError(f"{field_name} = {shown(value)} must be two numbers.") from None
    return low, high


class Target(NamedTuple):
    """A number of the setting of some data."""

    data: int
    kind: str  # "parameter", or one of KINDS
    key: Any  # name of the parameter, or index
    factor: float


class Setting(NamedTuple):
    """All that the prediction of some data depends on."""

    parameters: dict[str, float]
    gain: Array  # (nu,)
    bias: Array  # (nu,)
    pose: Array  # (6,)
    offset: Array  # (m,)
    start: Array  # (nv,)
    speed: Array  # (nv,)


class Unknowns:
    """All unknowns of a problem, as a vector y of what is searched (values or their logarithms), and what they do.

    Every number of every setting is its nominal value, plus the unknowns times factors: `settings` and `targets` say which.
    """

    def __init__(self, system: System, data: Sequence[Data], unknowns: str | Unknown | Iterable[str | Unknown]) -> None:
        self.system, self.data = system, data
        given = [Unknown(x) if isinstance(x, str) else x for x in ([unknowns] if isinstance(unknowns, (str, Unknown)) else unknowns)]  # fmt: skip
        for x in given:
            if not isinstance(x, Unknown):
                raise TypeError(f"unknowns: {shown(x)} must be a name, such as 'arm.young', or a pl.Unknown.")
        self.items = [part for x in given for part in self._expanded(x)]
        self.names = [x.name for x in self.items]
        if not self.items or len(set(self.names)) < len(self.names):
            twice = next((n for n in self.names if self.names.count(n) > 1), None)
            raise ValueError(
                "unknowns is empty: name at least one." if twice is None else f"unknowns has {twice!r} twice."
            )
        self.targets = [self._targets(x) for x in self.items]
        self._refuse_twice()
        self._limits()

    def __len__(self) -> int:
        """How many."""
        return len(self.items)

    # ------------------------------------------------------------ names

    def _expanded(self, x: Unknown) -> list[Unknown]:
        """A kind alone as one unknown for each of its numbers."""
        plain, _, which = x.name.partition("@")
        if plain not in KINDS or x.targets is not None:
            return [x]
        keys: Iterable[Any]
        if plain in ("gain", "bias"):
            keys = self.system.input_names
        elif plain == "pose":
            keys = AXES
        elif plain in ("start", "speed"):
            keys = [n for n, known in zip(self.system.dof_names, self.system.known) if not known]
        else:
            keys = range(max(d.values.shape[1] for k, d in enumerate(self.data) if k in self._which(which, x.name)))
        tail = f"@{which}" if which else ""
        return [
            Unknown(f"{plain}:{key}{tail}", start=x.start, bounds=x.bounds, log=x.log, prior=x.prior) for key in keys
        ]

    def _which(self, label: str, name: str) -> list[int]:
        """Numbers of the data that a name is about."""
        if not label:
            return list(range(len(self.data)))
        names = [d.name for d in self.data]
        if label not in names:
            raise KeyError(f"unknown {name!r}: {unknown_name('data', label, names).args[0]}")
        return [k for k, other in enumerate(names) if other == label]

    def _targets(self, x: Unknown) -> list[Target]:
        found: list[Target] = []
        for name, factor in x.factors.items():
            plain, _, label = name.partition("@")
            which = self._which(label, name)
            kind, colon, what = plain.partition(":")
            if not colon:
                if plain not in self.system.parameters:
                    hint = "" if x.targets is not None or plain == x.name else " (a label needs targets)"
                    raise KeyError(f"{unknown_name('parameter', plain, self.system.parameters).args[0]}{hint}")
                found += [Target(k, "parameter", plain, factor) for k in which]
                continue
            if kind not in KINDS:
                raise unknown_name("kind of unknown", kind, KINDS)
            found += [Target(k, kind, self._index(kind, what, self.data[k]), factor) for k in which if self._applies(kind, self.data[k])]  # fmt: skip
        if not found:
            raise ValueError(f"unknown {x.name!r} acts on none of the data: {', '.join(map(repr, self.data))}.")
        return found

    def _applies(self, kind: str, data: Data) -> bool:
        return kind not in ("start", "speed") or isinstance(data, MotionData)

    def _index(self, kind: str, what: str, data: Data) -> int:
        system = self.system
        if kind in ("gain", "bias"):
            known: Sequence[str] = system.input_names
        elif kind == "pose":
            known = AXES
            if not data.points:
                raise ValueError(f"unknown 'pose:{what}' needs data that are positions of frames alone, all three entries of each (NaN where nothing was seen); {data!r} are not.")  # fmt: skip
        elif kind == "offset":
            known = [str(k) for k in range(data.values.shape[1])]
        else:
            known = system.dof_names
        if what not in known:
            raise unknown_name(f"{kind!r} of an unknown,", what, known)
        index = list(known).index(what)
        if kind in ("start", "speed") and system.known[index]:
            raise ValueError(f"unknown '{kind}:{what}' is not possible: this coordinate is prescribed.")
        return index

    def _refuse_twice(self) -> None:
        """Error if two unknowns replace the same number."""
        seen: dict[Any, str] = {}
        for x, targets in zip(self.items, self.targets):
            for target in targets:
                key = target[:3]
                if not x.shift and seen.setdefault(key, x.name) != x.name:
                    raise ValueError(
                        f"unknowns {seen[key]!r} and {x.name!r} both set {target.key!r}: use shift=True for one of them."
                    )

    # ------------------------------------------------------------ values

    def _limits(self) -> None:
        """Where the search starts, its bounds, which are logarithms, natural sizes."""
        n = len(self)
        self.start, self.low, self.high, self.size = np.zeros(n), np.full(n, -np.inf), np.full(n, np.inf), np.ones(n)
        self.log = np.zeros(n, dtype=bool)
        self.unit: list[str] = []
        for k, (x, targets) in enumerate(zip(self.items, self.targets)):
            first = targets[0]
            nominal = 0.0 if x.shift else self._nominal(first) / (first.factor or 1.0)
            self.start[k] = nominal if x.start is None else x.start
            signed = x.shift or any(self._signed(t) for t in targets) or any(t.factor <= 0 for t in targets)
            if x.bounds is not None:
                self.low[k], self.high[k] = x.bounds
            elif not signed:
                self.low[k] = 0.0
            if not self.low[k] <= self.start[k] <= self.high[k]:
                raise ValueError(f"unknown {x.name!r} starts at {self.start[k]:g}, outside of {self.low[k]:g} to {self.high[k]:g}: give start=.")  # fmt: skip
            positive_start = self.start[k] > 0.0 and self.low[k] >= 0.0
            if x.log and not positive_start:
                raise ValueError(
                    f"unknown {x.name!r} starts at {self.start[k]:g}: the logarithm needs a positive start."
                )
            self.log[k] = x.log if x.log is not None else not signed and positive_start
            self.unit.append(self._unit(first) if all(t.factor == 1.0 for t in targets) else "")
            self.size[k] = self._size(k, first)

    def _nominal(self, target: Target) -> float:
        if target.kind == "parameter":
            return self.system.parameters[target.key]
        return 1.0 if target.kind == "gain" else 0.0

    def _signed(self, target: Target) -> bool:
        """Whether a number may be negative: asked of the description itself."""
        if target.kind != "parameter":
            return target.kind != "gain"
        parameter = self.system._parameters[target.key]
        other = -parameter.value if parameter.value > 0 else parameter.value - step_of(self.system, parameter, 1e-4)
        try:
            self.system._revised({target.key: other}, near=True)
        except ValueError:
            return False
        return True

    def _unit(self, target: Target) -> str:
        if target.kind == "parameter":
            return self.system.parameters.units[target.key]
        if target.kind == "bias":
            return self.system.input_units[target.key]
        if target.kind == "pose":
            return "m" if target.key < 3 else "rad"
        return "–" if target.kind == "gain" else ""

    def _size(self, k: int, target: Target) -> float:
        """A change of an unknown that matters, for identifiability and steps: of its value, its prior, or what is usual."""
        if self.items[k].prior is not None:
            return float(self.items[k].prior[1])  # type: ignore[index]
        if self.start[k] != 0.0:
            return abs(float(self.start[k]))
        if np.isfinite(self.low[k]) and np.isfinite(self.high[k]):
            return float(self.high[k] - self.low[k])
        if target.kind == "parameter":
            return step_of(self.system, self.system._parameters[target.key], 1.0)
        return {"pose": 0.1, "bias": 1.0}.get(target.kind, 0.1)

    def values(self, y: Array) -> Array:
        """Values of the unknowns, from what is searched."""
        with np.errstate(over="ignore"):  # ends of intervals of what the data do not see
            return np.where(self.log, np.exp(np.where(self.log, y, 0.0)), y)

    def search(self, x: Array) -> Array:
        """What is searched, from values."""
        with np.errstate(divide="ignore"):
            return np.where(self.log, np.log(np.where(self.log, x, 1.0)), x)

    def slope(self, y: Array) -> Array:
        """Derivatives of the values by what is searched."""
        return np.where(self.log, self.values(y), 1.0)

    def settings(self, x: Array) -> list[Setting]:
        """What each of the data is predicted with."""
        system, found = self.system, []
        for data in self.data:
            m = data.values.shape[1]
            zero = np.zeros((2, system.nv))
            found.append(Setting({}, np.ones(system.nu), np.zeros(system.nu), np.zeros(6), np.zeros(m), *zero))
        for shifts in (False, True):  # what is added comes after what is set
            for item, targets, value in zip(self.items, self.targets, x):
                for t in targets if item.shift == shifts else ():
                    setting = found[t.data]
                    if t.kind == "parameter":
                        before = setting.parameters.get(t.key, self.system.parameters[t.key]) if shifts else 0.0
                        setting.parameters[t.key] = float(before + t.factor * value)
                    else:
                        number = getattr(setting, t.kind)
                        number[t.key] = (number[t.key] if shifts else 0.0) + t.factor * value
        return found

    def parameters(self, x: Array, data: int | None = None) -> dict[str, float]:
        """Values of the robot's parameters: of some data, or those that hold for all."""
        found = self.settings(x)
        if data is not None:
            return found[data].parameters
        first = found[0].parameters
        return {n: v for n, v in first.items() if all(other.parameters.get(n) == v for other in found)}

    def acting(self, data: int) -> list[tuple[int, list[Target]]]:
        """Numbers of the unknowns that act on some data, each with what it does there."""
        both = [(j, [t for t in targets if t.data == data]) for j, targets in enumerate(self.targets)]
        return [(j, targets) for j, targets in both if targets]
