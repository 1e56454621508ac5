"""Which tests are likely to catch a mistake in which file, by room of the package.

Kernels are run as plain Python (``NUMBA_DISABLE_JIT=1``): a mutant of one would have most of the engine compiled again, minutes against
seconds. So the tests of kernels are those that are quick without compilation. The other rooms run on compiled kernels, which a mutant of them does not touch.

Tests are files of ``tests``, or ``file::test``; they run in this order, until one fails.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatch


@dataclass(frozen=True)
class Room:
    """A part of the package whose mutants are counted together.

    Attributes
    ----------
    folder : str
        Below ``src/pliant``.
    interpreted : bool
        Whether its tests run without compilation.
    tests : tuple of str
        For all of its files, after those of `near`.
    near : dict
        Tests by pattern of the path below the folder: these first.
    """

    folder: str
    interpreted: bool
    tests: tuple[str, ...]
    near: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def tests_of(self, path: str) -> list[str]:
        """The tests of a file, by its path below the folder."""
        first = [test for pattern, tests in self.near.items() if fnmatch(path, pattern) for test in tests]
        return list(dict.fromkeys([*first, *self.tests]))


def files(*names: str) -> tuple[str, ...]:
    """Files of tests by their short names."""
    return tuple(name if "::" in name else f"test_{name}.py" for name in names)


ROOMS: dict[str, Room] = {}
