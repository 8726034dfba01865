"""A study keeps to its time, and what is finished when it ends or Ctrl-C arrives is kept."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import credo
from credo.core import deadlines
from credo.core.deadlines import check
from credo.linear import LinearRegression
from credo.study import ModelSpec, dataset, engine, run
from credo.study.catalogue import MODELS
from credo.tables import kinds as dates


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the estimators move, and nothing to compile."""
    now = [0.0]
    for module in (engine, deadlines):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    monkeypatch.setattr(engine, "needs_compiling", lambda module: False)
    return now


@pytest.fixture
def takes(monkeypatch, clock):
    """Put least squares behind names of the catalogue, which take so many seconds; returns the rows of every fit."""
    fitted = {}

    class Timed(LinearRegression):
        def __init__(self, name="", seconds=0.0):
            self.name, self.seconds = name, seconds
            super().__init__()

        def fit(self, X, y, sample_weight=None):
            for _ in range(10):
                check()
                clock[0] += self.seconds / 10
            fitted.setdefault(self.name, []).append(len(y))
            return super().fit(X, y, sample_weight)

    def install(**seconds):
        replace(monkeypatch, {name.replace("_", "-"): Timed(name, value) for name, value in seconds.items()})
        return fitted

    return install


@pytest.fixture
def law(monkeypatch):
    """Let the law be so many seconds for a thousand rows of each model."""

    def install(**seconds):
        monkeypatch.setattr(engine, "seconds", lambda task, name, rows, *_: seconds.get(name, 0.0) * rows / 1000)

    return install


class Interrupted(LinearRegression):
    """Least squares during which the user presses Ctrl-C."""

    def fit(self, X, y, sample_weight=None):
        raise KeyboardInterrupt


def replace(monkeypatch, estimators):
    """Put other estimators behind names of the catalogue."""
    make = ModelSpec.make
    monkeypatch.setattr(ModelSpec, "make", lambda spec, size: estimators.get(spec.name) or make(spec, size))


def table(n):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    return frame.assign(y=frame["a"] - frame["b"] + rng.normal(size=n))


def names(study):
    return {score.name for score in study.comparison.scores}


def test_a_model_that_does_not_fit_into_the_time_is_not_started_and_named(analyze, takes, law):
    fitted = takes(linear=2.0, bayes=3.0, polynomial=0.1, lasso=0.1)
    law(linear=10.0, bayes=10.0, polynomial=86.0, lasso=20.0)
    # 100 rows: four fits of `linear` should take 4 s and take 8 s, so that the machine is slower by (1 + 8)/(1 + 4).
    study = analyze(table(100), "y", models=["linear", "bayes", "polynomial", "lasso"], time=40.0)
    # 30 s for models: 8 s, then 12 s; 10 s are left, of which lasso needs 4 · 2 · (1 + 8 + 12)/(1 + 4 + 4) = 18.7 s.
    assert fitted == {"linear": [66, 67, 67, 100], "bayes": [66, 67, 67, 100]}
    assert names(study) == {"baseline", "linear", "bayes", "average"}
    reasons = study.comparison.not_run
    assert set(reasons) == {"polynomial", "lasso"}
    assert re.fullmatch(r"needs about 8[01] s; 9\.\d s were left", reasons["polynomial"])
    assert re.fullmatch(r"needs about 19 s; 9\.\d s were left", reasons["lasso"])
    [note] = [note for note in study.notes if "polynomial (needs about 8" in note.text]
    assert note.on_board and "--time" in note.text and note.text in str(study)


def test_a_model_that_takes_longer_than_the_law_is_stopped_at_the_deadline(analyze, takes, law, clock):
    fitted = takes(linear=1.0, bayes=8.0, polynomial=0.1)
    law(linear=10.0, bayes=10.0, polynomial=1.0)
    study = analyze(table(100), "y", models=["linear", "bayes", "polynomial"], time=40.0)
    assert fitted["bayes"] == [66, 67, 67] and 30.0 <= clock[0] < 31.0
    assert study.comparison.not_run["bayes"] == "stopped after 3 of 4 fits"
    assert "polynomial" in study.comparison.not_run


