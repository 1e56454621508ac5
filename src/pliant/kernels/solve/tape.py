"""What marching through time reads, remembers and writes: the tape of a run.

It is packed like the tables of a robot (see `packing`), as one array of integers and one of reals, and lasts as long as the
run. With s stages, of which the first is the start of the step, and room for n accepted steps.
"""

from typing import NamedTuple

import numpy as np

from ..layout import F1, F2, F3, I1, I2
from ..packing import unpacker
from ..program import Program


class Tape(NamedTuple):
    """Views of the tape."""

    address: I1  # (2,) of the function that gives inputs and prescribed motion, 0 if none varies; 1 if they depend on the state, see `stages`
    pivot: I1  # (nv,) of the mass matrix along the tree
    tableau: F2  # (s + 2, s) rows of a, then b − b̂ and c
    times: F1  # (s,) of the stages [s]
    inputs: F2  # (s, nu + nv) inputs and further generalised forces at the stages
    known: F2  # (s, nq + 2 nv + 2 tendons + 2 loop rows) prescribed coordinates, velocities, accelerations; lengths of tendons, their rates; what loops follow, its rates
    q: F2  # (s, nq) the stages: coordinates
    v: F2  # (s, nv) velocities
    a: F2  # (s, nv) accelerations
    rate: F2  # (s, nv) rates of the chart at the start of the step
    base: F2  # (2, nv) velocity and chart of a stage without its own acceleration
    past: F2  # (s, nv) accelerations of the last step's stages
    past_force: F2  # (s, loop rows) and forces of loops there
    past_times: F1  # (s,) when they were [s]
    weights: (
        F2  # (3, nv) tolerated errors of coordinates and velocities; frequencies [1/s] below which velocities count
    )
    error: F2  # (2, nv) estimated errors of coordinates and velocities
    moved: F1  # (nq,) scratch
    force: F2  # (s, loop rows) forces of loops at the stages, first at the start of the step
    memory: F2  # (s, internal variables + states of controllers) what loads and controllers remember at the stages
    flow: F2  # (s, the same) and its rates
    smooth: F1  # (internal variables,) 1 for internal variables that have a rate, 0 for what is remembered from step to step
    doubt: F1  # (1,) error of the states of controllers at the end of the step, in units of what is tolerated
    feedback: F2  # (nv, nv) derivative of the generalised forces of a feedback law; (0, 0) without one
    mass: F3  # (2, nv, nv) M where the tangent was factored, and factors of another; along the tree (1, store)
    free: I2  # (trees, 6) those that keep their momentum, see `momentum`
    law: F2  # (trees, 10) what it follows
    kick: F2  # (trees, KICK_WIDTH) what a step is given for that
    log_t: F1  # (n,) accepted steps: time,
    log_q: F2  # (n, nq) coordinates,
    log_v: F2  # (n, nv) velocities,
    log_a: F2  # (n, nv) accelerations,
    log_u: F2  # (n, nu + nv) inputs and forces,
    log_multiplier: F2  # (n, loop rows) forces of loops,
    log_memory: F2  # (n, internal variables + states of controllers) what loads and controllers remember,
    log_energy: F2  # (n, 5) energies and power, see `balance`; not a number where nobody looked


unpack_tape = unpacker(Tape, 0)
unpack_program = unpacker(Program, len(Tape._fields))
TAPE_GROUPS = (Tape, Program)

# what a run is told at its end, beside the states of `newton`
FULL, ARRIVED, TOO_SHORT, TOLD_TO_STOP, SLOW, NONSENSE, SWITCHED = (np.int64(10 + k) for k in range(7))
