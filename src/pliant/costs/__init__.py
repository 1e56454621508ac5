"""Costs of motions and equilibria: quantities with exact derivatives, penalties, and when they count.

A cost is a sum of terms, each a quantity of the states, a penalty and a choice of times::

    tip = pl.costs.Position("arm.tip")
    cost = pl.Reach("arm.tip", goal) + 1e-4 * pl.Effort() + tip[2].above(0.05, weight=100.0)

`pl.Reach`, `pl.Track`, `pl.Align`, `pl.Still`, `pl.Effort` and `pl.Smooth` are the common ones.
"""

from ..gradients.costs.camera import Image
from ..gradients.costs.contact import Clearance, ContactForce
from ..gradients.costs.coordinates import Coordinates, InputRates, Inputs, Rates
from ..gradients.costs.cost import Cost, CostValue, Term, as_cost
from ..gradients.costs.deviation import Deviation
from ..gradients.costs.energy import CenterOfMass, Energy
from ..gradients.costs.frames import AngularVelocity, Orientation, Position, Velocity
from ..gradients.costs.function import Function
from ..gradients.costs.inertial import IMU, FramePose
from ..gradients.costs.measured import Measured
from ..gradients.costs.penalties import Excess, Huber, Linear, Norm, Penalised, Penalty, SoftMax, Squares
from ..gradients.costs.quantity import LocalQuantity, Quantity, stack
from ..gradients.costs.rods import Curvature, Strain, StrainGauge
from ..gradients.costs.states import Evaluated, States, Variation
from ..gradients.costs.tendons import TendonLength, TendonTension
from ..gradients.costs.times import Weights

__all__ = [
    "IMU",
    "AngularVelocity",
    "CenterOfMass",
    "Clearance",
    "ContactForce",
    "Coordinates",
    "Cost",
    "CostValue",
    "Curvature",
    "Deviation",
    "Energy",
    "Evaluated",
    "Excess",
    "FramePose",
    "Function",
    "Huber",
    "Image",
    "InputRates",
    "Inputs",
    "Linear",
    "LocalQuantity",
    "Measured",
    "Norm",
    "Orientation",
    "Penalised",
    "Penalty",
    "Position",
    "Quantity",
    "Rates",
    "SoftMax",
    "Squares",
    "States",
    "Strain",
    "StrainGauge",
    "TendonLength",
    "TendonTension",
    "Term",
    "Variation",
    "Velocity",
    "Weights",
    "as_cost",
    "stack",
]
