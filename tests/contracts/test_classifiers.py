"""What every exported classifier keeps: scikit-learn's contract, and Credo's on top of it.

A classifier without `predict_proba` keeps the rest: where probabilities would be compared, its scores are.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import has_fit_parameter
from tests.contracts.estimators import brief, cases, classifiers, expected_failures, fitted

import credo
from credo.core.estimator import Result
from credo.core.frames import Table
from credo.distributions import Bernoulli, Categorical

EVIDENCE_METHODS = {"exact", "laplace", "ep", "elbo", "bic"}
NAMES = ["a", "b", "c"]
# Laws that a model can't keep, and why.
UNITS_SHOW = {"Perceptron": "its bias is the weight of a column of ones, whatever the unit of the others"}
_TIES = "of rivals that are level it punishes the first, from the first visit on"
ORDER_SHOWS = {"Perceptron": _TIES, "KernelPerceptron": _TIES}
# Rows are drawn or visited at random by their positions.
RANDOM = {"Perceptron", "KernelPerceptron", "BaggingClassifier"}
WEAK = {"DecisionStump": "one threshold can't tell three classes apart"}

pytestmark = pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
each = pytest.mark.parametrize("model", cases(classifiers()), ids=repr)
# What the estimator's base class does is the same for every setting.
each_default = pytest.mark.parametrize("model", [clone(m) for m in classifiers(variants=False)], ids=repr)
# How labels, names and types of input are handled doesn't depend on where a search ends.
each_brief = pytest.mark.parametrize("model", [brief(m) for m in classifiers(variants=False)], ids=repr)


def data(n_classes=2, n_samples=45, seed=0):
    """Overlapping classes, coded from zero, all of them there."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 3)) * [1.0, 2.0, 0.5] + [0.0, 1.0, 0.0]
    directions = np.array([[1.0, 0.0, 0.0], [-1.0, 0.3, 0.0], [0.0, -0.7, 1.5], [0.0, 0.7, -1.5]])[:n_classes]
    scores = (X - [0.0, 1.0, 0.0]) @ directions.T
    return X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)


def is_multiclass(model):
    return model.__sklearn_tags__().classifier_tags.multi_class


def takes_gaps(model):
    return model.__sklearn_tags__().input_tags.allow_nan


def tables(model):
    """Two classes, and three where the model takes them."""
    return [data(), data(3)] if is_multiclass(model) else [data()]


