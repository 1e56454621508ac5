"""What statics says of an equilibrium: its stability, how well it holds, and why there is none; and refusals with loops."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import pliant as pl
from pliant.solve.closure import constrained_acceleration

SILICONE = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)


def rates(system: pl.System, rest: pl.Equilibrium) -> np.ndarray:
    return pl.modes(system, rest).eigenvalues


# ------------------------------------------------------------ loops


def bow(**tendon: object) -> pl.System:
    """Two soft legs whose tips are pinned together, and a cable along one of them."""
    robot = pl.Robot("bow", gravity=(0, 0, 0))
    legs = [
        robot.add_rod(
            f"leg{k}", offset=(0, y, 0), joint=pl.Revolute("z", stiffness=0.05), length=0.5, section=pl.Circle(0.006),
            material=pl.Material(young=1e7, poisson=0.4, density=1200.0, viscosity=1e4), strains=pl.Strains(bending_z=3),
        )
        for k, y in enumerate((-0.2, 0.2))
    ]  # fmt: skip
    robot.add_loop("pin", legs[0].tip, legs[1].tip, joint=pl.Revolute("z"))
    robot.add_tendon("cable", legs[0], y=0.004, **tendon)
    return robot.compile()


def test_nothing_ignores_loops_in_silence():
    system = bow()
    rest = pl.solve_statics(system)
    zero = np.zeros(system.nv)
    with pytest.raises(ValueError, match=r"would ignore its loops \('pin'\)\. residual_tangent and closure give"):
        system.solve_tangent(rest.q, zero, zero, zero)
    for method in ("auto", "composite", "articulated"):  # at rest, with the forces of statics
        a, forces = system.constrained_dynamics(rest.q, zero, u=rest.u, method=method)
        assert np.abs(a).max() < 1e-6
        np.testing.assert_allclose(forces, rest.multipliers, atol=1e-8)


def test_modes_and_sensitivities_need_an_equilibrium():
    system = bow()
    rest = pl.solve_statics(system, {"cable": 1.0})
    for ask in (pl.modes, lambda s, x, **o: pl.static_jacobian(s, x, "leg0.tip", **o)):
        for state in (rest, rest.q):
            with pytest.raises(ValueError, match=r"this is none \(residual .*its own inputs"):
                ask(system, state, u={"cable": 3.0})
        ask(system, rest.q, u={"cable": 1.0})  # the forces of loops are found
    np.testing.assert_allclose(
        pl.linearize(system, rest.q, u={"cable": 1.0}).A, pl.linearize(system, rest).A, rtol=1e-6, atol=1e-6
    )


def test_linearisation_of_loops_is_that_of_the_constrained_motion():
    system = bow()
    rest = pl.solve_statics(system, {"cable": 1.0})
    linear = pl.linearize(system, rest)
    _e, G = system.closure(rest.q)
    n, h = system.nv, 1e-5
    keep = np.linalg.svd(G * system.internal.scale)[2][2:].T  # planar: two rows count
    zero = np.zeros(n)
    for k in range(3):
        move = system.internal.scale * keep[:, k]
        for dq, dv in ((move, zero), (zero, move)):
            change = [
                constrained_acceleration(system, system.integrate(rest.q, s * dq), s * dv, rest.u, zero, zero)[0]
                for s in (h, -h)
            ]
            expected = (change[0] - change[1]) / (2 * h)
            got = linear.A[n:] @ np.concatenate([dq, dv])
            # second-order opening of the loop along `move` is not in the linear map
            np.testing.assert_allclose(got, expected, atol=2e-5 * np.abs(expected).max())


def test_a_motion_with_loops_and_a_prescribed_cable_starts_with_the_right_tension():
    """The tension at the start makes the cable's length accelerate as told, with the loop closed."""
    system = bow(control="length")
    rest = pl.solve_statics(bow(), {"cable": 1.0})
    length = bow().tendon_lengths(rest.q)[0][0]
    held = pl.solve_statics(system, motion={"cable": length}, start=rest.q)
    assert held.u[0] == pytest.approx(1.0, rel=1e-6)
    run = pl.simulate(system, 1e-3, start=held, motion={"cable": length}, step=1e-4)
    assert run.success
    assert run.u[0, 0] == pytest.approx(1.0, rel=1e-4)  # without the loop it was not


