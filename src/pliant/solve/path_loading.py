"""What varies along a branch of equilibria: loads, prescribed joints, a held coordinate or the robot itself as functions of the parameter λ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.validate import finite, integer, unknown_name
from ..system import System
from .motion import MotionSet

__all__ = [
    "Design",
    "Driving",
    "Load",
    "Loading",
    "NoSuchRobotError",
    "Place",
    "force_vector",
    "held_coordinate",
    "prescribed_coordinate",
]

Array = NDArray[np.float64]
Load = Callable[[float], Mapping[str, Any]] | Mapping[str, Any]
_KEYS = ("u", "tau", "gravity", "motion")


class Place(NamedTuple):
    """Where a coordinate is."""

    q: int
    v: int


def force_vector(system: System, tau: ArrayLike | None) -> Array:
    """Generalised forces (nv,), zero if None."""
    return np.zeros(system.nv) if tau is None else system.check_v("tau", tau).copy()


def held_coordinate(system: System, coordinate: str | int) -> Place:
    """Indices of a coordinate in q and v."""
    if isinstance(coordinate, str):
        if coordinate not in system.dof_names:
            raise unknown_name("coordinate", coordinate, system.dof_names)
        k = system.dof_names.index(coordinate)
    else:
        k = integer("coordinate", coordinate)
        if k >= system.nv:
            raise ValueError(f"coordinate = {k} is not allowed: {system.name!r} has velocities 0 to {system.nv - 1}.")
    for i, j in system.internal.shift:
        if j == k:
            return Place(int(i), k)
    raise ValueError(f"coordinate = {coordinate!r} belongs to a spherical or free joint, which cannot be held.")


def prescribed_coordinate(system: System, name: str) -> Place:
    """Indices in q and v of the coordinate that a prescribed motion moves; error if that is not a single number."""
    if name not in system.prescribed:
        raise unknown_name("prescribed motion", str(name), system.prescribed)
    place_q, place_v, group = system.prescribed[name]
    if group is not None:
        raise ValueError(
            f"prescribed = {name!r} is not allowed: it moves a {group.name} joint, which is no single number. Give "
            f"load=lambda x: {{'motion': {{{name!r}: ...}}}} with its {'pose' if group.size == 4 else 'rotation'} at x."
        )
    if place_v.stop - place_v.start != 1:
        names = ", ".join(map(repr, system.dof_names[place_v]))
        raise ValueError(
            f"prescribed = {name!r} is not allowed: it moves {names} at once. Give coordinate= one of them, or "
            f"load=lambda x: {{'motion': {{{name!r}: (...)}}}}."
        )
    return Place(place_q.start, place_v.start)


def _check_keys(load: Mapping[str, Any]) -> None:
    for key in load:
        if key not in _KEYS:
            raise unknown_name("load", str(key), _KEYS)


class Driving:
    """Prescribed joints as functions of the parameter; those that nobody moves stay where they are.

    Parameters
    ----------
    fixed : mapping, optional
        Values by the name of the motion that do not vary.
    load : callable or mapping, optional
        As of `trace_equilibria`; its key ``motion`` counts.
    driven : Place, optional
        A prescribed coordinate whose value is λ.
    """

    def __init__(
        self,
        system: System,
        fixed: Mapping[str, Any] | None = None,
        load: Load | None = None,
        driven: Place | None = None,
    ) -> None:
        self.system, self.driven = system, driven
        self.fixed = _values("motion", fixed)
        self.function = load if callable(load) else None
        self.rates: dict[str, Array] = {}
        if isinstance(load, Mapping):
            self.rates = {name: self._rate_of(name, x) for name, x in _values("load", load.get("motion")).items()}

    def _rate_of(self, name: str, value: Any) -> Array:
        """A change (dof,) per unit of λ."""
        if name not in self.system.prescribed:
            raise unknown_name("prescribed motion", name, self.system.prescribed)
        _q, place_v, group = self.system.prescribed[name]
        rate = np.atleast_1d(np.asarray(value, dtype=np.float64))
        size = place_v.stop - place_v.start
        if group is not None or rate.shape != (size,) or not np.all(np.isfinite(rate)):
            allowed = f"{size} finite number(s) are needed"
            if group is not None:
                allowed = f"a {group.name} joint does not move in proportion to λ"
            raise ValueError(
                f"load['motion'][{name!r}] = {value!r} is not allowed: {allowed}. Or give load as a function of λ."
            )
        return rate

    def values(self, parameter: float) -> dict[str, Any]:
        """Values of the joints that λ moves, by name, without `driven`."""
        if self.function is not None:
            found = self.function(parameter)
            moved = _values(f"load({parameter:g})", found.get("motion") if isinstance(found, Mapping) else None)
            for name in moved:
                if name in self.fixed:
                    raise ValueError(f"{name!r} is given by `load` and in `motion`; leave it out of one of them.")
            return moved
        return {name: np.atleast_1d(self.fixed.get(name, 0.0)) + parameter * x for name, x in self.rates.items()}

    def start(self, q: Array) -> Array:
        """q with the joints that do not vary where they are told to be."""
        return self._put(q, self.fixed)

    def place(self, q: Array, parameter: float) -> Array:
        """q with the joints where λ puts them."""
        q = self._put(q, self.values(parameter))
        if self.driven is not None:
            q = q.copy()
            q[self.driven.q] = parameter
        return q

    def rate(self, q: Array, parameter: float, width: float) -> Array:
        """Velocities (nv,) of prescribed joints per unit of λ: exact for proportional ones, else by central differences."""
        out = np.zeros(self.system.nv)
        if self.driven is not None:
            out[self.driven.v] = 1.0
        for name, rate in self.rates.items():
            out[self.system.prescribed[name][1]] = rate
        if self.function is not None and np.any(self.system.known):
            ends = (self.place(q, parameter + sign * width) for sign in (-1.0, 1.0))
            out[self.system.known] = (self.system.difference(*ends) / (2 * width))[self.system.known]
        return out

    def _put(self, q: Array, values: Mapping[str, Any]) -> Array:
        if not values:
            return q
        q, zero = q.copy(), np.zeros(self.system.nv)
        MotionSet(self.system, values, q).joints_at(0.0, q, zero, zero.copy())
        return q


def _values(field: str, given: Any) -> dict[str, Any]:
    """Values of prescribed joints by name, which must not be functions."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"{field} = {given!r} must be a dictionary by the name of what is prescribed.")
    for name, value in given.items():
        if callable(value):
            raise TypeError(
                f"{field}[{name!r}] is a function, but there is no time along a branch: give a value. What varies with λ is "
                f"said by load=lambda x: {{'motion': {{{name!r}: ...}}}}."
            )
    return dict(given)


