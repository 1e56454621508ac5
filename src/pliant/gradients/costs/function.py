"""Quantities that the user writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...model.validate import integer, shown
from ...system import System
from .quantity import LocalQuantity
from .states import Array, Evaluated, States, by_slopes

__all__ = ["Function"]


class Function(LocalQuantity):
    """A function of the states that gives its derivatives with its values; nothing is approximated.

    Parameters
    ----------
    function : function
        Takes `States` with T rows and returns ``(value, dq, dv, du)`` with the shapes (T, m), (T, m, nv), (T, m, nv), (T, m, nu). Each row
        depends on its own state alone; None for a derivative means that it is zero. T is any number: only rows that count are
        asked for.
    size : int
        The number m of entries.

    Notes
    -----
    dq is by small motions along the degrees of freedom, on spherical and free joints along ``system.integrate(q, dq)``.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> system = robot.compile()
    >>> import numpy as np
    >>> height = pl.costs.Function(lambda s: (-0.5 * np.sin(s.q), -0.5 * np.cos(s.q)[:, :, None], None, None))
    >>> height.evaluate(pl.costs.States.at_rest(system, [0.0])).pull(np.ones((1, 1))).q
    array([[-0.5]])
    """

    def __init__(self, function: Callable[[States], Any], size: int = 1) -> None:
        if not callable(function):
            raise TypeError(
                f"function = {shown(function)} must be a function of States that returns (value, dq, dv, du)."
            )
        self.function, self._size = function, integer("size", size, minimum=1)

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return self._size

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        found = self.function(states)
        if not isinstance(found, tuple) or len(found) != 4:
            raise TypeError(
                f"{self!r} returned {shown(found)}, but (value, dq, dv, du) is needed: derivatives are never approximated. None is for one "
                "that is zero."
            )
        T, m, system = len(states), self._size, states.system
        value, *slopes = found
        checked = [
            None if slope is None else self._array(name, slope, (T, m, n))
            for name, slope, n in zip(("dq", "dv", "du"), slopes, (system.nv, system.nv, system.nu))
        ]
        return by_slopes(states, self._array("value", value, (T, m)), lambda: (checked[0], checked[1], checked[2]))

    def _array(self, name: str, value: Any, shape: tuple[int, ...]) -> Array:
        array = np.asarray(value, dtype=float)
        if array.shape != shape:
            raise ValueError(f"{name} of {self!r} has shape {array.shape}, but {shape} is needed.")
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{name} of {self!r} has an entry that is NaN or infinite.")
        return array

    def __repr__(self) -> str:
        """As it was written."""
        return f"Function({getattr(self.function, '__name__', 'f')})"
