"""`sweep`: a function of a robot over parameters and inputs, on one machine or many."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.robot import Robot
from ..model.validate import integer, unknown_name
from ..system import System, needs_system
from .designs import Design, made
from .dispatch import Lost, Source, dispatch
from .found import BatchResult
from .pool import FAILED, OK, PENDING, REFUSED, Line
from .stores import Field
from .worker import Item, Parcel, Wanted, compute_items, named

__all__ = ["SweepResult", "sweep"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SweepResult(BatchResult):
    """What a sweep has found; beside what `BatchResult` has:

    Attributes
    ----------
    design : Design
        Names and values of what was varied.
    shape : tuple of int
        Of the grid; (m,) for other designs.
    """

    design: Design = field(default_factory=lambda: Design((), np.zeros((0, 0))), repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the grid, or (m,)."""
        return (len(self),) if self.design.axes is None else tuple(map(len, self.design.axes))

    def on_grid(self, name: str) -> Array:
        """An array with the dimensions of the grid first, then those of an item."""
        array = np.asarray(self[name])
        return array.reshape(*self.shape, *array.shape[1:])

    def to_xarray(self) -> Any:
        """As an xarray Dataset, on the axes of a grid, or over items with the values as coordinates (needs xarray)."""
        try:
            import xarray as xr
        except ImportError:
            raise ImportError("to_xarray needs xarray: pip install 'pliant[io]'") from None
        grid = self.design.axes is not None
        first = self.design.names if grid else ("item",)
        data: dict[str, Any] = {name: ((*first, *self.about[name].dims), self.on_grid(name)) for name in self.arrays}
        data["status"] = (first, self.status.reshape(self.shape))
        if grid:
            coords: dict[str, Any] = dict(zip(self.design.names, self.design.axes or ()))
        else:
            coords = {name: ("item", self.design.values[:, k]) for k, name in enumerate(self.design.names)}
        return xr.Dataset(data, coords=coords, attrs={"system": self.system_name})


