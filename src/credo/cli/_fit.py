"""`credo fit`."""

import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import click

from credo.cli._models import CLASSIFIERS, REGRESSORS, model_names
from credo.cli._options import debug_option, existing_file, json_option, reading_arguments, reading_options
from credo.cli._screen import Screen


@click.command(short_help="Compare models on a table; write the one to take and a report.")
@click.argument("data", type=existing_file)
@click.option("--target", metavar="NAME", help="The column to predict, of numbers or classes.  [required]")
@click.option(
    "--task",
    type=click.Choice(["regression", "classification"]),
    help="What the target holds: numbers or classes. [default: found out]",
)
@click.option(
    "--models",
    "names",
    metavar="A,B,…",
    callback=model_names,
    help=f"Which models, of numbers: {', '.join(REGRESSORS)}; of classes: {', '.join(CLASSIFIERS)}. "
    "[default: all that suit the size of the table]",
)
@click.option("--out", type=click.Path(file_okay=False), default=".", show_default=True, help="The folder to write to.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the folds.")
@click.option("--cv", type=click.IntRange(min=2), default=5, show_default=True, help="Number of folds.")
@reading_options
@json_option
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@debug_option
def fit(
    data: str,
    target: str | None,
    task: str | None,
    names: tuple[str, ...] | None,
    out: str,
    seed: int,
    cv: int,
    as_json: bool,
    quiet: bool,
    **reading: Any,
) -> None:
    """Compare models on the table DATA by their held-out predictions of the column NAME, of numbers or classes.

    Writes model.credo (fitted on all rows: the simplest of the models whose held-out log scores are too close to
    the best one to call, two standard errors of the difference or less), report.html and leaderboard.csv into the
    output folder, and where spike-slab is among the models inclusions.csv: the probability that each input matters.
    Files of these names are replaced when the new ones are finished.
    """
    screen = Screen(as_json=as_json, quiet=quiet)
    if target is None:
        raise click.UsageError(_missing_target(Path(data), reading_arguments(**reading)))
    run_and_show(
        Path(data),
        target,
        screen,
        task=task,
        names=names,
        out=Path(out),
        seed=seed,
        cv=cv,
        reading=reading_arguments(**reading),
    )


def _missing_target(data: Path, reading: dict[str, Any]) -> str:
    from credo.io import read_table
    from credo.io.errors import quoted

    names = read_table(data, **reading).frame.columns
    return f"Missing option '--target'. Name the column to predict; {data.name} has {quoted(names, most=15)}."


def _choice(comparison: Any) -> str:
    """Which model is taken, and why."""
    best, tied, good = comparison.best, len(comparison.tied), len(comparison.fitted)
    what = "log loss" if comparison.task == "classification" else "log score"
    if good == 1:
        rest = len(comparison.scores) - good
        return f"Taken: {best}, the only model{' that could be fitted' if rest else ''}."
    if tied == 1:
        return f"Taken: {best}, which has the best held-out {what}, by more than chance explains."
    many = "losses" if comparison.task == "classification" else "scores"
    return (
        f"Taken: {best}, the simplest of {tied} models whose held-out log {many} are too close to call: chance alone "
        "could explain how they differ."
    )


def _worth(comparison: Any, target: str) -> str:
    """What the model that is taken reached on held-out rows, in words."""
    best = comparison.best
    score, y = comparison[best].held_out, comparison.held_out[best].y
    if comparison.task == "regression":
        return (
            f"Its 95 % intervals held {100 * score['coverage']:.1f} % of the {len(y):,} held-out values of {target!r}."
        )
    (label, count), *_ = Counter(y.tolist()).most_common()
    return (
        f"It named the right class of {100 * score['accuracy']:.1f} % of the {len(y):,} held-out rows; always saying "
        f"{str(label)!r} would be right for {100 * count / len(y):.1f} %."
    )


def run_and_show(data: Path, target: str, screen: Screen, **arguments: Any) -> None:
    """Run the job and show what it found."""
    from credo.cli._job import INCLUSIONS, LEADERBOARD, MODEL, REPORT, run

    outcome = run(data, target=target, screen=screen, **arguments)
    comparison, outputs = outcome.comparison, outcome.outputs
    screen.say()
    screen.leaderboard(comparison)
    screen.say()
    screen.say(f"{_choice(comparison)} {_worth(comparison, target)}")
    screen.say()
    if REPORT in outputs:
        screen.say(f"Report       {outputs[REPORT]}")
    screen.say(f"Model        {outputs[MODEL]}")
    screen.say(f"Leaderboard  {outputs[LEADERBOARD]}")
    if INCLUSIONS in outputs:
        screen.say(f"Inclusions   {outputs[INCLUSIONS]}")
    screen.say()
    model = shlex.quote(str(outputs[MODEL]))
    screen.say(f"Next: credo show {model}")
    screen.say(f"      credo predict {model} {shlex.quote(str(data))}")
    screen.json(outcome.record())
