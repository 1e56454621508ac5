"""A system is constant: what one call does, in this thread or another, changes no answer of another call, to the last bit."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest

import pliant as pl
from load_robots import branched, state
from pliant.kernels.layout import GIVEN, Work
from pliant.system.workspace import Given, Pool, Workspace
from robots import SILICONE, random_robot
from test_spectral import integrated

# ---------------------------------------------------------------- robots with everything that keeps memory in a workspace


def pull(pose: np.ndarray, twist: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """A spring to the origin with drag, as a user writes it."""
    return np.hstack([np.zeros((len(pose), 3)), -inputs[0] * pose[:, :3, 3] - 0.1 * twist[:, 3:]])


def arm() -> pl.Robot:
    robot = pl.Robot("arm")
    rod = robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.015), material=SILICONE, strains=pl.Strains.kirchhoff(3), points=6
    )
    robot.add_tendon("cable", rod, z=0.012)
    robot.add_tendon("cord", rod, z=-0.012, control="elastic", stiffness=500.0, friction=0.1, slip_speed=0.01)
    robot.add_wrench("weight", rod.tip, force=(0, 0, -0.1))
    return robot


def bow(control: str = "tension") -> pl.Robot:
    """Two legs pinned together at their tips."""
    robot = pl.Robot("bow", gravity=(0, 0, 0))
    legs = [
        robot.add_rod(
            f"leg{k}", offset=(0, y, 0), joint=pl.Revolute("z", stiffness=0.05), length=0.5, section=pl.Circle(0.006),
            material=pl.Material(young=1e7, poisson=0.4, density=1200.0, viscosity=1e4), strains=pl.Strains(bending_z=2),
            points=4,
        )
        for k, y in enumerate((-0.2, 0.2))
    ]  # fmt: skip
    robot.add_loop("pin", legs[0].tip, legs[1].tip, joint=pl.Revolute("z"))
    robot.add_tendon("cable", legs[0], y=0.004, control=control)
    return robot


def swimmer() -> pl.Robot:
    robot = branched(1)
    robot.set_fluid(density=1000.0, current=(0.1, 0.2, 0.3))
    robot.add_hydrodynamics("arm", pl.Hydrodynamics.circular(tail=True))
    robot.add_load("pull", ["tool", robot.link("arm").at(0.4)], pull, inputs=["stiffness"])
    return robot


def crawler() -> pl.Robot:
    robot = branched(2)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.3))
    for link in ("arm", "hub"):
        robot.add_contact(f"{link} down", link, "floor", stiffness=100.0, friction=0.3, damping=0.1)
    robot.add_contact("together", "arm", "hand", stiffness=100.0, friction=0.3)
    robot.add_motor("motor", "hand", control="position", kp=1.0)
    return robot


def spectral() -> pl.Robot:
    robot = integrated(branched(3, base="revolute"), arm=6, hand=6)
    robot.add_tendon("cable", robot.link("arm"), y=0.01)
    robot.add_motion("turn", "hub")
    return robot


ROBOTS: dict[str, Callable[[], pl.Robot]] = {
    "arm": arm,
    "loops": bow,
    "water and a user's load": swimmer,
    "contact": crawler,
    "spectral": spectral,
    "a tree": lambda: random_robot(5),
}
_SYSTEMS: dict[str, pl.System] = {}


@pytest.fixture(params=ROBOTS)
def system(request: pytest.FixtureRequest) -> pl.System:
    if request.param not in _SYSTEMS:
        _SYSTEMS[request.param] = ROBOTS[request.param]().compile()
    return _SYSTEMS[request.param]


def compiled(name: str) -> pl.System:
    return _SYSTEMS.setdefault(name, ROBOTS[name]().compile())


# ---------------------------------------------------------------- all questions at once

INNER = {"run_job", "check_q", "check_v", "make_work", "raise_user_errors", "workspace", "borrow", "place"}
INNER |= {"header_position", "spatial_error", "with_parameters"}  # the last two make a second system
LOOPS = {"forward_dynamics", "forward_dynamics_derivatives", "solve_tangent"}  # not for robots with loops


def flat(value: Any) -> bytes:
    """An answer to the last bit."""
    if is_dataclass(value) and not isinstance(value, type):
        value = astuple(value)
    if isinstance(value, (tuple, list)):
        return b"".join(flat(entry) for entry in value)
    return value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()


def answers(system: pl.System, seed: int = 0) -> dict[str, bytes]:
    """The answers of every public method, with arguments found by their names."""
    rng = np.random.default_rng(seed)
    q, v, a = state(system, seed)
    loops = list(system.robot.loops)
    values: dict[str, Any] = {"q": q, "q0": q, "q1": system.random(rng, scale=0.4), "v": v, "a": a}
    values |= {name: rng.normal(size=system.nv) for name in ("dv", "tau", "b")}
    values |= {"u": rng.uniform(size=system.nu), "multipliers": rng.normal(size=len(system.loop_rows))}
    values |= {"link": system.links[0], "frame": system.links[-1], "alpha": 2.0, "beta": 3.0, "rng": 1}
    values |= {
        "loop": loops[0] if loops else None,
        "stress": np.ones(6),
        "within": 0.5,
        "weights": None,
        "X": 7,
        "points": np.eye(3),
        "memory": np.zeros(system.nz),
    }
    values["rod"] = next((link.name for link in system.robot.links if link.is_rod), None)
    found = {}
    for name, method in inspect.getmembers(system, callable):
        missing = (loops and name in LOOPS) or (not loops and name == "loop_wrench")
        if name.startswith("_") or name in INNER or missing:
            continue
        values["weights"] = (1.0, 100.0) if name == "solve_tangent" else (0.7, 1.3, 2.1)
        wanted = inspect.signature(method).parameters
        if "rod" not in wanted or values["rod"]:
            found[name] = flat(method(**{key: values[key] for key in wanted if key in values}))
    for function in (pl.equation_of_motion, pl.projected_matrices, pl.composite_matrices, pl.coriolis_matrix):
        found[function.__name__] = flat(function(system, q, v))
    found |= {name: flat(getattr(system, name)) for name in ("mass", "gravity", "stiffness_matrix", "damping_matrix")}
    return found


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    assert one.keys() == other.keys()
    return [name for name in one if one[name] != other[name]]


# ---------------------------------------------------------------- garbage in the workspace


def spoil(space: Workspace) -> Workspace:
    space.packed[2][:] = np.nan
    space.pivot[:] = 10**6
    space.p[:] = space.store[:] = space.spare[0][:] = np.nan
    return space


@pytest.fixture
def garbage(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it, and from then on every workspace is full of garbage when it is taken."""
    take, make = Pool.take, Workspace.__init__

    def init(space: Workspace, pool: Pool) -> None:
        make(space, pool)
        spoil(space)

    def start() -> None:
        monkeypatch.setattr(Pool, "take", lambda pool: spoil(take(pool)))
        monkeypatch.setattr(Workspace, "__init__", init)

    return start


