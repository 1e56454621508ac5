"""The papers, in order."""

from __future__ import annotations

from .declare import Experiment, Paper
from .paper000 import PAPER as PAPER000
from .paper001 import PAPER as PAPER001
from .paper002 import PAPER as PAPER002
from .paper003 import PAPER as PAPER003
from .paper004 import PAPER as PAPER004

__all__ = ["PAPERS", "experiments"]

PAPERS: tuple[Paper, ...] = (PAPER000, PAPER001, PAPER002, PAPER003, PAPER004)


def experiments() -> list[Experiment]:
    """All experiments of all papers, in order."""
    return [experiment for paper in PAPERS for experiment in paper.experiments]
