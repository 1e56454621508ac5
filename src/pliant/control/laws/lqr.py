"""Linear-quadratic regulator about an equilibrium, continuous or for inputs that are held."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...analysis.linear import MinimalLinearization, linearize
from ...gradients.costs.cost import Cost, Term
from ...gradients.costs.deviation import Deviation
from ...gradients.costs.states import States
from ...gradients.costs.times import When
from ...model.validate import positive
from ...solve.equilibrium import Equilibrium
from ...solve.stability import name_directions
from ...system import System
from .gains import root, weight_matrix
from .law import Law, StateLike
from .weights import state_weights

__all__ = ["LQR", "held", "linear_model", "require_stabilisable", "solve_riccati"]

Array = NDArray[np.float64]
_ACCURATE = 1e-6  # relative residual of a Riccati equation above which its solution is refused


class LQR(Law):
    """The linear feedback about an equilibrium that makes ``∫ (xᵀQ x + δuᵀR δu) dt`` least, with x = (δq, δv).

    Parameters
    ----------
    system : System
    rest : Equilibrium
        Where to stay; stable or not.
    Q : Quantity, float, array (2 nv,) or (2 nv, 2 nv)
        What is weighed: a quantity s of the state (`pliant.costs`) for ``|δs|²``, such as ``stack(Position("arm.tip") / 0.01, Velocity("arm.tip") / 0.1)``: 1 cm
        and 10 cm/s weigh as much as 1; or weights of (δq, δv).
    R : float, array (nu,) or (nu, nu)
        Weights of the inputs, such as 1/5² if 5 N weigh as much as 1.
    period : float, optional
        For inputs that are held so long [s], ``pl.Sampled(law, law.period)``: ``Σ (xᵀQ x + δuᵀR δu) period`` with the exact discrete model.
    bounds : pair, or dict of pairs, optional
        Of the inputs; those of the robot if left out. The design knows nothing of them.

    Attributes
    ----------
    K : ndarray (nu, 2 nv)
        ``u = u* − K (δq, δv)``.
    poles : ndarray, complex
        Of the closed loop [1/s]; with `period` the factors of one period.
    model : MinimalLinearization
        A and B in as few coordinates as loops leave (continuous).
    P : ndarray (2 nv, 2 nv)
        The cost of a deviation x = (δq, δv) is xᵀP x.

    Raises
    ------
    ValueError
        If the inputs cannot stabilise the equilibrium (the error names the motion), or rounding spoils the solution.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=2e3)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(2)
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, {"cable": 5.0})
    >>> tip = pl.costs.stack(pl.costs.Position("arm.tip") / 0.01, pl.costs.Velocity("arm.tip") / 0.1)
    >>> law = pl.control.LQR(system, rest, tip, R=1 / 5.0**2)
    >>> law.K.shape
    (1, 18)
    """

    def __init__(
        self, system: System, rest: Equilibrium, Q: Any, R: Any, *, period: float | None = None, bounds: Any = None
    ) -> None:
        super().__init__(system, bounds)
        self.rest, self.model, self._to = rest, *linear_model(system, rest, "LQR")
        self.period = None if period is None else positive("period", period, unit="s")
        weights = state_weights("Q", Q, States.at_rest(system, rest.q, rest.u))[0]
        basis = self.model.basis
        Qz, Rz = basis.T @ weights @ basis, weight_matrix("R", R, system.nu)
        A, B = self.model.A, self.model.B
        if self.period is not None:
            A, B = held(A, B, self.period)
            Qz, Rz = self.period * Qz, self.period * Rz
        require_stabilisable(self, A, B, discrete=self.period is not None)
        Pz, Kz = solve_riccati("LQR", A, B, Qz, Rz, discrete=self.period is not None)
        self.P = self._to.T @ Pz @ self._to
        self.poles = np.linalg.eigvals(A - B @ Kz).astype(np.complex128)
        self.K = Kz @ self._to

    def value(self, weight: float = 1.0, at: When = "end") -> Cost:
        """What a state costs with this law from there on, ``½ weight xᵀP x``, as a cost: for the end of a horizon, so that what lies beyond counts.

        It belongs to running costs of ``½ xᵀQ x`` and ``½ δuᵀR δu``, such as ``quantity.near(goal)`` and ``pl.Effort``.

        Examples
        --------
        >>> import numpy as np
        >>> import pliant as pl
        >>> robot = pl.Robot("pendulum")
        >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
        >>> motor = robot.add_motor("torque", rod)
        >>> system = robot.compile()
        >>> up = pl.solve_statics(system, start=[-np.pi / 2], stable=False)
        >>> law = pl.control.LQR(system, up, 1.0, 1.0)
        >>> law.value()
        <cost value of LQR>
        >>> x = np.array([0.1, 0.0])
        >>> off = pl.costs.States.at_rest(system, up.q + x[:1])
        >>> bool(np.isclose(law.value().evaluate(off).value, 0.5 * x @ law.P @ x))
        True
        """
        return Term(root(self.P) @ Deviation(self.rest), at=at, weight=weight, name="value of LQR")

    def wanted(self, t: float, state: StateLike) -> Array:
        """See `Law.wanted`."""
        away = np.concatenate([self.system.difference(self.rest.q, state.q), state.v])
        return np.asarray(self.rest.u - self.K @ away)


def linear_model(system: System, rest: Any, name: str) -> tuple[MinimalLinearization, Array]:
    """The linear model in as few coordinates as there are, and the matrix (n, 2 nv) that makes them of (δq, δv)."""
    if not isinstance(rest, Equilibrium) or not rest.success:
        why = rest.message if isinstance(rest, Equilibrium) else f"it is a {type(rest).__name__}"
        raise ValueError(f"{name} needs the Equilibrium that solve_statics returns, and this is none: {why}.")
    if system.nz:
        raise ValueError(
            f"{name} is not possible for {system.name!r}: it has loads that remember (friction that sticks), which a linear feedback of q and v "
            "does not see. Leave these out of the model of the law."
        )
    if not system.nu:
        raise ValueError(f"{name} needs inputs, and {system.name!r} has none.")
    model = linearize(system, rest).minimal()
    to = np.array([model.coordinates(column) for column in np.eye(2 * system.nv)]).T
    return model, to


def held(A: Array, B: Array, period: float) -> tuple[Array, Array]:
    """The discrete model of ẋ = A x + B u for inputs that are held, exactly."""
    import scipy.linalg  # here, since it takes a while to import

    n, m = B.shape
    whole = np.zeros((n + m, n + m))
    whole[:n, :n], whole[:n, n:] = A, B
    E = scipy.linalg.expm(period * whole)
    return E[:n, :n], E[:n, n:]


def require_stabilisable(law: Any, A: Array, B: Array, *, discrete: bool) -> None:
    """Error that names the motion if inputs do not reach one that does not decay (Popov, Belevitch, Hautus)."""
    values, shapes = np.linalg.eig(A)
    left = np.linalg.inv(shapes) if np.linalg.cond(shapes) < 1e12 else None
    grows = np.abs(values) >= 1.0 - 1e-9 if discrete else values.real >= -1e-9 * np.abs(values).max(initial=1.0)
    for k in np.flatnonzero(grows):
        row = None if left is None else left[k] @ B
        reach = (
            np.linalg.svd(np.hstack([A - values[k] * np.eye(len(A)), B]), compute_uv=False)[-1]
            if row is None
            else np.linalg.norm(row) / np.linalg.norm(left[k])  # type: ignore[index]
        )
        if reach <= 1e-10 * np.linalg.norm(B, 2):
            moved = law.model.basis @ shapes[:, k].real
            n = law.system.nv
            where = name_directions(law.system, (moved[:n] if np.any(moved[:n]) else moved[n:])[:, None])
            raise ValueError(
                f"{type(law).__name__}: a motion of {law.system.name!r} along {where} does not decay, and its inputs "
                f"({', '.join(law.system.input_names)}) do not reach it. Add an actuator, or damping."
            )


def solve_riccati(name: str, A: Array, B: Array, Q: Array, R: Array, *, discrete: bool) -> tuple[Array, Array]:
    """P (n, n) and the gain K (m, n) of an algebraic Riccati equation; error if it has no accurate solution."""
    import scipy.linalg  # here, since it takes a while to import

    hint = "Weigh what moves (Q), or scale Q and R so that they differ by fewer powers of ten."
    try:
        P = (scipy.linalg.solve_discrete_are if discrete else scipy.linalg.solve_continuous_are)(A, B, Q, R)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ValueError(f"{name}: the Riccati equation has no stabilising solution ({error}). {hint}") from None
    if discrete:
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        parts = (A.T @ P @ A, P, A.T @ P @ B @ K, Q)
        rest = parts[0] - parts[1] - parts[2] + parts[3]
    else:
        K = np.linalg.solve(R, B.T @ P)
        parts = (A.T @ P, P @ A, P @ B @ K, Q)
        rest = parts[0] + parts[1] - parts[2] + parts[3]
    size = max(float(np.linalg.norm(part)) for part in parts)
    if np.linalg.norm(rest) > _ACCURATE * size:
        raise ValueError(
            f"{name}: rounding spoils the solution of the Riccati equation (relative residual {np.linalg.norm(rest) / size:.1e}). {hint}"
        )
    return np.asarray(P, dtype=np.float64), np.asarray(K, dtype=np.float64)
