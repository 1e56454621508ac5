"""Identification: derivatives, values, intervals that hold, and warnings where data do not tell."""

import numpy as np
import pytest

import pliant as pl
from pliant.gradients.parameters import Beside
from pliant.gradients.statics import StaticTangent
from pliant.identification.problem import Problem

NOISE = 1e-3


def arm(young: float = 4e5, viscosity: float = 4e3) -> pl.System:
    """A tapered arm with two cables, one with friction, and a tool."""
    robot = pl.Robot("arm")
    silicone = pl.Material(young=young, poisson=0.45, density=1070, viscosity=viscosity)
    rod = robot.add_rod("arm", length=0.3, section=pl.Circle((0.012, 0.008)), material=silicone, strains=pl.Strains.kirchhoff(3))  # fmt: skip
    robot.add_tendon("c0", rod, z=(0.01, 0.006), friction=0.1)
    robot.add_tendon("c1", rod, y=0.006)
    robot.add_body("tool", parent=rod, shape=pl.Sphere(0.01), mass=0.01)
    return robot.compile()


def plane_arm(young: float = 4e5, viscosity: float = 4e3, length: float = 0.3) -> pl.System:
    """An arm that swings in a plane, with one cable."""
    robot = pl.Robot("arm")
    silicone = pl.Material(young=young, poisson=0.5, density=1070, viscosity=viscosity)
    rod = robot.add_rod("arm", length=length, section=pl.Circle((0.012, 0.008)), material=silicone, strains=pl.Strains(bending_y=3))  # fmt: skip
    robot.add_tendon("cable", rod, z=0.008)
    robot.add_frame("middle", rod.at(0.5))
    return robot.compile()


def lever(stiffness: float = 2.0, mass: float = 0.5) -> pl.System:
    """A bar on a spring with a motor: one degree of freedom."""
    robot = pl.Robot("lever")
    bar = robot.add_body("bar", joint=pl.Revolute("y", stiffness=stiffness), mass=mass, com=(0.2, 0, 0))
    robot.add_motor("motor", bar)
    return robot.compile()


END = pl.costs.Position(pl.Frame("bar", 0.0, pl.translate(0.4, 0, 0)))
TIP = pl.costs.Position("arm.tip")


def poses(system: pl.System, rows: np.ndarray, quantity: pl.costs.Quantity = TIP) -> np.ndarray:
    """What would be seen of equilibria, without noise."""
    rests = [pl.solve_statics(system, u) for u in rows]
    states = [pl.costs.States.at_rest(system, rest.q, rest.u) for rest in rests]
    return np.array([quantity.evaluate(one).value[0] for one in states])


def noisy(values: np.ndarray, seed: int, noise: float = NOISE) -> np.ndarray:
    return values + noise * np.random.default_rng(seed).standard_normal(values.shape)


# ---------------------------------------------------------------- derivatives


def differences(problem: Problem, y: np.ndarray, k: int) -> np.ndarray:
    """Of eighth order."""
    unknowns = problem.unknowns
    h = 0.02 * (1.0 if unknowns.log[k] else max(abs(y[k]), 0.3 * unknowns.size[k]))
    e = np.eye(len(y))[k]
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    return (
        sum(w * (problem.residuals(y + n * h * e) - problem.residuals(y - n * h * e)) for n, w in weights.items()) / h
    )


