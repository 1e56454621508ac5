"""Motions on which time integrators are judged: robots, inputs, durations, and what to look at.

Each function of `PROBLEMS` returns a `Problem`. `simulate` runs one, `reference` gives its converged motion, computed once and
kept in ``build/references``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline

import pliant as pl
from pliant.solve.identity import digest
from pliant.solve.methods import MARCHING
from pliant.solve.result import Statistics

HOME = Path(__file__).parent.parent
ROBOTS = HOME / "tests" / "data" / "robots"
KEPT = HOME / "build" / "references"
ROWS = 2000  # intervals of a reference


@dataclass(frozen=True)
class Problem:
    """A robot in motion.

    Attributes
    ----------
    title : str
    system : System
    options : dict
        Keyword arguments of `pliant.simulate`.
    duration : float
        Simulated time [s].
    frames : tuple of str
        Whose positions are compared.
    length : float
        What errors of position are relative to [m].
    passive : bool
        Whether kinetic, gravitational and elastic energy together may only fall.
    exact : tuple
        Method and tolerance of the reference.
    breaks : tuple of float
        Times [s] where inputs jump.
    told : bool
        Whether integrators learn of them; the reference always does.
    """

    title: str
    system: pl.System
    options: dict[str, Any]
    duration: float
    frames: tuple[str, ...]
    length: float
    passive: bool = False
    exact: tuple[str, float] = ("radau", 1e-9)
    breaks: tuple[float, ...] = ()
    told: bool = True


@cache
def example(name: str) -> ModuleType:
    """A file of the examples as a module."""
    spec = importlib.util.spec_from_file_location(name, HOME / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- rods that swing


def beam(strains: pl.Strains, title: str) -> Problem:
    """A rubber beam of 1 m, clamped level and let go; the one of other programs' tutorials."""
    robot = pl.Robot("beam")
    rubber = pl.Material(young=1e6, shear_modulus=3.3e5, density=1000, viscosity=1e3)
    robot.add_rod("rod", length=1.0, section=pl.Circle(0.05), material=rubber, strains=strains)
    return Problem(title, robot.compile(), {}, 2.0, ("rod.tip",), 1.0, passive=True)


def planar_beam() -> Problem:
    return beam(pl.Strains.planar_bending(4, axis="y"), "beam, planar, 2 s")


def spatial_beam() -> Problem:
    return beam(pl.Strains.reissner(3), "beam, six strains, 2 s")


def cantilever() -> Problem:
    """The soft cantilever of [000] Table I: bent, released, undamped."""
    system = example("cantilever_swing").build("soft")
    start = pl.solve_statics(system, {"pull": 1.0}).q
    return Problem(
        "undamped cantilever, 10 s", system, {"start": start}, 10.0, ("rod.tip",), 10.0, passive=True,
        exact=("dop853", 1e-10),
    )  # fmt: skip


def flying_rod() -> Problem:
    """The soft flying rod of [000] Table I, while it is kicked."""
    module = example("flying_rods")
    return Problem(
        "flying rod, 5 s", module.soft(), {"u": module.kick}, 5.0, ("rod.base", "rod.tip"), 10.0, exact=("dop853", 1e-10),
        breaks=(2.5,), told=False,
    )  # fmt: skip


def segment() -> Problem:
    """One very soft segment of constant strain, level, falling."""
    robot = pl.Robot("segment")
    damping = [3e-4 * x for x in (1, 1, 1, 1e3, 1e3, 1e3)]
    area, second = np.pi * 0.02**2, np.pi / 4 * 0.02**4
    robot.add_rod(
        "rod", length=0.1, strains=pl.Strains.constant(), damping=damping,
        stiffness=[1e3 * 2 * second, 2e3 * second, 2e3 * second, 2e3 * area, 1e3 * area, 1e3 * area],
        inertia=[1070 * x for x in (2 * second, second, second, area, area, area)],
    )  # fmt: skip
    return Problem("constant strain, 3 s", robot.compile(), {}, 3.0, ("rod.tip",), 0.1, passive=True)


