"""Gas in chambers: derivatives by complex step, Boyle's law, filling, energy, statics, files."""

import numpy as np
import pytest

import pliant as pl
from gradient_checks import errors
from load_robots import branched, check_tangents, moved, state
from oracle import entry, finish, start
from pliant._jit import kernel
from pliant.compile.families.gas import GASES
from pliant.kernels import engine
from pliant.kernels.loads.gas import measure_volumes, memory_rows, set_pressures
from pliant.model.gas import ATMOSPHERE, NORMAL
from pliant.system import Given
from pliant.system.dynamics import parameters, residual

SUPPLIES = {
    "sealed": {},
    "adiabatic": {"exponent": 1.4},
    "syringe": {"supply": "syringe"},
    "flow": {"supply": "flow", "exponent": 1.2},
    "linear valve": {"supply": "valve", "conductance": 2e-8},
    "choking valve": {"supply": "valve", "conductance": 2e-8, "critical": 0.3, "exponent": 1.3},
}
INPUTS = {"syringe": 3e-6, "flow": 1e-4, "linear valve": 5e4, "choking valve": 9e4}


def inflated(**options) -> pl.System:
    """A branched floating robot with offsets: a gas in chambers of two rods that are connected, another in a third."""
    robot = branched(2)
    robot.add_load(
        "air",
        pl.Gas(
            (pl.Along("arm", y=(0.01, -0.005), z=0.008), pl.Along("hand", z=lambda X: 0.006 * X, start=0.2, end=0.9)),
            area=lambda X: 2e-4 * (1 + X), pressure=3e4, dead_volume=1e-5, **options,
        ),
    )  # fmt: skip
    robot.add_load("twig air", pl.Gas(pl.Along("twig", y=0.004), area=1e-4))
    return robot.compile()


def complex_residual(system, q, v, a, u, memory, lag):
    """ID minus all loads, at a stage of an implicit step."""
    q, v, a, u = (np.ascontiguousarray(x, dtype=complex) for x in (q, v, a, u))
    out, r = np.zeros((2, system.nv), complex)
    t, work = system._model.tables, system.make_work(complex)
    work.memory[:], work.lag[:] = memory, lag
    start(t, work, q, v, a)
    for family in system.families:
        tables = system._model.loads[family.name]
        if family.apply is not None and family.present(tables):
            entry(family.apply)(t, work, tables, family.space(tables, system.nv, complex), q, v, u, r)
    finish(t, work, out)
    return out + r, work.kept.copy()


@pytest.mark.parametrize("supply", SUPPLIES)
def test_derivatives_by_complex_step(supply):
    system = inflated(**SUPPLIES[supply])
    q, v, a = state(system, 3, scale=0.3)
    u = np.full(system.nu, INPUTS.get(supply, 0.0))
    check_tangents(system, q, v, a, u)
    if not system.nz:
        return
    # at a stage: what flows in until then follows from the state there
    memory, lag, nv = np.array([1.3]), 0.02, system.nv
    h = 1e-40
    kept = np.zeros((system.nz, nv + system.nz + system.nu))
    exact, by_memory, by_input = np.zeros((nv, nv)), np.zeros((nv, system.nz)), np.zeros((nv, system.nu))
    for k in range(nv):
        d = np.zeros(nv, complex)
        d[k] = 1j * h
        r, z = complex_residual(system, moved(system, q, d), v, a, u, memory, lag)
        exact[:, k], kept[:, k] = r.imag / h, z.imag / h
    r, z = complex_residual(system, q, v, a, u, memory + 1j * h, lag)
    by_memory[:, 0], kept[:, nv] = r.imag / h, z.imag / h
    r, z = complex_residual(system, q, v, a, u + 1j * h, memory, lag)
    by_input[:, 0], kept[:, nv + 1] = r.imag / h, z.imag / h
    given = Given(memory=memory, lag=lag)
    got = residual(system, q, v, a, u, None, given)
    r0, z0 = complex_residual(system, q, v, a, u, memory, lag)
    np.testing.assert_allclose(
        got, r0.real + system.elastic_forces(q) + system.damping_matrix() @ v, atol=1e-12 * np.abs(got).max()
    )
    S = np.zeros((1, nv, nv))
    system.run_job(engine.TANGENT, q, v, a, u, p=parameters(1.0, 0.0, 0.0), S=S, given=given)
    exact = exact + system.elastic_tangent(q)
    assert np.abs(S[0] - exact).max() <= 5e-13 * np.abs(exact).max()
    rows, kept_now = stage_rows(system, q, u, memory, lag)
    assert abs(kept_now[0] - z0[0].real) <= 1e-13 * abs(z0[0].real)
    for part, want in (
        (rows[:, :nv], kept[:, :nv]), (rows[:, nv : 2 * nv], 0 * kept[:, :nv]), (rows[:, 2 * nv : 3 * nv], by_memory.T),
        (rows[:, 3 * nv : 3 * nv + 1], kept[:, nv : nv + 1]), (rows[:, 3 * nv + 1 :], kept[:, nv + 1 :]),
    ):  # fmt: skip
        assert np.abs(part - want).max() <= 1e-11 * max(np.abs(want).max(), 1e-12)


