"""What each command does. Every function takes the parsed options and returns an exit code."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .terminal import say

if TYPE_CHECKING:
    from ..io import Model
    from ..solve.equilibrium import Equilibrium
    from ..solve.result import Result

__all__ = [
    "bench",
    "check",
    "completion",
    "examples",
    "info",
    "modes",
    "new",
    "papers",
    "run",
    "statics",
    "studio",
    "version_line",
    "view",
    "warm_up",
]

OK, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
EXTRAS = {"matplotlib": "plot", "viser": "viz", "h5py": "io", "xarray": "io", "ruamel.yaml": "io"}
EXTRAS |= {"trimesh": "mesh", "imageio-ffmpeg": "video"}
EXTRAS |= {"distributed": "cluster", "zarr": "cluster"}


def version_line() -> str:
    """Name and version."""
    return f"pliant {importlib.metadata.version('pliant')}"


def _print(options: argparse.Namespace, text: str, data: dict[str, Any]) -> None:
    """Text for people, or one JSON object."""
    say(json.dumps(data) if options.json else text)


# ---------------------------------------------------------------- models


def _load(options: argparse.Namespace) -> Model:
    from ..io import Model, load_mjcf, load_model, load_urdf

    path = Path(options.model)
    if not path.exists():
        near = sorted(str(p) for p in path.parent.glob("*") if p.suffix in (".yaml", ".yml", ".json", ".urdf"))
        hint = f"model files there: {', '.join(near[:8])}" if near else "pliant new arm.yaml writes one"
        raise FileNotFoundError(f"no file {options.model!r}; {hint}.")
    if path.suffix.lower() == ".urdf":
        return Model(load_urdf(path, folder=options.folder))
    if path.suffix.lower() == ".xml":
        return Model(load_mjcf(path, folder=options.folder))
    return load_model(path, folder=options.folder, allow_code=options.allow_code)


def _inputs(model: Model, options: argparse.Namespace, given: Any) -> dict[str, Any] | Any:
    """Inputs of the file, changed by -u NAME=VALUE."""
    if not options.input:
        return given
    from ..io import Expression

    u: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    for text in options.input:
        name, sign, value = text.partition("=")
        if not sign:
            raise ValueError(f"-u {text!r} is not allowed: it needs the form NAME=VALUE, such as -u cable=5.")
        try:
            u[name.strip()] = float(value)
        except ValueError:
            u[name.strip()] = Expression(value)
    return u


def _at_start(u: Any) -> Any:
    """Inputs as numbers, formulas taken at t = 0."""
    if isinstance(u, dict):
        return {name: float(value(0.0)) if callable(value) else value for name, value in u.items()}
    return u


def _equilibrium(model: Model, system: Any, options: argparse.Namespace) -> Equilibrium:
    u = _inputs(model, options, model.statics_settings.get("u"))
    return model.statics(system, **({} if u is None else {"u": _at_start(u)}))


def _simulated(model: Model, system: Any, options: argparse.Namespace, *, progress: bool | None = None) -> Result:
    changes: dict[str, Any] = {
        name: getattr(options, name)
        for name in ("start", "duration", "method", "step", "rtol")
        if getattr(options, name) is not None
    }
    u = _inputs(model, options, model.simulation_settings.get("u"))
    if u is not None:
        changes["u"] = u
    if progress is not None:
        changes["progress"] = progress
    return model.simulate(system, **changes)


def _where(system: Any, q: Any) -> dict[str, list[float]]:
    """Positions of the ends of all links."""
    return {name: system.pose(name, q)[:3, 3].round(12).tolist() for name in system.links}


def new(options: argparse.Namespace) -> int:
    """``pliant new``."""
    from .._files import write_file
    from ..io import STARTERS, starter_text

    path = Path(options.path)
    if path.exists() and not options.force:
        raise FileExistsError(f"{options.path!r} exists; choose another name, or overwrite it with --force.")
    if options.kind not in STARTERS:
        raise ValueError(f"--kind {options.kind!r} is not known; there is: {', '.join(STARTERS)}.")
    write_file(path, starter_text(options.kind))
    text = f"wrote {path}. Next: pliant check {path}, pliant studio {path}, pliant run {path} --html motion.html"
    _print(options, text, {"path": str(path), "kind": options.kind})
    return OK


def check(options: argparse.Namespace) -> int:
    """``pliant check``."""
    from ..io import ModelFileError, Problem

    try:
        model = _load(options)
        system = model.compile()
    except (ValueError, TypeError) as error:  # in the file, or when it is compiled
        if not options.json:
            raise
        found = error.problems if isinstance(error, ModelFileError) else [Problem("", str(error))]
        problems = [{"line": p.line, "column": p.column, "path": p.path, "message": p.message} for p in found]
        more = error.more if isinstance(error, ModelFileError) else 0
        say(json.dumps({"ok": False, "problems": problems, "more": more}))
        return WRONG
    inputs = [
        name if unit in ("", "–") else f"{name} [{unit}]" for name, unit in zip(system.input_names, system.input_units)
    ]
    lines = [str(model), f"inputs: {', '.join(inputs) or 'none'}"]
    if system.loop_rows:
        lines.append(f"loop constraints: {len(system.loop_rows)}")
    data = {
        "ok": True,
        "name": system.name,
        "nq": system.nq,
        "nv": system.nv,
        "links": list(system.links),
        "inputs": list(system.input_names),
        "input_units": list(system.input_units),
        "mass": system.mass,
    }
    _print(options, "\n".join([*lines, f"mass: {system.mass:.6g} kg"]), data)
    return OK


def statics(options: argparse.Namespace) -> int:
    """``pliant statics``."""
    model = _load(options)
    _check_targets(options)
    system = model.compile()
    rest = _equilibrium(model, system, options)
    ends = _where(system, rest.q)
    lines = [str(rest), "ends of the links [m]:"]
    lines += [f"  {name:20s} {x:10.6f} {y:10.6f} {z:10.6f}" for name, (x, y, z) in ends.items()]
    if options.html:
        rest.save_html(options.html)
        lines.append(f"wrote {options.html}")
    data = {
        "success": bool(rest.success),
        "stability": rest.stability,
        "message": rest.message,
        "warnings": list(rest.warnings),
        "q": rest.q.tolist(),
        "u": dict(zip(system.input_names, rest.u.tolist())),
        "positions": ends,
    }
    _print(options, "\n".join(lines), data)
    return OK if rest.success else FAILED


def run(options: argparse.Namespace) -> int:
    """``pliant run``."""
    model = _load(options)
    system = model.compile()
    if options.output and Path(options.output).suffix not in (".h5", ".hdf5", ".csv", ".glb"):
        raise ValueError(f"--output {options.output!r} is not allowed: its ending must be .h5, .csv or .glb.")
    if (options.frame or options.forces) and not (options.output or "").endswith(".csv"):
        raise ValueError("--frame and --forces are for a table: give -o FILE.csv.")
    _check_targets(options)
    result = _simulated(model, system, options, progress=False if options.quiet or options.json else None)
    lines = [str(result)]
    if options.output:
        _write_result(result, options)
        lines.append(f"wrote {options.output}")
    if options.html:
        result.save_html(options.html)
        lines.append(f"wrote {options.html}")
    data = {
        "success": bool(result.success),
        "message": result.message,
        "warnings": list(result.warnings),
        "t": [float(result.t[0]), float(result.last.t)],
        "steps": result.statistics.steps,
        "wall_time": result.statistics.wall_time,
        "q": result.last.q.tolist(),
        "v": result.last.v.tolist(),
        "positions": _where(system, result.last.q),
    }
    _print(options, "\n".join(lines), data)
    if result.success:
        return OK
    return INTERRUPTED if result.message.startswith("interrupted") else FAILED


def _check_targets(options: argparse.Namespace) -> None:
    """Error before anything is computed that could then not be written."""
    from .._files import check_target

    for name in ("output", "html"):
        if getattr(options, name, None):
            check_target(getattr(options, name), field=f"--{name}", attempt=True)


def _write_result(result: Result, options: argparse.Namespace) -> None:
    """By the ending of the file."""
    kind = Path(options.output).suffix
    if kind == ".csv":
        result.save_csv(options.output, options.frame, forces=options.forces)
    elif kind == ".glb":
        result.save_gltf(options.output)
    else:
        result.save(options.output)


def modes(options: argparse.Namespace) -> int:
    """``pliant modes``."""
    from ..analysis.linear import modes as vibration_modes

    model = _load(options)
    system = model.compile()
    rest = _equilibrium(model, system, options)
    if not rest.success:
        say(rest, error=True)
        return FAILED
    found = vibration_modes(system, rest, n=options.number)
    lines = [f"{system.name}: modes about the equilibrium", "  frequency [Hz]   damping ratio"]
    lines += [f"{f:16.6g} {d:15.4g}" for f, d in zip(found.frequencies, found.damping_ratios)]
    data = {"frequencies": found.frequencies.tolist(), "damping_ratios": found.damping_ratios.tolist()}
    _print(options, "\n".join(lines), data)
    return OK


def view(options: argparse.Namespace) -> int:
    """``pliant view``."""
    from ..solve.result import Result

    model = _load(options)
    system = model.compile()
    if options.static:
        _equilibrium(model, system, options).view(port=options.port, blocking=True)
        return OK
    if options.result:
        result = Result.load(options.result, system)
    else:
        result = _simulated(model, system, options)
        say(result)
    result.view(port=options.port, blocking=True)
    return OK


def studio(options: argparse.Namespace) -> int:
    """``pliant studio``."""
    from ..viz.show import studio as open_studio

    open_studio(_load(options).compile(), port=options.port, blocking=True)
    return OK


# ---------------------------------------------------------------- the rest


def examples(options: argparse.Namespace) -> int:
    """``pliant examples``."""
    from .. import gallery

    found = {example.name: example for example in gallery.list_examples()}
    if options.action == "list" or options.name is None:
        width = max(map(len, found))
        lines = [f"{e.name:{width}s}  {e.title}" for e in found.values()]
        lines.append("run one: pliant examples run NAME [-o DIR]; its source: pliant examples show NAME")
        data = {"examples": [{"name": e.name, "title": e.title, "paper": e.paper} for e in found.values()]}
        if options.action != "list":
            lines.insert(0, f"pliant examples {options.action} needs a name; there are:")
        _print(options, "\n".join(lines), data)
        return OK if options.action == "list" else WRONG
    if options.name not in found:
        from ..model.validate import unknown_name

        raise unknown_name("example", str(options.name), tuple(found))
    if options.action == "show":
        print(found[options.name].path.read_text(encoding="utf-8"))
        return OK
    gallery.run(options.name, output=options.output)
    return OK


def papers(options: argparse.Namespace) -> int:
    """``pliant papers``."""
    from .. import papers as library

    if options.list:
        found = [e for e in library.experiments() if not options.paper or e.paper in options.paper]
        lines = [f"{library.MARKS[e.verdict]} {e.key:28s} {e.title} ({e.place})" for e in found]
        data = {"experiments": [{"key": e.key, "title": e.title, "verdict": e.verdict} for e in found]}
        _print(options, "\n".join(lines), data)
        return OK
    if options.redraw:
        library.write_docs(options.redraw, options.redraw)
        return OK
    log = (lambda _line: None) if options.json else say
    results = library.run(options.paper, options.output, only=options.only, quick=options.quick, log=log)
    if options.docs:
        library.write_docs(options.output, options.docs)
    _print(options, f"pages, figures and papers.json in {options.output}", results)
    wrong = [
        f"{e.key}: {text}"
        for e in library.experiments()
        if e.key in results["experiments"] and (not options.only or e.key in options.only)
        for text in library.problems(e, library.measured(results["experiments"][e.key]))
    ]
    for line in wrong:
        say(line, error=True)
    return FAILED if wrong else OK


def bench(options: argparse.Namespace) -> int:
    """``pliant bench``."""
    from .bench import measure

    rows = measure()
    text = "\n".join(f"{name:50s} {value:10.4g} {unit}" for name, value, unit in rows)
    _print(options, text, {name: {"value": value, "unit": unit} for name, value, unit in rows})
    return OK


def info(options: argparse.Namespace) -> int:
    """``pliant info``."""
    import os

    from .. import __file__ as package

    installed = {name: _version(name, extra) for name, extra in EXTRAS.items()}
    data = {
        "pliant": importlib.metadata.version("pliant"),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        **{name: _version(name) for name in ("numpy", "scipy", "numba")},
        **installed,
        **_how_kernels_run(Path(package).parent),
    }
    _print(options, "\n".join(f"{name:18s} {value}" for name, value in data.items()), data)
    return OK


def _version(name: str, extra: str = "") -> str:
    """The version of a package, or how to get it."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return f"missing (pip install '{f'pliant[{extra}]' if extra else name}')"


