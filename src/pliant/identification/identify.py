"""`identify`: parameters of a robot from measurements, by least squares on exact derivatives."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..model.validate import choice, flag, integer, interval, positive
from ..system import System
from .data import Data
from .predict import NoPrediction
from .problem import LOSSES, Problem
from .result import Identification, Search
from .unknowns import Unknown

__all__ = ["identify", "search"]

Array = NDArray[np.float64]


def identify(
    system: System,
    data: Data | Iterable[Data],
    unknowns: str | Unknown | Iterable[str | Unknown],
    *,
    loss: Literal["linear", "huber", "soft_l1"] = "linear",
    scale: float = 1.5,
    known_noise: bool = False,
    confidence: float = 0.95,
    starts: int = 1,
    seed: int = 0,
    iterations: int = 100,
) -> Identification:
    """Find parameters of a robot from measurements of equilibria and motions, by least squares on exact derivatives.

    Parameters
    ----------
    system : System
        The robot, with first guesses as its parameters.
    data : StaticData, MotionData, or list of them
        What was measured; all count together, in units of their `sigma`.
    unknowns : list of str and Unknown
        Names of parameters, such as ``"arm.young"``, and of what is not known of the experiment; see `Unknown`.
    loss : {"linear", "huber", "soft_l1"}
        How residuals count: by their squares, or less for those that are large (outliers).
    scale : float
        Residual, in units of sigma, from which it counts less.
    known_noise : bool
        Whether sigma is the noise. By default it is only a weight: the noise is taken from the residuals.
    confidence : float
        Of the intervals.
    starts : int
        Searches: the first from the guesses, others from points within the bounds (which are then needed), by `seed`.
    iterations : int
        Largest number of evaluations of one search.

    Returns
    -------
    Identification
        Values, intervals, correlations, what the data do not tell. Never raises for lack of convergence; look at `success` and `warnings`.

    Raises
    ------
    ValueError
        If data or unknowns do not fit the robot, or there is no prediction with the first guesses.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("arm")
    >>> silicone = pl.Material(young=6e5, poisson=0.5, density=1000)
    >>> arm = robot.add_rod("arm", length=0.3, section=pl.Circle(0.01), material=silicone, strains=pl.Strains(bending_y=3))
    >>> cable = robot.add_tendon("cable", arm, z=0.008)
    >>> system = robot.compile()
    >>> real = system.with_parameters({"arm.young": 8e5})
    >>> tensions = np.linspace(0, 3, 20)
    >>> rests = [pl.solve_statics(real, {"cable": u}) for u in tensions]
    >>> tip = np.array([real.pose("arm.tip", rest.q)[:3, 3] for rest in rests])
    >>> noisy = tip + 1e-3 * np.random.default_rng(0).standard_normal(tip.shape)
    >>> seen = pl.StaticData(inputs={"cable": tensions}, values=noisy, quantity=pl.costs.Position("arm.tip"), sigma=1e-3)
    >>> found = pl.identify(system, seen, ["arm.young"])
    >>> low, high = found.intervals["arm.young"]
    >>> bool(found.success and low < 8e5 < high)
    True
    """
    clock = time.perf_counter()
    choice("loss", loss, LOSSES)
    positive("scale", scale)
    interval("confidence", confidence, 0.01, 0.9999)
    flag("known_noise", known_noise)
    problem = Problem(system, data, unknowns, loss=loss, scale=scale)
    guesses = _guesses(problem, integer("starts", starts, minimum=1), integer("seed", seed))
    integer("iterations", iterations, minimum=1)
    try:
        problem.at(guesses[0])
        problem.refine(guesses[0])
    except NoPrediction as error:
        raise ValueError(f"there is no prediction with the first guesses: {error} Give other guesses.") from None
    searches = [search(problem, guess, iterations) for guess in guesses]
    best = min(searches, key=lambda one: one.cost)
    for _ in range(3):  # with steps that are fine enough where the search ended
        if not _refined(problem, best.y):
            break
        again = search(problem, best.y, iterations)
        searches = [again if one is best else replace(one, cost=one.cost + again.cost - best.cost) for one in searches]
        best = again
    return Identification.of(problem, best, searches, confidence, known_noise, time.perf_counter() - clock)


def _refined(problem: Problem, y: Array) -> bool:
    try:
        return problem.refine(y)
    except NoPrediction:
        return False


def _guesses(problem: Problem, starts: int, seed: int) -> list[Array]:
    """Where searches start: the guesses first, then points spread over the bounds."""
    unknowns = problem.unknowns
    first = unknowns.search(unknowns.start)
    if starts == 1:
        return [first]
    low, high = unknowns.search(unknowns.low), unknowns.search(unknowns.high)
    open_ended = [name for name, a, b in zip(unknowns.names, low, high) if not (np.isfinite(a) and np.isfinite(b))]
    if open_ended:
        raise ValueError(f"starts = {starts} needs bounds of all unknowns; {', '.join(open_ended)} have none (or zero, with a logarithm). Give Unknown(name, bounds=(low, high)).")  # fmt: skip
    from scipy.stats import qmc

    spread = qmc.LatinHypercube(len(first), rng=np.random.default_rng(seed)).random(starts - 1)
    return [first, *(low + spread * (high - low))]


def search(problem: Problem, y: Array, iterations: int) -> Search:
    """One search by SciPy's trust-region reflective method."""
    from scipy.optimize import least_squares

    unknowns = problem.unknowns
    low, high = unknowns.search(unknowns.low), unknowns.search(unknowns.high)
    room = 1e-10 * np.maximum(1.0, np.abs(y))
    inside = np.clip(y, low + room, high - room)
    problem.forget()
    if not np.all(np.isfinite(problem.residuals(inside))):
        return Search(inside, np.inf, False, f"no prediction at the start of the search: {problem.failure}", 0)
    problem.hold(inside)
    options: dict[str, Any] = {} if problem.loss == "linear" else {"loss": problem.rho}
    found = least_squares(
        problem.residuals, inside, problem.jacobian, bounds=(low, high), x_scale="jac", xtol=1e-8, ftol=1e-10, gtol=1e-10,
        max_nfev=iterations, **options,
    )  # fmt: skip
    success, message = bool(found.status > 0), str(found.message)
    if problem.stuck and found.status in (2, 3):
        success, message = False, f"the search stopped where there is no prediction further on: {problem.failure}"
    return Search(found.x, float(found.cost), success, message, int(found.nfev))
