"""The routes under /api/jobs."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field, model_validator
from starlette.requests import ClientDisconnect

from credo.app.lab.jobs._jobs import FILES, Job, Jobs, Refused

# The report has its style inside, and neither scripts nor anything from elsewhere.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'; sandbox"
)
# The most seconds that a file may take to arrive.
_ARRIVAL = 600.0

Kind = Literal["number", "category", "text", "date", "leave out"]
Name = Annotated[str, Query(max_length=500)]


class _Sent(BaseModel):
    """A JSON value of the page."""

    @model_validator(mode="before")
    @classmethod
    def _is_text(cls, value: Any) -> Any:
        """Half of a surrogate pair could not be written into an answer."""
        try:
            json.dumps(value, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            raise ValueError("a text has half of a surrogate pair") from None
        return value


class Settings(_Sent):
    """What to run: the target, the task unless it is inferred, corrected kinds of columns, and the time budget."""

    target: str = Field(max_length=10_000)
    task: Literal["regression", "classification"] | None = None
    kinds: dict[str, Kind] = Field(default_factory=dict, max_length=5000)
    seconds: float = Field(60.0, gt=0, le=3600)
    models: list[str] | None = Field(None, max_length=50)
    shuffle: bool = False


class Row(_Sent):
    """One row of the prediction form."""

    row: dict[str, str | float | None] = Field(max_length=5000)
    level: float = Field(0.95, ge=0.01, le=0.999)


class Ending(_Sent):
    """How to stop a run: finished models are compared first, or at once."""

    now: bool = False


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    found = getattr(app.state, "jobs", None)
    if found is not None:
        await run_in_threadpool(found.close)
        app.state.jobs = None


router = APIRouter(prefix="/api/jobs", lifespan=_lifespan)


_lock = threading.Lock()


def jobs_of(request: Request) -> Jobs:
    """The jobs of this server, made on the first request."""
    state = request.app.state
    # Requests are answered in several threads.
    with _lock:
        if getattr(state, "jobs", None) is None:
            state.jobs = Jobs(getattr(state, "job_limits", None))
        found: Jobs = state.jobs
    return found


def job_of(key: str, request: Request) -> Job:
    """The job of an address."""
    try:
        return jobs_of(request)[key]
    except KeyError:
        sentence = "There is no such job. Jobs are kept only while the lab runs, and the oldest are removed."
        raise HTTPException(404, sentence) from None


All = Annotated[Jobs, Depends(jobs_of)]
One = Annotated[Job, Depends(job_of)]


@router.get("")
async def listed(jobs: All) -> dict[str, Any]:
    """The jobs, the newest first, and the limits that the page shows."""
    jobs.tables.start()
    return {"jobs": jobs.summaries(), "limits": {"upload": jobs.limits.upload, "jobs": jobs.limits.jobs}}


@router.post("", status_code=201)
async def upload(request: Request, jobs: All, name: Name = "table.csv") -> dict[str, Any]:
    """A new job from the bytes of a file."""
    with _refusals():
        job = jobs.new(name)
    try:
        await _received(request, job.upload, jobs.limits.upload)
    except BaseException:
        jobs.remove(job)
        raise
    jobs.read(job)
    return job.record()


@router.get("/{key}")
def shown(job: One, table: bool = True) -> dict[str, Any]:
    """Everything about a job; the columns of its table only if they are asked for."""
    return job.record(with_table=table)


@router.delete("/{key}", status_code=204)
def removed(job: One, jobs: All) -> None:
    """Remove a job and its files."""
    jobs.remove(job)


@router.post("/{key}/run", status_code=202)
def run(settings: Settings, job: One, jobs: All) -> dict[str, Any]:
    """Run the models."""
    _check_columns(settings, job)
    with _refusals():
        jobs.start(job, settings.model_dump())
    return job.record()


@router.post("/{key}/stop", status_code=202)
def stop(ending: Ending, job: One, jobs: All) -> dict[str, Any]:
    """Stop a run; what is finished is kept."""
    jobs.stop(job, now=ending.now)
    return job.record()


@router.get("/{key}/report")
def report(job: One) -> FileResponse:
    """The report, a page without scripts."""
    path = job.report()
    if path is None:
        raise HTTPException(404, "This job has no report.")
    headers = {"content-security-policy": REPORT_POLICY, "x-content-type-options": "nosniff"}
    return FileResponse(path, media_type="text/html; charset=utf-8", headers=headers)


@router.get("/{key}/files/{which}")
def download(which: str, job: One) -> FileResponse:
    """One of the files of a job."""
    path = job.file(which)
    if path is None:
        raise HTTPException(404, "This job has no such file.")
    kind = "application/octet-stream" if path.suffix == ".credo" else "text/csv; charset=utf-8"
    return FileResponse(path, media_type=kind, filename=FILES[which])


@router.get("/{key}/form")
def form(job: One, jobs: All) -> dict[str, Any]:
    """The fields of the prediction form."""
    return _answer(jobs, job, "form")


@router.post("/{key}/predict")
def predict(row: Row, job: One, jobs: All) -> dict[str, Any]:
    """The prediction of one row."""
    return _answer(jobs, job, "predict", row=row.row, level=row.level)


@router.post("/{key}/predictions", status_code=202)
async def predictions(request: Request, job: One, jobs: All, name: Name = "rows.csv") -> dict[str, Any]:
    """Predict the rows of a file; the job's record has the outcome."""
    before = job.predictions
    with _refusals():
        expected = jobs.expect_rows(job, name)
    path = job.folder / f"rows-{token_hex(8)}"
    try:
        await _received(request, path, jobs.limits.upload)
        with _refusals():
            jobs.predict_table(job, path, expected)
    except BaseException:
        path.unlink(missing_ok=True)
        if job.predictions is expected:
            job.predictions = before
        raise
    return job.record()


def _check_columns(settings: Settings, job: Job) -> None:
    """Refuse columns that the table doesn't have, and a table without inputs."""
    if job.table is None:
        return
    names = {column["name"] for column in job.table["columns"]}
    unknown = [name for name in (settings.target, *settings.kinds) if name not in names]
    if unknown:
        raise HTTPException(422, f"The table has no column {unknown[0]!r}.")
    left_out = {name for name, kind in settings.kinds.items() if kind == "leave out"}
    if names == left_out | {settings.target}:
        raise HTTPException(422, "Every column but the target is left out. Keep at least one to predict from.")


def _answer(jobs: Jobs, job: Job, task: str, **request: Any) -> dict[str, Any]:
    with _refusals():
        answer = jobs.ask(job, task, **request)
    if "error" in answer:
        raise HTTPException(422, answer["error"])
    return answer


class _refusals:
    """What can't be done now becomes an answer 409 with its sentence."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Refused):
            raise HTTPException(409, str(error)) from None


async def _received(request: Request, path: Path, limit: int) -> None:
    """Write the body of a request to a file, up to the limit; whoever asks for it removes the file after an error."""
    too_large = HTTPException(413, f"The file is larger than {limit / 2**20:.0f} MB, the most that the lab takes.")
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > limit:
        raise too_large
    size = 0
    try:
        async with asyncio.timeout(_ARRIVAL):
            with path.open("xb") as file:
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > limit:
                        raise too_large
                    await run_in_threadpool(file.write, chunk)
        if not size:
            raise HTTPException(422, "The file is empty.")
    except TimeoutError:
        raise HTTPException(408, "The file took too long to arrive.") from None
    except ClientDisconnect:
        raise HTTPException(400, "The file did not arrive completely.") from None
    except OSError as error:
        raise HTTPException(507, f"The file can't be kept: {error.strerror}.") from None
