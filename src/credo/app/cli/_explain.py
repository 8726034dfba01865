"""`credo explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from credo.app.cli._files import check_outputs
from credo.app.cli._options import (
    data_file,
    debug_option,
    existing_file,
    json_option,
    reading_arguments,
    reading_options,
)
from credo.app.cli._screen import Screen

FORMATS = ("svg", "png", "pdf")


@click.command(short_help="Explain the prediction of a row by its inputs.")
@click.argument("model", type=existing_file)
@click.argument("data", type=data_file)
@click.option("--row", type=click.IntRange(min=1), required=True, help="The row, 1 is the first below the header.")
@click.option("--background", type=existing_file, help="Table to compare with, as the training data. [default: DATA]")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help=f"Figure: {', '.join(FORMATS)}. [default: none]")
@reading_options
@json_option
@debug_option
def explain(
    model: str, data: str, row: int, background: str | None, output: str | None, as_json: bool, **reading: Any
) -> None:
    """Explain what MODEL, a file written by `credo fit`, predicts for a row of the table DATA.

    The row is compared with other rows, by default those of DATA: each input's contribution is how much its value in
    this row changes the prediction, on average over these rows (up to 100) and the order of the inputs (Shapley
    values). The contributions add up to the prediction less the average prediction, in units of the target; for classes
    they are those to the probability of the predicted class. Standard errors are given where orders were sampled. The
    contributions of an additive model are its terms, exactly; for classes they are log odds.
    --output writes a figure.
    """
    suffix = "" if output is None else Path(output).suffix.lower().removeprefix(".")
    if output is not None and suffix not in FORMATS:
        raise click.BadParameter(f"{output} must end in .{', .'.join(FORMATS)}", param_hint="'--output'")
    sources = [model, *([] if data == "-" else [data]), *([] if background is None else [background])]
    check_outputs([Path(source) for source in sources], [] if output is None else [Path(output)])

    from credo.study import explain as explained
    from credo.tables import TableModel, load, read_table, replacing

    screen = Screen(as_json=as_json)

    def inputs(path: str) -> Any:
        sheet = read_table(path, **reading_arguments(**reading))
        target = fitted.target if isinstance(fitted, TableModel) else None
        for note in sheet.notes:
            screen.note(f"Note: {note}")
        return sheet.frame.drop(columns=[target]) if target in sheet.frame.columns else sheet.frame

    with screen.notes_for_warnings():
        fitted = load(model)
        table = inputs(data)
        if row > len(table):
            raise click.BadParameter(f"{row} is more than the {len(table):,} rows of {data}.", param_hint="'--row'")
        others = table if background is None else inputs(background)
        found = explained(fitted, table.iloc[[row - 1]].set_axis([row], axis=0), others)
        if output is not None:
            with replacing(output) as file:
                found.waterfall().figure.savefig(file, format=suffix)
    shown = found.table()
    screen.say(str(shown))
    if output is not None:
        screen.note(f"Figure written to {output}")
    keys = ("input", "value", "contribution", "standard error")
    lines = zip(*(shown.columns[key] for key in keys), strict=True)
    screen.json(
        {
            "model": model,
            "data": data,
            "row": row,
            "predicted": found.outputs[0],
            "prediction": found.predictions[0],
            "average": found.base[0],
            "background_rows": found.n_background,
            "output": output,
            "contributions": [
                {"input": name, "value": value, "contribution": added, "standard_error": error or 0.0}
                for name, value, added, error in lines
            ],
        }
    )
