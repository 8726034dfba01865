"""A study keeps to its time, and what is finished when it ends or Ctrl-C arrives is kept."""

from time import monotonic, sleep

import numpy as np
import pandas as pd
import pytest

import credo
from credo.core import deadlines
from credo.core.deadlines import check
from credo.linear import LinearRegression
from credo.study import analysis as _analyze
from credo.study import dataset, run
from credo.study import engine as _run
from credo.study import estimators as _estimators
from credo.tables import kinds as dates


class Slow(LinearRegression):
    """Least squares that takes ten seconds, and looks at the clock as solvers do."""

    def fit(self, X, y, sample_weight=None):
        for _ in range(1000):
            check()
            sleep(0.01)
        return super().fit(X, y, sample_weight)


class Interrupted(LinearRegression):
    """Least squares during which the user presses Ctrl-C."""

    def fit(self, X, y, sample_weight=None):
        raise KeyboardInterrupt


@pytest.fixture
def replaced(monkeypatch):
    """Put another estimator behind a name of the catalogue."""

    def install(name, estimator):
        make = _estimators.make
        monkeypatch.setattr(
            _estimators, "make", lambda card, size, *more: estimator if card == name else make(card, size, *more)
        )

    return install


def table(n):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    return frame.assign(y=frame["a"] - frame["b"] + rng.normal(size=n))


def names(study):
    return {score.name for score in study.comparison.scores}


@pytest.mark.parametrize("n", [100, 600], ids=["stopped", "skipped after a trial on part of the rows"])
def test_a_slow_model_is_left_out_and_named(analyze, replaced, monkeypatch, n):
    replaced("lms", Slow())
    monkeypatch.setattr(_run, "compiles", lambda module: False)
    start = monotonic()
    study = analyze(table(n), "y", models=["linear", "lms", "bayes"], time=3.0)
    assert monotonic() - start < 3.5
    assert names(study) == {"baseline", "linear", "bayes"}
    assert study.selected in {"linear", "bayes"}
    [note] = [note for note in study.notes if "lms" in note.text]
    assert note.on_board and "3 seconds were not enough" in note.text
    assert note.text in str(study)


def test_another_model_is_fitted_where_the_first_one_fails_and_no_time_is_left(analyze):
    """Least squares can't be used with as many columns as rows."""
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(24, 30)), columns=[f"x{j}" for j in range(30)]).assign(y=rng.normal(size=24))
    study = analyze(wide, "y", models=["linear", "ridge", "bayes"], time=0.001)
    assert names(study) == {"baseline", "linear", "ridge"}


def test_reading_and_compiling_are_not_charged(analyze, replaced, monkeypatch):
    now = [0.0]

    class Compiled(LinearRegression):
        """Least squares that compiles for a minute when it is first fitted."""

        def fit(self, X, y, sample_weight=None):
            now[0] += 60.0 if len(passed) == 1 else 0.1
            passed.append(len(y))
            return super().fit(X, y, sample_weight)

    def read(*args, **options):
        now[0] += 60.0
        return dataset(*args, **options)

    passed = [0]
    replaced("kernel-ridge", Compiled())
    monkeypatch.setattr(_analyze, "dataset", read)
    for module in (_run, deadlines):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    monkeypatch.setattr(_run, "compiles", lambda module: len(passed) == 1)
    study = analyze(table(100), "y", models=["linear", "kernel-ridge"], time=10.0)
    assert names(study) == {"baseline", "linear", "kernel-ridge"}
    assert passed[1] <= 60  # it compiled on few rows


