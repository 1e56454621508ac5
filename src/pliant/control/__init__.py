"""Control of robots: step by step, by optimal plans, and by laws of feedback with a name."""

from .laws.closed_loop import ClosedLoop, ClosedLoopGradient
from .laws.compensated_pd import CompensatedPD
from .laws.computed_torque import ComputedTorque
from .laws.energy_shaping import EnergyShaping
from .laws.impedance import Impedance
from .laws.inverse_statics import InverseStatics, inverse_statics
from .laws.law import Law
from .laws.linear_feedback import LinearFeedback
from .laws.lqg import LQG
from .laws.lqr import LQR
from .laws.outputs import ActuationCoordinates
from .laws.safety import Barrier, Lyapunov, SafetyFilter
from .laws.servo import Servo
from .laws.tracking import TrackingLQR

__all__ = [
    "LQG",
    "LQR",
    "ActuationCoordinates",
    "Barrier",
    "ClosedLoop",
    "ClosedLoopGradient",
    "CompensatedPD",
    "ComputedTorque",
    "EnergyShaping",
    "Impedance",
    "InverseStatics",
    "Law",
    "LinearFeedback",
    "Lyapunov",
    "SafetyFilter",
    "Servo",
    "TrackingLQR",
    "inverse_statics",
]
