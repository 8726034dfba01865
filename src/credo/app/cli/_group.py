"""The command group, and how errors are printed."""

from __future__ import annotations

import traceback
from importlib import import_module
from typing import Any

import click

from credo._version import __version__
from credo.app.cli._options import debug_option
from credo.app.cli._screen import visible

_COMMANDS = {
    "look": "credo.app.cli._look:look",
    "fit": "credo.app.cli._fit:fit",
    "predict": "credo.app.cli._predict:predict",
    "explain": "credo.app.cli._explain:explain",
    "audit": "credo.app.cli._audit:audit",
    "show": "credo.app.cli._show:show",
    "serve": "credo.app.cli._serve:serve",
    "demo": "credo.app.cli._demo:demo",
    "lab": "credo.app.cli._lab:lab",
}

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


class Group(click.Group):
    """Loads commands on demand, and turns exceptions into a message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the help."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command of the first argument; a mistyped name gets a suggestion."""
        from difflib import get_close_matches

        if args and not args[0].startswith("-") and args[0] not in _COMMANDS:
            near = get_close_matches(args[0].lower(), _COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else f" Choose from {', '.join(_COMMANDS)}."
            ctx.fail(f"There is no command {visible(args[0])!r}.{hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; see the exit codes in `credo.app.cli`."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
            raise
        except (KeyboardInterrupt, click.Abort):
            click.echo("Stopped. No partial files were left.", err=True)
            ctx.exit(INTERRUPTED)
        except Exception as error:
            if ctx.meta.get("credo.debug"):
                traceback.print_exc()
            click.echo(f"Error: {visible(sentence(error))}", err=True)
            ctx.exit(1)


def sentence(error: Exception) -> str:
    """The error message."""
    text = str(error).strip()
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return f"not enough memory. {text}".strip()
    if isinstance(error, ImportError | ValueError | OSError) and text:
        return text
    # Not an error that Credo raises on purpose: name its type, and how to see more.
    return f"unexpected {type(error).__name__}: {text or 'no message'}. Run again with --debug for more."


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 success, 1 the data or the model can't be used, 2 wrong usage, 130 stopped by Ctrl-C before "
    "any model was finished.",
)
@click.version_option(__version__, prog_name="credo", message="%(prog)s %(version)s")
@debug_option
def credo() -> None:
    """Regression and classification with calibrated uncertainty."""
