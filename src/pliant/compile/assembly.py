"""Robot → flat tables: the one place for topology, quadrature and basis evaluation.

The result of `assemble` is the robot as a table of steps (`kernels.layout.Tables`) together with the bookkeeping
that maps names to rows of that table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import layout
from ..kernels.algebra.manifold import GROUPS
from ..kernels.groups import POSITION
from ..kernels.layout import BALL, FREE, GENERAL, MASSLESS, ROD, SCREW, Tables
from ..kernels.packing import Packed, view_of
from ..model.joints import Group, Joint
from ..model.links import Body, Frame, Link, Rod
from ..model.pose import Pose
from ..model.robot import Robot
from ..model.rods.quadrature import SAME_POINT, Grid
from ..model.units import dofs
from .families.water import added_mass, move_matrix
from .loading import Loading, build_loading, points_of_interest
from .masses import Masses
from .places import Anchor, Places
from .resistance import Resistance, resist, revise_resistance
from .resolution import check_sections
from .rods import RodIntegrals, RodSteps, block_integrals, rod_integrals, rod_mass, rod_steps, step_rows

__all__ = [
    "Assembly",
    "LinkInfo",
    "ManifoldJoint",
    "anchor_of",
    "assemble",
    "reassemble",
]

Array = NDArray[np.float64]
HERE = Pose()
NOTHING = np.zeros((6, 6))  # the inertia of a step without mass
Emission = Iterator[Any]  # of the emissions that must be done before it goes on
_BLOCKS = {"spherical": BALL, "free": FREE}  # kind of block by the name of a joint's group


@dataclass(frozen=True)
class LinkInfo:
    """Where a link's coordinates and steps are."""

    link: Link
    q0: int  # first coordinate
    v0: int  # first velocity
    joint_steps: range  # of its joint, one for each screw; none for a fixed one, unless the robot was cut
    grid: Grid | None = None  # of a rod
    anchors: tuple[Anchor, ...] = ()  # of each grid point of a rod; of the body frame of a body
    steps: RodSteps | None = None  # of a rod
    integrals: RodIntegrals | None = None  # of a rod that has a section and a material

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
class ManifoldJoint:
    """A joint on a group, and where its coordinates and velocities are."""

    q: slice
    v: slice
    joint: Joint
    group: Group

    @property
    def row(self) -> tuple[int, int, int]:
        """What the kernels know of it: first coordinate, first velocity, group."""
        return self.q.start, self.v.start, int(GROUPS[self.group.name])


@dataclass(frozen=True)
class Assembly:
    """Everything that `assemble` finds out about a robot."""

    tables: Tables
    masses: Masses
    links: dict[str, LinkInfo]
    nq: int
    nv: int
    resistance: Resistance
    dof_names: tuple[str, ...]
    known: NDArray[np.bool_]  # (nv,) velocities of prescribed coordinates
    loading: Loading
    places: Places
    input_names: tuple[str, ...]
    notes: tuple[str, ...]  # what the points of rods and tendons do not resolve

    def packed_in(self, packed: Packed) -> Assembly:
        """The same with the tables that are in packed arrays."""
        tables = view_of(packed, Tables, False, POSITION[Tables])
        out = replace(self, tables=tables, loading=self.loading.packed_in(packed))
        if "spatial" in self.__dict__:
            out.__dict__["spatial"] = self.spatial
        return out

    @cached_property
    def spatial(self) -> tuple[ManifoldJoint, ...]:
        """Joints on groups."""
        return tuple(
            _on_group(info, info.link.joint.group) for info in self.links.values() if info.link.joint.group is not None
        )


