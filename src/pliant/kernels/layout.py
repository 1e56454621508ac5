"""The flat form of a robot: the tables that every kernel reads, and the workspace that it writes.

A robot is a tree of **blocks**; a block is a run of **steps** that share their columns:

* a joint is a block of one step (1 column for a screw, 3 for a ball, 6 for a free joint);
* a rod is one block, or several where something is attached at an interior point or where its
  basis functions have local support. Several blocks may then share a coordinate;
* a rod with spectral integration is one block per element, cut at attachments too (see `spectral`).

Blocks are numbered depth first, so that a block comes after its parent and its subtree is contiguous.
Children always start at the *end* of their parent block. Columns are numbered block after block
("column space"); ``col_v`` and ``col_q`` map a column to its velocity and its coordinate.

The last row of per-step arrays belongs to the world, so a root block with parent step −1 reads and writes there:
after the backward pass it holds the total wrench and the composite inertia of the robot.

Poses are kept relative to a moving origin (the first free-floating root, else the first block) so that a robot far from the world's
origin loses no digits.
"""

from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# arrays with their number of dimensions, which `packing` reads
I1: TypeAlias = Annotated[Ints, 1]
I2: TypeAlias = Annotated[Ints, 2]
F1: TypeAlias = Annotated[Floats, 1]
F2: TypeAlias = Annotated[Floats, 2]
F3: TypeAlias = Annotated[Floats, 3]


def _codes(*values: int) -> tuple[Any, ...]:
    """Constants as numpy integers: a Python int would make numba compile a copy of each callee per value."""
    return tuple(np.int64(value) for value in values)


# Truth values to call kernels with, for the same reason: with True and False the callee would be compiled twice.
YES, NO = np.bool_(True), np.bool_(False)

# kinds of block
ROD, SCREW, BALL, FREE = _codes(*range(4))
# kinds of inertia of a step
MASSLESS, RIGID, GENERAL = _codes(*range(3))

# columns of `Tables.block`
KIND, PARENT, STEP0, STEPS, COL0, COLS, SUBTREE, SPAN0, SPANS, QPOS, PSTEP, RANGE = _codes(*range(12))
COLLOC = np.int64(12 + 7)  # after the seven ends of RANGE: first entry in `Tables.colloc`, −1 without collocation
BLOCK_WIDTH = 12 + 7 + 1
# columns of `Tables.step`
S_BLOCK, S_INERTIA, S_PHI, S_CARRIES = _codes(*range(4))
STEP_WIDTH = 4
# columns of `Tables.place` (per block): rotation, translation of the start in the parent's end frame
PLACE_R, PLACE_P = _codes(0, 9)
PLACE_WIDTH = 12
# columns of `Tables.data` (per step); joints keep their screw where rods keep ξ*
D_H, D_C, D_XI1, D_XI2, D_MASS, D_COM, D_ROT, D_M6 = _codes(0, 1, 2, 8, 14, 15, 18, 24)
D_AXIS = D_XI1
DATA_WIDTH = 24 + 36

# columns of `Work.state` (per step): start pose, end pose, twist, acceleration, Ω, coefficients of T, nodal strains
# and their rates, carried wrench
RS, PS, RE, PE, VE, AE, OM, CO, XI, FW = _codes(0, 9, 12, 21, 24, 30, 36, 42, 46, 82)
XI1, XI2, XD1, XD2, XA1, XA2 = _codes(46, 52, 58, 64, 70, 76)
STATE_WIDTH = 82 + 6
# operators of a rod step in `Work.op`: for each of S, R, W, Y the dual matrices of node 1 and node 2
OP_S, OP_R, OP_W, OP_Y = _codes(0, 36, 72, 108)
OP_WIDTH = 144
# columns of `Work.reverse` (per step): virtual twist, virtual strains at the nodes; then in dual form what the step's end
# owes its pose, twist, acceleration and virtual twist
H_Y, H_E1, H_E2, G_POSE, G_V, G_A, G_Y = _codes(0, 6, 12, 18, 24, 30, 36)
REVERSE_WIDTH = 36 + 6
# rows of `Work.products`
Y_ROW, K_ROW, D_ROW, M_ROW = _codes(*range(4))
# planes of `Work.ends`
J_PLANE, R_PLANE, W_PLANE, Y_PLANE = _codes(*range(4))

N_LOADED = np.int64(19)  # most columns [N | I | f | K] that ride along with those of a block, see `recursion.rows`


# columns of `Tables.flags`: any step with a full 6×6 inertia; columns are velocities in order; loads that act on steps;
# loads that depend on the velocity; loads between two steps
GENERAL_INERTIA, IN_ORDER, STEP_LOADS, VELOCITY_LOADS, PAIR_LOADS = _codes(*range(5))

