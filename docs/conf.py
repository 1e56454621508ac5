"""Sphinx configuration: `make docs` builds the site into build/docs."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
sys.path.insert(0, str(HERE.parent / "src"))

from sphinx.domains.python import PyObject  # noqa: E402

import pliant  # noqa: E402
from pliant.io.reference import reference  # noqa: E402

(HERE / "model_file_keys.md").write_text(reference(), encoding="utf-8")

project = "pliant"
author = "The pliant authors"
copyright = author
version = release = pliant.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "mathml",
    "notebook",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "amsmath", "attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# the docstrings give types, shapes and units in words
autodoc_typehints = "none"
# the same pages whether they are installed or not
autodoc_mock_imports = ["torch", "jax", "casadi", "crocoddyl", "stable_baselines3"]
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_preserve_defaults = True
autosummary_generate = False
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
default_role = "py:obj"
for field in PyObject.doc_field_types:  # types are words such as "array (nv,)": nothing to link
    if hasattr(field, "typerolename"):
        field.typerolename = ""
    if field.name == "variable":
        field.label = "Attributes"
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "pliant"
html_static_path = ["_static"]
html_css_files = ["pliant.css"]
html_js_files = ["gallery.js"]
html_favicon = "_static/icon.svg"
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_logo": "logo-light.svg",
    "dark_logo": "logo-dark.svg",
    "sidebar_hide_name": True,
    "light_css_variables": {"color-brand-primary": "#0b6e69", "color-brand-content": "#0b6e69"},
    "dark_css_variables": {"color-brand-primary": "#4fc3b8", "color-brand-content": "#4fc3b8"},
}
