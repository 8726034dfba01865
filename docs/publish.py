"""Put built pages into the folder of their version: `python docs/publish.py HTML SITE`.

CREDO_DOCS_VERSION is a tag or a branch, CREDO_DOCS_SITE the address of the site.

SITE has a folder for each minor release, `stable` for the latest one, `dev`, and `switcher.json`, the menu of versions.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path


def folders(tag: str) -> list[str]:
    """Where the pages of a tag or a branch go: v0.1.2 into 0.1 and stable."""
    found = re.fullmatch(r"v(\d+\.\d+)\.\d+", tag)
    return [found[1], "stable"] if found else ["dev"]


def publish(html: Path, site: Path, tag: str, address: str) -> None:
    for name in folders(tag):
        shutil.rmtree(site / name, ignore_errors=True)
        shutil.copytree(html, site / name)
    (site / ".nojekyll").touch()
    released = {path.name: [int(part) for part in path.name.split(".")] for path in site.glob("[0-9]*.[0-9]*")}
    versions = [*sorted(released, key=released.__getitem__, reverse=True), "dev"]
    menu = [{"version": name, "url": f"{address}/{name}/"} for name in versions if (site / name).exists()]
    (site / "switcher.json").write_text(json.dumps(menu, indent=1), encoding="utf-8")
    start = "stable" if released else "dev"
    (site / "index.html").write_text(f'<meta http-equiv="refresh" content="0; url={start}/">\n', encoding="utf-8")


if __name__ == "__main__":
    publish(Path(sys.argv[1]), Path(sys.argv[2]), os.environ["CREDO_DOCS_VERSION"], os.environ["CREDO_DOCS_SITE"])
