"""Simulation-based calibration of the posteriors (Talts, Betancourt, Simpson, Vehtari & Gelman 2018).

A parameter is drawn from the prior, data are drawn given the parameter, and a model with that prior is fitted to them.
If its posterior is right, the posterior distribution function at the drawn parameter (the PIT) is uniform. That also
holds for tables that were selected by their data alone, such as those with both classes; and under the flat prior of an
intercept and the prior 1/σ² for any fixed intercept and σ, because those priors are invariant. A PIT inside a jump of
the distribution function, as of an inclusion indicator, is drawn uniformly from the jump.

Not here: `slab="bic"`, maximised precisions, prior and shape of trees and `noise="heteroscedastic"`, which have no
prior that the data could be drawn from; and mixtures of experts, whose gate and experts are at a maximum.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from scipy.special import expit, ndtr, ndtri
from scipy.stats import chi2, chisquare, f_oneway
from scipy.stats import t as student_t

from credo.additive import AdditiveClassifier, AdditiveRegressor, Term, random, smooth
from credo.additive.terms import TrainingColumns, blocks_of
from credo.core.params import LogNormal
from credo.gp import GPClassifier, GPRegressor
from credo.kernels import RBF
from credo.linear import BayesianLinearRegression, BayesianLogisticRegression, LinearRegression
from credo.sparse import SpikeSlabClassifier, SpikeSlabRegressor
from credo.trees._tree import DirichletPrior, NormalPrior

N_BINS = 10
PITs = Mapping[str, float]


@dataclass(frozen=True)
class Case:
    """`draw` returns the PITs of one simulated table, NaN where one has none, or None where another is to be drawn.

    A calibrated posterior would fail with probability `least_p` for each quantity; the seed is fixed.
    """

    draw: Callable[[np.random.Generator], PITs | None]
    tables: int
    least_p: float = 1e-3
    seed: int = 0

    def pits(self) -> dict[str, np.ndarray]:
        rng, found = np.random.default_rng(self.seed), []
        while len(found) < self.tables:
            one = self.draw(rng)
            found += [] if one is None else [one]
        table = {name: np.array([one[name] for one in found]) for name in found[0]}
        return {name: pits[~np.isnan(pits)] for name, pits in table.items()}


def p_value(pits: np.ndarray) -> float:
    """Of uniformity: χ² of the counts in bins, or for few tables of the sum of squared normal scores (Cook, Gelman &
    Rubin 2006), which detects a wrong spread soonest."""
    if len(pits) >= 100:
        return float(chisquare(np.histogram(pits, bins=N_BINS, range=(0.0, 1.0))[0]).pvalue)
    squares = float(np.square(ndtri(pits)).sum())
    return 2 * min(chi2.cdf(squares, len(pits)), chi2.sf(squares, len(pits)))


def of_indicator(happened: bool, probability: float, rng: np.random.Generator) -> float:
    """The randomized PIT of a 0/1 quantity."""
    return 1.0 - probability * rng.random() if happened else (1.0 - probability) * rng.random()


def of_draws(value: float, draws: np.ndarray, rng: np.random.Generator) -> float:
    """The rank among posterior draws, as a number between 0 and 1; a random one among equal draws."""
    return (np.sum(draws < value) + (np.sum(draws == value) + 1) * rng.random()) / (len(draws) + 1)


def least_squares(rng: np.random.Generator) -> PITs:
    """Flat coefficients and 1/σ²."""
    X, x, w = rng.normal(size=(7, 3)), rng.normal(size=3), np.array([1.0, -2.0, 0.5])
    y, new = X @ w + 3.0 + 0.7 * rng.normal(size=7), x @ w + 3.0
    model = LinearRegression().fit(X, y)
    latent, observed = model.predict_dist([x], latent=True), model.predict_dist([x])
    return {"f": latent.cdf([new])[0], "y": observed.cdf([new + 0.7 * rng.normal()])[0]}


def bayes_linear(rng: np.random.Generator) -> PITs:
    X, x, alpha, beta = rng.normal(size=(6, 3)), rng.normal(size=3), 2.0, 4.0
    w = rng.normal(size=3) / np.sqrt(alpha)
    y = X @ w + 3.0 + rng.normal(size=6) / np.sqrt(beta)
    model = BayesianLinearRegression(alpha, noise_precision=beta).fit(X, y)
    new = x @ w + 3.0 + rng.normal() / np.sqrt(beta)
    return {
        "coefficient": ndtr((w[0] - model.coef_[0]) / model.coef_std_[0]),
        "intercept": ndtr((3.0 - model.intercept_) / model.intercept_std_),
        "y": model.predict_dist([x]).cdf([new])[0],
        "draws": of_draws(w[1], model.sample_coefficients(99, random_state=rng)[0][:, 1], rng),
    }


def bayes_linear_wide(rng: np.random.Generator) -> PITs:
    """Fewer rows than columns: solved in the dual."""
    X, x = rng.normal(size=(4, 9)), rng.normal(size=9)
    w = rng.normal(size=9)
    y = X @ w + rng.normal(size=4)
    model = BayesianLinearRegression(1.0, noise_precision=1.0, fit_intercept=False).fit(X, y)
    return {
        "coefficient": ndtr((w[0] - model.coef_[0]) / model.coef_std_[0]),
        "f": model.predict_dist([x], latent=True).cdf([x @ w])[0],
    }


def bayes_linear_conjugate(rng: np.random.Generator) -> PITs:
    X, x, alpha, shape, rate = rng.normal(size=(5, 3)), rng.normal(size=3), 1.5, 3.0, 2.0
    beta = rng.gamma(shape) / rate
    w = rng.normal(size=3) / np.sqrt(alpha * beta)
    y = X @ w + rng.normal(size=5) / np.sqrt(beta)
    model = BayesianLinearRegression(
        alpha, noise_precision="conjugate", noise_prior=(shape, rate), fit_intercept=False
    ).fit(X, y)
    new = x @ w + rng.normal() / np.sqrt(beta)
    return {
        "coefficient": model.predict_dist([[1.0, 0.0, 0.0]], latent=True).cdf([w[0]])[0],
        "y": model.predict_dist([x]).cdf([new])[0],
        "draws": of_draws(w[1], model.sample_coefficients(99, random_state=rng)[0][:, 1], rng),
    }


def process(rng: np.random.Generator, *, mean: str = "zero", level: float = 0.0) -> PITs:
    """Known hyperparameters: a function value and a new observation."""
    X, kernel, noise = rng.uniform(-2.0, 2.0, size=(9, 2)), RBF([1.0, 2.0], variance=1.5), 0.2
    f = level + kernel.sample(X, 1, random_state=rng)[0]
    y = f + np.sqrt(noise) * rng.normal(size=9)
    model = GPRegressor(kernel, mean=mean, noise=noise, standardize=False, hyperparameters="fixed")
    model.fit(X[:8], y[:8])
    return {
        "f": model.predict_dist(X[8:], latent=True).cdf(f[8:])[0],
        "y": model.predict_dist(X[8:]).cdf(y[8:])[0],
        "draws": of_draws(f[8], model.sample(X[8:], 99, random_state=rng)[:, 0], rng),
    }


def process_constant(rng: np.random.Generator) -> PITs:
    return process(rng, mean="constant", level=5.0)


def hyper_process(rng: np.random.Generator, hyperparameters: str, n: int) -> tuple[GPRegressor, dict[str, float], PITs]:
    """A table from the priors of length scale and variance, and the PIT of a new observation."""
    drawn = {"lengthscale": rng.lognormal(0.0, 0.7), "variance": rng.lognormal(0.0, 0.7)}
    X, noise = rng.uniform(-2.0, 2.0, size=(n + 1, 1)), 0.1
    f = RBF(**drawn).sample(X, 1, random_state=rng)[0]
    y = f + np.sqrt(noise) * rng.normal(size=n + 1)
    prior = LogNormal(1.0, 0.7)
    kernel = RBF().with_prior("lengthscale", prior).with_prior("variance", prior)
    model = GPRegressor(
        kernel, mean="zero", noise=noise, standardize=False, hyperparameters=hyperparameters, n_restarts=0, n_draws=100,
        random_state=rng,
    ).fit(X[:n], y[:n])  # fmt: skip
    return model, drawn, {"y": model.predict_dist(X[n:]).cdf(y[n:])[0]}


def sampled_process(rng: np.random.Generator) -> PITs:
    model, drawn, pits = hyper_process(rng, "sample", 6)
    assert model.draws_ is not None
    draws = dict(zip(model.draws_.names, model.draws_.values.reshape(-1, 2).T, strict=True))
    return {**pits, **{name: of_draws(drawn[name], draws[f"kernel.{name}"], rng) for name in drawn}}


def integrated_process(rng: np.random.Generator) -> PITs:
    return hyper_process(rng, "integrate", 10)[2]


def labelled_process(rng: np.random.Generator, link: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, RBF] | None:
    """Rows, latent values and labels of a process classifier; None where all labels are equal."""
    X, kernel = rng.uniform(-2.0, 2.0, size=(12, 1)), RBF(1.0, variance=2.0)
    f = kernel.sample(X, 1, random_state=rng)[0]
    y = (rng.random(12) < (ndtr(f) if link == "probit" else expit(f))).astype(int)
    return None if len(set(y)) < 2 else (X, f, y, kernel)


def sampled_classifier(rng: np.random.Generator, link: str) -> PITs | None:
    table = labelled_process(rng, link)
    if table is None:
        return None
    X, f, y, kernel = table
    model = GPClassifier(
        kernel, inference="mcmc", link=link, hyperparameters="fixed", n_draws=80, random_state=rng
    ).fit(X, y)
    # The rows that the model keeps may be in another order.
    place = int(np.flatnonzero(model.X_train_[:, 0] == X[0])[0])
    return {"f": of_draws(f[0], model.predictor_.draws[:, place], rng)}


def normal_classifier(rng: np.random.Generator, inference: str) -> PITs | None:
    table = labelled_process(rng, "probit")
    if table is None:
        return None
    X, f, y, kernel = table
    model = GPClassifier(kernel, inference=inference, hyperparameters="fixed").fit(X, y)
    mean, std = model.latent(X[:1])
    return {"f": ndtr((f[0] - mean[0]) / std[0])}


def logistic(rng: np.random.Generator) -> PITs | None:
    """The intercept's prior is of the log odds at the mean row."""
    X = rng.normal(size=(150, 2))
    w, level = rng.normal(size=2), rng.normal()
    intercept = level - X.mean(axis=0) @ w
    y = (rng.random(150) < expit(X @ w + intercept)).astype(int)
    if len(set(y)) < 2:
        return None
    model = BayesianLogisticRegression(1.0, intercept_precision=1.0).fit(X, y)
    return {
        "coefficient": ndtr((w[0] - model.coef_[0, 0]) / model.coef_std_[0, 0]),
        "intercept": ndtr((intercept - model.intercept_[0]) / model.intercept_std_[0]),
        "draws": of_draws(w[1], model.sample_coefficients(99, random_state=rng)[0][:, 0, 1], rng),
    }


