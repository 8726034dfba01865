"""NadarayaWatson against its plain formula, brute-force leave-one-out, nearest neighbours and its limits."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from credo import kernels
from credo.kernel_machines import NadarayaWatson
from credo.metrics import coverage


@pytest.fixture
def table():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 3 + 0.2 * rng.normal(size=50)


def plain(kernel, X, y, new, weight=1.0):
    k = kernel.cross(new, X) * weight
    return k @ y / k.sum(axis=1)


KERNELS = [
    kernels.RBF(0.7),
    kernels.RBF([0.5, 2.0], variance=3.0),
    kernels.Exponential(0.6),
    kernels.Matern32(0.8),
    kernels.Matern52(0.8),
    kernels.RationalQuadratic(0.8, shape=0.7),
    kernels.Periodic(0.9, period=2.5),
    kernels.RBF(0.5).on(0) * kernels.Matern32(2.0).on([1]),
    0.3 * kernels.RBF(0.5) + kernels.Exponential(2.0).on(slice(0, 1)) + kernels.White(0.5),
    kernels.RBF(0.5) + 0.01,
    kernels.RBF(0.5).exp(),
    kernels.Linear() * kernels.Linear(),
    kernels.from_function(lambda x, z: float(np.exp(-np.abs(x - z).sum()))),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_is_the_weighted_mean(table, kernel):
    X, y = table
    new, weight = X[:20] + 0.1, np.linspace(0.5, 3.0, len(y))
    model = NadarayaWatson(kernel, bandwidth=1.0)
    np.testing.assert_allclose(model.fit(X, y).predict(new), plain(kernel, X, y, new), rtol=1e-10)
    assert model.kernel_ == kernel
    np.testing.assert_allclose(
        model.fit(X, y, sample_weight=weight).predict(new), plain(kernel, X, y, new, weight), rtol=1e-10
    )
    whole = model.predict_dist(X)
    np.testing.assert_allclose(whole.mean[:1], model.predict(X[:1]), rtol=1e-12)
    assert (whole.std > 0).all()


def test_bandwidth_multiplies_every_free_length_scale(table):
    X, y = table
    kernel = kernels.RBF([0.5, 2.0]) + kernels.Exponential(3.0).fix("lengthscale")
    model = NadarayaWatson(kernel, bandwidth=2.0).fit(X, y)
    assert model.kernel_ == kernels.RBF([1.0, 4.0]) + kernels.Exponential(3.0).fix("lengthscale")
    assert NadarayaWatson(bandwidth=0.3).fit(X, y).kernel_ == kernels.RBF(0.3)


def test_leave_one_out_by_brute_force(table):
    X, y = table
    model = NadarayaWatson(kernels.Matern52()).fit(X, y)
    for h, error in list(zip(model.bandwidths_, model.loo_losses_, strict=True))[::6]:
        left_out = [
            y[i]
            - NadarayaWatson(kernels.Matern52(), bandwidth=h)
            .fit(np.delete(X, i, 0), np.delete(y, i))
            .predict(X[i : i + 1])[0]
            for i in range(len(y))
        ]
        assert error == pytest.approx(np.mean(np.square(left_out)), rel=1e-9)
    assert model.bandwidth_ == model.bandwidths_[np.argmin(model.loo_losses_)]
    assert model.result_.message == "bandwidth chosen by exact leave-one-out"
    assert model.result_.n_iter == len(model.bandwidths_) == len(model.loo_losses_)


def test_no_finer_search_finds_a_clearly_better_bandwidth(table):
    X, y = table
    model = NadarayaWatson().fit(X, y)
    every, errors = np.arange(50), []
    for h in np.geomspace(1e-3, 1e3, 600):
        means = model.neighbours_.averages(kernels.RBF(h), X, y[:, None], own=every)[0]
        errors.append(np.mean((y - means[:, 0]) ** 2))
    assert model.loo_losses_.min() < min(errors) * (1 + 1e-3)


def test_wide_kernels_give_the_mean_and_its_error(table):
    """With equal weights the variance is s²(1 + 1/n), s² the unbiased one; that of the mean is s²/n."""
    X, y = table
    model = NadarayaWatson(bandwidth=1e6).fit(X, y)
    dist, band = model.predict_dist(X), model.predict_dist(X, latent=True)
    np.testing.assert_allclose(dist.mean, y.mean(), rtol=1e-9)
    np.testing.assert_allclose(dist.var, y.var(ddof=1) * (1 + 1 / 50), rtol=1e-4)
    np.testing.assert_allclose(band.var, y.var(ddof=1) / 50, rtol=1e-2)
    assert model.noise_std_ == pytest.approx(y.std(ddof=1), rel=1e-9)


@pytest.mark.parametrize("kernel", [kernels.RBF(), kernels.Matern32(), kernels.Exponential()], ids=repr)
def test_narrow_kernels_give_the_nearest_row(table, kernel):
    """Where all kernel values underflow, the nearest row decides."""
    X, y = table
    new = np.random.default_rng(0).normal(size=(30, 2)) * 3
    nearest = KNeighborsRegressor(1).fit(X, y).predict(new)
    for h in (1e-4, 1e-9, 1e-100):
        np.testing.assert_allclose(NadarayaWatson(kernel, bandwidth=h).fit(X, y).predict(new), nearest, rtol=1e-6)


def test_far_away_the_nearest_row_decides_and_the_spread_is_that_of_all(table):
    X, y = table
    model = NadarayaWatson().fit(X, y)
    new = np.array([[1e3, 0.0], [0.0, -1e8], [1e150, 1e150], [1e200, 0.0]])
    dist = model.predict_dist(new)
    nearest = KNeighborsRegressor(1).fit(X, y).predict(new[:1])
    np.testing.assert_allclose(dist.mean[:1], nearest)
    assert np.isfinite(dist.mean).all() and (dist.mean >= y.min()).all() and (dist.mean <= y.max()).all()
    np.testing.assert_allclose(dist.var, y.var() + (dist.mean - y.mean()) ** 2, rtol=1e-9)
    assert (model.predict_dist(new, latent=True).var < dist.var).all()


def test_the_spread_grows_on_the_way_out():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(300, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=300)
    model = NadarayaWatson().fit(X, y)
    inside = model.predict_dist(np.linspace(1, 9, 50)[:, None]).std
    assert inside.max() < 0.2 and inside.min() > 0.05
    outwards = model.predict_dist(10 + model.bandwidth_ * np.arange(1, 9)[:, None]).std
    assert (np.diff(outwards) > -1e-12).all() and outwards[-1] >= y.std() * (1 - 1e-12)


def test_equally_near_rows_share_where_the_kernel_is_zero():
    box = kernels.from_function(lambda x, z: float(abs(x[0] - z[0]) < 1.0))
    model = NadarayaWatson(box).fit([[0.0], [10.0], [11.5]], [1.0, 5.0, 6.0])
    np.testing.assert_allclose(model.predict([[0.5], [5.0], [-1e9], [1e9]]), [1.0, 3.0, 1.0, 6.0])
    assert model.bandwidth_ == 1.0 and "no free length scale" in model.result_.message


@pytest.mark.parametrize("bandwidth", [0.4, "loo"])
def test_weights_are_copies(table, bandwidth):
    X, y = table
    weight = np.resize([1, 3, 2, 0], len(y))
    weighted = NadarayaWatson(bandwidth=bandwidth).fit(X, y, sample_weight=weight)
    repeated = NadarayaWatson(bandwidth=bandwidth).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    assert weighted.bandwidth_ == pytest.approx(repeated.bandwidth_, rel=1e-9)
    new = np.concatenate([X + 0.3, X * 5])
    for latent in (True, False):
        ours, theirs = weighted.predict_dist(new, latent=latent), repeated.predict_dist(new, latent=latent)
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-9)
        np.testing.assert_allclose(ours.std, theirs.std, rtol=1e-8)


def test_noise_is_local():
    """Noise of sd 0.05 on the left and 1 on the right of a thousand rows; all residuals' mean adds a little."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(1000, 1))
    y = X[:, 0] + np.where(X[:, 0] < 0, 0.05, 1.0) * rng.normal(size=1000)
    std = NadarayaWatson(bandwidth=0.08).fit(X, y).predict_dist([[-0.5], [0.5]]).std
    assert std[0] == pytest.approx(0.1, abs=0.03) and std[1] == pytest.approx(1.0, abs=0.15)


