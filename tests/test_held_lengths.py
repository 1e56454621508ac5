"""Cables of prescribed length: which of them hold, in every solver and in every order; slack and taut again; starts that are moved; gradients beside and through switches."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.gradients.costs.cost import as_cost

L = 0.4
LINES = {
    "held": {"z": 0.01},
    "other": {"y": 0.01},
    "third": {"y": -0.007, "z": -0.007},
    "pull": {"y": -0.01, "z": -0.004},
}
WIND = {  # in slack and taut again within a second
    "held": lambda t: L * (1 - 0.05 * np.sin(6 * t)),
    "other": lambda t: L * (1 - 0.04 * np.sin(9 * t)),
    "third": lambda t: L * (1 + 0.02 * np.sin(11 * t)),
}


def arm(order=("held", "pull"), *, viscosity=3e4, gravity=(0, 0, 0), friction=0.0, push=False, spring=False, name=str):
    robot = pl.Robot("arm", gravity=gravity)
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=viscosity)
    rod = robot.add_rod("arm", length=L, section=pl.Circle(0.015), material=rubber, strains=pl.Strains.kirchhoff(3))
    for own in order:
        if own == "pull":
            robot.add_tendon(name(own), rod, **LINES[own])
        else:
            robot.add_tendon(name(own), rod, **LINES[own], control="length", friction=friction, push=push)
    if spring:
        robot.add_tendon("spring", rod, y=-0.01, control="elastic", stiffness=100.0, damping=1.0, friction=0.1)
    return robot.compile()


def told(order, motion=WIND, name=str):
    return {name(own): motion[own] for own in order if own in motion}


def pulled(system, rows, force=2.0, name="pull"):
    U = np.zeros((rows, system.nu))
    if name in system.input_names:
        U[:, system.input_names.index(name)] = force
    return U


def tip(system, q):
    return system.pose("arm.tip", q)[:3, 3]


# ---------------------------------------------------------------- orders of adding


def _simulate(system, motion, **options):
    run = pl.simulate(system, 0.5, u=pulled(system, 1)[0], motion=motion, **options)
    assert run.success, run.message
    return run.q[-1], run.statistics.switches


def _rollout(system, motion):
    run = pl.rollout(system, pulled(system, 100), step=0.005, motion=motion)
    return run.q[-1], int(np.sum(np.diff(run.memory.record.taut, axis=0) != 0))


def _stepper(system, motion):
    stepper = pl.Stepper(system, step=0.005, motion=motion)
    for _ in range(100):
        stepper.step(pulled(system, 1)[0])
    return stepper.q, 0


def _statics(system, motion):
    rest = pl.solve_statics(system, pulled(system, 1)[0], motion={name: f(0.2) for name, f in motion.items()})
    assert rest.success, rest.message
    return rest.q, 0


SOLVERS = {
    "esdirk3": _simulate,
    "esdirk5": lambda s, m: _simulate(s, m, method="esdirk5"),
    "constant": lambda s, m: _simulate(s, m, step=0.005),
    "midpoint": lambda s, m: _simulate(s, m, step=0.005, method="midpoint"),
    "generalized-alpha": lambda s, m: _simulate(s, m, step=0.005, method="generalized-alpha"),
    "rollout": _rollout,
    "stepper": _stepper,
    "statics": _statics,
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("names", [("held", "pull"), ("held", "other", "pull")])
def test_the_order_of_adding_cables_changes_nothing(solver, names):
    """Nor do their names. A cable that fell slack switched off all that came after it."""
    found = []
    for order in itertools.permutations(names):
        system = arm(order)
        found.append(tip(system, SOLVERS[solver](system, told(order))[0]))
    np.testing.assert_allclose(found, np.broadcast_to(found[0], (len(found), 3)), atol=1e-7)
    other = dict(zip(names, ("z9", "a", "m")))
    system = arm(names, name=other.get)
    if "pull" in names:
        renamed = {k: v for k, v in told(names, name=other.get).items()}
        U = {other["pull"]: 2.0}
        if solver == "rollout":
            q = pl.rollout(system, pulled(system, 100, name=other["pull"]), step=0.005, motion=renamed).q[-1]
        elif solver == "esdirk3":
            q = pl.simulate(system, 0.5, u=U, motion=renamed).q[-1]
        else:
            return
        np.testing.assert_allclose(tip(system, q), found[0], atol=1e-7)


def test_a_cable_without_effect_changes_nothing():
    """One that is always slack, one that is pulled by nothing, and a second one along the same line."""
    system = arm(("held", "pull"))
    run = pl.simulate(system, 0.5, u={"pull": 2.0}, motion=told(("held",)))
    robot = pl.Robot("arm", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "arm", length=L, section=pl.Circle(0.015), strains=pl.Strains.kirchhoff(3),
        material=pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=3e4),
    )  # fmt: skip
    robot.add_tendon("loose", rod, y=0.01, control="length")
    robot.add_tendon("idle", rod, y=0.004)
    robot.add_tendon("twin", rod, z=0.01, control="length")
    robot.add_tendon("held", rod, z=0.01, control="length")
    robot.add_tendon("pull", rod, **LINES["pull"])
    more = robot.compile()
    motion = {"loose": 1.5 * L, "twin": WIND["held"], "held": WIND["held"]}
    again = pl.simulate(more, 0.5, u={"pull": 2.0}, motion=motion)
    assert again.success, again.message
    np.testing.assert_allclose(tip(more, again.q[-1]), tip(system, run.q[-1]), atol=1e-5)
    np.testing.assert_allclose(
        tip(more, pl.rollout(more, pulled(more, 60), step=0.005, motion=motion).q[-1]),
        tip(system, pl.rollout(system, pulled(system, 60), step=0.005, motion=told(("held",))).q[-1]), atol=1e-9,
    )  # fmt: skip


def test_of_two_cables_along_one_line_the_shorter_holds():
    for names in (("long", "short"), ("short", "long")):
        robot = pl.Robot("arm")
        rod = robot.add_rod(
            "arm",
            length=L,
            section=pl.Circle(0.015),
            material=pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=3e4),
            strains=pl.Strains.kirchhoff(2),
        )
        for name in names:
            robot.add_tendon(name, rod, z=0.01, control="length")
        system = robot.compile()
        motion = {"short": 0.39, "long": 0.395}
        rest = pl.solve_statics(system, motion=motion)
        run = pl.rollout(system, np.zeros((20, 2)), step=0.01, motion=motion)
        for q in (rest.q, run.q[-1], pl.simulate(system, 0.1, motion=motion).q[-1]):
            np.testing.assert_allclose(system.tendon_lengths(q)[0], 0.39, atol=1e-7)
        assert rest.success
        assert "slack: 'long'" in rest.message
        assert rest.u[system.input_names.index("long")] == 0.0


# ---------------------------------------------------------------- slack and taut again


def test_slack_and_taut_in_every_integrator():
    """Switches are located: the error-controlled methods agree to their tolerance, constant steps come to the same with first order."""
    system, motion = arm(("held", "other")), told(("held", "other"))
    exact = pl.simulate(system, 1.0, motion=motion, rtol=1e-8, atol=1e-9)
    assert exact.success, exact.message
    goal = tip(system, exact.q[-1])
    for method, rtol, limit in (("esdirk3", 1e-4, 1e-4), ("esdirk5", 1e-4, 1e-4), ("esdirk3", 1e-6, 2e-6)):
        run = pl.simulate(system, 1.0, motion=motion, method=method, rtol=rtol, atol=0.1 * rtol)
        assert run.success, run.message
        assert np.abs(tip(system, run.q[-1]) - goal).max() < limit
        assert run.statistics.switches == exact.statistics.switches == 5
        assert f"{run.statistics.switches} times a cable fell slack or became taut" in str(run.statistics)
        ell = np.array([system.tendon_lengths(q)[0] for q in run.q])
        beyond = ell - np.array([[motion[name](t) for name in ("held", "other")] for t in run.t])
        assert beyond.max() < 10 * rtol * L
        assert run.u.min() >= 0.0
        assert not np.any((run.u > 1e-6) & (beyond < -10 * rtol * L))  # what is slack does not pull
    alpha = pl.simulate(system, 1.0, motion=motion, method="generalized-alpha", step=0.00125)
    assert np.abs(tip(system, alpha.q[-1]) - goal).max() < 1e-4
    errors = [
        np.abs(tip(system, pl.simulate(system, 1.0, motion=motion, step=h).q[-1]) - goal).max()
        for h in (0.005, 0.00125)
    ]
    assert errors[0] < 5e-3
    assert errors[1] < 0.4 * errors[0]
    for method in ("sdirk2", "sdirk3", "midpoint", "euler"):
        ends = [
            tip(system, pl.rollout(system, step=h, duration=1.0, motion=motion, method=method).q[-1])
            for h in (0.005, 0.00125)
        ]
        errors = [np.abs(end - goal).max() for end in ends]
        assert errors[1] < 4e-3
        assert errors[1] < 0.4 * errors[0]


def test_a_weight_that_is_caught_by_a_cable():
    """A plastic impact: momentum is balanced, what is lost is the energy of the velocity along the cable."""
    robot = pl.Robot("weight")
    weight = robot.add_body("weight", joint=pl.Prismatic("z"), shape=pl.Sphere(0.05), mass=2.0)
    other = robot.add_body("other", parent="weight", joint=pl.Prismatic("z"), shape=pl.Sphere(0.05), mass=3.0)
    robot.add_tendon("cable", [robot.resolve("world").at((0, 0, 1.0)), other.at((0, 0, -1.0))], control="length")
    assert weight is not None
    system = robot.compile()
    fall = 0.2
    run = pl.simulate(system, 0.5, motion={"cable": 2.0 + fall}, velocity=[0.0, -1.0], output=0.01)
    assert run.success, run.message
    t = (-1 + np.sqrt(1 + 2 * 9.81 * fall)) / 9.81
    before, after = run.v[run.t < t - 1e-9], run.v[run.t > t + 1e-9]
    np.testing.assert_allclose(before[:, 1], -1.0, atol=1e-9)
    # the cable holds the second mass alone: it stops, the first goes on as it fell
    np.testing.assert_allclose(after.sum(axis=1), 0.0, atol=1e-9)
    np.testing.assert_allclose(after[0, 0], -9.81 * run.t[run.t > t + 1e-9][0], rtol=1e-4)
    assert run.statistics.switches == 1


def test_energy_is_lost_and_not_gained():
    system = arm(("held", "other"), viscosity=300.0)
    start = pl.solve_statics(arm(("held", "pull")), {"pull": 6.0}, motion={"held": 0.45}).q
    run = pl.simulate(system, 1.0, start=start, motion={"held": 0.398, "other": 0.404}, rtol=1e-5, atol=1e-6)
    assert run.success, run.message
    assert run.statistics.switches > 0
    total = run.energies().total
    assert np.diff(total).max() < 1e-4 * total.max()
    assert not any("gained" in text for text in run.warnings)


def test_contradicting_cables_end_with_a_reason():
    """Two push rods along one line that are told different lengths cannot be followed: it is said, at once."""
    robot = pl.Robot("arm")
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000)
    rod = robot.add_rod("arm", length=L, section=pl.Circle(0.015), material=rubber, strains=pl.Strains.kirchhoff(2))
    for name in ("one", "two"):
        robot.add_tendon(name, rod, z=0.01, control="length", push=True)
    with pytest.raises(ValueError, match=r"cannot be moved to where tendon '(one|two)' has the length that it is told"):
        pl.simulate(robot.compile(), 0.1, motion={"one": 0.39, "two": 0.395})


# ---------------------------------------------------------------- starts


@pytest.mark.parametrize("push", [False, True])
def test_every_solver_moves_the_start_alike_and_says_so(push):
    system = arm(("held", "other"), push=push)
    motion = {"held": lambda t: 0.39 - 0.02 * t, "other": 0.395}
    start = system.integrate(system.neutral(), 0.2 * np.random.default_rng(0).normal(size=system.nv))
    velocity = 0.1 * np.random.default_rng(1).normal(size=system.nv)
    options = {"start": start, "velocity": velocity, "motion": motion}
    rolled = pl.rollout(system, step=0.01, duration=0.05, **options)
    stepper = pl.Stepper(system, step=0.01, **options)
    runs = [
        pl.simulate(system, 0.05, **options),
        pl.simulate(system, 0.05, step=0.01, **options),
        pl.simulate(system, 0.05, step=0.01, method="generalized-alpha", **options),
    ]
    states = [(run.q[0], run.v[0]) for run in (rolled, *runs)] + [(stepper.q, stepper.v)]
    for q, v in states:
        np.testing.assert_allclose(q, rolled.q[0], atol=1e-10)
        np.testing.assert_allclose(v, rolled.v[0], atol=1e-8)
    lengths = system.tendon_lengths(rolled.q[0])[0]
    if push:
        np.testing.assert_allclose(lengths, [0.39, 0.395], atol=1e-10)
    assert np.all(lengths < np.array([0.39, 0.395]) + 1e-10)
    for texts in (rolled.warnings, stepper.warnings, *(run.warnings for run in runs)):
        assert any("The start was moved to the prescribed lengths of tendons: 'held' was" in text for text in texts)


def test_a_slack_start_stays_where_it_is():
    system = arm(("held",))
    start = 0.1 * np.random.default_rng(0).normal(size=system.nv)
    length = system.tendon_lengths(start)[0][0] + 0.01
    for run in (
        pl.simulate(system, 0.002, start=start, motion={"held": length}),
        pl.rollout(system, step=0.001, duration=0.002, start=start, motion={"held": length}),
    ):
        np.testing.assert_array_equal(run.q[0], start)
        np.testing.assert_array_equal(run.u[:, 0], 0.0)
        assert not any("moved" in text for text in run.warnings)


def test_a_run_goes_on_where_it_ended():
    """In the middle of slack and taut; a Stepper that is restored, too."""
    system, motion = arm(("held", "other")), told(("held", "other"))
    whole = pl.simulate(system, 0.8, motion=motion, rtol=1e-7, atol=1e-8)
    for t in (0.3, 0.55):
        first = pl.simulate(system, t, motion=motion, rtol=1e-7, atol=1e-8)
        second = pl.simulate(system, 0.8 - t, motion=motion, rtol=1e-7, atol=1e-8, start=first)
        np.testing.assert_allclose(tip(system, second.q[-1]), tip(system, whole.q[-1]), atol=1e-6)
    stepper = pl.Stepper(system, step=0.01, motion=motion)
    ends = []
    for _ in range(40):
        stepper.step()
    saved = stepper.save()
    for _ in range(2):
        stepper.restore(saved)
        for _ in range(40):
            stepper.step()
        ends.append(stepper.q.copy())
    np.testing.assert_array_equal(*ends)
    np.testing.assert_array_equal(ends[0], pl.rollout(system, step=0.01, duration=0.8, motion=motion).q[-1])


def test_a_file_keeps_the_count_of_switches(tmp_path):
    system, motion = arm(("held", "other")), told(("held", "other"))
    run = pl.simulate(system, 0.6, motion=motion)
    run.save(tmp_path / "run.h5")
    again = pl.Result.load(tmp_path / "run.h5", system)
    assert again.statistics.switches == run.statistics.switches > 0


# ---------------------------------------------------------------- statics


def test_statics_finds_which_cables_are_slack_over_a_loop():
    robot = pl.Robot("bow", gravity=(0, 0, 0))
    material = pl.Material(young=1e6, poisson=0.5, density=1000)
    legs = [
        robot.add_rod(
            f"leg{k}", offset=pl.translate(0, y, 0), length=0.4, section=pl.Circle(0.01), material=material,
            strains=pl.Strains(bending=2),
        )
        for k, y in enumerate((-0.2, 0.2))
    ]  # fmt: skip
    robot.add_loop("pin", legs[0].tip, legs[1].tip, joint=pl.Revolute("z"))
    for k, leg in enumerate(legs):
        robot.add_tendon(f"cable{k}", leg, y=0.005, control="length")
    system = robot.compile()
    free = pl.solve_statics(robot.compile(), motion={"cable0": 0.5, "cable1": 0.5})
    assert free.success, free.message
    assert "slack: 'cable0', 'cable1'" in free.message
    ell = system.tendon_lengths(free.q)[0]
    found = pl.solve_statics(system, motion={"cable0": ell[0] - 0.001, "cable1": ell[1] + 0.05}, start=free)
    assert found.success, found.message
    assert "slack: 'cable1'" in found.message
    assert found.u[0] > 0.0
    assert found.u[1] == 0.0
    np.testing.assert_allclose(system.tendon_lengths(found.q)[0][0], ell[0] - 0.001, atol=1e-10)


def test_static_gradient_with_friction_of_a_held_cable():
    system = arm(("held", "pull"), friction=0.3, gravity=(0, 0, -9.81))
    cost = pl.costs.Position("arm.tip")[2].mean(at="end")

    def height(length, pull=1.0):
        return float(
            tip(system, pl.solve_statics(system, {"pull": pull}, motion={"held": length}, tolerance=1e-12).q)[2]
        )

    g = pl.static_gradient(
        system, pl.solve_statics(system, {"pull": 1.0}, motion={"held": 0.392}, tolerance=1e-12), cost
    )
    h = 1e-5
    by_length = (8 * (height(0.392 + h) - height(0.392 - h)) - (height(0.392 + 2 * h) - height(0.392 - 2 * h))) / (
        12 * h
    )
    by_pull = (height(0.392, 1.001) - height(0.392, 0.999)) / 0.002
    assert g["held"] == pytest.approx(by_length, rel=1e-6)
    assert g["pull"] == pytest.approx(by_pull, rel=1e-5)


# ---------------------------------------------------------------- gradients


def hand(strains):
    """A free body with an arm on a ball joint, two cables of prescribed length to a second body, and one within the arm."""
    robot = pl.Robot("hand")
    base = robot.add_body("base", joint=pl.Free(), shape=pl.Box(0.1, 0.1, 0.05), mass=0.5, com=(0.01, 0, 0))
    ball = robot.add_body(
        "ball",
        parent=base,
        offset=pl.translate(0.05, 0.01, 0),
        joint=pl.Spherical(),
        shape=pl.Sphere(0.02),
        mass=0.1,
        com=(0.02, 0, 0.01),
    )
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    rod = robot.add_rod(
        "arm", parent=ball, offset=pl.translate(0.03, 0, 0), length=0.3, section=pl.Circle(0.012), material=rubber,
        strains=strains,
    )  # fmt: skip
    robot.add_tendon("stay", [base.at((0.0, 0.04, 0.02)), ball.at((0.04, 0.03, 0.0))], control="length")
    robot.add_tendon(
        "guy",
        [base.at((0.0, -0.04, 0.02)), ball.at((0.04, -0.02, 0.01)), pl.Along(rod, z=0.008)],
        control="length",
        friction=0.2,
    )
    robot.add_tendon("pull", rod, y=0.008)
    return robot.compile()


def differences(system, motion, start, velocity, U, h, method, what, d, eps):
    def run(x):
        move = {"start": start, "velocity": velocity}
        move[what] = system.integrate(start, x * d) if what == "start" else velocity + x * d
        return pl.rollout(system, U, step=h, motion=motion, method=method, tolerance=1e-13, **move)

    here = run(0.0)
    runs, weights = [run(k * eps) for k in (-2, -1, 1, 2)], np.array([1, -8, 8, -1]) / (12 * eps)
    same = all(np.array_equal(r.memory.record.taut, here.memory.record.taut) for r in runs)
    dq = sum(w * np.array([system.difference(a, b) for a, b in zip(here.q, r.q)]) for w, r in zip(weights, runs))
    return here, dq, sum(w * r.v for w, r in zip(weights, runs)), same


@pytest.mark.parametrize("method", ["sdirk2", "sdirk3", "midpoint", "euler"])
@pytest.mark.parametrize("case", ["arm", "friction", "untold", "hand"])
def test_derivatives_through_switches(case, method):
    """Forwards and backwards, on a start that is moved, through cables that fall slack and that are caught; also of lengths that stay as they start."""
    if method in ("sdirk3", "euler") and case != "arm":
        pytest.skip("one robot is enough for these")
    rng = np.random.default_rng(4)
    if case == "hand":
        system = hand(pl.Strains.kirchhoff(2) if method == "midpoint" else pl.Strains.reissner(2))
        start = system.integrate(system.neutral(), 0.05 * rng.normal(size=system.nv))
        ell = system.tendon_lengths(start)[0]
        motion = {"stay": lambda t: ell[0] - 0.002 + 0.3 * t, "guy": lambda t: ell[1] + 0.002 - 0.5 * t}
    else:
        system = arm(("held", "pull", "other"), friction=0.3 if case == "friction" else 0.0, spring=case == "friction")
        start = 0.3 * rng.normal(size=system.nq)
        motion = {"held": lambda t: L * (1 - 0.05 * np.sin(12 * t)), "other": lambda t: L * (1 - 0.03 + 0.1 * t)}
        motion = {"held": motion["held"]} if case == "untold" else motion
    velocity, U, scale = 0.2 * rng.normal(size=system.nv), pulled(system, 25, 1.5), system.internal.scale
    h = 0.001 if method == "midpoint" else 0.008  # what is stiff is not damped there
    for what in ("start", "velocity"):
        d = scale * rng.normal(size=system.nv)
        run, dq, dv, same = differences(system, motion, start, velocity, U, h, method, what, d, 2e-6)
        assert same
        assert np.any(np.diff(run.memory.record.taut, axis=0))
        pushed = run.push(**{what: d})
        np.testing.assert_allclose(pushed.q / scale, dq / scale, atol=2e-6 * np.abs(dq / scale).max())
        np.testing.assert_allclose(pushed.v / scale, dv / scale, atol=2e-5 * np.abs(dv / scale).max())
        a, b = rng.normal(size=(2, *pushed.q.shape)) / scale
        forwards = np.vdot(a, pushed.q) + np.vdot(b, pushed.v)
        assert float(getattr(run.pull(q=a, v=b), what) @ d) == pytest.approx(forwards, rel=1e-7)


@pytest.mark.parametrize("name", ["arm.young", "held.z", "arm.radius", "arm.length"])
def test_derivatives_by_parameters_through_switches(name):
    """With a length that is told and one that stays as it starts."""
    system = arm(("held", "pull", "other"))
    rng = np.random.default_rng(4)
    start, velocity, U = 0.3 * rng.normal(size=system.nq), 0.2 * rng.normal(size=system.nv), pulled(system, 25, 1.5)
    motion = {"held": lambda t: L * (1 - 0.05 * np.sin(12 * t))}
    cost = as_cost(pl.Reach("arm.tip", (0.3, 0.1, 0.1)))

    def run(x):
        other = system if x == 0.0 else system.with_parameters({name: system.parameters[name] * (1 + x)})
        return pl.rollout(other, U, step=0.008, start=start, velocity=velocity, motion=motion, tolerance=1e-13)

    here, eps = run(0.0), 1e-6
    runs = [run(k * eps) for k in (-2, -1, 1, 2)]
    assert all(np.array_equal(r.memory.record.taut, here.memory.record.taut) for r in runs)
    found = [r.cost(cost) for r in runs]
    near = float(np.array([1, -8, 8, -1]) @ found) / (12 * eps) / system.parameters[name]
    assert here.gradient(cost)[name] == pytest.approx(near, rel=2e-5)
    states, change = here.states, here.sensitivities([name])[name]
    slope = cost.evaluate(states).gradient
    h = 1e-6
    others = [system.with_parameters({name: system.parameters[name] * (1 + s * h)}) for s in (1, -1)]
    direct = float(np.diff([cost.evaluate(replace(states, system=s)).value for s in others[::-1]])[0]) / (
        2 * h * system.parameters[name]
    )
    forwards = np.vdot(slope.q, change.q) + np.vdot(slope.v, change.v) + direct
    assert forwards == pytest.approx(near, rel=2e-5)


def test_random_arms_with_three_cables():
    """Orders, integrators and both products of derivatives agree on robots that were drawn."""
    rng = np.random.default_rng(11)
    names = ("held", "other", "third")
    for _ in range(3):
        a, w = rng.uniform(0.01, 0.05, 3), rng.uniform(4.0, 14.0, 3)
        rest = (
            1.005,
            1.005,
            1.08,
        )  # of an arm that does not stretch the third must be the longer, the shorter the others are
        motion = {n: lambda t, r=r, x=x, y=y: L * (r - x * np.sin(y * t) ** 2) for n, r, x, y in zip(names, rest, a, w)}
        ends = []
        for order in (names, names[::-1], (*names[1:], names[0])):
            system = arm(order, gravity=(0, 0, -9.81))
            run = pl.simulate(system, 0.4, motion=motion, rtol=1e-6, atol=1e-7)
            assert run.success, run.message
            ends.append(tip(system, run.q[-1]))
        np.testing.assert_allclose(ends, np.broadcast_to(ends[0], (3, 3)), atol=1e-6)
        fifth = pl.simulate(system, 0.4, motion=motion, method="esdirk5", rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(tip(system, fifth.q[-1]), ends[0], atol=2e-5)
        rolled = pl.rollout(system, step=0.002, duration=0.4, motion=motion)
        assert np.abs(tip(system, rolled.q[-1]) - ends[0]).max() < 5e-3
        d, c = rng.normal(size=system.nv), rng.normal(size=rolled.q.shape)
        pushed = rolled.push(velocity=d)
        assert float(rolled.pull(q=c).velocity @ d) == pytest.approx(float(np.vdot(c, pushed.q)), rel=1e-6)


def test_predictive_control_beside_cables_of_prescribed_length():
    """Which cables hold at the start of a horizon is found anew for every sample, not kept from the first."""
    system = arm(("held", "pull"))
    motion = {"held": 0.396}
    taut = pl.solve_statics(system, motion=motion)
    cost = [pl.Reach("arm.tip", (0.38, 0.05, 0.0), 100.0, at="all"), pl.Effort(1e-3, "pull")]
    plan = pl.optimize(system, cost, horizon=0.1, knots=5, start=taut, motion=motion)
    mpc = pl.MPC(plan, rate=50)
    loose = system.integrate(taut.q, 0.1 * system.internal.scale * np.sign(taut.q))
    for q in (taut.q, loose, taut.q):
        mpc.control(0.0, (q, np.zeros(system.nv)))
        record = mpc._solver.steps.memory.record
        fresh = pl.rollout(system, pulled(system, 1), step=0.01, start=q, motion=motion).memory.record
        np.testing.assert_array_equal(record.taut[0], fresh.taut[0])
        np.testing.assert_allclose(record.q[0], fresh.q[0], atol=1e-12)
    assert system.tendon_lengths(loose)[0][0] < 0.396