def parallelogram() -> pl.System:
    """Two bars and a coupler; up they are in an unstable equilibrium."""
    robot = pl.Robot("parallelogram")
    bar = {"shape": pl.Box(0.02, 0.02, 0.4), "mass": 0.2, "com": (0, 0, 0.2)}
    a = robot.add_body("a", joint=pl.Revolute("y"), **bar)
    b = robot.add_body("b", offset=(0.3, 0, 0), joint=pl.Revolute("y"), **bar)
    coupler = robot.add_body(
        "coupler", parent=a, offset=(0, 0, 0.4), joint=pl.Revolute("y"), shape=pl.Box(0.3, 0.02, 0.02), mass=0.1,
        com=(0.15, 0, 0),
    )  # fmt: skip
    robot.add_loop("pin", coupler.at((0.3, 0, 0)), b.at((0, 0, 0.4)), joint=pl.Revolute("y"))
    return robot.compile()


def test_a_saddle_with_loops_is_left():
    system = parallelogram()
    up = pl.solve_statics(system, stable=False)
    assert (up.success, up.stability) == (True, "divergence")
    assert "unstable (divergence) along 'a.angle'" in up.message
    down = pl.solve_statics(system)
    assert (down.success, down.stability, down.warnings) == (True, "stable", ())
    assert abs(abs(down.q[0]) - np.pi) < 1e-8


# ------------------------------------------------------------ forces without potential


def column(axes: str, order: int = 7, damping: float = 0.0) -> pl.System:
    """A column with EI = ρA = L = 1, pushed at its tip in axes of the world or of the tip."""
    robot = pl.Robot("column", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod", length=1.0, stiffness=[1.0] * 6, inertia=[1e-7] * 3 + [1.0] * 3, damping=[damping] * 6,
        strains=pl.Strains.planar_bending(order),
    )  # fmt: skip
    robot.add_wrench("push", rod.tip, force=(-1, 0, 0), axes=axes)
    return robot.compile()


def test_becks_column_flutters_at_its_load():
    """Beck 1952: stable up to 20.05 EI/L², then flutter; its symmetric part is indefinite far below."""
    system = column("body")
    rest = pl.solve_statics(system, {"push": 10.0})
    assert (rest.success, rest.stability, rest.stable, rest.warnings) == (True, "stable", True, ())
    modes = pl.modes(system, rest)
    assert np.all(modes.frequencies > 0)
    assert np.abs(modes.eigenvalues.real).max() < 1e-6 * np.abs(modes.eigenvalues).max()
    np.testing.assert_allclose(
        np.sort(np.abs(modes.eigenvalues.imag))[::2], np.sort(2 * np.pi * modes.frequencies), rtol=1e-6
    )
    low, high = 15.0, 25.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        kind = pl.solve_statics(system, {"push": middle}).stability
        assert kind in ("stable", "flutter")
        low, high = (middle, high) if kind == "stable" else (low, middle)
    assert low == pytest.approx(20.05, abs=0.01)
    beyond = pl.solve_statics(system, {"push": 21.0})
    assert (beyond.success, beyond.stability, beyond.stable) == (True, "flutter", False)
    assert "flutter" in beyond.message
    assert "unstable by flutter" in beyond.warnings[0]
    assert "rod.bending" in beyond.warnings[0]
    assert str(beyond).startswith("UNSTABLE equilibrium (flutter): residual")
    modes = pl.modes(system, beyond)
    first, second = modes.frequencies[:2]
    assert first == pytest.approx(second)
    assert modes.damping_ratios[0] < 0 < modes.damping_ratios[1]
    grows = modes.eigenvalues[np.argmax(modes.eigenvalues.real)]
    assert abs(grows.imag) / (2 * np.pi) == pytest.approx(first, rel=1e-6)
    assert -grows.real / abs(grows) == pytest.approx(modes.damping_ratios[0], rel=1e-6)


def test_damping_that_destabilises_is_seen():
    """Internal damping, however small, lowers Beck's load to 10.94 (Bolotin & Zhinzher 1969)."""
    system = column("body", damping=1e-4)
    kinds = {load: pl.solve_statics(system, {"push": load}).stability for load in (10.5, 11.5, 19.0)}
    assert kinds == {10.5: "stable", 11.5: "flutter", 19.0: "flutter"}
    assert pl.solve_statics(column("body"), {"push": 19.0}).stability == "stable"


