"""Unknown parameters of estimators whose tables are straight lines: the same as robots that are compiled for every value."""

import copy
import pickle
import sys
import threading

import numpy as np
import pytest

import pliant as pl
from pliant import costs
from pliant.estimation import mapped
from pliant.estimation.model import Options, StochasticModel
from robots import SILICONE

STEP = 0.01
SENSORS = [
    costs.Curvature("arm", [0.2, 0.8]).measured(0.05, "fibre"),
    costs.TendonLength().measured(2e-4, "encoder"),
    (2.0 * costs.Position("arm.tip")[[0, 2]]).measured(1e-3, "camera"),
]


def carried(joint=None):
    """An arm with a cable, on a hub that turns or floats, with a body at its tip."""
    robot = pl.Robot("carried")
    hub = robot.add_body(
        "hub", joint=joint or pl.Revolute("z", stiffness=2.0, damping=0.1), shape=pl.Sphere(0.05), mass=0.5
    )
    rod = robot.add_rod("arm", parent=hub, length=0.4, section=pl.Circle(0.015), material=SILICONE, strains=pl.Strains(bending=2))  # fmt: skip
    robot.add_body("tip", parent=rod.tip, shape=pl.Box(0.02, 0.02, 0.04), mass=0.05)
    robot.add_tendon("cable", rod, z=0.012)
    robot.add_wrench("load", rod.tip, force=(0, 0, -1))
    return robot.compile()


UNKNOWN = {
    "modulus": [pl.Prior("arm.young", 2e5, start=1.2e6)],
    "several": [
        pl.Prior("load", 0.1), pl.Prior("arm.young", 2e5, start=1.1e6), pl.Prior("arm.viscosity", 3e3), pl.Prior("tip.mass", 0.02),
        pl.Prior("hub.joint.stiffness", 0.5), pl.Prior("arm.density", 100.0),
    ],
}  # fmt: skip


def filters(monkeypatch, system, unknown, count=25, sensors=SENSORS):
    """The same filter with tables in place, and with robots that are compiled."""
    start = pl.solve_statics(system)
    U = np.zeros((count, system.nu))
    U[:, system.input_names.index("cable")] = 2.0 * (1.0 - np.cos(6.0 * STEP * np.arange(count)))
    truth = pl.rollout(system, U, step=STEP, start=start)
    rng = np.random.default_rng(3)
    rows = [(s.quantity.evaluate(truth.states).value[1:], s.deviations(system)) for s in sensors]
    Y = np.hstack([value + noise * rng.standard_normal(value.shape) for value, noise in rows])
    made = []
    for fast in (True, False):
        if not fast:
            monkeypatch.setattr(mapped, "straight", lambda system, unknowns: None)
        made.append(pl.ExtendedKalman(system, sensors, step=STEP, start=start, unknown=unknown, tolerance=1e-13))
    return U, Y, made


