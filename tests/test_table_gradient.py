"""The gradient of yᵀr by all real tables: against differences, number by number and by parameters, and its products with matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

import pliant as pl
from load_robots import branched
from pliant.gradients.remembered import known_memory
from pliant.kernels import engine, slots
from pliant.kernels.groups import POSITION
from pliant.kernels.layout import PLACE_P, Tables
from pliant.kernels.loads.efforts import E_STOP, Efforts
from pliant.kernels.loads.loops import Loops
from pliant.kernels.packing import Packed, view_of
from pliant.system.tables import covered, steps_known, table_gradient
from pliant.system.workspace import Given
from robots import SILICONE, cable_driven_manipulator, random_inertia, random_pose, random_robot
from test_spectral import integrated

STENCIL = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))


def manipulator() -> pl.Robot:
    """The cable-driven manipulator with five cables, one of them slanted, and a chamber."""
    robot = cable_driven_manipulator()
    arm = robot.link("arm")
    for k in range(4):
        robot.add_tendon(f"cable{k}", arm, y=0.01 * np.cos(k), z=0.01 * np.sin(k))
    robot.add_tendon("slanted", arm, y=(0.012, -0.005), z=0.003)
    return robot


def loaded() -> pl.Robot:
    """Springs on joints of every kind, motors, stops, wrenches of every kind, dipoles, tendons."""
    rng = np.random.default_rng(0)
    robot = pl.Robot("loaded", gravity=(1, -2, -9))
    rest = pl.translate(0.3, 0.1, -0.2) @ pl.rotate((1, 2, 3), 0.8)
    base = robot.add_body(
        "base", joint=pl.Free(stiffness=2.0, damping=0.3, rest=rest), offset=random_pose(rng), inertia=random_inertia(rng)
    )  # fmt: skip
    ball = pl.Spherical(stiffness=(1.0, 2.0, 3.0), rest=(0.3, 0.1, -0.2), damping=0.1)
    neck = robot.add_body("neck", parent=base, joint=ball, offset=random_pose(rng), inertia=random_inertia(rng))
    hinge = robot.add_body(
        "hinge", parent=neck, joint=pl.Revolute((1, 2, 3), stiffness=2.0, damping=0.5, rest=0.3), offset=random_pose(rng),
        inertia=random_inertia(rng),
    )  # fmt: skip
    rod = robot.add_rod(
        "rod", parent=hinge, length=0.4, section=pl.Circle((0.03, 0.02)), material=SILICONE, points=3,
        strains=pl.Strains(torsion=1, bending=2, stretch=1, shear=0), reference_strain=(0.1, 0.5, -0.3, 1, 0, 0),
        offset=random_pose(rng),
    )  # fmt: skip
    tip = robot.add_body(
        "tip", parent=rod, joint=pl.Prismatic((1, 2, 0)), offset=random_pose(rng), inertia=random_inertia(rng)
    )
    force, moment = (1, 2, 3), (0.1, 0.2, -0.3)
    robot.add_wrench("push", tip.at((0.1, 0.2, 0.3)), force=force, moment=moment)
    for axes in ("body", "world"):
        robot.add_wrench(
            f"{axes} wrench", rod.at(0.4, random_pose(rng)), force=force, moment=moment, axes=axes, constant=True
        )
    robot.add_dipole("magnet", tip.at(random_pose(rng)), moment=(0.3, 0.4, 0.5))
    robot.add_motor("servo", hinge, control="position", kp=1.3, kd=0.2)
    robot.add_motor("weak", tip, control="torque", limit=0.1)
    robot.add_motor("drive", tip, control="velocity", kd=0.7)
    robot.add_stop("stop", hinge, lower=-0.01, upper=0.01, stiffness=50.0, dissipation=0.1)
    robot.add_tendon("cable", rod, y=0.01, z=0.012)
    robot.add_tendon("slanted", rod, y=(0.015, -0.01))
    return robot


def swimmer() -> pl.Robot:
    """`branched` in a flow: full inertias, buoyancy and drag on single steps."""
    robot = branched()
    robot.set_fluid(density=1000.0, current=(0.1, 0.2, 0.3))
    robot.add_hydrodynamics("arm", pl.Hydrodynamics.circular(tail=True))
    robot.add_hydrodynamics("hub", pl.Hydrodynamics(linear_drag=np.eye(6), added_mass=0.1 * np.eye(6)))
    return robot


def lying() -> pl.Robot:
    """`branched` in contact with obstacles that do not move."""
    robot = branched()
    for name, shape in (("ball", pl.Sphere(3.0)), ("floor", pl.HalfSpace())):
        robot.add_obstacle(name, shape)
        robot.add_contact(f"touch {name}", "arm", name, stiffness=100.0, friction=0.3, damping=0.1)
    return robot


def collocated() -> pl.Robot:
    """`branched` with spectral rods."""
    return integrated(branched(), arm=5, twig=3, hand=4)


def strung() -> pl.Robot:
    """`branched` with elastic tendons along a rod and between bodies, the world among them, and a plain one between bodies."""
    robot = branched()
    hub, arm, tool = robot.link("hub"), robot.link("arm"), robot.link("tool")
    law = {"control": "elastic", "stiffness": 20.0, "damping": 3.0, "rest_length": 0.01}
    robot.add_tendon("inner", arm, y=0.01, **law)
    robot.add_tendon("outer", ["world", arm, tool.at((0.1, 0.0, 0.02))], **law)
    robot.add_tendon("slack", [hub, tool], **{**law, "rest_length": 50.0})
    robot.add_tendon("pulled", [hub.at((0.0, 0.1, 0.2)), arm.at(0.6), tool])
    return robot


def tied() -> pl.Robot:
    """A tendon that rubs: what moves steps is not covered, masses and resistance are."""
    robot = branched()
    robot.add_tendon("wire", ["hub", "tool"], friction=0.2)
    robot.add_loop("pin", "hub", "tool", joint=pl.Spherical())
    return robot


def closed() -> pl.Robot:
    """`branched` with loops of several kinds, to the world too, one of them with a spring and a motor, and coupled joints."""
    robot = branched()
    robot.add_body("lever", parent="hub", joint=pl.Revolute((0, 1, 2)), mass=0.1, inertia=(1e-3, 2e-3, 3e-3))
    robot.add_body("wheel", parent="hub", joint=pl.Revolute((1, 0, 1)), mass=0.2, inertia=(1e-3, 2e-3, 3e-3))
    robot.add_coupling("gear", {"lever": 1.0, "wheel": -2.0})
    place = pl.translate(0.1, -0.2, 0.05) @ pl.rotate((1, 2, 3), 0.4)
    robot.add_loop("pin", robot.link("hub").at(place), robot.link("tool").at((0.1, 0.2, 0.0)), joint=pl.Spherical())
    robot.add_loop(
        "slider", "world", robot.link("arm").at(0.6), joint=pl.Prismatic((1, 2, 0), stiffness=3.0, damping=0.2)
    )
    robot.add_motor("push", "slider", control="torque")
    robot.add_loop(
        "hinge", robot.link("tool").at(place), "world", joint=pl.Revolute((0, 0, 1), stiffness=2.0, damping=0.1)
    )
    return robot


ROBOTS: dict[str, Callable[[], pl.Robot]] = {
    **{f"random{k}": lambda k=k: random_robot(k) for k in range(8)},
    "branched": branched,
    "manipulator": manipulator,
    "loaded": loaded,
    "swimmer": swimmer,
    "lying": lying,
    "collocated": collocated,
    "strung": strung,
    "closed": closed,
}
State = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def state(system: pl.System) -> tuple[State, np.ndarray]:
    """(q, v, a, u) and y."""
    rng = np.random.default_rng(1)
    q = system.random(rng, scale=0.5)
    v, a, y = rng.normal(size=(3, system.nv))
    return (q, v, a, rng.uniform(0.5, 1.0, size=system.nu)), y


def gradient_of(system: pl.System) -> np.ndarray:
    (q, v, a, u), y = state(system)
    return table_gradient(system, q, v, a, u, y)


@pytest.mark.parametrize("name", ROBOTS)
def test_products_with_the_tangents(name):
    system = ROBOTS[name]().compile()
    at, y = state(system)
    space = system.workspace()
    tape = np.zeros_like(system._pool.floats)
    system.run_job(engine.TABLES, *at, acceleration=y, tape=tape, space=space)
    for k, (product, weights) in enumerate(zip(space.work.products[1:], np.eye(3))):
        expected = system.residual_tangent(*at, weights=tuple(weights)).T @ y
        # of spectral rods the tangents by q and v are collocations of their own (MATH §6)
        tolerance = 1e-4 if name == "collocated" and k < 2 else 1e-12
        assert np.abs(product - expected).max() <= tolerance * np.abs(expected).max()


def moved_numbers(system: pl.System) -> np.ndarray:
    """Which numbers can be changed one by one: not the entries of rotations, nor those that choose between laws."""
    out = covered(system) & np.isfinite(system._pool.floats)
    packed = Packed(system._pool.ints, out, np.zeros(0))
    t = view_of(packed, Tables, False, POSITION[Tables])
    t.place[:, :PLACE_P] = False
    t.colloc[system.tables.colloc == 0.0] = False
    view_of(packed, Efforts, False, POSITION[Efforts]).data[:, E_STOP] = False
    loops = system._model.positions.get("loops")
    if loops is not None:
        places = view_of(packed, Loops, False, loops).place
        places[:, :9] = places[:, 12:21] = False
    return out


def difference(system: pl.System, k: int, step: float) -> float:
    """The derivative of yᵀr by the k-th number, from residuals."""
    at, y = state(system)
    space, r = system.workspace(), np.zeros(system.nv)
    ints, floats, buffer = space.packed
    floats = floats.copy()
    zero = np.zeros(system.nv)
    gravity = view_of(Packed(ints, floats, buffer), Tables, False, POSITION[Tables]).gravity
    total, value = 0.0, floats[k]
    for n, weight in STENCIL:
        floats[k] = value + n * step
        space.prepare()
        space.work.gravity[:] = gravity
        engine.run(
            engine.RESIDUAL, ints, floats, buffer, *at, zero, space.p, system._none, space.pivot, *space.spare[:1], r,
            space.spare[2], space.pivot, zero,
        )  # fmt: skip
        total += weight * (y @ r)
    return total / step


@pytest.mark.parametrize("name", ROBOTS)
def test_every_number_against_differences(name):
    system = ROBOTS[name]().compile()
    gradient, floats = gradient_of(system), system._pool.floats
    steps = 1e-3 * np.maximum(np.abs(floats), 0.03)
    found = np.flatnonzero(moved_numbers(system))
    assert len(found) > 100
    expected = np.array([difference(system, k, steps[k]) for k in found])
    # by the change of r with a step of the size of the number: units differ
    error = np.abs(gradient[found] - expected) * steps[found]
    assert error.max() <= 1e-9 * np.abs(expected * steps[found]).max()
    close = np.abs(expected) * steps[found] > 1e-6 * np.abs(expected * steps[found]).max()
    assert np.all(error[close] <= 1e-6 * np.abs(expected * steps[found])[close])


def parameter_derivatives(system: pl.System, names: Mapping[str, float]) -> dict[str, tuple[float, float, bool]]:
    """By name: from the gradient, from residuals (times the size of the parameter), whether all changed numbers are covered."""
    at, y = state(system)
    gradient, known, before = gradient_of(system), covered(system), system._pool.floats
    out = {}
    for name, value in names.items():
        size = max(abs(value), 0.1)
        try:
            systems = [(w, system.with_parameters({name: value + 1e-3 * n * size})) for n, w in STENCIL]
        except ValueError:  # at the end of its range
            continue
        if any(not np.array_equal(other._pool.ints, system._pool.ints) for _w, other in systems):
            continue  # another structure, such as an entry that is no longer zero
        changed = np.any([other._pool.floats != before for _w, other in systems], axis=0)
        dF = sum(1e3 * w * other._pool.floats[changed] for w, other in systems)
        d = sum(1e3 * w * (y @ other.residual(*at)) for w, other in systems)
        out[name] = float(gradient[changed] @ dF), float(d), bool(known[changed].all())
    return out


@pytest.mark.parametrize("name", ROBOTS)
def test_parameters_against_differences(name):
    system = ROBOTS[name]().compile()
    found = parameter_derivatives(system, system.parameters)
    assert sum(complete for _g, _d, complete in found.values()) > 10
    assert any("offset" in key or "length" in key for key, (_g, _d, complete) in found.items() if complete)
    largest = max(abs(d) for _g, d, _complete in found.values())
    for key, (mine, d, complete) in found.items():
        if complete:
            assert abs(mine - d) <= 1e-9 * largest, key


@pytest.mark.parametrize("name", ROBOTS)
def test_what_is_covered(name):
    system = ROBOTS[name]().compile()
    known = covered(system)
    if name == "swimmer":
        assert not known.all()
        names = {key for key, (_g, _d, complete) in every_change(system).items() if not complete}
        assert {"fluid.current.x", "hub.offset_after.x"} <= names
        assert not {"arm.young", "tool.mass", "tool.offset.x", "gravity.z", "arm.water.drag.cy", "arm.length"} & names
    elif name == "lying":
        assert not known.all()
    elif name == "closed":
        names = {key for key, (_g, _d, complete) in every_change(system).items() if not complete}
        assert not {"arm.young", "tool.mass", "tool.offset.x", "gravity.z", "arm.length", "arm.radius"} & names, names
    else:
        assert known.all()


def every_change(system: pl.System) -> dict[str, tuple[float, float, bool]]:
    return parameter_derivatives(system, system.parameters)


def held_and_closed() -> pl.Robot:
    """`closed` with tendons along a rod and between bodies, whose lengths are constraints, too."""
    robot = closed()
    arm = robot.link("arm")
    robot.add_tendon("along", arm, y=0.01, z=0.005)
    robot.add_tendon("across", ["hub", arm.at(0.6), "tool"])
    return robot


def rolling() -> pl.Robot:
    """Rows of all other kinds: struts, slots, wheels and balls."""
    robot = pl.Robot("rolling")
    for name in ("cart", "wheel", "ball", "blade"):
        robot.add_body(name, joint=pl.Free(), mass=1.0, inertia=(0.1, 0.2, 0.3))
    robot.add_loop("wheel rolls", "world", "wheel", joint=pl.Rolling(0.1, axis=(0, 1, 0)))
    robot.add_loop("ball rolls", "world", "ball", joint=pl.Rolling(0.2))
    robot.add_loop("skate", "world", "blade", joint=pl.Skate((0, 1, 0)))
    robot.add_loop(
        "strut", robot.link("cart").at((0.1, 0, 0)), robot.link("wheel").at((0, 0.2, 0.3)), joint=pl.Distance(0.5)
    )
    robot.add_loop("universal", "cart", robot.link("blade").at((0.3, 0.1, 0)), joint=pl.Universal((1, 0, 0), (0, 1, 0)))
    return robot


@pytest.mark.parametrize("build", [held_and_closed, rolling])
def test_forces_and_rows_of_constraints(build):
    """φ = yᵀr + mᵀe + zᵀė: products, virtual rates and parameters, against differences of its parts."""
    system = build().compile()
    rng = np.random.default_rng(3)
    (q, v, a, u), y = state(system)
    n, rows = len(system.tendons.law), len(system.loop_rows)
    force = rng.normal(size=rows)
    m, z = rng.normal(size=(2, n + rows))
    nonholonomic = system.closure(q)[0] == 0.0  # rates without a value
    m[n:][nonholonomic] = 0.0

    def phi(system: pl.System, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
        lengths, slopes = system.tendon_lengths(q) if n else (np.zeros(0), np.zeros((0, system.nv)))
        e, _G = system.closure(q, v)
        rates = np.concatenate([slopes @ v, system.closure_rates(q, v)[:, 0]])
        r = system.residual(q, v, a, u, multipliers=force)
        return float(y @ r + m @ np.concatenate([lengths, e]) + z @ rates)

    def fourth(f: Callable[[float], float], h: float) -> float:
        return sum(weight * f(k * h) for k, weight in STENCIL) / h

    p, tape, space = np.zeros(engine.PARAMETERS), np.zeros_like(system._pool.floats), system.workspace()
    p[slots.OPTION_ROWS] = 1.0
    space.work.owed[:, 0], space.work.owed[:, 1] = m, z
    system.run_job(
        engine.TABLES, q, v, a, u, acceleration=y, p=p, tape=tape, space=space, given=Given(multipliers=force)
    )  # fmt: skip
    products, virtual = space.work.products.copy(), space.work.owed[:, 2].copy()
    G = np.vstack([system.tendon_lengths(q)[1], system.closure(q)[1]]) if n else system.closure(q)[1]
    np.testing.assert_allclose(virtual, G @ y, atol=1e-12 * np.abs(G @ y).max())
    for row, move in enumerate(
        (
            lambda d: phi(system, system.integrate(q, d), v, a),
            lambda d: phi(system, q, v + d, a),
            lambda d: phi(system, q, v, a + d),
        )
    ):
        expected = [fourth(lambda s, e=e, move=move: move(s * e), 1e-3) for e in np.eye(system.nv)]
        assert np.abs(products[1 + row] - expected).max() <= 1e-8 * np.abs(expected).max()
    known, checked = covered(system), 0
    found = {}
    for name, value in system.parameters.items():
        h = 1e-3 * max(abs(value), 0.1)
        try:
            others = [system.with_parameters({name: value + k * h}) for k, _w in STENCIL]
        except ValueError:
            continue
        if any(not np.array_equal(other._pool.ints, system._pool.ints) for other in others):
            continue
        changed = np.any([other._pool.floats != system._pool.floats for other in others], axis=0)
        if known[changed].all():
            dF = sum(w / h * other._pool.floats[changed] for (_k, w), other in zip(STENCIL, others))
            d = sum(w / h * phi(other, q, v, a) for (_k, w), other in zip(STENCIL, others))
            found[name] = tape[changed] @ dF, d
            checked += "offset" in name or "length" in name
    assert checked > 2
    largest = max(abs(d) for _mine, d in found.values())
    for name, (mine, d) in found.items():
        assert abs(mine - d) <= 1e-8 * largest, name


def test_friction_leaves_what_does_not_move_steps():
    system = tied().compile()
    found = every_change(system)
    largest = max(abs(d) for _g, d, _complete in found.values())
    for key in ("hub.mass", "arm.young", "arm.viscosity", "gravity.x", "tool.inertia.xx"):
        mine, d, complete = found[key]
        assert complete
        assert abs(mine - d) <= 1e-9 * largest
    assert not found["arm.length"][2]
    assert not found["wire.friction"][2]


def test_a_sweep_adds_to_the_gradient():
    system = loaded().compile()
    at, y = state(system)
    tape = np.zeros_like(system._pool.floats)
    for _ in range(2):
        system.run_job(engine.TABLES, *at, acceleration=y, tape=tape)
    np.testing.assert_allclose(tape, 2.0 * gradient_of(system), rtol=1e-12)


def test_an_unknown_size_is_refused():
    system = branched().compile()
    (q, v, a, _u), y = state(system)
    with pytest.raises(ValueError, match="y has shape"):
        table_gradient(system, q, v, a, None, y[1:])


# ---------------------------------------------------------------- one copy


def settled() -> pl.Robot:
    """What families complete after packing: rest lengths, volumes, capsules that overlap."""
    robot = cable_driven_manipulator()
    arm = robot.link("arm")
    robot.add_rod(
        "twig", parent=arm, length=0.3, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.kirchhoff(1)
    )
    robot.add_tendon("cord", [arm.at(0.2), pl.Along("twig", y=0.004)], control="elastic", stiffness=100.0)
    robot.add_load("air", pl.Gas(pl.Along("twig", z=0.004), area=1e-4))
    robot.add_contact("touch", "arm", "twig", stiffness=1e3)
    return robot


def test_there_is_one_copy_of_every_table(monkeypatch):
    """Of a compiled robot and of those revised from it; what families are asked about is settled (rest lengths and volumes were NaN there)."""
    base = settled().compile()
    asked = []

    def recorded(family, ask):
        def question(tables):
            asked.append((family.name, tables))
            return ask(tables)

        return question

    for family in base.families:
        for name in ("couples", "swept", "memory"):
            monkeypatch.setattr(family, name, recorded(family, getattr(family, name)))
    others = [{"arm.young": 2e6}, {"gravity.z": -5.0}, {"arm.length": 0.4}, {"cord.stiffness": 50.0}]
    for system in (base, *(base.with_parameters(values) for values in others)):
        packed = system._model.packed
        groups = [system._assembly.tables, *system._assembly.loading.tables.values(), system._model.tables]
        for group in groups:
            for name, array in zip(group._fields, group):
                source = packed.ints if array.dtype == np.int64 else packed.floats
                assert not array.size or np.shares_memory(array, source), (type(group), name)
        assert system._assembly.loading.tables["tendons"] is system._model.loads["tendons"]
        asked.clear()
        covered(system)
        steps_known(system)
        known_memory(system)
        assert {name for name, _tables in asked} >= {"tendons", "gases", "contact"}
        for name, tables in asked:
            assert all(np.all(np.isfinite(array)) for array in tables if name in ("tendons", "gases")), name
