"""The same robot told otherwise: in another order, by other names, in other units of length, in a world that is turned, with parts that do nothing.

Each returns a `Twin`: the other system, and the way between coordinates, inputs and loop rows of both. They work on the description of a model file; loads in
Python are taken out and added again.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import pliant as pl

Content = dict[str, Any]
Array = np.ndarray
NAMED = ("links", "frames", "actuators", "loads", "loops", "couplings", "stops", "bearings")


@dataclass
class Twin:
    """Another system of the same robot.

    Attributes
    ----------
    system : System
    q, v, u, rows : array of int
        Where the coordinates, velocities, inputs and loop rows of the first stand in this one.
    metre : float
        Metres of this one in a metre of the first.
    turn : array (3, 3)
        By which its world is turned.
    powers : dict
        Powers of the metre of q, v, u and generalised forces f, where it is not one.
    names : callable
        The name of a part of the first in this one.
    other_way : bool
        Whether solvers may go another way, and find another of several equilibria: one without a potential has no energy to go down.
    """

    system: pl.System
    q: Array
    v: Array
    u: Array
    rows: Array
    metre: float = 1.0
    turn: Array = dataclasses.field(default_factory=lambda: np.eye(3))
    powers: dict[str, Array] = dataclasses.field(default_factory=dict)
    names: Callable[[str], str] = lambda name: name
    other_way: bool = False

    def factor(self, kind: str, count: int) -> Array:
        """Factors on q, v (also a), f (generalised forces), u, rows of this one."""
        return self.metre ** self.powers[kind] if kind in self.powers else np.ones(count)

    def to(self, kind: str, value: Array) -> Array:
        """A vector of the first as one of this system."""
        places = {"q": self.q, "v": self.v, "f": self.v, "u": self.u, "rows": self.rows}[kind]
        size = {"q": self.system.nq, "v": self.system.nv, "f": self.system.nv, "u": self.system.nu, "rows": len(self.system.loop_rows)}[kind]  # fmt: skip
        out = np.zeros((*np.shape(value)[:-1], size))
        out[..., places] = np.asarray(value) * self.factor(kind, len(places))
        return self._field(out, self.turn) if kind == "u" else out

    def back(self, kind: str, value: Array) -> Array:
        """A vector of this system as one of the first."""
        places = {"q": self.q, "v": self.v, "f": self.v, "u": self.u, "rows": self.rows}[kind]
        value = self._field(np.asarray(value), self.turn.T) if kind == "u" else np.asarray(value)
        return value[..., places] / self.factor(kind, len(places))

    def covector_to(self, w: Array) -> Array:
        """Weights on velocities (or small motions) of the first as those of this system."""
        out = np.zeros((*w.shape[:-1], self.system.nv))
        out[..., self.v] = w / self.factor("v", len(self.v))
        return out

    def covector_back(self, kind: str, g: Array) -> Array:
        """A gradient by v or u of this system as that of the first."""
        places = {"v": self.v, "u": self.u}[kind]
        g = self._field(g, self.turn.T) if kind == "u" else g
        return g[..., places] * self.factor(kind, len(places))

    def _field(self, u: Array, R: Array) -> Array:
        """Inputs with those of the uniform field turned, which are in world axes."""
        if "field_x" not in self.system.input_names:
            return u
        k = [self.system.input_names.index(f"field_{axis}") for axis in "xyz"]
        out = u.copy()
        out[..., k] = u[..., k] @ R.T
        return out


# ---------------------------------------------------------------- descriptions


def described(robot: pl.Robot) -> tuple[Content, dict[str, Any]]:
    """The description of a robot, and its loads in Python."""
    bare = robot.copy()
    own, bare.user_loads = dict(bare.user_loads), {}
    return json.loads(pl.io.dump_model(bare, format="json")), own


def built(content: Content, own: dict[str, Any], names: Callable[[str], str] = lambda name: name) -> pl.Robot:
    """The robot of a description, with loads in Python."""
    robot = pl.parse_model(content).robot
    for name, (load, places) in own.items():
        found = [names(place) if isinstance(place, str) else dataclasses.replace(place, link=names(place.link)) for place in places]  # fmt: skip
        robot.add_load(names(name), found, load)
    return robot


def _numbers(ours: tuple[str, ...], theirs: tuple[str, ...]) -> Array:
    return np.array([theirs.index(name) for name in ours], dtype=int)


def twin(system: pl.System, robot: pl.Robot, names: Callable[[str], str] = lambda name: name, **more: Any) -> Twin:
    """The twin of a system that a robot is, whose parts are called otherwise."""
    other = robot.compile()

    def told(label: str) -> str:
        head = max((part for part in _parts(system.robot) if label == part or re.match(re.escape(part) + r"\W", label)), key=len, default="")  # fmt: skip
        return names(head) + label[len(head) :] if head else label

    def inputs(label: str) -> str:
        head = max((part for part in _parts(system.robot) if label.startswith(part)), key=len, default="")
        return names(head) + label[len(head) :] if head else label

    return Twin(
        other,
        _numbers(tuple(map(told, system.coordinate_names)), other.coordinate_names),
        _numbers(tuple(map(told, system.dof_names)), other.dof_names),
        _numbers(tuple(map(inputs, system.input_names)), other.input_names),
        _rows(system, other, told),
        names=names,
        **more,
    )


def _rows(system: pl.System, other: pl.System, told: Callable[[str], str]) -> Array:
    """Loop rows; those of one name in their order."""
    left = list(enumerate(other.loop_rows))
    out = []
    for row in map(told, system.loop_rows):
        k = next(i for i, (_number, name) in enumerate(left) if name == row)
        out.append(left.pop(k)[0])
    return np.array(out, dtype=int)


def _parts(robot: pl.Robot) -> set[str]:
    """Names of all parts."""
    groups = [group for key, group in vars(robot).items() if isinstance(group, dict) and key != "hydrodynamics"]
    return {link.name for link in robot.links} | {name for group in groups for name in group}


# ---------------------------------------------------------------- order


def permuted(system: pl.System, rng: np.random.Generator) -> Twin:
    """The same parts, added in another order, as far as what hangs on something comes after it."""
    content, own = described(system.robot)
    content = copy.deepcopy(content)
    for section in NAMED:
        part = content.get(section)
        if part and section != "links":
            keys = [str(key) for key in rng.permutation(sorted(part))]
            content[section] = {key: part[key] for key in keys}
    for name in content.get("couplings", {}):
        terms = content["couplings"][name]["terms"]
        content["couplings"][name]["terms"] = {str(key): terms[str(key)] for key in rng.permutation(sorted(terms))}
    if "hydrodynamics" in content:
        content["hydrodynamics"] = [content["hydrodynamics"][k] for k in rng.permutation(len(content["hydrodynamics"]))]
    content["links"] = _shuffled(content, rng)
    loads = {str(name): own[str(name)] for name in rng.permutation(sorted(own))} if own else {}
    return twin(system, built(content, loads))


def _shuffled(content: Content, rng: np.random.Generator) -> Content:
    """Links in another order, each after its parent; the rods of concentric tubes stay in theirs."""
    links, frames = content["links"], content.get("frames", {})
    left, out = [str(key) for key in rng.permutation(sorted(links))], {}
    tubes = [load["prefix"] for load in content.get("loads", {}).values() if load.get("type") == "ConcentricTubes"]

    def before(name: str) -> list[str]:
        parent = links[name].get("parent")
        text = parent if isinstance(parent, str) else (parent or {}).get("at")
        text = frames.get(text, {}).get("parent", text)
        first = [
            key for key in links if isinstance(text, str) and (text == key or re.match(re.escape(key) + r"[.@]", text))
        ]
        for prefix in tubes:
            if name.startswith(f"{prefix}_"):
                first += [key for key in list(links)[: list(links).index(name)] if key.startswith(f"{prefix}_")]
        return first

    while left:
        name = next(name for name in left if all(key in out for key in before(name)))
        left.remove(name)
        out[name] = links[name]
    return out


# ---------------------------------------------------------------- names


def renamed(system: pl.System, rng: np.random.Generator) -> Twin:
    """The same parts by other names, which sort in another order."""
    content, own = described(system.robot)
    parts = sorted(_parts(system.robot))
    tubes = [load["prefix"] for load in content.get("loads", {}).values() if load.get("type") == "ConcentricTubes"]
    parts = [part for part in parts if not any(part == name or part.startswith(f"{name}_") for name in tubes)]
    table = {part: f"{chr(97 + int(k) % 26)}{int(k)} part" for part, k in zip(parts, rng.permutation(len(parts)))}

    def names(name: str) -> str:
        return table.get(name, name)

    def text(value: str) -> str:
        head = max((part for part in table if value == part or re.match(re.escape(part) + r"[.@]", value)), key=len, default=None)  # fmt: skip
        return value if head is None else table[head] + value[len(head) :]

    def walk(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {text(k) if key == "terms" else k: walk(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [walk(v, key) for v in value]
        return text(value) if isinstance(value, str) and key not in ("type", "control", "axes", "axis", "supply", "kind", "material", "prefix", "arrangement") else value  # fmt: skip

    told = {key: walk(part, key) for key, part in content.items() if key not in NAMED}
    for section in NAMED:
        if section in content:
            told[section] = {names(name): walk(part) for name, part in content[section].items()}
    told = {key: told[key] for key in content}
    return twin(system, built(told, own, names), names)


# ---------------------------------------------------------------- parts that do nothing


def with_idle_parts(system: pl.System, rng: np.random.Generator) -> Twin:
    """With a part of many kinds that has no strength or is never reached."""
    robot = system.robot
    far = 1e3 * sum(link.content.length for link in robot.links if link.is_rod) + 1e3
    rods = [link for link in robot.links if link.is_rod and link.content.section is not None and link.content.length]
    link = robot.links[int(rng.integers(len(robot.links)))]
    adding: list[Callable[[], Any]] = [
        lambda: robot.add_wrench("idle wrench", link, force=(1.0, 2.0, 3.0)),
        lambda: robot.add_frame("idle frame", link, offset=(0.1, 0.2, 0.3)),
        lambda: robot.add_load("idle load", link, lambda pose, twist, inputs: 0.0 * twist),
        lambda: robot.add_obstacle("idle floor", pl.HalfSpace(), pose=(0.0, 0.0, -far)),
    ]
    if rods:
        rod = rods[int(rng.integers(len(rods)))]
        section = any(contact.link == rod.name for contact in robot.contacts.values())
        adding += [
            lambda: robot.add_tendon("idle cable", rod),
            lambda: robot.add_tendon("idle rubbing", rod, friction=0.3, slip_speed=0.01),
            lambda: robot.add_tendon(
                "idle spring", rod, control="elastic", stiffness=10.0, rest_length=1e3 * rod.content.length
            ),
            lambda: robot.add_tendon(
                "idle string", [robot.links[0].at(0.0) if robot.links[0].is_rod else robot.links[0], rod.tip]
            ),
            lambda: robot.add_stress("idle stress", rod, (1.0, 2.0, 3.0, 0.0, 0.0, 0.0)),
            lambda: robot.add_push_rod("idle push", rod),
            lambda: robot.add_distributed_wrench("idle wind", rod, force=(1.0, 0.0, 0.0)),
        ]
        if section:
            adding.append(lambda: robot.add_contact("idle contact", rod, "idle floor", stiffness=1e3))
    hinged = [link for link in robot.links if link.joint.nv and link.joint.group is None]
    if hinged:
        hinge = hinged[int(rng.integers(len(hinged)))]
        free = not any(motion.link == hinge.name for motion in robot.motions.values())
        adding += [
            lambda: robot.add_stop("idle stop", hinge, lower=-1e4, upper=1e4, stiffness=1e3),
            lambda: robot.add_spring("idle play", hinge, torque=(0.0, 1e3), gap=1e4),
            lambda: robot.add_motor("idle motor", hinge) if free else None,
        ]
    for k in range(len(adding)):
        adding[k]()
    return twin(system, robot, other_way=True)


# ---------------------------------------------------------------- a turned world


def _moved(value: Any, base: str) -> Any:
    """What stood in the world stands in the frame `base`."""
    if isinstance(value, dict):
        return {key: entry if key == "axes" else _moved(entry, base) for key, entry in value.items()}
    if isinstance(value, list):
        return [_moved(entry, base) for entry in value]
    return base if value == "world" else value


def turned(system: pl.System, rng: np.random.Generator) -> Twin:
    """The whole world turned: gravity, currents, what stands in the world, and wrenches in its axes."""
    content, own = described(system.robot)
    R = pl.rotate(rng.normal(size=3), float(rng.uniform(0.5, 3.0))).rotation
    base = "turned world"

    def vector(part: Content, key: str) -> None:
        if part.get(key) is not None:
            part[key] = [float(x) for x in R @ np.asarray(part[key], dtype=float)]

    content["gravity"] = [float(x) for x in R @ np.asarray(content["gravity"], dtype=float)]
    frames = {base: {"parent": "world", "offset": {"rotation": R.tolist()}}}
    content["frames"] = {**frames, **_moved(content.get("frames", {}), base)}
    for section in ("links", "actuators", "loads", "loops"):
        content[section] = _moved(content.get(section, {}), base)
    for part in [*content["links"].values(), *content["loads"].values()]:
        kind = part.get("type", "rod")
        if kind in ("rod", "body", "obstacle", "magnet", "coil", "wrench"):
            part.setdefault("parent", base)
        if kind in ("wrench", "distributed_wrench") and part.get("axes", "world") == "world":
            vector(part, "force")
            vector(part, "moment")
        if kind == "Wave":
            part.setdefault("direction", "x")
            part.setdefault("up", "z")
        if kind == "Profile":
            part.setdefault("up", "z")
        for key in ("direction", "up"):
            if kind in ("Wave", "Profile", "Gust") and isinstance(part.get(key), str):
                sign = -1.0 if part[key].startswith("-") else 1.0
                part[key] = [sign * x for x in np.eye(3)["xyz".index(part[key][-1])].tolist()]
            if kind in ("Wave", "Profile", "Gust"):
                vector(part, key)
        if kind == "Profile":
            vector(part, "velocity")
    if "fluid" in content:
        vector(content["fluid"], "current")
    for loop in content["loops"].values():
        loop.setdefault("b", base)
    return twin(system, built(content, own), turn=R)


# ---------------------------------------------------------------- units of length

ROD = np.array([3.0, 3.0, 3.0, 1.0, 1.0, 1.0])  # stiffness and damping, times a length for inertia
STRAIN = np.array([-1.0, -1.0, -1.0, 0.0, 0.0, 0.0])
POWERS: dict[str, Any] = {
    **dict.fromkeys(("length", "radius", "x", "y", "z", "outer", "inner", "semi_y", "semi_z", "height", "width", "rounding"), 1),
    **dict.fromkeys(("translation", "com", "centre", "rest_length", "amplitude", "depth", "level", "ground", "spacing"), 1),
    **dict.fromkeys(("gravity", "current", "velocity", "slip_speed", "pitch", "straight", "curved", "insertion", "a", "b"), 1),
    **dict.fromkeys(("young", "shear_modulus", "viscosity", "pressure", "ambient", "curvature", "c2", "c3"), -1),
    "density": -3, "area": 2, "dead_volume": 3, "strain": STRAIN, "reference_strain": STRAIN,
    "stress": np.array([2.0, 2.0, 2.0, 1.0, 1.0, 1.0]), "stiction": 1, "volume": 3,
}  # fmt: skip
"""Powers of the metre by key, time and mass kept (so that a newton has one metre, a pascal none in it less one)."""
OWN: dict[tuple[str, str], Any] = {
    ("rod", "stiffness"): ROD, ("rod", "damping"): ROD, ("rod", "inertia"): ROD - 2,
    ("wrench", "force"): 1, ("wrench", "moment"): 2, ("distributed_wrench", "force"): 0, ("distributed_wrench", "moment"): 1,
    ("magnet", "moment"): 2.5, ("dipole", "moment"): 2.5, ("Gas", "conductance"): 3, ("contact", "damping"): -1, ("Wave", "length"): 1,
    ("PrandtlIshlinskii", "bending"): np.array([0.0, -1.0]), ("BoucWen", "bending"): np.array([2.0, -1.0]),
    ("Polynomial", "bending"): "rising", ("Plastic", "bending"): 2, ("tendon", "z"): 1, ("tendon", "y"): 1,
}  # fmt: skip
DIMENSIONS = {
    "rad": 0,
    "m": 1,
    "rad/m": -1,
    "–": 0,
    "": 0,
    "N": 1,
    "N m": 2,
    "Pa": -1,
    "rad/s": 0,
    "m/s": 1,
    "T": -0.5,
    "A": 0.5,
    "m³": 3,
    "m³/s": 2,
}
"""Powers of units of coordinates and inputs; a flow of gas counts at a pressure that stays, so that it goes like a power."""


def _times(value: Any, power: Any, metre: float) -> Any:
    """A number or nested lists of them, times a power of the metre."""
    if isinstance(value, bool) or not isinstance(value, (int, float, list)):
        return value
    factor = metre ** np.asarray(power, dtype=float)
    scaled = np.asarray(value, dtype=float) * factor
    return float(scaled) if scaled.ndim == 0 else scaled.tolist()


def _rescaled(value: Any, metre: float, kind: str = "", key: str = "") -> Any:
    if isinstance(value, dict):
        kind = value.get("type", kind)
        return {k: _rescaled(v, metre, kind, k) for k, v in value.items()}
    if key in ("offset", "offset_after", "pose") and isinstance(value, list) and np.ndim(value) == 1:
        return _times(value, 1, metre)
    if key == "rotation" or isinstance(value, (str, bool)) or value is None:
        return value
    power = OWN.get((kind, key), POWERS.get(key))
    if isinstance(power, str):
        powers = 2.0 * (1 + np.arange(np.size(value)))
        return _times(value, powers if isinstance(value, list) else 2.0, metre)
    if power is not None and not any(isinstance(x, dict) for x in (value if isinstance(value, list) else [])):
        return _times(value, power, metre)
    return [_rescaled(x, metre, kind, key) for x in value] if isinstance(value, list) else value


def in_other_units(system: pl.System, metre: float = 10.0) -> Twin:
    """The robot with lengths that are larger, all else by its dimension, so that it moves alike: time and mass are kept."""
    robot = system.robot
    content, own = described(robot)
    if own:
        raise ValueError("a load in Python has no units")
    joints = {link.name: link.joint for link in robot.links} | {name: loop.joint for name, loop in robot.loops.items()}
    out = {key: _rescaled(part, metre, key="" if isinstance(part, dict) else key) for key, part in content.items()}
    for section in ("links", "loops"):
        for name, part in content.get(section, {}).items():
            joint = joints[name]
            for key in ("stiffness", "damping"):
                if key in part.get("joint", {}) if isinstance(part.get("joint"), dict) else False:
                    matrix = np.diag(getattr(joint, f"{key}_matrix"))
                    power = [2.0 if unit == "rad" else 0.0 for unit in joint.dof_units]
                    out[section][name]["joint"][key] = (matrix * metre ** np.array(power)).tolist()

    def angle(part: Content) -> bool:
        joint = joints[part["link"]]
        dof = part.get("dof", 0)
        return joint.dof_units[list(joint.dof_names).index(dof) if isinstance(dof, str) else int(dof)] == "rad"

    for name, part in content.get("stops", {}).items():
        turning = angle(part)
        for key, power in (("lower", 1), ("upper", 1), ("stiffness", 0), ("dissipation", -1)):
            if key in part:
                out["stops"][name][key] = part[key] * metre ** (
                    power if not turning else 2 if key == "stiffness" else 0
                )
    for name, part in content.get("bearings", {}).items():
        own_part = out["bearings"][name] = copy.deepcopy(part)
        if part["type"] != "backlash" and not angle(part):
            raise ValueError(f"bearing {name!r} is not on an angle")
        for key in ("coulomb", "viscous", "breakaway", "stiffness"):
            if key in part:
                own_part[key] = part[key] * metre**2
        if isinstance(part.get("torque"), list):
            own_part["torque"] = _times(part["torque"], 2, metre)
        elif isinstance(part.get("torque"), dict):
            own_part["torque"] = {**part["torque"], "values": _times(part["torque"]["values"], 2, metre)}
    for name, part in content.get("actuators", {}).items():
        if part.get("type") == "motor":
            for key in ("kp", "kd", "limit"):
                if key in part:
                    power = (2 if angle(part) else 0) if key != "limit" else (2 if angle(part) else 1)
                    out["actuators"][name][key] = part[key] * metre**power
    for name, part in content.get("loads", {}).items():
        if part.get("type") == "contact":
            power = 1 - part.get("exponent", 1.5) - (1 if part.get("per_length") else 0)
            out["loads"][name]["stiffness"] = part["stiffness"] * metre**power
            out["loads"][name]["slip_speed"] = part.get("slip_speed", 1e-2) * metre
            out["loads"][name]["stiction"] = part.get("stiction", 1e-6) * metre
        if part.get("type") == "dipole" and part.get("place") in joints and robot.link(part["place"]).is_rod:
            out["loads"][name]["moment"] = _times(part["moment"], 1.5, metre)
        if part.get("type") == "Wave":
            out["loads"][name]["gravity"] = part.get("gravity", 9.81) * metre
    if "fluid" in content:
        out["fluid"]["density"] = content["fluid"].get("density", 1000.0) / metre**3
    for part, old in zip(out.get("hydrodynamics", []), content.get("hydrodynamics", [])):
        for key, power in (("linear_drag", 0), ("drag", -1), ("added_mass", 0)):
            if isinstance(old.get(key), list):
                entry = np.asarray(old[key], dtype=float)
                rod = any(
                    link.is_rod
                    for link in robot.links
                    if link.name in np.atleast_1d(old.get("links", old.get("link"))).tolist()
                )
                part[key] = (entry * metre ** (power - rod)).tolist()
    powers = {
        "q": np.array([DIMENSIONS[unit] for unit in system.coordinate_units], dtype=float),
        "v": np.array([DIMENSIONS[unit] for unit in system.dof_units], dtype=float),
        "u": np.array([DIMENSIONS[unit] for unit in system.input_units], dtype=float),
    }
    powers["f"] = 2.0 - powers["v"]  # their product is a work
    found = twin(system, built(out, {}), metre=metre, powers=powers)
    return found
