"""Noise that varies with the inputs: the bound is a bound, its gradient is right, and it earns its keep."""

import numpy as np
import pytest

import credo
from credo.core.notices import collected
from credo.gp import GPRegressor
from credo.kernels import RBF


def table(n=120, seed=0):
    """Quiet on the left, loud on the right."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, size=n))
    std = 0.05 + 0.6 / (1 + np.exp(-(x - 6)))
    return x[:, None], np.sin(x) + std * rng.normal(size=n), std


def fitted(X, y, weight=None, **options):
    """A model with fixed hyperparameters, of which only `log_evidence` is used."""
    options = {"kernel": RBF([1.0]), "hyperparameters": "fixed", "standardize": False} | options
    return GPRegressor(noise="heteroscedastic", **options).fit(X, y, sample_weight=weight)


def theta(level, noise_lengthscale, noise_variance):
    """Kernel RBF(1) of variance 1 for the function."""
    return np.log([1.0, 1.0, level, noise_lengthscale, noise_variance])


@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_by_finite_differences(weighted):
    X, y, _ = table(40)
    model = fitted(X, np.column_stack([y, y]), np.arange(40) % 3 + 1.0) if weighted else fitted(X, y)
    assert model.theta_names_[2] == "noise.level"
    vector = theta(0.1, 2.0, 1.0) + 0.1
    _, gradient = model.log_evidence(vector)
    for i, axis in enumerate(np.eye(len(vector))):
        ends = [model.log_evidence(vector + s * 1e-4 * axis, gradient=False) for s in (1, -1)]
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-3, abs=1e-3)


def test_the_bound_is_below_the_evidence_by_importance_sampling():
    """ln p(y) = ln E over g of p(y | noise e^g), with the prior of g sampled for three rows."""
    X, y = np.array([[0.0], [1.0], [3.0]]), np.array([0.3, -0.5, 1.0])
    bound = fitted(X, y, mean="zero").log_evidence(theta(0.2, 1.5, 0.7), gradient=False)
    rng = np.random.default_rng(0)
    g = np.log(0.2) + RBF([1.5], variance=0.7).sample(X, 20_000, random_state=rng)
    C = RBF([1.0]).gram(X) + np.exp(g)[:, :, None] * np.eye(3)
    distance = np.einsum("i,gi->g", y, np.linalg.solve(C, np.broadcast_to(y[:, None], (20_000, 3, 1)))[..., 0])
    density = np.exp(-0.5 * distance) / np.sqrt(np.linalg.det(2 * np.pi * C))
    truth = np.log(density.mean())
    error = density.std() / density.mean() / np.sqrt(20_000)
    # Three rows say little about their noise, so that the bound is loose; with none of g's variance it would be exact.
    assert truth - 0.5 < bound < truth + 4 * error


def test_a_noise_kernel_without_variance_is_constant_noise():
    X, y, _ = table(30)
    bound = fitted(X, y).log_evidence(theta(0.3, 2.0, 1e-10), gradient=False)
    constant = GPRegressor(RBF([1.0]), noise=0.3, hyperparameters="fixed", standardize=False).fit(X, y).log_evidence_
    assert bound == pytest.approx(constant, abs=1e-6)


def test_it_finds_where_the_noise_is_and_beats_constant_noise():
    X, y, _ = table()
    model = GPRegressor(noise="heteroscedastic", n_restarts=0).fit(X, y)
    constant = GPRegressor(n_restarts=0).fit(X, y)
    assert model.evidence_method_ == "elbo"
    assert model.log_evidence_ > constant.log_evidence_ + 20
    new, target, new_std = table(seed=1)
    total, inner = model.predict_dist(new), model.predict_dist(new, latent=True)
    found = np.sqrt(total.var - inner.var)
    assert np.corrcoef(np.log(found), np.log(new_std))[0, 1] > 0.95
    assert credo.log_score(target, total) > credo.log_score(target, constant.predict_dist(new)) + 0.3
    assert 0.85 < credo.coverage(target, total, level=0.9) < 0.97


def test_weights_are_copies():
    X, y, _ = table(25)
    weight = np.arange(25) % 2 + 1
    weighted = GPRegressor("rbf", noise="heteroscedastic", n_restarts=0).fit(X, y, sample_weight=weight)
    copied = GPRegressor("rbf", noise="heteroscedastic", n_restarts=0).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-6)


def test_several_targets_share_the_noise_s_shape(tmp_path):
    X, y, _ = table(40)
    Y = np.column_stack([y, 100 * y])
    Y[3, 0] = np.nan
    model = GPRegressor(noise="heteroscedastic", n_restarts=0).fit(X, Y)
    one, other = model.predict_dist(X)
    np.testing.assert_allclose(other.std / one.std, 100, rtol=0.1)
    credo.save(model, tmp_path / "model.credo")
    again = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(again.predict_dist(X)[0].std, one.std)


def test_what_isn_t_offered_is_said():
    X, y, _ = table(20)
    model = GPRegressor(noise="heteroscedastic", n_restarts=0).fit(X, y)
    with pytest.raises(ValueError, match="noise of the new rows"):
        model.update(X[:1], y[:1])
    with pytest.raises(ValueError, match='hyperparameters="sample" needs'):
        GPRegressor(noise="heteroscedastic", hyperparameters="sample", n_restarts=0).fit(X, y)
    with pytest.raises(ValueError, match='"heteroscedastic"'):
        GPRegressor(noise="learned").fit(X, y)


@pytest.mark.slow
def test_weights_of_very_different_sizes_give_finite_predictions():
    """Weights of 1e±8 let the log noise vary by hundreds, whose exponentials would overflow."""
    rng = np.random.default_rng(83)
    n, d = int(rng.integers(3, 40)), int(rng.integers(1, 4))
    X = np.round(rng.normal(size=(n, d)), int(rng.integers(0, 3)))
    y = np.sin(X[:, 0]) * 10.0 ** rng.integers(-3, 4) + rng.normal(size=n) * (0.05 + 0.2 * np.abs(X[:, 0]))
    rng.integers(4)
    weight = 10.0 ** rng.choice([-8, 8], size=n)
    model = GPRegressor(
        noise="heteroscedastic", hyperpriors=False, standardize=False, mean="zero", n_restarts=0, max_evaluations=40,
        random_state=0,
    )  # fmt: skip
    with collected():
        model.fit(X, y, sample_weight=weight)
    for rows in (X, 100 * X):
        dist = model.predict_dist(rows)
        assert np.isfinite(dist.std).all() and np.isfinite(model.noise_std(rows)).all()
        assert (dist.quantile(0.9) > dist.quantile(0.1)).all()


def test_the_noise_far_from_the_data_is_within_that_at_training_rows():
    """Its log variance is as uncertain as a priori there, and the exponential of that has a huge mean (6.9 here)."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, size=120))
    y = np.sin(x) + np.where(x > 5, 10**-0.6, 1e-3) * rng.normal(size=120)
    model = GPRegressor(RBF([1.0]), noise="heteroscedastic", n_restarts=0, random_state=0).fit(x[:, None], y)
    assert model.noise_std([[1e6]])[0] < model.noise_std(x[:, None]).max()
