"""Tables that the lab analyses: upload, columns, run, leaderboard, predictions.

    router        the routes under /api/jobs

Contract: tables are read, models fitted and rows of a file predicted by child processes, `credo fit` and `credo
predict` among them, one run at a time. A child is started without a shell, in a private temporary folder, with limits
of time, memory and output; its progress is JSON lines. The server reads the files that it wrote, and predicts single
rows with its model. The folder is removed when the server stops.

Members: `_routes` (HTTP), `_jobs` (the jobs and their states), `_child` (a process and its limits), `_table` (how the
columns of a table were understood), `_predict` (the form for one row).

Not here: pages and scripts (`static/data`), the study itself (`credo.study`).
"""

from typing import TYPE_CHECKING

from credo.core.lazy import lazy

if TYPE_CHECKING:
    from credo.app.lab.jobs._routes import UPLOAD_BYTES, router

__all__ = ["UPLOAD_BYTES", "router"]

# Imported on first use, because the child processes need no routes.
__getattr__ = lazy(__name__, {"_routes": ("UPLOAD_BYTES", "router")})
