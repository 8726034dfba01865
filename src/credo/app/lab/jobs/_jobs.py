"""The jobs of the lab: their states, files and child processes."""

from __future__ import annotations

import csv
import json
import re
import shutil
import tempfile
import threading
import unicodedata
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex, token_urlsafe
from time import time
from typing import Any

from credo.app.lab.jobs._child import Bounds, Child, ChildFailed
from credo.app.lab.refused import Refused
from credo.core.wording import shown
from credo.selection import MEASURES
from credo.selection.measures import REGRESSION, on_a_scale
from credo.study.study import HELD_OUT, INCLUSIONS, LEADERBOARD, MODEL, REPORT

PREDICTIONS = "predictions.csv"
# Files that can be downloaded, by their name in the address; no other name reaches the file system.
FILES = {
    "model": MODEL, "leaderboard": LEADERBOARD, "held_out": HELD_OUT, "inclusions": INCLUSIONS, "report": REPORT,
    "predictions": PREDICTIONS,
}  # fmt: skip
BUSY = ("reading", "waiting", "running", "stopping")
# The page's kinds of columns, by their names in `credo fit --kinds`.
KINDS = {
    "number": "numeric", "category": "categorical", "text": "text", "date": "date", "leave out": "identifier",
}  # fmt: skip
# Replacements in notes of `credo fit`, because the page has no options.
_ADVICE = (
    (r"task='(\w+)' \(--task \w+\)", r"the task \1"),
    (r"time_order=False \(--shuffle\) holds out rows at random instead", "“Ignore the time order” holds out rows at "
     "random instead"),
    (r"Allow more with time=… \(--time SECONDS, or --time none\)\.", "Allow more time and run again."),
    (r"^Stopped by Ctrl-C", "Stopped"),
    (r" \(--[a-z][^)]*\)", ""),
)  # fmt: skip
_HELD_OUT = (*REGRESSION.measures, *on_a_scale(()).measures)
_MAX_NAME_CHARACTERS = 60
# Rows of predictions that the page shows.
_MAX_SHOWN_ROWS = 100


@dataclass(frozen=True)
class Limits:
    """Numbers of jobs that are kept and may wait, seconds for reading and predicting, and bounds of a process."""

    jobs: int = 20
    waiting: int = 8
    read_seconds: float = 120.0
    predict_seconds: float = 60.0
    # A run has its own time budget; this limit ends one that exceeds it.
    run_seconds: float = 900.0
    bounds: Bounds = field(default_factory=Bounds)


@dataclass
class Job:
    """A table and its run. `state` is one of reading, ready, waiting, running, stopping, done and failed.

    `table` is how the columns were understood, `settings` those of the last run, `result` its outcome.
    """

    id: str
    name: str
    folder: Path
    state: str = "reading"
    error: str | None = None
    table: dict[str, Any] | None = None
    settings: dict[str, Any] | None = None
    progress: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    predictions: dict[str, Any] | None = None
    child: Child | None = None
    n_runs: int = 0
    started: float = 0.0

    @property
    def upload(self) -> Path:
        """The uploaded file, in its own folder, so that its name can't be that of an output."""
        return self.folder / "table" / file_name(self.name)

    @property
    def outputs(self) -> Path:
        """The folder of the last run's files."""
        return self.folder / f"run-{self.n_runs}"

    @property
    def is_busy(self) -> bool:
        return self.state in BUSY or (self.predictions or {}).get("state") == "running"

    def file(self, name: str) -> Path | None:
        """One of the job's files by its name in the address, if there is such a file."""
        path = self.outputs / FILES[name] if name in FILES else None
        return path if path is not None and path.is_file() and self.state not in BUSY else None

    def summary(self) -> dict[str, Any]:
        """The job as a line of the list."""
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "runs": self.n_runs,
            "target": (self.settings or {}).get("target"),
            "selected": (self.result or {}).get("selected"),
        }

    def record(self, *, with_table: bool = True) -> dict[str, Any]:
        """Everything that the page shows about the job."""
        return (
            self.summary()
            | ({"table": self.table} if with_table else {})
            | {
                "error": self.error,
                "elapsed": time() - self.started,
                "settings": self.settings,
                "progress": self.progress if self.state in ("running", "stopping") else None,
                "result": self.result,
                "files": [name for name in FILES if self.file(name) is not None],
                "predictions": self.predictions,
            }
        )