def test_derivatives_by_every_kind_of_unknown():
    system = arm()
    rng = np.random.default_rng(0)
    rows = [[0.5, 0.5], [2, 1], [3, 0.8]]
    markers = [TIP, pl.costs.Position("tool")]
    rests = pl.StaticData(inputs=rows, values=rng.standard_normal((3, 2, 3)), quantity=markers, name="rests")
    pulled = {"c1": 0.5, "c0": pl.Signal([0, 0.1], [1.0, 3.0])}
    swing = pl.MotionData(
        t=np.linspace(0, 0.3, 7), inputs=pulled, values=rng.standard_normal((7, 3)), quantity=TIP, start="rest", name="swing", step=0.05
    )  # fmt: skip
    first = system.dof_names[4]
    names = [
        "arm.young", "arm.viscosity", "arm.length", "arm.radius.tip", "c0.friction", "c0.z.base", "tool.mass@rests", "gravity.x", "gain", "bias:c0",
        "pose", "offset:1@rests", f"start:{first}", f"speed:{first}", pl.Unknown("both", {"arm.density": 1.0, "tool.mass": 1e-5}, shift=True),
    ]  # fmt: skip
    problem = Problem(system, [rests, swing], names, loss="linear", scale=1.0)
    unknowns = problem.unknowns
    assert len(unknowns) == 21
    y = unknowns.search(unknowns.start) + 0.05 * np.where(unknowns.log, 1.0, unknowns.size * rng.uniform(0.5, 1, len(unknowns)))  # fmt: skip
    J = problem.at(y).jacobian
    for k, name in enumerate(unknowns.names):
        assert np.abs(J[:, k] - differences(problem, y, k)).max() < 1e-8 * np.abs(J[:, k]).max(), name


def test_derivatives_where_the_robot_turns_freely():
    """The start of a free body, which is already turned, along the manifold."""
    robot = pl.Robot("brick")
    robot.add_body("brick", joint=pl.Free(), shape=pl.Box(0.1, 0.2, 0.3), mass=1.0)
    system = robot.compile()
    corner = pl.costs.Position(pl.Frame("brick", 0.0, pl.translate(0.05, 0.1, 0.15)))
    data = pl.MotionData(
        t=[0.0, 0.1, 0.3], values=np.zeros((3, 3)), quantity=corner, velocity=np.arange(1.0, 7.0), step=0.05
    )
    problem = Problem(system, data, ["start", "speed", "brick.mass"], loss="linear", scale=1.0)
    y = problem.unknowns.search(problem.unknowns.start)
    y[:12] += np.random.default_rng(1).uniform(-0.5, 0.5, 12)
    J = problem.at(y).jacobian
    for k in range(12):
        assert np.abs(J[:, k] - differences(problem, y, k)).max() < 1e-8 * np.abs(J).max(), k


