"""Tendons, push rods and chambers → flat tables: points along rods and straight stretches between links.

Tendons have a quadrature of their own. Its points follow the strains, the routing and the weight, whatever the grid of the rod.
Tendons of a rod that need about as many points have the same ones (`_share`), and with them what is computed there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...kernels import engine
from ...kernels.loads.cables import CableSpace, apply_tendons, cables
from ...kernels.loads.tendons import (
    FIXED,
    LAW_ELASTIC,
    NODE_WIDTH,
    SEGMENT_A,
    STRAIGHT,
    T_LENGTH,
    TANGENT_OF,
    V_FRICTION,
    V_REST,
    WRAP_IN,
    WRAP_OUT,
    WRAP_POINT,
    WRAP_WIDTH,
    Tendons,
)
from ...model.actuators import Tendon
from ...model.links import Frame, Rod
from ...model.pose import Pose
from ...model.robot import Robot
from ...model.rods.quadrature import SAME_POINT, gauss, gauss_integrals
from ...model.routing import Along
from ...model.units import Input
from ..degrees import Degrees, degrees_of, derivative, shown_range
from ..family import Family
from ..places import Anchor, Places, as_rows

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["TENDONS", "Lines"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
_Runs = tuple[tuple[int, int], ...]  # for each strain component, first and end of coordinates

_TOLERANCE = 3e-5  # of the wrench of a tendon, for the degree of its variation along a rod
_NOTED = 1e-3  # the same, for a word about points that the user gave
_BENT = 0.3  # curvature of the states for which points are chosen, times the largest offset
_STRETCHED = 0.1  # stretch and shear of these states
_SHARED = 3.0  # how many times the points that it needs a tendon may get to share nodes: one more node costs several more points
_LOOKED = np.array(
    [0.0317, 0.2718, 0.5772, 0.8414, 0.9689]
)  # where a function is looked at to see whether it acts in a part
_TURNED = 2 * np.pi  # angle [rad] that the rod has turned in them, for the loss of tension by friction


@dataclass(frozen=True)
class _Quadrature:
    """Points of a stretch along a rod in the order of its way, with integration weights from its start."""

    X: Array
    weights: Array  # of X
    edges: list[tuple[float, float]]  # of the piece of each point
    before: Array  # (m, m) weights of ∫ from the start of the stretch to each point


def _edges(rod: Rod, piece: Along) -> Array:
    """Ends of the pieces in which strains, section and routing of a stretch are smooth."""
    low, high = piece.span
    inner = sorted({*rod.breakpoints, *piece.breakpoints})
    return np.array([low, *(x for x in inner if low + SAME_POINT < x < high - SAME_POINT), high])


class _Deformed:
    """Strains Φ q of a rod in the states in which its tendons must be integrated well, the first of them undeformed.

    Points that the user gave are checked against the routing alone (one state); those of the default follow deformed rods as well. Strains
    are remembered, since the tendons of a rod ask for the same points.
    """

    def __init__(self, rod: Rod) -> None:
        self.rod = rod
        q = np.zeros((1 if rod.points is not None else 3, rod.strains.size))
        q[1:] = np.random.default_rng(0).uniform(-1.0, 1.0, q[1:].shape)
        self.coordinates = q
        self.known: dict[bytes, tuple[Array, Array]] = {}
        self.size = np.abs(self._evaluate(np.linspace(0.0, 1.0, 33))).max(axis=0)
        self.size[self.size == 0.0] = 1.0

    def _evaluate(self, X: Array) -> Array:
        values, components = self.rod.strains.evaluate(X), self.rod.strains.components
        out = np.zeros((len(X), len(self.coordinates), 6))
        for c in np.unique(components):
            out[:, :, c] = values[:, components == c] @ self.coordinates[:, components == c].T
        return out

    def strains(self, X: Array, reach: float) -> Array:
        """ξ (m, states, 6) for tendons as far from the axis as `reach` [m]."""
        key = X.tobytes()
        if key not in self.known:
            self.known[key] = self.rod.reference(X)[:, None], self._evaluate(X) / self.size
        rest, bent = self.known[key]
        return rest + bent * np.repeat([_BENT / reach, _STRETCHED], 3)


def _cross(a: Array, b: Array) -> Array:
    """Vector product along the last axis, without the checks of numpy's."""
    return np.stack(
        [
            a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],
            a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
            a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0],
        ],
        axis=-1,
    )


