"""The examples and claims of the README and the docs are true."""

import re
import runpy
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from starlette.testclient import TestClient

import credo
from credo.app.serve import ServedModel, application

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = runpy.run_path(str(ROOT / "docs" / "pictures.py"))
# The gallery and the reference are made with the site, which fails on links that lead nowhere.
MADE = ("auto_examples", "reference", "_build")
DOCS = [path for path in (ROOT / "docs").rglob("*.md") if path.relative_to(ROOT / "docs").parts[0] not in MADE]


def ran(page, folder):
    """The variables after all examples of a page, and those after each example that a picture follows."""
    matplotlib.use("agg")
    scope, pictured = {}, {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        # A busy machine would leave models out.
        patch.setattr(credo, "analyze", partial(credo.analyze, time=None))
        for block, picture in PICTURES["examples"](ROOT / page):
            exec(compile(block, page, "exec"), scope)
            if picture:
                pictured[picture] = dict(scope)
        scope["written"] = {path.name for path in Path.cwd().iterdir()}
    return scope, pictured


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    return ran("docs/start/examples.md", tmp_path_factory.mktemp("examples"))


def test_every_picture_is_made(examples):
    text = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *DOCS])
    named = {name for name in re.findall(r"images/(\w+)\.(?:png|svg)\)", text) if not name.startswith("sphx_glr")}
    assert named == {path.stem for path in (ROOT / "docs" / "images").iterdir()}
    # The benchmarks make the pictures of the pages that they write.
    measured = {"scaling", "benchmarks", "honesty", *(path.stem for path in DOCS if path.stem == "rivals")}
    assert named == {*examples[1], *PICTURES["PAGE"], *measured} and set(examples[1]) == set(PICTURES["SIZES"])


def test_the_study_does_what_the_readme_says(tmp_path):
    scope, _ = ran("README.md", tmp_path)
    study = scope["study"]
    assert study.selected in ("linear", "spike-slab", "gp", "average") and study.reason
    assert {score.name for score in study.comparison.scores} == {"baseline", "linear", "spike-slab", "gp", "average"}
    assert list(study.predict(scope["frame"].head())) == ["mean", "std", "lower", "upper", "outside"]
    # The report in the picture is of the same table.
    shown = re.search(r"an RMSE of (\S+) against (\S+) for the baseline and (\S+) % of the rows", README).groups()
    held_out = {score.name: score.held_out for score in study.comparison.scores}
    found = held_out["gp"]["rmse"], held_out["baseline"]["rmse"], 100 * held_out["gp"]["coverage"]
    assert [float(number) for number in shown] == pytest.approx(found, abs=0.06)
    assert scope["written"] == {"report.html", "model.credo"}
    assert (scope["lower"] < scope["upper"]).all()


def test_the_numbers_of_the_first_fit_are_true(tmp_path):
    page = (ROOT / "docs" / "start" / "first-fit.md").read_text(encoding="utf-8")
    scope, _ = ran("docs/start/first-fit.md", tmp_path)
    for score in scope["study"].comparison.scores:
        log_score, rmse, crps, coverage = re.search(rf"^{score.name} +(.+)", page, flags=re.MULTILINE)[1].split()[:4]
        shown = {"log_score": log_score, "rmse": rmse, "crps": crps, "coverage": coverage}
        assert {name: float(value) for name, value in shown.items()} == pytest.approx(score.held_out, rel=1e-4)
    dist, level = scope["dist"], scope["dist"].interval(0.9)
    comments = re.search(r"dist\.mean  #.*?model\.", page, re.DOTALL)[0]
    for wider in (scope["new_till"], scope["no_staff"]):
        width = wider["upper"] - wider["lower"]
        assert width[1] > 1.2 * width[0]
    listed = [float(number) for number in re.findall(r"-?\d+\.\d", comments)]
    assert listed == pytest.approx([*dist.mean, *dist.std, 0.9, *level[0], *level[1]], abs=0.06)


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


def test_the_additive_example_shows_what_it_says(examples):
    scope, _ = examples
    counts = scope["counts"]
    assert counts.family_ in ("poisson", "negative_binomial")
    assert (np.array(counts.terms_.columns["log_bayes_factor"]) > 0).all()
    lower, upper = counts.predict_dist(scope["night"], exposure=8).interval(0.9)
    assert 0 <= lower[0] < upper[0] and lower[0] % 1 == upper[0] % 1 == 0
    assert scope["site_effect"].std() == pytest.approx(float(counts.variances_[-1]) ** 0.5, rel=0.3)


def test_the_request_to_the_server_is_answered(tmp_path):
    table = load_diabetes(as_frame=True, scaled=False).frame
    model = credo.TableModel(estimator=credo.LinearRegression(), target="target").fit(table)
    credo.save(model, tmp_path / "model.credo")
    page = (ROOT / "docs" / "start" / "serve.md").read_text(encoding="utf-8")
    ((address, body),) = re.findall(r"curl 'http://127.0.0.1:8000([^']+)' -d '([^']+)'", page)
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
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCS], ids=lambda page: page.stem
)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists() or set(Path(target).parts) & set(MADE), target


def test_the_architecture_page_names_every_package():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    source = ROOT / "src" / "credo"
    packages = {path.parent.name for path in source.glob("*/__init__.py")}
    listed = set(re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE))
    assert packages == listed


def test_included_sources_exist():
    included = [
        (page, page.parent / path)
        for page in DOCS
        for path in re.findall(r"\{literalinclude\} (\S+)", page.read_text(encoding="utf-8"))
    ]
    assert len(included) > 5 and all(path.resolve().exists() for _, path in included), included
