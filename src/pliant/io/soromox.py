"""Robots of soromox: its segments as rods, and its coordinates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.joints import Cylindrical, Fixed, Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical
from ..model.links import Frame
from ..model.pose import Pose, PoseLike, as_pose
from ..model.robot import Robot
from ..model.rods.basis import Chebyshev, Fourier, Gaussian, InverseMultiquadric, Legendre, Monomial
from ..model.rods.sections import Circle, Ellipse, Material, Rectangle, Section
from ..model.rods.strains import STRAIN_NAMES, Strains
from ..model.validate import choice, dimensions
from .linkage import ImportedLinkage, Part, joint_part

__all__ = ["from_soromox"]

Array = NDArray[np.float64]
_BASES: dict[str, Any] = {
    "monomial": Monomial,
    "legendre": Legendre,
    "chebyshev": Chebyshev,
    "fourier": Fourier,
    "gaussian": lambda n: Gaussian(n + 1),
    "imq": lambda n: InverseMultiquadric(n + 1),
}
_SECTIONS = (Circle, Rectangle, Ellipse)  # in the order of soromox's numbers


def from_soromox(
    segments: Iterable[Any],
    *,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    base_pose: PoseLike = None,
    scale_rotational_basis_by_length: bool = False,
    name: str = "chain",
) -> ImportedLinkage:
    """A robot from the segments of soromox's GVS models: lengths, sections, materials, joints, strains, points.

    Parameters
    ----------
    segments : list of GVSSegment
        As for `GVS.from_segments`, each with its link, joint, basis and num_gauss_points.
    gravity : array (3,)
        In world axes [m/s²].
    base_pose : pose, or array (7,), optional
        Where the chain begins; soromox's own form is a quaternion (x, y, z, w) and a position. The identity if left out, so that the chain points along x; soromox
        mounts it upright then.
    scale_rotational_basis_by_length : bool
        As given to `GVS.from_segments`.
    name : str

    Returns
    -------
    ImportedLinkage
        `robot`, `warnings`, and the ways between coordinates, `to_pliant(q)` and `from_pliant(q)`.

    Notes
    -----
    Strains, their order and units are the same; arc length is in metres there and a fraction X of the length here. Spherical, planar and free joints have
    exponential coordinates there. Tendons are to be added with `Robot.add_tendon`; a positive tension pulls in both.

    Examples
    --------
    >>> import pliant as pl
    >>> from types import SimpleNamespace as Spec  # stands for soromox's own classes
    >>> link = Spec(
    ...     length=0.4, density=1000.0, cross_section_geometry=0, cross_section_coefficients=(0.02, 0.01),
    ...     cross_section_profile_parameter_counts=(2,), young_modulus=1e6, shear_modulus=None, poisson_ratio=0.5,
    ...     material_damping_coefficient=1e4, stiffness=None, damping=None, reference_strain=[0, 0, 0, 1, 0, 0],
    ... )
    >>> basis = Spec(type="legendre", strain_selector=[0, 1, 1, 0, 0, 0], basis_order=[0, 3, 3, 0, 0, 0])
    >>> found = pl.io.from_soromox([Spec(link=link, joint=Spec(type="fixed"), basis=basis, num_gauss_points=8)])
    >>> found.robot.links[0].content.section
    Circle(radius=(0.02, 0.01))
    """
    robot = Robot(name, gravity=gravity)
    parent, parts = Frame("world", offset=_base(base_pose)), []
    for k, segment in enumerate(segments, start=1):
        joint, columns = _joint(segment.joint)
        parts += joint_part(joint, columns)
        rod, part = _rod(robot, f"link{k}", segment, parent, joint, scaled=scale_rotational_basis_by_length)
        parts.append(part)
        parent = rod.tip
    return ImportedLinkage(robot, parts=tuple(parts))


def _base(given: PoseLike) -> Pose:
    if given is not None and not isinstance(given, Pose) and dimensions(given) == (7,):
        numbers = np.asarray(given, dtype=float)
        return Pose.from_quaternion(np.roll(numbers[:4], 1), numbers[4:])
    return as_pose(given, name="base_pose")


def _rod(robot: Robot, name: str, segment: Any, parent: Frame, joint: Joint, *, scaled: bool) -> tuple[Any, Part]:
    """The rod of a segment, and its coordinates."""
    link, basis = segment.link, segment.basis
    choice(f"{name}: basis", str(basis.type), _BASES)
    modes, orders = (np.asarray(own, dtype=int).ravel() for own in (basis.strain_selector, basis.basis_order))
    strains = Strains(**{s: _BASES[basis.type](int(n)) for s, on, n in zip(STRAIN_NAMES, modes, orders) if on})
    options: dict[str, Any] = {"section": _section(link)}
    if link.stiffness is not None:
        given = np.asarray(link.stiffness, dtype=float)
        if given.shape != (6, 6):
            raise ValueError(
                f"{name}: stiffness has shape {given.shape}; only densities (6, 6) along the rod are read."
            )
        options["stiffness"] = given
    if link.damping is not None:
        options["damping"] = np.asarray(link.damping, dtype=float)
    young = 1.0 if link.young_modulus is None else float(link.young_modulus)
    other = (
        {"shear_modulus": link.shear_modulus}
        if link.shear_modulus is not None
        else {"poisson": link.poisson_ratio or 0.5}
    )
    viscosity = float(link.material_damping_coefficient or 0.0)
    options["material"] = Material(young=young, density=float(link.density), viscosity=viscosity, **other)
    length = float(link.length)
    rod = robot.add_rod(
        name, parent=parent, joint=joint, length=length, strains=strains, points=int(segment.num_gauss_points),
        reference_strain=np.asarray(link.reference_strain, dtype=float), **options,
    )  # fmt: skip
    scale = np.where(strains.components < 3, 1.0 / length, 1.0) if scaled else np.ones(strains.size)
    return rod, Part(strains.size, strains.size, scale)


def _section(link: Any) -> Section:
    numbers, sizes = list(map(float, link.cross_section_coefficients)), []
    for count in link.cross_section_profile_parameter_counts:
        own, numbers = numbers[:count], numbers[count:]
        sizes.append(own[0] if count == 1 else (own[0], own[1]))
    return _SECTIONS[int(link.cross_section_geometry)](*sizes)


def _joint(spec: Any) -> tuple[Joint, Array]:
    """The joint, and the columns of its motions."""
    kind = str(spec.type)
    springs = {}
    for option in ("stiffness", "damping"):
        matrix = np.asarray(getattr(spec, option, []), dtype=float)
        if matrix.size and np.any(matrix):
            springs[option] = matrix if kind in ("spherical", "free") else np.diag(matrix).tolist()
    axis = "xyz".index(getattr(spec, "axis", "x"))
    turn, slide = np.eye(6)[:, axis], np.eye(6)[:, 3 + axis]
    if kind == "fixed":
        return Fixed(), np.zeros((6, 0))
    if kind == "revolute":
        return Revolute(turn[:3], **springs), turn[:, None]
    if kind == "prismatic":
        return Prismatic(turn[:3], **springs), slide[:, None]
    if kind == "helical":
        pitch = float(spec.pitch)  # per radian
        return Helical(turn[:3], 2 * np.pi * pitch, **springs), (turn + pitch * slide)[:, None]
    if kind == "cylindrical":
        return Cylindrical(turn[:3], **springs), np.stack([turn, slide], axis=1)
    if kind == "planar":
        if springs:
            raise ValueError("springs of planar joints act on exponential coordinates there; add them with add_spring.")
        a, b = ("xyz".index(c) for c in spec.plane)
        (normal,) = {0, 1, 2} - {a, b}
        return Planar(np.eye(3)[normal]), np.eye(6)[:, [normal, 3 + a, 3 + b]]
    if kind == "spherical":
        return Spherical(**springs), np.eye(6)[:, :3]
    choice("joint.type", kind, ("free",))
    return Free(**springs), np.eye(6)
