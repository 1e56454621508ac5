"""Integration inside the engine: error-controlled or constant steps of an ESDIRK method, many in one call.

Python is entered where inputs or prescribed motions are Python functions (through a pointer, once for all stages of a step; a
feedback law once per iteration), at breaks of the inputs, and between batches of steps.
"""

from __future__ import annotations

import ctypes
from collections import Counter, deque

import numpy as np
from numpy.typing import NDArray

from ..._call import PROTOTYPE
from ...kernels import engine, slots
from ...kernels.packing import pack, view_of
from ...kernels.program import assemble
from ...kernels.solve import tape as kernel_tape
from ...kernels.solve.march import SAMPLE
from ...kernels.solve.momentum import KICK_WIDTH
from ...kernels.solve.newton import EXHAUSTED, SINGULAR
from ...kernels.solve.stages import FEEDBACK, WITH_LAW
from ...kernels.solve.tape import Tape
from ...system import Given, LinearSolver, System
from ...system.dynamics import step_storage
from ...system.kinematics import extent
from ..cables import reach, tensions_at
from ..interpolate import as_told
from ..limits import rounding
from .controlled import ControlledStages, next_break, refuse_period
from .failure import why_not
from .flows import Flows
from .integrator import Integrator, Problem, Steps, frequencies
from .tableau import Tableau

__all__ = ["Marching"]

Array = NDArray[np.float64]


