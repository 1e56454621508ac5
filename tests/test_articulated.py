"""Elimination along the tree against dense factors: forward dynamics and implicit steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant as pl
from load_robots import branched, state
from pliant.kernels import layout
from pliant.system.dynamics import mass_storage, step_storage
from robots import BASES, SILICONE, add_random_link, random_inertia, random_robot
from test_loads import CASES
from test_spectral import integrated

WEIGHTS = (40.0, 1500.0)  # (cv, ca) of a step of about 0.05 s


def backward_error(A: np.ndarray, x: np.ndarray, b: np.ndarray, scale: np.ndarray) -> float:
    """How far x is from solving A x = b, relative to what rounding would do, in scaled units."""
    A, x, b = A * np.outer(scale, scale), x / scale, scale * b
    return float(np.linalg.norm(A @ x - b) / (np.linalg.norm(A, 2) * np.linalg.norm(x) + np.linalg.norm(b)))


def check(system: pl.System, seed: int = 0, *, step: bool = True, tol: float = 2e-15, scale: float = 0.4) -> None:
    """Both linear systems of a robot, at a random state and under random inputs."""
    q, v, a = state(system, seed, scale=scale)
    rng = np.random.default_rng(seed)
    u, tau, b = rng.uniform(0.1, 2.0, system.nu), rng.normal(size=system.nv), rng.normal(size=system.nv)
    s, free = system.internal.scale, ~system.known
    r = system.residual(q, v, np.where(free, 0.0, a), u, tau)
    M = system.mass_matrix(q)
    got = system.forward_dynamics(q, v, tau, u=u, prescribed=a, method="articulated")
    np.testing.assert_array_equal(got[~free], a[~free])
    M, got, r, sf = M[np.ix_(free, free)], got[free], r[free], s[free]
    assert backward_error(M, got, -r, sf) < tol
    if not step:
        return
    S = system.residual_tangent(q, v, a, u, tau, weights=(1.0, *WEIGHTS))[np.ix_(free, free)]
    x = system.solve_tangent(q, v, a, b, u, tau, weights=WEIGHTS, solver="tree")
    assert np.all(x[~free] == 0.0)
    assert backward_error(S, x[free], b[free], sf) < tol
    y = system.solve_tangent(q, v, a, b, u, tau, weights=WEIGHTS, solver="dense")
    assert backward_error(S, y[free], b[free], sf) < tol


@pytest.mark.parametrize("seed", range(24))
def test_random_trees(seed):
    """Several roots, branches from inside rods, every joint and basis."""
    check(random_robot(seed, links=6).compile(), seed)


@settings(deadline=None)
@given(st.integers(100, 10**6))
def test_any_tree(seed):
    check(random_robot(seed, links=4).compile(), seed)


@pytest.mark.parametrize("basis", BASES)
def test_coordinates_shared_by_blocks(basis):
    """A rod with attachments inside: its functions reach over several blocks, and side branches hang in between."""
    rng = np.random.default_rng(3)
    robot = pl.Robot("shared")
    hub = add_random_link(robot, rng, "hub", None, "body", "free")
    arm = robot.add_rod(
        "arm", parent=hub, length=1.0, section=pl.Circle(0.02), material=SILICONE,
        strains=pl.Strains(torsion=BASES[basis], bending=BASES[basis], stretch=1),
    )  # fmt: skip
    for k, X in enumerate((0.2, 0.2, 0.55, 0.9)):
        add_random_link(robot, rng, f"side{k}", arm.at(X), "legendre" if k % 2 else "body", "universal")
    robot.add_body("end", parent=arm.tip, inertia=random_inertia(rng))
    system = robot.compile()
    blocks = len(system.tables.block)
    columns = len(system.tables.col_v)
    assert columns > system.nv
    assert blocks > 4  # some coordinates do occur more than once
    check(system)


def test_collocated_rods():
    """The elimination sees what a block hands it, not how the block was integrated."""
    robot = integrated(branched(3), arm=9, twig=8)
    add_lines(robot)
    system = robot.compile()
    assert np.any(system.tables.block[:, layout.COLLOC] >= 0)
    check(system)


def test_springs_of_manifold_joints():
    robot = branched(2)
    robot.add_rod(
        "wing", parent="hub", joint=pl.Free(stiffness=(1, 2, 3, 40, 50, 60), rest=pl.rotate("x", 0.4)),
        length=0.3, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains(bending=1),
    )  # fmt: skip
    robot.add_body("ball", parent="wing", joint=pl.Spherical(stiffness=2.0), mass=0.3, com=(0.1, 0.0, 0.05))
    check(robot.compile())


def add_lines(robot: pl.Robot) -> None:
    """Tendons, a push rod and a chamber along rods: one tension may act on several of them."""
    robot.add_tendon("one", "arm", y=0.01, z=(0.005, 0.01), start=0.2, end=0.8)
    robot.add_tendon("two", "hand", **pl.helical_routing(0.01, 1.3))
    robot.add_tendon("three", "twig", y=0.004)
    robot.add_push_rod("push", "hand", z=0.008)
    robot.add_chamber("bellows", "arm", area=lambda X: 1e-4 * (2 - X), y=-0.01)


TREES = {"lines": add_lines, **{name: CASES[name] for name in ("wrenches", "motors", "water", "current", "rough")}}


@pytest.mark.parametrize("base", ["free", "revolute"])
@pytest.mark.parametrize("case", TREES)
def test_loads(case, base):
    robot = branched(1, base=base)
    TREES[case](robot)
    system = robot.compile()
    assert system.why_dense() == ""
    for seed in range(2):
        check(system, seed)


@pytest.mark.parametrize("case", ["tendons", "elastic", "friction", "moving"])
def test_loads_between_parts(case):
    """Forward dynamics needs the mass matrix alone; implicit steps fall back to dense factors."""
    robot = branched(1)
    CASES[case](robot)
    system = robot.compile()
    assert "connect them" in system.why_dense()
    check(system, step=False)
    assert not step_storage(system, "auto")[1]


def test_prescribed_coordinates_keep_their_values():
    robot = branched(1, base="revolute")
    robot.add_motion("turn", "hub")
    robot.add_motion("slide", "tool")
    robot.add_motion("wave", "twig")
    add_lines(robot)
    system = robot.compile()
    assert system.known.sum() == 5
    check(system)


def chain(links: int, **options: object) -> pl.Robot:
    """Rods one after another."""
    robot = pl.Robot("chain")
    parent = None
    for k in range(links):
        parent = robot.add_rod(
            f"rod{k}", parent=parent, length=0.1, section=pl.Circle(0.01), material=SILICONE,
            strains=pl.Strains(bending=1, torsion=0), joint=pl.Revolute("y") if k else None, **options,
        )  # fmt: skip
    return robot


def test_cost_and_memory_grow_linearly():
    sizes = [chain(n).compile().fronts.size for n in (20, 40, 80)]
    assert sizes[0][1] == sizes[1][1] == sizes[2][1]
    assert (sizes[2] - sizes[1])[0] == 2 * (sizes[1] - sizes[0])[0]


def test_automatic_choice():
    """Dense for a small robot, elimination for a long chain; what is chosen does not change the answer."""
    small, large = chain(2).compile(), chain(30).compile()
    assert not any(tree for _S, tree in (step_storage(small), mass_storage(small, "auto", small.workspace())))
    assert all(tree for _S, tree in (step_storage(large), mass_storage(large, "auto", large.workspace())))
    q, v, _a = state(large, scale=0.05)
    auto = large.forward_dynamics(q, v)
    np.testing.assert_array_equal(auto, large.forward_dynamics(q, v, method="articulated"))
    other = large.forward_dynamics(q, v, method="composite")
    np.testing.assert_allclose(auto, other, rtol=0, atol=1e-7 * np.abs(other).max())  # the mass matrix has κ = 1e9


@pytest.mark.parametrize("method", ["generalized-alpha", "dop853"])
def test_simulations_agree(method):
    """With motors, tendons of prescribed length and a prescribed joint; error-controlled steps are the same steps."""
    robot = branched(3, base="revolute")
    robot.add_motion("turn", "hub")
    add_lines(robot)
    if method == "generalized-alpha":
        robot.add_tendon("cable", "arm", y=-0.01, control="length")
    system = robot.compile()
    runs = [
        pl.simulate(
            system, 0.2, u={"one": 2.0, "bellows": 1e3}, motion={"turn": lambda t: 0.3 * np.sin(5 * t)}, method=method,
            solver=solver, rtol=1e-5, atol=1e-7,
        )
        for solver in ("dense", "tree")
    ]  # fmt: skip
    assert all(run.success for run in runs)
    assert abs(runs[0].statistics.steps - runs[1].statistics.steps) <= 10
    q = [run.q[-1] for run in runs]
    assert np.abs(system.difference(*q) / system.internal.scale).max() < 1e-7


def test_long_chain_swings():
    """A chain longer than Python's stack is deep; energy is kept."""
    robot = pl.Robot("whip")
    parent = None
    for k in range(1200):
        parent = robot.add_body(
            f"b{k}", parent=parent, joint=pl.Revolute("y"), offset=(0.01, 0, 0), mass=0.01, com=(0.005, 0, 0)
        )
    system = robot.compile()
    assert str(system).count("\n") == 1201
    run = pl.simulate(system, 0.05, step=1e-3, method="newmark", output=0.05, subdivide=True)
    energy = [system.kinetic_energy(q, v) + system.gravitational_energy(q) for q, v in zip(run.q, run.v)]
    assert abs(energy[-1] - energy[0]) < 1e-4 * system.kinetic_energy(run.q[-1], run.v[-1])


