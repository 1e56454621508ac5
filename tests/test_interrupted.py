"""Ctrl-C while something long is computed: what there is comes back, or the exception has it; and disks without room for a video."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant as pl
from pliant.control.laws import inverse_statics as search
from pliant.control.optimal.ddp import Solver
from pliant.gradients.gradient import Adjoint
from pliant.gradients.memory import Memory

posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


@pytest.fixture(scope="module")
def arm() -> pl.System:
    robot = pl.Robot("arm")
    silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    rod = robot.add_rod("arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(1))
    for k, (y, z) in enumerate([(0.0, 0.012), (0.010, -0.006), (-0.010, -0.006)]):
        robot.add_tendon(f"cable{k}", rod, y=y, z=z)
    return robot.compile()


@pytest.fixture(autouse=True)
def listens() -> Iterator[None]:
    """Ctrl-C is heard, also by tests that run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def strike(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, number: int, *, after: bool = False) -> list[int]:
    """Ctrl-C in the call of this number, before or after what it does; returns a list with an entry for each call."""
    own, calls = getattr(owner, name), []

    def struck(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == number and not after:
            signal.raise_signal(signal.SIGINT)
        found = own(*arguments, **options)
        if len(calls) == number and after:
            signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(owner, name, struck)
    return calls


GOAL = [pl.Reach("arm.tip", (0.36, 0.05, 0.08), 100.0), pl.Still("arm.tip"), pl.Effort(1e-4)]


def planned(system: pl.System, **options: Any) -> pl.OptimalPlan:
    return pl.optimize(system, GOAL, bounds=(0, 20), horizon=0.3, knots=10, threads=1, **options)


# ---------------------------------------------------------------- plans


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", [2, 4, 9])
@pytest.mark.parametrize("method", ["backwards", "forwards"])
def test_a_plan_that_is_interrupted(
    arm: pl.System, monkeypatch: pytest.MonkeyPatch, method: str, number: int, after: bool
) -> None:
    """It is a motion with its cost and gains, no worse than those before, and goes on to an optimum."""
    whole = planned(arm)
    with monkeypatch.context() as patch:
        strike(patch, Solver, method, number, after=after)
        plan = planned(arm)
    assert (plan.status, plan.success) == ("interrupted", False)
    assert "Ctrl-C" in plan.message
    assert any("interrupted" in text for text in plan.warnings)
    assert plan.iterations < whole.iterations
    assert plan.cost == pytest.approx(plan.rollout.cost(sum(GOAL[1:], GOAL[0])), rel=1e-9)
    assert plan.cost <= plan.costs[0] * (1 + 1e-9)
    again = pl.rollout(arm, plan.u, step=0.03)
    np.testing.assert_allclose(again.q, plan.rollout.q, atol=1e-8)
    assert np.abs(plan.gains).max() > 0.0
    on = planned(arm, start=plan)
    assert on.success
    assert on.cost <= plan.cost * (1 + 1e-9)


def test_nothing_to_keep_is_an_interrupt(arm: pl.System, monkeypatch: pytest.MonkeyPatch) -> None:
    strike(monkeypatch, Solver, "begin", 1)
    with pytest.raises(KeyboardInterrupt):
        planned(arm)


def test_a_plan_with_constraints_that_is_interrupted(arm: pl.System, monkeypatch: pytest.MonkeyPatch) -> None:
    low = pl.costs.Position("arm.tip")[2] >= -0.02
    strike(monkeypatch, Solver, "backwards", 12)
    plan = planned(arm, constraints=low)
    assert plan.status == "interrupted"
    height = plan.rollout.positions("arm.tip")[:, 2]
    assert plan.violation == pytest.approx(max(0.0, -0.02 - height.min()), abs=1e-9)


def test_a_design_that_is_interrupted(arm: pl.System, monkeypatch: pytest.MonkeyPatch) -> None:
    strike(monkeypatch, Solver, "backwards", 40)
    plan = planned(arm, parameters={"arm.young": (5e5, 2e6)})
    assert plan.status == "interrupted"
    assert 5e5 <= plan.parameters["arm.young"] <= 2e6
    assert plan.system.parameters["arm.young"] == plan.parameters["arm.young"]


@pytest.mark.parametrize("number", [3, 8])
@pytest.mark.parametrize("what", ["cost", "jacobian"])
def test_a_transcription_that_is_interrupted(
    arm: pl.System, monkeypatch: pytest.MonkeyPatch, what: str, number: int
) -> None:
    pytest.importorskip("casadi")
    from pliant.control.optimal.transcription import Transcription

    strike(monkeypatch, Transcription, what, number + 2)
    plan = planned(arm, method="collocation")
    assert plan.status == "interrupted"
    assert plan.u.shape == (10, 3)
    assert np.isfinite(plan.cost)


# ---------------------------------------------------------------- inverse statics


def test_inverse_statics_that_are_interrupted(arm: pl.System, monkeypatch: pytest.MonkeyPatch) -> None:
    tip = pl.costs.Position("arm.tip")
    whole = pl.inverse_statics(arm, (tip, [0.3, 0.05, -0.1]), bounds=(0, 40))
    assert whole.evaluations > 4
    with monkeypatch.context() as patch:
        strike(patch, search, "solve_statics", 4)
        found = pl.inverse_statics(arm, (tip, [0.3, 0.05, -0.1]), bounds=(0, 40))
    assert (found.status, found.success) == ("interrupted", False)
    assert "Ctrl-C" in found.message
    assert found.error >= whole.error
    np.testing.assert_allclose(
        arm.pose("arm.tip", found.equilibrium.q)[:3, 3] + found.residual, [0.3, 0.05, -0.1], atol=1e-12
    )
    assert found.jacobian.shape == (3, 3)
    np.testing.assert_array_equal(found.equilibrium.u, found.u)


def test_a_path_that_is_interrupted(arm: pl.System, monkeypatch: pytest.MonkeyPatch) -> None:
    tip = pl.costs.Position("arm.tip")[1:]
    path = [(tip, [0.01 * k, -0.1]) for k in range(6)]
    whole = pl.inverse_statics(arm, path, bounds=(0, 40))
    with monkeypatch.context() as patch:
        strike(patch, search, "solve_statics", whole[0].evaluations + whole[1].evaluations + 3)
        found = pl.inverse_statics(arm, path, bounds=(0, 40))
    assert [point.status for point in found] == ["reached", "reached", "interrupted"]
    for a, b in zip(found[:2], whole):
        np.testing.assert_array_equal(a.u, b.u)


# ---------------------------------------------------------------- rollouts and their gradients


@pytest.mark.parametrize(("checkpoint", "number", "steps"), [(None, 2, 4096), (1000, 3, 3000), (1000, 1, 1000)])
def test_a_rollout_that_is_interrupted(
    arm: pl.System, monkeypatch: pytest.MonkeyPatch, checkpoint: int | None, number: int, steps: int
) -> None:
    """After some calls of the engine, of 2048 steps at most."""
    U = np.full((5000, 3), 2.0)
    whole = pl.rollout(arm, U, step=1e-4, checkpoint=checkpoint)
    with monkeypatch.context() as patch:
        strike(patch, Memory, "run", number, after=True)
        with pytest.raises(KeyboardInterrupt, match="interrupted at t = 0") as stop:
            pl.rollout(arm, U, step=1e-4, checkpoint=checkpoint)
    run = stop.value.run
    assert len(run) == steps
    np.testing.assert_array_equal(run.q, whole.q[: steps + 1])
    assert np.isfinite(run.gradient(pl.Reach("arm.tip", (0.38, 0.0, 0.1))).u[:steps]).all()


@pytest.mark.parametrize("after", [False, True])
def test_a_gradient_that_is_interrupted_goes_on(arm: pl.System, monkeypatch: pytest.MonkeyPatch, after: bool) -> None:
    run = pl.rollout(arm, np.full((60, 3), 2.0), step=0.01, checkpoint=10)
    cost = pl.Reach("arm.tip", (0.38, 0.0, 0.1)) + 1e-4 * pl.Effort()
    whole = run.gradient(cost)
    calls = strike(monkeypatch, Adjoint, "_part", 4, after=after)
    with pytest.raises(KeyboardInterrupt) as stop:
        run.gradient(cost)
    assert len(calls) == 4
    found = stop.value.resume()
    assert len(calls) == 4 + 3  # of six parts three were done
    np.testing.assert_array_equal(found.u, whole.u)
    np.testing.assert_array_equal(found.start, whole.start)
    assert found["arm.young"] == whole["arm.young"]


# ---------------------------------------------------------------- from outside

PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np, pliant as pl
robot = pl.Robot("arm")
silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
rod = robot.add_rod("arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(1))
for k, (y, z) in enumerate([(0.0, 0.012), (0.010, -0.006), (-0.010, -0.006)]):
    robot.add_tendon(f"cable{k}", rod, y=y, z=z)
arm = robot.compile()
tip = pl.costs.Position("arm.tip")[1:]
goal = [pl.Reach("arm.tip", (0.36, 0.05, 0.08), 100.0), pl.Still("arm.tip"), pl.Effort(1e-9)]
pl.inverse_statics(arm, [(tip, [0.05, -0.1])], bounds=(0, 40))
pl.optimize(arm, goal, bounds=(0, 20), horizon=0.1, knots=2, iterations=2)
print("ready", flush=True)
"""
OUTSIDE = {
    "optimize": """
while True:
    plan = pl.optimize(arm, goal, bounds=(0, 20), horizon=1.0, knots=200, tolerance=1e-15, iterations=100000)
    if plan.status == "interrupted":
        break
again = pl.rollout(arm, plan.u, step=1.0 / 200)
print("kept", abs(again.q - plan.rollout.q).max() < 1e-8)
""",
    "inverse_statics": """
found = pl.inverse_statics(arm, [(tip, [0.05 * np.sin(k), -0.1]) for k in range(100000)], bounds=(0, 40))
print("kept", found[-1].status == "interrupted" and len(found) > 1)
""",
    "rollout": """
try:
    pl.rollout(arm, np.full((500_000, 3), 2.0), step=1e-4, checkpoint=20_000)
except KeyboardInterrupt as stop:
    print("kept", len(stop.run) > 0 and np.isfinite(stop.run.q).all())
""",
}


@posix
@pytest.mark.parametrize("name", OUTSIDE)
def test_a_signal_from_outside(name: str) -> None:
    code = textwrap.dedent(PROGRAM + OUTSIDE[name])
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    try:
        process.wait(1.5)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert out == "kept True\n", err
    assert process.returncode == 0


# ---------------------------------------------------------------- videos


@pytest.fixture(scope="module")
def swing() -> pl.Result:
    robot = pl.Robot("pendulum")
    robot.add_body("arm", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.05, 0.05), mass=1.0, com=(0.25, 0, 0))
    return pl.simulate(robot.compile(), 0.5, start=[0.3], output=0.05)


def ffmpeg(monkeypatch: pytest.MonkeyPatch, folder: Path, says: str, ends: str) -> None:
    """In place of ffmpeg a program that takes some pictures, says something and ends."""
    pytest.importorskip("imageio_ffmpeg")
    program = folder / "ffmpeg"
    program.write_text(f"#!/bin/sh\nhead -c 100000 > /dev/null\necho '{says}' >&2\n{ends}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr("imageio_ffmpeg.get_ffmpeg_exe", lambda: str(program))


FAILURES: dict[str, tuple[str, str, Callable[[BaseException], bool], str]] = {
    "full": (
        "av_interleaved_write_frame(): No space left on device",
        "exit 228",
        lambda e: e.errno == 28,
        "No space left",
    ),
    "limit": ("", "kill -25 $$", lambda e: e.errno == 27, "File too large"),
    "other": (
        "Unknown encoder 'libx264'",
        "exit 8",
        lambda e: isinstance(e, RuntimeError),
        "ffmpeg ended with 8 .*Unknown encoder",
    ),
}


@posix
@pytest.mark.parametrize("kind", FAILURES)
def test_a_video_that_cannot_be_written(
    swing: pl.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The error says why, and names the file; the old one stays, and nothing else is left."""
    pytest.importorskip("matplotlib").use("agg")
    says, ends, right, words = FAILURES[kind]
    ffmpeg(monkeypatch, tmp_path, says, ends)
    path = tmp_path / "swing.mp4"
    path.write_bytes(b"old")
    with pytest.raises((OSError, RuntimeError), match=words) as caught:
        swing.save_video(path, fps=10, dpi=40)
    assert right(caught.value)
    assert "swing.mp4" in str(caught.value)
    assert path.read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ffmpeg", "swing.mp4"]


@posix
@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg")
def test_a_video_without_imageio(swing: pl.Result, tmp_path: Path) -> None:
    assert swing.save_video(tmp_path / "swing.mp4", fps=10, dpi=40).stat().st_size > 0
