"""User loads: kernels call them by address, derivatives are right, errors come back, caches stay valid."""

import gc
import math
import os
import subprocess
import sys
import threading
import weakref
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import pliant
from pliant import lie
from pliant.model.user import UserLoad, compiled_load

compiled_only = pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled")

KERNEL = """
from pliant._call import call_load
from pliant._jit import kernel, routine


@routine
def inner(address, n, want, pose, twist, inputs, wrench, dpose, dtwist):
    call_load(address, n, want, pose, twist, inputs, wrench, dpose, dtwist)


@kernel
def evaluate(address, n, want, pose, twist, inputs, wrench, dpose, dtwist):
    inner(address, n, want, pose, twist, inputs, wrench, dpose, dtwist)
    return wrench.sum()
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """A module with a kernel that calls a load, compiled with the package's own decorators (nogil, cached)."""
    path = tmp_path_factory.mktemp("kernels") / "load_kernels.py"
    path.write_text(KERNEL)
    spec = spec_from_file_location("load_kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["load_kernels"] = module
    spec.loader.exec_module(module)
    return module


def states(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pose = np.stack([lie.exp(rng.normal(size=6) * [1, 1, 1, 0.3, 0.3, 0.3]) for _ in range(n)])
    return pose, rng.normal(size=(n, 6))


def call(
    kernels: ModuleType, load: UserLoad, pose: np.ndarray, twist: np.ndarray, inputs=(), want: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = len(pose)
    rows = np.ascontiguousarray(np.concatenate([pose[:, :3, :3].reshape(n, 9), pose[:, :3, 3]], axis=1))
    out = np.full((n, 6), 7.0), np.full((n, 6, 6), 7.0), np.full((n, 6, 6), 7.0)
    before = rows.copy(), twist.copy()
    inputs = np.array(inputs, dtype=float)
    given = inputs.copy()
    kernels.evaluate(load.address, n, int(want), rows, twist, inputs, *out)
    for array, copy in zip((rows, twist, inputs), (*before, given)):
        np.testing.assert_array_equal(array, copy)  # whatever a load does, the kernel's own data stay
    return out


def hat(v: np.ndarray) -> np.ndarray:
    """(…, 3) to (…, 3, 3) with hat(v) w = v × w."""
    out = np.zeros((*v.shape[:-1], 3, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    return out - np.swapaxes(out, -1, -2)


# ---------------------------------------------------------------- loads with known derivatives

MOMENT = np.array([0.3, -0.2, 0.5])  # of a magnet, body axes
MU = 1.7  # the field's source, a dipole along z at SOURCE
SOURCE = np.array([0.1, -0.3, 2.0])
Z = np.array([0.0, 0.0, 1.0])


def field(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Field (n, 3) of the dipole, its gradient (n, 3, 3) and the gradient's gradient (n, 3, 3, 3)."""
    r = x - SOURCE
    d = np.linalg.norm(r, axis=1)[:, None, None, None]
    s, I = r[:, 2][:, None, None, None], np.eye(3)
    d1, s1, d2, s2 = d[..., 0, 0], s[..., 0, 0], d[..., 0], s[..., 0]
    B = MU * (3 * r * s1 / d1**5 - Z / d1**3)
    rr, zr = np.einsum("ni,nj->nij", r, r), np.einsum("i,nj->nij", Z, r)
    sym = I * s2 + zr + zr.transpose(0, 2, 1)
    G = MU * 3 * (sym / d2**5 - 5 * rr * s2 / d2**7)
    Iz = np.einsum("ij,k->ijk", I, Z)
    Ir = np.einsum("ij,nk->nijk", I, r)
    zrr, rrr = np.einsum("nij,nk->nijk", rr, np.tile(Z, (len(x), 1))), np.einsum("nij,nk->nijk", rr, r)

    def cyclic(A: np.ndarray) -> np.ndarray:
        n = A.ndim - 3
        axes = list(range(n))
        return A + A.transpose(*axes, n + 1, n + 2, n) + A.transpose(*axes, n + 2, n, n + 1)

    H = MU * 3 * (cyclic(Iz) / d**5 - 5 * (cyclic(Ir) * s + cyclic(zrr)) / d**7 + 35 * rrr * s / d**9)
    return B, G, H


def magnet(pose, twist, inputs):
    """Wrench of a magnet in the field of a dipole: m × B and (∇B) m."""
    B, G, _ = field(pose[:, :3, 3])
    m = pose[:, :3, :3] @ MOMENT * inputs[0]
    return np.hstack([np.cross(m, B), np.einsum("nij,nj->ni", G, m)])


def magnet_derivatives(pose, twist, inputs):
    B, G, H = field(pose[:, :3, 3])
    m = pose[:, :3, :3] @ MOMENT * inputs[0]
    dpose = np.zeros((len(pose), 6, 6))
    dpose[:, :3, :3] = hat(B) @ hat(m)  # δm = δθ × m
    dpose[:, :3, 3:] = hat(m) @ G
    dpose[:, 3:, :3] = -G @ hat(m)
    dpose[:, 3:, 3:] = np.einsum("nijk,nj->nik", H, m)
    return dpose, np.zeros_like(dpose)


def drag(pose, twist, inputs):
    """Quadratic drag and a spin damping, with coefficients as inputs."""
    omega, v = twist[:, :3], twist[:, 3:]
    return np.hstack(
        [
            -inputs[1] * np.linalg.norm(omega, axis=1, keepdims=True) * omega,
            -inputs[0] * np.linalg.norm(v, axis=1, keepdims=True) * v,
        ]
    )


def drag_derivatives(pose, twist, inputs):
    dtwist = np.zeros((len(pose), 6, 6))
    for part, c in ((slice(0, 3), inputs[1]), (slice(3, 6), inputs[0])):
        v = twist[:, part]
        s = np.linalg.norm(v, axis=1)[:, None, None]
        dtwist[:, part, part] = -c * (s * np.eye(3) + v[:, :, None] * v[:, None, :] / s)
    return np.zeros_like(dtwist), dtwist


def magnet_point(R, x, omega, velocity, inputs, moment, force):
    rx, ry, rz = x[0] - 0.1, x[1] + 0.3, x[2] - 2.0
    d = math.sqrt(rx * rx + ry * ry + rz * rz)
    r = (rx, ry, rz)
    m = np.zeros(3)
    for i in range(3):
        m[i] = inputs[0] * (R[i, 0] * 0.3 - R[i, 1] * 0.2 + R[i, 2] * 0.5)
    B = np.zeros(3)
    for i in range(3):
        B[i] = 1.7 * 3.0 * r[i] * rz / d**5
        for j in range(3):
            g = -5.0 * r[i] * r[j] * rz / d**7
            if i == j:
                g += rz / d**5
            if i == 2:
                g += r[j] / d**5
            if j == 2:
                g += r[i] / d**5
            force[i] += 1.7 * 3.0 * g * m[j]
    B[2] -= 1.7 / d**3
    moment[0] = m[1] * B[2] - m[2] * B[1]
    moment[1] = m[2] * B[0] - m[0] * B[2]
    moment[2] = m[0] * B[1] - m[1] * B[0]
    R[:] = 0.0  # its arrays are its own
    x[:] = 0.0
    omega[:] = 0.0
    velocity[:] = 0.0


def drag_point(R, x, omega, velocity, inputs, moment, force):
    s = math.sqrt(velocity[0] ** 2 + velocity[1] ** 2 + velocity[2] ** 2)
    t = math.sqrt(omega[0] ** 2 + omega[1] ** 2 + omega[2] ** 2)
    for i in range(3):
        force[i] = -inputs[0] * s * velocity[i]
        moment[i] = -inputs[1] * t * omega[i]


def drag_point_derivatives(R, x, omega, velocity, inputs, dpose, dtwist):
    s = math.sqrt(velocity[0] ** 2 + velocity[1] ** 2 + velocity[2] ** 2)
    t = math.sqrt(omega[0] ** 2 + omega[1] ** 2 + omega[2] ** 2)
    for i in range(3):
        dtwist[i, i] = -inputs[1] * t
        dtwist[3 + i, 3 + i] = -inputs[0] * s
        for j in range(3):
            dtwist[i, j] -= inputs[1] * omega[i] * omega[j] / t
            dtwist[3 + i, 3 + j] -= inputs[0] * velocity[i] * velocity[j] / s


CASES = {
    "magnet": (magnet, magnet_derivatives, magnet_point, None, (1.3,)),
    "drag": (drag, drag_derivatives, drag_point, drag_point_derivatives, (0.8, 0.1)),
}


def names(inputs: tuple[float, ...]) -> list[str]:
    return [f"u{i}" for i in range(len(inputs))]


def compare(actual: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * (np.abs(expected).max() or 1.0))


def test_the_closed_forms_are_derivatives():
    """By differences of order 4 along exact motions on SE(3), independent of the library's differences."""
    pose, twist = states(3)
    h = 1e-3
    for function, derivatives, _, _, inputs in CASES.values():
        dpose, dtwist = derivatives(pose, twist, inputs)

        def moved(k, t, function=function, inputs=inputs):
            T, V = pose.copy(), twist.copy()
            if k < 3:
                T[:, :3, :3] = lie.exp(t * np.eye(6)[k])[:3, :3] @ pose[:, :3, :3]
            elif k < 6:
                T[:, k - 3, 3] += t
            else:
                V[:, k - 6] += t
            return function(T, V, inputs)

        for k in range(12):
            expected = (8 * (moved(k, h) - moved(k, -h)) - (moved(k, 2 * h) - moved(k, -2 * h))) / (12 * h)
            actual = dpose[:, :, k] if k < 6 else dtwist[:, :, k - 6]
            np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)


# ---------------------------------------------------------------- values and derivatives


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n", [1, 5])
def test_python_load(kernels, case, n):
    function, derivatives, _, _, inputs = CASES[case]
    pose, twist = states(n)
    expected = (function(pose, twist, inputs), *derivatives(pose, twist, inputs))

    exact = UserLoad(function, derivatives, names(inputs))
    for actual, value in zip(call(kernels, exact, pose, twist, inputs), expected):
        np.testing.assert_array_equal(actual, value)

    rough = UserLoad(function, inputs=names(inputs))
    wrench, dpose, dtwist = call(kernels, rough, pose, twist, inputs)
    np.testing.assert_array_equal(wrench, expected[0])
    compare(dpose, expected[1], 1e-9)
    compare(dtwist, expected[2], 1e-9)
    for load in (exact, rough):
        assert load.error is None
        load.raise_error()


@pytest.mark.parametrize(("case", "exact"), [("magnet", False), ("drag", False), ("drag", True)])
def test_compiled_load(kernels, case, exact):
    function, derivatives, point, point_derivatives, inputs = CASES[case]
    load = compiled_load(derivatives=point_derivatives if exact else None, inputs=names(inputs))(point)
    for n in (1, 5):
        pose, twist = states(n)
        expected = (function(pose, twist, inputs), *derivatives(pose, twist, inputs))
        wrench, dpose, dtwist = call(kernels, load, pose, twist, inputs)
        compare(wrench, expected[0], 1e-14)
        compare(dpose, expected[1], 1e-14 if exact else 1e-9)
        compare(dtwist, expected[2], 1e-14 if exact else 1e-9)


@pytest.mark.parametrize("L", [0.1, 1.0, 10.0])
def test_differences_of_loads_that_vary_faster_or_slower_than_the_scales(kernels, L):
    """The documented accuracy, from a tenth of the scales to ten times."""
    scales = np.repeat([1.0, 0.1, 1.0, 0.1], 3) * L

    def wave(pose, twist, inputs):
        y = np.hstack([np.zeros((len(pose), 3)), pose[:, :3, 3], twist]) / scales
        return np.sin(y[:, 3:9] + 0.3) + np.cos(y[:, [9, 10, 11, 3, 4, 5]])

    pose, twist = states(50)
    pose[:, :3, 3] *= 0.1 * L
    twist[:, 3:] *= 0.1
    twist *= L
    _, dpose, dtwist = call(kernels, UserLoad(wave), pose, twist)
    y = np.hstack([np.zeros((len(pose), 3)), pose[:, :3, 3], twist]) / scales
    D = np.zeros((50, 6, 12))
    for i in range(6):
        D[:, i, 3 + i] += np.cos(y[:, 3 + i] + 0.3) / scales[3 + i]
        k = (9, 10, 11, 3, 4, 5)[i]
        D[:, i, k] -= np.sin(y[:, k]) / scales[k]
    for k in range(4):
        part = slice(3 * k, 3 * k + 3)
        compare(np.concatenate([dpose, dtwist], axis=2)[:, :, part], D[:, :, part], 1e-9)


def spring_point(R, x, omega, velocity, inputs, moment, force):
    for i in range(3):
        force[i] = -1e3 * (x[i] - 1e5) ** 3 / 1e-2**2
        moment[i] = 1e-5 * omega[i] ** 3


def spring(pose, twist, inputs):
    x = pose[:, :3, 3]
    return np.hstack([1e-5 * twist[:, :3] ** 3, -1e3 * (x - 1e5) ** 3 / 1e-2**2])


@pytest.mark.parametrize("form", ["python", "compiled"])
def test_differences_far_away_and_at_high_speed(kernels, form):
    """A stiff spring 100 km from the world's origin, and a rotor at 6000 rpm."""
    pose, twist = states(2)
    offsets = np.array([[0.004, -0.011, 0.02], [0.0, 0.03, -0.007]])
    pose[:, :3, 3] = 1e5 + offsets
    twist[:, :3] *= 630.0
    load = (
        UserLoad(spring, scales=(1, 0.01, 1, 1))
        if form == "python"
        else UserLoad(spring_point, compiled=True, scales=(1, 0.01, 1, 1))
    )
    _, dpose, dtwist = call(kernels, load, pose, twist)
    expected = np.zeros((2, 6, 6))
    for i in range(3):
        expected[:, 3 + i, 3 + i] = -3e3 * (pose[:, i, 3] - 1e5) ** 2 / 1e-2**2
    compare(dpose, expected, 1e-9)  # because differences are divided by the steps that were taken after rounding
    expected = np.zeros((2, 6, 6))
    for i in range(3):
        expected[:, i, i] = 3e-5 * twist[:, i] ** 2
    compare(dtwist, expected, 1e-9)


def test_without_want_derivatives_are_neither_asked_for_nor_touched(kernels):
    def fail(pose, twist, inputs):
        raise AssertionError

    pose, twist = states(3)
    for load in (
        UserLoad(drag, fail, ["a", "b"]),
        UserLoad(drag, None, ["a", "b"]),
        compiled_load(derivatives=drag_point_derivatives, inputs=["a", "b"])(drag_point),
    ):
        wrench, dpose, dtwist = call(kernels, load, pose, twist, (1.0, 2.0), want=False)
        compare(wrench, drag(pose, twist, (1.0, 2.0)), 1e-14)
        assert np.all(dpose == 7.0)
        assert np.all(dtwist == 7.0)
        load.raise_error()


def test_no_points_and_no_inputs(kernels):
    """Nothing to do is done without calling the function."""
    calls = []
    load = UserLoad(lambda pose, twist, inputs: calls.append(inputs.shape) or np.zeros((len(pose), 6)))
    call(kernels, load, np.empty((0, 4, 4)), np.empty((0, 6)))
    assert not calls
    pose, twist = states(2)
    wrench, dpose, dtwist = call(kernels, load, pose, twist)
    assert calls == [(0,), (0,)]
    for array in (wrench, dpose, dtwist):
        assert np.all(array == 0.0)

    @compiled_load
    def nothing(R, x, omega, velocity, inputs, moment, force):
        pass

    call(kernels, nothing, np.empty((0, 4, 4)), np.empty((0, 6)))
    for array in call(kernels, nothing, pose, twist):
        assert np.all(array == 0.0)


def test_one_vectorised_call_for_all_perturbed_points(kernels):
    sizes = []

    def counted(pose, twist, inputs):
        sizes.append(len(pose))
        R = pose[:, :3, :3]
        np.testing.assert_allclose(R @ R.transpose(0, 2, 1), np.broadcast_to(np.eye(3), R.shape), atol=1e-14)
        np.testing.assert_array_equal(pose[:, 3], np.tile([0, 0, 0, 1], (len(pose), 1)))
        pose[:], twist[:], inputs[:] = 5.0, 5.0, 5.0  # its arrays are its own
        return np.zeros((len(pose), 6), dtype=int)

    load = UserLoad(counted, inputs=["a"])
    call(kernels, load, *states(3), (1.0,))
    load.raise_error()
    assert sizes == [3, 24 * 3]


@compiled_only
def test_a_function_compiled_by_the_user(kernels):
    """What numba.njit made can be given as it is."""
    numba = pytest.importorskip("numba")
    load = compiled_load(inputs=["a", "b"])(numba.njit(drag_point))
    assert load.name == "drag_point"
    pose, twist = states(2)
    compare(call(kernels, load, pose, twist, (1.0, 2.0))[0], drag(pose, twist, (1.0, 2.0)), 1e-14)


# ---------------------------------------------------------------- errors


def test_exceptions_are_kept_and_outputs_are_nan(kernels):
    fail = [True]

    def moody(pose, twist, inputs):
        if fail[0]:
            raise ZeroDivisionError("today not")
        return np.ones((len(pose), 6))

    load = UserLoad(moody)
    for array in call(kernels, load, *states(2)):
        assert np.all(np.isnan(array))
    first = load.error
    assert isinstance(first, ZeroDivisionError)
    call(kernels, load, *states(2))
    assert load.error is first
    with pytest.raises(ZeroDivisionError, match="today not"):
        load.raise_error()
    assert load.error is None
    load.raise_error()
    fail[0] = False
    wrench, dpose, _ = call(kernels, load, *states(2))
    assert np.all(wrench == 1.0)
    assert np.all(dpose == 0.0)
    assert load.error is None


def test_an_exception_in_derivatives_and_an_interrupt(kernels):
    def broken(pose, twist, inputs):
        raise KeyboardInterrupt

    load = UserLoad(drag, broken, ["a", "b"])
    for array in call(kernels, load, *states(2), (1.0, 1.0)):
        assert np.all(np.isnan(array))
    with pytest.raises(KeyboardInterrupt):
        load.raise_error()
    wrench, dpose, _ = call(kernels, load, *states(2), (1.0, 1.0), want=False)
    assert np.all(np.isfinite(wrench))
    assert np.all(dpose == 7.0)


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (lambda n: np.zeros((n, 5)), ValueError, r"load 'bad': the wrench .* shape \(2, 5\), but shape \(2, 6\)"),
        (lambda n: np.zeros(6), ValueError, r"shape \(6,\), but shape \(2, 6\)"),
        (lambda n: None, TypeError, r"load 'bad': the wrench of function is of type NoneType, .* shape \(2, 6\)"),
        (lambda n: np.zeros((n, 6), complex), TypeError, r"an array of complex128 of shape \(2, 6\)"),
        (lambda n: [[1.0], [1.0, 2.0]], TypeError, "of type list, but real numbers"),
        (lambda n: np.zeros((2, 6)), ValueError, r"shape \(2, 6\), but shape \(48, 6\) .* changes from call to call"),
    ],
)
def test_wrong_wrench(kernels, result, error, message):
    def bad(pose, twist, inputs):
        return result(len(pose))

    load = UserLoad(bad)
    for array in call(kernels, load, *states(2)):
        assert np.all(np.isnan(array))
    with pytest.raises(error, match=message):
        load.raise_error()


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (None, TypeError, r"load 'drag': derivatives returned of type NoneType, but a pair \(dpose, dtwist\)"),
        (np.zeros((2, 6, 6)), TypeError, r"returned an array of float64 of shape \(2, 6, 6\), but a pair"),
        ((np.zeros((2, 6, 5)), np.zeros((2, 6, 6))), ValueError, r"dpose of derivatives has shape \(2, 6, 5\)"),
        ((np.zeros((2, 6, 6)), np.zeros((6, 6))), ValueError, r"dtwist .* shape \(6, 6\), but shape \(2, 6, 6\)"),
    ],
)
def test_wrong_derivatives(kernels, result, error, message):
    load = UserLoad(drag, lambda pose, twist, inputs: result, ["a", "b"])
    for array in call(kernels, load, *states(2), (1.0, 1.0)):
        assert np.all(np.isnan(array))
    with pytest.raises(error, match=message):
        load.raise_error()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"function": 3.0}, TypeError, "function = 3.0 is not callable"),
        ({"derivatives": 3.0}, TypeError, "derivatives = 3.0 is not callable"),
        ({"inputs": ["a", "a"]}, ValueError, "'a' is given twice"),
        ({"inputs": [1.0]}, TypeError, "1.0 must be a non-empty string"),
        ({"inputs": 2}, TypeError, "inputs = 2 must be a sequence of names"),
        ({"scales": 1.0}, ValueError, "must be four numbers"),
        ({"scales": (1, 1, 0, 1)}, ValueError, "scales: angular velocity = 0 .* greater than zero"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        UserLoad(**{"function": drag, **arguments})


def test_one_input_may_be_given_as_its_name():
    assert UserLoad(drag, inputs="speed").inputs == ("speed",)


@compiled_only
def test_what_numba_cannot_compile():
    @compiled_load
    def bad(R, x, omega, velocity, inputs, moment, force):
        force[0] = "text"

    with pytest.raises(TypeError, match=r"load 'bad' cannot be compiled: .*(?s:.*)Numba says"):
        _ = bad.address

    @compiled_load
    def vectorised(pose, twist, inputs):
        return np.zeros((len(pose), 6))

    with pytest.raises(TypeError, match=r"takes \(R, x, omega, velocity, inputs, moment, force\)"):
        _ = vectorised.address


@compiled_only
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_in_compiled_code_leaves_nan(kernels):
    @compiled_load
    def second(R, x, omega, velocity, inputs, moment, force):
        force[:] = 1.0
        if x[0] > 50.0:
            raise ValueError("too far")

    pose, twist = states(3)
    pose[1, 0, 3] = 100.0
    wrench, dpose, dtwist = call(kernels, second, pose, twist)
    np.testing.assert_array_equal(wrench[0], [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(dpose[0], 0)
    for array in (wrench, dpose, dtwist):
        assert np.all(np.isnan(array[1:]))


@compiled_only
def test_call_load_wants_contiguous_arrays_of_floats(kernels):
    load = UserLoad(drag)
    good = [np.zeros((2, 12)), np.zeros((2, 6)), np.zeros(0), *[np.zeros((2, 6, 6))] * 3]
    for k, wrong in ((0, np.zeros((2, 24))[:, ::2]), (3, np.zeros((2, 6), dtype=np.float32)), (4, 1.0)):
        arrays = list(good)
        arrays[k] = wrong
        with pytest.raises(Exception, match="must be a C-contiguous array of float64"):
            kernels.evaluate(load.address, 2, 0, *arrays)
    with pytest.raises(Exception, match="address must be an integer"):
        kernels.evaluate(1.5, 2, 0, *good)


# ---------------------------------------------------------------- life of the pointer


def test_address_is_constant_and_the_load_can_be_forgotten():
    def make():
        load = UserLoad(lambda pose, twist, inputs: np.zeros((len(pose), 6)))
        assert load.address == load.address != 0
        return weakref.ref(load)

    reference = make()
    gc.collect()
    assert reference() is None


def test_load_lives_through_collections(kernels):
    pose, twist = states(2)
    loads = [UserLoad(lambda pose, twist, inputs, c=c: np.full((len(pose), 6), c)) for c in range(50)]
    loads += [compiled_load(inputs=["a", "b"])(drag_point)]
    addresses = [load.address for load in loads]
    assert len(set(addresses)) == len(addresses)
    gc.collect()
    for c, load in enumerate(loads[:-1]):
        assert np.all(call(kernels, load, pose, twist)[0] == c)
    compare(call(kernels, loads[-1], pose, twist, (1.0, 0.0))[0], drag(pose, twist, (1.0, 0.0)), 1e-14)


def test_kernels_in_several_threads(kernels):
    """The kernel runs without the interpreter's lock, the callback takes it."""
    load = UserLoad(drag, inputs=["a", "b"])
    pose, twist = states(4)
    expected = drag(pose, twist, (1.0, 2.0))
    results = []

    def work():
        for _ in range(50):
            results.append(call(kernels, load, pose, twist, (1.0, 2.0))[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    load.raise_error()
    assert len(results) == 200
    for wrench in results:
        np.testing.assert_array_equal(wrench, expected)


# ---------------------------------------------------------------- other processes

PROCESS = """
import sys
import numpy as np
import load_kernels
from pliant.model.user import UserLoad, compiled_load

def constant(c):
    return lambda pose, twist, inputs: np.full((len(pose), 6), c)

def point(R, x, omega, velocity, inputs, moment, force):
    force[0] = 42.0 + inputs[0]

form, value, padding = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
waste = [UserLoad(constant(0.0)) for _ in range(padding)]  # other addresses than in the other processes
addresses = [load.address for load in waste]
load = UserLoad(constant(value), inputs=["a"]) if form == "python" else compiled_load(inputs=["a"])(point)
arrays = [np.zeros(s) for s in ((3, 12), (3, 6), (1,), (3, 6), (3, 6, 6), (3, 6, 6))]
load_kernels.evaluate(load.address, 3, 1, *arrays)
load.raise_error()
stats = getattr(load_kernels.evaluate, "stats", None)
hits = sum(stats.cache_hits.values()) if stats else 0
misses = sum(stats.cache_misses.values()) if stats else 0
print(load.address, hits, misses, *arrays[3][2].tolist())
"""


def run(directory: Path, *arguments: str, **environment: str) -> tuple[int, tuple[int, int], list[float]]:
    dropped = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT")
    env = {key: value for key, value in os.environ.items() if key not in dropped}
    env |= {"PYTHONPATH": os.pathsep.join([str(directory), str(Path(pliant.__file__).parents[1])]), **environment}
    done = subprocess.run(
        [sys.executable, "-c", PROCESS, *arguments], env=env, cwd=directory, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    address, hits, misses, *wrench = done.stdout.split()
    return int(address), (int(hits), int(misses)), [float(w) for w in wrench]


def test_a_cached_kernel_calls_the_load_of_its_own_process(tmp_path):
    (tmp_path / "load_kernels.py").write_text(KERNEL)
    address, counts, wrench = run(tmp_path, "python", "3.0", "0")
    assert wrench == [3.0] * 6
    assert counts == (0, 1)
    addresses = {address}
    for value, padding in (("4.0", "300"), ("5.0", "1000")):
        address, counts, wrench = run(tmp_path, "python", value, padding)
        assert wrench == [float(value)] * 6
        assert counts == (1, 0)
        addresses.add(address)
    address, counts, wrench = run(tmp_path, "compiled", "0", "0")
    assert wrench == [0, 0, 0, 42.0, 0, 0]
    assert counts == (1, 0)
    addresses.add(address)
    assert len(addresses) > 2


@pytest.mark.parametrize("form", ["python", "compiled"])
def test_interpreted(tmp_path, form):
    (tmp_path / "load_kernels.py").write_text(KERNEL)
    _, _, wrench = run(tmp_path, form, "3.0", "0", NUMBA_DISABLE_JIT="1")
    assert wrench == ([3.0] * 6 if form == "python" else [0, 0, 0, 42.0, 0, 0])
