"""The first two lines of a file of pliant: what it is, and the SHA-256 of what follows. Damage is found before anything is read."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

__all__ = ["Seal", "read_seal", "seal"]


class Seal(NamedTuple):
    """What the first two lines say."""

    number: int  # of the format; 0 if it cannot be read
    digest: str
    length: int  # of the two lines


def seal(kind: str, number: int, content: Any) -> bytes:
    """The two lines before some bytes."""
    return f"pliant {kind} {number}\nsha256 {hashlib.sha256(content).hexdigest()}\n".encode()


def read_seal(head: bytes, kind: str) -> Seal | None:
    """What the first bytes say; None if they begin otherwise."""
    start = f"pliant {kind} ".encode()
    if not head.startswith(start):
        return None
    first, _, rest = head.partition(b"\n")
    second = rest.partition(b"\n")[0]
    number, words = first[len(start) :], second.split()
    digest = words[1].decode("ascii", "replace") if len(words) == 2 and words[0] == b"sha256" else ""
    length = len(first) + len(second) + 2
    return Seal(int(number) if number.isdigit() and len(number) < 6 else 0, digest, length)
