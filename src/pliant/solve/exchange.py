"""What goes into files and datasets besides the motion itself: names, units and contacts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.units import ACCELERATIONS
from ..system import System
from ..system.contacts import UNITS, columns

if TYPE_CHECKING:
    from .result import Result

__all__ = ["contact_variables", "reaction_variables", "unit_coordinates", "units_of", "write_contacts"]

_NAMES = ("name", "link", "other")
WRENCH = tuple(f"{what} {axis}" for what in ("moment", "force") for axis in "xyz")


def units_of(system: System) -> dict[str, list[str]]:
    """Units of the columns of the arrays of a result."""
    return {
        "t": ["s"],
        "q": list(system.coordinate_units),
        "v": list(system.velocity_units),
        "a": [ACCELERATIONS[unit] for unit in system.dof_units],
        "u": list(system.input_units),
        "tau": list(system.force_units),
        "multipliers": list(system.multiplier_units),
    }


def unit_coordinates(result: Result) -> dict[str, Any]:
    """Coordinates of the dataset of a result: times, names and units."""
    s = result.system
    return {
        "t": ("t", result.t, {"units": "s"}),
        "coordinate": list(s.coordinate_names),
        "dof": list(s.dof_names),
        "input": list(s.input_names),
        "coordinate_unit": ("coordinate", list(s.coordinate_units)),
        "velocity_unit": ("dof", list(s.velocity_units)),
        "acceleration_unit": ("dof", [ACCELERATIONS[unit] for unit in s.dof_units]),
        "force_unit": ("dof", list(s.force_units)),
        "input_unit": ("input", list(s.input_units)),
        "link": list(s.links),
        "wrench": list(WRENCH),
        "wrench_unit": ("wrench", ["N m"] * 3 + ["N"] * 3),
        **(
            {
                "loop": list(s.robot.loops),
                "loop_row": list(s.loop_rows),
                "multiplier_unit": ("loop_row", list(s.multiplier_units)),
            }
            if s.loop_rows
            else {}
        ),
    }


def reaction_variables(result: Result) -> dict[str, Any]:
    """Wrenches of joints, and of loops with their multipliers, at all stored times for a dataset; in the axes of the joints."""
    out: dict[str, Any] = {"joint_wrench": (("t", "link", "wrench"), result.reactions())}
    loops = list(result.system.robot.loops)
    if loops and result.multipliers.size:
        found = np.stack([result.loop_wrench(name) for name in loops], axis=1)
        out["loop_wrench"] = (("t", "loop", "wrench"), found)
        out["multipliers"] = (("t", "loop_row"), result.multipliers)
    return out


def contact_variables(result: Result) -> dict[str, Any]:
    """Contacts at all stored times for a dataset, one row each; nothing for a robot without contacts."""
    if not result.system.robot.contacts:
        return {}
    table = columns(result.contacts())
    out: dict[str, Any] = {"contact_time": ("contact", result.t[table["state"]], {"units": "s"})}
    out |= {f"contact_{name}": ("contact", table[name]) for name in _NAMES}
    for name, unit in UNITS.items():
        dims = ("contact", "axis")[: table[name].ndim]
        out[f"contact_{name}"] = (dims, table[name], {"units": unit})
    return out


def write_contacts(file: Any, result: Result) -> None:
    """Contacts at all stored times into the group ``contacts`` of an HDF5 file; nothing for a robot without contacts.

    They are for other programs: `Result.load` computes them again from the motion.
    """
    if not result.system.robot.contacts:
        return
    table = columns(result.contacts())
    group = file.create_group("contacts")
    text = import_module("h5py").string_dtype()
    group.create_dataset("state", data=table["state"], compression="gzip", shuffle=True)
    for name in _NAMES:
        group.create_dataset(name, data=np.array(table[name], dtype=object), dtype=text)
    for name, unit in UNITS.items():
        data = group.create_dataset(name, data=table[name], compression="gzip", shuffle=True)
        data.attrs["unit"] = unit
