"""JAX: derivatives of motions and positions in both modes, under jit and vmap; no compilation of kernels."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from adapter_robots import arm, compiled_only, floating, nothing_compiled, state

jax = pytest.importorskip("jax", reason="JAX is not installed")
adapter = pytest.importorskip("pliant.jax", exc_type=ImportError)
jnp = jax.numpy


@pytest.fixture(autouse=True)
def _double():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def system() -> pl.System:
    return arm().compile()


@pytest.fixture(scope="module")
def adrift() -> pl.System:
    return floating().compile()


def inputs(rows: int = 6, columns: int = 2, seed: int = 0) -> np.ndarray:
    return 2.0 + np.random.default_rng(seed).uniform(size=(rows, columns))


def test_values(system):
    q, v = state(system)
    run = pl.rollout(system, inputs(), step=0.01, start=q, velocity=v)
    for f in (adapter.rollout(system, step=0.01), jax.jit(adapter.rollout(system, step=0.01))):
        found = f(inputs(), q, v)
        np.testing.assert_array_equal(found[0], run.q)
        np.testing.assert_array_equal(found[1], run.v)
    np.testing.assert_array_equal(adapter.rollout(system, step=0.01, start=q, velocity=v)(inputs())[0], run.q)
    np.testing.assert_array_equal(adapter.positions(system, "arm.tip", found[0]), run.positions("arm.tip"))


@pytest.mark.parametrize(
    ("options", "states"),
    [({"step": 0.01, "inputs": "linear"}, 6), ({"step": [0.01, 0.02]}, 3), ({"step": 0.01, "duration": 0.12}, 13)],
)
def test_numbers_of_states(system, options, states):
    rows = 2 if np.ndim(options["step"]) else 6
    assert adapter.rollout(system, **options)(inputs(rows))[0].shape == (states, system.nq)


def measure(system, motion, frame):
    """A number of a motion, in which all states count."""
    rng = np.random.default_rng(5)
    weights = [rng.normal(size=n) for n in (system.nq, system.nv, 3)]

    def number(U, start, velocity, parameters):
        q, v = motion(U, start, velocity, parameters)
        return (q @ weights[0] + v @ weights[1] + adapter.positions(system, frame, q) @ weights[2]).sum()

    return number


def differences(number, given, change, h=1e-5):
    def moved(s):
        return jax.tree.map(lambda x, d: x + s * h * d, given, change)

    return (8 * (number(*moved(1)) - number(*moved(-1))) - (number(*moved(2)) - number(*moved(-2)))) / (12 * h)


@pytest.mark.parametrize("name", ["system", "adrift"])
def test_both_modes_against_differences(name, request):
    """By inputs, all entries of the start, quaternions too, velocity and parameters."""
    system = request.getfixturevalue(name)
    rng, frame = np.random.default_rng(3), system.links[-1]
    names = ["arm.young", "gravity.z"] if name == "system" else ["ball.mass", "rod.length"]
    sizes = {key: system.parameters[key] for key in names}
    q, v = state(system)
    given = jnp.asarray(inputs(4, system.nu)), jnp.asarray(q), jnp.asarray(v), {key: jnp.ones(()) for key in names}
    change = jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape)), given)
    found = {}
    for mode in ("reverse", "forward"):
        scaled = measure(system, adapter.rollout(system, step=0.02, mode=mode), frame)

        def number(U, start, velocity, shares, scaled=scaled):
            return scaled(U, start, velocity, {key: share * sizes[key] for key, share in shares.items()})

        if mode == "reverse":
            slopes = jax.jit(jax.grad(number, argnums=(0, 1, 2, 3)))(*given)
            found[mode] = sum(jnp.vdot(x, d) for x, d in zip(jax.tree.leaves(slopes), jax.tree.leaves(change)))
        else:
            found[mode] = jax.jit(lambda *x, number=number: jax.jvp(number, x, change)[1])(*given)
    np.testing.assert_allclose(found["reverse"], found["forward"], rtol=1e-9)
    np.testing.assert_allclose(found["reverse"], differences(number, given, change), rtol=1e-7)


def test_jacobians(system):
    def end(mode):
        motion = adapter.rollout(system, step=0.01, mode=mode)
        return lambda U: adapter.positions(system, "arm.tip", motion(U)[0][-1])

    U = inputs(3)
    reverse, forward = jax.jacrev(end("reverse"))(U), jax.jacfwd(end("forward"))(U)
    assert reverse.shape == (3, 3, 2)
    np.testing.assert_allclose(reverse, forward, atol=1e-12)


def test_many_at_once(system):
    """vmap, also of gradients, of more motions than are kept."""
    motion = adapter.rollout(system, step=0.01, keep=2)
    U = np.array([inputs(seed=k) for k in range(5)])
    q, v = jax.jit(jax.vmap(motion))(U)
    runs = [pl.rollout(system, row, step=0.01) for row in U]
    np.testing.assert_array_equal(q, [run.q for run in runs])
    np.testing.assert_array_equal(v, [run.v for run in runs])

    def height(U):
        return adapter.positions(system, "arm.tip", motion(U)[0])[-1, 2]

    slopes = jax.vmap(jax.grad(height))(U)
    for k, run in enumerate(runs):
        by_q = np.zeros_like(run.q)
        by_q[-1] = system.jacobian("arm.tip", run.q[-1], reference="world")[5]
        np.testing.assert_allclose(slopes[k], run.pull(q=by_q).u, rtol=1e-10)
    starts = np.array([state(system, k)[0] for k in range(3)])
    found = jax.vmap(motion, in_axes=(None, 0))(U[0], starts)[0]
    np.testing.assert_array_equal(found[2], pl.rollout(system, U[0], step=0.01, start=starts[2]).q)
    twice = jax.vmap(jax.vmap(motion, in_axes=(0, None)), in_axes=(None, 0))(U, starts)[0]
    np.testing.assert_array_equal(twice[2, 4], pl.rollout(system, U[4], step=0.01, start=starts[2]).q)
    assert jax.vmap(motion)(U[:0])[0].shape == (0, *q.shape[1:])


def test_a_motion_is_computed_once_for_value_and_gradient(system, monkeypatch):
    from pliant.gradients import arrays

    runs = []
    monkeypatch.setattr(arrays, "rollout", lambda *x, **y: runs.append(1) or pl.rollout(*x, **y))
    motion = adapter.rollout(system, step=0.01)
    jax.value_and_grad(lambda U: motion(U)[0].sum())(jnp.asarray(inputs()))
    assert len(runs) == 1


def test_large_arrays(system):
    """Callbacks with large arrays must not wait for each other."""
    motion = adapter.rollout(system, step=1e-3)
    U = jnp.full((5000, 2), 2.0)
    slope = jax.jit(jax.grad(lambda U: motion(U)[0].sum()))(U)
    assert slope.shape == U.shape


def test_single_precision_is_converted(system):
    U = jnp.full((4, 2), 2.0, dtype=jnp.float32)
    motion = adapter.rollout(system, step=0.01)
    assert motion(U)[0].dtype == jnp.float64
    assert jax.grad(lambda U: motion(U)[0].sum())(U).dtype == jnp.float32


@compiled_only
def test_nothing_is_compiled_for_arrays_of_other_kinds(system):
    q, v = state(system)
    motion = adapter.rollout(system, step=0.01)

    def number(U, q, v):
        return adapter.positions(system, "arm.tip", motion(U, q, v)[0]).sum()

    pl.rollout(system, inputs(), step=0.01).pull(q=np.ones((7, system.nv)))
    system.jacobian("arm.tip", q)
    wide = np.repeat(inputs(), 2, axis=1)[:, ::2]
    q.flags.writeable = v.flags.writeable = wide.flags.writeable = False
    with nothing_compiled():
        jax.jit(jax.grad(number))(wide, q, v)
        jax.vmap(jax.grad(number), in_axes=(2, None, None))(np.array([wide, wide]).transpose(1, 2, 0), q, v)


def test_refusals(system):
    motion = adapter.rollout(system, step=0.01)
    with pytest.raises(ValueError, match=r"U has shape \(6, 3\), but \(m, 2\) is needed"):
        motion(inputs(6, 3))
    with pytest.raises(ValueError, match=r"start has shape \(3,\), but \(4,\) is needed"):
        motion(inputs(), np.zeros(3))
    with pytest.raises(KeyError, match=r"arm\.young"):
        motion(inputs(), parameters={"arm.yung": 1e6})
    with pytest.raises(TypeError, match="option 'tolerancee' is unknown here; there are step, duration"):
        adapter.rollout(system, step=0.01, tolerancee=1.0)
    with pytest.raises(ValueError, match="subdivide = True is not possible in JAX"):
        adapter.rollout(system, step=0.01, subdivide=True)
    with pytest.raises(ValueError, match="'reverse', 'forward'"):
        adapter.rollout(system, step=0.01, mode="both")
    with pytest.raises(ValueError, match=r"q has shape \(2,\)"):
        adapter.positions(system, "arm.tip", np.zeros(2))
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(RuntimeError, match=r"jax_enable_x64 is False: call jax\.config\.update"):
        motion(inputs())
    with pytest.raises(RuntimeError, match="jax_enable_x64"):
        adapter.positions(system, "arm.tip", np.zeros(4))
