"""Names for the places in small arrays: the parameters, reports and memory of a job, and rows of scratch memory.

A job of the engine gets one array ``p`` (PARAMETERS,): options from 0, what it reports from 16, what the integrator
remembers from step to step from 24; marching through time, which contains other jobs, has the places from 32. Jobs use the
same places for different things, so each job has its own names.
"""

from typing import Any

import numpy as np


def _slots(first: int, count: int) -> tuple[Any, ...]:
    """Consecutive places, as numpy integers (see `layout`)."""
    return tuple(np.int64(first + k) for k in range(count))


PARAMETERS = 83

# weights of ∂/∂q, ∂/∂v and ∂/∂a in a tangent; SOLVE takes cq = 1
OPTION_CQ, OPTION_CV, OPTION_CA = _slots(0, 3)
# FORWARD, DRIFT: factors of rates and values in ë + rate · ė + value · e = 0, by which loops are kept closed (Baumgarte)
OPTION_RATE, OPTION_VALUE = _slots(3, 2)
# STATICS: relative tolerance, most iterations, trust radius (scaled units), 1 to minimise the potential energy, weight of
# the robot as a force that residuals are compared with (scaled)
OPTION_TOLERANCE, OPTION_ITERATIONS, OPTION_RADIUS, OPTION_ENERGY, OPTION_WEIGHT = _slots(0, 5)
# BALANCE: 1 if the power is wanted; CONTACTS: distance [m] up to which they are listed; TABLES: 1 if constraints take part, see `Work.owed`
OPTION_POWER = OPTION_GAP = OPTION_ROWS = np.int64(0)
# ALPHA: time step [s], the four numbers of the method, tolerances, Newton's tolerance relative to these, its iterations
OPTION_H, OPTION_ALPHA_M, OPTION_ALPHA_F, OPTION_BETA, OPTION_GAMMA = _slots(0, 5)
OPTION_RTOL, OPTION_ATOL, OPTION_NEWTON, OPTION_LIMIT = _slots(5, 4)
# FORWARD, SOLVE, STATICS, ALPHA: 1 if S is the store of the elimination along the tree (`solve.fronts`), 0 if it is a square matrix
OPTION_TREE = np.int64(15)

# STATICS: iterations, residual relative to the forces, steps with a shifted tangent, halvings of steps, 1 if the tangent is
# positive definite at the end, potential energy where it was last looked at [J], smallest pivot of the tangent relative to its diagonal
REPORT_ITERATIONS, REPORT_RESIDUAL, REPORT_SHIFTS, REPORT_HALVINGS, REPORT_DEFINITE, REPORT_ENERGY, REPORT_PIVOT = (
    _slots(16, 7)
)
# ALPHA: iterations (as above), factorisations, residuals; error of q in units of the tolerance, rate of convergence
REPORT_FACTORISATIONS, REPORT_RESIDUALS, REPORT_ERROR, REPORT_RATE = _slots(17, 4)
# BALANCE: energies [J], potential of the loads that have one, power [W]
REPORT_KINETIC, REPORT_GRAVITATIONAL, REPORT_ELASTIC, REPORT_LOADS, REPORT_POWER = _slots(16, 5)
# CONTACTS: how many there are, which may be more than the rows of the table
REPORT_FOUND = np.int64(16)

# ALPHA: 1 if S holds factors, their time step, the rate of convergence last seen
MEMORY_FACTORS, MEMORY_H, MEMORY_RATE = _slots(24, 3)

