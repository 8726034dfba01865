"""`credo lab`."""

from __future__ import annotations

import click

from credo.app.cli._options import debug_option


@click.command(short_help="Play with models, take the lessons, or analyze a table in the browser.")
@click.option("--open", "link", default="/", help="View to open: a link copied in the lab. Default: the playground.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port on 127.0.0.1. Default: 8391, or a free one.")
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser. Default: yes.")
@debug_option
def lab(link: str, port: int | None, browser: bool) -> None:
    """Start the lab on this machine and open it in the browser: a playground for models in one and two dimensions,
    thirteen short lessons, and the analysis of a table of your own.

    The page is served on 127.0.0.1 only and needs the token in the address. Nothing leaves this machine. Stop the lab
    with Ctrl-C.
    """
    import webbrowser

    try:
        from credo.app.lab import run
    except ModuleNotFoundError as error:
        if error.name not in {"fastapi", "uvicorn"}:
            raise
        raise ImportError("the lab needs FastAPI and uvicorn: pip install 'credo[lab]'") from None

    def ready(address: str) -> None:
        click.echo(address)
        click.echo("Stop with Ctrl-C.", err=True)
        if browser:
            webbrowser.open(address)

    run(port, link=link, ready=ready)