class _Builder:
    """Collects blocks, steps and columns while walking the tree depth first."""

    def __init__(
        self, robot: Robot, refine: int = 1, known: Mapping[str, RodSteps] | None = None, cut: bool = False
    ) -> None:
        self.robot = robot
        self.refine = refine
        self.cut = cut
        self.known = known or {}
        self.rods: dict[str, RodSteps] = {}
        self.shared: dict[tuple[Any, ...], RodSteps] = {}  # by content
        self.blocks: list[list[int]] = []
        self.places: list[Pose] = []
        self.steps: list[list[int]] = []
        self.data: list[Array] = []
        self.rod_mass: list[Array] = []  # inertia of each step, of a rod
        self.body_mass: list[Array] = []  # of bodies that it carries
        self.fluid_mass: list[Array] = []  # of the fluid around it
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
        self.joints: dict[str, range] = {}
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
        start = len(self.steps)
        anchor = self.emit_joint(link, parent.then(link.offset)).then(link.offset_after)
        self.joints[link.name] = range(start, len(self.steps))
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
        if joint.group is not None:
            self.add_block(_BLOCKS[joint.group.name], anchor, [*range(v0, v0 + joint.nv)], [-1] * joint.nv, qpos=q0)
            return self.add_step(np.zeros(layout.DATA_WIDTH))
        if len(joint.screws) != joint.nv:
            raise ValueError(
                f"link {link.name!r}: {joint!r} has {len(joint.screws)} screws, but {joint.nv} dof_names; give as many."
            )
        if self.cut and not joint.screws:  # a step that leads nowhere
            self.add_block(ROD, anchor, [], [])
            return self.add_step(np.zeros(layout.DATA_WIDTH))
        for k, screw in enumerate(joint.screws):
            self.add_block(SCREW, anchor, [v0 + k], [q0 + k], qpos=q0 + k)
            data = np.zeros(layout.DATA_WIDTH)
            data[layout.D_AXIS : layout.D_AXIS + 6] = screw
            anchor = self.add_step(data)
        return anchor

    def emit_body(self, link: Link, body: Body, anchor: Anchor) -> Emission:
        """Give the body's inertia to the step that carries it; emit its children."""
        if body.inertia is not None and anchor.step >= 0:
            self.body_mass[anchor.step] = self.body_mass[anchor.step] + body.inertia.transformed(anchor.offset).matrix
        added = added_mass(self.robot, link)
        if added is not None and anchor.step >= 0:
            self.fluid_mass[anchor.step] = self.fluid_mass[anchor.step] + move_matrix(added[0], anchor.offset)
        self.anchors[link.name] = [anchor]
        for child in self.children.get(link.name, []):
            yield self.emit(child, anchor.then(child.parent.offset))

    def emit_rod(self, link: Link, rod: Rod, anchor: Anchor) -> Emission:
        """Emit a rod as one block, or as several joined at attachments and element ends.

        With spectral integration attachments end elements, and each element is a block with Chebyshev points of its own.
        """
        children = self.children.get(link.name, [])
        attached = [float(child.parent.X or 0.0) for child in children]
        named = points_of_interest(self.robot, link.name)
        known = self.known.get(link.name)
        steps = rod_steps(self.robot, link, rod, attached, named, self.refine, known, self.shared)
        self.rods[link.name] = steps
        self.notes += steps.notes
        grid, X = steps.grid, steps.grid.X
        self.grids[link.name] = grid
        rows = step_rows(rod, steps)
        mass = rod_mass(rod, grid)
        added = added_mass(self.robot, link, X)

        anchors = [anchor]
        self.anchors[link.name] = anchors
        # what hangs on the very start of the rod hangs on what carries the rod
        for child, x in zip(children, attached):
            if x <= SAME_POINT:
                yield self.emit(child, anchor.then(child.parent.offset))
        base_v = self.v0[link.name] + link.joint.nv
        base_q = self.q0[link.name] + link.joint.nq
        start = 0
        for end, columns in zip(steps.ends, steps.columns):
            self.add_block(
                ROD,
                anchor,
                [base_v + int(k) for k in columns],
                [base_q + int(k) for k in columns],
                components=rod.strains.components[columns],
            )
            if rod.integration == "spectral":
                self.blocks[-1][layout.COLLOC] = sum(W.size for W in self.colloc)
                self.colloc.append(block_integrals(rod, grid, start, end, X[start + 1 : end + 1]))
            for i in range(start, end):
                anchor = self.add_step(rows[i], steps.phi[:, i, columns], mass[i])
                if added is not None:
                    self.fluid_mass[-1] = added[i + 1] * (grid.weights[i + 1] * rod.length)
                anchors.append(anchor)
            for child, x in zip(children, attached):
                if x > SAME_POINT and int(np.argmin(np.abs(X - x))) == end:
                    yield self.emit(child, anchor.then(child.parent.offset))
            start = end

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

    def add_step(self, data: Array, phi: Array | None = None, mass: Array = NOTHING) -> Anchor:
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
        self.rod_mass.append(mass)
        self.body_mass.append(NOTHING)
        self.fluid_mass.append(NOTHING)
        return Anchor(len(self.steps) - 1, HERE)

    # ------------------------------------------------------------ finish

    def spans(self) -> list[list[int]]:
        """For each block, runs of contiguous columns of its ancestors; sets SPAN0 and SPANS."""
        spans: list[list[int]] = []
        above: list[list[list[int]]] = []  # of each block: those of its parent and the parent's own
        for block in self.blocks:
            parent = block[layout.PARENT]
            runs: list[list[int]] = []
            if parent >= 0:
                runs = above[parent]
                start, length = self.blocks[parent][layout.COL0], self.blocks[parent][layout.COLS]
                if runs and sum(runs[-1]) == start:
                    runs = [*runs[:-1], [runs[-1][0], runs[-1][1] + length]]
                else:
                    runs = [*runs, [start, length]]
            above.append(runs)
            block[layout.SPAN0], block[layout.SPANS] = len(spans), len(runs)
            spans += runs
        return spans

    def masses(self) -> Masses:
        """The inertias of all steps."""
        stacks = (self.rod_mass, self.body_mass, self.fluid_mass)
        return Masses(*(np.array(stack).reshape(-1, 6, 6) for stack in stacks))

    def tables(self, loading: Loading, masses: Masses) -> Tables:
        """The finished tables."""
        spans = self.spans()
        carries = {block[layout.PSTEP] for block in self.blocks}
        carries |= loading.steps
        data = np.array(self.data).reshape(-1, layout.DATA_WIDTH)
        kinds = masses.store(data)
        for i, (row, kind) in enumerate(zip(self.steps, kinds.tolist())):
            row[layout.S_INERTIA] = kind
            row[layout.S_CARRIES] = int(kind != MASSLESS or i in carries)
        places = np.zeros((len(self.places), layout.PLACE_WIDTH))
        for place, pose in zip(places, self.places):
            place[:9] = pose.rotation.ravel()
            place[9:] = pose.translation
        col_v = np.array(self.col_v, dtype=np.int64)
        identity = len(col_v) == self.nv and bool(np.array_equal(col_v, np.arange(self.nv)))
        return Tables(
            block=np.array(self.blocks, dtype=np.int64).reshape(-1, layout.BLOCK_WIDTH),
            place=places,
            step=np.array(self.steps, dtype=np.int64).reshape(-1, layout.STEP_WIDTH),
            data=data,
            phi=np.ascontiguousarray(np.concatenate(self.phi, axis=1)) if self.phi else np.zeros((2, 0)),
            colloc=np.concatenate([W.ravel() for W in self.colloc]) if self.colloc else np.zeros(0),
            spans=np.array(spans, dtype=np.int64).reshape(-1, 2),
            col_v=col_v,
            col_q=np.array(self.col_q, dtype=np.int64),
            gravity=np.array(self.robot.gravity),
            flags=_flags(bool(np.any(kinds == GENERAL)), identity, loading),
        )


