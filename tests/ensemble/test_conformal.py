"""Conformal: MAPIE's intervals, coverage, a smooth distribution beside them, calibrated classifiers."""

import numpy as np
import pandas as pd
import pytest
from mapie.conformity_scores import AbsoluteConformityScore
from mapie.regression import CrossConformalRegressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

import credo
from credo.ensemble import Conformal
from credo.ensemble.calibration import Calibration
from credo.linear import LinearRegression
from credo.tables import ModelFileError


def table(n, seed=0, *, hetero=False):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    spread = np.exp(X[:, 1]) if hetero else 1.0
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * spread * rng.standard_t(5, size=n)


@pytest.mark.parametrize("cv", [KFold(5, shuffle=True, random_state=1), KFold(60)], ids=["CV+", "jackknife+"])
def test_intervals_are_those_of_mapie(cv):
    (X, y), (new, _) = table(60), table(40, 1)
    estimator = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    model = Conformal(estimator, cv=cv, random_state=0).fit(X, y)
    for level in (0.5, 0.8, 0.95):
        theirs = CrossConformalRegressor(
            estimator=estimator, confidence_level=level, conformity_score=AbsoluteConformityScore(sym=False), cv=cv
        ).fit_conformalize(X, y)
        expected = theirs.predict_interval(new)[1][:, :, 0]
        np.testing.assert_allclose(np.column_stack(model.predict_dist(new).interval(level)), expected, rtol=1e-12)


def coverage(n_tables, *, hetero, spread=None, estimator=None):
    """Of 95 % intervals, over all rows, and over those of small and of large noise."""
    found = []
    for seed in range(n_tables):
        (X, y), (new, truth) = table(100, seed, hetero=hetero), table(200, 10_000 + seed, hetero=hetero)
        low, high = Conformal(estimator, spread=spread, random_state=0).fit(X, y).predict_dist(new).interval(0.95)
        inside = (low <= truth) & (truth <= high)
        found.append([inside.mean(), inside[new[:, 1] < -1].mean(), inside[new[:, 1] > 1].mean()])
    return np.mean(found, axis=0)


def test_coverage_of_few_tables():
    """Of 12 × 200 rows; the tables differ by about 2 % each, so their mean by 0.6 %."""
    plain, learned = coverage(12, hetero=True), coverage(12, hetero=True, spread="learn")
    assert 0.93 < plain[0] < 0.985 and 0.93 < learned[0] < 0.985
    # Where the noise is small intervals are too wide, where it is large too narrow; a learned spread improves on it.
    assert plain[1] - plain[2] > 0.08 and learned[2] > plain[2]


@pytest.mark.slow
@pytest.mark.parametrize("hetero", [False, True])
@pytest.mark.parametrize("spread", [None, "learn"])
@pytest.mark.parametrize("estimator", [LinearRegression(), KNeighborsRegressor(7)], ids=["linear", "neighbours"])
def test_coverage_of_two_hundred_tables(estimator, spread, hetero):
    assert 0.93 < coverage(200, hetero=hetero, spread=spread, estimator=estimator)[0] < 0.97


def test_the_smooth_distribution_is_one():
    (X, y), (new, truth) = table(80), table(300, 1)
    dist = Conformal(Ridge(), random_state=0).fit(X, y).predict_dist(new)
    # The density integrates to the differences of the cdf, by midpoints between quantiles.
    edges = dist[0].quantile(np.linspace(0.001, 0.999, 4000))
    mass = np.diff(edges) @ np.exp(dist[0].log_prob((edges[1:] + edges[:-1]) / 2))
    assert mass == pytest.approx(0.998, abs=2e-3)
    # Far outside of all residuals the density is small and not zero.
    assert np.isfinite(dist.log_prob(1e6)).all() and np.isfinite(dist.log_prob(-1e6)).all()
    # PIT values of new rows: uniform up to their own error, and that of 80 residuals.
    assert abs(np.mean(dist.cdf(truth)) - 0.5) < 0.1
    np.testing.assert_allclose(dist.quantile([0.025, 0.975]), np.column_stack(dist.interval(0.95)), atol=0.6)


def test_mean_and_spread_are_those_of_the_points():
    (X, y), (new, _) = table(50), table(5, 1)
    model = Conformal(Ridge(), cv=KFold(5), random_state=0).fit(X, y)
    points = []
    for train, test in KFold(5).split(X):
        part = Ridge().fit(X[train], y[train])
        points += [part.predict(new) + r for r in y[test] - part.predict(X[test])]
    dist = model.predict_dist(new)
    np.testing.assert_allclose(dist.loc, np.mean(points, axis=0))
    np.testing.assert_allclose(dist.scale, np.std(points, axis=0))
    np.testing.assert_array_equal(dist[2:4].interval(0.9)[0], dist.interval(0.9)[0][2:4])


