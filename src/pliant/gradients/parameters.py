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

__all__ = ["Beside", "ParameterGradient", "derivative", "difference"]

Array = NDArray[np.float64]
Value = TypeVar("Value", float, Array)

# steps of differences, of the parameter or of its natural size; for robots that touch something far below what is pressed in
RELATIVE, TOUCHING = 1e-4, 1e-5
# weights by the number of steps, and from one side where the other is not allowed (a negative mass, a cable outside its rod)
_UP2, _UP4 = {0: -1.5, 1: 2.0, 2: -0.5}, {0: -25 / 12, 1: 4.0, 2: -3.0, 3: 4 / 3, 4: -1 / 4}
FOURTH = ({-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}, _UP4, {-k: -weight for k, weight in _UP4.items()})
# enough for tables, which are smooth functions of the parameters: what is left out, and rounding, are both 1e-10
SECOND = ({-1: -0.5, 1: 0.5}, _UP2, {-k: -weight for k, weight in _UP2.items()})
FINER, LEVELS = 16.0, 4  # how much smaller steps are where a law changes its branch on both sides, and how often
_TINY = 1e-9  # of the largest change: what is less does not count
EVEN = 4.0  # by which second differences of one branch differ at most
BENT = 1e-3  # of a first difference: a second one above it is a bend, not curvature


def step_of(system: System, parameter: Parameter, share: float) -> float:
    """How far a parameter is moved for differences: a share of its value, or of what is usual for its unit.

    Small numbers that cannot be negative (a stiction of 1e-6 m, a slip speed) are sizes of their own; places near zero are not.
    """
    size = max(_extent(system), 1e-9)
    usual = {"m": 0.1 * size, "m²": 1e-3 * size**2, "rad/m": 1.0 / size, "1/m": 1.0 / size, "m/s²": 10.0, "m/s": 1.0}
    natural = usual.get(parameter.unit, 1.0)
    value = abs(parameter.value)
    own = value > 1e-3 * natural or (value > 0 and (parameter.unit not in usual or _never_negative(system, parameter)))
    return share * (value if own else natural)


def _never_negative(system: System, parameter: Parameter) -> bool:
    """Whether the description refuses the opposite of a positive value."""
    if parameter.value <= 0.0:
        return False
    try:
        system._robot.revised(system._parameters, {parameter.name: -parameter.value})
    except (TypeError, ValueError):
        return True
    return False


def _extent(system: System) -> float:
    """Size of the robot [m]."""
    links = system._robot.links
    lengths = [link.content.length for link in links if isinstance(link.content, Rod)]
    places = [np.linalg.norm(link.offset.translation) for link in links]
    return float(sum(lengths) + sum(places)) or 1.0


