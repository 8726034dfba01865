"""`credo predict`."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import click

from credo.cli._options import debug_option, existing_file, json_option, reading_arguments, reading_options
from credo.cli._screen import Screen

Records = list[dict[str, Any]]

LEVEL = 0.95


@click.command(short_help="Predict the rows of a table, with intervals or probabilities.")
@click.argument("model", type=existing_file)
@click.argument("data", type=existing_file)
@click.option("--level", type=float, help=f"Probability of the interval of a number. [default: {LEVEL}]")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="The file to write. [default: stdout]")
@reading_options
@json_option
@debug_option
def predict(model: str, data: str, level: float | None, output: str | None, as_json: bool, **reading: Any) -> None:
    """Predict each row of the table DATA by MODEL, a file that `credo fit` wrote.

    The answer is CSV. Of numbers it has the columns row (1 is the first row below the header), mean, std,
    lower and upper; a new observation lies between the last two with the probability of --level. Of classes
    it has row, predicted (the likeliest label), and the probability of each label, as p(spam).
    """
    if level is not None and not 0 < level < 1:
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
    shown = {} if "predicted" in records[0] else {"level": LEVEL if level is None else level}
    screen.json({"model": model, "data": data, **shown, "output": output, "predictions": records})


def _records(
    model_path: Path, data: Path, level: float | None, reading: dict[str, Any], screen: Screen
) -> Records:  # fmt: skip
    from sklearn.base import is_classifier

    from credo.io import load, read_table

    model = load(model_path)
    sheet = read_table(data, **reading)
    target = getattr(model, "target", None)
    frame = sheet.frame.drop(columns=[target]) if target in sheet.frame.columns else sheet.frame
    for note in sheet.notes:
        screen.note(f"Note: {note}")
    if is_classifier(model):
        if level is not None:
            screen.note("Note: --level is for intervals of numbers; of classes the probabilities are written.")
        return _classes(model, frame)
    return _numbers(model, frame, LEVEL if level is None else level)


def _numbers(model: Any, frame: Any, level: float) -> Records:
    from credo.metrics import point, predictive

    dist = predictive(model, frame)
    lower, upper = dist.interval(level)
    columns = {"mean": point(dist), "std": dist.std, "lower": lower, "upper": upper}
    return _by_row(frame, {name: values.tolist() for name, values in columns.items()})


def _classes(model: Any, frame: Any) -> Records:
    table = model.predict_proba(frame)
    columns = {"predicted": model.classes_[table.argmax(axis=1)].tolist()}
    columns |= {f"p({label})": table[:, k].tolist() for k, label in enumerate(model.classes_.tolist())}
    return _by_row(frame, columns)


def _by_row(frame: Any, columns: dict[str, list[Any]]) -> Records:
    rows = [int(label) + 1 for label in frame.index]
    return [dict(zip(("row", *columns), line, strict=True)) for line in zip(rows, *columns.values(), strict=True)]


def _csv(records: Records) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return buffer.getvalue()
