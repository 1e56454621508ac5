"""What a simulation returns: the motion, how it was computed, and questions about it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.links import Link
from ..model.validate import choice, finite, printable
from ..system import Axes, Contacts, FrameLike, Given, Momentum, System, needs_system, numbers
from ..system.contacts import find_contacts
from ..system.dynamics import residual
from ..system.reactions import link_number, reactions
from .closure import close, held
from .drive import State
from .exchange import contact_variables, reaction_variables, unit_coordinates
from .interpolate import between
from .law_balance import LawBalance
from .table import columns_of, write_csv

if TYPE_CHECKING:
    from ..viz.live import Viewer

__all__ = ["Energies", "Event", "Result", "Statistics"]

Array = NDArray[np.float64]


@dataclass
class Statistics:
    """How much work a simulation took: accepted steps, rejected ones (`failed` of them because Newton's iteration did), …

    `switches` counts how often cables of prescribed length fell slack or became taut.
    """

    steps: int = 0
    rejected: int = 0
    iterations: int = 0
    factorisations: int = 0
    residuals: int = 0
    failed: int = 0
    switches: int = 0
    wall_time: float = 0.0

    def __str__(self) -> str:
        """One line."""
        switches = f"{self.switches} times a cable fell slack or became taut, " if self.switches else ""
        return (
            f"{self.steps} steps ({self.rejected} rejected), {self.iterations} Newton iterations, "
            f"{self.factorisations} factorisations, {switches}{self.wall_time:.3g} s"
        )


@dataclass(frozen=True)
class Event:
    """A root of an event function: its name, time and state."""

    name: str
    t: float
    q: Array
    v: Array


@dataclass(frozen=True)
class Energies:
    """Energies over time [J], each (nt,)."""

    kinetic: Array
    gravitational: Array
    elastic: Array

    @property
    def total(self) -> Array:
        """Their sum."""
        return self.kinetic + self.gravitational + self.elastic


@dataclass(frozen=True)
class Result:
    """The motion of a system.

    Attributes
    ----------
    system : System
    t : ndarray (nt,)
        Times [s].
    q : ndarray (nt, nq)
        Coordinates.
    v : ndarray (nt, nv)
        Velocities.
    a : ndarray (nt, nv)
        Accelerations.
    u : ndarray (nt, nu)
        Inputs.
    tau : ndarray (nt, nv)
        Further generalised forces.
    success : bool
        Whether the end was reached (or an event stopped the run).
    message : str
        Why it stopped; advice if it failed.
    events : tuple of Event
    statistics : Statistics
    method : str
    multipliers : ndarray (nt, rows)
        Forces of loop joints, in the order of `System.loop_rows`; see `System.loop_wrench`.
    memory : ndarray (nt, nz)
        Internal variables of loads: friction that sticks, materials with memory.
    control : ndarray (nt, n)
        States of controllers, in the order of `control_names`.
    control_names : tuple of str
        What they are, such as ``"u['valve']: lagged"``.
    warnings : tuple of str
        What to know before trusting the result: steps that were subdivided, checkpoints that failed, why it was slow.
    final : State or None
        Time, coordinates and velocities where the run ended, also if no output was asked for there; `simulate` goes on
        from it. None if that is the last stored time.
    error : Exception or None
        What a function of the user raised, if that ended the run; not saved.
    """

    system: System
    t: Array
    q: Array
    v: Array
    a: Array
    u: Array
    tau: Array
    success: bool
    message: str
    events: tuple[Event, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)
    method: str = ""
    multipliers: Array = field(default_factory=lambda: np.zeros((0, 0)))
    warnings: tuple[str, ...] = ()
    final: State | None = None
    error: Exception | None = field(default=None, repr=False, compare=False)
    memory: Array = field(default_factory=lambda: np.zeros((0, 0)))
    control: Array = field(default_factory=lambda: np.zeros((0, 0)))
    control_names: tuple[str, ...] = ()

    def __str__(self) -> str:
        """A few lines: what was run, how it went, how fast."""
        last = self.last
        duration = last.t - float(self.t[0]) if len(self.t) else 0.0
        rate = duration / self.statistics.wall_time if self.statistics.wall_time > 0 else float("inf")
        e = self.system
        lines = [
            f"{self.system.name}: {duration:.6g} s by {self.method}, {self.message}",
            f"  {self.statistics} = {rate:.3g} simulated seconds per second",
            f"  final energy: kinetic {e.kinetic_energy(last.q, last.v):.4g} J, gravitational "
            f"{e.gravitational_energy(last.q):.4g} J, elastic {e.elastic_energy(last.q, self._last_u, memory=last.memory):.4g} J",
        ]
        lines += [f"  event {event.name!r} at t = {event.t:.6g} s" for event in self.events]
        lines += [f"  warning: {text}" for text in self.warnings]
        return printable("\n".join(lines))  # a file may say anything

    def __len__(self) -> int:
        """Number of stored times."""
        return len(self.t)

    @property
    def last(self) -> State:
        """Time, coordinates and velocities where the run ended."""
        if self.final is not None:
            return self.final
        if not len(self.t):
            raise ValueError(f"this result holds no state ({self.message}).")
        memory, control = (x[-1] if x.size else None for x in (self.memory, self.control))
        return State(float(self.t[-1]), self.q[-1], self.v[-1], memory, control)

    # ------------------------------------------------------------ questions

    def poses(self, frame: FrameLike) -> Array:
        """Pose of a frame at every time, (nt, 4, 4)."""
        return self.system.pose(frame, self.q)

    def positions(self, frame: FrameLike) -> Array:
        """Position of a frame at every time [m], (nt, 3).

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
        >>> run = pl.simulate(system, 0.5, output=0.1)
        >>> run.positions("arm.tip").shape
        (6, 3)
        """
        return self.poses(frame)[:, :3, 3]

    def energies(self) -> Energies:
        """Energies at every time."""
        s = self.system
        return Energies(
            np.array([s.kinetic_energy(q, v) for q, v in zip(self.q, self.v)]),
            np.array([s.gravitational_energy(q) for q in self.q]),
            np.array([s.elastic_energy(q, self.u[k], memory=self.given(k).memory) for k, q in enumerate(self.q)]),
        )

    @property
    def _last_u(self) -> Array | None:
        return self.u[-1] if len(self.u) else None

    @overload
    def contacts(self, t: float) -> Contacts: ...

    @overload
    def contacts(self, t: Sequence[float] | Array | None = None) -> list[Contacts]: ...

    def contacts(self, t: float | Sequence[float] | Array | None = None) -> Contacts | list[Contacts]:
        """Where the robot touches something, and with which forces: at a time [s], at several, or at all stored times.

        Examples
        --------
        >>> import pliant as pl
        >>> robot = pl.Robot("marble")
        >>> marble = robot.add_body("marble", joint=pl.Free(), shape=pl.Sphere(0.01), mass=0.02)
        >>> floor = robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.02))
        >>> rolling = robot.add_contact("rolling", marble, "floor", stiffness=1e3, damping=10.0)
        >>> run = pl.simulate(robot.compile(), 1.0, output=0.1)
        >>> len(run.contacts(0.0)), len(run.contacts(1.0)), len(run.contacts())
        (0, 1, 11)
        >>> print(f"{run.contacts(1.0).normal_force[0]:.2f} N")  # its weight
        0.20 N
        """
        at = self if t is None else self.resample(t)
        found = [find_contacts(self.system, q, v, 0.0, at.given(k)) for k, (q, v) in enumerate(zip(at.q, at.v))]
        return found if t is None or np.ndim(t) else found[0]

    def momenta(self) -> Momentum:
        """Angular momentum about the world's origin and linear momentum at every time, each (nt, 3); by name or in this order."""
        pairs = [self.system.momentum(q, v) for q, v in zip(self.q, self.v)]
        return Momentum(*(np.array(part).reshape(len(pairs), 3) for part in zip(*pairs)))

    def reactions(self, axes: Axes = "joint") -> Array:
        """Wrenches [moment; force] that all links get through their joints at every time, (nt, links, 6) [N m, N].

        In the order of `System.links`; see `joint_wrench`.
        """
        choice("axes", axes, ("joint", "world"))
        forces = self.multipliers.reshape(len(self), -1) if self.multipliers.size else np.zeros((len(self), 0))
        return reactions(self.system, self.q, self.v, self.a, self.u, forces, axes)

    def joint_wrench(self, link: str | Link, *, axes: Axes = "joint") -> Array:
        """Wrench [moment; force] that a link gets through its joint at every time, (nt, 6) [N m, N]; see `System.joint_wrench`.

        Examples
        --------
        >>> import numpy as np
        >>> import pliant as pl
        >>> robot = pl.Robot("pendulum")
        >>> rod = robot.add_body(
        ...     "rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
        ... )
        >>> run = pl.simulate(robot.compile(), 1.0, output=0.01)  # let go level
        >>> force = run.joint_wrench("rod", axes="world")[:, 3:]
        >>> print(f"{np.linalg.norm(force, axis=1).max() / (0.3 * 9.81):.2f} times its weight")  # 5/2 for a thin rod
        2.50 times its weight
        """
        number = link_number(self.system, link)
        return self.reactions(axes)[:, number]

    def loop_wrench(self, loop: str, *, axes: Axes = "joint") -> Array:
        """Reaction [moment; force] of a loop joint on its second frame at every time, (nt, 6); see `System.loop_wrench`."""
        s = self.system
        pairs = zip(self.q, self.multipliers)
        return np.array([s.loop_wrench(loop, q, m, axes=axes) for q, m in pairs]).reshape(-1, 6)

    def _residual(self, k: int) -> Array:
        """The residual at a stored time, with the forces of loop joints."""
        return residual(self.system, self.q[k], self.v[k], self.a[k], self.u[k], self.tau[k], self.given(k))

    def given(self, k: int) -> Given:
        """What acts at a stored time beside inputs and forces: forces of loops, and what loads remember."""
        forces, memory = (x[k] if x.size else None for x in (self.multipliers, self.memory))
        return Given(forces, memory=memory)

    def prescribed_forces(self) -> dict[str, Array]:
        """Generalised forces that drive prescribed joints, by the name of their motion, each (nt, dof) [N m, N].

        Spherical and free joints: moment and force in the axes of the moved frame. Of a loop: the multipliers of its coordinates.
        """
        system = self.system
        out = {name: self.multipliers[:, rows] for name, rows in system.told_rows.items()}
        if system.prescribed:
            forces = np.array([self._residual(k) for k in range(len(self.t))]).reshape(len(self.t), system.nv)
            out |= {name: forces[:, place_v] for name, (_q, place_v, _kind) in system.prescribed.items()}
        return {name: out[name] for name in system.robot.motions}

    def power_balance(self) -> dict[str, Array]:
        """Energy and the works done, over time [J]: total energy, dissipated, input work, and what does not balance.

        The input work is that of all actuators and loads besides gravity and buoyancy (negative for drag, friction and
        what contacts and elastic tendons store), of tau, and of what drives prescribed coordinates. Works are integrated
        with the trapezoidal rule over the stored times. Rods with a law: what they store is part of the energy, what they do not give back is
        dissipated, and what changes of active strains do is part of the input work.
        """
        system = self.system
        D = system.damping_matrix()
        dissipation = np.einsum("ti,ij,tj->t", self.v, D, self.v)
        power = np.empty(len(self.t))
        laws = LawBalance(self)
        for k, (q, v, a) in enumerate(zip(self.q, self.v, self.a)):
            inner = system.inverse_dynamics(q, v, a) + laws.elastic(k) + D @ v
            r = self._residual(k)
            r[system.known] = 0.0  # there it is the force that drives the coordinate, which does work too
            power[k] = v @ (inner - r)
        h = np.diff(self.t)

        def work(p: Array) -> Array:
            return np.concatenate([[0.0], np.cumsum(0.5 * h * (p[1:] + p[:-1]))])

        total = self.energies().total
        lost, done = work(dissipation), work(power)
        float_energy = np.array([system.buoyancy_energy(q) for q in self.q])
        done = done + float_energy - float_energy[0]  # part of the energy, not of the input
        if laws.present:
            active = laws.active_work()
            lost, done = lost + work(laws.power) + active - laws.energy + laws.energy[0], done + active
        return {"energy": total, "dissipated": lost, "input": done, "imbalance": total - total[0] + lost - done}

    def resample(self, t: ArrayLike) -> Result:
        """The motion at other times within the run, by Hermite interpolation on the manifold of the coordinates.

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
        >>> run = pl.simulate(system, 0.5)
        >>> run.resample([0.1, 0.2]).t
        array([0.1, 0.2])
        """
        times = np.atleast_1d(numbers("t", t))
        if times.ndim != 1 or not len(times) or not np.all(np.isfinite(times)):
            raise ValueError(f"t = {t!r} must be one or several finite times [s].")
        if len(self.t) == 1 and np.all(times == self.t[0]):
            k = np.zeros(len(times), dtype=int)
            forces, memory, control = (x[k] if len(x) else x for x in (self.multipliers, self.memory, self.control))
            return replace(
                self, t=times, q=self.q[k], v=self.v[k], a=self.a[k], u=self.u[k], tau=self.tau[k], multipliers=forces,
                memory=memory, control=control, final=None,
            )  # fmt: skip
        if len(self.t) < 2:
            raise ValueError(f"a result with {len(self.t)} stored times cannot be resampled ({self.message}).")
        slack = 1e-12 * max(1.0, abs(float(self.t[-1])))
        if times.min() < self.t[0] - slack or times.max() > self.t[-1] + slack:
            raise ValueError(f"times must lie within the run, {self.t[0]:g} to {self.t[-1]:g} s.")
        k = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.t) - 2)
        order = np.argsort(times)
        q, v = np.empty((len(times), self.system.nq)), np.empty((len(times), self.system.nv))
        rough = np.zeros(len(self.t))
        q[order], v[order], _a = between(self.system, self.t, self.q, self.v, self.a, rough, times[order])
        if self.system.loop_rows:
            q = np.array([close(self.system, row, told=held(self.system, row))[0] for row in q])
        s = ((times - self.t[k]) / (self.t[k + 1] - self.t[k]))[:, None]
        memory = self.memory
        if len(memory):  # some are set once in a step, and hold until its end
            linear = (1 - s) * memory[k] + s * memory[k + 1]
            memory = np.where(self.system.steady, np.where(s > 0, memory[k + 1], memory[k]), linear)
        return Result(
            self.system,
            times,
            q,
            v,
            (1 - s) * self.a[k] + s * self.a[k + 1],
            (1 - s) * self.u[k] + s * self.u[k + 1],
            (1 - s) * self.tau[k] + s * self.tau[k + 1],
            self.success,
            self.message,
            self.events,
            self.statistics,
            self.method,
            (1 - s) * self.multipliers[k] + s * self.multipliers[k + 1] if len(self.multipliers) else self.multipliers,
            self.warnings,
            error=self.error,
            memory=memory,
            control=(1 - s) * self.control[k] + s * self.control[k + 1] if len(self.control) else self.control,
            control_names=self.control_names,
        )

    # ------------------------------------------------------------ looking at it

    def view(self, *, fps: float = 60.0, frames: int = 1200, **options: Any) -> Viewer:
        """Play the motion on a page in the browser (needs viser).

        Parameters
        ----------
        fps : float
            At most so many pictures for each simulated second.
        frames : int
            At most so many pictures in all.
        host : str
            Where the page can be reached from: "127.0.0.1" (default) is this machine only, "0.0.0.0" the network.
        port : int
            Port, 8080 by default; the next free one if it is taken.
        color : str, optional
            What rods are coloured by at first: "curvature", "torsion", "bending_y", "bending_z", "stretch", "shear" or
            "energy" (per metre).
        blocking : bool
            Wait until Ctrl-C, as a script needs that would end otherwise.

        Returns
        -------
        Viewer
            With its `address` and `close()`.
        """
        from ..viz.show import view_result

        return view_result(self, fps=fps, frames=frames, **options)

    def save_html(
        self,
        path: str | Path,
        *,
        fps: float = 60.0,
        frames: int = 600,
        stations: int | None = None,
        autoplay: bool = True,
        color: str | None = None,
    ) -> Path:
        """Write the motion to one HTML file that plays in any browser, without a network or a server.

        Parameters
        ----------
        path : str or Path
            The file; about 1 MB.
        fps, frames
            At most so many pictures for each simulated second, and in all.
        stations : int, optional
            Places along each rod where its section is drawn; by default up to 48.
        autoplay : bool
            Whether it plays at once.
        color : str, optional
            What rods are coloured by at first; see `view`.

        Returns
        -------
        Path
        """
        from ..viz.show import save_result

        return save_result(self, path, fps=fps, frames=frames, stations=stations, autoplay=autoplay, color=color)

    # ------------------------------------------------------------ exchange

    def to_xarray(self) -> Any:
        """As an xarray Dataset with named coordinates (needs xarray)."""
        try:
            import xarray as xr
        except ImportError:
            raise ImportError("to_xarray needs xarray: pip install 'pliant[io]'") from None
        s = self.system
        return xr.Dataset(
            {
                "q": (("t", "coordinate"), self.q),
                "v": (("t", "dof"), self.v),
                "a": (("t", "dof"), self.a),
                "u": (("t", "input"), self.u),
                "tau": (("t", "dof"), self.tau),
                **reaction_variables(self),
                **contact_variables(self),
            },
            coords=unit_coordinates(self),
            attrs={"system": s.name, "method": self.method, "message": self.message},
        )

    def to_dataframe(
        self,
        frames: Iterable[FrameLike] | FrameLike | None = None,
        *,
        velocities: bool = False,
        forces: bool = False,
    ) -> Any:
        """As a pandas DataFrame with a row for each time (needs pandas).

        Parameters
        ----------
        frames : frames, optional
            Whose positions get columns, such as ``["arm.tip", "arm@0.5"]``; every named frame if left out, none if empty.
        velocities : bool
            Also velocities.
        forces : bool
            Also wrenches of all joints and loops (in the axes of the joint), tensions of elastic tendons and the sums of contact forces (world axes).

        Returns
        -------
        DataFrame
            Its index is t [s]. Columns are named as coordinates and inputs, others as ``"arm.tip: position x"``, ``"arm: moment y"``; their units
            are in ``attrs["units"]``.

        Examples
        --------
        >>> import pliant as pl
        >>> robot = pl.Robot("pendulum")
        >>> rod = robot.add_body(
        ...     "rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
        ... )
        >>> end = robot.add_frame("end", rod, offset=(0.5, 0, 0))
        >>> run = pl.simulate(robot.compile(), 0.2, output=0.1)
        >>> table = run.to_dataframe(["end"])
        >>> list(table.columns), table.attrs["units"]["rod.angle"]
        (['rod.angle', 'end: position x', 'end: position y', 'end: position z'], 'rad')
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_dataframe needs pandas: pip install 'pliant[io]'") from None
        columns = columns_of(self, frames, velocities=velocities, forces=forces)
        index = pd.Index(self.t, name="t")
        table = pd.DataFrame({name: column.values for name, column in columns.items()}, index=index)
        table.attrs["units"] = {"t": "s", **{name: column.unit for name, column in columns.items()}}
        return table

    def save_csv(
        self,
        path: str | os.PathLike[str],
        frames: Iterable[FrameLike] | FrameLike | None = None,
        *,
        velocities: bool = False,
        forces: bool = False,
    ) -> Path:
        """Write a table to a CSV file: t, coordinates, inputs, positions of frames, and what else `to_dataframe` has; SI units.

        Examples
        --------
        >>> import pliant as pl
        >>> run = pl.parse_model(pl.io.starter_text()).simulate(duration=0.1, output=0.05)
        >>> run.save_csv("arm.csv", ["arm.tip"], forces=True)  # doctest: +SKIP
        """
        return write_csv(path, self.t, columns_of(self, frames, velocities=velocities, forces=forces))

    def save_gltf(self, path: str | Path, *, fps: float = 60.0, frames: int = 600, stations: int | None = None) -> Path:
        """Write the motion to a .glb file (binary glTF 2.0), which Blender, browsers and game engines play.

        Bodies and obstacles are nodes that move; rods and tendons are skins on the stations along them, so that the file has the shape of
        every picture exactly, and nearly between. Metres and seconds; up is the direction against gravity.

        Parameters
        ----------
        path : str or Path
            Ends with .glb.
        fps, frames, stations
            As of `save_html`.

        Examples
        --------
        >>> import pliant as pl
        >>> run = pl.parse_model(pl.io.starter_text()).simulate(duration=0.1)
        >>> run.save_gltf("arm.glb")  # doctest: +SKIP
        """
        from ..viz.gltf import write_gltf
        from ..viz.recording import record_result

        return write_gltf(record_result(self, fps=fps, frames=frames, stations=stations), path)

    def save_usd(self, path: str | Path, *, fps: float = 30.0, frames: int = 300, stations: int | None = None) -> Path:
        """Write the motion to a .usda file (USD in text), for Blender, Omniverse or Houdini; `save_gltf` writes smaller files.

        Parameters
        ----------
        path : str or Path
            Ends with .usda.
        fps, frames, stations
            As of `save_html`.

        Examples
        --------
        >>> import pliant as pl
        >>> run = pl.parse_model(pl.io.starter_text()).simulate(duration=0.1)
        >>> run.save_usd("arm.usda")  # doctest: +SKIP
        """
        from ..viz.recording import record_result
        from ..viz.usd import write_usd

        return write_usd(record_result(self, fps=fps, frames=frames, stations=stations), path)

    def _repr_html_(self) -> str:
        """A picture and the main facts, for notebooks."""
        from ..viz.notebook import result_html

        return result_html(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to an HDF5 file (needs h5py).

        A file that is there already is replaced at once when the new one is complete and on the disk; if that fails
        (an interrupt, a full disk, a kill), it stays as it is. The file has a checksum and a digest of the robot.
        """
        from .storage import save_result

        save_result(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], system: System, *, check: bool = True) -> Result:
        """Read a file written by `save`, for the same robot.

        Parameters
        ----------
        path : path
        system : System
            The robot of the result.
        check : bool
            Refuse files that were changed after they were written, or written for another robot. False reads what can be
            read, and takes any robot with as many coordinates and inputs for this one.
        """
        from .storage import load_result

        needs_system("Result.load", system)
        return load_result(path, system, check=check)

    # ------------------------------------------------------------ pictures (pliant.viz has the options)

    def plot_shape(self, t: float | None = None, **options: Any) -> Any:
        """Draw the robot at a time [s] (the last if left out); see `pliant.viz.drawing.plot_shape`."""
        from ..viz.drawing import plot_shape

        return plot_shape(self.system, self.q[-1] if t is None else self.resample(finite("t", t)).q[0], **options)

    def plot_snapshots(self, times: int | ArrayLike = 8, **options: Any) -> Any:
        """Draw the robot at several times, coloured by time; see `pliant.viz.drawing.plot_snapshots`."""
        from ..viz.drawing import plot_snapshots

        return plot_snapshots(self, times, **options)

    def plot_trajectory(self, frame: FrameLike, **options: Any) -> Any:
        """Plot the position of a frame over time, or its path; see `pliant.viz.plots.plot_trajectory`."""
        from ..viz.plots import plot_trajectory

        return plot_trajectory(self, frame, **options)

    def plot_tip(self, rod: str | None = None, **options: Any) -> Any:
        """Plot the motion of a rod's tip (of the only rod if left out); see `pliant.viz.plots.plot_trajectory`."""
        from ..viz.plots import plot_tip

        return plot_tip(self, rod, **options)

    def plot_strains(self, strain: str, rod: str | None = None, **options: Any) -> Any:
        """Plot a strain along a rod over time; see `pliant.viz.plots.plot_strains`."""
        from ..viz.plots import plot_strains

        return plot_strains(self, strain, rod, **options)

    def plot_coordinates(self, names: str | Iterable[str] | None = None, **options: Any) -> Any:
        """Plot joint angles and other coordinates over time; see `pliant.viz.plots.plot_coordinates`."""
        from ..viz.plots import plot_coordinates

        return plot_coordinates(self, names, **options)

    def plot_inputs(self, names: str | Iterable[str] | None = None, **options: Any) -> Any:
        """Plot inputs over time; see `pliant.viz.plots.plot_inputs`."""
        from ..viz.plots import plot_inputs

        return plot_inputs(self, names, **options)

    def plot_energies(self, **options: Any) -> Any:
        """Plot energies over time; see `pliant.viz.plots.plot_energies`."""
        from ..viz.plots import plot_energies

        return plot_energies(self, **options)

    def plot_contacts(self, names: str | Iterable[str] | None = None, **options: Any) -> Any:
        """Plot the forces of contacts over time; see `pliant.viz.plots.plot_contacts`."""
        from ..viz.plots import plot_contacts

        return plot_contacts(self, names, **options)

    def plot_multipliers(self, loop: str | Iterable[str] | None = None, **options: Any) -> Any:
        """Plot the forces of loop joints over time; see `pliant.viz.plots.plot_multipliers`."""
        from ..viz.plots import plot_multipliers

        return plot_multipliers(self, loop, **options)

    def plot_reactions(self, names: str | Iterable[str] | None = None, **options: Any) -> Any:
        """Plot forces or moments in joints and loops over time; see `pliant.viz.plots.plot_reactions`."""
        from ..viz.plots import plot_reactions

        return plot_reactions(self, names, **options)

    def plot_prescribed_forces(self, names: str | Iterable[str] | None = None, **options: Any) -> Any:
        """Plot what drives prescribed joints over time; see `pliant.viz.plots.plot_prescribed_forces`."""
        from ..viz.plots import plot_prescribed_forces

        return plot_prescribed_forces(self, names, **options)

    def save_video(self, path: str | Path, **options: Any) -> Path:
        """Write the motion as .gif or .mp4; see `pliant.viz.video.save_video`."""
        from ..viz.video import save_video

        return save_video(self, path, **options)
