"""Statics along the tree against dense factors: the stiffness at rest, steps, equilibria and verdicts; warm starts; local tendons."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from load_robots import branched, state
from pliant.kernels import engine, slots
from pliant.kernels.loads.tendons import acting
from pliant.kernels.solve.newton import CONVERGED, EXHAUSTED, SINGULAR
from pliant.solve import statics
from pliant.solve.stability import assess
from pliant.system.dynamics import static_storage
from robots import BASES, SILICONE, random_robot
from test_articulated import TREES
from test_loads import CASES
from test_spectral import integrated


def job(
    system: pl.System, q: np.ndarray, u: np.ndarray, tau: np.ndarray | None = None, *, solver: str = "dense",
    iterations: int = 60, energy: bool = True,
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """The STATICS job: status, where it ended, its parameters and S."""
    p = np.zeros(engine.PARAMETERS)
    p[slots.OPTION_TOLERANCE], p[slots.OPTION_ITERATIONS] = 1e-10, iterations
    p[slots.OPTION_RADIUS], p[slots.OPTION_ENERGY] = 3.0, energy
    scale = np.where(system.known, 0.0, system.internal.scale)
    p[slots.OPTION_WEIGHT] = np.abs(scale * system.gravity_forces(q)).max()
    S, p[slots.OPTION_TREE] = static_storage(system, solver)
    found = q.copy()
    status = system.run_job(engine.STATICS, q.copy(), u=u, tau=tau, p=p, S=S, q1=found)
    return status, found, p, S


def check_stiffness(system: pl.System, seed: int = 0) -> None:
    """∂r/∂q at rest, from J alone, is that of the tangent of motions; a step along the tree is that of dense factors."""
    q, _v, _a = state(system, seed)
    rng = np.random.default_rng(seed)
    u, tau = rng.uniform(0.1, 2.0, system.nu), rng.normal(size=system.nv)
    for joint in system.manifold_joints:  # where forces have no potential
        tau[joint.v] = 0.0
    zero, free = np.zeros(system.nv), np.flatnonzero(~system.known)
    status, _q, _p, S = job(system, q, u, tau, iterations=0)
    assert status == EXHAUSTED
    exact = system.residual_tangent(q, zero, zero, u, tau, weights=(1.0, 0.0, 0.0))
    scale = system.internal.scale
    error = scale[:, None] * (S[0] - exact) * scale
    size = np.abs(scale[:, None] * exact * scale).max()
    assert np.abs(error[np.ix_(free, free)]).max() < 1e-13 * size
    if system.why_dense() or np.linalg.cond((scale[:, None] * exact * scale)[np.ix_(free, free)]) > 1e9:
        return  # dense factors only, or neutral: what rounding makes of that is not compared
    for energy in (False, True) if system.has_potential(u, tau) else (False,):
        one, a, report, _S = job(system, q, u, tau, iterations=1, energy=energy)
        two, b, other, _S = job(system, q, u, tau, iterations=1, energy=energy, solver="tree")
        if two == SINGULAR:  # a part that by itself has no stiffness, where dense factors exchange rows with others
            assert not energy
            continue
        assert one == two
        if other[slots.REPORT_SHIFTS] and len(system.tables.col_v) > system.nv:
            continue  # shifts are relative to a stiffness that is estimated where blocks share coordinates
        where = [slots.REPORT_ITERATIONS, slots.REPORT_SHIFTS, slots.REPORT_HALVINGS, slots.REPORT_DEFINITE]
        np.testing.assert_array_equal(report[where], other[where])
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 * max(1.0, np.abs(a).max()))


@pytest.mark.parametrize("seed", range(12))
def test_random_trees(seed):
    check_stiffness(random_robot(seed, links=5).compile(), seed)


@pytest.mark.parametrize("case", {**TREES, **CASES})
@pytest.mark.parametrize("base", ["free", "revolute"])
def test_loads(case, base):
    robot = branched(1, base=base)
    {**TREES, **CASES}[case](robot)
    check_stiffness(robot.compile())


def test_collocated_rods_and_prescribed_joints():
    robot = integrated(branched(3, base="revolute"), arm=9, twig=8)
    robot.add_motion("turn", "hub")
    TREES["lines"](robot)
    check_stiffness(robot.compile())


# ---------------------------------------------------------------- equilibria and verdicts


def chain(links: int, *, strains: pl.Strains | None = None, gravity=(0.0, 0.0, -9.81), young: float = 1e6) -> pl.Robot:
    """Rods one after another along x, with a tendon along the first."""
    robot, parent = pl.Robot("chain", gravity=gravity), None
    material = pl.Material(young=young, poisson=0.5, density=1000.0, viscosity=1e3)
    for k in range(links):
        parent = robot.add_rod(
            f"rod{k}", parent=parent, length=0.2, section=pl.Circle(0.02), material=material,
            strains=strains or pl.Strains(torsion=1, bending=1, stretch=0),
        )  # fmt: skip
    robot.add_tendon("cable", "rod0", z=0.01)
    return robot


LOCAL = {
    "constant": pl.PiecewiseConstant(12),
    "linear": pl.LinearElements(8),
    "quadratic": pl.QuadraticElements(5),
    "hermite": pl.HermiteElements(5),
}


def local_rod(basis: str, tendons: bool = True) -> pl.Robot:
    """One rod of elements, with tendons along all and along a part of it."""
    robot = pl.Robot("elements")
    robot.add_rod(
        "arm", length=1.0, section=pl.Circle(0.02), material=SILICONE,
        strains=pl.Strains(torsion=LOCAL[basis], bending=LOCAL[basis], stretch=1, shear_y=LOCAL["linear"]),
    )  # fmt: skip
    if tendons:
        robot.add_tendon("whole", "arm", z=(0.015, 0.005))
        robot.add_tendon("part", "arm", y=0.01, start=0.17, end=0.71)
    return robot


@pytest.mark.parametrize("links", [2, 15])
@pytest.mark.parametrize("tension", [0.0, 3.0])
def test_chains_find_the_same_equilibrium(links, tension):
    system = chain(links).compile()
    dense, tree = (job(system, system.neutral(), np.array([tension]), solver=s) for s in ("dense", "tree"))
    assert dense[0] == tree[0] == CONVERGED
    assert dense[2][slots.REPORT_DEFINITE] == tree[2][slots.REPORT_DEFINITE] == 1.0
    scale = system.internal.scale
    assert np.abs((dense[1] - tree[1]) / scale).max() < 1e-9


@pytest.mark.parametrize("basis", LOCAL)
def test_elements_find_the_same_equilibrium(basis):
    system = local_rod(basis).compile()
    u = np.array([2.0, 1.0])
    dense, tree = (job(system, system.neutral(), u, solver=s) for s in ("dense", "tree"))
    assert dense[0] == tree[0] == CONVERGED
    assert np.abs((dense[1] - tree[1]) / system.internal.scale).max() < 1e-9


def swivelling() -> pl.Robot:
    """A chain that hangs on a joint about the vertical, which nothing holds."""
    robot = pl.Robot("swivel")
    hub = robot.add_body("hub", joint=pl.Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    parent = hub.at(pl.Pose(translation=(0.1, 0.0, 0.0))) if hasattr(hub, "at") else hub
    for k in range(6):
        parent = robot.add_rod(
            f"rod{k}", parent=parent, length=0.2, section=pl.Circle(0.02), material=SILICONE,
            strains=pl.Strains(bending=1, torsion=0),
        )  # fmt: skip
    return robot


VERDICTS = {
    "hanging": lambda: (chain(8, gravity=(9.81, 0, 0)), {}),
    "sagging": lambda: (chain(8), {}),
    "standing": lambda: (chain(4, gravity=(-9.81, 0, 0), young=1e8), {}),
    "buckled": lambda: (chain(8, gravity=(-9.81, 0, 0)), {}),
    "unstable": lambda: (chain(8, gravity=(-9.81, 0, 0)), {"stable": False}),
    "neutral": lambda: (swivelling(), {}),
    "weightless": lambda: (chain(5, gravity=(0, 0, 0)), {}),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_verdicts_agree(case, monkeypatch):
    robot, options = VERDICTS[case]()
    system = robot.compile()
    found = {}
    for solver in ("dense", "tree"):
        monkeypatch.setattr(statics, "static_storage", lambda s, _auto, solver=solver: static_storage(s, solver))
        found[solver] = pl.solve_statics(system, **options)
    dense, tree = found["dense"], found["tree"]
    assert dense.success
    assert tree.success
    assert dense.stability == tree.stability == assess(system, tree.q, tree.u, tree.tau).stability
    expected = {"unstable": "divergence", "neutral": "neutral", "buckled": "neutral"}.get(case, "stable")
    assert dense.stability == expected
    if case not in ("buckled", "neutral"):  # which have many equilibria
        assert np.abs((dense.q - tree.q) / system.internal.scale).max() < 1e-9


def test_automatic_choice():
    """Dense for a small robot and for one whose parts are coupled beyond the tree; elimination for a long chain."""
    assert not static_storage(chain(2).compile())[1]
    assert static_storage(chain(40).compile())[1]
    robot = chain(40)
    robot.add_tendon("cross", [pl.Along("rod0"), pl.Along("rod9")])
    assert not static_storage(robot.compile())[1]


# ---------------------------------------------------------------- warm starts


def test_warm_starts_find_the_same_equilibrium_and_an_honest_verdict():
    """Steps that keep their factors: results of a cold start, residuals below the tolerance, verdicts of a fresh stiffness."""
    robot = pl.Robot("arm")
    robot.add_rod(
        "arm",
        length=0.4,
        section=pl.Circle((0.02, 0.01)),
        material=SILICONE,
        strains=pl.Strains(torsion=2, bending=3, stretch=1),
    )
    for k, angle in enumerate(np.radians([90, 210, 330])):
        robot.add_tendon(f"cable{k}", "arm", y=0.009 * np.cos(angle), z=0.009 * np.sin(angle))
    system = robot.compile()
    rng = np.random.default_rng(1)
    kept = 0
    for change in (1e-6, 1e-3, 0.03, 0.3):
        for _ in range(5):
            u = rng.uniform(0.0, 5.0, system.nu)
            start = pl.solve_statics(system, u)
            assert start.success
            other = u * (1.0 + change * rng.uniform(-1.0, 1.0, system.nu))
            status, q, p, S = job(system, start.q, other)
            assert status == CONVERGED
            assert p[slots.REPORT_RESIDUAL] <= 1e-10
            r = system.residual(q, np.zeros(system.nv), np.zeros(system.nv), other)
            assert np.abs(system.internal.scale * r).max() <= 1e-9
            zero = np.zeros(system.nv)
            K = system.residual_tangent(q, zero, zero, other, weights=(1.0, 0.0, 0.0))
            kept += not np.allclose(K, S[0], rtol=1e-12, atol=0.0)
            assert p[slots.REPORT_DEFINITE] == float(np.linalg.eigvalsh((K + K.T) / 2)[0] > 0)
            cold = pl.solve_statics(system, other)
            assert np.abs((cold.q - q) / system.internal.scale).max() < 1e-8
    assert kept > 0  # some ended with factors of another point


# ---------------------------------------------------------------- tendons along many sections


@pytest.mark.parametrize("basis", LOCAL)
def test_tendons_touch_what_acts_at_their_points(basis):
    """As many coordinates for each node however many elements there are; forces and derivatives as of all functions."""
    system = local_rod(basis).compile()
    arm = system._assembly.links["arm"].link.content
    for m, row in enumerate(system.tendons.node):
        which, components, phi = acting(system.tendons, m)
        assert len(which) < 0.8 * system.nv
        assert np.all(np.diff(which) > 0)
        np.testing.assert_array_equal(components, arm.strains.components[which])
        assert len(phi) == len(which)
        assert row[0] < row[1]
    rng = np.random.default_rng(0)
    q, u = 0.3 * rng.normal(size=system.nv), np.array([2.0, 3.0])
    zero = np.zeros(system.nv)
    lengths, G = system.tendon_lengths(q)
    bare = local_rod(basis, tendons=False).compile()
    force = system.residual(q, zero, zero, u) - bare.residual(q, zero, zero)
    np.testing.assert_allclose(force, u @ G, rtol=0, atol=1e-12 * np.abs(force).max())
    h, d = 1e-5, rng.normal(size=system.nv)
    for K, values in (
        (G, lambda x: system.tendon_lengths(x)[0]),
        (
            system.residual_tangent(q, zero, zero, u, weights=(1.0, 0.0, 0.0)),
            lambda x: system.residual(x, zero, zero, u),
        ),
    ):
        slope = (8 * (values(q + h * d) - values(q - h * d)) - values(q + 2 * h * d) + values(q - 2 * h * d)) / (12 * h)
        np.testing.assert_allclose(K @ d, slope, rtol=0, atol=1e-7 * np.abs(slope).max())
    assert len(lengths) == 2


def test_tendons_have_no_more_values_than_sections_need():
    counts = []
    for n in (10, 20, 40):
        robot, local = pl.Robot("sections"), pl.PiecewiseConstant(n)
        robot.add_rod("arm", length=1.0, section=pl.Circle(0.02), material=SILICONE, strains=pl.Strains(bending=local))
        robot.add_tendon("cable", "arm", z=0.01)
        system = robot.compile()
        counts.append(len(system.tendons.phi) / len(system.tendons.node))
    assert counts == [2.0, 2.0, 2.0]


def test_equal_rods_share_their_steps():
    system = chain(5).compile()
    infos = [system._assembly.links[f"rod{k}"] for k in range(1, 4)]
    assert infos[0].steps.phi is infos[1].steps.phi is infos[2].steps.phi
    other = chain(5)
    other.add_rod(
        "last",
        parent="rod4",
        length=0.2,
        section=pl.Circle(0.02),
        material=SILICONE,
        strains=pl.Strains(bending=BASES["legendre"]),
    )
    mixed = other.compile()
    assert mixed._assembly.links["last"].steps.phi is not mixed._assembly.links["rod3"].steps.phi
    for k in range(5):
        np.testing.assert_array_equal(
            mixed._assembly.links[f"rod{k}"].steps.phi, system._assembly.links[f"rod{k}"].steps.phi
        )
