"""Serving over HTTP: what protects a local web server, shared with the lab, and the server of a fitted model.

    guarded(app, …) -> app        one middleware for each: hosts, origins, token, body, headers, access log

Contract: a refused request is answered with a JSON object that says why and never reaches the application; no request
leaves the machine; nothing that a client sends is evaluated or reaches the file system.

Not here: fitting, pages, the command line.
"""

from credo.serve.guard import AllowedHosts, BodyLimit, SameOrigin, SecurityHeaders, TokenRequired, guarded, refuse
from credo.serve.logs import AccessLog, JsonLines, log_to_stderr

__all__ = [
    "AccessLog", "AllowedHosts", "BodyLimit", "JsonLines", "SameOrigin", "SecurityHeaders", "TokenRequired", "guarded",
    "log_to_stderr", "refuse",
]  # fmt: skip