class Marching(Integrator):
    """An ESDIRK method; see `kernels.solve.esdirk` and `kernels.solve.march`.

    Parameters
    ----------
    problem : Problem
    tableau : Tableau
    """

    KAPPA = 0.02  # where Newton's iteration stops, in units of the tolerances;
    CONVERGED = 1e-12  # with constant steps, in natural sizes of the coordinates
    LIMIT = 8  # iterations
    LEAST = 20  # steps of a run, unless the user allows fewer: what comes late must not be stepped over
    MANY = 100  # steps in explicit form that are worth a word
    WELL = 1e6  # condition of the mass matrix, its diagonal scaled to one, up to which it is not to blame for them
    STICKS = 1e-3  # of the tolerance: what Newton's iteration may leave where loads have internal variables
    FINEST = 4096  # parts of a constant step
    SAME, OFTEN = 1e-9, 20  # of the run: what counts as one instant; how often cables may switch there
    _control: ControlledStages | None = None
    _flows: Flows | None = None
    _sampled = False  # whether the controller has sampled where the run begins
    _going_on = False
    _chatter = (-np.inf, 0)  # since when, and how often, cables switched

    def __init__(self, problem: Problem, tableau: Tableau) -> None:
        self.problem, self.system, self.tableau = problem, problem.system, tableau
        if self.system.supplied:
            self._flows = Flows(self.system)
        self.name = tableau.name
        self.drive, self.motion = problem.drive, problem.motion
        self.statistics, self.clock = problem.statistics, problem.clock
        self._error: BaseException | None = None
        self._subdivided: list[tuple[float, int]] = []
        self._jumps: list[tuple[float, str]] = []
        self._parts: tuple[float, float, int] | None = (
            None  # of a constant step: where it begins and ends, into how many
        )
        self._begin: Steps
        self._count = self._explicit = 0
        control = problem.drive.control
        self._S, tree = step_storage(self.system, self._solver())
        self._states = 0 if control is None else control.count
        self._space = self.system.workspace()
        self._make_tape(tree)
        self._set_options(tree)
        self._control = None if control is None else ControlledStages(problem, self.tableau, self._tape, self._p)
        refuse_period(control, problem.t, problem.end, problem.steps.constant)
        span = problem.t, problem.end
        known = sorted({*problem.drive.breaks(*span).tolist(), *problem.motion.breaks(*span), *problem.breaks})
        within = self._within_steps(known)
        self._breaks = deque(sorted(set(known) - set(within)))
        self._breaks.append(problem.end)
        self._missed = within
        problem.drive.expect(problem.breaks)
        self.t = problem.t
        self._tape.q[0], self._tape.v[0] = problem.q, problem.v
        self.multipliers = np.zeros(len(self.system.loop_rows))
        self.memory = np.zeros(self.system.nz) if problem.memory is None else problem.memory.copy()
        self.tensions: dict[int, float] = {}
        if control is not None:
            begins = problem.control is None
            self.control = control.begin(self.t, problem.q, problem.v) if begins else np.asarray(problem.control).copy()
            self._sampled = begins
        self._restart()
        self._taken = self.row()

    def _solver(self) -> LinearSolver:
        """How linear systems are solved: dense where a controller couples coordinates."""
        control, wanted = self.drive.control, self.problem.solver
        if control is None or not control.feedback:
            return wanted
        if wanted == "tree":
            raise ValueError(
                "solver='tree' is not possible with a controller that depends on the state, which couples all coordinates. Use solver='auto'."
            )
        return "dense"

    # ------------------------------------------------------------ memory

    def _make_tape(self, tree: bool) -> None:
        system, s = self.system, len(self.tableau.c)
        nq, nv, nu, n = system.nq, system.nv, system.nu, self.ROOM
        tendons, loops = len(system.tendons.law), len(system.loop_rows)
        free = self._free()
        program = self.drive.program if not self.motion.active else None
        varying = program is None
        if program is None:
            program = assemble(np.zeros(nu + nv), np.zeros(nu + nv), np.zeros(nu + nv), {})
        empty = Tape(
            address=np.zeros(2, dtype=np.int64),
            pivot=np.zeros(nv, dtype=np.int64),
            tableau=np.vstack([self.tableau.a, self.tableau.b - self.tableau.b_hat, self.tableau.c]),
            times=np.zeros(s),
            inputs=np.tile(program.constant, (s, 1)),
            known=np.zeros((s, nq + 2 * nv + 2 * tendons + 2 * loops)),
            q=np.zeros((s, nq)),
            v=np.zeros((s, nv)),
            a=np.zeros((s, nv)),
            rate=np.zeros((s, nv)),
            base=np.zeros((2, nv)),
            past=np.zeros((s, nv)),
            past_force=np.zeros((s, loops)),
            past_times=np.zeros(s),
            weights=np.zeros((3, nv)),
            error=np.zeros((2, nv)),
            moved=np.zeros(nq),
            feedback=np.zeros((nv, nv) if self.drive.feedback and not tree else (0, 0)),
            mass=np.zeros((1, *system.fronts.size)) if tree else np.zeros((2, nv, nv)),
            free=free,
            law=np.zeros((len(free), 10)),
            kick=np.zeros((len(free), KICK_WIDTH)),
            force=np.zeros((s, loops)),
            memory=np.zeros((s, system.nz + self._states)),
            flow=np.zeros((s, system.nz + self._states)),
            smooth=system.smooth.astype(float),
            doubt=np.zeros(1),
            log_memory=np.zeros((n, system.nz + self._states)),
            log_t=np.zeros(n),
            log_q=np.zeros((n, nq)),
            log_v=np.zeros((n, nv)),
            log_a=np.zeros((n, nv)),
            log_u=np.zeros((n, nu + nv)),
            log_multiplier=np.zeros((n, loops)),
            log_energy=np.zeros((n, 5)),
        )
        self._plan, self._floats, _none = pack([(empty, False), (program, False)])
        packed = engine.Packed(self._plan, self._floats, _none)
        self._tape: Tape = view_of(packed, Tape, False, 0)
        if varying or self.drive.feedback:
            self._callback = PROTOTYPE(self._ask)  # to be kept alive
            self._tape.address[0] = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
            self._tape.address[1] = self.drive.feedback
            if self.drive.control is not None and self.drive.control.feedback:
                self._tape.address[1] = WITH_LAW  # its derivative is known

    def _free(self) -> NDArray[np.int64]:
        """Trees that keep their momentum, see `kernels.solve.momentum`."""
        return np.zeros((0, 6), dtype=np.int64)

    def _set_options(self, tree: bool) -> None:
        problem, steps = self.problem, self.problem.steps
        duration = problem.end - problem.t
        self._p = p = np.zeros(engine.PARAMETERS)
        constant = steps.constant is not None
        # what sticks is stiffer than errors of coordinates tell: a stage that is not solved well pushes it with forces of the size of friction
        newton = (
            self.CONVERGED / (problem.rtol + problem.atol)
            if constant
            else min(self.KAPPA, self.STICKS if self.system.nz else 1.0)
        )
        options = {
            slots.OPTION_RTOL: problem.rtol,
            slots.OPTION_ATOL: problem.atol,
            slots.OPTION_NEWTON: newton if steps.newton is None else steps.newton,
            slots.OPTION_LIMIT: 2 * self.LIMIT if constant else self.LIMIT,
            slots.OPTION_TREE: tree,
            slots.MARCH_T: problem.t,
            slots.MARCH_LARGEST: duration / self.LEAST if steps.largest is None else min(steps.largest, duration),
            slots.MARCH_CONSTANT: steps.constant or 0.0,
            slots.MARCH_FORCES: 1e-7 if constant else 0.1 * problem.rtol,
            slots.MARCH_SIZE: extent(self.system),
            slots.MARCH_ORDER: self.tableau.embedded + 1,
            slots.MARCH_FILTER: self.tableau.filtered,
            slots.MARCH_GAMMA: self.tableau.gamma,
            slots.MARCH_SWITCH: 2.0,
            slots.MARCH_TRUST: np.inf,
            slots.MARCH_ORIGIN: problem.t,
            slots.MARCH_THIN: _thinnest(self.system),
        }
        p[list(options)] = [float(value) for value in options.values()]

    def _within_steps(self, breaks: list[float]) -> list[float]:
        """Breaks that lie within constant steps, which stay as they are."""
        h, t = self.problem.steps.constant, self.problem.t
        if h is None:
            return []
        count = [(x - t) / h for x in breaks]
        return [x for x, n in zip(breaks, count) if abs(n - round(n)) > rounding(max(abs(x), abs(t)), h) * max(1.0, n)]

    # ------------------------------------------------------------ inputs

    def _ask(self, n: int, want: int, *_pointers: int) -> None:
        """What the engine calls: inputs and prescribed motion at all stages, or the inputs of one for its present state."""
        tape = self._tape
        try:
            if want == SAMPLE:
                self.clock.check()
                last = len(tape.times) - 1
                for i, t in enumerate(tape.times.tolist()[1:], start=1):  # those of the start are known
                    self._put(i, t, tape.q[0], tape.v[0], -1 if i == last else 1)
            elif want == FEEDBACK and self._control is not None:
                self._write_inputs(n, *self._control.inputs(n))
            elif want == FEEDBACK:
                self._put_inputs(n, float(tape.times[n]), tape.q[n], tape.v[n], 0)
            elif self._control is not None:
                self._control.law(n, list(self.tensions))
            else:
                self._put_law(n)
        except BaseException as error:  # compiled code would not hear of it
            self._error = error
            tape.times[0] = np.nan

    def _put_inputs(self, i: int, t: float, q: Array, v: Array, side: int) -> None:
        self._write_inputs(i, *self.drive(t, q, v, side, self.control))

    def _write_inputs(self, i: int, u: Array, tau: Array) -> None:
        row, nu = self._tape.inputs[i], self.system.nu
        row[nu:] = tau
        held = self.tensions
        if not held:
            row[:nu] = u
            return
        keep = list(held)
        kept = row[keep].copy()
        row[:nu] = u
        row[keep] = kept

    def _put_law(self, i: int) -> None:
        """The derivative of the generalised forces of a feedback law: by Δq, with Δv = Δq / γh, from differences."""
        system, tape, nu = self.system, self._tape, self.system.nu
        t, q, v = float(tape.times[i]), tape.q[i].copy(), tape.v[i].copy()
        g = self.tableau.gamma * float(tape.times[-1] - tape.times[0])
        u0, tau0 = tape.inputs[i, :nu].copy(), tape.inputs[i, nu:].copy()
        B = system.actuation_matrix(q, v, u0) if self.drive.u_feedback else None
        moves = 1e-6 * system.internal.scale
        for k, move in enumerate(moves):
            step = np.zeros(system.nv)
            step[k] = move
            u, tau = self.drive(t, system.integrate(q, step), v + step / g)
            force = tau - tau0 if B is None else tau - tau0 + B @ (u - u0)
            tape.feedback[:, k] = force / move

    def _put(self, i: int, t: float, q: Array, v: Array, side: int) -> None:
        self._put_inputs(i, t, q, v, side)
        if not self.motion.active:
            return
        self.motion.write(t, self._tape.known[i])

    # ------------------------------------------------------------ starting

    def _restart(self) -> None:
        """Consistent accelerations, and a first step, where a run or a new piece of its inputs begins."""
        tape, system, p = self._tape, self.system, self._p
        t, q, v = self.t, tape.q[0].copy(), tape.v[0].copy()
        motion, hold = self.motion, np.zeros((len(system.tendons.law), 4))
        motion.joints_at(t, q, v, np.zeros(system.nv))
        q, v, kind, _said = reach(system, motion, t, q, v, within=t > self.problem.t)
        self._switch(t, q, v)
        u, tau = self.drive(t, q, v, 1, self.control)
        a, self.multipliers, self.tensions, slack = tensions_at(system, motion, t, q, v, u, tau, kind, self.memory)
        u = u.copy()
        for k, index in motion.held.items():
            u[index] = self.tensions[index]
            hold[k] = -1.0 if k in slack else 1.0, 0.0, 0.0, motion.pushes[k]
        if not np.all(np.isfinite(a)):
            raise ValueError(
                f"the acceleration at t = {t:g} s is not finite: inputs, a load or the initial state contain NaN or overflow."
            )
        p[slots.MARCH_FRESH] = 1.0
        self._damped = self.problem.steps.constant is not None  # the first step begins with another one
        before = self.problem.a if t == self.problem.t else None
        if before is not None and _same(a, before, system.internal.scale):
            a = before  # the run goes on as if it had not been cut
            p[slots.MARCH_FRESH] = 0.0
            self._damped = False
        tape.q[0], tape.v[0], tape.a[0] = q, v, a
        tape.inputs[0] = np.concatenate([u, tau])
        for i in self.tensions:
            tape.inputs[:, i] = u[i]
        self.q, self.v, self.a, self.applied = q, v, a, (u, tau)
        tape.memory[0, : system.nz] = self.memory
        self._space.prepare(Given(self.multipliers, hold=hold, told=self.motion.told_at(t), memory=self.memory))
        tape.weights[2] = frequencies(system, q, u, tau)
        p[slots.MARCH_FACTORED] = p[slots.MARCH_PAST] = p[slots.MARCH_H_OLD] = p[slots.MARCH_AFTER] = 0.0
        p[slots.MARCH_RATE], p[slots.MARCH_SEEK] = 1.0, 0.0
        planned = p[slots.MARCH_H] if self._going_on else 0.0  # a sampled input jumps by little, most often
        p[slots.MARCH_H] = max(planned, self._first_step(q, v, a))
        if system.nz:
            tape.flow[0, : system.nz] = self._flow(p[slots.MARCH_H])

    def _switch(self, t: float, q: Array, v: Array) -> None:
        """States of the controller where a piece begins: it samples there, if it is time."""
        self._going_on = False
        if self._control is None:
            return
        if not self._sampled and self._control.control.is_due(t):
            self.control = self._control.control.sample(t, self.control, q, v)
            self._going_on = True
        self._sampled = False
        self._control.start(self.control, t, q, v)

    def _flow(self, h: float) -> Array:
        """Rates of the internal variables at the start: over a time that is short against the first step."""
        lag = 1e-4 * h
        given = Given(self.multipliers, memory=self.memory, lag=lag)
        with self.system.borrow() as space:
            self.system.run_job(engine.RESIDUAL, self.q, self.v, self.a, *self.applied, given=given, space=space)
            return np.where(self.system.smooth, (space.work.kept - self.memory) / lag, 0.0)

    def _first_step(self, q: Array, v: Array, a: Array) -> float:
        """A step that the acceleration fills with some tens of what is tolerated: its error is far below, and steps grow quickly."""
        p = self._p
        if self.problem.steps.first is not None and self.t == self.problem.t:
            return self.problem.steps.first
        rtol, atol, largest = p[slots.OPTION_RTOL], p[slots.OPTION_ATOL], p[slots.MARCH_LARGEST]
        scale = self.system.internal.scale
        wq = (atol + rtol) * scale
        wv = atol * scale + rtol * np.maximum(np.abs(v), scale * np.sqrt(np.mean((v / scale) ** 2)))
        wv = np.maximum(wv, 0.1 * wq * self._tape.weights[2])
        fast = float(np.sqrt(np.mean((a / wv) ** 2)))
        far = float(np.sqrt(np.mean((a / wq) ** 2)))
        h = min(30.0 / fast if fast > 0 else np.inf, 3.0 / np.sqrt(far) if far > 0 else np.inf)
        return float(np.clip(h, 1e-9, 0.01 * largest))

    # ------------------------------------------------------------ steps

    def advance(self, end: float) -> str | None:
        """A batch of steps, not beyond `end`."""
        p, tape = self._p, self._tape
        while self._breaks[0] <= self.t:
            self._breaks.popleft()
        stop = next_break(self.drive.control, self.t, min(end, self._breaks[0]))
        p[slots.MARCH_END] = stop if self._parts is None else self._parts[1]
        p[slots.MARCH_WATCH] = self.watch
        p[slots.MARCH_BUDGET] = 1 if self._damped else self.batch
        self.clock.check()
        space, system = self._space, self.system
        p[slots.MARCH_REJECTED : slots.MARCH_EXPLICIT + 1] = 0.0
        nu = system.nu
        status = engine.run(
            engine.MARCH, *space.packed, tape.q[0], tape.v[0], tape.a[0], self.applied[0], self.applied[1], p, self._S,
            space.pivot, *space.spare, self._plan, self._floats,
        )  # fmt: skip
        steps = int(p[slots.MARCH_STEPS])
        self._taken = self._rows(steps)
        statistics = self.statistics
        statistics.steps += steps
        statistics.rejected += int(p[slots.MARCH_REJECTED])
        statistics.iterations += int(p[slots.MARCH_ITERATIONS])
        statistics.factorisations += int(p[slots.MARCH_FACTORISATIONS])
        statistics.residuals += int(p[slots.MARCH_RESIDUALS])
        statistics.failed += int(p[slots.MARCH_FAILURES])
        self._explicit += int(p[slots.MARCH_EXPLICIT])
        self.t = float(p[slots.MARCH_T])
        self.q, self.v, self.a = tape.q[0].copy(), tape.v[0].copy(), tape.a[0].copy()
        self.applied = tape.inputs[0, :nu].copy(), tape.inputs[0, nu:].copy()
        self.multipliers = space.work.multiplier.copy()
        self.memory, self.control = tape.memory[0, : system.nz].copy(), tape.memory[0, system.nz :].copy()
        if self._control is not None:
            self._control.grow()
        self.tensions = {i: float(tape.inputs[0, i]) for i in self.tensions}
        system.raise_user_errors()
        if status == kernel_tape.TOLD_TO_STOP:
            self._raise()
        if self._parts is None:
            self._count += steps
        else:
            self._taken = self._begin
        if status == kernel_tape.SWITCHED:
            self.statistics.switches += 1
            self._restart()
            if self.problem.steps.constant is not None and self._parts is None:  # it ended somewhere beyond the instant
                self._taken = Steps(*(np.concatenate([x[:-1], y]) for x, y in zip(self._taken, self.row())))
                self._taken.smooth[-2] = 0.0
            if self._parts is not None and self.t >= self._parts[1]:
                self._rejoin()
            return self._chatters()
        if status == kernel_tape.ARRIVED:
            if self._parts is not None:
                self._rejoin()
            elif self.t < end:
                self._restart()
            return None
        if status == kernel_tape.SLOW:
            self._look_for_jump()
            return None
        if status in (EXHAUSTED, SINGULAR, kernel_tape.NONSENSE):
            return self._subdivide(status)
        if status == kernel_tape.TOO_SHORT:
            name = system.dof_names[int(p[slots.MARCH_LIMITING])]
            return (
                f"the step fell below {p[slots.MARCH_H]:.1e} s at t = {self.t:.6g} s because of {name!r}; the motion may be singular there, "
                "the inputs discontinuous, or the tolerances too tight"
            )
        return None

    def _chatters(self) -> str | None:
        """Whether cables fall slack and become taut without end; then why it failed."""
        before, count = self._chatter
        self._chatter = (
            (before, count + 1) if self.t - before < self.SAME * (self.problem.end - self.problem.t) else (self.t, 1)
        )
        if count < self.OFTEN:
            return None
        return (
            f"cables of prescribed length fall slack and become taut {count} times at t = {self.t:.6g} s without getting on: their lengths may contradict each other, or "
            "loops. Use a constant `step`, or method='generalized-alpha'"
        )

    def _raise(self) -> None:
        """Raise what a function of inputs raised, or what is wrong with inputs that the engine evaluated."""
        error, self._error = self._error, None
        if error is not None:
            raise error
        for t in self._tape.times.tolist():
            self.drive(t, self.q, self.v)
        raise ArithmeticError(f"an input is not finite or out of bounds near t = {self.t:.6g} s")

    def _rejoin(self) -> None:
        """A constant step has been gone through in parts."""
        assert self._parts is not None
        assert self.problem.steps.constant is not None
        self._subdivided.append((self._parts[0], self._parts[2]))
        self._parts = None
        self._count += 1
        self._taken = Steps(*(np.concatenate(pair) for pair in zip(self._begin, self.row())))
        self._p[slots.MARCH_CONSTANT] = self.problem.steps.constant

    def _look_for_jump(self) -> None:
        """After several rejections in a row: a jump of the inputs ahead becomes a break."""
        p = self._p
        jump = self.drive.find_jump(self.t, min(self.t + 10.0 * p[slots.MARCH_TRIED], self._breaks[0]))
        if jump is None:
            return
        self._jumps.append((jump.t, jump.name))
        self._breaks.appendleft(jump.t)
        p[slots.MARCH_H] = jump.t - self.t  # nothing else was seen to be in the way
        p[slots.MARCH_AFTER] = 0.0

    def _subdivide(self, status: int) -> str | None:
        """What to do with a constant step that cannot be taken: say so, or go through it in parts if that is wanted."""
        p, h = self._p, float(self._p[slots.MARCH_TRIED])
        if self._parts is None:
            begin, target, parts = self.t, self.t + h, 1
            self._begin = self.row()._replace(smooth=np.ones(1))
        else:
            begin, target, parts = self._parts
        if not self.problem.subdivide or parts >= self.FINEST:
            why = "its estimated error is larger than the robot"
            if status in (SINGULAR, EXHAUSTED):
                why = why_not(self.problem.system, self._tape, self.tableau.gamma * h, status)
            advice = "a smaller step" if self.problem.subdivide else "a smaller step, subdivide=True"
            return (
                f"step {self._count + 1}, from t = {self.t:.6g} s with {h:.3g} s, cannot be taken: {why}. Use {advice}, or leave `step` out "
                "for error control"
            )
        self._parts = begin, target, 4 * parts
        p[slots.MARCH_CONSTANT] = (target - begin) / (4 * parts)
        return None

    def notes(self) -> list[str]:
        """What was done other than asked for, and what the inputs did."""
        out = []
        if self._subdivided:
            first, worst = self._subdivided[0], max(self._subdivided, key=lambda entry: entry[1])
            out.append(
                f"{len(self._subdivided)} of {self._count} steps of {self.problem.steps.constant:g} s were subdivided, the first at t = "
                f"{first[0]:.6g} s and the worst, at t = {worst[0]:.6g} s, into {worst[1]} parts: the step is too long for what happens there."
            )
        if self._jumps:
            t, name = self._jumps[0]
            more = f" and {len(self._jumps) - 1} more" if len(self._jumps) > 1 else ""
            out.append(
                f"Inputs jump: {name} at t = {t:.9g} s{more}. A step ends there; declared as breaks=[...] they need not be searched for."
            )
        if self._missed:
            out.append(
                f"{len(self._missed)} break(s) of inputs lie within constant steps, the first at t = {self._missed[0]:.9g} s: the order is lost there. "
                "Choose a step that meets them, or leave `step` out."
            )
        leap = float(self._p[slots.MARCH_LEAP])
        if leap > 0.0:
            out.append(
                f"Contact may have been stepped over: from t = {self._p[slots.MARCH_LEAP_T]:.6g} s on, points move by up to {leap:.3g} m in one step, "
                f"which is more than the thinnest obstacle ({self._p[slots.MARCH_THIN]:.3g} m). Use a smaller max_step."
            )
        if self._flows is not None and self._flows.coarse:
            out.append(self._flows.warning)
        often = self._explicit > max(0.5 * self.statistics.steps, self.MANY) and not self.drive.feedback
        if often and not self._touches():
            out.append(
                f"Newton's iteration stagnated: {self._explicit} of {self.statistics.steps} steps needed the slower explicit form, because the "
                "mass matrix is badly conditioned (a strain with hardly any inertia, such as the torsion of a thin rod). The tolerances are met "
                "all the same."
            )
        return out

    def _touches(self) -> bool:
        """Whether what touches or sticks, rather than inertia, explains that Newton's iteration needs its explicit form."""
        robot = self.system.robot
        if not (robot.contacts or robot.stops or robot.bearings):
            return False
        free = ~self.system.known
        M = self.system.mass_matrix(self.q)[np.ix_(free, free)]
        size = np.sqrt(np.diag(M))
        return bool(np.linalg.cond(M / size / size[:, None]) < self.WELL)

    def _rows(self, steps: int) -> Steps:
        """The state that was present before, and the log."""
        tape, nu = self._tape, self.system.nu
        u, energy = tape.log_u[:steps], tape.log_energy[:steps]
        if self._p[slots.MARCH_WATCH] < 2.0:
            energy[:, 4] = np.nan  # no power
        log = (
            tape.log_t,
            tape.log_q,
            tape.log_v,
            tape.log_a,
            u[:, :nu],
            u[:, nu:],
            tape.log_multiplier,
            tape.log_memory[:, : self.system.nz],
            tape.log_memory[:, self.system.nz :],
            energy,
        )
        ends = (*(x[:steps] for x in log), np.ones(steps))
        begin = self.row()._replace(smooth=np.ones(1))
        if self._damped and steps:  # the step began with another acceleration
            begin = begin._replace(a=tape.past[:1].copy())
            self._damped = False
        rows = Steps(*(np.concatenate(pair) for pair in zip(begin, ends)))
        if self._flows is not None:
            self._flows.look(rows.t, rows.memory)
        return rows

    @property
    def taken(self) -> Steps:
        """The steps of the last batch."""
        return self._taken

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """By quintic Hermite interpolation; prescribed coordinates as they are told, loops closed."""
        return as_told(self.system, self.motion, times, super().states(times))

    def tally(self) -> Counter[tuple[int, bool]] | None:
        """The coordinate that limited the last step."""
        p = self._p
        return Counter({(int(p[slots.MARCH_LIMITING]), p[slots.MARCH_FAILURES] == 0.0): 1})


def _same(a: Array, b: Array, scale: Array) -> bool:
    """Whether two accelerations differ by no more than what Newton's iteration leaves."""
    return bool(np.linalg.norm((a - b) / scale) <= 1e-5 * np.linalg.norm(a / scale))


def _thinnest(system: System) -> float:
    """The least way through an obstacle [m]; 0 where there is none to step over."""
    if not system.robot.contacts:
        return 0.0
    distances = (o.shape.distance() for o in system.robot.obstacles.values() if not o.inside)
    thinnest = min((d.thickness for d in distances if d is not None), default=np.inf)
    return thinnest if np.isfinite(thinnest) else 0.0
