"""Gaussian-process classifiers of tables in parts: the variational posterior given all rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.core.parts.test_parts import cut
from tests.gp.test_parts import small_sample  # noqa: F401

from credo import GPClassifier, load, save
from credo.core.inference import Inducing, vi
from credo.core.inference.inducing_sums import optimal_sites
from credo.core.parts import PartError
from credo.kernels import RBF
from credo.likelihoods import Bernoulli

SIZES = (150, 1, 449)


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n) > 0
    return X, np.where(y, "up", "down"), rng.integers(1, 4, n).astype(float)


def fitted(parts, **arguments):
    given = {"kernel": RBF([1.0, 2.0], variance=3.0), "hyperparameters": "fixed", "n_inducing": 25} | arguments
    return GPClassifier(**given).fit(parts)


def in_memory(model, X, sign, weight):
    """The variational posterior of all rows with the same points."""
    prior = Inducing(X, model.inducing_points_, len(model.inducing_points_)).prior(model.kernel_)
    assert prior.residual.max() > 0.01
    return vi(prior, sign, Bernoulli(model.link), weight=weight)


@pytest.mark.parametrize(
    ("arguments", "sizes"),
    [
        ({}, SIZES),
        ({"link": "logit", "inference": "laplace", "class_weight": {"up": 2.0, "down": 0.5}}, (300, 300)),
    ],
)
def test_chunks_give_the_posterior_of_all_rows(small_sample, arguments, sizes):  # noqa: F811
    X, y, weight = table()
    model = fitted(cut(X, y, weight, sizes=sizes), **arguments)
    assert model.method_ == "inducing" and model.evidence_method_ == "elbo" and model.result_.converged
    assert "random sample of 100 rows, the posterior from all, by variational inference in" in model.result_.message
    heavier = weight * (np.where(y == "up", 2.0, 0.5) if "class_weight" in arguments else 1.0)
    whole = in_memory(model, X, np.where(y == "up", 1.0, -1.0), heavier)
    new = table(50, seed=1)[0]
    latent = model.predict_dist(new, latent=True)
    expected, variance = whole.posterior.latent(new)
    np.testing.assert_allclose(latent.mean, expected, atol=1e-4)
    np.testing.assert_allclose(latent.std**2, variance, rtol=1e-3)
    assert model.log_evidence_ == pytest.approx(whole.log_evidence, abs=1e-6)
    chance = Bernoulli(model.link).probability(expected, variance)
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], chance, atol=2e-5)


def test_sites_maximize_the_bound_of_their_rows():
    """Of heavy and light rows with large and small residuals: no site nearby has a higher bound."""
    rng = np.random.default_rng(0)
    n, likelihood = 40, Bernoulli("logit")
    y, mean, variance = rng.choice([-1.0, 1.0], n), 2 * rng.normal(size=n), np.exp(rng.normal(size=n) - 3)
    residual, weight = np.exp(2 * rng.normal(size=n) - 1), np.exp(2 * rng.normal(size=n))
    precision, location, best = optimal_sites(likelihood, y, weight, mean, variance, residual)
    tau = precision / (1 - precision * residual)
    nu = location * (1 + tau * residual)

    def bound(tau, nu):
        # E ln p − KL[q(e | v) ‖ N(0, r)] with q(e | v) = N(rν − rτψᵀv, r)/(1 + τr), written out.
        slope, spread = -tau * residual / (1 + tau * residual), residual / (1 + tau * residual)
        shift = residual * nu / (1 + tau * residual)
        f_mean, f_var = (1 + slope) * mean + shift, (1 + slope) ** 2 * variance + spread
        square = (slope * mean + shift) ** 2 + slope**2 * variance
        gap = 0.5 * (spread / residual - 1 - np.log(spread / residual) + square / residual)
        return weight * likelihood.expected(y, f_mean, f_var)[0] - gap

    here = bound(tau, nu)
    assert here.sum() == pytest.approx(best, abs=1e-6)
    for by_tau, by_nu in ((1e-2, 0), (-1e-2, 0), (0, 1e-2), (0, -1e-2), (1e-2, 2e-2)):
        assert (bound(tau * (1 + by_tau), nu + by_nu) <= here + 1e-7).all()


def test_several_classes_and_files(small_sample, tmp_path):  # noqa: F811
    X, y, _ = table()
    y = np.where(X[:, 1] > 1, "far", y)
    frame = pd.DataFrame(X, columns=["east", "north"])
    model = fitted(cut(frame, y, sizes=SIZES))
    assert model.feature_names_in_.tolist() == ["east", "north"] and model.classes_.tolist() == ["down", "far", "up"]
    assert len(model.members_) == 3 and "passes" in model.result_.message
    rows = pd.DataFrame(table(50, seed=1)[0], columns=["east", "north"])
    one = model.members_[1]
    far = in_memory(one, X, np.where(y == "far", 1.0, -1.0), np.ones(600))
    latent = one.predict_dist(rows.to_numpy(), latent=True)
    np.testing.assert_allclose(latent.mean, far.posterior.latent(rows.to_numpy())[0], atol=1e-4)
    assert np.mean(model.predict(frame) == y) > 0.75
    save(model, tmp_path / "model.credo")
    again = load(tmp_path / "model.credo")
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    again.members_[0].predictor_ = again.members_[1].predictor_
    again.members_[0].inducing_points_ = again.members_[0].inducing_points_[:-1]
    with pytest.raises(ValueError, match="predictor_ belongs to another table"):
        again.members_[0]._check_state()


def test_dask_frames(small_sample):  # noqa: F811
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    X, y, weight = table()
    frame = pd.DataFrame(X, columns=["east", "north"]).assign(y=y, weight=weight)
    lazy = dd.from_pandas(frame, npartitions=4)
    with dask.config.set(scheduler="synchronous"):
        rows = lazy[["east", "north"]]
        model = GPClassifier(RBF([1.0, 2.0], variance=3.0), hyperparameters="fixed", n_inducing=25)
        model.fit(rows, lazy["y"], sample_weight=lazy["weight"])
        chances = model.predict_proba(rows).compute()
    here = fitted(cut(X, y, weight, sizes=(150,) * 4))
    assert model.log_evidence_ == pytest.approx(here.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(chances, here.predict_proba(X), atol=1e-5)


def test_a_sample_of_all_rows_is_the_table_in_memory():
    X, y, weight = table(60)
    whole = GPClassifier("rbf", n_restarts=0, random_state=0).fit(X, y, weight)
    found = GPClassifier("rbf", n_restarts=0, random_state=0).fit(cut(X, y, weight, sizes=(10, 50)))
    assert found.method_ == "exact"
    np.testing.assert_allclose(found.predict_proba(X), whole.predict_proba(X), rtol=1e-6)


def test_all_rows_predict_better_than_the_sample(small_sample):  # noqa: F811
    X, y, _ = table(3000)
    model = GPClassifier("rbf", n_restarts=0, random_state=0, n_inducing=40).fit(cut(X, y, sizes=(1500, 1500)))
    sample = GPClassifier("rbf", n_restarts=0, random_state=0).fit(model.X_train_, model.classes_[model.codes_])
    new, labels, _ = table(1000, seed=1)
    scores = [each.predict_dist(new).log_prob(labels).mean() for each in (model, sample)]
    assert scores[0] > scores[1] + 0.01


def test_what_needs_all_rows_says_so(small_sample):  # noqa: F811
    X, y, _ = table()
    parts = cut(X, y, sizes=SIZES)
    for name, value in {"method": "exact", "inference": "mcmc", "multiclass": "softmax"}.items():
        with pytest.raises(ValueError, match=f'{name}="{value}" needs all rows in memory.*600 rows'):
            fitted(parts, **{name: value})
    model = fitted(parts)
    with pytest.raises(ValueError, match="log_evidence needs the training rows"):
        model.log_evidence(model.theta_)
    with pytest.raises(ValueError, match="several times"):
        fitted(iter(parts))
    rare = np.where(np.arange(600) == 599, "once", y)
    with pytest.raises(ValueError, match="class 'once' is so rare"):
        fitted(cut(X, rare, sizes=SIZES))
    with pytest.raises((PartError, TypeError), match=r"[Ss]parse"):
        fitted([(sparse.csr_array(X), y)])