def _degrees(deformed: _Deformed, piece: Along, tendon: Tendon, edges: Array) -> Degrees:
    """Degrees of the wrench of a unit tension in each piece."""
    length = deformed.rod.length

    def wrenches(X: Array) -> Array:
        d, slope = piece.offsets(X)
        reach = max(float(np.sqrt(np.sum(d * d, axis=1).max())), 1e-3 * length)
        xi = deformed.strains(X, reach)
        arm = np.broadcast_to(d[:, None], xi.shape[:2] + (3,))
        t = xi[:, :, 3:] + _cross(xi[:, :, :3], arm) + slope[:, None] / length
        t /= np.sqrt(np.sum(t * t, axis=2, keepdims=True))
        weight = tendon.weight(X) * np.exp(-tendon.friction * _TURNED * (X - edges[0]))
        w = np.concatenate([_cross(arm, t) / reach, t], axis=2) * weight[:, None, None]
        return w.reshape(len(X), -1)

    tolerance = _TOLERANCE if deformed.rod.points is None else _NOTED
    return degrees_of(wrenches, edges, tolerance=tolerance, joint=True)


def _offset(piece: Along, X: float) -> Pose:
    """Where a tendon is in the section at X."""
    return Pose(translation=piece.offsets(np.array([X]))[0][0])


def _quadrature(piece: Along, edges: Array, counts: Ints) -> _Quadrature:
    """Gauss points in pieces, `counts` in each."""
    X: list[Array] = []
    w: list[Array] = []
    spans: list[tuple[float, float]] = []
    m = int(counts.sum())
    before = np.zeros((m, m))
    first = 0
    for (a, b), n in zip(pairwise(edges.tolist()), counts.tolist()):
        nodes, weights = gauss(n)
        s = slice(first, first + n)
        before[s, :first] = np.concatenate(w) if w else 0.0
        before[s, s] = (b - a) * gauss_integrals(n)
        X.append(a + (b - a) * nodes)
        w.append((b - a) * weights)
        spans += [(a, b)] * n
        first += n
    points, total = np.concatenate(X), np.concatenate(w)
    if piece.start > piece.end:
        back = np.tile(total, (m, 1)) - before
        return _Quadrature(points[::-1], total[::-1], spans[::-1], back[::-1, ::-1])
    return _Quadrature(points, total, spans, before)


def _share(stretches: Iterable[tuple[str, Array, Ints]]) -> None:
    """Raise counts, piece by piece, to the largest of the rod that is not far from them.

    A stretch is the name of its rod, the edges of its pieces and the points in each, which are changed.
    """
    pieces: dict[tuple[str, float, float], list[tuple[Ints, int]]] = {}
    for rod, edges, counts in stretches:
        for k, (a, b) in enumerate(pairwise(edges.tolist())):
            pieces.setdefault((rod, a, b), []).append((counts, k))
    for places in pieces.values():
        leader = np.inf
        for counts, k in sorted(places, key=lambda place: -place[0][place[1]]):
            if leader > _SHARED * counts[k]:
                leader = counts[k]
            counts[k] = leader


