"""Energy, momentum and centre of mass along simulated motions."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl

TIGHT = 1e-9  # Newton's tolerance, so that only the time discretisation is seen


def cantilever(kind: str, *, young: float = 1.0) -> pl.System:
    """[000] Table I: hangs along gravity (x), clamped; `young` scales the stiffness."""
    length, density, E, radius = {"soft": (10.0, 7800.0, 1e11, 0.005), "stiff": (0.4, 8000.0, 2e9, 0.001)}[kind]
    robot = pl.Robot(f"{kind} cantilever", gravity=(9.81, 0, 0))
    rod = robot.add_rod(
        "rod", length=length, section=pl.Circle(radius), points=20, strains=pl.Strains.planar_bending(2, basis="chebyshev"),
        material=pl.Material(young=young * E, poisson=0.3, density=density),
    )  # fmt: skip
    robot.add_wrench("tip force", rod.tip, force=(0, 1, 0))
    return robot.compile()


def bent(system: pl.System, force: float) -> pl.Equilibrium:
    start = pl.solve_statics(system, {"tip force": force})
    assert start.success
    assert start.stable
    return start


def flying(kind: str, gravity: tuple[float, float, float] = (0, 0, 0)) -> pl.System:
    """[000] Table I: free rods."""
    robot = pl.Robot(f"{kind} flying rod", gravity=gravity)
    common = {"joint": pl.Free(), "strains": pl.Strains.kirchhoff(2, basis="chebyshev"), "points": 8}
    if kind == "soft":
        stiffness, inertia = [500, 500, 500, 1e4, 1e4, 1e4], [10, 10, 10, 1, 1, 1]
        robot.add_rod("rod", length=10.0, stiffness=stiffness, inertia=inertia, **common)
    else:
        rubber = pl.Material(young=1e6, poisson=0.5, density=1e3)
        robot.add_rod("rod", length=1.0, section=pl.Circle(0.05), material=rubber, **common)
    return robot.compile()


def spin(system: pl.System) -> tuple[np.ndarray, np.ndarray]:
    """A bent rod that tumbles."""
    soft = "soft" in system.name
    q, v = system.neutral(), np.zeros(system.nv)
    for name in ("rod.bending_y[0]", "rod.bending_z[0]", "rod.torsion[0]"):
        q[system.dof_names.index(name) + 1] = 0.1 if soft else 0.2
    v[:6] = (0.3, 0.8, 1.2, 0.1, -0.2, 0.3) if soft else (0.5, 1.0, 2.0, 0.1, -0.2, 0.3)
    return q, v


def rise(values: np.ndarray) -> float:
    """Largest departure from the first value, relative to it."""
    return float(np.abs(values - values[0]).max() / np.linalg.norm(values[0]))


def excess(result: pl.Result) -> np.ndarray:
    """Energy above that of the straight hanging rod at rest."""
    return result.energies().total - result.system.gravitational_energy(result.system.neutral())


def second_order(errors: list[float], factor: float) -> None:
    orders = np.log(np.array(errors[:-1]) / errors[1:]) / np.log(factor)
    assert np.all((orders > 1.7) & (orders < 2.6)), (errors, orders)


# ---------------------------------------------------------------- energy


@pytest.mark.parametrize("method", [{"method": "newmark"}, {"rho": 1.0}], ids=["newmark", "rho=1"])
def test_energy_of_the_undamped_cantilever_is_bounded(method: dict) -> None:
    """[000] soft cantilever, 10 s: it errs by 1.2e-4 at 0.01 s, as much in the second half as in the first."""
    system = cantilever("soft")
    start = bent(system, 50.0)
    found = []
    for h in (0.02, 0.01, 0.005):
        energy = excess(pl.simulate(system, 10.0, start=start, step=h, newton_tolerance=TIGHT, **method))
        found.append(rise(energy))
        half = len(energy) // 2
        assert np.ptp(energy[half:]) < 2 * np.ptp(energy[:half])
    print(f"relative energy error at 0.02, 0.01, 0.005 s: {np.array(found)}")
    assert found[1] < 1.5e-4
    second_order(found, 2.0)


def test_numerical_damping_only_takes_energy() -> None:
    system = cantilever("soft")
    start = bent(system, 50.0)
    left = []
    for rho in (0.8, 0.5, 0.0):
        energy = excess(pl.simulate(system, 10.0, start=start, step=0.05, rho=rho, newton_tolerance=TIGHT))
        left.append(energy[-1] / energy[0])
    print(f"energy left after 10 s at 0.05 s, rho = 0.8, 0.5, 0: {np.array(left)}")
    assert 1 > left[0] > left[1] > left[2] > 0.9


def test_energy_with_tight_tolerance() -> None:
    system = cantilever("soft")
    result = pl.simulate(system, 10.0, start=bent(system, 50.0), method="dop853", rtol=1e-9, atol=1e-9, output=0.1)
    assert rise(excess(result)) < 1e-8


# ---------------------------------------------------------------- momentum


@pytest.mark.parametrize("kind", ["soft", "stiff"])
def test_momentum_of_flying_rods(kind: str) -> None:
    """10 s without gravity: linear and angular momentum and energy to 1e-8 at a tolerance of 1e-9."""
    system = flying(kind)
    q, v = spin(system)
    result = pl.simulate(system, 10.0, start=q, velocity=v, method="dop853", rtol=1e-9, atol=2e-9, output=0.1)
    L, p = result.momenta()
    energy = result.energies().total
    print(f"{kind}: momentum {rise(p):.1e} {rise(L):.1e}, energy {rise(energy):.1e}, {result.statistics}")
    assert rise(p) < 1e-8
    assert rise(L) < 1e-8
    assert rise(energy) < 1e-8


def test_momentum_with_radau() -> None:
    system = flying("soft")
    q, v = spin(system)
    result = pl.simulate(system, 3.0, start=q, velocity=v, method="radau", rtol=1e-8, atol=1e-8, output=0.1)
    L, p = result.momenta()
    print(f"radau: momentum {rise(p):.1e} {rise(L):.1e}")
    assert rise(p) < 1e-8
    assert rise(L) < 1e-8


@pytest.mark.parametrize("kind", ["soft", "stiff"])
def test_momentum_of_the_alpha_method_is_of_second_order(kind: str) -> None:
    """The base's body coordinates do not conserve momentum exactly: the error is h², 4e-3 at 0.01 s for the soft rod."""
    system = flying(kind)
    q, v = spin(system)
    steps = (0.01, 0.005, 0.0025) if kind == "soft" else (0.002, 0.001, 0.0005)
    found = []
    for h in steps:
        result = pl.simulate(
            system, 10.0 if kind == "soft" else 2.0, start=q, velocity=v, step=h, newton_tolerance=TIGHT, rho=0.8
        )
        found.append([rise(x) for x in result.momenta()])
    print(f"{kind}: momentum errors {np.array(found)} at {steps}")
    for k in (0, 1):
        second_order([e[k] for e in found], 2.0)
    assert max(found[0]) < (5e-3 if kind == "soft" else 2e-2)


