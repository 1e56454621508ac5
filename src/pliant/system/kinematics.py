"""Where things are and how they move."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import lie
from ..compile.assembly import LinkInfo
from ..compile.places import Anchor
from ..compile.rods import block_integrals, step_values
from ..kernels import layout
from ..kernels.recursion import kinematics as kernels
from ..model.links import Link, Rod
from ..model.rods.quadrature import Grid
from ..model.validate import choice, integer
from .core import Array, Core, FrameLike, Probe, Reference

__all__ = ["Kinematics"]


class Kinematics(Core):
    """Poses, twists, accelerations, Jacobians; strains and stresses of rods."""

    def pose(self, frame: FrameLike, q: ArrayLike) -> Array:
        """Pose of a frame in the world, 4×4.

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
        >>> q = system.neutral()
        >>> q[4] = -2.0  # constant bending about y [rad/m]: upwards
        >>> print(system.pose("arm.tip", q)[:3, 3].round(4))
        [0.3587 0.     0.1516]
        """
        return self._motion(self._anchor(frame), q, self._zero, self._zero)[0]

    def twist(self, frame: FrameLike, q: ArrayLike, v: ArrayLike, *, reference: Reference = "body") -> Array:
        """Twist of a frame, [angular; linear], shape (6,).

        `reference` "body": in the frame's own axes. "world": angular velocity and velocity of the frame's origin, in
        world axes.
        """
        choice("reference", reference, ("body", "world"))
        g, V, _A = self._motion(self._anchor(frame), q, self.check_v("v", v), self._zero)
        return _express(g, V, reference)

    def acceleration(
        self, frame: FrameLike, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, reference: Reference = "body"
    ) -> Array:
        """Acceleration of a frame (without gravity), [angular; linear], shape (6,).

        "body": the time derivative of the body twist. "world": angular acceleration and second derivative of the
        frame's position in world axes.
        """
        choice("reference", reference, ("body", "world"))
        g, V, A = self._motion(self._anchor(frame), q, self.check_v("v", v), self.check_v("a", a))
        if reference == "body":
            return _express(g, A, "body")
        out = _express(g, A, "world")
        out[3:] += np.cross(V[:3], _express(g, V, "world")[3:])
        return out

    def jacobian(self, frame: FrameLike, q: ArrayLike, *, reference: Reference = "body") -> Array:
        """Jacobian J (6, nv) of a frame: twist = J v, in the same `reference` as `twist`.

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
        >>> J = system.jacobian("arm.tip", system.neutral(), reference="world")
        >>> J.shape
        (6, 12)
        >>> print(J[5, 4].round(3))  # bending up by 1 rad/m lifts the tip by ½ L²
        -0.08
        """
        choice("reference", reference, ("body", "world"))
        anchor = self._anchor(frame)
        J = np.empty((6, self.nv))
        kernels.jacobian(self.tables, self._work, self.check_q(q), anchor.step, J)
        return _express(self._relative_pose(anchor), J, reference)

    def jacobian_rate(self, frame: FrameLike, q: ArrayLike, v: ArrayLike, *, reference: Reference = "body") -> Array:
        """Time derivative of `jacobian` along v, (6, nv)."""
        choice("reference", reference, ("body", "world"))
        anchor = self._anchor(frame)
        J, R, _W, Y = self._frame_columns(anchor, q, v, self._zero)
        g = self._relative_pose(anchor)
        V = self._work.state[anchor.step, layout.VE : layout.VE + 6].copy()
        rate = Y - R
        if reference == "body":
            return _express(g, rate - lie.ad(V) @ J, "body")
        out = _express(g, rate, "world")
        out[3:] -= lie.skew(_express(g, V, "world")[3:]) @ J[:3]
        return out

    def rod_poses(self, rod: str | Link, q: ArrayLike, X: ArrayLike | int = 50) -> Array:
        """Poses along a rod, shape (m, 4, 4).

        Parameters
        ----------
        rod : str
            Name of the rod.
        q : array (nq,)
        X : int or array (m,)
            Number of equidistant points, or the points themselves in [0, 1].

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
        >>> system.rod_poses("arm", system.neutral(), 20).shape
        (20, 4, 4)
        >>> print(system.rod_poses("arm", system.neutral(), [0.0, 0.5, 1.0])[:, 0, 3])
        [0.  0.2 0.4]
        """
        return self._rod_motion(rod, X, q, self._zero, self._zero)[0]

    def rod_twists(self, rod: str | Link, q: ArrayLike, v: ArrayLike, X: ArrayLike | int = 50) -> Array:
        """Body twists along a rod, shape (m, 6)."""
        g, V, _A = self._rod_motion(rod, X, q, self.check_v("v", v), self._zero)
        return np.array([_express(gk, Vk, "body") for gk, Vk in zip(g - self._shift(), V)]).reshape(-1, 6)

    def strain(self, rod: str | Link, q: ArrayLike, X: ArrayLike | int = 50) -> Array:
        """Strain ξ(X) = ξ*(X) + Φ(X) q along a rod, shape (m, 6).

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
        >>> print(system.strain("arm", system.neutral(), [0.5]))
        [[0. 0. 0. 1. 0. 0.]]
        """
        info, _grid, content = self._rod(rod)
        points = _points(X)
        return content.reference(points) + content.strains.matrix(points) @ self.check_q(q)[info.rod_q]

    def stress(self, rod: str | Link, q: ArrayLike, X: ArrayLike | int = 50) -> Array:
        """Elastic internal wrench Σ(X)(ξ − ξ*) along a rod [N m, N], shape (m, 6)."""
        info, _grid, content = self._rod(rod)
        points = _points(X)
        deviation = content.strains.matrix(points) @ self.check_q(q)[info.rod_q]
        return np.einsum("mij,mj->mi", content.stiffness_at(points), deviation)

    def _shift(self) -> Array:
        """The moving origin as a 4×4 that is subtracted from poses."""
        out = np.zeros((4, 4))
        out[:3, 3] = self._work.origin
        return out

    def _relative_pose(self, anchor: Anchor) -> Array:
        """Pose of an anchor relative to the moving origin, after a kernel ran."""
        row = self._work.state[anchor.step]
        g = np.eye(4)
        g[:3, :3] = row[layout.RE : layout.RE + 9].reshape(3, 3)
        g[:3, 3] = row[layout.PE : layout.PE + 3]
        return g @ anchor.offset.matrix

    def _motion(self, anchor: Anchor, q: ArrayLike, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """Pose, and twist and acceleration (without gravity) at the world's origin in world axes."""
        n = len(self.tables.step) + 1
        pose, twist, accel = np.empty((n, 12)), np.empty((n, 6)), np.empty((n, 6))
        kernels.motion(self.tables, self._work, self.check_q(q), v, a, pose, twist, accel)
        g = self._relative_pose(anchor)
        g[:3, 3] += self._work.origin
        shift = self._work.origin
        V, A = twist[anchor.step], accel[anchor.step]
        A[3:] += self.tables.gravity
        V[3:] -= np.cross(V[:3], shift)
        A[3:] -= np.cross(A[:3], shift)
        return g, V, A

    def _frame_columns(self, anchor: Anchor, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        out = np.empty((4, 6, self.nv))
        kernels.frame_derivatives(
            self.tables, self._work, self.check_q(q), self.check_v("v", v), self.check_v("a", a), anchor.step, out
        )
        return out

    def _rod_motion(
        self, rod: str | Link, X: ArrayLike | int, q: ArrayLike, v: Array, a: Array
    ) -> tuple[Array, Array, Array]:
        """Poses in the world; twists and accelerations at the moving origin."""
        points = _points(X)
        key = (rod.name if isinstance(rod, Link) else rod, points.tobytes())
        if key not in self._probes:
            if len(self._probes) > 64:
                self._probes.clear()
            self._probes[key] = self._probe(rod, points)
        steps, data, phi = self._probes[key]
        n, m = len(self.tables.step) + 1, len(points)
        buffers = np.empty((n, 12)), np.empty((n, 6)), np.empty((n, 6))
        kernels.motion(self.tables, self._work, self.check_q(q), v, a, *buffers)
        pose, twist, accel = np.empty((m, 12)), np.empty((m, 6)), np.empty((m, 6))
        kernels.probe(self.tables, self._work, steps, data, phi, pose, twist, accel)
        g = np.zeros((m, 4, 4))
        g[:, :3, :3] = pose[:, :9].reshape(m, 3, 3)
        g[:, :3, 3] = pose[:, 9:]
        g[:, 3, 3] = 1.0
        return g, twist, accel

    def _probe(self, rod: str | Link, X: Array) -> Probe:
        """Partial steps that lead from computational points to the points X of a rod."""
        info, grid, content = self._rod(rod)
        if content.integration == "spectral":
            return self._spectral_probe(info, grid, content, X)
        k = np.clip(np.searchsorted(grid.X, X, side="left") - 1, 0, len(grid.X) - 2)
        x0 = grid.X[k]
        values, xi = step_values(content, x0, X)
        h = (X - x0) * content.length
        data = np.zeros((len(X), layout.DATA_WIDTH))
        data[:, layout.D_H] = h
        data[:, layout.D_C] = np.sqrt(3.0) / 12.0 * h * h if content.magnus == 4 else 0.0
        data[:, layout.D_XI1 : layout.D_XI1 + 6] = xi[0]
        data[:, layout.D_XI2 : layout.D_XI2 + 6] = xi[1]
        values = np.ascontiguousarray(values.transpose(1, 0, 2))  # one layout, or the kernel is compiled for each
        steps = np.array([info.anchors[i + 1].step for i in k], dtype=np.int64)
        phi = np.zeros_like(values)
        for p, step in enumerate(steps):
            block = self.tables.block[self.tables.step[step, layout.S_BLOCK]]
            columns = self.tables.col_v[block[layout.COL0] : block[layout.COL0] + block[layout.COLS]]
            phi[p, :, : len(columns)] = values[p][:, columns - info.rod_v.start]
        return steps, data, phi

    @staticmethod
    def _spectral_probe(info: LinkInfo, grid: Grid, content: Rod, X: Array) -> Probe:
        """First steps of the blocks that hold the points X of a spectral rod, and integrals up to the points."""
        starts = np.array([first for first, _last in grid.elements])
        k = np.clip(np.searchsorted(grid.X[starts], X, side="left") - 1, 0, len(starts) - 1)
        rows = []
        for e, x in zip(k, X[:, None]):
            first, last = grid.elements[e]
            rows.append(block_integrals(content, grid, first, last, x))
        phi = np.zeros((len(X), 2, max((row.shape[1] for row in rows), default=0)))
        for p, row in enumerate(rows):
            phi[p, :, : row.shape[1]] = row
        steps = np.array([info.anchors[starts[e] + 1].step for e in k], dtype=np.int64)
        return steps, np.zeros((len(X), layout.DATA_WIDTH)), phi


def _express(g: Array, X: Array, reference: Reference) -> Array:
    """A twist (or columns of twists) at the origin and in world axes, seen from the frame g."""
    out = X.copy()
    out[3:] += np.cross(X[:3], g[:3, 3], axis=0) if X.ndim == 1 else -lie.skew(g[:3, 3]) @ X[:3]
    if reference == "body":
        out[:3] = g[:3, :3].T @ out[:3]
        out[3:] = g[:3, :3].T @ out[3:]
    return out


def _points(X: ArrayLike | int) -> Array:
    if isinstance(X, (int, np.integer)) and not isinstance(X, bool):
        return np.linspace(0.0, 1.0, integer("X", X, minimum=2, hint="A number of points, or an array of X in [0, 1]."))
    try:
        points = np.atleast_1d(np.asarray(X, dtype=float))
    except (TypeError, ValueError):
        raise TypeError(f"X = {X!r} must be a number of points, or an array of points in [0, 1].") from None
    if points.ndim != 1 or not np.all((points >= 0) & (points <= 1)):
        raise ValueError(f"X = {X!r} is not allowed: points along a rod lie in [0, 1] (fraction of its length).")
    return points
