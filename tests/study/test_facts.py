"""All pairs of sentences, tiles and notes of a study that speak of one fact say the same of it."""

import re
from html import unescape
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from credo.metrics import rmse
from credo.study.facts import Folds


def text(page):
    """The parts of a page as lines of text, without figures and the glossary."""
    page = re.sub(r"<(style|svg).*?</\1>", "", page[: page.index('<section id="glossary"')], flags=re.DOTALL)
    lines = re.split(r"</(?:p|li|tr|h\d|dt|dd)>", page)
    return [" ".join(unescape(re.sub(r"<[^>]+>", " ", line)).replace("\u2060", "").split()) for line in lines]


def share(match):
    return float(match[1]) / 100


def ratio(match):
    return float(match[1].replace(",", "")) / float(match[2].replace(",", ""))


def saved(match):
    return 1 - ratio(match) ** 2


def numbered(match):
    return float(match[1].replace(",", "").replace("−", "-"))


N = r"([\d,]+)"
# By fact: a pattern of each sentence that speaks of it and what it says; numbers may differ by their rounding.
CLAIMS = {
    "selected model": [(r"Selected: ([\w-]+)", lambda m: m[1])],
    "rows in time order": [
        (r"predicted from the rows before it", lambda m: True),
        (r"in time order were", lambda m: True),
        (r"mean of earlier rows", lambda m: True),
        (r"blocks in time order\)", lambda m: True),
        (r"from other rows, earlier and later ones", lambda m: False),
        (r"rows were shuffled|drawn at random|Rows are held out at random", lambda m: False),
        (r"explains? (?:\d+ %|none) of the variance", lambda m: False),
    ],
    "number of folds": [
        (r"cut into (\d+) (?:folds|blocks)", numbered),
        (r"held-out rows \((\d+) (?:folds|blocks)", numbered),
        (r"drawn at random.*were held out", lambda m: 1.0),
        (r"held-out rows \([\d,]+ rows\)", lambda m: 1.0),
    ],
    "held-out rows": [
        (rf"Accuracy on held-out rows: .*? of {N}\)", numbered),
        (rf"of {N} held-out rows? \(", numbered),
        (rf"{N} of {N} rows, drawn", numbered),
        (rf"The last {N} rows in time order", numbered),
    ],
    "coverage": [
        (rf"Coverage: {N} of {N} held-out", ratio),
        (rf"{N} of {N} rows are inside the 95 % band", ratio),
        (r"([\d.]+) % inside the 95 % interval", share),
        (rf"{N} of {N} intervals? miss", lambda m: 1 - ratio(m)),
    ],
    "RMSE": [(r"RMSE on held-out rows: ([\d.,]+\d)", numbered), (r"([\d.,]+) RMSE baseline", numbered)],
    "explained variance": [
        (r"explains? (\d+) % of the variance", share),
        (r"(\d+) % of the variance explained", share),
        (r"explains? none of the variance", lambda m: 0.0),
    ],
    "saved beside earlier rows": [
        (r"squared error of the predictions is (\d+) % below that of the mean", share),
        (r"RMSE on held-out rows: ([\d.,]+\d); the baseline, .* earlier rows, has ([\d.,]+\d)", saved),
    ],
    "accuracy": [
        (r"Accuracy on held-out rows: ([\d.]+) %", share),
        (r"([\d.]+) % accuracy always", share),
        (rf"\({N} of {N}\); always predicting", ratio),
    ],
    "most frequent class": [
        (r"always predicting \w+, the most frequent class, gives ([\d.]+) %", share),
        (r"accuracy always \w+: ([\d.]+) %", share),
    ],
    "recall": [
        (r"Recall of \w+: ([\d.]+) %", share),
        (r"([\d.]+) % recall of \w+", share),
        (rf"{N} of {N} rows? found", ratio),
    ],
    "log loss": [(r"Log loss: ([\d.]+\d)", numbered), (r"([\d.]+) log loss baseline", numbered)],
    "intervals calibrated": [
        (r"No sign of miscalibration in", lambda m: True),
        (r"Overconfident: |Underconfident: |[Bb]iased: |the bars are less even", lambda m: False),
        (r"Intervals of lower levels are (?:wider|narrower)", lambda m: False),
    ],
    "probabilities calibrated": [
        (r"no sign of miscalibration", lambda m: True),
        (r"the model is (?:over|under)confident(?!:)|some probabilities are off", lambda m: False),
    ],
    "side of the bias": [(r"[Bb]iased: .*predictions tend to be too (low|high)", lambda m: m[1])],
    "forecast ahead": [
        (r"Forecast for (\S+: \S+)", lambda m: m[1]),
        (r"No forecast ahead: .*? needs (.*?) at", lambda m: m[1]),
    ],
}  # fmt: skip


def said(study, folder):
    """What each sentence says of each fact, with the sentence."""
    study.report(folder / "report.html")
    lines = [study.facts.reason_in_words, *study.facts.performance, *study.leaderboard.notes]
    lines += [note.text for note in study.notes] + text((folder / "report.html").read_text(encoding="utf-8"))
    found = {fact: [] for fact in CLAIMS}
    for fact, patterns in CLAIMS.items():
        for pattern, value in patterns:
            for line in lines:
                line = line.replace("\u202f", " ").replace("\xa0", " ")
                found[fact] += [(value(match), line) for match in re.finditer(pattern, line)]
    return found


