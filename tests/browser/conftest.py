"""The lab in a real Chromium: a server of its own, and pages that fail the test on any error they report."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, Queue
from threading import Thread
from urllib.parse import urlsplit

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright isn't installed")

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
SERVE = "from credo.app.lab import run; run(0, ready=lambda address: print(address, flush=True))"
START, PATIENCE = 180, 20_000
LAPTOP, PHONE = {"width": 1366, "height": 768}, {"width": 390, "height": 844}


@dataclass
class Lab:
    """A running lab: its address, and the token that it asks for."""

    address: str
    process: subprocess.Popen[str]

    def url(self, path: str = "/") -> str:
        """The address of a page, with the token; a part after # stays last."""
        parts, given = urlsplit(self.address), urlsplit(path)
        query = "&".join(filter(None, [given.query, parts.query]))
        anchor = f"#{given.fragment}" if given.fragment else ""
        return f"{parts.scheme}://{parts.netloc}{given.path}?{query}{anchor}"


@dataclass
class Problems:
    """What a page reported: errors of scripts and of the console, and requests to other hosts."""

    found: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def allow(self, pattern: str) -> None:
        """Don't fail for reports that match, because the test provokes them."""
        self.allowed.append(pattern)

    def unexpected(self) -> list[str]:
        return [each for each in self.found if not any(re.search(pattern, each) for pattern in self.allowed)]


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True, env={**os.environ, **threads}
    )
    try:
        yield Lab(_first_line(process), process)
    finally:
        process.terminate()
        process.wait(timeout=20)


def _first_line(process: subprocess.Popen[str]) -> str:
    lines: Queue[str] = Queue()
    Thread(target=lambda: lines.put(process.stdout.readline()), daemon=True).start()
    try:
        line = lines.get(timeout=START).strip()
    except Empty:
        line = ""
    if not line:
        process.kill()
        pytest.fail(f"The lab didn't start within {START} s.")
    return line


@pytest.fixture(scope="session")
def browser() -> Iterator[sync_api.Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium isn't installed; `make test-browser` installs it.")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield started
        started.close()


@pytest.fixture
def problems() -> Problems:
    return Problems()


@pytest.fixture
def page(lab: Lab, browser: sync_api.Browser, problems: Problems) -> Iterator[sync_api.Page]:
    """A page of the size of a laptop's screen."""
    with _page(lab, browser, problems, viewport=LAPTOP) as made:
        yield made


@pytest.fixture
def phone(lab: Lab, browser: sync_api.Browser, problems: Problems) -> Iterator[sync_api.Page]:
    """A page of the size of a phone's screen, with touch."""
    with _page(lab, browser, problems, viewport=PHONE, has_touch=True, is_mobile=True) as made:
        yield made


@contextmanager
def _page(lab: Lab, browser: sync_api.Browser, problems: Problems, **options: object) -> Iterator[sync_api.Page]:
    context = browser.new_context(reduced_motion="reduce", **options)
    made = context.new_page()
    made.set_default_timeout(PATIENCE)
    made.on("console", lambda message: message.type == "error" and problems.found.append(message.text))
    made.on("pageerror", lambda error: problems.found.append(f"{error.name}: {error.message}"))
    made.on("request", _host_check(urlsplit(lab.address).netloc, problems))
    try:
        yield made
    finally:
        context.close()
    assert problems.unexpected() == []


def _host_check(host: str, problems: Problems) -> Callable[[sync_api.Request], None]:
    def check(request: sync_api.Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc != host:
            problems.found.append(f"request to another host: {request.url}")

    return check