def test_the_first_model_is_fitted_whatever_the_time(analyze, takes, law):
    takes(linear=100.0, bayes=0.1)
    law(linear=1e5, bayes=1.0)
    study = analyze(table(60), "y", models=["linear", "bayes"], time=1e-3)
    assert names(study) >= {"baseline", "linear"} and study.selected == "linear"
    assert set(study.comparison.not_run) == {"bayes"}


def test_another_model_is_fitted_where_the_first_one_fails_and_no_time_is_left(analyze):
    """Least squares can't be used with as many columns as rows."""
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(24, 30)), columns=[f"x{j}" for j in range(30)]).assign(y=rng.normal(size=24))
    study = analyze(wide, "y", models=["linear", "ridge", "bayes"], time=0.001)
    assert study.comparison["linear"].error is not None
    finished = {"ridge", "bayes"} & set(study.comparison.fitted)
    assert len(finished) == 1 and set(study.comparison.not_run) == {"ridge", "bayes"} - finished


def test_if_no_model_is_finished_the_reasons_are_given(analyze, monkeypatch):
    class Broken(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            raise ArithmeticError("too bad")

    replace(monkeypatch, {"linear": Broken()})
    with pytest.raises(ValueError, match=r"no model was finished\. linear: ArithmeticError: too bad"):
        analyze(table(60), "y", models=["linear"])


def test_with_one_set_of_held_out_rows_a_model_may_learn_from_a_part(takes, law):
    fitted = takes(linear=0.1, bayes=16.0, polynomial=0.1)
    law(linear=0.0125, bayes=4.0, polynomial=20.0)
    data = dataset(table(8000), "y")
    study = run(data, models=["linear", "bayes", "polynomial"], time=40.0)
    # Of bayes, two fits to 8,000 rows need 64 s, and one to 4,000 rows 16 s; one of polynomial to 4,000 rows 80 s.
    assert fitted == {"linear": [6400, 8000], "bayes": [4000]}
    assert set(study.comparison.not_run) == {"polynomial"}
    assert any("bayes learned from 4,000 rows" in note.text for note in study.notes)
    rows = {name: held.rows.tolist() for name, held in study.comparison.held_out.items()}
    assert str(study).startswith("y: 8,000 rows, 3 columns, 1,600 rows held out\n")
    assert len(rows["bayes"]) == 1600 and rows["bayes"] == rows["linear"] == rows["average"]


def test_compiling_is_not_charged(analyze, takes, law, clock, monkeypatch):
    waits = []

    class Compiling(engine.Compiler):
        def is_ready(self, spec):
            return spec.name != "kernel-ridge" or bool(waits)

        def wait(self, specs):
            waits.append([spec.name for spec in specs])
            clock[0] += 60.0

    fitted = takes(kernel_ridge=0.1, linear=0.1, bayes=0.1)
    law()
    monkeypatch.setattr(engine, "Compiler", Compiling)
    messages = []
    study = run(
        dataset(table(100), "y"), models=["linear", "kernel-ridge", "bayes"], folds=3, time=10.0,
        report=lambda state: messages.append(state.message),
    )  # fmt: skip
    assert waits == [["kernel-ridge"]] and len(fitted["kernel_ridge"]) == 4
    assert names(study) >= {"linear", "bayes", "kernel-ridge"} and not study.comparison.not_run
    assert "compiling, first run only" in messages


def test_models_are_fitted_in_the_order_of_the_portfolio():
    order = []
    models = ["gp", "polynomial", "linear"]
    run(dataset(table(60), "y"), models=models, folds=2, report=lambda state: order.append(state.running))
    assert list(dict.fromkeys(filter(None, order))) == ["baseline", "linear", "polynomial", "gp", "average"]


def test_ctrl_c_keeps_what_is_finished(analyze, monkeypatch):
    replace(monkeypatch, {"polynomial": Interrupted()})
    study = analyze(table(80), "y", models=["linear", "polynomial", "bayes", "gp"])
    assert names(study) == {"baseline", "linear", "bayes", "average"}
    [note] = [note for note in study.notes if "Ctrl-C" in note.text]
    assert note.important and "polynomial" in note.text and "gp" in note.text
    # The finished models are those of a study that was never interrupted.
    whole = analyze(table(80), "y", models=["linear", "bayes"])
    pd.testing.assert_frame_equal(study.held_out("bayes"), whole.held_out("bayes"))


def test_ctrl_c_while_models_are_averaged_keeps_the_models(analyze, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "average", interrupted)
    study = analyze(table(80), "y", models=["linear", "bayes"])
    assert names(study) == {"baseline", "linear", "bayes"}
    [note] = [note for note in study.notes if "Ctrl-C" in note.text]
    assert note.important and note.text == "Stopped by Ctrl-C before the models were averaged."


def test_ctrl_c_before_any_model_is_finished_ends_the_study(analyze, monkeypatch):
    replace(monkeypatch, {"linear": Interrupted()})
    with pytest.raises(KeyboardInterrupt):
        analyze(table(80), "y", models=["linear", "bayes"])


def test_no_budget_is_no_limit(analyze, takes, law):
    takes(linear=1.0, lms=1e6)
    law(lms=1e9)
    assert "lms" in names(analyze(table(60), "y", models=["linear", "lms"], time=None))


def test_progress_says_what_runs_what_waits_and_how_long(capsys):
    credo.analyze(table(60), "y", models=["linear", "bayes"], folds=2, time=30.0)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert [line.split(" (")[0] for line in lines] == [
        "Fitting baseline", "Fitting linear", "Fitting bayes", "Fitting average",
    ]  # fmt: skip
    assert "2 more to come" in lines[0] and "s left" in lines[0] and "0 more to come" in lines[-1]


def test_columns_are_prepared_once(monkeypatch):
    rng, words, parsed = np.random.default_rng(0), [], dates._parsed
    seconds = pd.to_timedelta(rng.integers(0, 10**8, 300), unit="s")
    written = (pd.Timestamp("2001-02-03") + seconds).strftime("%d %B %Y %H:%M:%S")
    data = dataset(table(300).assign(when=written), "y")
    monkeypatch.setattr(dates, "_parsed", lambda values, style: words.extend(values) or parsed(values, style))
    study = run(data, models=["linear", "bayes"], time=30.0)
    assert names(study) == {"baseline", "linear", "bayes", "average"}
    assert not words
    assert all(model.preparation_ is data.preparation for model in study.comparison.fitted.values())
    study.predict(data.frame.head(5))
    assert words


def spec(name):
    return next(one for one in MODELS["regression"] if one.name == name)


def test_a_child_compiles_what_is_needed(monkeypatch):
    monkeypatch.setattr(engine, "needs_compiling", lambda module: True)
    lasso, linear = spec("lasso"), spec("linear")
    with engine.Compiler([lasso, linear], 0) as compiler:
        # Nothing of `linear` is compiled.
        assert compiler.is_ready(linear) and not compiler.is_ready(lasso)
        compiler.wait([lasso])
        assert compiler.is_ready(lasso)
    assert compiler._process.returncode is not None


@pytest.mark.parametrize("program", ["/bin/false", "/no/such/program"], ids=["dies", "can't be started"])
def test_a_study_does_not_wait_for_a_child_that_is_gone(monkeypatch, program):
    monkeypatch.setattr(engine, "needs_compiling", lambda module: True)
    monkeypatch.setattr(engine, "sys", SimpleNamespace(executable=program))
    study = run(dataset(table(60), "y"), models=["lasso"], folds=2)
    assert "lasso" in names(study)
