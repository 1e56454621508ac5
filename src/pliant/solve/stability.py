"""What small disturbances of an equilibrium do: stay, drift, diverge or flutter."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..system import AS_DESCRIBED, Given, System
from .balance import static_tangent
from .closure import null_space
from .history import at_instant
from .pencil import creep, definite, growth

__all__ = [
    "Stability",
    "Verdict",
    "assess",
    "free_directions",
    "name_directions",
    "neutral_directions",
    "symmetric",
]

Array = NDArray[np.float64]
Stability = Literal["stable", "neutral", "divergence", "flutter", "unknown"]

_NEUTRAL = 1e-9  # stiffness of a direction, relative to what cancels in it, that counts as none
_SYMMETRIC = 1e-9  # unsymmetric part of a stiffness that counts as none


class Verdict(NamedTuple):
    """Stability, and the directions (nv, k) along which there is none, in velocity coordinates."""

    stability: Stability
    directions: Array
    where: str = ""  # their names
    rate: complex = 0.0  # eigenvalue of the fastest growth [1/s]; zero if only the stiffness was looked at

    @property
    def held(self) -> bool:
        """Whether disturbances do not grow."""
        return self.stability in ("stable", "neutral")

    def summary(self) -> str:
        """What was found, in a few words; nothing if it is stable."""
        if self.stability in ("stable", "unknown"):
            return ""
        kind = "neutral" if self.stability == "neutral" else f"unstable ({self.stability})"
        return f"{kind} along {self.where}"

    def warning(self) -> str:
        """A sentence on what that means."""
        if self.stability == "unknown":
            return "Whether the equilibrium is stable is not known: the eigenvalues of its small motions could not be told from rounding."
        if self.stability == "neutral":
            return f"Nothing holds the equilibrium along {self.where}: it is neutral there, and one of many."
        grow = f" at a rate of {self.rate.real:.3g} 1/s" if self.rate else ""
        if self.stability == "divergence":
            return (
                f"The equilibrium is unstable: disturbances along {self.where} diverge{grow}, and no stable one was found "
                "from this start."
            )
        turn = abs(self.rate.imag) / (2 * np.pi)
        return (
            f"The equilibrium is unstable by flutter: disturbances along {self.where} oscillate at {turn:.3g} Hz and "
            f"grow{grow}. Loads without a potential feed them; reduce these, or add damping."
        )


def assess(
    system: System,
    q: Array,
    u: Array,
    tau: Array,
    G: Array | None = None,
    *,
    K: Array | None = None,
    potential: bool | None = None,
    given: Given = AS_DESCRIBED,
) -> Verdict:
    """Stability of the equilibrium q under the inputs u and forces tau.

    Parameters
    ----------
    G : array (rows, nv), optional
        Derivatives of what is held besides prescribed joints: loops, whose forces are in `given`, and lengths of tendons.
    K : array (nv, nv), optional
        Tangent stiffness there, if it is known; rows of prescribed coordinates may be those of the unit matrix.
    potential : bool, optional
        `System.has_potential`, if it is known.
    given : Given
        What acts beside u and tau.

    Notes
    -----
    With a potential the stiffness decides, by one Cholesky factorisation where it is clearly positive definite. Otherwise the
    eigenvalues of ``λ² M + λ D + K``; see `Equilibrium`.
    """
    none = np.zeros((system.nv, 0))
    if potential is None:
        potential = system.has_potential(u, tau)
    Z = free_directions(system, G)
    if not Z.shape[1]:
        return Verdict("stable", none)
    if K is None:
        K = static_tangent(system, q, u, tau, given=given)[1]
    A = Z.T @ K @ Z
    if not np.all(np.isfinite(A)):
        return Verdict("unknown", none)
    if potential:
        return _by_stiffness(system, q, A, Z)
    D = Z.T @ static_tangent(system, q, u, tau, (0.0, 1.0, 0.0), at_instant(system, q, u, given))[1] @ Z
    if symmetric(A) and _dissipates(D):
        return _by_stiffness(system, q, A, Z)
    return _by_motion(system, q, A, D, Z)


def free_directions(system: System, G: Array | None = None) -> Array:
    """Directions (nv, n) that prescribed joints and the rows of G leave free, orthonormal in scaled coordinates."""
    free = np.flatnonzero(~system.known)
    scale = system.internal.scale[free]
    Z = np.zeros((system.nv, len(free)))
    if G is None or not len(G):
        Z[free, np.arange(len(free))] = scale
        return Z
    N = null_space(G[:, free] * scale)
    Z = np.zeros((system.nv, N.shape[1]))
    Z[free] = scale[:, None] * N
    return Z


def neutral_directions(A: Array) -> Array:
    """Directions (n, k) that a stiffness (n, n), symmetric or not, does not resist."""
    _U, singular, V = np.linalg.svd(A)
    cancels = np.sqrt(np.einsum("ki,ij,kj->k", np.abs(V), np.abs(A).T @ np.abs(A), np.abs(V)))
    # rows and columns of zeros have singular values of rounding of the others
    return np.asarray(V[singular <= _NEUTRAL * cancels + 1e-15 * singular.max(initial=0.0)].T, dtype=np.float64)


def symmetric(A: Array) -> bool:
    """Whether a matrix is symmetric up to rounding."""
    return bool(np.abs(A - A.T).max(initial=0.0) <= _SYMMETRIC * np.abs(A).max(initial=0.0))


def name_directions(system: System, directions: Array) -> str:
    """The coordinates that take most part in some directions (nv, k), by name."""
    scaled = directions / system.internal.scale[:, None]
    if not scaled.size or not np.any(scaled):
        return "no direction"
    basis = np.linalg.svd(scaled, full_matrices=False)[0]
    part = np.sum(basis**2, axis=1)
    order = np.argsort(-part, kind="stable")
    chosen = [int(k) for k in order[:6] if part[k] >= 0.3 * part[order[0]]]
    rest = int(np.sum(part >= 0.3 * part[order[0]])) - len(chosen)
    return ", ".join(repr(system.dof_names[k]) for k in sorted(chosen)) + (f" and {rest} more" if rest else "")


def _verdict(system: System, stability: Stability, directions: Array, rate: complex = 0.0) -> Verdict:
    return Verdict(stability, directions, name_directions(system, directions), rate)


def _dissipates(D: Array) -> bool:
    """Whether damping takes energy from every motion, or from none."""
    values = np.linalg.eigvalsh((D + D.T) / 2)
    return bool(symmetric(D) and values[0] >= -_NEUTRAL * max(values[-1], 0.0))


def _by_stiffness(system: System, q: Array, A: Array, Z: Array) -> Verdict:
    """By the signs of the stiffness."""
    none = np.zeros((system.nv, 0))
    if definite(A):
        return Verdict("stable", none)
    S = (A + A.T) / 2
    values, V, inertia = _modes_of(system, q, S, Z)
    stiffness = np.einsum("ik,ij,jk->k", V, S, V)
    cancels = np.einsum("ik,ij,jk->k", np.abs(V), np.abs(S), np.abs(V))
    small = np.abs(values) <= _NEUTRAL * np.abs(values).max()
    zero = small & (np.abs(stiffness) <= _NEUTRAL * cancels + 1e-15 * np.abs(S).max() * np.sum(V * V, axis=0))
    falling = (values < 0.0) & ~zero
    if np.any(falling):
        rate = np.sqrt(-values.min()) if inertia else 0.0
        return _verdict(system, "divergence", Z @ V[:, falling], complex(rate))
    if np.any(zero):
        return _verdict(system, "neutral", Z @ V[:, zero])
    return Verdict("stable", none)


def _modes_of(system: System, q: Array, S: Array, Z: Array) -> tuple[Array, Array, bool]:
    """Eigenvalues and vectors of a symmetric stiffness, with respect to the mass where everything has some (then True).

    The mass takes out what the choice of functions and units brings in: polynomials that are nearly dependent are not neutral.
    """
    import scipy.linalg  # here, since it takes a while to import

    try:
        values, V = scipy.linalg.eigh(S, Z.T @ system.mass_matrix(q) @ Z)
        if np.all(np.isfinite(values)):
            return values, V / np.linalg.norm(V, axis=0), True
    except (scipy.linalg.LinAlgError, ValueError):
        pass
    return *np.linalg.eigh(S), False


def _by_motion(system: System, q: Array, A: Array, D: Array, Z: Array) -> Verdict:
    """By the eigenvalues of λ² M + λ D + K."""
    M = Z.T @ system.mass_matrix(q) @ Z
    try:
        np.linalg.cholesky(M)
        fastest, certain = growth(A, D, M)
    except np.linalg.LinAlgError:  # something has no mass: what creeps along ẋ = −K x decides
        fastest, certain = creep(A)
    if fastest is not None:
        x = fastest.motion
        if fastest.oscillates:
            return _verdict(system, "flutter", Z @ np.stack([x.real, x.imag], axis=1), fastest.rate)
        return _verdict(system, "divergence", Z @ x.real[:, None], complex(fastest.rate.real))
    if not certain:
        return Verdict("unknown", np.zeros((system.nv, 0)))
    loose = Z[:, :0] if definite(A) else Z @ neutral_directions(A)
    return _verdict(system, "neutral", loose) if loose.shape[1] else Verdict("stable", loose)
