"""The page "Teach with Credo": every figure is on it, and every link opens a view of the lab that exists."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("fastapi")

from credo.app.lab.playground._catalogue import MODELS
from credo.app.lab.playground._datasets import DATASETS
from credo.app.lab.playground._kernels import KERNELS
from credo.app.lab.server import PAGES, PORT, STATIC

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "teach.md").read_text(encoding="utf-8")
FIGURES = re.findall(r"\]\(auto_examples/([\w/]+)\)", PAGE)
LINKS = re.findall(r"\]\((http://127[^)]+)\)", PAGE)
LESSONS = json.loads((STATIC / "lessons" / "lessons.json").read_text(encoding="utf-8"))["lessons"]
VIEW = {"draws", "draws_from", "seed", "next", "equivalent", "curve"}


def test_every_figure_is_on_the_page_once():
    made = {path.relative_to(DOCS / "gallery").with_suffix("").as_posix() for path in DOCS.glob("gallery/*/plot_*.py")}
    assert set(FIGURES) == made and len(FIGURES) == len(made)


@pytest.mark.parametrize("link", LINKS)
def test_a_link_opens_a_view_that_exists(link):
    parts = urlsplit(link)
    words = {name: values[0] for name, values in parse_qs(parts.query).items()}
    assert parts.port == PORT and parts.path in PAGES
    if parts.path == "/lessons":
        lesson = next(each for each in LESSONS if each["id"] == words["id"])
        assert 1 <= int(words.get("step", 1)) <= len(lesson["steps"])
        return
    data = next((each for each in DATASETS if each.id == words.get("data", "sinusoid")), None)
    assert data is not None or words["data"] == "none"
    task = data.task if data else "regression"
    names = words["model"].split(",") if "model" in words else []
    known = {control.id for name in names for control in MODELS[name][task].declared}
    if "kernel" in known:
        known |= {"lengthscale", "variance", "period", "shape"}
        assert set(re.split(r"[ +*]", words.get("kernel", "RBF"))) <= set(KERNELS)
    assert set(words) - {"data", "model"} <= known | VIEW
