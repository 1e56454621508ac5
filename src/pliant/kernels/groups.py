"""The tables that every robot has, in the order in which they are packed, and the functions that unpack them.

Behind them come the tables of the families of loads that are units (see `loads.units`), wherever the robot has room: a unit
is told when it is called. So the engine knows nothing of them.
"""

from typing import NamedTuple

import numpy as np

from .layout import I2, Tables, Work
from .loads.efforts import Efforts
from .loads.internal import Internal
from .loads.tendons import Tendons
from .loads.wrenches import Wrenches
from .packing import unpacker
from .solve.fronts import Fronts


class Units(NamedTuple):
    """The separately compiled families of loads that the robot needs (see `loads.units`)."""

    row: I2  # (units, 4) address, the tasks that it knows (bits), where the header has its tables and its workspace


U_ADDRESS, U_TASKS, U_TABLES, U_SPACE = (np.int64(k) for k in range(4))

GROUPS = (Tables, Internal, Units, Tendons, Efforts, Wrenches, Fronts, Work)
_ENDS = np.cumsum([0, *(len(group._fields) for group in GROUPS)]).tolist()
POSITION = dict(zip(GROUPS, _ENDS))  # of their first array in the header
END = _ENDS[-1]  # where the tables of units begin
(
    unpack_tables,
    unpack_internal,
    unpack_units,
    unpack_tendons,
    unpack_efforts,
    unpack_wrenches,
    unpack_fronts,
    unpack_work,
) = (unpacker(group, first) for group, first in POSITION.items())
# where the header holds the length of the array that tells whether a family is present
HAS_TENDONS = np.int64(4 * (POSITION[Tendons] + Tendons._fields.index("law")) + 1)
HAS_EFFORTS, HAS_WRENCHES = (np.int64(4 * POSITION[group] + 1) for group in (Efforts, Wrenches))
