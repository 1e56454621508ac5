"""Commented model files to begin with."""

from __future__ import annotations

from ..model.validate import choice

__all__ = ["STARTERS", "starter_text"]

_ARM = """\
# A soft arm that a cable bends, with a payload at its tip. Units are SI (m, kg, s, N, Pa, rad).
name: arm
gravity: [0, 0, -9.81]              # m/s², in world axes

materials:
  silicone:
    young: 1e6                      # Young's modulus [Pa]
    poisson: 0.5                    # rubber does not change its volume
    density: 1000                   # kg/m³
    viscosity: 1e4                  # internal damping [Pa s]

links:                              # rods and bodies; a parent comes before what hangs on it
  arm:
    type: rod                       # soft; it runs along its own x axis, X goes from 0 (base) to 1 (tip)
    length: 0.5                     # m
    section: {type: Circle, radius: [0.03, 0.015]}   # a taper: at X = 0, at X = 1 [m]
    material: silicone
    strains: {torsion: 4, bending: 4, stretch: 2, shear: 2}   # orders of the polynomials: 24 degrees of freedom
  payload:
    type: body                      # rigid
    parent: arm.tip                 # or arm@0.4 for a point inside the rod
    shape: {type: Sphere, radius: 0.02}
    mass: 0.05                      # kg

actuators:
  cable:
    type: tendon                    # its input is its tension [N], at least 0
    path: arm                       # along the arm, at the offset (0, y, z) from its axis
    z: 0.9*(0.03 - 0.015*X)         # m; a formula of X, a number, or a pair of end values

statics:                            # model.statics()
  u: {cable: 20}                    # inputs by name

simulation:                         # model.simulate()
  duration: 10                      # s
  start: statics                    # from the equilibrium above; or neutral, the straight arm
  u: {cable: 20*cos(t)**2}          # inputs as formulas of t [s]
  output: 0.02                      # a result every 0.02 s
"""

_HYBRID = """\
# A motor turns a rigid crank; a soft rod couples it to a pendulum, so the three form a closed loop with the ground.
# Units are SI (m, kg, s, N, Pa, rad).
name: soft four-bar
gravity: [0, 0, -9.81]              # m/s², in world axes

materials:
  rubber: {young: 5e6, poisson: 0.5, density: 1100, viscosity: 2e3}   # Pa, -, kg/m³, Pa s

links:
  crank:
    type: body
    joint: {type: Revolute, axis: y, damping: 0.01}   # hinge to the world; damping in N m s/rad
    shape: {type: Box, x: 0.1, y: 0.02, z: 0.02}
    com: [0.05, 0, 0]               # the box is centred here, so it reaches from the hinge to x = 0.1
    density: 1000                   # kg/m³
  coupler:
    type: rod
    parent: {at: crank, offset: [0.1, 0, 0]}          # the far end of the crank
    joint: {type: Revolute, axis: y}
    length: 0.3
    section: {type: Circle, radius: 0.008}
    material: rubber
    strains: {type: planar_extensible, order: 2, axis: y}   # bending about y, and stretch

  follower:
    type: body
    offset: [0.4, 0, -0.2]          # its hinge on the ground
    joint: {type: Revolute, axis: y, damping: 0.01}
    shape: {type: Box, x: 0.02, y: 0.02, z: 0.2}
    com: [0, 0, 0.1]
    density: 1000

frames:
  pin: {parent: follower, offset: [0, 0, 0.2]}        # a named place, also for results

loops:
  closing: {a: coupler.tip, b: pin, joint: {type: Revolute, axis: y}}   # closes the ring of links

actuators:
  drive: {type: motor, link: crank, control: position, kp: 20, kd: 1}   # input: target angle [rad]

statics:
  u: {drive: 0}

simulation:
  duration: 4
  start: statics
  u: {drive: 0.5*(1 - cos(pi*t))}   # swings between 0 and 1 rad
  output: 0.02
"""

STARTERS = {"arm": _ARM, "hybrid": _HYBRID}
"""Text of the starters by name."""


def starter_text(name: str = "arm") -> str:
    """Text of a commented model file to begin with.

    Parameters
    ----------
    name : {"arm", "hybrid"}
        A tendon-driven arm with a payload, or rigid links and a soft one in a closed loop.

    Returns
    -------
    str
    """
    choice("starter", name, STARTERS)
    return STARTERS[name]
