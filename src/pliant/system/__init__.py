"""The compiled robot: a constant `System` that answers questions about kinematics and dynamics.

`system` holds the class and its documentation; what its methods do is in a module for each concept: `kinematics`, `dynamics`,
`energy`, `forces`, `reactions`, `contacts`, `spatial`. `core` is what they all start from, `workspace` the memory that they write.
"""

from .arguments import needs_system, numbers
from .contacts import Contacts
from .core import FrameLike, Inputs, Reference
from .dynamics import Algorithm, ConstrainedMotion, ForwardDerivatives, InverseDerivatives, LinearSolver
from .energy import Momentum
from .reactions import Axes
from .spatial import SpatialError
from .system import System
from .workspace import AS_DESCRIBED, Given, Workspace

__all__ = [
    "AS_DESCRIBED",
    "Algorithm",
    "Axes",
    "ConstrainedMotion",
    "Contacts",
    "ForwardDerivatives",
    "FrameLike",
    "Given",
    "Inputs",
    "InverseDerivatives",
    "LinearSolver",
    "Momentum",
    "Reference",
    "SpatialError",
    "System",
    "Workspace",
    "needs_system",
    "numbers",
]