def rod_of(young: float) -> Problem:
    """A thin rod of any modulus, with a body at its tip, let go; damping over a hundredth of a second."""
    robot = pl.Robot(f"rod of {young:g} Pa")
    material = pl.Material(young=young, poisson=0.3, density=1000, damping_time=0.01)
    rod = robot.add_rod(
        "rod", length=0.3, section=pl.Circle(0.01), material=material, strains=pl.Strains(torsion=1, bending=3)
    )
    robot.add_body("tip", parent=rod.tip, offset=(0, 0.01, 0), shape=pl.Sphere(0.01), mass=0.01)
    return Problem(f"rod, E = {young:g} Pa, 1 s", robot.compile(), {}, 1.0, ("tip",), 0.3, passive=True)


def rod_sized(length: float, young: float, duration: float) -> Problem:
    """A slender rod of any size, bent by a force at its tip and released."""
    robot = pl.Robot(f"rod of {length:g} m")
    radius = length / 25
    material = pl.Material(young=young, poisson=0.4, density=1000, damping_time=1e-3 * duration)
    rod = robot.add_rod(
        "rod",
        length=length,
        section=pl.Circle(radius),
        material=material,
        strains=pl.Strains.reissner(3, linear_order=1),
    )
    bending = young * np.pi / 4 * radius**4 / length**2
    robot.add_wrench("pull", rod.tip, force=(0, 2 * bending, bending), moment=(0.5 * bending * length, 0, 0))
    system = robot.compile()
    start = pl.solve_statics(system, {"pull": 1.0}).q
    title = f"rod of {1e3 * length:g} mm" if length < 0.1 else f"rod of {length:g} m"
    return Problem(f"{title}, {duration:g} s", system, {"start": start}, duration, ("rod.tip",), length, passive=True)


def stiff_rod() -> Problem:
    """A steel rod, damped so much that nothing swings, with 50 g at its tip, let go."""
    robot = pl.Robot("stiff rod")
    steel = pl.Material(young=2e11, poisson=0.3, density=7800, viscosity=2e9)
    rod = robot.add_rod(
        "rod", length=0.5, section=pl.Circle(0.01), material=steel, strains=pl.Strains.planar_bending(3, axis="y")
    )
    robot.add_body("tip", parent=rod.tip, shape=pl.Sphere(0.01), mass=0.05)
    return Problem("stiff damped rod, 1 s", robot.compile(), {}, 1.0, ("tip",), 0.5, passive=True)


def root_moment(run: pl.Result) -> np.ndarray:
    """Elastic and viscous moment at the root of the stiff rod over time [N m]."""
    second = np.pi / 4 * 0.01**4
    system = run.system
    rest = system.strain("rod", system.neutral(), [0.0])[0, 1]
    bending = np.array([system.strain("rod", q, [0.0])[0, 1] for q in run.q]) - rest
    rate = np.array([system.strain("rod", v, [0.0])[0, 1] for v in run.v]) - rest
    return np.abs(second * (2e11 * bending + 3 * 2e9 * rate))


# ---------------------------------------------------------------- chains


def chain() -> Problem:
    """Sixteen rods of nine degrees of freedom in a row, let go."""
    robot = pl.Robot("16 rods")
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e3)
    parent = None
    for k in range(16):
        parent = robot.add_rod(
            f"rod{k}", parent=parent, length=0.3, section=pl.Circle(0.02), material=rubber,
            strains=pl.Strains.kirchhoff(2),
        )  # fmt: skip
    frames = ("rod7.tip", "rod15.tip")
    return Problem("16 rods, 1 s", robot.compile(), {}, 1.0, frames, 4.8, passive=True, exact=("radau", 1e-7))


