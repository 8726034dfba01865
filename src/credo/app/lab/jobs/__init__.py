"""Tables that the lab analyses: upload, columns, run, leaderboard, predictions.

    router        the routes under /api/jobs

Contract: the server only moves files and JSON. Tables are parsed, models fitted and rows predicted in two worker
processes, each with a time limit and a memory limit: one for tables and predictions, one for runs, which are done one
at a time. Finished models are written to disk as they finish, so that a worker that is killed loses only the model
that it was fitting. A file's name is shown and never used as a path; all files are in a private temporary folder,
which is removed with the workers when the server stops.

Members: `_routes` (HTTP), `_jobs` (the jobs and their states), `_process` (a worker seen from the server), `_worker`
(the process itself) with its tasks `_table`, `_analysis` and `_predict`.

Not here: pages and scripts (`static/data`), the study itself (`credo.study`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from credo.app.lab.jobs._routes import router

__all__ = ["router"]


def __getattr__(name: str) -> Any:
    # The worker processes need nothing of the web application.
    if name == "router":
        return import_module("credo.app.lab.jobs._routes").router
    raise AttributeError(f"credo.app.lab.jobs has no member {name!r}")
