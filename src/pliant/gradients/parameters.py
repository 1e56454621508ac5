"""Derivatives by design parameters: what a number of the description does, by differences of the tables of other robots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..model.links import Rod
from ..model.parameters import Parameter
from ..model.validate import unknown_name
from ..system import System

__all__ = ["ParameterGradient", "derivative", "difference"]

Array = NDArray[np.float64]
Value = TypeVar("Value", float, Array)

# steps of differences, of the parameter or of its natural size; for robots that touch something far below what is pressed in
RELATIVE, TOUCHING = 1e-4, 1e-5
# weights by the number of steps; from one side where the other is not allowed (a negative mass, a cable outside its rod)
_UP2, _UP4 = {0: -1.5, 1: 2.0, 2: -0.5}, {0: -25 / 12, 1: 4.0, 2: -3.0, 3: 4 / 3, 4: -1 / 4}
FOURTH = ({-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}, _UP4, {-k: -weight for k, weight in _UP4.items()})
# enough for tables, which are smooth functions of the parameters: what is left out, and rounding, are both 1e-10
SECOND = ({-1: -0.5, 1: 0.5}, _UP2, {-k: -weight for k, weight in _UP2.items()})


def step_of(system: System, parameter: Parameter, share: float) -> float:
    """How far a parameter is moved for differences: a share of its value, or of what is usual for its unit."""
    size = max(_extent(system), 1e-9)
    usual = {"m": 0.1 * size, "m²": 1e-3 * size**2, "rad/m": 1.0 / size, "1/m": 1.0 / size, "m/s²": 10.0, "m/s": 1.0}
    natural = usual.get(parameter.unit, 1.0)
    value = abs(parameter.value)
    return share * (value if value > 1e-3 * natural or (value > 0 and parameter.unit not in usual) else natural)


def _extent(system: System) -> float:
    """Size of the robot [m]."""
    links = system._robot.links
    lengths = [link.content.length for link in links if isinstance(link.content, Rod)]
    places = [np.linalg.norm(link.offset.translation) for link in links]
    return float(sum(lengths) + sum(places)) or 1.0


def difference(system: System, parameter: Parameter, function: Callable[[System], Value]) -> Value:
    """The derivative of a function of the system by a parameter, to fourth order; from one side where the other is not allowed."""
    others, weights = neighbours(system, parameter)
    return sum(weight * function(other) for other, weight in zip(others, weights))  # type: ignore[return-value]


def neighbours(
    system: System, parameter: Parameter, formulas: tuple[dict[int, float], ...] = FOURTH
) -> tuple[list[System], list[float]]:
    """Systems in which a parameter is a little different, and the weights with which their sum is a derivative."""
    h = step_of(system, parameter, TOUCHING if formulas is SECOND or system._robot.contacts else RELATIVE)
    reasons: list[str] = []
    for weights in formulas:
        try:
            systems = {k: system._revised({parameter.name: parameter.value + k * h}, near=True) for k in weights}
            break
        except ValueError as refused:
            reasons.append(str(refused))
    else:
        raise ValueError(
            f"there is no derivative by {parameter.name!r}, which cannot move to either side: {reasons[1]} And: {reasons[2]}"
        )
    return list(systems.values()), [weight / h for weight in weights.values()]


def table_change(
    system: System, others: list[System], weights: list[float], known: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Array] | None:
    """Numbers of the packed tables that change, and their derivatives; None if the tables have another shape, or one that is not `known` changes."""
    first = system._model.packed
    packed = [other._model.packed for other in others]
    if not all(np.array_equal(first.ints, p.ints) and len(first.floats) == len(p.floats) for p in packed):
        return None
    changed = np.flatnonzero(np.any([p.floats != first.floats for p in packed], axis=0)).astype(np.int64)
    if not np.all(known[changed]):
        return None
    return changed, np.asarray(sum(weight * p.floats[changed] for weight, p in zip(weights, packed)))


def derivative(
    system: System,
    name: str,
    tables: Array,
    known: NDArray[np.bool_],
    replayed: Callable[[list[System]], Array],
    direct: Callable[[System], float] | None = None,
) -> float:
    """The derivative of something by a parameter, beside which `direct` may depend on the system itself.

    By the derivatives by all `tables`, where those that change are `known`; else by what `replayed` makes of systems with other tables.
    """
    parameter = system._parameters[name]
    change = None
    if known.size:
        others, weights = neighbours(system, parameter, SECOND)
        change = table_change(system, others, weights, known)
    if change is not None:
        total = float(tables[change[0]] @ change[1])
    else:
        others, weights = neighbours(system, parameter)
        total = float(np.dot(weights, replayed(others)))
    if direct is not None:
        total += sum(w * direct(other) for w, other in zip(weights, others))
    return total


class ParameterGradient(Mapping[str, float]):
    """Derivatives of a cost by the parameters of a robot, by name; each is computed when it is first asked for."""

    def __init__(self, system: System, derive: Callable[[str], float] | None) -> None:
        self._system, self._derive = system, derive
        self._found: dict[str, float] = {}

    def __getstate__(self) -> dict[str, object]:
        """Copied and sent to other processes with what was computed."""
        return {"_system": self._system, "_found": self._found, "_derive": None}

    def __getitem__(self, name: str) -> float:
        """The derivative by a parameter."""
        if name not in self._system.parameters:
            raise unknown_name("parameter", str(name), self._system.parameters)
        if name not in self._found:
            if self._derive is None:
                raise KeyError(
                    f"the derivative by {name!r} was not computed before the gradient was copied or sent: ask for it first."
                )
            self._found[name] = self._derive(name)
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        """Whether there is such a parameter; nothing is computed."""
        return name in self._system.parameters

    def __iter__(self) -> Iterator[str]:
        """Names of all parameters."""
        return iter(self._system.parameters)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._system.parameters)

    def __repr__(self) -> str:
        """Those that were computed."""
        return f"<derivatives by {len(self)} parameters; {len(self._found)} computed>"
