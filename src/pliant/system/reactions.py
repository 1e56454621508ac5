"""What joints of the tree transmit: the answers of `System` about reactions. Those of loop joints are in `forces`.

After the backward pass of the residual (MATH §3) the first step of a joint holds the sum of what all that the joint carries
needs, ``fᶜ = Σ (I A + ad*_V I V − f_ext)``: by Newton's and Euler's equations the wrench that comes through the joint. Fixed
joints have no step, since bodies that they connect are one; they have in the cut system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..compile.model import compile_robot
from ..kernels import engine
from ..kernels.layout import FW, PE, RS
from ..model.links import Link
from ..model.validate import choice
from .arguments import checked_rows, numbers
from .core import Array, Core, Inputs
from .workspace import Given

if TYPE_CHECKING:
    from . import System

__all__ = ["Axes", "cut_system", "joint_wrench", "link_number", "reactions"]

Axes = Literal["joint", "world"]


def cut_system(system: Core) -> Core:
    """The same robot with a step for every joint, also for those that are fixed; coordinates are the same."""
    if all(info.joint_steps for info in system._assembly.links.values()):
        return system
    cut = object.__new__(Core)
    cut._set(compile_robot(system._robot, system._model.refine, cut=True))
    return cut


def link_number(system: Core, link: str | Link) -> int:
    """Which of `System.links` a link is; error if it is none."""
    return system.links.index(system._info(link).link.name)


def reactions(system: System, q: Array, v: Array, a: Array, u: Array, multipliers: Array, axes: Axes) -> Array:
    """Wrenches (m, links, 6) [moment; force] on all links through their joints, in m states; see `System.joint_wrench`.

    q (m, nq), v, a (m, nv), u (m, nu) and multipliers (m, rows) are not checked.
    """
    cut = system.cut
    steps = [info.joint_steps for info in cut._assembly.links.values()]
    first, last = np.array([[own[0], own[-1]] for own in steps]).T
    out = np.empty((len(q), len(steps), 6))
    with cut.borrow() as space:
        state = space.work.state
        for k in range(len(q)):
            given = Given(multipliers[k] if multipliers.shape[1] else None)
            cut.run_job(engine.RESIDUAL, q[k], v[k], a[k], u[k], given=given, space=space)
            moment, force = state[first, FW : FW + 3], state[first, FW + 3 : FW + 6]
            moment = moment - np.cross(state[last, PE : PE + 3], force)
            if axes == "joint":
                R = state[first, RS : RS + 9].reshape(-1, 3, 3)
                moment, force = (np.einsum("nji,nj->ni", R, x) for x in (moment, force))
            out[k, :, :3], out[k, :, 3:] = moment, force
    return out


def joint_wrench(
    system: System,
    link: str | Link,
    q: ArrayLike,
    v: ArrayLike | None,
    a: ArrayLike | None,
    u: Inputs,
    multipliers: ArrayLike | None,
    axes: Axes,
) -> Array:
    """See `System.joint_wrench`."""
    choice("axes", axes, ("joint", "world"))
    states = checked_rows("q", q, system.nq, system.name)
    m = len(states)
    rest = np.zeros((m, system.nv))
    V, A = (rest if x is None else checked_rows(n, x, system.nv, system.name, m) for n, x in (("v", v), ("a", a)))
    out = reactions(system, states, V, A, _input_rows(system, u, m), _multiplier_rows(system, multipliers, m), axes)
    found = out[:, link_number(system, link)]
    return found[0] if np.ndim(q) == 1 else found


def _input_rows(system: Core, u: Inputs, m: int) -> Array:
    """Inputs (m, nu) from one for all states, or a row for each."""
    if isinstance(u, (list, tuple, np.ndarray)) and np.ndim(u) == 2:
        return np.array([system.inputs(row) for row in checked_rows("u", u, system.nu, system.name, m)])
    return np.tile(system.inputs(u), (m, 1))


def _multiplier_rows(system: System, multipliers: ArrayLike | None, m: int) -> Array:
    """Multipliers (m, rows); error for a closed robot without."""
    rows = len(system.loop_rows)
    if multipliers is None:
        if rows:
            raise ValueError(
                f"multipliers is missing: the forces of the loops ({', '.join(map(repr, system._robot.loops))}) act on the joints, "
                "too. An Equilibrium, a Result and solve_inputs have them; give zeros for what opens the loops."
            )
        return np.zeros((m, 0))
    values = np.atleast_2d(numbers("multipliers", multipliers))
    if values.shape != (m, rows) or np.ndim(multipliers) > 2:
        wanted = f"({rows},)" if m == 1 else f"({m}, {rows})"
        raise ValueError(f"multipliers has shape {np.shape(multipliers)}, but {wanted} is needed.")
    return values