def test_many_residuals_are_replaced_by_quantiles():
    (X, y), (new, _) = table(3000), table(20, 1)
    cv = KFold(3)
    model = Conformal(LinearRegression(), cv=cv, random_state=0).fit(X, y)
    points = []
    for train, test in cv.split(X):
        part = LinearRegression().fit(X[train], y[train])
        points += [part.predict(new) + r for r in y[test] - part.predict(X[test])]
    low, high = np.quantile(points, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(
        np.column_stack(model.predict_dist(new).interval(0.95)), np.column_stack([low, high]), atol=0.1
    )
    assert len(model.residuals_.values) < 2005


def test_any_estimator_of_frames_and_what_files_can_t_hold(tmp_path):
    X, y = table(30)
    model = Conformal(KNeighborsRegressor(3), cv=3, random_state=0).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    assert list(model.feature_names_in_) == ["a", "b"]
    with pytest.raises(ModelFileError, match="KNeighborsRegressor"):
        credo.save(model, tmp_path / "model.credo")


def test_wrong_arguments_are_named():
    X, y = table(30)
    for options, message in [
        ({"cv": 1}, "cv must be a whole number of at least 2"),
        ({"cv": TimeSeriesSplit(3)}, "hold out each row once; it never holds out row 0"),
        ({"cv": 2, "spread": "learn"}, "spread needs at least 3 folds"),
        ({"spread": "guess"}, "spread must be"),
        ({"method": "magic"}, "method must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            Conformal(LinearRegression(), **options).fit(X, y)
    with pytest.raises(ValueError, match="at least 2 rows"):
        Conformal().fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="spread is for regressors"):
        Conformal(GaussianNB(), spread="learn").fit(X, y > 0)
    assert not hasattr(Conformal(LinearRegression(), random_state=0), "predict_proba")


@pytest.mark.parametrize("n_classes", [3, 10, 30])
def test_probabilities_that_are_calibrated_stay_so_however_many_classes_there_are(n_classes):
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.full(n_classes, 0.3), size=400)
    codes = (rng.random(400)[:, None] > table.cumsum(axis=1)).sum(axis=1)
    assert Calibration.fit("temperature", table, codes, np.ones(400)).scaling.slope == pytest.approx(1.0, abs=0.15)


def overconfident(n, n_classes, seed):
    """Copies of columns, which naive Bayes takes for independent evidence."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n)
    x = np.eye(n_classes)[codes] + rng.normal(size=(n, n_classes))
    return np.tile(x, 4), codes


@pytest.mark.parametrize("n_classes", [2, 3])
def test_overconfident_classifiers_are_calibrated(n_classes):
    (X, y), (new, truth) = overconfident(300, n_classes, 0), overconfident(1000, n_classes, 1)
    plain = log_loss(truth, GaussianNB().fit(X, y).predict_proba(new))
    model = Conformal(GaussianNB(), cv=5, random_state=0).fit(X, y)
    ours = log_loss(truth, model.predict_proba(new))
    theirs = log_loss(truth, CalibratedClassifierCV(GaussianNB(), cv=5, ensemble=False).fit(X, y).predict_proba(new))
    assert model.calibration_.method != "none" and ours < 0.8 * plain and ours < theirs + 0.02
    for method in ("temperature", "sigmoid", "isotonic"):
        found = Conformal(GaussianNB(), cv=5, method=method, random_state=0).fit(X, y).predict_proba(new)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert log_loss(truth, found) < 0.9 * plain


def test_calibrated_classifiers_are_left_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = rng.random(300) < 1 / (1 + np.exp(-2 * X[:, 0]))
    model = Conformal(credo.LogisticRegression(alpha=0.1), cv=5, random_state=0).fit(X, y)
    assert model.calibration_.method == "none"
    np.testing.assert_allclose(model.predict_proba(X), credo.LogisticRegression(alpha=0.1).fit(X, y).predict_proba(X))


def test_tables_of_a_few_categories_are_calibrated_row_by_row():
    """Whole categories held out would be predicted from others, and the probabilities shrunk to the frequencies."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(400, 2)).astype(float)
    p = np.array([0.05, 0.95, 0.9, 0.1])[(2 * X[:, 0] + X[:, 1]).astype(int)]
    y = (rng.random(400) < p).astype(int)
    model = Conformal(credo.DecisionTreeClassifier(random_state=0), cv=5, random_state=0).fit(X, y)
    assert np.abs(model.predict_proba(X)[:, 1] - p).max() < 0.12
