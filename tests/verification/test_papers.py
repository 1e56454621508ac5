"""Dynamic examples of the papers: set up from their text, checked by invariants and against own references.

The papers print no numbers of the motions, so tips are compared with converged results of our own (tight tolerances,
another integrator). Costs per simulated second are printed (run with -rP), not asserted.
"""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl


def cost(result: pl.Result) -> str:
    duration = result.t[-1] - result.t[0]
    s = result.statistics
    return f"{s.steps / duration:.0f} steps and {s.wall_time / duration:.4f} s per simulated second"


def drift(values: np.ndarray) -> float:
    return float(np.abs(values - values[-1]).max() / np.linalg.norm(values[-1]))


# ---------------------------------------------------------------- [000] Table I

CANTILEVERS = {  # length, density, Young's modulus, radius, force, duration, step, error of the tip
    "soft": (10.0, 7800.0, 1e11, 0.005, 50.0, 10.0, 0.01, 0.02),
    "stiff": (0.4, 8000.0, 2e9, 0.001, 10.0, 1.0, 0.001, 0.02),
}


def cantilever(kind: str, modes: int = 3, viscosity: float = 0.0) -> pl.System:
    """Hangs along gravity, which is e₁; the tip force is along e₂."""
    length, density, young, radius = CANTILEVERS[kind][:4]
    robot = pl.Robot(f"{kind} cantilever", gravity=(9.81, 0, 0))
    rod = robot.add_rod(
        "rod", length=length, section=pl.Circle(radius), points=20,
        strains=pl.Strains.planar_bending(modes - 1, basis="chebyshev"),
        material=pl.Material(young=young, poisson=0.3, density=density, viscosity=viscosity),
    )  # fmt: skip
    robot.add_wrench("force", rod.tip, force=(0, 1, 0))
    return robot.compile()


