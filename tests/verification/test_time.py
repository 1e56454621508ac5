"""Motion through time by the default integrators: measured orders, honesty about steps, jumps, feedback, continuation, threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from test_dynamics_orders import DURATION, SYSTEMS, TIGHT, errors, reference, run, slope
from test_mechanisms import four_bar

import pliant as pl
from pliant.kernels import slots
from pliant.solve.closure import close
from pliant.solve.methods.marching import Marching
from pliant.solve.methods.tableau import ESDIRK3, ESDIRK5

# steps of each method and system, coarse enough that rounding and Newton's iteration do not show
STEPS = {
    "esdirk3": {"rod": (60, 90, 138, 204), "pendulum": (24, 36, 54, 84), "floating": (90, 138, 204, 300), "top": (48, 72, 108, 162)},
    "esdirk5": {"rod": (60, 84, 120, 168), "pendulum": (12, 18, 24, 36), "floating": (60, 84, 120, 168), "top": (36, 48, 66, 90)},
}  # fmt: skip


# ---------------------------------------------------------------- tableaus


@pytest.mark.parametrize("tableau", [ESDIRK3, ESDIRK5], ids=lambda t: t.name)
def test_tableaus(tableau) -> None:
    """Order conditions of quadrature and of trees of height two, stage order two, L-stability."""
    a, c = tableau.a, tableau.c
    for b, order in ((tableau.b, tableau.order), (tableau.b_hat, tableau.embedded)):
        for k in range(1, order + 1):
            assert b @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-12)
        for k in range(1, order - 1):
            assert b @ a @ c**k == pytest.approx(1 / ((k + 1) * (k + 2)), abs=1e-12)
    np.testing.assert_allclose(a @ c, c**2 / 2, atol=1e-12)
    z = -1e10
    assert 1 + z * tableau.b @ np.linalg.solve(np.eye(len(c)) - z * a, np.ones(len(c))) == pytest.approx(0, abs=1e-6)
    assert np.all((c >= 0) & (c <= 1 + 1e-12))


# ---------------------------------------------------------------- orders


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("method", ["esdirk3", "esdirk5"])
def test_orders(name: str, method: str) -> None:
    """On vector spaces and on manifolds, of coordinates and of velocities."""
    order = {"esdirk3": 3, "esdirk5": 5}[method]
    if (name, method) == ("rod", "esdirk5"):
        order = 4.5  # it is stiff: the order is 4.7 and rises as steps get shorter
    h = [DURATION / n for n in STEPS[method][name]]
    found = [errors(run(name, method=method, step=x, newton_tolerance=TIGHT), reference(name)) for x in h]
    measured = slope(h, [e[0] for e in found]), slope(h, [e[1] for e in found])
    print(
        f"{name} {method}: orders {measured[0]:.2f} (q) {measured[1]:.2f} (v), errors {found[-1][0]:.1e} {found[-1][1]:.1e}"
    )
    assert order - 0.4 < min(measured)
    assert max(measured) < order + 1.2


@cache
def moving_four_bar() -> tuple[pl.System, np.ndarray, np.ndarray, pl.Result]:
    """A four-bar linkage that is let go, and its motion by Radau's method on the accelerations."""
    system = four_bar()
    q = close(system, np.array([0.4, -0.9, -1.3]))[0]
    exact = pl.simulate(system, 0.4, start=q, method="radau", rtol=1e-11, atol=1e-12, baumgarte=0.05, output=0.1)
    assert exact.success
    return system, q, exact.v[0], exact


