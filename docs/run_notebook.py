"""Run a notebook without Jupyter and store what it shows: `python docs/run_notebook.py` renews docs/notebook.ipynb.

Cells share a namespace; the value of a last line that is an expression is shown as Jupyter shows it, by `_repr_html_` and `repr`.
"""

import ast
import contextlib
import io
import json
import sys
from pathlib import Path

NOTEBOOK = Path(__file__).parent / "notebook.ipynb"


def run_cell(source, names):
    """What a cell shows, as the outputs of nbformat 4."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append({"output_type": "execute_result", "data": data, "metadata": {}})
    return outputs


def run_notebook(path):
    """The notebook with what its cells show now."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names, count = {"__name__": "__main__"}, 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            outputs = run_cell("".join(cell["source"]), names)
            for output in outputs:
                if output["output_type"] == "execute_result":
                    output["execution_count"] = count
            cell["outputs"], cell["execution_count"] = outputs, count
    return notebook


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else NOTEBOOK
    path.write_text(
        json.dumps(run_notebook(path), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
