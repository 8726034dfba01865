"""What docs/coming-from.md says about scikit-learn: same numbers where it says so, and the differences that it names.

The rows about GPyTorch, statsmodels and R were checked in the same way; these libraries aren't needed for tests.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeCV,
)
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import PolynomialFeatures

import credo

PAGE = (Path(__file__).parents[1] / "docs" / "coming-from.md").read_text(encoding="utf-8")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)) * [1.0, 2.0, 0.5]
Y = 1.0 + X @ [1.0, -0.5, 0.0] + 0.5 * RNG.normal(size=80)
LABELS = (Y > 1.0).astype(int)
SCALES, VARIANCE, NOISE = [0.8, 1.0, 2.0], 1.3, 0.2


@pytest.mark.parametrize(
    ("theirs", "ours", "y"),
    [
        (LinearRegression(), credo.LinearRegression(), Y),
        (Ridge(alpha=3.0), credo.Ridge(alpha=3.0), Y),
        (Lasso(alpha=0.1, tol=1e-10), credo.Lasso(alpha=0.1), Y),
        (ElasticNet(alpha=0.1, l1_ratio=0.3, tol=1e-10), credo.ElasticNet(alpha=0.1, l1_ratio=0.3), Y),
        (LogisticRegression(C=0.1, tol=1e-10), credo.LogisticRegression(alpha=10.0), LABELS),
    ],
    ids=lambda value: type(value).__name__,
)
def test_linear_models_have_the_same_objective(theirs, ours, y):
    theirs, ours = theirs.fit(X, y), ours.fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)


@pytest.mark.parametrize(("family", "theirs"), [("poisson", PoissonRegressor), ("gamma", GammaRegressor)])
def test_counts_and_positive_targets_have_the_same_coefficients(family, theirs):
    time = RNG.uniform(0.5, 3.0, size=80)
    mean = time * np.exp(Y / 3)
    y = RNG.poisson(mean).astype(float) if family == "poisson" else RNG.gamma(2.0, mean / 2)
    terms = [credo.additive.linear(j) for j in range(3)]
    ours = credo.AdditiveRegressor(terms, family=family, hyperparameters="optimize", reml=False)
    ours.fit(X, y, exposure=time)
    # The same likelihood: counts y of times t are rates y/t of weight t, and a gamma distribution has a free scale.
    weight = time if family == "poisson" else None
    theirs = theirs(alpha=0, solver="newton-cholesky", tol=1e-10).fit(X, y / time, sample_weight=weight)
    found = ours.summary().columns["estimate"][:4]
    np.testing.assert_allclose(found, [theirs.intercept_, *theirs.coef_], atol=1e-6)


def test_penalties_by_leave_one_out_agree():
    alphas = [0.1, 1.0, 10.0, 100.0]
    assert credo.Ridge(alpha="loo", alphas=alphas).fit(X, Y).alpha_ == RidgeCV(alphas=alphas).fit(X, Y).alpha_


def test_bayesian_ridge_takes_the_intercept_for_known():
    """Its noise variance divides by n where the integrated intercept takes one degree of freedom."""
    none = dict.fromkeys(["alpha_1", "alpha_2", "lambda_1", "lambda_2"], 0.0)
    theirs = BayesianRidge(tol=1e-8, max_iter=1000, **none).fit(X, Y)
    ours = credo.BayesianLinearRegression(prior_precision="evidence", noise_precision="evidence").fit(X, Y)
    np.testing.assert_allclose(ours.noise_precision_ / theirs.alpha_, 79 / 80, rtol=1e-3)
    np.testing.assert_allclose(ours.prior_precision_, theirs.lambda_, rtol=1e-3)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


def test_kernel_ridge_has_a_length_scale_for_gamma():
    theirs = KernelRidge(alpha=0.3, kernel="rbf", gamma=1 / (2 * 1.7**2)).fit(X, Y)
    np.testing.assert_allclose(credo.KernelRidge(credo.RBF(1.7), alpha=0.3).fit(X, Y).predict(X), theirs.predict(X))


@pytest.fixture(scope="module")
def process():
    kernel = credo.RBF(SCALES, variance=VARIANCE)
    return credo.GPRegressor(
        kernel, noise=NOISE, mean="zero", standardize=False, hyperparameters="fixed"
    ).fit(X, Y)  # fmt: skip


def test_noise_is_part_of_the_model_and_not_of_the_kernel(process):
    kernel = ConstantKernel(VARIANCE) * RBF(SCALES)
    theirs = GaussianProcessRegressor(kernel + WhiteKernel(NOISE), optimizer=None).fit(X, Y)
    assert process.log_evidence_ == pytest.approx(theirs.log_marginal_likelihood_value_)
    np.testing.assert_allclose(process.predict(X + 0.1, return_std=True), theirs.predict(X + 0.1, return_std=True))
    # Noise that is given by alpha isn't in their standard deviations.
    latent = GaussianProcessRegressor(kernel, alpha=NOISE, optimizer=None).fit(X, Y).predict(X, return_std=True)
    np.testing.assert_allclose(process.predict_dist(X, latent=True).std, latent[1])


def test_classifiers_by_laplace_have_the_same_evidence():
    theirs = GaussianProcessClassifier(ConstantKernel(VARIANCE) * RBF(SCALES), optimizer=None).fit(X, LABELS)
    ours = credo.GPClassifier(
        credo.RBF(SCALES, variance=VARIANCE), inference="laplace", link="logit", hyperparameters="fixed"
    ).fit(X, LABELS)
    assert ours.log_evidence_ == pytest.approx(theirs.log_marginal_likelihood_value_)
    # They approximate the average over the logistic function by five error functions.
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


def test_mixtures_without_a_prior_have_the_same_likelihood():
    theirs = GaussianMixture(2, random_state=0, tol=1e-9, reg_covar=0, max_iter=1000, n_init=5).fit(X[:, :2])
    ours = credo.GaussianMixture(2, prior=None, random_state=0).fit(X[:, :2])
    assert ours.score_samples(X[:, :2]).mean() == pytest.approx(theirs.score(X[:, :2]), abs=1e-4)


def test_features_differ_as_stated():
    theirs = PolynomialFeatures(2, include_bias=False).fit(X)
    ours = credo.Polynomial(2).fit(X)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    texts = ["a quick fox", "I am a dog"]
    words = {name.removeprefix("word=") for name in credo.features.Words().fit(texts).get_feature_names_out()}
    assert words - set(CountVectorizer(binary=True).fit(texts).vocabulary_) == {"a", "i"}


def test_the_names_of_the_page_exist():
    ours = " ".join(re.split(r"(?<!\\)[|]", line)[2] for line in PAGE.splitlines() if line.startswith("| "))
    named = {name for code in re.findall("`([^`]+)`", ours) for name in re.findall(r"\b[A-Z]\w{2,}", code)}
    assert len(named) > 20 and named <= {*credo.__all__, *credo.features.__all__, "True", "False"}
