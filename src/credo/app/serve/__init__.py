"""Serving over HTTP: middleware that protects a local web server, shared with the lab, and the server of a model.

    guarded(app, …) -> app                middleware: hosts, origins, token, headers, body, access log
    ServedModel.open(path) -> model       application(model, limits=…) -> app        run(app, listen(host, port), …)

Contract: a rejected request is answered with a JSON object that says why and, for rows, in which row and column; it
never reaches the model. Answers are valid JSON: numbers that aren't finite are null. One thread predicts; a request
waits for a limited time in a limited queue, and slow clients don't delay others. Nothing that a client sends is
evaluated or reaches the file system, and no request leaves the machine.

Members: `guard` (middleware, logs and metrics of any ASGI application), `server` (sockets and signals); for the model
server `app` (routes), `inputs` (strict JSON, and its rows as tables), `model` (predictions in one thread) and
`protocol` (OpenAPI, the Open Inference Protocol, and the documentation page).

Not here: fitting, the command line, the lab.
"""

from importlib.util import find_spec

if missing := [name for name in ("fastapi", "uvicorn", "prometheus_client", "jinja2") if find_spec(name) is None]:
    raise ImportError(f"credo.app.serve needs {', '.join(missing)}, not installed: pip install 'credo[lab]'")

from credo.app.serve.app import Limits, application
from credo.app.serve.guard import AccessLog, BodyLimit, Guard, JsonLines, guarded, log_to_stderr, refuse
from credo.app.serve.model import ServedModel
from credo.app.serve.server import listen, run

__all__ = [
    "AccessLog", "BodyLimit", "Guard", "JsonLines", "Limits", "ServedModel", "application", "guarded", "listen",
    "log_to_stderr", "refuse", "run",
]  # fmt: skip
