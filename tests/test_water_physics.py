"""Water against physics: buoyancy, falling, added mass, ideal flow, currents, drag, Lighthill's theory, lift, errors."""

import numpy as np
import pytest

import pliant as pl
from load_robots import branched, state
from robots import SILICONE

G, WATER = 9.81, 1000.0
UP = np.array([0.0, 0.0, G])
TIGHT = {"method": "dop853", "rtol": 1e-11, "atol": 1e-12}


def ball(density: float, radius: float = 0.1, *, gravity=-UP, current=(0, 0, 0), **more) -> pl.System:
    robot = pl.Robot("ball", gravity=gravity)
    body = robot.add_body("ball", joint=pl.Free(), shape=pl.Sphere(radius), density=density)
    robot.set_fluid(density=WATER, current=current)
    robot.add_hydrodynamics(body, pl.Hydrodynamics.sphere(**more))
    return robot.compile()


def random_drag(rng: np.random.Generator) -> np.ndarray:
    A, B = rng.normal(size=(2, 6, 6))
    return A @ A.T + 3 * (B - B.T)


def random_mass(rng: np.random.Generator) -> np.ndarray:
    A = rng.normal(size=(6, 6))
    return A @ A.T


def submerged(gravity=(0, 0, 0), *, seed=0, current=(0, 0, 0), drag=True, mass=True, tail=True, buoyancy=True):
    """A branched floating robot of light and heavy links, each of which displaces its own weight."""
    rng = np.random.default_rng(100 + seed)
    robot = branched(seed)
    robot.gravity = np.array(gravity, dtype=float)
    robot.set_fluid(density=WATER, current=current)
    for link in robot.links:
        size, own = (5.0, {}) if link.is_rod else (0.5, {})
        if buoyancy and link.is_rod:
            own["volume"] = lambda X, rod=link.content: rod.inertia_at(X)[:, 3, 3] / WATER
        elif buoyancy:
            own["volume"] = link.content.inertia.mass / WATER
        if drag:
            own |= {"drag": size * random_drag(rng), "linear_drag": size * random_drag(rng)}
        if mass:
            own["added_mass"] = size * random_mass(rng)
            if link.is_rod and tail:
                own |= {"added_mass": [0.01, 0.02, 0.03, 0.4, 3.0, 2.0], "tail": True}
        robot.add_hydrodynamics(link, pl.Hydrodynamics(buoyancy=buoyancy, **own))
    return robot.compile()


# -- buoyancy ---------------------------------------------------------------------------------------------------
def test_buoyancy_is_the_weight_of_the_displaced_water():
    robot = pl.Robot("float", gravity=-UP)
    hub = robot.add_body("hub", joint=pl.Free(), shape=pl.Box(0.3, 0.2, 0.1), density=300.0, com=(0.02, 0, -0.01))
    rod = robot.add_rod(
        "rod", parent=hub, offset=(0.1, 0, 0), length=0.6, section=pl.Circle((0.03, 0.01)), material=SILICONE,
        strains=pl.Strains.kirchhoff(2), points=16,
    )  # fmt: skip
    robot.add_body("lead", parent=rod.tip, shape=pl.Sphere(0.02), density=11000.0)
    dry = robot.compile()
    robot.set_fluid(density=1025.0)
    robot.add_hydrodynamics(robot.links)
    wet = robot.compile()
    q, v, a = state(wet, 1)
    lift = dry.residual(q, v, a) - wet.residual(q, v, a)
    R = wet.pose("hub", q)[:3, :3]
    cone = np.pi * 0.6 * (0.03**2 + 0.03 * 0.01 + 0.01**2) / 3
    volume = 0.3 * 0.2 * 0.1 + cone + 4 / 3 * np.pi * 0.02**3
    np.testing.assert_allclose(R @ lift[3:6], 1025.0 * volume * UP, rtol=1e-12, atol=1e-12)
    # each part lifts at its own centre: the moment about the hub, with the cone integrated finely
    X, w = np.polynomial.legendre.leggauss(30)
    X, w = 0.5 * (X + 1), 0.5 * w
    x0 = wet.pose("hub", q)[:3, 3]
    moment = 0.006 * np.cross(R @ [0.02, 0, -0.01], 1025 * UP)
    area = np.pi * (0.03 - 0.02 * X) ** 2 * 0.6 * w
    moment += np.cross(area @ (wet.rod_poses(rod, q, X)[:, :3, 3] - x0), 1025 * UP)
    moment += 4 / 3 * np.pi * 0.02**3 * np.cross(wet.pose("lead", q)[:3, 3] - x0, 1025 * UP)
    np.testing.assert_allclose(R @ lift[:3], moment, atol=1e-7)


