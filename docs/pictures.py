"""Draws the README's pictures by running the README's own examples: ``python docs/pictures.py``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parent
BLOCK = re.compile(r"```python\n(.*?)```(?:\s*!\[[^\]]*\]\(docs/images/(\w+)\.png\))?", flags=re.DOTALL)

# Width and height in inches, and the names of axes that the examples leave to the reader.
SIZES = {"band": (7.2, 3.6), "inclusions": (7.2, 4.0)}
AXES = {"band": {"xlabel": "x", "ylabel": "y"}}


def readme_examples() -> Iterator[tuple[str, str | None]]:
    """The README's Python blocks in their order, each with the name of the picture that follows it, if one does."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield found.group(1), found.group(2)


if __name__ == "__main__":
    scope: dict = {}
    for code, name in readme_examples():
        exec(compile(code, "README.md", "exec"), scope)  # noqa: S102 — our own text
        if name is not None:
            figure = scope["ax"].figure
            figure.set_size_inches(*SIZES[name])
            scope["ax"].set(**AXES.get(name, {}))
            figure.savefig(DOCS / "images" / f"{name}.png", dpi=160, bbox_inches="tight")