def articulated() -> Problem:
    """Thirty-two rigid bodies on damped hinges, let go."""
    robot, parent = pl.Robot("32 bodies"), None
    for k in range(32):
        parent = robot.add_body(
            f"body{k}", parent=parent, joint=pl.Revolute("yz"[k % 2], stiffness=0.5, damping=0.02),
            offset=(0.1 if k else 0.0, 0, 0), shape=pl.Box(0.1, 0.02, 0.02), com=(0.05, 0, 0), density=1000.0,
        )  # fmt: skip
    frames = ("body15", "body31")
    return Problem(
        "32 bodies on hinges, 1 s", robot.compile(), {}, 1.0, frames, 3.2, passive=True, exact=("radau", 1e-8)
    )


# ---------------------------------------------------------------- driven robots


def manipulator() -> Problem:
    """The cable-driven manipulator of [002] with smooth tensions."""
    module = example("cable_driven_manipulator")
    system = module.build()
    options = {"u": module.tensions, "start": pl.solve_statics(system).q}
    return Problem("manipulator, 10 s", system, options, 10.0, ("arm.tip",), 0.5)


JUMPS = ((0.0, {}), (0.4, {"cable1": 30.0}), (0.9, {"cable1": 30.0, "cable4": 25.0}), (1.4, {"cable2": 20.0}))


def jumping(t: float) -> dict[str, float]:
    """Tensions that jump three times."""
    return next(u for begin, u in reversed(JUMPS) if t >= begin)


def jumps(told: bool) -> Problem:
    """The manipulator with tensions that jump, which integrators are told or have to find."""
    system = example("cable_driven_manipulator").build()
    options = {"u": jumping, "start": pl.solve_statics(system).q}
    title = f"manipulator, 3 jumps {'told' if told else 'not told'}, 2 s"
    breaks = tuple(t for t, _u in JUMPS[1:])
    return Problem(title, system, options, 2.0, ("arm.tip",), 0.5, breaks=breaks, told=told)


def pipe() -> Problem:
    """The manipulator in a pipe, [002] section 6.2: contact."""
    module = example("manipulator_in_pipe")
    system = module.build()
    options = {"u": module.tensions, "start": pl.solve_statics(system).q}
    return Problem("manipulator in a pipe, 10 s", system, options, 10.0, ("arm.tip",), 0.5, exact=("radau", 1e-8))


def parallel() -> Problem:
    """The hybrid parallel robot of [002] section 6.1: closed loops."""
    module = example("hybrid_parallel_robot")
    system = module.build()
    options = {"u": module.wrench, "start": pl.solve_statics(system).q}
    frames = ("corner1", "corner2", "corner3")
    return Problem("parallel robot, loops, 0.4 s", system, options, 0.4, frames, module.HEIGHT, exact=("radau", 1e-8))


def fin_ray() -> Problem:
    """The fin-ray finger of [002] section 5.2: loops that are redundant, and a slider that moves."""
    module = example("fin_ray_finger")
    system, drive = module.build(), {"slide": module.MOTIONS["smooth"]}
    options = {"motion": drive, "start": pl.solve_statics(system, motion=drive).q}
    return Problem("fin-ray finger, 0.5 s", system, options, 0.5, ("tip",), 0.18, exact=("radau", 1e-7))


def robot_86() -> Problem:
    """A random robot with thin rods whose mass matrix is badly conditioned."""
    system = pl.load_model(ROBOTS / "robot_86.yaml").robot.compile()
    return Problem(
        "robot 86, 0.3 s", system, {}, 0.3, ("rod0.tip", "rod1.tip"), 0.45, passive=True, exact=("radau", 1e-7)
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "beam": planar_beam,
    "beam24": spatial_beam,
    "manipulator": manipulator,
    "cantilever": cantilever,
    "flying": flying_rod,
    "jumps": partial(jumps, False),
    "jumps-told": partial(jumps, True),
    "pipe": pipe,
    "robot86": robot_86,
    "parallel": parallel,
    "fin-ray": fin_ray,
    "chain16": chain,
    "articulated32": articulated,
    "segment": segment,
    "stiff": stiff_rod,
    "young1e3": partial(rod_of, 1e3),
    "young1e5": partial(rod_of, 1e5),
    "young1e7": partial(rod_of, 1e7),
    "young1e9": partial(rod_of, 1e9),
    "young2e11": partial(rod_of, 2e11),
    "1mm": partial(rod_sized, 1e-3, 1e6, 0.02),
    "10m": partial(rod_sized, 10.0, 1e7, 30.0),
}
QUICK = ("beam", "beam24", "manipulator", "cantilever", "flying", "jumps", "jumps-told", "young1e7")


