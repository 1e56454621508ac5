"""The watch over a run's energy: silent where the balance holds, plain where it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pliant as pl
from pliant.kernels import engine, slots
from pliant.solve.energy_watch import EnergyWatch
from pliant.solve.methods import Steps
from robots import SILICONE


def arm(**options: Any) -> pl.Robot:
    robot = pl.Robot("arm", **options)
    rod = robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.015), material=SILICONE, strains=pl.Strains.kirchhoff(2), points=4,
    )  # fmt: skip
    robot.add_tendon("cable", rod, z=0.012)
    robot.add_body("tip", parent=rod.tip, shape=pl.Sphere(0.02), mass=0.05)
    return robot


def watched(run: pl.Result, speed: float = 1.0) -> EnergyWatch:
    """A watch that saw the stored states, with velocities that grow by a factor at each of them."""
    n = len(run.t)
    faster = run.v * speed ** np.arange(n)[:, None]
    steps = Steps(
        run.t,
        run.q,
        faster,
        run.a,
        run.u,
        run.tau,
        np.zeros((n, 0)),
        np.zeros((n, 0)),
        np.zeros((n, 0)),
        np.full((n, 5), np.nan),
        np.ones(n),
    )
    watch = EnergyWatch(run.system, Steps(*(x[:1] for x in steps)), 1e-4)
    watch.see(steps)
    return watch


def test_energies_and_power_are_those_of_the_system() -> None:
    robot = arm()
    robot.add_wrench("push", "tip", force=(0.3, 0.1, 0.2), constant=True)
    system = robot.compile()
    rng = np.random.default_rng(0)
    q, v, a = system.random(rng, scale=0.3), *rng.normal(size=(2, system.nv))
    u, tau = np.array([2.0]), rng.normal(size=system.nv)
    p = np.zeros(engine.PARAMETERS)
    p[slots.OPTION_POWER] = 1.0
    system.run_job(engine.BALANCE, q, v, a, u, tau, p=p)
    energies = system.kinetic_energy(q, v), system.gravitational_energy(q), system.elastic_energy(q)
    assert p[[slots.REPORT_KINETIC, slots.REPORT_GRAVITATIONAL, slots.REPORT_ELASTIC]] == pytest.approx(
        energies, rel=1e-13
    )
    inner = system.inverse_dynamics(q, v, a) + system.elastic_forces(q)
    assert p[slots.REPORT_POWER] == pytest.approx(float(v @ (inner - system.residual(q, v, a, u, tau))), rel=1e-12)
    # the potential of tension and dead force has the work of these as its derivative
    h = 1e-6
    values = []
    for sign in (1, -1):
        system.run_job(engine.BALANCE, system.integrate(q, sign * h * v), v, a, u, p=p)
        values.append(p[slots.REPORT_LOADS])
    others = system.residual(q, 0 * v, 0 * a) - system.residual(q, 0 * v, 0 * a, u)
    push = float(system.jacobian("tip", q, reference="world")[3:] @ v @ np.array([0.3, 0.1, 0.2]))
    assert (values[0] - values[1]) / (2 * h) == pytest.approx(-float(others @ v) - push, rel=1e-6)


@pytest.mark.parametrize("case", ["released", "driven", "undamped", "pushed", "moved"])
def test_true_motions_are_not_accused(case: str) -> None:
    robot = arm()
    options: dict = {}
    if case == "released":
        system = robot.compile()
        options["start"] = pl.solve_statics(system, {"cable": 8.0})
    elif case == "driven":
        system = robot.compile()
        options["u"] = lambda t: {"cable": 5 * np.sin(6 * t) ** 2}
    elif case == "undamped":
        robot = pl.Robot("pendulum")
        robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
        system = robot.compile()
    elif case == "pushed":  # a follower force feeds energy without a potential
        robot.add_wrench("follower", "tip", force=(0.0, 0.0, 0.5), axes="body", constant=True)
        system = robot.compile()
    else:
        robot = pl.Robot("moved")
        base = robot.add_body("base", joint=pl.Prismatic("x"), shape=pl.Box(0.1, 0.1, 0.1), mass=1.0)
        robot.add_body(
            "rod", parent=base, joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
        )
        robot.add_motion("slide", base)
        system = robot.compile()
        options["motion"] = {"slide": lambda t: 0.1 * np.sin(5 * t)}
    run = pl.simulate(system, 1.0, **options)
    assert watched(run).warning is None


def test_energy_from_nowhere_is_told_with_its_time() -> None:
    run = pl.simulate(arm().compile(), 1.0)
    watch = watched(run, 1.005)
    assert watch.warning is not None
    assert "gained" in watch.warning
    assert watch.began is not None
    assert 0 <= watch.began < 1
    assert not watch.hopeless
    assert watched(run, 1.3).hopeless


def test_energy_without_its_work_is_told() -> None:
    """The same motion, with the tension that made it left out of the account."""
    run = pl.simulate(arm(gravity=(0, 0, 0)).compile(), 1.0, u=lambda t: {"cable": 5 * np.sin(6 * t) ** 2})
    assert watched(run).warning is None
    warning = watched(replace(run, u=1e-3 * run.u)).warning
    assert warning is not None
    assert "more than inputs and loads supplied" in warning


def test_the_arm_of_the_readme_is_not_accused() -> None:
    """Work is known by the trapezoidal rule only, which is poor while little has been turned over."""
    system = arm().compile()
    rest = pl.solve_statics(system, {"cable": 5.0})
    run = pl.simulate(system, 10.0, u=lambda t: {"cable": 5 * np.cos(t) ** 2}, start=rest)
    assert run.success
    assert run.warnings == ()
