"""Tables of times until an event, of which some are right-censored."""

import numpy as np
import pandas as pd
import pytest

import credo
from credo.study import audit, dataset


@pytest.fixture(scope="module")
def visits():
    """Log-normal times that depend on the dose, censored at the end of the study."""
    # Not 0, the seed of the random places of censored rows in their tails.
    rng = np.random.default_rng(5)
    dose, age = rng.uniform(size=150), rng.normal(50, 10, size=150)
    time = np.exp(3 + 2 * dose + 0.5 * rng.normal(size=150))
    end = rng.uniform(10, 100, size=150)
    return pd.DataFrame({
        "dose": dose, "age": age, "days": np.minimum(time, end).round(2), "status": 1 + (time <= end),
    })  # fmt: skip


@pytest.fixture(scope="module")
def study(visits, analyze):
    return analyze(visits, "days", event="status", time=None)


def test_a_time_with_a_status_is_recognized(visits):
    data = dataset(visits, "days")
    (note,) = (note for note in data.notes if "looks like times until an event" in note.text)
    assert note.important and "event='status' (--event status)" in note.text
    assert "status" not in data.preparation.sources() and data.event is None
    kept = dataset(visits, "days", kinds={"status": "category"})
    assert "status" in kept.preparation.sources() and not any("until an event" in note.text for note in kept.notes)


@pytest.mark.parametrize(
    ("time", "status"),
    [("time", "status"), ("futime", "death"), ("survival_time", "event"), ("months", "censored"), ("tenure", "Churn")],
)
def test_names_of_times_and_events(visits, time, status):
    named = visits.rename(columns={"days": time, "status": status})
    assert any("looks like times until an event" in note.text for note in dataset(named, time).notes)


@pytest.mark.parametrize(("time", "status"), [("price", "status"), ("days", "sex"), ("time", "stage")])
def test_names_of_others(visits, time, status):
    named = visits.rename(columns={"days": time, "status": status})
    assert status in dataset(named, time).preparation.sources()


def test_scores_of_censored_rows_are_probabilities_of_longer_times(visits, study):
    assert {score.name for score in study.comparison.scores} == {"baseline", "log-normal", "weibull", "average"}
    held = study.comparison.held_out["log-normal"]
    y, observed = visits["days"].to_numpy(), visits["status"].to_numpy() == 2
    own = held.dist.base
    expected = np.where(observed, own.log_prob(y), np.log(1 - own.cdf(y)))
    np.testing.assert_allclose(held.log_score, expected, rtol=1e-9)
    scores = study.comparison["log-normal"].held_out
    assert scores["log_score"] == pytest.approx(expected.mean()) and "rmse" not in scores
    assert study.comparison.gap("log-normal", "baseline").clear


def test_what_is_predicted_and_said(visits, study, tmp_path):
    rows = pd.DataFrame({"dose": [0.1, 0.5, 0.8], "age": 50.0})
    found = study.predict(rows, name="log-normal", level=0.8)
    np.testing.assert_allclose(found["median"], np.exp([3.2, 4.0, 4.6]), rtol=0.25)
    assert (found["lower"] > 0).all() and (found["lower"] < found["median"]).all()
    observed = int((visits["status"] == 2).sum())
    assert any(f"observed in {observed} of 150 rows (status = 2)" in note.text for note in study.notes)
    said = " ".join(study.facts.performance)
    assert "above that of the baseline, one distribution for all rows" in said and "variance" not in said
    study.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "How long until the event?" in page and "Kaplan–Meier" in page and "could not be" not in page


def test_model_files_and_audits(visits, study, tmp_path):
    study.save(tmp_path / "model.credo")
    loaded = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(loaded.predict(visits), study.model.predict(visits))
    found = audit(loaded, visits)
    assert not found.is_alarm and found.overall.low <= found.overall.hits <= found.overall.high
    with pytest.raises(ValueError, match="no event 'status'"):
        audit(loaded, visits.drop(columns="status"))


def test_the_value_of_the_event(visits):
    words = visits.assign(status=np.where(visits["status"] == 2, "dead", "alive"))
    with pytest.raises(ValueError, match="say which value of 'status' stands for an observed event"):
        dataset(words, "days", event="status")
    data = dataset(words, "days", event="status=dead")
    np.testing.assert_array_equal(data.event, visits["status"] == 2)
    np.testing.assert_array_equal(dataset(visits, "days", event="status=1").event, visits["status"] == 1)
    turned = visits.rename(columns={"status": "censored"})
    with pytest.raises(ValueError, match="say which value of 'censored'"):
        dataset(turned, "days", event="censored")
    truth = visits.assign(status=visits["status"] == 2)
    np.testing.assert_array_equal(dataset(truth, "days", event="status").event, visits["status"] == 2)


def test_bad_events_are_refused(visits, analyze):
    for table, arguments, message in (
        (visits, {"event": "status=3"}, "no value '3'; it has '1', '2'"),
        (visits.assign(status=2), {"event": "status"}, "only one value"),
        (visits.assign(status=np.arange(len(visits))), {"event": "status"}, "more than 5 values: name the column"),
        (visits.assign(status=[np.nan, *visits["status"][1:]]), {"event": "status"}, "missing in row 1"),
        (visits.assign(days=visits["days"] - visits["days"].min()), {"event": "status"}, "must be above 0"),
        (visits, {"event": "stat"}, "did you mean 'status'"),
    ):
        with pytest.raises(ValueError, match=message):
            dataset(table, "days", **arguments)
    with pytest.raises(ValueError, match="it doesn't take censored times"):
        analyze(visits, "days", event="status", models=["linear"])
    with pytest.raises(ValueError, match="no event="):
        analyze(visits, "days", models=["weibull"])
