"""Formulas as MathML, which browsers show without scripts and without a network.

Sphinx's own renderers load MathJax from the net or need LaTeX; docutils converts the same notation by itself.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _render(translator: Any, node: nodes.Element, *, as_block: bool) -> None:
    try:
        formula = latex2mathml.tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        raise nodes.SkipNode from error
    translator.body.append(f'<div class="formula">{formula}</div>' if as_block else formula)
    raise nodes.SkipNode


def inline(translator: Any, node: nodes.Element) -> None:
    _render(translator, node, as_block=False)


def block(translator: Any, node: nodes.Element) -> None:
    _render(translator, node, as_block=True)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
