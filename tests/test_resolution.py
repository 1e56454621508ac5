"""Points along rods and tendons: that they are enough by default, that one is told when they are not."""

import math

import numpy as np
import pytest

import pliant as pl
from load_robots import branched
from pliant.compile.degrees import degrees_of, derivative
from pliant.model.rods.quadrature import gauss, gauss_integrals
from pliant.solve.resolution import most_bent, spatial_warning
from pliant.system.spatial import rough_error, shape_error

LENGTH = 0.4
SILICONE = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
STEPPED = pl.Circle(pl.Stepped([0.02] * 6))
FINE = 64


def arm(strains, points=None, section=None, **options):
    robot = pl.Robot("arm")
    section = pl.Circle(0.02) if section is None else section
    rod = robot.add_rod(
        "arm", length=LENGTH, section=section, material=SILICONE, strains=strains, points=points, **options
    )
    return robot, rod


def driven(strains, routing, points=None, section=None, **options):
    robot, rod = arm(strains, points, section)
    robot.add_tendon("cable", rod, **routing, **options)
    return robot.compile()


def actuation_error(strains, routing, section=None, scale=0.7, **options):
    """Largest error of the actuation matrix and of the length, relative to the largest entry, in two deformed states."""
    system = driven(strains, routing, None, section, **options)
    fine = driven(strains, routing, FINE, section, **options)
    worst = 0.0
    for seed in (0, 1):
        q = system.random(seed, scale=scale)
        a, b = system.actuation_matrix(q), fine.actuation_matrix(q)
        length, exact = system.tendon_lengths(q)[0][0], fine.tendon_lengths(q)[0][0]
        worst = max(worst, np.abs(a - b).max() / np.abs(b).max(), abs(length / exact - 1))
    return worst


# ---------------------------------------------------------------- tendons


@pytest.mark.parametrize("turns", [1, 2, 5])
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("section", [STEPPED, pl.Circle(0.02)], ids=["stepped", "plain"])
def test_a_helical_cable_on_a_rod_of_low_order(section, order, turns):
    """It was off by 280 % on six stepped pieces with two turns, by 0.8 % on a plain rod of order 1, by 86 % with five turns."""
    assert actuation_error(pl.Strains.kirchhoff(order), pl.helical_routing(0.01, turns=turns), section) < 1e-5


TABLE = np.linspace(0, 1, 7)
ROUTINGS = {
    "straight": {"z": 0.01},
    "oblique": {"y": (0.01, -0.01), "z": 0.005},
    "one turn": pl.helical_routing(0.01, turns=1),
    "five turns": pl.helical_routing(0.01, turns=5),
    "function": {"y": lambda X: 0.01 * math.cos(3 * X) * math.exp(-X), "z": lambda X: 0.008 * X * X},
    "cubic table": {"y": pl.Table(TABLE, 0.01 * np.cos(4 * TABLE))},
    "linear table": {"y": pl.Table(TABLE, 0.01 * np.cos(4 * TABLE), kind="linear")},
}


@pytest.mark.parametrize("span", [(0.0, 1.0), (0.9, 0.13)], ids=["all", "part, backwards"])
@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize(
    ("strains", "section"),
    [
        (pl.Strains.kirchhoff_extensible(0), pl.Circle((0.02, 0.012))),
        (pl.Strains.kirchhoff_extensible(1), STEPPED),
        (pl.Strains(torsion=5, bending=5, stretch=1), pl.Circle((0.02, 0.012))),
        (pl.Strains.kirchhoff(pl.LinearElements(3)), None),
    ],
    ids=["constant", "linear, stepped", "quintic", "elements"],
)
def test_actuation_is_right_to_four_digits_by_default(strains, section, routing, span):
    assert actuation_error(strains, ROUTINGS[routing], section, start=span[0], end=span[1]) < 1e-4


def test_a_straight_cable_needs_few_points():
    """One would do for constant strains; what it costs follows from what varies."""
    assert len(driven(pl.Strains.kirchhoff(0), {"z": 0.01}).tendons.point) <= 2
    assert len(driven(pl.Strains.kirchhoff(4), {"z": 0.01}).tendons.point) <= 12


