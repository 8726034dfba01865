"""What the README and the docs say is true today."""

import re
import runpy
from pathlib import Path

import matplotlib
import numpy as np
import pytest

import credo

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = runpy.run_path(str(ROOT / "docs" / "pictures.py"))


def test_the_example_runs_and_shows_what_it_says():
    matplotlib.use("agg")
    example, picture = next(PICTURES["readme_examples"]())
    scope = {}
    exec(compile(example, "README.md", "exec"), scope)
    assert picture == "band"
    std, grid = scope["dist"].std, scope["grid"]
    amid, gap, beyond = (std[(grid > a) & (grid < b)].mean() for a, b in [(1, 3), (4.8, 5.6), (10, 11)])
    assert amid < 0.8 * gap < beyond
    assert scope["model"].noise_precision_ ** -0.5 == pytest.approx(0.15, rel=0.35)
    inside = (scope["lower"] < np.sin(grid)) & (np.sin(grid) < scope["upper"])
    assert inside.mean() > 0.9


def test_the_further_examples_run_and_show_what_they_say():
    matplotlib.use("agg")
    scope = {}
    shown = []
    for block, picture in PICTURES["readme_examples"]():
        exec(compile(block, "README.md", "exec"), scope)
        shown += [picture] if picture else []
    assert len(shown) == README.count("docs/images/") and set(shown) == set(PICTURES["SIZES"])
    assert scope["gp"].relevance_.argmin() == 2
    assert scope["gp"].noise_std(np.zeros((1, 3)))[0] == pytest.approx(0.1, rel=0.3)
    np.testing.assert_allclose(scope["curved"].predict_proba([[50.0, 0.0, 0.0]]), 0.5, atol=0.1)
    inclusion, entered = scope["subsets"].inclusion_probabilities_, (scope["path"].coefs != 0).argmax(axis=1)
    others = np.setdiff1d(np.arange(12), [0, 2, 7])
    assert inclusion[0] > 0.99 and inclusion[2] > 2 * inclusion[7] > 0.6 and inclusion[others].max() < 0.25
    assert scope["subsets"].inclusion_of([2, 7]) > 0.99 and (entered[others] < entered[7]).sum() > 5


@pytest.mark.parametrize("package", re.findall(r"^\| `credo\.(\w+)`", README, flags=re.MULTILINE))
def test_the_box_holds_what_the_table_lists(package):
    row = next(line for line in README.splitlines() if line.startswith(f"| `credo.{package}`"))
    for name in re.findall(r"`(\w+)`", row.split("|")[2]):
        assert hasattr(getattr(credo, package), name)


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md", "CHANGELOG.md"]
)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert ((ROOT / page).parent / target).exists(), target


def test_the_architecture_page_names_every_room():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in (ROOT / "src" / "credo").glob("*/__init__.py")} | {"frames", "seeds"}
    listed = set(re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE))
    assert rooms == listed
