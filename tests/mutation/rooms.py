"""Which tests are likely to catch a mistake in which file, by room of the package.

Most kernels are run as plain Python (``NUMBA_DISABLE_JIT=1``), by tests that are quick without compilation: a mutant of one would have most of the engine compiled again. Steps and
their adjoints are not: there one and a half minutes of compilation are less than what motions take as plain Python. The other rooms run on compiled kernels, which a mutant of them does
not touch.

Tests are files of ``tests``, or ``file::test``; they run in this order, until one fails. Beside those that are named here, a mutant of Python is tried by the files
that speak most of what its file defines.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SLOW = ("test_examples.py", "test_docs.py", "test_soak.py", "test_soak_invariants.py", "test_native.py", "test_architecture.py", "test_typing.py", "test_cli.py")  # fmt: skip
MENTIONING = 3  # files of tests that are added at most


@cache
def _words(path: Path) -> frozenset[str]:
    """Names that a file of tests has in its code or text."""
    return frozenset(re.findall(r"[A-Za-z_]\w+", path.read_text(encoding="utf-8")))


def mentioning(source: str) -> list[str]:
    """The files of tests that mention most of the names that a source defines; names that all use count little."""
    nodes = [x for x in ast.walk(ast.parse(source)) if isinstance(x, (ast.FunctionDef, ast.ClassDef))]
    names = {node.name for node in nodes if not node.name.startswith("_")}
    score: dict[str, float] = {}
    files = [path for path in sorted(TESTS.glob("test_*.py")) if path.name not in SLOW]
    for name in names:
        users = [path.name for path in files if name in _words(path)]
        for user in users:
            score[user] = score.get(user, 0.0) + 1.0 / len(users)
    return sorted(score, key=lambda user: -score[user])[:MENTIONING]


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

    def tests_of(self, path: str, source: str) -> list[str]:
        """The tests of a file, by its path below the folder and its text."""
        first = [test for pattern, tests in self.near.items() if fnmatch(path, pattern) for test in tests]
        more = [] if self.folder.startswith("kernels") else mentioning(source)  # whose names stand in no test
        return list(dict.fromkeys([*first, *more, *self.tests]))


def files(*names: str) -> tuple[str, ...]:
    """Files of tests by their short names."""
    parts = [name.partition("::") for name in names]
    return tuple(f"test_{file}.py{colons}{test}" for file, colons, test in parts)


ROOMS: dict[str, Room] = {
    "algebra": Room(
        "kernels/algebra",
        True,
        files("strains", "tendons", "dynamics::test_derivatives_by_complex_step"),
        {
            "exponential.py": files("lie"),
            "pullback.py": files("dynamics::test_derivatives_by_complex_step"),
            "hermite.py": files("stepper"),
            "linear.py": files("articulated"),
        },
    ),
    "recursion": Room(
        "kernels/recursion",
        True,
        files(
            "dynamics::test_derivatives_by_complex_step",
            "dynamics::test_fused_tangent",
            "dynamics::test_mass_matrix_by_three_routes",
        ),
        {
            "spectral.py": files("spectral"),
            "matrices.py": files("matrices"),
            "composite.py": files("matrices"),
            "kinematics.py": files("kinematics"),
            "forward.py": files("articulated"),
        },
    ),
    "loads": Room(
        "kernels/loads",
        True,
        files("loads::test_derivatives_are_exact"),
        {
            "cables.py": files("tendons"),
            "tendons.py": files("tendons"),
            "contact*.py": files(
                "contacts", "body_contact::test_tangents_by_complex_step", "body_contact::test_tangents_with_surfaces"
            ),
            "together.py": files("contacts", "body_contact"),
            "edges.py": files(
                "body_contact::test_tangents_by_complex_step", "body_contact::test_crossed_beams_rest_on_their_edges"
            ),
            "ellipsoids.py": files("shapes", "surfaces", "contacts"),
            "meshes.py": files("surfaces", "shapes", "contacts"),
            "shapes.py": files("contacts", "shapes"),
            "surfaces.py": files("surfaces", "contacts"),
            "bearings.py": files(
                "bearings::test_derivatives_are_exact", "bearings::test_springs_of_any_characteristic"
            ),
            "bristles.py": files("bearings::test_derivatives_are_exact", "contacts"),
            "loops.py": files(
                "loop_joints::test_forces_have_exact_derivatives", "loops::test_values_rates_and_accelerations"
            ),
            "rows.py": files("loops", "loop_joints::test_rates_accelerations_and_their_derivatives"),
            "gas.py": files("gas::test_derivatives_by_complex_step", "gas::test_boyles_law_in_statics"),
            "magnets.py": files("magnetics"),
            "fields.py": files("magnetics"),
            "tubes.py": files("tubes"),
            "law*.py": files("laws"),
            "materials.py": files("laws"),
            "water.py": files("streams", "fluid"),
            "streams.py": files("streams"),
            "wrenches.py": files("wrenches"),
        },
    ),
    "steps": Room(
        "kernels/solve",
        False,
        files("rollout", "prescribed", "integrators", "stepper"),
        {
            "articulated.py": files("articulated"),
            "fronts.py": files("articulated"),
            "factors.py": files("articulated"),
            "statics.py": files("loops", "contact_statics"),
            "stiffness.py": files("stiffness"),
            "linearised.py": files("loops"),
            "constraints.py": files("loops", "redundant"),
            "many.py": files("batch"),
            "alpha.py": files("integrators", "simulate"),
        },
    ),
    "reverse": Room("kernels/reverse", False, files("table_gradient", "rollout", "gradients"), {}),
    "solve": Room(
        "solve",
        False,
        files("simulate", "inputs", "failed_steps", "refusals_solve"),
        {
            "methods/*.py": files("integrators", "stepper"),
            "control/*.py": files("controllers", "controllers_named"),
            "statics.py": files("stiffness", "contact_statics"),
            "stability.py": files("stiffness"),
            "branch.py": files("continuation"),
            "path_*.py": files("continuation", "continuation_loops"),
            "continuation.py": files("continuation"),
            "mounting.py": files("loops", "loop_joints"),
            "closure.py": files("loops", "redundant"),
            "crush.py": files("safety", "stiffness"),
            "energy_watch.py": files("energy_watch"),
            "result.py": files("result", "files_hostile"),
            "storage.py": files("result", "files_hostile"),
            "checkpoint.py": files("simulate"),
            "resolution.py": files("resolution"),
            "motion.py": files("prescribed"),
            "drive.py": files("prescribed", "inputs"),
            "interpolate.py": files("integrators"),
        },
    ),
    "system": Room(
        "system",
        False,
        files("kinematics", "dynamics", "answers", "refusals_model"),
        {
            "contacts.py": files("contacts", "contact_physics"),
            "gas.py": files("gas", "answers"),
            "magnetics.py": files("magnetics"),
            "reactions.py": files("reactions"),
            "laws.py": files("laws", "law_answers"),
            "spatial.py": files("matrices"),
            "tables.py": files("table_gradient"),
            "many.py": files("batch"),
            "placing.py": files("placing"),
            "workspace.py": files("threads"),
            "energy.py": files("law_answers"),
        },
    ),
    "compile": Room(
        "compile",
        False,
        files("loads", "dynamics", "parameters", "golden"),
        {
            "families/tendons.py": files("tendons", "routing"),
            "families/contact.py": files("contacts", "contact_physics"),
            "families/gas.py": files("gas"),
            "families/loops.py": files("loops", "loop_joints"),
            "families/magnets.py": files("magnetics"),
            "families/bearings.py": files("bearings"),
            "families/laws.py": files("laws", "law_answers"),
            "families/tubes.py": files("tubes"),
            "families/streams.py": files("streams"),
            "families/water.py": files("streams", "water_physics"),
            "families/wrenches.py": files("wrenches", "wrench_physics"),
            "families/efforts.py": files("actuation_physics"),
            "families/user.py": files("user_loads"),
            "places.py": files("wrenches", "wrench_physics", "streams", "body_contact", "tendons", "magnetics"),
            "touching.py": files("contacts", "body_contact", "collisions"),
            "surfaces.py": files("surfaces", "body_contact"),
            "elimination.py": files("articulated"),
            "resolution.py": files("resolution", "quadrature"),
            "rods.py": files("strains", "quadrature"),
            "revise.py": files("parameters"),
        },
    ),
    "gradients": Room(
        "gradients",
        False,
        files("costs", "rollout", "gradients"),
        {
            "statics.py": files("inverse_statics", "stiffness"),
            "memory.py": files("gradients_memory", "law_gradients"),
            "remembered.py": files("gradients_memory"),
            "parameters.py": files("parameters", "table_gradient"),
            "tangent.py": files("table_gradient"),
        },
    ),
}
"""Rooms by name."""