@kernel
def gas_rows(tables, work, space, q, u, out):
    """The task MEMORY."""
    measure_volumes(tables, space, q, True)
    set_pressures(tables, work, space, q, u)
    memory_rows(tables, work, space, u, out)


def stage_rows(system, q, u, memory, lag):
    tables = system._model.loads["gases"]
    work, space = system.make_work(), GASES.space(tables, system.nv)
    work.memory[:], work.lag[:] = memory, lag
    out = np.zeros((system.nz, 3 * system.nv + system.nz + system.nu))
    gas_rows(tables, work, space, q, u, out)
    return out, work.kept.copy()


# ---------------------------------------------------------------- closed forms

L, A, STIFF = 0.2, 1e-3, 50.0  # m, m², N


def piston(mass=1.0, stiffness=STIFF, gravity=9.81, **options) -> pl.System:
    """A rod that can only stretch, upright, with gas along it and a mass on top: a piston on a spring of EA."""
    robot = pl.Robot("piston", gravity=(0, 0, -gravity))
    rod = robot.add_rod(
        "tube", offset=pl.rotate("y", -np.pi / 2), length=L, strains=pl.Strains(stretch=0), stiffness=np.diag([1, 1, 1, stiffness, 1, 1]),
        inertia=np.diag([1e-9] * 3 + [1e-6] * 3), damping=np.zeros((6, 6)),
    )  # fmt: skip
    robot.add_body("weight", parent=rod.tip, shape=pl.Sphere(0.01), mass=mass)
    robot.add_load("air", pl.Gas(pl.Along("tube"), area=A, **options))
    return robot.compile()


@pytest.mark.parametrize("exponent", [1.0, 1.4])
def test_boyles_law_in_statics(exponent):
    """EA ε + (p − p_a) A = −m g with p (V₀ + A L ε + dead)ⁿ = const."""
    system = piston(mass=4.0, exponent=exponent, dead_volume=5e-5, pressure=1e4)
    rest = pl.solve_statics(system)
    assert rest.success
    eps = float(rest.q[0])
    volume = A * L * (1 + eps) + 5e-5
    p = (ATMOSPHERE + 1e4) * ((A * L + 5e-5) / volume) ** exponent
    found = system.gases(rest.q)["air"]
    assert abs(found.volume - volume) < 1e-15
    assert abs(found.pressure - (p - ATMOSPHERE)) < 1e-8
    assert abs(STIFF * eps - (p - ATMOSPHERE) * A + 4.0 * 9.81) < 1e-3  # the tube weighs 2e-6 N


def test_a_syringe_and_a_valve_in_statics():
    """A syringe pushes the piston up; behind a valve the gas has become as the supply, and stays there in a motion."""
    system = piston(supply="syringe")
    rest = pl.solve_statics(system, {"air": 4e-5})
    volume = A * L * (1 + rest.q[0]) - 4e-5
    p = ATMOSPHERE * A * L / volume
    assert abs(STIFF * rest.q[0] - (p - ATMOSPHERE) * A + 9.81) < 1e-3
    for critical in (None, 0.3):
        system = piston(supply="valve", conductance=1e-8, critical=critical)
        rest = pl.solve_statics(system, {"air": 2e4})
        assert abs(STIFF * rest.q[0] - 2e4 * A + 9.81) < 1e-3
        assert abs(system.gases(rest.q, memory=rest.memory)["air"].pressure - 2e4) < 1e-3
        run = pl.simulate(system, 0.5, u={"air": 2e4}, start=rest)
        assert np.abs(run.q - rest.q).max() < 1e-6


def test_filling_has_its_time_constant():
    """A chamber that hardly gives: p = p_s (1 − exp(−t/τ)) with τ = V / (p_N C); order of the method in constant steps."""
    C = 2e-8
    system = piston(stiffness=1e9, gravity=0.0, supply="valve", conductance=C)
    tau = A * L / (NORMAL * C)
    errors, steps = [], np.array([0.02, 0.01, 0.005])
    for h in steps:
        run = pl.simulate(system, 0.4, u={"air": 5e4}, step=h)
        p = np.array([system.gases(q, memory=z)["air"].pressure for q, z in zip(run.q, run.memory)])
        errors.append(np.abs(p - 5e4 * (1 - np.exp(-run.t / tau))).max() / 5e4)
    assert errors[-1] < 1e-4
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] > 1.9


