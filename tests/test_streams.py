"""Fluids that move over space and time: derivatives by complex step, drag in shear, Morison's force, drift in waves."""

import numpy as np
import pytest

import pliant as pl
from gradient_checks import errors
from load_robots import branched, check_tangents, state

FIELDS = {
    "wave": [pl.Wave(amplitude=0.2, length=1.5, direction=(1, 0.5, 0.2), depth=0.8, level=2.5, up=(0.1, -0.2, 1))],
    "deep wave": [pl.Wave(amplitude=0.1, length=2.0, level=3.0)],
    "profile": [pl.Profile(velocity=(0.5, 0.2, -0.1), height=0.7, exponent=0.4, ground=-5.0, up=(0, 0.3, 1))],
    "gust": [pl.Gust((1, 2, 3))],
    "all": [
        pl.Wave(amplitude=0.2, length=1.5, level=2.5),
        pl.Profile(velocity=(0.5, 0.2, -0.1), height=0.7, ground=-5.0),
        pl.Gust("y"),
        pl.Wave(amplitude=0.1, length=0.9, direction="y", level=2.5, depth=4.0),
    ],
}  # fmt: skip


def swimmer(fields, current=(0.1, -0.3, 0.2)) -> pl.System:
    """A branched floating robot with offsets: round and flat rods, a tail, full matrices on a body."""
    rng = np.random.default_rng(5)
    robot = branched(4)
    robot.set_fluid(density=900.0, current=current)
    robot.add_hydrodynamics("arm", pl.Hydrodynamics.circular())
    robot.add_hydrodynamics("hand", pl.Hydrodynamics.elliptic(cx=0.1))
    robot.add_hydrodynamics(
        "hub", pl.Hydrodynamics(linear_drag=_positive(rng), drag=_positive(rng), added_mass=_positive(rng))
    )
    for k, field in enumerate(fields):
        robot.add_load(f"field {k}", field)
    return robot.compile()


def _positive(rng) -> np.ndarray:
    A = rng.normal(size=(6, 6))
    return A @ A.T * 0.1


@pytest.mark.parametrize("name", FIELDS)
def test_derivatives_by_complex_step(name):
    system = swimmer(FIELDS[name])
    q, v, a = state(system, 7, scale=0.3)
    check_tangents(system, q, v, a, np.random.default_rng(1).normal(size=system.nu))


def test_derivatives_by_differences():
    """Not by complex step, which the kernel takes itself."""
    system = swimmer(FIELDS["all"])
    q, v, a = state(system, 7, scale=0.3)
    u = np.random.default_rng(1).normal(size=system.nu)
    K = system.residual_tangent(q, v, a, u, weights=(1, 0, 0))
    B = system.actuation_matrix(q, v, u)
    for k in range(system.nv):
        d = np.zeros(system.nv)
        d[k] = 1e-5 * system.internal.scale[k]
        there, back = (system.residual(system.integrate(q, s * d), v, a, u) for s in (1, -1))
        np.testing.assert_allclose(K[:, k], (there - back) / (2 * d[k]), atol=2e-7 * np.abs(K).max())
    for k in range(system.nu):
        d = np.zeros(system.nu)
        d[k] = 1e-5
        slope = (system.residual(q, v, a, u + d) - system.residual(q, v, a, u - d)) / 2e-5
        np.testing.assert_allclose(B[:, k], -slope, atol=1e-6 * np.abs(B).max())


def test_a_uniform_field_is_a_current():
    """A gust of constant speed is the same as a uniform current: drag, tail, added mass."""
    plain = swimmer([], current=(0.3, -0.1, 0.6))
    gusty = swimmer([pl.Gust((0.2, 0.2, 0.4))], current=(0.1, -0.3, 0.2))
    q, v, a = state(plain, 2)
    speed = np.linalg.norm((0.2, 0.2, 0.4))
    r, s = plain.residual(q, v, a), gusty.residual(q, v, a, [speed])
    np.testing.assert_allclose(s, r, atol=1e-12 * np.abs(r).max())