def test_static_tangents_are_those_of_the_adjoint():
    """With a loop and a cable of prescribed length: the other way round through the same equations."""
    robot = pl.Robot("bow")
    rubber = pl.Material(young=1e6, poisson=0.45, density=1000)
    rod = robot.add_rod("rod", length=0.4, section=pl.Circle(0.01), material=rubber, strains=pl.Strains.kirchhoff(4))
    bar = robot.add_body("bar", parent=rod, joint=pl.Revolute("y"), shape=pl.Box(0.1, 0.02, 0.02), mass=0.05, com=(0.05, 0, 0))  # fmt: skip
    robot.add_frame("place", rod.at(0.6))
    robot.add_tendon("cable", rod, z=0.008, control="length")
    robot.add_tendon("pull", rod, y=0.008)
    robot.add_loop(
        "hold", bar.at((0.1, 0, 0)), pl.Frame("world", 0.0, pl.translate(0.42, 0.0, 0.1)), joint=pl.Spherical()
    )
    system = robot.compile()
    rest = pl.solve_statics(system, {"pull": 2.0}, motion={"cable": 0.395})
    assert rest.success
    tangent = StaticTangent(system, rest)
    place = pl.costs.Position("place")
    here = place.evaluate(pl.costs.States.at_rest(system, rest.q, rest.u))
    adjoints = [pl.static_gradient(system, rest, place[k].mean(at="end")) for k in range(3)]
    for name in ("rod.young", "rod.length", "bar.mass", "gravity.x"):
        beside = Beside(system, name)
        dq, du = tangent.moved(*tangent.by_parameter(name, beside))
        direct = beside.slope(lambda other: other.pose("place", rest.q)[:3, 3])
        moved = here.push(pl.costs.Variation(dq[None], np.zeros((1, system.nv)), du[None]))[0] + direct
        expected = np.array([g[name] for g in adjoints])
        assert np.abs(moved - expected).max() < 1e-8 * np.abs(expected).max(), name
    dq, _du = tangent.moved(*tangent.by_inputs(np.array([0.0, 1.0])))
    moved = here.push(pl.costs.Variation(dq[None], np.zeros((1, system.nv)), np.zeros((1, system.nu))))[0]
    assert np.allclose(moved, [g["pull"] for g in adjoints], rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("seed", [0, 1])
def test_modulus_from_equilibria_to_a_thousandth(seed):
    """200 positions of the tip with 1 mm of noise: standard error 0.02 %."""
    system, rows = plane_arm(length=0.4), np.linspace(5, 12, 200)[:, None]
    seen = noisy(poses(plane_arm(7e5, length=0.4), rows), seed)
    found = pl.identify(system, pl.StaticData(inputs=rows, values=seen, quantity=TIP, sigma=NOISE), ["arm.young"])
    assert found.success
    assert not found.warnings
    assert abs(found["arm.young"] / 7e5 - 1) < 1e-3
    assert 1e-4 < found.standard_errors["arm.young"] / 7e5 < 4e-4
    assert abs(found.noise - 1) < 0.1
    assert found.system.parameters["arm.young"] == pytest.approx(found["arm.young"], rel=1e-12)


@pytest.mark.parametrize("seed", [0, 1])
def test_modulus_and_viscosity_from_a_swing(seed):
    """300 positions of the tip in 1.5 s with 1 mm of noise; the measurement is computed by another method."""
    system, real, t = plane_arm(), plane_arm(7e5, 2e3), np.arange(301) * 0.005
    run = pl.simulate(real, 1.5, rtol=1e-9, atol=1e-10, output=t)
    data = pl.MotionData(
        t=t[1:], begin=0.0, values=noisy(run.positions("arm.tip")[1:], seed), quantity=TIP, sigma=NOISE
    )
    found = pl.identify(system, data, ["arm.young", "arm.viscosity"])
    assert found.success
    assert not found.warnings
    assert abs(found["arm.young"] / 7e5 - 1) < 1e-3
    assert abs(found["arm.viscosity"] - 2e3) < 4 * found.standard_errors["arm.viscosity"]
    assert found.standard_errors["arm.young"] / 7e5 < 5e-4


def test_static_and_dynamic_data_together_with_gaps_and_markers():
    system, real = plane_arm(), plane_arm(7e5, 2e3)
    rows = np.linspace(0, 3, 30)[:, None]
    markers = [TIP, pl.costs.Position("middle")]
    seen = noisy(np.concatenate([poses(real, rows, marker) for marker in markers], axis=1), 3)
    seen[::3, 3:] = np.nan
    seen[5, 0] = np.nan
    t = np.sort(np.random.default_rng(0).uniform(0.01, 1.0, 80))
    t = t[(t < 0.4) | (t > 0.6)]
    push = pl.Signal([0, 0.1, 1.0], [0.0, 2.0, 2.0])
    run = pl.simulate(real, 1.0, u={"cable": push}, start=pl.solve_statics(real), rtol=1e-9, atol=1e-10, output=np.concatenate([[0], t]))  # fmt: skip
    data = [
        pl.StaticData(inputs=rows, values=seen, quantity=markers, sigma=NOISE, name="rest"),
        pl.MotionData(t=t, begin=0.0, inputs={"cable": push}, values=noisy(run.positions("arm.tip")[1:], 4), quantity=TIP, sigma=NOISE, start="rest", name="swing"),
    ]  # fmt: skip
    found = pl.identify(system, data, ["arm.young", "arm.viscosity"])
    assert found.success
    for name, true in (("arm.young", 7e5), ("arm.viscosity", 2e3)):
        assert abs(found[name] - true) < 3.5 * found.standard_errors[name], name
    assert np.isnan(found.residuals("rest")[0, 3])
    assert found.residuals("swing").shape == (len(t), 3)
    alone = pl.identify(system, data[0], ["arm.young"])
    assert found.standard_errors["arm.young"] < alone.standard_errors["arm.young"]
    assert "rest:" in str(found)
    assert "swing:" in str(found)


def test_pose_of_the_camera_gain_and_bias_are_found_too():
    system, real = plane_arm(), plane_arm(7e5)
    rows = np.linspace(0, 3, 60)[:, None]
    turn = pl.lie.exp([0.02, -0.03, 0.05, 0, 0, 0])[:3, :3]
    seen = poses(real, 1.1 * rows + 0.4) @ turn.T + [0.01, -0.02, 0.03]
    markers = poses(real, 1.1 * rows + 0.4, pl.costs.Position("middle")) @ turn.T + [0.01, -0.02, 0.03]
    data = pl.StaticData(inputs=rows, values=np.concatenate([seen, markers], axis=1), quantity=[TIP, pl.costs.Position("middle")], sigma=NOISE)  # fmt: skip
    found = pl.identify(system, data, ["arm.young", "gain:cable", "bias:cable", "pose"])
    expected = [7e5, 1.1, 0.4, 0.01, -0.02, 0.03, 0.02, -0.03, 0.05]
    assert np.allclose(list(found.values.values()), expected, rtol=1e-5, atol=1e-7)


def test_start_of_a_motion_is_found():
    system = plane_arm()
    start = np.array([1.5, -0.4, 0.2, 0.1])
    t = np.linspace(0, 0.5, 51)
    run = pl.rollout(system, None, step=np.diff(t), start=start, method="sdirk3")
    data = pl.MotionData(t=t, values=run.positions("arm.tip"), quantity=TIP, sigma=NOISE, step=0.01)
    found = pl.identify(system, data, ["start"])
    assert np.allclose(list(found.values.values()), start, rtol=1e-6, atol=1e-8)


# ---------------------------------------------------------------- intervals


def test_intervals_hold_as_often_as_they_say():
    """Stiffness and mass of a lever in 120 draws of the noise; sigma is not known."""
    real, system = lever(), lever(2.2, 0.45)
    rows = np.linspace(-1.0, 2.0, 6)[:, None]
    exact, inside, names = poses(real, rows, END), np.zeros(2), ["bar.joint.stiffness", "bar.mass"]
    draws = 120
    for seed in range(draws):
        data = pl.StaticData(inputs=rows, values=noisy(exact, seed, 0.01)[:, [0, 2]], quantity=END[[0, 2]], sigma=0.001)
        found = pl.identify(system, data, names)
        inside += [found.intervals[name][0] < true < found.intervals[name][1] for name, true in zip(names, (2.0, 0.5))]
    assert np.all(
        (inside / draws > 0.9) & (inside / draws < 0.99)
    )  # 0.95 ± 2.5 standard deviations and less than certainty


def test_known_noise_and_priors():
    rows = np.linspace(-1.0, 2.0, 6)[:, None]
    data = pl.StaticData(inputs=rows, values=noisy(poses(lever(), rows, END), 1, 0.01), quantity=END, sigma=0.01)
    plain = pl.identify(lever(3.0, 0.5), data, ["bar.joint.stiffness"], known_noise=True)
    J = plain._problem.at(plain._y).jacobian
    assert plain.covariance[0, 0] == pytest.approx(1 / (J.T @ J)[0, 0], rel=1e-10)
    told = pl.Unknown("bar.joint.stiffness", prior=(2.5, 1e-4))
    held = pl.identify(lever(3.0, 0.5), data, [told], known_noise=True)
    assert abs(held["bar.joint.stiffness"] - 2.5) < 1e-3
    assert held.standard_errors["bar.joint.stiffness"] == pytest.approx(1e-4, rel=0.02)


def test_outliers_count_less_with_a_robust_loss():
    rows = np.linspace(0, 3, 60)[:, None]
    seen = noisy(poses(plane_arm(7e5), rows), 2)
    seen[::14] += 0.03
    seen[7::14] -= 0.03
    data = pl.StaticData(inputs=rows, values=seen, quantity=TIP, sigma=NOISE)
    plain = pl.identify(plane_arm(), data, ["arm.young"])
    for loss in ("huber", "soft_l1"):
        robust = pl.identify(plane_arm(), data, ["arm.young"], loss=loss)
        assert abs(robust["arm.young"] / 7e5 - 1) < 0.2 * abs(plain["arm.young"] / 7e5 - 1)
        assert robust.intervals["arm.young"][0] < 7e5 < robust.intervals["arm.young"][1]


# ---------------------------------------------------------------- what data do not tell


def test_warnings_name_what_the_data_do_not_tell():
    rows = np.linspace(0.5, 3, 20)[:, None]
    data = pl.StaticData(inputs=rows, values=noisy(poses(plane_arm(7e5), rows), 5), quantity=TIP, sigma=NOISE)
    unseen = pl.identify(plane_arm(), data, ["arm.young", "arm.viscosity"])
    assert any("do not see arm.viscosity" in text for text in unseen.warnings)
    assert not any("do not see arm.young" in text for text in unseen.warnings)
    assert unseen.intervals["arm.viscosity"][1] == np.inf
    alike = pl.identify(plane_arm(), data, ["arm.young", "arm.density", "gain:cable"])
    assert any("arm.young, arm.density, gain:cable act nearly alike" in text for text in alike.warnings)
    assert any("held near the first guesses" in text for text in alike.warnings)
    assert alike["arm.young"] / alike["arm.density"] == pytest.approx(7e5 / 1070, rel=0.02)
    assert 1e5 < alike["arm.young"] < 1e7
    assert alike.intervals["arm.young"][1] == np.inf
    bound = pl.identify(plane_arm(), data, [pl.Unknown("arm.young", bounds=(3e5, 5e5))])
    assert any("upper bound" in text for text in bound.warnings)
    slack = pl.identify(plane_arm(), data, ["arm.young", pl.Unknown("bias:cable", start=-1.0, bounds=(-1.01, -0.99))])
    assert any("slack" in text for text in slack.warnings)


def test_steps_that_are_too_long_are_told():
    t = np.linspace(0.05, 0.5, 10)
    data = pl.MotionData(t=t, begin=0.0, values=np.zeros((10, 3)), quantity=TIP, sigma=1e-4, step=0.05, method="sdirk2")
    found = pl.identify(plane_arm(), data, ["arm.young"], iterations=2)
    assert any("steps of 0.05 s make errors" in text for text in found.warnings)
    assert any("did not converge" in text for text in found.warnings)
    fine = pl.MotionData(t=t, begin=0.0, values=np.zeros((10, 3)), quantity=TIP, sigma=1e-4)
    found = pl.identify(plane_arm(), fine, ["arm.young"], iterations=2)
    assert found.statistics["steps"]["data"] < 0.02
    assert not any("steps of" in text for text in found.warnings)


def test_several_searches():
    rows = np.linspace(-1.0, 2.0, 6)[:, None]
    data = pl.StaticData(inputs=rows, values=poses(lever(), rows, END), quantity=END, sigma=0.01)
    found = pl.identify(lever(9.0), data, [pl.Unknown("bar.joint.stiffness", bounds=(0.5, 20.0))], starts=4, seed=2)
    assert len(found.searches) == 4
    assert found["bar.joint.stiffness"] == pytest.approx(2.0, rel=1e-6)
    with pytest.raises(ValueError, match="needs bounds"):
        pl.identify(lever(), data, ["bar.joint.stiffness"], starts=2)


# ---------------------------------------------------------------- cross-validation, reports, errors


def test_rows_are_predicted_without_them():
    rows = np.linspace(-1.0, 2.0, 6)[:, None]
    seen = noisy(poses(lever(), rows, END), 4, 0.01)
    found = pl.identify(
        lever(3.0), pl.StaticData(inputs=rows, values=seen, quantity=END, sigma=0.01), ["bar.joint.stiffness"]
    )
    before = str(found)
    left = found.cross_validate()
    assert left.residuals[0].shape == (6, 3)
    keep = np.arange(6) != 2
    without = pl.identify(lever(3.0), pl.StaticData(inputs=rows[keep], values=seen[keep], quantity=END, sigma=0.01), ["bar.joint.stiffness"])  # fmt: skip
    assert left.values[2, 0] == pytest.approx(without["bar.joint.stiffness"], rel=1e-8)
    expected = poses(without.system, rows[2:3], END)[0] - seen[2]
    assert np.allclose(left.residuals[0][2], expected, atol=1e-9)
    assert left.distances().shape == (6, 1)
    assert "left-out" in str(left)
    assert str(found) == before
    assert len(found.cross_validate(2).values) == 2
    near = found.cross_validate(linear=True)
    assert (
        np.abs(near.residuals[0] - left.residuals[0]).max() < 0.05 * np.abs(left.residuals[0] - found.residuals()).max()
    )
    assert np.allclose(near.values, left.values, rtol=2e-3)
    with pytest.raises(ValueError, match="linear=True is for"):
        pl.identify(lever(3.0), found.data, ["bar.mass"], loss="huber").cross_validate(linear=True)


def test_report():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    rows = np.linspace(-1.0, 2.0, 6)[:, None]
    data = pl.StaticData(
        inputs=rows, values=noisy(poses(lever(), rows, END), 4, 0.01), quantity=END, sigma=0.01, name="bench"
    )
    found = pl.identify(lever(3.0), data, ["bar.joint.stiffness", "bar.mass"])
    text = str(found)
    for part in ("bar.joint.stiffness", "N m/rad", "bench: 18 numbers", "AIC"):
        assert part in text
    figure = found.plot(pair=("bar.mass", "bar.joint.stiffness"))
    assert len(figure.axes) >= 4
    plt.close(figure)
    with pytest.raises(KeyError, match="no unknown named"):
        found.plot(pair=("bar.mass", "bar.length"))


@pytest.mark.parametrize(
    ("unknowns", "error", "match"),
    [
        (["bar.stiffness"], KeyError, "did you mean 'bar.joint.stiffness'"),
        ([], ValueError, "unknowns is empty"),
        (["bar.mass", "bar.mass"], ValueError, "twice"),
        (["bar.mass", pl.Unknown("m", ["bar.mass"])], ValueError, "both set 'bar.mass'"),
        (["gain:moter"], KeyError, "did you mean 'motor'"),
        (["speed:bar"], ValueError, "acts on none of the data"),
        (["bar.mass@tuesday"], KeyError, "no data named 'tuesday'"),
        ([pl.Unknown("bar.mass", start=-1.0)], ValueError, "outside of"),
    ],
)
def test_unknowns_that_do_not_fit_are_errors(unknowns, error, match):
    data = pl.StaticData(values=np.zeros((1, 3)), quantity=END, sigma=0.01)
    with pytest.raises(error, match=match):
        pl.identify(lever(), data, unknowns)


def test_data_that_do_not_fit_are_errors():
    with pytest.raises(ValueError, match="have 2 entries in each row"):
        pl.identify(lever(), pl.StaticData(values=np.zeros((1, 2)), quantity=END), ["bar.mass"])
    with pytest.raises(ValueError, match="needs data that are positions"):
        pl.identify(lever(), pl.StaticData(values=np.zeros((1, 2)), quantity=END[[0, 2]]), ["pose"])
    with pytest.raises(ValueError, match=r"sigma .* must be greater than zero"):
        pl.StaticData(values=np.zeros((1, 3)), quantity=END, sigma=0.0)
    with pytest.raises(ValueError, match="times must increase"):
        pl.MotionData(t=[0.0, 0.0], values=np.zeros((2, 3)), quantity=END)
    with pytest.raises(ValueError, match="no finite entry"):
        pl.StaticData(values=[[np.nan] * 3], quantity=END)
    with pytest.raises(TypeError, match=r"must be a pl\.StaticData"):
        pl.identify(lever(), [1.0], ["bar.mass"])
    several = {"motor": pl.Signal([0, 1], [0.0, 1.0]), "other": 1.0}
    with pytest.raises(KeyError, match="no input named 'other'"):
        pl.identify(
            lever(), pl.MotionData(t=[0.0, 1.0], inputs=several, values=np.zeros((2, 3)), quantity=END), ["bar.mass"]
        )
