"""`sweep`: a function of a robot over parameters and inputs, on one machine or many."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.robot import Robot
from ..model.validate import flag, integer, non_negative, unknown_name
from ..system import System, needs_system
from .designs import Design, made
from .dispatch import Dispatcher, Lost
from .found import BatchResult
from .identity import identity_of, refuse_another
from .pool import FAILED, OK, PENDING, REFUSED, Line
from .sources import Source
from .stores import Field, StoreError
from .sweep_store import SweepStore, read_sweep
from .worker import Answer, Item, Parcel, Wanted, compute_items, named

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

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> SweepResult:
        """The result in a file that a sweep was told to write `to`; its arrays are read when they are indexed.

        Examples
        --------
        >>> import os, tempfile
        >>> import pliant as pl
        >>> robot = pl.Robot("ball")
        >>> ball = robot.add_body("ball", joint=pl.Revolute("y"), shape=pl.Sphere(0.1), mass=1.0)
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "masses.h5")
        >>> found = pl.sweep(robot, {"ball.mass": [1.0, 2.0]}, "mass", to=path)
        >>> pl.SweepResult.open(path)["mass"][:]
        array([1., 2.])
        >>> folder.cleanup()
        """
        return cls(**read_sweep(Path(path)))

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
    patience: float = 60.0,
    progress: bool | None = None,
    resume: SweepResult | None = None,
    to: str | os.PathLike[str] | None = None,
    check: bool = True,
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
        How many times a chunk whose worker was lost is given to another one; then its items are tried alone. After thirty losses in a row without an answer
        the sweep ends with what it has.
    patience : float
        Seconds after which a Dask cluster without workers, or whose scheduler does not answer, is given up: the sweep ends with what it has, and says so.
    progress : bool, optional
        Show a line on stderr; by default only on a terminal.
    resume : SweepResult, optional
        What the same sweep has found before it was interrupted; only what is pending is computed. Error if it is another one: another robot, task (`what`, by what
        it does), seed, version of pliant or other items.
    to : path, optional
        An HDF5 file (``.h5``) or a Zarr store (``.zarr``) for the result. What is computed is written as it comes, to a journal beside it; the same call goes on with
        what is there, whatever ended the one before. A store of another sweep is an error.
    check : bool
        False takes what is there although robot, task, seed or version differ; items must agree.

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
    identity = identity_of(system, wanted, plan, seed)
    count, patience = len(plan), non_negative("patience", patience, unit="s")
    size = max(1, count // 100) if chunk is None else integer("chunk", chunk, minimum=1)
    retries = integer("retries", retries)
    work = _Work(system, plan, identity, seed)
    if resume is not None:
        refuse_another(resume.origin.get("sweep", {}), identity, "resume is the result of", flag("check", check))
    with nullcontext() if to is None else SweepStore(to, identity, flag("check", check)) as store:
        if store is not None:
            work.keep_in(store)
        if resume is not None:
            work.take(resume)
        found, error = _carried_out(work, executor, wanted, size, retries, patience, progress)
        return found if store is None else store.finish(found, error)


def _carried_out(
    work: _Work, executor: Any, wanted: Wanted, size: int, retries: int, patience: float, progress: bool | None
) -> tuple[SweepResult, StoreError | None]:
    """What is found, and what kept it from being written."""
    clock, line = time.perf_counter(), Line(progress, len(work))
    interrupted, failed = False, None
    try:
        if work.pending:
            work.run(Source(executor), wanted, size, retries, patience, line)
    except KeyboardInterrupt:
        interrupted = True
    except StoreError as error:
        failed = error
    finally:
        line.close()
    return work.result(time.perf_counter() - clock, interrupted), failed


class _Work:
    """Items, and what became of them."""

    def __init__(self, system: System, plan: Design, identity: Mapping[str, Any], seed: int) -> None:
        self._system, self._plan, self._identity, self._seed = system, plan, identity, seed
        self._answers: dict[int, dict[str, Array]] = {}
        self._codes = np.zeros(len(plan), dtype=np.int8)
        self._messages: dict[int, str] = {}
        self._warnings: list[str] = []
        self._store: SweepStore | None = None
        for k, row in enumerate(plan.values):
            if not np.all(np.isfinite(row)):
                name = plan.names[int(np.flatnonzero(~np.isfinite(row))[0])]
                self._say(k, REFUSED, f"{name} = {row[plan.names.index(name)]} must be a finite number.")

    def __len__(self) -> int:
        """Number of items."""
        return len(self._codes)

    @property
    def pending(self) -> int:
        """Items that are to be computed."""
        return int(np.count_nonzero(self._codes == PENDING))

    def take(self, before: BatchResult) -> None:
        """What was found before, of items that are pending."""
        arrays = {name: np.asarray(before.arrays[name][:]) for name in before.arrays}
        answers: list[Answer] = []
        for k in np.flatnonzero((self._codes == PENDING) & before.done).tolist():
            well = before.codes[k] == OK
            answers.append(
                (k, {name: array[k] for name, array in arrays.items()}, "") if well else (k, None, before.message(k))
            )
        self._record(answers)

    def keep_in(self, store: SweepStore) -> None:
        """Have answers written as they come, and take those that are there."""
        if store.before is not None:
            self.take(store.before)
        self._keep([answer for answer in store.answers if 0 <= answer[0] < len(self)])
        self._store = store

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

    def run(self, source: Source, wanted: Wanted, size: int, retries: int, patience: float, line: Line) -> None:
        """Compute all that is pending; `KeyboardInterrupt` after what was under way has been kept."""
        with closing(source):
            parcel = (self._system, wanted) if source.local else Parcel.of(self._system, wanted)

            def call(chunk: list[int]) -> tuple[Any, ...]:
                return compute_items, parcel, [self._item(k) for k in chunk]

            dispatcher = Dispatcher(source, call, self._chunks(size), retries, patience)
            try:
                for chunk, answer in dispatcher.answers():
                    if self._settle(chunk, answer):
                        raise KeyboardInterrupt
                    done = len(self._codes) - self.pending
                    line.show(done, last=done == len(self._codes))
            except KeyboardInterrupt:
                for chunk, answer in dispatcher.rest():
                    self._settle(chunk, answer)
                raise
            finally:
                dispatcher.cancel()
        if dispatcher.gone and self.pending:
            self._warnings.append(
                f"{self.pending} of {len(self._codes)} items were not computed: the workers are gone ({dispatcher.gone}). Go on with resume=."
            )

    def _settle(self, chunk: list[int], answer: Any) -> bool:
        """Keep an answer; whether what is computed asked for an interrupt."""
        if not isinstance(answer, Lost):
            answers, interrupted = answer
            self._record(answers)
            return bool(interrupted)
        if answer.final:
            self._record([(k, None, f"no answer from its worker: {answer.reason}") for k in chunk])
            return False
        for k in chunk:
            self._messages[k] = (
                f"not computed: the workers are gone ({answer.reason}). Give a function that makes the executor, so that a broken one can be replaced, "
                "or go on with resume=."
            )
        return False

    def _record(self, answers: list[Answer]) -> None:
        self._keep(answers if self._store is None or not answers else self._store.add(answers))

    def _keep(self, answers: list[Answer]) -> None:
        for k, arrays, text in answers:
            self._messages.pop(k, None)
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
            self._system.name, out, fields, {}, {}, self._codes, self._messages, seconds, interrupted, tuple(self._warnings),
            origin={name: self._identity[name] for name in ("pliant", "robot")} | {"sweep": self._identity}, design=self._plan,
        )  # fmt: skip