def test_no_answer_depends_on_what_was_left_in_the_workspace(system, garbage):
    clean = answers(system)
    assert len(clean) > 40
    garbage()
    assert differing(clean, answers(system)) == []


def test_what_a_call_is_given_does_not_outlast_it():
    system = compiled("loops")
    q, v, a = state(system)
    plain = system.residual(q, v, a)
    forced = system.residual(q, v, a, multipliers=np.ones(len(system.loop_rows)))
    assert np.abs(forced - plain).max() > 0.1
    np.testing.assert_array_equal(system.residual(q, v, a), plain)
    space = system.workspace()
    space.prepare(Given(np.ones(len(system.loop_rows)), 2.0, 3.0, np.ones((1, 4))))
    space.prepare()
    blank = system.workspace()
    blank.prepare()
    for name in GIVEN:
        np.testing.assert_array_equal(getattr(space.work, name), getattr(blank.work, name))
    with pytest.raises(ValueError, match=r"multipliers has shape \(3,\), but \(5,\) is needed"):
        system.residual(q, v, a, multipliers=np.ones(3))


def test_what_is_given_comes_first_in_the_workspace():
    """One copy sets it."""
    assert Work._fields[: len(GIVEN)] == GIVEN


RUNS: dict[str, Callable[[], Any]] = {
    "a step": lambda: pl.simulate(compiled("arm"), 0.02, u={"cable": 2.0}, step=0.005),
    "error control": lambda: pl.simulate(compiled("water and a user's load"), 0.01, u={"stiffness": 3.0}),
    "contact": lambda: pl.simulate(compiled("contact"), 0.01, step=0.005),
    "loops": lambda: pl.simulate(compiled("loops"), 0.01, start=_rest(), step=0.005),
    "loops by an ODE": lambda: pl.simulate(compiled("loops"), 0.005, start=_rest(), method="rk45"),
    "a prescribed length": lambda: _pulled(),
    "a prescribed joint": lambda: pl.simulate(
        compiled("spectral"), 0.005, u={"cable": 1.0}, motion={"turn": lambda t: np.sin(t)}, step=0.0025
    ),
    "statics": lambda: pl.solve_statics(compiled("arm"), {"cable": 3.0}),
    "statics of loops": lambda: pl.solve_statics(compiled("loops"), {"cable": 1.0}),
    "statics with load steps": lambda: pl.solve_statics(compiled("arm"), {"cable": 3.0}, load_steps=3),
    "a branch of equilibria": lambda: pl.trace_equilibria(_column(), gravity=True),
}


