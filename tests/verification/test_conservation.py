"""The midpoint rule: order, time reversal, energy without drift, momentum to rounding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import pliant as pl

Start = tuple[pl.System, np.ndarray, np.ndarray]
RUBBER = pl.Material(young=8e5, poisson=0.5, density=1000.0)
BAR = {"shape": pl.Box(0.4, 0.05, 0.03), "mass": 0.5, "com": (0.2, 0, 0)}


# ---------------------------------------------------------------- systems


def pendulum() -> Start:
    """A double pendulum with hinges that are not parallel."""
    robot = pl.Robot("pendulum")
    upper = robot.add_body("upper", joint=pl.Revolute("y"), **BAR)
    robot.add_body("lower", parent=upper, joint=pl.Revolute((0, 1, 1)), offset=(0.4, 0, 0), **BAR)
    return robot.compile(), np.array([0.3, 0.9]), np.array([1.0, -2.0])


def top() -> Start:
    """A heavy top on a spherical joint."""
    robot = pl.Robot("top")
    robot.add_body("top", joint=pl.Spherical(), mass=0.5, com=(0.05, 0, 0.2), inertia=(4e-3, 3e-3, 2e-3))
    system = robot.compile()
    return system, system.integrate(system.neutral(), [0.4, 0.0, 0.0]), np.array([1.0, -0.5, 12.0])


def flying_top() -> Start:
    """The same top, thrown."""
    robot = pl.Robot("flying top")
    robot.add_body("top", joint=pl.Free(), mass=0.5, com=(0.05, 0, 0.2), inertia=(4e-3, 3e-3, 2e-3))
    system = robot.compile()
    return system, system.neutral(), np.array([1.0, -0.5, 12.0, 0.3, 0.2, 4.0])


def rod() -> Start:
    """A bent rod that tumbles, without gravity."""
    robot = pl.Robot("rod", gravity=(0, 0, 0))
    robot.add_rod(
        "rod", joint=pl.Free(), length=10.0, stiffness=[500, 500, 500, 1e4, 1e4, 1e4], inertia=[10, 10, 10, 1, 1, 1],
        strains=pl.Strains.kirchhoff(2, basis="chebyshev"), points=8,
    )  # fmt: skip
    system = robot.compile()
    q, v = system.neutral(), np.zeros(system.nv)
    for name in ("rod.bending_y[0]", "rod.bending_z[0]", "rod.torsion[0]"):
        q[system.dof_names.index(name) + 1] = 0.1
    v[:6] = 0.3, 0.8, 1.2, 0.1, -0.2, 0.3
    return system, q, v


def branched_robot() -> pl.Robot:
    """A free body that carries two rods, a tool and a wheel."""
    robot = pl.Robot("branched", gravity=(0.5, -1.0, -9.81))
    placed = pl.translate(0.3, -0.2, 1.0) @ pl.rotate("x", 0.7)
    base = robot.add_body("base", joint=pl.Free(), offset=placed, shape=pl.Box(0.2, 0.1, 0.05), mass=0.6)
    common = {"parent": base, "section": pl.Circle(0.015), "material": RUBBER, "strains": pl.Strains(bending=1)}
    arm = robot.add_rod("arm", offset=(0.1, 0, 0), length=0.4, **common)
    robot.add_rod("leg", offset=pl.translate(-0.1, 0, 0) @ pl.rotate("z", 2.0), length=0.3, **common)
    robot.add_body("tool", parent=arm, shape=pl.Sphere(0.05), mass=0.2)
    robot.add_body("wheel", parent=base, joint=pl.Revolute("z"), offset=(0, 0.2, 0), shape=pl.Sphere(0.04), mass=0.2)
    return robot


def thrown(system: pl.System) -> Start:
    v = np.zeros(system.nv)
    v[:6] = 2.0, 4.0, -3.0, 0.5, 0.2, 1.0
    return system, system.neutral(), v


def branched() -> Start:
    return thrown(branched_robot().compile())


def add_pair(robot: pl.Robot) -> None:
    """Two bodies, far from the origin."""
    other = robot.add_body("other", joint=pl.Free(), offset=(300.0, 0, 0), **BAR)
    robot.add_body("drum", parent=other, joint=pl.Revolute("z"), offset=(0.4, 0, 0), **BAR)


def swarm() -> Start:
    """Two free robots and a pendulum in one, with all that acts inside of a robot."""
    robot = branched_robot()
    robot.add_tendon("cable", robot.link("arm"), y=0.01)
    robot.add_tendon("band", ["wheel", "tool"], control="elastic", stiffness=20.0, rest_length=0.1)
    robot.add_motor("motor", "wheel")
    robot.add_body("post", joint=pl.Revolute("y"), **BAR)
    add_pair(robot)
    robot.add_motion("turn", "drum")
    system = robot.compile()
    v = np.zeros(system.nv)
    for name, twist in (("base", (2.0, 4.0, -3.0, 0.5, 0.2, 1.0)), ("other", (1.0, 0.5, 3.0, 0.1, 0.2, 5.0))):
        v[system.v_slice(name)][:6] = twist
    return system, system.neutral(), v


# ---------------------------------------------------------------- order and symmetry

DURATION = 0.6
STEPS = {
    pendulum: (42, 60, 90, 138),
    top: (60, 90, 138, 204),
    flying_top: (60, 90, 138, 204),
    branched: (120, 180, 270, 408),
}


def case(function: Callable[[], Start]) -> str:
    return function.__name__


def errors(system: pl.System, q: np.ndarray, v: np.ndarray, exact: pl.Result) -> tuple[float, float]:
    """Of q and v, in units of the coordinates' scale."""
    scale = system.internal.scale
    moved = np.abs(system.difference(exact.q[-1], q) / scale).max()
    return float(moved), float(np.abs((v - exact.v[-1]) / scale).max())


