"""A committee of several blocks: its evidence, how predictions are combined, and where it is computed."""

import joblib
import numpy as np
import pytest
from scipy.stats import multivariate_normal

import credo
from credo import GPRegressor
from credo.core.inference import Committee, Dense
from credo.core.inference import committee as module
from credo.kernels import Matern32

RNG = np.random.default_rng(3)
X = RNG.uniform(0, 1, size=(150, 2))
Y = np.sin(5 * X[:, :1]) + X[:, 1:] ** 2 + 0.1 * RNG.normal(size=(150, 1))
NOISE = RNG.uniform(0.01, 0.03, size=150)
NEW = np.random.default_rng(7).uniform(0, 1, size=(40, 2))
KERNEL = Matern32([0.4, 0.9], variance=1.2)
ROWS = Committee(X, size=40)


def constant(rows):
    return np.ones((len(rows), 1))


def covariance():
    """Of the targets, where blocks are independent."""
    block = np.empty(150, dtype=int)
    for k, rows in enumerate(ROWS.blocks):
        block[rows] = k
    return np.where(block[:, None] == block, KERNEL.gram(X), 0.0) + np.diag(NOISE)


def test_blocks_are_a_partition_of_neighbours():
    assert np.array_equal(np.sort(np.concatenate(ROWS.blocks)), np.arange(150))
    assert {len(rows) for rows in ROWS.blocks} == {37, 38}
    inside = np.mean([X[rows].var(axis=0).sum() for rows in ROWS.blocks])
    assert inside < 0.5 * X.var(axis=0).sum()
    # Length scales make the other column the longer one.
    thin = ROWS.adapted(Matern32([10.0, 0.1])).blocks
    assert max(np.ptp(X[rows, 1]) for rows in thin) < 0.3


def test_the_evidence_is_that_of_independent_blocks():
    C = covariance()
    total = multivariate_normal(np.zeros(150), C).logpdf(Y[:, 0])
    assert ROWS.prior(KERNEL).observe(Y, NOISE).log_evidence == pytest.approx(total, abs=1e-9)
    # One flat constant for all blocks: the limit of a wide prior, whose density is divided out.
    wide = 1e5
    limit = multivariate_normal(np.zeros(150), C + wide).logpdf(Y[:, 0]) + 0.5 * np.log(2 * np.pi * wide)
    assert ROWS.prior(KERNEL).observe(Y, NOISE, constant).log_evidence == pytest.approx(limit, abs=1e-3)


def test_the_gradient_is_a_difference_of_evidences():
    def value(kernel, noise):
        return ROWS.prior(kernel).observe(Y, noise, constant).log_evidence

    found, step = ROWS.prior(KERNEL).observe(Y, NOISE, constant).gradient(), 1e-5
    ends = [value(KERNEL.with_params(lengthscale=[0.4, 0.9 + s]), NOISE) for s in (step, -step)]
    assert found.by_kernel[1] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)
    for row in (0, 77):
        ends = [value(KERNEL, NOISE + s * (np.arange(150) == row)) for s in (1e-6, -1e-6)]
        assert found.by_noise[row] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4)


def test_left_out_targets_are_predicted_by_their_block():
    mean, variance = ROWS.prior(KERNEL).observe(Y, NOISE).left_out()
    rows = ROWS.blocks[1]
    rest = rows[rows != rows[5]]
    own = Dense(X[rest]).prior(KERNEL).observe(Y[rest], NOISE[rest]).latent(X[rows[5:6]])
    assert mean[rows[5], 0] == pytest.approx(own[0][0, 0], abs=1e-9)
    assert variance[rows[5]] == pytest.approx(own[1][0] + NOISE[rows[5]], abs=1e-9)


def test_predictions_by_the_formula_of_liu_et_al():
    """Their equation 19, with exact posteriors for the shared rows and for these and each block."""
    mean, variance = ROWS.prior(KERNEL).observe(Y, NOISE).latent(NEW)

    def exact(rows):
        found = Dense(X[rows]).prior(KERNEL).observe(Y[rows], NOISE[rows]).latent(NEW)
        return found[0][:, 0], found[1]

    m, s2 = exact(ROWS.shared)
    means, own = (
        np.array(part) for part in zip(*[exact(np.union1d(ROWS.shared, rows)) for rows in ROWS.blocks], strict=True)
    )
    beta = np.where(own == own.min(axis=0), 1.0, 0.5 * np.log(s2 / own))
    precision = (beta / own).sum(axis=0) + (1 - beta.sum(axis=0)) / s2
    location = (beta * means / own).sum(axis=0) + (1 - beta.sum(axis=0)) * m / s2
    np.testing.assert_allclose(variance, 1 / precision, rtol=1e-9)
    np.testing.assert_allclose(mean[:, 0], location / precision, rtol=1e-8)