def _how_kernels_run(package: Path) -> dict[str, str]:
    """Which kernels and units run from machine code, which are compiled by numba and why, and what that left on disk."""
    from .. import _native
    from .._parts import all_parts, function_of

    if _native.INTERPRETED:
        return {"kernels": "interpreted, as plain Python (NUMBA_DISABLE_JIT)"}
    against: dict[str, list[str]] = {}
    parts = [function_of(part) for part in all_parts()]
    for function in parts:
        against.setdefault(_native.reason_against(function), []).append(_native.part_name(function))
    ahead = len(against.pop("", []))
    lines = [f"{ahead} of {len(parts)} from machine code (level {_native.LEVEL})"] if ahead else []
    for reason, names in against.items():
        which = "all" if not ahead and len(against) == 1 else ", ".join(names)
        lines.append(f"{which} compiled by numba when first used ({reason})")
    files = list((package / "kernels").rglob("__pycache__/*.nbc"))
    size = sum(f.stat().st_size for f in files) / 1e6
    return {"kernels": "; ".join(lines), "compiled by numba": f"{len(files)} files, {size:.0f} MB below {package}"}


def warm_up(options: argparse.Namespace) -> int:
    """``pliant warm-up``."""
    from .. import _native
    from .._parts import compile_all

    if _native.INTERPRETED:
        raise ValueError("there is nothing to compile: NUMBA_DISABLE_JIT is set, kernels run as plain Python.")
    begin = time.perf_counter()
    done = compile_all()
    counts = {how: sum(value == how for value in done.values()) for how in sorted(set(done.values()))}
    seconds = time.perf_counter() - begin
    text = f"{', '.join(f'{how}: {count}' for how, count in counts.items())}; {seconds:.0f} s"
    _print(options, text, {"parts": done, "seconds": seconds})
    return OK


def completion(options: argparse.Namespace) -> int:
    """``pliant completion``."""
    if importlib.util.find_spec("shtab") is None:
        raise ImportError("tab completion needs shtab: pip install 'pliant[cli]'.")
    import shtab

    from .parser import make_parser

    print(shtab.complete(make_parser(completing=True), shell=options.shell))
    return OK
