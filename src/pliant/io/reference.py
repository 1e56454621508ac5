"""All keys of a model file as a page of the documentation: what the records hold, so nothing is left out."""

from __future__ import annotations

from typing import Any

from .description import FILE
from .kinds import Kind, Number
from .records import Record, Variants, is_own

__all__ = ["records", "reference"]

_HEAD = """\
# Keys of model files

All of them, as the package itself knows them; [Model files](model_files.md) has the ideas. Keys without a default must be given (– is none, or
what the meaning says). Numbers may be formulas of numbers such as `pi/2`.
"""


def records(kind: Kind = FILE, found: dict[str, tuple[Record, str]] | None = None) -> dict[str, tuple[Record, str]]:
    """All records of a file, or of a kind, by name; with what they are."""
    found = {} if found is None else found
    if isinstance(kind, Record) and kind.name in found:
        return found
    if isinstance(kind, Record):
        found[kind.name] = kind, ""
    for own in kind.inner():
        new = isinstance(own, Record) and own.name not in found
        records(own, found)
        if new and isinstance(own, Record) and isinstance(kind, Variants):
            found[own.name] = own, kind.what
    return found


def reference() -> str:
    """The page, in Markdown."""
    own = {name: entry for name, entry in records().items() if entry[0].part is None or is_own(entry[0].part)}
    return "\n".join([_HEAD, *(_record(name, *entry) for name, entry in own.items())])


def _record(name: str, record: Record, what: str) -> str:
    lines = [f"## {name}" + (f" ({what})" if what else ""), ""]
    if record.fields:
        lines += ["| key | what it is | default | meaning |", "|---|---|---|---|"]
        lines += [
            f"| `{key}` | {_cell(_short(kind))} | {_default(record, key)} | {_cell(record.docs.get(key, ''))} |"
            for key, kind in record.fields.items()
        ]
    else:
        lines.append("No keys.")
    lines += [f"\n`{key}` is no key: {reason}" for key, reason in record.without.items()]
    return "\n".join([*lines, ""])


def _short(kind: Kind) -> str:
    if isinstance(kind, Record):
        return f"a mapping: {kind.name}"
    if isinstance(kind, Variants):
        return kind.what
    if isinstance(kind, Number):
        return "a number"
    inner = [own for own in kind.inner() if isinstance(own, (Record, Variants))]
    return (
        f"{kind.wanted} ({_short(inner[0])})"
        if kind.wanted.startswith(("a mapping from", "a list")) and inner
        else kind.wanted
    )


def _default(record: Record, key: str) -> str:
    if key not in record.defaults:
        return ""
    value: Any = record.defaults[key]
    return "–" if value is None or value == () else f"`{value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
