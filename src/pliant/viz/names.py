"""Names and messages of a model on their way into pages and plots, where some characters mean something.

A model file may come from anywhere: what it says is text, never markup.
"""

from __future__ import annotations

import html
import json
from typing import Any

__all__ = ["html_lines", "node_name", "plot_text", "script_json"]


def html_lines(*lines: str) -> str:
    """Lines of text as HTML for a panel of a live page. (Its markdown would run HTML, and read files for images.)"""
    rows = "".join(f"<div>{html.escape(line)}</div>" for line in lines)
    return f'<div style="padding: 0 1em 0.5em; font-size: 0.9em; overflow-wrap: anywhere">{rows}</div>'


def script_json(data: Any) -> str:
    """Data as JSON inside a script element: ASCII only, and nothing that could end the element or open a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def node_name(name: str) -> str:
    """A name inside the path of a scene's node, where a slash would make a level."""
    return name.replace("/", "∕")


def plot_text(name: str) -> str:
    """A name as a label of a plot: no formula between dollars, and shown in the legend whatever it begins with."""
    text = name.replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text
