"""The lab: a local web page to play with models, thirteen lessons, and the analysis of a table in the browser.

    credo lab        application(token) -> the web application        run(port, ...) serves it on 127.0.0.1

Contract: everything is served from this package, and no request leaves the machine. The server listens on 127.0.0.1
only, requires a token, and rejects other hosts and origins. A browser sends JSON of limited size or a file that is
parsed in a child process; nothing in it is evaluated, and a file's name keeps only letters, digits and plain
punctuation.

Members: `server` (the application and its routes), `playground` (fits a model to points and returns what to draw),
`jobs` (tables that are analyzed by child processes), `static` (pages, style and scripts: plain ES modules and SVG).

Not here: models and their numbers (`credo.study` and below), commands (`cli`), HTTP guards (`serve`).
"""

from typing import TYPE_CHECKING

from credo.core.lazy import lazy

if TYPE_CHECKING:
    from credo.app.lab.server import application, run

__all__ = ["application", "run"]

# Imported on first use, because the child processes of `jobs` don't need the web application.
__getattr__ = lazy(__name__, {"server": ("application", "run")})
