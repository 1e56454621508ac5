"""Which loads that remember have derivatives."""

from __future__ import annotations

from ..kernels.loads.units import MEMORY
from ..system import System

__all__ = ["known_memory"]


def known_memory(system: System) -> None:
    """Error that names the loads that remember without saying how what they remember changes."""
    if not system.nz:
        return
    loading = system._assembly.loading
    silent = [
        family.name
        for family in loading.working
        if family.memory(loading.tables[family.name]) and not family._knows(MEMORY)
    ]
    if silent:
        raise ValueError(
            f"{system.name!r} has no derivatives of motions: {', '.join(silent)} remember what has happened (internal variables), and their kernels do not know "
            "the task MEMORY, which says how that changes. Take them out of the robot, or use differences."
        )
