"""One implicit step with its exact derivatives: by the state at its start, by unknown inputs and by parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..gradients.memory import Memory, Sizes
from ..gradients.parameters import Beside
from ..gradients.plan import after
from ..gradients.remembered import known_memory
from ..gradients.rollout import Method, plan_of
from ..kernels import engine, slots
from ..kernels.solve.newton import CONVERGED
from ..kernels.solve.tape import ARRIVED
from ..solve.closure import close, consistent_velocity
from ..system import AS_DESCRIBED, Given, System
from .straight import Straight, straight
from .unknowns import Unknowns

__all__ = ["MappedStep", "State"]

Array = NDArray[np.float64]
PARTS, FINEST = 4, 256  # of a step that cannot be taken, and at most


class State(NamedTuple):
    """All that is estimated: coordinates, velocities, what loads remember, values of unknowns; at a time."""

    t: float
    q: Array  # (nq,)
    v: Array  # (nv,)
    z: Array  # (nz,)
    w: Array  # (k,) unknown inputs, then parameters


class MappedStep:
    """Steps of a robot, one at a time, each with the derivative of its end.

    The state moves along ``(δq, δv, δz, δw)``, of size n = 2 nv + nz + k. The memory of the steps, and factors of their tangents, are kept from one to
    the next; if the next one starts elsewhere, that costs iterations, not accuracy.

    Parameters
    ----------
    system : System
    unknowns : Unknowns
    start, velocity, t0, motion, method, tolerance
        As of `rollout`.
    step : float
    places : bool
        Whether sensors tell of places alone, whatever stiffness, damping and masses are: where tables are straight lines in the unknown parameters they
        are then written in place, instead of robots being compiled for every value.
    """

    def __init__(
        self,
        system: System,
        unknowns: Unknowns,
        *,
        step: float,
        start: Any,
        velocity: Any,
        t0: float | None,
        motion: Mapping[str, Any] | None,
        method: Method,
        tolerance: float,
        places: bool = False,
    ) -> None:
        known_memory(system)
        if len(system.tables.colloc):
            raise ValueError(
                f"{system.name!r} has rods with spectral integration, whose steps have no exact derivatives forwards. Compile it with integration='magnus'."
            )
        self.base, self.unknowns, self.h = system, unknowns, float(step)
        nx = 2 * system.nv + system.nz
        self.nx, self.size = nx, nx + len(unknowns)
        plan = plan_of(
            system, system.inputs(None), step=step, duration=step, start=start, velocity=velocity, t0=t0, method=method, motion=motion,
            tolerance=tolerance,
        )  # fmt: skip
        self._plan = plan
        # one call for the columns of state and inputs, unless the projection of the start onto loops has columns too
        self._simple = not (system.loop_rows or system.held_tendons)
        count = len(unknowns.parameters)
        sizes = Sizes(maps=True) if self._simple else Sizes(directions=self.size, replay=bool(count))
        self._memory = Memory(system, plan.tableau, 1, sizes, tolerance=tolerance)
        beside = self._simple and count
        self._beside = Memory(system, plan.tableau, 1, Sizes(directions=count, replay=True)) if beside else None
        self._straight: Straight | None = straight(system, unknowns) if beside and places else None
        self._motion = plan.fill(self._memory)
        self._times = plan.stage_times()[0] - plan.times[0], plan.times[1] - plan.times[0]
        self._begin = plan._begin(self._memory, self._motion)
        self._held = bool(self._memory.lever.size.size and (system.loop_rows or system.held_tendons))
        self._system: tuple[bytes, System] = b"", system
        self._near: list[Beside] = []
        self.subdivided = 0  # steps that had to be taken in parts
        q, v = self._memory.record.begin_q.copy(), self._memory.record.begin_v.copy()
        self.start = self.closed(State(float(plan.times[0]), q, v, plan.z.copy(), unknowns.start.copy()))

    # ------------------------------------------------------------ systems

    def system(self, w: Array) -> System:
        """The robot with these values of unknown parameters, with as many points along tendons as the first has."""
        if not self.unknowns.parameters:
            return self.base
        key = w[len(self.unknowns.inputs) :].tobytes()
        if self._system[0] != key:
            self._system = key, self.base._revised(self._values(w), near=True)
            self._near.clear()
        return self._system[1]

    def present(self, w: Array) -> System:
        """The robot with these values to compute with, until other values are asked for: its tables may then be written again."""
        if self._straight is None:
            return self.system(w)
        return self._straight.put(w[len(self.unknowns.inputs) :])

    def _values(self, w: Array) -> dict[str, float]:
        return dict(zip(self.unknowns.parameters, w[len(self.unknowns.inputs) :].tolist()))

    def near(self, w: Array) -> list[Beside]:
        """For each unknown parameter, robots in which it is a little different.

        None where the sensors do not depend on them (`places`) and tables are straight lines.
        """
        if self._straight is not None or not self.unknowns.parameters:
            return []
        system = self.system(w)
        if not self._near:
            self._near = [Beside(system, name) for name in self.unknowns.parameters]
        return self._near

    def inputs(self, u: Array, w: Array) -> Array:
        """All inputs (nu,), with the values of unknown ones."""
        if not len(self.unknowns.inputs):
            return u
        out = u.copy()
        out[self.unknowns.inputs] = w[: len(self.unknowns.inputs)]
        return out

    def moved(self, state: State, d: Array) -> State:
        """A state moved along d (n,)."""
        nv, nx = self.base.nv, self.nx
        q = self.base.integrate(state.q, d[:nv])
        return State(state.t, q, state.v + d[nv : 2 * nv], state.z + d[2 * nv : nx], state.w + d[nx:])

    def difference(self, a: State, b: State) -> Array:
        """The d (n,) for which `moved(a, d)` is b."""
        return np.concatenate([self.base.difference(a.q, b.q), b.v - a.v, b.z - a.z, b.w - a.w])

    def closed(self, state: State) -> State:
        """A state that obeys loops."""
        if not self.base.loop_rows:
            return state
        system, told = self.system(state.w), self._motion.told_at(state.t)
        q = close(system, state.q, told=told)[0]
        return state._replace(q=q, v=consistent_velocity(system, q, state.v, told))

    # ------------------------------------------------------------ steps

    def advance(self, state: State, u: Array, derive: bool = True) -> tuple[State, Array]:
        """The state after a step in which the inputs (nu,) are held, and its derivative F (n, n) by that before; F is empty unless asked for.

        A step that Newton's iteration does not get through is taken in parts, which `subdivided` counts.
        """
        found = self._try(state, u, self.h, derive)
        if found is None:  # perhaps since the accelerations that it started from are those of another place
            self._begin = replace(self._plan, times=self._memory.record.t.copy(), z=state.z)._begin(
                self._memory, self._motion
            )
            found = self._try(state, u, self.h, derive)
        if found is None:
            self.subdivided += 1
            found = self._in_parts(state, u, self.h, derive, PARTS)
        end, F = found
        return end._replace(t=state.t + self.h), F

    def _in_parts(self, state: State, u: Array, h: float, derive: bool, count: int) -> tuple[State, Array]:
        if count > FINEST:
            raise ArithmeticError(
                f"the step from t = {state.t:.6g} s with {self.h:.3g} s cannot be taken, not even in {FINEST} parts: the estimate has gone astray, or the step "
                "is far too long. Look at innovations and noise, or use a smaller step."
            )
        F = np.eye(self.size) if derive else np.zeros((0, 0))
        now = state
        for _ in range(PARTS):
            found = self._try(now, u, h / PARTS, derive)
            if found is None:
                found = self._in_parts(now, u, h / PARTS, derive, count * PARTS)
            now, part = found
            F = part @ F if derive else F
        return now, F

    def _try(self, state: State, u: Array, h: float, derive: bool) -> tuple[State, Array] | None:
        """One step, or None if it cannot be taken."""
        memory, system = self._memory, self.present(state.w)
        if memory.system is not system:
            memory.system, memory.space = system, system.workspace()
        record, p, nu = memory.record, memory.p, system.nu
        record.t[0], record.t[1] = state.t, state.t + h
        record.inputs[0, :, :nu] = self.inputs(u, state.w)
        record.inputs[0, :, nu:] = 0.0
        record.begin_q[:], record.begin_v[:], record.memory[0] = state.q, state.v, state.z
        if self._motion.active:
            stages, whole = self._times
            for row, share in zip(record.known[0], stages / whole):
                self._motion.write(state.t + h * share, row)
            self._motion.joints_at(state.t, record.begin_q, record.begin_v, np.zeros(system.nv))
        memory.tape.a[0] = self._begin.a
        if system.held_tendons:
            own = [system.input_names.index(name) for name in system.held_tendons]
            record.inputs[0, :, own] = self._begin.u[own, None]
        p[slots.MARCH_FRESH] = float(self._begin.fresh)
        p[slots.MARCH_STEPS], p[slots.MARCH_BUDGET] = 0.0, 1.0
        p[slots.MARCH_PAST] = 0.0  # a correction lies between this step and the last
        if abs(p[slots.MARCH_CONSTANT] - h) > 1e-6 * h:  # factors of the tangent are those of another step
            p[slots.MARCH_FACTORED] = 0.0
        given = self._begin.given._replace(memory=state.z) if system.nz else self._begin.given
        if memory.run(engine.ROLLOUT, given) != ARRIVED:
            p[slots.MARCH_FACTORED] = 0.0
            return None
        self._begin = after(memory) if self._held else self._begin._replace(a=record.a[0, -1].copy(), fresh=False)
        end = State(state.t + h, record.q[1].copy(), record.v[1].copy(), record.memory[1].copy(), state.w)
        return end, self._derivative(system, state) if derive else np.zeros((0, 0))

    def _derivative(self, system: System, state: State) -> Array:
        """F (n, n) of the step that was taken."""
        memory, lever, nv, nu, nx = self._memory, self._memory.lever, system.nv, system.nu, self.nx
        k = len(self.unknowns.inputs)
        if self._simple:
            memory.p[slots.MARCH_FIRST], memory.p[slots.MARCH_BUDGET] = 0.0, 1.0
            self._check(memory.run(engine.MAPS, AS_DESCRIBED), state.t)
            if not len(self.unknowns):
                return lever.maps[0, :, :nx].copy()
            F = np.zeros((self.size, self.size))
            F[:nx, :nx], F[:nx, nx : nx + k] = lever.maps[0, :, :nx], lever.maps[0][:, nx + self.unknowns.inputs]
            F[nx:, nx:] = np.eye(len(self.unknowns))
            if self._beside is not None:
                F[:nx, nx + k :] = self._by_parameters(self._beside, system, state)
            return F
        free = np.where(system.known, 0.0, 1.0)
        lever.dq[:] = lever.dv[:] = lever.dz[:] = lever.du[:] = lever.de[:] = lever.dkept[:] = 0.0
        lever.dclose[:] = lever.dmove[:] = 0.0
        for j in range(nv):
            lever.dq[j, j] = lever.dv[nv + j, j] = free[j]
        for j in range(system.nz):
            lever.dz[2 * nv + j, j] = 1.0
        lever.du[nx + np.arange(k), :, self.unknowns.inputs] = 1.0
        replays = [self._replayed(memory, near) for near in self.near(state.w)]
        memory.space.prepare(self._begin.given if self._held else Given())
        if self._held:
            for i, replay in enumerate(replays):
                lever.dclose[nx + k + i], lever.dmove[nx + k + i] = replay[2][0], replay[3][0]
            self._push(-1, state.t)
        for i, (r, e, gap, direct, kept) in enumerate(replays):
            at = nx + k + i
            lever.du[at, :, nu:] = -r[0]
            lever.de[at], lever.dkept[at] = e[0], kept[0]
            lever.dclose[at], lever.dmove[at] = gap[1], direct[1]
        self._push(0, state.t)
        F = np.zeros((self.size, self.size))
        F[:nv], F[nv : 2 * nv], F[2 * nv : nx] = lever.dq.T, lever.dv.T, lever.dz.T
        F[nx:, nx:] = np.eye(self.size - nx)
        return F

    def _by_parameters(self, memory: Memory, system: System, state: State) -> Array:
        """How the end of the step that was taken changes with the parameters (nx, count): what they do to its equations, and how the motion answers."""
        if memory.system is not system:
            memory.system, memory.space = system, system.workspace()
        memory.take(self._memory.record, 1)
        lever, nu = memory.lever, system.nu
        lever.dq[:] = lever.dv[:] = lever.dz[:] = lever.du[:] = lever.dkept[:] = 0.0
        if self._straight is None:
            for i, near in enumerate(self.near(state.w)):
                r, _e, _gap, _direct, kept = self._replayed(memory, near)
                lever.du[i, :, nu:], lever.dkept[i] = -r[0], kept[0]
        else:
            first = lever.r
            for i, size in enumerate(self._straight.beside(state.w[len(self.unknowns.inputs) :])):
                memory.run(engine.REPLAY, AS_DESCRIBED)
                if i:
                    lever.du[i - 1, :, nu:] = (first[0] - lever.r[0]) / size
                else:
                    first = lever.r.copy()
        memory.space.prepare(AS_DESCRIBED)
        memory.p[slots.MARCH_FIRST] = 0.0
        self._check(memory.run(engine.PUSH), state.t)
        return np.concatenate([lever.dq.T, lever.dv.T, lever.dz.T])

    def _push(self, k: int, t: float) -> None:
        self._memory.p[slots.MARCH_FIRST] = k
        self._check(self._memory.run(engine.PUSH), t)

    @staticmethod
    def _check(status: int, t: float) -> None:
        if status != CONVERGED:
            raise ArithmeticError(f"the step from t = {t:.6g} s has a singular tangent: there is no derivative.")

    @staticmethod
    def _replayed(memory: Memory, beside: Beside) -> list[Array]:
        """What a unit of a parameter does to the equations of the step before the motion answers."""
        lever = memory.lever
        fields = lever.r, lever.e, lever.close, lever.direct, lever.kept

        def all_of(other: System) -> Array:
            memory.run(engine.REPLAY, system=other)
            return np.concatenate([x.ravel() for x in fields])

        ends = np.cumsum([x.size for x in fields])[:-1]
        return [part.reshape(x.shape) for part, x in zip(np.split(beside.slope(all_of), ends), fields)]
