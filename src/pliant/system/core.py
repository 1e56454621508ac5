"""What every answer of a system starts from: the constant tables of a robot, its names, coordinates and inputs, and how kernels
are called with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compile.assembly import LinkInfo, ManifoldJoint, anchor_of
from ..compile.family import Family
from ..compile.model import Model, compile_robot
from ..compile.revise import revise
from ..kernels import engine, layout
from ..kernels.algebra import manifold
from ..kernels.loads.contact import Contact
from ..kernels.loads.efforts import Efforts
from ..kernels.loads.internal import Internal
from ..kernels.loads.loops import Loops
from ..kernels.loads.tendons import Tendons
from ..kernels.loads.user import User
from ..kernels.loads.water import Water
from ..kernels.loads.wrenches import Wrenches
from ..kernels.solve.fronts import Fronts
from ..model.joints import Group
from ..model.joints.constraints import repeating
from ..model.links import Frame, Link, Rod
from ..model.loops import closing_rows
from ..model.parameters import Parameter, Parameters, parameters_of
from ..model.robot import Robot
from ..model.rods.laws import UserLaw
from ..model.rods.quadrature import Grid
from ..model.units import FORCES, RATES, coordinates, dofs
from ..model.validate import finite, unknown_name
from .arguments import checked, numbers
from .workspace import AS_DESCRIBED, Given, Pool, Workspace

__all__ = ["Array", "Core", "FrameLike", "Inputs", "Place", "Reference"]

Array = NDArray[np.float64]
FrameLike = str | Frame | Link
Reference = Literal["body", "world"]
Inputs = Mapping[str, float] | ArrayLike | None
Place = tuple[
    int, Array
]  # a frame: the step whose end it is fixed to, and its pose there, (12,) rotation by rows, position
Arrays = TypeVar("Arrays", bound=tuple[Any, ...])
_FRAMES = 256  # places that are remembered


def _read_only(group: Arrays) -> Arrays:
    """A group of tables whose arrays cannot be written."""
    views = [array.view() for array in group]
    for view in views:
        view.flags.writeable = False
    return type(group)(*views)


class Core:
    """A compiled robot: its description, constant tables and configuration space.

    Nothing here changes after compiling; what a call writes is in a `Workspace`. Kernels are compiled for writeable arrays (for
    numba one that is read-only has another type, and all would compile twice), so that the packed tables are writeable and
    private; what is public are views that cannot be written.
    """

    def __init__(self, robot: Robot, *, refine: int = 1) -> None:
        self._set(compile_robot(robot, refine))

    def _set(self, model: Model) -> None:
        """Take over a compiled robot."""
        assembly = model.assembly
        self._model, self._assembly, self._elimination = model, assembly, model.elimination
        self.name = model.robot.name
        self.nq, self.nv, self.nu = assembly.nq, assembly.nv, len(assembly.input_names)
        self.nz = len(assembly.loading.smooth)  # internal variables of loads
        self.dof_names = assembly.dof_names
        self.input_names = assembly.input_names
        self.known = assembly.known
        self._pool = Pool(model, self.nq, self.nv)
        self._zero = np.zeros(self.nv)  # for kernels, which do not write what they are given
        self._no_input = np.zeros(self.nu)
        self._none = np.zeros((0, self.nv, self.nv))
        self._places: dict[Any, Place] = {}
        self._probes: dict[tuple[str, bytes], tuple[NDArray[np.int64], Array, Array]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled as its description: tables hold addresses of this process, and views of each other."""
        return _compile_again, (type(self), self._robot, self._model.refine)

    # ------------------------------------------------------------ tables

    @property
    def _internal(self) -> Internal:
        """The tables as kernels take them."""
        return self._model.internal

    @cached_property
    def tables(self) -> layout.Tables:
        """The table of steps; it cannot be written, nor can the other tables."""
        return _read_only(self._model.tables)

    @cached_property
    def internal(self) -> Internal:
        """Resistance of rods and joints, and the maps between coordinates and velocities."""
        return _read_only(self._model.internal)

    @cached_property
    def fronts(self) -> Fronts:
        """The plan of the elimination along the tree."""
        return _read_only(self._model.fronts)

    @cached_property
    def loads(self) -> dict[str, Any]:
        """Tables of the families of loads by name."""
        return {name: _read_only(tables) for name, tables in self._model.loads.items()}

    @property
    def families(self) -> tuple[Family, ...]:
        """The families of loads that the robot may have."""
        return self._assembly.loading.families

    @property
    def tendons(self) -> Tendons:
        """Tables of tendons; the following are those of other loads."""
        return self.loads["tendons"]

    @property
    def efforts(self) -> Efforts:
        """Motors and internal stress."""
        return self.loads["efforts"]

    @property
    def wrenches(self) -> Wrenches:
        """Wrenches and dipoles."""
        return self.loads["wrenches"]

    @property
    def water(self) -> Water:
        """The fluid."""
        return self.loads["water"]

    @property
    def contact(self) -> Contact:
        """Contact points, obstacles and pairs."""
        return self.loads["contact"]

    @property
    def user(self) -> User:
        """Loads that the user wrote."""
        return self.loads["user"]

    @property
    def loops(self) -> Loops:
        """Joints that close loops."""
        return self.loads["loops"]

    def make_work(self, dtype: type = np.float64) -> layout.Work:
        """A workspace of the kernels for this robot, for any number type."""
        return layout.make_work(self._assembly.tables, dtype, **self._assembly.loading.work_sizes)

    @property
    def smooth(self) -> NDArray[np.bool_]:
        """Which internal variables of loads have a rate, (nz,); the others are remembered from step to step."""
        return self._assembly.loading.smooth

    @property
    def supplied(self) -> bool:
        """Whether loads may give energy to a motion while inputs stand still."""
        return self._assembly.loading.supplies

    @property
    def switches(self) -> bool:
        """Whether loads have branches, such as contact or friction that sticks."""
        return self._assembly.loading.switches

    @property
    def steady(self) -> NDArray[np.bool_]:
        """Which internal variables of loads are set once in a step, such as the speed of an impact, (nz,)."""
        return self._assembly.loading.steady

    def sticks(self, memory: Array) -> bool:
        """Whether internal variables of loads (nz,) leave forces at rest without a potential."""
        return self._assembly.loading.sticks(memory)

    def header_position(self, family: str) -> int:
        """Where the header of the packed tables has those of a family of loads."""
        return self._model.positions[family]

    # ------------------------------------------------------------ description

    @property
    def _robot(self) -> Robot:
        return self._model.robot

    @cached_property
    def _parameters(self) -> dict[str, Parameter]:
        return parameters_of(self._robot)

    @property
    def parameters(self) -> Parameters:
        """Every number of the description that `with_parameters` can change, by name, with its value and unit."""
        return Parameters(self._parameters)

    def with_parameters(self, values: Mapping[str, float]) -> Self:
        """The system of a robot with other values of some parameters, by name; see `parameters`.

        It equals what compiling the changed description gives, and shares what has not changed with this system, which stays as it
        is. Only tables that depend on the parameters are made anew.

        Examples
        --------
        >>> import pliant as pl
        >>> robot = pl.Robot("ball")
        >>> ball = robot.add_body("ball", joint=pl.Free(), shape=pl.Sphere(0.1), mass=1.0)
        >>> system = robot.compile()
        >>> heavy = system.with_parameters({"ball.mass": 2.0, "gravity.z": -1.62})
        >>> heavy.parameters["ball.mass"], system.parameters["ball.mass"]
        (2.0, 1.0)
        """
        return self._revised(values, near=False)

    def _revised(self, values: Mapping[str, float], *, near: bool) -> Self:
        """See `with_parameters`; a `near` system hardly differs and keeps the number of points along tendons, so that tables can be compared."""
        found = self._parameters
        robot = self._robot.revised(found, values)
        other = object.__new__(type(self))
        other._set(revise(self._model, robot, [found[name] for name in values], near=near))
        return other

    @cached_property
    def dof_units(self) -> tuple[str, ...]:
        """Units of small motions along the degrees of freedom, (nv,)."""
        return tuple(dofs(self._robot).values())

    @cached_property
    def input_units(self) -> tuple[str, ...]:
        """Units of the inputs, (nu,)."""
        return tuple(own.unit for own in self._assembly.loading.inputs)

    @property
    def robot(self) -> Robot:
        """A copy of the description that this system was compiled from."""
        return self._robot.copy()

    @property
    def links(self) -> tuple[str, ...]:
        """Names of the links, in the order of their coordinates."""
        return tuple(self._assembly.links)

    @property
    def frames(self) -> tuple[str, ...]:
        """Names that can be asked for poses and Jacobians."""
        return tuple(self._robot.frame_names())

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of q, (nq,): as `dof_names`, but ``qw, qx, qy, qz`` (and ``x, y, z``) of manifold joints."""
        return tuple(coordinates(self._robot))

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """Units of the entries of q, (nq,); "–" for quaternions and for strains without unit."""
        return tuple(coordinates(self._robot).values())

    @property
    def velocity_units(self) -> tuple[str, ...]:
        """Units of the entries of v, (nv,)."""
        return tuple(RATES[unit] for unit in self.dof_units)

    @property
    def force_units(self) -> tuple[str, ...]:
        """Units of generalised forces such as tau, (nv,): times the unit of the dof they are J."""
        return tuple(FORCES[unit] for unit in self.dof_units)

    @property
    def gravity(self) -> Array:
        """Gravity in world axes [m/s²], shape (3,)."""
        return self.tables.gravity.copy()

    def q_slice(self, link: str | Link) -> slice:
        """Where a link's coordinates are in q (joint first, then strains).

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
        >>> system.q_slice("arm")
        slice(0, 12, None)
        """
        info = self._info(link)
        return slice(info.q0, info.q0 + info.link.nq)

    def v_slice(self, link: str | Link) -> slice:
        """Where a link's velocities are in v (joint first, then strains)."""
        info = self._info(link)
        return slice(info.v0, info.v0 + info.link.nv)

    def rod_length(self, rod: str | Link) -> float:
        """Length of a rod in the reference configuration [m]."""
        return self._rod(rod)[2].length

    def rod_points(self, rod: str | Link) -> Array:
        """Computational points X of a rod, in [0, 1]."""
        return self._rod(rod)[1].X.copy()

    def __str__(self) -> str:
        """The tree of links with their degrees of freedom."""
        return str(self._robot)

    def __repr__(self) -> str:
        """A one-line summary."""
        return f"<System {self.name!r}: nq={self.nq}, nv={self.nv}, {len(self.tables.step)} steps>"

    @property
    def manifold_joints(self) -> tuple[ManifoldJoint, ...]:
        """Joints whose coordinates are not plain numbers: where they are, and their group."""
        return self._assembly.spatial

    @property
    def prescribed(self) -> dict[str, tuple[slice, slice, Group | None]]:
        """Where coordinates and velocities of prescribed joints are, and their group, by the name of their motion.

        The group is None for ordinary coordinates.
        """
        out: dict[str, tuple[slice, slice, Group | None]] = {}
        for name, motion in self._robot.motions.items():
            if motion.link in self._robot.loops:
                continue
            info = self._assembly.links[motion.link]
            joint = info.link.joint
            first, last = (0, joint.nv) if motion.dof is None else (motion.dof, motion.dof + 1)
            if joint.group is None:
                out[name] = slice(info.q0 + first, info.q0 + last), slice(info.v0 + first, info.v0 + last), None
            else:
                out[name] = slice(info.q0, info.q0 + joint.nq), slice(info.v0, info.v0 + joint.nv), joint.group
        return out

    @property
    def told(self) -> tuple[str, ...]:
        """Names of everything whose motion is prescribed: joints, loops, lengths of tendons."""
        return (*self.prescribed, *self.told_rows, *self.held_tendons)

    @cached_property
    def told_rows(self) -> dict[str, list[int]]:
        """Rows of loop joints that follow a prescribed motion, by its name."""
        out: dict[str, list[int]] = {}
        for k, (_name, _row, motion) in enumerate(closing_rows(self._robot)):
            if motion is not None:
                out.setdefault(motion, []).append(k)
        return out

    @cached_property
    def repeating_rows(self) -> NDArray[np.bool_]:
        """Which rows of loop joints are angles that are the same after a whole turn."""
        rows = [row for _name, row, _motion in closing_rows(self._robot)]
        return np.array([repeating(row) for row in rows], dtype=bool)

    @property
    def held_tendons(self) -> dict[str, int]:
        """Numbers of the tendons of prescribed length, by name."""
        return {name: k for k, (name, t) in enumerate(self._robot.tendons.items()) if t.control == "length"}

    def neutral(self) -> Array:
        """The reference configuration: rods undeformed, joints at zero or identity, shape (nq,)."""
        q = np.zeros(self.nq)
        for joint in self._assembly.spatial:
            q[joint.q] = joint.group.neutral()
        return q

    def random(self, rng: np.random.Generator | int | None = None, *, scale: float = 1.0) -> Array:
        """A random configuration.

        Parameters
        ----------
        rng : numpy Generator or int, optional
            Generator or seed.
        scale : float
            Standard deviation of joint coordinates [rad, m]. Strain coordinates get `scale`/length for bending and
            torsion and 0.1 `scale` for stretch and shear; spherical joints are uniform on SO(3).
        """
        rng = np.random.default_rng(rng)
        q = rng.normal(size=self.nq) * scale
        for info in self._assembly.links.values():
            rod = info.link.content
            if isinstance(rod, Rod):
                angular = rod.strains.components < 3
                q[info.rod_q] *= np.where(angular, 1.0 / rod.length, 0.1)
        for joint in self._assembly.spatial:
            joint.group.scatter(q[joint.q], rng)
        return q

    def integrate(self, q: ArrayLike, dv: ArrayLike) -> Array:
        """Move from q along a velocity times time dv (nv,): addition, or g·exp(dv) on spherical and free joints.

        Examples
        --------
        >>> import numpy as np
        >>> import pliant as pl
        >>> robot = pl.Robot("ball")
        >>> ball = robot.add_body("ball", joint=pl.Spherical(), shape=pl.Sphere(0.1), mass=1.0)
        >>> system = robot.compile()
        >>> print(system.integrate(system.neutral(), [0, 0, np.pi]).round(12) + 0.0)  # half a turn
        [0. 0. 0. 1.]
        """
        out = np.empty(self.nq)
        c = self._internal
        manifold.integrate_q(c.shift, c.spatial, self.check_q(q), self.check_v("dv", dv), out)
        return out

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """The dv (nv,) for which integrate(q0, dv) is q1."""
        out = np.empty(self.nv)
        c = self._internal
        start, end = checked("q0", q0, self.nq, self.name), checked("q1", q1, self.nq, self.name)
        manifold.difference(c.shift, c.spatial, start, end, out)
        return out

    def inputs(self, u: Inputs = None) -> Array:
        """Inputs as a vector (nu,) from a vector, a dictionary by name (the others are zero), or None.

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
        >>> system.inputs({"cable": 5})
        array([5.])
        >>> system.inputs({"cabel": 5})
        Traceback (most recent call last):
            ...
        KeyError: "there is no input named 'cabel'; did you mean 'cable'?"
        """
        if u is None:
            return np.zeros(self.nu)
        if isinstance(u, Mapping):
            out = np.zeros(self.nu)
            for name, value in u.items():
                if name not in self.input_names:
                    raise unknown_name("input", str(name), self.input_names)
                out[self.input_names.index(name)] = finite(f"input {name!r}", value)
            self._check_bounds(out)
            return out
        try:
            array = np.ascontiguousarray(numbers("u", u))
        except TypeError:
            raise TypeError(
                f"u = {u!r} must be a dictionary of inputs by name, a vector of {self.nu} real numbers, or None; inputs: "
                f"{', '.join(self.input_names) or 'none'}."
            ) from None
        if not np.all(np.isfinite(array)):
            raise ValueError(f"u = {array.tolist()} has an entry that is NaN or infinite.")
        if array.shape != (self.nu,):
            raise ValueError(
                f"u has shape {array.shape}, but ({self.nu},) is needed: {', '.join(self.input_names) or 'no inputs'}."
            )
        self._check_bounds(array)
        return array if array.flags.writeable else array.copy()

    @property
    def input_bounds(self) -> tuple[Array, Array]:
        """Smallest and largest allowed inputs, each (nu,); infinite where there is none."""
        lower, upper = self._model.bounds
        return lower.copy(), np.full(self.nu, np.inf) if upper is None else upper.copy()

    def _check_bounds(self, u: Array) -> None:
        """Error if an input is beyond its bounds; for example if a tendon is asked to push."""
        lower, upper = self._model.bounds
        if (u < lower).any() or (upper is not None and (u > upper).any()):
            k = int(np.argmax((u < lower) | (u > (np.inf if upper is None else upper))))
            own = self._assembly.loading.inputs[k]
            reason = own.reason or f"it must be between {own.lower:g} and {own.upper:g}."
            raise ValueError(f"input {own.name!r} = {u[k]:g} is not allowed: {reason}")

    def check_q(self, q: ArrayLike) -> Array:
        """q as a contiguous vector (nq,); error if its size is wrong."""
        return checked("q", q, self.nq, self.name)

    def check_v(self, name: str, v: ArrayLike) -> Array:
        """A velocity-like vector (nv,); error if its size is wrong."""
        return checked(name, v, self.nv, self.name)

    def _info(self, link: str | Link) -> LinkInfo:
        if isinstance(link, Link):
            link = link.name
        try:
            return self._assembly.links[link]
        except (KeyError, TypeError):
            raise unknown_name("link", str(link), self._assembly.links) from None

    def _rod(self, rod: str | Link) -> tuple[LinkInfo, Grid, Rod]:
        info = self._info(rod)
        if not isinstance(info.link.content, Rod):
            rods = [name for name, i in self._assembly.links.items() if i.link.is_rod]
            raise TypeError(f"{rod!r} is a rigid body; rods of this robot: {', '.join(rods) or 'none'}.")
        assert info.grid is not None
        return info, info.grid, info.link.content

    def place(self, frame: FrameLike) -> Place:
        """Where a frame is in the table of steps; found once."""
        key = (frame.name, frame.is_rod) if isinstance(frame, Link) else frame
        try:
            return self._places[key]
        except (KeyError, TypeError):  # not seen yet, or nothing that can be a frame
            anchor = anchor_of(self._assembly, self._robot.resolve(frame, field="frame"))
        matrix = anchor.offset.matrix
        place = anchor.step, np.concatenate([matrix[:3, :3].ravel(), matrix[:3, 3]])
        if len(self._places) >= _FRAMES:
            self._places.clear()
        self._places[key] = place
        return place

    def workspace(self) -> Workspace:
        """Memory for kernels, for a solver that keeps it."""
        return Workspace(self._pool)

    def borrow(self) -> Workspace:
        """Memory for kernels, for a call: ``with system.borrow() as space``."""
        return self._pool.take()

    def run_job(
        self,
        job: np.int64,
        q: Array,
        v: Array | None = None,
        a: Array | None = None,
        u: Array | None = None,
        tau: Array | None = None,
        *,
        force: Array | None = None,
        acceleration: Array | None = None,
        p: Array | None = None,
        S: Array | None = None,
        q1: Array | None = None,
        tape: Array | None = None,
        given: Given = AS_DESCRIBED,
        space: Workspace | None = None,
    ) -> int:
        """Run a job of the engine; see `kernels.engine.run`.

        `given` is what acts beside u and tau. With a workspace `space` results can be read from its `work` afterwards.
        """
        own = self._pool.take() if space is None else space
        try:
            own.prepare(given)
            zero, spare = self._zero, own.spare
            status = engine.run(
                job,
                *own.packed,
                q,
                zero if v is None else v,
                zero if a is None else a,
                self._no_input if u is None else u,
                zero if tau is None else tau,
                own.p if p is None else p,
                self._none if S is None else S,
                own.pivot,
                spare[0] if q1 is None else q1,
                spare[1] if force is None else force,
                spare[2] if acceleration is None else acceleration,
                own.pivot,
                zero if tape is None else tape,
            )
            self.raise_user_errors()
        finally:
            if space is None:
                self._pool.free.append(own)
        return int(status)

    def raise_user_errors(self) -> None:
        """Raise what a user's load or law raised while a kernel called it in this thread."""
        for name, (load, _places) in self._robot.user_loads.items():
            try:
                load.raise_error()
            except BaseException as error:
                error.add_note(f"in the user load {name!r}")
                raise
        for name, law in self._user_laws:
            try:
                law.raise_error()
            except BaseException as error:
                error.add_note(f"in the law of rod {name!r}")
                raise

    @cached_property
    def _user_laws(self) -> list[tuple[str, UserLaw]]:
        """Laws that the user wrote, by the name of their rod."""
        rods = [link for link in self._robot.links if isinstance(link.content, Rod)]
        return [(rod.name, law) for rod in rods for law in rod.content.law if isinstance(law, UserLaw)]  # type: ignore[union-attr]


def _compile_again(kind: type[Core], robot: Robot, refine: int) -> Core:
    return kind(robot, refine=refine)
