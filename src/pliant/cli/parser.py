"""Arguments of the command ``pliant``, with help that teaches."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from ..io.starter import STARTERS
from . import commands

__all__ = ["make_parser"]

_DESCRIPTION = """\
Simulate robots made of soft rods and rigid bodies.

A robot is described in Python, or in a model file (YAML or JSON):

  pliant new arm.yaml        write a commented starter
  pliant check arm.yaml      read it, show the tree of links, or what is wrong and where
  pliant studio arm.yaml     pull its tendons in the browser
  pliant run arm.yaml        simulate it as the file says
  pliant examples            robots of the papers
"""
_EPILOG = """\
exit codes: 0 done, 1 a solver did not succeed, 2 wrong arguments or model file, 130 interrupted
tab completion: eval "$(pliant completion bash)"
"""


_FOLDER = {"bash": "_shtab_compgen_dirs", "zsh": "_files -/", "tcsh": "d"}  # as shtab.DIRECTORY
_FILE = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}  # as shtab.FILE


def _model(parser: argparse.ArgumentParser, *, watched: bool = False) -> None:
    argument: Any = parser.add_argument("model", help="model file: .yaml, .yml or .json; also .urdf, or .xml of MuJoCo")
    argument.complete = _FILE
    parser.add_argument(
        "--allow-code",
        action="store_true",
        help="import the Python functions that the file names; only for files that you trust",
    )
    folder: Any = parser.add_argument(
        "--folder",
        metavar="DIR",
        help="highest folder from which files that the model names are read; its own if left out",
    )
    folder.complete = _FOLDER
    if watched:
        parser.add_argument("--watch", action="store_true", help="run again whenever the file is saved, until Ctrl-C")


def _kinds() -> str:
    """The starters, each with what its first line says."""
    width = max(map(len, STARTERS))
    first = {name: text.splitlines()[0].lstrip("# ").split(". Units")[0] for name, text in STARTERS.items()}
    return "\n".join(f"  {name:{width}s}  {line}" for name, line in first.items())


def _inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-u",
        "--input",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an input [N, N m, Pa]: a number or a formula of t, such as -u cable=5 or -u 'cable=5*sin(t)'; repeat for more",
    )


def _start(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--start", choices=("neutral", "statics"), help="where to begin; the file says otherwise")
    parser.add_argument("--duration", type=float, metavar="S", help="simulated time [s]")
    parser.add_argument(
        "--method", help="time integrator: generalized-alpha, newmark, hht, bdf, radau, rk45, dop853, …"
    )
    parser.add_argument("--step", type=float, metavar="S", help="constant step [s]; error-controlled if left out")
    parser.add_argument("--rtol", type=float, help="relative tolerance of the local error")


Add = Callable[..., argparse.ArgumentParser]


def _files_and_machine(add: Add) -> None:
    """Commands that compute nothing with a model."""
    sub = add(
        "new",
        commands.new,
        "write a commented model file to begin with",
        f"  pliant new arm.yaml && pliant studio arm.yaml\n\nkinds:\n{_kinds()}",
    )
    sub.add_argument("path", help="file to write, .yaml")
    sub.add_argument("--kind", default="arm", help=f"which starter: {', '.join(STARTERS)} (default arm)")
    sub.add_argument("--force", action="store_true", help="overwrite the file if it exists")

    sub = add("check", commands.check, "read a model file and say what is in it, or what is wrong and where")
    _model(sub, watched=True)

    sub = add(
        "examples", commands.examples, "list or run the robots of the papers", "  pliant examples run octopus_arm"
    )
    sub.add_argument(
        "action", nargs="?", choices=("list", "run", "show"), default="list", help="show prints the source"
    )
    sub.add_argument("name", nargs="?", help="which one")
    sub.add_argument("-o", "--output", metavar="DIR", help="write its figures and its animation there")

    sub = add(
        "papers",
        commands.papers,
        "run the experiments of the papers beside what they print",
        "  pliant papers 004 --quick\n  pliant papers --only 002-cdm-statics",
    )
    sub.add_argument("paper", nargs="*", help="000 to 004; all if left out")
    sub.add_argument("--only", action="append", default=[], metavar="KEY", help="one experiment; repeat for more")
    sub.add_argument("--list", action="store_true", help="list the experiments and their verdicts")
    sub.add_argument("--quick", action="store_true", help="fewer repetitions: for a look, not for numbers")
    sub.add_argument(
        "-o", "--output", metavar="DIR", default="build/papers", help="folder of the results (default build/papers)"
    )
    sub.add_argument("--docs", metavar="DIR", help="take the results over into this folder docs/ of the source tree")
    sub.add_argument("--redraw", metavar="DIR", help="run nothing, write the pages of this folder docs/ again")

    add("bench", commands.bench, "how fast this machine is: kernels, statics, simulation")
    add("info", commands.info, "versions, what is installed, how kernels run and why, where compiled ones are kept")
    add(
        "warm-up",
        commands.warm_up,
        "compile every kernel that does not run from machine code, once for this machine",
        "  pliant warm-up    while an image or an environment is made: nobody waits later",
    )
    sub = add(
        "completion", commands.completion, "print a script for tab completion", '  eval "$(pliant completion bash)"'
    )
    sub.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="for which shell")


def _computations(add: Add) -> None:
    """Commands that solve and show a model."""
    sub = add(
        "statics",
        commands.statics,
        "find the static equilibrium of a model",
        "  pliant statics arm.yaml -u cable=20 --html arm.html\n  pliant statics arm.yaml --watch    while it is edited",
    )
    _model(sub, watched=True)
    _inputs(sub)
    sub.add_argument("--html", metavar="FILE", help="write a page that shows it, which works offline")

    sub = add(
        "run",
        commands.run,
        "simulate a model",
        "  pliant run arm.yaml --duration 5 -u 'cable=10*sin(t)**2' -o arm.h5 --html arm.html\n"
        "  pliant run arm.yaml -o arm.csv --frame arm.tip --forces\n  pliant run arm.yaml -o arm.glb    for Blender",
    )
    _model(sub, watched=True)
    _inputs(sub)
    _start(sub)
    sub.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the result: .h5 (everything), .csv (t, coordinates, inputs, positions of frames) or .glb (glTF, for Blender)",
    )
    sub.add_argument(
        "--frame",
        action="append",
        metavar="NAME",
        help="in a .csv: a frame whose position gets columns, such as arm.tip; repeat for more; all if left out",
    )
    sub.add_argument("--forces", action="store_true", help="in a .csv: also forces of joints, loops and contacts")
    sub.add_argument("--html", metavar="FILE", help="write a page that plays the motion, which works offline")
    sub.add_argument("--quiet", action="store_true", help="no progress")

    sub = add("modes", commands.modes, "vibration modes of a model about its equilibrium")
    _model(sub, watched=True)
    _inputs(sub)
    sub.add_argument("-n", "--number", type=int, default=6, help="how many modes (default 6)")

    sub = add("view", commands.view, "simulate a model and show the motion in the browser")
    _model(sub)
    _inputs(sub)
    _start(sub)
    sub.add_argument("--result", metavar="FILE", help="show this result (.h5 of `pliant run -o`) instead of simulating")
    sub.add_argument("--static", action="store_true", help="show the equilibrium alone")
    sub.add_argument("--port", type=int, default=8080, help="port of the page on this machine (default 8080)")

    sub = add(
        "studio", commands.studio, "sliders for inputs and gravity in the browser, with statics solved as they move"
    )
    _model(sub)
    sub.add_argument("--port", type=int, default=8080, help="port of the page on this machine (default 8080)")


def _offer(parser: argparse.ArgumentParser) -> None:
    """Let a shell complete names: not as choices of the command itself, whose own messages say more."""
    from .. import gallery, papers
    from ..solve.methods import METHODS

    offered: dict[tuple[str, str], list[str]] = {
        ("new", "kind"): list(STARTERS),
        ("examples", "name"): [example.name for example in gallery.list_examples()],
        ("papers", "only"): [experiment.key for experiment in papers.experiments()],
        ("run", "method"): ["auto", *(name for name in METHODS if name != "auto")],
    }
    offered["view", "method"] = offered["run", "method"]
    (groups,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    for name, sub in groups.choices.items():
        for action in sub._actions:
            action.choices = offered.get((name, action.dest), action.choices)
            if action.dest in ("output", "html", "path", "result", "docs", "redraw"):
                action.complete = _FILE


def make_parser(*, completing: bool = False) -> argparse.ArgumentParser:
    """The parser with all commands; `options.command` is the function to call.

    `completing` adds what a shell can complete: names of examples, kinds, methods and experiments.
    """
    parser = argparse.ArgumentParser(
        "pliant", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=commands.version_line())
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON object for other programs")
    common.add_argument("--debug", action="store_true", help="show where an error came from")
    parser.set_defaults(debug=False)
    groups = parser.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, command: Any, help: str, details: str = "") -> argparse.ArgumentParser:
        sub = groups.add_parser(
            name,
            help=help,
            description=f"{help[0].upper()}{help[1:]}.\n\n{details}".rstrip(),
            parents=[common],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(command=command)
        return sub

    _files_and_machine(add)
    _computations(add)
    if completing:
        _offer(parser)
    return parser
