"""User loads on robots: gravity, wrenches and drag written by a user do exactly what the built-in ones do."""

from __future__ import annotations

import os
from functools import cache

import numpy as np
import pytest

import pliant as pl
from load_robots import state
from robots import SILICONE, random_inertia, random_pose

compiled_only = pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled")

GRAVITY = np.array([1.0, -2.0, -9.0])
LINE = 1000 * np.pi * 0.02**2  # mass per metre of the rods
FORCE, MOMENT = np.array([1.0, 2.0, -3.0]), np.array([0.2, -0.1, 0.3])
DRAG = np.array([0.01, 0.01, 0.01, 0.4, 0.4, 0.4])
FORMS = ["python", "python exact", "compiled", "compiled exact"]


def robot(gravity: np.ndarray = GRAVITY) -> pl.Robot:
    """A floating body with a rod, a branch inside it, and a tool behind a joint."""
    rng = np.random.default_rng(5)
    robot = pl.Robot("robot", gravity=gravity)
    hub = robot.add_body("hub", joint=pl.Free(), offset=random_pose(rng), shape=pl.Box(0.1, 0.08, 0.06), mass=0.7)
    options = {"section": pl.Circle(0.02), "material": SILICONE}
    arm = robot.add_rod(
        "arm", parent=hub, offset=random_pose(rng), length=0.5, strains=pl.Strains(torsion=1, bending=2, stretch=0), **options
    )  # fmt: skip
    robot.add_rod(
        "twig", parent=arm.at(0.4), joint=pl.Revolute("y"), offset=random_pose(rng, 0.1), length=0.3,
        strains=pl.Strains(bending=pl.LinearElements(2)), **options,
    )  # fmt: skip
    robot.add_body(
        "tool", parent=arm.tip, joint=pl.Spherical(), offset=random_pose(rng, 0.05), inertia=random_inertia(rng)
    )
    return robot


def wrench(moment: np.ndarray, force: np.ndarray, n: int) -> np.ndarray:
    return np.tile(np.concatenate([moment, force]), (n, 1))


def hats(x: np.ndarray) -> np.ndarray:
    """Matrices x̂ (n, 3, 3)."""
    return np.cross(x[:, None, :], np.eye(3)[None]).transpose(0, 2, 1)


def nothing(pose, twist, inputs):
    return np.zeros((len(pose), 6, 6)), np.zeros((len(pose), 6, 6))


def nothing_point(R, x, omega, velocity, inputs, dpose, dtwist):
    pass


# gravity along a rod, per metre


def weight(pose, twist, inputs):
    return wrench(np.zeros(3), LINE * GRAVITY, len(pose))


def weight_point(R, x, omega, velocity, inputs, moment, force):
    for i in range(3):
        force[i] = LINE * GRAVITY[i]


# dead and follower wrenches with the factor as input


def dead(pose, twist, inputs):
    return inputs[0] * wrench(MOMENT, FORCE, len(pose))


def dead_point(R, x, omega, velocity, inputs, moment, force):
    for i in range(3):
        moment[i] = inputs[0] * MOMENT[i]
        force[i] = inputs[0] * FORCE[i]


def follower(pose, twist, inputs):
    R = pose[:, :3, :3]
    return inputs[1] * np.hstack([R @ MOMENT, R @ FORCE]) + 0.0 * inputs[0]


def follower_derivatives(pose, twist, inputs):
    dpose = np.zeros((len(pose), 6, 6))
    w = follower(pose, twist, inputs)
    dpose[:, :3, :3], dpose[:, 3:, :3] = -hats(w[:, :3]), -hats(w[:, 3:])
    return dpose, np.zeros_like(dpose)


def follower_point(R, x, omega, velocity, inputs, moment, force):
    for i in range(3):
        for k in range(3):
            moment[i] += inputs[1] * R[i, k] * MOMENT[k]
            force[i] += inputs[1] * R[i, k] * FORCE[k]


def follower_point_derivatives(R, x, omega, velocity, inputs, dpose, dtwist):
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        for k in range(3):
            m, f = inputs[1] * R[i, k] * MOMENT[k], inputs[1] * R[i, k] * FORCE[k]
            dpose[a, b] += m  # − (m eᵢ)^
            dpose[b, a] -= m
            dpose[3 + a, b] += f
            dpose[3 + b, a] -= f