# MARCH: present time and where to stop [s], largest and constant step [s] (0: error control), how many steps are
# attempted at most, the tolerance of constraint forces, size of the robot [m] for errors of positions (0: none), order of the error estimate
# plus one, 1 if the estimate is filtered, 1 if energies are watched (2: with power), diagonal γ of the tableau, 1 if free trees keep
# their momentum (2: its laws are known)
MARCH_T, MARCH_END, MARCH_LARGEST, MARCH_CONSTANT, MARCH_BUDGET = _slots(32, 5)
MARCH_FORCES, MARCH_SIZE, MARCH_ORDER, MARCH_FILTER, MARCH_WATCH, MARCH_GAMMA, MARCH_CONSERVE = _slots(37, 7)
# what it reports: accepted steps in the log, rejected ones, iterations, factorisations, residuals, Newton failures, steps in
# explicit form, error of the last attempt in units of the tolerance, which coordinate limits it, length of the last attempt [s],
# rejections by error in a row
MARCH_STEPS, MARCH_REJECTED, MARCH_ITERATIONS, MARCH_FACTORISATIONS, MARCH_RESIDUALS = _slots(44, 5)
MARCH_FAILURES, MARCH_EXPLICIT, MARCH_ERROR, MARCH_LIMITING, MARCH_TRIED, MARCH_REFUSED = _slots(49, 6)
# what it remembers: next step, last accepted step and its error, 1 after a rejection, γh of the factors (0: none), stage of this
# step that they belong to (−1: of an earlier one), convergence last seen, whether stages of a last step are known, steps left
# in explicit form, how many at the next switch, good steps since, Newton failures of late, steps since the energy was looked
# at, longest step that Newton's iteration is trusted with [s], 1 while the residual form is tried after the explicit one, 1
# before the first step after a start, 1 if stages start where they ended
MARCH_H, MARCH_H_OLD, MARCH_ERROR_OLD, MARCH_AFTER, MARCH_FACTORED, MARCH_STAGE, MARCH_RATE = _slots(56, 7)
MARCH_PAST, MARCH_FORM, MARCH_SWITCH, MARCH_GOOD, MARCH_FAILED, MARCH_LOOKED = _slots(63, 6)
MARCH_TRUST, MARCH_PROBE, MARCH_FRESH, MARCH_AGAIN = _slots(69, 4)
# thinnest obstacle [m] (0: none), farthest that a point moved in one step [m] and when that began [s]; where constant steps are
# counted from [s]
MARCH_THIN, MARCH_LEAP, MARCH_LEAP_T, MARCH_ORIGIN = _slots(73, 4)
# estimated error of coordinates in their natural sizes: above 1 a constant step has nothing to do with the motion any more
MARCH_OFF = np.int64(77)
# PUSH, MAPS: which step, the first of them
MARCH_FIRST = np.int64(78)
# ADJOINT: 1 if the sweep over the tables knows the products of all derivatives with the adjoint (`system.tables.steps_known`)
MARCH_PRODUCTS = np.int64(79)
# ROLLOUT: 1 if inputs are those of a linear feedback, 1 if Newton's iteration starts from the maps of a motion nearby (`solve.feedback`)
MARCH_FEEDBACK, MARCH_GUESS = _slots(80, 2)
# the longest step [s] in which the instant was looked for at which a cable falls slack or becomes taut
MARCH_SEEK = np.int64(82)

# rows of `Work.newton`: residual, correction, displacement in the step, weights of the tolerance, error estimate
NEWTON_RESIDUAL, NEWTON_STEP, NEWTON_MOVE, NEWTON_WEIGHT, NEWTON_ERROR = _slots(0, 5)
# rows of `Work.known`: displacement, velocity, acceleration
KNOWN_MOVE, KNOWN_V, KNOWN_A = _slots(0, 3)
# columns of `Work.hold`: 0 where the tension of a tendon is an input, 1 where its length is prescribed, −1 where that leaves it slack, 2 in a projection after
# which it is slack; that length [m] and its rate [m/s]; 1 if the tendon may push
HOLD_ACTIVE, HOLD_LENGTH, HOLD_RATE, HOLD_PUSHES = _slots(0, 4)
# entries of `Work.sums` that `kinematics.totals` leaves: kinetic and gravitational energy [J]
SUM_KINETIC, SUM_GRAVITATIONAL = _slots(10, 2)
