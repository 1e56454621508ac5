"""Pseudo-arclength continuation [Keller 1977]: stepping along a branch of equilibria and locating its special points."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .branch import Branch, SpecialPoint
from .path_problem import Arc, PathOptions, PathPoint, PathProblem, PathState, angle_between
from .result import Statistics

__all__ = ["Tracer"]

Array = NDArray[np.float64]
_TURN = 0.6  # rad by which the tangent may turn in one step; more is taken for a jump to another branch
_AIM = 0.2  # rad per step aimed at
_EXACT = 1e-14  # residual asked for where a special point is located
_SOFT = 1e-6  # stiffness of a direction, relative to most, that counts as none where branches cross
_JUMP = 1e-6  # a test function that is not continuous to this share has jumped to another branch


class Tracer:
    """Steps along a branch by predictor and corrector, and locates what is special on the way."""

    def __init__(self, problem: PathProblem, options: PathOptions) -> None:
        self.problem, self.options = problem, options
        self.points: list[PathPoint] = []
        self.tangents: list[Array] = []
        self.specials: list[SpecialPoint] = []
        self.statistics = Statistics()
        self.message = ""
        self.success = False
        self.clock = time.perf_counter()
        self.count = problem.evaluations

    def begin(self, q: Array, note: str = "") -> None:
        """Trace from an equilibrium near q at the first λ; `note` says why there may be none."""
        o, problem = self.options, self.problem
        n = problem.system.nv
        along = np.zeros(n + 1)
        along[-1] = 1.0
        state = problem.poised(problem.move(PathState(q, 0.0, o.begin), np.zeros(n + 1), o.begin))
        point = problem.correct(state, state, along, 0.0, o.tolerance, 5 * o.iterations)
        if point is None:
            self.message = (
                f"no equilibrium was found at the first parameter {o.begin:g}; give `start` near one (see "
                "solve_statics), or a `begin` with smaller loads"
            ) + (f" ({note})" if note else "")
            return
        self.statistics.iterations += point.iterations
        along[-1] = np.sign(o.stop - o.begin)
        self.points.append(point)
        self.tangents.append(problem.tangent(point, along))
        self._run(o.step)

    def leave(self, special: SpecialPoint, wanted: Array | None, sign: float, amplitude: float) -> None:
        """Trace from a bifurcation, across the branch on which it was found."""
        problem, t = self.problem, special.tangent
        point = problem.evaluate(PathState(special.q, special.force, special.parameter))
        rows = special.null if wanted is None else wanted[None]
        d = np.append(rows[0] / problem.scale, 0.0)
        d /= np.linalg.norm(d) or 1.0
        d -= (d @ t) * t
        if np.linalg.norm(d) < 0.1:  # this branch itself leaves along the null vector: take the rest of the null space
            soft = int(np.sum(np.abs(point.spectrum) <= _SOFT * np.median(np.abs(point.spectrum))))
            V = np.linalg.svd(problem.border(point, t)[:-1])[2][-1 - max(soft, len(special.null)) :]
            V = V - np.outer(V @ t, t)
            d = V[int(np.argmax(np.linalg.norm(V, axis=1)))]
            if soft > len(special.null) and np.linalg.norm(V[:, -1]) > _SOFT:  # not where nothing changes: along λ
                d = V[:, -1] @ V
        d *= sign / np.linalg.norm(d)
        self.points.append(point)
        self.tangents.append(d)
        self._run(min(amplitude, self.options.max_step), across=t)

    def _run(self, step: float, across: Array | None = None) -> None:
        """Step until a bound is reached; `across` is the direction of the branch that the first step leaves."""
        o = self.options
        while len(self.points) <= o.steps:
            leaving = across if len(self.points) == 1 else None
            found = self._attempt(step, leaving)
            if found is None:
                self.statistics.rejected += 1
                step *= 0.4
                if step < o.min_step:
                    self.message = self._stuck(leaving is not None)
                    return
                continue
            point, tangent, bound, specials = found
            self.specials += specials
            angle = angle_between(self.tangents[-1], tangent)
            self.points.append(point)
            self.tangents.append(tangent)
            self.statistics.steps += 1
            self.statistics.iterations += point.iterations
            if bound is not None:
                self._finish(bound)
                return
            growth = min(1.6, _AIM / max(angle, 1e-3)) if leaving is None else 1.6
            step = min(o.max_step, step * max(0.4, growth if point.iterations <= 6 else min(growth, 0.7)))
        self.message = f"{o.steps} points were not enough to reach a bound; raise `steps` or `max_step`"

    def _attempt(
        self, step: float, leaving: Array | None
    ) -> tuple[PathPoint, Array, float | None, list[SpecialPoint]] | None:
        """A step, cut at the bound that it reaches, with the special points on it; None if it must be shortened."""
        found = self._advance(step, leaving)
        if found is None:
            return None
        arc, point, tangent = found
        bound = self._bound(arc, point)
        if bound is not None:
            cut = self._cut(arc, point, bound)
            if cut is None:
                return None
            arc, point, tangent = cut
        specials: list[SpecialPoint] = []
        if self.options.detect and leaving is None:
            smooth = self._detect(arc, point, tangent, specials)
            if not smooth and step > 100 * self.options.min_step:
                return None
        return point, tangent, bound, specials

    def _advance(self, step: float, leaving: Array | None) -> tuple[Arc, PathPoint, Array] | None:
        """One step; None if Newton failed or came out on another branch."""
        o, problem = self.options, self.problem
        origin, t = self.points[-1], self.tangents[-1]
        normal = direction = t
        parameter = None
        if o.method == "natural":
            normal = np.zeros_like(t)
            normal[-1] = np.sign(o.stop - o.begin)
            if abs(t[-1]) < 1e-12:
                return None
            direction = t / abs(t[-1])
            left = abs(o.stop - origin.state.parameter) / problem.width
            if step >= left * (1 - 1e-12):
                step, parameter = left, o.stop
        guess = problem.move(origin.state, step * direction, parameter)
        point = problem.correct(origin.state, guess, normal, step, o.tolerance, o.iterations)
        if point is None:
            return None
        z = problem.offset(origin.state, point.state)
        tangent = problem.tangent(point, t)
        if leaving is None:
            limit = _TURN if step > 100 * o.min_step else 2 * _TURN
            if max(angle_between(t, tangent), angle_between(t, z)) > limit:
                return None
        elif abs(leaving @ z) > 5 * step:
            return None
        return Arc(origin, normal, direction, step, z - step * direction), point, tangent

    def _bound(self, arc: Arc, point: PathPoint) -> float | None:
        """The bound that the step has reached or passed."""
        low, high = self.options.bounds
        before, after = arc.origin.state.parameter, point.state.parameter
        if after >= high and (before < high or after > before):
            return high
        if after <= low and (before > low or after < before):
            return low
        return None

    def _cut(self, arc: Arc, point: PathPoint, bound: float) -> tuple[Arc, PathPoint, Array] | None:
        """Shorten a step so that it ends at a bound."""
        problem, o = self.problem, self.options
        width = problem.width
        end: PathPoint | None = point
        if point.state.parameter != bound:
            located = self._locate(arc, point, lambda p: (p.state.parameter - bound) / width)
            if located is None:
                return None
            along = np.zeros_like(arc.normal)
            along[-1] = 1.0
            z = problem.offset(arc.origin.state, located[1].state)
            guess = problem.move(arc.origin.state, z, bound)
            exact = problem.correct(guess, guess, along, 0.0, o.tolerance, o.iterations)
            close = exact is not None and np.max(np.abs(problem.offset(guess, exact.state))) < 1e-3 * arc.length
            end = exact if close else located[1]
        assert end is not None
        z = problem.offset(arc.origin.state, end.state)
        length = float(arc.normal @ z)
        if not length > 0:
            return None
        cut = replace(arc, length=length, bend=z - length * arc.direction)
        return cut, end, problem.tangent(end, self.tangents[-1])

    def _finish(self, bound: float) -> None:
        """The end at a bound."""
        state, t = self.points[-1].state, self.tangents[-1]
        none = np.zeros((0, self.problem.system.nv))
        last = len(self.points) - 2
        forces = self.points[-1].multipliers
        self.specials.append(SpecialPoint("end", state.parameter, state.q, none, last, state.force, t, forces))
        self.success = True
        whole = bound == self.options.stop
        self.message = f"reached {'stop' if whole else 'the other bound'} at {bound:.10g}"

    def _stuck(self, leaving: bool) -> str:
        """What to say when the step became too small."""
        where = self.points[-1].state.parameter
        if leaving:
            return "no crossing branch was found; try another amplitude, sign or direction"
        if self.problem.vary.design.refused:
            return f"ended at {where:.10g}, near which {self.problem.vary.design.refused}"
        if self.options.method == "natural":
            return f'no equilibrium was found beyond {where:.10g}: a limit point is near; use method="arclength"'
        return (
            f"the step became too small at {where:.10g}; lower min_step or max_step, raise iterations, or look for a "
            "coordinate without stiffness"
        )

    # ------------------------------------------------------------ special points

    def _locate(
        self, arc: Arc, end: PathPoint, test: Callable[[PathPoint], float]
    ) -> tuple[float, PathPoint, bool] | None:
        """The root of a test function along a step, the point there, and whether the function is continuous."""
        seen: list[tuple[float, float, PathPoint]] = []
        o = self.options

        def value(distance: float) -> float:
            point = arc.origin if distance == 0.0 else end if distance == arc.length else None
            if point is None:
                guess = arc.guess(self.problem, distance)
                point = self.problem.correct(
                    arc.origin.state, guess, arc.normal, distance, _EXACT, 2 + o.iterations, 1e-2 * o.tolerance
                )
            if point is None:
                raise ArithmeticError
            result = test(point)
            seen.append((abs(result), distance, point))
            return result

        from scipy.optimize import brentq  # here, since it takes a while to import

        try:
            brentq(value, 0.0, arc.length, xtol=1e-13 * arc.length + 1e-15, rtol=1e-14, maxiter=80)
        except (ArithmeticError, RuntimeError, ValueError):
            if len(seen) < 2:
                return None
        inside = [s for s in seen if 0.0 < s[1] < arc.length] or seen
        size, distance, point = min(inside, key=lambda s: s[0])
        return distance, point, size <= _JUMP * max(seen[0][0], seen[1][0])

    def _detect(self, arc: Arc, end: PathPoint, tangent: Array, out: list[SpecialPoint]) -> bool:
        """Find the special points within a step; False if the step has jumped to another branch."""
        t = self.tangents[-1]
        crossings = self._crossings(arc, end)
        smooth = all(c[2] for c in crossings)
        near = 1e-4 * arc.length + 1e-9
        found: list[tuple[float, str, PathPoint, int]] = []
        if t[-1] * tangent[-1] < 0:
            turn = self._locate(arc, end, lambda p: float(self.problem.tangent(p, t)[-1]))
            if turn is not None:
                hits = [c for c in crossings if abs(c[0] - turn[0]) <= near]
                crossings = [c for c in crossings if abs(c[0] - turn[0]) > near]
                found.append((turn[0], "limit" if len(hits) % 2 else "bifurcation", turn[1], max(1, len(hits))))
        while crossings:
            distance, point, _smooth = crossings[0]
            same = [c for c in crossings if abs(c[0] - distance) <= near]
            crossings = [c for c in crossings if abs(c[0] - distance) > near]
            found.append((distance, "bifurcation", point, len(same)))
        for distance, kind, point, count in sorted(found, key=lambda f: f[0]):
            share = distance / arc.length
            direction = (1 - share) * t + share * tangent
            out.append(self._special(kind, point, count, direction / np.linalg.norm(direction)))
        return smooth

    def _crossings(self, arc: Arc, end: PathPoint) -> list[tuple[float, PathPoint, bool]]:
        """Where the stiffness becomes singular within a step."""
        if not (arc.origin.conservative and end.conservative):
            if arc.origin.signed_distance * end.signed_distance >= 0:
                return []
            located = self._locate(arc, end, lambda p: p.signed_distance)
            return [] if located is None else [located]
        if len(arc.origin.spectrum) != len(end.spectrum):  # loops lock or let go there
            return []
        n0, n1 = arc.origin.negative, end.negative
        noise = max(arc.origin.noise, end.noise)
        roots = []
        for j in range(min(n0, n1), max(n0, n1)):
            # an eigenvalue that starts or ends at zero (another mode is neutral) is seen when it leaves the noise
            neutral = min(abs(arc.origin.spectrum[j]), abs(end.spectrum[j])) <= noise
            shift = 2 * noise if neutral else 0.0
            located = self._locate(arc, end, lambda p, j=j, c=shift: float(p.spectrum[j] + c))  # type: ignore[misc]
            if located is not None:
                roots.append(located)
        return roots

    def _special(self, kind: str, point: PathPoint, count: int, tangent: Array) -> SpecialPoint:
        problem, state = self.problem, point.state
        modes = self._modes(point, count)
        largest = np.argmax(np.abs(modes), axis=1)
        modes = modes * np.sign(modes[np.arange(count), largest])[:, None]
        null = np.zeros((count, problem.system.nv))
        null[:, problem.free] = modes * problem.scale[problem.free]
        index = len(self.points) - 1
        q, forces = state.q, point.multipliers
        return SpecialPoint(kind, state.parameter, q, null, index, state.force, tangent, forces)  # type: ignore[arg-type]

    def _modes(self, point: PathPoint, count: int) -> Array:
        """Scaled directions (count, free) without stiffness at a point, besides those that had none before, as of a symmetry."""
        before = self.points[-1]
        neutral = np.zeros((len(self.problem.free), 0))
        if before.conservative:
            values, V = np.linalg.eigh(0.5 * (before.stiffness + before.stiffness.T))
            neutral = before.split.Z @ V[:, np.abs(values) <= before.noise]
        k = neutral.shape[1]
        modes = np.linalg.svd(point.stiffness)[2][::-1][: count + k] @ point.split.Z.T
        if not 0 < k < len(modes):
            return modes[:count]
        return np.asarray(np.linalg.qr(modes @ neutral, mode="complete")[0][:, k:].T @ modes, dtype=np.float64)

    def branch(self) -> Branch:
        """What was computed."""
        p, system = self.points, self.problem.system
        self.statistics.wall_time = time.perf_counter() - self.clock
        self.statistics.residuals = self.statistics.factorisations = self.problem.evaluations - self.count
        negative = np.array([x.negative for x in p], dtype=np.int64)
        return Branch(
            system=system,
            parameter=np.array([x.state.parameter for x in p], dtype=np.float64),
            q=np.array([x.state.q for x in p]).reshape(len(p), system.nq),
            u=np.array([x.u for x in p]).reshape(len(p), system.nu),
            tau=np.array([x.tau for x in p]).reshape(len(p), system.nv),
            gravity=np.array([x.gravity for x in p], dtype=np.float64),
            multipliers=np.array([x.multipliers for x in p]).reshape(len(p), len(system.loop_rows)),
            negative=negative,
            stable=np.array([self.problem.stable(x) for x in p], dtype=np.bool_),
            residual=np.array([x.residual for x in p], dtype=np.float64),
            iterations=np.array([x.iterations for x in p], dtype=np.int64),
            points=tuple(self.specials),
            branches=(),
            success=self.success,
            message=self.message,
            statistics=self.statistics,
            _problem=self.problem,
            _options=self.options,
        )
