"""Gradients of motions and of equilibria of rods whose laws remember, against differences of fourth order."""

import numpy as np
import pytest

import pliant as pl

LAWS = {
    "rubber": pl.NeoHookean(),
    "prony": pl.Prony((0.3, 0.2), (0.02, 0.2)),
    "bouc-wen": pl.BoucWen(bending=(1e-3, 2.0)),
    "plastic": pl.Plastic(bending=2e-3, hardening=0.1),
    "elements": pl.PrandtlIshlinskii(bending=((1e-3, 1.0), (2e-3, 2.0))),
}
STEP = {"rubber": 1e-3, "prony": 1e-3}  # of differences; the others have kinks, which larger ones would meet
COST = pl.Reach("arm.tip", (0.2, 0, 0.1))


def build(law: pl.Law) -> pl.System:
    robot = pl.Robot("arm")
    base = robot.add_body("base", joint=pl.Revolute("z", stiffness=0.5, damping=0.01), mass=0.1, inertia=(1e-4,) * 3)
    arm = robot.add_rod(
        "arm",
        parent=base,
        offset=(0.02, 0, 0),
        length=0.3,
        section=pl.Circle(0.01),
        material=pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=100),
        strains=pl.Strains(torsion=1, bending=2, stretch=1),
        law=law,
    )
    robot.add_tendon("cable", arm, y=0.004, z=0.007)
    robot.add_active_strain("muscle", arm, strain=(0, 5, 0, 0, 0, 0))
    return robot.compile()


def slope(function, step):
    """Derivative at zero, of fourth order."""
    f = [function(k * step) for k in (-2, -1, 1, 2)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)


@pytest.mark.parametrize("name", LAWS)
def test_motions(name):
    system = build(LAWS[name])
    U = np.column_stack([np.linspace(1.0, 3.0, 12), np.linspace(0.0, 0.3, 12)])
    h, options = STEP.get(name, 3e-5), {"step": 0.005, "tolerance": 1e-12}
    rng = np.random.default_rng(0)
    run = pl.rollout(system, U, **options)
    g = run.gradient(COST)
    direction = rng.normal(size=U.shape)

    def moved(e):
        return pl.rollout(system, U + e * direction, **options).gradient(COST).value

    error = abs(np.sum(g.u * direction) - slope(moved, h)) / np.abs(g.u).max()
    assert error < (1e-8 if name in STEP else 1e-5)
    for key in ("arm.young", next((key for key in system.parameters if ".law." in key), "arm.radius")):
        value = system.parameters[key]

        def other(e, key=key, value=value):
            changed = system.with_parameters({key: value * (1 + e)})
            return pl.rollout(changed, U, **options).gradient(COST).value

        assert value * g.parameters[key] == pytest.approx(slope(other, h), rel=1e-7 if name in STEP else 1e-4), key
    rows = [rng.normal(size=(len(run.t), n)) for n in (system.nv, system.nv, system.nu)]
    back, v = run.pull(*rows), rng.normal(size=system.nv)
    ahead = sum(np.vdot(w, d) for w, d in zip(rows, run.push(velocity=v)))
    assert back.velocity @ v == pytest.approx(ahead, rel=1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_equilibria(name):
    """Also where they were reached by slipping, from where statics started."""
    system = build(LAWS[name])
    u = np.array([2.0, 0.2])
    rest = pl.solve_statics(system, u, tolerance=1e-13)
    g = pl.static_gradient(system, rest, COST)
    J = pl.static_jacobian(system, rest, "arm.tip", reference="body")
    h = STEP.get(name, 1e-4)

    def cost(e, k):
        return pl.static_gradient(system, pl.solve_statics(system, u + e * np.eye(2)[k], tolerance=1e-13), COST).value

    def tip(e, k):
        return system.pose("arm.tip", pl.solve_statics(system, u + e * np.eye(2)[k], tolerance=1e-13).q)[:3, 3]

    R = system.pose("arm.tip", rest.q)[:3, :3]
    for k in range(2):
        assert g.u[k] == pytest.approx(slope(lambda e, k=k: cost(e, k), h), rel=1e-5)
        np.testing.assert_allclose(R @ J[3:, k], slope(lambda e, k=k: tip(e, k), h), rtol=1e-5, atol=1e-7)
