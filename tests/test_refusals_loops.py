"""What loops, couplings, stops, and what drives the coordinates of loops refuse, and in which words."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl


def robot() -> pl.Robot:
    """Bodies on joints of several kinds, and loops between them."""
    out = pl.Robot("r")
    for name in ("crank", "rocker"):
        out.add_body(name, joint=pl.Revolute("z"), mass=1.0)
    out.add_body("cross", joint=pl.Universal("x", "y"), mass=1.0)
    out.add_body("ball", joint=pl.Spherical(), mass=1.0)
    out.add_body("base", mass=1.0)
    out.add_loop("pin", "crank", "rocker", joint=pl.Cylindrical("z"))
    out.add_loop("socket", "crank", "cross", joint=pl.Spherical())
    out.add_loop("strut", "rocker", "cross", joint=pl.Distance(0.1))
    return out


def bad_joint() -> pl.Joint:
    class Bare(pl.Joint):
        dof_names, dof_units = ("angle",), ("rad",)

    return Bare()


REFUSED = {
    # what only closes loops carries nothing
    "restraint on a body": (lambda r: r.add_body("x", joint=pl.Slot("x"), mass=1.0), ValueError, r"link 'x': joint = Slot\(axis=.*only closes loops; give it to add_loop"),
    "restraint on a rod": (lambda r: r.add_rod("x", length=1, stiffness=[1.0] * 6, inertia=[1.0] * 6, strains=pl.Strains.kirchhoff(0), joint=pl.Distance(0.1)), ValueError, r"only closes loops; give it to add_loop"),
    # restraints
    "Restraint": (lambda r: pl.Restraint(), TypeError, r"Restraint is only a base class: use Rows, Slot, Distance, Rolling or Skate"),
    "Rows letters": (lambda r: pl.Rows("xw"), ValueError, r'Rows.position = \'xw\' is not allowed: give letters out of "xyz", each once'),
    "Rows twice": (lambda r: pl.Rows(rotation="xx"), ValueError, r"Rows.rotation = 'xx' is not allowed"),
    "Rows type": (lambda r: pl.Rows(position=3), ValueError, r"Rows.position = 3 is not allowed"),
    "Rows none": (lambda r: pl.Rows(), ValueError, r'Rows constrains nothing: give position="yz"'),
    "Rows spring": (lambda r: pl.Rows("x", stiffness=1.0), ValueError, r"Rows has no coordinate, so no stiffness, damping or rest; leave them out"),
    "Distance spring": (lambda r: pl.Distance(0.1, stiffness=[1.0, 2.0]), ValueError, r"Distance has no coordinate"),
    "Distance negative": (lambda r: pl.Distance(-0.1), ValueError, r"Distance.length = -0.1 is not allowed: must be greater than zero \(m\)"),
    "Distance nan": (lambda r: pl.Distance(np.nan), ValueError, r"Distance.length = nan"),
    "Distance text": (lambda r: pl.Distance("0.1"), TypeError, r"Distance.length = '0.1' is not a number.*Leave out the quotes"),
    "Rolling radius": (lambda r: pl.Rolling(-1.0), ValueError, r"Rolling.radius = -1.0 is not allowed: must be greater than zero"),
    "Rolling axis": (lambda r: pl.Rolling(0.1, axis=(0, 0, 0)), ValueError, r"Rolling.axis"),
    "Rolling normal": (lambda r: pl.Rolling(0.1, normal="up"), ValueError, r"Rolling.normal = 'up'"),
    "Slot axis": (lambda r: pl.Slot([np.nan, 0, 0]), ValueError, r"Slot.axis"),
    "Slot stiffness": (lambda r: pl.Slot("x", stiffness=-2.0), ValueError, r"Slot.stiffness = -2.0 is not allowed"),
    "Skate axis": (lambda r: pl.Skate(3), (TypeError, ValueError), r"Skate.axis has shape .*Give a 3-vector"),
    # loops
    "loop joint": (lambda r: r.add_loop("x", "crank", joint="Revolute"), TypeError, r"loop 'x': joint = 'Revolute' must be a joint such as Revolute"),
    "loop place": (lambda r: r.add_loop("x", "crnk"), KeyError, r"there is no link or frame named 'crnk'; did you mean 'crank'"),
    "loop on itself": (lambda r: r.add_loop("x", "crank", "crank"), ValueError, r"loop 'x': both frames are fixed to each other; a loop needs two different places"),
    "loop free": (lambda r: r.add_loop("x", "crank", "cross", joint=pl.Free()), TypeError, r"loop 'x': joint = Free\(\) .*closes no loop"),
    "loop bare": (lambda r: r.add_loop("x", "crank", "cross", joint=bad_joint()), TypeError, r"does not say what it constrains, so it closes no loop: give its class a method constraints"),
    "loop matrix": (lambda r: r.add_loop("x", "crank", "cross", joint=pl.Spherical(stiffness=np.eye(3) + 0.1)), ValueError, r"loop 'x': joint: stiffness = .* is not allowed in a loop: give one number or 3, not a matrix"),
    "rolling world": (lambda r: r.add_loop("x", "crank", joint=pl.Rolling(0.1)), ValueError, r'loop \'x\': joint = Rolling.* wants the ground first: give a = "world"'),
    "loop name": (lambda r: r.add_loop("crank", "crank", "cross"), ValueError, r"the name 'crank' is taken already"),
    # couplings
    "coupling list": (lambda r: r.add_coupling("x", ["crank"]), TypeError, r"coupling 'x': terms = \['crank'\] must be a dictionary of ratios by coordinate"),
    "coupling empty": (lambda r: r.add_coupling("x", {}), TypeError, r"coupling 'x': terms = {} must be a dictionary"),
    "coupling key": (lambda r: r.add_coupling("x", {3: 1.0}), TypeError, r"coupling 'x': 3 must be the name of a link, or \"link.dof\""),
    "coupling unknown": (lambda r: r.add_coupling("x", {"crnk": 1.0}), KeyError, r"there is no coordinate of coupling 'x' named 'crnk'; did you mean 'crank.angle'"),
    "coupling dof": (lambda r: r.add_coupling("x", {"cross.angle3": 1.0}), KeyError, r"named 'cross.angle3'; did you mean 'cross.angle[12]'"),
    "coupling which": (lambda r: r.add_coupling("x", {"cross": 1.0}), ValueError, r"coupling 'x': the joint of 'cross' has 2 degrees of freedom; say which one: cross.angle1, cross.angle2"),
    "coupling fixed": (lambda r: r.add_coupling("x", {"base": 1.0}), ValueError, r"the joint of 'base' has 0 degrees of freedom; give the link a joint that moves"),
    "coupling ball": (lambda r: r.add_coupling("x", {"ball.wx": 1.0}), (ValueError, KeyError), r"'ball.*'"),
    "coupling sphere": (lambda r: r.add_coupling("x", {"ball": 1.0}), ValueError, r"coupling 'x': 'ball' belongs to a spherical joint, whose coordinates are no single numbers. Couple joints with"),
    "coupling loop": (lambda r: r.add_coupling("x", {"pin.angle": 1.0}), ValueError, r"coupling 'x': 'pin.angle' is a loop, but only coordinates of links can be coupled"),
    "coupling twice": (lambda r: r.add_coupling("x", {"crank": 1.0, "crank.angle": 1.0}), ValueError, r"coupling 'x': terms = .* has a coordinate twice; add up its ratios"),
    "coupling zero": (lambda r: r.add_coupling("x", {"crank": 0.0}), ValueError, r"coupling 'x': ratio of 'crank' = 0 is not allowed: it would take no part; leave it out"),
    "coupling nan": (lambda r: r.add_coupling("x", {"crank": np.nan}), ValueError, r"coupling 'x': ratio of 'crank' = nan"),
    "coupling text": (lambda r: r.add_coupling("x", {"crank": "2"}), TypeError, r"coupling 'x': ratio of 'crank' = '2' is not a number"),
    "coupling offset": (lambda r: r.add_coupling("x", {"crank": 1.0}, offset=np.inf), ValueError, r"coupling 'x': offset = inf"),
    # motors, stops and motions
    "motor unknown": (lambda r: r.add_motor("x", "pni"), KeyError, r"there is no link or loop named 'pni'; did you mean 'pin'"),
    "motor type": (lambda r: r.add_motor("x", r.loops["pin"]), TypeError, r"motor 'x': link = Loop\(.* must be a link, or the name of a link or loop"),
    "motor strut": (lambda r: r.add_motor("x", "strut"), ValueError, r"motor 'x': the joint of 'strut' \(Distance\) has no coordinate; give it a joint to drive"),
    "motor dof": (lambda r: r.add_motor("x", "pin", dof=2), ValueError, r"motor 'x': dof = 2 is not allowed: the joint of 'pin' has angle, displacement"),
    "motor dof name": (lambda r: r.add_motor("x", "pin", dof="angel"), KeyError, r"there is no degree of freedom of 'pin' named 'angel'; did you mean 'angle'"),
    "servo of a ball": (lambda r: r.add_motor("x", "socket", control="position", kp=1.0), ValueError, r"motor 'x': a spherical joint has no single angle to hold; use 'torque'"),
    "stop ball": (lambda r: r.add_stop("x", "socket", upper=1.0, stiffness=1.0), ValueError, r"stop 'x': a spherical joint has no single coordinate that could be limited"),
    "stop no end": (lambda r: r.add_stop("x", "pin", stiffness=1.0), ValueError, r"stop 'x': lower = -inf and upper = inf are not allowed: give at least one of them, lower < upper"),
    "stop order": (lambda r: r.add_stop("x", "pin", lower=1, upper=0, stiffness=1.0), ValueError, r"lower = 1.0 and upper = 0.0 are not allowed"),
    "stop nan": (lambda r: r.add_stop("x", "pin", lower=np.nan, stiffness=1.0), ValueError, r"stop 'x': lower = nan"),
    "stop soft": (lambda r: r.add_stop("x", "pin", lower=0, stiffness=0.0), ValueError, r"stop 'x': stiffness = 0.0 is not allowed: must be greater than zero.*beyond the ends"),
    "stop feeds": (lambda r: r.add_stop("x", "pin", lower=0, stiffness=1.0, dissipation=-1), ValueError, r"stop 'x': dissipation = -1"),
    "motion ball": (lambda r: r.add_motion("x", "socket"), ValueError, r"motion 'x': the coordinates of a spherical joint in a loop are no single numbers. Close the loop on a light body"),
    "motion strut": (lambda r: r.add_motion("x", "strut"), ValueError, r"motion 'x': the joint of 'strut' \(Distance\) has no coordinate"),
    "motion twice": (lambda r: (r.add_motion("y", "pin", dof="angle"), r.add_motion("x", "pin", dof=0)), ValueError, r"motion 'x': this joint is prescribed by 'y' already"),
    "motion whole": (lambda r: (r.add_motion("y", "pin", dof=1), r.add_motion("x", "pin")), ValueError, r"motion 'x': this joint is prescribed by 'y' already"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    act, error, words = REFUSED[case]
    own = robot()
    with pytest.raises(error, match=words):
        act(own)
    assert "x" not in {**own.loops, **own.couplings, **own.motors, **own.stops, **own.motions}


def test_two_motions_on_different_coordinates_of_a_loop():
    own = robot()
    own.add_motion("turn", "pin", dof="angle")
    own.add_motion("lift", "pin", dof="displacement")
    assert [m.dof for m in own.motions.values()] == [0, 1]


# ---------------------------------------------------------------- files

TEXT = """\
links:
  a: {type: body, mass: 1, joint: {type: Revolute, axis: z}}
  b: {type: body, mass: 1, joint: {type: Universal, axis1: x, axis2: y}}
