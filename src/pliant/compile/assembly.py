"""Robot → flat tables: the one place for topology, quadrature and basis evaluation.

The result of `assemble` is the robot as a table of steps (`kernels.layout.Tables`) together with the bookkeeping
that maps names to rows of that table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..kernels import layout
from ..kernels.layout import BALL, FREE, GENERAL, MASSLESS, RIGID, ROD, SCREW, Tables
from ..kernels.loads.internal import Internal
from ..model.joints import Joint
from ..model.links import Body, Frame, Link, Rod
from ..model.pose import Pose
from ..model.robot import Robot
from ..model.rods.quadrature import SAME_POINT, Grid, chebyshev_integrals, magnus_values, merge_points, rod_grid
from ..model.units import dofs
from .families.water import added_mass, move_matrix
from .loading import Loading, build_loading, points_of_interest
from .places import Anchor, Places
from .resolution import element_ends, points_of_rod

__all__ = [
    "Assembly",
    "JointSpring",
    "LinkInfo",
    "anchor_of",
    "assemble",
    "block_integrals",
    "internal_tables",
    "step_values",
]

Array = NDArray[np.float64]
Emission = Iterator[Any]  # of the emissions that must be done before it goes on


@dataclass(frozen=True)
class LinkInfo:
    """Where a link's coordinates and steps are."""

    link: Link
    q0: int  # first coordinate
    v0: int  # first velocity
    grid: Grid | None = None  # of a rod
    anchors: tuple[Anchor, ...] = ()  # of each grid point of a rod; of the body frame of a body

    @property
    def rod_v(self) -> slice:
        """Velocities of the rod's strain coordinates."""
        start = self.v0 + self.link.joint.nv
        return slice(start, self.v0 + self.link.nv)

    @property
    def rod_q(self) -> slice:
        """Coordinates of the rod's strains."""
        start = self.q0 + self.link.joint.nq
        return slice(start, self.q0 + self.link.nq)


@dataclass(frozen=True)
class JointSpring:
    """Elastic and viscous resistance of a spherical or free joint."""

    q0: int
    v0: int
    joint: Joint


@dataclass(frozen=True)
class Assembly:
    """Everything that `assemble` finds out about a robot."""

    tables: Tables
    links: dict[str, LinkInfo]
    nq: int
    nv: int
    stiffness: Array  # (nv, nv) constant part: rods and scalar joints
    damping: Array  # (nv, nv)
    rest: Array  # (nq,) coordinates of zero elastic force; neutral configuration of manifold joints
    springs: tuple[JointSpring, ...]
    spatial: tuple[tuple[int, int, str], ...]  # (q0, v0, kind) of manifold joints
    dof_names: tuple[str, ...]
    known: NDArray[np.bool_]  # (nv,) velocities of prescribed coordinates
    loading: Loading
    places: Places
    input_names: tuple[str, ...]
    notes: tuple[str, ...]  # what the points of rods and tendons do not resolve


def step_values(rod: Rod, x0: Array, x1: Array) -> tuple[Array, Array]:
    """Basis values (2, steps, size) and reference strains (2, steps, 6) at the Magnus nodes of steps from x0 to x1."""
    degree = rod.strains.degree
    phi = magnus_values(rod.strains.evaluate, x0, x1, rod.magnus, degree, collocation=rod.collocation)
    xi = magnus_values(rod.reference, x0, x1, rod.magnus, max(degree, 6), collocation=rod.collocation)
    return np.stack(phi), np.stack(xi)


def _node_values(rod: Rod, grid: Grid) -> tuple[Array, Array]:
    """The same as `step_values` for spectral integration: values at the end of each step, zero if not a Chebyshev point."""
    at = grid.weights[1:] > 0
    phi = np.zeros((2, len(at), rod.strains.size))
    xi = np.zeros((2, len(at), 6))
    phi[:, at] = rod.strains.evaluate(grid.X[1:][at])
    xi[:, at] = rod.reference(grid.X[1:][at])
    return phi, xi


def block_integrals(rod: Rod, grid: Grid, start: int, end: int, X: Array) -> Array:
    """Integrals [m] from X[start] of the grid to points X, as weights of values at the nodes start + 1 … end of a block."""
    a, b = grid.X[start], grid.X[end]
    at = grid.weights[start + 1 : end + 1] > 0
    out = np.zeros((len(X), end - start))
    out[:, at] = chebyshev_integrals(int(at.sum()), (X - a) / (b - a)) * ((b - a) * rod.length)
    return out


