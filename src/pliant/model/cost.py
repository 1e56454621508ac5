"""What a description costs once it is compiled, so that absurd sizes are refused before anything is allocated."""

from __future__ import annotations

from .validate import bounded, shown

__all__ = [
    "FUNCTIONS",
    "PIECES",
    "POINTS",
    "SAMPLES",
    "check_functions",
    "check_pieces",
    "check_robot",
    "check_rod",
    "memory",
]

FUNCTIONS = 1000  # of one strain
PIECES = 1000  # elements, jumps, kinks, points of a tendon
SAMPLES = 10_000  # of a table
POINTS = 20_000  # along one rod
_MEMORY = 2 * 10**9  # bytes, for one rod
_COORDINATES = 20_000  # of a robot: a matrix of 3 GB


def memory(count: float) -> str:
    """Bytes in a readable unit; whole numbers of any size."""
    if count > 10**18:
        return "more than a million TB"
    power = max((k for k in range(1, 5) if count >= 1000.0**k), default=1)
    return f"{count / 1000.0**power:.3g} {('kB', 'MB', 'GB', 'TB')[power - 1]}"


def check_functions(field: str, count: int) -> int:
    """Return the number of functions of a strain; error if there are too many."""
    cost = (
        f"Each function is a coordinate, and one matrix of so many coordinates takes {memory(8 * count * count)}. A smooth "
        "strain needs few: use a lower order, or several rods."
    )
    return bounded(field, count, FUNCTIONS, cost)


def check_pieces(field: str, count: int, most: int = PIECES) -> int:
    """Return a number of pieces; error if there are too many."""
    return bounded(
        f"{field}: the number of entries", count, most, "Each one adds computational points, and time, to the rod."
    )


def check_rod(points: int, elements: int, degree: int, size: int) -> None:
    """Error if a rod is too large: points in each element, number of elements, degree and number of strain functions."""
    total = points * elements
    at = f"points = {shown(points)} in each of {elements} elements" if elements > 1 else f"points = {shown(points)}"
    if total > POINTS:
        raise ValueError(
            f"{at} is not allowed: at most {POINTS} along a rod, or it would take {memory(2000 * total)} and minutes to "
            "compile. Leave points out for the default, 2·order + 2 for each element."
        )
    needed = 16 * total * (degree // 2 + 2) * size
    if needed > _MEMORY:
        raise ValueError(
            f"strains with {size} coordinates of degree {degree} and {at} would take {memory(needed)} to compile; at most "
            f"{memory(_MEMORY)} are allowed. Lower the order or the points, or use several rods."
        )


def check_robot(nv: int) -> None:
    """Error if a robot has too many coordinates."""
    if nv > _COORDINATES:
        raise ValueError(
            f"the robot has {nv} degrees of freedom, which is not allowed: at most {_COORDINATES}. One matrix of them takes "
            f"{memory(8 * nv * nv)}. Use fewer links, or lower orders."
        )
