"""Options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
        metavar="VALUE",
        multiple=True,
        help="A word or number that means missing, beside NA, NaN, null …; several with commas, or repeat the option. "
        "'' treats only empty cells as missing.",
    ),
    click.option("--encoding", metavar="NAME", help="File encoding. [default: detected]"),
    click.option("--header/--no-header", default=None, help="Whether the first row holds names. [default: detected]"),
    click.option("--sheet", metavar="NAME", help="Sheet of an Excel workbook. [default: the first]"),
)

READING = ("separator", "decimal", "na_words", "encoding", "header", "sheet")


def reading_arguments(*, separator: str | None, na_words: Sequence[str] = (), **others: Any) -> dict[str, Any]:
    """The reading options as arguments of `credo.tables.read_table`."""
    words = [word for text in na_words for word in parts(text)] if na_words else None
    separator = {"tab": "\t", "\\t": "\t", "space": " "}.get(separator or "", separator)
    return {"separator": separator, "na_words": words, **others}


def parts(text: str) -> list[str]:
    """The parts of an option with commas, without blanks around them and without empty ones."""
    return [part for part in map(str.strip, text.split(",")) if part]


def column_kinds(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """The values of `--kinds` as a mapping of column name to kind; a name may have commas and equals signs."""
    found, name = {}, ""
    for part in ",".join(value).split(","):
        name += f",{part}" if name else part
        column, equals, kind = name.rpartition("=")
        if column and equals:
            found[column.strip()], name = kind.strip().lower(), ""
    if name.strip():
        raise click.BadParameter(f"{name!r} is not of the form COLUMN=KIND.")
    return found


def column_options(function: Function) -> Function:
    """Options about the columns of a table."""
    for option in reversed(_COLUMNS):
        function = option(function)
    return function


_COLUMNS = (
    click.option(
        "--drop", metavar="COLUMN", multiple=True, help="Leave out a column. May be repeated. [default: none]"
    ),
    click.option(
        "--kinds",
        metavar="COLUMN=KIND,…",
        multiple=True,
        callback=column_kinds,
        help="Read columns as number, category, text or date, as in zip=category,year=number. [default: detected]",
    ),
    click.option(
        "--keep-sentinels",
        is_flag=True,
        help="Use numbers such as a repeated -999, far from all others, as numbers. [default: as missing]",
    ),
)