@pytest.mark.parametrize("seed", [0, 1])
def test_lift_is_the_gradient_of_the_energy_of_buoyancy(seed):
    """On a floating, branched robot, whose bodies displace their volume elsewhere than where their mass is."""
    robot = branched(seed)
    dry = robot.compile()
    robot.set_fluid(density=1025.0)
    for k, link in enumerate(robot.links):
        own = {} if link.is_rod else {"centre": (0.02 * k, -0.01, 0.03), "volume": 1e-4 * (1 + k)}
        robot.add_hydrodynamics(link, pl.Hydrodynamics(**own))
    wet = robot.compile()
    q, v, a = state(wet, seed)
    d = np.random.default_rng(seed).normal(size=wet.nv)
    lift = (dry.residual(q, v, a) - wet.residual(q, v, a)) @ d
    h = 1e-3
    e = [wet.buoyancy_energy(wet.integrate(q, x * h * d)) for x in (-2, -1, 1, 2)]
    slope = (e[0] - 8 * e[1] + 8 * e[2] - e[3]) / (12 * h)
    assert abs(slope + lift) < 1e-8 * abs(lift)


@pytest.mark.parametrize("seed", range(3))
def test_neutrally_buoyant_robot_feels_no_gravity(seed):
    """Links of all densities, each displacing its own weight, with drag and added mass, which gravity does not pull."""
    rng = np.random.default_rng(seed)
    weightless, heavy = submerged(seed=seed), submerged(rng.normal(size=3) * 10, seed=seed)
    q, v, a = state(heavy, seed)
    r0, r1 = weightless.residual(q, v, a), heavy.residual(q, v, a)
    # moments come back only where the centre of mass is not that of the volume, which is the default: none here
    np.testing.assert_allclose(r1, r0, atol=2e-12 * np.abs(r0).max())


def test_light_on_top_of_heavy_rights_itself():
    """A cork over a stone, neutral together: no force, and the couple Δm g d sin θ."""
    robot = pl.Robot("buoy", gravity=-UP)
    stone = robot.add_body("stone", joint=pl.Free(), shape=pl.Sphere(0.05), density=1500.0)
    robot.add_body("cork", parent=stone, offset=(0, 0, 0.3), shape=pl.Sphere(0.05), density=500.0)
    robot.set_fluid(density=WATER)
    robot.add_hydrodynamics(robot.links, pl.Hydrodynamics.sphere())
    system = robot.compile()
    angle = 0.4
    q = system.integrate(system.neutral(), [angle, 0, 0, 0, 0, 0])
    r = system.residual(q, np.zeros(6), np.zeros(6))
    excess = 500.0 * 4 / 3 * np.pi * 0.05**3
    np.testing.assert_allclose(r, [excess * G * 0.3 * np.sin(angle), 0, 0, 0, 0, 0], atol=1e-11)


@pytest.mark.parametrize("added", [[2.0, 2.0, 2.0], [0.0, 2.0, 1.0]], ids=["isotropic", "transverse"])
def test_added_mass_has_no_weight(added):
    """Mass, its centre, gravity and its energy are those of the dry robot."""
    systems = []
    for added_mass in (None, added):
        robot = pl.Robot("body", gravity=-UP)
        body = robot.add_body("body", joint=pl.Free(), shape=pl.Box(0.2, 0.1, 0.1), mass=1.0, com=(0.1, 0, 0))
        robot.set_fluid(density=WATER)
        robot.add_hydrodynamics(body, pl.Hydrodynamics(added_mass=added_mass, buoyancy=False))
        systems.append(robot.compile())
    dry, wet = systems
    q, zero = dry.random(0), np.zeros(6)
    np.testing.assert_allclose(wet.residual(q, zero, zero), dry.residual(q, zero, zero), atol=1e-12)
    np.testing.assert_allclose(wet.inverse_dynamics(q, zero, zero), dry.inverse_dynamics(q, zero, zero), atol=1e-12)
    assert wet.mass == pytest.approx(1.0, rel=1e-14)
    np.testing.assert_allclose(wet.center_of_mass(q), dry.center_of_mass(q), atol=1e-13)
    assert wet.gravitational_energy(q) == pytest.approx(dry.gravitational_energy(q), rel=1e-13)


