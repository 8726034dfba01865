"""The `credo` command: from a table to a fitted model, a leaderboard, a report and predictions.

    credo look DATA                   credo fit DATA --target NAME  credo predict MODEL DATA
    credo explain MODEL DATA --row N  credo audit MODEL DATA        credo show MODEL
    credo serve MODEL                 credo lab                     credo demo

Contract: data on stdout, progress and notes on stderr; `--json` prints one JSON object on stdout and nothing else
there, and `credo fit --json` prints progress on stderr as JSON lines. Exit codes: 0 success, 1 the data or the model
can't be used (a message on stderr, the traceback with `--debug`), 2 wrong usage, 130 stopped by Ctrl-C. On Ctrl-C
`credo fit` writes the finished models and exits with 0; with 130 if there are none. Files are written completely or not
at all.

One file per command. Modules import only click at the top, and everything else inside the function that needs it, so
that `credo --help` is fast.

Not here: computation. A command parses its arguments, calls the library, and prints the result.
"""

import signal
import sys
from io import TextIOWrapper
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Run the `credo` command."""
    try:
        from credo.app.cli._group import credo
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich"}:
            raise
        sys.exit("The credo command needs click and rich: pip install 'credo[cli]'")
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal can't show must not raise an error.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    # An exception runs the same clean-up as Ctrl-C.
    signal.signal(signal.SIGTERM, _terminate)
    credo.main(prog_name="credo")


def _terminate(number: int, frame: Any) -> None:
    sys.exit(128 + number)