def test_tendons_of_a_rod_that_need_about_as_many_points_share_them():
    """What is computed at a point of a rod, once for all; a cable with far fewer, one with friction and one on a part of the rod do not."""
    strains, helix = pl.Strains.kirchhoff(4), pl.helical_routing(0.01, turns=2)
    robot, rod = arm(strains)
    robot.add_tendon("straight", rod, z=0.01)
    robot.add_tendon("helical", rod, **helix)
    system, alone = robot.compile(), driven(strains, helix)
    own = len(driven(strains, {"z": 0.01}).tendons.point)
    assert own < len(alone.tendons.point) <= 3 * own
    assert len(system.tendons.node) == len(alone.tendons.node)
    assert len(system.tendons.point) == 2 * len(alone.tendons.point)
    for routing, options in (
        (pl.helical_routing(0.01, turns=12), {}),
        (helix, {"friction": 0.1}),
        (helix, {"end": 0.8}),
    ):
        robot, rod = arm(strains)
        robot.add_tendon("straight", rod, z=0.01)
        robot.add_tendon("other", rod, **routing, **options)
        counts = np.bincount(robot.compile().tendons.point[:, 0])
        assert counts[0] == own
        assert counts[1] == len(driven(strains, routing, **options).tendons.point)


def test_a_slack_tendon_takes_no_part_where_it_has_no_direction():
    """At this strain its length density is zero: what the other one does is the same as without it."""
    strains = pl.Strains(bending_y=0, stretch=0)
    robot, rod = arm(strains)
    robot.add_tendon("slack", rod, z=0.01)
    robot.add_tendon("cable", rod, z=-0.01)
    state = np.array([-50.0, -0.5]), np.zeros(2), np.zeros(2), {"cable": 1.0}
    system, alone = robot.compile(), driven(strains, {"z": -0.01})
    np.testing.assert_allclose(system.residual(*state), alone.residual(*state), rtol=1e-12)
    np.testing.assert_allclose(system.residual_tangent(*state), alone.residual_tangent(*state), rtol=1e-12)


def test_points_given_by_hand_are_kept_and_a_routing_that_they_do_not_follow_is_named():
    strains = pl.Strains.kirchhoff(4)
    for routing in ({"z": 0.01}, {"z": (0.01, -0.01)}):
        system = driven(strains, routing, points=5)
        assert len(system.tendons.point) == 5
        assert spatial_warning(system, system.neutral(), 1e-3) is None
    system = driven(strains, pl.helical_routing(0.01, turns=5), points=5)
    assert len(system.tendons.point) == 5
    said = str(spatial_warning(system, system.neutral(), 1e-3))
    assert "Tendon 'cable' turns faster than points = 5 follow" in said
    enough = int(said.split("at least ")[1].split(",")[0])
    system = driven(strains, pl.helical_routing(0.01, turns=5), points=enough)
    assert spatial_warning(system, system.neutral(), 1e-3) is None
    exact = driven(strains, pl.helical_routing(0.01, turns=5), points=FINE)
    B = [s.actuation_matrix(system.random(0, scale=0.5)) for s in (system, exact)]
    np.testing.assert_allclose(B[0], B[1], atol=2e-3 * np.abs(B[1]).max())


def test_friction_of_a_cable_that_winds_five_times():
    """On a straight rod the cable turns evenly: its mean tension along the rod is (1 − exp(−μθ)) / μθ."""
    turns, r, mu = 5, 0.01, 0.2
    strains = pl.Strains(stretch=0, torsion=0)
    system = driven(strains, pl.helical_routing(r, turns=turns), friction=mu)
    rate = 2 * np.pi * turns / LENGTH
    stretch = np.hypot(1.0, r * rate)
    angle = LENGTH * r * rate**2 / stretch
    force = -system.residual(system.neutral(), np.zeros(2), np.zeros(2), {"cable": 1.0})
    expected = -(1 - np.exp(-mu * angle)) / (mu * angle) * LENGTH / stretch
    np.testing.assert_allclose(force[system.dof_names.index("arm.stretch[0]")], expected, rtol=1e-4)