def _flags(general: bool, identity: bool, loading: Loading) -> NDArray[np.int64]:
    """What the robot has as a whole, see `Tables.flags`."""
    return np.array(
        [general, identity, bool(loading.steps), loading.velocity_loads, bool(loading.coupled)], dtype=np.int64
    )


def _frozen(array: NDArray[np.bool_]) -> NDArray[np.bool_]:
    array.flags.writeable = False
    return array


def _known(robot: Robot, builder: _Builder) -> NDArray[np.bool_]:
    """Which velocities belong to prescribed coordinates."""
    known = np.zeros(builder.nv, dtype=bool)
    for motion in robot.motions.values():
        if motion.link in robot.loops:
            continue  # a row that follows it, not a known coordinate
        v0 = builder.v0[motion.link]
        known[v0 : v0 + robot.link(motion.link).joint.nv] |= motion.mask(robot.link(motion.link).joint)
    return known


def assemble(
    robot: Robot,
    refine: int = 1,
    known: Mapping[str, RodSteps] | None = None,
    *,
    cut: bool = False,
    like: Places | None = None,
) -> Assembly:
    """Turn a robot into tables; with `refine` times as many points along rods and tendons as it says.

    Steps of rods that are `known` by name, from a robot that differs in numbers, are taken over where they fit. With `cut`
    fixed joints are steps too, so that the wrenches that they transmit can be told apart. Tendons have as many points as in a robot that is hardly
    different and whose places are `like` these.

    Raises
    ------
    ValueError
        If the robot has no degree of freedom, or a rod has too few points for its basis.
    """
    builder = _Builder(robot, refine, known, cut)
    if builder.nv == 0:
        raise ValueError(
            f"robot {robot.name!r} has no degree of freedom: add a rod, or a body with a joint such as Revolute('z')."
        )
    if like is None:
        check_sections(robot.links)
    builder.walk()
    masses = builder.masses()
    places = Places(robot, builder.grids, builder.anchors, builder.q0, builder.v0, refine)
    if like is not None:
        places = replace(places, counts=like.counts, spheres=like.spheres, near=True, memory=like.memory)
    loading = build_loading(places)
    links = {
        link.name: LinkInfo(
            link,
            builder.q0[link.name],
            builder.v0[link.name],
            builder.joints[link.name],
            builder.grids.get(link.name),
            tuple(builder.anchors[link.name]),
            builder.rods.get(link.name),
            None if not isinstance(link.content, Rod) else rod_integrals(link.content, builder.rods[link.name]),
        )
        for link in robot.links
    }
    return Assembly(
        tables=builder.tables(loading, masses),
        masses=masses,
        links=links,
        nq=builder.nq,
        nv=builder.nv,
        resistance=resist(links, builder.nq, builder.nv),
        dof_names=tuple(dofs(robot)),
        known=_frozen(_known(robot, builder)),
        loading=loading,
        places=places,
        input_names=tuple(own.name for own in loading.inputs),
        notes=(*builder.notes, *loading.notes),
    )


