"""The jobs of the lab: their states, files and workers."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe
from time import time
from typing import Any

from credo.app.lab.jobs._process import FOLDER, Worker, WorkerEnded
from credo.study._size import memory
from credo.study._study import HELD_OUT, INCLUSIONS, LEADERBOARD, MODEL, REPORT

PROGRESS, PREDICTIONS = "progress.json", "predictions.csv"
# What can be downloaded, by its name in the address; no other name reaches the file system.
FILES = {
    "model": MODEL, "leaderboard": LEADERBOARD, "held_out": HELD_OUT, "inclusions": INCLUSIONS,
    "predictions": PREDICTIONS,
}  # fmt: skip
BUSY = ("reading", "waiting", "running", "stopping")
# Endings that tell the reader how a file is written; others are read by their content.
_ENDINGS = (".json", ".jsonl", ".ndjson")
_LONGEST_NAME = 120


class Refused(Exception):
    """A request that can't be done now; the text says why."""


@dataclass(frozen=True)
class Limits:
    """Bounds of what the lab accepts: bytes of a file, jobs that are kept, runs that wait, seconds and bytes."""

    upload: int = 200 * 2**20
    jobs: int = 20
    waiting: int = 8
    read_seconds: float = 120.0
    predict_seconds: float = 60.0
    # A run has its own time budget; this is for one that doesn't keep to it.
    run_seconds: float = 900.0
    table_memory: int = field(default_factory=lambda: min(4 * 2**30, (memory() or 8 * 2**30) // 2))
    run_memory: int = field(default_factory=lambda: (memory() or 8 * 2**30) * 3 // 4)


@dataclass
class Job:
    """A table and its run. `state` is one of reading, ready, waiting, running, stopping, done and failed.

    `table` is how the columns were understood, `settings` those of the last run, `result` its outcome. A failed run
    may have a result too: the models that were finished.
    """

    id: str
    name: str
    folder: Path
    state: str = "reading"
    created: float = field(default_factory=time)
    error: str | None = None
    table: dict[str, Any] | None = None
    settings: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    predictions: dict[str, Any] | None = None
    n_runs: int = 0
    started: float = 0.0

    @property
    def upload(self) -> Path:
        """The uploaded file, under a name of our own."""
        ending = Path(self.name).suffix.lower()
        return self.folder / f"table{ending if ending in _ENDINGS else ''}"

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

    def progress(self) -> dict[str, Any] | None:
        """How far the run is, as the worker wrote it."""
        try:
            found: dict[str, Any] = json.loads((self.outputs / PROGRESS).read_bytes())
        except (OSError, ValueError):
            return None
        return found

    def summary(self) -> dict[str, Any]:
        """The job as a line of the list."""
        target = None if self.settings is None else self.settings["target"]
        selected = None if self.result is None else self.result["selected"]
        line = {"id": self.id, "name": self.name, "state": self.state, "created": self.created, "runs": self.n_runs}
        return line | {"target": target, "selected": selected}

    def record(self, *, with_table: bool = True) -> dict[str, Any]:
        """Everything that the page shows of the job."""
        known = {"table": self.table} if with_table else {}
        return (
            self.summary()
            | known
            | {
                "error": self.error,
                "elapsed": time() - self.started,
                "settings": self.settings,
                "progress": self.progress() if self.state in ("running", "stopping") else None,
                "result": self.result,
                "has_model": self.file("model") is not None,
                "has_report": self.report() is not None,
                "files": [name for name in FILES if self.file(name) is not None],
                "predictions": self.predictions,
            }
        )

    def report(self) -> Path | None:
        """The report of the last run, if there is one."""
        path = self.outputs / REPORT
        return path if self.state not in BUSY and path.is_file() else None


class Jobs:
    """All jobs of one server, the two workers, and the folder of their files."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._folder = Path(tempfile.mkdtemp(prefix=FOLDER))
        self._jobs: dict[str, Job] = {}
        self._lock = threading.RLock()
        self._running: Job | None = None
        self.tables = Worker(self._folder / "tables.log", memory=self.limits.table_memory, bounded=True)
        self.runs = Worker(self._folder / "runs.log", memory=self.limits.run_memory)
        # One thread for each worker: its tasks wait for each other.
        self._table_thread, self._run_thread = ThreadPoolExecutor(1), ThreadPoolExecutor(1)

    def __getitem__(self, key: str) -> Job:
        with self._lock:
            return self._jobs[key]

    def summaries(self) -> list[dict[str, Any]]:
        """The jobs, the newest first."""
        with self._lock:
            return [job.summary() for job in reversed(self._jobs.values())]

    def new(self, name: str) -> Job:
        """A job for a file that is about to arrive; the oldest finished job makes room for it."""
        with self._lock:
            while len(self._jobs) >= self.limits.jobs:
                old = next((job for job in self._jobs.values() if not job.is_busy), None)
                if old is None:
                    raise Refused(f"There are already {self.limits.jobs} jobs at work. Stop one of them first.")
                self.remove(old)
            key = token_urlsafe(12)
            job = Job(key, shown_name(name), self._folder / f"job-{key}")
            job.folder.mkdir(mode=0o700)
            self._jobs[key] = job
            return job

    def remove(self, job: Job) -> None:
        """Forget a job and delete its files; a run is ended first."""
        with self._lock:
            self._jobs.pop(job.id, None)
            if self._running is job:
                self.runs.kill()
            shutil.rmtree(job.folder, ignore_errors=True)

    def read(self, job: Job) -> None:
        """Let the worker look at the columns of the uploaded file."""
        self._table_thread.submit(self._guarded, job, self._read)

    def start(self, job: Job, settings: dict[str, Any]) -> None:
        """Run the models; the job waits until those before it are finished."""
        with self._lock:
            if job.state in BUSY:
                raise Refused("This job is already at work. Stop it first.")
            if job.table is None:
                raise Refused("This file can't be read as a table, so there is nothing to run.")
            if sum(other.state == "waiting" for other in self._jobs.values()) >= self.limits.waiting:
                raise Refused(f"{self.limits.waiting} jobs are waiting already. Try again when one has finished.")
            shutil.rmtree(job.outputs, ignore_errors=True)
            job.n_runs += 1
            job.outputs.mkdir(mode=0o700)
            job.state, job.settings, job.error, job.result, job.predictions = "waiting", settings, None, None, None
        self._run_thread.submit(self._guarded, job, self._run)

    def stop(self, job: Job, *, now: bool = False) -> None:
        """Stop a run: finished models are compared and reported. `now` ends the worker at once."""
        with self._lock:
            if job.state == "waiting":
                job.state = "ready"
            elif job is self._running:
                job.state = "stopping"
                if now:
                    self.runs.kill()
                else:
                    self.runs.interrupt(job.id)

    def ask(self, job: Job, task: str, **request: Any) -> dict[str, Any]:
        """A question about the job's model: its form, or the prediction of a row."""
        model = job.file("model")
        if model is None:
            raise Refused("This job has no model yet.")
        question = {"do": task, "model": str(model), **request}
        seconds = self.limits.predict_seconds
        answer = self._table_thread.submit(self.tables.ask, question, seconds=seconds)
        try:
            return answer.result()
        except WorkerEnded as end:
            return {"error": str(end)}

    def expect_rows(self, job: Job, name: str) -> dict[str, Any]:
        """Reserve the job for one table of new rows, which may arrive now."""
        with self._lock:
            if job.is_busy:
                raise Refused("This job is at work. Try again when it has finished.")
            if job.file("model") is None:
                raise Refused("This job has no model yet.")
            job.predictions = {"state": "running", "name": shown_name(name)}
            return job.predictions

    def predict_table(self, job: Job, path: Path, expected: dict[str, Any]) -> None:
        """Predict the rows of an uploaded table that was expected."""
        model = job.file("model")
        if model is None or job.predictions is not expected:
            raise Refused("The models of this job were run again.")
        output = str(job.outputs / PREDICTIONS)
        request = {"path": str(path), "name": expected["name"], "model": str(model), "output": output}
        self._table_thread.submit(self._guarded, job, lambda job: self._predict_table(job, request, expected))

    def close(self) -> None:
        """End the workers and delete all files."""
        with self._lock:
            self._jobs.clear()
            self.tables.close()
            self.runs.close()
        for thread in (self._table_thread, self._run_thread):
            thread.shutdown(wait=True, cancel_futures=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _guarded(self, job: Job, work: Callable[[Job], None]) -> None:
        """Do the work of a job that still exists; a worker's end is reported."""
        if self._jobs.get(job.id) is not job:
            return
        try:
            work(job)
        # A fault here must be seen on the page: nothing else would tell that the job has ended.
        except Exception as error:
            job.state, job.error = "failed", f"The lab failed: {type(error).__name__}: {error}"

    def _read(self, job: Job) -> None:
        try:
            request = {"do": "read", "path": str(job.upload), "name": job.name}
            answer = self.tables.ask(request, seconds=self.limits.read_seconds)
        except WorkerEnded as end:
            answer = {"error": f"{job.name!r} could not be read. {end}"}
        with self._lock:
            job.error = answer.get("error")
            job.table = None if job.error else answer
            job.state = "failed" if job.error else "ready"
        if not job.error:
            # While the user chooses the target.
            self.runs.start()

    def _run(self, job: Job) -> None:
        with self._lock:
            if job.state != "waiting" or job.settings is None:
                return
            job.state, job.started, self._running = "running", time(), job
            known = {"path": str(job.upload), "name": job.name, "folder": str(job.outputs)}
            request = {"do": "run", "job": job.id, **known, **job.settings}
        try:
            answer = self.runs.ask(request, seconds=self.limits.run_seconds + 2 * job.settings["seconds"])
        except WorkerEnded as end:
            answer = {"error": str(end), "killed": True}
        with self._lock:
            self._running = None
            if "error" not in answer:
                job.result, job.state = answer, "done"
                return
            stopped = job.state == "stopping"
            job.error, job.state = answer["error"], "ready" if answer.get("stopped") else "failed"
            if answer.get("killed"):
                job.result, what = self._finished_models(job)
                job.error = f"{'Stopped at once.' if stopped else job.error} {what}"

    def _finished_models(self, job: Job) -> tuple[dict[str, Any] | None, str]:
        """What a run that ended early had finished, and a sentence about it."""
        state = job.progress() or {}
        done = [line for line in state.get("leaderboard", []) if line["error"] is None]
        at = f" It was fitting {state['running']}." if state.get("running") else ""
        if not state.get("best"):
            return None, f"{at} No model was finished.".strip()
        reason = f"Best held-out score among the {len(done)} finished models; no final selection was made."
        result = {"selected": state["best"], "reason": reason, "performance": "", "partial": True, "notes": []}
        kept = {key: state[key] for key in ("task", "measures", "leaderboard", "target_range")}
        target = (job.settings or {}).get("target")
        what = f"{at} The {len(done)} finished models are kept, and {state['best']}, the best of them, can be used."
        return {**result, **kept, "target": target}, what.strip()

    def _predict_table(self, job: Job, request: dict[str, Any], expected: dict[str, Any]) -> None:
        named = {"name": request["name"]}
        try:
            answer = self.tables.ask({"do": "predictions", **request}, seconds=self.limits.read_seconds)
        except WorkerEnded as end:
            answer = {"error": f"{request['name']!r} could not be predicted. {end}"}
        Path(request["path"]).unlink(missing_ok=True)
        with self._lock:
            # A later run has other models.
            if job.predictions is expected:
                job.predictions = {**named, "state": "failed" if "error" in answer else "done", **answer}


def shown_name(name: str) -> str:
    r"""A file's name as it is shown: without folders and control characters, and not too long.

    >>> shown_name("C:\\data\\my\x00 table.csv")
    'my table.csv'
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(letter for letter in last if unicodedata.category(letter)[0] != "C").strip()
    return kept[-_LONGEST_NAME:] or "table"