@pytest.mark.parametrize("joint", [None, pl.Free()], ids=["turning", "floating"])
@pytest.mark.parametrize("unknown", UNKNOWN)
def test_the_filter_is_that_of_compiled_robots(monkeypatch, joint, unknown):
    if joint is not None and unknown == "several":
        system, known = carried(joint), [x for x in UNKNOWN[unknown] if not x.name.startswith("hub.")]
    else:
        system, known = carried(joint), UNKNOWN[unknown]
    if joint is not None:  # it hangs on nothing
        robot = system.robot
        robot.gravity = (0.0, 0.0, 0.0)
        system = robot.compile()
    U, Y, (fast, slow) = filters(monkeypatch, system, known)
    assert fast.model.steps._straight is not None
    assert slow.model.steps._straight is None
    for u, y in zip(U, Y):
        one, other = fast.update(u, y), slow.update(u, y)
    scale = np.sqrt(np.diag(other.scaled))
    np.testing.assert_allclose(one.q, other.q, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(one.scaled / np.outer(scale, scale), other.scaled / np.outer(scale, scale), atol=1e-6)
    for name, value in one.unknown.items():
        assert abs(value - other.unknown[name]) < 1e-6 * other.deviation(name), name
    assert not np.array_equal(fast.state.w, fast.model.unknowns.start)


def test_a_step_and_its_derivative_by_a_modulus():
    """By central differences over steps of robots that were compiled with other values."""
    system = carried()
    options = Options(STEP, pl.solve_statics(system), unknown=UNKNOWN["modulus"], tolerance=1e-13)
    made = StochasticModel(system, SENSORS, options)
    assert made.steps._straight is not None
    u = made.inputs({"cable": 3.0})
    state = made.steps.advance(made.steps.start, u, False)[0]
    end, F = made.steps.advance(state, u)

    def after(young):
        other = system.with_parameters({"arm.young": young})
        run = pl.rollout(other, u[None], step=STEP, start=state.q, velocity=state.v, tolerance=1e-13)
        return np.concatenate([run.q[-1], run.v[-1]])

    young, h = float(state.w[0]), 300.0
    np.testing.assert_allclose(np.concatenate([end.q, end.v]), after(young), rtol=1e-9, atol=1e-10)
    column = (8 * (after(young + h) - after(young - h)) - after(young + 2 * h) + after(young - 2 * h)) / (12 * h)
    np.testing.assert_allclose(F[:-1, -1], column, atol=1e-6 * np.abs(column).max())
    assert np.abs(column).max() > 1e-8  # it matters


def test_the_system_of_an_estimate_has_the_values(monkeypatch):
    system = carried()
    U, Y, (fast, _slow) = filters(monkeypatch, system, UNKNOWN["modulus"], count=5)
    found = [fast.update(u, y) for u, y in zip(U, Y)]
    values = [x.unknown["arm.young"] for x in found]
    assert len(set(values)) == 5
    for x, value in zip(found, values):  # all of them, though one set of tables was written again and again
        assert x.system.parameters["arm.young"] == value
    assert system.parameters["arm.young"] == 1e6


@pytest.mark.parametrize(
    ("unknown", "sensors"),
    [
        (pl.Prior("arm.length", 0.01), SENSORS),  # curved
        (pl.Prior("arm.offset.x", 0.01), SENSORS),  # straight, but seen by the camera
        (pl.Prior("gravity.z", 0.1), SENSORS),  # straight, but not of the tables alone
        (pl.Prior("arm.young", 2e5), [*SENSORS, costs.IMU("arm.tip").measured(0.1)]),  # seen by a sensor
        ([pl.Prior("arm.young", 2e5), pl.Prior("arm.radius", 1e-3)], SENSORS),  # their product
    ],
    ids=["length", "offset", "gravity", "imu", "product"],
)
def test_what_is_no_line_is_compiled(unknown, sensors):
    system = carried()
    made = StochasticModel(system, sensors, Options(STEP, pl.solve_statics(system), unknown=unknown))
    assert made.steps._straight is None


def test_filters_in_threads_on_one_system(monkeypatch):
    """Each writes its values into tables of its own: to the last bit as one after the other, and the system stays what it is."""
    system = carried()
    known = UNKNOWN["several"]
    U, Y, (first, _slow) = filters(monkeypatch, system, known, count=12)
    monkeypatch.undo()
    before = system._model.packed.floats.copy()
    start = first.model.steps.start
    scales = 1.0 + 0.02 * np.arange(4)  # the data of each, so that their values differ

    def follow(scale, out):
        # made in the thread, too: that compiles robots beside the same system
        own = pl.ExtendedKalman(system, SENSORS, step=STEP, start=start.q, unknown=known, tolerance=1e-13)
        assert own.model.steps._straight is not None
        assert not np.shares_memory(own.model.steps._straight._floats, system._model.packed.floats)
        for u, y in zip(U, Y):
            found = own.update(u, scale * y)
            out.append(np.concatenate([found.q, found.v, *([x] for x in found.unknown.values()), found.scaled.ravel()]))

    alone = [[] for _ in scales]
    for scale, out in zip(scales, alone):
        follow(scale, out)
    together = [[] for _ in scales]
    failed = []

    def guarded(scale, out):
        try:
            follow(scale, out)
        except BaseException as error:
            failed.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=guarded, args=pair) for pair in zip(scales, together)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failed
    for a, b in zip(alone, together):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(alone[0], alone[1])
    np.testing.assert_array_equal(system._model.packed.floats, before)


@pytest.mark.parametrize("how", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
def test_copies_go_on_as_the_original(monkeypatch, how):
    """A filter in the middle of its work: arrays that were views of each other were not, and it went another way without a word."""
    system = carried()
    U, Y, (fast, _slow) = filters(monkeypatch, system, UNKNOWN["several"], count=12)
    monkeypatch.undo()
    for u, y in zip(U[:6], Y[:6]):
        fast.update(u, y)
    other = how(fast)
    assert other.model.steps._straight.system is not fast.model.steps._straight.system
    for u, y in zip(U[6:], Y[6:]):
        one, two = fast.update(u, y), other.update(u, y)
    np.testing.assert_allclose(one.q, two.q, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(one.scaled, two.scaled, rtol=1e-8, atol=1e-14)
    for name, value in one.unknown.items():
        assert value == pytest.approx(two.unknown[name], rel=1e-9), name
