"""The routes under /api/jobs."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, FastAPI, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field
from starlette.requests import ClientDisconnect

from credo.app.lab.jobs import _predict
from credo.app.lab.jobs._child import sentence
from credo.app.lab.jobs._jobs import FILES, Job, Jobs
from credo.app.lab.refused import Refused
from credo.core.notices import on_one_line

# The report contains its style, no scripts, and loads nothing from elsewhere.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'; sandbox"
)
# The largest table; the guard of the server rejects more.
UPLOAD_BYTES = 200 * 2**20

Kind = Literal["number", "category", "text", "date", "leave out"]
Name = Annotated[str, Query(max_length=500)]
# Text of limited length; pydantic also rejects halves of surrogate pairs, which an answer couldn't contain.
Text = Annotated[str, Field(max_length=10_000)]


class Settings(BaseModel):
    """Settings of a run: the target, the task unless inferred, corrected kinds of columns, and the time budget."""

    target: Text
    task: Literal["regression", "classification"] | None = None
    kinds: dict[Text, Kind] = Field(default_factory=dict, max_length=5000)
    seconds: float = Field(60.0, gt=0, le=3600)
    models: list[Text] | None = Field(None, max_length=50)
    shuffle: bool = False


class Row(BaseModel):
    """One row of the prediction form."""

    row: dict[Text, Text | float | None] = Field(max_length=5000)
    level: float = Field(0.95, ge=0.01, le=0.999)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.jobs = Jobs(getattr(app.state, "job_limits", None))
    yield
    await run_in_threadpool(app.state.jobs.close)


router = APIRouter(prefix="/api/jobs", lifespan=_lifespan)


def jobs_of(request: Request) -> Jobs:
    """The jobs of this server."""
    found: Jobs = request.app.state.jobs
    return found


def job_of(key: str, request: Request) -> Job:
    """The job of an address."""
    try:
        return jobs_of(request)[key]
    except KeyError:
        sentence = "There is no such job. Jobs are kept only while the lab runs, and the oldest are removed."
        raise Refused(sentence, 404) from None


All = Annotated[Jobs, Depends(jobs_of)]
One = Annotated[Job, Depends(job_of)]


@router.get("")
async def listed(jobs: All) -> dict[str, Any]:
    """The jobs, the newest first, and the limits that the page shows."""
    return {"jobs": jobs.summaries(), "limits": {"upload": UPLOAD_BYTES, "jobs": jobs.limits.jobs}}


@router.post("", status_code=201)
async def upload(request: Request, jobs: All, name: Name = "table.csv") -> dict[str, Any]:
    """A new job from the bytes of a file."""
    job = jobs.new(name)
    try:
        await _received(request, job.upload)
    except BaseException:
        jobs.remove(job)
        raise
    jobs.read(job)
    return job.record()


@router.get("/{key}")
def shown(job: One, table: bool = True) -> dict[str, Any]:
    """Everything about a job; the columns of its table only on request."""
    return job.record(with_table=table)


@router.delete("/{key}", status_code=204)
def removed(job: One, jobs: All) -> None:
    """Remove a job and its files."""
    jobs.remove(job)


@router.post("/{key}/run", status_code=202)
def run(settings: Settings, job: One, jobs: All) -> dict[str, Any]:
    """Run the models."""
    jobs.start(job, settings.model_dump())
    return job.record()


@router.post("/{key}/stop", status_code=202)
def stop(job: One, jobs: All, now: Annotated[bool, Body(embed=True)] = False) -> dict[str, Any]:
    """Stop a run; finished models are kept."""
    jobs.stop(job, now=now)
    return job.record()


@router.get("/{key}/files/{which}")
def download(which: str, job: One) -> FileResponse:
    """One of the files of a job; the report is a page without scripts."""
    path = job.file(which)
    if path is None:
        raise Refused("This job has no such file.", 404)
    if which == "report":
        headers = {"content-security-policy": REPORT_POLICY, "x-content-type-options": "nosniff"}
        return FileResponse(path, media_type="text/html; charset=utf-8", headers=headers)
    kind = "application/octet-stream" if path.suffix == ".credo" else "text/csv; charset=utf-8"
    return FileResponse(path, media_type=kind, filename=FILES[which])


@router.get("/{key}/form")
def form(job: One, jobs: All) -> dict[str, Any]:
    """The fields of the prediction form."""
    return _answer(jobs, job, _predict.form)


@router.post("/{key}/predict")
def predict(row: Row, job: One, jobs: All) -> dict[str, Any]:
    """The prediction of one row."""
    return _answer(jobs, job, lambda model: _predict.predict(model, row.row, row.level))


@router.post("/{key}/predictions", status_code=202)
async def predictions(request: Request, job: One, jobs: All, name: Name = "rows.csv") -> dict[str, Any]:
    """Predict the rows of a file; the job's record has the outcome."""
    before = job.predictions
    path = jobs.expect_rows(job, name)
    try:
        await _received(request, path)
    except BaseException:
        shutil.rmtree(path.parent, ignore_errors=True)
        job.predictions = before
        raise
    jobs.predict_table(job, path)
    return job.record()


def _answer(jobs: Jobs, job: Job, question: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    try:
        return jobs.ask(job, question)
    except (ValueError, MemoryError) as error:
        raise Refused(sentence(on_one_line(error))) from None
    except TimeoutError:
        raise Refused("The prediction took too long.", 504) from None


async def _received(request: Request, path: Path) -> None:
    """Write the body of a request to a file; the caller removes the file after an error."""
    try:
        with path.open("xb") as file:
            async for chunk in request.stream():
                await run_in_threadpool(file.write, chunk)
            if not file.tell():
                raise Refused("The file is empty.")
    except ClientDisconnect:
        raise Refused("The file did not arrive completely.", 400) from None
    except OSError as error:
        raise Refused(f"The file can't be stored: {error.strerror}.", 507) from None
