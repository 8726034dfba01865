"""Makes the README's pictures: ``python docs/pictures.py``.

Figures come from running the README's own examples, the report from running ``credo demo``. Its picture is a screenshot
by a headless Chromium and is skipped where there is none.
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

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
BLOCK = re.compile(r"```python\n(.*?)```(?:\s*!\[[^\]]*\]\(docs/images/(\w+)\.png\))?", flags=re.DOTALL)

# Width and height of figures in inches, and axis labels that the examples leave out.
SIZES = {"band": (7.2, 3.6), "inclusions": (7.2, 4.0)}
AXES = {"band": {"xlabel": "x", "ylabel": "y"}}
# Width and height of the screenshot in pixels: the page down to the end of the leaderboard.
PAGE = {"report": (1000, 1160)}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def readme_examples() -> Iterator[tuple[str, str | None]]:
    """The README's Python blocks in order, each with the name of the picture that follows it, if one does."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield found.group(1), found.group(2)


def figures() -> None:
    """Run the examples, and save the axes of those that a picture follows."""
    scope: dict = {}
    for code, name in readme_examples():
        exec(compile(code, "README.md", "exec"), scope)  # noqa: S102 — our own text
        if name is not None:
            figure = scope["ax"].figure
            figure.set_size_inches(*SIZES[name])
            scope["ax"].set(**AXES.get(name, {}))
            figure.savefig(IMAGES / f"{name}.png", dpi=160, bbox_inches="tight")


def report(folder: Path) -> None:
    """Run ``credo demo``, and take a screenshot of its report."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.stderr.write("No Chromium found: the picture of the report was not made.\n")
        return
    subprocess.run([sys.executable, "-m", "credo", "demo", "--out", folder], check=True)
    width, height = PAGE["report"]
    options = [
        "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
        "--disable-background-networking", "--force-device-scale-factor=1.5", f"--window-size={width},{height}",
        f"--user-data-dir={folder / 'user'}", f"--screenshot={IMAGES / 'report.png'}",
    ]  # fmt: skip
    subprocess.run([browser, *options, (folder / "report.html").as_uri()], check=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        # The examples write files into the working folder.
        os.chdir(place)
        figures()
        report(Path(place))
