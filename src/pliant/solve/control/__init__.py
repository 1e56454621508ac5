"""Controllers with states, integrated with the robot, and controllers that sample and hold."""

from .controller import Controller
from .lag import Lag
from .observer import Observer
from .part import Bound, Part, Slopes
from .pid import PID
from .sampled import Sampled
from .sensor import Sensor
from .together import ImplicitStates, bind_inputs, has_controller

__all__ = [
    "PID",
    "Bound",
    "Controller",
    "ImplicitStates",
    "Lag",
    "Observer",
    "Part",
    "Sampled",
    "Sensor",
    "Slopes",
    "bind_inputs",
    "has_controller",
]
