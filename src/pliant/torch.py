"""Motions as differentiable functions of PyTorch: ``import pliant.torch``; needs ``pip install 'pliant[torch]'``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .gradients.arrays import MotionFunction, Point, copied
from .gradients.coordinates import position_slopes
from .gradients.rollout import Rollout
from .system import FrameLike, System, needs_system

try:
    import torch
except ImportError:
    raise ImportError("pliant.torch needs PyTorch: pip install 'pliant[torch]'.") from None

__all__ = ["Trajectory", "positions", "rollout"]

Tensor = Any
Parameters = Mapping[str, Tensor] | tuple[Sequence[str], Tensor]


class Trajectory(NamedTuple):
    """States of a motion as tensors.

    Attributes
    ----------
    q, v : tensor (n + 1, nq), (n + 1, nv)
        Coordinates and velocities; the first row is the start.
    """

    q: Tensor
    v: Tensor


def rollout(
    system: System,
    U: Tensor,
    *,
    parameters: Parameters | None = None,
    start: Any = None,
    velocity: Any = None,
    **options: Any,
) -> Trajectory:
    """`pliant.rollout` of tensors, with the exact derivative by all of them, backwards and forwards (``torch.func.jvp``).

    Parameters
    ----------
    system : System
    U : tensor (m, nu)
        Inputs.
    parameters : dict of tensors () by name, or (names, tensor (k,)), optional
        Design parameters (`System.parameters`) to be changed, and differentiated by where they require it.
    start : tensor (nq,), or as in `rollout`
        Quaternions count as rotations, whatever their length. What is prescribed has no derivative by it.
    velocity : tensor (nv,), optional
    **options
        Others of `rollout`: ``step`` at least.

    Returns
    -------
    Trajectory
        Tensors q and v, of float64 on the CPU; derivatives have the type and the place of the tensors that were given.

    Examples
    --------
    >>> import torch
    >>> import pliant as pl
    >>> import pliant.torch
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> U = torch.full((20, 1), 5.0, requires_grad=True)
    >>> motion = pl.torch.rollout(system, U, step=0.01)
    >>> tip = pl.torch.positions(system, "arm.tip", motion.q)
    >>> tip[-1, 2].backward()
    >>> U.grad.shape, U.grad.dtype
    (torch.Size([20, 1]), torch.float32)
    """
    for name, value in options.items():
        if isinstance(value, torch.Tensor) and value.requires_grad:
            raise ValueError(
                f"{name} requires a gradient, but there is none by it: give {name}.detach(). Motions are differentiated by U, start, velocity and parameters."
            )
    q, v = (None if isinstance(x, torch.Tensor) else x for x in (start, velocity))
    function = MotionFunction(system, q, v, options)
    names, values = _parameters(parameters)
    function.check(names)
    call = _Call(function, names)
    start, velocity = (
        x if isinstance(x, torch.Tensor) else y for x, y in ((start, function.start), (velocity, function.velocity))
    )
    return Trajectory(*_Rollout.apply(call, *(_double(x) for x in (U, start, velocity, values))))


def positions(system: System, frame: FrameLike, q: Tensor) -> Tensor:
    """Position of a frame in the world [m], tensor (..., 3), for coordinates q (..., nq), with its exact derivative."""
    needs_system("positions", system)
    q = _double(q)
    if not q.ndim or q.shape[-1] != system.nq:
        raise ValueError(f"q has shape {tuple(q.shape)}, but (..., {system.nq}) is needed for {system.name!r}.")
    return _Positions.apply(system, frame, q)


class _Call:
    """A motion that is asked for, and then computed."""

    def __init__(self, function: MotionFunction, names: tuple[str, ...]) -> None:
        self.function, self.names = function, names
        self.run: Rollout | None = None
        self.start = function.start


def _parameters(given: Parameters | None) -> tuple[tuple[str, ...], Tensor]:
    """Names and values (k,)."""
    if given is None:
        return (), np.zeros(0)
    if isinstance(given, Mapping):
        entries = [_double(x) for x in given.values()]
        for name, x in zip(given, entries):
            if x.ndim:
                raise ValueError(
                    f"parameters[{name!r}] has shape {tuple(x.shape)}, but a single number is needed: a tensor of shape ()."
                )
        return tuple(given), torch.stack(entries) if entries else np.zeros(0)
    if not isinstance(given, tuple) or len(given) != 2 or isinstance(given[0], str):
        raise TypeError(
            f"parameters must be a dict of tensors by name, or a pair (names, tensor), not {type(given).__name__}."
        )
    names, values = tuple(given[0]), _double(given[1])
    if values.shape != (len(names),):
        raise ValueError(
            f"parameters has {len(names)} names, but values of shape {tuple(values.shape)}; ({len(names)},) is needed."
        )
    return names, values


def _double(x: Any) -> Tensor:
    """A tensor of float64 on the CPU; derivatives go back to where it was."""
    if isinstance(x, torch.Tensor):
        return x.to("cpu", torch.float64)
    return torch.as_tensor(copied(x))


def _array(x: Tensor) -> Any:
    return copied(x.detach().numpy())


def _tensors(*arrays: Any) -> tuple[Tensor, ...]:
    return tuple(torch.from_numpy(copied(x)) for x in arrays)


class _Product(torch.autograd.Function):
    """A product with a derivative, computed outside of PyTorch."""

    @staticmethod
    def forward(task: Callable[..., Sequence[Any]], *given: Tensor) -> tuple[Tensor, ...]:
        """What the task makes of the arrays."""
        return _tensors(*task(*map(_array, given)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Nothing to keep."""

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Any:
        """There is none."""
        raise NotImplementedError(
            "pliant.torch has no second derivatives: differentiate once, without create_graph, and take differences of gradients."
        )

    @staticmethod
    def jvp(ctx: Any, *changes: Tensor) -> Any:
        """There is none."""
        return _Product.backward(ctx)


