"""The rod with Exudyn: ANCF cables for bending alone, geometrically exact beams for all strains; generalised-α, constant steps."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import exudyn as exu
import numpy as np
import shared as s
from exudyn import itemInterface as items
from exudyn.beams import GenerateBeamElementsAlongLine

EI, EA, GA = s.YOUNG * s.SECOND, s.YOUNG * s.AREA, s.SHEAR_MODULUS * s.AREA


def cable(mbs: Any, space: bool, n: int, stiff: float) -> int:
    """Bending only: ANCF cables that hardly stretch, their axial stiffness times `stiff`; returns the node of the tip."""
    template = (items.ObjectANCFCable if space else items.ObjectANCFCable2D)(
        massPerLength=s.DENSITY * s.AREA,
        bendingStiffness=EI,
        axialStiffness=stiff * EA,
        bendingDamping=s.RELAXATION * EI,
        axialDamping=s.RELAXATION * EA,
    )
    return line(mbs, n, template, space, [1, 1, 1, 0, 1, 1] if space else [1, 1, 0, 1])


def line(mbs: Any, n: int, template: Any, space: bool, fixed: list[int]) -> int:
    """Elements of one kind along the rod, clamped; a plane is x and y in Exudyn."""
    down = [0, 0, -s.GRAVITY] if space else [0, -s.GRAVITY, 0]
    return int(GenerateBeamElementsAlongLine(mbs, [0, 0, 0], [s.LENGTH, 0, 0], n, template, down, fixed)["nodes"][-1])


def beam2d(mbs: Any, n: int) -> int:
    """All strains of the plane: geometrically exact beams of three nodes."""
    template = items.ObjectBeamGeometricallyExact2D(
        nodeNumbers=[0, 0, 0],
        massPerLength=s.DENSITY * s.AREA,
        crossSectionInertia=s.DENSITY * s.SECOND,
        bendingStiffness=EI,
        axialStiffness=EA,
        shearStiffness=GA,
        bendingDamping=s.RELAXATION * EI,
        axialDamping=s.RELAXATION * EA,
        shearDamping=s.RELAXATION * GA,
    )
    return line(mbs, n, template, False, [1, 1, 1])


def beam3d(mbs: Any, n: int) -> int:
    """All six strains: geometrically exact beams of two nodes on SE(3).

    These take a matrix of damping, but it changes nothing; so dampers act between the middles of the cells, held by bodies
    of no mass to speak of.
    """
    section = exu.BeamSection()
    stiffness = np.diag([EA, GA, GA, 2 * s.SHEAR_MODULUS * s.SECOND, EI, EI])
    section.stiffnessMatrix = stiffness
    section.inertia, section.massPerLength = s.DENSITY * s.SECOND * np.diag([2.0, 1.0, 1.0]), s.DENSITY * s.AREA
    cell = s.LENGTH / n
    places = np.linspace(0, s.LENGTH, n + 1)
    nodes = [mbs.AddNode(items.NodeRigidBodyRotVecLG(referenceCoordinates=[x, 0, 0, 0, 0, 0])) for x in places]
    for left, right in pairwise(nodes):
        element = items.ObjectBeamGeometricallyExact(nodeNumbers=[left, right], length=cell, sectionData=section)
        mass = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=mbs.AddObject(element)))
        mbs.AddLoad(items.LoadMassProportional(markerNumber=mass, loadVector=[0, 0, -s.GRAVITY]))
    hold = {"mass": 1e-9, "inertia": [1e-12, 1e-12, 1e-12, 0, 0, 0]}
    bodies = [mbs.AddObject(items.ObjectRigidBody(nodeNumber=node, **hold)) for node in nodes]
    for left, right in pairwise(bodies):
        sides = [(left, cell / 2), (right, -cell / 2)]
        markers = [mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localPosition=[x, 0, 0])) for body, x in sides]
        mbs.AddObject(
            items.ObjectConnectorRigidBodySpringDamper(
                markerNumbers=markers, damping=s.RELAXATION / cell * stiffness, useIntrinsicFormulation=True
            )
        )
    ground = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=mbs.AddNode(items.NodePointGround()), coordinate=0))
    for k in range(6):
        marker = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=k))
        mbs.AddObject(items.ObjectConnectorCoordinate(markerNumbers=[ground, marker]))
    return int(nodes[-1])


def built(space: bool, full: bool, n: int, stiff: float) -> tuple[Any, int]:
    """The assembled rod of n elements, and the sensor of its tip."""
    mbs = exu.SystemContainer().AddSystem()
    node = (beam3d(mbs, n) if space else beam2d(mbs, n)) if full else cable(mbs, space, n, stiff)
    place = exu.OutputVariableType.Position
    sensor = mbs.AddSensor(
        items.SensorNode(nodeNumber=node, outputVariableType=place, writeToFile=False, storeInternal=True)
    )
    mbs.Assemble()
    return mbs, int(sensor)


def settings() -> Any:
    """Silent, no files; dense linear algebra, which is faster for so few coordinates."""
    found = exu.SimulationSettings()
    found.solution.file.write = False
    found.solution.sensors.writePeriod = s.SAMPLE
    found.timeIntegration.verboseMode = found.staticSolver.verboseMode = 0
    return found


def rod(
    space: bool,
    full: bool,
    n: int,
    steps: int,
    rho: float = 0.9,
    modified: bool = True,
    tolerance: float = 1e-6,
    stiff: float = 30.0,
) -> Callable[[], Any]:
    """n elements, `steps` steps over the motion; modified Newton iteration or not, to a relative tolerance."""
    mbs, sensor = built(space, full, n, stiff)
    how = settings()
    how.timeIntegration.endTime, how.timeIntegration.numberOfSteps = s.DURATION, steps
    how.timeIntegration.generalizedAlpha.spectralRadius = rho
    how.timeIntegration.newton.useModifiedNewton = modified
    how.timeIntegration.newton.relativeTolerance = tolerance

    def run() -> dict[str, Any]:
        if not mbs.SolveDynamic(how):
            raise RuntimeError("no convergence")
        tip = mbs.GetSensorStoredData(sensor)[:, 1:]
        return {"tip": (tip if space else tip[:, [0, 2, 1]]).tolist()}

    return run


def statics(space: bool, full: bool, n: int, load_steps: int = 10, stiff: float = 30.0) -> Callable[[], Any]:
    """The rod at rest under its weight."""
    mbs, sensor = built(space, full, n, stiff)
    how = settings()
    how.staticSolver.numberOfLoadSteps = load_steps
    how.staticSolver.adaptiveStep = True

    def run() -> dict[str, Any]:
        if not mbs.SolveStatic(how):
            raise RuntimeError("no convergence")
        tip = mbs.GetSensorStoredData(sensor)[-1, 1:]
        return {"tip": (tip if space else tip[[0, 2, 1]]).tolist()}

    return run


if __name__ == "__main__":
    s.serve({"rod": rod, "statics": statics})