def test_a_kink_must_be_named():
    def bent(X):
        return 0.004 + 0.01 * abs(X - 0.37)

    robot, rod = arm(pl.Strains.kirchhoff(2))
    robot.add_tendon("cable", rod, y=bent)
    system = robot.compile()
    said = spatial_warning(system, system.neutral(), 1e-3)
    assert said is not None
    assert "Tendon 'cable' has a kink" in said
    assert "breaks" in said
    robot, rod = arm(pl.Strains.kirchhoff(2))
    robot.add_tendon("cable", [pl.Along(rod, y=bent, breaks=(0.37,))])
    system = robot.compile()
    assert spatial_warning(system, system.neutral(), 1e-3) is None


# ---------------------------------------------------------------- densities and loads


def shaken(points=None, frequency=30.0):
    robot, rod = arm(pl.Strains.kirchhoff(2), points)
    robot.add_distributed_wrench("wave", rod, force=lambda X: (0, 0, math.sin(frequency * X)), constant=True)
    return robot.compile()


def test_points_follow_a_distributed_load():
    system, fine = shaken(), shaken(FINE)
    assert len(system.rod_points("arm")) > 12
    zero = np.zeros(system.nv)
    a, b = (s.residual(s.neutral(), zero, zero) - s.gravity_forces(s.neutral()) for s in (system, fine))
    np.testing.assert_allclose(a, b, atol=1e-3 * np.abs(b).max())
    assert spatial_warning(system, system.neutral(), 1e-3) is None


def test_points_given_by_hand_that_do_not_follow_a_load_are_named():
    system = shaken(points=6)
    assert "wrench 'wave' of rod 'arm' varies faster than points = 6 follow" in str(
        spatial_warning(system, system.neutral(), 1e-3)
    )
    assert spatial_warning(shaken(points=6, frequency=1.0), system.neutral(), 1e-3) is None


@pytest.mark.parametrize(
    "options",
    [
        {"section": pl.Circle(lambda X: 0.02 + 0.004 * np.sin(20 * X))},
        {"reference_strain": lambda X: (0, 0, 10 * math.sin(12 * X), 1, 0, 0)},
    ],
    ids=["section", "reference strain"],
)
def test_points_follow_functions_of_the_rod(options):
    strains = pl.Strains.kirchhoff(2)
    system, fine = (arm(strains, points, **options)[0].compile() for points in (None, FINE))
    tips = [s.pose("arm.tip", pl.solve_statics(s).q)[:3, 3] for s in (system, fine)]
    assert np.linalg.norm(tips[0] - tips[1]) < 1e-3 * LENGTH


def test_jumps_end_elements_where_a_function_tells_them():
    def force(X):
        return (0.0, 0.0, 1.0 if X < 0.31 else -2.0)

    def loaded(load):
        robot, rod = arm(pl.Strains.kirchhoff(2))
        robot.add_distributed_wrench("w", rod, force=load, constant=True)
        return robot.compile()

    system = loaded(force)
    assert "wrench 'w' of rod 'arm' has a jump" in str(spatial_warning(system, system.neutral(), 1e-3))
    force.breakpoints = (0.31,)
    system = loaded(force)
    assert spatial_warning(system, system.neutral(), 1e-3) is None
    assert np.abs(system.rod_points("arm") - 0.31).min() < 1e-12


def test_a_stepped_width_in_water_ends_an_element():
    robot, rod = arm(pl.Strains.kirchhoff(2))
    robot.set_fluid(density=1000.0)
    robot.add_hydrodynamics(rod, pl.Hydrodynamics.flat("y", width=pl.Stepped([0.05, 0.02], at=(0.3,))))
    assert np.abs(robot.compile().rod_points("arm") - 0.3).min() < 1e-12


# ---------------------------------------------------------------- rods


def soft(order, points=None, **options):
    """A rod of 1 m that its weight bends down by 150 to 200 degrees of turning in all, with a tip moment."""
    material = pl.Material(young=1e5, poisson=0.45, density=1000, viscosity=200.0)
    robot = pl.Robot("soft")
    rod = robot.add_rod(
        "rod",
        length=1.0,
        section=pl.Circle(0.02),
        material=material,
        strains=pl.Strains.kirchhoff(order),
        points=points,
        **options,
    )
    robot.add_wrench("moment", rod.tip, moment=(0, 0, np.pi * 1e5 * np.pi * 0.02**4 / 4), axes="body", constant=True)
    return robot.compile()