@pytest.mark.parametrize("make", STEPS, ids=case)
def test_second_order(make: Callable[[], Start]) -> None:
    system, q, v = make()
    exact = pl.simulate(system, DURATION, start=q, velocity=v, method="dop853", rtol=1e-12, atol=1e-12, output=DURATION)
    h, found = [DURATION / n for n in STEPS[make]], []
    for step in h:
        run = pl.simulate(system, DURATION, start=q, velocity=v, method="midpoint", step=step)
        assert run.success, run.message
        assert run.method == "midpoint"
        found.append(errors(system, run.q[-1], run.v[-1], exact))
    orders = [np.polyfit(np.log(h), np.log([e[k] for e in found]), 1)[0] for k in (0, 1)]
    print(
        f"{make.__name__}: orders {orders[0]:.2f} (q) {orders[1]:.2f} (v), errors {found[-1][0]:.1e} {found[-1][1]:.1e}"
    )
    assert all(1.9 < order < 2.15 for order in orders)


@pytest.mark.parametrize(
    ("make", "h"), [(pendulum, 0.01), (top, 0.01), (flying_top, 0.01), (rod, 0.02), (branched, 0.004)]
)
def test_it_goes_back_where_it_came_from(make: Callable[[], Start], h: float) -> None:
    system, q, v = make()
    there = pl.simulate(system, 200 * h, start=q, velocity=v, method="midpoint", step=h)
    back = pl.simulate(system, 200 * h, start=there.q[-1], velocity=-there.v[-1], method="midpoint", step=h)
    away = np.abs(system.difference(q, back.q[-1])).max(), np.abs(back.v[-1] + v).max() / np.abs(v).max()
    print(f"{make.__name__}: {away[0]:.1e} {away[1]:.1e} from the start after {len(there) - 1} steps there and back")
    assert max(away) < 1e-9


# ---------------------------------------------------------------- momentum


def departures(run: pl.Result) -> tuple[float, float, float]:
    """Of linear momentum, of angular momentum about the centre of mass (relative) and of that centre [m] from their laws."""
    system, g = run.system, run.system.gravity
    momenta = [system.momentum(q, v, about="com") for q, v in zip(run.q, run.v)]
    centre = np.array([system.center_of_mass(q) for q in run.q])
    t = run.t[:, None]
    P = np.array([m.linear for m in momenta])
    L = np.array([m.angular for m in momenta])
    law = centre[0] + P[0] / system.mass * t + 0.5 * g * t**2
    linear = np.abs(P - P[0] - system.mass * g * t).max() / np.abs(P).max()
    return linear, np.abs(L - L[0]).max() / np.linalg.norm(L[0]), np.abs(centre - law).max()


