"""Coordinates, velocities, inputs and rates of inputs, by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...model.validate import unknown_name
from ...system import System
from .quantity import LocalQuantity, Quantity, chosen
from .states import Array, Evaluated, Rows, States, Variation, still

__all__ = ["Coordinates", "InputRates", "Inputs", "NamedQuantity", "Rates"]


class NamedQuantity(Quantity):
    """Entries of the state that are found by name."""

    def __init__(self, names: str | Sequence[str] | None = None) -> None:
        self.names = chosen(names)

    def __repr__(self) -> str:
        """As it was written."""
        names = self.names
        given = "" if names is None else repr(names[0]) if len(names) == 1 else repr(list(names))
        return f"{type(self).__name__}({given})"


def _dofs(system: System, names: tuple[str, ...] | None) -> Rows:
    """Numbers of the degrees of freedom of links, or of single ones, in the order given."""
    if names is None:
        return np.arange(system.nv)
    found: list[int] = []
    for name in names:
        if name in system.links:
            own = system.v_slice(name)
            found.extend(range(own.start, own.stop))
        elif name in system.dof_names:
            found.append(system.dof_names.index(name))
        else:
            raise unknown_name("link or degree of freedom", name, (*system.links, *system.dof_names))
    return np.array(found, dtype=np.int64)


def _selection(entries: Rows, n: int) -> Array:
    """The matrix (m, n) that picks entries; one may be picked twice."""
    out = np.zeros((len(entries), n))
    out[np.arange(len(entries)), entries] = 1.0
    return out


def _constant(states: States, entries: Rows, n: int) -> Array:
    """That matrix for every row, (T, m, n)."""
    return np.broadcast_to(_selection(entries, n), (len(states), len(entries), n))


class Coordinates(NamedQuantity, LocalQuantity):
    """Coordinates of joints [rad, m] and of rods [rad/m for torsion and bending, 1 for stretch and shear], plain numbers only.

    Parameters
    ----------
    names : str, list of str, or None
        Names of links, or of single coordinates as in `System.dof_names`; None is all. Spherical and free joints have none: use
        `Orientation` and `Position`.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> system = robot.compile()
    >>> pl.costs.Coordinates("rod").evaluate(pl.costs.States.at_rest(system, [0.5])).value
    array([[0.5]])
    """

    def _where(self, system: System) -> tuple[Rows, Rows]:
        """Where they are in q and in v."""
        v = _dofs(system, self.names)
        q = v.copy()
        for joint in system.manifold_joints:  # which have one entry more in q than in v
            inside = (v >= joint.v.start) & (v < joint.v.stop)
            if np.any(inside):
                name = system.dof_names[v[np.argmax(inside)]]
                raise ValueError(
                    f"Coordinates: {name!r} is a direction of a spherical or free joint, not a coordinate. Use costs.Orientation and "
                    "costs.Position of its link, or name the other links."
                )
            q[v >= joint.v.stop] += (joint.q.stop - joint.q.start) - (joint.v.stop - joint.v.start)
        return q, v

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return len(self._where(system)[1])

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        q, v = self._where(states.system)

        def pull(w: Array) -> Variation:
            out = still(states)
            out.q[:] = w @ _selection(v, out.q.shape[1])
            return out

        return Evaluated(
            states.q[:, q], lambda d: d.q[:, v], pull, lambda: (_constant(states, v, states.system.nv), None, None)
        )


class Rates(NamedQuantity, LocalQuantity):
    """Velocities v of joints and rods, by the names of links or degrees of freedom; None is all.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("ball")
    >>> ball = robot.add_body("ball", joint=pl.Free(), shape=pl.Sphere(0.1), mass=1.0)
    >>> pl.costs.Rates().size(robot.compile())
    6
    """

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return len(_dofs(system, self.names))

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        own = _dofs(states.system, self.names)

        def pull(w: Array) -> Variation:
            out = still(states)
            out.v[:] = w @ _selection(own, out.v.shape[1])
            return out

        return Evaluated(
            states.v[:, own],
            lambda d: d.v[:, own],
            pull,
            lambda: (None, _constant(states, own, states.system.nv), None),
        )


def _inputs(system: System, names: tuple[str, ...] | None) -> Rows:
    """Numbers of inputs."""
    if names is None:
        return np.arange(system.nu)
    for name in names:
        if name not in system.input_names:
            raise unknown_name("input", name, system.input_names)
    return np.array([system.input_names.index(name) for name in names], dtype=np.int64)


class Inputs(NamedQuantity, LocalQuantity):
    """Inputs in their own units, by name; None is all.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.costs.Inputs("cable").below(20.0)
    <cost below: Inputs('cable')>
    """

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return len(_inputs(system, self.names))

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        own = _inputs(states.system, self.names)

        def pull(w: Array) -> Variation:
            out = still(states)
            out.u[:] = w @ _selection(own, out.u.shape[1])
            return out

        return Evaluated(
            states.u[:, own],
            lambda d: d.u[:, own],
            pull,
            lambda: (None, None, _constant(states, own, states.system.nu)),
        )


class InputRates(NamedQuantity):
    """Change of inputs per second over the step that ends at a row, by name; zero in the first row, before which there is none.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.costs.InputRates().near(weight=1e-3)
    <cost near: InputRates()>
    """

    per_step = True

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return len(_inputs(system, self.names))

    def evaluate(self, states: States, rows: Rows | None = None) -> Evaluated:
        """See `Quantity.evaluate`."""
        own = _inputs(states.system, self.names)
        now = np.arange(len(states)) if rows is None else rows
        before = np.maximum(now - 1, 0)
        span = states.t[now] - states.t[before]
        per_second = np.divide(1.0, span, out=np.zeros_like(span), where=span > 0.0)[:, None]

        def push(d: Variation) -> Array:
            return (d.u[now][:, own] - d.u[before][:, own]) * per_second

        def pull(w: Array) -> Variation:
            out = still(states)
            part = (w * per_second) @ _selection(own, out.u.shape[1])
            np.add.at(out.u, now, part)
            np.subtract.at(out.u, before, part)
            return out

        return Evaluated((states.u[now][:, own] - states.u[before][:, own]) * per_second, push, pull)
