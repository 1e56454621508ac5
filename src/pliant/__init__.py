"""pliant: soft-rigid robots with strain-parameterised Cosserat rods and exact derivatives."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import costs, io, lie
from .analysis.inputs import Actuation, solve_inputs
from .analysis.linear import Linearization, MinimalLinearization, Modes, linearize, modes, static_jacobian
from .analysis.matrices import (
    CompositeMatrices,
    EquationOfMotion,
    ProjectedMatrices,
    Reconstruction,
    composite_matrices,
    coriolis_matrix,
    equation_of_motion,
    projected_matrices,
    reconstruct,
)
from .gradients.costs.constraint import Constraint
from .gradients.costs.goals import Align, Effort, Reach, Smooth, Still, Track
from .gradients.gradient import Gradient
from .gradients.rollout import Rollout, RolloutError, rollout
from .gradients.statics import StaticGradient, static_gradient
from .model.actuators import ActiveStrain, InternalStress, Motor, PrescribedMotion, Stop, Tendon
from .model.bearings import Backlash, Characteristic, JointFriction, JointSpring
from .model.fluid import Fluid, Gust, Hydrodynamics, Profile, Wave
from .model.gas import Gas
from .model.joints import (
    Cylindrical,
    Distance,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Restraint,
    Revolute,
    Rolling,
    Rows,
    Skate,
    Slot,
    Spherical,
    Universal,
)
from .model.links import Frame, Link, constant_strain, helix
from .model.loads import Contact, Dipole, DistributedWrench, Obstacle, PointWrench
from .model.loops import Coupling, Loop
from .model.magnetics import Coil, Magnet
from .model.pose import Pose, rotate, translate
from .model.robot import Robot
from .model.rods.basis import (
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
from .model.rods.laws import (
    BoucWen,
    Law,
    Linear,
    NeoHookean,
    Plastic,
    Polynomial,
    PrandtlIshlinskii,
    Prony,
    Springpot,
    UserLaw,
    Yeoh,
    compiled_law,
)
from .model.rods.sections import Annulus, Circle, Composite, CustomSection, Ellipse, Material, Part, Rectangle, Stepped
from .model.rods.strains import Strains
from .model.routing import Along, Table, helical_routing
from .model.shapes import Box, Capsule, Cylinder, Ellipsoid, HalfSpace, HeightField, Hull, Inertia, Mesh, Sphere, Visual
from .model.signal import Signal
from .model.tubes import ConcentricTubes, Tube
from .model.user import UserLoad, compiled_load
from .solve.branch import Branch, SpecialPoint
from .solve.closure import redundant_constraints
from .solve.continuation import trace_equilibria
from .solve.control import PID, Controller, Lag, Observer, Sampled, Sensor
from .solve.equilibrium import Equilibrium
from .solve.methods import Integrator
from .solve.motion import Motion
from .solve.result import Event, Result
from .solve.simulate import simulate
from .solve.statics import solve_statics
from .system import ConstrainedMotion, Contacts, ForwardDerivatives, InverseDerivatives, Momentum, SpatialError, System
from .viz.show import save_html, show, studio

if TYPE_CHECKING:
    from . import control
    from .control.laws.inverse_statics import InverseStatics, inverse_statics
    from .control.optimal.mpc import MPC, MPCResult
    from .control.optimal.optimize import optimize
    from .control.optimal.plan import OptimalPlan
    from .control.optimal.problem import Problem
    from .control.optimal.tracking_mpc import TrackingMPC
    from .control.stepper import Saved, Stepper
    from .control.window import StepError
    from .estimation.estimate import Estimate
    from .estimation.horizon import MovingHorizon
    from .estimation.kalman import ExtendedKalman
    from .estimation.shape import ShapeEstimate, estimate_shape
    from .estimation.smoother import Smoothed, smooth
    from .estimation.unknowns import Prior
    from .identification.data import MotionData, StaticData
    from .identification.identify import identify
    from .identification.result import Identification
    from .identification.unknowns import Unknown
    from .identification.validation import CrossValidation
    from .io import Expression, Model, ModelFileError, load_mjcf, load_model, load_urdf, parse_model, save_model
    from .many.batch import Batch, batch
    from .many.found import BatchResult
    from .many.reach import ReachableSet, workspace
    from .many.sweep import SweepResult, sweep

__version__ = "0.2.0"

__all__ = [  # noqa: RUF022 (in plain order)
    "ActiveStrain",
    "Actuation",
    "Align",
    "Along",
    "Annulus",
    "Backlash",
    "Basis",
    "Batch",
    "BatchResult",
    "BoucWen",
    "Box",
    "Branch",
    "Capsule",
    "Characteristic",
    "Chebyshev",
    "Circle",
    "Coil",
    "Composite",
    "CompositeMatrices",
    "ConcentricTubes",
    "ConstrainedMotion",
    "Constraint",
    "Contact",
    "Contacts",
    "Controller",
    "Coupling",
    "CrossValidation",
    "Custom",
    "CustomSection",
    "Cylinder",
    "Cylindrical",
    "Dipole",
    "Distance",
    "DistributedWrench",
    "Effort",
    "Ellipse",
    "Ellipsoid",
    "EquationOfMotion",
    "Equilibrium",
    "Estimate",
    "Event",
    "Expression",
    "ExtendedKalman",
    "Fixed",
    "Fluid",
    "ForwardDerivatives",
    "Fourier",
    "Frame",
    "Free",
    "Gas",
    "Gaussian",
    "Gradient",
    "Gust",
    "HalfSpace",
    "HeightField",
    "Helical",
    "HermiteElements",
    "Hull",
    "Hydrodynamics",
    "Identification",
    "Inertia",
    "Integrator",
    "InternalStress",
    "InverseDerivatives",
    "InverseMultiquadric",
    "InverseStatics",
    "Joint",
    "JointFriction",
    "JointSpring",
    "Lag",
    "Law",
    "Legendre",
    "Linear",
    "LinearElements",
    "Linearization",
    "Link",
    "Loop",
    "MPC",
    "MPCResult",
    "Magnet",
    "Material",
    "Mesh",
    "MinimalLinearization",
    "Model",
    "ModelFileError",
    "Modes",
    "Momentum",
    "Monomial",
    "Motion",
    "MotionData",
    "Motor",
    "MovingHorizon",
    "NeoHookean",
    "Observer",
    "Obstacle",
    "OptimalPlan",
    "PID",
    "Part",
    "PiecewiseConstant",
    "Planar",
    "Plastic",
    "PointWrench",
    "Polynomial",
    "Pose",
    "PrandtlIshlinskii",
    "PrescribedMotion",
    "Prior",
    "Prismatic",
    "Problem",
    "Profile",
    "ProjectedMatrices",
    "Prony",
    "QuadraticElements",
    "Reach",
    "ReachableSet",
    "Reconstruction",
    "Rectangle",
    "Restraint",
    "Result",
    "Revolute",
    "Robot",
    "Rolling",
    "Rollout",
    "RolloutError",
    "Rows",
    "Sampled",
    "Saved",
    "Sensor",
    "ShapeEstimate",
    "Signal",
    "Skate",
    "Slot",
    "Smooth",
    "Smoothed",
    "SpatialError",
    "SpecialPoint",
    "Sphere",
    "Spherical",
    "Springpot",
    "StaticData",
    "StaticGradient",
    "StepError",
    "Stepped",
    "Stepper",
    "Still",
    "Stop",
    "Strains",
    "SweepResult",
    "System",
    "Table",
    "Tendon",
    "Track",
    "TrackingMPC",
    "Tube",
    "Universal",
    "Unknown",
    "UserLaw",
    "UserLoad",
    "Visual",
    "Wave",
    "Yeoh",
    "batch",
    "compiled_law",
    "compiled_load",
    "composite_matrices",
    "constant_strain",
    "control",
    "coriolis_matrix",
    "costs",
    "equation_of_motion",
    "estimate_shape",
    "helical_routing",
    "helix",
    "identify",
    "inverse_statics",
    "io",
    "lie",
    "linearize",
    "load_mjcf",
    "load_model",
    "load_urdf",
    "modes",
    "optimize",
    "parse_model",
    "projected_matrices",
    "reconstruct",
    "redundant_constraints",
    "rollout",
    "rotate",
    "save_html",
    "save_model",
    "show",
    "simulate",
    "smooth",
    "solve_inputs",
    "solve_statics",
    "static_gradient",
    "static_jacobian",
    "studio",
    "sweep",
    "trace_equilibria",
    "translate",
    "workspace",
]

_LAZY = {  # where names stand that few programs need
    "io": (
        "Expression",
        "Model",
        "ModelFileError",
        "load_mjcf",
        "load_model",
        "load_urdf",
        "parse_model",
        "save_model",
    ),
    "many.batch": ("Batch", "batch"),
    "many.found": ("BatchResult",),
    "many.reach": ("ReachableSet", "workspace"),
    "many.sweep": ("SweepResult", "sweep"),
    "control.laws.inverse_statics": ("InverseStatics", "inverse_statics"),
    "control.optimal.mpc": ("MPC", "MPCResult"),
    "control.optimal.optimize": ("optimize",),
    "control.optimal.plan": ("OptimalPlan",),
    "control.optimal.problem": ("Problem",),
    "control.optimal.tracking_mpc": ("TrackingMPC",),
    "control.stepper": ("Saved", "Stepper"),
    "control.window": ("StepError",),
    "estimation.estimate": ("Estimate",),
    "estimation.horizon": ("MovingHorizon",),
    "estimation.kalman": ("ExtendedKalman",),
    "estimation.shape": ("ShapeEstimate", "estimate_shape"),
    "estimation.smoother": ("Smoothed", "smooth"),
    "estimation.unknowns": ("Prior",),
    "identification.data": ("MotionData", "StaticData"),
    "identification.identify": ("identify",),
    "identification.result": ("Identification",),
    "identification.unknowns": ("Unknown",),
    "identification.validation": ("CrossValidation",),
}
_HOME = {name: module for module, names in _LAZY.items() for name in names}

if not TYPE_CHECKING:  # who checks types knows the names above, and that there are no others

    def __getattr__(name: str) -> Any:
        """Load what few programs need when it is first asked for."""
        if name == "control":
            return import_module(".control", __name__)
        if name in _HOME:
            return getattr(import_module(f".{_HOME[name]}", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