class Beside:
    """Robots in which a parameter is a little different, each compiled when it is first asked for, and derivatives by it.

    Laws of loads have branches: a flank that is touched or not, friction that sticks or slips, a cable that is slack. With all states held fixed the
    equations of a motion or of an equilibrium are smooth functions of a parameter on each branch, and differences must not leave it. `slope` looks
    at each of its numbers: where the second difference shows a bend it takes the side that has none, and smaller steps where both have one. At a state exactly
    on a switch this is a derivative to one side.

    Parameters
    ----------
    system : System
    name : str
        Of the parameter.
    smooth : bool
        Whether what is differentiated is as smooth in the parameter as tables are, so that a second order is enough; forces of contact are not.
    """

    def __init__(self, system: System, name: str, *, smooth: bool = False) -> None:
        self._base, self._parameter = system, system._parameters[name]
        formulas = SECOND if smooth else FOURTH
        self._h = step_of(system, self._parameter, TOUCHING if smooth or system.switches else RELATIVE)
        self._found: dict[float, System] = {}
        reasons: list[str] = []
        for weights in formulas:
            try:
                for k in weights:
                    self._at(k)
                break
            except ValueError as refused:
                reasons.append(str(refused))
        else:
            raise ValueError(
                f"there is no derivative by {name!r}, which cannot move to either side: {reasons[1]} And: {reasons[2]}"
            )
        self._weights = weights
        if any(self._at(k).nz != system.nz for k in weights):
            raise ValueError(
                f"there is no derivative by {name!r}: a place on a rod stands exactly where another point of it is (a frame, a load, a default point), and "
                "beside it the rod has one point more, which would remember contact of its own. Move it, or the other, by a thousandth of the length."
            )

    def _at(self, k: float) -> System:
        """The robot k steps away; error if it is not allowed."""
        if k == 0:
            return self._base
        if k not in self._found:
            moved = self._parameter.value + k * self._h
            self._found[k] = self._base._revised({self._parameter.name: moved}, near=True)
        return self._found[k]

    def __iter__(self) -> Iterator[tuple[System, float]]:
        """Robots and the weights with which their sum is a derivative, on one branch."""
        return ((self._at(k), weight / self._h) for k, weight in self._weights.items())

    def slope(self, function: Callable[[System], Value]) -> Value:
        """The derivative of a function of the robot, a number or an array, by the parameter."""
        seen: dict[float, Array] = {}

        def at(k: float) -> Array:
            if k not in seen:
                seen[k] = np.asarray(function(self._at(k)), dtype=float)
            return seen[k]

        one = at(next(iter(self._weights)))  # weights sum to zero: what does not change leaves no rounding
        out = np.asarray(sum(weight * (at(k) - one) for k, weight in self._weights.items()) / self._h)
        if self._base.switches:
            out = self._on_branches(at, out)
        return float(out) if out.ndim == 0 else out  # type: ignore[return-value]

    def _on_branches(self, at: Callable[[float], Array], smooth: Array) -> Array:
        """The derivative on the branch where the robot is: `smooth` but for numbers that bend within the steps, which keep to one side."""
        sides = [side for side in (1.0, -1.0) if any(side * k > 0.0 for k in self._weights)]
        here, out, step, wide = at(0.0), smooth.copy(), 1.0, max(map(abs, self._weights))
        first = np.max([np.abs(at(side) - here) for side in sides], axis=0)
        bent = self._bends(at, sides, 1.0)
        if wide > 1 and len(sides) == 2:
            bent |= self._bends(at, sides, wide)
        bent &= first > _TINY * first.max(initial=0.0)
        for _level in range(LEVELS):
            if not np.any(bent):
                break
            size = np.max([np.abs(at(side * step) - here) for side in sides], axis=0)
            least, own = np.full_like(size, np.inf), np.zeros_like(size)
            most = np.abs(at(step) - 2.0 * here + at(-step)) if len(sides) == 2 else np.full_like(size, np.inf)
            for side in sides:
                try:
                    one, two = at(side * step) - here, at(2.0 * side * step) - here
                except ValueError:  # not allowed so far on this side
                    continue
                bend = np.abs(two - 2.0 * one)
                own = np.where(bend < least, side * (4.0 * one - two) / (2.0 * step * self._h), own)
                least, most = np.minimum(bend, least), np.maximum(bend, most)
            bent &= most > EVEN * least  # what bends everywhere alike is curvature
            straight = bent & (least <= BENT * size)
            out = np.where(straight, own, out)
            bent &= ~straight
            step /= FINER
        return out

    @staticmethod
    def _bends(at: Callable[[float], Array], sides: list[float], step: float) -> NDArray[np.bool_]:
        """Where the second difference is no curvature."""
        here = at(0.0)
        if len(sides) == 2:
            up, down = at(step), at(-step)
            return np.asarray(
                np.abs(up - 2.0 * here + down) > BENT * np.maximum(np.abs(up - here), np.abs(down - here))
            )
        one, two = at(sides[0]), at(2.0 * sides[0])
        return np.asarray(np.abs(two - 2.0 * one + here) > BENT * np.abs(one - here))


def difference(system: System, parameter: Parameter, function: Callable[[System], Value]) -> Value:
    """The derivative of a function of the system by a parameter; from one side where the other is not allowed, or has another branch."""
    return Beside(system, parameter.name).slope(function)


def table_change(system: System, beside: Beside, known: NDArray[np.bool_]) -> tuple[NDArray[np.int64], Array] | None:
    """Numbers of the packed tables that change, and their derivatives; None if the tables have another shape, or one that is not `known` changes."""
    first = system._model.packed
    packed = [(weight, other._model.packed) for other, weight in beside]
    if not all(np.array_equal(first.ints, p.ints) and len(first.floats) == len(p.floats) for _weight, p in packed):
        return None
    changed = np.flatnonzero(np.any([p.floats != first.floats for _weight, p in packed], axis=0)).astype(np.int64)
    if not np.all(known[changed]):
        return None
    return changed, np.asarray(sum(weight * p.floats[changed] for weight, p in packed))


def derivative(
    system: System,
    name: str,
    tables: Array,
    known: NDArray[np.bool_],
    replayed: Callable[[Beside], float],
    direct: Callable[[Beside], float] | None = None,
) -> float:
    """The derivative of something by a parameter, beside which `direct` may depend on the system itself.

    By the derivatives by all `tables`, where those that change are `known`; else by what `replayed` makes of systems with other tables.
    """
    change = None
    if known.size:
        beside = Beside(system, name, smooth=True)
        change = table_change(system, beside, known)
    if change is not None:
        total = float(tables[change[0]] @ change[1])
    else:
        beside = Beside(system, name)
        total = replayed(beside)
    return total if direct is None else total + direct(beside)


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
