import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from tests.study.report.pages import render, study_of

from credo import plots
from credo.features import Polynomial
from credo.linear import BayesianLinearRegression, LinearRegression
from credo.selection import Comparison, compare
from credo.sparse import LassoCV
from credo.study import Note
from credo.study.report import _inputs, write
from credo.study.report._page import _mark, _tie
from credo.tables import Preparation, TableModel

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Checks that tags nest, and keeps elements, ids and the text of each element by its tag."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.text = [], [], []
        self.feed(page)
        self.close()
        assert self.open == [], f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]

    @property
    def words(self):
        return " ".join(" ".join(self.text).split()).replace("\u202f%", " %")


@pytest.fixture(scope="module")
def page(make_case):
    return render(**make_case(seed=1))


def test_the_page_is_well_formed_and_named(page):
    reader = Reader(page)
    assert page.startswith("<!doctype html>")
    assert reader.all("html") == [{"lang": "en"}]
    assert "<title>Predicting yield from " in page
    assert len(reader.all("h1")) == 1


def test_nothing_is_fetched_and_nothing_runs(page):
    reader = Reader(page)
    tags = {tag for tag, _ in reader.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    for _, attrs in reader.elements:
        assert not [name for name in attrs if name.startswith("on")]
        for name in ("src", "href", "xlink:href", "action", "data"):
            assert attrs.get(name, "#").startswith("#")
    assert not re.search(r"https?://|@import|url\((?!#)", page)
    assert "default-src 'none'" in page


def test_ids_are_unique_and_links_resolve(page):
    reader = Reader(page)
    ids = [attrs["id"] for _, attrs in reader.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"][1:] for _, attrs in reader.elements if "href" in attrs]
    labels = [attrs["aria-labelledby"] for _, attrs in reader.elements if "aria-labelledby" in attrs]
    assert set(links) | set(labels) <= set(ids)


def test_every_figure_has_its_sentence_and_words_for_the_blind(page):
    figures = re.findall(r"<figure.*?</figure>", page, flags=re.DOTALL)
    assert len(figures) == 8
    for figure in figures[:4]:
        said = re.search(r'<p class="said">(.+?)</p>', figure, flags=re.DOTALL)
        label = re.search(r'<svg [^>]*role="img" aria-label="([^"]+)"', figure)
        assert said
        assert label
        assert len(said[1]) > 40
        assert label[1].startswith(re.search("<h3>(.+?)</h3>", figure)[1])


def test_tables_have_headers_with_a_scope(page):
    headers = Reader(page).all("th")
    assert headers
    assert all(attrs.get("scope") in ("row", "col") for attrs in headers)


def test_the_answer_comes_first_and_says_it_all(page):
    words = Reader(page).words
    answer = words[: words.index("Leaderboard")]
    assert "Selected: bayes . It has the best held-out log score" in answer
    assert "RMSE on held-out rows: " in answer
    assert "the baseline, which always predicts the mean, has" in answer
    assert "RMSE baseline:" in answer
    assert "are inside their 95 % interval, as expected" in answer
    assert "yield rises with x0 and falls with x1" in answer


def test_notes_seed_folds_versions_and_glossary_are_there(page):
    words = Reader(page).words
    for part in (
        "The separator is a semicolon.",
        "(seed 0) and cut into 5 folds",
        f"numpy {np.__version__}",
        "Log score",
        "CRPS",
        "Coverage",
        "Evidence",
        "PIT",
    ):
        assert part in words


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</svg></style><script>alert(2)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "$\\frac{1}{",
    "\x00\x1b & &amp; '",
]


def test_hostile_names_are_inert(make_case, tmp_path):
    case = make_case(p=6, names=HOSTILE, target=HOSTILE[0], failed=(HOSTILE[1],))
    case["source"] = HOSTILE[2]
    case["sheet_notes"] = [*HOSTILE, "half a pair: \ud800"]
    case["comparison"] = Comparison([*case["comparison"].scores], case["comparison"].held_out, notes=HOSTILE, n_folds=5)
    write(tmp_path / "report.html", study_of(**case))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    reader = Reader(text)
    tags = {tag for tag, _ in reader.elements}
    assert not tags & {"script", "img"}
    assert "{{ 7 * 7 }}" in reader.words
    assert "<script>alert(1)</script>" in reader.words
    assert not [name for _, attrs in reader.elements for name in attrs if name.startswith("on")]


def test_equal_input_makes_equal_bytes(make_case, page, pictures):
    assert render(**make_case(seed=1)) == page
    assert not re.search(r"\b20\d\d-\d\d-\d\d\b", page)
    assert "2024-05-06" in render(**make_case(seed=1), date="2024-05-06")


def test_failed_models_are_listed_with_their_sentence(make_case):
    words = Reader(render(**make_case(failed=("lms",)))).words
    assert "Could not be fitted: the design has no column that varies (in fold 1 of 5)" in words
    assert "One model could not be fitted." in words


def test_models_without_coefficients_get_no_such_figure(make_case):
    page = render(**make_case(coefficients=False))
    assert "figure-coefficients" not in page
    assert "Clearest effect" not in page


def test_coefficients_of_another_model_say_whose_they_are(make_case):
    case = make_case()
    opaque = make_case(coefficients=False)["models"]["bayes"]
    case["models"] = {"bayes": opaque, "ridge": case["models"]["ridge"]}
    words = Reader(render(**case)).words
    assert "Clearest effects in ridge:" in words
    assert "coefficients of ridge with a clear sign" in words
    assert "In ridge, two of the four coefficients have" in words
    assert "bayes has no coefficients with intervals; these are from ridge." in words


def test_the_file_stands_below_the_question(make_case):
    page = render(**make_case(), source="trial.csv")
    header = re.search(r"<header>.*?</header>", page, re.DOTALL)[0]
    assert re.search(r"<h1>Predicting yield from \d+ columns</h1>\s*<p class=\"size\"><span>trial\.csv</span>", header)


def test_folds_that_do_not_follow_the_dates_are_said_to(make_case):
    case = make_case()
    assert "forecasting" not in Reader(render(**case)).words
    case["frame"]["x1"] = pd.date_range("2024-01-01", periods=200)
    case["preparation"] = Preparation().fit(case["frame"])
    made = Reader(render(**case)).words
    assert "The rows have dates (x1), but the folds ignore them" in made


def test_wide_and_long_tables_stay_small(make_case):
    wide = render(**make_case(n=400, p=300, names=[f"{'a long name of column ' * 4}{i}" for i in range(300)]))
    long = render(**make_case(n=20_000, p=20))
    assert max(len(wide.encode()), len(long.encode())) < 1_000_000
    assert "200 more columns are not shown." in wide
    assert "The figure shows the 20 that are largest" in wide
    assert "500 of 20,000 rows are drawn." in long
    Reader(wide)


def test_five_rows_and_one_model(make_real):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0]})
    words = Reader(
        render(**make_real(frame, np.array([1.1, 2.3, 2.9, 4.2, 5.1]), {"linear": LinearRegression()}))
    ).words
    assert "5 rows are too few to show a pattern." in words
    assert "Rows to look at first" not in words


