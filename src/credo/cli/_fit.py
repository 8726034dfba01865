"""`credo fit`."""

import shlex
from pathlib import Path
from typing import Any

import click

from credo.cli._models import NAMES, model_names
from credo.cli._options import debug_option, existing_file, json_option, reading_arguments, reading_options
from credo.cli._screen import Screen


@click.command(short_help="Compare models on a table; write the best one and a report.")
@click.argument("data", type=existing_file)
@click.option("--target", required=True, metavar="NAME", help="The column to predict.")
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
    target: str,
    names: tuple[str, ...] | None,
    out: str,
    seed: int,
    cv: int,
    as_json: bool,
    quiet: bool,
    **reading: Any,
) -> None:
    """Compare models on the table DATA by their held-out predictions of the column NAME.

    Writes model.credo (the model with the best held-out log score, fitted on all rows), report.html and
    leaderboard.csv into the output folder; files of these names are replaced when the new ones are finished.
    """
    screen = Screen(as_json=as_json, quiet=quiet)
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


def run_and_show(data: Path, target: str, screen: Screen, **arguments: Any) -> None:
    """Run the job and show what it found."""
    from credo.cli._job import LEADERBOARD, MODEL, REPORT, run

    outcome = run(data, target=target, screen=screen, **arguments)
    comparison, outputs = outcome.comparison, outcome.outputs
    screen.say()
    screen.leaderboard(comparison)
    screen.say()
    best = next(score for score in comparison.scores if score.name == comparison.best)
    others = len(comparison.tied) - 1
    choice = (
        f"Taken: {best.name}, which has the best held-out log score."
        if not others
        else f"Taken: {best.name}, the simplest of {others + 1} models whose held-out log scores are too close to call."
    )
    screen.say(
        f"{choice} Its 95 % intervals held {100 * (best.coverage or 0):.1f} % of the {len(outcome.question.y)} "
        f"held-out values of {target!r}."
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