@pytest.mark.parametrize("method", ["esdirk3", "esdirk5"])
def test_orders_with_loops(method: str) -> None:
    """Coordinates, velocities and forces of the loop; the loop is closed at every step, and so are velocities."""
    system, q, v, exact = moving_four_bar()
    counts = (16, 24, 36, 52) if method == "esdirk3" else (12, 16, 24, 32)
    found = []
    for n in counts:
        result = pl.simulate(system, 0.4, start=q, velocity=v, method=method, step=0.4 / n, output=exact.t)
        assert result.success, result.message
        force = np.abs(result.multipliers[1:] - exact.multipliers[1:]).max() / np.abs(exact.multipliers).max()
        found.append((*errors(result, exact), force))
        steps = pl.simulate(system, 0.4, start=q, velocity=v, method=method, step=0.4 / n)
        assert max(np.abs(system.closure(x)[0]).max() for x in steps.q) < 1e-12
        assert max(np.abs(system.closure(x)[1] @ y).max() for x, y in zip(steps.q, steps.v)) < 1e-11
    orders = [slope([0.4 / n for n in counts], [row[k] for row in found]) for k in range(3)]
    print(f"{method}: orders {orders[0]:.2f} (q) {orders[1]:.2f} (v) {orders[2]:.2f} (forces), {found[-1]}")
    least = {"esdirk3": (2.7, 2.6, 1.6), "esdirk5": (2.5, 2.5, 1.6)}[method]  # of index 2, stages are of order 2
    assert all(order > bound for order, bound in zip(orders, least))


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("method", ["esdirk3", "esdirk5"])
def test_error_follows_the_tolerance(name: str, method: str) -> None:
    tolerances = [1e-3, 1e-4, 1e-5, 1e-6]
    options = {"method": method, "max_step": DURATION}
    found = [errors(run(name, rtol=x, atol=x / 10, **options), reference(name)) for x in tolerances]
    rate = slope(tolerances, [max(e) for e in found])
    print(f"{name} {method}: error ~ tol^{rate:.2f}, {found}")
    assert 0.6 < rate < 1.6
    size = np.abs(reference(name).v / reference(name).system.internal.scale).max()
    for tolerance, (_q, v) in zip(tolerances, found):
        assert v < 30 * tolerance * max(size, 1.0)


@pytest.mark.parametrize("name", SYSTEMS)
def test_default_is_right_to_a_tenth_of_a_per_cent(name: str) -> None:
    expected = reference(name)
    q, v = errors(run(name), expected)
    system, scale = expected.system, expected.system.internal.scale
    moved = max(np.abs(system.difference(expected.q[0], x) / scale).max() for x in expected.q)
    assert q < 1e-3 * max(moved, 1.0)
    assert v < 1e-2 * np.abs(expected.v / scale).max()


# ---------------------------------------------------------------- dense output


@pytest.mark.parametrize("name", SYSTEMS)
def test_output_between_steps_is_as_good_as_at_steps(name: str) -> None:
    system, q, v = SYSTEMS[name]()
    times = np.linspace(0.0, DURATION, 211)
    fine = pl.simulate(system, DURATION, start=q, velocity=v, method="esdirk5", rtol=1e-10, atol=1e-11, output=times)
    dense = pl.simulate(system, DURATION, start=q, velocity=v, output=times)
    at_steps = pl.simulate(system, DURATION, start=q, velocity=v)
    exact = pl.simulate(
        system, DURATION, start=q, velocity=v, method="esdirk5", rtol=1e-10, atol=1e-11, output=at_steps.t
    )
    between, there = errors(dense, fine), errors(at_steps, exact)
    print(f"{name}: between {between}, at steps {there}")
    assert between[0] < 2.0 * there[0] + 1e-9
    assert between[1] < 8.0 * there[1] + 1e-8


# ---------------------------------------------------------------- constant steps


def arm(viscosity: float = 1e3, young: float = 1e6) -> pl.System:
    robot = pl.Robot("arm")
    rubber = pl.Material(young=young, poisson=0.5, density=1000.0, viscosity=viscosity)
    rod = robot.add_rod("rod", length=0.4, section=pl.Circle(0.012), material=rubber, strains=pl.Strains(bending=2))
    robot.add_tendon("cable", rod, z=0.01)
    return robot.compile()


def test_constant_steps_are_constant() -> None:
    """However long they are: a step is taken as it is, or the run ends and says which one it was."""
    system = arm()
    for step in (0.001, 0.01, 0.05):
        result = pl.simulate(system, 0.2, u={"cable": 3.0}, step=step)
        assert result.success, result.message
        assert result.statistics.steps == round(0.2 / step)
        np.testing.assert_allclose(np.diff(result.t), step, rtol=1e-9)
        assert not result.warnings


def whip() -> tuple[pl.System, np.ndarray]:
    """A very soft rod that is thrown: no step of half a second follows it."""
    robot = pl.Robot("whip")
    jelly = pl.Material(young=2e3, poisson=0.5, density=1000.0)
    robot.add_rod("rod", length=0.5, section=pl.Circle(0.01), material=jelly, strains=pl.Strains(bending=3))
    system = robot.compile()
    return system, np.full(system.nv, 40.0)