def test_a_constant_target(make_real):
    frame = pd.DataFrame({"x": np.arange(20.0) ** 2, "z": np.arange(20.0) % 3})
    models = {"linear": LinearRegression(), "bayes": BayesianLinearRegression()}
    words = Reader(render(**make_real(frame, np.full(20, 3.0), models))).words
    assert "Every value of y is 3: there is nothing to predict." in words
    assert "Do the residuals show a pattern?" not in words


def test_a_table_with_everything(tmp_path, make_real):
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "dose": rng.normal(size=n),
            "kind": rng.choice(["a", "b", "c"], size=n),
            "day": pd.date_range("2021-01-01", periods=n),
            "remark": [" ".join(rng.choice(["red", "green", "blue", "warm", "cold"], size=5)) for _ in range(n)],
            "constant": 1,
        }
    )
    frame.loc[::10, "dose"] = np.nan
    y = 2 * frame["dose"].fillna(0).to_numpy() + (frame["kind"] == "b") + 0.5 * rng.normal(size=n)
    models = {
        "bayes": BayesianLinearRegression(),
        "polynomial": make_pipeline(Polynomial(degree=2), BayesianLinearRegression()),
    }
    write(tmp_path / "r.html", study_of(**make_real(frame, y.to_numpy(), models)))
    words = Reader((tmp_path / "r.html").read_text(encoding="utf-8")).words
    assert "y rises with dose" in words
    assert "Bayesian linear regression after polynomial".lower() in words.lower()
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_a_page_that_cannot_be_made_leaves_the_old_one(make_case, tmp_path):
    path = tmp_path / "r.html"
    path.write_text("old")
    case = make_case()
    with pytest.raises(AttributeError):
        write(path, study_of(**case | {"preparation": None}))
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["r.html"]


def test_without_jinja_the_words_are_clear():
    code = "import sys; sys.modules['jinja2'] = None; import credo.study.report"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "credo.study.report needs Jinja2, which is not installed: pip install 'credo[report]'" in ended.stderr


def test_important_notes_stand_on_top_and_the_others_where_they_are(make_case):
    case = make_case()
    case["sheet_notes"] = (Note("Column 'logwage' nearly determines the target.", important=True), Note("A quiet one."))
    page = render(**case, notes=[Note("The time budget ended.", important=True)])
    top = page[page.index('id="alerts"') : page.index('id="answer"')]
    assert "logwage" in top and "The time budget ended." in top and "A quiet one." not in top
    assert page.count("logwage") == 1 and page.count("A quiet one.") == 1
    assert 'id="alerts"' not in render(**make_case())


