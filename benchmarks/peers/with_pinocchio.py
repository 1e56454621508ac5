"""The rigid chains with Pinocchio.

Calls from Python; its compiled code cannot be entered from Python in a loop, so the time inside is that of a call less that of a call
of the same binding which does next to nothing (the neutral configuration of a chain of one joint, taken with every measurement).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
import shared as s


def model(n: int) -> Any:
    """The chain."""
    found, joint = pin.Model(), 0
    kinds = [pin.JointModelRZ, pin.JointModelRY, pin.JointModelRX]
    inertia = pin.Inertia(s.CHAIN_MASS, np.array(s.CHAIN_COM), np.diag(s.CHAIN_INERTIA))
    for k in range(n):
        joint = found.addJoint(joint, kinds[k % 3](), pin.SE3(np.eye(3), np.array(s.CHAIN_OFFSET)), f"j{k}")
        found.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    found.gravity.linear = np.array([0.0, 0.0, -s.GRAVITY])
    return found


def chain(n: int, what: str) -> Callable[[], Any]:
    """Inverse dynamics ("ID"), its derivatives ("dID") or forward dynamics ("FD", articulated bodies)."""
    robot = model(n)
    data = robot.createData()
    q, v, a = (np.array(x) for x in s.chain_state(n))

    def inverse() -> Any:
        return pin.rnea(robot, data, q, v, a)

    def derivatives() -> Any:
        return pin.computeRNEADerivatives(robot, data, q, v, a)

    def forward() -> Any:
        return pin.aba(robot, data, q, v, np.zeros(n))

    task = {"ID": inverse, "dID": derivatives, "FD": forward}[what]
    known = task().tolist() if what != "dID" and n <= 10 else None

    def run() -> dict[str, Any]:
        task()
        return {"value": known}

    return run


def binding() -> Callable[[], Any]:
    """A call of the same shape that computes next to nothing: inverse dynamics of one joint."""
    robot = model(1)
    data = robot.createData()
    q = v = a = np.zeros(1)
    return lambda: {"value": None} if pin.rnea(robot, data, q, v, a) is None else {"value": 0}


if __name__ == "__main__":
    s.serve({"chain": chain, "binding": binding})
