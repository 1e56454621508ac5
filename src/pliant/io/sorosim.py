"""Robots of SoRoSim: linkages that were saved as structs, and its coordinates and inputs.

What differs (docs/moving_over.md): its coordinates of torsion and bending are multiplied by the length of the division, spherical and free
joints have exponential coordinates, and cables pull with negative inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.joints import Cylindrical, Fixed, Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from ..model.links import Frame, Link
from ..model.pose import Pose, as_pose
from ..model.robot import Robot
from ..model.rods.basis import (
    Chebyshev,
    Fourier,
    Gaussian,
    HermiteElements,
    InverseMultiquadric,
    Legendre,
    LinearElements,
    Monomial,
    QuadraticElements,
)
from ..model.rods.sections import Circle, Ellipse, Material, Rectangle, Section
from ..model.rods.strains import STRAIN_NAMES, Strains
from ..model.routing import Along, Table
from ..model.validate import shown
from .linkage import ImportedLinkage, Part, joint_part
from .matlab import Unreadable, as_list, read_mat

__all__ = ["SOROSIM_EXPORT", "from_sorosim"]

Array = NDArray[np.float64]
SOROSIM_EXPORT = (
    "f=@(o,n)arrayfun(@(x)rmfield(struct(x),n),o,'UniformOutput',false); s=struct(L); s.VLinks=f(L.VLinks,{}); "
    "s.CVRods=cellfun(@(c)f(c,{'Link'}),L.CVRods,'UniformOutput',false); save('linkage.mat','-struct','s')"
)
"""The MATLAB command that saves a SorosimLinkage L as a struct, which other programs can read."""
_BASES: dict[str, Any] = {
    "Monomial": Monomial,
    "Legendre Polynomial": Legendre,
    "Chebychev": Chebyshev,
    "Fourier": Fourier,
    "FEM Like Linear": LinearElements,
    "FEM Like Quadratic": QuadraticElements,
    "Hermite Spline": HermiteElements,
    "Gaussian Element": lambda n: Gaussian(n + 1),
    "Inverse Multi-quadratic": lambda n: InverseMultiquadric(n + 1),
}
_LINEAR = 1e-9  # relative: what departs less from a straight line is one


def from_sorosim(source: str | Path | Mapping[str, Any], *, name: str = "linkage") -> ImportedLinkage:
    """Read a linkage of SoRoSim: geometry, materials, strains, joints, cables, gravity, closed loops.

    Parameters
    ----------
    source : path or dict
        A .mat file (7.3 needs h5py) with the struct of a SorosimLinkage, or the struct itself as nested dictionaries. Objects of MATLAB's classes
        can be read by MATLAB alone; there the command `SOROSIM_EXPORT`, ``print(pl.io.SOROSIM_EXPORT)``, makes a struct of a linkage L.
    name : str
        Of the robot.

    Returns
    -------
    ImportedLinkage
        `robot`, `warnings`, and the ways between coordinates and inputs: `to_pliant(q)`, `from_pliant(q)`, `input_values(u)`.

    Notes
    -----
    SoRoSim's coordinates of torsion and bending are pliant's times the length of the division; a cable pulls with a negative input there. Sections follow
    from the stiffness at the stored points. Points and collocation are SoRoSim's own, so that matrices agree to rounding.

    Examples
    --------
    >>> import pliant as pl
    >>> found = pl.io.from_sorosim("linkage.mat")  # doctest: +SKIP
    >>> system = found.robot.compile()  # doctest: +SKIP
    >>> rest = pl.solve_statics(system, found.input_values([-10.0]))  # doctest: +SKIP
    >>> found.from_pliant(rest.q)  # doctest: +SKIP
    """
    data = dict(source) if isinstance(source, Mapping) else read_mat(source)
    if "VLinks" not in data:  # a struct that was saved as one variable
        inner = [value for value in data.values() if isinstance(value, dict) and "VLinks" in value]
        data = inner[0] if len(inner) == 1 else data
    if "VLinks" not in data or any(isinstance(link, Unreadable) for link in as_list(data["VLinks"])):
        raise ValueError(
            f"source = {shown(str(source))[:80]} holds no struct of a SorosimLinkage. Objects of MATLAB's classes can be read by MATLAB alone; for a "
            f"linkage L run there: {SOROSIM_EXPORT}"
        )
    return _Reader(data, name).read()


def _number(value: Any, other: float = 0.0) -> float:
    array = np.asarray(value, dtype=float).ravel() if not isinstance(value, (str, Unreadable)) else np.zeros(0)
    return float(array[0]) if array.size else other


class _Reader:
    """Builds a robot from a struct."""

    def __init__(self, data: dict[str, Any], name: str) -> None:
        self.data = data
        gravity = np.zeros(3)
        if _number(data.get("Gravity", 0)):
            gravity = np.asarray(data["G"], dtype=float).ravel()[-3:]
        self.robot = Robot(name, gravity=gravity)
        self.warnings: list[str] = []
        self.parts: list[Part] = []
        self.tips: list[Frame] = []  # of each link
        self.links: list[list[Link]] = []  # a body, or the rods of its divisions
        self.inputs: list[str] = []
        self.signs: list[float] = []

    def read(self) -> ImportedLinkage:
        """Everything, in SoRoSim's order."""
        data = self.data
        kinds = as_list(data["VLinks"])
        index = np.asarray(data["LinkIndex"], dtype=int).ravel()
        before = np.asarray(data["iLpre"], dtype=int).ravel()
        places = np.asarray(data["g_ini"], dtype=float).reshape(-1, 4, 4)
        rods = as_list(data.get("CVRods", data.get("CVTwists")))
        if len(index) == 1 and not isinstance(rods[0], list):
            rods = [rods]
        for k, kind in enumerate(index):
            parent = self.tips[before[k] - 1] if before[k] else Frame("world")
            self._link(k, kinds[kind - 1], as_list(rods[k]), parent.at(places[k]))
        self._loops()
        self._motors()
        self._cables()
        for key, what in (
            ("np", "point wrenches"),
            ("UnderWater", "water"),
            ("CEF", "custom external forces"),
            ("CA", "custom actuation"),
        ):
            if _number(data.get(key, 0)):
                self.warnings.append(f"{what} ({key}) of the linkage were not taken over: add them in Python.")
        return ImportedLinkage(
            self.robot, tuple(self.warnings), tuple(self.inputs), tuple(self.signs), tuple(self.parts)
        )

    # ------------------------------------------------------------ links

    def _link(self, k: int, link: dict[str, Any], rods: list[dict[str, Any]], parent: Frame) -> None:
        name = f"link{k + 1}"
        basis = np.asarray(_basis_of(rods[0]), dtype=float).reshape(6, -1) if _dof(rods[0]) else np.zeros((6, 0))
        joint = self._joint(name, str(link["jointtype"]), basis, link)
        self.parts += joint_part(joint, basis)
        if str(link["linktype"]) == "r":
            gi, gf = (as_pose(np.asarray(link[key], dtype=float), name=key) for key in ("gi", "gf"))
            M = np.asarray(link.get("M", link.get("Ms")), dtype=float).reshape(-1, 6)[:6]
            options: dict[str, Any] = {"parent": parent, "joint": joint}
            if M[3, 3] > 0:
                options |= {"mass": M[3, 3], "com": gi.translation, "inertia": gi.rotation @ M[:3, :3] @ gi.rotation.T}
            body = self.robot.add_body(name, **options)
            self.links.append([body])
            self.tips.append(body.at(gi @ gf))
            return
        own: list[Link] = []
        at = parent
        starts, ends = as_list(link["gi"]), as_list(link["gf"])
        lengths = [_number(entry) for entry in as_list(link.get("ld", link.get("lp")))]
        for j, (rod, length) in enumerate(zip(rods[1:], lengths)):
            label = name if len(lengths) == 1 else f"{name}_{j + 1}"
            gi, gf = (as_pose(np.asarray(part[j], dtype=float), name="gi, gf") for part in (starts, ends))
            own.append(self._rod(label, link, rod, length, at, joint if j == 0 else Fixed(), gi))
            at = own[-1].tip.at(gf)
        self.links.append(own)
        self.tips.append(at)

    def _joint(self, name: str, kind: str, basis: Array, link: dict[str, Any]) -> Joint:
        """A joint from its columns; what kind it is, SoRoSim says by a letter."""
        size = basis.shape[1]
        springs: dict[str, Any] = {}
        for option, key in (("stiffness", "Kj"), ("damping", "Dj")):
            matrix = (
                np.asarray(link.get(key, 0.0), dtype=float)
                if not isinstance(link.get(key), Unreadable)
                else np.zeros(0)
            )
            if matrix.size and np.any(matrix):
                matrix = np.atleast_2d(matrix)
                if matrix.shape != (size, size):
                    continue  # SoRoSim leaves it out, too
                if size > 1 and kind not in "SF" and np.any(matrix - np.diag(np.diag(matrix))):
                    self.warnings.append(f"{name}: entries of {key} off the diagonal were left out.")
                springs[option] = matrix if kind in "SF" else np.diag(matrix).tolist()
        if kind in "AU" and springs:
            self.warnings.append(f"{name}: springs act on exponential coordinates in SoRoSim, on the angles here.")
        if kind == "N" or not size:
            return Fixed()
        first = basis[:, 0]
        if kind == "R":
            return Revolute(first[:3], **springs)
        if kind == "P":
            return Prismatic(first[3:], **springs)
        if kind == "H":
            turns = np.linalg.norm(first[:3])
            return Helical(first[:3], float(2 * np.pi * first[3:] @ first[:3] / turns**2), **springs)
        if kind == "C":
            return Cylindrical(first[:3], **springs)
        if kind == "U":
            self.warnings.append(f"{name}: a universal joint turns about both axes one after the other here.")
            return Universal(basis[:3, 0], basis[:3, 1], **springs)
        if kind == "A":
            turning = int(np.argmax(np.abs(basis[:3]).max(axis=0)))
            return Planar(basis[:3, turning])
        return Spherical(**springs) if kind == "S" else Free(**springs)

    def _rod(
        self, name: str, link: dict[str, Any], rod: dict[str, Any], length: float, parent: Frame, joint: Joint, gi: Pose
    ) -> Link:
        """A division."""
        modes = np.asarray(rod.get("Phi_dof", rod.get("Bdof")), dtype=int).ravel()
        orders = np.asarray(rod.get("Phi_odr", rod.get("Bodr")), dtype=int).ravel()
        kind = str(rod["Type"])
        key = f"{kind} {rod['SubClass']}" if kind == "FEM Like" else kind
        if key not in _BASES:
            raise ValueError(f"{name}: the basis {key!r} is not known; there are {', '.join(_BASES)}.")
        bases: dict[str, Any] = {s: _BASES[key](int(n)) for s, on, n in zip(STRAIN_NAMES, modes, orders) if on}
        young, shear = _number(link["E"]), _number(link["G"])
        material = Material(
            young=young, shear_modulus=shear, density=_number(link["Rho"]), viscosity=_number(link.get("Eta", 0.0))
        )
        X = np.asarray(rod["Xs"], dtype=float).ravel()
        strains = Strains(**bases)
        elements = len(strains.breakpoints) + 1
        added = self.robot.add_rod(
            name, parent=parent, joint=joint, offset_after=gi, length=length, strains=strains, material=material,
            section=self._section(name, str(link["CS"]), X, np.asarray(rod["Es"], dtype=float).reshape(-1, 6, 6), young, shear),
            reference_strain=self._reference(rod, X), points=(len(X) - 1) // elements - 1, collocation=True,
        )  # fmt: skip
        scale = np.where(strains.components < 3, 1.0 / length, 1.0)
        self.parts.append(Part(strains.size, strains.size, scale))
        return added

    def _section(self, name: str, kind: str, X: Array, stiffness: Array, young: float, shear: float) -> Section:
        """The section whose area and second moments give the stiffness at the points."""
        GJ, EIy, EIz, EA, GA = (stiffness[:, k, k] for k in range(5))
        A, Iy, Iz = EA / young, EIy / young, EIz / young
        factors: dict[str, float] = {}
        for option, values in (("shear_factor", GA / (shear * A)), ("torsion_factor", GJ / (shear * (Iy + Iz)))):
            if np.abs(values - 1.0).max() > _LINEAR:
                factors[option] = float(values.mean())
                if np.ptp(values) > _LINEAR:
                    self.warnings.append(
                        f"{name}: its {option.replace('_', ' ')} varies along the rod; the mean was taken."
                    )
        if kind == "C":
            return Circle(self._dimension(name, X, np.sqrt(A / np.pi)), **factors)
        y, z = np.sqrt(Iz / A), np.sqrt(Iy / A)  # radii of gyration
        size = np.sqrt(12.0) if kind == "R" else 2.0
        return (Rectangle if kind == "R" else Ellipse)(
            self._dimension(name, X, size * y), self._dimension(name, X, size * z), **factors
        )

    def _dimension(self, name: str, X: Array, values: Array) -> Any:
        """A number, a pair if it is linear, or a function through the points."""
        line = values[0] + (values[-1] - values[0]) * (X - X[0]) / (X[-1] - X[0])
        if np.abs(values - line).max() <= _LINEAR * np.abs(values).max():
            first, last = float(values[0]), float(values[-1])
            return first if abs(first - last) <= _LINEAR * first else (first, last)
        self.warnings.append(f"{name}: its section is not linear in X; it was interpolated between the stored points.")
        return Table(X, values)

    @staticmethod
    def _reference(rod: dict[str, Any], X: Array) -> Any:
        """The reference strain: constant, or interpolated between the stored points."""
        values = np.asarray(rod["xi_star"], dtype=float)[:, 0].reshape(-1, 6)
        if np.abs(values - values[0]).max() <= _LINEAR * max(np.abs(values).max(), 1.0):
            return values[0]
        from scipy.interpolate import CubicSpline

        spline = CubicSpline(X, values)
        return lambda x: spline(float(x))

    # ------------------------------------------------------------ what closes and drives it

    def _loops(self) -> None:
        data = self.data
        count = int(_number(data.get("nCLj", 0)))
        if not count:
            return
        ends = [np.asarray(data[key], dtype=int).ravel() for key in ("iCLA", "iCLB")]
        offsets = [as_list(data[key]) for key in ("gACLj", "gBCLj")]
        rods = as_list(data.get("VRodsCLj", data.get("VTwistsCLj")))
        for k in range(count):
            a, b = (
                (self.tips[own[k] - 1] if own[k] else Frame("world")).at(np.asarray(offset[k], dtype=float))
                for own, offset in zip(ends, offsets)
            )
            if isinstance(rods[k], Unreadable):
                self.warnings.append(
                    f"closed loop {k + 1} was not taken over: its joint is an object; export VRodsCLj as struct, too."
                )
                continue
            basis = np.asarray(_basis_of(rods[k]), dtype=float).reshape(6, -1) if _dof(rods[k]) else np.zeros((6, 0))
            self.robot.add_loop(f"loop{k + 1}", a, b, joint=_joint_by_columns(basis))

    def _motors(self) -> None:
        data = self.data
        driven = np.asarray(data.get("i_jact", []), dtype=int).ravel()
        controlled = np.asarray(data.get("WrenchControlled", []), dtype=float).ravel()
        for k, link in enumerate(driven):
            joint = self.links[link - 1][0].joint
            name = f"motor{k + 1}"
            if joint.nv != 1:
                self.warnings.append(f"link{link}: its driven joint has {joint.nv} dofs; add its motors in Python.")
            elif k < len(controlled) and not controlled[k]:
                self.robot.add_motion(f"motion{k + 1}", self.links[link - 1][0])
                self.warnings.append(f"link{link}: its joint is prescribed; give motion={{'motion{k + 1}': …}}.")
            else:
                self.robot.add_motor(name, self.links[link - 1][0])
                self.inputs.append(name)
                self.signs.append(1.0)

    def _cables(self) -> None:
        data, links = self.data, len(self.links)
        count = int(_number(data.get("n_sact", 0)))
        table = as_list(data.get("dc", []))
        if count == 1 or links == 1:  # a single row or column came as one list
            table = [table] if count == 1 else [[entry] for entry in table]
        for k in range(count):
            path = []
            for i, own in enumerate(self.links):
                pieces = as_list(table[k][i])
                if len(own) == 1 and pieces and not isinstance(pieces[0], np.ndarray):
                    pieces = as_list(pieces[0])
                for j, piece in enumerate(pieces):
                    offsets = np.asarray(piece, dtype=float)
                    if offsets.size and own[0].is_rod:
                        X = self._points(i, j)
                        y, z = (self._line(X, offsets[row]) for row in (1, 2))
                        path.append(Along(own[j], y=y, z=z))
            if not path:
                self.warnings.append(f"cable {k + 1} runs along no rod and was left out.")
                continue
            self.robot.add_tendon(f"cable{k + 1}", path, push=True)
            self.inputs.append(f"cable{k + 1}")
            self.signs.append(-1.0)

    def _points(self, link: int, division: int) -> Array:
        rods = as_list(self.data.get("CVRods", self.data.get("CVTwists")))
        own = rods if len(self.links) == 1 and not isinstance(rods[0], list) else as_list(rods[link])
        return np.asarray(own[division + 1]["Xs"], dtype=float).ravel()

    @staticmethod
    def _line(X: Array, values: Array) -> Any:
        """An offset: a number, a pair if it is linear, or a table."""
        line = values[0] + (values[-1] - values[0]) * (X - X[0]) / (X[-1] - X[0])
        if np.abs(values - line).max() <= _LINEAR * max(np.abs(values).max(), 1e-300):
            return float(values[0]) if np.ptp(values) == 0.0 else (float(values[0]), float(values[-1]))
        return Table(X, values)


def _basis_of(rod: dict[str, Any]) -> Any:
    return rod.get("Phi", rod.get("B"))


def _dof(rod: dict[str, Any]) -> int:
    return int(_number(rod.get("dof", 0)))


def _joint_by_columns(basis: Array) -> Joint:
    """A joint that closes a loop, by the motions that it allows."""
    turns, slides = (np.linalg.matrix_rank(part) if part.size else 0 for part in (basis[:3], basis[3:]))
    size = basis.shape[1]
    if not size:
        return Fixed()
    if size == 1:
        axis, along = basis[:3, 0], basis[3:, 0]
        if turns and slides:
            return Helical(axis, float(2 * np.pi * along @ axis / (axis @ axis)))
        return Revolute(axis) if turns else Prismatic(along)
    if size == 2:
        first = basis[:3, int(np.argmax(np.abs(basis[:3]).max(axis=0)))]
        return Universal(basis[:3, 0], basis[:3, 1]) if turns == 2 else Cylindrical(first)
    if size == 3:
        return Spherical() if turns == 3 else Planar(basis[:3, int(np.argmax(np.abs(basis[:3]).max(axis=0)))])
    return Free()
