"""Loop joints: exact derivatives, and what closes."""

import numpy as np
import pytest

import pliant as pl
from load_robots import branched, check_tangents, state
from robots import random_pose

JOINTS = {
    "fixed": pl.Fixed(),
    "revolute": pl.Revolute((1, 2, 3)),
    "prismatic": pl.Prismatic((1, -2, 1)),
    "helical": pl.Helical((0, 1, 2), pitch=0.2),
    "universal": pl.Universal("x", (0, 1, 0.3)),
    "cylindrical": pl.Cylindrical((2, 1, 0)),
    "planar": pl.Planar((1, 1, 1)),
    "spherical": pl.Spherical(),
}
ROWS = {
    "fixed": 6,
    "revolute": 5,
    "prismatic": 5,
    "helical": 5,
    "universal": 4,
    "cylindrical": 4,
    "planar": 3,
    "spherical": 3,
}


def looped(joint: str, base: str = "free") -> pl.System:
    """The branched robot with a loop between two branches, one inside a rod, and one to the world."""
    robot = branched(1, base=base)
    rng = np.random.default_rng(3)
    inside = robot.link("arm").at(0.77, random_pose(rng, 0.1))  # not a computational point by itself
    robot.add_loop("loop", "tool", inside, joint=JOINTS[joint])
    robot.add_loop("ground", robot.link("twig").at(0.6, random_pose(rng, 0.1)), joint=JOINTS[joint])
    return robot.compile()


@pytest.mark.parametrize("base", ["free", "revolute"])
@pytest.mark.parametrize("joint", JOINTS)
def test_derivatives_are_exact(joint, base):
    system = looped(joint, base)
    assert len(system.loop_rows) == 2 * ROWS[joint]
    for seed in range(2):
        q, v, a = state(system, seed)
        system.multipliers[:] = np.random.default_rng(seed).normal(size=len(system.loop_rows))
        check_tangents(system, q, v, a, np.zeros(0))


@pytest.mark.parametrize("joint", JOINTS)
def test_values_rates_and_accelerations(joint):
    """∂e/∂q, ė and ë against differences of e along a motion with known acceleration; multipliers act with −Gᵀ."""
    system = looped(joint)
    q, v, _a = state(system, 0)
    e, G = system.closure(q, v)
    rates = system.closure_rates
    h = 1e-5

    def along(s: float) -> np.ndarray:
        return system.closure(system.integrate(q, s * v))[0]

    scale = max(1.0, np.abs(e).max())
    np.testing.assert_allclose((along(h) - along(-h)) / (2 * h), G @ v, atol=1e-8 * scale)
    np.testing.assert_allclose(rates[:, 0], G @ v, atol=1e-12 * scale)
    step = 1e-5
    plus, minus = (system.closure(system.integrate(q, s * step * v), v) for s in (1, -1))
    np.testing.assert_allclose(
        (plus[1] - minus[1]) @ v / (2 * step), rates[:, 1], atol=2e-6 * max(1, np.abs(rates).max())
    )
    zero = np.zeros(system.nv)
    system.multipliers[:] = 0.0
    r0 = system.residual(q, zero, zero)
    for k in range(len(e)):
        system.multipliers[:] = 0.0
        system.multipliers[k] = 1.0
        np.testing.assert_allclose(system.residual(q, zero, zero) - r0, -G[k], atol=1e-11 * max(1, np.abs(r0).max()))