# -- falling ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("density", [2500.0, 400.0])
def test_falling_and_rising_sphere(density):
    """(m + m_a) v' = (m − m_w) g − c v²: v = v_t tanh(t/T); gravity does not pull on the added mass."""
    r, cd = 0.05, 0.47
    system = ball(density, r, cd=cd)
    volume, c = 4 / 3 * np.pi * r**3, 0.5 * WATER * cd * np.pi * r**2
    excess = (density - WATER) * volume * G
    terminal = np.sqrt(abs(excess) / c)
    time = (density + 0.5 * WATER) * volume / np.sqrt(abs(excess) * c)
    a = system.forward_dynamics(system.neutral(), np.zeros(6))
    np.testing.assert_allclose(a, [0, 0, 0, 0, 0, -excess / ((density + 500.0) * volume)], atol=1e-12)
    run = pl.simulate(system, 6 * time, output=0.5 * time, **TIGHT)
    speed = -np.sign(excess) * terminal * np.tanh(run.t / time)
    np.testing.assert_allclose(run.v[:, 5], speed, atol=1e-8)
    fallen = -np.sign(excess) * terminal * time * np.log(np.cosh(run.t / time))
    np.testing.assert_allclose(run.positions("ball")[:, 2], fallen, atol=1e-8)
    assert abs(run.v[-1, 5]) == pytest.approx(terminal, rel=1e-4)
    np.testing.assert_allclose(np.delete(run.v, 5, axis=1), 0, atol=1e-12)


def test_free_rod_falls_sideways():
    """Per metre (ρ + ρ_w) A v' = (ρ − ρ_w) A g − ρ_w R c v²; the load is uniform, so the rod stays straight."""
    R, cz, density = 0.02, 1.1, 1800.0
    robot = pl.Robot("falling rod", gravity=-UP)
    rod = robot.add_rod(
        "rod", joint=pl.Free(), length=0.5, section=pl.Circle(R), strains=pl.Strains.kirchhoff(2),
        material=pl.Material(1e5, poisson=0.5, density=density),
    )  # fmt: skip
    robot.set_fluid(density=WATER)
    robot.add_hydrodynamics(rod, pl.Hydrodynamics.circular(cz=cz))
    system = robot.compile()
    area = np.pi * R**2
    terminal = np.sqrt((density - WATER) * area * G / (WATER * R * cz))
    time = (density + WATER) * area / np.sqrt((density - WATER) * area * G * WATER * R * cz)
    run = pl.simulate(system, 6 * time, output=0.5 * time, **TIGHT)
    speeds = np.array([system.rod_twists(rod, q, v, 3)[:, 5] for q, v in zip(run.q, run.v)])
    np.testing.assert_allclose(speeds, np.tile(-terminal * np.tanh(run.t / time), (3, 1)).T, atol=1e-7)
    assert abs(run.v[-1, 5]) == pytest.approx(terminal, rel=1e-4)
    np.testing.assert_allclose(run.q[:, 7:], 0, atol=1e-7)


# -- added mass -------------------------------------------------------------------------------------------------
def frequencies(system: pl.System) -> np.ndarray:
    """Undamped angular frequencies about the neutral configuration, from the mass matrix and the exact tangent."""
    zero = np.zeros(system.nv)
    K = system.residual_tangent(system.neutral(), zero, zero)
    M = system.residual_tangent(system.neutral(), zero, zero, weights=(0, 0, 1))
    return np.sort(np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real))