def test_choked_flow_fills_at_a_constant_rate():
    """Until p = b p_s the absolute pressure rises by p_N C p_s / V each second; then slower, up to the supply."""
    C, b, supply = 1e-8, 0.5, 3e5
    system = piston(stiffness=1e9, gravity=0.0, supply="valve", conductance=C, critical=b)
    rise = NORMAL * C * (supply + ATMOSPHERE) / (A * L)
    choked = (b * (supply + ATMOSPHERE) - ATMOSPHERE) / rise
    run = pl.simulate(system, 20 * choked, u={"air": supply}, max_step=choked / 20, output=choked / 4)
    p = np.array([system.gases(q, memory=z)["air"].pressure for q, z in zip(run.q, run.memory)])
    np.testing.assert_allclose(p[:4], rise * run.t[:4], rtol=2e-4, atol=50)
    assert np.all(np.diff(p) > -1e-6 * supply)
    assert abs(p[-1] - supply) < 1e-3 * supply
    system = piston(stiffness=1e9, gravity=0.0, supply="flow")
    run = pl.simulate(system, 1.0, u={"air": 1e-5}, output=0.25)
    p = np.array([system.gases(q, memory=z)["air"].pressure for q, z in zip(run.q, run.memory)])
    np.testing.assert_allclose(p, NORMAL * 1e-5 * run.t / (A * L), atol=1.0)


@pytest.mark.parametrize("exponent", [1.0, 1.4])
def test_sealed_gas_keeps_energy_and_works_as_p_dv(exponent):
    """A piston that bounces on its gas: kinetic, elastic, gravitational energy and the work against the gas stay together."""
    system = piston(mass=2.0, stiffness=1.0, exponent=exponent)
    run = pl.simulate(system, 1.0, method="midpoint", step=1e-4)
    energies = run.energies().total
    states = [system.gases(q)["air"] for q in run.q]
    volume, p = np.array([s.volume for s in states]), np.array([s.pressure for s in states])
    done = np.concatenate([[0.0], np.cumsum(0.5 * (p[1:] + p[:-1]) * np.diff(volume))])
    assert np.ptp(volume) > 0.2 * A * L
    assert np.abs(energies - energies[0] - done).max() < 1e-4 * np.ptp(energies)
    V0 = A * L
    total = ATMOSPHERE * V0
    stored = ATMOSPHERE * (volume - V0)
    absolute = p + ATMOSPHERE
    stored = (
        stored - total * np.log(volume / V0) if exponent == 1 else stored + (absolute * volume - total) / (exponent - 1)
    )
    np.testing.assert_allclose(stored, -done, atol=1e-4 * np.ptp(done))


def test_each_gas_has_the_volume_that_it_has_alone():
    system = inflated(supply="syringe")
    q, _v, _a = state(system, 4)
    found = system.gases(q, {"air": 2e-6})
    assert list(found) == ["air", "twig air"]
    robot = system.robot
    for name in found:
        alone = robot.copy()
        alone.loads = {name: robot.loads[name]}
        own = alone.compile().gases(q, {"air": 2e-6} if name == "air" else None)[name]
        np.testing.assert_allclose(found[name].volume, own.volume, rtol=1e-14)
        np.testing.assert_allclose(found[name].pressure, own.pressure, rtol=1e-12)
        np.testing.assert_allclose(found[name].slope, own.slope, rtol=1e-12, atol=1e-20)


def test_connected_chambers_share_their_gas():
    """Bending moves gas from one chamber to the other at constant volume: no resistance; two that are sealed resist by 2 p_abs A² d² L² / V."""
    rest = {}
    for connected in (True, False):
        robot = pl.Robot("finger", gravity=(0, 0, 0))
        robot.add_rod(
            "finger",
            length=0.1,
            section=pl.Circle(0.01),
            material=pl.Material(young=1e5, poisson=0.5, density=1000),
            strains=pl.Strains(bending_y=0),
        )
        lines = [pl.Along("finger", z=0.006), pl.Along("finger", z=-0.006)]
        if connected:
            robot.add_load("both", pl.Gas(lines, area=2e-5))
        else:
            for k, line in enumerate(lines):
                robot.add_load(f"gas {k}", pl.Gas(line, area=2e-5))
        system = robot.compile()
        none = np.zeros(1)
        inner = system.elastic_tangent(none)[0, 0]
        rest[connected] = system.residual_tangent(none, none, none, weights=(1, 0, 0))[0, 0] - inner
    slope = 2e-5 * 0.1 * 0.006
    expected = 2 * ATMOSPHERE * slope**2 / (2e-5 * 0.1)
    assert abs(rest[True]) < 1e-12 * expected
    assert abs(rest[False] - expected) < 1e-12 * expected