def _runs(rod: Rod, part: tuple[float, float]) -> _Runs:
    """For each strain component the coordinates of a rod that act between two points X: all, or one run of those of local functions.

    Functions are looked at inside of the part, not at its nodes, where one that acts may happen to be zero.
    """
    components = rod.strains.components
    ends = np.searchsorted(components, np.arange(7)).tolist()
    whole = tuple(pairwise(ends))
    if not rod.strains.breakpoints:
        return whole
    a, b = part
    acts = np.any(rod.strains.evaluate(a + (b - a) * _LOOKED) != 0.0, axis=0)
    runs = []
    for begin, stop in whole:
        found = begin + np.flatnonzero(acts[begin:stop])
        runs.append((int(found[0]), int(found[-1]) + 1) if len(found) else (begin, begin))
    return tuple(runs)


@dataclass(frozen=True)
class _Way:
    """A direction of the way of a tendon, see `kernels.loads.tendons`."""

    kind: np.int64
    index: int  # of its straight stretch, or of its tangent
    step: int
    turn: Array  # (3, 3) from the section, forwards, to the frame of the step
    rest: Array | None = None  # (3,) of a tangent, in the frame of its step, if the rod is as it was made


def _goes_on(before: _Way | None, behind: _Way | None) -> bool:
    """Whether one rod goes on where the other ends, so that only jumps of their strains turn the tendon there, as within a rod."""
    if before is None or behind is None or before.rest is None or behind.rest is None:
        return False
    return before.step == behind.step and bool(np.linalg.norm(before.rest - behind.rest) < 1e-6)


