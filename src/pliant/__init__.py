"""pliant: soft-rigid robots with strain-parameterised Cosserat rods and exact derivatives."""

from . import lie
from .analysis.linear import Linearization, Modes, linearize, modes, static_jacobian
from .basis import (
    Basis,
    Chebyshev,
    Custom,
    Fourier,
    Gaussian,
    HermiteElements,
    InverseMultiquadric,
    Legendre,
    LinearElements,
    Monomial,
    PiecewiseConstant,
    QuadraticElements,
)
from .model.actuators import Tendon
from .model.joints import (
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from .model.links import Frame, Link, constant_strain, helix
from .model.loads import PointWrench
from .model.pose import Pose, rotate, translate
from .model.robot import Robot
from .model.sections import Annulus, Circle, CustomSection, Ellipse, Material, Rectangle
from .model.shapes import Box, Cylinder, Ellipsoid, Inertia, Sphere
from .model.strains import Strains
from .solve.continuation import Branch, SpecialPoint, trace_equilibria
from .solve.result import Event, Result
from .solve.simulate import simulate
from .solve.statics import Equilibrium, solve_statics
from .system import ForwardDerivatives, InverseDerivatives, Momentum, System

__version__ = "0.1.0"

__all__ = [
    "Annulus",
    "Basis",
    "Box",
    "Branch",
    "Chebyshev",
    "Circle",
    "Custom",
    "CustomSection",
    "Cylinder",
    "Cylindrical",
    "Ellipse",
    "Ellipsoid",
    "Equilibrium",
    "Event",
    "Fixed",
    "ForwardDerivatives",
    "Fourier",
    "Frame",
    "Free",
    "Gaussian",
    "Helical",
    "HermiteElements",
    "Inertia",
    "InverseDerivatives",
    "InverseMultiquadric",
    "Joint",
    "Legendre",
    "LinearElements",
    "Linearization",
    "Link",
    "Material",
    "Modes",
    "Momentum",
    "Monomial",
    "PiecewiseConstant",
    "Planar",
    "PointWrench",
    "Pose",
    "Prismatic",
    "QuadraticElements",
    "Rectangle",
    "Result",
    "Revolute",
    "Robot",
    "SpecialPoint",
    "Sphere",
    "Spherical",
    "Strains",
    "System",
    "Tendon",
    "Universal",
    "constant_strain",
    "helix",
    "lie",
    "linearize",
    "modes",
    "rotate",
    "simulate",
    "solve_statics",
    "static_jacobian",
    "trace_equilibria",
    "translate",
]
