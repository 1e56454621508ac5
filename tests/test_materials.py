"""Materials along a rod and sections of several parts: closed forms, coupling, derivatives, files, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from load_robots import branched, check_tangents, state
from pliant.model.rods.sections import damping_density, inertia_density, stiffness_density

STEEL = pl.Material(2e11, poisson=0.3, density=7800, damping_time=1e-4)
RUBBER = pl.Material(1e6, shear_modulus=4e5, density=1100, viscosity=300.0)
NYLON = pl.Material(2e9, poisson=0.4, density=1150)


def mixed() -> pl.Composite:
    return pl.Composite(
        {
            "core": (pl.Circle((0.002, 0.001)), STEEL),
            "sleeve": (pl.Annulus(0.01, (0.002, 0.001)), RUBBER),
            "wire": pl.Part(pl.Rectangle(0.001, 0.002), NYLON, (0.004, -0.003), inside="sleeve"),
        }
    )


def disc(radius, hole=0.0):
    """Points (y, z) and weights, exact for quadratics over a ring."""
    s, w = np.polynomial.legendre.leggauss(6)
    s, w = hole + (radius - hole) * (s + 1) / 2, w * (radius - hole) / 2
    t = 2 * np.pi * np.arange(16) / 16
    return np.outer(s, np.cos(t)).ravel(), np.outer(s, np.sin(t)).ravel(), np.repeat(w * s, 16) * 2 * np.pi / 16


def test_densities_are_integrals_over_the_section():
    """∫ Tᵀ diag(...) T dA with the strain ε + κ × d of each point of each part."""
    X = 0.25
    r = 0.75 * 0.002 + 0.25 * 0.001
    s, w = np.polynomial.legendre.leggauss(3)
    box = (0.004 + 0.0005 * np.repeat(s, 3), -0.003 + 0.001 * np.tile(s, 3), np.outer(w, w).ravel() * 5e-4 * 1e-3)
    pieces = [(disc(r), STEEL, 1), (disc(0.01, r), RUBBER, 1), (box, NYLON, 1), (box, RUBBER, -1)]
    stiffness, damping, inertia = np.zeros((3, 6, 6))
    for (ys, zs, weights), m, sign in pieces:
        for y, z, weight in zip(ys, zs, sign * weights):
            T = np.array([[0, z, -y, 1, 0, 0], [-z, 0, 0, 0, 1, 0], [y, 0, 0, 0, 0, 1]], dtype=float)
            elastic = T.T @ np.diag([m.young, m.shear, m.shear]) @ T
            stiffness += weight * elastic
            damping += weight * (m.viscosity * T.T @ np.diag([3, 1, 1]) @ T + m.damping_time * elastic)
            inertia += weight * m.density * T.T @ T
    section = mixed()
    for function, exact in ((stiffness_density, stiffness), (damping_density, damping), (inertia_density, inertia)):
        got = function(section, None, X)[0]
        scale = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
        assert np.abs((got - exact) / scale).max() < 1e-12, function.__name__
    assert abs(stiffness[2, 3]) > 0.1 * np.sqrt(stiffness[2, 2] * NYLON.young * 2e-6)  # and does couple


def test_centred_parts_add_up():
    section = pl.Composite([(pl.Circle(0.002), STEEL), (pl.Annulus(0.01, 0.002), RUBBER)])
    S = stiffness_density(section, None, 0.5)[0]
    A, B = np.pi * 0.002**2, np.pi * (0.01**2 - 0.002**2)
    I, J = np.pi / 4 * 0.002**4, np.pi / 4 * (0.01**4 - 0.002**4)
    EI, EA = 2e11 * I + 1e6 * J, 2e11 * A + 1e6 * B
    GA, GJ = 2e11 / 2.6 * A + 4e5 * B, 2e11 / 2.6 * 2 * I + 4e5 * 2 * J
    np.testing.assert_allclose(S, np.diag([GJ, EI, EI, EA, GA, GA]), rtol=1e-13)
    p = section.properties(0.5)
    np.testing.assert_allclose([p.area[0], p.Iy[0]], [np.pi * 1e-4, np.pi / 4 * 1e-8], rtol=1e-13)
    embedded = pl.Composite(
        [pl.Part(pl.Circle(0.01), RUBBER, name="all"), pl.Part(pl.Circle(0.002), STEEL, inside="all")]
    )
    for f in (stiffness_density, inertia_density, damping_density):
        np.testing.assert_allclose(f(embedded, None, [0.1, 1.0]), f(section, None, [0.1, 1.0]), rtol=1e-12)


def eccentric(at: tuple[float, float] | None, material: pl.Material) -> pl.System:
    """A rod beside its axis: as a part that is, or by an offset."""
    robot = pl.Robot("rod", gravity=(1.0, -5.0, 3.0))
    hub = robot.add_body("hub", joint=pl.Free(), mass=0.3, inertia=(1e-3, 2e-3, 3e-3))
    plain = pl.Ellipse((0.03, 0.02), 0.02)
    own = {"section": plain, "material": material} if at is None else {"section": pl.Composite([(plain, material, at)])}
    offset = (0.1, 0.02, -0.01) if at is None else (0.1, 0.02 - at[0], -0.01 - at[1])
    robot.add_rod(
        "rod", parent=hub, offset=offset, length=0.4, strains=pl.Strains.reissner(2, linear_order=2), points=14, **own
    )
    return robot.compile()


@pytest.mark.parametrize("young", [1e6, (2e6, 5e5)], ids=["constant", "tapered"])
def test_a_part_beside_the_axis_is_a_rod_beside_the_axis(young):
    """The same rod, whose strains are those of another line: residuals and tangents to rounding, at any large motion."""
    y, z = 0.015, -0.025
    material = pl.Material(young, poisson=0.4, density=(1000, 1300), viscosity=100.0)
    system, plain = eccentric((y, z), material), eccentric(None, material)
    q, v, a = state(system, 5, scale=0.3)
    T = np.eye(system.nv)
    c = np.arange(3)
    for row, column, value in ((3, 1, z), (3, 2, -y), (4, 0, -z), (5, 0, y)):
        T[6 + 3 * row + c, 6 + 3 * column + c] = value
    q2 = q.copy()
    q2[7:] = T[6:, 6:] @ q[7:]
    r, r2 = system.residual(q, v, a), plain.residual(q2, T @ v, T @ a)
    assert np.abs(r - T.T @ r2).max() < 1e-11 * np.abs(r).max()
    for weights in np.eye(3):
        M = system.residual_tangent(q, v, a, weights=tuple(weights))
        M2 = plain.residual_tangent(q2, T @ v, T @ a, weights=tuple(weights))
        assert np.abs(M - T.T @ M2 @ T).max() < 1e-11 * np.abs(M).max()


def test_bending_about_the_neutral_line():
    """A stiff layer on one side: a tip moment bends by M / (ΣEI − (ΣES)²/ΣEA) and stretches the axis."""
    layers = {"soft": (pl.Rectangle(0.004, 0.01), RUBBER), "stiff": (pl.Rectangle(0.001, 0.01), NYLON, (0.0025, 0.0))}
    EA = 1e6 * 4e-5 + 2e9 * 1e-5
    ES = 2e9 * 1e-5 * 0.0025
    EI = 1e6 * 0.01 * 0.004**3 / 12 + 2e9 * (0.01 * 0.001**3 / 12 + 1e-5 * 0.0025**2)
    M, L = 0.003, 0.2
    kappa = M / (EI - ES**2 / EA)
    found = {}
    for name, strains in (("free", pl.Strains(bending_z=0, stretch=0)), ("kept", pl.Strains(bending_z=0))):
        robot = pl.Robot("strip", gravity=(0, 0, 0))
        rod = robot.add_rod("strip", length=L, section=pl.Composite(layers), strains=strains)
        robot.add_wrench("turn", rod.tip, moment=(0, 0, M))
        rest = pl.solve_statics(robot.compile(), {"turn": 1.0})
        found[name] = rest
    np.testing.assert_allclose(found["free"].q, [kappa, ES / EA * kappa], rtol=1e-9)
    assert not found["free"].warnings
    np.testing.assert_allclose(found["kept"].q, [M / EI], rtol=1e-9)
    assert "beside the axis" in found["kept"].warnings[0]
    assert "kirchhoff_extensible" in found["kept"].warnings[0]


def bar(material, strains, **wrench):
    robot = pl.Robot("bar", gravity=(0, 0, 0))
    rod = robot.add_rod("bar", length=0.6, section=pl.Circle(0.01), material=material, strains=strains)
    robot.add_wrench("load", rod.tip, **wrench)
    return robot


def test_two_materials_one_after_the_other():
    """Angles, twists and lengths of the pieces add up."""
    A, I = np.pi * 1e-4, np.pi / 4 * 1e-8
    E, G, at = np.array([3e6, 8e5]), np.array([1e6, 3e5]), 0.4
    L = 0.6 * np.array([at, 1 - at])
    material = pl.Material(pl.Stepped([3e6, 8e5], at=[at]), shear_modulus=pl.Stepped([1e6, 3e5], at=[at]), density=1000)
    basis = pl.PiecewiseConstant((at,))
    bent = bar(material, pl.Strains(bending_z=basis), moment=(0, 0, 0.02)).compile()
    rest = pl.solve_statics(bent, {"load": 1.0})
    R = bent.pose("bar.tip", rest.q)
    assert abs(np.arctan2(R[1, 0], R[0, 0]) - 0.02 * np.sum(L / (E * I))) < 1e-10
    pulled = bar(material, pl.Strains(stretch=basis), force=(2.0, 0, 0)).compile()
    rest = pl.solve_statics(pulled, {"load": 1.0})
    assert abs(pulled.pose("bar.tip", rest.q)[0, 3] - 0.6 - 2.0 * np.sum(L / (E * A))) < 1e-12
    twisted = bar(material, pl.Strains(torsion=basis), moment=(0.004, 0, 0)).compile()
    rest = pl.solve_statics(twisted, {"load": 1.0})
    R = twisted.pose("bar.tip", rest.q)
    assert abs(np.arctan2(R[2, 1], R[1, 1]) - 0.004 * np.sum(L / (G * 2 * I))) < 1e-10
    assert bent.robot.link("bar").content.breakpoints == (at,)
    smooth = bar(material, pl.Strains(bending_z=3), moment=(0, 0, 0.02))
    assert smooth.link("bar").content.breakpoints == (at,)  # whatever the strains


@pytest.mark.parametrize(
    "young",
    [(1e6, 3e6), lambda X: 1e6 * (1 + 2 * X), pl.Table([0, 0.5, 1], [1e6, 2e6, 3e6], kind="linear"), pl.Expression("1e6*(1 + 2*X)")],
    ids=["pair", "function", "table", "formula"],
)  # fmt: skip
def test_a_modulus_that_changes_along_the_rod(young):
    """κ = M / E(X) I: the angle of the tip is M L ln 3 / (2 E₀ I)."""
    material = pl.Material(young, poisson=0.5, density=1000)
    system = bar(material, pl.Strains(bending_z=9), moment=(0, 0, 0.01)).compile()
    rest = pl.solve_statics(system, {"load": 1.0})
    R = system.pose("bar.tip", rest.q)
    exact = 0.01 * 0.6 * np.log(3) / (2e6 * np.pi / 4 * 1e-8)
    assert abs(np.arctan2(R[1, 0], R[0, 0]) - exact) < 1e-9
    assert not rest.warnings


def test_points_follow_the_material():
    wave = pl.Material(lambda X: 1e6 * (1.5 + np.sin(80 * X)), poisson=0.5, density=1000)
    plain = pl.Material(1e6, poisson=0.5, density=1000)
    count = [len(bar(m, pl.Strains(bending_z=2), force=(1, 0, 0)).compile()._model.tables.data) for m in (plain, wave)]
    assert count[1] > 1.5 * count[0]
    heavy = pl.Material(1e6, poisson=0.5, density=1000, viscosity=lambda X: 100 * (1.5 + np.sin(80 * X)))
    assert len(bar(heavy, pl.Strains(bending_z=2), force=(1, 0, 0)).compile()._model.tables.data) > 1.5 * count[0]
    jump = pl.Material(lambda X: np.where(X > 0.37, 1e6, 2e6), poisson=0.5, density=1000)
    rest = pl.solve_statics(bar(jump, pl.Strains(bending_z=2), force=(1, 0, 0)).compile(), {"load": 0.1})
    assert "section or material of rod 'bar' has a jump" in rest.warnings[0]


def test_mass_and_damping_along_the_rod():
    material = pl.Material(1e6, poisson=0.5, density=(500, 1500), viscosity=pl.Stepped([100.0, 300.0], at=[0.25]))
    robot = bar(material, pl.Strains(stretch=0), force=(1, 0, 0))
    system = robot.compile()
    A = np.pi * 1e-4
    # a bar that stretches evenly: v = X L ε̇, so that m = ∫ ρ A X² L² dX L, and d = 3 A ∫ viscosity
    assert abs(system.mass_matrix([0.0])[0, 0] / (A * 0.6**3 * (500 / 3 + 1000 / 4)) - 1) < 1e-12
    assert abs(system.damping_matrix()[0, 0] / (3 * A * 0.6 * 250.0) - 1) < 1e-12


def with_composites() -> pl.Robot:
    robot = branched(1)
    robot.add_rod(
        "tail", parent="arm@0.7", joint=pl.Spherical(), offset=(0.02, 0.03, 0.01), length=0.3, section=mixed(),
        strains=pl.Strains(torsion=1, bending=2, stretch=1, shear=0),
    )  # fmt: skip
    graded = pl.Material(
        pl.Stepped([1e6, (5e5, 2e6)], at=[0.3]), poisson=0.4, density=(900, 1100), viscosity=lambda X: 100 * (1 + X)
    )
    robot.add_rod(
        "fin", parent="tail.tip", length=0.2, section=pl.Circle(0.01), material=graded, strains=pl.Strains.kirchhoff(2)
    )
    return robot


def test_derivatives_are_exact():
    system = with_composites().compile()
    check_tangents(system, *state(system, 2), np.zeros(system.nu), tol=3e-12)


def test_a_motion_keeps_its_energy():
    stiff = pl.Material(4e6, poisson=0.4, density=1200)
    soft = pl.Material(1e6, poisson=0.4, density=1000)
    layers = pl.Composite({"a": (pl.Rectangle(0.02, 0.02), soft), "b": (pl.Rectangle(0.01, 0.02), stiff, (0.015, 0))})
    robot = pl.Robot("beam")
    robot.add_rod("beam", length=0.5, section=layers, strains=pl.Strains(torsion=1, bending=2, stretch=1))
    system = robot.compile()
    run = pl.simulate(system, 0.3, rtol=1e-6)
    kinetic = np.array([system.kinetic_energy(q, v) for q, v in zip(run.q, run.v)])
    total = kinetic + [system.gravitational_energy(q) + system.elastic_energy(q) for q in run.q]
    kinetic = kinetic.max()
    assert np.ptp(total) < 1e-4 * kinetic
    assert kinetic > 1e-3


def test_parameters_and_their_derivatives():
    robot = with_composites()
    system = robot.compile()
    values = system.parameters
    assert values["tail.core.young"] == 2e11
    assert values["tail.core.radius.tip"] == 0.001
    assert values["tail.wire.y"] == 0.004
    assert values.units["tail.wire.y"] == "m"
    assert values["fin.young.0"] == 1e6
    assert values.units["fin.young.1.tip"] == "Pa"
    assert values.units["fin.density.tip"] == "kg/m³"
    assert values["fin.young.0"] == 1e6
    assert values["fin.young.1.tip"] == 2e6
    assert values["fin.density.tip"] == 1100
    other = system.with_parameters(
        {"tail.wire.young": 3e9, "tail.wire.z": -0.002, "fin.young.1.tip": 3e6, "fin.density.base": 950.0}
    )
    section, fin = other.robot.link("tail").content.section, other.robot.link("fin").content.material
    assert section.part("wire").material.young == 3e9
    assert section.part("wire").at == (0.004, -0.002)
    assert fin.young.values[1] == (5e5, 3e6)
    assert fin.density == (950.0, 1100.0)
    fresh = other.robot.compile()
    q, v, a = state(system, 1)
    np.testing.assert_array_equal(other.residual(q, v, a), fresh.residual(q, v, a))


def hanging() -> pl.System:
    robot = pl.Robot("arm")
    section = pl.Composite(
        {
            "sleeve": (pl.Circle(0.01), RUBBER),
            "wire": pl.Part(pl.Circle(0.0005), NYLON, (0.004, 0.002), inside="sleeve"),
        }
    )
    robot.add_rod("arm", length=0.3, section=section, strains=pl.Strains.kirchhoff_extensible(2))
    graded = pl.Material(pl.Stepped([1e6, 2e6]), poisson=0.5, density=(900, 1200))
    robot.add_rod(
        "end", parent="arm.tip", length=0.2, section=pl.Circle(0.008), material=graded, strains=pl.Strains.kirchhoff(2)
    )
    return robot.compile()


@pytest.mark.parametrize(
    "name",
    ["arm.wire.young", "arm.wire.y", "arm.sleeve.density", "arm.sleeve.radius", "end.young.tip", "end.density.tip"],
)
def test_gradients_by_parameters(name):
    system = hanging()
    cost = pl.Reach("end.tip", (0.2, 0.0, 0.1))

    def height(s: pl.System) -> tuple:
        rest = pl.solve_statics(s)
        return rest, pl.static_gradient(s, rest, cost)

    _rest, gradient = height(system)
    x = system.parameters[name]
    h = 1e-4 * x
    up, down = (height(system.with_parameters({name: x + s * h}))[1].value for s in (1, -1))
    slope = (up - down) / (2 * h)
    assert abs(gradient.parameters[name] - slope) < 1e-5 * abs(slope)


def test_files_hold_them():
    robot = pl.Robot("arm")
    robot.add_rod("arm", length=0.3, section=mixed(), strains=pl.Strains.kirchhoff_extensible(2))
    graded = pl.Material(
        pl.Stepped([1e6, (5e5, 2e6)], at=[0.3]),
        poisson=0.4,
        density=(900, 1100),
        viscosity=pl.Expression("100*(1 + X)"),
    )
    robot.add_rod(
        "fin", parent="arm.tip", length=0.2, section=pl.Circle(0.01), material=graded, strains=pl.Strains.kirchhoff(2)
    )
    model = pl.parse_model(pl.io.dump_model(robot))
    for name in ("arm", "fin"):
        got, given = model.robot.link(name).content, robot.link(name).content
        assert (got.section, got.material) == (given.section, given.material)
    named = pl.parse_model(
        {
            "materials": {"steel": {"young": 2e11, "poisson": 0.3, "density": 7800}},
            "links": {
                "arm": {
                    "type": "rod",
                    "length": 0.3,
                    "strains": {"bending": 2},
                    "section": {
                        "type": "Composite",
                        "parts": [
                            {"name": "core", "section": {"type": "Circle", "radius": 0.001}, "material": "steel"}
                        ],
                    },
                }
            },
        }
    )
    assert named.robot.link("arm").content.section.part("core").material.young == 2e11
    with pytest.raises(
        pl.ModelFileError,
        match=r"section\.parts\[0\]\.material: there is no material named 'stell'; did you mean 'steel'",
    ):
        pl.parse_model(
            pl.io.dump_model(named.robot).replace("material:", "material: stell #", 1)
            + "\nmaterials: {steel: {young: 1, poisson: 0, density: 1}}"
        )


def test_what_is_drawn():
    X = np.array([0.0, 0.5])
    section = mixed()
    assert section.is_round
    assert section.corners == 0
    assert section.hole(X, 8) is None
    np.testing.assert_allclose(section.extent(X), 0.01)
    np.testing.assert_allclose(np.linalg.norm(section.outline(X, 16), axis=-1), 0.01)
    tube = pl.Composite([(pl.Annulus(0.01, 0.009), RUBBER), (pl.Annulus(0.009, 0.008), NYLON)])
    assert tube.hole(X, 8) is None or np.linalg.norm(tube.hole(X, 8), axis=-1).max() < 0.0081
    pair = pl.Composite([(pl.Circle(0.01), RUBBER, (0.02, 0)), (pl.Circle(0.01), RUBBER, (-0.02, 0))])
    assert not pair.is_round
    np.testing.assert_allclose(pair.extent(X), 0.03)
    outline = pair.outline(X, 64)
    np.testing.assert_allclose(outline.max(axis=(0, 1)), [0.03, 0.01])
    np.testing.assert_allclose(outline.min(axis=(0, 1)), [-0.03, -0.01])


def rod_of(section, **more):
    robot = pl.Robot("arm")
    robot.add_rod("arm", length=0.3, section=section, strains=pl.Strains.kirchhoff(2), **more)
    return robot.compile()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pl.Composite([]), ValueError, "parts is empty"),
        (lambda: pl.Composite("core"), TypeError, "not a collection of parts"),
        (lambda: pl.Composite([pl.Circle(0.1)]), TypeError, "is not a part"),
        (lambda: pl.Composite([(pl.Circle(0.1), 1e6)]), TypeError, r"Part\.material"),
        (lambda: pl.Composite([(mixed(), STEEL)]), TypeError, r"Part\.section .* not a Composite"),
        (lambda: pl.Composite([(pl.Circle(0.1), STEEL, 0.1)]), ValueError, r"Part\.at has shape"),
        (lambda: pl.Composite({"a": pl.Part(pl.Circle(0.1), STEEL, inside="b")}), ValueError, r"inside = 'b'.*no such part"),
        (lambda: pl.Composite({"a": pl.Part(pl.Circle(0.1), STEEL, inside="a")}), ValueError, "inside itself"),
        (lambda: pl.Composite([pl.Part(pl.Circle(0.1), STEEL, name="a")] * 2), ValueError, "given to two parts"),
        (lambda: pl.Composite([(pl.Circle(0.1), STEEL)], torsion_factor=2.0), ValueError, "sections of its parts"),
        (lambda: rod_of(mixed(), material=STEEL), ValueError, "material = .* Composite"),
        (lambda: rod_of(pl.Composite([(pl.Circle(0.01), RUBBER), (pl.Circle(0.002), STEEL)])), ValueError, "rod 'arm': .*overlaps 'part2'.*inside="),
        (lambda: rod_of(pl.Composite({"a": (pl.Circle(0.01), RUBBER), "b": pl.Part(pl.Circle(0.004), STEEL, (0.008, 0), inside="a")})), ValueError, "'b' is not inside 'a'"),
        (lambda: rod_of(pl.Composite([(pl.Annulus(0.01, (0.004, 0.002)), RUBBER), (pl.Circle(0.003), STEEL)])), ValueError, "overlaps .* at X = "),
        (lambda: pl.Material(pl.Stepped([1e6, 2e6]), poisson=0.5, density=1e3).shear, ValueError, r"material\.at\(X\)\.shear"),
        (lambda: pl.Material((1e6, -1.0), poisson=0.5, density=1e3), ValueError, r"Material\.young\[1\] = -1\.0"),
        (lambda: pl.Material(1e6, poisson=0.5, density=(0.0, 0.0)), ValueError, r"Material\.density"),
        (lambda: pl.Material((1e6, 2e6, 3e6), poisson=0.5, density=1e3), ValueError, "has shape"),
        (lambda: rod_of(pl.Circle(0.1), material=pl.Material(lambda X: 1 - 2 * X, poisson=0.5, density=1e3)), ValueError, r"Material\.young\(X=0\.75\) = -0\.5"),
        (lambda: rod_of(pl.Circle(0.1), material=pl.Material(1e6, poisson=0.5, density=lambda X: X)), ValueError, r"Material\.density\(X=0\) = 0"),
    ],
)  # fmt: skip
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_neighbours_that_touch_are_allowed():
    rod_of(pl.Composite([(pl.Circle(0.002), STEEL), (pl.Annulus(0.01, 0.002), RUBBER)]))
    rod_of(pl.Composite([(pl.Rectangle(0.01, 0.02), STEEL), (pl.Rectangle(0.005, 0.02), RUBBER, (0.0075, 0))]))
    around = 0.008 * np.exp(2j * np.pi * np.arange(6) / 6)
    wires = {f"w{k}": pl.Part(pl.Circle(0.001), NYLON, (p.real, p.imag), inside="a") for k, p in enumerate(around)}
    system = rod_of(pl.Composite({"a": (pl.Circle(0.01), RUBBER), **wires}))
    S = system.robot.link("arm").content.stiffness_at(np.array([0.5]))[0]
    assert np.abs(S - np.diag(np.diag(S))).max() < 1e-12 * S[3, 3]
