"""Concentric tubes: exact derivatives, a pendulum equation, another program's published numbers, an independent boundary value problem."""

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, fsolve
from scipy.special import ellipj

import pliant as pl
from load_robots import branched, check_tangents, state
from pliant.kernels import engine, slots


def three() -> list[pl.Tube]:
    """The three tubes of the tests of github.com/fcpedrosa/Concentric-Tube-Robot (MIT licence)."""

    def tube(outer: float, inner: float, straight: float, curved: float, radius: float) -> pl.Tube:
        bent = (1e3 / radius, 0.0)
        return pl.Tube(straight, curved, bent, outer / 2e3, inner / 2e3, young=65e9, poisson=0.32)

    return [
        tube(0.92, 0.80, 0.19, 0.06, 40.0),
        tube(1.10, 0.97, 0.12, 0.08, 100.0),
        tube(1.40, 1.20, 0.09, 0.04, 140.0),
    ]


def robot_of(insertion, order: int = 5) -> tuple[pl.Robot, pl.ConcentricTubes]:
    robot = pl.Robot("cannula", gravity=(0, 0, 0))
    tubes = robot.add_tubes("ctr", three(), insertion=insertion, order=order)
    for axis, direction in zip("xyz", np.eye(3)):
        robot.add_wrench(f"force_{axis}", tubes.tip, force=direction)
        robot.add_wrench(f"moment_{axis}", tubes.tip, moment=direction)
    return robot, tubes


def rotated(*angles: float) -> dict[str, float]:
    return {f"ctr_rotation{k + 1}": angle for k, angle in enumerate(angles)}


def test_tangents_on_a_floating_branched_robot():
    """Residual, its derivatives and the columns of the inputs against the complex step; the energy against the forces."""
    robot = branched(2)
    robot.add_tubes("ctr", three(), insertion=(-0.12, -0.10, -0.08), order=2, parent="tool", damping_time=0.01)
    system = robot.compile()
    q, v, a = state(system, 3)
    check_tangents(system, q, v, a, np.array([0.4, -1.1, 2.0]))


# tips (x, y, z) [m] of tests/regression/golden_fk_data.hpp there, whose z axis is our x axis: bases, rotations, force, moment, tip
HOME = (-0.12, -0.10, -0.08)
NONE = (0.0, 0.0, 0.0)
PUBLISHED = [
    (HOME, (0, 0, 0), NONE, NONE, (0, -0.055709041153762504, 0.10300380170954235)),
    (HOME, (0, 0, -0.78539816339744828), NONE, NONE, (-0.014064221456283209, -0.051671355481104381, 0.10459641771035726)),
    (HOME, (0, 0, 2.0943951023931953), NONE, NONE, (0.020510046268434685, -0.033342574637953794, 0.11302860902695142)),
    (HOME, (0, 1.0471975511965976, 0), NONE, NONE, (0.021791335438073118, -0.049426924904809072, 0.1044315715356617)),
    ((-0.1, -0.085, -0.07), (0.52359877559829882, -1.0471975511965976, 1.5707963267948966), NONE, NONE, (0.0025679899806730047, -0.042112800777961125, 0.13079904705994599)),
    ((-0.14, -0.11, -0.09), (0, 0.78539816339744828, -2.3561944901923448), NONE, NONE, (0.0052155830621220109, -0.020434755125258896, 0.10163609123657266)),
    (HOME, (0, 0, 0), (0, 0.02, 0), NONE, (0, -0.054534978863342375, 0.10404336227950516)),
    (HOME, (0, 1.0471975511965976, 0), (0.01, 0, -0.01), NONE, (0.023884975392567804, -0.049221359021128792, 0.10367837519234353)),
    (HOME, (0, 0, -1.5707963267948966), NONE, (0, 0.002, 0), (-0.02032946969265979, -0.041148948032356761, 0.1097003972587333)),
]  # fmt: skip


