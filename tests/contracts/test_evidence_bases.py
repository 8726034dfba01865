"""Evidences of one base agree where models do: the empty model, and the same model in two families."""

from functools import cache

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import dblquad, quad
from scipy.optimize import minimize_scalar

from credo.core.estimator import FitWarning
from credo.gp import GPClassifier, GPRegressor
from credo.kernels import RBF, Constant, Linear
from credo.linear import BayesianLinearRegression, BayesianLogisticRegression
from credo.sparse import SpikeSlabClassifier, SpikeSlabRegressor

Y = np.array([2.3, 1.1, 0.4, 1.9, 3.2, 2.0, 1.4, 0.9])
EMPTY = np.zeros((len(Y), 1))
CENTER, SPREAD = Y.mean(), Y.std()

FLAT = "intercept: flat prior"
JEFFREYS = f"{FLAT}; noise variance: prior 1/σ²"
MAXIMISED = f"{FLAT}; noise variance: maximized"


def likelihood(mu, log_variance):
    return np.exp(stats.norm.logpdf(Y, mu, np.exp(log_variance / 2)).sum())


def over_the_intercept(log_variance):
    """∫ p(y | μ, σ²) dμ."""
    reach = 12 * np.exp(log_variance / 2)
    return quad(likelihood, CENTER - reach, CENTER + reach, args=(log_variance,), points=[CENTER])[0]


@cache
def maximised_noise():
    top = minimize_scalar(lambda t: -over_the_intercept(t), bounds=(-4, 4), method="bounded", options={"xatol": 1e-9})
    return np.log(-top.fun)


@cache
def integrated_noise():
    """∫∫ p(y | μ, σ²) dμ dσ²/σ², with μ = ȳ + σz."""
    mass = dblquad(
        lambda z, t: np.exp(t / 2) * likelihood(CENTER + np.exp(t / 2) * z, t), -7, 9, -12, 12, epsabs=0, epsrel=1e-8
    )[0]
    return np.log(mass)


known = {"noise_precision": 2.0}
maximum = {"prior_precision": "evidence", "noise_precision": "evidence"}
improper = {"noise_precision": "conjugate", "noise_prior": (0, 0)}
fixed = {"hyperparameters": "fixed", "standardize": False, "noise": 0.5}


@pytest.mark.parametrize(
    ("model", "base", "oracle"),
    [
        (BayesianLinearRegression(1.0, **known), FLAT, lambda: np.log(over_the_intercept(np.log(0.5)))),
        (GPRegressor(RBF(), **fixed), FLAT, lambda: np.log(over_the_intercept(np.log(0.5)))),
        (
            SpikeSlabRegressor(slab="normal", noise_variance=0.5),
            FLAT,
            lambda: np.log(over_the_intercept(np.log(0.5))),
        ),
        (BayesianLinearRegression(1.0, **improper), JEFFREYS, integrated_noise),
        *[(SpikeSlabRegressor(slab=slab), JEFFREYS, integrated_noise) for slab in ("bic", "g", "zellner-siow")],
        (SpikeSlabRegressor(slab="normal"), JEFFREYS, integrated_noise),
        (BayesianLinearRegression(), JEFFREYS, integrated_noise),
        (BayesianLinearRegression(1.0), f"{FLAT}; noise variance: prior 1/(σ² + explained variance)", integrated_noise),
        (BayesianLinearRegression("evidence"), f"{JEFFREYS}; hyperparameters: maximized", integrated_noise),
        (BayesianLinearRegression(1.0, noise_precision="evidence"), MAXIMISED, maximised_noise),
        (GPRegressor(RBF().fix(), standardize=False, hyperpriors=False), MAXIMISED, maximised_noise),
        (BayesianLinearRegression(**maximum), f"{MAXIMISED}; hyperparameters: maximized", maximised_noise),
        (GPRegressor(hyperpriors=False), f"{MAXIMISED}; hyperparameters: maximized", maximised_noise),
    ],
    ids=lambda value: None if callable(value) else str(value),
)
@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
def test_the_empty_model_has_one_evidence_in_each_base(model, base, oracle):
    model.fit(EMPTY, Y)
    assert model.evidence_base_ == base
    assert model.log_evidence_ == pytest.approx(oracle(), abs=2e-6)


