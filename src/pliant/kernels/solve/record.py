"""A motion in given steps, and what is linear about it: the memory of rollouts, adjoints and tangents.

Packed behind the tape of a run (see `tape`). n steps of a method with s stages, of which the first is the start of the step; m rows of
constraints: tendons, then rows of loops.
"""

from typing import NamedTuple

import numpy as np

from ..layout import F1, F2, F3, I1, I2
from ..packing import unpacker
from ..program import Program
from .tape import Tape


class Record(NamedTuple):
    """What a rollout is given and finds."""

    t: F1  # (n + 1,) times [s]
    inputs: F3  # (n, s, nu + nv) inputs and further generalised forces at the stages; out: with the tensions of held tendons
    known: F3  # (n, s, …) what is prescribed, as in `Tape.known`; (0, s, …) if nothing is
    q: F2  # (n + 1, nq) states: coordinates,
    v: F2  # (n + 1, nv) velocities
    a: F3  # (n, s, nv) stages: accelerations,
    force: F3  # (n, s, loop rows) forces of loops
    memory: F2  # (n + 1, internal variables) what loads remember at the states; first as given
    kept: F3  # (n, s, internal variables) and at the stages
    hold: F2  # (n, tendons) which tendons were held in the steps, see `slots`
    taut: F2  # (n + 1, tendons) and in the projections of the states
    impact: F1  # (n + 1,) 1 where velocities were projected as in a plastic impact
    push: F3  # (n + 1, 2, m) multipliers of the projections of each state: of coordinates, of velocities (of an impact: its impulses)
    begin_q: F1  # (nq,) the start as it was given, before its projection: coordinates,
    begin_v: F1  # (nv,) velocities


class Lever(NamedTuple):
    """The linearised steps: adjoint states, directions, and the matrices of one stage."""

    q: F2  # (n + 1, nv) derivatives of a cost by the states; out: with all that follows from them
    v: F2  # (n + 1, nv)
    memory: F2  # (n + 1, internal variables) by what loads remember there
    y: F3  # (n, s, nv) adjoints of the stages' residuals
    z: F3  # (n, s, m) of their constraints
    trace: F3  # (n, s, internal variables) of what loads remember of them
    input: F3  # (n, s, nu + nv) derivatives by inputs and forces of the stages
    value: F2  # (n + 1, m) adjoints of the projections: of values,
    rate: F2  # (n + 1, m) of rates,
    along: F3  # (n + 1, 2, nv) and of the directions that they move along
    start: F2  # (2, nv) derivatives by the start as it was given
    tables: F1  # (reals of the robot,) derivatives by all its tables, through residuals
    # tangent, k directions
    dq: F2  # (k, nv) of a state
    dv: F2  # (k, nv)
    dz: F2  # (k, internal variables)
    du: F3  # (k, s, nu + nv) of the inputs of a step
    dkept: F3  # (k, s, internal variables) of what loads remember of the stages, from outside
    de: F3  # (k, s, m) of what its constraints follow, from outside: rates at the stages,
    dclose: F3  # (k, 2, m) values and rates at its end,
    dmove: F3  # (k, 2, nv) and the projection's moves there
    da: F3  # (s, k, nv) of its stages
    dk: F3  # (s, k, nv)
    df: F3  # (s, k, internal variables) rates of what loads remember
    # residuals at all stages, for other tables
    r: F3  # (n, s, nv)
    e: F3  # (n, s, m) rates of constraints
    kept: F3  # (n, s, internal variables) what loads remember of the stages
    close: F3  # (n + 1, 2, m) values and rates after projections
    direct: F3  # (n + 1, 2, nv) what the multipliers move
    # one stage
    matrices: F3  # (3, nv, nv) ∂r/∂q, ∂r/∂v, ∂r/∂a
    kkt: F2  # (nv + m, nv + m) factors
    pivot: I1  # (nv + m,)
    size: F1  # (m,) scale of each row; 0 for those that do not count
    keep: F1  # (5,) of factors that are kept from stage to stage, see `transposed`
    chart: F3  # (5 × manifold joints, 6, 6) see `chart`
    rows: F3  # (5, m, nv) G, H and forces at a stage, or G and W Gᵀ before a projection, G and H behind it; scratch
    columns: F2  # (nu, nv) derivatives of the generalised forces by the inputs
    vectors: F2  # (12, nv + m) scratch
    moves: F2  # (s, nv) displacements of the stages
    back: F3  # (2, s, nv) derivatives by accelerations and chart rates of the stages
    recall: F2  # (internal variables, 3 nv + internal variables + nu) see the task MEMORY of `loads.units`
    flow: F2  # (s + 2, internal variables) derivatives by rates of the stages; by what is remembered of one stage, and what it is given
    other: F3  # (3, nv, nv) stiffness without multipliers, with them
    # maps of all steps, x directions: of the state, 2 nv + internal variables, and of the inputs
    maps: F3  # (n, 2 nv + internal variables, x)
    answers: F3  # (n s, nv, x) derivatives of the accelerations of the stages
    stored: F3  # (n + 1, nv, nv) factors of the first stage of each step, and of another; (0, …) if not kept
    swaps: I2  # (n + 1, nv) their row exchanges; −1 where there are none
    product: F2  # (nv, nv) scratch
    # feedback, see `feedback`: knots of some steps each
    knot: I1  # (n,) of each step
    open: F2  # (knots, nu) inputs if the motion is that of the target
    gain: F3  # (knots, nu, 2 nv + internal variables, and nu for those of the knot before)
    low: F2  # (knots, nu) bounds
    high: F2  # (knots, nu)
    target_q: F2  # (n + 1, nq) the motion that changes are counted from: states,
    target_v: F2  # (n + 1, nv)
    target_z: F2  # (n + 1, internal variables)
    target_u: F2  # (n, nu) inputs
    target_a: F3  # (n, s, nv) and accelerations of the stages
    away: F1  # (2 nv + internal variables + 2 nu,) changes of the state, of the inputs before it and behind it


unpack_record = unpacker(Record, len(Tape._fields) + len(Program._fields))
unpack_lever = unpacker(Lever, len(Tape._fields) + len(Program._fields) + len(Record._fields))
# rows of `Lever.rows`
STAGE_G, STAGE_H, STAGE_PULL = np.int64(0), np.int64(1), np.int64(2)
BEFORE_G, BEFORE_D, AFTER_G, AFTER_H, SPARE_ROWS = (np.int64(k) for k in range(5))