def tumbler(gravity: tuple[float, float, float]) -> tuple[pl.System, np.ndarray, np.ndarray]:
    """A free body with two damped rods and a body at the tip of one."""
    robot = pl.Robot("tumbler", gravity=gravity)
    base = robot.add_body("base", joint=pl.Free(), shape=pl.Box(0.2, 0.1, 0.05), mass=0.6)
    rubber = pl.Material(young=8e5, poisson=0.5, density=1000.0, viscosity=2e3)
    common = {"parent": base, "section": pl.Circle(0.015), "material": rubber, "strains": pl.Strains(bending=1)}
    arm = robot.add_rod("arm", offset=(0.1, 0, 0), length=0.4, **common)
    robot.add_rod("leg", offset=pl.translate(-0.1, 0, 0) @ pl.rotate("z", 2.0), length=0.3, **common)
    robot.add_body("tool", parent=arm, shape=pl.Sphere(0.05), mass=0.2)
    system = robot.compile()
    v = np.zeros(system.nv)
    v[:6] = 2.0, 4.0, -3.0, 0.5, 0.2, 1.0
    return system, system.neutral(), v


def test_centre_of_mass_flies_a_parabola() -> None:
    gravity = np.array([0.5, -1.0, -9.81])
    system, q, v = tumbler(tuple(gravity))

    def error(**options: object) -> float:
        result = pl.simulate(system, 2.0, start=q, velocity=v, output=0.1, **options)
        centre = np.array([system.center_of_mass(x) for x in result.q])
        p0 = system.momentum(q, v).linear / system.mass
        t = result.t[:, None]
        return float(np.abs(centre - (centre[0] + p0 * t + 0.5 * gravity * t**2)).max())

    assert error(method="radau", rtol=1e-8, atol=1e-8) < 1e-7
    second_order([error(step=h, newton_tolerance=TIGHT, rho=0.8) for h in (0.01, 0.005, 0.0025)], 2.0)


