"""What an experiment, a number and a method of a paper are, and when a verdict is consistent with what was computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "MARKS",
    "Experiment",
    "Measured",
    "Method",
    "Number",
    "Outcome",
    "Paper",
    "Table",
    "Verdict",
    "agrees",
    "problems",
]

Verdict = Literal["reproduced", "differs", "impossible"]
Kind = Literal["equal", "at most", "at least", "time", "here"]
MARKS: dict[Verdict, str] = {"reproduced": "✓", "differs": "~", "impossible": "✗"}


@dataclass(frozen=True)
class Number:
    """A number that a paper prints, or one that belongs beside it.

    Attributes
    ----------
    name : str
        What it is.
    printed : float or None
        The paper's value; None where it prints none.
    unit : str
    kind : {"equal", "at most", "at least", "time", "here"}
        How the two are compared: equal up to `within`; a bound that the paper states; a time, which says nothing about right
        or wrong and always has an error beside it; or not at all.
    within : float
        Tolerated relative difference of "equal".
    shown : str
        How the paper prints it, where that is not a plain number ("16 min 34 s", "below 5 %").
    """

    name: str
    printed: float | None = None
    unit: str = ""
    kind: Kind = "here"
    within: float = 0.0
    shown: str = ""


@dataclass(frozen=True)
class Measured:
    """A value of a run, with its error where it is a time.

    Attributes
    ----------
    value : float
        NaN if it could not be had.
    error : float or None
        Error of what was computed in that time, in `error_unit`.
    error_unit : str
    note : str
    """

    value: float
    error: float | None = None
    error_unit: str = "m"
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table of a result: a caption, the head and rows of text."""

    caption: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]


@dataclass
class Outcome:
    """What an experiment found: values by the names of its numbers, tables, and figures by name."""

    values: dict[str, Measured]
    tables: list[Table] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One experiment, figure, table or claim of a paper.

    Attributes
    ----------
    key : str
        Begins with the number of its paper: "004-test1".
    place : str
        Where it stands: section, figure, table, equation.
    title : str
    verdict : {"reproduced", "differs", "impossible"}
    why : str
        Needed unless it is reproduced: what differs, or what is missing.
    reading : str
        How defective or missing parameters are read.
    numbers : tuple of Number
    run : function of a flag "quick", or None if it is impossible
        Returns an Outcome.
    example : str
        The example that builds the robot.
    figure_captions : dict
        By the names of its figures.
    """

    key: str
    place: str
    title: str
    verdict: Verdict
    run: Callable[[bool], Outcome] | None
    numbers: tuple[Number, ...] = ()
    why: str = ""
    reading: str = ""
    example: str = ""
    figure_captions: Mapping[str, str] = field(default_factory=dict)

    @property
    def paper(self) -> str:
        """The number of its paper."""
        return self.key.split("-")[0]


@dataclass(frozen=True)
class Method:
    """An equation or algorithm of a paper, and what it is called in pliant.

    Attributes
    ----------
    place, title : str
    called : tuple of str
        Names of pliant, such as "System.inverse_dynamics" or "solve_statics", with arguments if that helps.
    verdict : {"reproduced", "differs", "impossible"}
        Whether pliant has it.
    why : str
    """

    place: str
    title: str
    called: tuple[str, ...] = ()
    verdict: Verdict = "reproduced"
    why: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper: its reference, its experiments and its methods."""

    number: str
    title: str
    reference: str
    about: str
    experiments: tuple[Experiment, ...]
    methods: tuple[Method, ...]


def agrees(number: Number, measured: Measured) -> bool | None:
    """Whether a value agrees with the printed one; None where there is nothing to compare.

    Examples
    --------
    >>> from pliant.papers import Measured, Number, agrees
    >>> agrees(Number("steps", 24150, kind="equal", within=0.1), Measured(25816))
    True
    >>> agrees(Number("error", 0.05, kind="at most"), Measured(0.06))
    False
    """
    if number.printed is None or number.kind in ("time", "here"):
        return None
    if math.isnan(measured.value):
        return False
    if number.kind == "at most":
        return measured.value <= number.printed
    if number.kind == "at least":
        return measured.value >= number.printed
    return abs(measured.value - number.printed) <= number.within * abs(number.printed) + 1e-300


def problems(experiment: Experiment, values: Mapping[str, Measured] | None) -> list[str]:
    """What is inconsistent in an experiment and its values; empty if nothing is.

    A verdict "reproduced" needs every compared number to agree, the others a reason, "impossible" means that nothing was run. Every time
    has an error beside it.
    """
    found = []
    if experiment.verdict != "reproduced" and not experiment.why:
        found.append("needs a reason")
    if (experiment.run is None) != (experiment.verdict == "impossible"):
        found.append("impossible means that there is nothing to run")
    if experiment.run is None:
        return found
    if values is None:
        return [*found, "has no results"]
    names = [number.name for number in experiment.numbers]
    if sorted(names) != sorted(values):
        found.append(f"numbers differ from results: {sorted(set(names) ^ set(values))}")
        return found
    for number in experiment.numbers:
        measured = values[number.name]
        if number.kind == "time" and measured.error is None and not math.isnan(measured.value):
            found.append(f"the time {number.name!r} has no error beside it")
        if experiment.verdict == "reproduced" and agrees(number, measured) is False:
            found.append(f"{number.name!r} does not agree: {measured.value:g} against {number.printed:g}")
    return found
