"""Columns of a block, whatever its kind: a rod by Magnus steps, a rod by collocation, or a joint."""

from ..._jit import routine
from ..layout import COLLOC, KIND, ROD
from .columns import joint_columns, rod_columns
from .spectral import spectral_columns


@routine
def block_columns(t, work, block, nm, cq, cv, ca):
    """Columns J, R, W (and Y if nm is 3) of all steps of a block and at its end; mixed with cq, cv, ca if nm is 1."""
    if block[COLLOC] >= 0:
        spectral_columns(
            block,
            t.step,
            t.phi,
            t.colloc,
            work.state,
            work.nodes,
            work.wide1,
            work.wide2,
            work.ends,
            nm,
            cq,
            cv,
            ca,
        )
    elif block[KIND] == ROD:
        rod_columns(
            block, t.step, t.data, t.phi, work.state, work.op, work.wide1, work.wide2, work.ends, nm, cq, cv, ca
        )
    else:
        joint_columns(block, t.data, work.state, work.ends, nm, cq, cv, ca)


@routine
def all_columns(t, work, nm, cq, cv, ca):
    """`block_columns` of every block; needs `forward`."""
    for b in range(t.block.shape[0]):
        block_columns(t, work, t.block[b], nm, cq, cv, ca)