class _Builder:
    """Collects blocks, steps and columns while walking the tree depth first."""

    def __init__(self, robot: Robot, refine: int = 1) -> None:
        self.robot = robot
        self.refine = refine
        self.blocks: list[list[int]] = []
        self.places: list[Pose] = []
        self.steps: list[list[int]] = []
        self.data: list[Array] = []
        self.inertias: list[Array] = []  # of each step, with the added mass of a fluid
        self.dry: list[Array] = []  # without
        self.phi: list[Array] = []
        self.n_phi = 0
        self.colloc: list[Array] = []
        self.col_v: list[int] = []
        self.col_q: list[int] = []
        self.anchors: dict[str, list[Anchor]] = {}
        self.grids: dict[str, Grid] = {}
        self.notes: list[str] = []  # what the grids do not resolve
        self.q0: dict[str, int] = {}
        self.v0: dict[str, int] = {}
        q = v = 0
        for link in robot.links:
            self.q0[link.name], self.v0[link.name] = q, v
            q, v = q + link.nq, v + link.nv
        self.nq, self.nv = q, v
        self.children: dict[str, list[Link]] = {}
        for link in robot.links:
            self.children.setdefault(link.parent.link, []).append(link)

    # ------------------------------------------------------------ walking

    def walk(self) -> None:
        """Emit the whole tree."""
        for link in self.children.get("world", []):
            stack = [self.emit(link, Anchor(-1, link.parent.offset))]
            while stack:  # not by recursion: a chain may be longer than Python's stack is deep
                child = next(stack[-1], None)
                if child is None:
                    stack.pop()
                else:
                    stack.append(child)

    def emit(self, link: Link, parent: Anchor) -> Emission:
        """Emit a link that hangs on `parent`, and everything that hangs on the link; yields what must be emitted first."""
        first = len(self.blocks)
        anchor = self.emit_joint(link, parent.then(link.offset)).then(link.offset_after)
        if isinstance(link.content, Rod):
            yield from self.emit_rod(link, link.content, anchor)
        else:
            yield from self.emit_body(link, link.content, anchor)
        self.close(first)

    def close(self, first: int) -> None:
        """Set the end of the subtree (in columns) of blocks from `first` that have none yet."""
        for block in self.blocks[first:]:
            if block[layout.SUBTREE] < 0:
                block[layout.SUBTREE] = len(self.col_v)

    def emit_joint(self, link: Link, anchor: Anchor) -> Anchor:
        """Emit the blocks of a joint."""
        joint = link.joint
        q0, v0 = self.q0[link.name], self.v0[link.name]
        if joint.kind == "fixed":
            return anchor
        if joint.kind == "screws":
            for k, screw in enumerate(joint.screws):
                self.add_block(SCREW, anchor, [v0 + k], [q0 + k], qpos=q0 + k)
                data = np.zeros(layout.DATA_WIDTH)
                data[layout.D_AXIS : layout.D_AXIS + 6] = screw
                anchor = self.add_step(data)
            return anchor
        kind = BALL if joint.kind == "spherical" else FREE
        self.add_block(kind, anchor, list(range(v0, v0 + joint.nv)), [-1] * joint.nv, qpos=q0)
        return self.add_step(np.zeros(layout.DATA_WIDTH))

    def emit_body(self, link: Link, body: Body, anchor: Anchor) -> Emission:
        """Give the body's inertia to the step that carries it; emit its children."""
        if body.inertia is not None and anchor.step >= 0:
            self.add_inertia(anchor.step, body.inertia.transformed(anchor.offset).matrix)
        added = added_mass(self.robot, link)
        if added is not None and anchor.step >= 0:
            self.inertias[anchor.step] += move_matrix(added[0], anchor.offset)
        self.anchors[link.name] = [anchor]
        for child in self.children.get(link.name, []):
            yield self.emit(child, anchor.then(child.parent.offset))

    def emit_rod(self, link: Link, rod: Rod, anchor: Anchor) -> Emission:
        """Emit a rod as one block, or as several joined at attachments and element ends.

        With spectral integration attachments end elements, and each element is a block with Chebyshev points of its own.
        """
        spectral = rod.integration == "spectral"
        children = self.children.get(link.name, [])
        attached = [float(child.parent.X or 0.0) for child in children]
        named = points_of_interest(self.robot, link.name)
        inside = [x for x in attached + named if SAME_POINT < x < 1 - SAME_POINT]
        breakpoints = element_ends(self.robot, link, rod)
        points, notes = points_of_rod(self.robot, link, rod, breakpoints)
        points *= self.refine
        self.notes += notes
        if spectral:
            breakpoints = merge_points([*breakpoints, *(x for x in attached if SAME_POINT < x < 1 - SAME_POINT)])
        grid = rod_grid(breakpoints, points, extra=inside, rule=rod.rule)
        self.check_points(link, rod, grid, points)
        self.grids[link.name] = grid
        X = grid.X
        L = rod.length
        h = np.diff(X)
        phi, xi = _node_values(rod, grid) if spectral else step_values(rod, X[:-1], X[1:])
        mass = rod.inertia_at(X) * (grid.weights * L)[:, None, None]
        added = added_mass(self.robot, link, X)
        used = [np.any(phi[:, i0:i1] != 0.0, axis=(0, 1)) for i0, i1 in grid.elements]
        local = not all(u.all() for u in used)
        cuts = {int(np.argmin(np.abs(X - x))) for x in attached} - {0, len(X) - 1}
        if local or spectral:
            cuts |= {i1 for _i0, i1 in grid.elements} - {len(X) - 1}
        ends = [*sorted(cuts), len(X) - 1]

        anchors = [anchor]
        self.anchors[link.name] = anchors
        # what hangs on the very start of the rod hangs on what carries the rod
        for child, x in zip(children, attached):
            if x <= SAME_POINT:
                yield self.emit(child, anchor.then(child.parent.offset))
        opened: list[int] = []
        start = 0
        for end in ends:
            columns = (
                np.flatnonzero(np.any(phi[:, start:end] != 0.0, axis=(0, 1))) if local else np.arange(phi.shape[2])
            )
            opened.append(len(self.blocks))
            base_v = self.v0[link.name] + link.joint.nv
            base_q = self.q0[link.name] + link.joint.nq
            self.add_block(
                ROD,
                anchor,
                [base_v + int(k) for k in columns],
                [base_q + int(k) for k in columns],
                components=rod.strains.components[columns],
            )
            if spectral:
                self.blocks[-1][layout.COLLOC] = sum(W.size for W in self.colloc)
                self.colloc.append(block_integrals(rod, grid, start, end, X[start + 1 : end + 1]))
            for i in range(start, end):
                data = np.zeros(layout.DATA_WIDTH)
                if not spectral:
                    data[layout.D_H] = h[i] * L
                    data[layout.D_C] = np.sqrt(3.0) / 12.0 * (h[i] * L) ** 2 if rod.magnus == 4 else 0.0
                data[layout.D_XI1 : layout.D_XI1 + 6] = xi[0, i]
                data[layout.D_XI2 : layout.D_XI2 + 6] = xi[1, i]
                anchor = self.add_step(data, phi[:, i, columns])
                self.add_inertia(anchor.step, mass[i + 1])
                if added is not None:
                    self.inertias[anchor.step] += added[i + 1] * (grid.weights[i + 1] * L)
                anchors.append(anchor)
            for child, x in zip(children, attached):
                if x > SAME_POINT and int(np.argmin(np.abs(X - x))) == end:
                    yield self.emit(child, anchor.then(child.parent.offset))
            start = end

    @staticmethod
    def check_points(link: Link, rod: Rod, grid: Grid, points: int) -> None:
        """Error if the quadrature points cannot tell the basis functions apart."""
        X = grid.X[grid.weights > 0]
        for basis in rod.strains.bases:
            if basis is None:
                continue
            values = basis(X)
            scale = np.linalg.norm(values, axis=0)
            rank = 0 if np.any(scale == 0) else int(np.linalg.matrix_rank(values / scale, tol=1e-10))
            if rank < basis.size:
                raise ValueError(
                    f"rod {link.name!r}: points = {points} per element are too few for {basis!r} with "
                    f"{basis.size} functions: some of its modes would have neither stiffness nor mass. Leave points "
                    f"out for the default, or use at least {basis.degree + 1}."
                )

    # ------------------------------------------------------------ rows

    def add_block(
        self,
        kind: int,
        anchor: Anchor,
        velocities: list[int],
        coordinates: list[int],
        *,
        qpos: int = -1,
        components: NDArray[np.int64] | None = None,
    ) -> None:
        """Open a block that starts at `anchor`."""
        row = [0] * layout.BLOCK_WIDTH
        row[layout.KIND] = kind
        row[layout.PSTEP] = anchor.step
        row[layout.PARENT] = self.steps[anchor.step][layout.S_BLOCK] if anchor.step >= 0 else -1
        row[layout.STEP0] = len(self.steps)
        row[layout.COL0] = len(self.col_v)
        row[layout.COLS] = len(velocities)
        row[layout.SUBTREE] = -1
        row[layout.QPOS] = qpos
        row[layout.COLLOC] = -1
        if components is not None:
            for c in range(7):
                row[layout.RANGE + c] = int(np.searchsorted(components, c))
        self.blocks.append(row)
        self.places.append(anchor.offset)
        self.col_v += velocities
        self.col_q += coordinates

    def add_step(self, data: Array, phi: Array | None = None) -> Anchor:
        """Append a step to the open block."""
        row = [0] * layout.STEP_WIDTH
        row[layout.S_BLOCK] = len(self.blocks) - 1
        row[layout.S_PHI] = self.n_phi
        if phi is not None:
            self.phi.append(phi)
            self.n_phi += phi.shape[1]
        self.blocks[-1][layout.STEPS] += 1
        self.steps.append(row)
        self.data.append(data)
        self.inertias.append(np.zeros((6, 6)))
        self.dry.append(np.zeros((6, 6)))
        return Anchor(len(self.steps) - 1, Pose())

    def add_inertia(self, step: int, M: Array) -> None:
        """Add mass to a step."""
        self.inertias[step] += M
        self.dry[step] += M

    # ------------------------------------------------------------ finish

    def spans(self) -> list[list[int]]:
        """For each block, runs of contiguous columns of its ancestors; sets SPAN0 and SPANS."""
        spans: list[list[int]] = []
        for block in self.blocks:
            runs: list[list[int]] = []
            parent = block[layout.PARENT]
            chain = []
            while parent >= 0:
                chain.append(parent)
                parent = self.blocks[parent][layout.PARENT]
            for b in reversed(chain):
                start, length = self.blocks[b][layout.COL0], self.blocks[b][layout.COLS]
                if runs and runs[-1][0] + runs[-1][1] == start:
                    runs[-1][1] += length
                else:
                    runs.append([start, length])
            block[layout.SPAN0], block[layout.SPANS] = len(spans), len(runs)
            spans += runs
        return spans

    def tables(self, loading: Loading) -> Tables:
        """The finished tables."""
        spans = self.spans()
        carries = {block[layout.PSTEP] for block in self.blocks}
        loaded = loading.steps
        carries |= loaded
        for i, (row, M) in enumerate(zip(self.steps, self.inertias)):
            row[layout.S_INERTIA] = _store_inertia(self.data[i], M, self.dry[i])
            row[layout.S_CARRIES] = int(row[layout.S_INERTIA] != MASSLESS or i in carries)
        places = np.zeros((len(self.places), layout.PLACE_WIDTH))
        for place, pose in zip(places, self.places):
            place[:9] = pose.rotation.ravel()
            place[9:] = pose.translation
        col_v = np.array(self.col_v, dtype=np.int64)
        identity = len(col_v) == self.nv and bool(np.array_equal(col_v, np.arange(self.nv)))
        general = any(row[layout.S_INERTIA] == GENERAL for row in self.steps)
        return Tables(
            block=np.array(self.blocks, dtype=np.int64).reshape(-1, layout.BLOCK_WIDTH),
            place=places,
            step=np.array(self.steps, dtype=np.int64).reshape(-1, layout.STEP_WIDTH),
            data=np.array(self.data).reshape(-1, layout.DATA_WIDTH),
            phi=np.ascontiguousarray(np.concatenate(self.phi, axis=1)) if self.phi else np.zeros((2, 0)),
            colloc=np.concatenate([W.ravel() for W in self.colloc]) if self.colloc else np.zeros(0),
            spans=np.array(spans, dtype=np.int64).reshape(-1, 2),
            col_v=col_v,
            col_q=np.array(self.col_q, dtype=np.int64),
            gravity=np.array(self.robot.gravity),
            flags=np.array(
                [general, identity, bool(loaded), loading.velocity_loads, bool(loading.coupled)], dtype=np.int64
            ),
        )


