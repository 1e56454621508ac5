"""The dynamics as an ordinary differential equation for general-purpose integrators.

``y = (q, v)`` with q in the ambient coordinates (a quaternion for each manifold joint):
``q̇ = N(q) v``, ``v̇ = FD(q, v)``; the Jacobian is exact.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...system import Algorithm, LinearSolver, System
from ...system.dynamics import acceleration, acceleration_derivatives
from ..crawl import Clock
from ..drive import Drive
from ..motion import MotionSet
from .integrator import Integrator, Problem, frequencies, refuse_control, refuse_memory

__all__ = ["ODE_METHODS", "ChartedODE", "CvodeSolver", "OdeIntegrator", "ode_solver"]

Array = NDArray[np.float64]
ALGORITHMS: dict[str, Algorithm] = {"auto": "auto", "dense": "composite", "tree": "articulated"}
# names in scipy.integrate, which is imported when one of them is used, since that takes a while; CVODE is dressed up below
ODE_METHODS = {"bdf": "BDF", "radau": "Radau", "lsoda": "LSODA", "rk45": "RK45", "dop853": "DOP853", "cvode": None}


class ChartedODE:
    """Right-hand side and Jacobian in ambient coordinates."""

    def __init__(
        self,
        system: System,
        drive: Drive,
        motion: MotionSet,
        baumgarte: float = 0.0,
        solver: LinearSolver = "auto",
        clock: Clock | None = None,
    ) -> None:
        if motion.tendons:
            raise ValueError(
                "tendons with control='length' need an implicit method of pliant, which solves for their tensions; leave "
                "`method` out."
            )
        self.system, self.drive, self.motion, self.baumgarte = system, drive, motion, baumgarte
        self.clock = Clock() if clock is None else clock
        self.multipliers = np.zeros(len(system.loop_rows))
        self._algorithm: Algorithm = ALGORITHMS[solver]
        c = system.internal
        self._q_of, self._v_of = c.shift[:, 0], c.shift[:, 1]

    def split(self, t: float, y: Array) -> tuple[Array, Array]:
        """q (quaternions normalised) and v."""
        q, v, _known = self._state(t, y)
        for joint in self.system.manifold_joints:
            joint.group.normalise(q[joint.q])
        return q, v

    def _state(self, t: float, y: Array) -> tuple[Array, Array, Array]:
        """q and v with prescribed coordinates as they are told, and the accelerations of these."""
        q, v = y[: self.system.nq].copy(), y[self.system.nq :].copy()
        known = np.zeros(self.system.nv)
        self.motion.joints_at(t, q, v, known)
        return q, v, known

    def rhs(self, t: float, y: Array) -> Array:
        """ẏ."""
        self.clock.check()
        q, v, known = self._state(t, y)
        u, tau = self.applied = self.drive(t, q, v)
        out = np.empty_like(y)
        out[self._q_of] = v[self._v_of]
        for joint in self.system.manifold_joints:
            out[joint.q] = joint.group.rates(q[joint.q]) @ v[joint.v]
        told = self.motion.told_at(t)
        a, self.multipliers = acceleration(self.system, q, v, tau, u, known, self._algorithm, self.baumgarte, told)
        out[self.system.nq :] = a
        return out

    def jacobian(self, t: float, y: Array) -> Array:
        """∂ẏ/∂y, exact for inputs that do not depend on the state."""
        nq, nv = self.system.nq, self.system.nv
        q, v, known = self._state(t, y)
        u, tau = self.drive(t, q, v)
        told = self.motion.told_at(t)
        d = acceleration_derivatives(self.system, q, v, tau, u, known, self.baumgarte, told)
        J = np.zeros((nq + nv, nq + nv))
        chart = np.zeros((nv, nq))  # body perturbation δ per ambient dq
        J[self._q_of, nq + self._v_of] = 1.0
        chart[self._v_of, self._q_of] = 1.0
        for joint in self.system.manifold_joints:
            group, part = joint.group, q[joint.q]
            J[joint.q, nq + joint.v.start : nq + joint.v.stop] = group.rates(part)
            J[joint.q, joint.q] = group.rates_derivative(part, v[joint.v])
            chart[joint.v, joint.q] = group.chart(part)
        J[nq:, :nq] = d.dq @ chart
        J[nq:, nq:] = d.dv
        told = np.concatenate([self.motion.coordinates, self.system.known])
        J[told] = 0.0
        J[:, told] = 0.0
        return J


def velocity_floor(problem: Problem) -> Array:
    """Factor (nv,) on the tolerance of velocities: what vibrations of a tenth of the tolerated size have, up to a frequency of 1 kHz."""
    u, tau = problem.drive(problem.t, problem.q, problem.v)
    found = frequencies(problem.system, problem.q, u, tau)
    return np.maximum(1.0, 0.1 * np.minimum(found, 1e3)) if found.max() < 1e30 else np.ones(problem.system.nv)


def ode_solver(ode: ChartedODE, method: str, problem: Problem) -> Any:
    """A SciPy solver object, or SUNDIALS' CVODE dressed as one."""
    system, t, end, steps = problem.system, problem.t, problem.end, problem.steps
    y = np.concatenate([problem.q, problem.v])
    scale = np.ones(len(y))
    scale[ode._q_of] = system.internal.scale[ode._v_of]
    scale[system.nq :] = system.internal.scale * velocity_floor(problem)
    arguments: dict[str, Any] = {"rtol": problem.rtol, "atol": problem.atol * scale}
    if steps.largest is not None:
        arguments["max_step"] = steps.largest
    if steps.first is not None:
        arguments["first_step"] = min(steps.first, end - t)
    if method == "cvode":
        return CvodeSolver(ode, t, y, end, arguments)
    if method in ("bdf", "radau", "lsoda"):
        arguments["jac"] = ode.jacobian
    solver: Any = getattr(import_module("scipy.integrate"), ODE_METHODS[method] or "")
    return solver(ode.rhs, t, y, end, **arguments)


