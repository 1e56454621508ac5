"""Inverse dynamics of a robot with actuators: the inputs that make a motion happen, also if loops close it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.validate import positive, unknown_name
from ..solve.closure import null_space
from ..system import Given, Inputs, System, needs_system
from ..system.arguments import checked_rows
from ..system.dynamics import residual
from ..system.forces import actuation_matrix, closure, free_rows, independent
from ..system.laws import refuse_memory
from .least_norm import least_norm

__all__ = ["Actuation", "solve_inputs"]

Array = NDArray[np.float64]
_ITERATIONS = 30  # where inputs do not act linearly
_ROUNDING = 1e-13  # a relative residual below this is zero
_RATES = (
    0.05  # by how much v and a may break loops, relative to their parts: those of a run do by the error of its steps
)


@dataclass(frozen=True)
class Actuation:
    """Result of `solve_inputs`; for m states each array has a first axis of length m.

    Attributes
    ----------
    u : ndarray (nu,)
        All inputs, found and given ones.
    multipliers : ndarray (rows,)
        Forces of loop joints, as of `Equilibrium.multipliers`: redundant rows carry none.
    prescribed_forces : dict of ndarray (dof,)
        Generalised forces that drive prescribed joints, by the name of their motion [N m, N].
    missing : ndarray (nv,)
        Generalised forces that the motion needs beyond these, for `tau`; zero where the inputs suffice.
    residual : float or ndarray (m,)
        Largest missing force relative to the largest force of any kind, both scaled.
    success : bool
        Whether the inputs make the motion happen (in all states).
    message : str
        What was found; if it failed, what is missing, and where.
    """

    u: Array
    multipliers: Array
    prescribed_forces: dict[str, Array]
    missing: Array
    residual: float | Array
    success: bool
    message: str

    def __str__(self) -> str:
        """One line."""
        return f"{'inputs found' if self.success else 'NOT possible'}: {self.message}"


@dataclass(frozen=True)
class _State:
    """One state of a motion, and the equations for its inputs: ``missing = Nᵀ S (r(u) − Gᵀλ)`` in the free directions N."""

    system: System
    q: Array
    v: Array
    a: Array
    tau: Array
    G: Array  # (rows, nv)
    loops: Array  # (rows, 3) how far e, ė and ë are from zero
    parts: Array  # (rows, 3) what they are to be compared with
    scale: Array  # (nv,) zero for prescribed coordinates
    free: Array  # (nv, k) orthonormal directions that loops and prescribed motions leave, in scaled coordinates

    @classmethod
    def of(cls, system: System, q: Array, v: Array, a: Array, tau: Array) -> _State:
        values, G, rates = closure(system, q, v)
        scale = np.where(system.known, 0.0, system.internal.scale)
        own = ~system.known
        N = null_space(free_rows(system, G)[:, own])
        free = np.zeros((system.nv, N.shape[1]))
        free[own] = N
        loops = np.column_stack([values, rates[:, 0], G @ a + rates[:, 1]])
        loops[[k for rows in system.told_rows.values() for k in rows]] = 0.0  # they follow whatever is prescribed
        size = np.abs(G)
        parts = np.column_stack([np.ones(len(G)), size @ np.abs(v), size @ np.abs(a) + np.abs(rates[:, 1])])
        return cls(system, q, v, a, tau, G, loops, parts, scale, free)

    def residual(self, u: Array, multipliers: Array | None = None) -> Array:
        return residual(self.system, self.q, self.v, self.a, u, self.tau, Given(multipliers))

    def multipliers(self, r: Array) -> Array:
        """Forces λ of the independent rows that carry what the inputs leave, ``Gᵀλ = r``."""
        found = np.zeros(len(self.G))
        rows = free_rows(self.system, self.G)
        k = independent(rows)
        if np.any(k):
            found[k] = np.linalg.lstsq(rows[k].T, self.scale * r, rcond=None)[0]
        return found

    def force(self, r: Array, B: Array, u: Array) -> float:
        """Largest scaled force of any kind."""
        system = self.system
        parts = [system.inverse_dynamics(self.q, self.v, self.a), system.elastic_forces(self.q)]
        parts += [system.damping_matrix() @ self.v, self.tau, r, r - sum(parts), *(B * u).T]
        return float(np.abs(self.scale * np.array(parts)).max(initial=0.0))


def solve_inputs(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    inputs: Sequence[str] | None = None,
    u: Inputs = None,
    tau: ArrayLike | None = None,
    weights: Mapping[str, float] | None = None,
    tolerance: float = 1e-6,
) -> Actuation:
    """The inputs that make a motion happen, and the forces of loops and prescribed joints with them.

    Parameters
    ----------
    system : System
    q, v, a : array (nq,), (nv,), (nv,), or (m, …)
        Coordinates, velocities and accelerations, which obey the loops; one state, or rows such as those of a `Result`. At
        rest without v and a. Where a is a little off the loops, the inputs make the nearest happen that is not, in kinetic energy.
    inputs : list of str, optional
        Names of the inputs to find; all if left out.
    u : dict, array (nu,) or (m, nu), or None
        Values of the other inputs. Where inputs do not act linearly (elastic tendons, limited servos, user loads), those to
        find start from here.
    tau : array (nv,), optional
        Further generalised forces that act.
    weights : dict, optional
        Weights w by name, 1 for those left out: of all inputs that do it, those with the least Σ(w u)² are found. Inputs of different
        units should have some.
    tolerance : float
        Largest `Actuation.residual` of a success, and largest gap of loops [m, rad]. Motions from a run or a measurement may need
        more: what no input drives has forces of the size of their errors.

    Returns
    -------
    Actuation
        Bounds of the inputs (`System.input_bounds`: tendons only pull) are obeyed. If no inputs within them give the motion, those
        that miss it by the least scaled force.

    Notes
    -----
    With directions N that loops and prescribed joints leave free, ``Nᵀ(r₀ − B u) = 0`` is solved for u; the multipliers of the
    independent rows of G follow from ``Gᵀλ = r₀ − B u`` (Nakamura and Ghodoussi, IEEE Trans. Robotics and Automation 5, 1989).

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("five bars")
    >>> def bar(name, parent=None, **options):
    ...     return robot.add_body(
    ...         name, parent=parent, joint=pl.Revolute("y"), shape=pl.Box(0.3, 0.02, 0.02), mass=0.2,
    ...         com=(0.15, 0, 0), **options,
    ...     )
    >>> left, right = bar("left", offset=(-0.1, 0, 0)), bar("right", offset=(0.1, 0, 0))
    >>> ends = [bar(f"{b.name} rod", b.at((0.3, 0, 0))).at((0.3, 0, 0)) for b in (left, right)]
    >>> pin = robot.add_loop("pin", *ends, joint=pl.Revolute("y"))
    >>> motors = [robot.add_motor(f"{b.name} motor", b) for b in (left, right)]
    >>> system = robot.compile()
    >>> hanging = pl.solve_statics(system, start=[2.0, 1.0, -1.2, 1.2])
    >>> found = pl.solve_inputs(system, hanging.q, a=np.zeros(4))
    >>> print(found.success, bool(abs(found.u).max() < 1e-6))  # it hangs by itself
    True True
    """
    needs_system("solve_inputs", system)
    refuse_memory(system, "solve_inputs")
    positive("tolerance", tolerance)
    chosen = _chosen(system, inputs)
    weight = _weights(system, weights)
    states = checked_rows("q", q, system.nq, system.name)
    m = len(states)
    V, A, T = (
        np.zeros((m, system.nv)) if x is None else _rows(system, name, x, m)
        for name, x in (("v", v), ("a", a), ("tau", tau))
    )
    if isinstance(u, (list, tuple, np.ndarray)) and np.ndim(u) == 2:
        U = [system.inputs(row) for row in checked_rows("u", u, system.nu, system.name, m)]
    else:
        U = [system.inputs(u)] * m
    found = []
    for k in range(m):
        state = _State.of(system, states[k], V[k], A[k], T[k])
        found.append(_report(state, *_solve(state, U[k].copy(), chosen, weight), chosen, tolerance))
    return found[0] if np.ndim(q) == 1 else _together(found)


def _rows(system: System, name: str, value: ArrayLike, m: int) -> Array:
    """Velocity-like rows (m, nv), also from one for all states."""
    if np.ndim(value) == 1:
        return np.tile(system.check_v(name, value), (m, 1))
    return checked_rows(name, value, system.nv, system.name, m)


def _chosen(system: System, inputs: Sequence[str] | None) -> NDArray[np.intp]:
    names = list(system.input_names)
    wanted = names if inputs is None else [inputs] if isinstance(inputs, str) else list(inputs)
    for name in wanted:
        if name not in names:
            raise unknown_name("input", str(name), names)
    return np.array([k for k, name in enumerate(names) if name in wanted], dtype=np.intp)


def _weights(system: System, weights: Mapping[str, float] | None) -> Array:
    out = np.ones(system.nu)
    for name, value in (weights or {}).items():
        if name not in system.input_names:
            raise unknown_name("input", str(name), system.input_names)
        out[system.input_names.index(name)] = positive(f"weights[{name!r}]", value)
    return out


def _solve(state: _State, u: Array, chosen: NDArray[np.intp], weight: Array) -> tuple[Array, Array, float]:
    """The inputs, the residual without loops, and the largest force; Newton's method, one step where inputs act linearly."""
    lower, upper = (bound[chosen] for bound in state.system.input_bounds)
    w = weight[chosen]
    best: tuple[float, Array, Array, float] | None = None
    for _ in range(_ITERATIONS):
        r = state.residual(u)
        B = actuation_matrix(state.system, state.q, state.v, u)
        gap = float(np.abs(state.free.T @ (state.scale * r)).max(initial=0.0))
        size = state.force(r, B, u)
        if best is not None and gap >= 0.5 * best[0]:
            if gap < best[0]:
                best = gap, u, r, size
            break
        first = best is None
        best = gap, u, r, size
        if gap <= _ROUNDING * size and not first:
            break
        A = state.free.T @ (state.scale[:, None] * B[:, chosen])
        target = state.free.T @ (state.scale * r) + A @ u[chosen]
        u = u.copy()
        u[chosen] = least_norm(A / w, target, lower * w, upper * w) / w
    assert best is not None
    return best[1], best[2], best[3]