def test_predictions_use_the_blocks_around_a_row(monkeypatch):
    """The nearest by bounding boxes; with all blocks little changes."""
    rows = Committee(X, size=10)
    assert len(rows.blocks) == 16
    near = rows.nearest(NEW)
    Z = NEW[5] / rows.scales
    boxes = [X[block] / rows.scales for block in rows.blocks]
    gaps = [np.linalg.norm(Z - np.clip(Z, box.min(axis=0), box.max(axis=0))) for box in boxes]
    np.testing.assert_allclose(np.sort(np.array(gaps)[near[5]]), np.sort(gaps)[:8])
    some = rows.prior(KERNEL).observe(Y, NOISE).latent(NEW)
    monkeypatch.setattr(module, "_NEAREST", 16)
    every = rows.prior(KERNEL).observe(Y, NOISE).latent(NEW)
    assert np.abs(some[0] - every[0]).max() < 0.05
    np.testing.assert_allclose(np.sqrt(some[1]), np.sqrt(every[1]), rtol=0.1)


def test_predictions_are_close_to_the_exact_ones_and_to_the_prior_far_away():
    exact = Dense(X).prior(KERNEL).observe(Y, NOISE, constant)
    found = ROWS.prior(KERNEL).observe(Y, NOISE, constant)
    (mean, variance), (near, spread) = exact.latent(NEW), found.latent(NEW)
    assert np.abs(near - mean).max() < np.sqrt(variance.max() + NOISE.mean())
    np.testing.assert_allclose(np.sqrt(spread), np.sqrt(variance), rtol=0.4)
    far = np.array([[100.0, -100.0]])
    ones = np.ones(150)
    weights = np.linalg.solve(covariance(), ones)
    level, spread = weights @ Y[:, 0] / weights.sum(), 1 / weights.sum()
    mean, variance = found.latent(far)
    assert mean[0, 0] == pytest.approx(level, rel=1e-9) and variance[0] == pytest.approx(1.2 + spread, rel=1e-9)


def test_factors_that_are_not_kept_are_made_again(monkeypatch):
    kept = ROWS.prior(KERNEL).observe(Y, NOISE, constant).latent(NEW)
    monkeypatch.setattr(module, "_HELD", 0)
    again = ROWS.prior(KERNEL).observe(Y, NOISE, constant)
    for _ in range(2):
        for one, other in zip(kept, again.latent(NEW), strict=True):
            np.testing.assert_array_equal(one, other)


def computed():
    posterior = ROWS.prior(KERNEL).observe(Y, NOISE, constant)
    return posterior.log_evidence, posterior.gradient().by_kernel, *posterior.latent(NEW)


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.xdist_group("dask")
def test_joblib_s_backends_compute_the_same():
    here = computed()
    with joblib.parallel_config(n_jobs=1):
        assert_same(computed(), here)
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes=False, n_workers=1, dashboard_address=None), joblib.parallel_config("dask"):
        assert_same(computed(), here)


@pytest.mark.slow
def test_processes_compute_the_same():
    here = computed()
    with joblib.parallel_config("loky", n_jobs=2):
        assert_same(computed(), here)


def test_what_needs_covariances_of_several_rows_says_so():
    posterior = ROWS.prior(KERNEL).observe(Y, NOISE)
    for use in (
        lambda: posterior.covariance(NEW),
        lambda: posterior.difference(NEW, NEW[0]),
        lambda: posterior.paths(1, RNG),
    ):
        with pytest.raises(ValueError, match='use method="inducing"'):
            use()


def test_a_regressor_by_name(tmp_path):
    """Enough rows for several blocks; the noise has variance 0.01."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, size=(1100, 3))
    y = np.sin(3 * rows[:, 0]) + rows[:, 1] ** 2 + 0.1 * rng.normal(size=1100)
    model = GPRegressor("rbf", method="committee", hyperparameters="optimize", n_restarts=0, random_state=0).fit(
        rows, y
    )
    assert model.method_ == model.evidence_method_ == "committee"
    assert model.noise_variance_ == pytest.approx(0.01, rel=0.15)
    new = rng.uniform(-1, 1, size=(500, 3))
    truth = np.sin(3 * new[:, 0]) + new[:, 1] ** 2
    dist = model.predict_dist(new)
    assert np.sqrt(np.mean((dist.mean - truth) ** 2)) < 0.03
    seen = truth + 0.1 * rng.normal(size=500)
    lower, upper = dist.interval(0.9)
    assert np.mean((lower <= seen) & (seen <= upper)) == pytest.approx(0.9, abs=0.04)
    credo.save(model, tmp_path / "model.credo")
    np.testing.assert_array_equal(credo.load(tmp_path / "model.credo").predict(new), model.predict(new))
    with pytest.raises(ValueError, match='use method="inducing"'):
        model.sample(new, 2)
    update = model.update(new, seen)
    fixed = GPRegressor(model.kernel_, method="committee", hyperparameters="fixed", standardize=False,
                        noise=model.noise_variance_).fit(np.vstack([rows, new]), np.append(y, seen))  # fmt: skip
    np.testing.assert_allclose(update.predict(rows), fixed.predict(rows), rtol=1e-6)
