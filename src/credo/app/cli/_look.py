"""`credo look`."""

from __future__ import annotations

from typing import Any

import click

from credo.app.cli._options import (
    READING,
    column_options,
    data_file,
    debug_option,
    json_option,
    reading_arguments,
    reading_options,
)
from credo.app.cli._screen import Screen


@click.command(short_help="Show what a table holds, before any model is fitted.")
@click.argument("data", type=data_file)
@click.option("--target", metavar="NAME", help="The column to predict; finds columns that give it away.")
@column_options
@reading_options
@json_option
@debug_option
def look(data: str, target: str | None, as_json: bool, **options: Any) -> None:
    """Show the kind of each column of the table DATA, gaps, numbers that code missing values, groups, and time order.

    DATA is a CSV, Parquet, Excel or JSON lines file, or - for standard input. With --target, columns that alone nearly
    determine it are named. Notes say what was detected, and which option changes it.
    """
    from credo.study import look as profile

    screen = Screen(as_json=as_json)
    reading = reading_arguments(**{key: options.pop(key) for key in READING})
    with screen.notes_for_warnings():
        found = profile(data, target, **options, **reading)
    for title, text in found.lines():
        screen.say(f"{title:<11} {text}")
    for note in found.notes:
        screen.note(f"Note: {note}")
    screen.json(found.record())