# drag in proportion to speed


def drag(pose, twist, inputs):
    return -DRAG * twist


def drag_derivatives(pose, twist, inputs):
    return np.zeros((len(pose), 6, 6)), np.tile(-np.diag(DRAG), (len(pose), 1, 1))


def drag_point(R, x, omega, velocity, inputs, moment, force):
    for i in range(3):
        moment[i] = -DRAG[i] * omega[i]
        force[i] = -DRAG[3 + i] * velocity[i]


def drag_point_derivatives(R, x, omega, velocity, inputs, dpose, dtwist):
    for i in range(6):
        dtwist[i, i] = -DRAG[i]


LOADS = {  # function, derivatives, function for a point, derivatives for a point, inputs
    "weight": (weight, nothing, weight_point, nothing_point, ()),
    "dead": (dead, nothing, dead_point, nothing_point, ("push",)),
    "follower": (follower, follower_derivatives, follower_point, follower_point_derivatives, ("unused", "follow")),
    "drag": (drag, drag_derivatives, drag_point, drag_point_derivatives, ()),
}


@cache
def load(name: str, form: str) -> pl.UserLoad:
    """One of each for all tests, so that it is compiled once."""
    function, derivatives, point, point_derivatives, inputs = LOADS[name]
    exact = form.endswith("exact")
    if form.startswith("python"):
        return pl.UserLoad(function, derivatives if exact else None, inputs)
    return pl.compiled_load(derivatives=point_derivatives if exact else None, inputs=inputs)(point)


def add_load(robot: pl.Robot, name: str, form: str) -> None:
    places = {"weight": ["arm", "twig"], "dead": "place", "follower": "tool", "drag": ["arm", "hub", "twig"]}[name]
    robot.add_load(f"my {name}", places, load(name, form))


def pair(name: str, form: str) -> tuple[pl.System, pl.System]:
    """The robot with a user load, and with the built-in load."""
    own, built_in = robot(), robot()
    for each in (own, built_in):
        each.add_frame("place", each.link("arm").at(0.7), offset=pl.translate(0.01, 0.02, 0.03) @ pl.rotate("x", 0.4))
    if name == "weight":  # gravity alone, on bodies by constant forces
        own, built_in = robot(gravity=np.zeros(3)), robot()
        for link in ("hub", "tool"):
            inertia = own.link(link).content.inertia
            own.add_wrench(f"w {link}", link, force=inertia.mass * GRAVITY, offset=inertia.com, constant=True)
    elif name == "dead":
        built_in.add_wrench("push", "place", force=FORCE, moment=MOMENT)
    elif name == "follower":
        built_in.add_wrench("unused", "tool", force=(1, 0, 0))
        built_in.add_wrench("follow", "tool", force=FORCE, moment=MOMENT, axes="body")
    else:
        built_in.set_fluid(density=1.0)
        built_in.add_hydrodynamics(["arm", "hub", "twig"], pl.Hydrodynamics(linear_drag=DRAG, buoyancy=False))
    add_load(own, name, form)
    return own.compile(), built_in.compile()


def close(got: np.ndarray, expected: np.ndarray, tol: float) -> None:
    assert np.abs(got - expected).max(initial=0.0) <= tol * np.abs(expected).max(initial=1.0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LOADS)
def test_residual_and_tangents(name, form):
    own, built_in = pair(name, form)
    assert own.input_names == built_in.input_names == LOADS[name][4]
    tol = 1e-13 if form.endswith("exact") else 1e-8
    for seed in range(3):
        q, v, a = state(own, seed)
        u = np.random.default_rng(seed).normal(size=own.nu)
        if name == "follower":
            u[0] = 0.0
        close(own.residual(q, v, a, u), built_in.residual(q, v, a, u), 1e-13)
        close(own.forward_dynamics(q, v, u=u), built_in.forward_dynamics(q, v, u=u), 1e-11)
        for weights in (*np.eye(3), (0.7, 1.3, 2.1)):
            got, expected = (s.residual_tangent(q, v, a, u, weights=tuple(weights)) for s in (own, built_in))
            close(got, expected, tol)
        used = [k for k, input_name in enumerate(own.input_names) if input_name != "unused"]
        close(own.actuation_matrix(q, v, u)[:, used], built_in.actuation_matrix(q, v, u)[:, used], 1e-8)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["dead", "follower", "drag"])
