"""The tables of docs/benchmarks.md from the JSON file; each stands in a block that is written again by every run."""

from __future__ import annotations

import re
import statistics as statistics_module
from pathlib import Path
from typing import Any

import scans
from measure import RODS, cheapest

Results = dict[str, Any]
NAMES = {
    "pliant": "pliant",
    "exudyn": "Exudyn",
    "mujoco": "MuJoCo",
    "mjx": "MJX",
    "soromox": "soromox",
    "pyelastica": "PyElastica",
    "pinocchio": "Pinocchio",
}
# SoRoMoX's paper results, RTX 5090, 256 robots at once: simulated seconds per second in total
PUBLISHED = {
    "planar, constant strain, 1 / 4 / 16 segments": (20.8, 6.5, 1.1),
    "spatial, constant strain, 1 / 4 / 16 segments": (13.0, 3.0, 0.35),
    "GVS, 1 / 4 / 16 segments": (3.6, 0.70, 0.12),
}


def digits(x: float) -> str:
    """Two digits, or whole numbers."""
    return f"{x:.2g}" if x < 10 else f"{x:.0f}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join("| " + " | ".join(r) + " |" for r in (head, ["---"] * len(head), *rows))


def described(settings: dict[str, Any]) -> str:
    """The settings in few words."""
    words = {
        "n": "n {}",
        "steps": "{} steps",
        "order": "order {}",
        "points": "{} points",
        "rtol": "rtol {:g}",
        "linear": "linear {}",
    }
    words |= {"solver": "{}", "method": "{}", "stiff": "EA × {:g}", "load_steps": "{} load steps"}
    full = settings.get("full", True)
    return ", ".join(
        words[k].format(v) for k, v in settings.items() if k in words and v is not None and (k != "linear" or full)
    )


def unrest(results: Results) -> float:
    """Median over shortest time of the rounds, in the middle of all rows: 1 on a quiet machine."""
    rows = [r for section in ("statics", "chains", "gradients", "batches", "papers") for r in results.get(section, ())]
    ratios = [r["median"] / r["seconds"] for r in rows + results.get("rod", {}).get("rows", []) if "median" in r]
    return statistics_module.median(ratios) if ratios else 1.0


def machine(results: Results) -> str:
    """Where and what was measured."""
    m = results["machine"]
    lines = [
        f"{m['processor']}, {m['cores']} cores; Python {m['python']}. Load of the machine when the run began: {m['load']:.1f}."
    ]
    lines.append("Versions: " + ", ".join(f"{NAMES[k]} {v}" for k, v in m["versions"].items()) + ".")
    lines += [f"Not measured: {NAMES.get(k, k)} ({why})." for k, why in results["missing"].items()]
    ratio = unrest(results)
    lines.append(
        f"In the middle of all measurements the median of the rounds is {ratio:.2f} times the shortest, which is given; other work that goes on all the time does not show."
    )
    if ratio > 1.1 or m["load"] > 0.5:
        lines.append(
            "**The machine was busy with other work: these are numbers of a trial; ratios may be off by a factor.**"
        )
    if m["quick"]:
        lines.append("This was a quick run: few settings, few rounds.")
    return "\n".join(lines)


def rod(results: Results) -> str:
    """Cheapest time for each error, a table for each problem."""
    found = []
    for problem in scans.PROBLEMS:
        body = []
        for peer in RODS:
            mine = [r for r in results["rod"]["rows"] if (r["peer"], r["problem"]) == (peer, problem)]
            if not mine:
                continue
            cells, last = [], ""
            for level in scans.LEVELS:
                row = cheapest(mine, level)
                if row is None:
                    cells.append("–")
                else:
                    cells.append(f"{digits(1e3 * row['seconds'])} ms ({row['error']:.1e})")
                    last = described(row["settings"])
            errors = [r["error"] for r in mine if "error" in r]
            left = sum(r.get("failed", "").startswith("left out") for r in mine)
            tried = str(len(mine) - left) + (f" ({left} left out for lack of time)" if left else "")
            last = last or (f"best error {min(errors):.1e}" if errors else "")
            first = min((r["first"] for r in mine if "first" in r), default=0.0)
            compiled = f"{digits(first)} s" if peer == "soromox" and first else ""
            body.append([NAMES[peer], *cells, last, tried, compiled])
        head = [
            problem,
            *(f"error ≤ {100 * x:g} %" for x in scans.LEVELS),
            "settings of the last",
            "settings tried",
            "compiling",
        ]
        found.append(table(head, body))
    body = []
    for problem in scans.PROBLEMS:
        mine = [r for r in results["rod"]["rows"] if (r["peer"], r["problem"]) == ("pliant", problem)]
        best = [cheapest(mine, level) for level in scans.LEVELS]
        body.append([problem, *("–" if row is None else described(row["settings"]) for row in best)])
    found.append(table(["pliant's settings", *(f"error ≤ {100 * x:g} %" for x in scans.LEVELS)], body))
    change = results["rod"]["reference_change"]
    found.append(
        f"With order 16 instead of 20 and a tenfold tolerance the reference moves by {change['bending']:.0e} of the length (bending) and "
        f"{change['all strains']:.0e} (all strains)."
    )
    return "\n\n".join(found)


def statics(results: Results) -> str:
    """The rod at rest."""
    body = []
    for problem in scans.PROBLEMS:
        for peer in ("pliant", "exudyn"):
            mine = [r for r in results["statics"] if (r["peer"], r["problem"]) == (peer, problem)]
            cells = []
            for level in (1e-2, 1e-3, 1e-4):
                row = cheapest(mine, level)
                cells.append("–" if row is None else f"{digits(1e3 * row['seconds'])} ms ({row['error']:.0e})")
            if mine:
                body.append([problem, NAMES[peer], *cells])
    return table(["rod", "", "error ≤ 1 %", "≤ 0.1 %", "≤ 0.01 %"], body)