@pytest.mark.parametrize("kind", CANTILEVERS)
def test_cantilever(kind: str) -> None:
    length, *_, force, duration, h, bound = CANTILEVERS[kind]
    system = cantilever(kind)
    start = pl.solve_statics(system, {"force": force})
    assert start.success
    assert start.stable
    tip = system.pose("rod.tip", start.q)[:3, 3]
    assert tip[1] > 0.7 * length
    options = {"start": start, "output": 0.02 * duration}
    exact = pl.simulate(system, duration, method="dop853", rtol=1e-7, atol=1e-7, **options)
    energy = exact.energies().total
    span = energy[0] - system.gravitational_energy(system.neutral())
    assert np.ptp(energy) < 1e-5 * span

    result = pl.simulate(system, duration, step=h, newton_tolerance=1e-9, **options)
    assert result.success
    error = np.linalg.norm(result.positions("rod.tip") - exact.positions("rod.tip"), axis=1) / length
    # the motion is sensitive to its start, so errors grow with time: the first half is compared
    half = len(error) // 2
    automatic = pl.simulate(system, duration, **options)
    swing = np.ptp(exact.positions("rod.tip")[:, 1]) / length
    print(
        f"{kind} cantilever: step {h} s: {cost(result)}; tip error {error[:half].max():.1e}, {error.max():.1e} of the length"
    )
    print(f"{kind} cantilever: error control: {cost(automatic)}; swings {swing:.2f} lengths")
    assert error[:half].max() < bound
    assert np.ptp(result.energies().total) < 3e-3 * span
    assert 1.0 < swing < 2.0
    assert automatic.success
    early = np.linalg.norm(automatic.positions("rod.tip") - exact.positions("rod.tip"), axis=1) / length
    assert early[: len(error) // 4].max() < 0.02


@pytest.mark.parametrize("kind", CANTILEVERS)
def test_cantilever_comes_to_rest_hanging(kind: str) -> None:
    """With internal damping it ends straight, along gravity."""
    system = cantilever(kind, viscosity=1e10 if kind == "soft" else 1e9)
    start = pl.solve_statics(system, {"force": 0.2 * CANTILEVERS[kind][4]})
    result = pl.simulate(system, 400.0 if kind == "soft" else 40.0, start=start)
    assert result.success
    np.testing.assert_allclose(
        result.positions("rod.tip")[-1], [CANTILEVERS[kind][0], 0, 0], atol=1e-2 * CANTILEVERS[kind][0]
    )


def flying(kind: str, order: int = 2) -> pl.System:
    """Inclined in the plane (e₁, e₂), loaded at one end; the loads are in a figure only and are chosen here.

    Soft: the free-free rod of Simo and Vu-Quoc, from (6, 0, 0) to (0, 8, 0). Kirchhoff, three modes each.
    """
    robot = pl.Robot(f"{kind} flying rod", gravity=(0, 0, 0))
    common = {"joint": pl.Free(), "strains": pl.Strains.kirchhoff(order, basis="chebyshev"), "points": 20}
    if kind == "soft":
        stiffness, inertia = [500, 500, 500, 1e4, 1e4, 1e4], [10, 10, 10, 1, 1, 1]
        place = pl.translate(6, 0, 0) @ pl.rotate("z", np.arctan2(8, -6))
        rod = robot.add_rod("rod", length=10.0, stiffness=stiffness, inertia=inertia, offset=place, **common)
        robot.add_wrench("load", rod.base, force=(20, 0, 0), moment=(0, 100, 200))
    else:
        rubber = pl.Material(young=1e6, poisson=0.5, density=1e3)
        place = pl.rotate("z", np.pi / 4)
        rod = robot.add_rod("rod", length=1.0, section=pl.Circle(0.05), material=rubber, offset=place, **common)
        # no moment about the rod's own axis, which would spin it
        robot.add_wrench("load", rod.base, force=(0.2, 0, 0.1), moment=(-0.2, 0.2, 0.5))
    return robot.compile()


def pulse(t: float) -> dict[str, float]:
    """Rises until 2.5 s and falls until 5 s."""
    return {"load": max(0.0, 1.0 - abs(t - 2.5) / 2.5)}


@pytest.mark.parametrize("kind", ["soft", "stiff"])
def test_flying_rod(kind: str) -> None:
    system = flying(kind)
    load = system._robot.wrenches["load"]
    duration = 10.0 if kind == "soft" else 7.0
    options = {"u": pulse, "output": 0.1}
    exact = pl.simulate(system, duration, method="dop853", rtol=1e-7, atol=1e-7, max_step=0.1, **options)
    assert exact.success
    L, p = exact.momenta()
    late = exact.t >= 5.0
    # the impulse of the pulse; after it everything is conserved
    np.testing.assert_allclose(p[-1], 2.5 * load.force, atol=1e-6 * np.linalg.norm(load.force))
    assert drift(p[late]) < 1e-6
    assert drift(L[late]) < 1e-6
    energy = exact.energies().total[late]
    assert np.ptp(energy) < 1e-6 * energy[0]

    h = 0.01
    result = pl.simulate(system, duration, step=h, **options)
    automatic = pl.simulate(system, duration, max_step=0.1, **options)
    assert result.success
    assert automatic.success
    length = 10.0 if kind == "soft" else 1.0
    error = np.linalg.norm(result.positions("rod.tip") - exact.positions("rod.tip"), axis=1).max() / length
    loose = np.linalg.norm(automatic.positions("rod.tip") - exact.positions("rod.tip"), axis=1).max() / length
    strain = np.abs(result.q[:, 7:]).max() * length
    L, p = result.momenta()
    print(f"{kind} flying rod: step {h} s: {cost(result)}; tip error {error:.1e} of the length, bends {strain:.2f} rad")
    print(f"{kind} flying rod: error control: {cost(automatic)}; tip error {loose:.1e} of the length")
    print(f"{kind} flying rod: momentum at {h} s {drift(p[late]):.1e} {drift(L[late]):.1e}")
    assert error < 0.05
    assert loose < 0.2
    assert drift(L[late]) < 0.05


# ---------------------------------------------------------------- [004] tests 4 to 6

RUBBER = pl.Material(young=1e8, poisson=0.5, density=1e3, damping_time=1e-3)  # μ = 1e-3 s
SECTION = pl.Circle(0.01)  # the printed diameter is a radius, see BENCHMARKS
EI = 1e8 * np.pi * 0.01**4 / 4


def rolled(modes: int) -> pl.System:
    robot = pl.Robot("rolled beam", gravity=(0, 0, 0))
    strains = pl.Strains.planar_bending(modes - 1, basis="chebyshev")
    rod = robot.add_rod("rod", length=1.0, section=SECTION, material=RUBBER, strains=strains, points=14)
    robot.add_wrench("torque", rod.tip, moment=(0, 0, 1))
    return robot.compile()


@pytest.mark.parametrize("torque", [0.8, 2.3, 5.4])
def test_beam_rolled_up_and_released(torque: float) -> None:
    """[004] test 4: from the circle of curvature C/EI, with five modes, 1.5 s."""
    system = rolled(5)
    start = pl.solve_statics(system, {"torque": torque}, stable=False)
    # constant curvature up to the Magnus expansion of the other modes
    np.testing.assert_allclose(start.q, [torque / EI, 0, 0, 0, 0], atol=2e-4 * torque / EI)
    result = pl.simulate(system, 1.5, start=start, step=0.001)
    exact = pl.simulate(system, 1.5, start=start, method="radau", rtol=1e-6, atol=1e-6, output=result.t)
    balance = exact.power_balance()
    assert np.abs(balance["imbalance"]).max() < 5e-3 * balance["energy"][0]
    assert np.all(np.diff(balance["energy"]) < 1e-7 * balance["energy"][0])
    error = np.abs(result.positions("rod.tip") - exact.positions("rod.tip")).max()
    print(f"C = {torque}: tip error {error:.1e} of the length, {cost(result)}")
    assert error < 0.01
    # unrolls and swings to the other side
    assert exact.positions("rod.tip")[:, 1].min() < -0.25


def test_beam_released_converges_with_modes() -> None:
    """[004] eq. 61: ε(n+1/n) falls below 1 % of ε(2/1), with five modes at the latest."""
    X, times, torque = np.linspace(0, 1, 41), np.linspace(0, 1, 101), 2.3
    fields = []
    for modes in (1, 2, 5, 6):
        system = rolled(modes)
        q = np.zeros(modes)
        q[0] = torque / EI
        result = pl.simulate(system, 1.0, start=q, rtol=1e-5, atol=1e-6, output=times)
        fields.append(np.array([system.strain("rod", x, X)[:, 2] for x in result.q]))
    first, last = (np.mean((b - a) ** 2) for a, b in (fields[:2], fields[2:]))
    print(f"ε(2/1) = {first:.3g}, ε(6/5) = {last:.3g}")
    assert last < 0.01 * first


GRAVITY = np.array([9.81, 0, 0])
A, OMEGA = 0.15, 2 * np.pi


def base_motion(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lissajous curve in y and z: position, velocity, acceleration."""
    phase = OMEGA * t + np.array([0.0, np.pi / 2])
    return A * np.sin(phase), A * OMEGA * np.cos(phase), -A * OMEGA**2 * np.sin(phase)


def string(moving: bool) -> pl.System:
    """[004] test 5: no stiffness, 7.85e-5 kg/m, 0.03 kg at the tip, three modes in each plane."""
    robot = pl.Robot("string", gravity=GRAVITY)
    parent = None
    if moving:
        slide = robot.add_body("slide y", joint=pl.Prismatic("y"))
        parent = robot.add_body("slide z", parent=slide, joint=pl.Prismatic("z"))
    rod = robot.add_rod(
        "rod", parent=parent, length=1.0, strains=pl.Strains(bending=pl.Chebyshev(2)), stiffness=np.zeros(6),
        inertia=[0, 0, 0, 7.85e-5, 7.85e-5, 7.85e-5],
    )  # fmt: skip
    robot.add_body("mass", parent=rod, mass=0.03)
    return robot.compile()


def test_string_on_a_moving_base() -> None:
    """[004] test 5, two ways that must agree.

    There is no joint with prescribed motion yet. (a) Slides whose forces are computed so that they accelerate as
    prescribed; (b) a fixed base in the accelerated frame, with the inertial force −M_eb r̈₀ as `tau`.
    """
    slides, fixed = string(True), string(False)

    def forces(t: float, state: pl.solve.drive.State) -> np.ndarray:
        a = base_motion(t)[2]
        M = slides.mass_matrix(state.q)
        bias = slides.bias_forces(state.q, state.v) + slides.elastic_forces(state.q) + slides.damping_matrix() @ state.v
        rest = np.linalg.solve(M[2:, 2:], -bias[2:] - M[2:, :2] @ a)
        tau = np.zeros(slides.nv)
        tau[:2] = M[:2, :2] @ a + M[:2, 2:] @ rest + bias[:2]
        return tau

    def inertial(t: float, state: pl.solve.drive.State) -> np.ndarray:
        M = slides.mass_matrix(np.concatenate([np.zeros(2), state.q]))
        return -M[2:, :2] @ base_motion(t)[2]

    r0, v0, _ = base_motion(0.0)
    options = {"method": "dop853", "rtol": 1e-8, "atol": 1e-8, "output": 0.05}
    start, velocity = np.zeros(slides.nq), np.zeros(slides.nv)
    start[:2], velocity[:2] = r0, v0
    first = pl.simulate(slides, 1.0, tau=forces, start=start, velocity=velocity, **options)
    second = pl.simulate(fixed, 1.0, tau=inertial, **options)
    assert first.success
    assert second.success
    np.testing.assert_allclose(first.q[:, :2], [base_motion(t)[0] for t in first.t], atol=1e-8)
    base = np.zeros((len(second.t), 3))
    base[:, 1:] = [base_motion(t)[0] for t in second.t]
    tip = first.positions("mass")
    print(f"string: two ways differ by {np.abs(tip - base - second.positions('mass')).max():.1e} m, {cost(first)}")
    np.testing.assert_allclose(tip, base + second.positions("mass"), atol=1e-5)
    reach = np.linalg.norm(tip - base, axis=1)
    assert reach.max() <= 1.0 + 1e-12
    assert np.ptp(tip[:, 1]) > 0.1  # it swings


def wave_force(system: pl.System):
    """[004] eqs 63–65: internal torques that travel along the beam, as generalised forces on the strain coordinates."""
    x, w = np.polynomial.legendre.leggauss(24)
    X, w = 0.5 * (x + 1), 0.5 * w
    basis = pl.Strains(bending=pl.Chebyshev(2)).matrix(X)[:, 1:3]  # (points, 2, 6)

    def tau(t: float) -> np.ndarray:
        s = min(t / 0.25, 1.0)
        ramp = s - np.sin(2 * np.pi * s) / (2 * np.pi)
        waves = [0.2 * np.sin(2 * np.pi * (X / length - t / period)) for length, period in ((1.0, 1.0), (0.5, 0.25))]
        out = np.zeros(system.nv)
        out[6:] = ramp * np.einsum("p,cp,pcn->n", w, np.array(waves), basis)
        return out

    return tau


def free_beam() -> pl.System:
    robot = pl.Robot("free beam", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod",
        joint=pl.Free(),
        length=1.0,
        section=SECTION,
        material=RUBBER,
        strains=pl.Strains(bending=pl.Chebyshev(2)),
    )
    robot.add_tendon("tendon", rod, y=0.008, start=0.2, end=0.7)
    return robot.compile()


def wander(result: pl.Result) -> tuple[float, float]:
    """Largest angular momentum and displacement of the centre of mass, from rest."""
    centre = np.array([result.system.center_of_mass(q) for q in result.q])
    return float(np.abs(result.momenta().angular).max()), float(np.abs(centre - centre[0]).max())


def test_internally_actuated_free_beam() -> None:
    """[004] test 6: internal torques move neither the centre of mass nor the angular momentum (there: to 1e-3)."""
    system = free_beam()
    tau = wave_force(system)
    exact = pl.simulate(system, 2.0, tau=tau, method="radau", rtol=1e-7, atol=1e-7, output=0.1)
    spin, shift = wander(exact)
    found = []
    for h in (0.01, 0.005, 0.0025):
        result = pl.simulate(system, 2.0, tau=tau, step=h, output=0.1, newton_tolerance=1e-9)
        assert result.success
        found.append(wander(result))
    bend = np.abs(system.strain("rod", exact.q[-1])[:, 1:3]).max()
    print(f"free beam: radau {spin:.1e} kg m²/s, {shift:.1e} m; α-method {np.array(found)}, bends {bend:.2f} rad/m")
    assert bend > 0.1
    assert max(spin, shift) < 1e-8
    assert max(found[0]) < 1e-3
    assert max(found[2]) < 0.1 * max(found[0])


def test_tendon_in_a_free_beam_moves_nothing_outside() -> None:
    system = free_beam()
    result = pl.simulate(
        system, 1.0, u=lambda t: {"tendon": 5 * np.sin(3 * t) ** 2}, method="radau", rtol=1e-7, atol=1e-7, output=0.1
    )
    assert np.abs(result.q[:, 7:]).max() > 0.01
    assert max(wander(result)) < 1e-8


# ---------------------------------------------------------------- extremes


def test_string_without_stiffness_falls_and_comes_to_rest() -> None:
    robot = pl.Robot("string")
    limp = pl.Material(young=0.0, shear_modulus=0.0, density=1000.0, viscosity=1e4)
    robot.add_rod(
        "rod",
        length=0.6,
        section=pl.Circle(0.01),
        material=limp,
        strains=pl.Strains.only("bending_y", pl.PiecewiseConstant(6)),
    )
    system = robot.compile()
    result = pl.simulate(system, 1000.0)
    assert result.success, result.message
    tip = result.positions("rod.tip")[-1]
    print(f"string: tip {tip}, {cost(result)}")
    assert tip[2] < -0.56  # all but the bend at the clamp hangs straight
    assert np.abs(system.gravity_forces(result.q[-1])).max() < 1e-6
    assert result.energies().kinetic[-1] < 1e-10
    assert np.all(np.diff(result.energies().total) < 1e-9)


def test_a_hundred_dof() -> None:
    robot = pl.Robot("many", gravity=(0, 0, -9.81))
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000.0, viscosity=1e4)
    parent = None
    for k in range(4):
        parent = robot.add_rod(
            f"rod{k}",
            parent=parent,
            length=0.2,
            section=pl.Circle(0.02),
            material=rubber,
            strains=pl.Strains.kirchhoff(8),
        )
    system = robot.compile()
    assert system.nv >= 100
    result = pl.simulate(system, 0.5)
    print(f"{system.nv} dof: {cost(result)}")
    assert result.success
    balance = result.power_balance()
    assert np.abs(balance["imbalance"]).max() < 0.05 * balance["dissipated"][-1]


@pytest.mark.parametrize("gravity", [(0, 0, 0), (0, 0, -9.81)])
def test_stiff_is_not_slower_than_soft(gravity: tuple[float, float, float]) -> None:
    """Young's modulus from 1e4 to 2e11: the number of steps hardly depends on it."""
    steps = {}
    for young in (1e4, 1e6, 1e9, 2e11):
        robot = pl.Robot("rod", gravity=gravity)
        material = pl.Material(young=young, poisson=0.3, density=2000.0, damping_time=1e-2)
        rod = robot.add_rod(
            "rod",
            length=0.5,
            section=pl.Circle(0.01),
            material=material,
            strains=pl.Strains.kirchhoff(2),
            joint=pl.Revolute("y"),
        )
        robot.add_body("tip", parent=rod, shape=pl.Sphere(0.02), mass=0.05)
        system = robot.compile()
        v = np.zeros(system.nv)
        v[0], v[system.dof_names.index("rod.bending_z[0]")] = 3.0, 2.0
        result = pl.simulate(system, 2.0, velocity=v)
        assert result.success, result.message
        steps[young] = result.statistics.steps + result.statistics.rejected
    print(f"gravity {gravity}: steps by Young's modulus {steps}")
    assert steps[2e11] < 3 * steps[1e4]
    assert steps[1e9] < 3 * steps[1e4]


def test_nothing_moves_without_loads() -> None:
    system = free_beam()
    result = pl.simulate(system, 100.0)
    assert result.success
    assert np.abs(result.v).max() == 0
