"""The page as a file."""

from __future__ import annotations

import os
from typing import Any

from credo.io.files import replacing
from credo.report._page import render


def write(
    path: str | os.PathLike[str],
    *,
    title: str,
    sheet_notes: Any,
    preparation: Any,
    comparison: Any,
    models: Any,
    target: str,
    frame: Any,
    y: Any,
    seed: int | None,
    source: str | None = None,
    date: str | None = None,
    notes: Any = (),
    selected: str | None = None,
    reason: str | None = None,
) -> None:
    """Write the report of a comparison as one HTML file that needs nothing else.

    Parameters
    ----------
    path : path of the file, replaced in one step
    title : str
        The page's heading, best a question.
    sheet_notes : sequence of str
        What was noticed while the table was read.
    preparation : fitted credo.io.Preparation
        For the columns and what was done to them.
    comparison : credo.selection.Comparison
    models : dict of name to credo.io.TableModel
        Fitted on all rows, by the names of the comparison.
    target : str
        The name of what is predicted.
    frame : pandas.DataFrame
        The rows that were compared on, without the target.
    y : array of shape (n_samples,)
    seed : int or None
        For the record.
    source : str, optional
        What the table is called, printed below the heading.
    date : str, optional
        Printed as it is; without it the page holds no date, and equal input makes equal bytes.
    notes : sequence of str, or of objects with a text and an attribute `important`
        What else the reader should know. Important notes (also among `sheet_notes` and those of the comparison) are
        highlighted on top of the page.
    selected, reason : str, optional
        The model that the page is about, and why; by default those of the comparison.
    """
    page = render(
        title=title, sheet_notes=sheet_notes, preparation=preparation, comparison=comparison, models=models,
        target=target, frame=frame, y=y, seed=seed, source=source, date=date, notes=notes,
        selected=selected, reason=reason,
    )  # fmt: skip
    # Half a surrogate pair, as a broken file name may hold, is no UTF-8.
    with replacing(path) as handle:
        handle.write(page.encode("utf-8", errors="xmlcharrefreplace"))