# ---------------------------------------------------------------- running them


def simulate(problem: Problem, output: np.ndarray | None = None, parts: bool = False, **options: Any) -> pl.Result:
    """Run a problem; in parts from jump to jump if asked for, or if jumps are to be told to a method that takes no breaks."""
    if not problem.breaks or not (problem.told or parts):
        return pl.simulate(problem.system, problem.duration, output=output, **problem.options, **options)
    if not parts and options.get("method", "auto") in MARCHING:
        return pl.simulate(
            problem.system, problem.duration, output=output, breaks=problem.breaks, **problem.options, **options
        )
    ends = (0.0, *problem.breaks, problem.duration)
    runs: list[pl.Result] = []
    for begin, end in pairwise(ends):
        part = dict(problem.options, u=partial(_within, problem.options["u"], begin, float(np.nextafter(end, begin))))
        if runs:
            part["start"] = runs[-1]
        if output is None:
            rows = None
        else:
            rows = output[(output > begin) & (output <= end) | (output == begin) & (begin == 0.0)]
        runs.append(pl.simulate(problem.system, end - begin, output=rows, **part, **options))
        if not runs[-1].success:
            break
    return _joined(runs, drop=output is None)


def _within(function: Callable[[float], Any], begin: float, end: float, t: float) -> Any:
    """A function of time as it is inside an interval."""
    return function(min(max(t, begin), end))


def _joined(parts: list[pl.Result], drop: bool) -> pl.Result:
    """One result of several that follow each other; each but the first repeats a time if nothing was asked for."""
    skip = [1 if drop and k else 0 for k in range(len(parts))]
    arrays = {
        name: np.concatenate([getattr(part, name)[n:] for part, n in zip(parts, skip)])
        for name in ("t", "q", "v", "a", "u", "tau", "multipliers")
    }
    work = Statistics()
    for one in fields(work):
        setattr(work, one.name, sum(getattr(part.statistics, one.name) for part in parts))
    warnings = tuple(text for part in parts for text in part.warnings)
    return replace(parts[-1], **arrays, statistics=work, warnings=warnings)


def positions(problem: Problem, q: np.ndarray) -> np.ndarray:
    """Places of the frames (frames, nt, 3) [m]."""
    return np.array([problem.system.pose(frame, q)[:, :3, 3] for frame in problem.frames])


def errors(problem: Problem, run: pl.Result, exact: pl.Result) -> tuple[float, float]:
    """Largest error of position over the length, and of velocity over the largest velocity, at the times of the run."""
    times = np.clip(run.t, exact.t[0], exact.t[-1])
    q, v = exact.resample(times).q, velocities(problem, exact, times)
    place = np.linalg.norm(positions(problem, run.q) - positions(problem, q), axis=2).max() / problem.length
    s = problem.system.internal.scale
    speed = np.linalg.norm(exact.v / s, axis=1).max()
    return float(place), float(np.linalg.norm((run.v - v) / s, axis=1).max() / speed)


def velocities(problem: Problem, exact: pl.Result, times: np.ndarray) -> np.ndarray:
    """Velocities of a reference at other times (nt, nv), by splines of fifth order between the jumps."""
    out = np.empty((len(times), problem.system.nv))
    for begin, end in pairwise((0.0, *problem.breaks, problem.duration)):
        rows = (exact.t >= begin) & (exact.t <= end)
        here = (times >= begin) & (times <= end)
        out[here] = make_interp_spline(exact.t[rows], exact.v[rows], k=5)(times[here])
    return out


