"""Sphinx's settings: ``make docs`` builds the pages into docs/_build/html, without a network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx_gallery.sorting import FileNameSortKey

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS / "_ext"), str(DOCS)]

from publish import folders  # noqa: E402 — after the path

import credo  # noqa: E402

project = "Credo"
author = "The Credo developers"
copyright = author
version = release = credo.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "reference",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery", "images"]
# In docstrings `name` is code, and a link where there is such a name.
default_role = "py:obj"
# Blocks that don't name their language are commands, output and formulas.
highlight_language = "none"
# The gallery's settings hold classes, which Sphinx can't cache; some names stand for methods of several classes.
suppress_warnings = ["config.cache", "ref.python"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
numpydoc_validate = False

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

SECTIONS = [
    "gaussians", "linear", "bayesian", "evidence", "classification", "kernels", "gaussian_processes", "ensembles",
    "sparse", "additive", "scale",
]  # fmt: skip


class TeachingOrder(FileNameSortKey):
    """The order of the examples of a section: that of the page "Teach with Credo"."""

    page = (DOCS / "teach.md").read_text(encoding="utf-8")

    def __call__(self, filename: str) -> int:
        return self.page.index(f"/{Path(filename).stem})")


sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["auto_examples"],
    "subsection_order": [f"gallery/{section}" for section in SECTIONS],
    "within_subsection_order": TeachingOrder,
    "filename_pattern": r"/plot_",
    "doc_module": ("credo",),
    "backreferences_dir": "auto_examples/used",
    "plot_gallery": True,
    # Examples print what they want to show.
    "capture_repr": (),
    "parallel": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 1_000_000,
    "remove_config_comments": True,
    "image_srcset": ["2x"],
    "matplotlib_animations": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "Credo"
html_static_path = ["_static"]
html_css_files = ["credo.css"]
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
html_theme_options = {
    "navigation_depth": 2,
    "show_nav_level": 1,
    "collapse_navigation": True,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
}
# The workflow that publishes the pages says where all versions are; without it there is no menu of versions.
if SITE := os.environ.get("CREDO_DOCS_SITE"):
    html_theme_options |= {
        "switcher": {
            "json_url": f"{SITE}/switcher.json",
            "version_match": folders(os.environ["CREDO_DOCS_VERSION"])[0],
        },
        "check_switcher": False,
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    }
# Pages without others below them have no menu at the left.
html_sidebars = {page.stem: [] for page in DOCS.glob("*.md")}

# Pages that the repository keeps outside of docs/, and where the site has them.
ELSEWHERE = {"(../CONTRIBUTING.md": "(contributing.md", "(../README.md": "(index.md"}


def relink(app: Sphinx, docname: str, source: list[str]) -> None:
    """Point links between the repository's files to the site's pages."""
    for there, here in ELSEWHERE.items():
        source[0] = source[0].replace(f"]{there}", f"]{here}")


def setup(app: Sphinx) -> None:
    app.connect("source-read", relink)