class NoSuchRobotError(ValueError):
    """There is no robot at this value of the parameter."""


class Design:
    """The robot as a function of the parameter.

    Parameters
    ----------
    system : System
        Whose coordinates all of them have.
    varies : str, callable or None
        The name of a design parameter whose value is λ, or λ -> System; None: nothing varies.
    """

    def __init__(self, system: System, varies: str | Callable[[float], System] | None) -> None:
        self.system, self.varies = system, varies
        if isinstance(varies, str) and varies not in system.parameters:
            raise unknown_name("parameter", varies, system.parameters)
        if varies is not None and not isinstance(varies, str) and not callable(varies):
            raise TypeError(
                f"parameter = {varies!r} must be the name of a design parameter, or a function λ -> System."
            )
        if varies is not None and system.loop_rows:
            raise ValueError(
                "parameter = ... is not allowed for robots with loops, which open where a length changes: solve them one by one, "
                "solve_statics(system.with_parameters({...}), start=last)."
            )
        self.refused = ""  # why there was no robot somewhere
        self._made = lru_cache(maxsize=16)(self._make)

    @property
    def value(self) -> float | None:
        """Of the parameter now, if it has a name."""
        return float(self.system.parameters[self.varies]) if isinstance(self.varies, str) else None

    def at(self, parameter: float) -> System:
        """The robot at λ."""
        return self.system if self.varies is None else self._made(float(parameter))

    def _make(self, parameter: float) -> System:
        try:
            if isinstance(self.varies, str):
                return self.system.with_parameters({self.varies: parameter})
            assert callable(self.varies)
            found = self.varies(parameter)
        except ValueError as error:
            self.refused = f"there is no robot at {parameter:.6g}: {error}"
            raise NoSuchRobotError(self.refused) from error
        if not isinstance(found, System):
            raise TypeError(f"parameter({parameter:g}) returned {found!r}, but a System is needed: compile the robot.")
        if (found.coordinate_names, found.input_names) != (self.system.coordinate_names, self.system.input_names):
            raise ValueError(
                f"parameter({parameter:g}) returned a robot with other coordinates or inputs than {self.system.name!r}: they must stay the same."
            )
        return found

    def rate(self, residual: Callable[[System], Array], parameter: float, width: float) -> Array | float:
        """Derivative of a residual (nv,) by λ through the robot, by differences of fourth order over `width`."""
        if self.varies is None:
            return 0.0
        r = [residual(self.at(parameter + k * width)) for k in (-2, -1, 1, 2)]
        return np.asarray((r[0] - 8 * r[1] + 8 * r[2] - r[3]) / (12 * width), dtype=np.float64)


