"""The pages of the papers in Markdown, from their declarations and the results of a run."""

from __future__ import annotations

import math
from typing import Any

from .declare import MARKS, Experiment, Measured, Method, Number, Paper, Verdict, agrees
from .measure import short

__all__ = ["index_page", "paper_page"]

WORDS: dict[Verdict, str] = {
    "reproduced": "reproduced",
    "differs": "differs, because",
    "impossible": "impossible, because",
}


def _table(head: tuple[str, ...] | list[str], rows: list[Any]) -> str:
    return "\n".join("| " + " | ".join(r) + " |" for r in (list(head), ["---"] * len(head), *[list(r) for r in rows]))


def _count(paper: Paper) -> str:
    """How many of each verdict, in words."""
    items: list[Experiment | Method] = [*paper.experiments, *paper.methods]
    return ", ".join(f"{sum(x.verdict == v for x in items)} {MARKS[v]}" for v in MARKS)


def _printed(number: Number) -> str:
    if number.shown:
        return number.shown
    if number.printed is None:
        return ""
    bound = {"at most": "≤ ", "at least": "≥ "}.get(number.kind, "")
    return f"{bound}{number.printed:g} {number.unit}".rstrip()


def _deviation(number: Number, measured: Measured) -> str:
    """In words: a ratio for times, a percentage for equal numbers, yes or no for bounds."""
    if number.printed is None or math.isnan(measured.value):
        return ""
    if number.kind == "time":
        ratio = number.printed / measured.value
        return f"{short(ratio, 2)} times faster" if ratio >= 1 else f"{short(1 / ratio, 2)} times slower"
    if number.kind == "here":
        return ""
    good = agrees(number, measured)
    if number.kind == "equal":
        share = (measured.value - number.printed) / abs(number.printed) if number.printed else measured.value
        return f"{100 * share:+.3g} %"
    return "holds" if good else "**does not hold**"


def _numbers(experiment: Experiment, values: dict[str, Measured]) -> str:
    rows = []
    errors = any(m.error is not None for m in values.values())
    for number in experiment.numbers:
        m = values[number.name]
        value = f"{short(m.value)} {number.unit}".rstrip() if not math.isnan(m.value) else "–"
        if m.note:
            value += f" ({m.note})"
        row = [number.name, _printed(number), value]
        if errors:
            row.append("" if m.error is None else f"{short(m.error, 2)} {m.error_unit}".rstrip())
        rows.append([*row, _deviation(number, m)])
    head = ["", "printed", "pliant", *(["its error"] if errors else []), "deviation"]
    return _table(head, rows)


def _experiment(experiment: Experiment, results: dict[str, Any], figures: str, examples: str) -> list[str]:
    from .running import measured

    out = [f"### {MARKS[experiment.verdict]} {experiment.title}", ""]
    line = f"*{experiment.place}.*"
    if experiment.example:
        line += f" Robot: [{experiment.example}]({examples}/{experiment.example}.py)."
    line += f" Run alone: `pliant papers {experiment.paper} --only {experiment.key}`." if experiment.run else ""
    out += [line, ""]
    if experiment.verdict != "reproduced":
        out += [f"**{WORDS[experiment.verdict].capitalize()}** {experiment.why}", ""]
    elif experiment.why:
        out += [experiment.why, ""]
    if experiment.reading:
        out += [f"Read as: {experiment.reading}", ""]
    record = results["experiments"].get(experiment.key)
    if record is None:
        return out if experiment.run is None else [*out, "Not run yet.", ""]
    if experiment.numbers:
        out += [_numbers(experiment, measured(record)), ""]
    for table in record["tables"]:
        out += [f"{table['caption']}:", "", _table(table["head"], table["rows"]), ""]
    for name in record["figures"]:
        caption = experiment.figure_captions.get(name, name)
        out += [f"![{caption}]({figures}/{experiment.key}_{name}.png)", "", f"*{caption}.*", ""]
    return out


def _methods(methods: tuple[Method, ...]) -> str:
    rows = []
    for m in methods:
        called = ", ".join(f"`{name}`" for name in m.called) or "–"
        rows.append([m.place, m.title, called, MARKS[m.verdict], m.why])
    return _table(["where", "method", "in pliant", "", "remarks"], rows)


def machine(results: dict[str, Any]) -> str:
    """Where and how times were measured."""
    m = results.get("machine")
    if m is None:
        return "Nothing has been run yet."
    busy = (
        " **The machine was busy with other work when this was run (load "
        f"{m['load']:.1f} on {m['cores']} cores); CPU times may be too long by up to a factor of two.**"
        if m["load"] > 1.5
        else ""
    )
    quick = " This was a quick run, with fewer repetitions." if m["quick"] else ""
    return (
        f"Times of pliant are CPU seconds of one process on one core ({m['processor']}; Python {m['python']}), the shortest of several, after the kernels were "
        "compiled; those of the papers are their authors', with MATLAB on an i9-13900HX ([002]) or i9-9880H ([000]). Each time has "
        f"the error of what was computed in it beside it.{busy}{quick}"
    )