def table(n=14, d=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, 1 + X[:, 0] + rng.normal(size=n)


@pytest.mark.parametrize("noise_variance", [None, 0.6])
def test_all_columns_in_is_the_bayesian_linear_model(noise_variance):
    X, y = table()
    slab = SpikeSlabRegressor(slab="normal", slab_variance=0.4, noise_variance=noise_variance).fit(X, y)
    options = improper if noise_variance is None else {"noise_precision": 1 / noise_variance}
    line = BayesianLinearRegression(1 / 0.4, **options).fit(X, y)
    assert slab.evidence_base_ == line.evidence_base_
    score = slab.log_scores([[0, 1, 2]])[0] - np.log(0.5**3)
    assert line.log_evidence_ == pytest.approx(score, rel=1e-10)


@pytest.mark.parametrize("intercept", [True, False])
def test_predictives_add_up_to_the_evidence_under_an_improper_prior(intercept):
    X, y = table()
    make = lambda: BayesianLinearRegression(2.0, **improper, fit_intercept=intercept)  # noqa: E731
    stream = make().partial_fit(X[:2], y[:2])
    total = stream.log_evidence_
    for row, target in zip(X[2:], y[2:], strict=True):
        total += stream.predict_dist(row[None]).log_prob([target])[0]
        stream.partial_fit(row[None], [target])
    assert total == pytest.approx(make().fit(X, y).log_evidence_, rel=1e-10)


def test_an_integrated_ratio_is_an_average_over_given_ones():
    """The evidence of the default, and of all columns under the spike-and-slab prior, share a base."""
    X, y = table()
    c = X.var(axis=0).sum()
    nodes, weights = np.polynomial.legendre.leggauss(30)
    share = (1 + nodes) / 2  # R², uniform
    ratios = c * (1 - share) / share
    logs = [BayesianLinearRegression(ratio, **improper).fit(X, y).log_evidence_ for ratio in ratios]
    model = BayesianLinearRegression().fit(X, y)
    assert model.log_evidence_ == pytest.approx(np.log(weights / 2 @ np.exp(logs)), abs=1e-6)
    assert model.evidence_base_ == SpikeSlabRegressor().fit(X, y).evidence_base_


def test_one_row_says_nothing_of_the_noise_under_an_improper_prior():
    stream = BayesianLinearRegression(2.0, **improper).partial_fit([[1.0]], [3.0])
    assert not stream.result_.converged and np.isfinite(stream.predict_dist([[1.0]]).std).all()
    with pytest.raises(ValueError, match="noise_prior rate must be"):
        BayesianLinearRegression(noise_precision="conjugate", noise_prior=(1.0, 0.0)).fit(*table())


def test_an_improper_prior_does_not_hide_that_weights_reproduce_every_target():
    X = np.random.default_rng(0).normal(size=(20, 50))
    y = X @ np.ones(50)
    with pytest.warns(FitWarning, match=r"fits every target exactly.*or a noise_prior above zero"):
        BayesianLinearRegression("evidence", **improper).fit(X, y)


SCALED = "kernel: scaled by the variance of y"


@pytest.mark.parametrize(
    ("options", "base"),
    [
        ({"mean": "zero", "standardize": False, "hyperparameters": "fixed"}, "proper priors"),
        ({"mean": "zero", "standardize": False, "hyperparameters": "fixed", "noise": 0.1}, "proper priors"),
        (
            {"mean": "zero", "hyperparameters": "fixed"},
            f"intercept: mean of y; noise variance: scaled by the variance of y; {SCALED}",
        ),
        ({"mean": "zero", "hyperparameters": "fixed", "noise": 0.1}, f"intercept: mean of y; {SCALED}"),
        (
            {"mean": "linear", "noise": 0.1, "hyperpriors": False},
            f"{FLAT}; slopes: flat prior (x0, x1, x2, standardized); hyperparameters: maximized",
        ),
        ({"kernel": RBF().fix("variance"), "noise": 0.1}, f"{FLAT}; {SCALED}; hyperparameters: maximized"),
        ({"kernel": RBF().fix("variance") * Constant(2.0), "noise": 0.1}, f"{FLAT}; hyperparameters: maximized"),
        (
            {"kernel": RBF() + RBF().fix("variance"), "noise": 0.1, "n_restarts": 0},
            f"{FLAT}; {SCALED}; hyperparameters: maximized",
        ),
        ({"kernel": Linear().exp(), "noise": 0.1}, f"{FLAT}; {SCALED}; hyperparameters: maximized"),
        (
            {"hyperparameters": "integrate", "noise": 0.1},
            f"{FLAT}; hyperparameters: integrated, priors scaled by the variance of y",
        ),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
def test_a_process_says_what_it_took_from_y(options, base):
    settings = {"hyperparameters": "optimize", "n_restarts": 1, "random_state": 0} | options
    assert GPRegressor(**settings).fit(*table()).evidence_base_ == base


def test_a_fixed_process_without_standardising_is_a_plain_density():
    """Scaling y and the model together changes a density by its Jacobian alone; a kernel that follows y hides that."""
    X, y = table()
    models = [
        [GPRegressor(RBF(), hyperparameters="fixed", standardize=s).fit(X, c * y) for c in (1.0, 3.0)]
        for s in (False, True)
    ]
    plain, follows = ([model.log_evidence_ for model in pair] for pair in models)
    assert follows[0] - follows[1] == pytest.approx(13 * np.log(3.0))
    assert abs(plain[0] - plain[1] - 13 * np.log(3.0)) > 1
    # Their difference depends on the unit of y and is no Bayes factor, so they must not share a base.
    assert abs((plain[0] - follows[0]) - (plain[1] - follows[1])) > 1
    assert models[0][0].evidence_base_ == FLAT
    assert models[1][0].evidence_base_ == f"{FLAT}; noise variance: scaled by the variance of y; {SCALED}"


@pytest.mark.parametrize(
    ("model", "base"),
    [
        (BayesianLogisticRegression(), "proper priors"),
        (SpikeSlabClassifier(), "proper priors"),
        (GPClassifier(hyperparameters="fixed"), "proper priors"),
        (GPClassifier(RBF().fix()), "proper priors"),
        (GPClassifier(n_restarts=0), "hyperparameters: integrated"),
        (GPClassifier("rbf", hyperparameters="optimize", n_restarts=0), "hyperparameters: maximized"),
        (BayesianLogisticRegression(1.0), "proper priors"),
        (BayesianLogisticRegression("evidence"), "hyperparameters: maximized"),
        (BayesianLogisticRegression(class_weight="balanced"), "class weights: balanced"),
        (SpikeSlabClassifier(class_weight={0: 1.0, 1: 2.0}), "class weights: {0: 1.0, 1: 2.0}"),
    ],
    ids=str,
)
def test_classifiers_have_proper_priors(model, base):
    X, y = table(30)
    assert model.fit(X, (y > 1).astype(int)).evidence_base_ == base


def test_more_bases():
    X, y = table()
    bases = {
        "noise prior: scaled by the variance of y": BayesianLinearRegression(
            1.0, noise_precision="conjugate", fit_intercept=False
        ),
        "proper priors": BayesianLinearRegression(
            1.0, noise_precision="conjugate", noise_prior=(1.0, 1.0), fit_intercept=False
        ),
        "hyperparameters: maximized": BayesianLinearRegression("evidence", noise_precision=1.0, fit_intercept=False),
        FLAT: BayesianLinearRegression(noise_precision=1.0),
    }
    for base, model in bases.items():
        assert model.fit(X, y).evidence_base_ == base
