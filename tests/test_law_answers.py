"""What other parts of the package say of robots whose rods have laws: gradients, analysis, files, refusals; laws of the user."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from law_robots import complex_columns, lawful, task_memory, with_laws
from load_robots import branched, state
from pliant.gradients.costs.states import States
from pliant.kernels import engine
from pliant.model.rods.laws import LAWS
from pliant.system import Given
from test_laws import strip

RUBBER = pl.Material(young=1e6, poisson=0.5, density=1000.0, viscosity=5e2)


YEOH = pl.Yeoh(c2=3e4, c3=2e3)


def elastic_robot(law=YEOH):
    """A rod of rubber with a cable and an active strain."""
    robot = pl.Robot("arm")
    arm = robot.add_rod(
        "arm", length=0.3, section=pl.Circle((0.015, 0.01)), material=RUBBER, strains=pl.Strains(bending=2, torsion=1, stretch=1), law=law,
    )  # fmt: skip
    robot.add_tendon("cable", arm, z=0.008)
    robot.add_active_strain("curl", arm, lambda X: (0, 1 + X, 0, 0.02, 0, 0))
    return robot


U = {"cable": 1.5, "curl": 0.6}


def test_static_gradient_by_every_parameter():
    system = elastic_robot().compile()
    rest = pl.solve_statics(system, U)
    cost = pl.costs.Position("arm.tip")[2].mean(at="end")
    d = pl.static_gradient(system, rest, cost)
    for name in ("arm.law.c2", "arm.law.c3", "arm.young", "arm.radius.tip", "arm.length"):
        value = system.parameters[name]
        h = 1e-4 * value
        z = []
        for k in (-2, -1, 1, 2):
            other = system.with_parameters({name: value + k * h})
            found = pl.solve_statics(other, U, start=rest.q, tolerance=1e-13)
            z.append(other.pose("arm.tip", found.q)[2, 3])
        slope = (z[0] - 8 * z[1] + 8 * z[2] - z[3]) / (12 * h)
        assert d.parameters[name] == pytest.approx(slope, rel=1e-6), name
    for name, value in U.items():
        h = 1e-4
        ends = [pl.solve_statics(system, {**U, name: value + s * h}, start=rest.q, tolerance=1e-13) for s in (1, -1)]
        z = [system.pose("arm.tip", end.q)[2, 3] for end in ends]
        assert d[name] == pytest.approx((z[0] - z[1]) / (2 * h), rel=1e-6)


def test_gradient_of_a_motion():
    """Rollouts of rods with laws without memory: by inputs, start and parameters of the law, against differences."""
    system = elastic_robot().compile()
    u = np.tile(system.inputs(U), (20, 1)) * np.linspace(0.2, 1.0, 20)[:, None]
    cost = pl.costs.Position("arm.tip")[2].mean(at="end")

    def value(system, u):
        return pl.rollout(system, u, step=0.005).gradient(cost).value

    d = pl.rollout(system, u, step=0.005).gradient(cost)
    for name in ("arm.law.c2", "arm.young", "arm.radius.base"):
        x = system.parameters[name]
        h = 1e-3 * x
        z = [value(system.with_parameters({name: x + k * h}), u) for k in (-2, -1, 1, 2)]
        assert d.parameters[name] == pytest.approx((z[0] - 8 * z[1] + 8 * z[2] - z[3]) / (12 * h), rel=1e-5), name
    for j in range(2):
        z = []
        for k in (-1, 1):
            moved = u.copy()
            moved[10, j] += k * 1e-3
            z.append(value(system, moved))
        assert d.u[10, j] == pytest.approx((z[1] - z[0]) / 2e-3, rel=1e-5)


@pytest.mark.parametrize(
    "name", ["arm.young", "arm.radius.tip", "arm.viscosity", "arm.law.c2", "arm.density", "arm.length"]
)
def test_other_parameters_are_those_of_a_robot_made_anew(name):
    for law in (pl.Yeoh(c2=3e4, c3=2e3), None):
        system = elastic_robot(law).compile()
        if name not in system.parameters:
            continue
        revised = system.with_parameters({name: 1.1 * system.parameters[name]})
        fresh = revised.robot.compile()
        q, v, a = state(system, 0)
        r = fresh.residual(q, v, a, U)
        np.testing.assert_allclose(revised.residual(q, v, a, U), r, atol=1e-12 * np.abs(r).max())


def test_names_and_units_of_parameters():
    system = lawful().compile()
    units = system.parameters.units
    assert units["arm.law.Yeoh.c2"] == "Pa"
    assert units["arm.law.Prony.tau.1"] == "s"
    assert system.parameters["arm.law.Prony.g.0"] == 0.4
    assert system.parameters["twig.law.Plastic.hardening"] == 0.1
    assert system.parameters["hand.law.Polynomial.bending.2"] == 0.05
    assert system.parameters["hand.law.PrandtlIshlinskii.bending.1.0"] == 0.1
    assert units["twist.strain.torsion"] == "rad/m"
    softer = system.with_parameters({"twist.strain.torsion": 0.1, "arm.law.Prony.tau.1": 0.5})
    assert softer.robot.active_strains["twist"].strain[0] == 0.1
    assert softer.robot.link("arm").content.law[1].tau == (0.02, 0.5)


def test_linear_analysis_of_elastic_laws():
    """Modes of a stretched rubber rod are those of a linear rod with the stiffness it has there."""
    law = pl.NeoHookean()
    system = strip(law, pl.Strains(stretch=0, torsion=0)).compile()
    force = 1e6 / 3 * np.pi * 1e-4 * (1.5 - 1.5**-2)
    rest = pl.solve_statics(system, {"pull": force})
    M = system.mass_matrix(rest.q)
    K = system.elastic_tangent(rest.q)
    found = pl.modes(system, rest)
    np.testing.assert_allclose(
        (2 * np.pi * found.frequencies) ** 2, np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real), rtol=1e-9
    )
    A = pl.linearize(system, rest).A
    np.testing.assert_allclose(A[2:, :2], -np.linalg.solve(M, K), rtol=1e-9, atol=1e-6)
    e = pl.equation_of_motion(system, rest.q, np.zeros(2), {"pull": force})
    np.testing.assert_allclose(e.elastic, system.elastic_forces(rest.q))
    branch = pl.trace_equilibria(system, input="pull", stop=force)
    assert branch.q[-1] == pytest.approx(rest.q, rel=1e-6)


def test_methods_agree_with_elastic_laws():
    system = elastic_robot().compile()
    ends = []
    for method in ("esdirk3", "esdirk5", "generalized-alpha", "radau"):
        run = pl.simulate(system, 0.05, u=U, method=method, rtol=1e-8, atol=1e-10)
        assert run.success
        ends.append(run.q[-1])
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], atol=2e-5 * np.abs(ends[0]).max())


def test_spectral_rods_and_batches():
    """Chebyshev points serve the laws as well; a batch of equilibria is what each of them is."""
    plain = strip(pl.Polynomial(bending=0.05), pl.Strains.kirchhoff(2)).compile()
    spectral = strip(pl.Polynomial(bending=0.05), pl.Strains.kirchhoff(2), integration="spectral").compile()
    q, _v, _a = state(plain, 1, scale=0.1)
    np.testing.assert_allclose(spectral.elastic_forces(q), plain.elastic_forces(q), rtol=1e-9)
    moments = np.array([[0.0, 0.01, 0.0], [0.0, 0.03, 0.0]])
    for law in (pl.Polynomial(bending=0.05), pl.Prony(0.5, 1.0)):
        system = strip(law, pl.Strains.kirchhoff(1)).compile()
        together = pl.batch(system).statics(moments)
        for k, u in enumerate(moments):
            np.testing.assert_allclose(together["q"][k], pl.solve_statics(system, u).q, atol=1e-9)


REFUSED = {
    "linearize": lambda s, rest: pl.linearize(s, rest),
    "modes": lambda s, rest: pl.modes(s, rest),
    "static_jacobian": lambda s, rest: pl.static_jacobian(s, rest, "rod.tip"),
    "static_gradient": lambda s, rest: pl.static_gradient(s, rest, pl.costs.Position("rod.tip")[0].mean(at="end")),
    "equation_of_motion": lambda s, rest: pl.equation_of_motion(s, rest.q, np.zeros(s.nv)),
    "solve_inputs": lambda s, rest: pl.solve_inputs(s, rest.q),
    "trace": lambda s, rest: pl.trace_equilibria(s, input="pull", stop=1.0),
    "energy": lambda s, rest: pl.costs.Energy("elastic").at(States.at_rest(s, rest.q, rest.u)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_know_memory_says_so(what):
    system = strip(pl.Prony(0.5, 1.0), pl.Strains(stretch=0)).compile()
    rest = pl.solve_statics(system)
    with pytest.raises(ValueError, match="internal variables, and the laws of 'rod' have"):
        REFUSED[what](system, rest)


def test_stress_and_methods_refuse_memory():
    system = strip(pl.BoucWen(stretch=(1.0, 0.1)), pl.Strains(stretch=0)).compile()
    with pytest.raises(ValueError, match="what happened before"):
        system.stress("rod", [0.1])
    with pytest.raises(ValueError, match="internal variables"):
        pl.simulate(system, 0.1, method="radau")
    with pytest.raises(ValueError, match="laws whose stiffness is not constant"):
        pl.simulate(system, 0.1, solver="tree")


BAD = {
    "law": (lambda: strip(3.0, pl.Strains(stretch=0)), TypeError, "must be a law such as"),
    "two": (lambda: strip((pl.NeoHookean(), pl.Plastic(stretch=1.0)), pl.Strains(stretch=0)), ValueError, "NeoHookean and Plastic both"),
    "poisson": (lambda: strip(pl.NeoHookean(), pl.Strains(stretch=0), material=pl.Material(1e6, poisson=0.3, density=1.0)), ValueError, "poisson=0.5"),
    "stiffness": (lambda: strip(pl.Yeoh(), pl.Strains(stretch=0), stiffness=[1] * 6), ValueError, "needs section and material"),
    "reference": (lambda: strip(pl.Yeoh(), pl.Strains(stretch=0), reference_strain=(0, 0, 0, 1.1, 0, 0)), ValueError, "stretch 1"),
    "coupled": (lambda: strip(pl.Plastic(bending=1.0), pl.Strains(bending=0), stiffness=np.eye(6) + 0.1), ValueError, "diagonal"),
    "not free": (lambda: strip(pl.Plastic(torsion=1.0), pl.Strains(bending=0)), ValueError, "no free torsion"),
    "g": (lambda: pl.Prony(-0.1, 1.0), ValueError, r"Prony.g\[0\] = -0.1"),
    "tau": (lambda: pl.Prony(0.1, 0.0), ValueError, r"Prony.tau\[0\] = 0.0"),
    "pairs": (lambda: pl.Prony((0.1, 0.2), 1.0), ValueError, "one time is needed"),
    "text": (lambda: pl.Prony("a", 1.0), TypeError, "Prony.g"),
    "statics": (lambda: pl.Prony(0.1, 1.0, statics="soon"), ValueError, "relaxed"),
    "exponent": (lambda: pl.Springpot(1.2, 1.0, (1.0, 10.0)), ValueError, "Springpot.exponent"),
    "band": (lambda: pl.Springpot(0.2, 1.0, (10.0, 1.0)), ValueError, "Springpot.band"),
    "beta": (lambda: pl.BoucWen(bending=(1.0, 1.0), beta=0.3), ValueError, "BoucWen.beta"),
    "n": (lambda: pl.BoucWen(bending=(1.0, 1.0), exponent=3), ValueError, "BoucWen.exponent"),
    "nothing": (lambda: pl.BoucWen(), ValueError, "acts on nothing"),
    "elements": (lambda: pl.PrandtlIshlinskii(bending=[(0.1, -1.0)]), ValueError, r"bending\[0\]\[1\] = -1"),
    "flat": (lambda: pl.PrandtlIshlinskii(bending=0.1), TypeError, "list of pairs"),
    "never": (lambda: pl.Plastic(), ValueError, "never yields"),
    "hardening": (lambda: pl.Plastic(bending=1.0, hardening=-1), ValueError, "Plastic.hardening"),
    "many": (lambda: pl.Polynomial(bending=(1, 2, 3, 4)), ValueError, "at most 3"),
    "c2": (lambda: pl.Yeoh(c2=np.nan), ValueError, "Yeoh.c2"),
    "function": (lambda: pl.UserLaw(3), TypeError, "not callable"),
    "active": (lambda: strip(None, pl.Strains(bending=0)).add_active_strain("a", "rod", (1, 0, 0, 0, 0, 0)), ValueError, "torsion, which rod 'rod' has not free"),
    "shape": (lambda: strip(None, pl.Strains(bending=0)).add_active_strain("a", "rod", (1, 0)), ValueError, "active strain 'a'"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_values_are_refused(what):
    make, kind, text = BAD[what]
    with pytest.raises(kind, match=text):
        make()


def test_files_hold_every_law(tmp_path):
    robot = lawful(1, "fixed")
    arm = robot.links[1]
    robot.links[1] = replace(
        arm, content=replace(arm.content, law=(*arm.content.law, pl.Springpot(0.2, 0.1, (1.0, 10.0))))
    )
    robot.active_strains.pop("curl")  # a Python function
    pl.save_model(robot, tmp_path / "robot.yaml")
    twin = pl.load_model(tmp_path / "robot.yaml").robot
    one, two = robot.compile(), twin.compile()
    assert [link.content.law for link in twin.links[1:4]] == [link.content.law for link in robot.links[1:4]]
    q, v, a = state(one, 1)
    np.testing.assert_array_equal(one.residual(q, v, a, [0.4]), two.residual(q, v, a, [0.4]))
    assert "active_strain" in pl.io.dump_model(robot)


def test_every_law_is_in_the_schema_and_in_the_package():
    text = str(pl.io.schema())
    for law in LAWS:
        assert law.__name__ in text
        assert getattr(pl, law.__name__) is law


def test_a_law_of_the_user_cannot_be_written():
    robot = strip(pl.UserLaw(lambda state, X, lag: state[:, :6]), pl.Strains(stretch=0))
    with pytest.raises(TypeError, match="Python function"):
        pl.io.dump_model(robot)


# ---------------------------------------------------------------- laws of the user

K = np.array([0.02, 0.03, 0.03, 60.0, 20.0, 20.0])


def cubic(state, X, lag):
    e, rate = state[:, :6], state[:, 6:12]
    return K * (1 + X[:, None]) * (e + e**3) + 0.01 * K * rate


def cubic_slopes(state, X, lag):
    e = state[:, :6]
    out = np.zeros((len(X), 6, 12))
    c = np.arange(6)
    out[:, c, c] = K * (1 + X[:, None]) * (1 + 3 * e**2)
    out[:, c, 6 + c] = 0.01 * K
    return out


def cubic_energy(e, X):
    return ((1 + X[:, None]) * K * (e**2 / 2 + e**4 / 4)).sum(axis=1)


@pl.compiled_law
def compiled_cubic(state, X, lag, result):
    k = (0.02, 0.03, 0.03, 60.0, 20.0, 20.0)
    for c in range(6):
        result[c] = k[c] * (1 + X) * (state[c] + state[c] ** 3) + 0.01 * k[c] * state[6 + c]


def solid(state, X, lag):
    """A standard solid with one branch in each strain."""
    e, z = state[:, :6], state[:, 12:]
    x = lag / 0.3
    now = (z + x * e) / (1 + x)
    return np.hstack([K * e + 0.5 * K * (e - now), now])


@pytest.mark.parametrize(
    "law",
    [pl.UserLaw(cubic), pl.UserLaw(cubic, cubic_slopes, cubic_energy), compiled_cubic],
    ids=["plain", "derivatives", "compiled"],
)
def test_user_laws(law):
    """Forces of the function, its tangent, and statics; on a branched robot."""
    robot = with_laws(branched(1, base="fixed"), arm=law, hand=law)
    system = robot.compile()
    q, v, a = state(system, 2)
    X, w = system._assembly.places.spread("arm")[:2]
    info = system._assembly.links["arm"]
    Phi = info.link.content.strains.matrix(X)
    e, rate = Phi @ q[info.rod_q], Phi @ v[info.rod_v]
    lam = cubic(np.hstack([e, rate]), X, 0.0)
    none = with_laws(branched(1, base="fixed"), arm=pl.Linear(), hand=law).compile()
    own = system.residual(q, v, a)[info.rod_v] - none.residual(q, v, a)[info.rod_v]
    stiffness = info.link.content.stiffness_at(X)
    wanted = np.einsum("m,mci,mc->i", w, Phi, lam) - np.einsum("m,mci,mcd,md->i", w, Phi, stiffness, e)
    np.testing.assert_allclose(own, wanted, atol=1e-10 * np.abs(wanted).max())
    h = 1e-6
    for k, weights in ((0, (1, 0, 0)), (1, (0, 1, 0))):
        matrix = system.residual_tangent(q, v, a, weights=weights)
        for j in (info.rod_v.start, info.rod_v.start + 3):
            d = h * np.eye(system.nv)[j]
            ends = [system.residual(system.integrate(q, s * d) if k == 0 else q, v + s * d * k, a) for s in (1, -1)]
            column = (ends[0] - ends[1]) / (2 * h)
            np.testing.assert_allclose(matrix[:, j], column, atol=1e-5 * np.abs(matrix).max())
    assert system.has_potential(np.zeros(0), np.zeros(system.nv)) == (law.energy is not None)
    np.testing.assert_allclose(system.stress("arm", q, X), cubic(np.hstack([e, 0 * e]), X, 0.0), rtol=1e-12)
    cantilever = strip(law, pl.Strains.kirchhoff(4)).compile()
    rest = pl.solve_statics(cantilever, {"bend": 0.1})
    assert rest.success
    np.testing.assert_allclose(rest.system.stress("rod", rest.q, [0.5])[0, 2], 0.1, rtol=1e-4)


def test_user_law_with_memory_is_prony():
    strains = pl.Strains(bending=1, torsion=0)
    inertia = [1e-4, 1e-4, 1e-4, 0.3, 0.3, 0.3]
    runs, rest = [], []
    for law in (pl.UserLaw(solid, memory=6), pl.Prony(0.5, 0.3)):
        robot = pl.Robot("arm")
        robot.add_rod("arm", length=0.4, strains=strains, stiffness=K, inertia=inertia, damping=0.02 * K, law=law)
        system = robot.compile()
        runs.append(pl.simulate(system, 0.5, rtol=1e-6, atol=1e-8, output=0.1))
        assert runs[-1].success
        rest.append(pl.solve_statics(system).q)
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-5 * np.abs(runs[1].q).max())
    np.testing.assert_allclose(rest[0], rest[1], atol=1e-7 * np.abs(rest[1]).max())


def solid_slopes(state, X, lag, slopes):
    k = (0.02, 0.03, 0.03, 60.0, 20.0, 20.0)
    x = lag / 0.3
    for c in range(6):
        slopes[c, c] = k[c] + 0.5 * k[c] / (1 + x)
        slopes[c, 12 + c] = -0.5 * k[c] / (1 + x)
        slopes[6 + c, c] = x / (1 + x)
        slopes[6 + c, 12 + c] = 1 / (1 + x)


@pl.compiled_law(memory=6, derivatives=solid_slopes)
def compiled_solid(state, X, lag, result):
    k = (0.02, 0.03, 0.03, 60.0, 20.0, 20.0)
    x = lag / 0.3
    for c in range(6):
        now = (state[12 + c] + x * state[c]) / (1 + x)
        result[c] = k[c] * state[c] + 0.5 * k[c] * (state[c] - now)
        result[6 + c] = now


def test_derivatives_of_user_laws_with_memory():
    """Compiled with derivatives, and in Python without: tangent and the task MEMORY against differences of forces and internal variables."""
    for law, tolerance in ((compiled_solid, 1e-10), (pl.UserLaw(solid, memory=6), 1e-7)):
        robot = with_laws(branched(1, base="fixed"), arm=law)
        robot.add_active_strain("curl", "arm", (0.1, 0.2, 0, 0, 0, 0))
        system = robot.compile()
        q, v, a = state(system, 0)
        memory = np.random.default_rng(0).normal(size=system.nz)
        exact = complex_columns(system, q, v, a, np.array([0.4]), memory, 0.05)
        rows, n = task_memory(system, q, v, np.array([0.4]), memory, 0.05), system.nv
        parts = {"q": rows[:, :n], "v": rows[:, n : 2 * n], "u": rows[:, 3 * n + system.nz :]}
        for name, part in parts.items():
            np.testing.assert_allclose(part, exact[name].now, atol=1e-12)

        def ask(z, q=q, v=v, a=a, system=system):
            r = np.empty(system.nv)
            with system.borrow() as space:
                system.run_job(
                    engine.RESIDUAL, q, v, a, np.array([0.4]), force=r, given=Given(memory=z, lag=0.05), space=space
                )
                return np.concatenate([r, space.work.kept])

        for k in (0, 7, 20):
            d = 1e-3 * np.eye(system.nz)[k]
            slope = (ask(memory + d) - ask(memory - d)) / 2e-3  # linear in them
            np.testing.assert_allclose(rows[k, 2 * n : 3 * n], slope[:n], atol=tolerance * np.abs(slope).max())
            np.testing.assert_allclose(rows[:, 3 * n + k], slope[n:], atol=tolerance)


def test_energy_of_user_laws():
    """With an energy it is stored, without one all work of the law is dissipated; the balance holds either way."""
    for law in (pl.UserLaw(cubic, cubic_slopes, cubic_energy), pl.UserLaw(cubic)):
        system = strip(law, pl.Strains(bending=1)).compile()
        run = pl.simulate(system, 0.2, u={"bend": 0.05}, rtol=1e-6, atol=1e-8, output=2e-4)
        balance = run.power_balance()
        assert np.abs(balance["imbalance"]).max() < 2e-3 * np.abs(balance["input"]).max()
        assert (run.energies().elastic.max() > 1e-4) == (law.energy is not None)
        assert not [text for text in run.warnings if "gained" in text]


def test_plasticity_of_the_user():
    """Internal variables that do not have a rate: the stop of a slipping spring, as PrandtlIshlinskii has it; beside the elasticity of the rod."""

    def slip(state, X, lag):
        e, z = state[:, 3], state[:, 12]
        now = np.clip(z, e - 0.01, e + 0.01)
        out = np.zeros((len(X), 7))
        out[:, 3], out[:, 6] = 0.3 * 1e6 * np.pi * 1e-4 * (e - now), now
        return out

    own = strip(pl.UserLaw(slip, memory=1, smooth=False, elastic=False), pl.Strains(stretch=0)).compile()
    other = strip(pl.PrandtlIshlinskii(stretch=[(0.3, 0.01)]), pl.Strains(stretch=0)).compile()
    force = lambda t: {"pull": 30 * np.sin(20 * t)}  # noqa: E731
    runs = [pl.simulate(system, 0.5, u=force, step=2e-3, newton_tolerance=1e-11) for system in (own, other)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-6 * np.abs(runs[1].q).max())
    assert np.ptp(runs[1].memory[:, 0]) > 0.01


def test_errors_of_user_laws_are_raised():
    def broken(state, X, lag):
        raise RuntimeError("no such law")

    for law, text in ((broken, "no such law"), (lambda state, X, lag: state[:, :5], "shape")):
        system = strip(pl.UserLaw(law), pl.Strains(stretch=0)).compile()
        with pytest.raises((RuntimeError, TypeError), match=text) as caught:
            system.residual([0.0], [0.0], [0.0])
        assert "in the law of rod 'rod'" in str(caught.value.__notes__)
    with pytest.raises(TypeError, match="cannot be compiled"):
        strip(pl.compiled_law(lambda state, X, lag, result: result.nothing()), pl.Strains(stretch=0)).compile()


def test_systems_with_laws_can_be_sent():
    import pickle

    robot = strip((pl.NeoHookean(), pl.Springpot(0.2, 0.1, (1.0, 10.0))), pl.Strains(stretch=0))
    one = robot.compile()
    two = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(one.elastic_forces([0.1]), two.elastic_forces([0.1]))


def test_colour_of_a_rod_with_a_law():
    from pliant.viz.recording import Strain

    system = strip(pl.NeoHookean(), pl.Strains(stretch=0)).compile()
    scene = SimpleNamespace(system=system, tubes=[SimpleNamespace(name="rod", X=np.linspace(0, 1, 5))])
    found = Strain(scene).fields(np.array([[0.0], [0.5]]))["energy"]
    wanted = 1e6 / 6 * np.pi * 1e-4 * (1.5**2 + 2 / 1.5 - 3)
    np.testing.assert_allclose(found[1], wanted, rtol=1e-12)
    assert not np.any(found[0])
