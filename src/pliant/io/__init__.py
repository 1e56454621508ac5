"""Files: models in YAML and JSON, formulas as text, import of URDF."""

from .expressions import Expression
from .kinds import WriteError
from .model import Model, dump_model, load_model, save_model
from .schema import schema
from .source import ModelFileError, Problem
from .starter import STARTERS, starter
from .urdf import ImportedRobot, UrdfJoint, load_urdf, read_urdf

__all__ = [
    "STARTERS",
    "Expression",
    "ImportedRobot",
    "Model",
    "ModelFileError",
    "Problem",
    "UrdfJoint",
    "WriteError",
    "dump_model",
    "load_model",
    "load_urdf",
    "read_urdf",
    "save_model",
    "schema",
    "starter",
]