@pytest.mark.parametrize("case", PUBLISHED)
def test_published_tips_of_three_tubes(case):
    """Tips of another program, with and without loads, to 1e-8 m; it solves its equations to 1e-6."""
    insertion, rotation, force, moment, tip = case
    robot, tubes = robot_of(insertion)
    system = robot.compile()
    loads = {f"force_{axis}": force[k] for axis, k in zip("yzx", range(3))}
    loads |= {f"moment_{axis}": moment[k] for axis, k in zip("yzx", range(3))}
    rest = pl.solve_statics(system, rotated(*rotation) | loads)
    assert rest.success
    assert np.abs(system.pose(tubes.tip, rest.q)[[1, 2, 0], 3] - tip).max() < 1e-8


def test_the_snap_of_three_tubes():
    """Two folds, mirror images of each other; the published tip at 170° is an unstable equilibrium between them."""
    robot, tubes = robot_of(HOME)
    system = robot.compile()
    branch = pl.trace_equilibria(system, input="ctr_rotation2", stop=2 * np.pi, bounds=(0.0, 2 * np.pi))
    folds = [point.parameter for point in branch.points if point.kind == "limit"]
    assert len(folds) == 2
    assert sum(folds) == pytest.approx(2 * np.pi, abs=1e-6)
    assert np.degrees(folds[0]) == pytest.approx(211.679, abs=2e-3)
    at, published = 2.9670597283903604, (-0.0042534085026969121, -0.016257752293411552, 0.12638321614355177)
    near = [k for k in np.flatnonzero(np.diff(np.sign(branch.parameter - at))) if not branch.stable[k]]
    rest = pl.solve_statics(system, rotated(0, at, 0), start=branch.q[near[0]], stable=False)
    assert rest.stability == "divergence"
    assert np.abs(system.pose(tubes.tip, rest.q)[[1, 2, 0], 3] - published).max() < 1e-8
    held = pl.solve_statics(system, rotated(0, at, 0))
    assert held.stability == "stable"


def test_tubes_snap_while_one_is_pushed():
    """The fold met along an insertion is the fold met along a rotation there."""
    robot, tubes = robot_of(HOME)
    system = robot.compile()
    angle = np.radians(205.0)
    branch = pl.trace_equilibria(
        system,
        parameter=lambda x: tubes.inserted(system, (x, *HOME[1:])),
        u=rotated(0, angle, 0),
        begin=HOME[0],
        stop=HOME[0] + 0.01,
        bounds=(HOME[0], HOME[0] + 0.01),
        step=0.2,
        steps=6,
    )
    (fold,) = branch.special("limit")
    assert fold.parameter == pytest.approx(-0.117337, abs=1e-5)
    moved = tubes.inserted(system, (fold.parameter, *HOME[1:]))
    near = pl.solve_statics(moved, rotated(0, angle - 0.1, 0), start=branch.q[0])
    turned = pl.trace_equilibria(
        moved, input="ctr_rotation2", start=near, begin=angle - 0.1, stop=angle + 0.1, step=0.2, steps=12
    )
    (limit,) = turned.special("limit")
    assert limit.parameter == pytest.approx(angle, abs=1e-6)