def test_nothing_beats_guessing_is_the_first_sentence_and_nothing_is_praised(make_real):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(150, 3)), columns=["a", "b", "c"])
    case = make_real(frame, rng.normal(size=150), {"linear": LinearRegression(), "bayes": BayesianLinearRegression()})
    assert case["comparison"].selected == "baseline"
    words = Reader(render(**case)).words
    answer = words[words.index("Summary") : words.index("Leaderboard")]
    assert answer.startswith(("Summary No model clearly beat the baseline", "Summary No model beat the baseline"))
    assert "clear margin" not in words and "Which inputs matter" not in words


def test_a_model_that_was_asked_for_has_the_page(make_case):
    case = make_case()
    page = Reader(render(**case, selected="ridge", reason="Selected: ridge, as asked for.")).words
    assert "Selected: ridge , as asked for." in page and "ridge selected" in page and "bayes selected" not in page
    assert "ridge on held-out rows, unless stated otherwise." in page


def test_a_figure_that_fails_costs_that_figure_alone(make_case, monkeypatch):
    def broken(*args, **options):
        raise RuntimeError("no ink <b>")

    monkeypatch.setattr(plots, "residuals", broken)
    page = render(**make_case(seed=1))
    assert "This figure could not be drawn (RuntimeError: no ink &lt;b&gt;)." in page
    assert page.count("<svg") >= 3 and "Do the residuals show a pattern?" in page


def test_inputs_that_cannot_be_looked_at_cost_their_part_alone(monkeypatch, make_real):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    case = make_real(frame, frame["a"].to_numpy() + 0.1 * rng.normal(size=60), {"linear": LinearRegression()})

    def broken(*args, **options):
        raise RuntimeError("no ink")

    monkeypatch.setattr(_inputs, "influence", broken)
    assert "Influences of the inputs could not be computed (RuntimeError: no ink)." in render(**case)


def test_two_threads_write_the_pages_that_one_writes(make_case):
    cases = [make_case(n=40, seed=seed) for seed in range(3)]
    serial = [render(**case) for case in cases]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda case: render(**case), cases)) == serial


def test_predictions_in_the_order_of_time(make_real, pictures):
    n = 60
    frame = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=n, freq="MS").strftime("%Y-%m-%d")})
    y = np.arange(n) + np.random.default_rng(0).normal(size=n)
    tables = {"linear": TableModel(Preparation(standardize=True), LinearRegression(), "y")}
    splits = [(np.arange(10 * i), np.arange(10 * i, 10 * i + 10)) for i in range(1, 6)]
    comparison = compare(tables, frame, y, cv=splits)
    page = render(**make_real(frame, y, {"linear": LinearRegression()}) | {"comparison": comparison})
    figure = page[page.index('id="figure-time"') :]
    figure = figure[: figure.index("</figure>")]
    assert {">2021<", ">2022<", ">2023<", ">2024<"} <= set(re.findall(r">\d{4}<", figure))
    assert "The first 10 rows were used for training only." in figure
    words = Reader(page).words
    assert "The last 50 rows in time order were cut into 5 blocks." in words and "shuffled" not in words
    # The curve along the date has dates at its axis too.
    assert "days since" not in page[page.index('id="figure-line"') :].split("</figure>")[0]


def test_a_name_stands_out_whole_or_not_at_all():
    assert _mark("bayes-logistic is ahead of logistic.", "logistic") == (
        "bayes-logistic is ahead of <strong>logistic</strong>."
    )
    assert _mark("gp-matern & gp", "gp") == "gp-matern &amp; <strong>gp</strong>"
    assert _mark("nothing", "gp") == "nothing"


def test_a_seed_that_was_drawn_is_said_to_be(make_case):
    case = make_case()
    case["models"]["bayes"].set_params(estimator=LassoCV(random_state=1801460861))
    words = Reader(render(**case)).words
    assert "Random seeds of the models: 1801460861." in " ".join(words.split())
    assert "Random seeds" not in Reader(render(**make_case())).words


def test_an_endless_title_stays_a_heading(make_case):
    assert len(_heading(render(**make_case(target="y" * 5000 + "\x1b from file.csv")))) <= 120


def _heading(text):
    return re.search(r"<h1>(.*?)</h1>", text, re.DOTALL)[1]


def test_equations_do_not_break_at_the_end_of_a_line():
    assert _tie("always naming target = 1, p < 0.001") == "always naming target\u00a0=\u00a01, p\u00a0&lt;\u00a00.001"


def test_a_band_is_spoken_of_where_there_is_one(make_real):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    y = frame["a"].to_numpy() + 0.1 * rng.normal(size=60)
    assert "Band: 95" in Reader(render(**make_real(frame, y, {"linear": LinearRegression()}))).words
    assert "Band:" not in Reader(render(**make_real(frame, y, {"lasso": LassoCV()}))).words
