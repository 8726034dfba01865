"""A figure as SVG text that may stand beside others in one page, in light and in dark."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from io import StringIO
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from credo.plots._style import ACCENT, ALERT, INK, MUTED, RULE, style

# What the page's style sheet may repaint; each keeps its colour where the page sets none.
_ROLES = {INK: "ink", MUTED: "muted", RULE: "rule", ACCENT: "accent", ALERT: "alert", "#ffffff": "paper"}
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_COLOR = re.compile(r"#[0-9a-f]{6}")
_REFERENCE = re.compile(r"#([\w.-]+)")


def svg(draw: Callable[[Axes], object], *, prefix: str, label: str, size: tuple[float, float] = (4.7, 3.0)) -> str:
    """What a function draws on the axes it is given, as an inline ``<svg>``; always the same bytes.

    Parameters
    ----------
    draw : callable(Axes)
    prefix : str
        Starts every id inside, so that two figures in one page don't share any.
    label : str
        What the figure shows, for those who can't see it.
    size : pair of floats, default (4.7, 3.0)
        Width and height in inches.

    Notes
    -----
    Text stays text, in the page's own font; the style's colours become ``var(--ink, …)``, ``--muted``,
    ``--rule``, ``--accent``, ``--alert`` and ``--paper``.

    Examples
    --------
    >>> svg(lambda ax: ax.plot([1, 2]), prefix="line", label="a line", size=(4, 3))[:61]
    '<svg viewBox="0 0 288 216" role="img" aria-label="a line" str'
    """
    with style():
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
    root = ElementTree.fromstring(_drawn(figure, salt=prefix))
    for parent in root.iter():
        for child in list(parent):
            # matplotlib's style element speaks of every element of the page, not of its own figure alone.
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
    root.attrib.update({"viewBox": view, "role": "img", "aria-label": label, "stroke-linejoin": "round"})
    return ElementTree.tostring(root, encoding="unicode")


def _drawn(figure: Figure, *, salt: str) -> str:
    page = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}), warnings.catch_warnings():
        # The page's font draws the text; that matplotlib's has no glyph for a sign doesn't matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(page, format="svg", facecolor="none", metadata={"Date": None, "Creator": None})
    return page.getvalue()


def _rewritten(attributes: dict[str, str], used: set[str], prefix: str) -> dict[str, str]:
    """Attributes with prefixed ids, two decimals, named colours and no font of their own."""
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


def _trimmed(text: str | None) -> str | None:
    return text if text and text.strip() else None
