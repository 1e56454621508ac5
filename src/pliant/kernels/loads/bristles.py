"""What capsules of rods remember of each other: a few slots for each, which name the capsule that they belong to.

Of two capsules that touch, the one with the lower number remembers. A slot is five internal variables: the bent bristle (3,), the speed of the impact, and
the number of the other capsule plus one, 0 for an empty slot. So a pair keeps its bristle as long as it touches, wherever on the two it does; where one rod slides over the next
capsule of the other, that pair begins anew, and has bent its bristle after a micrometre. The name of a slot does not change within a step: a pair takes the
slot that it had at the start of the step, or one that was empty then.
"""

import numpy as np

from ..._jit import routine

PLACES = 4  # slots of a capsule: more pairs of it than that at a time remember nothing
SLOT = 5  # internal variables of a slot
NONE = np.int64(-1)


@routine
def slot_of(memory, first, m):
    """Where the internal variables of the pair with capsule m begin, of the slots from `first` on; −1 if it has none."""
    for s in range(PLACES):
        o = first + s * SLOT
        if memory[o + 4].real == m + 1.0:
            return o
    return NONE


@routine
def put_slot(memory, kept, first, m):
    """As `slot_of`, or else a slot that is empty in memory and in what is kept, which is named; −1 if there is none."""
    at = NONE
    for s in range(PLACES):
        o = first + s * SLOT
        name = memory[o + 4].real
        if name == m + 1.0:
            at = o
            break
        if at < 0 and name == 0.0 and kept[o + 4].real == 0.0:
            at = o
    if at >= 0:
        kept[at + 4] = m + 1.0
    return at


@routine
def clear_slots(kept, first):
    """Empty all slots of a capsule."""
    for k in range(PLACES * SLOT):
        kept[first + k] = 0.0
