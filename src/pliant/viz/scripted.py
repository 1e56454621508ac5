"""A script of our own in the page that viser serves: what it has no option for (``static/live.js``)."""

from __future__ import annotations

import gzip
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["warn_without_script", "with_script"]

SCRIPT = Path(__file__).parent / "static" / "live.js"
_PLACE = b"<head>"


@lru_cache(maxsize=4)
def _scripted(body: bytes, packed: bool) -> bytes:
    """A page with the script at the beginning of its head; as it is if it has none."""
    page = gzip.decompress(body) if packed else body
    script = b"<script>\n" + SCRIPT.read_bytes() + b"</script>"
    page = page.replace(_PLACE, _PLACE + script, 1)
    return gzip.compress(page, 6) if packed else page


def with_script(response: Any) -> Any:
    """The answer of a server, with the script if it is a page."""
    if response is None or response.status_code != 200 or "text/html" not in response.headers.get("Content-Type", ""):
        return response
    packed = response.headers.get("Content-Encoding") == "gzip"
    response.body = _scripted(bytes(response.body), packed)
    del response.headers["Content-Length"]  # a second value would be added to the first
    response.headers["Content-Length"] = str(len(response.body))
    return response


def warn_without_script(viser: Any) -> None:
    """Say it if the page of a version of viser has no place for the script."""
    page = Path(viser.__file__).parent / "client" / "build" / "index.html"
    if not page.is_file() or _PLACE not in page.read_bytes():
        warnings.warn(
            f"the page of viser {viser.__version__} takes no script: files cannot be dropped onto it, and rods that are coloured by a field are white; "
            "install another version of viser, such as 1.1.1.",
            stacklevel=4,
        )