def _store_inertia(data: Array, M: Array, dry: Array) -> int:
    """Write a step's inertia (with added mass) and dry mass into its data row; returns the kind of inertia."""
    if not M.any():
        return MASSLESS
    m = M[3, 3]
    com_hat = M[:3, 3:] / m if m > 0 else np.zeros((3, 3))
    com = np.array([com_hat[2, 1], com_hat[0, 2], com_hat[1, 0]])
    skew = np.array([[0, -com[2], com[1]], [com[2], 0, -com[0]], [-com[1], com[0], 0]])
    scale = np.abs(M).max()
    rigid = (
        m > 0
        and np.array_equal(M, dry)  # gravity does not act on added mass, even if that is isotropic
        and np.abs(M[3:, 3:] - m * np.eye(3)).max() <= 1e-15 * m
        and np.abs(com_hat - skew).max() * m <= 1e-15 * scale
    )
    if not rigid:
        data[layout.D_M6 :] = M.ravel()
        mass = np.trace(dry[3:, 3:]) / 3.0  # gravity acts on this, at the mean of the off-diagonal block
        data[layout.D_MASS] = mass
        if mass > 0:
            first = 0.5 * (dry[:3, 3:] - dry[:3, 3:].T) / mass
            data[layout.D_COM : layout.D_COM + 3] = first[2, 1], first[0, 2], first[1, 0]
        return GENERAL
    central = M[:3, :3] + m * skew @ skew
    data[layout.D_MASS] = m
    data[layout.D_COM : layout.D_COM + 3] = com
    i, j = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]
    data[layout.D_ROT : layout.D_ROT + 6] = central[i, j]
    return RIGID