def _rest() -> pl.Equilibrium:
    return pl.solve_statics(compiled("loops"))


def _held() -> pl.System:
    if "held" not in _SYSTEMS:
        _SYSTEMS["held"] = bow("length").compile()
    return _SYSTEMS["held"]


def _pulled() -> pl.Result:
    rest = _rest()
    length = compiled("loops").tendon_lengths(rest.q)[0][0]
    return pl.simulate(_held(), 0.01, start=rest, step=0.005, motion={"cable": lambda t: length - 0.1 * t})


def _column() -> pl.System:
    if "column" not in _SYSTEMS:
        robot = pl.Robot("column")
        robot.add_rod(
            "rod", offset=pl.rotate("y", -1.5), length=0.4, section=pl.Circle(0.01), material=SILICONE,
            strains=pl.Strains(bending_y=1), points=4,
        )  # fmt: skip
        robot.add_tendon("cable", "rod", z=0.005)
        _SYSTEMS["column"] = robot.compile()
    return _SYSTEMS["column"]


def outcome(run: Any) -> bytes:
    """What a solver found."""
    return b"".join(flat(getattr(run, name)) for name in ("q", "v", "u", "multipliers") if hasattr(run, name))


@pytest.mark.parametrize("name", RUNS)
def test_no_solver_depends_on_what_was_left_in_the_workspace(name, garbage):
    clean = outcome(RUNS[name]())
    garbage()
    assert outcome(RUNS[name]()) == clean


# ---------------------------------------------------------------- threads


def in_threads(count: int, task: Callable[[int], Any]) -> list[Any]:
    """The results of task(0), task(1), … in as many threads, which start together."""
    barrier = threading.Barrier(count)

    def run(k: int) -> Any:
        barrier.wait()
        return task(k)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.mark.parametrize("count", [2, 4])
def test_questions_from_threads(system, count):
    alone = [answers(system, seed) for seed in range(count)]

    def ask(k: int) -> list[str]:
        return [name for _ in range(5) for name in differing(alone[k], answers(system, k))]

    assert in_threads(count, ask) == [[]] * count


def test_residuals_from_threads():
    """Kernels run without the interpreter's lock: short ones, over and over."""
    system = compiled("contact")
    states = [state(system, seed) for seed in range(4)]
    alone = [(system.residual(*s), system.residual_tangent(*s), system.pose("tool", s[0])) for s in states]

    def ask(k: int) -> bool:
        q, v, a = states[k]
        for _ in range(300):
            found = system.residual(q, v, a), system.residual_tangent(q, v, a), system.pose("tool", q)
            if not all(np.array_equal(x, y) for x, y in zip(found, alone[k])):
                return False
        return True

    assert in_threads(4, ask) == [True] * 4


def test_statics_in_two_threads():
    system = compiled("arm")
    tensions = np.linspace(0.0, 4.0, 200)

    def solve(_k: int) -> np.ndarray:
        return np.array([pl.solve_statics(system, {"cable": tension}).q for tension in tensions])

    alone = solve(0)
    for found in in_threads(2, solve):
        np.testing.assert_array_equal(found, alone)