@pytest.mark.parametrize("order", range(7))
def test_default_points_of_a_strongly_bent_rod(order):
    """Orders 1 to 3 left 0.15 to 0.3 % of the length."""
    system, fine = soft(order), soft(order, 40)
    exact = pl.solve_statics(fine)
    rest = pl.solve_statics(system, start=exact.q)
    assert exact.success
    assert rest.success
    tips = [s.pose("rod.tip", e.q)[:3, 3] for s, e in ((system, rest), (fine, exact))]
    assert np.linalg.norm(tips[0] - tips[1]) < 1e-3


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_default_points_of_a_falling_rod(order):
    """Clamped and level it swings down; orders 2 and 3 left 0.5 to 1 % of the length."""

    def fall(points):
        robot = pl.Robot("beam")
        robot.add_rod(
            "rod",
            length=1.0,
            section=pl.Circle(0.02),
            material=pl.Material(young=1e6, poisson=0.45, density=1000, viscosity=2e3),
            strains=pl.Strains.kirchhoff(order),
            points=points,
        )
        return pl.simulate(robot.compile(), 0.6, step=0.005).positions("rod.tip")

    assert np.linalg.norm(fall(None) - fall(32), axis=1).max() < 1e-3


def test_default_points_are_few():
    for order, points in ((0, 6), (1, 10), (2, 12), (3, 12), (4, 12), (5, 12), (6, 14)):
        assert len(soft(order).rod_points("rod")) - 2 == points


# ---------------------------------------------------------------- estimates


@pytest.mark.parametrize(("order", "points"), [(1, 3), (2, 5), (3, 8), (4, 6)])
@pytest.mark.parametrize("options", [{}, {"magnus": 2}, {"collocation": True}, {"integration": "spectral"}], ids=str)
def test_the_spatial_error_is_what_more_points_change(order, points, options):
    system, fine = soft(order, points, **options), soft(order, 40)
    rest = pl.solve_statics(system)
    exact = pl.solve_statics(fine, start=rest.q)
    error = system.spatial_error(rest.q, rest.u)
    a, b = (s.rod_poses("rod", e.q, 5)[:, :3, 3] for s, e in ((system, rest), (fine, exact)))
    true = np.linalg.norm(a - b, axis=1).max()
    assert error.value > 0.5 * true
    if error.value < 0.02:  # else a linear step says little
        assert 0.5 * true < error.shift < 2.0 * true
    assert error.rods["rod"] == error.shape
    assert error.points == {"rod": points}


def test_following_the_advice_meets_the_tolerance():
    error = soft(3, 5).spatial_error(pl.solve_statics(soft(3, 5)).q)
    assert error.value > 1e-3
    points = int(error.advice(1e-3).split("points=")[1].split()[0])
    better = soft(3, points)
    assert better.spatial_error(pl.solve_statics(better).q).value < 1.2e-3
    assert better.spatial_error(better.neutral()).advice(1e-3) == ""


@pytest.mark.parametrize("family", ["kirchhoff", "reissner"])
@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("magnus", [2, 4])
def test_the_rough_error_is_never_below_half_of_the_error(order, family, magnus):
    system = arm(getattr(pl.Strains, family)(order), magnus=magnus)[0].compile()
    for seed in range(6):
        q = system.random(seed, scale=1.0)
        assert 0.45 < rough_error(system, q) / shape_error(system, q)[0] < (15 if magnus == 4 else 30)
    assert rough_error(system, system.neutral()) == 0.0


def test_steps_of_order_two_that_are_too_few_are_told():
    """The rough estimate decides whether anybody looks closer."""
    told = {}
    for points in (3, 40):
        system = arm(pl.Strains.kirchhoff(2), points=points, magnus=2)[0].compile()
        told[points] = "points along rods" in " ".join(pl.solve_statics(system).warnings)
    assert told == {3: True, 40: False}


def closed_loop():
    robot = pl.Robot("loop")
    left = robot.add_rod(
        "left", length=0.4, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.kirchhoff(2)
    )
    right = robot.add_rod(
        "right", parent=left, length=0.4, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.kirchhoff(2)
    )
    robot.add_loop("pin", right.tip, joint=pl.Spherical())
    return robot


def touching():
    robot, rod = arm(pl.Strains.kirchhoff(3), 6)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.1))
    robot.add_contact("touch", rod, "floor", stiffness=1e4)
    return robot