def test_eulers_column_diverges_at_its_load():
    system = column("world")
    critical = np.pi**2 / 4
    for share, kind in ((0.999, "stable"), (1.001, "divergence")):
        rest = pl.solve_statics(system, {"push": share * critical}, stable=False)
        assert (rest.success, rest.stability, rest.warnings) == (True, kind, ())
        assert np.sign(pl.modes(system, rest).frequencies[0]) == (1 if kind == "stable" else -1)
    bent = pl.solve_statics(system, {"push": 1.1 * critical})
    assert (bent.success, bent.stability) == (True, "stable")
    assert abs(bent.q[0]) > 0.1


def test_divergence_without_a_potential():
    """A follower force on a hinge with a spring, and a dead one with a moment that is in the way of a potential."""
    robot = pl.Robot("hinge", gravity=(0, 0, 0))
    arm = robot.add_body("arm", joint=pl.Revolute("y", stiffness=1.0), shape=pl.Box(1, 0.02, 0.02), mass=0.1)
    robot.add_wrench("push", arm.at((1, 0, 0)), force=(-1, 0, 0))
    robot.add_wrench("follow", arm.at((1, 0, 0)), force=(-1, 0, 0), axes="body")
    system = robot.compile()
    assert pl.solve_statics(system, {"push": 0.9, "follow": 5.0}).stability == "stable"
    over = pl.solve_statics(system, {"push": 1.1, "follow": 5.0}, stable=False)
    assert (over.success, over.stability) == (True, "divergence")
    left = pl.solve_statics(system, {"push": 1.1, "follow": 5.0})
    assert (left.success, left.stability) == (True, "stable")
    assert abs(left.q[0]) == pytest.approx(0.7484, abs=1e-3)  # q = 1.1 sin q


def test_flutter_along_a_branch():
    branch = pl.trace_equilibria(column("body"), input="push", stop=24.0, max_step=0.05)
    assert branch.success
    clear = np.abs(branch.parameter - 20.05) > 0.01
    np.testing.assert_array_equal(branch.stable[clear], branch.parameter[clear] < 20.05)
    assert branch.equilibrium(0).stability == "stable"
    assert branch.equilibrium(-1).stability == "flutter"


# ------------------------------------------------------------ what is found is said


def ground(shape: pl.Shape | None = None, **contact: float) -> pl.System:
    robot = pl.Robot("on the ground")
    body = robot.add_body("box", joint=pl.Free(), shape=shape or pl.Box(0.2, 0.2, 0.1), mass=1.0)
    robot.add_obstacle("ground", pl.HalfSpace())
    robot.add_contact("feet", body, "ground", stiffness=1e4, **contact)
    return robot.compile()


@pytest.mark.parametrize("load_steps", [None, 1, 4])
@pytest.mark.parametrize("height", [0.05, 0.0499, 0.3])
def test_standing_on_the_ground_is_neutral(height, load_steps):
    system = ground()
    start = system.neutral()
    start[-1] = height
    rest = pl.solve_statics(system, start=start, load_steps=load_steps)
    assert rest.success, rest
    assert rest.stability == "neutral"
    assert not rest.stable
    assert rest.residual <= 1e-10
    assert "neutral along 'box.wz', 'box.vx', 'box.vy'" in rest.message
    assert rest.warnings[0].startswith("Nothing holds the equilibrium along 'box.wz', 'box.vx', 'box.vy'")
    assert len(str(rest).splitlines()) == 2
    assert rest.q[-1] == pytest.approx(0.046, abs=1e-3)


def test_friction_does_not_hide_a_neutral_equilibrium():
    """Smooth friction acts on motion only: at rest nothing holds the box in the plane, but disturbances do not grow."""
    system = ground(friction=0.5, damping=1.0, stiction=0.0)
    start = system.neutral()
    start[-1] = 0.06
    rest = pl.solve_statics(system, start=start)
    assert (rest.success, rest.stability) == (True, "neutral")
    assert "'box.vx', 'box.vy'" in rest.message