def chains(results: Results) -> str:
    """Times in µs, by number of joints."""
    rows = [r for r in results["chains"] if "n" in r["settings"]]
    sizes = sorted({r["settings"]["n"] for r in rows})

    def cell(n: int, what: str, peer: str, inside: bool = False) -> float | None:
        for r in rows:
            x = r["settings"]
            if (r["peer"], x["n"], x["what"], x.get("inside", False)) == (peer, n, what, inside) and "seconds" in r:
                return 1e6 * float(r["seconds"])
        return None

    kinds = [
        ("pliant, inside", "pliant", True),
        ("pliant, call", "pliant", False),
        ("Pinocchio, call", "pinocchio", False),
    ]
    kinds.append(("MuJoCo, call", "mujoco", False))
    body = []
    for what, name in (("ID", "inverse dynamics"), ("dID", "its derivatives"), ("FD", "forward dynamics")):
        for label, peer, inside in kinds:
            values = [cell(n, what, peer, inside) for n in sizes]
            if any(v is not None for v in values):
                body.append([name, label, *("–" if v is None else digits(v) for v in values)])
    out = table(["µs", "", *(f"{n} joints" for n in sizes)], body)
    pairs = [(cell(10, "dID", "pliant", True), cell(10, "dID", "pinocchio"))]
    binding = next((r["seconds"] for r in results["chains"] if "n" not in r["settings"] and "seconds" in r), None)
    if binding and all(x is not None for x in pairs[0]):
        ours, theirs = pairs[0]
        assert ours is not None
        assert theirs is not None
        out += (
            f"\n\nPinocchio's shortest call from Python (inverse dynamics of one joint) takes {1e6 * binding:.2f} µs; less that, derivatives of 10 joints "
            f"are {theirs - 1e6 * binding:.1f} µs, pliant's inside compiled code {ours:.1f} µs: a ratio of {ours / (theirs - 1e6 * binding):.2f}."
        )
    worst = max((r["difference"] for r in rows if "difference" in r), default=None)
    if worst is not None:
        out += f" The results of all three agree to {worst:.0e}."
    return out


def gradients(results: Results) -> str:
    """Rollout and gradient."""
    body = []
    for r in results["gradients"]:
        if not r["settings"]["with_gradient"]:
            continue
        plain = {**r["settings"], "with_gradient": False}
        alone = next((x for x in results["gradients"] if x["peer"] == r["peer"] and x["settings"] == plain), {})
        cells = [f"{digits(1e3 * x['seconds'])} ms" if "seconds" in x else "fails" for x in (alone, r)]
        errors = [f"{r[k]:.0e}" if k in r else "–" for k in ("error", "slope_error")]
        body.append(
            [
                NAMES[r["peer"]],
                described(r["settings"]),
                *cells,
                *errors,
                f"{digits(r['first'])} s" if "first" in r else "–",
            ]
        )
    return table(
        ["", "settings", "rollout", "with its gradient", "error of the cost", "of the gradient", "first call"], body
    )


def batches(results: Results) -> str:
    """Throughput, and what others published."""
    body = []
    for r in sorted(results["batches"], key=lambda r: r["model"]):
        rate = f"{digits(r['throughput'])}" if "throughput" in r else f"fails: {r.get('failed', '')}"[:60]
        error = f"{r['error']:.1e}" if "error" in r else "–"
        body.append([r["model"], NAMES[r["peer"]], str(r["settings"]["count"]), described(r["settings"]), error, rate])
    body += [
        [f"published by soromox: {k}", "GPU (RTX 5090)", "256", "", "–", " / ".join(map(str, v))]
        for k, v in PUBLISHED.items()
    ]
    return table(["model", "", "at once", "settings", "error of one", "simulated seconds per second"], body)


def papers(results: Results) -> str:
    """Printed times beside pliant's."""
    body = []
    names = list(dict.fromkeys(r["settings"]["name"] for r in results["papers"]))
    for name in names:
        mine = [r for r in results["papers"] if r["settings"]["name"] == name]
        runs = sorted((r for r in mine if not r.get("statics")), key=lambda r: -r["settings"]["rtol"])
        cells = [
            f"{r['seconds']:.2g} s ({r['error'] / r['length']:.0e})" if "error" in r and "seconds" in r else "fails"
            for r in runs
        ]
        rest = next((r for r in mine if r.get("statics")), None)
        still = f"{1e3 * rest['seconds']:.2g} ms; {1e3 * rest['printed']:.2g} ms" if rest else ""
        body.append([runs[0]["source"], name, f"{runs[0]['duration']:g} s", *cells, f"{runs[0]['printed']:g} s", still])
    return table(
        ["", "robot", "motion", "rtol 1e-3 (error)", "rtol 1e-4 (error)", "printed", "statics here; printed"], body
    )


BLOCKS = {
    "machine": machine,
    "rod": rod,
    "statics": statics,
    "chains": chains,
    "gradients": gradients,
    "batches": batches,
    "papers": papers,
}


def page(text: str, results: Results) -> str:
    """The page with its blocks written anew."""
    for name, make in BLOCKS.items():
        begin, end = f"<!-- peers: {name} -->", "<!-- end -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"docs/benchmarks.md lacks the block {name!r}")
        block = f"{begin}\n\n{make(results)}\n\n{end}"
        text = pattern.sub(lambda _, block=block: block, text)
    return text


def rewrite(path: Path, results: Results) -> None:
    """Write the blocks of the page."""
    path.write_text(page(path.read_text(), results))
