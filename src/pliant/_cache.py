"""Compiled code on disk: where it is kept, and when it is believed.

Each kernel and signature has one file. Its name carries a digest of its key (all that the code depends on), and it begins
with a digest of key and content: a file that was cut short, damaged or made from other sources is found out before
anything of it is unpickled or run. Files are written beside and renamed, so a reader sees the old one, the new one or
none, whatever other processes do and whenever one of them is killed. Only files of the user, of root and of the owner of
the sources are read, because unpickling runs code.

Nothing here stops a computation. What cannot be read is compiled again; what cannot be written stays in memory, with one
warning. Numba is not needed here: content is bytes.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

__all__ = ["Store", "keep_in_memory"]

T = TypeVar("T")

_ABANDONED = 3600.0  # a file that is still being written after so many seconds belongs to a process that was killed
_ADVICE = "Set the environment variable NUMBA_CACHE_DIR to a directory of your own that can be written to."
_DIGEST = hashlib.sha256().digest_size

_said: set[str] = set()  # what this process has told its user


def keep_in_memory(reason: str, advice: str = "") -> None:
    """Warn, once per process, that compiled code is not kept."""
    if "memory" not in _said:
        _said.add("memory")
        warnings.warn(
            f"pliant's compiled code cannot be kept on disk: {reason}. Everything works, but each new process compiles "
            f"again what it uses, for up to a minute. {advice}".strip(),
            UserWarning,
            stacklevel=2,
        )


def _damaged(reason: str) -> None:
    """Print, once per process, that a file is replaced."""
    if "damaged" not in _said and not os.environ.get("PLIANT_QUIET"):
        _said.add("damaged")
        print(f"pliant: a cached kernel cannot be used and is compiled again ({reason})", file=sys.stderr, flush=True)


def _user_directory() -> Path | None:
    """Where programs keep what they can make again; None for a user without a home."""
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        path = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "pliant" / "Cache"
    elif sys.platform == "darwin":
        path = home / "Library" / "Caches" / "pliant"
    else:
        named = Path(os.environ.get("XDG_CACHE_HOME") or ".")
        path = (named if named.is_absolute() else home / ".cache") / "pliant"
    return path if path.is_absolute() else None  # "~" stays what it is where nobody knows the user


class Store:
    """The files of one function.

    Parameters
    ----------
    source : path
        The file that the function is written in. Its `__pycache__` is the first place, the user's cache the second.
    name : str
        What file names begin with.
    directory : str
        The only place, if given.
    """

    def __init__(self, source: str | Path, name: str, directory: str = "") -> None:
        self._source = Path(os.path.abspath(source))
        self._name = name
        parent = self._source.parent
        label = f"{parent.name}_{hashlib.sha256(str(parent).encode()).hexdigest()[:16]}"
        if directory:
            self.places = [Path(os.path.abspath(directory)) / label]
        else:
            user = _user_directory()
            self.places = [parent / "__pycache__", *([user / label] if user else [])]

    def load(self, key: bytes, rebuild: Callable[[bytes], T]) -> T | None:
        """What `rebuild` makes of the content saved under a key, from the first place that has it undamaged."""
        damage = ""
        for place in self.places:
            path = place / self._file_name(key)
            try:
                content = self._read(path, key)
                if content is not None:
                    return rebuild(content)
            except Exception as error:  # of a rebuild: the content is whole, but numba cannot do with it
                damage = f"{path}: {_reason(error)}"
        if damage:
            _damaged(damage)
        return None

    def save(self, key: bytes, content: bytes) -> None:
        """Write to the first place that accepts it."""
        failures = []
        for place in self.places:
            try:
                return self._write(place / self._file_name(key), key, content)
            except OSError as error:
                failures.append(f"{place}: {_reason(error)}")
        keep_in_memory("; ".join(failures), _ADVICE)

    def _file_name(self, key: bytes) -> str:
        return f"{self._name}.{hashlib.sha256(key).hexdigest()[:16]}.nbc"

    def _trusted(self, status: os.stat_result) -> bool:
        """Whether a file is the work of somebody whose code runs here anyway."""
        return os.name != "posix" or status.st_uid in (os.geteuid(), 0, os.stat(self._source).st_uid)

    def _read(self, path: Path, key: bytes) -> bytes | None:
        """The content, None if there is none for us; raises if it is damaged."""
        try:
            if path.exists() and not path.is_file():  # opening a pipe would wait
                raise ValueError("not a file")
            with open(path, "rb") as file:
                if not self._trusted(os.fstat(file.fileno())):
                    return None
                digest, content = file.read(_DIGEST), file.read()
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None
        if digest != _digest(key, content):
            raise ValueError("damaged")
        return content

    def _write(self, path: Path, key: bytes, content: bytes) -> None:
        """Write beside and rename."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            path.rmdir()
        elif path.exists() and not self._trusted(path.stat()):
            raise PermissionError(f"{path.name} belongs to another user")  # who would replace ours in turn
        beside = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
        try:
            with open(beside, "xb", opener=_open_for_owner) as file:
                file.write(_digest(key, content))
                file.write(content)
            os.replace(beside, path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        self._sweep(path.parent)

    def _sweep(self, place: Path) -> None:
        """Remove what processes that were killed left behind."""
        for path in place.glob(f"{self._name}.*.tmp"):
            try:
                if time.time() - path.stat().st_mtime > _ABANDONED:
                    path.unlink()
            except OSError:
                pass  # another process was faster, or it is not ours to remove


def _open_for_owner(path: str, flags: int) -> int:
    """Whatever the umask allows, only the owner may write, as others would decide what code runs; all may read."""
    return os.open(path, flags, 0o644)


def _digest(key: bytes, content: bytes) -> bytes:
    digest = hashlib.sha256(hashlib.sha256(key).digest())
    digest.update(content)
    return digest.digest()


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