def test_friction_that_sticks_holds_an_equilibrium():
    system = ground(friction=0.5, damping=1.0)
    start = system.neutral()
    start[-1] = 0.06
    rest = pl.solve_statics(system, start=start)
    assert (rest.success, rest.stability) == (True, "stable")


def test_a_static_jacobian_needs_stiffness():
    robot = pl.Robot("sled", gravity=(0, 0, 0))
    sled = robot.add_body("sled", joint=pl.Prismatic("x"), mass=1.0)
    robot.add_wrench("push", sled.at((0, 0, 0)), force=(1, 0, 0))
    system = robot.compile()
    rest = pl.solve_statics(system)
    assert rest.stability == "neutral"
    with pytest.raises(
        ValueError, match=r"nothing resists along 'sled\.displacement', so that inputs do not determine"
    ):
        pl.static_jacobian(system, rest, "sled")


def test_a_finger_on_a_ball_leaves_its_saddle():
    """Frictionless on top of a ball: an equilibrium from which the finger slips to a side ("NOT converged: 1.5e-12")."""
    robot = pl.Robot("finger")
    rod = robot.add_rod(
        "finger", length=0.3, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.kirchhoff(3)
    )
    robot.add_obstacle("ball", pl.Sphere(0.05), pose=pl.translate(0.28, 0, -0.061))
    robot.add_contact("touch", rod, "ball", stiffness=1e4)
    system = robot.compile()
    top = pl.solve_statics(system, stable=False, load_steps=8)
    assert (top.success, top.stability, top.warnings) == (True, "divergence", ())
    assert "unstable (divergence) along 'finger." in top.message
    assert abs(system.pose("finger.tip", top.q)[1, 3]) < 1e-9
    for options in ({"start": top}, {"start": top, "load_steps": 1}, {"load_steps": 4}, {}):
        rest = pl.solve_statics(system, **options)
        assert (rest.success, rest.stability) == (True, "stable"), rest
        assert system.pose("finger.tip", rest.q)[2, 3] < -0.1  # it hangs beside the ball


def test_an_upright_pendulum_falls():
    robot = pl.Robot("pendulum")
    robot.add_body("arm", joint=pl.Revolute("y"), mass=1, com=(1, 0, 0), inertia=(0.1, 0.1, 0.1))
    system = robot.compile()
    up = pl.solve_statics(system, start=[-np.pi / 2], stable=False)
    assert (up.success, up.stability, up.warnings) == (True, "divergence", ())
    assert "unstable (divergence) along 'arm.angle'" in up.message
    for load_steps in (None, 3):
        down = pl.solve_statics(system, start=[-np.pi / 2], load_steps=load_steps)
        assert (down.success, down.stability) == (True, "stable")
        assert np.sin(down.q[0]) == pytest.approx(1.0)
        assert down.residual <= 1e-10  # all forces vanish there together


def test_an_unstable_equilibrium_without_another_is_a_success_with_a_warning():
    """A bead in the middle of a field that pushes it away: nothing stable anywhere."""
    robot = pl.Robot("bead", gravity=(0, 0, 0))
    bead = robot.add_body("bead", joint=pl.Prismatic("x", stiffness=1.0), mass=1.0)
    robot.add_load("away", bead, lambda pose, twist, u: np.pad(3.0 * pose[:, :3, 3], ((0, 0), (3, 0))))
    rest = pl.solve_statics(robot.compile())
    assert (rest.success, rest.stability, rest.stable) == (True, "divergence", False)
    assert rest.warnings == (
        "The equilibrium is unstable: disturbances along 'bead.displacement' diverge at a rate of 1.41 1/s, and no stable one was "
        "found from this start.",
    )


def test_a_falling_robot_has_no_equilibrium():
    robot = pl.Robot("falling")
    robot.add_rod(
        "rod", joint=pl.Free(), length=0.3, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.kirchhoff(2)
    )
    system = robot.compile()
    for load_steps in (None, 4):
        rest = pl.solve_statics(system, load_steps=load_steps)
        assert not rest.success
        assert rest.stability == "unknown"
        assert "a force of" in rest.message
        assert re.search(r"along .*'rod\.v[xyz]'.* and nothing resists it: .* there is no equilibrium", rest.message)
    robot.gravity = np.zeros(3)
    rest = pl.solve_statics(robot.compile())
    assert (rest.success, rest.stability) == (True, "neutral")


