"""Families of loads that are compiled on their own, when a robot first needs them.

The engine calls them through a pointer, so that a robot without contact does not wait for contact to compile, and so
that a family can be added from outside without compiling anything else again. A unit is a function ::

    @unit(Tables, tasks=(FORCES, MATRICES), space=Space)
    def ask(task, t, work, tables, space, q, v, u, out): ...

with the robot's tables and workspace, the family's own tables and its own workspace (an empty tuple if it has none), coordinates,
velocities and inputs. It is called for the tasks that it names:

* FORCES: subtract wrenches from those of the steps, see `law` (after the forward pass);
* MATRICES: add to the matrices K and N of the steps, see `law`;
* GENERALISED: subtract generalised forces from the residual out[0] (nv,), after FORCES;
* TANGENT: add to the tangent `out` (nv, nv) what K and N do not hold, times the weights work.message[MESSAGE_CQ] of ∂/∂q and
  [MESSAGE_CV] of ∂/∂v;
* ENERGY: add the potential energy to work.message[MESSAGE_ENERGY] and the size of its parts to [MESSAGE_SIZE];
* INPUTS: add the derivatives of the generalised forces with respect to the inputs to `out` (nu, nv);
* LENGTHS: lengths of tendons into work.tension, their derivatives into `out` (tendons, nv);
* VALUES: values, rates and accelerations of loop joints into work.closure;
* CLOSURE: these, and their derivatives into `out` (rows, nv);
* DRIFT: derivatives of ë + rate · ė + value · e of loop joints into `out` (rows, nv), with the weights of TANGENT and the factors
  work.message[MESSAGE_RATE] and [MESSAGE_VALUE];
* TOUCHES: contacts into the rows of `out`, also those apart by less than work.message[MESSAGE_GAP]; their number into
  [MESSAGE_COUNT].

A unit may remember: its tables then have an array ``first`` (1,), and its internal variables are work.memory[first:…], of which `Family.memory` says how
many there are. work.memory holds what they were a time work.lag before: it is zero at an instant, γh at a stage of an implicit step, `layout.STATIC` in
statics. With its forces (FORCES or GENERALISED) the unit writes what they are now into work.kept, as follows implicitly from the state now, and never reads what
it wrote; its derivatives are those of the forces with that dependence. In statics velocities are displacements since the start, divided by work.lag. For
derivatives of motions it knows the task

* MEMORY: with z* in work.memory, what z in work.kept is made of: for each of its variables the row ``out[first + k]`` (3 nv + nz + nu,) of derivatives
  ∂z/∂q, ∂z/∂v, ∂r/∂z* (of all coordinates' residuals by this variable), ∂z/∂z*, ∂z/∂u, in this order, the first two along the manifold. The rows are zero
  before. It is called after the forward pass, with the columns J and R of the steps (`law.step_columns`), not after FORCES.

A unit may also be given a function ``reverse(t, work, tables, gain, common, q, v, u)`` for the sweep over the tables (`reverse.tables`), which calls it as
the task REVERSE: it adds to `gain`, and to `common` for the robot's tables, the derivatives of φ by all numbers that its wrenches depend on. A unit
that has no task TANGENT leaves what steps are owed to the matrices K and N; one that has adds it to work.reverse itself (see `owing`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._call import Unit, array_at
from ..._jit import managed, routine
from ..groups import unpack_tables, unpack_work
from ..packing import unpacker

FORCES, MATRICES, GENERALISED, TANGENT, ENERGY, INPUTS, LENGTHS, CLOSURE, VALUES, TOUCHES, DRIFT, REVERSE, MEMORY = (
    np.int64(k) for k in range(13)
)


class LoadUnit(Unit):
    """A unit with the classes of its tables and of its workspace, and the tasks that it knows as bits."""

    def __init__(self, entry: Any, source: Any, tables: Any, space: Any, tasks: Sequence[Any]) -> None:
        super().__init__(entry, source)
        self.tables, self.space = tables, space
        self.tasks = sum(1 << int(task) for task in tasks)


@managed
def no_space(ints, floats, first):
    """What a family without a workspace of its own unpacks."""
    return ()


def unit(tables: Any, *, tasks: Sequence[Any], space: Any = None, reverse: Any = None) -> Callable[[Any], LoadUnit]:
    """Decorate the function of a family of loads; see the top of this file.

    Parameters
    ----------
    tables : NamedTuple class
        The family's tables, annotated with `I1` … `F3`.
    tasks : sequence of tasks
        For which the function is called.
    space : NamedTuple class, optional
        The family's own workspace.
    reverse : function, optional
        For the sweep over the tables.
    """
    unpack_own = unpacker(tables)
    unpack_space = no_space if space is None else unpacker(space)

    def decorate(function: Any) -> LoadUnit:
        ask = routine(function)
        backwards = None if reverse is None else routine(reverse)

        def plain(task, own, spare, i, n_i, f, n_f, w, n_w, q, n_q, v, n_v, u, n_u, out, n_out, width):
            ints, floats, buffer = array_at(i, (n_i,)), array_at(f, (n_f,)), array_at(w, (n_w,))
            ask(
                task,
                unpack_tables(ints, floats),
                unpack_work(ints, buffer),
                unpack_own(ints, floats, own),
                unpack_space(ints, buffer, spare),
                array_at(q, (n_q,)),
                array_at(v, (n_v,)),
                array_at(u, (n_u,)),
                array_at(out, (n_out // width, width)),
            )

        plain.__module__ = function.__module__
        plain.__name__ = plain.__qualname__ = f"{function.__qualname__}_tasks"
        forwards = managed(plain)

        def both(task, own, spare, i, n_i, f, n_f, w, n_w, q, n_q, v, n_v, u, n_u, out, n_out, width):
            if task != REVERSE:
                forwards(task, own, spare, i, n_i, f, n_f, w, n_w, q, n_q, v, n_v, u, n_u, out, n_out, width)
                return
            ints, floats, buffer = array_at(i, (n_i,)), array_at(f, (n_f,)), array_at(w, (n_w,))
            gradient = array_at(out, (n_out,))
            backwards(
                unpack_tables(ints, floats),
                unpack_work(ints, buffer),
                unpack_own(ints, floats, own),
                unpack_own(ints, gradient, own),
                unpack_tables(ints, gradient),
                array_at(q, (n_q,)),
                array_at(v, (n_v,)),
                array_at(u, (n_u,)),
            )

        entry = plain if reverse is None else both
        # a name of its own: two functions of one name, one compiled and one from the cache, could be taken for each other
        entry.__module__ = function.__module__
        entry.__name__ = entry.__qualname__ = f"{function.__qualname__}_entry"
        known = tasks if reverse is None else (*tasks, REVERSE)
        return LoadUnit(entry, function, tables, space, known)

    return decorate
