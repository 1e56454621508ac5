"""One writer at a time: a lock on a path that ends with its process, whatever ends that."""

from __future__ import annotations

import errno
import os
import platform
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["Lock", "LockedError"]

_HELD: dict[
    str, int
] = {}  # paths that threads of this process hold, and the process itself: a fork does not inherit them
_GUARD = threading.Lock()
_ABSENT = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOLCK)  # of file systems without locks


class LockedError(OSError):
    """Somebody else holds the lock."""


class Lock:
    """Holds `path` for this thread until `release`; error if another thread or process holds it.

    Notes
    -----
    A file ``.name.lock`` beside the path is locked by the operating system, which unlocks it when the process ends, also when it is killed; so
    a file that is left behind does no harm, and goes with the next writer. The lock belongs to the process and is not inherited by those that
    it forks. Where the file system knows no locks, threads of one process are still told.
    """

    def __init__(self, path: Path, *, field: str) -> None:
        target = Path(os.path.realpath(path))
        self._key, self._file = str(target), target.with_name(f".{target.name[:200]}.lock")
        with _GUARD:
            if _HELD.get(self._key) == os.getpid():
                raise LockedError(_taken(field, path, "another thread of this program"))
            _HELD[self._key] = os.getpid()
        try:
            self._handle = self._taken(path, field)
        except BaseException:
            self._forget()
            raise

    def _taken(self, path: Path, field: str) -> int:
        while True:
            handle = os.open(
                self._file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0), 0o666
            )
            try:
                _lock(handle)
            except OSError as error:
                if error.errno in _ABSENT:
                    return handle
                try:
                    holder = os.pread(handle, 200, 0).decode(errors="replace").strip() if os.name == "posix" else ""
                finally:
                    os.close(handle)
                raise LockedError(_taken(field, path, holder or "another program")) from None
            if _same(handle, self._file):  # else the holder before removed it in between
                os.ftruncate(handle, 0)
                os.write(handle, f"process {os.getpid()} on {platform.node()}\n".encode())
                return handle
            os.close(handle)

    def release(self) -> None:
        """Let others write; nothing the second time."""
        if self._handle >= 0:
            handle, self._handle = self._handle, -1
            if os.name == "posix":
                with suppress(OSError):
                    self._file.unlink()
            os.close(handle)
            if os.name != "posix":  # an open file cannot be removed there
                with suppress(OSError):
                    self._file.unlink()
            self._forget()

    def _forget(self) -> None:
        with _GUARD:
            _HELD.pop(self._key, None)

    def __enter__(self) -> Lock:
        """Held."""
        return self

    def __exit__(self, *_: Any) -> None:
        """Released."""
        self.release()


def _taken(field: str, path: Path, holder: str) -> str:
    return f"{field} = {str(path)!r} is being written by {holder}. Wait until that is done, or choose another name."


def _same(handle: int, path: Path) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except OSError:
        return False


def _lock(handle: int) -> None:
    if os.name == "posix":
        import fcntl

        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    import msvcrt

    module: Any = msvcrt
    module.locking(handle, module.LK_NBLCK, 1)
