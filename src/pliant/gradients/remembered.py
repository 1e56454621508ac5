"""Which loads that remember have derivatives."""

from __future__ import annotations

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
        if family.memory(loading.tables[family.name]) and not family.knows_memory(loading.tables[family.name])
    ]
    if silent:
        raise ValueError(
            f"{system.name!r} has no derivatives of motions: {', '.join(silent)} remember what has happened (internal variables), and their kernels do not know "
            "for all of it how that changes (the task MEMORY). Take them out of the robot (contact: stiction=0), or use differences."
        )