@pytest.mark.parametrize("method", ["esdirk3", "generalized-alpha"])
def test_a_step_that_fails_is_named_or_subdivided(method: str) -> None:
    system, v = whip()
    failed = pl.simulate(system, 1.0, velocity=v, step=0.5, method=method)
    assert not failed.success
    assert "step 1" in failed.message or "step 2" in failed.message
    assert "subdivide=True" in failed.message
    assert np.all(np.diff(failed.t) > 0)  # the last good row is stored once
    parts = pl.simulate(system, 1.0, velocity=v, step=0.5, method=method, subdivide=True)
    assert parts.success, parts.message
    np.testing.assert_allclose(parts.t, [0.0, 0.5, 1.0])
    assert any("were subdivided" in text for text in parts.warnings)
    assert parts.statistics.steps > 4


# ---------------------------------------------------------------- jumps


def test_loops_survive_a_step_that_fails() -> None:
    """Forces of loops are those of the start when a part of a step is tried again."""
    system, q, v, _exact = moving_four_bar()
    result = pl.simulate(system, 0.8, start=q, velocity=v, step=0.4, subdivide=True)
    assert result.success, result.message
    assert np.all(np.isfinite(result.multipliers))
    assert np.abs(system.closure(result.q[-1])[0]).max() < 1e-12


def test_between_the_first_constant_steps() -> None:
    """The acceleration that a stiff robot has for an instant does not bend the motion between steps."""
    system = arm(viscosity=1e4)
    rest = pl.solve_statics(system, {"cable": 5.0})
    exact = pl.simulate(system, 0.1, start=rest, output=0.01, rtol=1e-8, atol=1e-9)
    coarse = pl.simulate(system, 0.1, start=rest, step=0.05, output=0.01)
    tip = [r.positions("rod.tip") for r in (exact, coarse)]
    assert np.linalg.norm(tip[0] - tip[1], axis=1).max() < 0.02 * 0.4


def steps_of_tension(t: float) -> dict[str, float]:
    return {"cable": 0.0 if t < 0.1 else 4.0 if t < 0.23 else 1.0}


def test_jumps_are_found_declared_or_known() -> None:
    """The same motion in all three ways, and the same as of a tight run; found ones are said."""
    system = arm()
    signal = pl.Signal([0.0, 0.1, 0.23], [0.0, 4.0, 1.0], kind="hold")
    exact = pl.simulate(system, 0.4, u={"cable": signal}, rtol=1e-9, atol=1e-10, output=0.02)
    found = pl.simulate(system, 0.4, u=steps_of_tension, output=0.02)
    told = pl.simulate(system, 0.4, u=steps_of_tension, breaks=[0.1, 0.23], output=0.02)
    known = pl.simulate(system, 0.4, u={"cable": signal}, output=0.02)
    for result in (found, told, known):
        q, v = errors(result, exact)
        assert q < 1e-3
        assert v < 1e-2 * np.abs(exact.v / system.internal.scale).max()
    assert any("jump" in text and "0.1 s" in text for text in found.warnings)
    assert not told.warnings
    assert not known.warnings
    np.testing.assert_allclose(told.q, known.q, rtol=1e-9, atol=1e-9)
    assert known.statistics.rejected <= found.statistics.rejected


# ---------------------------------------------------------------- feedback


def test_feedback_acts_continuously() -> None:
    """A law of the state gives the motion that the same spring and damper give."""
    system = arm()
    n = system.nv

    def law(t: float, state) -> np.ndarray:
        return -0.02 * state.q[:n] - 0.001 * state.v

    exact = pl.simulate(system, 0.3, tau=law, method="dop853", rtol=1e-10, atol=1e-12, output=0.05)
    tolerances = [1e-5, 1e-6, 1e-8]
    found = [errors(pl.simulate(system, 0.3, tau=law, rtol=x, atol=x / 10, output=0.05), exact)[0] for x in tolerances]
    print(f"feedback: {found}")
    assert found[0] < 1e-5
    assert slope(tolerances, found) > 0.6
    counts = (20, 40, 80)
    fixed = [errors(pl.simulate(system, 0.3, tau=law, step=0.3 / n, output=0.05), exact)[0] for n in counts]
    assert slope([1 / n for n in counts], fixed) > 2.4


def test_an_error_in_a_function_keeps_what_was_computed() -> None:
    system = arm()

    def broken(t: float) -> dict[str, float]:
        if t > 0.2:
            raise RuntimeError("the valve is stuck")
        return {"cable": 3.0}

    result = pl.simulate(system, 0.4, u=broken)
    assert not result.success
    assert "the valve is stuck" in result.message
    assert 0.1 < result.last.t <= 0.2


# ---------------------------------------------------------------- runs in parts, threads