def test_a_free_robot_bends_and_stays_neutral():
    robot = pl.Robot("swimmer", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod", joint=pl.Free(), length=0.3, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.kirchhoff(3)
    )
    robot.add_tendon("cable", rod, z=0.008)
    for load_steps in (None, 4):
        rest = pl.solve_statics(robot.compile(), {"cable": 1.0}, load_steps=load_steps)
        assert (rest.success, rest.stability) == (True, "neutral")
        assert "'rod.vx'" in rest.message
        assert "bending" not in rest.message


def test_a_residual_is_compared_with_forces_that_act():
    """A body in a current that hangs where all forces vanish together ("residual 6.7e-01 (converged)")."""
    robot = pl.Robot("in a current", gravity=(-2.297865195117676, 8.115997228998094, 0.2151458395252677))
    robot.add_body(
        "body0",
        joint=pl.Revolute((0.5696147464494151, 0.20896970132668258, 0.794902952916144), damping=1.978),
        offset=pl.translate(0.1575, 1.1552, -0.0482) @ pl.rotate((0.02, -0.09, 0.12), 2.9),
        shape=pl.Cylinder(0.08490923916868084, 0.1698184783373617),
        mass=29.461664552093044,
        com=(0.0257970848563945, -0.0007284769809611224, 0.0217306105558122),
    )
    robot.fluid = pl.Fluid(current=(1.8006, -2.3211, 0.6813))
    robot.add_hydrodynamics("body0")
    rest = pl.solve_statics(robot.compile())
    assert rest.success
    assert rest.residual <= 1e-10


@pytest.mark.parametrize("load", [1e20, 1e50])
@pytest.mark.parametrize("stable", [True, False])
def test_absurd_loads_are_not_converged(load, stable):
    robot = pl.Robot("arm")
    rod = robot.add_rod("arm", length=0.3, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.kirchhoff(3))
    robot.add_wrench("w", rod.tip, force=(0, 0, 1))
    robot.add_wrench("m", rod.tip, moment=(0, 1, 0))
    for name in ("w", "m"):
        rest = pl.solve_statics(robot.compile(), {name: load}, stable=stable)
        assert not rest.success
        assert rest.stability == "unknown"
        assert "check the units" in rest.message or "finite" in rest.message


# ------------------------------------------------------------ crushed rods


def manipulator() -> pl.System:
    """The cable-driven manipulator of [002] section 4.5 with ten points."""
    base, tip = 0.03, 0.015
    robot = pl.Robot("cable-driven manipulator")
    robot.add_rod(
        "arm", length=0.5, section=pl.Circle(radius=(base, tip)), material=SILICONE,
        strains=pl.Strains(torsion=4, bending=4, stretch=2, shear=2), points=10,
    )  # fmt: skip
    for k, angle in enumerate(np.radians([90, 210, 330]), start=1):
        y, z = np.cos(angle), np.sin(angle)
        robot.add_tendon(f"cable{k}", "arm", y=(y * base, y * tip), z=(z * base, z * tip))
    robot.add_tendon("cable4", "arm", **pl.helical_routing(tip, turns=-2, phase=np.pi / 2))
    robot.add_tendon("cable5", "arm", **pl.helical_routing(tip, turns=2, phase=-np.pi / 2))
    return robot.compile()


def energy(system: pl.System, q: np.ndarray, u: np.ndarray) -> float:
    return system.elastic_energy(q) + system.gravitational_energy(q) + float(u @ system.tendon_lengths(q)[0])


def test_every_set_of_tensions_is_solved_or_proven_to_crush_the_rod():
    """Of random tensions up to 100 N some have no equilibrium: their energy is least where the rod is crushed."""
    system = manipulator()
    rest = pl.solve_statics(system)
    sets = np.random.default_rng(0).uniform(0, 100, size=(60, system.nu))
    results = [pl.solve_statics(system, u, start=rest) for u in sets]
    failed = [k for k, found in enumerate(results) if not found.success]
    assert 0 < len(failed) <= 8
    assert all(found.stable for found in results if found.success)
    rng = np.random.default_rng(1)
    for k in failed:
        found = results[k]
        assert "tendon 'cable2' compresses rod 'arm' to nothing at X = 0.98" in found.message
        assert f"of its {sets[k][1]:.4g} N suffice" in found.message
        least = energy(system, found.q, sets[k])
        for size in (1e-4, 1e-2):
            moves = size * rng.normal(size=(30, system.nv)) * system.internal.scale
            assert all(energy(system, found.q + move, sets[k]) > least - 1e-7 for move in moves)


