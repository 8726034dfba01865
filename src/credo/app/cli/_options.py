"""Options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def _remember_debug(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    # `meta` is shared by nested contexts, so that the option works before and after the command's name.
    if value:
        ctx.meta["credo.debug"] = True


debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, callback=_remember_debug, help="Show the traceback of an error."
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")

existing_file = click.Path(exists=True, dir_okay=False, readable=True)
# A table may come from standard input.
data_file = click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True)


def reading_options(function: Function) -> Function:
    """Options for reading the table; by default they are inferred from the file."""
    for option in reversed(_READING):
        function = option(function)
    return function


_READING = (
    click.option("--separator", metavar="CHAR", help="Column separator, or 'tab'. [default: detected]"),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal separator. [default: detected]"),
    click.option(
        "--na",
        "na_words",
        metavar="WORDS",
        help="Words for missing values, separated by commas, instead of NA, NaN, null …",
    ),
    click.option("--encoding", metavar="NAME", help="File encoding. [default: detected]"),
    click.option("--header/--no-header", default=None, help="Whether the first row holds names. [default: detected]"),
    click.option("--sheet", metavar="NAME", help="Sheet of an Excel workbook. [default: the first]"),
)

READING = ("separator", "decimal", "na_words", "encoding", "header", "sheet")


def reading_arguments(*, separator: str | None, na_words: str | None, **others: Any) -> dict[str, Any]:
    """The reading options as arguments of `credo.tables.read_table`."""
    words = None if na_words is None else [word.strip() for word in na_words.split(",")]
    separator = {"tab": "\t", "\\t": "\t", "space": " "}.get(separator or "", separator)
    return {"separator": separator, "na_words": words, **others}
