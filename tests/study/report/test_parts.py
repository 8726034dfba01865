"""Numbers as text, columns at a glance, rows with large errors, and the leaderboard."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris, load_wine
from tests.study.report.pages import render

from credo.core.wording import aligned, fixed, listing, number, percent
from credo.selection import Comparison, Gap, HeldOut, Score
from credo.study.facts import Predicted
from credo.study.report import _leaderboard as leaderboard
from credo.study.report import _page as columns_table
from credo.study.report._surprises import largest_errors, unusual
from credo.tables import Preparation


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (999.96, "1,000"),
        (-0.012345, "−0.0123"),
        (123456.0, "123,456"),
        (1.5e6, "1.5×10⁶"),
        (-2e-7, "−2×10⁻⁷"),
        (np.inf, "∞"),
        (-np.inf, "−∞"),
        (np.nan, "—"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


def test_cells():
    assert aligned([0.00123, -0.5, np.inf]) == ["0.0012", "−0.5000", "∞"]
    assert aligned([1e9, None]) == ["1×10⁹", "—"]
    assert fixed(-1234.56, decimals=1) == "−1,234.6"
    assert percent(0.99996) == "100 %" or percent(0.99996).startswith("99.")
    assert listing(["a"]) == "a"


def test_columns_of_every_kind():
    rows = 30
    frame = pd.DataFrame(
        {
            "weight": np.linspace(1, 4, rows),
            "eyes": ["brown"] * 15 + ["blue"] * 9 + ["grey"] * 3 + ["green"] * 3,
            "born": pd.date_range("2020-01-31", periods=rows).strftime("%d.%m.%Y"),
            "smoker": ["yes", "no", None] * 10,
            "place": "Ulm",
            "nothing": None,
            "code": [f"k{i * i}" for i in range(rows)],
        }
    )
    preparation = Preparation().fit(frame)
    found = {line.name: line for line in columns_table.lines(preparation.columns_, preparation.encoders_, frame)}
    assert found["weight"].values == "1 to 4, median 2.5"
    assert found["weight"].path.count("z") == 18
    assert found["eyes"].values == "brown: 50 %, blue: 30 %, grey: 10 %, 1 more"
    assert found["born"].values == "2020-01-31 to 2020-02-29"
    assert found["born"].detail == ""
    assert found["smoker"].values == "yes: 50 %, no: 50 %"
    assert found["smoker"].missing == "10 (33.3 %)"
    assert found["place"].detail == "always Ulm"
    assert found["nothing"].kind == "empty"
    assert found["code"].values == "30 different"


@pytest.mark.parametrize("values", [[], [np.nan], [2.0, 2.0], [1e308, -1e308], [1e16, 1e16 + 2]])
def test_histograms_of_nothing(values):
    assert columns_table.histogram(np.array(values)) == ""


def test_histogram_heights_are_shares_of_the_fullest_bin():
    path = columns_table.histogram(np.concatenate([np.zeros(10), np.ones(5)]))
    assert path.count("z") == 2
    assert "v-22.0" in path
    assert "v-11.0" in path


def test_rows_with_the_largest_errors_come_first_with_what_is_unusual_about_them(make_held_out):
    y, mean, std = np.zeros(30), np.zeros(30), np.ones(30)
    y[3], y[7], std[7] = 4.0, -10.0, 5.0
    frame = pd.DataFrame({"a": np.linspace(0, 1, 30), "b": np.linspace(5, 7, 30)})
    frame.loc[7, "b"] = 58.9
    found = largest_errors(Predicted(make_held_out(y, mean, std)), frame)
    assert [(line[0], line[4]) for line in found.lines] == [("8", "−10.0"), ("4", "4.00")]
    assert found.lines[0][5].startswith("b = 58.9 (99 % of rows: 5")
    assert found.lines[1][5] == ""
    assert "100 % of the squared error" in found.sentence
    few = largest_errors(Predicted(make_held_out(y[:5], mean[:5], std[:5])), frame[:5])
    assert not few.lines


def test_a_value_that_does_not_fit_the_other_columns_is_unusual():
    rng = np.random.default_rng(0)
    length = rng.uniform(4, 9, size=200)
    frame = pd.DataFrame({"length": length, "width": length + 0.05 * rng.normal(size=200), "age": rng.normal(size=200)})
    frame.loc[17, "width"] = 4.2
    frame.loc[17, "length"] = 8.5
    frame["kind"] = ["odd" if i == 3 else "usual" for i in range(200)]
    first, second = unusual(frame, np.array([17, 3]))
    # Each of the two is inside its range; they don't go together.
    assert re.fullmatch(r"(width = 4.2|length = 8.5) \([\d.]+ expected from the others\)", first)
    assert second == "kind = odd (0.5 % of rows)"


@pytest.mark.parametrize("load", [load_diabetes, load_iris, load_wine])
def test_tables_without_wrong_values_have_no_unusual_ones(load):
    frame = load(as_frame=True).data
    for start in range(0, len(frame), 5):
        assert unusual(frame, np.arange(start, min(start + 5, len(frame)))) == [""] * min(5, len(frame) - start)


def test_rows_keep_their_names_and_a_column_without_entries_goes(make_held_out):
    y = np.zeros(30)
    y[3] = 4.0
    frame = pd.DataFrame({"a": np.linspace(0, 1, 30)}, index=[f"r{i}" for i in range(30)])
    found = largest_errors(Predicted(make_held_out(y, np.zeros(30), np.ones(30))), frame)
    assert found.lines[0][0] == "r3"
    assert "Unusual input" not in found.head


def test_rows_are_those_of_the_frame_also_where_the_first_were_never_held_out(make_held_out):
    y = np.zeros(30)
    y[3] = 4.0
    held = make_held_out(y, np.zeros(30), np.ones(30))
    held = HeldOut(held.y, held.dist, np.arange(10, 40))
    frame = pd.DataFrame({"a": np.linspace(0, 1, 40)})
    assert largest_errors(Predicted(held), frame).lines[0][0] == "14"


def test_the_leaderboard_marks_the_best_number_of_each_column(make_case):
    case = make_case(failed=("lms",))
    rows = leaderboard.rows(case["comparison"])
    assert [row.name for row in rows] == ["bayes", "ridge", "baseline", "lms"]
    assert [cell.best for cell in rows[0].cells] == [True, True, True, False, True, False]
    assert rows[1].cells[4].text == "—"
    assert rows[3].error.startswith("the design")
    assert rows[3].cells == []


def test_the_sentence_under_the_board_and_the_model_taken_go_by_one_rule(make_case):
    case = make_case()
    held = case["comparison"].held_out
    clear = case["comparison"]
    assert clear.tied == ["bayes"]
    # Of a single evidence there is nothing to say.
    (said,) = leaderboard.words(clear)
    assert re.search(r"bayes leads ridge by .* in log score per row, [\d.]+ times its standard error", said)
    same = Comparison(clear.scores, {"bayes": held["bayes"], "ridge": held["bayes"]})
    assert same.tied == ["bayes", "ridge"]
    assert leaderboard.words(same)[0] == "bayes and ridge give the same predictions."


def test_a_model_without_distributions_has_dashes(make_case):
    case = make_case()
    comparison = case["comparison"]
    bare = Score("nearest", {"rmse": 1.5}, seconds=0.1)
    rows = leaderboard.rows(Comparison([*comparison.scores, bare], comparison.held_out))
    assert [cell.text for cell in rows[3].cells] == ["—", "1.500", "—", "—", "—", "0.10"]
    assert rows[3].cells[3].flag == ""


def test_shares_of_a_column_have_the_same_decimals(make_case):
    comparison = make_case()["comparison"]
    scores = [
        replace(score, held_out={**score.held_out, "coverage": share})
        for score, share in zip(comparison.scores, (0.93, 0.955, 0.95), strict=True)
    ]
    rows = leaderboard.rows(Comparison(scores, comparison.held_out))
    assert [row.cells[3].text for row in rows] == ["93.0 %", "95.5 %", "95.0 %"]


def test_models_without_an_evidence_have_no_column_of_dashes(make_case):
    comparison = make_case()["comparison"]
    bare = Comparison([replace(score, log_evidence=None) for score in comparison.scores], comparison.held_out)
    for found, n_columns in ((comparison, 6), (bare, 5)):
        assert len(leaderboard.head(found)) == n_columns
        assert {len(row.cells) for row in leaderboard.rows(found)} == {n_columns}
    page = render(**make_case(comparison=bare))
    assert "Log evidence" not in page and "<dt>Evidence</dt>" not in page


def test_evidences_of_different_bases_have_no_best(make_case):
    comparison = make_case()["comparison"]
    for bases, best in ((("a", "a"), [True, False]), (("a", "b"), [False, False])):
        scores = [
            replace(score, log_evidence=log, evidence_base=base)
            for score, log, base in zip(comparison.scores[:2], (-3.0, -5.0), bases, strict=True)
        ]
        found = Comparison(scores, {name: comparison.held_out[name] for name in ("bayes", "ridge")})
        assert [row.cells[4].best for row in leaderboard.rows(found)] == best
        assert leaderboard.head(found)[4].way == ("higher is better" if any(best) else "not all comparable")
        assert any("evidence" in sentence for sentence in leaderboard.words(found)) == any(best)


def test_coverage_that_chance_does_not_explain_is_flagged(make_case, make_held_out):
    case = make_case()
    scores, held = case["comparison"].scores, case["comparison"].held_out["bayes"]
    narrow = make_held_out(held.y, held.dist.mean, 0.3)
    wide = make_held_out(held.y, held.dist.mean, 30.0)
    rows = leaderboard.rows(Comparison(scores, {"bayes": narrow, "ridge": wide}))
    assert [row.cells[3].flag for row in rows] == ["low", "high", ""]


def test_lead():
    said = "a leads b by 0.30 in log score per row, 2.4 times its standard error."
    assert leaderboard.lead("a", "b", Gap(0.3, 0.125)) == said
    assert "the same predictions" in leaderboard.lead("a", "b", Gap(0.0, 0.0))
    assert "not finite" in leaderboard.lead("a", "b", Gap(np.inf, np.nan))
