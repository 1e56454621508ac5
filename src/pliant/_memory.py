"""How much memory is free, and sizes as text."""

from __future__ import annotations

__all__ = ["byte_text", "free_memory"]


def byte_text(size: float) -> str:
    """A number of bytes as text."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.4g} TB"


def free_memory() -> float:
    """Bytes that a program may take without pushing out others."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return 1024.0 * next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return 4e9