def _rod_fluid(robot: Robot, link: Link, rod: Rod, grid: Grid) -> Array:
    """Added mass of the steps of a rod, (steps, 6, 6)."""
    added = added_mass(robot, link, grid.X)
    if added is None:
        return np.zeros((len(grid.X) - 1, 6, 6))
    return np.asarray(added[1:] * (grid.weights[1:] * rod.length)[:, None, None])


def reassemble(
    old: Assembly, robot: Robot, rods: Sequence[str], *, loads: bool = True, near: bool = False
) -> Assembly | None:
    """The assembly of a robot in which some rods, by name, have another length, section or material.

    Only these rods are made anew, and what acts on the robot; without `loads`, where only materials have changed, these rods alone. None if that
    is not enough: other points, or inertias of another kind.
    """
    refine, tables, masses, links = old.places.refine, old.tables, old.masses, dict(old.links)
    data = tables.data.copy()
    if not near:
        check_sections(robot.link(name) for name in rods)
    for name in rods:
        info, link = links[name], robot.link(name)
        rod, known = link.content, info.steps
        assert isinstance(rod, Rod)
        assert known is not None
        if rod.integration == "spectral":
            return None
        before = info.link.content
        assert isinstance(before, Rod)
        if not (near and rod.section is before.section):  # a length that is hardly different needs no other points
            attached = [float(child.parent.X or 0.0) for child in robot.links if child.parent.link == name]
            named = points_of_interest(robot, name)
            if rod_steps(robot, link, rod, attached, named, refine, known) is not known:
                return None
        steps = np.array([anchor.step for anchor in info.anchors[1:]])
        rows = step_rows(rod, known)
        fluid = _rod_fluid(robot, link, rod, known.grid)
        if not np.array_equal(
            masses.fluid[steps], _rod_fluid(old.places.robot, info.link, before, known.grid)
        ):  # bodies hang there that have added mass, too
            return None
        masses = masses.with_rod(steps, rod_mass(rod, known.grid), fluid)
        if not np.array_equal(masses.store(rows, steps), tables.step[steps, layout.S_INERTIA]):
            return None
        data[steps] = rows
        links[name] = replace(info, link=link, integrals=rod_integrals(rod, known))
    places = old.places.beside(robot, near) if loads else replace(old.places, robot=robot)
    loading = build_loading(places) if loads else old.loading
    general, identity, *_rest = tables.flags.tolist()
    if loading.steps != old.loading.steps or not np.array_equal(_flags(general, identity, loading), tables.flags):
        return None
    resistance = revise_resistance(old.resistance, links, rods) or resist(links, old.nq, old.nv)
    notes = old.notes[: len(old.notes) - len(old.loading.notes)]
    return replace(
        old,
        tables=tables._replace(data=data),
        masses=masses,
        links=links,
        resistance=resistance,
        places=places,
        loading=loading,
        notes=(*notes, *loading.notes),
    )


def _on_group(info: LinkInfo, group: Group) -> ManifoldJoint:
    q, v = slice(info.q0, info.q0 + group.nq), slice(info.v0, info.v0 + group.nv)
    return ManifoldJoint(q, v, info.link.joint, group)


def anchor_of(assembly: Assembly, frame: Frame) -> Anchor:
    """The anchor of a frame; error if it is inside a rod and was not declared before compiling."""
    return assembly.places.anchor(frame)