class Loading:
    """The loads as functions of the parameter, and the prescribed joints in `driving`."""

    def __init__(
        self,
        system: System,
        load: Load | None,
        name: str | None,
        gravity: bool,
        u: Array,
        tau: Array,
        driving: Driving | None = None,
        design: Design | None = None,
    ) -> None:
        self.system, self.u, self.tau = system, u, tau
        self.design = Design(system, None) if design is None else design
        self.driving = Driving(system) if driving is None else driving
        self.function: Callable[[float], Mapping[str, Any]] | None = None
        self.du, self.dtau, self.gravity, self.dgravity = np.zeros(system.nu), np.zeros(system.nv), 1.0, 0.0
        if name is not None:
            if name not in system.input_names:
                raise unknown_name("input", str(name), system.input_names)
            k = system.input_names.index(name)
            self.u, self.du[k] = u.copy(), 1.0
            self.u[k] = 0.0
        elif gravity:
            self.gravity, self.dgravity = 0.0, 1.0
        elif callable(load):
            self.function = load
        elif isinstance(load, Mapping):
            _check_keys(load)
            self.du = system.inputs(load.get("u"))
            self.dtau = force_vector(system, load.get("tau"))
            if "gravity" in load:
                self.gravity, self.dgravity = 0.0, finite("load['gravity']", load["gravity"])
        elif load is not None:
            raise TypeError(f"load = {load!r} must be a function of λ that returns a dict, or such a dict (times λ).")

    def __call__(self, parameter: float) -> tuple[Array, Array, float]:
        """u (nu,), tau (nv,) and the factor of gravity."""
        if self.function is None:
            u, tau = self.u + parameter * self.du, self.tau + parameter * self.dtau
            return u, tau, self.gravity + parameter * self.dgravity
        values = self.function(parameter)
        if not isinstance(values, Mapping):
            raise TypeError(
                f"load({parameter:g}) returned {values!r}, but a dict with u, tau, gravity or motion is needed."
            )
        _check_keys(values)
        u = self.system.inputs(values["u"]) if "u" in values else self.u
        tau = force_vector(self.system, values["tau"]) if "tau" in values else self.tau
        return u, tau, finite("load gravity", values.get("gravity", 1.0))

    def rate(self, parameter: float, width: float) -> tuple[Array, Array, float]:
        """Derivatives in λ: exact for proportional loads, else by central differences over `width`."""
        if self.function is None:
            return self.du, self.dtau, self.dgravity
        (u1, tau1, g1), (u0, tau0, g0) = self(parameter + width), self(parameter - width)
        return (u1 - u0) / (2 * width), (tau1 - tau0) / (2 * width), (g1 - g0) / (2 * width)
