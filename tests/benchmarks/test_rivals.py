"""Tables are split into the same rows each time, and ranks, orders and the law of time follow from the lines."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from benchmarks.portfolio import Board, judged, order
from benchmarks.rivals import append, behind, page, possible, ranks, read, scores
from benchmarks.seconds import SIZES, law, measured
from benchmarks.tables import CLASSIFICATION, HALVES, tables

from credo.distributions import Categorical, Normal
from credo.study.catalogue import MODELS


def test_tables_have_one_name_each_and_both_halves_have_each_task() -> None:
    every = tables()
    assert len({table.name for table in every}) == len(every) > 200
    assert {(table.half, table.task) for table in every} == {
        (half, task) for half in HALVES for task in ("regression", "classification")
    }
    with pytest.raises(ValueError, match="no table nowhere"):
        tables(names=["nowhere"])


@pytest.mark.parametrize("name", ["sim-friedman1", "sim-rare-50", "sk-iris"])
def test_a_split_is_always_the_same_and_holds_out_a_quarter_of_each_class(name: str) -> None:
    (train, test), (again, _) = (tables(names=[name])[0].split() for _ in range(2))
    pd.testing.assert_frame_equal(train, again)
    assert len(test) == (len(train) + len(test)) // 4
    table = tables(names=[name])[0]
    if table.task == CLASSIFICATION:
        counts = [part[table.target].value_counts() for part in (train, test)]
        assert ((counts[1] - (counts[0] + counts[1]) / 4).abs() <= 1).all()


def _line(table: str, system: str, **more: object) -> dict:
    line = {"table": table, "task": "regression", "rows": 6000, "columns": 3, "half": "judge", "system": system}
    return line | {"version": "1", "n_test": 50, "cpu": 2.0, "predict_1000": 0.1, "status": "ok", "detail": ""} | more


@pytest.fixture
def results(tmp_path: Path) -> pd.DataFrame:
    """Two tables with all systems, one of which fails on the second, and a table without Credo."""
    numbers = {"log_score": -1.0, "crps": 0.5, "rmse": 1.0, "coverage": 0.9}
    path = tmp_path / "rivals.csv"
    append(path, _line("a", "Credo", **numbers | {"log_score": -3.0}))
    append(path, _line("a", "Credo", **numbers | {"coverage": 1.0}))
    append(path, _line("a", "LightGBM", **numbers | {"log_score": -2.0, "rmse": 0.8}))
    append(path, _line("b", "Credo", **numbers))
    append(path, _line("b", "LightGBM", status="killed after 180 CPU s"))
    append(path, _line("c", "LightGBM", **numbers))
    return read(path)


def test_ranks_use_the_last_line_and_a_failed_system_is_last(results: pd.DataFrame) -> None:
    found = ranks(results[results["table"] != "c"], "regression")
    assert found["log_score"]["Credo"].tolist() == [1.0, 1.0]
    assert found["rmse"]["Credo"].tolist() == [2.0, 1.0]


def test_the_page_shows_only_tables_that_all_systems_have(results: pd.DataFrame) -> None:
    text = page(results, 60.0)
    assert "On 2 tables with numbers to predict, the best mean ranks are: by log score Credo (1.00; next " in text
    assert "| Credo | 1.00 | 1.25 | 1.50 | 95.0 % | 2.00 | 0.10 | 0 |" in text
    assert "| b | 6,000 | -1.000; 1 | failed |" in text
    assert "| a | 6,000 | LightGBM | +25.0 % RMSE |" in text
    assert behind(results)["gap"].tolist() == pytest.approx([0.25])


def test_scores_are_those_of_the_distributions() -> None:
    y = np.array([0.0, 1.0, 4.0])
    found = scores("regression", y, Normal(np.zeros(3), np.ones(3)))
    assert found["rmse"] == pytest.approx(np.sqrt(17 / 3))
    assert found["coverage"] == pytest.approx(2 / 3)
    labels = np.array(["no", "yes"])
    found = scores("classification", labels, Categorical([[0.6, 0.4], [0.1, 0.9]], classes=labels))
    assert found["log_score"] == pytest.approx(np.log([0.6, 0.9]).mean())
    assert (found["accuracy"], found["auc"]) == (1.0, 1.0)


def test_the_law_of_time_is_found() -> None:
    times = {(n, p): 0.02 + 0.3 * (n / 1000) ** 1.5 * (p / 10) ** 0.5 for n, p in SIZES}
    assert law(times) == pytest.approx((0.02, 0.3, 1.5, 0.5), rel=1e-3)


@pytest.mark.parametrize(("task", "name"), [(task, spec.name) for task, specs in MODELS.items() for spec in specs])
def test_the_time_of_every_model_is_measured(task: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of those that suit few tables; no estimator is fitted."""
    spec = next(spec for spec in MODELS[task] if spec.name == name)
    monkeypatch.setattr("benchmarks.seconds.SIZES", ((120, 5),))
    fitted = []
    made = SimpleNamespace(fit=lambda X, y: fitted.append((len(X), len(set(y)))))
    found = measured(replace(spec, build=lambda size: made), task)
    assert list(found) == [(120, 5)]
    assert [n for n, _ in fitted] == [60, 120]
    assert fitted[-1][1] == (3 if name == "ordinal" else 2) or task == "regression"


def test_the_order_begins_with_the_largest_gain_per_second(tmp_path: Path) -> None:
    """Of two equal models the cheaper comes first, and after it the other gains nothing."""
    log = {"baseline": -2.0, "linear": -1.0, "gp": -1.0, "boosting": -0.8}
    seconds = {"baseline": 0.1, "linear": 0.1, "gp": 10.0, "boosting": 1.0}
    folder = tmp_path / "rows" / "a"
    folder.mkdir(parents=True)
    for name, value in log.items():
        np.savez(folder / f"{name}.npz", log=np.full(20, value))
    lines = pd.DataFrame({"table": "a", "model": list(log), "n": 600, "status": "ok", "fit": list(seconds.values())})
    board = Board(tmp_path, lines)
    found = order([board])
    assert board.size == "medium"
    assert [name for name, *_ in found] == ["linear", "boosting", "gp"]
    assert [gain for _, gain, _ in found] == pytest.approx([0.5, 0.2, 0.0], abs=1e-6)
    last = judged([board], ["linear", "boosting"])[-1]
    assert SimpleNamespace(seconds=last[1], gap=last[2]) == SimpleNamespace(seconds=1.1, gap=pytest.approx(0, abs=1e-6))


def test_predictions_of_counts_are_scored_as_probabilities() -> None:
    table = replace(tables(names=["sim-friedman1"])[0], name="counts", make=lambda: pd.DataFrame({"y": [0, 3, 1]}))
    table = replace(table, target="y")
    normal = Normal([0.2, 4.0], 1.5)
    limited = possible(table, normal)
    assert limited.log_prob([0, 4]) == pytest.approx(
        np.log([normal.cdf(0.5)[0], normal.cdf(4.5)[1] - normal.cdf(3.5)[1]]), rel=1e-9
    )
    assert possible(table, limited) is limited
