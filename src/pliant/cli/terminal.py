"""What the command says, as text: a file or a folder may have any name, and a terminal obeys what it is sent."""

from __future__ import annotations

import sys

from ..model.validate import printable

__all__ = ["say"]


def say(text: object, *, error: bool = False) -> None:
    """Print text; characters that would do something are written as escapes."""
    print(printable(str(text)), file=sys.stderr if error else sys.stdout, flush=True)