def additive(rng: np.random.Generator, family: str, term: Term) -> PITs | None:
    """Variances of the line and of the curve, or of units, from their prior; the intercept is flat."""
    n = 200
    x = rng.uniform(size=n + 1) if term.kind == "smooth" else np.append(np.arange(n) % 20, 0.0)
    X, noise = x[:, None], 0.5
    spread = 6.0 if family == "gaussian" else 2.0
    f = np.zeros(n + 1)
    for block in blocks_of([term], [(0,)], TrainingColumns(X[:n], ["number"])):
        Z = block(X) - block(X[:n]).mean(axis=0)
        size = np.sqrt(np.square(Z[:n]).mean(axis=0).sum())
        deviation = np.exp(0.5 * spread * rng.normal()) * (noise if family == "gaussian" else 1.0)
        f += Z @ rng.normal(size=Z.shape[1]) * deviation / size
    if family == "gaussian":
        y = 1.0 + f + noise * rng.normal(size=n + 1)
        # If units hardly differ, their effects are zero or not, which no normal distribution is.
        if term.kind == "random" and f_oneway(*(y[:n][x[:n] == unit] for unit in range(20))).statistic < 2:
            return None
        model = AdditiveRegressor([term], family=family).fit(X[:n], y[:n])
        pits = {"y": model.predict_dist(X[n:]).cdf(y[n:])[0]}
    elif family == "poisson":
        y = rng.poisson(np.exp(np.minimum(1.0 + f, 30.0)))
        if y.max() > 10_000:
            return None
        model = AdditiveRegressor([term], family=family).fit(X[:n], y[:n])
        below, at = model.predict_dist(X[n:]).cdf([y[n] - 1.0])[0], model.predict_dist(X[n:]).cdf([y[n]])[0]
        pits = {"y": below + rng.random() * (at - below)}
    else:
        y = rng.random(n + 1) < expit(f)
        if len(set(y[:n])) < 2:
            return None
        model = AdditiveClassifier([term]).fit(X[:n], y[:n])
        pits = {"y": of_indicator(bool(y[n]), float(model.predict_proba(X[n:])[0, 1]), rng)}
    mean, cov = model._contribution(0, X[n:])
    score = (f[n] - mean[0]) / np.sqrt(cov[0, 0])
    return {"term": float(student_t.cdf(score, model.posterior_.df)), **pits}