def test_linearisation(name, form):
    own, built_in = pair(name, form)
    q, v, _ = state(own, 1)
    u = np.arange(own.nu) * 2.0
    got, expected = (pl.linearize(s, q, v, u=u) for s in (own, built_in))
    close(got.A, expected.A, 1e-11 if form.endswith("exact") else 1e-8)
    close(got.a, expected.a, 1e-11)
    if name == "dead":
        close(got.B, expected.B, 1e-8)


@pytest.mark.parametrize("name", LOADS)
@pytest.mark.parametrize("form", ["python", "compiled exact"])
@pytest.mark.parametrize(
    "options",
    [
        {"step": 0.01},
        {"rtol": 1e-4},
        {"method": "bdf", "rtol": 1e-6},
        {"method": "rk45", "rtol": 1e-4, "duration": 0.01},
    ],
    ids=["fixed", "variable", "bdf", "explicit"],
)
def test_motion(name, form, options):
    """The same motion, step by step, for all integrators."""
    options = dict(options)
    duration = options.pop("duration", 0.1)
    own, built_in = pair(name, form)
    q, v, _ = state(own, 2, scale=0.2)
    inputs = {n: 0.5 for n in own.input_names if n != "unused"}
    runs = [pl.simulate(s, duration, start=q, velocity=0.1 * v, u=inputs, **options) for s in (own, built_in)]
    assert all(run.success for run in runs)
    frame = "tool"
    last = [run.system.pose(frame, run.q[-1]) for run in runs]
    np.testing.assert_allclose(last[0], last[1], atol=1e-6)


# ---------------------------------------------------------------- statics


def cantilever(gravity: tuple = (0, 0, -9.81)) -> pl.Robot:
    robot = pl.Robot("cantilever", gravity=gravity)
    robot.add_rod(
        "arm", length=0.5, section=pl.Circle(0.02), material=SILICONE, strains=pl.Strains(bending=3, stretch=1)
    )
    return robot


@pytest.mark.parametrize("form", FORMS)
def test_statics(form):
    """Weight along the rod and a force at its tip: the same equilibrium as with gravity and a wrench."""

    own, built_in = cantilever(gravity=(0, 0, 0)), cantilever(gravity=GRAVITY)
    own.add_load("weight", "arm", load("weight", form))
    own.add_load("dead", own.link("arm").tip, load("dead", form))
    built_in.add_wrench("push", "arm.tip", force=FORCE, moment=MOMENT)
    rests = [pl.solve_statics(r.compile(), {"push": 0.3}) for r in (own, built_in)]
    assert all(rest.success for rest in rests)
    np.testing.assert_allclose(rests[0].q, rests[1].q, atol=1e-8)
    plain = pl.solve_statics(own.compile(), np.array([0.3]), stable=False)
    np.testing.assert_allclose(plain.q, rests[0].q, atol=1e-8)


def test_a_spring_to_a_point():
    """Something that is not built in: a spring from the tip to a point of the world, whose length is an input."""

    def spring(pose, twist, inputs):
        d = np.array([0.3, 0.2, 0.1]) - pose[:, :3, 3]
        length = np.linalg.norm(d, axis=1, keepdims=True)
        return np.hstack([np.zeros((len(d), 3)), 5.0 * (length - inputs[0]) * d / length])

    arm = cantilever()
    arm.add_load("spring", "arm.tip", spring, inputs=["rest length"])
    system = arm.compile()
    rest = pl.solve_statics(system, {"rest length": 0.1})
    assert rest.success
    tip = system.pose("arm.tip", rest.q)[:3, 3]
    d = np.array([0.3, 0.2, 0.1]) - tip
    force = 5.0 * (np.linalg.norm(d) - 0.1) * d / np.linalg.norm(d)
    plain = cantilever()
    plain.add_wrench("force", "arm.tip", force=force, constant=True)
    same = pl.solve_statics(plain.compile(), start=rest)
    np.testing.assert_allclose(rest.q, same.q, atol=1e-7)
    moved = pl.solve_statics(system, {"rest length": 0.1 + 1e-4}, start=rest)
    sensitivity = pl.static_jacobian(system, rest, "arm.tip")[3:, 0]
    change = (system.pose("arm.tip", moved.q)[:3, 3] - tip) / 1e-4
    np.testing.assert_allclose(sensitivity, change, rtol=5e-3, atol=1e-5)


