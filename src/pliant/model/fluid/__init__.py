"""What a surrounding fluid does to a link: drag, lift, added mass, buoyancy and the force at a tail.

Twists and wrenches are in body axes, ordered ``[angular; linear]`` (MATH.md §1). With η the body twist relative to
the fluid and v its linear part, the fluid pushes on a rod (per metre) or a body (in all) with

    F = −(linear_drag + ‖v‖ drag) η − (what added_mass does as further inertia) + buoyancy    ([001] eq. 7, [002] eq. 62)

Matrices are given as they are, or by a `Flow` that makes them from the size of the link and the density of the fluid.
"""

from .flows import FLOWS, CircularFlow, EllipticFlow, FlatFlow, Flow, SphereFlow
from .hydrodynamics import Coefficient, Hydrodynamics
from .medium import Fluid
from .streams import STREAMS, Gust, Profile, Wave

__all__ = [
    "FLOWS",
    "STREAMS",
    "CircularFlow",
    "Coefficient",
    "EllipticFlow",
    "FlatFlow",
    "Flow",
    "Fluid",
    "Gust",
    "Hydrodynamics",
    "Profile",
    "SphereFlow",
    "Wave",
]
