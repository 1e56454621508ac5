"""Models in files: load, save, and run as the file says."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .._files import write_file
from ..model.reading import NOWHERE, Folder
from ..model.robot import Robot
from ..model.signal import Signal
from ..model.validate import choice, flag, shown
from ..solve.drive import State
from ..solve.equilibrium import Equilibrium
from ..solve.methods import MARCHING
from ..solve.result import Result
from ..solve.simulate import simulate
from ..solve.statics import solve_statics
from ..system import System
from .build import build
from .describe import describe
from .source import Document, Place, check_tree, is_json, load_text, parse
from .state_formulas import StateFormula

__all__ = ["Model", "dump_model", "load_model", "parse_model", "save_model"]

_WIDTH = 110


@dataclass(frozen=True)
class Model:
    """A robot together with what a file says about its statics and simulation.

    Attributes
    ----------
    robot : Robot
        Can be changed before `compile`: add loads in Python, for instance.
    simulation_settings : dict
        Arguments of `simulate`.
    statics_settings : dict
        Arguments of `solve_statics`.
    """

    robot: Robot
    simulation_settings: dict[str, Any] = field(default_factory=dict)
    statics_settings: dict[str, Any] = field(default_factory=dict)

    def compile(self) -> System:
        """The `System` of the robot as it is now."""
        return self.robot.compile()

    def statics(self, system: System | None = None, **changes: Any) -> Equilibrium:
        """Solve for the static equilibrium of the section ``statics``.

        Parameters
        ----------
        system : System, optional
            What `compile` gave, to compile only once.
        **changes
            Arguments of `solve_statics` that replace those of the file.

        Returns
        -------
        Equilibrium
        """
        system = self.compile() if system is None else system
        settings = {**self.statics_settings, **changes}
        settings["start"] = _coordinates(system, settings.get("start"), "q")
        return solve_statics(system, settings.pop("u", None), **settings)

    def simulate(self, system: System | None = None, **changes: Any) -> Result:
        """Run the section ``simulation``.

        Parameters
        ----------
        system : System, optional
            What `compile` gave, to compile only once.
        **changes
            Arguments of `simulate` that replace those of the file. `start` may also be "statics": the equilibrium of the
            section ``statics``, which takes the inputs and motions at the start of the simulation where it has none.

        Returns
        -------
        Result

        Raises
        ------
        RuntimeError
            If the equilibrium to start from is not found.
        """
        system = self.compile() if system is None else system
        settings = {**self.simulation_settings, **changes}
        if "duration" not in settings:
            raise ValueError("the model has no section 'simulation' with a duration; give simulate(duration=...) [s].")
        if isinstance(settings.get("start"), str) and settings["start"] == "statics":
            settings["start"] = self._start(system, settings)
        else:
            settings["start"] = _coordinates(system, settings.get("start"), "q")
        settings["velocity"] = _coordinates(system, settings.get("velocity"), "v")
        _bind_feedback(system, settings)
        if isinstance(settings.get("events"), Mapping):
            settings["events"] = [event.bound(system, name) for name, event in settings["events"].items()]
        return simulate(system, settings.pop("duration"), **settings)

    def _start(self, system: System, settings: Mapping[str, Any]) -> Equilibrium:
        t0 = settings.get("t0") or 0.0
        own: dict[str, Any] = {}
        if "u" not in self.statics_settings and settings.get("u") is not None:
            given = settings["u"] if isinstance(settings["u"], Mapping) else {}
            fed = [name for name, value in given.items() if isinstance(value, StateFormula)]
            if fed:
                raise ValueError(
                    f"start = 'statics': the input {fed[0]!r} is feedback, so the equilibrium does not know it. Give its value there in the section "
                    "statics, u."
                )
            own["u"] = _at(settings["u"], t0)
        if "motion" not in self.statics_settings and settings.get("motion") is not None:
            own["motion"] = settings["motion"] if t0 == 0.0 else {k: _at(v, t0) for k, v in settings["motion"].items()}
        rest = self.statics(system, **own)
        if not rest.success:
            raise RuntimeError(f"the equilibrium to start from (start: statics) was not found: {rest}")
        return rest

    def save(self, path: str | Path) -> None:
        """Write the model to a file; see `save_model`."""
        save_model(self, path)

    def __str__(self) -> str:
        """The robot, and what can be run."""
        runs = [f"simulation of {self.simulation_settings['duration']:g} s"] if self.simulation_settings else []
        runs += ["statics"] if self.statics_settings else []
        return str(self.robot) + (f"\n{', '.join(runs)}" if runs else "")


def _at(value: Any, t: float) -> Any:
    """Inputs or a motion at a time."""
    if isinstance(value, Mapping):
        return {name: _at(entry, t) for name, entry in value.items()}
    position = getattr(value, "position", value)
    return position(t) if callable(position) else position


def _bind_feedback(system: System, settings: dict[str, Any]) -> None:
    """Make one function of (t, state) of inputs among which there are formulas of the state."""
    given = settings.get("u")
    if not isinstance(given, Mapping) or not any(isinstance(value, StateFormula) for value in given.values()):
        return
    bound = {name: value.bound(system) for name, value in given.items() if isinstance(value, StateFormula)}

    def inputs(t: float, state: State) -> dict[str, Any]:
        return {
            name: bound[name](state) if name in bound else value(t) if callable(value) else value
            for name, value in given.items()
        }

    settings["u"] = inputs
    kinks = [t for value in given.values() if isinstance(value, Signal) for t in value.t]
    if kinks and settings.get("method", "auto") in ("auto", *MARCHING):  # which a function does not tell
        settings["breaks"] = sorted({*settings.get("breaks", ()), *kinks})


def _coordinates(system: System, given: Any, which: Literal["q", "v"]) -> Any:
    """A start from a word, or from poses and numbers by link; anything else as it is."""
    if given is None or (isinstance(given, str) and given == "neutral"):
        return None
    if isinstance(given, str):
        raise ValueError(f"start = {given!r} is not allowed: give neutral, statics (of a simulation), or coordinates.")
    if not isinstance(given, Mapping):
        return given
    if which == "q":
        return system.configuration(given)
    out = np.zeros(system.nv)
    for link, values in given.items():
        place = system.v_slice(link)
        numbers = np.atleast_1d(np.asarray(values, dtype=float))
        if numbers.shape != (place.stop - place.start,):
            raise ValueError(
                f"velocity.{link} has {len(numbers)} numbers, but link {link!r} has {place.stop - place.start} coordinates."
            )
        out[place] = numbers
    return out


# ---------------------------------------------------------------- files


def load_model(path: str | Path, *, folder: str | Path | None = None, allow_code: bool = False) -> Model:
    """Read a model from a YAML or JSON file; see `parse_model` for text.

    Parameters
    ----------
    path : path
    folder : path, optional
        The highest folder from which files that it names are read: meshes, and what it includes. Its own if left out.
    allow_code : bool
        Whether Python functions that the file names by their import path, ``module:function`` (laws of rods), are imported, from its own folder first. That runs
        their modules: allow it only for files and folders that you trust. Without it a file can run nothing.

    Returns
    -------
    Model

    Raises
    ------
    ModelFileError
        With everything that is wrong in the file, each with line, column and path.
    OSError
        If there is no such file, or it cannot be read.

    Examples
    --------
    >>> import pliant as pl
    >>> model = pl.load_model("arm.yaml")  # doctest: +SKIP
    """
    text, name, json_file = load_text(path)
    files = Folder(Path(path).parent, None if folder is None else Path(folder))
    return _model(parse(text, name, is_json=json_file), files, allow_code)


def parse_model(
    content: str | Mapping[str, Any],
    *,
    name: str | None = None,
    folder: str | Path | None = None,
    allow_code: bool = False,
) -> Model:
    """Read a model from the text of a YAML or JSON file, or from its content as nested dictionaries; see `load_model`.

    Parameters
    ----------
    content : str or dict
        Always the content, never the path of a file.
    name : str, optional
        What it is called in errors.
    folder : path, optional
        The folder from which, and from below which, files that it names are read; left out, it can name none.
    allow_code : bool
        See `load_model`.

    Returns
    -------
    Model

    Examples
    --------
    >>> import pliant as pl
    >>> model = pl.parse_model(pl.io.starter_text())
    >>> model.robot.nv
    24
    """
    if isinstance(content, Mapping):
        place = Place(content, Document(name or "<dict>"))
        check_tree(place)
    elif isinstance(content, str):
        place = parse(content, name or "<text>", is_json=is_json(content))
    else:
        raise TypeError(f"content = {shown(content)} must be the text of a model, or a dictionary.")
    return _model(place, NOWHERE if folder is None else Folder(Path(folder)), allow_code)


def _model(place: Place, files: Folder, allow_code: bool) -> Model:
    place.document.allow_code = flag("allow_code", allow_code)
    place.document.files = files
    return Model(*build(place))


def dump_model(
    model: Robot | Model | System,
    *,
    simulation: dict[str, Any] | None = None,
    statics: dict[str, Any] | None = None,
    format: Literal["yaml", "json"] = "yaml",
    folder: str | Path | None = None,
) -> str:
    """The text of a model file; see `save_model`. Files that lie in `folder` or below are named from there, others by their whole path."""
    choice("format", format, ("yaml", "json"))
    if isinstance(model, System):
        model = Model(model.robot)
    elif isinstance(model, Robot):
        model = Model(model)
    if not isinstance(model, Model):
        raise TypeError(f"model = {model!r} must be a Robot, a System or a Model.")
    model = replace(
        model,
        simulation_settings=model.simulation_settings if simulation is None else simulation,
        statics_settings=model.statics_settings if statics is None else statics,
    )
    content = describe(model.robot, simulation=model.simulation_settings, statics=model.statics_settings)
    _name_files(content, None if folder is None else Path(folder))
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n" if format == "json" else _yaml(content)


def save_model(
    model: Robot | Model | System,
    path: str | Path,
    *,
    simulation: dict[str, Any] | None = None,
    statics: dict[str, Any] | None = None,
) -> None:
    """Write a robot to a YAML or JSON file (by its ending), from which `load_model` makes the same robot.

    Parameters
    ----------
    model : Robot, Model or System
    path : path
        Ends with .yaml, .yml or .json.
    simulation, statics : dict, optional
        Arguments of `simulate` and `solve_statics`, for instance
        ``{"duration": 10, "u": {"cable": pl.Expression("5*t")}}``; those of the Model if left out.

    Raises
    ------
    WriteError
        If something is a Python function. Formulas (`Expression`) and tables can be written, functions cannot.

    Examples
    --------
    >>> import pliant as pl
    >>> model = pl.parse_model(pl.io.starter_text())
    >>> pl.save_model(model, "arm.yaml")  # doctest: +SKIP
    """
    path = Path(path)
    formats: dict[str, Literal["yaml", "json"]] = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}
    if path.suffix.lower() not in formats:
        raise ValueError(f"path = {str(path)!r} is not allowed: its ending must be .yaml, .yml or .json.")
    text = dump_model(
        model, simulation=simulation, statics=statics, format=formats[path.suffix.lower()], folder=path.parent
    )
    write_file(path, text)


def _name_files(content: dict[str, Any], folder: Path | None) -> None:
    """Name files that are drawn from the folder of the model, or by their whole path; a warning for those that it will not read by itself."""
    for name, link in content["links"].items():
        drawn = link.get("visual", ())
        for entry in drawn if isinstance(drawn, list) else [drawn]:
            if not isinstance(entry, dict) or "file" not in entry:
                continue
            entry["file"] = os.path.abspath(entry["file"])
            if folder is None:
                continue
            home = os.path.realpath(folder)
            if Path(os.path.realpath(entry["file"])).is_relative_to(home):
                entry["file"] = Path(os.path.relpath(entry["file"], home)).as_posix()
            else:
                warnings.warn(
                    f"link {name!r}: its mesh {shown(entry['file'])} lies outside of the folder {shown(home)} of the model; copy it there, or "
                    "read the model with load_model(..., folder=...).",
                    stacklevel=4,
                )


def _yaml(content: dict[str, Any]) -> str:
    try:
        from ruamel.yaml import YAML
    except ImportError:
        raise ImportError("YAML files need ruamel.yaml: pip install 'pliant[io]'; or save as .json.") from None
    yaml = YAML(typ="rt")
    yaml.width = 4096
    yaml.default_flow_style = False
    out = StringIO()
    yaml.dump({key: _styled(value, 1) for key, value in content.items()}, out)
    return out.getvalue()


def _styled(value: Any, depth: int) -> Any:
    """Lists, and what is short, on one line."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    if isinstance(value, dict):
        mapping = CommentedMap((key, _styled(entry, depth + 1)) for key, entry in value.items())
        simple = not any(isinstance(entry, dict) for entry in value.values())
        if depth > 1 and simple and len(json.dumps(value, ensure_ascii=False)) < _WIDTH:
            mapping.fa.set_flow_style()
        return mapping
    if isinstance(value, list):
        sequence = CommentedSeq(_styled(entry, depth + 1) for entry in value)
        if not any(isinstance(entry, dict) for entry in value):
            sequence.fa.set_flow_style()
        return sequence
    return value
