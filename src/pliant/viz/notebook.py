"""How robots, systems and results look in a notebook: a picture, the main facts and the tree."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.links import Rod
from ..model.robot import Robot
from ..system import System
from .geometry import build_scene
from .picture import picture

if TYPE_CHECKING:
    from ..solve.equilibrium import Equilibrium
    from ..solve.result import Result

__all__ = ["equilibrium_html", "result_html", "robot_html", "system_html"]

_CELL = "padding:1px 12px 1px 0;text-align:left;vertical-align:top;border:none"
_PATH = 200  # points of the way of a tip


def _table(rows: Mapping[str, Any]) -> str:
    cells = "".join(
        f'<tr><td style="{_CELL};opacity:.7">{escape(name)}</td><td style="{_CELL}">{escape(str(value))}</td></tr>'
        for name, value in rows.items()
        if value not in ("", None)
    )
    return f'<table style="border-collapse:collapse;margin:2px 0">{cells}</table>'


def _page(title: str, image: str, rows: Mapping[str, Any], tree: str = "", notes: tuple[str, ...] = ()) -> str:
    """A picture with words beside it."""
    parts = [f"<b>{escape(title)}</b>", _table(rows)]
    if tree:
        parts.append(f'<pre style="margin:2px 0;line-height:1.25;font-size:85%">{escape(tree)}</pre>')
    parts += [f'<div style="color:#b35900">⚠ {escape(note)}</div>' for note in notes]
    side = f'<div style="flex:none">{image}</div>' if image else ""
    text = f'<div style="flex:1 1 300px;min-width:0;overflow-x:auto">{"".join(parts)}</div>'
    return f'<div style="display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start">{side}{text}</div>'


def _inputs(system: System) -> str:
    pairs = zip(system.input_names, system.input_units)
    return ", ".join(name if unit in ("", "–") else f"{name} [{unit}]" for name, unit in pairs)


def _parts(robot: Robot) -> dict[str, str]:
    """What there is, by kind."""
    rods = [link.name for link in robot.links if isinstance(link.content, Rod)]
    bodies = [link.name for link in robot.links if not link.is_rod]
    named = {"rods": rods, "bodies": bodies}
    named |= {kind.replace("_", " "): list(getattr(robot, kind)) for kind in robot.groups}
    return {kind: _listed(names) for kind, names in named.items() if names}


def _listed(names: list[str], most: int = 8) -> str:
    more = f", … ({len(names)})" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def robot_html(robot: Robot) -> str:
    """Of a description; without a picture while it cannot be compiled."""
    image = ""
    if robot.links:
        try:
            system = robot.compile()
            image = picture(system, system.neutral())
        except (ValueError, TypeError, KeyError):  # not finished yet: its own compile() says why
            image = ""
    head, _, tree = str(robot).partition("\n")
    return _page(head, image, _parts(robot), tree)


def system_html(system: System) -> str:
    """Of a compiled robot in its neutral configuration."""
    rows: dict[str, Any] = {
        "coordinates": f"{system.nq} (nq)",
        "degrees of freedom": f"{system.nv} (nv)",
        "inputs": _inputs(system) or "none",
        "loop constraints": len(system.loop_rows) or "",
        "mass": f"{system.mass:.6g} kg" if system.nv else "",
        "gravity": f"({', '.join(f'{g:g}' for g in system.gravity)}) m/s²",
    }
    image = picture(system, system.neutral()) if system.links else ""
    return _page(f"System {system.name!r}", image, rows, str(system).partition("\n")[2])


def equilibrium_html(rest: Equilibrium) -> str:
    """Of an equilibrium, in its shape."""
    state = rest.kind
    rows: dict[str, Any] = {
        "result": rest.message,
        "residual": f"{rest.residual:.1e} after {rest.iterations} iterations",
    }
    image, title = "", state
    if rest.system is not None:
        system = rest.system
        image, title = picture(system, rest.q), f"{system.name}: {state}"
        own = [f"{name} = {value:.6g}" for name, value in zip(system.input_names, rest.u)]
        rows["inputs"] = _listed(own)
        rows |= {name: f"({', '.join(f'{x:.4f}' for x in p)}) m" for name, p in list(rest.positions.items())[:8]}
    return _page(title, image, rows, notes=rest.warnings)


def result_html(run: Result) -> str:
    """Of a motion: its last shape and the ways of its tips."""
    title = f"{run.system.name}: {'completed' if run.success else 'failed'}"
    if not len(run.t):
        return _page(title, "", {"result": run.message}, notes=run.warnings)
    span = float(run.t[-1] - run.t[0])
    rows: dict[str, Any] = {
        "result": run.message,
        "time": f"{run.t[0]:g} to {run.t[-1]:g} s, {len(run.t)} stored",
        "method": f"{run.method}: {run.statistics}",
        "speed": f"{span / run.statistics.wall_time:.3g} s per second" if run.statistics.wall_time > 0 else "",
    }
    rows |= {f"event {event.name}": f"at {event.t:.6g} s" for event in run.events[:6]}
    scene = build_scene(run.system, stations=2)
    some = np.unique(np.linspace(0, len(run.t) - 1, min(_PATH, len(run.t))).astype(int))
    poses = np.array([scene.poses(q)[list(scene.tips), :3, 3] for q in run.q[some]])
    paths = tuple(poses[:, k] for k in range(min(len(scene.tips), 6))) if len(some) > 1 else ()
    return _page(title, picture(run.system, run.q[-1], paths=paths), rows, notes=run.warnings)