def test_submerged_pendulum():
    """ω² = (m − m_w) g l / (I + (m + m_a) l²)."""
    r, length, density = 0.05, 0.7, 3000.0
    robot = pl.Robot("pendulum", gravity=(G, 0, 0))
    bob = robot.add_body(
        "bob", joint=pl.Revolute("z"), offset_after=(length, 0, 0), shape=pl.Sphere(r), density=density
    )
    robot.set_fluid(density=WATER)
    robot.add_hydrodynamics(bob, pl.Hydrodynamics.sphere(cd=0.0))
    volume = 4 / 3 * np.pi * r**3
    inertia = volume * (density * (0.4 * r**2 + length**2) + 0.5 * WATER * length**2)
    omega = np.sqrt((density - WATER) * volume * G * length / inertia)
    assert frequencies(robot.compile())[0] == pytest.approx(omega, rel=1e-12)
    run = pl.simulate(robot.compile(), np.pi / omega, start=[1e-3], output=[0, np.pi / omega], **TIGHT)
    assert run.q[-1, 0] == pytest.approx(-1e-3, rel=1e-6)  # half a period later it is on the other side


def test_cylinder_on_a_spring():
    k, r, length = 50.0, 0.04, 0.5
    for axis, share in (("x", 0.0), ("y", 1.0)):
        robot = pl.Robot("spring", gravity=(0, 0, 0))
        shape = pl.Cylinder(r, length)
        body = robot.add_body("cylinder", joint=pl.Prismatic(axis, stiffness=k), shape=shape, density=2000.0)
        robot.set_fluid(density=WATER)
        displaced = WATER * shape.volume
        robot.add_hydrodynamics(body, pl.Hydrodynamics(added_mass=[0, displaced, displaced]))
        omega = np.sqrt(k / (2 * displaced + share * displaced))
        assert frequencies(robot.compile())[0] == pytest.approx(omega, rel=1e-12)


def test_submerged_beam_vibrates_slower():
    """Every bending frequency falls by √(m/(m + m_a)) if rotary inertia is left out."""
    robot = pl.Robot("beam", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "beam", length=1.0, stiffness=np.full(6, 10.0), inertia=[1e-3, 0, 0, 2, 2, 2], strains=pl.Strains(bending_z=5)
    )
    dry = frequencies(robot.compile())
    robot.set_fluid(density=WATER)
    robot.add_hydrodynamics(rod, pl.Hydrodynamics(added_mass=[0, 3.0, 0], buoyancy=False))
    np.testing.assert_allclose(frequencies(robot.compile()), dry * np.sqrt(2 / 5), rtol=1e-9)
    assert dry[0] == pytest.approx(1.8751040687**2 * np.sqrt(10 / 2), rel=1e-5)


def test_kirchhoff_free_body_in_ideal_fluid():
    """Energy, impulse and its moment are conserved, whatever the added mass."""
    rng = np.random.default_rng(3)
    robot = pl.Robot("Kirchhoff", gravity=(0, 0, 0))
    body = robot.add_body("body", joint=pl.Free(), shape=pl.Box(0.5, 0.3, 0.2), density=900.0, com=(0.1, 0, 0.05))
    robot.set_fluid(density=WATER)
    robot.add_hydrodynamics(body, pl.Hydrodynamics(added_mass=5 * random_mass(rng)))
    system = robot.compile()
    run = pl.simulate(system, 5.0, velocity=rng.normal(size=6), output=0.1, **TIGHT)
    angular, linear = run.momenta()
    energy = run.energies().kinetic
    assert np.abs(run.v - run.v[0]).max() > 0.1  # it tumbles
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    np.testing.assert_allclose(linear, np.tile(linear[0], (len(run), 1)), atol=1e-8 * np.linalg.norm(linear[0]))
    np.testing.assert_allclose(angular, np.tile(angular[0], (len(run), 1)), atol=1e-8 * np.linalg.norm(angular[0]))