def test_chopped_runs_equal_whole_runs() -> None:
    system = arm()
    u = {"cable": pl.Expression("3*sin(4*t)**2")}
    whole = pl.simulate(system, 0.4, u=u, step=0.005)
    first = pl.simulate(system, 0.2, u=u, step=0.005)
    second = pl.simulate(system, 0.2, u=u, step=0.005, start=first)
    np.testing.assert_allclose(second.q[-1], whole.q[-1], rtol=0, atol=1e-10 * np.abs(whole.q).max())
    np.testing.assert_allclose(second.v[-1], whole.v[-1], rtol=0, atol=1e-9 * np.abs(whole.v).max())


@pytest.mark.parametrize("threads", [2, 8])
def test_the_same_on_any_number_of_threads(threads: int) -> None:
    system = arm()
    python = lambda t: {"cable": 2.0 + np.sin(7 * t)}  # noqa: E731
    formula = {"cable": pl.Expression("2 + sin(7*t)")}

    def motion(u) -> pl.Result:
        return pl.simulate(system, 0.3, u=u)

    alone = [motion(python), motion(formula)]
    with ThreadPoolExecutor(threads) as pool:
        many = list(pool.map(motion, [python, formula] * threads))
    for k, result in enumerate(many):
        np.testing.assert_array_equal(result.t, alone[k % 2].t)
        np.testing.assert_array_equal(result.q, alone[k % 2].q)
    np.testing.assert_allclose(alone[0].q[-1], alone[1].q[-1], atol=1e-12)


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    system = arm()
    many = pl.simulate(system, 0.3, u={"cable": 3.0}, output=0.01)
    monkeypatch.setattr(Marching, "ROOM", 1)
    single = pl.simulate(system, 0.3, u={"cable": 3.0}, output=0.01)
    np.testing.assert_array_equal(many.q, single.q)
    np.testing.assert_array_equal(many.v, single.v)


# ---------------------------------------------------------------- energy


@pytest.mark.parametrize("seed", range(4))
def test_passive_robots_gain_nothing(seed: int) -> None:
    """Damped rods on hinges that are let go: their energy only falls, to a hundredth of its swing."""
    rng = np.random.default_rng(seed)
    robot = pl.Robot(f"passive {seed}")
    rubber = pl.Material(young=10 ** rng.uniform(4, 8), poisson=0.45, density=1100, viscosity=10 ** rng.uniform(2, 4))
    parent = None
    for k in range(2):
        strains = pl.Strains(torsion=1, bending=int(rng.integers(1, 4)), stretch=0)
        joint = pl.Revolute(rng.normal(size=3), damping=1e-4)
        parent = robot.add_rod(
            f"rod{k}", parent=None if parent is None else parent.tip, joint=joint, length=rng.uniform(0.1, 0.5),
            section=pl.Circle(rng.uniform(0.004, 0.02)), material=rubber, strains=strains,
        )  # fmt: skip
    system = robot.compile()
    result = pl.simulate(system, 1.0)
    total, kinetic = result.energies().total, result.energies().kinetic
    assert result.success
    assert (total - np.minimum.accumulate(total)).max() < 0.01 * (np.ptp(total) + kinetic.max())


# ---------------------------------------------------------------- the two forms of Newton's iteration


@pytest.mark.parametrize("options", [{}, {"step": 0.01}])
@pytest.mark.parametrize("solver", ["dense", "tree"])
def test_the_explicit_form_gives_the_same_motion(
    solver: str, options: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With dense factors and along the tree, on a branched robot."""
    robot = pl.Robot("branched")
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e3)
    common = {"length": 0.2, "section": pl.Circle(0.02), "material": rubber, "strains": pl.Strains.kirchhoff(2)}
    trunk = robot.add_rod("trunk", **common)
    for k in range(2):
        branch = robot.add_rod(f"branch{k}", parent=trunk.tip, offset=pl.rotate("z", 0.5 - k), **common)
        robot.add_body(f"leaf{k}", parent=branch.tip, joint=pl.Revolute("y"), shape=pl.Sphere(0.02), mass=0.05)
    system = robot.compile()
    plain = pl.simulate(system, 0.2, solver=solver, output=0.05, **options)
    set_options = Marching._set_options

    def explicit(self: Marching, tree: bool) -> None:
        set_options(self, tree)
        self._p[slots.MARCH_FORM] = 1e9

    monkeypatch.setattr(Marching, "_set_options", explicit)
    other = pl.simulate(system, 0.2, solver=solver, output=0.05, **options)
    assert plain.success
    assert other.success
    q, v = errors(other, plain)
    assert q < (1e-9 if options else 1e-4)
    assert v < (1e-8 if options else 1e-3) * np.abs(plain.v / system.internal.scale).max()
