"""The worker process: reads requests from its input, one JSON object a line, and answers on its output."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import sys
import threading
import traceback
from _thread import interrupt_main
from collections.abc import Callable
from pathlib import Path
from typing import Any

from credo.app.lab.jobs import _analysis, _predict, _table
from credo.app.lab.jobs._analysis import Stop, plain
from credo.app.lab.jobs._process import FOLDER
from credo.core.notices import on_one_line
from credo.tables.errors import ColumnError, TableError
from credo.tables.source import MAX_BYTES

TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "read": _table.read,
    "run": _analysis.run_job,
    "form": _predict.form,
    "predict": _predict.predict,
    "predictions": _predict.predictions,
}


def main() -> None:
    """Answer requests until the input ends, as it does when the server is gone."""
    # Whatever libraries print goes to the log.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    folder, *memory = sys.argv[1:]
    if memory:
        # A file of unknown size is read into a buffer of the largest size, most of which is never touched.
        limit_memory(int(memory[0]) + MAX_BYTES)
    stop, requests = Stop(), queue.SimpleQueue[dict[str, Any]]()
    signal.signal(signal.SIGINT, stop)
    threading.Thread(target=listen, args=(requests, stop, Path(folder)), daemon=True).start()
    while True:
        answer = answered(requests.get(), stop)
        answers.write(json.dumps(plain(answer), allow_nan=False) + "\n")
        answers.flush()


def listen(requests: queue.SimpleQueue[dict[str, Any]], stop: Stop, folder: Path) -> None:
    """Queue the requests; interrupt the running one if it is to stop; leave when the server is gone."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["do"] != "stop":
            requests.put(request)
        elif request["job"] == stop.job:
            interrupt_main()
    # The server was killed, or it would have ended this process first: nobody else deletes the files of the user.
    if folder.name.startswith(FOLDER):
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def answered(request: dict[str, Any], stop: Stop) -> dict[str, Any]:
    """What a task returns, or its error as a sentence."""
    task, path, name = request.pop("do"), request.get("path"), request.get("name", "the table")
    try:
        if task == "run":
            stop.asked, stop.job = False, request.pop("job")
            request["stop"] = stop
        return TASKS[task](**request)
    except KeyboardInterrupt:
        return {"error": "Stopped before a model was finished.", "stopped": True}
    except (TableError, ColumnError, ValueError) as error:
        return {"error": sentence(on_one_line(error).replace(str(path), str(name)))}
    except MemoryError:
        return {"error": "The table takes more memory than the lab allows. Use part of the rows or columns."}
    # Whatever happens, the next task must find a working process.
    except Exception as error:
        traceback.print_exc()
        where = on_one_line(error).replace(str(path), str(name))
        return {"error": f"An unexpected error: {where}. Please report this as a bug."}
    finally:
        stop.job = None


def limit_memory(n_bytes: int) -> None:
    """Bound the address space to what is taken now and so many bytes more, where the system can do that."""
    try:
        import resource  # noqa: PLC0415

        taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (taken + n_bytes, taken + n_bytes))
    except (ImportError, OSError, ValueError):
        return


def sentence(text: str) -> str:
    """The text with a capital letter and a full stop.

    >>> sentence("can't read 'a.csv': line 3 has 4 fields")
    "Can't read 'a.csv': line 3 has 4 fields."
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


if __name__ == "__main__":
    main()
