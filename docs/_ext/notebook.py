"""Show an executed notebook on a page, ```{notebook} name.ipynb```: its text, code, and what the code showed."""

import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx


class Notebook(Directive):
    """Cells one after the other."""

    required_arguments = 1
    has_content = False

    def run(self):
        """The nodes of all cells."""
        env = self.state.document.settings.env
        path = Path(env.srcdir) / self.arguments[0]
        env.note_dependency(str(path))
        out = []
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                holder = nodes.Element()
                self.state.nested_parse(
                    StringList(source.splitlines(), str(path)), 0, holder, match_titles=True
                )
                out += holder.children
                continue
            out.append(nodes.literal_block(source, source, language="python"))
            for output in cell["outputs"]:
                out.append(self.shown(output))
        return out

    @staticmethod
    def shown(output):
        """What a cell showed."""
        data = output.get("data", {})
        if "text/html" in data:
            html = "".join(data["text/html"])
            return nodes.raw("", f'<div class="notebook-output">{html}</div>', format="html")
        text = "".join(output.get("text") or data["text/plain"])
        return nodes.literal_block(text, text, language="text")


def setup(app: Sphinx):
    """Make the directive known."""
    app.add_directive("notebook", Notebook)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
