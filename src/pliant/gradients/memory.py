"""The memory of a motion that is differentiated, and calls of the engine with it; see `kernels.solve.record`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine, slots
from ..kernels.packing import pack, view_of
from ..kernels.program import Program, assemble
from ..kernels.solve.record import Lever, Record
from ..kernels.solve.tape import Tape
from ..solve.methods.tableau import Tableau
from ..system import Given, System
from ..system.dynamics import step_storage

__all__ = ["Memory", "Sizes"]

Array = NDArray[np.float64]


class Sizes(NamedTuple):
    """How large the parts of a memory are that not every job needs."""

    adjoint: bool = False
    directions: int = 0
    replay: bool = False
    maps: bool = False
    knots: int = 0  # of a feedback
    before: bool = False  # whether its gains have columns for the inputs of the knot before


STATES_ONLY = Sizes()


class Memory:
    """Tape, record and lever of n steps as flat arrays, with a workspace of their own.

    Parameters
    ----------
    system : System
    tableau : Tableau
        A method without memory.
    steps : int
    sizes : Sizes
    """

    RTOL, ATOL = 1e-4, 1e-5  # what Newton's corrections are measured with; its tolerance is relative to their sum
    LIMIT = 16  # iterations

    def __init__(
        self, system: System, tableau: Tableau, steps: int, sizes: Sizes = STATES_ONLY, *, tolerance: float = 1e-12
    ) -> None:
        self.system, self.tableau, self.steps = system, tableau, steps
        self._S, tree = step_storage(system, "auto")
        self.space = system.workspace()
        groups = [self._tape(tree), _program(system), self._record(), self._lever(sizes)]
        self._plan, self._floats, none = pack([(group, False) for group in groups])
        packed = engine.Packed(self._plan, self._floats, none)
        first = np.cumsum([0, *(len(kind._fields) for kind in (Tape, Program, Record))]).tolist()
        self.tape: Tape = view_of(packed, Tape, False, first[0])
        self.record: Record = view_of(packed, Record, False, first[2])
        self.lever: Lever = view_of(packed, Lever, False, first[3])
        self.p = self._options(tree, tolerance)
        self._new: tuple[Any, ...] | None = None
        self._kind = (sizes, tolerance)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled as what it is made from and what it holds: its arrays are views of each other."""
        held = tuple(x.copy() for x in self.arrays)
        return _made_again, (self.system, self.tableau, self.steps, *self._kind, held, self._new)

    def reusable(self) -> Memory:
        """Itself, so that it can be `renewed` after it was used."""
        self._new = tuple(x.copy() for x in (self._plan, self._floats, self.p))
        return self

    def renewed(
        self, system: System, tableau: Tableau, steps: int, sizes: Sizes = STATES_ONLY, *, tolerance: float = 1e-12
    ) -> Memory | None:
        """Itself as if it were new, if a new one would be like it: to make one takes longer than to go a few steps."""
        alike = system is self.system and tableau is self.tableau and steps == self.steps
        if self._new is None or not alike or self._kind != (sizes, tolerance):
            return None
        self._plan[:], self._floats[:], self.p[:] = self._new
        return self

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All that jobs write: who copies them can go back."""
        space = self.space
        return self._plan, self._floats, self.p, self._S, space.pivot, space.packed[2]

    @property
    def _shape(self) -> tuple[int, ...]:
        """Stages, nq, nv, nu, tendons, rows of loops."""
        system = self.system
        return (
            len(self.tableau.c), system.nq, system.nv, system.nu, len(system.tendons.law), len(system.loop_rows),
        )  # fmt: skip

    def _tape(self, tree: bool) -> Tape:
        s, nq, nv, nu, tendons, loops = self._shape
        sizes = {name: (0,) * _dimensions(name) for name in Tape._fields}
        sizes |= {
            "address": (2,), "pivot": (nv,), "times": (s,), "inputs": (s, nu + nv),
            "known": (s, nq + 2 * nv + 2 * tendons + 2 * loops), "q": (s, nq), "v": (s, nv), "a": (s, nv), "rate": (s, nv), "base": (2, nv),
            "past": (s, nv), "past_force": (s, loops), "past_times": (s,), "memory": (s, self.system.nz), "flow": (s, self.system.nz), "weights": (3, nv), "error": (2, nv), "moved": (nq,), "force": (s, loops),
            "mass": (1, *self.system.fronts.size) if tree else (2, nv, nv), "free": (0, 6), "law": (0, 10),
        }  # fmt: skip
        arrays = {
            name: np.zeros(size, dtype=np.int64 if name in ("address", "pivot", "free") else float)
            for name, size in sizes.items()
        }
        arrays["tableau"] = np.vstack([self.tableau.a, self.tableau.b - self.tableau.b_hat, self.tableau.c])
        arrays["smooth"] = self.system.smooth.astype(float)
        arrays["weights"][2] = 1e30  # velocities count up to the frequency of the step
        return Tape(**arrays)

    def _record(self) -> Record:
        s, nq, nv, nu, tendons, loops = self._shape
        n, m = self.steps, tendons + loops
        return Record(
            t=np.zeros(n + 1),
            inputs=np.zeros((n, s, nu + nv)),
            known=np.zeros((n if self._told else 0, s, nq + 2 * nv + 2 * tendons + 2 * loops)),
            q=np.zeros((n + 1, nq)),
            v=np.zeros((n + 1, nv)),
            a=np.zeros((n, s, nv)),
            force=np.zeros((n, s, loops)),
            memory=np.zeros((n + 1, self.system.nz)),
            kept=np.zeros((n, s, self.system.nz)),
            hold=np.zeros((n, tendons)),
            taut=np.zeros((n + 1, tendons)),
            impact=np.zeros(n + 1),
            push=np.zeros((n + 1, 2, m)),
            begin_q=np.zeros(nq),
            begin_v=np.zeros(nv),
        )

    @property
    def _told(self) -> bool:
        """Whether anything is prescribed."""
        return bool(self.system.told) or bool(np.any(self.system.known))

    def _lever(self, sizes: Sizes) -> Lever:
        s, nq, nv, nu, tendons, loops = self._shape
        m, nz = tendons + loops, self.system.nz
        whole = 2 * nv + nz
        k = whole + nu if sizes.maps else sizes.directions
        mapped, knots = self.steps if sizes.maps else 0, sizes.knots
        fed = self.steps if knots else 0
        kept = self.steps + 1 if sizes.maps and not self.system.internal.spatial.size and not nz else 0
        back, again = self.steps if sizes.adjoint else 0, self.steps if sizes.replay else 0
        linear = nv if sizes.adjoint or k else 0  # matrices of a stage
        joints = len(self.system.internal.spatial)
        reals = len(self.space.packed[1]) if sizes.adjoint else 0
        return Lever(
            q=np.zeros((back + 1, nv)),
            v=np.zeros((back + 1, nv)),
            memory=np.zeros((back + 1, nz)),
            y=np.zeros((back, s, nv)),
            z=np.zeros((back, s, m)),
            trace=np.zeros((back, s, nz)),
            input=np.zeros((back, s, nu + nv)),
            value=np.zeros((back + 1, m)),
            rate=np.zeros((back + 1, m)),
            along=np.zeros((back + 1, 2, nv)),
            start=np.zeros((2, nv)),
            tables=np.zeros(reals),
            dq=np.zeros((k, nv)),
            dv=np.zeros((k, nv)),
            dz=np.zeros((k, nz)),
            du=np.zeros((k, s, nu + nv)),
            dkept=np.zeros((k, s, nz)),
            de=np.zeros((k, s, m)),
            dclose=np.zeros((k, 2, m)),
            dmove=np.zeros((k, 2, nv)),
            da=np.zeros((s, k, nv)),
            dk=np.zeros((s, k, nv)),
            df=np.zeros((s, k, nz)),
            r=np.zeros((again, s, nv)),
            e=np.zeros((again, s, m)),
            kept=np.zeros((again, s, nz)),
            close=np.zeros((again + 1, 2, m)),
            direct=np.zeros((again + 1, 2, nv)),
            matrices=np.zeros((3, linear, linear)),
            kkt=np.zeros((linear + m, linear + m) if linear else (0, 0)),
            pivot=np.zeros(linear + m, dtype=np.int64),
            size=np.zeros(m),
            keep=np.zeros(5),
            chart=np.zeros((5 * joints, 6, 6)),
            rows=np.zeros((5, m, nv)),
            columns=np.zeros((nu, nv)),
            vectors=np.zeros((12, nv + m)),
            moves=np.zeros((s, nv)),
            back=np.zeros((2, s, nv)),
            recall=np.zeros((nz, 3 * nv + nz + nu) if linear else (0, 0)),
            flow=np.zeros((s + 2, nz)),
            other=np.zeros((3, linear, linear) if m else (0, 0, 0)),
            maps=np.zeros((mapped, whole, k)),
            answers=np.zeros((mapped * s, nv, k)),
            stored=np.zeros((kept, nv, nv)),
            swaps=np.full((kept, nv), -1, dtype=np.int64),
            product=np.zeros((nv, nv) if mapped else (0, 0)),
            knot=np.zeros(fed, dtype=np.int64),
            open=np.zeros((knots, nu)),
            gain=np.zeros((knots, nu, whole + nu if sizes.before else whole)),
            low=np.full((knots, nu), -np.inf),
            high=np.full((knots, nu), np.inf),
            target_q=np.zeros((fed + 1 if fed else 0, nq)),
            target_v=np.zeros((fed + 1 if fed else 0, nv)),
            target_z=np.zeros((fed + 1 if fed else 0, nz)),
            target_u=np.zeros((fed, nu)),
            target_a=np.zeros((fed, s, nv)),
            away=np.zeros(whole + 2 * nu if fed else 0),
        )

    def _options(self, tree: bool, tolerance: float) -> Array:
        p = np.zeros(engine.PARAMETERS)
        options = {
            slots.OPTION_RTOL: self.RTOL,
            slots.OPTION_ATOL: self.ATOL,
            slots.OPTION_NEWTON: tolerance / (self.RTOL + self.ATOL),
            slots.OPTION_LIMIT: self.LIMIT,
            slots.OPTION_TREE: tree,
            slots.MARCH_FORCES: 1e-10,
            slots.MARCH_ORDER: self.tableau.order + 1,
            slots.MARCH_GAMMA: self.tableau.gamma,
            slots.MARCH_SWITCH: 2.0,
            slots.MARCH_TRUST: np.inf,
            slots.MARCH_RATE: 1.0,
            slots.MARCH_FORM: not self.tableau.damps,  # where nothing is damped the explicit form converges better
            slots.MARCH_FRESH: 1.0,  # the first prediction leaves out what decays within the step
        }
        p[list(options)] = [float(value) for value in options.values()]
        return p

    def run(self, job: np.int64, given: Given | None = None, system: System | None = None) -> int:
        """Do a job of the engine; with `given` the workspace is prepared first, with `system` the tables of another robot are used."""
        space = self.space if system is None else system.workspace()
        if given is not None or system is not None:
            space.prepare(given or Given())
        tape, nu = self.tape, self.system.nu
        status = engine.run(
            job, *space.packed, tape.q[0], tape.v[0], tape.a[0], tape.inputs[0, :nu], tape.inputs[0, nu:], self.p, self._S, space.pivot,
            *space.spare, self._plan, self._floats,
        )  # fmt: skip
        (system or self.system).raise_user_errors()
        return int(status)

    def take(self, record: Record, n: int, first: int = 0) -> None:
        """Copy n steps of the record of another memory, with their times, and its start."""
        self.take_first(record, n, first)
        self.record.t[: n + 1] = record.t[first : first + n + 1]
        self.record.known[:n] = record.known[first : first + n]
        self.record.begin_q[:], self.record.begin_v[:] = record.begin_q, record.begin_v

    def take_first(self, record: Record, n: int, first: int = 0) -> None:
        """Copy what n steps of another record found, as the first ones here."""
        for name in ("inputs", "a", "force", "kept", "hold"):
            getattr(self.record, name)[:n] = getattr(record, name)[first : first + n]
        for name in ("q", "v", "push", "memory", "taut", "impact"):
            getattr(self.record, name)[: n + 1] = getattr(record, name)[first : first + n + 1]


def _made_again(
    system: System,
    tableau: Tableau,
    steps: int,
    sizes: Sizes,
    tolerance: float,
    held: tuple[NDArray[Any], ...],
    new: tuple[Any, ...] | None,
) -> Memory:
    memory = Memory(system, tableau, steps, sizes, tolerance=tolerance)
    for mine, other in zip(memory.arrays, held):
        mine[:] = other
    memory._new = new
    return memory


def _dimensions(name: str) -> int:
    """Of an array of the tape."""
    hint: Any = Tape.__annotations__[name]
    return int(hint.__metadata__[0])


def _program(system: System) -> Program:
    zero = np.zeros(system.nu + system.nv)
    return assemble(zero, zero, zero, {})