def energy_growth(run: pl.Result) -> tuple[float, float]:
    """Largest growth of the energy above its lowest value so far, and its swing: range and largest kinetic energy [J]."""
    energies = run.energies()
    total = energies.total
    return float((total - np.minimum.accumulate(total)).max()), float(np.ptp(total) + energies.kinetic.max())


@dataclass(frozen=True)
class Reference:
    """A converged motion, how far a run of thirty times its tolerance is from it, and the seconds that it took."""

    run: pl.Result
    position: float
    velocity: float
    seconds: float
    file: Path = field(repr=False, default=Path())


def _key(problem: Problem) -> str:
    """A digest of all that the motion depends on; inputs count by samples."""
    out = hashlib.sha256(digest(problem.system).encode())
    out.update(repr((problem.duration, problem.exact, problem.breaks, ROWS)).encode())
    out.update(np.asarray(problem.options.get("start", ()), dtype=float).round(9).tobytes())
    for name in ("u", "motion"):
        given = problem.options.get(name)
        members = given.values() if isinstance(given, Mapping) else [given] * (given is not None)
        for member in members:
            function = member if callable(member) else getattr(member, "position", None)
            for t in np.linspace(0, problem.duration, 97) if callable(function) else ():
                value = function(t)
                value = sorted(value.items()) if isinstance(value, Mapping) else np.round(value, 9).tolist()
                out.update(repr(value).encode())
    return out.hexdigest()[:16]


def _times(problem: Problem, steps: np.ndarray) -> np.ndarray:
    """Times of a reference: even ones, ever closer ones after the start and the jumps, and given steps, which follow the motion."""
    even = np.linspace(0, problem.duration, ROWS + 1)
    apart = np.abs(even[:, None] - np.array(problem.breaks)[None]).min(axis=1, initial=np.inf)
    fixed = np.union1d(even[apart > 1e-6 * even[1]], problem.breaks)
    early = even[1] * np.geomspace(1e-4, 40, 400)
    more = np.concatenate([steps, *(begin + early for begin in (0.0, *problem.breaks))])
    times = np.union1d(fixed, more[(more > 0) & (more < problem.duration)])
    gaps = np.diff(times)
    before, after = np.append(gaps[0], gaps), np.append(gaps, gaps[-1])
    crowded = np.minimum(before, after) < 0.02 * np.maximum(before, after)
    return times[np.isin(times, fixed) | ~crowded]


def reference(name: str, problem: Problem, fresh: bool = False) -> Reference:
    """The converged motion of a problem, from its file if there is one."""
    path = KEPT / f"{name}_{_key(problem)}.npz"
    if not path.exists() or fresh:
        method, tolerance = problem.exact
        begin = time.perf_counter()
        loose = simulate(problem, parts=True, method=method, rtol=30 * tolerance, atol=30 * tolerance)
        run = simulate(problem, _times(problem, loose.t), parts=True, method=method, rtol=tolerance, atol=tolerance)
        for one in (loose, run):
            if not one.success:
                raise RuntimeError(f"no reference for {name!r}: {one.message}")
        position, velocity = errors(problem, loose, run)
        path.parent.mkdir(parents=True, exist_ok=True)
        made = {"position": position, "velocity": velocity, "seconds": time.perf_counter() - begin}
        np.savez(path, t=run.t, q=run.q, v=run.v, **made)
    with np.load(path) as file:
        zero = np.zeros_like(file["v"])
        inputs = np.zeros((len(file["t"]), problem.system.nu))
        run = pl.Result(problem.system, file["t"], file["q"], file["v"], zero, inputs, zero, True, "reference")
        return Reference(run, *(float(file[x]) for x in ("position", "velocity", "seconds")), path)