class Lines:
    """Collects points and straight stretches of lines through the robot: of all tendons, or of those that are given."""

    def __init__(self, places: Places, inputs: Sequence[str], tendons: Mapping[str, Tendon] | None = None) -> None:
        self.places, self.inputs, self.refine, self.notes = places, inputs, places.refine, places.notes
        self.nodes: dict[
            tuple[str, float], tuple[list[int], _Runs, Array, Array, Array]
        ] = {}  # place, ξ*, Φ, Φ′ by rod and X
        self.entries: dict[tuple[str, float], list[tuple[int, Array, int]]] = {}  # of a node: tendon, data, wrap
        self.segments: list[list[int]] = []
        self.spans: list[Array] = []
        self.law: list[list[int]] = []
        self.value: list[list[float]] = []
        self.bend: list[Array] = []
        self.turn: list[Array] = []
        self.segment_turn: list[Array] = []
        self.wraps = self.tangents = 0
        self.corners: dict[int, tuple[_Way, _Way]] = {}  # by their row of `wrap`
        self.deformed: dict[str, _Deformed] = {}  # by the name of the rod
        self.strains: dict[tuple[str, bytes], Array] = {}  # ξ* at the points of stretches
        tendons = places.robot.tendons if tendons is None else tendons
        self.rubs = any(t.friction > 0 for t in tendons.values())
        # edges and points of the pieces of each stretch, by tendon and place in its path
        self.pieces: dict[tuple[str, int], tuple[Array, Ints]] = {
            (name, k): self.needed_points(name, k, tendon, piece)
            for name, tendon in tendons.items()
            for k, piece in enumerate(tendon.path)
            if isinstance(piece, Along)
        }
        if places.near:
            return
        _share(
            (piece.rod, *self.pieces[name, k])
            for name, tendon in tendons.items()
            for k, piece in enumerate(tendon.path)
            if isinstance(piece, Along) and tendon.friction == 0.0  # with friction each point costs far more
        )
        places.counts.update({key: counts for key, (_edges, counts) in self.pieces.items()})

    def add(self, name: str, tendon: Tendon) -> None:
        """Add one tendon."""
        k = len(self.law)
        first = self.wraps
        total: Array = np.zeros(0)  # weights of the turning angle so far
        constant = 0.0
        last: tuple[Anchor, Frame] | None = None
        rows: list[Array] = []
        way: _Way | None = None  # direction of the way so far
        for place, piece in enumerate(tendon.path):
            if last is not None:
                begin = self.end_of(piece, first=True)
                ahead = self.straight(last, begin)
                if ahead is not None:
                    total, way = self.corner(tendon, way, ahead, total, rows), ahead
                constant += self.join(name, k, last, begin, total)
            if isinstance(piece, Along):
                if place > 0:
                    behind = self.tangent(k, tendon, piece, first=True)
                    if not _goes_on(way, behind):
                        total = self.corner(tendon, way, behind, total, rows)
                total = self.along(k, tendon, piece, self.pieces[name, place], total, rows)
            if place + 1 < len(tendon.path):
                last = self.end_of(piece, first=False)
                if isinstance(piece, Along):
                    way = self.tangent(k, tendon, piece, first=False)
        width = len(total)
        self.turn += [np.pad(row, (0, width - len(row))) for row in rows]
        slip = 0.0 if tendon.slip_speed is None else tendon.slip_speed
        rest = np.nan if tendon.rest_length is None else tendon.rest_length
        self.law.append([self.inputs.index(name), int(tendon.control == "elastic"), first, self.wraps])
        stiffness = tendon.stiffness or 0.0
        sign = 1.0 if callable(tendon.factor) else float(tendon.factor)
        self.value.append([stiffness, tendon.damping, rest, tendon.friction, slip, sign * constant, sign])

    def end_of(self, piece: Along | Frame, *, first: bool) -> tuple[Anchor, Frame]:
        """Where a stretch begins (`first`) or ends."""
        if not isinstance(piece, Along):
            return self.anchored(piece)
        X, places = piece.start if first else piece.end, self.places
        parts = (piece, places.anchors[piece.rod], places.grids[piece.rod])
        return places.made(parts, first, lambda: self.anchored(Frame(piece.rod, X, _offset(piece, X))))

    def anchored(self, frame: Frame) -> tuple[Anchor, Frame]:
        """A frame with its anchor."""
        return (self.places.anchor(frame) if self.needed(frame) else Anchor(-1, Pose())), frame

    def needed(self, frame: Frame) -> bool:
        """Whether a frame is a point of the table; free ends of tendons need not be."""
        if frame.link not in self.places.grids or frame.X is None:
            return True
        return bool(np.min(np.abs(self.places.grids[frame.link].X - frame.X)) <= SAME_POINT)

    def join(self, name: str, k: int, a: tuple[Anchor, Frame], b: tuple[Anchor, Frame], total: Array) -> float:
        """A straight stretch between two points; returns its length if that is constant."""
        (one, _), (two, _) = a, b
        pa, pb = one.offset.translation, two.offset.translation
        if one.step == two.step:
            return float(np.linalg.norm(pa - pb))
        self.segments.append([k, one.step, two.step])
        self.spans.append(np.concatenate([pa, pb]))
        self.segment_turn.append(total)
        return 0.0

    def straight(self, a: tuple[Anchor, Frame], b: tuple[Anchor, Frame]) -> _Way | None:
        """Direction of the straight stretch that `join` makes next; None if it has no length."""
        (one, _), (two, _) = a, b
        if one.step != two.step:
            return _Way(STRAIGHT, len(self.segments), 0, np.zeros((3, 3)))
        way = two.offset.translation - one.offset.translation
        length = float(np.linalg.norm(way))
        if length <= SAME_POINT * max(float(np.linalg.norm(one.offset.translation)), 1.0):
            return None
        return _Way(FIXED, 0, one.step, np.outer(way / length, (1.0, 0.0, 0.0)))

    def tangent(self, k: int, tendon: Tendon, piece: Along, *, first: bool) -> _Way | None:
        """Direction of a stretch along a rod where it begins (`first`) or ends, at a point without weight; None without friction, or where nothing is joined."""
        if tendon.friction == 0.0:
            return None
        link, rod, _grid = self.places.rod(piece.rod)
        X, other = (piece.start, piece.end) if first else (piece.end, piece.start)
        inside = X + (1e-9 if other > X else -1e-9)  # not on the other side of a kink
        anchor = self.places.anchor(Frame(piece.rod, X, _offset(piece, X)))
        at = np.array([inside])
        d, slope = piece.offsets(at)
        node = (piece.rod, inside)
        self.entries.setdefault(node, []).append(
            (k, np.concatenate([[0.0], d[0], slope[0] / rod.length]), -2 - self.tangents)
        )
        if node not in self.nodes:
            values, reference = rod.strains.evaluate(at)[0], rod.reference(at)[0]
            ends = np.searchsorted(rod.strains.components, np.arange(7)).tolist()
            head = [self.places.strain_q(link), self.places.strain_v(link)]
            self.nodes[node] = (head, tuple(pairwise(ends)), reference, values, np.zeros_like(values))
        self.tangents += 1
        turn = np.sign(piece.end - piece.start) * anchor.offset.rotation
        reference = rod.reference(at)[0]
        straight = turn @ (reference[3:] + np.cross(reference[:3], d[0]) + slope[0] / rod.length)
        return _Way(TANGENT_OF, self.tangents - 1, anchor.step, turn, straight / np.linalg.norm(straight))

    def corner(
        self, tendon: Tendon, before: _Way | None, behind: _Way | None, total: Array, rows: list[Array]
    ) -> Array:
        """A corner of a tendon with friction; returns the weights of the turning angle behind it."""
        if tendon.friction == 0.0 or before is None or behind is None:
            return total
        self.corners[self.wraps] = (before, behind)
        self.bend.append(np.concatenate([before.turn.ravel(), behind.turn.ravel()]))
        self.wraps += 1
        rows.append(total)
        return np.append(total, 1.0)

    def along(
        self, k: int, tendon: Tendon, piece: Along, pieces: tuple[Array, Ints], total: Array, rows: list[Array]
    ) -> Array:
        """A stretch along a rod; returns the weights of the turning angle up to its end."""
        link, rod, _grid = self.places.rod(piece.rod)
        edges, counts = pieces
        how = edges.tobytes(), (self.refine * counts).tobytes()
        nodes = self.places.made((piece,), how, lambda: _quadrature(piece, edges, self.refine * counts))
        X, L = nodes.X, rod.length
        at_points = X.tobytes()
        values = self.places.made((rod.strains,), at_points, lambda: rod.strains.evaluate(X))
        key = piece.rod, at_points
        if key not in self.strains:  # tendons of a rod share their points
            self.strains[key] = rod.reference(X)
        reference = self.strains[key]
        d, slope = self.places.made((piece,), at_points, lambda: piece.offsets(X))
        weight = nodes.weights * L * tendon.weight(X)
        table = np.column_stack([weight, d, slope / L])
        head = [self.places.strain_q(link), self.places.strain_v(link)]
        runs = {part: _runs(rod, part) for part in dict.fromkeys(nodes.edges)}
        slopes, bends = np.zeros_like(values), np.zeros((len(X), 9))
        for part in dict.fromkeys(nodes.edges) if self.rubs else ():
            at = np.array([e == part for e in nodes.edges])
            slopes[at] = derivative(rod.strains.evaluate, X[at], part) / L
            if tendon.friction > 0:
                bends[at, :6] = derivative(rod.reference, X[at], part) / L
                bends[at, 6:] = derivative(lambda s: piece.offsets(s)[1], X[at], part) / L**2
        for i, x in enumerate(X):
            wrap = -1
            if tendon.friction > 0:
                wrap = self.wraps
                self.bend.append(np.pad(bends[i], (0, 9)))
                self.wraps += 1
                rows.append(np.concatenate([total, nodes.before[i] * L]))
            node = (piece.rod, float(x))
            self.entries.setdefault(node, []).append((k, table[i], wrap))
            self.nodes.setdefault(node, (head, runs[nodes.edges[i]], reference[i], values[i], slopes[i]))
        return np.concatenate([total, nodes.weights * L]) if tendon.friction > 0 else total

    def needed_points(self, name: str, place: int, tendon: Tendon, piece: Along) -> tuple[Array, Ints]:
        """Edges of a stretch and the points in each piece: those that the user gave, or as strains, routing and weight need."""
        rod = self.places.rod(piece.rod)[1]
        edges = self.places.made((rod.strains, rod.section, piece), "edges", lambda: _edges(rod, piece))
        if self.places.near and len(self.places.counts[name, place]) == len(edges) - 1:
            return edges, self.places.counts[name, place]
        if piece.rod not in self.deformed:
            self.deformed[piece.rod] = _Deformed(rod)
        found = _degrees(self.deformed[piece.rod], piece, tendon, edges)
        counts = found.points(rod.strains.degree)
        k = int(np.argmin(found.resolved)) if not found.resolved.all() else int(np.argmax(counts))
        where = f"{shown_range(edges[k], edges[k + 1])} of rod {piece.rod!r}"
        if not found.resolved.all():
            self.notes.append(
                f"Tendon {name!r} has a kink, or turns too fast to be integrated, {where}: give the points X of its kinks as "
                "Along(..., breaks=...)."
            )
        elif rod.points is not None and counts[k] > rod.points:
            self.notes.append(
                f"Tendon {name!r} turns faster than points = {rod.points} follow {where}: use at least {counts[k]}, or leave "
                "`points` out."
            )
        if rod.points is not None:
            counts[:] = rod.points
        return edges, counts

    def tables(self) -> Tendons:
        """The finished tables."""
        node: list[list[int]] = []
        point: list[tuple[int, int]] = []
        data, strain, phi, slope = [], [], [], []
        wrap = np.full((self.wraps, WRAP_WIDTH), -1, dtype=np.int64)
        tangents = np.zeros(self.tangents, dtype=np.int64)
        total = 0
        for m, (key, (head, runs, reference, values, slopes)) in enumerate(self.nodes.items()):
            first = len(point)
            for k, row, w in self.entries[key]:
                if w >= 0:
                    wrap[w, WRAP_POINT] = len(point)
                elif w < -1:
                    tangents[-2 - w] = len(point)
                point.append((k, m))
                data.append(row)
            places = []  # what leads from a coordinate to its value
            for begin, stop in runs:
                places.append(total - begin)
                phi.append(values[begin:stop])
                slope.append(slopes[begin:stop])
                total += stop - begin
            node.append([first, len(point), *head, *(a for a, _b in runs), *(b for _a, b in runs), *places])
            strain.append(reference)
        for place, ways in self.corners.items():
            for side, way in zip((WRAP_IN, WRAP_OUT), ways):
                index = int(tangents[way.index]) if way.kind == TANGENT_OF else way.index
                wrap[place, side : side + 3] = way.kind, index, way.step
        widest = max((len(row) for row in [*self.turn, *self.segment_turn]), default=0)
        turn = [np.pad(row, (0, widest - len(row))) for row in [*self.turn, *self.segment_turn]]
        return Tendons(
            node=as_rows(node, NODE_WIDTH, np.int64),
            strain=as_rows(strain, 6),
            point=as_rows(point, 2, np.int64),
            data=as_rows(data, 7),
            phi=np.concatenate(phi) if phi else np.zeros(0),
            segment=as_rows(self.segments, 3, np.int64),
            span=as_rows(self.spans, 6),
            law=as_rows(self.law, 4, np.int64),
            value=as_rows(self.value, 7),
            wrap=wrap,
            bend=as_rows(self.bend, 18),
            slope=np.concatenate(slope) if slope and self.rubs else np.zeros(0),
            turn=np.array(turn, dtype=float).reshape(len(turn), widest),
        )


