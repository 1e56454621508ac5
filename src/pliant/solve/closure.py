"""Closed loops for the solvers: closing them, consistent velocities and accelerations, redundant constraints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.loads.loops import ROW_KIND
from ..kernels.loads.rows import ANGLE, DISTANCE, LOG, ROW_CONSTANT, ROW_SLOPE, SWING, THREAD, TURN, TWIST
from ..model.loops import closing_rows
from ..system import System, needs_system
from ..system.dynamics import acceleration
from ..system.forces import closure, free_rows, independent

__all__ = [
    "close",
    "consistent_velocity",
    "constrained_acceleration",
    "held",
    "midway",
    "null_space",
    "overdriven",
    "redundant_constraints",
    "turning_left",
]

Array = NDArray[np.float64]


def _forces(system: System, G: Array, X: Array, b: Array) -> Array:
    """Forces λ with ``G X λ = b`` on the independent rows of G; redundant constraints get none."""
    force = np.zeros(len(G))
    k = independent(free_rows(system, G))
    force[k] = np.linalg.solve(G[k] @ X[:, k], b[k])
    return force


def redundant_constraints(system: System, q: Array) -> list[str]:
    """Names of the constraints of loop joints that follow from the others at q.

    Planar mechanisms always have some. They carry no force: of constraints that say the same, those that were described
    first do. A constraint counts as redundant if less than 1e-5 of its derivative is independent of the others'.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("two bars", gravity=(0, 0, 0))
    >>> bars = [
    ...     robot.add_body(
    ...         f"bar{k}", offset=(0, y, 0), joint=pl.Revolute("z"),
    ...         shape=pl.Box(0.4, 0.02, 0.02), mass=0.1, com=(0.2, 0, 0),
    ...     )
    ...     for k, y in enumerate((-0.1, 0.1))
    ... ]
    >>> ends = [bar.at((0.4, 0, 0)) for bar in bars]
    >>> loop = robot.add_loop("pin", *ends, joint=pl.Revolute("z"))
    >>> system = robot.compile()
    >>> angle = np.arcsin(0.1 / 0.4)
    >>> pl.redundant_constraints(system, np.array([angle, -angle]))  # it is planar anyway
    ['pin: position z', 'pin: tilt 1', 'pin: tilt 2']
    """
    needs_system("redundant_constraints", system)
    extra = ~independent(free_rows(system, system.closure(q)[1]))
    return [name for name, redundant in zip(system.loop_rows, extra) if redundant]


def overdriven(system: System) -> str:
    """A hint that names the prescribed motions, which leave fewer coordinates to close loops with."""
    names = ", ".join(map(repr, system.prescribed))
    return f" Prescribed motions ({names}) may over-constrain it." if names else ""


_MIDWAY = 1e-9  # rad, or parts of a groove: two ways that are equally far


def _angles(system: System) -> NDArray[np.bool_]:
    """Which constraints are angles."""
    return np.isin(system.loops.row[:, ROW_KIND], (ANGLE, LOG, SWING, TWIST, TURN))


def turning_left(system: System, values: Array) -> float:
    """The largest angle [rad] among the values of constraints."""
    angles = _angles(system)
    return float(np.abs(values[: len(angles)][angles]).max(initial=0.0))


def midway(system: System, values: Array) -> list[str]:
    """What was chosen where loops could be closed in two ways that are equally far: by either half of a turn, at either of two grooves."""
    kinds, data = system.loops.row[:, ROW_KIND], system.loops.data
    e = np.abs(values[: len(kinds)])
    half = _angles(system) & (e > 1.8)  # of three components one is larger
    half |= (kinds == THREAD) & (e > (1 - _MIDWAY) * np.pi * np.abs(data[:, ROW_SLOPE]))
    half |= (kinds == DISTANCE) & (np.abs(values[: len(kinds)] + data[:, ROW_CONSTANT]) < _MIDWAY)
    return _chosen(system, values) if np.any(half) else []


def _chosen(system: System, values: Array) -> list[str]:
    """The same, constraint by constraint."""
    out = []
    vectors: dict[tuple[str, str], Array] = {}  # what is left of rotations and of swings, by loop and kind
    for e, (name, (kind, data, _what), motion) in zip(values, closing_rows(system.robot)):
        if kind == "log":
            vectors[name, kind] = vectors.get((name, kind), 0.0) + e * data[6:9]
        elif kind == "swing":
            vectors[name, kind] = vectors.get((name, kind), 0.0) + e * np.cross(data[9:12], data[3:6])
        elif kind == "thread" and abs(e) > (1 - _MIDWAY) * np.pi * abs(data[16]) > 0.0:
            out.append(f"{name!r} started midway between two grooves; it went {-e:+.3g} m to one of them")
        elif kind == "distance" and abs(e + data[15]) < _MIDWAY:
            out.append(f"the points of {name!r} started at one place; they went apart along x of its first frame")
        elif motion is not None and kind in ("turn", "twist") and abs(abs(e) - np.pi) < _MIDWAY:
            out.append(
                f"{motion!r} started half a turn from where it is told to be; it turned by {-e:+.4g} rad, not the other way"
            )
    for (name, _kind), vector in vectors.items():
        size = float(np.linalg.norm(vector))
        if abs(size - np.pi) < _MIDWAY:
            axis = ", ".join(f"{x + 0.0:.3g}" for x in (-vector / size).round(9))
            out.append(
                f"{name!r} was open by half a turn; it was closed by turning about ({axis}) of its first frame, not the other way"
            )
    return out


def close(system: System, q: Array, *, told: Array | None = None, iterations: int = 100) -> tuple[Array, float]:
    """Move q by the least scaled amount until all loops are closed; returns it and the largest remaining gap."""
    weight = np.where(system.known, 0.0, system.internal.scale**2)
    values, G, _rates = closure(system, q, None, told)
    gap = float(np.abs(values).max(initial=0.0))
    for _ in range(iterations):
        if gap < 1e-14:
            break
        X = weight[:, None] * G.T
        step = -X @ _forces(system, G, X, values)
        size = float(np.abs(step / system.internal.scale).max())
        step *= min(1.0, 0.5 / max(size, 1e-300))
        for _half in range(12):
            trial = system.integrate(q, step)
            values, G, _rates = closure(system, trial, None, told)
            new = float(np.abs(values).max())
            if new < gap or gap < 1e-12:
                break
            step *= 0.5
        if new >= gap:
            break
        q, gap = trial, new
    return q, gap


def held(system: System, q: Array) -> Array | None:
    """What rows of loop joints follow (rows, 3), if prescribed ones stay as they are at q; None if there are none."""
    rows = [k for own in system.told_rows.values() for k in own]
    if not rows:
        return None
    told = np.zeros((len(system.loop_rows), 3))
    told[rows, 0] = system.closure(q)[0][rows]
    return told


def consistent_velocity(system: System, q: Array, v: Array, told: Array | None = None) -> Array:
    """The velocity nearest to v, in kinetic energy, that keeps all loops closed."""
    _values, G, rates = closure(system, q, v, told)
    free = ~system.known
    X = np.zeros_like(G.T)
    mass = system.mass_matrix(q)[np.ix_(free, free)]
    X[free] = np.linalg.solve(mass, G.T[free])
    return v - X @ _forces(system, G, X, rates[:, 0])


def constrained_acceleration(
    system: System,
    q: Array,
    v: Array,
    u: Array,
    tau: Array,
    prescribed: Array,
    stabilisation: float = 0.0,
    told: Array | None = None,
    memory: Array | None = None,
) -> tuple[Array, Array]:
    """Acceleration and multipliers of the index-1 form, see `System.constrained_dynamics`; `told` (rows, 3) is what rows follow."""
    found = acceleration(system, q, v, tau, u, prescribed, "auto", stabilisation, told, memory)
    return found.a, found.multipliers


def null_space(G: Array) -> Array:
    """Orthonormal directions (n, k) that the rows of G (m, n), in scaled coordinates, leave free."""
    if not G.size:  # no rows, or all coordinates prescribed
        return np.eye(G.shape[1])
    rows = G[independent(G)]
    return np.asarray(np.linalg.qr(rows.T, mode="complete")[0][:, len(rows) :])
