"""The lab: a local web page to play with models, twelve lessons, and the analysis of a table in the browser.

    credo lab        application(token) -> the web application        run(port, ...) serves it on 127.0.0.1

Contract: everything is served from this package, and no request leaves the machine. The server listens on 127.0.0.1
only, asks for a token, and refuses other hosts and origins. What a browser sends is a bounded JSON value or a file
that is parsed in a child process; nothing of it is evaluated, and of a file's name only letters, digits and plain
punctuation are kept.

Members: `server` (the application and its routes), `playground` (points and a model in, what to draw out), `jobs`
(tables that are analysed by child processes), `static` (pages, style and scripts: plain ES modules and SVG).

Not here: models and their numbers (`credo.study` and below), commands (`cli`), HTTP guards (`serve`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from credo.app.lab.server import application, run

__all__ = ["application", "run"]


def __getattr__(name: str) -> Any:
    # Imported on first use: the child processes of `jobs` need nothing of the web application.
    if name in __all__:
        return getattr(import_module("credo.app.lab.server"), name)
    raise AttributeError(f"credo.app.lab has no member {name!r}")
