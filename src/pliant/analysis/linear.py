"""Linearisation about a state, vibration modes about an equilibrium, and static sensitivities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from .. import lie
from ..model.validate import choice
from ..solve.statics import Equilibrium
from ..system import FrameLike, Inputs, Reference, System

__all__ = ["Linearization", "Modes", "linearize", "modes", "static_jacobian"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Linearization:
    """``d/dt (δq, δv) = A (δq, δv) + B δu`` with δq in velocity coordinates (nv,).

    Attributes
    ----------
    A : ndarray (2 nv, 2 nv)
    B : ndarray (2 nv, nu)
    a : ndarray (nv,)
        Acceleration at the point of linearisation (zero at an equilibrium).
    """

    A: Array
    B: Array
    a: Array


@dataclass(frozen=True)
class Modes:
    """Vibration about an equilibrium.

    Attributes
    ----------
    frequencies : ndarray (n,)
        Undamped frequencies [Hz], increasing; negative for an unstable mode (growth rate / 2π). Rigid motions have zero.
    shapes : ndarray (nv, n)
        Mode shapes in velocity coordinates, normalised to unit modal mass.
    eigenvalues : ndarray (2 nv,), complex
        Eigenvalues of the damped system [1/s], by increasing magnitude.
    damping_ratios : ndarray (n,)
        Modal damping ratios from the diagonal of the modal damping matrix.
    """

    frequencies: Array
    shapes: Array
    eigenvalues: NDArray[np.complex128]
    damping_ratios: Array


def _state(
    system: System, state: Equilibrium | ArrayLike, v: ArrayLike | None, u: Inputs, tau: ArrayLike | None
) -> tuple[Array, Array, Array, Array]:
    if isinstance(state, Equilibrium):
        q = state.q
        inputs = state.u if u is None else system.inputs(u)
        forces = state.tau if tau is None else system.check_v("tau", tau)
    else:
        q = system.check_q(state)
        inputs = system.inputs(u)
        forces = np.zeros(system.nv) if tau is None else system.check_v("tau", tau)
    return q, np.zeros(system.nv) if v is None else system.check_v("v", v), inputs, forces


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
    """
    q, velocity, inputs, forces = _state(system, state, v, u, tau)
    n = system.nv
    d = system.forward_dynamics_derivatives(q, velocity, forces, u=inputs)
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.diag(~system.known)
    for _q0, v0, free in system.internal.spatial:
        k = 6 if free else 3
        twist = np.zeros(6)
        twist[:k] = velocity[v0 : v0 + k]
        A[v0 : v0 + k, v0 : v0 + k] = -lie.ad(twist)[:k, :k]
    A[n:, :n] = d.dq
    A[n:, n:] = d.dv
    B = np.zeros((2 * n, system.nu))
    B[n:] = d.dtau @ system.actuation_matrix(q, velocity, inputs)
    return Linearization(A, B, d.a)


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
    Undamped: ``K φ = ω² M φ`` with the symmetric part of the tangent stiffness. Damped: eigenvalues of `linearize`.
    """
    q, v, inputs, forces = _state(system, state, None, u, tau)
    K = system.residual_tangent(q, v, v, inputs, forces)
    M = system.mass_matrix(q)
    D = system.residual_tangent(q, v, v, inputs, forces, weights=(0.0, 1.0, 0.0))
    free = ~system.known
    values, found = scipy.linalg.eigh(((K + K.T) / 2)[np.ix_(free, free)], M[np.ix_(free, free)])
    shapes = np.zeros((system.nv, len(values)))
    shapes[free] = found
    count = len(values) if n is None else min(n, len(values))
    omega = np.sign(values) * np.sqrt(np.abs(values))
    modal_damping = np.einsum("ik,ij,jk->k", shapes, D, shapes)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(omega > 0, modal_damping / (2 * np.abs(omega)), 0.0)
    eigenvalues = np.linalg.eigvals(linearize(system, q, u=inputs, tau=forces).A).astype(np.complex128)
    order = np.argsort(np.abs(eigenvalues), kind="stable")
    return Modes(omega[:count] / (2 * np.pi), shapes[:, :count], eigenvalues[order], ratios[:count])


def static_jacobian(
    system: System,
    state: Equilibrium | ArrayLike,
    frame: FrameLike,
    *,
    u: Inputs = None,
    tau: ArrayLike | None = None,
    reference: Reference = "world",
) -> Array:
    """Motion of a frame per unit change of each input, in quasi-static equilibrium, shape (6, nu)."""
    choice("reference", reference, ("body", "world"))
    q, v, inputs, forces = _state(system, state, None, u, tau)
    K = system.residual_tangent(q, v, v, inputs, forces)
    B = system.actuation_matrix(q, v, inputs)
    K[system.known] = K[:, system.known] = B[system.known] = 0.0
    K[system.known, system.known] = 1.0
    return system.jacobian(frame, q, reference=reference) @ np.linalg.solve(K, B)