def test_three_tubes_against_a_boundary_value_problem():
    """The twist equations of each tube, integrated from the plate and shot at free ends: 1e-9 m of 0.13 m, angles at the plate."""
    tubes = three()
    rotation = np.array([0.3, -1.2, 2.0])
    k, g = np.array([t.bending for t in tubes]), np.array([t.torsion for t in tubes])
    curve = np.array([t.curvatures for t in tubes])
    ends = np.array([t.length for t in tubes]) + HOME
    bends = np.array([t.straight for t in tubes]) + HOME
    marks = np.unique(np.round(np.concatenate([[0.0], ends, bends[bends > 0]]), 12))

    def slope(_s, y, there, bent):
        theta, twist, R = y[:3], y[3:6], y[9:].reshape(3, 3)
        c, s = np.cos(theta), np.sin(theta)
        wish = np.column_stack([c * curve[:, 0] - s * curve[:, 1], s * curve[:, 0] + c * curve[:, 1]]) * bent[:, None]
        u = (k * there) @ wish / (k @ there)  # in a frame that does not twist
        dtwist = there * k / g * (u[0] * wish[:, 1] - u[1] * wish[:, 0])
        hat = np.array([[0, -u[1], u[0]], [u[1], 0, 0], [-u[0], 0, 0]])
        return np.concatenate([there * twist, dtwist, R[:, 0], (R @ hat).ravel()])

    def shoot(twist):
        y = np.concatenate([rotation - np.array(HOME) * twist, twist, np.zeros(3), np.eye(3).ravel()])
        free = np.zeros(3)
        for a, b in itertools.pairwise(marks):
            middle = 0.5 * (a + b)
            there, bent = (ends > middle) * 1.0, ((bends < middle) & (ends > middle)) * 1.0
            y = solve_ivp(slope, (a, b), y, args=(there, bent), rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
            free = np.where(np.abs(ends - b) < 1e-9, y[3:6], free)
        return free, y

    twist = fsolve(lambda x: shoot(x)[0], np.zeros(3), xtol=1e-13)
    residual, end = shoot(twist)
    assert np.abs(residual).max() < 1e-9
    robot, own = robot_of(HOME, order=6)
    system = robot.compile()
    u = rotated(*rotation)
    rest = pl.solve_statics(system, u)
    assert np.abs(system.pose(own.tip, rest.q)[:3, 3] - end[6:9]).max() < 1e-9
    torques = own.torques(system, rest.q, u)
    assert np.abs(torques + g * twist).max() < 1e-7 * np.abs(g * twist).max()


def pair(curvature: float, behind: float = 0.02) -> tuple[pl.ConcentricTubes, pl.System, float]:
    """Two curved tubes of one length, straight behind the plate; c² of ψ″ = c² sin ψ."""
    inner = pl.Tube(behind, 0.1, curvature, 0.5e-3, 0.4e-3, young=60e9, poisson=0.3)
    outer = pl.Tube(behind, 0.1, curvature, 0.7e-3, 0.55e-3, young=60e9, poisson=0.3)
    robot = pl.Robot("pair", gravity=(0, 0, 0))
    tubes = robot.add_tubes("ctr", [inner, outer], insertion=(-behind, -behind), order=8)
    k1, k2 = inner.bending, outer.bending
    c2 = (1 / inner.torsion + 1 / outer.torsion) * k1 * k2 / (k1 + k2) * curvature**2
    return tubes, robot.compile(), c2


@pytest.mark.parametrize("tip", [0.4, 1.5, 2.6])
def test_two_tubes_are_a_pendulum(tip):
    """Relative angle at the tip for one at the base, by elliptic functions, to 1e-8."""
    tubes, system, c2 = pair(8.0)
    c, L, b, m = np.sqrt(c2), 0.1, 0.02, np.cos(tip / 2) ** 2
    _sn, cn, dn, _ph = ellipj(c * L, m)
    at_plate = np.pi - 2 * np.arcsin(np.sqrt(m) * cn / dn)
    rotation = at_plate + b * c * np.sqrt(2 * (np.cos(tip) - np.cos(at_plate)))
    rest = pl.solve_statics(system, {"ctr_rotation2": rotation})
    assert rest.stability == "stable"
    twist = 0.0
    for rod, sign in (("ctr_tube2_1", 1.0), ("ctr_1", -1.0)):  # other Legendre polynomials turn nothing from end to end
        angle, mean = (rest.q[system.coordinate_names.index(f"{rod}.{name}")] for name in ("angle", "torsion[0]"))
        twist += sign * (angle + L * mean)
    assert twist == pytest.approx(tip, abs=1e-8)
    assert tubes.length == pytest.approx(L)


def test_where_two_opposed_tubes_buckle():
    """Opposed tubes are straight until cos cL = b c sin cL, with b behind the plate."""

    def softest(curvature: float) -> float:
        _tubes, system, _c2 = pair(curvature)
        k1, k2 = 60e9 * np.pi / 4 * (0.5e-3**4 - 0.4e-3**4), 60e9 * np.pi / 4 * (0.7e-3**4 - 0.55e-3**4)
        q = system.neutral()
        q[system.coordinate_names.index("ctr_tube2_1.angle")] = np.pi
        q[system.coordinate_names.index("ctr_1.bending_z[0]")] = curvature * (k1 - k2) / (k1 + k2)
        zero, u = np.zeros(system.nv), system.inputs({"ctr_rotation2": np.pi})
        assert np.abs(system.residual(q, zero, zero, u)).max() < 1e-12
        return float(np.linalg.eigvalsh(system.residual_tangent(q, zero, zero, u))[0])

    _tubes, _system, per = pair(1.0)

    def exact(x: float) -> float:
        c = x * np.sqrt(per)
        return np.cos(0.1 * c) - 0.02 * c * np.sin(0.1 * c)

    critical = brentq(exact, 1.0, 1.5 / (0.1 * np.sqrt(per)), xtol=1e-14)
    found = brentq(softest, 0.9 * critical, 1.1 * critical, xtol=1e-12)
    assert found == pytest.approx(critical, rel=1e-8)


def test_insertion_gives_the_robot_that_is_built_anew():
    """Other insertions without compiling: the same numbers; another order of ends is refused."""
    robot, tubes = robot_of(HOME)
    system = robot.compile()
    moved = tubes.inserted(system, (-0.125, -0.101, -0.079))
    anew, other = robot_of((-0.125, -0.101, -0.079))
    u = rotated(0.2, 1.0, -0.4)
    first, second = pl.solve_statics(moved, u), pl.solve_statics(anew.compile(), u)
    assert np.abs(first.q - second.q).max() < 1e-9 * np.abs(second.q).max()
    assert other.length == pytest.approx(0.125)
    with pytest.raises(ValueError, match="come in another order"):
        tubes.inserted(system, (-0.05, -0.10, -0.08))
    with pytest.raises(ValueError, match="is not that of its tubes"):
        system.with_parameters({"ctr.insertion.x": -0.15})


def test_files_and_refusals(tmp_path):
    """A file gives the same robot; wrong tubes are told apart."""
    robot, _tubes = robot_of(HOME, order=2)
    robot.save(tmp_path / "tubes.yaml")
    again = pl.load_model(tmp_path / "tubes.yaml").robot.compile()
    system = robot.compile()
    q, v, a = state(system, 1)
    u = np.zeros(len(system.input_names))
    assert np.array_equal(again.residual(q, v, a, u), system.residual(q, v, a, u))
    thin, thick, _third = three()
    with pytest.raises(ValueError, match="beyond the tube inside it"):
        pl.Robot("x").add_tubes("t", [thin, thick], insertion=(-0.2, -0.05))
    with pytest.raises(ValueError, match="inside it has the radius"):
        pl.Robot("x").add_tubes("t", [thick, thin], insertion=(0.0, -0.1))
    with pytest.raises(ValueError, match="at the plate"):
        pl.Robot("x").add_tubes("t", [thin], insertion=(0.1,))
    with pytest.raises(ValueError, match="less than outer"):
        pl.Tube(0.1, 0.1, 5.0, 1e-3, 2e-3, young=1e9)


@pytest.mark.parametrize("lag", [0.0, 1e-4])
def test_motion_keeps_its_energy_or_loses_it(lag):
    """Let go away from equilibrium: without damping the energy stays, with damping it falls."""
    inner = pl.Tube(0.02, 0.1, 25.0, 0.5e-3, 0.4e-3, young=60e9)
    outer = pl.Tube(0.02, 0.1, 25.0, 0.7e-3, 0.55e-3, young=60e9)
    robot = pl.Robot("pair", gravity=(0, 0, -9.81))
    robot.add_tubes("ctr", [inner, outer], insertion=(-0.02, -0.02), order=1, damping_time=lag)
    system = robot.compile()
    u = {"ctr_rotation2": 1.6}
    start = pl.solve_statics(system, {"ctr_rotation2": 1.5}).q
    run = pl.simulate(system, 1e-3, u=u, start=start, step=1e-6, output=2e-5)
    assert run.success
    energy = run.energies()
    loads, p = [], np.zeros(engine.PARAMETERS)
    for q, v, a in zip(run.q, run.v, run.a):
        system.run_job(engine.BALANCE, q, v, a, system.inputs(u), p=p)
        loads.append(p[slots.REPORT_LOADS])
    total = energy.total + loads
    change = total - total[0]
    if lag == 0.0:
        assert np.abs(change).max() < 2e-3 * energy.kinetic.max()
    else:
        assert change[-1] < -0.1 * energy.kinetic.max()