def of_subset(model: SpikeSlabRegressor | SpikeSlabClassifier, beta: np.ndarray, rng: np.random.Generator) -> PITs:
    """The inclusion of one column, and the coefficient of another, also given that it isn't zero."""
    found, value = model.coefficient(1), beta[1]
    slab = 0.0 if found.slab is None else float(found.slab.cdf([value])[0])
    jump = rng.random() if value == 0 else float(value > 0)
    return {
        "inclusion": of_indicator(bool(beta[0]), float(model.inclusion_probabilities_[0]), rng),
        "coefficient": (1.0 - found.spike) * slab + found.spike * jump,
        "slab": slab if value else np.nan,
        "draws": of_draws(beta[2], model.sample_coefficients(99, random_state=rng)[0][:, 2], rng),
    }


def subset_regression(rng: np.random.Generator, slab: str, search: str = "enumerate") -> PITs:
    """Columns are in with probability 0.4; the intercept is flat, and 1/σ² the prior where σ isn't known."""
    n, d, sigma = 12, 3, 0.7
    X, inside = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)), rng.random(d) < 0.4
    columns = X[:, inside] - X[:, inside].mean(axis=0)
    k, options = columns.shape[1], {}
    if slab == "known":
        w, options = rng.normal(size=k), {"slab": "normal", "slab_variance": 1.0, "noise_variance": sigma**2}
    elif slab == "normal":
        w, options = 1.5 * sigma * rng.normal(size=k), {"slab": "normal", "slab_variance": 1.5**2}
    else:
        g = float(n) if slab == "g" else (n / 2) / rng.gamma(0.5)
        factor = np.linalg.cholesky(columns.T @ columns) if k else np.empty((0, 0))
        w, options = np.sqrt(g) * sigma * np.linalg.solve(factor.T, rng.normal(size=k)), {"slab": slab}
    beta = np.zeros(d)
    beta[inside] = w
    y = X @ beta + 2.0 + sigma * rng.normal(size=n)
    if search == "gibbs":
        options |= {"n_draws": 1000, "n_chains": 2, "random_state": rng}
    model = SpikeSlabRegressor(0.4, search=search, **options).fit(X, y)
    return of_subset(model, beta, rng)


