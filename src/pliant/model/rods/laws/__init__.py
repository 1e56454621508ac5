"""Laws of rods, one file each: how stress follows from strain, its rate, and what happened before."""

from .base import GROUPS, Law, Term, as_laws
from .bouc_wen import BoucWen
from .linear import Linear
from .neo_hookean import NeoHookean
from .plastic import Plastic
from .polynomial import Polynomial
from .prandtl_ishlinskii import PrandtlIshlinskii
from .prony import Prony
from .rubber import Rubber
from .springpot import Springpot
from .user import UserLaw, compiled_law
from .yeoh import Yeoh

__all__ = [
    "GROUPS",
    "LAWS",
    "BoucWen",
    "Law",
    "Linear",
    "NeoHookean",
    "Plastic",
    "Polynomial",
    "PrandtlIshlinskii",
    "Prony",
    "Rubber",
    "Springpot",
    "Term",
    "UserLaw",
    "Yeoh",
    "as_laws",
    "compiled_law",
]

LAWS: tuple[type[Law], ...] = (
    Linear,
    Polynomial,
    NeoHookean,
    Yeoh,
    Prony,
    Springpot,
    BoucWen,
    PrandtlIshlinskii,
    Plastic,
)
"""All laws that the package brings."""
