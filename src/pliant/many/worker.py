"""What a process that computes items of a sweep does: it compiles a robot once, and evaluates what is asked for."""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..analysis.linear import modes
from ..gradients.costs.quantity import Quantity
from ..gradients.costs.states import States
from ..model.validate import shown, unknown_name
from ..solve.equilibrium import Equilibrium
from ..solve.statics import solve_statics
from ..system import System

__all__ = ["QUANTITIES", "Answer", "Item", "Parcel", "Wanted", "compute_items"]

_COMPILED: dict[str, System] = {}  # robots of this process, by digest
_LOCK = threading.Lock()
_MOST = 4  # of them


@dataclass(frozen=True)
class Item:
    """One item of a sweep.

    Attributes
    ----------
    index : int
        Its number.
    values : dict
        All that varies, by name.
    u : dict
        The inputs among it.
    seed : int
        Of the sweep.
    """

    index: int
    values: Mapping[str, float]
    u: Mapping[str, float]
    seed: int

    def rng(self) -> np.random.Generator:
        """Random numbers of this item: the same wherever and whenever it is computed."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self.index,)))


class Case:
    """A robot with the parameters of an item, and its equilibrium, found when it is first asked for."""

    def __init__(self, system: System, item: Item) -> None:
        self.system, self.item = system, item

    @cached_property
    def rest(self) -> Equilibrium:
        """The equilibrium under the inputs of the item; error if there is none."""
        found = solve_statics(self.system, dict(self.item.u))
        if not found.success:
            raise ArithmeticError(found.message)
        return found


def _equilibrium(case: Case) -> dict[str, Any]:
    return {"q": case.rest.q, "stable": float(case.rest.stable)}


QUANTITIES: dict[str, Callable[[Case], Any]] = {
    "equilibrium": _equilibrium,
    "frequencies": lambda case: modes(case.system, case.rest).frequencies,
    "damping_ratios": lambda case: modes(case.system, case.rest).damping_ratios,
    "tendon_lengths": lambda case: case.system.tendon_lengths(case.rest.q)[0],
    "center_of_mass": lambda case: case.system.center_of_mass(case.rest.q),
    "elastic_energy": lambda case: case.system.elastic_energy(case.rest.q, case.rest.u, memory=case.rest.memory),
    "mass": lambda case: case.system.mass,
}
"""What can be asked for by name, in equilibrium."""

Wanted = Mapping[str, Any]


def evaluate(wanted: Wanted, case: Case) -> dict[str, Any]:
    """All that is wanted of an item, arrays by name."""
    out: dict[str, Any] = {}
    for name, what in wanted.items():
        if isinstance(what, str):
            found = QUANTITIES[what](case)
        elif isinstance(what, Quantity):
            found = what.evaluate(States.at_rest(case.system, case.rest.q, case.rest.u)).value[0]
        else:
            found = what(case.system, case.item)
        for key, value in (found if isinstance(found, Mapping) else {name: found}).items():
            out[str(key)] = as_array(str(key), value)
    return out


def as_array(name: str, value: Any) -> Any:
    """A result as an array of numbers; error if it is none."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.array(None)
    if array.dtype.kind not in "iufb":
        raise TypeError(
            f"result {name!r} = {shown(value)} must be a number or an array of numbers, or a dictionary of such."
        )
    return array.astype(np.float64)


def named(what: Any) -> Wanted:
    """What is wanted, by name; error for what cannot be computed."""
    if isinstance(what, Mapping):
        wanted: Wanted = dict(what)
    elif isinstance(what, str):
        wanted = {what: what}
    else:
        wanted = {"value": what}
    for name, one in wanted.items():
        if isinstance(one, str) and one not in QUANTITIES:
            raise unknown_name("quantity", one, QUANTITIES)
        if not isinstance(one, (str, Quantity)) and not callable(one):
            raise TypeError(
                f"what[{name!r}] = {shown(one)} must be a function of (system, item), a quantity of pliant.costs, or one of {', '.join(QUANTITIES)}."
            )
    return wanted


@dataclass(frozen=True)
class Parcel:
    """What travels to a worker: the description of a robot, what is wanted of it, and items.

    Attributes
    ----------
    robot : bytes
        The system, pickled: its description, a few kilobytes, from which it is compiled.
    digest : str
        Of these, so that a process compiles a robot once.
    wanted : bytes
        What is wanted, pickled.
    """

    robot: bytes
    digest: str
    wanted: bytes

    @classmethod
    def of(cls, system: System, wanted: Wanted) -> Parcel:
        """Pack; error that says what cannot travel."""
        robot = _pickled(system, "the robot", "describe it without functions of your own, or leave out `executor`")
        what = _pickled(
            wanted, "`what`", "use a function that is defined in a module, no lambda, or leave out `executor`"
        )
        return cls(robot, hashlib.sha256(robot).hexdigest(), what)

    def system(self) -> System:
        """The robot, compiled once in this process."""
        with _LOCK:
            if self.digest not in _COMPILED:
                while len(_COMPILED) >= _MOST:
                    _COMPILED.pop(next(iter(_COMPILED)))
                _COMPILED[self.digest] = pickle.loads(self.robot)
            return _COMPILED[self.digest]


def _pickled(value: Any, what: str, advice: str) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception as error:
        try:
            import cloudpickle
        except ImportError:
            raise TypeError(f"{what} cannot travel to another process ({error}): {advice}.") from error
        try:
            return bytes(cloudpickle.dumps(value))
        except Exception:
            raise TypeError(f"{what} cannot travel to another process ({error}): {advice}.") from error


Answer = tuple[int, dict[str, Any] | None, str]  # number of the item, its arrays or None, why there are none


def compute_items(
    parcel: Parcel | tuple[System, Wanted], items: list[Item], stop: threading.Event | None = None
) -> tuple[list[Answer], bool]:
    """Compute some items, in this process, until all are done or `stop` is set; whether an interrupt ended it."""
    if isinstance(parcel, Parcel):
        system, wanted = parcel.system(), pickle.loads(parcel.wanted)
    else:
        system, wanted = parcel
    out: list[Answer] = []
    for item in items:
        if stop is not None and stop.is_set():
            break
        try:
            values = {name: x for name, x in item.values.items() if name not in item.u}
            case = Case(system.with_parameters(values) if values else system, item)
            out.append((item.index, evaluate(wanted, case), ""))
        except KeyboardInterrupt:
            return out, True
        except BaseException as error:  # of one item, SystemExit too: others go on
            out.append((item.index, None, _reason(error)))
    return out, False


def _reason(error: BaseException) -> str:
    """What an exception says, whatever it is."""
    kind = type(error).__name__
    try:
        text = str(error.args[0]) if error.args else ""
    except Exception:
        text = ""
    return f"{kind}: {text}".rstrip(": ") if not isinstance(error, Exception) else text or kind
