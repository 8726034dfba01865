"""Mixtures as densities, against scikit-learn and SciPy, and what every density keeps."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture as Reference
from sklearn.utils.estimator_checks import parametrize_with_checks

import credo
from credo.core.notices import collected
from credo.mixtures import Components, GaussianMixture, StudentTMixture
from credo.mixtures._mixture import Prior, Problem
from credo.tables import ModelFileError

FAMILIES = [
    GaussianMixture(2, random_state=0),
    GaussianMixture(2, covariance="diag", random_state=0),
    GaussianMixture(2, prior=None, random_state=0),
    StudentTMixture(2, df=1, random_state=0),
    StudentTMixture(2, covariance="diag", random_state=0),
    StudentTMixture(2, random_state=0),
]
each = pytest.mark.parametrize("model", FAMILIES, ids=repr)


def clusters(n=60, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.multivariate_normal([0, 0], [[1.0, 0.6], [0.6, 1.0]], n)
    return np.vstack([first, rng.normal([5.0, 2.0], [0.5, 1.0], (n // 2, 2))])


@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_scikit_learn_finds_the_same_maximum(covariance):
    X = clusters() * [1.0, 1000.0] + [0.0, 1e5]
    ours = GaussianMixture(2, covariance=covariance, prior=None, tol=1e-12, random_state=0).fit(X)
    theirs = Reference(2, covariance_type=covariance, reg_covar=0, tol=1e-10, max_iter=500, random_state=0).fit(X)
    order = np.argsort(-theirs.weights_)
    np.testing.assert_allclose(ours.weights_, theirs.weights_[order], rtol=1e-5)
    np.testing.assert_allclose(ours.means_, theirs.means_[order], rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(ours.covariances_, theirs.covariances_[order], rtol=1e-4)
    assert ours.bic(X) == pytest.approx(theirs.bic(X), abs=1e-4)
    assert ours.aic(X) == pytest.approx(theirs.aic(X), abs=1e-4)
    assert credo.bic(ours) == pytest.approx(theirs.bic(X), abs=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X)[:, order], atol=1e-5)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-5)


def test_one_step_of_em_is_that_of_scikit_learn():
    X = clusters()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    start = Components(np.array([0.3, 0.7]), X[[0, 70]], np.stack([np.eye(2)] * 2), np.full(2, np.inf))
    problem = Problem(X, np.ones(len(X)), 2, Prior.none(), True, np.inf)
    ours = problem.step(problem.at(start)).parts
    theirs = Reference(
        2, weights_init=start.weights, means_init=start.means, precisions_init=np.stack([np.eye(2)] * 2), max_iter=1,
        reg_covar=0,
    )  # fmt: skip
    with pytest.warns(Warning, match="converge"):
        theirs.fit(X)
    np.testing.assert_allclose(ours.means, theirs.means_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.scatters(), theirs.covariances_, rtol=1e-4, atol=1e-6)


def test_densities_of_components_are_those_of_scipy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 3))
    A = rng.normal(size=(2, 3, 3))
    roots = np.linalg.cholesky(A @ A.swapaxes(1, 2) + np.eye(3))
    parts = Components(np.array([0.4, 0.6]), rng.normal(size=(2, 3)), roots, np.array([2.5, np.inf]))
    S = parts.scatters()
    expected = np.column_stack(
        [
            np.log(0.4) + stats.multivariate_t(parts.means[0], S[0], df=2.5).logpdf(X),
            np.log(0.6) + stats.multivariate_normal(parts.means[1], S[1]).logpdf(X),
        ]
    )
    np.testing.assert_allclose(parts.log_terms(X), expected, rtol=1e-10)


def test_one_cauchy_component_is_the_maximum_of_its_likelihood():
    x = np.random.default_rng(1).standard_cauchy(80) * 3 + 10
    model = StudentTMixture(df=1, prior=None, tol=1e-12, random_state=0).fit(x[:, None])
    best = minimize(lambda p: -stats.cauchy.logpdf(x, p[0], np.exp(p[1])).sum(), [np.median(x), 1.0], tol=1e-12)
    assert model.means_[0, 0] == pytest.approx(best.x[0], abs=1e-4)
    assert np.sqrt(model.scale_matrices_[0, 0, 0]) == pytest.approx(np.exp(best.x[1]), rel=1e-4)
    np.testing.assert_allclose(
        model.score_samples([[0.0], [11.0]]), stats.cauchy.logpdf([0.0, 11.0], best.x[0], np.exp(best.x[1])), rtol=1e-5
    )


def test_learned_degrees_of_freedom_maximize_the_posterior():
    x = stats.t(3).rvs(150, random_state=2)
    x = (x - x.mean()) / x.std()
    model = StudentTMixture(prior=None, tol=1e-12, max_iter=3000, random_state=0).fit(x[:, None])

    def loss(p):
        return -stats.t.logpdf(x, np.exp(p[2]), p[0], np.exp(p[1])).sum() - 2 * p[2] + 0.1 * np.exp(p[2])

    best = minimize(loss, [0.0, 0.0, 1.0], tol=1e-12)
    assert model.df_[0] == pytest.approx(np.exp(best.x[2]), rel=1e-3)
    assert model.log_likelihood_ == pytest.approx(
        stats.t.logpdf(x, np.exp(best.x[2]), best.x[0], np.exp(best.x[1])).sum(), abs=1e-3
    )


@each
def test_the_log_posterior_never_decreases(model):
    model = clone(model).set_params(tol=1e-12, max_iter=60, n_restarts=0, n_components=3)
    with collected():
        model.fit(clusters(30))
    assert (np.diff(model.bound_) > -1e-9 * np.abs(model.bound_[0])).all()


@each
def test_a_component_does_not_collapse(model):
    X = np.vstack([clusters(20), [[0.3, 0.3]] * 5])
    model = clone(model).set_params(n_components=5).fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    if model.prior:
        assert model.score_samples(X).max() < 5


@each
def test_weights_are_copies_and_the_order_does_not_matter(model):
    X = clusters(20)
    weight = np.resize([1, 0, 2, 3], len(X))
    one = clone(model).fit(X, sample_weight=weight)
    other = clone(model).fit(np.repeat(X, weight, axis=0)[::-1])
    np.testing.assert_allclose(one.score_samples(X), other.score_samples(X), rtol=1e-9)
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, rel=1e-9)


@each
def test_units_of_the_columns_do_not_matter(model):
    X = clusters(20)
    plain = clone(model).fit(X)
    for scale in (1e-69, 1e-8, 1e8, 1e69):
        other = clone(model).fit(X * scale + 3 * scale)
        np.testing.assert_allclose(other.score_samples(X * scale + 3 * scale) + 2 * np.log(scale),
                                   plain.score_samples(X), rtol=1e-5)  # fmt: skip
        assert other.log_evidence_ + 2 * np.log(scale) * len(X) == pytest.approx(plain.log_evidence_, rel=1e-5)


@each
def test_draws_have_the_density(model):
    model = clone(model).fit(clusters())
    draws, labels = model.sample(4000, random_state=0)
    assert np.bincount(labels)[0] / 4000 == pytest.approx(model.weights_[0], abs=0.04)
    median = np.median(draws[labels == 0], axis=0)
    np.testing.assert_allclose(median, model.means_[0], atol=0.15)
    again = clone(model).fit(draws[:1000])
    assert again.score(draws[1000:]) == pytest.approx(model.score(draws[1000:]), abs=0.05)


def test_bic_selects_the_number_of_components():
    model = GaussianMixture("bic", max_components=4, n_restarts=2, random_state=0).fit(clusters())
    assert len(model.weights_) == 2 and model.evidence_base_.endswith("n_components: maximized")


@each
def test_files_bring_it_back_bit_for_bit(model, tmp_path):
    frame = pd.DataFrame(clusters(20), columns=["a", "b"])
    model = clone(model).fit(frame)
    credo.save(model, tmp_path / "model.credo")
    back = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(back.score_samples(frame), model.score_samples(frame))
    assert str(back.summary()) == str(model.summary()) and "center 0: b" in str(back.summary())
    model.components_ = replace(model.components_, weights=model.components_.weights / 2)
    with pytest.raises(ModelFileError, match="sum to one"):
        credo.save(model, tmp_path / "model.credo")


@parametrize_with_checks([GaussianMixture(random_state=0), StudentTMixture(random_state=0)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ([[1.0, 2.0]], {}, "needs at least two distinct rows"),
        ([[1.0, 2.0]] * 5, {}, "needs at least two distinct rows"),
        ([[1.0, 2.0], [1.0, 3.0]], {}, "column x0 of X is constant"),
        ([[1.0, np.nan], [1.0, 3.0]], {}, "NaN"),
        ([[0.0], [0.0], [1.0]], {"n_components": 3}, "n_components=3 is more than the 2 distinct rows"),
        ([[0.0], [1.0]], {"n_components": 0}, "n_components must be a whole number"),
        ([[0.0], [1.0]], {"n_components": "aic"}, "n_components must be a whole number"),
        ([[0.0], [1.0]], {"covariance": "tied"}, "covariance must be one of 'full', 'diag'"),
        ([[0.0], [1.0]], {"prior": "strong"}, "prior must be one of 'weak', None"),
        ([[0.0], [1.0]], {"n_restarts": -1}, "n_restarts must be"),
        ([[0.0], [1.0]], {"tol": 0}, "tol must be"),
    ],
)
def test_bad_input_is_refused_in_words(X, options, message):
    for kind in (GaussianMixture, StudentTMixture):
        with pytest.raises(ValueError, match=message):
            kind(**options).fit(X)


def test_what_is_refused_of_a_student_t_and_of_weights():
    x = [[0.0], [1.0], [3.0]]
    for df, message in ((0.0, "df must be a positive"), ("guess", "df must be one of 'learn'")):
        with pytest.raises(ValueError, match=message):
            StudentTMixture(df=df).fit(x)
    with pytest.raises(ValueError, match="zero"):
        GaussianMixture().fit(x, sample_weight=np.zeros(3))
    with pytest.raises(NotFittedError):
        GaussianMixture().sample()
    assert np.isfinite(GaussianMixture(2, random_state=0).fit(x).score_samples(x)).all()


def test_wide_and_collinear_tables_have_a_density():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 30))
    X[:, 1] = X[:, 0]
    for kind in (GaussianMixture, StudentTMixture):
        assert np.isfinite(kind(2, n_restarts=0).fit(X).log_evidence_)


@each
def test_rows_whose_squared_distance_overflows(model):
    x = np.random.default_rng(0).normal(size=(20, 2))
    fitted = clone(model).fit(x)
    far = np.array([[1e200, -1e200], [1e308, 1e308], [-1e180, 0.0]])
    np.testing.assert_allclose(fitted.predict_proba(far).sum(axis=1), 1.0)
    density = fitted.score_samples(far)
    assert np.isfinite(density).all() and (density < fitted.score_samples(1e3 * x).min()).all()
