"""A figure as SVG text for a web page, in light and dark mode."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from io import StringIO
from typing import Any
from xml.etree import ElementTree

from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font

from credo.plots.styling import ACCENT, ALERT, INK, MUTED, RULE, style

# Colors that the style sheet of the page may change.
_ROLES = {INK: "ink", MUTED: "muted", RULE: "rule", ACCENT: "accent", ALERT: "alert", "#ffffff": "paper"}
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_COLOR = re.compile(r"#[0-9a-f]{6}")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_REFERENCE = re.compile(r"#([\w.-]+)")
# The font with which matplotlib measures text; the page uses its own.
_FONT = "DejaVu Sans"


def svg(draw: Callable[[Axes], object], *, prefix: str, label: str, size: tuple[float, float] = (4.7, 3.0)) -> str:
    """A drawing as an inline ``<svg>``; equal figures give equal bytes.

    Parameters
    ----------
    draw : callable(Axes)
    prefix : str
        Prefix of every id, so that two figures in one page don't share any.
    label : str
        The text alternative of the figure.
    size : pair of floats, default (4.7, 3.0)
        Width and height in inches.

    Notes
    -----
    Text stays text, in the font of the page; colors become ``var(--ink, …)``, ``--muted``, ``--rule``, ``--accent``,
    ``--alert`` and ``--paper``.

    Examples
    --------
    >>> from credo.plots import svg
    >>> svg(lambda ax: ax.plot([1, 2]), prefix="line", label="a line", size=(4, 3))[:61]
    '<svg viewBox="0 0 288 216" role="img" aria-label="a line" str'
    """
    with style({"font.family": _FONT, "svg.fonttype": "none", "svg.hashsalt": prefix}):
        figure = Figure(figsize=size, dpi=72, layout="constrained")
        canvas = _Canvas(figure)
        draw(figure.subplots())
        root = ElementTree.fromstring(_legible(canvas.text()))
    for parent in root.iter():
        for child in list(parent):
            # matplotlib's style element would apply to the whole page.
            if _local(child.tag) in ("metadata", "style"):
                parent.remove(child)
    used = {name for element in root.iter() for name in _references(element)}
    for element in root.iter():
        element.tag = _local(element.tag)
        element.text, element.tail = _trimmed(element.text), _trimmed(element.tail)
        attributes = {_local(name): value for name, value in element.attrib.items()}
        element.attrib.clear()
        element.attrib.update(_rewritten(attributes, used, prefix))
    view = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib.update({"viewBox": view, "role": "img", "aria-label": _legible(label), "stroke-linejoin": "round"})
    return ElementTree.tostring(root, encoding="unicode")


class _Canvas(FigureCanvasBase):
    """The canvas of one figure, which measures and draws it with the same renderer."""

    def get_renderer(self) -> _Renderer:
        """A renderer for measuring text, as the layout needs it."""
        return self._renderer(StringIO())

    def text(self) -> str:
        """The figure as SVG."""
        page = StringIO()
        renderer = self._renderer(page)
        self.figure.draw(renderer)
        renderer.finalize()
        return page.getvalue()

    def _renderer(self, page: StringIO) -> _Renderer:
        width, height = 72.0 * self.figure.get_size_inches()
        return _Renderer(width, height, page, metadata={"Date": None, "Creator": None})


class _Renderer(RendererSVG):
    """An SVG renderer that treats characters missing from the font as wide ones, instead of warning."""

    def get_text_width_height_descent(self, s: str, prop: Any, ismath: Any) -> tuple[float, float, float]:
        known = _glyphs()
        return super().get_text_width_height_descent("".join(c if ord(c) in known else "M" for c in s), prop, ismath)


@cache
def _glyphs() -> frozenset[int]:
    return frozenset(get_font(findfont(_FONT)).get_charmap())


def _rewritten(attributes: dict[str, str], used: set[str], prefix: str) -> dict[str, str]:
    """Attributes with prefixed ids, two decimals, named colors and no font of their own."""
    result = {}
    for name, value in attributes.items():
        if name == "id":
            if value in used:
                result[name] = f"{prefix}-{value}"
        elif name in ("href", "clip-path"):
            result[name] = _REFERENCE.sub(rf"#{prefix}-\1", value)
        elif name == "style":
            result[name] = _painted(value, prefix)
        elif not (name == "transform" and value.startswith("rotate(-0 ")):
            result[name] = _NUMBER.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), value)
            result[name] = " ".join(result[name].split())
    return result


def _painted(style: str, prefix: str) -> str:
    rules = [rule.strip() for rule in style.split(";")]
    # Up to matplotlib 3.9 text carried the shorthand "font: 8px 'DejaVu Sans'".
    rules = [re.sub(r"^font: (?:\w+ )*?([\d.]+px) .*", r"font-size: \1", rule) for rule in rules]
    text = "; ".join(rule for rule in rules if rule and not rule.startswith("font-family"))
    if "url(#" in text:
        return re.sub(r"url\(#([\w.-]+)\)", rf"url(#{prefix}-\1)", text)
    return _COLOR.sub(lambda match: _named(match[0]), text)


def _named(color: str) -> str:
    return f"var(--{_ROLES[color]}, {color})" if color in _ROLES else color


def _references(element: ElementTree.Element) -> list[str]:
    values = [v for k, v in element.attrib.items() if _local(k) in ("href", "clip-path", "style")]
    return [name for value in values for name in re.findall(r"(?:^|url\()#([\w.-]+)", value)]


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _legible(text: str) -> str:
    """A text without characters that XML can't contain or that change the direction of writing."""
    return _TURNS.sub("", _CONTROLS.sub(" ", text))


def _trimmed(text: str | None) -> str | None:
    return text if text and text.strip() else None
