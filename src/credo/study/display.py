"""Progress on stderr: a live leaderboard on a terminal, otherwise a line for each model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from credo.study.engine import Progress, Report


@contextmanager
def display(*, enabled: bool = True) -> Iterator[Report | None]:
    """A function that shows progress: live on a terminal, otherwise a line whenever a model starts."""
    if not enabled:
        yield None
    elif sys.stderr.isatty() and find_spec("rich") is not None:
        with _live() as update:
            yield update
    else:
        yield _lines()


def _lines() -> Report:
    last: list[str | None] = [None]

    def update(state: Progress) -> None:
        if state.running is not None and state.running != last[0]:
            left = "" if state.remaining is None else f", {state.remaining:.0f} s left"
            doing = f"; {state.message}" if state.message else ""
            sys.stderr.write(f"Fitting {state.running} ({len(state.waiting)} more to come{left}{doing})\n")
            sys.stderr.flush()
        last[0] = state.running

    return update


@contextmanager
def _live() -> Iterator[Report]:
    from rich.console import Console  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415

    with Live(console=Console(stderr=True), transient=True, refresh_per_second=8) as live:
        yield lambda state: live.update(_picture(state))


def _picture(state: Progress) -> Any:
    """The scores so far, the running model, and what is left."""
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from credo.selection import MEASURES  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    good = [score for score in state.scores if score.error is None]
    keys = list(dict.fromkeys(key for score in good for key in score.held_out))[:3]
    table.add_column("model")
    for key in keys:
        table.add_column(MEASURES[key].short, justify="right")
    for score in good:
        table.add_row(Text(score.name), *(_cell(score.held_out.get(key)) for key in keys))
    if state.running is not None:
        doing = state.message or f"fit {min(state.fits + 1, state.n_fits)} of {state.n_fits}"
        table.add_row(Text(f"{state.running}: {doing} …", style="bold"))
    left = [] if state.remaining is None else [f"{state.remaining:.0f} s left"]
    waiting = [f"then {', '.join(state.waiting)}"] if state.waiting else []
    table.caption = Text(" · ".join([*left, *waiting, "Ctrl-C keeps the finished models"]), style="dim")
    table.caption_justify = "left"
    return table


def _cell(value: float | None) -> str:
    return "—" if value is None else f"{value:.4g}"
