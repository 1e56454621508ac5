"""Entry of the command: parse, run, and turn errors into messages and exit codes.

Exit codes: 0 done; 1 a solver did not succeed (what it had is still written); 2 wrong arguments or a wrong model file;
130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from .parser import make_parser
from .terminal import say
from .watch import watch

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (those of the process if left out). Returns the exit code."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if not hasattr(options, "command"):
        parser.print_help()
        return 2
    if getattr(options, "watch", False):
        return watch(Path(options.model), lambda: _run(options))
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    """Run a command once; errors become messages."""
    try:
        return int(options.command(options))
    except KeyboardInterrupt:
        say("interrupted", error=True)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except (ValueError, TypeError, KeyError, OSError, ImportError, RuntimeError) as error:
        if options.debug:
            traceback.print_exc()
        text = error.args[0] if isinstance(error, KeyError) and error.args else error
        say(f"pliant: {text}", error=True)
        return 2