def test_named_inputs_of_several_loads():
    """Inputs of user loads have their place among the others, by name."""
    arm = cantilever(gravity=(0, 0, 0))
    arm.add_wrench("lift", "arm.tip", force=(0, 0, 1))
    arm.add_load("first", "arm@0.5", follower, inputs=["a", "b"])
    arm.add_tendon("cable", "arm", z=0.01)
    arm.add_load("second", ["arm.tip", "arm@0.5"], dead, inputs=["c"])
    system = arm.compile()
    assert set(system.input_names) == {"lift", "a", "b", "cable", "c"}
    q, zero = system.random(0), np.zeros(system.nv)

    def force(u: dict) -> np.ndarray:
        return system.residual(q, zero, zero, None) - system.residual(q, zero, zero, u)

    J = {at: system.jacobian(at, q, reference="world") for at in ("arm.tip", "arm@0.5")}
    R = system.pose("arm@0.5", q)[:3, :3]
    close(force({"lift": 2.0}), J["arm.tip"].T @ [0, 0, 0, 0, 0, 2.0], 1e-13)
    close(force({"a": 2.0}), zero, 1e-13)
    close(force({"b": 2.0}), J["arm@0.5"].T @ np.concatenate([2 * R @ MOMENT, 2 * R @ FORCE]), 1e-13)
    close(force({"c": 2.0}), sum(J.values()).T @ np.concatenate([2 * MOMENT, 2 * FORCE]), 1e-13)
    total = {"lift": 2.0, "b": 2.0, "c": 2.0, "cable": 3.0}
    close(force(total), sum(force({name: value}) for name, value in total.items()), 1e-13)


# ---------------------------------------------------------------- exceptions


class Whim(Exception):
    pass


def moody(error: type[BaseException], after: float = -1.0):
    """A load that raises once the tip has fallen below a height (or at once)."""

    def function(pose, twist, inputs):
        if after < 0 or np.any(pose[:, 2, 3] < -after):
            raise error("not in this mood")
        return np.zeros((len(pose), 6))

    return function


@pytest.mark.parametrize("error", [Whim, ZeroDivisionError, ValueError])
def test_exceptions_reach_the_user(error):
    arm = cantilever()
    arm.add_load("moody", "arm", moody(error))
    system = arm.compile()
    q, zero = system.neutral(), np.zeros(system.nv)
    calls = [
        lambda: system.residual(q, zero, zero),
        lambda: system.residual_tangent(q, zero, zero),
        lambda: system.forward_dynamics(q, zero),
        lambda: pl.solve_statics(system),
        lambda: pl.linearize(system, q),
        lambda: pl.simulate(system, 0.1),
        lambda: pl.simulate(system, 0.1, method="dop853"),
    ]
    for call in calls:
        with pytest.raises(error, match="not in this mood"):
            call()


@pytest.mark.parametrize("options", [{"step": 0.01}, {}, {"method": "bdf"}, {"method": "rk45"}], ids=str)
def test_exceptions_during_a_motion(options):
    """A load that fails half way: its exception reaches the user from all integrators, with what was computed."""
    arm = cantilever()
    arm.add_load("moody", "arm.tip", moody(Whim, after=0.01))
    system = arm.compile()
    run = pl.simulate(system, 0.3, **options)
    assert isinstance(run.error, Whim)
    assert "Whim: not in this mood, in the user load 'moody'" in run.message
    assert 0.0 < run.last.t < 0.3
    good = cantilever().compile()
    assert good.residual(good.neutral(), *np.zeros((2, good.nv))).shape == (good.nv,)


