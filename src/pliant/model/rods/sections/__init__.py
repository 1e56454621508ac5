"""Cross-sections of rods, one file each, and materials.

A rod runs along local x and its section lies in local y–z (MATH.md §1). Dimensions may change along the rod:
each is a number, a pair ``(at X=0, at X=1)`` for a linear taper, `Stepped` for pieces with jumps between them, or a
function of the normalised arc length ``X`` in [0, 1] (array in, array out). Strains and the diagonal densities are ordered
``torsion, bending y, bending z, stretch, shear y, shear z``.
"""

from .annulus import Annulus
from .base import Section, SectionProperties, oval
from .circle import Circle
from .composite import Composite, Part
from .custom import CustomSection
from .densities import damping_density, inertia_density, stiffness_density, unit_densities
from .dimensions import Dimension, Stepped
from .ellipse import Ellipse
from .material import Material, MaterialValues
from .rectangle import Rectangle

__all__ = [
    "SECTIONS",
    "Annulus",
    "Circle",
    "Composite",
    "CustomSection",
    "Dimension",
    "Ellipse",
    "Material",
    "MaterialValues",
    "Part",
    "Rectangle",
    "Section",
    "SectionProperties",
    "Stepped",
    "damping_density",
    "inertia_density",
    "oval",
    "stiffness_density",
    "unit_densities",
]

SECTIONS: tuple[type[Section], ...] = (Circle, Annulus, Rectangle, Ellipse, CustomSection, Composite)
"""All sections that the package brings."""
