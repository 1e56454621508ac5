"""Time integrators. `METHODS` is their only list; a new one is a class in a file of its own and its line here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .alpha import generalized_alpha, hht, newmark
from .integrator import Integrator, Problem, Steps
from .marching import Marching
from .midpoint import Midpoint
from .ode import ODE_METHODS, OdeIntegrator
from .tableau import ESDIRK3, ESDIRK5

__all__ = ["MARCHING", "METHODS", "Integrator", "Problem", "Steps"]

HIGH_ORDER = 1e-6  # relative tolerance below which the fifth order costs less


def default(problem: Problem) -> Integrator:
    """The third order, or the fifth for tight tolerances and without constraints; see docs/concepts/time.md."""
    constrained = bool(problem.system.loop_rows or problem.motion.tendons)
    high = problem.steps.constant is None and problem.rtol < HIGH_ORDER and not constrained
    return Marching(problem, ESDIRK5 if high else ESDIRK3)


MARCHING = ("auto", "esdirk3", "esdirk5", "midpoint")
"""Those that run inside the engine, and end steps at breaks."""

METHODS: dict[str, Callable[[Problem], Integrator]] = {
    "auto": default,
    "esdirk3": partial(Marching, tableau=ESDIRK3),
    "esdirk5": partial(Marching, tableau=ESDIRK5),
    "midpoint": Midpoint,
    "generalized-alpha": generalized_alpha,
    "newmark": newmark,
    "hht": hht,
    **{name: partial(OdeIntegrator, method=name) for name in ODE_METHODS},
}