class CvodeSolver:
    """SUNDIALS' variable-order BDF (package scikit-sundae) with the part of SciPy's solver interface that is used here."""

    def __init__(self, ode: ChartedODE, t: float, y: Array, end: float, options: dict[str, Any]) -> None:
        try:
            from sksundae.cvode import CVODE
        except ImportError:
            raise ImportError("method='cvode' needs scikit-sundae: pip install 'pliant[sundials]'") from None
        self._ode, self.t_bound = ode, end
        self.nfev = self.nlu = 0
        self.status = "running"
        self._solver = CVODE(self._rhs, jacfn=self._jacobian, method="BDF", max_num_steps=100000, **options)
        self._solver.init_step(t, y)
        self.t, self.y = t, y.copy()
        self.t_old, self._y_old = t, y.copy()

    def _rhs(self, t: float, y: Array, yp: Array) -> None:
        self.nfev += 1
        yp[:] = self._ode.rhs(t, y)

    def _jacobian(self, t: float, y: Array, yp: Array, J: Array) -> None:
        self.nlu += 1
        J[:, :] = self._ode.jacobian(t, y)

    def step(self) -> str | None:
        """One internal step, cut at the end of the run."""
        self.t_old, self._y_old = self.t, self.y
        result = self._solver.step(self.t_bound, method="onestep", tstop=self.t_bound)
        if not result.success:
            self.status = "failed"
            return str(result.message)
        self.t, self.y = float(result.t), np.array(result.y, dtype=np.float64).ravel()
        if self.t >= self.t_bound:
            self.status = "finished"
        return None

    def dense_output(self) -> Any:
        """Cubic Hermite interpolation in the ambient coordinates."""
        t0, t1, y0, y1 = self.t_old, self.t, self._y_old, self.y
        h = t1 - t0
        m0, m1 = h * self._ode.rhs(t0, y0), h * self._ode.rhs(t1, y1)

        def at(t: float) -> Array:
            s = (t - t0) / h
            return (
                (2 * s**3 - 3 * s**2 + 1) * y0
                + (s**3 - 2 * s**2 + s) * m0
                + (3 * s**2 - 2 * s**3) * y1
                + (s**3 - s**2) * m1
            )

        return at


class OdeIntegrator(Integrator):
    """SciPy's (or SUNDIALS') integrators on the first-order form, with the exact Jacobian where one is used."""

    def __init__(self, problem: Problem, method: str) -> None:
        self.name = method
        self.system = system = problem.system
        refuse_memory(system, method)
        refuse_control(problem.drive, method)
        t, q, v = problem.t, problem.q, problem.v
        self.statistics = problem.statistics
        self.tensions = {}
        self._ode = ChartedODE(system, problem.drive, problem.motion, problem.baumgarte, problem.solver, problem.clock)
        self._solver = ode_solver(self._ode, method, problem)
        self.t, self.q, self.v = t, q.copy(), v.copy()
        self.a = self._ode.rhs(t, self._solver.y)[system.nq :]
        self.applied = self._ode.applied
        self.multipliers = self._ode.multipliers.copy()
        self._dense: Any = None
        self._before = self.row()

    def advance(self, end: float) -> str | None:
        """One step of the integrator's own choice."""
        before = self.row()
        message = self._solver.step()
        if self._solver.status != "failed":
            acceleration = self._ode.rhs(float(self._solver.t), self._solver.y)[self.system.nq :]
            multipliers = self._ode.multipliers.copy()  # the dense output evaluates other states
            self.applied = self._ode.applied
        self.statistics.residuals = int(self._solver.nfev)
        self.statistics.factorisations = int(self._solver.nlu)
        if self._solver.status == "failed":
            return f"{message or 'the integrator failed'} at t = {self.t:.6g} s; try the default method"
        self._dense = self._solver.dense_output()
        self._before = before
        self.t = float(self._solver.t)
        self.q, self.v = self._ode.split(self.t, self._solver.y)
        self.a = acceleration
        self.multipliers = multipliers
        self.statistics.steps += 1
        return None

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """The integrator's own dense output; accelerations linearly between those of the ends."""
        rows = [self._ode.split(t, self._dense(t)) for t in times.tolist()]
        t, a = self.taken.t, self.taken.a
        share = ((times - t[0]) / (t[1] - t[0]))[:, None]
        q, v = (np.array(part) for part in zip(*rows))
        return q, v, (1.0 - share) * a[0] + share * a[1]
