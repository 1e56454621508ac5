"""Compile and keep on disk what the tests use, once, before many processes would each compile it for themselves.

`conftest.py` runs this before a parallel run; from a warm cache it takes a few seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def kernels() -> None:
    """Every kernel and unit for real numbers, in one process: the longest, so it comes first."""
    from pliant._parts import compile_all

    compile_all()


def native() -> None:
    """The wheel with machine code, for the tests of it."""
    import native_wheel

    if not native_wheel.why_not():
        native_wheel.wheel()


def oracle() -> None:
    """Kernels for complex numbers, and those of the tests."""
    import numpy as np

    import test_dynamics
    import test_matrices
    import test_program
    from load_robots import branched, complex_forces, moved, state
    from pliant.kernels.recursion.matrices import CORIOLIS
    from robots import complex_step

    system = branched().compile()
    q, v, a = state(system)
    complex_forces(system, moved(system, q, 1j * v), v, a, np.zeros(system.nu))
    complex_step(system, q, v, a)
    test_matrices.complex_composite(system, CORIOLIS, q, v)
    test_dynamics.kane(test_dynamics.Case(system, q, v, a))
    test_program.test_a_program_travels_with_other_tables()


def rest() -> None:
    """What a small robot that is asked everything needs beside."""
    import pliant as pl
    import test_interpreted

    test_interpreted.compute()
    robot = pl.Robot("motor")
    hinge = robot.add_body("arm", joint=pl.Revolute("y"), shape=pl.Box(0.2, 0.02, 0.02), mass=0.1, com=(0.1, 0, 0))
    robot.add_motor("motor", hinge)
    pl.simulate(robot.compile(), 1e-2, u={"motor": pl.Expression("sin(t)")}, output=1e-3)


def loaded() -> None:
    """The forces of every family for complex numbers."""
    import numpy as np

    from law_robots import complex_laws, lawful, task_memory
    from load_robots import complex_forces, state
    from test_interpreted import loaded_robot

    system = loaded_robot().compile()
    complex_forces(system, *state(system), np.ones(system.nu))
    laws = lawful().compile()
    q, v, a = state(laws)
    complex_laws(laws, q, v, a, np.ones(laws.nu), np.zeros(laws.nz), 0.0)
    task_memory(laws, q, v, np.ones(laws.nu), np.zeros(laws.nz), 0.0)
    laws.elastic_tangent(q)


FIRST, LAST = (kernels, oracle, native), (rest, loaded)  # the last need what the first compile


def warm(names: list[str]) -> None:
    """Run some jobs in processes of their own, as many at a time as there are processors."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda name: subprocess.run([sys.executable, __file__, name], check=False), names))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    if sys.argv[1:]:
        globals()[sys.argv[1]]()
    else:
        for jobs in (FIRST, LAST):
            warm([job.__name__ for job in jobs])
