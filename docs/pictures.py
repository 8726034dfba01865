"""Makes the pictures of the README and of docs/start: ``python docs/pictures.py``.

Figures come from running the examples of these pages, the report from fitting the models of ``credo demo``, the page of
the lab from ``credo lab``. Pages are screenshots by a headless Chromium and are skipped where there is none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright
from sklearn.datasets import load_diabetes

from credo.app.cli._demo import MODELS

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
# The pages whose Python runs, each from top to bottom.
PAGES = {name: DOCS.parent / name for name in ("README.md", "docs/start/first-fit.md", "docs/start/examples.md")}
BLOCK = re.compile(r"```python\n(.*?)```(?:\s*!\[[^\]]*\]\((?:docs|\.\.)/images/(\w+)\.png\))?", flags=re.DOTALL)

# Width and height of figures in inches, and axis labels that the examples leave out.
SIZES = {"band": (7.2, 3.6), "inclusions": (7.2, 4.0)}
AXES = {"band": {"xlabel": "x", "ylabel": "y"}}
# Width, height and scale of the screenshots: the report down to the end of the leaderboard, the first view of the lab.
PAGE = {"report": (1000, 1160, 1.5), "lab": (1440, 900, 1)}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def examples(page: Path) -> Iterator[tuple[str, str | None]]:
    """The Python blocks of a page in order, each with the name of the picture that follows it, if one does."""
    for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield found.group(1), found.group(2)


def figures() -> None:
    """Run the examples, and save the axes of those that a picture follows."""
    for title, page in PAGES.items():
        scope: dict = {}
        for code, name in examples(page):
            exec(compile(code, title, "exec"), scope)  # noqa: S102 — our own text
            if name is not None:
                figure = scope["ax"].figure
                figure.set_size_inches(*SIZES[name])
                scope["ax"].set(**AXES.get(name, {}))
                figure.savefig(IMAGES / f"{name}.png", dpi=160, bbox_inches="tight")


def screenshot(name: str, address: str) -> None:
    """A picture of a page, once it asks for nothing more."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.stderr.write(f"No Chromium found: the picture of {name} was not made.\n")
        return
    width, height, scale = PAGE[name]
    options = [
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--no-first-run",
        "--disable-background-networking",
    ]
    with sync_playwright() as play, play.chromium.launch(executable_path=browser, args=options) as chromium:
        page = chromium.new_page(viewport={"width": width, "height": height}, device_scale_factor=scale)
        page.goto(address, wait_until="networkidle", timeout=120_000)
        page.screenshot(path=IMAGES / f"{name}.png")


def report(folder: Path) -> None:
    """The report of ``credo demo``; without its time budget, which a busy machine would exceed."""
    table = load_diabetes(as_frame=True, scaled=False).frame.rename(columns={"target": "progression"})
    table.to_csv(folder / "diabetes.csv", index=False)
    command = [sys.executable, "-m", "credo", "fit", folder / "diabetes.csv", "--target", "progression"]
    options = ["--models", ",".join(MODELS), "--time", "none", "--out", folder]
    subprocess.run([*command, *options], check=True)
    screenshot("report", (folder / "report.html").as_uri())


def lab() -> None:
    """The playground of ``credo lab``."""
    command = [sys.executable, "-m", "credo", "lab", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        screenshot("lab", server.stdout.readline().strip())
        server.terminate()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        # The examples write files into the working folder.
        os.chdir(place)
        figures()
        report(Path(place))
        lab()