@pytest.mark.parametrize("options", [{"step": 0.01}, {}, {"method": "bdf"}, {"method": "rk45"}], ids=str)
def test_value_errors_during_a_motion_keep_what_was_computed(options):
    arm = cantilever()
    arm.add_load("moody", "arm.tip", moody(ValueError, after=0.01))
    run = pl.simulate(arm.compile(), 0.3, **options)
    assert not run.success
    assert "not in this mood" in run.message
    assert 0.0 < run.t[-1] < 0.3


def test_a_load_recovers():
    fail = [True]

    def function(pose, twist, inputs):
        if fail[0]:
            raise Whim("today not")
        return np.zeros((len(pose), 6))

    arm = cantilever()
    arm.add_load("moody", "arm", function)
    system = arm.compile()
    with pytest.raises(Whim, match="today not"):
        pl.solve_statics(system)
    fail[0] = False
    assert pl.solve_statics(system).success


def test_wrong_results_are_explained():
    arm = cantilever()
    arm.add_load("short", "arm", lambda pose, twist, inputs: np.zeros((len(pose), 3)))
    with pytest.raises(ValueError, match=r"shape \(\d+, 3\), but shape \(\d+, 6\) is needed"):
        pl.solve_statics(arm.compile())


def test_nan_does_not_pass_as_converged():
    arm = cantilever()
    arm.add_load("nan", "arm.tip", lambda pose, twist, inputs: np.full((len(pose), 6), np.nan))
    system = arm.compile()
    assert not pl.solve_statics(system).success


@compiled_only
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_in_a_compiled_load_does_not_pass_as_converged():
    @pl.compiled_load
    def bad(R, x, omega, velocity, inputs, moment, force):
        raise ValueError("in compiled code")

    arm = cantilever()
    arm.add_load("bad", "arm.tip", bad)
    assert not pl.solve_statics(arm.compile()).success


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("mine", "arn", drag), {}, KeyError, "arn.*did you mean.*arm"),
        (("mine", [], drag), {}, ValueError, "load 'mine': places is empty"),
        (("mine", 3.0, drag), {}, TypeError, "3.0|iter"),
        (("mine", [3.0], drag), {}, TypeError, "load 'mine': place = 3.0 must be a link, a frame, or the name of one"),
        (("mine", "arm", 3.0), {}, TypeError, "load 'mine': function = 3.0 is not callable"),
        (("mine", "arm", drag), {"derivatives": 1}, TypeError, "load 'mine': derivatives = 1 is not callable"),
        (("mine", "arm", drag), {"inputs": ["a", "a"]}, ValueError, "load 'mine': .*'a' is given twice"),
        (("mine", "arm", drag), {"inputs": ["arm"]}, ValueError, "'arm' is taken already"),
        (("mine", "arm", drag), {"inputs": ["lift"]}, ValueError, "'lift' is taken already"),
        (("lift", "arm", drag), {}, ValueError, "'lift' is taken already"),
        (("mine", "arm", pl.UserLoad(drag)), {"inputs": ["a"]}, ValueError, "holds its derivatives and inputs already"),
    ],
)  # fmt: skip
def test_wrong_loads(arguments, options, error, message):
    arm = cantilever()
    arm.add_wrench("lift", "arm.tip", force=(0, 0, 1))
    with pytest.raises(error, match=message):
        arm.add_load(*arguments, **options)
    assert not arm.user_loads


def test_a_point_inside_a_rod_becomes_a_point_of_the_grid():
    arm = cantilever()
    arm.add_load("dead", "arm@0.123", dead, inputs=["push"])
    system = arm.compile()
    assert np.any(np.abs(system.rod_points("arm") - 0.123) < 1e-12)


def test_input_names_of_loads_are_taken():
    arm = cantilever()
    arm.add_load("mine", "arm.tip", dead, inputs=["push"])
    with pytest.raises(ValueError, match="'push' is taken already"):
        arm.add_wrench("push", "arm.tip", force=(0, 0, 1))
    with pytest.raises(ValueError, match="'mine' is taken already"):
        arm.add_load("mine", "arm.tip", dead, inputs=["other"])
