"""Python functions in a model file, by import path: only where who reads the file allows it."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

from .kinds import Kind, Schema, WriteError
from .source import Place

__all__ = ["CODE", "import_path"]

_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def import_path(function: Any) -> str | None:
    """``module:function`` of a function that can be imported; None if it cannot."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if not module or module == "__main__" or not _PATH.fullmatch(f"{module}:{name}"):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}:{name}" if found is function else None


class _Code(Kind):
    """A Python function, ``module:function``; the folder of the model file is searched first."""

    wanted = "the import path of a Python function, module:function"

    def read(self, place: Place) -> Any:
        text = place.value
        if not isinstance(text, str) or not _PATH.fullmatch(text):
            return self.wrong(place)
        if not place.document.allow_code:
            return place.fail(
                f"{str(text)!r} is Python code, which is not run unless you say so: load_model(..., allow_code=True), or --allow-code. "
                "Do so only with files whose code you trust."
            )
        module, _, name = text.partition(":")
        home = place.document.files.home
        folder = None if home is None else str(home.resolve())
        if folder is not None:
            sys.path.insert(0, folder)
        try:
            found: Any = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except Exception as error:  # whatever the module raises
            return place.fail(f"{str(text)!r} cannot be imported: {type(error).__name__}: {error}")
        finally:
            if folder is not None:
                sys.path.remove(folder)
        return found if callable(found) else place.fail(f"{str(text)!r} is not a function.")

    def write(self, value: Any, path: str) -> Any:
        found = import_path(value)
        if found is None:
            raise WriteError(
                f"{path} is a Python function without an import path, which cannot be written to a model file. Put it at the top of a module."
            )
        return found

    def schema(self, defs: Schema) -> Schema:
        return {"type": "string", "pattern": f"^{_PATH.pattern}$"}


CODE = _Code()
