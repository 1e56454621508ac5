"""What a sweep is: its robot, what it computes, its seed, its items and the version of pliant; and how two sweeps differ."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..gradients.costs.quantity import Quantity
from ..system import System
from .designs import Design
from .fingerprint import fingerprint
from .task import origin_of
from .worker import Wanted

__all__ = ["identity_of", "refuse_another"]


def identity_of(system: System, wanted: Wanted, plan: Design, seed: int) -> dict[str, Any]:
    """All that the numbers of a sweep depend on, as digests and names that JSON can hold."""
    origin = origin_of(system)
    own = [[load.function, load.derivatives] for load, _places in system.robot.user_loads.values()]
    own += [[law.function, law.derivatives] for _name, law in system._user_laws]
    return {
        **origin,
        "functions": fingerprint(own),
        "what": {name: {"is": _said(what), "digest": fingerprint(what)} for name, what in wanted.items()},
        "seed": seed,
        "names": list(plan.names),
        "items": len(plan),
        "axes": None if plan.axes is None else [axis.tolist() for axis in plan.axes],
        "values": hashlib.sha256(np.ascontiguousarray(plan.values, dtype="<f8").tobytes()).hexdigest(),
    }


def _said(what: Any) -> str:
    """What is computed, for messages."""
    if isinstance(what, (str, Quantity)):
        return repr(what)[:200]
    return str(getattr(what, "__qualname__", type(what).__qualname__))[:200]


def _differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """In what two sweeps differ, for messages; items first, since these must agree."""
    out = []
    if there.get("names") != here["names"]:
        out.append(f"it varies {there.get('names')} and this one {here['names']}")
    elif there.get("items") != here["items"]:
        out.append(f"it has {there.get('items')} items and this one {here['items']}")
    elif there.get("values") != here["values"]:
        out.append("the values of its items differ from those of this one")
    if out:
        return out
    if there.get("robot") != here["robot"]:
        out.append("its robot has other properties (lengths, materials, points, loads, …)")
    elif there.get("functions") != here["functions"]:
        out.append("a load or law of its robot is another function")
    out += _of_what(there.get("what", {}), here["what"])
    if there.get("seed") != here["seed"]:
        out.append(f"its seed is {there.get('seed')} and that of this one {here['seed']}")
    if there.get("pliant") != here["pliant"]:
        out.append(f"it was computed by version {there.get('pliant')} of pliant and this is {here['pliant']}")
    return out


def _of_what(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    if list(there) != list(here):
        return [f"it computes {', '.join(map(repr, there))} and this one {', '.join(map(repr, here))}"]
    return [
        f"its {name!r} is computed otherwise ({there[name].get('is')} there, {here[name]['is']} here)"
        for name in here
        if there[name].get("digest") != here[name]["digest"]
    ]


def refuse_another(there: Mapping[str, Any], here: Mapping[str, Any], said: str, check: bool) -> None:
    """Error that names the differences if what was found is of another sweep; without `check` only items must agree."""
    try:
        found = _differences(there, here)
    except (AttributeError, KeyError, TypeError):
        found = ["it does not say of which"]
    items = {key: there.get(key) for key in ("names", "items", "values")} == {
        key: here[key] for key in ("names", "items", "values")
    }
    if not found or (items and not check):
        return
    advice = " check=False takes what it has for this one." if items else ""
    raise ValueError(f"{said} another sweep: {'; '.join(found)}.{advice}")
