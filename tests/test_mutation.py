"""The tool that puts mistakes into the sources (`make mutants`): what it changes, and what it leaves alone."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "mutation"))

from mutants import Mutant, draw, equivalent, mutants
from rooms import ROOMS

SOURCE = '''"""Text with 1 + 2 < 3."""
from typing import Annotated
LIMIT = 1e-3

def f(x: Annotated[int, 7], k=2):
    """Adds 1 - 2."""
    if x[0] < (k) and not x[1, k] == -1:
        raise ValueError(f"{x[2]} is 3 < 4" + "5")
    x[k] += 2 * x[k]
    return x
'''


def lines(found: list[Mutant]) -> set[tuple[str, str, str]]:
    return {(mutant.kind, mutant.old, mutant.new) for mutant in found}


def test_every_kind_of_mistake_is_found_and_nothing_else() -> None:
    found = lines(mutants(SOURCE))
    assert {
        ("comparison", "<", "<="), ("comparison", "and", "or"), ("comparison", "==", "!="), ("comparison", "not", "True and"), ("sign", "-", "+"),
        ("index", "0", "1"), ("index", "1, k", "k, 1"), ("index", "k", "k + 1"), ("arithmetic", "+=", "-="), ("arithmetic", "*", "/"),
        ("constant", "2", "3"), ("constant", "1e-3", "0.002"),
    } <= found  # fmt: skip
    assert all(mutant.begin[0] not in (1, 2, 6, 8) for mutant in mutants(SOURCE))  # text, imports, what is raised
    assert not any(mutant.old == "7" for mutant in mutants(SOURCE))  # annotations


@pytest.mark.parametrize("room", ROOMS)
def test_mutants_of_the_package_differ_by_one_line_and_can_be_read(room: str) -> None:
    folder = Path(__file__).parents[1] / "src/pliant" / ROOMS[room].folder
    paths = sorted(folder.rglob("*.py"))[::5]
    sources = {room: {str(path): path.read_text(encoding="utf-8") for path in paths}}
    chosen = list(draw(sources, 10, 3))
    assert chosen == list(draw(sources, 10, 3))
    for _room, path, mutant in chosen:
        source, changed = sources[room][path], mutant.apply(sources[room][path])
        ast.parse(changed)
        assert sum(a != b for a, b in zip(source.splitlines(), changed.splitlines())) == 1
        assert not equivalent(source, changed)


def test_what_compiles_to_the_same_code_is_no_mistake() -> None:
    assert equivalent("x = 2 + 3", "x = 6 - 1")
    assert equivalent("def f():\n    '''One.'''\n", "def f():\n    '''Two.'''\n")
    assert not equivalent("x = y + 3", "x = y - 3")


def test_tests_of_all_rooms_exist() -> None:
    names = {path.name for path in Path(__file__).parent.glob("test_*.py")}
    for room in ROOMS.values():
        for test in [*room.tests, *(test for tests in room.near.values() for test in tests)]:
            file, _, name = test.partition("::")
            assert file in names
            assert not name or f"def {name}(" in Path(__file__).with_name(file).read_text(encoding="utf-8")
