"""What of a body is drawn, where that is not its shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .. import validate
from ..pose import Pose, as_pose
from .base import Shape
from .mesh_files import read_triangles
from .surface import Triangles

__all__ = ["Visual", "as_visuals"]


@dataclass(frozen=True)
class Visual:
    """A mesh or shape that is drawn for a body; it has no mass and touches nothing.

    Parameters
    ----------
    file : str, optional
        A mesh: .stl, .obj, .glb or .gltf, and with trimesh (``pip install 'pliant[mesh]'``) also .ply, .dae, .off and .3mf.
    shape : Shape, optional
        Or a shape, such as `Box`.
    pose : Pose
        Where its origin is in the body frame.
    scale : float
        Metres per unit of the file; 1e-3 for millimetres.
    color : array (3,), optional
        Red, green and blue from 0 to 1; grey if left out.

    Examples
    --------
    >>> import pliant as pl
    >>> cover = pl.Visual(shape=pl.Box(0.2, 0.1, 0.05), pose=pl.translate(0, 0, 0.02), color=(0.8, 0.3, 0.2))
    >>> robot = pl.Robot("cart")
    >>> cart = robot.add_body("cart", mass=1.0, visual=cover)
    """

    file: str | None = None
    shape: Shape | None = None
    pose: Pose = field(default_factory=Pose)
    scale: float = 1.0
    color: Annotated[ArrayLike, (3,)] | None = None

    units: ClassVar[dict[str, str]] = {"pose": "m", "scale": "–"}

    def __post_init__(self) -> None:
        """Check the values."""
        if (self.file is None) == (self.shape is None):
            raise ValueError("a Visual needs a file or a shape, and not both.")
        if self.file is not None:
            object.__setattr__(self, "file", validate.text("Visual.file", str(self.file)))
        elif not isinstance(self.shape, Shape):
            raise TypeError(f"Visual.shape = {self.shape!r} must be a shape such as Box.")
        object.__setattr__(self, "pose", as_pose(self.pose, name="Visual.pose"))
        object.__setattr__(self, "scale", validate.positive("Visual.scale", self.scale))
        if self.color is not None:
            color = validate.vector("Visual.color", self.color, (3,), hint="Give red, green and blue from 0 to 1.")
            if color.min() < 0.0 or color.max() > 1.0:
                raise ValueError(f"Visual.color = {color.tolist()} is not allowed: each must be from 0 to 1.")
            object.__setattr__(self, "color", tuple(color.tolist()))
        self.triangles  # noqa: B018 (a file that cannot be read is told now, not when something is drawn)

    @cached_property
    def triangles(self) -> Triangles:
        """Its surface in the body frame."""
        if self.shape is not None:
            mesh = self.shape.mesh()
        else:
            assert self.file is not None
            mesh = Triangles(*read_triangles(Path(self.file)))
        return Triangles(self.scale * mesh.vertices, mesh.faces).moved(self.pose.matrix)

    @property
    def rgb(self) -> tuple[int, int, int] | None:
        """The colour from 0 to 255."""
        if self.color is None:
            return None
        red, green, blue = (round(255 * float(c)) for c in np.asarray(self.color))
        return red, green, blue


def as_visuals(given: Any) -> tuple[Visual, ...]:
    """What a user gave to be drawn: a `Visual`, a file, a shape, or several of them."""
    if given is None:
        return ()
    if isinstance(given, (Visual, Shape, str, Path)) or not isinstance(given, Iterable):
        given = [given]
    out = []
    for k, entry in enumerate(given):
        if isinstance(entry, (str, Path)):
            entry = Visual(file=str(entry))
        elif isinstance(entry, Shape):
            entry = Visual(shape=entry)
        if not isinstance(entry, Visual):
            raise TypeError(f"visual[{k}] = {validate.shown(entry)} must be a Visual, a mesh file or a shape.")
        out.append(entry)
    return tuple(out)
