"""Units that the classes of parts state for their own fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

__all__ = ["declared_units", "power_unit"]


def declared_units(kind: Any) -> dict[str, str]:
    """Units by field that a class of parts and its bases state in `units`; error if they are no such thing."""
    return _declared(kind)


@cache
def _declared(kind: type) -> dict[str, str]:
    known = {f.name for f in fields(kind)} if is_dataclass(kind) else set(dir(kind))
    out: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        own = vars(base).get("units")
        if not isinstance(own, Mapping):
            continue
        for name, unit in own.items():
            if name not in known or not isinstance(unit, str):
                hint = f"{name!r} is none of its fields" if name not in known else f"{unit!r} is no text"
                raise TypeError(
                    f'{base.__name__}.units is not allowed: {hint}. Give the units of numbers by field, such as {{"height": "m"}}, "–" for none.'
                )
        out |= own
    return out


def power_unit(exponent: float) -> str:
    """Newton by a power of metres: N/m, N/m², N/m^1.5."""
    whole = {1.0: "N/m", 2.0: "N/m²", 3.0: "N/m³"}
    return whole.get(exponent, f"N/m^{exponent:g}")
