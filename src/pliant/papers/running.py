"""Runs experiments of the papers and keeps what they find: figures, a JSON file, a page for each paper."""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .._files import replacing, write_file
from ..model.validate import unknown_name
from .declare import Experiment, Measured, Outcome, Paper
from .library import PAPERS, experiments
from .pages import index_page, paper_page

__all__ = ["measured", "run", "write_docs"]

LARGEST, WIDTH = 60_000, 900  # bytes and pixels of a figure


def run(
    papers: Iterable[str] = (),
    output: str | Path = "build/papers",
    *,
    only: Iterable[str] = (),
    quick: bool = False,
    log: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Run the experiments of the papers and write what they find.

    Parameters
    ----------
    papers : iterable of str
        "000" to "004"; all if empty.
    output : path
        Folder for ``papers.json``, one page per paper and ``figures/``. Results that are there already are kept for
        experiments that are not run.
    only : iterable of str
        Keys of experiments; all of these papers if empty.
    quick : bool
        Fewer repetitions and shorter motions: for a look, not for numbers.
    log : function
        Takes lines about the progress.

    Returns
    -------
    dict
        The content of ``papers.json``.
    """
    chosen = _choose(tuple(papers), tuple(only))
    folder = Path(output)
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    results = _read(folder / "papers.json")
    begin = time.process_time()
    for experiment in chosen:
        results["experiments"][experiment.key] = _run_one(experiment, folder / "figures", quick, log)
        _write(folder / "papers.json", results)
    results["machine"] = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
        "seconds": round(time.process_time() - begin, 1),
        "quick": quick,
        "all": len(chosen) == len([e for e in experiments() if e.run is not None]),
    }
    _write(folder / "papers.json", results)
    write_pages(results, folder, figures="figures", examples="../../examples")
    return results


def _choose(papers: tuple[str, ...], only: tuple[str, ...]) -> list[Experiment]:
    known = {paper.number for paper in PAPERS}
    for number in papers:
        if number not in known:
            raise unknown_name("paper", number, sorted(known))
    keys = {e.key for e in experiments()}
    for key in only:
        if key not in keys:
            raise unknown_name("experiment", key, sorted(keys))
    return [
        e
        for e in experiments()
        if e.run is not None and (not papers or e.paper in papers) and (not only or e.key in only)
    ]


def _run_one(experiment: Experiment, figures: Path, quick: bool, log: Callable[[str], None]) -> dict[str, Any]:
    assert experiment.run is not None
    begin = time.process_time()
    outcome = experiment.run(quick)
    names = _save_figures(experiment.key, outcome, figures)
    seconds = time.process_time() - begin
    log(f"{experiment.key:34}{seconds:7.1f} s")
    return {
        "seconds": round(seconds, 2),
        "values": {
            name: {
                "value": None if math.isnan(m.value) else float(m.value),
                "error": None if m.error is None else float(m.error),
                "error_unit": m.error_unit,
                "note": m.note,
            }
            for name, m in outcome.values.items()
        },
        "tables": [
            {"caption": t.caption, "head": list(t.head), "rows": [list(r) for r in t.rows]} for t in outcome.tables
        ],
        "figures": names,
    }


def measured(record: dict[str, Any]) -> dict[str, Measured]:
    """The values of an experiment as they stand in the JSON file."""
    return {
        name: Measured(math.nan if v["value"] is None else v["value"], v["error"], v["error_unit"], v["note"])
        for name, v in record["values"].items()
    }


def _save_figures(key: str, outcome: Outcome, folder: Path) -> list[str]:
    """Small PNG files; returns the names of the figures."""
    if not outcome.figures:
        return []
    from ..viz.style import pyplot

    plt = pyplot()
    for name, drawn in outcome.figures.items():
        figure = drawn if hasattr(drawn, "savefig") else drawn.get_figure()
        path = folder / f"{key}_{name}.png"
        with replacing(path) as part:
            figure.savefig(part, dpi=110, format="png")
        plt.close(figure)
        _shrink(path)
    return list(outcome.figures)


def _shrink(path: Path) -> None:
    """Scale a picture to the width of a page and reduce its colours until the file is small."""
    from PIL import Image

    with Image.open(path) as image:
        wide = image.convert("RGB")
    if wide.width > WIDTH:
        wide = wide.resize((WIDTH, round(wide.height * WIDTH / wide.width)), Image.Resampling.LANCZOS)
    for colours in (128, 64, 32, 16):
        wide.quantize(colours).save(path, optimize=True)
        if path.stat().st_size <= LARGEST:
            return


def _read(path: Path) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept.setdefault("experiments", {})
    known = {e.key for e in experiments()}
    kept["experiments"] = {k: v for k, v in kept["experiments"].items() if k in known}
    return kept


def _write(path: Path, results: dict[str, Any]) -> None:
    order = [e.key for e in experiments()]
    results["experiments"] = {k: results["experiments"][k] for k in order if k in results["experiments"]}
    write_file(path, json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(x.split(":", 1)[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def pages(results: dict[str, Any], figures: str, examples: str) -> dict[str, str]:
    """Text of all pages by file name."""
    texts = {f"{paper.number}.md": paper_page(paper, results, figures, examples) for paper in PAPERS}
    return {"index.md": index_page(PAPERS, results), **texts}


def write_pages(results: dict[str, Any], folder: Path, figures: str, examples: str) -> None:
    """One page per paper, and the page that lists them."""
    for name, text in pages(results, figures, examples).items():
        write_file(folder / name, text)


def write_docs(source: str | Path, docs: str | Path) -> None:
    """Take the results of a run over into the documentation: its JSON file, its figures, its pages.

    Parameters
    ----------
    source : path
        Folder of a run; experiments that it lacks stay as they are in the documentation, whose pages are written in any case.
    docs : path
        The folder docs/ of the source tree.
    """
    source, docs = Path(source), Path(docs)
    for folder in (docs / "papers", docs / "figures" / "papers"):
        folder.mkdir(parents=True, exist_ok=True)
    new, kept = _read(source / "papers.json"), _read(docs / "papers" / "papers.json")
    kept["experiments"] |= new["experiments"]
    if "machine" in new and ("machine" not in kept or new["machine"]["all"]):
        kept["machine"] = new["machine"]
    _write(docs / "papers" / "papers.json", kept)
    wanted = set()
    for key, record in kept["experiments"].items():
        for name in record["figures"]:
            file = f"{key}_{name}.png"
            wanted.add(file)
            if (source / "figures" / file).exists():
                (docs / "figures" / "papers" / file).write_bytes((source / "figures" / file).read_bytes())
    for path in (docs / "figures" / "papers").glob("*.png"):
        if path.name not in wanted:
            path.unlink()
    write_pages(kept, docs / "papers", figures="../figures/papers", examples="../../examples")


def all_papers() -> tuple[Paper, ...]:
    """The papers, in order."""
    return PAPERS
