"""`credo fit`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
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
from credo.app.cli._screen import Screen, command_as_typed
from credo.study.catalogue import known_name, names


def model_names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """The value of `--models` as names; None for the default."""
    if value is None:
        return None
    found = tuple(dict.fromkeys(name.strip().lower() for name in value.split(",") if name.strip()))
    if not found:
        raise click.BadParameter(f"name at least one of {', '.join(names())}.")
    for name in found:
        try:
            known_name(name)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return found


def seconds(ctx: click.Context, param: click.Parameter, value: str) -> float | None:
    """The value of `--time`: a number of seconds, or "none" for no limit."""
    if value.lower() == "none":
        return None
    try:
        time = float(value)
    except ValueError:
        time = -1.0
    if not 0 < time < float("inf"):
        raise click.BadParameter(f"{value!r} is neither a positive number of seconds nor 'none'.")
    return time


def support_ends(ctx: click.Context, param: click.Parameter, value: str) -> str | tuple[float, float]:
    """The value of `--support`: a word, or two numbers."""
    if value in ("auto", "real"):
        return value
    low, colon, high = value.partition(":")
    try:
        if colon and float(low) < float(high):
            return float(low), float(high)
    except ValueError:
        pass
    raise click.BadParameter(f"{value!r} is neither 'auto' nor 'real' nor two numbers such as 1:7.")


@click.command(short_help="Compare models on a table; save the selected one and a report.")
@click.argument("data", type=data_file)
@click.option("--target", metavar="NAME", help="The column to predict: numbers or classes.  [required]")
@click.option(
    "--task",
    type=click.Choice(["regression", "classification"]),
    help="Predict numbers or classes. [default: inferred from the target]",
)
@click.option(
    "--models",
    "models",
    metavar="A,B,…",
    callback=model_names,
    help=f"Models to compare. For numbers: {', '.join(names('regression'))}. For classes: "
    f"{', '.join(names('classification'))}. [default: all that fit into the time]",
)
@click.option(
    "--time",
    metavar="SECONDS",
    default="60",
    callback=seconds,
    show_default=True,
    help="Time budget for the whole run, or 'none' for no limit. Models that usually gain most in a second are fitted "
    "first; a quarter of the time is kept for the report.",
)
@click.option(
    "--continue",
    "earlier",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="Output folder of an earlier run on the same table that did not finish all models: fit the missing ones.",
)
@click.option("--select", metavar="NAME", help="Select this model, regardless of the scores.")
@click.option(
    "--keep",
    type=click.Choice(["selected", "all"]),
    default="selected",
    show_default=True,
    help="Models to save: only the selected one as model.credo, or also every model as NAME.credo.",
)
@column_options
@click.option(
    "--support",
    metavar="auto|real|LOW:HIGH",
    default="auto",
    callback=support_ends,
    show_default=True,
    help="Possible values of a target of numbers: what its values show, such as whole numbers or none below 0; all "
    "real numbers; or those between two ends, as 1:7 for ratings.",
)
@click.option(
    "--group",
    "group",
    metavar="NAME",
    help="Column of units with several rows each, such as patients: hold out all rows of a unit together. "
    "[default: detected]",
)
@click.option("--no-group", is_flag=True, help="Hold out single rows even if a column of units is detected.")
@click.option("--weight", metavar="NAME", help="Column of weights: a row of weight 2 counts as two equal rows.")
@click.option(
    "--exposure",
    metavar="NAME",
    help="Column to which the target is proportional, such as the policies or years behind a number of claims.",
)
@click.option(
    "--event",
    metavar="NAME[=VALUE]",
    help="For a target of times until an event: column that says whether it was observed, and its value if it was.",
)
@click.option("--shuffle", is_flag=True, help="Hold out rows at random even if the table is in time order.")
@click.option("--out", type=click.Path(file_okay=False), default=".", show_default=True, help="Output folder.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
@click.option(
    "--folds",
    "--cv",
    type=click.IntRange(min=2),
    help="Number of cross-validation folds. [default: 5, or with more than 3,000 rows a single held-out part]",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "dask"]),
    default="local",
    show_default=True,
    help="Engine that fits the selected model to all rows of a Parquet file that is read in parts.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Address of a Dask scheduler. [default: processes here]")
@reading_options
@json_option
@click.option("--quiet", is_flag=True, help="Print only errors.")
@debug_option
def fit(data: str, target: str | None, out: str, keep: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """Compare models on the table DATA by their held-out predictions of the target column, and select one.

    DATA is a CSV, Parquet, Excel or JSON lines file, or - for standard input.

    Writes model.credo (the selected model, fitted on all rows), report.html, leaderboard.csv and held_out.csv (the
    held-out predictions) into the output folder and, if spike-slab is among the models, inclusions.csv: the
    probability that each input matters. When the time is over, or on Ctrl-C, the finished models are compared and
    written. Existing files of these names are replaced once the new ones are complete.

    A Parquet file that takes more than 1 GiB or a quarter of the memory is read in parts: models are compared on a
    random sample of the rows, and the selected one is fitted to all of them, regardless of the time.
    """
    if options["scheduler"] is not None and options["engine"] != "dask":
        raise click.UsageError("--scheduler is for --engine dask.")
    screen = Screen(as_json=as_json, quiet=quiet)
    reading = reading_arguments(**{key: options.pop(key) for key in READING})
    if target is None:
        raise click.UsageError(_missing_target(data, reading))
    columns = {key: options.pop(key) for key in ("drop", "kinds", "keep_sentinels")}
    run_and_show(
        data,
        target,
        screen,
        sys.argv[1:],
        out=Path(out),
        reading=reading,
        keep_all=keep == "all",
        columns=columns,
        **options,
    )


def _missing_target(data: str, reading: dict[str, Any]) -> str:
    from credo.core.wording import quoted
    from credo.tables import read_table

    columns = read_table(data, **reading).frame.columns
    source = "standard input" if data == "-" else Path(data).name
    return f"Missing option '--target'. Choose the column to predict; {source} has {quoted(columns, most=15)}."


def run_and_show(
    data: str,
    target: str,
    screen: Screen,
    arguments: Sequence[str],
    *,
    out: Path,
    reading: dict[str, Any] | None = None,
    keep_all: bool = False,
    task: str | None = None,
    columns: dict[str, Any] | None = None,
    shuffle: bool = False,
    support: str | tuple[float, float] = "auto",
    group: str | None = None,
    no_group: bool = False,
    weight: str | None = None,
    exposure: str | None = None,
    event: str | None = None,
    engine: str = "local",
    earlier: str | None = None,
    **options: Any,
) -> None:
    """Run the study of `credo` with these arguments, write its files and print the results."""
    from credo.app.cli._files import check_outputs, staging
    from credo.study import dataset, run, write
    from credo.study.display import display
    from credo.study.study import OUTPUTS

    # The names of the models that a run adds are not known yet.
    kept = sorted(out.glob("*.credo")) if keep_all else []
    check_outputs([] if data == "-" else [Path(data)], [*(out / name for name in OUTPUTS), *kept])
    with screen.notes_for_warnings(), staging(out) as stage:
        in_order = False if shuffle else None
        table = dataset(
            data,
            target,
            task=task,
            reading=reading,
            time_order=in_order,
            support=support,
            groups=False if no_group else group,
            weight=weight,
            exposure=exposure,
            event=event,
            engine=engine,
            **(columns or {}),
        )
        kind = f" of {table.size.classes} classes" if table.size.classes else ""
        screen.say(f"{table.source}: {table.shape}, target {target!r}{kind}.")
        for note in table.notes:
            screen.note(f"Note: {note}")
        with display(enabled=not (screen.quiet or screen.as_json)) as shown:
            report = _events(screen, table.task) if screen.as_json else shown
            study = run(table, report=report, engine=engine, continue_from=_earlier(earlier), **options)
        said = {note.text for note in table.notes}
        for note in study.notes:
            if note.text not in said:
                screen.note(f"Note: {note}")
        for missing in write(study, stage.folder, keep_all=keep_all):
            screen.note(f"Note: {missing}")
        outputs = stage.publish()
    for name in OUTPUTS:
        if name not in outputs and (out / name).exists():
            screen.note(f"Note: {out / name} is from an earlier run; this run did not write it.")
    _show(study, outputs, screen, data, arguments)


def _earlier(folder: str | None) -> Any:
    """The finished models of an earlier run."""
    if folder is None:
        return None
    from credo.selection import SavedTrials
    from credo.study.study import STUDY
    from credo.tables import load

    path = Path(folder) / STUDY
    if not path.exists():
        raise click.BadParameter(f"{folder} has no {STUDY}: it is written if a run didn't finish all models.")
    found = load(path)
    if not isinstance(found, SavedTrials):
        raise click.BadParameter(f"{path} is not of a study.")
    return found


def _continuing(arguments: Sequence[str], folder: str) -> list[str]:
    """The same arguments with --continue: without an option such as --exposure it would be another study."""
    typed = [word for word in arguments if not word.startswith("--continue=")]
    if "--continue" in typed:
        place = typed.index("--continue")
        del typed[place : place + 2]
    return [*typed, "--continue", folder]


def _events(screen: Screen, task: str) -> Callable[[Any], None]:
    """A function that prints progress as JSON lines on stderr, for programs that run this command."""
    from credo.selection import MEASURES, Comparison

    def rank(score: Any) -> tuple[bool, float]:
        # The log score or, without one, the error; failed models last.
        found = [name for name in ("log_score", "log_loss", "rmse", "accuracy") if name in score.held_out]
        return (False, -MEASURES[found[0]].sign * score.held_out[found[0]]) if found else (True, 0.0)

    def report(state: Any) -> None:
        names = ("running", "fits", "n_fits", "waiting", "remaining", "message")
        board = Comparison(sorted(state.scores, key=rank), {}).records()
        screen.event(
            {"progress": {"task": task, **{name: getattr(state, name) for name in names}, "leaderboard": board}}
        )

    return report


def _show(study: Any, outputs: dict[str, Path], screen: Screen, data: str, arguments: Sequence[str]) -> None:
    from credo.study.study import HELD_OUT, INCLUSIONS, LEADERBOARD, MODEL, REPORT, STUDY

    screen.say()
    screen.leaderboard(study.comparison, study.selected)
    screen.say()
    screen.say(" ".join([study.facts.reason_in_words, *study.facts.performance]))
    if study.ahead is not None:
        screen.say(study.ahead.sentence)
    screen.say()
    titles = {REPORT: "Report", MODEL: "Model", LEADERBOARD: "Leaderboard", HELD_OUT: "Held out"}
    for name, title in (titles | {INCLUSIONS: "Inclusions"}).items():
        if name in outputs:
            screen.say(f"{title:<12} {outputs[name]}")
    others = sorted(set(outputs) - {*titles, INCLUSIONS, STUDY})
    if others:
        screen.say(f"{'Models':<12} {', '.join(others)}")
    screen.say()
    model, command = shlex.quote(str(outputs[MODEL])), command_as_typed()
    screen.say(f"Next: {command} show {model}")
    if data != "-":
        screen.say(f"      {command} predict {model} {shlex.quote(data)}")
    if STUDY in outputs and data != "-":
        screen.say(f"      {command} {shlex.join(_continuing(arguments, str(outputs[STUDY].parent)))}")
    places = {Path(name).stem: str(path) for name, path in outputs.items()}
    screen.json({**study.record(), "data": data, "outputs": places})
