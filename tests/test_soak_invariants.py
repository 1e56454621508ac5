"""Robots with parts of every family at once (`make soak`): what must not change a result, both sides of switches, long runs; and that these checks can fail."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pliant as pl

sys.path.insert(0, str(Path(__file__).parent / "soak"))

import invariants
import long
import transform
from checks import Finding
from everything import EVERYTHING, Whole, robot_of
from switches import SWITCHES, beside, switches


def whole(seed: int) -> pl.System:
    return robot_of(EVERYTHING + seed).compile()


@pytest.mark.parametrize("seed", [3, 10, 22])
@pytest.mark.parametrize("check", list(invariants.INVARIANTS))
def test_what_must_not_change_a_result(check: str, seed: int) -> None:
    invariants.INVARIANTS[check](whole(seed), EVERYTHING + seed)


@pytest.mark.parametrize("seed", [6, 17])
@pytest.mark.parametrize("check", ["tangents_beside_switches", "gradients_beside_switches"])
def test_both_sides_of_switches(check: str, seed: int) -> None:
    SWITCHES[check](whole(seed), EVERYTHING + seed)


@pytest.mark.parametrize("run", list(long.ALL.values()))
def test_long_runs(run: Callable[[int], list[str]]) -> None:
    assert run(5000) == []


@pytest.mark.parametrize("seed", [13, 42])
def test_the_order_of_held_cables_does_not_matter(seed: int) -> None:
    invariants.order_of_parts(whole(seed), EVERYTHING + seed)


@pytest.mark.parametrize("seed", range(4, 8))
def test_loops_are_open_after_half_a_turn(seed: int) -> None:
    SWITCHES["branches_of_loops"](whole(0), EVERYTHING + seed)


def test_gradients_by_a_start_within_an_impact() -> None:
    SWITCHES["gradients_beside_switches"](whole(9), EVERYTHING + 9)


def test_two_cables_of_the_same_length_do_not_move_what_rests() -> None:
    invariants.rest_stays(whole(147), EVERYTHING + 147)


def test_a_run_of_many_steps_ends() -> None:
    assert long.simulated_whip(70_000) == []


def test_every_family_is_drawn() -> None:
    """Within forty seeds each family stands in some robot, and all but a few robots have many."""
    robots = [Whole(EVERYTHING + seed).make() for seed in range(40)]
    groups = [{name: group for name, group in vars(robot).items() if isinstance(group, dict)} for robot in robots]
    names = {name.split()[0] for own in groups for group in own.values() for name in group}
    missing = {add.__name__ for add, often in Whole.FAMILIES if often > 0.03} - names - {"water"}
    assert not missing
    assert np.median([sum(len(group) > 0 for group in own.values()) for own in groups]) >= 6


def spoiled(change: Callable[[transform.Twin], None]) -> Callable[..., transform.Twin]:
    """The twin of `permuted`, with a mistake."""

    def make(system: pl.System, rng: np.random.Generator) -> transform.Twin:
        found = transform.permuted(system, rng)
        change(found)
        return found

    return make


def test_the_invariants_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    system, seed = whole(9), EVERYTHING + 9

    def fails(check: Callable[[pl.System, int], None], says: str) -> None:
        with pytest.raises(Finding, match=says):
            check(system, seed)

    def heavier(found: transform.Twin) -> None:
        name = next(name for name in found.system.parameters if name.endswith(".density"))
        found.system = found.system.with_parameters({name: found.system.parameters[name] * (1 + 1e-7)})

    with monkeypatch.context() as patch:
        patch.setattr(invariants, "permuted", spoiled(heavier))
        fails(invariants.order_of_parts, "the residual differs")
    with monkeypatch.context() as patch:
        patch.setitem(transform.POWERS, "young", -1.001)
        fails(invariants.unit_of_length, "the residual differs")
    with monkeypatch.context() as patch:
        idle = transform.with_idle_parts

        def busy(own: pl.System, rng: np.random.Generator) -> transform.Twin:
            found = idle(own, rng)
            robot = found.system.robot
            robot.add_wrench("not idle", robot.links[-1], force=(1e-6, 0, 0), constant=True)
            found.system = robot.compile()
            return found

        patch.setattr(invariants, "with_idle_parts", busy)
        fails(invariants.idle_parts, "the residual differs")
    with monkeypatch.context() as patch:
        right = pl.Stepper.step
        patch.setattr(pl.Stepper, "step", lambda self, u=None, **more: right(self, np.asarray(u) * (1 + 1e-12), **more))
        fails(invariants.same_bits, "not the rollout")
    with monkeypatch.context() as patch:
        rest = pl.solve_statics

        def elsewhere(own: pl.System, *a: object, **more: object) -> pl.Equilibrium:
            import dataclasses

            found = rest(own, *a, **more)
            return dataclasses.replace(found, q=own.integrate(found.q, 0.01 * own.internal.scale))

        patch.setattr(pl, "solve_statics", elsewhere)
        fails(invariants.rest_stays, "leaves it")


def test_the_checks_of_switches_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    system, seed = whole(17), EVERYTHING + 17
    right = pl.System.residual_tangent
    monkeypatch.setattr(pl.System, "residual_tangent", lambda self, *a, **more: right(self, *a, **more) * (1 + 1e-7))
    with pytest.raises(Finding, match="complex step"):
        SWITCHES["tangents_beside_switches"](system, seed)


def test_states_beside_a_switch_are_on_both_sides_of_it() -> None:
    system = whole(6)
    kinds = set()
    for name, switch in switches(system, np.zeros(system.nu)):
        values = [switch(q) for _side, q in beside(system, switch, 1)]
        if values:
            kinds.add(name.split()[0])
            assert min(values) < 0 < max(values)
            assert min(map(abs, values)) < 1e-7
    assert kinds
