"""Linearisation about a state, vibration modes about an equilibrium, and static sensitivities."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels.layout import STATIC
from ..model.joints.constraints import RATES
from ..model.loops import closing_rows
from ..model.validate import choice
from ..solve.balance import measure
from ..solve.equilibrium import Equilibrium
from ..solve.history import holding
from ..solve.remembered import touching
from ..solve.stability import free_directions, name_directions, neutral_directions, symmetric
from ..system import AS_DESCRIBED, FrameLike, Given, Inputs, Reference, System, needs_system
from ..system.dynamics import acceleration, acceleration_derivatives, arguments, residual_tangent
from ..system.forces import free_rows, independent, static_actuation
from ..system.laws import refuse_memory
from ..system.many import slopes_many
from .matrices import joint_brackets

__all__ = ["Linearization", "MinimalLinearization", "Modes", "input_slopes", "linearize", "modes", "static_jacobian"]

Array = NDArray[np.float64]
_REST = 1e-6  # relative residual, and gap of loops [m, rad], up to which a robot is at rest


@dataclass(frozen=True)
class MinimalLinearization:
    """``ż = A z + B δu`` for the motions that loops and prescribed joints leave, ``(δq, δv) = basis z``.

    Attributes
    ----------
    A : ndarray (n, n)
    B : ndarray (n, nu)
    basis : ndarray (2 nv, n)
        Its first half of columns moves coordinates, the others velocities; in scaled coordinates they are orthonormal.
    """

    A: Array
    B: Array
    basis: Array
    _scale: Array

    def coordinates(self, deviation: ArrayLike) -> Array:
        """z (n,) of a deviation (δq, δv) (2 nv,), by least squares in scaled coordinates.

        A feedback ``u = −K z`` is ``K @ linear.coordinates(...)`` of ``np.concatenate([system.difference(q0, q), v])``.
        """
        return np.asarray((self.basis / self._scale[:, None]).T @ (np.asarray(deviation, dtype=float) / self._scale))


@dataclass(frozen=True)
class Linearization:
    """``d/dt (δq, δv) = A (δq, δv) + B δu`` with δq in velocity coordinates (nv,).

    Attributes
    ----------
    A : ndarray (2 nv, 2 nv)
    B : ndarray (2 nv, nu)
    a : ndarray (nv,)
        Acceleration at the point of linearisation (zero at an equilibrium).
    multipliers : ndarray (rows,)
        Forces of loop joints there.
    """

    A: Array
    B: Array
    a: Array
    multipliers: Array
    system: System = field(repr=False)
    _q: Array = field(repr=False)
    _v: Array = field(repr=False)

    def minimal(self) -> MinimalLinearization:
        """The same in as few coordinates as loops and prescribed joints leave, at rest; controllable models for an LQR.

        Non-holonomic rows (`Rolling`, `Skate`) restrict velocities but not coordinates.

        Examples
        --------
        >>> import pliant as pl
        >>> robot = pl.Robot("parallelogram")
        >>> bar = dict(joint=pl.Revolute("y"), shape=pl.Box(0.3, 0.02, 0.02), mass=0.2, com=(0.15, 0, 0))
        >>> left = robot.add_body("left", **bar)
        >>> right = robot.add_body("right", offset=(0.3, 0, 0), **bar)
        >>> low = robot.add_body("low", parent=left.at((0.3, 0, 0)), **bar)
        >>> pin = robot.add_loop("pin", low.at((0.3, 0, 0)), right.at((0.3, 0, 0)), joint=pl.Revolute("y"))
        >>> motor = robot.add_motor("motor", left)
        >>> system = robot.compile()
        >>> rest = pl.solve_statics(system, start=[1.5, 1.5, -1.5])  # it hangs
        >>> linear = pl.linearize(system, rest).minimal()
        >>> linear.A.shape, linear.B.shape, linear.basis.shape
        ((2, 2), (2, 1), (6, 2))
        """
        system, q = self.system, self._q
        if np.any(self._v) or np.abs(self.a).max(initial=0.0) > _REST * max(1.0, np.abs(self.A).max()):
            raise ValueError(
                "minimal coordinates are for a robot at rest: elsewhere the directions that loops leave turn with the motion. Linearise "
                "about an Equilibrium, or use A and B as they are."
            )
        scale = system.internal.scale
        G = system.closure(q)[1]
        lasting = np.array(
            [kind not in RATES for _name, (kind, _data, _what), _motion in closing_rows(system.robot)], dtype=bool
        )
        moves, rates = (free_directions(system, rows) for rows in (G[lasting], G))
        n, m = system.nv, moves.shape[1]
        basis = np.zeros((2 * n, m + rates.shape[1]))
        basis[:n, :m], basis[n:, m:] = moves, rates
        twice = np.concatenate([scale, scale])
        left = (basis / twice[:, None]).T / twice
        return MinimalLinearization(left @ self.A @ basis, left @ self.B, basis, twice)


@dataclass(frozen=True)
class Modes:
    """Vibration about an equilibrium.

    Attributes
    ----------
    frequencies : ndarray (n,)
        Undamped frequencies [Hz], increasing; negative for a mode that diverges (growth rate / 2π). Rigid motions have zero.
        The two modes of a flutter have the same.
    shapes : ndarray (nv, n)
        Mode shapes in velocity coordinates, normalised to unit modal mass. Those of a flutter are the real and the imaginary
        part of its complex shape.
    eigenvalues : ndarray (2 nv,), complex
        Eigenvalues of the damped system [1/s], by increasing magnitude.
    damping_ratios : ndarray (n,)
        Modal damping ratios from the diagonal of the modal damping matrix. Of the two modes of a flutter the first grows:
        its ratio is negative.
    """

    frequencies: Array
    shapes: Array
    eigenvalues: NDArray[np.complex128]
    damping_ratios: Array


def _state(
    system: System, state: Equilibrium | ArrayLike, v: ArrayLike | None, u: Inputs, tau: ArrayLike | None
) -> tuple[Array, Array, Array, Array]:
    """Coordinates, velocities, inputs and further forces."""
    needs_system("this analysis", system)
    if isinstance(state, Equilibrium):
        q = state.q
        inputs = state.u if u is None else system.inputs(u)
        forces = state.tau if tau is None else system.check_v("tau", tau)
    else:
        q = system.check_q(state)
        inputs = system.inputs(u)
        forces = np.zeros(system.nv) if tau is None else system.check_v("tau", tau)
    return q, np.zeros(system.nv) if v is None else system.check_v("v", v), inputs, forces


def at_rest(
    system: System, state: Equilibrium | ArrayLike, u: Inputs, tau: ArrayLike | None
) -> tuple[Array, Array, Array, Given]:
    """Coordinates, inputs, further forces and what acts with the forces of loops, about which a robot is at rest."""
    q, v, inputs, forces = _state(system, state, None, u, tau)
    memory = _memory(system, state)
    given = AS_DESCRIBED if memory is None else Given(memory=memory)
    if not system.loop_rows:
        return q, inputs, forces, given
    if isinstance(state, Equilibrium):
        multipliers = state.multipliers
    else:
        multipliers = acceleration(system, q, v, forces, inputs, None, "auto").multipliers
    given = given._replace(multipliers=multipliers)
    _require_rest(system, q, inputs, forces, _as_solved(system, state, q, given))
    return q, inputs, forces, given


def _memory(system: System, state: Equilibrium | ArrayLike) -> Array | None:
    """Internal variables (nz,) of an equilibrium; None if nothing is remembered."""
    known = state.memory if isinstance(state, Equilibrium) else np.zeros(0)
    return known if system.nz and len(known) == system.nz and np.any(known) else None


def _as_solved(system: System, state: Equilibrium | ArrayLike, q: Array, given: Given) -> Given:
    """What acts with what loads remember, as statics found an equilibrium; where that is not known, as it holds now."""
    if _is_solved(system, state):
        assert isinstance(state, Equilibrium)
        return given._replace(memory=state.before, lag=STATIC, since=state.since)
    return holding(given, q)


def _is_solved(system: System, state: Equilibrium | ArrayLike) -> bool:
    """Whether the start is known from which statics found an equilibrium, and what loads remembered there."""
    return isinstance(state, Equilibrium) and 0 < system.nz == len(state.before)


def strained(system: System, state: Equilibrium | ArrayLike, q: Array, u: Array, given: Given) -> Given:
    """What acts at rest also with what loads remember: from where friction that sticks is strained. Error if that is not known."""
    solved = _as_solved(system, state, q, given)
    if solved is not given or not system.nz or system.loop_rows:  # statics of open loops leave it out, and say so
        return solved
    if system.sticks(touching(system, q, u, np.zeros(system.nz))):
        raise ValueError(
            f"{system.name!r} touches something that it may stick to, or has joints that stick, and coordinates do not say how that is strained: "
            "give the Equilibrium that solve_statics returned (not one from a file or made by hand)."
        )
    return given


def stiffness_at(system: System, q: Array, u: Array, tau: Array, given: Given) -> tuple[Array, Array]:
    """∂r/∂q of displacements that internal variables follow, and ∂r/∂v, at rest."""
    state = arguments(system, q, np.zeros(system.nv), np.zeros(system.nv), u, tau)
    K = residual_tangent(system, state, (1.0, 0.0, 0.0), holding(given, q))
    return K, residual_tangent(system, state, (0.0, 1.0, 0.0), given)


def _require_rest(system: System, q: Array, u: Array, tau: Array, given: Given) -> None:
    """Error unless a robot with loops is at rest at q: elsewhere the forces of its loops are not known here."""
    values, G = system.closure(q)
    told = np.concatenate([np.zeros(0, dtype=int), *system.told_rows.values()]).astype(int)  # held wherever they are
    gap = float(np.abs(np.delete(values, told)).max(initial=0.0))
    assert given.multipliers is not None
    residual = measure(system, q, u, tau, G * given.multipliers[:, None], given).residual(_REST)
    if gap > _REST or residual > _REST:
        raise ValueError(
            f"modes and static sensitivities are those of an equilibrium, and this is none (residual {residual:.1e}, loops open by "
            f"{gap:.1e}): give an Equilibrium with success=True and its own inputs, from solve_statics."
        )


def linearize(
    system: System,
    state: Equilibrium | ArrayLike,
    v: ArrayLike | None = None,
    *,
    u: Inputs = None,
    tau: ArrayLike | None = None,
) -> Linearization:
    """Exact linearisation of the forward dynamics about an equilibrium or any state.

    Parameters
    ----------
    system : System
    state : Equilibrium or array (nq,)
        Where; an Equilibrium brings its inputs along.
    v : array (nv,), optional
        Velocity; zero if left out.
    u, tau
        Inputs and further forces there.

    Notes
    -----
    With loops A and B are the derivatives of the accelerations that obey them (`System.forward_dynamics_derivatives`): A maps motions that keep
    loops closed to such motions. `Linearization.minimal` has no others.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, {"cable": 5.0})
    >>> linear = pl.linearize(system, rest)
    >>> linear.A.shape, linear.B.shape
    ((24, 24), (24, 1))
    >>> bool(abs(linear.a).max() < 1e-6)  # at rest
    True
    """
    q, velocity, inputs, forces = _state(system, state, v, u, tau)
    refuse_memory(system, "linearize")
    n, memory = system.nv, _memory(system, state)
    if memory is not None and np.any(velocity):
        raise ValueError(
            "v is not zero, and the equilibrium holds by friction or has other internal variables, which linearize follows from rest "
            "only: leave v out, or give state=rest.q, as if nothing had happened before."
        )
    d = acceleration_derivatives(system, q, velocity, forces, inputs, None, memory=memory)
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.diag(~system.known)
    A[:n, :n] -= joint_brackets(system, velocity)
    A[n:, :n] = d.dq
    A[n:, n:] = d.dv
    B = np.zeros((2 * n, system.nu))
    B[n:] = d.du
    return Linearization(A, B, d.a, d.multipliers, system, q, velocity)


def modes(
    system: System,
    state: Equilibrium | ArrayLike,
    n: int | None = None,
    *,
    u: Inputs = None,
    tau: ArrayLike | None = None,
) -> Modes:
    """Undamped and damped vibration about an equilibrium.

    Parameters
    ----------
    system : System
    state : Equilibrium or array (nq,)
    n : int, optional
        Number of modes; all if left out.

    Notes
    -----
    Undamped: ``K φ = ω² M φ`` with the tangent stiffness. Where all forces have a potential K is symmetric and ω² real.
    Elsewhere (follower wrenches, moments, currents, user loads) the unsymmetric K is used: a negative ω² is divergence, a
    complex pair flutter. Damped: eigenvalues of `linearize`. With loops, both on the motions that keep them closed.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system)
    >>> modes = pl.modes(system, rest, 2)
    >>> print(modes.frequencies.round(2), "Hz", modes.damping_ratios.round(2))
    [1.14 1.23] Hz [0.07 0.06]
    """
    q, inputs, forces, given = at_rest(system, state, u, tau)
    refuse_memory(system, "modes")
    K, D = stiffness_at(system, q, inputs, forces, given)
    M = system.mass_matrix(q)
    Z = free_directions(system, system.closure(q)[1] if len(system.loop_rows) else None)
    reduced = (Z.T @ K @ Z, Z.T @ M @ Z, Z.T @ D @ Z)
    held = given.memory is not None and system.sticks(given.memory)
    if (system.has_potential(inputs, forces) and not held) or symmetric(reduced[0]):
        omega, found, ratios = _symmetric_modes(*reduced)
    else:
        omega, found, ratios = _unsymmetric_modes(*reduced)
    shapes = Z @ found
    count = len(omega) if n is None else min(n, len(omega))
    if len(system.loop_rows):
        m = Z.shape[1]
        inverse = np.linalg.inv(Z.T @ M @ Z)
        A = np.block([[np.zeros((m, m)), np.eye(m)], [-inverse @ Z.T @ K @ Z, -inverse @ Z.T @ D @ Z]])
    else:
        A = linearize(system, state, u=inputs, tau=forces).A
    eigenvalues = np.linalg.eigvals(A).astype(np.complex128)
    order = np.argsort(np.abs(eigenvalues), kind="stable")
    return Modes(omega[:count] / (2 * np.pi), shapes[:, :count], eigenvalues[order], ratios[:count])


def _symmetric_modes(K: Array, M: Array, D: Array) -> tuple[Array, Array, Array]:
    """Frequencies (signed), shapes and damping ratios of a symmetric stiffness."""
    import scipy.linalg  # here, since it takes a while to import

    values, shapes = scipy.linalg.eigh((K + K.T) / 2, M)
    omega = np.sign(values) * np.sqrt(np.abs(values))
    modal = np.einsum("ik,ij,jk->k", shapes, D, shapes)
    with np.errstate(divide="ignore", invalid="ignore"):
        return omega, shapes, np.where(omega > 0, modal / (2 * np.abs(omega)), 0.0)


def _unsymmetric_modes(K: Array, M: Array, D: Array) -> tuple[Array, Array, Array]:
    """Frequencies (signed), shapes and damping ratios of a stiffness without potential.

    To first order in the damping, by left eigenvectors y: ``λ² + λ yᵀDφ/yᵀMφ + ω² = 0``.
    """
    import scipy.linalg  # here, since it takes a while to import

    values, left, right = scipy.linalg.eig(np.linalg.solve(M, K), left=True, right=True)
    weight = np.einsum("ik,ik->k", left.conj(), right)
    modal = np.einsum("ik,ij,jk->k", left.conj(), np.linalg.solve(M, D), right) / weight
    noise = 1e-13 * np.linalg.norm(np.linalg.solve(M, K), 2) / np.maximum(np.abs(weight), 1e-300)
    pair = np.abs(values.imag) > noise
    shapes = np.where(pair & (values.imag < 0), right.imag, right.real)
    omega = np.sign(values.real) * np.sqrt(np.abs(values.real))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(omega > 0, modal.real / (2 * np.abs(omega)), 0.0)
    root = np.sqrt(modal**2 - 4 * values + 0j)
    both = np.stack([(-modal + root) / 2, (-modal - root) / 2])
    for k in np.flatnonzero(pair):  # the first of a pair is the root that grows, the second the one that decays
        rates = both[:, k]
        rate = rates[np.argmax(rates.real) if values[k].imag > 0 else np.argmin(rates.real)]
        omega[k] = abs(np.sqrt(values[k] + 0j).real)
        ratios[k] = -rate.real / abs(rate)
    order = np.lexsort([-values.imag, omega])
    shapes = shapes / np.sqrt(np.einsum("ik,ij,jk->k", shapes, M, shapes))
    return omega[order], shapes[:, order], ratios[order]


def static_jacobian(
    system: System,
    state: Equilibrium | ArrayLike,
    frame: FrameLike,
    *,
    u: Inputs = None,
    tau: ArrayLike | None = None,
    reference: Reference = "world",
) -> Array:
    """Motion of a frame per unit change of each input, in quasi-static equilibrium, shape (6, nu).

    Where friction sticks it is strained from where `solve_statics` started, which the Equilibrium knows.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, {"cable": 5.0})
    >>> slope = pl.static_jacobian(system, rest, "arm.tip")
    >>> print(f"{1000 * slope[5, 0]:.1f} mm upwards per newton")
    8.9 mm upwards per newton
    """
    choice("reference", reference, ("body", "world"))
    q = _state(system, state, None, u, tau)[0]
    return system.jacobian(frame, q, reference=reference) @ input_slopes(system, state, u=u, tau=tau)


def input_slopes(
    system: System, state: Equilibrium | ArrayLike, *, u: Inputs = None, tau: ArrayLike | None = None
) -> Array:
    """Change of the coordinates per unit change of each input, in quasi-static equilibrium, shape (nv, nu)."""
    q, inputs, forces, given = at_rest(system, state, u, tau)
    if not _is_solved(system, state):
        refuse_memory(system, "static_jacobian of coordinates")
    given = strained(system, state, q, inputs, given)
    v = np.zeros(system.nv)
    K = residual_tangent(system, (q, v, v, inputs, forces), (1.0, 0.0, 0.0), given)
    Z = free_directions(system, system.closure(q)[1] if len(system.loop_rows) else None)
    loose = Z @ neutral_directions(Z.T @ K @ Z)
    if loose.shape[1]:
        raise ValueError(
            f"static_jacobian is not defined for {system.name!r} at this state: nothing resists along "
            f"{name_directions(system, loose)}, so that inputs do not determine where it is. Add stiffness, or fix it."
        )
    if len(system.loop_rows) or system.nz:
        B = static_actuation(system, q, inputs, given)
        K[system.known] = K[:, system.known] = B[system.known] = 0.0
        K[system.known, system.known] = 1.0
        G = system.closure(q)[1] if len(system.loop_rows) else np.zeros((0, system.nv))
        G = np.where(system.known, 0.0, G)[independent(free_rows(system, G))] if len(G) else G
        n, m = system.nv, len(G)
        size = np.sqrt(np.abs(np.diag(K)).max())
        kkt = np.block([[K, -size * G.T], [size * G, np.zeros((m, m))]])
        right = np.vstack([B, np.zeros((m, system.nu))])
        return np.asarray(np.linalg.solve(kkt, right)[:n])
    slopes, found, _definite = slopes_many([system], q[None], inputs[None], forces[None])
    if not found[0]:
        raise np.linalg.LinAlgError(f"the stiffness of {system.name!r} is singular, or not finite, at this state.")
    return np.asarray(slopes[0])