# entries of `Work.message`: weights of ∂/∂q and ∂/∂v, potential energy and the size of its parts; for the table of contacts
# the gap up to which they count, and their number; for the drift of loop joints the factors of rates and values; 1 if a sweep
# is one of forces, 0 if only of rows of constraints
MESSAGE_CQ, MESSAGE_CV, MESSAGE_ENERGY, MESSAGE_SIZE, MESSAGE_GAP, MESSAGE_COUNT = _codes(*range(6))
MESSAGE_RATE, MESSAGE_VALUE, MESSAGE_FORCES = _codes(6, 7, 8)
MESSAGES = 9

# `Work.lag` of statics [s]: long enough for all that relaxes, and for velocities to be nothing beside the forces
STATIC = 1e12


class Tables(NamedTuple):
    """The robot as arrays; constant after compile."""

    block: I2  # (blocks, BLOCK_WIDTH)
    place: F2  # (blocks, PLACE_WIDTH)
    step: I2  # (steps, STEP_WIDTH)
    data: F2  # (steps, DATA_WIDTH)
    phi: F2  # (2, Σ columns over rod steps) basis values at the two Magnus nodes; of spectral rods at the step's end, twice
    colloc: F1  # W (steps, steps) of each block of spectral rods [m], see `spectral`
    spans: I2  # (n, 2) first column, length: contiguous runs of ancestors' columns
    col_v: I1  # (columns,)
    col_q: I1  # (columns,) coordinate of the column, −1 on manifold joints
    gravity: F1  # (3,) m/s²
    flags: I1  # (5,) see above


class Work(NamedTuple):
    """Scratch memory of the kernels, one per thread.

    What a call is given beside its arguments comes first, so that one copy sets it (see `system.workspace`); nothing
    else may be read before it is written.
    """

    gravity: F1  # (3,) m/s²
    share: F1  # (1,) factor on constant wrenches
    rubs: F1  # (1,) 1, or 0 where tendons are asked for without their friction
    zero: F1  # (nv,) zeros, never written
    factor: F1  # (points of tendons,) share of the tension that friction leaves; 1 without friction
    multiplier: F1  # (loop rows,) constraint forces of loop joints
    hold: F2  # (tendons, 4) where the length is prescribed and the tension unknown, see `slots`
    told: F2  # (loop rows, 3) what rows of loop joints follow: value, rate, acceleration
    memory: F1  # (internal variables,) what units remember: values before the time `lag` (see `loads.units`)
    lag: F1  # (1,) time [s] that has passed since then: 0 at an instant, γh at a stage, STATIC in statics
    since: F1  # (nq,) coordinates before that time, which statics are seen from; empty without internal variables
    cols: F2  # (3, columns) q, v, a in column space
    state: F2  # (steps + 1, STATE_WIDTH); the last row is the world
    inertia: F3  # (steps + 1, 6, 6) world inertia, then composite of what the step carries
    bias: F3  # (steps + 1, 6, 6) the matrix N of MATH §3
    load: F3  # (steps + 1, 6, 6) the matrix K of loads, see `loads`
    op: F2  # (steps, OP_WIDTH) operators of rod steps, see `rod_operators`
    wide1: F2  # (6, 2Σ) rod steps: [R | J]
    wide2: F2  # (6, 3Σ) rod steps: [W | Y | J]
    nodes: F2  # (6, …) scratch of spectral blocks: values, columns or wrench derivatives of all nodes
    turn: F2  # (steps, 4 (steps + 1)) likewise: the equations of quaternions
    ends: F3  # (4, 6, columns) J, R, W, Y of each block's own columns at its end
    force: F3  # (3, 6, columns) U, B, C of MATH §3
    x: F2  # (6, 3n + 19)
    g: F2  # (24, 3n + 19)
    h: F2  # (n, 3n + 19)
    out: F3  # (3, columns, columns), or empty if columns are velocities in order
    tau: F1  # (columns,)
    origin: F1  # (3,)
    line: F2  # (7, 6) scratch of tendons
    line6: F2  # (6, 6) likewise
    law: F3  # (4, 6, 6) scratch of loads
    tension: F2  # (tendons, 6) see `tendons`
    pair: F3  # (4, 6, nv) J and R of the two steps of a pair, scratch
    columns: F3  # (4, 6, nv) J and R of one step, or rows of four nodes of tendons, scratch
    known: F2  # (3, nv) displacement, velocity and acceleration of prescribed coordinates in a step
    closure: (
        F2  # (loop rows, 4) values, rates and accelerations of loop joints; 1 for a row that is a rate without a value
    )
    rows: F3  # (3, tendons + loop rows, nv) derivatives G of constraints, S⁻¹Gᵀ, scratch
    schur: F2  # (tendons + loop rows, 1 + the same) G S⁻¹ Gᵀ and a right-hand side
    message: F1  # (MESSAGES,) between the engine and units, see `loads.units`
    spring: F2  # (8, 6) scratch of springs on manifold joints
    force_v: F2  # (2, nv) scratch of the residual
    newton: F2  # (5, nv) scratch of the solvers
    sums: F1  # (12,) see `kinematics.totals`
    reverse: F2  # (steps + 1, REVERSE_WIDTH) scratch of `reverse`
    applied: (
        F2  # (steps + 1, 6) likewise: wrenches of units that do not say themselves what they owe steps, in dual form
    )
    virtual: F1  # (tendons,) likewise: virtual rates of lengths
    products: F2  # (4, nv) y and the products Kᵀy, Dᵀy, My that `reverse` leaves
    kept: F1  # (internal variables,) what units remember now; written with their forces
    slow: F1  # (nv,) velocities of statics with internal variables, see `solve.residual`
    owed: F2  # (tendons + loop rows, 3) adjoints of values and of rates of constraints, and virtual rates, see `reverse.tables`