def test_massless_joints_are_found():
    """Nothing with mass moves along a joint: exactly, and only after the inertia behind it has cancelled."""
    robots = []
    rng = np.random.default_rng(0)
    for _ in range(20):
        axis = rng.normal(size=3)
        robot = pl.Robot("coaxial")
        robot.add_body("a", joint=pl.Revolute(axis))
        inertia = pl.Inertia(1.0, rng.normal(size=3), (0.1, 0.2, 0.25))
        robot.add_body("b", parent="a", joint=pl.Revolute(axis), inertia=inertia)
        robots.append(robot)
    point = pl.Robot("point")
    point.add_body("a", joint=pl.Spherical(), mass=1.0, com=(0.3, 0.2, 0.1))
    for robot in (*robots, point):
        system = robot.compile()
        q, v = system.random(rng), rng.normal(size=system.nv)
        for method in ("composite", "articulated"):
            with pytest.raises(ValueError, match=r"mass matrix is singular.*Give mass to what this joint"):
                system.forward_dynamics(q, v, method=method)


def test_singular_tangents_are_reported():
    robot = pl.Robot("free", gravity=(0, 0, 0))
    robot.add_body("a", joint=pl.Prismatic("x"), mass=1.0)
    system = robot.compile()
    zero = np.zeros(1)
    for solver in ("dense", "tree"):
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            system.solve_tangent(zero, zero, zero, np.ones(1), solver=solver)  # neither stiffness nor mass


def test_refusals_are_explained():
    robot = branched(0)
    robot.add_loop("pin", "tool", "twig", joint=pl.Spherical())
    system = robot.compile()
    q, v, a = state(system)
    with pytest.raises(ValueError, match=r"solver='tree' is not possible .* loop joints"):
        system.solve_tangent(q, v, a, v, solver="tree")
    with pytest.raises(ValueError, match="method = 'fast'"):
        system.forward_dynamics(q, v, method="fast")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="solver = 'sparse'"):
        pl.simulate(system, 0.1, solver="sparse")  # type: ignore[arg-type]