def paper_page(paper: Paper, results: dict[str, Any], figures: str, examples: str) -> str:
    """The page of one paper."""
    out = [
        f"# [{paper.number}] {paper.title}",
        "",
        f"{paper.reference}",
        "",
        paper.about,
        "",
        f"{_count(paper)}: {len(paper.experiments)} experiments, figures and claims, {len(paper.methods)} methods. ✓ reproduced, ~ differs, ✗ impossible. "
        f"Computed by `pliant papers {paper.number}`; this page is written by that command.",
        "",
        machine(results),
        "",
        "## Experiments, figures, numbers",
        "",
    ]
    for experiment in paper.experiments:
        out += _experiment(experiment, results, figures, examples)
    out += ["## Methods", "", "What the equations are called in pliant.", "", _methods(paper.methods), ""]
    return "\n".join(out)


# what the README and others quote: experiment, number, what it is
SHORT = (
    ("002-cdm-motion", "pliant's own method, default (rtol 1e-4)", "method 2: BDF, exact Jacobian", "10 s of the cable-driven manipulator, 24 dof"),
    ("002-serial-motion", "pliant's own method, default (rtol 1e-4)", "method 2: BDF, exact Jacobian", "10 s of the hybrid serial robot, 27 dof"),
    ("002-finray-motion", "pliant's own method, default (rtol 1e-4)", "method 3: Newmark", "10 s of the fin-ray finger, 74 dof, 6 loops"),
    ("002-parallel-motion", "pliant's own method, default (rtol 1e-4)", "method 2: BDF, exact Jacobian", "10 s of the hybrid parallel robot, 63 dof, 2 loops"),
    ("002-pipe-motion", "pliant's own method, default (rtol 1e-4)", "method 2: BDF, exact Jacobian", "10 s of the manipulator in a pipe, contact"),
    ("002-vehicle-motion", "pliant's own method, default (rtol 1e-4)", "method 2: BDF, exact Jacobian", "10 s of the underwater vehicle, 80 dof"),
    ("002-cdm-statics", "time of one, exact derivatives", "", "an equilibrium of the manipulator, mean of 1000"),
    ("002-serial-statics", "time of one, exact derivatives", "", "an equilibrium of the serial robot, mean of 1000"),
    ("002-parallel-statics", "time of one, exact derivatives", "", "an equilibrium of the parallel robot, mean of 1000"),
    ("000-table1", "stiff cantilever, pliant, error control", "stiff cantilever, Newmark, step 0.01 s", "1 s of the stiff cantilever"),
    ("000-table1", "soft cantilever, pliant, error control", "soft cantilever, Newmark, step 0.01 s", "1 s of the soft cantilever"),
    ("000-table1", "stiff flying rod, pliant, error control", "stiff flying rod, Newmark, step 0.01 s", "1 s of the stiff flying rod"),
    ("000-table1", "soft flying rod, pliant, error control", "soft flying rod, Newmark, step 0.01 s", "1 s of the soft flying rod"),
)  # fmt: skip


def _in_short(papers: tuple[Paper, ...], results: dict[str, Any]) -> str:
    """The times that are quoted elsewhere, with errors, beside the best printed ones."""
    from .running import measured

    known = {e.key: e for paper in papers for e in paper.experiments}
    rows = []
    for key, name, best, what in SHORT:
        record = results["experiments"].get(key)
        if record is None:
            continue
        m = measured(record)[name]
        numbers = {number.name: number for number in known[key].numbers}
        printed = numbers[best or name]
        unit = numbers[name].unit.removesuffix("/s")
        shown = printed.shown.split(" (")[0] or f"{printed.printed:g} {unit}"
        rows.append(
            [
                f"[{key.split('-')[0]}]",
                what,
                f"{short(m.value, 2)} {unit}",
                f"{short(m.error or 0.0, 1)} {m.error_unit}",
                shown,
            ]
        )
    return _table(["", "what", "pliant", "its error", "printed, the paper's best"], rows)


def index_page(papers: tuple[Paper, ...], results: dict[str, Any]) -> str:
    """The page that lists the papers."""
    rows = [
        [f"[[{p.number}] {p.title}]({p.number}.md)", str(len(p.experiments)), str(len(p.methods)), _count(p)]
        for p in papers
    ]
    listed = []
    for paper in papers:
        for e in paper.experiments:
            listed.append([f"[{paper.number}]({paper.number}.md)", e.place, e.title, MARKS[e.verdict]])
    return "\n".join(
        [
            "# The papers, number by number",
            "",
            "pliant implements the methods of five papers. Here every experiment, figure, table, claim and equation-level method of them stands "
            "beside what pliant computes: ✓ reproduced, ~ differs with the reason, ✗ impossible with the reason. Where the text of a paper is "
            "defective or silent, the reading taken is said.",
            "",
            "```",
            "make papers                      # everything, into build/papers and these pages",
            "pliant papers 002 --quick        # one paper, for a look",
            "pliant papers 004 --only 004-test3 -o build/papers",
            "```",
            "",
            machine(results),
            "",
            _table(["paper", "experiments", "methods", "verdicts"], rows),
            "",
            "## Times in short",
            "",
            "With default tolerances. The motions are pliant's, as the papers print their inputs in figures only; more on the pages of the papers.",
            "",
            _in_short(papers, results),
            "",
            "## All experiments",
            "",
            _table(["paper", "where", "what", ""], listed),
            "",
            "```{toctree}",
            ":hidden:",
            "",
            *[p.number for p in papers],
            "```",
            "",
        ]
    )
