"""Output: results on stdout, notes and progress on stderr."""

from __future__ import annotations

import json
import math
import shlex
import shutil
import sys
import textwrap
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from credo.selection import Comparison, Measure, Score

# Characters of the message of a failed model; the report has all of it.
_MAX_FAILURE_CHARACTERS = 160


class Screen:
    """Prints according to `--json` and `--quiet`."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet

    def say(self, text: str = "") -> None:
        """Print a line of the results."""
        if not (self.as_json or self.quiet):
            click.echo(visible(text))

    def note(self, text: str) -> None:
        """Print a note on stderr."""
        if not self.quiet:
            click.echo(visible(text), err=True)

    def event(self, value: Any) -> None:
        """Print a step of the work on stderr, as one line of JSON."""
        if not self.quiet:
            click.echo(json.dumps(plain(value), ensure_ascii=True, allow_nan=False), err=True)

    def json(self, value: Any) -> None:
        """Print the results as one JSON object if requested, in ASCII for any encoding of stdout."""
        if self.as_json:
            click.echo(json.dumps(plain(value), indent=2, ensure_ascii=True, allow_nan=False))

    def leaderboard(self, comparison: Comparison, selected: str) -> None:
        """Print the scores as a table; without colors and lines if stdout is not a terminal."""
        if self.as_json or self.quiet:
            return
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(highlight=False)
        if not console.is_terminal:
            console = Console(highlight=False, width=200)
        # Narrow padding, because a terminal adds lines, and 80 columns should be enough.
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        if console.is_terminal:
            table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        from credo.selection import MEASURES

        keys = (*comparison.measures, "log_evidence", "seconds")
        header = ("model", *(MEASURES[key].short for key in keys))
        lines = [cells(score, comparison.measures) for score in comparison.scores]
        shown = _fitting([header, *lines], console.width)
        for i, name in enumerate(header[:shown]):
            table.add_column(name, justify="right" if i else "left", no_wrap=True)
        for score, line in zip(comparison.scores, lines, strict=True):
            style = "dim" if score.error else "bold green" if score.name == selected else ""
            table.add_row(*(Text(cell, style=style) for cell in line[:shown]))
        console.print(table)
        for failure in comparison.failures:
            console.print(
                Text(visible(textwrap.shorten(failure, _MAX_FAILURE_CHARACTERS, placeholder=" …")), style="dim")
            )

    @contextmanager
    def notes_for_warnings(self) -> Iterator[None]:
        """Print the warnings of the block as notes, each once."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                yield
            finally:
                # Warnings of other kinds are for programmers.
                shown = [warning for warning in caught if issubclass(warning.category, UserWarning)]
                for message in dict.fromkeys(str(warning.message) for warning in shown):
                    self.note(f"Note: {message}")


def _fitting(lines: list[tuple[str, ...]], width: int) -> int:
    """The number of columns that fit into the width; leaderboard.csv has all of them."""
    used = accumulate(max(len(cell) for cell in column) + 2 for column in zip(*lines, strict=True))
    return max(2, sum(end - 2 <= width for end in used))


def command_as_typed() -> str:
    """The command as it was called, such as .venv/bin/credo if it isn't on the path."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m credo"
    if called.name != "credo":
        return "credo"
    found = shutil.which("credo")
    return "credo" if found is not None and Path(found).resolve() == called.resolve() else shlex.quote(str(called))


def visible(text: str) -> str:
    r"""The text with its control characters escaped, so that names in a file can't control the terminal."""
    return "".join(repr(c)[1:-1] if unicodedata.category(c) == "Cc" and c not in "\n\t" else c for c in text)


def cells(score: Score, measures: Sequence[str]) -> tuple[str, ...]:
    """One line of the leaderboard as text."""
    from credo.selection import MEASURES

    return (
        score.name,
        *(written(MEASURES[name], score.held_out.get(name)) for name in measures),
        written(MEASURES["log_evidence"], score.log_evidence),
        "failed" if score.error else _digits(score.seconds, ".3f"),
    )


def written(measure: Measure, value: float | None) -> str:
    """A number of the leaderboard in its format."""
    if measure.is_share:
        return share(value)
    return size(value) if measure.decimals is None else log(value, digits=measure.decimals)


def size(value: float | None) -> str:
    """A positive number to four digits, with an exponent only if it is very large or small."""
    if value is None or not 1e-4 <= value < 1e7:
        return _digits(value, "#.4g") if value else _digits(value, ".0f")
    return format(value, f".{max(0, 3 - math.floor(math.log10(value)))}f")


def log(value: float | None, *, digits: int) -> str:
    """A logarithm with a fixed number of decimals, unless it is very large."""
    return _digits(value, f".{digits}f" if value is None or abs(value) < 1e7 else "#.4g")


def share(value: float | None) -> str:
    """A share as a percentage."""
    return "—" if value is None else f"{100 * value:.1f} %"


def _digits(value: float | None, form: str) -> str:
    return "—" if value is None else format(value, form)


def plain(value: Any) -> Any:
    """The value in JSON types; numbers that are not finite become null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | str | int):
        return value
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)
