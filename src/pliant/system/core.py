"""What every answer of a system starts from: tables, workspace, names, coordinates and inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compile.assembly import LinkInfo, anchor_of, assemble, internal_tables
from ..compile.elimination import plan_elimination
from ..compile.places import Anchor
from ..kernels import engine, layout
from ..kernels.algebra import manifold
from ..kernels.loads.wrenches import P_INPUT, P_MOMENT
from ..model.links import Frame, Link, Rod
from ..model.robot import Robot
from ..model.rods.quadrature import Grid
from ..model.units import FORCES, RATES, coordinates, dofs
from ..model.validate import finite, unknown_name
from .arguments import checked, numbers

__all__ = ["Array", "Core", "FrameLike", "Inputs", "Probe", "Reference"]

Array = NDArray[np.float64]
FrameLike = str | Frame | Link
Reference = Literal["body", "world"]
Inputs = Mapping[str, float] | ArrayLike | None
Probe = tuple[NDArray[np.int64], Array, Array]  # steps, partial steps, basis values at points inside rods


class Core:
    """Tables and workspace of a compiled robot, its description and its configuration space."""

    def __init__(self, robot: Robot, *, refine: int = 1) -> None:
        robot = robot.copy()
        assembly = assemble(robot, refine)
        self._robot = robot
        self._assembly = assembly
        self.name = robot.name
        self.nq = assembly.nq
        self.nv = assembly.nv
        self.dof_names = assembly.dof_names
        self.input_names = assembly.input_names
        self.nu = len(assembly.input_names)
        self._coordinate_units = coordinates(robot)
        self.dof_units = tuple(dofs(robot).values())
        self.input_units = tuple(own.unit for own in assembly.loading.inputs)
        inner = internal_tables(assembly)
        loading = assembly.loading
        self._elimination = plan_elimination(
            assembly.tables, inner, loading.tables["tendons"], loading.tables["efforts"]
        )
        engine_groups = [assembly.tables, inner, *loading.inner, self._elimination.fronts, self.make_work()]
        spaces = loading.spaces(self.nv)
        groups = [*engine_groups, *loading.outer.values(), *spaces]
        written = {len(engine_groups) - 1, *range(len(groups) - len(spaces), len(groups))}
        self.packed, views = engine.pack(groups, written)
        self.tables, self.internal, _units, *inside, self.fronts, self._work = views[: len(engine_groups)]
        self.families = loading.families
        outside = views[len(engine_groups) :]
        inner_names = [name for name in loading.tables if name not in loading.outer]
        self.loads = dict(zip([*inner_names, *loading.outer], [*inside, *outside]))
        self._position = loading.position
        self.tendons, self.efforts, self.wrenches = (self.loads[name] for name in ("tendons", "efforts", "wrenches"))
        self.water, self.contact = self.loads["water"], self.loads["contact"]
        self.user, self.loops = self.loads["user"], self.loads["loops"]
        self._lower = np.array([own.lower for own in loading.inputs])
        self._upper = np.array([own.upper for own in loading.inputs])
        self._has_upper = bool(np.any(self._upper < np.inf))
        self.known = assembly.known
        self._zero = np.zeros(self.nv)
        self._no_input = np.zeros(self.nu)
        self.pivot = np.zeros(self.nv, dtype=np.int64)
        self._none = np.zeros((0, self.nv, self.nv))
        self._spare_q = np.zeros(self.nq)
        self._parameters = np.zeros(engine.PARAMETERS)
        self._probes: dict[tuple[str, bytes], Probe] = {}

    def make_work(self, dtype: type = np.float64) -> layout.Work:
        """A workspace of the kernels for this robot."""
        return layout.make_work(self._assembly.tables, dtype, **self._assembly.loading.work_sizes)

    def header_position(self, family: str) -> int:
        """Where the header of the packed tables has those of a family of loads."""
        return self._position[family]

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
        return tuple(self._coordinate_units)

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """Units of the entries of q, (nq,); "–" for quaternions and for strains without unit."""
        return tuple(self._coordinate_units.values())

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
    def prescribed(self) -> dict[str, tuple[Any, Any, str]]:
        """Where coordinates and velocities of prescribed joints are, and their kind, by the name of their motion.

        The kind is "numbers" for ordinary coordinates, "spherical" or "free".
        """
        out: dict[str, tuple[Any, Any, str]] = {}
        for name, motion in self._robot.motions.items():
            info = self._assembly.links[motion.link]
            joint = info.link.joint
            first, last = (0, joint.nv) if motion.dof is None else (motion.dof, motion.dof + 1)
            if joint.kind == "screws":
                out[name] = slice(info.q0 + first, info.q0 + last), slice(info.v0 + first, info.v0 + last), "numbers"
            else:
                out[name] = slice(info.q0, info.q0 + joint.nq), slice(info.v0, info.v0 + joint.nv), joint.kind
        return out

    @property
    def held_tendons(self) -> dict[str, int]:
        """Numbers of the tendons of prescribed length, by name."""
        return {name: k for k, (name, t) in enumerate(self._robot.tendons.items()) if t.control == "length"}

    @property
    def last_step(self) -> tuple[Array, Array, Array]:
        """Last correction, weights of the tolerance and error estimate, each (nv,), of the integrator's step just tried."""
        return self._work.newton[1], self._work.newton[3], self._work.newton[4]

    @property
    def hold(self) -> Array:
        """Which tendons have a prescribed length in the next step, and that length, (tendons, 2); written by solvers."""
        return self._work.hold

    def neutral(self) -> Array:
        """The reference configuration: rods undeformed, joints at zero or identity, shape (nq,)."""
        q = np.zeros(self.nq)
        for q0, _v0, _kind in self._assembly.spatial:
            q[q0] = 1.0
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
        for q0, _v0, _kind in self._assembly.spatial:
            quaternion = rng.normal(size=4)
            q[q0 : q0 + 4] = quaternion / np.linalg.norm(quaternion)
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
        c = self.internal
        manifold.integrate_q(c.shift, c.spatial, self.check_q(q), self.check_v("dv", dv), out)
        return out

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """The dv (nv,) for which integrate(q0, dv) is q1."""
        out = np.empty(self.nv)
        c = self.internal
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

    def _check_bounds(self, u: Array) -> None:
        """Error if an input is beyond its bounds; for example if a tendon is asked to push."""
        if (u < self._lower).any() or (self._has_upper and (u > self._upper).any()):
            k = int(np.argmax((u < self._lower) | (u > self._upper)))
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

    def _anchor(self, frame: FrameLike) -> Anchor:
        return anchor_of(self._assembly, self._robot.resolve(frame, field="frame"))

    def run_job(
        self,
        job: np.int64,
        q: Array,
        v: Array | None = None,
        a: Array | None = None,
        u: Array | None = None,
        tau: Array | None = None,
        *,
        b: Array | None = None,
        force: Array | None = None,
        acceleration: Array | None = None,
        p: Array | None = None,
        S: Array | None = None,
        q1: Array | None = None,
    ) -> int:
        """Run a job of the engine; see `kernels.engine.run`."""
        zero = self._zero
        spare = self._work.newton
        status = engine.run(
            job,
            *self.packed,
            q,
            zero if v is None else v,
            zero if a is None else a,
            zero if b is None else b,
            self._no_input if u is None else u,
            zero if tau is None else tau,
            self._parameters if p is None else p,
            self._none if S is None else S,
            self.pivot,
            self._spare_q if q1 is None else q1,
            spare[2] if force is None else force,
            spare[3] if acceleration is None else acceleration,
            spare[4],
        )
        self.raise_user_errors()
        return int(status)

    def raise_user_errors(self) -> None:
        """Raise what a user's load raised while a kernel called it."""
        for name, (load, _places) in self._robot.user_loads.items():
            try:
                load.raise_error()
            except BaseException as error:
                error.add_note(f"in the user load {name!r}")
                raise

    @contextmanager
    def scaled_gravity(self, factor: float, *, wrenches: bool = False) -> Iterator[None]:
        """Within the block gravity, and if asked for also constant wrenches, are multiplied by `factor`."""
        gravity, data = self.tables.gravity.copy(), self.wrenches.data.copy()
        self.tables.gravity[:] = factor * gravity
        if wrenches:
            self.wrenches.data[self.wrenches.place[:, P_INPUT] < 0, P_MOMENT:] *= factor
        try:
            yield
        finally:
            self.tables.gravity[:] = gravity
            self.wrenches.data[:] = data