loops:
  pin: {a: a, b: b, joint: {type: Cylindrical, axis: z, stiffness: [1, 2], rest: 0.1}}
  strut: {a: a, b: b, joint: {type: Distance, length: 0.1}}
couplings:
  gear: {terms: {a: 1, b.angle1: -2}, offset: 0.1}
stops:
  end: {link: pin, dof: displacement, upper: 0.2, stiffness: 100}
actuators:
  motor: {type: motor, link: pin, dof: angle}
  told: {type: motion, link: pin, dof: displacement}
"""
BROKEN = {  # what is changed: (to what, where and what the error says)
    "link: pin, dof: angle": ("link: pni, dof: angle", r"12:30: actuators.motor.link: there is no link or loop named 'pni'; did you mean 'pin'"),
    "b.angle1: -2": ("b.angel1: -2", r"8:24: couplings.gear.terms.b.angel1: there is no coordinate of coupling 'gear' named 'b.angel1'; did you mean 'b.angle1'"),
    "a: 1, b.angle1": ("a: 1, b", r"8:24: couplings.gear.terms.b: coupling 'gear': the joint of 'b' has 2 degrees of freedom; say which one"),
    "terms: {a: 1,": ("terms: {a: 0,", r"8:18: couplings.gear.terms.a: coupling 'gear': ratio of 'a' = 0 is not allowed"),
    "terms: {a: 1, b.angle1: -2}": ("terms: [a]", r"8:17: couplings.gear.terms: \['a'\] is not allowed: a mapping from coordinates"),
    "a: 1": ("a: fast", r"8:21: couplings.gear.terms.a: .*A number is needed here"),
    "length: 0.1": ("length: -1", r"6:55: loops.strut.joint.length: Distance.length = -1.0 is not allowed"),
    "Distance, length: 0.1": ("Distance, length: 0.1, damping: 1", r"6:60: loops.strut.joint.damping: 'damping' is not allowed here: it has no coordinate that a spring could act on"),
    "type: Distance, length: 0.1": ("type: Restraint", r"loops.strut.joint.type: 'Restraint' is no joint of a loop"),
    "mass: 1, joint: {type: Revolute, axis: z": ("mass: 1, joint: {type: Slot, axis: z", r"2:42: links.a.joint.type: 'Slot' is no joint; allowed"),
    "upper: 0.2": ("upper: .nan", r"10:46: stops.end.upper: stop 'end': upper = nan"),
    "stiffness: 100": ("dissipation: 100", r"10:3: stops.end: 'stiffness' is missing"),
    "couplings:": ("gears:", r"7:1: gears: unknown key 'gears'; did you mean 'couplings'"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_files_say_where(what):
    pytest.importorskip("ruamel.yaml")
    to, words = BROKEN[what]
    assert what in TEXT
    pl.parse_model(TEXT)
    with pytest.raises(pl.ModelFileError, match=words):
        pl.parse_model(TEXT.replace(what, to, 1))


def test_what_names_a_broken_loop_is_not_reported_again():
    pytest.importorskip("ruamel.yaml")
    with pytest.raises(pl.ModelFileError) as caught:
        pl.parse_model(TEXT.replace("axis: z, stiffness", "axis: w, stiffness"))
    assert [problem.path for problem in caught.value.problems] == ["loops.pin.joint.axis"]