@pytest.mark.parametrize("supply", ["linear valve", "choking valve", "flow", "sealed", "syringe"])
def test_the_watch_over_energy_knows_what_flows_in(supply):
    """A piston that is lifted by its supply gains energy, and nobody is warned."""
    system = piston(mass=2.0, **SUPPLIES[supply])
    u = {"linear valve": 5e4, "choking valve": 2e5, "flow": 1e-5, "syringe": 5e-5}.get(supply)
    run = pl.simulate(system, 1.0, u=None if u is None else {"air": u})
    assert run.success
    assert not [text for text in run.warnings if "coarse for the gas" not in text]


def test_files_keep_gases(tmp_path):
    robot = piston(supply="valve", conductance=1e-8, critical=0.3, dead_volume=1e-6).robot
    pl.save_model(robot, tmp_path / "gas.yaml")
    again = pl.load_model(tmp_path / "gas.yaml").robot
    gas = again.loads["air"]
    assert (gas.supply, gas.critical, gas.dead_volume, gas.chambers[0].rod) == ("valve", 0.3, 1e-6, "tube")
    assert pl.System(again).input_units == ("Pa",)


def test_bad_gases_are_refused():
    line = pl.Along("tube")
    with pytest.raises(ValueError, match=r"Gas\.area"):
        pl.Gas(line, area=-1.0)
    with pytest.raises(ValueError, match=r"Gas\.conductance"):
        pl.Gas(line, area=1e-4, supply="valve")
    with pytest.raises(ValueError, match="supply='valve'"):
        pl.Gas(line, area=1e-4, conductance=1e-8)
    with pytest.raises(ValueError, match=r"Gas\.pressure"):
        pl.Gas(line, area=1e-4, pressure=-2e5)
    with pytest.raises(TypeError, match=r"Gas\.chambers"):
        pl.Gas([], area=1e-4)
    with pytest.raises(ValueError, match=r"Gas\.supply"):
        pl.Gas(line, area=1e-4, supply="pump")
    robot = pl.Robot("body")
    robot.add_body("tube", joint=pl.Free(), shape=pl.Sphere(0.1), mass=1.0)
    robot.add_load("air", pl.Gas(line, area=1e-4))
    with pytest.raises(TypeError, match="'tube' is a rigid body"):
        robot.compile()
    system = piston(supply="valve", conductance=1e-8)
    with pytest.raises(ValueError, match="air"):
        system.inputs({"air": -2e5})
    with pytest.raises(ValueError, match="internal variables"):
        pl.simulate(system, 0.1, method="newmark", step=0.01)


@pytest.mark.parametrize("supply", ["syringe", "flow", "linear valve", "choking valve"])
def test_gradients_of_motions(supply):
    """By inputs, the start and a parameter of the robot, with gas that flows in meanwhile: against differences."""
    system = piston(mass=2.0, **SUPPLIES[supply])
    size = {"syringe": 2e-5, "flow": 5e-4, "linear valve": 5e4, "choking valve": 1.5e5}[supply]
    U = size * (1 + 0.3 * np.sin(np.arange(12)))[:, None]
    cost = pl.Reach("weight", (0.0, 0.0, 0.3), at="all")
    found = errors(
        system, U, cost, start=np.array([0.05]), parameters=("weight.mass",), step=5e-3,
    )  # fmt: skip
    assert max(found.values()) < 1e-7, found


def test_steps_that_are_coarse_for_the_gas_are_said():
    """A chamber that hardly gives fills: the robot does not ask for small steps, the gas does."""
    C = 2e-8
    system = piston(stiffness=1e9, gravity=0.0, supply="valve", conductance=C)
    tau = A * L / (NORMAL * C)
    for options, coarse in (({"max_step": 0.5 * tau}, True), ({"max_step": 0.1 * tau}, False)):
        run = pl.simulate(system, 5 * tau, u={"air": 5e4}, **options)
        p = np.array([system.gases(q, memory=z)["air"].pressure for q, z in zip(run.q, run.memory)])
        error = np.abs(p - 5e4 * (1 - np.exp(-run.t / tau))).max() / 5e4
        assert any("coarse for the gas" in text for text in run.warnings) is coarse
        assert coarse or error < 1e-3
