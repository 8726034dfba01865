"""`credo predict`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from credo.app.cli._files import check_outputs
from credo.app.cli._options import (
    data_file,
    debug_option,
    existing_file,
    json_option,
    parts,
    reading_arguments,
    reading_options,
)
from credo.app.cli._screen import Screen

LEVEL = 0.95


def probabilities(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, ...]:
    """The value of `--quantiles` as numbers between 0 and 1."""
    found = []
    for text in parts(value or ""):
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0 < number < 1:
            raise click.BadParameter(f"{text} is not strictly between 0 and 1.")
        found.append(number)
    return tuple(dict.fromkeys(found))


@click.command(short_help="Predict the rows of a table with intervals or probabilities.")
@click.argument("model", type=existing_file)
@click.argument("data", type=data_file)
@click.option("--level", type=float, help=f"Probability of the intervals. [default: {LEVEL}]")
@click.option(
    "--quantiles",
    metavar="P,P,…",
    callback=probabilities,
    help="Quantiles of each prediction in columns of their own, as in .05,.5,.95. [default: none]",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Output file. [default: stdout]")
@reading_options
@json_option
@click.option("--quiet", is_flag=True, help="Print no notes.")
@debug_option
def predict(
    model: str,
    data: str,
    level: float | None,
    quantiles: tuple[float, ...],
    output: str | None,
    as_json: bool,
    quiet: bool,
    **reading: Any,
) -> None:
    """Predict each row of the table DATA with MODEL, a file written by `credo fit`. DATA may be - for standard input.

    The output is CSV with the column row (1 is the first row below the header) and identifier columns of the table. For
    numbers it has mean, std, lower and upper, and of times until an event the median: a new observation is between
    lower and upper with probability --level; --quantiles adds columns such as q0.05. Numbers have four digits of std
    (with --json, all digits). If units such as patients have several rows, those of known ones are predicted from their
    other rows too, and new_lower and new_upper are the interval for a new unit.
    For classes it has predicted (the most probable label) and the probability of each label, such as p(spam). The
    column outside names values outside the training data, where a prediction is an extrapolation.
    """
    if level is not None and not 0 < level < 1:
        raise click.BadParameter(f"{level} is not strictly between 0 and 1.", param_hint="'--level'")
    screen = Screen(as_json=as_json, quiet=quiet)
    records: list[Any] = []
    shown: dict[str, Any] = {}
    check_outputs([Path(model), *([] if data == "-" else [Path(data)])], [] if output is None else [Path(output)])
    with screen.notes_for_warnings(), _written(output, echo=not as_json) as write:
        for frame in _predicted(Path(model), data, level, quantiles, reading_arguments(**reading), screen):
            write(frame)
            shown = {} if "predicted" in frame else {"level": LEVEL if level is None else level}
            records += frame.to_dict(orient="records") if as_json else []
    if output is not None:
        screen.note(f"{write.n_rows:,} predictions written to {output}")
    screen.json({"model": model, "data": data, **shown, "output": output, "predictions": records})


class _Writer:
    """Writes frames one after the other as one CSV table."""

    def __init__(self, put: Callable[[str], Any]) -> None:
        self._put, self.n_rows = put, 0

    def __call__(self, frame: Any) -> None:
        self._put(_rounded(frame).to_csv(index=False, header=not self.n_rows, lineterminator="\n"))
        self.n_rows += len(frame)


def _rounded(frame: Any) -> Any:
    """The predictions to four digits of their standard deviation, and probabilities to six; JSON has all digits."""
    import numpy as np

    shown = frame.copy()
    if "std" not in frame:
        names = [name for name in frame if str(name).startswith("p(") and frame[name].dtype.kind == "f"]
        return shown.assign(**{name: [float(f"{value:.6g}") for value in frame[name]] for name in names})
    std = frame["std"].to_numpy(dtype=float)
    usable = np.isfinite(std) & (std > 0)
    places = np.where(usable, 3 - np.floor(np.log10(np.where(usable, std, 1.0))), 12).astype(int)
    start = frame.columns.get_loc("median" if "median" in frame else "mean")
    for name in (name for name in frame.columns[start:] if frame[name].dtype.kind == "f"):
        shown[name] = [round(value, place) for value, place in zip(frame[name].tolist(), places.tolist(), strict=True)]
    return shown


@contextmanager
def _written(output: str | None, *, echo: bool) -> Iterator[_Writer]:
    """A writer to the output file, which appears when it is complete, or to stdout."""
    if output is None:
        yield _Writer(partial(click.echo, nl=False) if echo else lambda text: None)
        return
    from credo.tables import replacing

    with replacing(output) as file:
        yield _Writer(lambda text: file.write(text.encode()))


def _predicted(
    model_path: Path,
    data: str,
    level: float | None,
    quantiles: tuple[float, ...],
    reading: dict[str, Any],
    screen: Screen,
) -> Iterator[Any]:
    """The predictions for the table, in several frames if it is read in parts."""
    from sklearn.base import is_classifier

    from credo.study.large import large_table
    from credo.tables import TableModel, load, read_table
    from credo.tables.table_model import table_predictions

    model = load(model_path)
    for option, given in (("--level", level is not None), ("--quantiles", bool(quantiles))):
        if given and is_classifier(model):
            screen.note(f"Note: {option} applies to numbers only; for classes, probabilities are written.")
    large = large_table(data, reading)
    if large is None:
        sheet = read_table(data, **reading)
        for note in sheet.notes:
            screen.note(f"Note: {note}")
        tables = iter([sheet.frame])
    else:
        screen.note(f"Note: The table takes about {large.size / 1e9:.1f} GB in memory and is read in parts.")
        tables = large.frames()
    start = 0
    for table in tables:
        found = table_predictions(
            model, table, level=LEVEL if level is None else level, quantiles=quantiles, start=start
        )
        if isinstance(model, TableModel) and large is None:
            shift = model.shift(table)
            for said in (model.outside(table).note(), None if shift is None else shift.note()):
                if said is not None:
                    screen.note(f"Note: {said}")
        yield found
        start += len(table)