def said(model, X):
    """Probabilities, or the scores of a model that has none, one column a class."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    scores = model.decision_function(X)
    return scores if scores.ndim == 2 else np.column_stack([-scores, scores])


def same(ours, theirs, tolerance=1e-7):
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_discovery_finds_what_is_there():
    names = {type(model).__name__ for model in classifiers()}
    assert {"KernelPerceptron", "SoftNeighborsClassifier"} <= names


@each_default
def test_scikit_learn_contract(model):
    check_estimator(brief(model), on_skip=None, expected_failed_checks=expected_failures(model))


@each
def test_probabilities_are_probabilities(model):
    for X, y in tables(model):
        model = fitted(model, X, y)
        if not hasattr(model, "predict_proba"):
            for name in ("predict_log_proba", "predict_dist"):
                assert not hasattr(model, name), "without probabilities there is no distribution"
            return
        table = model.predict_proba(X)
        assert table.shape == (len(X), len(model.classes_)) and (table >= 0).all() and (table <= 1).all()
        np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(model.predict(X), model.classes_[table.argmax(axis=1)])
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), table, rtol=1e-9, atol=1e-300)


@each
def test_probabilities_are_worth_more_than_frequencies(model):
    for X, y in tables(model)[: 1 if type(model).__name__ in WEAK else None]:
        model = fitted(model, X, y)
        new, truth = data(len(model.classes_), n_samples=200, seed=1)
        guess = np.bincount(y).max() / len(y)
        assert model.score(new, truth) > guess + 0.05
        if hasattr(model, "predict_proba"):
            blind = log_loss(truth, np.tile(np.bincount(y) / len(y), (len(truth), 1)))
            assert log_loss(truth, np.maximum(model.predict_proba(new), 1e-12)) < blind


@each
def test_probabilities_are_monotone_in_the_scores(model):
    if not hasattr(model, "decision_function"):
        pytest.skip("the model has no scores")
    for X, y in tables(model):
        model = fitted(model, X, y)
        scores, labels = model.decision_function(X), model.predict(X)
        if len(model.classes_) == 2:
            assert scores.shape == (len(X),)
            np.testing.assert_array_equal(labels, model.classes_[(scores > 0).astype(int)])
        else:
            assert scores.shape == (len(X), len(model.classes_))
            np.testing.assert_array_equal(labels, model.classes_[scores.argmax(axis=1)])
        if hasattr(model, "predict_proba"):
            # Over the rows for two classes, over each row's classes for more.
            table = model.predict_proba(X)[:, 1] if scores.ndim == 1 else model.predict_proba(X)
            ordered = np.take_along_axis(table, np.argsort(scores, axis=-1), axis=-1)
            assert (np.diff(ordered, axis=-1) > -1e-9).all()


@each
def test_distributions_agree_with_probabilities(model):
    if not hasattr(model, "predict_proba"):
        pytest.skip("the model has no probabilities")
    X, y = data()
    coded = fitted(model, X, y)
    dist, table = coded.predict_dist(X), coded.predict_proba(X)
    assert isinstance(dist, Bernoulli) and len(dist) == len(X)
    np.testing.assert_allclose(dist.mean, table[:, 1], rtol=1e-12)
    np.testing.assert_allclose(np.exp(dist.log_prob(y)), table[np.arange(len(y)), y], rtol=1e-9)
    for X, y in tables(model):
        words = np.array(["one", "three", "two"])[y]
        named = fitted(model, X, words)
        dist, table = named.predict_dist(X), named.predict_proba(X)
        assert isinstance(dist, Categorical)
        np.testing.assert_allclose(np.exp(dist.log_prob(words)), table[np.arange(len(y)), y], rtol=1e-9)


LABELS = {
    "strings": np.array(["ham", "spam", "void"]),
    "objects": np.array(["ham", "spam", "void"], dtype=object),
    "bools": np.array([False, True]),
    "integers": np.array([-1, 1, 20]),
    "floats": np.array([-2.0, 0.0, 5.0]),
    "unsigned": np.array([0, 200, 255], dtype=np.uint8),
}


@each_brief
@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind_give_the_same_answer(model, kind):
    names = LABELS[kind]
    X, y = tables(model)[: len(names) - 1][-1]
    plain, named = fitted(model, X, y), clone(model).fit(X, names[y])
    np.testing.assert_array_equal(named.classes_, names[: y.max() + 1])
    assert named.classes_.dtype == names.dtype
    same(said(named, X), said(plain, X), 1e-12)
    np.testing.assert_array_equal(named.predict(X), names[plain.predict(X)])
    assert named.predict(X).dtype == names.dtype


@each
def test_the_order_of_classes_doesn_t_matter(model):
    if getattr(model, "inference", None) == "mcmc":
        pytest.skip("a chain for the opposite labels is another chain; tests/gp compares it with EP")
    for X, y in tables(model)[: 1 if type(model).__name__ in ORDER_SHOWS else None]:
        last = y.max()
        same(said(clone(model).fit(X, last - y), X), said(fitted(model, X, y), X)[:, ::-1], 1e-3)


@each
def test_the_order_of_rows_doesn_t_matter(model):
    X, y = data()
    order = np.random.default_rng(1).permutation(len(X))
    whole = fitted(model, X, y)
    if type(model).__name__ not in RANDOM:
        same(said(clone(model).fit(X[order], y[order]), X), said(whole, X), 1e-6)
    for rows in (slice(0, 1), slice(3, 17), order):
        same(said(whole, X[rows]), said(whole, X)[rows], 1e-9)


@each
def test_weights_are_copies(model):
    if not has_fit_parameter(model, "sample_weight") or type(model).__name__ in RANDOM:
        pytest.skip("the model takes no weights, or draws rows at random")
    for X, y in tables(model):
        weight = np.resize([1, 3, 2, 0, 1], len(y))
        weighted = clone(model).fit(X, y, sample_weight=weight)
        repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        same(said(weighted, X), said(repeated, X))
        if hasattr(weighted, "log_evidence_"):
            assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-6)


@each
def test_class_weights(model):
    if not hasattr(model, "class_weight"):
        pytest.skip("the model has no class weights")
    X, y = data()
    if hasattr(model, "hyperparameters"):
        # Other weights would mean another kernel.
        model = clone(model).set_params(hyperparameters="fixed")
    plain = clone(model).fit(X, y)
    heavy = clone(model).set_params(class_weight={0: 1.0, 1: 5.0}).fit(X, y)
    assert (heavy.predict(X) == 1).sum() >= (plain.predict(X) == 1).sum()
    if hasattr(model, "predict_proba"):
        assert heavy.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()
    same(said(heavy, X), said(clone(model).fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0)), X))
    balanced = clone(model).set_params(class_weight="balanced")
    weight = np.resize([1, 3, 2, 0, 1], len(y))
    repeated = clone(balanced).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    same(said(balanced.fit(X, y, sample_weight=weight), X), said(repeated, X))
    with pytest.raises(ValueError, match="class_weight"):
        clone(model).set_params(class_weight="heavy").fit(X, y)


@each
def test_result_and_summary(model):
    for X, y in tables(model):
        model = fitted(model, X, y)
        assert isinstance(model.result_, Result) and model.result_.message
        table = model.summary()
        assert isinstance(table, Table)
        assert {"parameter", "estimate", "sd"} <= set(table.columns)
        assert len(str(table).splitlines()) >= 4 and "<table>" in table._repr_html_()
        if hasattr(model, "coef_"):
            assert all(any(name in line for line in table.columns["parameter"]) for name in ("x0", "x1", "x2"))


@each
def test_evidence_is_there_or_absent(model):
    X, y = data()
    model = fitted(model, X, y)
    if hasattr(model, "log_evidence_"):
        # The probability of labels, so never above one.
        assert np.isfinite(model.log_evidence_) and model.log_evidence_ < 0
        assert model.evidence_method_ in EVIDENCE_METHODS
        assert isinstance(model.evidence_base_, str) and model.evidence_base_
    else:
        assert not hasattr(model, "evidence_method_") and not hasattr(model, "evidence_base_")


@each
def test_files_bring_it_back_bit_for_bit(model, tmp_path):
    for X, y in tables(model):
        frame = pd.DataFrame(X, columns=NAMES)
        model = clone(model).fit(frame, np.array(["one", "three", "two"])[y])
        credo.save(model, tmp_path / "model.credo")
        back = credo.load(tmp_path / "model.credo")
        assert type(back) is type(model) and repr(back) == repr(model)
        np.testing.assert_array_equal(said(back, frame), said(model, frame))
        np.testing.assert_array_equal(back.predict(frame), model.predict(frame))
        assert back.classes_.dtype == model.classes_.dtype
        assert str(model.summary()) == str(back.summary()) and back.result_ == model.result_


@each_brief
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_carry_their_names(model, make):
    X, y = data()
    frame = make(dict(zip(NAMES, X.T, strict=True)))
    named = clone(model).fit(frame, make({"y": y})["y"])
    assert list(named.feature_names_in_) == NAMES
    same(said(named, frame), said(fitted(model, X, y), X), 1e-12)
    with pytest.raises(ValueError, match="z"):
        named.predict(make(dict(zip(["a", "b", "z"], X.T, strict=True))))


# A setting that is worth something here, from bad to good.
CHOICES = {
    "bandwidth": [1e4, "loo"],
    "kernel": [credo.kernels.Constant(), credo.kernels.RBF()],
    "fit_intercept": [False, True],
    "alpha": [1e6, 1e-2],
    "prior_precision": [1e6, 1.0],
}


@each_default
def test_lives_in_pipelines_and_searches(model):
    X, y = data(n_samples=60)
    X += np.array([3.0, 0.0, 0.0])
    pipeline = make_pipeline(StandardScaler(), clone(model))
    scoring = {"accuracy": "accuracy"}
    if hasattr(model, "predict_proba"):
        scoring |= {"log_loss": "neg_log_loss", "log_score": credo.scorer("log_score")}
    scores = cross_validate(pipeline, X, y, cv=2, scoring=scoring)
    assert scores["test_accuracy"].mean() > 0.55 and all(np.isfinite(scores[f"test_{name}"]).all() for name in scoring)
    name = next((name for name in CHOICES if name in model.get_params()), None)
    if name is not None:
        search = GridSearchCV(clone(model), {name: CHOICES[name]}, cv=2).fit(X, y)
        assert search.best_score_ > 0.55 and search.cv_results_["mean_test_score"][1] == search.best_score_


@each_brief
def test_takes_float32_and_read_only_rows(model):
    X, y = data()
    reference = said(fitted(model, X, y), X)
    X.setflags(write=False)
    y.setflags(write=False)
    same(said(clone(model).fit(X, y), X), reference, 1e-12)
    same(said(clone(model).fit(np.asfortranarray(X), y), X), reference, 1e-9)
    single = clone(model).fit(X.astype(np.float32), y.astype(np.int8))
    np.testing.assert_allclose(said(single, X.astype(np.float32)), reference, rtol=1e-2, atol=1e-3)


@each_brief
def test_sparse_rows_are_taken_or_refused(model):
    X, y = data()
    if model._accepts_sparse:
        other = clone(model).fit(sparse.csr_array(X), y)
        same(said(other, sparse.csc_matrix(X)), said(fitted(model, X, y), X), 1e-6)
    else:
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            clone(model).fit(sparse.csr_array(X), y)


BAD_FITS = {
    "NaN in X": (lambda X, y: (np.where(np.arange(3) == 1, np.nan, X), y), "NaN"),
    "inf in X": (lambda X, y: (np.where(np.arange(3) == 1, np.inf, X), y), "inf"),
    "NaN in y": (lambda X, y: (X, np.where(np.arange(45) == 3, np.nan, y)), "NaN"),
    "numbers in y": (lambda X, y: (X, X[:, 0]), "continuous"),
    "one class": (lambda X, y: (X, np.full(len(y), "only")), "at least two classes, but every label is .*only"),
    "no rows": (lambda X, y: (X[:0], y[:0]), "0 sample"),
    "no columns": (lambda X, y: (X[:, :0], y), "0 feature"),
    "one-dimensional X": (lambda X, y: (X[:, 0], y), "Expected 2D array"),
    "three-dimensional X": (lambda X, y: (X[:, :, None], y), "dim 3"),
    "lengths differ": (lambda X, y: (X[:-1], y), "inconsistent numbers of samples"),
    "strings in X": (lambda X, y: (np.full(X.shape, "abc", dtype=object), y), "could not convert string"),
    "complex X": (lambda X, y: (X + 1j, y), "Complex data not supported"),
    "two targets": (lambda X, y: (X, np.column_stack([y, y])), "1d array"),
    "y missing": (lambda X, y: (X, None), "requires y"),
}


@each_brief
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_bad_tables_are_refused_in_words(model):
    for case, (change, message) in BAD_FITS.items():
        if case == "NaN in X" and takes_gaps(model):
            assert np.isfinite(said(clone(model).fit(*change(*data())), data()[0])).all()
            continue
        with pytest.raises((ValueError, TypeError), match=message):
            clone(model).fit(*change(*data()))


@each_brief
def test_bad_weights_are_refused_in_words(model):
    if not has_fit_parameter(model, "sample_weight"):
        pytest.skip("the model takes no weights")
    X, y = data()
    cases = [(np.full(45, -1.0), "[Nn]egative"), (np.zeros(45), "zero"), (np.full(45, np.nan), "NaN")]
    for weight, message in [*cases, (np.ones(44), "shape"), (y.astype(float), "at least two classes")]:
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X, y, sample_weight=weight)


@each_brief
def test_bad_rows_at_prediction_are_refused_in_words(model):
    X, y = data()
    with pytest.raises(Exception, match="not fitted"):
        clone(model).predict(X)
    model = fitted(model, X, y)
    gap = (np.full((1, 3), np.inf), "infinity") if takes_gaps(model) else (np.full((1, 3), np.nan), "NaN")
    for rows, message in [(X[:, :2], "2 features"), (X[0], "2D array"), gap]:
        with pytest.raises(ValueError, match=message):
            model.predict(rows)


@each
@pytest.mark.parametrize("scale", [2.0**-20, 2.0**20])
def test_a_common_unit_of_the_columns_changes_nothing(model, scale):
    given = {"alpha", "bandwidth", "prior_precision"}
    if any(name.split("__")[-1] in given and isinstance(v, float) and v for name, v in model.get_params().items()):
        pytest.skip("what was given has units")
    if type(model).__name__ in UNITS_SHOW:
        pytest.skip(UNITS_SHOW[type(model).__name__])
    X, y = data()
    same(said(clone(model).fit(X * scale, y), X * scale), said(fitted(model, X, y), X), 1e-5)


@each
def test_far_from_all_rows_there_is_still_an_answer(model):
    for X, y in tables(model):
        model = fitted(model, X, y)
        for far in (1e6 * X, 1e-300 * X, np.array([[1e100, -1e100, 0.0]])):
            answer = said(model, far)
            assert np.isfinite(answer).all() and set(model.predict(far)) <= set(model.classes_)
            if hasattr(model, "predict_proba"):
                np.testing.assert_allclose(answer.sum(axis=1), 1.0, rtol=1e-12)


@each
def test_separated_classes_are_told_apart(model):
    X, y = data()
    X[:, 0] = np.where(y == 1, 3.0, -3.0) + 0.1 * X[:, 0]
    model = clone(model).fit(X, y)
    assert model.score(X, y) == 1.0 and np.isfinite(said(model, X)).all()


@each
def test_few_rows_one_column_and_rare_classes(model):
    X, y = data(4 if is_multiclass(model) else 2, n_samples=60)
    rare = np.flatnonzero((y < y.max()) | (np.cumsum(y == y.max()) == 1))
    for rows, labels in [(X[:, :1], y), (X[rare], y[rare]), (X[:4, :1], np.array([1, 0, 0, 1]))]:
        few = clone(model).fit(rows, labels)
        assert np.isfinite(said(few, rows)).all() and said(few, rows).shape == (len(rows), labels.max() + 1)


@each
def test_a_second_fit_forgets_the_first(model):
    X, y = data()
    other, words = tables(model)[-1]
    again = clone(model).fit(other[:, :2], np.array(["one", "three", "two"])[words]).fit(X, y)
    fresh = fitted(model, X, y)
    same(said(again, X), said(fresh, X), 1e-12)
    assert {name for name in vars(again) if name.endswith("_")} == {name for name in vars(fresh) if name.endswith("_")}