@pytest.mark.parametrize("name", [name for name in RUNS if name.startswith(("a ", "loops", "error", "contact"))])
def test_simulations_in_two_threads(name):
    alone = outcome(RUNS[name]())
    assert in_threads(2, lambda k: outcome(RUNS[name]())) == [alone, alone]


def test_the_pool_keeps_no_more_than_was_used_at_once():
    system = arm().compile()
    in_threads(3, lambda k: [system.residual(*state(system, k)) for _ in range(20)])
    assert 1 <= len(system._pool.free) <= 3


# ---------------------------------------------------------------- loads that the user wrote


def test_a_load_that_asks_the_system():
    """A call from inside a call has a workspace of its own."""
    asked: list[pl.System] = []

    def leash(pose: np.ndarray, twist: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        if asked:
            system = asked[0]
            system.pose("arm.tip", system.neutral() + 1.0)
            system.mass_matrix(system.neutral() + 2.0)
        return np.hstack([np.zeros((len(pose), 3)), -3.0 * pose[:, :3, 3]])

    robot = arm()
    robot.add_load("leash", "arm", leash)
    system = robot.compile()
    q, v, a = state(system)
    quiet = system.residual(q, v, a), system.residual_tangent(q, v, a), pl.solve_statics(system).q
    asked.append(system)
    for found, expected in zip((system.residual(q, v, a), system.residual_tangent(q, v, a)), quiet):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(pl.solve_statics(system).q, quiet[2])


def test_an_error_in_a_load_is_raised_in_the_thread_that_called_it():
    limit = threading.local()

    def fragile(pose: np.ndarray, twist: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        if getattr(limit, "breaks", False):
            raise RuntimeError("it broke")
        return np.zeros((len(pose), 6))

    robot = arm()
    robot.add_load("fragile", "arm", fragile)
    system = robot.compile()
    q, v, a = state(system)

    def ask(k: int) -> int:
        limit.breaks = k == 1
        errors = 0
        for _ in range(50):
            try:
                system.residual(q, v, a)
            except RuntimeError:
                errors += 1
        return errors

    assert in_threads(2, ask) == [0, 50]


# ---------------------------------------------------------------- constant


def test_tables_cannot_be_written(system):
    groups = ("tables", "internal", "tendons", "efforts", "wrenches", "water", "contact", "user", "loops", "fronts")
    for group in groups:
        for name, table in zip(getattr(system, group)._fields, getattr(system, group)):
            with pytest.raises(ValueError, match="read-only"):
                table[...] = 0
            assert not table.flags.writeable, (group, name)
    with pytest.raises(ValueError, match="read-only"):
        system.known[:] = True
    system.gravity[:] = 0.0  # a copy
    assert np.any(system.gravity) == np.any(system.tables.gravity)


def test_no_attribute_changes_by_asking(system):
    def content() -> bytes:
        return b"".join(array.tobytes() for array in system.workspace().packed[:2])

    before, known = content(), dict(vars(system))
    answers(system)
    assert content() == before
    after = vars(system)
    assert [name for name, value in known.items() if after[name] is not value] == []
    found_once = {name for name, what in inspect.getmembers_static(type(system)) if isinstance(what, cached_property)}
    assert set(after) - set(known) <= found_once


# ---------------------------------------------------------------- copies


def pickled(system: pl.System) -> pl.System:
    return pickle.loads(pickle.dumps(system))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickled])
def test_copies(system, duplicate):
    if duplicate is pickled and system is _SYSTEMS.get("a tree"):
        pytest.skip("its description has functions that cannot be pickled")
    alone = answers(system)
    twin = duplicate(system)
    assert twin is not system
    assert twin._pool is not system._pool
    assert differing(alone, answers(twin)) == []
    assert differing(alone, answers(system)) == []


def _ask_elsewhere(system: pl.System) -> dict[str, bytes]:
    return answers(system)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes(method):
    system = compiled("water and a user's load")
    alone = answers(system)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert differing(alone, pool.apply(_ask_elsewhere, (system,))) == []