def swimming():
    robot, rod = arm(pl.Strains.kirchhoff(3), 5)
    robot.set_fluid(density=1000.0)
    robot.add_hydrodynamics(rod, pl.Hydrodynamics.circular())
    return robot


@pytest.mark.parametrize("make", [branched, closed_loop, touching, swimming])
def test_spatial_errors_of_all_kinds_of_robots(make):
    system = make().compile()
    q = system.random(3, scale=0.6)
    before = system.residual(q, np.zeros(system.nv), np.zeros(system.nv))
    error = system.spatial_error(q)
    assert 0 < error.value < 0.2
    assert np.isfinite(error.force)
    assert set(error.rods) == set(error.points)
    assert "spatial error" in str(error)
    np.testing.assert_array_equal(before, system.residual(q, np.zeros(system.nv), np.zeros(system.nv)))


def test_a_robot_without_rods_has_no_spatial_error():
    robot = pl.Robot("pendulum")
    robot.add_body("bob", joint=pl.Revolute("y"), mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.01, 0.01))
    system = robot.compile()
    error = system.spatial_error([1.0])
    assert error.value == 0.0
    assert error.advice() == ""
    assert spatial_warning(system, [1.0], 1e-9) is None


def test_stiffness_of_contact_points_is_no_spatial_error():
    """With twice the points there would be twice the springs: another model."""
    system = touching().compile()
    rest = pl.solve_statics(system)
    error = system.spatial_error(rest.q)
    assert error.force < 0.02
    assert error.value < 0.01


# ---------------------------------------------------------------- the sentence for results


def test_the_warning_names_error_tolerance_rod_and_remedy():
    system = soft(3, 5)
    rest = pl.solve_statics(system)
    said = spatial_warning(system, rest.q, 1e-3)
    assert said is not None
    assert "more than the tolerance of 0.1 %" in said
    assert "instead of 5 for rod 'rod'" in said


def test_no_finer_system_is_compiled_where_the_estimate_is_small():
    robot, rod = arm(pl.Strains.kirchhoff(4))
    robot.add_tendon("cable", rod, z=0.01)
    system = robot.compile()
    rest = pl.solve_statics(system, {"cable": 5.0})
    assert spatial_warning(system, rest.q, 1e-3) is None
    assert "companion" not in vars(system)
    assert spatial_warning(system, rest.q, 1e-12) is not None
    assert "companion" in vars(system)


def test_the_most_bent_of_stored_states_is_looked_at():
    system = soft(3, 5)
    rest = pl.solve_statics(system)
    states = np.array([0.0 * rest.q, rest.q, 0.3 * rest.q])
    np.testing.assert_array_equal(most_bent(system, states), rest.q)
    assert spatial_warning(system, states, 1e-3) == spatial_warning(system, rest.q, 1e-3)
    assert spatial_warning(system, states[:0], 1e-3) is None
    assert spatial_warning(system, np.full(system.nq, np.nan), 1e-3) is None


# ---------------------------------------------------------------- tools


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_integrals_between_gauss_points(n):
    nodes, weights = gauss(n)
    W = gauss_integrals(n)
    for k in range(n):
        np.testing.assert_allclose(W @ nodes**k, nodes ** (k + 1) / (k + 1), atol=1e-14)
    assert W.shape == (n, n)
    assert weights.shape == (n,)


def test_degrees_of_polynomials_waves_and_kinks():
    edges = np.array([0.0, 0.5, 1.0])
    found = degrees_of(lambda X: np.column_stack([X**5, np.where(X < 0.5, 1.0, X)]), edges, tolerance=1e-8)
    assert found.degree.tolist() == [5, 5]
    assert found.resolved.all()
    wave = degrees_of(lambda X: np.sin(60 * X)[:, None], np.array([0.0, 1.0]), tolerance=1e-6)
    assert wave.resolved.all()
    assert 30 < wave.degree[0] < 60
    kink = degrees_of(lambda X: np.abs(X - 0.3)[:, None], np.array([0.0, 1.0]), tolerance=1e-6)
    assert not kink.resolved.any()


def test_derivatives_of_fast_functions():
    X = np.linspace(0.1, 0.9, 7)
    found = derivative(lambda s: np.sin(80 * s)[:, None], X, (0.0, 1.0))
    np.testing.assert_allclose(found[:, 0], 80 * np.cos(80 * X), atol=1e-6)
