"""What every exported regressor keeps: scikit-learn's contract, and Credo's on top of it."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import has_fit_parameter
from tests.contracts.estimators import brief, cases, expected_failures, fitted, regressors

import credo
from credo.core.estimator import FitWarning, Result
from credo.core.frames import Table
from credo.distributions import Distribution
from credo.linear import NaiveForecast

EVIDENCE_METHODS = {"exact", "laplace", "ep", "elbo", "bic"}


def data(n_samples=40, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) * [1.0, 5.0, 0.2][:n_features] + 1
    return X, X @ np.array([1.0, -0.3, 2.0])[:n_features] + 4 + 0.3 * rng.normal(size=n_samples)


each = pytest.mark.parametrize("model", cases(regressors()), ids=repr)
# What the estimator's base class does is the same for every setting.
each_default = pytest.mark.parametrize("model", [clone(m) for m in regressors(variants=False)], ids=repr)
# How labels, names and types of input are handled doesn't depend on where a search ends.
each_brief = pytest.mark.parametrize("model", [brief(m) for m in regressors(variants=False)], ids=repr)


def knows_offsets(model):
    """Whether the model can shift its predictions by a constant, and predicts from all columns."""
    return getattr(model, "fit_intercept", True) and not isinstance(model, NaiveForecast)


def takes_gaps(model):
    return model.__sklearn_tags__().input_tags.allow_nan


def test_discovery_finds_what_is_there():
    names = {type(model).__name__ for model in regressors()}
    assert {"LinearRegression", "LMSRegression", "Ridge", "BayesianLinearRegression"} <= names


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
@each_default
def test_scikit_learn_contract(model):
    check_estimator(brief(model), on_skip=None, expected_failed_checks=expected_failures(model))


@each
def test_predictions_are_distributions(model):
    X, y = data()
    model = fitted(model, X, y)
    dist = model.predict_dist(X)
    assert isinstance(dist, Distribution) and len(dist) == len(X)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, model.predict(X), rtol=1e-12)
    np.testing.assert_allclose(std, dist.std)
    assert (dist.var >= 0).all()
    lower, upper = dist.interval(0.95)
    assert (lower <= dist.mean).all() and (dist.mean <= upper).all()
    assert np.isfinite(dist.log_prob(y)).all()


@each
def test_variances_stay_positive_far_away_and_at_the_data(model):
    X, y = data()
    model = fitted(model, X, y)
    for rows in (X, X * 1e6, np.zeros((1, 3)), X[:1].repeat(5, axis=0)):
        assert (model.predict_dist(rows).var >= 0).all()


@each
def test_batches_and_row_order_don_t_show(model):
    X, y = data()
    model = fitted(model, X, y)
    whole = model.predict_dist(X)
    order = np.random.default_rng(1).permutation(len(X))
    for rows in (slice(0, 1), slice(3, 17), order):
        part = model.predict_dist(X[rows])
        np.testing.assert_allclose(part.mean, whole.mean[rows], rtol=1e-10)
        np.testing.assert_allclose(part.std, whole.std[rows], rtol=1e-10)


@each
def test_result_and_summary(model):
    X, y = data()
    model = fitted(model, X, y)
    assert isinstance(model.result_, Result) and model.result_.message
    table = model.summary()
    assert isinstance(table, Table)
    assert {"parameter", "estimate", "sd"} <= set(table.columns)
    if hasattr(model, "coef_"):
        assert {"x0", "x1", "x2"} <= set(table.columns["parameter"])
    assert len(str(table).splitlines()) >= 4 and "<table>" in table._repr_html_()


@each
def test_evidence_is_there_or_absent(model):
    X, y = data()
    model = fitted(model, X, y)
    if hasattr(model, "log_evidence_"):
        assert np.isfinite(model.log_evidence_) and model.evidence_method_ in EVIDENCE_METHODS
        assert isinstance(model.evidence_base_, str) and model.evidence_base_
    else:
        assert not hasattr(model, "evidence_method_") and not hasattr(model, "evidence_base_")


@each
def test_files_bring_it_back_bit_for_bit(model, tmp_path):
    X, y = data()
    model = clone(model).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    credo.save(model, tmp_path / "model.credo")
    back = credo.load(tmp_path / "model.credo")
    assert type(back) is type(model) and repr(back) == repr(model)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    before, after = model.predict_dist(frame), back.predict_dist(frame)
    np.testing.assert_array_equal(before.mean, after.mean)
    np.testing.assert_array_equal(before.std, after.std)
    if hasattr(model, "coef_"):
        np.testing.assert_array_equal(model.coef_, back.coef_)
    assert str(model.summary()) == str(back.summary()) and back.result_ == model.result_


@each_brief
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_carry_their_names(model, make):
    X, y = data()
    frame = make({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    model = clone(model).fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(model.predict(frame), fitted(model, X, y).predict(X), rtol=1e-12)
    renamed = make({"a": X[:, 0], "b": X[:, 1], "z": X[:, 2]})
    with pytest.raises(ValueError, match="z"):
        model.predict(renamed)


@each_default
def test_lives_in_pipelines_and_searches(model):
    X, y = data()
    model = clone(model)
    if isinstance(model, credo.ElasticNet):
        # A penalty has units; the default's is too large for these.
        model.set_params(alpha=0.01)
    pipeline = make_pipeline(StandardScaler(), clone(model))
    scores = cross_validate(pipeline, X, y, cv=2, scoring={"r2": "r2", "log_score": credo.scorer("log_score")})
    # 20 rows show a tree only a few steps of a plane.
    is_tree = isinstance(model, credo.DecisionTreeRegressor)
    assert (scores["test_r2"] > (0.0 if is_tree else 0.5)).all() or not knows_offsets(model)
    assert (scores["test_log_score"] > (-2.5 if is_tree else -2)).all() or not knows_offsets(model)
    if isinstance(model, NaiveForecast):
        # Without times, no setting is better than another.
        return
    # A setting that is worth something here, from bad to good.
    choices = {
        "fit_intercept": [False, True],
        "noise": [1e3, "learn"],
        "bandwidth": [1e3, "loo"],
        "learning_rate": [1e-9, 0.1],
        "prior_inclusion": [1e-100, 0.5],
        "prior_strength": [1e6, None],
        "n_experts": [8, 1],
        "estimator": [credo.BayesianLinearRegression(1e9), credo.BayesianLinearRegression()],
        "estimators": [[("only", credo.BayesianLinearRegression(alpha))] for alpha in (1e9, "evidence")],
    }
    name = next((name for name in choices if hasattr(model, name)), None)
    if name is not None:
        search = GridSearchCV(clone(model), {name: choices[name]}, cv=2).fit(X, y)
        assert search.best_params_[name] == choices[name][1]


@each_brief
def test_takes_float32_and_read_only_rows(model):
    X, y = data()
    reference = fitted(model, X, y).predict(X)
    X.setflags(write=False)
    y.setflags(write=False)
    np.testing.assert_allclose(clone(model).fit(X, y).predict(X), reference, rtol=1e-12)
    single = clone(model).fit(X.astype(np.float32), y.astype(np.float32))
    np.testing.assert_allclose(single.predict(X.astype(np.float32)), reference, rtol=1e-3, atol=1e-3)
    fortran = clone(model).fit(np.asfortranarray(X), y)
    np.testing.assert_allclose(fortran.predict(X), reference, rtol=1e-10)


@each_brief
def test_sparse_rows_are_taken_or_refused(model):
    X, y = data()
    if model._accepts_sparse:
        sparse_model = clone(model).fit(sparse.csr_array(X), y)
        np.testing.assert_allclose(
            sparse_model.predict_dist(sparse.csc_matrix(X)).std,
            fitted(model, X, y).predict_dist(X).std,
            rtol=1e-7,
        )
    else:
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            clone(model).fit(sparse.csr_array(X), y)


BAD_FITS = {
    "NaN in X": (lambda X, y: (np.where(np.arange(3) == 1, np.nan, X), y), "NaN"),
    "inf in X": (lambda X, y: (np.where(np.arange(3) == 1, np.inf, X), y), "inf"),
    "NaN in y": (lambda X, y: (X, np.where(np.arange(40) == 3, np.nan, y)), "NaN"),
    "inf in y": (lambda X, y: (X, np.where(np.arange(40) == 3, -np.inf, y)), "inf"),
    "no rows": (lambda X, y: (X[:0], y[:0]), "0 sample"),
    "no columns": (lambda X, y: (X[:, :0], y), "0 feature"),
    "one-dimensional X": (lambda X, y: (X[:, 0], y), "Expected 2D array"),
    "three-dimensional X": (lambda X, y: (X[:, :, None], y), "dim 3"),
    "lengths differ": (lambda X, y: (X[:-1], y), "inconsistent numbers of samples"),
    "strings in X": (lambda X, y: (np.full(X.shape, "abc", dtype=object), y), "could not convert string"),
    "strings in y": (lambda X, y: (X, np.full(len(y), "abc", dtype=object)), "y contains text, such as 'abc'"),
    "complex X": (lambda X, y: (X + 1j, y), "Complex data not supported"),
    "two targets": (lambda X, y: (X, np.column_stack([y, y])), "1d array"),
    "y missing": (lambda X, y: (X, None), "requires y"),
}


@each_brief
def test_bad_tables_are_refused_in_words(model):
    for case, (change, message) in BAD_FITS.items():
        X, y = change(*data())
        if case == "NaN in X" and takes_gaps(model):
            assert np.isfinite(clone(model).fit(X, y).predict(X)).all()
            continue
        if case in ("NaN in y", "two targets") and model.__sklearn_tags__().target_tags.multi_output:
            assert clone(model).fit(X, y).predict(X).shape == y.shape
            continue
        with pytest.raises((ValueError, TypeError), match=message):
            clone(model).fit(X, y)


@each_brief
def test_bad_weights_are_refused_in_words(model):
    if not has_fit_parameter(model, "sample_weight"):
        pytest.skip("the model takes no weights")
    X, y = data()
    cases = [(np.full(40, -1.0), "[Nn]egative"), (np.zeros(40), "zero"), (np.full(40, np.nan), "NaN")]
    for weight, message in [*cases, (np.ones(39), "shape")]:
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X, y, sample_weight=weight)


@each_brief
def test_bad_rows_at_prediction_are_refused_in_words(model):
    X, y = data()
    unfitted = clone(model)
    with pytest.raises(Exception, match="not fitted"):
        unfitted.predict_dist(X)
    model = fitted(model, X, y)
    gap = (np.full((1, 3), np.inf), "infinity") if takes_gaps(model) else (np.full((1, 3), np.nan), "NaN")
    for rows, message in [(X[:, :2], "2 features"), (X[0], "2D array"), gap]:
        with pytest.raises(ValueError, match=message):
            model.predict_dist(rows)


@each
@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
def test_scales_of_the_target_change_nothing(model, scale):
    if getattr(model, "prior_precision", None) == 1.0 or isinstance(model, credo.ElasticNet):
        pytest.skip("fixed precisions and penalties have units")
    X, y = data()
    plain, scaled = fitted(model, X, y), clone(model).fit(X, y * scale)
    np.testing.assert_allclose(scaled.predict(X), plain.predict(X) * scale, rtol=1e-5)
    np.testing.assert_allclose(scaled.predict_dist(X).std, plain.predict_dist(X).std * scale, rtol=1e-5)


@each
def test_constant_target_is_predicted(model):
    X, _ = data()
    if not knows_offsets(model):
        pytest.skip("a constant is not a linear function without intercept")
    model = clone(model).fit(X, np.full(len(X), 7.0))
    np.testing.assert_allclose(model.predict(X), 7.0, rtol=1e-6)
    assert (model.predict_dist(X).std >= 0).all()


@each
def test_one_column_and_few_rows(model):
    X, y = data(n_features=1)
    assert clone(model).fit(X, y).predict(X).shape == (40,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        few = clone(model).fit(X[:3], y[:3])
    assert np.isfinite(few.predict(X)).all()