def agree(first, second):
    if isinstance(first, float) and isinstance(second, float):
        return first == pytest.approx(second, rel=0.006, abs=0.006)
    return first == second


def houses(rng):
    x = rng.normal(size=(90, 2))
    return pd.DataFrame(x, columns=["size", "age"]).assign(price=50 + x @ [3, -1] + rng.normal(size=90)), "price"


def many(rng):
    x = rng.normal(size=(3200, 2))
    return pd.DataFrame(x, columns=["size", "age"]).assign(price=50 + x @ [3, -1] + rng.normal(size=3200)), "price"


def skewed(rng):
    """Errors far from normal, so that the intervals of a linear model are wrong in many ways."""
    x = rng.normal(size=400)
    return pd.DataFrame({"size": x, "price": x + rng.exponential(size=400) ** 3}), "price"


def trend(rng):
    days = pd.date_range("2020-01-31", periods=72, freq="ME")
    return pd.DataFrame({"month": days, "sales": np.arange(72) ** 1.5 + rng.normal(size=72)}), "sales"


def weather(rng):
    days = pd.date_range("2020-01-01", periods=60, freq="D")
    rain = rng.normal(size=60)
    return pd.DataFrame({"day": days, "rain": rain, "flow": 3 * rain + rng.normal(size=60)}), "flow"


def defaults(rng):
    x = rng.normal(size=600)
    return pd.DataFrame({"debt": x, "default": np.where(x + rng.normal(size=600) > 2.3, "Yes", "No")}), "default"


def species(rng):
    kind = rng.integers(3, size=150)
    x = rng.normal(size=(150, 2)) + kind[:, None]
    return pd.DataFrame(x, columns=["a", "b"]).assign(species=np.array(["ash", "elm", "oak"])[kind]), "species"


CASES = {
    houses: ["linear", "ridge"], many: ["linear", "ridge"], skewed: ["linear", "ridge"],
    trend: ["naive", "linear"], weather: ["naive", "linear"], defaults: ["discriminant", "logistic"],
    species: ["discriminant", "logistic"],
}  # fmt: skip


@pytest.fixture(scope="module")
def studies(analyze, tmp_path_factory):
    made = {}
    for table, models in CASES.items():
        frame, target = table(np.random.default_rng(1))
        study = analyze(frame, target, models=models, select=models[-1], folds=None)
        made[table.__name__] = study, said(study, tmp_path_factory.mktemp(table.__name__))
    return made


@pytest.mark.parametrize("name", [table.__name__ for table in CASES])
def test_all_pairs_of_sentences_about_one_fact_agree(name, studies):
    _, found = studies[name]
    for fact, claims in found.items():
        for (first, one), (second, other) in combinations(claims, 2):
            assert agree(first, second), f"{fact}: {one!r} against {other!r}"


def test_each_fact_is_spoken_of_more_than_once(studies):
    """So that a sentence that is worded anew doesn't escape the comparison."""
    most = {fact: max(len(found[fact]) for _, found in studies.values()) for fact in CLAIMS}
    assert min(most.values()) > 1, most


def test_facts_are_those_of_the_held_out_predictions(studies):
    study, _ = studies["houses"]
    frame = study.held_out()
    y = frame["actual"].to_numpy()
    held, base = study.comparison.held_out["ridge"], study.comparison.held_out["baseline"]
    numbers = study.facts.numbers
    assert numbers.held.coverage.inside == ((frame["lower"] <= y) & (y <= frame["upper"])).sum()
    assert numbers.held.rmse == pytest.approx(np.sqrt(np.mean((frame["mean"] - y) ** 2)))
    assert numbers.r2 == pytest.approx(1 - (rmse(y, held.dist) / rmse(y, base.dist)) ** 2)


def test_the_forecast_ahead_continues_the_column_of_times(studies):
    study, _ = studies["trend"]
    ahead = study.ahead
    assert ahead.table["month"].astype(str).tolist()[:3] == ["2026-01-31", "2026-02-28", "2026-03-31"]
    later = pd.DataFrame({"month": pd.date_range("2026-01-31", periods=len(ahead.table), freq="ME")})
    np.testing.assert_allclose(ahead.table["mean"], study.predict(later)["mean"], rtol=1e-9)
    other, _ = studies["weather"]
    assert other.ahead.table is None and "'rain'" in other.ahead.sentence


@pytest.mark.parametrize(
    ("folds", "words"),
    [
        (Folds(100, 100, 5, False, 3), "The rows were shuffled (seed 3) and cut into 5 folds."),
        (Folds(10_000, 2000, 1, False, 0), "2,000 of 10,000 rows, drawn at random (seed 0), were held out"),
        (Folds(100, 50, 5, True), "The last 50 rows in time order were cut into 5 blocks."),
        (
            Folds(10_000, 2000, 1, True),
            "The last 2,000 rows in time order were predicted by models fitted to all",
        ),
    ],
)
def test_how_rows_were_held_out(folds, words):
    assert words in folds.method


def test_a_forecast_of_quarters_names_fractions_of_years(analyze):
    year = 1960 + np.arange(80) / 4
    table = pd.DataFrame({"year": year, "gas": 100 + 3 * (year - 1960) + 20 * np.cos(2 * np.pi * year)})
    study = analyze(table, "gas", models=["naive-season"], time=None).select("naive-season")
    assert re.fullmatch(r"Forecast for 1980: .*, for 19\d\d(\.25|\.5|\.75)?: .*", study.ahead.sentence)
