"""The least-mean-squares rule: the textbook's updates, near least squares after a few passes, and no divergence."""

import numpy as np
import pytest
from sklearn.base import clone

from credo.linear import LMSRegression


def table(n=300, p=3, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 1
    return X, X @ np.linspace(-2, 3, p) + 4 + noise * rng.normal(size=n)


def least_squares(X, y):
    """Weights and intercept."""
    w = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    return w[:-1], w[-1]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_fixed_step_is_bishop_3_23_on_the_columns_as_they_are(fit_intercept):
    X, y = table(50)
    model = LMSRegression(0.02, n_epochs=3, fit_intercept=fit_intercept, random_state=1).fit(X, y)
    w, rng, phi = np.zeros(4), np.random.default_rng(1), np.column_stack([X, np.full(50, float(fit_intercept))])
    for _ in range(3):
        for i in rng.permutation(50):
            w = w + 0.02 * (y[i] - w @ phi[i]) * phi[i]
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], w, rtol=1e-10, atol=1e-12)
    stream, w = LMSRegression(0.02, fit_intercept=fit_intercept, random_state=0), np.zeros(4)
    for part in (slice(0, 7), slice(7, 50)):
        stream.partial_fit(X[part], y[part])
    for row, target in zip(phi, y, strict=True):
        w = w + 0.02 * (target - w @ row) * row
    np.testing.assert_allclose(stream.coef_, w[:3], rtol=1e-10)


@pytest.mark.parametrize("step", [1.0, 100.0, 1e300])
def test_too_large_steps_raise_an_error(step):
    X, y = table()
    for learn in (LMSRegression(step, random_state=0).fit, LMSRegression(step, random_state=0).partial_fit):
        with pytest.raises(ValueError, match=r"step=.* is too large for these rows: .* below 0\.\d+, or step='auto'"):
            learn(X, y)


