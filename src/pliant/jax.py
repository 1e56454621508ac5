"""Motions as differentiable functions of JAX: ``import pliant.jax``; needs ``pip install 'pliant[jax]'``, and numbers of 64 bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Literal

import numpy as np

from .gradients.arrays import MotionFunction, Point, Recent, copied
from .gradients.coordinates import position_slopes
from .gradients.rollout import Rollout
from .model.validate import choice, integer
from .system import FrameLike, System, needs_system
from .system.processors import all_threads

try:
    import jax
    from jax import numpy as jnp
except ImportError:
    raise ImportError("pliant.jax needs JAX: pip install 'pliant[jax]'.") from None

__all__ = ["positions", "rollout"]

Array = Any
Mode = Literal["reverse", "forward"]


def rollout(
    system: System,
    *,
    step: Any,
    start: Any = None,
    velocity: Any = None,
    mode: Mode = "reverse",
    keep: int = 8,
    **options: Any,
) -> Callable[..., tuple[Array, Array]]:
    """`pliant.rollout` as a function of JAX arrays with its exact derivative, for `jax.jit`, `jax.vmap` and `jax.grad`.

    Parameters
    ----------
    system : System
    step : float or array (n,)
        Step, or all steps [s].
    start, velocity
        Used where the function is given none; as in `pliant.rollout`.
    mode : {"reverse", "forward"}
        Which derivatives the function has, as JAX allows for one kind only: those of `jax.grad`, `jax.vjp`, `jax.jacrev`, or those of `jax.jvp`,
        `jax.jacfwd`.
    keep : int
        How many motions are kept from one pass to the next; what was forgotten is computed again.
    **options
        Others of `pliant.rollout`.

    Returns
    -------
    function
        ``f(U, start=None, velocity=None, parameters=None)`` → q (n + 1, nq), v (n + 1, nv), with inputs U (m, nu), start (nq,), velocity (nv,)
        and parameters (`System.parameters`) as a dict of numbers by name. Quaternions of a start count as rotations, whatever their length.
        What is prescribed has no derivative by it. With `jax.vmap` motions are computed in threads, over all processors.

    Examples
    --------
    >>> import jax
    >>> import pliant as pl
    >>> import pliant.jax
    >>> jax.config.update("jax_enable_x64", True)
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> motion = pl.jax.rollout(system, step=0.01)
    >>> def height(U):
    ...     q, v = motion(U)
    ...     return pl.jax.positions(system, "arm.tip", q[-1])[2]
    >>> jax.jit(jax.grad(height))(jax.numpy.full((20, 1), 5.0)).shape
    (20, 1)
    """
    choice("mode", mode, ("reverse", "forward"))
    if options.get("subdivide"):
        raise ValueError(
            "subdivide = True is not possible in JAX, where the number of states must be known before. Use a shorter step."
        )
    host = _Host(MotionFunction(system, start, velocity, {**options, "step": step}), integer("keep", keep, minimum=1))
    motion = _reversed(host) if mode == "reverse" else _forward(host)

    def function(
        U: Array, start: Array = None, velocity: Array = None, parameters: Mapping[str, Array] | None = None
    ) -> tuple[Array, Array]:
        _needs_double("pliant.jax.rollout")
        names = tuple(sorted(parameters or {}))
        host.function.check(names)
        values = [jnp.asarray(parameters[name], float) for name in names] if parameters else []
        at = (
            _shaped("U", U, (None, system.nu)),
            _shaped("start", host.function.start if start is None else start, (system.nq,)),
            _shaped("velocity", host.function.velocity if velocity is None else velocity, (system.nv,)),
            _shaped("parameters", jnp.stack(values) if values else np.zeros(0), (len(names),)),
        )
        q, v = motion(names, *at)
        return q, v

    return function


def positions(system: System, frame: FrameLike, q: Array) -> Array:
    """Position of a frame in the world [m], (..., 3), for coordinates q (..., nq), with its exact derivative in either mode."""
    needs_system("positions", system)
    _needs_double("pliant.jax.positions")
    system.place(frame)  # errors here rather than from the callback
    q = jnp.asarray(q, float)
    if not q.ndim or q.shape[-1] != system.nq:
        raise ValueError(f"q has shape {q.shape}, but (..., {system.nq}) is needed for {system.name!r}.")

    def place(rows: Array) -> Any:
        return system.pose(frame, copied(rows).reshape(-1, system.nq))[:, :3, 3].reshape(*rows.shape[:-1], 3)

    def slopes(rows: Array) -> Any:
        return position_slopes(system, frame, copied(rows).reshape(-1, system.nq)).reshape(
            *rows.shape[:-1], 3, system.nq
        )

    @jax.custom_jvp
    def found(q: Array) -> Array:
        return jax.pure_callback(place, _shape(*q.shape[:-1], 3), q, vmap_method="expand_dims")

    @found.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Array, Array]:
        J = jax.pure_callback(slopes, _shape(*q.shape[:-1], 3, system.nq), *primals, vmap_method="expand_dims")
        return found(*primals), (J @ tangents[0][..., None])[..., 0]

    return found(q)


class _Host:
    """What is computed outside of JAX, in functions of arrays that are copied as they come."""

    def __init__(self, function: MotionFunction, keep: int) -> None:
        self.function, self.recent = function, Recent(keep)

    def motion(self, names: tuple[str, ...], at: Point) -> Rollout:
        """The motion, unless it was just computed."""
        return self.recent.of((names, at.key()), lambda: self.function.run(names, at))

    def run(self, names: tuple[str, ...], *given: Array) -> tuple[Any, Any]:
        """(q, v)."""
        run = self.motion(names, Point(*map(copied, given)))
        return run.q, run.v

    def pull(self, names: tuple[str, ...], *given: Array) -> tuple[Any, ...]:
        """Derivatives by the first four arguments, from those by q and v, the last two."""
        *at, q, v = map(copied, given)
        point = Point(*at)
        return tuple(self.function.pull(self.motion(names, point), names, point.start, q, v))

    def push(self, names: tuple[str, ...], *given: Array) -> tuple[Any, Any]:
        """Changes of q and v, from those of the first four arguments, the last four."""
        arrays = [copied(x) for x in given]
        point = Point(*arrays[:4])
        return self.function.push(self.motion(names, point), names, point.start, Point(*arrays[4:]))

    def shapes(self, rows: int) -> tuple[Any, Any]:
        """Those of q and v."""
        system, options = self.function.system, self.function.options
        step, duration = options["step"], options.get("duration")
        if np.ndim(step) == 1:
            n = len(step)
        elif duration is not None:
            n = round(duration / step)
        else:
            n = rows if options.get("inputs", "hold") == "hold" else rows - 1
        return _shape(n + 1, system.nq), _shape(n + 1, system.nv)

    def call(self, task: Callable[..., Any], names: tuple[str, ...], shapes: Any, *given: Array) -> Any:
        """Do one of these tasks from JAX; of `jax.vmap` many, over all processors."""
        dimensions = [x.ndim for x in given]

        def each(*arrays: Array) -> Any:
            rows = [np.asarray(x) for x in arrays]
            lead = rows[0].shape[: rows[0].ndim - dimensions[0]]
            if not lead:
                return task(names, *rows)
            items = [x.reshape(math.prod(lead), *x.shape[len(lead) :]) for x in rows]
            with ThreadPoolExecutor(min(all_threads(), max(1, len(items[0])))) as pool:
                found = list(pool.map(partial(task, names), *items))
            return tuple(np.array([x[k] for x in found]).reshape(*lead, *one.shape) for k, one in enumerate(shapes))

        return jax.pure_callback(each, shapes, *given, vmap_method="broadcast_all")


def _reversed(host: _Host) -> Callable[..., Any]:
    """The motion with derivatives in reverse mode."""

    @partial(jax.custom_vjp, nondiff_argnums=(0,))
    def motion(names: tuple[str, ...], *at: Array) -> Any:
        return host.call(host.run, names, host.shapes(len(at[0])), *at)

    def forward(names: tuple[str, ...], *at: Array) -> tuple[Any, Any]:
        return motion(names, *at), at

    def backward(names: tuple[str, ...], at: Any, slopes: Any) -> Any:
        return host.call(host.pull, names, tuple(_shape(*x.shape) for x in at), *at, *slopes)

    motion.defvjp(forward, backward)
    return motion


def _forward(host: _Host) -> Callable[..., Any]:
    """The motion with derivatives in forward mode."""

    @partial(jax.custom_jvp, nondiff_argnums=(0,))
    def motion(names: tuple[str, ...], *at: Array) -> Any:
        return host.call(host.run, names, host.shapes(len(at[0])), *at)

    @motion.defjvp
    def _(names: tuple[str, ...], at: Any, changes: Any) -> Any:
        return motion(names, *at), host.call(host.push, names, host.shapes(len(at[0])), *at, *changes)

    return motion


def _shape(*sizes: int) -> Any:
    return jax.ShapeDtypeStruct(sizes, np.float64)


def _shaped(name: str, x: Array, shape: tuple[int | None, ...]) -> Array:
    """An array of JAX, of float64; error unless it has a shape (None: any number but 0)."""
    array = jnp.asarray(x, float)
    if array.ndim != len(shape) or any(
        have != need if need is not None else not have for have, need in zip(array.shape, shape)
    ):
        needed = str(tuple("m" if need is None else need for need in shape)).replace("'", "")
        raise ValueError(f"{name} has shape {array.shape}, but {needed} is needed.")
    return array


def _needs_double(name: str) -> None:
    if not jax.config.jax_enable_x64:
        raise RuntimeError(
            f'{name} needs numbers of 64 bits, and jax_enable_x64 is False: call jax.config.update("jax_enable_x64", True) at the start of the program.'
        )
