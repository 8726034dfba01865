"""Draws the README's picture by running the README's own example: ``python docs/pictures.py``."""

import re
from pathlib import Path

DOCS = Path(__file__).parent


def readme_example() -> str:
    """The first Python block of the README."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert found, "the README has lost its example"
    return found.group(1)


if __name__ == "__main__":
    scope: dict = {}
    exec(compile(readme_example(), "README.md", "exec"), scope)  # noqa: S102 — our own text
    figure = scope["ax"].figure
    figure.set_size_inches(7.2, 3.6)
    scope["ax"].set(xlabel="x", ylabel="y")
    figure.savefig(DOCS / "images" / "band.png", dpi=160, bbox_inches="tight")
