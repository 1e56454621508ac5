"""Laws that remember, in statics and in motion: relaxation, creep, moduli, loops, what stays, energy."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.linalg

import pliant as pl
from law_robots import lawful
from load_robots import state
from pliant.kernels import engine
from pliant.system import Given
from test_laws import A, I, strip

EI, EA = 1e6 * I, 1e6 * A


def light(law, strains=None, **more):
    """A rod so light that it is quasi-static, driven at its tip."""
    material = pl.Material(young=1e6, poisson=0.5, density=1e-3)
    return strip(law, strains or pl.Strains(stretch=0), material=material, **more).compile()


def walk(system, path, lag=0.0, memory=None):
    """Forces (n, nv) and internal variables (n, nz) along configurations (n, nq), each from what the one before left."""
    z = np.zeros(system.nz) if memory is None else memory
    forces, kept = [], []
    for q in path:
        r = np.empty(system.nv)
        with system.borrow() as space:
            system.run_job(engine.RESIDUAL, np.atleast_1d(q), force=r, given=Given(memory=z, lag=lag), space=space)
            z = space.work.kept.copy()
        forces.append(r)
        kept.append(z)
    return np.array(forces), np.array(kept)


def test_relaxation_under_a_held_strain():
    """The stage equation of a branch, z = (z* + x e)/(1 + x), step after step: EA e (1 + Σ g (1 + h/τ)^−n), exp(−t/τ) for small steps."""
    g, tau, e, h = (0.6, 0.3), (0.2, 1.5), 0.05, 1e-3
    system = light(pl.Prony(g, tau))
    forces, _z = walk(system, [e] * 200, lag=h)
    n = np.arange(1, 201)
    wanted = 0.2 * EA * e * (1 + sum(a * (1 + h / b) ** -n for a, b in zip(g, tau)))
    np.testing.assert_allclose(forces[:, 0], wanted, rtol=1e-13)
    exact = 0.2 * EA * e * (1 + sum(a * np.exp(-n * h / b) for a, b in zip(g, tau)))
    np.testing.assert_allclose(forces[:, 0], exact, rtol=1e-3)


def test_creep_under_a_constant_force():
    """Standard solid: e(t) = F/EA (1 − g/(1+g) exp(−t/τ(1+g))); at once and late as statics say."""
    g, tau, force = 0.8, 0.5, 0.02 * EA
    system = light(pl.Prony(g, tau))
    at_once = pl.solve_statics(light(pl.Prony(g, tau, statics="unrelaxed")), {"pull": force})
    assert at_once.q[0] == pytest.approx(0.02 / (1 + g), rel=1e-9)
    late = pl.solve_statics(system, {"pull": force})
    assert late.q[0] == pytest.approx(0.02, rel=1e-9)
    times = np.linspace(0.0, 2.0, 21)
    run = pl.simulate(system, 2.0, u={"pull": force}, start=at_once.q, rtol=1e-7, atol=1e-10, output=times)
    assert run.success
    assert not run.warnings
    exact = 0.02 * (1 - g / (1 + g) * np.exp(-times / (tau * (1 + g))))
    np.testing.assert_allclose(run.q[:, 0], exact, rtol=2e-6)
    again = pl.simulate(system, 0.5, u={"pull": force}, start=late)
    np.testing.assert_allclose(again.q[:, 0], 0.02, rtol=1e-8)


@pytest.mark.parametrize("method", ["esdirk3", "esdirk5", "midpoint"])
def test_internal_variables_have_the_order_of_the_method(method):
    """A mass on a standard solid, m q̈ + k q + g k (q − z) = F, ż = (q − z)/τ: against the exponential of its matrix."""
    g, tau, mass, force = 0.8, 0.05, 3.0, 0.02 * EA
    robot = strip(pl.Prony(g, tau), pl.Strains(stretch=0))
    robot.add_body("mass", parent="rod.tip", mass=mass)
    system = robot.compile()
    m, k = system.mass_matrix(np.zeros(1))[0, 0], 0.2 * EA
    B = np.array([[0, 1, 0], [-(1 + g) * k / m, 0, g * k / m], [1 / tau, 0, -1 / tau]])
    rest = np.array([0.02, 0.0, 0.02])
    exact = rest + scipy.linalg.expm(0.2 * B) @ (0.0 - rest)
    errors = []
    for step in (0.008, 0.004, 0.002):
        run = pl.simulate(system, 0.2, u={"pull": force}, method=method, step=step, newton_tolerance=1e-13)
        end = np.array([run.q[-1, 0], run.v[-1, 0], run.memory[-1, 0]])
        errors.append(np.abs((end - exact) / [0.02, 0.4, 0.02]).max())
    assert np.log2(errors[1] / errors[2]) > {"esdirk3": 2.8, "esdirk5": 4.7, "midpoint": 1.9}[method]


def test_storage_and_loss_modulus():
    """A force F cos ωt gives the strain Re(F e^{iωt}/EA E*(ω)) with the complex modulus of the series, and of the springpot within its error."""
    prony = pl.Prony((0.5, 0.7), (0.05, 0.4))
    spring = pl.Springpot(exponent=0.4, time=0.1, band=(0.5, 50.0))
    omega = 5.0
    late = 2 * np.pi / omega * np.linspace(7, 8, 33)
    for law, modulus, tolerance in (
        (prony, prony.modulus(omega), 2e-5),
        (spring, 1 + spring.exact(omega), spring.error + 2e-5),
    ):
        system = light(law)
        run = pl.simulate(
            system, late[-1], u=lambda t: {"pull": 0.01 * EA * np.sin(omega * t)}, step=2 * np.pi / omega / 64,
            output=np.concatenate([[0.0], late]),
        )  # fmt: skip
        basis = np.column_stack([np.sin(omega * late), np.cos(omega * late)])
        found = np.linalg.lstsq(basis, run.q[1:, 0], rcond=None)[0]
        compliance = (found[0] + 1j * found[1]) / 0.01
        assert abs(compliance * modulus - 1) < tolerance


def test_springpot_says_how_good_it_is():
    wide = pl.Springpot(exponent=0.3, time=1.0, band=(1e-2, 1e2))
    assert wide.error < 2e-3
    few = pl.Springpot(exponent=0.3, time=1.0, band=(1e-2, 1e2), branches=3)
    assert 0.02 < few.error < 0.5
    assert min(wide.prony.g) >= 0.0


def stop(e, r):
    """Stresses of a spring of stiffness one that slips beyond r, along strains e."""
    z, out = 0.0, []
    for x in e:
        z = min(max(z, x - r), x + r)
        out.append(x - z)
    return np.array(out)


def test_prandtl_ishlinskii_loops():
    """Along any path as the stop operator says; the area of a loop is Σ 4 c k r (a − r)."""
    elements = [(0.4, 0.01), (0.3, 0.03), (0.2, 0.1)]
    system = light(pl.PrandtlIshlinskii(stretch=elements))
    rng = np.random.default_rng(0)
    path = np.cumsum(rng.normal(size=60) * 0.02)
    forces, _z = walk(system, path)
    wanted = 0.2 * EA * (path + sum(c * stop(path, r) for c, r in elements))
    np.testing.assert_allclose(forces[:, 0], wanted, atol=1e-12 * np.abs(wanted).max())
    a = 0.05
    loop = np.concatenate([np.linspace(0, a, 501), np.linspace(a, -a, 1001), np.linspace(-a, a, 1001)])
    forces, _z = walk(system, loop)
    area = np.trapezoid(forces[501:, 0], loop[501:])
    assert area == pytest.approx(0.2 * EA * sum(4 * c * r * (a - r) for c, r in elements if r < a), rel=1e-6)


@pytest.mark.parametrize("exponent", [1, 2])
@pytest.mark.parametrize("beta", [0.5, 0.8, 1.0])
def test_bouc_wen_follows_its_differential_equation(exponent, beta):
    """Against the equation solved in small steps; large ones give the same, and dissipation is never negative."""
    from scipy.integrate import solve_ivp

    s, x0 = 3.0, 0.02
    system = light(pl.BoucWen(stretch=(s, x0), exponent=exponent, beta=beta))
    turns = np.array([0.0, 0.05, -0.03, 0.01, 0.0, 0.08, -0.2])
    forces, kept = walk(system, turns)
    z, wanted = 0.0, [0.0]
    for a, b in pairwise(turns):
        sign = np.sign(b - a)

        def rate(_x, y, sign=sign):
            return sign * (1 - np.abs(y) ** exponent * ((1 - beta) + beta * np.sign(y * sign)))

        z = solve_ivp(rate, (0, abs(b - a) / x0), [z], rtol=1e-11, atol=1e-13).y[0, -1]
        wanted.append(z)
    np.testing.assert_allclose(forces[:, 0], 0.2 * (EA * turns + s * np.array(wanted)), atol=1e-8 * EA)
    energy = [system.elastic_energy([q], memory=z) for q, z in zip(turns, kept)]
    fine = np.concatenate([np.linspace(a, b, 400) for a, b in pairwise(turns)])
    many, _z = walk(system, fine)
    work = np.concatenate([[0.0], np.cumsum(0.5 * (many[1:, 0] + many[:-1, 0]) * np.diff(fine))])[399::400]
    assert np.all(np.diff(work - np.array(energy[1:])) > 0)


def test_springback_of_an_elastic_plastic_rod():
    """Bent by κ with the yield moment M and hardening h: after unloading κ − m/EI stays; m = M + ... of the bilinear law."""
    M, h = EI * 2.0, 0.25
    for hardening in (0.0, h):
        system = light(pl.Plastic(bending=M, hardening=hardening), pl.Strains(bending=0))
        kappa = 5.0
        tangent = EI * hardening / (1 + hardening)
        moment = M + tangent * (kappa - M / EI)
        for turn in (0.0, 0.7):  # any direction of bending
            q = kappa * np.array([np.sin(turn), np.cos(turn)])
            forces, kept = walk(system, [q])
            np.testing.assert_allclose(forces[0], 0.2 * moment * q / kappa, rtol=1e-12)
            if hardening:
                loaded = pl.solve_statics(
                    light(pl.Plastic(bending=M, hardening=hardening), pl.Strains(bending=0)), {"bend": moment}
                )
                assert loaded.q[1] == pytest.approx(kappa, rel=1e-8)
                back = pl.solve_statics(loaded.system, {"bend": 0.0}, start=loaded)
                assert back.q[1] == pytest.approx(kappa - moment / EI, rel=1e-8)
            residual = (kappa - moment / EI) * q / kappa
            force, _z = walk(system, [residual], memory=kept[-1])
            assert np.abs(force).max() < 1e-12 * M


def test_plastic_flow_of_an_oval_section():
    """Different stiffness about y and z: the moment stays on the circle of the yield moment, the flow points along it."""
    section = pl.Ellipse(0.01, 0.005)
    system = light(pl.Plastic(bending=1e-3), pl.Strains(bending=0), section=section)
    K = np.diag(system.robot.links[0].content.stiffness_at(np.array([0.5]))[0])[1:3]
    q = np.array([9.0, 4.0])
    forces, kept = walk(system, [q])
    moment = forces[0] / 0.2
    assert np.linalg.norm(moment) == pytest.approx(1e-3, rel=1e-12)
    flow = q - moment / K
    np.testing.assert_allclose(flow / np.linalg.norm(flow), moment / 1e-3, atol=1e-12)
    np.testing.assert_allclose(kept[0].reshape(-1, 3)[0, :2], flow, rtol=1e-12)


def test_active_strain_is_the_shape_of_a_free_rod():
    """Exactly, for linear rods and for laws, also along the rod; the energy there is none."""
    for law in (None, pl.NeoHookean(), pl.Prony(0.5, 1.0), pl.Polynomial(bending=0.1)):
        robot = strip(law, pl.Strains(torsion=1, bending=1, stretch=1, shear=0))
        robot.add_active_strain("one", "rod", lambda X: (1 + X, 2 - X, 0.5, 0.1 * X, 0.01, 0.02))
        robot.add_active_strain("two", "rod", (0.0, 1.0, 0.0, 0.0, 0.0, 0.0))
        system = robot.compile()
        u = {"one": 0.8, "two": 0.3}
        found = pl.solve_statics(system, u)
        assert found.success
        X = np.array([0.0, 0.4, 1.0])
        wanted = 0.8 * np.column_stack([1 + X, 2 - X, 0 * X + 0.5, 0.1 * X, 0 * X + 0.01, 0 * X + 0.02])
        wanted[:, 1] += 0.3
        np.testing.assert_allclose(system.strain("rod", found.q, X) - [0, 0, 0, 1, 0, 0], wanted, atol=1e-9)
        assert abs(system.elastic_energy(found.q, u, memory=found.memory)) < 1e-12


def test_energy_of_a_branched_robot_in_motion():
    """What leaves kinetic, potential and stored energy is dissipated: by viscosity, dashpots and slip; nothing is won, and no false alarm."""
    system = lawful(1, "revolute").compile()
    q, _v, _a = state(system, 5, scale=0.2)
    run = pl.simulate(
        system,
        0.5,
        start=q,
        rtol=1e-6,
        atol=1e-8,
        output=np.concatenate([np.linspace(0, 0.02, 401), np.linspace(0.021, 0.5, 240)]),
    )
    assert run.success
    assert not [text for text in run.warnings if "gained" in text]
    energy = run.energies().total
    assert np.all(np.diff(energy) < 1e-7 * np.ptp(energy))
    balance = run.power_balance()
    assert np.abs(balance["imbalance"]).max() < 1e-3 * np.ptp(energy)
    assert np.all(np.diff(balance["dissipated"]) > -1e-6 * np.ptp(energy))


def test_elastic_laws_keep_energy():
    """Rubber without damping, by the midpoint rule: energy oscillates about what it was."""
    robot = strip(pl.Yeoh(2e4, 1e3), pl.Strains(torsion=1, bending=1, stretch=1))
    system = robot.compile()
    q = np.random.default_rng(0).normal(size=system.nv) * 0.3
    drift = []
    for step in (2e-4, 1e-4):
        run = pl.simulate(system, 0.1, start=q, method="midpoint", step=step)
        energy = run.energies().total
        drift.append(np.ptp(energy) / energy[0])
    assert drift[1] < 0.02
    assert drift[1] < 0.35 * drift[0]


def test_dissipation_of_a_dashpot():
    """Of a Maxwell rod in a forced vibration: π g″ EA e² per period and length, as the balance says."""
    prony = pl.Prony(0.6, 0.1)
    system = light(prony)
    omega, force = 8.0, 0.01 * EA
    period = 2 * np.pi / omega
    run = pl.simulate(
        system, 8 * period, u=lambda t: {"pull": force * np.sin(omega * t)}, step=period / 200, output=period / 200
    )
    balance = run.power_balance()
    modulus = prony.modulus(omega)
    amplitude = 0.01 / abs(modulus)
    lost = balance["dissipated"]
    assert lost[-1] - lost[-201] == pytest.approx(0.2 * np.pi * EA * modulus.imag * amplitude**2, rel=1e-4)
    assert np.abs(balance["imbalance"]).max() < 1e-5 * lost[-1]


def test_statics_take_the_straight_way():
    """An active strain that the rod follows causes no flow, whatever the start; going on from an equilibrium remembers it."""
    robot = strip(pl.Plastic(bending=EI * 1.0), pl.Strains(bending=0))
    robot.add_active_strain("curl", "rod", (0, 0, 1, 0, 0, 0))
    system = robot.compile()
    for start in (None, [0.0, 5.0]):
        found = pl.solve_statics(system, {"curl": 8.0}, start=start)
        np.testing.assert_allclose(found.q, [0.0, 8.0], atol=1e-8)
        assert not np.any(found.memory)
    back = pl.solve_statics(system, {"curl": 0.0}, start=found)
    np.testing.assert_allclose(back.q, 0.0, atol=1e-8)


def test_statics_of_loops_relax():
    """A rod between two walls, one of which is moved: the force of the loop is that of the relaxed rod, or of the one at once."""
    forces = {}
    for statics in ("relaxed", "unrelaxed"):
        robot = strip(pl.Prony(0.5, 1.0, statics=statics), pl.Strains(stretch=0))
        robot.add_body("wall", joint=pl.Prismatic("x"), offset=(0.2, 0, 0), mass=1.0)
        robot.add_motion("moved", "wall")
        robot.add_loop("pin", "rod.tip", "wall", joint=pl.Spherical())
        system = robot.compile()
        rest = pl.solve_statics(system, motion={"moved": 0.02})
        assert rest.success
        assert not rest.warnings
        forces[statics] = np.abs(rest.multipliers).max()
    assert forces["relaxed"] == pytest.approx(EA * 0.1, rel=1e-8)
    assert forces["unrelaxed"] == pytest.approx(1.5 * EA * 0.1, rel=1e-8)


def test_no_false_alarm_while_inputs_work():
    """Active strains and forces that change in time put energy in and take it out; the balance knows, and nothing is reported."""
    robot = strip(
        (pl.NeoHookean(), pl.Prony(0.3, 0.02), pl.BoucWen(bending=(0.02, 1.0))), pl.Strains(bending=1, stretch=0)
    )
    robot.add_active_strain("curl", "rod", lambda X: (0, 1 + X, 1, 0.02, 0, 0))
    system = robot.compile()
    run = pl.simulate(
        system, 0.6, u=lambda t: {"curl": 3 * np.sin(20 * t), "pull": 5 * np.sin(33 * t), "bend": 0, "twist": 0}, rtol=1e-6, atol=1e-8,
        output=5e-4,
    )  # fmt: skip
    assert run.success
    assert not [text for text in run.warnings if "gained" in text]
    balance = run.power_balance()
    assert np.abs(balance["imbalance"]).max() < 2e-3 * balance["dissipated"][-1]
    assert np.all(np.diff(balance["dissipated"]) > -1e-3 * balance["dissipated"][-1])
    assert np.ptp(run.energies().total) > 0


def test_a_run_goes_on_where_it_ended(tmp_path):
    """Internal variables are part of a state: a run in two halves, and one that was stored, are one run."""
    system = light((pl.Prony(0.5, 0.3), pl.PrandtlIshlinskii(stretch=[(0.3, 0.005)])))
    u = {"pull": 0.03 * EA}
    whole = pl.simulate(system, 0.4, u=u, step=0.01, start=[0.01])
    half = pl.simulate(system, 0.2, u=u, step=0.01, start=[0.01])
    half.save(tmp_path / "half.npz")
    again = pl.Result.load(tmp_path / "half.npz", system=system)
    rest = pl.simulate(system, 0.2, u=u, step=0.01, start=again)
    np.testing.assert_allclose(rest.memory[-1], whole.memory[-1], atol=2e-4 * np.abs(whole.memory[-1]).max())
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], rtol=2e-4)