class _Rollout(torch.autograd.Function):
    """(q, v) of a motion."""

    @staticmethod
    def forward(call: _Call, *given: Tensor) -> tuple[Tensor, ...]:
        """Compute the motion; the call keeps it."""
        at = Point(*map(_array, given))
        call.run, call.start = call.function.run(call.names, at), at.start
        return _tensors(call.run.q, call.run.v)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep the motion."""
        ctx.call = inputs[0]

    @staticmethod
    def backward(ctx: Any, q: Tensor, v: Tensor) -> tuple[Any, ...]:
        """The transposed product."""
        call, needed = ctx.call, ctx.needs_input_grad[1:]
        names = call.names if needed[3] else ()
        found = _Product.apply(partial(call.function.pull, call.run, names, call.start), q, v)
        return None, *(x if need else None for x, need in zip(found, needed))

    @staticmethod
    def jvp(ctx: Any, _call: None, *changes: Tensor) -> tuple[Tensor, ...]:
        """The product."""
        call = ctx.call

        def push(*changes: Any) -> Any:
            return call.function.push(call.run, call.names, call.start, Point(*changes))

        return _Product.apply(push, *changes)


class _Positions(torch.autograd.Function):
    """Positions of a frame."""

    @staticmethod
    def forward(system: System, frame: FrameLike, q: Tensor) -> Tensor:
        """(..., 3)."""
        rows = _array(q).reshape(-1, system.nq)
        return torch.from_numpy(system.pose(frame, rows)[:, :3, 3].reshape(*q.shape[:-1], 3).copy())

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep q."""
        ctx.system, ctx.frame, q = inputs
        ctx.save_for_backward(q)
        ctx.save_for_forward(q)

    @staticmethod
    def slopes(ctx: Any) -> Tensor:
        """∂p/∂q (..., 3, nq)."""
        system, frame, (q,) = ctx.system, ctx.frame, ctx.saved_tensors

        def derive(q: Any) -> tuple[Any]:
            return (position_slopes(system, frame, q.reshape(-1, system.nq)).reshape(*q.shape[:-1], 3, system.nq),)

        return _Product.apply(derive, q)[0]

    @staticmethod
    def backward(ctx: Any, slopes: Tensor) -> tuple[Any, ...]:
        """The transposed product."""
        return None, None, (slopes[..., None, :] @ _Positions.slopes(ctx))[..., 0, :]

    @staticmethod
    def jvp(ctx: Any, _system: None, _frame: None, change: Tensor) -> Tensor:
        """The product."""
        return (_Positions.slopes(ctx) @ change[..., None])[..., 0]