def _resistance(builder: _Builder) -> tuple[Array, Array, Array, tuple[JointSpring, ...]]:
    """Constant stiffness and damping, rest coordinates, and springs of manifold joints."""
    K = np.zeros((builder.nv, builder.nv))
    D = np.zeros((builder.nv, builder.nv))
    rest = np.zeros(builder.nq)
    springs = []
    for link in builder.robot.links:
        joint = link.joint
        v0, q0 = builder.v0[link.name], builder.q0[link.name]
        sv = slice(v0, v0 + joint.nv)
        if joint.nv:
            D[sv, sv] = joint.damping_matrix
        if joint.kind == "screws":
            K[sv, sv] = joint.stiffness_matrix
            rest[q0 : q0 + joint.nq] = joint.rest_position
        elif joint.nv:
            rest[q0] = 1.0  # the identity quaternion
            if np.any(joint.stiffness_matrix):
                springs.append(JointSpring(q0, v0, joint))
        if isinstance(link.content, Rod):
            rod, grid = link.content, builder.grids[link.name]
            at = grid.weights > 0
            X, w = grid.X[at], grid.weights[at] * rod.length
            Phi = rod.strains.matrix(X)
            sr = slice(v0 + joint.nv, v0 + link.nv)
            K[sr, sr] = np.einsum("m,mai,mab,mbj->ij", w, Phi, rod.stiffness_at(X), Phi, optimize=True)
            D[sr, sr] = np.einsum("m,mai,mab,mbj->ij", w, Phi, rod.damping_at(X), Phi, optimize=True)
    return (K + K.T) / 2, (D + D.T) / 2, rest, tuple(springs)


