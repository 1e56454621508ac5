"""Gradients of motions and equilibria of robots whose loads remember: friction that sticks and slides, impacts with restitution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from gradient_checks import difference, errors, value
from pliant import gallery
from pliant.gradients.costs.states import States
from robots import SILICONE

G = 9.81
PIPE_TIME = 2.1  # s
SMALL = {"start": 1e-9, "velocity": 1e-6, "parameter": 1e-6, "u": 1e-6}


def block(mu: float, slope: float = 0.2, **law: float) -> pl.System:
    """A block of 1 kg on a slope, along which x points down."""
    robot = pl.Robot("block", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    body = robot.add_body("block", joint=pl.Free(), shape=pl.Box(0.1, 0.1, 0.1), mass=1.0)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.05))
    law = {"damping": 1.0, **law}
    robot.add_contact("touch", "block", "floor", stiffness=1e6, friction=mu, **law)
    robot.add_wrench("push", body, force=(1.0, 0.5, 0.0))
    return robot.compile()


def sunk(system: pl.System) -> np.ndarray:
    """Pressed into the floor by about its weight."""
    q = system.neutral()
    q[6] = -((G / 4 / 1e6) ** (2 / 3))
    return q


NEAR = pl.Reach("block", (3e-4, 1e-4, 2e-4), at="all")  # where little is lost in differences
NUMBERS = ("block.mass", "touch.friction", "touch.stiffness", "touch.damping", "gravity.x")


@pytest.mark.parametrize("method", ["sdirk2", "sdirk3", "midpoint", "euler"])
@pytest.mark.parametrize("sticks", [True, False], ids=["sticking", "sliding"])
def test_a_block_on_a_slope(sticks, method):
    system = block(0.6 if sticks else 0.15)
    v = np.zeros(6)
    v[3:5] = (0.0, 0.0) if sticks else (0.3, 0.05)
    U = np.linspace(0.1, 0.3, 20)[:, None]
    run = pl.rollout(system, U, step=1e-3, start=sunk(system), velocity=v, method=method)
    strain = np.linalg.norm(run.remembered.reshape(21, 8, 4)[2:, ::2, :3], axis=2)  # of the corners below
    assert strain.min() > 0
    assert strain.max() < 0.99e-6 if sticks else strain.min() > 0.999e-6
    found = errors(
        system, U, NEAR, start=sunk(system), velocity=v, parameters=NUMBERS, step=1e-3, method=method,
        steps=SMALL,
    )  # fmt: skip
    assert max(found.values()) < 1e-8, found


def swinging() -> pl.System:
    """A ball that slides on a plate that swings, and sticks to a wall beside it."""
    robot = pl.Robot("swinging", gravity=(0.5, 0, -G))
    plate = robot.add_body(
        "plate", joint=pl.Revolute("y", stiffness=50.0, damping=0.5), shape=pl.Box(0.4, 0.4, 0.02), mass=2.0
    )
    robot.add_body("ball", joint=pl.Free(), shape=pl.Sphere(0.05), mass=0.3)
    robot.add_obstacle("floor", pl.HalfSpace(), parent=plate, pose=(0, 0, -0.05))
    robot.add_obstacle("wall", pl.Sphere(0.2), pose=(0.2499, 0.01, 0.01))
    robot.add_contact("slides", "ball", "floor", stiffness=2e4, friction=0.3, damping=1.0, stiction=1e-5)
    robot.add_contact("sticks", "ball", "wall", stiffness=2e4, friction=0.9, stiction=1e-4)
    robot.add_motor("motor", plate)
    return robot.compile()


def test_an_obstacle_that_moves():
    system = swinging()
    q = system.neutral()
    q[0], q[-1] = 0.02, -5e-4
    v = np.zeros(7)
    v[0], v[1:4], v[4:] = 0.3, (0.2, 0.3, -0.1), (0.05, 0.4, 0.0)
    U = np.linspace(0.5, 1.0, 8)[:, None]
    names = ("ball.mass", "slides.friction", "sticks.friction", "sticks.stiffness", "plate.joint.stiffness")
    run = pl.rollout(system, U, step=1e-3, start=q, velocity=v)
    bent = np.abs(run.remembered[-1].reshape(2, 4)[:, :3]).max(axis=1)
    assert bent.min() > 0
    cost = pl.Reach("ball", (2e-3, 1e-3, -1e-3), at="all")
    found = errors(system, U, cost, start=q, velocity=v, parameters=names, step=1e-3, steps={**SMALL, "start": 1e-7})
    assert max(found.values()) < 1e-8, found
    transposed(run, 0)


def rails() -> pl.System:
    """A soft rod that lies across another one and slides on a third, on slides of its own."""
    robot = pl.Robot("rails", gravity=(0.3, 1.5, -G))
    soft = {"section": pl.Circle(0.01), "material": SILICONE, "strains": pl.Strains(bending=1, torsion=0), "points": 5}
    for k, x in enumerate((-0.05, 0.05)):
        robot.add_rod(f"rail {k}", offset=pl.translate(-0.1, x, 0), length=0.2, **soft)
    hub = robot.add_body("hub", joint=pl.Free(), shape=pl.Sphere(0.01), mass=0.2)
    place = pl.translate(0.002, -0.1, 0.022) @ pl.rotate("z", np.pi / 2 + 0.1) @ pl.rotate("y", 0.01)
    robot.add_rod("top", parent=hub, offset=place, length=0.2, **soft)
    robot.add_contact("slides", "top", "rail 0", stiffness=2e4, friction=0.2, damping=1.0, stiction=1e-5)
    robot.add_contact("sticks", "top", "rail 1", stiffness=2e4, friction=0.9, stiction=1e-3)
    robot.add_wrench("push", hub, force=(0.2, 0.5, 0))
    return robot.compile()


def test_rods_that_hold_each_other():
    system = rails()
    v = np.zeros(system.nv)
    v[system.v_slice("hub")][:6] = (0.1, 0.05, 0.3, 0.05, 0.2, -0.02)
    q = system.neutral()
    q[system.coordinate_names.index("hub.z")] = -2.6e-3
    U = np.linspace(0.5, 1.0, 8)[:, None]
    run = pl.rollout(system, U, step=1e-3, start=q, velocity=v)
    slots = run.remembered[-1][4 * len(system.loads["contact"].point) :].reshape(-1, 5)
    bent = np.linalg.norm(slots[slots[:, 4] > 0, :3], axis=1)
    assert len(bent) >= 2
    assert bent.min() > 0
    names = ("hub.mass", "slides.friction", "sticks.friction", "sticks.stiffness")
    cost = pl.Reach("hub", (2e-3, 1e-3, -1e-3), at="all")
    found = errors(system, U, cost, start=q, velocity=v, parameters=names, step=1e-3, steps={**SMALL, "start": 1e-7})
    assert max(found.values()) < 1e-7, found
    transposed(run, 0)


def transposed(run: pl.Rollout, seed: int) -> None:
    """Forward and reverse mode, and maps of all steps one after the other, give the same."""
    system, rng = run.system, np.random.default_rng(seed)
    rows = [rng.normal(size=(len(run) + 1, n)) for n in (system.nv, system.nv, system.nu)]
    back = run.pull(*rows)
    du = rng.normal(size=run.U.shape)
    dq, dv = rng.normal(size=(2, system.nv)) * system.internal.scale
    dz = 1e-6 * rng.normal(size=system.nz)
    ahead = run.push(u=du, start=dq, velocity=dv, remembered=dz)
    forward = [np.vdot(w, d) for w, d in zip(rows, ahead)]
    reverse = [np.vdot(back.u, du), back.start @ dq, back.velocity @ dv, back.remembered @ dz]
    assert sum(forward) == pytest.approx(sum(reverse), abs=1e-10 * max(np.abs(forward).max(), np.abs(reverse).max()))
    names = [name for name in ("touch.friction", "slides.friction", "arm.young") if name in system.parameters]
    dp = {name: system.parameters[name] for name in names}
    forward = [np.vdot(w, d) for w, d in zip(rows, run.push(parameters=dp))]
    reverse = [back[name] * x for name, x in dp.items()]
    assert sum(forward) == pytest.approx(sum(reverse), abs=1e-8 * max(np.abs(forward).max(), np.abs(reverse).max()))
    if system.known.any() or system.held_tendons:
        return
    A, B = run.maps()
    assert A.shape == (len(run), *[2 * system.nv + system.nz] * 2)
    x = np.concatenate([dq, dv, dz])
    for a, b, d in zip(A, B, du):
        x = a @ x + b @ d
    end = np.concatenate([ahead.q[-1], ahead.v[-1]])
    np.testing.assert_allclose(x[: 2 * system.nv], end, atol=1e-9 * np.abs(end).max())


def test_maps_know_what_is_remembered():
    """All columns and rows of a map against differences of a step, those of the bristles too."""
    system = swinging()
    q = system.neutral()
    q[0], q[-1] = 0.02, -5e-4
    v = np.array([0.3, 0.2, 0.3, -0.1, 0.05, 0.4, 0.0])
    first = pl.rollout(system, [[0.5]] * 3, step=1e-3, start=q, velocity=v).result()
    z = first.last.memory
    assert z is not None
    A, B = pl.rollout(system, [[0.5]], step=1e-3, start=first, tolerance=1e-13).maps()
    size = np.concatenate([1e-7 * np.ones(system.nv), 1e-5 * np.ones(system.nv), np.tile([1e-8, 1e-8, 1e-8, 1e-6], 2)])

    def end(x: np.ndarray, u: float = 0.5) -> np.ndarray:
        m = system.nv
        at = replace(
            first,
            q=np.vstack([first.q[:-1], system.integrate(first.q[-1], x[:m])]),
            v=np.vstack([first.v[:-1], first.v[-1] + x[m : 2 * m]]),
            memory=np.vstack([first.memory[:-1], first.memory[-1] + x[2 * m :]]),
        )
        run = pl.rollout(system, [[u]], step=1e-3, start=at, tolerance=1e-14)
        return np.concatenate([system.difference(base.q[-1], run.q[-1]), run.v[-1], run.remembered[-1]])

    base = pl.rollout(system, [[0.5]], step=1e-3, start=first, tolerance=1e-14)
    for k, h in enumerate(size):
        e = np.eye(len(size))[k]
        column = (8 * (end(h * e) - end(-h * e)) - (end(2 * h * e) - end(-2 * h * e))) / (12 * h)
        np.testing.assert_allclose(
            A[0][:, k] * h / size, column * h / size, atol=1e-7 * max(np.abs(column * h / size).max(), 1e-3)
        )
    column = (end(0 * size, 0.501) - end(0 * size, 0.499)) / 2e-3
    np.testing.assert_allclose(B[0][:, 0] / size, column / size, atol=1e-6 * np.abs(column / size).max())


@pytest.mark.parametrize("method", ["sdirk2", "midpoint"])
def test_a_ball_that_bounces(method):
    """Through first touch and away again, with a coefficient of restitution: the speed of the impact is remembered."""
    robot = pl.Robot("ball", gravity=(0, 0, -G))
    robot.add_body("ball", joint=pl.Free(), shape=pl.Sphere(0.05), mass=0.3)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.0521))
    robot.add_contact("touch", "ball", "floor", stiffness=1e5, restitution=0.6, friction=0.2, stiction=1e-4)
    system = robot.compile()
    v = np.array([0.1, 0.5, 0.2, 0.3, 0.1, -0.7])
    run = pl.rollout(system, None, step=5e-4, duration=0.03, start=system.neutral(), velocity=v, method=method)
    assert run.v[-1, 5] > 0.1  # it has left
    cost = pl.Reach("ball", (1e-2, 3e-3, 5e-3), at="end")
    found = errors(
        system, None, cost, start=system.neutral(), velocity=v, parameters=("ball.mass", "touch.friction", "touch.stiffness", "gravity.z"), step=5e-4,
        duration=0.03, method=method, steps={"start": 1e-8, "velocity": 1e-6, "parameter": 1e-6},
    )  # fmt: skip
    assert max(found.values()) < 1e-8, found


def rough_pipe() -> tuple[pl.System, pl.Equilibrium, np.ndarray]:
    """The manipulator of the gallery in a pipe with friction, where it has come to slide along the wall: state with what it remembers, and velocity."""
    example = gallery.load("manipulator_in_pipe")
    robot = example.build(contact=False).robot
    robot.add_obstacle("pipe", pl.Cylinder(radius=0.15, length=3.0, axis="z"), inside=True)
    robot.add_contact("touch", "arm", "pipe", stiffness=1e5, friction=0.4, damping=0.5)
    system = robot.compile()
    rest = pl.solve_statics(system)
    last = pl.simulate(system, PIPE_TIME, u=example.tensions, start=rest, rtol=1e-5).last
    return system, replace(rest, q=last.q, memory=last.memory, system=None), last.v


@pytest.mark.parametrize("checkpoint", [None, 7])
def test_manipulator_in_a_rough_pipe(checkpoint):
    """With the default stiction, from a state that remembers: it sticks and slides along the wall."""
    example = gallery.load("manipulator_in_pipe")
    system, before, velocity = rough_pipe()
    assert np.any(before.memory.reshape(-1, 4)[:, 3] > 0)
    U = np.array([system.inputs(example.tensions(PIPE_TIME + 0.01 * k)) for k in range(15)])
    cost = pl.Reach("arm.tip", (0.1, 0.1, -0.4), at="all")
    options = {"step": 0.01, "velocity": velocity, "tolerance": 1e-14}
    g = pl.rollout(system, U, start=before, checkpoint=checkpoint, **options).gradient(cost)

    def at(system=system, U=U, q=0.0, v=0.0):
        start = replace(before, q=system.integrate(before.q, q + np.zeros(system.nv)))
        return value(cost, pl.rollout(system, U, start=start, **{**options, "velocity": velocity + v}))

    rng = np.random.default_rng(0)
    du, (dq, dv) = U * rng.normal(size=U.shape), system.internal.scale * rng.normal(size=(2, system.nv))
    pairs = {
        "u": (np.vdot(g.u, du), difference(lambda s: at(U=U + s * du), 1e-6)),
        "start": (g.start @ dq, difference(lambda s: at(q=s * dq), 1e-7)),
        "velocity": (g.velocity @ dv, difference(lambda s: at(v=s * dv), 1e-6)),
    }
    for name in ("arm.young", "arm.length", "touch.friction", "touch.stiffness", "pipe.shape.radius", "arm.density"):
        x = system.parameters[name]
        changed = difference(lambda s, name=name, x=x: at(system.with_parameters({name: x * (1 + s)})), 1e-6)
        pairs[name] = g[name] * x, changed
    largest = max(abs(b) for _a, b in pairs.values())
    found = {name: abs(a - b) / largest for name, (a, b) in pairs.items()}
    assert max(found.values()) < 1e-8, found


def test_forward_and_reverse_in_a_rough_pipe():
    example = gallery.load("manipulator_in_pipe")
    system, before, velocity = rough_pipe()
    U = np.array([system.inputs(example.tensions(PIPE_TIME + 0.01 * k)) for k in range(6)])
    run = pl.rollout(system, U, step=0.01, start=before, velocity=velocity)
    transposed(run, 1)
    cost = pl.Reach("arm.tip", (0.1, 0.1, -0.4), at="all")
    d, e = np.random.default_rng(0).normal(size=(2, *U.shape))
    a, b = np.vdot(e, run.gauss_newton(cost, d)), np.vdot(d, run.gauss_newton(cost, e))
    assert a == pytest.approx(b, rel=1e-9)
    slopes = run.jacobian(pl.costs.Position("arm.tip"), ["touch.friction", "arm.young"])
    assert slopes.shape == (7, 3, 2)
    assert np.abs(slopes[-1]).min() > 0


def test_lengths_that_are_prescribed():
    """A finger that is pulled onto a rough floor by a tendon of prescribed length."""
    robot = pl.Robot("finger")
    rod = robot.add_rod("arm", length=0.3, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.kirchhoff(3))
    robot.add_tendon("held", rod, z=-0.008, control="length")
    robot.add_tendon("pulled", rod, z=0.008)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.1))
    robot.add_contact("touch", rod, "floor", stiffness=2e3, friction=0.5, damping=0.5, stiction=1e-4)
    system = robot.compile()
    rest = pl.solve_statics(system, motion={"held": 0.3})
    motion = {"held": lambda t: 0.3 - 0.05 * t}
    U = np.zeros((14, 2))
    U[:, 1] = 0.2
    run = pl.rollout(system, U, step=5e-3, start=rest, motion=motion)
    assert np.any(run.remembered[-1].reshape(-1, 4)[:, 3] > 0)
    transposed(run, 2)
    cost = pl.Reach("arm.tip", (0.2, 0, -0.05), at="all")
    g = run.gradient(cost)
    x = system.parameters["touch.friction"]

    def at(s: float) -> float:
        other = system.with_parameters({"touch.friction": x * (1 + s)})
        return value(cost, pl.rollout(other, U, step=5e-3, start=rest, motion=motion, tolerance=1e-14))

    assert g["touch.friction"] * x == pytest.approx(difference(at, 1e-4), rel=1e-6)


# ---------------------------------------------------------------- equilibria


def leaning() -> tuple[pl.System, pl.Equilibrium]:
    """A rod whose tip lies on a rough floor, where it sticks when a tendon pulls."""
    robot = pl.Robot("leaning")
    rod = robot.add_rod(
        "arm", length=0.4, section=pl.Circle((0.02, 0.012)), material=SILICONE, strains=pl.Strains.kirchhoff(3)
    )
    robot.add_tendon("cable", rod, y=0.01)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.12))
    robot.add_contact("touch", rod, "floor", stiffness=2e3, friction=0.8, stiction=1e-3)
    system = robot.compile()
    return system, pl.solve_statics(system)


def test_equilibria_that_stick():
    system, lain = leaning()
    cost = pl.Reach("arm.tip", (0.3, 0.1, 0.1))

    def solve(u: float = 0.05, system: pl.System = system) -> pl.Equilibrium:
        found = pl.solve_statics(system, {"cable": u}, start=lain, tolerance=1e-13)
        assert found.success
        return found

    rest = solve()
    bent = np.linalg.norm(rest.memory.reshape(-1, 4)[:, :3], axis=1)
    assert 0 < bent.max() < 0.99e-3
    d = pl.static_gradient(system, rest, cost)

    def at(**given) -> float:
        found = solve(**given)
        return cost.evaluate(States.at_rest(given.get("system", system), found.q, found.u)).value

    pairs = {"cable": (d["cable"], difference(lambda s: at(u=0.05 + s), 1e-4))}
    for name in ("arm.young", "arm.length", "touch.stiffness", "touch.friction", "gravity.z"):
        x = system.parameters[name]
        pairs[name] = (
            d[name] * x,
            difference(lambda s, name=name, x=x: at(system=system.with_parameters({name: x * (1 + s)})), 1e-5),
        )
    largest = max(abs(b) for _a, b in pairs.values())
    found = {name: abs(a - b) / largest for name, (a, b) in pairs.items()}
    assert max(found.values()) < 1e-8, found
    slope = pl.static_jacobian(system, rest, "arm.tip")[3:, 0]
    exact = (system.pose("arm.tip", solve(0.0501).q) - system.pose("arm.tip", solve(0.0499).q))[:3, 3] / 2e-4
    np.testing.assert_allclose(slope, exact, atol=1e-6 * np.abs(exact).max())
    loose = system.with_parameters({"touch.friction": 0.0})
    free = pl.static_jacobian(loose, pl.solve_statics(loose, {"cable": 0.05}), "arm.tip")[3:, 0]
    assert np.linalg.norm(free) > 1.1 * np.linalg.norm(slope)  # friction holds it


# ---------------------------------------------------------------- what is refused


def test_what_is_not_known_is_refused(monkeypatch):
    system, lain = leaning()
    with pytest.raises(ValueError, match="coordinates do not say"):
        pl.static_jacobian(system, lain.q, "arm.tip")
    run = pl.rollout(system, [[0.05]], step=0.01, start=lain)
    with pytest.raises(ValueError, match="leave equilibrium out"):
        run.gradient(pl.Reach("arm.tip", (0, 0, 0)), equilibrium=lain)
    with pytest.raises(ValueError, match="remembered"):
        run.push(remembered=np.zeros(3))
    family = next(f for f in system._assembly.loading.working if f.name == "contact")
    monkeypatch.setattr(type(family), "knows_memory", lambda self, tables: False)
    for ask in (lambda: run.gradient(pl.Reach("arm.tip", (0, 0, 0))), run.maps, lambda: run.push(u=[[1.0]])):
        with pytest.raises(ValueError, match="contact remember"):
            ask()


def test_batches():
    """Gradients of many motions are those of single ones; static Jacobians of coordinates alone are refused."""
    system = block(0.6)
    U = np.random.default_rng(0).uniform(0.1, 0.3, size=(3, 4, 1))
    found = pl.batch(system).gradients(NEAR, U, step=1e-3, start=sunk(system))
    for k in range(3):
        one = pl.rollout(system, U[k], step=1e-3, start=sunk(system)).gradient(NEAR)
        np.testing.assert_array_equal(found["u"][k], one.u)
    system, lain = leaning()
    many = pl.batch(system).static_jacobians("arm.tip", lain.q[None], [[0.0]])
    assert "coordinates do not say" in str(many.messages)


# ---------------------------------------------------------------- places on rods that touch all along


def lying(X: float, other: str, **law: float) -> pl.System:
    """A rod that a load presses at X, where a frame stands too, onto the floor, the edge of a box, or another rod."""
    robot = pl.Robot("lying")
    options = {"section": pl.Circle((0.02, 0.012)), "material": SILICONE}
    rod = robot.add_rod("arm", length=0.4, strains=pl.Strains.kirchhoff(3), **options)
    robot.add_frame("mark", rod.at(0.37))
    robot.add_wrench("load", rod.at(X), force=(0, 0, -0.5))
    if other == "floor":
        robot.add_obstacle("other", pl.HalfSpace(), pose=(0, 0, -0.02))
    elif other == "box":
        robot.add_obstacle("other", pl.Box(0.1, 0.1, 0.1), pose=(0.35, 0, -0.065))
    else:
        place = pl.translate(0.3, -0.1, -0.04) @ pl.rotate("z", 1.57)
        robot.add_rod("other", offset=place, length=0.4, strains=pl.Strains.kirchhoff(1), **options)
    robot.add_contact("touch", rod, "other", stiffness=2e4, per_length=True, **law)
    return robot.compile()


@pytest.mark.parametrize("law", [{}, {"friction": 0.3}], ids=["smooth", "rough"])
@pytest.mark.parametrize("other", ["floor", "box", "rod"])
@pytest.mark.parametrize("X", [0.29, 0.37], ids=["alone", "on a frame"])
def test_the_place_of_a_load_on_a_rod_that_touches_all_along(X, other, law):
    """Also where it leaves another point of its rod, which then has one more: an IndexError, or memory of other points, before."""
    system = lying(X, other, **law)
    options = {"step": 0.01, "duration": 0.1, "tolerance": 1e-12}
    cost = pl.costs.Position("arm.tip")[2].mean(at="end")
    g = pl.rollout(system, [[1.0]], **options).gradient(cost)
    if other == "rod" and law and X != 0.29:
        with pytest.raises(ValueError, match="exactly where another point of it is"):
            g["load.frame.X"]
        return

    def at(s: float) -> float:
        moved = system.with_parameters({"load.frame.X": X + s})
        return value(cost, pl.rollout(moved, [[1.0]], **options))

    # a rod with one point more is integrated a little differently
    assert g["load.frame.X"] == pytest.approx(difference(at, 1e-5), rel=1e-7 if X == 0.29 else 1e-4)