@pytest.mark.parametrize(
    ("make", "duration", "h"), [(rod, 20.0, 0.02), (branched, 5.0, 0.005), (flying_top, 20.0, 0.02)]
)
def test_momentum_is_kept_to_rounding(make: Callable[[], Start], duration: float, h: float) -> None:
    system, q, v = make()
    run = pl.simulate(system, duration, start=q, velocity=v, method="midpoint", step=h, output=duration / 100)
    assert run.success, run.message
    assert not [note for note in run.warnings if "Momentum" in note]
    linear, angular, centre = departures(run)
    print(f"{make.__name__}: linear {linear:.1e}, angular {angular:.1e}, centre {centre:.1e} m in {duration} s")
    assert linear < 1e-12
    assert angular < 1e-10
    assert centre < 1e-10 * (1 + 0.5 * 9.81 * duration**2)


def test_each_free_tree_keeps_its_own_momentum() -> None:
    """With motors, tendons and prescribed joints inside of them; a robot of several trees is as many robots."""
    system, q, v = swarm()
    driven = {"motor": 0.02, "cable": 3.0}
    motion = {"turn": lambda t: np.sin(3 * t)}
    run = pl.simulate(
        system, 1.0, u=driven, motion=motion, start=q, velocity=v, method="midpoint", step=0.005, output=0.1
    )
    assert run.success, run.message
    assert not [note for note in run.warnings if "Momentum" in note]
    alone = branched_robot().compile()
    pair = pl.Robot("pair", gravity=system.gravity)
    add_pair(pair)
    other = pair.compile()
    for tree, q_of, v_of in (
        (alone, slice(0, alone.nq), slice(0, alone.nv)),
        (other, slice(-other.nq, None), slice(-other.nv, None)),
    ):
        momenta = [tree.momentum(x[q_of], y[v_of], about="com") for x, y in zip(run.q, run.v)]
        P, L = np.array([m.linear for m in momenta]), np.array([m.angular for m in momenta])
        linear = np.abs(P - P[0] - tree.mass * tree.gravity * run.t[:, None]).max() / np.abs(P).max()
        angular = np.abs(L - L[0]).max() / np.linalg.norm(L[0])
        print(f"{tree.name}: linear {linear:.1e}, angular {angular:.1e}")
        assert linear < 1e-12
        assert angular < 1e-10


def test_loops_inside_of_a_tree_are_internal() -> None:
    robot = pl.Robot("frame")
    base = robot.add_body("base", joint=pl.Free(), **BAR)
    left = robot.add_body("left", parent=base, joint=pl.Revolute("z"), **BAR)
    right = robot.add_body("right", parent=base, joint=pl.Revolute("z"), offset=(0.4, 0, 0), **BAR)
    cross = robot.add_body("cross", parent=left, joint=pl.Revolute("z"), offset=(0.4, 0, 0), **BAR)
    robot.add_loop("pin", cross.at((0.4, 0, 0)), right.at((0.4, 0, 0)), joint=pl.Revolute("z"))
    system = robot.compile()
    q = system.neutral()
    q[7:] = np.pi / 2, np.pi / 2, -np.pi / 2
    v = np.zeros(system.nv)
    v[:6] = 0.5, 1.0, 2.0, 0.1, 0.2, 0.3
    v[6:] = 1.0, 1.0, -1.0
    run = pl.simulate(system, 1.0, start=q, velocity=v, method="midpoint", step=0.005)
    assert run.success, run.message
    assert max(np.abs(system.closure(x)[0]).max() for x in run.q) < 1e-9
    linear, angular, _centre = departures(run)
    print(f"with a loop: linear {linear:.1e}, angular {angular:.1e}")
    assert linear < 1e-12
    assert angular < 1e-10


HELD: dict[str, Callable[[pl.Robot], object]] = {
    "wrenches": lambda r: r.add_wrench("push", r.link("base").frame, force=(0, 0, 1)),
    "tendons": lambda r: r.add_tendon("rope", ["world", "tool"], control="elastic", stiffness=1.0, rest_length=1.0),
    "loops": lambda r: r.add_loop("string", "world", "base", joint=pl.Spherical()),
    "motors": lambda r: r.add_motor("thruster", "base", dof=3),
}


@pytest.mark.parametrize("what", HELD)
def test_what_acts_from_outside_is_said(what: str) -> None:
    robot = branched_robot()
    HELD[what](robot)
    system, _q, _v = thrown(robot.compile())
    run = pl.simulate(system, 0.02, method="midpoint", step=0.005)
    assert run.success, run.message
    note = next(note for note in run.warnings if "Momentum is not kept exactly" in note)
    assert "'base'" in note
    assert what in note


