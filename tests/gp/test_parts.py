"""Gaussian processes of tables in parts: the posterior given all rows, in one pass over them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.core.parts.test_parts import cut

from credo import GPRegressor, load, save
from credo.core.fields import check
from credo.core.parts import PartError
from credo.kernels import RBF

SIZES = (150, 1, 249)


@pytest.fixture
def small_sample(monkeypatch):
    for name in ("_MAX_SAMPLE_ROWS", "_MIN_SAMPLE_ROWS"):
        monkeypatch.setattr(f"credo.core.parts.parts.{name}", 100)


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    y = 50.0 + 7.0 * (np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n))
    return X, y, rng.integers(1, 4, n).astype(float)


def fitted(parts, **arguments):
    given = {"kernel": RBF([1.0, 2.0]), "hyperparameters": "fixed", "n_inducing": 40, "noise": 4.0} | arguments
    return GPRegressor(**given).fit(parts)


def titsias(model, X, y, weight, new, mean):
    """Mean and variance of f at new rows and the bound, by n×n matrices; flat coefficients by a wide prior."""
    kernel, Z, wide = model.kernel_, model.inducing_points_, 1e7
    H = np.ones((len(X), 1)) if mean == "constant" else np.empty((len(X), 0))
    K_uu = kernel.gram(Z)
    Q = kernel.cross(X, Z) @ np.linalg.solve(K_uu, kernel.cross(Z, X))
    Q_new = kernel.cross(new, Z) @ np.linalg.solve(K_uu, kernel.cross(Z, X)) + wide * H.shape[1]
    noise = model.noise_variance_ / weight
    center = 50.0 * H.shape[1]
    C = Q + wide * H @ H.T + np.diag(noise)
    found = center + Q_new @ np.linalg.solve(C, y - center)
    prior = kernel.diagonal(new) + wide * H.shape[1]
    variance = prior - np.einsum("ij,ji->i", Q_new, np.linalg.solve(C, Q_new.T))
    # A row of weight w is w equal observations, whose density has w − 1 dimensions more.
    lost = np.sum((weight - 1) * np.log(2 * np.pi * model.noise_variance_) + np.log(weight))
    bound = -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + (y - center) @ np.linalg.solve(C, y - center) + lost)
    bound -= 0.5 * np.sum((kernel.diagonal(X) - np.diagonal(Q)) / noise)
    # A flat coefficient has density one instead of 1/√(2π·wide) of the prior.
    return found, variance, bound + 0.5 * H.shape[1] * np.log(2 * np.pi * wide)


@pytest.mark.parametrize("mean", ["zero", "constant"])
def test_chunks_give_the_posterior_and_the_bound_of_all_rows(small_sample, mean):
    X, y, weight = table()
    model = fitted(cut(X, y, weight, sizes=SIZES), mean=mean, standardize=False, kernel=40.0 * RBF([1.0, 2.0]))
    assert model.method_ == "inducing" and model.evidence_method_ == "elbo"
    assert len(model.X_train_) == 100 and "a random sample of 100 rows" in model.result_.message
    new = table(30, seed=1)[0]
    expected, variance, bound = titsias(model, X, y, weight, new, mean)
    np.testing.assert_allclose(model.predict(new), expected, atol=2e-4)
    np.testing.assert_allclose(model.predict_dist(new, latent=True).std ** 2, variance, rtol=1e-3)
    assert model.log_evidence_ == pytest.approx(bound, abs=1e-3)
    assert f"on {weight.sum():g} rows" in str(model.summary())


def test_standardised_targets_and_files(small_sample, tmp_path):
    X, y, _ = table()
    model = fitted(cut(pd.DataFrame(X, columns=["east", "north"]), y, sizes=SIZES), mean="linear")
    assert model.feature_names_in_.tolist() == ["east", "north"]
    whole = fitted(cut(X, y, sizes=SIZES), mean="linear")
    new = table(30, seed=1)[0]
    np.testing.assert_allclose(whole.predict(new), model.predict(pd.DataFrame(new, columns=["east", "north"])))
    save(model, tmp_path / "model.credo")
    again = load(tmp_path / "model.credo")
    frame = pd.DataFrame(new, columns=["east", "north"])
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(again.predict_dist(frame).std, model.predict_dist(frame).std)
    assert again.paths(2, random_state=0)(new).shape == (2, 30)
    forged = replace(again.posterior_.sums.summary, cross=np.zeros((40, 3)), square=np.eye(3))
    forged = replace(again.posterior_, sums=replace(again.posterior_.sums, summary=forged))
    with pytest.raises(ValueError, match="sums is of size 3, where 4 is needed"):
        check(forged)


def test_dask_frames(small_sample):
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    X, y, weight = table()
    frame = pd.DataFrame(X, columns=["east", "north"]).assign(y=y, weight=weight)
    lazy = dd.from_pandas(frame, npartitions=4)
    with dask.config.set(scheduler="synchronous"):
        rows = lazy[["east", "north"]]
        model = GPRegressor(RBF([1.0, 2.0]), hyperparameters="fixed", n_inducing=40, noise=4.0)
        model.fit(rows, lazy["y"], sample_weight=lazy["weight"])
        means = model.predict(rows).compute()
    here = fitted(cut(X, y, weight, sizes=(100,) * 4))
    assert model.posterior_.sums.weight == weight.sum() and model.log_evidence_ == pytest.approx(here.log_evidence_)
    np.testing.assert_allclose(means, here.predict(X), rtol=1e-9)


def test_a_sample_of_all_rows_is_the_table_in_memory():
    X, y, weight = table(60)
    whole = GPRegressor("rbf", n_restarts=0, random_state=0).fit(X, y, weight)
    found = GPRegressor("rbf", n_restarts=0, random_state=0).fit(cut(X, y, weight, sizes=(10, 50)))
    assert found.method_ == "exact" and found.posterior_.sums is None
    np.testing.assert_allclose(found.predict(X), whole.predict(X), rtol=1e-6)
    assert found.log_evidence_ == pytest.approx(whole.log_evidence_)


def test_all_rows_predict_better_than_the_sample(small_sample):
    X, y, _ = table(2000)
    model = GPRegressor("rbf", n_restarts=0, random_state=0, n_inducing=50).fit(cut(X, y, sizes=(500,) * 4))
    sample = GPRegressor("rbf", n_restarts=0, random_state=0).fit(model.X_train_, model.y_train_)
    new, target, _ = table(1000, seed=1)
    gain = model.predict_dist(new).log_prob(target).mean() - sample.predict_dist(new).log_prob(target).mean()
    assert gain > 0.02
    coverage = np.mean(
        [low <= t <= high for low, high, t in zip(*model.predict_dist(new).interval(0.9), target, strict=True)]
    )
    assert 0.86 < coverage < 0.94


def test_what_needs_all_rows_says_so(small_sample):
    X, y, _ = table()
    parts = cut(X, y, sizes=SIZES)
    for arguments, what in {
        ("method", "exact"): 'method="exact"',
        ("noise", "student"): 'noise="student"',
        ("noise", 0.0): "a noise variance of zero",
        ("hyperparameters", "sample"): 'hyperparameters="sample"',
    }.items():
        with pytest.raises(ValueError, match=f"{what}.* needs all rows in memory.*400 rows"):
            fitted(parts, **dict([arguments]))
    model = fitted(parts)
    for call in (model.loo, lambda: model.update(X[:2], y[:2]), lambda: model.log_evidence(model.theta_)):
        with pytest.raises(ValueError, match="keeps only sums"):
            call()
    with pytest.raises(ValueError, match="several times"):
        fitted(iter(parts))
    y[160] = np.nan
    with pytest.raises(PartError, match="chunk 2"):
        fitted(cut(X, y, sizes=SIZES))