def subset_classification(rng: np.random.Generator, search: str) -> PITs | None:
    """Weights are of standardised columns. Tables where one class is rare are left out."""
    X, inside = rng.normal(size=(120, 3)), rng.random(3) < 0.4
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    w = np.where(inside, rng.normal(size=3), 0.0)
    y = (rng.random(120) < expit(X @ w + 10.0 * rng.normal())).astype(int)
    if not 30 <= y.sum() <= 90:
        return None
    options = {"n_draws": 1000, "n_chains": 2, "random_state": rng} if search == "gibbs" else {}
    model = SpikeSlabClassifier(0.4, slab_variance=1.0, search=search, **options).fit(X, y)
    return of_subset(model, w, rng)


def leaf(rng: np.random.Generator) -> PITs:
    prior, n = NormalPrior(1.0, 0.5, 4.0, 2.0), int(rng.integers(1, 6))
    variance = prior.dof * prior.variance / 2 / rng.gamma(prior.dof / 2)
    mean = prior.mean + np.sqrt(variance / prior.strength) * rng.normal()
    y = mean + np.sqrt(variance) * rng.normal(size=n + 1)
    statistics = np.array([[n, y[:n].mean(), np.square(y[:n] - y[:n].mean()).sum()]])
    latent, observed = prior.predictive(statistics, latent=True), prior.predictive(statistics)
    return {"mean": latent.cdf([mean])[0], "y": observed.cdf(y[n:])[0]}