def _known(robot: Robot, builder: _Builder) -> NDArray[np.bool_]:
    """Which velocities belong to prescribed coordinates."""
    known = np.zeros(builder.nv, dtype=bool)
    for motion in robot.motions.values():
        v0 = builder.v0[motion.link]
        known[v0 : v0 + robot.link(motion.link).joint.nv] |= motion.mask(robot.link(motion.link).joint)
    return known


def assemble(robot: Robot, refine: int = 1) -> Assembly:
    """Turn a robot into tables; with `refine` times as many points along rods and tendons as it says.

    Raises
    ------
    ValueError
        If the robot has no degree of freedom, or a rod has too few points for its basis.
    """
    builder = _Builder(robot, refine)
    if builder.nv == 0:
        raise ValueError(
            f"robot {robot.name!r} has no degree of freedom: add a rod, or a body with a joint such as Revolute('z')."
        )
    builder.walk()
    places = Places(robot, builder.grids, builder.anchors, builder.q0, builder.v0, refine)
    loading = build_loading(places)
    K, D, rest, springs = _resistance(builder)
    links = {
        link.name: LinkInfo(
            link,
            builder.q0[link.name],
            builder.v0[link.name],
            builder.grids.get(link.name),
            tuple(builder.anchors[link.name]),
        )
        for link in robot.links
    }
    spatial = tuple(
        (builder.q0[link.name], builder.v0[link.name], link.joint.kind)
        for link in robot.links
        if link.joint.kind in ("spherical", "free")
    )
    return Assembly(
        tables=builder.tables(loading),
        links=links,
        nq=builder.nq,
        nv=builder.nv,
        stiffness=K,
        damping=D,
        rest=rest,
        springs=springs,
        spatial=spatial,
        dof_names=tuple(dofs(robot)),
        known=_known(robot, builder),
        loading=loading,
        places=places,
        input_names=tuple(own.name for own in loading.inputs),
        notes=(*builder.notes, *loading.notes),
    )


