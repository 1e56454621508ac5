"""Contact as a unit: what it does for each task. Its law is in `contact`, what it remembers is differentiated in `contact_memory`."""

from ..layout import MESSAGE_CQ, MESSAGE_ENERGY, MESSAGE_SIZE
from .contact import (
    Contact,
    ContactSpace,
    apply_contact,
    contact_cross_terms,
    contact_potential,
    contact_tangents,
    write_contacts,
)
from .contact_memory import contact_memory
from .units import ENERGY, FORCES, MATRICES, MEMORY, TANGENT, TOUCHES, unit


@unit(Contact, tasks=(FORCES, MATRICES, TANGENT, ENERGY, TOUCHES, MEMORY), space=ContactSpace)
def contacts(task, t, work, contact, space, q, v, u, out):
    """Contact with obstacles and between rods."""
    if task == FORCES:
        apply_contact(t, work, contact, space, q, v, u, work.zero)
    elif task == MATRICES:
        contact_tangents(t, work, contact, space)
    elif task == TANGENT:
        contact_cross_terms(t, work, contact, space, work.message[MESSAGE_CQ], out)
    elif task == ENERGY:
        energy = contact_potential(t, work, contact, space)
        work.message[MESSAGE_ENERGY] += energy
        work.message[MESSAGE_SIZE] += energy
    elif task == TOUCHES:
        write_contacts(t, work, contact, space, out)
    elif task == MEMORY:
        contact_memory(t, work, contact, space, out)