def test_intervals_cover():
    """Ten tables of 200 rows and 200 new ones: the sd of a share of 0.9 over 2000 rows is 0.007."""
    rng = np.random.default_rng(3)
    shares = []
    for _ in range(10):
        X, new = rng.uniform(0, 6, size=(2, 200, 1))
        noise = 0.3 * rng.normal(size=(2, 200))
        model = NadarayaWatson().fit(X, np.sin(2 * X[:, 0]) + noise[0])
        shares.append(coverage(np.sin(2 * new[:, 0]) + noise[1], model.predict_dist(new), level=0.9))
    assert np.mean(shares) == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("scale", [1e-69, 1e-8, 1e8, 1e69])
def test_units_don_t_matter(table, scale):
    X, y = table
    ours, other = NadarayaWatson().fit(X, y), NadarayaWatson().fit(X * scale, y / scale)
    assert other.bandwidth_ == pytest.approx(ours.bandwidth_ * scale)
    np.testing.assert_allclose(other.predict(X * scale) * scale, ours.predict(X), rtol=1e-7)
    np.testing.assert_allclose(other.predict_dist(X * scale).std * scale, ours.predict_dist(X).std, rtol=1e-7)


def test_offsets_cost_few_digits(table):
    X, y = table
    ours, other = NadarayaWatson(bandwidth=0.5).fit(X, y), NadarayaWatson(bandwidth=0.5).fit(X + 1e7, y + 1e7)
    np.testing.assert_allclose(other.predict(X + 1e7) - 1e7, ours.predict(X), atol=1e-6)