def test_munk_moment():
    """A slender body that moves obliquely without turning feels the moment (m_y − m_x) u v (Munk)."""
    robot = pl.Robot("Munk", gravity=(0, 0, 0))
    body = robot.add_body("body", joint=pl.Free(), shape=pl.Cylinder(0.1, 1.0), density=1000.0)
    robot.set_fluid(density=WATER)
    robot.add_hydrodynamics(body, pl.Hydrodynamics(added_mass=[1.0, 30.0, 30.0]))
    system = robot.compile()
    v = np.array([0, 0, 0, 2.0, 0.5, 0])
    r = system.residual(system.neutral(), v, np.zeros(6))
    np.testing.assert_allclose(r, [0, 0, 29.0 * 2.0 * 0.5, 0, 0, 0], atol=1e-12)


def test_soft_rod_in_ideal_fluid_conserves():
    robot = pl.Robot("eel", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod", joint=pl.Free(), length=1.0, section=pl.Ellipse((0.06, 0.03), 0.03), strains=pl.Strains.kirchhoff(1),
        material=pl.Material(2e4, poisson=0.5, density=1000),
    )  # fmt: skip
    robot.set_fluid(density=WATER)
    robot.add_hydrodynamics(rod, pl.Hydrodynamics.elliptic(0, 0, 0))
    system = robot.compile()
    rng = np.random.default_rng(0)
    run = pl.simulate(
        system, 0.5, velocity=0.5 * rng.normal(size=12), output=0.05, method="dop853", rtol=1e-10, atol=1e-10
    )
    angular, linear = run.momenta()
    energy = run.energies().total
    assert np.ptp(run.energies().elastic) > 1e-3 * energy[0]
    np.testing.assert_allclose(energy, energy[0], rtol=1e-7)
    np.testing.assert_allclose(linear - linear[0], 0, atol=1e-7 * np.linalg.norm(linear[0]))
    np.testing.assert_allclose(angular - angular[0], 0, atol=1e-7 * np.linalg.norm(linear[0]))


# -- current ----------------------------------------------------------------------------------------------------
U = np.array([0.4, -0.7, 0.3])


def drift(system: pl.System, q: np.ndarray, link: str, velocity: np.ndarray) -> np.ndarray:
    """Generalised velocity (nv,) of a floating robot that moves as a whole with this velocity."""
    dv = np.zeros(system.nv)
    wanted = np.concatenate([np.zeros(3), velocity])
    dv[:6] = np.linalg.solve(system.jacobian(link, q, reference="world")[:, :6], wanted)
    return dv


@pytest.mark.parametrize("seed", range(3))
def test_galilean_invariance_of_the_equation_of_motion(seed):
    """Seen from a frame that moves with the current, the acceleration is that in still water."""
    still, flowing = submerged(seed=seed), submerged(seed=seed, current=U)
    q, v, _ = state(still, seed)
    dv = drift(still, q, "hub", U)
    a0, a1 = still.forward_dynamics(q, v), flowing.forward_dynamics(q, v + dv)
    for frame in ("hub", "arm@0.4", "arm.tip", "twig.tip", "tool"):
        slow = still.acceleration(frame, q, v, a0, reference="world")
        fast = flowing.acceleration(frame, q, v + dv, a1, reference="world")
        np.testing.assert_allclose(fast, slow, atol=1e-8 * np.abs(a0).max())
    np.testing.assert_allclose(a1[6:], a0[6:], atol=1e-8 * np.abs(a0).max())


def test_galilean_invariance_of_a_motion():
    def eel(current):
        robot = pl.Robot("eel", gravity=(0, 0, 0))
        head = robot.add_body("head", joint=pl.Free(), shape=pl.Sphere(0.05), density=1200.0)
        rod = robot.add_rod(
            "rod", parent=head, offset=(0.05, 0, 0), length=0.5, section=pl.Ellipse(0.02, 0.03),
            strains=pl.Strains.kirchhoff(1), material=pl.Material(1e4, poisson=0.5, density=900, viscosity=20),
        )  # fmt: skip
        robot.set_fluid(density=WATER, current=current)
        robot.add_hydrodynamics(head, pl.Hydrodynamics.sphere())
        robot.add_hydrodynamics(rod, pl.Hydrodynamics.elliptic(tail=True, linear_drag=np.diag([0.1] * 3 + [1.0] * 3)))
        return robot.compile()

    rng = np.random.default_rng(5)
    start = eel((0, 0, 0)).random(rng, scale=0.5)
    v = rng.normal(size=12) * 0.5
    options = {"start": start, "output": 0.05, "method": "dop853", "rtol": 1e-9, "atol": 1e-10}
    still = pl.simulate(eel((0, 0, 0)), 0.4, velocity=v, **options)
    system = eel(U)
    flowing = pl.simulate(system, 0.4, velocity=v + drift(system, start, "head", U), **options)
    for frame in ("head", "rod.tip"):
        away = flowing.positions(frame) - still.t[:, None] * U
        np.testing.assert_allclose(away, still.positions(frame), atol=3e-8)
    np.testing.assert_allclose(flowing.q[:, 7:], still.q[:, 7:], atol=3e-7)
    assert np.abs(still.positions("head")[-1] - still.positions("head")[0]).max() > 0.02


