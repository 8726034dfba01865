"""Units of X and y: up to a limit every estimator answers with finite numbers, beyond it says what to change."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from tests.contracts.estimators import cases, classifiers, regressors

from credo.core.estimator import FitWarning
from credo.linear import BayesianLinearRegression, LeastSquaresClassifier, LinearDiscriminant, LinearRegression, Ridge
from credo.sparse import SpikeSlabClassifier, SpikeSlabRegressor

ACCEPTED = [1e-69, 1e-30, 1e30, 1e69]
REFUSED = [1e-300, 1e-150, 1e-71, 1e71, 1e150, 1e300]

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 2))
y = X @ [1.0, -0.5] + 0.3 * rng.normal(size=12)
MODELS = [*regressors(), *classifiers()]


def answers(model, rows, target):
    """What a model answers where it was fitted, without a RuntimeWarning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", FitWarning)
        model = clone(model).fit(rows, target)
        if is_regressor(model):
            dist = model.predict_dist(rows)
            found = [model.predict(rows), dist.quantile(0.1), dist.quantile(0.9)]
        else:
            found = [model.predict_proba(rows) if hasattr(model, "predict_proba") else model.decision_function(rows)]
        return [*found, np.asarray(getattr(model, "log_evidence_", 0.0))]


def is_finite(model, rows, target):
    return all(np.isfinite(part).all() for part in answers(model, rows, target))


def target_of(model):
    return y if is_regressor(model) else (y > 0).astype(int)


@pytest.mark.parametrize("model", cases(MODELS), ids=repr)
def test_every_unit_of_x_up_to_the_limit_is_answered(model):
    for scale in ACCEPTED:
        assert is_finite(model, X * scale, target_of(model)), scale
        assert is_finite(model, X * [scale, 1.0], target_of(model)), scale


@pytest.mark.parametrize("model", cases([m for m in MODELS if is_regressor(m)]), ids=repr)
def test_every_unit_of_y_up_to_the_limit_is_answered(model):
    for scale in ACCEPTED:
        assert is_finite(model, X, y * scale), scale
        assert is_finite(model, X / scale, y * scale), scale


# Baselines don't look at X.
@pytest.mark.parametrize("model", cases([m for m in MODELS if "Baseline" not in repr(m)]), ids=repr)
def test_a_column_of_extreme_size_is_refused(model):
    subnormal = rng.integers(-3, 4, 12) * 1.5e-323
    for column in (*(X[:, 1] * scale for scale in REFUSED), subnormal):
        with pytest.raises(
            ValueError, match=r"column (1|x1) of X is \S+, outside the range from 1e-70 to 1e\+70: change"
        ):
            clone(model).fit(np.column_stack([X[:, 0], column]), target_of(model))


@pytest.mark.parametrize("model", cases([m for m in MODELS if is_regressor(m)]), ids=repr)
def test_a_target_of_extreme_size_is_refused(model):
    subnormal = rng.integers(-3, 4, 12) * 1.5e-323
    for target in (*(y * scale for scale in REFUSED), subnormal):
        with pytest.raises(ValueError, match=r"in y is \S+, outside the range from 1e-70 to 1e\+70: change the unit"):
            clone(model).fit(X, target)


FREE = [LinearRegression(), LinearDiscriminant(), LinearDiscriminant(shrinkage="auto"), LeastSquaresClassifier()]


@pytest.mark.parametrize("model", FREE, ids=repr)
@pytest.mark.parametrize("scale", [2.0**-230, 2.0**230])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_without_a_penalty_do_not_depend_on_the_unit_of_x(model, scale, n_classes):
    target = y if is_regressor(model) else np.arange(12) % n_classes
    small, large = (answers(model, rows, target) for rows in (X, X * scale))
    for one, other in zip(small, large, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-69, 1e69])
def test_the_evidence_and_the_predictions_do_not_depend_on_the_unit_of_x(scale):
    for model in (BayesianLinearRegression(), BayesianLinearRegression(noise_precision="conjugate"), Ridge("loo")):
        one, other = answers(model, X, y), answers(model, X * scale, y)
        for here, there in zip(one, other, strict=True):
            np.testing.assert_allclose(here, there, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-69, 1e69])
@pytest.mark.parametrize("model", [Ridge(), Ridge("loo"), BayesianLinearRegression()], ids=repr)
def test_two_rows_of_two_large_columns_have_finite_answers(model, scale):
    rows = np.array([[1.0, 2.0], [3.0, 4.0]]) * scale
    assert np.isfinite(clone(model).fit(rows, [1.0, 2.0]).predict(rows)).all()


@pytest.mark.parametrize("variance", [1e-300, 1e-200, 1e-100, 1e100, 1e300])
def test_slabs_of_extreme_width_have_finite_answers_or_are_refused(variance):
    for model in (
        SpikeSlabRegressor(slab="normal", slab_variance=variance),
        SpikeSlabRegressor(slab="normal", slab_variance=variance, noise_variance=1.0),
        SpikeSlabClassifier(slab_variance=variance),
    ):
        target = y if is_regressor(model) else (y > 0).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                evidence = model.fit(X, target).log_evidence_
            except ValueError as error:
                assert "slab_variance" in str(error)
            else:
                assert np.isfinite(evidence)


@pytest.mark.parametrize("scale", [1e-69, 1.0, 1e69])
@pytest.mark.parametrize("noise", ["integrate", "evidence", "conjugate"])
@pytest.mark.parametrize("precision", [1e-300, 1e-150, 1e150, 1e250, 1e300])
def test_prior_precisions_of_extreme_size_have_finite_answers_or_are_refused(scale, noise, precision):
    model = BayesianLinearRegression(precision, noise_precision=noise)
    try:
        found = answers(model, X * scale, y)
    except ValueError as error:
        assert "prior precision" in str(error) and "change the units of X or y" in str(error)
    else:
        assert all(np.isfinite(part).all() for part in found)