GIVEN = ("gravity", "share", "rubs", "zero", "factor", "multiplier", "hold", "told", "memory", "lag", "since")
"""The first fields of `Work`: what every call starts from."""


def make_work(
    tables: Tables,
    dtype: type = np.float64,
    *,
    tendons: int = 0,
    tendon_points: int = 0,
    loop_rows: int = 0,
    memory: int = 0,
) -> Work:
    """Allocate the workspace for a robot with so many tendons, points of them, rows of loop joints and internal variables."""
    steps, columns = len(tables.step), len(tables.col_v)
    rod_columns = tables.phi.shape[1]
    nv = int(tables.col_v.max(initial=-1)) + 1
    nq = nv + int(np.isin(tables.block[:, KIND], (BALL, FREE)).sum())
    n = int(tables.block[:, COLS].max(initial=1))
    width = 3 * n + int(N_LOADED)
    spectral = [(int(row[STEPS]), int(row[COLS])) for row in tables.block if row[COLLOC] >= 0]
    nodes = max((m * (4 * k + int(N_LOADED)) for m, k in spectral), default=0)
    turn = max((m for m, _k in spectral), default=0)
    wide = 0 if tables.flags[IN_ORDER] else columns

    def zeros(*shape: int) -> Floats:
        return np.zeros(shape, dtype=dtype)

    return Work(
        gravity=tables.gravity.astype(dtype),
        share=np.ones(1, dtype=dtype),
        rubs=np.ones(1, dtype=dtype),
        zero=zeros(nv),
        factor=np.ones(tendon_points, dtype=dtype),
        multiplier=zeros(loop_rows),
        hold=zeros(tendons, 4),
        told=zeros(loop_rows, 3),
        memory=zeros(memory),
        lag=zeros(1),
        since=zeros(nq if memory else 0),
        cols=zeros(3, columns),
        state=zeros(steps + 1, STATE_WIDTH),
        inertia=zeros(steps + 1, 6, 6),
        bias=zeros(steps + 1, 6, 6),
        load=zeros(steps + 1, 6, 6),
        op=zeros(steps, OP_WIDTH),
        wide1=zeros(6, 2 * rod_columns),
        wide2=zeros(6, 3 * rod_columns),
        nodes=zeros(6, nodes),
        turn=zeros(turn, 4 * (turn + 1)),
        ends=zeros(4, 6, columns),
        force=zeros(3, 6, columns),
        x=zeros(6, width),
        g=zeros(24, width),
        h=zeros(n, width),
        out=zeros(3, wide, wide),
        tau=zeros(columns),
        origin=zeros(3),
        line=zeros(7, 6),
        line6=zeros(6, 6),
        law=zeros(4, 6, 6),
        tension=zeros(tendons, 6),
        pair=zeros(4, 6, nv if tables.flags[PAIR_LOADS] else 0),
        columns=zeros(4, 6, nv),
        known=zeros(3, nv),
        closure=zeros(loop_rows, 4),
        rows=zeros(3, tendons + loop_rows, nv),
        schur=zeros(tendons + loop_rows + 1, tendons + loop_rows + 1),
        message=zeros(MESSAGES),
        spring=zeros(8, 6),
        force_v=zeros(2, nv),
        newton=zeros(5, nv),
        sums=zeros(12),
        reverse=zeros(steps + 1, REVERSE_WIDTH),
        applied=zeros(steps + 1, 6),
        virtual=zeros(tendons),
        products=zeros(4, nv),
        kept=zeros(memory),
        slow=zeros(nv if memory else 0),
        owed=zeros(tendons + loop_rows, 3),
    )
