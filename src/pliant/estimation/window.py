"""The most likely motion over a window: Gauss–Newton on start, kicks and unknowns, each step of it a Kalman filter forwards and a smoother backwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import lie
from .linear import Corrected, correct, predict, whitened
from .mapped import State
from .model import StochasticModel

__all__ = ["Datum", "Fit", "Window"]

Array = NDArray[np.float64]


class Datum(NamedTuple):
    """Inputs of a step and what was read at its end, NaN for what is missing."""

    u: Array  # (nu,)
    y: Array  # (m,)


Bound = tuple[tuple[int, float], ...]  # entries of X, and where they are held


class Fit(NamedTuple):
    """A motion through a window, with what it was linearised with."""

    states: list[State]  # of the N + 1 instants
    X: Array  # (n,) by which the first differs from what was known of it
    rho: Array  # (n,) with X = mean + P rho
    kicks: Array  # (N, n)
    F: list[Array]  # (n, n) of each step
    e: list[Array]  # (m,) readings minus what is expected
    H: list[Array]  # (m, n)
    bound: Bound  # unknowns that are held at a bound


@dataclass(eq=False)
class Window:
    """Data of N steps and what is known of the state before them.

    Attributes
    ----------
    model : StochasticModel
    first : State
    P : ndarray (n, n)
        Its covariance.
    data : list of Datum
    huber : float
        Residuals beyond so many standard deviations count linearly.
    """

    model: StochasticModel
    first: State
    P: Array
    data: list[Datum]
    huber: float = np.inf

    # ------------------------------------------------------------ motions

    def motion(self, X: Array, kicks: Array) -> Fit:
        """The motion that starts at X and is kicked so, linearised."""
        model = self.model
        state, _cut = model.moved(self.first, X)
        states, Fs, es, Hs = [state], [], [], []
        for (u, y), kick in zip(self.data, kicks):
            state, F = model.advance(model.moved(state, kick)[0] if kick.any() else state, u)
            value, H = model.predict(state, u)
            states.append(state)
            Fs.append(F)
            es.append(y - value)
            Hs.append(H)
        return Fit(states, X, np.zeros(model.n), kicks, Fs, es, Hs, ())

    def cost(self, fit: Fit) -> float:
        """Minus the logarithm of its likelihood, up to a constant."""
        noise, sigma = self.model.noise, self.model.readings.noise
        _mean, P, total = self._known(fit.bound)
        total += 0.5 * float(fit.rho @ P @ fit.rho)
        total += 0.5 * float(np.sum((fit.kicks[:, noise > 0] / noise[noise > 0]) ** 2))
        for e in fit.e:
            s = np.abs(e[np.isfinite(e)] / sigma[np.isfinite(e)])
            inner = np.minimum(s, self.huber)
            total += float(np.sum(inner * (s - 0.5 * inner)))
        return total

    def turn(self, X: Array) -> Array:
        """How small changes of X move the state at X (n, n): not as they are where q has quaternions."""
        T = np.eye(self.model.n)
        d = X * self.model.size
        for joint in self.model.system.manifold_joints:
            twist = np.zeros(6)
            twist[: joint.v.stop - joint.v.start] = d[joint.v]
            own = lie.tangent(-twist)[: joint.v.stop - joint.v.start, : joint.v.stop - joint.v.start]
            size = self.model.size[joint.v]
            T[joint.v, joint.v] = own * size / size[:, None]
        return T

    # ------------------------------------------------------------ what is known at the start

    def _known(self, bound: Bound) -> tuple[Array, Array, float]:
        """Mean and covariance of X if some entries are where they are held, and what that costs."""
        mean, P, cost = np.zeros(self.model.n), self.P, 0.0
        for k, edge in bound:
            gap = edge - mean[k]
            cost += 0.5 * gap**2 / P[k, k]
            column = P[:, k] / P[k, k]
            mean, P = mean + gap * column, P - np.outer(column, P[k])
            mean[k], P[k], P[:, k] = edge, 0.0, 0.0
        return mean, P, cost

    def _beyond(self, X: Array, bound: Bound) -> Bound:
        """Unknowns that are out of their bounds and not held yet, each with its bound."""
        own, size, first = self.model.unknowns, self.model.size, self.model.steps.nx
        held = {k for k, _edge in bound}
        out = []
        for j, w in enumerate(self.first.w):
            k = first + j
            for edge, sign in ((own.low[j], -1.0), (own.high[j], 1.0)):
                if k not in held and self.P[k, k] > 0.0 and sign * (w + X[k] * size[k] - edge) > 1e-12 * abs(edge):
                    out.append((k, float((edge - w) / size[k])))
        return tuple(out)

    # ------------------------------------------------------------ Gauss–Newton

    def solve(self, X: Array, kicks: Array, iterations: int, tolerance: float) -> tuple[Fit, Filtered, int, float]:
        """The most likely motion from a first guess; the last filter, the number of iterations, and the last change in standard deviations."""
        fit, change, done, value = self.motion(X, kicks), np.inf, 0, np.inf
        while done < iterations and change >= tolerance:
            new = self._smooth(fit)
            length, trial = 1.0, self._trial(fit, new, 1.0)
            while length > 1e-2 and new.bound == fit.bound and self.cost(trial) > value * (1 + 1e-9) + 1e-12:
                length *= 0.5
                trial = self._trial(fit, new, length)
            done, change = done + 1, self._change(fit, trial)
            fit, value = trial, self.cost(trial)
        return fit, self._filter(fit), done, change

    def _trial(self, old: Fit, new: Fit, length: float) -> Fit:
        """Part of the way to a new solution."""
        X, kicks, rho = (a + length * (b - a) for a, b in zip((old.X, old.kicks, old.rho), (new.X, new.kicks, new.rho)))
        return self.motion(X, kicks)._replace(rho=rho, bound=new.bound)

    def _change(self, a: Fit, b: Fit) -> float:
        noise = self.model.noise
        moved = np.abs(b.X - a.X) / np.sqrt(np.maximum(np.diag(self.P), 1e-12))
        kicked = np.abs(b.kicks - a.kicks)[:, noise > 0] / noise[noise > 0]
        return float(max(moved.max(initial=0.0), kicked.max(initial=0.0)))

    def _filter(self, fit: Fit) -> Filtered:
        """The Kalman filter of the linearised motion."""
        sigma, noise = self.model.readings.noise, self.model.noise
        T = self.turn(fit.X)
        mean, P, _cost = self._known(fit.bound)
        a, P, Z = T @ mean, T @ P @ T.T, T @ fit.X
        found = Filtered([a], [P], [], [], [], T)
        for kick, F, e, H in zip(fit.kicks, fit.F, fit.e, fit.H):
            Z = F @ (Z + kick)
            before, spread = F @ a, predict(P, F, noise)
            wide = np.maximum(1.0, np.abs(np.where(np.isfinite(e), e, 0.0)) / (self.huber * sigma)) ** 0.5
            step = correct(spread, H, wide * sigma, e + H @ (Z - before))
            a, P = before + step.x, step.P
            found.a.append(a)
            found.P.append(P)
            found.before.append(before)
            found.spread.append(spread)
            found.steps.append(step)
        return found

    def _smooth(self, fit: Fit) -> Fit:
        """Start and kicks of the most likely motion of the linearised problem, with unknowns within their bounds."""
        bound: Bound = ()
        while True:
            found = self._filter(fit._replace(bound=bound))
            r, kicks = np.zeros(self.model.n), np.zeros_like(fit.kicks)
            for k in range(len(fit.F) - 1, -1, -1):
                step = found.steps[k]
                if step.used:
                    r = r + step.H.T @ (whitened(step.S, step.e) - step.K.T @ r)
                r = fit.F[k].T @ r
                kicks[k] = self.model.noise**2 * r
            rho = found.T.T @ r
            mean, P, _cost = self._known(bound)
            X = mean + P @ rho
            beyond = self._beyond(X, bound)
            if not beyond:
                return fit._replace(X=X, rho=rho, kicks=kicks, bound=bound)
            bound += beyond

    def covariances(self, fit: Fit, found: Filtered) -> list[Array]:
        """Covariances of all states, from all data."""
        n = self.model.n
        N = np.zeros((n, n))
        out = [found.P[-1]]
        for k in range(len(fit.F) - 1, -1, -1):
            step = found.steps[k]
            if step.used:
                L = np.eye(n) - step.K @ step.H
                N = step.H.T @ whitened(step.S, step.H) + L.T @ N @ L
            N = fit.F[k].T @ N @ fit.F[k]
            P = found.P[k]
            out.append(P - P @ N @ P)
        return out[::-1]


class Filtered(NamedTuple):
    """A Kalman filter through a window: estimates and covariances, before and after each step."""

    a: list[Array]
    P: list[Array]
    before: list[Array]
    spread: list[Array]
    steps: list[Corrected]
    T: Array
