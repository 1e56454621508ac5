"""The result of statics."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.links import Link
from ..model.validate import choice
from ..system import Axes, Contacts, FrameLike, Given, System
from ..system.contacts import find_contacts
from ..system.reactions import link_number, reactions
from .stability import Stability

if TYPE_CHECKING:
    from ..viz.live import Viewer

__all__ = ["Equilibrium"]

Array = NDArray[np.float64]

_KINDS = {
    "stable": "stable equilibrium",
    "neutral": "neutral equilibrium",
    "divergence": "UNSTABLE equilibrium (divergence)",
    "flutter": "UNSTABLE equilibrium (flutter)",
    "unknown": "equilibrium of unknown stability",
}


@dataclass(frozen=True)
class Equilibrium:
    """Result of `solve_statics`.

    Attributes
    ----------
    q : ndarray (nq,)
        The equilibrium, or the best configuration found.
    u : ndarray (nu,)
        Inputs that hold it.
    tau : ndarray (nv,)
        Further generalised forces that hold it.
    success : bool
        Whether the tolerance was met: q is an equilibrium, of whatever stability.
    stability : {"stable", "neutral", "divergence", "flutter", "unknown"}
        What small disturbances do. "stable": they stay small. "neutral": nothing holds some direction. "divergence":
        they grow without oscillation. "flutter": they grow as an oscillation. "unknown": q is no equilibrium, nobody asked (``stable=None``), or
        rounding hides it, with a warning. Where all forces have a potential the stiffness decides, elsewhere the motion; see *Notes*.
    residual : float
        Largest scaled residual, relative to the largest scaled force of any kind (weight, elastic, loads, tau), or to
        the force of a unit scaled motion if that is larger.
    iterations : int
        Newton iterations in all.
    load_steps : int
        Load steps that were needed (1: a direct solve).
    message : str
        What was found, or why the iteration stopped and what to try.
    multipliers : ndarray (rows,)
        Forces of loop joints, in the order of `System.loop_rows`; see `System.loop_wrench`.
    memory : ndarray (nz,)
        Internal variables of loads, such as how far contacts that stick are strained.
    since, before : ndarray (nq,), (nz,)
        Coordinates and internal variables of the start, from which what sticks is strained; empty for a robot that remembers nothing.
    warnings : tuple of str
        What a user should know about the result, each a sentence.
    system : System or None
        What is in equilibrium, for `view` and `save_html`; not copied to other processes.

    Notes
    -----
    With a potential, the equilibrium is stable if the tangent stiffness K is positive definite on the directions that
    prescribed joints, lengths and loops leave free. Without one (follower wrenches, moments, currents, user loads) the
    eigenvalues λ of ``λ² M + λ D + K`` decide, with the unsymmetric K and the robot's own damping D: a real λ > 0 is
    divergence, a complex one with Re λ > 0 flutter. So damping that destabilises (Ziegler 1952) is taken into account; a
    robot without damping is called stable while all λ are on the imaginary axis. Slow ones are found by themselves, however fast and damped others are.
    """

    q: Array
    u: Array
    tau: Array
    success: bool
    stability: Stability
    residual: float
    iterations: int
    load_steps: int
    message: str
    multipliers: Array = field(default_factory=lambda: np.zeros(0))
    warnings: tuple[str, ...] = ()
    system: System | None = field(default=None, repr=False, compare=False)
    memory: Array = field(default_factory=lambda: np.zeros(0))
    since: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    before: Array = field(default_factory=lambda: np.zeros(0), repr=False)

    @property
    def stable(self) -> bool:
        """Whether the equilibrium is stable; neutral ones are not."""
        return self.stability == "stable"

    @property
    def kind(self) -> str:
        """What it is, in a few words: what `print` begins with."""
        return _KINDS[self.stability] if self.success else "NOT converged"

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the system, which may hold functions that cannot be pickled."""
        return {**self.__dict__, "system": None}

    def view(self, **options: Any) -> Viewer:
        """Show the shape on a page in the browser; options as of `Result.view`: host, port, color, blocking."""
        from ..viz.show import show

        return show(self._known_system(), self.q, u=self.u, **options)

    def save_html(self, path: str | Path, *, color: str | None = None) -> Path:
        """Write the shape to one HTML file that any browser shows, without a network; `color` as of `Result.view`."""
        from ..viz.show import save_html

        return save_html(self._known_system(), path, self.q, u=self.u, color=color)

    def _known_system(self) -> System:
        if self.system is None:
            raise ValueError(
                "this equilibrium does not know its system (it was pickled, or made by hand); use pliant.show(system, rest.q)."
            )
        return self.system

    # ------------------------------------------------------------ questions

    def pose(self, frame: FrameLike) -> Array:
        """Pose of a frame in the world, (4, 4).

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> rest = pl.solve_statics(robot.compile())
        >>> rest.pose("arm.tip").shape
        (4, 4)
        >>> print(f"{1000 * rest.position(arm.tip)[2]:.0f} mm")
        -291 mm
        """
        return self._known_system().pose(frame, self.q)

    def position(self, frame: FrameLike) -> Array:
        """Position of a frame in the world [m], (3,)."""
        return self.pose(frame)[:3, 3]

    @property
    def positions(self) -> dict[str, Array]:
        """Positions [m] of every named frame: bodies, bases and tips of rods, and frames that were added."""
        system = self._known_system()
        rods = {link.name for link in system.robot.links if link.is_rod}
        return {name: self.position(name) for name in system.frames if name not in rods}

    def strain(self, rod: str | Link, X: ArrayLike | int = 50) -> Array:
        """Strain along a rod, (m, 6) [rad/m, –]; see `System.strain`."""
        return self._known_system().strain(rod, self.q, X)

    def stress(self, rod: str | Link, X: ArrayLike | int = 50) -> Array:
        """Elastic internal wrench along a rod, (m, 6) [N m, N]; see `System.stress`."""
        return self._known_system().stress(rod, self.q, X)

    @property
    def energy(self) -> float:
        """Potential energy [J]: of gravity and buoyancy, and elastic."""
        system = self._known_system()
        memory = self.memory if len(self.memory) else None
        return system.gravitational_energy(self.q) + system.elastic_energy(self.q, self.u, memory=memory)

    @property
    def contacts(self) -> Contacts:
        """Where the robot touches something, and with which forces; see `System.contacts`."""
        system = self._known_system()
        memory = self.memory if len(self.memory) else None
        return find_contacts(system, self.q, np.zeros(system.nv), 0.0, Given(memory=memory))

    def joint_wrench(self, link: str | Link, *, axes: Axes = "joint") -> Array:
        """Wrench [moment; force] that a link gets through its joint, (6,) [N m, N]; see `System.joint_wrench`.

        Examples
        --------
        >>> import pliant as pl
        >>> robot = pl.Robot("lamp")
        >>> stand = robot.add_body("stand", joint=pl.Revolute("y", stiffness=40.0), mass=2.0, com=(0.3, 0, 0))
        >>> rest = pl.solve_statics(robot.compile())
        >>> print(rest.joint_wrench("stand", axes="world").round(3))  # the spring holds it
        [ 0.    -5.824  0.     0.     0.    19.62 ]
        """
        system = self._known_system()
        choice("axes", axes, ("joint", "world"))
        number, still = link_number(system, link), np.zeros((1, system.nv))
        found = reactions(system, self.q[None], still, still, self.u[None], self.multipliers[None], axes)
        return np.asarray(found[0, number])

    def loop_wrench(self, loop: str, *, axes: Axes = "joint") -> Array:
        """Reaction [moment; force] of a loop joint on its second frame, (6,) [N m, N]; see `System.loop_wrench`."""
        return self._known_system().loop_wrench(loop, self.q, self.multipliers, axes=axes)

    def __str__(self) -> str:
        """One line, and one more for each warning."""
        line = f"{self.kind}: residual {self.residual:.1e} after {self.iterations} iterations ({self.message})"
        return "\n".join([line, *(f"  warning: {text}" for text in self.warnings)])

    def plot_shape(self, **options: Any) -> Any:
        """Draw the robot in this equilibrium; see `pliant.viz.drawing.plot_shape`."""
        from ..viz.drawing import plot_shape

        return plot_shape(self._known_system(), self.q, **options)

    def plot_strains(self, strain: str, rod: str | Link | None = None, **options: Any) -> Any:
        """Plot a strain along a rod (the only one if left out); see `pliant.viz.plots.plot_strain`."""
        from ..viz.plots import plot_strain

        return plot_strain(self._known_system(), self.q, strain, rod, **options)

    def save_gltf(self, path: str | Path, *, stations: int | None = None) -> Path:
        """Write the shape to a .glb file for Blender and other programs; see `Result.save_gltf`."""
        from ..viz.geometry import build_scene
        from ..viz.gltf import write_gltf
        from ..viz.recording import record

        scene = build_scene(self._known_system(), stations=stations)
        return write_gltf(record(scene, self.q, u=self.u), path)

    def _repr_html_(self) -> str:
        """A picture and the main facts, for notebooks."""
        from ..viz.notebook import equilibrium_html

        return equilibrium_html(self)
