"""The papers, number by number: their experiments run with pliant, beside what they print.

An experiment is declared once (`Experiment`: place, printed numbers, reading of defective parameters, verdict, a function that runs
it); running, tables, figures, the JSON file and the pages of the documentation follow from that.

Examples
--------
>>> from pliant import papers
>>> [paper.number for paper in papers.PAPERS]
['000', '001', '002', '003', '004']
>>> [e.key for e in papers.experiments() if e.paper == "004"][0]
'004-test1'
"""

from .declare import MARKS, Experiment, Measured, Method, Number, Outcome, Paper, Table, agrees, problems
from .library import PAPERS, experiments
from .running import measured, run, write_docs

__all__ = [
    "MARKS",
    "PAPERS",
    "Experiment",
    "Measured",
    "Method",
    "Number",
    "Outcome",
    "Paper",
    "Table",
    "agrees",
    "experiments",
    "measured",
    "problems",
    "run",
    "write_docs",
]