def anchor_of(assembly: Assembly, frame: Frame) -> Anchor:
    """The anchor of a frame; error if it is inside a rod and was not declared before compiling."""
    return assembly.places.anchor(frame)


def _scales(assembly: Assembly) -> Array:
    """Size of each velocity coordinate that counts as one: 1/length for bending and torsion, metres for sliding."""
    lengths = [i.link.content.length for i in assembly.links.values() if isinstance(i.link.content, Rod)]
    places = [float(np.linalg.norm(i.link.offset.translation)) for i in assembly.links.values()]
    size = max([*lengths, *places, 0.0]) or 1.0
    scale = np.ones(assembly.nv)
    for info in assembly.links.values():
        for k, name in enumerate(info.link.joint.dof_names):
            scale[info.v0 + k] = size if name.startswith(("displacement", "v")) else 1.0
        rod = info.link.content
        if isinstance(rod, Rod):
            scale[info.rod_v] = np.where(rod.strains.components < 3, 1.0 / rod.length, 1.0)
    return scale


def internal_tables(assembly: Assembly) -> Internal:
    """Stiffness and damping as sparse rows, and the maps between coordinates and velocities."""
    K, D = assembly.stiffness, assembly.damping
    pattern = scipy.sparse.csr_array((K != 0) | (D != 0))
    rows = np.repeat(np.arange(len(K)), np.diff(pattern.indptr))
    spatial = [(q0, v0, int(kind == "free")) for q0, v0, kind in assembly.spatial]
    q_taken = {q0 + k for q0, _v0, free in spatial for k in range(7 if free else 4)}
    v_taken = {v0 + k for _q0, v0, free in spatial for k in range(6 if free else 3)}
    shift = list(
        zip(
            (i for i in range(assembly.nq) if i not in q_taken),
            (i for i in range(assembly.nv) if i not in v_taken),
        )
    )
    springs = assembly.springs
    stiffness, rest = np.zeros((len(springs), 6, 6)), np.zeros((len(springs), 7))
    for k, s in enumerate(springs):
        stiffness[k, : s.joint.nv, : s.joint.nv] = s.joint.stiffness_matrix
        rest[k, : s.joint.nq] = s.joint.rest_position
    return Internal(
        shift=np.array(shift, dtype=np.int64).reshape(-1, 2),
        spatial=np.array(spatial, dtype=np.int64).reshape(-1, 3),
        rest=assembly.rest,
        start=pattern.indptr.astype(np.int64),
        column=pattern.indices.astype(np.int64),
        stiffness=K[rows, pattern.indices],
        damping=D[rows, pattern.indices],
        springs=np.array([(s.q0, s.v0, int(s.joint.kind == "free")) for s in springs], dtype=np.int64).reshape(-1, 3),
        spring_stiffness=stiffness,
        spring_rest=rest,
        known=assembly.known.astype(np.int64),
        scale=_scales(assembly),
    )
