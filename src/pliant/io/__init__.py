"""Files: models in YAML and JSON, formulas as text, import of URDF and of robots of other programs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .description import schema
    from .expressions import Expression
    from .kinds import WriteError
    from .linkage import ImportedLinkage
    from .mjcf import load_mjcf, read_mjcf
    from .model import Model, dump_model, load_model, parse_model, save_model
    from .soromox import from_soromox
    from .sorosim import SOROSIM_EXPORT, from_sorosim
    from .source import ModelFileError, Problem
    from .starter import STARTERS, starter_text
    from .state_formulas import EventFormula, StateFormula
    from .urdf import ImportedRobot, UrdfJoint, load_urdf, read_urdf

__all__ = [
    "SOROSIM_EXPORT",
    "STARTERS",
    "EventFormula",
    "Expression",
    "ImportedLinkage",
    "ImportedRobot",
    "Model",
    "ModelFileError",
    "Problem",
    "StateFormula",
    "UrdfJoint",
    "WriteError",
    "dump_model",
    "from_soromox",
    "from_sorosim",
    "load_mjcf",
    "load_model",
    "load_urdf",
    "parse_model",
    "read_mjcf",
    "read_urdf",
    "save_model",
    "schema",
    "starter_text",
]

_HOME = {
    "expressions": ("Expression",),
    "kinds": ("WriteError",),
    "mjcf": ("load_mjcf", "read_mjcf"),
    "model": ("Model", "dump_model", "load_model", "parse_model", "save_model"),
    "description": ("schema",),
    "linkage": ("ImportedLinkage",),
    "soromox": ("from_soromox",),
    "sorosim": ("SOROSIM_EXPORT", "from_sorosim"),
    "source": ("ModelFileError", "Problem"),
    "state_formulas": ("EventFormula", "StateFormula"),
    "starter": ("STARTERS", "starter_text"),
    "urdf": ("ImportedRobot", "UrdfJoint", "load_urdf", "read_urdf"),
}


if not TYPE_CHECKING:  # who checks types knows the names above, and that there are no others

    def __getattr__(name: str) -> Any:
        """Load a name when it is first asked for."""
        for module, names in _HOME.items():
            if name in names:
                return getattr(import_module(f".{module}", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
