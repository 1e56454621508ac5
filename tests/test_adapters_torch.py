"""PyTorch: derivatives of motions and positions against its own differences; types, places, no compilation."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from adapter_robots import arm, compiled_only, floating, nothing_compiled, state

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
adapter = pytest.importorskip("pliant.torch", exc_type=ImportError)
gradcheck = torch.autograd.gradcheck


def tensor(x: object, grad: bool = True) -> torch.Tensor:
    return torch.tensor(x, dtype=torch.float64, requires_grad=grad)


@pytest.fixture(scope="module")
def system() -> pl.System:
    return arm().compile()


def inputs(rows: int = 6, columns: int = 2) -> np.ndarray:
    return 2.0 + np.random.default_rng(0).uniform(size=(rows, columns))


def test_values(system):
    U, (q, v) = inputs(), state(system)
    run = pl.rollout(system, U, step=0.01, start=q, velocity=v)
    found = adapter.rollout(system, tensor(U), step=0.01, start=tensor(q), velocity=tensor(v))
    np.testing.assert_array_equal(found.q.detach(), run.q)
    np.testing.assert_array_equal(found.v.detach(), run.v)
    tip = adapter.positions(system, "arm.tip", found.q)
    np.testing.assert_array_equal(tip.detach(), run.positions("arm.tip"))


@pytest.mark.parametrize("forward", [False, True])
def test_gradients_of_an_arm(system, forward):
    q, v = state(system)

    def motion(U, start, velocity):
        found = adapter.rollout(system, U, step=0.02, start=start, velocity=velocity, inputs="linear")
        return found.q, found.v, adapter.positions(system, "arm.tip", found.q)

    given = tensor(inputs(5)), tensor(q), tensor(v)
    assert gradcheck(motion, given, eps=1e-5, atol=1e-5, rtol=1e-5, check_forward_ad=forward, fast_mode=False)


@pytest.mark.parametrize("forward", [False, True])
def test_gradients_of_a_floating_robot(forward):
    """By all entries of the start, quaternions too, which count as rotations."""
    system = floating().compile()
    q, v = state(system)
    q[:4] *= 1.3

    def motion(U, start, velocity):
        found = adapter.rollout(system, U, step=0.02, start=start, velocity=velocity)
        return found.q, found.v, adapter.positions(system, "rod.tip", found.q)

    given = tensor(inputs(3, 1)), tensor(q), tensor(v)
    assert gradcheck(motion, given, eps=1e-5, atol=1e-5, rtol=1e-5, check_forward_ad=forward)


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("form", ["dict", "pair"])
def test_gradients_by_parameters(system, form, forward):
    """Shares of parameters, so that differences have steps of a fitting size."""
    names = ["arm.young", "arm.length", "arm.density"]
    sizes = tensor([system.parameters[name] for name in names], grad=False)

    def motion(shares):
        values = shares * sizes
        given = dict(zip(names, values)) if form == "dict" else (names, values)
        found = adapter.rollout(system, inputs(4), parameters=given, step=0.02)
        return found.q, found.v

    shares = tensor([1.1, 0.9, 1.0])
    assert gradcheck(motion, (shares,), eps=1e-4, atol=1e-5, rtol=1e-5, check_forward_ad=forward)


def test_a_loss_at_the_tip_is_that_of_the_costs(system):
    U, goal = inputs(), torch.tensor([0.35, 0.05, 0.1])
    given = tensor(U)
    found = adapter.rollout(system, given, step=0.01)
    miss = adapter.positions(system, "arm.tip", found.q[-1]) - goal
    loss = miss @ miss.double()
    loss.backward()
    run = pl.rollout(system, U, step=0.01)
    by_tip = 2 * (run.positions("arm.tip")[-1] - goal.double().numpy())
    slopes = np.zeros_like(run.q)
    slopes[-1] = by_tip @ system.jacobian("arm.tip", run.q[-1], reference="world")[3:]
    np.testing.assert_allclose(given.grad, run.pull(q=slopes).u, rtol=1e-12)


def test_other_types_get_their_own_back(system):
    U = torch.full((4, 2), 2.0, dtype=torch.float32, requires_grad=True)
    young = torch.tensor(1e6, dtype=torch.float32, requires_grad=True)
    found = adapter.rollout(system, U, parameters={"arm.young": young}, step=0.01, start=pl.solve_statics(system))
    assert found.q.dtype == found.v.dtype == torch.float64
    found.q.sum().backward()
    assert U.grad.dtype == young.grad.dtype == torch.float32
    assert U.grad.abs().max() > 0
    assert young.grad.abs() > 0


def test_functional_transforms(system):
    def end(U):
        return adapter.positions(system, "arm.tip", adapter.rollout(system, U, step=0.01).q[-1]).square().sum()

    U, d = tensor(inputs(), grad=False), tensor(inputs(), grad=False)
    _value, change = torch.func.jvp(end, (U,), (d,))
    np.testing.assert_allclose(change, (torch.func.grad(end)(U) * d).sum(), rtol=1e-10)


def test_positions_of_any_shape(system):
    q = tensor(np.random.default_rng(0).normal(size=(2, 3, system.nq)))
    assert adapter.positions(system, "arm.tip", q).shape == (2, 3, 3)
    assert adapter.positions(system, "arm.tip", q[0, 0]).shape == (3,)
    assert gradcheck(lambda q: adapter.positions(system, "arm.tip", q), (q,), check_forward_ad=True)


@compiled_only
def test_nothing_is_compiled_for_arrays_of_other_kinds(system):
    q, v = state(system)

    def use(U, start, velocity):
        found = adapter.rollout(system, U, step=0.01, start=start, velocity=velocity)
        (found.q.T.sum(0).sum() + adapter.positions(system, "arm.tip", found.q.flip(1).flip(1)).sum()).backward()

    use(tensor(inputs()), tensor(q), tensor(v))
    wide, row = tensor(np.repeat(inputs(), 2, axis=1))[:, ::2], tensor(q).expand(3, -1)[1]
    constant = inputs()
    constant.flags.writeable = False
    with nothing_compiled():
        use(wide, row, tensor(np.repeat(v, 2))[::2])
        use(tensor(inputs().T.copy()).T, tensor(q), tensor(v))
        adapter.rollout(system, constant, step=0.01, start=row)


def test_refusals(system):
    U = tensor(inputs())
    with pytest.raises(ValueError, match=r"step requires a gradient, but there is none by it: give step\.detach"):
        adapter.rollout(system, U, step=tensor(0.01))
    with pytest.raises(KeyError, match=r"arm\.young"):
        adapter.rollout(system, U, step=0.01, parameters={"arm.yung": tensor(1e6)})
    with pytest.raises(ValueError, match=r"parameters\['arm.young'\] has shape \(1,\)"):
        adapter.rollout(system, U, step=0.01, parameters={"arm.young": tensor([1e6])})
    with pytest.raises(ValueError, match="parameters has 1 names, but values of shape"):
        adapter.rollout(system, U, step=0.01, parameters=(["arm.young"], tensor([1e6, 1.0])))
    with pytest.raises(TypeError, match="a dict of tensors by name, or a pair"):
        adapter.rollout(system, U, step=0.01, parameters=tensor([1e6]))
    with pytest.raises(ValueError, match=r"q has shape \(2,\), but \(\.\.\., 4\) is needed"):
        adapter.positions(system, "arm.tip", torch.zeros(2))
    with pytest.raises(TypeError, match="needs a System"):
        adapter.rollout(arm(), U, step=0.01)
    again = adapter.rollout(system, U, step=0.01).q.square().sum()
    (slope,) = torch.autograd.grad(again, U, create_graph=True)
    with pytest.raises(NotImplementedError, match="no second derivatives"):
        slope.sum().backward()
