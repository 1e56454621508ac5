"""All tables of a robot in the order in which they are packed, and the functions that unpack them."""

from typing import NamedTuple

import numpy as np

from .layout import I1, Tables, Work
from .loads.contact import Contact
from .loads.efforts import Efforts
from .loads.internal import Internal
from .loads.loops import Loops
from .loads.tendons import Tendons
from .loads.user import User
from .loads.water import Water
from .loads.wrenches import Wrenches
from .packing import unpacker
from .solve.fronts import Fronts


class Units(NamedTuple):
    """Addresses of the separately compiled families of loads that the robot needs (see `units`), else 0."""

    address: I1  # (UNITS,)


GROUPS = (Tables, Internal, Units, Tendons, Efforts, Wrenches, Water, Contact, User, Loops, Fronts, Work)
_FIRST = np.cumsum([0, *(len(group._fields) for group in GROUPS)])
(
    unpack_tables,
    unpack_internal,
    unpack_units,
    unpack_tendons,
    unpack_efforts,
    unpack_wrenches,
    unpack_water,
    unpack_contact,
    unpack_user,
    unpack_loops,
    unpack_fronts,
    unpack_work,
) = (unpacker(group, int(first)) for group, first in zip(GROUPS, _FIRST))
# where the header holds the length of the array that tells whether a family is present
_AT = {group: np.int64(4 * first + 1) for group, first in zip(GROUPS, _FIRST)}
HAS_TENDONS = np.int64(_AT[Tendons] + 4 * Tendons._fields.index("law"))
HAS_EFFORTS, HAS_WRENCHES = _AT[Efforts], _AT[Wrenches]
CABLES, WATER, CONTACT, USER, LOOPS = (np.int64(k) for k in range(5))  # units
UNITS = 5
FORCES, MATRICES, TANGENT, ENERGY, INPUTS, LENGTHS, CLOSURE, VALUES, TOUCHES = (
    np.int64(k) for k in range(9)
)  # what a unit is asked for