def test_a_light_ball_is_carried_by_the_current():
    """At rest with the current nothing pushes; a fixed one is pushed by ½ ρ c_d π r² U²."""
    system = ball(800.0, gravity=(0, 0, 0), current=(2.0, 0, 0))
    np.testing.assert_allclose(system.forward_dynamics(system.neutral(), [0, 0, 0, 2.0, 0, 0]), 0, atol=1e-13)
    push = -system.residual(system.neutral(), np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(push, [0, 0, 0, 0.5 * WATER * 0.47 * np.pi * 0.01 * 4, 0, 0], rtol=1e-13)


# -- drag and lift ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(4))
def test_drag_only_dissipates(seed):
    wet, dry = submerged(seed=seed, mass=False, buoyancy=False), branched(seed)
    dry.gravity = np.zeros(3)
    dry = dry.compile()
    rng = np.random.default_rng(seed)
    for k in range(50):
        q, v, a = wet.random(rng), rng.normal(size=wet.nv) * 10 ** rng.uniform(-3, 2), rng.normal(size=wet.nv)
        power = v @ (dry.residual(q, v, a) - wet.residual(q, v, a))
        assert power < 0, f"state {k}"


def test_lift_is_normal_to_the_velocity():
    """The skew part of the drag matrix turns the force but does no work ([001] eq. 7 with lift)."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 3))
    lift, D = np.zeros((6, 6)), np.zeros((6, 6))
    lift[3:, 3:] = A - A.T
    D[3:, 3:] = lift[3:, 3:] + np.diag([1.0, 2, 3])
    for matrix, works in ((lift, False), (D, True)):
        robot = pl.Robot("foil", gravity=(0, 0, 0))
        body = robot.add_body("body", joint=pl.Free(), mass=1.0, inertia=(1, 1, 1))
        robot.set_fluid()
        robot.add_hydrodynamics(body, pl.Hydrodynamics(drag=matrix, buoyancy=False))
        system = robot.compile()
        q = system.random(rng)
        v = np.concatenate([np.zeros(3), rng.normal(size=3)])
        force = -system.residual(q, v, np.zeros(6))
        np.testing.assert_allclose(force, -np.linalg.norm(v[3:]) * matrix @ v, atol=1e-13)
        assert (abs(force @ v) > 0.1) == works


def test_lift_of_a_rod():
    """Per metre, with the density of [002] eq. 62: a spinning flagellum's force is the integral along it."""
    radius, lift = (0.02, 0.01), -0.1

    def drag(X):
        D = np.zeros((6, 6))
        D[3:, 3:] = WATER * (0.02 - 0.01 * X) * np.array([[0, 0, 0], [0, 1.1, -lift], [0, lift, 1.1]])
        return D

    robot = pl.Robot("flagellum", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod", joint=pl.Free(), length=0.5, section=pl.Circle(radius), material=SILICONE,
        strains=pl.Strains.kirchhoff(2), points=10,
    )  # fmt: skip
    dry = robot.compile()
    robot.set_fluid()
    robot.add_hydrodynamics(rod, pl.Hydrodynamics(drag=drag))
    wet = robot.compile()
    q, v, a = state(wet, 2)
    x, w = np.polynomial.legendre.leggauss(40)
    X, w = 0.5 * (x + 1), 0.25 * w
    base = wet.pose("rod.base", q)
    force, moment = np.zeros(3), np.zeros(3)
    for k, (g, twist) in enumerate(zip(wet.rod_poses(rod, q, X), wet.rod_twists(rod, q, v, X))):
        f = -w[k] * g[:3, :3] @ (drag(X[k])[3:, 3:] @ twist[3:]) * np.linalg.norm(twist[3:])
        force += f
        moment += np.cross(g[:3, 3] - base[:3, 3], f)
    got = (dry.residual(q, v, a) - wet.residual(q, v, a))[:6]
    expected = np.concatenate([base[:3, :3].T @ moment, base[:3, :3].T @ force])
    np.testing.assert_allclose(got, expected, atol=1e-6 * np.abs(expected).max())


# -- Lighthill --------------------------------------------------------------------------------------------------
def fish(*, wet=True, order=2, points=12) -> pl.System:
    """A free rod from head to tail that is deep along z and thinner along y, with reactive forces only."""
    robot = pl.Robot("fish", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod", joint=pl.Free(), length=0.8, section=pl.Ellipse((0.03, 0.01), (0.06, 0.04)), material=SILICONE,
        strains=pl.Strains.kirchhoff(order, basis="monomial"), points=points,
    )  # fmt: skip
    robot.set_fluid(density=WATER)
    if wet:
        robot.add_hydrodynamics(rod, pl.Hydrodynamics.elliptic(0, 0, 0, buoyancy=False, tail=True))
    return robot.compile()


def added_masses(X):
    """m_y = ρπb², m_z = ρπa² of the fish."""
    return WATER * np.pi * (0.06 - 0.02 * X) ** 2, WATER * np.pi * (0.03 - 0.02 * X) ** 2


def fluid_momentum(system: pl.System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """∫ m w n ds and its moment about the world's origin: [moment; force] of the water carried along, world axes."""
    x, weights = np.polynomial.legendre.leggauss(40)
    X, weights = 0.5 * (x + 1), 0.4 * weights
    my, mz = added_masses(X)
    g, twist = system.rod_poses("rod", q, X), system.rod_twists("rod", q, v, X)
    local = np.stack([np.zeros(40), my * twist[:, 4], mz * twist[:, 5]], axis=1) * weights[:, None]
    p = np.einsum("kij,kj->ki", g[:, :3, :3], local)
    return np.concatenate([np.cross(g[:, :3, 3], p).sum(axis=0), p.sum(axis=0)])


def test_reactive_force_is_the_change_of_momentum_and_the_tail():
    """Lighthill 1971: F = −d/dt ∫ m w n da + [½ m w² t − m u w n] at the tail, and its moment, on a moving, bending rod."""
    wet, dry = fish(), fish(wet=False)
    rng = np.random.default_rng(1)
    q0 = wet.random(rng, scale=0.7)
    v, a = rng.normal(size=(2, wet.nv))

    def at(t):  # a motion with velocity v + a t: by small steps of the exact flow, symmetric about t = 0
        q = q0
        n = 8
        for k in range(n):
            h = t / n
            q = wet.integrate(q, h * (v + a * (k + 0.5) * h))
        return q, v + a * t

    h = 2e-3
    p = {k: fluid_momentum(wet, *at(k * h)) for k in (-2, -1, 1, 2)}
    rate = (8 * (p[1] - p[-1]) - (p[2] - p[-2])) / (12 * h)
    tip, twist = wet.pose("rod.tip", q0), wet.twist("rod.tip", q0, v)
    my, mz = added_masses(1.0)
    R, t = tip[:3, :3], -tip[:3, 0]  # t towards the head
    u, tail = -twist[3], np.zeros(3)
    for m, w, n in ((my, twist[4], R[:, 1]), (mz, twist[5], R[:, 2])):
        tail += 0.5 * m * w**2 * t - m * u * w * n
    expected = -rate + np.concatenate([np.cross(tip[:3, 3], tail), tail])
    # what the residual holds for the free joint is the wrench on the whole robot, about its base in its axes
    got = -(wet.residual(q0, v, a) - dry.residual(q0, v, a))[:6]
    g = wet.pose("rod.base", q0)
    force = g[:3, :3] @ got[3:]
    moment = g[:3, :3] @ got[:3] + np.cross(g[:3, 3], force)
    np.testing.assert_allclose(force, expected[3:], atol=1e-6 * np.abs(expected).max())
    np.testing.assert_allclose(moment, expected[:3], atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("speed", [0.0, 0.5, 3.0])
def test_mean_thrust_of_a_flapping_plate(speed):
    """Lighthill's ½ m ⟨(∂h/∂t)² − U² (∂h/∂x)²⟩ at the tail, towards the head; it turns into drag if U is too large."""
    wet, dry = fish(order=1), fish(wet=False, order=1)
    L, omega, c0, c1 = 0.8, 6.0, 1e-3, 2e-3
    bend = [wet.dof_names.index(f"rod.bending_z[{k}]") for k in (0, 1)]
    n, mean = 24, 0.0
    for phase in 2 * np.pi * np.arange(n) / n:
        q, v, a = wet.neutral(), np.zeros(wet.nv), np.zeros(wet.nv)
        c, s = np.cos(phase), np.sin(phase)
        for k, (x, dx, ddx) in enumerate(((c0 * c, -c0 * s, -c0 * c), (c1 * s, c1 * c, -c1 * s))):
            q[bend[k] + 1], v[bend[k]], a[bend[k]] = x, omega * dx, omega**2 * ddx
        v[3] = -speed  # head first: the rod lies along +x behind its base
        mean += -(wet.residual(q, v, a) - dry.residual(q, v, a))[3] / n
    # h = c0 cos x²/2 + c1 sin x³/(6 L)
    h, slope = (c0 * L**2 / 2, c1 * L**2 / 6), (c0 * L, c1 * L / 2)
    m = added_masses(1.0)[0]
    thrust = 0.25 * m * (omega**2 * (h[0] ** 2 + h[1] ** 2) - speed**2 * (slope[0] ** 2 + slope[1] ** 2))
    assert -mean == pytest.approx(thrust, rel=1e-4, abs=1e-9)
    assert (thrust > 0) == (speed < 2.0)


# -- errors -----------------------------------------------------------------------------------------------------
def rods() -> pl.Robot:
    robot = pl.Robot("robot")
    robot.add_rod(
        "arm", length=0.5, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.kirchhoff(1)
    )  # fmt: skip
    robot.add_rod("bare", length=0.5, stiffness=np.ones(6), inertia=np.ones(6), strains=pl.Strains.kirchhoff(1))
    robot.add_body("block", shape=pl.Box(0.1, 0.1, 0.1), density=1000.0)
    robot.add_body("point", mass=1.0)
    return robot


def test_hydrodynamics_needs_a_fluid():
    with pytest.raises(ValueError, match=r"no fluid yet: call set_fluid\(density"):
        rods().add_hydrodynamics("arm", pl.Hydrodynamics.circular())


def test_fluid_refuses_negative_density():
    with pytest.raises(ValueError, match=r"density = -1.* is not allowed"):
        rods().set_fluid(density=-1.0)


CASES = {
    "unknown link": (("arn", pl.Hydrodynamics()), KeyError, "'arn'.*arm"),
    "no section": (("bare", pl.Hydrodynamics.circular()), ValueError, "hydrodynamics of 'bare'.*section"),
    "no area": (("bare", pl.Hydrodynamics()), ValueError, "hydrodynamics of 'bare'.*buoyancy=False"),
    "no volume": (("point", pl.Hydrodynamics()), ValueError, "hydrodynamics of 'point'.*volume"),
    "not a ball": (("block", pl.Hydrodynamics.sphere()), TypeError, "hydrodynamics of 'block'.*Sphere"),
    "tail of a body": (
        ("block", pl.Hydrodynamics(added_mass=[0, 1, 1], tail=True)),
        TypeError,
        "hydrodynamics of 'block'.*tail",
    ),
    "not hydrodynamics": (("arm", 3.0), TypeError, r"hydrodynamics = 3\.0 must be a Hydrodynamics"),
}


@pytest.mark.parametrize("case", CASES)
def test_add_hydrodynamics_refuses(case):
    arguments, error, message = CASES[case]
    robot = rods()
    robot.set_fluid()
    with pytest.raises(error, match=message):
        robot.add_hydrodynamics(*arguments)
    assert not robot.hydrodynamics