def leaf_classes(rng: np.random.Generator) -> PITs:
    prior = DirichletPrior(np.array([0.3, 0.7]), 3.0)
    p = rng.beta(*(prior.strength * prior.frequencies[::-1]))
    counts = rng.binomial(4, p)
    predicted = prior.predictive(np.array([[4.0 - counts, counts]]))[0, 1]
    return {"label": of_indicator(rng.random() < p, predicted, rng)}


# Exact posteriors in closed form: a few tables always, many as a slow test.
CLOSED_FORM = {
    "LinearRegression": Case(least_squares, 1500),
    "BayesianLinearRegression": Case(bayes_linear, 1500),
    "BayesianLinearRegression-wide": Case(bayes_linear_wide, 1500),
    "BayesianLinearRegression-conjugate": Case(bayes_linear_conjugate, 1500),
    "GPRegressor-fixed": Case(process, 1000),
    "GPRegressor-fixed-constant": Case(process_constant, 1000),
    "SpikeSlabRegressor-normal": Case(partial(subset_regression, slab="known"), 1000),
    "leaf": Case(leaf, 3000),
    "leaf-classes": Case(leaf_classes, 3000),
}
SLOW = {
    "SpikeSlabRegressor-normal-unknown-noise": Case(partial(subset_regression, slab="normal"), 1000),
    "SpikeSlabRegressor-g": Case(partial(subset_regression, slab="g"), 1000),
    "SpikeSlabRegressor-zellner-siow": Case(partial(subset_regression, slab="zellner-siow"), 1000),
    "SpikeSlabRegressor-gibbs": Case(partial(subset_regression, slab="known", search="gibbs"), 200),
    "SpikeSlabRegressor-gibbs-g": Case(partial(subset_regression, slab="g", search="gibbs"), 200),
    "GPRegressor-sample": Case(sampled_process, 16, least_p=1e-2),
    "GPRegressor-integrate": Case(integrated_process, 400),
    "GPClassifier-mcmc": Case(partial(sampled_classifier, link="probit"), 600),
    "GPClassifier-mcmc-logit": Case(partial(sampled_classifier, link="logit"), 600),
    # Normal approximations, on tables where they are good.
    "GPClassifier-ep": Case(partial(normal_classifier, inference="ep"), 1000),
    "GPClassifier-vi": Case(partial(normal_classifier, inference="vi"), 1000),
    "GPClassifier-laplace": Case(partial(normal_classifier, inference="laplace"), 1000),
    "BayesianLogisticRegression": Case(logistic, 1000),
    "AdditiveRegressor-gaussian": Case(partial(additive, family="gaussian", term=smooth(0)), 600),
    "AdditiveRegressor-units": Case(partial(additive, family="gaussian", term=random(0)), 600),
    "AdditiveRegressor-poisson": Case(partial(additive, family="poisson", term=smooth(0)), 600),
    "AdditiveClassifier-bernoulli": Case(partial(additive, family="bernoulli", term=smooth(0)), 600),
    "SpikeSlabClassifier": Case(partial(subset_classification, search="enumerate"), 1000),
    "SpikeSlabClassifier-gibbs": Case(partial(subset_classification, search="gibbs"), 600),
}


@pytest.mark.parametrize("name", CLOSED_FORM)
def test_closed_forms_are_calibrated_on_few_tables(name):
    check(replace(CLOSED_FORM[name], tables=100, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSED_FORM | SLOW)
def test_posteriors_are_calibrated(name):
    check((CLOSED_FORM | SLOW)[name])


def check(case: Case) -> None:
    """That PITs are uniform, and that as many tables reject a posterior of twice or half the standard deviation."""
    with warnings.catch_warnings(action="ignore"):
        found = case.pits()
    for quantity, pits in found.items():
        assert p_value(pits) > case.least_p, (quantity, np.histogram(pits, bins=N_BINS, range=(0.0, 1.0))[0])
        scores = ndtri((np.arange(len(pits)) + 0.5) / len(pits))
        for factor in (0.5, 2.0):
            assert p_value(ndtr(factor * scores)) < case.least_p, f"{len(pits)} tables are too few for {quantity}"