def _lengths(model: Model) -> tuple[Array, Array]:
    """Lengths (n,) in the neutral configuration and their derivatives (n, nv)."""
    work, q = model.work, model.neutral()
    nv = len(work.zero)
    J = np.zeros((1, len(work.tension), nv))
    v, p, pivot = np.zeros(nv), np.zeros(engine.PARAMETERS), np.zeros(nv, dtype=np.int64)
    u = np.zeros(len(model.assembly.loading.inputs))
    engine.run(engine.LENGTHS, *model.packed, q, v, v, u, v, p, J, pivot, q, v, v, pivot, v)
    return work.tension[:, T_LENGTH].copy(), J[0]


class _Tendons(Family):
    name = "tendons"
    unit = cables
    apply = staticmethod(apply_tendons)
    descriptions = (Tendon,)

    def inputs(self, robot: Robot) -> Iterable[Input]:
        reason = "a tendon only pulls, so it must be at least 0. Use add_tendon(..., push=True) to allow compression."
        for name, tendon in robot.tendons.items():
            free = tendon.push or tendon.control == "elastic"
            yield Input(name, tendon.input_unit, lower=-np.inf if free else 0.0, reason=reason)

    def frames(self, robot: Robot) -> Iterable[Frame]:
        for tendon in robot.tendons.values():
            for k, piece in enumerate(tendon.path):
                if isinstance(piece, Frame):
                    yield piece
                    continue
                if k > 0:
                    yield Frame(piece.rod, piece.start)
                if k < len(tendon.path) - 1:
                    yield Frame(piece.rod, piece.end)

    def tables(self, places: Places, inputs: Sequence[str]) -> Tendons:
        builder = Lines(places, inputs)
        for name, tendon in places.robot.tendons.items():
            builder.add(name, tendon)
        return builder.tables()

    def settle(self, model: Model) -> None:
        """Elastic tendons without a rest length get the one that they have in the neutral configuration."""
        tendons = model.loads[self.name]
        missing = np.isnan(tendons.value[:, V_REST])
        elastic = tendons.law[:, LAW_ELASTIC] == 1
        if np.any(missing & elastic) or len(tendons.segment):
            lengths, slopes = _lengths(model)
            tendons.value[missing, V_REST] = lengths[missing]
            good = np.all(np.isfinite(slopes), axis=1)
            if not np.all(good):
                raise ValueError(
                    f"tendon {list(model.robot.tendons)[int(np.argmin(good))]!r}: two of its points on different links are at "
                    "the same place in the neutral configuration, so the stretch between them has no direction. End the "
                    "first stretch a little earlier, or leave a gap."
                )
        tendons.value[np.isnan(tendons.value[:, V_REST]), V_REST] = 0.0

    def present(self, tables: Tendons) -> bool:
        return len(tables.law) > 0

    def needs_unit(self, tables: Tendons) -> bool:
        return bool(len(tables.segment) or np.any(tables.law[:, LAW_ELASTIC]) or len(tables.wrap))

    def steps(self, tables: Tendons) -> NDArray[np.int64]:
        return tables.segment[:, SEGMENT_A:].ravel()

    def depends_on_velocity(self, tables: Tendons) -> bool:
        return False

    def couples(self, tables: Tendons) -> str:
        reason = "cables between its links, or tendons with elasticity or friction connect them"
        return reason if self.needs_unit(tables) else ""

    def between(self, tables: Tendons) -> NDArray[np.int64]:
        return tables.segment[:, 1:]

    def switches(self, tables: Tendons) -> bool:
        return bool(np.any(tables.law[:, LAW_ELASTIC]) or len(tables.wrap))

    def keeps_potential(self, tables: Tendons) -> bool:
        return not np.any(tables.value[:, V_FRICTION])

    def space(self, tables: Tendons, nv: int, dtype: type = np.float64) -> CableSpace:
        rows = len(tables.wrap) + len(tables.segment)
        return CableSpace(gradient=np.zeros((4, nv), dtype), wrapped=np.zeros((rows, 3), dtype))

    def swept(self, tables: Tendons) -> dict[str, Any]:
        rubs = np.any(tables.value[:, V_FRICTION])
        return {} if rubs else {name: ... for name, array in tables._asdict().items() if array.dtype == np.float64}

    def work_sizes(self, tables: Tendons) -> dict[str, int]:
        return {"tendons": len(tables.law), "tendon_points": len(tables.point)}


TENDONS = _Tendons()
