"""Render mathematics as MathML with docutils' own converter: no scripts, no fonts, nothing to download."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.locale import _


def _convert(node, **options):
    # as accents, dots and hats touch the letter where the reader's fonts have no mathematical tables
    return tex2mathml(node.astext(), **options).replace('<mover accent="true">', "<mover>")


def _inline(self, node):
    self.body.append(_convert(node))
    raise nodes.SkipNode


def _block(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({node["number"]})')
        self.add_permalink_ref(node, _("Link to this equation"))
        self.body.append("</span>")
    self.body.append(_convert(node, as_block=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx):
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
