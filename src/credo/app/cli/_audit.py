"""`credo audit`."""

from __future__ import annotations

from typing import Any

import click

from credo.app.cli._options import (
    data_file,
    debug_option,
    existing_file,
    json_option,
    reading_arguments,
    reading_options,
)
from credo.app.cli._screen import Screen


@click.command(short_help="Compare a model's predictions with the outcomes of new rows.")
@click.argument("model", type=existing_file)
@click.argument("data", type=data_file)
@reading_options
@json_option
@debug_option
def audit(model: str, data: str, as_json: bool, **reading: Any) -> None:
    """Compare the predictions of MODEL, a file written by `credo fit`, with the outcomes of new rows in the table DATA.

    DATA has the columns of the training table, the target included. Shown are coverage and calibration, of all rows and
    of every level with 50 rows; an e-value against calibration, which may be looked at again with every batch of rows
    (those of different rows are multiplied, and 100 is an alarm: a calibrated model ever gets there with a probability
    of 1 %); and the columns in which the rows differ from the training rows as a whole.
    """
    from credo.study import audit as audited
    from credo.tables import load, read_table

    screen = Screen(as_json=as_json)
    with screen.notes_for_warnings():
        sheet = read_table(data, **reading_arguments(**reading))
        for note in sheet.notes:
            screen.note(f"Note: {note}")
        found = audited(load(model), sheet.frame)
    for note in found.notes:
        screen.note(f"Note: {note}")
    screen.say(str(found))
    screen.json({"model": model, "data": data, **found.record()})