def _report(state: _State, u: Array, r: Array, size: float, chosen: NDArray[np.intp], tolerance: float) -> Actuation:
    """The answer for one state, with what is wrong."""
    system = state.system
    multipliers = state.multipliers(r)
    rest = state.residual(u, multipliers)
    scaled = state.scale * rest
    relative = float(np.abs(scaled).max(initial=0.0)) / size if size > 0.0 else 0.0
    broken = _broken(state, tolerance)
    message = f"{len(chosen)} inputs, residual {relative:.1e}"
    if broken:
        message = f"the motion breaks the loops: {broken}; make q, v and a obey System.closure and closure_rates"
    elif not relative <= tolerance:
        k = int(np.argmax(np.abs(scaled)))
        message = (
            f"{system.dof_names[k]!r} lacks {abs(rest[k]):.3g} {system.force_units[k]} (relative residual {relative:.1e})"
            + _at_bounds(system, u, chosen)
        )
    forces = {name: rest[place].copy() for name, (_q, place, _kind) in system.prescribed.items()}
    missing = np.where(system.known, 0.0, rest)
    success = not broken and relative <= tolerance
    return Actuation(u, multipliers, forces, missing, relative, success, message)


def _at_bounds(system: System, u: Array, chosen: NDArray[np.intp]) -> str:
    """Which inputs their bounds stop."""
    lower, upper = system.input_bounds
    names = [system.input_names[k] for k in chosen if u[k] <= lower[k] or u[k] >= upper[k]]
    return f"; at their bounds: {', '.join(map(repr, names))}" if names else "; nothing drives it, or too few inputs do"


