"""A figure of the report: a question, the picture, the answer for this data, and how to read the picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from credo import plots
from credo.plots.styling import name_axis, name_date_axis

MAX_POINTS = 500
MAX_BARS = 20
SIZE = (4.7, 3.0)


@dataclass(frozen=True)
class Figure:
    """A question, the picture that answers it, the answer for this data, and how to read the picture."""

    key: str
    question: str
    svg: Markup
    answer: str
    reading: str


@dataclass(frozen=True)
class Listing:
    """A table as text: the headings, the cells of each row, a sentence about them, and a title."""

    head: Sequence[str] = ()
    lines: Sequence[Sequence[str]] = ()
    sentence: str = ""
    title: str = ""


def figure(
    key: str,
    question: str,
    draw: Callable[[Any], object],
    answer: str,
    reading: str,
    *,
    size: tuple[float, float] = SIZE,
) -> Figure:
    """Draw a figure; its text alternative is the question and the answer.

    If drawing fails, the texts stay and a note takes the place of the picture.
    """
    try:
        # Built by an XML writer, which escapes every name and label.
        image = Markup(plots.svg(draw, prefix=key, label=f"{question} {answer}", size=size))
    except Exception as error:
        note = f"This figure could not be drawn ({type(error).__name__}: {error})."
        image = Markup('<p class="failed">{}</p>').format(note)
    return Figure(key, question, image, answer, reading)


def bar_figure(
    key: str, question: str, names: list[str], values: Any, *, label: str, answer: str, reading: str
) -> Figure:  # fmt: skip
    """Horizontal bars, the longest first."""
    return figure(
        key,
        question,
        lambda ax: plots.bars(names, values, label=label, max_rows=MAX_BARS, ax=ax),
        answer,
        reading,
        size=(SIZE[0], 0.9 + 0.24 * min(MAX_BARS, len(names))),
    )


def name_x(ax: Any, label: str, *, dates: bool) -> None:
    """Label the horizontal axis, with dates as ticks if its values are days since 1970."""
    (name_date_axis if dates else name_axis)(ax.xaxis, label)