def test_a_gaussian_process_of_a_small_table_is_fitted_whatever_the_machine_does(analyze, replaced, monkeypatch):
    now = [0.0]

    class Waiting(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            now[0] += 100.0
            return super().fit(X, y, sample_weight)

    replaced("gp", Waiting())
    for module in (_run, deadlines):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    monkeypatch.setattr(_run, "compiles", lambda module: False)
    assert names(analyze(table(60), "y")) >= {"baseline", "linear", "bayes", "lasso", "gp"}
    assert "gp" not in names(analyze(table(60), "y", time=5.0))


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the estimators move."""
    now = [0.0]
    for module in (_run, deadlines):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    monkeypatch.setattr(_run, "compiles", lambda module: False)
    return now


def test_a_model_that_takes_more_than_its_share_waits_and_goes_on(replaced, clock):
    fitted, order = [], []

    class Costly(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            clock[0] += 6.0
            fitted.append(len(y))
            return super().fit(X, y, sample_weight)

    replaced("polynomial", Costly())
    study = run(
        dataset(table(60), "y"), models=["linear", "polynomial", "kernel-ridge", "nadaraya-watson"], folds=3, time=40.0,
        report=lambda state: order.append(state.running),
    )  # fmt: skip
    # Four fits take 24 seconds, and of 30 seconds for three models two thirds are the share of the first.
    assert names(study) == {"baseline", "linear", "polynomial", "kernel-ridge", "nadaraya-watson"}
    assert fitted == [40, 40, 40, 60]
    found = [name for name, last in zip(order, [None, *order], strict=False) if name != last]
    assert found[2:] == ["polynomial", "nadaraya-watson", "kernel-ridge", "polynomial", None]
    assert not any("not enough" in note.text for note in study.notes)


def test_a_hopeless_model_leaves_time_for_those_after_it(analyze, replaced, clock):
    class Endless(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            while True:
                check()
                clock[0] += 0.1

    replaced("polynomial", Endless())
    study = analyze(
        table(60), "y", models=["linear", "polynomial", "kernel-ridge", "nadaraya-watson", "average"], time=40.0
    )
    assert names(study) == {"baseline", "linear", "kernel-ridge", "nadaraya-watson", "average"}
    [note] = [note.text for note in study.notes if "not enough" in note.text]
    assert "not enough for: polynomial (stopped after 0 of 4 fits)." in note
    assert clock[0] < 30.0


def test_cheap_models_are_fitted_before_costly_ones():
    order = []
    models = ["gp", "polynomial", "linear"]
    run(dataset(table(60), "y"), models=models, folds=2, report=lambda state: order.append(state.running))
    assert list(dict.fromkeys(filter(None, order))) == ["baseline", "linear", "polynomial", "gp"]


@pytest.mark.parametrize("models", ["bayes", ["bayes", "boosting"]])
def test_a_budget_that_is_too_short_for_any_model_is_an_error(analyze, replaced, models):
    replaced("bayes", Slow())
    replaced("boosting", Slow())
    with pytest.raises(ValueError, match=r"1 second was not enough for: bayes.*--time"):
        analyze(table(60), "y", models=models, time=1.0)


def test_models_without_time_are_named_before_the_columns_are_blamed(analyze, replaced, tmp_path):
    replaced("bayes", Slow())
    noise = table(60).assign(y=np.random.default_rng(2).normal(size=60))
    study = analyze(noise, "y", models=["linear", "bayes"], time=1.0)
    assert study.selected == "baseline"
    assert study.reason.startswith("For lack of time, bayes did not finish: try time=5 (--time 5). Selected: baseline.")
    study.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "For lack of time, bayes did not finish" in page and "don&#39;t help" not in page
    analyze(noise, "y", models=["linear"]).report(tmp_path / "report.html")
    assert "don&#39;t help" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_there_is_a_model_however_short_the_time(analyze):
    study = analyze(table(60), "y", time=1e-3)
    assert names(study) == {"baseline", "linear"} and study.selected == "linear"


def test_ctrl_c_keeps_what_is_finished(analyze, replaced):
    replaced("polynomial", Interrupted())
    study = analyze(table(80), "y", models=["linear", "polynomial", "bayes", "gp"])
    assert names(study) == {"baseline", "linear", "bayes"}
    [note] = [note for note in study.notes if "Ctrl-C" in note.text]
    assert note.important and "polynomial" in note.text and "gp" in note.text
    # The finished models are those of a study that was never interrupted.
    whole = analyze(table(80), "y", models=["linear", "bayes"])
    pd.testing.assert_frame_equal(study.held_out("bayes"), whole.held_out("bayes"))


def test_ctrl_c_before_any_model_is_finished_ends_the_study(analyze, replaced):
    replaced("linear", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        analyze(table(80), "y", models=["linear", "bayes"])


def test_no_budget_is_no_limit(analyze, replaced):
    class Pause(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            sleep(0.05)
            return super().fit(X, y, sample_weight)

    replaced("lms", Pause())
    assert "lms" in names(analyze(table(60), "y", models=["linear", "lms"], time=None))


def test_progress_says_what_runs_what_waits_and_how_long(capsys):
    credo.analyze(table(60), "y", models=["linear", "bayes"], folds=2, time=30.0)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert [line.split(" (")[0] for line in lines] == ["Fitting baseline", "Fitting linear", "Fitting bayes"]
    assert "2 more to come" in lines[0] and "s left" in lines[0] and "0 more to come" in lines[-1]


def test_the_folds_do_not_read_dates_again(monkeypatch):
    rng, words, parsed = np.random.default_rng(0), [], dates._parsed
    seconds = pd.to_timedelta(rng.integers(0, 10**8, 300), unit="s")
    written = (pd.Timestamp("2001-02-03") + seconds).strftime("%d %B %Y %H:%M:%S")
    data = dataset(table(300).assign(when=written), "y")
    monkeypatch.setattr(dates, "_parsed", lambda values, style: words.extend(values) or parsed(values, style))
    study = run(data, models=["linear", "bayes"], time=30.0)
    assert names(study) == {"baseline", "linear", "bayes"}
    assert len(words) == 300
    study.predict(data.frame.head(5))
    assert len(words) > 300
