"""The examples and claims of the README and the docs are true."""

import re
import runpy
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from starlette.testclient import TestClient

import credo
from credo.serve import ServedModel, application

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = runpy.run_path(str(ROOT / "docs" / "pictures.py"))


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """The variables after all examples, and those after each example that a picture follows."""
    matplotlib.use("agg")
    scope, pictured = {}, {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("readme"))
        for block, picture in PICTURES["readme_examples"]():
            exec(compile(block, "README.md", "exec"), scope)
            if picture:
                pictured[picture] = dict(scope)
        scope["written"] = {path.name for path in Path.cwd().iterdir()}
    return scope, pictured


def test_every_picture_is_made(examples):
    named = set(re.findall(r"docs/images/(\w+)\.png", README))
    assert named == {*examples[1], *PICTURES["PAGE"]} and set(examples[1]) == set(PICTURES["SIZES"])
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    others = set(re.findall(r"\(images/(\w+)\.png", pages))
    assert named | others == {path.stem for path in (ROOT / "docs" / "images").iterdir()}


def test_the_study_does_what_the_readme_says(examples):
    scope, _ = examples
    study = scope["study"]
    assert study.selected in ("linear", "spike-slab", "gp") and study.reason
    assert {score.name for score in study.comparison.scores} == {"baseline", "linear", "spike-slab", "gp"}
    assert list(study.predict(scope["frame"].head())) == ["mean", "std", "lower", "upper", "outside"]
    assert scope["written"] == {"report.html", "model.credo"}


def test_the_band_is_wide_where_there_are_no_data(examples):
    scope = examples[1]["band"]
    std, grid = scope["dist"].std, scope["grid"]
    amid, gap, beyond = (std[(grid > a) & (grid < b)].mean() for a, b in [(1, 3), (4.8, 5.6), (10, 11)])
    assert amid < 0.8 * gap < beyond
    assert scope["model"].noise_precision_ ** -0.5 == pytest.approx(0.15, rel=0.35)
    inside = (scope["lower"] < np.sin(grid)) & (np.sin(grid) < scope["upper"])
    assert inside.mean() > 0.9


def test_the_other_examples_show_what_they_say(examples):
    scope, _ = examples
    assert scope["gp"].relevance_.argmin() == 2
    assert scope["gp"].noise_std(np.zeros((1, 3)))[0] == pytest.approx(0.1, rel=0.3)
    np.testing.assert_allclose(scope["curved"].predict_proba([[50.0, 0.0, 0.0]]), 0.5, atol=0.1)
    assert (scope["low"] > 0).all()
    inclusion, entered = scope["subsets"].inclusion_probabilities_, (scope["path"].coefs != 0).argmax(axis=1)
    others = np.setdiff1d(np.arange(12), [0, 2, 7])
    assert inclusion[0] > 0.99 and inclusion[2] > 2 * inclusion[7] > 0.6 and inclusion[others].max() < 0.25
    assert scope["subsets"].inclusion_of([2, 7]) > 0.99 and (entered[others] < entered[7]).sum() > 5


def test_the_request_to_the_server_is_answered(tmp_path):
    table = load_diabetes(as_frame=True, scaled=False).frame
    model = credo.TableModel(estimator=credo.LinearRegression(), target="target").fit(table)
    credo.save(model, tmp_path / "model.credo")
    ((address, body),) = re.findall(r"curl 'http://127.0.0.1:8000([^']+)' -d '([^']+)'", README)
    app = application(ServedModel.open(tmp_path / "model.credo"))
    with TestClient(app, base_url="http://127.0.0.1:8000") as http:
        answer = http.post(address, content=body).json()
        (row,) = answer["predictions"]
        assert answer["level"] == 0.9 and row["lower"] < row["mean"] < row["upper"] and row["outside"] is None
        for path in ("/docs", "/v2", "/metrics", "/v2/models/model"):
            assert http.get(path).status_code == 200


@pytest.mark.parametrize("package", re.findall(r"^\| `credo\.(\w+)`", README, flags=re.MULTILINE))
def test_the_box_holds_what_the_table_lists(package):
    row = next(line for line in README.splitlines() if line.startswith(f"| `credo.{package}`"))
    for name in re.findall(r"`(\w+)`", row.split("|")[2]):
        assert hasattr(getattr(credo, package), name)


@pytest.mark.parametrize(
    "page",
    ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))],
)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        # The gallery and the reference are made with the site, which fails on links that lead nowhere.
        made = target.startswith(("auto_examples/", "reference/"))
        assert made or ((ROOT / page).parent / target).exists(), target


def test_the_architecture_page_names_every_package():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    source = ROOT / "src" / "credo"
    packages = {path.parent.name for path in source.glob("*/__init__.py")} | {"deadlines", "frames", "notices", "seeds"}
    listed = set(re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE))
    assert packages == listed
