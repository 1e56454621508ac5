"""Robots that the tests share: the papers', and random trees with everything at once."""

from __future__ import annotations

import numpy as np

import pliant as pl

SILICONE = pl.Material(young=1e6, poisson=0.5, density=1000.0, viscosity=1e4)

JOINTS = {
    "fixed": lambda rng: pl.Fixed(),
    "revolute": lambda rng: pl.Revolute(rng.normal(size=3)),
    "prismatic": lambda rng: pl.Prismatic(rng.normal(size=3)),
    "helical": lambda rng: pl.Helical(rng.normal(size=3), pitch=0.3),
    "universal": lambda rng: pl.Universal("x", rng.normal(size=3)),
    "cylindrical": lambda rng: pl.Cylindrical(rng.normal(size=3)),
    "planar": lambda rng: pl.Planar(rng.normal(size=3)),
    "spherical": lambda rng: pl.Spherical(),
    "free": lambda rng: pl.Free(),
}

BASES = {
    "legendre": pl.Legendre(2),
    "chebyshev": pl.Chebyshev(1),
    "monomial": pl.Monomial(2),
    "piecewise": pl.PiecewiseConstant(3),
    "linear": pl.LinearElements(2),
    "quadratic": pl.QuadraticElements(2),
    "hermite": pl.HermiteElements(1),
    "fourier": pl.Fourier(1),
    "gaussian": pl.Gaussian(3),
    "multiquadric": pl.InverseMultiquadric(2),
}


def cable_driven_manipulator(points: int = 5) -> pl.Robot:
    """[002] section 4.5: 24 dof, tapered silicone rod."""
    robot = pl.Robot("cable-driven manipulator")
    robot.add_rod(
        "arm",
        length=0.5,
        section=pl.Circle(radius=(0.03, 0.015)),
        material=SILICONE,
        strains=pl.Strains(torsion=4, bending=4, stretch=2, shear=2),
        points=points,
        collocation=True,  # as the reference numbers
    )
    return robot


def random_pose(rng: np.random.Generator, size: float = 0.3) -> pl.Pose:
    return pl.translate(*(rng.normal(size=3) * size)) @ pl.rotate(rng.normal(size=3), rng.uniform(-3, 3))


def random_inertia(rng: np.random.Generator) -> pl.Inertia:
    A = rng.normal(size=(3, 3)) * 0.1
    second = A @ A.T + 0.01 * np.eye(3)  # second moments; the inertia trace(S) 1 − S is always physical
    return pl.Inertia(rng.uniform(0.2, 2.0), rng.normal(size=3) * 0.1, np.trace(second) * np.eye(3) - second)


def random_strains(rng: np.random.Generator, basis: pl.Basis) -> pl.Strains:
    names = ["torsion", "bending_y", "bending_z", "stretch", "shear_y", "shear_z"]
    free = rng.permutation(6)[: rng.integers(1, 7)]
    return pl.Strains(**{names[k]: basis if rng.random() < 0.7 else pl.Legendre(int(rng.integers(0, 3))) for k in free})


def add_random_link(
    robot: pl.Robot, rng: np.random.Generator, name: str, parent: object, kind: str, joint: str
) -> pl.Link:
    """A rod (kind = name of a basis) or a body (kind = "body") on `parent`, with offsets before and after the joint."""
    options = {
        "parent": parent,
        "joint": JOINTS[joint](rng),
        "offset": random_pose(rng),
        "offset_after": random_pose(rng),
    }
    if kind == "body":
        return robot.add_body(name, inertia=random_inertia(rng), **options)
    curved = rng.random() < 0.5
    return robot.add_rod(
        name,
        length=float(rng.uniform(0.3, 1.2)),
        section=pl.Rectangle((0.05, 0.03), 0.02) if rng.random() < 0.5 else pl.Circle((0.03, 0.02)),
        material=SILICONE,
        strains=random_strains(rng, BASES[kind]),
        reference_strain=(lambda X: [0.3, 1 + X, -0.5, 1.0, 0.0, 0.0]) if curved else (0, 0, 0, 1, 0, 0),
        magnus=int(rng.choice([2, 4])),
        points=None if rng.random() < 0.5 else 5 if kind in ("gaussian", "multiquadric", "fourier") else 4,
        **options,
    )


def random_robot(seed: int, links: int = 5) -> pl.Robot:
    """A random tree: several roots, branches also from inside rods, any joints, any bases."""
    rng = np.random.default_rng(seed)
    robot = pl.Robot(f"random {seed}", gravity=rng.normal(size=3) * 5)
    handles: list[pl.Link] = []
    kinds = ["body", *BASES]
    for k in range(links):
        kind = kinds[int(rng.integers(len(kinds)))] if rng.random() < 0.6 else "body"
        joint = list(JOINTS)[int(rng.integers(len(JOINTS)))]
        if k == 0 and rng.random() < 0.5:
            joint = "free"
        parent: object = None
        if handles and rng.random() < 0.9:
            handle = handles[int(rng.integers(len(handles)))]
            parent = handle.at(float(rng.choice([0.0, 0.37, 0.5, 1.0]))) if handle.is_rod else handle
        handles.append(add_random_link(robot, rng, f"link{k}", parent, kind, joint))
    # a last body, so that no joint carries nothing
    for k, handle in enumerate(handles):
        if not handle.is_rod or handle.joint.nv:
            robot.add_body(f"load{k}", parent=handle, offset=random_pose(rng), inertia=random_inertia(rng))
    if robot.nv == 0:
        add_random_link(robot, rng, "extra", handles[-1], "legendre", "revolute")
    return robot


def complex_step(system: pl.System, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
    """Derivatives of the inverse dynamics kernel by complex step, exact to rounding."""
    from pliant.kernels import layout
    from pliant.kernels.algebra import manifold
    from pliant.kernels.recursion import dynamics

    nv, h = system.nv, 1e-40
    work = layout.make_work(system.tables, complex)
    c = system._internal
    out = np.zeros((3, nv, nv))
    for k in range(nv):
        d = np.zeros(nv, complex)
        d[k] = 1j * h
        qc = np.zeros(system.nq, complex)
        manifold.integrate_q(c.shift, c.spatial, q.astype(complex), d, qc)
        for m, args in enumerate(((qc, v, a), (q, v + d, a), (q, v, a + d))):
            tau = np.zeros(nv, complex)
            dynamics.inverse_dynamics(
                system._model.tables, work, *(np.ascontiguousarray(x, complex) for x in args), tau
            )
            out[m, :, k] = tau.imag / h
    return out[0], out[1], out[2]