class Jobs:
    """All jobs of one server, and the folder of their files."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.folder = Path(tempfile.mkdtemp(prefix="credo-lab-"))
        self._jobs: dict[str, Job] = {}
        self._lock = threading.RLock()
        # One run at a time, and at the same time one table that is read or predicted.
        self._tables, self._runs = ThreadPoolExecutor(1), ThreadPoolExecutor(1)

    def __getitem__(self, key: str) -> Job:
        with self._lock:
            return self._jobs[key]

    def summaries(self) -> list[dict[str, Any]]:
        """The jobs, the newest first."""
        with self._lock:
            return [job.summary() for job in reversed(self._jobs.values())]

    def new(self, name: str) -> Job:
        """A job for a file that is about to arrive; the oldest finished job is removed if necessary."""
        with self._lock:
            while len(self._jobs) >= self.limits.jobs:
                old = next((job for job in self._jobs.values() if not job.is_busy), None)
                if old is None:
                    raise Refused(f"There are already {self.limits.jobs} jobs running. Stop one of them first.", 409)
                self.remove(old)
            key = token_urlsafe(12)
            job = Job(key, shown_name(name), self.folder / f"job-{key}")
            job.folder.mkdir(mode=0o700)
            job.upload.parent.mkdir()
            self._jobs[key] = job
            return job

    def remove(self, job: Job) -> None:
        """Remove a job and its files; its process is ended first."""
        with self._lock:
            self._jobs.pop(job.id, None)
            if job.child is not None:
                job.child.kill()
            shutil.rmtree(job.folder, ignore_errors=True)

    def read(self, job: Job) -> None:
        """Read the columns of the uploaded file."""
        self._tables.submit(self._guarded, job, self._read)

    def start(self, job: Job, settings: dict[str, Any]) -> None:
        """Run the models; the job waits until those before it are finished."""
        with self._lock:
            if job.is_busy:
                raise Refused("This job is already running. Stop it first.", 409)
            if job.table is None:
                raise Refused("This file can't be read as a table, so there is nothing to run.", 409)
            if sum(other.state == "waiting" for other in self._jobs.values()) >= self.limits.waiting:
                raise Refused(f"{self.limits.waiting} jobs are waiting already. Try again when one has finished.", 409)
            shutil.rmtree(job.outputs, ignore_errors=True)
            job.n_runs += 1
            job.state, job.settings, job.error = "waiting", settings, None
            job.progress = job.result = job.predictions = None
        self._runs.submit(self._guarded, job, self._run)

    def stop(self, job: Job, *, now: bool = False) -> None:
        """Stop a run: finished models are compared and reported. `now` ends the process at once.

        A run whose models are all finished writes its files.
        """
        with self._lock:
            if job.state == "waiting":
                job.state = "ready"
            elif job.state in ("running", "stopping"):
                job.state = "stopping"
                if job.child is not None and (now or job.progress is None or job.progress["running"] is not None):
                    (job.child.kill if now else job.child.interrupt)()

    def ask(self, job: Job, question: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
        """A question about the job's model: its form, or the prediction of a row."""
        model = job.file("model")
        if model is None:
            raise Refused("This job has no model yet.", 409)
        return self._tables.submit(question, model).result(self.limits.predict_seconds)

    def expect_rows(self, job: Job, name: str) -> Path:
        """Reserve the job for a table of new rows; returns the path to write it to."""
        with self._lock:
            if job.is_busy:
                raise Refused("This job is running. Try again when it has finished.", 409)
            if job.file("model") is None:
                raise Refused("This job has no model yet.", 409)
            folder = job.folder / f"rows-{token_hex(8)}"
            folder.mkdir(mode=0o700)
            job.predictions = {"state": "running", "name": shown_name(name)}
            return folder / file_name(shown_name(name))

    def predict_table(self, job: Job, path: Path) -> None:
        """Predict the rows of a table that has arrived."""
        self._tables.submit(self._guarded, job, lambda job: self._predict_table(job, path))

    def close(self) -> None:
        """End the processes and delete all files."""
        with self._lock:
            for job in list(self._jobs.values()):
                self.remove(job)
        for threads in (self._tables, self._runs):
            threads.shutdown(wait=True, cancel_futures=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _guarded(self, job: Job, work: Callable[[Job], None]) -> None:
        """Do the work of a job that still exists."""
        try:
            work(job)
        except _Removed:
            return
        # An error here must be shown on the page, which would otherwise wait forever.
        except Exception as error:
            job.state, job.error = "failed", f"The lab failed: {type(error).__name__}: {error}"

    def _child(
        self,
        job: Job,
        arguments: Sequence[str],
        folder: Path,
        seconds: float,
        hear: Callable[[str], None] = lambda line: None,
    ) -> bytes:
        """The output of a child process, which is ended if the job is removed."""
        with self._lock:
            if self._jobs.get(job.id) is not job:
                raise _Removed
            job.child = Child(arguments, folder, self.limits.bounds)
        try:
            return job.child.result(seconds, hear)
        finally:
            job.child = None

    def _read(self, job: Job) -> None:
        try:
            arguments = ["credo.app.lab.jobs._table", job.upload.name]
            job.table = json.loads(self._child(job, arguments, job.upload.parent, self.limits.read_seconds))
            job.state = "ready"
        except ChildFailed as error:
            job.state, job.error = "failed", str(error)

    def _run(self, job: Job) -> None:
        with self._lock:
            if job.state != "waiting" or job.settings is None:
                return
            job.state, job.started = "running", time()
        notes: list[str] = []

        def hear(line: str) -> None:
            if line.startswith('{"progress"'):
                state = json.loads(line)["progress"]
                job.progress = state | _board(state)
            elif line.startswith("Note: "):
                notes.append(line.removeprefix("Note: "))

        seconds = self.limits.run_seconds + 2 * job.settings["seconds"]
        try:
            printed = self._child(job, fit_arguments(job), job.upload.parent, seconds, hear)
            result, error = page_result(json.loads(printed), notes), None
        except ChildFailed as failed:
            result, error = None, str(failed)
        with self._lock:
            stopped = job.state == "stopping"
            if error is not None:
                running = (job.progress or {}).get("running")
                at = f" It was fitting {running}." if running and "(SIG" in error else ""
                error = "Stopped before a model was finished." if stopped else f"{error}{at}"
            job.result, job.error = result, error
            job.state = "done" if result else "ready" if stopped else "failed"

    def _predict_table(self, job: Job, path: Path) -> None:
        model, output = (f"../{job.outputs.name}/{name}" for name in (MODEL, PREDICTIONS))
        arguments, said = ["credo", "predict", "--output", output, model, path.name], list[str]()
        try:
            self._child(job, arguments, path.parent, self.limits.read_seconds, said.append)
            notes = [line.removeprefix("Note: ") for line in said if line.startswith("Note: ")]
            found = {"state": "done", "notes": notes, **predicted_rows(job.outputs / PREDICTIONS)}
        except ChildFailed as error:
            found = {"state": "failed", "error": str(error)}
        shutil.rmtree(path.parent, ignore_errors=True)
        job.predictions = (job.predictions or {}) | found


class _Removed(Exception):
    """The job doesn't exist any more."""


def fit_arguments(job: Job) -> list[str]:
    """The arguments of `credo fit`; values follow an equals sign, so that none is parsed as an option."""
    settings = job.settings or {}
    chosen = {
        "out": f"../{job.outputs.name}",
        "target": settings["target"],
        "time": f"{settings['seconds']:g}",
        "task": settings.get("task"),
        "models": ",".join(settings.get("models") or ()) or None,
    }
    options = [f"--{name}={value}" for name, value in chosen.items() if value is not None]
    options += [f"--kinds={name}={KINDS[kind]}" for name, kind in settings.get("kinds", {}).items()]
    options += ["--shuffle"] if settings.get("shuffle") else []
    return ["credo", "fit", "--json", *options, job.upload.name]


def page_result(record: dict[str, Any], said: Sequence[str]) -> dict[str, Any]:
    """The part of the output of `credo fit --json` that the page shows, with other notes."""
    important, on_board = record["important"], record["on_board"]
    notes = [
        {"text": advice(text), "important": text in important, "shown": text in important or text in on_board}
        for text in dict.fromkeys([*record["notes"], *said])
    ]
    wanted = ("task", "target", "target_range", "selected", "tied", "reason", "performance")
    return {**{name: record[name] for name in wanted}, **_board(record), "notes": notes}


def _board(record: dict[str, Any]) -> dict[str, Any]:
    """The leaderboard, and how each score is shown."""
    lines = record["leaderboard"]
    measures = [
        {"id": name, "title": found.title, "way": found.way, "decimals": found.decimals, "share": found.is_share}
        for name, found in MEASURES.items()
        if name in _HELD_OUT and any(line.get(name) is not None for line in lines)
    ]
    return {"leaderboard": lines, "measures": measures}


def advice(text: str) -> str:
    """A note, reworded for the page.

    >>> advice("It is skewed; task='regression' (--task regression) predicts it as a number.")
    'It is skewed; the task regression predicts it as a number.'
    """
    for pattern, replacement in _ADVICE:
        text = re.sub(pattern, replacement, text)
    return text


def predicted_rows(path: Path) -> dict[str, Any]:
    """The number of rows of a file of predictions, how many are outside the training data, and the first ones."""
    first, n_rows, n_outside = list[list[str]](), 0, 0
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        header = next(lines)
        place = header.index("outside")
        for line in lines:
            n_rows, n_outside = n_rows + 1, n_outside + bool(line[place])
            if n_rows <= _MAX_SHOWN_ROWS:
                first.append([_short(title, cell) for title, cell in zip(header, line, strict=True)])
    return {"rows": n_rows, "outside": n_outside, "header": header, "shown": first}


def _short(title: str, cell: str) -> str:
    """A cell for the page: numbers to six digits, probabilities to four decimals."""
    try:
        return f"{float(cell):.4f}" if title.startswith("p(") else shown(float(cell))
    except ValueError:
        return cell


def shown_name(name: str) -> str:
    r"""A file's name as it is shown: without folders and control characters, and not too long.

    >>> shown_name("C:\\data\\my\x00 table.csv")
    'my table.csv'
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(letter for letter in last if unicodedata.category(letter)[0] != "C").strip()
    return kept[-_MAX_NAME_CHARACTERS:] or "table"


def file_name(name: str) -> str:
    """The name under which an uploaded file is kept in a folder of its own.

    >>> file_name("-<b>my table.csv"), file_name("..")
    ('b_my table.csv', 'table')
    """
    return re.sub(r"[^\w.,() +-]+", "_", name).lstrip("_. -") or "table"