def test_passes_end_near_least_squares():
    X, y = table()
    w, b = least_squares(X, y)
    model = LMSRegression(random_state=0).fit(X, y)
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], np.r_[w, b], atol=0.02)
    rss = np.sum((y - X @ w - b) ** 2)
    assert model.noise_std_ == pytest.approx(np.sqrt(rss / (len(y) - 4)), rel=1e-3)
    plain = LMSRegression(fit_intercept=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(plain.coef_, np.linalg.lstsq(X, y, rcond=None)[0], atol=0.1)
    assert plain.intercept_ == 0.0


@pytest.mark.parametrize("scales", [(1e-8,) * 3, (1e8,) * 3, (1e-8, 1.0, 1e8), (1e-69, 1.0, 1e69)])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_units_of_the_columns_and_the_target_do_not_matter(scales, offset):
    X, y = table()
    model = LMSRegression(random_state=0).fit(X, y)
    scaled = LMSRegression(random_state=0).fit(X * scales, y * 1e5 + offset)
    np.testing.assert_allclose(scaled.coef_ * scales, model.coef_ * 1e5, rtol=1e-6)
    np.testing.assert_allclose(scaled.predict(X * scales), model.predict(X) * 1e5 + offset, rtol=1e-6)


def stream(model, n_batches=100, size=50, noise=1.0, seed=0, scale=lambda b: 1.0, w=(1.0, -2.0, 0.5), b=3.0):
    rng = np.random.default_rng(seed)
    for k in range(n_batches):
        X = rng.normal(size=(size, 3)) * scale(k)
        model.partial_fit(X, X @ w + b + noise * rng.normal(size=size))
    return model


def error(model, w=(1.0, -2.0, 0.5), b=3.0):
    return np.linalg.norm(np.r_[model.coef_ - w, model.intercept_ - b])


def test_a_stream_ends_near_least_squares_and_its_noise_covers():
    # Least squares on these 10 000 rows errs by √(4/10 000) = 0.02 on average.
    model = stream(LMSRegression(random_state=0), 20, 500)
    assert error(model) < 0.06 and model.n_seen_ == 10_000 and "10000 rows seen" in model.result_.message
    assert model.noise_std_ == pytest.approx(1.0, rel=0.05)
    X = np.random.default_rng(9).normal(size=(4000, 3))
    y = X @ [1.0, -2.0, 0.5] + 3.0 + np.random.default_rng(10).normal(size=4000)
    lower, upper = model.predict_dist(X).interval(0.9)
    # Three standard deviations of a binomial share: 3 √(0.9·0.1/4000) = 0.014.
    assert np.mean((lower <= y) & (y <= upper)) == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("size", [1, 50])
@pytest.mark.parametrize("jump", [1e-6, 1e6])
def test_a_stream_whose_scale_jumps_does_not_diverge(size, jump):
    model = stream(LMSRegression(random_state=0), 200 // size + 40, size, 0.1, scale=lambda k: jump if k >= 20 else 1.0)
    assert np.isfinite([*model.coef_, model.intercept_, model.noise_std_]).all()
    np.testing.assert_allclose(model.coef_, [1.0, -2.0, 0.5], atol=1.0)


def test_partial_fit_goes_on_where_fit_ended():
    X, y = table(2000)
    model = LMSRegression(n_epochs=5, random_state=0).fit(X[:1000], y[:1000])
    for start in range(1000, 2000, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
    # Least squares on as many rows errs by √(E‖(X'X)⁻¹‖) ≈ √(7/2000) = 0.06.
    assert model.n_seen_ == 6000 and error(model, np.linspace(-2, 3, 3), 4.0) < 0.18


def test_a_refused_batch_leaves_the_model_as_it_was():
    model = stream(LMSRegression(random_state=0), 3)
    before = {name: np.copy(value) for name, value in vars(model).items() if name.endswith("_") and name != "result_"}
    with pytest.raises(ValueError, match="outside the range"):
        model.partial_fit([[1e-200] * 3, [-1e-200] * 3], [1.0, -1.0])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit([[np.nan] * 3], [1.0])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit([[1.0]], [1.0])
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(model, name), value)


def test_one_row_has_no_noise():
    model = LMSRegression(random_state=0).fit([[1.0, 2.0]], [3.0])
    assert model.predict([[5.0, 5.0]]).tolist() == [3.0]
    first = LMSRegression(random_state=0).partial_fit([[1.0, 2.0]], [3.0])
    with pytest.raises(ValueError, match="the noise can't be estimated from one observation"):
        first.predict_dist([[1.0, 2.0]])
    assert np.isfinite(first.partial_fit([[2.0, 2.0]], [4.0]).noise_std_)


def test_predictive_is_normal_with_the_noise():
    X, y = table()
    model = LMSRegression(random_state=0).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_array_equal(std, np.full(len(X), model.noise_std_))
    np.testing.assert_allclose(mean, X @ model.coef_ + model.intercept_, rtol=1e-9)
    assert not hasattr(model, "log_evidence_")
    with pytest.raises(ValueError, match="use return_std"):
        model.predict(X, return_cov=True)


def test_summary():
    model = LMSRegression(random_state=0).fit(*table())
    text = str(model.summary())
    assert "intercept" in text and "x2" in text and "for standard errors use LinearRegression" in text
    assert set(model.summary().columns["sd"]) == {None}
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        model.summary(level=95)


def test_same_seed_same_weights():
    X, y = table()
    model = LMSRegression(random_state=1).fit(X, y)
    np.testing.assert_array_equal(model.coef_, clone(model).fit(X, y).coef_)
    assert (LMSRegression(random_state=2).fit(X, y).coef_ != model.coef_).any()
    with pytest.raises(ValueError, match=r"random_state must be .* got 'dice'"):
        LMSRegression(random_state="dice").fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"step": "fast"}, "step must be one of 'auto'; got 'fast'"),
     ({"step": -0.1}, "step must be a positive finite number; got -0.1"),
     ({"n_epochs": 0}, "n_epochs must be a whole number of at least 1; got 0"),
     ({"fit_intercept": "yes"}, "fit_intercept must be one of True, False; got 'yes'")],
)  # fmt: skip
def test_wrong_arguments_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        LMSRegression(**settings).fit(*table(20))