# ---------------------------------------------------------------- closed forms

RADIUS, HEIGHT, RHO, CD = 0.05, 2.0, 1000.0, 1.1


def pile(load, added=1.0, buoyant=True) -> pl.System:
    """A stiff upright cylinder on a slider along x that holds it: the residual there is the force of the fluid."""
    robot = pl.Robot("pile", gravity=(0, 0, 0))
    robot.set_fluid(density=RHO)
    cart = robot.add_body("cart", joint=pl.Prismatic("x"), shape=pl.Sphere(0.01), mass=1.0)
    robot.add_rod(
        "pile", parent=cart, offset=pl.translate(0, 0, -HEIGHT) @ pl.rotate("y", -np.pi / 2), length=HEIGHT, section=pl.Circle(RADIUS),
        material=pl.Material(young=1e11, poisson=0.3, density=2000), strains=pl.Strains(bending_y=0), points=24,
    )  # fmt: skip
    robot.add_hydrodynamics("pile", pl.Hydrodynamics.circular(cx=0.0, cy=CD, cz=CD, by=added, bz=added))
    robot.add_load("field", load)
    return robot.compile()


def push(system, u=None) -> float:
    """Force of the fluid along x on the pile that is held still [N]."""
    zero = np.zeros(system.nv)
    return -float(system.residual(system.neutral(), zero, zero, u)[0])


@pytest.mark.parametrize("exponent", [1.0, 1 / 7])
def test_drag_in_a_profile_is_its_integral(exponent):
    """∫ ρ R C_d U² dz over the height with U = U₀ (h/H)^α: ρ R C_d U₀² H / (2α + 1)."""
    system = pile(pl.Profile(velocity=(0.7, 0, 0), height=HEIGHT, exponent=exponent, ground=-HEIGHT))
    expected = RHO * RADIUS * CD * 0.7**2 * HEIGHT / (2 * exponent + 1)
    assert abs(push(system) - expected) < (1e-10 if exponent == 1.0 else 2e-4) * expected


@pytest.mark.parametrize("depth", [None, 2.0])
@pytest.mark.parametrize("amplitude", [1e-3, 0.2])
def test_morisons_force_on_a_pile_in_waves(depth, amplitude):
    """∫ (ρ A (1 + C_a) (∂u/∂t + u ∂u/∂x + w ∂u/∂z) + ρ R C_d ‖(u, w)‖ u) dz, at all phases."""
    wave = pl.Wave(amplitude=amplitude, length=6.0, depth=depth)
    system = pile(wave)
    k, w = wave.number, wave.frequency
    nodes, weights = np.polynomial.legendre.leggauss(60)
    z = -HEIGHT / 2 * (1 - nodes)
    D = 50.0 if depth is None else depth
    cosh, sinh = np.cosh(k * (z + D)) / np.sinh(k * D), np.sinh(k * (z + D)) / np.sinh(k * D)
    scale = amplitude * w
    forces = []
    for phase in np.linspace(0, 2 * np.pi, 7):
        cos, sin = np.cos(-phase), np.sin(-phase)
        u, v = scale * cosh * cos, scale * sinh * sin
        rate = scale * w * cosh * sin - u * scale * k * cosh * sin + v * scale * k * sinh * cos
        density = RHO * np.pi * RADIUS**2 * 2.0 * rate + RHO * RADIUS * CD * np.hypot(u, v) * u
        forces.append((push(system, [phase]), HEIGHT / 2 * np.sum(weights * density)))
    found, expected = np.array(forces).T
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


def ball(wave) -> pl.System:
    """A small neutral ball, tied to the water by linear drag."""
    robot = pl.Robot("ball", gravity=(0, 0, 0))
    radius = 0.005
    robot.set_fluid(density=RHO)
    robot.add_body(
        "ball", joint=pl.Free(), offset=(0, 0, -0.3), shape=pl.Sphere(radius), mass=RHO * 4 / 3 * np.pi * radius**3
    )
    robot.add_hydrodynamics("ball", pl.Hydrodynamics(linear_drag=np.diag([1e-3] * 3 + [0.05] * 3)))
    robot.add_load("sea", wave)
    return robot.compile()