def test_constant_target(table):
    X, _ = table
    model = NadarayaWatson().fit(X, np.full(50, 7.0))
    dist = model.predict_dist(X * 100)
    np.testing.assert_allclose(dist.mean, 7.0)
    assert (dist.std < 1e-12).all()


@pytest.mark.parametrize("bandwidth", [0.5, "loo"])
@pytest.mark.parametrize("n_samples", [1, 2, 3])
def test_few_rows(table, n_samples, bandwidth):
    X, y = (part[:n_samples] for part in table)
    model = NadarayaWatson(bandwidth=bandwidth).fit(X, y)
    mean = model.predict(X * 10)
    assert (mean >= y.min() - 1e-12).all() and (mean <= y.max() + 1e-12).all()
    if n_samples == 1:
        assert "noise sd" in str(model.summary())
        with pytest.raises(ValueError, match="single observation: use more rows"):
            model.predict_dist(X)
    else:
        assert np.isfinite(model.predict_dist(X).std).all()


def test_rows_that_don_t_differ():
    X, y = np.ones((4, 2)), np.array([1.0, 2.0, 3.0, 6.0])
    model = NadarayaWatson().fit(X, y)
    assert model.predict(X[:1])[0] == 3.0 and model.bandwidth_ == 1.0
    assert "all rows are equal" in model.result_.message
    assert model.predict_dist(X[:1]).var[0] == pytest.approx(y.var(ddof=1) * 1.25)


def test_the_ends_of_the_range_are_reported():
    rng = np.random.default_rng(1)
    x = np.linspace(0, 1, 40)[:, None]
    assert "largest bandwidth tried was best" in NadarayaWatson().fit(x, np.resize([1.0, -1.0], 40)).result_.message
    pairs = np.repeat(rng.normal(size=(20, 3)) * 10, 2, axis=0) + 1e-9 * rng.normal(size=(40, 3))
    model = NadarayaWatson().fit(pairs, np.repeat(rng.normal(size=20), 2))
    assert model.loo_losses_.min() < 1e-12


def test_large_tables_leave_out_a_sample(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 6, size=(1500, 1))
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=1500)
    monkeypatch.setattr("credo.kernel_machines.neighbors._MAX_PAIRS", 10**6)
    model = NadarayaWatson().fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - np.sin(X[:, 0])) ** 2)) < 0.06


def test_small_blocks_give_the_same_answer(table, monkeypatch):
    X, y = table
    whole = NadarayaWatson().fit(X, y)
    monkeypatch.setattr("credo.kernel_machines._rows.BLOCK_ENTRIES", 170)
    parts = NadarayaWatson().fit(X, y)
    np.testing.assert_allclose(parts.predict_dist(X).std, whole.predict_dist(X).std, rtol=1e-12)
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-12)
    np.testing.assert_allclose(parts.loo_losses_, whole.loo_losses_, rtol=1e-10)


def test_refitting_forgets_the_path(table):
    X, y = table
    model = NadarayaWatson().fit(X, y).set_params(bandwidth=1.0).fit(X, y)
    assert not hasattr(model, "loo_losses_") and model.result_.message == "bandwidth fixed"


def test_summary_names_the_columns(table):
    X, y = table
    summary = NadarayaWatson(kernels.RBF([1.0, 2.0])).fit(X, y).summary()
    assert {"bandwidth", "lengthscale of x0", "lengthscale of x1", "noise sd"} <= set(summary.columns["parameter"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bandwidth": 0.0}, "bandwidth must be a positive finite number; got 0.0"),
        ({"bandwidth": "cv"}, "bandwidth must be a number or \"loo\"; got 'cv'"),
        (
            {"kernel": kernels.Linear()},
            r"Linear\(variance=1\) gives -1 between some of them: use a kernel that is never",
        ),
        ({"kernel": kernels.RBF() + kernels.Linear()}, "never negative, such as credo.kernels.RBF"),
        ({"kernel": kernels.Categorical(), "bandwidth": 2.0}, "has no free one: leave it at 1"),
        ({"kernel": kernels.RBF([1.0, 2.0])}, "2 length scales, but X has 3 columns"),
        ({"kernel": kernels.RBF().on(5)}, r"columns \[5\], but X has only 3"),
        ({"kernel": "rbf"}, "kernel must be a kernel such as"),
        ({"kernel": lambda x, z: 1.0}, "credo.kernels.from_function"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X = np.concatenate([np.eye(3), -np.eye(3)])
    with pytest.raises((ValueError, TypeError), match=message):
        NadarayaWatson(**arguments).fit(X, np.arange(6.0))