def test_a_rod_is_crushed_only_where_the_message_says():
    """One straight cable in the middle of a rod that only stretches: EA (1 − λ) = T has no solution beyond T = EA."""
    robot = pl.Robot("bar", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "bar", length=1.0, stiffness=[1, 1, 1, 10, 1, 1], inertia=[1] * 6, strains=pl.Strains(stretch=0)
    )
    robot.add_tendon("cable", rod, y=0.0)
    system = robot.compile()
    held = pl.solve_statics(system, {"cable": 9.9})
    assert (held.success, held.stable) == (True, True)
    assert held.q[0] == pytest.approx(-0.99)
    crushed = pl.solve_statics(system, {"cable": 12.0})
    assert not crushed.success
    assert "tendon 'cable' compresses rod 'bar' to nothing" in crushed.message
    assert "10 N of its 12 N suffice" in crushed.message
    assert crushed.q[0] == pytest.approx(-1.0, abs=1e-5)
    assert "10 N of its 12 N suffice" in pl.solve_statics(system, {"cable": 12.0}, load_steps=3).message


# ------------------------------------------------------------ first errors, and the result


def arm() -> pl.Robot:
    robot = pl.Robot("arm")
    rod = robot.add_rod("arm", length=0.4, section=pl.Circle(0.015), material=SILICONE, strains=pl.Strains.kirchhoff(3))
    robot.add_tendon("cable", rod, z=0.012)
    return robot


def test_first_errors_say_what_to_do():
    robot = arm()
    system = robot.compile()
    with pytest.raises(TypeError, match=r"'arm' is a Robot: compile it first, system = robot\.compile\(\)"):
        pl.solve_statics(robot)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs a System"):
        pl.solve_statics(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^u is a function, but statics takes numbers.*u\(0\.0\)"):
        pl.solve_statics(system, lambda t: {"cable": t})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^u\['cable'\] is a function"):
        pl.solve_statics(system, {"cable": np.sin})  # type: ignore[dict-item]
    with pytest.raises(KeyError, match="no link or coordinate named 'q'"):
        pl.solve_statics(system, start={"q": 1})
    run = pl.simulate(system, 0.01, step=0.005)
    for start in ("rest", 3, [0.0] * 5, np.zeros((12, 2)), [1j] * 12):
        with pytest.raises(TypeError, match=r"^start = .*12 numbers, nq of 'arm'.*Equilibrium.*start=run\.q\[-1\]"):
            pl.solve_statics(system, start=start)  # type: ignore[arg-type]
    assert pl.solve_statics(system, start=run.q[-1]).success


def test_a_start_of_another_robot_is_refused():
    other = pl.Robot("other")
    other.add_rod("leg", length=0.4, section=pl.Circle(0.015), material=SILICONE, strains=pl.Strains.kirchhoff(3))
    rest = pl.solve_statics(other.compile())
    with pytest.raises(ValueError, match="an equilibrium of another robot, 'other'"):
        pl.solve_statics(arm().compile(), start=rest)


def test_a_plain_result_stays_one_line():
    rest = pl.solve_statics(arm().compile(), {"cable": 5.0})
    assert (rest.message, rest.warnings) == ("converged", ())
    assert len(str(rest).splitlines()) == 1
    assert str(rest).startswith("stable equilibrium: residual ")
    again = pickle.loads(pickle.dumps(rest))
    assert (again.stability, again.stable, again.system) == ("stable", True, None)


def test_a_loop_on_a_robot_that_cannot_move():
    """Found by the soak: all coordinates prescribed and a loop raised an IndexError."""
    robot = pl.Robot("held")
    bar = robot.add_body("bar", joint=pl.Prismatic("x"), shape=pl.Box(0.1, 0.1, 0.1), mass=1.0)
    robot.add_motion("slide", bar)
    robot.add_loop("pin", bar, joint=pl.Spherical())
    rest = pl.solve_statics(robot.compile())
    assert rest.success
