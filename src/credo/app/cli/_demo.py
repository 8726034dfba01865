"""`credo demo`."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

import click

from credo.app.cli._options import debug_option
from credo.app.cli._screen import Screen, command_as_typed

# A few, so that it takes seconds.
MODELS = ("linear", "ridge", "bayes", "spike-slab", "polynomial", "gp")


@click.command(short_help="Run `credo fit` on an example table.")
@click.option("--out", type=click.Path(file_okay=False), help="Output folder. [default: a new temporary folder]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
@debug_option
def demo(out: str | None, seed: int) -> None:
    """Write scikit-learn's diabetes data to a CSV file and run `credo fit` on it.

    442 patients with ten measurements each; the target is the progression of the disease after a year.
    """
    from credo.app.cli._files import staging
    from credo.app.cli._fit import run_and_show

    screen, command = Screen(), command_as_typed()
    folder = Path(out) if out else Path(tempfile.mkdtemp(prefix="credo-demo-"))
    with staging(folder) as stage:
        _diabetes(stage.folder / "diabetes.csv")
        data = stage.publish()["diabetes.csv"]
    chosen = ["--models", ",".join(MODELS), "--out", str(folder), "--seed", str(seed)]
    arguments = ["fit", str(data), "--target", "progression", *chosen]
    screen.say(f"This runs: {command} {shlex.join(arguments)}")
    screen.say()
    run_and_show(str(data), "progression", screen, arguments, models=MODELS, out=folder, seed=seed)


def _diabetes(path: Path) -> None:
    from sklearn.datasets import load_diabetes

    table = load_diabetes(as_frame=True, scaled=False).frame.rename(columns={"target": "progression"})
    table.to_csv(path, index=False)