def _broken(state: _State, tolerance: float) -> str:
    """The loop row that the motion breaks most, in words; "" if it keeps all."""
    limits = ("", tolerance, ""), ("the rate of ", _RATES, "/s"), ("the acceleration of ", _RATES, "/s²")
    for k, (what, limit, per) in enumerate(limits):
        error = np.abs(state.loops[:, k]) - limit * state.parts[:, k]
        if np.any(error > 1e-9):
            row = int(np.argmax(error))
            unit = ("m" if state.system.multiplier_units[row] == "N" else "rad") + per
            return f"{what}{state.system.loop_rows[row]!r} is {state.loops[row, k]:.3g} {unit}"
    return ""


def _together(found: Sequence[Actuation]) -> Actuation:
    """The answers for many states as one."""
    failed = [k for k, one in enumerate(found) if not one.success]
    relative = np.array([one.residual for one in found])
    message = f"{len(found)} states, largest residual {relative.max(initial=0.0):.1e}"
    if failed:
        worst = max(failed, key=lambda k: relative[k])
        message = f"{len(failed)} of {len(found)} states fail, the worst is number {worst}: {found[worst].message}"
    names = found[0].prescribed_forces if found else {}
    return Actuation(
        np.array([one.u for one in found]),
        np.array([one.multipliers for one in found]),
        {name: np.array([one.prescribed_forces[name] for one in found]) for name in names},
        np.array([one.missing for one in found]),
        relative,
        not failed,
        message,
    )
