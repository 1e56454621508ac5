"""A motion as one table: times, coordinates, inputs, positions of frames and forces, a column each."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._files import replacing
from ..model.links import Frame
from ..system import FrameLike, System
from .exchange import WRENCH

if TYPE_CHECKING:
    from .result import Result

__all__ = ["Column", "columns_of", "write_csv"]

Array = NDArray[np.float64]


class Column(NamedTuple):
    """Numbers over time, with their unit."""

    values: Array
    unit: str


def columns_of(
    result: Result, frames: Iterable[FrameLike] | FrameLike | None, *, velocities: bool, forces: bool
) -> dict[str, Column]:
    """Columns by name, without the times; see `Result.to_dataframe`."""
    system = result.system
    out = _stacked(system.coordinate_names, system.coordinate_units, result.q)
    if velocities:
        names = [f"{name}: velocity" for name in system.dof_names]
        out |= _stacked(names, system.velocity_units, result.v)
    out |= _stacked(system.input_names, system.input_units, result.u)
    for name, frame in _frames(system, frames).items():
        place = result.positions(frame).reshape(-1, 3)
        out |= {f"{name}: position {axis}": Column(place[:, k], "m") for k, axis in enumerate("xyz")}
    if forces:
        out |= _forces(result)
    return out


def _stacked(names: Iterable[str], units: Iterable[str], values: Array) -> dict[str, Column]:
    return {name: Column(column, unit) for name, unit, column in zip(names, units, values.T)}


def _frames(system: System, frames: Iterable[FrameLike] | FrameLike | None) -> dict[str, FrameLike]:
    """The frames that were asked for, by what to call them; every named one if nothing was said."""
    if frames is None:
        rods = {link.name for link in system.robot.links if link.is_rod}  # the name of a rod is that of its tip
        return {name: name for name in system.frames if name not in rods}
    if isinstance(frames, str) or not isinstance(frames, Iterable):
        frames = [frames]
    out: dict[str, FrameLike] = {}
    for frame in frames:
        system.place(frame)  # its error names what there is
        name = frame if isinstance(frame, str) else getattr(frame, "name", None)
        out[name or _name(frame)] = frame  # type: ignore[arg-type]
    return out


def _name(frame: Frame) -> str:
    """What to call a frame without a name."""
    if frame.X is None:
        return frame.link
    return frame.link + {0.0: ".base", 1.0: ".tip"}.get(frame.X, f"@{frame.X:g}")


def _forces(result: Result) -> dict[str, Column]:
    """Wrenches of joints and loops in the axes of the joint, tensions of elastic tendons, and contact forces in world axes."""
    system, robot = result.system, result.system.robot
    units = ("N m",) * 3 + ("N",) * 3
    wrenches = result.reactions() if len(result) else np.zeros((0, len(system.links), 6))
    parts = {name: wrenches[:, k] for k, name in enumerate(system.links)}
    parts |= {name: result.loop_wrench(name) for name in robot.loops} if result.multipliers.size else {}
    out: dict[str, Column] = {}
    for name, values in parts.items():
        out |= _stacked([f"{name}: {what}" for what in WRENCH], units, values)
    elastic = [k for k, tendon in enumerate(robot.tendons.values()) if tendon.control == "elastic"]
    if elastic:
        rows = zip(result.q, result.v, result.u)
        tensions = np.array([system.tendon_tensions(q, v, u)[elastic] for q, v, u in rows]).reshape(-1, len(elastic))
        names = [f"{list(robot.tendons)[k]}: tension" for k in elastic]
        out |= _stacked(names, ["N"] * len(elastic), tensions)
    if robot.contacts:
        found = result.contacts()
        for name in robot.contacts:
            touching = [state.of(name) for state in found]
            total = np.array([state.force.sum(axis=0) for state in touching]).reshape(-1, 3)
            out |= {f"{name}: force {axis}": Column(total[:, k], "N") for k, axis in enumerate("xyz")}
            normal = np.array([state.normal_force.sum() for state in touching])
            out[f"{name}: normal force"] = Column(normal, "N")
    return out


def _plain(name: str) -> str:
    """A name that no spreadsheet takes for a formula, which could run commands: an apostrophe before it makes it text."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@")) else name


def write_csv(path: str | os.PathLike[str], t: Array, columns: dict[str, Column]) -> Path:
    """Write times and columns, with a line of names; numbers come back as they were."""
    with replacing(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")  # quotes commas in names
        writer.writerow(["t", *map(_plain, columns)])
        for row in np.column_stack([t, *(column.values for column in columns.values())]).tolist():
            writer.writerow(map(repr, row))
    return Path(path)
