"""Looks at mesh files that libraries open, before they do: what is small and would become large, or is no plain XML, is refused."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from xml.etree import ElementTree

from ..reading import check_xml

__all__ = ["check_3mf", "check_collada"]

_ELEMENTS = 5_000_000
_INSTANCES = 10_000


def check_collada(data: bytes, most: int) -> None:
    """Of a .dae file: XML without entities, and not too many copies of its parts."""
    check_xml(data, "COLLADA", elements=_ELEMENTS)
    inner: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}

    def walk(element: ElementTree.Element, above: str) -> None:
        """Which nodes and geometries each node holds, also by their names, and how many characters a geometry has."""
        for k, child in enumerate(element):
            tag, own = child.tag.rpartition("}")[2], above
            if tag == "geometry":
                sizes[child.get("id", "")] = sum(len(part.text or "") for part in child.iter())
            elif tag in ("node", "visual_scene"):
                own = child.get("id") or f"{above}/{k}"
                inner.setdefault(above, []).append(own)
            elif tag.startswith("instance_"):
                inner.setdefault(above, []).append(child.get("url", "").lstrip("#"))
            walk(child, own)

    walk(ElementTree.fromstring(data), "")
    _check_copies(inner, sizes, most)


def check_3mf(data: bytes, most: int) -> None:
    """Of a .3mf file: what is packed, and how often its objects are used."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError) as error:
        raise ValueError(f"it is no archive: {error}.") from None
    with archive:
        size = sum(entry.file_size for entry in archive.infolist())
        if size > most:
            raise ValueError(f"it unpacks to {size} bytes; at most {most} are read.")
        inner: dict[str, list[str]] = {}
        sizes: dict[str, int] = {}
        for entry in archive.infolist():
            if not entry.filename.lower().endswith((".model", ".rels", ".xml")):
                continue
            with archive.open(entry) as file:
                content = file.read(entry.file_size + 1)
            if len(content) > entry.file_size:
                raise ValueError(f"{entry.filename!r} is larger than it says.")
            if not entry.filename.lower().endswith(".model"):
                continue
            check_xml(content, "model", elements=_ELEMENTS)
            for element in ElementTree.fromstring(content).iter():
                if element.tag.rpartition("}")[2] == "object":
                    used = [
                        part.get("objectid", "")
                        for part in element.iter()
                        if part.tag.rpartition("}")[2] == "component"
                    ]
                    inner.setdefault(element.get("id", ""), []).extend(used)
                elif element.tag.rpartition("}")[2] == "item":
                    inner.setdefault("", []).append(element.get("objectid", ""))
        _check_copies(inner, sizes, most)


def _check_copies(inner: Mapping[str, Iterable[str]], sizes: Mapping[str, int], most: int) -> None:
    """Error if parts hold themselves, or each other so often that there are too many of them, or too large ones altogether."""
    counts: dict[str, int] = {}
    totals: dict[str, int] = {}
    stack, open_ = [(name, False) for name in inner], set[str]()
    while stack:
        name, done = stack.pop()
        if done:
            open_.discard(name)
            counts[name] = 1 + sum(counts.get(child, 1) for child in inner.get(name, ()))
            totals[name] = sizes.get(name, 0) + sum(
                totals.get(child, sizes.get(child, 0)) for child in inner.get(name, ())
            )
            if counts[name] > _INSTANCES or totals[name] > most:
                raise ValueError("it has too many copies of its parts.")
        elif name not in counts:
            if name in open_:
                raise ValueError(f"its part {name!r} holds itself.")
            open_.add(name)
            stack.append((name, True))
            for child in inner.get(name, ()):
                if child in open_:
                    raise ValueError(f"its part {child!r} holds itself.")
                if child not in counts and child in inner:
                    stack.append((child, False))