def test_a_neutral_particle_follows_the_water_and_drifts():
    """Orbits, and Stokes' drift a² ω k exp(2kz) along the wave."""
    wave = pl.Wave(amplitude=0.05, length=4.0)
    system, k = ball(wave), wave.number
    velocity = np.zeros(6)
    velocity[3] = wave.amplitude * wave.frequency * np.exp(-0.3 * k)
    periods = 5
    run = pl.simulate(
        system,
        periods * wave.period,
        u={"sea": wave.phase},
        velocity=velocity,
        rtol=1e-7,
        atol=1e-9,
        output=wave.period,
    )
    x = run.positions("ball")
    z = -0.3 - wave.amplitude * np.exp(-0.3 * k)  # it starts on top of its orbit
    drift = wave.amplitude**2 * wave.frequency * k * np.exp(2 * k * z)
    found = (x[-1, 0] - x[0, 0]) / (periods * wave.period)
    assert abs(found - drift) < 0.05 * drift
    assert abs(x[-1, 2] - x[0, 2]) < 2e-3


def test_waves_in_motion_have_the_order_of_the_method():
    """Time reaches the step by its inputs: third order."""
    wave = pl.Wave(amplitude=0.1, length=4.0)
    system = ball(wave)
    fine = pl.simulate(system, 1.0, u={"sea": wave.phase}, method="esdirk5", step=0.005)
    errors, steps = [], np.array([0.04, 0.02, 0.01])
    for h in steps:
        run = pl.simulate(system, 1.0, u={"sea": wave.phase}, method="esdirk3", step=h)
        errors.append(np.abs(run.positions("ball")[-1] - fine.positions("ball")[-1]).max())
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] > 2.5, errors


def test_files_keep_streams(tmp_path):
    robot = swimmer(FIELDS["all"]).robot
    pl.save_model(robot, tmp_path / "sea.yaml")
    again = pl.load_model(tmp_path / "sea.yaml").robot
    q, v, a = state(robot.compile(), 2)
    u = np.array([0.3, 0.2, 0.1])
    np.testing.assert_allclose(
        again.compile().residual(q, v, a, u), robot.compile().residual(q, v, a, u), rtol=1e-12, atol=1e-12
    )


def test_the_direction_of_a_wave_that_is_read_again_stays():
    rng = np.random.default_rng(0)
    for _ in range(200):
        wave = pl.Wave(0.1, 2.0, direction=rng.normal(size=3), up=rng.normal(size=3))
        again = pl.Wave(0.1, 2.0, direction=wave.direction, up=wave.up)
        assert np.array_equal(wave.shape(), again.shape())
        assert abs(np.dot(wave.direction, wave.up)) < 1e-15


def test_bad_streams_are_refused():
    with pytest.raises(ValueError, match=r"Wave\.length"):
        pl.Wave(amplitude=0.1, length=0.0)
    with pytest.raises(ValueError, match=r"Wave\.direction"):
        pl.Wave(amplitude=0.1, length=1.0, direction="z")
    with pytest.raises(ValueError, match=r"Profile\.height"):
        pl.Profile(velocity=(1, 0, 0), height=-1.0)
    robot = pl.Robot("dry")
    robot.add_body("ball", joint=pl.Free(), shape=pl.Sphere(0.1), mass=1.0)
    robot.add_load("sea", pl.Wave(amplitude=0.1, length=1.0))
    with pytest.raises(ValueError, match="no fluid"):
        robot.compile()


def test_gradients_of_motions():
    """By phases of a wave and by the start: against differences."""
    system = ball(pl.Wave(amplitude=0.1, length=4.0))
    U = np.linspace(0.0, 0.8, 12)[:, None]
    found = errors(
        system, U, pl.Reach("ball", (0.1, 0.0, -0.2), at="all"), start=system.neutral(), parameters=("ball.mass",), step=0.02,
    )  # fmt: skip
    assert max(found.values()) < 1e-7, found
