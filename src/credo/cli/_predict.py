"""`credo predict`."""

import csv
import io
from pathlib import Path
from typing import Any

import click

from credo.cli._options import debug_option, existing_file, json_option, reading_arguments, reading_options
from credo.cli._screen import Screen

_COLUMNS = ("row", "mean", "std", "lower", "upper")


@click.command(short_help="Predict the rows of a table, with intervals.")
@click.argument("model", type=existing_file)
@click.argument("data", type=existing_file)
@click.option("--level", type=float, default=0.95, show_default=True, help="Probability of the interval.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="The file to write. [default: stdout]")
@reading_options
@json_option
@debug_option
def predict(model: str, data: str, level: float, output: str | None, as_json: bool, **reading: Any) -> None:
    """Predict each row of the table DATA by MODEL, a file that `credo fit` wrote.

    The answer is CSV with the columns row (1 is the first row below the header), mean, std, lower and
    upper; a new observation lies between the last two with the probability of --level.
    """
    if not 0 < level < 1:
        raise click.BadParameter(f"{level} doesn't lie strictly between 0 and 1.", param_hint="'--level'")
    screen = Screen(as_json=as_json)
    with screen.notes_for_warnings():
        records = _records(Path(model), Path(data), level, reading_arguments(**reading), screen)
    text = _csv(records)
    if output is not None:
        from credo.cli._files import refuse_overwriting
        from credo.io import replacing

        refuse_overwriting([Path(model), Path(data)], [Path(output)])
        with replacing(output) as file:
            file.write(text.encode())
        screen.note(f"{len(records)} predictions written to {output}")
    elif not as_json:
        click.echo(text, nl=False)
    screen.json({"model": model, "data": data, "level": level, "output": output, "predictions": records})


def _records(
    model_path: Path, data: Path, level: float, reading: dict[str, Any], screen: Screen
) -> list[dict[str, float]]:
    from credo.io import load, read_table
    from credo.metrics import point, predictive

    model = load(model_path)
    sheet = read_table(data, **reading)
    target = getattr(model, "target", None)
    frame = sheet.frame.drop(columns=[target]) if target in sheet.frame.columns else sheet.frame
    for note in sheet.notes:
        screen.note(f"Note: {note}")
    dist = predictive(model, frame)
    lower, upper = dist.interval(level)
    rows = zip((int(label) + 1 for label in frame.index), point(dist), dist.std, lower, upper, strict=True)
    return [
        {name: value if name == "row" else float(value) for name, value in zip(_COLUMNS, row, strict=True)}
        for row in rows
    ]


def _csv(records: list[dict[str, float]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return buffer.getvalue()
