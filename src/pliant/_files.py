"""The one way in which pliant writes files: beside the target, then in its place, so that no failure costs what was there."""

from __future__ import annotations

import ctypes
import glob
import os
import platform
import secrets
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["check_target", "part_of", "remove_parts", "replacing", "sync_disk", "sync_folder", "write_file"]

_HOST = f"{zlib.crc32(platform.node().encode()):08x}"  # processes of other machines may write to the same folder


def check_target(path: str | os.PathLike[str], *, field: str = "path", attempt: bool = False) -> Path:
    """Return `path` as a Path; error unless a file can be written there.

    Parameters
    ----------
    path : path
    field : str
        What it is called in errors.
    attempt : bool
        Also make a file in its folder and remove it: permissions do not tell all (read-only disks, containers).
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{field} = {path!r} must be the path of a file.")
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.is_dir():
        raise IsADirectoryError(f"{field} = {str(path)!r} is a folder; name a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{field} = {str(path)!r}: there is no folder {str(target.parent)!r}; make it first.")
    if attempt and not _special(target):
        part = part_of(target)
        try:
            part.touch()
        except OSError as error:
            text = f"{field} = {str(path)!r}: no file can be written to {str(target.parent)!r} ({error.strerror})."
            raise OSError(error.errno, text) from None
        finally:
            part.unlink(missing_ok=True)
    return target


@contextmanager
def replacing(path: str | os.PathLike[str], *, field: str = "path") -> Iterator[Path]:
    """Within the block, write to the path that it gives; afterwards that file takes the place of `path` at once.

    Whatever happens before (an exception, Ctrl-C, a full disk, a kill, a power cut), `path` holds what it held. The file is on
    the disk when the block is left. What killed processes left behind is removed by the next one that writes there.
    """
    target = check_target(path, field=field)
    if _special(target):  # a device or a pipe is written to, not replaced
        yield target
        return
    remove_parts(target)
    part = part_of(target)
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, part)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(target.parent)


def write_file(path: str | os.PathLike[str], content: str | bytes | memoryview, *, field: str = "path") -> Path:
    """Write a whole file, or leave what was there. Text is written as UTF-8."""
    with replacing(path, field=field) as part:
        part.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return Path(path)


def _special(target: Path) -> bool:
    return target.exists() and not target.is_file()


def part_of(target: Path) -> Path:
    """A hidden name beside the target, with its ending (by which writers choose a format)."""
    return target.with_name(f".{target.stem[:40]}.{_HOST}-{os.getpid()}-{secrets.token_hex(3)}.part{target.suffix}")


def remove_parts(target: Path) -> None:
    """Remove what processes of this machine that are no more left beside the target."""
    if os.name != "posix":  # elsewhere there is no harmless way to ask for a process
        return
    for name in glob.glob(
        f".{glob.escape(target.stem[:40])}.{_HOST}-*.part{glob.escape(target.suffix)}", root_dir=target.parent
    ):
        number = name.rsplit(f".{_HOST}-", 1)[1].split("-")[0]
        if number.isdigit() and not _alive(int(number)):
            left = target.parent / name
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left, ignore_errors=True)
                continue
            with suppress(OSError):
                left.unlink()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def sync_folder(folder: Path) -> None:
    """Put the new name on the disk, where folders can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sync_disk(folder: Path) -> None:
    """Put all that was written to the disk of a folder on it: for many files at once, which would take long one by one."""
    if os.name != "posix":
        return
    try:
        syncfs = ctypes.CDLL(None).syncfs  # of Linux; `os.sync` also waits for other disks
    except (AttributeError, OSError):
        os.sync()
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        syncfs(handle)
    finally:
        os.close(handle)
