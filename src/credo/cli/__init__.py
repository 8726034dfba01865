"""The `credo` command: from a table to a fitted model, a leaderboard and a report, and back to predictions.

    credo fit DATA --target NAME      credo predict MODEL DATA      credo show MODEL      credo demo

Contract: data on stdout, progress and notes on stderr; `--json` prints one JSON object on stdout and
nothing else there. Exit codes: 0 fine, 1 the data or the model can't be used (a sentence on stderr, the
traceback with `--debug`), 2 wrong usage, 130 stopped by Ctrl-C. On Ctrl-C `credo fit` writes the models that
are finished and exits with 0; with 130 if there are none. Files appear whole or not at all.

One command a file. Modules import click alone at their top, and everything heavy inside the function that
needs it, so that `credo --help` answers at once.

Not here: anything that computes. A command reads its arguments, calls the library, and shows the answer.
"""

import signal
import sys
from io import TextIOWrapper
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Run the `credo` command."""
    try:
        from credo.cli._group import credo
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich"}:
            raise
        sys.exit("The credo command needs click and rich: pip install 'credo[cli]'")
    for stream in (sys.stdout, sys.stderr):
        # A sign that the terminal can't show is no reason to fail when the work is done.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    # Leaving by an exception lets the clean-up run that Ctrl-C gets as well.
    signal.signal(signal.SIGTERM, _terminate)
    credo.main(prog_name="credo")


def _terminate(number: int, frame: Any) -> None:
    sys.exit(128 + number)
