"""The records of benchmark runs are merged suite by suite, and the pages say what was measured."""

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.harness import at_most, below
from benchmarks.honesty.contest import file_of
from benchmarks.honesty.page import page as honesty_page
from benchmarks.honesty.page import ranked
from benchmarks.honesty.scores import scores_of
from benchmarks.readme import measured
from benchmarks.record import circumstances, merged, page, read, record, write

ORDER = ["Linear models", "Sparse models"]


def test_a_run_replaces_its_own_suite_and_keeps_the_others(tmp_path: Path) -> None:
    numbers, text = tmp_path / "benchmarks.json", tmp_path / "benchmarks.md"
    for title, seconds in [("Sparse models", 3.0), ("Linear models", 2.0), ("Sparse models", 1.5)]:
        suite = record([below("a case", np.float64(seconds), 2.0)], ["celer: it isn't installed"], load=0.25)
        write(merged(read(numbers), title, suite, ORDER), numbers, text)
    found = json.loads(numbers.read_text("utf-8"))["suites"]
    assert [(title, suite["lines"][0]["ours"]) for title, suite in found.items()] == [(ORDER[0], 2.0), (ORDER[1], 1.5)]
    shown = text.read_text("utf-8")
    assert shown.count("- celer: it isn't installed") == 1
    assert "| a case | 1.5 s | limit: 2 s | 0.75 | ≤ 2 |" in shown
    assert "missed" not in shown


def test_a_suite_that_is_skipped_as_a_whole_keeps_what_was_measured() -> None:
    old = {"GPflow": record([below("a case", 1.0, 2.0)], [], load=0.0)}
    skipped = record([], ["GPflow: it isn't installed"], load=0.0)
    assert merged(old, "GPflow", skipped, []) == old
    assert "- GPflow: it isn't installed" in page(merged({}, "GPflow", skipped, []))


@pytest.fixture
def summary(tmp_path: Path) -> dict:
    """Two models of a table with two splits of three rows, the second row in both; one that failed, one without log
    scores."""
    row, split = np.array([0, 1, 2, 1, 3, 4]), np.array([0, 0, 0, 1, 1, 1])
    common = {"row": row, "split": split, "y": np.zeros(6), "seconds": np.full(6, 0.5)}
    common |= {"inside 0.5": row % 2 == 0, "inside 0.95": row < 4, "crps": np.ones(6)}
    (tmp_path / "small").mkdir()
    for model, log, square in [
        ("GPRegressor", np.array([-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]), np.array([1.0, 1.0, 1.0, 4.0, 4.0, 4.0])),
        ("sklearn.GP", np.array([-1.0, -1.0, -3.0, -4.0, -4.0, -6.0]), np.ones(6)),
        ("sklearn.BayesianRidge", np.full(6, np.nan), np.ones(6)),
    ]:
        np.savez(file_of(tmp_path, "small", model), log=log, square=square, **common)
    np.savez(file_of(tmp_path, "small", "Ridge"), why=np.array("a fit takes more than 1 CPU s"))
    found = scores_of(tmp_path, "small", "regression")
    assert found is not None
    return found


def test_scores_are_means_over_splits_and_differences_are_paired(summary: dict) -> None:
    best, ours, without = summary["scores"]
    assert [best["model"], ours["model"], without["model"]] == ["sklearn.GP", "GPRegressor", "sklearn.BayesianRidge"]
    assert best["behind"][0] == 0
    assert ours["RMSE"] == pytest.approx([1.5, 0.5])  # 1 and 2, whose standard error is 0.5
    # Differences −1 of row 1 in one split and 0 in the other, and −1 of row 3: by row 0, −½, 0, −1, 0.
    gaps = np.array([0, -0.5, 0, -1, 0])
    assert ours["behind"] == pytest.approx((-2 / 6, gaps.std(ddof=1) / np.sqrt(5)))
    assert without["log score"] == [None, None]
    assert summary["skipped"] == {"Ridge": "a fit takes more than 1 CPU s"}


def test_the_honesty_page_names_who_is_ahead_and_who_is_missing(summary: dict) -> None:
    one = {
        "method": "deep GP",
        "splits": "10 others",
        "RMSE": [0.5, 0.1],
        "log score": [-1.0, None],
        "source": "a paper",
    }
    table = summary | {"rows": 5, "columns": 2, "given": True, "published": [one]}
    shown = honesty_page(circumstances() | {"missing": ["protein"], "sets": {"small": table}, "simulations": []})
    assert "- small: *sklearn.GP*; GPRegressor is 0.333 ± 0.200 behind (within the error)" in shown
    assert "| GPRegressor | 2 | 1.500 ± 0.500 | -3.500 ± 1.500 |" in shown
    assert "| *deep GP* [1] | 10 others | 0.500 ± 0.100 | -1.000 |" in shown
    assert "**Not in this run**: protein." in shown
    assert "Not fitted: Ridge (a fit takes more than 1 CPU s)." in shown


def test_the_page_of_times_opens_with_what_its_table_says(tmp_path: Path) -> None:
    times = {"credo": 2.0, "celer": 4.0, "skglm": 1.0, "tinygp": 20.0}
    lines = [at_most("a case", times, name, 1.0) for name in ("celer", "skglm", "tinygp")] + [below("limit", 3.0, 2.0)]
    write({"Sparse models": record(lines, [], load=0.0)}, tmp_path / "numbers.json", tmp_path / "benchmarks.md")
    shown = (tmp_path / "benchmarks.md").read_text("utf-8")
    # Ratios 0.5, 2 and 0.1; the limit is not another library.
    assert "faster in 2 of 3 comparisons" in shown and "median time is 0.50 of theirs" in shown
    assert "worst ratio is 2.00, to skglm (a case). Of 4 targets 2 are missed" in shown
    assert shown.index("faster in 2") < shown.index("## Sparse models") < shown.index("## How this was measured")
    assert (tmp_path / "images" / "benchmarks.png").exists()


def test_the_page_of_calibration_opens_with_the_best_of_each_side(summary: dict) -> None:
    table = summary | {"rows": 5, "columns": 2, "given": True, "published": []}
    run = circumstances() | {"missing": [], "sets": {"small": table}, "simulations": []}
    # Five of six predicted rows (0, 1, 2, 1, 3, 4) are inside: those below 4.
    assert {row["name"]: (row["place"], row["coverage"]) for row in ranked(run)} == {
        "sklearn.GP": (0.0, pytest.approx(500 / 6)), "GPRegressor": (1.0, pytest.approx(500 / 6))
    }  # fmt: skip
    shown = honesty_page(run)
    assert "GPRegressor has the best mean rank of 2 models; the first of another library is sklearn.GP" not in shown
    assert "the best of Credo's models by log score is GPRegressor" in shown
    assert shown.index("by log score is") < shown.index("## Summary") < shown.index("## How this was measured")


def test_the_readme_quotes_the_fastest_rival_first_and_leaves_out_what_was_not_measured() -> None:
    times = {"credo": 1.0, "celer": 4.0, "skglm": 2.0}
    lines = [at_most("AdaBoost, 400 stumps, n=20000 d=10", times, name, 1.0) for name in ("celer", "skglm")]
    shown = measured({"Sparse models": record(lines, [], load=0.0)})
    assert "| `AdaBoostClassifier`, 400 stumps, n=20,000, 10 columns | 1 s | skglm 2 s, celer 4 s | 0.5 |" in shown
    assert "GPRegressor" not in shown
