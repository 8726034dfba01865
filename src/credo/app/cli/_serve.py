"""`credo serve`."""

from __future__ import annotations

import logging
import signal

import click

from credo.app.cli._group import INTERRUPTED
from credo.app.cli._options import debug_option, existing_file
from credo.app.cli._screen import visible


@click.command(short_help="Answer HTTP requests with the predictions of a model.")
@click.argument("model", type=existing_file)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 selects a free port.")
@click.option("--name", help="Name of the model in addresses. [default: that of the file]")
@click.option(
    "--max-rows", type=click.IntRange(1), default=10_000, show_default=True, help="Maximum number of rows in a request."
)
@click.option(
    "--max-bytes",
    type=click.IntRange(1),
    default=10_000_000,
    show_default=True,
    help="Maximum size of a request in bytes.",
)
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), default=30.0, show_default=True,
    help="Seconds in which a request must arrive, and in which it must be answered.",
)  # fmt: skip
@click.option("--allow-host", "names", multiple=True, metavar="NAME", help="Further host name of this server.")
@click.option(
    "--token", envvar="CREDO_TOKEN", show_envvar=True, help="A secret that every request needs. [default: none]"
)
@debug_option
def serve(
    model: str, host: str, port: int, name: str | None, max_rows: int, max_bytes: int, timeout: float,
    names: tuple[str, ...], token: str | None,
) -> None:  # fmt: skip
    """Serve MODEL, a file written by `credo fit` or `credo.save`, until Ctrl-C or SIGTERM.

    POST /predict takes a list of rows, each an object by column name, and answers as `credo predict` does; /docs
    describes it. The Open Inference Protocol is at /v2, metrics for Prometheus at /metrics. The address is printed on
    stdout; logs are JSON lines on stderr. Requests in flight are answered before the server stops, with exit code 0
    after SIGTERM and 130 after Ctrl-C.
    """
    from credo.app.serve import Limits, ServedModel, application, listen, run

    served = ServedModel.open(model, name)
    limits = Limits(max_bytes=max_bytes, max_rows=max_rows, seconds=timeout)
    app = application(served, limits=limits, host=host, names=names, token=token)
    logging.captureWarnings(True)
    with listen(host, port) as listener:
        place = f"[{host}]" if ":" in host else host
        address = f"http://{place}:{listener.getsockname()[1]}"
        if host not in {"127.0.0.1", "::1", "localhost"} and token is None:
            click.echo("Note: everyone who can reach this address can use the model; --token sets a secret.", err=True)

        def started() -> None:
            click.echo(visible(f"Serving {served.name} at {address} (description: {address}/docs)"))

        stopped = run(app, listener, seconds=timeout, started=started)
    if stopped == signal.SIGINT:
        click.get_current_context().exit(INTERRUPTED)