def test_springs_and_forces_on_the_free_joint_are_seen() -> None:
    robot = pl.Robot("buoy")
    robot.add_body("buoy", joint=pl.Free(damping=0.1), **BAR)
    assert "spring or a damper" in pl.simulate(robot.compile(), 0.02, method="midpoint", step=0.01).warnings[0]
    system, _q, _v = flying_top()
    assert "tau" in pl.simulate(system, 0.02, tau=np.eye(6)[0], method="midpoint", step=0.01).warnings[0]
    assert not pl.simulate(system, 0.02, tau=np.zeros(6), method="midpoint", step=0.01).warnings


# ---------------------------------------------------------------- energy


def cantilever() -> Start:
    """A long steel rod, bent and let go."""
    robot = pl.Robot("cantilever", gravity=(9.81, 0, 0))
    steel = pl.Material(young=1e11, poisson=0.3, density=7800.0)
    rod = robot.add_rod(
        "rod", length=10.0, section=pl.Circle(0.005), points=20, material=steel, strains=pl.Strains.planar_bending(2, basis="chebyshev")
    )  # fmt: skip
    robot.add_wrench("tip force", rod.tip, force=(0, 1, 0))
    system = robot.compile()
    return system, pl.solve_statics(system, {"tip force": 50.0}).q, np.zeros(system.nv)


@pytest.mark.parametrize(
    ("make", "duration", "h"), [(pendulum, 100.0, 0.01), (top, 200.0, 0.005), (cantilever, 60.0, 0.02)]
)
def test_energy_does_not_drift(make: Callable[[], Start], duration: float, h: float) -> None:
    """A line through the energies rises or falls by less than half of what they oscillate."""
    system, q, v = make()
    run = pl.simulate(system, duration, start=q, velocity=v, method="midpoint", step=h, output=5 * h)
    assert run.success, run.message
    energy = run.energies().total
    moving = max(system.kinetic_energy(x, y) for x, y in zip(run.q, run.v))
    drift = abs(np.polyfit(run.t, energy, 1)[0]) * duration
    print(
        f"{make.__name__}: energy oscillates by {np.ptp(energy) / moving:.1e} of the kinetic one, drifts by {drift / moving:.1e}"
    )
    assert drift < 0.5 * np.ptp(energy)
    assert np.ptp(energy) < 0.02 * moving


def test_energy_of_the_tumbling_rod_stays_within_the_square_of_the_step() -> None:
    """Its many frequencies let the energy wander, to and fro over hundreds of seconds."""
    system, q, v = rod()
    kinetic = system.kinetic_energy(q, v)
    found = []
    for h in (0.02, 0.01):
        run = pl.simulate(system, 50.0, start=q, velocity=v, method="midpoint", step=h, output=0.1)
        energy = run.energies().total
        found.append(np.abs(energy - energy[0]).max() / kinetic)
    print(f"rod: energy departs by {found[0]:.1e} at 0.02 s, {found[1]:.1e} at 0.01 s")
    assert found[0] < 5e-4
    assert found[0] > 3 * found[1]


# ---------------------------------------------------------------- what it needs


def test_it_needs_a_step() -> None:
    system, _q, _v = pendulum()
    with pytest.raises(ValueError, match="give one as step="):
        pl.simulate(system, 1.0, method="midpoint")


@pytest.mark.parametrize("rtol", [1e-2, 1e-10])
def test_tolerances_do_not_matter(rtol: float) -> None:
    system, q, v = branched()
    one, other = (
        pl.simulate(system, 0.2, start=q, velocity=v, method="midpoint", step=0.005, rtol=r, atol=0.1 * r)
        for r in (1e-4, rtol)
    )
    assert other.success, other.message
    assert np.abs(one.q - other.q).max() < 1e-9


@pytest.mark.parametrize("solver", ["dense", "tree"])
def test_both_solvers(solver: str) -> None:
    system, q, v = branched()
    run = pl.simulate(system, 0.2, start=q, velocity=v, method="midpoint", step=0.005, solver=solver)
    other = pl.simulate(system, 0.2, start=q, velocity=v, method="midpoint", step=0.005)
    assert np.abs(run.q - other.q).max() < 1e-10


def test_a_long_step_is_refused_or_subdivided() -> None:
    system, q, v = branched()
    refused = pl.simulate(system, 2.0, start=q, velocity=v, method="midpoint", step=0.5)
    assert not refused.success
    assert "cannot be taken" in refused.message
    parts = pl.simulate(system, 2.0, start=q, velocity=v, method="midpoint", step=0.5, subdivide=True)
    assert parts.success, parts.message
    assert "subdivided" in " ".join(parts.warnings)
    assert departures(parts)[1] < 1e-10