def test_tumbling_through_many_turns() -> None:
    """Spherical and free joints have no singular attitude: some hundred turns at any accuracy."""
    system, q, v = tumbler((0, 0, 0))
    v[:3] *= 6
    for options in ({}, {"step": 0.01}, {"step": 0.002}, {"method": "lsoda", "rtol": 1e-8, "atol": 1e-8}):
        result = pl.simulate(system, 10.0 if options.get("method") else 20.0, start=q, velocity=v, **options)
        assert result.success, result.message
        assert np.abs(np.linalg.norm(result.q[:, :4], axis=1) - 1).max() < 1e-12
        turns = np.sum(np.linalg.norm(result.v[:-1, :3], axis=1) * np.diff(result.t)) / (2 * np.pi)
        assert turns > 25
    L = result.momenta().angular
    print(f"{turns:.0f} turns, angular momentum {rise(L):.1e}")
    assert rise(L) < 1e-5

    robot = pl.Robot("top")
    robot.add_body("top", joint=pl.Spherical(damping=1e-3), mass=0.5, com=(0, 0, 0.2), inertia=(4e-3, 3e-3, 2e-3))
    top = robot.compile()
    result = pl.simulate(top, 20.0, start=top.integrate(top.neutral(), [3.0, 0.1, 0]), velocity=[8.0, 1.0, 30.0])
    assert result.success
    assert np.all(np.diff(result.power_balance()["dissipated"]) >= 0)


# ---------------------------------------------------------------- power


def driven() -> pl.System:
    """A damped rod with a tendon, a tip force and a damped joint."""
    robot = pl.Robot("driven")
    rubber = pl.Material(young=5e5, poisson=0.5, density=1000.0, viscosity=4e3)
    rod = robot.add_rod(
        "rod", length=0.4, section=pl.Circle(0.02), material=rubber, strains=pl.Strains(bending=2, stretch=0),
        joint=pl.Revolute("y", damping=0.02, stiffness=1.0),
    )  # fmt: skip
    robot.add_tendon("tendon", rod, y=0.012)
    robot.add_wrench("push", rod.tip, force=(0, 0, 1.0), axes="body")
    return robot.compile()


def test_power_balance_with_damping_and_inputs() -> None:
    system = driven()

    def inputs(t: float) -> dict[str, float]:
        return {"tendon": 3 * np.sin(4 * t) ** 2, "push": 0.5 * np.sin(7 * t)}

    found = []
    for h in (0.004, 0.002, 0.001):
        balance = pl.simulate(system, 2.0, u=inputs, step=h, newton_tolerance=TIGHT).power_balance()
        found.append(np.abs(balance["imbalance"]).max() / balance["dissipated"][-1])
    print(f"imbalance relative to what is dissipated: {np.array(found)}")
    assert balance["dissipated"][-1] > 0.01
    assert np.ptp(balance["input"]) > 0.01
    assert found[0] < 2e-2
    second_order(found, 2.0)


def test_power_balance_closes_with_tight_tolerance() -> None:
    system = driven()
    result = pl.simulate(
        system, 1.0, u=lambda t: {"tendon": 2 * t}, method="radau", rtol=1e-7, atol=1e-7, output=np.linspace(0, 1, 2001)
    )
    balance = result.power_balance()
    assert np.abs(balance["imbalance"]).max() < 1e-4 * balance["dissipated"][-1]


# ---------------------------------------------------------------- any step


STABLE = [
    (case, h)
    for case in ("soft cantilever", "stiff cantilever", "soft flying rod", "stiff flying rod")
    for h in (0.001, 0.01, 0.03, 0.1)
]


@pytest.mark.parametrize(("case", "h"), STABLE)
def test_any_step_is_stable(case: str, h: float) -> None:
    """[000]: no step from 0.001 to 0.1 s makes the rods diverge. For the stiff one, bent by its length, 0.03 s is too long, and the run says so."""
    kind, _, what = case.partition(" ")
    if what == "cantilever":
        system = cantilever(kind)
        start: object = bent(system, {"soft": 50.0, "stiff": 10.0}[kind])
        v = np.zeros(system.nv)
        duration = 10.0 if kind == "soft" else 1.0
    else:
        system = flying(kind)
        start, v = spin(system)
        duration = 4.0
    result = pl.simulate(system, duration, start=start, velocity=v, step=h)
    if not result.success:
        assert "cannot be taken" in result.message or "the energy grows" in result.message
        assert case.startswith("stiff")
        assert h > 0.01
        result = pl.simulate(system, duration, start=start, velocity=v)
    assert result.success, result.message
    energy = excess(result) if what == "cantilever" else result.energies().total
    print(f"{case} at {h} s: energy between {energy.min() / energy[0]:.3f} and {energy.max() / energy[0]:.3f}")
    assert np.all(np.isfinite(result.q))
    assert energy.max() < 1.25 * energy[0]


@pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
def test_step_does_not_depend_on_stiffness(factor: float) -> None:
    """[000]: a step of 0.1 s remains stable when the stiff rod's E is multiplied by 0.01 to 100."""
    system = cantilever("stiff", young=factor)
    # the load is what bends the rod by about as much for each E
    result = pl.simulate(system, 3.0, start=bent(system, 0.05 * max(factor, 0.1)), step=0.1)
    assert result.success, result.message
    assert excess(result).max() < 1.25 * excess(result)[0]
