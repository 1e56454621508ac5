"""A few robots of the soak test (`make soak`, docs/reliability.md), and that its checks can fail."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import pliant as pl

sys.path.insert(0, str(Path(__file__).parent / "soak"))

from checks import CHECKS, Finding
from minimise import minimise
from parts import random_robot


@pytest.mark.parametrize("seed", range(10**6, 10**6 + 16))
def test_a_few_robots(seed: int) -> None:
    system = random_robot(seed).compile()
    for check in CHECKS.values():
        check(system, seed)


def test_the_checks_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each check against an answer that is a little wrong."""
    system = random_robot(7).compile()
    wrong = {
        "finite_answers": ("mass_matrix", lambda M: M * np.nan),
        "tangents": ("residual_tangent", lambda K: K * (1 + 1e-3)),
        "dynamics": ("constrained_dynamics", lambda x: x._replace(a=x.a * (1 + 1e-6) + 1e-3)),
        "power": ("elastic_forces", lambda f: f * 1.01 + 1e-3),
    }
    for name, (method, spoil) in wrong.items():
        with monkeypatch.context() as patch:
            right = getattr(pl.System, method)
            patch.setattr(
                pl.System, method, lambda self, *a, right=right, spoil=spoil, **k: spoil(right(self, *a, **k))
            )
            with pytest.raises(Finding):
                CHECKS[name](system, 7)
        CHECKS[name](system, 7)


def test_failures_are_made_smaller() -> None:
    """A robot that "fails" because of one part ends as that part and what it hangs on."""
    robot = next(r for r in map(random_robot, range(100)) if len(r.links) >= 3 and r.tendons and r.wrenches)
    small = minimise(robot, lambda system: bool(system.robot.tendons))
    assert len(small.links) < len(robot.links)
    assert len(small.tendons) == 1
    assert not small.wrenches


def test_a_loop_stays_closed_where_newton_converges_badly() -> None:
    """Found by the soak: steps were accepted that left the loop open by 5e-6 m; the run then gained energy and crawled."""
    system = random_robot(14).compile()
    run = pl.simulate(system, 0.3, max_wall_time=60)
    assert run.success
    assert max(float(np.abs(system.closure(q)[0]).max()) for q in run.q) < 1e-9
    assert not any("gained" in line for line in run.warnings)