def sweep(
    robot: Robot | System,
    axes: Mapping[str, Any],
    what: Any,
    *,
    design: str = "grid",
    samples: int | None = None,
    seed: int = 0,
    executor: Any = None,
    chunk: int | None = None,
    retries: int = 3,
    progress: bool | None = None,
    resume: SweepResult | None = None,
) -> SweepResult:
    """Compute something of a robot over parameters and inputs.

    Parameters
    ----------
    robot : Robot or System
    axes : dict
        What varies, by the name of a parameter ("arm.young", see `System.parameters`) or an input ("cable1"): values of a grid or of a table, or (lowest,
        highest) of the other designs.
    what : function of (system, item), quantity, name, or dict of such
        The function returns a number, an array, or a dictionary of them; ``item.u`` are its inputs, ``item.values`` all that varies and ``item.rng()`` random
        numbers of its own. A quantity of `pliant.costs` is taken in equilibrium, as are "equilibrium", "frequencies", "damping_ratios", "tendon_lengths",
        "center_of_mass", "elastic_energy" and "mass".
    design : {"grid", "table", "latin", "sobol", "random"}
        All combinations; one item for each row; or `samples` items spread over the ranges.
    samples : int, optional
    seed : int
        Of designs and of ``item.rng()``. What is found does not depend on who computes it, or in which order.
    executor : optional
        Who computes: anything with the interface of `concurrent.futures` (a ProcessPoolExecutor, loky's), a Dask client, or a function that makes
        one, which is called again if a pool breaks. Left out: threads of this process, which serve calls of the solvers but not Python.
    chunk : int, optional
        Items that travel together; about a hundredth of all if left out.
    retries : int
        How many times a chunk whose worker was lost is given to another one.
    progress : bool, optional
        Show a line on stderr; by default only on a terminal.
    resume : SweepResult, optional
        What the same sweep has found before it was interrupted; only what is pending is computed.

    Returns
    -------
    SweepResult
        Items that fail have a message and NaN, and do not touch others.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> axes = {"arm.young": [5e5, 1e6, 2e6], "cable": [0.0, 5.0]}
    >>> found = pl.sweep(robot, axes, {"tip": pl.costs.Position("arm.tip"), "f": "frequencies"})
    >>> found.shape, found.on_grid("tip").shape
    ((3, 2), (3, 2, 3))
    >>> print((1000 * found.on_grid("tip")[:, :, 2]).round(), "mm")
    [[-337. -305.]
     [-291. -253.]
     [-212. -176.]] mm
    """
    if not hasattr(robot, "dof_names") and not hasattr(robot, "compile"):
        needs_system("sweep", robot)
    system: System = robot if isinstance(robot, System) else robot.compile()
    wanted, plan = named(what), made(axes, design, samples, integer("seed", seed))
    for name in plan.names:
        if name not in system.input_names and name not in system.parameters:
            raise unknown_name("parameter or input", str(name), [*system.input_names, *system.parameters])
    count = len(plan)
    size = max(1, count // 100) if chunk is None else integer("chunk", chunk, minimum=1)
    work = _Work(system, plan, seed, resume)
    clock, line = time.perf_counter(), Line(progress, count)
    interrupted = False
    try:
        work.run(Source(executor), wanted, size, integer("retries", retries), line)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        line.close()
    return work.result(time.perf_counter() - clock, interrupted)


class _Work:
    """Items, and what became of them."""

    def __init__(self, system: System, plan: Design, seed: int, before: SweepResult | None) -> None:
        self._system, self._plan, self._seed = system, plan, seed
        self._answers: dict[int, dict[str, Array]] = {}
        self._codes = np.zeros(len(plan), dtype=np.int8)
        self._messages: dict[int, str] = {}
        for k, row in enumerate(plan.values):
            if not np.all(np.isfinite(row)):
                name = plan.names[int(np.flatnonzero(~np.isfinite(row))[0])]
                self._say(k, REFUSED, f"{name} = {row[plan.names.index(name)]} must be a finite number.")
        if before is not None:
            self._take(before)

    def _take(self, before: SweepResult) -> None:
        if before.design.names != self._plan.names or not np.array_equal(
            before.design.values, self._plan.values, equal_nan=True
        ):
            raise ValueError(
                "resume is the result of another sweep: its names or values differ from those of this one."
            )
        for k in np.flatnonzero(before.done).tolist():
            self._codes[k] = before.codes[k]
            if before.codes[k] == OK:
                self._answers[k] = {name: np.asarray(before.arrays[name][k]) for name in before.arrays}
            else:
                self._messages[k] = before.message(k)

    def _say(self, k: int, code: np.int8, text: str) -> None:
        self._codes[k], self._messages[k] = code, text

    def _item(self, k: int) -> Item:
        values = dict(zip(self._plan.names, self._plan.values[k].tolist()))
        inputs = {name: x for name, x in values.items() if name in self._system.input_names}
        return Item(k, values, inputs, self._seed)

    def _chunks(self, size: int) -> Iterator[list[int]]:
        rest = np.flatnonzero(self._codes == PENDING).tolist()
        for first in range(0, len(rest), size):
            yield rest[first : first + size]

    def run(self, source: Source, wanted: Wanted, size: int, retries: int, line: Line) -> None:
        """Compute all that is pending."""
        parcel = (self._system, wanted) if source.local else Parcel.of(self._system, wanted)

        def call(chunk: list[int]) -> tuple[Any, ...]:
            return compute_items, parcel, [self._item(k) for k in chunk]

        with closing(dispatch(source, call, self._chunks(size), retries)) as answers:
            for chunk, answer in answers:
                if isinstance(answer, Lost):
                    self._lost(chunk, answer)
                else:
                    self._keep(answer)
                done = int(np.count_nonzero(self._codes))
                line.show(done, last=done == len(self._codes))

    def _lost(self, chunk: list[int], why: Lost) -> None:
        for k in chunk:
            if why.final:
                self._say(k, FAILED, f"no answer from its worker: {why.reason}")
            else:
                self._messages[k] = (
                    f"not computed: the workers are gone ({why.reason}). Give a function that makes the executor, so that a broken one can be replaced, "
                    "or go on with resume=."
                )

    def _keep(self, answers: list[tuple[int, dict[str, Any] | None, str]]) -> None:
        for k, arrays, text in answers:
            if arrays is None:
                self._say(k, FAILED, text)
            else:
                self._answers[k], self._codes[k] = arrays, OK

    def result(self, seconds: float, interrupted: bool) -> SweepResult:
        """Arrays of all items."""
        first: dict[str, tuple[int, ...]] = {}
        for k in sorted(self._answers):
            for name, array in self._answers[k].items():
                first.setdefault(name, array.shape)
        for k, arrays in self._answers.items():
            if {name: array.shape for name, array in arrays.items()} != first:
                said = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
                self._say(
                    k,
                    FAILED,
                    f"its results ({said}) have other names or shapes than those of the first item ({first}).",
                )
        fields = {
            name: Field(name, tuple(f"{name}_{j}" for j in range(len(shape))), shape) for name, shape in first.items()
        }
        out = {name: np.full((len(self._plan), *f.shape), np.nan) for name, f in fields.items()}
        for k in np.flatnonzero(self._codes == OK).tolist():
            for name, array in self._answers[k].items():
                out[name][k] = array
        return SweepResult(
            self._system.name, out, fields, {}, {}, self._codes, self._messages, seconds, interrupted, design=self._plan
        )
