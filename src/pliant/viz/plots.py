"""Plots of results over time, along rods and against parameters; shapes in space are in `drawing`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.links import Link
from ..model.loops import closing_rows, joint_of
from ..model.rods.strains import STRAIN_NAMES, STRAIN_UNITS
from ..model.units import FORCES
from ..model.validate import choice, unknown_name
from ..system import FrameLike, System
from .drawing import VIEWS, Canvas
from .names import plot_text
from .style import axes, legend, ramp

__all__ = [
    "plot_branch",
    "plot_contacts",
    "plot_convergence",
    "plot_coordinates",
    "plot_energies",
    "plot_inputs",
    "plot_multipliers",
    "plot_prescribed_forces",
    "plot_reactions",
    "plot_strain",
    "plot_strains",
    "plot_tip",
    "plot_trajectory",
]

Array = NDArray[np.float64]


def _chosen(kind: str, wanted: str | Iterable[str] | None, known: Sequence[str]) -> list[str]:
    """Names that were asked for: exactly, or by what comes before a dot, a colon or a bracket."""
    if wanted is None:
        return list(known)
    out = []
    for name in [wanted] if isinstance(wanted, str) else list(wanted):
        found = [k for k in known if k == name or k.startswith((f"{name}.", f"{name}[", f"{name}:"))]
        if not found:
            raise unknown_name(kind, name, known)
        out += found
    return out


def _with_unit(text: str, unit: str) -> str:
    return f"{text} [{unit}]" if unit else text


def _lines(ax: Any, t: Array, columns: Mapping[str, tuple[Array, str]], what: str) -> None:
    """Lines over time with names and units; the unit is on the axis if all have the same."""
    units = {unit for _values, unit in columns.values()}
    for name, (values, unit) in columns.items():
        ax.plot(t, values, label=plot_text(name if len(units) == 1 else _with_unit(name, unit)))
    ax.set(xlabel="t [s]", ylabel=plot_text(_with_unit(what, units.pop())) if len(units) == 1 else what)
    ax.margins(x=0)
    legend(ax)


def _not_zero(columns: Mapping[str, tuple[Array, str]]) -> dict[str, tuple[Array, str]]:
    """The columns that are not zero throughout, up to rounding; all if every one is."""
    largest = max(float(np.abs(values).max(initial=0.0)) for values, _unit in columns.values())
    kept = {name: own for name, own in columns.items() if np.abs(own[0]).max(initial=0.0) > 1e-9 * largest}
    return kept or dict(columns)


# ------------------------------------------------------------ motion


def plot_trajectory(
    result: Any,
    frame: FrameLike,
    *,
    view: str = "time",
    components: str = "xyz",
    label: str | None = None,
    ax: Any = None,
) -> Any:
    """Plot the position of a frame over time, or its path.

    Parameters
    ----------
    result : Result
    frame : str, Frame or Link
    view : "time", "3d", "xy", "xz", …
        Coordinates against time, or the path in space or in a plane.
    components : str
        Which coordinates are plotted against time, e.g. "xz".
    label : str, optional
        In the legend; the frame's name if left out.
    ax : matplotlib Axes, optional
    """
    choice("view", view, ("time", *VIEWS))
    if not components or set(components) - set("xyz"):
        raise ValueError(f"components = {components!r} is not allowed: use some of the letters x, y, z.")
    name = plot_text(label or getattr(frame, "name", None) or str(frame))
    p = result.positions(frame)
    own = ax is None
    with axes(ax, space=view == "3d", size=(6.0, 3.4) if view == "time" else (5.4, 4.2)) as ax:
        if view == "time":
            for c in components:
                ax.plot(result.t, p[:, "xyz".index(c)], label=f"{c} of {name}")
            ax.set(xlabel="t [s]", ylabel="position [m]")
            ax.margins(x=0)
        else:
            canvas = Canvas(ax, view, result.system.gravity)
            canvas.line(p, label=name)
            canvas.finish(own)
        legend(ax)
    return ax


def plot_tip(result: Any, rod: str | Link | None = None, **options: Any) -> Any:
    """Plot the motion of the tip of a rod; see `plot_trajectory`. The rod may be left out if there is only one."""
    return plot_trajectory(result, f"{_rod(result.system, rod)}.tip", **options)


def _rod(system: System, rod: str | Link | None) -> str:
    names = [link.name for link in system.robot.links if link.is_rod]
    if rod is None:
        if len(names) != 1:
            raise ValueError(f"{system.name!r} has {len(names)} rods; say which one: {', '.join(names) or 'none'}.")
        return names[0]
    name = rod.name if isinstance(rod, Link) else rod
    if name not in names:
        raise unknown_name("rod", name, names)
    return name


def plot_strains(
    result: Any,
    strain: str,
    rod: str | Link | None = None,
    *,
    times: ArrayLike | None = None,
    points: int = 60,
    ax: Any = None,
) -> Any:
    """Plot a strain along a rod: as an image over time, or as lines at chosen times.

    Parameters
    ----------
    result : Result
    strain : "torsion", "bending_y", "bending_z", "stretch", "shear_y" or "shear_z"
        In rad/m, or without unit.
    rod : str or Link, optional
        May be left out if there is only one.
    times : array, optional
        Times [s] of the lines; an image over all stored times if left out.
    points : int
        Points along the rod.
    ax : matplotlib Axes, optional
    """
    choice("strain", strain, STRAIN_NAMES)
    system, name = result.system, _rod(result.system, rod)
    k = STRAIN_NAMES.index(strain)
    X = np.linspace(0, 1, points)
    label = f"{strain.replace('_', ' ')} [{STRAIN_UNITS[k]}]"
    with axes(ax) as ax:
        if times is None:
            values = np.array([system.strain(name, q, X)[:, k] for q in result.q])
            rest = system.strain(name, system.neutral(), X)[:, k].mean()
            reach = float(np.abs(values - rest).max()) or 1.0
            image = ax.pcolormesh(
                result.t, X, values.T, cmap="RdBu_r", vmin=rest - reach, vmax=rest + reach, shading="gouraud"
            )
            ax.set(xlabel="t [s]", ylabel=f"X of {plot_text(name)} [–]")
            ax.grid(False)
            ax.get_figure().colorbar(image, ax=ax, label=label, pad=0.02).outline.set_visible(False)
        else:
            when = np.atleast_1d(np.asarray(times, dtype=float))
            colors, mappable = ramp(when)
            for t, q, color in zip(when, result.resample(when).q, colors):
                ax.plot(X, system.strain(name, q, X)[:, k], color=color, label=f"t = {t:g} s")
            ax.set(xlabel=f"X of {plot_text(name)} [–]", ylabel=label)
            ax.margins(x=0)
            if len(when) > 6:
                ax.get_figure().colorbar(mappable, ax=ax, label="t [s]", pad=0.02).outline.set_visible(False)
            else:
                legend(ax)
    return ax


def plot_strain(
    system: System, q: ArrayLike, strain: str, rod: str | Link | None = None, *, points: int = 60, ax: Any = None
) -> Any:
    """Plot a strain along a rod in one configuration; see `plot_strains`."""
    choice("strain", strain, STRAIN_NAMES)
    name, k = _rod(system, rod), STRAIN_NAMES.index(strain)
    X = np.linspace(0, 1, points)
    with axes(ax) as ax:
        ax.plot(X, system.strain(name, q, X)[:, k])
        ax.set(xlabel=f"X of {plot_text(name)} [–]", ylabel=_with_unit(strain.replace("_", " "), STRAIN_UNITS[k]))
        ax.margins(x=0)
    return ax


def plot_coordinates(result: Any, names: str | Iterable[str] | None = None, *, ax: Any = None) -> Any:
    """Plot coordinates over time, with their units.

    Parameters
    ----------
    result : Result
    names : str or list of str, optional
        Names out of `System.coordinate_names`, e.g. "elbow.angle", or their beginnings: "elbow", "arm.bending_y". All
        angles and displacements of joints if left out, or all coordinates if there are none.
    ax : matplotlib Axes, optional
    """
    system = result.system
    known = {name: (k, unit) for k, (name, unit) in enumerate(zip(system.coordinate_names, system.coordinate_units))}
    joints = [name for name, (_k, unit) in known.items() if unit in ("rad", "m")]
    chosen = joints or list(known) if names is None else _chosen("coordinate", names, list(known))
    columns = {name: (result.q[:, known[name][0]], known[name][1]) for name in chosen}
    with axes(ax) as ax:
        kinds = {unit for _values, unit in columns.values()}
        names_of = {"rad": "angle", "m": "displacement", "rad/m": "strain"}
        _lines(ax, result.t, columns, names_of.get(kinds.pop(), "coordinate") if len(kinds) == 1 else "coordinate")
    return ax


def plot_inputs(result: Any, names: str | Iterable[str] | None = None, *, ax: Any = None) -> Any:
    """Plot inputs over time, with their units; without names all that are not zero throughout."""
    system = result.system
    units = dict(zip(system.input_names, system.input_units))
    index = {name: k for k, name in enumerate(system.input_names)}
    chosen = _chosen("input", names, list(index))
    if names is None:
        chosen = [name for name in chosen if np.any(result.u[:, index[name]])]
    kinds = {units[name] for name in chosen}
    names_of = {"N": "force", "N m": "torque", "Pa": "pressure", "T": "field"}
    what = names_of.get(kinds.pop(), "input") if len(kinds) == 1 else "input"
    if chosen and all(name in system.robot.tendons for name in chosen) and units[chosen[0]] == "N":
        what = "tension"
    with axes(ax) as ax:
        _lines(ax, result.t, {name: (result.u[:, index[name]], units[name]) for name in chosen}, what)
    return ax


def plot_energies(result: Any, *, total: bool = True, ax: Any = None) -> Any:
    """Plot kinetic, gravitational, elastic and total energy [J] over time; parts that are zero throughout are left out."""
    e = result.energies()
    parts = {"kinetic": e.kinetic, "gravitational": e.gravitational, "elastic": e.elastic}
    with axes(ax) as ax:
        columns = {name: (values, "J") for name, values in parts.items() if np.any(values)}
        _lines(ax, result.t, columns, "energy")
        if total:
            ax.plot(result.t, e.total, color="0.2", ls="--", label="total")
            legend(ax)
    return ax


def plot_contacts(
    result: Any,
    names: str | Iterable[str] | None = None,
    *,
    quantity: Literal["normal", "friction"] = "normal",
    ax: Any = None,
) -> Any:
    """Plot the forces of contacts over time, as the engine applies them.

    Parameters
    ----------
    result : Result
    names : str or list of str, optional
        Names of contacts; all if left out.
    quantity : "normal" or "friction"
        Sum of the normal forces, or size of the sum of the frictions [N].
    ax : matplotlib Axes, optional
    """
    choice("quantity", quantity, ("normal", "friction"))
    system = result.system
    known = list(system.robot.contacts)
    if not known:
        raise ValueError(f"{system.name!r} has no contacts; see Robot.add_contact.")
    chosen = _chosen("contact", names, known)
    history = result.contacts()
    columns: dict[str, tuple[Array, str]] = {}
    for name in chosen:
        own = [state.of(name) for state in history]
        if quantity == "normal":
            values = np.array([state.normal_force.sum() for state in own])
        else:
            values = np.array([np.linalg.norm(state.friction.sum(axis=0)) for state in own])
        columns[name] = values, "N"
    with axes(ax) as ax:
        _lines(ax, result.t, columns, "normal force" if quantity == "normal" else "friction")
    return ax


def plot_multipliers(
    result: Any,
    loop: str | Iterable[str] | None = None,
    *,
    components: Literal["rows", "joint", "world"] = "rows",
    ax: Any = None,
) -> Any:
    """Plot the forces of loop joints and couplings over time; those that are zero throughout are left out.

    Parameters
    ----------
    result : Result
    loop : str or list of str, optional
        Names of loops and couplings; all if left out.
    components : "rows", "joint" or "world"
        The multipliers themselves [N, N m], named by what they hold; or the force on the second frame of loops [N] in the
        axes of the joint or of the world.
    ax : matplotlib Axes, optional
    """
    choice("components", components, ("rows", "joint", "world"))
    system = result.system
    owners = [name for name, _row, _motion in closing_rows(system.robot)]
    if not owners:
        raise ValueError(f"{system.name!r} has no loops, so there are no multipliers.")
    if components != "rows" and not system.robot.loops:
        raise ValueError(
            f"{system.name!r} has no loops, only couplings, so there are no forces in space; use components='rows'."
        )
    chosen = _chosen("loop", loop, list(dict.fromkeys(owners) if components == "rows" else system.robot.loops))
    columns: dict[str, tuple[Array, str]] = {}
    if components == "rows":
        for k, (name, unit) in enumerate(zip(system.loop_rows, system.multiplier_units)):
            if owners[k] in chosen:  # names may have colons
                columns[name] = result.multipliers[:, k], unit
    else:
        for name in chosen:
            F = result.loop_wrench(name, axes=components)[:, 3:]
            columns |= {f"{name}: F{c}": (F[:, k], "N") for k, c in enumerate("xyz")}
    with axes(ax) as ax:
        _lines(ax, result.t, _not_zero(columns), "force" if components != "rows" else "multiplier")
    return ax


def plot_reactions(
    result: Any,
    names: str | Iterable[str] | None = None,
    *,
    quantity: Literal["force", "moment"] = "force",
    components: Literal["size", "joint", "world"] = "size",
    ax: Any = None,
) -> Any:
    """Plot the forces or moments that come through joints and loops, over time; those that are zero throughout are left out.

    Parameters
    ----------
    result : Result
    names : str or list of str, optional
        Links, whose joints are meant (see `System.joint_wrench`), and loops (`System.loop_wrench`); all if left out.
    quantity : "force" or "moment"
        [N], or [N m] about the origin of the joint.
    components : "size", "joint" or "world"
        The length of the vector; or its components in the axes of the joint or of the world.
    ax : matplotlib Axes, optional
    """
    choice("quantity", quantity, ("force", "moment"))
    choice("components", components, ("size", "joint", "world"))
    system = result.system
    links, loops = list(system.links), list(system.robot.loops)
    chosen = _chosen("link or loop", names, [*links, *loops])
    axes_of: Literal["joint", "world"] = "world" if components == "world" else "joint"
    part, letter, unit = (slice(3, 6), "F", "N") if quantity == "force" else (slice(0, 3), "M", "N m")
    joints = result.reactions(axes_of) if set(chosen) & set(links) else np.zeros((0, 0, 6))
    columns: dict[str, tuple[Array, str]] = {}
    for name in chosen:
        found = joints[:, links.index(name)] if name in links else result.loop_wrench(name, axes=axes_of)
        vector = found[:, part]
        if components == "size":
            columns[name] = np.linalg.norm(vector, axis=1), unit
        else:
            columns |= {f"{name}: {letter}{c}": (vector[:, k], unit) for k, c in enumerate("xyz")}
    with axes(ax) as ax:
        _lines(ax, result.t, _not_zero(columns), quantity)
    return ax


def plot_prescribed_forces(result: Any, names: str | Iterable[str] | None = None, *, ax: Any = None) -> Any:
    """Plot the forces and torques that drive prescribed joints, over time."""
    system = result.system
    known = system.robot.motions
    if not known:
        raise ValueError(f"{system.name!r} has no prescribed joints; see Robot.add_motion.")
    forces = result.prescribed_forces()
    columns: dict[str, tuple[Array, str]] = {}
    for name in _chosen("motion", names, list(known)):
        motion = known[name]
        joint = joint_of(system.robot, motion.link)
        dofs = list(zip(joint.force_names, joint.dof_units))
        dofs = dofs if motion.dof is None else [dofs[motion.dof]]
        for k, (dof, unit) in enumerate(dofs):
            label = name if len(dofs) == 1 else f"{name}: {dof}"
            columns[label] = forces[name][:, k], FORCES[unit]
    kinds = {unit for _values, unit in columns.values()}
    with axes(ax) as ax:
        _lines(ax, result.t, columns, {"N": "force", "N m": "torque"}[kinds.pop()] if len(kinds) == 1 else "force")
    return ax


# ------------------------------------------------------------ against parameters


def plot_convergence(
    sizes: ArrayLike,
    errors: ArrayLike | Mapping[str, ArrayLike],
    *,
    size: str = "step [s]",
    error: str = "error [m]",
    fit: bool = True,
    scale: Literal["loglog", "semilogy"] = "loglog",
    ax: Any = None,
) -> Any:
    """Plot errors against step sizes or numbers of modes, with fitted slopes in the legend.

    Parameters
    ----------
    sizes : array (n,)
        Steps, or numbers of modes or points.
    errors : array (n,), or dict of arrays by name
        NaN where there is none.
    size, error : str
        Labels of the axes, with units.
    fit : bool
        Fit a slope through the errors that are positive, draw it dashed, and give it in the legend: the order
        (``loglog``), or the factor by which the error falls per unit of size (``semilogy``).
    scale : "loglog" or "semilogy"
    ax : matplotlib Axes, optional
    """
    choice("scale", scale, ("loglog", "semilogy"))
    x = np.asarray(sizes, dtype=float)
    curves = errors if isinstance(errors, Mapping) else {"": errors}
    with axes(ax, size=(5.0, 3.6)) as ax:
        for name, values in curves.items():
            y = np.asarray(values, dtype=float)
            if y.shape != x.shape:
                raise ValueError(f"errors {name!r} have shape {y.shape}, but sizes have {x.shape}; give one for each.")
            good = np.isfinite(y) & (y > 0)
            (line,) = ax.plot(x, y, "o-", label=name)
            if fit and good.sum() > 1:
                across = np.log(x[good]) if scale == "loglog" else x[good]
                slope, offset = np.polyfit(across, np.log(y[good]), 1)
                found = f"order {abs(slope):.2f}" if scale == "loglog" else f"÷{np.exp(-slope):.3g} each"
                ax.plot(x[good], np.exp(offset + slope * across), "--", color=line.get_color(), lw=0.8, label="_fit")
                line.set_label(f"{name}: {found}" if name else found)
        ax.set(xlabel=size, ylabel=error, yscale="log", xscale="log" if scale == "loglog" else "linear")
        if any(not h.get_label().startswith("_") for h in ax.lines):
            legend(ax)
    return ax


def plot_branch(
    branch: Any,
    quantity: str | Callable[[Array], float],
    *,
    component: str = "x",
    parameter: str = "parameter",
    label: str = "",
    name: str = "",
    ax: Any = None,
) -> Any:
    """Plot a family of equilibria against its parameter: stable parts solid, unstable ones dashed.

    Parameters
    ----------
    branch : Branch
        From `trace_equilibria`; branches found by switching are drawn too.
    quantity : str or function of q
        A frame, whose position is plotted, or a function that gives a number.
    component : "x", "y" or "z"
        Which coordinate of the frame.
    parameter, label : str
        Labels of the axes, with units.
    name : str
        In the legend.
    ax : matplotlib Axes, optional
    """
    choice("component", component, ("x", "y", "z"))

    def value(q: Array, at: float) -> float:
        if callable(quantity):
            return quantity(q)
        return float(branch.system_at(at).pose(quantity, q)["xyz".index(component), 3])

    with axes(ax, size=(5.0, 3.6)) as ax:
        color = None
        for part in (branch, *branch.branches):
            found = part.special("limit") + part.special("bifurcation")
            at = [p.index + 1 for p in found]  # they lie between the points and belong to both sides
            x = np.insert(part.parameter, at, [p.parameter for p in found])
            y = np.insert(
                [value(q, x) for q, x in zip(part.q, part.parameter)], at, [value(p.q, p.parameter) for p in found]
            )
            near = [bool(np.any(part.stable[p.index : p.index + 2])) for p in found]
            alone = np.where(np.insert(part.stable, at, near), y, np.nan)
            (line,) = ax.plot(x, y, "--", lw=1.0, color=color, label="_all")
            color = line.get_color()
            ax.plot(x, alone, color=color, label=name if part is branch and name else "_stable")
            for point in found:
                ax.plot(
                    point.parameter,
                    value(point.q, point.parameter),
                    "o",
                    color=color,
                    mfc="white",
                    label=f"_{point.kind}",
                )
        what = label or ("" if callable(quantity) else f"{component} of {plot_text(str(quantity))} [m]")
        ax.set(xlabel=parameter, ylabel=what)
        if name:
            legend(ax)
    return ax
