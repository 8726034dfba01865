"""The lab: a local web page to play with models, twelve lessons, and the analysis of a table in the browser.

    credo lab        application(token) -> the web application        run(port, ...) serves it on 127.0.0.1

Contract: everything is served from this package, and no request leaves the machine. The server listens on 127.0.0.1
only, asks for a token, and refuses other hosts and origins. What a browser sends is a bounded JSON value or a file
that is parsed in a worker process; nothing of it is evaluated, and no name from outside reaches the file system.

Members: `server` (the application and its routes), `playground` (points and a model in, what to draw out), `jobs`
(tables that are analysed in worker processes), `static` (pages, style and scripts: plain ES modules and SVG).

Not here: models and their numbers (`credo.study` and below), commands (`credo.cli`), HTTP guards (`credo.serve`).
"""

from credo.lab.server import application, run

__all__ = ["application", "run"]
