"""The blocks of docs/ecosystem.md, each where its library is installed, and what the page claims about them."""

import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest

import credo
from credo.metrics import shapley

PAGE = Path(__file__).parents[1] / "docs" / "ecosystem.md"
BEGINNING, *SECTIONS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
CODE = {section.splitlines()[0]: re.search(r"```python\n(.*?)```", section, re.DOTALL)[1] for section in SECTIONS}
MODULES = {"sklearn.inspection": "sklearn", "MAPIE": "mapie", "MLflow": "mlflow", "Dask": "dask.array"}


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """Runs the block of a section after that of the beginning, and returns its variables."""
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)

    def run(section):
        pytest.importorskip(MODULES.get(section, section))
        scope = {}
        for code in (re.search(r"```python\n(.*?)```", BEGINNING, re.DOTALL)[1], CODE[section]):
            exec(compile(code, section, "exec"), scope)
        return scope

    return run


def test_every_section_has_a_test():
    assert set(CODE) == {"sklearn.inspection", "shap", "MAPIE", "skpro", "MLflow", "Dask", "polars"}


def test_inspection_scores_distributions(ran):
    scope = ran("sklearn.inspection")
    model, X, y, test = (scope[name] for name in ("model", "X", "y", "test"))
    assert scope["importance"].importances_mean.shape == (3,)
    # Any of the three columns tells something about the others' patients.
    assert scope["importance"].importances_mean.max() > 0
    # A line has the slope of its coefficient.
    grid, average = scope["curve"]["grid_values"][0], scope["curve"]["average"][0]
    np.testing.assert_allclose(np.diff(average) / np.diff(grid), model.coef_[0], rtol=1e-8)
    assert model.predict_dist(X[test]).log_prob(y[test]).mean() == pytest.approx(
        credo.scorer("log_score")(model, X[test], y[test])
    )


def test_shap_values_are_those_of_a_linear_model(ran):
    scope = ran("shap")
    model, X, train, test = (scope[name] for name in ("model", "X", "train", "test"))
    # The library compares with at most a hundred of the rows.
    background = scope["explainer"].masker.data
    exact = model.coef_ * (X[test].to_numpy()[:5] - background.mean(axis=0))
    np.testing.assert_allclose(scope["explanation"].values, exact, rtol=1e-6, atol=1e-8)
    assert shapley.__module__.startswith("credo.") and len(X[train]) == 300


def test_mapie_takes_a_fitted_model(ran):
    scope = ran("MAPIE")
    truth, (lower, upper) = scope["y"][scope["test"]][71:], scope["intervals"][:, :, 0].T
    # 71 rows of a level of 0.9: three standard deviations of the covered share.
    assert abs(np.mean((lower <= truth) & (truth <= upper)) - 0.9) < 3 * np.sqrt(0.9 * 0.1 * (1 / 71 + 1 / 71))
    np.testing.assert_allclose(scope["prediction"], scope["model"].predict(scope["X"][scope["test"]][71:]))


def test_skpro_has_the_means_and_standard_deviations(ran):
    scope = ran("skpro")
    dist = scope["model"].predict_dist(scope["X"][scope["test"]])
    np.testing.assert_allclose(scope["distribution"].mean().to_numpy().ravel(), dist.mean)
    np.testing.assert_allclose(scope["distribution"].var().to_numpy().ravel(), dist.var)
    # The score of a normal distribution, and nearly that of Student's t with 300 rows.
    assert scope["score"] == pytest.approx(np.mean(credo.Normal(dist.mean, dist.std).crps(scope["y"][scope["test"]])))


def test_mlflow_serves_a_model_file(ran):
    scope = ran("MLflow")
    dist = scope["model"].predict_dist(scope["X"][scope["test"]])
    np.testing.assert_array_equal(scope["answer"]["mean"], dist.mean)
    np.testing.assert_array_equal(scope["answer"]["upper"], dist.interval(0.95)[1])


def test_dask_gives_the_same_model(ran):
    scope = ran("Dask")
    whole = credo.BayesianLinearRegression().fit(scope["X"], scope["y"])
    np.testing.assert_allclose(scope["lazy"].compute(), whole.predict(scope["X"]), rtol=1e-8)


def test_polars_gives_the_same_model(ran):
    scope = ran("polars")
    frame, (lower, _) = scope["intervals_frame"], scope["model"].predict_dist(scope["X"][scope["test"]]).interval(0.95)
    assert type(frame).__module__.startswith("polars")
    np.testing.assert_allclose(frame["lower"].to_numpy(), lower)
