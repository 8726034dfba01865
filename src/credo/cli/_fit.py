"""`credo fit`."""

import shlex
from pathlib import Path
from typing import Any

import click

from credo.cli._models import NAMES, model_names
from credo.cli._options import debug_option, existing_file, json_option, reading_arguments, reading_options
from credo.cli._screen import Screen


@click.command(short_help="Compare models on a table; write the one to take and a report.")
@click.argument("data", type=existing_file)
@click.option("--target", metavar="NAME", help="The column to predict, of numbers.  [required]")
@click.option(
    "--models",
    "names",
    metavar="A,B,…",
    callback=model_names,
    help=f"Which models: {', '.join(NAMES)}. [default: all that suit the size of the table]",
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
    names: tuple[str, ...] | None,
    out: str,
    seed: int,
    cv: int,
    as_json: bool,
    quiet: bool,
    **reading: Any,
) -> None:
    """Compare regression models on the table DATA by their held-out predictions of the column NAME.

    Writes model.credo (fitted on all rows: the simplest of the models whose held-out log scores are too close to
    the best one to call), report.html and leaderboard.csv into the output folder; files of these names are
    replaced when the new ones are finished.
    """
    screen = Screen(as_json=as_json, quiet=quiet)
    if target is None:
        raise click.UsageError(_missing_target(Path(data), reading_arguments(**reading)))
    run_and_show(
        Path(data),
        target,
        screen,
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
    if good == 1:
        rest = len(comparison.scores) - good
        return f"Taken: {best}, the only model{' that could be fitted' if rest else ''}."
    if tied == 1:
        return f"Taken: {best}, which has the best held-out log score."
    return f"Taken: {best}, the simplest of {tied} models whose held-out log scores are too close to call."


def run_and_show(data: Path, target: str, screen: Screen, **arguments: Any) -> None:
    """Run the job and show what it found."""
    from credo.cli._job import LEADERBOARD, MODEL, REPORT, run

    outcome = run(data, target=target, screen=screen, **arguments)
    comparison, outputs = outcome.comparison, outcome.outputs
    screen.say()
    screen.leaderboard(comparison)
    screen.say()
    best = next(score for score in comparison.scores if score.name == comparison.best)
    screen.say(
        f"{_choice(comparison)} Its 95 % intervals held {100 * (best.coverage or 0):.1f} % of the "
        f"{len(outcome.question.y)} held-out values of {target!r}."
    )
    screen.say()
    if REPORT in outputs:
        screen.say(f"Report       {outputs[REPORT]}")
    screen.say(f"Model        {outputs[MODEL]}")
    screen.say(f"Leaderboard  {outputs[LEADERBOARD]}")
    screen.say()
    model = shlex.quote(str(outputs[MODEL]))
    screen.say(f"Next: credo show {model}")
    screen.say(f"      credo predict {model} {shlex.quote(str(data))}")
    screen.json(outcome.record())
